#include "rebuild/axes.h"

#include "program/axis.h"
#include <stdlib.h>
#include <string.h>

static unsigned rebuild_axes_of_role(uint8_t role) {
  return role == LUMOS_TENSOR     ? REBUILD_TENSOR
         : role == LUMOS_PIPELINE ? REBUILD_PIPELINE
         : role == LUMOS_DATA     ? REBUILD_DATA
         : role == LUMOS_CONTEXT  ? REBUILD_CONTEXT
         : role == LUMOS_EXPERT   ? REBUILD_EXPERT
                                  : 0;
}

/* Are the ranks that were recorded numbered as those that are built? */
static bool is_numbered(const struct lumos_job *job, const struct lumos_parallel *sizes) {
  bool numbered = sizes->tp > 0 && sizes->pp > 0 && sizes->dp > 0;
  for (size_t r = 0; r < job->ranks.count && numbered; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    const struct lumos_parallel *at = &rank->parallel;
    numbered = rank->has_parallel && at->tp >= 0 && at->tp < sizes->tp && at->dp >= 0 && at->dp < sizes->dp &&
               at->pp >= 0 && at->pp < sizes->pp && rank->rank == rebuild_number_at(sizes, at);
  }
  return numbered;
}

/* How ranks are numbered, looked up when the first rank comes that was not recorded: NULL where no number tells a
 * place. */
struct numbering {
  const struct lumos_parallel *sizes;
  bool known;
};

static const struct lumos_parallel *sizes_of(const struct lumos_job *job, struct numbering *numbering) {
  if (!numbering->known) {
    const struct lumos_parallel *sizes = job->models.count > 0 ? &job->models.items[0].sizes : NULL;
    *numbering = (struct numbering){sizes != NULL && is_numbered(job, sizes) ? sizes : NULL, true};
  }
  return numbering->sizes;
}

/* The place of a rank (a number); false: it was not recorded, and no number tells it. */
static bool find_place(const struct lumos_job *job, struct numbering *numbering, int32_t number,
                       struct lumos_parallel *at) {
  uint32_t rank = lumos_job_rank(job, number);
  const struct lumos_parallel *sizes = rank == LUMOS_NONE && number >= 0 ? sizes_of(job, numbering) : NULL;
  if (sizes != NULL) {
    int32_t contexts = rebuild_contexts_of(sizes), column = number / sizes->tp / contexts;
    *at = (struct lumos_parallel){.tp = number % sizes->tp,
                                  .pp = column / sizes->dp,
                                  .dp = column % sizes->dp,
                                  .cp = sizes->cp > 0 ? number / sizes->tp % contexts : LUMOS_ABSENT_INT};
    return true;
  }
  if (rank != LUMOS_NONE) {
    *at = job->ranks.items[rank].parallel;
  }
  return rank != LUMOS_NONE && job->ranks.items[rank].has_parallel;
}

/* Replicas in a row share experts, or those at the same place in such rows have the same ones, where neither tensors nor
 * sequences are shared: then their places tell. */
static unsigned axis_of_replicas(const struct lumos_parallel *sizes, bool rows, bool places) {
  bool told = rebuild_experts_of(sizes) > 1 && rebuild_experts_of(sizes) < sizes->dp && sizes->tp <= 1 &&
              rebuild_contexts_of(sizes) == 1;
  return told && rows ? REBUILD_EXPERT : told && places ? REBUILD_OWNERS : REBUILD_DATA;
}

static unsigned axes_of(const struct lumos_job *job, const int32_t *ranks, uint32_t count, uint8_t role) {
  const struct lumos_parallel *sizes =
      job->models.count > 0 ? &job->models.items[0].sizes : &lumos_model_description_empty.sizes;
  int32_t shared = rebuild_experts_of(sizes);
  struct lumos_parallel first = {0}, at;
  struct numbering numbering = {0};
  uint32_t known = 0;
  unsigned axes = 0;
  bool rows = true, places = true;
  for (uint32_t i = 0; i < count; i++) {
    if (find_place(job, &numbering, ranks[i], &at)) {
      first = known == 0 ? at : first;
      axes |= at.tp != first.tp ? REBUILD_TENSOR : 0U;
      axes |= at.pp != first.pp ? REBUILD_PIPELINE : 0U;
      axes |= at.dp != first.dp ? REBUILD_DATA : 0U;
      axes |= at.cp != first.cp ? REBUILD_CONTEXT : 0U;
      rows = rows && at.dp / shared == first.dp / shared;
      places = places && at.dp % shared == first.dp % shared;
      known++;
    }
  }
  if ((axes & REBUILD_DATA) != 0) {
    axes = (axes & ~(unsigned)REBUILD_DATA) | axis_of_replicas(sizes, rows, places);
  }
  return axes | (known < count || count == 1 ? rebuild_axes_of_role(role) : 0U);
}

/* Along which axes a group is that experts have, as its name or role says; 0: neither does. */
static unsigned axes_for_experts(const struct lumos_job *job, const struct lumos_group *group) {
  switch (program_experts_of_name(lumos_string(job->strings, group->name))) {
    case PROGRAM_SHARED_EXPERTS:
      return REBUILD_EXPERT;
    case PROGRAM_SAME_EXPERTS:
      return REBUILD_OWNERS;
    case PROGRAM_ALL_EXPERTS:
      return REBUILD_EXPERT | REBUILD_PIPELINE;
    case PROGRAM_NO_EXPERTS:
      break;
  }
  return group->role == LUMOS_EXPERT ? REBUILD_EXPERT : 0U;
}

/* A group without a role that has all ranks. */
static bool is_world(const struct lumos_job *job, const struct lumos_group *group) {
  const struct lumos_rank *rank = &job->ranks.items[group->rank];
  return group->role == 0 && (group->size == rank->world || (int64_t)group->size == (int64_t)job->ranks.count);
}

/* May others be along a part of what a group is along? */
static bool has_parts(const struct lumos_job *job, unsigned axes) {
  return (axes & REBUILD_CONTEXT) != 0 || (job->models.count > 0 && job->models.items[0].sizes.ep > 1);
}

/* PyTorch's own group of all ranks, whatever it is used for. */
static bool is_default(const struct lumos_job *job, const struct lumos_group *group) {
  return strcmp(lumos_string(job->strings, group->name), "default_pg") == 0;
}

/* Those that sum gradients along contexts do so along replicas, of which there may be one. */
unsigned rebuild_axes_of_group(const struct lumos_job *job, const struct lumos_group *group) {
  unsigned of_experts = axes_for_experts(job, group);
  if (of_experts != 0) {
    return of_experts;
  }
  unsigned axes = axes_of(job, job->group_ranks.items + group->member_first, group->member_count, group->role);
  if (is_world(job, group) || (has_parts(job, axes) && is_default(job, group))) {
    return REBUILD_TENSOR | REBUILD_PIPELINE | REBUILD_DATA | REBUILD_CONTEXT;
  }
  return axes | (group->role == LUMOS_DATA && (axes & REBUILD_CONTEXT) != 0 ? REBUILD_DATA : 0U);
}

static const struct lumos_group *group_of(const struct lumos_job *job, lumos_string_id id) {
  for (size_t g = 0; g < job->groups.count; g++) {
    if (job->groups.items[g].id == id) {
      return &job->groups.items[g];
    }
  }
  return NULL;
}

/* As its members tell; where they were not recorded, those of its group. */
static unsigned axes_of_members(const struct lumos_job *job, const struct lumos_collective *collective,
                                const struct lumos_group *group) {
  uint32_t count = collective->member_count;
  bool lacks = group != NULL && (int64_t)count < collective->size;
  if (lacks && group->member_count > 0) {
    return axes_of(job, job->group_ranks.items + group->member_first, group->member_count, group->role);
  }
  int32_t *ranks = lumos_allocate(count * sizeof *ranks);
  for (uint32_t m = 0; m < count; m++) {
    uint32_t task = job->members.items[collective->member_first + m];
    ranks[m] = job->ranks.items[lumos_rank_of(job, &job->tasks.items[task])].rank;
  }
  unsigned axes = axes_of(job, ranks, count, 0) | (lacks ? rebuild_axes_of_role(group->role) : 0U);
  free(ranks);
  return axes;
}

/* Of one replica, and of experts, it is the group that tells what for. */
unsigned rebuild_axes_of_collective(const struct lumos_job *job, const struct lumos_collective *collective) {
  const struct lumos_group *group = rebuild_is_pair(collective) ? NULL : group_of(job, collective->group);
  unsigned axes = group == NULL ? 0U : axes_for_experts(job, group);
  if (axes == 0) {
    axes = axes_of_members(job, collective, group);
    axes |= group != NULL && has_parts(job, axes) ? rebuild_axes_of_group(job, group) : 0U;
  }
  return axes | (rebuild_shares_ends(axes, collective->bytes) ? REBUILD_ENDS : 0U);
}

enum { WITHIN_STAGE = REBUILD_EXPERT | REBUILD_OWNERS };

/* Of two ranks of a stage, at these places: are they together where experts are shared? */
static bool is_with(const struct lumos_parallel *sizes, int32_t place, int32_t other, unsigned axes) {
  int32_t shared = rebuild_experts_of(sizes);
  return ((axes & REBUILD_OWNERS) != 0 || other / shared == place / shared) &&
         ((axes & REBUILD_EXPERT) != 0 || other % shared == place % shared);
}

void rebuild_axes_place(const struct lumos_parallel *sizes, const struct lumos_parallel *at, unsigned axes,
                        uint32_t place[REBUILD_PLACES]) {
  bool of_experts = (axes & WITHIN_STAGE) != 0;
  int32_t shared = rebuild_experts_of(sizes), own = of_experts ? rebuild_place_in_stage(sizes, at) : 0;
  place[0] = (axes & REBUILD_PIPELINE) != 0 ? LUMOS_NONE : (uint32_t)at->pp;
  place[1] = (axes & REBUILD_TENSOR) != 0 ? LUMOS_NONE : (uint32_t)at->tp;
  place[2] = (axes & REBUILD_DATA) != 0 ? LUMOS_NONE : (uint32_t)at->dp;
  place[3] = (axes & REBUILD_CONTEXT) != 0 ? LUMOS_NONE : (uint32_t)at->cp;
  if (of_experts) {
    place[1] = (axes & REBUILD_OWNERS) != 0 ? LUMOS_NONE : (uint32_t)(own / shared);
    place[2] = (axes & REBUILD_EXPERT) != 0 ? LUMOS_NONE : (uint32_t)(own % shared);
    place[3] = LUMOS_NONE;
  }
}

static bool is_at_end(const struct rebuild_plan *plan, const struct lumos_parallel *at) {
  return at->pp == 0 || at->pp == plan->model.sizes.pp - 1;
}

int32_t rebuild_axes_count(const struct rebuild_plan *plan, const struct lumos_parallel *at, unsigned axes) {
  const struct lumos_parallel *sizes = &plan->model.sizes;
  int32_t stages = (axes & REBUILD_PIPELINE) == 0 ? 1 : (axes & REBUILD_ENDS) != 0 && sizes->pp > 1 ? 2 : sizes->pp;
  if ((axes & REBUILD_ENDS) != 0 && !is_at_end(plan, at)) {
    return 0;
  }
  if ((axes & WITHIN_STAGE) != 0) {
    int32_t shared = rebuild_experts_of(sizes);
    return stages * ((axes & REBUILD_EXPERT) != 0 ? shared : 1) *
           ((axes & REBUILD_OWNERS) != 0 ? rebuild_stage_ranks(sizes) / shared : 1);
  }
  return stages * ((axes & REBUILD_TENSOR) != 0 ? sizes->tp : 1) * ((axes & REBUILD_DATA) != 0 ? sizes->dp : 1) *
         ((axes & REBUILD_CONTEXT) != 0 ? rebuild_contexts_of(sizes) : 1);
}

/* Those of one replica of one stage. */
static void list_column(const struct lumos_parallel *sizes, struct lumos_parallel at, unsigned axes,
                        struct rebuild_numbers *numbers) {
  bool tensors = (axes & REBUILD_TENSOR) != 0, contexts = (axes & REBUILD_CONTEXT) != 0;
  struct lumos_parallel own = at;
  for (int32_t c = contexts ? 0 : own.cp; c < (contexts ? rebuild_contexts_of(sizes) : own.cp + 1); c++) {
    for (int32_t t = tensors ? 0 : own.tp; t < (tensors ? sizes->tp : own.tp + 1); t++) {
      at.cp = c;
      at.tp = t;
      lumos_vector_push(numbers, rebuild_number_at(sizes, &at));
    }
  }
}

static void list_stage(const struct lumos_parallel *sizes, struct lumos_parallel at, unsigned axes,
                       struct rebuild_numbers *numbers) {
  bool replicas = (axes & REBUILD_DATA) != 0;
  int32_t ranks = rebuild_stage_ranks(sizes), own = rebuild_place_in_stage(sizes, &at);
  int32_t first = replicas ? 0 : at.dp, end = replicas ? sizes->dp : at.dp + 1;
  if ((axes & WITHIN_STAGE) != 0) {
    for (int32_t place = 0; place < ranks; place++) {
      if (is_with(sizes, own, place, axes)) {
        lumos_vector_push(numbers, at.pp * ranks + place);
      }
    }
    return;
  }
  for (at.dp = first; at.dp < end; at.dp++) {
    list_column(sizes, at, axes, numbers);
  }
}

void rebuild_axes_list(const struct rebuild_plan *plan, const struct lumos_parallel *at, unsigned axes,
                       struct rebuild_numbers *numbers) {
  const struct lumos_parallel *sizes = &plan->model.sizes;
  bool stages = (axes & REBUILD_PIPELINE) != 0;
  numbers->count = 0;
  for (int32_t p = stages ? 0 : at->pp; p < (stages ? sizes->pp : at->pp + 1); p++) {
    const struct lumos_parallel own = {
        .tp = at->tp, .pp = p, .dp = at->dp, .cp = at->cp > 0 ? at->cp : 0, .ep = LUMOS_ABSENT_INT};
    if ((axes & REBUILD_ENDS) == 0 || p == 0 || p == sizes->pp - 1) {
      list_stage(sizes, own, axes, numbers);
    }
  }
}
