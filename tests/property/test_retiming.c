/* Property: what the rows of a run say of a job with less work is what the engine finds, wherever they say anything.
 * Those in the run's order say the same there, of all tasks, and of the job as it is in every case.
 *
 * The programs are those of random_job.h, where threads share streams and events, so that a change often has calls
 * change places; some with kernels that wait for each other's SMs, hand-overs and boundaries.
 */
#include "random_job.h"
#include "random_variant.h"
#include "unit/unit.h"

#include "sim/retiming.h"
#include "sim/scaled_work.h"
#include <lumos/sim.h>

enum { TRIALS = 3000 };

static void add_rooms(struct lumos_job *job) {
  for (int64_t i = pick(4); i > 0; i--) {
    uint32_t a = THREADS, b = THREADS + 1;
    if (job->lanes.items[a].task_count == 0 || job->lanes.items[b].task_count == 0) {
      return;
    }
    bool first = pick(2) == 0;
    struct lumos_dep dep = lumos_dep_empty;
    dep.src = any_of(job, first ? a : b);
    dep.dst = any_of(job, first ? b : a);
    dep.kind = LUMOS_RESOURCE;
    dep.mode = LUMOS_RUN_TIME;
    dep.from = LUMOS_END;
    dep.to = LUMOS_START;
    dep.evidence = LUMOS_INFERRED;
    dep.covers = pick(2) == 0 ? LUMOS_ABSENT : pick(MOST);
    dep.lag = -pick(3);
    lumos_vector_push(&job->deps, dep);
  }
}

static bool blocks(const struct lumos_job *job, uint32_t call) {
  return lumos_detail_of(job, &job->tasks.items[call])->wait.on == LUMOS_WAIT_SELF;
}

/* Tasks that start before the call that launches them takes effect. */
static void start_some_early(struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_timing *timing = lumos_task_timing(job, &job->tasks.items[t]);
    if (job->tasks.items[t].call != LUMOS_NONE && pick(3) == 0) {
      timing->launch_from = blocks(job, job->tasks.items[t].call) || pick(2) == 0 ? LUMOS_START : LUMOS_END;
      timing->launch_lag = pick(20) - 10;
      timing->residual = pick(20) - 10;
    }
  }
}

/* What tasks usually take, were there like ranks: less, at random. */
static struct lumos_times *some_usual_times(const struct lumos_job *job) {
  struct lumos_times *usual = lumos_allocate(job->tasks.count * sizeof *usual);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool thread = !lumos_on_stream(job, task);
    usual[t] = (struct lumos_times){task->dur > 0 ? pick(task->dur + 1) : task->dur,
                                    thread && task->lag > 0 ? pick(task->lag + 1) : task->lag};
  }
  return usual;
}

struct outcome {
  int asked, known, blocked;
};

struct trial {
  const struct lumos_job *job;
  struct lumos_engine engine;
  struct lumos_retiming retiming, ordered;
  struct lumos_run *runs, *ends; /* as the engine, and as the rows have it */
  struct outcome *outcome;
};

static void compare_ordered(struct trial *trial, const struct lumos_variant *variant, const char *what) {
  struct lumos_error error = {0};
  const struct lumos_engine_order order = {.variant = variant};
  assert_true(lumos_engine_do(&trial->engine, &order, trial->runs, &error));
  lumos_retiming_begin(&trial->ordered, 1);
  lumos_retiming_change(&trial->ordered, &trial->engine, 0, variant);
  assert_int_equal(lumos_retiming_run(&trial->ordered) & 1, 1);
  lumos_retiming_runs(&trial->ordered, &trial->engine, 0, variant, trial->ends);
  for (size_t t = 0; t < trial->job->tasks.count; t++) {
    if (trial->ends[t].start != trial->runs[t].start || trial->ends[t].dur != trial->runs[t].dur) {
      fail_msg("%s, in the run's order: task %d is at %lld for %lld, not at %lld for %lld", what, (int)t,
               (long long)trial->ends[t].start, (long long)trial->ends[t].dur, (long long)trial->runs[t].start,
               (long long)trial->runs[t].dur);
    }
  }
}

static void compare(struct trial *trial, const struct lumos_variant *variant, unsigned w, bool known,
                    const char *what) {
  struct lumos_error error = {0};
  const struct lumos_engine_order order = {.variant = variant, .nodes_only = true};
  bool done = lumos_engine_do(&trial->engine, &order, trial->runs, &error);
  trial->outcome->asked++;
  trial->outcome->blocked += !done;
  if (!known) {
    return;
  }
  assert_true(done);
  trial->outcome->known++;
  lumos_retiming_ends(&trial->retiming, &trial->engine, w, trial->ends);
  for (size_t e = 0; e < trial->retiming.ends.count; e++) {
    uint32_t t = trial->engine.node_of[trial->retiming.ends.items[e].task];
    if (trial->ends[t].start != trial->runs[t].start + trial->runs[t].dur) {
      fail_msg("%s: node %d ends %lld, not %lld", what, (int)t, (long long)trial->ends[t].start,
               (long long)(trial->runs[t].start + trial->runs[t].dur));
    }
  }
  if (trial->outcome->known % 4 == 0 && variant->handover == NULL) {
    compare_ordered(trial, variant, what);
  }
}

static void compare_works(struct trial *trial, const struct lumos_works *works, const struct lumos_times *usual,
                          int64_t millionths, unsigned width) {
  struct lumos_retiming *retiming = &trial->retiming;
  for (size_t first = 0; first < works->count; first += width) {
    struct lumos_scaled_work scaled[LUMOS_RETIMED];
    lumos_retiming_begin(retiming, width);
    for (unsigned w = 0; w < width && first + w < works->count; w++) {
      lumos_scaled_work_make(&scaled[w], trial->job, &works->items[first + w], millionths, usual);
      lumos_retiming_change(retiming, &trial->engine, w, &scaled[w].variant);
    }
    unsigned kept = lumos_retiming_run(retiming);
    for (unsigned w = 0; w < width && first + w < works->count; w++) {
      char what[64];
      (void)snprintf(what, sizeof what, "work %d by %d", (int)works->items[first + w].subject, (int)millionths);
      compare(trial, &scaled[w].variant, w, (kept >> w & 1) != 0, what);
      lumos_scaled_work_free(&scaled[w]);
    }
  }
}

/* One that changes a little of everything. What it has of boundaries is not known without the engine. */
static void compare_change(struct trial *trial) {
  struct change change = any_change(trial->job);
  struct lumos_variant variant = variant_of(&change);
  variant.boundary = pick(4) == 0 ? variant.boundary : NULL;
  lumos_retiming_begin(&trial->retiming, 1);
  lumos_retiming_change(&trial->retiming, &trial->engine, 0, &variant);
  bool known = (lumos_retiming_run(&trial->retiming) & 1) != 0;
  assert_false(known && variant.boundary != NULL);
  compare(trial, &variant, 0, known, "a little of everything");
}

static void compare_all(struct lumos_job *job, struct outcome *outcome) {
  struct lumos_error error = {0};
  struct lumos_times *usual = some_usual_times(job);
  struct lumos_works works = {0};
  struct trial trial = {.job = job,
                        .runs = lumos_allocate(job->tasks.count * sizeof *trial.runs),
                        .ends = lumos_allocate(job->tasks.count * sizeof *trial.ends),
                        .outcome = outcome};
  lumos_find_works(job, true, &works);
  lumos_engine_prepare(&trial.engine, job, LUMOS_MODEL_LUMOS);
  struct lumos_held bindings = {0};
  const struct lumos_engine_order order = {.notes = {.bindings = &bindings}};
  const struct lumos_variant as_it_is = {.context = NULL};
  bool done = lumos_retiming_make(&trial.retiming, &trial.ordered, &trial.engine, &order, trial.runs, &error);
  if (done) {
    assert_true(trial.ordered.usable);
    compare_ordered(&trial, &as_it_is, "as it is");
  }
  if (done && trial.retiming.usable) {
    compare_works(&trial, &works, usual, 0, LUMOS_RETIMED);
    compare_works(&trial, &works, usual, 500000, 1);
    compare_works(&trial, &works, usual, 900000, LUMOS_RETIMED);
    compare_change(&trial);
  } else {
    outcome->asked += 3 * (int)works.count;
  }
  lumos_retiming_free(&trial.retiming);
  lumos_retiming_free(&trial.ordered);
  lumos_engine_free(&trial.engine);
  free(trial.runs);
  free(trial.ends);
  lumos_vector_free(&works);
  lumos_held_free(&bindings);
  free(usual);
}

static void rows_say_what_the_engine_does(void **state) {
  (void)state;
  struct outcome outcome = {0};
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    random_state = trial * UINT64_C(0x9E3779B97F4A7C15);
    struct lumos_job *job = random_job();
    if (trial % 2 == 0) {
      add_rooms(job);
      add_boundaries(job);
      add_handovers(job);
    }
    if (trial % 3 == 0) {
      start_some_early(job);
    }
    compare_all(job, &outcome);
    lumos_job_free(job);
  }
  print_message("%d of %d are known without the engine; in %d tasks wait for each other\n", outcome.known,
                outcome.asked, outcome.blocked);
  assert_true(outcome.known > outcome.asked / 10);
  assert_true(outcome.known < outcome.asked);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_say_what_the_engine_does)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
