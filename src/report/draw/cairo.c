/* The cairo painter. A patterned fill is drawn, not tiled, so that it is as sharp on paper as on a screen. */
#include "report/draw/cairo.h"

#include "base/utf8.h"
#include "report/draw/look.h"
#include <cairo-pdf.h>
#include <math.h>
#include <stdlib.h>

static double in_pixels(int32_t tenths) { return (double)tenths / REPORT_PIXEL; }

static void set_colour(cairo_t *cr, const char *colour, double opacity) {
  long rgb = strtol(colour + 1, NULL, 16); /* behind the '#' */
  cairo_set_source_rgba(cr, (double)(rgb >> 16) / 255, (double)(rgb >> 8 & 255) / 255, (double)(rgb & 255) / 255,
                        opacity);
}

struct area {
  double left, top, right, bottom;
};

/* Bands at 45 degrees that cover the area, and others across them; they begin at the origin, so that neighbours fit
 * together. */
static void add_bands(cairo_t *cr, const struct area *area, bool crossed) {
  const double tile = in_pixels(REPORT_HATCH_TILE);
  const double diagonal = sqrt(0.5);
  long first = (long)floor((area->left + area->top) * diagonal / tile);
  long last = (long)floor((area->right + area->bottom) * diagonal / tile);
  double low = (area->top - area->right) * diagonal;
  double high = (area->bottom - area->left) * diagonal;
  cairo_rotate(cr, M_PI_4);
  for (long band = first; band <= last; band++) {
    cairo_rectangle(cr, (double)band * tile, low, in_pixels(REPORT_HATCH_BAND), high - low);
  }
  for (long band = (long)floor(low / tile); crossed && band <= (long)floor(high / tile); band++) {
    cairo_rectangle(cr, (double)first * tile, (double)band * tile, (double)(last + 1 - first) * tile,
                    in_pixels(REPORT_HATCH_BAND));
  }
}

/* The path becomes the clip of the two colours. */
static void fill_patterned(cairo_t *cr, const struct report_paint_row *row, double opacity) {
  struct area area;
  cairo_path_extents(cr, &area.left, &area.top, &area.right, &area.bottom);
  cairo_save(cr);
  cairo_clip(cr);
  if (opacity < 1) {
    cairo_push_group(cr);
  }
  set_colour(cr, row->colour.light, 1);
  cairo_paint(cr);
  set_colour(cr, row->second.light, 1);
  if (row->fill == FILL_HATCHED || row->fill == FILL_CROSSED) {
    cairo_save(cr);
    add_bands(cr, &area, row->fill == FILL_CROSSED);
    cairo_restore(cr);
  } else {
    double upper = (area.bottom - area.top) * REPORT_TWO_TONE / 100;
    cairo_rectangle(cr, area.left, area.top + upper, area.right - area.left, area.bottom - area.top - upper);
  }
  cairo_fill(cr);
  if (opacity < 1) {
    cairo_pop_group_to_source(cr);
    cairo_paint_with_alpha(cr, opacity);
  }
  cairo_restore(cr);
}

static void set_dash(cairo_t *cr, enum report_stroke stroke) {
  struct report_dash dash = report_dash_of(stroke);
  const double lengths[] = {in_pixels(dash.dash), in_pixels(dash.gap)};
  cairo_set_dash(cr, lengths, dash.dash > 0 ? 2 : 0, 0);
}

static void fill_outlined(cairo_t *cr, const struct report_paint_row *row, double opacity) {
  set_colour(cr, row->colour.light, opacity);
  cairo_fill_preserve(cr);
  set_dash(cr, STROKE_DASHED);
  cairo_set_line_width(cr, in_pixels(REPORT_LINE_WIDTH));
  set_colour(cr, row->second.light, opacity);
  cairo_stroke(cr);
}

static void fill(cairo_t *cr, enum report_paint paint, double opacity) {
  const struct report_paint_row *row = report_paint_row(paint);
  if (row->fill == FILL_PLAIN) {
    set_colour(cr, row->colour.light, opacity);
    cairo_fill(cr);
  } else if (row->fill == FILL_OUTLINED) {
    fill_outlined(cr, row, opacity);
  } else {
    fill_patterned(cr, row, opacity);
  }
}

static void stroke(cairo_t *cr, const struct report_mark *mark) {
  set_dash(cr, mark->stroke);
  cairo_set_line_width(cr, in_pixels(mark->bold ? REPORT_BOLD_WIDTH : REPORT_LINE_WIDTH));
  set_colour(cr, report_paint_row(mark->paint)->colour.light, 1);
  cairo_stroke(cr);
}

static void paint_runs(const struct report_scene *scene, cairo_t *cr, const struct report_mark *mark) {
  for (size_t i = 0; i < mark->run_count; i++) {
    const struct report_run *run = &scene->runs.items[mark->run_first + i];
    cairo_rectangle(cr, run->x, 0, run->width, -run->height);
  }
  fill(cr, mark->paint, mark->faint ? REPORT_FAINT / 100.0 : 1);
}

static void paint_curve(const struct report_scene *scene, cairo_t *cr, const struct report_mark *mark) {
  const struct report_point *points = scene->points.items + mark->point_first;
  cairo_move_to(cr, in_pixels(points[0].x), in_pixels(points[0].y));
  for (size_t i = 1; i + 2 < mark->point_count; i += 3) {
    cairo_curve_to(cr, in_pixels(points[i].x), in_pixels(points[i].y), in_pixels(points[i + 1].x),
                   in_pixels(points[i + 1].y), in_pixels(points[i + 2].x), in_pixels(points[i + 2].y));
  }
  stroke(cr, mark);
}

static void trace_points(const struct report_scene *scene, cairo_t *cr, const struct report_mark *mark) {
  for (size_t i = 0; i < mark->point_count; i++) {
    const struct report_point *point = &scene->points.items[mark->point_first + i];
    cairo_line_to(cr, in_pixels(point->x), in_pixels(point->y));
  }
}

static void paint_polygon(const struct report_scene *scene, cairo_t *cr, const struct report_mark *mark) {
  trace_points(scene, cr, mark);
  cairo_close_path(cr);
  fill(cr, mark->paint, 1);
}

static void set_letters(cairo_t *cr, enum report_text_style style) {
  const struct report_letters *letters = report_letters(style);
  cairo_select_font_face(cr, REPORT_CAIRO_SANS, CAIRO_FONT_SLANT_NORMAL,
                         letters->weight >= REPORT_BOLD_FROM ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cr, in_pixels(letters->size));
}

/* With a NUL behind it. cairo stops at a text that is no UTF-8, so names from traces are made printable. */
static void put_printable(const char *bytes, size_t length, struct lumos_text *text) {
  lumos_text_add(text, bytes, length);
  lumos_utf8_make_printable(text->bytes, text->length);
  lumos_text_char(text, '\0');
}

static void paint_text(const struct report_scene *scene, cairo_t *cr, const struct report_mark *mark) {
  const struct report_paint_row *row = report_paint_row(mark->paint);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_printable(scene->texts.bytes + mark->text_first, mark->text_length, &text);
  cairo_text_extents_t extents;
  set_letters(cr, mark->style);
  cairo_text_extents(cr, text.bytes, &extents);
  double shift = mark->anchor == ANCHOR_START    ? 0
                 : mark->anchor == ANCHOR_MIDDLE ? extents.x_advance / 2
                                                 : extents.x_advance;
  bool on_paint = mark->style >= STYLE_ON_PAINT && row->ink.light != NULL;
  set_colour(cr, on_paint ? row->ink.light : row->colour.light, 1);
  cairo_move_to(cr, in_pixels(mark->x) - shift, in_pixels(mark->y));
  cairo_show_text(cr, text.bytes);
  cairo_new_path(cr);
  lumos_text_free(&text);
}

static void paint_box(cairo_t *cr, const struct report_mark *mark) {
  cairo_rectangle(cr, in_pixels(mark->x), in_pixels(mark->y), in_pixels(mark->width), in_pixels(mark->height));
  if (mark->plate) {
    set_colour(cr, report_paint_row(mark->paint)->colour.light, 1);
    cairo_fill(cr);
  } else {
    fill(cr, mark->paint, 1);
  }
}

static void paint_mark(const struct report_scene *scene, cairo_t *cr, const struct report_mark *mark) {
  switch (mark->kind) {
    case MARK_BOX:
      paint_box(cr, mark);
      break;
    case MARK_RUNS:
      paint_runs(scene, cr, mark);
      break;
    case MARK_LINE:
      cairo_move_to(cr, in_pixels(mark->x), in_pixels(mark->y));
      cairo_rel_line_to(cr, in_pixels(mark->width), in_pixels(mark->height));
      stroke(cr, mark);
      break;
    case MARK_CURVE:
      paint_curve(scene, cr, mark);
      break;
    case MARK_POLYLINE:
      trace_points(scene, cr, mark);
      stroke(cr, mark);
      break;
    case MARK_POLYGON:
      paint_polygon(scene, cr, mark);
      break;
    case MARK_TEXT:
      paint_text(scene, cr, mark);
      break;
    case MARK_GROUP:
      cairo_save(cr);
      cairo_translate(cr, in_pixels(mark->x), in_pixels(mark->y));
      if (mark->scale != 0) {
        cairo_scale(cr, mark->scale / 1e6, mark->scale / 1e6);
      }
      break;
    case MARK_GROUP_END:
      cairo_restore(cr);
      break;
  }
}

void report_cairo_paint(const struct report_scene *scene, cairo_t *cr) {
  cairo_font_options_t *options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_set_font_options(cr, options);
  cairo_font_options_destroy(options);
  for (size_t i = 0; i < scene->marks.count; i++) {
    paint_mark(scene, cr, &scene->marks.items[i]);
  }
}

static void paint_on_paper(const struct report_scene *scene, double scale, cairo_t *cr) {
  cairo_save(cr);
  set_colour(cr, report_paint_row(PAINT_PAPER)->colour.light, 1);
  cairo_paint(cr);
  cairo_scale(cr, scale, scale);
  report_cairo_paint(scene, cr);
  cairo_restore(cr);
}

static cairo_status_t take_bytes(void *closure, const unsigned char *bytes, unsigned int length) {
  lumos_text_add(closure, (const char *)bytes, length);
  return CAIRO_STATUS_SUCCESS;
}

static bool said_well(cairo_status_t status, struct lumos_error *error) {
  return status == CAIRO_STATUS_SUCCESS ||
         lumos_fail(error, "the picture cannot be painted: cairo says '%s'; use .svg", cairo_status_to_string(status));
}

bool report_cairo_png(const struct report_scene *scene, struct lumos_text *out, struct lumos_error *error) {
  enum { LARGEST = 32767 }; /* that cairo's images hold */
  bool sized = scene->shown_width > 0;
  double scale = sized ? scene->shown_width / in_pixels(scene->width) : REPORT_PNG_SCALE;
  int64_t width =
      sized ? scene->shown_width : ((int64_t)scene->width * REPORT_PNG_SCALE + REPORT_PIXEL - 1) / REPORT_PIXEL;
  int64_t height =
      sized ? scene->shown_height : ((int64_t)scene->height * REPORT_PNG_SCALE + REPORT_PIXEL - 1) / REPORT_PIXEL;
  if (width > LARGEST || height > LARGEST) {
    return lumos_fail(error, "the picture would have %lld x %lld pixels, and a PNG holds %d each way; use .svg or .pdf",
                      (long long)width, (long long)height, LARGEST);
  }
  cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
  cairo_t *cr = cairo_create(surface);
  paint_on_paper(scene, scale, cr);
  cairo_status_t status = cairo_status(cr);
  if (status == CAIRO_STATUS_SUCCESS) {
    status = cairo_surface_write_to_png_stream(surface, take_bytes, out);
  }
  cairo_destroy(cr);
  cairo_surface_destroy(surface);
  return said_well(status, error);
}

/* Without a date: the same scenes give the same bytes. */
static void put_metadata(cairo_surface_t *surface, const struct lumos_text *title) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_printable(title->bytes, title->length, &text);
  cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, text.bytes);
  cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR, "Lumos " LUMOS_VERSION);
  cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "");
  lumos_text_free(&text);
}

bool report_cairo_pdf(const struct report_scene *const *scenes, size_t count, const struct lumos_text *title,
                      struct lumos_text *out, struct lumos_error *error) {
  const double points = 0.75; /* of a CSS pixel */
  cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(take_bytes, out, 1, 1);
  put_metadata(surface, title);
  cairo_t *cr = cairo_create(surface);
  for (size_t i = 0; i < count; i++) {
    double scale = scenes[i]->shown_width > 0 ? scenes[i]->shown_width / in_pixels(scenes[i]->width) : 1;
    cairo_pdf_surface_set_size(surface, in_pixels(scenes[i]->width) * points * scale,
                               in_pixels(scenes[i]->height) * points * scale);
    paint_on_paper(scenes[i], points * scale, cr);
    cairo_show_page(cr);
  }
  cairo_status_t status = cairo_status(cr);
  cairo_destroy(cr);
  cairo_surface_finish(surface);
  status = status == CAIRO_STATUS_SUCCESS ? cairo_surface_status(surface) : status;
  cairo_surface_destroy(surface);
  return said_well(status, error);
}
