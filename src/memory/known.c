#include "memory/known.h"

#include <stdlib.h>

static bool has_shapes(const struct memory_walk *walk) {
  bool any = false;
  for (uint32_t i = 0; i < walk->memory->ops.count && !any; i++) {
    any = walk->rules[i] != NULL && span_at(walk, i)->shapes != LUMOS_NO_STRING;
  }
  return any;
}

/* Are passes launched as graphs? */
static bool is_captured(const struct memory_walk *walk) {
  const struct lumos_rank *rank = &walk->job->ranks.items[walk->memory->rank];
  bool any = false;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count && !any; t++) {
    const struct lumos_task *task = &walk->job->tasks.items[t];
    any = task->step == walk->memory->step && task->kind == LUMOS_LAUNCH &&
          strcmp(lumos_string(walk->job->strings, task->name), "cudaGraphLaunch") == 0;
  }
  return any;
}

/* Inductor names a kernel after the ops that are fused in it. Of a sum with dropout it is known what it keeps: a mask
 * (rules.c). */
static bool is_dropout(const char *kernel) {
  static const char beginning[] = "triton_poi_fused_";
  static const char *const ops[] = {"add", "native", "dropout", "backward", "to", "copy", "view"};
  bool is = strncmp(kernel, beginning, sizeof beginning - 1) == 0 && strstr(kernel, "dropout") != NULL;
  for (const char *at = kernel + sizeof beginning - 1; is && *at != '\0'; at += strcspn(at, "_"), at += *at == '_') {
    size_t length = strcspn(at, "_");
    bool known = strspn(at, "0123456789") == length;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
      known |= strlen(ops[i]) == length && strncmp(at, ops[i], length) == 0;
    }
    is = known;
  }
  return is;
}

static bool in_compiled(const struct lumos_job *job, uint32_t task) {
  uint32_t span = task == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[task].span;
  while (span != LUMOS_NONE &&
         strcmp(lumos_string(job->strings, job->spans.items[span].name), "CompiledFunction") != 0) {
    span = job->spans.items[span].parent;
  }
  return span != LUMOS_NONE;
}

/* Is any forward pass compiled but for sums with dropout? */
static bool is_compiled(const struct memory_walk *walk) {
  const struct lumos_job *job = walk->job;
  const struct lumos_rank *rank = &job->ranks.items[walk->memory->rank];
  bool some = false, more = false;
  for (uint32_t i = 0; i < walk->memory->ops.count && !some; i++) {
    some = is_op(walk, i, "CompiledFunction");
  }
  for (uint32_t t = rank->task_first; some && t < rank->task_first + rank->task_count && !more; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    more = task->step == walk->memory->step && lumos_on_stream(job, task) && in_compiled(job, task->call) &&
           !is_dropout(lumos_string(job->strings, task->name));
  }
  return more;
}

/* ---- functions of libraries ---- */

/* Python's functions of autograd have the names of classes. */
static bool is_function(const char *name) { return strchr(name, ':') == NULL && strchr(name, ' ') == NULL; }

/* Does autograd go back through a function of this name? */
static bool goes_back(const struct memory_walk *walk, const char *name) {
  static const char end[] = "Backward";
  size_t length = strlen(name);
  bool any = false;
  for (uint32_t i = 0; i < walk->memory->ops.count && !any; i++) {
    const char *other = op_at(walk, i)->node == LUMOS_NONE ? "" : name_at(walk, i);
    any = strncmp(other, name, length) == 0 && strcmp(other + length, end) == 0;
  }
  return any;
}

/* Is one of the ops around what the call launches such a function, of which no rule tells what it keeps? Each name is
 * asked once. */
static bool is_foreign(const struct memory_walk *walk, uint32_t call, struct lumos_numbering *asked) {
  const struct lumos_job *job = walk->job;
  bool foreign = false;
  for (uint32_t s = job->tasks.items[call].span; s != LUMOS_NONE && !foreign; s = job->spans.items[s].parent) {
    const struct lumos_span *span = &job->spans.items[s];
    uint32_t before = (uint32_t)asked->keys.count;
    if (span->kind == LUMOS_SPAN_OP && lumos_number_of(asked, span->name) == before) {
      const char *name = lumos_string(job->strings, span->name);
      foreign = is_function(name) && memory_rule_of(name) == NULL && goes_back(walk, name);
    }
  }
  return foreign;
}

/* Does a forward pass compute in a function of a library of which it is not known what it keeps? */
static bool has_foreign(const struct memory_walk *walk) {
  const struct lumos_job *job = walk->job;
  const struct lumos_rank *rank = &job->ranks.items[walk->memory->rank];
  struct lumos_numbering asked = {0};
  bool foreign = false;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count && !foreign; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool computes = task->step == walk->memory->step && task->phase == LUMOS_FORWARD && lumos_on_stream(job, task) &&
                    !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind);
    foreign = computes && task->call != LUMOS_NONE && is_foreign(walk, task->call, &asked);
  }
  lumos_numbering_free(&asked);
  return foreign;
}

enum lumos_memory_state memory_state_of(const struct memory_walk *walk) {
  const struct memory_step *memory = walk->memory;
  return !has_shapes(walk)                                ? LUMOS_MEMORY_NO_SHAPES
         : is_captured(walk)                              ? LUMOS_MEMORY_CAPTURED
         : is_compiled(walk)                              ? LUMOS_MEMORY_COMPILED
         : memory->sharded && memory->share_bytes == 0    ? LUMOS_MEMORY_SHARDED
         : memory->parameters + memory->held.numbers == 0 ? LUMOS_MEMORY_NO_GRADIENTS
         : has_foreign(walk)                              ? LUMOS_MEMORY_FOREIGN
                                                          : LUMOS_MEMORY_KNOWN;
}
