/* One record as a line: walks the schema row by row. */
#include "job/schema_rows.h"
#include "job/unknown.h"
#include "stream/write.h"

static inline char *put_name(char *out, const char name[LUMOS_NAME_ROOM]) {
  *out = '"';
  memcpy(out + 1, name, LUMOS_NAME_ROOM);
  out += 1 + lumos_name_length(name);
  *out = '"';
  return out + 1;
}

/* The id of a task or a span of the record's rank. */
static inline char *put_own_id(const struct lumos_writer *writer, char *out, uint32_t id) {
  memcpy(out, writer->id_start, sizeof writer->id_start);
  out = lumos_digits_write(out + writer->id_start_length, id);
  *out = '"';
  return out + 1;
}

static char *put_text(struct lumos_writer *writer, char *out, const char *bytes, size_t length) {
  return lumos_put(lumos_writer_room(writer, out, length), bytes, length);
}

static char *put_object(struct lumos_writer *writer, char *out, const struct lumos_field *object,
                        const struct lumos_record *record, const char *unknown);

/* A field, its key first, without the comma in the first one of an object; nothing where it is absent. */
static inline __attribute__((always_inline)) char *put_field(struct lumos_writer *writer, char *out,
                                                             const struct lumos_field *field, size_t skip,
                                                             const struct lumos_record *record, const char *unknown) {
  const struct lumos_job *job = writer->job;
  if (record->parts[field->part] == NULL) {
    return out;
  }
  const void *slot = lumos_slot(record, field);
  const uint32_t *index = slot;
  if (field->kind == FIELD_OBJECT) {
    return put_object(writer, out, field, record, unknown);
  }
  if (lumos_slot_absent(field, slot)) {
    return out;
  }
  out = lumos_put_key(out, field, skip);
  switch (field->kind) {
    case FIELD_INTEGER:
    case FIELD_INSTANT:
      return lumos_integer_write(out, *(const int64_t *)slot);
    case FIELD_SMALL:
      return lumos_integer_write(out, *(const int32_t *)slot);
    case FIELD_ORDINAL:
      return lumos_digits_write(out, *index);
    case FIELD_RANK:
      return lumos_digits_write(out, (uint64_t)writer->rank);
    case FIELD_NAME:
      return put_name(out, field->names->names[*(const uint8_t *)slot]);
    case FIELD_STRING:
    case FIELD_GROUP:
    case FIELD_COMMON_ERROR:
      return lumos_put_string(writer, out, *index);
    case FIELD_LANE:
      return lumos_put_string(writer, out, job->lanes.items[*index].lane);
    case FIELD_ID:
      return put_own_id(writer, out, *index);
    case FIELD_TASK:
      return put_own_id(writer, out, job->tasks.items[*index].id);
    case FIELD_SPAN:
      return put_own_id(writer, out, job->spans.items[*index].id);
    default:
      return lumos_value_writers[field->kind](writer, out, field, slot);
  }
}

/* The fields of a record, or of an object within it. */
static char *put_fields(struct lumos_writer *writer, char *out, const struct lumos_field *fields, size_t count,
                        size_t skip, const struct lumos_record *record, const char *unknown) {
  for (size_t i = 0; i < count; i++) {
    char *behind = put_field(writer, out, &fields[i], skip, record, unknown);
    skip = behind == out ? skip : 0;
    out = behind;
  }
  return out;
}

/* Those of tasks and spans, which are most of a stream. */
static char *put_task_fields(struct lumos_writer *writer, char *out, const struct lumos_record *record,
                             const char *unknown) {
  LUMOS_EVERY_ROW
  for (size_t i = 1; i < LUMOS_ROWS(task_fields) - 1; i++) {
    out = put_field(writer, out, &task_fields[i], 0, record, unknown);
  }
  return out;
}

static char *put_span_fields(struct lumos_writer *writer, char *out, const struct lumos_record *record,
                             const char *unknown) {
  LUMOS_EVERY_ROW
  for (size_t i = 1; i < LUMOS_ROWS(span_fields) - 1; i++) {
    out = put_field(writer, out, &span_fields[i], 0, record, unknown);
  }
  return out;
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

/* The members of `object` that the schema does not know, without braces; length 0: none. */
static struct lumos_slice unknown_within(const char *unknown, const struct lumos_field *object) {
  struct lumos_slice key;
  struct lumos_slice member;
  while (lumos_unknown_next(&unknown, &key, &member)) {
    if (lumos_unknown_is_of(object, &key)) {
      size_t before = object->length + sizeof "\"\":{" - 1; /* the quotes, the colon and the brace */
      return (struct lumos_slice){member.bytes + before, member.length - before - 1, false, false};
    }
  }
  return (struct lumos_slice){unknown, 0, false, false};
}

static char *put_object(struct lumos_writer *writer, char *out, const struct lumos_field *object,
                        const struct lumos_record *record, const char *unknown) {
  struct lumos_slice more =
      *unknown == '\0' ? (struct lumos_slice){unknown, 0, false, false} : unknown_within(unknown, object);
  if (more.length == 0 && !object_present(record, object)) {
    return out;
  }
  out = LUMOS_PUT(lumos_put_key(out, object, 0), "{");
  char *first = out;
  out = put_fields(writer, out, object->members, object->member_count, 1, record, "");
  if (more.length > 0 && out > first) {
    out = LUMOS_PUT(out, ",");
  }
  out = put_text(writer, out, more.bytes, more.length);
  return LUMOS_PUT(out, "}");
}

/* The unknown members of the record itself: those that are not of its objects. */
static char *put_unknown(struct lumos_writer *writer, char *out, const struct lumos_record_type *type,
                         const char *unknown) {
  struct lumos_slice key;
  struct lumos_slice member;
  while (lumos_unknown_next(&unknown, &key, &member)) {
    bool inner = false;
    for (size_t i = 0; i < type->count && !inner; i++) {
      inner = type->fields[i].kind == FIELD_OBJECT && lumos_unknown_is_of(&type->fields[i], &key);
    }
    if (!inner) {
      out = LUMOS_PUT(out, ",");
      out = put_text(writer, out, member.bytes, member.length);
    }
  }
  return out;
}

void lumos_put_record(struct lumos_writer *writer, enum lumos_record_kind kind, const struct lumos_record *record) {
  const struct lumos_record_type *type = &lumos_schema[kind];
  const struct lumos_field *last = &type->fields[type->count - 1];
  const char *unknown = "";
  if (record->parts[last->part] != NULL) {
    unknown = lumos_string(writer->job->strings, *(const lumos_string_id *)lumos_slot(record, last));
  }
  char *out = lumos_writer_resume(writer, 0);
  out = lumos_put(out, type->opening, type->opening_length);
  out = kind == RECORD_TASK   ? put_task_fields(writer, out, record, unknown)
        : kind == RECORD_SPAN ? put_span_fields(writer, out, record, unknown)
                              : put_fields(writer, out, type->fields + 1, type->count - 2, 0, record, unknown);
  if (*unknown != '\0') {
    out = put_unknown(writer, out, type, unknown);
  }
  out = LUMOS_PUT(out, "}\n");
  lumos_writer_pause(writer, out);
  writer->counts[kind]++;
}
