/* Threads take the next piece from one counter, so a long piece holds up nobody. */
#include "base/parallel.h"

#include <lumos/memory.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

struct pool {
  lumos_piece *piece;
  void *context;
  pthread_mutex_t lock; /* of what follows */
  size_t next;
  size_t end; /* pieces from here on are not begun: their count, then the lowest that failed */
};

static bool take(struct pool *pool, size_t *index) {
  (void)pthread_mutex_lock(&pool->lock);
  bool some = pool->next < pool->end;
  *index = pool->next;
  pool->next += some;
  (void)pthread_mutex_unlock(&pool->lock);
  return some;
}

static void end_at(struct pool *pool, size_t index) {
  (void)pthread_mutex_lock(&pool->lock);
  pool->end = index < pool->end ? index : pool->end;
  (void)pthread_mutex_unlock(&pool->lock);
}

static void work(struct pool *pool, bool callers) {
  size_t index = 0;
  while (take(pool, &index)) {
    if (!pool->piece(pool->context, index, callers)) {
      end_at(pool, index);
    }
  }
}

static void *work_beside(void *pool) {
  work(pool, false);
  return NULL;
}

/* Cores that this process may use: taskset and containers may leave it fewer than there are. */
static size_t count_cores(void) {
  cpu_set_t allowed;
  long count =
      sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
  return count > 1 ? (size_t)count : 1;
}

size_t lumos_parallel_threads(size_t count, size_t threads) {
  size_t wanted = threads > 0 ? threads : count_cores();
  return wanted < count ? wanted : count;
}

size_t lumos_parallel(size_t count, size_t threads, lumos_piece *piece, void *context) {
  struct pool pool = {.piece = piece, .context = context, .lock = PTHREAD_MUTEX_INITIALIZER, .end = count};
  size_t first = 0;
  bool some = take(&pool, &first); /* the caller's, whichever thread is quicker: it may tell a watcher */
  size_t wanted = lumos_parallel_threads(count, threads);
  pthread_t *helpers = lumos_allocate(wanted * sizeof *helpers);
  size_t started = 0;
  while (started + 1 < wanted && pthread_create(&helpers[started], NULL, work_beside, &pool) == 0) {
    started++; /* where the system gives no more threads, those that run do the work */
  }
  if (some && !piece(context, first, true)) {
    end_at(&pool, first);
  }
  work(&pool, true);
  for (size_t i = 0; i < started; i++) {
    (void)pthread_join(helpers[i], NULL);
  }
  free(helpers);
  return pool.end;
}
