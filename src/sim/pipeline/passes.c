/* Reading passes: which ranks, which of their streams, whose layers, and what they add up to. */
#include "sim/pipeline/passes.h"

#include "sim/clock.h"
#include "sim/pipeline/pass_intervals.h"
#include <stdlib.h>

/* A stream is shown that has at least one part in so many of the rank's passes. Chosen: less is no stream of passes. */
enum { TRACK_PART = 20 };

/* ---- Which ranks ---- */

static bool has_passes(const struct lumos_job *job, const struct lumos_rank *rank) {
  for (uint32_t i = rank->task_first; i < rank->task_first + rank->task_count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (lumos_is_pass(task->phase) && lumos_on_stream(job, task)) {
      return true;
    }
  }
  return false;
}

static int32_t stage_of(const struct lumos_rank *rank) {
  return rank->has_parallel && rank->parallel.pp >= 0 ? rank->parallel.pp : LUMOS_ABSENT_INT;
}

static int compare_stages(const void *left, const void *right) {
  const struct lumos_pipeline_stage *a = left, *b = right;
  return a->stage != b->stage ? LUMOS_ORDER(a->stage, b->stage) : LUMOS_ORDER(a->rank, b->rank);
}

/* Of ranks of one stage the first stands for all. */
static void keep_first_of_stage(struct lumos_pipeline_stages *stages) {
  size_t kept = 0;
  for (size_t i = 0; i < stages->count; i++) {
    if (kept == 0 || stages->items[i].stage != stages->items[kept - 1].stage) {
      stages->items[kept++] = stages->items[i];
    }
  }
  stages->count = kept;
}

static void choose_ranks(struct lumos_passes *passes, const struct lumos_passes_limits *limits) {
  const struct lumos_job *job = passes->job;
  struct lumos_pipeline_stages *stages = &passes->stages;
  bool pipeline = passes->pipeline > 1;
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_rank *rank = &job->ranks.items[i];
    int32_t stage = pipeline ? stage_of(rank) : LUMOS_ABSENT_INT;
    if ((pipeline && stage == LUMOS_ABSENT_INT) || !has_passes(job, rank)) {
      continue;
    }
    struct lumos_pipeline_stage row = {.rank = i, .number = rank->rank, .stage = stage, .chunks = 1};
    lumos_vector_push(stages, row);
  }
  if (pipeline && stages->count > 0) {
    lumos_vector_sort(stages, compare_stages);
    keep_first_of_stage(stages);
  }
  size_t most = pipeline ? limits->stages : limits->alike;
  if (stages->count > most) {
    passes->left_out = stages->count - most;
    stages->count = most;
  }
}

/* ---- Which of their streams ---- */

static int64_t work_of(const struct lumos_passes *passes, const struct lumos_lane *lane) {
  int64_t work = 0;
  for (uint32_t i = lane->task_first; i < lane->task_first + lane->task_count; i++) {
    int64_t start = 0;
    int64_t end = 0;
    if (lumos_is_pass_work(&passes->job->tasks.items[i]) && lumos_time_within(passes, i, &start, &end)) {
      work = lumos_time_sum(work, end - start);
    }
  }
  return work;
}

static void choose_tracks(struct lumos_passes *passes, struct lumos_pipeline_stage *stage) {
  const struct lumos_job *job = passes->job;
  const struct lumos_rank *rank = &job->ranks.items[stage->rank];
  int64_t *work = lumos_allocate(((size_t)rank->lane_count + 1) * sizeof *work);
  int64_t whole = 0;
  for (uint32_t i = 0; i < rank->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[rank->lane_first + i];
    work[i] = lane->kind == LUMOS_STREAM ? work_of(passes, lane) : 0;
    whole = lumos_time_sum(whole, work[i]);
  }
  for (uint32_t i = 0; i < rank->lane_count; i++) {
    if (work[i] > 0 && work[i] >= whole / TRACK_PART && stage->tracks < LUMOS_TRACKS) {
      stage->lanes[stage->tracks++] = rank->lane_first + i;
    } else {
      passes->elsewhere = lumos_time_sum(passes->elsewhere, work[i]);
    }
  }
  free(work);
}

/* Ranks that do nothing in this step say nothing of it. */
static void keep_busy(struct lumos_pipeline_stages *stages) {
  size_t kept = 0;
  for (size_t i = 0; i < stages->count; i++) {
    if (stages->items[i].tracks > 0) {
      stages->items[kept++] = stages->items[i];
    }
  }
  stages->count = kept;
}

/* ---- Whose layers ---- */

static void add_layers(struct lumos_passes *passes, uint32_t number) {
  const struct lumos_pipeline_stage *stage = &passes->stages.items[number];
  int32_t before = LUMOS_ABSENT_INT;
  for (int track = 0; track < stage->tracks; track++) {
    const struct lumos_lane *lane = &passes->job->lanes.items[stage->lanes[track]];
    for (uint32_t i = lane->task_first; i < lane->task_first + lane->task_count; i++) {
      int32_t layer = passes->job->tasks.items[i].layer;
      if (layer != LUMOS_ABSENT_INT && layer != before) {
        struct lumos_layer_owner owner = {layer, number, 0};
        lumos_vector_push(&passes->owners, owner);
        before = layer;
      }
    }
  }
}

static int compare_owners(const void *left, const void *right) {
  const struct lumos_layer_owner *a = left, *b = right;
  return a->layer != b->layer ? LUMOS_ORDER(a->layer, b->layer) : LUMOS_ORDER(a->stage, b->stage);
}

/* A stage's chunks are its layers between those of other stages; a layer that was not found parts nothing. */
static void number_chunks(struct lumos_passes *passes) {
  struct lumos_layer_owners *owners = &passes->owners;
  int32_t *chunks = lumos_allocate_zeroed(passes->stages.count + 1, sizeof *chunks);
  size_t kept = 0;
  for (size_t i = 0; i < owners->count; i++) {
    struct lumos_layer_owner owner = owners->items[i];
    if (kept > 0 && owners->items[kept - 1].layer == owner.layer) {
      continue;
    }
    bool begins = kept == 0 || owners->items[kept - 1].stage != owner.stage;
    chunks[owner.stage] += begins;
    owner.chunk = chunks[owner.stage] - 1;
    owners->items[kept++] = owner;
  }
  owners->count = kept;
  for (size_t i = 0; i < passes->stages.count; i++) {
    passes->stages.items[i].chunks = chunks[i] > 1 ? chunks[i] : 1;
  }
  free(chunks);
}

static void find_owners(struct lumos_passes *passes) {
  if (passes->pipeline <= 1) {
    return;
  }
  for (uint32_t i = 0; i < passes->stages.count; i++) {
    add_layers(passes, i);
  }
  if (passes->owners.count > 0) {
    lumos_vector_sort(&passes->owners, compare_owners);
    number_chunks(passes);
  }
}

void lumos_passes_read(const struct lumos_job *job, const struct lumos_run *runs, const struct lumos_step *step,
                       const struct lumos_passes_limits *limits, struct lumos_passes *passes) {
  *passes = (struct lumos_passes){.job = job, .runs = runs, .step = *step};
  if (lumos_passes_window(passes) <= 0) {
    return;
  }
  passes->pipeline = lumos_pipeline_length(job);
  choose_ranks(passes, limits);
  for (uint32_t i = 0; i < passes->stages.count; i++) {
    choose_tracks(passes, &passes->stages.items[i]);
  }
  keep_busy(&passes->stages);
  find_owners(passes);
  struct lumos_reaches reaches;
  lumos_reaches_read(job, &reaches);
  for (uint32_t i = 0; i < passes->stages.count; i++) {
    lumos_pass_intervals_read(passes, &reaches, i);
  }
  lumos_reaches_free(&reaches);
  for (size_t i = 0; i < passes->stages.count; i++) {
    int32_t own = passes->stages.items[i].micro_batches;
    passes->micro_batches = own > passes->micro_batches ? own : passes->micro_batches;
  }
}

void lumos_passes_free(struct lumos_passes *passes) {
  lumos_vector_free(&passes->stages);
  lumos_vector_free(&passes->list);
  lumos_vector_free(&passes->owners);
}
