/* lumos_align: against the textbook's table on small sequences, and by what must hold on long ones. */
#include "unit.h"

#include "sim/align.h"
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 40, LONG = 200000 };

/* The length of the longest common subsequence, by the quadratic table. */
static size_t longest(const uint32_t *left, size_t left_count, const uint32_t *right, size_t right_count) {
  size_t table[SMALL + 1][SMALL + 1] = {{0}};
  for (size_t x = 1; x <= left_count; x++) {
    for (size_t y = 1; y <= right_count; y++) {
      size_t either = table[x - 1][y] > table[x][y - 1] ? table[x - 1][y] : table[x][y - 1];
      table[x][y] = left[x - 1] == right[y - 1] ? table[x - 1][y - 1] + 1 : either;
    }
  }
  return table[left_count][right_count];
}

/* Partners are equal, ascend, and are as many as the result says. */
static void check_partners(const uint32_t *left, size_t left_count, const uint32_t *right, size_t right_count,
                           const uint32_t *partners, size_t pairs) {
  size_t found = 0;
  int64_t last = -1;
  for (size_t i = 0; i < left_count; i++) {
    if (partners[i] != UINT32_MAX) {
      assert_in_range(partners[i], 0, right_count - 1);
      assert_int_equal(left[i], right[partners[i]]);
      assert_true((int64_t)partners[i] > last);
      last = partners[i];
      found++;
    }
  }
  assert_int_equal(found, pairs);
}

static uint32_t next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

static void small_sequences_give_the_longest(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int round = 0; round < 3000; round++) {
    uint32_t left[SMALL], right[SMALL], partners[SMALL];
    size_t left_count = next(&random) % (SMALL + 1), right_count = next(&random) % (SMALL + 1);
    uint32_t names = 1 + next(&random) % 6;
    for (size_t i = 0; i < SMALL; i++) {
      left[i] = next(&random) % names;
      right[i] = next(&random) % names;
    }
    size_t pairs = lumos_align(left, left_count, right, right_count, partners);
    check_partners(left, left_count, right, right_count, partners, pairs);
    assert_int_equal(pairs, longest(left, left_count, right, right_count));
  }
}

/* Every 1,000th item is missing on the right: 200 differences, and all the others are found. */
static void long_sequences_that_differ_little_lose_nothing(void **state) {
  (void)state;
  uint64_t random = 2;
  uint32_t *left = lumos_allocate(LONG * sizeof *left), *right = lumos_allocate(LONG * sizeof *right);
  uint32_t *partners = lumos_allocate(LONG * sizeof *partners);
  size_t count = 0;
  for (size_t i = 0; i < LONG; i++) {
    left[i] = next(&random) % 50;
    if (i % 1000 != 0) {
      right[count++] = left[i];
    }
  }
  assert_int_equal(lumos_align(left, LONG, right, count, partners), count);
  check_partners(left, LONG, right, count, partners, count);
  assert_int_equal(lumos_align(right, count, left, LONG, partners), count);
  free(left);
  free(right);
  free(partners);
}

/* Beyond LUMOS_ALIGN_SPAN differences in a row it goes on from where it is, and in bounded time. */
static void long_sequences_that_differ_much_still_end(void **state) {
  (void)state;
  uint64_t random = 3;
  uint32_t *left = lumos_allocate(LONG * sizeof *left), *right = lumos_allocate(LONG * sizeof *right);
  uint32_t *partners = lumos_allocate(LONG * sizeof *partners);
  for (size_t i = 0; i < LONG; i++) {
    left[i] = i < LONG / 2 ? (uint32_t)i : next(&random) % 50;
    right[i] = i < LONG / 2 ? (uint32_t)(i + LONG) : left[i]; /* first nothing in common, then everything */
  }
  size_t pairs = lumos_align(left, LONG, right, LONG, partners);
  check_partners(left, LONG, right, LONG, partners, pairs);
  assert_true(pairs > LONG / 2 - LONG / 20);
  free(left);
  free(right);
  free(partners);
}

static void nothing_has_nothing_in_common(void **state) {
  (void)state;
  const uint32_t names[] = {1, 2, 3};
  uint32_t partners[3] = {0};
  assert_int_equal(lumos_align(names, 3, names, 0, partners), 0);
  assert_int_equal(partners[2], UINT32_MAX);
  assert_int_equal(lumos_align(names, 0, names, 3, partners), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_sequences_give_the_longest),
      cmocka_unit_test(long_sequences_that_differ_little_lose_nothing),
      cmocka_unit_test(long_sequences_that_differ_much_still_end),
      cmocka_unit_test(nothing_has_nothing_in_common),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
