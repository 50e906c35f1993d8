/* Making and freeing what a scan fills, and the lanes that it meets. */
#include "trace/raw.h"

#include "base/text.h"
#include "trace/order.h"
#include <stdlib.h>
#include <string.h>

void lumos_trace_init(struct trace *trace, struct lumos_strings *strings) {
  *trace = (struct trace){.strings = strings,
                          .record_end = LUMOS_ABSENT,
                          .first_start = LUMOS_ABSENT,
                          .first_correlation = LUMOS_ABSENT,
                          .base = LUMOS_ABSENT,
                          .steps_end = LUMOS_ABSENT,
                          .runtime_offset = LUMOS_ABSENT,
                          .runtime_doubt = LUMOS_ABSENT};
  trace->lane_keys = lumos_strings_new();
  trace->name_keys = lumos_strings_new();
}

void lumos_trace_clear_own(struct trace *trace) {
  lumos_strings_free(trace->lane_keys);
  lumos_strings_free(trace->name_keys);
  for (int i = 0; i < TRACE_FACTS; i++) {
    free(trace->facts[i]);
  }
  lumos_vector_free(&trace->host);
  lumos_vector_free(&trace->device);
  lumos_vector_free(&trace->sync);
  lumos_vector_free(&trace->hta_rows);
  lumos_vector_free(&trace->hta_starts);
  lumos_vector_free(&trace->comms);
  lumos_vector_free(&trace->lanes);
  lumos_vector_free(&trace->names);
  lumos_vector_free(&trace->sessions);
  lumos_vector_free(&trace->memory);
  lumos_vector_free(&trace->categories);
  lumos_trace_free_order(&trace->host_order);
  lumos_trace_free_order(&trace->device_order);
}

/* The names are interned already, so their ids say it all. */
struct lane_key {
  uint32_t kind, process, native;
};

uint32_t lumos_trace_lane(struct trace *trace, enum lumos_lane_kind kind, lumos_string_id process,
                          lumos_string_id native) {
  struct lane_key key = {kind, process, native};
  uint32_t lane = lumos_intern(trace->lane_keys, (const char *)&key, sizeof key) - 1;
  if (lane == trace->lanes.count) {
    lumos_vector_push(&trace->lanes, ((struct trace_lane){kind, process, native, false}));
  }
  return lane;
}

uint32_t lumos_trace_known_lane(const struct trace *trace, enum lumos_lane_kind kind, lumos_string_id process,
                                lumos_string_id native) {
  struct lane_key key = {kind, process, native};
  uint32_t id = lumos_interned(trace->lane_keys, (const char *)&key, sizeof key);
  return id == LUMOS_NO_STRING ? LUMOS_NONE : id - 1;
}

void lumos_trace_name_lane(struct trace *trace, lumos_string_id process, lumos_string_id native, lumos_string_id name) {
  struct lane_key key = {0, process, native};
  uint32_t index = lumos_intern(trace->name_keys, (const char *)&key, sizeof key) - 1;
  if (index == trace->names.count) {
    lumos_vector_push(&trace->names, name);
  }
  trace->names.items[index] = name;
}

lumos_string_id lumos_trace_lane_name(const struct trace *trace, const struct trace_lane *lane) {
  struct lane_key key = {0, lane->process, lane->native};
  uint32_t id = lumos_interned(trace->name_keys, (const char *)&key, sizeof key);
  return id == LUMOS_NO_STRING ? LUMOS_NO_STRING : trace->names.items[id - 1];
}

/* Threads share when two processes use one number; all streams do when there are two devices. */
void lumos_trace_mark_shared(struct trace *trace) {
  struct lumos_strings *numbers = lumos_strings_new();
  uint32_t *id_of = lumos_allocate(trace->lanes.count * sizeof *id_of);
  uint32_t *users = lumos_allocate_zeroed(trace->lanes.count + 1, sizeof *users); /* [id]: threads of this number */
  lumos_string_id device = LUMOS_NO_STRING;                                       /* of the first stream */
  bool several_devices = false;
  for (size_t i = 0; i < trace->lanes.count; i++) {
    const struct trace_lane *lane = &trace->lanes.items[i];
    id_of[i] = lumos_intern(numbers, (const char *)&lane->native, sizeof lane->native);
    if (lane->kind == LUMOS_THREAD) {
      users[id_of[i]]++;
    } else {
      device = device == LUMOS_NO_STRING ? lane->process : device;
      several_devices = several_devices || lane->process != device;
    }
  }
  for (size_t i = 0; i < trace->lanes.count; i++) {
    struct trace_lane *lane = &trace->lanes.items[i];
    lane->shared_number |= lane->kind == LUMOS_THREAD ? users[id_of[i]] > 1 : several_devices;
  }
  free(id_of);
  free(users);
  lumos_strings_free(numbers);
}

/* Dots in a process's name are doubled: the first single one ends it, so that no two lanes have one label. */
static void put_process(struct lumos_text *text, const char *process) {
  for (; *process != '\0'; process++) {
    lumos_text_char(text, *process);
    if (*process == '.') {
      lumos_text_char(text, '.');
    }
  }
}

lumos_string_id lumos_trace_lane_label(struct trace *trace, uint32_t lane) {
  const struct trace_lane *recorded = &trace->lanes.items[lane];
  bool stream = recorded->kind == LUMOS_STREAM;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (recorded->shared_number) {
    lumos_text_char(&text, stream ? 'd' : 'p');
    put_process(&text, lumos_string(trace->strings, recorded->process));
    lumos_text_char(&text, '.');
  }
  lumos_text_char(&text, stream ? 's' : 't');
  lumos_text_put(&text, lumos_string(trace->strings, recorded->native));
  lumos_string_id label = lumos_intern(trace->strings, text.bytes, text.length);
  lumos_text_free(&text);
  return label;
}

void lumos_trace_count_category(struct trace *trace, lumos_string_id name, enum trace_class class, bool kept) {
  size_t i = 0;
  while (i < trace->categories.count && trace->categories.items[i].name != name &&
         trace->categories.items[i].name != LUMOS_NO_STRING) {
    i++;
  }
  if (i == trace->categories.count) {
    name = i + 1 < TRACE_MOST_CATEGORIES ? name : LUMOS_NO_STRING;
    lumos_vector_push(&trace->categories, ((struct trace_category){name, (uint8_t) class, 0, 0}));
  }
  trace->categories.items[i].left += !kept;
  trace->categories.items[i].kept += kept;
}

void lumos_trace_place(struct trace_places *places, uint64_t begin, uint64_t end, const char *what) {
  const struct trace_place place = {begin, end, what};
  if (places->count < TRACE_PLACES) {
    places->first[places->count] = place;
  }
  if (end > begin && end - begin > places->longest.end - places->longest.begin) {
    places->longest = place;
  }
  places->count++;
}
