/* The machine's network: members that meet, transfers, links that are shared. */
#include "machine_bench.h"

/* ---- collectives and pairs ---- */

static void write_collective(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  launch(program, STREAM_TENSOR, "before", (rank + 1) * 100 * US);
  collective(program, STREAM_TENSOR, "reduce", ALL_REDUCE, 0, 64 << 20);
}

/* All members end together, a transfer after the last has started. */
static void test_collective(void **state) {
  (void)state;
  for (int ranks = 2; ranks <= 4; ranks *= 2) {
    struct bench *bench = bench_new(ranks, write_collective);
    run(bench);
    int64_t begin = ranks * 100 * US, end = begin + wire(bench, ALL_REDUCE, 64 << 20, ranks, 1);
    for (int rank = 0; rank < ranks; rank++)
      expect_task(bench, rank, "reduce", (rank + 1) * 100 * US, end);
    free(bench);
  }
}

/* As above, members that leave at different times: with `jitter` 0 all at 1 us + 3.5 % of the transfer. */
static void test_skew(void **state) {
  (void)state;
  struct bench *bench = bench_new(4, write_collective);
  on(bench, MECHANISM_COLLECTIVE_SKEW);
  run(bench);
  double transfer_time = (double)wire(bench, ALL_REDUCE, 64 << 20, 4, 1);
  double end = 400 * US + transfer_time;
  double skew = (double)irregularities.skew_start + irregularities.skew_share * transfer_time;
  for (int rank = 0; rank < 4; rank++)
    expect_near(task(bench, rank, "reduce")->record.end, end + skew);
  bench->setup.jitter = 1;
  run(bench);
  bool differ = false;
  for (int rank = 0; rank < 4; rank++) {
    double drawn = (double)task(bench, rank, "reduce")->record.end - end;
    assert_true(drawn >= 0);
    assert_true(drawn <= (double)irregularities.skew_start + irregularities.skew_most * transfer_time + 1);
    differ |= task(bench, rank, "reduce")->record.end != task(bench, 0, "reduce")->record.end;
    assert_int_equal(bench->transfers[0].ends[rank], task(bench, rank, "reduce")->record.end);
  }
  assert_true(differ);
  free(bench);
}

static void test_transfer_record(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_collective);
  run(bench);
  assert_int_equal(bench->transfer_count, 1);
  const struct transfer_seen *seen = &bench->transfers[0];
  assert_int_equal(seen->record.collective, ALL_REDUCE);
  assert_int_equal(seen->record.members, 2);
  assert_int_equal(seen->record.sequence, 1);
  assert_int_equal(seen->record.source, -1);
  assert_int_equal(seen->ranks[1], 1);
  assert_int_equal(seen->starts[0], 100 * US);
  assert_int_equal(seen->starts[1], 200 * US);
  assert_int_equal(seen->record.begin, 200 * US);
  assert_int_equal(seen->record.end, 200 * US + wire(bench, ALL_REDUCE, 64 << 20, 2, 1));
  assert_int_equal(task(bench, 1, "reduce")->record.sequence, 1);
  assert_int_equal(task(bench, 1, "before")->record.sequence, 0);
  free(bench);
}

/* The n-th call of each member is one collective, whatever the streams: rank 1 calls the second far earlier than rank
 * 0. */
static void write_two_streams(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  launch(program, rank ? STREAM_DATA : STREAM_TENSOR, "before", 500 * US);
  collective(program, STREAM_TENSOR, "first", ALL_REDUCE, 0, 64 << 20);
  collective(program, STREAM_DATA, "second", ALL_GATHER, 0, 64 << 20);
}

static void test_order_of_calls(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_two_streams);
  run(bench);
  int64_t first = wire(bench, ALL_REDUCE, 64 << 20, 2, 1), second = wire(bench, ALL_GATHER, 64 << 20, 2, 1);
  expect_task(bench, 0, "first", 500 * US, 500 * US + first);
  expect_task(bench, 1, "first", 0, 500 * US + first);
  expect_task(bench, 0, "second", 0, 500 * US + second);
  expect_task(bench, 1, "second", 500 * US, 500 * US + second);
  free(bench);
}

static void write_pair(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  if (rank == 0) {
    launch(program, STREAM_SEND_NEXT, "before", 100 * US);
    send(program, STREAM_SEND_NEXT, "send", 1, 1 << 20);
    send(program, STREAM_SEND_NEXT, "send again", 1, 4 << 20);
  } else {
    receive(program, STREAM_RECEIVE_PREVIOUS, "receive", 0, 1 << 20);
    receive(program, STREAM_RECEIVE_PREVIOUS, "receive again", 0, 4 << 20);
  }
}

static void test_pair(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_pair);
  run(bench);
  int64_t end = 100 * US + wire(bench, SEND_RECEIVE, 1 << 20, 2, 1);
  expect_task(bench, 0, "send", 100 * US, end);
  expect_task(bench, 1, "receive", 0, end);
  expect_task(bench, 1, "receive again", end, end + wire(bench, SEND_RECEIVE, 4 << 20, 2, 1));
  const struct transfer_seen *seen = transfer(bench, 0, 1);
  assert_int_equal(seen->record.begin, 100 * US);
  assert_int_equal(seen->starts[1], 0);
  assert_int_equal(seen->ends[0], end);
  assert_int_equal(seen->record.bytes, 1 << 20);
  assert_int_equal(task(bench, 0, "send")->record.sequence, -1);
  /* Another node is further away. */
  bench->setup.network.node_size = 1;
  run(bench);
  expect_task(bench, 1, "receive", 0, 100 * US + wire(bench, SEND_RECEIVE, 1 << 20, 2, 2));
  free(bench);
}

static void write_small(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  if (rank == 0) {
    send(program, STREAM_SEND_NEXT, "send", 1, 1024);
  } else {
    launch(program, STREAM_RECEIVE_PREVIOUS, "before", 300 * US);
    receive(program, STREAM_RECEIVE_PREVIOUS, "receive", 0, 1024);
  }
}

/* A small message leaves its sender alone, after the latency. */
static void test_small_message(void **state) {
  (void)state;
  struct bench *bench = bench_new(2, write_small);
  run(bench);
  struct nccl_plan plan = nccl_plan(&bench->setup, SEND_RECEIVE, 1024, 2, 1);
  expect_task(bench, 0, "send", 0, plan.latency);
  expect_task(bench, 1, "receive", 300 * US, 300 * US + plan.latency + plan.transfer);
  free(bench);
}

static void write_batched(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  const struct p2p middle[2] = {{0, false, 1 << 20}, {2, true, 1 << 20}};
  if (rank == 0)
    send(program, STREAM_P2P, "exchange", 1, 1 << 20);
  if (rank == 1)
    exchange(program, STREAM_P2P, "exchange", 0, 2, middle);
  if (rank == 2) {
    launch(program, STREAM_P2P, "before", 300 * US);
    receive(program, STREAM_P2P, "exchange", 1, 1 << 20);
  }
}

/* The middle's kernel has two parts, and ends with the later; its neighbour's ends with the first. */
static void test_batched(void **state) {
  (void)state;
  struct bench *bench = bench_new(3, write_batched);
  run(bench);
  int64_t alone = wire(bench, SEND_RECEIVE, 1 << 20, 2, 1);
  expect_task(bench, 0, "exchange", 0, alone);
  expect_task(bench, 1, "exchange", 0, 300 * US + alone);
  expect_task(bench, 2, "exchange", 300 * US, 300 * US + alone);
  assert_int_equal(transfer(bench, 0, 1)->record.end, alone);
  assert_int_equal(transfer(bench, 1, 2)->record.end, 300 * US + alone);
  free(bench);
}

static void write_near_and_far(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  const struct p2p middle[2] = {{2, true, 64}, {0, false, 64}};
  if (rank == 0)
    send(program, STREAM_P2P, "exchange", 1, 64);
  if (rank == 1)
    exchange(program, STREAM_P2P, "exchange", 0, 2, middle);
  if (rank == 2)
    receive(program, STREAM_P2P, "exchange", 1, 64);
}

/* Two ranks a node: the small message to the other node leaves later than that from the neighbour comes. */
static void test_near_and_far(void **state) {
  (void)state;
  struct bench *bench = bench_new(3, write_near_and_far);
  bench->setup.network.node_size = 2;
  run(bench);
  int64_t far = nccl_plan(&bench->setup, SEND_RECEIVE, 64, 2, 2).latency;
  assert_true(wire(bench, SEND_RECEIVE, 64, 2, 1) < far);
  expect_task(bench, 1, "exchange", 0, far);
  assert_int_equal(transfer(bench, 0, 1)->record.end, wire(bench, SEND_RECEIVE, 64, 2, 1));
  free(bench);
}

enum { SHARED_BYTES = 256 << 20 };

static void write_shared(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  if (rank == 0) {
    send(program, STREAM_SEND_NEXT, "first", 1, SHARED_BYTES);
    launch(program, STREAM_SEND_PREVIOUS, "before", 200 * US);
    send(program, STREAM_SEND_PREVIOUS, "second", 2, SHARED_BYTES);
  }
  if (rank == 1)
    receive(program, STREAM_RECEIVE_PREVIOUS, "receive", 0, SHARED_BYTES);
  if (rank == 2)
    receive(program, STREAM_RECEIVE_NEXT, "receive", 0, SHARED_BYTES);
}

/* Two messages leave rank 0 by one link. L: latency, T: bytes alone. The first has the link for itself until 200 us,
 * then half of it: it ends at E = 200 + 2 (T - (200 - L)). The second has half from 200 + L to E, then all. */
static void test_shared_links(void **state) {
  (void)state;
  struct bench *bench = bench_new(3, write_shared);
  struct nccl_plan plan = nccl_plan(&bench->setup, SEND_RECEIVE, SHARED_BYTES, 2, 1);
  double latency = (double)plan.latency, bytes = (double)plan.transfer, from = 200 * US;
  assert_true(latency < from && from < bytes);
  run(bench);
  expect_near(transfer(bench, 0, 1)->record.end, latency + bytes);
  expect_near(transfer(bench, 0, 2)->record.end, from + latency + bytes);
  on(bench, MECHANISM_SHARED_LINKS);
  run(bench);
  double first = from + 2 * (bytes - (from - latency));
  double second = first + bytes - (first - from - latency) / 2;
  expect_near(transfer(bench, 0, 1)->record.end, first);
  expect_near(transfer(bench, 0, 2)->record.end, second);
  /* Rank 1 on the first's node, rank 2 on another: no link in common. */
  bench->setup.network.node_size = 2;
  run(bench);
  expect_near(transfer(bench, 0, 1)->record.end, latency + bytes);
  expect_near(transfer(bench, 0, 2)->record.end, from + (double)wire(bench, SEND_RECEIVE, SHARED_BYTES, 2, 2));
  free(bench);
}

static void write_two_rings(struct program *program, int rank, int block) {
  if (block > 0)
    return;
  if (rank < 2)
    collective(program, STREAM_TENSOR, "pair", ALL_REDUCE, 1, 256 << 20);
  collective(program, STREAM_DATA, "all", ALL_REDUCE, 0, 64 << 20);
}

/* A ring of two beside a ring of four: at half speed while the four's lasts, which is twice its own time but for the
 * latency. */
static void test_shared_rings(void **state) {
  (void)state;
  struct bench *bench = bench_new(4, write_two_rings);
  bench->communicators[1] = (struct communicator){
      .name = "1", .description = "PAIR", .size = 2, .nodes = 1, .ranks = bench->ranks_of[0], .id = 8};
  bench->communicator_count = 2;
  on(bench, MECHANISM_SHARED_LINKS);
  run(bench);
  struct nccl_plan all = nccl_plan(&bench->setup, ALL_REDUCE, 64 << 20, 4, 1);
  struct nccl_plan pair = nccl_plan(&bench->setup, ALL_REDUCE, 256 << 20, 2, 1);
  double all_end = (double)(all.latency + 2 * all.transfer);
  double pair_done = (all_end - (double)pair.latency) / 2;
  assert_true(pair_done > 0 && pair_done < (double)pair.transfer);
  expect_near(task(bench, 3, "all")->record.end, all_end);
  expect_near(task(bench, 0, "pair")->record.end, all_end + (double)pair.transfer - pair_done);
  free(bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_collective),
      cmocka_unit_test(test_skew),
      cmocka_unit_test(test_transfer_record),
      cmocka_unit_test(test_order_of_calls),
      cmocka_unit_test(test_pair),
      cmocka_unit_test(test_small_message),
      cmocka_unit_test(test_batched),
      cmocka_unit_test(test_near_and_far),
      cmocka_unit_test(test_shared_links),
      cmocka_unit_test(test_shared_rings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
