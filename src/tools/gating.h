/* --gate: a job's report against thresholds, from a baseline or a history. */
#ifndef LUMOS_TOOLS_GATING_H
#define LUMOS_TOOLS_GATING_H

#include "tools/tool.h"
#include <lumos/gate.h>

struct tool_gating {
  const char *thresholds;             /* a file; NULL: no gate is asked for */
  const char *junit;                  /* a file; NULL: none */
  struct lumos_option_list baselines; /* of --baseline */
};

/* The rows, for a `struct tool_gating *`. */
#define TOOL_GATING_OPTIONS(gating)                                                                                    \
  TOOL_GROUP("Gate"),                                                                                                  \
      {LUMOS_OPTION_TEXT,                                                                                              \
       0,                                                                                                              \
       "gate",                                                                                                         \
       "FILE",                                                                                                         \
       &(gating)->thresholds,                                                                                          \
       "Hold the job against the thresholds in FILE instead of writing a report: a JSON object such as {\"format\": "  \
       "1, \"metrics\": [{\"metric\": \"step_time\", \"relative\": 0.02}]}. Writes a Markdown table, or with -o .xml " \
       "JUnit XML or .json. Exits with 1 on a regression."},                                                           \
      {LUMOS_OPTION_LIST,                                                                                              \
       0,                                                                                                              \
       "baseline",                                                                                                     \
       "FILE",                                                                                                         \
       &(gating)->baselines,                                                                                           \
       "What --gate compares with: a report in JSON, a stream, a trace, a folder of traces, or a folder of reports "   \
       "in JSON, which is a history, as several are."},                                                                \
  {                                                                                                                    \
    LUMOS_OPTION_TEXT, 0, "junit", "FILE", &(gating)->junit, "Write the gate as JUnit XML to FILE, too."               \
  }

/* One operand, a job or a report in JSON. `output` and `format` as given, or NULL. Fails with LUMOS_CHECK_FAILED on a
 * regression, once all is written. */
bool tool_gate(const char *name, const struct lumos_operands *operands, const struct tool_gating *gating,
               const struct tool_input *input, const char *output, const char *format,
               struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
