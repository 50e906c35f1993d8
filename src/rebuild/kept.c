#include "rebuild/kept.h"

#include "sim/pipeline/passes.h"
#include "sim/steps.h"
#include <stdlib.h>

static void keep_pass(struct rebuild_kept *kept, const struct lumos_passes *passes,
                      const struct lumos_pipeline_stage *stage, const struct lumos_pass_interval *interval) {
  struct lumos_recorded_pass pass = lumos_recorded_pass_empty;
  pass.rank = passes->job->ranks.items[stage->rank].rank;
  pass.stage = stage->stage;
  pass.step = passes->step.step;
  pass.micro_batch = interval->micro_batch;
  pass.chunk = interval->chunk;
  pass.track = interval->track;
  pass.phase = interval->phase;
  pass.start = interval->start - passes->step.start;
  pass.dur = interval->end - interval->start;
  if (pass.start >= 0 && pass.dur >= 0) {
    lumos_vector_push(&kept->passes, pass);
  }
}

static void keep_passes(struct rebuild_kept *kept, const struct lumos_job *recorded, const struct lumos_step *step) {
  /* Chosen: as many rows as a page shows. */
  static const struct lumos_passes_limits limits = {.stages = 64, .alike = 16};
  struct lumos_passes passes;
  lumos_passes_read(recorded, NULL, step, &limits, &passes);
  for (size_t s = 0; s < passes.stages.count; s++) {
    const struct lumos_pipeline_stage *stage = &passes.stages.items[s];
    for (size_t i = stage->first; i < stage->first + stage->count; i++) {
      keep_pass(kept, &passes, stage, &passes.list.items[i]);
    }
  }
  lumos_passes_free(&passes);
}

/* All ranks of the job, recorded or not. */
static int32_t count_ranks(const struct lumos_job *recorded) {
  int32_t world = recorded->ranks.count > 0 ? recorded->ranks.items[0].world : LUMOS_ABSENT_INT;
  return world != LUMOS_ABSENT_INT && (size_t)world >= recorded->ranks.count ? world : (int32_t)recorded->ranks.count;
}

static struct lumos_recorded_sizes sizes_of(const struct lumos_job *recorded) {
  const struct lumos_model_description *model =
      recorded->models.count > 0 ? &recorded->models.items[0] : &lumos_model_description_empty;
  struct lumos_recorded_sizes sizes = {
      .ranks = count_ranks(recorded),
      .layers = model->layers,
      .micro_batches = model->micro_batches,
      .sizes = model->sizes,
  };
  if (sizes.ranks == 1) { /* of which nothing has to be recorded to be known */
    sizes.sizes.tp = sizes.sizes.pp = sizes.sizes.dp = 1;
  }
  return sizes;
}

/* A job that was built before keeps what that was built of. */
static bool keep_earlier(struct rebuild_kept *kept, const struct lumos_job *job) {
  if (job->models.count == 0 || job->models.items[0].recorded.ranks <= 0) {
    return false;
  }
  *kept = (struct rebuild_kept){.sizes = job->models.items[0].recorded};
  for (size_t i = 0; i < job->recorded_passes.count; i++) {
    lumos_vector_push(&kept->passes, job->recorded_passes.items[i]);
  }
  return true;
}

void rebuild_kept_read(struct rebuild_kept *kept, const struct lumos_job *recorded) {
  if (keep_earlier(kept, recorded)) {
    return;
  }
  struct lumos_stretches stretches;
  struct lumos_timeline measured;
  *kept = (struct rebuild_kept){.sizes = sizes_of(recorded)};
  lumos_find_stretches(recorded, &stretches);
  lumos_timeline_make(&measured, recorded, NULL, &stretches);
  const struct lumos_step *step =
      lumos_typical_step(&measured.job, lumos_first_step_is_left_out(measured.job.count, false));
  if (step != NULL) {
    keep_passes(kept, recorded, step);
  }
  lumos_timeline_free(&measured);
  lumos_vector_free(&stretches);
}

void rebuild_kept_put(const struct rebuild_kept *kept, struct lumos_job *built) {
  if (built->models.count > 0) {
    built->models.items[0].recorded = kept->sizes;
  }
  for (size_t i = 0; i < kept->passes.count; i++) {
    lumos_vector_push(&built->recorded_passes, kept->passes.items[i]);
  }
}

void rebuild_kept_free(struct rebuild_kept *kept) { lumos_vector_free(&kept->passes); }
