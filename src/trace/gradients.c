/* Which forward op a backward op belongs to: the last op that started before it with the same autograd sequence number.
 * Ops that only look at the counter carry its next value too, but the op that makes the node comes last.
 */
#include "trace/build.h"
#include <stdlib.h>

static int compare_gradients(const void *a, const void *b) {
  const struct trace_gradient *left = a;
  const struct trace_gradient *right = b;
  if (left->sequence != right->sequence) {
    return left->sequence < right->sequence ? -1 : 1;
  }
  if (left->start != right->start) {
    return left->start < right->start ? -1 : 1;
  }
  return (left->span > right->span) - (left->span < right->span);
}

void lumos_trace_pair_gradients(struct trace_build *build) {
  size_t count = build->gradients.count;
  struct trace_gradient *gradients = build->gradients.items;
  if (count > 0) {
    qsort(gradients, count, sizeof *gradients, compare_gradients);
  }
  uint32_t forward = LUMOS_NONE;
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || gradients[i].sequence != gradients[i - 1].sequence) {
      forward = LUMOS_NONE;
    }
    if (gradients[i].backward) {
      build->job->spans.items[gradients[i].span].forward = forward;
    } else {
      forward = gradients[i].span;
    }
  }
}
