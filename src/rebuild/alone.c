#include "rebuild/alone.h"

#include "job/remove.h"
#include "rebuild/gradients.h"
#include "rebuild/lone.h"
#include "rebuild/plan.h"
#include "rebuild/roles.h"
#include <stdlib.h>
#include <string.h>

struct alone {
  struct lumos_job *job;
  uint8_t *gone;    /* by task */
  uint8_t *starts;  /* by task on a thread: it launches a collective; enum starts */
  uint8_t *works;   /* by span: something in it launches work, or did */
  uint8_t *emptied; /* by span: it had tasks, and all of them go */
};
enum starts { STARTS_NOTHING, STARTS_STAYING, STARTS_GOING };

/* Is there one replica of several? */
static bool has_one_left(const struct lumos_job *built, const struct lumos_job *from) {
  return built->models.count > 0 && from->models.count > 0 && rebuild_copies_of(&built->models.items[0].sizes) == 1 &&
         rebuild_copies_of(&from->models.items[0].sizes) > 1;
}

/* Collectives that are alone; false: there is none. */
static bool find_alone(struct alone *alone, const struct lumos_job *from) {
  const struct lumos_job *built = alone->job;
  uint32_t *likes = rebuild_find_likes(built, from);
  uint8_t *are = rebuild_find_joined(built), *were = rebuild_find_joined(from);
  bool some = false, one = has_one_left(built, from);
  for (size_t t = 0; t < built->tasks.count; t++) {
    bool copy = built->tasks.items[t].kind == LUMOS_COLLECTIVE && likes[t] != LUMOS_NONE;
    bool lone = copy && one && rebuild_is_lone(from, likes[t], were);
    alone->gone[t] = (copy && were[likes[t]] && !are[t]) || lone;
    some = some || alone->gone[t] != 0;
  }
  free(are);
  free(were);
  free(likes);
  return some;
}

static void find_starts(struct alone *alone) {
  const struct lumos_job *job = alone->job;
  for (size_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = job->tasks.items[t].call;
    if (call != LUMOS_NONE && job->tasks.items[t].kind == LUMOS_COLLECTIVE) {
      alone->starts[call] = alone->gone[t] ? STARTS_GOING : STARTS_STAYING;
    }
    uint32_t span = call == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[call].span;
    for (; span != LUMOS_NONE && !alone->works[span]; span = job->spans.items[span].parent) {
      alone->works[span] = 1;
    }
  }
}

/* ---- what puts in order what was gathered ---- */

static bool tells_of_communication(const char *name) {
  return strncmp(name, "nccl:", 5) == 0 || strncmp(name, "c10d::", 6) == 0 || strcmp(name, "record_param_comms") == 0;
}

/* The span in which a collective is asked for. */
static uint32_t asked_within(const struct lumos_job *job, uint32_t t) {
  uint32_t call = job->tasks.items[t].call, span = call == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[call].span;
  while (span != LUMOS_NONE && tells_of_communication(lumos_string(job->strings, job->spans.items[span].name))) {
    span = job->spans.items[span].parent;
  }
  return span;
}

/* Pieces of sequences, which ranks gather and scatter by rank, are put in order beside that. */
static void take_orders(const struct alone *alone) {
  const struct lumos_job *job = alone->job;
  uint8_t *within = lumos_allocate_zeroed(job->spans.count + 1, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    bool pieces = alone->gone[t] && job->tasks.items[t].kind == LUMOS_COLLECTIVE;
    uint32_t span = pieces && rebuild_role_of(job, t) == LUMOS_CONTEXT ? asked_within(job, t) : LUMOS_NONE;
    if (span != LUMOS_NONE) {
      within[span] = 1;
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = lumos_on_stream(job, &job->tasks.items[t]) ? job->tasks.items[t].call : LUMOS_NONE;
    uint32_t span = call == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[call].span;
    uint32_t parent = span == LUMOS_NONE ? LUMOS_NONE : job->spans.items[span].parent;
    bool orders = parent != LUMOS_NONE && within[parent] != 0 &&
                  strcmp(lumos_string(job->strings, job->spans.items[span].name), "aten::index_select") == 0;
    alone->gone[t] |= orders;
  }
  free(within);
}

/* ---- waits ---- */

static bool awaits(const struct alone *alone, const struct lumos_task *task) {
  return task->span != LUMOS_NONE && !alone->works[task->span] &&
         lumos_detail_of(alone->job, task)->event_op == LUMOS_EVENT_WAIT &&
         strcmp(lumos_string(alone->job->strings, alone->job->spans.items[task->span].name), "record_param_comms") == 0;
}

/* Behind the op around a task. */
static uint32_t end_of_op(const struct alone *alone, const struct lumos_lane *lane, uint32_t t) {
  uint32_t span = alone->job->tasks.items[t].span;
  while (t < lane->task_first + lane->task_count && alone->job->tasks.items[t].span == span) {
    t++;
  }
  return t;
}

/* What was asked for first is awaited first. */
static void take_waits(const struct alone *alone, const struct lumos_lane *lane) {
  LUMOS_VECTOR(uint8_t) asked = {0};
  size_t next = 0;
  uint32_t begin = lane->task_first; /* of the op around the task */
  for (uint32_t t = begin, end = lane->task_first + lane->task_count; t < end; t++) {
    const struct lumos_task *task = &alone->job->tasks.items[t];
    begin = task->span == alone->job->tasks.items[begin].span ? begin : t;
    if (alone->starts[t] != STARTS_NOTHING) {
      lumos_vector_push(&asked, alone->starts[t]);
    } else if (awaits(alone, task) && next < asked.count) {
      uint32_t behind = end_of_op(alone, lane, t);
      if (asked.items[next++] == STARTS_GOING) {
        memset(alone->gone + begin, 1, behind - begin);
      }
      t = behind - 1;
    }
  }
  lumos_vector_free(&asked);
}

/* ---- nodes of autograd ---- */

static void find_emptied(const struct alone *alone) {
  const struct lumos_job *job = alone->job;
  enum { SOME_STAY = 2 };
  for (size_t t = 0; t < job->tasks.count; t++) {
    uint32_t span = lumos_on_stream(job, &job->tasks.items[t]) ? LUMOS_NONE : job->tasks.items[t].span;
    for (; span != LUMOS_NONE && alone->emptied[span] != SOME_STAY; span = job->spans.items[span].parent) {
      alone->emptied[span] = alone->gone[t] ? 1 : SOME_STAY;
    }
  }
}

static bool is_emptied(const struct alone *alone, uint32_t span) {
  return span != LUMOS_NONE && alone->emptied[span] == 1;
}

/* A node's function goes back through an op that goes; its node is named after it. */
static bool goes_back(const struct alone *alone, uint32_t span) {
  const struct lumos_span *spans = alone->job->spans.items;
  for (; span != LUMOS_NONE && !alone->works[span]; span = spans[span].parent) {
    if (is_emptied(alone, spans[span].forward)) {
      return true;
    }
  }
  return false;
}

static void take_nodes(const struct alone *alone) {
  static const char engine[] = "autograd::engine::evaluate_function: ";
  const struct lumos_job *job = alone->job;
  uint8_t *back = lumos_allocate_zeroed(job->spans.count + 1, 1); /* a node of such a function */
  for (uint32_t s = 0; s < job->spans.count; s++) {
    uint32_t parent = job->spans.items[s].parent;
    bool function = !alone->works[s] && is_emptied(alone, job->spans.items[s].forward);
    if (function && parent != LUMOS_NONE && !alone->works[parent] &&
        strncmp(lumos_string(job->strings, job->spans.items[parent].name), engine, sizeof engine - 1) == 0) {
      back[parent] = 1;
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t span = lumos_on_stream(job, &job->tasks.items[t]) ? LUMOS_NONE : job->tasks.items[t].span;
    bool goes = goes_back(alone, span);
    for (; span != LUMOS_NONE && !goes; span = job->spans.items[span].parent) {
      goes = back[span] != 0;
    }
    alone->gone[t] |= goes;
  }
  free(back);
}

/* ---- all together ---- */

/* Collectives that are marked, with what is there for them. */
static void strip(struct alone *alone) {
  struct lumos_job *job = alone->job;
  alone->starts = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  alone->works = lumos_allocate_zeroed(job->spans.count + 1, 1);
  alone->emptied = lumos_allocate_zeroed(job->spans.count + 1, 1);
  find_starts(alone);
  take_orders(alone);
  lumos_job_take_along(job, alone->gone);
  for (size_t l = 0; l < job->lanes.count; l++) {
    if (job->lanes.items[l].kind == LUMOS_THREAD) {
      take_waits(alone, &job->lanes.items[l]);
    }
  }
  find_emptied(alone);
  take_nodes(alone);
  lumos_job_remove(job, alone->gone);
  free(alone->starts);
  free(alone->works);
  free(alone->emptied);
}

void rebuild_strip_alone(struct lumos_job *built, const struct lumos_job *from) {
  struct alone alone = {.job = built, .gone = lumos_allocate_zeroed(built->tasks.count + 1, 1)};
  if (find_alone(&alone, from)) {
    strip(&alone);
  }
  free(alone.gone);
}

/* Of the activations, in passes; behind them the gradients of norms and biases. */
static bool is_of_parts(const struct lumos_job *job, size_t t) {
  enum { FEW = 4096 }; /* bytes: of numbers that all steps sum */
  const struct lumos_task *task = &job->tasks.items[t];
  if (task->kind != LUMOS_COLLECTIVE || rebuild_role_of(job, t) != LUMOS_TENSOR) {
    return false;
  }
  const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
  bool passes = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
  return comm->bytes > FEW && strcmp(lumos_string(job->strings, comm->op), passes ? "all_gather" : "all_reduce") == 0;
}

void rebuild_strip_parts(struct lumos_job *built) {
  struct alone alone = {.job = built, .gone = lumos_allocate_zeroed(built->tasks.count + 1, 1)};
  for (size_t t = 0; t < built->tasks.count; t++) {
    alone.gone[t] = is_of_parts(built, t);
  }
  strip(&alone);
  free(alone.gone);
}
