/* The machine's devices: what runs beside each other, what makes kernels longer, what a device was busy with. */
#include "machine_bench.h"

/* ---- what runs beside each other ---- */

static void write_beside(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  if (rank == 0)
    launch(program, STREAM_COMPUTE, "long", 10 * MS);
  launch(program, STREAM_TENSOR, "before", MS);
  collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 64 << 20);
}

/* The transfer's bytes take 10 % longer where both devices compute, so 5 % here; the kernel runs at 1 / 1.25 for as
 * long as the transfer lasts, and at full speed before and after. */
static void test_contention(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_beside);
  on(bench, MECHANISM_CONTENTION);
  run(bench);
  struct nccl_plan plan = nccl_plan(&bench->setup, ALL_REDUCE, 64 << 20, 2, 1);
  double length = (double)plan.latency + 1.05 * (double)plan.transfer;
  expect_near(task(bench, 1, "reduce")->record.end, MS + length);
  expect_near(task(bench, 0, "long")->record.end, 10 * MS + 0.2 * length);
  free(bench);
}

enum { BESIDE = 20 };

static void write_many_beside(struct program *program, int rank, int block) {
  static const char *const names[BESIDE] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                            "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};
  (void)rank;
  if (block > 0)
    return;
  collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 1L << 32);
  for (int i = 0; i < BESIDE; i++)
    launch(program, STREAM_COMPUTE, names[i], 100 * US);
}

/* Beside communication half of the kernels that wait for memory hardly suffer, others many times as much as those in
 * the middle: where kernels vary. */
static void test_contention_varies(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_many_beside);
  bench->setup.jitter = 1;
  on(bench, MECHANISM_KERNEL_JITTER);
  run(bench);
  double alone[BESIDE];
  int hardly = 0, much = 0;
  for (int i = 0; i < BESIDE; i++)
    alone[i] = (double)length_of(bench, (char[]){(char)('a' + i), 0});
  on(bench, MECHANISM_CONTENTION);
  run(bench);
  for (int i = 0; i < BESIDE; i++) {
    double longer = (double)length_of(bench, (char[]){(char)('a' + i), 0}) / alone[i] - 1;
    assert_true(longer > -0.001 && longer <= 8 * 0.25 + 0.001);
    hardly += longer < 0.1 * 0.25;
    much += longer > 1.4 * 0.25;
  }
  assert_in_range(hardly, 3, 12);
  assert_in_range(much, 2, 10);
  free(bench);
}

static void write_while_waiting(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  if (rank == 1)
    launch(program, STREAM_TENSOR, "before", MS);
  struct message message = {
      .communicator = 0, .collective = ALL_REDUCE, .bytes = 1 << 20, .elements_in = 1 << 19, .root = -1};
  struct work reduce = kernel("reduce", 0), product = kernel("product", 300 * US);
  reduce.kind = WORK_COLLECTIVE;
  reduce.grid[0] = 33;
  reduce.message = program_message(program, message);
  product.kind = WORK_GEMM;
  program_launch(program, CALL_LAUNCH_EXC, STREAM_TENSOR, reduce);
  program_launch(program, CALL_LAUNCH, STREAM_COMPUTE, product);
  launch(program, STREAM_COMPUTE, "copies", 300 * US);
}

/* While rank 0 waits for rank 1, its collective holds 33 of 132 SMs: a matrix product takes 4/3 as long, what moves
 * memory as long as ever. */
static void test_waiting_holds_sms(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_while_waiting);
  run(bench);
  expect_task(bench, 0, "product", 0, 300 * US);
  on(bench, MECHANISM_CONTENTION);
  run(bench);
  expect_task(bench, 0, "product", 0, 400 * US);
  expect_task(bench, 0, "copies", 400 * US, 700 * US);
  free(bench);
}

static void write_during(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 256 << 20);
  launch(program, STREAM_COMPUTE, "short", 100 * US);
  (void)rank;
}

/* Kernels that begin and end beside the transfer: the kernels take 125 us, the transfer 125 / 1.1 * 0.1 us longer (less
 * the latency, which passes at its own speed). */
static void test_contention_during(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_during);
  on(bench, MECHANISM_CONTENTION);
  run(bench);
  struct nccl_plan plan = nccl_plan(&bench->setup, ALL_REDUCE, 256 << 20, 2, 1);
  double slow = 125 * US - (double)plan.latency;
  expect_task(bench, 0, "short", 0, 125 * US);
  expect_near(task(bench, 1, "reduce")->record.end, (double)(plan.latency + plan.transfer) + slow - slow / 1.1);
  free(bench);
}

static void write_filling(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  struct work filling = kernel("filling", MS);
  filling.fills_device = true;
  filling.last_wave = 100 * US;
  struct work copy = kernel("copy", 10 * US);
  copy.kind = WORK_COPY_TO_DEVICE;
  program_launch(program, CALL_LAUNCH, STREAM_COMPUTE, filling);
  launch(program, STREAM_DATA, "beside", 50 * US);
  program_launch(program, CALL_MEMCPY, STREAM_COPY, copy);
  if (program->count > 0)
    collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 64 << 20);
}

/* A kernel that fills the device leaves no room before its last wave: others start at 900 us; a copy needs no SM. */
static void test_free_sms(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_filling);
  run(bench);
  expect_task(bench, 0, "beside", 0, 50 * US);
  on(bench, MECHANISM_FREE_SMS);
  run(bench);
  expect_task(bench, 0, "filling", 0, MS);
  expect_task(bench, 0, "beside", 900 * US, 950 * US);
  expect_task(bench, 0, "copy", 0, 10 * US);
  assert_int_equal(task(bench, 1, "reduce")->record.start, 900 * US);
  /* Half as long, the last wave too. */
  bench->setup.scale[SCALED_ELEMENTWISE] = 0.5;
  run(bench);
  expect_task(bench, 0, "beside", 450 * US, 475 * US);
  free(bench);
}

/* Two of a stream that fill the device, the second with so many SMs free in its last wave. */
static int free_in_last;
static void write_queue(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  struct work filling = kernel("first", MS), clear = kernel("clear", 10 * US);
  filling.fills_device = true;
  filling.last_wave = 100 * US;
  filling.free_sms = 1;
  clear.kind = WORK_MEMSET;
  program_launch(program, CALL_LAUNCH, STREAM_COMPUTE, filling);
  filling.name = "second";
  filling.free_sms = free_in_last;
  program_launch(program, CALL_LAUNCH, STREAM_COMPUTE, filling);
  launch(program, STREAM_DATA, "beside", 50 * US);
  program_launch(program, CALL_MEMSET, STREAM_COPY, clear);
  collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 64 << 20);
  program->works[program->work_count - 1].grid[0] = 2;
}

/* The collective's two blocks need two SMs at once, which are not free in the last wave of the first kernel; at its end
 * the second takes them all. One block has room before, and a memset is one where SMs have a queue. */
static void test_sm_queue(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_queue);
  on(bench, MECHANISM_FREE_SMS);
  free_in_last = 2;
  run(bench);
  expect_task(bench, 0, "reduce", 900 * US, task(bench, 0, "reduce")->record.end);
  expect_task(bench, 0, "clear", 0, 10 * US);
  bench->setup.sm_queue = true;
  run(bench);
  expect_task(bench, 0, "second", MS, 2 * MS);
  expect_task(bench, 0, "beside", 900 * US, 950 * US);
  expect_task(bench, 0, "clear", 900 * US, 910 * US);
  assert_int_equal(task(bench, 0, "reduce")->record.ready, 0);
  assert_int_equal(task(bench, 0, "reduce")->record.start, 1900 * US);
  free_in_last = 1;
  run(bench);
  assert_int_equal(task(bench, 0, "reduce")->record.start, 2 * MS);
  /* With latency the SMs are another's only when the stream's next has not come for a while. */
  on(bench, MECHANISM_LATENCY);
  run(bench);
  int64_t end = task(bench, 0, "second")->record.end;
  assert_int_equal(task(bench, 0, "second")->record.start,
                   task(bench, 0, "first")->record.end + median(&irregularities.task_gap));
  assert_int_equal(task(bench, 0, "reduce")->record.start, end + median(&irregularities.sm_turn));
  free(bench);
}

static void write_filling_behind(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  struct work filling = kernel("filling", MS);
  filling.fills_device = true;
  filling.last_wave = 100 * US;
  launch(program, STREAM_DATA, "short", 10 * US);
  program_record(program, CALL_EVENT_RECORD, 0, STREAM_DATA);
  launch(program, STREAM_TENSOR, "shorter", 5 * US);
  program_record(program, CALL_EVENT_RECORD, 1, STREAM_TENSOR);
  program_launch(program, CALL_LAUNCH, STREAM_P2P, filling); /* at one time, lower streams start first */
  program_wait(program, STREAM_MODEL, 0);
  program_wait(program, STREAM_MODEL, 1);
  launch(program, STREAM_MODEL, "behind", 50 * US);
}

/* SMs are free from 900 us on, long behind both waits: of these the later one decided all the same. */
static void test_free_sms_behind_wait(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_filling_behind);
  for (int room = 0; room < 2; room++) {
    bench->setup.mechanisms[MECHANISM_FREE_SMS] = room == 0;
    run(bench);
    int64_t start = room == 0 ? 900 * US : 10 * US;
    expect_task(bench, 0, "behind", start, start + 50 * US);
    assert_int_equal(edge(bench, 0, "short", "behind"), 1);
    assert_int_equal(edge(bench, 0, "shorter", "behind"), 0);
  }
  free(bench);
}

static void write_filling_beside(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 64 << 20);
  struct work filling = kernel("filling", MS);
  filling.fills_device = true;
  filling.last_wave = 100 * US;
  if (rank == 0) {
    launch(program, STREAM_COMPUTE, "first", US);
    program_launch(program, CALL_LAUNCH, STREAM_COMPUTE, filling);
  }
  launch(program, STREAM_DATA, "short", 10 * US);
  launch(program, STREAM_DATA, "beside", 50 * US);
}

/* The transfer lasts from 0 on, and kernels beside it take a quarter longer. On rank 0 the one that fills the device
 * begins at 1.25 us and is slowed until the transfer's end, so SMs are free a fifth of that time later than after 900
 * us of its own. Rank 1 computes for 75 us, rank 0 all the time: the transfer's bytes go at 1 / 1.1, then at 1 /
 * 1.05. */
static void test_free_sms_moves(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_filling_beside);
  on(bench, MECHANISM_FREE_SMS);
  on(bench, MECHANISM_CONTENTION);
  run(bench);
  struct nccl_plan plan = nccl_plan(&bench->setup, ALL_REDUCE, 64 << 20, 2, 1);
  double both = 75 * US - (double)plan.latency;
  double length = 75 * US + ((double)plan.transfer - both / 1.1) * 1.05;
  expect_task(bench, 1, "beside", 12500, 75 * US);
  expect_near(task(bench, 1, "reduce")->record.end, length);
  expect_near(task(bench, 0, "filling")->record.start, 1250);
  expect_near(task(bench, 0, "beside")->record.start, 1250 + 900 * US + 0.2 * (length - 1250));
  free(bench);
}

static void write_hot(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  struct work product = kernel("first", 20 * MS);
  product.kind = WORK_GEMM;
  program_launch(program, CALL_LAUNCH_EXC, STREAM_COMPUTE, product);
  product = kernel("second", 10 * MS);
  product.kind = WORK_GEMM;
  program_launch(program, CALL_LAUNCH_EXC, STREAM_COMPUTE, product);
  launch(program, STREAM_COMPUTE, "third", 10 * MS);
}

/* After 20 ms the heat is 20 / (20 + 5): half of the way from 0.6 to 1, so the next product takes 2 % longer; what is
 * bound by memory does not notice. */
static void test_throttle(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_hot);
  on(bench, MECHANISM_THROTTLE);
  run(bench);
  expect_task(bench, 0, "first", 0, 20 * MS);
  expect_task(bench, 0, "second", 20 * MS, 30 * MS + 200 * US);
  expect_task(bench, 0, "third", 30 * MS + 200 * US, 40 * MS + 200 * US);
  free(bench);
}

/* ---- factors ---- */

static void test_straggler(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_many);
  on(bench, MECHANISM_HOST);
  bench->slow_device[1] = 1.5;
  bench->slow_host[1] = 2;
  run(bench);
  expect_task(bench, 0, "a", 5 * US, 105 * US);
  expect_task(bench, 1, "a", 10 * US, 160 * US);
  expect_task(bench, 1, "b", 160 * US, 310 * US);
  free(bench);
}

static void write_kinds(struct program *program, int rank, int block) {
  static const char *const names[WORK_COLLECTIVE] = {"gemm",      "attention", "elementwise", "norm",
                                                     "reduction", "optimizer", "embedding",   "copy to device",
                                                     "copy back", "copy here", "memset"};
  (void)rank;
  for (int kind = 0; kind < WORK_COLLECTIVE && block == 0; kind++) {
    struct work work = kernel(names[kind], 100 * US);
    work.kind = (uint8_t)kind;
    work.label.part = kind == WORK_EMBEDDING ? PART_EMBEDDING : kind == WORK_REDUCTION ? PART_HEAD : PART_LAYER;
    program_launch(program, CALL_LAUNCH, STREAM_COMPUTE, work);
  }
  for (int i = ALL_REDUCE; i < SEND_RECEIVE && block == 0; i++)
    collective(program, STREAM_TENSOR, i == BROADCAST ? "broadcast" : "collective", (enum collective)i, 0, 64 << 20);
}

/* Each factor acts on its own kind of work, and factors multiply. */
static void test_scale(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_kinds);
  bench->setup.scale[SCALED_DEVICE] = 2;
  bench->setup.scale[SCALED_GEMM] = 3;
  bench->setup.scale[SCALED_COPY] = 0.5;
  bench->setup.scale[SCALED_MEMSET] = 0.25;
  bench->setup.scale[SCALED_PART_HEAD] = 5;
  bench->setup.scale[SCALED_COMMUNICATION] = 1.5;
  bench->setup.scale[SCALED_BROADCAST] = 2;
  run(bench);
  assert_int_equal(length_of(bench, "gemm"), 600 * US);
  assert_int_equal(length_of(bench, "attention"), 200 * US);
  assert_int_equal(length_of(bench, "reduction"), 1000 * US);
  assert_int_equal(length_of(bench, "embedding"), 200 * US);
  assert_int_equal(length_of(bench, "copy back"), 100 * US);
  assert_int_equal(length_of(bench, "memset"), 50 * US);
  expect_near(length_of(bench, "collective"), 1.5 * (double)wire(bench, ALL_REDUCE, 64 << 20, 2, 1));
  expect_near(length_of(bench, "broadcast"), 3 * (double)wire(bench, BROADCAST, 64 << 20, 2, 1));
  free(bench);
}

/* ---- steps ---- */

static void expect_step(const struct bench *bench, int rank, int step, int64_t start, int64_t end,
                        const int64_t activity[ACTIVITIES]) {
  for (int i = 0; i < bench->step_count; i++) {
    const struct step_record *record = &bench->steps[i];
    if (record->rank != rank || record->step != step)
      continue;
    int64_t sum = 0;
    for (int a = 0; a < ACTIVITIES; a++) {
      if (record->activity[a] != activity[a])
        fail_msg("rank %d step %d: %lld of activity %d, not %lld", rank, step, (long long)record->activity[a], a,
                 (long long)activity[a]);
      sum += record->activity[a];
    }
    assert_int_equal(record->start, start);
    assert_int_equal(record->end, end);
    assert_int_equal(sum, end - start);
    return;
  }
  fail_msg("no step %d of rank %d", step, rank);
}

static void write_steps(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 1)
    return;
  program_mark(program, DO_STEP, block);
  if (block == 1)
    program_spend(program, 20 * US);
  struct work work = kernel(block ? "b" : "a", block ? 50 * US : 100 * US);
  work.flops = block ? 5 : 7;
  program_launch(program, CALL_LAUNCH, STREAM_COMPUTE, work);
  program_sync(program, DO_SYNC_STREAM, 0, STREAM_COMPUTE);
}

/* a: 5 to 105 us; the second step's work begins at 105 + 20 + 5 us, and lasts 50. */
static void test_steps(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_steps);
  on(bench, MECHANISM_HOST);
  run(bench);
  assert_int_equal(bench->step_count, 2);
  expect_step(bench, 0, 0, 0, 105 * US, (int64_t[ACTIVITIES]){[ACTIVITY_COMPUTE] = 100 * US, [ACTIVITY_IDLE] = 5 * US});
  expect_step(bench, 0, 1, 105 * US, 180 * US,
              (int64_t[ACTIVITIES]){[ACTIVITY_COMPUTE] = 50 * US, [ACTIVITY_IDLE] = 25 * US});
  assert_int_equal(bench->steps[0].host_start, 0);
  assert_int_equal(bench->steps[0].host_end, 105 * US);
  assert_int_equal(bench->steps[1].host_start, 105 * US);
  assert_int_equal(bench->steps[1].host_end, 180 * US);
  assert_true(bench->steps[0].flops == 7 && bench->steps[1].flops == 5);
  free(bench);
}

static void write_activities(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  program_mark(program, DO_STEP, 0);
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  if (rank == 1)
    launch(program, STREAM_TENSOR, "x", 300 * US);
  collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 64 << 20);
  struct work copy = kernel("copy", 20 * US);
  copy.kind = WORK_COPY_TO_HOST;
  program_launch(program, CALL_MEMCPY, STREAM_TENSOR, copy);
  if (rank == 1) {
    launch(program, STREAM_TENSOR, "y", 40 * US);
    send(program, STREAM_TENSOR, "pair", 0, 1 << 20);
  } else {
    receive(program, STREAM_TENSOR, "pair", 1, 1 << 20);
  }
}

/* Rank 0: its reduce beside a for 100 us, alone and waiting for another 200, moving; the copy; the pair waits 40 us.
 * Rank 1 comes last everywhere. */
static void test_activities(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_activities);
  run(bench);
  int64_t reduce = wire(bench, ALL_REDUCE, 64 << 20, 2, 1), pair = wire(bench, SEND_RECEIVE, 1 << 20, 2, 1);
  int64_t end = 300 * US + reduce + 60 * US + pair;
  expect_step(bench, 0, 0, 0, end,
              (int64_t[ACTIVITIES]){[ACTIVITY_OVERLAPPED] = 100 * US,
                                    [ACTIVITY_WAITING] = 200 * US,
                                    [ACTIVITY_TRANSFER] = reduce + pair,
                                    [ACTIVITY_COPY] = 20 * US,
                                    [ACTIVITY_BUBBLE] = 40 * US});
  expect_step(bench, 1, 0, 0, end,
              (int64_t[ACTIVITIES]){
                  [ACTIVITY_COMPUTE] = 340 * US, [ACTIVITY_TRANSFER] = reduce + pair, [ACTIVITY_COPY] = 20 * US});
  free(bench);
}

static void write_both_wait(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  program_mark(program, DO_STEP, 0);
  if (rank == 1) {
    launch(program, STREAM_TENSOR, "x", 300 * US);
    launch(program, STREAM_RECEIVE_NEXT, "y", 500 * US);
  }
  collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 64);
  exchange(program, STREAM_RECEIVE_NEXT, "pair", 0, 1, &(struct p2p){1 - rank, rank == 1, 1 << 20});
}

/* What waits within the stage and for the next at once is no loss of the pipeline's as long as the stage is not ready
 * itself. */
static void test_both_wait(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_both_wait);
  run(bench);
  int64_t reduce = wire(bench, ALL_REDUCE, 64, 2, 1), pair = wire(bench, SEND_RECEIVE, 1 << 20, 2, 1);
  expect_step(
      bench, 0, 0, 0, 500 * US + pair,
      (int64_t[ACTIVITIES]){
          [ACTIVITY_WAITING] = 300 * US, [ACTIVITY_TRANSFER] = reduce + pair, [ACTIVITY_BUBBLE] = 200 * US - reduce});
  free(bench);
}

static void write_overtaken(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 1)
    return;
  program_mark(program, DO_STEP, block);
  launch(program, block ? STREAM_COMPUTE : STREAM_DATA, block ? "b" : "a", block ? 100 * US : 500 * US);
}

/* Work of the first step outlasts the second's: that one ends where the first does. */
static void test_overtaken(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_overtaken);
  run(bench);
  expect_step(bench, 0, 0, 0, 500 * US, (int64_t[ACTIVITIES]){[ACTIVITY_COMPUTE] = 500 * US});
  expect_step(bench, 0, 1, 500 * US, 500 * US, (int64_t[ACTIVITIES]){0});
  free(bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contention),
      cmocka_unit_test(test_contention_varies),
      cmocka_unit_test(test_contention_during),
      cmocka_unit_test(test_waiting_holds_sms),
      cmocka_unit_test(test_free_sms),
      cmocka_unit_test(test_free_sms_moves),
      cmocka_unit_test(test_sm_queue),
      cmocka_unit_test(test_free_sms_behind_wait),
      cmocka_unit_test(test_throttle),
      cmocka_unit_test(test_straggler),
      cmocka_unit_test(test_scale),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_activities),
      cmocka_unit_test(test_both_wait),
      cmocka_unit_test(test_overtaken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
