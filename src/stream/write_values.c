/* The value of each kind of field. What most strings need, no escaping, is found out once for each. */
#include "stream/write.h"

#include <lumos/stream.h>

enum { DIGITS = 20 }; /* of the largest number */

enum { NOT_SEEN, PLAIN, ESCAPED };

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

static char *put_escaped(struct lumos_writer *writer, char *out, const char *bytes, size_t length) {
  lumos_writer_pause(writer, out);
  lumos_text_json_string(writer->text, bytes, length);
  return lumos_writer_resume(writer, 0);
}

static inline char *put_string(struct lumos_writer *writer, char *out, lumos_string_id string) {
  const char *bytes = lumos_string(writer->job->strings, string);
  size_t length = lumos_string_length(writer->job->strings, string);
  if (writer->escapes[string] == NOT_SEEN) {
    writer->escapes[string] = escapes_of(bytes, length);
  }
  if (writer->escapes[string] == ESCAPED) {
    return put_escaped(writer, out, bytes, length);
  }
  out = lumos_writer_room(writer, out, length + 2);
  *out = '"';
  out = lumos_put(out + 1, bytes, length);
  *out = '"';
  return out + 1;
}

/* Two digits at a time, from the back. */
static inline char *put_integer(char *out, int64_t value) {
  static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
                              "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
                              "888990919293949596979899";
  char buffer[2 * DIGITS];
  char *end = buffer + DIGITS;
  char *start = end;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  while (rest >= 100) {
    start -= 2;
    memcpy(start, pairs + rest % 100 * 2, 2);
    rest /= 100;
  }
  start -= 2;
  memcpy(start, pairs + rest * 2, 2);
  start += rest < 10;
  if (value < 0) {
    *out++ = '-';
  }
  memcpy(out, start, DIGITS); /* more than there are: a fixed number is faster */
  return out + (end - start);
}

static inline char *put_id(char *out, int32_t rank, uint32_t id) {
  *out = '"';
  out = put_integer(out + 1, rank);
  *out = ':';
  out = put_integer(out + 1, id);
  *out = '"';
  return out + 1;
}

static char *write_integer(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  return put_integer(out, *(const int64_t *)slot);
}

static char *write_small(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  return put_integer(out, *(const int32_t *)slot);
}

static char *write_ordinal(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  return put_integer(out, *(const uint32_t *)slot);
}

static char *write_string(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_string(writer, out, *(const lumos_string_id *)slot);
}

static char *put_word(char *out, const char *word) {
  *out = '"';
  out = lumos_put(out + 1, word, strlen(word));
  *out = '"';
  return out + 1;
}

static char *write_name(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  return put_word(out, field->names->names[*(const uint8_t *)slot]);
}

static char *write_stage(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  return put_word(out, field->names->names[*(const enum lumos_stage *)slot]);
}

static char *write_rank(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  (void)slot;
  return put_integer(out, writer->rank);
}

static char *write_id(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_id(out, writer->rank, *(const uint32_t *)slot);
}

static char *write_task(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_id(out, writer->rank, writer->job->tasks.items[*(const uint32_t *)slot].id);
}

static char *write_span(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_id(out, writer->rank, writer->job->spans.items[*(const uint32_t *)slot].id);
}

static char *write_any_task(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[*(const uint32_t *)slot];
  return put_id(out, job->ranks.items[lumos_rank_of(job, task)].rank, task->id);
}

static char *write_lane(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  return put_string(writer, out, writer->job->lanes.items[*(const uint32_t *)slot].lane);
}

static char *write_origin(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  return put_id(out, *(const int32_t *)slot, ((const uint32_t *)slot)[1]);
}

static char *write_collective_id(struct lumos_writer *writer, char *out, const struct lumos_field *field,
                                 const void *slot) {
  (void)writer;
  (void)field;
  out = put_integer(LUMOS_PUT(out, "\"c:"), *(const uint32_t *)slot);
  return LUMOS_PUT(out, "\"");
}

static char *put_decimal(struct lumos_writer *writer, char *out, int64_t units, int decimals) {
  lumos_writer_pause(writer, out);
  lumos_text_decimal(writer->text, units, decimals);
  return lumos_writer_resume(writer, 0);
}

static char *write_decimal(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const struct lumos_decimal *decimal = slot;
  return put_decimal(writer, out, decimal->units, decimal->decimals);
}

static char *write_millionths(struct lumos_writer *writer, char *out, const struct lumos_field *field,
                              const void *slot) {
  (void)field;
  return put_decimal(writer, out, *(const int32_t *)slot, 6);
}

static char *write_window(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  const int64_t *window = slot;
  out = put_integer(LUMOS_PUT(out, "["), window[0]);
  out = put_integer(LUMOS_PUT(out, ","), window[1]);
  return LUMOS_PUT(out, "]");
}

static char *write_epoch(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  out = put_integer(LUMOS_PUT(out, "\""), *(const int64_t *)slot);
  return LUMOS_PUT(out, "\"");
}

static char *write_format(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  (void)slot;
  return put_integer(out, LUMOS_FORMAT_VERSION);
}

static char *write_ranks(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const uint32_t *range = slot;
  for (uint32_t i = 0; i < range[1]; i++) {
    out = lumos_writer_room(writer, out, DIGITS + 1);
    *out = i == 0 ? '[' : ',';
    out = put_integer(out + 1, writer->job->group_ranks.items[range[0] + i]);
  }
  return LUMOS_PUT(out, "]");
}

static char *write_members(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  const uint32_t *range = slot;
  out = LUMOS_PUT(out, "[");
  for (uint32_t i = 0; i < range[1]; i++) {
    out = lumos_writer_room(writer, out, 2 * DIGITS + 4);
    if (i > 0) {
      out = LUMOS_PUT(out, ",");
    }
    out = write_any_task(writer, out, field, &writer->job->members.items[range[0] + i]);
  }
  return LUMOS_PUT(out, "]");
}

static char *write_peers(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const uint32_t *range = slot;
  for (uint32_t i = 0; i < range[1]; i++) {
    const struct lumos_peer *peer = &writer->job->peers.items[range[0] + i];
    out = lumos_writer_room(writer, out, 4 * LUMOS_KEY_ROOM + 3 * DIGITS);
    *out = i == 0 ? '[' : ',';
    out = put_integer(LUMOS_PUT(out + 1, "{\"rank\":"), peer->rank);
    out = put_integer(LUMOS_PUT(out, ",\"send\":"), peer->send);
    out = put_integer(LUMOS_PUT(out, ",\"recv\":"), peer->recv);
    out = LUMOS_PUT(out, "}");
  }
  return LUMOS_PUT(out, "]");
}

static char *write_history(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  (void)slot;
  const struct lumos_job *job = writer->job;
  out = LUMOS_PUT(out, "[");
  for (size_t i = 0; i < job->history.count; i++) {
    const struct lumos_history *entry = &job->history.items[i];
    out = lumos_writer_room(writer, out, 0);
    out = put_string(writer, i == 0 ? LUMOS_PUT(out, "{\"tool\":") : LUMOS_PUT(out, ",{\"tool\":"), entry->tool);
    out = put_string(writer, LUMOS_PUT(out, ",\"version\":"), entry->version);
    out = put_string(writer, LUMOS_PUT(out, ",\"args\":"), entry->args);
    out = LUMOS_PUT(out, ",\"inputs\":[");
    for (uint32_t input = 0; input < entry->input_count; input++) {
      out = lumos_writer_room(writer, out, 0);
      if (input > 0) {
        out = LUMOS_PUT(out, ",");
      }
      out = put_string(writer, out, job->inputs.items[entry->input_first + input]);
    }
    out = LUMOS_PUT(out, "]}");
  }
  return LUMOS_PUT(out, "]");
}

lumos_value_writer *const lumos_value_writers[FIELD_KINDS] = {
    [FIELD_INTEGER] = write_integer,
    [FIELD_INSTANT] = write_integer,
    [FIELD_WINDOW] = write_window,
    [FIELD_SMALL] = write_small,
    [FIELD_ORDINAL] = write_ordinal,
    [FIELD_DECIMAL] = write_decimal,
    [FIELD_MILLIONTHS] = write_millionths,
    [FIELD_STRING] = write_string,
    [FIELD_NAME] = write_name,
    [FIELD_RANK] = write_rank,
    [FIELD_ID] = write_id,
    [FIELD_COLLECTIVE_ID] = write_collective_id,
    [FIELD_LANE] = write_lane,
    [FIELD_TASK] = write_task,
    [FIELD_SPAN] = write_span,
    [FIELD_ANY_TASK] = write_any_task,
    [FIELD_GROUP] = write_string,
    [FIELD_ORIGIN] = write_origin,
    [FIELD_RANKS] = write_ranks,
    [FIELD_MEMBERS] = write_members,
    [FIELD_PEERS] = write_peers,
    [FIELD_FORMAT] = write_format,
    [FIELD_STAGE] = write_stage,
    [FIELD_EPOCH] = write_epoch,
    [FIELD_HISTORY] = write_history,
};
