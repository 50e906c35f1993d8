/* What the tools that write pictures share: their size, what they show, and a picture beside a comment in Markdown. To
 * add an option: a row here and a field.
 */
#ifndef LUMOS_TOOLS_PICTURING_H
#define LUMOS_TOOLS_PICTURING_H

#include "tools/numbers.h"
#include "tools/tool.h"
#include <lumos/report.h>

struct tool_picturing {
  const char *picture, *size, *ranks, *span; /* as given */
  struct tool_numbers numbers;               /* of --ranks */
  enum lumos_report_format format;           /* of --picture */
};

#define TOOL_TEXT_ROW(letter, name, argument, target, help) \
  { LUMOS_OPTION_TEXT, letter, name, argument, target, help }
#define TOOL_FLAG_ROW(name, target, help) \
  { LUMOS_OPTION_FLAG, 0, name, NULL, target, help }

/* The rows, for a `struct tool_picturing *` and a `struct lumos_report_options *`. */
#define TOOL_PICTURING_OPTIONS(picturing, report)                                                                    \
  TOOL_TEXT_ROW(0, "size", "W:H|WxH", &(picturing)->size,                                                            \
                "The size of a picture: a ratio such as 16:9, or pixels such as 1920x1080. By default a picture is " \
                "as large as it has to be, and no taller than wide."),                                               \
      TOOL_TEXT_ROW(0, "ranks", "LIST", &(picturing)->ranks, "The ranks that a picture shows, such as 0,2-5."),      \
      TOOL_TEXT_ROW(0, "span", "FROM-TO", &(picturing)->span,                                                        \
                    "The time that the timeline (gantt) shows, on its axis, such as 10ms-25ms."),                    \
      TOOL_FLAG_ROW("no-verdict", &(report)->no_verdict, "Leave the verdict out of a picture."),                     \
      TOOL_TEXT_ROW(0, "picture", "FILE", &(picturing)->picture,                                                     \
                    "Write a picture to FILE (.png or .svg) beside a report in Markdown, which shows it.")

/* Reads what was given into `report`, whose format and view are chosen; `output` is where the report goes, or NULL. To
 * be called before any work is done. */
bool tool_picturing_check(struct tool_picturing *picturing, const char *output, struct lumos_report_options *report,
                          struct lumos_error *error) LUMOS_MUST_CHECK;

/* Write the picture of --picture; does nothing without it. */
bool tool_picturing_write(const struct tool_picturing *picturing, struct lumos_job *job,
                          const struct lumos_report_options *report, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
