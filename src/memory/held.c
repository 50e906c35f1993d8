#include "memory/held.h"

#include "program/sharded.h"
#include <stdlib.h>

/* ---- the buffer ---- */

/* Numbers that an op clears outside of the passes, all in a row; 0: it does something else. What another op clears for
 * itself is no buffer. */
static int64_t cleared_by(struct memory_walk *walk, uint32_t place, uint16_t *format) {
  const struct lumos_task *task = task_at(walk, place);
  bool passes = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD;
  if (passes || op_at(walk, place)->node != LUMOS_NONE || walk->inside[place] != LUMOS_NONE ||
      !is_op(walk, place, "aten::zero_")) {
    return 0;
  }
  struct memory_inputs inputs = memory_inputs_of(&walk->shapes, span_at(walk, place));
  const struct memory_tensor *tensor = inputs.count == 0 ? NULL : &walk->shapes.tensors.items[inputs.first];
  bool stretch = tensor != NULL && tensor->dimensions == 1 && tensor->format >= FORMAT_FLOAT;
  *format = stretch ? tensor->format : *format;
  return stretch ? tensor->count : 0;
}

static bool accumulates(const struct memory_walk *walk) {
  bool any = false;
  for (uint32_t i = 0; i < walk->memory->ops.count && !any; i++) {
    any = is_accumulation(walk, i);
  }
  return any;
}

/* There are as many numbers of gradients as the buffer has, but for padding, which is at most a 32nd (chosen: a bucket
 * is padded for each replica); of a job that was rebuilt those are exact. Of weights that several parts of the model
 * share, gradients may come twice. What is cleared besides is no buffer of gradients, or not cleared once. */
static void find_buffer(struct memory_walk *walk) {
  enum { SHARED = 2, PADDING = 32 };
  int64_t numbers = 0, gradients = walk->gradient_numbers;
  uint16_t format = FORMAT_NONE;
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    numbers += cleared_by(walk, i, &format);
  }
  bool fits = gradients == 0 ? accumulates(walk) /* without sizes */
                             : numbers >= gradients / SHARED && numbers - gradients <= numbers / PADDING;
  if (numbers > 0 && fits) {
    bool padded = llabs(numbers - gradients) <= numbers / PADDING;
    walk->memory->held.numbers = padded ? gradients : numbers;
    walk->memory->held.number = memory_format_size(format);
  }
}

/* ---- copies of weights ---- */

/* Does the op copy a weight from float32 into the format that its gradient has? */
static bool is_copy(struct memory_walk *walk, uint32_t place) {
  if (!is_forward(walk, place) || walk->inside[place] != LUMOS_NONE || !is_op(walk, place, "aten::_to_copy")) {
    return false;
  }
  struct memory_inputs inputs = memory_inputs_of(&walk->shapes, span_at(walk, place));
  const struct memory_tensor *tensor = inputs.count == 0 ? NULL : &walk->shapes.tensors.items[inputs.first];
  return tensor != NULL && tensor->format == FORMAT_FP32 && tensor->dimensions >= 2 &&
         lumos_known_number(&walk->halves, tensor->shape) != LUMOS_NO_NUMBER;
}

/* Sizes of gradients that have fewer bytes than float32. */
static void find_halves(struct memory_walk *walk) {
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    struct memory_inputs inputs =
        is_accumulation(walk, i) ? memory_inputs_of(&walk->shapes, span_at(walk, i)) : (struct memory_inputs){0};
    const struct memory_tensor *tensor = inputs.count == 0 ? NULL : &walk->shapes.tensors.items[inputs.first];
    if (tensor != NULL && tensor->dimensions >= 2 && memory_format_size(tensor->format) < 4) {
      (void)lumos_number_of(&walk->halves, tensor->shape);
    }
  }
}

static void find_copies(struct memory_walk *walk) {
  int32_t first = LUMOS_ABSENT_INT;
  bool others = false, passes = false;
  uint32_t last = 0;
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    const struct lumos_task *task = task_at(walk, i);
    passes |= task->micro_batch > 0;
    last = task->phase == LUMOS_BACKWARD ? i : last;
    if (is_copy(walk, i)) {
      first = walk->copies ? first : task->micro_batch;
      others |= task->micro_batch != first;
      walk->copies = true;
    }
  }
  walk->copies_until = passes && !others ? last : LUMOS_NONE;
}

void memory_hold_copy(struct memory_walk *walk, uint32_t place, uint32_t piece) {
  if (!walk->copies || !is_copy(walk, place)) {
    return;
  }
  int32_t micro_batch = task_at(walk, place)->micro_batch;
  uint32_t until = walk->copies_until;
  for (uint32_t i = (uint32_t)walk->memory->ops.count; until == LUMOS_NONE && i > walk->at; i--) {
    bool own = task_at(walk, i - 1)->micro_batch == micro_batch && task_at(walk, i - 1)->phase == LUMOS_BACKWARD;
    until = own ? i - 1 : until;
  }
  walk->memory->pieces.items[piece].part = LUMOS_MEMORY_PARAMETERS;
  walk->memory->pieces.items[piece].end = until == LUMOS_NONE ? walk->at : until;
}

/* ---- formats ---- */

/* Bytes of a number of what replicas gather behind the update, by what they scatter of the buffer; 0: they do not. */
static int64_t gathered(const struct memory_walk *walk) {
  const struct lumos_job *job = walk->job;
  const struct lumos_rank *rank = &job->ranks.items[walk->memory->rank];
  __int128 all = 0, sums = 0;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const int64_t bytes = lumos_detail_of(job, task)->comm.bytes;
    if (task->step == walk->memory->step && bytes > 0) {
      all += program_replicas_of(job, task, "all_gather") != NULL ? bytes : 0;
      sums += program_replicas_of(job, task, "reduce_scatter") != NULL ? bytes : 0;
    }
  }
  int64_t number = walk->memory->held.number; /* as many bytes, half or a quarter, whichever is nearest */
  return sums == 0 || all == 0 ? 0 : all * 8 < sums * 3 ? number / 4 : all * 4 < sums * 3 ? number / 2 : number;
}

void memory_find_held(struct memory_walk *walk) {
  find_buffer(walk);
  if (walk->memory->held.numbers == 0) {
    return;
  }
  find_halves(walk);
  find_copies(walk);
  int64_t size = gathered(walk);
  walk->memory->held.parameter = size > 0                      ? size
                                 : walk->copies                ? 4
                                 : walk->gradient_numbers == 0 ? walk->memory->held.number
                                                               : walk->gradient_bytes / walk->gradient_numbers;
}
