/* What the tools that simulate share: whether opportunities are looked for, what GPUs can do, and
 * whether HTA's figures are added. To add an option: a
 * row here and a field. */
#ifndef LUMOS_TOOLS_SIMULATING_H
#define LUMOS_TOOLS_SIMULATING_H

#include "tools/tool.h"
#include <lumos/sim.h>

struct tool_simulating {
  const char *opportunities; /* as given; NULL: on */
  const char *hardware;      /* a table of GPUs; NULL: the library's own alone */
  bool hta;
};

/* The rows, for a `struct tool_simulating *`. */
#define TOOL_SIMULATING_OPTIONS(simulating)                                                                            \
  {LUMOS_OPTION_TEXT,                                                                                                  \
   0,                                                                                                                  \
   "opportunities",                                                                                                    \
   "on|off",                                                                                                           \
   &(simulating)->opportunities,                                                                                       \
   "Simulate every step again without each kind of work, and with half of it, to find what would help most. The "      \
   "default is on. Only the model lumos does this."},                                                                  \
      {LUMOS_OPTION_FLAG,                                                                                              \
       0,                                                                                                              \
       "hta",                                                                                                          \
       NULL,                                                                                                           \
       &(simulating)->hta,                                                                                             \
       "Add the figures of HTA (Holistic Trace Analysis) as a cross-check: for the whole recording, with that tool's " \
       "definitions and rounding, in microseconds and percent."},                                                      \
  {                                                                                                                    \
    LUMOS_OPTION_TEXT, 0, "hardware", "FILE", &(simulating)->hardware,                                                 \
        "Peaks and memory bandwidths of GPUs that override the built-in ones: a JSON object such as {\"devices\": "    \
        "[{\"name\": \"X1\", \"match\": [\"NVIDIA X1*\"], \"memory_bandwidth\": 3350, \"peaks\": {\"bf16\": 989}}]}, " \
        "in GB/s and TFLOP/s."                                                                                         \
  }

/* Are the options' values good? To be called before any work is done. */
bool tool_simulating_check(const struct tool_simulating *simulating, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Simulate, and find the opportunities unless they are off. */
bool tool_simulate(struct lumos_job *job, enum lumos_model model, const struct tool_simulating *simulating,
                   struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
