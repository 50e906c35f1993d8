/* How a recorded job reduces its gradients, and a built one without that. */
#ifndef LUMOS_REBUILD_STRIP_H
#define LUMOS_REBUILD_STRIP_H

#include <lumos/error.h>
#include <lumos/job.h>

struct rebuild_habits {
  bool reduces;                         /* replicas reduce something */
  bool spreads;                         /* parameters are gathered for the passes, as FSDP does */
  bool overlaps;                        /* while the last backward pass goes on */
  bool shards;                          /* gradients are scattered */
  LUMOS_VECTOR(int64_t) buckets;        /* of a rank's step, in bytes, in order; none of experts that ranks share */
  LUMOS_VECTOR(int64_t) expert_buckets; /* those of these */
  int64_t bytes;                        /* of all buckets but these */
};

/* What a recorded job of several replicas does. The caller frees the buckets. O(tasks). */
void rebuild_habits_find(struct rebuild_habits *habits, const struct lumos_job *job);

/* Does a task on a stream multiply or divide elementwise? So do those that divide gradients, and others. O(1). */
bool rebuild_divides(const struct lumos_job *job, const struct lumos_task *task);

/* A kernel that divides a bucket of gradients by the number of replicas, as a whole. */
struct rebuild_division {
  uint32_t rank, task; /* indices */
  int32_t step;
  int64_t bytes;
};
LUMOS_VECTOR_TYPE(rebuild_divisions, struct rebuild_division);

/* By bytes, rank and step. Empty where kernels divide gradient by gradient, or their shapes were not recorded. The
 * caller frees it. O(tasks x groups). */
void rebuild_divisions_find(struct rebuild_divisions *divisions, const struct lumos_job *job);
/* The one that is the most like that of so many bytes, in a rank's step; NULL: there are none. */
const struct rebuild_division *rebuild_division_like(const struct rebuild_divisions *divisions, uint32_t rank,
                                                     int32_t step, int64_t bytes);

enum rebuild_strip_of {
  REBUILD_STRIP_REDUCTIONS,
  REBUILD_STRIP_DIVISIONS, /* and those divisions that rebuild_divisions_find finds */
  REBUILD_STRIP_ALL        /* and all else that divides gradients */
};
/* Take all that out of a job that is built like `from`, with the calls and ops that are there for nothing else; kernels
 * that ran beside it take less time. */
void rebuild_strip(struct lumos_job *built, const struct lumos_job *from, enum rebuild_strip_of of);

#endif
