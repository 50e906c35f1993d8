/* In which order the stages of a pipeline make their passes, and what that order is called. */
#ifndef LUMOS_REPORT_SCHEDULE_H
#define LUMOS_REPORT_SCHEDULE_H

#include "base/text.h"
#include "report/content/passes.h"

enum report_schedule {
  SCHEDULE_NONE,        /* no pipeline, or its length is not known */
  SCHEDULE_UNNAMED,     /* none of the following */
  SCHEDULE_GPIPE,       /* all forward, then all backward */
  SCHEDULE_1F1B,        /* stage s of p: p - 1 - s forward, then forward and backward by turns, then what is left */
  SCHEDULE_INTERLEAVED, /* the same over several chunks of layers a stage, in rounds of p micro-batches */
  SCHEDULE_ZERO_BUBBLE, /* the order of 1F1B, weight gradients apart to fill the bubbles: ZB-H1 */
};

/* Of a step of at least two micro-batches; with fewer all are alike. */
enum report_schedule report_schedule_of(const struct report_passes *passes);

/* "1F1B"; NULL where there is no name. */
const char *report_schedule_name(enum report_schedule schedule);

/* The bubble that the schedule leaves where all forward passes take equally long, all backward passes too, and nothing else takes time: its share of a step, in
 * millionths. LUMOS_ABSENT: no closed formula. */
int64_t report_schedule_bubble(enum report_schedule schedule, const struct report_passes *passes);

/* The order of a stage's passes, each once, at its first stretch: "F0 F1 B0 F2 B1 B2"; chunks as letters: "F0a F0b". At most about
 * `limit` bytes, then an ellipsis. */
void report_put_order(const struct report_passes *passes, const struct report_stage *stage, size_t limit,
                      struct lumos_text *out);

/* The letter of a chunk: "a" to "z", or nothing where the stage has one chunk or more than letters. */
void report_put_chunk(const struct report_stage *stage, int32_t chunk, struct lumos_text *out);

#endif
