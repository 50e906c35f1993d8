/* Folders are listed, not walked: what lies deeper was put there on purpose. */
#include "trace/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <lumos/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *text, const char *ending) {
  size_t length = strlen(text);
  size_t ending_length = strlen(ending);
  return length > ending_length && strcmp(text + length - ending_length, ending) == 0;
}

static bool is_trace_name(const char *name) {
  return name[0] != '.' && (ends_with(name, ".json") || ends_with(name, ".json.gz") || ends_with(name, ".json.zst"));
}

static int compare_paths(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void add_path(struct trace_paths *list, const char *folder, const char *name) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = lumos_allocate(size);
  (void)snprintf(path, size, "%s%s%s", folder, folder[0] != '\0' && !ends_with(folder, "/") ? "/" : "", name);
  lumos_vector_push(list, path);
}

static bool list_folder(const char *folder, struct trace_paths *list, struct lumos_error *error) {
  DIR *listing = opendir(folder);
  if (listing == NULL) {
    return lumos_fail(error, "%s: cannot list the folder: %s", folder, strerror(errno));
  }
  size_t first = list->count;
  const struct dirent *entry = NULL;
  while ((entry = readdir(listing)) != NULL) {
    if (is_trace_name(entry->d_name)) {
      add_path(list, folder, entry->d_name);
    }
  }
  (void)closedir(listing);
  if (list->count == first) {
    return lumos_fail(error, "%s: holds no file *.json, *.json.gz or *.json.zst; name the traces", folder);
  }
  qsort(list->items + first, list->count - first, sizeof *list->items, compare_paths);
  return true;
}

bool lumos_trace_list_paths(const char *const *paths, size_t count, struct trace_paths *list,
                            struct lumos_error *error) {
  *list = (struct trace_paths){NULL, 0, 0};
  for (size_t i = 0; i < count; i++) {
    struct stat about;
    bool folder = strcmp(paths[i], "-") != 0 && stat(paths[i], &about) == 0 && S_ISDIR(about.st_mode);
    if (!folder) {
      add_path(list, "", paths[i]);
    } else if (!list_folder(paths[i], list, error)) {
      lumos_trace_free_paths(list);
      return false;
    }
  }
  if (count == 0) {
    add_path(list, "", "-");
  }
  return true;
}

void lumos_trace_free_paths(struct trace_paths *list) {
  for (size_t i = 0; i < list->count; i++) {
    free(list->items[i]);
  }
  lumos_vector_free(list);
}

const char *lumos_trace_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

int32_t lumos_trace_rank_in_name(const char *base_name) {
  for (const char *place = base_name; (place = strcasestr(place, "rank")) != NULL; place += 4) {
    const char *digits = place + 4;
    digits += *digits == '-' || *digits == '_' || *digits == '.' || *digits == '=';
    size_t length = strspn(digits, "0123456789");
    if (length > 0 && length <= 9) {
      return (int32_t)strtol(digits, NULL, 10);
    }
  }
  return LUMOS_ABSENT_INT;
}
