/* Property: a run of a variant is the run of a job whose own values are the variant's. */
#include "random_variant.h"
#include "unit/unit.h"

#include "sim/engine.h"

enum { TRIALS = 3000 };

static struct lumos_job *job_of(uint64_t trial) {
  random_state = trial * UINT64_C(0x9E3779B97F4A7C15);
  struct lumos_job *job = random_job();
  if (trial % 2 == 0) {
    add_boundaries(job);
    add_handovers(job);
  }
  return job;
}

/* Boundaries that only the variant has, on streams. */
static struct lumos_dep some_boundary(const struct lumos_job *job) {
  struct lumos_dep dep = lumos_dep_empty;
  uint32_t lane = THREADS;
  while (job->lanes.items[lane].task_count == 0) {
    lane++;
  }
  dep.dst = any_of(job, lane);
  dep.kind = LUMOS_BOUNDARY;
  dep.mode = LUMOS_FIXED;
  dep.at = pick(10 * MOST);
  dep.lag = pick(5);
  dep.to = LUMOS_START;
  return dep;
}

static void write_tasks(struct lumos_job *job, const struct lumos_variant *variant) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    struct lumos_times own = lumos_own_times(job, t), times = variant->times(variant->context, t, own);
    times.lag = lumos_on_stream(job, task) ? own.lag : times.lag; /* lags on streams stay */
    lumos_set_own_times(job, task, times);
    struct lumos_timing *timing = lumos_task_timing(job, task);
    if (timing->launch_lag != LUMOS_ABSENT) {
      timing->launch_lag = variant->launch(variant->context, t, timing->launch_lag);
    }
    if (task->detail != LUMOS_NONE && job->details.items[task->detail].wait.residual != LUMOS_ABSENT) {
      struct lumos_wait *wait = &job->details.items[task->detail].wait;
      wait->residual = variant->residual(variant->context, t, wait->residual);
    }
  }
}

/* The job as the variant has it. */
static void write_out(struct lumos_job *job, const struct lumos_variant *variant) {
  write_tasks(job, variant);
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    struct lumos_collective *collective = &job->collectives.items[c];
    collective->transfer = variant->transfer(variant->context, c, collective->transfer);
  }
  for (uint32_t i = 0; i < job->deps.count; i++) {
    struct lumos_dep *dep = &job->deps.items[i];
    if (dep->kind == LUMOS_HANDOVER) {
      dep->lag = variant->handover(variant->context, dep->dst, dep->lag);
    } else if (dep->src == LUMOS_NONE) {
      dep->at = variant->boundary(variant->context, i, dep->at);
    }
  }
  for (size_t i = 0; i < variant->added_count; i++) {
    lumos_vector_push(&job->deps, variant->added[i]);
  }
}

static void assert_same_runs(const struct lumos_run *left, const struct lumos_run *right, size_t count,
                             uint64_t trial) {
  for (size_t t = 0; t < count; t++) {
    if (left[t].start != right[t].start || left[t].dur != right[t].dur) {
      fail_msg("trial %d: as a variant task %d runs at %lld for %lld, written out at %lld for %lld", (int)trial, (int)t,
               (long long)left[t].start, (long long)left[t].dur, (long long)right[t].start, (long long)right[t].dur);
    }
  }
}

static void variants_are_jobs(void **state) {
  (void)state;
  int done = 0;
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    struct lumos_job *job = job_of(trial), *written = job_of(trial);
    size_t count = job->tasks.count;
    struct change change = any_change(job);
    struct lumos_variant variant = variant_of(&change);
    struct lumos_dep added = some_boundary(job);
    variant.added = &added;
    variant.added_count = (size_t)pick(2);
    write_out(written, &variant);
    struct lumos_run *own = malloc(count * sizeof *own), *first = malloc(count * sizeof *first);
    struct lumos_run *second = malloc(count * sizeof *second), *again = malloc(count * sizeof *again);
    struct lumos_error error = {0};
    struct lumos_engine engine;
    lumos_engine_prepare(&engine, job, LUMOS_MODEL_LUMOS);
    assert_true(lumos_engine_do(&engine, &(struct lumos_engine_order){0}, own, &error));
    bool runs = lumos_engine_do(&engine, &(struct lumos_engine_order){.variant = &variant}, first, &error);
    assert_int_equal(runs, lumos_engine_run(written, &(struct lumos_sim_options){0}, second, &error));
    done += runs;
    if (runs) {
      assert_same_runs(first, second, count, trial);
    }
    /* It leaves nothing behind, and a run that shares the engine's preparation finds the same. */
    struct lumos_engine copy;
    lumos_engine_copy(&copy, &engine);
    assert_true(lumos_engine_do(&engine, &(struct lumos_engine_order){0}, again, &error));
    assert_same_runs(again, own, count, trial);
    assert_int_equal(runs, lumos_engine_do(&copy, &(struct lumos_engine_order){.variant = &variant}, again, &error));
    if (runs) {
      assert_same_runs(again, first, count, trial);
    }
    lumos_engine_free(&copy);
    lumos_engine_free(&engine);
    free(own);
    free(first);
    free(second);
    free(again);
    lumos_job_free(job);
    lumos_job_free(written);
  }
  assert_true(done > TRIALS / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(variants_are_jobs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
