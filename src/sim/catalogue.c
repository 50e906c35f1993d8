/* Every metric, from the whole to the parts. A new metric is a row here. */
#include <lumos/hta.h>
#include <lumos/metric.h>

#include <string.h>

static const struct lumos_metric_definition definitions[] = {
    {"step_time", "step time", "ns", NULL,
     "From the end of the previous step to the end of this step's last kernel or copy. Means, shares and sums leave "
     "out the first of three steps or more, in which the recording begins. After a change, the first of two is left "
     "out, too, for it starts with work left over from the unchanged job."},
    {"host_step_time", "CPU step time", "ns", "step_time",
     "The length of the program's own step mark on the CPU. The GPU may be far behind."},
    {"exposed_compute", "compute", "ns", "step_time",
     "A compute kernel runs on some stream, and no communication runs."},
    {"overlapped", "overlapped", "ns", "step_time",
     "Compute and communication run at once, so this communication costs no time."},
    {"exposed_communication", "exposed communication", "ns", "step_time",
     "Communication runs and no compute does. It is the sum of transfer, waiting, pipeline bubble, and transfer or "
     "waiting (unknown)."},
    {"communication_transfer", "transfer", "ns", "exposed_communication",
     "Exposed communication after the last rank has arrived, while data move. It lasts as long as the collective's "
     "shortest member."},
    {"communication_wait", "waiting for other ranks", "ns", "exposed_communication",
     "Exposed communication before the last rank has arrived. Only collectives joined across ranks show it. Waiting "
     "for another pipeline stage counts as bubble instead."},
    {"pipeline_bubble", "pipeline bubble", "ns", "exposed_communication",
     "A send, a receive or a collective of several stages waits for another pipeline stage, and no other "
     "communication runs within the stage. It is unknown where communication is transfer or waiting, unknown which."},
    {"bubble", "stage bubble", "ns", "step_time",
     "The pipeline bubble of a stage, averaged over its ranks. For the job's step it is averaged over all ranks with "
     "a known stage. It is unknown where less is known to be bubble than may be transfer or waiting."},
    {"pass_gap", "time without a pass", "ns", "step_time",
     "A stage runs no pass, no optimizer, nothing else on its compute streams and no communication within the stage. "
     "It waits for another stage, for a transfer from there, or for its CPU. Shown for the stage's lowest rank, in "
     "the step closest to the mean step time."},
    {"bubble_theory", "theoretical bubble", "share", "step_time",
     "The bubble of an ideal step: all forward passes take equally long, all backward passes too, and nothing else "
     "takes time. With p stages and m micro-batches, GPipe and 1F1B have a bubble of (p - 1) / (m + p - 1). Where a "
     "stage has v chunks, v m replaces m. ZB-H1 has b / (b + m (F + B + W)) with b = (p - 1) (F + B - W). F, B and W "
     "are the times of a forward pass, a backward pass and weight gradients. Shown only where the passes keep to the "
     "schedule."},
    {"communication_unsplit", "transfer or waiting (unknown)", "ns", "exposed_communication",
     "Communication whose peer ranks are not in the traces or could not be joined. How much of it is transfer and how "
     "much waiting is unknown."},
    {"collective_count", "collectives", "count", NULL,
     "The number of collectives. A send and its receive count as one. Communication that is not joined with another "
     "rank's counts per kernel."},
    {"collective_time", "communication time", "ns", NULL,
     "The time that communication kernels run, overlapped or exposed, waiting included, summed over ranks and "
     "streams. A kernel of several send and receive pairs counts in each."},
    {"collective_transfer", "transfer", "ns", "collective_time",
     "Communication time after the last rank has arrived, overlapped or exposed, where the arrival is known."},
    {"collective_wait", "waiting for other ranks", "ns", "collective_time",
     "Communication time before the last rank has arrived, overlapped or exposed, where the arrival is known. A "
     "rank's value is its waiting for all other ranks. The value of a group and an operation is summed over ranks."},
    {"collective_unsplit", "transfer or waiting (unknown)", "ns", "collective_time",
     "Communication time of kernels that are not joined with another rank's, or only with ranks whose clocks may "
     "disagree."},
    {"collective_bytes", "bytes", "bytes", NULL,
     "The larger of what a rank sends into the operation and what it receives, as nccl-tests counts. For an "
     "all-gather, a reduce-scatter or an all-to-all this is the whole buffer. Summed over collectives with known "
     "sizes, each counted once, not per rank."},
    {"collective_bus_bandwidth", "bus bandwidth", "GB/s", NULL,
     "Bytes divided by transfer time, times a factor, as in nccl-tests. For an all-reduce of n ranks the factor is 2 "
     "(n - 1) / n. It is (n - 1) / n for an all-gather, a reduce-scatter, an all-to-all, a gather or a scatter, and "
     "1 otherwise. The result is the load of the slowest link, in 10^9 bytes per second, averaged over time."},
    {"wait_for", "waits for", "ns", "collective_wait",
     "The time that a rank's communication runs before one other rank, the last to arrive, has arrived. Summed over "
     "all other ranks it is the rank's waiting."},
    {"late_arrival", "late arrival", "ns", "step_time",
     "How much later than the reference a rank arrives at collectives, summed over the step. It is zero for ranks "
     "that are early. The reference is the member that a quarter of the others precede. Of up to four members it is "
     "the earliest. Of several sets of ranks, the one counts in which the rank's own delay is largest. The lateness "
     "has three parts. Compute: the rank's streams ran longer than the reference's since the previous collective. "
     "CPU: its streams were idle for longer. Before kernels that start as soon as they are launched, this counts "
     "only as far as threads took longer from launch to launch. Inherited: other ranks held it up, or its CPU was "
     "late already. Before the first collective of these ranks the cause is unknown. In a pipeline, Lumos also "
     "compares ranks of stages with the same layers. Their compute is their kernels' time. Their CPU time is what "
     "threads take to launch those kernels while the GPU is idle."},
    {"straggler_delay", "own delay", "ns", "step_time",
     "The part of a rank's late arrival that it causes itself: its compute and its CPU time."},
    {"last_arrivals", "last arrivals", "count", NULL,
     "The number of collectives at which the rank arrived last, of those that count for late arrivals."},
    {"straggler", "straggler", "share", "step_time",
     "The own delay of a straggler, over all steps of the job that count. A straggler's own delay is at least 10 % of "
     "the job's "
     "step on average and in two of three steps. In a single step it is at least 25 %. Beside a straggler, a rank "
     "with at least 80 % of the largest own delay is one, too. It needs 8 % of the step in two of three steps. Steps "
     "with unknown lateness count only where there are no others. Other ranks have no value."},
    {"exposed_copy", "exposed copies", "ns", "step_time",
     "A copy or memset runs, and neither compute nor communication does."},
    {"not_recorded", "outside the recording", "ns", "step_time",
     "Nothing runs on any stream of the rank's GPU, and it waits for something outside the recording. That is work "
     "launched before it, a thread before its first row, a rank after its last one, or kernels whose rows are missing. "
     "It is also a call that waits over 1 ms longer than for recorded work. The GPU may be busy then, so this is not "
     "idle time. No change "
     "is predicted to save it. Start the recording earlier, and record all kernels."},
    {"idle", "idle", "ns", "step_time",
     "Nothing runs on any stream of the rank's GPU, and what it waits for is recorded."},
    {"idle_host", "idle, CPU-bound", "ns", "idle",
     "The GPU is idle while the thread that launches the next task is busy or has a gap. The CPU is too slow, or not "
     "ahead. Lumos finds each cause of idle time by walking back from the start that ends it."},
    {"idle_sync", "idle, CPU blocked in synchronization", "ns", "idle",
     "The GPU is idle after a call that waited for it and let it run dry. This counts from when the call could "
     "return until the GPU has work again."},
    {"idle_launch", "idle, launch latency", "ns", "idle",
     "The GPU is idle while a launch is on its way, from a call to the start of what it launched. The time from one "
     "task of a stream to the next counts, too."},
    {"idle_dependency", "idle, waiting for other work", "ns", "idle",
     "The GPU is idle while other work holds the next task. That work is on another stream (through an event), on "
     "another rank, or on SMs that are not free. The time from the rank's last task until other ranks end counts, "
     "too."},
    {"idle_unexplained", "idle, unexplained", "ns", "idle",
     "The GPU is idle without a known cause: an unexplained delay."},
    {"idle_at_op", "idle at an op", "ns", "idle",
     "Idle time that is CPU-bound or blocked in synchronization, by the op that the CPU was at, averaged over the "
     "ranks. Time between ops is under (none)."},
    {"stream_not_recorded", "stream, outside the recording", "ns", "step_time",
     "Nothing runs on this stream, and the GPU, or the stream's next task, waits for something outside the recording."},
    {"stream_idle", "stream idle", "ns", "step_time",
     "Nothing runs on this stream of the rank's GPU, and what it waits for is recorded."},
    {"stream_idle_host", "stream idle, CPU-bound", "ns", "stream_idle",
     "The stream is idle while the thread that launches its next task is busy or has a gap."},
    {"stream_idle_sync", "stream idle, CPU blocked in synchronization", "ns", "stream_idle",
     "The stream is idle after a call that waited for the GPU, until the GPU has work again."},
    {"stream_idle_launch", "stream idle, launch latency", "ns", "stream_idle",
     "The stream is idle while the launch of its next task is on its way."},
    {"stream_idle_dependency", "stream idle, waiting for other work", "ns", "stream_idle",
     "The stream is idle while work of another stream or rank holds its next task, or after its last one, while the "
     "rank goes on."},
    {"stream_idle_unexplained", "stream idle, unexplained", "ns", "stream_idle",
     "The stream is idle without a known cause."},
    {"gpu_busy", "GPU busy", "ns", "step_time",
     "At least one task runs on some stream: 100 % minus idle time and time outside the recording."},
    {"critical_path", "critical path", "ns", "step_time",
     "The constraints that determine the step's length, through ranks, threads and streams of the simulated "
     "schedule. Lumos follows them from the end of the step's last task back to its start. The path is exactly as "
     "long as the step. Only work on it can shorten the step."},
    {"critical_path_kind", "on the critical path, by kind", "ns", "critical_path",
     "What the critical path consists of: tasks by their kind, and delays between a task and the one that held it. "
     "host_gap: a CPU gap. launch_latency: from a call to the start of what it launched. stream_gap: "
     "from one task of a stream to the next. wait_return: until a call that waited returns. event_latency: from an "
     "event to what waited for it. handover: between threads. resource_wait: for free SMs. full_queue: for room on a "
     "stream. unexplained: without a known cause. outside: outside the recording. other_dependency: all others."},
    {"critical_path_phase", "on the critical path, by phase", "ns", "critical_path",
     "The critical path by the phase of the task that runs, or of the task after a delay."},
    {"critical_path_op", "on the critical path, by op", "ns", "critical_path",
     "The critical path by the op of the task or of its launch. Backward work counts for the op whose gradient it "
     "computes."},
    {"critical_path_module", "on the critical path, by module", "ns", "critical_path",
     "The critical path by the innermost module of the task's op."},
    {"critical_path_layer", "on the critical path, by layer", "ns", "critical_path",
     "The critical path by the layer of the task, or the embedding, the head or the optimizer."},
    {"critical_path_rank", "on the critical path, by rank", "ns", "critical_path",
     "The critical path by the rank of the task. A rank with much of it makes the others wait."},
    {"critical_path_crossings", "dependencies crossed", "count", NULL,
     "The number of dependencies between two tasks on the critical path, by type and evidence. Unexplained ones are "
     "delays without a known cause."},
    {"critical_path_crossing_time", "time between tasks", "ns", "critical_path",
     "The time between the two tasks of each dependency on the critical path, summed."},
    {"opportunity_free", "without it", "ns", "step_time",
     "The step time if a kind of work took no time. Lumos simulates this again instead of subtracting, so other "
     "bottlenecks count. A kind means the tasks on the GPU's streams."},
    {"straggler_free_path", "critical path without late ranks", "ns", NULL,
     "What would limit the steps if late ranks were as fast as similar ones. It is the critical path of that "
     "simulation, over all steps. Its parts are, by rank, cpu (threads), gpu (kernels and copies), communication, and "
     "other delays."},
    {"opportunity_half", "at half", "ns", "step_time",
     "The step time if a kind of work took half of its time, simulated again."},
    {"opportunity_change", "with the change", "ns", "step_time",
     "The step time with one change, simulated again. cuda_graphs: each pass of a micro-batch is launched as one "
     "CUDA graph. fused_kernels: neighboring elementwise and normalization kernels become one. What one writes and "
     "the next reads is not moved. fused_launches: the same where shapes are not recorded, so only launches and gaps "
     "are saved. faster_network: every link has twice the bandwidth and the same latency. no_straggler: each slow "
     "rank takes what similar ranks take at the median. overlapped_gradients: gradients are reduced beside the last "
     "backward pass, as far as they fit. moved_layers: layers move between pipeline stages so that their work is as "
     "even "
     "as whole layers allow. balanced_stages: each pipeline stage has as much work as the mean of all, where layers "
     "are "
     "unknown or none should move."},
    {"replay_error", "replay error", "share", "step_time",
     "How much longer than measured a simulated step is without any unexplained delay. Below 0 it is shorter. All "
     "residuals are dropped, and lags are typical everywhere. A value without a step is the mean size over the steps "
     "of all ranks. It checks the graph. It does not prove its predictions."},
    {"host_replay_error", "CPU replay error", "share", "step_time",
     "How much longer than measured the CPU side of a simulated step is without any unexplained delay. Below 0 it is "
     "shorter. The CPU side ends with the step's last CPU task. A value without a step is the mean size over the "
     "steps of all ranks."},
    {"rebuild_error", "rebuild error", "share", "step_time",
     "Lumos rebuilds the recorded configuration out of blocks of the recording and simulates it. This is how much "
     "longer than measured the job's steps are then. Below 0 they are shorter. It is averaged over the steps after "
     "the first. Each counts against the recorded step that most of its blocks come from. It is the error that "
     "rebuilding itself adds to a prediction of another configuration. A job that was changed before counts against "
     "its simulated steps."},
    {"prediction_error", "source of uncertainty", "share", "step_time",
     "How much one source of error may move the predicted step, as one standard deviation. Sources are independent, "
     "so their squares add up. The range of a predicted time is meant to hold the truth in 90 % of cases."},
    {"transplant_error", "cross-step error", "share", "step_time",
     "The error of predicting one step from another. Lumos simulates the graph of one step with the durations and "
     "CPU gaps of a similar step. It compares the result with that step's measured time. This says more than the "
     "replay error, because a delay of one step need not come again in another."},
    {"step_spread", "step-to-step variation", "share", "step_time",
     "How much the measured times of two similar steps differ. Where it is small, a small cross-step error says "
     "little."},
    {"transplant_matched", "tasks matched between steps", "share", "device_tasks",
     "The share of the kernels and copies of two similar steps that have a partner in the other step, by order and "
     "name. Steps are similar from 98 % on, if CPU tasks with a partner take 95 % of their threads' time."},
    {"unexplained_lag", "unexplained delay", "ns", "step_time",
     "Starts of kernels and copies over 2 \xC2\xB5s earlier or later than the rules of the graph explain, summed. "
     "Copied from the trace into the simulation, not modelled."},
    {"boundary", "waiting outside the recording", "ns", "step_time",
     "Waiting for work outside the recording. That work was launched before it, or in steps that are not shown. "
     "Where all of the GPU was idle without a known cause, it was elsewhere. Copied from the trace at its measured "
     "time."},
    {"resource_wait", "waiting for SMs", "ns", "step_time",
     "Kernels that are ready while a kernel of another stream fills the GPU. They start only when that kernel is "
     "about to end. Found from their start times. In the simulation they wait where that kernel runs."},
    {"kept_wait", "unjoined communication", "ns", "step_time",
     "Communication that is not joined with other ranks' (peer ranks missing). Its measured length, waiting "
     "included, is copied from the trace."},
    {"host_gap", "CPU gap", "ns", "step_time",
     "Time on threads without an event, such as Python between two ops. Copied from the trace."},
    {"host_unknown", "unexplained CPU time", "ns", "step_time",
     "CPU gaps over 1 ms that no hand-over between threads explains, and calls over five times the median of their "
     "name. Copied from the trace."},
    {"profiler_time", "profiler overhead", "ns", "step_time",
     "The most that the profiler takes between rows on the threads that drive the GPU, summed over threads. Around "
     "each "
     "op and after each call it is as long as the shortest gaps there typically are. What it takes within calls and "
     "ops "
     "is not known and not in it. Where steps were timed without the "
     "profiler, it is what they show at most. Simulations keep it, so a prediction includes the profiler unless "
     "--unprofiled removes it."},
    {"unprofiled_step_time", "step time without the profiler", "ns", NULL,
     "The mean time of steps just before the recorded ones, and as many, without the profiler. The recorder that "
     "comes with Lumos times them."},
    {"profiling_cost", "profiling overhead", "share", "unprofiled_step_time",
     "How much longer a step took with the profiler than without it. The recorder that comes with Lumos times as "
     "many steps just before, without it. All measured times contain this overhead."},
    {"device_time", "GPU time", "ns", NULL,
     "Durations of all kernels and copies of a step, summed over streams and ranks. Tasks that run at once count "
     "twice, and communication includes waiting. Times are as recorded. Of a changed job they are as simulated."},
    {"kind_time", "GPU time by kind", "ns", "device_time", "GPU time of all tasks of one kind."},
    {"kind_count", "tasks by kind", "tasks", NULL,
     "The number of kernels and copies of one kind in a step, on all ranks."},
    {"kernel_time", "GPU time by kernel", "ns", "device_time", "GPU time of all tasks of one name."},
    {"kernel_count", "tasks by kernel", "tasks", NULL,
     "The number of kernels and copies of one name in a step, on all ranks."},
    {"op_time", "GPU time by op", "ns", "device_time",
     "GPU time of what an op launched, by phase. Backward work counts for the op whose gradient it computes, found "
     "by autograd's sequence number."},
    {"op_coverage", "with an op", "share", "device_time", "The share of GPU time that belongs to an op."},
    {"module_time", "GPU time by module, itself", "ns", "device_time",
     "GPU time of what a module launched itself, by phase, without the modules in it. Over all modules it adds up to "
     "all GPU time."},
    {"module_whole_time", "GPU time by module", "ns", "device_time",
     "GPU time of what a module and all modules in it launched, by phase."},
    {"module_coverage", "with a module", "share", "device_time", "The share of GPU time that belongs to a module."},
    {"layer_time", "GPU time by layer", "ns", "device_time",
     "GPU time of a layer, or of the embedding, the head or the optimizer, by phase."},
    {"layer_coverage", "with a layer", "share", "device_time",
     "The share of GPU time that belongs to a layer, the embedding, the head or the optimizer."},
    {"phase_time", "GPU time by phase", "ns", "device_time", "GPU time of all tasks of one phase."},
    {"phase_coverage", "with a phase", "share", "device_time",
     "The share of GPU time known to belong to the forward or backward pass, to deferred weight gradients, or to the "
     "optimizer."},
    {"occupancy_time", "GPU time with an occupancy", "ns", "device_time",
     "GPU time of kernels whose occupancy the recording states. Profilers write 0 where they do not know it. Lumos "
     "counts that as unknown."},
    {"occupancy", "occupancy", "share", "occupancy_time",
     "Resident warps per SM as a share of the SM's capacity, as the profiler estimates it for each kernel. It is "
     "averaged over the time of kernels that have it."},
    {"product_time", "GPU time of matrix work", "ns", "device_time",
     "GPU time of matrix products, convolutions and attention, whose floating-point operations count."},
    {"product_coverage", "matrix work with known shapes", "share", "product_time",
     "The share of the time of matrix products, convolutions and attention whose operations are known from recorded "
     "shapes."},
    {"hardware_flops", "hardware FLOPs", "TFLOP", NULL,
     "Floating-point operations of the step's matrix products, convolutions and attention as they ran, recomputation "
     "included, on the recorded ranks. A multiplication and an addition are two. Attention is two products forward "
     "and five backward, half of them where it is causal (PyTorch's counter takes all)."},
    {"model_flops", "model FLOPs", "TFLOP", NULL,
     "Floating-point operations that the model's step needs, forward and backward, causal attention counted half. "
     "They come from recorded shapes of the ranks in the traces, without recomputation and the optimizer. Or a "
     "formula gives them from the description of the whole model: six per token and weight, plus attention."},
    {"peak_flops", "peak FLOPs", "TFLOP", NULL,
     "What the GPUs could do in the step's time at their dense peak, in the number format of most of the model's "
     "operations."},
    {"mfu", "MFU", "share", "peak_flops",
     "Model FLOPs utilization: the model's operations as a share of the peak. In the recording's first step it is "
     "too low where ranks begin at different times."},
    {"hfu", "HFU", "share", "peak_flops",
     "Hardware FLOPs utilization: all operations that ran, recomputation included, as a share of the peak."},
    {"flops_rate", "achieved FLOP/s", "TFLOP/s", NULL, "A kernel's floating-point operations divided by its time."},
    {"flops_share", "share of peak FLOP/s", "share", NULL,
     "A kernel's floating-point operations as a share of what the GPU could do in the kernel's time at the dense "
     "peak of its number format."},
    {"bytes_rate", "achieved bandwidth", "GB/s", NULL,
     "A kernel's inputs and outputs, each counted once, divided by its time. Caches may serve some of them."},
    {"bytes_share", "share of memory bandwidth", "share", NULL,
     "A kernel's inputs and outputs, each counted once, as a share of what the GPU's memory could move in the "
     "kernel's time."},
    {"copy_time", "time of copies", "ns", "device_time",
     "GPU time of copies and memsets of one name, which says the direction and the kind of memory."},
    {"copy_count", "copies", "count", NULL, "How many copies or memsets of one name a step has, on all ranks."},
    {"copy_bytes", "bytes copied", "bytes", NULL,
     "What the copies or memsets of one name move, each byte counted once."},
    {"copy_bandwidth", "copy bandwidth", "GB/s", NULL,
     "Bytes of the copies of one name divided by their time, in 10^9 bytes a second. Small copies stay far below the "
     "link's bandwidth. So do copies from pageable memory, which go through a buffer."},
    {"copy_link", "link bandwidth", "GB/s", NULL,
     "What the link can carry in one direction, by the data sheet. Between CPU and GPU that is PCIe or NVLink-C2C. "
     "Copies within the GPU read and write each byte, so they get half of its memory bandwidth. Memsets get all of "
     "it."},
    {"memory_peak", "peak memory", "bytes", NULL,
     "The most memory that a rank's training step has allocated at once, as PyTorch's allocator counts it. Lumos "
     "follows "
     "the recorded ops in their order: what each allocates, by its shapes and number formats, what autograd keeps for "
     "the backward pass, and when that is freed. What the allocator holds in reserve, the CUDA context and NCCL's "
     "buffers come on top."},
    {"memory_recorded_peak", "recorded peak memory", "bytes", NULL,
     "The most memory that PyTorch's allocator had given out for a rank's GPU in the recorded steps, by the trace's "
     "memory events. Record with profile_memory=True to have them."},
    {"memory_reserved_peak", "reserved peak memory", "bytes", NULL,
     "The most memory that PyTorch's allocator had taken from the driver for a rank's GPU in the recorded steps, by "
     "the "
     "trace's memory events. What is reserved but not allocated is kept for later, or lies in pieces."},
    {"memory_part", "part of the peak memory", "bytes", "memory_peak",
     "What the peak memory is made of. Parameters, gradients and the optimizer's state: by the gradients' shapes and "
     "the "
     "optimizer's ops. Activations: what forward passes keep for backward passes. Head: the same of the head and the "
     "loss, with what is at work there. Temporary: what ops use and free again. Libraries: the workspaces of cuBLAS."},
    {"memory_capacity", "memory of the GPU", "bytes", NULL, "As the recording says, or the data sheet after a change."},
    {"memory_micro_batch", "memory of a micro-batch", "bytes", NULL,
     "What the forward pass of one micro-batch keeps for its backward pass on a rank, head and loss included. The "
     "largest micro-batch counts."},
    {"memory_in_flight", "micro-batches in flight", "count", NULL,
     "The most micro-batches for which a rank keeps something at once."},
    {"call_time", "time in a call", "ns", NULL,
     "CPU time in calls of one name into the CUDA or HIP runtime or driver, added up over threads and ranks."},
    {"call_count", "calls", "count", NULL, "How many calls of one name a step has, on all ranks."},
    {"long_call_count", "long calls", "count", "call_count",
     "Calls that take more than 50 \xC2\xB5s. A launch takes a few. A long one waited for room in the queue, for a "
     "lock or for memory."},
    {"launched_count", "launched alone", "count", NULL,
     "Kernels and copies that calls of one name launched, one task each. Launches of graphs, with many tasks each, "
     "are left out."},
    {"short_kernel_count", "shorter than their launch", "count", "launched_count",
     "Kernels and copies that run for less time than the call that launched them takes. Calls over 50 \xC2\xB5s do "
     "not count. The GPU outruns the CPU: fuse them, or launch them as a CUDA graph."},
    {"call_median", "median of a call", "ns", NULL,
     "The median duration of the calls of one name over all steps that count and all ranks, the lower one of two."},
    {"call_p99", "99th percentile of a call", "ns", NULL,
     "The duration that 99 % of the calls of one name do not exceed, over all steps that count and all ranks."},
    {"annotation_cpu_time", "CPU time of an annotation", "ns", NULL,
     "From start to end of the program's own annotations of one name (record_function, NVTX), added up over ranks. "
     "An annotation in one of the same name counts once. Not known after a change."},
    {"annotation_gpu_time", "GPU time of an annotation", "ns", "device_time",
     "GPU time of what an annotation's thread launched between its start and end. Backward work that another thread "
     "launched in that time counts, too. Annotations lie in each other, so these do not add up."},
    {"annotation_count", "annotations", "count", NULL, "How many annotations of one name a step has, on all ranks."},
    {"coverage", "coverage", "share", "device_tasks",
     "The share of kernels and copies for which the recording names the call that launched them, or the op that made "
     "the call."},
    {"clock_offset", "clock offset", "ns", NULL,
     "Lumos adds this to all of a rank's times so that collectives end together on their ranks."},
    {"clock_error", "clock error", "ns", NULL,
     "95th percentile of the remaining differences between ranks' ends of collectives after the clocks are aligned."},
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
     "Time in which these types of kernels run at once, and no other. It is in percent of that of all combinations, "
     "rounded to 1 decimal. Copies and memsets are a type."},
    {"hta_kernel_type_time_no_memory", "HTA: time by kernel types, without memory", "us", NULL,
     "Time in which these types of kernels run at once, and no other, added up over ranks. Copies and memsets are left "
     "out."},
    {"hta_kernel_type_pctg_no_memory", "HTA: share of kernel types, without memory", "percent", NULL,
     "Time in which these types of kernels run at once, and no other. It is in percent of that of all combinations, "
     "rounded to 1 decimal. Copies and memsets are left out."},
    {"hta_kernel_sum", "HTA: kernel, sum", "us", NULL, "What the kernels of this name take together on this rank."},
    {"hta_kernel_max", "HTA: kernel, max", "us", NULL,
     "The longest kernel of this name on this rank. Where the type has more than 10 names, the largest of the names' "
     "sums."},
    {"hta_kernel_min", "HTA: kernel, min", "us", NULL,
     "The shortest kernel of this name on this rank. Where the type has more than 10 names, the smallest of the "
     "names' sums."},
    {"hta_kernel_mean", "HTA: kernel, mean", "us", NULL,
     "The mean of the kernels of this name on this rank. Where the type has more than 10 names, the mean of the "
     "names' sums."},
    {"hta_kernel_stddev", "HTA: kernel, stddev", "us", NULL,
     "The standard deviation of the kernels of this name on this rank, 0 of one. Where the type has more than 10 "
     "names, that of the names' sums."},
    {"hta_idle_breakdown_time", "HTA: idle time by cause", "us", NULL,
     "Gaps between one row of a stream and the next, added up by cause. host_wait: the launch came after the gap "
     "began. kernel_wait: another gap, below 30 \xC2\xB5s. other: all others."},
    {"hta_idle_breakdown_ratio", "HTA: idle time by cause, share", "share", NULL,
     "Gaps of this cause as a share of all gaps of the stream, rounded to 2 decimals. A gap is between one row of a "
     "stream and the next."},
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

/* Asked for every metric that is written: most rows differ in the first letter. */
static const struct lumos_metric_definition *find(const struct lumos_metric_definition *rows, size_t count,
                                                  const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (rows[i].name[0] == name[0] && strcmp(rows[i].name, name) == 0) {
      return &rows[i];
    }
  }
  return NULL;
}

const struct lumos_metric_definition *lumos_metric_definition(const char *name) {
  const struct lumos_metric_definition *found = find(definitions, DEFINITIONS, name);
  return found != NULL ? found : find(hta_definitions, HTA_DEFINITIONS, name);
}

const struct lumos_metric_definition *lumos_metric_definitions(size_t *count) {
  *count = DEFINITIONS;
  return definitions;
}

const struct lumos_metric_definition *lumos_hta_definitions(size_t *count) {
  *count = HTA_DEFINITIONS;
  return hta_definitions;
}
