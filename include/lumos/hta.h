/* The figures of HTA (Holistic Trace Analysis), to cross-check Lumos with or to carry thresholds over: that tool's
 * definitions, quirks included, of the recording as it stands in the file, and not of the steps that were chosen.
 *
 * Metrics, all of source measured; times in whole microseconds, as that tool counts them. In brackets the call and the
 * column.
 *   hta_idle_time hta_compute_time hta_non_compute_time hta_kernel_time and, rounded to 2 decimals, hta_idle_time_pctg
 *   hta_compute_time_pctg hta_non_compute_time_pctg    {rank} [get_temporal_breakdown: idle_time(us) ...]
 *   hta_comp_comm_overlap_pctg                         {rank} [get_comm_comp_overlap]; absent without communication
 *   hta_kernel_type_time hta_kernel_type_pctg          {kind}, over all ranks [get_gpu_kernel_breakdown, the first
 *                                                      table: sum, percentage]
 *   hta_kernel_type_time_no_memory ..._pctg_no_memory  the same with include_memory_kernels=False
 *   hta_kernel_sum hta_kernel_max hta_kernel_min hta_kernel_mean hta_kernel_stddev {rank,kind,name} [the second table]
 *   hta_idle_breakdown_time hta_idle_breakdown_ratio   {rank,stream,kind}, kind: host_wait kernel_wait other
 *                                                      [get_idle_time_breakdown]
 *   hta_queue_length_count _mean _std _min _p25 _p50 _p75 _max {rank,stream} [get_queue_length_summary]
 *   hta_full_queue_time hta_full_queue_ratio           {rank,stream} [get_time_spent_blocked_on_full_queue]; absent
 *                                                      where no queue was full
 *   hta_gpu_rows                                       {rank}: rows with a stream, which all of these look at; may be 0
 * {stream} stands for the scope's `name`, "s20" for stream 20: a stream need not be a lane of the job, for nothing of
 * the chosen steps may run on it.
 *
 * What that tool does, and so these do:
 *   - Times are whole microseconds: of a row's first and last instant, as doubles, the first is rounded up and the last
 *     down, so a row may last 0 or -1.
 *   - With two or more names of step marks in all files, whatever the CPU starts from the last mark on is left out,
 *     and GPU rows whose correlation no earlier CPU row has; a mark that lies over a stream counts as one. A GPU
 *     row whose correlation several earlier CPU rows have counts as often.
 *   - A row is of a stream when it has the argument: synchronization, and CPU rows of Triton, are.
 *   - Communication: nccl..., hip..., hccl..., ...ncclKernel...; a copy of HIP is. What is neither communication nor
 *     memory is computation, but for names with Sync or dma in them and some launches.
 *   - Idle: the gap behind the row before, which may be negative; host_wait when the launch started after that row's
 *     end, else kernel_wait below 30 us, else other. A row whose launch is not there is joined with the file's first
 *     event, when that has a duration.
 *   - Kernels: with more than 10 names in a type and rank, those beyond the tenth, and those whose running sum lies
 *     above the 0.8 quantile of the running sums, are "others", but for those whose sum is negative, and all statistics
 *     are of the sums of the names.
 *   - Queue: a launch counts from its call to its kernel's start. 1024 launches are a full queue, and of a rank only
 *     the last stream that had one is reported.
 * Where that tool fails, the figure is absent: the queue of a rank whose calls and kernels do not pair, all that is
 * asked of a rank without rows, and of all ranks the temporal breakdown when one has no rows, or when rows of -1 us
 * leave more idle or compute time, or both together, than there is in all. Then there is a note, sim.hta_fails.
 *
 * Which of two rows that start in the same microsecond comes first is up to numpy's default sort, which is not stable.
 * Here it is that sort without vector instructions: before numpy 1.25, and since then on processors for which numpy has
 * none to sort with. Elsewhere (AVX-512 from 1.25 on, AVX2 from 2.0 on) the order is another, and figures may differ:
 * queue lengths in the third digit, which of the kernels with equal sums is still listed, and, where rows of -1 us are
 * involved, idle and other times by a microsecond or a few.
 */
#ifndef LUMOS_HTA_H
#define LUMOS_HTA_H

#include <lumos/error.h>
#include <lumos/job.h>
#include <lumos/metric.h>

/* Add the metrics above to a simulated job. False with an error when no rank says what was recorded (an older stream,
 * or a trace that Lumos wrote), when a rank says so wrongly, or when the job was changed. O(rows log rows); memory: the
 * rows of one rank. */
bool lumos_hta(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* What these metrics mean; lumos_metric_definition finds them, too. */
const struct lumos_metric_definition *lumos_hta_definitions(size_t *count);

#endif
