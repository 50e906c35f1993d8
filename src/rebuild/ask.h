#ifndef LUMOS_REBUILD_ASK_H
#define LUMOS_REBUILD_ASK_H

#include "base/text.h"
#include <lumos/rebuild.h>

/* As options of lumos-transform, for the job's history. */
void rebuild_tell(const struct lumos_rebuild *asked, struct lumos_text *text);

/* Is nothing asked for but to write the job anew? */
bool rebuild_is_as_recorded(const struct lumos_rebuild *asked);

#endif
