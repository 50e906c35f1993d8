/* The values of fields: one function for each kind, in a table by kind. */
#include "stream/reader.h"

#include <string.h>

static const int64_t too_large = INT64_C(1) << 53U;

/* A value that is not what its field holds. */
static bool fail_value(struct lumos_reader *reader, const struct lumos_field *field, const char *cursor,
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

/* An integer in [least, most]; what is beyond reads as no integer. */
static bool read_bounded(const char **cursor, int64_t least, int64_t most, int64_t *value) {
  return lumos_json_integer(cursor, value) && *value >= least && *value <= most;
}

static bool read_integer(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                         const char **cursor) {
  const char *start = *cursor;
  return read_bounded(cursor, 1 - too_large, too_large - 1, slot) ||
         fail_value(reader, field, start, "an integer below 2^53");
}

static bool read_small(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  int64_t value = 0;
  if (!read_bounded(cursor, -INT32_MAX, INT32_MAX, &value)) {
    return fail_value(reader, field, start, "an integer below 2^31");
  }
  *(int32_t *)slot = (int32_t)value;
  return true;
}

static bool read_ordinal(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                         const char **cursor) {
  const char *start = *cursor;
  int64_t value = 0;
  if (!read_bounded(cursor, 0, LUMOS_NONE - INT64_C(1), &value)) {
    return fail_value(reader, field, start, "a number from 0 to 2^32-2");
  }
  *(uint32_t *)slot = (uint32_t)value;
  return true;
}

static bool read_rank(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  int64_t value = 0;
  (void)slot;
  if (!read_bounded(cursor, 0, INT32_MAX, &value)) {
    return fail_value(reader, field, start, "a rank's number");
  }
  reader->rank = (int32_t)value;
  return true;
}

struct lumos_slice lumos_reader_decode(struct lumos_reader *reader, const struct lumos_slice *escaped) {
  lumos_vector_reserve(&reader->decoded, escaped->length);
  return (struct lumos_slice){reader->decoded.items, lumos_json_decode(escaped, reader->decoded.items), false};
}

/* The string at the cursor, its escapes decoded; valid until the next call. */
static bool read_text(struct lumos_reader *reader, const char **cursor, struct lumos_slice *text) {
  if (!lumos_json_string(cursor, text)) {
    return false;
  }
  if (text->escaped) {
    *text = lumos_reader_decode(reader, text);
  }
  return true;
}

static bool read_string(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  struct lumos_slice text;
  if (!read_text(reader, cursor, &text)) {
    return fail_value(reader, field, start, "a string");
  }
  *(lumos_string_id *)slot = lumos_intern(reader->job->strings, text.bytes, text.length);
  return true;
}

static bool read_lane(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  if (!read_string(reader, field, slot, cursor)) {
    return false;
  }
  reader->lanes[reader->lane_count].slot = slot;
  reader->lanes[reader->lane_count++].lane = *(lumos_string_id *)slot;
  return true;
}

static bool read_name(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  struct lumos_slice text;
  int value = -1;
  if (read_text(reader, cursor, &text)) {
    value = lumos_names_find(field->names, text.bytes, text.length);
  }
  if (value < 0) {
    return fail_value(reader, field, start, "one of the names that this field may have");
  }
  *(uint8_t *)slot = (uint8_t)value;
  return true;
}

static bool read_stage(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  uint8_t stage = 0;
  if (!read_name(reader, field, &stage, cursor)) {
    return false;
  }
  *(enum lumos_stage *)slot = (enum lumos_stage)stage;
  return true;
}

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/* Decimal digits without leading zeros, at most `most`. */
static bool read_digits(const char **cursor, uint64_t most, uint64_t *value) {
  const char *place = *cursor;
  *value = 0;
  if (!is_digit(*place) || (*place == '0' && is_digit(place[1]))) {
    return false;
  }
  for (; is_digit(*place); place++) {
    *value = *value * 10 + (uint64_t)(*place - '0');
    if (*value > most) {
      return false;
    }
  }
  *cursor = place;
  return true;
}

/* "RANK:N" */
static bool read_reference(struct lumos_reader *reader, const struct lumos_field *field, const char **cursor,
                           int32_t *rank, uint32_t *id) {
  const char *place = *cursor;
  uint64_t first = 0;
  uint64_t second = 0;
  if (*place == '"') {
    place++;
    if (read_digits(&place, INT32_MAX, &first) && *place == ':') {
      place++;
      if (read_digits(&place, LUMOS_NONE - UINT64_C(1), &second) && *place == '"') {
        *cursor = place + 1;
        *rank = (int32_t)first;
        *id = (uint32_t)second;
        return true;
      }
    }
  }
  return fail_value(reader, field, *cursor, "an id such as \"0:17\"");
}

static bool read_own_reference(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                               const char **cursor) {
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
  return true;
}

static bool read_any_task(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                          const char **cursor) {
  struct lumos_far far;
  if (!read_reference(reader, field, cursor, &far.rank, &far.id)) {
    return false;
  }
  if (reader->far.count >= LUMOS_NONE) {
    return lumos_reader_fail(reader, "more than 2^32-2 references; no stream of Lumos has so many");
  }
  *(uint32_t *)slot = (uint32_t)reader->far.count;
  lumos_vector_push(&reader->far, far);
  return true;
}

static bool read_origin(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  return read_reference(reader, field, cursor, slot, (uint32_t *)slot + 1);
}

static bool read_collective_id(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                               const char **cursor) {
  const char *place = *cursor;
  uint64_t id = 0;
  if (strncmp(place, "\"c:", 3) == 0) {
    place += 3;
    if (read_digits(&place, LUMOS_NONE - UINT64_C(1), &id) && *place == '"') {
      *(uint32_t *)slot = (uint32_t)id;
      *cursor = place + 1;
      return true;
    }
  }
  return fail_value(reader, field, *cursor, "an id such as \"c:17\"");
}

static bool read_epoch(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *place = *cursor + (**cursor == '"');
  uint64_t value = 0;
  if (**cursor != '"' || !read_digits(&place, INT64_MAX, &value) || *place != '"') {
    return fail_value(reader, field, *cursor, "a string of digits: nanoseconds since 1970");
  }
  *(int64_t *)slot = (int64_t)value;
  *cursor = place + 1;
  return true;
}

/* Digits of a number's whole part and fraction into `units`, at most 18 of them. */
static bool gather_digits(const char **cursor, int64_t *units, int *digits) {
  const char *place = *cursor;
  for (*digits = 0; is_digit(*place); place++, ++*digits) {
    if (*units > INT64_MAX / 100) {
      return false;
    }
    *units = *units * 10 + (*place - '0');
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
  if ((*place == '0' && is_digit(place[1])) || !gather_digits(&place, &units, &digits)) {
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

static bool read_decimal(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                         const char **cursor) {
  const char *start = *cursor;
  struct lumos_decimal *decimal = slot;
  int64_t whole = 0;
  if (read_exact(cursor, decimal)) {
    whole = decimal->units;
    for (int i = 0; i < decimal->decimals; i++) {
      whole /= 10;
    }
    if (whole > -too_large && whole < too_large) {
      return true;
    }
  }
  return fail_value(reader, field, start, "a number below 2^53 with at most 6 decimals");
}

static bool read_millionths(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                            const char **cursor) {
  const char *start = *cursor;
  struct lumos_decimal decimal;
  if (!read_exact(cursor, &decimal) || decimal.units < 0 || decimal.units > INT32_MAX) {
    return fail_value(reader, field, start, "a number from 0 to 2147 with at most 6 decimals");
  }
  for (; decimal.decimals < 6; decimal.decimals++) {
    decimal.units *= 10;
  }
  if (decimal.units > INT32_MAX) {
    return fail_value(reader, field, start, "a number from 0 to 2147 with at most 6 decimals");
  }
  *(int32_t *)slot = (int32_t)decimal.units;
  return true;
}

static bool read_window(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  struct lumos_json_members items;
  int64_t *instants = slot;
  int count = 0;
  int more = lumos_json_open(cursor, '[', &items) ? lumos_json_item(cursor, &items) : -1;
  for (; more == 1 && count < 2; count++) {
    if (!read_integer(reader, field, &instants[count], cursor)) {
      return false;
    }
    more = lumos_json_item(cursor, &items);
  }
  return (more == 0 && count == 2) || fail_value(reader, field, start, "two instants, [start,end]");
}

/* Begin a list in `range` (first, count); its items are appended to a vector that has `first` of them now. */
static bool begin_list(struct lumos_reader *reader, const struct lumos_field *field, uint32_t *range, size_t first,
                       const char **cursor, struct lumos_json_members *items) {
  if (first > LUMOS_NONE / 2) {
    return lumos_reader_fail(reader, "more than 2^31 list items; no stream of Lumos has so many");
  }
  range[0] = (uint32_t)first;
  range[1] = 0;
  return lumos_json_open(cursor, '[', items) || fail_value(reader, field, *cursor, "a list");
}

static bool end_list(struct lumos_reader *reader, int more) { return more == 0 || lumos_reader_fail_syntax(reader); }

static bool read_ranks(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  struct lumos_json_members items;
  uint32_t *range = slot;
  int more = -1;
  if (!begin_list(reader, field, range, reader->job->group_ranks.count, cursor, &items)) {
    return false;
  }
  while ((more = lumos_json_item(cursor, &items)) == 1) {
    int32_t rank = 0;
    if (!read_small(reader, field, &rank, cursor)) {
      return false;
    }
    lumos_vector_push(&reader->job->group_ranks, rank);
    range[1]++;
  }
  return end_list(reader, more);
}

static bool read_members(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                         const char **cursor) {
  struct lumos_json_members items;
  uint32_t *range = slot;
  int more = -1;
  if (!begin_list(reader, field, range, reader->job->members.count, cursor, &items)) {
    return false;
  }
  while ((more = lumos_json_item(cursor, &items)) == 1) {
    uint32_t member = 0;
    if (!read_any_task(reader, field, &member, cursor)) {
      return false;
    }
    lumos_vector_push(&reader->job->members, member);
    range[1]++;
  }
  return end_list(reader, more);
}

/* The three members of a peer, each exactly once. */
static bool read_peer(struct lumos_reader *reader, const struct lumos_field *field, struct lumos_peer *peer,
                      const char **cursor) {
  struct lumos_json_members members;
  struct lumos_slice key;
  unsigned seen = 0;
  int more = -1;
  if (!lumos_json_open(cursor, '{', &members)) {
    return fail_value(reader, field, *cursor, "objects with rank, send and recv");
  }
  while ((more = lumos_json_key(cursor, &members, &key)) == 1) {
    unsigned which = lumos_json_is(&key, "rank")   ? 1
                     : lumos_json_is(&key, "send") ? 2
                     : lumos_json_is(&key, "recv") ? 4
                                                   : 0;
    if (which == 0 || (seen & which) != 0) {
      return fail_value(reader, field, key.bytes, "rank, send and recv, each once");
    }
    seen |= which;
    bool good = which == 1 ? read_small(reader, field, &peer->rank, cursor)
                           : read_integer(reader, field, which == 2 ? &peer->send : &peer->recv, cursor);
    if (!good) {
      return false;
    }
  }
  if (more == 0 && seen != 7) {
    return fail_value(reader, field, *cursor, "rank, send and recv, each once, before this");
  }
  return end_list(reader, more);
}

static bool read_peers(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  struct lumos_json_members items;
  uint32_t *range = slot;
  int more = -1;
  if (!begin_list(reader, field, range, reader->job->peers.count, cursor, &items)) {
    return false;
  }
  while ((more = lumos_json_item(cursor, &items)) == 1) {
    struct lumos_peer peer = {0};
    if (!read_peer(reader, field, &peer, cursor)) {
      return false;
    }
    lumos_vector_push(&reader->job->peers, peer);
    range[1]++;
  }
  return end_list(reader, more);
}

static bool read_inputs(struct lumos_reader *reader, const struct lumos_field *field, struct lumos_history *entry,
                        const char **cursor) {
  struct lumos_json_members items;
  int more = -1;
  if (!begin_list(reader, field, &entry->input_first, reader->job->inputs.count, cursor, &items)) {
    return false;
  }
  while ((more = lumos_json_item(cursor, &items)) == 1) {
    lumos_string_id input = LUMOS_NO_STRING;
    if (!read_string(reader, field, &input, cursor)) {
      return false;
    }
    lumos_vector_push(&reader->job->inputs, input);
    entry->input_count++;
  }
  return end_list(reader, more);
}

static bool read_history_entry(struct lumos_reader *reader, const struct lumos_field *field,
                               struct lumos_history *entry, const char **cursor) {
  struct lumos_json_members members;
  struct lumos_slice key;
  unsigned seen = 0;
  int more = -1;
  if (!lumos_json_open(cursor, '{', &members)) {
    return fail_value(reader, field, *cursor, "objects with tool, version, args and inputs");
  }
  while ((more = lumos_json_key(cursor, &members, &key)) == 1) {
    unsigned which = lumos_json_is(&key, "tool")      ? 1
                     : lumos_json_is(&key, "version") ? 2
                     : lumos_json_is(&key, "args")    ? 4
                     : lumos_json_is(&key, "inputs")  ? 8
                                                      : 0;
    if (which == 0 || (seen & which) != 0) {
      return fail_value(reader, field, key.bytes, "tool, version, args and inputs, each once");
    }
    seen |= which;
    lumos_string_id *text = which == 1 ? &entry->tool : which == 2 ? &entry->version : &entry->args;
    if (!(which == 8 ? read_inputs(reader, field, entry, cursor) : read_string(reader, field, text, cursor))) {
      return false;
    }
  }
  if (more == 0 && seen != 15) {
    return fail_value(reader, field, *cursor, "tool, version, args and inputs, each once, before this");
  }
  return end_list(reader, more);
}

static bool read_history(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                         const char **cursor) {
  struct lumos_json_members items;
  int more = -1;
  (void)slot;
  if (!lumos_json_open(cursor, '[', &items)) {
    return fail_value(reader, field, *cursor, "a list");
  }
  while ((more = lumos_json_item(cursor, &items)) == 1) {
    struct lumos_history entry = {0};
    if (!read_history_entry(reader, field, &entry, cursor)) {
      return false;
    }
    lumos_vector_push(&reader->job->history, entry);
  }
  return end_list(reader, more);
}

static bool read_format(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  const char *start = *cursor;
  int64_t format = 0;
  (void)slot;
  if (!lumos_json_integer(cursor, &format) || format < 1) {
    return fail_value(reader, field, start, "a format's number");
  }
  if (format > LUMOS_FORMAT_VERSION) {
    return lumos_reader_fail(
        reader, "format %lld: the stream was written by a newer lumos, and this one knows format %d; update it",
        (long long)format, LUMOS_FORMAT_VERSION);
  }
  return true;
}

static bool read_counts(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  struct lumos_json_members members;
  struct lumos_slice key;
  int more = -1;
  (void)slot;
  if (!lumos_json_open(cursor, '{', &members)) {
    return fail_value(reader, field, *cursor, "an object");
  }
  while ((more = lumos_json_key(cursor, &members, &key)) == 1) {
    struct lumos_type_count stated = {0};
    const char *name = key.bytes - 1;
    if (!read_string(reader, field, &stated.type, &name) || !read_integer(reader, field, &stated.count, cursor)) {
      return false;
    }
    lumos_vector_push(&reader->stated, stated);
  }
  return end_list(reader, more);
}

typedef bool read_value(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor);

bool lumos_value_read(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  static read_value *const readers[FIELD_KINDS] = {
      [FIELD_INTEGER] = read_integer,
      [FIELD_INSTANT] = read_integer,
      [FIELD_WINDOW] = read_window,
      [FIELD_SMALL] = read_small,
      [FIELD_ORDINAL] = read_ordinal,
      [FIELD_DECIMAL] = read_decimal,
      [FIELD_MILLIONTHS] = read_millionths,
      [FIELD_STRING] = read_string,
      [FIELD_NAME] = read_name,
      [FIELD_RANK] = read_rank,
      [FIELD_ID] = read_own_reference,
      [FIELD_COLLECTIVE_ID] = read_collective_id,
      [FIELD_LANE] = read_lane,
      [FIELD_TASK] = read_own_reference,
      [FIELD_SPAN] = read_own_reference,
      [FIELD_ANY_TASK] = read_any_task,
      [FIELD_GROUP] = read_string,
      [FIELD_ORIGIN] = read_origin,
      [FIELD_RANKS] = read_ranks,
      [FIELD_MEMBERS] = read_members,
      [FIELD_PEERS] = read_peers,
      [FIELD_FORMAT] = read_format,
      [FIELD_STAGE] = read_stage,
      [FIELD_EPOCH] = read_epoch,
      [FIELD_HISTORY] = read_history,
      [FIELD_COUNTS] = read_counts,
  };
  return readers[field->kind](reader, field, slot, cursor);
}
