/* When the last of many members of a collective ends, of which few were recorded (src/rebuild/apart.c). */
#include "graph_job.h"

#include "rebuild/apart.h"
#include <math.h>

enum { TRANSFER = 1000, APART = 100 };

/* So many pairs: the one that came last ends in time, the other one a tenth of the transfer later or, in every other
 * pair, earlier. */
static struct lumos_job *pairs(uint32_t count) {
  struct lumos_job *job = new_job();
  struct lumos_error error = {0};
  uint32_t streams[2];
  for (int32_t r = 0; r < 2; r++) {
    streams[r] = add_stream(job, add_rank(job, r), "7");
  }
  for (uint32_t i = 0; i < 2 * count; i++) {
    uint32_t kernel = add_kernel(job, streams[i / count], (i % count) * 10 * TRANSFER, TRANSFER, LUMOS_NONE);
    job->tasks.items[kernel].kind = LUMOS_COLLECTIVE;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct lumos_collective collective = lumos_collective_empty;
    collective.op = word(job, "all_gather");
    collective.rule = LUMOS_SYMMETRIC;
    collective.size = 2;
    collective.member_first = (uint32_t)job->members.count;
    collective.member_count = 2;
    collective.bytes = 1000;
    collective.transfer = TRANSFER;
    lumos_vector_push(&job->members, i);
    lumos_vector_push(&job->members, i + count);
    lumos_vector_push(&job->collectives, collective);
  }
  assert_true(lumos_job_arrange(job, &error));
  for (uint32_t i = 0; i < count; i++) {
    lumos_task_timing(job, &job->tasks.items[i])->end_residual = 0;
    lumos_task_timing(job, &job->tasks.items[i + count])->end_residual = i % 2 == 0 ? APART : -APART;
  }
  return job;
}

static bool is_near(double one, double other) { return fabs(one - other) < 1e-9; }

static void the_last_of_more_ends_later(void **state) {
  (void)state;
  struct lumos_job *job = pairs(16);
  struct rebuild_apart apart;
  rebuild_apart_find(&apart, job);
  assert_int_equal(rebuild_apart_early(&apart, 0), 0);
  assert_int_equal(rebuild_apart_early(&apart, 1), APART);
  /* One of two ends a tenth behind the first, so of n one at least does in 1 - 1/2^n. */
  for (int32_t n = 1; n <= 8; n++) {
    assert_true(is_near(rebuild_apart_last(&apart, 1, n), 0.1 * (1 - pow(0.5, n))));
  }
  rebuild_apart_free(&apart);
  lumos_job_free(job);
}

static void few_say_nothing_of_many(void **state) {
  (void)state;
  struct lumos_job *job = pairs(15);
  struct rebuild_apart apart;
  rebuild_apart_find(&apart, job);
  assert_true(is_near(rebuild_apart_last(&apart, 1, 8), 0));
  rebuild_apart_free(&apart);
  lumos_job_free(job);
}

static void what_does_not_end_together_is_not_looked_at(void **state) {
  (void)state;
  struct lumos_job *job = pairs(16);
  struct rebuild_apart apart;
  job->collectives.items[3].rule = LUMOS_PAIR;
  job->collectives.items[4].transfer = LUMOS_ABSENT;
  rebuild_apart_find(&apart, job);
  assert_int_equal(apart.family_of[3], LUMOS_NONE);
  assert_int_equal(apart.family_of[4], LUMOS_NONE);
  assert_true(is_near(rebuild_apart_last(&apart, 3, 8), 0));
  rebuild_apart_free(&apart);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_last_of_more_ends_later),
      cmocka_unit_test(few_say_nothing_of_many),
      cmocka_unit_test(what_does_not_end_together_is_not_looked_at),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
