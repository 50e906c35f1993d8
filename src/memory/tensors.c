#include "memory/tensors.h"

#include "cost/dtype.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 1024, MOST_DIMENSIONS = 16 };
static const int64_t MOST_NUMBERS = INT64_C(1) << 44; /* of a tensor: 64 TiB at most, so that sums fit */

static uint16_t format_of(const char *dtypes, int input) {
  int size = 0;
  enum lumos_dtype dtype = lumos_dtype_recorded(dtypes, input, &size);
  if (size == 0) {
    return FORMAT_NONE;
  }
  bool whole = dtype == LUMOS_NO_DTYPE || dtype == LUMOS_INT8;
  return (uint16_t)(!whole                                 ? FORMAT_FLOAT | size
                    : size == 1 && dtype == LUMOS_NO_DTYPE ? FORMAT_BOOL
                                                           : FORMAT_INTEGER | size);
}

uint32_t memory_shape_of(uint32_t shape, int64_t size) {
  uint64_t mixed = ((uint64_t)shape << 32U ^ (uint64_t)size) * UINT64_C(0x9e3779b97f4a7c15);
  uint32_t folded = (uint32_t)(mixed >> 32U);
  return folded == 0 ? SHAPE_OF_NONE : folded;
}

static void add_dimension(struct memory_tensor *tensor, int64_t size) {
  if (tensor->dimensions < MOST_DIMENSIONS) {
    tensor->first = tensor->dimensions == 0 ? size : tensor->first;
    if (tensor->dimensions < KNOWN_SIZES) {
      tensor->sizes[tensor->dimensions] = size;
    }
    tensor->dimensions++;
    tensor->rows = memory_shape_of(tensor->shape, 1);
    tensor->shape = memory_shape_of(tensor->shape, size);
    tensor->previous = tensor->last;
    tensor->last = size;
    tensor->count = size > 0 && tensor->count > MOST_NUMBERS / size ? MOST_NUMBERS : tensor->count * size;
  }
}

static const struct memory_tensor one = {
    .count = 1, .shape = SHAPE_OF_NONE, .rows = SHAPE_OF_NONE, .last = 1, .previous = 1, .first = 1};

/* Depth 1 lists inputs, depth 2 the dimensions of one or the tensors of a list, depth 3 the dimensions of such. */
static void read_tensors(struct memory_shapes *shapes, const char *text, const char *dtypes) {
  int depth = 0, input = -1;
  bool list = false;
  struct memory_tensor tensor = one;
  for (size_t first = shapes->tensors.count; *text != '\0' && shapes->tensors.count - first < MOST_INPUTS;) {
    if (*text == '[') {
      depth++;
      input += depth == 2;
      list = depth == 2 ? false : list || depth == 3;
      tensor = one;
    } else if (*text == ']') {
      bool ends = depth == 3 || (depth == 2 && !list);
      tensor.listed = depth == 3;
      tensor.format = ends && depth == 2 ? format_of(dtypes, input) : FORMAT_NONE;
      if (ends && (tensor.format != FORMAT_NONE || tensor.listed)) {
        lumos_vector_push(&shapes->tensors, tensor);
      }
      depth--;
    } else if (*text >= '0' && *text <= '9') {
      char *end = NULL;
      long long size = strtoll(text, &end, 10);
      add_dimension(&tensor, size > MOST_NUMBERS ? MOST_NUMBERS : size);
      text = end;
      continue;
    }
    text++;
  }
}

struct memory_inputs memory_inputs_of(struct memory_shapes *shapes, const struct lumos_span *span) {
  if (span->shapes == LUMOS_NO_STRING || span->dtypes == LUMOS_NO_STRING) {
    return (struct memory_inputs){0};
  }
  uint32_t number = lumos_number_of(&shapes->numbering, lumos_key_pair(span->shapes, span->dtypes));
  if (number == shapes->inputs.count) {
    struct memory_inputs inputs = {.first = (uint32_t)shapes->tensors.count};
    read_tensors(shapes, lumos_string(shapes->job->strings, span->shapes),
                 lumos_string(shapes->job->strings, span->dtypes));
    inputs.count = (uint32_t)shapes->tensors.count - inputs.first;
    lumos_vector_push(&shapes->inputs, inputs);
  }
  return shapes->inputs.items[number];
}

bool memory_is_part(const struct memory_tensor *tensor, const struct memory_tensor *whole) {
  bool shorter = tensor->dimensions + 1 == whole->dimensions;
  if (whole->dimensions > KNOWN_SIZES || (!shorter && tensor->dimensions != whole->dimensions)) {
    return false;
  }
  int other = 0;
  for (int i = 0; i < tensor->dimensions; i++) {
    if (shorter) {
      other = tensor->sizes[i] != whole->sizes[i + other] && other == 0 ? 1 : other;
      if (tensor->sizes[i] != whole->sizes[i + other]) {
        return false;
      }
    } else {
      other += tensor->sizes[i] != whole->sizes[i];
    }
  }
  return (shorter || other <= 1) && tensor->count <= whole->count;
}

bool memory_is_spread(const struct memory_tensor *tensor, const struct memory_tensor *whole) {
  bool spread = whole->dimensions <= KNOWN_SIZES && tensor->dimensions == whole->dimensions;
  for (int i = 0; spread && i < tensor->dimensions; i++) {
    spread = tensor->sizes[i] == whole->sizes[i] || whole->sizes[i] == 1;
  }
  return spread;
}

void memory_shapes_free(struct memory_shapes *shapes) {
  lumos_numbering_free(&shapes->numbering);
  lumos_vector_free(&shapes->inputs);
  lumos_vector_free(&shapes->tensors);
}
