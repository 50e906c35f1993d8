/* lumos_hta: all ranks, one after the other. */
#include "base/text.h"
#include "sim/clock.h"
#include "sim/hta/rows.h"

#include <lumos/hta.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many names of step marks all ranks have together, up to 2: with one there is no last step to leave out. */
static size_t count_steps(const struct lumos_job *job) {
  lumos_string_id first = LUMOS_NO_STRING;
  size_t count = 0;
  for (size_t i = 0; i < job->ranks.count; i++) {
    lumos_string_id steps = job->ranks.items[i].hta.steps;
    if (steps == LUMOS_NO_STRING || steps == first) {
      continue;
    }
    bool several = strchr(lumos_string(job->strings, steps), '\n') != NULL;
    count += several ? 2 : 1;
    first = steps;
  }
  return count;
}

/* Is it known what was recorded? */
static bool says_rows(const struct lumos_rank *rank) { return rank->hta.extent != LUMOS_ABSENT; }

static bool is_known(const struct lumos_job *job) {
  for (size_t i = 0; i < job->ranks.count; i++) {
    if (says_rows(&job->ranks.items[i])) {
      return true;
    }
  }
  return false;
}

/* What is told of all ranks together. */
struct totals {
  struct hta_temporal temporal;
  struct hta_combinations with_memory, without_memory;
};

static bool write_rank(struct lumos_job *job, uint32_t index, bool cut, struct totals *totals,
                       struct lumos_error *error) {
  struct hta_rank rank;
  if (!hta_read(job, index, cut, &rank, error)) {
    return false;
  }
  struct lumos_scope scope = hta_scope(&rank);
  hta_put_time(job, "hta_gpu_rows", &scope, (int64_t)rank.rows.count);
  hta_add_temporal(&rank, &totals->temporal);
  if (rank.rows.count > 0) {
    struct hta_levels with_memory;
    struct hta_levels without_memory;
    hta_sweep(&rank, &without_memory, &with_memory);
    hta_add_combinations(&with_memory, &totals->with_memory);
    hta_add_combinations(&without_memory, &totals->without_memory);
    hta_write_overlap(&rank, &without_memory);
    hta_write_kernels(&rank);
    hta_write_idle(&rank);
    hta_write_queue(&rank);
  }
  hta_free(&rank);
  return true;
}

bool lumos_hta(struct lumos_job *job, struct lumos_error *error) {
  if (lumos_job_edited(job)) {
    return lumos_fail(
        error,
        "--hta: HTA's figures need a recording, and this job was changed; use the stream from before the change");
  }
  if (!is_known(job)) {
    return lumos_fail(error, "--hta: the stream does not say what HTA reads: an older lumos-parse made it, or it comes "
                             "from a trace that lumos-sim wrote; parse the recordings again");
  }
  bool cut = count_steps(job) > 1;
  struct totals totals = {0};
  bool done = true;
  for (uint32_t i = 0; done && i < job->ranks.count; i++) {
    done = !says_rows(&job->ranks.items[i]) || write_rank(job, i, cut, &totals, error);
  }
  if (done) {
    hta_write_temporal(job, &totals.temporal);
    hta_write_combinations(job, true, &totals.with_memory);
    hta_write_combinations(job, false, &totals.without_memory);
  }
  lumos_vector_free(&totals.temporal.rows);
  return done;
}
