/* The inputs of an op with shapes: dense tensors, scalars, lists of scalars and what is none of them, four lists of them one after the
 * other.
 */
#include "kineto.h"

#include <stdlib.h>
#include <string.h>

enum input_part { CONCRETE_INPUTS, INPUT_TYPES, INPUT_STRIDES, INPUT_DIMS, INPUT_PARTS };

/* The strides of a dense tensor whose dimensions begin at `dims`. */
static void put_strides(struct writer *out, const char *dims) {
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

static void put_type(struct writer *out, const char *input, size_t length) {
  static const char *const names[][2] = {
      {"bf16", "c10::BFloat16"}, {"int64", "long int"}, {"int32", "int"}, {"uint8", "unsigned char"}};
  if (*input == '=') {
    put_text(out, input[1] == '[' ? "ScalarList" : "Scalar");
    return;
  }
  const char *bracket = memchr(input, '[', length);
  if (bracket == NULL) {
    return;
  }
  size_t size = (size_t)(bracket - input);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i][0]) == size && strncmp(names[i][0], input, size) == 0) {
      put_text(out, names[i][1]);
      return;
    }
  }
  put_bytes(out, input, size);
}

static void put_input(struct writer *out, enum input_part part, const char *input, size_t length) {
  const char *dims = *input == '=' ? NULL : memchr(input, '[', length);
  switch (part) {
    case CONCRETE_INPUTS:
      PUT(out, "\"");
      put_bytes(out, input + 1, *input == '=' ? length - 1 : 0);
      PUT(out, "\"");
      break;
    case INPUT_TYPES:
      PUT(out, "\"");
      put_type(out, input, length);
      PUT(out, "\"");
      break;
    case INPUT_STRIDES:
      PUT(out, "[");
      put_strides(out, dims != NULL ? dims + 1 : "");
      PUT(out, "]");
      break;
    default:
      PUT(out, "[");
      for (const char *at = dims != NULL ? dims + 1 : input + length; at < input + length && *at != ']'; at++) {
        put_bytes(out, *at == ',' ? ", " : at, *at == ',' ? 2 : 1);
      }
      PUT(out, "]");
  }
}

void put_inputs(struct writer *out, const char *inputs) {
  static const char *const keys[INPUT_PARTS] = {
      [CONCRETE_INPUTS] = ", \"Concrete Inputs\": [",
      [INPUT_TYPES] = ", \"Input type\": [",
      [INPUT_STRIDES] = ", \"Input Strides\": [",
      [INPUT_DIMS] = ", \"Input Dims\": [",
  };
  for (int part = 0; part < INPUT_PARTS; part++) {
    put_text(out, keys[part]);
    for (const char *input = inputs; *input != '\0';) {
      size_t length = strcspn(input, " ");
      put_input(out, (enum input_part)part, input, length);
      input += length;
      if (*input == ' ') {
        PUT(out, ", ");
        input++;
      }
    }
    PUT(out, "]");
  }
}
