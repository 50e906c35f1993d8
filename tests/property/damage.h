/* Damages to the text of a trace, of the kinds that are met in the wild, at random places. Whoever damages knows which
 * event is hit, so what must be kept is known without reading the damaged text. Shares no code with the reader of
 * traces.
 */
#ifndef LUMOS_TESTS_DAMAGE_H
#define LUMOS_TESTS_DAMAGE_H

#include "unit/unit.h"
#include <stdbool.h>

struct piece {
  const char *bytes;
  size_t length;
};

struct document {
  char *text;
  size_t length;
  struct piece *events; /* in text */
  size_t count;
};

/* Which places are hit, and in how many ways each trace is damaged: environment LUMOS_SEED and LUMOS_WAYS. */
static inline uint64_t chosen_seed(void) {
  const char *text = getenv("LUMOS_SEED");
  return text != NULL ? strtoull(text, NULL, 10) : 1;
}

static inline int chosen_ways(void) {
  const char *text = getenv("LUMOS_WAYS");
  enum { WAYS = 36, MOST = 1000000 };
  long ways = text != NULL ? strtol(text, NULL, 10) : WAYS;
  return ways > 0 && ways <= MOST ? (int)ways : WAYS;
}

/* One reproducible number after the other. */
static inline size_t below(uint64_t *seed, size_t limit) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return limit > 0 ? (size_t)((*seed >> 33U) % limit) : 0;
}

/* ---- Valid JSON, taken apart ---- */

/* The first of these bytes, or the end of the text. Not strcspn: where sanitizers check strings strictly, it reads the
 * whole text. */
static inline const char *next_of(const char *place, const char *bytes) {
  while (*place != '\0' && strchr(bytes, *place) == NULL) {
    place++;
  }
  return place;
}

/* Behind the value at `place` of valid JSON. */
static inline const char *behind_value(const char *place) {
  int depth = 0;
  do {
    if (*place == '"') {
      for (place++; *place != '"'; place++) {
        place += *place == '\\';
      }
      place++;
    } else if (*place == '{' || *place == '[') {
      depth++;
      place++;
    } else if (*place == '}' || *place == ']') {
      depth--;
      place++;
    } else {
      place = depth > 0 ? place + 1 : next_of(place, ",]} \t\r\n");
    }
  } while (depth > 0);
  return place;
}

static inline const char *behind_blank(const char *place) {
  while (*place == ' ' || *place == '\t' || *place == '\r' || *place == '\n') {
    place++;
  }
  return place;
}

/* A member of an object. */
struct member {
  struct piece key, value; /* as they stand in the text: with quotes */
};

/* The member behind `place` in an object, or its first one when `place` is the brace. False behind the last. */
static inline bool next_member(const char **place, struct member *member) {
  const char *at = behind_blank(*place + (**place == '{'));
  at = *at == ',' ? behind_blank(at + 1) : at;
  if (*at != '"') {
    return false;
  }
  member->key.bytes = at;
  at = behind_value(at);
  member->key.length = (size_t)(at - member->key.bytes);
  at = behind_blank(behind_blank(at) + 1);
  member->value.bytes = at;
  at = behind_value(at);
  member->value.length = (size_t)(at - member->value.bytes);
  *place = at;
  return true;
}

static inline bool is_text(const struct piece *piece, const char *text) {
  return piece->bytes != NULL && piece->length == strlen(text) && memcmp(piece->bytes, text, piece->length) == 0;
}

/* The value of a key (with its quotes) in an object; {NULL, 0} when it is not there. */
static inline struct piece value_of(const struct piece *object, const char *key) {
  struct member member;
  const char *place = object->bytes;
  while (next_member(&place, &member)) {
    if (is_text(&member.key, key)) {
      return member.value;
    }
  }
  return (struct piece){NULL, 0};
}

static inline bool is_string(const struct piece *value) { return value->length > 0 && *value->bytes == '"'; }
static inline bool is_number(const struct piece *value) {
  return value->length > 0 && strchr("-0123456789", *value->bytes) != NULL;
}

/* Any member of the event or of its arguments whose value `fits`; false when there is none. */
static inline bool any_member(const struct piece *event, uint64_t *seed, bool (*fits)(const struct piece *),
                              struct member *chosen) {
  size_t found = 0;
  struct piece arguments = value_of(event, "\"args\"");
  const struct piece *objects[] = {event, &arguments};
  for (size_t i = 0; i < 2; i++) {
    const char *place = objects[i]->bytes;
    struct member member;
    while (place != NULL && *objects[i]->bytes == '{' && next_member(&place, &member)) {
      if (fits(&member.value) && below(seed, ++found) == 0) {
        *chosen = member;
      }
    }
  }
  return found > 0;
}

/* ---- Documents ---- */

/* The events in the text, which the document takes over. */
static inline struct document take_apart(char *text, size_t length) {
  struct document document = {text, length, NULL, 0};
  const char *list = behind_blank(text);
  if (*list == '{') {
    const struct piece all = {list, length};
    list = value_of(&all, "\"traceEvents\"").bytes;
  }
  if (list == NULL) {
    abort();
  }
  size_t room = 0;
  for (const char *place = behind_blank(list + 1); *place == '{'; place = behind_blank(place)) {
    if (document.count == room) {
      room = room * 2 + 256;
      document.events = realloc(document.events, room * sizeof *document.events);
      assert_non_null(document.events);
    }
    const char *end = behind_value(place);
    document.events[document.count++] = (struct piece){place, (size_t)(end - place)};
    place = behind_blank(end);
    place += *place == ',';
  }
  return document;
}

static inline void free_document(struct document *document) {
  free(document->text);
  free(document->events);
}

/* ---- Damage ---- */

enum damage {
  DAMAGE_QUOTE,
  DAMAGE_CONTROL,
  DAMAGE_STRAY_BETWEEN,
  DAMAGE_STRAY_INSIDE,
  DAMAGE_EMPTY_VALUE,
  DAMAGE_UTF8,
  DAMAGE_RANGE,
  DAMAGE_NAN,
  DAMAGE_DUPLICATE,
  DAMAGE_CUT,
  DAMAGE_CUT_GZIP,
  DAMAGE_MEMBERS,
  DAMAGE_TRAILING,
  DAMAGE_CRLF,
  DAMAGE_BOM,
  DAMAGE_BRACKET,
  DAMAGE_HOLE,
  DAMAGE_METADATA,
  DAMAGES,
};

/* A text and what was done to it. */
struct damaged {
  enum damage kind;
  size_t event;   /* the first that is hit, or the one behind the place; count: none */
  size_t whole;   /* bytes at the front that are as they were */
  int64_t growth; /* of the text behind the damage */
  bool behind;    /* the list of events: metadata that are hit */
  char *text;
  size_t length;
};

/* The document with bytes [from, to) replaced. */
static inline void splice(const struct document *document, struct damaged *out, const char *from, const char *to,
                          const char *bytes, size_t length) {
  size_t front = (size_t)(from - document->text);
  size_t back = document->length - (size_t)(to - document->text);
  out->whole = front;
  out->length = front + length + back;
  out->growth = (int64_t)out->length - (int64_t)document->length;
  out->text = malloc(out->length + 1);
  assert_non_null(out->text);
  memcpy(out->text, document->text, front);
  memcpy(out->text + front, bytes, length);
  memcpy(out->text + front + length, to, back);
  out->text[out->length] = '\0';
}

static inline void insert(const struct document *document, struct damaged *out, const char *at, const char *text) {
  splice(document, out, at, at, text, strlen(text));
}

static inline bool is_any(const struct piece *value) { return value->length > 0; }

static inline const char *inside(const struct piece *piece, uint64_t *seed) {
  return piece->bytes + 1 + below(seed, piece->length - 1);
}

#define CHOOSE(seed, list) (list)[below(seed, sizeof(list) / sizeof *(list))]

/* In the value of a member: one that fits, or else the event as a whole. */
static inline void hit_value(const struct document *document, struct damaged *out, uint64_t *seed) {
  static const char *const ranges[] = {"99999999999999999999999", "-1e400", "1e999", "92233720368547758070000"};
  static const char *const words[] = {"NaN", "nan", "-nan", "inf", "-inf", "Infinity", "-Infinity"};
  static const char *const wrong[] = {"\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xE2\x82", "\xF8\x88\x80\x80\x80", "\x80"};
  const struct piece *event = &document->events[out->event];
  struct piece name = value_of(event, "\"name\"");
  struct member member = {*event, *event};
  switch (out->kind) {
    case DAMAGE_QUOTE:
      if (below(seed, 2) == 0 || !is_string(&name)) {
        (void)any_member(event, seed, is_string, &member);
        name = member.value;
      }
      insert(document, out, inside(&name, seed), "\"");
      break;
    case DAMAGE_UTF8:
      if (!is_string(&name)) {
        (void)any_member(event, seed, is_string, &member);
        name = member.value;
      }
      insert(document, out, name.bytes + 1, CHOOSE(seed, wrong));
      break;
    case DAMAGE_EMPTY_VALUE:
      (void)any_member(event, seed, is_any, &member);
      splice(document, out, member.value.bytes, member.value.bytes + member.value.length, "", 0);
      break;
    default: {
      (void)any_member(event, seed, is_number, &member);
      const char *value = out->kind == DAMAGE_RANGE ? CHOOSE(seed, ranges) : CHOOSE(seed, words);
      splice(document, out, member.value.bytes, member.value.bytes + member.value.length, value, strlen(value));
    }
  }
}

/* A second value for a key of the event. */
static inline void hit_key(const struct document *document, struct damaged *out, uint64_t *seed) {
  static const char *const keys[] = {"\"name\"", "\"ts\"", "\"dur\"", "\"tid\"", "\"ph\"", "\"cat\""};
  const struct piece *event = &document->events[out->event];
  const char *key = CHOOSE(seed, keys);
  struct piece value = value_of(event, key);
  char text[64];
  if (value.bytes == NULL || value.length > 30) {
    (void)snprintf(text, sizeof text, "\"ts\": 1, \"ts\": 2, ");
  } else {
    (void)snprintf(text, sizeof text, "%s: %.*s, %s: %s, ", key, (int)value.length, value.bytes, key,
                   is_string(&value) ? "\"other\"" : "77");
  }
  insert(document, out, event->bytes + 1, text);
}

static inline void hit_between(const struct document *document, struct damaged *out, uint64_t *seed) {
  static const char *const strays[] = {
      "[W123 00:00:01.2 Module.cpp:12] Warning: \"x\" is {deprecated} (function f)\n",
      "WARNING:root:profiler is slow",
      "[rank0]: {\"a\": 1], b\n",
      "]",
      "] done\n",
      ",]x",
      "]\n[W] ",
      "]]]]]]]",
      "\n}\n]\n",
      "}, ]",
      "],\"traceName\":\"x\",",
      "]}\n",
      "]} done ",
      "}",
      "]}",
      ",",
      "null,",
      "42",
      "\"odd",
      "[1, {\"x\": 2}],",
      "{\"name\": \"no event\"},",
      "{",
      "\x01\x02",
  };
  const char *at = document->events[out->event].bytes;
  if (out->event > 0 && below(seed, 2) == 0) {
    at = document->events[out->event - 1].bytes + document->events[out->event - 1].length;
  }
  insert(document, out, at, CHOOSE(seed, strays));
}

static inline void hit_anywhere(const struct document *document, struct damaged *out, uint64_t *seed) {
  static const char *const strays[] = {"WARNING: a \"log\" line\n", "[rank1]: x", "\nINFO {1}\n"};
  const struct piece *event = &document->events[out->event];
  const char *at = inside(event, seed);
  char byte[2] = {0, 0};
  if (out->kind == DAMAGE_CONTROL) {
    byte[0] = (char)below(seed, 0x20);
    splice(document, out, at, at, byte, 1);
  } else if (out->kind == DAMAGE_STRAY_INSIDE) {
    insert(document, out, at, CHOOSE(seed, strays));
  } else if (out->kind == DAMAGE_HOLE) {
    const struct piece *next = event + (out->event + 1 < document->count);
    const char *to = inside(next, seed);
    splice(document, out, at < to ? at : to, at < to ? to : at, "", 0);
  } else { /* a bracket, a comma, a colon or a quote too few or too many */
    const char *found = next_of(at, "{}[],:\"");
    bool more = below(seed, 2) == 0 || found >= event->bytes + event->length;
    byte[0] = "{}[],:\""[below(seed, 7)];
    splice(document, out, more ? at : found, more ? at : found + 1, byte, more);
  }
}

/* The metadata before the list of events, or those behind it; false when there are none. */
static inline bool metadata_of(const struct document *document, bool behind, struct piece *out) {
  const struct piece *last = &document->events[document->count - 1];
  const char *begin = document->text + 1;
  const char *end = behind_blank(last->bytes + last->length) + 1;
  if (*behind_blank(document->text) != '{') {
    return false;
  }
  if (behind) {
    begin = end;
    end = document->text + document->length;
    while (end > begin && *end != '}') {
      end--;
    }
  } else {
    end = document->events[0].bytes;
    while (memcmp(end, "\"traceEvents\"", strlen("\"traceEvents\"")) != 0) {
      end--;
    }
  }
  *out = (struct piece){begin, end > begin ? (size_t)(end - begin) : 0};
  return out->length > 2;
}

/* A bracket or a quote too few or too many in the metadata, or text; nothing where there are none. */
static inline void hit_metadata(const struct document *document, struct damaged *out, uint64_t *seed) {
  static const char *const strays[] = {"{", "[", "\"", "}", "]", "{\"a\": ", "WARNING: x\n", "oops", ",,"};
  struct piece metadata = {document->text, 0};
  out->behind = below(seed, 2) == 0;
  out->event = document->count;
  if (!metadata_of(document, out->behind, &metadata)) {
    insert(document, out, document->text, "");
    return;
  }
  const char *at = metadata.bytes + below(seed, metadata.length);
  const char *found = next_of(at, "{}[]\"");
  if (below(seed, 2) == 0 && found < metadata.bytes + metadata.length) {
    splice(document, out, found, found + 1, "", 0);
  } else {
    insert(document, out, at, CHOOSE(seed, strays));
  }
}

/* What does not hit an event. */
static inline void hit_text(const struct document *document, struct damaged *out, uint64_t *seed) {
  static const char *const tails[] = {"garbage", "{}", "[1]", "\"", "}", "]"};
  const char *end = document->text + document->length;
  const struct piece *event = &document->events[out->event];
  switch (out->kind) {
    case DAMAGE_CUT:
      splice(document, out, inside(event, seed), end, "", 0);
      break;
    case DAMAGE_TRAILING:
      out->event = document->count;
      insert(document, out, end, CHOOSE(seed, tails));
      break;
    case DAMAGE_BOM:
      out->event = document->count;
      insert(document, out, document->text, "\xEF\xBB\xBF");
      break;
    case DAMAGE_CRLF:
      out->event = document->count;
      out->text = malloc(document->length * 2 + 1);
      assert_non_null(out->text);
      out->length = 0;
      for (size_t i = 0; i < document->length; i++) {
        if (document->text[i] == '\n') {
          out->text[out->length++] = '\r';
        }
        out->text[out->length++] = document->text[i];
      }
      out->text[out->length] = '\0';
      break;
    default: /* the text itself stays */
      out->event = document->count;
      insert(document, out, end, "");
  }
}

/* The document with one damage of this kind; free out->text. */
static inline void damage(const struct document *document, enum damage kind, uint64_t *seed, struct damaged *out) {
  *out = (struct damaged){.kind = kind, .event = below(seed, document->count)};
  switch (kind) {
    case DAMAGE_QUOTE:
    case DAMAGE_EMPTY_VALUE:
    case DAMAGE_UTF8:
    case DAMAGE_RANGE:
    case DAMAGE_NAN:
      hit_value(document, out, seed);
      break;
    case DAMAGE_DUPLICATE:
      hit_key(document, out, seed);
      break;
    case DAMAGE_STRAY_BETWEEN:
      hit_between(document, out, seed);
      break;
    case DAMAGE_METADATA:
      hit_metadata(document, out, seed);
      break;
    case DAMAGE_CONTROL:
    case DAMAGE_STRAY_INSIDE:
    case DAMAGE_BRACKET:
    case DAMAGE_HOLE:
      hit_anywhere(document, out, seed);
      break;
    default:
      hit_text(document, out, seed);
  }
}

static inline const char *damage_name(enum damage kind) {
  static const char *const names[] = {
      [DAMAGE_QUOTE] = "an unescaped quote",
      [DAMAGE_CONTROL] = "a control byte",
      [DAMAGE_STRAY_BETWEEN] = "stray text between events",
      [DAMAGE_STRAY_INSIDE] = "stray text inside an event",
      [DAMAGE_EMPTY_VALUE] = "an empty value",
      [DAMAGE_UTF8] = "invalid UTF-8",
      [DAMAGE_RANGE] = "a number out of range",
      [DAMAGE_NAN] = "NaN",
      [DAMAGE_DUPLICATE] = "a duplicate key",
      [DAMAGE_CUT] = "a cut text",
      [DAMAGE_CUT_GZIP] = "a cut gzip member",
      [DAMAGE_MEMBERS] = "several gzip members",
      [DAMAGE_TRAILING] = "trailing garbage",
      [DAMAGE_CRLF] = "CR/LF",
      [DAMAGE_BOM] = "a byte order mark",
      [DAMAGE_BRACKET] = "a bracket, comma or quote too few or too many",
      [DAMAGE_METADATA] = "a bracket or a quote too few or too many, or text, in the metadata",
      [DAMAGE_HOLE] = "a hole from one event into the next",
  };
  return names[kind];
}

#endif
