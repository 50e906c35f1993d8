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
    .in_elements = LUMOS_ABSENT,
    .out_elements = LUMOS_ABSENT,
    .group_size = LUMOS_ABSENT,
    .source = LUMOS_ABSENT,
    .target = LUMOS_ABSENT,
    .rank_start = LUMOS_ABSENT,
    .rank_stride = LUMOS_ABSENT,
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

#define ARGUMENT(key, kind, member) \
  { key, sizeof(key) - 1, kind, offsetof(struct trace_arguments, member) }

#define COMM_ARGUMENTS                                                                                        \
  ARGUMENT("Collective name", TEXT, collective), ARGUMENT("In msg nelems", INTEGER, in_elements),             \
      ARGUMENT("Out msg nelems", INTEGER, out_elements), ARGUMENT("Group size", INTEGER, group_size),         \
      ARGUMENT("dtype", TEXT, dtype), ARGUMENT("Process Group Name", TEXT, group),                            \
      ARGUMENT("Process Group Description", TEXT, description), ARGUMENT("Process Group Ranks", TEXT, ranks), \
      ARGUMENT("Seq", INTEGER, comm_sequence), ARGUMENT("Comms Id", TEXT, comms_id),                          \
      ARGUMENT("Src Rank", INTEGER, source), ARGUMENT("Dst Rank", INTEGER, target)

static const struct trace_argument step_arguments[] = {ARGUMENT("finished", TEXT, finished)};
static const struct trace_argument call_arguments[] = {ARGUMENT("correlation", ID, correlation)};
static const struct trace_argument metadata_arguments[] = {ARGUMENT("name", TEXT, name)};
static const struct trace_argument op_arguments[] = {
    ARGUMENT("Sequence number", INTEGER, sequence),
    ARGUMENT("Fwd thread id", INTEGER, forward_thread),
    ARGUMENT("Input Dims", TEXT, shapes),
    ARGUMENT("Input dims", TEXT, shapes),
    ARGUMENT("Input type", TEXT, dtypes),
    ARGUMENT("finished", TEXT, finished),
    COMM_ARGUMENTS,
    ARGUMENT("Global rank start", INTEGER, rank_start),
    ARGUMENT("Global rank stride", INTEGER, rank_stride),
};
static const struct trace_argument device_arguments[] = {
    ARGUMENT("device", INTEGER, device),
    ARGUMENT("inDevice", INTEGER, in_device),
    ARGUMENT("stream", INTEGER, stream),
    ARGUMENT("correlation", ID, correlation),
    ARGUMENT("bytes", INTEGER, bytes),
    ARGUMENT("est. achieved occupancy %", MILLIONTHS_FROM_PERCENT, occupancy),
    ARGUMENT("graph node id", ID, graph_node),
    COMM_ARGUMENTS,
};
static const struct trace_argument sync_arguments[] = {
    ARGUMENT("cuda_sync_kind", TEXT, sync_kind),
    ARGUMENT("correlation", ID, correlation),
    ARGUMENT("device", INTEGER, device),
    ARGUMENT("stream", INTEGER, stream),
    ARGUMENT("wait_on_stream", INTEGER, wait_stream),
    ARGUMENT("wait_on_cuda_event_record_corr_id", ID, record_correlation),
    ARGUMENT("wait_on_cuda_event_id", TEXT, event),
};

#define TABLE(rows) \
  { rows, sizeof(rows) / sizeof *(rows) }

const struct trace_argument_table lumos_trace_arguments_none = {NULL, 0};
const struct trace_argument_table lumos_trace_arguments_of_metadata = TABLE(metadata_arguments);
static const struct trace_argument_table table_of_class[] = {
    [TRACE_ANNOTATION] = TABLE(step_arguments), [TRACE_OP] = TABLE(op_arguments),
    [TRACE_CALL] = TABLE(call_arguments),       [TRACE_KERNEL] = TABLE(device_arguments),
    [TRACE_MEMCPY] = TABLE(device_arguments),   [TRACE_MEMSET] = TABLE(device_arguments),
    [TRACE_SYNC] = TABLE(sync_arguments),       [TRACE_SESSION] = {NULL, 0},
};

const struct trace_argument_table *lumos_trace_arguments_of(enum trace_class class) { return &table_of_class[class]; }

/* A number that only names something, of up to 64 bits without a sign: those above int64_t keep their bits. */
static bool read_id(const char **cursor, int64_t *out) {
  if (lumos_json_scaled(cursor, 0, out)) {
    return true;
  }
  struct lumos_slice text = {NULL, 0, false};
  if (!trace_read_text(cursor, &text)) {
    return false;
  }
  uint64_t id = 0;
  size_t i = 0;
  while (i < text.length && lumos_is_digit(text.bytes[i]) && !__builtin_mul_overflow(id, (uint64_t)10, &id) &&
         !__builtin_add_overflow(id, (uint64_t)(text.bytes[i] - '0'), &id)) {
    i++;
  }
  *out = text.length > 0 && i == text.length ? (int64_t)id : *out;
  return true;
}

static bool read_argument(const struct trace_argument *argument, const char **cursor, struct trace_arguments *out) {
  char *target = (char *)out + argument->offset;
  switch (argument->kind) {
    case INTEGER:
      return trace_read_scaled(cursor, 0, (int64_t *)(void *)target);
    case ID:
      return read_id(cursor, (int64_t *)(void *)target);
    case MILLIONTHS_FROM_PERCENT:
      return trace_read_scaled(cursor, 4, (int64_t *)(void *)target);
    default:
      return trace_read_text(cursor, (struct lumos_slice *)(void *)target);
  }
}

bool lumos_trace_read_arguments(const struct trace_argument_table *table, const char **cursor,
                                struct trace_arguments *out) {
  struct lumos_json_members members;
  struct lumos_slice key;
  if (table->count == 0 || !lumos_json_open(cursor, '{', &members)) {
    return lumos_json_skip(cursor, NULL);
  }
  int more = 0;
  while ((more = lumos_json_key(cursor, &members, &key)) > 0) {
    const struct trace_argument *found = NULL;
    for (size_t i = 0; i < table->count; i++) {
      if (table->rows[i].length == key.length && memcmp(table->rows[i].key, key.bytes, key.length) == 0) {
        found = &table->rows[i];
        break;
      }
    }
    if (!(found != NULL ? read_argument(found, cursor, out) : lumos_json_skip(cursor, NULL))) {
      return false;
    }
  }
  return more == 0;
}
