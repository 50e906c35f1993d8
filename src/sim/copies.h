/* Copies and memsets by name, which says the direction and the kind of memory: time, bytes, and the bandwidth that they
 * achieve beside what the link can do: metrics copy_time, copy_count, copy_bytes, copy_bandwidth, copy_link. */
#ifndef LUMOS_SIM_COPIES_H
#define LUMOS_SIM_COPIES_H

#include "sim/steps.h"
#include <lumos/hardware.h>

void lumos_write_copies(struct lumos_job *job, const struct lumos_timeline *timeline,
                        const struct lumos_stretches *stretches, const struct lumos_hardware *hardware);

#endif
