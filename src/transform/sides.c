#include "transform/sides.h"

#include "base/numbering.h"
#include "cost/operation.h"
#include "program/checkpoint.h"
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

/* Numbers of the first input's dimensions, where they are three; LUMOS_NO_NUMBER: they are not. */
static uint32_t number_weight(struct lumos_numbering *numbers, const struct lumos_job *job, size_t s, bool adds) {
  const struct lumos_span *span = &job->spans.items[s];
  struct program_dimensions inputs[SHAPE_INPUTS];
  if (span->shapes == LUMOS_NO_STRING) {
    return LUMOS_NO_NUMBER;
  }
  program_shape_read(lumos_string(job->strings, span->shapes), inputs);
  const int64_t *of = inputs[0].of;
  bool fits = inputs[0].count == 3;
  for (int i = 0; i < 3 && fits; i++) {
    fits = of[i] > 0 && of[i] < UINT32_MAX;
  }
  uint32_t number = LUMOS_NO_NUMBER;
  for (int i = 0; i < 3 && fits; i++) {
    uint64_t key = lumos_key_pair(number, (uint32_t)of[i]);
    number = adds ? lumos_number_of(numbers, key) : lumos_known_number(numbers, key);
    fits = number != LUMOS_NO_NUMBER;
  }
  return fits ? number : LUMOS_NO_NUMBER;
}

/* Does it convert a weight, or do what is done with its gradient? */
static bool may_be_of_weight(const char *op) {
  static const char *const names[] = {PROGRAM_ACCUMULATES, "aten::add_", "aten::copy_", "aten::_to_copy", "aten::to"};
  bool may = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    may = may || strcmp(op, names[i]) == 0;
  }
  return may;
}

static void find_weights(const struct lumos_job *job, uint8_t *sides) {
  struct lumos_numbering numbers = {0}, weights = {0};
  for (size_t s = 0; s < job->spans.count; s++) {
    bool gets = strcmp(lumos_string(job->strings, job->spans.items[s].name), PROGRAM_ACCUMULATES) == 0;
    uint32_t number = gets ? number_weight(&numbers, job, s, true) : LUMOS_NO_NUMBER;
    if (number != LUMOS_NO_NUMBER) {
      (void)lumos_number_of(&weights, number);
    }
  }
  for (size_t s = 0; s < job->spans.count && weights.keys.count > 0; s++) {
    bool may = may_be_of_weight(lumos_string(job->strings, job->spans.items[s].name));
    uint32_t number = may ? number_weight(&numbers, job, s, false) : LUMOS_NO_NUMBER;
    bool of_weight = number != LUMOS_NO_NUMBER && lumos_known_number(&weights, number) != LUMOS_NO_NUMBER;
    sides[s] = of_weight ? LUMOS_OF_WEIGHT : sides[s];
  }
  lumos_numbering_free(&numbers);
  lumos_numbering_free(&weights);
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
  find_weights(job, sides);
  free(last);
  free(counts);
  free(nodes);
  return sides;
}
