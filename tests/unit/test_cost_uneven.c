/* How unevenly kernels lose beside communication, worked out on paper. */
#include "unit.h"

#include "cost/uneven.h"

#include <math.h>
#include <string.h>

static void expect_ratio(double is, double should) {
  if (fabs(is - should) > 1e-9) {
    fail_msg("%.9f, not %.9f", is, should);
  }
}

/* Eight of sixteen lose all that is lost, in any order. */
static void those_that_lose_most_come_last(void **state) {
  (void)state;
  struct lumos_uneven uneven;
  struct lumos_uneven_losses none = {0};
  struct lumos_uneven_loss kernels[16];
  for (int i = 0; i < 16; i++) {
    kernels[i] = (struct lumos_uneven_loss){i % 2 == 0 ? 100 : 0, 100};
  }
  lumos_uneven_find(&uneven, &(struct lumos_uneven_losses){.items = kernels, .count = 16}, &none);
  for (int i = 0; i < LUMOS_UNEVEN; i++) {
    expect_ratio(uneven.ratios[i], i < 8 ? 0 : 2);
  }
}

/* Twelve kernels: one of 800 that loses nothing is half of the time, the others, of 800 together, lose half of theirs. */
static void long_kernels_count_for_more(void **state) {
  (void)state;
  struct lumos_uneven uneven;
  struct lumos_uneven_losses none = {0};
  struct lumos_uneven_loss kernels[12];
  for (int i = 0; i < 12; i++) {
    double alone = i == 5 ? 800 : 800.0 / 11;
    kernels[i] = (struct lumos_uneven_loss){i == 5 ? 0 : alone / 2, alone};
  }
  lumos_uneven_find(&uneven, &(struct lumos_uneven_losses){.items = kernels, .count = 12}, &none);
  for (int i = 0; i < LUMOS_UNEVEN; i++) {
    expect_ratio(uneven.ratios[i], i < 8 ? 0 : 2);
  }
}

/* One came out 20 faster by chance and the next loses 20: neither loses. The other fourteen lose 40 of 560. */
static void none_is_faster_beside_communication(void **state) {
  (void)state;
  struct lumos_uneven uneven;
  struct lumos_uneven_losses none = {0};
  struct lumos_uneven_loss kernels[16];
  for (int i = 0; i < 16; i++) {
    kernels[i] = (struct lumos_uneven_loss){i == 0 ? -20 : i == 1 ? 20 : 40, 100};
  }
  lumos_uneven_find(&uneven, &(struct lumos_uneven_losses){.items = kernels, .count = 16}, &none);
  for (int i = 0; i < LUMOS_UNEVEN; i++) {
    expect_ratio(uneven.ratios[i], i < 2 ? 0 : 40.0 / 560 * 16);
  }
}

/* Kernels beside nothing differ by as much: all lose 20. */
static void what_differs_anyway_is_no_loss(void **state) {
  (void)state;
  struct lumos_uneven uneven;
  struct lumos_uneven_loss beside[16], alone[16];
  for (int i = 0; i < 16; i++) {
    alone[i] = (struct lumos_uneven_loss){5 * i - 40, 100};
    beside[i] = (struct lumos_uneven_loss){5 * i - 20, 100};
  }
  lumos_uneven_find(&uneven, &(struct lumos_uneven_losses){.items = beside, .count = 16},
                    &(struct lumos_uneven_losses){.items = alone, .count = 16});
  for (int i = 0; i < LUMOS_UNEVEN; i++) {
    expect_ratio(uneven.ratios[i], 1);
  }
}

static void few_show_nothing(void **state) {
  (void)state;
  struct lumos_uneven uneven;
  struct lumos_uneven_losses none = {0};
  struct lumos_uneven_loss kernels[12];
  for (int i = 0; i < 12; i++) {
    kernels[i] = (struct lumos_uneven_loss){i == 0 ? 100 : 0, 100};
  }
  lumos_uneven_find(&uneven, &(struct lumos_uneven_losses){.items = kernels, .count = 11}, &none);
  expect_ratio(uneven.ratios[0], 1);
  expect_ratio(uneven.ratios[LUMOS_UNEVEN - 1], 1);
  /* Nothing is lost: */
  for (int i = 0; i < 12; i++) {
    kernels[i].lost = 0;
  }
  lumos_uneven_find(&uneven, &(struct lumos_uneven_losses){.items = kernels, .count = 12}, &none);
  expect_ratio(uneven.ratios[LUMOS_UNEVEN - 1], 1);
}

/* Sixteen kernels of a name have all ratios; those of another rank, of another name, or later come in other orders. */
static void all_are_drawn_once_and_in_orders_of_their_own(void **state) {
  (void)state;
  int differ = 0;
  for (uint64_t rank = 0; rank < 8; rank++) {
    for (uint64_t round = 0; round < 4; round++) {
      int drawn[LUMOS_UNEVEN] = {0};
      for (uint64_t n = 0; n < LUMOS_UNEVEN; n++) {
        size_t draw = lumos_uneven_draw(rank, 7, round * LUMOS_UNEVEN + n);
        assert_true(draw < LUMOS_UNEVEN);
        drawn[draw]++;
        differ += draw != lumos_uneven_draw(rank + 1, 7, round * LUMOS_UNEVEN + n);
        differ += draw != lumos_uneven_draw(rank, 8, round * LUMOS_UNEVEN + n);
        differ += draw != lumos_uneven_draw(rank, 7, (round + 1) * LUMOS_UNEVEN + n);
      }
      for (int i = 0; i < LUMOS_UNEVEN; i++) {
        assert_int_equal(drawn[i], 1);
      }
    }
  }
  assert_true(differ > 8 * 4 * LUMOS_UNEVEN * 3 * 3 / 4); /* of 1,536; by chance 15 of 16 do */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(those_that_lose_most_come_last),
      cmocka_unit_test(long_kernels_count_for_more),
      cmocka_unit_test(none_is_faster_beside_communication),
      cmocka_unit_test(what_differs_anyway_is_no_loss),
      cmocka_unit_test(few_show_nothing),
      cmocka_unit_test(all_are_drawn_once_and_in_orders_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
