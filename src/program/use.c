/* What a group is for, by when its members communicate.
 *
 * Sums of activations recur in every layer's forward pass, which no other kind of parallelism does: tensor. Gradients
 * are summed in the backward pass or behind it, and nothing is summed in the forward pass; weights that are kept in
 * shards are gathered, too: data. Between pipeline stages activations are sent by the loop over micro-batches, in ring
 * attention (context) by the layers themselves, so in backward passes, too. Tokens go to their experts and back by
 * all-to-all within layers. A sum of little behind the backward passes is a norm or a loss.
 */
#include "program/communicator.h"

static const int64_t LEAST_GRADIENTS = INT64_C(1) << 20; /* bytes in the largest sum: norms and losses are far below */

static uint64_t at(const struct program_counts *counts, enum program_use use, enum program_place place) {
  return counts->of[use][place];
}

static uint64_t total(const struct program_counts *counts, enum program_use use) {
  return at(counts, use, PLACE_FORWARD) + at(counts, use, PLACE_BACKWARD) + at(counts, use, PLACE_END);
}

static uint64_t sums(const struct program_counts *counts, enum program_place place) {
  return at(counts, USE_ALL_REDUCE, place) + at(counts, USE_REDUCE_SCATTER, place);
}

static uint8_t role_of_transfers(const struct program_counts *counts) {
  return at(counts, USE_POINT_TO_POINT, PLACE_BACKWARD) * 4 >= total(counts, USE_POINT_TO_POINT) ? LUMOS_CONTEXT
                                                                                                 : LUMOS_PIPELINE;
}

/* Sums behind the backward passes alone: of gradients, if they are large. */
static uint8_t role_of_last_sums(const struct program_counts *counts) {
  if (total(counts, USE_REDUCE_SCATTER) > 0 && total(counts, USE_ALL_GATHER) > 0) {
    return LUMOS_DATA;
  }
  int64_t largest = counts->largest[PLACE_END];
  return largest == LUMOS_ABSENT ? 0 : largest >= LEAST_GRADIENTS ? LUMOS_DATA : LUMOS_OTHER_ROLE;
}

/* Sums in forward passes that go with the layers, not losses of micro-batches. */
static bool sums_activations(const struct program_counts *counts) {
  enum { MOST_GEMMS_A_SUM = 5, LEAST_ACTIVATIONS = 16384 /* bytes */ };
  int64_t largest = counts->largest[PLACE_FORWARD];
  return sums(counts, PLACE_FORWARD) >= 2 * counts->steps &&
         sums(counts, PLACE_FORWARD) * MOST_GEMMS_A_SUM >= counts->gemms &&
         (largest == LUMOS_ABSENT || largest >= LEAST_ACTIVATIONS) &&
         sums(counts, PLACE_BACKWARD) + at(counts, USE_ALL_GATHER, PLACE_BACKWARD) > 0;
}

uint8_t program_role_of_use(const struct program_communication *all, const struct program_communicator *communicator) {
  const struct program_counts *counts = &communicator->counts;
  uint64_t steps = counts->steps;
  uint64_t collectives = 0;
  for (int use = 0; use < USES; use++) {
    collectives += use == USE_POINT_TO_POINT ? 0 : total(counts, (enum program_use)use);
  }
  if (collectives + total(counts, USE_POINT_TO_POINT) == 0 || !all->has_backward) {
    return 0; /* unused, or no training, or none that shows where it goes back */
  }
  if (total(counts, USE_POINT_TO_POINT) > collectives) {
    return role_of_transfers(counts);
  }
  if (sums_activations(counts)) {
    return LUMOS_TENSOR;
  }
  if (sums(counts, PLACE_BACKWARD) > 0) {
    return LUMOS_DATA;
  }
  if (all->has_attention && at(counts, USE_ALL_TO_ALL, PLACE_FORWARD) >= 2 * steps &&
      at(counts, USE_ALL_TO_ALL, PLACE_BACKWARD) >= 2 * steps) {
    return LUMOS_EXPERT;
  }
  if (sums(counts, PLACE_END) > 0) {
    return role_of_last_sums(counts);
  }
  return collectives == total(counts, USE_REST) || sums(counts, PLACE_FORWARD) == collectives ? LUMOS_OTHER_ROLE : 0;
}
