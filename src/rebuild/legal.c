#include "rebuild/legal.h"

#include <stdlib.h>

/* ---- stages ---- */

enum way { FORWARD, BACK };
enum side { PREVIOUS, NEXT };
enum { STREAMS = 4 };

struct pass { /* which one, of its way */
  int32_t micro_batch, chunk;
};
LUMOS_VECTOR_TYPE(passes, struct pass);

struct inbox { /* what a stage received from one side: the passes that made it, in order */
  struct passes arrived;
  size_t taken; /* by passes */
};

struct kernel {           /* that sends or receives */
  unsigned pending;       /* enum rebuild_transfer: what is not done yet */
  struct pass carries[2]; /* by way: what it sends */
};
LUMOS_VECTOR_TYPE(kernels, struct kernel);

struct stream { /* kernels in order; those before `at` are done */
  struct kernels kernels;
  size_t at;
};

struct runner { /* a stage that is carried out */
  const struct rebuild_slots *slots;
  size_t at;
  int32_t held, most;        /* passes that went forward and not back; how many may be */
  int32_t put_off, most_off; /* that went back, and whose weights' gradients are left; how many may be */
  struct inbox from[2];      /* by side */
  struct pass done[2];       /* by way: the last */
  struct stream streams[STREAMS];
  uint8_t *ways; /* by chunk, then micro-batch: how far it has gone: 1 forward, 2 back, 3 weights */
};

struct run {
  struct runner *runners;
  const struct rebuild_pipeline *of;
  bool joint; /* all transfers of a stage are on one stream */
  struct lumos_error *error;
};

static bool refuse(const struct run *run, int32_t stage, const char *what, int32_t micro_batch) {
  return lumos_fail(run->error, "the plan is not legal: stage %d %s %d", stage, what, micro_batch);
}

static bool has_slot_ahead(const struct runner *runner) { return runner->at < runner->slots->count; }

/* ---- transfers ---- */

/* Each direction has a stream of its own, but where some kernel does several. */
static struct stream *stream_for(const struct run *run, struct runner *runner, unsigned transfers) {
  return &runner->streams[run->joint                                 ? 0
                          : (transfers & REBUILD_FROM_NEXT) != 0     ? 1
                          : (transfers & REBUILD_TO_PREVIOUS) != 0   ? 2
                          : (transfers & REBUILD_FROM_PREVIOUS) != 0 ? 3
                                                                     : 0];
}

static void post(const struct run *run, struct runner *runner, const struct rebuild_slot *slot) {
  struct kernel kernel = {slot->transfers, {runner->done[FORWARD], runner->done[BACK]}};
  lumos_vector_push(&stream_for(run, runner, slot->transfers)->kernels, kernel);
}

/* The kernel of a stage that has its turn on a stream and still has that to do; NULL: there is none. */
static struct kernel *find_turn(struct runner *runner, unsigned transfer) {
  for (int s = 0; s < STREAMS; s++) {
    struct stream *stream = &runner->streams[s];
    if (stream->at < stream->kernels.count && (stream->kernels.items[stream->at].pending & transfer) != 0) {
      return &stream->kernels.items[stream->at];
    }
  }
  return NULL;
}

static void end_kernels(struct runner *runner) {
  for (int s = 0; s < STREAMS; s++) {
    struct stream *stream = &runner->streams[s];
    while (stream->at < stream->kernels.count && stream->kernels.items[stream->at].pending == 0) {
      stream->at++;
    }
  }
}

/* From a stage to its neighbor, if both have their turn. */
static bool transfer_one(const struct run *run, int32_t stage, enum way way) {
  int32_t stages = run->of->stages, other = (stage + (way == FORWARD ? 1 : stages - 1)) % stages;
  unsigned out = way == FORWARD ? REBUILD_TO_NEXT : REBUILD_TO_PREVIOUS;
  unsigned in = way == FORWARD ? REBUILD_FROM_PREVIOUS : REBUILD_FROM_NEXT;
  struct kernel *from = find_turn(&run->runners[stage], out), *to = find_turn(&run->runners[other], in);
  if (from == NULL || to == NULL) {
    return false;
  }
  lumos_vector_push(&run->runners[other].from[way == FORWARD ? PREVIOUS : NEXT].arrived, from->carries[way]);
  from->pending &= ~out;
  to->pending &= ~in;
  end_kernels(&run->runners[stage]);
  end_kernels(&run->runners[other]);
  return true;
}

static bool transfer_all(const struct run *run) {
  bool moved = false;
  for (int32_t s = 0; s < run->of->stages; s++) {
    while (transfer_one(run, s, FORWARD) || transfer_one(run, s, BACK)) {
      moved = true;
    }
  }
  return moved;
}

/* ---- passes ---- */

/* 1: it has what it needs; 0: not yet; -1: it gets something else. */
static int take(const struct run *run, int32_t stage, const struct rebuild_slot *slot) {
  bool forward = slot->phase == LUMOS_FORWARD;
  int32_t last = run->of->stages - 1, chunk = slot->chunk; /* of the pass that made it */
  if (slot->phase == LUMOS_WEIGHT) {
    return 1;
  }
  chunk += forward && stage == 0 ? -1 : !forward && stage == last ? 1 : 0;
  if (chunk < 0 || chunk >= run->of->chunks) {
    return 1; /* the model begins, or ends, here */
  }
  struct inbox *inbox = &run->runners[stage].from[forward ? PREVIOUS : NEXT];
  if (inbox->taken == inbox->arrived.count) {
    return 0;
  }
  const struct pass *first = &inbox->arrived.items[inbox->taken++];
  return first->micro_batch == slot->micro_batch && first->chunk == chunk ? 1 : -1;
}

/* Streams are waited for as a whole, but by gradients of weights. */
static bool waits(const struct run *run, const struct runner *runner, const struct rebuild_slot *slot) {
  const struct stream *stream = &runner->streams[0];
  return run->joint && slot->phase != LUMOS_WEIGHT && stream->at < stream->kernels.count;
}

static bool count_pass(const struct run *run, int32_t stage, const struct rebuild_slot *slot) {
  struct runner *runner = &run->runners[stage];
  uint8_t before = slot->phase == LUMOS_FORWARD ? 0 : slot->phase == LUMOS_BACKWARD ? 1 : 2;
  if (slot->micro_batch < 0 || slot->micro_batch >= run->of->micro_batches || slot->chunk < 0 ||
      slot->chunk >= run->of->chunks) {
    return refuse(run, stage, "has a pass that no schedule has, of micro-batch", slot->micro_batch);
  }
  uint8_t *way = &runner->ways[slot->chunk * run->of->micro_batches + slot->micro_batch];
  if (*way != before) {
    return refuse(run, stage, "goes out of turn with micro-batch", slot->micro_batch);
  }
  ++*way;
  runner->held += before == 0 ? 1 : before == 1 ? -1 : 0;
  runner->put_off += before == 1 ? 1 : before == 2 ? -1 : 0;
  bool few = run->of->inference || runner->held <= runner->most;
  few = few && (run->of->schedule != LUMOS_ZB_H1 || runner->put_off <= runner->most_off);
  return few || refuse(run, stage, "holds more micro-batches than its schedule says at micro-batch", slot->micro_batch);
}

/* False: it is refused. `*done`: it need not wait. */
static bool do_pass(const struct run *run, int32_t stage, const struct rebuild_slot *slot, bool *done) {
  int taken = waits(run, &run->runners[stage], slot) ? 0 : take(run, stage, slot);
  *done = taken > 0;
  if (taken < 0) {
    return refuse(run, stage, "lacks what it needs for micro-batch", slot->micro_batch);
  }
  if (*done && slot->phase != LUMOS_WEIGHT) {
    run->runners[stage].done[slot->phase == LUMOS_FORWARD ? FORWARD : BACK] =
        (struct pass){slot->micro_batch, slot->chunk};
  }
  return !*done || count_pass(run, stage, slot);
}

/* As far as it comes. */
static bool advance(const struct run *run, int32_t stage, bool *moved) {
  struct runner *runner = &run->runners[stage];
  while (has_slot_ahead(runner)) {
    const struct rebuild_slot *slot = &runner->slots->items[runner->at];
    bool done = true;
    if (slot->transfers != 0) {
      post(run, runner, slot);
    } else if (!do_pass(run, stage, slot, &done)) {
      return false;
    }
    if (!done) {
      return true;
    }
    runner->at++;
    *moved = true;
  }
  return true;
}

static bool check_end(const struct run *run, int32_t stage) {
  const struct runner *runner = &run->runners[stage];
  uint8_t all = run->of->inference ? 1 : run->of->schedule == LUMOS_ZB_H1 ? 3 : 2;
  if (has_slot_ahead(runner)) {
    return refuse(run, stage, "waits forever, for another stage, at micro-batch",
                  runner->slots->items[runner->at].micro_batch);
  }
  for (int s = 0; s < STREAMS; s++) {
    if (runner->streams[s].at < runner->streams[s].kernels.count) {
      return refuse(run, stage, "sends or receives what another stage does not, behind micro-batch",
                    runner->streams[s].kernels.items[runner->streams[s].at].carries[FORWARD].micro_batch);
    }
  }
  for (int32_t i = 0; i < run->of->chunks * run->of->micro_batches; i++) {
    if (runner->ways[i] != all) {
      return refuse(run, stage, "leaves out a pass of micro-batch", i % run->of->micro_batches);
    }
  }
  for (int side = PREVIOUS; side <= NEXT; side++) {
    const struct inbox *inbox = &runner->from[side];
    if (inbox->taken != inbox->arrived.count) {
      return refuse(run, stage, "receives what no pass takes, of micro-batch",
                    inbox->arrived.items[inbox->taken].micro_batch);
    }
  }
  return true;
}

static bool carry_out(const struct run *run) {
  for (bool moved = true; moved;) {
    moved = false;
    for (int32_t s = 0; s < run->of->stages; s++) {
      if (!advance(run, s, &moved)) {
        return false;
      }
    }
    moved = transfer_all(run) || moved;
  }
  for (int32_t s = 0; s < run->of->stages; s++) {
    if (!check_end(run, s)) {
      return false;
    }
  }
  return true;
}

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* How many passes of a stage may have gone forward and not back. */
static int32_t find_most(const struct rebuild_pipeline *of, int32_t stage) {
  int32_t from_here = of->stages - stage, all = of->micro_batches * of->chunks;
  return of->schedule == LUMOS_GPIPE         ? all
         : of->schedule == LUMOS_INTERLEAVED ? smaller(all, 2 * from_here - 1 + (of->chunks - 1) * of->stages)
                                             : smaller(all, from_here);
}

static void begin(struct run *run, int32_t stage, const struct rebuild_slots *slots) {
  struct runner *runner = &run->runners[stage];
  runner->slots = slots;
  runner->most = find_most(run->of, stage);
  runner->most_off = stage + 1;
  runner->ways = lumos_allocate_zeroed((size_t)run->of->chunks * (size_t)run->of->micro_batches, 1);
  runner->done[FORWARD] = runner->done[BACK] = (struct pass){-1, -1};
  for (size_t i = 0; i < slots->count; i++) {
    unsigned transfers = slots->items[i].transfers;
    run->joint = run->joint || (transfers & (transfers - 1)) != 0;
  }
}

static void end(struct runner *runner) {
  free(runner->ways);
  for (int side = PREVIOUS; side <= NEXT; side++) {
    lumos_vector_free(&runner->from[side].arrived);
  }
  for (int s = 0; s < STREAMS; s++) {
    lumos_vector_free(&runner->streams[s].kernels);
  }
}

bool rebuild_check_stages(const struct rebuild_slots *slots, const struct rebuild_pipeline *pipeline,
                          struct lumos_error *error) {
  struct run run = {lumos_allocate_zeroed((size_t)pipeline->stages, sizeof *run.runners), pipeline, false, error};
  for (int32_t s = 0; s < pipeline->stages; s++) {
    begin(&run, s, &slots[s]);
  }
  bool legal = carry_out(&run);
  for (int32_t s = 0; s < pipeline->stages; s++) {
    end(&run.runners[s]);
  }
  free(run.runners);
  return legal;
}

/* ---- plans ---- */

/* What the items of a rank's step come to. */
static void read_slots(const struct rebuild_rank *rank, int32_t step, struct rebuild_slots *slots) {
  *slots = (struct rebuild_slots){0};
  for (size_t i = 0; i < rank->items.count; i++) {
    const struct rebuild_item *item = &rank->items.items[i];
    bool of_pass = item->phase >= LUMOS_FORWARD && item->phase <= LUMOS_WEIGHT;
    if (item->step != step || item->micro_batch == LUMOS_ABSENT_INT || !of_pass) {
      continue;
    }
    struct rebuild_slot slot = {item->phase, item->exchange, item->micro_batch, item->chunk};
    const struct rebuild_slot *last = slots->count == 0 ? NULL : &slots->items[slots->count - 1];
    bool more = last != NULL && slot.transfers == 0 && last->transfers == 0 && last->phase == slot.phase &&
                last->micro_batch == slot.micro_batch && last->chunk == slot.chunk;
    if (!more) {
      lumos_vector_push(slots, slot);
    }
  }
}

/* Sums of gradients stand between the pieces of layers; what shards of a layer, of a sequence, or of its experts tell
 * each other is none. */
static bool sums_up(const struct rebuild_blocks *blocks, const struct rebuild_block *block) {
  const struct lumos_job *job = blocks->job;
  for (uint32_t d = 0; d < block->device_count && block->part == 0 && !block->transfers; d++) {
    const struct lumos_task *task = &job->tasks.items[blocks->devices[block->device_first + d]];
    lumos_string_id group = lumos_detail_of(job, task)->comm.group;
    bool shards = false;
    for (size_t g = 0; g < job->groups.count; g++) {
      uint8_t role = job->groups.items[g].role;
      shards = shards || (job->groups.items[g].id == group &&
                          (role == LUMOS_TENSOR || role == LUMOS_CONTEXT || role == LUMOS_EXPERT));
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
    if (at->pp == stage && at->tp == column->tp && at->dp == column->dp && at->cp == column->cp) {
      return &plan->ranks.items[r];
    }
  }
  return NULL;
}

static bool check_pipeline(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                           const struct rebuild_rank *first, int32_t step, struct lumos_error *error) {
  int32_t stages = plan->pipeline.stages, s = 0;
  struct rebuild_slots *slots = lumos_allocate_zeroed((size_t)stages, sizeof *slots);
  bool legal = true;
  for (; s < stages && legal; s++) {
    const struct rebuild_rank *rank = rank_at(plan, s, &first->at);
    legal = rank != NULL ? check_gradients(templates, rank, step, plan->model.micro_batches, error)
                         : lumos_fail(error, "the plan is not legal: stage %d is missing", s);
    if (legal) {
      read_slots(rank, step, &slots[s]);
    }
  }
  legal = legal && rebuild_check_stages(slots, &plan->pipeline, error);
  while (s-- > 0) {
    lumos_vector_free(&slots[s]);
  }
  free(slots);
  return legal;
}

bool rebuild_check_plan(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                        struct lumos_error *error) {
  for (size_t r = 0; r < plan->ranks.count; r++) {
    const struct rebuild_rank *rank = &plan->ranks.items[r];
    int32_t step = rank->items.count == 0 ? 0 : rank->items.items[0].step; /* all steps are planned alike */
    if (rank->at.pp == 0 && !check_pipeline(plan, templates, rank, step, error)) {
      return false;
    }
  }
  return true;
}
