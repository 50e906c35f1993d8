/* Host tasks that nothing but their streams tells apart.
 *
 * Calls of several threads that start and end at one instant are in no order of time, but what they launched stands in
 * one on its stream, or waits for what another launched. Where these contradict, the engine takes the tasks of such an
 * instant in the order of threads and streams together.
 */
#ifndef LUMOS_SIM_TIES_H
#define LUMOS_SIM_TIES_H

#include <lumos/job.h>

/* By task, its place among those of its rank that start with it; NULL: the order of ids does. The caller frees it.
 * O(tasks), O(tasks log tasks) where it is not NULL. */
uint32_t *lumos_find_ties(const struct lumos_job *job);

#endif
