#include "rebuild/strip.h"

#include "job/remove.h"
#include "rebuild/gradients.h"
#include "rebuild/roles.h"
#include <stdlib.h>
#include <string.h>

/* Bytes; norms and losses are fewer, and what a backward pass tells others beside gradients, such as whether all are finite.
 * Chosen. */
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

uint8_t *rebuild_find_reductions(const struct lumos_job *job) {
  uint8_t *found = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    found[t] = task->kind == LUMOS_COLLECTIVE && is_gradient(job, t) && rebuild_role_of(job, t) == LUMOS_DATA;
  }
  return found;
}

/* Of one rank's step; by streams, so in the order in which they run. */
static void look_at_buckets(struct rebuild_habits *habits, const struct lumos_job *job, const uint8_t *reductions,
                            uint32_t rank, int32_t step) {
  const struct lumos_rank *record = &job->ranks.items[rank];
  for (uint32_t t = record->task_first; t < record->task_first + record->task_count; t++) {
    if (reductions[t] && job->tasks.items[t].step == step && !is_op(job, t, "all_gather")) {
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

static bool divides(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_task *call = task->call == LUMOS_NONE ? &lumos_task_empty : &job->tasks.items[task->call];
  const char *op = call->span == LUMOS_NONE ? "" : lumos_string(job->strings, job->spans.items[call->span].name);
  return task->kind == LUMOS_ELEMENTWISE && (strncmp(op, "aten::mul", 9) == 0 || strncmp(op, "aten::div", 9) == 0);
}

/* A kernel that multiplies, launched last before a reduction by the same thread, divides what is reduced. */
static void find_divisions(const struct lumos_job *job, const uint8_t *reductions, uint8_t *found) {
  uint32_t *launched = lumos_allocate(job->tasks.count * sizeof *launched); /* by call: a task on a stream */
  for (size_t t = 0; t < job->tasks.count; t++) {
    launched[t] = LUMOS_NONE;
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
      if (reduces && last != LUMOS_NONE && divides(job, &job->tasks.items[last])) {
        found[last] = 1;
      }
      last = launched[t] != LUMOS_NONE ? launched[t] : last;
    }
  }
  free(launched);
}

void rebuild_strip(struct lumos_job *built, const struct lumos_job *from, bool divisions) {
  uint8_t *reductions = rebuild_find_reductions(from);
  uint32_t *likes = rebuild_find_likes(built, from);
  uint8_t *found = lumos_copied(reductions, from->tasks.count, 1);
  uint8_t *gone = lumos_allocate_zeroed(built->tasks.count, 1);
  if (divisions) {
    find_divisions(from, reductions, found);
  }
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    gone[t] = likes[t] != LUMOS_NONE && found[likes[t]];
  }
  lumos_job_take_along(built, gone);
  lumos_job_remove(built, gone);
  free(gone);
  free(found);
  free(likes);
  free(reductions);
}
