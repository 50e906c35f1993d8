/* Lists of any number of ascending runs come out in order, with all that was in them. */
#include "unit/unit.h"

#include "base/sort.h"
#include <lumos/memory.h>
#include <stdlib.h>

enum { ITEMS = 300 };

struct item {
  int32_t key;
  uint8_t number[3]; /* of an odd size */
};

static int by_key(const void *left, const void *right) {
  const struct item *a = left, *b = right;
  return LUMOS_ORDER(a->key, b->key);
}

/* Runs of unequal length; keys come several times. */
static void fill(struct item *items, size_t count, size_t runs) {
  for (size_t i = 0; i < count; i++) {
    size_t run = i * i * runs / (count * count + 1);
    items[i].key = (int32_t)((i / 3 + run * 1000) % 1000) - (int32_t)(run * 31);
    items[i].number[0] = (uint8_t)(i & 0xFF);
    items[i].number[1] = (uint8_t)(i >> 8U);
    items[i].number[2] = (uint8_t)(items[i].key & 0x7F);
  }
}

static void lists_come_out_in_order(void **state) {
  (void)state;
  static const size_t counts[] = {0, 1, 2, 3, 40, ITEMS};
  struct item items[ITEMS] = {0}, before[ITEMS];
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    for (size_t runs = 1; runs <= 40; runs++) {
      uint8_t met[ITEMS] = {0};
      fill(items, counts[c], runs);
      memcpy(before, items, sizeof items);
      lumos_sort_runs(items, counts[c], sizeof *items, by_key);
      for (size_t i = 0; i < counts[c]; i++) {
        size_t number = items[i].number[0] | (size_t)items[i].number[1] << 8U;
        assert_true(number < counts[c]);
        assert_int_equal(met[number]++, 0);
        assert_memory_equal(&items[i], &before[number], sizeof *items);
        assert_true(i == 0 || items[i - 1].key <= items[i].key);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lists_come_out_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
