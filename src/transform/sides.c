#include "transform/sides.h"

#include "cost/operation.h"
#include <stdlib.h>
#include <string.h>

/* By span: the innermost node of autograd around a product of two matrices; LUMOS_NONE: it is not one, or there is none. */
static uint32_t *find_nodes(const struct lumos_job *job) {
  static const char engine[] = "autograd::engine::evaluate_function";
  uint32_t *nodes = lumos_allocate(job->spans.count * sizeof *nodes + 1);
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_operation_rule *rule =
        lumos_operation_rule(lumos_string(job->strings, job->spans.items[s].name));
    bool product = rule != NULL && rule->form == LUMOS_PRODUCT && job->spans.items[s].shapes != LUMOS_NO_STRING;
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

uint8_t *lumos_sides_find(const struct lumos_job *job) {
  enum { BOTH = 2 };
  uint8_t *sides = lumos_allocate_zeroed(job->spans.count + 1, 1);
  uint32_t *nodes = find_nodes(job);
  uint32_t *counts = lumos_allocate_zeroed(job->spans.count + 1, sizeof *counts); /* by span: products in it */
  uint32_t *seen = lumos_allocate_zeroed(job->spans.count + 1, sizeof *seen);
  for (size_t s = 0; s < job->spans.count; s++) {
    if (nodes[s] != LUMOS_NONE) {
      counts[nodes[s]]++;
    }
  }
  for (size_t s = 0; s < job->spans.count; s++) {
    if (nodes[s] != LUMOS_NONE && counts[nodes[s]] == BOTH) {
      sides[s] = seen[nodes[s]]++ == 0 ? LUMOS_OF_INPUT : LUMOS_OF_WEIGHT;
    }
  }
  free(seen);
  free(counts);
  free(nodes);
  return sides;
}
