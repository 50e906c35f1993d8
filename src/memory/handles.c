/* Pieces of memory, and the tensors in them that an op may take in. Traces name no tensors: which one is meant is told
 * by its size, its format, and how lately it was made.
 */
#include "memory/walk.h"

uint32_t memory_add_piece(struct memory_walk *walk, int64_t bytes, enum lumos_memory_part part) {
  struct memory_piece piece = {.bytes = rounded(bytes), .begin = walk->at, .end = walk->at, .part = (uint8_t)part};
  lumos_vector_push(&walk->memory->pieces, piece);
  return (uint32_t)walk->memory->pieces.count - 1;
}

void memory_add_handle(struct memory_walk *walk, struct memory_handle handle) {
  uint32_t number = lumos_number_of(&walk->sizes, size_key(handle.count, handle.format));
  if (number >= walk->latest.count) {
    lumos_vector_push(&walk->latest, LUMOS_NONE);
  }
  handle.before = walk->latest.items[number];
  handle.micro_batch = task_at(walk, walk->at)->micro_batch;
  walk->latest.items[number] = (uint32_t)walk->handles.count;
  lumos_vector_push(&walk->handles, handle);
}

/* A tensor whose sizes are known is taken as what it is: with other sizes it is the result of an op in between. */
static bool fits(const struct memory_walk *walk, const struct memory_handle *handle,
                 const struct memory_search *search) {
  const struct memory_tensor *tensor = search->tensor;
  bool known = handle->shape != 0 && tensor->format != FORMAT_NONE;
  if ((tensor->format != FORMAT_NONE && tensor->format != handle->format) || (search->pending && !handle->pending) ||
      (known && handle->shape != tensor->shape && !search->reshaped) || (search->exact && !known)) {
    return false;
  }
  if (handle->view == WHOLE) {
    return tensor->count == handle->count;
  }
  const struct memory_tensor *of = &walk->shapes.tensors.items[handle->of];
  return !search->whole && (handle->view == PART ? memory_is_part(tensor, of) : memory_is_spread(tensor, of));
}

static bool may_be(const struct memory_walk *walk, uint32_t h, const struct memory_search *search) {
  const struct memory_handle *handle = &walk->handles.items[h];
  const struct memory_piece *piece = &walk->memory->pieces.items[handle->piece];
  bool other = search->micro_batch >= 0 && handle->micro_batch >= 0 && search->micro_batch != handle->micro_batch;
  bool unused = piece->end == piece->begin && !(search->reshaped && piece->wanted);
  bool may = !other && fits(walk, handle, search) && (!search->alive || unused || (piece->wanted && !search->reshaped));
  for (size_t t = 0; may && t < search->taken_count; t++) {
    uint32_t taken = search->taken[t];
    may = taken == LUMOS_NONE || (taken != h && !(search->apart && walk->handles.items[taken].piece == handle->piece));
  }
  return may;
}

uint32_t memory_find_handle(const struct memory_walk *walk, const struct memory_search *search) {
  size_t count = walk->handles.count, nearby = count > NEARBY ? count - NEARBY : 0;
  nearby = search->tensor->format == FORMAT_NONE ? (count > LOOK_BACK ? count - LOOK_BACK : 0) : nearby;
  for (size_t i = count; search->tensor->count > 0 && i > nearby && i > search->lowest; i--) {
    if (may_be(walk, (uint32_t)i - 1, search)) {
      return (uint32_t)i - 1;
    }
  }
  uint32_t number = lumos_known_number(&walk->sizes, size_key(search->tensor->count, search->tensor->format));
  uint32_t h = number == LUMOS_NO_NUMBER || search->tensor->count == 0 ? LUMOS_NONE : walk->latest.items[number];
  for (int steps = 0; h != LUMOS_NONE && h >= search->lowest && steps < LOOK_BACK;
       steps++, h = walk->handles.items[h].before) {
    bool known = walk->handles.items[h].shape != 0 || count - h < RECENT; /* a view is used soon */
    if (walk->handles.items[h].view == WHOLE && known && may_be(walk, h, search)) {
      return h;
    }
  }
  return LUMOS_NONE;
}
