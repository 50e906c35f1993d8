/* --index: a folder of summaries becomes a page. */
#ifndef LUMOS_TOOLS_INDEXING_H
#define LUMOS_TOOLS_INDEXING_H

#include "tools/tool.h"
#include <lumos/history.h>

/* `output` and `format` as given, or NULL. */
bool tool_index(const char *folder, const struct lumos_nights_options *options, const char *output, const char *format,
                struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
