#include "rebuild/again.h"

#include "cost/kernel_cost.h"
#include "cost/operation.h"
#include "job/remove.h"
#include "program/checkpoint.h"
#include "program/sharded.h"
#include "rebuild/gradients.h"
#include "rebuild/weights.h"
#include <stdlib.h>
#include <string.h>

/* Ops of a forward pass have numbers. Those that go back have none of their own, but a node's function, which its node
 * is named after, has its forward op's. What was put into a job that is built stands in no node. */
static bool is_again(const struct lumos_job *job, uint32_t t, bool built) {
  uint32_t node = rebuild_node_around(job, t);
  const char *name = node == LUMOS_NONE ? "" : lumos_string(job->strings, job->spans.items[node].name);
  bool numbered = false;
  for (uint32_t span = job->tasks.items[t].span; span != node && span != LUMOS_NONE;
       span = job->spans.items[span].parent) {
    const struct lumos_span *op = &job->spans.items[span];
    bool forward = op->sequence != LUMOS_ABSENT && strstr(name, lumos_string(job->strings, op->name)) == NULL;
    numbered = numbered || (op->kind == LUMOS_SPAN_OP && op->forward == LUMOS_NONE && forward);
  }
  return (numbered && (node != LUMOS_NONE || built)) || strstr(name, "Checkpoint") != NULL;
}

/* By span: the op that accumulates the gradient of a checkpoint's input, and the node around it. */
static uint8_t *find_inputs(const struct lumos_job *job) {
  uint8_t *inputs = lumos_allocate_zeroed(job->spans.count + 1, 1);
  for (uint32_t s = 0; s < job->spans.count; s++) {
    if (program_accumulates_input(job, s)) {
      uint32_t node = job->spans.items[s].parent;
      inputs[s] = 1;
      inputs[node] |= strstr(lumos_string(job->strings, job->spans.items[node].name), PROGRAM_ACCUMULATES) != NULL;
    }
  }
  return inputs;
}

static bool is_of_input(const struct lumos_job *job, const uint8_t *inputs, uint32_t t) {
  uint32_t span = job->tasks.items[t].span;
  while (span != LUMOS_NONE && inputs[span] == 0) {
    span = job->spans.items[span].parent;
  }
  return span != LUMOS_NONE;
}

uint8_t *rebuild_find_again(const struct lumos_job *job) {
  uint8_t *inputs = find_inputs(job);
  uint8_t *again = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  bool built = lumos_job_edited(job);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    again[t] = task->phase == LUMOS_BACKWARD && !lumos_on_stream(job, task) &&
               (is_again(job, t, built) || is_of_input(job, inputs, t));
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = job->tasks.items[t].call;
    again[t] |= call != LUMOS_NONE && again[call];
  }
  free(inputs);
  return again;
}

enum lumos_recompute rebuild_computes_again(const struct lumos_job *job) {
  uint8_t *again = rebuild_find_again(job);
  enum lumos_recompute found = LUMOS_RECOMPUTE_NONE;
  for (uint32_t t = 0; t < job->tasks.count && found != LUMOS_RECOMPUTE_FULL; t++) {
    if (again[t] && lumos_is_product(job->tasks.items[t].kind)) {
      found = rebuild_is_product(job, t) ? LUMOS_RECOMPUTE_FULL : LUMOS_RECOMPUTE_SELECTIVE;
    }
  }
  free(again);
  return found;
}

/* The innermost op around a task that is about attention is its forward one. */
static bool attends_forward(const struct lumos_job *job, uint32_t call) {
  for (uint32_t span = job->tasks.items[call].span; span != LUMOS_NONE; span = job->spans.items[span].parent) {
    const struct lumos_operation_rule *rule =
        lumos_operation_rule(lumos_string(job->strings, job->spans.items[span].name));
    if (rule != NULL && (rule->form == LUMOS_ATTENTION_FORWARD || rule->form == LUMOS_ATTENTION_BACKWARD)) {
      return rule->form == LUMOS_ATTENTION_FORWARD;
    }
  }
  return false;
}

bool rebuild_hides_again(const struct lumos_job *job) {
  uint8_t *again = rebuild_find_again(job);
  bool hides = false;
  for (uint32_t t = 0; t < job->tasks.count && !hides; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool asks =
        task->kind == LUMOS_ATTENTION && task->phase == LUMOS_BACKWARD && task->call != LUMOS_NONE && again[t] == 0;
    hides = asks && attends_forward(job, task->call);
  }
  free(again);
  return hides;
}

void rebuild_strip_again(struct lumos_job *built, const struct lumos_job *from) {
  uint8_t *again = rebuild_find_again(from), *gone = lumos_allocate_zeroed(built->tasks.count + 1, 1);
  uint32_t *likes = rebuild_find_likes(built, from);
  for (size_t t = 0; t < built->tasks.count; t++) {
    gone[t] = likes[t] != LUMOS_NONE && again[likes[t]];
  }
  lumos_job_remove(built, gone);
  free(likes);
  free(gone);
  free(again);
}

/* ---- what was put in ---- */

struct stop {
  struct lumos_job *built;
  const struct lumos_job *from;
  const uint32_t *likes;
  uint32_t *products; /* by call: a product that it launches; LUMOS_NONE */
  uint8_t *launches;  /* by call: it launches something */
  uint8_t *gone;
};

static bool is_put_in(const struct stop *stop, uint32_t t) {
  uint32_t like = stop->likes[t];
  return like != LUMOS_NONE && stop->built->tasks.items[t].phase == LUMOS_BACKWARD &&
         stop->from->tasks.items[like].phase == LUMOS_FORWARD;
}

static bool is_same_layer(const struct lumos_task *a, const struct lumos_task *b) {
  return a->layer == b->layer && a->micro_batch == b->micro_batch && a->step == b->step;
}

/* From behind what was launched before the last product up to the end of the layer. */
static void stop_layer(const struct stop *stop, uint32_t first, uint32_t end) {
  uint32_t last = LUMOS_NONE, from = first;
  for (uint32_t t = first; t < end; t++) {
    last = stop->products[t] != LUMOS_NONE ? t : last;
  }
  for (uint32_t t = first; last != LUMOS_NONE && t < last; t++) {
    from = stop->launches[t] ? t + 1 : from;
  }
  for (uint32_t t = from; last != LUMOS_NONE && t < end; t++) {
    stop->gone[t] = 1;
  }
}

static void stop_thread(const struct stop *stop, const struct lumos_lane *lane) {
  uint32_t behind = lane->task_first + lane->task_count;
  for (uint32_t first = lane->task_first, end; first < behind; first = end) {
    const struct lumos_task *task = &stop->built->tasks.items[first];
    for (end = first + 1; is_put_in(stop, first) && end < behind && is_put_in(stop, end) &&
                          is_same_layer(task, &stop->built->tasks.items[end]);) {
      end++;
    }
    if (is_put_in(stop, first)) {
      stop_layer(stop, first, end);
    }
  }
}

static void add_launched(const struct lumos_job *built, uint8_t *gone) {
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    uint32_t call = built->tasks.items[t].call;
    gone[t] |= call != LUMOS_NONE && gone[call];
  }
}

/* What waited for it waits for nothing in its place. */
static void remove_waits(struct lumos_job *built, const uint8_t *gone) {
  size_t kept = 0;
  for (size_t d = 0; d < built->deps.count; d++) {
    const struct lumos_dep dep = built->deps.items[d];
    if (!gone[dep.dst] && (dep.src == LUMOS_NONE || !gone[dep.src])) {
      built->deps.items[kept++] = dep;
    }
  }
  built->deps.count = kept;
}

void rebuild_gather_once(struct lumos_job *built, const struct lumos_job *from) {
  uint32_t *likes = rebuild_find_likes(built, from);
  const struct stop stop = {.built = built, .from = from, .likes = likes};
  uint8_t *gone = lumos_allocate_zeroed(built->tasks.count + 1, 1);
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    gone[t] = !lumos_on_stream(built, &built->tasks.items[t]) && is_put_in(&stop, t) &&
              program_gathers_before(from, likes[t]);
  }
  add_launched(built, gone);
  remove_waits(built, gone);
  lumos_job_remove(built, gone);
  free(gone);
  free(likes);
}

void rebuild_stop_early(struct lumos_job *built, const struct lumos_job *from) {
  uint32_t *likes = rebuild_find_likes(built, from);
  struct stop stop = {.built = built,
                      .from = from,
                      .likes = likes,
                      .products = lumos_allocate(built->tasks.count * sizeof *stop.products + 1),
                      .launches = lumos_allocate_zeroed(built->tasks.count + 1, 1),
                      .gone = lumos_allocate_zeroed(built->tasks.count + 1, 1)};
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    stop.products[t] = LUMOS_NONE;
  }
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    uint32_t call = built->tasks.items[t].call;
    if (call != LUMOS_NONE) {
      stop.launches[call] = 1;
      stop.products[call] = likes[t] != LUMOS_NONE && rebuild_is_product(from, likes[t]) ? t : stop.products[call];
    }
  }
  for (size_t l = 0; l < built->lanes.count; l++) {
    if (built->lanes.items[l].kind == LUMOS_THREAD) {
      stop_thread(&stop, &built->lanes.items[l]);
    }
  }
  add_launched(built, stop.gone);
  lumos_job_remove(built, stop.gone);
  free(stop.products);
  free(stop.launches);
  free(stop.gone);
  free(likes);
}
