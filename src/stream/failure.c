/* How the reader says what is wrong: the line first, then the matter. */
#include "stream/reader.h"

#include <stdarg.h>
#include <stdio.h>

bool lumos_reader_fail(struct lumos_reader *reader, const char *format, ...) {
  char text[LUMOS_ERROR_TEXT];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return lumos_fail(reader->error, "%s: line %llu: %s", reader->name, (unsigned long long)reader->lines.number, text);
}

bool lumos_reader_fail_syntax(struct lumos_reader *reader) {
  return lumos_reader_fail(reader, "this is not a JSON object; the stream was damaged on its way, make it again");
}
