/* An input line by line, through a window that grows to the longest line. */
#ifndef LUMOS_STREAM_LINES_H
#define LUMOS_STREAM_LINES_H

#include "base/input.h"

struct lumos_lines {
  struct lumos_input *input;
  const char *name; /* for messages */
  char *bytes;
  size_t capacity, start, scanned, end; /* bytes[start..end) are unread; before `scanned` there is no line end */
  uint64_t number;                      /* of the last line given */
  bool ended;                           /* the input has no more */
  bool whole;                           /* the last line given had its line end */
};

/* As many bytes can be read behind every line: those of the next one, or nothing of meaning. */
enum { LUMOS_BEHIND_LINES = 32 };

/* A longer line is an error: no record of a real job comes near. */
#define LUMOS_LONGEST_LINE ((size_t)64 << 20U)

void lumos_lines_begin(struct lumos_lines *lines, struct lumos_input *input, const char *name);
void lumos_lines_finish(struct lumos_lines *lines);

/* Look at the first bytes: at least `least`, or all there are. False when reading failed. */
bool lumos_lines_peek(struct lumos_lines *lines, size_t least, const char **bytes, size_t *length,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

/* The next line, NUL-terminated in place of its line end, valid until the next call. 1: there is one, 0: the input
 * is over, -1: an error. */
int lumos_lines_next(struct lumos_lines *lines, char **line, size_t *length,
                     struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
