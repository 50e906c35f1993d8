/* A communication kernel needs SMs. While a kernel fills the device it gets them when that one comes to its last wave.
 * Where a recording shows communication beside kernels, it shows whether it waited so (graph/resource.h), and from when
 * on there was room. Pipelines that do nothing meanwhile show nothing: then transfers wait, as GPUs do it. */
#include "rebuild/rooms.h"

#include "graph/graph.h"
#include "graph/resource.h"
#include "graph/typical.h"
#include <stdlib.h>

/* Of a kernel's time, where no wait was recorded: products of models have 2 to 10 waves. Chosen. */
enum { LAST_WAVE = LUMOS_WHOLE_SHARE / 4 };

struct search {
  const struct lumos_job *job;
  enum lumos_task_kind kind;
  uint8_t *waited; /* by task: it was seen to wait for SMs */
};

/* The task of a stream that has begun last when something starts; LUMOS_NONE: none has. */
static uint32_t last_begun(const struct lumos_job *job, const struct lumos_lane *lane, int64_t start) {
  uint32_t low = 0, high = lane->task_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (job->tasks.items[lane->task_first + middle].start < start) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? LUMOS_NONE : lane->task_first + low - 1;
}

/* Did it start in the first half of another stream's kernel, and no later than all else says? No wave of two or more
 * has made room by then. */
static bool starts_beside(const struct lumos_job *job, uint32_t transfer) {
  const struct lumos_task *task = &job->tasks.items[transfer];
  const struct lumos_rank *rank = &job->ranks.items[lumos_rank_of(job, task)];
  int64_t residual = lumos_timing_of(job, transfer)->residual;
  bool beside = false;
  for (uint32_t i = 0; i < rank->lane_count && !beside && residual <= LUMOS_REACTION_WINDOW; i++) {
    const struct lumos_lane *lane = &job->lanes.items[rank->lane_first + i];
    uint32_t runs = lane->kind == LUMOS_STREAM ? last_begun(job, lane, task->start) : LUMOS_NONE;
    const struct lumos_task *other = runs == LUMOS_NONE ? NULL : &job->tasks.items[runs];
    beside = other != NULL && lumos_occupies(other) && other->dur > LUMOS_REACTION_WINDOW &&
             task->start - other->start < other->dur / 2;
  }
  return beside;
}

bool rebuild_starts_alone(const struct lumos_job *recorded, uint32_t communication) {
  const struct lumos_task *task = &recorded->tasks.items[communication];
  const struct lumos_rank *rank = &recorded->ranks.items[lumos_rank_of(recorded, task)];
  bool alone = true;
  for (uint32_t i = 0; i < rank->lane_count && alone; i++) {
    uint32_t l = rank->lane_first + i;
    const struct lumos_lane *lane = &recorded->lanes.items[l];
    bool other = lane->kind == LUMOS_STREAM && l != task->lane;
    uint32_t begun = other ? last_begun(recorded, lane, task->start + LUMOS_QUEUE_GAP) : LUMOS_NONE;
    const struct lumos_task *beside = begun == LUMOS_NONE ? NULL : &recorded->tasks.items[begun];
    alone = beside == NULL || !lumos_occupies(beside) || beside->start + beside->dur <= task->start;
  }
  return alone;
}

LUMOS_VECTOR_TYPE(values, int64_t);

/* Of communication that waited, the share of the kernel's time that was left, and how long it waited behind others
 * before. */
static void find_waits(const struct search *search, struct values *shares, struct values *behind) {
  const struct lumos_job *job = search->job;
  for (size_t d = 0; d < job->deps.count; d++) {
    const struct lumos_dep *dep = &job->deps.items[d];
    if (dep->kind != LUMOS_RESOURCE || dep->src == LUMOS_NONE || job->tasks.items[dep->dst].kind != search->kind) {
      continue;
    }
    int64_t of = job->tasks.items[dep->src].dur, left = dep->lag < 0 ? -dep->lag : 0;
    int64_t share = of <= 0 ? 0 : left < of ? (int64_t)((__int128)left * LUMOS_WHOLE_SHARE / of) : LUMOS_WHOLE_SHARE;
    int64_t before = dep->covers == LUMOS_ABSENT ? 0 : dep->covers - of - dep->lag;
    search->waited[dep->dst] = 1;
    lumos_vector_push(shares, share);
    lumos_vector_push(behind, before > 0 ? before : 0);
  }
}

/* How many show it: by waiting, or by finding room at once. */
static size_t find_rooms(const struct lumos_job *recorded, enum lumos_task_kind kind, struct rebuild_rooms *rooms) {
  struct search search = {recorded, kind, lumos_allocate_zeroed(recorded->tasks.count, 1)};
  struct values shares = {0}, behind = {0};
  size_t at_once = 0, waits;
  find_waits(&search, &shares, &behind);
  for (uint32_t t = 0; t < recorded->tasks.count; t++) {
    const struct lumos_task *task = &recorded->tasks.items[t];
    at_once += task->kind == kind && lumos_on_stream(recorded, task) && !search.waited[t] && starts_beside(recorded, t);
  }
  waits = shares.count;
  *rooms = (struct rebuild_rooms){.awaited = waits >= at_once, .share = LAST_WAVE};
  if (waits > 0) {
    rooms->share = (int32_t)lumos_median(shares.items, waits);
    rooms->behind = lumos_median(behind.items, waits);
  }
  lumos_vector_free(&shares);
  lumos_vector_free(&behind);
  free(search.waited);
  return waits + at_once;
}

struct rebuild_rooms rebuild_rooms_find(const struct lumos_job *recorded, enum lumos_task_kind kind) {
  struct rebuild_rooms rooms, others;
  if (find_rooms(recorded, kind, &rooms) > 0) {
    return rooms;
  }
  (void)find_rooms(recorded, kind == LUMOS_P2P ? LUMOS_COLLECTIVE : LUMOS_P2P, &others);
  return others;
}
