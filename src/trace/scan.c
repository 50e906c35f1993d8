/* The envelope (an object with `traceEvents` somewhere among its members, or a bare list of events) and the loop over
 * the events.
 *
 * Where the text is broken the scan goes on at the next thing that looks like an event (a brace followed by the key
 * that events of this trace begin with) or like the end of the list, and counts the place. A text that stops before its
 * closing bracket is cut.
 */
#include "trace/scan.h"

#include "base/json.h"
#include "trace/event.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scan {
  struct trace *trace;
  struct trace_window window;
  struct trace_reader reader;
  const char *cursor;
  const char *name;
  bool strict;
  bool in_object;  /* the list of events is a member of an object */
  bool saw_events; /* the list has been entered */
  struct lumos_error *error;
};

static bool broken(struct scan *scan, uint64_t byte, const char *reason) {
  lumos_trace_skipped(scan->trace, byte, reason);
  if (scan->strict) {
    return lumos_fail_check(scan->error, "%s: byte %" PRIu64 ": %s; record the trace again, or parse without --strict",
                            scan->name, byte, reason);
  }
  return true;
}

static bool cut(struct scan *scan) {
  struct trace *trace = scan->trace;
  trace->truncated = true;
  trace->truncated_at = scan->window.offset + scan->window.length;
  if (scan->window.damaged) {
    (void)snprintf(trace->damage, sizeof trace->damage, "%s", lumos_input_fault(scan->window.input));
  }
  if (scan->strict && trace->recognised) {
    return lumos_fail_check(scan->error, "%s: byte %" PRIu64 ": %s; copy or record it again", scan->name,
                            trace->truncated_at,
                            trace->damage[0] != '\0' ? trace->damage : "the text ends inside the trace");
  }
  return true;
}

/* Move to the next byte that is not blank, with the margin behind it. False at the end of the text. */
static bool to_next_byte(struct scan *scan) {
  for (;;) {
    scan->cursor = lumos_json_blank(trace_window_ensure(&scan->window, scan->cursor));
    if (*scan->cursor != '\0' || scan->cursor != scan->window.bytes + scan->window.length) {
      scan->cursor = trace_window_ensure(&scan->window, scan->cursor);
      return true;
    }
    if (scan->window.ended) {
      return false;
    }
  }
}

/* After a fault at `fault` in what begins at `start`: true when the window was the fault and `start` can be read again.
 */
static bool read_again(struct scan *scan, const char *start, const char *fault) {
  bool stuck = trace_window_certain(&scan->window, fault);
  scan->cursor = stuck ? start : lumos_trace_window_refill(&scan->window, start, &stuck);
  return !stuck;
}

/* Metadata that is kept, and other keys that tell the end of a list of events; fact TRACE_FACTS: not kept. */
static const struct {
  const char *key;
  enum trace_fact fact;
} envelope_keys[] = {
    {"baseTimeNanoseconds", TRACE_FACT_BASE},
    {"deviceProperties", TRACE_FACT_DEVICES},
    {"computeProperties", TRACE_FACT_DEVICES}, /* until 2021 */
    {"distributedInfo", TRACE_FACT_DISTRIBUTED},
    {"host_name", TRACE_FACT_HOST},
    {"cuda_runtime_version", TRACE_FACT_CUDA},
    {"schemaVersion", TRACE_FACTS},
    {"displayTimeUnit", TRACE_FACTS},
    {"traceName", TRACE_FACTS},
};
enum { ENVELOPE_KEYS = sizeof envelope_keys / sizeof *envelope_keys };

/* The row of a key in envelope_keys, or ENVELOPE_KEYS. */
static size_t envelope_row(const struct lumos_slice *key) {
  size_t row = 0;
  while (row < ENVELOPE_KEYS && !(strlen(envelope_keys[row].key) == key->length &&
                                  memcmp(envelope_keys[row].key, key->bytes, key->length) == 0)) {
    row++;
  }
  return row;
}

static void keep_fact(struct scan *scan, const struct lumos_slice *key, const struct lumos_slice *value) {
  size_t row = envelope_row(key);
  if (row == ENVELOPE_KEYS || envelope_keys[row].fact == TRACE_FACTS) {
    return;
  }
  char **fact = &scan->trace->facts[envelope_keys[row].fact];
  free(*fact);
  *fact = strndup(value->bytes, value->length);
}

/* Behind a `]` at `place`: does the envelope go on or end here? */
static bool ends_list(const struct scan *scan, const char *place) {
  place = lumos_json_blank(place + 1);
  if (!scan->in_object) {
    return trace_window_at_end(&scan->window, place);
  }
  if (*place == '}') {
    return trace_window_at_end(&scan->window, lumos_json_blank(place + 1));
  }
  if (*place != ',') {
    return false;
  }
  struct lumos_slice key;
  place = lumos_json_blank(place + 1);
  return *place == '"' && lumos_json_string(&place, &key) && envelope_row(&key) < ENVELOPE_KEYS;
}

static bool begins_event(const struct scan *scan, const char *place) {
  struct lumos_slice key;
  place = lumos_json_blank(place + 1);
  return *place == '"' && lumos_json_string(&place, &key) && strlen(scan->reader.first_key) == key.length &&
         memcmp(scan->reader.first_key, key.bytes, key.length) == 0;
}

/* From the cursor on, find the next event or the end of the list. False when the text ends before either. */
static bool resynchronise(struct scan *scan) {
  for (;;) {
    const char *place = scan->cursor = trace_window_ensure(&scan->window, scan->cursor);
    const char *end = scan->window.bytes + scan->window.length;
    const char *stop = scan->window.ended ? end : end - scan->window.margin;
    for (; place < stop; place++) {
      if ((*place == '{' && begins_event(scan, place)) || (*place == ']' && ends_list(scan, place))) {
        scan->cursor = place;
        return true;
      }
    }
    scan->cursor = place;
    if (scan->window.ended) {
      return false;
    }
  }
}

/* The text is broken at `fault`: go on behind `from`. The last piece of a cut text is no invalid event. */
static bool pass_over(struct scan *scan, const char *from, const char *fault, const char *reason) {
  bool at_end = trace_window_at_end(&scan->window, fault);
  uint64_t byte = trace_window_byte(&scan->window, fault);
  scan->cursor = from;
  return (!resynchronise(scan) && at_end) || broken(scan, byte, reason);
}

/* The event at the cursor; *expected tells whether another may follow at once. */
static bool read_event(struct scan *scan, bool *expected) {
  for (;;) {
    const char *start = scan->cursor;
    const char *reason = NULL;
    enum trace_outcome outcome = lumos_trace_event(&scan->reader, &scan->cursor, &reason);
    if (outcome != TRACE_FAULT) {
      *expected = false;
      return outcome == TRACE_GOOD || broken(scan, trace_window_byte(&scan->window, start), reason);
    }
    const char *fault = scan->cursor;
    if (!read_again(scan, start, fault)) {
      return pass_over(scan, start + 1, fault, "no valid JSON");
    }
  }
}

/* The events up to the bracket behind them; the cursor stands behind the opening one. */
static bool read_events(struct scan *scan) {
  bool expected = true; /* an event may come: no comma is missing */
  scan->saw_events = true;
  while (to_next_byte(scan)) {
    char byte = *scan->cursor;
    if (byte == ']') {
      scan->cursor++;
      return true;
    }
    bool good = true;
    if (byte == '{' && expected) {
      good = read_event(scan, &expected);
    } else if (byte == ',' && !expected) {
      scan->cursor++;
      expected = true;
    } else {
      good = pass_over(scan, scan->cursor, scan->cursor, "neither an event nor a comma");
      expected = true;
    }
    if (!good) {
      return false;
    }
  }
  return cut(scan);
}

/* The string at `place`, if it may be a key that we know: in broken text the end of a string may be anywhere, and to look for it
 * from every quote would take for ever. */
static bool short_string(const char *place, struct lumos_slice *string) {
  enum { LONGEST_KEY = 32 };
  const char *bytes = place + 1;
  const char *end = *place == '"' ? memchr(bytes, '"', strnlen(bytes, LONGEST_KEY + 1)) : NULL;
  *string = (struct lumos_slice){bytes, end == NULL ? 0 : (size_t)(end - bytes), false};
  return end != NULL;
}

/* Does a member that we know begin at `place`? */
static bool begins_member(const struct scan *scan, const char *place) {
  struct lumos_slice key;
  if (!short_string(place, &key) || *lumos_json_blank(key.bytes + key.length + 1) != ':') {
    return false;
  }
  return envelope_row(&key) < ENVELOPE_KEYS || (lumos_json_is(&key, "traceEvents") && !scan->saw_events);
}

/* After broken metadata: to the next member that we know, or to the end of the text. */
static void find_member(struct scan *scan) {
  for (;;) {
    const char *place = scan->cursor = trace_window_ensure(&scan->window, scan->cursor);
    const char *end = scan->window.bytes + scan->window.length;
    const char *stop = scan->window.ended ? end : end - scan->window.margin;
    while (place < stop && !begins_member(scan, place)) {
      place++;
    }
    scan->cursor = place;
    if (place < stop || scan->window.ended) {
      return;
    }
  }
}

/* The metadata are broken at `fault`: go on behind the cursor. */
static bool pass_member(struct scan *scan, const char *fault) {
  bool at_end = trace_window_at_end(&scan->window, fault);
  uint64_t byte = trace_window_byte(&scan->window, fault);
  find_member(scan);
  return at_end || broken(scan, byte, "no valid JSON in the metadata");
}

/* A member's key and value; *events: the value is a list of events, the cursor stands on it. False at a fault. */
static bool read_pair(const char **cursor, struct lumos_slice *key, struct lumos_slice *value, bool *events) {
  if (!lumos_json_string(cursor, key)) {
    return false;
  }
  *cursor = lumos_json_blank(*cursor);
  if (**cursor != ':') {
    return false;
  }
  *cursor = lumos_json_blank(*cursor + 1);
  *events = lumos_json_is(key, "traceEvents") && **cursor == '[';
  return *events || lumos_json_skip(cursor, value);
}

static bool read_member(struct scan *scan) {
  for (;;) {
    const char *start = scan->cursor;
    struct lumos_slice key;
    struct lumos_slice value;
    bool events = false;
    bool good = read_pair(&scan->cursor, &key, &value, &events);
    if (events) {
      scan->cursor++;
      return read_events(scan);
    }
    const char *stop = scan->cursor; /* a number that the window cuts looks whole */
    if (read_again(scan, start, stop)) {
      continue;
    }
    if (good) {
      keep_fact(scan, &key, &value);
      scan->cursor = stop;
      return true;
    }
    scan->cursor = start + 1;
    return pass_member(scan, stop);
  }
}

/* The members up to the closing brace; the cursor stands behind the opening one. */
static bool read_members(struct scan *scan) {
  while (to_next_byte(scan)) {
    switch (*scan->cursor) {
      case '}':
        scan->cursor++;
        return true;
      case ',':
        scan->cursor++;
        break;
      case '"':
        if (!read_member(scan)) {
          return false;
        }
        break;
      default:
        if (!pass_member(scan, scan->cursor)) {
          return false;
        }
    }
  }
  return cut(scan);
}

static bool read_text(struct scan *scan) {
  static const char byte_order_mark[] = "\xEF\xBB\xBF";
  scan->cursor = trace_window_ensure(&scan->window, scan->window.bytes);
  if (strncmp(scan->cursor, byte_order_mark, sizeof byte_order_mark - 1) == 0) {
    scan->cursor += sizeof byte_order_mark - 1;
  }
  if (!to_next_byte(scan)) {
    return cut(scan);
  }
  char byte = *scan->cursor++;
  scan->in_object = byte == '{';
  return byte == '{' ? read_members(scan) : byte != '[' || read_events(scan);
}

/* Behind the closing bracket nothing follows: not a second trace, which would be lost, nor a wrong checksum. */
static bool finish_text(struct scan *scan) {
  if (to_next_byte(scan)) {
    return broken(scan, trace_window_byte(&scan->window, scan->cursor), "text behind the end of the trace");
  }
  return !scan->window.damaged || cut(scan);
}

bool lumos_trace_scan(struct trace *trace, struct lumos_input *input, const char *name,
                      const struct trace_scan_options *options, struct lumos_error *error) {
  struct scan scan = {.trace = trace, .name = name, .strict = options->strict, .error = error};
  lumos_trace_reader_init(&scan.reader, trace, options->stacks);
  lumos_trace_window_open(&scan.window, input, options->window != 0 ? options->window : TRACE_WINDOW_BYTES,
                          options->window_limit != 0 ? options->window_limit : TRACE_WINDOW_LIMIT);
  scan.window.watcher = options->watcher;
  scan.window.source = options->source;
  bool good = read_text(&scan) && (!trace->recognised || finish_text(&scan));
  lumos_trace_reader_clear(&scan.reader);
  lumos_trace_window_close(&scan.window);
  return good;
}
