/* A group's role says it; else the stages of its ranks; else its size: a stage has no more ranks than its share of the world. */
#include "report/content/reach.h"

#include <stdlib.h>

/* The stage of a rank by its number; LUMOS_ABSENT_INT: not known. */
static int32_t stage_of(const struct lumos_job *job, int32_t number) {
  size_t low = 0;
  size_t high = job->ranks.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (job->ranks.items[middle].rank < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool found = low < job->ranks.count && job->ranks.items[low].rank == number && job->ranks.items[low].has_parallel;
  return found ? job->ranks.items[low].parallel.pp : LUMOS_ABSENT_INT;
}

static bool of_several_stages(const struct lumos_job *job, const struct lumos_group *group) {
  int32_t stage = LUMOS_ABSENT_INT;
  for (uint32_t i = 0; i < group->member_count; i++) {
    int32_t own = stage_of(job, job->group_ranks.items[group->member_first + i]);
    if (own != LUMOS_ABSENT_INT && stage != LUMOS_ABSENT_INT && own != stage) {
      return true;
    }
    stage = own != LUMOS_ABSENT_INT ? own : stage;
  }
  return false;
}

static bool is_wide(const struct lumos_job *job, int32_t pipeline, const struct lumos_group *group) {
  switch (group->role) {
    case LUMOS_TENSOR:
    case LUMOS_DATA:
    case LUMOS_EXPERT:
    case LUMOS_CONTEXT:
      return false;
    case LUMOS_PIPELINE:
      return true;
    default:
      break;
  }
  int32_t world = job->ranks.items[group->rank].world;
  return of_several_stages(job, group) || (world != LUMOS_ABSENT_INT && group->size > world / pipeline);
}

static int compare_reaches(const void *left, const void *right) {
  const struct report_reach *a = left;
  const struct report_reach *b = right;
  return a->group < b->group ? -1 : a->group > b->group;
}

void report_reaches_read(const struct lumos_job *job, int32_t pipeline, struct report_reaches *reaches) {
  for (size_t i = 0; pipeline > 1 && i < job->groups.count; i++) {
    struct report_reach reach = {job->groups.items[i].id, is_wide(job, pipeline, &job->groups.items[i])};
    lumos_vector_push(reaches, reach);
  }
  if (reaches->count > 0) {
    qsort(reaches->items, reaches->count, sizeof reaches->items[0], compare_reaches);
  }
}

void report_reaches_free(struct report_reaches *reaches) { lumos_vector_free(reaches); }

bool report_stays_within(const struct lumos_job *job, const struct report_reaches *reaches, int32_t pipeline,
                         const struct lumos_task *task) {
  if (pipeline <= 1) {
    return true;
  }
  const struct report_reach wanted = {.group = lumos_detail_of(job, task)->comm.group};
  const struct report_reach *found =
      task->kind == LUMOS_COLLECTIVE && reaches->count > 0
          ? bsearch(&wanted, reaches->items, reaches->count, sizeof reaches->items[0], compare_reaches)
          : NULL;
  return found != NULL && !found->wide;
}
