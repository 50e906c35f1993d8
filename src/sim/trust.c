/* What a replay keeps because nothing explains it: the other side of a small replay error.
 *
 *   unexplained_lag  the whole |residual| of every device start above 2 us;
 *   boundary         time in the step for which a boundary alone, beyond all other known constraints, holds a
 *                    device start;
 *   resource_wait    time in the step for which a kernel of another stream, leaving no SMs free, alone holds a device
 *                    start;
 *   kept_wait        time in which communication runs whose end is tied to no other rank's: the waiting in it stays as
 *                    measured;
 *   host_gap         time between events on the threads that drive the device (on all, where none does), less what
 *                    hand-overs cover;
 *   host_unknown     of that the gaps over 1 ms without a hand-over, and of calls over five times their name's median
 *                    what exceeds the median.
 *   profiler_time    of the time of those threads what recording takes, at least, where the rank's recording shows it:
 *                    a replay keeps it, and so does a change of the host's speed.
 */
#include "sim/metrics.h"

#include "graph/profiler.h"
#include "graph/typical.h"
#include "sim/clock.h"
#include <stdlib.h>

/* LONG_CALL_TIMES: medians of the call's name. Chosen, on 33 real traces: so the CPU time shows that a replay keeps and
 * nothing explains. Gaps are up to half of a trace, long calls 97 % of one (cudaDeviceGetStreamPriorityRange). */
enum { LONG_GAP_NS = 1000000, LONG_CALL_TIMES = 5 };

struct trust {
  const struct lumos_job *job;
  const struct lumos_timeline *told;    /* by whose steps they are told: the measured, of an edited job the simulated */
  int64_t *unexplained, *gap, *unknown; /* by step */
  int64_t *profiler;                    /* by step; LUMOS_ABSENT: the rank's recording does not show it */
  uint8_t *driving;                     /* by lane: a thread whose gaps and calls count */
  int64_t *medians;                     /* by name: of calls on such threads */
  bool drifts;                          /* of the lane at hand */
  uint32_t guess;
};

static bool is_call(const struct lumos_task *task) {
  return task->kind == LUMOS_LAUNCH || task->kind == LUMOS_SYNC || task->kind == LUMOS_EVENT ||
         task->kind == LUMOS_ALLOC || task->kind == LUMOS_OTHER_HOST;
}

/* The step that a task's figures belong to: its own, or for work launched before the recording the one it ran in. */
static uint32_t step_of(struct trust *trust, uint32_t t) {
  const struct lumos_task *task = &trust->job->tasks.items[t];
  uint32_t rank = lumos_rank_of(trust->job, task);
  const struct lumos_steps_list *steps = &trust->told->steps;
  if (task->step != LUMOS_ABSENT_INT) {
    return lumos_step_index(steps, rank, task->step, &trust->guess);
  }
  int64_t start = 0, end = 0;
  if (!lumos_task_interval(trust->job, trust->told->runs, t, &start, &end)) {
    return LUMOS_NONE;
  }
  uint32_t found = lumos_step_after(steps, rank, start);
  return found != LUMOS_NONE && steps->items[found].start <= start ? found : LUMOS_NONE;
}

static void add_unexplained(struct trust *trust, const struct lumos_lane *stream) {
  const struct lumos_job *job = trust->job;
  for (uint32_t t = stream->task_first; t < stream->task_first + stream->task_count; t++) {
    int64_t residual = lumos_timing_of(job, t)->residual;
    residual = residual == LUMOS_ABSENT ? 0 : residual < 0 ? -residual : residual;
    uint32_t step = residual > LUMOS_UNEXPLAINED_NS ? step_of(trust, t) : LUMOS_NONE;
    if (step != LUMOS_NONE) {
      trust->unexplained[step] = lumos_time_sum(trust->unexplained[step], residual);
    }
  }
}

/* Threads that launch or wait; on a rank without a device every thread. */
static void find_driving_threads(struct trust *trust) {
  const struct lumos_job *job = trust->job;
  const struct lumos_task *tasks = job->tasks.items;
  for (uint32_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    const struct lumos_rank *rank = &job->ranks.items[lane->rank];
    uint32_t end = lane->task_first + lane->task_count;
    if (job->lanes.items[rank->lane_first + rank->lane_count - 1].kind == LUMOS_THREAD) {
      trust->driving[l] = 1;
    } else if (lane->kind == LUMOS_THREAD) {
      for (uint32_t t = lane->task_first; t < end && !trust->driving[l]; t++) {
        trust->driving[l] = lumos_call_waits(job, &tasks[t]);
      }
    } else {
      for (uint32_t t = lane->task_first; t < end; t++) {
        if (tasks[t].call != LUMOS_NONE) {
          trust->driving[tasks[tasks[t].call].lane] = 1;
        }
      }
    }
  }
}

static bool counted_call(const struct trust *trust, const struct lumos_task *task) {
  return is_call(task) && !lumos_call_waits(trust->job, task);
}

static bool is_driving(const struct trust *trust, uint32_t lane) {
  return trust->driving[lane] && trust->job->lanes.items[lane].kind == LUMOS_THREAD;
}

static bool drifts(const struct lumos_job *job, uint32_t lane) {
  const struct lumos_clock *clock = &job->ranks.items[job->lanes.items[lane].rank].clock;
  return clock->known && clock->drift_ppb != 0;
}

/* In job time. */
static int64_t length_of(const struct trust *trust, uint32_t t, int64_t dur) {
  const struct lumos_task *task = &trust->job->tasks.items[t];
  return trust->drifts ? lumos_job_length(trust->job, task->lane, task->start, dur) : dur;
}

static int64_t lag_of(const struct trust *trust, uint32_t t) {
  const struct lumos_task *task = &trust->job->tasks.items[t];
  if (!trust->drifts) {
    return task->lag;
  }
  int64_t from = task->start == LUMOS_ABSENT ? LUMOS_ABSENT : task->start - task->lag;
  return lumos_job_length(trust->job, task->lane, from, task->lag);
}

struct call {
  lumos_string_id name;
  int64_t length, weight; /* of how many ranks */
};
LUMOS_VECTOR_TYPE(calls, struct call);

static void find_calls(struct trust *trust, uint32_t lane, struct calls *calls) {
  const struct lumos_lane *thread = &trust->job->lanes.items[lane];
  trust->drifts = drifts(trust->job, lane);
  int64_t weight = lumos_rank_weight(&trust->job->ranks.items[thread->rank]);
  for (uint32_t t = thread->task_first; t < thread->task_first + thread->task_count; t++) {
    const struct lumos_task *task = &trust->job->tasks.items[t];
    if (counted_call(trust, task)) {
      lumos_vector_push(calls, ((struct call){task->name, length_of(trust, t, task->dur), weight}));
    }
  }
}

/* A counting sort by name, then each name's own. */
static void find_medians(struct trust *trust) {
  size_t names = lumos_strings_count(trust->job->strings) + 1;
  struct calls calls = {0};
  for (uint32_t lane = 0; lane < trust->job->lanes.count; lane++) {
    if (is_driving(trust, lane)) {
      find_calls(trust, lane, &calls);
    }
  }
  size_t *first = lumos_allocate_zeroed(names + 2, sizeof *first);
  for (size_t i = 0; i < calls.count; i++) {
    first[calls.items[i].name + 2]++;
  }
  for (size_t name = 2; name < names + 2; name++) {
    first[name] += first[name - 1];
  }
  int64_t *lengths = lumos_allocate(calls.count * sizeof *lengths);
  int64_t *weights = lumos_ranks_weigh_alike(trust->job) ? NULL : lumos_allocate(calls.count * sizeof *weights);
  for (size_t i = 0; i < calls.count; i++) {
    size_t place = first[calls.items[i].name + 1]++;
    lengths[place] = calls.items[i].length;
    if (weights != NULL) {
      weights[place] = calls.items[i].weight;
    }
  }
  trust->medians = lumos_allocate_zeroed(names, sizeof *trust->medians);
  for (size_t name = 0; name < names; name++) {
    size_t count = first[name + 1] - first[name];
    if (count > 0) {
      const int64_t *own = weights == NULL ? NULL : weights + first[name];
      trust->medians[name] = lumos_weighted_median(lengths + first[name], own, count);
    }
  }
  free(lengths);
  free(weights);
  free(first);
  lumos_vector_free(&calls);
}

static void add_host_task(struct trust *trust, uint32_t t) {
  const struct lumos_task *task = &trust->job->tasks.items[t];
  uint32_t step = step_of(trust, t);
  if (step == LUMOS_NONE) {
    return;
  }
  struct lumos_times own = lumos_own_times(trust->job, t);
  int64_t lag = lag_of(trust, t), explained = task->lag - own.lag;
  trust->gap[step] = lumos_time_sum(trust->gap[step], lag > explained ? lag - explained : 0);
  if (lag > LONG_GAP_NS && explained == 0) {
    trust->unknown[step] = lumos_time_sum(trust->unknown[step], lag);
  }
  if (trust->profiler[step] != LUMOS_ABSENT) {
    struct lumos_profiled part = lumos_profiled_part(trust->job, t);
    trust->profiler[step] = lumos_time_sum(trust->profiler[step], part.dur + part.lag);
  }
  int64_t dur = length_of(trust, t, own.dur);
  if (counted_call(trust, task) && dur > LONG_CALL_TIMES * trust->medians[task->name]) {
    trust->unknown[step] = lumos_time_sum(trust->unknown[step], dur - trust->medians[task->name]);
  }
}

static void add_host(struct trust *trust) {
  const struct lumos_job *job = trust->job;
  find_medians(trust);
  for (uint32_t lane = 0; lane < job->lanes.count; lane++) {
    const struct lumos_lane *thread = &job->lanes.items[lane];
    trust->drifts = drifts(job, lane);
    for (uint32_t t = thread->task_first; is_driving(trust, lane) && t < thread->task_first + thread->task_count; t++) {
      add_host_task(trust, t);
    }
  }
}

/* Boundaries and resources hold on the simulated timeline; what they hold is cut to its steps. */
static void add_holds(const struct lumos_job *job, const struct lumos_steps_list *steps,
                      const struct lumos_holds *holds, enum lumos_dep_kind kind, int64_t *sums) {
  for (size_t i = 0; i < holds->count; i++) {
    const struct lumos_hold *hold = &holds->items[i];
    if (hold->kind != kind) {
      continue;
    }
    uint32_t rank = lumos_rank_of(job, &job->tasks.items[hold->task]);
    uint32_t first = lumos_step_after(steps, rank, hold->from);
    for (size_t s = first; first != LUMOS_NONE && s < steps->count; s++) {
      const struct lumos_step *step = &steps->items[s];
      if (step->rank != rank || step->start >= hold->to) {
        break;
      }
      int64_t from = hold->from > step->start ? hold->from : step->start;
      int64_t to = hold->to < step->end ? hold->to : step->end;
      sums[s] = lumos_time_sum(sums[s], to - from);
    }
  }
}

/* 0 where there is something to add up. */
static void begin_profiler_time(struct trust *trust) {
  const struct lumos_steps_list *steps = &trust->told->steps;
  for (size_t i = 0; i < steps->count; i++) {
    const struct lumos_profiler *known = &trust->job->ranks.items[steps->items[i].rank].profiler;
    bool any = known->before_op != LUMOS_ABSENT || known->after_op != LUMOS_ABSENT || known->after_call != LUMOS_ABSENT;
    trust->profiler[i] = any ? 0 : LUMOS_ABSENT;
  }
}

void lumos_write_trust(struct lumos_job *job, const struct lumos_timeline *measured,
                       const struct lumos_timeline *simulated, const struct lumos_holds *holds, const int64_t *kept) {
  struct trust trust = {.job = job, .told = lumos_job_edited(job) || measured->steps.count == 0 ? simulated : measured};
  size_t steps = trust.told->steps.count;
  trust.unexplained = lumos_allocate_zeroed(steps, sizeof *trust.unexplained);
  trust.gap = lumos_allocate_zeroed(steps, sizeof *trust.gap);
  trust.unknown = lumos_allocate_zeroed(steps, sizeof *trust.unknown);
  trust.driving = lumos_allocate_zeroed(job->lanes.count, sizeof *trust.driving);
  int64_t *boundary = lumos_allocate_zeroed(simulated->steps.count, sizeof *boundary);
  trust.profiler = lumos_allocate(steps * sizeof *trust.profiler);
  begin_profiler_time(&trust);
  find_driving_threads(&trust);
  for (size_t lane = 0; lane < job->lanes.count; lane++) {
    if (job->lanes.items[lane].kind == LUMOS_STREAM) {
      add_unexplained(&trust, &job->lanes.items[lane]);
    }
  }
  add_host(&trust);
  int64_t *resource = lumos_allocate_zeroed(simulated->steps.count, sizeof *resource);
  add_holds(job, &simulated->steps, holds, LUMOS_BOUNDARY, boundary);
  add_holds(job, &simulated->steps, holds, LUMOS_RESOURCE, resource);
  lumos_metric_by_step(job, "unexplained_lag", trust.told, trust.unexplained);
  lumos_metric_by_step(job, "boundary", simulated, boundary);
  lumos_metric_by_step(job, "resource_wait", simulated, resource);
  lumos_metric_by_step(job, "kept_wait", measured, kept);
  lumos_metric_by_step(job, "host_gap", trust.told, trust.gap);
  lumos_metric_by_step(job, "host_unknown", trust.told, trust.unknown);
  lumos_metric_by_step(job, "profiler_time", trust.told, trust.profiler);
  free(trust.unexplained);
  free(trust.gap);
  free(trust.unknown);
  free(trust.profiler);
  free(trust.driving);
  free(trust.medians);
  free(boundary);
  free(resource);
}
