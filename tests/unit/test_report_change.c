/* What a change does to the parts of a step, by hand. */
#include "unit/report_job.h"

#include "report/content/change.h"
#include "report/draw/palette.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Three measured steps of 100, 100 and 103 ns, in parts that three does not divide, and a simulated one of 90 beside
 * the first of a changed job, which does not count, nor what was measured of it. */
static struct lumos_job *changed_job(bool edited) {
  struct lumos_job *job = lumos_job_new();
  uint32_t stream = add_lane(job, add_rank(job, 0), "s7", LUMOS_STREAM);
  (void)add_task(job, stream, LUMOS_GEMM, "gemm", 0, 1);
  for (int32_t rank = LUMOS_ABSENT_INT, left = 2; left > 0; left--, rank = 0) {
    add_parts(job, rank, 1, LUMOS_METRIC_MEASURED, (struct parts){.compute = 50, .wait = 40, .idle = 10});
    add_parts(job, rank, 2, LUMOS_METRIC_MEASURED, (struct parts){.compute = 50, .wait = 41, .idle = 9});
    add_parts(job, rank, 3, LUMOS_METRIC_MEASURED, (struct parts){.compute = 51, .wait = 40, .idle = 12});
    add_parts(job, rank, 1, LUMOS_METRIC_SIMULATED, (struct parts){.compute = 500});
    add_parts(job, rank, 2, LUMOS_METRIC_SIMULATED, (struct parts){.compute = 25, .wait = 60, .idle = 5});
  }
  if (edited) {
    lumos_job_history(job, "lumos-transform", "--scale kind=gemm=0.5", NULL, 0);
    job->edited = 1;
  }
  finish_job(job);
  return job;
}

/* Sums 101, 81 and 21 over the last two steps; cut, the running means are 50, 91 and 101. */
static void parts_add_up_to_the_step(void **state) {
  (void)state;
  static const struct {
    enum report_paint paint;
    int64_t before, after, difference;
  } rows[] = {{PAINT_COMPUTE, 50, 25, -25}, {PAINT_WAIT, 41, 60, 19}, {PAINT_IDLE, 10, 5, -5}};
  struct lumos_job *job = changed_job(true);
  struct report_facts facts;
  struct report_table table;
  report_facts_read(job, &facts);
  report_change_table(&facts, &table);
  assert_int_equal(report_table_rows(&table), 3);
  for (size_t row = 0; row < 3; row++) {
    assert_int_equal(report_table_value(&table, row, 0), rows[row].paint);
    assert_int_equal(report_table_value(&table, row, 1), rows[row].before);
    assert_int_equal(report_table_value(&table, row, 2), rows[row].after);
    assert_int_equal(report_table_value(&table, row, 3), rows[row].difference);
  }
  assert_int_equal(report_table_value(&table, 0, 4), -247525); /* 25 of 101 */
  assert_int_equal(table.whole, report_facts_step_time(&facts, MEASURED));
  lumos_text_char(&table.finding, '\0');
  assert_string_equal(table.finding.bytes, "compute \xE2\x88\x92"
                                           "25\xC2\xA0ns, waiting +19\xC2\xA0ns");
  report_table_free(&table);
  report_facts_free(&facts);
  lumos_job_free(job);
}

static void an_unchanged_job_has_no_such_table(void **state) {
  (void)state;
  struct lumos_job *job = changed_job(false);
  struct report_facts facts;
  struct report_table table;
  report_facts_read(job, &facts);
  report_change_table(&facts, &table);
  assert_int_equal(report_table_rows(&table), 0);
  report_table_free(&table);
  report_facts_free(&facts);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_add_up_to_the_step),
      cmocka_unit_test(an_unchanged_job_has_no_such_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
