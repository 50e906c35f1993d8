/* Both painters put the same marks at the same places: what cairo is told, read off a script surface, against what the
 * SVG says. And the pixels of fills and strokes, against their colours and shares worked out by hand. */
#include "unit/unit.h"

#include "report/draw/cairo.h"
#include "report/draw/look.h"
#include "report/draw/svg.h"
#include <cairo-script.h>
#include <ctype.h>
#include <math.h>

enum { MOST_NUMBERS = 14, MOST_ELEMENTS = 64 };

/* 'r'ectangle, 'l'ine, 'c'urve, 'p'olygon, 't'ext: its absolute places, in pixels. */
struct element {
  char kind;
  int count;
  double numbers[MOST_NUMBERS];
};
struct elements {
  struct element items[MOST_ELEMENTS];
  int count;
};

static void assert_near(double left, double right, double most) {
  if (fabs(left - right) > most) {
    fail_msg("%f is not %f", left, right);
  }
}

static struct element *add_element(struct elements *list, char kind) {
  assert_true(list->count < MOST_ELEMENTS);
  struct element *element = &list->items[list->count++];
  *element = (struct element){.kind = kind};
  return element;
}

static void add_number(struct element *element, double number) {
  assert_true(element->count < MOST_NUMBERS);
  element->numbers[element->count++] = number;
}

static void add_box(struct elements *list, double x, double y, double width, double height) {
  struct element *element = add_element(list, 'r');
  add_number(element, x);
  add_number(element, height < 0 ? y + height : y);
  add_number(element, width);
  add_number(element, fabs(height));
}

/* Reading the SVG. */

struct origin {
  double x, y;
};

static double attribute(const char *tag, const char *name) {
  char pattern[32];
  (void)snprintf(pattern, sizeof pattern, " %s=\"", name);
  const char *found = strstr(tag, pattern);
  assert_non_null(found);
  return strtod(found + strlen(pattern), NULL);
}

static double next_number(const char **at) {
  while (**at != '-' && !isdigit((unsigned char)**at)) {
    (*at)++;
  }
  char *end = NULL;
  double number = strtod(*at, &end);
  *at = end;
  return number;
}

static void read_runs(struct elements *list, const char *at, struct origin origin) {
  while (*at == 'M') {
    double x = next_number(&at);
    double y = next_number(&at);
    double width = next_number(&at);
    double down = next_number(&at);
    assert_true(next_number(&at) == -width);
    assert_true(*at++ == 'z');
    add_box(list, origin.x + x, origin.y + y, width, down);
  }
}

static void read_points(struct element *element, const char *at, struct origin origin) {
  while (*at != '"') {
    add_number(element, origin.x + next_number(&at));
    add_number(element, origin.y + next_number(&at));
  }
}

static void read_tag(struct elements *list, const char *tag, struct origin origin) {
  if (strncmp(tag, "<rect", 5) == 0) {
    add_box(list, origin.x + attribute(tag, "x"), origin.y + attribute(tag, "y"), attribute(tag, "width"),
            attribute(tag, "height"));
  } else if (strncmp(tag, "<line", 5) == 0) {
    struct element *element = add_element(list, 'l');
    add_number(element, origin.x + attribute(tag, "x1"));
    add_number(element, origin.y + attribute(tag, "y1"));
    add_number(element, origin.x + attribute(tag, "x2"));
    add_number(element, origin.y + attribute(tag, "y2"));
  } else if (strncmp(tag, "<text", 5) == 0) {
    struct element *element = add_element(list, 't');
    add_number(element, origin.x + attribute(tag, "x"));
    add_number(element, origin.y + attribute(tag, "y"));
  } else if (strncmp(tag, "<polygon", 8) == 0) {
    read_points(add_element(list, 'p'), strstr(tag, " points=\"") + 9, origin);
  } else if (strncmp(tag, "<path", 5) == 0) {
    const char *data = strstr(tag, " d=\"") + 4;
    if (strchr(data, 'C') != NULL && strchr(data, 'C') < strchr(data, '"')) {
      read_points(add_element(list, 'c'), data, origin);
    } else {
      read_runs(list, data, origin);
    }
  }
}

static void read_svg(const struct report_scene *scene, struct elements *list) {
  struct lumos_text svg = LUMOS_TEXT_BUFFER;
  struct origin origins[8] = {{0, 0}};
  int depth = 0;
  report_svg_paint(scene, &svg);
  lumos_text_char(&svg, '\0');
  for (const char *tag = strstr(svg.bytes, "</defs>"); tag != NULL; tag = strchr(tag + 1, '<')) {
    if (strncmp(tag, "<g ", 3) == 0) {
      const char *at = strstr(tag, "translate(");
      struct origin shift = {next_number(&at), 0};
      shift.y = next_number(&at);
      assert_true(depth + 1 < 8);
      origins[depth + 1] = (struct origin){origins[depth].x + shift.x, origins[depth].y + shift.y};
      depth++;
    } else if (strncmp(tag, "</g>", 4) == 0) {
      depth--;
    } else {
      read_tag(list, tag, origins[depth]);
    }
  }
  assert_int_equal(depth, 0);
  lumos_text_free(&svg);
}

/* Reading what cairo was told. */

static cairo_status_t take(void *closure, const unsigned char *bytes, unsigned int length) {
  lumos_text_add(closure, (const char *)bytes, length);
  return CAIRO_STATUS_SUCCESS;
}

struct reading {
  struct elements *list;
  double numbers[MOST_NUMBERS];
  int count;
  struct element path; /* as far as it has come */
  bool curved, closed;
};

static void end_path(struct reading *reading) {
  if (reading->path.count > 0) {
    const char *kind = reading->closed ? "p" : reading->curved ? "c" : "l";
    struct element *element = add_element(reading->list, *kind);
    memcpy(element->numbers, reading->path.numbers, sizeof element->numbers);
    element->count = reading->path.count;
  }
  reading->path.count = 0;
  reading->curved = reading->closed = false;
}

static void read_word(struct reading *reading, const char *word, size_t length) {
  bool extends = length == 1 && strchr("mlc", word[0]) != NULL;
  if (extends && !reading->closed) { /* a closed path ends with a move to its start */
    for (int i = 0; i < reading->count; i++) {
      add_number(&reading->path, reading->numbers[i]);
    }
    reading->curved |= word[0] == 'c';
  } else if (length == 9 && strncmp(word, "rectangle", 9) == 0) {
    assert_int_equal(reading->count, 4);
    add_box(reading->list, reading->numbers[0], reading->numbers[1], reading->numbers[2], reading->numbers[3]);
  } else if (length == 1 && word[0] == 'h') {
    reading->closed = true;
  } else if (strncmp(word, "stroke", 6) == 0 || strncmp(word, "fill", 4) == 0) {
    end_path(reading);
  }
  reading->count = 0;
}

/* A token of the script: a number, a word, a string ("(...)", whose glyphs' place follows), or fonts as text, which are
 * skipped. */
static const char *read_token(struct reading *reading, const char *at) {
  if (at[0] == '<' && (at[1] == '~' || at[1] == '|')) {
    return strstr(at, "~>") + 2;
  }
  if (*at == '(') {
    for (at++; *at != ')'; at += *at == '\\' ? 2 : 1) {
    }
    const char *place = strchr(at, '[') + 1;
    struct element *element = add_element(reading->list, 't');
    add_number(element, strtod(place, (char **)&place));
    add_number(element, strtod(place, (char **)&place));
    reading->count = 0;
    return place;
  }
  if (*at == '-' || *at == '.' || isdigit((unsigned char)*at)) {
    char *end = NULL;
    double number = strtod(at, &end);
    if (reading->count < MOST_NUMBERS) {
      reading->numbers[reading->count++] = number;
    }
    return end;
  }
  size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-+");
  if (length > 0) {
    read_word(reading, at, length);
  }
  return at + (length > 0 ? length : 1);
}

static void read_cairo(const struct report_scene *scene, struct elements *list) {
  struct lumos_text script = LUMOS_TEXT_BUFFER;
  cairo_device_t *device = cairo_script_create_for_stream(take, &script);
  cairo_surface_t *surface = cairo_script_surface_create(device, CAIRO_CONTENT_COLOR_ALPHA, 1000, 1000);
  cairo_t *cr = cairo_create(surface);
  report_cairo_paint(scene, cr);
  assert_int_equal(cairo_status(cr), CAIRO_STATUS_SUCCESS);
  cairo_destroy(cr);
  cairo_surface_destroy(surface);
  cairo_device_destroy(device);
  lumos_text_char(&script, '\0');
  struct reading reading = {.list = list};
  for (const char *at = strchr(script.bytes, '\n'); *at != '\0';) {
    at = isspace((unsigned char)*at) ? at + 1 : read_token(&reading, at);
  }
  lumos_text_free(&script);
}

/* The scene that both paint. Every number is another one, so that nothing can stand in for anything else. */

static void say(struct report_scene *scene, enum report_text_style style, enum report_anchor anchor, int32_t x,
                int32_t y, const char *words) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, words);
  report_scene_text(scene, style, PAINT_TEXT, anchor, x, y, &text);
  lumos_text_free(&text);
}

static void draw(struct report_scene *scene) {
  const struct report_point bend[] = {{100, 1000}, {230, 1105}, {345, 1217}, {456, 1320},
                                      {567, 1431}, {678, 1542}, {789, 1650}};
  report_scene_begin(scene, "test", 2000);
  lumos_text_put(&scene->title, "All marks");
  lumos_text_put(&scene->description, "One of each kind.");
  scene->height = 2000;
  report_scene_box(scene, PAINT_COMPUTE, 15, 27, 333, 41);
  report_scene_line(scene, PAINT_RULE, 400, 512, 0, 777, STROKE_SOLID);
  report_scene_line(scene, PAINT_STEP, 61, 62, 930, -33, STROKE_DASHED);
  report_scene_group(scene, 1234, 345);
  report_scene_runs(scene, (enum report_paint)LUMOS_GEMM, false);
  report_scene_run(scene, (struct report_run){3, 7, 9});
  report_scene_run(scene, (struct report_run){12, 2, 5});
  report_scene_runs(scene, (enum report_paint)LUMOS_COPY, true);
  report_scene_run(scene, (struct report_run){21, 4, -6});
  report_scene_group(scene, 11, 22);
  report_scene_box(scene, PAINT_TRANSFER, 5, 6, 7, 8);
  report_scene_group_end(scene);
  report_scene_group_end(scene);
  report_scene_arrow(scene, PAINT_MUTED, STROKE_DOTTED, true, bend, sizeof bend / sizeof bend[0]);
  say(scene, STYLE_PLAIN, ANCHOR_START, 71, 723, "begins (here) \\ & <there>");
  say(scene, STYLE_STRONG, ANCHOR_MIDDLE, 814, 836, "is centred");
  say(scene, STYLE_TITLE, ANCHOR_END, 1517, 929, "ends");
}

/* Where a text begins, from where it is anchored. */
static double width_of(enum report_text_style style, const char *words) {
  cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, NULL);
  cairo_t *cr = cairo_create(surface);
  cairo_font_options_t *options = cairo_font_options_create();
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_set_font_options(cr, options);
  const struct report_letters *letters = report_letters(style);
  cairo_select_font_face(cr, REPORT_CAIRO_SANS, CAIRO_FONT_SLANT_NORMAL,
                         letters->weight >= REPORT_BOLD_FROM ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cr, letters->size / 10.0);
  cairo_text_extents_t extents;
  cairo_text_extents(cr, words, &extents);
  cairo_font_options_destroy(options);
  cairo_destroy(cr);
  cairo_surface_destroy(surface);
  assert_true(extents.x_advance > 10);
  return extents.x_advance;
}

static void same_places(void **state) {
  (void)state;
  static const char kinds[] = "rllrrrrcpttt";
  struct report_scene scene;
  struct elements svg = {.count = 0};
  struct elements cairo = {.count = 0};
  draw(&scene);
  read_svg(&scene, &svg);
  read_cairo(&scene, &cairo);
  assert_int_equal(svg.count, (int)strlen(kinds));
  assert_int_equal(cairo.count, (int)strlen(kinds));
  svg.items[svg.count - 2].numbers[0] -= width_of(STYLE_STRONG, "is centred") / 2;
  svg.items[svg.count - 1].numbers[0] -= width_of(STYLE_TITLE, "ends");
  for (int i = 0; i < svg.count; i++) {
    const struct element *left = &svg.items[i];
    const struct element *right = &cairo.items[i];
    if (left->kind != kinds[i] || right->kind != kinds[i] || left->count != right->count) {
      fail_msg("mark %d: %c with %d numbers, %c with %d, not %c", i, left->kind, left->count, right->kind, right->count,
               kinds[i]);
    }
    for (int n = 0; n < left->count; n++) {
      if (fabs(left->numbers[n] - right->numbers[n]) > 0.01) { /* cairo counts in 256ths */
        fail_msg("mark %d (%c), number %d: %f in SVG, %f in cairo", i, kinds[i], n, left->numbers[n],
                 right->numbers[n]);
      }
    }
  }
  /* And they are where the scene says: one of each by hand. */
  assert_near(svg.items[0].numbers[2], 33.3, 0.001);
  assert_near(svg.items[3].numbers[0], 126.4, 0.001);
  assert_near(svg.items[3].numbers[1], 25.5, 0.001); /* stands on its base line */
  assert_near(svg.items[5].numbers[1], 34.5, 0.001); /* hangs from it */
  assert_near(svg.items[6].numbers[0], 125.0, 0.001);
  report_scene_free(&scene);
}

/* Pixels. */

struct image {
  cairo_surface_t *surface;
  const unsigned char *data;
  int stride, width, height;
};

static struct image paint(struct report_scene *scene) {
  cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, scene->width / 10, scene->height / 10);
  cairo_t *cr = cairo_create(surface);
  cairo_set_source_rgb(cr, 1, 1, 1);
  cairo_paint(cr);
  report_cairo_paint(scene, cr);
  assert_int_equal(cairo_status(cr), CAIRO_STATUS_SUCCESS);
  cairo_destroy(cr);
  cairo_surface_flush(surface);
  return (struct image){surface, cairo_image_surface_get_data(surface), cairo_image_surface_get_stride(surface),
                        cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface)};
}

static long pixel(const struct image *image, int x, int y) {
  uint32_t value = 0;
  memcpy(&value, image->data + (ptrdiff_t)y * image->stride + (ptrdiff_t)x * 4, sizeof value);
  return value & 0xFFFFFF;
}

static long rgb(const char *colour) { return strtol(colour + 1, NULL, 16); }

static int distance(long left, long right) {
  return abs((int)(left >> 16) - (int)(right >> 16)) + abs((int)(left >> 8 & 255) - (int)(right >> 8 & 255)) +
         abs((int)(left & 255) - (int)(right & 255));
}

/* The share of a row's or an area's pixels that are nearer to `colour` than to `other`. */
static double share_of(const struct image *image, int x, int y, int width, int height, const char *colour,
                       const char *other) {
  int nearer = 0;
  for (int row = y; row < y + height; row++) {
    for (int column = x; column < x + width; column++) {
      nearer += distance(pixel(image, column, row), rgb(colour)) < distance(pixel(image, column, row), rgb(other));
    }
  }
  return (double)nearer / (width * height);
}

static void fills_differ(void **state) {
  (void)state;
  const struct report_paint_row *wait = report_paint_row(PAINT_WAIT);
  const struct report_paint_row *both = report_paint_row(PAINT_OVERLAPPED);
  struct report_scene scene;
  report_scene_begin(&scene, "test", 4000);
  scene.height = 1000;
  report_scene_box(&scene, PAINT_COMPUTE, 0, 0, 1000, 1000);
  report_scene_box(&scene, PAINT_WAIT, 1000, 0, 1000, 1000);
  report_scene_box(&scene, PAINT_OVERLAPPED, 2000, 0, 1000, 1000);
  report_scene_box(&scene, PAINT_WAIT, 3000, 0, 1000, 1000);
  report_scene_plate(&scene, PAINT_WAIT, 3100, 100, 800, 800);
  struct image image = paint(&scene);
  assert_int_equal(pixel(&image, 0, 0), rgb(report_paint_row(PAINT_COMPUTE)->colour.light));
  assert_int_equal(pixel(&image, 99, 99), rgb(report_paint_row(PAINT_COMPUTE)->colour.light));
  double band = share_of(&image, 100, 0, 100, 100, wait->second.light, wait->colour.light);
  assert_true(band > 0.31 && band < 0.41); /* 1.8 of 5 */
  for (int line = 0; line < 100; line++) { /* at 45 degrees every row and every column meets both colours */
    double row = share_of(&image, 100, line, 100, 1, wait->second.light, wait->colour.light);
    double column = share_of(&image, 100 + line, 0, 1, 100, wait->second.light, wait->colour.light);
    assert_true(row > 0.2 && row < 0.6 && column > 0.2 && column < 0.6);
  }
  assert_int_equal(pixel(&image, 250, 0), rgb(both->colour.light));
  assert_int_equal(pixel(&image, 250, 64), rgb(both->colour.light));
  assert_int_equal(pixel(&image, 250, 65), rgb(both->second.light));
  assert_int_equal(pixel(&image, 250, 99), rgb(both->second.light));
  assert_near(share_of(&image, 310, 10, 80, 80, wait->colour.light, wait->second.light), 1, 0); /* a plate is plain */
  cairo_surface_destroy(image.surface);
  report_scene_free(&scene);
}

/* Runs that are faint let 45 % of what is below through, plain or patterned. */
static void faint_runs_shine_through(void **state) {
  (void)state;
  struct report_scene scene;
  report_scene_begin(&scene, "test", 1000);
  scene.height = 1000;
  report_scene_group(&scene, 0, 500);
  report_scene_runs(&scene, PAINT_COMPUTE, true);
  report_scene_run(&scene, (struct report_run){0, 50, 20});
  report_scene_runs(&scene, PAINT_WAIT, true);
  report_scene_run(&scene, (struct report_run){50, 50, -20});
  report_scene_group_end(&scene);
  struct image image = paint(&scene);
  long blue = rgb(report_paint_row(PAINT_COMPUTE)->colour.light);
  long mixed = 0;
  for (int shift = 16; shift >= 0; shift -= 8) {
    mixed = mixed << 8 | lround(0.55 * (double)(blue >> shift & 255) + 0.45 * 255);
  }
  assert_true(distance(pixel(&image, 25, 40), mixed) <= 3);
  assert_int_equal(pixel(&image, 25, 29), 0xFFFFFF);
  assert_int_equal(pixel(&image, 25, 50), 0xFFFFFF);
  int darkest = 0;
  for (int x = 50; x < 100; x++) {
    int from_white = distance(pixel(&image, x, 60), 0xFFFFFF);
    darkest = from_white > darkest ? from_white : darkest;
  }
  int band = distance(rgb(report_paint_row(PAINT_WAIT)->second.light), 0xFFFFFF);
  assert_true(darkest > 0.5 * band && darkest < 0.6 * band);
  cairo_surface_destroy(image.surface);
  report_scene_free(&scene);
}

/* How much of an area is covered by ink on white; pixels that are covered in part count in part. */
static double cover_of(const struct image *image, int x, int y, int width, int height) {
  double sum = 0;
  for (int row = y; row < y + height; row++) {
    for (int column = x; column < x + width; column++) {
      sum += distance(pixel(image, column, row), 0xFFFFFF);
    }
  }
  return sum / distance(rgb(report_paint_row(PAINT_TEXT)->colour.light), 0xFFFFFF) / (width * height);
}

/* Along a line: solid is whole, dashed half, dotted 1 of 3.5; bold is twice as high. */
static void strokes_differ(void **state) {
  (void)state;
  struct report_scene scene;
  report_scene_begin(&scene, "test", 7000);
  scene.height = 1000;
  for (int stroke = STROKE_SOLID; stroke <= STROKE_DOTTED; stroke++) {
    report_scene_line(&scene, PAINT_TEXT, 0, 105 + 200 * stroke, 7000, 0, (enum report_stroke)stroke);
  }
  const struct report_point straight[] = {{0, 800}, {2000, 800}, {4000, 800}, {6000, 800}};
  report_scene_arrow(&scene, PAINT_TEXT, STROKE_SOLID, true, straight, 4);
  struct image image = paint(&scene);
  assert_near(cover_of(&image, 0, 10, 700, 1), 1, 0.001);
  assert_near(cover_of(&image, 0, 30, 700, 1), 0.5, 0.01);
  assert_near(cover_of(&image, 0, 50, 700, 1), 1 / 3.5, 0.01);
  assert_near(cover_of(&image, 0, 9, 500, 3), 1.0 / 3, 0.001);
  assert_near(cover_of(&image, 0, 78, 500, 4), 2.0 / 4, 0.001);
  assert_near(cover_of(&image, 593, 70, 7, 20), 7 * 5.6 / 2 / (7 * 20), 0.03); /* the arrow's head: a triangle */
  cairo_surface_destroy(image.surface);
  report_scene_free(&scene);
}

/* Files. */

struct source {
  const struct lumos_text *text;
  size_t at;
};

static cairo_status_t give(void *closure, unsigned char *bytes, unsigned int length) {
  struct source *source = closure;
  if (source->text->length - source->at < length) {
    return CAIRO_STATUS_READ_ERROR;
  }
  memcpy(bytes, source->text->bytes + source->at, length);
  source->at += length;
  return CAIRO_STATUS_SUCCESS;
}

static void png_is_twice_as_fine(void **state) {
  (void)state;
  struct report_scene scene;
  struct lumos_text png = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  report_scene_begin(&scene, "test", 1003);
  scene.height = 400;
  report_scene_box(&scene, PAINT_COMPUTE, 100, 100, 100, 100);
  assert_true(report_cairo_png(&scene, &png, &error));
  struct source source = {&png, 0};
  cairo_surface_t *surface = cairo_image_surface_create_from_png_stream(give, &source);
  assert_int_equal(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
  struct image image = {surface, cairo_image_surface_get_data(surface), cairo_image_surface_get_stride(surface),
                        cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface)};
  assert_int_equal(image.width, 201);
  assert_int_equal(image.height, 80);
  assert_int_equal(pixel(&image, 19, 20), rgb(report_paint_row(PAINT_PAPER)->colour.light));
  assert_int_equal(pixel(&image, 20, 20), rgb(report_paint_row(PAINT_COMPUTE)->colour.light));
  assert_int_equal(pixel(&image, 39, 39), rgb(report_paint_row(PAINT_COMPUTE)->colour.light));
  assert_int_equal(pixel(&image, 40, 39), rgb(report_paint_row(PAINT_PAPER)->colour.light));
  cairo_surface_destroy(surface);
  lumos_text_free(&png);
  scene.height = 163840; /* 32768 pixels of a PNG: one too many */
  assert_false(report_cairo_png(&scene, &png, &error));
  assert_non_null(strstr(error.text, "32768"));
  assert_non_null(strstr(error.text, ".pdf"));
  lumos_text_free(&png);
  report_scene_free(&scene);
}

static bool holds(const struct lumos_text *text, const char *part) {
  return memmem(text->bytes, text->length, part, strlen(part)) != NULL;
}

/* Whatever a name holds, and however often it is painted. */
static void pdf_is_the_same_twice(void **state) {
  (void)state;
  struct report_scene scene;
  struct lumos_error error = {LUMOS_DONE, ""};
  draw(&scene);
  say(&scene, STYLE_SMALL, ANCHOR_START, 10, 10, "\xff\xc3 \x1b[31m \xe4\xb8\xad");
  const struct report_scene *scenes[] = {&scene, &scene};
  struct lumos_text title = LUMOS_TEXT_BUFFER;
  struct lumos_text pdfs[] = {LUMOS_TEXT_BUFFER, LUMOS_TEXT_BUFFER};
  lumos_text_put(&title, "a title with \xff in it");
  for (int i = 0; i < 2; i++) {
    assert_true(report_cairo_pdf(scenes, 2, &title, &pdfs[i], &error));
  }
  assert_int_equal(pdfs[0].length, pdfs[1].length);
  assert_memory_equal(pdfs[0].bytes, pdfs[1].bytes, pdfs[0].length);
  assert_memory_equal(pdfs[0].bytes, "%PDF-", 5);
  assert_true(holds(&pdfs[0], "/Count 2"));
  assert_true(holds(&pdfs[0], "a title with ? in it"));
  assert_false(holds(&pdfs[0], "Date"));
  lumos_text_free(&pdfs[0]);
  lumos_text_free(&pdfs[1]);
  lumos_text_free(&title);
  report_scene_free(&scene);
}

/* Programs that are no browsers know no custom properties. */
static void svg_document_stands_alone(void **state) {
  (void)state;
  struct report_scene scene;
  struct lumos_text svg = LUMOS_TEXT_BUFFER;
  draw(&scene);
  report_svg_document(&scene, &svg);
  assert_true(holds(&svg, "<svg xmlns=\"http://www.w3.org/2000/svg\""));
  assert_true(holds(&svg, "svg .compute{fill:#1f5aa8}"));
  assert_true(holds(&svg, "<rect class=\"paper\" width=\"200\" height=\"200\"/>"));
  assert_true(holds(&svg, ">begins (here) \\ &amp; &lt;there&gt;</text>"));
  assert_false(holds(&svg, "var("));
  lumos_text_free(&svg);
  report_scene_free(&scene);
}

/* HTML takes whole pixels alone for the size of an image: 100.5 by 3.3 are 101 by 4. */
static void an_svg_is_whole_pixels_large(void **state) {
  (void)state;
  struct report_scene scene;
  struct lumos_text svg = LUMOS_TEXT_BUFFER;
  report_scene_begin(&scene, "odd", 1005);
  scene.height = 33;
  report_svg_paint(&scene, &svg);
  lumos_text_char(&svg, '\0');
  assert_non_null(strstr(svg.bytes, "viewBox=\"0 0 101 4\" width=\"101\" height=\"4\""));
  lumos_text_free(&svg);
  report_scene_free(&scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(an_svg_is_whole_pixels_large),
                                     cmocka_unit_test(same_places),
                                     cmocka_unit_test(fills_differ),
                                     cmocka_unit_test(faint_runs_shine_through),
                                     cmocka_unit_test(strokes_differ),
                                     cmocka_unit_test(png_is_twice_as_fine),
                                     cmocka_unit_test(pdf_is_the_same_twice),
                                     cmocka_unit_test(svg_document_stands_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
