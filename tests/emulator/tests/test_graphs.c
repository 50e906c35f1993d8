/* Captured graphs, and copies that pass through their calls: programs of a few calls, by hand arithmetic. */
#include "machine_bench.h"

static void launch_sized(struct program *program, enum stream stream, const char *name, enum work_kind kind) {
  struct work copy = kernel(name, 10 * US);
  copy.kind = (uint8_t)kind;
  program_launch(program, CALL_MEMCPY, stream, copy);
}

/* a, then b beside c, then d. */
static void write_nodes(struct program *program) {
  size_t first = program->count;
  program_enter(program, FRAME_OP, "op", (struct op_facts){.sequence = -1});
  program_spend(program, MS);
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  program_call(program, CALL_IS_CAPTURING);
  program_record(program, CALL_EVENT_RECORD, 1, STREAM_COMPUTE);
  program_wait(program, STREAM_TENSOR, 1);
  launch(program, STREAM_TENSOR, "b", 50 * US);
  program_record(program, CALL_EVENT_RECORD, 2, STREAM_TENSOR);
  program_leave(program);
  launch(program, STREAM_COMPUTE, "c", 20 * US);
  program_wait(program, STREAM_COMPUTE, 2);
  launch(program, STREAM_COMPUTE, "d", 10 * US);
  program_capture(program, first, STREAM_COMPUTE, 3);
}

static void write_graph(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch(program, STREAM_COMPUTE, "before", 100 * US);
  write_nodes(program);
  launch(program, STREAM_COMPUTE, "behind", 30 * US);
}

/* One call launches four kernels, in the order that was captured; nothing else of it is left, neither host time. */
static void test_graph(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_graph);
  run(bench);
  expect_task(bench, 0, "a", 100 * US, 200 * US);
  expect_task(bench, 0, "b", 200 * US, 250 * US);
  expect_task(bench, 0, "c", 200 * US, 220 * US);
  expect_task(bench, 0, "d", 250 * US, 260 * US);
  expect_task(bench, 0, "behind", 260 * US, 290 * US);
  assert_int_equal(edge(bench, 0, "a", "b"), 1);
  assert_int_equal(edge(bench, 0, "b", "d"), 1);
  assert_int_equal(bench->edge_count, 2);
  assert_int_equal(bench->host_count, 3);
  const struct host_record *graph = call(bench, 0, CALL_GRAPH_LAUNCH, 0);
  assert_int_equal(graph->correlation, 2);
  assert_int_equal(graph->nodes, 4);
  static const char *const names[] = {"a", "b", "c", "d"};
  for (uint32_t i = 0; i < 4; i++) {
    const struct device_record *record = &task(bench, 0, names[i])->record;
    assert_int_equal(record->graph, 3);
    assert_int_equal(record->node, i + 1);
    assert_int_equal(record->correlation - record->node, 2);
  }
  assert_int_equal(task(bench, 0, "before")->record.node, 0);
  assert_int_equal(task(bench, 0, "behind")->record.graph, 0);
  assert_int_equal(task(bench, 0, "behind")->record.correlation, 7);
  free(bench);
}

static void write_graph_alone(struct program *program, int rank, int block) {
  (void)rank;
  if (block == 0)
    write_nodes(program);
}

/* The call takes 2 us for each of four nodes behind what it takes without any; the first may start when it has told of
 * 55 % of them. Between nodes it takes an edge's time, not an event's. */
static void test_graph_times(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_graph_alone);
  on(bench, MECHANISM_HOST);
  run(bench);
  int64_t length = median(&irregularities.call[CALL_GRAPH_LAUNCH]), first = length + 4400;
  expect_call(bench, 0, CALL_GRAPH_LAUNCH, 0, 0, length + 8000);
  expect_task(bench, 0, "a", first, first + 100 * US);
  on(bench, MECHANISM_LATENCY);
  run(bench);
  first += median(&irregularities.launch_delay);
  int64_t b = first + 100 * US + median(&irregularities.graph_edge),
          d = b + 50 * US + median(&irregularities.graph_edge);
  expect_task(bench, 0, "b", b, b + 50 * US);
  expect_task(bench, 0, "c", first + 100 * US + median(&irregularities.task_gap),
              first + 120 * US + median(&irregularities.task_gap));
  /* The wait is over behind an edge's time; c ended long before. */
  expect_task(bench, 0, "d", d, d + 10 * US);
  free(bench);
}

static void write_graph_often(struct program *program, int rank, int block) {
  (void)rank;
  for (int i = 0; i < 3 && block == 0; i++)
    write_nodes(program);
}

/* A stream that holds three launches has room for a graph of three nodes there when less than three are waiting: when
 * the first has started. */
static void test_graph_room(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_graph_often);
  on(bench, MECHANISM_LAUNCH_QUEUE);
  bench->setup.queue_depth = 3;
  run(bench);
  expect_call(bench, 0, CALL_GRAPH_LAUNCH, 0, 0, 0);
  expect_call(bench, 0, CALL_GRAPH_LAUNCH, 1, 0, 0);
  expect_call(bench, 0, CALL_GRAPH_LAUNCH, 2, 0, 160 * US);
  free(bench);
}

static void write_copies(struct program *program, int rank, int block) {
  (void)rank;
  if (block > 0)
    return;
  launch_sized(program, STREAM_COPY, "in", WORK_COPY_TO_DEVICE);
  launch(program, STREAM_COMPUTE, "a", 100 * US);
  launch_sized(program, STREAM_COMPUTE, "out", WORK_COPY_TO_HOST);
  launch_sized(program, STREAM_COPY, "within", WORK_COPY_ON_DEVICE);
}

/* A copy to the device starts behind what its call takes, whatever it takes more; one to the host is over before its
 * call is. Copies on the device are as ever. */
static void test_staged(void **state) {
  (void)state;
  struct bench *bench = bench_new(1, write_copies);
  bench->setup.pageable = true;
  run(bench);
  expect_call(bench, 0, CALL_MEMCPY, 0, 0, 0);
  expect_call(bench, 0, CALL_MEMCPY, 1, 0, 110 * US);
  expect_call(bench, 0, CALL_MEMCPY, 2, 110 * US, 110 * US);
  on(bench, MECHANISM_HOST);
  on(bench, MECHANISM_LATENCY);
  run(bench);
  int64_t length = median(&irregularities.call[CALL_MEMCPY]), launched = median(&irregularities.call[CALL_LAUNCH]);
  int64_t in = length + median(&irregularities.staged);
  expect_call(bench, 0, CALL_MEMCPY, 0, 0, length);
  expect_task(bench, 0, "in", in, in + 10 * US);
  int64_t out = length + launched + median(&irregularities.launch_delay) + 100 * US + median(&irregularities.task_gap);
  int64_t back = out + 10 * US + median(&irregularities.sync_return);
  expect_task(bench, 0, "out", out, out + 10 * US);
  expect_call(bench, 0, CALL_MEMCPY, 1, length + launched, back);
  expect_call(bench, 0, CALL_MEMCPY, 2, back, back + length);
  free(bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_graph),
      cmocka_unit_test(test_graph_times),
      cmocka_unit_test(test_graph_room),
      cmocka_unit_test(test_staged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
