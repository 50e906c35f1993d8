/* The critical path as a bar: its parts and what is said about them. */
#include "report/content/composition.h"

#include "report/content/metric_tables.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

/* What passes between tasks; what runs has the paint of its kind. */
static const struct {
  const char *kind;
  enum report_paint paint;
} gaps[] = {
    {"host_gap", PAINT_HOST_GAP},        {"launch_latency", PAINT_LATENCY}, {"stream_gap", PAINT_BETWEEN},
    {"wait_return", PAINT_BETWEEN},      {"event_latency", PAINT_BETWEEN},  {"handover", PAINT_BETWEEN},
    {"full_queue", PAINT_BETWEEN},       {"resource_wait", PAINT_RESOURCE}, {"unexplained", PAINT_UNEXPLAINED},
    {"other_dependency", PAINT_BETWEEN}, {"outside", PAINT_BOUNDARY},
};

static const char *label_of(enum report_paint paint) {
  switch (paint) {
    case PAINT_NONE:
      return "all others";
    case PAINT_BOUNDARY:
      return "outside the recording";
    default:
      return report_paint_row(paint)->label;
  }
}

/* PAINT_NONE: a kind that this version does not know. */
static enum report_paint paint_of(const char *kind) {
  for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
    if (strcmp(kind, gaps[i].kind) == 0) {
      return gaps[i].paint;
    }
  }
  for (int known = 1; known < LUMOS_TASK_KINDS; known++) {
    const char *name = known == LUMOS_OTHER_HOST ? "other_host" : lumos_task_kind_name((enum lumos_task_kind)known);
    if (strcmp(kind, name) == 0) {
      return report_paint_of_kind((uint8_t)known);
    }
  }
  return PAINT_NONE;
}

/* The largest first, and all others last. */
static int by_time(const void *left, const void *right) {
  const struct report_stack_part *a = left, *b = right;
  if ((a->paint == PAINT_NONE) != (b->paint == PAINT_NONE)) {
    return a->paint == PAINT_NONE ? 1 : -1;
  }
  return a->time != b->time ? LUMOS_ORDER(b->time, a->time) : LUMOS_ORDER(a->paint, b->paint);
}

void report_path_read(const struct report_facts *facts, struct report_path *path) {
  enum { LEAST_PART = 200 }; /* one in so many has a part of its own */
  *path = (struct report_path){0};
  int64_t times[PAINT_COUNT] = {0};
  struct report_metric_entries entries;
  report_metric_entries(facts, METRICS_PATH_KINDS, &entries);
  for (size_t i = 0; i < entries.count; i++) {
    const struct report_metric_entry *entry = &entries.items[i];
    enum report_paint paint =
        entry->keys[0] < 0 ? PAINT_NONE : paint_of(lumos_string(facts->job->strings, (lumos_string_id)entry->keys[0]));
    int64_t time = entry->value == LUMOS_ABSENT || entry->value < 0 ? 0 : entry->value;
    times[paint] = report_sum(times[paint], time);
    path->whole = report_sum(path->whole, time);
  }
  lumos_vector_free(&entries);
  for (int paint = 1; paint < PAINT_COUNT; paint++) {
    if (times[paint] > 0 && times[paint] < path->whole / LEAST_PART) {
      times[PAINT_NONE] = report_sum(times[PAINT_NONE], times[paint]);
      times[paint] = 0;
      path->pooled++;
    }
  }
  for (int paint = 0; paint < PAINT_COUNT; paint++) {
    if (times[paint] > 0) {
      path->parts[path->count++] =
          (struct report_stack_part){(enum report_paint)paint, label_of((enum report_paint)paint), times[paint],
                                     report_share(times[paint], path->whole)};
    }
  }
  qsort(path->parts, path->count, sizeof path->parts[0], by_time);
}

/* Does the CPU decide when the step ends, whatever GPUs do beside it? */
bool report_path_is_mostly_cpu(const struct report_path *path) {
  int64_t cpu = 0;
  for (size_t i = 0; i < path->count; i++) {
    enum report_paint paint = path->parts[i].paint;
    bool host = (paint >= (enum report_paint)LUMOS_OP && paint < (enum report_paint)LUMOS_TASK_KINDS) ||
                paint == PAINT_HOST_GAP;
    cpu = report_sum(cpu, host ? path->parts[i].time : 0);
  }
  return cpu > path->whole / 2;
}

void report_put_path_reading(const struct report_path *path, struct lumos_text *out) {
  lumos_text_put(out, "The bar is the simulated step, ");
  report_put_time(out, path->whole);
  lumos_text_put(out, ", the mean over the job\xE2\x80\x99s steps. Its parts are what runs on the critical path, and "
                      "(hatched) what passes there between tasks. Shares are of the path and add up to it; those of "
                      "ranks\xE2\x80\x99 time differ");
  if (path->pooled > 0) {
    lumos_text_put(out, ". Kinds with less than 0.5\xC2\xA0% are one part");
  }
  if (report_path_is_mostly_cpu(path)) {
    lumos_text_put(out, ". GPUs compute beside it, but do not decide when the step ends");
  }
  lumos_text_char(out, '.');
}

bool report_path_scene(const struct report_path *path, bool narrow, struct report_scene *scene) {
  if (path->whole <= 0) {
    return false;
  }
  const struct report_stack_shape *shape = narrow ? &report_stack_narrow : &report_stack_wide;
  report_scene_begin(scene, narrow ? "pathnarrow" : "path", shape->width);
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  lumos_text_put(&name, "a step");
  const struct report_stack_bar bar = {
      .kind = "", .named = true, .whole = path->whole, .parts = path->parts, .part_count = path->count};
  struct report_stack stack = report_stack_begin(scene, shape, path->whole);
  report_stack_add(&stack, &bar, &name);
  report_stack_end_row(&stack);
  lumos_text_put(&scene->title, "What the critical path is made of");
  lumos_text_put(&scene->description,
                 "A stacked bar of time, as long as the step, by what runs on the critical path or passes between its "
                 "tasks. The table below the picture holds the same numbers.");
  lumos_text_free(&name);
  return true;
}
