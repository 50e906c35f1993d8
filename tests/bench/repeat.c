/* A long trace made of a short one: its events again and again, as a longer recording of the same work would hold them.
 * Each copy is later than the one before by the length of the recording, and its correlations, flows, sequence numbers
 * and steps are its own. What a recording holds once (the names of threads, the profiler's own row, its end) follows
 * once, for the whole length.
 *
 * The events are taken apart once: text that stays, and the numbers that change with every copy. So a copy is written
 * about as fast as it is copied, and memory is the short trace's, however long the other becomes. One thing differs
 * from a recording: there the events of all copies would be sorted by kind, here each copy is.
 */
#include "bench.h"

#include "base/input.h"
#include "base/json.h"
#include "base/text.h"
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers that are counted together: a copy's are above those of the copy before by as much as the trace has of
 * them. */
enum counter { TIME, LENGTH, CORRELATION, SEQUENCE, OP_INDEX, RECORD_FUNCTION, PYTHON, COLLECTIVE, STEP, COUNTERS };

static const struct field {
  const char *key;
  bool is_argument;
  enum counter counter;
} fields[] = {
    {"ts", false, TIME},
    {"dur", false, LENGTH},
    {"id", false, CORRELATION}, /* of a flow */
    {"correlation", true, CORRELATION},
    {"wait_on_cuda_event_record_corr_id", true, CORRELATION},
    {"External id", true, CORRELATION}, /* once another name of the correlation */
    {"external id", true, CORRELATION},
    {"Sequence number", true, SEQUENCE},
    {"Ev Idx", true, OP_INDEX},
    {"Record function id", true, RECORD_FUNCTION},
    {"Python id", true, PYTHON},
    {"Python parent id", true, PYTHON},
    {"Seq", true, COLLECTIVE},
};

enum { DECIMALS = 3 }; /* times are microseconds, kept in nanoseconds */

/* A number that changes, in the text of an event or of many. */
struct number {
  size_t begin, end;
  int64_t value;
  int decimals;
  enum counter counter;
};
LUMOS_VECTOR_TYPE(numbers, struct number);

struct event {
  const char *begin, *end;
  bool once; /* a recording has it but once */
  bool ends; /* ... at its end */
  struct numbers numbers;
};

/* Events with a comma before each. */
struct part {
  struct lumos_text text;
  struct numbers numbers;
};

struct source {
  const char *text, *list, *behind; /* `list` behind the bracket, `behind` from the closing one on */
  struct part repeated, once;
  int64_t least[COUNTERS], most[COUNTERS];
};

static int decimals_of(const char *begin, const char *end) {
  const char *point = memchr(begin, '.', (size_t)(end - begin));
  int64_t count = point == NULL ? 0 : end - point - 1;
  return count > DECIMALS ? DECIMALS : (int)count;
}

/* Take the number of a field, if the value is one; the cursor stays. */
static void take_number(struct event *event, const char *cursor, const struct field *field) {
  struct number number = {.begin = (size_t)(cursor - event->begin), .counter = field->counter};
  const char *end = cursor;
  bool is_time = field->counter == TIME || field->counter == LENGTH;
  bool good = is_time ? lumos_json_scaled(&end, DECIMALS, &number.value) : lumos_json_integer(&end, &number.value);
  if (good && number.value >= (is_time ? 0 : 1)) { /* an id of 0 is none */
    number.end = (size_t)(end - event->begin);
    number.decimals = is_time ? decimals_of(cursor, end) : 0;
    lumos_vector_push(&event->numbers, number);
  }
}

static bool is_literal(const struct lumos_slice *slice, const char *literal) {
  return slice->length == strlen(literal) && memcmp(slice->bytes, literal, slice->length) == 0;
}

static bool starts_with(const struct lumos_slice *slice, const char *start) {
  return slice->length >= strlen(start) && memcmp(slice->bytes, start, strlen(start)) == 0;
}

static void take_field(struct event *event, const char *cursor, const struct lumos_slice *key, bool is_argument) {
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (fields[i].is_argument == is_argument && is_literal(key, fields[i].key)) {
      take_number(event, cursor, &fields[i]);
    }
  }
}

/* What kind of event it is, and the number of a step, which is part of its name. */
static void take_word(struct event *event, const struct lumos_slice *key, const char *cursor) {
  static const struct field step = {"name", false, STEP};
  static const char mark[] = "ProfilerStep#";
  struct lumos_slice word;
  if (*cursor != '"' || !lumos_json_string(&cursor, &word)) {
    return;
  }
  if (lumos_json_is(key, "ph")) {
    event->once = event->once || lumos_json_is(&word, "M");
  } else if (lumos_json_is(key, "cat")) {
    event->once = event->once || lumos_json_is(&word, "Trace");
  } else if (lumos_json_is(key, "name")) {
    event->ends = lumos_json_is(&word, "Record Window End");
    event->once = event->once || event->ends || starts_with(&word, "Iteration Start");
    if (starts_with(&word, mark)) {
      take_number(event, word.bytes + sizeof mark - 1, &step);
    }
  }
}

static bool take_arguments(struct event *event, const char **cursor) {
  struct lumos_json_members members;
  struct lumos_slice key;
  int more = lumos_json_open(cursor, '{', &members) ? 1 : -1;
  while (more == 1 && (more = lumos_json_key(cursor, &members, &key)) == 1) {
    take_field(event, *cursor, &key, true);
    more = lumos_json_skip(cursor, NULL) ? 1 : -1;
  }
  return more == 0;
}

static bool take_event(struct event *event, const char **cursor) {
  struct lumos_json_members members;
  struct lumos_slice key;
  event->begin = *cursor;
  event->once = false;
  event->ends = false;
  event->numbers.count = 0;
  int more = lumos_json_open(cursor, '{', &members) ? 1 : -1;
  while (more == 1 && (more = lumos_json_key(cursor, &members, &key)) == 1) {
    take_word(event, &key, *cursor);
    take_field(event, *cursor, &key, false);
    bool arguments = lumos_json_is(&key, "args") && **cursor == '{';
    more = (arguments ? take_arguments(event, cursor) : lumos_json_skip(cursor, NULL)) ? 1 : -1;
  }
  event->end = *cursor;
  return more == 0;
}

/* Does a number change? What is repeated keeps its length; of the rest, lengths grow and the end moves. */
static bool changes(const struct event *event, const struct number *number) {
  return event->once ? number->counter == (event->ends ? TIME : LENGTH) : number->counter != LENGTH;
}

static void widen(struct source *source, enum counter counter, int64_t value) {
  source->least[counter] = value < source->least[counter] ? value : source->least[counter];
  source->most[counter] = value > source->most[counter] ? value : source->most[counter];
}

static void count_event(struct source *source, const struct event *event) {
  int64_t start = LUMOS_ABSENT;
  int64_t length = 0;
  for (size_t i = 0; i < event->numbers.count; i++) {
    const struct number *number = &event->numbers.items[i];
    start = number->counter == TIME ? number->value : start;
    length = number->counter == LENGTH ? number->value : length;
    if (number->counter != LENGTH) {
      widen(source, number->counter, number->value);
    }
  }
  if (start != LUMOS_ABSENT) {
    widen(source, TIME, start + length);
  }
}

static void keep_event(struct source *source, const struct event *event) {
  struct part *part = event->once ? &source->once : &source->repeated;
  lumos_text_put(&part->text, ",\n  ");
  size_t shift = part->text.length;
  lumos_text_add(&part->text, event->begin, (size_t)(event->end - event->begin));
  for (size_t i = 0; i < event->numbers.count; i++) {
    struct number number = event->numbers.items[i];
    if (changes(event, &number)) {
      number.begin += shift;
      number.end += shift;
      lumos_vector_push(&part->numbers, number);
    }
  }
  if (!event->once) {
    count_event(source, event);
  }
}

/* The events from the opening bracket at the cursor on. */
static bool take_events(struct source *source, const char *cursor) {
  struct lumos_json_members members;
  struct event event = {0};
  int more = lumos_json_open(&cursor, '[', &members) ? 1 : -1;
  source->list = cursor;
  while (more == 1 && (more = lumos_json_item(&cursor, &members)) == 1) {
    more = take_event(&event, &cursor) ? 1 : -1;
    if (more == 1) {
      keep_event(source, &event);
    }
  }
  lumos_vector_free(&event.numbers);
  source->behind = cursor - 1;
  return more == 0 && source->repeated.text.length > 0;
}

static bool take_trace(struct source *source) {
  const char *cursor = lumos_json_blank(source->text);
  struct lumos_json_members members;
  struct lumos_slice key;
  bool good = lumos_json_open(&cursor, '{', &members);
  while (good && lumos_json_key(&cursor, &members, &key) == 1) {
    if (lumos_json_is(&key, "traceEvents")) {
      return take_events(source, cursor);
    }
    good = lumos_json_skip(&cursor, NULL);
  }
  return false;
}

/* By how much a copy's number is above that of the copy before; a time's by whole microseconds, as the older traces
 * have them. */
static int64_t stride_of(const struct source *source, enum counter counter) {
  enum counter measured = counter == LENGTH ? TIME : counter;
  if (source->most[measured] < source->least[measured]) {
    return 0; /* the trace has none */
  }
  int64_t width = source->most[measured] - source->least[measured];
  return measured == TIME ? (width / 1000 + 1) * 1000 : width + 1;
}

static void put_number(struct lumos_text *out, const struct number *number, int64_t value) {
  bool is_time = number->counter == TIME || number->counter == LENGTH;
  lumos_text_integer(out, is_time ? value / 1000 : value);
  if (number->decimals > 0) {
    int64_t rest = value % 1000;
    const char digits[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
    lumos_text_add(out, digits, (size_t)number->decimals + 1);
  }
}

/* Write a part as it is `copy` copies later; from byte `from` on. */
static void write_part(struct lumos_text *out, const struct source *source, const struct part *part, int64_t copy,
                       size_t from) {
  int64_t shift[COUNTERS];
  for (int i = 0; i < COUNTERS; i++) {
    shift[i] = copy * stride_of(source, (enum counter)i);
  }
  for (size_t i = 0; i < part->numbers.count; i++) {
    const struct number *number = &part->numbers.items[i];
    lumos_text_add(out, part->text.bytes + from, number->begin - from);
    put_number(out, number, number->value + shift[number->counter]);
    from = number->end;
  }
  lumos_text_add(out, part->text.bytes + from, part->text.length - from);
}

static bool write_trace(const struct source *source, int64_t bytes, int descriptor) {
  struct lumos_text out = LUMOS_TEXT_TO(descriptor);
  int64_t length = (int64_t)source->repeated.text.length;
  int64_t copies = bytes > length ? (bytes + length - 1) / length : 1;
  lumos_text_add(&out, source->text, (size_t)(source->list - source->text));
  for (int64_t copy = 0; copy < copies; copy++) {
    write_part(&out, source, &source->repeated, copy, copy == 0);
  }
  write_part(&out, source, &source->once, copies - 1, 0);
  lumos_text_add(&out, source->behind, strlen(source->behind));
  bool good = lumos_text_flush(&out);
  lumos_text_free(&out);
  return good;
}

bool bench_repeat(const char *path, int64_t bytes, int descriptor, struct lumos_error *error) {
  struct source source = {.repeated.text = LUMOS_TEXT_BUFFER, .once.text = LUMOS_TEXT_BUFFER};
  size_t length = 0;
  char *text = lumos_input_slurp(path, SIZE_MAX / 4, &length, error);
  if (text == NULL) {
    return false;
  }
  source.text = text;
  for (int i = 0; i < COUNTERS; i++) {
    source.least[i] = INT64_MAX;
    source.most[i] = 0;
  }
  bool good = take_trace(&source) || lumos_fail(error, "%s: is no trace with events", path);
  good = good && (write_trace(&source, bytes, descriptor) || lumos_fail(error, "the long trace cannot be written"));
  lumos_text_free(&source.repeated.text);
  lumos_text_free(&source.once.text);
  lumos_vector_free(&source.repeated.numbers);
  lumos_vector_free(&source.once.numbers);
  free(text);
  return good;
}
