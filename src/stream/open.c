/* What every tool begins with: streams from files or standard input, joined when there are several. */
#include <lumos/stream.h>

#include "base/input.h"
#include <stdlib.h>
#include <string.h>

static struct lumos_job *open_one(const char *path, const struct lumos_read_options *options,
                                  struct lumos_error *error) {
  struct lumos_input *input = lumos_input_open(path, error);
  if (input == NULL) {
    return NULL;
  }
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  struct lumos_job *job = lumos_stream_read(input, name, options, error);
  lumos_input_close(input);
  return job;
}

struct lumos_job *lumos_streams_open(const char *const *paths, size_t count, const struct lumos_read_options *options,
                                     struct lumos_error *error) {
  if (count == 0) {
    return open_one("-", options, error);
  }
  struct lumos_job **jobs = lumos_reallocate(NULL, count, sizeof(struct lumos_job *));
  size_t read = 0;
  while (read < count && (jobs[read] = open_one(paths[read], options, error)) != NULL) {
    read++;
  }
  struct lumos_job *job = NULL;
  if (read < count) {
    for (size_t i = 0; i < read; i++) {
      lumos_job_free(jobs[i]);
    }
  } else {
    job = count == 1 ? jobs[0] : lumos_job_join(jobs, count, error);
  }
  free(jobs);
  return job;
}
