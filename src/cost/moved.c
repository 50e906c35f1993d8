#include "cost/moved.h"

#include "base/ascii.h"
#include "cost/dtype.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 16, LIST_ELEMENT = 4 /* bytes; lists are of parameters and gradients, whose format is not recorded */ };

struct input {
  double elements; /* of all tensors, where it is a list */
  double first;    /* the first dimension */
  int size;        /* bytes of an element */
};

/* "[[8, 16], [[4], [5, 6]], []]": three inputs, the second a list. */
static int read_inputs(const char *shapes, const char *dtypes, struct input inputs[INPUTS]) {
  int depth = 0, count = 0;
  bool some = false, list = false;
  double product = 1, first = 0;
  memset(inputs, 0, INPUTS * sizeof *inputs);
  for (const char *at = shapes; *at != '\0' && count < INPUTS; at++) {
    if (*at == '[') {
      depth++;
      list = list || depth > 2;
      product = 1;
      some = false;
    } else if (*at == ']') {
      if (some && depth >= 2) {
        inputs[count].elements += product;
        inputs[count].first = first;
      }
      some = false;
      if (depth == 2) {
        int size = 0;
        (void)lumos_dtype_recorded(dtypes, count, &size);
        inputs[count].size = size > 0 ? size : list ? LIST_ELEMENT : 0;
        list = false;
        count++;
      }
      depth--;
    } else if (lumos_is_digit(*at)) {
      char *end = NULL;
      double size = strtod(at, &end);
      first = some ? first : size;
      product *= size;
      some = true;
      at = end - 1;
    }
  }
  return count;
}

static double bytes_of(const struct input *input) { return input->elements * input->size; }

static bool is_in_place(const char *op) {
  size_t length = strlen(op);
  return (length > 0 && op[length - 1] == '_') || strstr(op, "_foreach_") != NULL;
}

/* What only writes its first input reads nothing of it. */
static bool only_writes(const char *op) {
  return strstr(op, "copy_") != NULL || strstr(op, "fill_") != NULL || strstr(op, "zero_") != NULL;
}

/* What reads a part of its input, which indices name. */
static bool gathers(const char *op) {
  static const char *const names[] = {"aten::embedding", "aten::index_select",     "aten::index",
                                      "aten::gather",    "aten::nll_loss_forward", "aten::nll_loss_backward"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(op, names[i]) == 0) {
      return true;
    }
  }
  return false;
}

/* For every index a row, of all dimensions but the first, or an element. The indices are the last input that is a
 * tensor. */
static double bytes_gathered(const char *op, const struct input inputs[INPUTS], int count) {
  bool rows = strcmp(op, "aten::embedding") == 0 || strcmp(op, "aten::index_select") == 0;
  double indices = 0;
  for (int i = 1; i < count; i++) {
    indices = inputs[i].elements > 0 ? inputs[i].elements : indices;
  }
  double row = rows && inputs[0].first > 0 ? inputs[0].elements / inputs[0].first : 1;
  return indices * row * inputs[0].size;
}

struct lumos_traffic lumos_bytes_moved(enum lumos_task_kind kind, const char *op, const char *shapes,
                                       const char *dtypes) {
  struct input inputs[INPUTS];
  int count = read_inputs(shapes, dtypes, inputs);
  double read = 0, largest = 0;
  const struct input *rows = NULL;
  for (int i = 0; i < count; i++) {
    double bytes = bytes_of(&inputs[i]);
    read += bytes;
    largest = bytes > largest ? bytes : largest;
    rows = bytes > 0 && rows == NULL ? &inputs[i] : rows;
  }
  if (rows == NULL) {
    return (struct lumos_traffic){0, 0};
  }
  if (gathers(op)) {
    double gathered = bytes_gathered(op, inputs, count);
    return (struct lumos_traffic){gathered, gathered};
  }
  if (kind == LUMOS_REDUCTION) { /* softmax writes as much as it reads of one input */
    return (struct lumos_traffic){read, strstr(op, "softmax") != NULL ? largest : 0};
  }
  if (only_writes(op)) {
    double written = bytes_of(rows);
    return (struct lumos_traffic){read - written, written};
  }
  return (struct lumos_traffic){read, is_in_place(op) || kind == LUMOS_OPTIMIZER ? bytes_of(rows) : largest};
}

uint32_t lumos_shaped_op(const struct lumos_job *job, const struct lumos_task *task) {
  enum { DEEPEST = 1000 };
  uint32_t span = task->call != LUMOS_NONE ? job->tasks.items[task->call].span : task->span;
  for (int depth = 0; span != LUMOS_NONE && depth < DEEPEST; depth++, span = job->spans.items[span].parent) {
    const struct lumos_span *of = &job->spans.items[span];
    if (of->kind == LUMOS_SPAN_OP && of->shapes != LUMOS_NO_STRING) {
      return span;
    }
  }
  return LUMOS_NONE;
}
