#include "transform/edit.h"

#include "base/text.h"
#include "job/own.h"
#include "transform/untied.h"
#include <lumos/graph.h>
#include <lumos/sim.h>
#include <lumos/transform.h>

bool lumos_edit_open(struct lumos_job *job, struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_GRAPH && !lumos_graph_build(job, error)) {
    return false;
  }
  lumos_job_rewind(job, LUMOS_STAGE_TRANSFORM);
  job->stage = LUMOS_STAGE_TRANSFORM;
  job->edited = job->edited == LUMOS_ABSENT_INT ? 0 : job->edited;
  return true;
}

/* Work outside of the recording that held a start in its middle comes when what the job does before it is over, not at
 * the time of a clock. */
static void follow_the_job(struct lumos_job *job) {
  for (size_t d = 0; d < job->deps.count; d++) {
    struct lumos_dep *dep = &job->deps.items[d];
    if (dep->kind == LUMOS_BOUNDARY && dep->covers != LUMOS_ABSENT) {
      dep->mode = LUMOS_RUN_TIME;
    }
  }
}

bool lumos_edit_begin(struct lumos_job *job, struct lumos_error *error) {
  if (!lumos_edit_open(job, error)) {
    return false;
  }
  follow_the_job(job);
  bool noted = lumos_common_error_of(job, lumos_intern_text(job->strings, LUMOS_ERROR_STEPS)) != NULL;
  if (job->edited == 0 && !noted) {
    lumos_note_model_errors(job);
  }
  return true;
}

bool lumos_edit_select(struct lumos_job *job, const struct lumos_selector *selector, const char *verb,
                       const char *argument, uint8_t *chosen) {
  if (lumos_selector_apply(selector, job, chosen) > 0) {
    return true;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "--%s '%s' selected no task and changed nothing", verb, argument);
  lumos_text_char(&text, '\0');
  lumos_job_note(job, "transform.nothing_selected", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                 "compare the selector with the task records that lumos-parse writes");
  lumos_text_free(&text);
  return false;
}

void lumos_edit_commit(struct lumos_job *job) {
  lumos_job_keep_bases(job);
  if (job->foreign.count > 0) {
    lumos_job_note(job, "transform.dropped_records", LUMOS_WARNING, (int64_t)job->foreign.count, NULL,
                   "records of unknown types were dropped, because they may not fit the changed job", NULL);
    job->foreign.count = 0;
  }
  job->edited += job->edited < INT32_MAX;
  lumos_note_untied_threads(job);
  lumos_note_untied_communication(job);
}

static const char PROFILER[] = "profiler"; /* id of the common error */

void lumos_edit_profiled(struct lumos_job *job, uint32_t task, double moved, struct lumos_edit_profiler *profiler) {
  struct lumos_times own = lumos_own_times(job, task); /* what a call waits for is not drawn out by an error */
  if (moved > 0 && own.dur + own.lag > 0) {
    struct lumos_detail *detail = lumos_task_detail(job, &job->tasks.items[task]);
    profiler->moved += moved;
    profiler->whole += (double)own.dur + (double)own.lag;
    detail->common_error =
        detail->common_error == LUMOS_NO_STRING ? lumos_intern_text(job->strings, PROFILER) : detail->common_error;
  }
}

/* One standard deviation of the profiler's time, as a share of what is taken for it. Where steps were timed without the
 * profiler it lies between rank.profiler.least and 1, anywhere. Else it is read off the shortest stretches between
 * rows, which hold whatever an op does at least, while the profiler's own time varies: on a real trace 1,487 ns were
 * read for 950, on emulated ones 900 for up to 1,100. */
static double profiler_sigma(const struct lumos_job *job) {
  static const double unknown = 0.3, by_root_12 = 0.289;
  double sigma = 0;
  for (size_t i = 0; i < job->ranks.count; i++) {
    int32_t least = job->ranks.items[i].profiler.least;
    double of = least == LUMOS_ABSENT_INT ? unknown : by_root_12 * (1 - (double)least / LUMOS_WHOLE_SHARE);
    sigma = of > sigma ? of : sigma;
  }
  return sigma;
}

void lumos_edit_profiler_error(struct lumos_job *job, const struct lumos_edit_profiler *profiler) {
  bool usual = profiler->pace_sigma > 0;
  double shortest = profiler->whole > 0 ? profiler_sigma(job) * profiler->moved / profiler->whole : 0;
  double sigma = usual ? profiler->pace_sigma : shortest;
  if (profiler->whole > 0) {
    (void)lumos_job_common_error(job, PROFILER, "the profiler overhead",
                                 (int32_t)(sigma < 1 ? sigma * LUMOS_WHOLE_SHARE : LUMOS_WHOLE_SHARE),
                                 usual ? "other recordings" : "the shortest stretches between rows");
  }
}

void lumos_edit_record(struct lumos_job *job, const char *verb, const char *argument) {
  struct lumos_text args = LUMOS_TEXT_BUFFER;
  if (job->edited == 0) {
    job->common_errors.count = 0; /* nothing is predicted */
  }
  lumos_text_format(&args, "--%s", verb);
  if (argument != NULL) {
    lumos_text_format(&args, " %s", argument);
  }
  lumos_text_char(&args, '\0');
  lumos_job_history(job, "lumos-transform", args.bytes, NULL, 0);
  lumos_text_free(&args);
}
