/* See commands.h. */
#include "tools/commands.h"

#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char prefix[] = "lumos-";

/* Listed in this order, first the one that runs the whole pipe. */
static const char *const known[] = {"report", "compare", "parse", "graph", "transform", "sim", "render"};

enum { KNOWN = sizeof known / sizeof *known, PREFIX = sizeof prefix - 1 };

/* --- Folders --- */

/* The folder of this executable, whatever name or link it was called by; "" where the system does not tell. */
static void own_folder(char folder[PATH_MAX]) {
  ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
  folder[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(folder, '/');
  if (slash != NULL) {
    *slash = '\0';
  }
}

/* Call `look` with each folder in turn until it is content. Empty and relative entries of PATH, which mean wherever the
 * user happens to be, are passed over. */
static bool in_folders(bool (*look)(void *context, const char *folder), void *context) {
  char folder[PATH_MAX];
  own_folder(folder);
  if (folder[0] != '\0' && look(context, folder)) {
    return true;
  }
  const char *rest = getenv("PATH");
  while (rest != NULL && *rest != '\0') {
    size_t length = strcspn(rest, ":");
    if (*rest == '/' && length < sizeof folder) {
      memcpy(folder, rest, length);
      folder[length] = '\0';
      if (look(context, folder)) {
        return true;
      }
    }
    rest += length + (rest[length] == ':');
  }
  return false;
}

/* FOLDER/BEFORE NAME AFTER, malloc'ed. */
static char *join_path(const char *folder, const char *before, const char *name, const char *after) {
  struct lumos_text path = LUMOS_TEXT_BUFFER;
  lumos_text_format(&path, "%s/%s%s%s", folder, before, name, after);
  lumos_text_char(&path, '\0');
  return path.bytes;
}

static bool is_executable(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/* --- Finding --- */

struct wanted {
  const char *name;
  char *path;
};

static bool look_for_one(void *context, const char *folder) {
  struct wanted *wanted = context;
  wanted->path = join_path(folder, prefix, wanted->name, "");
  if (is_executable(wanted->path)) {
    return true;
  }
  free(wanted->path);
  wanted->path = NULL;
  return false;
}

char *tool_command_path(const char *name) {
  struct wanted wanted = {.name = name};
  bool possible = *name != '\0' && strchr(name, '/') == NULL;
  return possible && in_folders(look_for_one, &wanted) ? wanted.path : NULL;
}

static bool look_for_all(void *context, const char *folder) {
  struct tool_commands *commands = context;
  DIR *entries = opendir(folder);
  if (entries == NULL) {
    return false;
  }
  const struct dirent *entry = NULL;
  while ((entry = readdir(entries)) != NULL) {
    if (strncmp(entry->d_name, prefix, PREFIX) != 0 || entry->d_name[PREFIX] == '\0') {
      continue;
    }
    char *path = join_path(folder, "", entry->d_name, "");
    if (is_executable(path)) {
      const char *kept = lumos_arena_copy(commands->arena, path, strlen(path));
      lumos_vector_push(&commands->list, ((struct tool_command){strrchr(kept, '/') + 1 + PREFIX, kept}));
    }
    free(path);
  }
  (void)closedir(entries);
  return commands->list.count > 0;
}

static size_t place_of(const char *name) {
  size_t place = 0;
  while (place < KNOWN && strcmp(known[place], name) != 0) {
    place++;
  }
  return place;
}

static int compare_commands(const void *a, const void *b) {
  const char *one = ((const struct tool_command *)a)->name;
  const char *other = ((const struct tool_command *)b)->name;
  size_t place = place_of(one);
  size_t other_place = place_of(other);
  return place != other_place ? (place < other_place ? -1 : 1) : strcmp(one, other);
}

void tool_commands_find(struct tool_commands *commands) {
  *commands = (struct tool_commands){.arena = lumos_arena_new()};
  if (in_folders(look_for_all, commands)) {
    lumos_vector_sort(&commands->list, compare_commands);
  }
}

void tool_commands_free(struct tool_commands *commands) {
  lumos_vector_free(&commands->list);
  lumos_arena_free(commands->arena);
  commands->arena = NULL;
}

char *tool_manual_path(const char *name) {
  static const struct {
    const char *section, *ending;
  } places[] = {{"1", ""}, {"5", ""}, {"1", ".gz"}, {"5", ".gz"}}; /* packages compress their pages */
  char folder[PATH_MAX];
  own_folder(folder);
  for (size_t i = 0; strchr(name, '/') == NULL && i < sizeof places / sizeof *places; i++) {
    struct lumos_text path = LUMOS_TEXT_BUFFER;
    lumos_text_format(&path, "%s/../share/man/man%s/%s%s.%s%s", folder, places[i].section,
                      strcmp(name, "lumos") == 0 ? "" : prefix, name, places[i].section, places[i].ending);
    lumos_text_char(&path, '\0');
    if (access(path.bytes, R_OK) == 0) {
      return path.bytes;
    }
    lumos_text_free(&path);
  }
  return NULL;
}

/* --- Summaries --- */

/* Start `path --help` with its output in a pipe; the end to read from, or -1. */
static int start_help(const char *path, pid_t *child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return -1;
  }
  posix_spawn_file_actions_t actions;
  (void)posix_spawn_file_actions_init(&actions);
  (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  char *const arguments[] = {(char *)(uintptr_t)path, (char *)(uintptr_t) "--help", NULL};
  int failure = posix_spawn(child, path, &actions, NULL, arguments, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  (void)close(ends[1]);
  if (failure != 0) {
    (void)close(ends[0]);
    return -1;
  }
  return ends[0];
}

/* The first bytes of `path --help`, NUL-terminated. */
static void read_help(const char *path, char *bytes, size_t capacity) {
  pid_t child = 0;
  size_t length = 0;
  int descriptor = start_help(path, &child);
  ssize_t got = 1;
  while (descriptor >= 0 && got > 0 && length + 1 < capacity) {
    got = read(descriptor, bytes + length, capacity - 1 - length);
    length += got > 0 ? (size_t)got : 0;
  }
  bytes[length] = '\0';
  if (descriptor >= 0) {
    (void)close(descriptor);
    (void)waitpid(child, NULL, 0);
  }
}

const char *tool_command_summary(struct tool_commands *commands, const struct tool_command *command) {
  char help[1024] = "";
  read_help(command->path, help, sizeof help);
  char *end = strstr(help, "\n\n");
  const char *name = strrchr(command->path, '/') + 1;
  size_t skip = strlen(name) + 3;
  bool fits = end != NULL && strncmp(help, name, skip - 3) == 0 && strncmp(help + skip - 3, " - ", 3) == 0;
  if (!fits) {
    return "";
  }
  for (char *at = help; at < end; at++) {
    if (*at == '\n') {
      *at = ' ';
    }
  }
  lumos_utf8_make_printable(help, (size_t)(end - help));
  return lumos_arena_copy(commands->arena, help + skip, (size_t)(end - help) - skip);
}

/* --- Names that are nearly right --- */

const char *tool_commands_nearest(const struct tool_commands *commands, const char *word) {
  struct lumos_nearest nearest = {.word = word};
  for (size_t i = 0; i < commands->list.count; i++) {
    lumos_nearest_offer(&nearest, commands->list.items[i].name);
  }
  return nearest.best;
}
