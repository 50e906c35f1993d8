/* The slowest of many replicas, when fewer are built. */
#ifndef LUMOS_REBUILD_SLOWEST_H
#define LUMOS_REBUILD_SLOWEST_H

#include "rebuild/plan.h"
#include <lumos/error.h>

/* Replicas wait for the slowest of all where they communicate, and of more ranks than are built the slowest is later.
 * How far replicas come apart in a step is read off the job that the plan was built as, which is simulated for that;
 * lateness is taken to be normally distributed. In each step all items of the replica that comes last there are slowed
 * down, by as much as the slowest of all replicas is expected to be later than the slowest of those that are built.
 * *slowed: some are. Of plans with one replica none are: how far others come apart from it is not known. `recorded`:
 * replicas and contexts of the recording. plan->unsure becomes how unsure the slowest is, of replicas and of ranks that
 * share sequences or experts, as a share of the step. Runs the engine. */
bool rebuild_await_slowest(struct rebuild_plan *plan, const struct lumos_job *built,
                           const struct lumos_parallel *recorded, bool *slowed,
                           struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
