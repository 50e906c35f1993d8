/* Bandwidth and label of a collective. */
#ifndef LUMOS_SIM_COLLECTIVES_H
#define LUMOS_SIM_COLLECTIVES_H

#include <lumos/job.h>

/* What nccl-tests multiplies an operation's algorithm bandwidth with over `size` ranks, so that it compares with that
 * of a link: bytes that pass a rank's link for each byte of the whole. Negative: it has no such factor. */
double lumos_bus_factor(const char *op, int32_t size);

/* How many collectives of the job the record stands for: one, and where its members stand for more ranks than meet in
 * one, those of their replicas. O(members). */
int64_t lumos_collective_count(const struct lumos_job *job, const struct lumos_collective *collective);

/* Of members that take `time` together, waiting included, by clocks that may be off by `doubt` for all of them
 * together: arrival_skew from two thirds of waiting on, transfer up to one third, mixed between; inconclusive where the
 * doubt is over a third of the time. */
enum lumos_label lumos_collective_label(int64_t wait, int64_t time, int64_t doubt);

#endif
