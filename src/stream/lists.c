/* The values that are lists: of ranks, members, peers, history and counts. Their items have no unknown members. */
#include "stream/values.h"

/* Begin a list in `range` (first, count); its items are appended to a vector that has `first` of them now. */
static bool begin_list(struct lumos_reader *reader, const struct lumos_field *field, uint32_t *range, size_t first,
                       const char **cursor, struct lumos_json_members *items) {
  if (first > LUMOS_NONE / 2) {
    return lumos_reader_fail(reader, "more than 2^31 list items; no Lumos stream has so many");
  }
  range[0] = (uint32_t)first;
  range[1] = 0;
  return lumos_json_open(cursor, '[', items) || lumos_fail_value(reader, field, *cursor, "a list");
}

static bool end_list(struct lumos_reader *reader, int more) { return more == 0 || lumos_reader_fail_syntax(reader); }

bool lumos_read_ranks(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  struct lumos_json_members items;
  uint32_t *range = slot;
  int more = -1;
  if (!begin_list(reader, field, range, reader->job->group_ranks.count, cursor, &items)) {
    return false;
  }
  while ((more = lumos_json_item(cursor, &items)) == 1) {
    int32_t rank = 0;
    if (!lumos_read_small(reader, field, &rank, cursor)) {
      return false;
    }
    lumos_vector_push(&reader->job->group_ranks, rank);
    range[1]++;
  }
  return end_list(reader, more);
}

bool lumos_read_members(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  struct lumos_json_members items;
  uint32_t *range = slot;
  int more = -1;
  if (!begin_list(reader, field, range, reader->job->members.count, cursor, &items)) {
    return false;
  }
  while ((more = lumos_json_item(cursor, &items)) == 1) {
    uint32_t member = 0;
    if (!lumos_read_any_task(reader, field, &member, cursor)) {
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
    return lumos_fail_value(reader, field, *cursor, "objects with rank, send and recv");
  }
  while ((more = lumos_json_key(cursor, &members, &key)) == 1) {
    unsigned which = lumos_json_is(&key, "rank")   ? 1
                     : lumos_json_is(&key, "send") ? 2
                     : lumos_json_is(&key, "recv") ? 4
                                                   : 0;
    if (which == 0 || (seen & which) != 0) {
      return lumos_fail_value(reader, field, key.bytes, "rank, send and recv, each once");
    }
    seen |= which;
    bool good = which == 1 ? lumos_read_small(reader, field, &peer->rank, cursor)
                           : lumos_read_integer(reader, field, which == 2 ? &peer->send : &peer->recv, cursor);
    if (!good) {
      return false;
    }
  }
  if (more == 0 && seen != 7) {
    return lumos_fail_value(reader, field, *cursor, "rank, send and recv, each once, before this");
  }
  return end_list(reader, more);
}

bool lumos_read_peers(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
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
    if (!lumos_read_string(reader, field, &input, cursor)) {
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
    return lumos_fail_value(reader, field, *cursor, "objects with tool, version, args and inputs");
  }
  while ((more = lumos_json_key(cursor, &members, &key)) == 1) {
    unsigned which = lumos_json_is(&key, "tool")      ? 1
                     : lumos_json_is(&key, "version") ? 2
                     : lumos_json_is(&key, "args")    ? 4
                     : lumos_json_is(&key, "inputs")  ? 8
                                                      : 0;
    if (which == 0 || (seen & which) != 0) {
      return lumos_fail_value(reader, field, key.bytes, "tool, version, args and inputs, each once");
    }
    seen |= which;
    lumos_string_id *text = which == 1 ? &entry->tool : which == 2 ? &entry->version : &entry->args;
    if (!(which == 8 ? read_inputs(reader, field, entry, cursor) : lumos_read_string(reader, field, text, cursor))) {
      return false;
    }
  }
  if (more == 0 && seen != 15) {
    return lumos_fail_value(reader, field, *cursor, "tool, version, args and inputs, each once, before this");
  }
  return end_list(reader, more);
}

bool lumos_read_history(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  struct lumos_json_members items;
  int more = -1;
  (void)slot;
  if (!lumos_json_open(cursor, '[', &items)) {
    return lumos_fail_value(reader, field, *cursor, "a list");
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

bool lumos_read_counts(struct lumos_reader *reader, const struct lumos_field *field, void *slot, const char **cursor) {
  struct lumos_json_members members;
  struct lumos_slice key;
  int more = -1;
  (void)slot;
  if (!lumos_json_open(cursor, '{', &members)) {
    return lumos_fail_value(reader, field, *cursor, "an object");
  }
  while ((more = lumos_json_key(cursor, &members, &key)) == 1) {
    struct lumos_type_count stated = {0};
    const char *name = key.bytes - 1;
    if (!lumos_read_string(reader, field, &stated.type, &name) ||
        !lumos_read_integer(reader, field, &stated.count, cursor)) {
      return false;
    }
    lumos_vector_push(&reader->stated, stated);
  }
  return end_list(reader, more);
}
