/* What would help most: ranked, in words and as a table, of metrics that are given; the gains are worked out by
 * hand. */
#include "unit/report_job.h"

#include "report/content/opportunities.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS(value) ((int64_t)(value)*1000000)
#define NONE LUMOS_ABSENT_INT

static void add_opportunity(struct lumos_job *job, const char *name, const char *kind, const char *group, int32_t step,
                            int64_t value) {
  add_metric(job, name, NONE, step, LUMOS_METRIC_SIMULATED, value, 0);
  struct lumos_scope *scope = &job->metrics.items[job->metrics.count - 1].scope;
  scope->kind = kind == NULL ? LUMOS_NO_STRING : lumos_intern_text(job->strings, kind);
  scope->group = group == NULL ? LUMOS_NO_STRING : lumos_intern_text(job->strings, group);
}

/* A rank of two steps, of 100 and 120 ms: 110 in the mean. In each a GEMM of 40 ms, launched 2 ms before, and a sum
 * over group 7 of 10 ms, of which the transfer is 6.
 *           half        mean  gain   free        mean  gain
 *   gemm    80, 100     90    20     60, 80      70    40
 *   host    100, 80     90    20     100, 60     80    30     half saves as much as with gemm, all of it less
 *   group 7 99, 119     109    1     98, 118     108    2 */
static struct lumos_job *two_steps(void) {
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 0);
  uint32_t thread = add_lane(job, rank, "t77", LUMOS_THREAD);
  uint32_t stream = add_lane(job, rank, "s7", LUMOS_STREAM);
  for (int32_t step = 0; step < 2; step++) {
    uint32_t op = add_task(job, thread, LUMOS_OP, "aten::mm", MS(100) * step, MS(step == 0 ? 3 : 5));
    job->tasks.items[op].step = step;
  }
  for (int32_t step = 0; step < 2; step++) {
    uint32_t gemm = add_task(job, stream, LUMOS_GEMM, "gemm", MS(100) * step + MS(5), MS(40));
    uint32_t sum = add_task(job, stream, LUMOS_COLLECTIVE, "sum", MS(100) * step + MS(50), MS(10));
    lumos_task_timing(job, &job->tasks.items[gemm])->launch_lag = MS(2);
    job->tasks.items[gemm].step = job->tasks.items[sum].step = step;
    lumos_task_detail(job, &job->tasks.items[sum])->comm.group = lumos_intern_text(job->strings, "7");
    struct lumos_collective collective = lumos_collective_empty;
    collective.id = (uint32_t)step;
    collective.transfer = MS(6);
    collective.member_first = (uint32_t)job->members.count;
    collective.member_count = 1;
    lumos_vector_push(&job->members, sum);
    lumos_vector_push(&job->collectives, collective);
    add_parts(job, 0, step, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(100) + MS(20) * step});
    add_parts(job, 0, step, LUMOS_METRIC_SIMULATED, (struct parts){.compute = MS(100) + MS(20) * step});
    add_metric(job, "step_time", NONE, step, LUMOS_METRIC_MEASURED, MS(100) + MS(20) * step, 0);
    add_metric(job, "step_time", NONE, step, LUMOS_METRIC_SIMULATED, MS(100) + MS(20) * step, 0);
    add_opportunity(job, "opportunity_free", NULL, "7", step, MS(98 + 20 * step));
    add_opportunity(job, "opportunity_half", NULL, "7", step, MS(99 + 20 * step));
    add_opportunity(job, "opportunity_half", "host", NULL, step, MS(step == 0 ? 100 : 80));
    add_opportunity(job, "opportunity_free", "host", NULL, step, MS(step == 0 ? 100 : 60));
    add_opportunity(job, "opportunity_half", "gemm", NULL, step, MS(80 + 20 * step));
    add_opportunity(job, "opportunity_free", "gemm", NULL, step, MS(60 + 20 * step));
  }
  struct lumos_group group = lumos_group_empty;
  group.rank = rank;
  group.id = lumos_intern_text(job->strings, "7");
  group.role = LUMOS_TENSOR;
  group.size = 6;
  group.member_first = (uint32_t)job->group_ranks.count;
  const int32_t members[] = {0, 1, 2, 3, 8, 10};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    lumos_vector_push(&job->group_ranks, members[i]);
  }
  group.member_count = sizeof members / sizeof *members;
  lumos_vector_push(&job->groups, group);
  finish_job(job);
  return job;
}

struct said {
  struct report_facts facts;
  struct report_opportunities opportunities;
  struct report_table table;
};

static struct said say(const struct lumos_job *job) {
  struct said said;
  report_facts_read(job, &said.facts);
  report_opportunities_read(&said.facts, &said.opportunities);
  report_opportunities_table(&said.facts, &said.opportunities, &said.table);
  return said;
}

static void forget(struct said *said, struct lumos_job *job) {
  report_table_free(&said->table);
  report_opportunities_free(&said->opportunities);
  report_facts_free(&said->facts);
  lumos_job_free(job);
}

static void expect_row(const struct report_table *table, size_t row, const char *work, const int64_t values[7]) {
  const struct report_cell *name = &table->cells.items[row * table->column_count];
  assert_int_equal(name->length, strlen(work));
  assert_memory_equal(name->bytes, work, name->length);
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(report_table_value(table, row, i + 1), values[i]);
  }
}

static void expect_text(struct lumos_text *text, const char *expected) {
  lumos_text_char(text, '\0');
  assert_string_equal(text->bytes, expected);
  lumos_text_free(text);
}

static void ranked_by_what_half_saves(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  struct said said = say(job);
  assert_int_equal(report_table_rows(&said.table), 3);
  /* its time, then with half: step, gain, share of 110 ms; without: the same */
  expect_row(&said.table, 0, "GEMM kernels", (int64_t[]){MS(40), MS(90), MS(20), 181818, MS(70), MS(40), 363636});
  expect_row(&said.table, 1, "CPU time", (int64_t[]){MS(4), MS(90), MS(20), 181818, MS(80), MS(30), 272727});
  expect_row(&said.table, 2, "communication of tensor group 0-3, 8, 10",
             (int64_t[]){MS(6), MS(109), MS(1), 9091, MS(108), MS(2), 18182});
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_opportunities_finding(&said.opportunities, &text);
  expect_text(&text, "Halving the time in GEMM kernels cuts the step to 90.0\xC2\xA0ms (\xE2\x88\x92"
                     "18.2\xC2\xA0%)");
  text = (struct lumos_text)LUMOS_TEXT_BUFFER;
  report_put_opportunity_action(&said.opportunities, &said.opportunities.list.items[1], &text);
  expect_text(&text, "Launch less from the CPU: capture the step in CUDA graphs, compile it with torch.compile, or "
                     "fuse small kernels.");
  text = (struct lumos_text)LUMOS_TEXT_BUFFER;
  report_put_opportunity_action(&said.opportunities, &said.opportunities.list.items[2], &text);
  expect_text(&text, "Overlap tensor-parallel communication (sequence parallelism, async TP), or use a smaller "
                     "tensor-parallel size.");
  /* There is launch latency, and communication of other groups than this one might be: neither is ranked. */
  text = (struct lumos_text)LUMOS_TEXT_BUFFER;
  report_put_opportunities_reading(&said.opportunities, &text);
  lumos_text_char(&text, '\0');
  assert_non_null(strstr(text.bytes, "Under 0.5\xC2\xA0% each: launch latency, all communication."));
  lumos_text_free(&text);
  lumos_text_char(&said.table.rest, '\0');
  assert_string_equal(said.table.rest.bytes,
                      "launch latency, all communication: less than 0.5 % each, even if it took no time");
  struct report_scene scene;
  assert_true(report_opportunities_scene(&said.opportunities, &scene));
  report_scene_free(&scene);
  forget(&said, job);
}

/* Changes have a list of their own. */
static void changes_are_ranked_by_what_they_save(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  for (int step = 0; step < 2; step++) {
    add_opportunity(job, "opportunity_change", "cuda_graphs", NULL, step, MS(95 + 20 * step));
    add_opportunity(job, "opportunity_change", "faster_network", NULL, step, MS(90 + 20 * step));
    add_opportunity(job, "opportunity_change", "of another version", NULL, step, MS(99 + 20 * step));
  }
  struct said said = say(job);
  struct report_table table;
  assert_int_equal(report_table_rows(&said.table), 3);
  report_improvements_table(&said.opportunities, &table);
  assert_int_equal(report_table_rows(&table), 3);
  static const char *const names[] = {"a network twice as fast", "CUDA graphs", "of another version"};
  static const int64_t steps[] = {MS(100), MS(105), MS(109)};
  for (size_t i = 0; i < 3; i++) {
    const struct report_cell *name = &table.cells.items[i * table.column_count];
    assert_int_equal(name->length, strlen(names[i]));
    assert_memory_equal(name->bytes, names[i], name->length);
    assert_int_equal(report_table_value(&table, i, 1), steps[i]);
    assert_int_equal(report_table_value(&table, i, 2), MS(110) - steps[i]);
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_improvement(&said.opportunities, &said.opportunities.changes.items[0], &text);
  expect_text(&text, "Doubling the network\xE2\x80\x99s bandwidth cuts the step to 100\xC2\xA0ms (\xE2\x88\x92"
                     "9.1\xC2\xA0%)");
  report_table_free(&table);
  forget(&said, job);
}

/* The first step of a changed job counts nowhere: 120 ms is left, and of the host 80. */
static void the_first_step_of_a_change_does_not_count(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  lumos_job_history(job, "lumos-transform", "--scale kind=gemm=0.5", NULL, 0);
  job->edited = 1;
  struct said said = say(job);
  expect_row(&said.table, 0, "CPU time", (int64_t[]){MS(5), MS(80), MS(40), 333333, MS(60), MS(60), 500000});
  assert_int_equal(said.opportunities.step, MS(120));
  forget(&said, job);
}

static void nothing_helps(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  for (size_t i = 0; i < job->metrics.count; i++) {
    struct lumos_scope *scope = &job->metrics.items[i].scope;
    scope->step =
        scope->kind != LUMOS_NO_STRING || scope->group != LUMOS_NO_STRING ? 9 : scope->step; /* no step of it */
  }
  lumos_job_note(job, "sim.no_opportunity", LUMOS_INFO, LUMOS_ABSENT, NULL, "none", NULL);
  struct said said = say(job);
  assert_true(said.opportunities.none);
  assert_null(report_best_opportunity(&said.opportunities));
  assert_int_equal(report_table_rows(&said.table), 0);
  struct report_scene scene;
  assert_false(report_opportunities_scene(&said.opportunities, &scene));
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_opportunities_finding(&said.opportunities, &text);
  expect_text(&text, "No kind of work alone would shorten the step by 0.5\xC2\xA0%");
  forget(&said, job);
}

/* What a stream claims may be anything. */
static void strange_metrics(void **state) {
  (void)state;
  struct lumos_job *job = two_steps();
  for (int i = 0; i < 1000; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "<b>%d", i);
    add_opportunity(job, "opportunity_half", i % 2 == 0 ? name : NULL, i % 2 == 0 ? NULL : name, i % 3,
                    INT64_C(9007199254740991) * (i % 2 == 0 ? 1 : -1));
  }
  struct said said = say(job);
  assert_true(report_table_rows(&said.table) > 3);
  struct report_scene scene;
  assert_true(report_opportunities_scene(&said.opportunities, &scene));
  report_scene_free(&scene);
  forget(&said, job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranked_by_what_half_saves),
      cmocka_unit_test(changes_are_ranked_by_what_they_save),
      cmocka_unit_test(the_first_step_of_a_change_does_not_count),
      cmocka_unit_test(nothing_helps),
      cmocka_unit_test(strange_metrics),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
