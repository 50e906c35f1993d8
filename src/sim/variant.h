/* A variant of a job: what a run takes in place of what the job says.
 *
 * A function is asked for each value by itself and is given the job's own, so that a variant costs no memory by task.
 * What has no function stays the job's own. The engine asks of nodes (nodes.c) a few times in a run, of followers once;
 * a retiming (retiming.h) of what its rows hold, once. Answers must not change while the variant is in use. Several
 * runs may use one side by side where its functions write nothing.
 */
#ifndef LUMOS_SIM_VARIANT_H
#define LUMOS_SIM_VARIANT_H

#include <lumos/job.h>

struct lumos_variant {
  void *context; /* for the functions */
  /* Self-replay: no start has a residual of its own, and waits and ends have what such ones typically have. */
  bool typical_residuals;
  /* What a task takes, and the lag before it on its thread; lags on streams stay. */
  struct lumos_times (*times)(void *context, uint32_t task, struct lumos_times own);
  bool threads, streams; /* are there other times on threads, on streams? Nobody asks for those where there are none */
  int64_t (*residual)(void *context, uint32_t task, int64_t own);       /* of a call that waits, what is its own */
  int64_t (*handover)(void *context, uint32_t task, int64_t own);       /* the lag of a hand-over to it */
  int64_t (*launch)(void *context, uint32_t task, int64_t own);         /* its launch lag */
  int64_t (*transfer)(void *context, uint32_t collective, int64_t own); /* never LUMOS_ABSENT, nor asked where own is */
  int64_t (*boundary)(void *context, uint32_t dep, int64_t own); /* its instant, on the clock of its task's lane */
  const struct lumos_dep *added;                                 /* boundaries besides */
  size_t added_count;
};

#endif
