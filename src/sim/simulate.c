/* Stage sim: the missing stages, the run, and what is read off its timeline. */
#include "base/parallel.h"
#include "sim/annotations.h"
#include "sim/calls.h"
#include "sim/clock.h"
#include "sim/copies.h"
#include "sim/critical.h"
#include "sim/flops.h"
#include "sim/idle.h"
#include "sim/memory.h"
#include "sim/metrics.h"
#include "sim/occupancy.h"
#include "sim/opportunity.h"
#include "sim/ranges.h"
#include "sim/rollup.h"

#include <lumos/graph.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every time that is read off is below what a stream can hold; what a recording claims need not be. */
static bool check_metrics(const struct lumos_job *job, struct lumos_error *error) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->value.decimals == 0 &&
        (metric->value.units >= LUMOS_TIME_LIMIT || metric->value.units <= -LUMOS_TIME_LIMIT)) {
      char rank[32] = "all ranks";
      if (metric->scope.rank != LUMOS_ABSENT_INT) {
        (void)snprintf(rank, sizeof rank, "rank %d", (int)metric->scope.rank);
      }
      return lumos_fail(
          error,
          "%s of %s, step %d is beyond 2^53 ns (104 days); check the times in the recording, and how many "
          "ranks each stands for",
          lumos_string(job->strings, metric->name), rank, (int)metric->scope.step);
    }
  }
  return true;
}

/* --- The runs: the one that is kept, and two that only tell how well it does --- */

struct runs {
  struct lumos_job *job;
  struct lumos_engine *engine;
  struct lumos_engine copies[2]; /* for the other runs */
  const struct lumos_stretches *stretches;
  struct lumos_stretches ends; /* the same, for runs of nodes */
  const struct lumos_timeline *measured;
  struct lumos_holds holds;
  bool opportunities, steps_alone;
  struct lumos_ranging *ranging;           /* NULL: of the recorded job, or there is nothing to find ranges by */
  struct lumos_retiming retiming, ordered; /* for opportunities, for ranges */
  struct lumos_replay replay;
  struct lumos_transplant *transplant;
  struct lumos_error errors[3];
};

enum { KEPT, REPLAYED, TRANSPLANTED };

static bool keep(struct runs *runs, struct lumos_error *error) {
  struct lumos_job *job = runs->job;
  const struct lumos_engine_order order = {.notes = {.holds = &runs->holds, .bindings = job->bindings}};
  return lumos_retiming_make(runs->opportunities ? &runs->retiming : NULL,
                             runs->ranging != NULL ? &runs->ordered : NULL, runs->engine, &order, job->runs.items,
                             error);
}

static bool do_run(void *context, size_t index, bool callers) {
  struct runs *runs = context;
  struct lumos_error *error = &runs->errors[index];
  if (index == KEPT) {
    return keep(runs, error);
  }
  struct lumos_engine *engine = &runs->copies[index - 1];
  bool done = true;
  if (index == REPLAYED) {
    done = lumos_replay(runs->job, engine, &runs->ends, runs->measured, &runs->replay, error);
  } else {
    runs->transplant = lumos_transplant_make(runs->job, engine, &runs->ends, runs->measured);
  }
  lumos_engine_rest(engine);
  (void)callers; /* the kept run is the caller's */
  return done;
}

/* All three at once. What was changed has no measured times to hold a replay against. */
static bool run_all(struct runs *runs, struct lumos_error *error) {
  struct lumos_job *job = runs->job;
  job->bindings = lumos_allocate_zeroed(1, sizeof *job->bindings);
  lumos_vector_reserve(&job->runs, job->tasks.count);
  size_t count = lumos_job_edited(job) || runs->measured->steps.count == 0 ? 1 : 3;
  for (size_t i = 1; i < count; i++) {
    lumos_engine_copy(&runs->copies[i - 1], runs->engine);
  }
  size_t failed = lumos_parallel(count, job->threads, do_run, runs);
  for (size_t i = 1; i < count; i++) {
    lumos_engine_free(&runs->copies[i - 1]);
  }
  if (failed < count) {
    *error = runs->errors[failed];
    return false;
  }
  job->runs.count = job->tasks.count;
  job->hold_count = runs->holds.count;
  job->holds = lumos_copied(runs->holds.items, runs->holds.count, sizeof *job->holds);
  return true;
}

/* --- What is read off them --- */

static bool write_metrics(struct runs *runs, const struct lumos_hardware *hardware, struct lumos_error *error) {
  struct lumos_job *job = runs->job;
  const struct lumos_timeline *measured = runs->measured;
  const struct lumos_stretches *stretches = runs->stretches;
  struct lumos_timeline simulated;
  lumos_timeline_make(&simulated, job, job->runs.items, stretches);
  struct lumos_breakdown breakdown;
  lumos_breakdown_open(&breakdown, job, measured->steps.count + simulated.steps.count);
  const struct lumos_coupling *coupling = &breakdown.coupling;
  int64_t *kept = breakdown.kept, *kept_simulated = kept + measured->steps.count;
  struct lumos_idle *idle = breakdown.idle;
  bool ran = measured->steps.count > 0;
  if (ran) {
    lumos_write_timeline(job, coupling, measured, kept, idle, breakdown.unrecorded);
  }
  struct lumos_metric_span span = {.first = job->metrics.count};
  lumos_write_timeline(job, coupling, &simulated, kept_simulated, idle, breakdown.unrecorded);
  span.end = job->metrics.count;
  if (ran) {
    lumos_write_collectives(job, measured);
  }
  lumos_write_collectives(job, &simulated);
  if (ran) {
    lumos_write_stragglers(job, coupling, measured);
  }
  lumos_write_stragglers(job, coupling, &simulated);
  struct lumos_origins origins;
  lumos_origins_begin(&origins, job);
  lumos_write_idle(job, job->bindings, &simulated, idle, lumos_unrecorded_found(breakdown.unrecorded), &origins);
  lumos_write_critical_path(job, job->bindings, &simulated, stretches, &origins);
  lumos_origins_free(&origins);
  if (ran) {
    lumos_write_recording(job, measured);
  }
  lumos_write_trust(job, measured, &simulated, &runs->holds, kept);
  bool edited = lumos_job_edited(job);
  if (!edited && ran) {
    lumos_write_replay_error(job, stretches, measured, &runs->replay);
    lumos_write_transplant(job, measured, runs->transplant);
  }
  const struct lumos_timeline *told = edited || !ran ? &simulated : measured;
  lumos_write_rollups(job, told, stretches);
  lumos_write_occupancy(job, told, stretches);
  lumos_write_flops(job, told, stretches, hardware);
  lumos_write_copies(job, told, stretches, hardware);
  lumos_write_calls(job, told, stretches);
  lumos_write_memory(job, hardware);
  lumos_write_annotations(job, told, stretches);
  if (edited) {
    lumos_write_ranges(job, runs->ranging, runs->engine, &runs->ordered, runs->steps_alone ? &runs->ends : stretches,
                       span, runs->steps_alone);
    lumos_retiming_free(&runs->ordered);
    runs->ordered = (struct lumos_retiming){.job = NULL};
  }
  lumos_breakdown_close(&breakdown);
  lumos_timeline_free(&simulated);
  return check_metrics(job, error);
}

void lumos_measure(struct lumos_job *job) {
  struct lumos_stretches stretches;
  struct lumos_timeline measured;
  struct lumos_breakdown breakdown;
  lumos_find_stretches(job, &stretches);
  lumos_timeline_make(&measured, job, NULL, &stretches);
  lumos_breakdown_open(&breakdown, job, measured.steps.count);
  lumos_write_timeline(job, &breakdown.coupling, &measured, breakdown.kept, breakdown.idle, breakdown.unrecorded);
  lumos_write_collectives(job, &measured);
  lumos_write_stragglers(job, &breakdown.coupling, &measured);
  lumos_write_recording(job, &measured);
  lumos_breakdown_close(&breakdown);
  lumos_timeline_free(&measured);
  lumos_vector_free(&stretches);
}

/* Without ties to other ranks a collective has no transfer, only a length, and what an edit did to the transfer is
 * lost. */
static bool check_model(const struct lumos_job *job, enum lumos_model model, struct lumos_error *error) {
  for (size_t i = 0; !lumos_model_rules(model)->members && i < job->collectives.count; i++) {
    if (job->collectives.items[i].was != LUMOS_ABSENT) {
      return lumos_fail(error,
                        "the model %s does not connect ranks, so it cannot predict a changed collective; simulate this "
                        "job with another model",
                        lumos_model_name(model));
    }
  }
  return true;
}

/* What is the same in all runs is found once. */
static bool run_and_measure(struct lumos_job *job, const struct lumos_simulation *simulation,
                            const struct lumos_hardware *hardware, const char *file, struct lumos_error *error) {
  struct lumos_engine engine;
  struct lumos_stretches stretches;
  struct lumos_timeline measured;
  lumos_engine_prepare(&engine, job, simulation->model);
  lumos_find_stretches(job, &stretches);
  lumos_timeline_make(&measured, job, NULL, &stretches);
  struct runs runs = {.job = job,
                      .engine = &engine,
                      .stretches = &stretches,
                      .ends = stretches,
                      .measured = &measured,
                      .opportunities = simulation->opportunities && simulation->model == LUMOS_MODEL_LUMOS,
                      .ranging = lumos_job_edited(job) ? lumos_ranging_open(job) : NULL,
                      .steps_alone = simulation->steps_alone};
  runs.ends.places = engine.unordered ? NULL : engine.node_of;
  bool done = run_all(&runs, error) && write_metrics(&runs, hardware, error);
  if (done) {
    lumos_model_write(job, simulation->model, file);
    job->stage = LUMOS_STAGE_SIM;
  }
  if (done && runs.opportunities) {
    struct lumos_model_errors errors = {NAN, NAN}; /* of a changed job they are not all that is unsure */
    if (!lumos_job_edited(job) && measured.steps.count > 0) {
      errors = lumos_model_errors_of(&measured, &runs.replay.timeline);
    }
    lumos_write_opportunities(job, &engine, &runs.retiming, job->bindings, &stretches, errors);
  }
  lumos_ranging_free(runs.ranging);
  lumos_retiming_free(&runs.ordered);
  lumos_retiming_free(&runs.retiming);
  lumos_transplant_free(runs.transplant);
  lumos_replay_free(&runs.replay);
  lumos_vector_free(&runs.holds);
  lumos_timeline_free(&measured);
  lumos_vector_free(&stretches);
  lumos_engine_free(&engine);
  return done;
}

static bool simulate(struct lumos_job *job, const struct lumos_simulation *simulation,
                     const struct lumos_hardware *hardware, const char *file, struct lumos_error *error) {
  if (!check_model(job, simulation->model, error)) {
    return false;
  }
  if (job->stage < LUMOS_STAGE_GRAPH && !lumos_graph_build(job, error)) {
    return false;
  }
  lumos_job_rewind(job, LUMOS_STAGE_TRANSFORM);
  if (!run_and_measure(job, simulation, hardware, file, error)) {
    lumos_job_forget_run(job);
    lumos_vector_free(&job->runs);
    return false;
  }
  return true;
}

static const char *base_name(const char *path) {
  const char *slash = path == NULL ? NULL : strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

bool lumos_simulate_as(struct lumos_job *job, const struct lumos_simulation *simulation, struct lumos_error *error) {
  struct lumos_hardware *hardware = lumos_hardware_read(simulation->hardware, error);
  bool done = hardware != NULL && simulate(job, simulation, hardware, base_name(simulation->hardware), error);
  lumos_hardware_free(hardware);
  return done;
}

bool lumos_simulate_by(struct lumos_job *job, enum lumos_model model, struct lumos_error *error) {
  const struct lumos_simulation simulation = {.model = model};
  return lumos_simulate_as(job, &simulation, error);
}

bool lumos_simulate(struct lumos_job *job, struct lumos_error *error) {
  return lumos_simulate_by(job, LUMOS_MODEL_LUMOS, error);
}
