/* Every metric, from the whole to the parts. A new metric is a row here. */
#include <lumos/hta.h>
#include <lumos/metric.h>

#include <string.h>

static const struct lumos_metric_definition definitions[] = {
    {"step_time", "step time", "ns", NULL,
     "From the end of the step before to the end of this step's last GPU task. After a change the first step, where "
     "there are others, counts in no mean, share or sum: it begins with what the unchanged job had left to do."},
    {"host_step_time", "host step time", "ns", "step_time",
     "The length of the host's own step mark, from when the program says that a step begins to when it says that it "
     "ends. The GPU may be far behind."},
    {"exposed_compute", "compute", "ns", "step_time",
     "A compute kernel runs on some stream and no communication does."},
    {"overlapped", "overlapped", "ns", "step_time",
     "Compute and communication run at once: the communication costs nothing by itself."},
    {"exposed_communication", "exposed communication", "ns", "step_time",
     "Communication runs and no compute does. It is transfer, waiting, pipeline bubble and what cannot be split, added "
     "up."},
    {"communication_transfer", "transfer", "ns", "exposed_communication",
     "Exposed communication after the last rank has arrived, which takes as long as the collective's shortest member "
     "runs. Data move."},
    {"communication_wait", "waiting", "ns", "exposed_communication",
     "A communication kernel runs because other ranks have not arrived yet. Only collectives joined across ranks show "
     "it. Of a step, waiting for another stage of the pipeline is bubble instead."},
    {"pipeline_bubble", "pipeline bubble", "ns", "exposed_communication",
     "A communication kernel waits for another stage of the pipeline, in a send, a receive, or a collective of several "
     "stages, and no other communication transfers or waits within the stage. Where there is none, but communication "
     "that is not split, it is not told: that may hold one."},
    {"bubble", "bubble of a stage", "ns", "step_time",
     "The pipeline bubble of a stage, as the mean over its ranks; of the job's step, the mean over all ranks whose "
     "stage is known. It is not told where, over all steps, more communication is not split than is known to be "
     "bubble."},
    {"pass_gap", "bubble between passes", "ns", "step_time",
     "A stage runs no pass, nor the optimizer, nor anything else on its compute streams, nor communication within the "
     "stage: it waits for another stage, for a transfer from there, or for its host. It is told of the rank of the "
     "stage with the lowest number, in the step whose time is nearest to the mean."},
    {"bubble_theory", "bubble in theory", "share", "step_time",
     "The bubble that a step would have if all passes forward were equally long, all passes backward too, and nothing "
     "else took time. For p stages and m micro-batches it is (p - 1) / (m + p - 1) under GPipe and 1F1B, with v m for "
     "m where a stage has v chunks; under ZB-H1 it is b / (b + m (F + B + W)) with b = (p - 1) (F + B - W), where F, B "
     "and W are the times of a pass forward, backward and of weight gradients. It is told only where the passes keep "
     "to the schedule."},
    {"communication_unsplit", "not split", "ns", "exposed_communication",
     "Communication whose other ranks are not in the traces or could not be joined: transfer and waiting together."},
    {"collective_count", "collectives", "count", NULL,
     "How many collectives there are, a pair of a send and a receive being one; communication that is joined with no "
     "other rank's counts by the kernel."},
    {"collective_time", "communication time", "ns", NULL,
     "How long communication kernels run, hidden or not, waiting included, added up over ranks and streams. A kernel "
     "that belongs to several pairs counts in each."},
    {"collective_transfer", "transfer", "ns", "collective_time",
     "Communication time after the last rank has arrived, hidden or not, where it is known when that was."},
    {"collective_wait", "waiting for ranks", "ns", "collective_time",
     "Communication time before the last rank has arrived, hidden or not, where it is known when that was; of a rank, "
     "for all other ranks together. Of a group and an operation it is added up over ranks."},
    {"collective_unsplit", "not split", "ns", "collective_time",
     "Communication time of kernels that are joined with no other rank's, or with those of ranks whose clocks are not "
     "known to agree."},
    {"collective_bytes", "bytes", "bytes", NULL,
     "The larger of what a rank gives to the operation and what it gets from it, as nccl-tests counts: of an "
     "all-gather, a reduce-scatter or an all-to-all that is the whole. It is added up over the collectives that tell "
     "it, each counted once, not once a rank."},
    {"collective_bus_bandwidth", "bus bandwidth", "GB/s", NULL,
     "Bytes divided by transfer time, times 2 (n - 1) / n for an all-reduce of n ranks, (n - 1) / n for an all-gather, "
     "a reduce-scatter, an all-to-all, a gather or a scatter, and 1 for all else, as in nccl-tests: what the slowest "
     "link carries, in 10^9 bytes a second, as the mean over time."},
    {"wait_for", "waits for", "ns", "collective_wait",
     "How long a rank's communication runs before one other rank, the last to arrive, has come. Over all other ranks "
     "it adds up to the rank's waiting."},
    {"late_arrival", "late arrival", "ns", "step_time",
     "How much later than the reference a rank arrives at collectives, added up over the step; none, where it is early "
     "in all. The reference is the member that a quarter of the others come before, of up to four members the "
     "earliest. Of several sets of ranks, the one that it delays most by itself. What its streams computed or copied "
     "for longer than the reference's since the collective before is compute. What they ran nothing for longer is "
     "host; "
     "before kernels that start as soon as they are launched only as far as threads took longer from launch to launch. "
     "Before the first collective of these ranks in the recording it is unknown. The rest is inherited: the rank was "
     "itself held up by other ranks, or its host was late already. In a pipeline, ranks of stages whose layers do the "
     "same work are compared, too: by what its kernels take (compute), and by what threads take to launch them (host), "
     "as far as the GPU is idle before them."},
    {"straggler_delay", "straggler's delay", "ns", "step_time",
     "What of a rank's late arrival is its own: its compute and its host's time."},
    {"last_arrivals", "last arrivals", "count", NULL,
     "To how many of the collectives that count for late arrivals the rank came last."},
    {"straggler", "straggler", "share", "step_time",
     "The own delay of a rank that is a straggler, for which it must be at least 10 % of the job's step on average and "
     "in two of three steps; where there is only one step, 25 %. Where there is a straggler, ranks with at least 80 % "
     "of the largest own delay, and 8 % of the step in two of three steps, are stragglers, too. Steps with a lateness "
     "that is unknown count only where there are no others. Other ranks have none."},
    {"exposed_copy", "exposed copies", "ns", "step_time",
     "A copy or memset runs, and neither compute nor communication does."},
    {"not_recorded", "not recorded", "ns", "step_time",
     "Nothing runs on any stream of the rank's GPU, and what it waits for lies outside the recording: work launched "
     "before it, a call that waits over 1 ms longer than for recorded work, a thread before its first row, or kernels "
     "whose rows are missing. The GPU may be busy then, so this is not idle time, and no change is predicted to gain "
     "it. Record from earlier on, and all kernels."},
    {"idle", "idle", "ns", "step_time",
     "Nothing runs on any stream of the rank's GPU, and what it waits for is recorded."},
    {"idle_host", "idle for the host", "ns", "idle",
     "Idle while a thread, on whose launch the next task depends, works or has a gap: the host is too slow, or has no "
     "lead. Like all causes of idle time it is found by walking back what bound the start that ends the idle time."},
    {"idle_sync", "idle for a wait of the host", "ns", "idle",
     "Idle behind a call that waited for the device and let it run dry, from when the call could return until the "
     "device has work again."},
    {"idle_launch", "idle for launches", "ns", "idle",
     "Idle while a launch is on its way: from a call to the start of what it launched, and from one task of a stream "
     "to the next."},
    {"idle_dependency", "idle for other work", "ns", "idle",
     "Idle while other work holds the next task: of another stream by an event, of another rank, or on SMs that are "
     "not free. Also from the rank's last task on, until other ranks end."},
    {"idle_unexplained", "idle, unexplained", "ns", "idle",
     "Idle without a known cause: delays that no rule explains."},
    {"idle_at_op", "idle at an op", "ns", "idle",
     "Idle for the host and idle for a wait of the host, by the op at which the host was, as the mean over the ranks; "
     "(none) is between ops."},
    {"stream_not_recorded", "stream not recorded", "ns", "step_time",
     "Nothing runs on this one stream, and what the GPU, or the stream's next task, waits for lies outside the "
     "recording."},
    {"stream_idle", "stream idle", "ns", "step_time",
     "Nothing runs on this one stream of the rank's GPU, and what it waits for is recorded."},
    {"stream_idle_host", "stream idle for the host", "ns", "stream_idle",
     "The stream is idle while a thread, on whose launch its next task depends, works or has a gap."},
    {"stream_idle_sync", "stream idle for a wait of the host", "ns", "stream_idle",
     "The stream is idle behind a call that waited for the device, until the device has work again."},
    {"stream_idle_launch", "stream idle for launches", "ns", "stream_idle",
     "The stream is idle while a launch that its next task depends on is on its way."},
    {"stream_idle_dependency", "stream idle for other work", "ns", "stream_idle",
     "The stream is idle while work of another stream or rank holds its next task, or after its last one."},
    {"stream_idle_unexplained", "stream idle, unexplained", "ns", "stream_idle",
     "The stream is idle without a known cause."},
    {"gpu_busy", "GPU busy", "ns", "step_time",
     "At least one task runs on some stream; 100 % less idle and not recorded."},
    {"critical_path", "critical path", "ns", "step_time",
     "The chain of constraints that bound, through ranks, threads and streams of the simulated schedule, from the end "
     "of the task that ends the job's step back to where the step begins: as long as the step, exactly. Only what "
     "stands on it can make the step shorter."},
    {"critical_path_kind", "on the critical path, by kind", "ns", "critical_path",
     "What the critical path consists of: tasks that run, by their kind, and what passes between a task and the one "
     "that held it: host_gap, time of a thread that no event covers; launch_latency, from a call to the start of what "
     "it launched; stream_gap, from one task of a stream to the next; wait_return, until a call that waited returns; "
     "event_latency, from an event to what waited for it; handover, between threads; resource_wait, for free SMs; "
     "full_queue, for room on a stream; other_dependency; unexplained, a delay that the recording has and no rule "
     "explains; outside, what the recording does not hold."},
    {"critical_path_phase", "on the critical path, by phase", "ns", "critical_path",
     "The critical path by the phase of the task that runs, or that comes behind what passes between two tasks."},
    {"critical_path_op", "on the critical path, by op", "ns", "critical_path",
     "The critical path by the op of the task on it, or of the task's launch; of a backward pass, the op whose "
     "gradient it is."},
    {"critical_path_module", "on the critical path, by module", "ns", "critical_path",
     "The critical path by the module of the task's op itself, without the modules around it."},
    {"critical_path_layer", "on the critical path, by layer", "ns", "critical_path",
     "The critical path by the layer of the task on it, or the embedding, the head or the optimizer."},
    {"critical_path_rank", "on the critical path, by rank", "ns", "critical_path",
     "The critical path by the rank of the task on it. A rank with much of it makes the others wait."},
    {"critical_path_crossings", "dependencies crossed", "count", NULL,
     "How many dependencies between two tasks the critical path follows, by what they come from and by how they are "
     "known. The unexplained ones are delays without a known cause."},
    {"critical_path_crossing_time", "time between tasks", "ns", "critical_path",
     "What passes on the critical path between the two tasks of each dependency that it follows, added up."},
    {"opportunity_free", "without it", "ns", "step_time",
     "What a step would take if a kind of work took no time: simulated again, not subtracted, so what another "
     "constraint would hold up all the same is no gain. Of a kind the tasks on the GPU's streams count."},
    {"opportunity_half", "at half", "ns", "step_time",
     "What a step would take if a kind of work took half of its time, simulated again."},
    {"replay_error", "self-replay error", "share", "step_time",
     "How much longer or, below 0, shorter than measured a simulated step is when no lag that lacks an explanation is "
     "kept: every residual dropped, typical lags everywhere. Without a step it is the mean size of the errors of all "
     "ranks' steps. It is a check of the graph, not a proof of its predictions."},
    {"host_replay_error", "host replay error", "share", "step_time",
     "How much longer or, below 0, shorter than measured the host's side of a simulated step is, which ends with the "
     "step's last host task, when no lag that lacks an explanation is kept. Without a step it is the mean size of the "
     "errors of all ranks' steps."},
    {"rebuild_error", "rebuild error", "share", "step_time",
     "How much longer or, below 0, shorter than measured the job's steps are when the recorded configuration is written "
     "anew out of blocks of the recording and simulated: as the mean over the steps, each built from blocks of one recorded "
     "step and held against that. It is what the rebuilding itself does to a prediction of another configuration."},
    {"transplant_error", "transplant error", "share", "step_time",
     "How far the graph of one step is from the measured time of a like one, when it is simulated with that one's "
     "durations and host gaps and keeps its own edges and lags. It says more than the self-replay, for what a lag "
     "hides need not come again."},
    {"step_spread", "step spread", "share", "step_time",
     "How far the measured times of two like steps are apart: the error of a guess that takes one step's time for the "
     "other's. Where it is small a small transplant error says little."},
    {"transplant_matched", "steps matched", "share", "device_tasks",
     "Share of the GPU tasks of two like steps that have a partner in the other one, by their order and names. Steps "
     "count as alike from 98 % on, if host tasks with a partner take 95 % of the time of their threads."},
    {"unexplained_lag", "unexplained lag", "ns", "step_time",
     "Starts of GPU tasks that come more than 2 \xC2\xB5s earlier or later than the rules explain, added up. Kept in "
     "the simulation."},
    {"boundary", "boundary", "ns", "step_time",
     "Waiting for what the recording does not hold: work before it began, steps that are not shown, or, where all of "
     "the GPU was idle and nothing explains it, work elsewhere. It enters the simulation at its measured time."},
    {"resource_wait", "waiting for SMs", "ns", "step_time",
     "Kernels that are ready but start only when a kernel of another stream, which fills the GPU, comes to its end; "
     "found from when they start. In the simulation they wait where that one runs."},
    {"kept_wait", "kept waiting", "ns", "step_time",
     "Communication that is not joined with that of other ranks: its measured length is kept, waiting included."},
    {"host_gap", "host gap", "ns", "step_time",
     "Time on threads that no event covers, such as Python between two ops. A replay keeps it as it is."},
    {"host_unknown", "host unknown", "ns", "step_time",
     "Host gaps over 1 ms that no hand-over between threads explains, and calls over five times the median of their "
     "name. Kept as they are."},
    {"profiler_time", "profiler", "ns", "step_time",
     "What recording takes on the threads that drive the GPU, at most: before and behind each op and behind each call "
     "as long as the shortest stretches there typically are; where steps were timed without the profiler, no more than "
     "those took less. Simulations keep it, also when the host's speed is "
     "changed, so a prediction is of the job as it runs with the profiler, unless --unprofiled took it out. Added up "
     "over threads."},
    {"unprofiled_step_time", "step time without the profiler", "ns", NULL,
     "Mean time of as many steps just before the recorded ones, which the recorder that comes with Lumos timed without "
     "the profiler."},
    {"profiling_cost", "profiling cost", "share", "unprofiled_step_time",
     "How much longer a step took with the profiler than as many steps just before it, which the recorder that comes "
     "with Lumos timed without. All measured times contain it."},
    {"device_time", "GPU time", "ns", NULL,
     "Durations of all GPU tasks of a step, added up over streams and ranks: what runs at once counts twice, and "
     "communication includes waiting. They are as recorded, or, of a changed job, as simulated, in all GPU times and "
     "counts."},
    {"kind_time", "GPU time of a kind", "ns", "device_time", "GPU time of all tasks of one kind."},
    {"kind_count", "tasks of a kind", "tasks", NULL, "How many GPU tasks of one kind a step has, on all ranks."},
    {"kernel_time", "GPU time of a kernel", "ns", "device_time", "GPU time of all tasks of one name."},
    {"kernel_count", "tasks of a kernel", "tasks", NULL, "How many GPU tasks of one name a step has, on all ranks."},
    {"op_time", "GPU time of an op", "ns", "device_time",
     "GPU time of what an op launched, by phase. What runs in the backward pass counts for the op whose gradient it "
     "is, found by autograd's sequence number."},
    {"op_coverage", "with an op", "share", "device_time", "How much of the GPU time belongs to an op."},
    {"module_time", "GPU time of a module itself", "ns", "device_time",
     "GPU time of what a module launched itself, by phase, without the modules in it; these add up to all GPU time."},
    {"module_whole_time", "GPU time of a module", "ns", "device_time",
     "GPU time of what a module and all modules in it launched, by phase."},
    {"module_coverage", "with a module", "share", "device_time", "How much of the GPU time belongs to a module."},
    {"layer_time", "GPU time of a layer", "ns", "device_time",
     "GPU time of a layer, or of the embedding, the head or the optimizer, by phase."},
    {"layer_coverage", "with a layer", "share", "device_time",
     "How much of the GPU time belongs to a layer, the embedding, the head or the optimizer."},
    {"phase_time", "GPU time of a phase", "ns", "device_time", "GPU time of all tasks of one phase."},
    {"phase_coverage", "with a phase", "share", "device_time",
     "How much of the GPU time is known to be of the forward or backward pass, of weight gradients put off, or of the "
     "optimizer."},
    {"occupancy_time", "GPU time with an occupancy", "ns", "device_time",
     "GPU time of kernels of which the recording says how full they make the SMs. 0 is what profilers write where they "
     "cannot tell, and counts as unknown."},
    {"occupancy", "occupancy", "share", "occupancy_time",
     "Warps that kernels hold resident on an SM, of those that it has room for, as the profiler estimates it of each "
     "kernel; the mean over the time of those that have it."},
    {"product_time", "GPU time of products", "ns", "device_time",
     "GPU time of matrix products, convolutions and attention, whose floating-point operations count."},
    {"product_coverage", "products known", "share", "product_time",
     "How much of the time of matrix products, convolutions and attention is of such whose operations are known from "
     "recorded shapes."},
    {"hardware_flops", "hardware FLOPs", "TFLOP", NULL,
     "Floating-point operations of the step's matrix products, convolutions and attention as they ran, recomputation "
     "included, of the ranks that were recorded. A multiplication and an addition are two. Attention is two products "
     "forward and five backward, half of them where it is causal (PyTorch's counter takes the whole)."},
    {"model_flops", "model FLOPs", "TFLOP", NULL,
     "Floating-point operations that the model's step needs, forward and backward, causal attention counted half: from "
     "recorded shapes, without what was computed again and without the optimizer; or by formula from the model's "
     "description, for every token six for every weight, and attention."},
    {"peak_flops", "peak", "TFLOP", NULL,
     "What the GPUs could do in the step's time at their dense peak, in the number format in which most of the model's "
     "operations are done."},
    {"mfu", "MFU", "share", "peak_flops",
     "Model FLOPs utilisation: the model's operations as a share of the peak. Of the recording's first step it is too "
     "low where ranks begin that at different times."},
    {"hfu", "HFU", "share", "peak_flops",
     "Hardware FLOPs utilisation: all operations that ran, recomputation included, as a share of the peak."},
    {"flops_rate", "operations a second", "TFLOP/s", NULL,
     "What a kernel achieves: its floating-point operations divided by its time."},
    {"flops_share", "of the GPU's peak", "share", NULL,
     "A kernel's floating-point operations as a share of what the GPU could do in the kernel's time at the dense peak "
     "of its number format."},
    {"bytes_rate", "bytes a second", "GB/s", NULL,
     "A kernel's inputs and outputs, each counted once, divided by its time. Caches may serve some of them."},
    {"bytes_share", "of the memory's bandwidth", "share", NULL,
     "A kernel's inputs and outputs, each counted once, as a share of what the GPU's memory could move in the kernel's "
     "time."},
    {"coverage", "coverage", "share", "device_tasks",
     "For how many of the GPU tasks the recording names the call that launched them, or the op that made the call."},
    {"clock_offset", "rank clock", "ns", NULL,
     "What is added to all of a rank's times so that collectives end together on their ranks."},
    {"clock_error", "clock error", "ns", NULL,
     "95th percentile of what remains between ranks' ends of collectives when their clocks are aligned."},
};
enum { DEFINITIONS = sizeof definitions / sizeof *definitions };

/* What --hta writes, under that tool's own words. */
static const struct lumos_metric_definition hta_definitions[] = {
    {"hta_gpu_rows", "HTA: GPU rows", "rows", NULL,
     "Rows of the recording that name a stream, without those of the last step where there are several."},
    {"hta_kernel_time", "HTA: kernel time", "us", NULL,
     "From the first row that names a stream to the end of the last one."},
    {"hta_idle_time", "HTA: idle time", "us", "hta_kernel_time",
     "Kernel time in which no row that names a stream runs."},
    {"hta_compute_time", "HTA: compute time", "us", "hta_kernel_time",
     "Kernel time in which a computation runs, by its name."},
    {"hta_non_compute_time", "HTA: non-compute time", "us", "hta_kernel_time",
     "Kernel time that is neither idle nor compute time."},
    {"hta_idle_time_pctg", "HTA: idle time", "percent", "hta_kernel_time",
     "Idle time in percent of the kernel time, rounded to 2 decimals."},
    {"hta_compute_time_pctg", "HTA: compute time", "percent", "hta_kernel_time",
     "Compute time in percent of the kernel time, rounded to 2 decimals."},
    {"hta_non_compute_time_pctg", "HTA: non-compute time", "percent", "hta_kernel_time",
     "Non-compute time in percent of the kernel time, rounded to 2 decimals."},
    {"hta_comp_comm_overlap_pctg", "HTA: overlap", "percent", NULL,
     "Time in which computation and communication run at once, in percent of the time in which communication runs."},
    {"hta_kernel_type_time", "HTA: time by kernel types", "us", NULL,
     "Time in which these types of kernels run at once, and no other, added up over ranks. Copies and memsets are a "
     "type."},
    {"hta_kernel_type_pctg", "HTA: share of kernel types", "percent", NULL,
     "Time in which these types of kernels run at once, and no other, in percent of that of all combinations, rounded "
     "to 1 decimal. Copies and memsets are a type."},
    {"hta_kernel_type_time_no_memory", "HTA: time by kernel types, without memory", "us", NULL,
     "Time in which these types of kernels run at once, and no other, added up over ranks. Copies and memsets are left "
     "out."},
    {"hta_kernel_type_pctg_no_memory", "HTA: share of kernel types, without memory", "percent", NULL,
     "Time in which these types of kernels run at once, and no other, in percent of that of all combinations, rounded "
     "to 1 decimal. Copies and memsets are left out."},
    {"hta_kernel_sum", "HTA: kernel, sum", "us", NULL, "What the kernels of this name take together on this rank."},
    {"hta_kernel_max", "HTA: kernel, max", "us", NULL,
     "The longest kernel of this name on this rank; where the type has more than 10 names, the largest of the names' "
     "sums."},
    {"hta_kernel_min", "HTA: kernel, min", "us", NULL,
     "The shortest kernel of this name on this rank; where the type has more than 10 names, the smallest of the names' "
     "sums."},
    {"hta_kernel_mean", "HTA: kernel, mean", "us", NULL,
     "The mean of the kernels of this name on this rank; where the type has more than 10 names, of the names' sums."},
    {"hta_kernel_stddev", "HTA: kernel, stddev", "us", NULL,
     "The standard deviation of the kernels of this name on this rank, 0 of one; where the type has more than 10 "
     "names, of the names' sums."},
    {"hta_idle_breakdown_time", "HTA: idle time by cause", "us", NULL,
     "Gaps between one row of a stream and the next, added up by cause: host_wait where the launch came after the gap "
     "began, else kernel_wait below 30 \xC2\xB5s, else other."},
    {"hta_idle_breakdown_ratio", "HTA: idle time by cause, share", "share", NULL,
     "Gaps of this cause between one row of a stream and the next as a share of all gaps of the stream, rounded to 2 "
     "decimals."},
    {"hta_queue_length_count", "HTA: queue length, count", "points", NULL,
     "How many launches and starts of kernels the stream has. After each one the length of its queue is another."},
    {"hta_queue_length_mean", "HTA: queue length, mean", "launches", NULL,
     "The mean length of the stream's queue after each launch and each start of a kernel, not over time."},
    {"hta_queue_length_std", "HTA: queue length, std", "launches", NULL,
     "The standard deviation of the length of the stream's queue after each launch and each start of a kernel."},
    {"hta_queue_length_min", "HTA: queue length, min", "launches", NULL,
     "The least length of the stream's queue after a launch or a start of a kernel."},
    {"hta_queue_length_p25", "HTA: queue length, 25%", "launches", NULL,
     "The lower quartile of the length of the stream's queue after each launch and each start of a kernel."},
    {"hta_queue_length_p50", "HTA: queue length, 50%", "launches", NULL,
     "The median length of the stream's queue after each launch and each start of a kernel."},
    {"hta_queue_length_p75", "HTA: queue length, 75%", "launches", NULL,
     "The upper quartile of the length of the stream's queue after each launch and each start of a kernel."},
    {"hta_queue_length_max", "HTA: queue length, max", "launches", NULL,
     "The greatest length of the stream's queue after a launch or a start of a kernel."},
    {"hta_full_queue_time", "HTA: full queue", "us", NULL,
     "Time in which the stream's queue held 1024 launches or more."},
    {"hta_full_queue_ratio", "HTA: full queue, share", "share", NULL,
     "Time in which the stream's queue held 1024 launches or more, as a share of the time from the recording's first "
     "start to its last."},
};
enum { HTA_DEFINITIONS = sizeof hta_definitions / sizeof *hta_definitions };

const struct lumos_metric_definition *lumos_metric_definition(const char *name) {
  for (size_t i = 0; i < DEFINITIONS; i++) {
    if (strcmp(definitions[i].name, name) == 0) {
      return &definitions[i];
    }
  }
  for (size_t i = 0; i < HTA_DEFINITIONS; i++) {
    if (strcmp(hta_definitions[i].name, name) == 0) {
      return &hta_definitions[i];
    }
  }
  return NULL;
}

const struct lumos_metric_definition *lumos_metric_definitions(size_t *count) {
  *count = DEFINITIONS;
  return definitions;
}

const struct lumos_metric_definition *lumos_hta_definitions(size_t *count) {
  *count = HTA_DEFINITIONS;
  return hta_definitions;
}
