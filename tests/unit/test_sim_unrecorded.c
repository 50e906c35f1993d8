/* What is not recorded is not idle: rests of a GPU by hand, of one step, in microseconds. */
#include "report_job.h"
#include "sim/scaling.h"
#include "sim/unrecorded.h"
#include "stream_unit.h"
#include <lumos/sim.h>
#include <string.h>

enum { US = 1000, NO_CALL = -1 };

static struct lumos_job *begun(void) {
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 0);
  job->ranks.items[rank].base = 0;
  return job;
}

static uint32_t run(struct lumos_job *job, uint32_t lane, enum lumos_task_kind kind, int64_t start, int64_t end,
                    int64_t call) {
  uint32_t task = add_task(job, lane, kind, "task", start * US, (end - start) * US);
  job->tasks.items[task].call = call == NO_CALL ? LUMOS_NONE : (uint32_t)call;
  return task;
}

static void hold(struct lumos_job *job, uint32_t task) {
  struct lumos_dep boundary = lumos_dep_empty;
  boundary.at = job->tasks.items[task].start;
  boundary.dst = task;
  boundary.kind = LUMOS_BOUNDARY;
  boundary.from = boundary.to = LUMOS_START;
  lumos_vector_push(&job->deps, boundary);
}

static void hand_over(struct lumos_job *job, uint32_t from, uint32_t to) {
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = from;
  dep.dst = to;
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  lumos_vector_push(&job->deps, dep);
}

/* Of the step from 0 to `end`. */
static void expect_parts(struct lumos_job *job, int64_t end, int64_t not_recorded, int64_t idle) {
  finish_job(job);
  struct lumos_steps_list steps = {0};
  struct lumos_step step = {.rank = 0, .step = 0, .start = 0, .end = end * US};
  struct lumos_partition parts;
  lumos_vector_push(&steps, step);
  lumos_partition_steps(job, NULL, &steps, &parts);
  if (parts.not_recorded != not_recorded * US || parts.idle != idle * US) {
    fail_msg("%lld not recorded, not %lld; %lld idle, not %lld", (long long)(parts.not_recorded / US),
             (long long)not_recorded, (long long)(parts.idle / US), (long long)idle);
  }
  assert_int_equal(parts.gpu_busy, (end - not_recorded - idle) * US);
  lumos_vector_free(&steps);
  lumos_job_free(job);
}

/* The first kernel runs 20-100. The second starts at 5000, held by a boundary, and was launched at 300: before that the
 * thread works. Without a boundary it is idle for all of it. */
static void what_a_boundary_holds_is_not_recorded_from_its_launch_on(void **state) {
  (void)state;
  for (int held = 0; held < 2; held++) {
    struct lumos_job *job = begun();
    uint32_t thread = add_lane(job, 0, "t1", LUMOS_THREAD), stream = add_lane(job, 0, "s1", LUMOS_STREAM);
    uint32_t first = run(job, thread, LUMOS_LAUNCH, 0, 10, NO_CALL);
    uint32_t second = run(job, thread, LUMOS_LAUNCH, 290, 300, NO_CALL);
    run(job, stream, LUMOS_GEMM, 20, 100, first);
    uint32_t late = run(job, stream, LUMOS_GEMM, 5000, 5010, second);
    hold(job, first);
    if (held) {
      hold(job, late);
    }
    expect_parts(job, 5010, held ? 4700 : 0, held ? 20 + 200 : 20 + 4900);
  }
}

/* Work of which the launch is not recorded, from the step's begin on. */
static void work_from_before_the_recording_is_not_idle(void **state) {
  (void)state;
  struct lumos_job *job = begun();
  uint32_t stream = add_lane(job, 0, "s1", LUMOS_STREAM);
  hold(job, run(job, stream, LUMOS_GEMM, 40, 100, NO_CALL));
  run(job, stream, LUMOS_GEMM, 130, 200, NO_CALL);
  expect_parts(job, 200, 40, 30);
}

/* The thread waits for the kernel that ends at 100, and returns `late` after that; 10 behind the return it has launched
 * the next, which starts 5 later. */
static struct lumos_job *waiting(int64_t late, bool known) {
  struct lumos_job *job = begun();
  uint32_t thread = add_lane(job, 0, "t1", LUMOS_THREAD), stream = add_lane(job, 0, "s1", LUMOS_STREAM);
  uint32_t first = run(job, thread, LUMOS_LAUNCH, 0, 10, NO_CALL);
  uint32_t wait = run(job, thread, LUMOS_SYNC, known ? 50 : 100, 100 + late, NO_CALL);
  struct lumos_detail *detail = lumos_task_detail(job, &job->tasks.items[wait]);
  detail->wait.on = LUMOS_WAIT_DEVICE;
  detail->wait.residual = known ? late * US : LUMOS_ABSENT;
  uint32_t second = run(job, thread, LUMOS_LAUNCH, 100 + late, 110 + late, NO_CALL);
  run(job, stream, LUMOS_GEMM, 20, 100, first);
  run(job, stream, LUMOS_GEMM, 115 + late, 120 + late, second);
  hold(job, first);
  return job;
}

static void a_wait_for_more_than_is_recorded_is_not_idle(void **state) {
  (void)state;
  for (int known = 0; known < 2; known++) {
    expect_parts(waiting(1001, known), 1121, 1001, 20 + 15);
    expect_parts(waiting(1000, known), 1120, 0, 20 + 1015); /* as long as a host may take */
  }
}

/* The time of such a wait stays when the host becomes faster. */
static void a_faster_host_does_not_gain_it(void **state) {
  (void)state;
  for (int64_t late = 1000; late <= 1001; late++) {
    struct lumos_job *job = waiting(late, true);
    finish_job(job);
    uint8_t chosen[8];
    memset(chosen, 1, sizeof chosen);
    struct lumos_scaling scaling = {.job = job, .chosen = chosen, .millionths = 500000, .lags = true};
    lumos_scaling_open(&scaling);
    assert_int_equal(lumos_scaled_residual(&scaling, 1, late * US), late == 1000 ? 500 * US : 1001 * US);
    lumos_scaling_close(&scaling);
    lumos_job_free(job);
  }
}

/* A second thread, whose first row is its launch at 3000, after another thread has handed over to it at 2990, or
 * not. */
static void before_the_first_row_of_a_thread_nothing_is_recorded(void **state) {
  (void)state;
  for (int handed = 0; handed < 2; handed++) {
    struct lumos_job *job = begun();
    uint32_t thread = add_lane(job, 0, "t1", LUMOS_THREAD), other = add_lane(job, 0, "t2", LUMOS_THREAD);
    uint32_t stream = add_lane(job, 0, "s1", LUMOS_STREAM);
    uint32_t first = run(job, thread, LUMOS_LAUNCH, 0, 10, NO_CALL);
    uint32_t op = run(job, thread, LUMOS_OP, 10, 2990, NO_CALL);
    uint32_t second = run(job, other, LUMOS_LAUNCH, 3000, 3010, NO_CALL);
    run(job, stream, LUMOS_GEMM, 20, 100, first);
    run(job, stream, LUMOS_GEMM, 3015, 3020, second);
    hold(job, first);
    if (handed) {
      hand_over(job, op, second);
    } else {
      hold(job, second);
    }
    expect_parts(job, 3020, handed ? 0 : 2900, handed ? 20 + 2915 : 20 + 15);
  }
}

/* Of `launches` launches one has no kernel, which was launched at 310 before the last, at 910, whose kernel starts at
 * 1000; those before ran until 100. */
static void missing_kernels_are_not_idle_where_many_are_missing(void **state) {
  (void)state;
  for (int launches = 19; launches <= 20; launches++) {
    struct lumos_job *job = begun();
    uint32_t calls[32];
    uint32_t thread = add_lane(job, 0, "t1", LUMOS_THREAD), stream = add_lane(job, 0, "s1", LUMOS_STREAM);
    for (int i = 0; i < launches - 2; i++) {
      calls[i] = run(job, thread, LUMOS_LAUNCH, i, i + 1, NO_CALL);
    }
    (void)run(job, thread, LUMOS_LAUNCH, 300, 310, NO_CALL);
    uint32_t last = run(job, thread, LUMOS_LAUNCH, 900, 910, NO_CALL);
    for (int i = 0; i < launches - 2; i++) {
      run(job, stream, LUMOS_GEMM, i == 0 ? 20 : 60 + i, i == launches - 3 ? 100 : 61 + i, calls[i]);
    }
    run(job, stream, LUMOS_GEMM, 1000, 1010, last);
    hold(job, calls[0]);
    expect_parts(job, 1010, launches == 19 ? 690 : 0, launches == 19 ? 20 + 210 : 20 + 900);
  }
}

/* The step of the job ends at 300; the rank's kernel ends at 100, and its thread is there until 250, or never after
 * 10. */
static void after_the_last_row_of_a_rank_nothing_is_recorded(void **state) {
  (void)state;
  for (int goes_on = 0; goes_on < 2; goes_on++) {
    struct lumos_job *job = begun();
    uint32_t thread = add_lane(job, 0, "t1", LUMOS_THREAD), stream = add_lane(job, 0, "s1", LUMOS_STREAM);
    uint32_t first = run(job, thread, LUMOS_LAUNCH, 0, 10, NO_CALL);
    if (goes_on) {
      run(job, thread, LUMOS_OP, 200, 250, NO_CALL);
    }
    run(job, stream, LUMOS_GEMM, 20, 100, first);
    expect_parts(job, 300, goes_on ? 50 : 200, goes_on ? 20 + 150 : 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_a_boundary_holds_is_not_recorded_from_its_launch_on),
      cmocka_unit_test(work_from_before_the_recording_is_not_idle),
      cmocka_unit_test(a_wait_for_more_than_is_recorded_is_not_idle),
      cmocka_unit_test(a_faster_host_does_not_gain_it),
      cmocka_unit_test(before_the_first_row_of_a_thread_nothing_is_recorded),
      cmocka_unit_test(after_the_last_row_of_a_rank_nothing_is_recorded),
      cmocka_unit_test(missing_kernels_are_not_idle_where_many_are_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
