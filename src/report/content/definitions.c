/* The glossary, from the whole to the parts. */
#include "report/content/definitions.h"

#include <string.h>

static const struct report_definition definitions[] = {
    {"measured", "measured", "What the recording says happened. Times are the profiler's, so its own cost is in them."},
    {"simulated", "simulated",
     "What the simulator makes of the execution graph: every task starts when all it depends on is done and its lane "
     "is free. After a change, it is the prediction, of the job as it runs with the profiler unless that was taken "
     "out."},
    {"step", "step",
     "One training iteration, as the profiler marks it. On a rank step k ends with its last GPU task and begins where "
     "step k-1 ended. The job's step ends with its last rank's."},
    {"step_time", "step time",
     "From the end of the step before to the end of this step's last GPU task. After a change the first step, where "
     "there "
     "are others, counts in no mean, share or sum: it begins with what the unchanged job had left to do."},
    {"exposed_compute", "compute", "A compute kernel runs on some stream and no communication does."},
    {"overlapped", "overlapped", "Compute and communication run at once: the communication costs nothing by itself."},
    {"exposed_communication", "exposed communication",
     "Communication runs and no compute does. It is transfer, waiting and what cannot be split, added up."},
    {"transfer", "transfer",
     "Communication after the last rank has arrived: the collective's shortest member. Data move."},
    {"wait", "waiting",
     "A communication kernel runs because other ranks have not arrived yet. Only collectives joined across ranks show "
     "it."},
    {"unsplit", "not split",
     "Communication whose other ranks are not in the traces or could not be joined: transfer and waiting together."},
    {"exposed_copy", "exposed copies", "A copy or memset runs, and neither compute nor communication does."},
    {"idle", "idle", "Nothing runs on any stream of the rank's GPU."},
    {"gpu_busy", "GPU busy", "At least one task runs on some stream; 100 % less idle."},
    {"replay_error", "self-replay error",
     "How far the simulated step is from the measured one when no lag that lacks an explanation is kept: every "
     "residual dropped, typical lags everywhere. A check of the graph, not a proof of its predictions."},
    {"host_replay_error", "host replay error",
     "The same for the host's side of the step, which ends with the step's last host task."},
    {"transplant_error", "transplant error",
     "How far the graph of one step is from the measured time of a like one, when it is simulated with that one's "
     "durations and host gaps and keeps its own edges and lags. It says more than the self-replay, for what a lag "
     "hides "
     "need not come again."},
    {"step_spread", "step spread",
     "How far the measured times of those steps are apart: the error of a guess that takes one step's time for the "
     "other's. Where it is small a small transplant error says little."},
    {"transplant_matched", "steps matched",
     "Share of the GPU tasks of two like steps that have a partner in the other one, by their order and names. Steps "
     "count as alike from 98 % on."},
    {"unexplained_lag", "unexplained lag",
     "Starts of GPU tasks that come more than 2 \xC2\xB5s earlier or later than the rules explain, added up. Kept in "
     "the simulation."},
    {"boundary", "boundary",
     "Waiting for what the recording does not hold: work before it began, steps that are not shown, or, where all of "
     "the GPU was idle and nothing explains it, work elsewhere. It enters the simulation at its measured time."},
    {"resource_wait", "waiting for SMs",
     "Kernels that are ready but start only when a kernel of another stream, which fills the GPU, comes to its end; "
     "found from when they start. In the simulation they wait where that one runs."},
    {"kept_wait", "kept waiting",
     "Communication that is not joined with that of other ranks: its measured length is kept, waiting included."},
    {"host_gap", "host gap",
     "Time on threads that no event covers, such as Python between two ops. A replay keeps it as it is."},
    {"host_unknown", "host unknown",
     "Host gaps over 1 ms that no hand-over between threads explains, and calls over five times the median of their "
     "name. Kept as they are."},
    {"profiler_time", "profiler",
     "What recording takes on the threads that drive the GPU, at least: before and behind each op and behind each call "
     "as long as the shortest stretches there typically are. Simulations keep it, also when the host's speed is "
     "changed, so a prediction is of the job as it runs with the profiler, unless --unprofiled took it out. Added up "
     "over threads."},
    {"phase", "phase",
     "What a task does for the model: forward, backward, weight gradients where they are computed apart, or the "
     "optimizer. Recovered from spans, from the sequence numbers of ops, or from what repeats."},
    {"micro_batch", "micro-batch",
     "The samples that go through the model at once; a step has one or several, which are numbered from 0."},
    {"pass", "pass",
     "What a rank computes of one phase of one micro-batch, on one chunk of its layers. It lasts from the first start "
     "to the last end of its kernels, communication within it included; where another pass or a wait interrupts it, "
     "in parts."},
    {"weight", "weight gradient",
     "The part of the backward pass that computes gradients of weights, where a schedule does it later than the rest."},
    {"stage", "stage",
     "The ranks of a pipeline that hold the same layers. They are numbered in the order of the forward pass."},
    {"chunk", "chunk", "Layers of a stage that follow one another; with an interleaved schedule a stage has several."},
    {"schedule", "schedule",
     "The order of a stage\xE2\x80\x99s passes. GPipe: all forward, then all backward. 1F1B: stage s of p runs p - 1 - "
     "s "
     "forward passes ahead, then one forward and one backward by turns. Interleaved: the same over several chunks. "
     "Zero bubble: 1F1B with weight gradients apart. It has a name here when all shown stages keep to it pass by "
     "pass."},
    {"exchange", "exposed communication of a stage",
     "Communication among ranks of one stage while no pass runs, such as sums of gradients."},
    {"no_pass", "work of no pass",
     "Work on a stream of passes that was not recognised as part of one, while none runs."},
    {"bubble", "bubble",
     "Time of a step in which a stage has nothing to run: it waits for another stage, for what comes from there, or "
     "for its own host. With passes of equal length and nothing else the share is (p - 1) / (m + p - 1) for p stages "
     "and m micro-batches, and with v chunks a stage (p - 1) / (v m + p - 1)."},
    {"layer", "layer", "A block that repeats through the model, numbered from 0 over all stages."},
    {"binding", "binding constraint",
     "Of all that a task must wait for, what allowed it last: the call that launches it, the task before it on its "
     "lane, an "
     "event, the work that a call waits for, the last rank of a collective. Without it the task had started, or ended, "
     "earlier."},
    {"chain", "chain",
     "The binding constraints of a step, followed back in the simulated timeline from the step's end to its start, "
     "through "
     "ranks, threads and streams. What its tasks run and the lags between them add up to the step."},
    {"neighbour", "neighbour",
     "A constraint on a task of the chain that did not bind: it would have, had it come later by its slack."},
    {"slack", "slack", "How much later a constraint may come before it binds."},
    {"lag", "lag",
     "Time between what bound and the start or end of what it held: on a thread host time without an event, on a "
     "stream "
     "the gap after the work before it, after a call the launch, after a wait its return."},
    {"evidence", "evidence",
     "How a constraint is known. Recorded: the trace names it, or it is the order on a thread or stream. Ordered: it "
     "follows "
     "from the order of calls. Inferred: concluded from times. Unexplained: most of the delay is more than any rule "
     "allows."},
    {"profiling_cost", "profiling cost",
     "How much longer a step took with the profiler than as many steps just before it, which the recorder that comes "
     "with Lumos timed without. All measured times contain it."},
    {"coverage", "coverage",
     "Share of the GPU tasks for which the recording names the call that launched them, or the op that made the call."},
    {"rank", "rank",
     "One process of the job, with one GPU. Its number comes from the trace, else from the file's name."},
    {"lane", "lane", "A host thread or a GPU stream: tasks on it run one after another."},
    {"task", "task",
     "A piece of work on a lane: a kernel, copy or memset on a stream; a call, or a stretch of an op in which nothing "
     "else runs, on a thread."},
    {"kind", "kind",
     "What a task does, told by its category, its name and the op that launched it. Each kind has one colour."},
    {"op", "op",
     "An operation of the framework on the host, such as aten::mm. Work counts for the innermost op around it."},
    {"self_time", "self time",
     "Time of the op's own segments and of the calls that it makes, without the ops inside it."},
    {"gpu_time", "GPU time", "Durations of kernels, copies and memsets, added up. What runs at once counts twice."},
    {"joined", "joined",
     "Communication kernels that were recognised as one collective on several ranks, by what the recording names."},
    {"split", "split",
     "Kernels of joined collectives whose transfer is known, so that the rest of their time is waiting."},
    {"recorded", "recorded",
     "From the first to the last instant of the rank's recording, steps that are not shown included."},
    {"before_recording", "launched before",
     "GPU tasks whose launch was before the recording began, so that no call is known."},
    {"crossing", "crossing",
     "Host events that cross another one's edge where they should nest; they were cut to nest."},
    {"repaired", "repaired", "Events whose fields were wrong in a way that could be put right."},
    {"skipped", "skipped", "Events that could not be used at all."},
    {"collective", "collectives", "Communication kernels: those of collective operations, and of sends and receives."},
    {"runtime_clock", "clock of calls",
     "What was added to the times of CUDA or HIP calls so that they lie within the ops that make them; doubt: by how "
     "much less or more they would still do so."},
    {"gpu_clock", "GPU clock",
     "What was added to the GPU's times so that no kernel starts before its launch and no wait returns before its work "
     "is done."},
    {"rank_clock", "rank clock",
     "What was added to all of the rank's times so that collectives end together on their ranks; the error is the 95th "
     "percentile of what remains."},
};
enum { DEFINITIONS = sizeof definitions / sizeof definitions[0] };

const struct report_definition *report_definition(const char *key) {
  for (size_t i = 0; i < DEFINITIONS; i++) {
    if (strcmp(definitions[i].key, key) == 0) {
      return &definitions[i];
    }
  }
  return NULL;
}

void report_fill_definitions(struct report_scope *scope) {
  for (size_t i = 0; i < DEFINITIONS; i++) {
    struct report_scope *item = report_section_item(scope, "definitions");
    report_set_text(item, "key", definitions[i].key);
    report_set_text(item, "name", definitions[i].name);
    report_set_text(item, "text", definitions[i].text);
  }
}
