/* The matrix of who waits for whom: what is not shown by itself is added up, so that no waiting gets lost. */
#include "unit/report_job.h"

#include "report/content/waits.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS(value) ((int64_t)(value)*1000000)
#define NONE LUMOS_ABSENT_INT

static void add_wait(struct lumos_job *job, int32_t rank, int32_t peer, int64_t time) {
  for (int32_t step = 0; step < 2; step++) { /* the mean is `time` */
    add_metric(job, "wait_for", rank, step, LUMOS_METRIC_MEASURED, step == 0 ? 2 * time : 0, 0);
    struct lumos_scope *scope = &job->metrics.items[job->metrics.count - 1].scope;
    scope->peer = peer;
    scope->kind = peer == NONE ? lumos_intern_text(job->strings, "rest") : LUMOS_NO_STRING;
  }
}

static struct lumos_job *job_of(int32_t ranks) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t number = 0; number < ranks; number++) {
    uint32_t stream = add_lane(job, add_rank(job, number), "s7", LUMOS_STREAM);
    add_task(job, stream, LUMOS_GEMM, "gemm", 0, MS(10));
    for (int32_t step = 0; step < 2; step++) {
      add_parts(job, number, step, LUMOS_METRIC_MEASURED, (struct parts){.compute = MS(1000)});
    }
  }
  for (int32_t step = 0; step < 2; step++) {
    add_metric(job, "step_time", NONE, step, LUMOS_METRIC_MEASURED, MS(1000), 0);
  }
  return job;
}

static struct report_waits waits_of(struct lumos_job *job, struct lumos_text *html) {
  struct report_facts facts;
  struct report_waits waits;
  finish_job(job);
  report_facts_read(job, &facts);
  report_waits_read(&facts, &waits);
  report_waits_html(&waits, html);
  lumos_text_char(html, '\0');
  report_facts_free(&facts);
  lumos_job_free(job);
  return waits;
}

static void expect_part(const struct lumos_text *html, const char *part) {
  if (strstr(html->bytes, part) == NULL) {
    print_message("%s", html->bytes);
    fail_msg("\"%s\" is not in it", part);
  }
}

/* Rank 0 waits 40 ms for rank 2 and 10 ms for those that it waits for least; rank 1 waits 20 us for rank 2. */
static void all_have_their_place(void **state) {
  (void)state;
  struct lumos_text html = LUMOS_TEXT_BUFFER;
  struct lumos_job *job = job_of(3);
  add_wait(job, 0, 2, MS(40));
  add_wait(job, 0, NONE, MS(10));
  add_wait(job, 1, 2, 2000);
  struct report_waits waits = waits_of(job, &html);
  assert_int_equal(waits.count, 3);
  assert_int_equal(waits.left_out, 0);
  assert_true(waits.others);
  assert_int_equal(waits.times[0][2], MS(40));
  assert_int_equal(waits.times[0][3], MS(10));
  expect_part(&html, "<tr><th scope=\"row\">rank 0</th><td class=\"self\"></td><td class=\"none\">0</td>"
                     "<td style=\"--heat:1\" title=\"rank 0 waits 40.0\xC2\xA0ms for rank 2, 80.0\xC2\xA0% of its "
                     "waiting\">40.00</td>"
                     "<td title=\"rank 0 waits 10.0\xC2\xA0ms for others, 20.0\xC2\xA0% of its "
                     "waiting\">10.00</td><td class=\"sum\">50.00</td></tr>");
  expect_part(&html, ">&lt;0.01</td>"); /* the 2 us of rank 1: not nothing */
  expect_part(&html, "<tr class=\"sum\"><th scope=\"row\">all</th><td>0</td><td>0</td><td>40.00</td><td>10.00</td>"
                     "<td>50.00</td></tr>");
  expect_part(&html, "Others: those that a rank waits for least, added up");
  lumos_text_free(&html);
}

/* Of 20 ranks rank r waits 10 + r ms for rank 0: rank 0 and the 15 last have places, the 4 first others are added
 * up. */
static void of_many_ranks_the_longest(void **state) {
  (void)state;
  struct lumos_text html = LUMOS_TEXT_BUFFER;
  struct lumos_job *job = job_of(20);
  for (int32_t rank = 1; rank < 20; rank++) {
    add_wait(job, rank, 0, MS(10 + rank));
  }
  struct report_waits waits = waits_of(job, &html);
  assert_int_equal(waits.count, 16);
  assert_int_equal(waits.left_out, 4);
  assert_int_equal(waits.ranks[0], 0);
  assert_int_equal(waits.ranks[1], 5);
  assert_int_equal(waits.ranks[15], 19);
  assert_int_equal(waits.times[16][0], MS(11 + 12 + 13 + 14));
  assert_int_equal(waits.largest, MS(29)); /* of a rank: what several wait together would hide it */
  assert_false(waits.others);
  expect_part(&html, "others: 4\xC2\xA0more ranks, added up");
  expect_part(&html, "others wait 50.0\xC2\xA0ms for rank 0, 100\xC2\xA0% of their waiting\">50.00</td>");
  expect_part(&html, "<tr class=\"sum\"><th scope=\"row\">all</th><td>380.00</td>"); /* 19 times 10, and 1 to 19 */
  lumos_text_free(&html);
}

static void without_waiting_there_is_none(void **state) {
  (void)state;
  struct lumos_text html = LUMOS_TEXT_BUFFER;
  struct lumos_job *job = job_of(2);
  add_wait(job, 0, 1, 0);
  assert_int_equal(waits_of(job, &html).count, 0);
  assert_string_equal(html.bytes, "");
  lumos_text_free(&html);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_have_their_place),
      cmocka_unit_test(of_many_ranks_the_longest),
      cmocka_unit_test(without_waiting_there_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
