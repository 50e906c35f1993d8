/* One event, one line. Members stand in the order in which Kineto writes them, numbers are written by hand: no double,
 * no locale. */
#include "export/writer.h"

#include "base/json.h"
#include <string.h>

enum { FULL = 256 * 1024 };

static void comma(struct export_writer *writer) {
  char last = writer->text->bytes[writer->text->length - 1];
  if (last != '{' && last != '[') {
    lumos_text_char(writer->text, ',');
  }
}

static void put_key(struct export_writer *writer, const char *key) {
  comma(writer);
  lumos_text_json_string(writer->text, key, strlen(key));
  lumos_text_char(writer->text, ':');
}

void lumos_export_time(struct export_writer *writer, const char *key, int64_t ns) {
  put_key(writer, key);
  uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
  if (ns < 0) {
    lumos_text_char(writer->text, '-');
  }
  lumos_text_integer(writer->text, (int64_t)(size / 1000));
  const char decimals[4] = {'.', (char)('0' + size / 100 % 10), (char)('0' + size / 10 % 10), (char)('0' + size % 10)};
  lumos_text_add(writer->text, decimals, sizeof decimals);
}

void lumos_export_string(struct export_writer *writer, const char *key, const char *value) {
  put_key(writer, key);
  lumos_text_json_string(writer->text, value, strlen(value));
}

void lumos_export_integer(struct export_writer *writer, const char *key, int64_t value) {
  put_key(writer, key);
  lumos_text_integer(writer->text, value);
}

/* Is the text a number as it would be written again, or a list or an object? */
static bool is_json(const char *text) {
  int64_t number = 0;
  const char *end = text;
  if (*text == '[' || *text == '{') {
    return lumos_json_skip_valid(&end) && *end == '\0';
  }
  bool plain = text[0] == '0' ? text[1] == '\0' : *text != '-';
  return plain && lumos_json_integer(&end, &number) && *end == '\0';
}

void lumos_export_recorded(struct export_writer *writer, const char *key, const char *text) {
  if (*text == '\0') {
    return;
  }
  if (is_json(text)) {
    put_key(writer, key);
    lumos_text_put(writer->text, text);
  } else {
    lumos_export_string(writer, key, text);
  }
}

void lumos_export_drain(struct export_writer *writer) {
  lumos_text_add(writer->out, writer->text->bytes, writer->text->length);
  writer->text->length = 0;
}

void lumos_export_drain_full(struct export_writer *writer) {
  if (writer->text->length > FULL) {
    lumos_export_drain(writer);
  }
}

void lumos_export_open(struct export_writer *writer, char phase, struct export_place place, int64_t time,
                       const char *name) {
  const char phase_text[2] = {phase, '\0'};
  lumos_export_drain_full(writer);
  lumos_text_put(writer->text, writer->any ? ",\n{" : "\n{");
  writer->any = true;
  lumos_export_string(writer, "ph", phase_text);
  lumos_export_integer(writer, "pid", (int64_t)place.process + writer->first_process);
  lumos_export_integer(writer, "tid", place.thread == 0 ? 0 : (int64_t)place.thread + writer->first_thread);
  if (time != LUMOS_ABSENT) {
    lumos_export_time(writer, "ts", time);
  }
  lumos_export_string(writer, "name", name);
}

void lumos_export_close(struct export_writer *writer) { lumos_text_char(writer->text, '}'); }

void lumos_export_open_arguments(struct export_writer *writer) {
  put_key(writer, "args");
  lumos_text_char(writer->text, '{');
}

void lumos_export_close_arguments(struct export_writer *writer) { lumos_text_char(writer->text, '}'); }

int64_t lumos_export_measured_start(const struct export_writer *writer, uint32_t task) {
  const struct lumos_task *record = &writer->job->tasks.items[task];
  return record->start == LUMOS_ABSENT ? LUMOS_ABSENT : record->start + writer->shift[record->lane] - writer->zero;
}
