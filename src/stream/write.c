/* Jobs as streams: walks the schema row by row. The hot loop is tasks: rows of parts that a task lacks are skipped, and
 * what most strings need, no escaping, is found out once for each string.
 */
#include <lumos/stream.h>

#include "base/text.h"
#include "stream/schema.h"
#include "stream/unknown.h"
#include <stdlib.h>
#include <string.h>

enum { NOT_SEEN, PLAIN, ESCAPED };

struct writer {
  const struct lumos_job *job;
  struct lumos_text *text;
  uint8_t *escapes; /* for every string: what writing it takes */
  int32_t rank;     /* the record's */
  uint64_t counts[RECORD_KINDS];
};

static inline void put(struct lumos_text *text, const char *bytes, size_t length) {
  if (text->capacity - text->length >= length) {
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
  } else {
    lumos_text_add(text, bytes, length);
  }
}
#define PUT(text, literal) put((text), literal, sizeof(literal) - 1)

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

static inline void put_string(struct writer *writer, lumos_string_id string) {
  const char *bytes = lumos_string(writer->job->strings, string);
  size_t length = lumos_string_length(writer->job->strings, string);
  if (writer->escapes[string] == NOT_SEEN) {
    writer->escapes[string] = escapes_of(bytes, length);
  }
  if (writer->escapes[string] == ESCAPED) {
    lumos_text_json_string(writer->text, bytes, length);
    return;
  }
  PUT(writer->text, "\"");
  put(writer->text, bytes, length);
  PUT(writer->text, "\"");
}

static inline void put_integer(struct lumos_text *text, int64_t value) {
  char buffer[24];
  char *start = buffer + sizeof buffer;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    *--start = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  if (value < 0) {
    *--start = '-';
  }
  put(text, start, (size_t)(buffer + sizeof buffer - start));
}

static inline void put_id(struct writer *writer, int32_t rank, uint32_t id) {
  PUT(writer->text, "\"");
  put_integer(writer->text, rank);
  PUT(writer->text, ":");
  put_integer(writer->text, id);
  PUT(writer->text, "\"");
}

static void put_task(struct writer *writer, uint32_t index) {
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[index];
  put_id(writer, job->ranks.items[lumos_rank_of(job, task)].rank, task->id);
}

static void put_ranks(struct writer *writer, const uint32_t *range) {
  for (uint32_t i = 0; i < range[1]; i++) {
    lumos_text_char(writer->text, i == 0 ? '[' : ',');
    put_integer(writer->text, writer->job->group_ranks.items[range[0] + i]);
  }
  PUT(writer->text, "]");
}

static void put_members(struct writer *writer, const uint32_t *range) {
  PUT(writer->text, "[");
  for (uint32_t i = 0; i < range[1]; i++) {
    if (i > 0) {
      PUT(writer->text, ",");
    }
    put_task(writer, writer->job->members.items[range[0] + i]);
  }
  PUT(writer->text, "]");
}

static void put_peers(struct writer *writer, const uint32_t *range) {
  for (uint32_t i = 0; i < range[1]; i++) {
    const struct lumos_peer *peer = &writer->job->peers.items[range[0] + i];
    lumos_text_put(writer->text, i == 0 ? "[{\"rank\":" : ",{\"rank\":");
    put_integer(writer->text, peer->rank);
    PUT(writer->text, ",\"send\":");
    put_integer(writer->text, peer->send);
    PUT(writer->text, ",\"recv\":");
    put_integer(writer->text, peer->recv);
    PUT(writer->text, "}");
  }
  PUT(writer->text, "]");
}

static void put_history(struct writer *writer) {
  const struct lumos_job *job = writer->job;
  PUT(writer->text, "[");
  for (size_t i = 0; i < job->history.count; i++) {
    const struct lumos_history *entry = &job->history.items[i];
    lumos_text_put(writer->text, i == 0 ? "{\"tool\":" : ",{\"tool\":");
    put_string(writer, entry->tool);
    PUT(writer->text, ",\"version\":");
    put_string(writer, entry->version);
    PUT(writer->text, ",\"args\":");
    put_string(writer, entry->args);
    PUT(writer->text, ",\"inputs\":[");
    for (uint32_t input = 0; input < entry->input_count; input++) {
      if (input > 0) {
        PUT(writer->text, ",");
      }
      put_string(writer, job->inputs.items[entry->input_first + input]);
    }
    PUT(writer->text, "]}");
  }
  PUT(writer->text, "]");
}

static void put_value(struct writer *writer, const struct lumos_field *field, const void *slot) {
  const struct lumos_job *job = writer->job;
  struct lumos_text *text = writer->text;
  switch (field->kind) {
    case FIELD_INTEGER:
    case FIELD_INSTANT:
      put_integer(text, *(const int64_t *)slot);
      break;
    case FIELD_SMALL:
      put_integer(text, *(const int32_t *)slot);
      break;
    case FIELD_ORDINAL:
      put_integer(text, *(const uint32_t *)slot);
      break;
    case FIELD_STRING:
    case FIELD_GROUP:
      put_string(writer, *(const lumos_string_id *)slot);
      break;
    case FIELD_NAME:
      PUT(text, "\"");
      lumos_text_put(text, field->names->names[*(const uint8_t *)slot]);
      PUT(text, "\"");
      break;
    case FIELD_RANK:
      put_integer(text, writer->rank);
      break;
    case FIELD_ID:
      put_id(writer, writer->rank, *(const uint32_t *)slot);
      break;
    case FIELD_TASK:
      put_id(writer, writer->rank, job->tasks.items[*(const uint32_t *)slot].id);
      break;
    case FIELD_SPAN:
      put_id(writer, writer->rank, job->spans.items[*(const uint32_t *)slot].id);
      break;
    case FIELD_ANY_TASK:
      put_task(writer, *(const uint32_t *)slot);
      break;
    case FIELD_LANE:
      put_string(writer, job->lanes.items[*(const uint32_t *)slot].lane);
      break;
    case FIELD_ORIGIN:
      put_id(writer, *(const int32_t *)slot, ((const uint32_t *)slot)[1]);
      break;
    case FIELD_DECIMAL:
      lumos_text_decimal(text, ((const struct lumos_decimal *)slot)->units,
                         ((const struct lumos_decimal *)slot)->decimals);
      break;
    case FIELD_MILLIONTHS:
      lumos_text_decimal(text, *(const int32_t *)slot, 6);
      break;
    case FIELD_WINDOW:
      PUT(text, "[");
      put_integer(text, ((const int64_t *)slot)[0]);
      PUT(text, ",");
      put_integer(text, ((const int64_t *)slot)[1]);
      PUT(text, "]");
      break;
    case FIELD_RANKS:
      put_ranks(writer, slot);
      break;
    case FIELD_MEMBERS:
      put_members(writer, slot);
      break;
    case FIELD_PEERS:
      put_peers(writer, slot);
      break;
    case FIELD_COLLECTIVE_ID:
      PUT(text, "\"c:");
      put_integer(text, *(const uint32_t *)slot);
      PUT(text, "\"");
      break;
    case FIELD_FORMAT:
      put_integer(text, LUMOS_FORMAT_VERSION);
      break;
    case FIELD_STAGE:
      PUT(text, "\"");
      lumos_text_put(text, lumos_stage_name(*(const enum lumos_stage *)slot));
      PUT(text, "\"");
      break;
    case FIELD_EPOCH:
      PUT(text, "\"");
      put_integer(text, *(const int64_t *)slot);
      PUT(text, "\"");
      break;
    case FIELD_HISTORY:
      put_history(writer);
      break;
    default:
      break;
  }
}

/* Is there anything to write inside an object? */
static bool object_present(const struct lumos_record *record, const struct lumos_field *object) {
  if (object->flag != 0) {
    return *((const char *)record->parts[object->part] + object->flag) != 0;
  }
  for (size_t i = 0; i < object->member_count; i++) {
    if (!lumos_slot_absent(&object->members[i], lumos_slot(record, &object->members[i]))) {
      return true;
    }
  }
  return object->required;
}

/* The members of `object` that the schema does not know, without braces; length 0: none. */
static struct lumos_slice unknown_within(const char *unknown, const struct lumos_field *object) {
  struct lumos_slice key;
  struct lumos_slice member;
  while (lumos_unknown_next(&unknown, &key, &member)) {
    if (key.length == object->length && memcmp(key.bytes, object->key + 2, key.length) == 0) {
      return (struct lumos_slice){key.bytes + key.length + 3,
                                  (size_t)(member.bytes + member.length - key.bytes) - key.length - 4, false};
    }
  }
  return (struct lumos_slice){unknown, 0, false};
}

static void put_object(struct writer *writer, const struct lumos_field *object, const struct lumos_record *record,
                       const char *unknown) {
  struct lumos_slice more = {NULL, 0, false};
  if (*unknown != '\0') {
    more = unknown_within(unknown, object);
  }
  if (more.length == 0 && !object_present(record, object)) {
    return;
  }
  put(writer->text, object->key, object->length + 4U);
  PUT(writer->text, "{");
  size_t comma = 1; /* the first member goes without */
  for (size_t i = 0; i < object->member_count; i++) {
    const struct lumos_field *field = &object->members[i];
    const void *slot = lumos_slot(record, field);
    if (!lumos_slot_absent(field, slot)) {
      put(writer->text, field->key + comma, field->length + 4U - comma);
      put_value(writer, field, slot);
      comma = 0;
    }
  }
  if (more.length > 0) {
    if (comma == 0) {
      PUT(writer->text, ",");
    }
    put(writer->text, more.bytes, more.length);
  }
  PUT(writer->text, "}");
}

/* The unknown members of the record itself. */
static void put_unknown(struct writer *writer, const struct lumos_record_type *type, const char *unknown) {
  struct lumos_slice key;
  struct lumos_slice member;
  while (lumos_unknown_next(&unknown, &key, &member)) {
    bool inner = false;
    for (size_t i = 0; i < type->count && !inner; i++) {
      const struct lumos_field *field = &type->fields[i];
      inner = field->kind == FIELD_OBJECT && field->length == key.length &&
              memcmp(field->key + 2, key.bytes, key.length) == 0;
    }
    if (!inner) {
      PUT(writer->text, ",");
      put(writer->text, member.bytes, member.length);
    }
  }
}

static void put_record(struct writer *writer, enum lumos_record_kind kind, const struct lumos_record *record) {
  const struct lumos_record_type *type = &lumos_schema[kind];
  const struct lumos_field *last = &type->fields[type->count - 1];
  const char *unknown = "";
  if (record->parts[last->part] != NULL) {
    unknown = lumos_string(writer->job->strings, *(const lumos_string_id *)lumos_slot(record, last));
  }
  lumos_text_put(writer->text, "{\"type\":\"");
  lumos_text_put(writer->text, type->name);
  PUT(writer->text, "\"");
  for (const struct lumos_field *field = type->fields + 1; field < last; field++) {
    if (field->kind == FIELD_OBJECT) {
      if (record->parts[field->part] != NULL) {
        put_object(writer, field, record, unknown);
      }
    } else if (record->parts[field->part] != NULL) {
      const void *slot = lumos_slot(record, field);
      if (!lumos_slot_absent(field, slot)) {
        put(writer->text, field->key, field->length + 4U);
        put_value(writer, field, slot);
      }
    }
  }
  if (*unknown != '\0') {
    put_unknown(writer, type, unknown);
  }
  PUT(writer->text, "}\n");
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
    put(writer->text, lumos_string(writer->job->strings, line), lumos_string_length(writer->job->strings, line));
    PUT(writer->text, "\n");
  }
}

static void put_count(struct writer *writer, const char *type, size_t length, uint64_t count, bool first) {
  if (!first) {
    PUT(writer->text, ",");
  }
  lumos_text_json_string(writer->text, type, length);
  PUT(writer->text, ":");
  put_integer(writer->text, (int64_t)count);
}

/* The last line: how many lines of each type there were, unknown types in the order of their first line. */
static void put_end(struct writer *writer) {
  const struct lumos_job *job = writer->job;
  writer->counts[RECORD_END] = 1;
  PUT(writer->text, "{\"type\":\"end\",\"counts\":{");
  for (int kind = 0; kind < RECORD_END; kind++) {
    if (writer->counts[kind] > 0) {
      put_count(writer, lumos_schema[kind].name, strlen(lumos_schema[kind].name), writer->counts[kind], kind == 0);
    }
  }
  uint64_t *foreign = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, sizeof *foreign);
  for (size_t i = 0; i < job->foreign.count; i++) {
    foreign[job->foreign.items[i].type]++;
  }
  for (size_t i = 0; i < job->foreign.count; i++) {
    lumos_string_id type = job->foreign.items[i].type;
    if (foreign[type] > 0) {
      put_count(writer, lumos_string(job->strings, type), lumos_string_length(job->strings, type), foreign[type],
                false);
      foreign[type] = 0;
    }
  }
  free(foreign);
  put_count(writer, "end", 3, 1, false);
  PUT(writer->text, "}}\n");
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
