/* The values of the rarer kinds of fields, and how each string is written. */
#include "stream/write.h"

#include <lumos/stream.h>

/* ASCII but controls, without quote and backslash, stands in JSON as it is. */
static bool is_plain(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') {
      return false;
    }
  }
  return true;
}

struct lumos_written lumos_writer_string(struct lumos_writer *writer, lumos_string_id string) {
  struct lumos_written written = {lumos_string(writer->job->strings, string),
                                  lumos_string_length(writer->job->strings, string)};
  if (!is_plain(written.bytes, written.length)) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_json_string(&text, written.bytes, written.length);
    written.length = text.length - 2;
    written.bytes = lumos_arena_copy(writer->escaped, text.bytes + 1, written.length);
    lumos_text_free(&text);
  }
  writer->strings[string] = written;
  return written;
}

static char *write_stage(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  const char *name = field->names->names[*(const enum lumos_stage *)slot];
  out = lumos_put(LUMOS_PUT(out, "\""), name, strlen(name));
  return LUMOS_PUT(out, "\"");
}

static char *write_any_task(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[*(const uint32_t *)slot];
  return lumos_put_id(out, job->ranks.items[lumos_rank_of(job, task)].rank, task->id);
}

static char *write_origin(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  return lumos_put_id(out, *(const int32_t *)slot, ((const uint32_t *)slot)[1]);
}

static char *write_collective_id(struct lumos_writer *writer, char *out, const struct lumos_field *field,
                                 const void *slot) {
  (void)writer;
  (void)field;
  out = lumos_integer_write(LUMOS_PUT(out, "\"c:"), *(const uint32_t *)slot);
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
  out = lumos_integer_write(LUMOS_PUT(out, "["), window[0]);
  out = lumos_integer_write(LUMOS_PUT(out, ","), window[1]);
  return LUMOS_PUT(out, "]");
}

static char *write_epoch(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  out = lumos_integer_write(LUMOS_PUT(out, "\""), *(const int64_t *)slot);
  return LUMOS_PUT(out, "\"");
}

static char *write_format(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)writer;
  (void)field;
  (void)slot;
  return lumos_integer_write(out, LUMOS_FORMAT_VERSION);
}

static char *write_ranks(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  (void)field;
  const uint32_t *range = slot;
  for (uint32_t i = 0; i < range[1]; i++) {
    out = lumos_writer_room(writer, out, LUMOS_DIGITS_WRITTEN + 1);
    *out = i == 0 ? '[' : ',';
    out = lumos_integer_write(out + 1, writer->job->group_ranks.items[range[0] + i]);
  }
  return LUMOS_PUT(out, "]");
}

static char *write_members(struct lumos_writer *writer, char *out, const struct lumos_field *field, const void *slot) {
  const uint32_t *range = slot;
  out = LUMOS_PUT(out, "[");
  for (uint32_t i = 0; i < range[1]; i++) {
    out = lumos_writer_room(writer, out, 2 * LUMOS_DIGITS_WRITTEN + 4);
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
    out = lumos_writer_room(writer, out, 4 * LUMOS_KEY_ROOM + 3 * LUMOS_DIGITS_WRITTEN);
    *out = i == 0 ? '[' : ',';
    out = lumos_integer_write(LUMOS_PUT(out + 1, "{\"rank\":"), peer->rank);
    out = lumos_integer_write(LUMOS_PUT(out, ",\"send\":"), peer->send);
    out = lumos_integer_write(LUMOS_PUT(out, ",\"recv\":"), peer->recv);
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
    out = lumos_put_string(writer, i == 0 ? LUMOS_PUT(out, "{\"tool\":") : LUMOS_PUT(out, ",{\"tool\":"), entry->tool);
    out = lumos_put_string(writer, LUMOS_PUT(out, ",\"version\":"), entry->version);
    out = lumos_put_string(writer, LUMOS_PUT(out, ",\"args\":"), entry->args);
    out = LUMOS_PUT(out, ",\"inputs\":[");
    for (uint32_t input = 0; input < entry->input_count; input++) {
      out = lumos_writer_room(writer, out, 0);
      if (input > 0) {
        out = LUMOS_PUT(out, ",");
      }
      out = lumos_put_string(writer, out, job->inputs.items[entry->input_first + input]);
    }
    out = LUMOS_PUT(out, "]}");
  }
  return LUMOS_PUT(out, "]");
}

lumos_value_writer *const lumos_value_writers[FIELD_KINDS] = {
    [FIELD_WINDOW] = write_window,         [FIELD_DECIMAL] = write_decimal,
    [FIELD_MILLIONTHS] = write_millionths, [FIELD_COLLECTIVE_ID] = write_collective_id,
    [FIELD_ANY_TASK] = write_any_task,     [FIELD_ORIGIN] = write_origin,
    [FIELD_RANKS] = write_ranks,           [FIELD_MEMBERS] = write_members,
    [FIELD_PEERS] = write_peers,           [FIELD_FORMAT] = write_format,
    [FIELD_STAGE] = write_stage,           [FIELD_EPOCH] = write_epoch,
    [FIELD_HISTORY] = write_history,
};
