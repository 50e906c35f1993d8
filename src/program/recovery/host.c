/* What a thread does belongs to what it launches. A task within an operator that launches something is of that; between
 * operators it prepares the next launch of its step, and behind the last one belongs to that. What autograd's thread
 * does before it waits for another thread ends its pass. */
#include "program/recovery/recovery.h"

#include "graph/handover.h"

#include <stdlib.h>
#include <string.h>

struct scan {
  const struct lumos_job *job;
  const struct lumos_rank *rank;
  uint32_t *launched; /* by task - task_first, of calls: a device task that they launch, or LUMOS_NONE */
  uint8_t *handed;    /* by task - task_first: another thread hands over to it */
};

static void find_handed(struct scan *scan) {
  const struct lumos_job *job = scan->job;
  uint32_t first = scan->rank->task_first, count = scan->rank->task_count;
  scan->handed = lumos_allocate_zeroed(count + 1U, 1);
  for (size_t d = 0; d < job->deps.count; d++) {
    const struct lumos_dep *dep = &job->deps.items[d];
    if (dep->kind == LUMOS_HANDOVER && dep->src != LUMOS_NONE && dep->dst >= first && dep->dst - first < count) {
      scan->handed[dep->dst - first] = 1;
    }
  }
}

/* The outermost operator around a task; LUMOS_NONE: there is none. */
static uint32_t outermost(const struct lumos_job *job, const struct lumos_task *task) {
  uint32_t found = LUMOS_NONE;
  for (uint32_t span = task->span; span != LUMOS_NONE; span = job->spans.items[span].parent) {
    found = job->spans.items[span].kind == LUMOS_SPAN_OP ? span : found;
  }
  return found;
}

static void take_over(struct lumos_task *task, const struct lumos_task *like) {
  task->phase = like->phase;
  task->part = like->part;
  task->micro_batch = like->micro_batch;
  task->layer = like->layer;
}

struct launch {    /* of a thread */
  uint32_t place;  /* on its lane; its task count: none */
  uint32_t around; /* the outermost operator around it */
  const struct lumos_task *task;
};

static struct launch launch_from(const struct scan *scan, const struct lumos_lane *lane, uint32_t from) {
  uint32_t i = from;
  while (i < lane->task_count && scan->launched[lane->task_first + i - scan->rank->task_first] == LUMOS_NONE) {
    i++;
  }
  if (i == lane->task_count) {
    return (struct launch){.place = i, .around = LUMOS_NONE};
  }
  const struct lumos_task *call = &scan->job->tasks.items[lane->task_first + i];
  uint32_t launched = scan->launched[lane->task_first + i - scan->rank->task_first];
  return (struct launch){.place = i, .around = outermost(scan->job, call), .task = &scan->job->tasks.items[launched]};
}

/* A launch of this task's step; NULL: it is of another one, or none. */
static const struct lumos_task *of_step(const struct launch *launch, int32_t step) {
  return launch->task != NULL && launch->task->step == step ? launch->task : NULL;
}

static bool same_pass(const struct lumos_task *task, const struct lumos_task *other) {
  return task->step == other->step && task->phase == other->phase && task->micro_batch == other->micro_batch;
}

/* Is it a node of autograd's engine, behind which the thread waits for another one before it launches anything, for
 * another pass? Where that one leaves no trace, the thread is silent. */
static bool ends_pass(const struct scan *scan, const struct lumos_lane *lane, uint32_t place, uint32_t around,
                      const struct launch *last, const struct launch *next) {
  static const char engine[] = "autograd::engine::";
  const struct lumos_job *job = scan->job;
  bool waits = false;
  if (around == LUMOS_NONE || around == next->around || last->task == NULL || next->task == NULL ||
      same_pass(last->task, next->task) ||
      strncmp(lumos_string(job->strings, job->spans.items[around].name), engine, sizeof engine - 1) != 0) {
    return false;
  }
  for (uint32_t i = place + 1; i <= next->place && i < lane->task_count && !waits; i++) {
    uint32_t task = lane->task_first + i;
    waits = scan->handed[task - scan->rank->task_first] != 0 || job->tasks.items[task].lag > LUMOS_SHORT_SILENCE;
  }
  return waits;
}

static void scan_thread(const struct scan *scan, const struct lumos_lane *lane) {
  struct launch last = {.around = LUMOS_NONE}, next = launch_from(scan, lane, 0);
  for (uint32_t i = 0; i < lane->task_count; i++) {
    if (i > 0 && i - 1 == next.place) {
      last = next;
      next = launch_from(scan, lane, i);
    }
    struct lumos_task *task = &scan->job->tasks.items[lane->task_first + i];
    const struct lumos_task *before = of_step(&last, task->step), *behind = of_step(&next, task->step);
    uint32_t around = outermost(scan->job, task);
    bool within = around != LUMOS_NONE && around == last.around && around != next.around;
    within = within || ends_pass(scan, lane, i, around, &last, &next);
    const struct lumos_task *like = before != NULL && (behind == NULL || within) ? before : behind;
    if (like != NULL) {
      take_over(task, like);
    }
  }
}

void lumos_program_host(const struct lumos_program *program) {
  const struct lumos_job *job = program->job;
  const struct lumos_rank *rank = &job->ranks.items[program->rank];
  struct scan scan = {.job = job, .rank = rank, .launched = lumos_allocate(rank->task_count * sizeof(uint32_t))};
  for (uint32_t i = 0; i < rank->task_count; i++) {
    scan.launched[i] = LUMOS_NONE;
  }
  find_handed(&scan);
  for (size_t i = 0; i < program->elements.count; i++) {
    uint32_t task = program->elements.items[i].task;
    scan.launched[job->tasks.items[task].call - rank->task_first] = task;
  }
  for (uint32_t i = 0; i < rank->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[rank->lane_first + i];
    if (lane->kind == LUMOS_THREAD) {
      scan_thread(&scan, lane);
    }
  }
  free(scan.launched);
  free(scan.handed);
}
