/* `lumos-parse --check`: what a recording holds, what it lacks and how to record it, printed for a person or for a
 * script. */
#ifndef LUMOS_TOOLS_CHECKING_H
#define LUMOS_TOOLS_CHECKING_H

#include "base/text.h"
#include <lumos/checkup.h>

/* About ten lines. `coloured`: for a terminal. No control byte but those of the colours and line ends. */
void tool_write_checkup(const struct lumos_job *job, const struct lumos_checkup *checkup, bool coloured,
                        struct lumos_text *text);

/* One line, a JSON object: grade, meaning, holds{...}, findings[{code, have, of, before?, grade, unit, cost?, cure?,
 * names?}], ranks[{rank, source, device?, host?}], warnings[{code, text, count?, rank?, cure?}]. */
void tool_write_checkup_json(const struct lumos_job *job, const struct lumos_checkup *checkup, struct lumos_text *text);

#endif
