/* Which tasks the engine has to look at: nine of ten on a thread only follow the one before them.
 *
 * A follower starts a lag behind the end of the task before it, and nothing else follows from it. So the time of all
 * followers between two nodes is one sum, and their own times are filled in when the run is over. Nodes are what runs
 * on streams, what launches, waits, speaks of events or belongs to a collective, both ends of every dependency, and
 * where a thread or its part of a step begins and ends.
 */
#include "sim/engine.h"

#include "sim/clock.h"
#include <stdlib.h>

/* --- Finding them --- */

/* Returns whether a thread's tasks keep their order in every run. */
static bool mark_lane(const struct lumos_job *job, const struct lumos_lane *lane, uint8_t *marks) {
  bool ordered = true;
  const struct lumos_task *tasks = job->tasks.items;
  uint32_t end = lane->task_first + lane->task_count;
  for (uint32_t t = lane->task_first; t < end; t++) {
    bool stands = lane->kind == LUMOS_STREAM || t == lane->task_first || t + 1 == end ||
                  tasks[t - 1].step != tasks[t].step || tasks[t + 1].step != tasks[t].step;
    int64_t residual = lumos_timing_of(job, t)->residual;
    marks[t] |= stands || residual != LUMOS_ABSENT;
    ordered = ordered && (lane->kind == LUMOS_STREAM || residual == LUMOS_ABSENT || residual >= 0);
    if (tasks[t].detail != LUMOS_NONE) {
      const struct lumos_detail *detail = &job->details.items[tasks[t].detail];
      marks[t] |= detail->event_op != 0 || detail->wait.on != 0;
    }
    if (tasks[t].call != LUMOS_NONE) {
      uint32_t first = lumos_detail_of(job, &tasks[tasks[t].call])->first_segment;
      marks[tasks[t].call] = 1;
      marks[first == LUMOS_NONE ? tasks[t].call : first] = 1;
    }
  }
  return ordered;
}

void lumos_nodes_find(struct lumos_engine *engine) {
  const struct lumos_job *job = engine->job;
  size_t count = job->tasks.count;
  uint8_t *marks = lumos_allocate_zeroed(count + 1, 1);
  for (size_t i = 0; i < job->lanes.count; i++) {
    engine->unordered = !mark_lane(job, &job->lanes.items[i], marks) || engine->unordered;
  }
  for (size_t i = 0; i < job->deps.count; i++) {
    engine->has_rooms = engine->has_rooms || job->deps.items[i].kind == LUMOS_RESOURCE;
    marks[job->deps.items[i].dst] = 1;
    marks[job->deps.items[i].src == LUMOS_NONE ? count : job->deps.items[i].src] = 1;
  }
  for (size_t i = 0; i < job->members.count; i++) {
    marks[job->members.items[i]] = 1;
  }
  size_t nodes = 0;
  for (size_t t = 0; t < count; t++) {
    nodes += marks[t];
  }
  engine->node_of = lumos_allocate(count * sizeof *engine->node_of);
  engine->nodes = lumos_allocate(nodes * sizeof *engine->nodes);
  for (uint32_t t = 0; t < count; t++) {
    engine->node_of[t] = marks[t] ? engine->node_count : LUMOS_NONE;
    if (marks[t]) {
      engine->nodes[engine->node_count++] = t;
    }
  }
  free(marks);
}

void lumos_nodes_free(struct lumos_engine *engine) {
  free(engine->node_of);
  free(engine->nodes);
}

/* --- Their times --- */

/* As recorded: by a clock that runs as job time does, in no variant. */
static inline struct lumos_times as_recorded(const struct lumos_job *job, uint32_t t) {
  struct lumos_times times = lumos_own_times(job, t);
  return (struct lumos_times){times.dur > 0 ? times.dur : 0, times.lag > 0 ? times.lag : 0};
}

/* A follower's lag and length. */
static struct lumos_times follower_times(const struct lumos_engine *engine, const struct lumos_variant *variant,
                                         uint32_t t) {
  struct lumos_times times = lumos_own_times(engine->job, t);
  times = variant->threads ? variant->times(variant->context, t, times) : times;
  return (struct lumos_times){lumos_engine_length(engine, t, times.dur), lumos_engine_lag(engine, t, times.lag)};
}

static bool is_as_recorded(const struct lumos_engine *engine, const struct lumos_variant *variant, uint32_t n) {
  return !variant->threads && !engine->lanes[engine->facts[n].lane].drifts;
}

/* What is beyond this is beyond from any start. */
static int64_t add_time(int64_t sum, int64_t time) {
  return sum + time < 2 * LUMOS_TIME_LIMIT ? sum + time : 2 * LUMOS_TIME_LIMIT;
}

void lumos_nodes_measure(struct lumos_engine *engine) {
  if (engine->measured && !engine->variant.threads) {
    return;
  }
  uint32_t t = 0;
  for (uint32_t n = 0; n < engine->node_count; n++, t++) {
    int64_t sum = 0;
    if (t < engine->nodes[n] && is_as_recorded(engine, &engine->variant, n)) {
      for (; t < engine->nodes[n]; t++) {
        struct lumos_times times = as_recorded(engine->job, t);
        sum = add_time(add_time(sum, times.lag), times.dur);
      }
    }
    for (; t < engine->nodes[n]; t++) {
      struct lumos_times times = follower_times(engine, &engine->variant, t);
      sum = add_time(add_time(sum, times.lag), times.dur);
    }
    engine->ahead[n] = sum;
  }
  engine->measured = !engine->variant.threads;
}

static struct lumos_run run_of(const struct lumos_engine *engine, uint32_t n) {
  const struct lumos_task_state *state = &engine->states[n];
  return (struct lumos_run){state->start, state->end - state->start};
}

void lumos_nodes_runs(const struct lumos_engine *engine, struct lumos_run *runs) {
  for (uint32_t n = 0; n < engine->node_count; n++) {
    runs[n] = run_of(engine, n);
  }
}

void lumos_nodes_fill_streams(const struct lumos_engine *engine, struct lumos_run *runs) {
  for (uint32_t n = 0; n < engine->node_count; n++) {
    if ((engine->traits[n] & LUMOS_DEVICE) != 0) {
      runs[engine->nodes[n]] = run_of(engine, n);
    }
  }
  const struct lumos_job *job = engine->job;
  for (size_t i = 0; i < job->members.count; i++) {
    runs[job->members.items[i]] = run_of(engine, engine->node_of[job->members.items[i]]);
  }
}

static inline int64_t fill(struct lumos_run *run, int64_t end, struct lumos_times times) {
  *run = (struct lumos_run){end + times.lag, times.dur};
  return end + times.lag + times.dur;
}

void lumos_followers_fill(const struct lumos_engine *engine, const struct lumos_variant *variant,
                          struct lumos_run *runs) {
  uint32_t t = 0;
  for (uint32_t n = 0; n < engine->node_count; n++, t++) {
    int64_t end = t == 0 ? 0 : runs[t - 1].start + runs[t - 1].dur;
    if (t < engine->nodes[n] && is_as_recorded(engine, variant, n)) {
      for (; t < engine->nodes[n]; t++) {
        end = fill(&runs[t], end, as_recorded(engine->job, t));
      }
    }
    for (; t < engine->nodes[n]; t++) {
      end = fill(&runs[t], end, follower_times(engine, variant, t));
    }
  }
}

void lumos_nodes_fill(const struct lumos_engine *engine, struct lumos_run *runs) {
  for (uint32_t n = 0; n < engine->node_count; n++) {
    runs[engine->nodes[n]] = run_of(engine, n);
  }
  lumos_followers_fill(engine, &engine->variant, runs);
}

void lumos_nodes_bound(struct lumos_engine *engine, struct lumos_held *bindings) {
  size_t words = engine->job->tasks.count / 64 + 1;
  lumos_held_free(bindings);
  bindings->kept = lumos_allocate_zeroed(words, sizeof *bindings->kept);
  bindings->before = lumos_allocate((words + 1) * sizeof *bindings->before);
  uint32_t n = 0;
  for (size_t word = 0; word < words; word++) {
    for (bindings->before[word] = n; n < engine->node_count && engine->nodes[n] / 64 == word; n++) {
      bindings->kept[word] |= UINT64_C(1) << engine->nodes[n] % 64;
    }
  }
  bindings->before[words] = n;
  bindings->items = engine->bound;
  engine->bound = NULL;
}
