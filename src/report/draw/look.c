/* The tables of letters and strokes. */
#include "report/draw/look.h"

#include "base/utf8.h"

static const struct report_letters letters[] = {
    [STYLE_PLAIN] = {"", 120, 400},
    [STYLE_STRONG] = {"strong", 120, 600},
    [STYLE_SMALL] = {"small", 115, 400},
    [STYLE_TITLE] = {"title", 200, 640},
    [STYLE_HEADING] = {"heading", 150, 640},
    [STYLE_ON_PAINT] = {"small", 115, 400},
    [STYLE_TINY_ON_PAINT] = {"tiny", 85, 400},
};

const struct report_letters *report_letters(enum report_text_style style) { return &letters[style]; }

struct report_dash report_dash_of(enum report_stroke stroke) {
  static const struct report_dash dashes[] = {
      [STROKE_SOLID] = {0, 0}, [STROKE_DASHED] = {30, 30}, [STROKE_DOTTED] = {10, 25}, [STROKE_LONG_DASHES] = {90, 30}};
  return dashes[stroke];
}

/* Advances of Helvetica for ' ' to '~', in thousandths of the size; other sans serifs keep within a sixth of them, bold
 * ones a third. */
static const uint16_t advances[] = {278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
                                    556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
                                    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
                                    667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
                                    333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
                                    556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584};

static int64_t advance_of(uint32_t point) {
  enum { NO_BREAK_SPACE = 0xA0, FIRST_WIDE = 0x1100, LETTER = 700, WIDE = 1000 };
  if (point >= ' ' && point <= '~') {
    return advances[point - ' '];
  }
  if (point == NO_BREAK_SPACE) {
    return advances[0];
  }
  return point < FIRST_WIDE ? LETTER : WIDE;
}

int32_t report_text_width(enum report_text_style style, const char *bytes, size_t length) {
  int64_t sum = 0;
  for (size_t i = 0; i < length;) {
    uint32_t point = 0;
    size_t size = lumos_utf8_character(bytes + i, length - i, &point);
    sum += advance_of(point);
    i += size > 0 ? size : 1;
  }
  const struct report_letters *row = &letters[style];
  int64_t wide = sum * row->size / 1000 * (row->weight >= REPORT_BOLD_FROM ? 130 : 118) / 100;
  return wide < INT32_MAX ? (int32_t)wide : INT32_MAX;
}

static void put_pixels(struct lumos_text *text, const char *before, int32_t tenths, const char *after) {
  lumos_text_put(text, before);
  lumos_text_decimal(text, tenths, 1);
  lumos_text_put(text, after);
}

void report_look_css(struct lumos_text *text, const char *sans) {
  lumos_text_format(text, "svg text{font-family:%s;font-weight:%d;", sans, (int)letters[STYLE_PLAIN].weight);
  put_pixels(text, "font-size:", letters[STYLE_PLAIN].size, "px;font-variant-numeric:tabular-nums}\n");
  for (int style = STYLE_STRONG; style <= STYLE_TINY_ON_PAINT; style++) {
    if (style != STYLE_ON_PAINT) { /* as small as STYLE_SMALL */
      lumos_text_format(text, "svg .%s{font-weight:%d;", letters[style].css, (int)letters[style].weight);
      put_pixels(text, "font-size:", letters[style].size, "px}\n");
    }
  }
  put_pixels(text, "svg line,svg .stroke{stroke-width:", REPORT_LINE_WIDTH, "}svg .stroke{fill:none}");
  put_pixels(text, "svg .bold{stroke-width:", REPORT_BOLD_WIDTH, "}\n");
  static const char *const strokes[] = {
      [STROKE_DASHED] = "dashed", [STROKE_DOTTED] = "dotted", [STROKE_LONG_DASHES] = "long"};
  for (int stroke = STROKE_DASHED; stroke < STROKES; stroke++) {
    struct report_dash dash = report_dash_of((enum report_stroke)stroke);
    lumos_text_format(text, "svg .%s{", strokes[stroke]);
    put_pixels(text, "stroke-dasharray:", dash.dash, " ");
    put_pixels(text, "", dash.gap, "}\n");
  }
}
