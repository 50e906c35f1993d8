/* Stage sim: the missing stages, the run, and what is read off its timeline. */
#include "sim/clock.h"
#include "sim/critical.h"
#include "sim/flops.h"
#include "sim/idle.h"
#include "sim/metrics.h"
#include "sim/occupancy.h"
#include "sim/rollup.h"

#include <lumos/graph.h>
#include <stdlib.h>
#include <string.h>

/* Every time that is read off is below what a stream can hold; what a recording claims need not be. */
static bool check_metrics(const struct lumos_job *job, struct lumos_error *error) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->value.decimals == 0 &&
        (metric->value.units >= LUMOS_TIME_LIMIT || metric->value.units <= -LUMOS_TIME_LIMIT)) {
      return lumos_fail(error, "%s of rank %d, step %d is beyond 2^53 ns (104 days); check the times in the recording",
                        lumos_string(job->strings, metric->name), (int)metric->scope.rank, (int)metric->scope.step);
    }
  }
  return true;
}

static bool write_metrics(struct lumos_job *job, struct lumos_engine *engine, const struct lumos_engine_notes *notes,
                          const struct lumos_hardware *hardware, struct lumos_error *error) {
  struct lumos_timeline measured;
  struct lumos_timeline simulated;
  struct lumos_stretches stretches;
  lumos_find_stretches(job, &stretches);
  lumos_timeline_make(&measured, job, NULL, &stretches);
  lumos_timeline_make(&simulated, job, job->runs.items, &stretches);
  int64_t *kept = lumos_allocate(measured.steps.count * sizeof *kept);
  int64_t *kept_simulated = lumos_allocate(simulated.steps.count * sizeof *kept_simulated);
  struct lumos_idle *idle = lumos_allocate((measured.steps.count + simulated.steps.count) * sizeof *idle);
  struct lumos_coupling coupling; /* the engine's follows the model, the breakdown does not */
  lumos_coupling_make(&coupling, job);
  lumos_write_timeline(job, &coupling, &measured, kept, idle);
  lumos_write_timeline(job, &coupling, &simulated, kept_simulated, idle);
  lumos_write_collectives(job, &measured);
  lumos_write_collectives(job, &simulated);
  lumos_write_stragglers(job, &coupling, &measured);
  lumos_write_stragglers(job, &coupling, &simulated);
  lumos_coupling_free(&coupling);
  lumos_write_idle(job, notes->bindings, &simulated, idle);
  lumos_write_critical_path(job, notes->bindings, &simulated, &stretches);
  lumos_write_recording(job, &measured);
  lumos_write_carried(job, &measured, &simulated, notes->holds, kept);
  bool done = true;
  if (!lumos_job_edited(job)) {
    struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
    done = lumos_write_replay_error(job, engine, &stretches, &measured, runs, error);
    lumos_write_transplant(job, engine, &stretches, &measured, runs);
    free(runs);
  }
  if (done) {
    const struct lumos_timeline *told = lumos_job_edited(job) ? &simulated : &measured;
    lumos_write_rollups(job, told, &stretches);
    lumos_write_occupancy(job, told, &stretches);
    lumos_write_flops(job, told, &stretches, hardware);
    done = check_metrics(job, error);
  }
  free(kept);
  free(kept_simulated);
  free(idle);
  lumos_timeline_free(&measured);
  lumos_timeline_free(&simulated);
  lumos_vector_free(&stretches);
  return done;
}

/* Without ties to other ranks a collective has no transfer, only a length, and what an edit did to the transfer is
 * lost. */
static bool check_model(const struct lumos_job *job, enum lumos_model model, struct lumos_error *error) {
  for (size_t i = 0; !lumos_model_rules(model)->members && i < job->collectives.count; i++) {
    if (job->collectives.items[i].was != LUMOS_ABSENT) {
      return lumos_fail(error,
                        "the model %s ties no ranks together, so it cannot tell what the changed transfer of a "
                        "collective does; simulate this job with another model",
                        lumos_model_name(model));
    }
  }
  return true;
}

/* One engine runs again and again: what is the same in all runs is found once. */
static bool run_and_measure(struct lumos_job *job, enum lumos_model model, const struct lumos_hardware *hardware,
                            struct lumos_error *error) {
  struct lumos_holds holds = {0};
  const struct lumos_engine_order keep = {
      .notes = {.holds = &holds, .bindings = lumos_allocate(job->tasks.count * sizeof(struct lumos_bindings))}};
  struct lumos_engine engine;
  lumos_engine_prepare(&engine, job, model);
  lumos_vector_reserve(&job->runs, job->tasks.count);
  bool done = lumos_engine_do(&engine, &keep, job->runs.items, error);
  if (done) {
    job->runs.count = job->tasks.count;
    done = write_metrics(job, &engine, &keep.notes, hardware, error);
  }
  free(keep.notes.bindings);
  lumos_engine_free(&engine);
  lumos_vector_free(&holds);
  return done;
}

static bool simulate(struct lumos_job *job, enum lumos_model model, const struct lumos_hardware *hardware,
                     const char *file, struct lumos_error *error) {
  if (!check_model(job, model, error)) {
    return false;
  }
  if (job->stage < LUMOS_STAGE_GRAPH && !lumos_graph_build(job, error)) {
    return false;
  }
  lumos_job_rewind(job, LUMOS_STAGE_TRANSFORM);
  if (!run_and_measure(job, model, hardware, error)) {
    lumos_vector_free(&job->runs);
    return false;
  }
  lumos_model_write(job, model, file);
  job->stage = LUMOS_STAGE_SIM;
  return true;
}

static const char *base_name(const char *path) {
  const char *slash = path == NULL ? NULL : strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

bool lumos_simulate_as(struct lumos_job *job, const struct lumos_simulation *simulation, struct lumos_error *error) {
  struct lumos_hardware *hardware = lumos_hardware_read(simulation->hardware, error);
  bool done = hardware != NULL && simulate(job, simulation->model, hardware, base_name(simulation->hardware), error);
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
