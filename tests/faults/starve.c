/* Preloaded into a tool: its allocation number LUMOS_STARVE_AT is refused, counted from 1 in all threads; 0: none. At
 * the end the count goes to the file LUMOS_STARVE_COUNT, where that is set. With LUMOS_STARVE_CALL=NAME it is calls of
 * that name that are counted, of which one fails, or, as "short-read" and "short-write", does only a part; with "any"
 * it is all calls below, of whatever name: what the tool itself calls, not what the C library does for it.
 * LUMOS_STARVE_AND=N: so does number N. LUMOS_STARVE_NAMES=yes: the file system knows no files without a name. Messages
 * are never refused.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* glibc's own. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static long refused, also_refused, made;
static bool only_names;
static const char *call; /* NULL: allocations */

__attribute__((constructor)) static void begin(void) {
  const char *at = getenv("LUMOS_STARVE_AT"), *also = getenv("LUMOS_STARVE_AND");
  refused = at == NULL ? 0 : strtol(at, NULL, 10);
  also_refused = also == NULL ? 0 : strtol(also, NULL, 10);
  only_names = getenv("LUMOS_STARVE_NAMES") != NULL;
  made = 0;
  call = getenv("LUMOS_STARVE_CALL");
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("LUMOS_STARVE_COUNT");
  FILE *file = path == NULL ? NULL : fopen(path, "we");
  if (file != NULL) {
    (void)fprintf(file, "%ld\n", made);
    (void)fclose(file);
  }
}

static bool counted(void) {
  long number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
  return number == refused || number == also_refused;
}

/* Does this call of the function fail? */
static bool fails(const char *name, int reason) {
  bool meant =
      call != NULL && (strcmp(call, name) == 0 || (strcmp(call, "any") == 0 && strncmp(name, "short", 5) != 0));
  if (!meant || !counted()) {
    return false;
  }
  errno = reason;
  return true;
}

static bool refuses(void) {
  if (call != NULL) {
    return false;
  }
  bool refuse = counted();
  errno = refuse ? ENOMEM : errno;
  return refuse;
}

void *malloc(size_t size) { return refuses() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refuses() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return refuses() ? NULL : __libc_realloc(memory, size); }

/* The C library's function of that name. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int descriptor, void *bytes, size_t count) {
  if (fails("read", EIO)) {
    return -1;
  }
  return REAL(read)(descriptor, bytes, count > 1 && fails("short-read", errno) ? count / 2 : count);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  if (descriptor != STDERR_FILENO && fails("write", ENOSPC)) {
    return -1;
  }
  bool part = descriptor != STDERR_FILENO && count > 1 && fails("short-write", errno);
  return REAL(write)(descriptor, bytes, part ? count / 2 : count);
}

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (only_names && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return fails("open", EMFILE) ? -1 : REAL(open)(path, flags, mode);
}

int close(int descriptor) {
  int result = REAL(close)(descriptor);
  return fails("close", EIO) ? -1 : result;
}

int mkostemp(char *name, int flags) { return fails("mkostemp", EACCES) ? -1 : REAL(mkostemp)(name, flags); }
int fchmod(int descriptor, mode_t mode) { return fails("fchmod", EPERM) ? -1 : REAL(fchmod)(descriptor, mode); }
int rename(const char *from, const char *to) { return fails("rename", EACCES) ? -1 : REAL(rename)(from, to); }
int linkat(int at, const char *from, int to_at, const char *to, int flags) {
  return fails("linkat", EACCES) ? -1 : REAL(linkat)(at, from, to_at, to, flags);
}
pid_t fork(void) { return fails("fork", EAGAIN) ? -1 : REAL(fork)(); }
int pipe2(int ends[2], int flags) { return fails("pipe2", EMFILE) ? -1 : REAL(pipe2)(ends, flags); }
int poll(struct pollfd *polled, nfds_t count, int wait) {
  return fails("poll", ENOMEM) ? -1 : REAL(poll)(polled, count, wait);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  return fails("pthread_create", EAGAIN) ? EAGAIN : REAL(pthread_create)(thread, attributes, start, argument);
}
int stat(const char *path, struct stat *about) { return fails("stat", EIO) ? -1 : REAL(stat)(path, about); }
int fstat(int descriptor, struct stat *about) { return fails("fstat", EIO) ? -1 : REAL(fstat)(descriptor, about); }
int access(const char *path, int mode) { return fails("access", EIO) ? -1 : REAL(access)(path, mode); }
char *realpath(const char *path, char *room) { return fails("realpath", EIO) ? NULL : REAL(realpath)(path, room); }
DIR *opendir(const char *path) { return fails("opendir", EMFILE) ? NULL : REAL(opendir)(path); }
struct dirent *readdir(DIR *folder) {
  return fails("readdir", EIO) ? NULL : REAL(readdir)(folder);
}
int unlink(const char *path) { return fails("unlink", EIO) ? -1 : REAL(unlink)(path); }
int madvise(void *memory, size_t size, int advice) {
  return fails("madvise", ENOMEM) ? -1 : REAL(madvise)(memory, size, advice);
}
int fcntl(int descriptor, int command, ...) {
  va_list more;
  va_start(more, command);
  long argument = va_arg(more, long);
  va_end(more);
  return fails("fcntl", EMFILE) ? -1 : REAL(fcntl)(descriptor, command, argument);
}
