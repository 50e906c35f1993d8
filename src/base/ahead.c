#include "base/ahead.h"

#include "base/parallel.h"

#include <lumos/memory.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; earlier ones refuse it */
#endif

/* Bytes: pages of an array are entered so many at once, so that all arrays get on; smaller ones do not pay. */
enum { PAGE = 4096, PIECE = 4 << 20, LEAST = 64 << 20 };

struct array {
  uintptr_t from;
  size_t told, entered; /* bytes from its front */
};

struct lumos_ahead {
  pthread_t thread;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t some;
  struct array arrays[LUMOS_AHEAD_ARRAYS];
  bool over;
};

/* The array that got on least, of those that are to; NULL: none is. */
static struct array *next_array(struct lumos_ahead *ahead) {
  struct array *next = NULL;
  for (size_t i = 0; i < LUMOS_AHEAD_ARRAYS; i++) {
    struct array *array = &ahead->arrays[i];
    bool least =
        next == NULL || (double)array->entered * (double)next->told < (double)next->entered * (double)array->told;
    if (array->entered < array->told && least) {
      next = array;
    }
  }
  return next;
}

static void *enter(void *context) {
  struct lumos_ahead *ahead = context;
  (void)pthread_mutex_lock(&ahead->lock);
  while (!ahead->over) {
    struct array *array = next_array(ahead);
    if (array == NULL) {
      (void)pthread_cond_wait(&ahead->some, &ahead->lock);
      continue;
    }
    size_t left = array->told - array->entered, bytes = left < PIECE ? left : PIECE;
    uintptr_t first = (array->from + array->entered) & ~(uintptr_t)(PAGE - 1),
              end = array->from + array->entered + bytes;
    array->entered += bytes;
    (void)pthread_mutex_unlock(&ahead->lock);
    /* Where the array was moved away meanwhile there may be nothing, which is refused, or what others enter later. */
    (void)madvise((void *)first, end - first, MADV_POPULATE_WRITE); /* NOLINT(performance-no-int-to-ptr) */
    (void)pthread_mutex_lock(&ahead->lock);
  }
  (void)pthread_mutex_unlock(&ahead->lock);
  return NULL;
}

struct lumos_ahead *lumos_ahead_begin(size_t threads) {
  if (lumos_parallel_threads(2, threads) < 2) {
    return NULL;
  }
  struct lumos_ahead *ahead = lumos_allocate_zeroed(1, sizeof *ahead);
  (void)pthread_mutex_init(&ahead->lock, NULL);
  (void)pthread_cond_init(&ahead->some, NULL);
  if (pthread_create(&ahead->thread, NULL, enter, ahead) != 0) {
    free(ahead);
    return NULL;
  }
  return ahead;
}

void lumos_ahead_tell(struct lumos_ahead *ahead, size_t index, void *from, size_t bytes) {
  if (ahead != NULL && bytes >= LEAST) {
    struct array *array = &ahead->arrays[index];
    (void)pthread_mutex_lock(&ahead->lock);
    array->from = (uintptr_t)from;
    array->told = bytes;
    (void)pthread_cond_signal(&ahead->some);
    (void)pthread_mutex_unlock(&ahead->lock);
  }
}

void lumos_ahead_end(struct lumos_ahead *ahead) {
  if (ahead != NULL) {
    (void)pthread_mutex_lock(&ahead->lock);
    ahead->over = true;
    (void)pthread_cond_signal(&ahead->some);
    (void)pthread_mutex_unlock(&ahead->lock);
    (void)pthread_join(ahead->thread, NULL);
    (void)pthread_cond_destroy(&ahead->some);
    (void)pthread_mutex_destroy(&ahead->lock);
    free(ahead);
  }
}
