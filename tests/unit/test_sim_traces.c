/* Real traces: a run that carries every residual gives back every measured start and length to the nanosecond, every
 * step's parts add up, and so does every step's chain of binding constraints. Skipped where the folder of LUMOS_TRACES
 * is missing. */
#include "unit.h"

#include <lumos/graph.h>
#include <lumos/path.h>
#include <lumos/sim.h>
#include <lumos/trace.h>
#include <sys/stat.h>

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The chain of every rank's every step covers it without a gap, and no task of it but the last ends later than the
 * part. */
static void expect_chains(const struct lumos_job *job, const char *path) {
  struct lumos_error error = {0};
  struct lumos_held bindings = {0};
  struct lumos_steps_list steps = {0};
  struct lumos_path_parts parts = {0};
  if (!lumos_bindings_find(job, &bindings, NULL, NULL, &error)) {
    fail_msg("%s: %s", path, error.text);
  }
  lumos_find_steps(job, job->runs.items, &steps);
  for (size_t i = 0; i < steps.count; i++) {
    int64_t at = steps.items[i].start;
    parts.count = 0;
    lumos_path_walk(job, &bindings, at, steps.items[i].end, &parts);
    for (size_t p = 0; p < parts.count; p++) {
      const struct lumos_path_part *part = &parts.items[p];
      const struct lumos_run *run = &job->runs.items[part->task];
      if (part->from != at || part->to < at) {
        fail_msg("%s: step %d: part %zu begins at %lld, not %lld", path, steps.items[i].step, p, (long long)part->from,
                 (long long)at);
      }
      if (part->to > run->start + run->dur && part->what != LUMOS_PATH_OUTSIDE) {
        fail_msg("%s: step %d: part %zu is later than its task", path, steps.items[i].step, p);
      }
      at = part->to;
    }
    assert_true(at == steps.items[i].end || steps.items[i].end == steps.items[i].start);
  }
  lumos_vector_free(&steps);
  lumos_vector_free(&parts);
  lumos_held_free(&bindings);
}

static void expect_exact(struct lumos_job *job, const char *path) {
  struct lumos_error error = {0};
  struct lumos_run *runs = calloc(job->tasks.count + 1, sizeof *runs);
  if (!lumos_graph_build(job, &error) || !lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error)) {
    fail_msg("%s: %s", path, error.text);
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (runs[t].start != lumos_measured_start(job, t) || runs[t].dur != job->tasks.items[t].dur) {
      fail_msg("%s: task %u of rank %d is not where it was measured", path, job->tasks.items[t].id,
               job->ranks.items[lumos_rank_of(job, &job->tasks.items[t])].rank);
    }
  }
  free(runs);
  if (!lumos_simulate(job, &error)) { /* asserts the partition */
    fail_msg("%s: %s", path, error.text);
  }
  expect_chains(job, path);
}

static bool replays(const char *path) {
  struct lumos_error error = {0};
  const struct lumos_trace_options options = {0};
  struct lumos_job *job = lumos_trace_parse(&path, 1, &options, &error);
  if (job != NULL) {
    expect_exact(job, path);
    lumos_job_free(job);
  }
  return job != NULL;
}

/* A folder is one job, or, where its files do not fit together, each file is one. Returns how many jobs. */
static int replay_set(const char *set) {
  if (replays(set)) {
    return 1;
  }
  int jobs = 0;
  DIR *listing = opendir(set);
  assert_non_null(listing);
  const struct dirent *entry = NULL;
  while ((entry = readdir(listing)) != NULL) {
    char *file = unit_path(set, entry->d_name);
    jobs += !is_folder(file) && replays(file);
    free(file);
  }
  (void)closedir(listing);
  return jobs;
}

static void every_set_is_replayed_exactly(void **state) {
  (void)state;
  const char *folder = unit_traces();
  DIR *listing = folder == NULL ? NULL : opendir(folder);
  if (listing == NULL) {
    print_message("SKIPPED: the public traces are not here (LUMOS_TRACES)\n");
    skip();
    return;
  }
  int jobs = 0;
  const struct dirent *entry = NULL;
  while ((entry = readdir(listing)) != NULL) {
    char *set = unit_path(folder, entry->d_name);
    if (entry->d_name[0] != '.' && is_folder(set)) {
      jobs += replay_set(set);
    }
    free(set);
  }
  (void)closedir(listing);
  assert_true(jobs > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_set_is_replayed_exactly)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
