/* What every colour on the page means: one paint for a kind of work, for a part of a step, for a phase, and for ink;
 * the same in every picture and table.
 *
 * Compute is blue, communication orange, copies violet, the host teal, idle pale grey; a pattern goes with absence
 * (waiting, idling, hatched both ways what is not recorded, a dashed outline with bubbles) and a paint of two tones
 * with work that overlaps. Forward is blue and backward green, as in papers on pipelines. Painters take the colours
 * from here: the page through the style sheet that report_palette_css writes (light and dark), others directly.
 */
#ifndef LUMOS_REPORT_PALETTE_H
#define LUMOS_REPORT_PALETTE_H

#include "base/text.h"
#include <lumos/job.h>

enum report_paint {
  /* Kinds of tasks: the paint of a kind is its number. */
  PAINT_NONE = 0,
  /* Parts of a step. */
  PAINT_COMPUTE = LUMOS_TASK_KINDS,
  PAINT_OVERLAPPED,
  PAINT_TRANSFER,
  PAINT_WAIT,
  PAINT_BUBBLE,
  PAINT_UNSPLIT,
  PAINT_COPY_PART,
  PAINT_NOT_RECORDED,
  PAINT_IDLE,
  /* What passes between tasks of the critical path. */
  PAINT_HOST_GAP,
  PAINT_LATENCY,
  PAINT_BETWEEN,
  /* Doubtful waits. */
  PAINT_UNEXPLAINED,
  PAINT_RESOURCE,
  PAINT_BOUNDARY,
  /* Phases of a step, and what their work does not compute. */
  PAINT_FORWARD,
  PAINT_BACKWARD,
  PAINT_WEIGHT,
  PAINT_UPDATE,
  PAINT_COMMUNICATION,
  PAINT_NO_PASS,
  /* How busy GPUs are: their time, and the same weighted by occupancy. */
  PAINT_BUSY_MEASURED,
  PAINT_BUSY_SIMULATED,
  PAINT_OCCUPIED_MEASURED,
  PAINT_OCCUPIED_SIMULATED,
  /* Memory of a GPU. */
  PAINT_ALLOCATED,
  PAINT_RESERVED,
  /* Ink of pictures. */
  PAINT_TEXT,
  PAINT_MUTED,
  PAINT_RULE,
  PAINT_TRACK,
  PAINT_STEP,
  PAINT_ROUTE, /* the critical path on a timeline */
  PAINT_PAPER, /* what everything stands on */
  PAINT_COUNT
};

enum report_fill { FILL_PLAIN, FILL_HATCHED, FILL_CROSSED, FILL_TWO_TONE, FILL_OUTLINED };

struct report_colour {
  const char *light, *dark; /* "#08306b" */
};

struct report_paint_row {
  const char *css;   /* class and custom property: "gemm", "--gemm" */
  const char *label; /* "GEMM", as the page names it */
  enum report_fill fill;
  struct report_colour colour; /* hatched, crossed, outlined: the ground; two-tone: the upper part */
  struct report_colour second; /* of the hatching lines, the dashes around it, or the lower part */
  struct report_colour ink;    /* of a number written on it; absent where none is */
};

const struct report_paint_row *report_paint_row(enum report_paint paint);

/* The paint of a task's kind; PAINT_NONE when the kind is none. */
enum report_paint report_paint_of_kind(uint8_t kind);

/* Custom properties for light and dark, and a class for every paint: as SVG fill and as the ground of a legend's
 * swatch. */
void report_palette_css(struct lumos_text *text);

/* The classes of pictures alone, with the light colours in them: for a picture outside a page, where programs know no
 * custom properties. */
void report_palette_picture_css(struct lumos_text *text);

#endif
