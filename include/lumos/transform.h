/* What-ifs: edits of the graph, recorded in the job's history. */
#ifndef LUMOS_TRANSFORM_H
#define LUMOS_TRANSFORM_H

#include <lumos/error.h>
#include <lumos/job.h>

/* Which tasks. `host` (every thread task, and thread lags), `device` (every stream task), or terms joined by commas,
 * all of which must hold: kind=NAME name~REGEX (POSIX extended, anywhere in the name) op=NAME (the innermost op span or
 * one around it, of the task or of the call that launched it) module=NAME (the same of recorded modules, such as
 * Linear_7; gradients count for the module of the forward op) phase=NAME layer=N micro_batch=N (as lumos-graph found
 * them) stage=N (ranks of that pipeline stage) rank=N group=NAME (communication of that group, by id or recorded name).
 * kind=communication is collectives, sends and receives. "not " before a term takes what it does not choose. */
struct lumos_selector;
struct lumos_selector *lumos_selector_parse(const char *text, size_t length,
                                            struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_selector_free(struct lumos_selector *selector);
/* Mark the selected tasks: chosen[0..tasks.count) 0 or 1. One chosen member of a collective chooses all. Returns how
 * many. */
size_t lumos_selector_apply(const struct lumos_selector *selector, const struct lumos_job *job, uint8_t *chosen);

/* Apply 'SELECTOR=FACTOR' (the factor follows the last '='; a decimal of at most 6 places, at least 0): durations of
 * the chosen tasks, of threads (`host`) also the lags, of waits only the residual, of joined collectives the transfer.
 * Runs graph first when the job is at stage `parse`. Sets dur, was, dur_source; adds a note where nothing was chosen.
 * Brings the job to stage `transform`. */
bool lumos_transform_scale(struct lumos_job *job, const char *specification,
                           struct lumos_error *error) LUMOS_MUST_CHECK;

/* Take out of the CPU's durations and lags what recording takes there, as far as graph knows it (rank.profiler, which
 * goes): the job without the profiler. Of a job that is not edited, whose ranks have steps that were timed without it
 * (unprofiled_dur), all of them then become shorter by one factor, until the simulated steps take as long, or, where
 * these fill the step, all kernels that compute by up to a fifth; runs the engine up to a dozen times. `argument` is
 * not used. A note, where nothing is known. Brings the job to stage `transform`. */
bool lumos_transform_unprofiled(struct lumos_job *job, const char *argument,
                                struct lumos_error *error) LUMOS_MUST_CHECK;

/* Take the selected tasks out of the job, and what goes along: calls that launch nothing else, and ops all of whose
 * work on streams goes, with the ops inside them. Threads and streams close the gap; what waited for a removed task
 * waits for what came before it on its lane. The job keeps its measured metrics and loses its measured starts: it never
 * ran. LUMOS_UNUSABLE where nothing would be left. */
bool lumos_transform_remove(struct lumos_job *job, const char *selector, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Make one kernel of selected ones that follow each other on a stream in one step, launched by one thread without a
 * wait or an event between, none of them a copy or communication: it is launched as the first is, takes the time of all
 * of them, as far as shapes are recorded without what one writes and the next reads, and the others go as by
 * lumos_transform_remove. A note where there are no two such. */
bool lumos_transform_fuse(struct lumos_job *job, const char *selector, struct lumos_error *error) LUMOS_MUST_CHECK;

/* The same program on another GPU: NAME of the library's table of GPUs, or NAME@FILE of a user's (lumos/hardware.h).
 * Kernels, copies and communication take what models of both GPUs say, by their ratio; sets dur, was, dur_source,
 * dur_error, common_error and the ranks' device. LUMOS_UNUSABLE where either GPU is unknown. */
bool lumos_transform_gpu(struct lumos_job *job, const char *specification, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Another network, as a file describes it (src/cost/network.h): transfers take what NCCL's model says of both networks,
 * by the ratio, where this one's figures are fitted to the job's own transfers. What is known of no size keeps its
 * time, which a note says. Kernels that run beside more or less of it take longer or shorter, as the trace shows. */
bool lumos_transform_network(struct lumos_job *job, const char *file, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Another model of the same structure: `sizes` is a list such as "hidden=4096,ffn=16384" of hidden, ffn, heads,
 * kv-heads, head-dim, seq, micro-batch and vocab. Of those that are not given ffn, and heads times head_dim, keep their
 * ratio to hidden, and kv-heads theirs to heads; all others stay. Shapes of ops change, kernels take their time by the
 * models of src/cost that the trace's own shapes calibrate, communication moves as many times as many bytes; the CPU's
 * time and the number of ops stay, so gradients go in as many buckets. LUMOS_INVALID where shapes, or the size that is
 * replaced, are not known. O(tasks + spans + shapes squared). */
bool lumos_transform_sizes(struct lumos_job *job, const char *sizes, struct lumos_error *error) LUMOS_MUST_CHECK;

/* RANK=FACTOR: kernels of that rank take FACTOR times as long, but no communication, copies or memsets. */
bool lumos_transform_straggler(struct lumos_job *job, const char *argument, struct lumos_error *error) LUMOS_MUST_CHECK;

/* The duration of each kernel but communication varies by itself, normally, with this standard deviation as a
 * share of it (0 to 1): its dur_error, which a simulation draws. */
bool lumos_transform_jitter(struct lumos_job *job, const char *sigma, struct lumos_error *error) LUMOS_MUST_CHECK;

/* "graph": passes are launched as CUDA graphs (launch.c says what is assumed); a note counts them. */
bool lumos_transform_launch(struct lumos_job *job, const char *how, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Bring a job to stage `transform` without a change (graph is run when missing, sim's work is dropped). */
bool lumos_transform_begin(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
