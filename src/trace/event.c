/* One event, read key by key, becomes a row. Nothing is kept before the whole event has been read: the window may have
 * cut it.
 */
#include "trace/event.h"

#include "base/text.h"
#include "base/utf8.h"
#include "trace/arguments.h"
#include <stdlib.h>
#include <string.h>

struct category {
  const char *name;
  uint8_t length;
  uint8_t class;
};
#define CATEGORY(name, class) \
  { name, sizeof(name) - 1, class }

/* The most frequent ones first: every event looks its own up. */
static const struct category categories[] = {
    CATEGORY("cpu_op", TRACE_OP),
    CATEGORY("cuda_runtime", TRACE_CALL),
    CATEGORY("kernel", TRACE_KERNEL),
    CATEGORY("python_function", TRACE_PYTHON),
    CATEGORY("cuda_driver", TRACE_CALL),
    CATEGORY("gpu_memcpy", TRACE_MEMCPY),
    CATEGORY("gpu_memset", TRACE_MEMSET),
    CATEGORY("user_annotation", TRACE_ANNOTATION),
    CATEGORY("cuda_sync", TRACE_SYNC),
    CATEGORY("gpu_user_annotation", TRACE_OVERLAY),
    CATEGORY("overhead", TRACE_OVERLAY),
    CATEGORY("cpu_instant_event", TRACE_MOMENT),
    CATEGORY("Trace", TRACE_SESSION),

    /* as they were spelled from 2020 to 2022 */
    CATEGORY("Operator", TRACE_OP),
    CATEGORY("Runtime", TRACE_CALL),
    CATEGORY("Kernel", TRACE_KERNEL),
    CATEGORY("Memcpy", TRACE_MEMCPY),
    CATEGORY("Memset", TRACE_MEMSET),

    /* other accelerators: what is not theirs alone they call as CUDA does */
    CATEGORY("xpu_runtime", TRACE_CALL),
    CATEGORY("xpu_driver", TRACE_CALL),
    CATEGORY("collective_comm", TRACE_OP),
    CATEGORY("mtia_runtime", TRACE_CALL),
    CATEGORY("mtia_ccp_events", TRACE_COMMAND),
    CATEGORY("hpu_op", TRACE_CALL),
    CATEGORY("glow_runtime", TRACE_CALL),
    CATEGORY("privateuse1_runtime", TRACE_CALL),
    CATEGORY("privateuse1_driver", TRACE_CALL),

    CATEGORY("cuda_event", TRACE_OVERLAY),
    CATEGORY("cuda_profiler_range", TRACE_OVERLAY),
    CATEGORY("external_correlation", TRACE_OVERLAY),
    CATEGORY("lumos_simulated", TRACE_OVERLAY),
    CATEGORY("mtia_insight", TRACE_UNREAD),
    CATEGORY("mtia_counters", TRACE_UNREAD),
    CATEGORY("xpu_sync", TRACE_UNREAD),
    CATEGORY("xpu_scope_profiler", TRACE_UNREAD),
    CATEGORY("hardware_counters", TRACE_UNREAD),
};

/* One event's own members. */
struct fields {
  char phase;
  uint8_t class;
  bool passed_over; /* the phase is one of those that are not kept */
  bool repeated;    /* a member stands twice, with two values */
  bool lost;        /* a time is a number that cannot be used */
  bool lost_place;  /* pid or tid is none */
  struct lumos_slice category, name, process, thread;
  int64_t start, duration;
  const char *arguments;                    /* read later, because what the row is was not known yet */
  const struct trace_argument_table *table; /* what of them was read, NULL: nothing */
  const struct trace_arguments *values;
};

void lumos_trace_reader_init(struct trace_reader *reader, struct trace *trace, bool stacks) {
  *reader = (struct trace_reader){.trace = trace,
                                  .stacks = stacks,
                                  .thread_lane = LUMOS_NONE,
                                  .device = LUMOS_ABSENT,
                                  .lists = lumos_allocate_zeroed(1, sizeof *reader->lists),
                                  .values = lumos_trace_no_arguments};
}

void lumos_trace_reader_clear(struct trace_reader *reader) {
  lumos_vector_free(&reader->scratch);
  free(reader->lists);
}

/* Member by member: clearing all bytes at once takes as long as reading a short event. */
static void begin_fields(struct fields *fields) {
  static const struct lumos_slice absent = {NULL, 0, false, false};
  fields->phase = 0;
  fields->class = TRACE_UNKNOWN;
  fields->passed_over = fields->repeated = fields->lost = fields->lost_place = false;
  fields->category = fields->name = fields->process = fields->thread = absent;
  fields->start = fields->duration = LUMOS_ABSENT;
  fields->arguments = NULL;
  fields->table = NULL;
  fields->values = &lumos_trace_no_arguments;
}

static uint8_t class_of_category(const struct lumos_slice *text) {
  char decoded[64];
  const struct lumos_slice plain = {decoded, 0, false, false};
  if (text->escaped && text->length <= sizeof decoded) {
    struct lumos_slice decoded_text = plain;
    decoded_text.length = lumos_json_decode(text, decoded, NULL);
    return class_of_category(&decoded_text);
  }
  for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
    if (categories[i].length == text->length && memcmp(categories[i].name, text->bytes, text->length) == 0) {
      return categories[i].class;
    }
  }
  return TRACE_UNKNOWN;
}

/* Which arguments this event needs; NULL while that is not known. */
static const struct trace_argument_table *wanted_arguments(const struct fields *fields) {
  if (fields->phase == 'M') {
    return &lumos_trace_arguments_of_metadata;
  }
  if (fields->phase == 'X' && fields->category.bytes != NULL) {
    return lumos_trace_arguments_of(fields->class);
  }
  if (fields->phase == 'i') { /* memory */
    return fields->category.bytes == NULL  ? NULL
           : fields->class == TRACE_MOMENT ? lumos_trace_arguments_of(TRACE_MOMENT)
                                           : &lumos_trace_arguments_none;
  }
  return fields->phase == 0 || fields->phase == 'X' ? NULL : &lumos_trace_arguments_none;
}

static uint8_t no_row_of(const void *rows, const struct lumos_slice *key) {
  (void)rows;
  (void)key;
  return 0;
}

/* Arguments that nobody reads: key by key, for keys come again; all at once where a value is more than a leaf, or where
 * something is wrong, for there is more than one way to be right. */
static bool skip_arguments(struct trace_keys *keys, const char **cursor) {
  const char *start = *cursor;
  if (*start != '{') {
    return lumos_json_skip(cursor, NULL);
  }
  ++*cursor;
  struct trace_key_walk walk = trace_walk_keys(keys, no_row_of, NULL);
  uint8_t row = 0;
  int more = 0;
  while ((more = trace_next_key(&walk, cursor, &row)) > 0 && **cursor != '{' && **cursor != '[' && trace_skip(cursor)) {
  }
  if (more == 0) {
    return true;
  }
  *cursor = start;
  return lumos_json_skip(cursor, NULL);
}

static bool read_arguments(struct trace_reader *reader, struct fields *fields, const struct trace_argument_table *table,
                           const char **cursor) {
  if (table->count == 0) {
    return skip_arguments(&reader->skipped_keys[fields->phase == 'X'], cursor);
  }
  fields->table = table;
  fields->values = &reader->values;
  return lumos_trace_read_arguments(table, &reader->argument_keys[table->kind], reader->lists, cursor, &reader->values);
}

static bool read_arguments_now_or_later(struct trace_reader *reader, struct fields *fields, const char **cursor) {
  if (fields->arguments != NULL || fields->table != NULL) {
    fields->repeated = true;
    return lumos_json_skip(cursor, NULL);
  }
  const struct trace_argument_table *table = wanted_arguments(fields);
  if (table != NULL) {
    return read_arguments(reader, fields, table, cursor);
  }
  fields->arguments = *cursor;
  return lumos_json_skip(cursor, NULL);
}

/* Two values for one key are what is left of two events where the text between them is lost; which of them holds is not
 * known. */

static bool read_text_again(struct fields *fields, const struct lumos_slice *member, const char **cursor) {
  struct lumos_slice second = *member;
  if (!trace_read_text(cursor, &second)) {
    return false;
  }
  fields->repeated |= !trace_same_text(member, &second);
  return true;
}

static bool read_time_again(struct fields *fields, int64_t member, const char **cursor) {
  int64_t second = member;
  if (!trace_read_scaled(cursor, 3, &second, &fields->lost)) {
    return false;
  }
  fields->repeated |= member != second;
  return true;
}

static bool read_category(struct trace_reader *reader, struct fields *fields, const char **cursor) {
  struct lumos_slice *category = &fields->category;
  if (category->bytes != NULL) {
    return read_text_again(fields, category, cursor);
  }
  const char *start = *cursor;
  struct trace_known_category *known =
      &reader->categories[lumos_load_eight(start) * UINT64_C(0x9E3779B97F4A7C15) >> 32U & (TRACE_KNOWN_CATEGORIES - 1)];
  if (trace_stands(&known->seen, start)) {
    *category = (struct lumos_slice){start + 1, known->seen.length - 2, false, false};
    fields->class = known->class;
    *cursor += known->seen.length;
    return true;
  }
  if (!trace_read_text(cursor, category)) {
    return false;
  }
  fields->class = category->bytes != NULL ? class_of_category(category) : TRACE_UNKNOWN;
  if (*start == '"' && !category->escaped && !category->wide) {
    lumos_trace_see(&known->seen, start, (size_t)(*cursor - start));
    known->class = fields->class;
  }
  return true;
}

/* The phases of Chrome's format. No row is made of flows, counters, marks and the like. */
enum { UNKNOWN_PHASE, PASSED_OVER, KEPT };
static const uint8_t use_of_phase[256] = {
    ['X'] = KEPT,        ['i'] = KEPT,        ['I'] = KEPT,        ['M'] = KEPT,        ['B'] = PASSED_OVER,
    ['E'] = PASSED_OVER, ['b'] = PASSED_OVER, ['n'] = PASSED_OVER, ['e'] = PASSED_OVER, ['s'] = PASSED_OVER,
    ['t'] = PASSED_OVER, ['f'] = PASSED_OVER, ['S'] = PASSED_OVER, ['T'] = PASSED_OVER, ['p'] = PASSED_OVER,
    ['F'] = PASSED_OVER, ['C'] = PASSED_OVER, ['P'] = PASSED_OVER, ['N'] = PASSED_OVER, ['O'] = PASSED_OVER,
    ['D'] = PASSED_OVER, ['v'] = PASSED_OVER, ['V'] = PASSED_OVER, ['R'] = PASSED_OVER, ['c'] = PASSED_OVER,
    ['a'] = PASSED_OVER, ['('] = PASSED_OVER, [')'] = PASSED_OVER,
};

static bool read_phase(struct fields *fields, const char **cursor) {
  struct lumos_slice text = {NULL, 0, false, false};
  if (!trace_read_text(cursor, &text)) {
    return false;
  }
  char phase = '?';
  if (text.length == 1) {
    phase = text.bytes[0];
  }
  uint8_t use = use_of_phase[(unsigned char)phase];
  if (use == UNKNOWN_PHASE) {
    phase = '?';
  }
  fields->repeated |= fields->phase != 0 && fields->phase != phase;
  fields->phase = phase;
  fields->passed_over = use == PASSED_OVER;
  return true;
}

static inline bool read_text(struct fields *fields, struct lumos_slice *member, const char **cursor) {
  return member->bytes == NULL ? trace_read_text(cursor, member) : read_text_again(fields, member, cursor);
}

/* A process or a thread, as text or a number; a word that stands for no number names neither. */
static inline bool read_place(struct fields *fields, struct lumos_slice *member, const char **cursor) {
  const char *value = *cursor;
  bool word = (*value > '9' || (*value == '-' && value[1] > '9')) && trace_begins_number(value);
  if (!read_text(fields, member, cursor)) {
    return false;
  }
  if (word) {
    *member = (struct lumos_slice){NULL, 0, false, false};
    fields->lost_place = true;
  }
  return true;
}

static inline bool read_time(struct fields *fields, int64_t *member, const char **cursor) {
  return *member == LUMOS_ABSENT ? trace_read_scaled(cursor, 3, member, &fields->lost)
                                 : read_time_again(fields, *member, cursor);
}

/* The members that are read; OTHER ones are skipped. */
enum member { OTHER, PHASE, CATEGORY_NAME, NAME, PROCESS, THREAD, START, DURATION, ARGUMENTS };

static uint8_t member_of(const void *rows, const struct lumos_slice *key) {
  static const struct {
    char key[5];
    uint8_t member;
  } members[] = {{"ph", PHASE},   {"cat", CATEGORY_NAME}, {"name", NAME},    {"pid", PROCESS},
                 {"tid", THREAD}, {"ts", START},          {"dur", DURATION}, {"args", ARGUMENTS}};
  (void)rows;
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    if (strlen(members[i].key) == key->length && memcmp(members[i].key, key->bytes, key->length) == 0) {
      return members[i].member;
    }
  }
  return OTHER;
}

static inline bool read_member(struct trace_reader *reader, struct fields *fields, uint8_t member,
                               const char **cursor) {
  switch (member) {
    case PHASE:
      return read_phase(fields, cursor);
    case CATEGORY_NAME:
      return read_category(reader, fields, cursor);
    case NAME:
      return read_text(fields, &fields->name, cursor);
    case PROCESS:
      return read_place(fields, &fields->process, cursor);
    case THREAD:
      return read_place(fields, &fields->thread, cursor);
    case START:
      return read_time(fields, &fields->start, cursor);
    case DURATION:
      return read_time(fields, &fields->duration, cursor);
    case ARGUMENTS:
      return read_arguments_now_or_later(reader, fields, cursor);
    default:
      return trace_skip(cursor);
  }
}

/* The rest of an event that is not kept needs no look, but for its keys: others than its like have may be those of
 * another event that is lost in it. *suspect, then. */
static bool pass_over(struct trace_reader *reader, const struct fields *fields, const char **cursor, bool *suspect) {
  struct trace_keys *keys = &reader->passed_keys[fields->phase == 'f'];
  struct trace_key_walk walk = trace_walk_further(keys, member_of, NULL);
  uint8_t member = OTHER;
  int more = 0;
  while ((more = trace_next_key(&walk, cursor, &member)) > 0 && trace_skip(cursor)) {
  }
  *suspect = more == 0 && walk.learned;
  if (more != 0 && walk.learned) {
    lumos_trace_forget_keys(keys); /* nobody has looked at them */
  }
  return more == 0;
}

/* `all`: also those of an event that is not kept, which else are passed over; *suspect: see there. */
static bool read_fields(struct trace_reader *reader, struct fields *fields, const char **cursor, bool all,
                        bool *suspect) {
  struct trace_key_walk walk = trace_walk_keys(&reader->member_keys, member_of, NULL);
  if (**cursor != '{') {
    return false;
  }
  ++*cursor;
  uint8_t member = OTHER;
  int more = 0;
  while ((more = trace_next_key(&walk, cursor, &member)) > 0) {
    if (!read_member(reader, fields, member, cursor)) {
      return false;
    }
    if (fields->passed_over && !all) {
      return pass_over(reader, fields, cursor, suspect);
    }
  }
  if (more == 0 && fields->arguments != NULL) {
    const struct trace_argument_table *table = fields->phase == 'X'
                                                   ? lumos_trace_arguments_of(fields->class) /* also of none */
                                                   : wanted_arguments(fields);
    const char *arguments = fields->arguments;
    return table == NULL || read_arguments(reader, fields, table, &arguments);
  }
  return more == 0;
}

bool lumos_trace_is_event(const char **cursor) {
  struct lumos_json_members members;
  struct lumos_slice key;
  bool phase = false;
  int more = lumos_json_open(cursor, '{', &members) ? 1 : -1;
  while (more > 0 && (more = lumos_json_key(cursor, &members, &key)) > 0) {
    phase |= lumos_json_is(&key, "ph");
    more = lumos_json_skip(cursor, NULL) ? 1 : -1;
  }
  return more == 0 && phase;
}

/* Text that is not written as it is meant: escapes are decoded, and what is no UTF-8 is replaced. So is U+0000, at
 * which text would end: names that differ behind it would be one. */
static lumos_string_id intern_rewritten(struct trace_reader *reader, const struct lumos_slice *text) {
  const char *bytes = text->bytes;
  size_t length = text->length;
  bool good = true;
  if (text->escaped) {
    lumos_vector_reserve(&reader->scratch, text->length);
    length = lumos_json_decode(text, reader->scratch.items, &good);
    bytes = reader->scratch.items;
  }
  if (!good) {
    reader->remarks |= TRACE_REPLACED;
  }
  if (lumos_utf8_valid(bytes, length) && memchr(bytes, '\0', length) == NULL) {
    return lumos_intern(reader->trace->strings, bytes, length);
  }
  reader->remarks |= TRACE_REPLACED;
  struct lumos_text valid = LUMOS_TEXT_BUFFER;
  lumos_text_valid_utf8(&valid, bytes, length);
  lumos_string_id id = lumos_intern(reader->trace->strings, valid.bytes, valid.length);
  lumos_text_free(&valid);
  return id;
}

static lumos_string_id intern(struct trace_reader *reader, const struct lumos_slice *text) {
  if (text->bytes == NULL) {
    return LUMOS_NO_STRING;
  }
  return text->escaped || text->wide ? intern_rewritten(reader, text)
                                     : lumos_intern(reader->trace->strings, text->bytes, text->length);
}

/* Of an exporter that laid its lists out on several lines: as Kineto writes them, "[[2, 3]]". */
static lumos_string_id intern_shapes(struct trace_reader *reader, const struct lumos_slice *text) {
  if (text->bytes == NULL || memchr(text->bytes, '\n', text->length) == NULL) {
    return intern(reader, text);
  }
  struct lumos_text compact = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < text->length; i++) {
    if (text->bytes[i] > ' ') {
      lumos_text_char(&compact, text->bytes[i]);
      lumos_text_put(&compact, text->bytes[i] == ',' ? " " : "");
    }
  }
  const struct lumos_slice slice = {compact.bytes, compact.length, text->escaped, text->wide};
  lumos_string_id id = intern(reader, &slice);
  lumos_text_free(&compact);
  return id;
}

static uint32_t thread_lane(struct trace_reader *reader, const struct lumos_slice *process,
                            const struct lumos_slice *thread) {
  if (reader->place != NULL) {
    return reader->place->lane;
  }
  bool fits = process->length + thread->length <= sizeof reader->thread_text;
  bool known = reader->thread_lane != LUMOS_NONE; /* else an empty pid and tid would be those of no row */
  if (fits && known && process->length == reader->process_length && thread->length == reader->thread_length &&
      memcmp(reader->thread_text, process->bytes, process->length) == 0 &&
      memcmp(reader->thread_text + process->length, thread->bytes, thread->length) == 0) {
    reader->remarks |= reader->thread_remarks;
    return reader->thread_lane;
  }
  unsigned remarks = reader->remarks;
  reader->remarks = 0;
  lumos_string_id owner = process->length > 0 ? intern(reader, process) : LUMOS_NO_STRING;
  uint32_t lane = lumos_trace_lane(reader->trace, LUMOS_THREAD, owner, intern(reader, thread));
  if (fits) {
    memcpy(reader->thread_text, process->bytes, process->length);
    memcpy(reader->thread_text + process->length, thread->bytes, thread->length);
    reader->process_length = process->length;
    reader->thread_length = thread->length;
    reader->thread_lane = lane;
    reader->thread_remarks = reader->remarks;
  }
  reader->remarks |= remarks;
  return lane;
}

static lumos_string_id intern_integer(struct trace_reader *reader, int64_t value) {
  char digits[24];
  char *end = digits + sizeof digits;
  char *start = end;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    *--start = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  if (value < 0) {
    *--start = '-';
  }
  return lumos_intern(reader->trace->strings, start, (size_t)(end - start));
}

/* Of a copy between devices, which has no `device`, the one that it was recorded on. */
static int64_t device_of(const struct trace_arguments *values) {
  return values->device != LUMOS_ABSENT ? values->device : values->in_device;
}

static uint32_t device_lane(struct trace_reader *reader, const struct fields *fields) {
  const struct trace_arguments *values = fields->values;
  if (reader->place != NULL) {
    return reader->place->lane;
  }
  int64_t device = device_of(values);
  if (device != LUMOS_ABSENT && values->stream != LUMOS_ABSENT) {
    if (reader->device != device || reader->stream != values->stream) {
      reader->device = device;
      reader->stream = values->stream;
      reader->stream_lane = lumos_trace_lane(reader->trace, LUMOS_STREAM, intern_integer(reader, device),
                                             intern_integer(reader, values->stream));
    }
    return reader->stream_lane;
  }
  lumos_string_id process = device != LUMOS_ABSENT ? intern_integer(reader, device) : intern(reader, &fields->process);
  lumos_string_id native =
      values->stream != LUMOS_ABSENT ? intern_integer(reader, values->stream) : intern(reader, &fields->thread);
  return lumos_trace_lane(reader->trace, LUMOS_STREAM, process, native);
}

static int32_t thread_number(int64_t value) { return value > 0 && value <= INT32_MAX ? (int32_t)value : value > 0; }

/* A count or a size that the stream can write; absent else. */
static int64_t natural(int64_t value) { return value >= 0 && value < INT64_C(1) << 53U ? value : LUMOS_ABSENT; }

static uint32_t keep_comm(struct trace_reader *reader, const struct trace_arguments *values) {
  if (values->collective.bytes == NULL) {
    return LUMOS_NONE;
  }
  struct trace *trace = reader->trace;
  lumos_vector_push(&trace->comms, ((struct trace_comm){
                                       .collective = intern(reader, &values->collective),
                                       .group = intern(reader, &values->group),
                                       .description = intern(reader, &values->description),
                                       .ranks = intern(reader, &values->ranks),
                                       .comms_id = intern(reader, &values->comms_id),
                                       .dtype = intern(reader, &values->dtype),
                                       .in_elements = values->in_elements,
                                       .out_elements = values->out_elements,
                                       .group_size = values->group_size,
                                       .sequence = natural(values->comm_sequence),
                                       .source = values->source,
                                       .target = values->target,
                                       .bytes = natural(values->comm_bytes),
                                       .peers = intern(reader, &values->peers),
                                       .rank_start = values->rank_start,
                                       .rank_stride = values->rank_stride,
                                   }));
  return (uint32_t)(trace->comms.count - 1);
}

static bool starts_with(const struct lumos_slice *text, const char *prefix, size_t length) {
  return text->length >= length && memcmp(text->bytes, prefix, length) == 0;
}
#define STARTS_WITH(text, prefix) starts_with(text, prefix, sizeof(prefix) - 1)

/* The number behind "ProfilerStep#"; false when there is none. */
static bool step_number(const struct lumos_slice *name, int64_t *number) {
  static const char prefix[] = "ProfilerStep#";
  size_t start = sizeof prefix - 1;
  if (!STARTS_WITH(name, "ProfilerStep#") || name->length == start || name->length > start + 9) {
    return false;
  }
  *number = 0;
  for (size_t i = start; i < name->length; i++) {
    if (name->bytes[i] < '0' || name->bytes[i] > '9') {
      return false;
    }
    *number = *number * 10 + (name->bytes[i] - '0');
  }
  return true;
}

/* What HTA reads of a row as work of a stream, though it is none here. */
static void keep_hta_row(struct trace_reader *reader, const struct fields *fields) {
  lumos_vector_push(&reader->trace->hta_rows, ((struct trace_hta_row){
                                                  .device_before = reader->trace->device.count,
                                                  .start = fields->start,
                                                  .dur = fields->duration,
                                                  .correlation = fields->values->correlation,
                                                  .stream = fields->values->stream,
                                                  .name = intern(reader, &fields->name),
                                                  .class = fields->class,
                                              }));
}

static void keep_host(struct trace_reader *reader, struct fields *fields) {
  const struct trace_arguments *values = fields->values;
  struct trace *trace = reader->trace;
  uint8_t class = fields->class;
  trace->python += class == TRACE_PYTHON;
  if (class == TRACE_PYTHON && STARTS_WITH(&fields->name, "nn.Module: ")) {
    class = TRACE_MODULE;
    fields->name.bytes += sizeof "nn.Module: " - 1;
    fields->name.length -= sizeof "nn.Module: " - 1;
  }
  if (class == TRACE_PYTHON && !reader->stacks) {
    trace->python_left++;
    lumos_vector_push(&trace->hta_starts, fields->start);
    return;
  }
  bool other = class == TRACE_UNKNOWN;
  class = other ? TRACE_CALL : class;
  int64_t key = class == TRACE_CALL ? values->correlation : values->sequence;
  if ((class == TRACE_OP || class == TRACE_ANNOTATION) && step_number(&fields->name, &key)) {
    class = TRACE_STEP;
  }
  bool op = class == TRACE_OP;
  if (op && values->stream != LUMOS_ABSENT) { /* Triton names the stream that it launches on */
    keep_hta_row(reader, fields);
  }
  static const struct lumos_slice unknown = {"", 0, false, false};
  lumos_vector_reserve(&trace->host, 1);
  struct trace_host *row = &trace->host.items[trace->host.count++];
  row->start = fields->start;
  row->end = fields->start + fields->duration;
  row->key = op ? natural(values->sequence) : key;
  row->class = class;
  row->forward_thread = op ? thread_number(values->forward_thread) : 0;
  row->alone = false; /* steps.c knows */
  row->other = other;
  row->unfinished = class == TRACE_STEP && lumos_json_is(&values->finished, "false");
  row->shapes = op ? intern_shapes(reader, &values->shapes) : LUMOS_NO_STRING;
  row->dtypes = op ? intern(reader, &values->dtypes) : LUMOS_NO_STRING;
  row->comm = op ? keep_comm(reader, values) : LUMOS_NONE;
  row->name = intern(reader, &fields->name);
  row->lane = thread_lane(reader, fields->process.bytes != NULL ? &fields->process : &unknown, &fields->thread);
}

static void keep_device(struct trace_reader *reader, const struct fields *fields) {
  const struct trace_arguments *values = fields->values;
  bool plausible = values->occupancy >= 0 && values->occupancy <= 1000000;
  struct trace_device row = {
      .start = fields->start,
      .end = fields->start + fields->duration,
      .correlation = values->correlation,
      .bytes = natural(values->bytes),
      .name = intern(reader, &fields->name),
      .lane = device_lane(reader, fields),
      .comm = keep_comm(reader, values),
      .occupancy = plausible ? (int32_t)values->occupancy : LUMOS_ABSENT_INT,
      .class = fields->class,
      .in_graph = values->graph_node != LUMOS_ABSENT && values->graph_node != 0, /* 0: in none */
      .stream = values->stream >= INT32_MIN && values->stream <= INT32_MAX ? (int32_t)values->stream : LUMOS_ABSENT_INT,
  };
  lumos_vector_push(&reader->trace->device, row);
}

static void keep_sync(struct trace_reader *reader, const struct fields *fields) {
  const struct trace_arguments *values = fields->values;
  const struct lumos_slice *kind = values->sync_kind.bytes != NULL ? &values->sync_kind : &fields->name;
  lumos_vector_push(&reader->trace->sync, ((struct trace_sync){
                                              .correlation = values->correlation,
                                              .record_correlation = values->record_correlation,
                                              .device = values->device,
                                              .stream = values->stream,
                                              .wait_stream = values->wait_stream,
                                              .kind = intern(reader, kind),
                                              .event = intern(reader, &values->event),
                                          }));
}

/* Rows that lie over others: marks of steps among them, and, of some versions, work of streams. */
static void pass_overlay(struct trace_reader *reader, const struct fields *fields) {
  if (fields->category.bytes != NULL &&
      (fields->values->stream != LUMOS_ABSENT || STARTS_WITH(&fields->name, "ProfilerStep"))) {
    keep_hta_row(reader, fields);
  } else {
    lumos_vector_push(&reader->trace->hta_starts, fields->start);
  }
}

static void count_category(struct trace_reader *reader, const struct fields *fields, bool kept) {
  static const struct lumos_slice none = {"none", 4, false, false};
  const struct lumos_slice *category = fields->category.bytes != NULL ? &fields->category : &none;
  lumos_trace_count_category(reader->trace, intern(reader, category), fields->class, kept);
}

/* A queue that waits does not work. */
static void keep_command(struct trace_reader *reader, struct fields *fields) {
  if (!STARTS_WITH(&fields->name, "event_wait")) {
    keep_device(reader, fields);
    return;
  }
  keep_hta_row(reader, fields);
  fields->class = TRACE_OVERLAY;
  count_category(reader, fields, false);
}

/* Work of a kind that nobody knows, on the device or on a thread as the row says. */
static void keep_unknown(struct trace_reader *reader, struct fields *fields) {
  bool on_device = device_of(fields->values) != LUMOS_ABSENT && fields->values->stream != LUMOS_ABSENT;
  bool on_thread = !on_device && fields->thread.bytes != NULL;
  count_category(reader, fields, on_device || on_thread);
  if (on_device) {
    keep_device(reader, fields);
  } else if (on_thread) {
    keep_host(reader, fields);
  }
}

static enum trace_outcome invalid(const char **reason, const char *why) {
  *reason = why;
  return TRACE_INVALID;
}

/* Does the row say where it ran? A thread needs no more than its id; what a device row's arguments lack pid and tid
 * tell. */
static bool has_place(const struct fields *fields) {
  const struct trace_arguments *values = fields->values;
  switch (fields->class) {
    case TRACE_KERNEL:
    case TRACE_COMMAND:
    case TRACE_MEMCPY:
    case TRACE_MEMSET:
      return (device_of(values) != LUMOS_ABSENT || fields->process.bytes != NULL) &&
             (values->stream != LUMOS_ABSENT || fields->thread.bytes != NULL);
    case TRACE_UNKNOWN:
    case TRACE_OVERLAY:
    case TRACE_UNREAD:
    case TRACE_SYNC:
    case TRACE_SESSION:
      return true;
    default:
      return fields->thread.bytes != NULL;
  }
}

/* Is a row of this class kept on a lane? */
static bool is_work(uint8_t class) {
  return class != TRACE_OVERLAY && class != TRACE_UNREAD && class != TRACE_SYNC && class != TRACE_SESSION;
}

/* Why the row cannot be used; NULL: it can, and *end is known. */
static const char *fault_of_row(const struct trace_reader *reader, const struct fields *fields, int64_t *end) {
  if (fields->lost) {
    return "a ts or a dur that is NaN or out of range";
  }
  if (fields->start == LUMOS_ABSENT || fields->duration == LUMOS_ABSENT || fields->name.bytes == NULL) {
    return "an event without a name, a ts or a dur that is a number";
  }
  if (fields->duration < 0) {
    return "an event of negative duration";
  }
  if (__builtin_add_overflow(fields->start, fields->duration, end)) {
    return "an event at an impossible time";
  }
  bool of_no_lane = reader->place != NULL && reader->place->lane == LUMOS_NONE && is_work(fields->class);
  return !has_place(fields) || of_no_lane ? "an event without pid or tid" : NULL;
}

static enum trace_outcome keep_row(struct trace_reader *reader, struct fields *fields, const char **reason) {
  int64_t end = 0;
  const char *fault = fault_of_row(reader, fields, &end);
  if (fault != NULL) {
    return invalid(reason, fault);
  }
  reader->trace->events++;
  if (reader->first && fields->category.bytes != NULL && fields->class != TRACE_SESSION) {
    reader->trace->first_start = fields->start;
    reader->trace->first_correlation =
        fields->values->stream == LUMOS_ABSENT ? LUMOS_ABSENT : fields->values->correlation;
  }
  switch (fields->class) {
    case TRACE_UNKNOWN:
    case TRACE_MOMENT: /* with a duration it is none */
      keep_unknown(reader, fields);
      break;
    case TRACE_OVERLAY:
    case TRACE_UNREAD:
      count_category(reader, fields, false);
      pass_overlay(reader, fields);
      break;
    case TRACE_KERNEL:
    case TRACE_MEMCPY:
    case TRACE_MEMSET:
      keep_device(reader, fields);
      break;
    case TRACE_COMMAND:
      keep_command(reader, fields);
      break;
    case TRACE_SYNC:
      keep_sync(reader, fields);
      keep_hta_row(reader, fields);
      break;
    case TRACE_SESSION:
      lumos_vector_push(&reader->trace->sessions, ((struct trace_interval){fields->start, end}));
      break;
    default:
      keep_host(reader, fields);
  }
  return TRACE_GOOD;
}

/* The name of a lane; Kineto writes "stream 7 ". */
static void keep_metadata(struct trace_reader *reader, const struct fields *fields) {
  struct lumos_slice name = fields->values->name;
  while (name.length > 0 && name.bytes[name.length - 1] == ' ') {
    name.length--;
  }
  if (lumos_json_is(&fields->name, "thread_name") && name.bytes != NULL && fields->process.bytes != NULL &&
      fields->thread.bytes != NULL) {
    lumos_trace_name_lane(reader->trace, intern(reader, &fields->process), intern(reader, &fields->thread),
                          intern(reader, &name));
  }
}

/* Memory of a GPU; CPUs are of type 0. */
static bool keep_memory(struct trace_reader *reader, const struct fields *fields) {
  const struct trace_arguments *values = fields->values;
  if (fields->class != TRACE_MOMENT || !lumos_json_is(&fields->name, "[memory]") || fields->start == LUMOS_ABSENT ||
      values->device_type <= 0 || values->allocated < 0 || values->device_id < 0 || values->device_id > INT32_MAX) {
    return false;
  }
  struct trace_memory memory = {.start = fields->start,
                                .allocated = values->allocated,
                                .reserved = values->reserved >= 0 ? values->reserved : LUMOS_ABSENT,
                                .place = (int64_t)reader->trace->memory.count,
                                .device = (int32_t)values->device_id};
  lumos_vector_push(&reader->trace->memory, memory);
  return true;
}

static enum trace_outcome keep_by_phase(struct trace_reader *reader, struct fields *fields, const char **reason) {
  struct trace *trace = reader->trace;
  switch (fields->phase) {
    case 'X':
      return keep_row(reader, fields, reason);
    case 'i':
    case 'I':
      if (lumos_json_is(&fields->name, "Record Window End")) {
        trace->record_end = fields->start;
        reader->remarks |= fields->lost ? TRACE_LOST : 0;
      } else if (keep_memory(reader, fields)) {
        return TRACE_GOOD;
      }
      break;
    case 'M':
      keep_metadata(reader, fields);
      break;
    case 's':
    case 't':
    case 'f':
      if (fields->duration != LUMOS_ABSENT) {
        return invalid(reason, "an end of a flow that has a duration");
      }
      break;
    case 0:
      return invalid(reason, "an event without ph");
    case '?':
      return invalid(reason, "an event of an unknown ph");
    default:
      break;
  }
  trace->others[fields->phase & 0x7F]++;
  return TRACE_GOOD;
}

/* A row of a file that Lumos wrote goes to the trace of its rank, on the clock of that. */
static enum trace_outcome keep_at_place(struct trace_reader *reader, struct fields *fields, const char **reason) {
  struct trace *trace = reader->trace;
  bool row = fields->phase == 'X' || fields->phase == 'i';
  reader->place = row ? lumos_trace_timelines_place(trace->timelines, &fields->process, &fields->thread) : NULL;
  if (reader->place == NULL) {
    trace->others[fields->phase & 0x7F]++;
    return TRACE_GOOD;
  }
  if (fields->start != LUMOS_ABSENT && __builtin_sub_overflow(fields->start, reader->place->shift, &fields->start)) {
    fields->start = LUMOS_ABSENT;
  }
  reader->trace = &trace->timelines->items.items[reader->place->timeline].trace;
  reader->trace->recognised = true;
  enum trace_outcome outcome = keep_by_phase(reader, fields, reason);
  reader->trace = trace;
  reader->place = NULL;
  return outcome;
}

static enum trace_outcome keep_event(struct trace_reader *reader, struct fields *fields, const char **reason) {
  struct trace *trace = reader->trace;
  reader->first = !trace->recognised;
  trace->recognised = trace->recognised || fields->phase != 0;
  if (fields->repeated || fields->values->repeated) {
    return invalid(reason, "a key that stands twice, with two values");
  }
  reader->remarks = fields->values->lost || fields->lost_place ? TRACE_LOST : 0;
  bool of_lumos = trace->timelines != NULL && fields->phase != 0 && fields->phase != '?';
  return of_lumos ? keep_at_place(reader, fields, reason) : keep_by_phase(reader, fields, reason);
}

enum trace_outcome lumos_trace_event(struct trace_reader *reader, const char **cursor, const char **reason) {
  const char *place = NULL; /* of this function alone, so that it need not be fetched by its address */
  struct fields fields;
  bool suspect = false;
  bool all = false;
  bool read = false;
  reader->remarks = 0;
  do {
    all = suspect;
    suspect = false;
    place = *cursor;
    begin_fields(&fields);
    read = read_fields(reader, &fields, &place, all, &suspect);
  } while (suspect);
  *cursor = place;
  enum trace_outcome outcome = read ? keep_event(reader, &fields, reason) : TRACE_FAULT;
  if (fields.table != NULL) {
    lumos_trace_forget_arguments(fields.table, &reader->values);
  }
  if (all && outcome != TRACE_GOOD) {
    lumos_trace_forget_keys(&reader->passed_keys[fields.phase == 'f']);
  }
  return outcome;
}
