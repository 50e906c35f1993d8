/* A group's role says it; else the stages of its ranks; else its size: a stage has no more ranks than its share of the
 * world. */
#include "program/reach.h"

#include <stdlib.h>

/* The stage of a rank by its index; LUMOS_ABSENT_INT: not known. */
static int32_t stage_of(const struct lumos_job *job, uint32_t rank) {
  const struct lumos_rank *record = &job->ranks.items[rank];
  return record->has_parallel && record->parallel.pp >= 0 ? record->parallel.pp : LUMOS_ABSENT_INT;
}

int32_t lumos_pipeline_length(const struct lumos_job *job) {
  int32_t length = LUMOS_ABSENT_INT;
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    int32_t stage = stage_of(job, i);
    length = stage != LUMOS_ABSENT_INT && stage < INT32_MAX && stage + 1 > length ? stage + 1 : length;
  }
  int32_t told = job->models.count > 0 ? job->models.items[0].sizes.pp : LUMOS_ABSENT_INT;
  return told > length ? told : length;
}

static bool of_several_stages(const struct lumos_job *job, const struct lumos_group *group) {
  int32_t stage = LUMOS_ABSENT_INT;
  for (uint32_t i = 0; i < group->member_count; i++) {
    uint32_t rank = lumos_job_rank(job, job->group_ranks.items[group->member_first + i]);
    int32_t own = rank != LUMOS_NONE ? stage_of(job, rank) : LUMOS_ABSENT_INT;
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
  const struct lumos_reach *a = left, *b = right;
  return LUMOS_ORDER(a->group, b->group);
}

void lumos_reaches_read(const struct lumos_job *job, struct lumos_reaches *reaches) {
  *reaches = (struct lumos_reaches){.pipeline = lumos_pipeline_length(job)};
  for (size_t i = 0; reaches->pipeline > 1 && i < job->groups.count; i++) {
    const struct lumos_group *group = &job->groups.items[i];
    struct lumos_reach reach = {group->id, is_wide(job, reaches->pipeline, group)};
    lumos_vector_push(&reaches->groups, reach);
  }
  lumos_vector_sort(&reaches->groups, compare_reaches);
}

void lumos_reaches_free(struct lumos_reaches *reaches) { lumos_vector_free(&reaches->groups); }

bool lumos_stays_within(const struct lumos_job *job, const struct lumos_reaches *reaches,
                        const struct lumos_task *task) {
  if (reaches->pipeline <= 1) {
    return true;
  }
  const struct lumos_reach wanted = {.group = lumos_detail_of(job, task)->comm.group};
  const struct lumos_reach *found = task->kind == LUMOS_COLLECTIVE && reaches->groups.count > 0
                                        ? bsearch(&wanted, reaches->groups.items, reaches->groups.count,
                                                  sizeof reaches->groups.items[0], compare_reaches)
                                        : NULL;
  return found != NULL && !found->wide;
}

bool lumos_crosses_stages(const struct lumos_job *job, const struct lumos_reaches *reaches,
                          const struct lumos_collective *collective) {
  if (reaches->pipeline <= 1 || collective->member_count == 0) {
    return false;
  }
  const uint32_t *members = job->members.items + collective->member_first;
  int32_t first = stage_of(job, lumos_rank_of(job, &job->tasks.items[members[0]]));
  bool known = first != LUMOS_ABSENT_INT;
  for (uint32_t i = 1; i < collective->member_count; i++) {
    int32_t stage = stage_of(job, lumos_rank_of(job, &job->tasks.items[members[i]]));
    if (first != LUMOS_ABSENT_INT && stage != LUMOS_ABSENT_INT && stage != first) {
      return true;
    }
    known = known && stage != LUMOS_ABSENT_INT;
  }
  bool whole = known && collective->size >= 0 && lumos_collective_weight(job, collective) >= collective->size;
  return !whole && !lumos_stays_within(job, reaches, &job->tasks.items[members[0]]);
}
