/* Filling a lumos_error. The text may quote file names and trace contents, so it is made safe for a terminal here,
 * once. */
#include <lumos/error.h>

#include "base/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Formats into a buffer of its own first: an argument may point into error->text. */
static void fill(struct lumos_error *error, const char *format, va_list arguments) {
  char text[LUMOS_ERROR_TEXT];
  if (vsnprintf(text, sizeof text, format, arguments) < 0) {
    text[0] = '\0';
  }
  lumos_utf8_make_printable(text, strlen(text));
  memcpy(error->text, text, strlen(text) + 1);
}

bool lumos_fail(struct lumos_error *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fill(error, format, arguments);
  va_end(arguments);
  error->status = LUMOS_UNUSABLE;
  return false;
}

bool lumos_fail_check(struct lumos_error *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fill(error, format, arguments);
  va_end(arguments);
  error->status = LUMOS_CHECK_FAILED;
  return false;
}

bool lumos_fail_prefix(struct lumos_error *error, const char *prefix) {
  enum lumos_status status = error->status;
  lumos_fail(error, "%s: %s", prefix, error->text);
  error->status = status;
  return false;
}
