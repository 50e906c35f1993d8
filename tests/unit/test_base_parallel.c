/* Pieces of work on several threads have the outcome that one thread gives. */
#include "base/parallel.h"
#include "unit.h"
#include <pthread.h>

enum { PIECES = 200 };

struct done {
  int times[PIECES];
  bool fails[PIECES];
  bool callers[PIECES];
  bool threads_told_apart[PIECES];
  pthread_t caller;
};

static bool count_piece(void *context, size_t index, bool callers) {
  struct done *done = context;
  done->times[index]++;
  done->callers[index] = callers;
  done->threads_told_apart[index] = callers == (pthread_equal(pthread_self(), done->caller) != 0);
  return !done->fails[index];
}

static void every_piece_is_done_once(void **state) {
  (void)state;
  for (size_t threads = 0; threads < 9; threads++) {
    struct done done = {.caller = pthread_self()};
    assert_int_equal(lumos_parallel(PIECES, threads, count_piece, &done), PIECES);
    for (size_t i = 0; i < PIECES; i++) {
      assert_int_equal(done.times[i], 1);
      assert_true(done.threads_told_apart[i]);
      assert_true(threads != 1 || done.callers[i]);
    }
  }
}

/* Whichever thread fails first in time, the lowest that fails is told, and all before it are done. */
static void the_lowest_failure_is_told(void **state) {
  (void)state;
  for (size_t threads = 1; threads < 9; threads++) {
    struct done done = {.caller = pthread_self()};
    done.fails[100] = done.fails[101] = done.fails[37] = done.fails[PIECES - 1] = true;
    assert_int_equal(lumos_parallel(PIECES, threads, count_piece, &done), 37);
    for (size_t i = 0; i <= 37; i++) {
      assert_int_equal(done.times[i], 1);
    }
    assert_true(threads > 1 || done.times[38] == 0);
  }
}

static void nothing_to_do_is_done(void **state) {
  (void)state;
  assert_int_equal(lumos_parallel(0, 4, count_piece, NULL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_piece_is_done_once),
      cmocka_unit_test(the_lowest_failure_is_told),
      cmocka_unit_test(nothing_to_do_is_done),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
