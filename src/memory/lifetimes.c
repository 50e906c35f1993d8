/* A walk through the ops of a step that keeps, as PyTorch would, who holds what.
 *
 * Traces name no tensors. Which one an op takes in is told by its size: the latest of as many numbers of that format, for
 * what was just made is what is used. Forward, a piece of memory is free behind its last use, or behind the gradient of
 * the last op that keeps it. Backward, every gradient takes what the gradients before it made, the latest first, and hands
 * on what it makes itself.
 */
#include "memory/lifetimes.h"

#include "memory/order.h"
#include "memory/rules.h"
#include <stdlib.h>
#include <string.h>

enum view {
  WHOLE,
  PART,
  SPREAD
}; /* all numbers of a piece; fewer; the same ones again and again. How many is not known */

struct handle { /* a tensor that an op may take in */
  int64_t count;
  uint32_t piece;
  uint32_t shape;      /* hash of its sizes; 0: not known */
  uint32_t of;         /* what it is a view of, a tensor of the shapes */
  int32_t micro_batch; /* or negative */
  uint32_t before;     /* the one before it of as many numbers in the same format, or LUMOS_NONE */
  uint16_t format;
  uint8_t view; /* enum view */
  bool made;    /* here the piece was made */
  bool pending; /* a gradient that no op has taken yet */
};

struct keep {           /* a piece that autograd keeps */
  uint32_t piece, next; /* next: of the same op, or LUMOS_NONE */
  int32_t micro_batch, layer;
  bool released; /* or never kept after all */
};

struct made_again { /* an op of a checkpointed region, whose gradient is known by its key */
  uint64_t key;
  uint32_t place;
};

struct walk {
  struct memory_step *memory;
  const struct lumos_job *job;
  struct memory_shapes shapes;
  const struct memory_rule **rules; /* by place; NULL: none */
  uint8_t *traits;                  /* by place */
  uint32_t *inside;                 /* by place: the op that this one is a detail of, or LUMOS_NONE */
  LUMOS_VECTOR(struct handle) handles;
  LUMOS_VECTOR(struct keep) keeps;
  struct lumos_numbering sizes;   /* of handles */
  LUMOS_VECTOR(uint32_t) latest;  /* handle, by size */
  struct lumos_numbering keys;    /* of keeps */
  LUMOS_VECTOR(uint32_t) heads;   /* by key: the latest keep */
  LUMOS_VECTOR(uint32_t) regions; /* indices in repeatable */
  LUMOS_VECTOR(struct made_again) repeatable;
  uint32_t at, node, node_handles;  /* the place; the gradient's op that is open, and the handles before it */
  uint32_t chunk_node, chunk_next;  /* where ops are done again, and the next that was done first */
  struct lumos_numbering gradients; /* by numbers and format */
  LUMOS_VECTOR(uint32_t) left;      /* by gradient: how many come that are first ones */
  bool measured;
};

enum { CALLS_OTHERS = 1, MAKES_NODE = 2, DONE = 4, REPEATED = 8 };
enum {
  LOOK_BACK = 512,
  LOOK_AHEAD = 64,
  RECENT = 64,
  NEARBY = 24
}; /* handles, ops. Chosen: what is used was made not long before */

static const struct memory_op *op_at(const struct walk *walk, uint32_t place) {
  return &walk->memory->ops.items[place];
}
static const struct lumos_span *span_at(const struct walk *walk, uint32_t place) {
  return &walk->job->spans.items[op_at(walk, place)->span];
}
static const char *name_at(const struct walk *walk, uint32_t place) {
  return lumos_string(walk->job->strings, span_at(walk, place)->name);
}
static const struct lumos_task *task_at(const struct walk *walk, uint32_t place) {
  return &walk->job->tasks.items[op_at(walk, place)->task];
}
static bool is_op(const struct walk *walk, uint32_t place, const char *name) {
  return strcmp(name_at(walk, place), name) == 0;
}

static bool is_accumulation(const struct walk *walk, uint32_t place) {
  return is_op(walk, place, "torch::autograd::AccumulateGrad");
}

/* --- What is known of ops beforehand --- */

/* Does the op fill the memory that an op around it has reserved? */
static bool fills(const struct walk *walk, uint32_t place) {
  return is_op(walk, place, "aten::copy_") || is_op(walk, place, "aten::fill_") || is_op(walk, place, "aten::zero_");
}

static void find_rules(struct walk *walk) {
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
    places[op_at(walk, i)->span - rank->span_first] = i + 1;
    uint32_t around = span->parent == LUMOS_NONE ? 0 : places[span->parent - rank->span_first];
    walk->inside[i] = LUMOS_NONE;
    if (around > 0) {
      const struct memory_rule *rule = walk->rules[around - 1];
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

static bool is_forward(const struct walk *walk, uint32_t place) {
  return op_at(walk, place)->node == LUMOS_NONE ||
         (walk->rules[place] != NULL && span_at(walk, place)->sequence != LUMOS_ABSENT);
}

/* Autograd's counter goes on behind an op that it makes a node for: of those that carry the same number the last. */
static void find_nodes(struct walk *walk) {
  uint32_t before[2] = {LUMOS_NONE, LUMOS_NONE}; /* forward; done again */
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    if (span_at(walk, i)->sequence == LUMOS_ABSENT || !is_forward(walk, i) || walk->inside[i] != LUMOS_NONE) {
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

/* --- Pieces and handles --- */

static int64_t rounded(int64_t bytes) { return (bytes + ALLOCATION_UNIT - 1) / ALLOCATION_UNIT * ALLOCATION_UNIT; }

static uint32_t add_piece(struct walk *walk, int64_t bytes, enum lumos_memory_part part) {
  struct memory_piece piece = {.bytes = rounded(bytes), .begin = walk->at, .end = walk->at, .part = (uint8_t)part};
  lumos_vector_push(&walk->memory->pieces, piece);
  return (uint32_t)walk->memory->pieces.count - 1;
}

static uint64_t size_key(int64_t count, uint16_t format) { return (uint64_t)count << 16U | format; }

static void add_handle(struct walk *walk, struct handle handle) {
  uint32_t number = lumos_number_of(&walk->sizes, size_key(handle.count, handle.format));
  if (number >= walk->latest.count) {
    lumos_vector_push(&walk->latest, LUMOS_NONE);
  }
  handle.before = walk->latest.items[number];
  handle.micro_batch = task_at(walk, walk->at)->micro_batch;
  walk->latest.items[number] = (uint32_t)walk->handles.count;
  lumos_vector_push(&walk->handles, handle);
}

/* Which handle is looked for: the latest that fits and is not below `lowest`, nor among `taken`. */
struct search {
  const struct memory_tensor *tensor;
  size_t lowest;
  const uint32_t *taken;
  size_t taken_count;
  bool pending, apart; /* apart: nor of the same pieces as these */
  bool whole, exact;   /* no parts; only of sizes that are known to be the same */
  bool alive;          /* kept, or not used yet */
  int32_t micro_batch; /* and of no other; negative: of any */
};

/* A tensor whose sizes are known is taken as what it is: with other sizes it is the result of an op in between. */
static bool fits(const struct walk *walk, const struct handle *handle, const struct search *search) {
  const struct memory_tensor *tensor = search->tensor;
  bool known = handle->shape != 0 && tensor->format != FORMAT_NONE;
  if ((tensor->format != FORMAT_NONE && tensor->format != handle->format) || (search->pending && !handle->pending) ||
      (known && handle->shape != tensor->shape) || (search->exact && !known)) {
    return false;
  }
  if (handle->view == WHOLE) {
    return tensor->count == handle->count;
  }
  const struct memory_tensor *of = &walk->shapes.tensors.items[handle->of];
  return !search->whole && (handle->view == PART ? memory_is_part(tensor, of) : memory_is_spread(tensor, of));
}

static bool may_be(const struct walk *walk, uint32_t h, const struct search *search) {
  const struct handle *handle = &walk->handles.items[h];
  const struct memory_piece *piece = &walk->memory->pieces.items[handle->piece];
  bool other = search->micro_batch >= 0 && handle->micro_batch >= 0 && search->micro_batch != handle->micro_batch;
  bool may = !other && fits(walk, handle, search) && (!search->alive || piece->wanted || piece->end == piece->begin);
  for (size_t t = 0; may && t < search->taken_count; t++) {
    uint32_t taken = search->taken[t];
    may = taken == LUMOS_NONE || (taken != h && !(search->apart && walk->handles.items[taken].piece == handle->piece));
  }
  return may;
}

static uint32_t find_handle(const struct walk *walk, const struct search *search) {
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

static struct memory_piece *piece_of(const struct walk *walk, uint32_t handle) {
  return &walk->memory->pieces.items[walk->handles.items[handle].piece];
}

/* --- What an op takes in, makes and keeps --- */

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

static const struct memory_tensor *input(const struct walk *walk, const struct taken *taken, uint32_t n) {
  static const struct memory_tensor none = {.count = 0, .last = 1, .previous = 1, .first = 1};
  return n < taken->inputs.count ? &walk->shapes.tensors.items[taken->inputs.first + n] : &none;
}

/* What was used already and is not kept is dead, as a rule, where something else of the same size is kept, or waits for its
 * first use. */
static uint32_t alive(const struct walk *walk, const struct search *search, uint32_t found) {
  const struct handle *handle = &walk->handles.items[found];
  const struct memory_piece *piece = &walk->memory->pieces.items[handle->piece];
  if (handle->view != WHOLE || piece->wanted || piece->end == piece->begin) {
    return found;
  }
  struct search other = *search;
  other.whole = other.alive = true;
  other.lowest = found > RECENT ? found - RECENT : 0;
  uint32_t instead = find_handle(walk, &other);
  return instead != LUMOS_NONE ? instead : found;
}

/* The inputs of most ops are tensors apart; queries, keys and values may be parts of one. */
static void take_inputs(struct walk *walk, const struct memory_rule *rule, struct taken *taken) {
  bool apart = rule->output != OUTPUT_ATTENTION && rule->output != OUTPUT_CALLS && rule->output != OUTPUT_JOINED;
  const struct memory_op *op = op_at(walk, walk->at);
  bool backward = op->node != LUMOS_NONE && !is_forward(walk, walk->at);
  taken->inputs = memory_inputs_of(&walk->shapes, span_at(walk, walk->at));
  taken->count = taken->inputs.count < MOST_TAKEN ? taken->inputs.count : MOST_TAKEN;
  for (size_t i = taken->count; i-- > 0;) { /* the last inputs were made last */
    taken->handles[i] = LUMOS_NONE;
  }
  for (size_t i = taken->count; i-- > 0;) {
    const struct memory_tensor *tensor = input(walk, taken, (uint32_t)i);
    struct search search = {.tensor = tensor,
                            .lowest = backward ? walk->node_handles : 0,
                            .taken = &taken->handles[i + 1],
                            .taken_count = taken->count - i - 1,
                            .apart = apart,
                            .micro_batch = task_at(walk, walk->at)->micro_batch};
    uint32_t found = find_handle(walk, &search);
    if (found != LUMOS_NONE && !backward && apart) {
      found = alive(walk, &search, found);
    }
    if (found == LUMOS_NONE && apart) {
      search.apart = backward;
      search.lowest = 0;
      search.pending = backward; /* a sum of two ops' gradients, one of which came earlier */
      found = find_handle(walk, &search);
    }
    taken->handles[i] = found;
  }
}

static void use(struct walk *walk, const struct taken *taken) {
  for (size_t i = 0; i < taken->count; i++) {
    if (taken->handles[i] != LUMOS_NONE) {
      struct memory_piece *piece = piece_of(walk, taken->handles[i]);
      piece->end = walk->at > piece->end ? walk->at : piece->end;
      walk->handles.items[taken->handles[i]].pending = false;
    }
  }
}

static bool needs_gradient(const struct walk *walk, const struct taken *taken, uint32_t n) {
  return n < taken->count && input(walk, taken, n)->format >= FORMAT_FLOAT &&
         (taken->handles[n] == LUMOS_NONE || piece_of(walk, taken->handles[n])->needs_gradient);
}

static uint64_t key_of(const struct walk *walk, const struct lumos_task *task, int64_t sequence) {
  uint32_t place =
      walk->measured ? 0 : ((uint32_t)task->micro_batch & 0xffffU) << 16U | ((uint32_t)task->layer & 0xffffU);
  return lumos_key_pair((uint32_t)sequence, place);
}

/* Of an op that is done again: the key of the one that was done first. */
static uint64_t own_key(const struct walk *walk, uint32_t place) {
  const struct lumos_task *task = task_at(walk, place);
  uint64_t key = key_of(walk, task, span_at(walk, place)->sequence);
  return (walk->traits[place] & REPEATED) && walk->chunk_next > 0 ? walk->repeatable.items[walk->chunk_next - 1].key
                                                                  : key;
}

static void keep_piece(struct walk *walk, uint32_t piece) {
  walk->memory->pieces.items[piece].wanted = true;
  const struct lumos_task *task = task_at(walk, walk->at);
  uint32_t number = lumos_number_of(&walk->keys, own_key(walk, walk->at));
  if (number >= walk->heads.count) {
    lumos_vector_push(&walk->heads, LUMOS_NONE);
  }
  struct keep keep = {
      .piece = piece, .next = walk->heads.items[number], .micro_batch = task->micro_batch, .layer = task->layer};
  walk->heads.items[number] = (uint32_t)walk->keeps.count;
  lumos_vector_push(&walk->keeps, keep);
}

static void keep_input(struct walk *walk, const struct taken *taken, uint32_t n) {
  if (n < taken->count && taken->handles[n] != LUMOS_NONE && input(walk, taken, n)->count > 1) {
    keep_piece(walk, walk->handles.items[taken->handles[n]].piece);
  }
}

static void keep_inputs(struct walk *walk, const struct memory_rule *rule, const struct taken *taken) {
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

/* Of two number formats the one that an operation on both takes; tensors without dimensions count only among themselves. */
static struct output spread(const struct walk *walk, const struct taken *taken) {
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
static struct output next_gradient(struct walk *walk) {
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

static struct output joined(const struct walk *walk, const struct taken *taken) {
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
static struct output gathered(struct walk *walk, const struct taken *taken) {
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

static struct output output_of(struct walk *walk, const struct memory_rule *rule, const struct taken *taken) {
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
      return like(first);
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

static enum lumos_memory_part part_here(const struct walk *walk) {
  return task_at(walk, walk->at)->part == LUMOS_PART_HEAD ? LUMOS_MEMORY_HEAD : LUMOS_MEMORY_TEMPORARY;
}

/* A new tensor. */
static uint32_t make(struct walk *walk, struct output output, bool gradient, bool pending) {
  uint32_t piece = add_piece(walk, product(output.count, memory_format_size(output.format)), part_here(walk));
  walk->memory->pieces.items[piece].needs_gradient = gradient;
  add_handle(walk, (struct handle){.count = output.count,
                                   .piece = piece,
                                   .shape = output.shape,
                                   .format = output.format,
                                   .made = true,
                                   .pending = pending});
  return piece;
}

static bool keeps_here(const struct walk *walk) { return (walk->traits[walk->at] & MAKES_NODE) != 0; }

/* A matrix that is turned, as the weights of a product are, is told by both its sizes. */
static void do_view(struct walk *walk, struct taken *taken, enum view view) {
  bool turned = is_op(walk, walk->at, "aten::t");
  struct search search = {.tensor = input(walk, taken, 0),
                          .exact = true,
                          .micro_batch = LUMOS_ABSENT_INT,
                          .lowest = walk->handles.count > NEARBY ? walk->handles.count - NEARBY : 0};
  uint32_t matrix = turned ? find_handle(walk, &search) : LUMOS_NONE;
  taken->handles[0] = matrix != LUMOS_NONE ? matrix : taken->handles[0];
  if (taken->count > 0 && taken->handles[0] != LUMOS_NONE) {
    struct handle handle = walk->handles.items[taken->handles[0]];
    handle.view = (uint8_t)view;
    handle.of = taken->inputs.first;
    handle.count = input(walk, taken, 0)->count;
    handle.made = false;
    handle.shape =
        turned && input(walk, taken, 0)->dimensions == 2
            ? memory_shape_of(memory_shape_of(SHAPE_OF_NONE, input(walk, taken, 0)->last), input(walk, taken, 0)->first)
            : 0;
    handle.pending = op_at(walk, walk->at)->node != LUMOS_NONE && walk->handles.items[taken->handles[0]].pending;
    add_handle(walk, handle);
  }
}

static void do_op(struct walk *walk, const struct memory_rule *rule) {
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
  use(walk, &taken);
  walk->memory->assumed += rule->output == OUTPUT_ASSUMED;
  struct output output = output_of(walk, rule, &taken);
  if (output.count == 0) {
    return;
  }
  uint32_t piece = make(walk, output, keeps, backward);
  if (keeps && rule->keep & KEEP_OUTPUT) {
    keep_piece(walk, piece);
  }
  if (output.beside > 0) {
    uint32_t beside = add_piece(walk, output.beside, part_here(walk));
    if (keeps && rule->keep & KEEP_STATISTICS) {
      keep_piece(walk, beside);
    }
  }
}

/* The memory that an op has reserved shows where it is filled. */
static void do_inner(struct walk *walk) {
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
  (void)make(walk, output, (walk->traits[around] & MAKES_NODE) != 0, backward);
}

/* --- Backward --- */

/* What the op keeps is free behind its gradient. */
static void release(struct walk *walk, uint32_t node) {
  uint32_t number = lumos_known_number(&walk->keys, key_of(walk, task_at(walk, node), span_at(walk, node)->sequence));
  if (span_at(walk, node)->sequence == LUMOS_ABSENT || number >= walk->heads.count) {
    return;
  }
  for (uint32_t k = walk->heads.items[number]; k != LUMOS_NONE; k = walk->keeps.items[k].next) {
    struct keep *keep = &walk->keeps.items[k];
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
static void close_node(struct walk *walk) {
  if (walk->node == LUMOS_NONE) {
    return;
  }
  bool made = false;
  size_t count = walk->handles.count;
  for (size_t h = walk->node_handles; h < count; h++) {
    struct handle *handle = &walk->handles.items[h];
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
        struct handle handle = walk->handles.items[h];
        handle.pending = true;
        add_handle(walk, handle);
      }
    }
  }
  release(walk, walk->node);
  walk->node = LUMOS_NONE;
}

/* What another gradient's op has handed on. */
static uint32_t find_gradient(const struct walk *walk, const struct memory_tensor *tensor) {
  const struct search search = {.tensor = tensor, .pending = true, .micro_batch = task_at(walk, walk->at)->micro_batch};
  return find_handle(walk, &search);
}

/* A gradient's op takes what others have handed on. */
static void take_gradients(struct walk *walk) {
  struct memory_inputs inputs = memory_inputs_of(&walk->shapes, span_at(walk, walk->at));
  for (uint32_t n = 0; n < inputs.count; n++) {
    struct memory_tensor tensor = walk->shapes.tensors.items[inputs.first + n];
    uint32_t found = find_gradient(walk, &tensor);
    if (found != LUMOS_NONE) {
      struct handle handle = walk->handles.items[found];
      struct memory_piece *piece = piece_of(walk, found);
      piece->end = walk->at > piece->end ? walk->at : piece->end;
      walk->handles.items[found].pending = false;
      handle.pending = handle.made = false;
      add_handle(walk, handle);
    }
  }
}

static uint32_t gradient_number(struct walk *walk, const struct memory_tensor *tensor) {
  return lumos_number_of(&walk->gradients, size_key(tensor->count, tensor->format));
}

/* How many micro-batches have a backward pass here. */
static uint32_t micro_batches(const struct walk *walk) {
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
static void count_gradients(struct walk *walk) {
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
    }
  }
  for (size_t i = 0; i < walk->left.count; i++) {
    walk->left.items[i] = (walk->left.items[i] + passes - 1) / passes;
  }
}

/* The first micro-batch's gradient stays; those of others are added to it. */
static void accumulate(struct walk *walk) {
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
  uint32_t *left = &walk->left.items[gradient_number(walk, &tensor)];
  if (*left > 0) {
    (*left)--;
    int64_t bytes = rounded(tensor.count * memory_format_size(tensor.format));
    uint32_t piece =
        found == LUMOS_NONE ? add_piece(walk, bytes, LUMOS_MEMORY_GRADIENTS) : walk->handles.items[found].piece;
    struct memory_piece *gradient = &walk->memory->pieces.items[piece];
    gradient->part = LUMOS_MEMORY_GRADIENTS;
    gradient->end = (uint32_t)walk->memory->ops.count;
    walk->memory->parameters += tensor.count;
    walk->memory->parameter_bytes += bytes;
  }
}

/* --- Ops that are done again --- */

static void note_forward(struct walk *walk) {
  if (is_op(walk, walk->at, "_NoopSaveInputs")) {
    lumos_vector_push(&walk->regions, (uint32_t)walk->repeatable.count);
  } else if (walk->regions.count > 0 && keeps_here(walk)) {
    struct made_again op = {key_of(walk, task_at(walk, walk->at), span_at(walk, walk->at)->sequence), walk->at};
    lumos_vector_push(&walk->repeatable, op);
  }
}

/* Ops under one gradient's op begin with the latest region that was not done again yet. What their first run kept was never kept. */
static void note_repeated(struct walk *walk) {
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

static void step_into(struct walk *walk) {
  const struct memory_op *op = op_at(walk, walk->at);
  const struct memory_rule *rule = walk->rules[walk->at];
  if (op->node != walk->node) {
    close_node(walk);
    walk->node = op->node;
    walk->node_handles = (uint32_t)walk->handles.count;
  }
  if (walk->inside[walk->at] != LUMOS_NONE) {
    do_inner(walk);
    return;
  }
  if (is_accumulation(walk, walk->at)) {
    accumulate(walk);
  } else if (rule == NULL && op->node != LUMOS_NONE && op->node != walk->at) {
    take_gradients(walk);
  }
  if (keeps_here(walk) || is_op(walk, walk->at, "_NoopSaveInputs")) {
    if (op->node == LUMOS_NONE) {
      note_forward(walk);
    } else {
      note_repeated(walk);
    }
  }
  if (rule != NULL && rule->output != OUTPUT_LISTS) {
    do_op(walk, rule);
  }
}

/* What no gradient has released is free behind the last of its layer, or of its micro-batch. */
static void release_rest(struct walk *walk) {
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
    struct keep *keep = &walk->keeps.items[k];
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

/* Lists that the optimizer makes are as long as the parameters, and free when it is done. */
static void add_lists(struct walk *walk) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    last = strncmp(name_at(walk, i), "aten::_foreach_", 15) == 0 ? i : last;
  }
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    if (walk->rules[i] != NULL && walk->rules[i]->output == OUTPUT_LISTS && walk->inside[i] == LUMOS_NONE) {
      walk->at = i;
      uint32_t piece = add_piece(walk, walk->memory->parameter_bytes, LUMOS_MEMORY_TEMPORARY);
      walk->memory->pieces.items[piece].end = last;
    }
  }
}

static bool has_shapes(const struct walk *walk) {
  bool any = false;
  for (uint32_t i = 0; i < walk->memory->ops.count && !any; i++) {
    any = walk->rules[i] != NULL && span_at(walk, i)->shapes != LUMOS_NO_STRING;
  }
  return any;
}

/* Are passes launched as graphs? */
static bool is_captured(const struct walk *walk) {
  const struct lumos_rank *rank = &walk->job->ranks.items[walk->memory->rank];
  bool any = false;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count && !any; t++) {
    const struct lumos_task *task = &walk->job->tasks.items[t];
    any = task->step == walk->memory->step && task->kind == LUMOS_LAUNCH &&
          strcmp(lumos_string(walk->job->strings, task->name), "cudaGraphLaunch") == 0;
  }
  return any;
}

static bool is_compiled(const struct walk *walk) {
  bool any = false;
  for (uint32_t i = 0; i < walk->memory->ops.count && !any; i++) {
    any = is_op(walk, i, "CompiledFunction") || is_op(walk, i, "CompiledFunctionBackward");
  }
  return any;
}

/* Forward ops that --recompute put into the backward pass stand in no gradient's op. */
static bool is_put_again(const struct walk *walk) {
  bool again = false;
  for (uint32_t i = 0; i < walk->memory->ops.count && !again && !walk->measured; i++) {
    again = (walk->traits[i] & MAKES_NODE) != 0 && op_at(walk, i)->node == LUMOS_NONE &&
            task_at(walk, i)->phase == LUMOS_BACKWARD;
  }
  return again;
}

void memory_step_read(struct memory_step *memory, const struct lumos_job *job, uint32_t rank) {
  *memory = (struct memory_step){.job = job, .rank = rank};
  memory_order_ops(memory);
  size_t count = memory->ops.count;
  struct walk walk = {.memory = memory,
                      .job = job,
                      .shapes = {.job = job},
                      .rules = lumos_allocate_zeroed(count + 1, sizeof(void *)),
                      .traits = lumos_allocate_zeroed(count + 1, 1),
                      .inside = lumos_allocate_zeroed(count + 1, sizeof *walk.inside),
                      .node = LUMOS_NONE,
                      .chunk_node = LUMOS_NONE,
                      .measured = lumos_job_measured(job)};
  find_rules(&walk);
  find_nodes(&walk);
  count_gradients(&walk);
  for (walk.at = 0; walk.at < count; walk.at++) {
    step_into(&walk);
  }
  close_node(&walk);
  release_rest(&walk);
  add_lists(&walk);
  memory->state = !has_shapes(&walk)        ? LUMOS_MEMORY_NO_SHAPES
                  : is_captured(&walk)      ? LUMOS_MEMORY_CAPTURED
                  : is_compiled(&walk)      ? LUMOS_MEMORY_COMPILED
                  : is_put_again(&walk)     ? LUMOS_MEMORY_AGAIN
                  : memory->parameters == 0 ? LUMOS_MEMORY_NO_GRADIENTS
                                            : LUMOS_MEMORY_KNOWN;
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
  lumos_numbering_free(&walk.gradients);
  lumos_numbering_free(&walk.keys);
  memory_shapes_free(&walk.shapes);
}

void memory_step_free(struct memory_step *memory) {
  lumos_vector_free(&memory->ops);
  lumos_vector_free(&memory->pieces);
}
