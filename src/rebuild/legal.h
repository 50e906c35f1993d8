/* Is a plan one that a cluster could carry out? Nothing here knows how plans are made: stages are carried out slot by slot, as
 * if they took no time, and what they send is followed. */
#ifndef LUMOS_REBUILD_LEGAL_H
#define LUMOS_REBUILD_LEGAL_H

#include "rebuild/plan.h"
#include "rebuild/schedule.h"
#include <lumos/error.h>

/* Stages of one pipeline that do `slots` each: every micro-batch goes forward once and then back once on each; what is sent
 * is received, in the same order and of the same micro-batch that the pass behind is of; nobody waits for ever; and stage s
 * of p never holds more micro-batches between forward and back than 1F1B lets it (p - s), or GPipe (all). */
bool rebuild_check_stages(const struct rebuild_slots *slots, int32_t stages, int32_t micro_batches,
                          enum lumos_schedule schedule, struct lumos_error *error) LUMOS_MUST_CHECK;

/* The same of every pipeline and step of a plan; and gradients are summed up over replicas in one pass back, or in
 * every one. */
bool rebuild_check_plan(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                        enum lumos_schedule schedule, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
