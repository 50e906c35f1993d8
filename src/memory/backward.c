/* The backward pass: gradients take what the gradients before them made, and free what the forward pass kept for
 * them. */
#include "memory/shards.h"
#include "memory/walk.h"

/* What the op keeps is free behind its gradient. */
static void release(struct memory_walk *walk, uint32_t node) {
  uint32_t number = lumos_known_number(&walk->keys, key_of(walk, task_at(walk, node), span_at(walk, node)->sequence));
  if (span_at(walk, node)->sequence == LUMOS_ABSENT || number >= walk->heads.count) {
    return;
  }
  for (uint32_t k = walk->heads.items[number]; k != LUMOS_NONE; k = walk->keeps.items[k].next) {
    struct memory_kept *keep = &walk->keeps.items[k];
    struct memory_piece *piece = &walk->memory->pieces.items[keep->piece];
    if (!keep->released) {
      uint32_t last = walk->at == 0 ? 0 : walk->at - 1;
      piece->end = last > piece->end ? last : piece->end;
      piece->kept_by = (uint32_t)(keep->micro_batch < 0 ? 0 : keep->micro_batch) + 1;
      keep->released = true;
    }
  }
  walk->heads.items[number] = LUMOS_NONE;
}

/* What was made and not used is what the node hands on; a node that made nothing hands on what it took. */
void memory_close_node(struct memory_walk *walk) {
  if (walk->node == LUMOS_NONE) {
    return;
  }
  bool made = false;
  size_t count = walk->handles.count;
  for (size_t h = walk->node_handles; h < count; h++) {
    struct memory_handle *handle = &walk->handles.items[h];
    made |= handle->made;
    if (handle->made &&
        walk->memory->pieces.items[handle->piece].end > walk->memory->pieces.items[handle->piece].begin) {
      handle->pending = false; /* used within the node */
    }
  }
  if (!made && !is_accumulation(walk, walk->node)) {
    int copies = strstr(name_at(walk, walk->node), ": AddBackward") != NULL ? 2 : 1;
    for (size_t h = walk->node_handles; h < count; h++) {
      for (int copy = 0; copy < copies && !walk->handles.items[h].pending; copy++) {
        struct memory_handle handle = walk->handles.items[h];
        handle.pending = true;
        memory_add_handle(walk, handle);
      }
    }
  }
  release(walk, walk->node);
  walk->node = LUMOS_NONE;
}

/* What another gradient's op has handed on. */
static uint32_t find_gradient(const struct memory_walk *walk, const struct memory_tensor *tensor) {
  const struct memory_search search = {
      .tensor = tensor, .pending = true, .micro_batch = task_at(walk, walk->at)->micro_batch};
  return memory_find_handle(walk, &search);
}

/* A gradient's op takes what others have handed on. */
void memory_take_gradients(struct memory_walk *walk) {
  struct memory_inputs inputs = memory_inputs_of(&walk->shapes, span_at(walk, walk->at));
  for (uint32_t n = 0; n < inputs.count; n++) {
    struct memory_tensor tensor = walk->shapes.tensors.items[inputs.first + n];
    uint32_t found = find_gradient(walk, &tensor);
    if (found != LUMOS_NONE) {
      struct memory_handle handle = walk->handles.items[found];
      struct memory_piece *piece = piece_of(walk, found);
      piece->end = walk->at > piece->end ? walk->at : piece->end;
      walk->handles.items[found].pending = false;
      handle.pending = handle.made = false;
      memory_add_handle(walk, handle);
    }
  }
}

static uint32_t gradient_number(struct memory_walk *walk, const struct memory_tensor *tensor) {
  return lumos_number_of(&walk->gradients, size_key(tensor->count, tensor->format));
}

/* How many micro-batches have a backward pass here. */
static uint32_t micro_batches(const struct memory_walk *walk) {
  struct lumos_numbering seen = {0};
  uint32_t most = 1;
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    int32_t micro_batch = task_at(walk, i)->micro_batch;
    if (op_at(walk, i)->node != LUMOS_NONE && micro_batch >= 0) {
      uint32_t number = lumos_number_of(&seen, (uint64_t)micro_batch);
      most = number + 1 > most ? number + 1 : most;
    }
  }
  lumos_numbering_free(&seen);
  return most;
}

/* Each parameter has a gradient in each micro-batch. */
void memory_count_gradients(struct memory_walk *walk) {
  uint32_t passes = micro_batches(walk);
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    struct memory_inputs inputs =
        is_accumulation(walk, i) ? memory_inputs_of(&walk->shapes, span_at(walk, i)) : (struct memory_inputs){0};
    if (inputs.count > 0) {
      uint32_t number = gradient_number(walk, &walk->shapes.tensors.items[inputs.first]);
      if (number >= walk->left.count) {
        lumos_vector_push(&walk->left, 0);
      }
      walk->left.items[number]++;
      const struct memory_tensor *tensor = &walk->shapes.tensors.items[inputs.first];
      walk->gradient_numbers += tensor->count;
      walk->gradient_bytes += tensor->count * memory_format_size(tensor->format);
    }
  }
  walk->gradient_numbers /= passes;
  walk->gradient_bytes /= passes;
  for (size_t i = 0; i < walk->left.count; i++) {
    walk->left.items[i] = (walk->left.items[i] + passes - 1) / passes;
  }
}

/* The first micro-batch's gradient stays; those of others are added to it. Those that are scattered in each micro-batch
 * stay until then; those that are added to a buffer go at once. */
void memory_accumulate(struct memory_walk *walk) {
  struct memory_inputs inputs = memory_inputs_of(&walk->shapes, span_at(walk, walk->at));
  if (inputs.count == 0) {
    return;
  }
  struct memory_tensor tensor = walk->shapes.tensors.items[inputs.first];
  uint32_t found = find_gradient(walk, &tensor);
  if (found != LUMOS_NONE) {
    piece_of(walk, found)->end = walk->at;
    walk->handles.items[found].pending = false;
  }
  if (walk->memory->held.numbers > 0) {
    return;
  }
  uint32_t *left = &walk->left.items[gradient_number(walk, &tensor)];
  uint32_t scattered = memory_scattered_with(walk);
  if (*left > 0 || scattered != LUMOS_NONE) {
    bool first = *left > 0;
    *left -= first;
    int64_t bytes = rounded(tensor.count * memory_format_size(tensor.format));
    uint32_t piece =
        found == LUMOS_NONE ? memory_add_piece(walk, bytes, LUMOS_MEMORY_GRADIENTS) : walk->handles.items[found].piece;
    struct memory_piece *gradient = &walk->memory->pieces.items[piece];
    gradient->part = LUMOS_MEMORY_GRADIENTS;
    scattered = scattered == LUMOS_NONE ? memory_scattered_later(walk) : scattered;
    gradient->end = scattered == LUMOS_NONE ? (uint32_t)walk->memory->ops.count : scattered;
    walk->memory->parameters += first ? tensor.count : 0;
    walk->memory->parameter_bytes += first ? bytes : 0;
  }
}

/* What no gradient has released is free behind the last of its layer, or of its micro-batch. */
void memory_release_rest(struct memory_walk *walk) {
  struct lumos_numbering numbering = {0};
  LUMOS_VECTOR(uint32_t) last = {0};
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    const struct lumos_task *task = task_at(walk, i);
    for (int whole = 0; op_at(walk, i)->node != LUMOS_NONE && whole < 2; whole++) {
      uint32_t number = lumos_number_of(
          &numbering, lumos_key_pair((uint32_t)task->micro_batch, whole ? (uint32_t)INT32_MAX : (uint32_t)task->layer));
      if (number >= last.count) {
        lumos_vector_push(&last, i);
      }
      last.items[number] = i;
    }
  }
  for (size_t k = 0; k < walk->keeps.count; k++) {
    struct memory_kept *keep = &walk->keeps.items[k];
    uint32_t number =
        lumos_known_number(&numbering, lumos_key_pair((uint32_t)keep->micro_batch, (uint32_t)keep->layer));
    if (number == LUMOS_NO_NUMBER) {
      number = lumos_known_number(&numbering, lumos_key_pair((uint32_t)keep->micro_batch, (uint32_t)INT32_MAX));
    }
    if (!keep->released && number < last.count) {
      struct memory_piece *piece = &walk->memory->pieces.items[keep->piece];
      piece->end = last.items[number] > piece->end ? last.items[number] : piece->end;
      piece->kept_by = (uint32_t)(keep->micro_batch < 0 ? 0 : keep->micro_batch) + 1;
    }
  }
  lumos_vector_free(&last);
  lumos_numbering_free(&numbering);
}
