/* What random programs (random_job.h) lack of dependencies, and variants that change some of everything. */
#ifndef LUMOS_TESTS_RANDOM_VARIANT_H
#define LUMOS_TESTS_RANDOM_VARIANT_H

#include "random_job.h"

#include "sim/variant.h"
#include <lumos/job.h>
#include <stdio.h>

static inline uint32_t any_of(const struct lumos_job *job, uint32_t lane) {
  return job->lanes.items[lane].task_first + (uint32_t)pick(job->lanes.items[lane].task_count);
}

static inline void add_boundaries(struct lumos_job *job) {
  for (int64_t i = pick(3); i > 0; i--) {
    struct lumos_dep dep = lumos_dep_empty;
    dep.dst = (uint32_t)pick((int64_t)job->tasks.count);
    dep.kind = LUMOS_BOUNDARY;
    dep.mode = lumos_on_stream(job, &job->tasks.items[dep.dst]) && pick(2) == 0 ? LUMOS_RUN_TIME : LUMOS_FIXED;
    dep.covers = dep.mode == LUMOS_RUN_TIME ? 1 + pick(50) : LUMOS_ABSENT; /* so long behind all else */
    dep.at = pick(300);
    dep.lag = pick(5);
    dep.to = LUMOS_START;
    lumos_vector_push(&job->deps, dep);
  }
}

static inline void add_handovers(struct lumos_job *job) {
  for (int64_t i = pick(4); i > 0; i--) {
    struct lumos_dep dep = lumos_dep_empty;
    uint32_t half = job->lanes.items[0].task_count / 2;
    if (half == 0 || job->lanes.items[1].task_count < 2) {
      return;
    }
    dep.src = job->lanes.items[0].task_first + (uint32_t)pick(half);
    dep.dst = job->lanes.items[1].task_first + job->lanes.items[1].task_count / 2 +
              (uint32_t)pick(job->lanes.items[1].task_count - job->lanes.items[1].task_count / 2);
    dep.kind = LUMOS_HANDOVER;
    dep.mode = LUMOS_FIXED;
    dep.from = LUMOS_END;
    dep.to = LUMOS_START;
    dep.lag = pick(20) - 2;
    lumos_vector_push(&job->deps, dep);
  }
}

/* Names, origins and evidence, which random programs lack and a job has (lumos_job_check). */
static inline void complete(struct lumos_job *job) {
  char name[16];
  for (uint32_t l = 0; l < job->lanes.count; l++) {
    struct lumos_lane *lane = &job->lanes.items[l];
    int length = snprintf(name, sizeof name, "%c%u", lane->kind == LUMOS_STREAM ? 's' : 't', l % LANES);
    lane->lane = lane->native = lumos_intern(job->strings, name, (size_t)length);
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    int length = snprintf(name, sizeof name, "n%d", (int)pick(50));
    task->name = lumos_intern(job->strings, name, (size_t)length);
    task->seq = t - job->lanes.items[task->lane].task_first;
    task->id = t - job->ranks.items[lumos_rank_of(job, task)].task_first;
    if (lumos_on_stream(job, task)) {
      lumos_task_timing(job, task)->origin = LUMOS_LAUNCHED;
    }
  }
  struct lumos_group group = lumos_group_empty;
  group.rank = 0;
  group.size = RANKS;
  group.id = lumos_intern_text(job->strings, "0");
  group.member_first = (uint32_t)job->group_ranks.count;
  group.member_count = RANKS;
  for (int32_t r = 0; r < RANKS; r++) {
    lumos_vector_push(&job->group_ranks, r);
  }
  lumos_vector_push(&job->groups, group);
  for (size_t c = 0; c < job->collectives.count; c++) {
    struct lumos_collective *collective = &job->collectives.items[c];
    collective->id = (uint32_t)c;
    collective->op = lumos_intern_text(job->strings, "all_reduce");
    collective->group = group.id;
    collective->matched = LUMOS_BY_SEQ;
    collective->size = RANKS;
    for (uint32_t m = 0; m < collective->member_count; m++) {
      struct lumos_detail detail = lumos_detail_empty;
      detail.comm.op = collective->op;
      detail.comm.group = group.id;
      job->tasks.items[job->members.items[collective->member_first + m]].detail = (uint32_t)job->details.count;
      lumos_vector_push(&job->details, detail);
    }
  }
  for (size_t i = 0; i < job->deps.count; i++) {
    struct lumos_dep *dep = &job->deps.items[i];
    dep->from = dep->src == LUMOS_NONE ? LUMOS_START : dep->from;
    dep->evidence = LUMOS_INFERRED;
  }
  lumos_job_set_ranges(job);
}

/* Of what the salt chooses, one in so many, another value: a function of the two and of what it is of. */
struct change {
  const struct lumos_job *job;
  bool threads, streams; /* of which tasks the times */
  uint64_t salt;
  uint32_t one_in;
};

static inline struct change any_change(const struct lumos_job *job) {
  bool threads = pick(3) != 0;
  return (struct change){.job = job,
                         .threads = threads,
                         .streams = !threads || pick(2) == 0,
                         .salt = (uint64_t)pick(MOST),
                         .one_in = 1 + (uint32_t)pick(pick(2) == 0 ? 4 : 60)};
}

static inline int64_t changed_by(const struct change *change, unsigned what, uint32_t of, int64_t own, int64_t least) {
  uint64_t hash = (change->salt * 31 + what) * UINT64_C(0x9E3779B97F4A7C15) + of * UINT64_C(0xBF58476D1CE4E5B9);
  hash ^= hash >> 29;
  if ((hash * UINT64_C(0x94D049BB133111EB) >> 40) % change->one_in != 0) {
    return own;
  }
  int64_t other = own + (int64_t)(hash >> 33) % MOST - MOST / 2;
  return other < least ? least : other;
}

static inline struct lumos_times changed_times(void *context, uint32_t task, struct lumos_times own) {
  const struct change *change = context;
  bool on_stream = lumos_on_stream(change->job, &change->job->tasks.items[task]);
  if (!(on_stream ? change->streams : change->threads)) {
    return own;
  }
  return (struct lumos_times){changed_by(change, 0, task, own.dur, 0), changed_by(change, 1, task, own.lag, 0)};
}
static inline int64_t changed_residual(void *context, uint32_t task, int64_t own) {
  return changed_by(context, 2, task, own, 0);
}
static inline int64_t changed_handover(void *context, uint32_t task, int64_t own) {
  return changed_by(context, 3, task, own, 0);
}
static inline int64_t changed_launch(void *context, uint32_t task, int64_t own) {
  return own < 0 ? own : changed_by(context, 4, task, own, own < MOST ? 0 : own - MOST / 2);
}
static inline int64_t changed_transfer(void *context, uint32_t collective, int64_t own) {
  return changed_by(context, 5, collective, own, 0);
}
static inline int64_t changed_boundary(void *context, uint32_t dep, int64_t own) {
  return changed_by(context, 6, dep, own, 0);
}

static inline struct lumos_variant variant_of(struct change *change) {
  return (struct lumos_variant){.context = change,
                                .times = changed_times,
                                .threads = change->threads,
                                .streams = change->streams,
                                .residual = changed_residual,
                                .handover = changed_handover,
                                .launch = changed_launch,
                                .transfer = changed_transfer,
                                .boundary = changed_boundary};
}

#endif
