#include "sweep/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <lumos/memory.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct worker {
  pid_t child; /* 0: idle */
  int answer;  /* where it comes from */
  size_t index, got;
};

struct run {
  const struct sweep_pool *pool;
  char *answers;
  struct worker *workers;
  struct pollfd *polls;
  size_t count; /* of workers */
  size_t next, done;
};

static bool write_all(int descriptor, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t put = write(descriptor, bytes, size);
    if (put <= 0 && errno != EINTR) {
      return false;
    }
    bytes += put > 0 ? put : 0;
    size -= put > 0 ? (size_t)put : 0;
  }
  return true;
}

/* It ends with the caller, and without what the caller would do at its own end. */
static _Noreturn void work(const struct sweep_pool *pool, size_t index, pid_t parent, int descriptor) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  char *answer = lumos_allocate_zeroed(1, pool->size);
  pool->piece(pool->context, index, answer);
  _exit(write_all(descriptor, answer, pool->size) ? 0 : 1);
}

static bool start(struct run *run, struct worker *worker) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return false;
  }
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    (void)close(ends[0]);
    work(run->pool, run->next, parent, ends[1]);
  }
  (void)close(ends[1]);
  if (child < 0) {
    (void)close(ends[0]);
    return false;
  }
  *worker = (struct worker){child, ends[0], run->next++, 0};
  return true;
}

static void end(struct run *run, struct worker *worker) {
  const struct sweep_pool *pool = run->pool;
  int status = 0;
  (void)close(worker->answer);
  while (waitpid(worker->child, &status, 0) < 0 && errno == EINTR) {
  }
  if (worker->got < pool->size) {
    pool->lost(pool->context, worker->index, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
               run->answers + worker->index * pool->size);
  }
  worker->child = 0;
  run->done++;
  if (pool->step != NULL) {
    pool->step(pool->context, worker->index, run->done);
  }
}

static void take(struct run *run, struct worker *worker) {
  size_t size = run->pool->size;
  char *room = run->answers + worker->index * size + worker->got;
  ssize_t got = read(worker->answer, room, size - worker->got);
  worker->got += got > 0 ? (size_t)got : 0;
  if (got == 0 || (got < 0 && errno != EINTR) || worker->got == size) {
    end(run, worker);
  }
}

static bool has_next(struct run *run) {
  const struct sweep_pool *pool = run->pool;
  while (run->next < pool->count && pool->skip != NULL && pool->skip(pool->context, run->next)) {
    run->next++;
    run->done++;
  }
  return run->next < pool->count;
}

/* Start what can be started, and wait for an answer. False: nothing runs, and nothing can be started. */
static bool go_on(struct run *run) {
  nfds_t busy = 0;
  for (size_t i = 0; i < run->count; i++) {
    struct worker *worker = &run->workers[i];
    if (worker->child == 0 && has_next(run)) {
      (void)start(run, worker);
    }
    run->polls[i] = (struct pollfd){.fd = worker->child == 0 ? -1 : worker->answer, .events = POLLIN};
    busy += worker->child != 0;
  }
  if (busy == 0) {
    return run->done == run->pool->count;
  }
  int ready = poll(run->polls, (nfds_t)run->count, -1);
  for (size_t i = 0; ready > 0 && i < run->count; i++) {
    if (run->polls[i].revents != 0) {
      take(run, &run->workers[i]);
    }
  }
  return true;
}

bool sweep_pool_run(const struct sweep_pool *pool, void *answers, struct lumos_error *error) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  size_t processes = pool->processes > 0 ? pool->processes : cores > 0 ? (size_t)cores : 1;
  struct run run = {.pool = pool, .answers = answers, .count = processes < pool->count ? processes : pool->count};
  run.workers = lumos_allocate_zeroed(run.count + 1, sizeof *run.workers);
  run.polls = lumos_allocate_zeroed(run.count + 1, sizeof *run.polls);
  bool going = true;
  while (going && run.done < pool->count) {
    going = go_on(&run);
  }
  free(run.workers);
  free(run.polls);
  return going || lumos_fail(error, "no process could be started for a prediction: %s", strerror(errno));
}
