#include "program/sharded.h"

#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

/* What they begin with. */
#define BEFORE "FSDP::pre_forward", "FullyShardedDataParallel._pre_forward"
#define BEFORE_BACK "FSDP::pre_backward", "FullyShardedDataParallel._pre_backward"
#define GATHERING "FSDP::all_gather"
#define BEHIND "FSDP::post_backward", "FullyShardedDataParallel._post_backward"

static bool is_named(const struct lumos_job *job, uint32_t span, const char *const *names, size_t count) {
  const char *name = lumos_string(job->strings, job->spans.items[span].name);
  for (size_t i = 0; i < count; i++) {
    if (strncmp(name, names[i], strlen(names[i])) == 0) {
      return true;
    }
  }
  return false;
}

/* The innermost span around a task on a thread whose name begins with one of these; LUMOS_NONE: there is none. */
static uint32_t span_named(const struct lumos_job *job, uint32_t task, const char *const *names, size_t count) {
  uint32_t span = job->tasks.items[task].span;
  while (span != LUMOS_NONE && !is_named(job, span, names, count)) {
    span = job->spans.items[span].parent;
  }
  return span;
}

bool program_gathers_before(const struct lumos_job *job, uint32_t task) {
  static const char *const names[] = {BEFORE};
  return span_named(job, task, names, sizeof names / sizeof *names) != LUMOS_NONE;
}

bool program_gathers_before_back(const struct lumos_job *job, uint32_t task) {
  static const char *const names[] = {BEFORE_BACK};
  return span_named(job, task, names, sizeof names / sizeof *names) != LUMOS_NONE;
}

bool program_names_hooks(const struct lumos_job *job) {
  static const char *const names[] = {BEFORE, BEFORE_BACK, BEHIND};
  bool some = false;
  for (uint32_t s = 0; s < job->spans.count && !some; s++) {
    some = is_named(job, s, names, sizeof names / sizeof *names);
  }
  return some;
}

const struct lumos_group *program_replicas_of(const struct lumos_job *job, const struct lumos_task *task,
                                              const char *op) {
  const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
  if (task->kind != LUMOS_COLLECTIVE || strcmp(lumos_string(job->strings, comm->op), op) != 0) {
    return NULL;
  }
  for (size_t g = 0; g < job->groups.count; g++) {
    if (job->groups.items[g].id == comm->group) {
      return job->groups.items[g].role == LUMOS_DATA ? &job->groups.items[g] : NULL;
    }
  }
  return NULL;
}

bool program_rank_is_sharded(const struct lumos_job *job, uint32_t rank) {
  const struct lumos_rank *record = &job->ranks.items[rank];
  bool forward = false, back = false;
  for (uint32_t t = record->task_first; t < record->task_first + record->task_count && !(forward && back); t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool passes = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD;
    if (passes && program_replicas_of(job, task, "all_gather") != NULL) {
      bool hooked = task->call != LUMOS_NONE && program_gathers_before(job, task->call);
      forward |= task->phase == LUMOS_FORWARD;
      back |= task->phase == LUMOS_BACKWARD || hooked;
    }
  }
  return forward && back;
}

bool program_is_fully_sharded(const struct lumos_job *job) {
  bool sharded = false;
  for (uint32_t r = 0; r < job->ranks.count && !sharded; r++) {
    sharded = program_rank_is_sharded(job, r);
  }
  return sharded;
}

struct hook { /* calls of what it launches over replicas; LUMOS_NONE: nothing such */
  uint32_t gather, scatter;
};

/* By task on a stream: the innermost hook around its call; LUMOS_NONE: it has none. */
static uint32_t *find_hooks(const struct lumos_job *job) {
  static const char *const names[] = {GATHERING, BEFORE, BEFORE_BACK, BEHIND};
  uint32_t *hooks = lumos_allocate((job->tasks.count + 1) * sizeof *hooks);
  for (size_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = job->tasks.items[t].call;
    hooks[t] = call == LUMOS_NONE ? LUMOS_NONE : span_named(job, call, names, sizeof names / sizeof *names);
  }
  return hooks;
}

uint8_t *program_find_shares(const struct lumos_job *job) {
  uint8_t *shares = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  uint32_t *hooks = find_hooks(job);
  struct hook *does = lumos_allocate((job->spans.count + 1) * sizeof *does);
  for (size_t s = 0; s < job->spans.count; s++) {
    does[s] = (struct hook){LUMOS_NONE, LUMOS_NONE};
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (hooks[t] != LUMOS_NONE) {
      struct hook *hook = &does[hooks[t]];
      hook->gather = program_replicas_of(job, task, "all_gather") != NULL ? task->call : hook->gather;
      hook->scatter = program_replicas_of(job, task, "reduce_scatter") != NULL ? task->call : hook->scatter;
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (hooks[t] != LUMOS_NONE && !lumos_is_communication(task->kind)) {
      const struct hook *hook = &does[hooks[t]]; /* calls of one thread stand in a row */
      shares[t] = (hook->gather != LUMOS_NONE && task->call < hook->gather) ||
                  (hook->scatter != LUMOS_NONE && task->call > hook->scatter);
    }
  }
  free(does);
  free(hooks);
  return shares;
}
