/* What stands in an event's "args": which of it matters depends on what the row is, so each class has a table. All else
 * is skipped without a look.
 */
#ifndef LUMOS_TRACE_ARGUMENTS_H
#define LUMOS_TRACE_ARGUMENTS_H

#include "base/ascii.h"
#include "base/json.h"
#include "trace/keys.h"
#include "trace/lists.h"
#include "trace/raw.h"
#include "trace/values.h"
#include <string.h>

/* Every argument that some class wants. Numbers: LUMOS_ABSENT, text: NULL bytes, while there is none. */
struct trace_arguments {
  int64_t correlation, sequence, forward_thread;
  int64_t device, in_device, stream, bytes;
  int64_t occupancy; /* millionths */
  int64_t graph_node;
  int64_t wait_stream, record_correlation;
  int64_t device_type, device_id, allocated, reserved;
  int64_t in_elements, out_elements, group_size, comm_sequence, source, target, rank_start, rank_stride, comm_bytes;
  struct lumos_slice shapes, dtypes, finished;
  struct lumos_slice sync_kind, event;
  struct lumos_slice collective, group, description, ranks, comms_id, dtype, peers;
  struct lumos_slice name;
  bool lost;     /* something that should be a number is none that can be used */
  bool repeated; /* an argument stands twice, with two values */
  uint32_t seen; /* rows of the table that were read: a bit each */
};
extern const struct trace_arguments lumos_trace_no_arguments;

/* The tables that differ. */
enum trace_argument_kind {
  TRACE_ARGUMENTS_OF_STEP,
  TRACE_ARGUMENTS_OF_CALL,
  TRACE_ARGUMENTS_OF_METADATA,
  TRACE_ARGUMENTS_OF_OP,
  TRACE_ARGUMENTS_OF_DEVICE,
  TRACE_ARGUMENTS_OF_SYNC,
  TRACE_ARGUMENTS_OF_OVERLAY,
  TRACE_ARGUMENTS_OF_MEMORY,
  TRACE_ARGUMENT_KINDS
};

struct trace_argument;
struct trace_argument_table {
  const struct trace_argument *rows;
  size_t count;
  uint64_t lengths; /* of the rows' keys: a bit each */
  enum trace_argument_kind kind;
};
extern const struct trace_argument_table lumos_trace_arguments_none, lumos_trace_arguments_of_metadata;
/* Those of a row of this class. */
const struct trace_argument_table *lumos_trace_arguments_of(enum trace_class class);

/* Read the object at *cursor into *out, where all is absent. A value of another type than expected is skipped. False at
 * a fault. `keys`: those of the objects that were read by this table before; `lists`: those of all. */
bool lumos_trace_read_arguments(const struct trace_argument_table *table, struct trace_keys *keys,
                                struct trace_lists *lists, const char **cursor, struct trace_arguments *out);
/* Make absent again what was read by this table. */
void lumos_trace_forget_arguments(const struct trace_argument_table *table, struct trace_arguments *out);

/* The text of a value that is no string; null is none and leaves *out as it is. */
bool lumos_trace_read_other(const char **cursor, struct lumos_slice *out);

/* A string's content, or the text of any other value. */
static inline bool trace_read_text(const char **cursor, struct lumos_slice *out) {
  if (**cursor == '"') {
    return trace_read_string(cursor, out);
  }
  const char *end = trace_integer_end(*cursor);
  if (end == NULL) {
    return lumos_trace_read_other(cursor, out);
  }
  *out = (struct lumos_slice){*cursor, (size_t)(end - *cursor), false, false};
  *cursor = end;
  return true;
}

static inline bool trace_same_text(const struct lumos_slice *a, const struct lumos_slice *b) {
  return a->length == b->length && (a->length == 0 || memcmp(a->bytes, b->bytes, a->length) == 0);
}

/* Does a number begin here, be it out of range or NaN? Text and null in a number's place are left out on purpose. */
static inline bool trace_begins_number(const char *value) {
  return lumos_is_digit(*value) || *value == '-' || *value == 'N' || *value == 'I' || *value == 'i' ||
         (value[0] == 'n' && value[1] == 'a');
}

/* A number times 10^scale; any other value is skipped and leaves *out as it is. *lost is set where it is a number that
 * cannot be used. */
static inline bool trace_read_scaled(const char **cursor, unsigned scale, int64_t *out, bool *lost) {
  if (trace_read_decimal(cursor, scale, out)) {
    return true;
  }
  *lost |= trace_begins_number(*cursor);
  return lumos_json_skip(cursor, NULL);
}

#endif
