/* What templates hold of a recording, and how alike what they hold is. */
#ifndef LUMOS_REBUILD_CENSUS_H
#define LUMOS_REBUILD_CENSUS_H

#include "rebuild/templates.h"

struct rebuild_census {
  int64_t device, all_devices; /* time of tasks on streams, in ns: in blocks, and all */
  int64_t thread, all_threads; /* of tasks on threads and what is before them: in blocks of passes, the optimizer and
                                  transfers, and all */
  uint32_t blocks, templates;
  uint32_t odd; /* blocks that do something else than most at the same place of the program */
};

struct rebuild_census rebuild_census_take(const struct rebuild_templates *templates);

#endif
