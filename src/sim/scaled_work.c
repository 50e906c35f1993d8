#include "sim/scaled_work.h"

#include <stdlib.h>
#include <string.h>

/* ---- which tasks ---- */

/* One chosen member of a collective chooses all. Returns whether one is. */
static bool choose_members(struct lumos_scaled_work *scaled, const struct lumos_collective *collective) {
  const struct lumos_job *job = scaled->scaling.job;
  const uint32_t *members = job->members.items + collective->member_first;
  bool any = false;
  for (uint32_t m = 0; m < collective->member_count && !any; m++) {
    any = scaled->chosen[members[m]];
  }
  for (uint32_t m = 0; m < collective->member_count && any; m++) {
    bool on_stream = lumos_on_stream(job, &job->tasks.items[members[m]]);
    scaled->chosen[members[m]] = 1;
    scaled->variant.streams |= on_stream;
    scaled->variant.threads |= !on_stream;
  }
  return any;
}

/* Returns whether they have transfers. */
static bool choose(struct lumos_scaled_work *scaled, const struct lumos_work *work) {
  const struct lumos_job *job = scaled->scaling.job;
  bool host = work->subject == LUMOS_WORK_HOST;
  scaled->chosen = lumos_allocate(job->tasks.count);
  scaled->variant.threads = host;
  scaled->variant.streams = !host;
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    if (lane->kind == LUMOS_THREAD) {
      memset(scaled->chosen + lane->task_first, host, lane->task_count);
      continue;
    }
    for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
      scaled->chosen[t] = lumos_work_has(job, work, t);
    }
  }
  bool transfers = false;
  for (size_t c = 0; c < job->collectives.count; c++) {
    transfers = choose_members(scaled, &job->collectives.items[c]) || transfers;
  }
  return transfers;
}

/* ---- what becomes of them ---- */

static struct lumos_times scaled_times(void *context, uint32_t task, struct lumos_times own) {
  struct lumos_scaled_work *scaled = context;
  return scaled->chosen[task] ? lumos_scaled_times(&scaled->scaling, task, own) : own;
}

static int64_t scaled_residual(void *context, uint32_t task, int64_t own) {
  struct lumos_scaled_work *scaled = context;
  return lumos_scaled_residual(&scaled->scaling, task, own);
}

static int64_t scaled_handover(void *context, uint32_t task, int64_t own) {
  struct lumos_scaled_work *scaled = context;
  return lumos_scaled_handover(&scaled->scaling, task, own);
}

static int64_t scaled_transfer(void *context, uint32_t collective, int64_t own) {
  struct lumos_scaled_work *scaled = context;
  return lumos_scaled_transfer(&scaled->scaling, collective, own);
}

/* Division of 64 bits is far cheaper than of 128. */
static int64_t part_of(const struct lumos_scaled_work *scaled, int64_t time) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(time, scaled->scaling.millionths, &product)) {
    return product / LUMOS_SCALING_UNIT;
  }
  return (int64_t)((__int128)time * scaled->scaling.millionths / LUMOS_SCALING_UNIT);
}

/* A lag that counts back from the call's end is no time that a launch takes. */
static int64_t shorter_launch(void *context, uint32_t task, int64_t own) {
  (void)task;
  return own > 0 ? part_of(context, own) : own;
}

static struct lumos_times even_times(void *context, uint32_t task, struct lumos_times own) {
  const struct lumos_scaled_work *scaled = context;
  struct lumos_times median = scaled->medians[task];
  return (struct lumos_times){median.dur + part_of(scaled, own.dur - median.dur),
                              median.lag + part_of(scaled, own.lag - median.lag)};
}

void lumos_scaled_work_make(struct lumos_scaled_work *scaled, const struct lumos_job *job,
                            const struct lumos_work *work, int64_t millionths, const struct lumos_times *medians) {
  bool host = work->subject == LUMOS_WORK_HOST;
  *scaled = (struct lumos_scaled_work){.variant = {.context = scaled},
                                       .scaling = {.job = job, .millionths = millionths, .lags = host},
                                       .medians = medians};
  if (work->subject == LUMOS_WORK_LAUNCHES) {
    scaled->variant.launch = shorter_launch;
  } else if (work->subject == LUMOS_WORK_STRAGGLERS) {
    scaled->variant.times = medians == NULL ? NULL : even_times;
    scaled->variant.threads = scaled->variant.streams = medians != NULL;
  } else {
    bool transfers = choose(scaled, work);
    scaled->scaling.chosen = scaled->chosen;
    lumos_scaling_open(&scaled->scaling);
    scaled->variant.times = scaled_times;
    scaled->variant.transfer = transfers ? scaled_transfer : NULL;
    scaled->variant.residual = host ? scaled_residual : NULL;
    scaled->variant.handover = host ? scaled_handover : NULL;
  }
}

void lumos_scaled_work_free(struct lumos_scaled_work *scaled) {
  lumos_scaling_close(&scaled->scaling);
  free(scaled->chosen);
}
