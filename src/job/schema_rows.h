/* The rows. Field by field this is the schema of include/lumos/stream.h; a new field is a row. They stand in a header
 * so that the loops over them can be unrolled where lines are read and written by the million.
 */
#ifndef LUMOS_JOB_SCHEMA_ROWS_H
#define LUMOS_JOB_SCHEMA_ROWS_H

#include "job/schema.h"

/* The number of rows of a table. */
#define LUMOS_ROWS(array) (sizeof(array) / sizeof *(array))

#define KEY(name) .key = ",\"" name "\":", .length = sizeof(name) - 1
#define AT(type, member) .offset = offsetof(type, member)

/* name, kind of field, where it lies, and what else is true of it. */
#define TYPE \
  { KEY("type"), .kind = FIELD_TYPE, .required = true }
#define JOB(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_job, member), __VA_ARGS__ }
#define HISTORY(name, field, member, ...) \
  { KEY(name), .kind = field, .part = PART_HISTORY, AT(struct lumos_history, member), __VA_ARGS__ }
#define FOREIGN(name, field, member, ...) \
  { KEY(name), .kind = field, .part = PART_FOREIGN, AT(struct lumos_foreign, member), __VA_ARGS__ }
#define RANK(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_rank, member), __VA_ARGS__ }
#define GROUP(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_group, member), __VA_ARGS__ }
#define LANE(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_lane, member), __VA_ARGS__ }
#define SPAN(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_span, member), __VA_ARGS__ }
#define TASK(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_task, member), __VA_ARGS__ }
#define TIMING(name, field, member, ...) \
  { KEY(name), .kind = field, .part = PART_TIMING, AT(struct lumos_timing, member), __VA_ARGS__ }
#define RUN(name, field, member, ...) \
  { KEY(name), .kind = field, .part = PART_RUN, .by = LUMOS_STAGE_SIM, AT(struct lumos_run, member), __VA_ARGS__ }
#define DETAIL(name, field, member, ...) \
  { KEY(name), .kind = field, .part = PART_DETAIL, AT(struct lumos_detail, member), __VA_ARGS__ }
#define DEP(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_dep, member), __VA_ARGS__ }
#define COLLECTIVE(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_collective, member), __VA_ARGS__ }
#define MODEL(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_model_description, member), __VA_ARGS__ }
#define COMMON_ERROR(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_common_error, member), __VA_ARGS__ }
#define PASS(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_recorded_pass, member), __VA_ARGS__ }
#define MEMORY(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_memory_event, member), __VA_ARGS__ }
#define METRIC(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_metric, member), __VA_ARGS__ }
#define NOTE(name, field, member, ...) \
  { KEY(name), .kind = field, AT(struct lumos_note, member), __VA_ARGS__ }
#define BARE(name, field, ...) \
  { KEY(name), .kind = field, __VA_ARGS__ }
#define OBJECT(name, table, ...) \
  { KEY(name), .kind = FIELD_OBJECT, .members = (table), .member_count = LUMOS_ROWS(table), __VA_ARGS__ }
#define UNKNOWN(type, ...) \
  { .length = UINT8_MAX, .kind = FIELD_UNKNOWN, AT(type, unknown), __VA_ARGS__ }

#define REQUIRED .required = true
#define ZERO .least = LEAST_ZERO
#define ONE .least = LEAST_ONE
#define BY(stage) .by = LUMOS_STAGE_##stage
#define NAMED(table) .names = (&lumos_##table##_names)

static const struct lumos_field header_fields[] = {
    TYPE,
    BARE("format", FIELD_FORMAT, REQUIRED),
    JOB("stage", FIELD_STAGE, stage, REQUIRED, NAMED(stage)),
    JOB("epoch", FIELD_EPOCH, epoch, REQUIRED),
    BARE("history", FIELD_HISTORY, REQUIRED),
    JOB("edited", FIELD_SMALL, edited, ZERO),
    UNKNOWN(struct lumos_job),
};

static const struct lumos_field parallel_fields[] = {
    RANK("tp", FIELD_SMALL, parallel.tp, ZERO), RANK("pp", FIELD_SMALL, parallel.pp, ZERO),
    RANK("dp", FIELD_SMALL, parallel.dp, ZERO), RANK("cp", FIELD_SMALL, parallel.cp, ZERO),
    RANK("ep", FIELD_SMALL, parallel.ep, ZERO),
};
static const struct lumos_field device_fields[] = {
    RANK("name", FIELD_STRING, device_name),
    RANK("sms", FIELD_INTEGER, device_sms, ZERO),
    RANK("memory", FIELD_INTEGER, device_memory, ZERO),
};
static const struct lumos_field version_fields[] = {
    RANK("cuda", FIELD_STRING, cuda),
    RANK("hip", FIELD_STRING, hip),
    RANK("nccl", FIELD_STRING, nccl),
    RANK("torch", FIELD_STRING, torch),
};
static const struct lumos_field job_fields[] = {
    RANK("name", FIELD_STRING, job_name),
    RANK("version", FIELD_STRING, job_version),
    RANK("attempt", FIELD_STRING, job_attempt),
};
static const struct lumos_field coverage_fields[] = {
    RANK("events", FIELD_INTEGER, coverage.events, REQUIRED, ZERO),
    RANK("device_tasks", FIELD_INTEGER, coverage.device_tasks, REQUIRED, ZERO),
    RANK("launched", FIELD_INTEGER, coverage.launched, REQUIRED, ZERO),
    RANK("opped", FIELD_INTEGER, coverage.opped, REQUIRED, ZERO),
    RANK("before_recording", FIELD_INTEGER, coverage.before_recording, REQUIRED, ZERO),
    RANK("crossing", FIELD_INTEGER, coverage.crossing, REQUIRED, ZERO),
    RANK("skipped", FIELD_INTEGER, coverage.skipped, REQUIRED, ZERO),
    RANK("repaired", FIELD_INTEGER, coverage.repaired, REQUIRED, ZERO),
    RANK("python", FIELD_INTEGER, coverage.python, ZERO),
    RANK("sync", FIELD_INTEGER, coverage.sync, ZERO),
    RANK("graph_nodes", FIELD_INTEGER, coverage.graph_nodes, ZERO),
    RANK("collectives", FIELD_INTEGER, coverage.collectives, ZERO, BY(GRAPH)),
    RANK("joined", FIELD_INTEGER, coverage.joined, ZERO, BY(GRAPH)),
};
static const struct lumos_field clock_fields[] = {
    RANK("device_offset", FIELD_INTEGER, clock.device_offset, REQUIRED),
    RANK("offset", FIELD_INTEGER, clock.offset, REQUIRED),
    RANK("drift_ppb", FIELD_INTEGER, clock.drift_ppb, REQUIRED),
    RANK("error", FIELD_INTEGER, clock.error, ZERO),
    RANK("evidence", FIELD_NAME, clock.from_collectives, REQUIRED, NAMED(clock_evidence)),
};
static const struct lumos_field unprofiled_fields[] = {
    RANK("steps", FIELD_INTEGER, unprofiled_steps, REQUIRED, ONE),
    RANK("dur", FIELD_INTEGER, unprofiled_dur, REQUIRED, ONE),
};
static const struct lumos_field hta_fields[] = {
    RANK("steps", FIELD_STRING, hta.steps),
    RANK("extent", FIELD_INTEGER, hta.extent, REQUIRED, ZERO),
    RANK("cut_extent", FIELD_INTEGER, hta.cut_extent, ZERO),
    RANK("classes", FIELD_STRING, hta.classes),
    RANK("rows", FIELD_STRING, hta.rows),
};
static const struct lumos_field profiler_fields[] = {
    RANK("before_op", FIELD_INTEGER, profiler.before_op, ZERO),
    RANK("after_op", FIELD_INTEGER, profiler.after_op, ZERO),
    RANK("after_call", FIELD_INTEGER, profiler.after_call, ZERO),
    RANK("least", FIELD_MILLIONTHS, profiler.least, ZERO),
};
static const struct lumos_field rank_fields[] = {
    TYPE,
    RANK("rank", FIELD_SMALL, rank, REQUIRED, ZERO),
    RANK("world", FIELD_SMALL, world, ONE),
    RANK("represents", FIELD_SMALL, represents, ONE, BY(TRANSFORM)),
    RANK("from", FIELD_SMALL, from, ZERO, BY(TRANSFORM)),
    OBJECT("parallel", parallel_fields, BY(GRAPH), .flag = offsetof(struct lumos_rank, has_parallel)),
    RANK("host", FIELD_STRING, host),
    RANK("source", FIELD_STRING, source),
    OBJECT("device", device_fields),
    OBJECT("versions", version_fields),
    OBJECT("job", job_fields),
    RANK("window", FIELD_WINDOW, window_start, REQUIRED),
    RANK("base", FIELD_INSTANT, base, REQUIRED),
    RANK("base_lag", FIELD_INTEGER, base_lag, BY(TRANSFORM)),
    OBJECT("coverage", coverage_fields, REQUIRED),
    RANK("runtime_offset", FIELD_INTEGER, runtime_offset),
    RANK("runtime_doubt", FIELD_INTEGER, runtime_doubt, ZERO),
    OBJECT("unprofiled", unprofiled_fields),
    OBJECT("hta", hta_fields),
    OBJECT("profiler", profiler_fields, BY(GRAPH)),
    OBJECT("clock", clock_fields, BY(GRAPH), .flag = offsetof(struct lumos_rank, clock.known)),
    UNKNOWN(struct lumos_rank),
};

static const struct lumos_field group_fields[] = {
    TYPE,
    GROUP("id", FIELD_STRING, id, REQUIRED),
    BARE("rank", FIELD_RANK, REQUIRED),
    GROUP("name", FIELD_STRING, name),
    GROUP("role", FIELD_NAME, role, NAMED(role), BY(GRAPH)),
    GROUP("size", FIELD_SMALL, size, REQUIRED, ONE),
    GROUP("ranks", FIELD_RANKS, member_first),
    UNKNOWN(struct lumos_group),
};

static const struct lumos_field lane_fields[] = {
    TYPE,
    BARE("rank", FIELD_RANK, REQUIRED),
    LANE("lane", FIELD_STRING, lane, REQUIRED),
    LANE("kind", FIELD_NAME, kind, REQUIRED, NAMED(lane_kind)),
    LANE("native", FIELD_STRING, native, REQUIRED),
    LANE("process", FIELD_STRING, process),
    LANE("name", FIELD_STRING, name),
    LANE("queue_depth", FIELD_SMALL, queue_depth, ONE, BY(GRAPH)),
    UNKNOWN(struct lumos_lane),
};

static const struct lumos_field span_fields[] = {
    TYPE,
    SPAN("id", FIELD_ID, id, REQUIRED),
    BARE("rank", FIELD_RANK, REQUIRED),
    SPAN("lane", FIELD_LANE, lane),
    SPAN("kind", FIELD_NAME, kind, REQUIRED, NAMED(span_kind)),
    SPAN("name", FIELD_STRING, name, REQUIRED),
    SPAN("start", FIELD_INSTANT, start, REQUIRED),
    SPAN("dur", FIELD_INTEGER, dur, REQUIRED, ZERO),
    SPAN("parent", FIELD_SPAN, parent),
    SPAN("sequence", FIELD_INTEGER, sequence),
    SPAN("forward", FIELD_SPAN, forward),
    SPAN("shapes", FIELD_STRING, shapes),
    SPAN("dtypes", FIELD_STRING, dtypes),
    UNKNOWN(struct lumos_span),
};

static const struct lumos_field event_fields[] = {
    DETAIL("op", FIELD_NAME, event_op, REQUIRED, NAMED(event_op)),
    DETAIL("lane", FIELD_LANE, event_lane),
    DETAIL("id", FIELD_STRING, event_id),
};
static const struct lumos_field wait_fields[] = {
    DETAIL("on", FIELD_NAME, wait.on, REQUIRED, NAMED(wait_on)),
    DETAIL("lane", FIELD_LANE, wait.lane),
    DETAIL("record", FIELD_TASK, wait.record),
    DETAIL("residual", FIELD_INTEGER, wait.residual, ZERO, BY(GRAPH)),
};
static const struct lumos_field comm_fields[] = {
    DETAIL("op", FIELD_STRING, comm.op, REQUIRED), DETAIL("group", FIELD_GROUP, comm.group),
    DETAIL("id", FIELD_STRING, comm.id),           DETAIL("seq", FIELD_INTEGER, comm.seq),
    DETAIL("peers", FIELD_PEERS, comm.peer_first), DETAIL("bytes", FIELD_INTEGER, comm.bytes, ZERO),
    DETAIL("dtype", FIELD_STRING, comm.dtype),
};
static const struct lumos_field task_fields[] = {
    TYPE,
    TASK("id", FIELD_ID, id, REQUIRED),
    BARE("rank", FIELD_RANK, REQUIRED),
    TASK("lane", FIELD_LANE, lane, REQUIRED),
    TASK("seq", FIELD_ORDINAL, seq, REQUIRED),
    TASK("kind", FIELD_NAME, kind, REQUIRED, NAMED(task_kind)),
    TASK("name", FIELD_STRING, name, REQUIRED),
    TASK("start", FIELD_INSTANT, start),
    TASK("dur", FIELD_INTEGER, dur, REQUIRED, ZERO),
    DETAIL("own_dur", FIELD_INTEGER, own_dur, ZERO, BY(GRAPH)),
    TASK("lag", FIELD_INTEGER, lag, REQUIRED),
    DETAIL("own_lag", FIELD_INTEGER, own_lag, ZERO, BY(GRAPH)),
    TIMING("gap", FIELD_INTEGER, gap, BY(GRAPH)),
    TASK("step", FIELD_SMALL, step, ZERO),
    TASK("span", FIELD_SPAN, span),
    TIMING("origin", FIELD_NAME, origin, NAMED(task_origin), BY(GRAPH)),
    TASK("call", FIELD_TASK, call),
    DETAIL("first_segment", FIELD_TASK, first_segment),
    TIMING("launch_lag", FIELD_INTEGER, launch_lag, BY(GRAPH)),
    TIMING("launch_from", FIELD_NAME, launch_from, NAMED(end), BY(GRAPH)),
    OBJECT("event", event_fields, .part = PART_DETAIL),
    OBJECT("wait", wait_fields, .part = PART_DETAIL),
    OBJECT("comm", comm_fields, .part = PART_DETAIL),
    DETAIL("bytes", FIELD_INTEGER, bytes, ZERO),
    TIMING("flops", FIELD_INTEGER, flops, ZERO, BY(SIM)),
    TIMING("occupancy", FIELD_MILLIONTHS, occupancy, ZERO),
    TASK("phase", FIELD_NAME, phase, NAMED(phase), BY(GRAPH)),
    TASK("micro_batch", FIELD_SMALL, micro_batch, ZERO, BY(GRAPH)),
    TASK("layer", FIELD_SMALL, layer, ZERO, BY(GRAPH)),
    TASK("part", FIELD_NAME, part, NAMED(part), BY(GRAPH)),
    TIMING("residual", FIELD_INTEGER, residual, BY(GRAPH)),
    TIMING("end_residual", FIELD_INTEGER, end_residual, BY(GRAPH)),
    TASK("from", FIELD_ORIGIN, from_rank, BY(TRANSFORM)),
    DETAIL("was", FIELD_INTEGER, was, ZERO, BY(TRANSFORM)),
    TASK("dur_source", FIELD_NAME, dur_source, NAMED(dur_source), BY(TRANSFORM)),
    DETAIL("dur_error", FIELD_DECIMAL, dur_error, ZERO, BY(TRANSFORM)),
    DETAIL("common_error", FIELD_COMMON_ERROR, common_error, BY(TRANSFORM)),
    RUN("sim_start", FIELD_INTEGER, start),
    RUN("sim_dur", FIELD_INTEGER, dur, ZERO),
    UNKNOWN(struct lumos_detail, .part = PART_DETAIL),
};

static const struct lumos_field dep_fields[] = {
    TYPE,
    DEP("src", FIELD_ANY_TASK, src),
    DEP("at", FIELD_INSTANT, at),
    DEP("dst", FIELD_ANY_TASK, dst, REQUIRED),
    DEP("kind", FIELD_NAME, kind, REQUIRED, NAMED(dep_kind)),
    DEP("from", FIELD_NAME, from, REQUIRED, NAMED(end)),
    DEP("to", FIELD_NAME, to, REQUIRED, NAMED(end)),
    DEP("lag", FIELD_INTEGER, lag, REQUIRED),
    DEP("covers", FIELD_INTEGER, covers, ZERO),
    DEP("evidence", FIELD_NAME, evidence, REQUIRED, NAMED(evidence)),
    DEP("mode", FIELD_NAME, mode, REQUIRED, NAMED(mode)),
    UNKNOWN(struct lumos_dep),
};

static const struct lumos_field collective_fields[] = {
    TYPE,
    COLLECTIVE("id", FIELD_COLLECTIVE_ID, id, REQUIRED),
    COLLECTIVE("op", FIELD_STRING, op, REQUIRED),
    COLLECTIVE("rule", FIELD_NAME, rule, REQUIRED, NAMED(rule)),
    COLLECTIVE("group", FIELD_GROUP, group),
    COLLECTIVE("root", FIELD_SMALL, root, ZERO),
    COLLECTIVE("members", FIELD_MEMBERS, member_first, REQUIRED),
    COLLECTIVE("size", FIELD_SMALL, size, REQUIRED, ONE),
    COLLECTIVE("bytes", FIELD_INTEGER, bytes, ZERO),
    COLLECTIVE("transfer", FIELD_INTEGER, transfer, ZERO),
    COLLECTIVE("transfer_error", FIELD_INTEGER, transfer_error, ZERO),
    COLLECTIVE("common_error", FIELD_COMMON_ERROR, common_error, BY(TRANSFORM)),
    COLLECTIVE("matched", FIELD_NAME, matched, REQUIRED, NAMED(matched)),
    COLLECTIVE("was", FIELD_INTEGER, was, ZERO, BY(TRANSFORM)),
    COLLECTIVE("dur_source", FIELD_NAME, dur_source, NAMED(dur_source), BY(TRANSFORM)),
    COLLECTIVE("wait", FIELD_INTEGER, wait, ZERO, BY(SIM)),
    COLLECTIVE("waited_for", FIELD_SMALL, waited_for, ZERO, BY(SIM)),
    COLLECTIVE("algorithm_bandwidth", FIELD_DECIMAL, algorithm_bandwidth, BY(SIM)),
    COLLECTIVE("bus_bandwidth", FIELD_DECIMAL, bus_bandwidth, BY(SIM)),
    COLLECTIVE("label", FIELD_NAME, label, NAMED(label), BY(SIM)),
    UNKNOWN(struct lumos_collective),
};

static const struct lumos_field model_size_fields[] = {
    MODEL("tp", FIELD_SMALL, sizes.tp, ONE), MODEL("pp", FIELD_SMALL, sizes.pp, ONE),
    MODEL("dp", FIELD_SMALL, sizes.dp, ONE), MODEL("cp", FIELD_SMALL, sizes.cp, ONE),
    MODEL("ep", FIELD_SMALL, sizes.ep, ONE),
};
static const struct lumos_field recorded_fields[] = {
    MODEL("ranks", FIELD_SMALL, recorded.ranks, ONE),
    MODEL("layers", FIELD_SMALL, recorded.layers, ONE),
    MODEL("micro_batches", FIELD_SMALL, recorded.micro_batches, ONE),
    MODEL("tp", FIELD_SMALL, recorded.sizes.tp, ONE),
    MODEL("pp", FIELD_SMALL, recorded.sizes.pp, ONE),
    MODEL("dp", FIELD_SMALL, recorded.sizes.dp, ONE),
    MODEL("cp", FIELD_SMALL, recorded.sizes.cp, ONE),
    MODEL("ep", FIELD_SMALL, recorded.sizes.ep, ONE),
};
static const struct lumos_field model_evidence_fields[] = {
    MODEL("layers", FIELD_STRING, evidence.layers),
    MODEL("hidden", FIELD_STRING, evidence.hidden),
    MODEL("heads", FIELD_STRING, evidence.heads),
    MODEL("kv_heads", FIELD_STRING, evidence.kv_heads),
    MODEL("head_dim", FIELD_STRING, evidence.head_dim),
    MODEL("ffn", FIELD_STRING, evidence.ffn),
    MODEL("ffn_matrices", FIELD_STRING, evidence.ffn_matrices),
    MODEL("sequence", FIELD_STRING, evidence.sequence),
    MODEL("vocabulary", FIELD_STRING, evidence.vocabulary),
    MODEL("micro_batch", FIELD_STRING, evidence.micro_batch),
    MODEL("micro_batches", FIELD_STRING, evidence.micro_batches),
    MODEL("tp", FIELD_STRING, evidence.tp),
    MODEL("pp", FIELD_STRING, evidence.pp),
    MODEL("dp", FIELD_STRING, evidence.dp),
    MODEL("cp", FIELD_STRING, evidence.cp),
    MODEL("ep", FIELD_STRING, evidence.ep),
};
static const struct lumos_field model_fields[] = {
    TYPE,
    MODEL("layers", FIELD_SMALL, layers, ONE),
    MODEL("hidden", FIELD_SMALL, hidden, ONE),
    MODEL("heads", FIELD_SMALL, heads, ONE),
    MODEL("kv_heads", FIELD_SMALL, kv_heads, ONE),
    MODEL("head_dim", FIELD_SMALL, head_dim, ONE),
    MODEL("ffn", FIELD_SMALL, ffn, ONE),
    MODEL("ffn_matrices", FIELD_SMALL, ffn_matrices, ONE),
    MODEL("sequence", FIELD_SMALL, sequence, ONE),
    MODEL("vocabulary", FIELD_SMALL, vocabulary, ONE),
    MODEL("micro_batch", FIELD_SMALL, micro_batch, ONE),
    MODEL("micro_batches", FIELD_SMALL, micro_batches, ONE),
    OBJECT("parallel", model_size_fields),
    MODEL("bucket_bytes", FIELD_INTEGER, bucket_bytes, ONE, BY(TRANSFORM)),
    OBJECT("recorded", recorded_fields, BY(TRANSFORM)),
    OBJECT("evidence", model_evidence_fields),
    UNKNOWN(struct lumos_model_description),
};

static const struct lumos_field common_error_fields[] = {
    TYPE,
    COMMON_ERROR("id", FIELD_STRING, id, REQUIRED),
    COMMON_ERROR("name", FIELD_STRING, name, REQUIRED),
    COMMON_ERROR("sigma", FIELD_DECIMAL, sigma, REQUIRED, ZERO),
    COMMON_ERROR("up", FIELD_DECIMAL, up, ZERO),
    COMMON_ERROR("source", FIELD_STRING, source, REQUIRED),
    UNKNOWN(struct lumos_common_error),
};

static const struct lumos_field memory_fields[] = {
    TYPE,
    MEMORY("rank", FIELD_SMALL, rank, REQUIRED, ZERO),
    MEMORY("device", FIELD_SMALL, device, REQUIRED, ZERO),
    MEMORY("step", FIELD_SMALL, step, REQUIRED, ZERO),
    MEMORY("t", FIELD_INSTANT, t, REQUIRED),
    MEMORY("allocated", FIELD_INTEGER, allocated, REQUIRED, ZERO),
    MEMORY("reserved", FIELD_INTEGER, reserved, ZERO),
    UNKNOWN(struct lumos_memory_event),
};

static const struct lumos_field pass_fields[] = {
    TYPE,
    PASS("rank", FIELD_SMALL, rank, REQUIRED, ZERO),
    PASS("stage", FIELD_SMALL, stage, ZERO),
    PASS("step", FIELD_SMALL, step, REQUIRED, ZERO),
    PASS("phase", FIELD_NAME, phase, NAMED(phase)),
    PASS("micro_batch", FIELD_SMALL, micro_batch, ZERO),
    PASS("chunk", FIELD_SMALL, chunk, REQUIRED, ZERO),
    PASS("track", FIELD_SMALL, track, REQUIRED, ZERO),
    PASS("start", FIELD_INTEGER, start, REQUIRED, ZERO),
    PASS("dur", FIELD_INTEGER, dur, REQUIRED, ZERO),
    UNKNOWN(struct lumos_recorded_pass),
};

static const struct lumos_field metric_scope_fields[] = {
    METRIC("rank", FIELD_SMALL, scope.rank, ZERO),
    METRIC("step", FIELD_SMALL, scope.step, ZERO),
    METRIC("lane", FIELD_LANE, scope.lane),
    METRIC("kind", FIELD_STRING, scope.kind),
    METRIC("group", FIELD_GROUP, scope.group),
    METRIC("layer", FIELD_SMALL, scope.layer, ZERO),
    METRIC("task", FIELD_ANY_TASK, scope.task),
    METRIC("stage", FIELD_SMALL, scope.stage, ZERO),
    METRIC("peer", FIELD_SMALL, scope.peer, ZERO),
    METRIC("op", FIELD_STRING, scope.op),
    METRIC("module", FIELD_STRING, scope.module),
    METRIC("name", FIELD_STRING, scope.name),
    METRIC("phase", FIELD_NAME, scope.phase, NAMED(phase)),
};
static const struct lumos_field metric_fields[] = {
    TYPE,
    METRIC("name", FIELD_STRING, name, REQUIRED),
    METRIC("value", FIELD_DECIMAL, value, REQUIRED),
    METRIC("unit", FIELD_STRING, unit, REQUIRED),
    OBJECT("scope", metric_scope_fields, REQUIRED),
    METRIC("source", FIELD_NAME, source, REQUIRED, NAMED(source)),
    METRIC("of", FIELD_STRING, of),
    METRIC("low", FIELD_DECIMAL, low),
    METRIC("high", FIELD_DECIMAL, high),
    UNKNOWN(struct lumos_metric),
};

static const struct lumos_field note_scope_fields[] = {
    NOTE("rank", FIELD_SMALL, scope.rank, ZERO), NOTE("step", FIELD_SMALL, scope.step, ZERO),
    NOTE("lane", FIELD_LANE, scope.lane),        NOTE("kind", FIELD_STRING, scope.kind),
    NOTE("group", FIELD_GROUP, scope.group),     NOTE("layer", FIELD_SMALL, scope.layer, ZERO),
    NOTE("task", FIELD_ANY_TASK, scope.task),
};
static const struct lumos_field note_fields[] = {
    TYPE,
    NOTE("code", FIELD_STRING, code, REQUIRED),
    NOTE("level", FIELD_NAME, level, REQUIRED, NAMED(level)),
    NOTE("text", FIELD_STRING, text, REQUIRED),
    NOTE("count", FIELD_INTEGER, count, ZERO),
    OBJECT("scope", note_scope_fields),
    NOTE("cure", FIELD_STRING, cure),
    UNKNOWN(struct lumos_note),
};

static const struct lumos_field end_fields[] = {
    TYPE,
    BARE("counts", FIELD_COUNTS, REQUIRED),
};

/* Links. */
static const struct lumos_field header_links[] = {
    HISTORY("tool", FIELD_STRING, tool),
    HISTORY("version", FIELD_STRING, version),
    HISTORY("args", FIELD_STRING, args),
    HISTORY("inputs", LINK_INPUTS, input_first),
    BARE("input", FIELD_STRING, .part = PART_INPUTS),
    FOREIGN("type", FIELD_STRING, type),
    FOREIGN("line", FIELD_STRING, line),
};
static const struct lumos_field group_links[] = {GROUP("rank", LINK_RANK, rank, REQUIRED)};
static const struct lumos_field lane_links[] = {LANE("rank", LINK_RANK, rank, REQUIRED)};
static const struct lumos_field span_links[] = {SPAN("rank", LINK_RANK, rank, REQUIRED)};
static const struct lumos_field task_links[] = {TASK("detail", LINK_DETAIL, detail),
                                                TASK("timing", LINK_TIMING, timing)};

#undef KEY
#undef AT
#undef TYPE
#undef JOB
#undef HISTORY
#undef FOREIGN
#undef RANK
#undef GROUP
#undef LANE
#undef SPAN
#undef TASK
#undef TIMING
#undef RUN
#undef DETAIL
#undef DEP
#undef COLLECTIVE
#undef MODEL
#undef COMMON_ERROR
#undef MEMORY
#undef METRIC
#undef NOTE
#undef BARE
#undef OBJECT
#undef UNKNOWN
#undef REQUIRED
#undef ZERO
#undef ONE
#undef BY
#undef NAMED

/* Unroll the loop over a table of rows whole. */
#if defined __clang__
#define LUMOS_EVERY_ROW _Pragma("clang loop unroll(full)")
#else
#define LUMOS_EVERY_ROW _Pragma("GCC unroll 64")
#endif

#endif
