/* Blocks of a recorded job: what a thread does in a row for one part of the model, in one phase, for one micro-batch,
 * with all that its calls put on streams.
 *
 * Blocks of a rank stand in the order of time in which they begin. What a training step is made of is then a list of
 * blocks: the frame before the first pass, the embedding forward, layers, the head, back again, buckets of gradients
 * between the pieces of layers that they interrupt, sends and receives, the optimizer, the frame behind it.
 */
#ifndef LUMOS_REBUILD_BLOCKS_H
#define LUMOS_REBUILD_BLOCKS_H

#include "rebuild/weights.h"
#include <lumos/job.h>

struct rebuild_block {
  uint32_t rank, lane;                 /* indices; the thread */
  uint32_t first, count;               /* its tasks on the thread */
  uint32_t device_first, device_count; /* those on streams, in rebuild_blocks.devices */
  int32_t step, micro_batch, layer;    /* as of its tasks */
  uint8_t phase, part;                 /* likewise; 0: none */
  bool transfers;                      /* it sends or receives between passes, and does nothing else */
  bool weights;                        /* it is for gradients of weights that can be put off, and for nothing else */
  bool attention;                      /* it is core attention, forward or back, and nothing else */
  uint32_t turn;      /* how many blocks of its thread and step are called the same and come before it */
  uint64_t structure; /* what it does on streams and with events; equal in blocks that do the same */
  uint64_t shape;     /* the same, whoever it communicates with */
};

struct rebuild_blocks {
  const struct lumos_job *job;
  LUMOS_VECTOR(struct rebuild_block) items;
  uint32_t *rank_first; /* by rank, and one more: its blocks */
  uint32_t *of_task;    /* by task: its block; LUMOS_NONE: launched before the recording */
  uint32_t *devices;    /* tasks on streams by block, of a block in their order */
  uint32_t *place;      /* by task: how many of its block come before it, on the thread or on streams */
};

/* Cut a job, at stage graph or later, whose tasks on threads have measured starts; `attention`: also at core attention.
 * O(tasks log blocks). */
void rebuild_blocks_cut(struct rebuild_blocks *blocks, const struct lumos_job *job, enum rebuild_weights weights,
                        bool attention);
/* What blocks are for beside their phase and part: a number for labels. */
static inline uint32_t rebuild_block_use(const struct rebuild_block *block) {
  return block->transfers + 2U * block->weights + 4U * block->attention;
}
/* A sum over replicas for which a pass is interrupted, a task on a stream; LUMOS_NONE: the block is for something else,
 * such as the parameters that fully sharded replicas gather for each pass. O(its tasks on streams x groups). */
uint32_t rebuild_block_sum(const struct rebuild_blocks *blocks, const struct rebuild_block *block);
void rebuild_blocks_free(struct rebuild_blocks *blocks);

/* The numbers of the steps that blocks are of, ascending. The caller frees the vector. */
LUMOS_VECTOR_TYPE(rebuild_steps, int32_t);
void rebuild_steps_list(struct rebuild_steps *steps, const struct rebuild_blocks *blocks);
/* Where one of them stands among them. O(log steps). */
uint32_t rebuild_step_index(const struct rebuild_steps *steps, int32_t step);

#endif
