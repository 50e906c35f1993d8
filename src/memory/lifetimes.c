/* A walk through the ops of a step that keeps, as PyTorch would, who holds what.
 *
 * Traces name no tensors. Which one an op takes in is told by its size: the latest of as many numbers of that format,
 * for what was just made is what is used. Forward, a piece of memory is free behind its last use, or behind the
 * gradient of the last op that keeps it. Backward, every gradient takes what the gradients before it made, the latest
 * first, and hands on what it makes itself.
 */
#include "memory/lifetimes.h"

#include "memory/held.h"
#include "memory/known.h"
#include "memory/order.h"
#include "memory/received.h"
#include "memory/shards.h"
#include "memory/walk.h"
#include <stdlib.h>

/* --- What is known of ops beforehand --- */

/* Is it a function's way back? */
static bool is_gradient(const struct memory_walk *walk, uint32_t place) {
  static const char end[] = "Backward";
  const char *name = name_at(walk, place);
  size_t length = strlen(name), tail = sizeof end - 1;
  return length > tail && strcmp(name + length - tail, end) == 0;
}

static void find_rules(struct memory_walk *walk) {
  const struct lumos_rank *rank = &walk->job->ranks.items[walk->memory->rank];
  uint32_t *places = lumos_allocate_zeroed(rank->span_count + 1U, sizeof *places);
  const struct memory_rule **known =
      lumos_allocate_zeroed(lumos_strings_count(walk->job->strings) + 1U, sizeof(void *));
  uint8_t *asked = lumos_allocate_zeroed(lumos_strings_count(walk->job->strings) + 1U, 1);
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    const struct lumos_span *span = span_at(walk, i);
    if (!asked[span->name]) {
      asked[span->name] = 1;
      known[span->name] = memory_rule_of(lumos_string(walk->job->strings, span->name));
    }
    walk->rules[i] = span->kind == LUMOS_SPAN_OP ? known[span->name] : NULL;
    walk->traits[i] |= walk->rules[i] != NULL && is_gradient(walk, i) ? GRADIENT : 0;
    places[op_at(walk, i)->span - rank->span_first] = i + 1;
    uint32_t around = span->parent == LUMOS_NONE ? 0 : places[span->parent - rank->span_first];
    walk->inside[i] = LUMOS_NONE;
    if (around > 0) { /* a checkpoint's function keeps what it begins with, and computes the rest again */
      bool unkept = (walk->traits[around - 1] & UNKEPT) != 0 || is_op(walk, around - 1, "CheckpointFunction");
      walk->traits[i] |= unkept ? UNKEPT : 0;
      const struct memory_rule *rule = walk->rules[around - 1];
      bool kept = rule != NULL && rule->keep != 0 && !is_op(walk, around - 1, "CheckpointFunction");
      walk->traits[i] |= kept || (walk->traits[around - 1] & KEPT_AROUND) != 0 ? KEPT_AROUND : 0;
      walk->traits[around - 1] |= walk->rules[i] != NULL ? CALLS_OTHERS : 0;
      bool whole = rule != NULL && rule->output != OUTPUT_CALLS && rule->output != OUTPUT_ASSUMED;
      walk->inside[i] = walk->inside[around - 1] != LUMOS_NONE ? walk->inside[around - 1]
                        : whole                                ? around - 1
                                                               : LUMOS_NONE;
    }
  }
  free(asked);
  free((void *)known);
  free(places);
}

/* Autograd's counter goes on behind an op that it makes a node for: of those that carry the same number the last. */
static void find_nodes(struct memory_walk *walk) {
  uint32_t before[2] = {LUMOS_NONE, LUMOS_NONE}; /* forward; done again */
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    if (span_at(walk, i)->sequence == LUMOS_ABSENT || !is_forward(walk, i) || walk->inside[i] != LUMOS_NONE ||
        (walk->traits[i] & UNKEPT) != 0) {
      continue;
    }
    uint32_t *last = &before[op_at(walk, i)->node != LUMOS_NONE];
    if (*last != LUMOS_NONE && span_at(walk, *last)->sequence != span_at(walk, i)->sequence) {
      walk->traits[*last] |= MAKES_NODE;
    }
    *last = i;
  }
  for (int i = 0; i < 2; i++) {
    walk->traits[before[i] == LUMOS_NONE ? 0 : before[i]] |= before[i] == LUMOS_NONE ? 0 : MAKES_NODE;
  }
}

/* What checkpoints' functions compute is kept after all where --recompute has left out what computes it again. */
static void keep_in_checkpoints(struct memory_walk *walk) {
  bool again = walk->measured;
  for (uint32_t i = 0; i < walk->memory->ops.count && !again; i++) {
    again = op_at(walk, i)->node != LUMOS_NONE && is_forward(walk, i) && walk->inside[i] == LUMOS_NONE;
  }
  for (uint32_t i = 0; i < walk->memory->ops.count && !again; i++) {
    bool kept =
        (walk->traits[i] & (UNKEPT | KEPT_AROUND)) == UNKEPT && walk->rules[i] != NULL && walk->rules[i]->keep != 0;
    walk->traits[i] |= kept && walk->inside[i] == LUMOS_NONE ? MAKES_NODE : 0;
  }
}

/* --- Ops that are done again --- */

static void note_forward(struct memory_walk *walk) {
  if (is_op(walk, walk->at, "_NoopSaveInputs")) {
    lumos_vector_push(&walk->regions, (uint32_t)walk->repeatable.count);
  } else if (walk->regions.count > 0 && keeps_here(walk)) {
    struct memory_made_again op = {key_of(walk, task_at(walk, walk->at), span_at(walk, walk->at)->sequence), walk->at};
    lumos_vector_push(&walk->repeatable, op);
  }
}

/* Ops under one gradient's op begin with the latest region that was not done again yet. What their first run kept was
 * never kept. */
static void note_repeated(struct memory_walk *walk) {
  if (walk->chunk_node != walk->node) {
    walk->chunk_node = walk->node;
    walk->chunk_next = walk->regions.count > 0 ? walk->regions.items[walk->regions.count - 1] : UINT32_MAX;
    walk->regions.count -= walk->regions.count > 0;
  }
  if (walk->chunk_next >= walk->repeatable.count) {
    return;
  }
  uint32_t number = lumos_known_number(&walk->keys, walk->repeatable.items[walk->chunk_next].key);
  for (uint32_t k = number == LUMOS_NO_NUMBER ? LUMOS_NONE : walk->heads.items[number]; k != LUMOS_NONE;
       k = walk->keeps.items[k].next) {
    walk->keeps.items[k].released = true;
  }
  if (number != LUMOS_NO_NUMBER) {
    walk->heads.items[number] = LUMOS_NONE;
  }
  walk->chunk_next++;
  walk->traits[walk->at] |= REPEATED;
}

/* --- The walk --- */

static void step_into(struct memory_walk *walk) {
  const struct memory_op *op = op_at(walk, walk->at);
  const struct memory_rule *rule = walk->rules[walk->at];
  if (op->node != walk->node) {
    memory_close_node(walk);
    walk->node = op->node;
    walk->node_handles = (uint32_t)walk->handles.count;
  }
  if (walk->inside[walk->at] != LUMOS_NONE) {
    memory_do_inner(walk);
    return;
  }
  memory_receive(walk);
  if (is_accumulation(walk, walk->at)) {
    memory_accumulate(walk);
  } else if (rule == NULL && op->node != LUMOS_NONE && op->node != walk->at) {
    memory_take_gradients(walk);
  }
  bool again = memory_begin_again(walk);
  if (!again && (keeps_here(walk) || is_op(walk, walk->at, "_NoopSaveInputs"))) {
    if (op->node == LUMOS_NONE) {
      note_forward(walk);
    } else {
      note_repeated(walk);
    }
  }
  if (rule != NULL && rule->output != OUTPUT_LISTS) {
    memory_do_op(walk, rule);
  }
}

/* Lists that the optimizer makes are as long as the parameters, and free when it is done. */
static void add_lists(struct memory_walk *walk) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    last = strncmp(name_at(walk, i), "aten::_foreach_", 15) == 0 ? i : last;
  }
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    if (walk->rules[i] != NULL && walk->rules[i]->output == OUTPUT_LISTS && walk->inside[i] == LUMOS_NONE) {
      walk->at = i;
      uint32_t piece = memory_add_piece(walk, walk->memory->parameter_bytes, LUMOS_MEMORY_TEMPORARY);
      walk->memory->pieces.items[piece].end = last;
    }
  }
}

/* The head's product is in a variable of Python until there is the loss: to the end of the head's forward pass. */
static void hold_logits(struct memory_walk *walk) {
  struct memory_step *memory = walk->memory;
  struct memory_piece *logits = NULL;
  size_t p = 0;
  for (uint32_t i = 0; i < memory->ops.count; i++) {
    const struct memory_rule *rule = walk->rules[i];
    bool multiplies = rule != NULL && (rule->output == OUTPUT_PRODUCT || rule->output == OUTPUT_SUMMED);
    const struct lumos_task *task = task_at(walk, i);
    bool head = task->part == LUMOS_PART_HEAD && task->phase == LUMOS_FORWARD;
    for (; p < memory->pieces.count && memory->pieces.items[p].begin <= i; p++) {
      logits = multiplies ? &memory->pieces.items[p] : logits;
    }
    bool behind = task->part == LUMOS_PART_LAYER || task->part == LUMOS_PART_EMBEDDING || task->phase != LUMOS_FORWARD;
    logits = behind ? NULL : logits; /* ops that communicate are of no part */
    if (head && logits != NULL && logits->end < i) {
      logits->end = i;
    }
  }
}

/* Does any task of the rank have a measured start? Of the whole job each rank would look at all tasks of all. */
static bool is_measured(const struct lumos_job *job, uint32_t rank) {
  uint32_t t = job->ranks.items[rank].task_first, end = t + job->ranks.items[rank].task_count;
  while (t < end && job->tasks.items[t].start == LUMOS_ABSENT) {
    t++;
  }
  return t < end;
}

void memory_step_read(struct memory_step *memory, const struct lumos_job *job, uint32_t rank) {
  *memory = (struct memory_step){.job = job, .rank = rank};
  memory_order_ops(memory);
  size_t count = memory->ops.count;
  struct memory_walk walk = {.memory = memory,
                             .job = job,
                             .shapes = {.job = job},
                             .rules = lumos_allocate_zeroed(count + 1, sizeof(void *)),
                             .traits = lumos_allocate_zeroed(count + 1, 1),
                             .inside = lumos_allocate_zeroed(count + 1, sizeof *walk.inside),
                             .node = LUMOS_NONE,
                             .chunk_node = LUMOS_NONE,
                             .again = {.region = LUMOS_NO_NUMBER},
                             .measured = is_measured(job, rank)};
  find_rules(&walk);
  find_nodes(&walk);
  keep_in_checkpoints(&walk);
  memory_find_again(&walk);
  memory_find_shards(&walk);
  memory_count_gradients(&walk);
  if (!memory->sharded) {
    memory_find_held(&walk);
  }
  for (walk.at = 0; walk.at < count; walk.at++) {
    step_into(&walk);
  }
  memory_close_node(&walk);
  hold_logits(&walk);
  memory_release_rest(&walk);
  add_lists(&walk);
  memory_add_shards(&walk);
  memory->state = memory_state_of(&walk);
  free((void *)walk.rules);
  free(walk.traits);
  free(walk.inside);
  lumos_vector_free(&walk.handles);
  lumos_vector_free(&walk.latest);
  lumos_numbering_free(&walk.sizes);
  lumos_vector_free(&walk.keeps);
  lumos_vector_free(&walk.heads);
  lumos_vector_free(&walk.regions);
  lumos_vector_free(&walk.repeatable);
  lumos_vector_free(&walk.left);
  lumos_vector_free(&walk.shards);
  memory_again_free(&walk.again);
  lumos_numbering_free(&walk.gradients);
  lumos_numbering_free(&walk.halves);
  lumos_numbering_free(&walk.keys);
  memory_shapes_free(&walk.shapes);
}

void memory_step_free(struct memory_step *memory) {
  lumos_vector_free(&memory->ops);
  lumos_vector_free(&memory->pieces);
}
