/* The machine as a whole: an ideal pipeline, the same bytes twice, chance that belongs to places, and what cannot go
 * on. */
#include "machine_bench.h"

/* ---- all of it ---- */

enum { FORWARD = 100 * US, BACKWARD = 200 * US, ACTIVATION = 1 << 20 };

static void stage_kernel(struct program *program, const char *name, int64_t duration, int after, int event) {
  program_wait(program, STREAM_COMPUTE, after);
  launch(program, STREAM_COMPUTE, name, duration);
  program_record(program, CALL_EVENT_RECORD, event, STREAM_COMPUTE);
}

static void stage_send(struct program *program, const char *name, int peer, int after) {
  program_wait(program, STREAM_SEND_NEXT, after);
  send(program, STREAM_SEND_NEXT, name, peer, ACTIVATION);
}

static void stage_receive(struct program *program, const char *name, int peer, int event) {
  receive(program, STREAM_RECEIVE_NEXT, name, peer, ACTIVATION);
  program_record(program, CALL_EVENT_RECORD, event, STREAM_RECEIVE_NEXT);
}

/* Two stages, two micro-batches, one forward and one backward. */
static void write_pipeline(struct program *program, int rank, int block) {
  enum { NEVER = 100, RECEIVED = 10, DONE = 20 };
  if (block > 0)
    return;
  if (rank == 0) {
    stage_kernel(program, "f0", FORWARD, NEVER, DONE);
    stage_send(program, "send0", 1, DONE);
    stage_kernel(program, "f1", FORWARD, NEVER, DONE);
    stage_send(program, "send1", 1, DONE);
    stage_receive(program, "receive0", 1, RECEIVED);
    stage_kernel(program, "b0", BACKWARD, RECEIVED, DONE);
    stage_receive(program, "receive1", 1, RECEIVED);
    stage_kernel(program, "b1", BACKWARD, RECEIVED, DONE);
    return;
  }
  static const char *const names[2][4] = {{"receive0", "f0", "b0", "send0"}, {"receive1", "f1", "b1", "send1"}};
  for (int i = 0; i < 2; i++) {
    stage_receive(program, names[i][0], 0, RECEIVED);
    stage_kernel(program, names[i][1], FORWARD, RECEIVED, DONE);
    stage_kernel(program, names[i][2], BACKWARD, NEVER, DONE);
    stage_send(program, names[i][3], 0, DONE);
  }
}

/* Nothing irregular: W on the wire, in us. Stage 1 begins at 100 + W and is busy for 600; stage 0 has the last gradient
 * W later, and works on it for 200. */
static void test_ideal(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_pipeline);
  run(bench);
  int64_t hop = wire(bench, SEND_RECEIVE, ACTIVATION, 2, 1);
  assert_true(hop < FORWARD);
  expect_task(bench, 0, "f1", FORWARD, 2 * FORWARD);
  expect_task(bench, 1, "f0", FORWARD + hop, 2 * FORWARD + hop);
  expect_task(bench, 1, "b0", 2 * FORWARD + hop, 4 * FORWARD + hop);
  expect_task(bench, 1, "b1", 5 * FORWARD + hop, 7 * FORWARD + hop);
  expect_task(bench, 0, "b0", 4 * FORWARD + 2 * hop, 6 * FORWARD + 2 * hop);
  expect_task(bench, 0, "b1", 7 * FORWARD + 2 * hop, 9 * FORWARD + 2 * hop);
  assert_int_equal(edge(bench, 0, "receive1", "b1"), 1);
  assert_int_equal(edge(bench, 1, "receive1", "f1"), 0);
  assert_int_equal(edge(bench, 1, "b0", "send0"), 1);
  free(bench);
}

/* Everything that was seen, in one number. */
static uint64_t digest(const struct bench *bench) {
  uint64_t sum = 0;
  for (int i = 0; i < bench->host_count; i++) {
    const struct host_record *record = &bench->hosts[i];
    sum = chance_place(chance_place(sum, (uint64_t)record->start), (uint64_t)record->end);
    sum = chance_place(chance_place(sum, (uint64_t)record->number), record->correlation);
  }
  for (int i = 0; i < bench->task_count; i++) {
    const struct device_record *record = &bench->tasks[i].record;
    sum = chance_place(chance_place(sum, (uint64_t)record->start), (uint64_t)record->end);
    sum = chance_place(chance_place(sum, (uint64_t)record->rank), record->correlation);
  }
  for (int i = 0; i < bench->transfer_count; i++)
    sum = chance_place(chance_place(sum, (uint64_t)bench->transfers[i].record.end),
                       (uint64_t)bench->transfers[i].ends[0]);
  for (int i = 0; i < bench->edge_count; i++)
    sum = chance_place(chance_place(sum, bench->edges[i].from), bench->edges[i].to + 2 * bench->edges[i].binding);
  return sum;
}

/* Two runs see the same; another seed, something else. */
static void test_determinism(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_pipeline);
  for (int i = 0; i < MECHANISMS; i++)
    on(bench, (enum mechanism)i);
  bench->setup.jitter = 1;
  run(bench);
  uint64_t first = digest(bench);
  run(bench);
  assert_true(digest(bench) == first);
  bench->setup.seed = 2;
  run(bench);
  assert_true(digest(bench) != first);
  free(bench);
}

/* What is drawn belongs to its place: kernels take as long whether or not the host takes time, and the host as long
 * whether or not kernels vary. */
static void test_places(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_many);
  bench->setup.jitter = 1;
  on(bench, MECHANISM_KERNEL_JITTER);
  run(bench);
  int64_t alone = length_of(bench, "c");
  assert_int_not_equal(alone, 100 * US);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_HOST_JITTER);
  on(bench, MECHANISM_LATENCY);
  run(bench);
  assert_int_equal(length_of(bench, "c"), alone);
  int64_t host_end = call(bench, 0, CALL_LAUNCH, 4)->end;
  bench->setup.mechanisms[MECHANISM_KERNEL_JITTER] = false;
  run(bench);
  assert_int_equal(call(bench, 0, CALL_LAUNCH, 4)->end, host_end);
  free(bench);
}

static void write_busy(struct program *program, int rank, int block) {
  (void)rank;
  for (int i = 0; i < 100 && block < 100; i++)
    program_spend(program, 20 * US);
  if (block == 100)
    launch(program, STREAM_COMPUTE, "end", US);
}

/* When the device's only task starts, on average over seeds. */
static int64_t mean_start(struct bench *bench) {
  enum { SEEDS = 30 };
  int64_t sum = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    bench->setup.seed = seed;
    run(bench);
    sum += task(bench, 0, "end")->record.start;
  }
  return sum / SEEDS;
}

/* 200 ms of host work. Irregular pieces (7 % on average), slow stretches (2 %) and stalls (half a ms in 100) make it a
 * tenth longer, twice as wide a jitter longer still; none leaves it as it is. */
static void test_host_jitter(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_busy);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_HOST_JITTER);
  int64_t nominal = 10000LL * 20 * US + median(&irregularities.call[CALL_LAUNCH]);
  assert_int_equal(mean_start(bench), nominal);
  bench->setup.jitter = 1;
  int64_t measured = mean_start(bench);
  assert_true(measured > nominal * 107 / 100 && measured < nominal * 113 / 100);
  bench->setup.jitter = 2;
  assert_true(mean_start(bench) > nominal * 114 / 100);
  free(bench);
}

static void write_pieces(struct program *program, int rank, int block) {
  (void)rank;
  for (int i = 0; i < 128 && block < 4000; i++) {
    program_enter(program, FRAME_ANNOTATION, "piece", (struct op_facts){.sequence = -1});
    program_spend(program, US);
    program_leave(program);
  }
}

/* Half a second in pieces of 1 us: about five stalls, of 150 us at least. */
static void test_stalls(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_pieces);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_HOST_JITTER);
  bench->setup.jitter = 1;
  bench->shortest = 100 * US;
  run(bench);
  assert_in_range(bench->host_count, 1, 12);
  for (int i = 0; i < bench->host_count; i++)
    assert_true(bench->hosts[i].end - bench->hosts[i].start >= 150 * US);
  free(bench);
}

static void write_pieces_together(struct program *program, int rank, int block) {
  (void)rank;
  if (block == 4000)
    return;
  program_enter(program, FRAME_ANNOTATION, "pieces", (struct op_facts){.sequence = -1});
  for (int i = 0; i < 128; i++)
    program_spend(program, US);
  program_leave(program);
}

/* 4,000 times 128 pieces: were they independent, hardly one sum would be a third above 137 us; but some stretches are
 * slow. */
static void test_stretches(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_pieces_together);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_HOST_JITTER);
  bench->setup.jitter = 1;
  bench->shortest = 182 * US;
  run(bench);
  assert_in_range(bench->host_count, 40, 240);
  free(bench);
}

enum { NAMES = 24, EACH = 400 };

static void write_ops(struct program *program, int rank, int block) {
  static const char *const names[NAMES] = {"op a", "op b", "op c", "op d", "op e", "op f", "op g", "op h",
                                           "op i", "op j", "op k", "op l", "op m", "op n", "op o", "op p",
                                           "op q", "op r", "op s", "op t", "op u", "op v", "op w", "op x"};
  (void)rank;
  if (block == NAMES)
    return;
  program_enter(program, FRAME_ANNOTATION, names[block], (struct op_facts){.sequence = -1});
  for (int i = 0; i < EACH; i++) {
    program_enter(program, FRAME_OP, names[block], (struct op_facts){.sequence = -1});
    program_spend(program, US);
    program_leave(program);
    program_spend(program, US);
  }
  program_leave(program);
}

/* Ops of one name cost about the same on every rank, work behind them included; those of another name something else,
 * by a factor of several. At no width all cost what they are said to. */
static void test_ops_differ(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_ops);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_HOST_JITTER);
  bench->shortest = 100 * US;
  run(bench);
  assert_int_equal(bench->host_count, 2 * NAMES);
  for (int i = 0; i < bench->host_count; i++)
    assert_int_equal(bench->hosts[i].end - bench->hosts[i].start, 2 * EACH * US);
  bench->setup.jitter = 1;
  run(bench);
  int64_t least = INT64_MAX, most = 0, alike = 0;
  for (int i = 0; i < NAMES; i++) {
    int64_t lengths[2];
    for (int rank = 0; rank < 2; rank++) {
      const char name[] = {'o', 'p', ' ', (char)('a' + i), 0};
      const struct host_record *record = frame(bench, rank, name);
      lengths[rank] = record->end - record->start;
    }
    least = lengths[0] < least ? lengths[0] : least;
    most = lengths[0] > most ? lengths[0] : most;
    alike += lengths[0] < 2 * lengths[1] && lengths[1] < 2 * lengths[0];
  }
  assert_true(most > 5 * least);
  assert_true(alike >= NAMES - 3); /* a stall may fall into some */
  free(bench);
}

static void write_steps_of_data(struct program *program, int rank, int block) {
  (void)rank;
  if (block == 2)
    return;
  program_mark(program, DO_STEP, block);
  launch(program, STREAM_COMPUTE, block == 0 ? "first" : "second", US);
}

/* Each step's data are there only after a while. */
static void test_data_stall(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_steps_of_data);
  on(bench, MECHANISM_HOST);
  run(bench);
  int64_t launches = median(&irregularities.call[CALL_LAUNCH]), stall = median(&irregularities.data_stall);
  assert_int_equal(task(bench, 0, "second")->record.start, 2 * launches);
  on(bench, MECHANISM_HOST_JITTER);
  run(bench);
  assert_int_equal(task(bench, 0, "second")->record.start, 2 * (stall + launches));
  bench->slow_host[0] = 3; /* the loader's work, too */
  run(bench);
  assert_int_equal(task(bench, 0, "second")->record.start, 3 * 2 * (stall + launches));
  free(bench);
}

/* ---- what is slow or quick together ---- */

enum { RANKS_DRAWN = 16, STEPS_DRAWN = 24, OF_STEP = 200 };
struct drawn {
  double kernels[RANKS_DRAWN][STEPS_DRAWN], ops[RANKS_DRAWN][STEPS_DRAWN];
};

static void sum_kernel(void *self, const struct device_record *record) {
  ((struct drawn *)self)->kernels[record->rank][record->step] += (double)(record->end - record->start);
}

static void sum_op(void *self, const struct host_record *record) {
  if (!record->is_call)
    ((struct drawn *)self)->ops[record->rank][record->step] += (double)(record->end - record->start);
}

/* 200 long products a step, and 32 stretches of host work too short to be stalled. */
static bool next_drawn(void *self, int rank, struct program *program) {
  struct bench *bench = self;
  int step = bench->blocks[rank]++;
  if (step == STEPS_DRAWN)
    return false;
  program_mark(program, DO_STEP, step);
  for (int i = 0; i < OF_STEP; i++) {
    struct work work = kernel("product", 100 * US);
    work.kind = WORK_GEMM;
    program_launch(program, CALL_LAUNCH_EXC, STREAM_COMPUTE, work);
  }
  program_enter(program, FRAME_OP, "op", (struct op_facts){.sequence = -1});
  for (int i = 0; i < 32 * (int)irregularities.stretch_length; i++)
    program_spend(program, 30);
  program_leave(program);
  return true;
}

/* The largest less the smallest, in proportion to their mean. */
static double range(const double *values, int count) {
  double least = values[0], most = values[0], sum = 0;
  for (int i = 0; i < count; i++) {
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
    sum += values[i];
  }
  return (most - least) * count / sum;
}

/* What means of many kernels still differ by is their chip's and their step's: a chip is off by at most 0.5 %, a step
 * by 1 %, and of 16 chips or 24 steps some are off by most of it. What 200 kernels differ by cancels out but for a
 * tenth of a per cent. A step of a host is off by 11 % to one side and 15 to the other at the most. */
static void test_chips_and_steps(void **state) {
  (void)state;
  struct bench *bench = bench_new(RANKS_DRAWN, write_many);
  struct drawn *drawn = calloc(1, sizeof *drawn);
  assert_non_null(drawn);
  on(bench, MECHANISM_KERNEL_JITTER);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_HOST_JITTER);
  bench->setup.jitter = 1;
  struct software software = {bench, next_drawn, serve_job};
  struct witness witness = {.self = drawn, .device = sum_kernel, .host = sum_op};
  assert_true(machine_run(&bench->setup, &software, bench->communicators, 1, false, &witness));
  double chips[RANKS_DRAWN] = {0}, kernels = 0, ops = 1;
  for (int rank = 0; rank < RANKS_DRAWN; rank++) {
    for (int step = 0; step < STEPS_DRAWN; step++)
      chips[rank] += drawn->kernels[rank][step];
    kernels += range(drawn->kernels[rank], STEPS_DRAWN) / RANKS_DRAWN;
    double of_rank = range(drawn->ops[rank], STEPS_DRAWN); /* the least: no stall in it */
    ops = of_rank < ops ? of_rank : ops;
  }
  double chip = range(chips, RANKS_DRAWN);
  assert_true(chip > 0.005 && chip < 0.0125);
  assert_true(kernels > 0.008 && kernels < 0.025);
  assert_true(ops > 0.12 && ops < 0.26);
  free(drawn);
  free(bench);
}

static void expect_spread(const struct spread *spread) {
  for (int i = 0; i + 1 < QUANTILES; i++)
    assert_true(spread->at[i] <= spread->at[i + 1]);
}

static double mean_of(const struct spread *spread) {
  double mean = 0;
  for (int i = 0; i + 1 < QUANTILES; i++) {
    double piece = (quantile_shares[i + 1] - quantile_shares[i]) * (spread->at[i] + spread->at[i + 1]);
    mean += piece / 2;
  }
  return mean;
}

/* A figure in the wrong column would be drawn all the same. */
static void test_figures(void **state) {
  (void)state;
  const struct spread *times[] = {&irregularities.pause,        &irregularities.hand_over,  &irregularities.hand_back,
                                  &irregularities.launch_delay, &irregularities.task_gap,   &irregularities.event_delay,
                                  &irregularities.sync_return,  &irregularities.data_stall, NULL};
  const struct spread *ratios[] = {
      &irregularities.op_cost, &irregularities.host_ratio,  &irregularities.host_stretch, &irregularities.host_step,
      &irregularities.chip,    &irregularities.kernel_step, &irregularities.skew,         NULL};
  for (int i = 0; times[i]; i++)
    expect_spread(times[i]);
  for (int i = 0; ratios[i]; i++) {
    expect_spread(ratios[i]);
    assert_true(spread_median(ratios[i]) == 1);
  }
  for (int call = 0; call < CALLS; call++) {
    expect_spread(&irregularities.call[call]);
    assert_true(irregularities.call[call].at[0] > 0);
  }
  for (int kind = 0; kind < WORK_KINDS; kind++) {
    expect_spread(&irregularities.kernel_long[kind]);
    expect_spread(&irregularities.kernel_short[kind]);
    assert_true(spread_median(&irregularities.kernel_long[kind]) == 1);
    assert_true(spread_median(&irregularities.kernel_short[kind]) == 1);
    expect_spread(&irregularities.contention[kind]);
    double mean = mean_of(&irregularities.contention[kind]);
    assert_true(kind >= WORK_COPY_TO_DEVICE || (mean > 0.9 && mean < 1.1)); /* on average as the setup says */
  }
}

/* ---- what cannot go on ---- */

/* Runs with stderr in a file, which it reads back. */
static bool run_heard(struct bench *bench, char *heard, size_t room) {
  FILE *file = tmpfile();
  assert_non_null(file);
  fflush(stderr);
  int kept = dup(STDERR_FILENO);
  assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
  bool done = run_as(bench, false);
  fflush(stderr);
  assert_true(dup2(kept, STDERR_FILENO) >= 0);
  close(kept);
  rewind(file);
  size_t length = fread(heard, 1, room - 1, file);
  heard[length] = 0;
  fclose(file);
  return done;
}

static void expect_heard(const char *heard, const char *part) {
  if (!strstr(heard, part))
    fail_msg("not said: %s\nbut: %s", part, heard);
}

static void write_deadlock(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  if (rank == 0)
    collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 64 << 20);
  if (rank == 1)
    receive(program, STREAM_P2P, "receive", 2, 1 << 20);
  program_record(program, CALL_EVENT_RECORD, 0, rank == 1 ? STREAM_P2P : STREAM_TENSOR);
  program_wait(program, STREAM_COMPUTE, 0);
  program_sync(program, rank == 1 ? DO_SYNC_EVENT : DO_SYNC_STREAM, 0, STREAM_COMPUTE);
}

static void test_deadlock(void **state) {
  (void)state;
  struct bench *bench = bench_new(3, write_deadlock);
  char heard[8192];
  assert_false(run_heard(bench, heard, sizeof heard));
  expect_heard(heard, "deadlock");
  expect_heard(heard, "rank 0, main thread: for stream compute to be done\n");
  expect_heard(heard, "rank 0, stream compute: for an event recorded on stream tensor\n");
  expect_heard(heard, "rank 0, stream tensor: all-reduce 1 of communicator 0, for rank 1 2\n");
  expect_heard(heard, "rank 1, main thread: for an event recorded on stream point-to-point\n");
  expect_heard(heard, "rank 1, stream point-to-point: send and receive 1 of communicator 0, for rank 2\n");
  assert_null(strstr(heard, "rank 2, "));
  assert_int_equal(bench->step_count, 0);
  free(bench);
}

static void write_lost(struct program *program, int rank, int block) {
  static const char *const names[] = {"0", "1", "2", "3"};
  for (int i = 0; i < 4 && block == 0; i++)
    if (rank < 15)
      send(program, (enum stream)(STREAM_TENSOR + i), names[i], 15, 1 << 20);
}

/* The list has an end. */
static void test_deadlock_is_short(void **state) {
  (void)state;
  struct bench *bench = bench_new(16, write_lost);
  char heard[8192];
  assert_false(run_heard(bench, heard, sizeof heard));
  expect_heard(heard, "  and 36 more\n"); /* of 60 */
  free(bench);
}

static void write_unlike(struct program *program, int rank, int block) {
  if (block == 0)
    collective(program, STREAM_TENSOR, "call", rank ? ALL_GATHER : ALL_REDUCE, 0, 64 << 20);
}

static void write_unlike_bytes(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  if (rank == 0)
    send(program, STREAM_P2P, "send", 1, 1 << 20);
  else
    receive(program, STREAM_P2P, "receive", 0, 2 << 20);
}

static void write_stranger(struct program *program, int rank, int block) {
  if (block == 0 && rank == 1)
    collective(program, STREAM_TENSOR, "call", ALL_REDUCE, 1, 64 << 20);
}

/* Members that call different things, and those that are none, are no matter of time. */
static void test_unlike(void **state) {
  (void)state;
  char heard[8192];
  struct bench *bench = bench_new(2, write_unlike);
  assert_false(run_heard(bench, heard, sizeof heard));
  expect_heard(heard, "call 1 is all-reduce of 67108864 bytes on one rank, all-gather of 67108864 on rank 1");
  bench->write = write_unlike_bytes;
  assert_false(run_heard(bench, heard, sizeof heard));
  expect_heard(heard, "message 1 from rank 0 to rank 1 has 1048576 bytes at one end, 2097152 at the other");
  bench->write = write_stranger;
  bench->communicators[1] =
      (struct communicator){.name = "1", .description = "SELF", .size = 1, .nodes = 1, .ranks = bench->ranks_of[0]};
  bench->communicator_count = 2;
  assert_false(run_heard(bench, heard, sizeof heard));
  expect_heard(heard, "rank 1 communicates in 1, of which it is no member");
  free(bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ideal),       cmocka_unit_test(test_determinism), cmocka_unit_test(test_places),
      cmocka_unit_test(test_host_jitter), cmocka_unit_test(test_stalls),      cmocka_unit_test(test_stretches),
      cmocka_unit_test(test_ops_differ),  cmocka_unit_test(test_data_stall),  cmocka_unit_test(test_chips_and_steps),
      cmocka_unit_test(test_figures),     cmocka_unit_test(test_deadlock),    cmocka_unit_test(test_deadlock_is_short),
      cmocka_unit_test(test_unlike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
