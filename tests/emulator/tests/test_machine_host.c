/* The machine's threads and streams: calls that take time and calls that wait, events, the two threads of a rank, the
 * profiler. */
#include "machine_bench.h"

/* ---- streams ---- */

static void write_order(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  launch(program, STREAM_COMPUTE, "b", 200 * US);
  launch(program, STREAM_DATA, "c", 50 * US);
}

/* Tasks of a stream run one after the other, those of another beside them. */
static void test_order(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_order);
  run(bench);
  expect_task(bench, 0, "a", 0, 100 * US);
  expect_task(bench, 0, "b", 100 * US, 300 * US);
  expect_task(bench, 0, "c", 0, 50 * US);
  free(bench);
}

/* The call takes its median, 5 us, and the device 1.3 us more to begin; behind a running kernel it takes the gap
 * alone. */
static void test_launch_delay(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_order);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_LATENCY);
  run(bench);
  int64_t length = median(&irregularities.call[CALL_LAUNCH]), delay = median(&irregularities.launch_delay);
  int64_t gap = median(&irregularities.task_gap);
  expect_call(bench, 0, CALL_LAUNCH, 0, 0, length);
  expect_call(bench, 0, CALL_LAUNCH, 2, 2 * length, 3 * length);
  expect_task(bench, 0, "a", length + delay, length + delay + 100 * US);
  expect_task(bench, 0, "b", length + delay + 100 * US + gap, length + delay + 300 * US + gap);
  expect_task(bench, 0, "c", 3 * length + delay, 3 * length + delay + 50 * US);
  free(bench);
}

/* Two places: while b and c are in the queue, the call for d lasts until b starts, at 105 us, and as long as a call
 * lasts. */
static void test_queue(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_many);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_LAUNCH_QUEUE);
  bench->setup.queue_depth = 2;
  run(bench);
  expect_task(bench, 0, "a", 5 * US, 105 * US);
  expect_call(bench, 0, CALL_LAUNCH, 2, 10 * US, 15 * US);
  expect_call(bench, 0, CALL_LAUNCH, 3, 15 * US, 110 * US);
  expect_call(bench, 0, CALL_LAUNCH, 4, 110 * US, 210 * US);
  expect_task(bench, 0, "e", 405 * US, 505 * US);
  bench->setup.mechanisms[MECHANISM_LAUNCH_QUEUE] = false;
  run(bench);
  expect_call(bench, 0, CALL_LAUNCH, 4, 20 * US, 25 * US);
  free(bench);
}

/* ---- events ---- */

static void write_wait(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  program_record(program, CALL_EVENT_RECORD, 3, STREAM_COMPUTE);
  program_wait(program, STREAM_DATA, 3);
  program_wait(program, STREAM_DATA, 9); /* never recorded */
  launch(program, STREAM_DATA, "b", 50 * US);
  launch(program, STREAM_DATA, "c", 50 * US);
}

/* b starts when a has ended, and is told so; c stands behind b alone. */
static void test_wait(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_wait);
  run(bench);
  expect_task(bench, 0, "b", 100 * US, 150 * US);
  assert_int_equal(edge(bench, 0, "a", "b"), 1);
  assert_int_equal(edge(bench, 0, "a", "c"), -1);
  assert_int_equal(call(bench, 0, CALL_STREAM_WAIT, 0)->awaited, call(bench, 0, CALL_EVENT_RECORD, 0)->correlation);
  assert_int_equal(call(bench, 0, CALL_STREAM_WAIT, 0)->awaited_stream, STREAM_COMPUTE);
  assert_int_equal(call(bench, 0, CALL_STREAM_WAIT, 1)->awaited, 0);
  /* With latency: a from 1.3 us on; the wait is over 2.5 us behind a. */
  on(bench, MECHANISM_LATENCY);
  run(bench);
  int64_t launched = median(&irregularities.launch_delay), passed = median(&irregularities.event_delay);
  expect_task(bench, 0, "b", launched + 100 * US + passed, launched + 150 * US + passed);
  bench->record_rank[0] = false;
  run(bench);
  assert_int_equal(bench->edge_count, 0);
  assert_int_equal(bench->host_count, 0);
  assert_int_equal(bench->task_count, 3);
  free(bench);
}

static void write_slack(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  launch(program, STREAM_DATA, "before", 300 * US);
  program_record(program, CALL_EVENT_RECORD, 0, STREAM_COMPUTE);
  program_wait(program, STREAM_DATA, 0);
  launch(program, STREAM_DATA, "b", 50 * US);
}

/* The stream's own task is later than the awaited one: an edge, but it does not bind. */
static void test_wait_slack(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_slack);
  run(bench);
  expect_task(bench, 0, "b", 300 * US, 350 * US);
  assert_int_equal(edge(bench, 0, "a", "b"), 0);
  free(bench);
}

static void write_tie(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch(program, STREAM_DATA, "a", 100 * US);
  program_record(program, CALL_EVENT_RECORD, 0, STREAM_DATA);
  launch(program, STREAM_COMPUTE, "before", 100 * US);
  program_wait(program, STREAM_COMPUTE, 0);
  launch(program, STREAM_COMPUTE, "b", 50 * US);
}

/* Both end at once: without the wait b would have started no earlier. */
static void test_wait_tie(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_tie);
  run(bench);
  expect_task(bench, 0, "b", 100 * US, 150 * US);
  assert_int_equal(edge(bench, 0, "a", "b"), 0);
  free(bench);
}

static void write_late_launch(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  program_record(program, CALL_EVENT_RECORD, 0, STREAM_COMPUTE);
  program_wait(program, STREAM_DATA, 0);
  program_spend(program, 500 * US);
  launch(program, STREAM_DATA, "b", 50 * US);
}

/* The wait held the stream, but the launch came later still: 5.00 + 0.53 + 0.80 + 500 + 5 us. */
static void test_wait_late_launch(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_late_launch);
  on(bench, MECHANISM_HOST);
  run(bench);
  int64_t start = 2 * median(&irregularities.call[CALL_LAUNCH]) + median(&irregularities.call[CALL_EVENT_RECORD]) +
                  median(&irregularities.call[CALL_STREAM_WAIT]) + 500 * US;
  expect_task(bench, 0, "b", start, start + 50 * US);
  assert_int_equal(edge(bench, 0, "a", "b"), 0);
  free(bench);
}

static void write_recorded_again(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  program_record(program, CALL_EVENT_RECORD, 0, STREAM_COMPUTE);
  launch(program, STREAM_COMPUTE, "a2", 100 * US);
  program_wait(program, STREAM_DATA, 0);
  program_record(program, CALL_EVENT_RECORD, 0, STREAM_COMPUTE);
  program_wait(program, STREAM_COPY, 0);
  launch(program, STREAM_DATA, "b", 10 * US);
  launch(program, STREAM_COPY, "c", 10 * US);
}

/* A wait is for the record that was the latest when it was called. */
static void test_recorded_again(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_recorded_again);
  run(bench);
  expect_task(bench, 0, "b", 100 * US, 110 * US);
  expect_task(bench, 0, "c", 200 * US, 210 * US);
  assert_int_equal(edge(bench, 0, "a", "b"), 1);
  assert_int_equal(edge(bench, 0, "a2", "b"), -1);
  assert_int_equal(edge(bench, 0, "a2", "c"), 1);
  free(bench);
}

static void write_chain(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  program_record(program, CALL_EVENT_RECORD, 0, STREAM_COMPUTE);
  launch(program, STREAM_TENSOR, "p", 20 * US);
  program_wait(program, STREAM_TENSOR, 0);
  program_record(program, CALL_EVENT_RECORD, 1, STREAM_TENSOR);
  program_wait(program, STREAM_DATA, 1);
  launch(program, STREAM_DATA, "b", 10 * US);
}

/* The second record stands behind p and behind what its stream has waited for: b has edges from both, and a decided. */
static void test_wait_chain(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_chain);
  run(bench);
  expect_task(bench, 0, "b", 100 * US, 110 * US);
  assert_int_equal(edge(bench, 0, "a", "b"), 1);
  assert_int_equal(edge(bench, 0, "p", "b"), 0);
  free(bench);
}

/* ---- threads ---- */

static void write_sync(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  program_record(program, CALL_EVENT_RECORD, 0, STREAM_COMPUTE);
  launch(program, STREAM_COMPUTE, "b", 100 * US);
  launch(program, STREAM_DATA, "c", 400 * US);
  program_sync(program, DO_SYNC_EVENT, 0, STREAM_COMPUTE);
  program_sync(program, DO_SYNC_STREAM, 0, STREAM_COMPUTE);
  program_sync(program, DO_SYNC_DEVICE, 0, STREAM_COMPUTE);
  program_sync(program, DO_SYNC_STREAM, 0, STREAM_COMPUTE);
}

/* Each returns a moment after what it waits for: a, b, c; the last waits for nothing, and lasts as long as the call. */
static void test_sync(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_sync);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_LATENCY);
  run(bench);
  int64_t launched = median(&irregularities.call[CALL_LAUNCH]), back = median(&irregularities.sync_return);
  int64_t begun = 3 * launched + median(&irregularities.call[CALL_EVENT_RECORD]);
  int64_t a = task(bench, 0, "a")->record.end, b = task(bench, 0, "b")->record.end;
  int64_t c = task(bench, 0, "c")->record.end;
  assert_int_equal(a, launched + median(&irregularities.launch_delay) + 100 * US);
  assert_int_equal(b, a + median(&irregularities.task_gap) + 100 * US);
  expect_call(bench, 0, CALL_EVENT_SYNC, 0, begun, a + back);
  expect_call(bench, 0, CALL_STREAM_SYNC, 0, a + back, b + back);
  expect_call(bench, 0, CALL_DEVICE_SYNC, 0, b + back, c + back);
  expect_call(bench, 0, CALL_STREAM_SYNC, 1, c + back, c + back + median(&irregularities.call[CALL_STREAM_SYNC]));
  assert_int_equal(call(bench, 0, CALL_EVENT_SYNC, 0)->awaited, call(bench, 0, CALL_EVENT_RECORD, 0)->correlation);
  free(bench);
}

static void write_post(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  program_mark(program, DO_STEP, 4);
  program_spend(program, 10 * US);
  program_post(program, (struct job){.kind = 1, .step = 4});
  program_post(program, (struct job){.kind = 2, .step = 4});
  program_spend(program, 20 * US);
  program_await(program);
  launch(program, STREAM_COMPUTE, "z", US);
  program_await(program);
  launch(program, STREAM_COMPUTE, "zz", US);
}

static void serve_post(struct program *program, int rank, struct job job) {
  (void)rank;
  launch(program, STREAM_COMPUTE, job.kind == 1 ? "y" : "yy", US);
  program_spend(program, 100 * US);
}

/* The autograd thread begins 177 us after the post; the second job follows at once: 100 us of work and a call of 5 us
 * each. The main thread goes on 45 us after their end, and the second time it awaits nothing. */
static void test_post(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_post);
  bench->serve = serve_post;
  on(bench, MECHANISM_HOST);
  run(bench);
  int64_t launched = median(&irregularities.call[CALL_LAUNCH]);
  int64_t begun = 10 * US + median(&irregularities.hand_over), done = begun + 2 * (launched + 100 * US);
  expect_call(bench, 0, CALL_LAUNCH, 0, begun, begun + launched);
  expect_call(bench, 0, CALL_LAUNCH, 1, begun + launched + 100 * US, begun + 2 * launched + 100 * US);
  int64_t on_again = done + median(&irregularities.hand_back);
  expect_call(bench, 0, CALL_LAUNCH, 2, on_again, on_again + launched);
  expect_call(bench, 0, CALL_LAUNCH, 3, on_again + launched, on_again + 2 * launched);
  assert_int_equal(call(bench, 0, CALL_LAUNCH, 0)->thread, THREAD_AUTOGRAD);
  assert_int_equal(call(bench, 0, CALL_LAUNCH, 2)->thread, THREAD_MAIN);
  assert_int_equal(task(bench, 0, "yy")->record.step, 4);
  assert_int_equal(task(bench, 0, "y")->record.correlation, 1);
  assert_int_equal(task(bench, 0, "zz")->record.correlation, 4);
  free(bench);
}

static void write_post_await(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  program_post(program, (struct job){.kind = 1});
  program_await(program);
  launch(program, STREAM_COMPUTE, "z", US);
}

/* Where host work takes no time either, the job comes first. */
static void test_post_await(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_post_await);
  bench->serve = serve_post;
  run(bench);
  expect_task(bench, 0, "y", 0, US);
  expect_task(bench, 0, "z", US, 2 * US);
  free(bench);
}

static void write_both(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  program_post(program, (struct job){.kind = 1});
  program_spend(program, 250 * US);
  launch(program, STREAM_DATA, "m", US);
  program_spend(program, 250 * US);
  launch(program, STREAM_DATA, "mm", US);
}

static void serve_both(struct program *program, int rank, struct job job) {
  (void)rank;
  (void)job;
  launch(program, STREAM_DATA, "y", 150 * US);
  program_sync(program, DO_SYNC_STREAM, 0, STREAM_DATA);
  launch(program, STREAM_DATA, "yy", US);
}

/* Both threads at work: y from 177 us on, m at 250, the wait for y is over at 332, mm after 505. Whatever a thread does
 * ahead of the device, what both do comes about in the order of time. */
static void test_both_threads(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_both);
  bench->serve = serve_both;
  on(bench, MECHANISM_HOST);
  run(bench);
  int64_t launched = median(&irregularities.call[CALL_LAUNCH]);
  int64_t y = median(&irregularities.hand_over) + launched, end = y + 150 * US;
  expect_task(bench, 0, "y", y, end);
  expect_task(bench, 0, "m", end, end + US);
  expect_task(bench, 0, "yy", end + launched, end + launched + US);
  assert_int_equal(task(bench, 0, "y")->record.correlation, 1);
  assert_int_equal(call(bench, 0, CALL_STREAM_SYNC, 0)->correlation, 2);
  assert_int_equal(task(bench, 0, "m")->record.correlation, 3);
  assert_int_equal(task(bench, 0, "yy")->record.correlation, 4);
  assert_int_equal(task(bench, 0, "mm")->record.correlation, 5);
  free(bench);
}

static void write_frames(struct program *program, int rank, int block) {
  (void)rank;
  if (block == 0) {
    const struct message *message = program_message(program, (struct message){.bytes = 77});
    program_enter(program, FRAME_ANNOTATION, "outer", (struct op_facts){.sequence = -1});
    program_enter(program, FRAME_OP, "op", (struct op_facts){.sequence = 5, .message = message});
    launch(program, STREAM_COMPUTE, "a", US);
    program_enter(program, FRAME_PYTHON, "inner", (struct op_facts){.sequence = -1});
  } else if (block == 1) {
    program_message(program, (struct message){.bytes = 88}); /* in the first one's place */
    program_call(program, CALL_IS_CAPTURING);
    program_leave(program);
    program_spend(program, 10 * US);
    program_leave(program);
    program_leave(program);
    launch(program, STREAM_COMPUTE, "b", US);
  }
}

/* Frames are numbered by their starts and know what is around them, over blocks too; calls and tasks know the innermost
 * op. */
static void test_frames(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_frames);
  on(bench, MECHANISM_HOST);
  run(bench);
  int64_t launched = median(&irregularities.call[CALL_LAUNCH]), other = median(&irregularities.call[CALL_IS_CAPTURING]);
  const struct host_record *outer = frame(bench, 0, "outer"), *op = frame(bench, 0, "op"),
                           *inner = frame(bench, 0, "inner");
  assert_int_equal(outer->number, 1);
  assert_int_equal(outer->parent, 0);
  assert_int_equal(op->number, 2);
  assert_int_equal(op->parent, 1);
  assert_int_equal(inner->number, 3);
  assert_int_equal(inner->parent, 2);
  assert_int_equal(inner->start, launched);
  assert_int_equal(inner->end, launched + other);
  assert_int_equal(op->end, launched + other + 10 * US);
  assert_int_equal(outer->end, op->end);
  assert_int_equal(bench->message.bytes, 77);
  assert_null(outer->facts);
  const struct host_record *question = call(bench, 0, CALL_IS_CAPTURING, 0);
  assert_int_equal(question->number, 2);
  assert_int_equal(question->parent, 3);
  assert_int_equal(question->correlation, 2);
  assert_int_equal(task(bench, 0, "a")->record.op, 2);
  assert_int_equal(task(bench, 0, "b")->record.op, 0);
  free(bench);
}

/* ---- the profiler ---- */

static void write_profiled(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  program_spend(program, 10 * US);
  program_mark(program, DO_PROFILE, 1);
  program_enter(program, FRAME_OP, "op", (struct op_facts){.sequence = -1});
  launch(program, STREAM_COMPUTE, "a", US);
  program_leave(program);
  program_mark(program, DO_PROFILE, 0);
  launch(program, STREAM_COMPUTE, "b", US);
}

/* Recording costs time before and behind an op and behind a call, of every rank while it records, whosesoever trace is
 * written. */
static void test_profiler(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_profiled);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_PROFILER);
  bench->record_rank[1] = false;
  int64_t launched = median(&irregularities.call[CALL_LAUNCH]);
  int64_t start = 10 * US + irregularities.profiled_frame_begin;
  int64_t stop = start + launched + irregularities.profiled_call + irregularities.profiled_frame_end;
  assert_true(run_as(bench, true));
  expect_call(bench, 0, CALL_LAUNCH, 0, start, start + launched);
  assert_int_equal(frame(bench, 0, "op")->start, start);
  assert_int_equal(frame(bench, 0, "op")->end, start + launched + irregularities.profiled_call);
  expect_call(bench, 0, CALL_LAUNCH, 1, stop, stop + launched);
  assert_int_equal(task(bench, 1, "b")->record.call_end, stop + launched);
  assert_int_equal(bench->profile_start, 10 * US);
  assert_int_equal(bench->profile_stop, stop);
  bench->profile_start = -1;
  run(bench);
  expect_call(bench, 0, CALL_LAUNCH, 1, 10 * US + launched, 10 * US + 2 * launched);
  assert_int_equal(bench->profile_start, -1);
  free(bench);
}

static void write_stacks(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  const struct op_facts none = {.sequence = -1};
  program_enter(program, FRAME_PYTHON, "program", none);
  program_enter(program, FRAME_PYTHON, "loop", none);
  program_spend(program, 10 * US);
  program_mark(program, DO_PROFILE, 1);
  program_enter(program, FRAME_MODULE, "module", none);
  program_enter(program, FRAME_PYTHON, "leaf", none);
  program_leave(program);
  program_spend(program, US);
  program_leave(program);
  program_mark(program, DO_PROFILE, 0);
  program_leave(program);
  program_leave(program);
}

/* A profiler that starts notes what is open, one frame after the other; what begins later costs time before, in and
 * behind it. */
static void test_stacks(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_stacks);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_PROFILER);
  assert_true(run_as(bench, true));
  const struct irregularities *cost = &irregularities;
  int64_t walk = cost->profiled_python_walk, begin = cost->profiled_python_begin, in = cost->profiled_python_inside,
          end = cost->profiled_python_end;
  int64_t module = 10 * US + 2 * walk + begin, leaf = module + in + begin;
  assert_int_equal(bench->profile_start, 10 * US);
  assert_int_equal(frame(bench, 0, "program")->start, 10 * US);
  assert_int_equal(frame(bench, 0, "loop")->start, 10 * US + walk);
  assert_int_equal(frame(bench, 0, "module")->start, module);
  assert_int_equal(frame(bench, 0, "leaf")->start, leaf);
  assert_int_equal(frame(bench, 0, "leaf")->end, leaf + in);
  assert_int_equal(frame(bench, 0, "module")->end, leaf + in + end + US);
  assert_int_equal(bench->profile_stop, leaf + in + 2 * end + US);
  assert_int_equal(frame(bench, 0, "program")->end, bench->profile_stop);
  run(bench);
  assert_int_equal(frame(bench, 0, "loop")->start, 0);
  assert_int_equal(frame(bench, 0, "program")->end, 11 * US);
  free(bench);
}

/* ---- what is left out ---- */

static void write_tail(struct program *program) {
  const struct op_facts none = {.sequence = -1};
  program_spend(program, 100 * US);
  launch(program, STREAM_COMPUTE, "b", 100 * US);
  program_enter(program, FRAME_PYTHON, "leaf", none);
  program_leave(program);
  collective(program, STREAM_DATA, "d", ALL_REDUCE, 0, MS);
}

static void write_whole(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  program_mark(program, DO_PROFILE, 1);
  program_enter(program, FRAME_OP, "left out", (struct op_facts){.sequence = -1});
  program_spend(program, 10 * US);
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  collective(program, STREAM_DATA, "c", ALL_REDUCE, 0, MS);
  program_leave(program);
  write_tail(program);
}

static void write_skip(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  program_mark(program, DO_PROFILE, 1);
  program_spend(program, 0);
  program->instructions[1] =
      (struct instruction){.kind = DO_SKIP,
                           .name = "left out",
                           .of.skipped = {.instructions = 5, .frames = 1, .calls = 2, .communicator = 0}};
  write_tail(program);
}

struct lengths {
  int64_t spent, call, leaf, number, kernel, transfer, sequence;
  uint32_t correlation;
};

static struct lengths lengths_behind(struct bench *bench, int64_t time) {
  const struct device_record *b = &task(bench, 0, "b")->record;
  const struct transfer_record *d = &bench->transfers[bench->transfer_count - 1].record;
  const struct host_record *leaf = frame(bench, 0, "leaf");
  for (int i = 0; i < bench->host_count; i++)
    if (bench->hosts[i].rank == 0 && bench->hosts[i].is_call && bench->hosts[i].correlation == b->correlation)
      return (struct lengths){.spent = bench->hosts[i].start - time,
                              .call = bench->hosts[i].end - bench->hosts[i].start,
                              .leaf = leaf->end - leaf->start,
                              .number = leaf->number,
                              .kernel = b->end - b->start,
                              .transfer = d->end - d->begin,
                              .sequence = d->sequence,
                              .correlation = b->correlation};
  fail();
  return (struct lengths){0};
}

/* Behind it the host is as slow as behind the op, and draws what it would draw; frames, calls and collectives have
 * their numbers. */
static void test_skip(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_whole);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_HOST_JITTER);
  on(bench, MECHANISM_KERNEL_JITTER);
  bench->setup.jitter = 1;
  for (int profiler = 0; profiler < 2; profiler++) {
    bench->setup.mechanisms[MECHANISM_PROFILER] = profiler;
    bench->write = write_whole;
    assert_true(run_as(bench, true));
    assert_int_equal(bench->task_count, 8);
    struct lengths whole = lengths_behind(bench, frame(bench, 0, "left out")->end);
    bench->write = write_skip;
    assert_true(run_as(bench, true));
    assert_int_equal(bench->task_count, 4);
    struct lengths left = lengths_behind(bench, 0);
    if (!profiler) /* else the op's end takes time, too */
      assert_int_equal(left.spent, whole.spent);
    assert_int_equal(left.call, whole.call);
    assert_int_equal(left.leaf, whole.leaf);
    assert_true(left.leaf > 0 || !profiler);
    assert_int_equal(left.number, whole.number);
    assert_int_equal(left.kernel, whole.kernel);
    assert_int_equal(left.transfer, whole.transfer);
    assert_int_equal(left.sequence, 2);
    assert_int_equal(left.correlation, 3);
    assert_int_equal(whole.correlation, 3);
  }
  free(bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_launch_delay),
      cmocka_unit_test(test_queue),
      cmocka_unit_test(test_wait),
      cmocka_unit_test(test_wait_slack),
      cmocka_unit_test(test_wait_tie),
      cmocka_unit_test(test_wait_late_launch),
      cmocka_unit_test(test_recorded_again),
      cmocka_unit_test(test_wait_chain),
      cmocka_unit_test(test_sync),
      cmocka_unit_test(test_post),
      cmocka_unit_test(test_post_await),
      cmocka_unit_test(test_both_threads),
      cmocka_unit_test(test_frames),
      cmocka_unit_test(test_profiler),
      cmocka_unit_test(test_stacks),
      cmocka_unit_test(test_skip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
