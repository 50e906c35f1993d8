/* Emission: a plan and templates made into a whole job. */
#ifndef LUMOS_REBUILD_EMIT_H
#define LUMOS_REBUILD_EMIT_H

#include "rebuild/plan.h"
#include <lumos/error.h>

/* The job, at stage transform. What a block refers to beyond itself is found again as ports.h says; what is not there
 * in the plan is not referred to. Communication is joined as it is in the recording: the n-th operations of all members
 * of a communicator belong together, and a plan in which members have not equally many is refused. Times at which
 * something outside of the recording held a task stay out. O(tasks log blocks). */
struct lumos_job *rebuild_emit(const struct rebuild_templates *templates, const struct rebuild_plan *plan,
                               struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
