/* What an op takes in, makes and keeps, by its rule (rules.h). */
#include "memory/held.h"
#include "memory/received.h"
#include "memory/walk.h"

/* Numbers and format of an op's first output, and bytes of those beside it. */
struct output {
  int64_t count, beside;
  uint32_t shape; /* 0: not known */
  uint16_t format;
};

static struct output like(const struct memory_tensor *tensor) {
  return (struct output){tensor->count, 0, tensor->shape, tensor->format};
}

enum { MOST_TAKEN = 32 };

struct taken {
  struct memory_inputs inputs;
  uint32_t handles[MOST_TAKEN]; /* by input; LUMOS_NONE: parameters, and what was made long before */
  size_t count;
};

static const struct memory_tensor *input(const struct memory_walk *walk, const struct taken *taken, uint32_t n) {
  static const struct memory_tensor none = {.count = 0, .last = 1, .previous = 1, .first = 1};
  return n < taken->inputs.count ? &walk->shapes.tensors.items[taken->inputs.first + n] : &none;
}

/* What was used already and is not kept is dead, as a rule, where something else of the same size is kept, or waits for
 * its first use. */
static uint32_t alive(const struct memory_walk *walk, const struct memory_search *search, uint32_t found) {
  const struct memory_handle *handle = &walk->handles.items[found];
  const struct memory_piece *piece = &walk->memory->pieces.items[handle->piece];
  if (handle->view != WHOLE || piece->wanted || piece->end == piece->begin) {
    return found;
  }
  struct memory_search other = *search;
  other.whole = other.alive = true;
  other.lowest = found > RECENT ? found - RECENT : 0;
  uint32_t instead = memory_find_handle(walk, &other);
  return instead != LUMOS_NONE ? instead : found;
}

/* Rather than a part of something, what was made since then, is as large, and was not used yet. */
static uint32_t whole(const struct memory_walk *walk, const struct memory_search *search, uint32_t found) {
  if (walk->handles.items[found].view != PART) {
    return found;
  }
  struct memory_search other = *search;
  other.whole = other.alive = other.reshaped = true;
  other.lowest = found + 1;
  uint32_t instead = memory_find_handle(walk, &other);
  return instead != LUMOS_NONE ? instead : found;
}

/* The inputs of most ops are tensors apart; queries, keys and values may be parts of one. */
static void take_inputs(struct memory_walk *walk, const struct memory_rule *rule, struct taken *taken) {
  bool apart = rule->output != OUTPUT_ATTENTION && rule->output != OUTPUT_JOINED &&
               (rule->output != OUTPUT_CALLS || rule->keep != 0);
  const struct memory_op *op = op_at(walk, walk->at);
  bool backward = op->node != LUMOS_NONE && !is_forward(walk, walk->at);
  taken->inputs = memory_inputs_of(&walk->shapes, span_at(walk, walk->at));
  taken->count = taken->inputs.count < MOST_TAKEN ? taken->inputs.count : MOST_TAKEN;
  for (size_t i = taken->count; i-- > 0;) { /* the last inputs were made last */
    taken->handles[i] = LUMOS_NONE;
  }
  for (size_t i = taken->count; i-- > 0;) {
    const struct memory_tensor *tensor = input(walk, taken, (uint32_t)i);
    struct memory_search search = {.tensor = tensor,
                                   .lowest = backward           ? walk->node_handles
                                             : walk->again.runs ? walk->again.handles
                                                                : 0,
                                   .taken = &taken->handles[i + 1],
                                   .taken_count = taken->count - i - 1,
                                   .apart = apart,
                                   .micro_batch = task_at(walk, walk->at)->micro_batch};
    uint32_t found = memory_find_handle(walk, &search);
    if (found != LUMOS_NONE && !backward && apart) {
      found = whole(walk, &search, alive(walk, &search, found));
    }
    if (found == LUMOS_NONE && apart && !walk->again.runs) { /* else the first run keeps it */
      search.apart = backward;
      search.lowest = 0;
      search.pending = backward; /* a sum of two ops' gradients, one of which came earlier */
      found = memory_find_handle(walk, &search);
    }
    taken->handles[i] = found;
  }
}

static void use(struct memory_walk *walk, const struct taken *taken) {
  for (size_t i = 0; i < taken->count; i++) {
    if (taken->handles[i] != LUMOS_NONE) {
      struct memory_piece *piece = piece_of(walk, taken->handles[i]);
      piece->end = walk->at > piece->end ? walk->at : piece->end;
      walk->handles.items[taken->handles[i]].pending = false;
    }
  }
}

static bool needs_gradient(const struct memory_walk *walk, const struct taken *taken, uint32_t n) {
  return n < taken->count && input(walk, taken, n)->format >= FORMAT_FLOAT &&
         (taken->handles[n] == LUMOS_NONE || piece_of(walk, taken->handles[n])->needs_gradient);
}

/* Of an op that is done again: the key of the one that was done first. */
static uint64_t own_key(const struct memory_walk *walk, uint32_t place) {
  uint32_t first = memory_first_run(walk, place);
  uint64_t key = key_of(walk, task_at(walk, first), span_at(walk, first)->sequence);
  return (walk->traits[place] & REPEATED) && walk->chunk_next > 0 ? walk->repeatable.items[walk->chunk_next - 1].key
                                                                  : key;
}

static void keep_piece(struct memory_walk *walk, uint32_t piece) {
  walk->memory->pieces.items[piece].wanted = true;
  const struct lumos_task *task = task_at(walk, walk->at);
  uint32_t number = lumos_number_of(&walk->keys, own_key(walk, walk->at));
  if (number >= walk->heads.count) {
    lumos_vector_push(&walk->heads, LUMOS_NONE);
  }
  struct memory_kept keep = {
      .piece = piece, .next = walk->heads.items[number], .micro_batch = task->micro_batch, .layer = task->layer};
  walk->heads.items[number] = (uint32_t)walk->keeps.count;
  lumos_vector_push(&walk->keeps, keep);
}

static void keep_input(struct memory_walk *walk, const struct taken *taken, uint32_t n) {
  if (n < taken->count && taken->handles[n] != LUMOS_NONE && input(walk, taken, n)->count > 1) {
    keep_piece(walk, walk->handles.items[taken->handles[n]].piece);
  }
}

static void keep_inputs(struct memory_walk *walk, const struct memory_rule *rule, const struct taken *taken) {
  uint32_t left = rule->output == OUTPUT_SUMMED ? 1 : 0;
  if (rule->keep & KEEP_OTHERS && taken->inputs.count > left + 1) {
    if (needs_gradient(walk, taken, left + 1)) {
      keep_input(walk, taken, left);
    }
    if (needs_gradient(walk, taken, left)) {
      keep_input(walk, taken, left + 1);
    }
  }
  for (uint32_t n = 0; n < 3; n++) {
    if (rule->keep & (KEEP_FIRST << n)) {
      keep_input(walk, taken, n);
    }
  }
}

/* Of two number formats the one that an operation on both takes; tensors without dimensions count only among
 * themselves. */
static struct output spread(const struct memory_walk *walk, const struct taken *taken) {
  struct output output = {0};
  bool dimensions = false;
  for (uint32_t n = 0; n < taken->inputs.count; n++) {
    dimensions |= input(walk, taken, n)->dimensions > 0;
  }
  for (uint32_t n = 0; n < taken->inputs.count; n++) {
    const struct memory_tensor *tensor = input(walk, taken, n);
    if (tensor->dimensions > 0 || !dimensions) {
      output.format = tensor->format > output.format ? tensor->format : output.format;
      output.shape = tensor->count > output.count ? tensor->shape : output.shape;
      output.count = tensor->count > output.count ? tensor->count : output.count;
    }
  }
  return output;
}

/* What the next parameter's gradient is. */
static struct output next_gradient(struct memory_walk *walk) {
  for (uint32_t i = walk->at; i < walk->memory->ops.count && i < walk->at + LOOK_AHEAD; i++) {
    if (is_accumulation(walk, i)) {
      struct memory_inputs inputs = memory_inputs_of(&walk->shapes, span_at(walk, i));
      if (inputs.count > 0) {
        const struct memory_tensor *tensor = &walk->shapes.tensors.items[inputs.first];
        return like(tensor);
      }
    }
  }
  return (struct output){0};
}

static int64_t product(int64_t a, int64_t b) {
  __int128 both = (__int128)a * b;
  return both > (INT64_C(1) << 44) ? INT64_C(1) << 44 : (int64_t)both;
}

static struct output joined(const struct memory_walk *walk, const struct taken *taken) {
  struct output output = {.format = input(walk, taken, 0)->format};
  for (uint32_t n = 0; n < taken->inputs.count; n++) {
    const struct memory_tensor *tensor = input(walk, taken, n);
    uint16_t format = tensor->format;
    if (format == FORMAT_NONE && n < taken->count && taken->handles[n] != LUMOS_NONE) {
      format = walk->handles.items[taken->handles[n]].format;
    }
    output.format = format > output.format ? format : output.format;
    output.count += output.count < INT64_C(1) << 44 ? tensor->count : 0;
  }
  return output;
}

/* Lists of indices have no sizes in the trace; what is done with them inside has. */
static struct output gathered(struct memory_walk *walk, const struct taken *taken) {
  const struct memory_tensor *from = input(walk, taken, 0);
  int64_t rows = 0;
  for (uint32_t n = 1; n < taken->inputs.count; n++) {
    rows = input(walk, taken, n)->listed && input(walk, taken, n)->count > rows ? input(walk, taken, n)->count : rows;
  }
  for (uint32_t i = walk->at + 1; rows == 0 && i < walk->memory->ops.count && walk->inside[i] == walk->at; i++) {
    struct memory_inputs inputs = memory_inputs_of(&walk->shapes, span_at(walk, i));
    const struct memory_tensor *index = inputs.count > 0 ? &walk->shapes.tensors.items[inputs.first] : from;
    rows = index->format > FORMAT_INTEGER && index->format < FORMAT_FLOAT ? index->count : 0;
  }
  from = input(walk, taken, 0);
  return (struct output){from->first > 0 ? product(rows, from->count / from->first) : 0, 0, 0, from->format};
}

static uint32_t matrix_of(const struct memory_tensor *left, const struct memory_tensor *right) {
  return left->dimensions == 2 ? memory_shape_of(memory_shape_of(SHAPE_OF_NONE, left->first), right->last) : 0;
}

static struct output output_of(struct memory_walk *walk, const struct memory_rule *rule, const struct taken *taken) {
  const struct memory_tensor *first = input(walk, taken, 0), *second = input(walk, taken, 1),
                             *third = input(walk, taken, 2), *fourth = input(walk, taken, 3);
  int64_t rows = first->last > 0 ? first->count / first->last : 0;
  struct output both = spread(walk, taken);
  switch ((enum memory_output)rule->output) {
    case OUTPUT_LIKE:
    case OUTPUT_ASSUMED:
      both.beside = rule->keep & KEEP_STATISTICS ? both.count : 0; /* a mask */
      return both;
    case OUTPUT_FIRST:
      return (struct output){first->count, rule->keep & KEEP_STATISTICS ? first->count : 0, first->shape,
                             first->format}; /* a mask */
    case OUTPUT_TRUTH:
      return (struct output){both.count, 0, both.shape, FORMAT_BOOL};
    case OUTPUT_PRODUCT:
    case OUTPUT_GROUPED:
      return (struct output){product(rows, second->last), 0, matrix_of(first, second), first->format};
    case OUTPUT_SUMMED:
      return (struct output){product(second->last > 0 ? second->count / second->last : 0, third->last), 0,
                             matrix_of(second, third), second->format};
    case OUTPUT_NORM:
      return (struct output){first->count, 2 * rounded(4 * rows), first->shape, first->format};
    case OUTPUT_ROOT:
      return (struct output){first->count, 4 * rows, first->shape, first->format};
    case OUTPUT_ATTENTION:
      return (struct output){product(rows, third->last), 4 * rows, third->last == first->last ? first->shape : 0,
                             first->format};
    case OUTPUT_ROWS:
      return (struct output){rows, 0, first->rows, first->format};
    case OUTPUT_ONE:
      return (struct output){1, 0, 0, first->format};
    case OUTPUT_WORDS:
      return (struct output){product(second->count, first->last), 0, memory_shape_of(second->shape, first->last),
                             first->format};
    case OUTPUT_GATHERED:
      return gathered(walk, taken);
    case OUTPUT_JOINED:
      return joined(walk, taken);
    case OUTPUT_SECOND:
      return (struct output){second->count, 0, second->shape, first->dimensions > 0 ? first->format : second->format};
    case OUTPUT_OWN:
      return first->dimensions > 1 ? like(first) : (struct output){0};
    case OUTPUT_SORTED:
      return (struct output){first->count, 8 * first->count, first->shape, first->format};
    case OUTPUT_GRADIENTS:
      return (struct output){second->count, memory_format_size(third->format) * (third->count + fourth->count),
                             second->shape, second->format};
    case OUTPUT_NORM_BACK:
      return (struct output){second->count, 2 * rounded(memory_format_size(second->format) * second->last),
                             second->shape, second->format};
    case OUTPUT_TAKEN:
      return next_gradient(walk);
    case OUTPUT_CALLS:
    case OUTPUT_NONE:
    case OUTPUT_VIEW:
    case OUTPUT_PART:
    case OUTPUT_SPREAD:
    case OUTPUT_INNER:
    case OUTPUT_LISTS:
      break;
  }
  return (struct output){0};
}

static enum lumos_memory_part part_here(const struct memory_walk *walk) {
  return task_at(walk, walk->at)->part == LUMOS_PART_HEAD ? LUMOS_MEMORY_HEAD : LUMOS_MEMORY_TEMPORARY;
}

/* A new tensor. */
static uint32_t make(struct memory_walk *walk, struct output output, bool gradient, bool pending) {
  uint32_t piece = memory_add_piece(walk, product(output.count, memory_format_size(output.format)), part_here(walk));
  walk->memory->pieces.items[piece].needs_gradient = gradient;
  memory_add_handle(walk, (struct memory_handle){.count = output.count,
                                                 .piece = piece,
                                                 .shape = output.shape,
                                                 .format = output.format,
                                                 .made = true,
                                                 .pending = pending});
  return piece;
}

/* A matrix that is turned, as the weights of a product are, is told by both its sizes. */
static void do_view(struct memory_walk *walk, struct taken *taken, enum memory_view view) {
  bool turned = is_op(walk, walk->at, "aten::t");
  struct memory_search search = {.tensor = input(walk, taken, 0),
                                 .exact = true,
                                 .micro_batch = LUMOS_ABSENT_INT,
                                 .lowest = walk->handles.count > NEARBY ? walk->handles.count - NEARBY : 0};
  uint32_t matrix = turned ? memory_find_handle(walk, &search) : LUMOS_NONE;
  taken->handles[0] = matrix != LUMOS_NONE ? matrix : taken->handles[0];
  if (taken->count > 0 && taken->handles[0] != LUMOS_NONE) {
    struct memory_handle handle = walk->handles.items[taken->handles[0]];
    handle.view = (uint8_t)view;
    handle.of = taken->inputs.first;
    handle.count = input(walk, taken, 0)->count;
    handle.made = false;
    handle.shape =
        turned && input(walk, taken, 0)->dimensions == 2
            ? memory_shape_of(memory_shape_of(SHAPE_OF_NONE, input(walk, taken, 0)->last), input(walk, taken, 0)->first)
            : 0;
    handle.pending = op_at(walk, walk->at)->node != LUMOS_NONE && walk->handles.items[taken->handles[0]].pending;
    memory_add_handle(walk, handle);
  }
}

void memory_do_op(struct memory_walk *walk, const struct memory_rule *rule) {
  struct taken taken;
  bool backward = op_at(walk, walk->at)->node != LUMOS_NONE && !is_forward(walk, walk->at);
  take_inputs(walk, rule, &taken);
  if (rule->output == OUTPUT_VIEW || rule->output == OUTPUT_PART || rule->output == OUTPUT_SPREAD) {
    do_view(walk, &taken, rule->output == OUTPUT_PART ? PART : rule->output == OUTPUT_SPREAD ? SPREAD : WHOLE);
    return;
  }
  bool keeps = keeps_here(walk);
  if (keeps) {
    keep_inputs(walk, rule, &taken);
  }
  if (rule->output == OUTPUT_CALLS || (rule->output == OUTPUT_ASSUMED && (walk->traits[walk->at] & CALLS_OTHERS))) {
    return;
  }
  if (rule->output == OUTPUT_NONE) {
    return;
  }
  taken.handles[0] = rule->output == OUTPUT_OWN ? LUMOS_NONE : taken.handles[0];
  use(walk, &taken);
  walk->memory->assumed += rule->output == OUTPUT_ASSUMED;
  struct output output = output_of(walk, rule, &taken);
  if (output.count == 0) {
    return;
  }
  uint32_t piece = make(walk, output, keeps, backward);
  if (rule->output == OUTPUT_OWN) {
    memory_share_buffer(walk, piece);
  }
  if (keeps && rule->keep & KEEP_OUTPUT) {
    keep_piece(walk, piece);
  }
  if (output.beside > 0) {
    uint32_t beside = memory_add_piece(walk, output.beside, part_here(walk));
    if (keeps && rule->keep & KEEP_STATISTICS) {
      keep_piece(walk, beside);
    }
  }
}

/* Does the op fill the memory that an op around it has reserved? */
static bool fills(const struct memory_walk *walk, uint32_t place) {
  return is_op(walk, place, "aten::copy_") || is_op(walk, place, "aten::fill_") || is_op(walk, place, "aten::zero_");
}

/* The memory that an op has reserved shows where it is filled. */
void memory_do_inner(struct memory_walk *walk) {
  uint32_t around = walk->inside[walk->at];
  const struct memory_rule *rule = walk->rules[around];
  if (!fills(walk, walk->at) || walk->traits[around] & DONE) {
    return;
  }
  struct memory_inputs inputs = memory_inputs_of(&walk->shapes, span_at(walk, walk->at));
  if (rule->output != OUTPUT_INNER || inputs.count == 0) {
    return;
  }
  struct memory_tensor tensor = walk->shapes.tensors.items[inputs.first];
  bool backward = op_at(walk, around)->node != LUMOS_NONE && !is_forward(walk, around);
  walk->traits[around] |= DONE;
  struct output output = {tensor.count, 0, tensor.shape, tensor.format};
  uint32_t piece = make(walk, output, (walk->traits[around] & MAKES_NODE) != 0, backward);
  memory_hold_copy(walk, around, piece);
}
