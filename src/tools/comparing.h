/* What a tool that compares jobs does: read two, compare, write. */
#ifndef LUMOS_TOOLS_COMPARING_H
#define LUMOS_TOOLS_COMPARING_H

#include "tools/tool.h"
#include <lumos/compare.h>

struct tool_comparing {
  const char *steps[2], *format, *output; /* as given */
  const char *trace;                      /* where both timelines go; NULL: nowhere */
  struct lumos_compare_page page;
  enum lumos_compare_format otherwise; /* where neither --format nor an ending says */
  bool full;
  struct tool_input input;
};

/* The rows, for a `struct tool_comparing *`. */
#define TOOL_COMPARING_OPTIONS(comparing)                                                                           \
  {LUMOS_OPTION_TEXT,                                                                                               \
   0,                                                                                                               \
   "steps-a",                                                                                                       \
   "LIST",                                                                                                          \
   &(comparing)->steps[0],                                                                                          \
   "The steps of A to compare, such as 3,5-9. By default all complete ones but the first, which also has the "      \
   "start of the recording in it; where fewer than three were recorded, all."},                                     \
      {LUMOS_OPTION_TEXT, 0, "steps-b", "LIST", &(comparing)->steps[1], "The same of B."},                          \
      {LUMOS_OPTION_TEXT,                                                                                           \
       'f',                                                                                                         \
       "format",                                                                                                    \
       "html|text|markdown|json",                                                                                   \
       &(comparing)->format,                                                                                        \
       "The format where no ending of FILE (.html, .md, .json, .txt) chooses it: html (one page that needs "        \
       "nothing else), text for a terminal (the default), markdown for a comment on GitHub, or json with every "    \
       "row."},                                                                                                     \
      {LUMOS_OPTION_TEXT,                                                                                           \
       0,                                                                                                           \
       "title",                                                                                                     \
       "TEXT",                                                                                                      \
       &(comparing)->page.title,                                                                                    \
       "A title of the page above the verdict; without one the verdict is the title."},                             \
      {LUMOS_OPTION_TEXT,                                                                                           \
       't',                                                                                                         \
       "template",                                                                                                  \
       "DIR",                                                                                                       \
       &(comparing)->page.template_folder,                                                                          \
       "Use the templates in DIR instead of those compiled in."},                                                   \
  {                                                                                                                 \
    LUMOS_OPTION_FLAG, 0, "full", NULL, &(comparing)->full, "Every row in every table, rather than the first ones." \
  }

/* Operands are jobs; all but the first are compared with it, one by one. */
bool tool_compare(const char *name, const struct lumos_operands *operands, const struct tool_comparing *comparing,
                  struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
