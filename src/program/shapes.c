/* Shapes are texts, and as interned strings equal ones are one number: spans are counted by name and shapes, and only
 * what is distinct is read.
 */
#include "program/shapes.h"

#include "base/numbering.h"
#include "program/place.h"
#include <stdlib.h>
#include <string.h>

struct known_op {
  const char *name;
  uint8_t op;
};

static const struct known_op known_ops[] = {
    {"aten::scaled_dot_product_attention", OP_ATTENTION_HEADS_FIRST},
    {"aten::_scaled_dot_product_flash_attention", OP_ATTENTION_HEADS_FIRST},
    {"aten::_scaled_dot_product_efficient_attention", OP_ATTENTION_HEADS_FIRST},
    {"aten::_scaled_dot_product_cudnn_attention", OP_ATTENTION_HEADS_FIRST},
    {"FlashAttnFunc", OP_ATTENTION_SEQUENCE_FIRST},
    {"FlashAttnVarlenFunc", OP_ATTENTION_SEQUENCE_FIRST},
    {"flash_attn::_flash_attn_forward", OP_ATTENTION_SEQUENCE_FIRST},
    {"flash_attn::_flash_attn_varlen_forward", OP_ATTENTION_SEQUENCE_FIRST},
    {"flash_attn_3::_flash_attn_forward", OP_ATTENTION_SEQUENCE_FIRST},
    {"flash_attn_3::fwd", OP_ATTENTION_SEQUENCE_FIRST},
    {"aten::_flash_attention_forward", OP_ATTENTION_SEQUENCE_FIRST},
    {"aten::_efficient_attention_forward", OP_ATTENTION_SEQUENCE_FIRST},
    {"aten::_softmax", OP_SOFTMAX},
    {"aten::mm", OP_PRODUCT},
    {"aten::_scaled_mm", OP_PRODUCT},
    {"aten::addmm", OP_PRODUCT_AND_SUM},
    {"aten::embedding", OP_EMBEDDING},
    {"aten::layer_norm", OP_NORM},
    {"aten::rms_norm", OP_NORM},
    {"aten::_fused_rms_norm", OP_NORM},
    {"aten::native_layer_norm", OP_NORM},
    {"aten::_log_softmax", OP_LOSS},
};

static uint8_t op_of_name(const char *name) {
  for (size_t i = 0; i < sizeof known_ops / sizeof *known_ops; i++) {
    if (strcmp(name, known_ops[i].name) == 0) {
      return known_ops[i].op;
    }
  }
  if (strncmp(name, "triton_", 7) != 0) {
    return OP_NONE;
  }
  return strstr(name, "_embedding") != NULL ? OP_FUSED_EMBEDDING
         : strstr(name, "_norm") != NULL    ? OP_FUSED_NORM
                                            : OP_NONE;
}

/* --- Reading --- */

/* One number of a tensor's shape. False: the text is no number here. */
static bool read_number(const char **text, struct program_dimensions *input) {
  char *end = NULL;
  long long number = **text >= '0' && **text <= '9' ? strtoll(*text, &end, 10) : -1;
  if (number < 0) {
    return false;
  }
  *text = end;
  if (input->count >= 0) {
    input->count = input->count < SHAPE_DIMENSIONS ? input->count + 1 : -1;
  }
  if (input->count > 0) {
    input->of[input->count - 1] = number;
  }
  return true;
}

/* Depth 1 lists inputs, depth 2 the dimensions of one; deeper are lists of tensors, which are no tensor. */
void program_shape_read(const char *text, struct program_dimensions inputs[SHAPE_INPUTS]) {
  int depth = 0;
  int input = -1;
  struct program_dimensions beyond = {0};
  memset(inputs, 0, SHAPE_INPUTS * sizeof *inputs);
  while (*text != '\0') {
    struct program_dimensions *at = input >= 0 && input < SHAPE_INPUTS ? &inputs[input] : &beyond;
    if (*text == '[') {
      depth++;
      input += depth == 2;
      at->count = depth > 2 ? -1 : at->count;
      text++;
    } else if (*text == ']') {
      depth--;
      text++;
    } else if (depth != 2 || !read_number(&text, at)) {
      text++;
    }
  }
  for (size_t i = 0; i < SHAPE_INPUTS; i++) {
    inputs[i].count = inputs[i].count < 0 ? 0 : inputs[i].count;
  }
}

/* --- Counting --- */

struct counting {
  struct program_shapes *shapes;
  struct lumos_numbering numbering; /* of name and shapes */
};

static void count_span(struct counting *counting, const struct lumos_span *span, uint8_t op) {
  enum { MOST_SHAPES = 4096 }; /* a model has few; what differs from batch to batch tells nothing */
  uint32_t number = lumos_number_of(&counting->numbering, lumos_key_pair(span->name, span->shapes));
  if (number >= MOST_SHAPES) {
    return;
  }
  if (number == counting->shapes->count) {
    struct program_shape shape = {.name = span->name, .shapes = span->shapes, .op = op};
    lumos_vector_push(counting->shapes, shape);
  }
  counting->shapes->items[number].count++;
}

static int place_in_table(const char *name) {
  int place = 0;
  while (place < (int)(sizeof known_ops / sizeof *known_ops) && strcmp(name, known_ops[place].name) != 0) {
    place++;
  }
  return place;
}

/* In the table's order; of one name the most frequent first, and equally frequent ones by their text. */
static int compare_shapes(const void *left, const void *right, void *context) {
  const struct program_shape *a = left, *b = right;
  const struct lumos_job *job = context;
  const char *name = lumos_string(job->strings, a->name);
  const char *other = lumos_string(job->strings, b->name);
  int place = place_in_table(name), other_place = place_in_table(other);
  if (place != other_place) {
    return place < other_place ? -1 : 1;
  }
  if (a->name != b->name) {
    return strcmp(name, other);
  }
  return a->count != b->count ? LUMOS_ORDER(b->count, a->count)
                              : strcmp(lumos_string(job->strings, a->shapes), lumos_string(job->strings, b->shapes));
}

/* Autocast calls an op within itself, with the same inputs in another type. */
static bool is_called_by_itself(const struct lumos_job *job, const struct lumos_span *span) {
  return span->parent != LUMOS_NONE && job->spans.items[span->parent].name == span->name;
}

void program_shapes_gather(const struct lumos_job *job, struct program_shapes *shapes) {
  struct counting counting = {.shapes = shapes};
  struct program_places places;
  uint32_t strings = lumos_strings_count(job->strings);
  uint8_t *ops = lumos_allocate_zeroed(strings + 1U, 1);
  for (uint32_t string = 1; string <= strings; string++) {
    ops[string] = op_of_name(lumos_string(job->strings, string));
  }
  program_places_begin(&places, job);
  for (uint32_t i = 0; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    if (span->kind == LUMOS_SPAN_OP && ops[span->name] != OP_NONE && span->shapes != LUMOS_NO_STRING &&
        !is_called_by_itself(job, span) && !program_span_in_backward(&places, i)) {
      count_span(&counting, span, ops[span->name]);
    }
  }
  program_places_free(&places);
  lumos_numbering_free(&counting.numbering);
  free(ops);
  for (size_t i = 0; i < shapes->count; i++) {
    program_shape_read(lumos_string(job->strings, shapes->items[i].shapes), shapes->items[i].inputs);
  }
  lumos_vector_sort_by(shapes, compare_shapes, (void *)(uintptr_t)job);
}
