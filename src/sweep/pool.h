/* Pieces of work in processes of their own, so many at a time, each of which hands back an answer of a given size. */
#ifndef LUMOS_SWEEP_POOL_H
#define LUMOS_SWEEP_POOL_H

#include <lumos/error.h>
#include <stdbool.h>
#include <stddef.h>

/* Fills the answer, in a process that sees the caller's memory as it was, and whose changes nobody sees. */
typedef void sweep_piece(void *context, size_t index, void *answer);

struct sweep_pool {
  size_t count, processes, size; /* pieces; at a time; bytes of an answer */
  const int *slots;              /* a pipe: one piece at a time, and one more for each byte in it; or NULL */
  sweep_piece *piece;
  /* Asked right before a piece begins: is it not wanted any more? Its answer stays as it was; or NULL. This one and the
   * next three are called in the caller's process. */
  bool (*skip)(void *context, size_t index);
  /* A piece that ended without its answer: by which signal, or 0. */
  void (*lost)(void *context, size_t index, int signal, void *answer);
  /* One has its answer, and so many are done or skipped; or NULL. */
  void (*step)(void *context, size_t index, size_t done);
  /* Called now and then while pieces are awaited; or NULL. */
  void (*look)(void *context);
  void *context;
};

/* How many processes at a time: as many as cores where none are asked for. */
size_t sweep_pool_processes(size_t asked);

/* A pipe for slots, with so many of them; what reads finds it empty rather than waits. False: none can be opened. */
bool sweep_slots_open(int slots[2], size_t count) LUMOS_MUST_CHECK;
void sweep_slots_add(const int slots[2], size_t count);

/* answers[0..count) of `size` bytes each. False: no process could be started. No other thread of the caller may run. */
bool sweep_pool_run(const struct sweep_pool *pool, void *answers, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
