/* What the tools that write a report share: the options that say which form it takes and where it goes, the check of them before any work
 * is done, and the writing. To add an option: a row here, and a field of struct lumos_report_options or of struct tool_rendering.
 */
#ifndef LUMOS_TOOLS_RENDERING_H
#define LUMOS_TOOLS_RENDERING_H

#include "tools/tool.h"
#include <lumos/report.h>

struct tool_rendering {
  const char *output, *format; /* as given */
  bool verdict;
  struct lumos_report_options report; /* complete once tool_rendering_check has seen it */
};

/* The rows, for a `struct tool_rendering *`. */
#define TOOL_RENDERING_OPTIONS(rendering)                                                                          \
  {LUMOS_OPTION_TEXT,                                                                                              \
   'o',                                                                                                            \
   "output",                                                                                                       \
   "FILE",                                                                                                         \
   &(rendering)->output,                                                                                           \
   "Write the report to FILE instead of standard output; it appears whole or not at all. Its ending names the "    \
   "format."},                                                                                                     \
      {LUMOS_OPTION_TEXT,                                                                                          \
       'f',                                                                                                        \
       "format",                                                                                                   \
       "NAME",                                                                                                     \
       &(rendering)->format,                                                                                       \
       "The format where no file's ending names it: html (the default: one page that needs nothing else) or json " \
       "(the "                                                                                                     \
       "numbers of the page)."},                                                                                   \
      {LUMOS_OPTION_TEXT,                                                                                          \
       0,                                                                                                          \
       "title",                                                                                                    \
       "TEXT",                                                                                                     \
       &(rendering)->report.title,                                                                                 \
       "The report's title; the default is its verdict, which then stands below the title."},                      \
      {LUMOS_OPTION_TEXT,                                                                                          \
       't',                                                                                                        \
       "template",                                                                                                 \
       "DIR",                                                                                                      \
       &(rendering)->report.template_folder,                                                                       \
       "Use the templates in DIR instead of those compiled in."},                                                  \
  {                                                                                                                \
    LUMOS_OPTION_FLAG, 0, "verdict", NULL, &(rendering)->verdict,                                                  \
        "Print the verdict to standard output, one line; the report itself is written only with -o."               \
  }

/* Can the report be written as it is asked for, where it is asked to go? To be called before any work is done. */
bool tool_rendering_check(struct tool_rendering *rendering, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Simulate what is not simulated, tell a person of the warnings that the stages after `before` have left, and write. */
bool tool_rendering_write(struct lumos_job *job, const char *name, enum lumos_stage before,
                          const struct tool_rendering *rendering, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
