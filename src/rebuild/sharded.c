#include "rebuild/sharded.h"

#include "rebuild/roles.h"
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

static const char *op_of(const struct lumos_job *job, const struct lumos_task *task) {
  return lumos_string(job->strings, lumos_detail_of(job, task)->comm.op);
}

bool rebuild_is_fully_sharded(const struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (task->phase == LUMOS_FORWARD && task->kind == LUMOS_COLLECTIVE && strcmp(op_of(job, task), "all_gather") == 0 &&
        rebuild_role_of(job, t) == LUMOS_DATA) {
      return true;
    }
  }
  return false;
}

/* The innermost span around a task on a thread whose name begins with one of these; LUMOS_NONE: there is none. */
static uint32_t span_named(const struct lumos_job *job, uint32_t task, const char *const *names, size_t count) {
  for (uint32_t span = job->tasks.items[task].span; span != LUMOS_NONE; span = job->spans.items[span].parent) {
    const char *name = lumos_string(job->strings, job->spans.items[span].name);
    for (size_t i = 0; i < count; i++) {
      if (strncmp(name, names[i], strlen(names[i])) == 0) {
        return span;
      }
    }
  }
  return LUMOS_NONE;
}

bool rebuild_gathers_before(const struct lumos_job *job, uint32_t task) {
  static const char *const hooks[] = {"FSDP::pre_forward", "FullyShardedDataParallel._pre_forward"};
  return span_named(job, task, hooks, sizeof hooks / sizeof *hooks) != LUMOS_NONE;
}

bool rebuild_gathers_before_back(const struct lumos_job *job, uint32_t task) {
  static const char *const hooks[] = {"FSDP::pre_backward", "FullyShardedDataParallel._pre_backward"};
  return span_named(job, task, hooks, sizeof hooks / sizeof *hooks) != LUMOS_NONE;
}

struct hook {               /* what it launches, by task */
  uint32_t gather, scatter; /* LUMOS_NONE: nothing such */
};

/* By task on a stream, of kernels and communication: the innermost hook around its call; LUMOS_NONE: it has none. */
static uint32_t *find_hooks(const struct lumos_job *job) {
  static const char *const names[] = {"FSDP::", "FullyShardedDataParallel."};
  uint32_t *hooks = lumos_allocate((job->tasks.count + 1) * sizeof *hooks);
  for (size_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = job->tasks.items[t].call;
    hooks[t] = call == LUMOS_NONE ? LUMOS_NONE : span_named(job, call, names, sizeof names / sizeof *names);
  }
  return hooks;
}

uint8_t *rebuild_find_shares(const struct lumos_job *job) {
  uint8_t *shares = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  uint32_t *hooks = find_hooks(job);
  struct hook *does = lumos_allocate((job->spans.count + 1) * sizeof *does);
  for (size_t s = 0; s < job->spans.count; s++) {
    does[s] = (struct hook){LUMOS_NONE, LUMOS_NONE};
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (hooks[t] != LUMOS_NONE && task->kind == LUMOS_COLLECTIVE) {
      struct hook *hook = &does[hooks[t]];
      hook->gather = strcmp(op_of(job, task), "all_gather") == 0 ? task->call : hook->gather;
      hook->scatter = strcmp(op_of(job, task), "reduce_scatter") == 0 ? task->call : hook->scatter;
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
