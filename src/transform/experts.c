#include "transform/experts.h"

#include "base/numbering.h"
#include "cost/operation.h"
#include "program/shapes.h"

#include <string.h>

enum { ROWS, WEIGHTS, GROUPED_INPUTS };

/* The two sides of a grouped product; false: it is another op. */
static bool read_grouped(const char *op, const char *shapes, struct program_dimensions sides[GROUPED_INPUTS]) {
  const struct lumos_operation_rule *rule = lumos_operation_rule(op);
  struct program_dimensions all[SHAPE_INPUTS];
  if (rule == NULL || rule->form != LUMOS_PRODUCT || rule->mask < 0) {
    return false;
  }
  program_shape_read(shapes, all);
  sides[ROWS] = all[rule->first];
  sides[WEIGHTS] = all[rule->second];
  bool grouped = sides[ROWS].count == 2 && (sides[WEIGHTS].count == 2 || sides[WEIGHTS].count == 3);
  for (int side = 0; side < GROUPED_INPUTS; side++) {
    for (int i = 0; i < sides[side].count; i++) {
      grouped = grouped && sides[side].of[i] > 0;
    }
  }
  return grouped;
}

/* The product down has hidden columns, as the gradient of the one up has; of the two it is the narrower, or both are
 * alike. */
struct lumos_experts lumos_experts_find(const struct lumos_job *job, int64_t hidden, int64_t tokens) {
  struct lumos_experts found = {0};
  int64_t widest = 0;
  struct lumos_numbering seen = {0};
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    struct program_dimensions sides[GROUPED_INPUTS];
    uint32_t before = (uint32_t)seen.keys.count;
    if (span->shapes == LUMOS_NO_STRING || lumos_number_of(&seen, lumos_key_pair(span->name, span->shapes)) < before ||
        !read_grouped(lumos_string(job->strings, span->name), lumos_string(job->strings, span->shapes), sides) ||
        sides[WEIGHTS].count != 3 || sides[WEIGHTS].of[2] != hidden) {
      continue;
    }
    int64_t width = sides[WEIGHTS].of[1], rows = sides[ROWS].of[0];
    found.count = sides[WEIGHTS].of[0];
    found.chosen = tokens > 0 && rows % tokens == 0 ? rows / tokens : found.chosen;
    found.ffn = found.ffn == 0 || width < found.ffn ? width : found.ffn;
    widest = width > widest ? width : widest;
  }
  found.gate = found.ffn > 0 && widest / 2 == found.ffn && widest % 2 == 0;
  if (widest != found.ffn && !found.gate) { /* experts of several widths */
    found = (struct lumos_experts){0};
  }
  lumos_numbering_free(&seen);
  return found;
}

struct lumos_model_description lumos_experts_as_one(const struct lumos_job *job, int32_t ranks) {
  struct lumos_model_description model = job->models.count > 0 ? job->models.items[0] : lumos_model_description_empty;
  if (model.ffn != LUMOS_ABSENT_INT || model.hidden == LUMOS_ABSENT_INT) {
    return model;
  }
  struct lumos_experts experts = lumos_experts_find(job, model.hidden, 0);
  __int128 width = (__int128)experts.count * experts.ffn * ranks;
  if (width > 0 && width <= INT32_MAX) {
    model.ffn = (int32_t)width;
    model.ffn_matrices = experts.gate ? 3 : 2;
  }
  return model;
}

double lumos_grouped_products(const char *op, const char *shapes) {
  struct program_dimensions sides[GROUPED_INPUTS];
  if (!read_grouped(op, shapes, sides)) {
    return 0;
  }
  return (double)sides[ROWS].of[0] * (double)sides[ROWS].of[1] * (double)sides[WEIGHTS].of[sides[WEIGHTS].count - 1];
}
