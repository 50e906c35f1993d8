/* The envelope (an object with `traceEvents` somewhere among its members, or a bare list of events) and the loop over
 * the events.
 *
 * Where the text is broken the scan goes on where recover.c says, and counts the place. A text that stops before its
 * closing bracket is cut.
 */
#include "trace/scan.h"

#include "base/json.h"
#include "trace/envelope.h"
#include "trace/event.h"
#include "trace/recover.h"
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
  bool in_object;     /* the list of events is a member of an object */
  bool saw_events;    /* the list has been entered */
  bool left_list;     /* ... and left without its closing bracket */
  uint64_t cut_event; /* where what the end of the text cuts begins; 0: nothing */
  struct lumos_error *error;
};

static bool fail_strictly(struct scan *scan, uint64_t byte, const char *what) {
  return !scan->strict ||
         lumos_fail_check(scan->error, "%s: byte %" PRIu64 ": %s; record the trace again, or parse without --strict",
                          scan->name, byte, what);
}

/* [begin, end) holds nothing that can be used; the fault is at `byte`. */
static bool broken(struct scan *scan, uint64_t begin, uint64_t end, uint64_t byte, const char *what) {
  lumos_trace_place(&scan->trace->skipped, begin, end, what);
  return fail_strictly(scan, byte, what);
}

/* The same in the metadata. */
static bool broken_fact(struct scan *scan, uint64_t begin, uint64_t end, uint64_t byte, const char *what) {
  lumos_trace_place(&scan->trace->facts_lost, begin, end, what);
  return fail_strictly(scan, byte, what);
}

/* [begin, end) is kept, though not as it was recorded. */
static bool remark(struct scan *scan, unsigned remarks, uint64_t begin, uint64_t end) {
  bool good = true;
  if ((remarks & TRACE_LOST) != 0) {
    lumos_trace_place(&scan->trace->lost, begin, end, NULL);
    good = fail_strictly(scan, begin, "a number that is NaN, out of range or a fraction of what has none");
  }
  if (good && (remarks & TRACE_REPLACED) != 0) {
    lumos_trace_place(&scan->trace->replaced, begin, end, NULL);
    good = fail_strictly(scan, begin, "a name that is no valid text");
  }
  return good;
}

static bool cut(struct scan *scan) {
  struct trace *trace = scan->trace;
  trace->truncated = true;
  trace->truncated_at = scan->window.offset + scan->window.length;
  trace->cut_event = scan->cut_event != 0 ? scan->cut_event : trace->truncated_at;
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

/* The text is broken at `fault` in what begins at `start`: go on behind `from`. The last piece of a cut text is no invalid event.
 */
static bool pass_over(struct scan *scan, const char *start, const char *from, const char *fault, const char *what) {
  bool at_end = scan->window.ended && trace_window_cuts(&scan->window, fault);
  uint64_t begin = trace_window_byte(&scan->window, start);
  uint64_t byte = trace_window_byte(&scan->window, fault);
  scan->cursor = from;
  const struct trace_search search = {.in_object = scan->in_object, .cut = at_end};
  enum trace_landing landing = lumos_trace_find_event(&scan->window, &scan->cursor, &search);
  if (landing == TRACE_NOWHERE && at_end) {
    scan->cut_event = begin;
    return true;
  }
  scan->left_list = landing == TRACE_AT_MEMBER;
  return broken(scan, begin, trace_window_byte(&scan->window, scan->cursor), byte, what);
}

/* What is not read is not looked at closely, but under --strict. */
static bool check_syntax(struct scan *scan, const char *event) {
  const char *fault = event;
  return lumos_json_skip_valid(&fault) || fail_strictly(scan, trace_window_byte(&scan->window, fault), "no valid JSON");
}

/* The event at the cursor; *expected tells whether another may follow at once. */
static bool read_event(struct scan *scan, bool *expected) {
  for (;;) {
    const char *start = scan->cursor;
    const char *what = NULL;
    enum trace_outcome outcome = lumos_trace_event(&scan->reader, &scan->cursor, &what);
    if (outcome != TRACE_FAULT) {
      *expected = false;
      if (outcome == TRACE_GOOD && scan->reader.remarks == 0) {
        return !scan->strict || check_syntax(scan, start);
      }
      uint64_t begin = trace_window_byte(&scan->window, start);
      uint64_t end = trace_window_byte(&scan->window, scan->cursor);
      return outcome == TRACE_GOOD ? remark(scan, scan->reader.remarks, begin, end)
                                   : broken(scan, begin, end, begin, what);
    }
    const char *fault = scan->cursor;
    if (lumos_trace_swallows_events(&scan->window, start)) {
      return pass_over(scan, start, start + 1, start, "an event without an end");
    }
    if (!read_again(scan, start, fault)) {
      return pass_over(scan, start, start + 1, fault, "no valid JSON");
    }
  }
}

/* The events up to the bracket behind them; the cursor stands behind the opening one. */
static bool read_events(struct scan *scan) {
  bool expected = true; /* an event may come: no comma is missing */
  scan->saw_events = true;
  scan->left_list = false;
  while (to_next_byte(scan)) {
    char byte = *scan->cursor;
    if (byte == ']' && !lumos_trace_is_stray_bracket(&scan->window, scan->cursor, scan->in_object)) {
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
      const char *what = byte == '{' ? "no comma between two events" : "neither an event nor a comma";
      good = pass_over(scan, scan->cursor, scan->cursor, scan->cursor, what);
      expected = true;
    }
    if (!good) {
      return false;
    }
    if (expected && scan->left_list) {
      return true;
    }
  }
  return cut(scan);
}

/* The metadata from `start` on are broken at `fault`: go on behind `from`. */
static bool pass_member(struct scan *scan, const char *start, const char *from, const char *fault) {
  bool at_end = scan->window.ended && trace_window_cuts(&scan->window, fault);
  uint64_t begin = trace_window_byte(&scan->window, start);
  uint64_t byte = trace_window_byte(&scan->window, fault);
  scan->cursor = from;
  lumos_trace_find_member(&scan->window, &scan->cursor, !scan->saw_events);
  return at_end || broken_fact(scan, begin, trace_window_byte(&scan->window, scan->cursor), byte,
                               "no valid JSON in the metadata");
}

/* The member in [begin, end) of the text. */
static bool keep_fact(struct scan *scan, const struct lumos_slice *key, const struct lumos_slice *value, uint64_t begin,
                      uint64_t end) {
  enum trace_fact fact = TRACE_FACTS;
  if (!lumos_trace_envelope_key(key, &fact) || fact == TRACE_FACTS) {
    return true;
  }
  unsigned remarks = 0;
  char *text = lumos_trace_envelope_value(value, &remarks);
  if (text == NULL) {
    return broken_fact(scan, begin, end, begin, "no valid JSON in the metadata");
  }
  char *before = scan->trace->facts[fact];
  bool repeated = before != NULL && strcmp(before, text) != 0;
  free(before);
  scan->trace->facts[fact] = text;
  return (!repeated || broken_fact(scan, begin, end, begin, "metadata that stood before, with another value")) &&
         remark(scan, remarks, begin, end);
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
      scan->cursor = stop;
      return keep_fact(scan, &key, &value, trace_window_byte(&scan->window, start),
                       trace_window_byte(&scan->window, stop));
    }
    return pass_member(scan, start, start + 1, stop);
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
        if (!pass_member(scan, scan->cursor, scan->cursor, scan->cursor)) {
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
  uint64_t begin = 0;
  if (to_next_byte(scan)) {
    begin = trace_window_byte(&scan->window, scan->cursor);
  }
  while (!scan->window.ended) {
    scan->cursor = trace_window_ensure(&scan->window, scan->window.bytes + scan->window.length);
  }
  uint64_t end = scan->window.offset + scan->window.length;
  if (begin != 0 && !broken(scan, begin, end, begin, "text behind the end of the trace")) {
    return false;
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
