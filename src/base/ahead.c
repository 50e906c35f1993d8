#include "base/ahead.h"

#include "base/parallel.h"

#include <lumos/memory.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; earlier ones refuse it */
#endif

enum { PAGE = 4096, PIECE = 8 << 20, LEAST = 128 << 20 }; /* bytes: entered at once; of fewer the thread does not pay */

struct lumos_ahead {
  pthread_t thread;
  atomic_bool over;
  size_t count;
  struct lumos_ahead_array arrays[];
};

static uintptr_t place_in(const struct lumos_ahead_array *array, size_t part, size_t parts) {
  uintptr_t place = (uintptr_t)array->from + (uintptr_t)((__uint128_t)array->bytes * part / parts);
  return place & ~(uintptr_t)(PAGE - 1);
}

/* All arrays get on by the same part of them. */
static void *enter(void *context) {
  struct lumos_ahead *ahead = context;
  size_t bytes = 0;
  for (size_t i = 0; i < ahead->count; i++) {
    bytes += ahead->arrays[i].bytes;
  }
  size_t parts = bytes / PIECE + 1;
  for (size_t part = 0; part < parts; part++) {
    for (size_t i = 0; i < ahead->count; i++) {
      uintptr_t from = place_in(&ahead->arrays[i], part, parts), to = place_in(&ahead->arrays[i], part + 1, parts);
      if (atomic_load(&ahead->over) || (from < to && madvise((void *)from, to - from, MADV_POPULATE_WRITE) !=
                                                         0)) { /* NOLINT(performance-no-int-to-ptr) */
        return NULL;
      }
    }
  }
  return NULL;
}

struct lumos_ahead *lumos_ahead_begin(const struct lumos_ahead_array *arrays, size_t count, size_t threads) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) {
    bytes += arrays[i].bytes;
  }
  if (bytes < LEAST || lumos_parallel_threads(2, threads) < 2) {
    return NULL;
  }
  struct lumos_ahead *ahead = lumos_allocate_zeroed(1, sizeof *ahead + count * sizeof *arrays);
  ahead->count = count;
  memcpy(ahead->arrays, arrays, count * sizeof *arrays);
  if (pthread_create(&ahead->thread, NULL, enter, ahead) != 0) {
    free(ahead);
    return NULL;
  }
  return ahead;
}

void lumos_ahead_end(struct lumos_ahead *ahead) {
  if (ahead != NULL) {
    atomic_store(&ahead->over, true);
    (void)pthread_join(ahead->thread, NULL);
    free(ahead);
  }
}
