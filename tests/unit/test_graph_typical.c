/* Typical values: trimmed means, percentiles, groups. */
#include "unit.h"

#include "graph/typical.h"

static void the_trimmed_mean_drops_a_tenth_on_either_side(void **state) {
  (void)state;
  /* Ten samples: 1000 and -1000 go, the mean of 1..8 is 4.5, rounded away from zero. */
  int64_t values[] = {1000, 3, 1, 2, 8, 7, -1000, 4, 6, 5};
  assert_int_equal(lumos_trimmed_mean(values, 10), 5);
  /* Nine samples: nothing goes; 90 / 9. */
  int64_t nine[] = {0, 0, 0, 0, 0, 0, 0, 0, 90};
  assert_int_equal(lumos_trimmed_mean(nine, 9), 10);
  /* -1, -2: -1.5, away from zero. */
  int64_t negative[] = {-1, -2};
  assert_int_equal(lumos_trimmed_mean(negative, 2), -2);
}

static void one_that_lies_apart_is_no_part_of_the_mean(void **state) {
  (void)state;
  int64_t six[] = {4000, 5000, -3422000, 5000, 5000, 4000}; /* 23000 / 5 */
  assert_int_equal(lumos_trimmed_mean(six, 6), 4600);
  int64_t late[] = {0, 2001, 0, 0, 0};
  assert_int_equal(lumos_trimmed_mean(late, 5), 0);
  int64_t noise[] = {0, 2000, 0, 0, 0}; /* needs no explanation: 2000 / 5 */
  assert_int_equal(lumos_trimmed_mean(noise, 5), 400);
  int64_t two_kinds[] = {0, 0, 0, 2350000, 2350000}; /* 4700000 / 5 */
  assert_int_equal(lumos_trimmed_mean(two_kinds, 5), 940000);
  int64_t spread[] = {0, 10000, 20000, 30000, 50000}; /* as far from the next as they are apart: 110000 / 5 */
  assert_int_equal(lumos_trimmed_mean(spread, 5), 22000);
  int64_t three[] = {1573148, 0, 1450}; /* 1450 / 2 */
  assert_int_equal(lumos_trimmed_mean(three, 3), 725);
  int64_t two[] = {0, 8000};
  assert_int_equal(lumos_trimmed_mean(two, 2), 4000);
}

static void the_mean_of_huge_times_does_not_overflow(void **state) {
  (void)state;
  int64_t huge = INT64_C(9000000000000000000);
  int64_t values[] = {huge, huge, huge};
  assert_true(lumos_trimmed_mean(values, 3) == huge);
}

static void a_percentile_is_the_least_value_that_covers_that_share(void **state) {
  (void)state;
  const int64_t values[] = {10, 20, 30, 40};
  assert_int_equal(lumos_percentile(values, 4, 50), 20);
  assert_int_equal(lumos_percentile(values, 4, 51), 30);
  assert_int_equal(lumos_percentile(values, 4, 95), 40);
  assert_int_equal(lumos_percentile(values, 4, 0), 10);
}

static void a_weighted_median_is_that_of_as_many_values(void **state) {
  (void)state;
  enum { MOST = 9, HEAVIEST = 4 };
  uint64_t random = 88172645463325252U;
  for (int trial = 0; trial < 2000; trial++) {
    int64_t values[MOST], weights[MOST], written_out[MOST * HEAVIEST];
    size_t count = 1 + (size_t)trial % MOST, all = 0;
    for (size_t i = 0; i < count; i++) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      values[i] = (int64_t)(random % 20);
      weights[i] = 1 + (int64_t)(random / 20 % HEAVIEST);
      for (int64_t times = 0; times < weights[i]; times++) {
        written_out[all++] = values[i];
      }
    }
    assert_int_equal(lumos_weighted_median(values, weights, count), lumos_median(written_out, all));
    written_out[0] = lumos_weighted_median(values, NULL, count);
    assert_int_equal(written_out[0], lumos_median(values, count));
  }
  int64_t values[] = {20, 10}, most[] = {INT64_MAX, INT64_MAX};
  assert_int_equal(lumos_weighted_median(values, most, 2), 10);
}

/* Selecting finds what sorting would: over values in order, against it, equal, and at random. */
static void a_median_needs_no_order(void **state) {
  (void)state;
  enum { MOST = 300 };
  int64_t values[MOST], sorted[MOST];
  uint64_t random = 88172645463325252U;
  for (int trial = 0; trial < 4000; trial++) {
    size_t count = 1 + (size_t)trial % MOST;
    for (size_t i = 0; i < count; i++) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      int64_t drawn = (int64_t)(random % (trial % 5 == 0 ? 3 : 1000000)) - 1;
      values[i] = trial % 4 == 0 ? (int64_t)i : trial % 4 == 1 ? -(int64_t)i : trial % 4 == 2 ? 7 : drawn;
      sorted[i] = values[i];
    }
    lumos_sort_times(sorted, count);
    assert_int_equal(lumos_median(values, count), lumos_percentile(sorted, count, 50));
    if (count >= 3 && count < 10) {
      continue; /* one may lie apart */
    }
    int64_t sum = 0;
    for (size_t i = count / 10; i < count - count / 10; i++) {
      sum += sorted[i];
    }
    int64_t kept = (int64_t)(count - 2 * (count / 10));
    assert_int_equal(lumos_trimmed_mean(values, count), (sum + (sum < 0 ? -kept / 2 : kept / 2)) / kept);
  }
}

static void groups_keep_their_samples_apart(void **state) {
  (void)state;
  struct lumos_typical *typical = lumos_typical_new();
  /* More groups than the table starts with; group k holds k and k + 2, two samples. */
  for (uint32_t k = 0; k < 500; k++) {
    assert_int_equal(lumos_typical_group(typical, 7, k, 1), k);
    lumos_typical_add(typical, k, k);
  }
  for (uint32_t k = 0; k < 500; k++) {
    lumos_typical_add(typical, lumos_typical_group(typical, 7, k, 1), (int64_t)k + 2);
  }
  for (uint32_t k = 0; k < 500; k++) {
    int64_t value = -1;
    assert_true(lumos_typical_value(typical, lumos_typical_group(typical, 7, k, 1), 2, &value));
    assert_int_equal(value, k + 1);
    assert_false(lumos_typical_value(typical, k, 3, &value));
  }
  int64_t value = -1;
  assert_false(lumos_typical_value(typical, lumos_typical_group(typical, 1, 7, 7), 0, &value));
  assert_int_equal(value, -1);
  lumos_typical_free(typical);
}

static void less_is_trimmed_where_that_is_asked_for(void **state) {
  (void)state;
  struct lumos_typical *tenth = lumos_typical_new(), *fiftieth = lumos_typical_new_trimmed(50);
  for (int64_t i = 0; i < 100; i++) {
    int64_t value = i < 80 ? 0 : i < 98 ? 100 : 1000000; /* the last two alone are among a fiftieth */
    lumos_typical_add(tenth, lumos_typical_group(tenth, 0, 0, 0), value);
    lumos_typical_add(fiftieth, lumos_typical_group(fiftieth, 0, 0, 0), value);
  }
  int64_t value = 0;
  assert_true(lumos_typical_value(tenth, 0, 1, &value));
  assert_int_equal(value, 13); /* 10 of 80 */
  assert_true(lumos_typical_value(fiftieth, 0, 1, &value));
  assert_int_equal(value, 19); /* 18 of 96 */
  lumos_typical_free(tenth);
  lumos_typical_free(fiftieth);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_trimmed_mean_drops_a_tenth_on_either_side),
      cmocka_unit_test(less_is_trimmed_where_that_is_asked_for),
      cmocka_unit_test(one_that_lies_apart_is_no_part_of_the_mean),
      cmocka_unit_test(the_mean_of_huge_times_does_not_overflow),
      cmocka_unit_test(a_percentile_is_the_least_value_that_covers_that_share),
      cmocka_unit_test(a_median_needs_no_order),
      cmocka_unit_test(a_weighted_median_is_that_of_as_many_values),
      cmocka_unit_test(groups_keep_their_samples_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
