/* --scale: durations of a selection times a factor.
 *
 * A factor is a decimal of at most 6 places and is applied as an exact ratio, rounded half up. What is scaled:
 *   a task's dur; of a call that a full queue blocked only what is its own, and on threads not what recording takes;
 *   of a call that waits instead the wait's residual, all of it that is its own;
 *   of a member whose end its collective decides instead the collective's transfer;
 *   with `host` also the lag of threads, less what a hand-over covers and what recording takes, and the lag of hand-overs.
 * Launch lags, stream gaps and residuals of starts stay. A factor of 1 changes nothing.
 */
#include "transform/selector.h"
#include "transform/untied.h"

#include "base/ascii.h"
#include "base/text.h"
#include "graph/profiler.h"
#include <lumos/graph.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 1000000, FACTOR_DECIMALS = 6, FACTOR_DIGITS = 9 };
static const int64_t time_limit = (int64_t)1 << 53;

struct scaling {
  struct lumos_job *job;
  int64_t millionths;
  const uint8_t *chosen;
  uint8_t *decided; /* by task: a collective's transfer decides its end */
  int64_t *blocked; /* by task: the part of a call that a full queue explains */
  bool overflow;
};

/* "2", "0.5", ".25" in millionths. */
static bool read_factor(const char *text, int64_t *millionths, struct lumos_error *error) {
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
         lumos_fail(error, "'%s' is no factor; give a number from 0 to 999999999 with at most 6 decimals, such as 0.5",
                    text);
}

static int64_t scaled(struct scaling *scaling, int64_t time) {
  __int128 product = (__int128)time * scaling->millionths + UNIT / 2;
  __int128 result = product / UNIT;
  if (result >= time_limit) {
    scaling->overflow = true;
    return time;
  }
  return (int64_t)result;
}

/* What a task was before its first change, and that it has changed. */
static struct lumos_detail *mark(struct lumos_job *job, struct lumos_task *task) {
  struct lumos_detail *detail = lumos_task_detail(job, task);
  detail->was = detail->was == LUMOS_ABSENT ? task->dur : detail->was;
  task->dur_source = LUMOS_SCALED;
  return detail;
}

/* By task the longest cover: of the lag before it, which is another thread's time, or of a call in a full queue. */
static int64_t *find_covers(const struct lumos_job *job, bool of_calls) {
  int64_t *covers = lumos_allocate_zeroed(job->tasks.count, sizeof *covers);
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if ((dep->kind == LUMOS_QUEUE) == of_calls && dep->covers != LUMOS_ABSENT && dep->covers > covers[dep->dst]) {
      covers[dep->dst] = dep->covers;
    }
  }
  return covers;
}

static void scale_task(struct scaling *scaling, uint32_t t) {
  struct lumos_job *job = scaling->job;
  struct lumos_task *task = &job->tasks.items[t];
  const struct lumos_detail *detail = lumos_detail_of(job, task);
  bool waits = detail->wait.on != 0 && detail->event_op != LUMOS_EVENT_WAIT;
  if (waits && detail->wait.residual == LUMOS_ABSENT) {
    return; /* nothing is known of what it waits for: all of it may be waiting */
  }
  if (waits) {
    struct lumos_wait *wait = &mark(job, task)->wait;
    wait->residual = scaled(scaling, wait->residual);
  } else if (!scaling->decided[t]) {
    (void)mark(job, task);
    int64_t foreign = scaling->blocked[t] + (lumos_on_stream(job, task) ? 0 : lumos_profiled_part(job, t).dur);
    int64_t own = task->dur > foreign ? task->dur - foreign : 0;
    task->dur = task->dur - own + scaled(scaling, own);
    scaling->overflow = scaling->overflow || task->dur >= time_limit;
  }
}

/* Between one thread's end and the other's start the host works too. */
static void scale_handovers(struct scaling *scaling) {
  struct lumos_job *job = scaling->job;
  for (size_t i = 0; i < job->deps.count; i++) {
    struct lumos_dep *dep = &job->deps.items[i];
    if (dep->kind == LUMOS_HANDOVER && scaling->chosen[dep->dst] && dep->lag > 0) {
      dep->lag = scaled(scaling, dep->lag);
    }
  }
}

static void scale_lags(struct scaling *scaling) {
  struct lumos_job *job = scaling->job;
  int64_t *covers = find_covers(job, false);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    if (!scaling->chosen[t] || lumos_on_stream(job, task)) {
      continue;
    }
    int64_t foreign = covers[t] + lumos_profiled_part(job, t).lag;
    int64_t own = task->lag - foreign;
    if (own > 0) {
      task->lag = foreign + scaled(scaling, own);
      scaling->overflow = scaling->overflow || task->lag >= time_limit;
    }
  }
  free(covers);
}

/* Transfers of collectives with a chosen member (and so all), before the tasks: it tells whose durations are decided by
 * them. In a rooted one only some are, so there both are scaled. */
static void scale_transfers(struct scaling *scaling) {
  struct lumos_job *job = scaling->job;
  for (size_t c = 0; c < job->collectives.count; c++) {
    struct lumos_collective *collective = &job->collectives.items[c];
    const uint32_t *members = job->members.items + collective->member_first;
    if (collective->transfer == LUMOS_ABSENT || collective->member_count == 0 || !scaling->chosen[members[0]]) {
      continue;
    }
    collective->was = collective->was == LUMOS_ABSENT ? collective->transfer : collective->was;
    collective->transfer = scaled(scaling, collective->transfer);
    collective->dur_source = LUMOS_SCALED;
    bool decides = collective->rule != LUMOS_ROOTED && collective->rule != LUMOS_CUSTOM;
    for (uint32_t m = 0; decides && m < collective->member_count; m++) {
      scaling->decided[members[m]] = 1;
    }
  }
}

static void drop_unknown_records(struct lumos_job *job) {
  if (job->foreign.count > 0) {
    lumos_job_note(
        job, "transform.dropped_records", LUMOS_WARNING, (int64_t)job->foreign.count, NULL,
        "records of types that this version does not know were dropped, for they may not fit the changed job", NULL);
    job->foreign.count = 0;
  }
}

static bool scale_chosen(struct lumos_job *job, const struct lumos_selector *selector, int64_t millionths,
                         const uint8_t *chosen, const char *specification, struct lumos_error *error) {
  struct scaling scaling = {.job = job, .millionths = millionths, .chosen = chosen};
  scaling.decided = lumos_allocate_zeroed(job->tasks.count, 1);
  scaling.blocked = find_covers(job, true);
  scale_transfers(&scaling);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (chosen[t]) {
      scale_task(&scaling, t);
    }
  }
  if (lumos_selector_takes_lags(selector)) {
    scale_lags(&scaling);
    scale_handovers(&scaling);
  }
  free(scaling.decided);
  free(scaling.blocked);
  drop_unknown_records(job);
  lumos_note_untied_threads(job);
  return !scaling.overflow ||
         lumos_fail(error, "--scale '%s' makes times longer than 2^53 ns (104 days); use a smaller factor",
                    specification);
}

/* To stage transform: what is missing is run, what sim wrote goes. */
static bool reach_stage(struct lumos_job *job, struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_GRAPH && !lumos_graph_build(job, error)) {
    return false;
  }
  lumos_job_rewind(job, LUMOS_STAGE_TRANSFORM);
  job->stage = LUMOS_STAGE_TRANSFORM;
  return true;
}

static void write_history(struct lumos_job *job, const char *specification) {
  struct lumos_text args = LUMOS_TEXT_BUFFER;
  lumos_text_put(&args, "--scale ");
  lumos_text_put(&args, specification);
  lumos_text_char(&args, '\0');
  lumos_job_history(job, "lumos-transform", args.bytes, NULL, 0);
  lumos_text_free(&args);
}

static void note_nothing_selected(struct lumos_job *job, const char *specification) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "--scale '%s' selected no task and changed nothing", specification);
  lumos_text_char(&text, '\0');
  lumos_job_note(job, "transform.nothing_selected", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                 "compare the selector with the task records that lumos-parse writes");
  lumos_text_free(&text);
}

static bool apply(struct lumos_job *job, const struct lumos_selector *selector, int64_t millionths,
                  const char *specification, struct lumos_error *error) {
  uint8_t *chosen = lumos_allocate(job->tasks.count);
  bool done = true;
  if (lumos_selector_apply(selector, job, chosen) == 0) {
    note_nothing_selected(job, specification);
  } else if (millionths != UNIT) {
    done = scale_chosen(job, selector, millionths, chosen, specification, error);
  }
  free(chosen);
  return done;
}

bool lumos_transform_scale(struct lumos_job *job, const char *specification, struct lumos_error *error) {
  const char *equals = strrchr(specification, '=');
  int64_t millionths = 0;
  if (equals == NULL) {
    return lumos_fail(error, "--scale '%s' has no factor; write SELECTOR=FACTOR, such as kind=gemm=0.5", specification);
  }
  if (!read_factor(equals + 1, &millionths, error)) {
    return lumos_fail_prefix(error, "--scale");
  }
  struct lumos_selector *selector = lumos_selector_parse(specification, (size_t)(equals - specification), error);
  if (selector == NULL) {
    return lumos_fail_prefix(error, "--scale");
  }
  bool done = reach_stage(job, error) && apply(job, selector, millionths, specification, error);
  lumos_selector_free(selector);
  if (done) {
    write_history(job, specification);
  }
  return done;
}

bool lumos_transform_begin(struct lumos_job *job, struct lumos_error *error) {
  if (!reach_stage(job, error)) {
    return false;
  }
  lumos_job_history(job, "lumos-transform", "", NULL, 0);
  return true;
}
