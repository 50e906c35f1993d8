/* See indexing.h. */
#include "tools/indexing.h"

#include <lumos/report.h>
#include <string.h>
#include <unistd.h>

static bool check(const char *output, const char *format, struct lumos_error *error) {
  bool to_standard_output = output == NULL || strcmp(output, "-") == 0;
  enum lumos_report_format ending = to_standard_output ? LUMOS_REPORT_UNKNOWN : lumos_report_format_of_path(output);
  if ((format != NULL && strcmp(format, "html") != 0) ||
      (ending != LUMOS_REPORT_UNKNOWN && ending != LUMOS_REPORT_HTML)) {
    return lumos_fail(error, "--index writes a page; name a file that ends in .html, as -o DIR/index.html");
  }
  if (to_standard_output && isatty(STDOUT_FILENO)) {
    return lumos_fail(error, "the page would be written to a terminal; use -o DIR/index.html, or redirect the output");
  }
  return lumos_output_try(output, error);
}

bool tool_index(const char *folder, const struct lumos_nights_options *options, const char *output, const char *format,
                struct lumos_error *error) {
  if (!check(output, format, error)) {
    return false;
  }
  struct lumos_nights *history = lumos_nights_read(folder, error);
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  struct lumos_output file;
  bool good =
      history != NULL && lumos_nights_page(history, options, &page, error) && lumos_output_open(&file, output, error);
  if (good) {
    lumos_text_add(&file.text, page.bytes, page.length);
    good = lumos_output_commit(&file, error);
  }
  lumos_text_free(&page);
  lumos_nights_free(history);
  return good;
}
