/* --unprofiled: the job as it would run without the profiler. What recording takes on the threads is taken out of their
 * tasks' durations and of the time between them; then, where steps were timed without the profiler and are still
 * shorter, threads are sped up until the simulated ones take as long (pace.h). Where none were timed, what tracing
 * costs within calls and ops stays, which a note says.
 */
#include "base/text.h"
#include "graph/profiler.h"
#include "transform/edit.h"
#include "transform/pace.h"

#include <lumos/sim.h>
#include <lumos/transform.h>
#include <math.h>
#include <stdlib.h>

/* False: no recording shows what it takes. */
static bool is_known(const struct lumos_job *job) {
  for (size_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_profiler *profiler = &job->ranks.items[i].profiler;
    if (profiler->before_op != LUMOS_ABSENT || profiler->after_op != LUMOS_ABSENT ||
        profiler->after_call != LUMOS_ABSENT) {
      return true;
    }
  }
  return false;
}

/* All that is to be taken out, before any of it is: whether a row follows another at once is read off the lags. */
static struct lumos_profiled *find_parts(const struct lumos_job *job) {
  struct lumos_profiled *parts = lumos_allocate_zeroed(job->tasks.count, sizeof *parts);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (!lumos_on_stream(job, &job->tasks.items[t])) {
      parts[t] = lumos_profiled_part(job, t);
    }
  }
  return parts;
}

static int64_t less(int64_t time, int64_t part) { return time > part ? time - part : 0; }

static void take_out(struct lumos_job *job, uint32_t t, struct lumos_profiled part) {
  struct lumos_task *task = &job->tasks.items[t];
  struct lumos_times own = lumos_own_times(job, t);
  if (part.dur > 0) {
    struct lumos_detail *detail = lumos_task_detail(job, task);
    detail->was = detail->was == LUMOS_ABSENT ? task->dur : detail->was;
    task->dur_source = LUMOS_SCALED;
  }
  if (part.dur > 0 || part.lag > 0) {
    lumos_set_own_times(job, task, (struct lumos_times){less(own.dur, part.dur), less(own.lag, part.lag)});
  }
}

/* Kernels as they ran in the steps that were timed. What lies between those and the recorded ones is the difference of
 * two recordings of one job, so another such may lie as far off. */
static void at_clock(struct lumos_job *job, const struct lumos_pace *pace) {
  bool scales = pace->device != 1;
  for (uint32_t t = 0; t < job->tasks.count && scales; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    struct lumos_times own = lumos_own_times(job, t);
    if (lumos_on_stream(job, task) && lumos_is_compute(task->kind) && own.dur > 0) {
      (void)lumos_edit_mark(job, task);
      lumos_set_own_times(job, task, (struct lumos_times){llround((double)own.dur * pace->device), own.lag});
    }
  }
  if (pace->off != 0) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(
        &text, "kernels fill the recorded steps, and the steps that were timed without the profiler took %.1f %% %s. ",
        100 * fabs(pace->off), pace->off < 0 ? "less" : "more");
    lumos_text_put(
        &text, scales
                   ? "The kernels are taken to have run so much faster or slower then, as at another clock"
                   : "No clock varies so much, so something else held one of the two up. The recorded steps are taken "
                     "for the job, and the range allows for both");
    lumos_text_char(&text, '\0');
    lumos_job_note(job, "transform.profiler_clock", scales ? LUMOS_INFO : LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                   scales ? NULL : "record again, on a machine that does nothing else");
    lumos_text_free(&text);
    lumos_note_another_recording(job, pace->off);
  }
}

/* The pace of threads once the stretches between rows are as short as that; of a recording alone: a changed job takes
 * another time than its recording's steps that were timed. */
static void speed_up(struct lumos_job *job, bool recorded, struct lumos_edit_profiler *profiler) {
  struct lumos_pace pace = recorded ? lumos_pace_find(job) : (struct lumos_pace){1, 0, 1, 0};
  profiler->pace_sigma = pace.sigma;
  for (uint32_t t = 0; t < job->tasks.count && pace.factor < 1; t++) {
    struct lumos_times own = lumos_own_times(job, t);
    if (!lumos_on_stream(job, &job->tasks.items[t]) && own.dur + own.lag > 0) {
      struct lumos_profiled part = {own.dur - llround((double)own.dur * pace.factor),
                                    own.lag - llround((double)own.lag * pace.factor)};
      take_out(job, t, part);
      lumos_edit_profiled(job, t, (double)(part.dur + part.lag), profiler);
    }
  }
  if (pace.sigma > 0) {
    lumos_job_note(job, "transform.profiler_usual", LUMOS_INFO, LUMOS_ABSENT, NULL,
                   "the GPU holds the recorded job up, so the steps that were timed without the profiler do not show "
                   "how much faster its CPUs "
                   "are then. Twice as fast is assumed, as in other recordings; the range allows for less and more",
                   "record a job that its CPUs hold up, such as one with a smaller micro-batch");
  }
  at_clock(job, &pace);
  bool timed = false;
  for (size_t i = 0; i < job->ranks.count; i++) {
    timed |= job->ranks.items[i].unprofiled_dur != LUMOS_ABSENT;
  }
  if (timed && !recorded) {
    lumos_job_note(
        job, "transform.profiler_late", LUMOS_WARNING, LUMOS_ABSENT, NULL,
        "the steps that were timed without the profiler are those of the recorded job, not of the changed one, so they "
        "do not show how much faster its CPUs are",
        "give --unprofiled to the first lumos-transform of the pipe");
  }
}

/* Of how many ranks only what lies between rows is known, from above. */
static void note_range(struct lumos_job *job) {
  int64_t ranks = 0;
  for (size_t i = 0; i < job->ranks.count; i++) {
    ranks += job->ranks.items[i].profiler.least == LUMOS_ABSENT_INT;
  }
  if (ranks > 0) {
    lumos_job_note(
        job, "transform.profiler_range", LUMOS_INFO, ranks, NULL,
        "--unprofiled removed the CPU time between rows that the profiler takes at most, as the shortest gaps "
        "show it. What it takes within calls and ops is not known and stays, so the job without it may be faster "
        "than predicted",
        "record with examples/record, which times steps without the profiler");
  }
}

bool lumos_transform_unprofiled(struct lumos_job *job, const char *argument, struct lumos_error *error) {
  (void)argument;
  bool recorded = !lumos_job_edited(job);
  if (!lumos_edit_begin(job, error)) {
    return false;
  }
  if (!is_known(job)) {
    lumos_job_note(job, "transform.profiler_unknown", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   "--unprofiled changed nothing: the recording does not show the profiler overhead",
                   "record CPU activities, too, and several steps");
    lumos_edit_record(job, "unprofiled", NULL);
    return true;
  }
  struct lumos_profiled *parts = find_parts(job);
  struct lumos_edit_profiler profiler = {0};
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    take_out(job, t, parts[t]);
    lumos_edit_profiled(job, t, (double)(parts[t].dur + parts[t].lag), &profiler);
  }
  free(parts);
  speed_up(job, recorded, &profiler);
  lumos_edit_profiler_error(job, &profiler);
  note_range(job);
  for (size_t i = 0; i < job->ranks.count; i++) {
    job->ranks.items[i].profiler = lumos_rank_empty.profiler;
  }
  lumos_edit_commit(job);
  lumos_edit_record(job, "unprofiled", NULL);
  return true;
}
