/* The window: lines are found in place; what is left of the last one moves to the front before more is read behind
 * it. */
#include "stream/lines.h"

#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_WINDOW = 1 << 18 };

/* Room for `capacity` bytes, and zeros behind them that no input overwrites. */
static void set_capacity(struct lumos_lines *lines, size_t capacity) {
  lines->capacity = capacity;
  lines->bytes = lumos_reallocate(lines->bytes, capacity + LUMOS_BEHIND_LINES, 1);
  memset(lines->bytes + capacity, 0, LUMOS_BEHIND_LINES);
}

void lumos_lines_begin(struct lumos_lines *lines, struct lumos_input *input, const char *name) {
  *lines = (struct lumos_lines){.input = input, .name = name};
  set_capacity(lines, FIRST_WINDOW);
  memset(lines->bytes, 0, LUMOS_BEHIND_LINES);
}

void lumos_lines_finish(struct lumos_lines *lines) { free(lines->bytes); }

/* Read once behind what is there. */
static bool fill(struct lumos_lines *lines, struct lumos_error *error) {
  if (lines->start > 0) {
    memmove(lines->bytes, lines->bytes + lines->start, lines->end - lines->start);
    lines->end -= lines->start;
    lines->scanned -= lines->start;
    lines->start = 0;
  }
  if (lines->end == lines->capacity) {
    if (lines->capacity >= LUMOS_LONGEST_LINE) {
      return lumos_fail(error, "%s: line %llu is longer than %zu MiB; no Lumos stream has such a line", lines->name,
                        (unsigned long long)lines->number + 1, LUMOS_LONGEST_LINE >> 20U);
    }
    set_capacity(lines, lines->capacity * 2);
  }
  int64_t got = lumos_input_read(lines->input, lines->bytes + lines->end, lines->capacity - lines->end, error);
  if (got < 0) {
    return false;
  }
  lines->ended = got == 0;
  lines->end += (size_t)got;
  return true;
}

bool lumos_lines_peek(struct lumos_lines *lines, size_t least, const char **bytes, size_t *length,
                      struct lumos_error *error) {
  while (!lines->ended && lines->end - lines->start < least) {
    if (!fill(lines, error)) {
      return false;
    }
  }
  *bytes = lines->bytes + lines->start;
  *length = lines->end - lines->start;
  return true;
}

/* Hand out the bytes up to `end` and go on at `next`. */
static int give(struct lumos_lines *lines, size_t end, size_t next, char **line, size_t *length) {
  lines->bytes[end] = '\0';
  *line = lines->bytes + lines->start;
  *length = end - lines->start;
  lines->start = next;
  lines->scanned = next;
  lines->number++;
  return 1;
}

int lumos_lines_next(struct lumos_lines *lines, char **line, size_t *length, struct lumos_error *error) {
  for (;;) {
    const char *found = memchr(lines->bytes + lines->scanned, '\n', lines->end - lines->scanned);
    if (found != NULL) {
      size_t end = (size_t)(found - lines->bytes);
      lines->whole = true;
      return give(lines, end, end + 1, line, length);
    }
    lines->scanned = lines->end;
    if (lines->ended) {
      lines->whole = false;
      return lines->start == lines->end ? 0 : give(lines, lines->end, lines->end, line, length);
    }
    if (!fill(lines, error)) {
      return -1;
    }
  }
}
