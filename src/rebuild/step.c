#include "rebuild/step.h"

#include "program/sharded.h"
#include <string.h>

/* ---- which recorded pass is a pattern ---- */

enum end { FIRST = 1, LAST = 2 }; /* of the model, added up */
enum { NOTHING_LEFT = 1000 };     /* millionths of a sum: what its bytes are rounded to; chosen */

static unsigned ends_of(const struct rebuild_pipeline *pipeline, int32_t stage, int32_t chunk) {
  return (stage == 0 && chunk == 0 ? FIRST : 0U) |
         (stage == pipeline->stages - 1 && chunk == pipeline->chunks - 1 ? LAST : 0U);
}

struct pattern {
  const struct rebuild_passes *passes; /* of a recorded rank */
  int32_t chunk;
  unsigned ends; /* that it has */
};

static struct pattern pattern_at(const struct rebuild_recorded *recorded, uint32_t rank, int32_t chunk) {
  int32_t stage = rebuild_coordinates(&recorded->job->ranks.items[rank]).pp;
  return (struct pattern){&recorded->passes[rank], chunk, ends_of(&recorded->pipeline, stage, chunk)};
}

/* Ends are like ends. What is between is like what was recorded between, on that rank or on another, or like what else
 * the rank has. */
static struct pattern find_pattern(const struct rebuild_recorded *recorded, uint32_t rank, unsigned ends) {
  uint32_t ranks = (uint32_t)recorded->job->ranks.count;
  int32_t chunks = recorded->pipeline.chunks;
  for (uint32_t i = 0; i < ranks && ends == 0; i++) {
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
      struct pattern pattern = pattern_at(recorded, (rank + i) % ranks, chunk);
      if (pattern.ends == 0 && pattern.passes->items.count > 0) {
        return pattern;
      }
    }
  }
  return pattern_at(recorded, rank, ends == LAST ? chunks - 1 : 0);
}

/* Of `count` in a row the one that is like number `number` of `wanted`: ends like ends; `otherwise` where there is none
 * between. */
static int32_t place_like(int32_t number, int32_t wanted, int32_t count, int32_t otherwise) {
  if (number == 0) {
    return 0;
  }
  if (number == wanted - 1) {
    return count - 1;
  }
  return count > 2 ? 1 + (number - 1) % (count - 2) : otherwise;
}

/* How many of those before it are like the same one. */
static uint32_t repeats_of(int32_t number, int32_t wanted, int32_t count, int32_t otherwise) {
  bool last = number == wanted - 1;
  if (number == 0 || (last && count > 1 && (count > 2 || otherwise == 0))) {
    return 0;
  }
  return (uint32_t)(count > 2 ? (number - 1) / (count - 2) : otherwise == 0 ? number : number - 1);
}

/* What is written out of other recorded steps: were the same instance repeated, what it did by chance would add up
 * instead of evening out. */
static struct rebuild_writer turned(const struct rebuild_writer *writer, uint32_t turns) {
  struct rebuild_writer other = *writer;
  other.turns += turns;
  return other;
}

/* Between two recorded micro-batches: weights are converted in the first pass forward, so the others are like the last.
 * Back, gradients are added to those that are there in all but the first; but in the last they are summed up over
 * replicas, where there are several: then those between are like the first, for what runs beside sums takes longer,
 * unless adding takes long. */
static int32_t micro_batch_between(const struct rebuild_writer *writer, uint8_t phase) {
  bool sums = phase != LUMOS_FORWARD && writer->recorded->sums && !writer->recorded->adds;
  return sums ? 0 : writer->recorded->pipeline.micro_batches - 1;
}

static int32_t micro_batch_like(const struct rebuild_writer *writer, uint8_t phase, int32_t micro_batch) {
  int32_t recorded = writer->recorded->pipeline.micro_batches, built = writer->to->micro_batches;
  if (built == 1) {
    return phase == LUMOS_FORWARD || !writer->recorded->sums ? 0 : recorded - 1;
  }
  return place_like(micro_batch, built, recorded, micro_batch_between(writer, phase));
}

static uint32_t micro_batch_repeats(const struct rebuild_writer *writer, uint8_t phase, int32_t micro_batch) {
  return repeats_of(micro_batch, writer->to->micro_batches, writer->recorded->pipeline.micro_batches,
                    micro_batch_between(writer, phase));
}

/* ---- passes ---- */

static void add(const struct rebuild_writer *writer, uint32_t block, const struct rebuild_slot *slot, int32_t layer) {
  rebuild_plan_add(writer->rank, (struct rebuild_item){.like = block,
                                                       .turns = writer->turns,
                                                       .step = writer->step,
                                                       .micro_batch = slot->micro_batch,
                                                       .layer = layer,
                                                       .chunk = slot->chunk,
                                                       .phase = slot->phase,
                                                       .exchange = slot->transfers});
}

/* How much of a sum is left without the gradient of weights that are summed elsewhere, in millionths. */
static int32_t share_left(const struct rebuild_writer *writer, uint32_t sum) {
  const struct lumos_job *job = writer->recorded->job;
  int64_t bytes = sum == LUMOS_NONE ? 0 : lumos_detail_of(job, &job->tasks.items[sum])->comm.bytes;
  if (writer->summed_elsewhere <= 0 || bytes < writer->summed_elsewhere) {
    return LUMOS_WHOLE_SHARE;
  }
  return (int32_t)((__int128)(bytes - writer->summed_elsewhere) * LUMOS_WHOLE_SHARE / bytes);
}

static bool copies_only(const struct rebuild_blocks *blocks, const struct rebuild_block *block) {
  bool copies = block->device_count > 0;
  for (uint32_t i = 0; i < block->device_count; i++) {
    copies = copies && lumos_is_copy(blocks->job->tasks.items[blocks->devices[block->device_first + i]].kind);
  }
  return copies;
}

/* Which blocks of a backward pass are taken: gradients of weights, and their sums over replicas, may be put off. */
enum take { ALL, INPUTS, WEIGHTS };

static enum take take_for(const struct rebuild_writer *writer, uint8_t phase) {
  bool part = writer->to->schedule == LUMOS_ZB_H1 && !writer->recorded->apart;
  return !part || phase == LUMOS_FORWARD ? ALL : phase == LUMOS_BACKWARD ? INPUTS : WEIGHTS;
}

/* In which recorded phase an example of a pass is found. */
static uint8_t recorded_phase(const struct rebuild_writer *writer, uint8_t phase) {
  return phase == LUMOS_WEIGHT && !writer->recorded->apart ? LUMOS_BACKWARD : phase;
}

/* Where what is built is like the last recorded pass back, gradients are summed up in the last that is built alone. A
 * sum of which next to nothing is left is not done. */
static void add_block(const struct rebuild_writer *writer, uint32_t b, const struct rebuild_slot *slot, int32_t layer) {
  const struct rebuild_blocks *blocks = writer->recorded->blocks;
  const struct rebuild_block *block = &blocks->items.items[b];
  bool last = slot->micro_batch == writer->to->micro_batches - 1 ||
              (writer->recorded->pipeline.micro_batches > 1 && !writer->recorded->adds);
  uint32_t sum = rebuild_block_sum(blocks, block);
  bool sums = sum != LUMOS_NONE;
  int32_t left = share_left(writer, sum);
  enum take take = take_for(writer, slot->phase);
  if ((last || !sums) && left > NOTHING_LEFT && (take == ALL || (take == WEIGHTS) == (block->weights || sums))) {
    add(writer, b, slot, block->layer != LUMOS_ABSENT_INT ? layer : LUMOS_ABSENT_INT);
    struct rebuild_item *item = &writer->rank->items.items[writer->rank->items.count - 1];
    item->kernels = item->transfers = left == LUMOS_WHOLE_SHARE ? 0 : left;
  }
}

static bool multiplies(const struct rebuild_blocks *blocks, const struct rebuild_block *block) {
  bool multiplies = false;
  for (uint32_t i = 0; i < block->device_count; i++) {
    multiplies = multiplies || rebuild_is_product(blocks->job, blocks->devices[block->device_first + i]);
  }
  return multiplies;
}

/* Blocks of what was put off, from `from` up to the next that multiplies but the first. */
static uint32_t end_of_product(const struct rebuild_blocks *blocks, const struct rebuild_passes *passes,
                               const struct rebuild_piece *piece, uint32_t from) {
  for (bool begun = false; from < piece->count; from++) {
    const struct rebuild_block *block = &blocks->items.items[passes->blocks.items[piece->first + from]];
    if (multiplies(blocks, block)) {
      if (begun) {
        break;
      }
      begun = true;
    }
  }
  return from;
}

/* Of a rank's pass through one part of the model. */
struct source {
  const struct rebuild_passes *passes;
  const struct rebuild_piece *piece;   /* NULL: it has none */
  const struct rebuild_piece *put_off; /* what was put off of it; NULL: nothing was */
  const struct rebuild_piece *forward; /* the same layer forward, to be computed again; NULL: it is not */
};

/* Blocks of a layer forward once more, on the thread that goes back through it. */
static void add_again(const struct rebuild_writer *writer, const struct source *source, const struct rebuild_slot *slot,
                      int32_t layer) {
  const struct rebuild_block *blocks = writer->recorded->blocks->items.items;
  const uint32_t *of = source->passes->blocks.items;
  bool all = writer->again == LUMOS_RECOMPUTE_FULL;
  for (uint32_t i = 0; source->forward != NULL && i < source->forward->count; i++) {
    uint32_t b = of[source->forward->first + i];
    if (all || blocks[b].attention) {
      add(writer, b, slot, layer);
      struct rebuild_item *item = &writer->rank->items.items[writer->rank->items.count - 1];
      item->again = true;
      item->thread = blocks[of[source->piece->first]].lane;
    }
  }
}

/* Each product of a weight's gradient that was put off comes behind that of the input's; attention that is computed
 * again right before its way back, as that is where autograd asks for it. */
static void add_piece(const struct rebuild_writer *writer, const struct source *source, const struct rebuild_slot *slot,
                      int32_t layer) {
  const struct rebuild_blocks *blocks = writer->recorded->blocks;
  const struct rebuild_passes *passes = source->passes;
  const struct rebuild_piece *piece = source->piece, *put_off = source->put_off;
  bool awaits = writer->again == LUMOS_RECOMPUTE_SELECTIVE;
  uint32_t next = 0;
  for (uint32_t i = 0; piece != NULL && i < piece->count; i++) {
    uint32_t b = passes->blocks.items[piece->first + i];
    if (awaits && blocks->items.items[b].attention) {
      add_again(writer, source, slot, layer);
      awaits = false;
    }
    add_block(writer, b, slot, layer);
    uint32_t end = put_off == NULL || !multiplies(blocks, &blocks->items.items[b])
                       ? next
                       : end_of_product(blocks, passes, put_off, next);
    for (; next < end; next++) {
      add_block(writer, passes->blocks.items[put_off->first + next], slot, layer);
    }
  }
  for (; put_off != NULL && next < put_off->count; next++) {
    add_block(writer, passes->blocks.items[put_off->first + next], slot, layer);
  }
}

/* What a pass begins with, before any part of the model. Between the ends of the model no inputs are loaded. */
static void add_begin(const struct rebuild_writer *writer, const struct pattern *pattern,
                      const struct rebuild_pass *pass, const struct rebuild_slot *slot, unsigned ends) {
  const struct rebuild_blocks *blocks = writer->recorded->blocks;
  const struct rebuild_piece *begin = &pattern->passes->pieces.items[pass->first];
  for (uint32_t i = 0; begin->part == 0 && i < begin->count; i++) {
    uint32_t block = pattern->passes->blocks.items[begin->first + i];
    if (ends != 0 || pattern->ends == 0 || !copies_only(blocks, &blocks->items.items[block])) {
      add(writer, block, slot, LUMOS_ABSENT_INT);
    }
  }
}

/* Behind the hand-over to the thread of the backward pass there is no more than the gradients. */
static void add_hand_over(const struct rebuild_writer *writer, const struct rebuild_passes *passes,
                          const struct rebuild_pass *pass, const struct rebuild_slot *slot) {
  const struct rebuild_block *blocks = writer->recorded->blocks->items.items;
  uint32_t first = passes->pieces.items[pass->first].first;
  const struct rebuild_piece *last = &passes->pieces.items[pass->first + pass->count - 1];
  for (uint32_t i = first; i < last->first + last->count; i++) {
    uint32_t b = passes->blocks.items[i];
    if (blocks[b].weights) {
      return;
    }
    if (blocks[b].part == 0 && blocks[b].device_count == 0) {
      add(writer, b, slot, LUMOS_ABSENT_INT);
    }
  }
}

/* The n-th piece of a part of the model; NULL: the pass has none. */
static const struct rebuild_piece *nth_piece(const struct rebuild_passes *passes, const struct rebuild_pass *pass,
                                             uint8_t part, int32_t n) {
  for (uint32_t p = 0; pass != NULL && p < pass->count; p++) {
    const struct rebuild_piece *piece = &passes->pieces.items[pass->first + p];
    if (piece->part == part && n-- == 0) {
      return piece;
    }
  }
  return NULL;
}

/* What was put off of a backward pass that is built with nothing put off; NULL: nothing was. */
static const struct rebuild_pass *find_put_off(const struct rebuild_writer *writer, const struct rebuild_slot *slot,
                                               const struct rebuild_passes *passes, const struct rebuild_pass *pass) {
  bool joins = writer->recorded->apart && writer->to->schedule != LUMOS_ZB_H1 && slot->phase == LUMOS_BACKWARD;
  return joins ? rebuild_pass_of(passes, LUMOS_WEIGHT, pass->micro_batch, pass->chunk) : NULL;
}

/* Of that rank, or for want of it of another one. On a single stage the head's weights are the embedding's, whose
 * gradient is summed with that. */
static void add_part(const struct rebuild_writer *writer, const struct rebuild_slot *slot, uint8_t part) {
  const struct rebuild_recorded *recorded = writer->recorded;
  uint32_t ranks = (uint32_t)recorded->job->ranks.count;
  int32_t like = micro_batch_like(writer, slot->phase, slot->micro_batch);
  for (uint32_t i = 0; i < ranks; i++) {
    const struct rebuild_passes *of = &recorded->passes[(writer->rank->like + i) % ranks];
    const struct rebuild_pass *pass = rebuild_pass_of(of, recorded_phase(writer, slot->phase), like,
                                                      part == LUMOS_PART_HEAD ? recorded->pipeline.chunks - 1 : 0);
    const struct rebuild_piece *piece = nth_piece(of, pass, part, 0);
    if (piece != NULL) {
      struct rebuild_writer own = *writer;
      bool tied = part == LUMOS_PART_HEAD && writer->to->stages == 1 && recorded->pipeline.stages > 1;
      own.summed_elsewhere = tied ? recorded->shared_bytes : 0;
      const struct source source = {of, piece, nth_piece(of, find_put_off(writer, slot, of, pass), part, 0), NULL};
      add_piece(&own, &source, slot, LUMOS_ABSENT_INT);
      return;
    }
  }
}

/* Which piece of its kind a layer of the model is in a pass; -1: the pass does not have it. */
static int32_t find_layer(const struct rebuild_passes *passes, const struct rebuild_pass *pass, int32_t layer) {
  int32_t nth = 0;
  for (uint32_t p = 0; pass != NULL && p < pass->count; p++) {
    const struct rebuild_piece *piece = &passes->pieces.items[pass->first + p];
    if (piece->part == LUMOS_PART_LAYER && piece->layer == layer) {
      return nth;
    }
    nth += piece->part == LUMOS_PART_LAYER;
  }
  return -1;
}

/* What is computed again of a layer whose blocks back are the piece `back`: as in the last micro-batch, for weights are
 * converted in the first. NULL: nothing is. */
static const struct rebuild_piece *find_forward(const struct rebuild_writer *writer, const struct rebuild_slot *slot,
                                                const struct rebuild_passes *passes, const struct rebuild_pass *pass,
                                                const struct rebuild_piece *back) {
  int32_t last = writer->recorded->pipeline.micro_batches - 1;
  if (writer->again == 0 || slot->phase != LUMOS_BACKWARD || back == NULL) {
    return NULL;
  }
  const struct rebuild_pass *forward = rebuild_pass_of(passes, LUMOS_FORWARD, last, pass->chunk);
  int32_t nth = find_layer(passes, forward, back->layer);
  return nth < 0 ? NULL : nth_piece(passes, forward, LUMOS_PART_LAYER, nth);
}

/* What fully sharded replicas do before a layer goes back. Returns the rest of the piece. */
static struct rebuild_piece add_gathers(const struct rebuild_writer *writer, const struct rebuild_passes *passes,
                                        const struct rebuild_piece *piece, const struct rebuild_slot *slot,
                                        int32_t layer) {
  const struct rebuild_blocks *blocks = writer->recorded->blocks;
  struct rebuild_piece rest = *piece;
  while (rest.count > 0 && writer->recorded->gathers) {
    uint32_t b = passes->blocks.items[rest.first];
    if (!program_gathers_before_back(blocks->job, blocks->items.items[b].first)) {
      break;
    }
    add_block(writer, b, slot, layer);
    rest.first++;
    rest.count--;
  }
  return rest;
}

static void add_layers(const struct rebuild_writer *writer, const struct rebuild_slot *slot,
                       const struct rebuild_passes *passes, const struct rebuild_pass *pass) {
  const struct rebuild_chunk *chunk = &writer->chunks[slot->chunk];
  const struct rebuild_pass *put_off = find_put_off(writer, slot, passes, pass);
  int32_t count = (int32_t)rebuild_count_layers(passes, pass);
  /* Of two layers the last is like others; but of fully sharded replicas the last one back gathers no other's
   * parameters. */
  bool ahead = writer->recorded->gathers && slot->phase == LUMOS_BACKWARD;
  int32_t between = ahead ? 0 : count - 1;
  for (int32_t i = 0; i < chunk->layers && count > 0; i++) {
    int32_t like = place_like(i, chunk->layers, count, between);
    int32_t layer = chunk->first_layer + (slot->phase == LUMOS_FORWARD ? i : chunk->layers - 1 - i);
    int32_t itself = writer->same_layers ? find_layer(passes, pass, layer) : -1;
    like = itself >= 0 ? itself : like;
    struct rebuild_writer own = turned(writer, itself >= 0 ? 0 : repeats_of(i, chunk->layers, count, between));
    struct source source = {.passes = passes,
                            .piece = nth_piece(passes, pass, LUMOS_PART_LAYER, like),
                            .put_off = nth_piece(passes, put_off, LUMOS_PART_LAYER, like)};
    source.forward = find_forward(writer, slot, passes, pass, source.piece);
    struct rebuild_piece rest = {0};
    if (writer->again == LUMOS_RECOMPUTE_FULL && source.forward != NULL) {
      rest = add_gathers(&own, passes, source.piece, slot, layer);
      add_again(&own, &source, slot, layer);
      source.piece = &rest;
    }
    add_piece(&own, &source, slot, layer);
  }
}

/* What the pass begins with, then the parts of the model that the stage has. */
static void add_pass(const struct rebuild_writer *writer, const struct rebuild_slot *slot) {
  const struct rebuild_chunk *chunk = &writer->chunks[slot->chunk];
  unsigned ends = (chunk->first ? FIRST : 0U) | (chunk->last ? LAST : 0U);
  struct pattern pattern = find_pattern(writer->recorded, writer->rank->like, ends);
  const struct rebuild_pass *pass =
      rebuild_pass_of(pattern.passes, recorded_phase(writer, slot->phase),
                      micro_batch_like(writer, slot->phase, slot->micro_batch), pattern.chunk);
  bool forward = slot->phase == LUMOS_FORWARD;
  if (take_for(writer, slot->phase) == WEIGHTS) {
    add_hand_over(writer, pattern.passes, pass, slot);
  } else {
    add_begin(writer, &pattern, pass, slot, ends);
  }
  if (forward ? chunk->first : chunk->last) {
    add_part(writer, slot, forward ? LUMOS_PART_EMBEDDING : LUMOS_PART_HEAD);
  }
  add_layers(writer, slot, pattern.passes, pass);
  if (forward ? chunk->last : chunk->first) {
    add_part(writer, slot, forward ? LUMOS_PART_HEAD : LUMOS_PART_EMBEDDING);
  }
}

/* ---- what is between them ---- */

/* How well a recorded block stands for one that sends and receives just that: the same at best, else as many things.
 * Below 0: it does neither. */
enum { SAME = 100, AS_MANY = 50 };
static int likeness(unsigned recorded, unsigned wanted) {
  if (recorded == 0 || recorded == wanted) {
    return recorded == 0 ? -1 : SAME;
  }
  int difference = __builtin_popcount(recorded) - __builtin_popcount(wanted);
  return difference == 0 ? AS_MANY : AS_MANY / 2 - (difference < 0 ? -difference : difference);
}

/* The best that rank has, or for want of the same another one; LUMOS_NONE: nothing was sent or received. */
static uint32_t find_transfer(const struct rebuild_recorded *recorded, uint32_t rank, uint8_t transfers) {
  uint32_t ranks = (uint32_t)recorded->job->ranks.count, best = LUMOS_NONE;
  int most = -1;
  for (uint32_t i = 0; i < ranks && most < SAME; i++) {
    uint32_t r = (rank + i) % ranks;
    for (uint32_t b = recorded->blocks->rank_first[r]; b < recorded->blocks->rank_first[r + 1] && most < SAME; b++) {
      int likes = likeness(recorded->exchanges[b], transfers);
      if (likes > most) {
        most = likes;
        best = b;
      }
    }
  }
  return best;
}

static bool add_transfer(const struct rebuild_writer *writer, const struct rebuild_slot *slot,
                         struct lumos_error *error) {
  uint32_t block = find_transfer(writer->recorded, writer->rank->like, slot->transfers);
  if (block == LUMOS_NONE) {
    return lumos_fail(
        error,
        "the recorded job has no example of what a stage would send and receive, and does not show its size; record "
        "shapes (record_shapes=True), describe the model with --model-file, or record a pipeline of two stages");
  }
  add(writer, block, slot, LUMOS_ABSENT_INT);
  return true;
}

/* ---- the frame ---- */

static void add_frame(const struct rebuild_writer *writer, const struct rebuild_frame *frame, const uint32_t *blocks,
                      size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct rebuild_block *block = &writer->recorded->blocks->items.items[blocks[i]];
    bool by_parameters = block->phase == LUMOS_OPTIMIZER_PHASE;
    rebuild_plan_add(writer->rank, (struct rebuild_item){.like = blocks[i],
                                                         .turns = writer->turns,
                                                         .step = writer->step,
                                                         .micro_batch = block->micro_batch,
                                                         .layer = block->layer,
                                                         .phase = block->phase,
                                                         .kernels = by_parameters ? frame->kernels : 0,
                                                         .transfers = by_parameters ? frame->transfers : 0});
  }
}

bool rebuild_step_write(const struct rebuild_writer *writer, const struct rebuild_slots *slots,
                        struct lumos_error *error) {
  const struct rebuild_passes *passes = writer->recorded->passes;
  const struct rebuild_passes *before = &passes[writer->before.like], *behind = &passes[writer->behind.like];
  add_frame(writer, &writer->before, before->before.items, before->before.count);
  for (size_t i = 0; i < slots->count; i++) {
    const struct rebuild_slot *slot = &slots->items[i];
    if (slot->transfers == 0) {
      struct rebuild_writer own = turned(writer, micro_batch_repeats(writer, slot->phase, slot->micro_batch));
      add_pass(&own, slot);
    } else if (!add_transfer(writer, slot, error)) {
      return false;
    }
  }
  add_frame(writer, &writer->behind, behind->behind.items, behind->behind.count);
  return true;
}
