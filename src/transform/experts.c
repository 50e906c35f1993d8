#include "transform/experts.h"

#include "base/numbering.h"
#include "cost/dtype.h"
#include "cost/operation.h"
#include "program/axis.h"
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

bool lumos_experts_are_whole(const struct lumos_job *job) {
  const struct lumos_parallel *sizes =
      job->models.count > 0 ? &job->models.items[0].sizes : &lumos_model_description_empty.sizes;
  if (sizes->tp <= 1) { /* nothing divides them */
    return job->models.count > 0 && lumos_experts_find(job, job->models.items[0].hidden, 0).count > 0;
  }
  int64_t shared = sizes->ep > 0 ? sizes->ep : 1, contexts = sizes->cp > 0 ? sizes->cp : 1;
  for (size_t g = 0; g < job->groups.count; g++) {
    const struct lumos_group *group = &job->groups.items[g];
    const int32_t *ranks = job->group_ranks.items + group->member_first;
    bool share = group->role == LUMOS_EXPERT && group->member_count > 1; /* tensor-parallel ranks are numbered first */
    bool same = program_experts_of_name(lumos_string(job->strings, group->name)) == PROGRAM_SAME_EXPERTS;
    if ((share && ranks[1] == ranks[0] + 1) ||
        (same && group->size * shared == sizes->tp * contexts * (sizes->dp > 0 ? sizes->dp : 1))) {
      return true;
    }
  }
  return false;
}

/* What a task on a thread is in. */
enum product { NO_PRODUCT, DENSE, GROUPED };

static enum product product_around(const struct lumos_job *job, const struct lumos_task *task) {
  struct program_dimensions sides[GROUPED_INPUTS];
  for (uint32_t s = task->span; s != LUMOS_NONE; s = job->spans.items[s].parent) {
    const char *op = lumos_string(job->strings, job->spans.items[s].name);
    const struct lumos_operation_rule *rule = lumos_operation_rule(op);
    if (rule != NULL && rule->form == LUMOS_PRODUCT) {
      return read_grouped(op, lumos_string(job->strings, job->spans.items[s].shapes), sides) ? GROUPED : DENSE;
    }
  }
  return NO_PRODUCT;
}

uint8_t *lumos_experts_around(const struct lumos_job *job) {
  uint8_t *around = lumos_allocate_zeroed(job->spans.count + 1, 1);
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    uint32_t first = lane->task_first, end = lane->kind == LUMOS_THREAD ? first + lane->task_count : first;
    bool grouped = false;
    for (uint32_t t = first; t < end; t++) {
      enum product product = product_around(job, &job->tasks.items[t]);
      grouped = grouped || product == GROUPED;
      for (; product == DENSE && first <= t; first++) {
        uint32_t s = grouped && first < t ? job->tasks.items[first].span : LUMOS_NONE;
        for (; s != LUMOS_NONE && around[s] == 0; s = job->spans.items[s].parent) {
          around[s] = 1;
        }
      }
      grouped = grouped && product != DENSE;
    }
  }
  return around;
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

bool lumos_grouped_shape(const char *op, const char *shapes, const char *dtypes, struct lumos_product_shape *shape) {
  struct program_dimensions sides[GROUPED_INPUTS], all[SHAPE_INPUTS];
  int size = 0;
  if (!read_grouped(op, shapes, sides)) {
    return false;
  }
  program_shape_read(shapes, all);
  const struct lumos_operation_rule *rule = lumos_operation_rule(op);
  const struct program_dimensions *ends = &all[rule->mask];
  bool of_weights = sides[WEIGHTS].count == 2; /* their gradients: rows are summed over */
  int64_t groups = ends->count == 1 && ends->of[0] > 0 ? ends->of[0] : 1;
  int64_t rows = sides[ROWS].of[0], inner = sides[ROWS].of[1], columns = sides[WEIGHTS].of[sides[WEIGHTS].count - 1];
  *shape = (struct lumos_product_shape){.rows = of_weights ? rows : rows / groups + (rows % groups > 0),
                                        .inner = of_weights ? inner / groups + (inner % groups > 0) : inner,
                                        .columns = columns,
                                        .batches = groups,
                                        .flops = 2 * (double)rows * (double)inner * (double)columns,
                                        .dtype = lumos_dtype_recorded(dtypes, rule->first, &size)};
  double moved = (double)shape->rows * (double)shape->inner + (double)shape->inner * (double)columns +
                 (double)shape->rows * (double)columns;
  shape->bytes = (size > 0 ? size : 2) * (double)groups * moved;
  return true;
}
