/* How much memory each rank's GPU needs, and of what (lumos/footprint.h): memory_peak and its parts, beside what the
 * GPU has. */
#ifndef LUMOS_SIM_MEMORY_H
#define LUMOS_SIM_MEMORY_H

#include <lumos/hardware.h>
#include <lumos/job.h>

/* Metrics memory_peak, memory_part, memory_capacity, memory_micro_batch, memory_in_flight of ranks,
 * memory_recorded_peak and memory_reserved_peak of those whose recording has memory events, and notes: what does not
 * fit, and why nothing is known. O(tasks). */
void lumos_write_memory(struct lumos_job *job, const struct lumos_hardware *hardware);

#endif
