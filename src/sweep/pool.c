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

enum { LOOK_EVERY = 100 }; /* milliseconds */

struct worker {
  pid_t child; /* 0: idle */
  int answer;  /* where it comes from */
  size_t index, got;
  bool in_slot; /* that it took, and gives back */
};

struct run {
  const struct sweep_pool *pool;
  char *answers;
  struct worker *workers;
  struct pollfd *polls;
  size_t count; /* of workers */
  size_t next, done;
  bool alone;      /* one runs that took no slot */
  bool lacks_slot; /* the next one waits for it */
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

size_t sweep_pool_processes(size_t asked) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return asked > 0 ? asked : cores > 0 ? (size_t)cores : 1;
}

/* ---- slots ---- */

void sweep_slots_add(const int slots[2], size_t count) {
  static const char slot[1] = "s";
  for (size_t i = 0; i < count; i++) {
    (void)!write(slots[1], slot, sizeof slot); /* a pipe has room for more than there are */
  }
}

bool sweep_slots_open(int slots[2], size_t count) {
  if (pipe2(slots, O_CLOEXEC | O_NONBLOCK) != 0) {
    return false;
  }
  sweep_slots_add(slots, count);
  return true;
}

/* The first process of a run needs none. */
static bool take_slot(struct run *run, bool *in_slot) {
  char slot;
  *in_slot = run->pool->slots != NULL && run->alone;
  run->alone = true;
  run->lacks_slot = *in_slot && read(run->pool->slots[0], &slot, 1) != 1;
  return !run->lacks_slot;
}

static void give_slot(struct run *run, bool in_slot) {
  if (in_slot) {
    sweep_slots_add(run->pool->slots, 1);
  } else {
    run->alone = false;
  }
}

/* ---- processes ---- */

static bool start(struct run *run, struct worker *worker) {
  int ends[2];
  bool in_slot;
  if (!take_slot(run, &in_slot)) {
    return false;
  }
  if (pipe2(ends, O_CLOEXEC) != 0) {
    give_slot(run, in_slot);
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
    give_slot(run, in_slot);
    return false;
  }
  *worker = (struct worker){child, ends[0], run->next++, 0, in_slot};
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
  give_slot(run, worker->in_slot);
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

/* Start what can be started, and wait for an answer, or for a slot. False: nothing runs, and nothing can be started. */
static bool go_on(struct run *run) {
  nfds_t busy = 0;
  run->lacks_slot = false;
  for (size_t i = 0; i < run->count; i++) {
    struct worker *worker = &run->workers[i];
    if (worker->child == 0 && !run->lacks_slot && has_next(run)) {
      (void)start(run, worker);
    }
    run->polls[i] = (struct pollfd){.fd = worker->child == 0 ? -1 : worker->answer, .events = POLLIN};
    busy += worker->child != 0;
  }
  if (busy == 0) {
    return run->done == run->pool->count;
  }
  run->polls[run->count] = (struct pollfd){.fd = run->lacks_slot ? run->pool->slots[0] : -1, .events = POLLIN};
  int ready = poll(run->polls, (nfds_t)run->count + 1, run->pool->look == NULL ? -1 : LOOK_EVERY);
  if (run->pool->look != NULL) {
    run->pool->look(run->pool->context);
  }
  for (size_t i = 0; ready > 0 && i < run->count; i++) {
    if (run->polls[i].revents != 0) {
      take(run, &run->workers[i]);
    }
  }
  return true;
}

bool sweep_pool_run(const struct sweep_pool *pool, void *answers, struct lumos_error *error) {
  size_t processes = sweep_pool_processes(pool->processes);
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
