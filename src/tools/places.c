/* Files are the same by device and inode; those that are not there yet by folder and name. Pipes, terminals and devices
 * are no files here: writing to them loses nothing.
 *
 * Options are known by their names: one that names a file is in one of the lists below (tests/cli/errors.sh holds
 * that).
 */
#include "tools/places.h"

#include "base/folder.h"
#include "trace/inputs.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const written[] = {"output", "trace", "critical-path", "junit", "summary", "picture", NULL};
static const char *const read_by[] = {"gate",    "baseline", "files-from", "hardware",
                                      "network", "template", "model-file", NULL};
static const char read_behind[] = "gpu"; /* NAME@FILE */
static const char linked_by[] = "index"; /* a folder: the page links to reports in it, and in folders of it */

enum { INPUT = -1 }; /* an operand, or standard input */

struct place {
  dev_t device;
  ino_t inode;      /* of the file, or of the folder where there is none yet */
  const char *name; /* NULL: the file is there */
  const char *path; /* for messages */
  int option;       /* row of the command's options, or INPUT */
};
LUMOS_VECTOR_TYPE(places, struct place);

struct checking {
  const struct lumos_command *command;
  struct places reads, writes;
  struct trace_paths listed; /* paths that stand in files, or in folders */
};

static bool is_in(const char *const *names, const char *name) {
  while (*names != NULL && strcmp(*names, name) != 0) {
    names++;
  }
  return *names != NULL;
}

static bool is_standard(const char *path) { return path == NULL || strcmp(path, "-") == 0; }

/* ---- Places ---- */

static void add_status(struct places *places, const struct stat *status, const char *path, int option) {
  if (S_ISREG(status->st_mode)) {
    lumos_vector_push(places, ((struct place){status->st_dev, status->st_ino, NULL, path, option}));
  }
}

static void add_standard(struct places *places, int descriptor, const char *called, int option) {
  struct stat status;
  if (fstat(descriptor, &status) == 0) {
    add_status(places, &status, called, option);
  }
}

/* A file that is to come, in the folder that is there. */
static void add_new(struct places *places, const char *path, int option) {
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
  char *folder = lumos_allocate(length + sizeof ".");
  struct stat status;
  memcpy(folder, path, length);
  memcpy(folder + length, ".", sizeof ".");
  if (stat(folder, &status) == 0) {
    lumos_vector_push(places, ((struct place){status.st_dev, status.st_ino, path + length, path, option}));
  }
  free(folder);
}

enum folder { OF_TRACES, OF_NIGHTS, OF_TEMPLATES };

static bool reads(enum folder folder, const char *name) {
  bool is_json = lumos_ends_with(name, ".json");
  switch (folder) {
    case OF_TRACES:
      return is_json || lumos_ends_with(name, ".json.gz") || lumos_ends_with(name, ".json.zst");
    case OF_NIGHTS:
      return is_json && !lumos_ends_with(name, ".gate.json");
    default:
      return true;
  }
}

static void add_folder(struct checking *checking, const char *path, enum folder folder, int option) {
  struct lumos_error unread = {LUMOS_DONE, ""};
  struct lumos_file_names names;
  struct stat status;
  if (lumos_folder_list(path, &names, &unread)) {
    for (size_t i = 0; i < names.count; i++) {
      char *file = lumos_path_join(path, names.items[i]);
      lumos_vector_push(&checking->listed, file);
      if (stat(file, &status) == 0 && S_ISREG(status.st_mode) && reads(folder, names.items[i])) {
        add_status(&checking->reads, &status, file, option);
      }
    }
  }
  lumos_names_free(&names);
}

static void add_read(struct checking *checking, const char *path, enum folder folder, int option) {
  struct stat status;
  if (is_standard(path)) {
    add_standard(&checking->reads, STDIN_FILENO, "standard input", option);
  } else if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
    add_folder(checking, path, folder, option);
  } else if (stat(path, &status) == 0) {
    add_status(&checking->reads, &status, path, option);
  }
}

/* The reports of nights: NIGHT.html beside NIGHT.json or NIGHT.failed. */
static void add_reports(struct checking *checking, const char *path, const struct lumos_file_names *names, int option) {
  struct stat status;
  for (size_t i = 0; i < names->count; i++) {
    const char *name = names->items[i];
    size_t ending = lumos_ends_with(name, ".json") ? strlen(".json") : strlen(".failed");
    if (reads(OF_NIGHTS, name) || lumos_ends_with(name, ".failed")) {
      char *stem = lumos_path_join(path, name);
      size_t length = strlen(stem) - ending;
      char *report = lumos_allocate(length + sizeof ".html");
      memcpy(report, stem, length);
      memcpy(report + length, ".html", sizeof ".html");
      free(stem);
      lumos_vector_push(&checking->listed, report);
      if (stat(report, &status) == 0) {
        add_status(&checking->reads, &status, report, option);
      }
    }
  }
}

static void add_history(struct checking *checking, const char *path, bool whole, int option) {
  struct lumos_error unread = {LUMOS_DONE, ""};
  struct lumos_file_names names;
  if (lumos_folder_list(path, &names, &unread)) {
    add_reports(checking, path, &names, option);
    for (size_t i = 0; whole && i < names.count; i++) {
      char *folder = lumos_path_join(path, names.items[i]);
      if (lumos_is_folder(folder)) {
        add_history(checking, folder, false, option);
      }
      free(folder);
    }
  }
  lumos_names_free(&names);
}

static void add_written(struct checking *checking, const char *path, int option) {
  struct stat status;
  if (is_standard(path)) {
    add_standard(&checking->writes, STDOUT_FILENO, "standard output", option);
  } else if (stat(path, &status) == 0) {
    add_status(&checking->writes, &status, path, option);
  } else {
    add_new(&checking->writes, path, option);
  }
}

/* ---- Options ---- */

/* The traces that a file names; a pipe can be read but once. What is wrong with it shows when it is read. */
static void add_lines(struct checking *checking, const char *path, int option) {
  struct lumos_error unread = {LUMOS_DONE, ""};
  struct trace_paths paths = {NULL, 0, 0};
  const struct lumos_trace_options options = {.lists = &path, .list_count = 1};
  if (lumos_is_file(path) && lumos_trace_list_paths(NULL, 0, &options, &paths, &unread)) {
    for (size_t i = 0; i < paths.count; i++) {
      lumos_vector_push(&checking->listed, paths.items[i]);
      add_read(checking, paths.items[i], OF_TRACES, option);
    }
    lumos_vector_free(&paths);
  }
}

static void add_read_by(struct checking *checking, const char *name, const char *path, int option) {
  add_read(checking, path,
           strcmp(name, "template") == 0   ? OF_TEMPLATES
           : strcmp(name, "baseline") == 0 ? OF_NIGHTS
                                           : OF_TRACES,
           option);
  if (strcmp(name, "files-from") == 0) {
    add_lines(checking, path, option);
  }
}

static void add_given(struct checking *checking, const char *name, const char *argument, int option) {
  const char *file = strcmp(name, read_behind) == 0 && argument != NULL ? strchr(argument, '@') : NULL;
  if (argument != NULL && is_in(read_by, name)) {
    add_read_by(checking, name, argument, option);
  } else if (argument != NULL && strcmp(name, linked_by) == 0) {
    add_history(checking, argument, true, option);
  } else if (file != NULL) {
    add_read(checking, file + 1, OF_TRACES, option);
  } else if (is_in(written, name) && (argument != NULL || strcmp(name, "output") == 0)) {
    add_written(checking, argument, option);
  }
}

static void add_option(struct checking *checking, int row) {
  const struct lumos_option *option = &checking->command->options[row];
  if (option->kind == LUMOS_OPTION_TEXT) {
    add_given(checking, option->name, *(const char *const *)option->target, row);
  } else if (option->kind == LUMOS_OPTION_LIST) {
    const struct lumos_option_list *list = option->target;
    for (size_t i = 0; i < list->count; i++) {
      if (strcmp(list->items[i].option, option->name) == 0) {
        add_given(checking, option->name, list->items[i].argument, row);
      }
    }
  }
}

/* ---- Together ---- */

static bool are_same(const struct place *one, const struct place *other) {
  return one->device == other->device && one->inode == other->inode && (one->name == NULL) == (other->name == NULL) &&
         (one->name == NULL || strcmp(one->name, other->name) == 0);
}

static bool check(const struct checking *checking, struct lumos_error *error) {
  const struct lumos_option *options = checking->command->options;
  for (size_t i = 0; i < checking->writes.count; i++) {
    const struct place *write = &checking->writes.items[i];
    for (size_t k = 0; k < checking->reads.count; k++) {
      const struct place *read = &checking->reads.items[k];
      if (are_same(write, read)) {
        const char *by = read->option == INPUT ? "the tool" : options[read->option].name;
        return lumos_fail(error, "--%s %s: this would overwrite what %s%s %s, %s; name another file",
                          options[write->option].name, write->path, read->option == INPUT ? "" : "--", by,
                          strcmp(by, linked_by) == 0 ? "links to" : "reads", read->path);
      }
    }
    for (size_t k = 0; k < i; k++) {
      if (are_same(write, &checking->writes.items[k])) {
        return lumos_fail(error, "--%s %s: --%s writes to that file, too; name another", options[write->option].name,
                          write->path, options[checking->writes.items[k].option].name);
      }
    }
  }
  return true;
}

bool tool_check_places(const struct lumos_command *command, const struct lumos_operands *operands,
                       struct lumos_error *error) {
  struct checking checking = {.command = command};
  for (int row = 0; command->options[row].kind != LUMOS_OPTION_END; row++) {
    add_option(&checking, row);
  }
  bool good = true;
  if (checking.writes.count > 0) { /* else nothing is lost */
    for (size_t i = 0; i < operands->count; i++) {
      add_read(&checking, operands->items[i], OF_TRACES, INPUT);
    }
    if (operands->count == 0) {
      add_read(&checking, NULL, OF_TRACES, INPUT);
    }
    good = check(&checking, error);
  }
  lumos_vector_free(&checking.reads);
  lumos_vector_free(&checking.writes);
  lumos_trace_free_paths(&checking.listed);
  return good;
}
