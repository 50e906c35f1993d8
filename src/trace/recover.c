/* The search looks for a whole event (a brace with a member of events behind it, which is then read) and for what can
 * stand behind the last one. An object among the arguments of a broken event has no phase, so it is no event.
 */
#include "trace/recover.h"

#include "base/json.h"
#include "trace/envelope.h"
#include "trace/event.h"

/* The string at `place`, if it may be a key that we know: in broken text the end of a string may be anywhere, and to
 * look for it from every quote would take for ever. */
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

/* Does a member begin at `place`? Its key, then. */
static bool short_key(const char *place, struct lumos_slice *key) {
  return short_string(place, key) && *lumos_json_blank(key->bytes + key->length + 1) == ':';
}

/* Does a member that we know begin at `place`? */
static bool begins_member(const char *place) {
  struct lumos_slice key;
  enum trace_fact fact;
  return short_key(place, &key) && lumos_trace_envelope_key(&key, &fact);
}

static bool begins_list(const char *place) {
  struct lumos_slice key;
  return short_key(place, &key) && lumos_json_is(&key, "traceEvents");
}

/* Behind a `]` at `place`: does the envelope go on or end here? */
static bool ends_list(const struct trace_window *window, const char *place, const struct trace_search *search) {
  place = lumos_json_blank(place + 1);
  if (search->in_object && *place == ',') {
    return begins_member(lumos_json_blank(place + 1));
  }
  if (search->in_object && *place == '}') {
    place = lumos_json_blank(place + 1);
  } else if (search->in_object) {
    return false;
  }
  return !search->cut && trace_window_at_end(window, place);
}

bool lumos_trace_may_end_list(const struct trace_window *window, const char *place, bool in_object) {
  place = lumos_json_blank(place + 1);
  bool at_end = *place == '\0' && place == window->bytes + window->length;
  if (!in_object || at_end || *place == '}') {
    return true;
  }
  const char *next = lumos_json_blank(place + 1);
  return *place == ',' && (*next == '"' || next == window->bytes + window->length);
}

bool lumos_trace_holds_list(const char *begin, const char *end) {
  static const char key[] = "\"traceEvents\"";
  const size_t length = sizeof key - 1;
  const char *place = begin;
  while ((place = memmem(place, (size_t)(end - place), key, length)) != NULL) {
    place += length;
    const char *value = lumos_json_blank(place);
    value = *value == ':' ? lumos_json_blank(value + 1) : value;
    if (*value == '[' && begins_event(lumos_json_blank(value + 1))) {
      return true;
    }
  }
  return false;
}

const char *lumos_trace_known_member(const char *begin, const char *end) {
  const char *place = begin;
  while (place < end && !(*place == '"' && (begins_member(place) || begins_list(place)))) {
    place++;
  }
  return place;
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

/* What is wanted of what a place may be. */
static enum trace_landing look_at(struct trace_window *window, const char **cursor, const struct trace_search *search) {
  enum trace_landing landing = TRACE_NOWHERE;
  switch (**cursor) {
    case '{':
      return (search->goals & TRACE_AT_EVENT) != 0 && at_event(window, cursor) ? TRACE_AT_EVENT : TRACE_NOWHERE;
    case ']':
      landing = ends_list(window, *cursor, search) ? TRACE_AT_LIST_END : TRACE_NOWHERE;
      break;
    case '"':
      landing = begins_member(*cursor) ? TRACE_AT_MEMBER : begins_list(*cursor) ? TRACE_AT_LIST : TRACE_NOWHERE;
      break;
    case '[':
      landing = *lumos_json_blank(*cursor + 1) == '{' ? TRACE_AT_OTHER : TRACE_NOWHERE;
      break;
    default:
      landing = !search->cut && trace_window_at_end(window, lumos_json_blank(*cursor + 1)) ? TRACE_AT_TEXT_END
                                                                                           : TRACE_NOWHERE;
  }
  return (landing & search->goals) != 0 ? landing : TRACE_NOWHERE;
}

enum trace_landing lumos_trace_find(struct trace_window *window, const char **cursor,
                                    const struct trace_search *search) {
  static const bool looked_at[256] = {['{'] = true, ['}'] = true, ['['] = true, [']'] = true, ['"'] = true};
  for (;;) {
    *cursor = trace_window_ensure(window, *cursor);
    const char *end = window->bytes + window->length;
    const char *stop = window->ended ? end : end - window->margin;
    const char *place = *cursor;
    while (place < stop && !looked_at[(unsigned char)*place]) {
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
