/* The stream between the tools: JSON Lines, one record a line. This page is the contract.
 *
 * UTF-8; "type" comes first and then the fields in the order below (readers take any order); unknown fields follow the
 * known ones and are kept, inside of objects too (but not in the items of history and peers, nor in end); so are
 * records of unknown types. Times are integer nanoseconds that count from the header's epoch. Every number is below
 * 2^53 in size; anything larger is a string. Other numbers have at most 6 decimals, no exponent, no trailing zeros.
 * Unknown is absent, never null. T is a task's id and S a span's id (separate counters), "RANK:N", both parts decimal
 * without leading zeros, ordered as numbers, dense from 0 at parse, given once and never renumbered; a copy gets a new
 * N and `from`. `?` marks what may be absent; p g t s: the stage (parse, graph, transform, sim) that writes it.
 *
 *   lumos       format(1) stage epoch(string) history[{tool version args inputs[]}] edited?t
 *   rank        rank world? represents?t from?t parallel?g{tp pp dp cp ep: each optional} host? source? device?{name?
 *               sms? memory?} versions?{cuda? nccl? torch?} window[start,end] base base_lag?t coverage{events
 *               device_tasks launched opped before_recording crossing skipped repaired python? sync? graph_nodes?; g
 *               adds collectives joined} runtime_offset? runtime_doubt? unprofiled?{steps dur} hta?{steps? extent
 *               cut_extent? classes? rows?} profiler?g{before_op? after_op? after_call? least?} clock?g{device_offset
 *               offset drift_ppb error? evidence}
 *   group       id name? role?g size ranks?[number...]; "rank" comes after "id": the lowest rank that has it
 *   lane        rank lane kind native process? name? queue_depth?g      (native, process: strings, as recorded)
 *   span        id rank lane? kind name start dur parent? sequence? forward? shapes? dtypes? (shapes, dtypes: strings,
 *               as recorded)
 *   task        id rank lane seq kind name start? dur own_dur?g lag own_lag?g gap?g step? span? origin?g call?
 *               first_segment? launch_lag?g launch_from?g event?{op lane? id?} wait?{on lane? record? residual?g}
 *               comm?{op group? id? seq? peers?[{rank send recv}] bytes? dtype?} bytes? flops?s occupancy? phase?g
 *               micro_batch?g layer?g part?g residual?g end_residual?g from?t was?t dur_source?t dur_error?t
 *               common_error?t sim_start?s sim_dur?s
 *   dep         src? at? dst kind from to lag covers? evidence mode (g, t)
 *   collective  id("c:N") op rule group? root? members[T...] size bytes? transfer? transfer_error? common_error?t
 *               matched was? dur_source? wait?s waited_for?s algorithm_bandwidth?s bus_bandwidth?s label?s (g)
 *   model       layers? hidden? heads? kv_heads? head_dim? ffn? ffn_matrices? sequence? vocabulary? micro_batch?
 *               micro_batches? parallel?{tp? pp? dp? cp? ep?} recorded?t{ranks? layers? micro_batches? tp? pp? dp?
 *               cp? ep?} evidence?{of each of these, under its name: a text}; at most one (g)
 *   common_error id name sigma up? source (t)
 *   memory      rank device step t allocated reserved?
 *   pass        rank stage? step phase? micro_batch? chunk track start dur (t)
 *   metric      name value unit scope{rank? step? lane? kind? group? layer? task? stage? peer? op? module? name?
 *               phase?} source of? low? high? (g, s)
 *   note        code level text count? scope? cure?
 *   end         counts{type: lines of that type, the end line included}
 *
 * Order of lines: lumos; for every rank, ascending: rank, group, lane, span, task (threads first, by lane and seq);
 * then memory, dep, collective, model, common_error, pass, metric, note, unknown types, end. A reader wants lumos first
 * and end last and takes the rest in any order; only the order of memory, dep, pass, metric, note and unknown records
 * among themselves is kept.
 *
 * What a field means
 *   group.id         the recorded name, made unique as below; name: what else the recording calls it, its description.
 *   group.role       what the group is for: by its name where that says it, else by what its members do with it.
 *   rank.parallel    the rank's coordinates, each from 0 to below the size that the model record has of that axis. pp:
 *                    its pipeline stage, in the order in which a micro-batch goes forward. Present where at least one
 *                    is known.
 *   model            what is trained, as far as shapes show it or a file says so: of the whole model, shards of tensor
 *                    parallelism multiplied back. heads: of queries; kv_heads: of keys and values; ffn: the width
 *                    between the two products of a feed-forward block, ffn_matrices: its matrices, 2, or 3 with a gate;
 *                    sequence: tokens in one; micro_batch: sequences in one; micro_batches: of a replica in a step.
 *                    parallel: how many ranks along each axis, pp the number of pipeline stages. evidence is a text:
 *                    where the number comes from, such as names of groups, communication, shapes (then of which op), or
 *                    a file. recorded: of a rebuilt job, the configuration that it was built from, and its ranks.
 *   memory           what PyTorch's allocator holds of a GPU from t on, by "[memory]" events of a recording with
 *                    profile_memory: bytes given out, and bytes taken from the driver. t counts on the clock of the
 *                    CPU.
 *   pass             of a rebuilt job: what a stage (rank: its number in the recorded job) did in one recorded step,
 *                    for one phase of one micro-batch, without an interruption; without a phase, communication while no
 *                    pass ran. start counts from that of the step; chunk and track count from 0.
 *   rank.window      first and last instant of the recording; rank.base: start of the first selected step on this rank,
 *                    the latest end of the kernels and copies of the step before (see step times in sim.h).
 *   rank.base_lag    of a changed job: from the latest end, as measured, of what ran on the GPU before the first step
 *                    to base. The changed job's first step begins so long after their simulated end. Absent: there are
 *                    none (any more), and it begins at base.
 *   rank.runtime_offset  ns added to the runtime rows so that they nest in their ops; runtime_doubt: half the width, in
 *                    ns, of the interval of offsets that nest as well.
 *   rank.coverage    python, sync: events of Python functions and modules, kept or not, and of synchronization
 *                    (cuda_sync). graph_nodes: kernels and copies here that name the node of the graph that launched
 *                    them.
 *   rank.unprofiled  so many steps took so many ns without the profiler: timed by the recorder before it started.
 *   rank.hta         what HTA reads of the whole recording, whichever steps were chosen, in its whole microseconds: see
 *                    hta.h. Kept always, for it is about a hundredth of a stream, and nothing else that is here says
 *                    it: the raw times as doubles, the steps that were left out, the order of the file. steps: the
 *                    names of step marks, a line each. extent: from the first to the last start of all rows, us;
 *                    cut_extent: the same without the last step. classes: a line each, LETTER[h] STREAM NAME, LETTER
 *                    k(ernel) m(emory copy) (mem)s(et) o(ther), h: of the CPU. rows: those that name a stream, in the
 *                    order of the file, CLASS,DELTA,DUR[,LAG[,LAG]][~|!][^N][-|*N], with a blank between: the number
 *                    of its class; its start since that of the row before; how long it lasts; how long after its
 *                    launch it starts, and after the one that counts in the queue, where that is another; ~: none
 *                    counts; !: several do; ^N: that launch is in the file the Nth behind that of the last row that had
 *                    one, and not the next; -: it is of the last step; *N: without that it counts N times.
 *   rank.profiler    ns that recording takes on the CPU, at most: before an op's start, after its end, and after a
 *                    call's end. It lies in dur and lag of the tasks on threads, outside of the rows that it records.
 *                    least: the share of that which it takes at least, in millionths; absent: 0, for the rows alone
 *                    show no more. So what recording takes lies from least times these to these.
 *   rank.clock       job time of CPU rows = t + offset + drift_ppb * t / 1e9; of GPU rows = that + device_offset.
 *                    A drift is at most a tenth, 1e8.
 *   lumos.edited     how many changes transforms have made; 0: lumos-transform has seen the job, and changed nothing.
 *   lane.queue_depth  so many launches that have not started the stream holds: a call that makes one more returns when
 *                    one of them starts. Absent: never seen full.
 *   lane.lane        "t" + thread id ("p" + process + ".t" + thread id where thread ids repeat), "s" + stream ("d" +
 *                    device + ".s" + stream where a rank has several devices).
 *   task.seq         *the* order on the lane; gaps in the numbers are allowed. On a stream: the order of kernels
 *                    and copies as measured.
 *   task.lag         on a thread: all uncovered time since the previous task's end (0 on the first, which a boundary or
 *                    a hand-over holds at its measured start); on a stream: min(0, start - previous end).
 *   task.own_lag     of lag what is the thread's own, where a hand-over explains the rest; absent: all of it. own_dur:
 *                    the same of the dur of a call that a full queue blocked, or of an operator's piece that waited for
 *                    GPU work, which no row shows. Runs use these; what is explained they
 *                    find anew. dep.covers is the evidence: how much that edge explains in the recording; of
 *                    a resource, how long the task waited for SMs; of
 *                    a boundary in the middle of the recording, by how much longer than all else it held the start.
 *   task.origin      how a task comes to its stream (on streams, from graph on always): launched, by call;
 *                    before_recording; not_recorded, in a step, by a call that the trace lacks; free: no call launches
 *                    it, and with `call` it is on its stream when that task ends, without one from the beginning.
 *   task.gap         on a stream: typical time from the end of the previous task to the start of a task that waits for
 *                    it; added to lag (0 where lag is negative).
 *   task.step        number of the step mark; 0 where there are none; absent on work launched before the recording.
 *   task.call        the call that launched it: its last segment; absent as origin says. first_segment: on a call that
 *                    nested events cut into several segments, on its last segment: the first one. A call starts with
 *                    its first segment and ends with its last.
 *   task.launch_lag  start >= the call's end (launch_from "start": its start) + launch_lag.
 *   task.event       on calls that record an event or make a stream wait for one: the call's own stream and the event.
 *   task.wait        on a CPU call that waits: for the last task enqueued on `lane` (on stream), on every lane of the
 *                    rank (device), before the `record` call (event), or launched by the call itself (self). On a call
 *                    with event.op "wait" the *stream* event.lane waits, not the CPU, for what preceded `record`,
 *                    and what that stream waited for by then; there is no residual. residual: measured end -
 *                    max(measured start, awaited end), at least 0; absent while nothing awaited is known: then dur is
 *                    kept. A lane that graph found out for a wait has an inferred host_wait dep beside it, and goes
 *                    when graph's work is dropped.
 *   before           on the CPU, across threads: a launch, a record and a stream's wait take effect when their call
 *                    ends (a blocking copy, which waits on self, when it starts); a host wait looks when it starts.
 *                    What took effect no later than that instant came before.
 *   task.dur         of a waiting call: as measured, waiting included; with a residual the simulator replaces it.
 *   task.flops       of a matrix product, a convolution or attention: floating-point operations, from the recorded
 *                    shapes of its op.
 *   task.residual    signed: measured start minus what the rules explain; a run adds it, but takes no task into the
 *                    previous one on its stream (beyond lag) nor before its call. end_residual: of a collective's
 *                    member, the same for its end.
 *   common_error     an error that changed durations share: they are all too long together, or all too short. name says
 *                    of what, in plain words; sigma is relative, one standard deviation; up, of durations that have it,
 *                    the same of how much longer they may be, where that differs; source says where it comes from.
 *   task.dur_error   how wrong dur may be by itself, independent of all others: relative, one standard deviation.
 *                    common_error: the id of the one that it shares with others. Both absent: dur is as sure as what
 *                    was measured.
 *   collective.common_error  the same of transfer; its own error is transfer_error, in ns.
 *   dep.at           an instant on the clock of dst's row (raw, as dst.start). lag: from the end of src named by `from`
 *                    to the end of dst named by `to`.
 *   dep              what is not lane order, launch, or a run-time rule that the simulator finds again (host waits,
 *                    events): a boundary has `at`.
 *   comm.bytes, collective.bytes  the size of the operation as nccl-tests has it: of what a rank gives and what it gets
 *                    the larger, so that of an all-gather, a reduce-scatter or an all-to-all it is of the whole. Of
 *                    several sends and receives in one, the larger of both sums.
 *   collective.transfer  the time from the last member's start to the common end. Absent: cannot be split from waiting.
 *   collective.wait  on the simulated timeline, of all members together: from each one's start to the start of the last
 *                    one that it waits for, ns. waited_for: the number of the rank whose member started last.
 *                    algorithm_bandwidth: bytes / transfer, bus_bandwidth: that times the factor of nccl-tests for the
 *                    operation and its size; both in GB/s (10^9 bytes). label: what its members' time goes to, transfer
 *                    or arrival_skew (waiting), mixed, or inconclusive where clocks are not known to agree. Each is
 *                    absent where it is not known.
 *
 * Stages. Any tool takes the stream of any earlier stage and runs the missing ones. Graph and sim drop what they and
 * later stages had written; parse and transform keep their own and drop what later ones wrote. A note belongs to the
 * stage that its code begins with, a metric to sim. Graph refuses a job that a transform has edited. Transform drops
 * records of unknown types, with a note, when it changed anything.
 *
 * Several streams are joined: ranks of one job parsed apart. The same rank twice, another world size or an edited job
 * is refused, and, unless lumos-parse --rank said which ranks they are, another device, another NCCL, or a recording
 * more than a minute apart. Times are rebased to the earliest epoch, history entries that are equal but for inputs are
 * merged, groups are named anew (below), what only the whole job shows is noted anew (ranks that are missing,
 * recordings that lie apart all the same), and what graph and sim wrote is dropped. Parsing files together is parsing
 * them apart and joining, so the bytes are the same. Groups: recorded name, size, ranks. The same name with the same
 * size and ranks (or without any) is one group, under the lowest rank that has it, and the name is its id. Where one
 * name means several groups each gets the id NAME@LOWEST, LOWEST the lowest of its ranks (of those that have it, where
 * its ranks are not known), and #2, #3 and so on behind it where that is not unique. A job that is to be joined needs
 * no more than ids that are unique in it: groups are named anew from their ids, of which endings such as @0 or @0#2 are
 * not part of the name. Joined notes stand by rank, code and text, equal ones united and their counts added; joined
 * records of unknown types by their bytes.
 */
#ifndef LUMOS_STREAM_H
#define LUMOS_STREAM_H

#include <lumos/error.h>
#include <lumos/job.h>

struct lumos_input;
struct lumos_text;

enum { LUMOS_FORMAT_VERSION = 1 };

struct lumos_read_options {
  /* --edited: lines may stand in any order and counts may be wrong. References to records that are not there are
   * dropped, and with them what means nothing without: a task without its lane or rank, a dep without an end, a
   * collective without members, a metric of what is gone, a wait's residual. How much that was is said in a note
   * "parse.edited_stream". The end record must be there all the same. */
  bool edited;
  size_t threads;               /* 0: one for every core; more than one: a second one makes room for what is read */
  struct lumos_watcher watcher; /* hears of the reading */
};

/* Read one stream whole. `name` is for messages. NULL with an error (status LUMOS_UNUSABLE, naming line and cure) when:
 * the first record is not a header of a format that we know; a line is not a record; there is no `end` (the stream was
 * cut: a failed tool upstream, a full disk); counts, references or invariants disagree (unless options->edited).
 * O(bytes), one pass; memory: the job. */
struct lumos_job *lumos_stream_read(struct lumos_input *input, const char *name,
                                    const struct lumos_read_options *options,
                                    struct lumos_error *error) LUMOS_MUST_CHECK;

/* Do these first bytes (at least 64, or all there are) start a stream, rather than a trace? */
bool lumos_stream_recognised(const char *bytes, size_t length);

/* Write the job, which must be arranged, as a stream. Same job, same bytes. O(records); memory: the text's buffer, a
 * byte a string. */
void lumos_stream_write(const struct lumos_job *job, struct lumos_text *text);

/* Test every invariant of job.h and of this page: references within the arrays and of the right rank and kind, order,
 * partial presence, ranges, numbers below 2^53, collectives' members. The error names the record by its id.
 * O(records). */
bool lumos_job_check(const struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Join `count` jobs (at least 1) into one; takes and frees them all, also on failure. count 1 returns the job itself,
 * at its stage, arranged and its groups named. The result depends neither on the order of the jobs nor on whether some
 * were joined before. */
struct lumos_job *lumos_job_join(struct lumos_job **jobs, size_t count, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Open every path (none: standard input), read the streams, and join them when there are several. A Kineto trace among
 * them is refused; lumos_trace_open takes both. */
struct lumos_job *lumos_streams_open(const char *const *paths, size_t count, const struct lumos_read_options *options,
                                     struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
