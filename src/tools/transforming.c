/* See transforming.h. */
#include "tools/transforming.h"

#include <string.h>

struct transform {
  const char *name;
  bool (*apply)(struct lumos_job *job, const char *argument, struct lumos_error *error);
};
#define NAMED(target, letter, name, argument, function, help) {name, function},
static const struct transform transforms[] = {TOOL_TRANSFORMS(NAMED, )};

bool tool_transforming_asked(const struct tool_transforming *transforming) { return transforming->changes.count > 0; }

static bool apply(struct lumos_job *job, const struct lumos_given *given, struct lumos_error *error) {
  size_t i = 0;
  while (strcmp(transforms[i].name, given->option) != 0) {
    i++;
  }
  return transforms[i].apply(job, given->argument, error);
}

bool tool_transforming_apply(struct lumos_job *job, const struct tool_transforming *transforming,
                             struct lumos_error *error) {
  bool good = tool_transforming_asked(transforming) || lumos_transform_begin(job, error);
  for (size_t i = 0; good && i < transforming->changes.count; i++) {
    good = apply(job, &transforming->changes.items[i], error);
  }
  return good;
}
