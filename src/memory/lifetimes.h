/* The memory of one step of a rank: what is allocated when, and when it is freed, in the order of ops. */
#ifndef LUMOS_MEMORY_LIFETIMES_H
#define LUMOS_MEMORY_LIFETIMES_H

#include "memory/tensors.h"

#include <lumos/footprint.h>

enum { ALLOCATION_UNIT = 512 }; /* PyTorch's allocator gives out multiples of it */

struct memory_op { /* a span, at the place where its first task runs */
  uint32_t span, task;
  uint32_t node; /* the place of the gradient's op around it, or LUMOS_NONE */
};

struct memory_piece {
  int64_t bytes;
  uint32_t begin, end;         /* places of ops, both included */
  uint32_t kept_by;            /* micro-batch + 1 whose backward pass wants it; 0: none */
  uint8_t part;                /* enum lumos_memory_part */
  bool needs_gradient, wanted; /* wanted: autograd keeps it */
};

/* Held for each parameter (held.h): how many there are, bytes of a number of theirs and of the buffer of gradients. */
struct memory_held {
  int64_t numbers; /* 0: there is no such buffer */
  int64_t parameter, number;
};

struct memory_step {
  const struct lumos_job *job;
  uint32_t rank;
  int32_t step;
  LUMOS_VECTOR(struct memory_op) ops;
  LUMOS_VECTOR(struct memory_piece) pieces;
  int64_t parameters, parameter_bytes; /* numbers, and bytes, of what AccumulateGrad adds up in one micro-batch */
  int64_t largest_parameter;           /* bytes */
  struct memory_held held;
  int64_t share_bytes; /* of fully sharded replicas: what each has of the parameters */
  int64_t buffer;      /* bytes of what tensor-parallel ranks gather into, all the time */
  uint32_t assumed;
  bool sharded; /* replicas have shares of parameters alone */
  enum lumos_memory_state state;
};

/* Of the rank's last step. The caller frees it. */
void memory_step_read(struct memory_step *memory, const struct lumos_job *job, uint32_t rank);
void memory_step_free(struct memory_step *memory);

#endif
