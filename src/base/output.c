/* Bytes out. A regular file is written beside its place without a name, which it gets when it is whole, so that a
 * reader sees the old file or the new one and never a half, and nothing is left of a tool that a signal stops. On file
 * systems that know no files without a name, such as NFS, it loses a temporary one at once, and is copied when it is
 * whole. Devices, pipes and standard output are written as they are.
 */
#include "base/output.h"

#include "base/deflate.h"
#include <errno.h>
#include <fcntl.h>
#include <lumos/memory.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct lumos_output closed_output = {.text = {.descriptor = -1}};

/* Folder of `path` with its slash: "out/a.html" gives 4, "a.html" gives 0. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* The mode that open(2) would have given. umask can only be read by setting it, so ask the system by creating nothing:
 * the value stands in /proc on Linux; elsewhere the brief change of the mask has to do. */
static mode_t mode_of_new_files(void) {
  unsigned mask = 0;
  FILE *status = fopen("/proc/self/status", "re");
  bool found = false;
  if (status != NULL) {
    char line[256];
    while (!found && fgets(line, sizeof line, status) != NULL) {
      if (strncmp(line, "Umask:", 6) == 0) {
        mask = (unsigned)strtoul(line + 6, NULL, 8);
        found = true;
      }
    }
    (void)fclose(status);
  }
  if (!found) {
    mask = umask(022);
    (void)umask((mode_t)mask);
  }
  return (mode_t)(0666U & ~mask);
}

static bool open_in_place(struct lumos_output *output, const char *path, struct lumos_error *error) {
  output->text.descriptor = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (output->text.descriptor < 0) {
    return lumos_fail(error, "%s: cannot write: %s", path, strerror(errno));
  }
  output->path = lumos_copied_text(path);
  return true;
}

/* `reason`: why no file can be made in the folder of `path`. */
static bool fail_in_folder(const char *path, size_t folder, int reason, struct lumos_error *error) {
  int length = folder > 1 ? (int)folder - 1 : (int)folder; /* without its slash, unless it is the root */
  if (reason == ENOENT || reason == ENOTDIR) {
    return lumos_fail(error, "%s: cannot write: there is no folder %.*s; make it first (mkdir -p)", path, length, path);
  }
  return lumos_fail(error, "%s: cannot write to its folder: %s; name another with -o", path, strerror(reason));
}

/* "out/a.html" gives "out/.a.html" and what is behind it. */
static char *hidden_name(const char *path, const char *suffix) {
  size_t folder = folder_length(path), length = strlen(path), more = strlen(suffix) + 1;
  char *name = lumos_allocate(length + 1 + more);
  memcpy(name, path, folder);
  name[folder] = '.';
  memcpy(name + folder + 1, path + folder, length - folder);
  memcpy(name + length + 1, suffix, more);
  return name;
}

static const char descriptors[] = "/proc/self/fd"; /* by which a file without a name is named */

/* A file without a name in the folder of `path`; -1: that cannot be had. */
static int open_unnamed(const char *path) {
  size_t folder = folder_length(path);
  char *name = lumos_allocate(folder + 2);
  memcpy(name, path, folder);
  memcpy(name + folder, ".", 2);
  int descriptor = access(descriptors, X_OK) == 0 ? open(name, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
  free(name);
  return descriptor;
}

/* No signal ends the tool until they are let through again. */
static void hold_signals(sigset_t *before) {
  sigset_t all;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, before);
}

static void release_signals(const sigset_t *before) { (void)pthread_sigmask(SIG_SETMASK, before, NULL); }

/* The same, of a file that had one; *reason: why not. */
static int open_forgotten(const char *path, int *reason) {
  char *temporary = hidden_name(path, ".XXXXXX");
  sigset_t before;
  hold_signals(&before);
  int descriptor = mkostemp(temporary, O_CLOEXEC);
  *reason = descriptor < 0 ? errno : 0;
  if (descriptor >= 0 && unlink(temporary) != 0) {
    *reason = errno;
    (void)close(descriptor);
    descriptor = -1;
  }
  release_signals(&before);
  free(temporary);
  return descriptor;
}

static bool open_beside(struct lumos_output *output, const char *path, struct lumos_error *error) {
  size_t folder = folder_length(path);
  if (path[folder] == '\0') {
    return lumos_fail(error, "%s: cannot write: it names a folder; add a file name", path);
  }
  int reason = 0;
  output->text.descriptor = open_unnamed(path);
  output->kind = LUMOS_OUTPUT_UNNAMED;
  if (output->text.descriptor < 0) {
    output->text.descriptor = open_forgotten(path, &reason);
    output->kind = LUMOS_OUTPUT_FORGOTTEN;
  }
  if (output->text.descriptor < 0) {
    return fail_in_folder(path, folder, reason, error);
  }
  output->path = lumos_copied_text(path);
  return true;
}

/* "/dev/stdout" opened anew would start at the beginning of a file that the shell opened for appending. */
static bool is_standard_output(const char *path) {
  return path == NULL || strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/fd/1") == 0;
}

/* A file, device or pipe; not standard output. */
static bool open_path(struct lumos_output *output, const char *path, struct lumos_error *error) {
  struct stat about;
  if (stat(path, &about) != 0) {
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES
               ? open_beside(output, path, error)
               : lumos_fail(error, "%s: cannot write: %s", path, strerror(errno));
  }
  if (S_ISDIR(about.st_mode)) {
    return lumos_fail(error, "%s: cannot write: it is a folder; add a file name", path);
  }
  if (!S_ISREG(about.st_mode) || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) {
    return open_in_place(output, path, error);
  }
  if (access(path, W_OK) != 0) {
    return lumos_fail(error, "%s: cannot write: %s", path, strerror(errno));
  }
  /* A link to a file stays a link: what it names is replaced. */
  char *target = realpath(path, NULL);
  bool good = target != NULL ? open_beside(output, target, error)
                             : lumos_fail(error, "%s: cannot write: %s", path, strerror(errno));
  free(target);
  return good;
}

static int deflate_more(void *deflater, const char *bytes, size_t length) {
  return lumos_deflater_add(deflater, bytes, length);
}

bool lumos_output_open(struct lumos_output *output, const char *path, struct lumos_error *error) {
  *output = closed_output;
  if (is_standard_output(path)) {
    output->text.descriptor = STDOUT_FILENO;
    return true;
  }
  if (!open_path(output, path, error)) {
    return false;
  }
  enum lumos_form form = lumos_form_of_name(path);
  if (form != LUMOS_FORM_PLAIN) {
    output->deflater = lumos_deflater_new(form, output->text.descriptor);
    output->text.filter = deflate_more;
    output->text.filtering = output->deflater;
    if (output->deflater == NULL) {
      lumos_output_discard(output);
      return lumos_fail(error, "%s: cannot write zstd, which this lumos was built without; end the name in .gz", path);
    }
  }
  return true;
}

bool lumos_output_try(const char *path, struct lumos_error *error) {
  struct stat about;
  struct lumos_output output;
  if (is_standard_output(path)) {
    return true;
  }
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) { /* a pipe is opened once only */
    return access(path, W_OK) == 0 || lumos_fail(error, "%s: cannot write: %s", path, strerror(errno));
  }
  bool good = lumos_output_open(&output, path, error);
  lumos_output_discard(&output);
  return good;
}

/* Close what open made, whatever happened before; returns errno or 0. */
static int close_descriptor(struct lumos_output *output) {
  int descriptor = output->text.descriptor;
  output->text.descriptor = -1;
  if (descriptor < 0 || output->path == NULL) {
    return 0;
  }
  return close(descriptor) == 0 ? 0 : errno;
}

/* Under a hidden name, and at once in the place of the file that is there. Returns errno or 0. */
static int replace(struct lumos_output *output, const char *from, const char *hidden) {
  if (linkat(AT_FDCWD, from, AT_FDCWD, hidden, AT_SYMLINK_FOLLOW) != 0) {
    return errno;
  }
  int reason = rename(hidden, output->path) == 0 ? 0 : errno;
  if (reason != 0) {
    (void)unlink(hidden);
  }
  return reason;
}

/* Its own name where there is no such file, else a hidden one, under which it replaces that; no signal comes in
 * between. Returns errno or 0. */
static int give_name(struct lumos_output *output) {
  char from[sizeof descriptors + 12], suffix[32];
  (void)snprintf(from, sizeof from, "%s/%d", descriptors, output->text.descriptor);
  int reason = linkat(AT_FDCWD, from, AT_FDCWD, output->path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  sigset_t before;
  hold_signals(&before);
  for (unsigned turn = 0; reason == EEXIST && turn < UINT16_MAX; turn++) {
    (void)snprintf(suffix, sizeof suffix, ".%ld-%u", (long)getpid(), turn);
    char *hidden = hidden_name(output->path, suffix);
    reason = replace(output, from, hidden);
    free(hidden);
  }
  release_signals(&before);
  return reason;
}

/* Returns errno or 0. */
static int copy_bytes(int from, int to) {
  enum { PIECE = 1 << 16 };
  char *bytes = lumos_allocate(PIECE);
  int reason = lseek(from, 0, SEEK_SET) == 0 ? 0 : errno;
  for (ssize_t count = 1; reason == 0 && count != 0;) {
    count = read(from, bytes, PIECE);
    reason = count < 0 && errno != EINTR ? errno : 0;
    for (ssize_t at = 0; reason == 0 && at < count;) {
      ssize_t written = write(to, bytes + at, (size_t)(count - at));
      reason = written < 0 && errno != EINTR ? errno : 0;
      at += written > 0 ? written : 0;
    }
  }
  free(bytes);
  return reason;
}

/* A copy of it that has one, in the place of what is there; no signal comes in between. Returns errno or 0. */
static int place_copy(struct lumos_output *output) {
  char *temporary = hidden_name(output->path, ".XXXXXX");
  sigset_t before;
  hold_signals(&before);
  int copy = mkostemp(temporary, O_CLOEXEC);
  int reason = copy < 0 ? errno : copy_bytes(output->text.descriptor, copy);
  if (copy >= 0) {
    reason = reason == 0 && fchmod(copy, mode_of_new_files()) != 0 ? errno : reason;
    reason = close(copy) != 0 && reason == 0 ? errno : reason;
    reason = reason == 0 && rename(temporary, output->path) != 0 ? errno : reason;
    if (reason != 0) {
      (void)unlink(temporary);
    }
  }
  release_signals(&before);
  free(temporary);
  return reason;
}

/* What a close would fail with, before the file has a name; by a second descriptor, for it gets that by the first.
 * Returns errno or 0. */
static int close_first(int descriptor) {
  int twin = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  return twin < 0 || close(twin) == 0 ? 0 : errno;
}

/* Flush, name, and close; returns errno of what failed first, or 0. */
static int finish_file(struct lumos_output *output) {
  int reason = lumos_text_flush(&output->text) ? 0 : output->text.failure;
  if (reason == 0 && output->deflater != NULL) {
    reason = lumos_deflater_finish(output->deflater);
  }
  if (output->kind == LUMOS_OUTPUT_IN_PLACE) {
    int late = close_descriptor(output);
    return reason != 0 ? reason : late;
  }
  bool unnamed = output->kind == LUMOS_OUTPUT_UNNAMED;
  if (reason == 0 && unnamed && fchmod(output->text.descriptor, mode_of_new_files()) != 0) {
    reason = errno;
  }
  reason = reason != 0 ? reason : close_first(output->text.descriptor);
  reason = reason != 0 ? reason : unnamed ? give_name(output) : place_copy(output);
  (void)close_descriptor(output);
  return reason;
}

bool lumos_output_commit(struct lumos_output *output, struct lumos_error *error) {
  int reason = finish_file(output);
  bool good = reason == 0 || (reason == EPIPE && output->kind == LUMOS_OUTPUT_IN_PLACE);
  if (!good) {
    const char *name = output->path == NULL ? "standard output" : output->path;
    (void)lumos_fail(error, "%s: cannot write: %s%s", name, strerror(reason),
                     reason == ENOSPC || reason == EDQUOT ? "; free some space and run again" : "");
  }
  lumos_output_discard(output);
  return good;
}

void lumos_output_discard(struct lumos_output *output) {
  (void)close_descriptor(output);
  free(output->path);
  lumos_deflater_free(output->deflater);
  lumos_text_free(&output->text);
  *output = closed_output;
}
