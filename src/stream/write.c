/* Jobs as streams: walks the schema row by row.
 *
 * The place to write at travels through the functions as a pointer, and a record is begun with room for everything of
 * bounded length in it, so that only strings and lists look whether there is room. What most strings need, no escaping,
 * is found out once for each.
 */
#include <lumos/stream.h>

#include "base/text.h"
#include "stream/schema.h"
#include "stream/unknown.h"
#include <stdlib.h>
#include <string.h>

/* More than the keys, numbers and ids of one record take together: 64 fields of 24 bytes of key and 2 numbers. */
enum { ROOM = 64 * (LUMOS_KEY_ROOM + 2 * 24) };

enum { DIGITS = 20 }; /* of the largest number */

enum { NOT_SEEN, PLAIN, ESCAPED };

struct writer {
  const struct lumos_job *job;
  struct lumos_text *text;
  const char *end;  /* of the room in text */
  uint8_t *escapes; /* for every string: what writing it takes */
  int32_t rank;     /* the record's */
  uint64_t counts[RECORD_KINDS];
};

/* All that stands before `out` is written; go on with `extra` bytes and ROOM behind them. */
static char *make_room(struct writer *writer, char *out, size_t extra) {
  struct lumos_text *text = writer->text;
  text->length = (size_t)(out - text->bytes);
  out = lumos_text_room(text, extra + ROOM);
  writer->end = text->bytes + text->capacity;
  return out;
}

/* The same where there may be room already. */
static inline char *with_room(struct writer *writer, char *out, size_t extra) {
  return (size_t)(writer->end - out) < extra + ROOM ? make_room(writer, out, extra) : out;
}

static inline char *put(char *out, const char *bytes, size_t length) {
  memcpy(out, bytes, length);
  return out + length;
}
#define PUT(out, literal) put((out), literal, sizeof(literal) - 1)

/* A key without its first `skip` bytes. All bytes of the array are copied, for a fixed number is faster. */
static inline char *put_key(char *out, const struct lumos_field *field, size_t skip) {
  memcpy(out, field->key + skip, LUMOS_KEY_ROOM - 1);
  return out + field->length + 4 - skip;
}

static inline char *put_text(struct writer *writer, char *out, const char *bytes, size_t length) {
  return put(with_room(writer, out, length), bytes, length);
}

/* Printable ASCII without quote and backslash stands in JSON as it is. */
static uint8_t escapes_of(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') {
      return ESCAPED;
    }
  }
  return PLAIN;
}

static char *put_escaped(struct writer *writer, char *out, const char *bytes, size_t length) {
  (void)make_room(writer, out, 0);
  lumos_text_json_string(writer->text, bytes, length);
  return make_room(writer, writer->text->bytes + writer->text->length, 0);
}

static inline char *put_string(struct writer *writer, char *out, lumos_string_id string) {
  const char *bytes = lumos_string(writer->job->strings, string);
  size_t length = lumos_string_length(writer->job->strings, string);
  if (writer->escapes[string] == NOT_SEEN) {
    writer->escapes[string] = escapes_of(bytes, length);
  }
  if (writer->escapes[string] == ESCAPED) {
    return put_escaped(writer, out, bytes, length);
  }
  out = with_room(writer, out, length + 2);
  *out = '"';
  out = put(out + 1, bytes, length);
  *out = '"';
  return out + 1;
}

/* Two digits at a time, from the back. */
static inline char *put_integer(char *out, int64_t value) {
  static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
                              "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
                              "888990919293949596979899";
  char buffer[2 * DIGITS];
  char *end = buffer + DIGITS;
  char *start = end;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  while (rest >= 100) {
    start -= 2;
    memcpy(start, pairs + rest % 100 * 2, 2);
    rest /= 100;
  }
  start -= 2;
  memcpy(start, pairs + rest * 2, 2);
  start += rest < 10;
  if (value < 0) {
    *out++ = '-';
  }
  memcpy(out, start, DIGITS); /* more than there are: a fixed number is faster */
  return out + (end - start);
}

static inline char *put_id(char *out, int32_t rank, uint32_t id) {
  *out = '"';
  out = put_integer(out + 1, rank);
  *out = ':';
  out = put_integer(out + 1, id);
  *out = '"';
  return out + 1;
}

/* One function for each kind of field. */
typedef char *write_value(struct writer *writer, char *out, const struct lumos_field *field, const void *slot);

static char *write_integer(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  return put_integer(out, *(const int64_t *)slot);
}

static char *write_small(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  return put_integer(out, *(const int32_t *)slot);
}

static char *write_ordinal(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  return put_integer(out, *(const uint32_t *)slot);
}

static char *write_string(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_string(writer, out, *(const lumos_string_id *)slot);
}

static char *put_word(char *out, const char *word) {
  *out = '"';
  out = put(out + 1, word, strlen(word));
  *out = '"';
  return out + 1;
}

static char *write_name(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  return put_word(out, field->names->names[*(const uint8_t *)slot]);
}

static char *write_stage(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  return put_word(out, field->names->names[*(const enum lumos_stage *)slot]);
}

static char *write_rank(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  (void)slot;
  return put_integer(out, writer->rank);
}

static char *write_id(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_id(out, writer->rank, *(const uint32_t *)slot);
}

static char *write_task(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_id(out, writer->rank, writer->job->tasks.items[*(const uint32_t *)slot].id);
}

static char *write_span(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_id(out, writer->rank, writer->job->spans.items[*(const uint32_t *)slot].id);
}

static char *write_any_task(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[*(const uint32_t *)slot];
  return put_id(out, job->ranks.items[lumos_rank_of(job, task)].rank, task->id);
}

static char *write_lane(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_string(writer, out, writer->job->lanes.items[*(const uint32_t *)slot].lane);
}

static char *write_origin(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  return put_id(out, *(const int32_t *)slot, ((const uint32_t *)slot)[1]);
}

static char *write_collective_id(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  out = put_integer(PUT(out, "\"c:"), *(const uint32_t *)slot);
  return PUT(out, "\"");
}

static char *put_decimal(struct writer *writer, char *out, int64_t units, int decimals) {
  (void)make_room(writer, out, 0);
  lumos_text_decimal(writer->text, units, decimals);
  return make_room(writer, writer->text->bytes + writer->text->length, 0);
}

static char *write_decimal(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const struct lumos_decimal *decimal = slot;
  return put_decimal(writer, out, decimal->units, decimal->decimals);
}

static char *write_millionths(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_decimal(writer, out, *(const int32_t *)slot, 6);
}

static char *write_window(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  const int64_t *window = slot;
  out = put_integer(PUT(out, "["), window[0]);
  out = put_integer(PUT(out, ","), window[1]);
  return PUT(out, "]");
}

static char *write_epoch(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  out = put_integer(PUT(out, "\""), *(const int64_t *)slot);
  return PUT(out, "\"");
}

static char *write_format(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  (void)slot;
  return put_integer(out, LUMOS_FORMAT_VERSION);
}

static char *write_ranks(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const uint32_t *range = slot;
  for (uint32_t i = 0; i < range[1]; i++) {
    out = with_room(writer, out, DIGITS + 1);
    *out = i == 0 ? '[' : ',';
    out = put_integer(out + 1, writer->job->group_ranks.items[range[0] + i]);
  }
  return PUT(out, "]");
}

static char *write_members(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  const uint32_t *range = slot;
  out = PUT(out, "[");
  for (uint32_t i = 0; i < range[1]; i++) {
    out = with_room(writer, out, 2 * DIGITS + 4);
    if (i > 0) {
      out = PUT(out, ",");
    }
    out = write_any_task(writer, out, field, &writer->job->members.items[range[0] + i]);
  }
  return PUT(out, "]");
}

static char *write_peers(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const uint32_t *range = slot;
  for (uint32_t i = 0; i < range[1]; i++) {
    const struct lumos_peer *peer = &writer->job->peers.items[range[0] + i];
    out = with_room(writer, out, 4 * LUMOS_KEY_ROOM + 3 * DIGITS);
    *out = i == 0 ? '[' : ',';
    out = put_integer(PUT(out + 1, "{\"rank\":"), peer->rank);
    out = put_integer(PUT(out, ",\"send\":"), peer->send);
    out = put_integer(PUT(out, ",\"recv\":"), peer->recv);
    out = PUT(out, "}");
  }
  return PUT(out, "]");
}

static char *write_history(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  (void)slot;
  const struct lumos_job *job = writer->job;
  out = PUT(out, "[");
  for (size_t i = 0; i < job->history.count; i++) {
    const struct lumos_history *entry = &job->history.items[i];
    out = with_room(writer, out, 0);
    out = put_string(writer, i == 0 ? PUT(out, "{\"tool\":") : PUT(out, ",{\"tool\":"), entry->tool);
    out = put_string(writer, PUT(out, ",\"version\":"), entry->version);
    out = put_string(writer, PUT(out, ",\"args\":"), entry->args);
    out = PUT(out, ",\"inputs\":[");
    for (uint32_t input = 0; input < entry->input_count; input++) {
      out = with_room(writer, out, 0);
      if (input > 0) {
        out = PUT(out, ",");
      }
      out = put_string(writer, out, job->inputs.items[entry->input_first + input]);
    }
    out = PUT(out, "]}");
  }
  return PUT(out, "]");
}

static char *put_value(struct writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  static write_value *const writers[FIELD_KINDS] = {
      [FIELD_INTEGER] = write_integer,
      [FIELD_INSTANT] = write_integer,
      [FIELD_WINDOW] = write_window,
      [FIELD_SMALL] = write_small,
      [FIELD_ORDINAL] = write_ordinal,
      [FIELD_DECIMAL] = write_decimal,
      [FIELD_MILLIONTHS] = write_millionths,
      [FIELD_STRING] = write_string,
      [FIELD_NAME] = write_name,
      [FIELD_RANK] = write_rank,
      [FIELD_ID] = write_id,
      [FIELD_COLLECTIVE_ID] = write_collective_id,
      [FIELD_LANE] = write_lane,
      [FIELD_TASK] = write_task,
      [FIELD_SPAN] = write_span,
      [FIELD_ANY_TASK] = write_any_task,
      [FIELD_GROUP] = write_string,
      [FIELD_ORIGIN] = write_origin,
      [FIELD_RANKS] = write_ranks,
      [FIELD_MEMBERS] = write_members,
      [FIELD_PEERS] = write_peers,
      [FIELD_FORMAT] = write_format,
      [FIELD_STAGE] = write_stage,
      [FIELD_EPOCH] = write_epoch,
      [FIELD_HISTORY] = write_history,
  };
  return writers[field->kind](writer, out, field, slot);
}

/* Is there anything to write inside an object? */
static bool object_present(const struct lumos_record *record, const struct lumos_field *object) {
  if (object->flag != 0) {
    return *((const bool *)record->parts[object->part] + object->flag);
  }
  for (size_t i = 0; i < object->member_count; i++) {
    if (!lumos_slot_absent(&object->members[i], lumos_slot(record, &object->members[i]))) {
      return true;
    }
  }
  return object->required;
}

static bool is_key(const struct lumos_field *field, const struct lumos_slice *key) {
  return field->length == key->length && memcmp(field->key + 2, key->bytes, key->length) == 0;
}

/* The members of `object` that the schema does not know, without braces; length 0: none. */
static struct lumos_slice unknown_within(const char *unknown, const struct lumos_field *object) {
  struct lumos_slice key;
  struct lumos_slice member;
  while (lumos_unknown_next(&unknown, &key, &member)) {
    if (is_key(object, &key)) {
      size_t before = object->length + sizeof "\"\":{" - 1; /* the quotes, the colon and the brace */
      return (struct lumos_slice){member.bytes + before, member.length - before - 1, false};
    }
  }
  return (struct lumos_slice){unknown, 0, false};
}

static char *put_object(struct writer *writer, char *out, const struct lumos_field *object,
                        const struct lumos_record *record, const char *unknown) {
  struct lumos_slice more =
      *unknown == '\0' ? (struct lumos_slice){unknown, 0, false} : unknown_within(unknown, object);
  if (more.length == 0 && !object_present(record, object)) {
    return out;
  }
  out = PUT(put_key(out, object, 0), "{");
  size_t skip = 1; /* the first member goes without its comma */
  for (size_t i = 0; i < object->member_count; i++) {
    const struct lumos_field *field = &object->members[i];
    const void *slot = lumos_slot(record, field);
    if (!lumos_slot_absent(field, slot)) {
      out = put_value(writer, put_key(out, field, skip), field, slot);
      skip = 0;
    }
  }
  if (more.length > 0 && skip == 0) {
    out = PUT(out, ",");
  }
  out = put_text(writer, out, more.bytes, more.length);
  return PUT(out, "}");
}

/* The unknown members of the record itself: those that are not of its objects. */
static char *put_unknown(struct writer *writer, char *out, const struct lumos_record_type *type, const char *unknown) {
  struct lumos_slice key;
  struct lumos_slice member;
  while (lumos_unknown_next(&unknown, &key, &member)) {
    bool inner = false;
    for (size_t i = 0; i < type->count && !inner; i++) {
      inner = type->fields[i].kind == FIELD_OBJECT && is_key(&type->fields[i], &key);
    }
    if (!inner) {
      out = PUT(out, ",");
      out = put_text(writer, out, member.bytes, member.length);
    }
  }
  return out;
}

static void put_record(struct writer *writer, enum lumos_record_kind kind, const struct lumos_record *record) {
  const struct lumos_record_type *type = &lumos_schema[kind];
  const struct lumos_field *last = &type->fields[type->count - 1];
  const char *unknown = "";
  if (record->parts[last->part] != NULL) {
    unknown = lumos_string(writer->job->strings, *(const lumos_string_id *)lumos_slot(record, last));
  }
  char *out = make_room(writer, writer->text->bytes + writer->text->length, 0);
  out = PUT(out, "{\"type\":\"");
  out = put(out, type->name, strlen(type->name));
  out = PUT(out, "\"");
  for (const struct lumos_field *field = type->fields + 1; field < last; field++) {
    if (record->parts[field->part] == NULL) {
      continue;
    }
    if (field->kind == FIELD_OBJECT) {
      out = put_object(writer, out, field, record, unknown);
    } else {
      const void *slot = lumos_slot(record, field);
      if (!lumos_slot_absent(field, slot)) {
        out = put_value(writer, put_key(out, field, 0), field, slot);
      }
    }
  }
  if (*unknown != '\0') {
    out = put_unknown(writer, out, type, unknown);
  }
  out = PUT(out, "}\n");
  writer->text->length = (size_t)(out - writer->text->bytes);
  writer->counts[kind]++;
}

/* A run of records that lie in one array. */
static void put_records(struct writer *writer, enum lumos_record_kind kind, size_t first, size_t count) {
  size_t all = 0;
  char *items = lumos_part_items(writer->job, kind, PART_MAIN, &all);
  for (size_t i = first; i < first + count; i++) {
    struct lumos_record record = {{items + i * lumos_schema[kind].sizes[PART_MAIN]}};
    put_record(writer, kind, &record);
  }
}

static void put_tasks(struct writer *writer, size_t first, size_t count) {
  const struct lumos_job *job = writer->job;
  for (size_t i = first; i < first + count; i++) {
    struct lumos_task *task = &job->tasks.items[i];
    struct lumos_record record = {{
        task,
        job->timings.count == 0 ? NULL : &job->timings.items[i],
        job->runs.count == 0 ? NULL : &job->runs.items[i],
        task->detail == LUMOS_NONE ? NULL : &job->details.items[task->detail],
    }};
    put_record(writer, RECORD_TASK, &record);
  }
}

static void put_foreign(struct writer *writer) {
  for (size_t i = 0; i < writer->job->foreign.count; i++) {
    lumos_string_id line = writer->job->foreign.items[i].line;
    lumos_text_add(writer->text, lumos_string(writer->job->strings, line),
                   lumos_string_length(writer->job->strings, line));
    lumos_text_char(writer->text, '\n');
  }
}

static void put_count(struct lumos_text *text, const char *type, size_t length, uint64_t count) {
  lumos_text_json_string(text, type, length);
  lumos_text_char(text, ':');
  lumos_text_integer(text, (int64_t)count);
  lumos_text_char(text, ',');
}

/* The last line: how many lines of each type there were, unknown types in the order of their first line. */
static void put_end(struct writer *writer) {
  const struct lumos_job *job = writer->job;
  lumos_text_put(writer->text, "{\"type\":\"end\",\"counts\":{");
  for (int kind = 0; kind < RECORD_END; kind++) {
    if (writer->counts[kind] > 0) {
      put_count(writer->text, lumos_schema[kind].name, strlen(lumos_schema[kind].name), writer->counts[kind]);
    }
  }
  uint64_t *foreign = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, sizeof *foreign);
  for (size_t i = 0; i < job->foreign.count; i++) {
    foreign[job->foreign.items[i].type]++;
  }
  for (size_t i = 0; i < job->foreign.count; i++) {
    lumos_string_id type = job->foreign.items[i].type;
    if (foreign[type] > 0) {
      put_count(writer->text, lumos_string(job->strings, type), lumos_string_length(job->strings, type), foreign[type]);
      foreign[type] = 0;
    }
  }
  free(foreign);
  lumos_text_put(writer->text, "\"end\":1}}\n");
}

void lumos_stream_write(const struct lumos_job *job, struct lumos_text *text) {
  struct writer writer = {.job = job, .text = text};
  writer.escapes = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  struct lumos_record header = {{(void *)(uintptr_t)job}};
  put_record(&writer, RECORD_HEADER, &header);
  for (size_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_rank *rank = &job->ranks.items[i];
    writer.rank = rank->rank;
    put_records(&writer, RECORD_RANK, i, 1);
    put_records(&writer, RECORD_GROUP, rank->group_first, rank->group_count);
    put_records(&writer, RECORD_LANE, rank->lane_first, rank->lane_count);
    put_records(&writer, RECORD_SPAN, rank->span_first, rank->span_count);
    put_tasks(&writer, rank->task_first, rank->task_count);
  }
  put_records(&writer, RECORD_DEP, 0, job->deps.count);
  put_records(&writer, RECORD_COLLECTIVE, 0, job->collectives.count);
  put_records(&writer, RECORD_METRIC, 0, job->metrics.count);
  put_records(&writer, RECORD_NOTE, 0, job->notes.count);
  put_foreign(&writer);
  put_end(&writer);
  free(writer.escapes);
}
