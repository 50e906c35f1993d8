/* What the timeline shows: what lanes are called, which ranks are open, where it begins, and whether it is drawn
 * twice. */
#include "report/content/gantt.h"
#include "unit/report_job.h"

#include "report/content/timeline.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void check_name(const struct report_lane_roles *roles, uint32_t lane, const char *brief, const char *full) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_lane_short(roles, lane, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, brief);
  text.length = 0;
  report_put_lane_full(roles, lane, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, full);
  lumos_text_free(&text);
}

static void communicate(struct lumos_job *job, uint32_t task, const char *group) {
  struct lumos_comm *comm = &lumos_task_detail(job, &job->tasks.items[task])->comm;
  comm->op = lumos_intern_text(job->strings, "all_reduce");
  comm->group = lumos_intern_text(job->strings, group);
}

static void add_group(struct lumos_job *job, const char *id, enum lumos_role role, int32_t rank) {
  struct lumos_group group = lumos_group_empty;
  group.id = lumos_intern_text(job->strings, id);
  group.role = (uint8_t)role;
  group.member_first = (uint32_t)job->group_ranks.count;
  group.member_count = 1;
  lumos_vector_push(&job->group_ranks, rank);
  lumos_vector_push(&job->groups, group);
}

/* The main thread has its process's number, however little it does; streams are called after the work that takes
 * longest, and a number tells those of a rank apart that are called alike. */
static void lanes_have_roles(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 3);
  add_group(job, "tp", LUMOS_DATA, 2); /* of that name, but of another rank */
  add_group(job, "tp", LUMOS_TENSOR, 3);
  uint32_t lane = add_lane(job, rank, "t70", LUMOS_THREAD);
  add_task(job, lane, LUMOS_OP, "aten::mm", 0, 10);
  lane = add_lane(job, rank, "t71", LUMOS_THREAD);
  add_task(job, lane, LUMOS_OP, "aten::mm", 0, 10);
  add_task(job, lane, LUMOS_OP, "autograd::engine::evaluate_function: MmBackward0", 10, 10);
  lane = add_lane(job, rank, "t123456789", LUMOS_THREAD);
  add_task(job, lane, LUMOS_OP, "work", 0, 500);
  job->lanes.items[0].process = job->lanes.items[0].native;
  lane = add_lane(job, rank, "s7", LUMOS_STREAM);
  add_task(job, lane, LUMOS_GEMM, "gemm", 0, 30);
  add_task(job, lane, LUMOS_COPY, "copy", 30, 20);
  add_task(job, lane, LUMOS_COPY, "copy", 50, 5);
  lane = add_lane(job, rank, "s8", LUMOS_STREAM);
  add_task(job, lane, LUMOS_NORM, "norm", 0, 30);
  lane = add_lane(job, rank, "s20", LUMOS_STREAM);
  uint32_t task = add_task(job, lane, LUMOS_COLLECTIVE, "nccl", 0, 50);
  communicate(job, task, "tp");
  add_task(job, lane, LUMOS_COLLECTIVE, "nccl", 60, 20);
  lane = add_lane(job, rank, "s21", LUMOS_STREAM);
  add_task(job, lane, LUMOS_COLLECTIVE, "nccl", 60, 20);
  lane = add_lane(job, rank, "s22", LUMOS_STREAM);
  add_task(job, lane, LUMOS_MEMSET, "memset", 60, 20);
  finish_job(job);
  struct report_lane_roles roles;
  report_lane_roles_read(job, &roles);
  check_name(&roles, 0, "CPU main", "CPU main (thread 70)");
  check_name(&roles, 1, "CPU autograd", "CPU autograd (thread 71)");
  check_name(&roles, 2,
             "CPU \xE2\x80\xA6"
             "456789",
             "CPU (thread \xE2\x80\xA6"
             "456789)");
  check_name(&roles, 3, "compute 7", "compute (stream 7)");
  check_name(&roles, 4, "compute 8", "compute (stream 8)");
  check_name(&roles, 5, "TP communication", "tensor-parallel communication (stream 20)");
  check_name(&roles, 6, "communication", "communication (stream 21)");
  check_name(&roles, 7, "copies", "copies (stream 22)");
  report_lane_roles_free(&roles);
  lumos_job_free(job);
}

enum { RANKS = 8, OUTLYING = 5, ON_PATH = 2 };

/* Ranks alike, each with a thread and two streams; the times of `OUTLYING` are others. */
static struct lumos_job *ranks_job(int64_t communication) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t i = 0; i < RANKS; i++) {
    uint32_t rank = add_rank(job, i);
    uint32_t lane = add_lane(job, rank, "t1", LUMOS_THREAD);
    add_task(job, lane, LUMOS_OP, "op", 0, 1000);
    lane = add_lane(job, rank, "s7", LUMOS_STREAM);
    add_task(job, lane, LUMOS_GEMM, "gemm", 100, 600);
    lane = add_lane(job, rank, "s8", LUMOS_STREAM);
    add_task(job, lane, LUMOS_COLLECTIVE, "nccl", 700, i == OUTLYING ? communication : 300);
  }
  finish_job(job);
  return job;
}

/* The numbers of ranks whose streams are open, as bits. */
static uint32_t open_bits(const struct lumos_job *job) {
  struct report_timelines timelines;
  uint32_t bits = 0;
  report_timelines_read(job, NULL, &timelines);
  for (size_t i = 0; i < timelines.open.count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[timelines.open.items[i].lane];
    bits |= UINT32_C(1) << job->ranks.items[lane->rank].rank;
  }
  assert_int_equal(timelines.open.count + timelines.folded.count, 3 * RANKS);
  report_timelines_free(&timelines);
  return bits;
}

/* Of many ranks those are open that lie apart, those that the critical path is on, and the first of the others. */
static void outlying_ranks_are_open(void **state) {
  (void)state;
  struct lumos_job *job = ranks_job(310); /* a hundredth of 1000 apart: like the others */
  assert_int_equal(open_bits(job), 1);
  lumos_job_free(job);
  job = ranks_job(200);
  assert_int_equal(open_bits(job), 1 << OUTLYING | 1);
  add_metric(job, "critical_path_rank", ON_PATH, 0, LUMOS_METRIC_SIMULATED, 700, 0);
  assert_int_equal(open_bits(job), 1 << OUTLYING | 1 << ON_PATH | 1);
  lumos_job_free(job);
}

/* Where two streams of a rank do the same, numbers part them, and the reader learns of what. */
static void numbers_behind_lanes_are_explained(void **state) {
  (void)state;
  for (int alike = 0; alike < 2; alike++) {
    struct lumos_job *job = lumos_job_new();
    uint32_t rank = add_rank(job, 0);
    add_task(job, add_lane(job, rank, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, 100);
    add_task(job, add_lane(job, rank, "s8", LUMOS_STREAM), alike ? LUMOS_GEMM : LUMOS_COLLECTIVE, "other", 0, 100);
    finish_job(job);
    struct report_timelines timelines;
    report_timelines_read(job, NULL, &timelines);
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    report_put_gantt_reading(&timelines, &text);
    lumos_text_char(&text, '\0');
    assert_int_equal(strstr(text.bytes, "Numbers behind lanes are streams.") != NULL, alike);
    lumos_text_free(&text);
    report_timelines_free(&timelines);
    lumos_job_free(job);
  }
}

/* Three lie further apart, but a tenth of the path is on one that does not. */
static void ranks_on_the_path_are_open_first(void **state) {
  (void)state;
  struct lumos_job *job = ranks_job(900);
  for (uint32_t rank = 3; rank < OUTLYING; rank++) {
    uint32_t stream = job->ranks.items[rank].lane_first + 2;
    job->tasks.items[job->lanes.items[stream].task_first].dur = 700 - 100 * (int64_t)rank / 3;
  }
  add_metric(job, "critical_path_rank", OUTLYING, 0, LUMOS_METRIC_SIMULATED, 900, 0);
  add_metric(job, "critical_path_rank", ON_PATH, 0, LUMOS_METRIC_SIMULATED, 100, 0);
  assert_int_equal(open_bits(job), 1 << OUTLYING | 1 << ON_PATH | 1 << 3 | 1);
  lumos_job_free(job);
}

/* Drawn twice where one in a hundred tasks lies apart by more than can be seen. */
static void agreeing_times_are_drawn_once(void **state) {
  (void)state;
  struct lumos_job *job = ranks_job(300);
  struct report_timelines timelines;
  for (int64_t shift = 0; shift <= 8; shift += 8) { /* columns are 2 wide at most */
    job->tasks.items[4].start += shift;
    report_timelines_read(job, NULL, &timelines);
    assert_int_equal(timelines.twice, shift > 0);
    report_timelines_free(&timelines);
  }
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lanes_have_roles),
      cmocka_unit_test(outlying_ranks_are_open),
      cmocka_unit_test(ranks_on_the_path_are_open_first),
      cmocka_unit_test(numbers_behind_lanes_are_explained),
      cmocka_unit_test(agreeing_times_are_drawn_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
