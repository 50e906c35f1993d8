#include "rebuild/emit.h"

#include "job/builder.h"
#include "rebuild/join.h"
#include "rebuild/outside.h"
#include "rebuild/ports.h"
#include <stdlib.h>

static const struct lumos_built_task no_task = {LUMOS_NONE};

/* A block that is built: of handles those of its tasks are in a row. */
struct built {
  uint32_t donor;
  uint32_t first, first_device;
};

struct emission {
  const struct lumos_job *from;
  const struct rebuild_blocks *blocks;
  const struct rebuild_templates *templates;
  struct rebuild_kinds kinds;
  struct lumos_builder *builder;
  uint32_t *place;     /* by task on a stream: where in its block's list it stands */
  uint32_t *dep_first; /* by task, and one more: deps that hold it, in deps */
  uint32_t *deps;
  struct rebuild_joining *joining;
  int64_t *delays; /* by task: rebuild_outside */
  /* Of the rank at hand. */
  const struct rebuild_rank *rank;
  struct built *built; /* by item */
  struct rebuild_order order;
  struct lumos_built_lane *lanes; /* by place in the rank */
};

/* ---- what is the same for all ranks ---- */

static void list_deps(struct emission *emission) {
  const struct lumos_job *from = emission->from;
  uint32_t *first = lumos_allocate_zeroed(from->tasks.count + 2, sizeof *first);
  emission->deps = lumos_allocate(from->deps.count * sizeof *emission->deps);
  for (size_t d = 0; d < from->deps.count; d++) {
    first[from->deps.items[d].dst + 2]++;
  }
  for (size_t t = 2; t < from->tasks.count + 2; t++) {
    first[t] += first[t - 1];
  }
  for (uint32_t d = 0; d < from->deps.count; d++) {
    emission->deps[first[from->deps.items[d].dst + 1]++] = d;
  }
  emission->dep_first = first;
}

static void find_places(struct emission *emission) {
  const struct rebuild_blocks *blocks = emission->blocks;
  emission->place = lumos_allocate(emission->from->tasks.count * sizeof *emission->place);
  for (size_t b = 0; b < blocks->items.count; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    for (uint32_t i = 0; i < block->device_count; i++) {
      emission->place[blocks->devices[block->device_first + i]] = i;
    }
  }
}

/* ---- tasks ---- */

static struct lumos_built_task build_task(const struct emission *emission, const struct rebuild_item *item,
                                          uint32_t like) {
  const struct lumos_job *from = emission->from;
  uint32_t lane = from->tasks.items[like].lane;
  struct lumos_built_lane on = emission->lanes[lane - from->ranks.items[from->lanes.items[lane].rank].lane_first];
  struct lumos_built_task task =
      lumos_build_task(emission->builder, like, on, lumos_own_times(from, like), item->step);
  lumos_build_place(emission->builder, task, item->micro_batch, item->layer);
  if (emission->delays[like] != 0) {
    int64_t residual = lumos_timing_of(from, like)->residual;
    lumos_build_residual(emission->builder, task, emission->delays[like] + (residual == LUMOS_ABSENT ? 0 : residual));
  }
  return task;
}

static void build_item(struct emission *emission, uint32_t index) {
  const struct rebuild_item *item = &emission->rank->items.items[index];
  uint32_t donor = rebuild_draw(emission->templates, item->like, item->turns);
  const struct rebuild_block *block = &emission->blocks->items.items[donor];
  struct built *built = &emission->built[index];
  *built = (struct built){donor, LUMOS_NONE, LUMOS_NONE};
  for (uint32_t i = 0; i < block->count; i++) {
    struct lumos_built_task task = build_task(emission, item, block->first + i);
    built->first = i == 0 ? task.number : built->first;
  }
  for (uint32_t i = 0; i < block->device_count; i++) {
    uint32_t like = emission->blocks->devices[block->device_first + i];
    struct lumos_built_task task = build_task(emission, item, like);
    built->first_device = i == 0 ? task.number : built->first_device;
    rebuild_join(emission->joining, like, task);
  }
}

/* ---- ports ---- */

/* The handle of the task that is to item `index` what task `task` is to the item's block; none: it is not there. */
static struct lumos_built_task find_built(const struct emission *emission, uint32_t index, uint32_t task) {
  const struct rebuild_blocks *blocks = emission->blocks;
  uint32_t of = blocks->of_task[task], own = emission->built[index].donor;
  if (of == LUMOS_NONE || blocks->items.items[of].rank != blocks->items.items[own].rank) {
    return no_task;
  }
  uint32_t at = rebuild_find_block(&emission->kinds, &emission->order, index, own, of);
  uint32_t found = at == LUMOS_NONE ? LUMOS_NONE : rebuild_find_task(blocks, task, emission->built[at].donor);
  if (found == LUMOS_NONE) {
    return no_task;
  }
  const struct built *built = &emission->built[at];
  bool device = lumos_on_stream(emission->from, &emission->from->tasks.items[found]);
  return (struct lumos_built_task){device ? built->first_device + emission->place[found]
                                          : built->first + found - blocks->items.items[built->donor].first};
}

static void tie_deps(const struct emission *emission, uint32_t index, uint32_t like, struct lumos_built_task task) {
  for (uint32_t i = emission->dep_first[like]; i < emission->dep_first[like + 1]; i++) {
    uint32_t src = emission->from->deps.items[emission->deps[i]].src;
    struct lumos_built_task found = src == LUMOS_NONE ? no_task : find_built(emission, index, src);
    if (found.number != LUMOS_NONE) {
      lumos_build_dep(emission->builder, emission->deps[i], found, LUMOS_ABSENT, task);
    }
  }
}

static void tie_call(const struct emission *emission, uint32_t index, uint32_t like, struct lumos_built_task task) {
  const struct lumos_detail *detail = lumos_detail_of(emission->from, &emission->from->tasks.items[like]);
  if (detail->first_segment != LUMOS_NONE) {
    lumos_build_segment(emission->builder, task, find_built(emission, index, detail->first_segment));
  }
  if (detail->wait.record != LUMOS_NONE) {
    lumos_build_record(emission->builder, task, find_built(emission, index, detail->wait.record));
  }
  tie_deps(emission, index, like, task);
}

static void tie_device(const struct emission *emission, uint32_t index, uint32_t like, struct lumos_built_task task) {
  uint32_t call = emission->from->tasks.items[like].call;
  uint8_t origin = lumos_timing_of(emission->from, like)->origin;
  lumos_build_origin(emission->builder, task, (enum lumos_task_origin)origin,
                     call == LUMOS_NONE ? no_task : find_built(emission, index, call));
  tie_deps(emission, index, like, task);
}

static void tie_item(const struct emission *emission, uint32_t index) {
  const struct built *built = &emission->built[index];
  const struct rebuild_block *block = &emission->blocks->items.items[built->donor];
  for (uint32_t i = 0; i < block->count; i++) {
    tie_call(emission, index, block->first + i, (struct lumos_built_task){built->first + i});
  }
  for (uint32_t i = 0; i < block->device_count; i++) {
    tie_device(emission, index, emission->blocks->devices[block->device_first + i],
               (struct lumos_built_task){built->first_device + i});
  }
}

/* ---- how the recording begins ---- */

/* Boundaries of a recorded task hold a built one. */
static void tie_boundaries(const struct emission *emission, uint32_t like, struct lumos_built_task task) {
  for (uint32_t i = emission->dep_first[like]; i < emission->dep_first[like + 1]; i++) {
    const struct lumos_dep *dep = &emission->from->deps.items[emission->deps[i]];
    if (dep->src == LUMOS_NONE) {
      lumos_build_dep(emission->builder, emission->deps[i], no_task, dep->at, task);
    }
  }
}

static void begin_stream(const struct emission *emission, uint32_t lane, struct lumos_built_lane built) {
  const struct lumos_job *from = emission->from;
  const struct lumos_lane *stream = &from->lanes.items[lane];
  for (uint32_t t = stream->task_first; t < stream->task_first + stream->task_count; t++) {
    if (emission->blocks->of_task[t] != LUMOS_NONE) {
      break;
    }
    struct lumos_built_task task =
        lumos_build_task(emission->builder, t, built, lumos_own_times(from, t), from->tasks.items[t].step);
    lumos_build_origin(emission->builder, task, (enum lumos_task_origin)lumos_timing_of(from, t)->origin, no_task);
    tie_boundaries(emission, t, task);
    rebuild_join(emission->joining, t, task);
  }
}

/* The first that is built on each thread begins when the first recorded task of that did. */
static void begin_threads(const struct emission *emission) {
  uint32_t count = (uint32_t)emission->rank->items.count;
  uint8_t *begun = lumos_allocate_zeroed(emission->from->lanes.count, 1);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t lane = emission->blocks->items.items[emission->built[i].donor].lane;
    if (!begun[lane]) {
      tie_boundaries(emission, emission->from->lanes.items[lane].task_first,
                     (struct lumos_built_task){emission->built[i].first});
    }
    begun[lane] = 1;
  }
  free(begun);
}

/* ---- ranks ---- */

static void build_groups(const struct emission *emission, const struct rebuild_rank *rank,
                         struct lumos_built_rank built) {
  const struct lumos_rank *like = &emission->from->ranks.items[rank->like];
  for (uint32_t g = like->group_first; g < like->group_first + like->group_count; g++) {
    const struct lumos_group *group = &emission->from->groups.items[g];
    lumos_build_group(emission->builder, g, built, emission->from->group_ranks.items + group->member_first,
                      group->member_count);
  }
}

static void order_items(struct emission *emission) {
  uint32_t count = (uint32_t)emission->rank->items.count;
  uint32_t *donors = lumos_allocate(count * sizeof *donors);
  for (uint32_t i = 0; i < count; i++) {
    donors[i] = emission->built[i].donor;
  }
  rebuild_order_make(&emission->order, &emission->kinds, donors, count);
  free(donors);
}

static void build_rank(struct emission *emission, const struct rebuild_rank *rank, bool begins) {
  const struct lumos_rank *like = &emission->from->ranks.items[rank->like];
  struct lumos_built_rank built = lumos_build_rank(emission->builder, rank->like, rank->number);
  emission->rank = rank;
  emission->built = lumos_allocate(rank->items.count * sizeof *emission->built);
  emission->lanes = lumos_allocate(like->lane_count * sizeof *emission->lanes);
  for (uint32_t l = 0; l < like->lane_count; l++) {
    emission->lanes[l] = lumos_build_lane(emission->builder, like->lane_first + l, built);
    if (begins && emission->from->lanes.items[like->lane_first + l].kind == LUMOS_STREAM) {
      begin_stream(emission, like->lane_first + l, emission->lanes[l]);
    }
  }
  build_groups(emission, rank, built);
  for (uint32_t i = 0; i < rank->items.count; i++) {
    build_item(emission, i);
  }
  order_items(emission);
  for (uint32_t i = 0; i < rank->items.count; i++) {
    tie_item(emission, i);
  }
  if (begins) {
    begin_threads(emission);
  }
  rebuild_order_free(&emission->order);
  free(emission->lanes);
  free(emission->built);
}

static void close_emission(struct emission *emission) {
  rebuild_joining_free(emission->joining);
  rebuild_kinds_free(&emission->kinds);
  lumos_builder_free(emission->builder);
  free(emission->dep_first);
  free(emission->deps);
  free(emission->place);
  free(emission->delays);
}

struct lumos_job *rebuild_emit(const struct rebuild_templates *templates, const struct rebuild_plan *plan,
                               struct lumos_error *error) {
  struct emission emission = {
      .from = templates->blocks->job, .blocks = templates->blocks, .templates = templates};
  emission.delays = rebuild_outside(emission.from, error);
  if (emission.delays == NULL) {
    return NULL;
  }
  emission.builder = lumos_builder_new(emission.from);
  rebuild_kinds_make(&emission.kinds, emission.blocks);
  list_deps(&emission);
  find_places(&emission);
  emission.joining = rebuild_joining_new(emission.from);
  for (size_t r = 0; r < plan->ranks.count; r++) {
    build_rank(&emission, &plan->ranks.items[r], plan->begins_as_recorded);
  }
  bool joined = rebuild_join_all(emission.joining, emission.builder, error);
  struct lumos_job *job = joined ? lumos_builder_finish(emission.builder, error) : NULL;
  close_emission(&emission);
  return job;
}
