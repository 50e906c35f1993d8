#include "transform/sides.h"

#include "cost/operation.h"
#include "program/shapes.h"
#include <stdlib.h>
#include <string.h>

/* Is an op around it one of a forward pass, which autograd numbers? Checkpoints compute such again in backward
 * nodes. */
static bool is_again(const struct lumos_job *job, size_t s) {
  uint32_t span = (uint32_t)s;
  for (size_t depth = 0; span != LUMOS_NONE && depth < job->spans.count; depth++) {
    const struct lumos_span *op = &job->spans.items[span];
    if (op->forward != LUMOS_NONE || strstr(lumos_string(job->strings, op->name), "Backward") != NULL) {
      return false; /* a node's function has its forward op's number */
    }
    if (op->kind == LUMOS_SPAN_OP && op->sequence != LUMOS_ABSENT) {
      return true;
    }
    span = op->parent;
  }
  return false;
}

/* By span: the innermost node of autograd around a product of two matrices; LUMOS_NONE: it is not one, or there is
 * none. */
static uint32_t *find_nodes(const struct lumos_job *job) {
  static const char engine[] = "autograd::engine::evaluate_function";
  uint32_t *nodes = lumos_allocate(job->spans.count * sizeof *nodes + 1);
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_operation_rule *rule =
        lumos_operation_rule(lumos_string(job->strings, job->spans.items[s].name));
    bool product = rule != NULL && rule->form == LUMOS_PRODUCT && job->spans.items[s].shapes != LUMOS_NO_STRING &&
                   !is_again(job, s);
    uint32_t span = product ? job->spans.items[s].parent : LUMOS_NONE;
    for (size_t depth = 0; span != LUMOS_NONE && depth < job->spans.count; depth++) {
      if (strncmp(lumos_string(job->strings, job->spans.items[span].name), engine, sizeof engine - 1) == 0) {
        break;
      }
      span = job->spans.items[span].parent;
    }
    nodes[s] = span;
  }
  return nodes;
}

/* Rows that are tokens are those of an input's gradient; tokens that are summed over, of a weight's. */
static enum lumos_side by_shapes(const char *op, const char *shapes, int64_t tokens) {
  const struct lumos_operation_rule *rule = lumos_operation_rule(op);
  struct program_dimensions all[SHAPE_INPUTS];
  program_shape_read(shapes, all);
  const struct program_dimensions *a = &all[rule->first];
  bool rows = a->count == 2 && a->of[0] == tokens, inner = a->count == 2 && a->of[1] == tokens;
  return rows == inner ? LUMOS_ANY_SIDE : rows ? LUMOS_OF_INPUT : LUMOS_OF_WEIGHT;
}

static int64_t tokens_of(const struct lumos_job *job) {
  const struct lumos_model_description *model = job->models.count > 0 ? &job->models.items[0] : NULL;
  bool known = model != NULL && model->sequence > 0 && model->micro_batch > 0;
  return known ? (int64_t)model->sequence * model->micro_batch : 0;
}

uint8_t *lumos_sides_find(const struct lumos_job *job) {
  enum { BOTH = 2 };
  uint8_t *sides = lumos_allocate_zeroed(job->spans.count + 1, 1);
  uint32_t *nodes = find_nodes(job);
  uint32_t *counts = lumos_allocate_zeroed(job->spans.count + 1, sizeof *counts); /* by span: products in it */
  uint8_t *last = lumos_allocate_zeroed(job->spans.count + 1, 1);                 /* by span: the side before this */
  int64_t tokens = tokens_of(job);
  for (size_t s = 0; s < job->spans.count; s++) {
    if (nodes[s] != LUMOS_NONE) {
      counts[nodes[s]]++;
    }
  }
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    uint32_t count = nodes[s] == LUMOS_NONE ? 0 : counts[nodes[s]];
    if (count >= BOTH) {
      enum lumos_side told = count == BOTH ? LUMOS_ANY_SIDE
                                           : by_shapes(lumos_string(job->strings, span->name),
                                                       lumos_string(job->strings, span->shapes), tokens);
      enum lumos_side turn = last[nodes[s]] == LUMOS_OF_INPUT                    ? LUMOS_OF_WEIGHT
                             : count == BOTH || last[nodes[s]] != LUMOS_ANY_SIDE ? LUMOS_OF_INPUT
                                                                                 : LUMOS_ANY_SIDE;
      sides[s] = last[nodes[s]] = (uint8_t)(told != LUMOS_ANY_SIDE ? told : turn);
    }
  }
  free(last);
  free(counts);
  free(nodes);
  return sides;
}
