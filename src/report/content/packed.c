/* The embedded tasks as JSON. {"origin", "from", "column" and "pixels": an instant t of the picture stands (t - from) /
 * column * pixels to the right of its lane's left edge; "steps": [[number, start, end]], "window": [from, until] where
 * every task is embedded, "kinds": [[class, label]] by number, "names": [[kind, name]], "holds": [[what held it, which
 * end of that, evidence]], "chain": {"step", "tasks": differences of references, in order of time; "parts": [[place
 * among them, from, until]] of those that the chain runs through only in part}, "lanes": [{...}]} in the order of the
 * pictures.
 *
 * A lane has a column of integers for every field, all equally long. In "start" (counted from origin), "task" (the N of
 * an id) and the references each value is the difference to the one before it (the last that is not null or false; at
 * first 0); references ("call", "held") count the embedded tasks of all lanes, in order. "measured_start" and
 * "measured_dur" are differences to the simulated values. null: there is none; false: there is one, but it is not
 * embedded. A column that says nothing anywhere (0 or null) is left out. "waits": [place on the lane, kind, from,
 * until] of doubtful waits before embedded tasks; the kinds' classes: "doubts". "ends": for each task whose end
 * something else held than its duration: its place on the lane, by whom, how.
 */
#include "report/content/detail.h"

#include "report/content/axis.h"
#include "report/content/doubt.h"
#include "report/content/gantt.h"
#include "report/content/tally.h"
#include "report/text/names.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Room for all names, and the least that each may have. */
enum { NAMES_ROOM = 600 * 1024, NAME_LEAST = 40, MOST_STEPS = 2000 };
#define NOT_EMBEDDED (LUMOS_ABSENT + 1)

enum { HOLDS = LUMOS_CONSTRAINT_KINDS * 3 * 5 }; /* by kind, end and evidence, each with "absent" */

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
  struct report_tallies names; /* (name, kind): its row's number is the name's */
  int64_t origin;
  struct packed_lane lane;
  int64_t *values;             /* of a column of that lane */
  uint8_t hold_numbers[HOLDS]; /* number + 1 */
  uint8_t holds[HOLDS];        /* by number: its place above */
  uint8_t hold_count;
};

/* The task is embedded, so it has a simulated time. */
static int64_t start_of(struct packing *packing, uint32_t task) {
  return report_bounded(packing->job->runs.items[task].start) - packing->origin;
}

static int64_t duration_of(struct packing *packing, uint32_t task) {
  int64_t duration = packing->job->runs.items[task].dur;
  return duration < 0 ? 0 : report_bounded(duration);
}

static int64_t id_of(struct packing *packing, uint32_t task) { return packing->job->tasks.items[task].id; }

static int64_t name_of(struct packing *packing, uint32_t task) {
  const struct lumos_task *record = &packing->job->tasks.items[task];
  return report_tally_of(&packing->names, record->name, record->kind) - packing->names.rows.items;
}

static int64_t reference(const struct packing *packing, uint32_t task) {
  if (task == LUMOS_NONE) {
    return LUMOS_ABSENT;
  }
  uint32_t ordinal = packing->detail->ordinals[task];
  return ordinal == LUMOS_NONE ? NOT_EMBEDDED : ordinal;
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
  return report_task_time(&packing->lane.clock, MEASURED, task, &start, &duration)
             ? start - packing->origin - start_of(packing, task)
             : LUMOS_ABSENT;
}

static int64_t duration_difference(struct packing *packing, uint32_t task) {
  int64_t start = 0;
  int64_t duration = 0;
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

static void put_lane(struct packing *packing, uint32_t number, struct lumos_text *out) {
  const struct packed_lane *lane = &packing->lane;
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  report_put_lane(&name, packing->job, number);
  lumos_text_format(out, "{\"rank\":%d,\"lane\":", packing->job->ranks.items[lane->lane->rank].rank);
  lumos_text_script_string(out, name.bytes == NULL ? "" : name.bytes, name.length);
  lumos_text_free(&name);
  lumos_text_format(out, ",\"left_out\":%zu", lane->lane->task_count - lane->count);
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
  put_waits(packing, out);
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

static void put_lanes(struct packing *packing, struct lumos_text *out) {
  const struct report_lanes *lists[] = {&packing->detail->from.timelines->open,
                                        &packing->detail->from.timelines->folded};
  const char *comma = "";
  lumos_text_put(out, ",\n\"lanes\":[");
  for (int list = 0; list < 2; list++) {
    for (size_t i = 0; i < lists[list]->count; i++) {
      lumos_text_put(out, comma);
      enter_lane(packing, lists[list]->items[i].lane);
      put_lane(packing, lists[list]->items[i].lane, out);
      comma = ",\n";
    }
  }
  lumos_text_char(out, ']');
}

/* Few names stand whole; of very many, each gets its share of the room. */
static void put_names(const struct packing *packing, struct lumos_text *out) {
  const struct lumos_strings *strings = packing->job->strings;
  size_t count = packing->names.rows.count;
  size_t limit = count == 0 ? 0 : NAMES_ROOM / count;
  limit = limit > REPORT_LONG ? REPORT_LONG : limit < NAME_LEAST ? NAME_LEAST : limit;
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  lumos_text_put(out, ",\n\"names\":[");
  for (size_t i = 0; i < count; i++) {
    const struct report_tally *row = &packing->names.rows.items[i];
    name.length = 0;
    report_put_cut(&name, lumos_string(strings, row->name), lumos_string_length(strings, row->name), limit);
    lumos_text_format(out, "%s[%" PRIu32 ",", i == 0 ? "" : ",", row->kind);
    lumos_text_script_string(out, name.bytes == NULL ? "" : name.bytes, name.length);
    lumos_text_char(out, ']');
  }
  lumos_text_char(out, ']');
  lumos_text_free(&name);
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

/* What of the task of parts [first, end) the chain runs through. False: all of it. */
static bool clipped(struct packing *packing, size_t first, size_t end, int64_t *from, int64_t *until) {
  const struct lumos_path_part *parts = packing->detail->from.chain->parts.items;
  int64_t start = start_of(packing, parts[first].task) + packing->origin;
  int64_t duration = duration_of(packing, parts[first].task);
  *from = parts[first].from > start ? parts[first].from : start;
  *until = parts[end - 1].to < start + duration ? parts[end - 1].to : start + duration;
  *until = *until < *from ? *from : *until;
  return *from > start || *until < start + duration;
}

/* A task's lag and what it runs stand next to each other on the chain, and are one. */
static void put_chain(struct packing *packing, struct lumos_text *out) {
  const struct report_chain *chain = packing->detail->from.chain;
  if (chain == NULL) {
    return;
  }
  struct lumos_text shortened = LUMOS_TEXT_BUFFER;
  int64_t last = 0;
  int64_t place = 0;
  size_t end = 0;
  lumos_text_format(out, ",\n\"chain\":{\"step\":%" PRId32 ",\"tasks\":[", chain->step);
  for (size_t first = 0; first < chain->parts.count; first = end) {
    uint32_t task = chain->parts.items[first].task;
    for (end = first + 1; end < chain->parts.count && chain->parts.items[end].task == task; end++) {
    }
    if (task == LUMOS_NONE || packing->detail->ordinals[task] == LUMOS_NONE) {
      continue;
    }
    int64_t ordinal = packing->detail->ordinals[task];
    lumos_text_put(out, place == 0 ? "" : ",");
    lumos_text_integer(out, ordinal - last);
    last = ordinal;
    int64_t from = 0;
    int64_t until = 0;
    if (clipped(packing, first, end, &from, &until)) {
      lumos_text_format(&shortened, "%s[%" PRId64 ",%" PRId64 ",%" PRId64 "]", shortened.length == 0 ? "" : ",", place,
                        from - packing->origin, until - packing->origin);
    }
    place++;
  }
  lumos_text_put(out, "],\n\"parts\":[");
  lumos_text_add(out, shortened.bytes == NULL ? "" : shortened.bytes, shortened.length);
  lumos_text_put(out, "]}");
  lumos_text_free(&shortened);
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
  lumos_text_put(out, ",\n\"steps\":[");
  for (size_t i = 0; i < timelines->steps.count && i < MOST_STEPS; i++) {
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
  lumos_text_char(out, ']');
}

void report_detail_json(const struct report_detail *detail, struct lumos_text *out) {
  struct packing packing = {
      .detail = detail, .job = detail->from.timelines->job, .origin = report_timelines_origin(detail->from.timelines)};
  packing.lane.tasks = detail->chosen;
  packing.values = lumos_allocate((size_t)(detail->embedded + 1) * sizeof packing.values[0]);
  report_tallies_begin(&packing.names, packing.job->strings);
  put_frame(&packing, out);
  put_lanes(&packing, out);
  put_names(&packing, out);
  put_holds(&packing, out);
  put_chain(&packing, out);
  lumos_text_put(out, "}\n");
  report_tallies_free(&packing.names);
  free(packing.values);
}
