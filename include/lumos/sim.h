/* The simulator: discrete events over lanes, and the metrics read off its timeline. */
#ifndef LUMOS_SIM_H
#define LUMOS_SIM_H

#include <lumos/error.h>
#include <lumos/job.h>

/* What a run knows of. The rivals' models leave dependencies out, so that their errors show what these are worth:
 *   dpro      streams do not wait for each other, and CPU calls that synchronize take only their own time;
 *   daydream  streams do not wait for each other, and collectives are tied to no other rank: they keep their measured
 *             length.
 * Thread order, hand-overs, launches, stream order and boundaries are the same for all. */
enum lumos_model { LUMOS_MODEL_LUMOS, LUMOS_MODEL_DPRO, LUMOS_MODEL_DAYDREAM, LUMOS_MODELS };
const char *lumos_model_name(enum lumos_model model); /* "lumos", "dpro", "daydream" */
bool lumos_model_find(const char *name, enum lumos_model *model);

struct lumos_sim_options {
  bool drop_residuals; /* self replay: every residual 0, typical lags everywhere */
  enum lumos_model model;
};

/* Run the engine: fills runs[0..tasks.count) with start (job time) and dur. The job must be at stage graph or later; it
 * is not changed. A deadlock fails with the cycle of tasks that waits. O((tasks + deps) log tasks). */
bool lumos_engine_run(const struct lumos_job *job, const struct lumos_sim_options *options, struct lumos_run *runs,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

/* Bring the job to stage `sim`: run graph when it is missing, run the engine, keep the timeline in job->runs, run the
 * self replay, and write the metrics. A step's parts add up to it, to the nanosecond.
 *
 * Metrics, in ns and `of` step_time unless said; scope {rank, step}, and {step} for the job: there the mean over the
 * ranks that have the step. Measured means as recorded, also of a job that was changed since.
 *   measured and simulated   step_time (of the job: its own step, see steps), the parts of struct lumos_partition (of
 *                            ranks with streams; of the job: of its own step, rounded so that they add up), gpu_busy
 *                            with a pipeline: {stage, step} and {step} bubble; {stage, step} pass_gap and {kind}
 *                            bubble_theory (kind: the schedule that the passes keep to), of the step nearest to the
 *                            mean; communication by {step, group, op}, added up over ranks (200 pairs of a group and an
 *                            op, the longest, have their own; kind "rest" for all others): collective_count,
 *                            collective_time (= collective_transfer + collective_wait + collective_unsplit),
 *                            collective_bytes, collective_bus_bandwidth; {rank, step} collective_wait, and of it
 *                            wait_for {rank, step, peer} (the 16 that it waits for longest; kind "rest" for all
 *                            others), which add up to it; {rank, step} late_arrival, of which {rank, step, kind}:
 *                            compute, host, unknown, inherited; straggler_delay (of it compute and host),
 *                            last_arrivals; {rank} straggler, of those ranks that are such
 *   measured                 host_step_time (the step mark), kept_wait; of changed jobs, and of steps that were never
 *                            measured, as simulated: unexplained_lag, host_gap, host_unknown, profiler_time; {rank}:
 *                            coverage (a share, `of` device_tasks), clock_offset, clock_error; without a scope
 *                            unprofiled_step_time, the mean over the rank-steps of what the recorder timed before, and
 *                            profiling_cost, how much longer they took (a share of it, signed)
 *   simulated                boundary, resource_wait; replay_error and host_replay_error (shares, signed; without a
 *                            scope the mean size of the errors of all ranks' steps; not for changed jobs)
 * GPU time, {step} and what it is of; durations as recorded (source measured), of changed jobs as simulated; summed
 * over streams and ranks:
 *   device_time              of all tasks on streams, and `of` it, each level adding up to it exactly:
 *   kernel_time, kind_time   {name}, {kind}; kernel_count and kind_count say how many tasks
 *   op_time, module_time     {op, phase}, {module, phase}: of the op, and of the module itself, that launched it;
 *                            backward work counts for the op whose gradient it is. A module is named by its path,
 *                            "Model_0.Layer_3.Linear_7"
 *   layer_time               {layer, phase}, or instead of a layer {name}: embedding, head, optimizer
 *   phase_time               {phase}
 * What has no place at a level is a row whose op, module or name is "(none)". Of kernels, ops and modules the 200
 * longest rows of a step are written, the others as one whose name, op or module is "(rest)", without a phase.
 * module_whole_time {module, phase} has the modules inside added, and so adds up to more. op_coverage, module_coverage,
 * layer_coverage, phase_coverage {step}: shares of device_time that have a place (phase `other` is none).
 *
 * occupancy_time {step}, `of` device_time, of kernels with an occupancy; occupancy {step} and {rank, step}, `of` it:
 * the mean of theirs over that time.
 *
 * By {step, name}, of the same timeline, the 200 longest of a step:
 *   copy_time, copy_count    of copies and memsets; copy_bytes of those whose bytes are known; {name}, over all
 *                            steps: copy_bandwidth of these and copy_link, what the link can do, GB/s
 *   call_time, call_count    of calls into the runtime and driver; long_call_count: over 50 us; launched_count: tasks
 *                            that one call each launched, short_kernel_count: of these such that are shorter than that
 *                            call; {name}: call_median, call_p99
 *   annotation_gpu_time      of what was launched inside; annotation_cpu_time and annotation_count of measured steps
 *
 * Memory of a rank's last step, {rank}, simulated (footprint.h):
 *   memory_peak              bytes; memory_part {rank, kind} of it adds up to it: parameters, gradients, optimizer,
 *                            activations, head, temporary, libraries; memory_capacity of its GPU, memory_micro_batch
 *                            (bytes) and memory_in_flight (a count). A note sim.memory_unknown says why shapes are not
 *                            enough; sim.memory_exceeded (a warning), that the GPU has less, what most of it is for,
 *                            and what would fit
 *
 * Why a device is idle, simulated, {rank, step} and {step}: idle_host, idle_sync, idle_launch, idle_dependency,
 * idle_unexplained, `of` idle, to which they add up; {step, op}: idle_at_op, idle_host and idle_sync by the op at which
 * the CPU was, (none) between ops. {rank, step, lane}: stream_idle, and stream_idle_host and so on of it, and beside it
 * stream_not_recorded: time outside the recording of the rank, or holds the stream's own next task.
 *
 * The critical path of the job's step, simulated, {step} and more: critical_path, as long as the step; `of` it, each
 * adding up to it: critical_path_kind {kind}, _phase {phase}, _op {op}, _module {module}, _layer {layer, or name},
 * _rank {rank}; (none) and (rest), behind the 50 longest, as above; critical_path_crossings (a count) and
 * critical_path_crossing_time {kind: what holds, name: the evidence}.
 *
 * Floating-point operations, {step} and of the same timeline; multiplications and additions count one each. From the
 * shapes that were recorded with matrix products, convolutions and attention, where those of 95 % of their time
 * (product_coverage, `of` product_time) are known; attention of a sequence to itself counts half, as causal, where the
 * kernel's name does not say that it is not:
 *   hardware_flops           TFLOP: what ran on the ranks that are there
 *   model_flops              TFLOP, {kind}: shapes: of that, what is neither recomputation nor the optimizer's; model:
 *                            by formula from the model record, of all replicas, where it says enough. Both may be there
 *   peak_flops, mfu          {kind} as model_flops: what the GPUs could do in the step at the dense peak of the format
 *                            that most of it is computed in (of the ranks that are there; for kind model, of all), and
 *                            model_flops as a share of it
 *   hfu                      {kind} shapes: hardware_flops as a share of it
 *   flops_rate, bytes_rate   {name}, the 200 longest products of a step: TFLOP/s, GB/s (inputs and outputs, each once);
 *                            flops_share and bytes_share: of what the GPU can do
 * Where nothing is known a note sim.flops_unknown says what to record; sim.gpu_unknown, that a GPU is not in the table;
 * sim.format_unknown, that nothing says what most operations are done in; sim.above_peak, sim.flops_differ, that two
 * figures contradict each other; sim.mfu_first_step, that ranks begin the recording's first step at different times.
 *
 * Where a step has a like one, for the step (the graph of which is asked), and without a scope the mean size over all
 * ranks' such steps; not for changed jobs:
 *   simulated                transplant_error: how far its graph, with the durations and CPU gaps of the similar step,
 *                            is from that one's measured time (a share of it, signed)
 *   measured                 step_spread: how far its own measured time is from it; {rank, step} transplant_matched:
 *                            the share, `of` device_tasks of the larger of the two steps, that have a partner */
bool lumos_simulate(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Before a job changes for the first time: how wrong a simulation of it is, as common errors of the whole step with
 * these ids (model_error.c), for the ranges of what is then predicted. O((tasks + deps) log tasks). */
#define LUMOS_ERROR_REPLAY "replay"
#define LUMOS_ERROR_STEPS "steps"
/* What kernels lose beside communication, as the recording shows it, and how unsure that is where a change moves it. */
#define LUMOS_ERROR_BESIDE "beside"
#define LUMOS_ERROR_CONTENDED "contended"
/* Of a job with more replicas than were recorded: the slowest of them. */
#define LUMOS_ERROR_REPLICAS "replicas"
/* Of a captured job: how much of what overlaps may not any more, noted by the change. */
#define LUMOS_ERROR_GRAPHS "graphs"
void lumos_note_model_errors(struct lumos_job *job);
/* Steps of the same job were timed in another stretch, and took so much longer, as a share: the error of steps is as
 * large, if it is not larger yet. */
void lumos_note_another_recording(struct lumos_job *job, double off);

struct lumos_simulation {
  enum lumos_model model;
  const char *hardware; /* path of a table of GPUs (hardware.h); NULL: the library's own alone */
  bool opportunities;   /* and find them (lumos_find_opportunities) in the run at hand, which saves a run */
  bool steps_alone;     /* of a changed job, the time of its steps alone gets a range: for whoever reads no other */
};
/* The same by a model; the job's history says which. Fails where an edit is beyond the model: a collective's transfer
 * in daydream's. */
bool lumos_simulate_by(struct lumos_job *job, enum lumos_model model, struct lumos_error *error) LUMOS_MUST_CHECK;
/* The same with all that can be chosen; the history says that, too. */
bool lumos_simulate_as(struct lumos_job *job, const struct lumos_simulation *simulation,
                       struct lumos_error *error) LUMOS_MUST_CHECK;

/* Write what was measured, as metrics of source measured, of a job from stage graph on: for whoever then changes it so
 * that it has no measured times any more. Sim writes them itself otherwise. O(tasks log tasks). */
void lumos_measure(struct lumos_job *job);

/* What would help: the job's steps, simulated anew, if a kind of work took no time (metric opportunity_free) or half of
 * its time (opportunity_half); ns, `of` step_time, source simulated, scope {step} and kind or group:
 *   kind host           all that threads do, lags between their tasks and hand-overs, but not what recording takes
 *   kind launch         from the end of a launch to where an idle stream starts
 *   kind gemm and so on kernels of that kind, copies, memsets
 *   kind communication  transfers; that of each group by group, where there are several
 *   kind stragglers     what kernels take longer than the median of the same ones, at the same place of the same step,
 *                       of all ranks that run the same there, and what their threads take longer to launch them, since
 *                       the launch before, waiting left out; not where no two ranks are alike
 * Also with one change that an engineer can make (metric opportunity_change):
 *   kind cuda_graphs    each pass of a micro-batch and thread is launched as a CUDA graph, as --launch graph has it
 *   kind fused_kernels  neighboring elementwise and normalization kernels are one, as --fuse has it; fused_launches
 *                       where no shapes show what they then need not move
 *   kind faster_network twice the bandwidth on all links, as --network has it, and the same latency
 *   kind no_straggler   ranks that a metric straggler names take what similar ranks take at the median
 *   kind overlapped_gradients  reductions of gradients are left as far as they do not fit beside the backward pass of
 *                       the last micro-batch
 *   kind balanced_stages  work of stages scaled to the mean of all stages of the pipeline
 * Work is changed as --scale changes it. Compare with the simulated step_time of the same step. What matters less has
 * no metrics: what has less than 0.5 % of the critical path to the end of the last step, and what
 * would save the steps together less than that if it took no time. Where nothing matters note sim.no_opportunity says
 * so. By another model than ours there are none.
 * The job must be at stage sim (else LUMOS_UNUSABLE). O(works x (tasks + deps) log tasks), on all cores that the
 * process may use. */
bool lumos_find_opportunities(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Measured or simulated start and duration of a task in job time: the one place that applies clocks. LUMOS_ABSENT when
 * it has none. */
int64_t lumos_measured_start(const struct lumos_job *job, uint32_t task);

/* A step on one rank: (start, end] in job time. Step k ends at E_k, the latest end of its kernels and copies (CPU tasks
 * if it has none; never before E_(k-1)), and starts at E_(k-1); the first selected step starts at rank.base (an instant
 * of the GPU clock where the rank has streams, else of the CPU clock). */
struct lumos_step {
  uint32_t rank; /* index */
  int32_t step;
  int64_t start, end;
};
LUMOS_VECTOR_TYPE(lumos_steps_list, struct lumos_step);

/* The same function for both timelines: runs NULL: measured times. Sorted by rank, then step. The caller frees the
 * vector. */
void lumos_find_steps(const struct lumos_job *job, const struct lumos_run *runs, struct lumos_steps_list *steps);

/* Where a rank's step went, over all its streams; the first six add up to end - start exactly. Where nothing runs,
 * not_recorded is what waits for what lies outside the recording: a start that a boundary holds, a call that waits over
 * 1 ms longer than for recorded work, a thread before its first row, a rank after its last one, kernels whose rows are
 * missing. */
struct lumos_partition {
  int64_t exposed_compute, overlapped, exposed_communication, exposed_copy, not_recorded, idle;
  /* These add up to exposed_communication. Waiting is bubble where it is for another stage of the pipeline. */
  int64_t communication_transfer, communication_wait, pipeline_bubble, communication_unsplit;
  int64_t gpu_busy; /* at least one task runs on any stream */
  /* At least one communication task runs whose end is tied to no other rank's: waiting in it stays as measured. */
  int64_t communication_kept;
};

/* Partition every step of `steps` (count entries of partitions); those of a rank stand together, in order and apart
 * from each other, and none ends before it starts. O(tasks log tasks). */
void lumos_partition_steps(const struct lumos_job *job, const struct lumos_run *runs,
                           const struct lumos_steps_list *steps, struct lumos_partition *partitions);

#endif
