/* Pieces of work in processes of their own, so many at a time, each of which hands back an answer of a given size. */
#ifndef LUMOS_SWEEP_POOL_H
#define LUMOS_SWEEP_POOL_H

#include <lumos/error.h>
#include <stdbool.h>
#include <stddef.h>

/* Fills the answer, in a process that sees the caller's memory as it was, and whose changes nobody sees. */
typedef void sweep_piece(void *context, size_t index, void *answer);

struct sweep_pool {
  size_t count, processes, size; /* pieces; at a time (0: as many as cores); bytes of an answer */
  sweep_piece *piece;
  bool (*skip)(void *context,
               size_t index); /* asked right before a piece begins: is it not wanted any more? Its answer stays as it
                                                was. In the caller's process; or NULL */
  /* A piece that ended without its answer: by which signal, or 0. In the caller's process. */
  void (*lost)(void *context, size_t index, int signal, void *answer);
  void (*step)(void *context, size_t index,
               size_t done); /* that one has its answer, and so many are done or skipped; in the caller's
                                                             process; or NULL */
  void *context;
};

/* answers[0..count) of `size` bytes each. False: no process could be started. No other thread of the caller may run. */
bool sweep_pool_run(const struct sweep_pool *pool, void *answers, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
