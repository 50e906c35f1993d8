/* lumos_hta: all ranks, one after the other, and how pandas rounds. */
#include "base/text.h"
#include "sim/clock.h"
#include "sim/hta/rows.h"

#include <lumos/hta.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lumos_decimal no_number = {LUMOS_ABSENT, 0};

struct lumos_decimal hta_rounded(double value, int decimals) {
  double scale = decimals == 1 ? 10 : 100;
  return isfinite(value) && fabs(value) < 1e12 ? (struct lumos_decimal){(int64_t)rint(value * scale), decimals}
                                               : no_number;
}

struct lumos_decimal hta_number(double value) {
  int decimals = 6;
  double scale = 1e6;
  while (decimals > 0 && fabs(value) * scale >= 0x1p53) {
    decimals--;
    scale /= 10;
  }
  return isfinite(value) && fabs(value) * scale < 0x1p53
             ? (struct lumos_decimal){(int64_t)llround(value * scale), decimals}
             : no_number;
}

double hta_quantile(const int64_t *sorted, size_t count, double q) {
  double place = (double)(count - 1) * q;
  size_t lower = (size_t)floor(place);
  size_t upper = lower + 1 < count ? lower + 1 : count - 1;
  double share = place - (double)lower;
  double distance = (double)(sorted[upper] - sorted[lower]);
  return share >= 0.5 ? (double)sorted[upper] - distance * (1 - share) : (double)sorted[lower] + distance * share;
}

struct lumos_scope hta_scope(const struct hta_rank *rank) {
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = rank->number;
  return scope;
}

/* By its number as a name: a lane of it is there only where the chosen steps have work on it, and of several devices
 * that share the number it would be none. */
struct lumos_scope hta_stream_scope(const struct hta_rank *rank, int64_t stream) {
  struct lumos_scope scope = hta_scope(rank);
  char number[24];
  (void)snprintf(number, sizeof number, "s%lld", (long long)stream);
  scope.name = lumos_intern_text(rank->job->strings, number);
  return scope;
}

void hta_put(struct lumos_job *job, const char *name, const struct lumos_scope *scope, struct lumos_decimal value) {
  if (value.units != LUMOS_ABSENT && llabs(value.units) < LUMOS_TIME_LIMIT) {
    lumos_metric_add(job, name, scope, LUMOS_METRIC_MEASURED, value);
  }
}

void hta_put_time(struct lumos_job *job, const char *name, const struct lumos_scope *scope, int64_t value) {
  hta_put(job, name, scope, (struct lumos_decimal){value, 0});
}

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
