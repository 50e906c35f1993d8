/* Which libraries a tool stands on, for --version. */
#ifndef LUMOS_TOOLS_VERSIONS_H
#define LUMOS_TOOLS_VERSIONS_H

#include "base/text.h"

/* A line for each: those that say so as they run, the others as they were when lumos was built. */
void tool_add_versions(struct lumos_text *out);

#endif
