/* What the writer's files share: write.c walks records, write_values.c writes the value of a field.
 *
 * The place to write at travels through the functions as a pointer, and a record is begun with room for everything of
 * bounded length in it, so that only strings and lists look whether there is room.
 */
#ifndef LUMOS_STREAM_WRITE_H
#define LUMOS_STREAM_WRITE_H

#include "base/text.h"
#include "stream/schema.h"
#include <string.h>

/* More than the keys, numbers and ids of one record take together: 64 fields of 24 bytes of key and 2 numbers. */
enum { LUMOS_WRITER_ROOM = 64 * (LUMOS_KEY_ROOM + 2 * 24) };

struct lumos_writer {
  const struct lumos_job *job;
  struct lumos_text *text;
  const char *end;  /* of the room in text */
  uint8_t *escapes; /* for every string: what writing it takes */
  int32_t rank;     /* the record's */
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

/* A key without its first `skip` bytes. All bytes of the array are copied, for a fixed number is faster. */
static inline char *lumos_put_key(char *out, const struct lumos_field *field, size_t skip) {
  memcpy(out, field->key + skip, LUMOS_KEY_ROOM - 1);
  return out + field->length + 4 - skip;
}

/* The value of a field (of no object) from its slot, by kind of field; returns the place behind it. */
typedef char *lumos_value_writer(struct lumos_writer *writer, char *out, const struct lumos_field *field,
                                 const void *slot);
extern lumos_value_writer *const lumos_value_writers[FIELD_KINDS];

#endif
