/* The chain of binding constraints of one step, and what else held the tasks on it: read once, before anything is
 * collapsed or drawn. */
#ifndef LUMOS_REPORT_CHAIN_H
#define LUMOS_REPORT_CHAIN_H

#include "report/content/timeline.h"
#include <lumos/path.h>
#include <lumos/report.h>

/* A constraint on a task of the chain that did not bind. */
struct report_slack {
  struct lumos_constraint constraint;
  int64_t slack; /* ns that it may come later before it binds; at least 0 */
};

struct report_chain {
  const struct lumos_job *job;
  int32_t step;
  int64_t from, until;           /* of the job's step */
  struct lumos_path_parts parts; /* they add up to until - from */
  LUMOS_VECTOR(struct lumos_binding)
  bindings; /* of every part: what held its task's start (of a wait or collective: its end) */
  LUMOS_VECTOR(struct report_slack) slacks; /* the least first, then by task */
};

/* The step whose dependencies are shown: the one that the options name, else lumos_typical_step. False: there is
 * none. */
bool report_chain_step(const struct report_boundaries *steps, const struct lumos_report_options *options, bool changed,
                       struct report_boundary *step);

/* `bindings`: of the whole job. Runs the simulation once more. False when
 * that does not give the job's timeline: see lumos_bindings_find. Free the chain in any case. */
bool report_chain_read(const struct lumos_job *job, const struct lumos_held *bindings,
                       const struct report_boundary *step, struct report_chain *chain,
                       struct lumos_error *error) LUMOS_MUST_CHECK;
void report_chain_free(struct report_chain *chain);

#endif
