/* Change points of drawn series: how often there is one where none was planted, and how often a planted one is found,
 * where and how large. The series are drawn here, by a generator of fixed seed.
 */
#include "history/changes.h"
#include "unit.h"
#include <math.h>

enum { LONGEST = 1000 };

static uint64_t state;

/* splitmix64; from above 0 to below 1. */
static double draw_uniform(void) {
  uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double draw_normal(void) {
  return sqrt(-2 * log(draw_uniform())) * cos(2 * 3.14159265358979323846 * draw_uniform());
}

enum nights { NORMAL, HEAVY, OUTLYING, FOLLOWING };

/* Mean 100, standard deviation 1: normal, Student's t of 3 degrees, one night in twenty 20 off, each bound to the one
 * before it by 0.3. */
static void draw_series(enum nights nights, double *values, size_t count) {
  double before = draw_normal();
  for (size_t i = 0; i < count; i++) {
    double value = draw_normal();
    if (nights == HEAVY) {
      double squares = 0;
      for (int k = 0; k < 3; k++) {
        double other = draw_normal();
        squares += other * other;
      }
      value /= sqrt(squares / 3);
    } else if (nights == OUTLYING && draw_uniform() < 0.05) {
      value += 20;
    } else if (nights == FOLLOWING) {
      value = before = 0.3 * before + sqrt(1 - 0.3 * 0.3) * value;
    }
    values[i] = 100 + value;
  }
}

/* The share of series in which there is a change. */
static double false_alarms(enum nights nights, size_t count, int trials) {
  double values[LONGEST];
  int found = 0;
  state = count;
  for (int i = 0; i < trials; i++) {
    struct history_changes changes = {0};
    draw_series(nights, values, count);
    history_find_changes(values, count, &changes);
    found += changes.count > 0;
    lumos_vector_free(&changes);
  }
  print_message("%zu nights of kind %d: %.2f %% of series have a change\n", count, (int)nights, 100.0 * found / trials);
  return (double)found / trials;
}

static void test_false_alarms(void **unused) {
  (void)unused;
  /* Of 4000 series with a chance of 1 %, 59 are one too many in a thousand. */
  assert_true(false_alarms(NORMAL, 6, 4000) < 59.0 / 4000);
  assert_true(false_alarms(NORMAL, 10, 4000) < 59.0 / 4000);
  assert_true(false_alarms(NORMAL, 30, 4000) < 59.0 / 4000);
  assert_true(false_alarms(NORMAL, 100, 2000) < 35.0 / 2000);
  assert_true(false_alarms(NORMAL, 1000, 200) < 8.0 / 200);
  assert_true(false_alarms(HEAVY, 30, 4000) < 0.02);
  assert_true(false_alarms(OUTLYING, 30, 4000) < 0.02);
  assert_true(false_alarms(OUTLYING, 300, 300) < 0.08); /* in which three bad nights of five are no rare thing */
  assert_true(false_alarms(FOLLOWING, 30, 4000) < 0.045);
}

struct tally {
  int trials, found, alone, placed, sized;
};

/* `shift` standard deviations from the night `at` on. */
static struct tally plant(size_t count, size_t at, double shift, int trials) {
  double values[LONGEST];
  struct tally tally = {.trials = trials};
  state = count + at;
  for (int i = 0; i < trials; i++) {
    struct history_changes changes = {0};
    draw_series(NORMAL, values, count);
    for (size_t night = at; night < count; night++) {
      values[night] += shift;
    }
    history_find_changes(values, count, &changes);
    tally.found += changes.count > 0;
    tally.alone += changes.count == 1;
    if (changes.count == 1) {
      const struct history_change *change = &changes.items[0];
      tally.placed += change->first <= at && at <= change->last;
      tally.sized += fabs(change->after - change->before - shift) <= change->half;
    }
    lumos_vector_free(&changes);
  }
  print_message("%g sigma at night %zu of %zu: found %d, alone %d, placed %d, sized %d of %d\n", shift, at, count,
                tally.found, tally.alone, tally.placed, tally.sized, trials);
  return tally;
}

static void test_planted(void **unused) {
  (void)unused;
  struct tally tally = plant(30, 15, 3, 1000);
  assert_true(tally.found >= 990 && tally.alone >= 960);
  assert_true(tally.placed >= 930 && tally.sized >= 900);
  tally = plant(30, 27, 5, 1000); /* three nights after it */
  assert_true(tally.found >= 900);
  tally = plant(100, 50, 1.5, 500);
  assert_true(tally.found >= 475 && tally.placed >= 0.9 * tally.alone);
  tally = plant(10, 5, 6, 1000);
  assert_true(tally.found >= 950);
}

/* The second shift must not make neighbors look bound to each other, which would hide both: as in the 30 nights of
 * cli/nightly. */
static void test_two_of_them(void **unused) {
  (void)unused;
  enum { TRIALS = 1000, NIGHTS = 30, FIRST = 10, SECOND = 21 };
  static const double UP[] = {4, 7}; /* of a shift, in standard deviations */
  static const int LEAST[] = {850, 850};
  for (size_t k = 0; k < 2; k++) {
    int both = 0;
    state = 30 + k;
    for (int i = 0; i < TRIALS; i++) {
      double values[NIGHTS];
      struct history_changes changes = {0};
      draw_series(NORMAL, values, NIGHTS);
      for (size_t night = FIRST; night < NIGHTS; night++) {
        values[night] += night < SECOND ? UP[k] : 2 * UP[k];
      }
      history_find_changes(values, NIGHTS, &changes);
      both += changes.count == 2 && labs((long)changes.items[0].at - FIRST) <= 1 &&
              labs((long)changes.items[1].at - SECOND) <= 1;
      lumos_vector_free(&changes);
    }
    print_message("two of %g sigma: both found in %d of %d\n", UP[k], both, TRIALS);
    assert_true(both >= LEAST[k]);
  }
}

static void find(const double *values, size_t count, struct history_changes *changes) {
  *changes = (struct history_changes){0};
  history_find_changes(values, count, changes);
}

/* Worked out on paper. */
static void test_known(void **unused) {
  (void)unused;
  struct history_changes changes;
  const double same[] = {7, 7, 7, 7, 7, 7, 7, 7};
  find(same, 8, &changes);
  assert_int_equal(changes.count, 0);

  const double sure[] = {5, 5, 5, 5, 9, 9, 9};
  find(sure, 7, &changes);
  assert_int_equal(changes.count, 1);
  assert_int_equal(changes.items[0].at, 4);
  assert_true(changes.items[0].first == 4 && changes.items[0].last == 4);
  assert_true(changes.items[0].before == 5 && changes.items[0].after == 9 && changes.items[0].half == 0);
  lumos_vector_free(&changes);

  /* Means of 11 and 21 with variances of 1: Student's t at 95 % with 4 degrees is 2.776445, times sqrt(1/3 + 1/3) is
   * 2.266958. t is 10 / sqrt(2/3) = 12.2474, whose tails have a chance of 0.000255; there is one split. */
  const double noisy[] = {10, 11, 12, 20, 21, 22};
  find(noisy, 6, &changes);
  assert_int_equal(changes.count, 1);
  assert_int_equal(changes.items[0].at, 3);
  assert_true(fabs(changes.items[0].half - 2.266958) < 1e-5);
  assert_true(fabs(changes.items[0].chance - 0.000255) < 1e-6);
  lumos_vector_free(&changes);

  /* Up, and back. */
  const double hill[] = {10, 11, 10, 11, 10, 20, 21, 20, 21, 20, 10, 11, 10, 11, 10};
  find(hill, 15, &changes);
  assert_int_equal(changes.count, 2);
  assert_true(changes.items[0].at == 5 && changes.items[1].at == 10);
  lumos_vector_free(&changes);

  /* Three bad nights in a row that are over; and while they are the last, nobody knows. */
  const double spell[] = {10, 11, 10, 11, 10, 11, 20, 21, 20, 11, 10, 11, 10, 11, 10};
  find(spell, 15, &changes);
  assert_int_equal(changes.count, 0);
  find(spell, 9, &changes);
  assert_int_equal(changes.count, 1);
  assert_int_equal(changes.items[0].at, 6);
  lumos_vector_free(&changes);

  /* One bad night, wherever it is. */
  for (size_t bad = 0; bad < 12; bad++) {
    double values[] = {10, 11, 10, 11, 10, 12, 10, 11, 10, 11, 10, 11};
    values[bad] = 90;
    find(values, 12, &changes);
    assert_int_equal(changes.count, 0);
  }

  double long_series[100];
  for (size_t bad = 1; bad < 100; bad += 7) {
    for (size_t i = 0; i < 100; i++) {
      long_series[i] = i == bad ? 90 : 10 + (double)(i % 2);
    }
    find(long_series, 100, &changes);
    assert_int_equal(changes.count, 0);
  }

  find(noisy, 5, &changes); /* too few */
  assert_int_equal(changes.count, 0);
  find(noisy, 0, &changes);
  assert_int_equal(changes.count, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_false_alarms),
      cmocka_unit_test(test_planted),
      cmocka_unit_test(test_two_of_them),
      cmocka_unit_test(test_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
