/* Making and freeing what a scan fills, and the lanes that it meets. */
#include "trace/raw.h"

#include "trace/order.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lumos_trace_init(struct trace *trace, struct lumos_strings *strings) {
  *trace = (struct trace){.strings = strings, .record_end = LUMOS_ABSENT};
  trace->lane_keys = lumos_strings_new();
  trace->name_keys = lumos_strings_new();
}

void lumos_trace_clear(struct trace *trace) {
  lumos_strings_free(trace->lane_keys);
  lumos_strings_free(trace->name_keys);
  for (int i = 0; i < TRACE_FACTS; i++) {
    free(trace->facts[i]);
  }
  lumos_vector_free(&trace->host);
  lumos_vector_free(&trace->device);
  lumos_vector_free(&trace->sync);
  lumos_vector_free(&trace->comms);
  lumos_vector_free(&trace->lanes);
  lumos_vector_free(&trace->names);
  lumos_vector_free(&trace->sessions);
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
    lumos_vector_push(&trace->lanes, ((struct trace_lane){kind, process, native}));
  }
  return lane;
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

void lumos_trace_skipped(struct trace *trace, uint64_t byte, const char *reason) {
  if (trace->skipped++ == 0) {
    trace->first_skipped = byte;
    (void)snprintf(trace->reason, sizeof trace->reason, "%s", reason);
  }
}
