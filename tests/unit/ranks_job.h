/* Small jobs of several ranks by hand, for the tests of clocks and collectives. Times are nanoseconds. */
#ifndef LUMOS_TESTS_RANKS_JOB_H
#define LUMOS_TESTS_RANKS_JOB_H

#include "unit/graph_job.h"

static const int64_t us = 1000, ms = 1000000;

enum { RANKS = 4 };

/* A job of `ranks` ranks with a thread and a stream each, and groups. Lanes: 2 * rank, 2 * rank + 1. */
static inline struct lumos_job *new_ranks(int32_t ranks) {
  struct lumos_job *job = new_job();
  for (int32_t r = 0; r < ranks; r++) {
    uint32_t rank = add_rank(job, r);
    add_thread(job, rank, "1");
    add_stream(job, rank, "7");
  }
  return job;
}

static inline void add_group(struct lumos_job *job, const char *id, int32_t size) {
  struct lumos_group group = lumos_group_empty;
  group.rank = 0;
  group.id = word(job, id);
  group.size = size;
  lumos_vector_push(&job->groups, group);
}

/* A launch for a rank whose lanes are still empty. */
static inline uint32_t add_launch_for(struct lumos_job *job, uint32_t rank) { return add_launch(job, 2 * rank, 0, us); }

/* A communication kernel from start to end on the clock of its rank, with its seq and group. */
static inline uint32_t add_comm(struct lumos_job *job, uint32_t rank, const char *op, const char *group, int64_t seq,
                                int64_t start, int64_t end) {
  uint32_t task = add_task(job, 2 * rank + 1, LUMOS_COLLECTIVE, "ncclDevKernel", start, end - start);
  struct lumos_comm *comm = &detail(job, task)->comm;
  comm->op = word(job, op);
  comm->group = word(job, group);
  comm->seq = seq;
  comm->bytes = 1024;
  return task;
}

static inline void add_peer(struct lumos_job *job, uint32_t task, int32_t rank, int64_t send, int64_t receive) {
  struct lumos_comm *comm = &detail(job, task)->comm;
  comm->peer_first = (uint32_t)job->peers.count;
  comm->peer_count = 1;
  struct lumos_peer peer = {rank, send, receive};
  lumos_vector_push(&job->peers, peer);
}

/* Ends of collectives in a row, irregular so that only one shift fits; ms. */
static const int64_t irregular[] = {3, 10, 12, 21, 27, 40, 44, 59};
enum { IRREGULAR = sizeof irregular / sizeof *irregular };

static inline int64_t end_residual(const struct lumos_job *job, uint32_t task) {
  return lumos_timing_of(job, task)->end_residual;
}

/* A kernel of sends and receives: `peers` rows of {rank, bytes sent, bytes received}. */
static inline uint32_t add_batch(struct lumos_job *job, uint32_t rank, int64_t start, int64_t end,
                                 const int64_t (*peers)[3], uint32_t count) {
  uint32_t task = add_comm(job, rank, "send_recv", "p", LUMOS_ABSENT, start, end);
  struct lumos_comm *comm = &detail(job, task)->comm;
  comm->peer_first = (uint32_t)job->peers.count;
  comm->peer_count = count;
  for (uint32_t i = 0; i < count; i++) {
    struct lumos_peer peer = {(int32_t)peers[i][0], peers[i][1], peers[i][2]};
    lumos_vector_push(&job->peers, peer);
  }
  return task;
}

static inline uint32_t add_transfer(struct lumos_job *job, uint32_t rank, bool sends, int32_t peer, int64_t start,
                                    int64_t end) {
  uint32_t task = add_comm(job, rank, sends ? "send" : "recv", "p", LUMOS_ABSENT, start, end);
  add_peer(job, task, peer, sends ? 1024 : 0, sends ? 0 : 1024);
  return task;
}

static inline const struct lumos_collective *collective_at(const struct lumos_job *job, size_t index) {
  assert_true(index < job->collectives.count);
  return &job->collectives.items[index];
}

static inline void assert_members(const struct lumos_job *job, size_t index, uint32_t first, uint32_t second) {
  const struct lumos_collective *collective = collective_at(job, index);
  assert_int_equal(collective->member_count, 2);
  assert_int_equal(job->members.items[collective->member_first], first);
  assert_int_equal(job->members.items[collective->member_first + 1], second);
}

#endif
