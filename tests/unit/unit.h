/* What every unit test includes: cmocka with the headers it wants first, and a folder for files that goes away. */
#ifndef LUMOS_TESTS_UNIT_H
#define LUMOS_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a string literal, NULs inside included: (bytes, length). */
#define LITERAL(text) (text), sizeof(text) - 1

/* A new empty folder; free the path with unit_folder_remove. */
static inline char *unit_folder_new(void) {
  const char *base = getenv("TMPDIR");
  char path[256];
  int length = snprintf(path, sizeof path, "%s/lumos-test.XXXXXX", base != NULL ? base : "/tmp");
  assert_true(length > 0 && (size_t)length < sizeof path);
  assert_non_null(mkdtemp(path));
  char *kept = strdup(path);
  assert_non_null(kept);
  return kept;
}

/* folder/name in a static-free way: the caller frees. */
static inline char *unit_path(const char *folder, const char *name) {
  char *path = NULL;
  assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
  return path;
}

/* The folder of real traces (environment LUMOS_TRACES); NULL where there is none, or nothing in it. */
static inline const char *unit_traces(void) {
  const char *folder = getenv("LUMOS_TRACES");
  if (folder == NULL) {
    return NULL;
  }
  char *pattern = unit_path(folder, "*/*.json*");
  glob_t found = {0};
  bool there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
  globfree(&found);
  free(pattern);
  return there ? folder : NULL;
}

/* How many files the folder holds, hidden ones included. */
static inline int unit_folder_count(const char *folder) {
  int count = 0;
  DIR *listing = opendir(folder);
  assert_non_null(listing);
  while (readdir(listing) != NULL) {
    count++;
  }
  (void)closedir(listing);
  return count - 2; /* . and .. */
}

static inline void unit_folder_remove(char *folder) {
  DIR *listing = opendir(folder);
  assert_non_null(listing);
  const struct dirent *entry = NULL;
  while ((entry = readdir(listing)) != NULL) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      char *path = unit_path(folder, entry->d_name);
      assert_int_equal(unlink(path), 0);
      free(path);
    }
  }
  (void)closedir(listing);
  assert_int_equal(rmdir(folder), 0);
  free(folder);
}

static inline void unit_write_file(const char *path, const void *bytes, size_t length) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

/* The whole file with a NUL behind it; the caller frees. */
static inline char *unit_read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  enum { LARGEST = 1 << 20 };
  char *bytes = malloc(LARGEST);
  assert_non_null(bytes);
  *length = fread(bytes, 1, LARGEST - 1, file);
  bytes[*length] = '\0';
  assert_int_equal(fclose(file), 0);
  return bytes;
}

#endif
