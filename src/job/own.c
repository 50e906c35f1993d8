/* What graph says of single tasks since it says it of each: own times, depths of queues, origins. Streams that were
 * written before hold it in other places, which stand here alone. */
#include "job/own.h"

#include <stdlib.h>
#include <string.h>

/* Of several hand-overs to one task the one that explains most counts. */
static void take_lag(struct lumos_job *job, uint32_t t, int64_t covers) {
  int64_t lag = job->tasks.items[t].lag, own = lag > covers ? lag - covers : 0;
  int64_t *known = &lumos_task_detail(job, &job->tasks.items[t])->own_lag;
  *known = *known == LUMOS_ABSENT || own < *known ? own : *known;
}

static void take_dur(struct lumos_job *job, uint32_t t, int64_t covers) {
  int64_t dur = job->tasks.items[t].dur;
  lumos_task_detail(job, &job->tasks.items[t])->own_dur = dur > covers ? dur - covers : 0;
}

void lumos_job_take_covers(struct lumos_job *job) {
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (dep->covers == LUMOS_ABSENT || dep->covers <= 0 || dep->kind == LUMOS_BOUNDARY) {
      continue;
    }
    if (dep->to == LUMOS_END) {
      take_dur(job, dep->dst, dep->covers);
    } else if (dep->mode == LUMOS_FIXED) {
      take_lag(job, dep->dst, dep->covers);
    }
  }
}

void lumos_job_take_origins(struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task)) {
      lumos_task_timing(job, task)->origin = task->call != LUMOS_NONE         ? LUMOS_LAUNCHED
                                             : task->step == LUMOS_ABSENT_INT ? LUMOS_BEFORE_RECORDING
                                                                              : LUMOS_NOT_RECORDED;
    }
  }
}

/* The latest measured end, before any change, of a stream's tasks without a step; they stand before all others. */
static int64_t end_before_steps(const struct lumos_job *job, const struct lumos_lane *lane) {
  int64_t latest = LUMOS_ABSENT;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lane->kind != LUMOS_STREAM || task->step != LUMOS_ABSENT_INT) {
      break;
    }
    int64_t was = lumos_detail_of(job, task)->was;
    int64_t end = task->start == LUMOS_ABSENT ? LUMOS_ABSENT : task->start + (was == LUMOS_ABSENT ? task->dur : was);
    latest = end > latest ? end : latest;
  }
  return latest;
}

void lumos_job_keep_bases(struct lumos_job *job) {
  for (size_t r = 0; r < job->ranks.count; r++) {
    struct lumos_rank *rank = &job->ranks.items[r];
    int64_t latest = LUMOS_ABSENT;
    for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
      int64_t end = end_before_steps(job, &job->lanes.items[l]);
      latest = end > latest ? end : latest;
    }
    if (rank->base_lag == LUMOS_ABSENT && latest != LUMOS_ABSENT) {
      rank->base_lag = rank->base - latest;
    }
  }
}

/* ---- streams of before ---- */

static bool says(const struct lumos_job *job) {
  for (size_t i = 0; i < job->timings.count; i++) {
    if (job->timings.items[i].origin != 0) {
      return true;
    }
  }
  for (size_t i = 0; i < job->details.count; i++) { /* without streams */
    if (job->details.items[i].own_lag != LUMOS_ABSENT || job->details.items[i].own_dur != LUMOS_ABSENT) {
      return true;
    }
  }
  return false;
}

/* A full queue's edge led from the task that made room to the call of the one that came in. */
static void take_depths(struct lumos_job *job) {
  uint32_t *first = lumos_allocate(job->tasks.count * sizeof *first);
  memset(first, 0xFF, job->tasks.count * sizeof *first);
  for (uint32_t t = (uint32_t)job->tasks.count; t-- > 0;) {
    if (job->tasks.items[t].call != LUMOS_NONE) {
      first[job->tasks.items[t].call] = t;
    }
  }
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    uint32_t launched = dep->kind == LUMOS_QUEUE && dep->src != LUMOS_NONE ? first[dep->dst] : LUMOS_NONE;
    if (launched != LUMOS_NONE && job->tasks.items[launched].lane == job->tasks.items[dep->src].lane &&
        launched > dep->src + 1 && launched - dep->src - 1 <= INT32_MAX) {
      job->lanes.items[job->tasks.items[launched].lane].queue_depth = (int32_t)(launched - dep->src - 1);
    }
  }
  free(first);
}

static void take_lost_calls(struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    if (task->timing != LUMOS_NONE && task->call == LUMOS_NONE &&
        job->timings.items[task->timing].origin == LUMOS_LAUNCHED) {
      job->timings.items[task->timing].origin = LUMOS_NOT_RECORDED;
    }
  }
}

void lumos_job_take_old(struct lumos_job *job, bool edited) {
  if (job->stage >= LUMOS_STAGE_GRAPH && !says(job)) {
    take_depths(job);
    lumos_job_take_covers(job);
    lumos_job_take_origins(job);
  } else if (edited) {
    take_lost_calls(job);
  }
  if (job->edited == LUMOS_ABSENT_INT && lumos_job_has_tool(job, LUMOS_STAGE_TRANSFORM)) {
    job->edited = 1;
  }
}
