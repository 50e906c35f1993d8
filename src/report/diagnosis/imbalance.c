/* Finding the stage with most work. */
#include "report/diagnosis/imbalance.h"

#include "report/diagnosis/pace.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

enum {
  PARTS = LUMOS_PART_OPTIMIZER + 1,
  MOST_LAYERS = 100000, /* no model has more */
};

struct stage {
  int64_t compute, weight;
  int64_t parts[PARTS]; /* summed over tasks and steps */
  int32_t layers;       /* LUMOS_ABSENT_INT: of no number that the model has */
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

static void add_parts(const struct diagnosis_figures *figures, const struct lumos_rank *rank, struct stage *stage) {
  const struct lumos_job *job = figures->job;
  int64_t weight = lumos_rank_weight(rank);
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && task->part < PARTS &&
        diagnosis_counts_step(figures, task->step)) {
      stage->parts[task->part] = report_sum(stage->parts[task->part], report_product(task->dur, weight));
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
      add_parts(figures, &job->ranks.items[r], stage);
    }
  }
  return stages;
}

/* What takes most of the difference to the mean of the other stages. Layers count where they are more. */
static void name_part(const struct diagnosis_figures *figures, const struct stage *stages, int32_t count,
                      struct diagnosis_imbalance *found) {
  const struct stage *heavy = &stages[found->stage];
  int64_t most = 0;
  for (int part = LUMOS_PART_EMBEDDING; part < PARTS; part++) {
    int64_t own = heavy->parts[part] / heavy->weight / figures->steps;
    int64_t others = 0;
    for (int32_t s = 0; s < count; s++) {
      others += s == found->stage ? 0 : stages[s].parts[part] / stages[s].weight / figures->steps / (count - 1);
    }
    if (own - others > most) {
      most = own - others;
      found->part = (uint8_t)part;
      found->part_time = own;
    }
  }
}

/* ---- How many layers the stages should hold ---- */

/* Of the rank's tasks; `seen` has a byte for each layer. Those of several chunks, whose layers do not follow each other,
 * cannot be split by layer: LUMOS_ABSENT_INT. */
static int32_t count_layers(const struct diagnosis_figures *figures, const struct lumos_rank *rank, uint8_t *seen,
                            int32_t most) {
  int32_t count = 0, lowest = most, highest = 0;
  memset(seen, 0, (size_t)most);
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &figures->job->tasks.items[t];
    if (lumos_on_stream(figures->job, task) && task->part == LUMOS_PART_LAYER && task->layer != LUMOS_ABSENT_INT) {
      if (task->layer < 0 || task->layer >= most) {
        return LUMOS_ABSENT_INT;
      }
      count += !seen[task->layer];
      seen[task->layer] = 1;
      lowest = task->layer < lowest ? task->layer : lowest;
      highest = task->layer > highest ? task->layer : highest;
    }
  }
  return count == 0 || highest - lowest + 1 == count ? count : LUMOS_ABSENT_INT;
}

/* False: the stages do not hold as many layers as the model has. */
static bool read_layers(const struct diagnosis_figures *figures, struct stage *stages, int32_t count) {
  const struct lumos_job *job = figures->job;
  int32_t whole = job->models.count > 0 ? job->models.items[0].layers : LUMOS_ABSENT_INT;
  if (whole < count || whole > MOST_LAYERS) {
    return false;
  }
  uint8_t *seen = lumos_allocate((size_t)whole);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    if (figures->ranks[r].steps > 0) {
      stages[job->ranks.items[r].parallel.pp].layers = count_layers(figures, &job->ranks.items[r], seen, whole);
    }
  }
  free(seen);
  int64_t sum = 0;
  for (int32_t s = 0; s < count; s++) {
    sum += stages[s].layers > 0 ? stages[s].layers : 0;
  }
  return sum == whole;
}

/* Hands out the layers, of `layer` ns each. Returns what the stage with most work then takes. */
static int64_t split_evenly(const struct stage *stages, int32_t count, int32_t whole, int64_t layer, int32_t *split) {
  int64_t loads[LUMOS_FINDING_STAGES];
  for (int32_t s = 0; s < count; s++) {
    split[s] = 1;
    loads[s] = stages[s].compute - (stages[s].layers - 1) * layer;
  }
  for (int32_t left = whole - count; left > 0; left--) {
    int32_t least = 0;
    for (int32_t s = 1; s < count; s++) {
      least = loads[s] < loads[least] ? s : least;
    }
    split[least]++;
    loads[least] += layer;
  }
  int64_t most = 0;
  for (int32_t s = 0; s < count; s++) {
    most = loads[s] > most ? loads[s] : most;
  }
  return most;
}

/* What of a stage's time a step takes longer for: with few micro-batches others wait for it less often. */
static int64_t cost_of(int64_t time, int64_t batches) {
  return batches > 0 ? (int64_t)((__int128)time * (batches - 1) / batches) : time;
}

static void find_split(const struct diagnosis_figures *figures, struct stage *stages, int32_t count, int64_t batches,
                       struct diagnosis_imbalance *found) {
  found->layers = LUMOS_ABSENT_INT;
  if (count > LUMOS_FINDING_STAGES || !read_layers(figures, stages, count)) {
    return;
  }
  int64_t time = 0;
  int32_t whole = 0;
  for (int32_t s = 0; s < count; s++) {
    time = report_sum(time, stages[s].parts[LUMOS_PART_LAYER] / stages[s].weight / figures->steps);
    whole += stages[s].layers;
  }
  if (whole > 0 && time / whole > 0) {
    found->layers = stages[found->stage].layers;
    found->stages = count;
    int64_t most = split_evenly(stages, count, whole, time / whole, found->split);
    found->split_saves = cost_of(stages[found->stage].compute - most, batches);
  }
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
  int64_t sum = 0;
  int32_t heavy = 0;
  bool complete = true;
  for (int32_t s = 0; s < count; s++) {
    complete = complete && stages[s].weight > 0;
    stages[s].compute = stages[s].weight > 0 ? stages[s].compute / stages[s].weight : 0;
    heavy = stages[s].compute > stages[heavy].compute ? s : heavy;
    sum = report_sum(sum, stages[s].compute);
  }
  int64_t most = stages[heavy].compute;
  int64_t cost = cost_of(most - sum / count, batches);
  if (complete && cost > 0 && sum > most) {
    found.stage = heavy;
    found.cost = cost;
    found.ratio = report_share(most, (sum - most) / (count - 1));
    name_part(figures, stages, count, &found);
    find_split(figures, stages, count, batches, &found);
  }
  free(stages);
  return found;
}
