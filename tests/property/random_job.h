/* Random programs: two ranks of two threads and three streams, with launches, records, stream waits, host waits of every
 * kind, blocking copies and all-reduces. */
#ifndef LUMOS_TESTS_RANDOM_JOB_H
#define LUMOS_TESTS_RANDOM_JOB_H

#include <lumos/job.h>

enum { RANKS = 2, THREADS = 2, STREAMS = 3, CALLS = 14, LANES = THREADS + STREAMS, EVENTS = 2, MOST = 100000 };

static uint64_t random_state;

static inline int64_t pick(int64_t bound) { /* 0 .. bound - 1; xorshift */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (int64_t)(random_state >> 11) % bound;
}

static inline uint32_t stream_of(uint32_t rank) { return rank * LANES + THREADS + (uint32_t)pick(STREAMS); }

static inline lumos_string_id event_name(struct lumos_job *job) {
  return lumos_intern(job->strings, "ab", (size_t)pick(EVENTS) + 1);
}

static inline struct lumos_task any_task(uint32_t lane, uint8_t kind) {
  struct lumos_task task = lumos_task_empty;
  task.lane = lane;
  task.kind = kind;
  task.step = 1;
  task.start = pick(MOST);
  task.dur = pick(4) == 0 ? pick(40 * MOST) : pick(MOST);
  task.lag = pick(3) == 0 ? pick(MOST) : 0;
  return task;
}

static inline void add_call(struct lumos_job *job, uint32_t rank, uint32_t thread) {
  struct lumos_task task = any_task(rank * LANES + thread, LUMOS_OP);
  struct lumos_detail detail = lumos_detail_empty;
  int64_t what = pick(14);
  bool records = what == 0 || what > 11, awaits = what == 1 || what == 10 || what == 11;
  if (records) {
    detail.event_op = LUMOS_EVENT_RECORD;
    detail.event_lane = stream_of(rank);
    detail.event_id = event_name(job);
  } else if (awaits) {
    detail.event_op = LUMOS_EVENT_WAIT;
    detail.event_lane = stream_of(rank);
    detail.event_id = event_name(job);
    detail.wait.on = LUMOS_WAIT_EVENT;
  } else if (what < 5) {
    static const uint8_t on[] = {LUMOS_WAIT_STREAM, LUMOS_WAIT_DEVICE, LUMOS_WAIT_SELF};
    detail.wait.on = on[what - 2];
    detail.wait.lane = what == 2 ? stream_of(rank) : LUMOS_NONE;
    detail.wait.residual = pick(MOST);
  }
  if (what < 5 || records || awaits) {
    task.detail = (uint32_t)job->details.count;
    lumos_vector_push(&job->details, detail);
  }
  lumos_vector_push(&job->tasks, task);
}

/* Does the program let this call launch: blocking copies always, ops mostly? */
static inline bool launches(const struct lumos_job *job, uint32_t call) {
  const struct lumos_task *task = &job->tasks.items[call];
  if (task->detail != LUMOS_NONE) {
    return job->details.items[task->detail].wait.on == LUMOS_WAIT_SELF;
  }
  return call % 4 != 0;
}

/* The stream's tasks: of every launching call some go here. All-reduces stand on the first stream, from the first
 * thread, so that the ranks have them in one order. */
static inline void add_stream(struct lumos_job *job, uint32_t lane, uint32_t first_call, uint32_t end_call) {
  for (uint32_t call = first_call; call < end_call; call++) {
    bool copy = lumos_detail_of(job, &job->tasks.items[call])->wait.on == LUMOS_WAIT_SELF;
    bool reduces = lane % LANES == THREADS && job->tasks.items[call].lane % LANES == 0;
    for (int i = 0; launches(job, call) && i < 2; i++) {
      if (pick(3) == 0) {
        continue;
      }
      struct lumos_task task = any_task(lane, reduces && !copy && pick(2) == 0 ? LUMOS_COLLECTIVE : LUMOS_GEMM);
      task.call = call;
      task.lag = pick(3) == 0 ? -pick(MOST) : 0;
      lumos_vector_push(&job->tasks, task);
    }
  }
}

static inline void add_timings(struct lumos_job *job) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    struct lumos_timing timing = lumos_timing_empty;
    task->id = t;
    if (task->call != LUMOS_NONE) {
      bool copy = lumos_detail_of(job, &job->tasks.items[task->call])->wait.on == LUMOS_WAIT_SELF;
      timing.launch_from = copy || pick(5) == 0 ? LUMOS_START : LUMOS_END;
      /* Nothing here starts before the call that launches it has taken effect, or before the collective before it has
       * all its members: that would be news from the past, about which the rules say nothing. */
      timing.launch_lag =
          pick(MOST) + (timing.launch_from == LUMOS_START && !copy ? job->tasks.items[task->call].dur : 0);
      timing.gap = pick(2) * pick(MOST / 10);
      timing.residual = pick(2) * pick(MOST / 10);
      timing.end_residual = task->kind == LUMOS_COLLECTIVE ? pick(100) : LUMOS_ABSENT;
    }
    *lumos_task_timing(job, task) = timing;
  }
}

/* The n-th all-reduce of rank 0 with the n-th of rank 1; those left over keep their own length. */
static inline void join_collectives(struct lumos_job *job) {
  uint32_t other = job->ranks.items[1].task_first;
  for (uint32_t t = 0; t < job->ranks.items[0].task_count; t++) {
    while (other < job->tasks.count && job->tasks.items[other].kind != LUMOS_COLLECTIVE) {
      other++;
    }
    if (job->tasks.items[t].kind == LUMOS_COLLECTIVE && other < job->tasks.count) {
      struct lumos_collective collective = lumos_collective_empty;
      collective.rule = LUMOS_SYMMETRIC;
      collective.transfer = MOST + pick(MOST);
      collective.member_first = (uint32_t)job->members.count;
      collective.member_count = 2;
      lumos_vector_push(&job->members, t);
      lumos_vector_push(&job->members, other);
      lumos_vector_push(&job->collectives, collective);
      other++;
    }
  }
}

/* One step, whose tasks are as random_state draws them. */
static inline struct lumos_job *random_job(void) {
  struct lumos_job *job = lumos_job_new();
  job->stage = LUMOS_STAGE_GRAPH;
  for (uint32_t r = 0; r < RANKS; r++) {
    struct lumos_rank rank = lumos_rank_empty;
    rank.rank = (int32_t)r;
    rank.lane_first = (uint32_t)job->lanes.count;
    rank.lane_count = LANES;
    rank.task_first = (uint32_t)job->tasks.count;
    for (uint32_t i = 0; i < LANES; i++) {
      struct lumos_lane lane = lumos_lane_empty;
      lane.rank = r;
      lane.kind = i < THREADS ? LUMOS_THREAD : LUMOS_STREAM;
      lane.task_first = (uint32_t)job->tasks.count;
      for (int call = 0; i < THREADS && call < CALLS; call++) {
        add_call(job, r, i);
      }
      if (i >= THREADS) {
        add_stream(job, (uint32_t)job->lanes.count, rank.task_first, rank.task_first + THREADS * CALLS);
      }
      lane.task_count = (uint32_t)job->tasks.count - lane.task_first;
      lumos_vector_push(&job->lanes, lane);
    }
    rank.task_count = (uint32_t)job->tasks.count - rank.task_first;
    lumos_vector_push(&job->ranks, rank);
  }
  add_timings(job);
  join_collectives(job);
  return job;
}

#endif
