/* What is entered ahead of who fills it holds what it held, whatever becomes of it meanwhile. */
#include "base/ahead.h"
#include "unit.h"
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 80 << 20 };

static void arrays_hold_what_was_written(void **state) {
  (void)state;
  uint64_t *first = lumos_allocate(BYTES), *second = lumos_allocate(BYTES);
  const size_t count = BYTES / sizeof *first;
  struct lumos_ahead *ahead = lumos_ahead_begin(2);
  lumos_ahead_tell(ahead, 0, first, BYTES);
  lumos_ahead_tell(ahead, 1, second, BYTES);
  for (size_t i = 0; i < count; i++) {
    first[i] = i;
  }
  first = lumos_reallocate(first, 2 * count, sizeof *first); /* it may move */
  free(second);
  lumos_ahead_tell(ahead, 0, first, 2 * (size_t)BYTES);
  for (size_t i = count; i < 2 * count; i++) {
    first[i] = i;
  }
  lumos_ahead_end(ahead);
  for (size_t i = 0; i < 2 * count; i++) {
    if (first[i] != i) {
      fail_msg("number %zu is another", i);
    }
  }
  free(first);
}

static void without_a_thread_nothing_is_done(void **state) {
  (void)state;
  char array[8] = "as it is";
  struct lumos_ahead *ahead = lumos_ahead_begin(1);
  assert_null(ahead);
  lumos_ahead_tell(ahead, 0, array, sizeof array);
  lumos_ahead_end(ahead);
  assert_memory_equal(array, "as it is", sizeof array);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_hold_what_was_written),
      cmocka_unit_test(without_a_thread_nothing_is_done),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
