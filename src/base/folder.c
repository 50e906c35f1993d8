#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_name(const void *left, const void *right) { return strcmp(*(char *const *)left, *(char *const *)right); }

bool lumos_folder_list(const char *folder, struct lumos_file_names *names, struct lumos_error *error) {
  DIR *listing = opendir(folder);
  *names = (struct lumos_file_names){0};
  if (listing == NULL) {
    return lumos_fail(error, "%s: cannot list the folder: %s", folder, strerror(errno));
  }
  const struct dirent *entry = NULL;
  for (errno = 0; (entry = readdir(listing)) != NULL; errno = 0) {
    if (entry->d_name[0] != '.') {
      lumos_vector_push(names, lumos_copied(entry->d_name, strlen(entry->d_name) + 1, 1));
    }
  }
  int reason = errno;
  (void)closedir(listing);
  lumos_vector_sort(names, by_name);
  return reason == 0 || lumos_fail(error, "%s: cannot list the folder: %s", folder, strerror(reason));
}

void lumos_names_free(struct lumos_file_names *names) {
  for (size_t i = 0; i < names->count; i++) {
    free(names->items[i]);
  }
  lumos_vector_free(names);
}

bool lumos_names_hold(const struct lumos_file_names *names, const char *name) {
  return names->count > 0 && bsearch(&name, names->items, names->count, sizeof *names->items, by_name) != NULL;
}

bool lumos_ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), ending_length = strlen(ending);
  return length > ending_length && strcmp(text + length - ending_length, ending) == 0;
}

char *lumos_path_join(const char *folder, const char *name) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = lumos_allocate(size);
  (void)snprintf(path, size, "%s%s%s", folder, folder[0] != '\0' && folder[strlen(folder) - 1] != '/' ? "/" : "", name);
  return path;
}

bool lumos_is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

bool lumos_is_file(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}
