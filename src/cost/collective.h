/* How long a collective takes among another number of ranks. */
#ifndef LUMOS_COST_COLLECTIVE_H
#define LUMOS_COST_COLLECTIVE_H

#include <stdint.h>

/* What `transfer` ns among `was` ranks become among `now` (at least 1 each), of the same bytes over links as fast, as NCCL's
 * own model has it: a ring carries (n - 1) / n of the data, an all-reduce twice that; GPUs whose switch adds up (Hopper,
 * Blackwell) let it do the all-reduces of more than two. Only the ratio is NCCL's. `op` as of lumos_comm, `device` as
 * recorded. */
int64_t lumos_collective_resized(const char *op, const char *device, int64_t transfer, int32_t was, int32_t now);

#endif
