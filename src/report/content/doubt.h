/* Marks on the timeline for waits that the recording does not account for: a strip along the upper edge of a stream's
 * lane, before the start of what waited. They say where a prediction is least sure.
 */
#ifndef LUMOS_REPORT_DOUBT_H
#define LUMOS_REPORT_DOUBT_H

#include "base/text.h"
#include "report/draw/palette.h"
#include <lumos/path.h>

enum report_paint report_paint_of_doubt(int kind);

/* The doubts of tasks [first, first + count): those before *end. */
const struct lumos_doubt *report_doubts_of(const struct lumos_doubts *doubts, uint32_t first, uint32_t count,
                                           const struct lumos_doubt **end);

/* Which paints have marks. */
void report_doubt_paints(const struct lumos_doubts *doubts, bool shown[PAINT_COUNT]);

/* How to read the marks: a sentence or two. */
void report_put_doubt_reading(struct lumos_text *out);

#endif
