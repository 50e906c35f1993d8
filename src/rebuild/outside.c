#include "rebuild/outside.h"

#include <lumos/memory.h>

int64_t *rebuild_outside(const struct lumos_job *job) {
  int64_t *delays = lumos_allocate_zeroed(job->tasks.count, sizeof *delays);
  for (size_t d = 0; d < job->deps.count; d++) {
    const struct lumos_dep *dep = &job->deps.items[d];
    if (dep->kind == LUMOS_BOUNDARY && dep->covers != LUMOS_ABSENT) {
      delays[dep->dst] = dep->covers;
    }
  }
  return delays;
}
