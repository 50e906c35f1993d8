/* Values as they are written, read without a call. Each of these functions returns false and leaves the cursor where it
 * stands when a value looks in any way unusual; then the reader of its kind (values.h) takes it, or says what is wrong
 * with it. Bytes behind the line can be read.
 */
#ifndef LUMOS_STREAM_QUICK_H
#define LUMOS_STREAM_QUICK_H

#include "base/digits.h"
#include "base/hash.h"
#include "stream/reader.h"

/* Numbers are below this in size. */
#define LUMOS_TOO_LARGE (INT64_C(1) << 53U)

static inline bool lumos_probe_at(const char *text, const struct lumos_probe *probe) {
  uint64_t first = (lumos_load_eight(text) ^ probe->bytes[0]) & probe->bits[0];
  uint64_t second = (lumos_load_eight(text + 8) ^ probe->bytes[1]) & probe->bits[1];
  return (first | second) == 0;
}

/* How many of eight bytes stand before the first quote; 8: there is none. */
static inline unsigned lumos_before_quote(uint64_t eight) {
  static const uint64_t each = UINT64_MAX / 255;
  uint64_t differs = eight ^ each * '"';
  uint64_t quotes = (differs - each) & ~differs & each * 0x80; /* exact up to the first one */
  return quotes == 0 ? 8 : (unsigned)__builtin_ctzll(quotes) >> 3U;
}

/* The bits of the first `count` of eight bytes. */
static inline uint64_t lumos_first_bytes(unsigned count) {
  return count >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * count) - 1;
}

/* The least value of a field whose type allows values down to `least`. */
static inline int64_t lumos_least_of(const struct lumos_field *field, int64_t least) {
  return field->least == LEAST_ANY ? least : field->least == LEAST_ONE;
}

/* A whole number with nothing behind it but the next field or the end of the object. */
static inline __attribute__((always_inline)) bool lumos_quick_whole(const char **cursor, int64_t least, int64_t most,
                                                                    int64_t *value) {
  bool negative = least < 0 && **cursor == '-';
  const char *place = *cursor + negative;
  uint64_t magnitude = 0;
  unsigned count = lumos_digits_read(place, &magnitude);
  unsigned char behind = (unsigned char)place[count];
  int64_t number = negative ? -(int64_t)magnitude : (int64_t)magnitude;
  bool ends = (behind == ',') | (behind == '}');
  bool proper = (count == 1) | ((count != 0) & (*place != '0'));
  if (!(ends & proper & (number >= least) & (number <= most))) {
    return false;
  }
  *value = number;
  *cursor = place + count;
  return true;
}

/* The same for numbers that mostly have one digit. */
static inline __attribute__((always_inline)) bool lumos_quick_small(const char **cursor, int64_t least, int64_t most,
                                                                    int64_t *value) {
  unsigned digit = (unsigned)(unsigned char)**cursor - '0';
  if (digit < 10 && (*cursor)[1] == ',' && digit >= least) {
    *value = digit;
    ++*cursor;
    return true;
  }
  return lumos_quick_whole(cursor, least, most, value);
}

/* "RANK:N", RANK that of the last one: of this record, where it had one before, for a record's ids are of one rank. */
static inline bool lumos_quick_id(struct lumos_reader *reader, uint32_t *slot, const char **cursor) {
  const struct lumos_remembered *remembered = &reader->remembered;
  const char *place = *cursor + remembered->id_start_length;
  uint64_t id = 0;
  if (!lumos_probe_at(*cursor, &remembered->id_start)) {
    return false;
  }
  unsigned count = lumos_digits_read(place, &id);
  if (place[count] != '"' || count == 0 || (*place == '0' && count > 1) || id >= LUMOS_NONE) {
    return false;
  }
  reader->reference_rank = remembered->id_rank;
  *slot = (uint32_t)id;
  *cursor = place + count + 1;
  return true;
}

/* The lane of the line before. */
static inline bool lumos_quick_lane(struct lumos_reader *reader, uint32_t *slot, const char **cursor) {
  const struct lumos_remembered *remembered = &reader->remembered;
  if (!lumos_probe_at(*cursor, &remembered->lane)) {
    return false;
  }
  *slot = remembered->lane_name;
  *cursor += remembered->lane_length;
  reader->lanes[reader->lane_count].slot = slot;
  reader->lanes[reader->lane_count++].lane = remembered->lane_name;
  return true;
}

/* Where the value of a name is remembered, told by the field and the name's first eight bytes. */
static inline size_t lumos_name_place(const struct lumos_field *field, uint64_t first) {
  return (size_t)(lumos_hash_mix(field->offset, first) % NAMES_REMEMBERED);
}

/* One of a table of names, up to 15 bytes, if it came before. */
static inline bool lumos_quick_name(struct lumos_reader *reader, const struct lumos_field *field, uint8_t *slot,
                                    const char **cursor) {
  uint64_t first = lumos_load_eight(*cursor + 1);
  uint64_t second = 0;
  unsigned length = lumos_before_quote(first);
  first &= lumos_first_bytes(length);
  if (length == 8) {
    second = lumos_load_eight(*cursor + 9);
    unsigned more = lumos_before_quote(second);
    second &= lumos_first_bytes(more);
    length += more;
  }
  size_t place = lumos_name_place(field, first);
  int value = reader->remembered.names[place].value;
  const char *name = field->names->names[value];
  if (reader->remembered.names[place].names != field->names || **cursor != '"' || lumos_load_eight(name) != first ||
      lumos_load_eight(name + 8) != second) {
    return false;
  }
  *slot = (uint8_t)value;
  *cursor += length + 2;
  return true;
}

/* The value of a field, by its kind; false also for kinds that are not read quickly. */
static inline __attribute__((always_inline)) bool
lumos_quick_value(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  int64_t value = 0;
  switch (field->kind) {
    case FIELD_INTEGER:
    case FIELD_INSTANT:
      return lumos_quick_whole(cursor, lumos_least_of(field, 1 - LUMOS_TOO_LARGE), LUMOS_TOO_LARGE - 1, slot);
    case FIELD_SMALL:
      if (!lumos_quick_small(cursor, lumos_least_of(field, -INT32_MAX), INT32_MAX, &value)) {
        return false;
      }
      *(int32_t *)slot = (int32_t)value;
      return true;
    case FIELD_ORDINAL:
      if (!lumos_quick_whole(cursor, 0, LUMOS_NONE - INT64_C(1), &value)) {
        return false;
      }
      *(uint32_t *)slot = (uint32_t)value;
      return true;
    case FIELD_RANK:
      if (!lumos_quick_small(cursor, 0, INT32_MAX, &value)) {
        return false;
      }
      reader->rank = (int32_t)value;
      return true;
    case FIELD_NAME:
      return lumos_quick_name(reader, field, slot, cursor);
    case FIELD_ID:
    case FIELD_TASK:
    case FIELD_SPAN:
      return lumos_quick_id(reader, slot, cursor);
    case FIELD_LANE:
      return lumos_quick_lane(reader, slot, cursor);
    default:
      return false;
  }
}

#endif
