/* What a command line reads and writes, file by file. */
#ifndef LUMOS_TOOLS_PLACES_H
#define LUMOS_TOOLS_PLACES_H

#include "base/options.h"

/* No file is written that is read, too, or written twice: whatever it is called, through links and folders. Before any
 * work; false with an error that names the option. */
bool tool_check_places(const struct lumos_command *command, const struct lumos_operands *operands,
                       struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
