/* How far a replay that carries no residual is from what was measured: typical lags everywhere, what no rule explains
 * left out.
 *
 * An error is (replayed - measured) / measured, signed, of a rank's step and of the job's. Without a scope stands the
 * mean size of the errors of all ranks' steps, a rank's as often as it stands for one: the job's own steps follow the
 * slowest rank, and would hide what is wrong on the others. host_replay_error is the same for the host's side of the
 * step, which no job has.
 */
#include "sim/metrics.h"

#include <stdlib.h>

static int64_t length(const struct lumos_step *step) { return step->end - step->start; }

static bool is_comparable(const struct lumos_step *measured) {
  return measured->start != LUMOS_ABSENT && length(measured) > 0;
}

static void write_errors(struct lumos_job *job, const char *name, const struct lumos_timeline *timeline,
                         const struct lumos_steps_list *measured, const struct lumos_steps_list *replayed) {
  for (size_t i = 0; i < measured->count; i++) {
    const struct lumos_step *step = &measured->items[i];
    if (is_comparable(step)) {
      lumos_metric_share(job, name, lumos_place_of(job, timeline, step), length(&replayed->items[i]) - length(step),
                         length(step));
    }
  }
}

/* Each error is a quotient with 15 decimals, more than are written. */
static void write_mean_error(struct lumos_job *job, const char *name, const struct lumos_steps_list *measured,
                             const struct lumos_steps_list *replayed) {
  const int64_t scale = 1000000000000000;
  __int128 sum = 0;
  int64_t steps = 0;
  for (size_t i = 0; i < measured->count; i++) {
    const struct lumos_step *step = &measured->items[i];
    if (is_comparable(step)) {
      int64_t difference = length(&replayed->items[i]) - length(step);
      int64_t weight = lumos_rank_weight(&job->ranks.items[step->rank]);
      sum =
          lumos_weighted_sum(sum, (__int128)(difference < 0 ? -difference : difference) * scale / length(step), weight);
      steps += weight;
    }
  }
  if (steps > 0) {
    const struct lumos_metric_place everywhere = {LUMOS_METRIC_SIMULATED, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
    __int128 mean = sum / steps;
    lumos_metric_share(job, name, everywhere, (int64_t)(mean > INT64_MAX ? INT64_MAX : mean), scale);
  }
}

bool lumos_replay(const struct lumos_job *job, struct lumos_engine *engine, const struct lumos_stretches *stretches,
                  const struct lumos_timeline *measured, struct lumos_replay *replay, struct lumos_error *error) {
  const struct lumos_variant variant = {.typical_residuals = true};
  const struct lumos_engine_order order = {.variant = &variant, .nodes_only = stretches->places != NULL};
  struct lumos_run *runs = lumos_engine_room(engine, order.nodes_only);
  bool done = lumos_engine_do(engine, &order, runs, error);
  if (done) {
    lumos_timeline_make(&replay->timeline, job, runs, stretches);
    lumos_find_host_steps(job, runs, stretches, &measured->steps, &replay->host);
    replay->timeline.runs = NULL; /* which are gone */
  }
  free(runs);
  return done;
}

void lumos_replay_free(struct lumos_replay *replay) {
  lumos_timeline_free(&replay->timeline);
  lumos_vector_free(&replay->host);
}

void lumos_write_replay_error(struct lumos_job *job, const struct lumos_stretches *stretches,
                              const struct lumos_timeline *measured, const struct lumos_replay *replay) {
  const struct lumos_timeline *replayed = &replay->timeline;
  if (replayed->steps.count != measured->steps.count) {
    return; /* some step has no measured task: nothing to compare with */
  }
  write_errors(job, "replay_error", replayed, &measured->steps, &replayed->steps);
  write_errors(job, "replay_error", replayed, &measured->job, &replayed->job);
  write_mean_error(job, "replay_error", &measured->steps, &replayed->steps);
  struct lumos_steps_list host;
  lumos_find_host_steps(job, NULL, stretches, &measured->steps, &host);
  write_errors(job, "host_replay_error", replayed, &host, &replay->host);
  write_mean_error(job, "host_replay_error", &host, &replay->host);
  lumos_vector_free(&host);
}
