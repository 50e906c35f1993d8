/* The document is read whole by cJSON: it has a line for every lane, not for every event. */
#include "trace/timelines.h"

#include "base/json.h"
#include "trace/envelope.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

static const cJSON *member(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* A whole number that a double holds exactly, or LUMOS_ABSENT. */
static int64_t whole(const cJSON *value) {
  static const double limit = 9007199254740992.0;
  if (!cJSON_IsNumber(value) || value->valuedouble <= -limit || value->valuedouble >= limit) {
    return LUMOS_ABSENT;
  }
  return (int64_t)value->valuedouble;
}

static lumos_string_id text_of(struct lumos_strings *strings, const cJSON *value) {
  return cJSON_IsString(value) ? lumos_intern_text(strings, value->valuestring) : LUMOS_NO_STRING;
}

static void take_facts(struct trace *trace, const cJSON *entry) {
  for (const cJSON *value = cJSON_IsObject(entry) ? entry->child : NULL; value != NULL; value = value->next) {
    enum trace_fact fact = TRACE_FACTS;
    const struct lumos_slice key = {.bytes = value->string, .length = strlen(value->string)};
    if (!lumos_trace_envelope_key(&key, &fact) || fact >= TRACE_FACT_TIMELINES || trace->facts[fact] != NULL) {
      continue;
    }
    char *printed = cJSON_PrintUnformatted(value);
    trace->facts[fact] = printed != NULL ? lumos_copied_text(printed) : NULL;
    cJSON_free(printed);
  }
}

static void add_timeline(struct trace_timelines *timelines, const cJSON *entry) {
  struct lumos_job *job = lumos_job_new();
  lumos_vector_push(&timelines->items, ((struct trace_timeline){.job = job}));
  struct trace *trace = &timelines->items.items[timelines->items.count - 1].trace;
  lumos_trace_init(trace, job->strings);
  take_facts(trace, entry);
  trace->base = whole(member(entry, "base"));
  trace->steps_end = whole(member(entry, "steps_end"));
  trace->runtime_offset = whole(member(entry, "runtime_offset"));
  trace->runtime_doubt = whole(member(entry, "runtime_doubt"));
  if (trace->runtime_doubt == LUMOS_ABSENT) {
    trace->runtime_offset = LUMOS_ABSENT;
  }
}

/* LUMOS_NONE: the place is of no lane. */
static uint32_t add_lane(struct trace *trace, const cJSON *entry) {
  lumos_string_id native = text_of(trace->strings, member(entry, "native"));
  const cJSON *kind = member(entry, "kind");
  if (native == LUMOS_NO_STRING || !cJSON_IsString(kind)) {
    return LUMOS_NONE;
  }
  lumos_string_id process = text_of(trace->strings, member(entry, "process"));
  enum lumos_lane_kind lane_kind = strcmp(kind->valuestring, "stream") == 0 ? LUMOS_STREAM : LUMOS_THREAD;
  uint32_t lane = lumos_trace_lane(trace, lane_kind, process, native);
  trace->lanes.items[lane].shared_number = cJSON_IsTrue(member(entry, "shared"));
  lumos_string_id name = text_of(trace->strings, member(entry, "name"));
  if (name != LUMOS_NO_STRING) {
    lumos_trace_name_lane(trace, process, native, name);
  }
  return lane;
}

static int by_place(const void *a, const void *b) {
  const struct trace_screen_place *left = a, *right = b;
  return left->process != right->process ? LUMOS_ORDER(left->process, right->process)
                                         : LUMOS_ORDER(left->thread, right->thread);
}

static void add_places(struct trace_timelines *timelines, const cJSON *lanes) {
  const cJSON *entry = NULL;
  cJSON_ArrayForEach(entry, lanes) {
    int64_t timeline = whole(member(entry, "timeline"));
    struct trace_screen_place place = {.process = whole(member(entry, "pid")),
                                       .thread = whole(member(entry, "tid")),
                                       .shift = whole(member(entry, "shift"))};
    if (timeline < 0 || timeline >= (int64_t)timelines->items.count || place.process == LUMOS_ABSENT ||
        place.thread == LUMOS_ABSENT) {
      continue;
    }
    place.shift = place.shift == LUMOS_ABSENT ? 0 : place.shift;
    place.timeline = (uint32_t)timeline;
    place.lane = add_lane(&timelines->items.items[timeline].trace, entry);
    lumos_vector_push(&timelines->places, place);
  }
  lumos_vector_sort(&timelines->places, by_place);
}

struct trace_timelines *lumos_trace_timelines_new(const char *text) {
  cJSON *document = cJSON_Parse(text);
  struct trace_timelines *timelines = NULL;
  if (whole(member(document, "version")) == VERSION) {
    timelines = lumos_allocate_zeroed(1, sizeof *timelines);
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, member(document, "ranks")) { add_timeline(timelines, entry); }
    add_places(timelines, member(document, "lanes"));
  }
  cJSON_Delete(document);
  return timelines;
}

void lumos_trace_timelines_free(struct trace_timelines *timelines) {
  if (timelines == NULL) {
    return;
  }
  for (size_t i = 0; i < timelines->items.count; i++) {
    lumos_trace_clear_own(&timelines->items.items[i].trace);
    lumos_job_free(timelines->items.items[i].job);
  }
  lumos_vector_free(&timelines->items);
  lumos_vector_free(&timelines->places);
  free(timelines);
}

static bool read_number(const struct lumos_slice *text, int64_t *number) {
  char digits[24];
  if (text->bytes == NULL || text->length == 0 || text->length >= sizeof digits) {
    return false;
  }
  memcpy(digits, text->bytes, text->length);
  digits[text->length] = '\0';
  const char *cursor = digits;
  return lumos_json_integer(&cursor, number) && *cursor == '\0';
}

const struct trace_screen_place *lumos_trace_timelines_place(struct trace_timelines *timelines,
                                                             const struct lumos_slice *process,
                                                             const struct lumos_slice *thread) {
  struct trace_screen_place wanted = {0};
  if (timelines->places.count == 0 || !read_number(process, &wanted.process) || !read_number(thread, &wanted.thread)) {
    return NULL;
  }
  const struct trace_screen_place *places = timelines->places.items;
  if (by_place(&places[timelines->last], &wanted) == 0) {
    return &places[timelines->last];
  }
  const struct trace_screen_place *found = bsearch(&wanted, places, timelines->places.count, sizeof *places, by_place);
  timelines->last = found != NULL ? (size_t)(found - places) : timelines->last;
  return found;
}

void lumos_trace_clear(struct trace *trace) {
  lumos_trace_timelines_free(trace->timelines);
  lumos_trace_clear_own(trace);
}
