/* Property: what the rows of a run say of a job with less work is what the engine finds, wherever they say anything.
 *
 * The programs are those of random_job.h, where threads share streams and events, so that a change often has calls
 * change places; some with kernels that wait for each other's SMs, hand-overs and boundaries.
 */
#include "random_job.h"
#include "unit/unit.h"

#include "sim/less.h"
#include "sim/retiming.h"
#include <lumos/sim.h>

enum { TRIALS = 3000 };

static uint32_t any_of(const struct lumos_job *job, uint32_t lane) {
  return job->lanes.items[lane].task_first + (uint32_t)pick(job->lanes.items[lane].task_count);
}

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
    dep.lag = -pick(3);
    lumos_vector_push(&job->deps, dep);
  }
}

static void add_boundaries(struct lumos_job *job) {
  for (int64_t i = pick(3); i > 0; i--) {
    struct lumos_dep dep = lumos_dep_empty;
    dep.dst = (uint32_t)pick((int64_t)job->tasks.count);
    dep.kind = LUMOS_BOUNDARY;
    dep.mode = LUMOS_FIXED;
    dep.at = pick(300);
    dep.lag = pick(5);
    dep.to = LUMOS_START;
    lumos_vector_push(&job->deps, dep);
  }
}

static void add_handovers(struct lumos_job *job) {
  for (int64_t i = pick(4); i > 0; i--) {
    struct lumos_dep dep = lumos_dep_empty;
    uint32_t half = job->lanes.items[0].task_count / 2;
    if (half == 0 || job->lanes.items[1].task_count < 2) {
      return;
    }
    dep.src = job->lanes.items[0].task_first + (uint32_t)pick(half);
    dep.dst = job->lanes.items[1].task_first + job->lanes.items[1].task_count / 2 +
              (uint32_t)pick(job->lanes.items[1].task_count - job->lanes.items[1].task_count / 2);
    dep.kind = LUMOS_HANDOVER;
    dep.mode = LUMOS_FIXED;
    dep.from = LUMOS_END;
    dep.to = LUMOS_START;
    dep.lag = pick(20) - 2;
    lumos_vector_push(&job->deps, dep);
  }
}

/* Tasks that start before the call that launches them takes effect. */
static void start_some_early(struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_timing *timing = lumos_task_timing(job, &job->tasks.items[t]);
    if (job->tasks.items[t].call != LUMOS_NONE && pick(3) == 0) {
      timing->launch_from = pick(2) == 0 ? LUMOS_START : LUMOS_END;
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

static void compare(struct lumos_retiming *retiming, struct lumos_less *less, const struct lumos_works *works,
                    int64_t millionths, struct outcome *outcome) {
  const struct lumos_job *job = less->job;
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  for (size_t first = 0; first < works->count; first += LUMOS_RETIMED) {
    lumos_retiming_begin(retiming);
    for (unsigned w = 0; w < LUMOS_RETIMED && first + w < works->count; w++) {
      lumos_retiming_change(retiming, &less->engine, w, &works->items[first + w], millionths, less->usual,
                            less->chosen);
    }
    unsigned kept = lumos_retiming_run(retiming);
    for (unsigned w = 0; w < LUMOS_RETIMED && first + w < works->count; w++) {
      bool done = lumos_less_run(less, &works->items[first + w], millionths);
      outcome->asked++;
      outcome->blocked += !done;
      if ((kept >> w & 1) == 0) {
        continue;
      }
      assert_true(done);
      outcome->known++;
      lumos_retiming_ends(retiming, w, runs);
      for (size_t e = 0; e < retiming->ends.count; e++) {
        uint32_t t = retiming->ends.items[e].task;
        if (runs[t].start != less->runs[t].start + less->runs[t].dur) {
          fail_msg("work %d by %lld: task %d ends %lld, not %lld", (int)works->items[first + w].subject,
                   (long long)millionths, (int)t, (long long)runs[t].start,
                   (long long)(less->runs[t].start + less->runs[t].dur));
        }
      }
    }
  }
  free(runs);
}

static void compare_all(struct lumos_job *job, struct outcome *outcome) {
  struct lumos_error error = {0};
  struct lumos_times *usual = some_usual_times(job);
  struct lumos_works works = {0};
  struct lumos_retiming retiming;
  struct lumos_less less;
  lumos_find_works(job, true, &works);
  struct lumos_engine engine;
  lumos_engine_prepare(&engine, job, LUMOS_MODEL_LUMOS);
  lumos_less_open(&less, &engine, usual);
  struct lumos_held bindings = {0};
  const struct lumos_engine_order order = {.notes = {.bindings = &bindings}};
  if (lumos_retiming_make(&retiming, &less.engine, &order, less.runs, &error) && retiming.usable) {
    compare(&retiming, &less, &works, 0, outcome);
    compare(&retiming, &less, &works, 500000, outcome);
    compare(&retiming, &less, &works, 900000, outcome);
  } else {
    outcome->asked += 3 * (int)works.count;
  }
  lumos_retiming_free(&retiming);
  lumos_less_close(&less);
  lumos_engine_free(&engine);
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
