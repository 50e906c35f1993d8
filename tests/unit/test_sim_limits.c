/* Numbers that were chosen: each holds on one side of itself and not on the other. */
#include "sim_jobs.h"

#include <lumos/sim.h>

/* ---- opportunity.c: what takes a two-hundredth of the steps matters ---- */

#undef RANK_OF_JOB
#define RANK_OF_JOB "0"

/* A step of 100000: the kernel from 10 to 100000 - `last`, then the copy. What the job would take without copies, and
 * with half of them, LUMOS_ABSENT: it was not asked. */
static void expect_copies(int64_t last, int64_t free, int64_t half) {
  /* clang-format off */
  static const char frame[] = JOB_TEXT_HEADER
      "{'type':'rank','rank':0,'window':[0,100000],'base':0," JOB_TEXT_COVERAGE "}\n"
      "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
      "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
      HOST("0:0", "t1", 0, "launch", "launch0", 0, 10, 0, "")
      HOST("0:1", "t1", 1, "launch", "launch1", 10, 10, 0, "")
      HOST("0:2", "s7", 0, "gemm", "K", 10, 1, 0, ",'gap':0,'origin':'launched','call':'0:0','launch_lag':0,'residual':0")
      HOST("0:3", "s7", 1, "copy", "C", 11, 1, 0, ",'gap':0,'origin':'launched','call':'0:1','launch_lag':0,'residual':0");
  /* clang-format on */
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(frame);
  struct lumos_task *kernel = &job->tasks.items[task_named(job, "K")], *copy = &job->tasks.items[task_named(job, "C")];
  kernel->dur = 99990 - last;
  copy->start = 100000 - last;
  copy->dur = last;
  assert_true(lumos_simulate(job, &error) && lumos_find_opportunities(job, &error));
  int64_t found[] = {LUMOS_ABSENT, LUMOS_ABSENT};
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (reads(job, metric->scope.kind, "copy")) {
      found[0] = reads(job, metric->name, "opportunity_free") ? metric->value.units : found[0];
      found[1] = reads(job, metric->name, "opportunity_half") ? metric->value.units : found[1];
    }
  }
  assert_true(found[0] == free && found[1] == half);
  lumos_job_free(job);
}

static void what_takes_a_two_hundredth_is_asked(void **state) {
  (void)state;
  expect_copies(500, 99500, 99750);
  expect_copies(499, LUMOS_ABSENT, LUMOS_ABSENT);
}

/* ---- idle.c: fifty ops of a step are listed ---- */

/* `ops` times an op that takes 100, 101 and so on, during which nothing runs, and a launch of 1 for a kernel of 1,
 * which starts at once: the next op begins with it, and the device is idle from its end on. */
static struct lumos_job *with_ops(int ops) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,100000],'base':0," JOB_TEXT_COVERAGE "}\n"
                                        "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                                        "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n");
  int at = 0;
  for (int i = 0; i < ops; i++) {
    int dur = 100 + i;
    lumos_text_format(&text,
                      "{'type':'span','id':'0:%d','rank':0,'lane':'t1','kind':'op','name':'op%d','start':%d,'dur':%d}\n"
                      "{'type':'task','id':'0:%d','rank':0,'lane':'t1','seq':%d,'kind':'op','name':'op%d','start':%d,"
                      "'dur':%d,'lag':0,'step':1,'span':'0:%d'}\n"
                      "{'type':'task','id':'0:%d','rank':0,'lane':'t1','seq':%d,'kind':'launch','name':'launch',"
                      "'start':%d,'dur':1,'lag':0,'step':1,'span':'0:%d'}\n"
                      "{'type':'task','id':'0:%d','rank':0,'lane':'s7','seq':%d,'kind':'gemm','name':'K','start':%d,"
                      "'dur':1,'lag':0,'gap':0,'step':1,'origin':'launched','call':'0:%d','launch_lag':0,"
                      "'residual':0}\n",
                      i, i, at, dur + 1, 3 * i, 2 * i, i, at, dur, i, 3 * i + 1, 2 * i + 1, at + dur, i, 3 * i + 2, i,
                      at + dur + 1, 3 * i + 1);
    at += dur + 1;
  }
  lumos_text_char(&text, '\0');
  struct lumos_job *job = simulated(text.bytes);
  lumos_text_free(&text);
  return job;
}

/* Rows of step 1, and the time of the op; LUMOS_ABSENT: it has none. */
static int64_t idle_at(const struct lumos_job *job, const char *op, int *rows) {
  int64_t found = LUMOS_ABSENT;
  *rows = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (reads(job, metric->name, "idle_at_op") && metric->scope.step == 1) {
      ++*rows;
      found = reads(job, metric->scope.op, op) ? metric->value.units : found;
    }
  }
  return found;
}

static void fifty_ops_are_listed(void **state) {
  (void)state;
  int rows = 0;
  struct lumos_job *job = with_ops(50);
  assert_int_equal(idle_at(job, "op1", &rows), 101); /* 101 and the launch, less the kernel before it */
  assert_int_equal(idle_at(job, "(rest)", &rows), LUMOS_ABSENT);
  assert_int_equal(rows, 50);
  lumos_job_free(job);
  job = with_ops(52);
  assert_int_equal(idle_at(job, "op2", &rows), 102);
  assert_int_equal(idle_at(job, "op1", &rows), LUMOS_ABSENT);
  assert_int_equal(idle_at(job, "(rest)", &rows), 101 + 101); /* nothing runs before op0 */
  assert_int_equal(rows, 51);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_takes_a_two_hundredth_is_asked),
      cmocka_unit_test(fifty_ops_are_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
