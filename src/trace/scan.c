/* The envelope (an object with `traceEvents` somewhere among its members, or a bare list of events) and the loop over
 * the events.
 *
 * Where the text is broken the scan goes on where recover.c says, and counts the place. No single bracket is believed:
 * where events come again behind the end of their list, it was none. A text that stops before its closing bracket is
 * cut.
 */
#include "trace/scan.h"

#include "base/json.h"
#include "trace/envelope.h"
#include "trace/event.h"
#include "trace/recover.h"
#include "trace/timelines.h"
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
  bool second_list;   /* the list in work is not the first one: nothing of it is kept */
  int unclosed;       /* metadata whose end is lost, before the list */
  uint64_t list_end;  /* where the list seems to have ended */
  uint64_t room_at;   /* the window's offset when room was made for rows */
  uint64_t cut_event; /* where what the end of the text cuts begins; 0: nothing */
  struct lumos_error *error;
};

static bool fail_at(struct scan *scan, uint64_t byte, const char *what) {
  return lumos_fail_check(scan->error, "%s: byte %" PRIu64 ": %s; record the trace again, or parse without --strict",
                          scan->name, byte, what);
}

/* Under --strict the text up to `byte` must be valid JSON, also where nothing of it is read. */
static bool is_exact(struct scan *scan, uint64_t byte) {
  if (!scan->strict) {
    return true;
  }
  uint64_t fault_byte = 0;
  const char *fault = lumos_json_check_fault(scan->window.check, &fault_byte);
  return fault == NULL || fault_byte >= byte || fail_at(scan, fault_byte, fault);
}

static bool fail_strictly(struct scan *scan, uint64_t byte, const char *what) {
  return !scan->strict || (is_exact(scan, byte) && fail_at(scan, byte, what));
}

/* [begin, end) holds nothing that can be used; the fault is at `byte`. */
static bool broken(struct scan *scan, uint64_t begin, uint64_t end, uint64_t byte, const char *what) {
  if (scan->second_list) {
    return true; /* it is counted as a whole */
  }
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
    good = fail_strictly(scan, begin, "a number that is NaN, out of range or a fraction of a whole unit");
  }
  if (good && (remarks & TRACE_REPLACED) != 0) {
    lumos_trace_place(&scan->trace->replaced, begin, end, NULL);
    good = fail_strictly(scan, begin, "a name that is not valid text");
  }
  return good;
}

static bool cut(struct scan *scan) {
  struct trace *trace = scan->trace;
  trace->truncated = true;
  trace->truncated_at = scan->window.damaged ? scan->window.damaged_at : scan->window.offset + scan->window.length;
  trace->cut_event = scan->cut_event != 0 ? scan->cut_event : trace->truncated_at;
  if (scan->window.damaged) {
    (void)snprintf(trace->damage, sizeof trace->damage, "%s", scan->window.fault);
    trace->resumed = scan->window.offset + scan->window.length > scan->window.damaged_at;
  }
  if (scan->strict && trace->recognised) {
    return lumos_fail_check(scan->error, "%s: byte %" PRIu64 ": %s; copy or record it again", scan->name,
                            trace->truncated_at,
                            trace->damage[0] != '\0' ? trace->damage : "the text ends inside the trace");
  }
  return true;
}

static const char no_json[] = "not valid JSON";

/* Move to the next byte that is not blank, with the margin behind it. False at the end of the text. */
static bool seek_next_byte(struct scan *scan) {
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

static inline bool to_next_byte(struct scan *scan) {
  const char *place = scan->cursor;
  while (*place == ' ' || *place == '\n') {
    place++;
  }
  bool ahead = scan->window.ended || (size_t)(scan->window.bytes + scan->window.length - place) > scan->window.margin;
  if (!ahead || (unsigned char)*place <= ' ') {
    return seek_next_byte(scan);
  }
  scan->cursor = place;
  return true;
}

/* After a fault at `fault` in what begins at `start`: true when the window was the fault and `start` can be read
 * again. */
static bool read_again(struct scan *scan, const char *start, const char *fault) {
  bool stuck = trace_window_certain(&scan->window, fault);
  scan->cursor = stuck ? start : lumos_trace_window_refill(&scan->window, start, &stuck);
  return !stuck;
}

/* The text is broken at `fault` in what begins at `start`: go on behind `from`. The last piece of a cut text is no
 * invalid event. */
static bool pass_over(struct scan *scan, const char *start, const char *from, const char *fault, const char *what) {
  bool inside = from != start; /* an event, whose brackets say nothing of the envelope */
  bool at_end = scan->window.ended && trace_window_cuts(&scan->window, fault);
  uint64_t begin = trace_window_byte(&scan->window, start);
  uint64_t byte = trace_window_byte(&scan->window, fault);
  scan->cursor = from;
  const unsigned envelope = scan->in_object ? TRACE_AT_MEMBER | (inside ? 0U : TRACE_AT_TEXT_END) : 0U;
  const struct trace_search search = {
      .goals = TRACE_AT_EVENT | TRACE_AT_LIST_END | envelope, .in_object = scan->in_object, .cut = at_end};
  enum trace_landing landing = lumos_trace_find(&scan->window, &scan->cursor, &search);
  if (landing == TRACE_NOWHERE && at_end) {
    scan->cut_event = begin;
    return true;
  }
  scan->left_list = (landing & envelope) != 0;
  scan->list_end = begin;
  return broken(scan, begin, trace_window_byte(&scan->window, scan->cursor), byte, what);
}

/* What is wrong at `fault` in what begins at `start`. */
static const char *fault_at(const char *start, const char *fault) {
  size_t depth = 0;
  struct lumos_slice string;
  while (start < fault) {
    depth += *start == '{' || *start == '[';
    depth -= depth > 0 && (*start == '}' || *start == ']');
    if (*start != '"' || !lumos_json_string(&start, &string)) {
      start++;
    }
  }
  bool deep = depth >= LUMOS_JSON_DEPTH && (*fault == '{' || *fault == '[');
  return deep ? "brackets in brackets, too deep to be read" : no_json;
}

/* An event of a list that is not kept. */
static enum trace_outcome skip_event(struct scan *scan) {
  bool good = lumos_json_skip(&scan->cursor, NULL);
  scan->reader.remarks = 0;
  scan->trace->second_events += good;
  return good ? TRACE_GOOD : TRACE_FAULT;
}

/* The event at the cursor; *expected tells whether another may follow at once. */
static bool read_event(struct scan *scan, bool *expected) {
  for (;;) {
    const char *start = scan->cursor;
    const char *what = NULL;
    enum trace_outcome outcome =
        scan->second_list ? skip_event(scan) : lumos_trace_event(&scan->reader, &scan->cursor, &what);
    if (outcome != TRACE_FAULT) {
      *expected = false;
      if (outcome == TRACE_GOOD && scan->reader.remarks == 0) {
        return is_exact(scan, trace_window_byte(&scan->window, scan->cursor));
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
      return pass_over(scan, start, start + 1, fault, fault_at(start, fault));
    }
  }
}

static const char no_event[] = "neither an event nor a comma";
static const char lost_bracket[] = "a bracket that does not end the list of events";

/* Room for as many rows as the rest of the file has if it is like the part that was read, so that few are moved; what
 * is not needed is never touched. A file that thins out costs sixteen times its rows at the most. */
static size_t rows_ahead(const struct scan *scan, size_t count) {
  enum { MOST = 16 };
  double share = scan->window.share;
  return share * MOST > 1 ? (size_t)((double)count / share) - count : (MOST - 1) * count;
}

static void make_room(struct scan *scan) {
  struct trace *trace = scan->trace;
  scan->room_at = scan->window.offset;
  if (scan->window.share > 0) {
    lumos_vector_reserve(&trace->host, rows_ahead(scan, trace->host.count));
    lumos_vector_reserve(&trace->device, rows_ahead(scan, trace->device.count));
  }
}

/* The events up to the bracket behind them; the cursor stands behind the opening one. */
static bool read_events(struct scan *scan) {
  bool expected = true; /* an event may come: no comma is missing */
  const char *timelines = scan->trace->facts[TRACE_FACT_TIMELINES];
  scan->saw_events = true;
  scan->trace->text = TRACE_TEXT_LISTING;
  if (timelines != NULL && scan->trace->timelines == NULL) {
    scan->trace->timelines = lumos_trace_timelines_new(timelines);
  }
  scan->left_list = false;
  while (to_next_byte(scan)) {
    if (scan->window.offset != scan->room_at) {
      make_room(scan);
    }
    char byte = *scan->cursor;
    if (byte == ']' && lumos_trace_may_end_list(&scan->window, scan->cursor, scan->in_object)) {
      scan->list_end = trace_window_byte(&scan->window, scan->cursor++);
      return true;
    }
    bool good = true;
    if (byte == '{' && expected) {
      good = read_event(scan, &expected);
    } else if (byte == ',' && !expected) {
      scan->cursor++;
      expected = true;
    } else {
      const char *what = byte == '{' ? "no comma between two events" : byte == ']' ? lost_bracket : no_event;
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

/* An event stands at the cursor, though the list of events seemed to have ended: it goes on. */
static bool go_on(struct scan *scan) {
  uint64_t here = trace_window_byte(&scan->window, scan->cursor);
  return broken(scan, scan->list_end, here, scan->list_end, lost_bracket) && read_events(scan);
}

static const char damaged_rank[] = "damage in distributedInfo; its rank and world_size are kept where they can be read";

/* Rank and world size must not be lost with a comma elsewhere in their object. Was there something to be had in [begin,
 * end)? */
static bool salvage(struct scan *scan, const struct lumos_slice *key, const char *begin, const char *end) {
  char **fact = &scan->trace->facts[TRACE_FACT_DISTRIBUTED];
  if (!lumos_json_is(key, "distributedInfo") || *fact != NULL) {
    return false;
  }
  *fact = lumos_trace_envelope_salvage(begin, end);
  return *fact != NULL;
}

/* The same of a member whose end is not known. */
static bool salvage_member(struct scan *scan, const char *start) {
  struct lumos_slice key;
  return lumos_json_string(&start, &key) &&
         salvage(scan, &key, start, lumos_trace_known_member(start, scan->window.bytes + scan->window.length));
}

/* The metadata from `start` on are broken at `fault`: go on behind `from`. */
static bool pass_member(struct scan *scan, const char *start, const char *from, const char *fault, const char *what) {
  bool at_end = scan->window.ended && trace_window_cuts(&scan->window, fault);
  uint64_t begin = trace_window_byte(&scan->window, start);
  uint64_t byte = trace_window_byte(&scan->window, fault);
  const struct trace_search search = {
      .goals = TRACE_AT_EVENT | TRACE_AT_MEMBER | TRACE_AT_LIST | TRACE_AT_TEXT_END, .in_object = true, .cut = at_end};
  what = salvage_member(scan, start) ? damaged_rank : what;
  scan->cursor = from;
  enum trace_landing landing = lumos_trace_find(&scan->window, &scan->cursor, &search);
  if (landing == TRACE_NOWHERE && at_end) {
    return true;
  }
  if (landing == TRACE_AT_EVENT && scan->saw_events) {
    return go_on(scan);
  }
  return broken_fact(scan, begin, trace_window_byte(&scan->window, scan->cursor), byte, what) &&
         (landing != TRACE_AT_EVENT || read_events(scan));
}

/* The member in [begin, end) of the text. */
static bool keep_fact(struct scan *scan, const struct lumos_slice *key, const struct lumos_slice *value, uint64_t begin,
                      uint64_t end) {
  enum trace_fact fact = TRACE_FACTS;
  if (!lumos_trace_envelope_key(key, &fact) || fact == TRACE_FACTS) {
    return true;
  }
  unsigned remarks = 0;
  char *text = lumos_trace_envelope_value(fact, value, &remarks);
  if (text == NULL) {
    bool saved = salvage(scan, key, value->bytes, value->bytes + value->length);
    return broken_fact(scan, begin, end, begin, saved ? damaged_rank : no_json);
  }
  const char *before = scan->trace->facts[fact];
  bool repeated = before != NULL && strcmp(before, text) != 0;
  if (before != NULL) {
    free(text); /* the first one holds */
  } else {
    scan->trace->facts[fact] = text;
  }
  return (!repeated || broken_fact(scan, begin, end, begin, "metadata that stood before, with another value")) &&
         ((remarks & TRACE_REPEATED) == 0 ||
          broken_fact(scan, begin, end, begin, "a key that stands twice, with two values; the first one holds")) &&
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

/* A list of events where one was before: two of them in one trace would be the same work twice, or another's. */
static bool read_list(struct scan *scan, uint64_t begin) {
  struct trace *trace = scan->trace;
  if (!trace->recognised) { /* there was none, or one without an event */
    return read_events(scan);
  }
  scan->second_list = true;
  bool good = fail_strictly(scan, begin, "a second list of events") && read_events(scan);
  lumos_trace_place(&trace->second_lists, begin, trace_window_byte(&scan->window, scan->cursor), NULL);
  return good;
}

/* What is wrong with the metadata value, though it is whole; NULL: nothing. */
static const char *fault_of_value(struct scan *scan, const struct lumos_slice *value) {
  const char *end = value->bytes + value->length;
  if (*value->bytes == '"' || value->length < 2) {
    return strchr(" \t\r\n,}", *end) == NULL ? no_json : NULL;
  }
  if (!scan->saw_events && lumos_trace_holds_list(value->bytes, end)) {
    scan->unclosed++;
    return "metadata whose end is lost, for they hold the list of events";
  }
  if (scan->saw_events && trace_window_at_end(&scan->window, lumos_json_blank(end)) &&
      lumos_trace_known_member(value->bytes, end) < end) {
    return "metadata whose end is lost, for they hold other metadata";
  }
  return NULL;
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
      return read_list(scan, trace_window_byte(&scan->window, start));
    }
    const char *stop = scan->cursor; /* a number that the window cuts looks whole */
    bool swallowed = !good && !scan->saw_events && lumos_trace_holds_list(start, stop);
    if (!swallowed && read_again(scan, start, stop)) {
      continue;
    }
    if (!good) {
      scan->unclosed += swallowed;
      return pass_member(scan, start, start + 1, stop, fault_at(start, stop));
    }
    scan->cursor = stop;
    const char *what = fault_of_value(scan, &value);
    if (what != NULL) { /* the quote behind a text without one of its own is the next key's */
      return pass_member(scan, start, *value.bytes == '"' ? stop - 1 : start + 1, start, what);
    }
    return keep_fact(scan, &key, &value, trace_window_byte(&scan->window, start),
                     trace_window_byte(&scan->window, stop));
  }
}

/* The members up to the closing brace; the cursor stands behind the opening one. */
static bool read_members(struct scan *scan) {
  while (to_next_byte(scan)) {
    switch (*scan->cursor) {
      case '}':
        scan->cursor++;
        if ((scan->saw_events && scan->unclosed == 0) ||
            trace_window_at_end(&scan->window, lumos_json_blank(scan->cursor))) {
          return true;
        }
        scan->unclosed -= scan->unclosed > 0; /* that of metadata whose beginning or end is lost */
        break;
      case ',':
        scan->cursor++;
        break;
      case '"':
        if (!read_member(scan)) {
          return false;
        }
        break;
      default:
        if (!pass_member(scan, scan->cursor, scan->cursor, scan->cursor, no_json)) {
          return false;
        }
    }
  }
  return cut(scan);
}

/* Events whose list has lost its beginning: what follows it tells where it stood. */
static bool read_headless(struct scan *scan) {
  if (!read_events(scan)) {
    return false;
  }
  scan->in_object = to_next_byte(scan) && (*scan->cursor == '}' || *scan->cursor == ',');
  return !scan->in_object || read_members(scan);
}

/* Behind text that begins no trace: to what does. *found: the text holds such a thing. */
static bool find_beginning(struct scan *scan, bool *found) {
  const struct trace_search search = {.goals = TRACE_AT_EVENT | TRACE_AT_MEMBER | TRACE_AT_LIST, .in_object = true};
  uint64_t begin = trace_window_byte(&scan->window, scan->cursor);
  bool bracket = *scan->cursor == '[';
  enum trace_landing landing = lumos_trace_find(&scan->window, &scan->cursor, &search);
  bracket &= landing == TRACE_AT_EVENT; /* that of the list, then */
  begin += bracket;
  scan->in_object = landing != TRACE_AT_EVENT;
  *found = landing != TRACE_NOWHERE;
  return !*found || broken(scan, begin, trace_window_byte(&scan->window, scan->cursor), begin,
                           bracket ? no_event : "text before the trace");
}

/* What the text is, where its first bytes say that it is none that we read; NULL. */
static const struct trace_foreign *foreign_text(const struct trace_window *window) {
  static const char no_trace[] = "give the file that the profiler's export_chrome_trace wrote";
#define ROW(bytes, what, cure)               \
  {                                          \
    sizeof(bytes) - 1, bytes, { what, cure } \
  }
  static const struct {
    size_t length;
    const char *bytes;
    struct trace_foreign is;
  } rows[] = {
      ROW("\xFF\xFE", "is UTF-16 text", "convert it with iconv -f UTF-16 -t UTF-8"),
      ROW("\xFE\xFF", "is UTF-16 text", "convert it with iconv -f UTF-16 -t UTF-8"),
      ROW("{\0", "is UTF-16 text", "convert it with iconv -f UTF-16LE -t UTF-8"),
      ROW("[\0", "is UTF-16 text", "convert it with iconv -f UTF-16LE -t UTF-8"),
      ROW("\0{\0", "is UTF-16 text", "convert it with iconv -f UTF-16BE -t UTF-8"),
      ROW("\0[\0", "is UTF-16 text", "convert it with iconv -f UTF-16BE -t UTF-8"),
      ROW("\x1F\x8B\x08", "is compressed twice", "unpack it once with gzip -d"),
      ROW("\x28\xB5\x2F\xFD", "is compressed twice", "unpack it once with zstd -d"),
      ROW("{\"schema\":", "is a PyTorch execution trace", no_trace),
      ROW("{\n  \"schema\":", "is a PyTorch execution trace", no_trace),
      ROW("\x80\x02", "is a Python pickle", no_trace),
      ROW("\x80\x04", "is a Python pickle", no_trace),
      ROW("SQLite format 3", "is an SQLite database, as Nsight Systems writes it", no_trace),
      ROW("version https://git-lfs.", "is a Git LFS pointer", "fetch the file itself with git lfs pull"),
      ROW("<!DOCTYPE", "is a web page", no_trace),
      ROW("<!doctype", "is a web page", no_trace),
  };
#undef ROW
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (window->length >= rows[i].length && memcmp(window->bytes, rows[i].bytes, rows[i].length) == 0) {
      return &rows[i].is;
    }
  }
  return NULL;
}

static bool read_text(struct scan *scan) {
  static const char byte_order_mark[] = "\xEF\xBB\xBF";
  scan->cursor = trace_window_ensure(&scan->window, scan->window.bytes);
  if (strncmp(scan->cursor, byte_order_mark, sizeof byte_order_mark - 1) == 0) {
    scan->cursor += sizeof byte_order_mark - 1;
  }
  scan->trace->foreign = foreign_text(&scan->window);
  if (scan->trace->foreign != NULL) {
    return true;
  }
  if (!to_next_byte(scan)) {
    return cut(scan);
  }
  char byte = *scan->cursor;
  char next = *lumos_json_blank(scan->cursor + 1);
  scan->trace->text = byte == '{' || byte == '[' ? TRACE_TEXT_JSON : TRACE_TEXT_OTHER;
  if (byte == '{' || (byte == '[' && (next == '{' || next == ']'))) {
    scan->cursor++;
    scan->in_object = byte == '{';
    return scan->in_object ? read_members(scan) : read_events(scan);
  }
  bool found = false;
  if (!find_beginning(scan, &found) || !found) {
    return !found;
  }
  return scan->in_object ? read_members(scan) : read_headless(scan);
}

/* Behind the closing bracket of the trace: does it go on? No second trace is taken for that. */
static bool read_more(struct scan *scan, bool *more) {
  const unsigned member = scan->in_object && *scan->cursor == ',' ? TRACE_AT_MEMBER : 0U;
  const struct trace_search search = {.goals = TRACE_AT_EVENT | TRACE_AT_LIST | TRACE_AT_OTHER | member,
                                      .in_object = true};
  uint64_t begin = trace_window_byte(&scan->window, scan->cursor);
  enum trace_landing landing = lumos_trace_find(&scan->window, &scan->cursor, &search);
  *more = (landing & (TRACE_AT_EVENT | member)) != 0;
  if (!*more) {
    return true;
  }
  bool good = landing == TRACE_AT_EVENT ? go_on(scan)
                                        : broken_fact(scan, begin, trace_window_byte(&scan->window, scan->cursor),
                                                      begin, "a bracket that does not end the trace");
  return good && (!scan->in_object || read_members(scan));
}

/* Behind the closing bracket nothing follows: not a second trace, which would be lost, nor a wrong checksum. */
static bool finish_text(struct scan *scan) {
  uint64_t begin = 0;
  bool more = true;
  while (more && to_next_byte(scan)) {
    begin = trace_window_byte(&scan->window, scan->cursor);
    if (!read_more(scan, &more)) {
      return false;
    }
    begin = more ? 0 : begin;
  }
  while (!scan->window.ended) {
    scan->cursor = trace_window_ensure(&scan->window, scan->window.bytes + scan->window.length);
  }
  uint64_t end = scan->window.offset + scan->window.length;
  if (begin != 0 && !broken(scan, begin, end, begin, "text behind the end of the trace")) {
    return false;
  }
  if (scan->window.damaged) {
    return cut(scan);
  }
  return is_exact(scan, UINT64_MAX) && (!scan->strict || lumos_json_check_done(scan->window.check) ||
                                        fail_at(scan, end, "the text ends inside the trace"));
}

bool lumos_trace_scan(struct trace *trace, struct lumos_input *input, const char *name,
                      const struct trace_scan_options *options, struct lumos_error *error) {
  struct scan *scan = lumos_allocate_zeroed(1, sizeof *scan); /* too large for a small stack */
  scan->trace = trace;
  scan->name = name;
  scan->strict = options->strict;
  scan->error = error;
  lumos_trace_reader_init(&scan->reader, trace, options->stacks);
  lumos_trace_window_open(&scan->window, input, options->window != 0 ? options->window : TRACE_WINDOW_BYTES,
                          options->window_limit != 0 ? options->window_limit : TRACE_WINDOW_LIMIT);
  scan->window.watcher = options->watcher;
  scan->window.check = options->strict ? lumos_json_check_new() : NULL;
  scan->window.source = options->source;
  bool good = read_text(scan) && (!scan->saw_events || finish_text(scan));
  lumos_trace_reader_clear(&scan->reader);
  lumos_json_check_free(scan->window.check);
  lumos_trace_window_close(&scan->window);
  free(scan);
  return good;
}
