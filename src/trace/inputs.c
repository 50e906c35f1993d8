/* Folders are listed, not walked: what lies deeper was put there on purpose. */
#include "trace/inputs.h"

#include "base/folder.h"
#include "base/input.h"
#include <lumos/job.h>
#include <stdlib.h>
#include <string.h>

static bool is_trace_name(const char *name) {
  return name[0] != '.' &&
         (lumos_ends_with(name, ".json") || lumos_ends_with(name, ".json.gz") || lumos_ends_with(name, ".json.zst"));
}

static void add_path(struct trace_paths *list, const char *folder, const char *name) {
  lumos_vector_push(list, lumos_path_join(folder, name));
}

static bool list_folder(const char *folder, struct trace_paths *list, struct lumos_error *error) {
  struct lumos_file_names names;
  size_t first = list->count;
  bool good = lumos_folder_list(folder, &names, error);
  for (size_t i = 0; i < names.count; i++) {
    if (is_trace_name(names.items[i])) {
      add_path(list, folder, names.items[i]);
    }
  }
  lumos_names_free(&names);
  return good && (list->count > first ||
                  lumos_fail(error, "%s: holds no file *.json, *.json.gz or *.json.zst; name the traces", folder));
}

/* A file, or the traces of a folder. */
static bool add_named(const char *path, struct trace_paths *list, struct lumos_error *error) {
  if (strcmp(path, "-") != 0 && lumos_is_folder(path)) {
    return list_folder(path, list, error);
  }
  add_path(list, "", path);
  return true;
}

/* What the lines of a file name. A line is a name whatever is in it: spaces, quotes, a leading #. */
static bool add_listed(const char *file, struct trace_paths *list, struct lumos_error *error) {
  enum { LIST_LIMIT = 64 * 1024 * 1024 };
  size_t length = 0;
  char *lines = lumos_input_slurp(file, LIST_LIMIT, &length, error);
  size_t first = list->count;
  bool good = lines != NULL;
  char *rest = NULL;
  for (char *line = good ? strtok_r(lines, "\n", &rest) : NULL; good && line != NULL;
       line = strtok_r(NULL, "\n", &rest)) {
    size_t end = strlen(line);
    if (end > 0 && line[end - 1] == '\r') { /* of a list made on another system */
      line[end - 1] = '\0';
    }
    good = *line == '\0' || add_named(line, list, error);
  }
  free(lines);
  return good && (list->count > first || lumos_fail(error, "%s: names no file; write one a line", file));
}

static bool read_once(const struct lumos_trace_options *options, const struct trace_paths *list,
                      struct lumos_error *error) {
  size_t times = 0;
  for (size_t i = 0; i < list->count; i++) {
    times += strcmp(list->items[i], "-") == 0;
  }
  for (size_t i = 0; i < options->list_count; i++) {
    times += strcmp(options->lists[i], "-") == 0;
  }
  return times < 2 || lumos_fail(error, "standard input is named %zu times; it can be read once", times);
}

bool lumos_trace_list_paths(const char *const *paths, size_t count, const struct lumos_trace_options *options,
                            struct trace_paths *list, struct lumos_error *error) {
  *list = (struct trace_paths){NULL, 0, 0};
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    good = add_named(paths[i], list, error);
  }
  for (size_t i = 0; i < options->list_count && good; i++) {
    good = add_listed(options->lists[i], list, error);
  }
  if (count == 0 && options->list_count == 0) {
    add_path(list, "", "-");
  }
  good = good && read_once(options, list, error);
  if (!good) {
    lumos_trace_free_paths(list);
  }
  return good;
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
    digits += *digits == '-' || *digits == '_' || *digits == '.' || *digits == '=' || *digits == ' ';
    size_t length = strspn(digits, "0123456789");
    if (length > 0 && length <= 9) {
      return (int32_t)strtol(digits, NULL, 10);
    }
  }
  return LUMOS_ABSENT_INT;
}
