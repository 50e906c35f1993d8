/* Preloaded into a tool: its allocation number LUMOS_STARVE_AT is refused, counted from 1 in all threads; 0: none. At the end the count goes to
 * the file LUMOS_STARVE_COUNT, where that is set.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* glibc's own. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static long refused, made;

__attribute__((constructor)) static void begin(void) {
  const char *at = getenv("LUMOS_STARVE_AT");
  refused = at == NULL ? 0 : strtol(at, NULL, 10);
  made = 0;
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("LUMOS_STARVE_COUNT");
  FILE *file = path == NULL ? NULL : fopen(path, "we");
  if (file != NULL) {
    (void)fprintf(file, "%ld\n", made);
    (void)fclose(file);
  }
}

static bool refuses(void) {
  bool refuse = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED) == refused;
  errno = refuse ? ENOMEM : errno;
  return refuse;
}

void *malloc(size_t size) { return refuses() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refuses() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return refuses() ? NULL : __libc_realloc(memory, size); }
