/* Jobs as streams: walks the schema row by row. */
#include <lumos/stream.h>

#include "stream/unknown.h"
#include "stream/write.h"
#include <stdlib.h>

static char *put_text(struct lumos_writer *writer, char *out, const char *bytes, size_t length) {
  return lumos_put(lumos_writer_room(writer, out, length), bytes, length);
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
  size_t skip = 1; /* the first member goes without its comma */
  for (size_t i = 0; i < object->member_count; i++) {
    const struct lumos_field *field = &object->members[i];
    const void *slot = lumos_slot(record, field);
    if (!lumos_slot_absent(field, slot)) {
      out = lumos_value_writers[field->kind](writer, lumos_put_key(out, field, skip), field, slot);
      skip = 0;
    }
  }
  if (more.length > 0 && skip == 0) {
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

static void put_record(struct lumos_writer *writer, enum lumos_record_kind kind, const struct lumos_record *record) {
  const struct lumos_record_type *type = &lumos_schema[kind];
  const struct lumos_field *last = &type->fields[type->count - 1];
  const char *unknown = "";
  if (record->parts[last->part] != NULL) {
    unknown = lumos_string(writer->job->strings, *(const lumos_string_id *)lumos_slot(record, last));
  }
  char *out = lumos_writer_resume(writer, 0);
  out = lumos_put(out, type->opening, type->opening_length);
  for (const struct lumos_field *field = type->fields + 1; field < last; field++) {
    if (record->parts[field->part] == NULL) {
      continue;
    }
    if (field->kind == FIELD_OBJECT) {
      out = put_object(writer, out, field, record, unknown);
    } else {
      const void *slot = lumos_slot(record, field);
      if (!lumos_slot_absent(field, slot)) {
        out = lumos_value_writers[field->kind](writer, lumos_put_key(out, field, 0), field, slot);
      }
    }
  }
  if (*unknown != '\0') {
    out = put_unknown(writer, out, type, unknown);
  }
  out = LUMOS_PUT(out, "}\n");
  lumos_writer_pause(writer, out);
  writer->counts[kind]++;
}

/* A run of records that lie in one array. */
static void put_records(struct lumos_writer *writer, enum lumos_record_kind kind, size_t first, size_t count) {
  size_t all = 0;
  char *items = lumos_part_items(writer->job, kind, PART_MAIN, &all);
  for (size_t i = first; i < first + count; i++) {
    struct lumos_record record = {{items + i * lumos_schema[kind].sizes[PART_MAIN]}};
    put_record(writer, kind, &record);
  }
}

static void put_tasks(struct lumos_writer *writer, size_t first, size_t count) {
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

static void put_foreign(struct lumos_writer *writer) {
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
static void put_end(struct lumos_writer *writer) {
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
  struct lumos_writer writer = {.job = job, .text = text};
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
  put_records(&writer, RECORD_MODEL, 0, job->models.count);
  put_records(&writer, RECORD_METRIC, 0, job->metrics.count);
  put_records(&writer, RECORD_NOTE, 0, job->notes.count);
  put_foreign(&writer);
  put_end(&writer);
  free(writer.escapes);
}
