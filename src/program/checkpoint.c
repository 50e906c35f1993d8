#include "program/checkpoint.h"

#include "program/shapes.h"
#include <string.h>

static bool has_input(const struct lumos_job *job, uint32_t checkpoint, const struct program_dimensions *gradient) {
  struct program_dimensions inputs[SHAPE_INPUTS];
  bool has = false;
  if (job->spans.items[checkpoint].shapes == LUMOS_NO_STRING || gradient->count == 0) {
    return false;
  }
  program_shape_read(lumos_string(job->strings, job->spans.items[checkpoint].shapes), inputs);
  for (int i = 0; i < SHAPE_INPUTS && !has; i++) {
    size_t size = (size_t)gradient->count * sizeof *gradient->of;
    has = inputs[i].count == gradient->count && memcmp(inputs[i].of, gradient->of, size) == 0;
  }
  return has;
}

bool program_accumulates_input(const struct lumos_job *job, uint32_t span) {
  const struct lumos_span *op = &job->spans.items[span];
  struct program_dimensions inputs[SHAPE_INPUTS];
  if (op->shapes == LUMOS_NO_STRING || strcmp(lumos_string(job->strings, op->name), PROGRAM_ACCUMULATES) != 0) {
    return false;
  }
  program_shape_read(lumos_string(job->strings, op->shapes), inputs);
  for (uint32_t s = op->parent; s != LUMOS_NONE; s = job->spans.items[s].parent) {
    const struct lumos_span *around = &job->spans.items[s];
    bool checkpoint = strstr(lumos_string(job->strings, around->name), "CheckpointFunctionBackward") != NULL;
    if (checkpoint && around->forward != LUMOS_NONE && has_input(job, around->forward, &inputs[0])) {
      return true;
    }
  }
  return false;
}
