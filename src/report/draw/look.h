/* How marks look beside their colour: letters, strokes and patterns, once, for the page's style sheet, for SVG and for
 * cairo.
 *
 * Lengths are tenths of a CSS pixel, as in scenes.
 */
#ifndef LUMOS_REPORT_LOOK_H
#define LUMOS_REPORT_LOOK_H

#include "report/draw/scene.h"

/* The system's own letters where a browser paints; cairo's have the widths of Helvetica and Arial. */
#define REPORT_SANS                                                                                              \
  "system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",\"Noto Sans\",\"Liberation Sans\",Arial,sans-" \
  "serif"
#define REPORT_CAIRO_SANS "Liberation Sans"

struct report_letters {
  const char *css; /* class of the text: "strong"; "": none */
  int32_t size;
  int32_t weight; /* as in CSS */
};
const struct report_letters *report_letters(enum report_text_style style);

enum {
  REPORT_BOLD_FROM = 600, /* the least weight that is bold where there are only two */
  REPORT_LINE_WIDTH = 10,
  REPORT_BOLD_WIDTH = 20,
  REPORT_FAINT = 55, /* opacity of faint runs, in per cent */
  /* Hatching: tiles turned by 45 degrees, of the ground with a band of the second colour along one side. */
  REPORT_HATCH_TILE = 50,
  REPORT_HATCH_BAND = 18,
  REPORT_TWO_TONE = 65, /* the upper part of the mark's height, in per cent */
};

/* A stroke's dash and gap; 0, 0: solid. */
struct report_dash {
  int32_t dash, gap;
};
struct report_dash report_dash_of(enum report_stroke stroke);

/* How wide a text may get, whatever sans serif it is set in: an upper estimate, for wrapping and placing. */
int32_t report_text_width(enum report_text_style style, const char *bytes, size_t length);

/* The rules for the texts and strokes of pictures, to follow the palette's; `sans` is what stands behind
 * font-family. */
void report_look_css(struct lumos_text *text, const char *sans);

#endif
