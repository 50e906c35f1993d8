/* The embedded tasks as JSON. {"origin", "from", "column" and "pixels": an instant t of the picture stands (t - from) /
 * column * pixels to the right of its lane's left edge; "begin": the first instant of all, where that is before "from",
 * and "early_column": how much time a column has before it; "twice": measured work is drawn, too; "steps": [[number,
 * start, end]], "window": [from, until] where every task is embedded, "kinds": [[class, label]] by number, "phases":
 * labels by number, "holds": [[what held it, which end of that, evidence]], "routes": the critical paths, "lanes":
 * [{...}] in the order of the pictures.
 *
 * A lane has a column of integers for every field, all equally long. In "start" (counted from origin), "task" (the N of
 * an id) and the references each value is the difference to the one before it (the last that is not null or false; at
 * first 0); references ("call", "held") count the embedded tasks of all lanes, in order. "measured_start" and
 * "measured_dur" are differences to the simulated values. null: there is none; false: there is one, but it is not
 * embedded. A column that says nothing anywhere (0 or null) is left out. "waits": [place on the lane, kind, from,
 * until] of doubtful waits before embedded tasks; the kinds' classes: "doubts". "ends": for each task whose end
 * something else held than its duration: its place on the lane, by whom, how. "passes": [place, phase, micro-batch,
 * layer] from that place on, up to the next one; "bytes": [place, bytes]. "early", where tasks are left out: columns
 * from "begin" to "from", as simulated, and where it is drawn as measured, too: [kind, column, columns, quarters] in
 * one row.
 *
 * What many tasks have in common stands in "names": [kind, name, op, module, shapes], all but the kind as numbers in
 * "texts"; -1, and what is missing at the end: there is none.
 *
 * Of several jobs the lanes of the first come first, then those of the second; each has "job", its name, and "until",
 * where its picture ends. Times count from where the job's own part of the picture begins, there are neither steps,
 * routes nor holds, and what there is is of one timeline: "only".
 *
 * A route is [step, its start, [lane], [duration], [hold]], leg by leg; lane: its place among "lanes", -1: it is not
 * drawn, or outside of the recording; hold: what led to it from the leg before.
 */
#include "report/content/detail.h"

#include "base/hash.h"

#include "report/content/axis.h"
#include "report/content/collapse.h"
#include "report/content/doubt.h"
#include "report/content/gantt.h"
#include "report/content/tally.h"
#include "report/draw/raster.h"
#include "report/text/names.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Room for all names, and the least that each may have. */
enum { NAMES_ROOM = 600 * 1024, NAME_LEAST = 40, MOST_STEPS = 2000, EARLY_COLUMNS = 500 };
#define NOT_EMBEDDED (LUMOS_ABSENT + 1)

enum { HOLDS = LUMOS_CONSTRAINT_KINDS * 3 * 5 }; /* by kind, end and evidence, each with "absent" */

/* What many tasks have in common; LUMOS_NO_STRING: none. */
struct packed_name {
  uint32_t kind;
  lumos_string_id name, op, module, shapes;
};

/* The embedded tasks of one lane. */
struct packed_lane {
  const struct lumos_lane *lane;
  struct report_clock clock;
  const uint32_t *tasks;
  size_t count;
};

struct packing {
  const struct report_detail *detail;
  const struct lumos_job *job;
  struct report_tallies texts;            /* a row's number is the text's */
  LUMOS_VECTOR(struct packed_name) names; /* by number */
  uint32_t *numbers;                      /* a hash table of them, of `capacity` places, or LUMOS_NONE */
  size_t capacity;
  size_t first_name, first_text, first_task; /* how many there are of the jobs before it */
  uint32_t *places;                          /* by lane: its place among those that are drawn; LUMOS_NONE */
  int64_t origin;
  struct report_raster early; /* from the first instant to the first step */
  struct report_raster_runs cells;
  struct packed_lane lane;
  int64_t *values;             /* of a column of that lane */
  uint8_t hold_numbers[HOLDS]; /* number + 1 */
  uint8_t holds[HOLDS];        /* by number: its place above */
  uint8_t hold_count;
};

static bool is_of_several(const struct packing *packing) { return packing->detail->from.jobs > 0; }

/* Of several jobs one timeline is there, else the simulated one and how the measured one differs. The task is embedded,
 * so it has such a time. */
static void time_of(const struct packing *packing, uint32_t task, int64_t *start, int64_t *duration) {
  enum report_timeline timeline = is_of_several(packing) ? packing->detail->from.shown : SIMULATED;
  *start = *duration = 0;
  (void)report_task_time(&packing->lane.clock, timeline, task, start, duration);
}

static int64_t start_of(struct packing *packing, uint32_t task) {
  int64_t start, duration;
  time_of(packing, task, &start, &duration);
  return report_bounded(start) - packing->origin;
}

static int64_t duration_of(struct packing *packing, uint32_t task) {
  int64_t start, duration;
  time_of(packing, task, &start, &duration);
  return duration < 0 ? 0 : report_bounded(duration);
}

static int64_t id_of(struct packing *packing, uint32_t task) { return packing->job->tasks.items[task].id; }

/* The module around a span, or nothing. */
static lumos_string_id module_around(const struct lumos_job *job, uint32_t span) {
  enum { DEEPEST = 1000 }; /* a parent chain longer than this is no call stack */
  for (int depth = 0; span != LUMOS_NONE && depth < DEEPEST; depth++) {
    if (job->spans.items[span].kind == LUMOS_SPAN_MODULE) {
      return job->spans.items[span].name;
    }
    span = job->spans.items[span].parent;
  }
  return LUMOS_NO_STRING;
}

/* Where it is in the table of names, or goes. */
static uint32_t *place_of(const struct packing *packing, const struct packed_name *like) {
  uint64_t hash = lumos_hash_mix(lumos_hash_mix(like->name, like->op), lumos_hash_mix(like->shapes, like->module));
  size_t at = (size_t)(lumos_hash_mix(hash, like->kind) >> 32) & (packing->capacity - 1);
  for (; packing->numbers[at] != LUMOS_NONE; at = (at + 1) & (packing->capacity - 1)) {
    const struct packed_name *name = &packing->names.items[packing->numbers[at]];
    if (name->name == like->name && name->op == like->op && name->shapes == like->shapes &&
        name->module == like->module && name->kind == like->kind) {
      break;
    }
  }
  return &packing->numbers[at];
}

/* Twice as large, and at most half full. */
static void grow_names(struct packing *packing) {
  enum { FIRST_CAPACITY = 1024 };
  packing->capacity = packing->capacity == 0 ? FIRST_CAPACITY : packing->capacity * 2;
  free(packing->numbers);
  packing->numbers = lumos_allocate(packing->capacity * sizeof packing->numbers[0]);
  memset(packing->numbers, 0xFF, packing->capacity * sizeof packing->numbers[0]); /* LUMOS_NONE */
  for (uint32_t i = 0; i < packing->names.count; i++) {
    *place_of(packing, &packing->names.items[i]) = i;
  }
}

/* An op's own name says nothing more. */
static int64_t name_of(struct packing *packing, uint32_t task) {
  const struct lumos_job *job = packing->job;
  const struct lumos_task *record = &job->tasks.items[task];
  uint32_t op = report_op_of(job, task);
  struct packed_name name = {.kind = record->kind, .name = record->name};
  if (op != LUMOS_NONE) {
    const struct lumos_span *span = &job->spans.items[op];
    name.op = span->name == record->name ? LUMOS_NO_STRING : span->name;
    name.shapes = span->shapes;
    name.module = module_around(job, op);
  }
  uint32_t *number = place_of(packing, &name);
  if (*number != LUMOS_NONE) {
    return (int64_t)(packing->first_name + *number);
  }
  *number = (uint32_t)packing->names.count;
  lumos_vector_push(&packing->names, name);
  if (packing->names.count > packing->capacity / 2) {
    grow_names(packing);
  }
  return (int64_t)(packing->first_name + packing->names.count - 1);
}

static int64_t reference(const struct packing *packing, uint32_t task) {
  if (task == LUMOS_NONE) {
    return LUMOS_ABSENT;
  }
  uint32_t ordinal = packing->detail->ordinals[task];
  return ordinal == LUMOS_NONE ? NOT_EMBEDDED : (int64_t)(packing->first_task + ordinal);
}

static int64_t call_of(struct packing *packing, uint32_t task) {
  return reference(packing, packing->job->tasks.items[task].call);
}

static int64_t held_by(struct packing *packing, uint32_t task) {
  return packing->detail->from.bindings == NULL
             ? LUMOS_ABSENT
             : reference(packing, lumos_held_of(packing->detail->from.bindings, task).start.src);
}

static int64_t hold_number(struct packing *packing, struct lumos_binding binding) {
  int place = (binding.kind * 3 + binding.from) * 5 + binding.evidence;
  if (packing->hold_numbers[place] == 0) {
    packing->holds[packing->hold_count++] = (uint8_t)place;
    packing->hold_numbers[place] = packing->hold_count;
  }
  return packing->hold_numbers[place] - 1;
}

static int64_t hold_of(struct packing *packing, uint32_t task) {
  return packing->detail->from.bindings == NULL
             ? LUMOS_ABSENT
             : hold_number(packing, lumos_held_of(packing->detail->from.bindings, task).start);
}

/* Measured against simulated. */
static int64_t start_difference(struct packing *packing, uint32_t task) {
  int64_t start = 0;
  int64_t duration = 0;
  if (is_of_several(packing)) {
    return 0; /* there is one timeline */
  }
  return report_task_time(&packing->lane.clock, MEASURED, task, &start, &duration)
             ? start - packing->origin - start_of(packing, task)
             : LUMOS_ABSENT;
}

static int64_t duration_difference(struct packing *packing, uint32_t task) {
  int64_t start = 0;
  int64_t duration = 0;
  if (is_of_several(packing)) {
    return 0; /* there is one timeline */
  }
  return report_task_time(&packing->lane.clock, MEASURED, task, &start, &duration)
             ? duration - duration_of(packing, task)
             : LUMOS_ABSENT;
}

struct packed_column {
  const char *name;
  int64_t (*value)(struct packing *packing, uint32_t task);
  bool differences; /* to the value before it */
  bool always;      /* also when it says nothing */
  int64_t nothing;  /* the value that says nothing */
};

static const struct packed_column columns[] = {
    {"start", start_of, true, true, 0},
    {"dur", duration_of, false, true, 0},
    {"name", name_of, false, true, 0},
    {"task", id_of, true, true, 0},
    {"measured_start", start_difference, false, false, 0},
    {"measured_dur", duration_difference, false, false, 0},
    {"call", call_of, true, false, LUMOS_ABSENT},
    {"held", held_by, true, false, LUMOS_ABSENT},
    {"hold", hold_of, false, false, LUMOS_ABSENT},
};

/* The column's values on the lane. False: it says nothing. */
static bool read_values(struct packing *packing, const struct packed_column *column) {
  bool says_something = column->always;
  for (size_t i = 0; i < packing->lane.count; i++) {
    packing->values[i] = column->value(packing, packing->lane.tasks[i]);
    says_something = says_something || packing->values[i] != column->nothing;
  }
  return says_something;
}

/* As lumos_text_integer writes it, and a comma: a page has half a million of them. */
static void put_number(int64_t value, struct lumos_text *out) {
  enum { MOST_DIGITS = 20 };
  char digits[2 * MOST_DIGITS] = {0};
  size_t first = MOST_DIGITS;
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  digits[first] = ',';
  do {
    digits[--first] = (char)('0' + left % 10);
    left /= 10;
  } while (left > 0);
  char *at = lumos_text_room(out, 2 + MOST_DIGITS);
  *at = '-';
  memcpy(at + (value < 0), digits + first, 1 + MOST_DIGITS); /* of one length, so that it is no call */
  out->length += (size_t)(value < 0) + MOST_DIGITS - first + 1;
}

static void put_values(const struct packing *packing, const struct packed_column *column, struct lumos_text *out) {
  int64_t last = 0;
  for (size_t i = 0; i < packing->lane.count; i++) {
    int64_t value = packing->values[i];
    if (value == LUMOS_ABSENT || value == NOT_EMBEDDED) {
      lumos_text_put(out, value == LUMOS_ABSENT ? "null," : "false,");
    } else {
      put_number(value - last, out);
      last = column->differences ? value : 0;
    }
  }
  out->length -= packing->lane.count > 0; /* the last comma */
}

static void put_reference(int64_t place, struct lumos_text *out) {
  if (place < 0) {
    lumos_text_put(out, place == LUMOS_ABSENT ? "null" : "false");
  } else {
    lumos_text_integer(out, place);
  }
}

static void put_ends(struct packing *packing, struct lumos_text *out) {
  const char *comma = "[";
  lumos_text_put(out, ",\n\"ends\":[");
  for (size_t place = 0; place < packing->lane.count; place++) {
    const struct lumos_binding end = lumos_held_of(packing->detail->from.bindings, packing->lane.tasks[place]).end;
    if (end.kind != LUMOS_HELD_BY_ITSELF && end.kind != LUMOS_HELD_BY_NOTHING) {
      lumos_text_put(out, comma);
      lumos_text_integer(out, (int64_t)place);
      lumos_text_char(out, ',');
      put_reference(reference(packing, end.src), out);
      lumos_text_char(out, ',');
      lumos_text_integer(out, hold_number(packing, end));
      lumos_text_char(out, ']');
      comma = ",[";
    }
  }
  lumos_text_char(out, ']');
}

/* What a task is part of; it changes seldom along a lane. */
struct pass {
  int64_t phase, micro_batch, layer; /* -1: not known */
};

static struct pass pass_of(const struct lumos_task *task) {
  return (struct pass){task->phase == 0 ? -1 : task->phase,
                       task->micro_batch == LUMOS_ABSENT_INT ? -1 : task->micro_batch,
                       task->layer == LUMOS_ABSENT_INT ? -1 : task->layer};
}

static void put_passes(const struct packing *packing, struct lumos_text *out) {
  struct pass last = {-1, -1, -1};
  const char *comma = ",\n\"passes\":[[";
  size_t before = out->length;
  for (size_t place = 0; place < packing->lane.count; place++) {
    struct pass pass = pass_of(&packing->job->tasks.items[packing->lane.tasks[place]]);
    if (pass.phase != last.phase || pass.micro_batch != last.micro_batch || pass.layer != last.layer) {
      lumos_text_format(out, "%s%zu,%" PRId64 ",%" PRId64 ",%" PRId64 "]", comma, place, pass.phase, pass.micro_batch,
                        pass.layer);
      comma = ",[";
      last = pass;
    }
  }
  lumos_text_put(out, out->length > before ? "]" : "");
}

static void put_bytes(const struct packing *packing, struct lumos_text *out) {
  const char *comma = ",\n\"bytes\":[[";
  size_t before = out->length;
  for (size_t place = 0; place < packing->lane.count; place++) {
    const struct lumos_detail *detail =
        lumos_detail_of(packing->job, &packing->job->tasks.items[packing->lane.tasks[place]]);
    int64_t bytes = detail->comm.op != LUMOS_NO_STRING ? detail->comm.bytes : detail->bytes;
    if (bytes != LUMOS_ABSENT) {
      lumos_text_format(out, "%s%zu,%" PRId64 "]", comma, place, bytes);
      comma = ",[";
    }
  }
  lumos_text_put(out, out->length > before ? "]" : "");
}

/* Doubtful waits before tasks that are embedded; from where the picture begins. */
static void put_waits(const struct packing *packing, struct lumos_text *out) {
  const struct report_timelines *timelines = packing->detail->from.timelines;
  const struct packed_lane *lane = &packing->lane;
  const struct lumos_doubt *end = NULL;
  const struct lumos_doubt *doubt =
      report_doubts_of(&timelines->doubts, lane->lane->task_first, lane->lane->task_count, &end);
  const char *comma = "";
  size_t place = 0;
  lumos_text_put(out, doubt < end ? ",\n\"waits\":[" : "");
  bool any = doubt < end;
  for (; doubt < end; doubt++) {
    while (place < lane->count && lane->tasks[place] < doubt->task) {
      place++;
    }
    int64_t from = doubt->from < timelines->from ? timelines->from : doubt->from;
    if (place < lane->count && lane->tasks[place] == doubt->task && doubt->to > from) {
      lumos_text_format(out, "%s[%zu,%d,%" PRId64 ",%" PRId64 "]", comma, place, doubt->kind, from - packing->origin,
                        doubt->to - packing->origin);
      comma = ",";
    }
  }
  lumos_text_put(out, any ? "]" : "");
}

static void put_early_cells(struct packing *packing, enum report_timeline timeline, struct lumos_text *out) {
  const struct lumos_lane *lane = packing->lane.lane;
  report_raster_clear(&packing->early);
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    int64_t start = 0;
    int64_t duration = 0;
    if (report_task_time(&packing->lane.clock, timeline, task, &start, &duration)) {
      report_raster_add(&packing->early, packing->job->tasks.items[task].kind, start, duration);
    }
  }
  packing->cells.count = 0;
  report_raster_read(&packing->early, &packing->cells);
  lumos_text_char(out, '[');
  for (size_t i = 0; i < packing->cells.count; i++) {
    const struct report_raster_run *cell = &packing->cells.items[i];
    lumos_text_format(out, "%s%d,%" PRId32 ",%" PRId32 ",%d", i == 0 ? "" : ",", cell->kind, cell->x, cell->width,
                      cell->level);
  }
  lumos_text_char(out, ']');
}

/* What ran before the first step, which the picture does not show, where not every task is embedded. */
static void put_early(struct packing *packing, struct lumos_text *out) {
  const struct report_timelines *timelines = packing->detail->from.timelines;
  if (timelines->begin >= timelines->from || packing->lane.count == packing->lane.lane->task_count) {
    return;
  }
  lumos_text_put(out, ",\n\"early\":[");
  put_early_cells(packing, SIMULATED, out);
  if (timelines->twice) {
    lumos_text_char(out, ',');
    put_early_cells(packing, MEASURED, out);
  }
  lumos_text_char(out, ']');
}

/* What the picture shows of the lane and the page does not hold. */
static size_t left_out_of(const struct packing *packing) {
  const struct packed_lane *lane = &packing->lane;
  size_t shown = 0;
  for (uint32_t task = lane->lane->task_first; task < lane->lane->task_first + lane->lane->task_count; task++) {
    shown += report_detail_spans(packing->detail, &lane->clock, task);
  }
  return shown - lane->count;
}

static void put_lane(struct packing *packing, uint32_t number, struct lumos_text *out) {
  const struct packed_lane *lane = &packing->lane;
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  report_put_lane_full(&packing->detail->from.timelines->roles, number, &name);
  lumos_text_format(out, "{\"rank\":%d,\"lane\":", packing->job->ranks.items[lane->lane->rank].rank);
  lumos_text_script_string(out, name.bytes == NULL ? "" : name.bytes, name.length);
  lumos_text_free(&name);
  lumos_text_format(out, ",\"left_out\":%zu", left_out_of(packing));
  if (is_of_several(packing)) {
    lumos_text_format(out, ",\"job\":\"%s\",\"until\":%" PRId64, packing->detail->from.name,
                      packing->detail->from.timelines->end - packing->origin);
  }
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
    if (read_values(packing, &columns[i])) {
      lumos_text_format(out, ",\n\"%s\":[", columns[i].name);
      put_values(packing, &columns[i], out);
      lumos_text_char(out, ']');
    }
  }
  if (packing->detail->from.bindings != NULL) {
    put_ends(packing, out);
  }
  put_passes(packing, out);
  put_bytes(packing, out);
  put_waits(packing, out);
  put_early(packing, out);
  lumos_text_char(out, '}');
}

/* The next lane's embedded tasks, behind those of the one before. */
static void enter_lane(struct packing *packing, uint32_t number) {
  const struct lumos_lane *lane = &packing->job->lanes.items[number];
  const uint32_t *end = packing->detail->chosen + packing->detail->embedded;
  const uint32_t *tasks = packing->lane.tasks + packing->lane.count;
  size_t count = 0;
  while (tasks + count < end && tasks[count] - lane->task_first < lane->task_count) {
    count++;
  }
  packing->lane = (struct packed_lane){lane, report_clock_of(packing->job, number), tasks, count};
}

/* Of a list that goes on from job to job. */
static void begin_item(struct lumos_text *out, const char *between) {
  if (out->bytes[out->length - 1] != '[') {
    lumos_text_put(out, between);
  }
}

static void put_lanes(struct packing *packing, struct lumos_text *out) {
  const struct report_lanes *lists[] = {&packing->detail->from.timelines->open,
                                        &packing->detail->from.timelines->folded};
  for (int list = 0; list < 2; list++) {
    for (size_t i = 0; i < lists[list]->count; i++) {
      begin_item(out, ",\n");
      enter_lane(packing, lists[list]->items[i].lane);
      put_lane(packing, lists[list]->items[i].lane, out);
    }
  }
}

/* Few texts stand whole; of very many, each gets its share of the room. */
static void put_texts(const struct packing *packing, struct lumos_text *out) {
  const struct lumos_strings *strings = packing->job->strings;
  size_t count = packing->texts.rows.count;
  size_t limit = count == 0 ? 0 : NAMES_ROOM / count;
  limit = limit > REPORT_LONG ? REPORT_LONG : limit < NAME_LEAST ? NAME_LEAST : limit;
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < count; i++) {
    lumos_string_id text = packing->texts.rows.items[i].name;
    name.length = 0;
    report_put_cut(&name, lumos_string(strings, text), lumos_string_length(strings, text), limit);
    begin_item(out, ",");
    lumos_text_script_string(out, name.bytes == NULL ? "" : name.bytes, name.length);
  }
  lumos_text_free(&name);
}

static int64_t number_of_text(struct packing *packing, lumos_string_id text) {
  return report_tally_of(&packing->texts, text, 0) - packing->texts.rows.items + (int64_t)packing->first_text;
}

/* The texts are numbered as they are first named. */
static void put_names(struct packing *packing, struct lumos_text *out) {
  for (size_t i = 0; i < packing->names.count; i++) {
    const struct packed_name *name = &packing->names.items[i];
    const lumos_string_id texts[] = {name->name, name->op, name->module, name->shapes};
    size_t count = sizeof texts / sizeof texts[0];
    while (count > 1 && texts[count - 1] == LUMOS_NO_STRING) {
      count--;
    }
    begin_item(out, ",");
    lumos_text_format(out, "[%" PRIu32, name->kind);
    for (size_t k = 0; k < count; k++) {
      bool none = k > 0 && texts[k] == LUMOS_NO_STRING;
      lumos_text_char(out, ',');
      lumos_text_integer(out, none ? -1 : number_of_text(packing, texts[k]));
    }
    lumos_text_char(out, ']');
  }
}

static void put_holds(const struct packing *packing, struct lumos_text *out) {
  lumos_text_put(out, ",\n\"holds\":[");
  for (int i = 0; i < packing->hold_count; i++) {
    int place = packing->holds[i];
    lumos_text_format(out, "%s[\"%s\",\"%s\",\"%s\"]", i == 0 ? "" : ",",
                      lumos_constraint_kind_name((enum lumos_constraint_kind)(place / 15)),
                      lumos_end_name((enum lumos_end)(place / 5 % 3)),
                      lumos_evidence_name((enum lumos_evidence)(place % 5)));
  }
  lumos_text_char(out, ']');
}

/* One column of a route. */
static void put_legs(struct packing *packing, const struct report_route *route, int column, struct lumos_text *out) {
  const struct report_leg *legs = packing->detail->from.timelines->routes.legs.items + route->first;
  for (size_t i = 0; i < route->count; i++) {
    int64_t place = legs[i].lane == LUMOS_NONE || packing->places[legs[i].lane] == LUMOS_NONE
                        ? -1
                        : (int64_t)packing->places[legs[i].lane];
    lumos_text_put(out, i == 0 ? ",[" : ",");
    lumos_text_integer(out, column == 0   ? place
                            : column == 1 ? legs[i].to - legs[i].from
                                          : hold_number(packing, legs[i].entry));
  }
  lumos_text_char(out, ']');
}

static void put_routes(struct packing *packing, struct lumos_text *out) {
  enum { COLUMNS = 3 };
  const struct report_routes *routes = &packing->detail->from.timelines->routes;
  const char *comma = "";
  lumos_text_put(out, ",\n\"routes\":[");
  for (size_t i = 0; i < routes->of.count; i++) {
    const struct report_route *route = &routes->of.items[i];
    if (route->count > 0) {
      lumos_text_format(out, "%s[%" PRId32 ",%" PRId64, comma, route->step,
                        routes->legs.items[route->first].from - packing->origin);
      for (int column = 0; column < COLUMNS; column++) {
        put_legs(packing, route, column, out);
      }
      lumos_text_char(out, ']');
      comma = ",\n";
    }
  }
  lumos_text_char(out, ']');
}

/* Where nothing is left out: the span that was asked for, unless it was cut. */
static void put_window(const struct packing *packing, struct lumos_text *out) {
  const struct report_detail *detail = packing->detail;
  const struct lumos_report_options *options = detail->from.options;
  if (options->has_detail && detail->window_tasks <= REPORT_WINDOW) {
    lumos_text_format(out, ",\n\"window\":[%" PRId64 ",%" PRId64 "]", options->detail_from, options->detail_until);
  }
}

static void put_frame(const struct packing *packing, struct lumos_text *out) {
  const struct report_timelines *timelines = packing->detail->from.timelines;
  lumos_text_format(out, "{\"origin\":%" PRId64 ",\"from\":%" PRId64 ",\"column\":%" PRId64 ",\"pixels\":%" PRId32,
                    packing->origin, timelines->from - packing->origin, report_gantt_column(timelines),
                    report_axis_pixels(timelines));
  if (timelines->begin < timelines->from) {
    lumos_text_format(out, ",\"begin\":%" PRId64 ",\"early_column\":%" PRId64, timelines->begin - packing->origin,
                      packing->early.per_column);
  }
  lumos_text_format(out, ",\"twice\":%s", timelines->twice ? "true" : "false");
  if (is_of_several(packing)) {
    lumos_text_format(out, ",\"only\":\"%s\"", report_timeline_name(packing->detail->from.shown));
  }
  lumos_text_put(out, ",\n\"steps\":[");
  for (size_t i = 0; !is_of_several(packing) && i < timelines->steps.count && i < MOST_STEPS; i++) {
    const struct report_boundary *step = &timelines->steps.items[i];
    lumos_text_format(out, "%s[%" PRId32 ",%" PRId64 ",%" PRId64 "]", i == 0 ? "" : ",", step->step,
                      step->start - packing->origin, step->end - packing->origin);
  }
  lumos_text_char(out, ']');
  put_window(packing, out);
  lumos_text_put(out, ",\n\"doubts\":[");
  for (int kind = 0; kind < LUMOS_DOUBT_KINDS; kind++) {
    lumos_text_format(out, "%s\"%s\"", kind == 0 ? "" : ",", report_paint_row(report_paint_of_doubt(kind))->css);
  }
  lumos_text_char(out, ']');
  lumos_text_put(out, ",\n\"kinds\":[");
  for (int kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
    const struct report_paint_row *row = report_paint_row(report_paint_of_kind((uint8_t)kind));
    lumos_text_format(out, "%s[\"%s\",\"%s\"]", kind == 0 ? "" : ",", row->css, row->label);
  }
  lumos_text_put(out, "],\n\"phases\":[\"\"");
  for (int phase = LUMOS_FORWARD; phase <= LUMOS_OTHER_PHASE; phase++) {
    lumos_text_format(out, ",\"%s\"", lumos_phase_name((enum lumos_phase)phase));
  }
  lumos_text_char(out, ']');
}

/* By lane its place among those that are drawn. */
static void find_places(struct packing *packing) {
  const struct report_timelines *timelines = packing->detail->from.timelines;
  const struct report_lanes *lists[] = {&timelines->open, &timelines->folded};
  uint32_t place = 0;
  packing->places = lumos_allocate((packing->job->lanes.count + 1) * sizeof packing->places[0]);
  memset(packing->places, 0xFF, packing->job->lanes.count * sizeof packing->places[0]); /* LUMOS_NONE */
  for (int list = 0; list < 2; list++) {
    for (size_t i = 0; i < lists[list]->count; i++) {
      packing->places[lists[list]->items[i].lane] = place++;
    }
  }
}

static void begin_packing(struct packing *packing, const struct report_detail *detail) {
  const struct report_timelines *timelines = detail->from.timelines;
  *packing = (struct packing){.detail = detail, .job = timelines->job};
  packing->origin = is_of_several(packing) ? timelines->from : report_timelines_origin(timelines);
  packing->lane.tasks = detail->chosen;
  packing->values = lumos_allocate((size_t)(detail->embedded + 1) * sizeof packing->values[0]);
  report_tallies_begin(&packing->texts, packing->job->strings);
  grow_names(packing);
  find_places(packing);
  report_raster_begin(&packing->early, timelines->begin, timelines->from, EARLY_COLUMNS);
}

static void end_packing(struct packing *packing) {
  free(packing->numbers);
  report_raster_free(&packing->early);
  lumos_vector_free(&packing->cells);
  report_tallies_free(&packing->texts);
  lumos_vector_free(&packing->names);
  free(packing->places);
  free(packing->values);
}

static void put_jobs(struct packing *packings, size_t count, struct lumos_text *out) {
  lumos_text_put(out, ",\n\"lanes\":[");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) {
      packings[i].first_name = packings[i - 1].first_name + packings[i - 1].names.count;
      packings[i].first_task = packings[i - 1].first_task + (size_t)packings[i - 1].detail->embedded;
    }
    put_lanes(&packings[i], out);
  }
  lumos_text_put(out, "],\n\"names\":[");
  for (size_t i = 0; i < count; i++) {
    packings[i].first_text = i == 0 ? 0 : packings[i - 1].first_text + packings[i - 1].texts.rows.count;
    put_names(&packings[i], out);
  }
  lumos_text_put(out, "],\n\"texts\":[");
  for (size_t i = 0; i < count; i++) {
    put_texts(&packings[i], out);
  }
  lumos_text_char(out, ']');
}

void report_details_json(const struct report_detail *details, size_t count, struct lumos_text *out) {
  struct packing *packings = lumos_allocate(count * sizeof *packings);
  for (size_t i = 0; i < count; i++) {
    begin_packing(&packings[i], &details[i]);
  }
  put_frame(&packings[0], out);
  put_jobs(packings, count, out);
  put_routes(&packings[0], out);
  put_holds(&packings[0], out);
  lumos_text_put(out, "}\n");
  for (size_t i = 0; i < count; i++) {
    end_packing(&packings[i]);
  }
  free(packings);
}
