/* A network as a user describes it: what joins GPUs within a node, and nodes.
 *
 * A JSON object:
 *
 *   {"node_size": 8, "intra": {"bandwidth_gbps": 360, "latency_us": 0},
 *    "inter": {"bandwidth_gbps": 50, "latency_us": 5, "p2p_bandwidth_gbps": 50, "p2p_latency_us": 27}}
 *
 * node_size: GPUs in a node. bandwidth_gbps: GB/s (10^9 bytes) of bus bandwidth per GPU, one way. latency_us: of a hop,
 * beyond what NCCL itself takes for a step. p2p: of a message between two GPUs, latency_us the whole of it. What is
 * absent stays as the trace has it.
 */
#ifndef LUMOS_COST_NETWORK_H
#define LUMOS_COST_NETWORK_H

#include "base/text.h"
#include <lumos/error.h>
#include <stdint.h>

struct lumos_link {
  double bandwidth, latency, p2p_bandwidth, p2p_latency; /* GB/s, us; negative: absent */
};

struct lumos_network {
  int32_t node_size; /* LUMOS_ABSENT_INT: absent */
  struct lumos_link intra, inter;
};

/* False where the file cannot be read or is no such object. */
bool lumos_network_read(const char *path, struct lumos_network *network, struct lumos_error *error) LUMOS_MUST_CHECK;

/* A description as such an object, and one that is read from it: what `text` says overrides `network`. False where it
 * is no such object. */
void lumos_network_put(const struct lumos_network *network, struct lumos_text *out);
bool lumos_network_add(const char *text, struct lumos_network *network);
/* Nothing is described. */
extern const struct lumos_network lumos_network_unknown;

#endif
