/* The SVG painter. No line breaks between elements: each would be a node of the document. */
#include "report/draw/svg.h"

#include "report/draw/look.h"

static void put_length(struct lumos_text *out, int32_t tenths) { lumos_text_decimal(out, tenths, 1); }

static void put_attribute(struct lumos_text *out, const char *name, int32_t tenths) {
  lumos_text_char(out, ' ');
  lumos_text_put(out, name);
  lumos_text_put(out, "=\"");
  put_length(out, tenths);
  lumos_text_char(out, '"');
}

static void put_class(struct lumos_text *out, const char *css, const char *suffix) {
  lumos_text_put(out, " class=\"");
  lumos_text_put(out, css);
  lumos_text_put(out, suffix);
  lumos_text_char(out, '"');
}

/* A plain or outlined paint is a class; a patterned one refers to the picture's own pattern. */
static void put_fill(const struct report_scene *scene, struct lumos_text *out, enum report_paint paint) {
  const struct report_paint_row *row = report_paint_row(paint);
  if (row->fill == FILL_PLAIN) {
    put_class(out, row->css, "");
  } else if (row->fill == FILL_OUTLINED) {
    put_class(out, row->css, " outlined dashed");
  } else {
    lumos_text_format(out, " fill=\"url(#%s-%s)\"", scene->name, row->css);
  }
}

/* What the element says when a pointer rests on it, and its end. */
static void close_element(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark,
                          const char *element) {
  if (mark->text_length == 0) {
    lumos_text_put(out, "/>");
    return;
  }
  lumos_text_put(out, "><title>");
  lumos_text_html(out, scene->texts.bytes + mark->text_first, mark->text_length);
  lumos_text_put(out, "</title></");
  lumos_text_put(out, element);
  lumos_text_char(out, '>');
}

static void paint_box(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark) {
  lumos_text_put(out, "<rect");
  if (mark->plate) {
    put_class(out, report_paint_row(mark->paint)->css, "");
  } else {
    put_fill(scene, out, mark->paint);
  }
  put_attribute(out, "x", mark->x);
  put_attribute(out, "y", mark->y);
  put_attribute(out, "width", mark->width);
  put_attribute(out, "height", mark->height);
  close_element(scene, out, mark, "rect");
}

static void put_stroke(struct lumos_text *out, const struct report_mark *mark, const char *suffix) {
  static const char *const strokes[] = {
      [STROKE_SOLID] = "", [STROKE_DASHED] = " dashed", [STROKE_DOTTED] = " dotted", [STROKE_LONG_DASHES] = " long"};
  lumos_text_format(out, " class=\"%s%s%s%s\"", report_paint_row(mark->paint)->css, suffix, strokes[mark->stroke],
                    mark->bold ? " bold" : "");
}

static void paint_line(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark) {
  lumos_text_put(out, "<line");
  put_stroke(out, mark, "");
  put_attribute(out, "x1", mark->x);
  put_attribute(out, "y1", mark->y);
  put_attribute(out, "x2", mark->x + mark->width);
  put_attribute(out, "y2", mark->y + mark->height);
  close_element(scene, out, mark, "line");
}

static void paint_text(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark) {
  static const char *const anchors[] = {
      [ANCHOR_START] = "", [ANCHOR_MIDDLE] = " text-anchor=\"middle\"", [ANCHOR_END] = " text-anchor=\"end\""};
  lumos_text_put(out, "<text");
  lumos_text_format(out, " class=\"%s%s", report_paint_row(mark->paint)->css,
                    mark->style >= STYLE_ON_PAINT ? "-ink" : "");
  const char *css = report_letters(mark->style)->css;
  lumos_text_format(out, "%s%s\"", css[0] != '\0' ? " " : "", css);
  put_attribute(out, "x", mark->x);
  put_attribute(out, "y", mark->y);
  lumos_text_put(out, anchors[mark->anchor]);
  lumos_text_char(out, '>');
  lumos_text_html(out, scene->texts.bytes + mark->text_first, mark->text_length);
  lumos_text_put(out, "</text>");
}

/* M x 0 h width v -height h -width z, for every run. */
static void paint_runs(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark) {
  lumos_text_put(out, "<path");
  put_fill(scene, out, mark->paint);
  if (mark->faint) {
    lumos_text_put(out, " opacity=\"");
    lumos_text_decimal(out, REPORT_FAINT, 2);
    lumos_text_char(out, '"');
  }
  lumos_text_put(out, " d=\"");
  for (size_t i = 0; i < mark->run_count; i++) {
    const struct report_run *run = &scene->runs.items[mark->run_first + i];
    lumos_text_char(out, 'M');
    lumos_text_integer(out, run->x);
    lumos_text_put(out, " 0h");
    lumos_text_integer(out, run->width);
    lumos_text_char(out, 'v');
    lumos_text_integer(out, -run->height);
    lumos_text_char(out, 'h');
    lumos_text_integer(out, -run->width);
    lumos_text_char(out, 'z');
  }
  lumos_text_char(out, '"');
  close_element(scene, out, mark, "path");
}

static void put_point(struct lumos_text *out, struct report_point point) {
  put_length(out, point.x);
  lumos_text_char(out, ' ');
  put_length(out, point.y);
}

static void paint_curve(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark) {
  const struct report_point *points = scene->points.items + mark->point_first;
  lumos_text_put(out, "<path");
  put_stroke(out, mark, " stroke");
  lumos_text_put(out, " d=\"M");
  put_point(out, points[0]);
  for (size_t i = 1; i < mark->point_count; i++) {
    lumos_text_char(out, i == 1 ? 'C' : ' ');
    put_point(out, points[i]);
  }
  lumos_text_char(out, '"');
  close_element(scene, out, mark, "path");
}

static void put_points(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark) {
  lumos_text_put(out, " points=\"");
  for (size_t i = 0; i < mark->point_count; i++) {
    lumos_text_put(out, i == 0 ? "" : " ");
    put_point(out, scene->points.items[mark->point_first + i]);
  }
  lumos_text_char(out, '"');
}

static void paint_polyline(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark) {
  lumos_text_put(out, "<polyline");
  put_stroke(out, mark, " stroke");
  put_points(scene, out, mark);
  close_element(scene, out, mark, "polyline");
}

static void paint_polygon(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark) {
  lumos_text_put(out, "<polygon");
  put_fill(scene, out, mark->paint);
  put_points(scene, out, mark);
  close_element(scene, out, mark, "polygon");
}

static void paint_mark(const struct report_scene *scene, struct lumos_text *out, const struct report_mark *mark) {
  switch (mark->kind) {
    case MARK_BOX:
      paint_box(scene, out, mark);
      break;
    case MARK_RUNS:
      paint_runs(scene, out, mark);
      break;
    case MARK_LINE:
      paint_line(scene, out, mark);
      break;
    case MARK_CURVE:
      paint_curve(scene, out, mark);
      break;
    case MARK_POLYLINE:
      paint_polyline(scene, out, mark);
      break;
    case MARK_POLYGON:
      paint_polygon(scene, out, mark);
      break;
    case MARK_TEXT:
      paint_text(scene, out, mark);
      break;
    case MARK_GROUP:
      lumos_text_put(out, "<g");
      if (mark->css != NULL) {
        put_class(out, mark->css, "");
      }
      if (mark->text_length > 0) {
        lumos_text_put(out, " data-view=\"");
        lumos_text_html(out, scene->texts.bytes + mark->text_first, mark->text_length);
        lumos_text_char(out, '"');
      }
      lumos_text_put(out, " transform=\"translate(");
      put_length(out, mark->x);
      lumos_text_char(out, ' ');
      put_length(out, mark->y);
      if (mark->scale != 0) {
        lumos_text_put(out, ") scale(");
        lumos_text_decimal(out, mark->scale, 6);
      }
      lumos_text_put(out, ")\">");
      break;
    case MARK_GROUP_END:
      lumos_text_put(out, "</g>");
      break;
  }
}

/* One tile of a pattern: a ground and a band, or two that cross, turned by 45 degrees; or an upper and a lower tone of
 * the mark that it fills. */
static void define_pattern(const struct report_scene *scene, struct lumos_text *out,
                           const struct report_paint_row *row) {
  lumos_text_format(out, "<pattern id=\"%s-%s\"", scene->name, row->css);
  if (row->fill == FILL_HATCHED || row->fill == FILL_CROSSED) {
    put_attribute(out, "width", REPORT_HATCH_TILE);
    put_attribute(out, "height", REPORT_HATCH_TILE);
    lumos_text_put(out, " patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect");
    put_class(out, row->css, "");
    put_attribute(out, "width", REPORT_HATCH_TILE);
    put_attribute(out, "height", REPORT_HATCH_TILE);
    lumos_text_put(out, "/><rect");
    put_class(out, row->css, "-second");
    put_attribute(out, "width", REPORT_HATCH_BAND);
    put_attribute(out, "height", REPORT_HATCH_TILE);
    if (row->fill == FILL_CROSSED) {
      lumos_text_put(out, "/><rect");
      put_class(out, row->css, "-second");
      put_attribute(out, "width", REPORT_HATCH_TILE);
      put_attribute(out, "height", REPORT_HATCH_BAND);
    }
    lumos_text_put(out, "/></pattern>");
  } else {
    lumos_text_format(out,
                      " width=\"1\" height=\"1\" patternContentUnits=\"objectBoundingBox\">"
                      "<rect class=\"%s\" width=\"1\" height=\".%d\"/>"
                      "<rect class=\"%s-second\" y=\".%d\" width=\"1\" height=\".%d\"/></pattern>",
                      row->css, REPORT_TWO_TONE, row->css, REPORT_TWO_TONE, 100 - REPORT_TWO_TONE);
  }
}

static void define_patterns(const struct report_scene *scene, struct lumos_text *out) {
  bool used[PAINT_COUNT] = {false};
  for (size_t i = 0; i < scene->marks.count; i++) {
    const struct report_mark *mark = &scene->marks.items[i];
    used[mark->paint] |= mark->kind == MARK_BOX || mark->kind == MARK_RUNS || mark->kind == MARK_POLYGON;
  }
  lumos_text_put(out, "<defs>");
  for (int i = 0; i < PAINT_COUNT; i++) {
    const struct report_paint_row *row = report_paint_row((enum report_paint)i);
    if (used[i] && row->fill != FILL_PLAIN && row->fill != FILL_OUTLINED) {
      define_pattern(scene, out, row);
    }
  }
  lumos_text_put(out, "</defs>");
}

/* HTML knows no parts of pixels in an image's size. */
static int32_t whole_pixels(int32_t tenths) { return (tenths + REPORT_PIXEL - 1) / REPORT_PIXEL * REPORT_PIXEL; }

/* From <svg to its end; `namespace` and `style` are for a document of its own. */
static void paint_scene(const struct report_scene *scene, const char *namespace, const struct lumos_text *style,
                        struct lumos_text *out) {
  int32_t width = whole_pixels(scene->width);
  int32_t height = whole_pixels(scene->height);
  lumos_text_format(out, "<svg%s role=\"img\" viewBox=\"0 0 ", namespace);
  put_length(out, width);
  lumos_text_char(out, ' ');
  put_length(out, height);
  lumos_text_char(out, '"');
  put_attribute(out, "width", scene->shown_width > 0 ? scene->shown_width * REPORT_PIXEL : width);
  put_attribute(out, "height", scene->shown_height > 0 ? scene->shown_height * REPORT_PIXEL : height);
  lumos_text_put(out, "><title>");
  lumos_text_html(out, scene->title.bytes, scene->title.length);
  lumos_text_put(out, "</title><desc>");
  lumos_text_html(out, scene->description.bytes, scene->description.length);
  lumos_text_put(out, "</desc>");
  if (style->length > 0) {
    lumos_text_put(out, "<style>");
    lumos_text_add(out, style->bytes, style->length);
    lumos_text_put(out, "</style><rect");
    put_class(out, report_paint_row(PAINT_PAPER)->css, "");
    put_attribute(out, "width", width);
    put_attribute(out, "height", height);
    lumos_text_put(out, "/>");
  }
  define_patterns(scene, out);
  for (size_t i = 0; i < scene->marks.count; i++) {
    paint_mark(scene, out, &scene->marks.items[i]);
  }
  lumos_text_put(out, "</svg>\n");
}

void report_svg_paint(const struct report_scene *scene, struct lumos_text *out) {
  struct lumos_text none = LUMOS_TEXT_BUFFER;
  paint_scene(scene, "", &none, out);
}

void report_svg_document(const struct report_scene *scene, struct lumos_text *out) {
  struct lumos_text style = LUMOS_TEXT_BUFFER;
  report_palette_picture_css(&style);
  report_look_css(&style, REPORT_SANS);
  lumos_text_put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  paint_scene(scene, " xmlns=\"http://www.w3.org/2000/svg\"", &style, out);
  lumos_text_free(&style);
}
