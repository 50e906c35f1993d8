/* Sends and receives, on jobs small enough to work out by hand. Times are nanoseconds. */
#include "cost/placing.h"
#include "unit/ranks_job.h"

static void a_send_and_its_receive_end_together(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  add_group(job, "p", 2);
  add_comm(job, 0, "all_reduce", "0", 1, 0, 10 * us); /* for the clocks */
  uint32_t send = add_comm(job, 0, "send", "p", 3, 100 * us, 200 * us);
  add_comm(job, 1, "all_reduce", "0", 1, 0, 10 * us);
  uint32_t receive = add_comm(job, 1, "recv", "p", 3, 150 * us, 204 * us);
  add_peer(job, send, 1, 1024, 0);
  add_peer(job, receive, 0, 0, 1024);
  build(job);
  assert_int_equal(job->collectives.count, 2);
  const struct lumos_collective *pair = &job->collectives.items[1];
  assert_int_equal(pair->rule, LUMOS_PAIR);
  assert_int_equal(pair->transfer, 54 * us); /* 204 - 150 */
  assert_int_equal(end_residual(job, send), -4 * us);
  assert_int_equal(end_residual(job, receive), 0);
  lumos_job_free(job);
}

static void a_pair_that_ends_apart_is_not_coupled(void **state) {
  (void)state;
  /* Three pairs; the second ends 60 us apart, which the median does not show. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int64_t k = 0; k < 3; k++) {
      int64_t skew = rank == 1 && k == 1 ? 60 * us : 0;
      uint32_t task = add_comm(job, rank, rank == 0 ? "send" : "recv", "p", k, ms * k, ms * k + 200 * us + skew);
      add_peer(job, task, rank == 0 ? 1 : 0, rank == 0 ? 8 : 0, rank == 0 ? 0 : 8);
    }
  }
  build(job);
  assert_int_equal(job->collectives.count, 2);
  assert_int_equal(noted(job, "graph.uncoupled_collectives"), 1);
  lumos_job_free(job);
}

static void ends_lie_apart_as_far_as_clocks_tell(void **state) {
  (void)state;
  /* Nine collectives tell the clocks to 50 us / 3, as members may end so far apart. Of three pairs one ends 60 us
   * apart, which is 43 at least, and another 70. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "0", 2);
  add_group(job, "p", 2);
  for (uint32_t rank = 0; rank < 2; rank++) {
    for (int64_t k = 0; k < 9; k++) {
      (void)add_comm(job, rank, "all_reduce", "0", k, 10 * ms * k, 10 * ms * k + 5 * ms);
    }
    for (int64_t k = 0; k < 3; k++) {
      const int64_t skew[] = {0, 60 * us, 70 * us};
      int64_t start = 100 * ms + 10 * ms * k, end = start + 100 * us + (rank == 1 ? skew[k] : 0);
      (void)add_transfer(job, rank, rank == 0, rank == 0 ? 1 : 0, start, end);
    }
  }
  build(job);
  assert_int_equal(job->ranks.items[1].clock.error, 16667);
  assert_int_equal(job->collectives.count, 9 + 2);
  assert_int_equal(collective_at(job, 10)->transfer, 160 * us);
  assert_int_equal(noted(job, "graph.uncoupled_collectives"), 1);
  lumos_job_free(job);
}

static void what_names_another_peer_is_no_pair(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 2);
  for (uint32_t rank = 0; rank < 2; rank++) { /* two sends; a send whose receive waits for rank 2 */
    uint32_t send = add_comm(job, rank, "send", "p", 3, 0, 10);
    uint32_t other = add_comm(job, rank, rank == 0 ? "send" : "recv", "p", 4, 20, 30);
    add_peer(job, send, rank == 0 ? 1 : 0, 1024, 0);
    add_peer(job, other, rank == 0 ? 1 : 2, rank == 0 ? 1024 : 0, rank == 0 ? 0 : 1024);
  }
  build(job);
  assert_int_equal(job->collectives.count, 0);
  lumos_job_free(job);
}

static void transfers_of_larger_groups_are_joined_in_their_order(void **state) {
  (void)state;
  /* Rank 0 sends thrice to rank 1, which begins to record with the second. Each counts its own transfers, so the same
   * number is not the same transfer. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 3);
  uint32_t sends[3], receives[2];
  for (int64_t i = 0; i < 3; i++) {
    sends[i] = add_comm(job, 0, "send", "p", i, ms * i, ms * i + 100 * us);
    add_peer(job, sends[i], 1, 1024, 0);
  }
  for (int64_t i = 0; i < 2; i++) {
    receives[i] = add_comm(job, 1, "recv", "p", i, ms * (i + 1) + 40 * us, ms * (i + 1) + 101 * us);
    add_peer(job, receives[i], 0, 0, 1024);
  }
  build(job);
  assert_int_equal(job->collectives.count, 2);
  assert_members(job, 0, sends[1], receives[0]);
  assert_members(job, 1, sends[2], receives[1]);
  assert_int_equal(collective_at(job, 0)->rule, LUMOS_PAIR);
  assert_int_equal(collective_at(job, 0)->matched, LUMOS_BY_PAIR_ORDER);
  assert_int_equal(collective_at(job, 0)->bytes, 1024);
  assert_int_equal(collective_at(job, 0)->transfer, 61 * us); /* 101 - 40 */
  assert_int_equal(end_residual(job, sends[1]), -us);
  assert_int_equal(noted_of_rank(job, 0, "graph.unjoined_collectives"), 1);
  lumos_job_free(job);
}

static void ends_that_do_not_meet_or_match_are_no_transfers(void **state) {
  (void)state;
  /* What rank 1 receives from rank 0 was over a millisecond before it was sent; what it receives from rank 2 has
   * another size. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 3);
  (void)add_transfer(job, 0, true, 1, 2 * ms, 2 * ms + 10 * us);
  (void)add_transfer(job, 1, false, 0, 0, ms);
  uint32_t large = add_transfer(job, 1, false, 2, 3 * ms, 4 * ms);
  job->peers.items[detail(job, large)->comm.peer_first].recv = 2048;
  (void)add_transfer(job, 2, true, 1, 3 * ms, 4 * ms);
  build(job);
  assert_int_equal(job->collectives.count, 0);
  assert_int_equal(noted_of_rank(job, 0, "graph.unjoined_collectives"), 1);
  assert_int_equal(noted_of_rank(job, 1, "graph.unjoined_collectives"), 2);
  lumos_job_free(job);
}

static void a_batched_kernel_ends_with_the_last_of_its_transfers(void **state) {
  (void)state;
  /* Rank 1 receives from 0 and sends to 2, of which one is there from the start on, and one comes 100 us later. */
  for (int late = 0; late <= 2; late += 2) {
    struct lumos_job *job = new_ranks(3);
    add_group(job, "p", 3);
    int64_t at[3] = {0};
    at[late] = 100 * us;
    uint32_t first = add_transfer(job, 0, true, 1, at[0], at[0] + 20 * us);
    uint32_t both = add_batch(job, 1, 0, 125 * us, (const int64_t[][3]){{0, 0, 1024}, {2, 1024, 0}}, 2);
    uint32_t last = add_transfer(job, 2, false, 1, at[2], at[2] + 20 * us);
    build(job);
    assert_int_equal(job->collectives.count, 2);
    assert_members(job, 0, first, both);
    assert_members(job, 1, both, last);
    for (size_t i = 0; i < 2; i++) {
      assert_int_equal(collective_at(job, i)->rule, LUMOS_BATCHED);
      assert_string_equal(lumos_string(job->strings, collective_at(job, i)->op), "send_recv");
      assert_int_equal(collective_at(job, i)->transfer, 20 * us); /* 20 - 0; 120 - 100 */
    }
    assert_int_equal(end_residual(job, first), 0);
    assert_int_equal(end_residual(job, both), 5 * us); /* 125 - max(0 + 20, 100 + 20) */
    assert_int_equal(end_residual(job, last), 0);
    assert_int_equal(job->ranks.items[1].coverage.joined, 1);
    lumos_job_free(job);
  }
}

static void a_transfer_that_decided_no_end_took_no_longer_than_others(void **state) {
  (void)state;
  /* 0 and 1 both end at 130, for both wait for 2, which comes at 100: nothing shows how long the transfer between them
   * took, but those with 2 took 30 and 28. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 3);
  (void)add_batch(job, 0, 0, 130 * us, (const int64_t[][3]){{1, 1024, 0}, {2, 0, 1024}}, 2);
  (void)add_batch(job, 1, 0, 128 * us, (const int64_t[][3]){{0, 0, 1024}, {2, 1024, 0}}, 2);
  (void)add_batch(job, 2, 100 * us, 130 * us, (const int64_t[][3]){{0, 1024, 0}, {1, 0, 1024}}, 2);
  build(job);
  assert_int_equal(job->collectives.count, 3);
  assert_int_equal(collective_at(job, 0)->transfer, 29 * us); /* the mean of the others, not 128 */
  assert_int_equal(collective_at(job, 1)->transfer, 30 * us);
  assert_int_equal(collective_at(job, 2)->transfer, 28 * us);
  lumos_job_free(job);
}

static void a_kernel_that_ends_with_another_transfer_is_not_joined_by_its_end(void **state) {
  (void)state;
  /* Rank 1 sends to 0, which already waits, and then waits in the same kernel for 2. Its k-th kernel ends 8 ms after
   * the receive that it ended, and 2 ms before the next receive ends, which has begun by then. */
  struct lumos_job *job = new_ranks(3);
  add_group(job, "p", 3);
  uint32_t receives[4], both[4];
  for (int64_t k = 0; k < 4; k++) {
    int64_t at = 10 * ms * (k + 1);
    receives[k] = add_transfer(job, 0, false, 1, at - 3 * ms, at + 20 * us);
  }
  for (int64_t k = 0; k < 4; k++) {
    int64_t at = 10 * ms * (k + 1);
    both[k] = add_batch(job, 1, at, at + 8 * ms + 20 * us, (const int64_t[][3]){{0, 1024, 0}, {2, 0, 1024}}, 2);
  }
  for (int64_t k = 0; k < 4; k++) {
    int64_t at = 10 * ms * (k + 1) + 8 * ms;
    (void)add_transfer(job, 2, true, 1, at, at + 20 * us);
  }
  build(job);
  assert_int_equal(job->collectives.count, 8);
  for (size_t k = 0; k < 4; k++) {
    assert_members(job, k, receives[k], both[k]);
    assert_int_equal(collective_at(job, k)->transfer, 20 * us);
  }
  lumos_job_free(job);
}

static void two_ranks_that_exchange_are_one_pair(void **state) {
  (void)state;
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 2);
  uint32_t one = add_batch(job, 0, 0, 70 * us, (const int64_t[][3]){{1, 1024, 4096}}, 1);
  uint32_t other = add_batch(job, 1, 40 * us, 72 * us, (const int64_t[][3]){{0, 4096, 1024}}, 1);
  build(job);
  assert_int_equal(job->collectives.count, 1);
  assert_members(job, 0, one, other);
  assert_int_equal(collective_at(job, 0)->rule, LUMOS_BATCHED);
  assert_int_equal(collective_at(job, 0)->bytes, 5120);
  /* Links carry both ways at a time, so for how long it takes the more of them counts. */
  struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_placing placing = lumos_placing_of(job, &nodes);
  assert_int_equal(lumos_transfer_shape_of(&placing, collective_at(job, 0)).bytes, 4096);
  lumos_placing_free(&placing);
  assert_int_equal(collective_at(job, 0)->transfer, 30 * us); /* to the earlier end */
  lumos_job_free(job);
}

static void where_transfers_share_kernels_numbers_mean_nothing(void **state) {
  (void)state;
  /* In a group of two: rank 0 sends, then sends and receives at once; rank 1 receives twice and sends on its own, so
   * that from then on its kernels have the numbers of others. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 2);
  uint32_t kernels[9];
  kernels[0] = add_transfer(job, 0, true, 1, 0, 20 * us);
  kernels[1] = add_batch(job, 0, ms, ms + 120 * us, (const int64_t[][3]){{1, 1024, 1024}}, 1);
  kernels[2] = add_transfer(job, 0, true, 1, 2 * ms, 2 * ms + 20 * us);
  kernels[7] = add_transfer(job, 0, true, 1, 3 * ms, 3 * ms + 20 * us);
  kernels[3] = add_transfer(job, 1, false, 0, 0, 20 * us);
  kernels[4] = add_transfer(job, 1, false, 0, ms, ms + 20 * us);
  kernels[5] = add_transfer(job, 1, true, 0, ms + 100 * us, ms + 120 * us);
  kernels[6] = add_transfer(job, 1, false, 0, 2 * ms, 2 * ms + 20 * us);
  kernels[8] = add_transfer(job, 1, false, 0, 3 * ms, 3 * ms + 20 * us);
  static const char *const ids[] = {"", "one", "two", "three", "four", "five"};
  static const int numbers[] = {1, 2, 3, 1, 2, 3, 4, 4, 5};
  for (int i = 0; i < 9; i++) {
    detail(job, kernels[i])->comm.seq = numbers[i];
    detail(job, kernels[i])->comm.id = word(job, ids[numbers[i]]);
  }
  build(job);
  assert_int_equal(job->collectives.count, 5);
  assert_members(job, 0, kernels[0], kernels[3]);
  assert_members(job, 1, kernels[1], kernels[4]);
  assert_members(job, 2, kernels[1], kernels[5]);
  assert_members(job, 3, kernels[2], kernels[6]);
  assert_members(job, 4, kernels[7], kernels[8]);
  lumos_job_free(job);
}

static void a_batch_with_an_unknown_peer_is_not_split(void **state) {
  (void)state;
  /* Rank 1 also sends to rank 7, of which there is no trace: it may be what rank 1 waits for. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 8);
  uint32_t one = add_transfer(job, 0, true, 1, 0, 20 * us);
  (void)add_batch(job, 1, 0, 125 * us, (const int64_t[][3]){{0, 0, 1024}, {7, 1024, 0}}, 2);
  build(job);
  assert_int_equal(job->collectives.count, 1);
  assert_int_equal(collective_at(job, 0)->transfer, LUMOS_ABSENT);
  assert_int_equal(end_residual(job, one), LUMOS_ABSENT);
  assert_int_equal(noted_of_rank(job, 0, "graph.absent_members"), 1);
  assert_int_equal(noted_of_rank(job, 1, "graph.absent_members"), 1);
  assert_int_equal(job->ranks.items[0].coverage.joined, 0);
  lumos_job_free(job);
}

static void small_messages_leave_at_once(void **state) {
  (void)state;
  /* 1 KiB: the first is gone 80 us before its receiver comes, so the second, where both meet, does not wait either. 2
   * MiB are in no buffer. */
  struct lumos_job *job = new_ranks(2);
  add_group(job, "p", 3);
  uint32_t send = add_transfer(job, 0, true, 1, 0, 20 * us);
  (void)add_transfer(job, 0, true, 1, ms, ms + 20 * us);
  uint32_t large = add_transfer(job, 0, true, 1, 2 * ms, 2 * ms + 20 * us);
  uint32_t receive = add_transfer(job, 1, false, 0, 100 * us, 103 * us);
  (void)add_transfer(job, 1, false, 0, ms - 50 * us, ms + 20 * us);
  uint32_t received = add_transfer(job, 1, false, 0, 2 * ms, 2 * ms + 20 * us);
  job->peers.items[detail(job, large)->comm.peer_first].send = 2 << 20;
  job->peers.items[detail(job, received)->comm.peer_first].recv = 2 << 20;
  build(job);
  assert_int_equal(job->collectives.count, 3);
  const struct lumos_collective *first = collective_at(job, 0), *second = collective_at(job, 1);
  assert_int_equal(first->rule, LUMOS_ROOTED);
  assert_int_equal(first->root, 0);
  assert_int_equal(first->transfer, 3 * us); /* what the receiver takes that came later */
  assert_int_equal(end_residual(job, send), LUMOS_ABSENT);
  assert_int_equal(end_residual(job, receive), 0);
  assert_int_equal(second->rule, LUMOS_ROOTED);
  assert_int_equal(second->transfer, 20 * us);
  assert_int_equal(collective_at(job, 2)->rule, LUMOS_PAIR);
  lumos_job_free(job);
}

static void what_no_buffer_holds_does_not_leave_at_once(void **state) {
  (void)state;
  for (int64_t more = 0; more < 2; more++) { /* than 1 MiB */
    struct lumos_job *job = new_ranks(2);
    add_group(job, "p", 3);
    uint32_t send = add_transfer(job, 0, true, 1, 0, 20 * us);
    uint32_t receive = add_transfer(job, 1, false, 0, 100 * us, 103 * us);
    job->peers.items[detail(job, send)->comm.peer_first].send = (1 << 20) + more;
    job->peers.items[detail(job, receive)->comm.peer_first].recv = (1 << 20) + more;
    build(job);
    assert_int_equal(job->collectives.count, 1 - more);
    lumos_job_free(job);
  }
}

/* One of ten transfers has another size at either end, which may be chance, and is none; of nine it is too many. They
 * are too large to leave at once, so no other shift fits. */
static void nine_of_ten_transfers_must_match(void **state) {
  (void)state;
  for (int64_t count = 9; count <= 10; count++) {
    struct lumos_job *job = new_ranks(2);
    add_group(job, "p", 3);
    uint32_t sends[10], receives[10];
    for (int64_t i = 0; i < count; i++) {
      sends[i] = add_transfer(job, 0, true, 1, ms * i, ms * i + 20 * us);
      job->peers.items[detail(job, sends[i])->comm.peer_first].send = 2 << 20;
    }
    for (int64_t i = 0; i < count; i++) {
      receives[i] = add_transfer(job, 1, false, 0, ms * i, ms * i + 20 * us);
      job->peers.items[detail(job, receives[i])->comm.peer_first].recv = (i == 4 ? 3 : 2) << 20;
    }
    build(job);
    assert_int_equal(job->collectives.count, count == 10 ? 9 : 0);
    if (count == 10) {
      assert_members(job, 0, sends[0], receives[0]);
      assert_members(job, 8, sends[9], receives[9]);
    }
    lumos_job_free(job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_send_and_its_receive_end_together),
      cmocka_unit_test(a_pair_that_ends_apart_is_not_coupled),
      cmocka_unit_test(ends_lie_apart_as_far_as_clocks_tell),
      cmocka_unit_test(what_names_another_peer_is_no_pair),
      cmocka_unit_test(transfers_of_larger_groups_are_joined_in_their_order),
      cmocka_unit_test(ends_that_do_not_meet_or_match_are_no_transfers),
      cmocka_unit_test(a_batched_kernel_ends_with_the_last_of_its_transfers),
      cmocka_unit_test(a_transfer_that_decided_no_end_took_no_longer_than_others),
      cmocka_unit_test(a_kernel_that_ends_with_another_transfer_is_not_joined_by_its_end),
      cmocka_unit_test(two_ranks_that_exchange_are_one_pair),
      cmocka_unit_test(where_transfers_share_kernels_numbers_mean_nothing),
      cmocka_unit_test(a_batch_with_an_unknown_peer_is_not_split),
      cmocka_unit_test(small_messages_leave_at_once),
      cmocka_unit_test(what_no_buffer_holds_does_not_leave_at_once),
      cmocka_unit_test(nine_of_ten_transfers_must_match),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
