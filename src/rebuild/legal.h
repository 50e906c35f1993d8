/* Is a plan one that a cluster could carry out? Nothing here knows how plans are made: stages are carried out slot by
 * slot, as if they took no time, and what they send is followed. */
#ifndef LUMOS_REBUILD_LEGAL_H
#define LUMOS_REBUILD_LEGAL_H

#include "rebuild/plan.h"
#include "rebuild/schedule.h"
#include <lumos/error.h>

/* Stages of one pipeline that do `slots` each: every micro-batch goes forward once through every chunk, and then back
 * once; gradients of weights that are put off follow once; what is sent is received, in the same order and by the pass
 * that goes on with it; nobody waits for ever; and no stage holds more micro-batches between forward and back, nor puts
 * off the weights' gradients of more, than its schedule says. */
bool rebuild_check_stages(const struct rebuild_slots *slots, const struct rebuild_pipeline *pipeline,
                          struct lumos_error *error) LUMOS_MUST_CHECK;

/* The same of every pipeline of a plan, all steps of which are alike; and gradients are summed up over replicas in one
 * pass back, or in every one. */
bool rebuild_check_plan(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                        struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
