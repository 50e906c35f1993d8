/* One walk a step, from the task that ends last in it. */
#include "report/content/route.h"

#include <stdlib.h>

/* The first step that ends at or after a time; `count`: none does. */
static size_t step_at(const struct report_boundary *steps, size_t count, int64_t time) {
  size_t low = 0;
  size_t high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (steps[middle].end < time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct last {
  uint32_t task; /* LUMOS_NONE */
  int64_t end;
  bool on_stream;
};

static bool is_later(const struct last *candidate, const struct last *than) {
  return than->task == LUMOS_NONE || candidate->end > than->end ||
         (candidate->end == than->end && candidate->on_stream && !than->on_stream);
}

/* Of every step the task with the last end at or before its own end; of equal ones work on a stream, then the first. */
static void find_last(const struct lumos_job *job, const struct report_boundary *steps, size_t count,
                      struct last *last) {
  for (size_t i = 0; i < count; i++) {
    last[i] = (struct last){.task = LUMOS_NONE};
  }
  for (uint32_t task = 0; task < job->runs.count; task++) {
    const struct lumos_run *run = &job->runs.items[task];
    if (run->start == LUMOS_ABSENT || run->dur == LUMOS_ABSENT) {
      continue;
    }
    struct last candidate = {task, run->start + run->dur, lumos_on_stream(job, &job->tasks.items[task])};
    size_t step = step_at(steps, count, candidate.end);
    if (step < count && is_later(&candidate, &last[step])) {
      last[step] = candidate;
    }
  }
  for (size_t i = 1; i < count; i++) {
    last[i] = last[i].task == LUMOS_NONE ? last[i - 1] : last[i];
  }
}

/* What led to a part from the lane before. */
static struct lumos_binding entry_of(const struct lumos_held *bindings, const struct lumos_path_part *part) {
  struct lumos_bindings held = lumos_held_of(bindings, part->task);
  bool by_end = part->kind == LUMOS_HELD_BY_WAIT || part->kind == LUMOS_HELD_BY_COLLECTIVE;
  return by_end ? held.end : held.start;
}

static void add_step(const struct lumos_job *job, const struct lumos_held *bindings,
                     const struct lumos_path_parts *parts, int32_t step, int64_t least, struct report_routes *routes) {
  struct report_route route = {.step = step, .first = routes->legs.count};
  for (size_t i = 0; i < parts->count; i++) {
    const struct lumos_path_part *part = &parts->items[i];
    uint32_t lane = part->what == LUMOS_PATH_OUTSIDE ? LUMOS_NONE : job->tasks.items[part->task].lane;
    struct report_leg *last = routes->legs.count > route.first ? &routes->legs.items[routes->legs.count - 1] : NULL;
    if (last != NULL && last->lane == lane) {
      last->to = part->to;
    } else if (part->to > part->from) {
      if (last != NULL && last->to - last->from < least) { /* too short to be a leg of its own */
        last->lane = lane;
        last->to = part->to;
        continue;
      }
      lumos_vector_push(&routes->legs, ((struct report_leg){part->from, part->to, lane, entry_of(bindings, part)}));
    }
  }
  route.count = routes->legs.count - route.first;
  lumos_vector_push(&routes->of, route);
}

static void add_steps(const struct lumos_job *job, const struct lumos_held *bindings,
                      const struct report_boundary *steps, size_t count, const struct last *last,
                      struct report_routes *routes) {
  struct lumos_path_parts parts = {0};
  routes->of.count = routes->legs.count = 0;
  for (size_t i = 0; i < count; i++) {
    if (last[i].task != LUMOS_NONE && steps[i].end > steps[i].start) {
      parts.count = 0;
      lumos_path_walk_from(job, bindings, last[i].task, steps[i].start, steps[i].end, &parts, NULL);
      add_step(job, bindings, &parts, steps[i].step, routes->joined, routes);
    }
  }
  lumos_vector_free(&parts);
}

void report_routes_read(const struct lumos_job *job, const struct lumos_held *bindings,
                        const struct report_boundary *steps, size_t count, struct report_routes *routes) {
  enum { FIRST_JOINED = 1000 }; /* ns */
  *routes = (struct report_routes){0};
  struct last *last = lumos_allocate((count + 1) * sizeof last[0]);
  find_last(job, steps, count, last);
  add_steps(job, bindings, steps, count, last, routes);
  while (routes->legs.count > REPORT_LEGS && routes->joined < INT64_MAX / 2) {
    routes->joined = routes->joined == 0 ? FIRST_JOINED : routes->joined * 2;
    add_steps(job, bindings, steps, count, last, routes);
  }
  free(last);
}

void report_routes_free(struct report_routes *routes) {
  lumos_vector_free(&routes->of);
  lumos_vector_free(&routes->legs);
}
