/* A window that slides over the text of a trace: about 1 MiB of it in memory, NULs behind the last byte: many, so
 * that a reader may load whole words anywhere in the text.
 *
 * What the window cuts (an event, a metadata value) is read again from its start after a refill; something longer than
 * the window makes it grow, up to a limit. A fault near the window's end may be the cut and not damage, so a reader
 * believes a fault only where trace_window_certain says so.
 */
#ifndef LUMOS_TRACE_WINDOW_H
#define LUMOS_TRACE_WINDOW_H

#include "base/input.h"
#include "base/json_check.h"
#include <lumos/error.h>
#include <lumos/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  TRACE_WINDOW_BYTES = 256 * 1024,
  TRACE_WINDOW_LIMIT = 64 * 1024 * 1024, /* the longest event */
  TRACE_WINDOW_SENTINEL = 64,            /* NULs */
};

struct trace_window {
  struct lumos_input *input;
  char *bytes;
  size_t length; /* bytes[length] is the first byte of the sentinel */
  size_t capacity;
  size_t limit;
  size_t margin;   /* how far a reader may look ahead: 16 KiB */
  uint64_t offset; /* of bytes[0] in the text */
  double share;    /* of the file that lay before the last refill; 0: none, or its size is not known */
  bool ended;      /* the text ends with the window */
  bool damaged;    /* ... because reading failed: */
  struct lumos_error damage;
  char fault[96];      /* why, */
  uint64_t damaged_at; /* and where; the text may go on behind it, with a byte between that stands in no trace */
  struct lumos_watcher watcher; /* told of every refill that source has been read so far */
  const char *source;
  struct lumos_json_check *check; /* is fed what is read; NULL: nobody asks */
};

/* `size` and `limit`: TRACE_WINDOW_BYTES and TRACE_WINDOW_LIMIT but in tests (at least 4 KiB). */
void lumos_trace_window_open(struct trace_window *window, struct lumos_input *input, size_t size, size_t limit);
void lumos_trace_window_close(struct trace_window *window);

/* Drop what lies before `keep`, read on, and return where `keep` stands now. When that cannot be (the text has ended,
 * or what follows `keep` has reached the limit) *stuck is set and nothing moves. */
const char *lumos_trace_window_refill(struct trace_window *window, const char *keep, bool *stuck);

/* More than the margin behind `place`, unless the text ends before; returns where `place` stands now. */
static inline const char *trace_window_ensure(struct trace_window *window, const char *place) {
  bool stuck = false;
  bool enough = window->ended || (size_t)(window->bytes + window->length - place) > window->margin;
  return enough ? place : lumos_trace_window_refill(window, place, &stuck);
}

/* May a fault at `place` be the window's end? A cut string or object fails at the cut; a cut number or word fails where
 * it starts, and then nothing but its bytes lies between there and the cut. */
static inline bool trace_window_cuts(const struct trace_window *window, const char *place) {
  static const char token[] = "0123456789+-.eEafilnrstuyIN";
  return place + strspn(place, token) == window->bytes + window->length;
}

/* Is a fault at `place` a fault of the text, not of the window that cuts it? */
static inline bool trace_window_certain(const struct trace_window *window, const char *place) {
  return window->ended || !trace_window_cuts(window, place);
}

static inline bool trace_window_at_end(const struct trace_window *window, const char *place) {
  return window->ended && place == window->bytes + window->length;
}

static inline uint64_t trace_window_byte(const struct trace_window *window, const char *place) {
  return window->offset + (uint64_t)(place - window->bytes);
}

#endif
