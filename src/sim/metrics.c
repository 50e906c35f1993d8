/* Writing metric records, and those that come straight from the recording. */
#include "sim/metrics.h"

#include "base/ascii.h"
#include "base/text.h"
#include "sim/clock.h"
#include <lumos/metric.h>
#include <stdlib.h>

enum { SHARE_UNITS = 1000000, SHARE_DECIMALS = 6 };

struct lumos_metric_place lumos_place_of(const struct lumos_job *job, const struct lumos_timeline *timeline,
                                         const struct lumos_step *step) {
  int32_t rank = step->rank == LUMOS_NONE ? LUMOS_ABSENT_INT : job->ranks.items[step->rank].rank;
  return (struct lumos_metric_place){timeline->source, rank, step->step};
}

void lumos_metric_add(struct lumos_job *job, const char *name, const struct lumos_scope *scope,
                      enum lumos_source source, struct lumos_decimal value) {
  const struct lumos_metric_definition *definition = lumos_metric_definition(name);
  struct lumos_metric metric = lumos_metric_empty;
  metric.name = lumos_intern_text(job->strings, name);
  metric.unit = lumos_intern_text(job->strings, definition->unit);
  metric.of = definition->of == NULL ? LUMOS_NO_STRING : lumos_intern_text(job->strings, definition->of);
  metric.value = value;
  metric.scope = *scope;
  metric.source = (uint8_t)source;
  lumos_vector_push(&job->metrics, metric);
}

void lumos_metrics_drop(struct lumos_job *job, size_t first, const char *what) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%s: the parts do not add up; it is left out where they do not", what);
  job->metrics.count = first;
  lumos_job_note(job, "sim.check_failed", LUMOS_WARNING, 1, NULL, text.bytes,
                 "this is a bug of Lumos; please report it, with the job if you can");
  lumos_text_free(&text);
}

static void add(struct lumos_job *job, const char *name, struct lumos_metric_place place, struct lumos_decimal value) {
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = place.rank;
  scope.step = place.step;
  lumos_metric_add(job, name, &scope, place.source, value);
}

void lumos_metric_time(struct lumos_job *job, const char *name, struct lumos_metric_place place, int64_t ns) {
  add(job, name, place, (struct lumos_decimal){ns, 0});
}

void lumos_metric_share(struct lumos_job *job, const char *name, struct lumos_metric_place place, int64_t part,
                        int64_t whole) {
  __int128 units = (__int128)part * SHARE_UNITS;
  units = (units + (units < 0 ? -whole / 2 : whole / 2)) / whole;
  if (units > -LUMOS_TIME_LIMIT && units < LUMOS_TIME_LIMIT) { /* else one of nothing: no number of a stream */
    add(job, name, place, (struct lumos_decimal){(int64_t)units, SHARE_DECIMALS});
  }
}

void lumos_metric_by_step(struct lumos_job *job, const char *name, const struct lumos_timeline *timeline,
                          const int64_t *values) {
  for (size_t i = 0; i < timeline->steps.count; i++) {
    if (values[i] != LUMOS_ABSENT) {
      lumos_metric_time(job, name, lumos_place_of(job, timeline, &timeline->steps.items[i]), values[i]);
    }
  }
  for (size_t k = 0; k < timeline->job.count; k++) {
    __int128 sum = 0;
    int64_t ranks = 0;
    for (uint32_t i = timeline->sharers_first[k]; i < timeline->sharers_first[k + 1]; i++) {
      uint32_t step = timeline->sharers[i];
      int64_t weight = lumos_rank_weight(&job->ranks.items[timeline->steps.items[step].rank]);
      if (values[step] != LUMOS_ABSENT) {
        sum += (__int128)values[step] * weight;
        ranks += weight;
      }
    }
    if (ranks > 0) {
      lumos_metric_time(job, name, lumos_place_of(job, timeline, &timeline->job.items[k]),
                        (int64_t)((sum + ranks / 2) / ranks));
    }
  }
}

/* The number at the end of a step mark's name ("ProfilerStep#12"), or LUMOS_ABSENT_INT. */
static int32_t mark_number(const char *name, size_t length) {
  size_t first = length;
  while (first > 0 && lumos_is_digit(name[first - 1])) {
    first--;
  }
  int64_t number = 0;
  for (size_t i = first; i < length && number <= INT32_MAX; i++) {
    number = 10 * number + (name[i] - '0');
  }
  return first == length || number > INT32_MAX ? LUMOS_ABSENT_INT : (int32_t)number;
}

static void write_host_steps(struct lumos_job *job, const struct lumos_timeline *measured) {
  int64_t *lengths = lumos_allocate(measured->steps.count * sizeof *lengths);
  for (size_t i = 0; i < measured->steps.count; i++) {
    lengths[i] = LUMOS_ABSENT;
  }
  uint32_t guess = 0;
  for (size_t i = 0; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    if (span->kind != LUMOS_SPAN_STEP) {
      continue;
    }
    int32_t number = mark_number(lumos_string(job->strings, span->name), lumos_string_length(job->strings, span->name));
    uint32_t step = lumos_step_index(&measured->steps, span->rank, number, &guess);
    if (step != LUMOS_NONE && span->dur > lengths[step]) {
      lengths[step] = span->dur; /* of several threads' marks the longest */
    }
  }
  lumos_metric_by_step(job, "host_step_time", measured, lengths);
  free(lengths);
}

static void write_rank(struct lumos_job *job, const struct lumos_rank *rank) {
  struct lumos_metric_place place = {LUMOS_METRIC_MEASURED, rank->rank, LUMOS_ABSENT_INT};
  if (rank->coverage.device_tasks > 0 && rank->coverage.launched != LUMOS_ABSENT) {
    lumos_metric_share(job, "coverage", place, rank->coverage.launched, rank->coverage.device_tasks);
  }
  if (rank->clock.known && rank->clock.from_collectives) {
    lumos_metric_time(job, "clock_offset", place, rank->clock.offset);
  }
  if (rank->clock.known && rank->clock.error != LUMOS_ABSENT) {
    lumos_metric_time(job, "clock_error", place, rank->clock.error);
  }
}

/* What recording has cost, where it was timed how long steps take without. */
static void write_profiling(struct lumos_job *job, const struct lumos_timeline *measured) {
  enum { MOST_TIMES_LONGER = 1000 }; /* chosen: more is no cost but a wrong time */
  __int128 with = 0;
  __int128 without = 0;
  int64_t steps = 0;
  bool left_out = lumos_first_step_is_left_out(measured->job.count, false);
  for (size_t i = 0; i < measured->steps.count; i++) {
    const struct lumos_step *step = &measured->steps.items[i];
    const struct lumos_rank *rank = &job->ranks.items[step->rank];
    if (left_out && step->step == measured->job.items[0].step) {
      continue;
    }
    if (rank->unprofiled_dur != LUMOS_ABSENT && rank->unprofiled_steps > 0) {
      int64_t weight = lumos_rank_weight(rank);
      with += (__int128)(step->end - step->start) * weight;
      without += (__int128)(rank->unprofiled_dur / rank->unprofiled_steps) * weight;
      steps += weight;
    }
  }
  if (without <= 0 || without > INT64_MAX || with / without >= MOST_TIMES_LONGER) {
    return;
  }
  struct lumos_metric_place place = {LUMOS_METRIC_MEASURED, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
  lumos_metric_time(job, "unprofiled_step_time", place, (int64_t)(without / steps));
  lumos_metric_share(job, "profiling_cost", place, (int64_t)(with - without), (int64_t)without);
}

void lumos_write_recording(struct lumos_job *job, const struct lumos_timeline *measured) {
  write_host_steps(job, measured);
  for (size_t r = 0; r < job->ranks.count; r++) {
    write_rank(job, &job->ranks.items[r]);
  }
  write_profiling(job, measured);
}

bool lumos_has_device(const struct lumos_job *job, uint32_t rank) {
  const struct lumos_rank *record = &job->ranks.items[rank];
  return record->lane_count > 0 && job->lanes.items[record->lane_first + record->lane_count - 1].kind == LUMOS_STREAM;
}
