#include "memory/received.h"

static bool is_stage(const struct memory_walk *walk) {
  const struct lumos_rank *rank = &walk->job->ranks.items[walk->memory->rank];
  bool any = false;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count && !any; t++) {
    any = walk->job->tasks.items[t].kind == LUMOS_P2P;
  }
  return any;
}

/* Is the op here the first of a pass that has inputs and is of a part of the model? */
static bool begins_pass(struct memory_walk *walk) {
  const struct lumos_task *task = task_at(walk, walk->at);
  bool of_model = task->part == LUMOS_PART_LAYER || task->part == LUMOS_PART_EMBEDDING || task->part == LUMOS_PART_HEAD;
  bool passes = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD;
  if (!of_model || !passes || memory_inputs_of(&walk->shapes, span_at(walk, walk->at)).count == 0) {
    return false;
  }
  bool begins = task->phase != walk->pass_phase || task->micro_batch != walk->pass_micro_batch;
  walk->pass_phase = task->phase;
  walk->pass_micro_batch = task->micro_batch;
  return begins;
}

void memory_receive(struct memory_walk *walk) {
  if (walk->at == 0) {
    walk->receives = is_stage(walk);
  }
  if (!walk->receives || !begins_pass(walk) || task_at(walk, walk->at)->part != LUMOS_PART_LAYER) {
    return;
  }
  struct memory_inputs inputs = memory_inputs_of(&walk->shapes, span_at(walk, walk->at));
  const struct memory_tensor tensor = walk->shapes.tensors.items[inputs.first];
  if (tensor.dimensions < 2 || tensor.format < FORMAT_FLOAT) {
    return;
  }
  uint32_t piece = memory_add_piece(walk, tensor.count * memory_format_size(tensor.format), LUMOS_MEMORY_TEMPORARY);
  walk->memory->pieces.items[piece].needs_gradient = true;
  memory_add_handle(walk, (struct memory_handle){.count = tensor.count,
                                                 .piece = piece,
                                                 .shape = tensor.shape,
                                                 .format = tensor.format,
                                                 .pending = task_at(walk, walk->at)->phase == LUMOS_BACKWARD});
}

void memory_share_buffer(struct memory_walk *walk, uint32_t piece) {
  static const char layer[] = "LinearWithGradAccumulationAndAsyncCommunication";
  uint32_t around = span_at(walk, walk->at)->parent;
  const char *name = around == LUMOS_NONE ? "" : lumos_string(walk->job->strings, walk->job->spans.items[around].name);
  if (is_op(walk, walk->at, "c10d::_allgather_base_") && strncmp(name, layer, sizeof layer - 1) == 0) {
    struct memory_piece *gathered = &walk->memory->pieces.items[piece];
    walk->memory->buffer = gathered->bytes > walk->memory->buffer ? gathered->bytes : walk->memory->buffer;
    gathered->bytes = 0;
  }
}
