/* Keys get numbers in the order in which they come, however many there are. */
#include "unit/unit.h"

#include "base/numbering.h"

enum { KEYS = 5000 };

static uint64_t key(uint32_t i) { return lumos_key_pair(i % 7, i << 20U | i); }

static void numbers_in_order(void **state) {
  (void)state;
  struct lumos_numbering numbering = {0};
  for (int round = 0; round < 2; round++) { /* those that are known keep their numbers */
    for (uint32_t i = 0; i < KEYS; i++) {
      assert_int_equal(lumos_number_of(&numbering, key(i)), i);
    }
  }
  assert_int_equal(numbering.keys.count, KEYS);
  assert_true(numbering.keys.items[8] == UINT64_C(0x100800008));
  lumos_numbering_free(&numbering);
}

static void begins_anew(void **state) {
  (void)state;
  struct lumos_numbering numbering = {0};
  lumos_numbering_clear(&numbering);
  assert_int_equal(lumos_number_of(&numbering, 17), 0);
  assert_int_equal(lumos_number_of(&numbering, 0), 1);
  lumos_numbering_clear(&numbering);
  assert_int_equal(lumos_number_of(&numbering, 0), 0);
  assert_int_equal(lumos_number_of(&numbering, 17), 1);
  lumos_numbering_free(&numbering);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_in_order),
      cmocka_unit_test(begins_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
