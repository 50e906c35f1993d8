/* When tasks of a job run, against what was worked out on paper. */
#ifndef LUMOS_TESTS_EXPECTED_RUNS_H
#define LUMOS_TESTS_EXPECTED_RUNS_H

#include "sim_jobs.h"
#include <lumos/sim.h>

struct expected {
  const char *name;
  int64_t start, end;
};

static inline void check_runs(const struct lumos_job *job, bool drop_residuals, const struct expected *expected,
                              size_t count) {
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  struct lumos_error error = {0};
  const struct lumos_sim_options options = {.drop_residuals = drop_residuals};
  if (!lumos_job_check(job, &error) || !lumos_engine_run(job, &options, runs, &error)) {
    fail_msg("%s", error.text);
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t t = task_named(job, expected[i].name);
    if (runs[t].start != expected[i].start || runs[t].start + runs[t].dur != expected[i].end) {
      fail_msg("%s runs %lld-%lld, not %lld-%lld", expected[i].name, (long long)runs[t].start,
               (long long)(runs[t].start + runs[t].dur), (long long)expected[i].start, (long long)expected[i].end);
    }
  }
  free(runs);
}

/* CHECK(job, drop residuals, {"task", start, end}, ...) */
#define CHECK(job, drop, ...)                                            \
  do {                                                                   \
    const struct expected expected[] = {__VA_ARGS__};                    \
    check_runs(job, drop, expected, sizeof expected / sizeof *expected); \
  } while (0)

#endif
