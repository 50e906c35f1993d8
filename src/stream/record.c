/* One line taken apart by the schema. A field is looked for behind the one found last, so a line in the writer's order
 * costs little more than one comparison a field. Known fields go to their slots, unknown ones are kept as text.
 */
#include "base/utf8.h"
#include "job/schema_rows.h"
#include "stream/quick.h"
#include <string.h>

/* More unknown fields in one record are refused: their names are compared each with each. */
enum { MOST_UNKNOWN = 256 };

/* Keep a member that the schema does not know. `first`: where the keys of this object begin in unknown_keys. */
static bool keep_unknown(struct lumos_reader *reader, const struct lumos_slice *key, size_t first,
                         const char **cursor) {
  for (size_t i = first; i < reader->unknown_keys.count; i++) {
    const struct lumos_slice *other = &reader->unknown_keys.items[i];
    if (other->length == key->length && memcmp(other->bytes, key->bytes, key->length) == 0) {
      return lumos_reader_fail(reader, "%.*s is given twice", (int)key->length, key->bytes);
    }
  }
  if (reader->unknown_keys.count - first >= MOST_UNKNOWN) {
    return lumos_reader_fail(reader, "more than %d fields that this version does not know", MOST_UNKNOWN);
  }
  lumos_vector_push(&reader->unknown_keys, *key);
  const char *value = *cursor;
  if (!lumos_json_skip_valid(cursor)) { /* it is kept as it is */
    return lumos_reader_fail_syntax(reader);
  }
  if (!lumos_utf8_valid(key->bytes, (size_t)(*cursor - key->bytes))) {
    return lumos_reader_fail(reader, "%.*s is not valid UTF-8", (int)key->length, key->bytes);
  }
  struct lumos_text *text = reader->within == NULL ? &reader->unknown : &reader->unknown_inner;
  if (text->length > 0) {
    lumos_text_char(text, ',');
  }
  lumos_text_add(text, key->bytes - 1, key->length + 2);
  lumos_text_char(text, ':');
  lumos_text_add(text, value, (size_t)(*cursor - value));
  return true;
}

static inline bool is_key(const struct lumos_field *field, const struct lumos_slice *key) {
  return field->length == key->length && key->length < LUMOS_KEY_ROOM &&
         memcmp(field->key + 2, key->bytes, key->length) == 0;
}

/* Are these `length` bytes (at least 4) the same? Compared eight at a time, the last ones overlapping the first. */
static inline bool same_bytes(const char *a, const char *b, size_t length) {
  if (length < 8) {
    return memcmp(a, b, 4) == 0 && memcmp(a + length - 4, b + length - 4, 4) == 0;
  }
  return memcmp(a, b, 8) == 0 && memcmp(a + length - 8, b + length - 8, 8) == 0 &&
         (length <= 16 || memcmp(a + 8, b + 8, length - 16) == 0);
}

/* Do the key and the colon of a field, as we write them, stand behind the byte at `text`? Bytes behind the line can be
 * read. */
static inline bool at_key(const char *text, const struct lumos_field *field) {
  return text[2] == field->key[2] && field->length < LUMOS_KEY_ROOM &&
         same_bytes(text + 1, field->key + 1, field->length + 3U);
}

/* The row of a key, or NULL; `next`: where to look first. */
static const struct lumos_field *find_field(struct lumos_reader *reader, const struct lumos_field *fields, size_t count,
                                            size_t next, const struct lumos_slice *key) {
  struct lumos_slice plain = {NULL, 0, false, false};
  if (key->escaped) {
    plain = lumos_reader_decode(reader, key);
    key = &plain;
  }
  for (size_t i = next; i < count; i++) {
    if (is_key(&fields[i], key)) {
      return &fields[i];
    }
  }
  for (size_t i = 0; i < next; i++) {
    if (is_key(&fields[i], key)) {
      return &fields[i];
    }
  }
  return NULL;
}

static bool read_members(struct lumos_reader *reader, const struct lumos_field *fields, size_t count, uint64_t *seen,
                         struct lumos_json_members *members, const char **cursor);

/* Does `seen` hold every required row? */
static bool all_there(struct lumos_reader *reader, const struct lumos_field *fields, size_t count, uint64_t seen) {
  for (size_t i = 0; i < count; i++) {
    if (fields[i].required && (seen >> i & 1U) == 0) {
      const char *within = reader->within == NULL ? reader->type->name : reader->within;
      return lumos_reader_fail(reader, "%s has no %.*s", within, (int)fields[i].length, fields[i].key + 2);
    }
  }
  return true;
}

static bool read_object(struct lumos_reader *reader, const struct lumos_field *object, const char **cursor) {
  char name[LUMOS_KEY_ROOM];
  struct lumos_json_members members;
  uint64_t seen = 0;
  if (!lumos_json_open(cursor, '{', &members)) {
    return lumos_reader_fail(reader, "%.*s: expected an object", (int)object->length, object->key + 2);
  }
  memcpy(name, object->key + 2, LUMOS_KEY_ROOM - 2);
  name[object->length] = '\0';
  reader->within = name;
  reader->unknown_inner.length = 0;
  bool good = read_members(reader, object->members, object->member_count, &seen, &members, cursor) &&
              all_there(reader, object->members, object->member_count, seen);
  reader->within = NULL;
  if (good && object->flag != 0) {
    *((bool *)reader->record.parts[object->part] + object->flag) = true;
  }
  if (good && reader->unknown_inner.length > 0) {
    lumos_text_put(&reader->unknown, reader->unknown.length > 0 ? ",\"" : "\"");
    lumos_text_put(&reader->unknown, name);
    lumos_text_put(&reader->unknown, "\":{");
    lumos_text_add(&reader->unknown, reader->unknown_inner.bytes, reader->unknown_inner.length);
    lumos_text_char(&reader->unknown, '}');
  }
  return good;
}

/* Remember the latest stage that has written something, and where that shows. */
static void note_stage(struct lumos_reader *reader, uint8_t stage, const char *what, size_t length) {
  reader->latest_stage = stage;
  reader->latest_line = reader->lines.number;
  reader->latest_what = what;
  reader->latest_length = (int)length;
}

static bool read_field(struct lumos_reader *reader, const struct lumos_field *field, const char **cursor) {
  reader->parts_seen |= 1U << field->part;
  if (field->by > reader->latest_stage) {
    note_stage(reader, field->by, field->key + 2, field->length);
  }
  switch (field->kind) {
    case FIELD_TYPE:
      return lumos_json_skip(cursor, NULL);
    case FIELD_OBJECT:
      return read_object(reader, field, cursor);
    default:
      return lumos_value_readers[field->kind](reader, field, lumos_slot(&reader->record, field), cursor);
  }
}

/* The next member: its row, with the cursor on its value. 1: a known one, 2: one to be kept, `key` says which; 0:
 * the object is over; -1: a fault. */
static inline int next_member(struct lumos_reader *reader, const struct lumos_field **row,
                              const struct lumos_field *fields, size_t count, struct lumos_json_members *members,
                              struct lumos_slice *key, const char **cursor) {
  size_t next = (size_t)(*row - fields);
  const char *comma = *cursor - members->first; /* where one stands, or would stand */
  if (members->first || *comma == ',') {
    for (size_t i = next; i < count; i++) {
      if (at_key(comma, &fields[i])) {
        *row = &fields[i];
        *cursor = comma + fields[i].length + 4;
        if ((unsigned char)**cursor <= ' ') {
          *cursor = lumos_json_blank(*cursor);
        }
        return 1;
      }
    }
  }
  int more = lumos_json_key(cursor, members, key);
  if (more != 1) {
    return more;
  }
  const struct lumos_field *found = find_field(reader, fields, count, next, key);
  *row = found == NULL ? *row : found;
  return found == NULL ? 2 : 1;
}

static bool read_members(struct lumos_reader *reader, const struct lumos_field *fields, size_t count, uint64_t *seen,
                         struct lumos_json_members *members, const char **cursor) {
  struct lumos_slice key;
  const struct lumos_field *row = fields; /* where to look for the next key */
  size_t first_unknown = reader->unknown_keys.count;
  for (;;) {
    int more = next_member(reader, &row, fields, count, members, &key, cursor);
    if (more <= 0) {
      reader->unknown_keys.count = first_unknown;
      return more == 0 || lumos_reader_fail_syntax(reader);
    }
    members->first = false;
    if (more == 2) {
      if (!keep_unknown(reader, &key, first_unknown, cursor)) {
        return false;
      }
      continue;
    }
    uint64_t bit = UINT64_C(1) << (unsigned)(row - fields);
    if ((*seen & bit) != 0) {
      return lumos_reader_fail(reader, "%.*s is given twice", (int)row->length, row->key + 2);
    }
    *seen |= bit;
    if (!read_field(reader, row, cursor)) {
      return false;
    }
    row++;
  }
}

/* Does `text` go on with the comma, the key and the colon of a field that is known when this is compiled? */
static inline __attribute__((always_inline)) bool at_row(const char *text, const struct lumos_field *field) {
  unsigned length = field->length + 4U;
  uint64_t differs = lumos_load_eight(text) ^ lumos_load_eight(field->key);
  if (length <= 8) {
    return (differs & lumos_first_bytes(length)) == 0;
  }
  differs |= lumos_load_eight(text + length - 8) ^ lumos_load_eight(field->key + length - 8);
  if (length > 16) {
    differs |= lumos_load_eight(text + 8) ^ lumos_load_eight(field->key + 8);
  }
  return differs == 0;
}

/* Read a field if it is the next one. */
static inline __attribute__((always_inline)) bool read_row(struct lumos_reader *reader, const struct lumos_field *field,
                                                           uint64_t bit, uint64_t *seen, const char **cursor) {
  if (!at_row(*cursor, field)) {
    return true;
  }
  *seen |= bit;
  *cursor += field->length + 4;
  if ((unsigned char)**cursor <= ' ') {
    *cursor = lumos_json_blank(*cursor);
  }
  if (field->by > reader->latest_stage ||
      !lumos_quick_value(reader, field, lumos_slot(&reader->record, field), cursor)) {
    return read_field(reader, field, cursor);
  }
  reader->parts_seen |= 1U << field->part;
  return true;
}

/* As many fields of a task or a span, which are most of a stream, as stand in the order of the rows. */
static bool read_task_rows(struct lumos_reader *reader, uint64_t *seen, const char **cursor) {
  LUMOS_EVERY_ROW
  for (size_t i = 1; i < LUMOS_ROWS(task_fields) - 1; i++) {
    if (!read_row(reader, &task_fields[i], UINT64_C(1) << i, seen, cursor)) {
      return false;
    }
  }
  return true;
}

static bool read_span_rows(struct lumos_reader *reader, uint64_t *seen, const char **cursor) {
  LUMOS_EVERY_ROW
  for (size_t i = 1; i < LUMOS_ROWS(span_fields) - 1; i++) {
    if (!read_row(reader, &span_fields[i], UINT64_C(1) << i, seen, cursor)) {
      return false;
    }
  }
  return true;
}

/* The fields of a record whose line begins as usual. */
static bool read_rows(struct lumos_reader *reader, uint64_t *seen, const char **cursor) {
  struct lumos_json_members members = {.first = false};
  const struct lumos_record_type *type = reader->type;
  if ((type == &lumos_schema[RECORD_TASK] && !read_task_rows(reader, seen, cursor)) ||
      (type == &lumos_schema[RECORD_SPAN] && !read_span_rows(reader, seen, cursor))) {
    return false;
  }
  if (**cursor == '}') {
    ++*cursor;
    return true;
  }
  return read_members(reader, type->fields, type->count, seen, &members, cursor);
}

/* The value of "type", wherever it stands. */
static bool find_type(struct lumos_reader *reader, const char *line, struct lumos_slice *type) {
  struct lumos_json_members members;
  struct lumos_slice key = {line, 0, false, false};
  const char *cursor = lumos_json_blank(line);
  if (!lumos_json_open(&cursor, '{', &members)) {
    return lumos_reader_fail_syntax(reader);
  }
  for (;;) {
    int more = lumos_json_key(&cursor, &members, &key);
    if (more == 0) {
      return lumos_reader_fail(reader, "the record has no type; this is not a Lumos stream, or it was damaged");
    }
    if (more == 1 && lumos_json_is(&key, "type")) {
      break;
    }
    if (more != 1 || !lumos_json_skip(&cursor, NULL)) {
      return lumos_reader_fail_syntax(reader);
    }
  }
  if (!lumos_json_string(&cursor, type)) {
    return lumos_reader_fail(reader, "type: expected a string");
  }
  *type = type->escaped ? lumos_reader_decode(reader, type) : *type;
  return true;
}

static const struct lumos_record_type *type_of(const struct lumos_slice *name) {
  for (int kind = 0; kind < RECORD_KINDS; kind++) {
    const char *known = lumos_schema[kind].name;
    if (strlen(known) == name->length && memcmp(known, name->bytes, name->length) == 0) {
      return &lumos_schema[kind];
    }
  }
  return NULL;
}

/* Set the structs of a task to empty: only those that the last one has touched. */
static void begin_task(struct lumos_reader *reader) {
  unsigned used = reader->task_parts_used;
  reader->record = (struct lumos_record){{&reader->task, &reader->timing, &reader->run, &reader->detail}};
  reader->task = lumos_task_empty;
  if ((used >> PART_TIMING & 1U) != 0) {
    reader->timing = lumos_timing_empty;
  }
  if ((used >> PART_RUN & 1U) != 0) {
    reader->run = lumos_run_empty;
  }
  if ((used >> PART_DETAIL & 1U) != 0) {
    reader->detail = lumos_detail_empty;
  }
}

static void begin_record(struct lumos_reader *reader) {
  const struct lumos_record_type *type = reader->type;
  if (type == &lumos_schema[RECORD_TASK]) {
    begin_task(reader);
  } else {
    bool header = type == &lumos_schema[RECORD_HEADER];
    reader->record = (struct lumos_record){{header ? (void *)reader->job : (void *)&reader->other}};
    if (type->empty[PART_MAIN] != NULL) {
      memcpy(&reader->other, type->empty[PART_MAIN], type->sizes[PART_MAIN]);
    }
  }
  reader->rank = NO_RANK;
  reader->reference_rank = NO_RANK;
  reader->lane_count = 0;
  reader->unknown.length = 0;
  reader->parts_seen = 0;
}

static bool read_foreign(struct lumos_reader *reader, const char *line, size_t length, const struct lumos_slice *type,
                         lumos_string_id *foreign) {
  const char *cursor = lumos_json_blank(line);
  if (!lumos_json_skip_valid(&cursor) || lumos_json_blank(cursor) != line + length) {
    return lumos_reader_fail_syntax(reader);
  }
  if (!lumos_utf8_valid(line, length)) {
    return lumos_reader_fail(reader, "this is not valid UTF-8; the stream was damaged on its way, make it again");
  }
  *foreign = lumos_intern(reader->job->strings, type->bytes, type->length);
  return true;
}

/* What holds for every record once its fields are read. */
static bool finish_record(struct lumos_reader *reader, uint64_t seen) {
  const struct lumos_record_type *type = reader->type;
  if (type->by > reader->latest_stage) {
    note_stage(reader, type->by, type->name, strlen(type->name));
  }
  if (reader->rank != NO_RANK && reader->reference_rank != NO_RANK && reader->rank != reader->reference_rank) {
    return lumos_reader_fail(reader, "the record is of rank %d, but its ids are of rank %d", reader->rank,
                             reader->reference_rank);
  }
  if (reader->unknown.length > 0) {
    const struct lumos_field *last = &type->fields[type->count - 1];
    if (last->kind != FIELD_UNKNOWN) {
      return lumos_reader_fail(reader, "an %s record has no other fields than type and counts", type->name);
    }
    *(lumos_string_id *)lumos_slot(&reader->record, last) =
        lumos_intern(reader->job->strings, reader->unknown.bytes, reader->unknown.length);
    reader->parts_seen |= 1U << last->part;
  }
  if (type == &lumos_schema[RECORD_TASK]) {
    reader->task_parts_used = reader->parts_seen;
  }
  return (seen & reader->required[type - lumos_schema]) == reader->required[type - lumos_schema] ||
         all_there(reader, type->fields, type->count, seen);
}

/* The type of the last record, if this line begins as such lines are written; NULL: look closer. */
static inline const struct lumos_record_type *usual_type(const struct lumos_reader *reader, const char *line) {
  const struct lumos_record_type *type = reader->type;
  return type != NULL && same_bytes(line, type->opening, type->opening_length) ? type : NULL;
}

/* A line that does not begin as its neighbours do: of another type, or written otherwise. */
static bool read_unusual(struct lumos_reader *reader, const char *line, size_t length, uint64_t *seen,
                         const char **cursor, lumos_string_id *foreign) {
  struct lumos_json_members members;
  struct lumos_slice name = {line, 0, false, false};
  if (!find_type(reader, line, &name)) {
    return false;
  }
  const struct lumos_record_type *type = type_of(&name);
  if (type == NULL) {
    return read_foreign(reader, line, length, &name, foreign);
  }
  reader->type = type;
  begin_record(reader);
  *cursor = lumos_json_blank(line);
  (void)lumos_json_open(cursor, '{', &members);
  return read_members(reader, type->fields, type->count, seen, &members, cursor);
}

bool lumos_record_read(struct lumos_reader *reader, const char *line, size_t length, lumos_string_id *foreign) {
  uint64_t seen = 0;
  const char *cursor = line;
  const struct lumos_record_type *type = usual_type(reader, line);
  *foreign = LUMOS_NO_STRING;
  if (type == NULL) {
    if (!read_unusual(reader, line, length, &seen, &cursor, foreign)) {
      return false;
    }
    if (*foreign != LUMOS_NO_STRING) {
      return true;
    }
  } else {
    seen = 1; /* the type */
    cursor += type->opening_length;
    begin_record(reader);
    if (!read_rows(reader, &seen, &cursor)) {
      return false;
    }
  }
  if (cursor != line + length && lumos_json_blank(cursor) != line + length) {
    return lumos_reader_fail(reader, "something stands behind the record; every record is a line of its own");
  }
  return finish_record(reader, seen);
}
