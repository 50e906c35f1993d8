/* What every transform begins and ends with. */
#ifndef LUMOS_TRANSFORM_EDIT_H
#define LUMOS_TRANSFORM_EDIT_H

#include <lumos/error.h>
#include <lumos/job.h>

struct lumos_selector;

/* Bring a job to stage transform: what is missing is run, what sim wrote goes. */
bool lumos_edit_open(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;
/* The same for a change: before the first, how wrong the model is about the recording is noted. */
bool lumos_edit_begin(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Mark what the selector chooses; false: nothing, which a note says. `verb` and `argument`: as the user gave them. */
bool lumos_edit_select(struct lumos_job *job, const struct lumos_selector *selector, const char *verb,
                       const char *argument, uint8_t *chosen);

/* The job has changed: counts it, drops records of unknown types, which may not fit any more, and says where threads
 * move apart. */
void lumos_edit_commit(struct lumos_job *job);

/* "2", "0.5", ".25" in millionths. */
bool lumos_edit_factor(const char *text, int64_t *millionths, struct lumos_error *error) LUMOS_MUST_CHECK;

/* What a task was before its first change, and that it has changed. */
struct lumos_detail *lumos_edit_mark(struct lumos_job *job, struct lumos_task *task);

/* lumos_transform_scale on behalf of another option, by whose name and argument it is known. */
bool lumos_edit_scale(struct lumos_job *job, const char *verb, const char *argument, const char *specification,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

/* What a change makes of the profiler's CPU time is only known as well as that is. `moved`: how much of it the change
 * moves, of which tasks, that take so long now, dur and lag; each tells its common error. `pace_sigma`: of the factor
 * by which threads became faster, where that is assumed; else 0. */
struct lumos_edit_profiler {
  double moved, whole, pace_sigma;
};
void lumos_edit_profiled(struct lumos_job *job, uint32_t task, double moved, struct lumos_edit_profiler *profiler);
void lumos_edit_profiler_error(struct lumos_job *job, const struct lumos_edit_profiler *profiler);

/* The end: the history's line, of a transform that changed something or not. `argument` may be NULL. */
void lumos_edit_record(struct lumos_job *job, const char *verb, const char *argument);

#endif
