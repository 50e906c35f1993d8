/* See transforming.h. */
#include "tools/transforming.h"

#include <lumos/transform.h>

bool tool_transforming_asked(const struct tool_transforming *transforming) {
  return transforming->scale.count > 0 || transforming->unprofiled;
}

bool tool_transforming_apply(struct lumos_job *job, const struct tool_transforming *transforming,
                             struct lumos_error *error) {
  bool good = tool_transforming_asked(transforming) || lumos_transform_begin(job, error);
  good = good && (!transforming->unprofiled || lumos_transform_unprofiled(job, error));
  for (size_t i = 0; good && i < transforming->scale.count; i++) {
    good = lumos_transform_scale(job, transforming->scale.items[i], error);
  }
  return good;
}
