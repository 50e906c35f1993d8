/* How a recorded job reduces its gradients, and a built one without that. */
#ifndef LUMOS_REBUILD_STRIP_H
#define LUMOS_REBUILD_STRIP_H

#include <lumos/error.h>
#include <lumos/job.h>

struct rebuild_habits {
  bool reduces;                  /* replicas reduce something */
  bool spreads;                  /* parameters are gathered for the passes, as FSDP does */
  bool overlaps;                 /* while the last backward pass goes on */
  bool shards;                   /* gradients are scattered */
  LUMOS_VECTOR(int64_t) buckets; /* of a rank's step, in bytes, in order */
  int64_t bytes;                 /* of all of them */
};

/* What a recorded job of several replicas does. The caller frees the buckets. O(tasks). */
void rebuild_habits_find(struct rebuild_habits *habits, const struct lumos_job *job);

/* By task: is it communication among replicas, of more than a few numbers? The caller frees it. O(tasks x groups). */
uint8_t *rebuild_find_reductions(const struct lumos_job *job);

/* Take all that out of a job that is built like `from`, with the calls and ops that are there for nothing else, and with
 * `divisions` what divides the gradients by the number of replicas; kernels that ran beside it take less time. */
void rebuild_strip(struct lumos_job *built, const struct lumos_job *from, bool divisions);

#endif
