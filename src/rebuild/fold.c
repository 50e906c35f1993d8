#include "rebuild/fold.h"

#include "rebuild/recorded.h"

static int by_place(const void *left, const void *right) {
  return LUMOS_ORDER(*(const int32_t *)left, *(const int32_t *)right);
}

static bool has_stage(const struct lumos_job *job, int32_t replica, int32_t stage) {
  for (size_t r = 0; r < job->ranks.count; r++) {
    struct lumos_parallel at = rebuild_coordinates(&job->ranks.items[r]);
    if (at.dp == replica && at.pp == stage) {
      return true;
    }
  }
  return false;
}

static bool has_all_stages(const struct lumos_job *job, int32_t replica) {
  int32_t stages = job->models.count > 0 ? job->models.items[0].sizes.pp : 1, stage = 0;
  while (stage < stages && has_stage(job, replica, stage)) {
    stage++;
  }
  return stage >= stages;
}

/* A replica of which some stages were recorded shows only in part whom these send to: where others were recorded as a
 * whole it is left out. */
static void drop_incomplete(struct rebuild_fold *fold, const struct lumos_job *job) {
  size_t kept = 0;
  for (size_t i = 0; i < fold->shown.count; i++) {
    if (has_all_stages(job, fold->shown.items[i])) {
      fold->shown.items[kept++] = fold->shown.items[i];
    }
  }
  fold->left_out = kept > 0 ? (int32_t)(fold->shown.count - kept) : 0;
  fold->shown.count = kept > 0 ? kept : fold->shown.count;
}

/* Does any collective have members of two replicas? */
static bool joins_replicas(const struct lumos_job *job) {
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    const uint32_t *members = &job->members.items[collective->member_first];
    for (uint32_t m = 1; m < collective->member_count; m++) {
      uint32_t rank = lumos_rank_of(job, &job->tasks.items[members[m]]);
      uint32_t first = lumos_rank_of(job, &job->tasks.items[members[0]]);
      if (rebuild_coordinates(&job->ranks.items[rank]).dp != rebuild_coordinates(&job->ranks.items[first]).dp) {
        return true;
      }
    }
  }
  return false;
}

/* One replica of several was recorded, so nothing shows how long they wait for each other: their sums take what was
 * measured, and copies that are not joined by these would drift apart. */
static bool is_alone_of_several(const struct lumos_job *job, const struct rebuild_fold *fold) {
  bool several = job->models.count > 0 && job->models.items[0].sizes.dp > 1;
  return fold->shown.count == 1 && several && !joins_replicas(job);
}

enum axis { TENSORS, CONTEXTS, REPLICAS };

static int32_t place_along(const struct lumos_parallel *at, enum axis axis) {
  return axis == TENSORS ? at->tp : axis == CONTEXTS ? at->cp : at->dp;
}

static struct rebuild_fold fold(const struct lumos_job *job, enum axis axis, size_t times, int32_t all) {
  struct rebuild_fold fold = {.all = all};
  size_t kept = 0;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    struct lumos_parallel at = rebuild_coordinates(&job->ranks.items[r]);
    lumos_vector_push(&fold.shown, place_along(&at, axis));
  }
  lumos_vector_sort(&fold.shown, by_place);
  for (size_t i = 0; i < fold.shown.count; i++) {
    if (kept == 0 || fold.shown.items[kept - 1] != fold.shown.items[i]) {
      fold.shown.items[kept++] = fold.shown.items[i];
    }
  }
  fold.shown.count = kept;
  if (axis == REPLICAS) {
    drop_incomplete(&fold, job);
    kept = fold.shown.count;
    times = is_alone_of_several(job, &fold) ? 1 : times;
  }
  fold.built = kept * times < (size_t)all ? (int32_t)(kept * times) : all;
  return fold;
}

struct rebuild_fold rebuild_fold_replicas(const struct lumos_job *job, size_t steps, int32_t replicas) {
  struct rebuild_fold replicated = fold(job, REPLICAS, steps, replicas);
  replicated.built = replicated.built < REBUILD_MOST_REPLICAS ? replicated.built : REBUILD_MOST_REPLICAS;
  return replicated;
}

struct rebuild_fold rebuild_fold_shards(const struct lumos_job *job, size_t steps, int32_t shards) {
  bool alone = job->models.count == 0 || job->models.items[0].sizes.tp <= 1;
  struct rebuild_fold sharded = fold(job, TENSORS, alone ? steps : 1, shards);
  sharded.built = !alone || sharded.built < REBUILD_MOST_NEW_SHARDS ? sharded.built : REBUILD_MOST_NEW_SHARDS;
  return sharded;
}

struct rebuild_fold rebuild_fold_contexts(const struct lumos_job *job, size_t steps, int32_t contexts) {
  struct rebuild_fold shared = fold(job, CONTEXTS, steps, contexts);
  int32_t shown = (int32_t)shared.shown.count,
          most = shown > REBUILD_MOST_NEW_CONTEXTS ? shown : REBUILD_MOST_NEW_CONTEXTS;
  shared.built = shared.built < most ? shared.built : most;
  return shared;
}

int32_t rebuild_fold_share(const struct rebuild_fold *fold, int32_t place) {
  return fold->all / fold->built + (place < fold->all % fold->built);
}
