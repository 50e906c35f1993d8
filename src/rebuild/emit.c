#include "rebuild/emit.h"

#include "base/numbering.h"
#include "job/builder.h"
#include "program/sharded.h"
#include "rebuild/exchange.h"
#include "rebuild/groups.h"
#include "rebuild/join.h"
#include "rebuild/lanes.h"
#include "rebuild/ports.h"
#include "rebuild/rooms.h"
#include "rebuild/schedule.h"
#include "rebuild/seams.h"
#include "rebuild/spans.h"
#include <stdlib.h>
#include <string.h>

static const struct lumos_built_task no_task = {LUMOS_NONE};
static const struct lumos_built_lane no_lane = {LUMOS_NONE};

/* A block that is built: of handles those of its tasks are in a row. */
struct built {
  uint32_t drawn, donor;                             /* whose place it takes, and what it is like */
  uint32_t first, first_device;                      /* the latter in emission.handles */
  struct lumos_built_task first_kernel, last_kernel; /* of a pass, but for communication and copies; or none */
};

/* Phases of passes that what is sent or received is for. */
enum way { FORWARD, BACK, WAYS };

struct emission {
  const struct lumos_job *from;
  const struct rebuild_blocks *blocks;
  const struct rebuild_templates *templates;
  struct rebuild_kinds kinds;
  struct lumos_builder *builder;
  uint32_t *dep_first; /* by task, and one more: deps that hold it, in deps */
  uint32_t *deps;
  uint32_t sends, receives;   /* an inferred edge to what is sent, from what is received; or none */
  bool awaits_sends;          /* passes also wait for what was sent before them */
  bool awaits_passes;         /* what is received also waits for the pass before it */
  bool beside;                /* in what is built, only those of the same phase do */
  struct rebuild_seams seams; /* between what follows each other in another configuration */
  /* What transfers between stages, and collectives, wait for beside kernels, in another configuration. */
  struct rebuild_rooms rooms[2];
  struct rebuild_joining *joining;
  int32_t shares;    /* as of the plan */
  uint8_t *of_share; /* by task: program_find_shares; NULL: shares are as recorded */
  /* Of the rank at hand. */
  const struct rebuild_rank *rank;
  struct built *built;            /* by item */
  LUMOS_VECTOR(uint32_t) handles; /* of tasks on streams, by item, then place in its block; LUMOS_NONE: left out */
  struct rebuild_order order;
  struct lumos_built_lane *lanes;  /* by recorded lane: the one that its tasks come to; LUMOS_NONE: there is none */
  uint32_t *same;                  /* by recorded lane: the one of the rank that this is like; or none */
  struct lumos_built_task *latest; /* by lane of that rank: the last task of the last item that is tied; or none */
  bool recorded;                   /* the configuration is */
  struct rebuild_groups *other;    /* NULL: it is. Else the groups of the other one */
  struct rebuild_spans *spans;
};

/* ---- what is the same for all ranks ---- */

/* In another configuration sums of gradients, and products for those of weights, may not be where they were. */
static bool may_go(const struct emission *emission, uint32_t t) {
  uint32_t b = emission->blocks->of_task[t];
  const struct rebuild_block *block = b == LUMOS_NONE ? NULL : &emission->blocks->items.items[b];
  return block != NULL && (block->weights || rebuild_block_sum(emission->blocks, block) != LUMOS_NONE);
}

/* A stream waits for an event, and the next task on it does, whatever it is: where that may go, the next one of the
 * pass that stays. LUMOS_NONE: it stays, or nothing else of its pass is near. */
static uint32_t next_that_waits(const struct emission *emission, const struct lumos_dep *dep) {
  enum { NEAR = 64 }; /* tasks looked at for each wait, at most */
  const struct lumos_task *tasks = emission->from->tasks.items, *dst = &tasks[dep->dst];
  bool waits = !emission->recorded && dep->kind == LUMOS_DEP_EVENT && lumos_on_stream(emission->from, dst);
  if (!waits || dep->src == LUMOS_NONE || may_go(emission, dep->src) || !may_go(emission, dep->dst)) {
    return LUMOS_NONE;
  }
  const struct lumos_lane *lane = &emission->from->lanes.items[dst->lane];
  uint32_t end = lane->task_first + lane->task_count;
  for (uint32_t t = dep->dst + 1; t < end && t - dep->dst < NEAR; t++) {
    bool same = tasks[t].step == dst->step && tasks[t].phase == dst->phase && tasks[t].micro_batch == dst->micro_batch;
    if (!same || !may_go(emission, t)) {
      return same ? t : LUMOS_NONE;
    }
  }
  return LUMOS_NONE;
}

static void list_deps(struct emission *emission) {
  const struct lumos_job *from = emission->from;
  uint32_t *first = lumos_allocate_zeroed(from->tasks.count + 2, sizeof *first);
  uint32_t *more = lumos_allocate(from->deps.count * sizeof *more);
  emission->deps = lumos_allocate(2 * from->deps.count * sizeof *emission->deps);
  for (size_t d = 0; d < from->deps.count; d++) {
    more[d] = next_that_waits(emission, &from->deps.items[d]);
    first[from->deps.items[d].dst + 2]++;
    first[more[d] == LUMOS_NONE ? 0 : more[d] + 2] += more[d] != LUMOS_NONE;
  }
  for (size_t t = 2; t < from->tasks.count + 2; t++) {
    first[t] += first[t - 1];
  }
  for (uint32_t d = 0; d < from->deps.count; d++) {
    emission->deps[first[from->deps.items[d].dst + 1]++] = d;
    if (more[d] != LUMOS_NONE) {
      emission->deps[first[more[d] + 1]++] = d;
    }
  }
  free(more);
  emission->dep_first = first;
}

enum { SENDS = REBUILD_TO_NEXT | REBUILD_TO_PREVIOUS, RECEIVES = REBUILD_FROM_NEXT | REBUILD_FROM_PREVIOUS };

static bool does_only(const struct lumos_job *job, uint32_t task, unsigned what) {
  unsigned exchange = rebuild_exchange_of_task(job, task);
  return exchange != 0 && (exchange & ~what) == 0;
}

/* The edges of sends and receives. Without the latter edges are recorded,
 * and calls make streams wait. */
static void find_patterns(struct emission *emission) {
  const struct lumos_job *from = emission->from;
  emission->sends = emission->receives = LUMOS_NONE;
  for (uint32_t d = 0; d < from->deps.count; d++) {
    const struct lumos_dep *dep = &from->deps.items[d];
    if (dep->src == LUMOS_NONE) {
      continue;
    }
    const struct lumos_task *src = &from->tasks.items[dep->src], *dst = &from->tasks.items[dep->dst];
    bool inferred = dep->kind == LUMOS_DEP_EVENT && dep->evidence != LUMOS_RECORDED;
    emission->sends = inferred && dst->kind == LUMOS_P2P && emission->sends == LUMOS_NONE ? d : emission->sends;
    emission->receives =
        inferred && src->kind == LUMOS_P2P && emission->receives == LUMOS_NONE ? d : emission->receives;
    emission->awaits_sends = emission->awaits_sends || (inferred && does_only(from, dep->src, SENDS));
    emission->awaits_passes = emission->awaits_passes || (inferred && does_only(from, dep->dst, RECEIVES));
  }
}

/* ---- tasks ---- */

static int64_t scaled(int64_t dur, int32_t scale) { return (int64_t)((__int128)dur * scale / 1000000); }

/* In another configuration others take part: with whom, rebuild_join_all tells. */
static void move_comm(const struct emission *emission, uint32_t like, struct lumos_built_task task) {
  const struct lumos_comm *comm = &lumos_detail_of(emission->from, &emission->from->tasks.items[like])->comm;
  if (!emission->recorded && comm->op != LUMOS_NO_STRING) {
    lumos_build_comm_group(emission->builder, task, rebuild_group_of(emission->other, comm->group));
  }
}

/* Gradients are cleared whole, also where every replica updates a part of the parameters. */
static bool clears(const struct lumos_job *job, const struct lumos_task *task) {
  uint32_t span = task->call == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[task->call].span;
  const char *op = span == LUMOS_NONE ? "" : lumos_string(job->strings, job->spans.items[span].name);
  return task->kind == LUMOS_MEMSET || strcmp(op, "aten::zero_") == 0 || strcmp(op, "aten::fill_") == 0 ||
         strcmp(op, "aten::_foreach_zero_") == 0;
}

/* What clears a row of numbers, as of all gradients, says of how many where there are other parameters, too. */
static void resize_stretch(const struct emission *emission, const struct rebuild_item *item, uint32_t span,
                           struct lumos_built_span built) {
  const struct lumos_job *from = emission->from;
  const struct lumos_span *like = span == LUMOS_NONE ? NULL : &from->spans.items[span];
  if (item->transfers == 0 || like == NULL || like->shapes == LUMOS_NO_STRING ||
      strcmp(lumos_string(from->strings, like->name), "aten::zero_") != 0) {
    return;
  }
  const char *shapes = lumos_string(from->strings, like->shapes);
  char *behind = NULL;
  long long count = strncmp(shapes, "[[", 2) == 0 ? strtoll(shapes + 2, &behind, 10) : 0;
  if (count > 0 && strcmp(behind, "]]") == 0) {
    lumos_build_stretch(emission->builder, built, scaled(count, item->transfers));
  }
}

/* The recorded thread that an item is on. */
static uint32_t thread_of(const struct rebuild_item *item, const struct rebuild_block *block) {
  return item->again ? item->thread : block->lane;
}

/* lag: of its own, instead of the recorded one; LUMOS_ABSENT: none. */
static struct lumos_built_task build_task(const struct emission *emission, const struct rebuild_item *item,
                                          uint32_t like, int64_t lag) {
  const struct lumos_job *from = emission->from;
  const struct lumos_task *task = &from->tasks.items[like];
  uint32_t lane = item->again && !lumos_on_stream(from, task) ? item->thread : task->lane;
  struct lumos_times own = lumos_own_times(from, like);
  own.lag = lag == LUMOS_ABSENT ? own.lag : lag;
  bool fixed = !lumos_on_stream(from, task) || task->kind == LUMOS_COPY;
  bool whole =
      clears(from, task) || lumos_is_communication(task->kind); /* of all parameters, not of a replica's share */
  int32_t scale = fixed ? 0 : whole ? item->transfers : item->kernels;
  scale = scale == 0 && emission->of_share != NULL && emission->of_share[like] ? emission->shares : scale;
  own.dur = scale == 0 ? own.dur : scaled(own.dur, scale);
  if (item->slower != 0 && !lumos_is_communication(task->kind)) {
    own.dur += scaled(own.dur, item->slower);
    own.lag += own.lag > 0 ? scaled(own.lag, item->slower) : 0;
  }
  struct lumos_built_task built = lumos_build_task(emission->builder, like, emission->lanes[lane], own, item->step);
  lumos_build_place(emission->builder, built, item->micro_batch, item->layer);
  struct lumos_built_span span = rebuild_span_of(emission->spans, task->span);
  lumos_build_span_of(emission->builder, built, span);
  resize_stretch(emission, item, task->span, span);
  move_comm(emission, like, built);
  if (item->phase != 0 && (item->again || task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT)) {
    lumos_build_phase(emission->builder, built, item->phase);
  }
  const int64_t *delays = emission->templates->delays;
  if (delays != NULL && delays[like] != 0) {
    int64_t residual = lumos_timing_of(from, like)->residual;
    lumos_build_residual(emission->builder, built, delays[like] + (residual == LUMOS_ABSENT ? 0 : residual));
  }
  return built;
}

static bool computes(uint8_t kind) { return !lumos_is_communication(kind) && !lumos_is_copy(kind); }

/* Who communicates what in the recorded configuration is as it was, whatever the rest is like. */
static uint32_t stays_like(const struct emission *emission, const struct built *built, uint32_t like) {
  bool stays = emission->recorded && built->drawn != built->donor &&
               lumos_is_communication(emission->from->tasks.items[like].kind);
  uint32_t own = stays ? rebuild_find_task(emission->blocks, like, built->drawn) : like;
  return own == LUMOS_NONE ? like : own;
}

static void build_devices(struct emission *emission, const struct rebuild_item *item, const struct rebuild_block *block,
                          struct built *built) {
  for (uint32_t i = 0; i < block->device_count; i++) {
    uint32_t like = stays_like(emission, built, emission->blocks->devices[block->device_first + i]);
    struct lumos_built_task task = build_task(emission, item, like, LUMOS_ABSENT);
    lumos_vector_push(&emission->handles, task.number);
    if (!rebuild_takes_part(emission->joining, emission->rank, like)) {
      lumos_build_alone(emission->builder, task); /* until rebuild_strip_alone takes it out */
    } else {
      rebuild_join(emission->joining, emission->rank, like, task, item);
    }
    if (!block->transfers && computes(emission->from->tasks.items[like].kind)) {
      built->first_kernel = built->first_kernel.number == LUMOS_NONE ? task : built->first_kernel;
      built->last_kernel = task;
    }
  }
}

/* Where the lanes of all ranks have their tasks on the rank at hand, threads by place, streams by number. */
static bool has_lanes(const struct emission *emission, const struct rebuild_item *item,
                      const struct rebuild_block *block) {
  bool has = emission->lanes[thread_of(item, block)].number != LUMOS_NONE;
  for (uint32_t i = 0; has && i < block->device_count; i++) {
    uint32_t lane = emission->from->tasks.items[emission->blocks->devices[block->device_first + i]].lane;
    has = emission->lanes[lane].number != LUMOS_NONE;
  }
  return has;
}

/* What comes before an item where it is built. */
static enum rebuild_seam seam_of(const struct emission *emission, uint32_t index) {
  const struct rebuild_item *item = &emission->rank->items.items[index], *before = item - 1;
  const struct rebuild_block *block = &emission->blocks->items.items[emission->built[index].donor];
  if (emission->recorded || index == 0 || item->step != before->step) {
    return rebuild_seam_of(&emission->seams, block);
  }
  const struct rebuild_block *block_before = &emission->blocks->items.items[emission->built[index - 1].donor];
  if (emission->same[thread_of(item, block)] != emission->same[thread_of(before, block_before)]) {
    return REBUILD_SEAM_HANDED;
  }
  if (block->transfers || block_before->transfers) {
    return REBUILD_SEAM_GOES_ON;
  }
  if (item->micro_batch == LUMOS_ABSENT_INT || before->micro_batch == LUMOS_ABSENT_INT) {
    return rebuild_seam_of(&emission->seams, block);
  }
  bool same_pass =
      item->micro_batch == before->micro_batch && item->chunk == before->chunk && item->phase == before->phase;
  return same_pass ? REBUILD_SEAM_GOES_ON : REBUILD_SEAM_BEGINS;
}

static bool build_item(struct emission *emission, uint32_t index, struct lumos_error *error) {
  const struct rebuild_item *item = &emission->rank->items.items[index];
  uint32_t drawn = rebuild_draw(emission->templates, item->like, item->turns);
  uint32_t donor = rebuild_donor(emission->templates, drawn);
  const struct rebuild_block *block = &emission->blocks->items.items[donor];
  struct built *built = &emission->built[index];
  *built = (struct built){drawn, donor, LUMOS_NONE, (uint32_t)emission->handles.count, no_task, no_task};
  if (!has_lanes(emission, item, block)) {
    return lumos_fail(error, "rank %d lacks a stream that work of rank %d needs", emission->rank->number,
                      emission->from->ranks.items[block->rank].rank);
  }
  rebuild_spans_begin_block(emission->spans, block);
  int64_t seam =
      emission->recorded ? LUMOS_ABSENT : rebuild_seam_lag(&emission->seams, block, seam_of(emission, index));
  for (uint32_t i = 0; i < block->count; i++) {
    struct lumos_built_task task = build_task(emission, item, block->first + i, i == 0 ? seam : LUMOS_ABSENT);
    built->first = i == 0 ? task.number : built->first;
  }
  build_devices(emission, item, block, built);
  return true;
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
  return (struct lumos_built_task){device ? emission->handles.items[built->first_device + blocks->place[found]]
                                          : built->first + found - blocks->items.items[built->donor].first};
}

/* The last task on a thread before the item at hand; none: nothing comes before it there. */
static struct lumos_built_task last_on(const struct emission *emission, uint32_t lane) {
  return emission->same[lane] == LUMOS_NONE ? no_task : emission->latest[emission->same[lane]];
}

static void tie_deps(const struct emission *emission, uint32_t index, uint32_t like, struct lumos_built_task task) {
  const struct lumos_job *from = emission->from;
  for (uint32_t i = emission->dep_first[like]; i < emission->dep_first[like + 1]; i++) {
    const struct lumos_dep *dep = &from->deps.items[emission->deps[i]];
    if (dep->src == LUMOS_NONE) {
      continue;
    }
    struct lumos_built_task src = find_built(emission, index, dep->src);
    if (dep->kind == LUMOS_HANDOVER && !emission->recorded && seam_of(emission, index) == REBUILD_SEAM_GOES_ON) {
      continue;
    }
    if (dep->kind == LUMOS_HANDOVER && (src.number == LUMOS_NONE || !emission->recorded)) {
      src = last_on(emission, from->tasks.items[dep->src].lane);
    }
    if (src.number != LUMOS_NONE) {
      lumos_build_dep(emission->builder, emission->deps[i], src, LUMOS_ABSENT, task);
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

static bool is_handed(const struct emission *emission, uint32_t task) {
  for (uint32_t i = emission->dep_first[task]; i < emission->dep_first[task + 1]; i++) {
    if (emission->from->deps.items[emission->deps[i]].kind == LUMOS_HANDOVER) {
      return true;
    }
  }
  return false;
}

/* Where a pass goes on, on another thread, with a block that did not in the recording, what came before hands over. */
static void tie_threads(const struct emission *emission, uint32_t index) {
  if (index == 0) {
    return;
  }
  const struct rebuild_item *item = &emission->rank->items.items[index];
  const struct rebuild_block *block = &emission->blocks->items.items[emission->built[index].donor];
  const struct rebuild_block *before = &emission->blocks->items.items[emission->built[index - 1].donor];
  uint32_t thread = thread_of(item, block), thread_before = thread_of(item - 1, before);
  bool passes = block->micro_batch != LUMOS_ABSENT_INT || before->micro_batch != LUMOS_ABSENT_INT;
  if (!passes || emission->lanes[thread_before].number == emission->lanes[thread].number ||
      is_handed(emission, block->first)) {
    return;
  }
  const struct lumos_rank *rank = &emission->from->ranks.items[block->rank];
  uint32_t from = rebuild_lane_of_rank(emission->from, thread_before, rank);
  uint32_t to = rebuild_lane_of_rank(emission->from, thread, rank);
  uint32_t like = LUMOS_NONE;
  int64_t wake = 0;
  if (from != LUMOS_NONE && to != LUMOS_NONE && rebuild_seam_wake(&emission->seams, from, to, &wake, &like)) {
    struct lumos_built_task src = {emission->built[index - 1].first + before->count - 1};
    int64_t own = rebuild_seam_lag(&emission->seams, block, REBUILD_SEAM_HANDED);
    lumos_build_hand_over(emission->builder, like, src, wake + (own > 0 ? own : 0),
                          (struct lumos_built_task){emission->built[index].first});
  }
}

/* The last kernel before an item, and the first behind it, of passes in that phase. */
struct around {
  struct lumos_built_task before[WAYS], behind[WAYS];
  struct lumos_built_task next;   /* behind it, in either phase */
  struct lumos_built_task latest; /* before it, in any pass */
};

static uint8_t phase_of(int way) { return way == FORWARD ? LUMOS_FORWARD : LUMOS_BACKWARD; }

/* By item. The caller frees them. */
static struct around *look_around(const struct emission *emission) {
  size_t count = emission->rank->items.count;
  struct around *around = lumos_allocate(count * sizeof *around);
  for (int way = 0; way < WAYS; way++) {
    struct lumos_built_task before = no_task, behind = no_task;
    for (size_t i = 0; i < count; i++) {
      const struct built *built = &emission->built[i];
      bool of_phase = emission->rank->items.items[i].phase == phase_of(way);
      around[i].before[way] = before;
      before = of_phase && built->last_kernel.number != LUMOS_NONE ? built->last_kernel : before;
    }
    for (size_t i = count; i-- > 0;) {
      const struct built *built = &emission->built[i];
      bool of_phase = emission->rank->items.items[i].phase == phase_of(way);
      around[i].behind[way] = behind;
      behind = of_phase && built->first_kernel.number != LUMOS_NONE ? built->first_kernel : behind;
    }
  }
  struct lumos_built_task next = no_task, latest = no_task;
  for (size_t i = 0; i < count; i++) {
    around[i].latest = latest;
    latest = emission->built[i].last_kernel.number != LUMOS_NONE ? emission->built[i].last_kernel : latest;
  }
  for (size_t i = count; i-- > 0;) {
    const struct rebuild_item *item = &emission->rank->items.items[i];
    bool of_pass = item->phase == LUMOS_FORWARD || item->phase == LUMOS_BACKWARD;
    around[i].next = next;
    next = of_pass && emission->built[i].first_kernel.number != LUMOS_NONE ? emission->built[i].first_kernel : next;
  }
  return around;
}

/* What is sent waits for the pass that made it, and a pass for what it receives, whatever blocks these begin and end
 * with. */
static void tie_transfer(const struct emission *emission, struct lumos_built_task task, const struct around *around,
                         unsigned exchange) {
  bool received = (exchange & RECEIVES) != 0 && emission->awaits_passes;
  if (received && emission->sends != LUMOS_NONE && around->latest.number != LUMOS_NONE) {
    lumos_build_dep(emission->builder, emission->sends, around->latest, LUMOS_ABSENT, task);
  }
  for (int way = BACK; way >= FORWARD; way--) {
    struct lumos_built_task made = around->before[way], needs = around->behind[way];
    bool to = (exchange & (unsigned)(way == FORWARD ? REBUILD_TO_NEXT : REBUILD_TO_PREVIOUS)) != 0;
    bool from = (exchange & (unsigned)(way == FORWARD ? REBUILD_FROM_PREVIOUS : REBUILD_FROM_NEXT)) != 0;
    if (to && emission->sends != LUMOS_NONE && made.number != LUMOS_NONE) {
      lumos_build_dep(emission->builder, emission->sends, made, LUMOS_ABSENT, task);
    }
    bool awaited = to && emission->awaits_sends;
    needs = awaited && !emission->beside ? around->next : needs;
    if ((from || awaited) && emission->receives != LUMOS_NONE && needs.number != LUMOS_NONE) {
      lumos_build_dep(emission->builder, emission->receives, task, LUMOS_ABSENT, needs);
    }
  }
}

/* Was it seen to wait for SMs, of a kernel that is there? */
static bool waits_for_room(const struct emission *emission, uint32_t index, uint32_t like) {
  bool waits = false;
  for (uint32_t i = emission->dep_first[like]; i < emission->dep_first[like + 1] && !waits; i++) {
    const struct lumos_dep *dep = &emission->from->deps.items[emission->deps[i]];
    waits = dep->kind == LUMOS_RESOURCE && dep->src != LUMOS_NONE &&
            find_built(emission, index, dep->src).number != LUMOS_NONE;
  }
  return waits;
}

static void tie_transfers(const struct emission *emission, uint32_t index, const struct around *around) {
  const struct rebuild_block *block = &emission->blocks->items.items[emission->built[index].donor];
  for (uint32_t i = 0; i < block->device_count && block->transfers; i++) {
    struct lumos_built_task task = {emission->handles.items[emission->built[index].first_device + i]};
    tie_transfer(emission, task, &around[index], emission->rank->items.items[index].exchange);
  }
}

/* A transfer is held up by what ran before it, a collective that came beside no kernel by whatever runs. One that came
 * beside a kernel does as it did. */
static void find_rooms(const struct emission *emission, uint32_t index, const struct around *around) {
  const struct rebuild_block *block = &emission->blocks->items.items[emission->built[index].donor];
  struct lumos_built_task latest = around[index].latest;
  for (uint32_t i = 0; i < block->device_count && latest.number != LUMOS_NONE; i++) {
    uint32_t like = emission->blocks->devices[block->device_first + i];
    struct lumos_built_task task = {emission->handles.items[emission->built[index].first_device + i]};
    uint8_t kind = emission->from->tasks.items[like].kind;
    const struct rebuild_rooms *rooms = &emission->rooms[kind == LUMOS_COLLECTIVE];
    if (lumos_is_communication(kind) && task.number != LUMOS_NONE && rooms->awaited &&
        !waits_for_room(emission, index, like) && (kind == LUMOS_P2P || rebuild_starts_alone(emission->from, like))) {
      int64_t behind = kind == LUMOS_P2P ? LUMOS_ABSENT : rooms->behind;
      lumos_build_room(emission->builder, latest, rooms->share, behind, task);
    }
  }
}

/* What is summed behind the passes waits for all of them, whichever comes last: gradients of weights that are put off,
 * or those of the embedding where they no longer are. */
static void tie_sums(const struct emission *emission, uint32_t index, const struct around *around) {
  const struct built *built = &emission->built[index];
  const struct rebuild_block *block = &emission->blocks->items.items[built->donor];
  struct lumos_built_task latest = around[index].latest;
  for (uint32_t i = 0; i < block->device_count && block->micro_batch == LUMOS_ABSENT_INT; i++) {
    uint32_t like = emission->blocks->devices[block->device_first + i];
    struct lumos_built_task task = {emission->handles.items[built->first_device + i]};
    bool sums = emission->from->tasks.items[like].kind == LUMOS_COLLECTIVE && task.number != LUMOS_NONE;
    for (uint32_t d = emission->dep_first[like]; sums && d < emission->dep_first[like + 1]; d++) {
      const struct lumos_dep *dep = &emission->from->deps.items[emission->deps[d]];
      bool of_pass = dep->kind == LUMOS_DEP_EVENT && dep->src != LUMOS_NONE &&
                     emission->from->tasks.items[dep->src].micro_batch != LUMOS_ABSENT_INT;
      if (of_pass && latest.number != LUMOS_NONE && find_built(emission, index, dep->src).number != latest.number) {
        lumos_build_dep(emission->builder, emission->deps[d], latest, LUMOS_ABSENT, task);
        break;
      }
    }
  }
}

static void tie_item(const struct emission *emission, uint32_t index) {
  const struct built *built = &emission->built[index];
  const struct rebuild_block *block = &emission->blocks->items.items[built->donor];
  for (uint32_t i = 0; i < block->count; i++) {
    tie_call(emission, index, block->first + i, (struct lumos_built_task){built->first + i});
  }
  for (uint32_t i = 0; i < block->device_count; i++) {
    struct lumos_built_task task = {emission->handles.items[built->first_device + i]};
    if (task.number != LUMOS_NONE) {
      tie_device(emission, index, emission->blocks->devices[block->device_first + i], task);
    }
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
    rebuild_join(emission->joining, emission->rank, t, task, NULL);
  }
}

/* The first that is built on each thread begins when the first recorded task of that did. */
static void begin_threads(const struct emission *emission) {
  uint32_t count = (uint32_t)emission->rank->items.count;
  uint8_t *begun = lumos_allocate_zeroed(emission->from->lanes.count, 1);
  for (uint32_t i = 0; i < count; i++) {
    const struct rebuild_block *block = &emission->blocks->items.items[emission->built[i].donor];
    uint32_t lane = emission->same[thread_of(&emission->rank->items.items[i], block)];
    if (!begun[lane] && emission->from->lanes.items[lane].task_count > 0) {
      tie_boundaries(emission, emission->from->lanes.items[lane].task_first,
                     (struct lumos_built_task){emission->built[i].first});
    }
    begun[lane] = 1;
  }
  free(begun);
}

/* ---- ranks ---- */

/* Of the recorded configuration. */
static void build_groups(const struct emission *emission, uint32_t rank, struct lumos_built_rank built) {
  const struct lumos_rank *like = &emission->from->ranks.items[rank];
  for (uint32_t g = like->group_first; g < like->group_first + like->group_count; g++) {
    const struct lumos_group *group = &emission->from->groups.items[g];
    lumos_build_group(emission->builder, g, built, emission->from->group_ranks.items + group->member_first,
                      group->member_count);
  }
}

static void build_lanes(struct emission *emission, const struct lumos_rank *like, struct lumos_built_rank built) {
  const struct lumos_job *from = emission->from;
  for (uint32_t l = like->lane_first; l < like->lane_first + like->lane_count; l++) {
    emission->lanes[l] = lumos_build_lane(emission->builder, l, built);
  }
  for (uint32_t l = 0; l < from->lanes.count; l++) {
    bool own = l >= like->lane_first && l < like->lane_first + like->lane_count;
    uint32_t same = own ? l : rebuild_lane_of_rank(from, l, like);
    emission->same[l] = same;
    emission->latest[l] = no_task;
    emission->lanes[l] = same == LUMOS_NONE ? no_lane : emission->lanes[same];
    if (same != LUMOS_NONE && !own) {
      lumos_build_lane_for(emission->builder, l, built, emission->lanes[l]);
    }
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

static void remember_last(struct emission *emission, uint32_t index) {
  const struct built *built = &emission->built[index];
  const struct rebuild_block *block = &emission->blocks->items.items[built->donor];
  uint32_t thread = thread_of(&emission->rank->items.items[index], block);
  emission->latest[emission->same[thread]].number = built->first + block->count - 1;
}

static bool build_items(struct emission *emission, bool recorded, struct lumos_error *error) {
  uint32_t count = (uint32_t)emission->rank->items.count;
  emission->handles.count = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!build_item(emission, i, error)) {
      return false;
    }
  }
  order_items(emission);
  struct around *around = recorded ? NULL : look_around(emission);
  for (uint32_t i = 0; i < count; i++) {
    tie_item(emission, i);
    if (!recorded) {
      tie_threads(emission, i);
      tie_transfers(emission, i, around);
      find_rooms(emission, i, around);
      tie_sums(emission, i, around);
    }
    remember_last(emission, i);
  }
  free(around);
  rebuild_order_free(&emission->order);
  return true;
}

static bool build_rank(struct emission *emission, const struct rebuild_plan *plan, const struct rebuild_rank *rank,
                       struct lumos_error *error) {
  const struct lumos_rank *like = &emission->from->ranks.items[rank->like];
  struct lumos_built_rank built = lumos_build_rank(emission->builder, rank->like, rank->number);
  emission->rank = rank;
  emission->built = lumos_allocate(rank->items.count * sizeof *emission->built);
  build_lanes(emission, like, built);
  rebuild_spans_begin_rank(emission->spans, built);
  if (plan->recorded) {
    build_groups(emission, rank->like, built);
  } else {
    rebuild_groups_build(emission->other, rank, built, emission->builder);
    lumos_build_represents(emission->builder, built, rank->represents);
    const struct lumos_parallel *sizes = &plan->model.sizes;
    lumos_build_coordinates(emission->builder, built, &rank->at, sizes->tp * sizes->pp * rebuild_copies_of(sizes));
  }
  for (uint32_t l = like->lane_first; plan->begins_as_recorded && l < like->lane_first + like->lane_count; l++) {
    if (emission->from->lanes.items[l].kind == LUMOS_STREAM) {
      begin_stream(emission, l, emission->lanes[l]);
    }
  }
  bool done = build_items(emission, plan->recorded, error);
  if (done && plan->begins_as_recorded) {
    begin_threads(emission);
  }
  free(emission->built);
  return done;
}

/* What an item is built of, but for what is left out of its block. */
static void count_block(const struct emission *emission, const struct rebuild_block *block,
                        struct lumos_builder_counts *counts) {
  const struct lumos_task *tasks = emission->from->tasks.items;
  for (uint32_t i = 0; i < block->count + block->device_count; i++) {
    bool device = i >= block->count;
    uint32_t t = device ? emission->blocks->devices[block->device_first + i - block->count] : block->first + i;
    counts->tasks++;
    counts->details += tasks[t].detail != LUMOS_NONE;
    counts->timings += device || tasks[t].timing != LUMOS_NONE;
  }
}

static void expect_ranks(const struct emission *emission, const struct rebuild_plan *plan) {
  const struct lumos_job *from = emission->from;
  struct lumos_builder_counts all = {.tasks = 0};
  struct lumos_builder_counts *of = lumos_allocate_zeroed(emission->blocks->items.count + 1, sizeof *of); /* by block */
  for (size_t r = 0; r < plan->ranks.count; r++) {
    for (size_t i = 0; i < plan->ranks.items[r].items.count; i++) {
      const struct rebuild_item *item = &plan->ranks.items[r].items.items[i];
      uint32_t donor = rebuild_donor(emission->templates, rebuild_draw(emission->templates, item->like, item->turns));
      if (of[donor].tasks == 0) {
        count_block(emission, &emission->blocks->items.items[donor], &of[donor]);
      }
      all.tasks += of[donor].tasks;
      all.details += of[donor].details;
      all.timings += of[donor].timings;
    }
  }
  all.spans =
      from->tasks.count == 0 ? 0 : (size_t)((double)from->spans.count / (double)from->tasks.count * (double)all.tasks);
  lumos_builder_expect(emission->builder, &all);
  free(of);
}

static bool build_ranks(struct emission *emission, const struct rebuild_plan *plan, struct lumos_error *error) {
  expect_ranks(emission, plan);
  for (size_t r = 0; r < plan->ranks.count; r++) {
    if (!build_rank(emission, plan, &plan->ranks.items[r], error)) {
      return false;
    }
  }
  return true;
}

static void open_emission(struct emission *emission, const struct rebuild_plan *plan) {
  const struct lumos_job *from = emission->from;
  emission->builder = lumos_builder_new(from);
  emission->recorded = plan->recorded;
  if (!plan->recorded) {
    emission->rooms[0] = rebuild_rooms_find(from, LUMOS_P2P);
    emission->rooms[1] = rebuild_rooms_find(from, LUMOS_COLLECTIVE);
    rebuild_seams_find(&emission->seams, emission->blocks);
  }
  emission->beside = plan->pipeline.schedule == LUMOS_INTERLEAVED && !plan->pipeline.joint;
  if (!plan->recorded) {
    lumos_build_model(emission->builder, &plan->model);
  }
  rebuild_kinds_make(&emission->kinds, emission->blocks);
  list_deps(emission);
  find_patterns(emission);
  emission->joining = rebuild_joining_new(from, plan);
  emission->shares = plan->shares;
  emission->of_share = plan->shares == 0 ? NULL : program_find_shares(from);
  emission->lanes = lumos_allocate(from->lanes.count * sizeof *emission->lanes);
  emission->same = lumos_allocate(from->lanes.count * sizeof *emission->same);
  emission->latest = lumos_allocate(from->lanes.count * sizeof *emission->latest);
  emission->spans = rebuild_spans_new(from, emission->builder);
  emission->other = plan->recorded ? NULL : rebuild_groups_new(from, plan);
}

static void close_emission(struct emission *emission) {
  rebuild_joining_free(emission->joining);
  rebuild_kinds_free(&emission->kinds);
  lumos_builder_free(emission->builder);
  lumos_vector_free(&emission->handles);
  free(emission->lanes);
  rebuild_groups_free(emission->other);
  rebuild_spans_free(emission->spans);
  free(emission->dep_first);
  free(emission->deps);
  free(emission->same);
  free(emission->latest);
  free(emission->of_share);
  if (!emission->recorded) {
    rebuild_seams_free(&emission->seams);
  }
}

struct lumos_job *rebuild_emit(const struct rebuild_templates *templates, const struct rebuild_plan *plan,
                               struct lumos_error *error) {
  struct emission emission = {.from = templates->blocks->job, .blocks = templates->blocks, .templates = templates};
  open_emission(&emission, plan);
  bool built = build_ranks(&emission, plan, error) && rebuild_join_all(emission.joining, emission.builder, error);
  struct lumos_job *job = built ? lumos_builder_finish(emission.builder, error) : NULL;
  if (job != NULL && rebuild_assumed_nodes(emission.joining)) {
    lumos_job_note(job, "transform.node_size", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   "communication leaves the node in which it was recorded. A node is taken to have 8 GPUs, or as many "
                   "as were recorded on one. The network between nodes is taken to be that of its maker's server",
                   "give node_size and inter in a file for lumos-transform --network");
  }
  close_emission(&emission);
  return job;
}
