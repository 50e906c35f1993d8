/* The execution graph: what must come before what, with evidence, inferred from a job at stage `parse`. */
#ifndef LUMOS_GRAPH_H
#define LUMOS_GRAPH_H

#include <lumos/error.h>
#include <lumos/job.h>

/* Bring the job to stage `graph`: clocks, launch lags, stream gaps, host waits, event edges, hand-overs, collectives,
 * boundaries, residuals (each rule is described in its file in src/graph), and what program.h says of the parallel
 * layout and what it trains. Drops what graph and later stages had written first. Refuses an edited job
 * (LUMOS_UNUSABLE): edited tasks have no measured time to infer from. O(tasks log tasks). */
bool lumos_graph_build(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
