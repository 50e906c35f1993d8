#include "rebuild/strip.h"

#include "cost/dtype.h"
#include "job/remove.h"
#include "program/shapes.h"
#include "rebuild/axes.h"
#include "rebuild/gradients.h"
#include "rebuild/roles.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes; norms and losses are fewer, and what a backward pass tells others beside gradients, such as whether all are
 * finite. Chosen. */
enum { SCALARS = 65536, FLAGS = 256 };

static bool is_op(const struct lumos_job *job, size_t task, const char *op) {
  return strcmp(lumos_string(job->strings, lumos_detail_of(job, &job->tasks.items[task])->comm.op), op) == 0;
}

/* A bucket may hold no more than the weights of a norm, which a sharded optimizer then gathers. */
static bool is_gradient(const struct lumos_job *job, size_t t) {
  const struct lumos_task *task = &job->tasks.items[t];
  int64_t bytes = lumos_detail_of(job, task)->comm.bytes;
  bool back = task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
  bool gathers = task->phase == LUMOS_OPTIMIZER_PHASE && is_op(job, t, "all_gather");
  return bytes > SCALARS || ((back || gathers) && bytes > FLAGS);
}

/* By task: is it communication among replicas, of more than a few numbers? The caller frees it. O(tasks x groups). */
static uint8_t *rebuild_find_reductions(const struct lumos_job *job) {
  uint8_t *found = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    found[t] = task->kind == LUMOS_COLLECTIVE && is_gradient(job, t) && rebuild_role_of(job, t) == LUMOS_DATA;
  }
  return found;
}

/* Among those alone that have the same experts, where other ranks have what is left? */
static bool is_of_experts(const struct lumos_job *job, size_t t) {
  lumos_string_id id = lumos_detail_of(job, &job->tasks.items[t])->comm.group;
  for (size_t g = 0; g < job->groups.count; g++) {
    if (job->groups.items[g].id == id) {
      return rebuild_axes_of_group(job, &job->groups.items[g]) == REBUILD_OWNERS;
    }
  }
  return false;
}

/* Of one rank's step; by streams, so in the order in which they run. */
static void look_at_buckets(struct rebuild_habits *habits, const struct lumos_job *job, const uint8_t *reductions,
                            uint32_t rank, int32_t step) {
  const struct lumos_rank *record = &job->ranks.items[rank];
  for (uint32_t t = record->task_first; t < record->task_first + record->task_count; t++) {
    bool reduces = reductions[t] && job->tasks.items[t].step == step && !is_op(job, t, "all_gather");
    if (reduces && is_of_experts(job, t)) {
      lumos_vector_push(&habits->expert_buckets, lumos_detail_of(job, &job->tasks.items[t])->comm.bytes);
    } else if (reduces) {
      lumos_vector_push(&habits->buckets, lumos_detail_of(job, &job->tasks.items[t])->comm.bytes);
      habits->bytes += lumos_detail_of(job, &job->tasks.items[t])->comm.bytes;
    }
  }
}

/* What another thread than that of the forward passes asks for, the backward pass does. */
void rebuild_habits_find(struct rebuild_habits *habits, const struct lumos_job *job) {
  uint8_t *reductions = rebuild_find_reductions(job);
  *habits = (struct rebuild_habits){0};
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    struct rebuild_roles roles;
    if (!reductions[t] || task->call == LUMOS_NONE) {
      continue;
    }
    uint32_t rank = lumos_rank_of(job, task);
    bool gathers = is_op(job, t, "all_gather");
    if (!habits->reduces && !gathers && rebuild_roles_find(&roles, job, rank, task->step)) {
      habits->reduces = true;
      habits->overlaps = job->tasks.items[task->call].lane != roles.main;
      look_at_buckets(habits, job, reductions, rank, task->step);
    }
    habits->shards = habits->shards || is_op(job, t, "reduce_scatter");
    habits->spreads = habits->spreads || (gathers && task->phase == LUMOS_FORWARD);
  }
  free(reductions);
}

bool rebuild_divides(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_task *call = task->call == LUMOS_NONE ? &lumos_task_empty : &job->tasks.items[task->call];
  const char *op = call->span == LUMOS_NONE ? "" : lumos_string(job->strings, job->spans.items[call->span].name);
  return task->kind == LUMOS_ELEMENTWISE && (strncmp(op, "aten::mul", 9) == 0 || strncmp(op, "aten::div", 9) == 0);
}

/* Bytes that the op of a kernel goes through; 0: not known. */
static int64_t bytes_of(const struct lumos_job *job, const struct lumos_task *task) {
  struct program_dimensions inputs[SHAPE_INPUTS];
  const struct lumos_span *op = &job->spans.items[job->tasks.items[task->call].span];
  int size = 0;
  (void)lumos_dtype_recorded(lumos_string(job->strings, op->dtypes), 0, &size);
  program_shape_read(lumos_string(job->strings, op->shapes), inputs);
  bool flat = inputs[0].count == 1 && inputs[0].of[0] > 0 && inputs[0].of[0] < INT64_C(1) << 50; /* as buckets are */
  return flat ? size * inputs[0].of[0] : 0;
}

/* A kernel that multiplies, launched last before a reduction by the same thread, divides what is reduced. By task: the
 * reduction, or LUMOS_NONE. */
static uint32_t *find_divided(const struct lumos_job *job, const uint8_t *reductions) {
  uint32_t *divided = lumos_allocate(job->tasks.count * sizeof *divided + 1);
  uint32_t *launched = lumos_allocate(job->tasks.count * sizeof *launched + 1); /* by call: a task on a stream */
  for (size_t t = 0; t < job->tasks.count; t++) {
    launched[t] = divided[t] = LUMOS_NONE;
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (job->tasks.items[t].call != LUMOS_NONE) {
      launched[job->tasks.items[t].call] = t;
    }
  }
  for (size_t l = 0; l < job->lanes.count; l++) {
    uint32_t first = job->lanes.items[l].task_first, last = LUMOS_NONE;
    for (uint32_t t = first; t < first + job->lanes.items[l].task_count; t++) {
      bool reduces = launched[t] != LUMOS_NONE && reductions[launched[t]];
      if (reduces && last != LUMOS_NONE && rebuild_divides(job, &job->tasks.items[last])) {
        divided[last] = launched[t];
      }
      last = launched[t] != LUMOS_NONE ? launched[t] : last;
    }
  }
  free(launched);
  return divided;
}

static bool is_whole(const struct lumos_job *job, uint32_t t, uint32_t reduction) {
  int64_t bytes = lumos_detail_of(job, &job->tasks.items[reduction])->comm.bytes;
  return bytes > 0 && bytes_of(job, &job->tasks.items[t]) == bytes;
}

static int by_bytes(const void *left, const void *right) {
  const struct rebuild_division *a = left, *b = right;
  return a->bytes != b->bytes ? LUMOS_ORDER(a->bytes, b->bytes)
         : a->rank != b->rank ? LUMOS_ORDER(a->rank, b->rank)
         : a->step != b->step ? LUMOS_ORDER(a->step, b->step)
                              : LUMOS_ORDER(a->task, b->task);
}

void rebuild_divisions_find(struct rebuild_divisions *divisions, const struct lumos_job *job) {
  uint8_t *reductions = rebuild_find_reductions(job);
  uint32_t *divided = find_divided(job, reductions);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (divided[t] != LUMOS_NONE && is_whole(job, t, divided[t])) {
      const struct lumos_task *task = &job->tasks.items[t];
      const struct rebuild_division division = {lumos_rank_of(job, task), t, task->step,
                                                lumos_detail_of(job, &job->tasks.items[divided[t]])->comm.bytes};
      lumos_vector_push(divisions, division);
    }
  }
  lumos_vector_sort(divisions, by_bytes);
  free(divided);
  free(reductions);
}

/* Of as many bytes, or else of the next size, by ratio; then of the rank; then of the step. */
static bool is_closer(const struct rebuild_division *a, const struct rebuild_division *b, uint32_t rank, int32_t step,
                      int64_t bytes) {
  double off_a = fabs(log((double)a->bytes / (double)bytes)), off_b = fabs(log((double)b->bytes / (double)bytes));
  return off_a < off_b ||
         (!(off_a > off_b) && ((a->rank == rank) > (b->rank == rank) ||
                               ((a->rank == rank) == (b->rank == rank) && a->step == step && b->step != step)));
}

const struct rebuild_division *rebuild_division_like(const struct rebuild_divisions *divisions, uint32_t rank,
                                                     int32_t step, int64_t bytes) {
  const struct rebuild_division *found = NULL;
  for (size_t i = 0; i < divisions->count && bytes > 0; i++) {
    const struct rebuild_division *division = &divisions->items[i];
    found = found == NULL || is_closer(division, found, rank, step, bytes) ? division : found;
  }
  return found;
}

/* What autograd does by itself where it has a gradient, or within the op that takes it, which may have no time of its
 * own. */
static bool is_of_gradient(const struct lumos_job *from, const struct lumos_task *like) {
  uint32_t span = like->kind == LUMOS_OP ? like->span : LUMOS_NONE;
  bool own = span != LUMOS_NONE && strstr(lumos_string(from->strings, from->spans.items[span].name), "AccumulateGrad");
  for (; span != LUMOS_NONE && !own; span = from->spans.items[span].parent) {
    own = strcmp(lumos_string(from->strings, from->spans.items[span].name), "torch::autograd::AccumulateGrad") == 0;
  }
  return own;
}

/* That stays, though nothing that it launches does: gradients are found by it. */
static void keep_gradients(const struct lumos_job *from, const uint32_t *likes, uint8_t *gone, size_t count) {
  for (size_t t = 0; t < count; t++) {
    if (gone[t] != 0 && likes[t] != LUMOS_NONE && is_of_gradient(from, &from->tasks.items[likes[t]])) {
      gone[t] = 0;
    }
  }
}

void rebuild_strip(struct lumos_job *built, const struct lumos_job *from, enum rebuild_strip_of of) {
  uint8_t *reductions = rebuild_find_reductions(from);
  uint32_t *likes = rebuild_find_likes(built, from);
  uint8_t *found = lumos_copied(reductions, from->tasks.count, 1);
  uint8_t *gone = lumos_allocate_zeroed(built->tasks.count, 1);
  uint32_t *divided = of == REBUILD_STRIP_REDUCTIONS ? NULL : find_divided(from, reductions);
  for (uint32_t t = 0; t < from->tasks.count && divided != NULL; t++) {
    bool goes = divided[t] != LUMOS_NONE && (of == REBUILD_STRIP_ALL || is_whole(from, t, divided[t]));
    found[t] = found[t] || goes;
  }
  free(divided);
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    gone[t] = likes[t] != LUMOS_NONE && found[likes[t]];
  }
  lumos_job_take_along(built, gone);
  keep_gradients(from, likes, gone, built->tasks.count);
  lumos_job_remove(built, gone);
  free(gone);
  free(found);
  free(likes);
  free(reductions);
}
