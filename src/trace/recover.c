/* The search looks for a whole event (a brace with a member of events behind it, which is then read) and for what can stand behind the
 * last one. An object among the arguments of a broken event has no phase, so it is no event.
 */
#include "trace/recover.h"

#include "base/json.h"
#include "trace/envelope.h"
#include "trace/event.h"

/* The string at `place`, if it may be a key that we know: in broken text the end of a string may be anywhere, and to look for it
 * from every quote would take for ever. */
static bool short_string(const char *place, struct lumos_slice *string) {
  enum { LONGEST_KEY = 32 };
  const char *bytes = place + 1;
  const char *end = *place == '"' ? memchr(bytes, '"', strnlen(bytes, LONGEST_KEY + 1)) : NULL;
  *string = (struct lumos_slice){bytes, end == NULL ? 0 : (size_t)(end - bytes), false, false};
  return end != NULL;
}

/* Does a brace with a key that events have stand here? */
static bool begins_event(const char *place) {
  static const char *const keys[] = {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args", "id", "s", "bp"};
  struct lumos_slice key;
  if (*place != '{' || !short_string(lumos_json_blank(place + 1), &key)) {
    return false;
  }
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (strlen(keys[i]) == key.length && memcmp(keys[i], key.bytes, key.length) == 0) {
      return true;
    }
  }
  return false;
}

/* Does a member that we know begin at `place`? */
static bool begins_member(const char *place, bool events) {
  struct lumos_slice key;
  enum trace_fact fact;
  if (!short_string(place, &key) || *lumos_json_blank(key.bytes + key.length + 1) != ':') {
    return false;
  }
  return lumos_trace_envelope_key(&key, &fact) || (events && lumos_json_is(&key, "traceEvents"));
}

/* Behind a `]` at `place`: does the envelope go on or end here? */
static bool ends_list(const struct trace_window *window, const char *place, const struct trace_search *search) {
  place = lumos_json_blank(place + 1);
  if (search->in_object && *place == ',') {
    return begins_member(lumos_json_blank(place + 1), false);
  }
  if (search->in_object && *place == '}') {
    place = lumos_json_blank(place + 1);
  } else if (search->in_object) {
    return false;
  }
  return !search->cut && trace_window_at_end(window, place);
}

bool lumos_trace_is_stray_bracket(const struct trace_window *window, const char *place, bool in_object) {
  enum { MOST_BRACKETS = 4 };
  place = lumos_json_blank(place + 1);
  if (*place == ',') {
    place = lumos_json_blank(place + 1);
    return !(in_object && *place == '"') && !trace_window_at_end(window, place);
  }
  for (int i = 0; i < MOST_BRACKETS && (*place == '}' || *place == ']' || *place == ','); i++) {
    place = lumos_json_blank(place + 1);
  }
  return begins_event(place);
}

bool lumos_trace_swallows_events(const struct trace_window *window, const char *start) {
  const char *end = window->bytes + window->length;
  if (start != window->bytes || window->length < window->capacity || window->length < TRACE_WINDOW_BYTES) {
    return false;
  }
  for (const char *place = start + 1; place < end; place++) {
    const char *stop = place;
    if (begins_event(place) && lumos_trace_is_event(&stop)) {
      return true;
    }
  }
  return false;
}

/* Does a whole event begin at the cursor? The window is moved on where it cuts it. */
static bool at_event(struct trace_window *window, const char **cursor) {
  if (!begins_event(*cursor)) {
    return false;
  }
  for (;;) {
    const char *stop = *cursor;
    bool stuck = false;
    if (lumos_trace_is_event(&stop)) {
      return true;
    }
    if (trace_window_certain(window, stop) || lumos_trace_swallows_events(window, *cursor)) {
      return false;
    }
    *cursor = lumos_trace_window_refill(window, *cursor, &stuck);
    if (stuck) {
      return false;
    }
  }
}

static enum trace_landing look_at(struct trace_window *window, const char **cursor, const struct trace_search *search) {
  switch (**cursor) {
    case '{':
      return at_event(window, cursor) ? TRACE_AT_EVENT : TRACE_NOWHERE;
    case ']':
      return ends_list(window, *cursor, search) ? TRACE_AT_LIST_END : TRACE_NOWHERE;
    case '"':
      return search->in_object && begins_member(*cursor, false) ? TRACE_AT_MEMBER : TRACE_NOWHERE;
    default:
      return TRACE_NOWHERE;
  }
}

enum trace_landing lumos_trace_find_event(struct trace_window *window, const char **cursor,
                                          const struct trace_search *search) {
  for (;;) {
    *cursor = trace_window_ensure(window, *cursor);
    const char *end = window->bytes + window->length;
    const char *stop = window->ended ? end : end - window->margin;
    const char *place = *cursor;
    while (place < stop && *place != '{' && *place != ']' && *place != '"') {
      place++;
    }
    *cursor = place;
    if (place < stop) {
      enum trace_landing landing = look_at(window, cursor, search);
      if (landing != TRACE_NOWHERE) {
        return landing;
      }
      ++*cursor;
    } else if (window->ended) {
      return TRACE_NOWHERE;
    }
  }
}

void lumos_trace_find_member(struct trace_window *window, const char **cursor, bool events) {
  for (;;) {
    const char *place = *cursor = trace_window_ensure(window, *cursor);
    const char *end = window->bytes + window->length;
    const char *stop = window->ended ? end : end - window->margin;
    while (place < stop && !begins_member(place, events)) {
      place++;
    }
    *cursor = place;
    if (place < stop || window->ended) {
      return;
    }
  }
}
