/* What streams wait for where PyTorch's fully_shard lets them, which names what it does. */
#ifndef LUMOS_GRAPH_SHARDED_H
#define LUMOS_GRAPH_SHARDED_H

#include "graph/awaited.h"

/* Of the waits of a rank that do not say what they wait for (`unnamed`, a byte a task) decide those called in
 * fully_shard's hooks, and take them out of `unnamed`. O(tasks x depth of spans). */
void lumos_graph_sharded_waits(const struct lumos_rank_graph *graph, uint8_t *unnamed,
                               struct lumos_decided_waits *decisions);

#endif
