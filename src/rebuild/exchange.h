/* What a rank tells neighbours in its pipeline. */
#ifndef LUMOS_REBUILD_EXCHANGE_H
#define LUMOS_REBUILD_EXCHANGE_H

#include "rebuild/blocks.h"

/* Of a task that sends or receives: enum rebuild_transfer, added up; 0: not known. O(peers log ranks). */
unsigned rebuild_exchange_of_task(const struct lumos_job *job, uint32_t task);
/* Of all that a block does. */
unsigned rebuild_exchange_of_block(const struct rebuild_blocks *blocks, uint32_t block);

#endif
