/* See parsing.h. */
#include "tools/parsing.h"

#include "base/progress.h"
#include <lumos/trace.h>
#include <stdlib.h>

LUMOS_VECTOR_TYPE(rank_list, int32_t);

/* "3" or "0,1,2" onto the end of `ranks`. */
static bool add_ranks(const char *text, struct rank_list *ranks, struct lumos_error *error) {
  const char *at = text;
  do {
    char *behind = NULL;
    long rank = *at >= '0' && *at <= '9' ? strtol(at, &behind, 10) : -1;
    if (rank < 0 || rank >= INT32_MAX || (*behind != ',' && *behind != '\0')) {
      return lumos_fail(error, "option --rank: '%s' is no list of rank numbers; give one for each file, as --rank 0,1",
                        text);
    }
    lumos_vector_push(ranks, (int32_t)rank);
    at = *behind == ',' ? behind + 1 : NULL;
  } while (at != NULL);
  return true;
}

static bool read_options(const struct tool_parsing *parsing, struct lumos_trace_options *out, struct rank_list *ranks,
                         struct lumos_error *error) {
  *out = (struct lumos_trace_options){.stacks = parsing->stacks, .strict = parsing->strict, .edited = parsing->edited};
  if (parsing->steps != NULL && !lumos_steps_parse(parsing->steps, out, error)) {
    return false;
  }
  for (size_t i = 0; i < parsing->ranks.count; i++) {
    if (!add_ranks(parsing->ranks.items[i], ranks, error)) {
      return false;
    }
  }
  out->ranks = ranks->items;
  out->rank_count = ranks->count;
  return true;
}

/* The progress line, one file after the other. */
struct shown {
  struct lumos_progress progress;
  const char *name;
};

static void show_progress(void *context, const char *name, uint64_t done, uint64_t total) {
  struct shown *shown = context;
  if (shown->name != name) {
    lumos_progress_finish(&shown->progress);
    lumos_progress_begin(&shown->progress, name, true);
    shown->name = name;
  }
  lumos_progress_update(&shown->progress, done, total);
}

bool tool_parsing_asked(const struct tool_parsing *parsing) {
  return parsing->steps != NULL || parsing->ranks.count > 0 || parsing->stacks || parsing->strict;
}

struct lumos_job *tool_parsing_read(const struct lumos_operands *operands, const struct tool_parsing *parsing,
                                    struct lumos_error *error) {
  struct lumos_trace_options options;
  struct rank_list ranks = {0};
  struct shown shown = {.name = NULL};
  struct lumos_job *job = NULL;
  if (read_options(parsing, &options, &ranks, error)) {
    options.watcher = (struct lumos_watcher){show_progress, &shown};
    job = lumos_trace_parse(operands->items, operands->count, &options, error);
    lumos_progress_finish(&shown.progress);
  }
  lumos_vector_free(&ranks);
  return job;
}
