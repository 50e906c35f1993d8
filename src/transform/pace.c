#include "transform/pace.h"

#include "sim/engine.h"
#include "sim/steps.h"

#include <math.h>
#include <stdlib.h>

struct pace {
  const struct lumos_job *job;
  struct lumos_engine engine;
  struct lumos_stretches stretches;
  struct lumos_run *runs;
  double factor; /* of what threads take */
  size_t steps;  /* of all ranks */
};

/* Mean of the timed steps, of the rank on which they took longest: steps end together. 0: none were timed. */
static double find_timed(const struct lumos_job *job) {
  double longest = 0;
  for (size_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    bool timed = rank->unprofiled_steps > 0 && rank->unprofiled_dur != LUMOS_ABSENT;
    longest = fmax(longest, timed ? (double)rank->unprofiled_dur / (double)rank->unprofiled_steps : 0);
  }
  return longest;
}

static struct lumos_times at_pace(void *context, uint32_t task, struct lumos_times own) {
  const struct pace *pace = context;
  if (lumos_on_stream(pace->job, &pace->job->tasks.items[task])) {
    return own;
  }
  return (struct lumos_times){llround((double)own.dur * pace->factor), llround((double)own.lag * pace->factor)};
}

/* The mean of the simulated steps, but for the first of several, in which the profiler starts. 0: the job cannot
 * run. */
static double run(struct pace *pace, double factor) {
  const struct lumos_variant variant = {.context = pace, .times = at_pace, .threads = true};
  const struct lumos_engine_order order = {.variant = &variant};
  struct lumos_error error = {0};
  struct lumos_timeline timeline;
  double sum = 0;
  pace->factor = factor;
  if (!lumos_engine_do(&pace->engine, &order, pace->runs, &error)) {
    return 0;
  }
  lumos_timeline_make(&timeline, pace->job, pace->runs, &pace->stretches);
  size_t first = timeline.job.count > 1;
  for (size_t i = first; i < timeline.job.count; i++) {
    sum += (double)(timeline.job.items[i].end - timeline.job.items[i].start) / (double)(timeline.job.count - first);
  }
  pace->steps = timeline.steps.count;
  lumos_timeline_free(&timeline);
  return sum;
}

/* Of ten recordings of examples/record/train_gpt.py on an H100 and an H200 whose threads held them up (own GPT, llama;
 * 512 to 768 features; shapes recorded), steps without the profiler took 0.41 to 0.64 times as long: 0.50 in the
 * middle, with a standard deviation of 0.14. As wide again as threads of one program differ from process to process. */
static const struct lumos_pace USUAL = {0.5, 0.25, 1, 0};
static const double NEAR = 0.002, HOLD = 0.03; /* of a step: steps differ by more than the first. Chosen */

/* Between the base and the boost clock of an H100 lies a fifth (1,590 and 1,980 MHz): no clock explains more. */
static const double LEAST_CLOCK = 0.002, MOST_CLOCK = 0.2;

/* Of steps of so long, do kernels that compute fill most? */
static bool computes(const struct pace *pace, double step) {
  static const double MOST = 0.9;
  double sum = 0;
  for (size_t t = 0; t < pace->job->tasks.count; t++) {
    const struct lumos_task *task = &pace->job->tasks.items[t];
    bool counts = lumos_on_stream(pace->job, task) && lumos_is_compute(task->kind) && task->step != LUMOS_ABSENT_INT;
    sum += counts ? (double)task->dur : 0;
  }
  return sum >= MOST * step * (double)pace->steps;
}

/* Threads explain what lies between a step with them as recorded and one with none; only the rest is what kernels
 * took. */
static void find_clock(const struct pace *pace, double timed, double own, double alone, struct lumos_pace *found) {
  double off = timed > own ? timed / own - 1 : timed < alone ? timed / alone - 1 : 0;
  if (computes(pace, own) && fabs(off) >= LEAST_CLOCK) {
    found->off = off;
    found->device = fabs(off) <= MOST_CLOCK ? 1 + off : 1;
  }
}

static struct lumos_pace search(struct pace *pace, double timed) {
  enum { MOST = 10 }; /* halvings: a thousandth of the factor */
  double low = 0, high = 1, own = run(pace, 1), alone = run(pace, 0);
  if (own - alone < HOLD * own) {
    struct lumos_pace found = USUAL;
    find_clock(pace, timed, own, alone, &found);
    return found;
  }
  if (own <= timed * (1 + NEAR)) {
    return (struct lumos_pace){1, 0, 1, 0};
  }
  double wanted = fmax(timed, alone) * (1 + NEAR); /* what streams take by themselves stays */
  for (int i = 0; i < MOST; i++) {                 /* the slowest threads with which steps are that short */
    double middle = (low + high) / 2;
    bool fits = run(pace, middle) <= wanted;
    low = fits ? middle : low;
    high = fits ? high : middle;
  }
  return (struct lumos_pace){low, 0, 1, 0};
}

struct lumos_pace lumos_pace_find(const struct lumos_job *job) {
  struct pace pace = {.job = job};
  double timed = find_timed(job);
  if (!(timed > 0)) {
    return (struct lumos_pace){1, 0, 1, 0};
  }
  lumos_engine_prepare(&pace.engine, job, LUMOS_MODEL_LUMOS);
  lumos_find_stretches(job, &pace.stretches);
  pace.stretches.changed = true;
  pace.runs = lumos_allocate(job->tasks.count * sizeof *pace.runs + 1);
  struct lumos_pace found = search(&pace, timed);
  free(pace.runs);
  lumos_vector_free(&pace.stretches);
  lumos_engine_free(&pace.engine);
  return found;
}
