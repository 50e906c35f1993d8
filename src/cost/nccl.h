/* The model by which NCCL itself chooses among its algorithms and protocols (src/graph/tuning.cc, NCCL 2.28): a latency
 * made of steps, and a bandwidth made of channels. It is optimistic, and worst for short messages; its ratios are
 * better than its times.
 */
#ifndef LUMOS_COST_NCCL_H
#define LUMOS_COST_NCCL_H

#include "cost/hardware.h"

#include <stdint.h>

/* What a group's data pass. */
struct lumos_links {
  enum lumos_architecture architecture; /* of the GPUs */
  bool switched;                        /* NVLink, rather than PCIe */
  double within, between;               /* GB/s that a GPU sends within its node, and from its node to others */
  double latency;                       /* of NCCL's own steps, times what NCCL says of them */
  double hop_within, hop_between;       /* us on top of that */
  double pair_within, pair_between;     /* GB/s between two GPUs */
  double pair_latency_within, pair_latency_between; /* us of a message between two GPUs, whole */
};

/* Links of a device in its maker's server; NULL: some GPU. */
struct lumos_links lumos_links_of(const struct lumos_device *device);

enum lumos_transfer_form { /* how an operation is carried out */
                           LUMOS_ALL_REDUCING,
                           LUMOS_GATHERING,    /* all-gather, reduce-scatter */
                           LUMOS_BROADCASTING, /* and reductions to one */
                           LUMOS_EXCHANGING,   /* all-to-all, gather, scatter: messages between all */
                           LUMOS_PAIRING       /* send, receive */
};
/* `op` as of lumos_comm. */
enum lumos_transfer_form lumos_transfer_form_of(const char *op);

/* ns of `bytes` (at least 0; as nccl-tests has them) among `size` ranks (at least 2) spread over `nodes`. */
double lumos_nccl_time(const struct lumos_links *links, enum lumos_transfer_form form, double bytes, int32_t size,
                       int32_t nodes);

/* How much of that passes before data do, or between their steps: the algorithm's latency, which bytes do not change but
 * by choosing another algorithm or protocol. */
double lumos_nccl_latency(const struct lumos_links *links, enum lumos_transfer_form form, double bytes, int32_t size,
                          int32_t nodes);

/* How many channels such a transfer takes, each of which holds an SM; 0: of messages between two this model says
 * nothing. */
double lumos_nccl_channels(const struct lumos_links *links, enum lumos_transfer_form form, double bytes, int32_t size,
                           int32_t nodes);

#endif
