#include "rebuild/passes.h"

#include <stdlib.h>

static bool is_of_pass(const struct rebuild_block *block) {
  bool works = block->phase == LUMOS_FORWARD || block->phase == LUMOS_BACKWARD || block->phase == LUMOS_WEIGHT;
  return works && block->micro_batch != LUMOS_ABSENT_INT;
}

static uint32_t index_of(const struct rebuild_passes *passes, uint8_t phase, int32_t micro_batch) {
  uint32_t i = 0;
  while (i < passes->items.count &&
         (passes->items.items[i].phase != phase || passes->items.items[i].micro_batch != micro_batch)) {
    i++;
  }
  return i;
}

const struct rebuild_pass *rebuild_pass_of(const struct rebuild_passes *passes, uint8_t phase, int32_t micro_batch) {
  uint32_t index = index_of(passes, phase, micro_batch);
  return index == passes->items.count ? NULL : &passes->items.items[index];
}

/* Passes in the order in which they begin, and the frame. */
static void find_passes(struct rebuild_passes *passes, const struct rebuild_blocks *blocks) {
  for (uint32_t b = blocks->rank_first[passes->rank]; b < blocks->rank_first[passes->rank + 1]; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    if (block->step != passes->step || block->transfers) {
      continue;
    }
    if (!is_of_pass(block) && passes->items.count == 0) {
      lumos_vector_push(&passes->before, b);
    } else if (!is_of_pass(block)) {
      lumos_vector_push(&passes->behind, b);
    } else if (index_of(passes, block->phase, block->micro_batch) == passes->items.count) {
      lumos_vector_push(&passes->items,
                        ((struct rebuild_pass){.phase = block->phase, .micro_batch = block->micro_batch}));
    }
  }
}

/* What is for no part comes with what is before it. */
static void add_block(struct rebuild_passes *passes, struct rebuild_pass *pass, const struct rebuild_block *block,
                      uint32_t b) {
  const struct rebuild_piece *last = pass->count == 0 ? NULL : &passes->pieces.items[passes->pieces.count - 1];
  bool more = last != NULL && (block->part == 0 || (block->part == last->part && block->layer == last->layer));
  if (!more) {
    struct rebuild_piece piece = {block->part, block->layer, (uint32_t)passes->blocks.count, 0};
    lumos_vector_push(&passes->pieces, piece);
    pass->count++;
  }
  lumos_vector_push(&passes->blocks, b);
  passes->pieces.items[passes->pieces.count - 1].count++;
}

static void fill_pass(struct rebuild_passes *passes, struct rebuild_pass *pass, const struct rebuild_blocks *blocks) {
  pass->first = (uint32_t)passes->pieces.count;
  for (uint32_t b = blocks->rank_first[passes->rank]; b < blocks->rank_first[passes->rank + 1]; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    if (block->step == passes->step && !block->transfers && block->phase == pass->phase &&
        block->micro_batch == pass->micro_batch) {
      add_block(passes, pass, block, b);
    }
  }
}

void rebuild_passes_find(struct rebuild_passes *passes, const struct rebuild_blocks *blocks, uint32_t rank,
                         int32_t step) {
  *passes = (struct rebuild_passes){.rank = rank, .step = step};
  find_passes(passes, blocks);
  for (size_t i = 0; i < passes->items.count; i++) {
    fill_pass(passes, &passes->items.items[i], blocks);
  }
}

void rebuild_passes_free(struct rebuild_passes *passes) {
  lumos_vector_free(&passes->items);
  lumos_vector_free(&passes->pieces);
  lumos_vector_free(&passes->blocks);
  lumos_vector_free(&passes->before);
  lumos_vector_free(&passes->behind);
}
