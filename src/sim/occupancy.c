/* Occupancy of a step: the mean of what its kernels have, each weighted by its time. Kernels without one, as those of
 * some vendors, are left out of it, and what is left is told as a time of its own. So are those with 0: Kineto writes
 * it where it cannot tell, which is so of most matrix products that use much shared memory, and a kernel that runs has
 * warps.
 */
#include "sim/occupancy.h"

#include "sim/metrics.h"
#include <stdlib.h>

struct weighted {
  __int128 time;      /* ns of kernels that have an occupancy */
  __int128 occupancy; /* the same, each by its millionths */
};

static void add(struct weighted *sum, const struct weighted *part, int64_t ranks) {
  sum->time = lumos_weighted_sum(sum->time, part->time, ranks);
  sum->occupancy = lumos_weighted_sum(sum->occupancy, part->occupancy, ranks);
}

static struct weighted weigh(const struct lumos_job *job, const struct lumos_run *runs,
                             const struct lumos_stretch *stretch) {
  struct weighted sum = {0};
  for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
    int32_t occupancy = lumos_timing_of(job, t)->occupancy;
    if (occupancy != LUMOS_ABSENT_INT && occupancy > 0) {
      int64_t time = runs == NULL ? job->tasks.items[t].dur : runs[t].dur;
      sum.time += time;
      sum.occupancy += (__int128)time * occupancy;
    }
  }
  return sum;
}

static void write_mean(struct lumos_job *job, struct lumos_metric_place place, const struct weighted *sum) {
  if (sum->time > 0) {
    struct lumos_scope scope = lumos_everywhere;
    scope.rank = place.rank;
    scope.step = place.step;
    int64_t mean = (int64_t)((sum->occupancy + sum->time / 2) / sum->time);
    lumos_metric_add(job, "occupancy", &scope, place.source, (struct lumos_decimal){mean, 6});
  }
}

static void write_steps(struct lumos_job *job, const struct lumos_timeline *timeline, const struct weighted *sums) {
  for (size_t i = 0; i < timeline->steps.count; i++) {
    write_mean(job, lumos_place_of(job, timeline, &timeline->steps.items[i]), &sums[i]);
  }
  for (size_t k = 0; k < timeline->job.count; k++) {
    struct weighted all = {0};
    for (uint32_t s = timeline->sharers_first[k]; s < timeline->sharers_first[k + 1]; s++) {
      uint32_t step = timeline->sharers[s];
      add(&all, &sums[step], lumos_rank_weight(&job->ranks.items[timeline->steps.items[step].rank]));
    }
    struct lumos_metric_place place = {timeline->source, LUMOS_ABSENT_INT, timeline->job.items[k].step};
    if (all.time > 0) {
      lumos_metric_time(job, "occupancy_time", place, all.time < INT64_MAX ? (int64_t)all.time : INT64_MAX);
    }
    write_mean(job, place, &all);
  }
}

void lumos_write_occupancy(struct lumos_job *job, const struct lumos_timeline *timeline,
                           const struct lumos_stretches *stretches) {
  struct weighted *sums = lumos_allocate_zeroed(timeline->steps.count + 1, sizeof *sums);
  uint32_t guess = 0;
  for (size_t i = 0; i < stretches->count; i++) {
    const struct lumos_stretch *stretch = &stretches->items[i];
    const struct lumos_lane *lane = &job->lanes.items[stretch->lane];
    uint32_t step =
        lane->kind == LUMOS_STREAM ? lumos_step_index(&timeline->steps, lane->rank, stretch->step, &guess) : LUMOS_NONE;
    if (step != LUMOS_NONE) {
      struct weighted part = weigh(job, timeline->runs, stretch);
      add(&sums[step], &part, 1);
    }
  }
  write_steps(job, timeline, sums);
  free(sums);
}
