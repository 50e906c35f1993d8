/* What a change with less work leaves unsure is what any change does (ranges.h). An opportunity's run tells no more
 * than the length of its steps, so how much time moves is taken from above: what is left out moves, or what the step is
 * shorter by, if that is more. Of what overlaps with communication as large a part as is left out changes: without
 * communication kernels get back what they lose there, and of kernels that take less time more is beside communication,
 * where they lose as much as before. */
#include "sim/opportunity_range.h"

#include "sim/ranges.h"
#include "sim/scaling.h"
#include <math.h>
#include <stdlib.h>

static double mean_or_0(const struct lumos_job *job, const char *name) {
  double mean = lumos_mean_step(job, name, LUMOS_METRIC_SIMULATED);
  return isnan(mean) ? 0 : mean;
}

static void find_shares(struct lumos_opportunity_range *range, const struct lumos_job *job) {
  double compute = 0, communication = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (!lumos_on_stream(job, task) || lumos_is_copy(task->kind)) {
      continue;
    }
    double dur = (double)task->dur * (double)lumos_rank_weight(&job->ranks.items[lumos_rank_of(job, task)]);
    if (lumos_is_communication(task->kind)) {
      range->groups[lumos_detail_of(job, task)->comm.group] += dur;
      communication += dur;
    } else {
      range->kinds[task->kind] += dur;
      compute += dur;
    }
  }
  for (size_t i = 0; i <= lumos_strings_count(job->strings) && communication > 0; i++) {
    range->groups[i] /= communication;
  }
  for (int kind = 0; kind < LUMOS_TASK_KINDS && compute > 0; kind++) {
    range->kinds[kind] /= compute;
  }
}

void lumos_opportunity_range_make(struct lumos_opportunity_range *range, const struct lumos_job *job,
                                  struct lumos_model_errors errors) {
  double overlapped = mean_or_0(job, "overlapped");
  *range = (struct lumos_opportunity_range){.errors = errors,
                                            .step = lumos_mean_step(job, "step_time", LUMOS_METRIC_SIMULATED),
                                            .compute = mean_or_0(job, "exposed_compute") + overlapped,
                                            .overlapped = overlapped,
                                            .communication = mean_or_0(job, "exposed_communication") + overlapped,
                                            .copy = mean_or_0(job, "exposed_copy")};
  if (overlapped > 0) {
    range->beside = lumos_beside_of(job);
  }
  range->groups =
      lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, sizeof *range->groups); /* after all names */
  find_shares(range, job);
}

void lumos_opportunity_range_free(struct lumos_opportunity_range *range) { free(range->groups); }

/* All of the work, in ns of the mean step; and of what overlaps. */
static struct lumos_change whole_of(const struct lumos_opportunity_range *range, const struct lumos_work *work) {
  bool copy = work->subject == LUMOS_WORK_KIND && lumos_is_copy(work->kind);
  double share = work->subject == LUMOS_WORK_COMMUNICATION ? 1
                 : work->subject == LUMOS_WORK_GROUP       ? range->groups[work->group]
                 : work->subject == LUMOS_WORK_KIND        ? range->kinds[work->kind]
                                                           : 0;
  double of = work->subject == LUMOS_WORK_KIND ? range->compute : range->communication;
  if (copy) {
    return (struct lumos_change){range->copy, 0, 0};
  }
  double beside = share * range->overlapped;
  return work->subject == LUMOS_WORK_KIND ? (struct lumos_change){share * of, beside, 0}
                                          : (struct lumos_change){share * of, 0, beside};
}

/* One standard deviation, by side. */
static struct lumos_width doubt(const struct lumos_opportunity_range *range, struct lumos_change change) {
  struct lumos_change_errors errors = lumos_change_errors(change, range->errors.replay, range->beside, false);
  double steps = isnan(range->errors.steps) ? 0 : range->errors.steps;
  double either = errors.carried * errors.carried + errors.moved * errors.moved + steps * steps;
  return (struct lumos_width){sqrt(either + errors.shorter * errors.shorter),
                              sqrt(either + errors.longer * errors.longer)};
}

struct lumos_width lumos_opportunity_width(const struct lumos_opportunity_range *range, const struct lumos_work *work,
                                           int64_t millionths, double step) {
  struct lumos_change whole = whole_of(range, work);
  double less = 1 - (double)millionths / LUMOS_SCALING_UNIT;
  struct lumos_change change = {fmax(less * whole.moved, fabs(range->step - step)) / step, less * whole.come / step,
                                less * whole.gone / step};
  struct lumos_width sides = doubt(range, change);
  return (struct lumos_width){LUMOS_WITHIN_90 * sides.below, LUMOS_WITHIN_90 * sides.above};
}

struct lumos_width lumos_improvement_width(const struct lumos_opportunity_range *range,
                                           const struct lumos_assumed *assumed, double step) {
  struct lumos_change change = {fabs(range->step - step) / step, assumed->beside / step, 0};
  struct lumos_width sides = doubt(range, change);
  double below = hypot(sides.below, assumed->either / step), above = hypot(sides.above, assumed->either / step);
  double longer = hypot(assumed->longer, assumed->of_gain * fmax(range->step - step, 0)) / step;
  return (struct lumos_width){LUMOS_WITHIN_90 * below, LUMOS_WITHIN_90 * hypot(above, longer)};
}
