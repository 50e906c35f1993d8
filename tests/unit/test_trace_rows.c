/* Rows on their way to tasks: put in order, and given back as they move and while the walk goes on, but for those that
 * are open. */
#include "trace/order.h"
#include "trace_text.h"

enum { LANES = 3, MANY = 100000 };

static void rows_stand_as_they_nest(void **state) {
  (void)state;
  struct lumos_strings *strings = lumos_strings_new();
  struct trace trace;
  lumos_trace_init(&trace, strings);
  for (uint32_t i = 0; i < LANES; i++) {
    (void)lumos_trace_lane(&trace, LUMOS_THREAD, i + 1, i + 1);
  }
  uint32_t random = 7;
  for (int64_t i = 0; i < MANY; i++) {
    random = random * 1664525 + 1013904223;
    struct trace_host row = {.start = random >> 24U, .end = (random >> 24U) + (random >> 20U & 15U), .key = i};
    row.lane = (random >> 8U) % LANES;
    lumos_vector_push(&trace.host, row);
  }
  lumos_trace_order_host(&trace);
  int64_t expected[MANY];
  for (size_t i = 0; i < MANY; i++) {
    expected[i] = trace.host.items[trace.host_order.rows[i]].key;
  }
  lumos_trace_settle_host(&trace);
  assert_null(trace.host_order.rows);
  for (size_t i = 0; i < MANY; i++) {
    assert_int_equal(trace.host.items[i].key, expected[i]);
  }
  lumos_trace_clear(&trace);
  lumos_strings_free(strings);
}

/* Two threads in turn, one of them under a row that is open to the end. */
static void an_open_row_is_kept(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"outer\",\"pid\":1,\"tid\":10,"
                        "\"ts\":0,\"dur\":900000}");
  for (int i = 0; i < MANY; i++) {
    lumos_text_format(&text,
                      ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":1}",
                      i % 100, 10 + i % 2, 5 * i + 1);
  }
  lumos_text_put(&text, "]}");
  lumos_text_add(&text, "", 1);
  struct lumos_job *job = parse_good(text.bytes, NULL);
  lumos_text_free(&text);
  assert_int_equal(job->lanes.count, 2);
  assert_int_equal(job->tasks.count, 2 * MANY / 2 + MANY / 2 +
                                         1); /* what is left of the outer one lies before each inner one, and last */
  for (size_t i = 0; i < MANY; i++) {        /* of the first thread */
    const struct lumos_task *task = &job->tasks.items[i];
    char name[16] = "outer";
    if (i % 2 == 1) {
      (void)snprintf(name, sizeof name, "op%d", (int)(i - 1) % 100);
      assert_int_equal(task->start, (INT64_C(5) * (int64_t)(i - 1) + 1) * 1000);
    }
    assert_string_equal(lumos_string(job->strings, task->name), name);
  }
  const struct lumos_task *last = &job->tasks.items[MANY];
  assert_string_equal(lumos_string(job->strings, last->name), "outer");
  assert_int_equal(last->start + last->dur, INT64_C(900000000));
  assert_int_equal(job->spans.items[0].dur, INT64_C(900000000));
  lumos_job_free(job);
}

/* Two streams in turn; the walk begins with the one that the file names last. */
static void every_stream_is_read_whole(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"traceEvents\":[");
  for (int i = 0; i < MANY; i++) {
    lumos_text_format(&text,
                      "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"kernel%d\",\"ts\":%d,\"dur\":2,"
                      "\"args\":{\"device\":0,\"stream\":%d}}",
                      i > 0 ? "," : "", i % 100, 5 * i, i % 2 == 0 ? 20 : 7);
  }
  lumos_text_put(&text, "]}");
  lumos_text_add(&text, "", 1);
  struct lumos_job *job = parse_good(text.bytes, NULL);
  lumos_text_free(&text);
  assert_int_equal(job->lanes.count, 2);
  assert_int_equal(job->tasks.count, MANY);
  for (size_t i = 0; i < MANY; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    size_t event = i < MANY / 2 ? 2 * i + 1 : 2 * (i - MANY / 2);
    char name[16];
    (void)snprintf(name, sizeof name, "kernel%d", (int)event % 100);
    assert_string_equal(lumos_string(job->strings, task->name), name);
    assert_int_equal(task->start, INT64_C(5000) * (int64_t)event);
    assert_int_equal(task->dur, 2000);
  }
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_stand_as_they_nest),
      cmocka_unit_test(an_open_row_is_kept),
      cmocka_unit_test(every_stream_is_read_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
