#ifndef LUMOS_REBUILD_ASK_H
#define LUMOS_REBUILD_ASK_H

#include "base/text.h"
#include <lumos/rebuild.h>

/* As options of lumos-transform, for the job's history. */
void rebuild_tell(const struct lumos_rebuild *asked, struct lumos_text *text);

#endif
