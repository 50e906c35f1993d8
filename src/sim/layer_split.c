#include "sim/layer_split.h"

#include "program/reach.h"
#include "sim/metrics.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 100000 /* no model has more */ };

/* Sums over the ranks of a stage; `calls` are launches. */
struct work {
  __int128 layers, rest, optimizer;
  __int128 layer_calls, rest_calls;
};

struct stages {
  const struct lumos_job *job;
  struct work work[LUMOS_SPLIT_STAGES];
  int64_t ranks[LUMOS_SPLIT_STAGES];
  __int128 host, calls; /* what threads that launch are busy for, and how often they launch */
  bool by_host;
};

bool lumos_lane_launches(const struct lumos_job *job, const struct lumos_lane *lane) {
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    if (job->tasks.items[t].kind == LUMOS_LAUNCH) {
      return true;
    }
  }
  return false;
}

/* Blocked by the GPU it is not busy. */
static int64_t busy_time(const struct lumos_job *job, uint32_t t) {
  struct lumos_times own = lumos_own_times(job, t);
  bool blocked = lumos_detail_of(job, &job->tasks.items[t])->wait.on != 0;
  return (own.lag > 0 ? own.lag : 0) + (blocked ? 0 : own.dur);
}

static void add_task(struct stages *stages, uint32_t t, int64_t weight, struct work *work) {
  const struct lumos_task *task = &stages->job->tasks.items[t];
  bool layer = task->part == LUMOS_PART_LAYER;
  if (task->kind == LUMOS_LAUNCH) {
    __int128 *calls = layer ? &work->layer_calls : &work->rest_calls;
    *calls += weight;
    stages->calls += weight;
  } else if (lumos_on_stream(stages->job, task) && !lumos_is_communication(task->kind)) {
    __int128 *sum = layer ? &work->layers : &work->rest;
    *sum = lumos_weighted_sum(*sum, task->dur, weight);
    work->optimizer = lumos_weighted_sum(work->optimizer, task->dur, task->phase == LUMOS_OPTIMIZER_PHASE ? weight : 0);
  }
}

static void add_rank(struct stages *stages, const struct lumos_rank *rank) {
  int64_t weight = lumos_rank_weight(rank);
  stages->ranks[rank->parallel.pp] += weight;
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    const struct lumos_lane *lane = &stages->job->lanes.items[l];
    bool host = lane->kind == LUMOS_THREAD && lumos_lane_launches(stages->job, lane);
    for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
      if (stages->job->tasks.items[t].step != LUMOS_ABSENT_INT) {
        add_task(stages, t, weight, &stages->work[rank->parallel.pp]);
        stages->host = host ? lumos_weighted_sum(stages->host, busy_time(stages->job, t), weight) : stages->host;
      }
    }
  }
}

/* A launch takes the mean of all stages, so that a slow CPU is not taken for more work. */
static double host_of(const struct stages *stages, __int128 calls, int32_t s) {
  return stages->calls > 0 ? (double)stages->host / (double)stages->calls * (double)calls / (double)stages->ranks[s]
                           : 0;
}

static double layers_of(const struct stages *stages, int32_t s) {
  return stages->by_host ? host_of(stages, stages->work[s].layer_calls, s)
                         : (double)stages->work[s].layers / (double)stages->ranks[s];
}

static double rest_of(const struct stages *stages, int32_t s) {
  return stages->by_host ? host_of(stages, stages->work[s].rest_calls, s)
                         : (double)stages->work[s].rest / (double)stages->ranks[s];
}

/* The stage with most work of either kind. */
static int32_t find_heavy(struct stages *stages, int32_t count) {
  int32_t heavy = 0;
  double most = -1;
  bool most_by_host = false;
  for (int by_host = 0; by_host < 2; by_host++) {
    stages->by_host = by_host != 0;
    for (int32_t s = 0; s < count; s++) {
      double work = layers_of(stages, s) + rest_of(stages, s);
      if (work > most) {
        most = work;
        heavy = s;
        most_by_host = stages->by_host;
      }
    }
  }
  stages->by_host = most_by_host;
  return heavy;
}

/* Of the rank's tasks; `seen` has a byte for each layer. Those of several chunks, whose layers do not follow each
 * other, cannot be split by layer: 0. */
static int32_t count_layers(const struct lumos_job *job, const struct lumos_rank *rank, uint8_t *seen, int32_t most) {
  int32_t count = 0, lowest = most, highest = 0;
  memset(seen, 0, (size_t)most);
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task) && task->part == LUMOS_PART_LAYER && task->layer != LUMOS_ABSENT_INT) {
      if (task->layer < 0 || task->layer >= most) {
        return 0;
      }
      count += !seen[task->layer];
      seen[task->layer] = 1;
      lowest = task->layer < lowest ? task->layer : lowest;
      highest = task->layer > highest ? task->layer : highest;
    }
  }
  return count > 0 && highest - lowest + 1 == count ? count : 0;
}

/* False: the stages do not hold as many layers as the model has. */
static bool read_layers(const struct lumos_job *job, int32_t whole, struct lumos_layer_split *split) {
  uint8_t *seen = lumos_allocate((size_t)whole);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    split->held[rank->parallel.pp] = count_layers(job, rank, seen, whole);
  }
  free(seen);
  int64_t sum = 0;
  bool all = true;
  for (int32_t s = 0; s < split->stages; s++) {
    sum += split->held[s];
    all = all && split->held[s] > 0;
  }
  return all && sum == whole;
}

static void hand_out(const struct stages *stages, int32_t whole, struct lumos_layer_split *split) {
  double loads[LUMOS_SPLIT_STAGES] = {0}, layer = 0;
  for (int32_t s = 0; s < split->stages; s++) {
    layer += layers_of(stages, s) / whole;
  }
  for (int32_t s = 0; s < split->stages; s++) {
    split->given[s] = 1;
    loads[s] = rest_of(stages, s) + layer;
  }
  for (int32_t left = whole - split->stages; left > 0; left--) {
    int32_t least = 0;
    for (int32_t s = 1; s < split->stages; s++) {
      least = loads[s] < loads[least] ? s : least;
    }
    split->given[least]++;
    loads[least] += layer;
  }
}

/* What the stage with most work has, where each holds so many layers. */
static double most_work(const struct stages *stages, const struct lumos_layer_split *split, int32_t whole,
                        const int32_t *layers) {
  double layer = 0, most = 0;
  for (int32_t s = 0; s < split->stages; s++) {
    layer += layers_of(stages, s) / whole;
  }
  for (int32_t s = 0; s < split->stages; s++) {
    double work = rest_of(stages, s) + layer * layers[s];
    most = work > most ? work : most;
  }
  return most;
}

/* Layers stay where they are if what moving them gives GPUs, or CPUs, to do is more than what the heavy stage has
 * now. */
static void keep_unless_better(struct stages *stages, int32_t whole, struct lumos_layer_split *split) {
  double now = most_work(stages, split, whole, split->held);
  stages->by_host = !stages->by_host;
  if (most_work(stages, split, whole, split->given) > now) {
    memcpy(split->given, split->held, sizeof split->given);
  }
  stages->by_host = !stages->by_host;
}

/* The stage whose optimizer takes least for a layer has nothing but layers. */
static void scale_optimizers(const struct stages *stages, struct lumos_layer_split *split) {
  double layer = 0;
  for (int32_t s = 0; s < split->stages; s++) {
    double of_one = (double)stages->work[s].optimizer / (double)stages->ranks[s] / split->held[s];
    layer = s == 0 || of_one < layer ? of_one : layer;
  }
  for (int32_t s = 0; s < split->stages; s++) {
    double own = (double)stages->work[s].optimizer / (double)stages->ranks[s];
    split->optimizer[s] = own > 0 ? 1 + layer * (split->given[s] - split->held[s]) / own : 1;
  }
}

static bool read_stages(struct stages *stages, int32_t count) {
  for (uint32_t r = 0; r < stages->job->ranks.count; r++) {
    const struct lumos_rank *rank = &stages->job->ranks.items[r];
    if (!rank->has_parallel || rank->parallel.pp < 0 || rank->parallel.pp >= count) {
      return false;
    }
    add_rank(stages, rank);
  }
  for (int32_t s = 0; s < count; s++) {
    if (stages->ranks[s] == 0) {
      return false;
    }
  }
  return true;
}

bool lumos_split_layers(const struct lumos_job *job, struct lumos_layer_split *split) {
  int32_t count = lumos_pipeline_length(job);
  int32_t whole = job->models.count == 1 ? job->models.items[0].layers : LUMOS_ABSENT_INT;
  *split = (struct lumos_layer_split){.stages = count};
  if (count < 2 || count > LUMOS_SPLIT_STAGES || whole < count || whole > MOST_LAYERS) {
    return false;
  }
  struct stages *stages = lumos_allocate_zeroed(1, sizeof *stages);
  stages->job = job;
  bool known = read_stages(stages, count) && read_layers(job, whole, split);
  if (known) {
    split->heavy = find_heavy(stages, count);
    hand_out(stages, whole, split);
    keep_unless_better(stages, whole, split);
    scale_optimizers(stages, split);
  }
  free(stages);
  return known;
}
