/* See transforming.h. */
#include "tools/transforming.h"

#include "base/text.h"
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

struct transform {
  const char *name;
  bool (*apply)(struct lumos_job *job, const char *argument, struct lumos_error *error);
};
#define NAMED(target, letter, name, argument, function, help) {name, function},
static const struct transform transforms[] = {TOOL_TRANSFORMS(NAMED, )};

bool tool_transforming_asked(const struct tool_transforming *transforming) { return transforming->changes.count > 0; }

static const struct transform *transform_of(const struct lumos_given *given) {
  size_t i = 0;
  while (strcmp(transforms[i].name, given->option) != 0) {
    i++;
  }
  return &transforms[i];
}

/* What is asked of a rebuild in a row is one. */
static bool rebuild(struct lumos_job *job, const struct lumos_option_list *changes, size_t *i,
                    struct lumos_error *error) {
  struct lumos_rebuild asked = {0};
  for (; *i < changes->count && transform_of(&changes->items[*i])->apply == NULL; (*i)++) {
    if (!lumos_rebuild_ask(&asked, changes->items[*i].option, changes->items[*i].argument, error)) {
      return false;
    }
  }
  return lumos_rebuild(job, &asked, error);
}

/* Sizes that are given in a row are one change. */
static bool resize(struct lumos_job *job, const struct lumos_option_list *changes, size_t *i,
                   struct lumos_error *error) {
  struct lumos_text sizes = LUMOS_TEXT_BUFFER;
  bool good = true; /* a comma is what numbers are joined by */
  for (; *i < changes->count && transform_of(&changes->items[*i])->apply == lumos_transform_sizes; (*i)++) {
    lumos_text_format(&sizes, "%s%s=%s", sizes.length == 0 ? "" : ",", changes->items[*i].option,
                      changes->items[*i].argument);
    good = good && (strchr(changes->items[*i].argument, ',') == NULL ||
                    lumos_fail(error, "option --%s: '%.60s' is not a whole number", changes->items[*i].option,
                               changes->items[*i].argument));
  }
  lumos_text_char(&sizes, '\0');
  good = good && lumos_transform_sizes(job, sizes.bytes, error);
  lumos_text_free(&sizes);
  return good;
}

/* What concerns the recording, not the job that it shows, comes before all changes of that job, and once. */
static bool is_of_recording(const struct transform *transform) {
  return transform->apply == lumos_transform_unprofiled;
}

static bool is(const struct lumos_given *given, const char *option) { return strcmp(given->option, option) == 0; }

/* A network is known before a job is rebuilt on it, wherever it stands: each transfer then follows from a recorded one,
 * rather than from one that was re-estimated for another network. Only another GPU keeps its place before it, for its
 * links are what a network changes. */
static void put_networks_first(struct lumos_option_list *changes) {
  for (size_t i = 0; i < changes->count; i++) {
    size_t to = i;
    for (size_t k = i; is(&changes->items[i], "network") && k-- > 0 && !is(&changes->items[k], "gpu");) {
      to = transform_of(&changes->items[k])->apply == NULL ? k : to;
    }
    struct lumos_given given = changes->items[i];
    memmove(&changes->items[to + 1], &changes->items[to], (i - to) * sizeof given);
    changes->items[to] = given;
  }
}

static bool apply_all(struct lumos_job *job, const struct lumos_option_list *changes, struct lumos_error *error) {
  bool good = true;
  for (size_t i = 0; good && i < changes->count;) {
    const struct lumos_given *given = &changes->items[i];
    const struct transform *transform = transform_of(given);
    if (transform->apply == NULL) {
      good = rebuild(job, changes, &i, error);
    } else if (transform->apply == lumos_transform_sizes) {
      good = resize(job, changes, &i, error);
    } else {
      good = transform->apply(job, given->argument, error);
      i++;
    }
  }
  return good;
}

bool tool_transforming_apply(struct lumos_job *job, const struct tool_transforming *transforming,
                             struct lumos_error *error) {
  const struct lumos_option_list *asked = &transforming->changes;
  struct lumos_option_list changes = {.items = lumos_allocate((asked->count + 1) * sizeof *changes.items)};
  bool of_recording = false;
  for (size_t i = 0; i < asked->count; i++) {
    if (is_of_recording(transform_of(&asked->items[i]))) {
      of_recording = true;
    } else {
      changes.items[changes.count++] = asked->items[i];
    }
  }
  put_networks_first(&changes);
  bool good = asked->count > 0 || lumos_transform_begin(job, error);
  good = good && (!of_recording || lumos_transform_unprofiled(job, NULL, error)) && apply_all(job, &changes, error);
  free(changes.items);
  return good;
}
