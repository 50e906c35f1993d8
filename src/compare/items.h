/* What a job does in its compared steps: items of work, each of one place, op, shapes, name and kind, with what they
 * take and account for in every step.
 */
#ifndef LUMOS_COMPARE_ITEMS_H
#define LUMOS_COMPARE_ITEMS_H

#include "compare/keys.h"
#include "compare/side.h"

enum compare_part {               /* of an item's key; names are strings of the comparison */
                    COMPARE_KIND, /* enum lumos_task_kind; 0: nothing runs */
                    COMPARE_PHASE,
                    COMPARE_PLACE, /* compare_place_of */
                    COMPARE_OP,
                    COMPARE_SHAPES,
                    COMPARE_NAME,
                    COMPARE_MODULE,
                    COMPARE_PARTS
};

struct compare_item {
  uint32_t parts[COMPARE_PARTS];
  __int128 time; /* of all compared steps and ranks */
};

/* What an item does in one compared step, summed over ranks. */
struct compare_cell {
  uint32_t item, step;
  __int128 time, owned; /* of kernels, and of the step, ns */
  int64_t count;
};

struct compare_items {
  LUMOS_VECTOR(struct compare_item) items;
  LUMOS_VECTOR(struct compare_cell) cells;
  struct compare_keys keys;
  struct lumos_numbering numbering; /* of the cells */
};

/* Layers are numbered from 0, other parts of the model have a place among them: both in one number, 0 for neither. */
static inline uint32_t compare_place_of(const struct lumos_task *task) {
  return task->layer >= 0 ? (uint32_t)task->layer + LUMOS_PART_OPTIMIZER + 1U : task->part;
}
static inline bool compare_place_is_layer(uint32_t place) { return place > LUMOS_PART_OPTIMIZER; }
static inline int32_t compare_layer_of(uint32_t place) { return (int32_t)(place - LUMOS_PART_OPTIMIZER - 1U); }

/* Kernels, copies and idle time; O(tasks log tasks). Names are interned without what is private. */
void compare_items_of_gpu(struct compare_items *items, const struct compare_side *side, struct lumos_strings *strings);
/* Calls into the runtime, by name and op. O(tasks). */
void compare_items_of_calls(struct compare_items *items, const struct compare_side *side,
                            struct lumos_strings *strings);
void compare_items_free(struct compare_items *items);

#endif
