#include "rebuild/groups.h"

#include "rebuild/axes.h"
#include "rebuild/label.h"
#include <stdlib.h>
#include <string.h>

struct class {
  uint32_t like; /* the first recorded group of it */
  unsigned axes;
  lumos_string_id own; /* id of the group of the rank that is built last; absent: it has none */
};

struct rebuild_groups {
  const struct lumos_job *from;
  const struct rebuild_plan *plan;
  LUMOS_VECTOR(struct class) classes;
  struct lumos_numbering ids;           /* of recorded groups */
  uint32_t next;                        /* the id that a new group may get */
  LUMOS_VECTOR(uint32_t) class_of;      /* by number of such an id */
  struct lumos_numbering labels, built; /* a class and a place along all other axes */
  LUMOS_VECTOR(lumos_string_id) built_ids;
};

/* By string: do ranks of that group tell each other what the first and the last stage share? */
static uint8_t *find_ends(const struct lumos_job *job) {
  uint8_t *ends = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    ends[collective->group] |= !rebuild_is_pair(collective) && rebuild_shares_ends(REBUILD_PIPELINE, collective->bytes);
  }
  return ends;
}

static void classify(struct rebuild_groups *groups, struct lumos_numbering *labels, struct lumos_numbering *numbers,
                     const uint8_t *ends, uint32_t g) {
  const struct lumos_job *job = groups->from;
  const struct lumos_group *group = &job->groups.items[g];
  unsigned axes = rebuild_axes_of_group(job, group);
  axes |= (axes & REBUILD_PIPELINE) != 0 && ends[group->id] ? REBUILD_ENDS : 0U;
  const uint32_t label[] = {group->name, group->role, axes};
  uint32_t number = lumos_number_of(numbers, rebuild_label(labels, label, sizeof label / sizeof *label));
  if (number == groups->classes.count) {
    lumos_vector_push(&groups->classes, ((struct class){g, axes, LUMOS_NO_STRING}));
  }
  if (lumos_number_of(&groups->ids, group->id) == groups->class_of.count) {
    lumos_vector_push(&groups->class_of, number);
  }
}

struct rebuild_groups *rebuild_groups_new(const struct lumos_job *from, const struct rebuild_plan *plan) {
  struct rebuild_groups *groups = lumos_allocate_zeroed(1, sizeof *groups);
  struct lumos_numbering labels = {0}, numbers = {0};
  uint8_t *ends = find_ends(from);
  groups->from = from;
  groups->plan = plan;
  for (uint32_t g = 0; g < from->groups.count; g++) {
    classify(groups, &labels, &numbers, ends, g);
  }
  free(ends);
  lumos_numbering_free(&labels);
  lumos_numbering_free(&numbers);
  return groups;
}

void rebuild_groups_free(struct rebuild_groups *groups) {
  if (groups != NULL) {
    lumos_vector_free(&groups->classes);
    lumos_vector_free(&groups->class_of);
    lumos_vector_free(&groups->built_ids);
    lumos_numbering_free(&groups->ids);
    lumos_numbering_free(&groups->labels);
    lumos_numbering_free(&groups->built);
    free(groups);
  }
}

static uint32_t number_group(struct rebuild_groups *groups, uint32_t number, const struct lumos_parallel *at) {
  unsigned axes = groups->classes.items[number].axes;
  uint32_t label[1 + REBUILD_PLACES] = {number};
  rebuild_axes_place(&groups->plan->model.sizes, at, axes, label + 1);
  return lumos_number_of(&groups->built, rebuild_label(&groups->labels, label, sizeof label / sizeof *label));
}

/* A recorded group of a class that has these ranks; LUMOS_NONE: there is none. */
static uint32_t find_recorded(const struct rebuild_groups *groups, uint32_t class,
                              const struct rebuild_numbers *ranks) {
  const struct lumos_job *job = groups->from;
  for (uint32_t g = 0; g < job->groups.count; g++) {
    const struct lumos_group *group = &job->groups.items[g];
    uint32_t number = lumos_known_number(&groups->ids, group->id);
    if (groups->class_of.items[number] == class && group->member_count == ranks->count &&
        memcmp(job->group_ranks.items + group->member_first, ranks->items, ranks->count * sizeof *ranks->items) == 0) {
      return g;
    }
  }
  return LUMOS_NONE;
}

/* One that was recorded keeps its id, so that what was measured of it stands beside it; others get ids that none
 * had. */
static lumos_string_id build_group(struct rebuild_groups *groups, uint32_t class, const struct rebuild_numbers *ranks,
                                   struct lumos_built_rank rank, struct lumos_builder *builder) {
  uint32_t recorded = find_recorded(groups, class, ranks);
  uint32_t like = recorded == LUMOS_NONE ? groups->classes.items[class].like : recorded;
  lumos_string_id id = groups->from->groups.items[like].id;
  lumos_build_group(builder, like, rank, ranks->items, (uint32_t)ranks->count);
  while (recorded == LUMOS_NONE && lumos_known_number(&groups->ids, id) != LUMOS_NO_NUMBER) {
    id = lumos_build_group_id(builder, groups->next++);
  }
  return id;
}

void rebuild_groups_build(struct rebuild_groups *groups, const struct rebuild_rank *rank, struct lumos_built_rank built,
                          struct lumos_builder *builder) {
  struct rebuild_numbers ranks = {0};
  for (uint32_t i = 0; i < groups->classes.count; i++) {
    struct class *class = &groups->classes.items[i];
    class->own = LUMOS_NO_STRING;
    if (rebuild_axes_count(groups->plan, &rank->at, class->axes) == 0) {
      continue;
    }
    uint32_t number = number_group(groups, i, &rank->at);
    if (number == groups->built_ids.count) {
      rebuild_axes_list(groups->plan, &rank->at, class->axes, &ranks);
      lumos_vector_push(&groups->built_ids, build_group(groups, i, &ranks, built, builder));
    }
    class->own = groups->built_ids.items[number];
  }
  lumos_vector_free(&ranks);
}

lumos_string_id rebuild_group_of(const struct rebuild_groups *groups, lumos_string_id group) {
  uint32_t number = lumos_known_number(&groups->ids, group);
  return number == LUMOS_NO_NUMBER ? LUMOS_NO_STRING : groups->classes.items[groups->class_of.items[number]].own;
}
