/* Programs of the library woven into a job, worked out on paper; times in
 * nanoseconds. A thread launches a product on s7 (0 to 10) and communication on s8 (10 to 20). */
#include "job_text.h"

#include "rebuild/library.h"
#include <stdlib.h>

#define LAUNCH(id, seq, start)                                       \
  "{'type':'task','id':'0:" #id "','rank':0,'lane':'t1','seq':" #seq \
  ",'kind':'launch','name':'launch','start':" #start ",'dur':10,'lag':0,'step':0}\n"
#define KERNEL(id, lane, kind, start, dur, call)                                                                    \
  "{'type':'task','id':'0:" #id "','rank':0,'lane':'" lane "','seq':0,'kind':'" kind "','name':'k','start':" #start \
  ",'dur':" #dur ",'lag':0,'gap':0,'step':0,'origin':'launched','call':'0:" #call "','launch_lag':0,'residual':0}\n"

static struct lumos_job *two_streams(void) {
  return job_from_text(JOB_TEXT_HEADER
                       "{'type':'rank','rank':0,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
                       "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                       "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                       "{'type':'lane','rank':0,'lane':'s8','kind':'stream','native':'8'}\n" LAUNCH(0, 0, 0)
                           LAUNCH(1, 1, 10) KERNEL(2, "s7", "gemm", 10, 120, 0)
                               KERNEL(3, "s8", "collective", 20, 50, 1));
}

static const struct lumos_run *run_of(const struct lumos_job *job, const char *name, uint8_t kind) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (job->tasks.items[t].kind == kind && strcmp(lumos_string(job->strings, job->tasks.items[t].name), name) == 0) {
      return &job->runs.items[t];
    }
  }
  fail_msg("no task is called %s", name);
  return NULL;
}

/* Behind the first launch, at 10: 11500 + 4600 of ops, a record of 5, 2400, a wait of 7, 18400, and the call of 11, at
 * whose end, 36933, what is sent could start 3 later. But the product ends at 50010, and the event takes 2. The thread
 * goes on to 5100, a record of 5, 19500 and 12500; then comes the second launch. */
static void communication_is_launched_behind_what_it_needs(void **state) {
  (void)state;
  struct lumos_job *job = two_streams();
  struct lumos_error error = {0};
  struct rebuild_weave weave;
  const struct rebuild_costs costs = {
      .record = 5, .wait = 7, .launch = 10, .send = 11, .launch_lag = 3, .event_lag = 2, .pace = 1000000};
  const struct rebuild_operation operation = {
      .op = "all_reduce", .kernel = "sent", .kind = LUMOS_COLLECTIVE, .bytes = 8, .dur = 1000};
  struct lumos_task label = lumos_task_empty;
  uint32_t done;
  label.step = 0;
  job->tasks.items[2].dur = 50000;
  job->stage = LUMOS_STAGE_TRANSFORM;
  job->edited = 1;
  rebuild_weave_begin(&weave, job);
  struct rebuild_library_writer writer = {.weave = &weave,
                                          .costs = &costs,
                                          .thread = 0,
                                          .after = 0,
                                          .compute = 1,
                                          .stream = rebuild_weave_stream(&weave, 0, rebuild_free_stream(job)),
                                          .label = label};
  uint32_t task = rebuild_library_start(&writer, &operation, 2, &done);
  rebuild_library_join(job, &operation, &task, 1, 1, LUMOS_SYMMETRIC);
  if (!rebuild_weave_end(&weave, &error) || !lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  assert_string_equal(lumos_string(job->strings, job->lanes.items[3].lane), "s9");
  assert_int_equal(run_of(job, "sent", LUMOS_COLLECTIVE)->start, 50012);
  assert_int_equal(run_of(job, "sent", LUMOS_COLLECTIVE)->dur, 1000);
  const struct lumos_lane *thread = &job->lanes.items[0];
  assert_int_equal(job->runs.items[thread->task_first + thread->task_count - 1].start,
                   36933 + 5100 + 5 + 19500 + 12500);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(communication_is_launched_behind_what_it_needs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
