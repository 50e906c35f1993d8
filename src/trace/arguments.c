/* The tables of arguments, and the one loop that reads by them. */
#include "trace/arguments.h"

#include "base/ascii.h"
#include <string.h>

const struct trace_arguments lumos_trace_no_arguments = {
    .correlation = LUMOS_ABSENT,
    .sequence = LUMOS_ABSENT,
    .forward_thread = LUMOS_ABSENT,
    .device = LUMOS_ABSENT,
    .in_device = LUMOS_ABSENT,
    .stream = LUMOS_ABSENT,
    .bytes = LUMOS_ABSENT,
    .occupancy = LUMOS_ABSENT,
    .graph_node = LUMOS_ABSENT,
    .wait_stream = LUMOS_ABSENT,
    .device_type = LUMOS_ABSENT,
    .device_id = LUMOS_ABSENT,
    .allocated = LUMOS_ABSENT,
    .reserved = LUMOS_ABSENT,
    .in_elements = LUMOS_ABSENT,
    .out_elements = LUMOS_ABSENT,
    .group_size = LUMOS_ABSENT,
    .source = LUMOS_ABSENT,
    .target = LUMOS_ABSENT,
    .rank_start = LUMOS_ABSENT,
    .rank_stride = LUMOS_ABSENT,
    .comm_bytes = LUMOS_ABSENT,
    .comm_sequence = LUMOS_ABSENT,
    .record_correlation = LUMOS_ABSENT,
};

enum argument_kind { INTEGER, ID, MILLIONTHS_FROM_PERCENT, TEXT };

struct trace_argument {
  const char *key;
  uint8_t length;
  uint8_t kind;
  uint16_t offset; /* in struct trace_arguments */
};

/* X(key, kind, member) for every argument of a kind of rows. */
#define COMM_ARGUMENTS(X)                           \
  X("Collective name", TEXT, collective)            \
  X("In msg nelems", INTEGER, in_elements)          \
  X("Out msg nelems", INTEGER, out_elements)        \
  X("Group size", INTEGER, group_size)              \
  X("dtype", TEXT, dtype)                           \
  X("Process Group Name", TEXT, group)              \
  X("Process Group Description", TEXT, description) \
  X("Process Group Ranks", TEXT, ranks)             \
  X("Seq", INTEGER, comm_sequence)                  \
  X("Comms Id", TEXT, comms_id)                     \
  X("Src Rank", INTEGER, source)                    \
  X("Dst Rank", INTEGER, target)
#define STEP_ARGUMENTS(X) X("finished", TEXT, finished)
#define CALL_ARGUMENTS(X) X("correlation", ID, correlation)
#define METADATA_ARGUMENTS(X) X("name", TEXT, name)
#define OP_ARGUMENTS(X)                       \
  X("Sequence number", INTEGER, sequence)     \
  X("Fwd thread id", INTEGER, forward_thread) \
  X("Input Dims", TEXT, shapes)               \
  X("Input dims", TEXT, shapes)               \
  X("Input type", TEXT, dtypes)               \
  X("finished", TEXT, finished)               \
  X("stream", INTEGER, stream)                \
  COMM_ARGUMENTS(X)                           \
  X("Global rank start", INTEGER, rank_start) \
  X("Global rank stride", INTEGER, rank_stride)
#define DEVICE_ARGUMENTS(X)                                          \
  X("device", INTEGER, device)                                       \
  X("inDevice", INTEGER, in_device)                                  \
  X("stream", INTEGER, stream)                                       \
  X("correlation", ID, correlation)                                  \
  X("bytes", INTEGER, bytes)                                         \
  X("est. achieved occupancy %", MILLIONTHS_FROM_PERCENT, occupancy) \
  X("graph node id", ID, graph_node)                                 \
  X("Lumos bytes", INTEGER, comm_bytes)                              \
  X("Lumos peers", TEXT, peers)                                      \
  COMM_ARGUMENTS(X)
#define SYNC_ARGUMENTS(X)                                        \
  X("cuda_sync_kind", TEXT, sync_kind)                           \
  X("correlation", ID, correlation)                              \
  X("device", INTEGER, device)                                   \
  X("stream", INTEGER, stream)                                   \
  X("wait_on_stream", INTEGER, wait_stream)                      \
  X("wait_on_cuda_event_record_corr_id", ID, record_correlation) \
  X("wait_on_cuda_event_id", TEXT, event)

#define OVERLAY_ARGUMENTS(X)   \
  X("stream", INTEGER, stream) \
  X("correlation", ID, correlation)

#define MEMORY_ARGUMENTS(X)                \
  X("Device Type", INTEGER, device_type)   \
  X("Device Id", INTEGER, device_id)       \
  X("Total Allocated", INTEGER, allocated) \
  X("Total Reserved", INTEGER, reserved)

#define ROW(key, kind, member) {key, sizeof(key) - 1, kind, offsetof(struct trace_arguments, member)},
#define LENGTH(key, kind, member) | UINT64_C(1) << (sizeof(key) - 1)

static const struct trace_argument step_arguments[] = {STEP_ARGUMENTS(ROW)};
static const struct trace_argument call_arguments[] = {CALL_ARGUMENTS(ROW)};
static const struct trace_argument metadata_arguments[] = {METADATA_ARGUMENTS(ROW)};
static const struct trace_argument op_arguments[] = {OP_ARGUMENTS(ROW)};
static const struct trace_argument device_arguments[] = {DEVICE_ARGUMENTS(ROW)};
static const struct trace_argument sync_arguments[] = {SYNC_ARGUMENTS(ROW)};
static const struct trace_argument overlay_arguments[] = {OVERLAY_ARGUMENTS(ROW)};
static const struct trace_argument memory_arguments[] = {MEMORY_ARGUMENTS(ROW)};

#define TABLE(rows, list, kind) \
  { rows, sizeof(rows) / sizeof *(rows), 0 list(LENGTH), kind }

const struct trace_argument_table lumos_trace_arguments_none = {NULL, 0, 0, TRACE_ARGUMENT_KINDS};
const struct trace_argument_table lumos_trace_arguments_of_metadata =
    TABLE(metadata_arguments, METADATA_ARGUMENTS, TRACE_ARGUMENTS_OF_METADATA);
static const struct trace_argument_table table_of_class[] = {
    [TRACE_UNKNOWN] = TABLE(device_arguments, DEVICE_ARGUMENTS, TRACE_ARGUMENTS_OF_DEVICE),
    [TRACE_OVERLAY] = TABLE(overlay_arguments, OVERLAY_ARGUMENTS, TRACE_ARGUMENTS_OF_OVERLAY),
    [TRACE_UNREAD] = {NULL, 0, 0, TRACE_ARGUMENT_KINDS},
    [TRACE_ANNOTATION] = TABLE(step_arguments, STEP_ARGUMENTS, TRACE_ARGUMENTS_OF_STEP),
    [TRACE_OP] = TABLE(op_arguments, OP_ARGUMENTS, TRACE_ARGUMENTS_OF_OP),
    [TRACE_CALL] = TABLE(call_arguments, CALL_ARGUMENTS, TRACE_ARGUMENTS_OF_CALL),
    [TRACE_KERNEL] = TABLE(device_arguments, DEVICE_ARGUMENTS, TRACE_ARGUMENTS_OF_DEVICE),
    [TRACE_COMMAND] = TABLE(device_arguments, DEVICE_ARGUMENTS, TRACE_ARGUMENTS_OF_DEVICE),
    [TRACE_MEMCPY] = TABLE(device_arguments, DEVICE_ARGUMENTS, TRACE_ARGUMENTS_OF_DEVICE),
    [TRACE_MEMSET] = TABLE(device_arguments, DEVICE_ARGUMENTS, TRACE_ARGUMENTS_OF_DEVICE),
    [TRACE_SYNC] = TABLE(sync_arguments, SYNC_ARGUMENTS, TRACE_ARGUMENTS_OF_SYNC),
    [TRACE_MOMENT] = TABLE(memory_arguments, MEMORY_ARGUMENTS, TRACE_ARGUMENTS_OF_MEMORY),
    [TRACE_SESSION] = {NULL, 0, 0, TRACE_ARGUMENT_KINDS},
};
/* What was seen is a bit a row. */
_Static_assert(sizeof op_arguments / sizeof *op_arguments <= 32, "more rows than bits");
_Static_assert(sizeof device_arguments / sizeof *device_arguments <= 32, "more rows than bits");

const struct trace_argument_table *lumos_trace_arguments_of(enum trace_class class) { return &table_of_class[class]; }

bool lumos_trace_read_other(const char **cursor, struct lumos_slice *out) {
  char first = **cursor;
  if (!lumos_json_skip(cursor, first == 'n' ? NULL : out)) {
    return false;
  }
  if (first == '[' || first == '{') {
    unsigned char all = 0;
    for (size_t i = 0; i < out->length; i++) {
      all |= (unsigned char)out->bytes[i];
    }
    out->wide = all >= 0x80;
  }
  return true;
}

/* A number that only names something, of up to 64 bits without a sign: those above int64_t keep their bits. */
static bool read_id(const char **cursor, int64_t *out, bool *lost) {
  const char *start = *cursor;
  if (trace_read_decimal(cursor, 0, out)) {
    return true;
  }
  struct lumos_slice text = {NULL, 0, false, false};
  if (!trace_read_text(cursor, &text)) {
    return false;
  }
  uint64_t id = 0;
  size_t i = 0;
  while (i < text.length && lumos_is_digit(text.bytes[i]) && !__builtin_mul_overflow(id, (uint64_t)10, &id) &&
         !__builtin_add_overflow(id, (uint64_t)(text.bytes[i] - '0'), &id)) {
    i++;
  }
  bool good = text.length > 0 && i == text.length;
  *out = good ? (int64_t)id : *out;
  *lost |= !good && trace_begins_number(start);
  return true;
}

/* Is the number that was read an integer, however it is written? What is none names nothing and counts nothing. */
static bool is_whole(const char *number, const char *end) {
  const char *place = number;
  while (place < end && *place != '.' && (*place | 0x20) != 'e') {
    place++;
  }
  int64_t scaled = 0;
  if (place == end) {
    return true;
  }
  if (lumos_json_scaled(&number, 9, &scaled)) {
    return scaled % 1000000000 == 0;
  }
  return lumos_json_scaled(&number, 3, &scaled) && scaled % 1000 == 0;
}

static bool read_integer(const struct trace_argument *argument, const char **cursor, int64_t *value, bool *lost) {
  const char *start = *cursor;
  int64_t before = *value;
  if (!(argument->kind == ID ? read_id(cursor, value, lost) : trace_read_scaled(cursor, 0, value, lost))) {
    return false;
  }
  if (*value != before && !is_whole(start, *cursor)) {
    *value = before;
    *lost = true;
  }
  return true;
}

static inline bool read_argument(const struct trace_argument *argument, struct trace_lists *lists, const char **cursor,
                                 struct trace_arguments *out) {
  char *target = (char *)out + argument->offset;
  switch (argument->kind) {
    case INTEGER:
    case ID:
      if (trace_read_natural(cursor, (int64_t *)(void *)target)) {
        return true;
      }
      return read_integer(argument, cursor, (int64_t *)(void *)target, &out->lost);
    case MILLIONTHS_FROM_PERCENT:
      return trace_read_scaled(cursor, 4, (int64_t *)(void *)target, &out->lost);
    default:
      return **cursor == '[' ? trace_read_list(lists, cursor, (struct lumos_slice *)(void *)target)
                             : trace_read_text(cursor, (struct lumos_slice *)(void *)target);
  }
}

static bool same_argument(const struct trace_argument *argument, const struct trace_arguments *a,
                          const struct trace_arguments *b) {
  const char *left = (const char *)a + argument->offset;
  const char *right = (const char *)b + argument->offset;
  if (argument->kind == TEXT) {
    return trace_same_text((const struct lumos_slice *)(const void *)left,
                           (const struct lumos_slice *)(const void *)right);
  }
  return *(const int64_t *)(const void *)left == *(const int64_t *)(const void *)right;
}

/* An argument that was there before. */
static bool read_again(const struct trace_argument *argument, struct trace_lists *lists, const char **cursor,
                       struct trace_arguments *out) {
  struct trace_arguments second = lumos_trace_no_arguments;
  if (!read_argument(argument, lists, cursor, &second)) {
    return false;
  }
  out->repeated |= !same_argument(argument, out, &second);
  return true;
}

/* The row of a key, or table->count. Most keys are not wanted, and most of those have a length that no wanted one
 * has. */
static uint8_t row_of(const void *rows, const struct lumos_slice *key) {
  const struct trace_argument_table *table = rows;
  if (key->length >= 64 || (table->lengths >> key->length & 1U) == 0) {
    return (uint8_t)table->count;
  }
  size_t row = 0;
  while (row < table->count && !(table->rows[row].length == key->length && *table->rows[row].key == *key->bytes &&
                                 memcmp(table->rows[row].key, key->bytes, key->length) == 0)) {
    row++;
  }
  return (uint8_t)row;
}

static inline bool skip_argument(struct trace_lists *lists, const char **cursor) {
  struct lumos_slice list;
  return **cursor == '[' ? trace_read_list(lists, cursor, &list) : trace_skip(cursor);
}

bool lumos_trace_read_arguments(const struct trace_argument_table *table, struct trace_keys *keys,
                                struct trace_lists *lists, const char **cursor, struct trace_arguments *out) {
  if (table->count == 0 || **cursor != '{') {
    return lumos_json_skip(cursor, NULL);
  }
  ++*cursor;
  struct trace_key_walk walk = trace_walk_keys(keys, row_of, table);
  uint8_t row = 0;
  int more = 0;
  while ((more = trace_next_key(&walk, cursor, &row)) > 0) {
    if (row == table->count) {
      if (!skip_argument(lists, cursor)) {
        return false;
      }
      continue;
    }
    const struct trace_argument *argument = &table->rows[row];
    bool repeated = (out->seen >> row & 1U) != 0;
    out->seen |= 1U << row;
    if (!(repeated ? read_again(argument, lists, cursor, out) : read_argument(argument, lists, cursor, out))) {
      return false;
    }
  }
  return more == 0;
}

void lumos_trace_forget_arguments(const struct trace_argument_table *table, struct trace_arguments *out) {
  for (uint32_t seen = out->seen; seen != 0; seen &= seen - 1) {
    const struct trace_argument *argument = &table->rows[__builtin_ctz(seen)];
    char *target = (char *)out + argument->offset;
    if (argument->kind == TEXT) {
      *(struct lumos_slice *)(void *)target = (struct lumos_slice){NULL, 0, false, false};
    } else {
      *(int64_t *)(void *)target = LUMOS_ABSENT;
    }
  }
  out->seen = 0;
  out->lost = false;
  out->repeated = false;
}
