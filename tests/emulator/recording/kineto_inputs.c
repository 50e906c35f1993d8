/* The inputs of an op with shapes: four lists, of an entry for each argument of the op's schema. The training program
 * gives what it knows of a call, mostly tensors; a table says where they stand in the schema, and what the other
 * arguments are.
 */
#include "kineto.h"

#include <stdlib.h>
#include <string.h>

enum input_part { CONCRETE_INPUTS, INPUT_TYPES, INPUT_STRIDES, INPUT_DIMS, INPUT_PARTS };

struct input {
  const char *text;
  size_t length;
};

/* ---- schemas ---- */

/* A digit stands for an input that is given, all else for itself. Overloads differ in how many are given. Copies are
 * given source, destination and type, so that the ops which nest around one can share them; sums in place are given
 * what is added first. Ops that are not here have their inputs as given. */
static const struct schema {
  const char *op; /* with a star at its end: all that begin so */
  size_t given;   /* 0: any number */
  const char *arguments;
} schemas[] = {
    {"aten::_foreach_copy_", 0, "2 1 =False"},
    {"aten::_grouped_mm", 0, "1 2 3 - -"},
    {"aten::_softmax", 0, "1 =-1 =False"},
    {"aten::_softmax_backward_data", 0, "1 1 =-1 =15"},
    {"aten::_to_copy", 4, "1 3 4 - - =True -"},
    {"aten::_to_copy", 0, "1 3 - - - =False -"},
    {"aten::add", 0, "1 2 =1"},
    {"aten::add_", 0, "2 1 =1"},
    {"aten::as_strided", 0, "1 2 3 -"},
    {"aten::clone", 0, "1 =0"},
    {"aten::contiguous", 0, "1 =0"},
    {"aten::copy_", 4, "2 1 =True"},
    {"aten::copy_", 0, "2 1 =False"},
    {"aten::detach", 0, "1"},
    {"aten::embedding", 0, "1 2 =-1 =False =False"},
    {"aten::embedding_dense_backward", 0, "1 2 3 =-1 =False"},
    {"aten::empty_like", 0, "1 - - - =False =1"},
    {"aten::fill_", 0, "1 =1."},
    {"aten::gelu", 0, "1 =none"},
    {"aten::gelu_backward", 0, "1 1 =none"},
    {"aten::index", 0, "1 -"},
    {"aten::index_select", 0, "1 =0 2"},
    {"aten::layer_norm", 0, "1 2 3 4 =1.0000000000000001e-05 =True"},
    {"aten::max", 0, "1 =-1 =False"},
    {"aten::mean", 0, "1 -"},
    {"aten::mul_", 0, "1 double[]"},
    {"aten::native_layer_norm", 0, "1 2 3 4 =1.0000000000000001e-05"},
    {"aten::native_layer_norm_backward", 0, "1 2 3 4 5 6 7 =[True,True,True]"},
    {"aten::ones_like", 0, "1 - - - =False =1"},
    {"aten::scatter", 0, "1 =1 2 3"},
    {"aten::split_with_sizes", 0, "1 2 =-1"},
    {"aten::sum", 0, "1 2 =False -"},
    {"aten::t", 0, "1"},
    {"aten::to", 4, "1 3 4 - - =True =False -"},
    {"aten::to", 0, "1 3 =False =False -"},
    {"aten::topk", 0, "1 2 =-1 =True =True"},
    {"aten::transpose", 0, "1 =0 =1"},
    {"flash_attn::_flash_attn_backward", 0, "1 1 2 2 1 3 1 2 2 =0. 4 =True =-1 =-1 =0. - =False 5"},
    {"flash_attn::_flash_attn_forward", 0, "1 2 2 =0. 3 =True =-1 =-1 =0. - =False"},
    {"torch::autograd::AccumulateGrad", 0, "1"},
    /* Given of a message: what the op is handed, its output, the rank that it names, the group's first rank, stride and
     * size, its input, what each member gets of that; of a wait the rank alone. */
    {"c10d::_allgather_base_", 0, "2 1 - =True =-1"},
    {"c10d::_reduce_scatter_base_", 0, "2 1 - - =True =-1"},
    {"c10d::alltoall_base_", 0, "2 1 - 8 8 =True =-1"},
    {"c10d::allreduce_", 0, "1 - - - =True =-1"},
    {"c10d::broadcast_", 0, "1 - 3 =0 =True =-1"},
    {"c10d::recv_", 0, "1 - 3 =0"},
    {"c10d::send", 0, "1 - 3 =0"},
    {"nccl:*", 0, "7"},
    {"record_param_comms", 1, "- - 1 - =[] =[] =-1 =-1 =1"},
    {"record_param_comms", 0, "1 - - 3 - 8 8 4 5 6 =True"},
};

static struct input first_of(const char *inputs) { return (struct input){inputs, strcspn(inputs, " ")}; }

/* The empty one behind the last. */
static struct input next_of(struct input input) {
  const char *end = input.text + input.length;
  return first_of(*end == ' ' ? end + 1 : end);
}

static size_t count_of(const char *inputs) {
  size_t count = 0;
  for (struct input input = first_of(inputs); input.length > 0; input = next_of(input)) {
    count++;
  }
  return count;
}

static struct input nth_of(const char *inputs, int number) {
  struct input input = first_of(inputs);
  while (number-- > 1 && input.length > 0) {
    input = next_of(input);
  }
  return input.length > 0 ? input : first_of("-");
}

/* NULL: the inputs are the arguments. */
static const char *arguments_of(const char *op, const char *inputs) {
  for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
    const struct schema *schema = &schemas[i];
    size_t length = strlen(schema->op);
    bool named = schema->op[length - 1] == '*' ? strncmp(schema->op, op, length - 1) == 0 : strcmp(schema->op, op) == 0;
    if (named && (schema->given == 0 || schema->given == count_of(inputs))) {
      return schema->arguments;
    }
  }
  return NULL;
}

/* ---- one argument ---- */

static bool is_list(struct input input) { return *input.text == '('; }
static bool is_tensor(struct input input) {
  return memchr(input.text, '[', input.length) != NULL && *input.text != '=';
}

/* From "8,4": "8, 4". */
static void put_spaced(struct writer *out, const char *text, size_t length) {
  for (const char *at = text; at < text + length; at++) {
    put_bytes(out, *at == ',' ? ", " : at, *at == ',' ? 2 : 1);
  }
}

/* Of a dense tensor. */
static void put_dense_strides(struct writer *out, const char *dims) {
  enum { MOST = 8 };
  int64_t sizes[MOST], strides[MOST], stride = 1;
  int count = 0;
  while (count < MOST && *dims >= '0' && *dims <= '9') {
    char *end = NULL;
    sizes[count++] = strtoll(dims, &end, 10);
    dims = *end == ',' ? end + 1 : end;
  }
  for (int i = count - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  for (int i = 0; i < count; i++) {
    put_number(out, i == 0 ? "" : ", ", strides[i]);
  }
}

/* Of "bf16[8,4]" or, where it is not dense, of "bf16[8,4|1,8]". */
static void put_extent(struct writer *out, struct input tensor, bool strides) {
  const char *bracket = memchr(tensor.text, '[', tensor.length);
  PUT(out, "[");
  if (bracket != NULL) {
    const char *dims = bracket + 1;
    size_t length = strcspn(dims, "|]");
    if (!strides) {
      put_spaced(out, dims, length);
    } else if (dims[length] == '|') {
      put_spaced(out, dims + length + 1, strcspn(dims + length + 1, "]"));
    } else {
      put_dense_strides(out, dims);
    }
  }
  PUT(out, "]");
}

/* A list has a list of its tensors' extents; one that is longer than PyTorch writes out, "()", has none. */
static void put_extents(struct writer *out, struct input input, bool strides) {
  if (!is_list(input)) {
    put_extent(out, is_tensor(input) ? input : first_of("-"), strides);
    return;
  }
  PUT(out, "[");
  const char *end = input.text + input.length - 1;
  for (const char *at = input.text + 1; at < end;) {
    struct input tensor = {at, strcspn(at, ";)")};
    put_text(out, at > input.text + 1 ? ", " : "");
    put_extent(out, tensor, strides);
    at += tensor.length + 1;
  }
  PUT(out, "]");
}

static void put_type(struct writer *out, struct input input) {
  static const char *const names[][2] = {
      {"bf16", "c10::BFloat16"}, {"int64", "long int"}, {"int32", "int"}, {"uint8", "unsigned char"}};
  if (*input.text == '=') {
    put_text(out, input.text[1] == '[' ? "ScalarList" : "Scalar");
    return;
  }
  if (is_list(input)) {
    put_text(out, "TensorList");
    return;
  }
  if (!is_tensor(input)) {
    return;
  }
  size_t size = strcspn(input.text, "[");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i][0]) == size && strncmp(names[i][0], input.text, size) == 0) {
      put_text(out, names[i][1]);
      return;
    }
  }
  put_bytes(out, input.text, size);
}

static void put_input(struct writer *out, enum input_part part, struct input input) {
  switch (part) {
    case CONCRETE_INPUTS:
      PUT(out, "\"");
      put_spaced(out, input.text + 1, *input.text == '=' ? input.length - 1 : 0);
      PUT(out, "\"");
      break;
    case INPUT_TYPES:
      PUT(out, "\"");
      put_type(out, input);
      PUT(out, "\"");
      break;
    default:
      put_extents(out, input, part == INPUT_STRIDES);
  }
}

/* ---- lists ---- */

void put_inputs(struct writer *out, const char *op, const char *inputs) {
  static const char *const keys[INPUT_PARTS] = {
      [CONCRETE_INPUTS] = ", \"Concrete Inputs\": [",
      [INPUT_TYPES] = ", \"Input type\": [",
      [INPUT_STRIDES] = ", \"Input Strides\": [",
      [INPUT_DIMS] = ", \"Input Dims\": [",
  };
  const char *arguments = arguments_of(op, inputs);
  arguments = arguments != NULL ? arguments : inputs;
  for (int part = 0; part < INPUT_PARTS; part++) {
    put_text(out, keys[part]);
    for (struct input argument = first_of(arguments); argument.length > 0; argument = next_of(argument)) {
      bool given = argument.length == 1 && *argument.text >= '1' && *argument.text <= '9';
      put_text(out, argument.text > arguments ? ", " : "");
      put_input(out, (enum input_part)part, given ? nth_of(inputs, *argument.text - '0') : argument);
    }
    PUT(out, "]");
  }
}
