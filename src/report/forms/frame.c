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

/* What stands above the picture. */
static void put_head(struct frame *frame, const struct report_content *content, const struct report_picture *picture) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_title(content, &text);
  put_paragraph(frame, STYLE_TITLE, PAINT_TEXT, TITLE_LINE, &text);
  frame->y += TITLE_GAP;
  report_put_subject(content, &text);
  put_paragraph(frame, STYLE_PLAIN, PAINT_MUTED, LINE, &text);
  frame->y += SECTION_GAP;
  lumos_text_put(&text, picture->title);
  put_paragraph(frame, STYLE_HEADING, PAINT_TEXT, HEADING_LINE, &text);
  picture->finding(content, &text);
  put_paragraph(frame, STYLE_PLAIN, PAINT_TEXT, LINE, &text);
  if (picture->reading != NULL) {
    picture->reading(content, &text);
    put_paragraph(frame, STYLE_SMALL, PAINT_MUTED, SMALL_LINE, &text);
  }
  lumos_text_free(&text);
}

bool report_picture_frame(const struct report_content *content, const struct report_picture *picture,
                          struct report_scene *scene) {
  struct report_scene inside;
  if (!picture->scene(content, &inside)) {
    return false;
  }
  report_scene_begin(scene, picture->name, inside.width + 2 * MARGIN);
  lumos_text_add(&scene->title, inside.title.bytes, inside.title.length);
  lumos_text_add(&scene->description, inside.description.bytes, inside.description.length);
  struct frame frame = {.scene = scene, .room = inside.width, .y = MARGIN};
  put_head(&frame, content, picture);
  frame.y += SECTION_GAP;
  report_scene_include(scene, &inside, MARGIN, frame.y);
  frame.y += inside.height + SECTION_GAP;
  report_scene_free(&inside);
  put_legend(&frame, content, picture);
  frame.y += SECTION_GAP;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "Lumos " LUMOS_VERSION);
  put_paragraph(&frame, STYLE_SMALL, PAINT_MUTED, SMALL_LINE, &text);
  lumos_text_free(&text);
  scene->height = frame.y + MARGIN;
  return true;
}
