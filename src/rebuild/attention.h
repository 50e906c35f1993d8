/* Core attention of layers: what lies between the product that makes queries, keys and values and that of the output's
 * projection. */
#ifndef LUMOS_REBUILD_ATTENTION_H
#define LUMOS_REBUILD_ATTENTION_H

#include <lumos/job.h>

/* By task of a thread, a byte: it is core attention of a layer, forward or on its way back. That is from the first op
 * that attends, or multiplies a batch by no weight, to the last before a product; forward with the ops before and
 * behind it that only copy. What the backward pass computes again is none. The caller frees it. O(tasks x depth of
 * ops). */
uint8_t *rebuild_find_attention(const struct lumos_job *job);

#endif
