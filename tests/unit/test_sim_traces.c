/* Real traces: a run that carries every residual gives back every measured start and length to the nanosecond, and every
 * step's parts add up. Skipped where the folder of LUMOS_TRACES is missing. */
#include "unit.h"

#include <lumos/graph.h>
#include <lumos/sim.h>
#include <lumos/trace.h>
#include <sys/stat.h>

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
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
  const char *folder = getenv("LUMOS_TRACES");
  DIR *listing = folder == NULL ? NULL : opendir(folder);
  if (listing == NULL) {
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
