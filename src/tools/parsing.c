/* See parsing.h. */
#include "tools/parsing.h"

#include "base/ascii.h"
#include <lumos/trace.h>
#include <stdlib.h>

LUMOS_VECTOR_TYPE(rank_list, int32_t);
LUMOS_VECTOR_TYPE(name_list, const char *);

/* "3" or "0,1,2" onto the end of `ranks`. */
static bool add_ranks(const char *text, struct rank_list *ranks, struct lumos_error *error) {
  const char *at = text;
  do {
    char *behind = NULL;
    long rank = lumos_is_digit(*at) ? strtol(at, &behind, 10) : -1;
    if (rank < 0 || rank >= INT32_MAX || (*behind != ',' && *behind != '\0')) {
      return lumos_fail(
          error, "option --rank: '%s' is not a list of rank numbers; give one for each file, as --rank 0,1", text);
    }
    lumos_vector_push(ranks, (int32_t)rank);
    at = *behind == ',' ? behind + 1 : NULL;
  } while (at != NULL);
  return true;
}

static bool read_options(const struct tool_parsing *parsing, struct lumos_trace_options *out, struct rank_list *ranks,
                         struct name_list *lists, struct lumos_error *error) {
  *out = (struct lumos_trace_options){.stacks = parsing->stacks,
                                      .strict = parsing->strict,
                                      .without_hta = parsing->without_hta,
                                      .edited = parsing->input.edited,
                                      .threads = (size_t)parsing->input.threads};
  if (parsing->steps != NULL && !lumos_steps_parse(parsing->steps, out, error)) {
    return false;
  }
  if (parsing->run != NULL && !lumos_run_parse(parsing->run, out, error)) {
    return false;
  }
  for (size_t i = 0; i < parsing->ranks.count; i++) {
    if (!add_ranks(parsing->ranks.items[i].argument, ranks, error)) {
      return false;
    }
  }
  out->ranks = ranks->items;
  out->rank_count = ranks->count;
  for (size_t i = 0; i < parsing->lists.count; i++) {
    lumos_vector_push(lists, parsing->lists.items[i].argument);
  }
  out->lists = lists->items;
  out->list_count = lists->count;
  return true;
}

bool tool_parsing_asked(const struct tool_parsing *parsing) {
  return parsing->steps != NULL || parsing->run != NULL || parsing->ranks.count > 0 || parsing->lists.count > 0 ||
         parsing->stacks || parsing->strict;
}

bool tool_parsing_given(const struct lumos_operands *operands, const struct tool_parsing *parsing, const char *expected,
                        struct lumos_error *error) {
  return parsing->lists.count > 0 || tool_input_given(operands, expected, error);
}

struct lumos_job *tool_parsing_read(const struct lumos_operands *operands, const struct tool_parsing *parsing,
                                    struct lumos_progress *progress, struct lumos_error *error) {
  struct lumos_trace_options options;
  struct rank_list ranks = {0};
  struct name_list lists = {0};
  struct lumos_job *job = NULL;
  lumos_progress_begin(progress);
  if (read_options(parsing, &options, &ranks, &lists, error)) {
    options.watcher = lumos_progress_watcher(progress);
    job = lumos_trace_parse(operands->items, operands->count, &options, error);
  }
  lumos_vector_free(&ranks);
  lumos_vector_free(&lists);
  if (job == NULL) {
    lumos_progress_wipe(progress);
    return NULL;
  }
  job->watcher = lumos_progress_watcher(progress);
  job->threads = options.threads;
  return job;
}
