#include "rebuild/fold.h"

#include "rebuild/recorded.h"

static int by_place(const void *left, const void *right) {
  return LUMOS_ORDER(*(const int32_t *)left, *(const int32_t *)right);
}

static struct rebuild_fold fold(const struct lumos_job *job, bool replicas, size_t times, int32_t all) {
  struct rebuild_fold fold = {.all = all};
  size_t kept = 0;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    struct lumos_parallel at = rebuild_coordinates(&job->ranks.items[r]);
    lumos_vector_push(&fold.shown, replicas ? at.dp : at.tp);
  }
  lumos_vector_sort(&fold.shown, by_place);
  for (size_t i = 0; i < fold.shown.count; i++) {
    if (kept == 0 || fold.shown.items[kept - 1] != fold.shown.items[i]) {
      fold.shown.items[kept++] = fold.shown.items[i];
    }
  }
  fold.shown.count = kept;
  fold.built = kept * times < (size_t)all ? (int32_t)(kept * times) : all;
  return fold;
}

struct rebuild_fold rebuild_fold_replicas(const struct lumos_job *job, size_t steps, int32_t replicas) {
  struct rebuild_fold replicated = fold(job, true, steps, replicas);
  replicated.built = replicated.built < REBUILD_MOST_REPLICAS ? replicated.built : REBUILD_MOST_REPLICAS;
  return replicated;
}

struct rebuild_fold rebuild_fold_shards(const struct lumos_job *job, int32_t shards) {
  return fold(job, false, 1, shards);
}

int32_t rebuild_fold_share(const struct rebuild_fold *fold, int32_t place) {
  return fold->all / fold->built + (place < fold->all % fold->built);
}
