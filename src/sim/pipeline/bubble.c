/* The bubble of a stage is the mean of its ranks'. Where more of their communication is not split than is known to be
 * bubble, it is not told: it could be anything up to twice as much, and where nothing is split 0 would be no answer.
 * Passes, and so the schedule, are read of one step: the one whose time is nearest to the mean. */
#include "sim/pipeline/bubble.h"

#include "program/reach.h"
#include "sim/metrics.h"
#include "sim/pipeline/schedule.h"
#include <stdlib.h>

/* ---- By rank's waiting ---- */

struct part {
  int32_t stage, step;
  int64_t bubble, unsplit;
  int64_t weight; /* of how many ranks */
};
LUMOS_VECTOR_TYPE(parts, struct part);

static int compare_parts(const void *left, const void *right) {
  const struct part *a = left, *b = right;
  return a->step != b->step ? LUMOS_ORDER(a->step, b->step) : LUMOS_ORDER(a->stage, b->stage);
}

static void collect_parts(const struct lumos_job *job, const struct lumos_timeline *timeline,
                          const struct lumos_partition *own, struct parts *parts) {
  for (size_t i = 0; i < timeline->steps.count; i++) {
    const struct lumos_step *step = &timeline->steps.items[i];
    const struct lumos_rank *rank = &job->ranks.items[step->rank];
    if (rank->has_parallel && rank->parallel.pp >= 0 && lumos_has_device(job, step->rank)) {
      struct part part = {rank->parallel.pp, step->step, own[i].pipeline_bubble, own[i].communication_unsplit,
                          lumos_rank_weight(rank)};
      lumos_vector_push(parts, part);
    }
  }
}

/* Of a stage, or LUMOS_ABSENT_INT: of all; over all steps. */
static bool is_known(const struct parts *parts, int32_t stage) {
  __int128 bubble = 0, unsplit = 0;
  for (size_t i = 0; i < parts->count; i++) {
    const struct part *part = &parts->items[i];
    if (stage == LUMOS_ABSENT_INT || part->stage == stage) {
      bubble += (__int128)part->bubble * part->weight;
      unsplit += (__int128)part->unsplit * part->weight;
    }
  }
  return unsplit <= bubble;
}

static void add_time(struct lumos_job *job, const struct lumos_timeline *timeline, const char *name, int32_t stage,
                     int32_t step, int64_t value) {
  struct lumos_scope scope = lumos_everywhere;
  scope.stage = stage;
  scope.step = step;
  lumos_metric_add(job, name, &scope, timeline->source, (struct lumos_decimal){value, 0});
}

/* The mean of parts that are alike in step and, but for LUMOS_ABSENT_INT, in stage; they are in a row. */
static size_t write_mean(struct lumos_job *job, const struct lumos_timeline *timeline, const struct parts *parts,
                         size_t first, bool by_stage) {
  const struct part *part = &parts->items[first];
  __int128 sum = 0;
  int64_t count = 0;
  size_t end = first;
  for (; end < parts->count && parts->items[end].step == part->step; end++) {
    if (by_stage && parts->items[end].stage != part->stage) {
      break;
    }
    sum += (__int128)parts->items[end].bubble * parts->items[end].weight;
    count += parts->items[end].weight;
  }
  int32_t stage = by_stage ? part->stage : LUMOS_ABSENT_INT;
  if (is_known(parts, stage)) {
    add_time(job, timeline, "bubble", stage, part->step, (int64_t)((sum + count / 2) / count));
  }
  return end;
}

/* ---- By passes ---- */

static void write_schedule(struct lumos_job *job, const struct lumos_timeline *timeline,
                           const struct lumos_passes *passes) {
  enum lumos_recovered_schedule schedule = lumos_schedule_of(passes);
  int64_t theory = lumos_schedule_bubble(schedule, passes);
  if (theory != LUMOS_ABSENT) {
    struct lumos_scope scope = lumos_everywhere;
    scope.kind = lumos_intern_text(job->strings, lumos_schedule_option(schedule));
    lumos_metric_add(job, "bubble_theory", &scope, timeline->source, (struct lumos_decimal){theory, 6});
  }
}

static void write_passes(struct lumos_job *job, const struct lumos_timeline *timeline) {
  static const struct lumos_passes_limits all = {.stages = SIZE_MAX, .alike = 0};
  bool changed = timeline->runs != NULL && lumos_job_edited(job);
  const struct lumos_step *step =
      lumos_typical_step(&timeline->job, lumos_first_step_is_left_out(timeline->job.count, changed));
  if (step == NULL) {
    return;
  }
  struct lumos_passes passes;
  lumos_passes_read(job, timeline->runs, step, &all, &passes);
  for (size_t i = 0; i < passes.stages.count; i++) {
    const struct lumos_pipeline_stage *stage = &passes.stages.items[i];
    add_time(job, timeline, "pass_gap", stage->stage, step->step, stage->bubble);
  }
  write_schedule(job, timeline, &passes);
  lumos_passes_free(&passes);
}

void lumos_write_bubbles(struct lumos_job *job, const struct lumos_timeline *timeline,
                         const struct lumos_partition *own) {
  if (lumos_pipeline_length(job) <= 1) {
    return;
  }
  struct parts parts = {0};
  collect_parts(job, timeline, own, &parts);
  lumos_vector_sort(&parts, compare_parts);
  for (size_t first = 0; first < parts.count;) {
    first = write_mean(job, timeline, &parts, first, true);
  }
  for (size_t first = 0; first < parts.count;) {
    first = write_mean(job, timeline, &parts, first, false);
  }
  lumos_vector_free(&parts);
  write_passes(job, timeline);
}
