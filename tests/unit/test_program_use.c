/* What a group is for, by what is counted in it: each limit from both sides. */
#include "program/communicator.h"
#include "unit.h"

#define UP(use, count) .of[use][PLACE_FORWARD] = (count)
#define BACK(use, count) .of[use][PLACE_BACKWARD] = (count)
#define LAST(use, count) .of[use][PLACE_END] = (count)

static void expect(const struct program_counts *counts, size_t count, const int *roles) {
  const struct program_communication all = {.has_attention = true, .has_backward = true};
  for (size_t i = 0; i < count; i++) {
    struct program_communicator communicator = {.counts = counts[i]};
    communicator.counts.steps = 1;
    int role = program_role_of_use(&all, &communicator);
    if (role != roles[i]) {
      fail_msg("case %d: role %d, not %d", (int)i, role, roles[i]);
    }
  }
}

/* At least two in a step and one for five products, of 16 KiB, and back again. */
static void sums_of_activations_are_tensor_parallel(void **state) {
  (void)state;
  enum { LARGE = 16384 };
  const struct program_counts counts[] = {
      {UP(USE_ALL_REDUCE, 20), BACK(USE_ALL_REDUCE, 1), .gemms = 100, .largest = {[PLACE_FORWARD] = LARGE}},
      {UP(USE_ALL_REDUCE, 20), BACK(USE_ALL_REDUCE, 1), .gemms = 101, .largest = {[PLACE_FORWARD] = LARGE}},
      {UP(USE_ALL_REDUCE, 20), BACK(USE_ALL_REDUCE, 1), .gemms = 100, .largest = {[PLACE_FORWARD] = LARGE - 1}},
      {UP(USE_ALL_REDUCE, 20), BACK(USE_ALL_REDUCE, 1), .gemms = 100, .largest = {[PLACE_FORWARD] = LUMOS_ABSENT}},
      {UP(USE_ALL_REDUCE, 2), BACK(USE_ALL_GATHER, 1), .gemms = 10, .largest = {[PLACE_FORWARD] = LARGE}},
      {UP(USE_ALL_REDUCE, 1), BACK(USE_ALL_REDUCE, 1), .gemms = 5, .largest = {[PLACE_FORWARD] = LARGE}},
      {UP(USE_ALL_REDUCE, 20), .gemms = 100, .largest = {[PLACE_FORWARD] = LARGE}},
  };
  const int roles[] = {LUMOS_TENSOR, LUMOS_DATA, LUMOS_DATA, LUMOS_TENSOR, LUMOS_TENSOR, LUMOS_DATA, LUMOS_OTHER_ROLE};
  expect(counts, sizeof counts / sizeof *counts, roles);
}

/* All-to-all twice in a step, and twice back. */
static void tokens_go_to_experts_and_back(void **state) {
  (void)state;
  const struct program_counts counts[] = {
      {UP(USE_ALL_TO_ALL, 2), BACK(USE_ALL_TO_ALL, 2)},
      {UP(USE_ALL_TO_ALL, 1), BACK(USE_ALL_TO_ALL, 2)},
      {UP(USE_ALL_TO_ALL, 2), BACK(USE_ALL_TO_ALL, 1)},
  };
  const int roles[] = {LUMOS_EXPERT, 0, 0};
  expect(counts, sizeof counts / sizeof *counts, roles);
}

/* From 1 MiB on; less is a norm or a loss. */
static void large_sums_at_the_end_are_of_gradients(void **state) {
  (void)state;
  const struct program_counts counts[] = {
      {LAST(USE_ALL_REDUCE, 1), .largest = {[PLACE_END] = 1 << 20}},
      {LAST(USE_ALL_REDUCE, 1), .largest = {[PLACE_END] = (1 << 20) - 1}},
      {LAST(USE_ALL_REDUCE, 1), .largest = {[PLACE_END] = LUMOS_ABSENT}},
      {LAST(USE_REDUCE_SCATTER, 1), LAST(USE_ALL_GATHER, 1), .largest = {[PLACE_END] = 1}},
  };
  const int roles[] = {LUMOS_DATA, LUMOS_OTHER_ROLE, 0, LUMOS_DATA};
  expect(counts, sizeof counts / sizeof *counts, roles);
}

/* A quarter of them in backward passes: layers send, not the loop over micro-batches. */
static void transfers_in_backward_passes_are_of_layers(void **state) {
  (void)state;
  const struct program_counts counts[] = {
      {UP(USE_POINT_TO_POINT, 6), BACK(USE_POINT_TO_POINT, 2)},
      {UP(USE_POINT_TO_POINT, 7), BACK(USE_POINT_TO_POINT, 2)},
  };
  const int roles[] = {LUMOS_CONTEXT, LUMOS_PIPELINE};
  expect(counts, sizeof counts / sizeof *counts, roles);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_of_activations_are_tensor_parallel),
      cmocka_unit_test(tokens_go_to_experts_and_back),
      cmocka_unit_test(large_sums_at_the_end_are_of_gradients),
      cmocka_unit_test(transfers_in_backward_passes_are_of_layers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
