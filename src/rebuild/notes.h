/* What a built job says of itself: what was measured, beside it; how far off the recorded configuration is when it is
 * built; what was assumed, kept or left out.
 */
#ifndef LUMOS_REBUILD_NOTES_H
#define LUMOS_REBUILD_NOTES_H

#include "rebuild/templates.h"
#include <lumos/rebuild.h>

/* `templates`: of the job that it was built from. deviation: that of the recorded configuration, a share of the step;
 * LUMOS_ABSENT units: not known. O(tasks + metrics + notes). */
void rebuild_put_notes(struct lumos_job *built, const struct rebuild_templates *templates,
                       const struct lumos_rebuild *asked, struct lumos_decimal deviation);

#endif
