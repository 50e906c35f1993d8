/* Slack: what the run noted of bounds, read backwards.
 *
 * An instant can come later by its slack: the least, over all that it bounds, of the slack there and of how far the
 * bound is from binding. Notes stand in the order in which the run passed bounds on, so that in reverse order the slack
 * of an instant is known before it is asked for, whatever times and lags are.
 */
#include "sim/critical.h"

#include <stdlib.h>

struct slacks {
  const struct lumos_job *job;
  int64_t *of;  /* by instant, see struct lumos_bound; INT64_MAX: no step's end follows from it */
  int64_t *met; /* by collective: when the last one came */
};

static int64_t time_of(const struct slacks *slacks, uint32_t instant) {
  const struct lumos_job *job = slacks->job;
  if (instant >= 2 * job->tasks.count) {
    return slacks->met[instant - 2 * job->tasks.count];
  }
  const struct lumos_run *run = &job->runs.items[instant / 2];
  return run->start + (instant % 2 == 0 ? 0 : run->dur);
}

/* When the last member of every collective came: the latest bound on that instant. */
static void find_meetings(struct slacks *slacks, const struct lumos_bounds *links) {
  size_t tasks = slacks->job->tasks.count;
  slacks->met = lumos_allocate((slacks->job->collectives.count + 1) * sizeof *slacks->met);
  for (size_t i = 0; i < slacks->job->collectives.count; i++) {
    slacks->met[i] = LUMOS_ABSENT;
  }
  for (size_t i = 0; i < links->count; i++) {
    const struct lumos_bound *link = &links->items[i];
    if (link->dst >= 2 * tasks && link->bound > slacks->met[link->dst - 2 * tasks]) {
      slacks->met[link->dst - 2 * tasks] = link->bound;
    }
  }
}

/* The tasks by which a step's end is defined can end when the step does. */
static void set_ends(struct slacks *slacks) {
  const struct lumos_job *job = slacks->job;
  struct lumos_stretches stretches;
  struct lumos_timeline timeline;
  lumos_find_stretches(job, &stretches);
  lumos_timeline_make(&timeline, job, job->runs.items, &stretches);
  uint32_t *job_step = lumos_job_steps_of(&timeline);
  uint8_t *with_streams = lumos_steps_with_streams(job, &timeline, &stretches);
  uint32_t guess = 0;
  for (size_t i = 0; i < stretches.count; i++) {
    const struct lumos_stretch *stretch = &stretches.items[i];
    const struct lumos_lane *lane = &job->lanes.items[stretch->lane];
    uint32_t step = lumos_step_index(&timeline.steps, lane->rank, stretch->step, &guess);
    if (step == LUMOS_NONE || with_streams[step] != (lane->kind == LUMOS_STREAM)) {
      continue;
    }
    for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
      slacks->of[2 * t + 1] = timeline.job.items[job_step[step]].end - time_of(slacks, 2 * t + 1);
    }
  }
  free(job_step);
  free(with_streams);
  lumos_timeline_free(&timeline);
  lumos_vector_free(&stretches);
}

static void read_backwards(struct slacks *slacks, const struct lumos_bounds *links) {
  for (size_t i = links->count; i-- > 0;) {
    const struct lumos_bound *link = &links->items[i];
    int64_t slack = slacks->of[link->dst];
    if (slack != INT64_MAX) {
      slack += time_of(slacks, link->dst) - link->bound;
      slacks->of[link->src] = slack < slacks->of[link->src] ? slack : slacks->of[link->src];
    }
  }
}

static int64_t or_absent(int64_t slack) { return slack == INT64_MAX ? LUMOS_ABSENT : slack; }

static void find(const struct lumos_job *job, const struct lumos_bounds *links, struct lumos_slack *found) {
  size_t instants = 2 * job->tasks.count + job->collectives.count;
  struct slacks slacks = {.job = job, .of = lumos_allocate((instants + 1) * sizeof *slacks.of)};
  for (size_t i = 0; i < instants; i++) {
    slacks.of[i] = INT64_MAX;
  }
  find_meetings(&slacks, links);
  set_ends(&slacks);
  read_backwards(&slacks, links);
  for (size_t t = 0; t < job->tasks.count; t++) {
    found[t] = (struct lumos_slack){or_absent(slacks.of[2 * t]), or_absent(slacks.of[2 * t + 1])};
  }
  free(slacks.of);
  free(slacks.met);
}

bool lumos_slack_find(const struct lumos_job *job, struct lumos_held *bindings, struct lumos_slack *slacks,
                      struct lumos_error *error) {
  if (2 * (uint64_t)job->tasks.count + job->collectives.count >= UINT32_MAX) {
    return lumos_fail(error, "slack can be found of at most 2^31 tasks; simulate fewer ranks at once");
  }
  struct lumos_bounds links = {0};
  const struct lumos_engine_notes notes = {.bindings = bindings, .links = &links};
  bool done = lumos_run_noting(job, &notes, error);
  if (done) {
    find(job, &links, slacks);
  }
  lumos_vector_free(&links);
  return done;
}
