/* Trace files in a folder of their own, for a test that parses several: a cmocka fixture. */
#ifndef LUMOS_TESTS_TRACE_FILES_H
#define LUMOS_TESTS_TRACE_FILES_H

#include "trace_text.h"

enum { MOST_FILES = 16 };

struct files {
  char *folder;
  char *paths[MOST_FILES];
  size_t count;
};

static inline int make_files(void **state) {
  struct files *files = calloc(1, sizeof *files);
  assert_non_null(files);
  files->folder = unit_folder_new();
  *state = files;
  return 0;
}

static inline int drop_files(void **state) {
  struct files *files = *state;
  for (size_t i = 0; i < files->count; i++) {
    free(files->paths[i]);
  }
  unit_folder_remove(files->folder);
  free(files);
  return 0;
}

/* Its path, which the files keep. */
static inline const char *add_file(struct files *files, const char *name, const char *text) {
  assert_true(files->count < MOST_FILES);
  files->paths[files->count] = unit_path(files->folder, name);
  unit_write_file(files->paths[files->count], text, strlen(text));
  return files->paths[files->count++];
}

#endif
