#include "rebuild/conversions.h"

#include "base/numbering.h"
#include "cost/dtype.h"
#include "job/remove.h"
#include "program/shapes.h"
#include "rebuild/gradients.h"
#include <stdlib.h>
#include <string.h>

struct search {
  const struct lumos_job *from;
  struct lumos_numbering weights; /* rows and columns of those that get gradients */
};

static bool is_op(const struct lumos_job *job, uint32_t span, const char *name) {
  return span != LUMOS_NONE && strcmp(lumos_string(job->strings, job->spans.items[span].name), name) == 0;
}

/* In the number of rows: they are those of several matrices, as experts have them. */
static const uint32_t OF_SEVERAL = UINT32_C(1) << 31U;

/* Rows and columns of the first input, with rows of several matrices together; 0: it is none. */
static uint64_t matrix_of(const struct lumos_job *job, uint32_t span) {
  struct program_dimensions inputs[SHAPE_INPUTS];
  if (job->spans.items[span].shapes == LUMOS_NO_STRING) {
    return 0;
  }
  program_shape_read(lumos_string(job->strings, job->spans.items[span].shapes), inputs);
  bool matrix = inputs[0].count == 2 || inputs[0].count == 3;
  __int128 rows = 1;
  for (int i = 0; i < inputs[0].count && matrix; i++) {
    matrix = inputs[0].of[i] > 0 && inputs[0].of[i] < INT32_MAX;
    rows *= i + 1 < inputs[0].count ? inputs[0].of[i] : 1;
  }
  return matrix && rows < INT32_MAX ? lumos_key_pair((uint32_t)rows | (inputs[0].count == 3 ? OF_SEVERAL : 0),
                                                     (uint32_t)inputs[0].of[inputs[0].count - 1])
                                    : 0;
}

static void find_weights(struct search *search) {
  const struct lumos_job *from = search->from;
  for (uint32_t s = 0; s < from->spans.count; s++) {
    if (is_op(from, s, "torch::autograd::AccumulateGrad")) {
      (void)lumos_number_of(&search->weights, matrix_of(from, s));
    }
  }
}

/* Elements that a task on a stream converts from four bytes to two, if they are a weight's; 0: it does not. */
static int64_t converted(const struct search *search, uint32_t t) {
  const struct lumos_job *from = search->from;
  const struct lumos_task *task = &from->tasks.items[t];
  uint32_t op =
      task->call == LUMOS_NONE || !lumos_on_stream(from, task) ? LUMOS_NONE : from->tasks.items[task->call].span;
  if (task->phase != LUMOS_FORWARD || !is_op(from, op, "aten::copy_") ||
      !is_op(from, from->spans.items[op].parent, "aten::_to_copy")) {
    return 0;
  }
  const char *dtypes = lumos_string(from->strings, from->spans.items[op].dtypes);
  int to = 0, was = 0;
  (void)lumos_dtype_recorded(dtypes, 0, &to);
  (void)lumos_dtype_recorded(dtypes, 1, &was);
  uint64_t matrix = to == 2 && was == 4 ? matrix_of(from, op) : 0;
  bool weight = matrix != 0 && lumos_known_number(&search->weights, matrix) != LUMOS_NO_NUMBER;
  return weight ? (int64_t)((uint32_t)(matrix >> 32U) & ~OF_SEVERAL) * (int64_t)(matrix & UINT32_MAX) : 0;
}

struct rebuild_conversions rebuild_strip_conversions(struct lumos_job *built, const struct lumos_job *from) {
  struct search search = {.from = from};
  struct rebuild_conversions found = {.name = LUMOS_NO_STRING};
  uint32_t *likes = rebuild_find_likes(built, from);
  uint8_t *gone = lumos_allocate_zeroed(built->tasks.count + 1, 1);
  double elements = 0, time = 0;
  find_weights(&search);
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    int64_t of = likes[t] == LUMOS_NONE ? 0 : converted(&search, likes[t]);
    gone[t] = of > 0;
    elements += (double)of;
    time += of > 0 ? (double)built->tasks.items[t].dur : 0;
    found.name = of > 0 ? built->tasks.items[t].name : found.name;
  }
  if (elements > 0) {
    found.pace = time / elements;
    lumos_job_take_along(built, gone);
    lumos_job_remove(built, gone);
  }
  lumos_numbering_free(&search.weights);
  free(gone);
  free(likes);
  return found;
}

/* 1 / (1 - 1 / 1.645) - 1: the low end of a range of 90 % takes them all off. */
enum { ONCE_SIGMA = 1550388 /* millionths */ };

void rebuild_doubt_conversions(struct lumos_job *built, const struct lumos_job *from) {
  bool known = from->models.count > 0 && built->models.count > 0;
  if (!known || from->models.items[0].micro_batches != 1 || built->models.items[0].micro_batches <= 1) {
    return;
  }
  struct search search = {.from = from};
  uint32_t *likes = rebuild_find_likes(built, from);
  lumos_string_id doubt = LUMOS_NO_STRING;
  int64_t doubted = 0;
  bool modelled = false; /* how long some take is not sure already, either way */
  find_weights(&search);
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    const struct lumos_task *task = &built->tasks.items[t];
    if (task->micro_batch > 0 && likes[t] != LUMOS_NONE && converted(&search, likes[t]) > 0) {
      doubt = doubt != LUMOS_NO_STRING
                  ? doubt
                  : lumos_job_common_error(built, "rebuild.conversions", "weights converted in every micro-batch",
                                           ONCE_SIGMA, "one autocast around all micro-batches converts them once");
      struct lumos_detail *detail = lumos_task_detail(built, &built->tasks.items[t]);
      modelled |= detail->common_error != LUMOS_NO_STRING;
      detail->common_error = doubt;
      doubted++;
    }
  }
  if (doubted > 0) {
    if (!modelled) {
      lumos_job_only_shorter(built, doubt);
    }
    lumos_job_note(built, "transform.conversions_repeated", LUMOS_INFO, doubted, NULL,
                   "weights are converted in every micro-batch, as where each forward pass enters an autocast of its "
                   "own: the recorded step has one micro-batch, and does not show it. One autocast around all "
                   "micro-batches would convert them once a step",
                   "record a step of two micro-batches");
  }
  lumos_numbering_free(&search.weights);
  free(likes);
}
