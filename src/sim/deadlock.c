/* A deadlock, told as the cycle of tasks that wait for each other. */
#include "sim/engine.h"

#include "base/text.h"
#include <stdlib.h>

enum { SHOWN_TASKS = 12, SHOWN_NAME = 28 }; /* tasks, and bytes of a name. Chosen: a message that fits a screen */

/* blockers[n]: a node that node n waits for, of those that have not ended. Every node that has not ended has one. */
static void block(uint32_t *blockers, const struct lumos_engine *engine, uint32_t n, uint32_t by) {
  if (engine->states[n].progress != LUMOS_ENDED && blockers[n] == LUMOS_NONE) {
    blockers[n] = by;
  }
}

/* A started task waits for its end alone; one that has not started waits for what holds its start. */
static void block_by_edges(uint32_t *blockers, const struct lumos_engine *engine, uint32_t n) {
  const struct lumos_task_state *state = &engine->states[n];
  for (uint32_t i = state->holds; i != LUMOS_NONE; i = engine->edges.items[i].next) {
    const struct lumos_edge *edge = &engine->edges.items[i];
    bool passed = state->progress == LUMOS_ENDED || (edge->from == LUMOS_START && state->progress == LUMOS_STARTED);
    bool concerns = (engine->states[edge->dst].progress == LUMOS_STARTED) == (edge->to == LUMOS_END);
    if (!passed && concerns) {
      block(blockers, engine, edge->dst, n);
    }
  }
  if (state->progress != LUMOS_ENDED && state->next != LUMOS_NONE) {
    block(blockers, engine, state->next, n);
  }
}

static void block_by_meetings(uint32_t *blockers, const struct lumos_engine *engine) {
  const struct lumos_job *job = engine->job;
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    const uint32_t *members = job->members.items + collective->member_first;
    uint32_t late = LUMOS_NONE;
    for (uint32_t m = 0; late == LUMOS_NONE && m < collective->member_count; m++) {
      uint32_t n = engine->node_of[members[m]];
      bool started = engine->states[n].progress >= LUMOS_STARTED;
      late = !started && lumos_member_awaited(job, collective, members[m]) ? n : LUMOS_NONE;
    }
    for (uint32_t m = 0; late != LUMOS_NONE && m < collective->member_count; m++) {
      uint32_t n = engine->node_of[members[m]];
      if (engine->states[n].progress == LUMOS_STARTED && lumos_member_waits(job, collective, members[m])) {
        block(blockers, engine, n, late);
      }
    }
  }
}

/* What comes before on the lane, or the call that has not launched it yet. */
static void block_by_lane(uint32_t *blockers, const struct lumos_engine *engine, uint32_t n) {
  const struct lumos_node *node = &engine->facts[n];
  if (engine->states[n].progress >= LUMOS_STARTED) {
    return;
  }
  if (node->call != LUMOS_NONE && engine->states[node->call].progress != LUMOS_ENDED) {
    block(blockers, engine, n, node->call);
  } else if (n > 0 && node[-1].lane == node->lane) {
    block(blockers, engine, n, engine->states[n - 1].progress != LUMOS_ENDED ? n - 1 : LUMOS_NONE);
  }
}

/* Names may be long and come from outside: the head of a name is enough to find it. */
static void write_task(struct lumos_text *text, const struct lumos_engine *engine, uint32_t n) {
  const struct lumos_job *job = engine->job;
  const struct lumos_task *task = &job->tasks.items[engine->nodes[n]];
  const char *name = lumos_string(job->strings, task->name);
  size_t length = lumos_string_length(job->strings, task->name);
  lumos_text_add(text, name, length > SHOWN_NAME ? SHOWN_NAME : length);
  lumos_text_put(text, length > SHOWN_NAME ? ".. (" : " (");
  lumos_text_integer(text, job->ranks.items[lumos_rank_of(job, task)].rank);
  lumos_text_char(text, ':');
  lumos_text_integer(text, task->id);
  lumos_text_char(text, ')');
}

static void write_cycle(struct lumos_text *text, const struct lumos_engine *engine, const uint32_t *blockers,
                        uint32_t start) {
  uint32_t n = start;
  size_t shown = 0;
  do {
    if (shown++ == SHOWN_TASKS) {
      lumos_text_put(text, "more tasks, which wait for ");
      break;
    }
    write_task(text, engine, n);
    lumos_text_put(text, " waits for ");
    n = blockers[n];
  } while (n != start);
  write_task(text, engine, start);
}

/* From any node that has not ended the blockers lead into a cycle: walk as many steps as there are nodes, and be in
 * it. */
static uint32_t find_cycle(const struct lumos_engine *engine, const uint32_t *blockers) {
  uint32_t n = 0;
  while (engine->states[n].progress == LUMOS_ENDED) {
    n++;
  }
  for (size_t i = 0; i < engine->node_count; i++) {
    n = blockers[n];
  }
  uint32_t least = n;
  for (uint32_t m = blockers[n]; m != n; m = blockers[m]) {
    least = m < least ? m : least;
  }
  return least;
}

bool lumos_deadlock(const struct lumos_engine *engine, struct lumos_error *error) {
  uint32_t *blockers = lumos_allocate(engine->node_count * sizeof *blockers);
  for (uint32_t n = 0; n < engine->node_count; n++) {
    blockers[n] = LUMOS_NONE;
  }
  for (uint32_t n = 0; n < engine->node_count; n++) {
    block_by_edges(blockers, engine, n);
  }
  block_by_meetings(blockers, engine);
  for (uint32_t n = 0; n < engine->node_count; n++) {
    block_by_lane(blockers, engine, n);
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  write_cycle(&text, engine, blockers, find_cycle(engine, blockers));
  (void)lumos_fail(error,
                   "the simulation is deadlocked, these tasks wait for each other: %.*s; the trace or an edit "
                   "contradicts itself there, or a change reordered threads that launch on the same streams",
                   (int)text.length, text.bytes);
  lumos_text_free(&text);
  free(blockers);
  return false;
}
