/* Tasks become items in one walk; a sweep over each rank's compared steps then says what each accounts for: the order
 * of who counts where several run is compare.h's. The steps of a job lie one behind the other, so one sweep goes
 * through all of them.
 */
#include "compare/items.h"

#include "base/text.h"
#include "report/text/privacy.h"
#include "sim/calls.h"
#include "sim/clock.h"
#include "sim/origin.h"
#include <stdlib.h>

struct reading {
  struct compare_items *items;
  const struct compare_side *side;
  struct lumos_strings *strings; /* of the comparison */
  struct lumos_origins origins;
  struct report_private_names *names;
  uint32_t *interned; /* by string of the job: its id in the comparison; LUMOS_NONE: not asked yet */
  uint32_t string_count;
  struct lumos_numbering module_numbers; /* of the modules that were asked for */
  LUMOS_VECTOR(lumos_string_id) modules; /* their paths */
  struct lumos_text text;
};

static void open_reading(struct reading *reading, struct compare_items *items, const struct compare_side *side,
                         struct lumos_strings *strings) {
  *items = (struct compare_items){0};
  *reading = (struct reading){.items = items, .side = side, .strings = strings, .text = LUMOS_TEXT_BUFFER};
  lumos_origins_begin(&reading->origins, side->job);
  reading->names = report_private_names_of(side->job);
  reading->string_count = lumos_strings_count(side->job->strings);
  reading->interned = lumos_allocate((reading->string_count + 1U) * sizeof *reading->interned);
  for (uint32_t i = 0; i <= reading->string_count; i++) {
    reading->interned[i] = i == LUMOS_NO_STRING ? LUMOS_NO_STRING : LUMOS_NONE;
  }
}

static void close_reading(struct reading *reading) {
  lumos_origins_free(&reading->origins);
  report_private_names_free(reading->names);
  lumos_numbering_free(&reading->module_numbers);
  lumos_vector_free(&reading->modules);
  lumos_text_free(&reading->text);
  free(reading->interned);
}

static lumos_string_id intern_public(struct reading *reading, lumos_string_id string) {
  const struct lumos_strings *from = reading->side->job->strings;
  reading->text.length = 0;
  report_privacy_put(reading->names, lumos_string(from, string), lumos_string_length(from, string), &reading->text);
  return lumos_intern(reading->strings, reading->text.bytes, reading->text.length);
}

static lumos_string_id shared(struct reading *reading, lumos_string_id string) {
  if (string > reading->string_count) { /* was added since */
    return intern_public(reading, string);
  }
  if (reading->interned[string] == LUMOS_NONE) {
    reading->interned[string] = intern_public(reading, string);
  }
  return reading->interned[string];
}

static lumos_string_id shared_module(struct reading *reading, uint32_t module) {
  if (module == 0) {
    return LUMOS_NO_STRING;
  }
  uint32_t number = lumos_number_of(&reading->module_numbers, module);
  if (number == reading->modules.count) {
    lumos_string_id path = lumos_module_path(&reading->origins, reading->side->job, module);
    lumos_vector_push(&reading->modules, intern_public(reading, path));
  }
  return reading->modules.items[number];
}

/* The shapes that the innermost op around a launch has. */
static lumos_string_id shapes_around(const struct lumos_job *job, uint32_t span) {
  enum { DEEPEST = 8 }; /* ops within an op that has none of its own. Chosen: wrappers nest no deeper */
  for (int depth = 0; depth < DEEPEST && span != LUMOS_NONE; depth++, span = job->spans.items[span].parent) {
    const struct lumos_span *record = &job->spans.items[span];
    if (record->kind == LUMOS_SPAN_OP && record->shapes != LUMOS_NO_STRING) {
      return record->shapes;
    }
  }
  return LUMOS_NO_STRING;
}

static uint32_t item_of(struct reading *reading, const uint32_t parts[COMPARE_PARTS]) {
  struct compare_items *items = reading->items;
  uint32_t number = compare_key(&items->keys, parts, COMPARE_PARTS);
  if (number == items->items.count) {
    struct compare_item item = {.time = 0};
    for (int part = 0; part < COMPARE_PARTS; part++) {
      item.parts[part] = parts[part];
    }
    lumos_vector_push(&items->items, item);
  }
  return number;
}

static struct compare_cell *cell_of(struct compare_items *items, uint32_t item, uint32_t step) {
  uint32_t number = lumos_number_of(&items->numbering, lumos_key_pair(item, step));
  if (number == items->cells.count) {
    lumos_vector_push(&items->cells, ((struct compare_cell){.item = item, .step = step}));
  }
  return &items->cells.items[number];
}

/* ---- Kernels and copies ---- */

static uint32_t item_of_task(struct reading *reading, const struct lumos_task *task) {
  uint32_t span = lumos_launch_span(reading->side->job, task);
  struct lumos_origin origin = {LUMOS_NO_STRING, 0};
  if (span != LUMOS_NONE) {
    origin = lumos_origin_of(&reading->origins, span);
  }
  const uint32_t parts[COMPARE_PARTS] = {
      [COMPARE_KIND] = task->kind,
      [COMPARE_PHASE] = task->phase,
      [COMPARE_PLACE] = compare_place_of(task),
      [COMPARE_OP] = shared(reading, origin.op),
      [COMPARE_SHAPES] = shared(reading, shapes_around(reading->side->job, span)),
      [COMPARE_NAME] = shared(reading, task->name),
      [COMPARE_MODULE] = shared_module(reading, origin.module),
  };
  return item_of(reading, parts);
}

/* A task on a stream, and what decides whether it counts where several run: the class, then the start. */
struct piece {
  int64_t start, end;
  uint32_t item;
  uint8_t class;
};
LUMOS_VECTOR_TYPE(pieces, struct piece);

static uint8_t class_of(uint8_t kind) { return lumos_is_communication(kind) ? 1 : lumos_is_copy(kind) ? 2 : 0; }

static void count_task(struct reading *reading, const struct lumos_task *task, const struct piece *piece) {
  const struct compare_side *side = reading->side;
  uint32_t k = task->step == LUMOS_ABSENT_INT ? LUMOS_NONE : lumos_job_step(&side->timeline, task->step);
  if (k != LUMOS_NONE && side->number[k] != LUMOS_NONE) {
    struct compare_cell *cell = cell_of(reading->items, piece->item, side->number[k]);
    int64_t weight = lumos_task_weight(side->job, task);
    __int128 time = (__int128)(piece->end - piece->start) * weight;
    cell->time += time;
    cell->count += weight;
    reading->items->items.items[piece->item].time += time;
  }
}

static void collect_rank(struct reading *reading, const struct lumos_rank *rank, struct pieces *pieces) {
  const struct lumos_job *job = reading->side->job;
  pieces->count = 0;
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    for (uint32_t t = lane->task_first; lane->kind == LUMOS_STREAM && t < lane->task_first + lane->task_count; t++) {
      const struct lumos_task *task = &job->tasks.items[t];
      struct piece piece = {.class = class_of(task->kind)};
      if (lumos_task_interval(job, reading->side->runs, t, &piece.start, &piece.end) && piece.end >= piece.start) {
        piece.item = item_of_task(reading, task);
        lumos_vector_push(pieces, piece);
        count_task(reading, task, &piece);
      }
    }
  }
}

/* ---- What each accounts for ---- */

static int by_start(const void *left, const void *right) {
  const struct piece *a = left, *b = right;
  return a->start != b->start   ? LUMOS_ORDER(a->start, b->start)
         : a->class != b->class ? LUMOS_ORDER(a->class, b->class)
         : a->end != b->end     ? LUMOS_ORDER(a->end, b->end)
                                : LUMOS_ORDER(a->item, b->item);
}

/* What runs, as a heap of indices into the pieces, whose order is that of their starts: the one that counts on top. */
LUMOS_VECTOR_TYPE(running, uint32_t);

static bool counts_before(const struct pieces *pieces, uint32_t left, uint32_t right) {
  uint8_t a = pieces->items[left].class, b = pieces->items[right].class;
  return a != b ? a < b : left < right;
}

static void start_piece(struct running *running, const struct pieces *pieces, uint32_t piece) {
  lumos_vector_push(running, piece);
  size_t at = running->count - 1;
  while (at > 0 && counts_before(pieces, running->items[at], running->items[(at - 1) / 2])) {
    uint32_t above = running->items[(at - 1) / 2];
    running->items[(at - 1) / 2] = running->items[at];
    running->items[at] = above;
    at = (at - 1) / 2;
  }
}

static void end_first(struct running *running, const struct pieces *pieces) {
  uint32_t *items = running->items;
  items[0] = items[--running->count];
  for (size_t at = 0;;) {
    size_t first = at;
    for (size_t below = 2 * at + 1; below <= 2 * at + 2 && below < running->count; below++) {
      first = counts_before(pieces, items[below], items[first]) ? below : first;
    }
    if (first == at) {
      return;
    }
    uint32_t moved = items[at];
    items[at] = items[first];
    items[first] = moved;
    at = first;
  }
}

static void sweep_rank(struct reading *reading, const struct pieces *pieces, int64_t weight, uint32_t idle) {
  struct running running = {0};
  uint32_t next = 0;
  for (uint32_t k = 0; k < reading->side->windows.count; k++) {
    const struct lumos_step *window = &reading->side->windows.items[k];
    for (int64_t now = window->start; now < window->end;) {
      for (; next < pieces->count && pieces->items[next].start <= now; next++) {
        start_piece(&running, pieces, next);
      }
      while (running.count > 0 && pieces->items[running.items[0]].end <= now) {
        end_first(&running, pieces);
      }
      int64_t until =
          next < pieces->count && pieces->items[next].start < window->end ? pieces->items[next].start : window->end;
      uint32_t item = idle;
      if (running.count > 0) {
        const struct piece *first = &pieces->items[running.items[0]];
        item = first->item;
        until = first->end < until ? first->end : until;
      }
      cell_of(reading->items, item, k)->owned += (__int128)(until - now) * weight;
      now = until;
    }
  }
  lumos_vector_free(&running);
}

void compare_items_of_gpu(struct compare_items *items, const struct compare_side *side, struct lumos_strings *strings) {
  struct reading reading;
  open_reading(&reading, items, side, strings);
  static const uint32_t nothing[COMPARE_PARTS] = {0};
  uint32_t idle = item_of(&reading, nothing);
  struct pieces pieces = {0};
  for (uint32_t rank = 0; rank < side->job->ranks.count; rank++) {
    const struct lumos_rank *record = &side->job->ranks.items[rank];
    if (side->has_gpu[rank]) {
      collect_rank(&reading, record, &pieces);
      lumos_vector_sort(&pieces, by_start);
      sweep_rank(&reading, &pieces, lumos_rank_weight(record), idle);
    }
  }
  lumos_vector_free(&pieces);
  close_reading(&reading);
}

/* ---- Calls ---- */

static void count_call(void *context, uint32_t step, uint32_t call, int64_t length) {
  struct reading *reading = context;
  const struct compare_side *side = reading->side;
  const struct lumos_task *task = &side->job->tasks.items[call];
  if (side->number[step] == LUMOS_NONE || !side->has_gpu[lumos_rank_of(side->job, task)]) {
    return;
  }
  struct lumos_origin origin = {LUMOS_NO_STRING, 0};
  if (task->span != LUMOS_NONE) {
    origin = lumos_origin_of(&reading->origins, task->span);
  }
  const uint32_t parts[COMPARE_PARTS] = {[COMPARE_KIND] = task->kind,
                                         [COMPARE_OP] = shared(reading, origin.op),
                                         [COMPARE_NAME] = shared(reading, task->name)};
  uint32_t item = item_of(reading, parts);
  int64_t weight = lumos_task_weight(side->job, task);
  struct compare_cell *cell = cell_of(reading->items, item, side->number[step]);
  cell->time += (__int128)length * weight;
  cell->count += weight;
  reading->items->items.items[item].time += (__int128)length * weight;
}

void compare_items_of_calls(struct compare_items *items, const struct compare_side *side,
                            struct lumos_strings *strings) {
  struct reading reading;
  open_reading(&reading, items, side, strings);
  lumos_walk_calls(side->job, &side->timeline, &side->stretches, count_call, &reading);
  close_reading(&reading);
}

void compare_items_free(struct compare_items *items) {
  lumos_vector_free(&items->items);
  lumos_vector_free(&items->cells);
  compare_keys_free(&items->keys);
  lumos_numbering_free(&items->numbering);
}
