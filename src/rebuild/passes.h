/* Passes of a recorded step: which blocks are for which micro-batch in which phase and chunk of layers, and for which
 * part of the model. */
#ifndef LUMOS_REBUILD_PASSES_H
#define LUMOS_REBUILD_PASSES_H

#include "rebuild/blocks.h"

/* Blocks in a row of one pass that are for one part of the model, with what comes between them; before the first part
 * stands what a pass begins with (part 0). */
struct rebuild_piece {
  uint8_t part;
  int32_t layer;
  uint32_t first, count; /* in rebuild_passes.blocks */
};
LUMOS_VECTOR_TYPE(rebuild_pieces, struct rebuild_piece);

struct rebuild_pass {
  uint8_t phase;
  int32_t micro_batch, chunk; /* of the layers of its stage */
  uint32_t first, count;      /* in rebuild_passes.pieces */
};

/* Of one rank in one step. What sends and receives between passes is in none. */
struct rebuild_passes {
  uint32_t rank;
  int32_t step;
  LUMOS_VECTOR(struct rebuild_pass) items; /* in the order in which they begin */
  struct rebuild_pieces pieces;
  LUMOS_VECTOR(uint32_t) blocks;
  LUMOS_VECTOR(uint32_t) before, behind; /* the frame: blocks of no pass before the first pass; all others */
};

/* `chunks`: by layer of the model, of which there are `layers`, the chunk of its stage that has it. */
void rebuild_passes_find(struct rebuild_passes *passes, const struct rebuild_blocks *blocks, uint32_t rank,
                         int32_t step, const int32_t *chunks, int32_t layers);
void rebuild_passes_free(struct rebuild_passes *passes);

/* NULL: there is none. */
const struct rebuild_pass *rebuild_pass_of(const struct rebuild_passes *passes, uint8_t phase, int32_t micro_batch,
                                           int32_t chunk);

#endif
