/* What the writer's files share: write.c walks the job, write_record.c writes a record, write_values.c the values of
 * the rarer kinds of fields.
 *
 * The place to write at travels through the functions as a pointer, and a record is begun with room for everything of
 * bounded length in it, so that only strings and lists look whether there is room.
 */
#ifndef LUMOS_STREAM_WRITE_H
#define LUMOS_STREAM_WRITE_H

#include "base/digits.h"
#include "base/text.h"
#include "job/schema.h"
#include <string.h>

/* More than the keys, numbers and ids of one record take together: 64 fields of 24 bytes of key and 2 numbers. */
enum { LUMOS_WRITER_ROOM = 64 * (LUMOS_KEY_ROOM + 2 * LUMOS_DIGITS_WRITTEN) };

/* What stands between the quotes of a string. */
struct lumos_written {
  const char *bytes; /* NULL: not known yet */
  size_t length;
};

struct lumos_writer {
  const struct lumos_job *job;
  struct lumos_text *text;
  const char *end;                /* of the room in text */
  struct lumos_written *strings;  /* by their ids */
  struct lumos_arena *escaped;    /* those that do not stand in the stream as they are */
  int32_t rank;                   /* the record's */
  char id_start[LUMOS_NAME_ROOM]; /* of the ids of its tasks and spans: the quote, the rank and the colon */
  size_t id_start_length;
  uint64_t counts[RECORD_KINDS];
};

/* Go on behind what stands in the text, with room for `extra` bytes and LUMOS_WRITER_ROOM behind them. */
static inline char *lumos_writer_resume(struct lumos_writer *writer, size_t extra) {
  char *out = lumos_text_room(writer->text, extra + LUMOS_WRITER_ROOM);
  writer->end = writer->text->bytes + writer->text->capacity;
  return out;
}

/* All that stands before `out` is written. */
static inline void lumos_writer_pause(struct lumos_writer *writer, const char *out) {
  writer->text->length = (size_t)(out - writer->text->bytes);
}

/* Make sure that there is room for `extra` bytes, and LUMOS_WRITER_ROOM behind them. */
static inline char *lumos_writer_room(struct lumos_writer *writer, char *out, size_t extra) {
  if ((size_t)(writer->end - out) >= extra + LUMOS_WRITER_ROOM) {
    return out;
  }
  lumos_writer_pause(writer, out);
  return lumos_writer_resume(writer, extra);
}

static inline char *lumos_put(char *out, const char *bytes, size_t length) {
  memcpy(out, bytes, length);
  return out + length;
}
#define LUMOS_PUT(out, literal) lumos_put((out), literal, sizeof(literal) - 1)

/* The same for short pieces of any length: those of up to 32 bytes are copied from both ends. */
static inline char *lumos_put_bytes(char *out, const char *bytes, size_t length) {
  if (length > 32) {
    memcpy(out, bytes, length);
  } else if (length >= 16) {
    memcpy(out, bytes, 16);
    memcpy(out + length - 16, bytes + length - 16, 16);
  } else if (length >= 8) {
    memcpy(out, bytes, 8);
    memcpy(out + length - 8, bytes + length - 8, 8);
  } else if (length >= 4) {
    memcpy(out, bytes, 4);
    memcpy(out + length - 4, bytes + length - 4, 4);
  } else {
    for (size_t i = 0; i < length; i++) {
      out[i] = bytes[i];
    }
  }
  return out + length;
}

/* A key without its first `skip` bytes. All bytes of the array are copied, for a fixed number is faster. */
static inline char *lumos_put_key(char *out, const struct lumos_field *field, size_t skip) {
  memcpy(out, field->key + skip, LUMOS_KEY_ROOM - 1);
  return out + field->length + 4 - skip;
}

/* A string in quotes: write_values.c finds out how each is written, once. */
struct lumos_written lumos_writer_string(struct lumos_writer *writer, lumos_string_id string);
static inline char *lumos_put_string(struct lumos_writer *writer, char *out, lumos_string_id string) {
  struct lumos_written written = writer->strings[string];
  if (written.bytes == NULL) {
    written = lumos_writer_string(writer, string);
  }
  out = lumos_writer_room(writer, out, written.length + 2);
  *out = '"';
  out = lumos_put_bytes(out + 1, written.bytes, written.length);
  *out = '"';
  return out + 1;
}

static inline char *lumos_put_id(char *out, int32_t rank, uint32_t id) {
  *out = '"';
  out = lumos_digits_write(out + 1, (uint64_t)rank);
  *out = ':';
  out = lumos_digits_write(out + 1, id);
  *out = '"';
  return out + 1;
}

/* The value of a field from its slot, by kind of field: of those that write_record.c does not write itself, the others
 * are NULL. Returns the place behind it. */
typedef char *lumos_value_writer(struct lumos_writer *writer, char *out, const struct lumos_field *field,
                                 const void *slot);
extern lumos_value_writer *const lumos_value_writers[FIELD_KINDS];

/* One record, a line; the last row of its type is that of unknown members. */
void lumos_put_record(struct lumos_writer *writer, enum lumos_record_kind kind, const struct lumos_record *record);

#endif
