/* How NCCL would carry out a collective: the algorithm and protocol that its own cost model prefers, and the time that
 * this one takes alone on the wire. From NCCL's tuning model (src/graph/tuning.cc): latency by steps, bandwidth by
 * channels, the least of all.
 */
#ifndef EMULATOR_NCCL_H
#define EMULATOR_NCCL_H

#include "setup.h"
#include "work.h"

struct nccl_plan {
  const char *algorithm, *protocol; /* RING TREE NVLS NVLS_TREE; LL LL128 SIMPLE; p2p: NULL */
  int channels;                     /* blocks of the kernel */
  int64_t latency;                  /* ns before the bytes count */
  int64_t transfer;                 /* ns of the bytes alone: latency + transfer is the whole */
};

/* `size` members on `nodes` nodes (1: all within one). bytes as in struct message, but of point-to-point those of one
 * direction. A group of one moves nothing. */
struct nccl_plan nccl_plan(const struct setup *setup, enum collective collective, int64_t bytes, int size, int nodes);

#endif
