/* See side.h. */
#include "compare/side.h"

#include "sim/metrics.h"
#include <lumos/graph.h>
#include <stdlib.h>

/* The run of a stream that was simulated, or one for this alone. */
static bool find_runs(struct compare_side *side, bool simulated, struct lumos_error *error) {
  const struct lumos_job *job = side->job;
  if (!simulated || job->runs.count > 0) {
    side->runs = simulated ? job->runs.items : NULL;
    return true;
  }
  static const struct lumos_sim_options as_it_is = {false, LUMOS_MODEL_LUMOS};
  side->own_runs = lumos_allocate((job->tasks.count + 1) * sizeof *side->own_runs);
  side->runs = side->own_runs;
  return lumos_engine_run(job, &as_it_is, side->own_runs, error);
}

/* Of all ranks with a GPU that have the job's step. One of 0 ns is no step: its work is not in the trace. */
static int64_t weight_of_step(const struct compare_side *side, size_t k) {
  int64_t weight = 0;
  for (uint32_t i = side->timeline.sharers_first[k]; i < side->timeline.sharers_first[k + 1]; i++) {
    const struct lumos_step *step = &side->timeline.steps.items[side->timeline.sharers[i]];
    uint32_t rank = step->rank;
    weight += side->has_gpu[rank] && step->end > step->start ? lumos_rank_weight(&side->job->ranks.items[rank]) : 0;
  }
  return weight;
}

static void find_ranks(struct compare_side *side) {
  side->has_gpu = lumos_allocate_zeroed(side->job->ranks.count + 1, 1);
  for (uint32_t rank = 0; rank < side->job->ranks.count; rank++) {
    side->has_gpu[rank] = lumos_has_device(side->job, rank);
  }
  for (size_t k = 0; k < side->timeline.job.count; k++) {
    int64_t weight = weight_of_step(side, k);
    side->weight = weight > side->weight ? weight : side->weight;
  }
}

static void take_step(struct compare_side *side, size_t k) {
  if (side->number[k] == LUMOS_NONE) {
    side->number[k] = (uint32_t)side->windows.count;
    lumos_vector_push(&side->windows, side->timeline.job.items[k]);
  }
}

/* In the order of time, whatever the order in which they are given. */
static bool take_given(struct compare_side *side, const struct lumos_compare_options *options, size_t which,
                       const uint8_t *complete, struct lumos_error *error) {
  uint8_t *given = lumos_allocate_zeroed(side->timeline.job.count + 1, 1);
  bool good = true;
  for (size_t i = 0; good && i < options->step_counts[which]; i++) {
    uint32_t k = lumos_job_step(&side->timeline, options->steps[which][i]);
    good = k != LUMOS_NONE && complete[k];
    if (good) {
      given[k] = 1;
    } else {
      (void)lumos_fail(error, "%s has no complete step %d; its steps are %d to %d", side->name,
                       (int)options->steps[which][i], (int)side->timeline.job.items[0].step,
                       (int)side->timeline.job.items[side->timeline.job.count - 1].step);
    }
  }
  for (size_t k = 0; good && k < side->timeline.job.count; k++) {
    if (given[k]) {
      take_step(side, k);
    }
  }
  free(given);
  return good;
}

static bool choose_steps(struct compare_side *side, const struct lumos_compare_options *options, size_t which,
                         bool changed, struct lumos_error *error) {
  size_t count = side->timeline.job.count, complete_count = 0;
  uint8_t *complete = lumos_allocate_zeroed(count + 1, 1);
  side->number = lumos_allocate((count + 1) * sizeof *side->number);
  for (size_t k = 0; k < count; k++) {
    side->number[k] = LUMOS_NONE;
    complete[k] = side->weight > 0 && weight_of_step(side, k) == side->weight;
    complete_count += complete[k];
  }
  bool good = complete_count > 0 || lumos_fail(error,
                                               "%s has no complete step with GPU work; record at least one step, with "
                                               "ProfilerActivity.CUDA",
                                               side->name);
  if (good && options->steps[which] != NULL) {
    good = take_given(side, options, which, complete, error);
  } else if (good) {
    bool others = complete_count > complete[0];
    for (size_t k = others && lumos_first_step_is_left_out(count, changed); k < count; k++) {
      if (complete[k]) {
        take_step(side, k);
      }
    }
  }
  free(complete);
  return good;
}

bool compare_side_open(struct compare_side *side, struct lumos_job *job, const char *name, bool simulated, bool changed,
                       const struct lumos_compare_options *options, size_t which, struct lumos_error *error) {
  *side = (struct compare_side){.job = job, .name = name};
  if (!find_runs(side, simulated, error)) {
    return lumos_fail_prefix(error, side->name);
  }
  lumos_find_stretches(job, &side->stretches);
  lumos_timeline_make(&side->timeline, job, side->runs, &side->stretches);
  find_ranks(side);
  return choose_steps(side, options, which, changed, error);
}

void compare_side_free(struct compare_side *side) {
  free(side->own_runs);
  free(side->number);
  free(side->has_gpu);
  lumos_vector_free(&side->windows);
  lumos_vector_free(&side->stretches);
  lumos_timeline_free(&side->timeline);
}
