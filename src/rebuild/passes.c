#include "rebuild/passes.h"

#include <stdlib.h>

static bool is_of_pass(const struct rebuild_block *block) {
  bool works = block->phase == LUMOS_FORWARD || block->phase == LUMOS_BACKWARD || block->phase == LUMOS_WEIGHT;
  return works && block->micro_batch != LUMOS_ABSENT_INT;
}

static uint32_t index_of(const struct rebuild_passes *passes, uint8_t phase, int32_t micro_batch, int32_t chunk) {
  uint32_t i = 0;
  while (i < passes->items.count &&
         (passes->items.items[i].phase != phase || passes->items.items[i].micro_batch != micro_batch ||
          passes->items.items[i].chunk != chunk)) {
    i++;
  }
  return i;
}

const struct rebuild_pass *rebuild_pass_of(const struct rebuild_passes *passes, uint8_t phase, int32_t micro_batch,
                                           int32_t chunk) {
  uint32_t index = index_of(passes, phase, micro_batch, chunk);
  return index == passes->items.count ? NULL : &passes->items.items[index];
}

/* ---- chunks ---- */

struct finder {
  struct rebuild_passes *passes;
  const struct rebuild_blocks *blocks;
  const int32_t *chunks; /* by layer */
  int32_t layers;
  int32_t *chunk_of; /* by block, from the rank's first: LUMOS_ABSENT_INT: not known */
  uint8_t *phase_of; /* likewise: of the pass that it is in */
};

static bool is_of_step(const struct finder *finder, const struct rebuild_block *block) {
  return block->step == finder->passes->step && !block->transfers;
}

static bool goes_on(const struct rebuild_block *block, const struct rebuild_block *last) {
  return last != NULL && block->phase == last->phase && block->micro_batch == last->micro_batch;
}

/* Blocks in a row of one phase and micro-batch are of one chunk, which their layers tell. */
static void find_runs(const struct finder *finder) {
  uint32_t from = finder->blocks->rank_first[finder->passes->rank], run = from;
  uint32_t end = finder->blocks->rank_first[finder->passes->rank + 1];
  const struct rebuild_block *last = NULL;
  for (uint32_t b = from; b < end; b++) {
    const struct rebuild_block *block = &finder->blocks->items.items[b];
    finder->chunk_of[b - from] = LUMOS_ABSENT_INT;
    if (!is_of_step(finder, block) || !is_of_pass(block)) {
      continue;
    }
    run = goes_on(block, last) ? run : b;
    finder->chunk_of[b - from] =
        goes_on(block, last) ? finder->chunk_of[last - finder->blocks->items.items - from] : LUMOS_ABSENT_INT;
    bool tells = block->layer >= 0 && block->layer < finder->layers && finder->chunk_of[b - from] == LUMOS_ABSENT_INT;
    for (uint32_t i = run; tells && i <= b; i++) {
      finder->chunk_of[i - from] = finder->chunks[block->layer];
    }
    last = block;
  }
}

/* A run that has no layer is of the chunk of the next one of its phase and micro-batch that has. */
static int32_t chunk_of(const struct finder *finder, uint32_t b) {
  const struct rebuild_block *blocks = finder->blocks->items.items, *block = &blocks[b];
  uint32_t from = finder->blocks->rank_first[finder->passes->rank];
  uint32_t end = finder->blocks->rank_first[finder->passes->rank + 1];
  for (uint32_t i = b; i < end; i++) {
    if (goes_on(&blocks[i], block) && is_of_step(finder, &blocks[i]) &&
        finder->chunk_of[i - from] != LUMOS_ABSENT_INT) {
      return finder->chunk_of[i - from];
    }
  }
  return 0;
}

/* ---- passes ---- */

/* What a thread does without the GPU, such as the end of the pass before, begins no pass that has work for it later
 * on. */
static bool begins(const struct finder *finder, uint32_t b) {
  const struct rebuild_block *blocks = finder->blocks->items.items;
  uint32_t end = finder->blocks->rank_first[finder->passes->rank + 1];
  bool later = false;
  for (uint32_t i = b + 1; i < end && blocks[b].device_count == 0 && !later; i++) {
    later = goes_on(&blocks[i], &blocks[b]) && is_of_step(finder, &blocks[i]) && blocks[i].device_count > 0;
  }
  return !later;
}

/* What the thread of the forward pass does for it once the way back has begun, without the GPU and for no part of the
 * model, is what it does when that returns: it comes with the way back. */
static uint8_t pass_phase(const struct finder *finder, const struct rebuild_block *block, int32_t chunk) {
  bool tail = block->phase == LUMOS_FORWARD && block->part == 0 && block->device_count == 0;
  bool back = tail && rebuild_pass_of(finder->passes, LUMOS_BACKWARD, block->micro_batch, chunk) != NULL;
  return back ? LUMOS_BACKWARD : block->phase;
}

/* Passes in the order in which they begin, and the frame. */
static void find_passes(struct finder *finder) {
  struct rebuild_passes *passes = finder->passes;
  const struct rebuild_blocks *blocks = finder->blocks;
  uint32_t from = blocks->rank_first[passes->rank];
  for (uint32_t b = from; b < blocks->rank_first[passes->rank + 1]; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    if (!is_of_step(finder, block)) {
      continue;
    }
    if (!is_of_pass(block)) {
      if (passes->items.count == 0) {
        lumos_vector_push(&passes->before, b);
      } else {
        lumos_vector_push(&passes->behind, b);
      }
      continue;
    }
    int32_t chunk = finder->chunk_of[b - from];
    chunk = finder->chunk_of[b - from] = chunk != LUMOS_ABSENT_INT ? chunk : chunk_of(finder, b);
    uint8_t phase = finder->phase_of[b - from] = pass_phase(finder, block, chunk);
    bool known = index_of(passes, phase, block->micro_batch, chunk) < passes->items.count;
    if (!known && begins(finder, b)) {
      struct rebuild_pass pass = {.phase = phase, .micro_batch = block->micro_batch, .chunk = chunk};
      lumos_vector_push(&passes->items, pass);
    }
  }
}

/* What is for no part comes with what is before it. */
static bool is_of_piece(const struct rebuild_piece *piece, const struct rebuild_block *block) {
  return block->part == 0 || (block->part == piece->part && block->layer == piece->layer);
}

static void add_block(struct rebuild_passes *passes, struct rebuild_pass *pass, const struct rebuild_block *block,
                      uint32_t b) {
  if (pass->count == 0 || !is_of_piece(&passes->pieces.items[passes->pieces.count - 1], block)) {
    struct rebuild_piece piece = {block->part, block->layer, (uint32_t)passes->blocks.count, 0};
    lumos_vector_push(&passes->pieces, piece);
    pass->count++;
  }
  lumos_vector_push(&passes->blocks, b);
  passes->pieces.items[passes->pieces.count - 1].count++;
}

static void fill_pass(const struct finder *finder, struct rebuild_pass *pass) {
  struct rebuild_passes *passes = finder->passes;
  uint32_t from = finder->blocks->rank_first[passes->rank];
  pass->first = (uint32_t)passes->pieces.count;
  for (uint32_t b = from; b < finder->blocks->rank_first[passes->rank + 1]; b++) {
    const struct rebuild_block *block = &finder->blocks->items.items[b];
    if (is_of_step(finder, block) && finder->phase_of[b - from] == pass->phase &&
        block->micro_batch == pass->micro_batch && finder->chunk_of[b - from] == pass->chunk) {
      add_block(passes, pass, block, b);
    }
  }
}

void rebuild_passes_find(struct rebuild_passes *passes, const struct rebuild_blocks *blocks, uint32_t rank,
                         int32_t step, const int32_t *chunks, int32_t layers) {
  uint32_t count = blocks->rank_first[rank + 1] - blocks->rank_first[rank];
  struct finder finder = {passes,
                          blocks,
                          chunks,
                          layers,
                          lumos_allocate(count * sizeof *finder.chunk_of),
                          lumos_allocate_zeroed(count + 1U, 1)};
  *passes = (struct rebuild_passes){.rank = rank, .step = step};
  find_runs(&finder);
  find_passes(&finder);
  for (size_t i = 0; i < passes->items.count; i++) {
    fill_pass(&finder, &passes->items.items[i]);
  }
  free(finder.chunk_of);
  free(finder.phase_of);
}

void rebuild_passes_free(struct rebuild_passes *passes) {
  lumos_vector_free(&passes->items);
  lumos_vector_free(&passes->pieces);
  lumos_vector_free(&passes->blocks);
  lumos_vector_free(&passes->before);
  lumos_vector_free(&passes->behind);
}
