/* Choosing the step whose passes are shown. */
#include "report/content/passes.h"

#include "report/content/chain.h"
#include "report/text/numbers.h"

void report_passes_read(const struct lumos_job *job, const struct report_boundaries *steps,
                        const struct lumos_report_options *options, struct lumos_passes *passes) {
  static const struct lumos_passes_limits limits = {.stages = REPORT_STAGES, .alike = REPORT_ALIKE};
  struct report_boundary shown;
  *passes = (struct lumos_passes){.job = job};
  if (job->runs.count < job->tasks.count || job->runs.count == 0 ||
      !report_chain_step(steps, options, lumos_job_edited(job), &shown)) {
    return;
  }
  const struct lumos_step step = {LUMOS_NONE, shown.step, shown.start, shown.end};
  lumos_passes_read(job, job->runs.items, &step, &limits, passes);
}

/* ---- Of a rebuilt job ---- */

/* What a page has rows for; a stream may claim anything. */
static bool is_shown(const struct lumos_recorded_pass *pass) {
  return pass->track >= 0 && pass->track < LUMOS_TRACKS && pass->chunk >= 0 && pass->chunk < INT32_MAX &&
         pass->micro_batch < INT32_MAX && pass->phase < LUMOS_PASS_PHASES && pass->start >= 0 &&
         pass->start < REPORT_FARTHEST && pass->dur >= 0 && pass->dur < REPORT_FARTHEST;
}

static int by_stage_and_start(const void *left, const void *right) {
  const struct lumos_recorded_pass *a = left, *b = right;
  if (a->stage != b->stage) {
    return LUMOS_ORDER(a->stage, b->stage);
  }
  return a->rank != b->rank ? LUMOS_ORDER(a->rank, b->rank) : LUMOS_ORDER(a->start, b->start);
}

static void add_stage(struct lumos_passes *passes, const struct lumos_recorded_pass *items, size_t count) {
  struct lumos_pipeline_stage stage = {.rank = LUMOS_NONE,
                                       .number = items[0].rank,
                                       .stage = items[0].stage,
                                       .chunks = 1,
                                       .first = passes->list.count,
                                       .count = count};
  int64_t until = 0, until_of[LUMOS_PASS_PHASES] = {0};
  for (size_t i = 0; i < count; i++) {
    const struct lumos_recorded_pass *pass = &items[i];
    int64_t end = pass->start + pass->dur;
    stage.tracks = pass->track >= stage.tracks ? pass->track + 1 : stage.tracks;
    stage.chunks = pass->chunk >= stage.chunks ? pass->chunk + 1 : stage.chunks;
    stage.micro_batches = pass->micro_batch >= stage.micro_batches ? pass->micro_batch + 1 : stage.micro_batches;
    int64_t *own = &until_of[pass->phase], *busy = &stage.busy[pass->phase];
    *busy = report_sum(*busy, end > *own ? end - (pass->start > *own ? pass->start : *own) : 0);
    *own = end > *own ? end : *own;
    stage.bubble = report_sum(stage.bubble, pass->start > until ? pass->start - until : 0);
    until = end > until ? end : until;
    lumos_vector_push(&passes->list, ((struct lumos_pass_interval){pass->start, end, pass->step, pass->micro_batch,
                                                                   pass->chunk, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT,
                                                                   pass->phase, (uint8_t)pass->track}));
  }
  stage.bubble = report_sum(stage.bubble, passes->step.end > until ? passes->step.end - until : 0);
  passes->micro_batches = stage.micro_batches > passes->micro_batches ? stage.micro_batches : passes->micro_batches;
  lumos_vector_push(&passes->stages, stage);
}

/* The step ends where it was measured to, or where its last pass does. */
static int64_t end_of_step(const struct report_facts *facts, int32_t step, const struct lumos_recorded_pass *items,
                           size_t count) {
  int64_t end = 1;
  for (size_t i = 0; i < facts->job_steps.count; i++) {
    int64_t time = facts->job_steps.items[i].figures[MEASURED].of[FIGURE_STEP_TIME];
    end = facts->job_steps.items[i].step == step && time > end && time < REPORT_FARTHEST ? time : end;
  }
  for (size_t i = 0; i < count; i++) {
    end = items[i].start + items[i].dur > end ? items[i].start + items[i].dur : end;
  }
  return end;
}

void report_recorded_passes_read(const struct report_facts *facts, struct lumos_passes *passes) {
  const struct lumos_job *job = facts->job;
  LUMOS_VECTOR(struct lumos_recorded_pass) sorted = {0};
  *passes = (struct lumos_passes){.job = job, .pipeline = LUMOS_ABSENT_INT};
  for (size_t i = 0; i < job->recorded_passes.count; i++) {
    if (is_shown(&job->recorded_passes.items[i])) {
      lumos_vector_push(&sorted, job->recorded_passes.items[i]);
    }
  }
  if (sorted.count > 0) {
    lumos_vector_sort(&sorted, by_stage_and_start);
    passes->pipeline = job->models.count > 0 ? job->models.items[0].recorded.sizes.pp : LUMOS_ABSENT_INT;
    int32_t step = sorted.items[0].step;
    passes->step = (struct lumos_step){LUMOS_NONE, step, 0, end_of_step(facts, step, sorted.items, sorted.count)};
  }
  for (size_t first = 0, i = 1; i <= sorted.count; i++) {
    bool ends = i == sorted.count || sorted.items[i].stage != sorted.items[first].stage ||
                sorted.items[i].rank != sorted.items[first].rank;
    if (ends && passes->stages.count < REPORT_STAGES) {
      add_stage(passes, &sorted.items[first], i - first);
    }
    first = ends ? i : first;
  }
  lumos_vector_free(&sorted);
}
