/* Finding the stage with most work. */
#include "report/diagnosis/imbalance.h"

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
  int64_t parts[PARTS];  /* of compute */
  int64_t calls[PARTS];  /* that launch work of this part; 0: of any */
};

/* How many stages there are; 0: the coordinates of a rank are not known. */
static int32_t count_stages(const struct diagnosis_figures *figures) {
  const struct lumos_job *job = figures->job;
  int64_t most = 0;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    if (figures->ranks[r].steps > 0 && (!rank->has_parallel || rank->parallel.pp < 0)) {
      return 0;
    }
    most = figures->ranks[r].steps > 0 && rank->parallel.pp >= most ? rank->parallel.pp + INT64_C(1) : most;
  }
  return most <= (int64_t)job->ranks.count ? (int32_t)most : 0;
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

static void add_tasks(const struct diagnosis_figures *figures, const struct lumos_rank *rank, struct stage *stage) {
  const struct lumos_job *job = figures->job;
  int64_t weight = lumos_rank_weight(rank);
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    bool launches = lane->kind == LUMOS_THREAD && lumos_lane_launches(job, lane);
    for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
      if (diagnosis_counts_step(figures, job->tasks.items[t].step)) {
        add_task(job, t, weight, stage);
        int64_t busy = launches ? busy_time(job, t) : 0;
        stage->host = report_sum(stage->host, report_product(busy, weight));
      }
    }
  }
}

static struct stage *read_stages(const struct diagnosis_figures *figures, int32_t count) {
  const struct lumos_job *job = figures->job;
  struct stage *stages = lumos_allocate_zeroed((size_t)count + 1, sizeof *stages);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    const struct diagnosis_rank *rank = &figures->ranks[r];
    if (rank->steps > 0) {
      struct stage *stage = &stages[job->ranks.items[r].parallel.pp];
      int64_t slower = rank->straggler && rank->late_compute > 0 ? rank->late_compute : 0;
      if (rank->pace != LUMOS_ABSENT && rank->pace >= DIAGNOSIS_SLOW_PACE) {
        slower = rank->compute - (int64_t)((__int128)rank->compute * 1000000 / rank->pace);
      }
      int64_t weight = lumos_rank_weight(&job->ranks.items[r]);
      stage->compute = report_sum(stage->compute, report_product(rank->compute - slower, weight));
      stage->weight += weight;
      add_tasks(figures, &job->ranks.items[r], stage);
    }
  }
  return stages;
}

static int64_t calls_of(const struct stage *stage) {
  int64_t sum = 0;
  for (int part = 0; part < PARTS; part++) {
    sum += stage->calls[part];
  }
  return sum;
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

/* False: of a stage nothing was recorded. */
static bool average_stages(const struct diagnosis_figures *figures, struct stage *stages, int32_t count) {
  int64_t pace = host_pace(stages, count);
  bool complete = true;
  for (int32_t s = 0; s < count; s++) {
    struct stage *stage = &stages[s];
    complete = complete && stage->weight > 0;
    if (stage->weight > 0) {
      stage->compute /= stage->weight;
      stage->host = report_product(calls_of(stage), pace) / stage->weight / figures->steps;
      for (int part = 0; part < PARTS; part++) {
        stage->parts[part] = stage->parts[part] / stage->weight / figures->steps;
        stage->calls[part] = report_product(stage->calls[part], pace) / stage->weight / figures->steps;
      }
    }
  }
  return complete;
}

static bool paced_by_host(const struct stage *stage) { return stage->host > stage->compute; }

/* Of the GPU or the CPU, whichever sets the pace. */
static int64_t work_of(const struct stage *stage) { return paced_by_host(stage) ? stage->host : stage->compute; }

/* Of the stage's work. */
static int64_t part_of(const struct stage *stage, int part, bool by_host) {
  return by_host ? stage->calls[part] : stage->parts[part];
}

/* What takes most of the difference to the mean of the other stages. Layers count where they are more. */
static void name_part(const struct stage *stages, int32_t count, struct diagnosis_imbalance *found) {
  const struct stage *heavy = &stages[found->stage];
  bool by_host = paced_by_host(heavy);
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

/* As sim/layer_split.h hands them out; only where it takes the same stage for the one with most work. */
static void find_split(const struct lumos_job *job, const struct stage *heavy, struct diagnosis_imbalance *found) {
  _Static_assert((int)LUMOS_FINDING_STAGES == (int)LUMOS_SPLIT_STAGES, "a finding has room for every split");
  struct lumos_layer_split split;
  found->layers = LUMOS_ABSENT_INT;
  found->part_ratio = LUMOS_ABSENT;
  if (lumos_split_layers(job, &split) && split.heavy == found->stage) {
    found->layers = split.held[found->stage];
    int64_t layers = part_of(heavy, LUMOS_PART_LAYER, paced_by_host(heavy));
    found->part_ratio =
        layers > 0 ? report_share(report_product(found->part_time, found->layers), layers) : LUMOS_ABSENT;
    memcpy(found->split, split.given, sizeof found->split);
  }
}

/* A stage whose excess over the mean is 3/4 of the heavy one's, or more, is nearly as heavy; the others wait for both. */
static void find_idle(const struct stage *stages, int64_t mean, struct diagnosis_imbalance *found) {
  enum { NEARLY = 3, OF = 4 };
  bool by_host = paced_by_host(&stages[found->stage]);
  int64_t least = (work_of(&stages[found->stage]) - mean) / OF * NEARLY, next = 0;
  found->next = LUMOS_ABSENT_INT;
  for (int32_t s = 0; s < found->stages; s++) {
    int64_t excess = (by_host ? stages[s].host : stages[s].compute) - mean;
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
  int32_t heavy = 0;
  int64_t compute = 0, host = 0;
  for (int32_t s = 0; s < count; s++) {
    heavy = work_of(&stages[s]) > work_of(&stages[heavy]) ? s : heavy;
    compute = report_sum(compute, stages[s].compute);
    host = report_sum(host, stages[s].host);
  }
  int64_t most = work_of(&stages[heavy]), sum = paced_by_host(&stages[heavy]) ? host : compute;
  int64_t cost = cost_of(most - (host > compute ? host : compute) / count, batches);
  if (complete && cost > 0 && sum > most) {
    found.stage = heavy;
    found.stages = count;
    found.cost = cost;
    found.ratio = report_share(most, (sum - most) / (count - 1));
    name_part(stages, count, &found);
    find_idle(stages, (host > compute ? host : compute) / count, &found);
    find_split(job, &stages[heavy], &found);
  }
  free(stages);
  return found;
}
