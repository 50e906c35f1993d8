/* The window's one operation: keep the tail, read until it is full, grow when the tail fills it. */
#include "trace/window.h"

#include <lumos/memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lumos_trace_window_open(struct trace_window *window, struct lumos_input *input, size_t size, size_t limit) {
  *window = (struct trace_window){.input = input, .capacity = size, .limit = limit, .margin = size / 64};
  window->bytes = lumos_allocate(size + TRACE_WINDOW_SENTINEL);
  memset(window->bytes, 0, TRACE_WINDOW_SENTINEL);
}

void lumos_trace_window_close(struct trace_window *window) { free(window->bytes); }

/* The input is damaged at the end of the window: does it go on? Where all must be right it need not. */
static bool pass_damage(struct trace_window *window) {
  if (!window->damaged) {
    window->damaged = true;
    window->damaged_at = window->offset + window->length;
    (void)snprintf(window->fault, sizeof window->fault, "%s", lumos_input_fault(window->input));
  }
  if (window->check != NULL || !lumos_input_resume(window->input)) {
    return false;
  }
  window->bytes[window->length++] = '\x01'; /* what is on either side of it does not belong together */
  return true;
}

/* Read until the window is full or the text ends. */
static void fill(struct trace_window *window) {
  while (window->length < window->capacity && !window->ended) {
    int64_t count = lumos_input_read(window->input, window->bytes + window->length, window->capacity - window->length,
                                     &window->damage);
    if (count > 0 && window->check != NULL) {
      lumos_json_check_feed(window->check, window->bytes + window->length, (size_t)count);
    }
    window->length += count > 0 ? (size_t)count : 0;
    window->ended = count == 0 || (count < 0 && !pass_damage(window));
  }
  memset(window->bytes + window->length, 0, TRACE_WINDOW_SENTINEL);
}

/* Read on, and tell how far. */
static void advance(struct trace_window *window) {
  uint64_t consumed = 0;
  uint64_t size = 0;
  lumos_input_progress(window->input, &consumed, &size);
  window->share = size > 0 ? (double)consumed / (double)size : 0;
  fill(window);
  lumos_input_progress(window->input, &consumed, &size);
  lumos_watch(&window->watcher, window->source, LUMOS_WATCH_BYTES, consumed, size);
}

const char *lumos_trace_window_refill(struct trace_window *window, const char *keep, bool *stuck) {
  size_t place = (size_t)(keep - window->bytes);
  size_t kept = window->length - place;
  *stuck = window->ended || kept >= window->limit;
  if (*stuck) {
    return keep;
  }
  memmove(window->bytes, keep, kept);
  window->offset += place;
  window->length = kept;
  if (kept == window->capacity) {
    window->capacity = kept * 2 < window->limit ? kept * 2 : window->limit;
    window->bytes = lumos_reallocate(window->bytes, window->capacity + TRACE_WINDOW_SENTINEL, 1);
  }
  advance(window);
  return window->bytes;
}
