/* The values of fields: one function for each kind but lists. */
#include "stream/values.h"

#include "base/ascii.h"
#include "stream/quick.h"
#include <stdio.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static const int64_t too_large = LUMOS_TOO_LARGE;

/* A value that is not what its field holds. */
bool lumos_fail_value(struct lumos_reader *reader, const struct lumos_field *field, const char *cursor,
                      const char *expected) {
  const char *within = reader->within == NULL ? "" : reader->within;
  const char *point = reader->within == NULL ? "" : ".";
  if (strncmp(cursor, "null", 4) == 0) {
    return lumos_reader_fail(reader, "%s%s%.*s is null; leave out what is unknown", within, point, (int)field->length,
                             field->key + 2);
  }
  return lumos_reader_fail(reader, "%s%s%.*s: expected %s, found %.40s", within, point, (int)field->length,
                           field->key + 2, expected, cursor);
}

/* The same for an integer out of its range. */
static bool fail_range(struct lumos_reader *reader, const struct lumos_field *field, const char *cursor,
                       const char *limit) {
  static const char *const least[] = {"", " of at least 0 and", " of at least 1 and"};
  char expected[64];
  (void)snprintf(expected, sizeof expected, "an integer%s below %s", least[field->least], limit);
  return lumos_fail_value(reader, field, cursor, expected);
}

/* An integer in [least, most]; what is beyond reads as no integer. */
static inline bool read_bounded(const char **cursor, int64_t least, int64_t most, int64_t *value) {
  return lumos_quick_whole(cursor, least, most, value) ||
         (lumos_json_integer(cursor, value) && *value >= least && *value <= most);
}

bool lumos_read_integer(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  if (!read_bounded(cursor, lumos_least_of(field, 1 - too_large), too_large - 1, slot)) {
    return fail_range(reader, field, start, "2^53");
  }
  return true;
}

bool lumos_read_small(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  int64_t value = 0;
  if (!read_bounded(cursor, lumos_least_of(field, -INT32_MAX), INT32_MAX, &value)) {
    return fail_range(reader, field, start, "2^31");
  }
  *(int32_t *)slot = (int32_t)value;
  return true;
}

bool lumos_read_ordinal(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  int64_t value = 0;
  if (!read_bounded(cursor, 0, LUMOS_NONE - INT64_C(1), &value)) {
    return lumos_fail_value(reader, field, start, "a number from 0 to 2^32-2");
  }
  *(uint32_t *)slot = (uint32_t)value;
  return true;
}

bool lumos_read_rank(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  int64_t value = 0;
  (void)slot;
  if (!read_bounded(cursor, 0, INT32_MAX, &value)) {
    return lumos_fail_value(reader, field, start, "a rank's number");
  }
  reader->rank = (int32_t)value;
  return true;
}

struct lumos_slice lumos_reader_decode(struct lumos_reader *reader, const struct lumos_slice *escaped) {
  lumos_vector_reserve(&reader->decoded, escaped->length);
  return (struct lumos_slice){reader->decoded.items, lumos_json_decode(escaped, reader->decoded.items, NULL), false,
                              false};
}

/* The first byte from `place` on that ends a run of a string's plain ones: a quote, a backslash, or below 0x20. Names
 * are long, so sixteen are looked at together. */
static inline const char *run_end(const char *place) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i control = _mm_set1_epi8(0x1F);
  for (;; place += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)place);
    __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
    ends = _mm_or_si128(ends, _mm_cmpeq_epi8(bytes, _mm_min_epu8(bytes, control)));
    unsigned found = (unsigned)_mm_movemask_epi8(ends);
    if (found != 0) {
      return place + __builtin_ctz(found);
    }
  }
#else
  while ((unsigned char)*place >= 0x20 && *place != '"' && *place != '\\') {
    place++;
  }
  return place;
#endif
}

/* The string at the cursor, its escapes not decoded. */
static inline bool read_text(const char **cursor, struct lumos_slice *text) {
  if (**cursor != '"') {
    return false;
  }
  const char *start = *cursor + 1;
  const char *end = run_end(start);
  text->escaped = *end == '\\';
  while (*end == '\\' && (unsigned char)end[1] >= 0x20) {
    end = run_end(end + 2);
  }
  text->bytes = start;
  text->length = (size_t)(end - start);
  *cursor = end + 1;
  return *end == '"';
}

void lumos_remembered_begin(struct lumos_remembered *remembered) {
  static const struct lumos_probe nothing = {{UINT64_MAX, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}};
  remembered->lane = nothing;
  remembered->id_start = nothing;
  remembered->escaped = lumos_strings_new();
  lumos_vector_push(&remembered->meant, LUMOS_NO_STRING);
}

void lumos_remembered_finish(struct lumos_remembered *remembered) {
  lumos_strings_free(remembered->escaped);
  lumos_vector_free(&remembered->meant);
}

/* Look for these bytes from now on, if they are few enough. */
static bool set_probe(struct lumos_probe *probe, const char *bytes, size_t length) {
  if (length > sizeof probe->bytes) {
    return false;
  }
  for (unsigned half = 0; half < 2; half++) {
    unsigned before = 8 * half;
    probe->bits[half] = length <= before ? 0 : lumos_first_bytes((unsigned)length - before);
    probe->bytes[half] = length <= before ? 0 : lumos_load_eight(bytes + before);
  }
  return true;
}

/* A string that was not remembered. *kept: where its bytes, as they stand in the stream, stay. */
static lumos_string_id new_string(struct lumos_reader *reader, const struct lumos_slice *text, const char **kept) {
  enum { LONGEST_KEPT = 4096 };
  struct lumos_strings *strings = reader->job->strings;
  struct lumos_remembered *remembered = &reader->remembered;
  *kept = NULL;
  if (!text->escaped) {
    lumos_string_id id = lumos_intern(strings, text->bytes, text->length);
    *kept = lumos_string(strings, id);
    return id;
  }
  uint32_t number = LUMOS_NO_STRING;
  if (text->length <= LONGEST_KEPT) {
    number = lumos_intern(remembered->escaped, text->bytes, text->length);
    *kept = lumos_string(remembered->escaped, number);
    if (number < remembered->meant.count) {
      return remembered->meant.items[number];
    }
  }
  struct lumos_slice plain = lumos_reader_decode(reader, text);
  lumos_string_id id = lumos_intern(strings, plain.bytes, plain.length);
  if (*kept != NULL) {
    lumos_vector_push(&remembered->meant, id);
  }
  return id;
}

/* Where a string is remembered: told by how long it is and by its first and last bytes. */
static inline size_t string_place(const struct lumos_slice *text) {
  uint64_t first = lumos_load_eight(text->bytes);
  uint64_t last = 0;
  if (text->length >= 8) {
    last = lumos_load_eight(text->bytes + text->length - 8);
  } else {
    first &= lumos_first_bytes((unsigned)text->length);
  }
  return (size_t)(lumos_hash_mix(first ^ text->length << 56U, last) >> 20U) % STRINGS_REMEMBERED;
}

bool lumos_read_string(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  struct lumos_slice text;
  if (!read_text(cursor, &text)) {
    return lumos_fail_value(reader, field, start, "a string");
  }
  size_t place = string_place(&text);
  const char *bytes = reader->remembered.strings[place].bytes;
  if (bytes != NULL && reader->remembered.strings[place].length == text.length &&
      memcmp(bytes, text.bytes, text.length) == 0) {
    *(lumos_string_id *)slot = reader->remembered.strings[place].id;
    return true;
  }
  lumos_string_id id = new_string(reader, &text, &bytes);
  *(lumos_string_id *)slot = id;
  reader->remembered.strings[place].bytes = bytes;
  reader->remembered.strings[place].length = (uint32_t)text.length;
  reader->remembered.strings[place].id = id;
  return true;
}

bool lumos_read_lane(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  if (!lumos_read_string(reader, field, slot, cursor)) {
    return false;
  }
  struct lumos_remembered *remembered = &reader->remembered;
  size_t length = (size_t)(*cursor - start);
  if (set_probe(&remembered->lane, start, length)) {
    remembered->lane_name = *(lumos_string_id *)slot;
    remembered->lane_length = length;
  }
  reader->lanes[reader->lane_count].slot = slot;
  reader->lanes[reader->lane_count++].lane = *(lumos_string_id *)slot;
  return true;
}

bool lumos_read_name(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  struct lumos_slice text;
  int value = -1;
  if (read_text(cursor, &text)) {
    text = text.escaped ? lumos_reader_decode(reader, &text) : text;
    value = lumos_names_find(field->names, text.bytes, text.length);
  }
  if (value < 0) {
    return lumos_fail_value(reader, field, start, "one of the names that this field may have");
  }
  size_t place = lumos_name_place(field, lumos_load_eight(field->names->names[value]));
  reader->remembered.names[place].names = field->names;
  reader->remembered.names[place].value = value;
  *(uint8_t *)slot = (uint8_t)value;
  return true;
}

bool lumos_read_stage(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  uint8_t stage = 0;
  if (!lumos_read_name(reader, field, &stage, cursor)) {
    return false;
  }
  *(enum lumos_stage *)slot = (enum lumos_stage)stage;
  return true;
}

/* Up to ten decimal digits without leading zeros. */
static inline bool read_digits(const char **cursor, uint64_t *value) {
  unsigned count = lumos_digits_read(*cursor, value);
  bool good = count > 0 && count <= 10 && (**cursor != '0' || count == 1);
  *cursor += count;
  return good;
}

/* "RANK:N" */
static bool read_reference(struct lumos_reader *reader, const struct lumos_field *field, const char **cursor,
                           int32_t *rank, uint32_t *id) {
  const char *place = *cursor + 1;
  uint64_t first = 0;
  uint64_t second = 0;
  if (**cursor == '"' && read_digits(&place, &first) && *place++ == ':' && read_digits(&place, &second) &&
      *place == '"' && first <= INT32_MAX && second < LUMOS_NONE) {
    *cursor = place + 1;
    *rank = (int32_t)first;
    *id = (uint32_t)second;
    return true;
  }
  return lumos_fail_value(reader, field, *cursor, "an id such as \"0:17\"");
}

bool lumos_read_own_reference(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                              const char **cursor) {
  const char *start = *cursor;
  int32_t rank = NO_RANK;
  if (!read_reference(reader, field, cursor, &rank, slot)) {
    return false;
  }
  if (reader->reference_rank != NO_RANK && reader->reference_rank != rank) {
    return lumos_reader_fail(reader,
                             "%.*s is of rank %d, but another id in this record of rank %d; they must be of one rank",
                             (int)field->length, field->key + 2, rank, reader->reference_rank);
  }
  reader->reference_rank = rank;
  struct lumos_remembered *remembered = &reader->remembered;
  size_t length = (size_t)(strchr(start, ':') - start) + 1;
  if (set_probe(&remembered->id_start, start, length)) {
    remembered->id_start_length = length;
    remembered->id_rank = rank;
  }
  return true;
}

bool lumos_read_any_task(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                         const char **cursor) {
  struct lumos_far far;
  if (!read_reference(reader, field, cursor, &far.rank, &far.id)) {
    return false;
  }
  if (reader->far.count >= LUMOS_NONE) {
    return lumos_reader_fail(reader, "more than 2^32-2 references; no Lumos stream has so many");
  }
  *(uint32_t *)slot = (uint32_t)reader->far.count;
  lumos_vector_push(&reader->far, far);
  return true;
}

bool lumos_read_origin(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  return read_reference(reader, field, cursor, slot, (uint32_t *)slot + 1);
}

bool lumos_read_collective_id(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                              const char **cursor) {
  const char *place = *cursor;
  uint64_t id = 0;
  if (strncmp(place, "\"c:", 3) == 0) {
    place += 3;
    if (read_digits(&place, &id) && *place == '"' && id < LUMOS_NONE) {
      *(uint32_t *)slot = (uint32_t)id;
      *cursor = place + 1;
      return true;
    }
  }
  return lumos_fail_value(reader, field, *cursor, "an id such as \"c:17\"");
}

bool lumos_read_epoch(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *place = *cursor + 1;
  if (**cursor != '"' || !lumos_is_digit(*place) || !lumos_json_integer(&place, slot) || *place != '"') {
    return lumos_fail_value(reader, field, *cursor, "a string of digits: nanoseconds since 1970");
  }
  *cursor = place + 1;
  return true;
}

/* Digits of a number's whole part and fraction into `units`: false, they are more than it holds. */
static bool gather_digits(const char **cursor, int64_t *units, int *digits) {
  const char *place = *cursor;
  for (*digits = 0; lumos_is_digit(*place); place++, ++*digits) {
    if (__builtin_mul_overflow(*units, 10, units) || __builtin_add_overflow(*units, *place - '0', units)) {
      return false;
    }
  }
  *cursor = place;
  return *digits > 0;
}

/* A number with at most 6 decimals, trailing zeros and small exponents (as jq writes them) allowed. */
static bool read_exact(const char **cursor, struct lumos_decimal *out) {
  const char *place = *cursor + (**cursor == '-');
  bool negative = **cursor == '-';
  int64_t units = 0;
  int digits = 0;
  int decimals = 0;
  if ((*place == '0' && lumos_is_digit(place[1])) || !gather_digits(&place, &units, &digits)) {
    return false;
  }
  if (*place == '.') {
    place++;
    if (!gather_digits(&place, &units, &decimals)) {
      return false;
    }
  }
  if (*place == 'e' || *place == 'E') {
    int64_t exponent = 0;
    bool down = place[1] == '-';
    place += place[1] == '-' || place[1] == '+' ? 2 : 1;
    if (!gather_digits(&place, &exponent, &digits) || exponent > 18) {
      return false;
    }
    decimals += down ? (int)exponent : -(int)exponent;
  }
  for (; decimals < 0; decimals++) {
    if (units > too_large) {
      return false;
    }
    units *= 10;
  }
  for (; decimals > 0 && units % 10 == 0; decimals--) {
    units /= 10;
  }
  *out = (struct lumos_decimal){negative ? -units : units, decimals};
  *cursor = place;
  return decimals <= 6;
}

bool lumos_read_decimal(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  struct lumos_decimal *decimal = slot;
  int64_t whole = 0;
  if (read_exact(cursor, decimal)) {
    whole = decimal->units;
    for (int i = 0; i < decimal->decimals; i++) {
      whole /= 10;
    }
    bool low = field->least == LEAST_ANY ? whole <= -too_large : decimal->units < 0;
    if (!low && whole < too_large) {
      return true;
    }
  }
  return lumos_fail_value(reader, field, start,
                          field->least == LEAST_ANY ? "a number below 2^53 with at most 6 decimals"
                                                    : "a number of at least 0 and below 2^53 with at most 6 decimals");
}

bool lumos_read_millionths(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                           const char **cursor) {
  const char *start = *cursor;
  struct lumos_decimal decimal;
  if (!read_exact(cursor, &decimal) || decimal.units < 0 || decimal.units > INT32_MAX) {
    return lumos_fail_value(reader, field, start, "a number from 0 to 2147 with at most 6 decimals");
  }
  for (; decimal.decimals < 6; decimal.decimals++) {
    decimal.units *= 10;
  }
  if (decimal.units > INT32_MAX) {
    return lumos_fail_value(reader, field, start, "a number from 0 to 2147 with at most 6 decimals");
  }
  *(int32_t *)slot = (int32_t)decimal.units;
  return true;
}

bool lumos_read_window(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  struct lumos_json_members items;
  int64_t *instants = slot;
  int count = 0;
  int more = lumos_json_open(cursor, '[', &items) ? lumos_json_item(cursor, &items) : -1;
  for (; more == 1 && count < 2; count++) {
    if (!lumos_read_integer(reader, field, &instants[count], cursor)) {
      return false;
    }
    more = lumos_json_item(cursor, &items);
  }
  return (more == 0 && count == 2 && instants[0] <= instants[1]) ||
         lumos_fail_value(reader, field, start, "two instants, [start,end]");
}

bool lumos_read_format(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  int64_t format = 0;
  (void)slot;
  if (!lumos_json_integer(cursor, &format) || format < 1) {
    return lumos_fail_value(reader, field, start, "a format's number");
  }
  if (format > LUMOS_FORMAT_VERSION) {
    return lumos_reader_fail(
        reader, "format %lld: the stream was written by a newer lumos, and this one knows format %d; update it",
        (long long)format, LUMOS_FORMAT_VERSION);
  }
  return true;
}
