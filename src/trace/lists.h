/* Lists as they stand in arguments (shapes, types, strides) come again with every layer and step: one that was walked
 * before is known by its bytes, and these end where its bracket does.
 *
 * The text must lie in a window, which can be read beyond its end (see window.h).
 */
#ifndef LUMOS_TRACE_LISTS_H
#define LUMOS_TRACE_LISTS_H

#include "base/json.h"
#include "trace/values.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_LIST_BYTES = 120, TRACE_LISTS = 512 };

struct trace_list {
  char bytes[TRACE_LIST_BYTES];
  uint32_t length; /* 0: none */
  bool wide;       /* see struct lumos_slice */
};

/* Each at the place that its first bytes give it; zero-initialise. */
struct trace_lists {
  struct trace_list items[TRACE_LISTS];
};

/* Walk over the list at *cursor and remember it; false at a fault. */
bool lumos_trace_learn_list(struct trace_list *list, const char **cursor, struct lumos_slice *out);

static inline struct trace_list *trace_list_place(struct trace_lists *lists, const char *start) {
  const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
  uint64_t first = lumos_load_eight(start) ^ lumos_load_eight(start + 8) * 3;
  uint64_t second = lumos_load_eight(start + 16) ^ lumos_load_eight(start + 24) * 5;
  return &lists->items[(first * odd ^ second * (odd + 2)) >> 32U & (TRACE_LISTS - 1)];
}

/* Does this list stand at `place`? No byte of it is NUL, so the comparison ends with the window at the latest. */
static inline bool trace_list_stands(const struct trace_list *list, const char *place) {
  uint32_t at = 0;
  for (; at + 8 <= list->length; at += 8) {
    if (lumos_load_eight(list->bytes + at) != lumos_load_eight(place + at)) {
      return false;
    }
  }
  uint64_t rest = (UINT64_C(1) << 8U * (list->length - at)) - 1;
  return ((lumos_load_eight(list->bytes + at) ^ lumos_load_eight(place + at)) & rest) == 0 && list->length > 0;
}

/* The text of the list at *cursor; false at a fault. */
static inline bool trace_read_list(struct trace_lists *lists, const char **cursor, struct lumos_slice *out) {
  struct trace_list *list = trace_list_place(lists, *cursor);
  if (!trace_list_stands(list, *cursor)) {
    return lumos_trace_learn_list(list, cursor, out);
  }
  *out = (struct lumos_slice){*cursor, list->length, false, list->wide};
  *cursor += list->length;
  return true;
}

#endif
