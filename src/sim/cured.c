/* The run of the cured job, its chain from the last step's end back to the first one's start, and the chain's parts
 * added up by rank and by what they go to. */
#include "sim/cured.h"

#include "sim/metrics.h"
#include <lumos/path.h>
#include <stdlib.h>

enum place { ON_CPUS, ON_GPUS, IN_COMMUNICATION, ELSEWHERE, PLACES };

static enum place place_of(const struct lumos_job *job, const struct lumos_path_part *part) {
  const struct lumos_task *task = &job->tasks.items[part->task];
  if (part->what == LUMOS_PATH_RUN) {
    return !lumos_on_stream(job, task) ? ON_CPUS : lumos_is_communication(task->kind) ? IN_COMMUNICATION : ON_GPUS;
  }
  if (part->what != LUMOS_PATH_LAG) {
    return ELSEWHERE;
  }
  switch (part->kind) {
    case LUMOS_HELD_BY_THREAD:
    case LUMOS_HELD_BY_HANDOVER:
    case LUMOS_HELD_BY_WAIT:
      return ON_CPUS;
    case LUMOS_HELD_BY_STREAM:
    case LUMOS_HELD_BY_RESOURCE:
      return ON_GPUS;
    case LUMOS_HELD_BY_COLLECTIVE:
      return IN_COMMUNICATION;
    default:
      return ELSEWHERE;
  }
}

static void write_part(struct lumos_job *job, uint32_t rank, enum place place, int64_t time) {
  static const char *const names[PLACES] = {"cpu", "gpu", "communication", "other"};
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = job->ranks.items[rank].rank;
  scope.kind = lumos_intern_text(job->strings, names[place]);
  lumos_metric_add(job, "straggler_free_path", &scope, LUMOS_METRIC_SIMULATED, (struct lumos_decimal){time, 0});
}

static void write_path(struct lumos_job *job, const struct lumos_job *cured, const struct lumos_held *bindings,
                       const struct lumos_steps_list *steps) {
  struct lumos_path_parts parts = {0};
  int64_t *times = lumos_allocate_zeroed(job->ranks.count * PLACES + 1, sizeof *times);
  lumos_path_walk(cured, bindings, steps->items[0].start, steps->items[steps->count - 1].end, &parts);
  for (size_t i = 0; i < parts.count; i++) {
    const struct lumos_path_part *part = &parts.items[i];
    times[lumos_rank_of(cured, &cured->tasks.items[part->task]) * PLACES + place_of(cured, part)] +=
        part->to - part->from;
  }
  for (uint32_t i = 0; i < job->ranks.count * PLACES; i++) {
    if (times[i] > 0) {
      write_part(job, i / PLACES, (enum place)(i % PLACES), times[i]);
    }
  }
  lumos_vector_free(&parts);
  free(times);
}

void lumos_write_cured_path(struct lumos_job *job, const struct lumos_engine *engine, const struct lumos_variant *cured,
                            const struct lumos_stretches *stretches) {
  struct lumos_engine own;
  struct lumos_held bindings = {0};
  struct lumos_error error = {0};
  lumos_engine_copy(&own, engine);
  struct lumos_run *runs = lumos_engine_room(&own, false);
  const struct lumos_engine_order order = {.variant = cured, .notes.bindings = &bindings};
  if (lumos_engine_do(&own, &order, runs, &error)) {
    struct lumos_job ran = *job;
    struct lumos_timeline timeline;
    ran.runs.items = runs;
    lumos_timeline_make(&timeline, &ran, runs, stretches);
    if (timeline.job.count > 0) {
      write_path(job, &ran, &bindings, &timeline.job);
    }
    lumos_timeline_free(&timeline);
  }
  free(runs);
  lumos_held_free(&bindings);
  lumos_engine_free(&own);
}
