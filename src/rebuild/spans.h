/* What ops and modules tasks that are built belong to: spans like the recorded ones. Steps and annotations are measured
 * times, and none of what is built. */
#ifndef LUMOS_REBUILD_SPANS_H
#define LUMOS_REBUILD_SPANS_H

#include "job/builder.h"
#include "rebuild/blocks.h"

struct rebuild_spans;
struct rebuild_spans *rebuild_spans_new(const struct lumos_job *from, struct lumos_builder *builder);
void rebuild_spans_free(struct rebuild_spans *spans); /* NULL is allowed */

void rebuild_spans_begin_rank(struct rebuild_spans *spans, struct lumos_built_rank rank);
/* Tasks of a block come next. What a recorded span reaches over, in blocks that follow each other in the recording and
 * in what is built, is one span. */
void rebuild_spans_begin_block(struct rebuild_spans *spans, const struct rebuild_block *block);
/* Like the recorded span, in the block at hand; none where it is none of an op or module, and in none. Amortised
 * O(1). */
struct lumos_built_span rebuild_span_of(struct rebuild_spans *spans, uint32_t span);

#endif
