/* Stages of a pipeline with more even work: layers move from one to another, and with them kernels and the gaps between
 * them, what threads do, the optimizer, and communication within the stage. Where layers are known, whole ones move,
 * and the work of each stage's layers is scaled by how many it holds then. Else, or where none should move, all work of
 * a stage is scaled as its kernels have to be, so that they take what they take on the mean of all stages; passes and
 * the optimizer apart. What threads take is no measure then: each has slow stretches of its own.
 */
#include "sim/improving.h"

#include "program/reach.h"
#include "sim/engine.h"
#include "sim/layer_split.h"
#include "sim/metrics.h"
#include <math.h>
#include <stdlib.h>

enum { OF_PASSES, OF_OPTIMIZER, WORKS };

/* By what share a layer may take another time on another stage, one standard deviation. Chosen. */
#define UNLIKE 0.1

struct stage { /* what kernels take on its ranks, in ns, sum and mean of these; and what all work there is scaled by */
  __int128 sum[WORKS], ranks;
  double work[WORKS], factor[WORKS];
};

/* Stages, and whether whole layers move between them. */
struct pipeline {
  struct stage *stages;
  int32_t count;
  bool whole;
};

/* LUMOS_NONE: it does not move with a layer. */
static uint32_t work_of(const struct lumos_improving *improving, uint32_t t, bool whole) {
  const struct lumos_task *task = lumos_improving_task(improving, t);
  bool passes = lumos_improving_backward(task) || task->phase == LUMOS_FORWARD;
  bool moves = lumos_on_stream(improving->job, task) ? lumos_improving_computes(improving, t)
                                                     : !lumos_call_waits(improving->job, task);
  moves = moves && (!whole || !passes || task->part == LUMOS_PART_LAYER);
  return !moves ? LUMOS_NONE : passes ? OF_PASSES : task->phase == LUMOS_OPTIMIZER_PHASE ? OF_OPTIMIZER : LUMOS_NONE;
}

/* Between a kernel and the one before it. */
static int64_t gap_before(const struct lumos_improving *improving, uint32_t t) {
  int64_t gap = lumos_timing_of(improving->job, t)->gap;
  return gap == LUMOS_ABSENT || gap < 0 ? 0 : gap;
}

static uint32_t stage_of(const struct lumos_improving *improving, size_t rank, int32_t stages) {
  const struct lumos_rank *of = &improving->job->ranks.items[rank];
  return of->has_parallel && of->parallel.pp >= 0 && of->parallel.pp < stages ? (uint32_t)of->parallel.pp : LUMOS_NONE;
}

static uint32_t stage_of_task(const struct lumos_improving *improving, uint32_t t, int32_t stages) {
  return stage_of(improving, lumos_rank_of(improving->job, lumos_improving_task(improving, t)), stages);
}

/* False: of some stage no rank is there. */
static bool find_stages(const struct lumos_improving *improving, struct stage *stages, int32_t count) {
  uint8_t *works = lumos_allocate_zeroed(improving->job->ranks.count + 1, 1); /* of a rank kernels were recorded */
  for (uint32_t t = 0; t < improving->job->tasks.count; t++) {
    const struct lumos_task *task = lumos_improving_task(improving, t);
    uint32_t work = work_of(improving, t, false), stage = stage_of_task(improving, t, count);
    if (work != LUMOS_NONE && stage != LUMOS_NONE && lumos_on_stream(improving->job, task)) {
      uint32_t r = lumos_rank_of(improving->job, task);
      stages[stage].sum[work] = lumos_weighted_sum(stages[stage].sum[work], task->dur + gap_before(improving, t),
                                                   lumos_rank_weight(&improving->job->ranks.items[r]));
      works[r] = 1;
    }
  }
  for (size_t r = 0; r < improving->job->ranks.count; r++) {
    uint32_t stage = works[r] ? stage_of(improving, r, count) : LUMOS_NONE;
    if (stage != LUMOS_NONE) {
      stages[stage].ranks += lumos_rank_weight(&improving->job->ranks.items[r]);
    }
  }
  free(works);
  bool all = true;
  for (int32_t s = 0; s < count; s++) {
    for (int work = 0; work < WORKS; work++) {
      stages[s].work[work] = stages[s].ranks > 0 ? (double)stages[s].sum[work] / (double)stages[s].ranks : 0;
    }
    all = all && stages[s].work[OF_PASSES] > 0;
  }
  return all;
}

static void find_factors(struct stage *stages, int32_t count) {
  for (int work = 0; work < WORKS; work++) {
    double sum = 0;
    for (int32_t s = 0; s < count; s++) {
      sum += stages[s].work[work];
    }
    for (int32_t s = 0; s < count; s++) {
      stages[s].factor[work] = stages[s].work[work] > 0 ? sum / count / stages[s].work[work] : 1;
    }
  }
}

static int64_t part_of(int64_t time, double factor) { return llround((double)time * factor); }

/* Of a kernel the gap before it stays in a variant: what it would shrink by, or grow, is taken from the kernel. */
static void scale_tasks(struct lumos_improving *improving, const struct pipeline *of) {
  struct lumos_times *times = lumos_improve_times(improving);
  for (uint32_t t = 0; t < improving->job->tasks.count; t++) {
    uint32_t work = work_of(improving, t, of->whole), stage = stage_of_task(improving, t, of->count);
    if (work == LUMOS_NONE || stage == LUMOS_NONE) {
      continue;
    }
    double factor = of->stages[stage].factor[work];
    if (lumos_on_stream(improving->job, lumos_improving_task(improving, t))) {
      int64_t gap = gap_before(improving, t), whole = part_of(times[t].dur + gap, factor);
      times[t].dur = whole > gap ? whole - gap : 0;
    } else {
      times[t].dur = part_of(times[t].dur, factor);
      times[t].lag = times[t].lag > 0 ? part_of(times[t].lag, factor) : times[t].lag;
    }
  }
  improving->improved->variant.threads = improving->improved->variant.streams = true;
}

static void scale_transfers(struct lumos_improving *improving, const struct pipeline *pipeline) {
  const struct lumos_job *job = improving->job;
  int64_t *transfers = lumos_improve_transfers(improving);
  struct lumos_reaches reaches = {0};
  lumos_reaches_read(job, &reaches);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *of = &job->collectives.items[c];
    uint32_t first = of->member_count == 0 ? LUMOS_NONE : job->members.items[of->member_first];
    uint32_t stage = first == LUMOS_NONE ? LUMOS_NONE : stage_of_task(improving, first, pipeline->count);
    bool moves = stage != LUMOS_NONE && (!pipeline->whole || job->tasks.items[first].part == LUMOS_PART_LAYER);
    if (moves && transfers[c] != LUMOS_ABSENT && !lumos_crosses_stages(job, &reaches, of)) {
      transfers[c] = part_of(transfers[c], pipeline->stages[stage].factor[OF_PASSES]);
    }
  }
  lumos_reaches_free(&reaches);
}

/* Layers are whole: some stage has up to half of one more than the mean. */
static void doubt_layers(struct lumos_improving *improving, const struct stage *stages, int32_t count) {
  int32_t layers = improving->job->models.count == 1 ? improving->job->models.items[0].layers : LUMOS_ABSENT_INT;
  double work = 0;
  for (int32_t s = 0; s < count; s++) {
    work += stages[s].work[OF_PASSES];
  }
  if (layers > 0) {
    double steps = lumos_improving_steps(improving) / (double)improving->job->ranks.count;
    improving->improved->assumed.longer = LUMOS_ANYTHING * work / steps / layers / 2;
  }
}

/* False: none should move, or they are not known. */
static bool move_layers(const struct lumos_improving *improving, struct pipeline *pipeline) {
  struct lumos_layer_split split;
  if (!lumos_split_layers(improving->job, &split) || split.stages != pipeline->count || !lumos_split_moves(&split)) {
    return false;
  }
  double layer = INFINITY, moved = 0;
  for (int32_t s = 0; s < split.stages; s++) {
    pipeline->stages[s].factor[OF_PASSES] = (double)split.given[s] / split.held[s];
    pipeline->stages[s].factor[OF_OPTIMIZER] = split.optimizer[s];
    layer = fmin(layer, pipeline->stages[s].work[OF_PASSES] / split.held[s]);
    moved += split.given[s] > split.held[s] ? split.given[s] - split.held[s] : 0;
  }
  double steps = lumos_improving_steps(improving) / (double)improving->job->ranks.count;
  improving->improved->assumed.either = UNLIKE * layer * moved / steps;
  return true;
}

bool lumos_improve_stages(struct lumos_improving *improving) {
  enum { MOST_STAGES = 1 << 16 };
  struct pipeline pipeline = {.count = lumos_pipeline_length(improving->job)};
  if (pipeline.count < 2 || pipeline.count > MOST_STAGES) {
    return false;
  }
  pipeline.stages = lumos_allocate_zeroed((size_t)pipeline.count, sizeof *pipeline.stages);
  bool known = find_stages(improving, pipeline.stages, pipeline.count);
  pipeline.whole = known && move_layers(improving, &pipeline);
  improving->improved->assumed.moves_layers = pipeline.whole;
  if (known) {
    if (!pipeline.whole) {
      find_factors(pipeline.stages, pipeline.count);
      doubt_layers(improving, pipeline.stages, pipeline.count);
    }
    scale_tasks(improving, &pipeline);
    scale_transfers(improving, &pipeline);
  }
  free(pipeline.stages);
  return known;
}
