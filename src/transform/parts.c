#include "transform/parts.h"

#include "base/text.h"
#include "cost/moved.h"
#include <stdlib.h>
#include <string.h>

/* By string: is it the id of a tensor-parallel group? The caller frees it. */
static uint8_t *find_groups(const struct lumos_job *job) {
  uint8_t *groups = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  for (size_t g = 0; g < job->groups.count; g++) {
    groups[job->groups.items[g].id] = job->groups.items[g].role == LUMOS_TENSOR;
  }
  groups[LUMOS_NO_STRING] = 0;
  return groups;
}

enum lumos_switch lumos_parts_recorded(const struct lumos_job *job) {
  bool several = job->models.count > 0 && job->models.items[0].sizes.tp > 1, known = !several, gathers = false;
  uint8_t *groups = find_groups(job);
  for (size_t t = 0; t < job->tasks.count && several && !gathers; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
    bool of_layer = task->kind == LUMOS_COLLECTIVE && task->part == LUMOS_PART_LAYER && groups[comm->group] != 0;
    known = known || (of_layer && comm->bytes > 0);
    gathers = of_layer && task->phase == LUMOS_FORWARD && comm->bytes > 0 &&
              strcmp(lumos_string(job->strings, comm->op), "all_gather") == 0;
  }
  free(groups);
  return gathers ? LUMOS_SWITCH_ON : known ? LUMOS_SWITCH_OFF : 0;
}

/* The most that one of such ranks moves at once in passes: its activations. */
static int64_t find_most(const struct lumos_job *job, const uint8_t *groups) {
  int64_t most = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
    bool counts = task->kind == LUMOS_COLLECTIVE && groups[comm->group] != 0 && task->part == LUMOS_PART_LAYER;
    most = counts && comm->bytes > most ? comm->bytes : most;
  }
  return most;
}

lumos_string_id *lumos_parts_ops(struct lumos_job *job, bool on) {
  enum { MANY = 16 };
  lumos_string_id whole = lumos_intern_text(job->strings, "all_reduce");
  lumos_string_id parts = lumos_intern_text(job->strings, "reduce_scatter");
  lumos_string_id *ops = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *ops);
  uint8_t *groups = find_groups(job);
  int64_t most = find_most(job, groups);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
    bool passes = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
    bool sums = task->kind == LUMOS_COLLECTIVE && groups[comm->group] != 0 && comm->op == (on ? whole : parts);
    if (passes && sums && comm->bytes > most / MANY) {
      ops[t] = on ? parts : whole;
    }
  }
  free(groups);
  return ops;
}

uint8_t *lumos_parts_exchanged(const struct lumos_job *job) {
  uint8_t *exchanged = lumos_allocate_zeroed(job->spans.count + 1, 1), *groups = find_groups(job);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool tells = task->kind == LUMOS_COLLECTIVE && groups[lumos_detail_of(job, task)->comm.group] != 0;
    uint32_t span = tells ? lumos_shaped_op(job, task) : LUMOS_NONE;
    if (span != LUMOS_NONE) {
      exchanged[span] = 1;
    }
  }
  free(groups);
  return exchanged;
}

/* NCCL's kernels are named after what they do. */
static lumos_string_id named(struct lumos_job *job, lumos_string_id name, bool on) {
  const char *was = on ? "AllReduce" : "ReduceScatter", *is = on ? "ReduceScatter" : "AllReduce";
  const char *text = lumos_string(job->strings, name), *at = strstr(text, was);
  if (at == NULL) {
    return name;
  }
  struct lumos_text changed = LUMOS_TEXT_BUFFER;
  lumos_text_add(&changed, text, (size_t)(at - text));
  lumos_text_put(&changed, is);
  lumos_text_put(&changed, at + strlen(was));
  lumos_text_char(&changed, '\0');
  lumos_string_id result = lumos_intern_text(job->strings, changed.bytes);
  lumos_text_free(&changed);
  return result;
}

void lumos_parts_rename(struct lumos_job *job, const lumos_string_id *ops) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (ops[t] != LUMOS_NO_STRING) {
      bool on = strcmp(lumos_string(job->strings, ops[t]), "reduce_scatter") == 0;
      lumos_task_detail(job, &job->tasks.items[t])->comm.op = ops[t];
      job->tasks.items[t].name = named(job, job->tasks.items[t].name, on);
    }
  }
  for (size_t c = 0; c < job->collectives.count; c++) {
    struct lumos_collective *collective = &job->collectives.items[c];
    uint32_t first = collective->member_count > 0 ? job->members.items[collective->member_first] : LUMOS_NONE;
    if (first != LUMOS_NONE && ops[first] != LUMOS_NO_STRING) {
      collective->op = ops[first];
    }
  }
}
