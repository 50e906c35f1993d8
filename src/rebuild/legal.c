#include "rebuild/legal.h"

#include "rebuild/exchange.h"
#include <stdlib.h>

/* ---- stages ---- */

LUMOS_VECTOR_TYPE(numbers, int32_t);

struct inbox { /* what a stage was sent from one side: micro-batches, in order */
  struct numbers arrived;
  size_t taken; /* by passes */
};

struct runner { /* a stage that is carried out */
  const struct rebuild_slots *slots;
  size_t at;
  int32_t held, most;   /* micro-batches between forward and back; how many may be */
  struct inbox from[2]; /* from the previous stage, from the next one */
  int32_t done[2];      /* the micro-batch that last went forward, and back */
  uint8_t *ways;        /* by micro-batch: how far it has gone: 1 forward, 2 back */
};

enum way { FORWARD, BACK };
enum side { PREVIOUS, NEXT };

struct run {
  struct runner *runners;
  int32_t stages, micro_batches;
  struct lumos_error *error;
};

static bool refuse(const struct run *run, int32_t stage, const char *what, int32_t micro_batch) {
  return lumos_fail(run->error, "the plan is not legal: stage %d %s %d", stage, what, micro_batch);
}

static bool takes(const struct run *run, int32_t stage, enum side side, int32_t micro_batch) {
  struct inbox *inbox = &run->runners[stage].from[side];
  bool there = inbox->taken < inbox->arrived.count && inbox->arrived.items[inbox->taken] == micro_batch;
  inbox->taken += there;
  return there || refuse(run, stage, "lacks what it needs for micro-batch", micro_batch);
}

static bool do_pass(const struct run *run, int32_t stage, const struct rebuild_slot *slot) {
  struct runner *runner = &run->runners[stage];
  enum way way = slot->phase == LUMOS_FORWARD ? FORWARD : BACK;
  if (slot->micro_batch < 0 || slot->micro_batch >= run->micro_batches ||
      runner->ways[slot->micro_batch] != (way == FORWARD ? 0 : 1)) {
    return refuse(run, stage, "goes out of turn with micro-batch", slot->micro_batch);
  }
  runner->ways[slot->micro_batch]++;
  runner->held += way == FORWARD ? 1 : -1;
  runner->done[way] = slot->micro_batch;
  if (runner->held > runner->most) {
    return refuse(run, stage, "holds more micro-batches than its schedule says at micro-batch", slot->micro_batch);
  }
  bool receives = way == FORWARD ? stage > 0 : stage + 1 < run->stages;
  return !receives || takes(run, stage, way == FORWARD ? PREVIOUS : NEXT, slot->micro_batch);
}

/* What the neighbour on that side has to do at once. */
static unsigned counterpart(unsigned transfers) {
  return ((transfers & REBUILD_TO_NEXT) != 0 ? (unsigned)REBUILD_FROM_PREVIOUS : 0U) |
         ((transfers & REBUILD_FROM_NEXT) != 0 ? (unsigned)REBUILD_TO_PREVIOUS : 0U) |
         ((transfers & REBUILD_TO_PREVIOUS) != 0 ? (unsigned)REBUILD_FROM_NEXT : 0U) |
         ((transfers & REBUILD_FROM_PREVIOUS) != 0 ? (unsigned)REBUILD_TO_NEXT : 0U);
}

static const struct rebuild_slot *slot_at(const struct runner *runner, size_t ahead) {
  return runner->at + ahead < runner->slots->count ? &runner->slots->items[runner->at + ahead] : NULL;
}

/* How far ahead of where it is the neighbour does it: each direction is a stream of its own, so of transfers that stand side
 * by side any may come first. -1: nowhere yet. */
static int find_counterpart(const struct runner *other, unsigned transfers) {
  const struct rebuild_slot *slot = slot_at(other, 0);
  for (int ahead = 0; slot != NULL && slot->transfers != 0; slot = slot_at(other, (size_t)++ahead)) {
    if (slot->transfers == counterpart(transfers)) {
      return ahead;
    }
  }
  return -1;
}

/* Out of the neighbour's list, which goes on as if it had been there first. */
static void take_out(struct runner *other, int ahead) {
  struct rebuild_slot *slots = other->slots->items + other->at, slot = slots[ahead];
  for (int i = ahead; i > 0; i--) {
    slots[i] = slots[i - 1];
  }
  slots[0] = slot;
  other->at++;
}

static void deliver(const struct run *run, int32_t from, unsigned transfers) {
  struct runner *runner = &run->runners[from];
  if ((transfers & REBUILD_TO_NEXT) != 0) {
    lumos_vector_push(&runner[1].from[PREVIOUS].arrived, runner->done[FORWARD]);
  }
  if ((transfers & REBUILD_TO_PREVIOUS) != 0) {
    lumos_vector_push(&runner[-1].from[NEXT].arrived, runner->done[BACK]);
  }
}

/* 1: done; 0: the neighbour is not there yet. */
static int do_transfer(const struct run *run, int32_t stage, const struct rebuild_slot *slot) {
  bool next = (slot->transfers & (REBUILD_TO_NEXT | REBUILD_FROM_NEXT)) != 0;
  int32_t neighbour = next ? stage + 1 : stage - 1;
  if (neighbour < 0 || neighbour >= run->stages) {
    return 0;
  }
  unsigned transfers = slot->transfers;
  int ahead = find_counterpart(&run->runners[neighbour], transfers);
  if (ahead < 0) {
    return 0;
  }
  deliver(run, stage, transfers);
  deliver(run, neighbour, counterpart(transfers));
  take_out(&run->runners[neighbour], ahead);
  run->runners[stage].at++;
  return 1;
}

/* As far as it comes. */
static bool advance(const struct run *run, int32_t stage, bool *moved) {
  struct runner *runner = &run->runners[stage];
  for (const struct rebuild_slot *slot = slot_at(runner, 0); slot != NULL; slot = slot_at(runner, 0)) {
    if (slot->transfers != 0 && do_transfer(run, stage, slot) == 0) {
      return true;
    }
    if (slot->transfers == 0) {
      if (!do_pass(run, stage, slot)) {
        return false;
      }
      runner->at++;
    }
    *moved = true;
  }
  return true;
}

static bool carry_out(const struct run *run) {
  for (bool moved = true; moved;) {
    moved = false;
    for (int32_t s = 0; s < run->stages; s++) {
      if (!advance(run, s, &moved)) {
        return false;
      }
    }
  }
  for (int32_t s = 0; s < run->stages; s++) {
    const struct rebuild_slot *slot = slot_at(&run->runners[s], 0);
    if (slot != NULL) {
      return refuse(run, s, "waits forever, for another stage, at micro-batch", slot->micro_batch);
    }
    for (int32_t m = 0; m < run->micro_batches; m++) {
      if (run->runners[s].ways[m] != 2) {
        return refuse(run, s, "leaves out a pass of micro-batch", m);
      }
    }
    for (int side = PREVIOUS; side <= NEXT; side++) {
      const struct inbox *inbox = &run->runners[s].from[side];
      if (inbox->taken != inbox->arrived.count) {
        return refuse(run, s, "receives what no pass takes, of micro-batch", inbox->arrived.items[inbox->taken]);
      }
    }
  }
  return true;
}

static void begin(struct runner *runner, const struct rebuild_slots *slots, int32_t micro_batches) {
  struct rebuild_slots *own = lumos_allocate_zeroed(1, sizeof *own);
  for (size_t i = 0; i < slots->count; i++) {
    lumos_vector_push(own, slots->items[i]);
  }
  runner->slots = own;
  runner->ways = lumos_allocate_zeroed((size_t)micro_batches, 1);
  runner->done[FORWARD] = runner->done[BACK] = -1;
}

static void end(struct runner *runner) {
  struct rebuild_slots *own = (struct rebuild_slots *)(uintptr_t)runner->slots;
  lumos_vector_free(own);
  free(own);
  free(runner->ways);
  lumos_vector_free(&runner->from[PREVIOUS].arrived);
  lumos_vector_free(&runner->from[NEXT].arrived);
}

bool rebuild_check_stages(const struct rebuild_slots *slots, int32_t stages, int32_t micro_batches,
                          enum lumos_schedule schedule, struct lumos_error *error) {
  struct run run = {lumos_allocate_zeroed((size_t)stages, sizeof *run.runners), stages, micro_batches, error};
  for (int32_t s = 0; s < stages; s++) {
    int32_t behind = stages - s;
    begin(&run.runners[s], &slots[s], micro_batches);
    run.runners[s].most = schedule == LUMOS_GPIPE || micro_batches < behind ? micro_batches : behind;
  }
  bool legal = carry_out(&run);
  for (int32_t s = 0; s < stages; s++) {
    end(&run.runners[s]);
  }
  free(run.runners);
  return legal;
}

/* ---- plans ---- */

/* What the items of a rank's step come to. */
static void read_slots(const struct rebuild_templates *templates, const struct rebuild_rank *rank, int32_t step,
                       struct rebuild_slots *slots) {
  *slots = (struct rebuild_slots){0};
  for (size_t i = 0; i < rank->items.count; i++) {
    const struct rebuild_item *item = &rank->items.items[i];
    const struct rebuild_block *block = &templates->blocks->items.items[item->like];
    if (item->step != step || item->micro_batch == LUMOS_ABSENT_INT ||
        (block->phase != LUMOS_FORWARD && block->phase != LUMOS_BACKWARD)) {
      continue;
    }
    unsigned transfers = block->transfers ? rebuild_exchange_of_block(templates->blocks, item->like) : 0;
    struct rebuild_slot slot = {block->phase, (uint8_t)transfers, item->micro_batch};
    const struct rebuild_slot *last = slots->count == 0 ? NULL : &slots->items[slots->count - 1];
    bool more = last != NULL && transfers == 0 && last->transfers == 0 && last->phase == slot.phase &&
                last->micro_batch == slot.micro_batch;
    if (!more) {
      lumos_vector_push(slots, slot);
    }
  }
}

/* Sums of gradients stand between the pieces of layers; what shards of a layer tell each other is none. */
static bool sums_up(const struct rebuild_blocks *blocks, const struct rebuild_block *block) {
  const struct lumos_job *job = blocks->job;
  for (uint32_t d = 0; d < block->device_count && block->part == 0 && !block->transfers; d++) {
    const struct lumos_task *task = &job->tasks.items[blocks->devices[block->device_first + d]];
    lumos_string_id group = lumos_detail_of(job, task)->comm.group;
    bool shards = false;
    for (size_t g = 0; g < job->groups.count; g++) {
      shards = shards || (job->groups.items[g].id == group && job->groups.items[g].role == LUMOS_TENSOR);
    }
    if (task->kind == LUMOS_COLLECTIVE && !shards) {
      return true;
    }
  }
  return false;
}

/* In one pass back, or in every one. */
static bool check_gradients(const struct rebuild_templates *templates, const struct rebuild_rank *rank, int32_t step,
                            int32_t micro_batches, struct lumos_error *error) {
  uint8_t *summed = lumos_allocate_zeroed((size_t)micro_batches, 1);
  int32_t count = 0;
  for (size_t i = 0; i < rank->items.count; i++) {
    const struct rebuild_item *item = &rank->items.items[i];
    const struct rebuild_block *block = &templates->blocks->items.items[item->like];
    bool here = item->step == step && block->phase == LUMOS_BACKWARD && item->micro_batch >= 0 &&
                item->micro_batch < micro_batches && sums_up(templates->blocks, block);
    if (here && !summed[item->micro_batch]) {
      summed[item->micro_batch] = 1;
      count++;
    }
  }
  free(summed);
  return count <= 1 || count == micro_batches ||
         lumos_fail(error, "the plan is not legal: rank %d sums up gradients in %d of %d micro-batches", rank->number,
                    count, micro_batches);
}

static const struct rebuild_rank *rank_at(const struct rebuild_plan *plan, int32_t stage,
                                          const struct lumos_parallel *column) {
  for (size_t r = 0; r < plan->ranks.count; r++) {
    const struct lumos_parallel *at = &plan->ranks.items[r].at;
    if (at->pp == stage && at->tp == column->tp && at->dp == column->dp) {
      return &plan->ranks.items[r];
    }
  }
  return NULL;
}

static bool check_pipeline(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                           const struct rebuild_rank *first, int32_t step, enum lumos_schedule schedule,
                           struct lumos_error *error) {
  int32_t stages = plan->model.sizes.pp, s = 0;
  struct rebuild_slots *slots = lumos_allocate_zeroed((size_t)stages, sizeof *slots);
  bool legal = true;
  for (; s < stages && legal; s++) {
    const struct rebuild_rank *rank = rank_at(plan, s, &first->at);
    legal = rank != NULL ? check_gradients(templates, rank, step, plan->model.micro_batches, error)
                         : lumos_fail(error, "the plan is not legal: stage %d is missing", s);
    if (legal) {
      read_slots(templates, rank, step, &slots[s]);
    }
  }
  legal = legal && rebuild_check_stages(slots, stages, plan->model.micro_batches, schedule, error);
  while (s-- > 0) {
    lumos_vector_free(&slots[s]);
  }
  free(slots);
  return legal;
}

bool rebuild_check_plan(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                        enum lumos_schedule schedule, struct lumos_error *error) {
  for (size_t r = 0; r < plan->ranks.count; r++) {
    const struct rebuild_rank *rank = &plan->ranks.items[r];
    int32_t step = rank->items.count == 0 ? 0 : rank->items.items[0].step; /* all steps are planned alike */
    if (rank->at.pp == 0 && !check_pipeline(plan, templates, rank, step, schedule, error)) {
      return false;
    }
  }
  return true;
}
