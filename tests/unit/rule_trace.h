/* The rules of the graph from end to end: a hand-made trace is parsed, its graph built and simulated, and all of it
 * written as lines, to be compared with what was worked out by hand. So a test lists every edge, lag and time, and one
 * that should not be there fails it like one that is missing.
 *
 * Times in traces and lines are microseconds. Calls that share a name are told apart by when they start: NAME@START.
 * With several ranks the rank stands before it: 1/NAME.
 */
#ifndef LUMOS_TESTS_RULE_TRACE_H
#define LUMOS_TESTS_RULE_TRACE_H

#include "trace_text.h"

#include <lumos/graph.h>
#include <lumos/path.h>
#include <lumos/sim.h>
#include <lumos/transform.h>

/* --- Rows of a trace --- */

#define OP_ON(thread, name, ts, dur) EVENT("cpu_op", name, thread, ts, dur, "")
#define CALL_ON(thread, name, correlation, ts, dur) \
  EVENT("cuda_runtime", name, thread, ts, dur, "\"correlation\":" #correlation)
#define LAUNCH(thread, correlation, ts, dur) CALL_ON(thread, "cudaLaunchKernel", correlation, ts, dur)
#define ON_DEVICE(category, name, stream, correlation, ts, dur, more)                                      \
  "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":0,\"tid\":" #stream ",\"ts\":" #ts \
  ",\"dur\":" #dur ",\"args\":{\"device\":0,\"stream\":" #stream ",\"correlation\":" #correlation more "}}"
#define COPY(name, stream, correlation, ts, dur) ON_DEVICE("gpu_memcpy", name, stream, correlation, ts, dur, "")
/* What the profiler says of a synchronisation when it is asked to. */
#define SYNC(kind, stream, correlation, more)                                                                          \
  "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"" kind "\",\"pid\":0,\"tid\":" #stream                               \
  ",\"ts\":1,\"dur\":1,\"args\":{\"cuda_sync_kind\":\"" kind "\",\"stream\":" #stream ",\"correlation\":" #correlation \
  ",\"device\":0" more "}}"
/* The stream waits for what was recorded on another by the call of that correlation. */
#define WAIT_FOR(stream, correlation, other, record) \
  SYNC("Stream Wait Event", stream, correlation,     \
       ",\"wait_on_stream\":" #other ",\"wait_on_cuda_event_record_corr_id\":" #record ",\"wait_on_cuda_event_id\":5")
#define OF_RANK(rank, world, events) \
  "{\"distributedInfo\":{\"rank\":" #rank ",\"world_size\":" #world "},\"traceEvents\":[" events "]}"

/* --- From traces to a graph --- */

/* The graph of the ranks' traces; a trace is the file rankN.json. */
static inline struct lumos_job *graph_of_ranks(const char *const *traces, size_t count) {
  const struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_error error = {LUMOS_DONE, ""};
  char *folder = unit_folder_new(), *paths[8];
  assert_true(count <= sizeof paths / sizeof *paths);
  for (size_t i = 0; i < count; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "rank%d.json", (int)i);
    paths[i] = unit_path(folder, name);
    unit_write_file(paths[i], traces[i], strlen(traces[i]));
  }
  struct lumos_job *job = lumos_trace_parse((const char *const *)paths, count, &options, &error);
  for (size_t i = 0; i < count; i++) {
    free(paths[i]);
  }
  unit_folder_remove(folder);
  if (job == NULL || !lumos_graph_build(job, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

static inline struct lumos_job *graph_of(const char *trace) { return graph_of_ranks(&trace, 1); }

/* --- To lines --- */

static inline void put_us(struct lumos_text *text, int64_t ns) {
  int64_t part = (ns < 0 ? -ns : ns) % 1000;
  lumos_text_format(text, "%s%" PRId64, ns < 0 ? "-" : "", (ns < 0 ? -ns : ns) / 1000);
  if (part != 0) {
    lumos_text_format(text, ".%03" PRId64, part);
  }
}

static inline void put_part(struct lumos_text *text, const char *before, int64_t ns) {
  lumos_text_put(text, before);
  put_us(text, ns);
}

static inline bool name_is_shared(const struct lumos_job *job, uint32_t task) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (t != task && job->tasks.items[t].name == job->tasks.items[task].name &&
        lumos_rank_of(job, &job->tasks.items[t]) == lumos_rank_of(job, &job->tasks.items[task])) {
      return true;
    }
  }
  return false;
}

static inline void put_task(struct lumos_text *text, const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  if (job->ranks.count > 1) {
    lumos_text_format(text, "%d/", (int)job->ranks.items[lumos_rank_of(job, record)].rank);
  }
  lumos_text_put(text, string_of(job, record->name));
  if (name_is_shared(job, task)) {
    put_part(text, "@", record->start);
  }
}

static inline const char *end_word(uint8_t end) { return end == LUMOS_START ? " start" : " end"; }

/* What the graph says of a task beside its edges; nothing: no line. */
static inline void put_timing(struct lumos_text *text, const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  const struct lumos_timing *timing = lumos_timing_of(job, task);
  const struct lumos_wait *wait = &lumos_detail_of(job, record)->wait;
  size_t before = text->length;
  put_task(text, job, task);
  size_t named = text->length;
  if (record->call != LUMOS_NONE) {
    lumos_text_put(text, ", launched by ");
    put_task(text, job, record->call);
    put_part(text, timing->launch_from == LUMOS_START ? " start +" : " end +", timing->launch_lag);
  }
  if (record->lag != 0) {
    put_part(text, ", lag ", record->lag);
  }
  if (timing->gap != LUMOS_ABSENT && timing->gap != 0) {
    put_part(text, ", gap ", timing->gap);
  }
  if (timing->residual != LUMOS_ABSENT && timing->residual != 0) {
    put_part(text, ", residual ", timing->residual);
  }
  if (timing->end_residual != LUMOS_ABSENT) {
    put_part(text, ", end residual ", timing->end_residual);
  }
  if (wait->on != 0 && lumos_detail_of(job, record)->event_op != LUMOS_EVENT_WAIT) {
    lumos_text_format(text, ", waits on %s", lumos_wait_on_name((enum lumos_wait_on)wait->on));
    if (wait->lane != LUMOS_NONE) {
      lumos_text_format(text, " %s", string_of(job, job->lanes.items[wait->lane].lane));
    }
    if (wait->residual == LUMOS_ABSENT) {
      lumos_text_put(text, ", length kept");
    } else {
      put_part(text, " +", wait->residual);
    }
  }
  if (text->length == named) {
    text->length = before;
  } else {
    lumos_text_char(text, '\n');
  }
}

static inline void put_dep(struct lumos_text *text, const struct lumos_job *job, const struct lumos_dep *dep) {
  lumos_text_format(text, "%s: ", lumos_dep_kind_name((enum lumos_dep_kind)dep->kind));
  if (dep->src == LUMOS_NONE) {
    put_us(text, dep->at);
  } else {
    put_task(text, job, dep->src);
    lumos_text_put(text, end_word(dep->from));
  }
  lumos_text_put(text, " -> ");
  put_task(text, job, dep->dst);
  lumos_text_put(text, end_word(dep->to));
  put_part(text, " +", dep->lag);
  if (dep->covers != LUMOS_ABSENT) {
    put_part(text, ", covers ", dep->covers);
  }
  lumos_text_format(text, ", %s, %s\n", lumos_evidence_name((enum lumos_evidence)dep->evidence),
                    dep->mode == LUMOS_FIXED ? "fixed" : "run_time");
}

static inline void put_collective(struct lumos_text *text, const struct lumos_job *job,
                                  const struct lumos_collective *collective) {
  lumos_text_format(text, "%s %s by %s:", lumos_rule_name((enum lumos_rule)collective->rule),
                    string_of(job, collective->op), lumos_matched_name((enum lumos_matched)collective->matched));
  for (uint32_t i = 0; i < collective->member_count; i++) {
    lumos_text_char(text, ' ');
    put_task(text, job, job->members.items[collective->member_first + i]);
  }
  lumos_text_format(text, " of %d", (int)collective->size);
  if (collective->root != LUMOS_ABSENT_INT) {
    lumos_text_format(text, ", root %d", (int)collective->root);
  }
  if (collective->transfer == LUMOS_ABSENT) {
    lumos_text_put(text, ", transfer unknown\n");
  } else {
    put_part(text, ", transfer ", collective->transfer);
    lumos_text_char(text, '\n');
  }
}

/* All that the graph has found: tasks in the
 * job's order, then edges, collectives, and the codes of its notes. */
static inline char *describe_graph(const struct lumos_job *job) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    put_timing(&text, job, t);
  }
  for (size_t i = 0; i < job->deps.count; i++) {
    put_dep(&text, job, &job->deps.items[i]);
  }
  for (size_t i = 0; i < job->collectives.count; i++) {
    put_collective(&text, job, &job->collectives.items[i]);
  }
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    if (strncmp(string_of(job, note->code), "graph.", 6) == 0) {
      lumos_text_format(&text, "%s %" PRId64 "\n", string_of(job, note->code), note->count);
    }
  }
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

static inline void put_binding(struct lumos_text *text, const struct lumos_job *job, struct lumos_binding by) {
  lumos_text_put(text, " <- ");
  if (by.src != LUMOS_NONE) {
    put_task(text, job, by.src);
    lumos_text_put(text, end_word(by.from));
    lumos_text_put(text, ", ");
  }
  lumos_text_put(text, lumos_constraint_kind_name((enum lumos_constraint_kind)by.kind));
  if (by.kind != LUMOS_HELD_BY_NOTHING) {
    lumos_text_format(text, ", %s", lumos_evidence_name((enum lumos_evidence)by.evidence));
  }
}

/* "TASK START-END <- what held its start", and where something other than its length decides its end "; end <- ...". */
static inline char *describe_run(const struct lumos_job *job, const struct lumos_held *bindings) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_run *run = &job->runs.items[t];
    put_task(&text, job, t);
    put_part(&text, " ", run->start);
    put_part(&text, "-", run->start + run->dur);
    put_binding(&text, job, lumos_held_of(bindings, t).start);
    if (lumos_held_of(bindings, t).end.kind != LUMOS_HELD_BY_ITSELF) {
      lumos_text_put(&text, "; end");
      put_binding(&text, job, lumos_held_of(bindings, t).end);
    }
    lumos_text_char(&text, '\n');
  }
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

/* --- Expectations --- */

static inline void expect_lines(char *lines, const char *expected) {
  if (strcmp(lines, expected) != 0) {
    (void)fprintf(stderr, "--- got\n%s--- not\n%s", lines, expected);
  }
  bool same = strcmp(lines, expected) == 0;
  free(lines);
  assert_true(same);
}

static inline void expect_graph(const struct lumos_job *job, const char *expected) {
  expect_lines(describe_graph(job), expected);
}

/* Simulated as it is. */
static inline void expect_run(struct lumos_job *job, const char *expected) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_held bindings = {0};
  if (!lumos_simulate(job, &error) || !lumos_bindings_find(job, &bindings, NULL, NULL, &error)) {
    fail_msg("%s", error.text);
  }
  expect_lines(describe_run(job, &bindings), expected);
  lumos_held_free(&bindings);
}

/* Simulated after a change; the job keeps the change. */
static inline void expect_scaled_run(struct lumos_job *job, const char *specification, const char *expected) {
  struct lumos_error error = {LUMOS_DONE, ""};
  if (!lumos_transform_scale(job, specification, &error)) {
    fail_msg("%s", error.text);
  }
  expect_run(job, expected);
}

#endif
