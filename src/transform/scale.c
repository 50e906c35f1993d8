/* --scale: durations of a selection times a factor (what is scaled: scaling.h). To select tasks of a measured graph,
 * change them, and simulate what comes out is how Daydream (USENIX ATC 2020) asks what an optimization would bring.
 *
 * A factor is a decimal of at most 6 places and is applied as an exact ratio.
 */
#include "graph/profiler.h"
#include "sim/scaling.h"
#include "transform/edit.h"
#include "transform/selector.h"

#include "base/ascii.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FACTOR_DECIMALS = 6, FACTOR_DIGITS = 9 };

/* "2", "0.5", ".25" in millionths. */
bool lumos_edit_factor(const char *text, int64_t *millionths, struct lumos_error *error) {
  int64_t value = 0;
  int whole = 0;
  int decimals = 0;
  const char *at = text;
  for (; lumos_is_digit(*at) && whole < FACTOR_DIGITS; at++, whole++) {
    value = 10 * value + (*at - '0');
  }
  if (*at == '.') {
    for (at++; lumos_is_digit(*at) && decimals < FACTOR_DECIMALS; at++, decimals++) {
      value = 10 * value + (*at - '0');
    }
  }
  for (int place = decimals; place < FACTOR_DECIMALS; place++) {
    value *= 10;
  }
  *millionths = value;
  return (*at == '\0' && whole + decimals > 0) ||
         lumos_fail(error,
                    "'%s' is not a factor; give a number from 0 to 999999999 with at most 6 decimals, such as 0.5",
                    text);
}

struct lumos_detail *lumos_edit_mark(struct lumos_job *job, struct lumos_task *task) {
  struct lumos_detail *detail = lumos_task_detail(job, task);
  detail->was = detail->was == LUMOS_ABSENT ? task->dur : detail->was;
  task->dur_source = LUMOS_SCALED;
  return detail;
}

/* `to`: the job that the scaling looks at; nothing that a change touches is read again. */
static void scale_tasks(struct lumos_scaling *scaling, struct lumos_job *to) {
  const double moved = fabs((double)scaling->millionths / LUMOS_SCALING_UNIT - 1);
  struct lumos_edit_profiler profiler = {0};
  for (uint32_t t = 0; t < to->tasks.count; t++) {
    struct lumos_task *task = &to->tasks.items[t];
    const struct lumos_times times = lumos_scaled_times(scaling, t, lumos_own_times(to, t));
    if (lumos_scaling_takes_residual(scaling, t)) {
      struct lumos_wait *wait = &lumos_edit_mark(to, task)->wait;
      wait->residual = lumos_scaled_residual(scaling, t, wait->residual);
    } else if (lumos_scaling_takes_dur(scaling, t)) {
      (void)lumos_edit_mark(to, task);
    }
    const struct lumos_times own = lumos_own_times(to, t);
    struct lumos_profiled part = {0};
    if (!lumos_on_stream(to, task)) {
      part = lumos_profiled_part(to, t);
    }
    lumos_set_own_times(to, task, times);
    lumos_edit_profiled(to, t,
                        moved * (double)((times.dur != own.dur ? part.dur : 0) + (times.lag != own.lag ? part.lag : 0)),
                        &profiler);
    scaling->overflow = scaling->overflow || task->dur >= LUMOS_SCALING_LIMIT || task->lag >= LUMOS_SCALING_LIMIT;
  }
  lumos_edit_profiler_error(to, &profiler);
}

static void scale_transfers(struct lumos_scaling *scaling, struct lumos_job *to) {
  for (uint32_t c = 0; c < to->collectives.count; c++) {
    struct lumos_collective *collective = &to->collectives.items[c];
    if (lumos_scaling_takes_transfer(scaling, c)) {
      collective->was = collective->was == LUMOS_ABSENT ? collective->transfer : collective->was;
      collective->transfer = lumos_scaled_transfer(scaling, c, collective->transfer);
      collective->dur_source = LUMOS_SCALED;
    }
  }
}

static bool scale_chosen(struct lumos_job *job, const struct lumos_selector *selector, int64_t millionths,
                         const uint8_t *chosen, const char *verb, const char *argument, struct lumos_error *error) {
  struct lumos_scaling scaling = {
      .job = job, .millionths = millionths, .chosen = chosen, .lags = lumos_selector_takes_lags(selector)};
  lumos_scaling_open(&scaling);
  scale_tasks(&scaling, job);
  for (size_t i = 0; i < job->deps.count; i++) {
    struct lumos_dep *dep = &job->deps.items[i];
    dep->lag = dep->kind == LUMOS_HANDOVER ? lumos_scaled_handover(&scaling, dep->dst, dep->lag) : dep->lag;
  }
  scale_transfers(&scaling, job);
  lumos_scaling_close(&scaling);
  lumos_edit_commit(job);
  return !scaling.overflow ||
         lumos_fail(error, "--%s '%s' makes times longer than 2^53 ns (104 days); use a smaller factor", verb,
                    argument);
}

static bool apply(struct lumos_job *job, const struct lumos_selector *selector, int64_t millionths, const char *verb,
                  const char *argument, struct lumos_error *error) {
  uint8_t *chosen = lumos_allocate(job->tasks.count);
  bool done = true;
  if (lumos_edit_select(job, selector, verb, argument, chosen) && millionths != LUMOS_SCALING_UNIT) {
    done = scale_chosen(job, selector, millionths, chosen, verb, argument, error);
  }
  free(chosen);
  return done;
}

static bool fail_in(const char *verb, struct lumos_error *error) {
  char option[24];
  (void)snprintf(option, sizeof option, "--%s", verb);
  return lumos_fail_prefix(error, option);
}

bool lumos_edit_scale(struct lumos_job *job, const char *verb, const char *argument, const char *specification,
                      struct lumos_error *error) {
  const char *equals = strrchr(specification, '=');
  int64_t millionths = 0;
  if (equals == NULL) {
    return lumos_fail(error, "--%s '%s' has no factor; write SELECTOR=FACTOR, such as kind=gemm=0.5", verb, argument);
  }
  if (!lumos_edit_factor(equals + 1, &millionths, error)) {
    return fail_in(verb, error);
  }
  struct lumos_selector *selector = lumos_selector_parse(specification, (size_t)(equals - specification), error);
  if (selector == NULL) {
    return fail_in(verb, error);
  }
  bool done = lumos_edit_begin(job, error) && apply(job, selector, millionths, verb, argument, error);
  lumos_selector_free(selector);
  if (done) {
    lumos_edit_record(job, verb, argument);
  }
  return done;
}

bool lumos_transform_scale(struct lumos_job *job, const char *specification, struct lumos_error *error) {
  return lumos_edit_scale(job, "scale", specification, specification, error);
}

bool lumos_transform_begin(struct lumos_job *job, struct lumos_error *error) {
  if (!lumos_edit_open(job, error)) {
    return false;
  }
  lumos_job_history(job, "lumos-transform", "", NULL, 0);
  return true;
}
