/* A picture that stands alone, in a slide or a comment: what a page says around it is said in the picture. */
#include "report/diagnosis/first_screen.h"
#include "report/draw/look.h"
#include "report/forms/pictures.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <string.h>

/* Tenths of a pixel. */
enum {
  MARGIN = 400,
  TITLE_LINE = 270,
  TITLE_GAP = 40,
  HEADING_LINE = 230,
  LINE = 175,
  SMALL_LINE = 160,
  SECTION_GAP = 180, /* above the heading, and around picture and legend */
  SWATCH = 110,
  SWATCH_GAP = 60, /* to its label */
  ITEM_GAP = 220,  /* to the next item */
  ITEM_LINE = 200,
};

struct frame {
  struct report_scene *scene;
  int32_t room; /* between the margins */
  int32_t y;    /* where the next line begins */
};

/* How much of the text stands on a line: whole words, but at least a character. */
static size_t line_length(enum report_text_style style, const char *bytes, size_t length, int32_t room) {
  size_t fits = 0;
  for (size_t i = 1; i <= length; i++) {
    bool word_ends = i == length || bytes[i] == ' ';
    if (word_ends && report_text_width(style, bytes, i) > room) {
      break;
    }
    fits = word_ends ? i : fits;
  }
  for (size_t i = 1; fits == 0 && i <= length; i++) { /* a word longer than the line is cut between characters */
    bool character_ends = i == length || ((unsigned char)bytes[i] & 0xC0) != 0x80;
    if (character_ends && (i == length || report_text_width(style, bytes, i + 1) > room)) {
      fits = i;
    }
  }
  return fits;
}

static int count_lines(enum report_text_style style, const struct lumos_text *text, int32_t room) {
  int lines = 0;
  for (size_t at = 0; at < text->length; lines++) {
    at += line_length(style, text->bytes + at, text->length - at, room);
    at += at < text->length && text->bytes[at] == ' ';
  }
  return lines;
}

/* The least room in which the text takes no more lines: no last line of one word. */
static int32_t balanced_room(enum report_text_style style, const struct lumos_text *text, int32_t room) {
  int lines = count_lines(style, text, room);
  int32_t least = room / 2;
  while (least < room) {
    int32_t middle = least + (room - least) / 2;
    if (count_lines(style, text, middle) > lines) {
      least = middle + 1;
    } else {
      room = middle;
    }
  }
  return room;
}

/* A wrapped text; empties it. */
static void put_paragraph(struct frame *frame, enum report_text_style style, enum report_paint paint, int32_t line,
                          struct lumos_text *text) {
  int32_t room = balanced_room(style, text, frame->room);
  for (size_t at = 0; at < text->length;) {
    size_t length = line_length(style, text->bytes + at, text->length - at, room);
    struct lumos_text words = {.bytes = text->bytes + at, .length = length};
    report_scene_text(frame->scene, style, paint, ANCHOR_START, MARGIN, frame->y + report_letters(style)->size, &words);
    frame->y += line;
    at += length;
    at += at < text->length && text->bytes[at] == ' ';
  }
  text->length = 0;
}

static void put_legend(struct frame *frame, const struct report_content *content,
                       const struct report_picture *picture) {
  bool shown[PAINT_COUNT] = {false};
  picture->legend(content, shown);
  int32_t x = 0;
  for (int i = 1; i < PAINT_COUNT; i++) {
    const char *label = report_paint_row((enum report_paint)i)->label;
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_put(&text, label);
    int32_t width = SWATCH + SWATCH_GAP + report_text_width(STYLE_PLAIN, label, strlen(label));
    if (shown[i] && text.length > 0) {
      if (x > 0 && x + width > frame->room) {
        x = 0;
        frame->y += ITEM_LINE;
      }
      report_scene_box(frame->scene, (enum report_paint)i, MARGIN + x, frame->y + 25, SWATCH, SWATCH);
      report_scene_text(frame->scene, STYLE_PLAIN, PAINT_TEXT, ANCHOR_START, MARGIN + x + SWATCH + SWATCH_GAP,
                        frame->y + report_letters(STYLE_PLAIN)->size, &text);
      x += width + ITEM_GAP;
    }
    lumos_text_free(&text);
  }
  frame->y += x > 0 ? ITEM_LINE : 0;
}

/* Unless the title says the same, all but for the case of its first letter. */
static void put_verdict(struct frame *frame, const struct report_content *content,
                        const struct report_picture *picture) {
  struct lumos_text sentence = LUMOS_TEXT_BUFFER;
  struct lumos_text finding = LUMOS_TEXT_BUFFER;
  const struct report_result *result = &content->result;
  diagnosis_put_sentence(result, &sentence);
  picture->finding(content, &finding);
  if (finding.length < 2 || sentence.length == 0 ||
      memmem(sentence.bytes, sentence.length, finding.bytes + 1, finding.length - 1) == NULL) {
    put_paragraph(frame, STYLE_PLAIN, PAINT_TEXT, LINE, &sentence);
  }
  lumos_text_free(&finding);
  lumos_text_free(&sentence);
}

/* The report's title where one was asked for, else what the picture finds; then what it is of, the diagnosis, and,
 * where there is room, how the picture is read. */
static void put_head(struct frame *frame, const struct report_content *content, const struct report_picture *picture,
                     bool read) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  bool titled = report_title(content) != NULL;
  if (titled) {
    report_put_title(content, &text);
    put_paragraph(frame, STYLE_TITLE, PAINT_TEXT, TITLE_LINE, &text);
  }
  picture->finding(content, &text);
  if (text.length == 0) {
    lumos_text_put(&text, picture->title);
  }
  put_paragraph(frame, titled ? STYLE_HEADING : STYLE_TITLE, PAINT_TEXT, titled ? HEADING_LINE : TITLE_LINE, &text);
  frame->y += TITLE_GAP;
  report_put_subject(content, &text);
  put_paragraph(frame, STYLE_PLAIN, PAINT_MUTED, LINE, &text);
  if (!content->options->no_verdict) {
    put_verdict(frame, content, picture);
  }
  if (picture->reading != NULL && read) {
    frame->y += TITLE_GAP;
    picture->reading(content, &text);
    put_paragraph(frame, STYLE_SMALL, PAINT_MUTED, SMALL_LINE, &text);
  }
  lumos_text_free(&text);
}

static void put_foot(struct frame *frame, const struct report_content *content, const struct report_picture *picture) {
  put_legend(frame, content, picture);
  frame->y += SECTION_GAP;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "Lumos " LUMOS_VERSION);
  put_paragraph(frame, STYLE_SMALL, PAINT_MUTED, SMALL_LINE, &text);
  lumos_text_free(&text);
}

static struct frame begin_frame(struct report_scene *scene, const struct report_picture *picture, int32_t width,
                                int32_t y) {
  report_scene_begin(scene, picture->name, width);
  return (struct frame){.scene = scene, .room = width - 2 * MARGIN, .y = y};
}

/* How high head and foot are on a sheet of that width. */
static int32_t height_around(const struct report_content *content, const struct report_picture *picture, int32_t width,
                             bool read) {
  struct report_scene scratch;
  struct frame frame = begin_frame(&scratch, picture, width, MARGIN);
  put_head(&frame, content, picture, read);
  frame.y += 2 * SECTION_GAP;
  put_foot(&frame, content, picture);
  report_scene_free(&scratch);
  return frame.y + MARGIN;
}

/* The sheet: what was asked for, in pixels of a picture of the usual width, or as large as it has to be. */
struct sheet {
  int32_t width, height;
  int32_t scale; /* of the picture, in millionths */
  bool read;     /* there is room for how the picture is read */
};

static int32_t scaled(int32_t length, int32_t scale) { return (int32_t)((int64_t)length * scale / REPORT_WHOLE_SCALE); }

/* As wide as the picture, and where it would be taller than wide, wider. */
static struct sheet natural_sheet(const struct report_content *content, const struct report_picture *picture,
                                  const struct report_scene *inside) {
  struct sheet sheet = {.width = inside->width + 2 * MARGIN, .scale = REPORT_WHOLE_SCALE, .read = true};
  sheet.height = height_around(content, picture, sheet.width, true) + inside->height;
  if (sheet.height > sheet.width) {
    sheet.width = sheet.height;
    sheet.height = height_around(content, picture, sheet.width, true) + inside->height;
  }
  return sheet;
}

/* The picture is made to fit; where that makes it smaller, it is not said how it is read. */
static struct sheet asked_sheet(const struct report_content *content, const struct report_picture *picture,
                                const struct report_scene *inside) {
  enum { WIDTH = 12600, LEAST = REPORT_WHOLE_SCALE / 20 };
  const struct lumos_report_options *options = content->options;
  struct sheet sheet = {.width = WIDTH, .read = true};
  sheet.height = (int32_t)((int64_t)WIDTH * options->height / options->width);
  for (int pass = 0; pass < 2; pass++) {
    sheet.read = pass == 0;
    int32_t room = sheet.height - height_around(content, picture, WIDTH, sheet.read);
    int64_t high = (int64_t)room * REPORT_WHOLE_SCALE / inside->height;
    int64_t wide = (int64_t)(WIDTH - 2 * MARGIN) * REPORT_WHOLE_SCALE / inside->width;
    int64_t scale = high < wide ? high : wide;
    sheet.scale = (int32_t)(scale < LEAST ? LEAST : scale > REPORT_WHOLE_SCALE ? REPORT_WHOLE_SCALE : scale);
    if (sheet.scale == REPORT_WHOLE_SCALE) {
      break;
    }
  }
  return sheet;
}

bool report_picture_frame(const struct report_content *content, const struct report_picture *picture,
                          struct report_scene *scene) {
  struct report_scene inside;
  if (!picture->scene(content, &inside)) {
    return false;
  }
  const struct lumos_report_options *options = content->options;
  bool asked = options->width > 0 && inside.width > 0 && inside.height > 0;
  struct sheet sheet = asked ? asked_sheet(content, picture, &inside) : natural_sheet(content, picture, &inside);
  struct frame frame = begin_frame(scene, picture, sheet.width, MARGIN);
  lumos_text_add(&scene->title, inside.title.bytes, inside.title.length);
  lumos_text_add(&scene->description, inside.description.bytes, inside.description.length);
  put_head(&frame, content, picture, sheet.read);
  int32_t spare = sheet.height - height_around(content, picture, sheet.width, sheet.read) -
                  scaled(inside.height, sheet.scale); /* above and below the picture */
  frame.y += SECTION_GAP + (spare > 0 ? spare / 2 : 0);
  int32_t x = MARGIN + (frame.room - scaled(inside.width, sheet.scale)) / 2;
  report_scene_include(scene, &inside, x, frame.y, sheet.scale);
  frame.y += scaled(inside.height, sheet.scale) + SECTION_GAP + (spare > 0 ? spare - spare / 2 : 0);
  report_scene_free(&inside);
  put_foot(&frame, content, picture);
  scene->height = sheet.height;
  if (asked && !options->is_ratio) {
    scene->shown_width = options->width;
    scene->shown_height = options->height;
  }
  return true;
}
