/* Passes first, then what is sent and received between them. The orders are those of Megatron-LM, and of the paper on
 * zero-bubble pipelines (Qi et al., 2023) for ZB-H1. */
#include "rebuild/schedule.h"

struct maker {
  const struct rebuild_pipeline *pipeline;
  int32_t stage;
  struct rebuild_slots passes;
  struct rebuild_slots *slots;
};

/* ---- passes ---- */

static void add_pass(struct maker *maker, uint8_t phase, int32_t micro_batch, int32_t chunk) {
  lumos_vector_push(&maker->passes, ((struct rebuild_slot){phase, 0, micro_batch, chunk}));
}

/* The n-th of all forward, or backward, passes of a stage: as many micro-batches as there are stages go through one
 * chunk, then through the next; backward from the last chunk on. */
static void add_nth(struct maker *maker, uint8_t phase, int32_t n) {
  int32_t stages = maker->pipeline->stages, chunks = maker->pipeline->chunks, turn = stages * chunks;
  int32_t chunk = n % turn / stages;
  if (chunks == 1) {
    add_pass(maker, phase, n, 0);
  } else {
    add_pass(maker, phase, n / turn * stages + n % stages, phase == LUMOS_FORWARD ? chunk : chunks - 1 - chunk);
  }
}

/* How many passes go forward before the first goes back. */
static int32_t count_ahead(const struct maker *maker, int32_t passes) {
  const struct rebuild_pipeline *pipeline = maker->pipeline;
  int32_t behind = pipeline->stages - 1 - maker->stage;
  int32_t ahead =
      pipeline->schedule == LUMOS_INTERLEAVED ? 2 * behind + (pipeline->chunks - 1) * pipeline->stages : behind;
  return pipeline->schedule == LUMOS_GPIPE || ahead > passes ? passes : ahead;
}

/* Gradients of weights that were put off by `delay` micro-batches. */
static void add_passes(struct maker *maker) {
  int32_t passes = maker->pipeline->micro_batches * maker->pipeline->chunks, delay = maker->stage;
  int32_t ahead = count_ahead(maker, passes);
  bool apart = maker->pipeline->schedule == LUMOS_ZB_H1;
  for (int32_t i = 0; i < ahead; i++) {
    add_nth(maker, LUMOS_FORWARD, i);
  }
  for (int32_t i = 0; i < passes; i++) {
    if (ahead + i < passes) {
      add_nth(maker, LUMOS_FORWARD, ahead + i);
    }
    add_nth(maker, LUMOS_BACKWARD, i);
    if (apart && i >= delay) {
      add_pass(maker, LUMOS_WEIGHT, i - delay, 0);
    }
  }
  for (int32_t i = passes > delay ? passes - delay : 0; apart && i < passes; i++) {
    add_pass(maker, LUMOS_WEIGHT, i, 0);
  }
}

/* ---- what is between them ---- */

/* Is it the stage and chunk that the model begins, or ends, with? */
static bool is_end(const struct rebuild_pipeline *pipeline, int32_t stage, int32_t chunk, bool last) {
  return stage == (last ? pipeline->stages - 1 : 0) && chunk == (last ? pipeline->chunks - 1 : 0);
}

bool rebuild_receives(const struct rebuild_pipeline *pipeline, int32_t stage, uint8_t phase, int32_t chunk) {
  return phase != LUMOS_WEIGHT && !is_end(pipeline, stage, chunk, phase == LUMOS_BACKWARD);
}

bool rebuild_sends(const struct rebuild_pipeline *pipeline, int32_t stage, uint8_t phase, int32_t chunk) {
  return phase != LUMOS_WEIGHT && !is_end(pipeline, stage, chunk, phase == LUMOS_FORWARD);
}

/* What pass `at` sends or receives; 0 beyond the ends. */
static unsigned part(const struct maker *maker, size_t at, bool sends) {
  if (at >= maker->passes.count) {
    return 0;
  }
  const struct rebuild_slot *pass = &maker->passes.items[at];
  bool forward = pass->phase == LUMOS_FORWARD;
  bool there = sends ? rebuild_sends(maker->pipeline, maker->stage, pass->phase, pass->chunk)
                     : rebuild_receives(maker->pipeline, maker->stage, pass->phase, pass->chunk);
  unsigned next = sends ? REBUILD_TO_NEXT : REBUILD_FROM_NEXT;
  unsigned previous = sends ? REBUILD_TO_PREVIOUS : REBUILD_FROM_PREVIOUS;
  return !there ? 0 : sends == forward ? next : previous;
}

static void add_transfer(struct maker *maker, size_t pass, unsigned transfers) {
  if (transfers != 0 && pass < maker->passes.count) {
    struct rebuild_slot slot = maker->passes.items[pass];
    slot.transfers = (uint8_t)transfers;
    lumos_vector_push(maker->slots, slot);
  }
}

/* The first pass from `from` on of that phase; 0: of any but the weights'. */
static size_t next_pass(const struct maker *maker, size_t from, uint8_t phase) {
  while (from < maker->passes.count &&
         (phase == 0 ? maker->passes.items[from].phase == LUMOS_WEIGHT : maker->passes.items[from].phase != phase)) {
    from++;
  }
  return from;
}

/* Between a pass and the next that is not the weights'. What goes out and what comes in is one where forward and
 * backward passes take turns; weights run beside it. */
static void exchange_behind(struct maker *maker, size_t pass) {
  size_t next = next_pass(maker, pass + 1, 0);
  unsigned out = part(maker, pass, true), in = part(maker, next, false);
  bool turns = next < maker->passes.count && maker->passes.items[pass].phase != maker->passes.items[next].phase;
  bool all_ahead = count_ahead(maker, maker->pipeline->micro_batches) == maker->pipeline->micro_batches;
  if (maker->pipeline->joint && turns && !all_ahead && out != 0 && in != 0) {
    add_transfer(maker, pass, out | in);
  } else {
    add_transfer(maker, pass, out);
    add_transfer(maker, next, in);
  }
}

/* One by one, interleaved: each direction runs beside the passes of the other. */
static void exchange_apart(struct maker *maker, size_t pass) {
  size_t back = next_pass(maker, 0, LUMOS_BACKWARD), next = next_pass(maker, pass + 1, maker->passes.items[pass].phase);
  add_transfer(maker, pass, part(maker, pass, true));
  if (pass + 1 == back) {
    add_transfer(maker, back, part(maker, back, false));
  }
  add_transfer(maker, next, part(maker, next, false));
}

/* Where the unit that begins there ends: a pass forward and one back that take turns are one. */
static size_t end_of_unit(const struct maker *maker, size_t begin) {
  const struct rebuild_slot *passes = maker->passes.items;
  bool turns = next_pass(maker, 0, LUMOS_BACKWARD) < maker->passes.count / 2;
  bool two = turns && begin + 1 < maker->passes.count && passes[begin].phase == LUMOS_FORWARD &&
             passes[begin + 1].phase == LUMOS_BACKWARD;
  return begin + 1 + two;
}

/* All that goes out of a unit, and into the next, is one. */
static void exchange_units(struct maker *maker, size_t begin, size_t end) {
  unsigned transfers = 0;
  for (size_t i = begin; i < end; i++) {
    transfers |= part(maker, i, true);
  }
  for (size_t i = end; i < maker->passes.count && i < end_of_unit(maker, end); i++) {
    transfers |= part(maker, i, false);
  }
  add_transfer(maker, begin < end ? begin : end, transfers);
}

static void add_slots_apart(struct maker *maker) {
  add_transfer(maker, 0, part(maker, 0, false));
  for (size_t i = 0; i < maker->passes.count; i++) {
    lumos_vector_push(maker->slots, maker->passes.items[i]);
    if (maker->pipeline->schedule == LUMOS_INTERLEAVED) {
      exchange_apart(maker, i);
    } else if (maker->passes.items[i].phase != LUMOS_WEIGHT) {
      exchange_behind(maker, i);
    }
  }
}

static void add_slots_by_units(struct maker *maker) {
  exchange_units(maker, 0, 0);
  for (size_t begin = 0, end; begin < maker->passes.count; begin = end) {
    end = end_of_unit(maker, begin);
    for (size_t i = begin; i < end; i++) {
      lumos_vector_push(maker->slots, maker->passes.items[i]);
    }
    exchange_units(maker, begin, end);
  }
}

static void leave_out_ways_back(struct rebuild_slots *passes) {
  size_t kept = 0;
  for (size_t i = 0; i < passes->count; i++) {
    if (passes->items[i].phase == LUMOS_FORWARD) {
      passes->items[kept++] = passes->items[i];
    }
  }
  passes->count = kept;
}

void rebuild_schedule_make(struct rebuild_slots *slots, const struct rebuild_pipeline *pipeline, int32_t stage) {
  struct maker maker = {.pipeline = pipeline, .stage = stage, .slots = slots};
  slots->count = 0;
  add_passes(&maker);
  if (pipeline->inference) {
    leave_out_ways_back(&maker.passes);
  }
  if (pipeline->schedule == LUMOS_INTERLEAVED && pipeline->joint) {
    add_slots_by_units(&maker);
  } else {
    add_slots_apart(&maker);
  }
  lumos_vector_free(&maker.passes);
}
