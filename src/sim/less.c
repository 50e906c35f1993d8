#include "sim/less.h"

#include "transform/scaling.h"
#include <stdlib.h>
#include <string.h>

void lumos_less_open(struct lumos_less *less, const struct lumos_engine *engine, const struct lumos_times *usual) {
  const struct lumos_job *job = engine->prepared;
  *less = (struct lumos_less){.job = job, .usual = usual, .changed = *job};
  less->changed.watcher = (struct lumos_watcher){0}; /* several run side by side */
  lumos_engine_copy(&less->engine, engine);
  less->times = lumos_allocate(job->tasks.count * sizeof *less->times);
  less->runs = lumos_allocate(job->tasks.count * sizeof *less->runs);
  less->chosen = lumos_allocate(job->tasks.count);
}

/* Give back what was copied. */
static void undo(struct lumos_less *less) {
  const struct lumos_job *job = less->job;
  struct lumos_job *changed = &less->changed;
  if (changed->details.items != job->details.items) {
    free(changed->details.items);
  }
  if (changed->deps.items != job->deps.items) {
    free(changed->deps.items);
  }
  if (changed->collectives.items != job->collectives.items) {
    free(changed->collectives.items);
  }
  if (changed->timings.items != job->timings.items) {
    free(changed->timings.items);
  }
  changed->details.items = job->details.items;
  changed->deps.items = job->deps.items;
  changed->collectives.items = job->collectives.items;
  changed->timings.items = job->timings.items;
}

void lumos_less_close(struct lumos_less *less) {
  undo(less);
  lumos_engine_free(&less->engine);
  free(less->times);
  free(less->runs);
  free(less->chosen);
}

/* One chosen member of a collective chooses all. False: no collective has one. */
static bool choose_members(const struct lumos_job *job, uint8_t *chosen) {
  bool some = false;
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    const uint32_t *members = job->members.items + collective->member_first;
    bool any = false;
    for (uint32_t m = 0; m < collective->member_count; m++) {
      any = any || chosen[members[m]];
    }
    for (uint32_t m = 0; m < collective->member_count && any; m++) {
      chosen[members[m]] = 1;
    }
    some = some || any;
  }
  return some;
}

bool lumos_less_choose(const struct lumos_job *job, const struct lumos_work *work, uint8_t *chosen) {
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    if (lane->kind == LUMOS_THREAD) {
      memset(chosen + lane->task_first, work->subject == LUMOS_WORK_HOST, lane->task_count);
      continue;
    }
    for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
      chosen[t] = lumos_work_has(job, work, t);
    }
  }
  return choose_members(job, chosen);
}

static void scale_times(struct lumos_less *less, struct lumos_scaling *scaling) {
  for (uint32_t t = 0; t < less->job->tasks.count; t++) {
    if (less->chosen[t]) {
      less->times[t] = lumos_scaled_times(scaling, t);
    }
  }
}

static void scale_host(struct lumos_less *less, struct lumos_scaling *scaling) {
  const struct lumos_job *job = less->job;
  struct lumos_job *changed = &less->changed;
  changed->details.items = lumos_copied(job->details.items, job->details.count, sizeof *job->details.items);
  changed->deps.items = lumos_copied(job->deps.items, job->deps.count, sizeof *job->deps.items);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (lumos_scaling_takes_residual(scaling, t)) {
      changed->details.items[job->tasks.items[t].detail].wait.residual = lumos_scaled_residual(scaling, t);
    }
  }
  for (size_t i = 0; i < job->deps.count; i++) {
    changed->deps.items[i].lag = lumos_scaled_handover(scaling, &job->deps.items[i]);
  }
}

static void scale_transfers(struct lumos_less *less, struct lumos_scaling *scaling) {
  const struct lumos_job *job = less->job;
  struct lumos_job *changed = &less->changed;
  changed->collectives.items =
      lumos_copied(job->collectives.items, job->collectives.count, sizeof *job->collectives.items);
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    changed->collectives.items[c].transfer = lumos_scaled_transfer(scaling, c);
  }
}

static void scale(struct lumos_less *less, const struct lumos_work *work, int64_t millionths) {
  bool host = work->subject == LUMOS_WORK_HOST;
  struct lumos_scaling scaling = {.job = less->job, .millionths = millionths, .chosen = less->chosen, .lags = host};
  bool transfers = lumos_less_choose(less->job, work, less->chosen);
  lumos_scaling_open(&scaling);
  scale_times(less, &scaling);
  if (host) {
    scale_host(less, &scaling);
  }
  if (transfers) {
    scale_transfers(less, &scaling);
  }
  lumos_scaling_close(&scaling);
}

static int64_t part_of(int64_t time, int64_t millionths) {
  return (int64_t)((__int128)time * millionths / LUMOS_SCALING_UNIT);
}

/* A lag that counts back from the call's end is no time that a launch takes. */
static void shorten_launches(struct lumos_less *less, int64_t millionths) {
  const struct lumos_job *job = less->job;
  less->changed.timings.items = lumos_copied(job->timings.items, job->timings.count, sizeof *job->timings.items);
  for (size_t i = 0; i < job->timings.count; i++) {
    int64_t *lag = &less->changed.timings.items[i].launch_lag;
    *lag = *lag > 0 ? part_of(*lag, millionths) : *lag;
  }
}

static void even_out(struct lumos_less *less, int64_t millionths) {
  for (uint32_t t = 0; t < less->job->tasks.count && less->usual != NULL; t++) {
    struct lumos_times own = lumos_own_times(less->job, t), usual = less->usual[t];
    less->times[t].dur = usual.dur + part_of(own.dur - usual.dur, millionths);
    less->times[t].lag = usual.lag + part_of(own.lag - usual.lag, millionths);
  }
}

bool lumos_less_run(struct lumos_less *less, const struct lumos_work *work, int64_t millionths) {
  const struct lumos_job *job = less->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    less->times[t] = lumos_own_times(job, t);
  }
  if (work->subject == LUMOS_WORK_LAUNCHES) {
    shorten_launches(less, millionths);
  } else if (work->subject == LUMOS_WORK_STRAGGLERS) {
    even_out(less, millionths);
  } else {
    scale(less, work, millionths);
  }
  const struct lumos_engine_order order = {.changed = &less->changed, .times = less->times, .nodes_only = true};
  struct lumos_error error = {0};
  bool done = lumos_engine_do(&less->engine, &order, less->runs, &error);
  undo(less);
  return done;
}
