/* Which tasks of a chain stand in one box, on a chain worked out on paper:
 *
 *   thread t1   outer [ inner [ a 0-40  b 40-50 ]  c 50-55 ]   other [ d 55-60 ]
 *   stream s7   k, launched in `other`: lag 60-62, runs 62-100
 *
 * so outer is 55 long, inner 50, other 5 on the thread, and k's run with its lag 40.
 */
#include "unit.h"

#include "base/text.h"
#include "report/content/collapse.h"
#include "report_job.h"

enum { A, B, C, D, K };

static uint32_t add_op(struct lumos_job *job, const char *name, uint32_t parent) {
  struct lumos_span span = {.id = (uint32_t)job->spans.count,
                            .lane = LUMOS_NONE,
                            .forward = LUMOS_NONE,
                            .parent = parent,
                            .kind = LUMOS_SPAN_OP,
                            .name = lumos_intern_text(job->strings, name)};
  lumos_vector_push(&job->spans, span);
  return span.id;
}

static struct lumos_job *make_job(void) {
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 0);
  uint32_t thread = add_lane(job, rank, "t1", LUMOS_THREAD);
  uint32_t stream = add_lane(job, rank, "s7", LUMOS_STREAM);
  uint32_t outer = add_op(job, "outer", LUMOS_NONE);
  uint32_t inner = add_op(job, "inner", outer);
  uint32_t other = add_op(job, "other", LUMOS_NONE);
  add_task(job, thread, LUMOS_OP, "a", 0, 40);
  add_task(job, thread, LUMOS_OP, "b", 40, 10);
  add_task(job, thread, LUMOS_OP, "c", 50, 5);
  add_task(job, thread, LUMOS_LAUNCH, "d", 55, 5);
  add_task(job, stream, LUMOS_GEMM, "k", 62, 38);
  const uint32_t spans[] = {inner, inner, outer, other};
  for (uint32_t t = A; t <= D; t++) {
    job->tasks.items[t].span = spans[t];
  }
  job->tasks.items[K].call = D;
  finish_job(job);
  return job;
}

static void add_part(struct lumos_path_parts *parts, int64_t to, uint32_t task, enum lumos_path_what what) {
  int64_t from = parts->count == 0 ? 0 : parts->items[parts->count - 1].to;
  struct lumos_path_part part = {from, to, task, (uint8_t)what, LUMOS_HELD_BY_THREAD, LUMOS_RECORDED};
  lumos_vector_push(parts, part);
}

static struct lumos_path_parts make_parts(void) {
  struct lumos_path_parts parts = {0};
  add_part(&parts, 40, A, LUMOS_PATH_RUN);
  add_part(&parts, 50, B, LUMOS_PATH_RUN);
  add_part(&parts, 55, C, LUMOS_PATH_RUN);
  add_part(&parts, 60, D, LUMOS_PATH_RUN);
  add_part(&parts, 62, K, LUMOS_PATH_LAG);
  add_part(&parts, 100, K, LUMOS_PATH_RUN);
  return parts;
}

/* "a|b|c d|k k": the names of the parts, piece by piece; a piece that is gathered in brackets. */
static void check(struct lumos_job *job, const struct lumos_path_parts *parts, size_t limit, int64_t least,
                  bool by_lane, const char *expected) {
  struct report_collapse collapse;
  report_collapse_make(job, parts, limit, &collapse);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  size_t next = 0;
  for (size_t i = 0; i < collapse.pieces.count; i++) {
    const struct report_piece *piece = &collapse.pieces.items[i];
    assert_int_equal(piece->first, next);
    assert_true(piece->count > 0);
    next += piece->count;
    lumos_text_put(&text, i == 0 ? "" : "|");
    lumos_text_put(&text, piece->alone ? "" : "[");
    for (size_t k = piece->first; k < next; k++) {
      lumos_text_put(&text, k == piece->first ? "" : " ");
      lumos_text_put(&text, lumos_string(job->strings, collapse.names[k]));
    }
    lumos_text_put(&text, piece->alone ? "" : "]");
  }
  assert_int_equal(next, parts->count);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, expected);
  lumos_text_free(&text);
  assert_int_equal(collapse.least, least);
  assert_int_equal(collapse.by_lane, by_lane);
  assert_true(collapse.pieces.count <= limit);
  report_collapse_free(&collapse);
}

static void short_work_is_gathered_until_the_boxes_fit(void **state) {
  (void)state;
  struct lumos_job *job = make_job();
  struct lumos_path_parts parts = make_parts();
  check(job, &parts, 500, 0, true, "a|b|c|d|other other");
  check(job, &parts, 5, 0, true, "a|b|c|d|other other");
  /* c and d take 5 each: with 6 or more to stand alone they are one. */
  check(job, &parts, 4, 6, true, "a|b|[c other]|other other");
  /* b takes 10. */
  check(job, &parts, 3, 11, true, "a|[b c other]|other other");
  /* Up to 40 a stands, up to 50 inner, up to 55 outer, each with two boxes behind it. */
  check(job, &parts, 2, 56, true, "[outer outer outer other]|[other other]");
  check(job, &parts, 1, 56, false, "[outer outer outer other other other]");
  lumos_vector_free(&parts);
  lumos_job_free(job);
}

static void an_op_stands_where_nothing_in_it_is_long_enough(void **state) {
  (void)state;
  struct lumos_job *job = make_job();
  struct lumos_path_parts parts = {0};
  /* a, b and a again take 3, 3 and 2; inner 8; c 1; d 9. */
  add_part(&parts, 3, A, LUMOS_PATH_RUN);
  add_part(&parts, 6, B, LUMOS_PATH_RUN);
  add_part(&parts, 8, A, LUMOS_PATH_LAG);
  add_part(&parts, 9, C, LUMOS_PATH_RUN);
  add_part(&parts, 18, D, LUMOS_PATH_RUN);
  check(job, &parts, 4, 3, true, "a|b|[a c]|d");
  check(job, &parts, 3, 4, true, "inner inner inner|[c]|d");
  check(job, &parts, 2, 9, true, "outer outer outer outer|d");
  lumos_vector_free(&parts);
  lumos_job_free(job);
}

static void what_is_outside_stands_alone_while_there_is_room(void **state) {
  (void)state;
  struct lumos_job *job = make_job();
  struct lumos_path_parts parts = {0};
  add_part(&parts, 1, A, LUMOS_PATH_OUTSIDE);
  add_part(&parts, 41, A, LUMOS_PATH_RUN);
  check(job, &parts, 2, 0, true, "a|a");
  check(job, &parts, 1, 0, false, "a a");
  parts.count = 0;
  struct report_collapse none;
  report_collapse_make(job, &parts, 3, &none);
  assert_int_equal(none.pieces.count, 0);
  report_collapse_free(&none);
  lumos_vector_free(&parts);
  lumos_job_free(job);
}

/* Two lanes in turn, more often than there is room for: the longest still stands. */
static void a_chain_that_hops_is_gathered_across_lanes(void **state) {
  (void)state;
  struct lumos_job *job = make_job();
  struct lumos_path_parts parts = {0};
  int64_t time = 0;
  for (int i = 0; i < 20; i++) {
    time += 2;
    add_part(&parts, time, C, LUMOS_PATH_RUN);
    time += i == 9 ? 30 : 2;
    add_part(&parts, time, K, LUMOS_PATH_RUN);
  }
  struct report_collapse collapse;
  report_collapse_make(job, &parts, 3, &collapse);
  assert_int_equal(collapse.pieces.count, 3);
  assert_false(collapse.by_lane);
  assert_int_equal(collapse.least, 3);
  assert_int_equal(collapse.pieces.items[0].count, 19);
  assert_int_equal(collapse.pieces.items[0].lane, LUMOS_NONE);
  assert_int_equal(collapse.pieces.items[1].count, 1);
  assert_true(collapse.pieces.items[1].alone);
  assert_int_equal(collapse.pieces.items[1].lane, job->tasks.items[K].lane);
  report_collapse_free(&collapse);
  lumos_vector_free(&parts);
  lumos_job_free(job);
}

/* Twenty alike, ten boxes: nine stand, the other eleven are gathered. */
static void of_tasks_that_are_alike_the_first_stand(void **state) {
  (void)state;
  struct lumos_job *job = make_job();
  struct lumos_path_parts parts = {0};
  for (int i = 0; i < 20; i++) {
    add_part(&parts, 22 * (i + 1), i % 2 == 0 ? C : D, LUMOS_PATH_RUN);
  }
  struct report_collapse collapse;
  report_collapse_make(job, &parts, 10, &collapse);
  assert_int_equal(collapse.pieces.count, 10);
  assert_int_equal(collapse.least, 23);
  assert_int_equal(collapse.first, 9);
  for (size_t i = 0; i < 9; i++) {
    assert_true(collapse.pieces.items[i].alone);
    assert_int_equal(collapse.pieces.items[i].count, 1);
  }
  assert_false(collapse.pieces.items[9].alone);
  assert_int_equal(collapse.pieces.items[9].count, 11);
  report_collapse_free(&collapse);
  lumos_vector_free(&parts);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(short_work_is_gathered_until_the_boxes_fit),
      cmocka_unit_test(an_op_stands_where_nothing_in_it_is_long_enough),
      cmocka_unit_test(what_is_outside_stands_alone_while_there_is_room),
      cmocka_unit_test(a_chain_that_hops_is_gathered_across_lanes),
      cmocka_unit_test(of_tasks_that_are_alike_the_first_stand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
