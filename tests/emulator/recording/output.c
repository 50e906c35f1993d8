/* Files are written into a folder of their own, whose name begins with a dot, and renamed: so no name ever stands for
 * half a file. The earlier truth.json goes first and the new one comes last: a folder that has one holds all of that
 * run, and of no other. While a run lasts it holds a lock on its own folder: one that is not locked is of a run that
 * was killed. Who has just made its folder looks, once it has the lock, whether the folder is still there, for another
 * run may have taken it for such a one.
 */
#include "output.h"

#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char truth_name[] = "truth.json";
static const char temporary_name[] = ".emulated-cluster-XXXXXX";

static bool complain(const char *path, const char *what) {
  fprintf(stderr, "emulated-cluster: %s: %s\n", path, what);
  return false;
}

static char *path_in(const char *folder, const char *name) {
  size_t room = strlen(folder) + strlen(name) + 2;
  char *path = memory_new(room, 1);
  snprintf(path, room, "%s/%s", folder, name);
  return path;
}

/* ---- whose file it is ---- */

/* The rank in "rank7.json" or "rank7.json.gz", or -1. */
static int rank_in(const char *name) {
  static const char prefix[] = "rank";
  size_t length = sizeof prefix - 1;
  if (strncmp(name, prefix, length) != 0) {
    return -1;
  }
  size_t digits = strspn(name + length, "0123456789");
  const char *end = name + length + digits;
  bool named = digits > 0 && digits < 10 && (strcmp(end, ".json") == 0 || strcmp(end, ".json.gz") == 0);
  return named ? (int)strtol(name + length, NULL, 10) : -1;
}

static bool is_of_run(const char *name) { return strcmp(name, truth_name) == 0 || rank_in(name) >= 0; }

static bool has_emulated_id(const char *text, int rank) {
  static const char key[] = "\"trace_id\": \"";
  const char *id = strstr(text, key);
  unsigned long long beginning = 0, end = 0;
  return id != NULL && sscanf(id + sizeof key - 1, "%16llX%16llX\"", &beginning, &end) == 2 &&
         end == trace_id_end(beginning, rank);
}

/* Did something else than an emulated run write it? Not where it is gone: another run may have replaced it
 * meanwhile. */
static bool is_others(const char *path, const char *name) {
  enum { HEAD = 1 << 20 }; /* a trace's id stands behind the properties of all GPUs of a node */
  struct stat about;
  int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    return errno != ENOENT;
  }
  gzFile file = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) ? gzdopen(descriptor, "rb") : NULL;
  if (file == NULL) {
    close(descriptor);
    return true;
  }
  char *text = memory_new(HEAD + 1, 1);
  int length = gzread(file, text, HEAD);
  (void)gzclose(file);
  text[length < 0 ? 0 : length] = '\0';
  int rank = rank_in(name);
  bool emulated =
      rank < 0 ? strncmp(text, TRUTH_BEGINNING, sizeof TRUTH_BEGINNING - 1) == 0 : has_emulated_id(text, rank);
  free(text);
  return !emulated;
}

/* ---- the folder ---- */

/* Calls `act` for each file of the folder that is, or would be taken for, a run's; stops where it returns false. */
static bool each(const char *folder, bool (*act)(const struct output *output, const char *path, const char *name),
                 const struct output *output) {
  DIR *directory = opendir(folder);
  if (directory == NULL) {
    return complain(folder, strerror(errno));
  }
  bool good = true;
  for (const struct dirent *entry = readdir(directory); good && entry != NULL; entry = readdir(directory)) {
    if (is_of_run(entry->d_name)) {
      char *path = path_in(folder, entry->d_name);
      good = act(output, path, entry->d_name);
      free(path);
    }
  }
  closedir(directory);
  return good;
}

static bool is_ours(const struct output *output, const char *path, const char *name) {
  (void)output;
  return !is_others(path, name) ||
         complain(path,
                  "no emulated run wrote it, and it would be taken for this one's: move it, or name another folder");
}

static bool remove_ours(const struct output *output, const char *path, const char *name) {
  (void)output;
  return is_others(path, name) || unlink(path) == 0 || errno == ENOENT || complain(path, strerror(errno));
}

static bool remove_any(const struct output *output, const char *path, const char *name) {
  (void)output;
  (void)name;
  return unlink(path) == 0;
}

static bool move_up(const struct output *output, const char *path, const char *name) {
  char *place = path_in(output->folder, name);
  bool good = rename(path, place) == 0 || complain(place, strerror(errno));
  free(place);
  return good;
}

static bool move_trace(const struct output *output, const char *path, const char *name) {
  return rank_in(name) < 0 || move_up(output, path, name);
}

/* A folder that a killed run has left. Who ends well removes his before he lets go of the lock. */
static void remove_stale(const char *path) {
  struct stat about, named;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) {
    return;
  }
  if (fstat(folder, &about) == 0 && about.st_uid == geteuid() && flock(folder, LOCK_EX | LOCK_NB) == 0 &&
      lstat(path, &named) == 0) {
    (void)each(path, remove_any, NULL);
    (void)rmdir(path);
  }
  close(folder);
}

static void remove_all_stale(const char *folder) {
  enum { BEGINNING = sizeof temporary_name - sizeof "XXXXXX" };
  DIR *directory = opendir(folder);
  if (directory == NULL) {
    return;
  }
  for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    if (strncmp(entry->d_name, temporary_name, BEGINNING) == 0 && strlen(entry->d_name) == sizeof temporary_name - 1) {
      char *path = path_in(folder, entry->d_name);
      remove_stale(path);
      free(path);
    }
  }
  closedir(directory);
}

/* False: another run takes it for left by a killed one, and removes it. Where locks cannot be had, nobody gets one to
 * do so. */
static bool lock_temporary(struct output *output) {
  struct stat opened, named;
  output->lock = open(output->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (output->lock < 0) {
    return errno != ENOENT;
  }
  bool mine = flock(output->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  mine = mine && fstat(output->lock, &opened) == 0 && stat(output->temporary, &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
  if (!mine) {
    close(output->lock);
    output->lock = -1;
  }
  return mine;
}

static bool make_temporary(struct output *output) {
  output->temporary = path_in(output->folder, temporary_name);
  while (mkdtemp(output->temporary) != NULL) {
    if (lock_temporary(output)) {
      return true;
    }
    free(output->temporary);
    output->temporary = path_in(output->folder, temporary_name);
  }
  complain(output->folder, strerror(errno));
  free(output->temporary);
  output->temporary = NULL;
  return false;
}

bool output_open(struct output *output, const char *folder) {
  struct stat about;
  *output = (struct output){.folder = folder, .lock = -1, .is_new = mkdir(folder, 0777) == 0};
  if (!output->is_new && (errno != EEXIST || stat(folder, &about) != 0 || !S_ISDIR(about.st_mode))) {
    return complain(folder, strerror(errno));
  }
  if (!each(folder, is_ours, output)) {
    return false;
  }
  remove_all_stale(folder);
  return make_temporary(output);
}

/* The earlier run's truth.json first. */
static bool remove_earlier(const struct output *output) {
  char *truth = path_in(output->folder, truth_name);
  bool good = remove_ours(output, truth, truth_name) && each(output->folder, remove_ours, output);
  free(truth);
  return good;
}

bool output_commit(const struct output *output) {
  char *truth = path_in(output->temporary, truth_name);
  bool clear = each(output->folder, is_ours, output) && remove_earlier(output);
  bool good = clear && each(output->temporary, move_trace, output) && move_up(output, truth, truth_name);
  free(truth);
  if (clear && !good) {
    (void)remove_earlier(output); /* what was moved already */
  }
  return good;
}

void output_close(struct output *output) {
  if (output->temporary != NULL) {
    (void)each(output->temporary, remove_any, output);
    (void)rmdir(output->temporary);
  }
  if (output->is_new) {
    (void)rmdir(output->folder);
  }
  if (output->lock >= 0) {
    close(output->lock);
  }
  free(output->temporary);
}
