#include "rebuild/contended.h"

#include "job/order.h"
#include <stdlib.h>

void rebuild_contended_begin(struct rebuild_contended *contended, const struct lumos_job *job) {
  uint32_t rank, id;
  *contended = (struct rebuild_contended){.ranks = job->ranks.count};
  (void)lumos_map_tasks(job, &contended->ids, &rank, &id); /* ids are given once, as every job that was read has them */
  lumos_contend_begin(&contended->contend, job);
}

/* Where the recording had it; LUMOS_NONE: it did not. */
static uint32_t place_of(const struct rebuild_contended *contended, uint32_t rank, uint32_t id) {
  return rank == LUMOS_NONE || id == LUMOS_NONE ? LUMOS_NONE : lumos_id_map_find(&contended->ids[rank], id);
}

void rebuild_contended_apply(const struct rebuild_contended *contended, const struct lumos_job *job,
                             struct lumos_job *built) {
  uint32_t *likes = lumos_allocate(built->tasks.count * sizeof *likes + 1);
  for (size_t t = 0; t < built->tasks.count; t++) {
    const struct lumos_task *task = &built->tasks.items[t];
    uint32_t rank = task->from_id == LUMOS_NONE ? LUMOS_NONE : lumos_job_rank(job, task->from_rank);
    likes[t] = place_of(contended, rank, task->from_id);
  }
  lumos_contend_apply(&contended->contend, built, likes);
  free(likes);
}

double rebuild_contended_speed(const struct rebuild_contended *contended, const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *of = &job->tasks.items[task];
  uint32_t place = place_of(contended, lumos_rank_of(job, of), of->id);
  return place == LUMOS_NONE ? 1 : lumos_contend_speed(&contended->contend, of, place);
}

void rebuild_contended_free(struct rebuild_contended *contended) {
  if (contended->ids != NULL) {
    lumos_contend_free(&contended->contend);
    lumos_id_maps_free(contended->ids, contended->ranks);
  }
}
