/* What a block refers to in another one, so that it can be found again where blocks stand in another order.
 *
 * A task that waits for one of another block is told by roles: by the kind of that block (its thread, phase and part of
 * the model), by how many of that kind stand between the two, and by its place in it: the n-th of its name there.
 */
#ifndef LUMOS_REBUILD_PORTS_H
#define LUMOS_REBUILD_PORTS_H

#include "rebuild/blocks.h"

/* Where the blocks of each kind stand in a list. */
struct rebuild_order {
  uint32_t *first;     /* by kind, and one more */
  uint32_t *positions; /* ascending within a kind */
};

struct rebuild_kinds {
  const struct rebuild_blocks *blocks;
  uint32_t count;
  uint32_t *of;                   /* by block */
  struct rebuild_order *recorded; /* by rank: of its blocks, counted from its first */
};

void rebuild_kinds_make(struct rebuild_kinds *kinds, const struct rebuild_blocks *blocks);
void rebuild_kinds_free(struct rebuild_kinds *kinds);

/* Of a list of blocks. The caller frees it. */
void rebuild_order_make(struct rebuild_order *order, const struct rebuild_kinds *kinds, const uint32_t *list,
                        uint32_t count);
void rebuild_order_free(struct rebuild_order *order);

/* Block `from` refers to block `to` of its rank. A block that does what `from` does stands at a position of another
 * list: at which position of that does the one stand that does what `to` does? LUMOS_NONE: there is none. O(log
 * blocks). */
uint32_t rebuild_find_block(const struct rebuild_kinds *kinds, const struct rebuild_order *order, uint32_t position,
                            uint32_t from, uint32_t to);

/* By block: to which blocks of its rank it refers, as far as these are told by kind and by how many lie between; equal
 * in blocks that refer to the same, but for places. The caller frees it. O((tasks + deps) log blocks). */
uint64_t *rebuild_hash_ports(const struct rebuild_blocks *blocks);

/* The task of block `in` that stands where `task` does in its own: a task of the same block where that is `in`; of one
 * with other tasks the n-th of the same name, and for want of that the last on such a lane; LUMOS_NONE: there is none.
 * O(1) in blocks of equal structure, else O(tasks of both). */
uint32_t rebuild_find_task(const struct rebuild_blocks *blocks, uint32_t task, uint32_t in);

#endif
