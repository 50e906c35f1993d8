/* A bench for programs of a few calls whose times can be worked out by hand: a machine of few ranks with nothing
 * irregular, and everything that its witnesses see. With `jitter` 0 what is drawn is its median, so that the hand can
 * work on.
 */
#ifndef EMULATOR_MACHINE_BENCH_H
#define EMULATOR_MACHINE_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "hardware.h"
#include "irregularities.h"
#include "machine.h"
#include "nccl.h"
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 16, MOST_SEEN = 256, NAME = 24 };

/* ---- a machine of few ranks, and who looks on ---- */

struct task_seen {
  struct device_record record;
  struct work work;
};

struct transfer_seen {
  struct transfer_record record;
  int ranks[MOST_RANKS];
  int64_t starts[MOST_RANKS], ends[MOST_RANKS];
};

struct bench {
  struct setup setup;
  bool record_rank[MOST_RANKS];
  double slow_device[MOST_RANKS], slow_host[MOST_RANKS];
  struct communicator communicators[4];
  int ranks_of[4][MOST_RANKS];
  int communicator_count;
  void (*write)(struct program *program, int rank, int block); /* the main thread's blocks, until one is empty */
  void (*serve)(struct program *program, int rank, struct job job);
  int blocks[MOST_RANKS]; /* written */
  /* Seen. */
  struct task_seen tasks[MOST_SEEN];
  struct host_record hosts[MOST_SEEN];
  struct transfer_seen transfers[MOST_SEEN];
  struct edge_record edges[MOST_SEEN];
  struct step_record steps[MOST_SEEN];
  int task_count, host_count, transfer_count, edge_count, step_count;
  struct message message; /* the last that an op told of */
  int64_t profile_start, profile_stop;
  int64_t shortest; /* host rows that are shorter are not kept */
};

static inline void see_host(void *self, const struct host_record *record) {
  struct bench *bench = self;
  if (record->end - record->start < bench->shortest)
    return;
  assert_true(bench->host_count < MOST_SEEN);
  bench->hosts[bench->host_count++] = *record;
  if (record->facts && record->facts->message)
    bench->message = *record->facts->message;
}

static inline void see_profile(void *self, int rank, bool start, int64_t time) {
  struct bench *bench = self;
  if (rank == 0)
    *(start ? &bench->profile_start : &bench->profile_stop) = time;
}

static inline void see_device(void *self, const struct device_record *record) {
  struct bench *bench = self;
  assert_true(bench->task_count < MOST_SEEN);
  bench->tasks[bench->task_count++] = (struct task_seen){*record, *record->work};
}

static inline void see_transfer(void *self, const struct transfer_record *record) {
  struct bench *bench = self;
  assert_true(bench->transfer_count < MOST_SEEN);
  struct transfer_seen *seen = &bench->transfers[bench->transfer_count++];
  seen->record = *record;
  for (int i = 0; i < record->members; i++) {
    seen->ranks[i] = record->ranks[i];
    seen->starts[i] = record->starts[i];
    seen->ends[i] = record->ends[i];
  }
}

static inline void see_edge(void *self, const struct edge_record *record) {
  struct bench *bench = self;
  assert_true(bench->edge_count < MOST_SEEN);
  bench->edges[bench->edge_count++] = *record;
}

static inline void see_step(void *self, const struct step_record *record) {
  struct bench *bench = self;
  assert_true(bench->step_count < MOST_SEEN);
  bench->steps[bench->step_count++] = *record;
}

static inline bool next_block(void *self, int rank, struct program *block) {
  struct bench *bench = self;
  bench->write(block, rank, bench->blocks[rank]++);
  return block->count > 0;
}

static inline void serve_job(void *self, int rank, struct job job, struct program *block) {
  ((struct bench *)self)->serve(block, rank, job);
}

/* Nothing irregular; all ranks recorded, on one node, in one communicator. */
static inline struct bench *bench_new(int ranks, void (*write)(struct program *program, int rank, int block)) {
  struct bench *bench = calloc(1, sizeof *bench);
  assert_non_null(bench);
  bench->write = write;
  bench->setup = (struct setup){.parallel = {.tensor = ranks, .context = 1, .pipeline = 1, .data = 1, .chunks = 1},
                                .gpu = gpu_find("h100"),
                                .network = {.node_size = 8, .nic_bandwidth = 50, .nic_latency = 3000},
                                .queue_depth = 1020,
                                .contention_compute = 0.25,
                                .contention_transfer = 0.1,
                                .seed = 1,
                                .steps = 1,
                                .record_rank = bench->record_rank,
                                .slow_device = bench->slow_device,
                                .slow_host = bench->slow_host};
  for (int i = 0; i < SCALED; i++)
    bench->setup.scale[i] = 1;
  for (int rank = 0; rank < MOST_RANKS; rank++) {
    bench->record_rank[rank] = true;
    bench->slow_device[rank] = bench->slow_host[rank] = 1;
    bench->ranks_of[0][rank] = rank;
  }
  bench->communicators[0] = (struct communicator){
      .name = "0", .description = "ALL", .size = ranks, .nodes = (ranks + 7) / 8, .ranks = bench->ranks_of[0], .id = 7};
  bench->communicator_count = 1;
  return bench;
}

static inline void on(struct bench *bench, enum mechanism mechanism) { bench->setup.mechanisms[mechanism] = true; }

static inline bool run_as(struct bench *bench, bool profiled) {
  struct software software = {bench, next_block, serve_job};
  struct witness witness = {.self = bench,
                            .host = see_host,
                            .device = see_device,
                            .transfer = see_transfer,
                            .edge = see_edge,
                            .step = see_step,
                            .profile = see_profile};
  memset(bench->blocks, 0, sizeof bench->blocks);
  bench->task_count = bench->host_count = bench->transfer_count = bench->edge_count = bench->step_count = 0;
  return machine_run(&bench->setup, &software, bench->communicators, bench->communicator_count, profiled, &witness);
}

static inline void run(struct bench *bench) { assert_true(run_as(bench, false)); }

static inline const struct task_seen *task(const struct bench *bench, int rank, const char *name) {
  for (int i = 0; i < bench->task_count; i++)
    if (bench->tasks[i].record.rank == rank && strcmp(bench->tasks[i].work.name, name) == 0)
      return &bench->tasks[i];
  fail_msg("no task %s on rank %d", name, rank);
  return NULL;
}

static inline int64_t length_of(const struct bench *bench, const char *name) {
  const struct device_record *record = &task(bench, 0, name)->record;
  return record->end - record->start;
}

static inline void expect_task(const struct bench *bench, int rank, const char *name, int64_t start, int64_t end) {
  const struct device_record *record = &task(bench, rank, name)->record;
  if (record->start != start || record->end != end)
    fail_msg("rank %d %s: %lld to %lld, not %lld to %lld", rank, name, (long long)record->start, (long long)record->end,
             (long long)start, (long long)end);
}

/* The n-th call of this kind. */
static inline const struct host_record *call(const struct bench *bench, int rank, enum call call, int n) {
  for (int i = 0; i < bench->host_count; i++)
    if (bench->hosts[i].is_call && bench->hosts[i].rank == rank && bench->hosts[i].call == call && n-- == 0)
      return &bench->hosts[i];
  fail_msg("no such call %d on rank %d", (int)call, rank);
  return NULL;
}

static inline void expect_call(const struct bench *bench, int rank, enum call kind, int n, int64_t start, int64_t end) {
  const struct host_record *record = call(bench, rank, kind, n);
  if (record->start != start || record->end != end)
    fail_msg("rank %d call %d: %lld to %lld, not %lld to %lld", rank, (int)kind, (long long)record->start,
             (long long)record->end, (long long)start, (long long)end);
}

static inline const struct host_record *frame(const struct bench *bench, int rank, const char *name) {
  for (int i = 0; i < bench->host_count; i++)
    if (!bench->hosts[i].is_call && bench->hosts[i].rank == rank && strcmp(bench->hosts[i].name, name) == 0)
      return &bench->hosts[i];
  fail_msg("no frame %s on rank %d", name, rank);
  return NULL;
}

/* 1: there is a binding edge, 0: one that does not bind, -1: none. */
static inline int edge(const struct bench *bench, int rank, const char *from, const char *to) {
  uint32_t source = task(bench, rank, from)->record.correlation, target = task(bench, rank, to)->record.correlation;
  for (int i = 0; i < bench->edge_count; i++)
    if (bench->edges[i].rank == rank && bench->edges[i].from == source && bench->edges[i].to == target)
      return bench->edges[i].binding;
  return -1;
}

static inline const struct transfer_seen *transfer(const struct bench *bench, int source, int destination) {
  for (int i = 0; i < bench->transfer_count; i++)
    if (bench->transfers[i].record.source == source && bench->transfers[i].record.destination == destination)
      return &bench->transfers[i];
  fail_msg("no transfer from %d to %d", source, destination);
  return NULL;
}

/* Times that were multiplied by a rate are rounded once a change of the rate. */
static inline void expect_near(int64_t time, double expected) {
  if ((double)time < expected - 1.5 || (double)time > expected + 1.5)
    fail_msg("%lld, not %.3f", (long long)time, expected);
}

static inline int64_t median(const struct spread *spread) { return (int64_t)(spread->at[QUANTILES / 2] + 0.5); }

/* ---- pieces of programs ---- */

enum { US = 1000, MS = 1000000 };

static inline struct work kernel(const char *name, int64_t duration) {
  return (struct work){.name = name, .kind = WORK_ELEMENTWISE, .duration = duration, .grid = {1, 1, 1}};
}

static inline void launch(struct program *program, enum stream stream, const char *name, int64_t duration) {
  program_launch(program, CALL_LAUNCH, stream, kernel(name, duration));
}

static inline void collective(struct program *program, enum stream stream, const char *name, enum collective collective,
                              int communicator, int64_t bytes) {
  struct message message = {.communicator = communicator,
                            .collective = (uint8_t)collective,
                            .bytes = bytes,
                            .elements_in = bytes / 2,
                            .root = -1};
  struct work work = kernel(name, 0);
  work.kind = WORK_COLLECTIVE;
  work.message = program_message(program, message);
  program_launch(program, CALL_LAUNCH_EXC, stream, work);
}

static inline void exchange(struct program *program, enum stream stream, const char *name, int communicator, int parts,
                            const struct p2p *part) {
  struct message message = {
      .communicator = communicator, .collective = SEND_RECEIVE, .root = -1, .parts = parts, .elements_in = 1};
  for (int i = 0; i < parts; i++) {
    message.part[i] = part[i];
    message.bytes += part[i].bytes;
  }
  struct work work = kernel(name, 0);
  work.kind = WORK_P2P;
  work.message = program_message(program, message);
  program_launch(program, CALL_LAUNCH_EXC, stream, work);
}

static inline void send(struct program *program, enum stream stream, const char *name, int peer, int64_t bytes) {
  exchange(program, stream, name, 0, 1, &(struct p2p){peer, true, bytes});
}

static inline void receive(struct program *program, enum stream stream, const char *name, int peer, int64_t bytes) {
  exchange(program, stream, name, 0, 1, &(struct p2p){peer, false, bytes});
}

/* Alone on the wire, in all. */
static inline int64_t wire(const struct bench *bench, enum collective collective, int64_t bytes, int size, int nodes) {
  struct nccl_plan plan = nccl_plan(&bench->setup, collective, bytes, size, nodes);
  return plan.latency + plan.transfer;
}

/* Five kernels of 100 us on one stream. */
static inline void write_many(struct program *program, int rank, int block) {
  static const char *const names[] = {"a", "b", "c", "d", "e"};
  (void)rank;
  if (block == 0)
    program_mark(program, DO_STEP, 0);
  for (int i = 0; i < 5 && block == 0; i++)
    launch(program, STREAM_COMPUTE, names[i], 100 * US);
}

#endif
