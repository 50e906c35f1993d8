/* See doubt.h. */
#include "report/content/doubt.h"

enum report_paint report_paint_of_doubt(int kind) {
  static const enum report_paint paints[LUMOS_DOUBT_KINDS] = {
      [LUMOS_DOUBT_UNEXPLAINED] = PAINT_UNEXPLAINED,
      [LUMOS_DOUBT_RESOURCE] = PAINT_RESOURCE,
      [LUMOS_DOUBT_BOUNDARY] = PAINT_BOUNDARY,
  };
  return paints[kind];
}

/* The place of the first doubt of this task or a later one. */
static size_t place_of(const struct lumos_doubts *doubts, uint32_t task) {
  size_t low = 0;
  size_t high = doubts->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (doubts->items[middle].task < task) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

const struct lumos_doubt *report_doubts_of(const struct lumos_doubts *doubts, uint32_t first, uint32_t count,
                                           const struct lumos_doubt **end) {
  if (doubts->count == 0) {
    *end = NULL;
    return NULL;
  }
  *end = doubts->items + place_of(doubts, first + count);
  return doubts->items + place_of(doubts, first);
}

void report_doubt_paints(const struct lumos_doubts *doubts, bool shown[PAINT_COUNT]) {
  for (size_t i = 0; i < doubts->count; i++) {
    shown[report_paint_of_doubt(doubts->items[i].kind)] = true;
  }
}

void report_put_doubt_reading(struct lumos_text *out) {
  lumos_text_put(out, "A strip above a stream marks uncertain waiting, up to the start of the task that waited. The "
                      "simulation copies it from the trace or, for SMs, infers it from times. Its height is the share "
                      "of such waiting in the column, in quarters.");
}
