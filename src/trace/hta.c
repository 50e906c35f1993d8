/* HTA reads a file whole: every row in whole microseconds, and of a row on a stream the call of the same correlation.
 * What its figures rest on is kept beside the tasks, for these are in other clocks and of chosen steps only.
 */
#include "trace/hta.h"

#include "base/hash.h"
#include "base/numbering.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the host's rows of one correlation say of the device's rows of it. */
struct launch {
  int64_t last;     /* when the last one of them starts, as recorded; LUMOS_ABSENT */
  int64_t enqueued; /* the same of those that put work into a stream's queue, by their names */
  int64_t place;    /* of the last one that puts work into a queue among all such */
  uint32_t enqueuing;
  uint32_t rows; /* of the device */
  uint32_t kept; /* host rows before the last step */
};

/* Recorded times, the first and the last one; LUMOS_ABSENT. */
struct extent {
  int64_t first, last;
};

struct class {
  lumos_string_id name;
  int64_t stream;
  char letter;
  bool host;
};

struct keeping {
  struct trace *trace;
  struct lumos_numbering correlations;  /* of device rows */
  LUMOS_VECTOR(struct launch) launches; /* [number of the correlation] */
  LUMOS_VECTOR(struct class) classes;
  uint32_t *class_slots; /* open addressing: index + 1 */
  size_t class_mask;
  bool host_seen;
  int64_t cut; /* what starts on the host from then on, as recorded, is of the last step */
  struct extent all, kept;
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

/* NULL: no device row has this correlation. */
static struct launch *find_launch(const struct keeping *keeping, int64_t correlation) {
  uint32_t number = lumos_known_number(&keeping->correlations, (uint64_t)correlation);
  return number == LUMOS_NO_NUMBER ? NULL : &keeping->launches.items[number];
}

static void expect_launch(struct keeping *keeping, int64_t stream, int64_t correlation, lumos_string_id name) {
  if (is_device(keeping, stream, correlation, name)) {
    uint32_t number = lumos_number_of(&keeping->correlations, (uint64_t)correlation);
    if (number == keeping->launches.count) {
      lumos_vector_push(&keeping->launches, ((struct launch){.last = LUMOS_ABSENT, .enqueued = LUMOS_ABSENT}));
    }
    keeping->launches.items[number].rows++;
  }
}

/* The correlations that device rows have. */
static void expect_launches(struct keeping *keeping) {
  const struct trace *trace = keeping->trace;
  lumos_vector_reserve(&keeping->launches, trace->device.count);
  for (size_t i = 0; i < trace->device.count; i++) {
    const struct trace_device *row = &trace->device.items[i];
    expect_launch(keeping, stream_of(row), number(row->correlation), row->name);
  }
  for (size_t i = 0; i < trace->hta_rows.count; i++) {
    const struct trace_hta_row *row = &trace->hta_rows.items[i];
    expect_launch(keeping, number(row->stream), number(row->correlation), row->name);
  }
}

static inline void widen(struct extent *extent, int64_t start) {
  extent->first = extent->first == LUMOS_ABSENT || start < extent->first ? start : extent->first;
  extent->last = extent->last == LUMOS_ABSENT || start > extent->last ? start : extent->last;
}

static int64_t length_of(const struct extent *extent) {
  return extent->first == LUMOS_ABSENT ? LUMOS_ABSENT : start_of(extent->last) - start_of(extent->first);
}

/* Calls visit(keeping, start, correlation, name) for every row of the host. Both are of this file, so that they become
 * one loop. */
typedef void visit_host(struct keeping *keeping, int64_t start, int64_t correlation, lumos_string_id name);
static inline __attribute__((always_inline)) void visit_host_rows(struct keeping *keeping, visit_host *visit) {
  const struct trace *trace = keeping->trace;
  for (size_t i = 0; i < trace->host.count; i++) {
    const struct trace_host *row = &trace->host.items[i];
    visit(keeping, row->start, row->class == TRACE_CALL ? number(row->key) : -1, row->name);
  }
  for (size_t i = 0; i < trace->device.count; i++) {
    const struct trace_device *row = &trace->device.items[i];
    if (!is_device(keeping, stream_of(row), number(row->correlation), row->name)) {
      visit(keeping, row->start, number(row->correlation), row->name);
    }
  }
  for (size_t i = 0; i < trace->hta_rows.count; i++) {
    const struct trace_hta_row *row = &trace->hta_rows.items[i];
    if (!is_device(keeping, number(row->stream), number(row->correlation), row->name)) {
      visit(keeping, row->start, number(row->correlation), row->name);
    }
  }
  for (size_t i = 0; i < trace->hta_starts.count; i++) {
    visit(keeping, trace->hta_starts.items[i], -1, LUMOS_NO_STRING);
  }
}

static inline void see_start(struct keeping *keeping, int64_t start, int64_t correlation, lumos_string_id name) {
  (void)correlation;
  (void)name;
  keeping->host_seen = true;
  widen(&keeping->all, start);
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

/* The earliest recorded time that is not before this one in whole microseconds: these rise with it. */
static int64_t first_at_or_behind(int64_t time) {
  int64_t low = time < INT64_MIN + 9999 ? INT64_MIN : time - 9999; /* before it, be doubles as coarse as they may */
  int64_t high = time;
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    *(start_of(middle) < start_of(time) ? &low : &high) = middle;
  }
  return high;
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
      add_mark(keeping, seen, &steps, trace->host.items[i].start, trace->host.items[i].name);
    }
  }
  for (size_t i = 0; i < trace->hta_rows.count; i++) {
    if (is_mark(keeping, trace->hta_rows.items[i].name)) {
      add_mark(keeping, seen, &steps, trace->hta_rows.items[i].start, trace->hta_rows.items[i].name);
    }
  }
  keeping->cut = first_at_or_behind(keeping->cut == LUMOS_ABSENT ? keeping->all.first : keeping->cut);
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

static inline void see_launch(struct keeping *keeping, int64_t start, int64_t correlation, lumos_string_id name) {
  bool kept = start < keeping->cut;
  if (kept) {
    widen(&keeping->kept, start);
  }
  struct launch *launch = correlation == -1 ? NULL : find_launch(keeping, correlation);
  if (launch != NULL) {
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

/* What is written of a row that has a launch; absent times of one that has none. */
struct launched {
  int64_t called, enqueued; /* LUMOS_ABSENT */
  int64_t place;
  uint32_t enqueuing;
};

static char *put_number(char *out, int64_t value) {
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  size_t digits = 1;
  for (uint64_t power = 10; digits < 20 && rest >= power; power *= 10) {
    digits++;
  }
  *out = '-';
  out += value < 0;
  for (size_t i = digits; i > 0; i--) {
    out[i - 1] = (char)('0' + rest % 10);
    rest /= 10;
  }
  return out + digits;
}

static char *put_marked(char *out, char mark, int64_t value) {
  *out = mark;
  return put_number(out + 1, value);
}

/* CLASS,DELTA,DUR[,LAG[,LAG]] and its marks. */
static void put_row(struct keeping *keeping, uint32_t class, int64_t start, int64_t end,
                    const struct launched *launched, uint32_t kept) {
  enum { NUMBERS = 7, LONGEST = NUMBERS * 21 + 2 };
  char *begin = lumos_text_room(&keeping->rows, LONGEST);
  char *out = begin;
  *out = ' ';
  out = put_number(out + (keeping->rows.length > 0), class);
  out = put_marked(out, ',', start - keeping->before);
  out = put_marked(out, ',', end - start);
  keeping->before = start;
  if (launched->called != LUMOS_ABSENT) {
    out = put_marked(out, ',', start - launched->called);
    if (launched->enqueuing == 1 && launched->enqueued != launched->called) {
      out = put_marked(out, ',', start - launched->enqueued);
    } else if (launched->enqueuing != 1) {
      *out++ = launched->enqueuing == 0 ? '~' : '!';
    }
  }
  if (launched->enqueuing == 1) {
    if (launched->place != keeping->place + 1) {
      out = put_marked(out, '^', launched->place - keeping->place);
    }
    keeping->place = launched->place;
  }
  if (kept == 0) {
    *out++ = '-';
  } else if (kept > 1) {
    out = put_marked(out, '*', kept);
  }
  keeping->rows.length += (size_t)(out - begin);
}

static void keep_row(struct keeping *keeping, char letter, int64_t recorded_start, int64_t dur, int64_t stream,
                     int64_t correlation, lumos_string_id name) {
  static const struct launch none = {.last = LUMOS_ABSENT, .enqueued = LUMOS_ABSENT};
  bool on_device = is_device(keeping, stream, correlation, name);
  const struct launch *launch = on_device ? find_launch(keeping, correlation) : &none;
  uint32_t kept = on_device ? launch->kept : recorded_start < keeping->cut;
  kept = keeping->host_seen ? kept : 1;
  widen(&keeping->all, recorded_start);
  if (on_device && kept > 0) {
    widen(&keeping->kept, recorded_start);
  }
  if (stream != -1) {
    int64_t called = launch->last;
    if (called == LUMOS_ABSENT && correlation >= 0) {
      called = keeping->trace->first_start; /* a partner that is not there has the index 0 */
    }
    const struct launched launched = {called == LUMOS_ABSENT ? LUMOS_ABSENT : start_of(called),
                                      launch->enqueued == LUMOS_ABSENT ? LUMOS_ABSENT : start_of(launch->enqueued),
                                      launch->place, launch->enqueuing};
    const struct class class = {name, stream, letter, !on_device};
    put_row(keeping, class_index(keeping, &class), start_of(recorded_start), end_of(recorded_start, dur), &launched,
            kept);
  }
}

static char letter_of(uint8_t class) {
  switch (class) {
    case TRACE_KERNEL:
    case TRACE_COMMAND:
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
  if (launch != NULL && launch->rows == 1) {
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
      keep_row(keeping, letter_of(row->class), row->start, row->dur, number(row->stream), number(row->correlation),
               row->name);
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
                            .all = {LUMOS_ABSENT, LUMOS_ABSENT},
                            .kept = {LUMOS_ABSENT, LUMOS_ABSENT},
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
  out->extent = length_of(&keeping.all);
  out->cut_extent = keeping.all.first == LUMOS_ABSENT ? LUMOS_ABSENT : length_of(&keeping.kept);
  out->classes = describe_classes(&keeping);
  out->rows = keeping.rows.length == 0 ? LUMOS_NO_STRING
                                       : lumos_intern(trace->strings, keeping.rows.bytes, keeping.rows.length);
  if (out->extent >= MOST_EXTENT) { /* rows lie further apart than a stream can say: of damage nothing is kept */
    *out = lumos_rank_empty.hta;
  }
  lumos_text_free(&keeping.rows);
  lumos_vector_free(&keeping.classes);
  free(keeping.class_slots);
  lumos_vector_free(&keeping.launches);
  lumos_numbering_free(&keeping.correlations);
  lumos_vector_free(&trace->hta_rows);
  lumos_vector_free(&trace->hta_starts);
}
