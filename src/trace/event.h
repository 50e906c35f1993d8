/* One event of a trace: its members in one pass, kept as a row. */
#ifndef LUMOS_TRACE_EVENT_H
#define LUMOS_TRACE_EVENT_H

#include "trace/arguments.h"
#include "trace/keys.h"
#include "trace/raw.h"
#include "trace/timelines.h"

enum trace_outcome {
  TRACE_GOOD,
  TRACE_INVALID, /* valid JSON, no valid event: *reason says why, the cursor stands behind it */
  TRACE_FAULT,   /* no valid JSON: the cursor stands at the fault, nothing was kept */
};

/* What is to be said of an event that was kept, though not as it was recorded. */
enum {
  TRACE_LOST = 1U,     /* a number in it cannot be used */
  TRACE_REPLACED = 2U, /* a text held bytes that are no UTF-8, or escapes that JSON lacks */
};

enum { TRACE_KNOWN_CATEGORIES = 8 };

struct trace_reader {
  struct trace *trace;
  const struct trace_screen_place *place; /* of the row in work, in a file that Lumos wrote; else NULL */
  bool stacks;                            /* keep python_function rows */
  bool first;                             /* the event in work is the first one of its list */
  unsigned remarks;                       /* on the event that was read last */
  /* The lanes of the rows before: most rows share them. */
  char thread_text[64];
  size_t process_length, thread_length;
  uint32_t thread_lane; /* LUMOS_NONE before the first */
  unsigned thread_remarks;
  int64_t device, stream;
  uint32_t stream_lane;
  struct trace_known_category {
    struct trace_seen seen; /* with the quotes around it */
    uint8_t class;
  } categories[TRACE_KNOWN_CATEGORIES]; /* by the first bytes */
  struct trace_lists *lists;
  LUMOS_VECTOR(char) scratch;    /* decoded text */
  struct trace_arguments values; /* of the event in work, all absent between events */
  struct trace_keys member_keys, argument_keys[TRACE_ARGUMENT_KINDS];
  struct trace_keys passed_keys[2];  /* of events that are not kept: ends of flows, all others */
  struct trace_keys skipped_keys[2]; /* of arguments that nobody reads: of marks, of rows */
};

void lumos_trace_reader_init(struct trace_reader *reader, struct trace *trace, bool stacks);
void lumos_trace_reader_clear(struct trace_reader *reader);

/* Does an event stand here, whole? The cursor is moved behind it, or to the fault. Nothing is kept. */
bool lumos_trace_is_event(const char **cursor);

/* Read the object at *cursor. */
enum trace_outcome lumos_trace_event(struct trace_reader *reader, const char **cursor, const char **reason);

#endif
