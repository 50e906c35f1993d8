/* Hand-made traces as strings, and jobs as a few lines of text to compare with what was worked out by hand. */
#ifndef LUMOS_TESTS_TRACE_TEXT_H
#define LUMOS_TESTS_TRACE_TEXT_H

#include "base/text.h"
#include "unit.h"
#include <inttypes.h>
#include <lumos/stream.h>
#include <lumos/trace.h>

#define EVENT(category, name, thread, ts, dur, args)                                                       \
  "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #thread ",\"ts\":" #ts \
  ",\"dur\":" #dur ",\"args\":{" args "}}"
#define OP(name, ts, dur) EVENT("cpu_op", name, 10, ts, dur, "")
#define ANNOTATION(name, ts, dur) EVENT("user_annotation", name, 10, ts, dur, "")
#define CALL(name, correlation, ts, dur) EVENT("cuda_runtime", name, 10, ts, dur, "\"correlation\":" #correlation)
#define DRIVER(name, correlation, ts, dur) EVENT("cuda_driver", name, 10, ts, dur, "\"correlation\":" #correlation)
#define KERNEL(name, stream, correlation, ts, dur)                                                                    \
  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":" #stream ",\"ts\":" #ts ",\"dur\":" #dur \
  ",\"args\":{\"device\":0,\"stream\":" #stream ",\"correlation\":" #correlation "}}"
#define TRACE(events) "{\"schemaVersion\":1,\"traceEvents\":[" events "]}"

/* Parse one trace that lies in a file of this name. NULL with *error on failure. */
static inline struct lumos_job *parse_named(const char *name, const char *text, size_t length,
                                            const struct lumos_trace_options *options, struct lumos_error *error) {
  char *folder = unit_folder_new();
  char *path = unit_path(folder, name);
  unit_write_file(path, text, length);
  const char *const paths[] = {path};
  struct lumos_job *job = lumos_trace_parse(paths, 1, options, error);
  free(path);
  unit_folder_remove(folder);
  return job;
}

/* Parse a trace that must be good; the job passes its checks. */
static inline struct lumos_job *parse_good(const char *text, const struct lumos_trace_options *options) {
  struct lumos_error error = {LUMOS_DONE, ""};
  const struct lumos_trace_options plain = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_job *job = parse_named("rank0.json", text, strlen(text), options != NULL ? options : &plain, &error);
  bool good = job != NULL && lumos_job_check(job, &error);
  if (!good) {
    fail_msg("%s", error.text);
  }
  return job;
}

/* The text is refused, and `part` stands in what is said. */
static inline void expect_failure(const char *text, const struct lumos_trace_options *options, enum lumos_status status,
                                  const char *part) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_job *job = parse_named("t.json", text, strlen(text), options, &error);
  assert_null(job);
  assert_int_equal(error.status, status);
  if (strstr(error.text, part) == NULL) {
    fail_msg("'%s' lacks '%s'", error.text, part);
  }
}

static inline const char *string_of(const struct lumos_job *job, lumos_string_id string) {
  return lumos_string(job->strings, string);
}

/* "LANE NAME START+DUR" and, where it is not 0, " lag LAG"; one line a task. */
static inline char *describe_tasks(const struct lumos_job *job) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    lumos_text_format(&text, "%s %s %" PRId64 "+%" PRId64, string_of(job, job->lanes.items[task->lane].lane),
                      string_of(job, task->name), task->start, task->dur);
    if (task->lag != 0) {
      lumos_text_format(&text, " lag %" PRId64, task->lag);
    }
    lumos_text_char(&text, '\n');
  }
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

/* "NAME START+DUR" and, where there is one, " in PARENT"; one line a span. */
static inline char *describe_spans(const struct lumos_job *job) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    lumos_text_format(&text, "%s %s %" PRId64 "+%" PRId64, lumos_span_kind_name((enum lumos_span_kind)span->kind),
                      string_of(job, span->name), span->start, span->dur);
    if (span->parent != LUMOS_NONE) {
      lumos_text_format(&text, " in %s", string_of(job, job->spans.items[span->parent].name));
    }
    lumos_text_char(&text, '\n');
  }
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

static inline void expect_tasks(const struct lumos_job *job, const char *expected) {
  char *text = describe_tasks(job);
  assert_string_equal(text, expected);
  free(text);
}

static inline void expect_spans(const struct lumos_job *job, const char *expected) {
  char *text = describe_spans(job);
  assert_string_equal(text, expected);
  free(text);
}

/* The note of this code, NULL when there is none. */
static inline const struct lumos_note *find_note(const struct lumos_job *job, const char *code) {
  for (size_t i = 0; i < job->notes.count; i++) {
    if (strcmp(string_of(job, job->notes.items[i].code), code) == 0) {
      return &job->notes.items[i];
    }
  }
  return NULL;
}

/* The task of this name, the n-th of them. */
static inline const struct lumos_task *find_task(const struct lumos_job *job, const char *name, int n) {
  for (size_t i = 0; i < job->tasks.count; i++) {
    if (strcmp(string_of(job, job->tasks.items[i].name), name) == 0 && n-- == 0) {
      return &job->tasks.items[i];
    }
  }
  fail_msg("no task %s", name);
  return NULL;
}

static inline uint32_t index_of(const struct lumos_job *job, const struct lumos_task *task) {
  return (uint32_t)(task - job->tasks.items);
}

#endif
