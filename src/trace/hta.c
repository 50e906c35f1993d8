/* HTA reads a file whole: every row in whole microseconds, and of a row on a stream the call of the same correlation.
 * What its figures rest on is kept beside the tasks, for these are in other clocks and of chosen steps only.
 */
#include "trace/hta.h"

#include "base/hash.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the host's rows of one correlation say of the device's rows of it. */
struct launch {
  int64_t correlation;
  int64_t last;     /* when the last one of them starts; LUMOS_ABSENT */
  int64_t enqueued; /* the same of those that put work into a stream's queue, by their names */
  uint32_t enqueuing;
  uint32_t rows; /* of the device */
  uint32_t kept; /* host rows before the last step */
  int64_t place; /* of the last one that puts work into a queue among all such */
  bool used;
};

struct class {
  lumos_string_id name;
  int64_t stream;
  char letter;
  bool host;
};

struct keeping {
  struct trace *trace;
  struct launch *launches; /* open addressing by correlation */
  size_t launch_mask;
  LUMOS_VECTOR(struct class) classes;
  uint32_t *class_slots; /* open addressing: index + 1 */
  size_t class_mask;
  bool host_seen;
  int64_t cut; /* what starts on the host from then on is of the last step */
  int64_t first, last, cut_first, cut_last;
  lumos_string_id sync_names[2];
  lumos_string_id enqueuing[16];
  int64_t places; /* of calls that put work into a queue, so far */
  int64_t before; /* start of the row that was written last */
  int64_t place;  /* of the call of the last row that had one */
  struct lumos_text rows;
};

/* Calls after which the queue of a stream is longer. */
static const char *const enqueuing_names[] = {
    "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",      "cuLaunchKernelEx",
    "cudaMemcpyAsync",  "cudaMemsetAsync",     "hipLaunchKernel",     "hipExtModuleLaunchKernel",
    "hipMemcpyAsync",   "hipMemsetAsync",      "hipMemcpyWithStream", "runFunction - job_prep_and_submit_for_execution",
};
enum { ENQUEUING = sizeof enqueuing_names / sizeof *enqueuing_names };

/* The double next to ns / 1000, which is what a JSON reader makes of the recorded text. Below 2^53 ns one division is
 * exact enough by itself; above, whole and rest are each exact or so near that the sum is rounded as their true sum
 * would be. */
static double microseconds(int64_t ns) {
  if (ns < INT64_C(1) << 53U && ns > -(INT64_C(1) << 53U)) {
    return (double)ns / 1000.0;
  }
  int64_t whole = ns / 1000;
  int64_t rest = ns % 1000;
  return (double)whole + (double)rest / 1000.0;
}

/* The first whole microsecond in the row. */
static int64_t start_of(int64_t start) { return (int64_t)ceil(microseconds(start)); }
/* The last one; a row without a whole microsecond ends before it starts. */
static int64_t end_of(int64_t start, int64_t dur) { return (int64_t)floor(microseconds(start) + microseconds(dur)); }

static int64_t number(int64_t value) { return value == LUMOS_ABSENT ? -1 : value; }
static int64_t stream_of(const struct trace_device *row) {
  return row->stream == LUMOS_ABSENT_INT ? -1 : (int64_t)row->stream;
}

/* Is the row the device's? All others are the host's, a stream or not. */
static bool is_device(const struct keeping *keeping, int64_t stream, int64_t correlation, lumos_string_id name) {
  return (stream >= 0 && correlation >= 0) || name == keeping->sync_names[0] || name == keeping->sync_names[1];
}

static size_t table_size(size_t count) {
  size_t size = 16;
  while (size < 2 * count) {
    size *= 2;
  }
  return size;
}

static struct launch *find_launch(const struct keeping *keeping, int64_t correlation) {
  uint64_t hash = lumos_hash_mix(0, (uint64_t)correlation);
  size_t slot = (hash >> 20U) & keeping->launch_mask;
  while (keeping->launches[slot].used && keeping->launches[slot].correlation != correlation) {
    slot = (slot + 1) & keeping->launch_mask;
  }
  return &keeping->launches[slot];
}

static void expect_launch(struct keeping *keeping, int64_t stream, int64_t correlation, lumos_string_id name) {
  if (is_device(keeping, stream, correlation, name)) {
    struct launch *launch = find_launch(keeping, correlation);
    *launch = (struct launch){.correlation = correlation,
                              .last = LUMOS_ABSENT,
                              .enqueued = LUMOS_ABSENT,
                              .rows = launch->rows + 1,
                              .used = true};
  }
}

/* The correlations that device rows have. */
static void expect_launches(struct keeping *keeping) {
  const struct trace *trace = keeping->trace;
  size_t size = table_size(trace->device.count + trace->hta_rows.count);
  keeping->launches = lumos_allocate_zeroed(size, sizeof *keeping->launches);
  keeping->launch_mask = size - 1;
  for (size_t i = 0; i < trace->device.count; i++) {
    const struct trace_device *row = &trace->device.items[i];
    expect_launch(keeping, stream_of(row), number(row->correlation), row->name);
  }
  for (size_t i = 0; i < trace->hta_rows.count; i++) {
    const struct trace_hta_row *row = &trace->hta_rows.items[i];
    expect_launch(keeping, number(row->stream), number(row->correlation), row->name);
  }
}

/* Calls visit(keeping, start, correlation, name) for every row of the host. */
typedef void visit_host(struct keeping *keeping, int64_t start, int64_t correlation, lumos_string_id name);
static void visit_host_rows(struct keeping *keeping, visit_host *visit) {
  const struct trace *trace = keeping->trace;
  for (size_t i = 0; i < trace->host.count; i++) {
    const struct trace_host *row = &trace->host.items[i];
    visit(keeping, start_of(row->start), row->class == TRACE_CALL ? number(row->key) : -1, row->name);
  }
  for (size_t i = 0; i < trace->device.count; i++) {
    const struct trace_device *row = &trace->device.items[i];
    if (!is_device(keeping, stream_of(row), number(row->correlation), row->name)) {
      visit(keeping, start_of(row->start), number(row->correlation), row->name);
    }
  }
  for (size_t i = 0; i < trace->hta_rows.count; i++) {
    const struct trace_hta_row *row = &trace->hta_rows.items[i];
    if (!is_device(keeping, number(row->stream), number(row->correlation), row->name)) {
      visit(keeping, start_of(row->start), number(row->correlation), row->name);
    }
  }
  for (size_t i = 0; i < trace->hta_starts.count; i++) {
    visit(keeping, start_of(trace->hta_starts.items[i]), -1, LUMOS_NO_STRING);
  }
}

static void widen(int64_t *first, int64_t *last, int64_t start) {
  *first = *first == LUMOS_ABSENT || start < *first ? start : *first;
  *last = *last == LUMOS_ABSENT || start > *last ? start : *last;
}

static void see_start(struct keeping *keeping, int64_t start, int64_t correlation, lumos_string_id name) {
  (void)correlation;
  (void)name;
  keeping->host_seen = true;
  widen(&keeping->first, &keeping->last, start);
}

static bool is_mark(const struct keeping *keeping, lumos_string_id name) {
  return strncmp(lumos_string(keeping->trace->strings, name), "ProfilerStep", sizeof "ProfilerStep" - 1) == 0;
}

static void add_mark(struct keeping *keeping, struct lumos_strings *seen, struct lumos_text *steps, int64_t start,
                     lumos_string_id name) {
  keeping->cut = keeping->cut == LUMOS_ABSENT || start > keeping->cut ? start : keeping->cut;
  uint32_t known = lumos_strings_count(seen);
  const char *text = lumos_string(keeping->trace->strings, name);
  if (lumos_intern_text(seen, text) > known) {
    lumos_text_put(steps, steps->length > 0 ? "\n" : "");
    lumos_text_put(steps, text);
  }
}

/* The last step begins with the last mark, be it on the host or laid over a stream; without one, with the host's first
 * row. */
static lumos_string_id find_cut(struct keeping *keeping) {
  const struct trace *trace = keeping->trace;
  struct lumos_strings *seen = lumos_strings_new();
  struct lumos_text steps = LUMOS_TEXT_BUFFER;
  keeping->cut = LUMOS_ABSENT;
  for (size_t i = 0; i < trace->host.count; i++) {
    if (trace->host.items[i].class == TRACE_STEP) {
      add_mark(keeping, seen, &steps, start_of(trace->host.items[i].start), trace->host.items[i].name);
    }
  }
  for (size_t i = 0; i < trace->hta_rows.count; i++) {
    if (is_mark(keeping, trace->hta_rows.items[i].name)) {
      add_mark(keeping, seen, &steps, start_of(trace->hta_rows.items[i].start), trace->hta_rows.items[i].name);
    }
  }
  keeping->cut = keeping->cut == LUMOS_ABSENT ? keeping->first : keeping->cut;
  lumos_string_id id = steps.length == 0 ? LUMOS_NO_STRING : lumos_intern(trace->strings, steps.bytes, steps.length);
  lumos_text_free(&steps);
  lumos_strings_free(seen);
  return id;
}

static bool is_enqueuing(const struct keeping *keeping, lumos_string_id name) {
  bool found = false;
  for (size_t i = 0; i < ENQUEUING; i++) {
    found |= keeping->enqueuing[i] == name;
  }
  return found && name != LUMOS_NO_STRING;
}

static void see_launch(struct keeping *keeping, int64_t start, int64_t correlation, lumos_string_id name) {
  bool kept = start < keeping->cut;
  if (kept) {
    widen(&keeping->cut_first, &keeping->cut_last, start);
  }
  if (correlation == -1) {
    return;
  }
  struct launch *launch = find_launch(keeping, correlation);
  if (launch->used) {
    launch->last = start;
    launch->kept += kept;
    if (is_enqueuing(keeping, name)) {
      launch->enqueued = start;
      launch->enqueuing++;
      launch->place = keeping->places++;
    }
  }
}

/* Its place in the table, or where it would stand. */
static uint32_t *find_class(struct keeping *keeping, const struct class *class) {
  uint64_t hash = lumos_hash_mix(lumos_hash_mix(class->name, (uint64_t) class->stream),
                                 (uint64_t) class->letter << 1U | class->host);
  size_t slot = (size_t)hash & keeping->class_mask;
  for (; keeping->class_slots[slot] != 0; slot = (slot + 1) & keeping->class_mask) {
    const struct class *other = &keeping->classes.items[keeping->class_slots[slot] - 1];
    if (other->name == class->name && other->stream == class->stream && other->letter == class->letter &&
        other->host == class->host) {
      break;
    }
  }
  return &keeping->class_slots[slot];
}

static void grow_class_slots(struct keeping *keeping) {
  keeping->class_mask = 2 * keeping->class_mask + 1;
  free(keeping->class_slots);
  keeping->class_slots = lumos_allocate_zeroed(keeping->class_mask + 1, sizeof *keeping->class_slots);
  for (size_t i = 0; i < keeping->classes.count; i++) {
    *find_class(keeping, &keeping->classes.items[i]) = (uint32_t)i + 1;
  }
}

static uint32_t class_index(struct keeping *keeping, const struct class *class) {
  if (2 * keeping->classes.count >= keeping->class_mask) {
    grow_class_slots(keeping);
  }
  uint32_t *slot = find_class(keeping, class);
  if (*slot == 0) {
    lumos_vector_push(&keeping->classes, *class);
    *slot = (uint32_t)keeping->classes.count;
  }
  return *slot - 1;
}

static void put_after_comma(struct lumos_text *text, int64_t value) {
  lumos_text_char(text, ',');
  lumos_text_integer(text, value);
}

/* CLASS,DELTA,DUR[,LAG[,LAG]] and its marks. */
static void put_row(struct keeping *keeping, uint32_t class, int64_t start, int64_t end, const struct launch *launch,
                    int64_t called, uint32_t kept) {
  struct lumos_text *rows = &keeping->rows;
  lumos_text_put(rows, rows->length > 0 ? " " : "");
  lumos_text_integer(rows, class);
  put_after_comma(rows, start - keeping->before);
  put_after_comma(rows, end - start);
  keeping->before = start;
  if (called != LUMOS_ABSENT) {
    put_after_comma(rows, start - called);
    if (launch->enqueuing == 1 && launch->enqueued != called) {
      put_after_comma(rows, start - launch->enqueued);
    } else if (launch->enqueuing != 1) {
      lumos_text_char(rows, launch->enqueuing == 0 ? '~' : '!');
    }
  }
  if (launch->enqueuing == 1) {
    if (launch->place != keeping->place + 1) {
      lumos_text_char(rows, '^');
      lumos_text_integer(rows, launch->place - keeping->place);
    }
    keeping->place = launch->place;
  }
  if (kept == 0) {
    lumos_text_char(rows, '-');
  } else if (kept > 1) {
    lumos_text_char(rows, '*');
    lumos_text_integer(rows, kept);
  }
}

static void keep_row(struct keeping *keeping, char letter, int64_t recorded_start, int64_t dur, int64_t stream,
                     int64_t correlation, lumos_string_id name) {
  static const struct launch none = {.last = LUMOS_ABSENT, .enqueued = LUMOS_ABSENT};
  int64_t start = start_of(recorded_start);
  bool on_device = is_device(keeping, stream, correlation, name);
  const struct launch *launch = on_device ? find_launch(keeping, correlation) : &none;
  uint32_t kept = on_device ? launch->kept : start < keeping->cut;
  kept = keeping->host_seen ? kept : 1;
  widen(&keeping->first, &keeping->last, start);
  if (on_device && kept > 0) {
    widen(&keeping->cut_first, &keeping->cut_last, start);
  }
  if (stream != -1) {
    int64_t called = launch->last;
    if (called == LUMOS_ABSENT && correlation >= 0 && keeping->trace->first_start != LUMOS_ABSENT) {
      called = start_of(keeping->trace->first_start); /* a partner that is not there has the index 0 */
    }
    const struct class class = {name, stream, letter, !on_device};
    put_row(keeping, class_index(keeping, &class), start, end_of(recorded_start, dur), launch, called, kept);
  }
}

static char letter_of(uint8_t class) {
  switch (class) {
    case TRACE_KERNEL:
      return 'k';
    case TRACE_MEMCPY:
      return 'm';
    case TRACE_MEMSET:
      return 's';
    default:
      return 'o';
  }
}

/* A call whose row on the device is the file's first event, number 0, has none, as that tool counts. */
static void leave_out_first(struct keeping *keeping) {
  int64_t correlation = keeping->trace->first_correlation;
  struct launch *launch = correlation == LUMOS_ABSENT ? NULL : find_launch(keeping, correlation);
  if (launch != NULL && launch->used && launch->rows == 1) {
    launch->enqueuing = 0;
  }
}

/* In the order of the file. */
static void keep_rows(struct keeping *keeping) {
  const struct trace *trace = keeping->trace;
  size_t next = 0;
  for (size_t i = 0; i <= trace->device.count; i++) {
    for (; next < trace->hta_rows.count && trace->hta_rows.items[next].device_before <= i; next++) {
      const struct trace_hta_row *row = &trace->hta_rows.items[next];
      keep_row(keeping, 'o', row->start, row->dur, number(row->stream), number(row->correlation), row->name);
    }
    if (i < trace->device.count) {
      const struct trace_device *row = &trace->device.items[i];
      keep_row(keeping, letter_of(row->class), row->start, row->end - row->start, stream_of(row),
               number(row->correlation), row->name);
    }
  }
}

/* One line a class: LETTER[h] STREAM NAME. */
static lumos_string_id describe_classes(const struct keeping *keeping) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < keeping->classes.count; i++) {
    const struct class *class = &keeping->classes.items[i];
    lumos_text_put(&text, i > 0 ? "\n" : "");
    lumos_text_char(&text, class->letter);
    lumos_text_put(&text, class->host ? "h " : " ");
    lumos_text_integer(&text, class->stream);
    lumos_text_char(&text, ' ');
    size_t begin = text.length;
    lumos_text_put(&text, lumos_string(keeping->trace->strings, class->name));
    for (size_t place = begin; place < text.length; place++) {
      if (text.bytes[place] == '\n') {
        text.bytes[place] = ' ';
      }
    }
  }
  lumos_string_id id =
      text.length == 0 ? LUMOS_NO_STRING : lumos_intern(keeping->trace->strings, text.bytes, text.length);
  lumos_text_free(&text);
  return id;
}

static lumos_string_id known_name(const struct trace *trace, const char *name) {
  lumos_string_id id = lumos_interned(trace->strings, name, strlen(name));
  return id == LUMOS_NO_STRING ? UINT32_MAX : id; /* of no row */
}

#define MOST_EXTENT ((int64_t)1 << 53)

void lumos_trace_keep_hta(struct trace *trace, struct lumos_hta_rows *out) {
  struct keeping keeping = {.trace = trace,
                            .first = LUMOS_ABSENT,
                            .last = LUMOS_ABSENT,
                            .cut_first = LUMOS_ABSENT,
                            .cut_last = LUMOS_ABSENT,
                            .place = -1,
                            .rows = LUMOS_TEXT_BUFFER};
  keeping.sync_names[0] = known_name(trace, "Event Sync");
  keeping.sync_names[1] = known_name(trace, "Context Sync");
  for (size_t i = 0; i < ENQUEUING; i++) {
    keeping.enqueuing[i] = known_name(trace, enqueuing_names[i]);
  }
  expect_launches(&keeping);
  visit_host_rows(&keeping, see_start);
  out->steps = find_cut(&keeping);
  visit_host_rows(&keeping, see_launch);
  leave_out_first(&keeping);
  keep_rows(&keeping);
  if (keeping.first != LUMOS_ABSENT) {
    out->extent = keeping.last - keeping.first;
    out->cut_extent = keeping.cut_first == LUMOS_ABSENT ? LUMOS_ABSENT : keeping.cut_last - keeping.cut_first;
  }
  out->classes = describe_classes(&keeping);
  out->rows = keeping.rows.length == 0 ? LUMOS_NO_STRING
                                       : lumos_intern(trace->strings, keeping.rows.bytes, keeping.rows.length);
  if (out->extent >= MOST_EXTENT) { /* rows lie further apart than a stream can say: of damage nothing is kept */
    *out = lumos_rank_empty.hta;
  }
  lumos_text_free(&keeping.rows);
  lumos_vector_free(&keeping.classes);
  free(keeping.class_slots);
  free(keeping.launches);
  lumos_vector_free(&trace->hta_rows);
  lumos_vector_free(&trace->hta_starts);
}
