/* Finding the stage with most work. */
#include "report/diagnosis/imbalance.h"

#include "program/reach.h"
#include "report/diagnosis/blocked.h"
#include "report/diagnosis/pace.h"
#include "report/text/numbers.h"
#include "sim/layer_split.h"
#include <stdlib.h>
#include <string.h>

enum { PARTS = LUMOS_PART_OPTIMIZER + 1 };

/* Sums over ranks and steps first, of one rank's step after average_stages. */
struct stage {
  int64_t weight;
  int64_t compute, host; /* of GPUs; of the CPU threads that launch their work */
  int64_t busy;          /* of its replicas: what the rank takes that waits least, see add_busy */
  int64_t replicas;
  int64_t parts[PARTS]; /* of compute */
  int64_t calls[PARTS]; /* that launch work of this part; 0: of any */
};

/* One rank's step: what it takes without waiting for others and without what was not recorded. */
struct own_time {
  int32_t stage, replica;
  int64_t busy, host, calls, weight; /* host and calls: of all steps */
};

/* How many stages there are; 0: the coordinates of a rank are not known, or there are more stages than ranks. */
static int32_t count_stages(const struct diagnosis_figures *figures) {
  const struct lumos_job *job = figures->job;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    if (figures->ranks[r].steps > 0 && (!rank->has_parallel || rank->parallel.pp < 0)) {
      return 0;
    }
  }
  int32_t stages = lumos_pipeline_length(job);
  return stages > 0 && (int64_t)stages <= (int64_t)job->ranks.count ? stages : 0;
}

bool diagnosis_lacks_stages(const struct lumos_job *job) {
  int32_t stages = lumos_pipeline_length(job), recorded = 0;
  if (stages < 2 || (int64_t)stages > (int64_t)job->ranks.count) {
    return stages >= 2;
  }
  bool *seen = lumos_allocate_zeroed((size_t)stages, sizeof *seen);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    if (rank->has_parallel && rank->parallel.pp >= 0 && rank->parallel.pp < stages && !seen[rank->parallel.pp]) {
      seen[rank->parallel.pp] = true;
      recorded++;
    }
  }
  free(seen);
  return recorded < stages;
}

static void add_task(const struct lumos_job *job, uint32_t number, int64_t weight, struct stage *stage) {
  const struct lumos_task *task = &job->tasks.items[number];
  unsigned part = task->part < PARTS ? task->part : 0;
  if (task->kind == LUMOS_LAUNCH) {
    stage->calls[part] = report_sum(stage->calls[part], weight);
  } else if (lumos_on_stream(job, task) && !lumos_is_communication(task->kind)) {
    stage->parts[part] = report_sum(stage->parts[part], report_product(task->dur, weight));
  }
}

/* What a thread is busy for; blocked by the GPU it is not. */
static int64_t busy_time(const struct lumos_job *job, uint32_t number) {
  struct lumos_times own = lumos_own_times(job, number);
  bool blocked = lumos_detail_of(job, &job->tasks.items[number])->wait.on != 0;
  return report_sum(own.lag > 0 ? own.lag : 0, blocked ? 0 : own.dur);
}

/* Sums of one rank, all with its weight. */
static struct stage read_tasks(const struct diagnosis_figures *figures, const struct lumos_rank *rank) {
  const struct lumos_job *job = figures->job;
  struct stage sums = {.weight = lumos_rank_weight(rank)};
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    bool launches = lane->kind == LUMOS_THREAD && lumos_lane_launches(job, lane);
    for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
      if (diagnosis_counts_step(figures, job->tasks.items[t].step)) {
        add_task(job, t, sums.weight, &sums);
        int64_t busy = launches ? busy_time(job, t) : 0;
        sums.host = report_sum(sums.host, report_product(busy, sums.weight));
      }
    }
  }
  return sums;
}

static int64_t calls_of(const struct stage *stage) {
  int64_t sum = 0;
  for (int part = 0; part < PARTS; part++) {
    sum += stage->calls[part];
  }
  return sum;
}

/* What the rank's GPU is slower than others. */
static int64_t slower_by(const struct diagnosis_rank *rank) {
  if (rank->pace != LUMOS_ABSENT && rank->pace >= DIAGNOSIS_SLOW_PACE) {
    return rank->compute - (int64_t)((__int128)rank->compute * 1000000 / rank->pace);
  }
  return rank->straggler && rank->late_compute > 0 ? rank->late_compute : 0;
}

static void add_rank(const struct diagnosis_figures *figures, uint32_t r, struct stage *stages, struct own_time *own) {
  const struct lumos_rank *rank = &figures->job->ranks.items[r];
  const struct diagnosis_rank *figure = &figures->ranks[r];
  struct stage sums = read_tasks(figures, rank);
  struct stage *stage = &stages[rank->parallel.pp];
  int64_t slower = slower_by(figure);
  stage->compute = report_sum(stage->compute, report_product(figure->compute - slower, sums.weight));
  stage->weight += sums.weight;
  stage->host = report_sum(stage->host, sums.host);
  for (int part = 0; part < PARTS; part++) {
    stage->parts[part] = report_sum(stage->parts[part], sums.parts[part]);
    stage->calls[part] = report_sum(stage->calls[part], sums.calls[part]);
  }
  *own = (struct own_time){.stage = rank->parallel.pp,
                           .replica = rank->parallel.dp,
                           .busy = figure->step - figure->waits - figure->not_recorded - slower,
                           .host = sums.host / sums.weight,
                           .calls = calls_of(&sums) / sums.weight,
                           .weight = sums.weight};
}

/* A launch takes the mean of all stages, so that a slow CPU is not taken for more work. */
static int64_t host_pace(const struct stage *stages, int32_t count) {
  int64_t host = 0, calls = 0;
  for (int32_t s = 0; s < count; s++) {
    host = report_sum(host, stages[s].host);
    calls = report_sum(calls, calls_of(&stages[s]));
  }
  return calls > 0 ? host / calls : 0;
}

static int compare_own(const void *left, const void *right) {
  const struct own_time *a = left, *b = right;
  return a->stage != b->stage       ? LUMOS_ORDER(a->stage, b->stage)
         : a->replica != b->replica ? LUMOS_ORDER(a->replica, b->replica)
                                    : LUMOS_ORDER(b->busy, a->busy);
}

/* Of ranks that share a stage of one replica, the others wait for the one that is busy longest: it sets the stage's
 * pace. What its CPU takes longer than the mean for its launches is no work of the stage. */
static void add_busy(struct stage *stages, struct own_time *own, size_t count, int64_t pace, int64_t steps) {
  for (size_t i = 0; i < count; i++) {
    int64_t slower = (own[i].host - report_product(own[i].calls, pace)) / steps;
    own[i].busy -= slower > 0 ? slower : 0;
  }
  qsort(own, count, sizeof *own, compare_own);
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || own[i].stage != own[i - 1].stage || own[i].replica != own[i - 1].replica) {
      struct stage *stage = &stages[own[i].stage];
      stage->busy = report_sum(stage->busy, report_product(own[i].busy, own[i].weight));
      stage->replicas += own[i].weight;
    }
  }
}

static struct stage *read_stages(const struct diagnosis_figures *figures, int32_t count) {
  const struct lumos_job *job = figures->job;
  struct stage *stages = lumos_allocate_zeroed((size_t)count + 1, sizeof *stages);
  struct own_time *own = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *own);
  size_t ranks = 0;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    if (figures->ranks[r].steps > 0) {
      add_rank(figures, r, stages, &own[ranks++]);
    }
  }
  add_busy(stages, own, ranks, host_pace(stages, count), figures->steps);
  free(own);
  return stages;
}

/* False: of a stage nothing was recorded. */
static bool average_stages(const struct diagnosis_figures *figures, struct stage *stages, int32_t count) {
  int64_t pace = host_pace(stages, count);
  bool complete = true;
  for (int32_t s = 0; s < count; s++) {
    struct stage *stage = &stages[s];
    complete = complete && stage->weight > 0;
    if (stage->weight > 0) {
      stage->compute /= stage->weight;
      stage->busy /= stage->replicas;
      stage->host = report_product(calls_of(stage), pace) / stage->weight / figures->steps;
      for (int part = 0; part < PARTS; part++) {
        stage->parts[part] = stage->parts[part] / stage->weight / figures->steps;
        stage->calls[part] = report_product(stage->calls[part], pace) / stage->weight / figures->steps;
      }
    }
  }
  return complete;
}

/* Of the GPU, or the CPU. */
static int64_t work_of(const struct stage *stage, bool by_host) { return by_host ? stage->host : stage->compute; }

/* Of the stage's work. */
static int64_t part_of(const struct stage *stage, int part, bool by_host) {
  return by_host ? stage->calls[part] : stage->parts[part];
}

/* What takes most of the difference to the mean of the other stages. Layers count where they are more. */
static void name_part(const struct stage *stages, int32_t count, bool by_host, struct diagnosis_imbalance *found) {
  const struct stage *heavy = &stages[found->stage];
  int64_t most = 0;
  for (int part = LUMOS_PART_EMBEDDING; part < PARTS; part++) {
    int64_t own = part_of(heavy, part, by_host);
    int64_t others = 0;
    for (int32_t s = 0; s < count; s++) {
      others += s == found->stage ? 0 : part_of(&stages[s], part, by_host) / (count - 1);
    }
    if (own - others > most) {
      most = own - others;
      found->part = (uint8_t)part;
      found->part_time = own;
    }
  }
}

/* Layers of tensor-parallel ranks communicate, too, so that what they compute is not what they take. */
static bool has_tensor_parallel_ranks(const struct lumos_job *job) {
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    if (job->ranks.items[r].parallel.tp > 0) {
      return true;
    }
  }
  return false;
}

/* As sim/layer_split.h hands them out; only where it takes the same stage for the one with most work. */
static void find_split(const struct lumos_job *job, const struct stage *heavy, bool by_host,
                       struct diagnosis_imbalance *found) {
  _Static_assert((int)LUMOS_FINDING_STAGES == (int)LUMOS_SPLIT_STAGES, "a finding has room for every split");
  struct lumos_layer_split split;
  found->layers = LUMOS_ABSENT_INT;
  found->part_ratio = LUMOS_ABSENT;
  if (lumos_split_layers(job, &split) && split.heavy == found->stage) {
    found->layers = split.held[found->stage];
    int64_t layers = part_of(heavy, LUMOS_PART_LAYER, by_host);
    found->part_ratio = layers > 0 && !has_tensor_parallel_ranks(job)
                            ? report_share(report_product(found->part_time, found->layers), layers)
                            : LUMOS_ABSENT;
    memcpy(found->split, split.given, sizeof found->split);
  }
}

/* One way to see which stage has most work. */
struct view {
  bool by_host;
  int32_t heavy;
  int64_t most, sum; /* its work, and that of all stages */
  int64_t even;      /* what each would have if all had the same */
  int64_t cost;
};

/* A stage whose excess over the mean is 3/4 of the heavy one's, or more, is nearly as heavy; the others wait for
 * both. */
static void find_idle(const struct stage *stages, const struct view *view, struct diagnosis_imbalance *found) {
  enum { NEARLY = 3, OF = 4 };
  int64_t least = (view->most - view->even) / OF * NEARLY, next = 0;
  found->next = LUMOS_ABSENT_INT;
  for (int32_t s = 0; s < found->stages; s++) {
    int64_t excess = work_of(&stages[s], view->by_host) - view->even;
    found->idle += excess < least;
    if (s != found->stage && excess >= least && excess > next) {
      next = excess;
      found->next = s;
    }
  }
}

/* What of a stage's time a step takes longer for: with few micro-batches others wait for it less often. */
static int64_t cost_of(int64_t time, int64_t batches) {
  return batches > 0 ? (int64_t)((__int128)time * (batches - 1) / batches) : time;
}

static struct view view_by(const struct stage *stages, int32_t count, bool by_host) {
  struct view view = {.by_host = by_host};
  for (int32_t s = 0; s < count; s++) {
    int64_t work = work_of(&stages[s], by_host);
    view.heavy = work > view.most ? s : view.heavy;
    view.most = work > view.most ? work : view.most;
    view.sum = report_sum(view.sum, work);
  }
  view.even = view.sum / count;
  return view;
}

/* A stage costs no more than what it takes longer than the mean stage without waiting. */
static int64_t cost_of_view(const struct stage *stages, int32_t count, const struct view *view, int64_t batches) {
  int64_t busy = 0;
  for (int32_t s = 0; s < count; s++) {
    busy = report_sum(busy, stages[s].busy);
  }
  int64_t more = view->most - view->even, longer = stages[view->heavy].busy - busy / count;
  return cost_of(more < longer ? more : longer, batches);
}

/* By whichever sets the pace of the heaviest stage, GPU or CPU; or by GPUs alone, even if all CPUs are busy for longer:
 * their work passes while a stage waits for others. But equal stages take no less than their CPUs do. */
static struct view find_view(const struct diagnosis_figures *figures, const struct stage *stages, int32_t count,
                             int64_t batches) {
  struct view compute = view_by(stages, count, false), host = view_by(stages, count, true);
  struct view pace = host.most > compute.most ? host : compute;
  pace.even = host.even > compute.even ? host.even : compute.even;
  pace.cost = cost_of_view(stages, count, &pace, batches);
  compute.cost = cost_of_view(stages, count, &compute, batches);
  int64_t above_host = figures->step - host.even;
  compute.cost = compute.cost < above_host ? compute.cost : above_host;
  return compute.cost > pace.cost ? compute : pace;
}

struct diagnosis_imbalance diagnosis_find_imbalance(const struct diagnosis_figures *figures) {
  const struct lumos_job *job = figures->job;
  struct diagnosis_imbalance found = {.stage = LUMOS_ABSENT_INT};
  int32_t count = count_stages(figures);
  int64_t batches = job->models.count > 0 ? job->models.items[0].micro_batches : LUMOS_ABSENT_INT;
  if (count < 2 || batches == 1) {
    return found;
  }
  struct stage *stages = read_stages(figures, count);
  bool complete = average_stages(figures, stages, count);
  struct view view = find_view(figures, stages, count, batches);
  if (complete && view.cost > 0 && view.sum > view.most) {
    found.stage = view.heavy;
    found.stages = count;
    found.cost = view.cost;
    found.ratio = report_share(view.most, (view.sum - view.most) / (count - 1));
    name_part(stages, count, view.by_host, &found);
    find_idle(stages, &view, &found);
    find_split(job, &stages[view.heavy], view.by_host, &found);
  }
  free(stages);
  return found;
}
