/* Of ranks that would do the same one is built, and represents the others. */
#ifndef LUMOS_REBUILD_FOLD_H
#define LUMOS_REBUILD_FOLD_H

#include <lumos/job.h>

struct rebuild_fold {          /* along an axis of the cluster */
  LUMOS_VECTOR(int32_t) shown; /* places of which a rank was recorded, ascending */
  int32_t left_out;            /* recorded replicas that are not among them, for some stages of them were not */
  int32_t built, all;          /* ranks: those at the first places are built */
};

enum {
  REBUILD_MOST_REPLICAS = 8, /* that are built. Chosen: the slowest of more is estimated, each costs as much as a job */
  REBUILD_MOST_NEW_SHARDS = 4, /* chosen, for the same reason */
  REBUILD_MOST_NEW_CONTEXTS = 4
};

/* Replicas differ by which recorded one they are like, and by the recorded step: as many are built as there are such
 * pairs, up to REBUILD_MOST_REPLICAS, so that the slowest of all is among them. Where one of several was recorded, and
 * no collective joins it with others, that one alone is built. `steps`: recorded. The caller frees `shown`. */
struct rebuild_fold rebuild_fold_replicas(const struct lumos_job *job, size_t steps, int32_t replicas);
/* Of the shards of a layer as many as were recorded. Where layers were recorded whole shards differ by the recorded
 * step. */
struct rebuild_fold rebuild_fold_shards(const struct lumos_job *job, size_t steps, int32_t shards);
/* Ranks that share sequences wait for each other in every layer: those that are more than were recorded differ by the
 * recorded step, up to REBUILD_MOST_NEW_CONTEXTS of all. */
struct rebuild_fold rebuild_fold_contexts(const struct lumos_job *job, size_t steps, int32_t contexts);

/* How many ranks the one that is built at that place stands for. */
int32_t rebuild_fold_share(const struct rebuild_fold *fold, int32_t place);

#endif
