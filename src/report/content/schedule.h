/* The order in which the stages of a pipeline make their passes, in words. */
#ifndef LUMOS_REPORT_SCHEDULE_H
#define LUMOS_REPORT_SCHEDULE_H

#include "base/text.h"
#include "sim/pipeline/schedule.h"

/* "1F1B"; NULL where there is no name. */
const char *report_schedule_name(enum lumos_recovered_schedule schedule);

/* The order of a stage's passes, each once, at its first interval: "F0 F1 B0 F2 B1 B2"; chunks as letters: "F0a F0b".
 * At most about `limit` bytes, then an ellipsis. */
void report_put_order(const struct lumos_passes *passes, const struct lumos_pipeline_stage *stage, size_t limit,
                      struct lumos_text *out);

/* The letter of a chunk: "a" to "z", or nothing where the stage has one chunk or more than letters. */
void report_put_chunk(const struct lumos_pipeline_stage *stage, int32_t chunk, struct lumos_text *out);

#endif
