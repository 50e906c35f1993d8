/* Repetition: where the layers of a model stand in what one pass launched, from the sequence alone. */
#ifndef LUMOS_PROGRAM_LAYERS_H
#define LUMOS_PROGRAM_LAYERS_H

#include <lumos/memory.h>
#include <stdbool.h>
#include <stdint.h>

enum lumos_sequence_kind { LUMOS_LAUNCH_OTHER, LUMOS_LAUNCH_ATTENTION, LUMOS_LAUNCH_PRODUCT };

/* What a pass launched, in the order of the layers: forward as launched, backward turned round, so that its layers
 * count up, too. */
struct lumos_sequence {
  /* [count]: what is launched; the same work has the same symbol, whatever the layer; 0: no part of any layer */
  const uint32_t *symbols;
  const int64_t *weights; /* [count]: ns of work, at least 0 */
  /* [count]: attention, a matrix product, or something else; NULL: not known */
  const uint8_t *kinds; /* enum lumos_sequence_kind */
  uint32_t products;    /* that a feed-forward block has at most, in this direction */
  uint32_t count;
};

/* Layer i is [starts[i], starts[i + 1]); what lies before the first and behind the last belongs to none. */
struct lumos_layers {
  uint32_t *starts; /* [count + 1]; NULL when count is 0. lumos_layers_free frees it */
  uint32_t count;   /* 0, or at least 2 */
};

/* Find the layers, `wanted` of them (0: any number): the shortest piece that the sequence repeats, at least twice, with
 * nearly the same work each time, as far as it goes on both sides. Symbols that are missing, added or replaced in some
 * layers do no harm while most are alike. Pieces of which every other one has the attention, and the others no more
 * products than a feed-forward block, are halves. count 0: nothing repeats, or too little of the sequence's weight
 * does. O(count x distinct symbols that repeat), of which at most 64 are tried. */
struct lumos_layers lumos_layers_find(const struct lumos_sequence *sequence, uint32_t wanted);

/* One layer as found elsewhere: where it stands in this sequence, once, by the longest common subsequence. false: most
 * of it stands nowhere. O(count x layer's count). */
bool lumos_layers_place(const struct lumos_sequence *sequence, const struct lumos_sequence *layer, uint32_t *start,
                        uint32_t *end);

/* What a sequence has in common with another, where that is most of the piece and half of the sequence. O(count x
 * other's count). */
bool lumos_layers_common(const struct lumos_sequence *sequence, const struct lumos_sequence *other, uint32_t *start,
                         uint32_t *end);

void lumos_layers_free(struct lumos_layers *layers);

#endif
