/* What tests of the diagnosis share: jobs made by hand, and what is expected of them. */
#ifndef LUMOS_TESTS_DIAGNOSIS_JOB_H
#define LUMOS_TESTS_DIAGNOSIS_JOB_H

#include "unit/report_job.h"

#include "base/text.h"
#include "report/diagnosis/words.h"
#include <lumos/diagnosis.h>
#include <lumos/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS(value) ((int64_t)((value)*1000000))

/* Ranks of one step each, with a thread t1 and a stream s7; tasks go lane by lane. */
static inline struct lumos_job *ranks_with(const struct parts *parts, int32_t count) {
  struct lumos_job *job = lumos_job_new();
  struct parts mean = {0};
  for (int32_t r = 0; r < count; r++) {
    (void)add_rank(job, r);
    add_parts(job, r, 0, LUMOS_METRIC_MEASURED, parts[r]);
    mean.compute += parts[r].compute;
    mean.transfer += parts[r].transfer;
    mean.wait += parts[r].wait;
    mean.bubble += parts[r].bubble;
    mean.copy += parts[r].copy;
    mean.idle += parts[r].idle;
    mean.unsplit += parts[r].unsplit;
  }
  int64_t *of = (int64_t *)&mean;
  for (size_t i = 0; i < sizeof mean / sizeof *of; i++) {
    of[i] /= count;
  }
  add_parts(job, LUMOS_ABSENT_INT, 0, LUMOS_METRIC_MEASURED, mean);
  return job;
}

static inline void add_kind(struct lumos_job *job, const char *name, int32_t rank, const char *kind, int64_t value) {
  add_metric(job, name, rank, 0, LUMOS_METRIC_MEASURED, value, 0);
  job->metrics.items[job->metrics.count - 1].scope.kind = lumos_intern_text(job->strings, kind);
}

static inline void add_straggler(struct lumos_job *job, int32_t rank, int64_t compute, int64_t host) {
  add_kind(job, "late_arrival", rank, "compute", compute);
  add_kind(job, "late_arrival", rank, "host", host);
  add_metric(job, "straggler", rank, LUMOS_ABSENT_INT, LUMOS_METRIC_MEASURED, 300000, 6);
}

static inline struct lumos_diagnosis diagnose(struct lumos_job *job) {
  struct lumos_diagnosis diagnosis;
  finish_job(job);
  lumos_diagnose(job, &diagnosis);
  return diagnosis;
}

static inline void expect_finding(const struct lumos_diagnosis *diagnosis, size_t place, enum lumos_cause cause,
                                  int64_t time, int64_t share) {
  assert_true(place < diagnosis->count);
  const struct lumos_finding *finding = &diagnosis->findings[place];
  assert_string_equal(lumos_cause_name(finding->cause), lumos_cause_name(cause));
  assert_int_equal(finding->time, time);
  assert_int_equal(finding->share, share);
}

static inline const struct lumos_finding *find(const struct lumos_diagnosis *diagnosis, enum lumos_cause cause) {
  for (size_t i = 0; i < diagnosis->count; i++) {
    if (diagnosis->findings[i].cause == cause) {
      return &diagnosis->findings[i];
    }
  }
  return NULL;
}

static inline void expect_sentences(const struct lumos_job *job, const char *text) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_report_verdict(job, &out, &error));
  lumos_text_char(&out, '\0');
  assert_string_equal(out.bytes, text);
  lumos_text_free(&out);
}

/* It ends so. */
static inline void expect_first_sentence(const struct report_result *result, const char *end) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  diagnosis_put_sentence(result, &out);
  lumos_text_char(&out, '\0');
  assert_true(strlen(out.bytes) > strlen(end));
  assert_string_equal(out.bytes + strlen(out.bytes) - strlen(end), end);
  lumos_text_free(&out);
}

static inline void forget(struct lumos_job *job, struct lumos_diagnosis *diagnosis) {
  lumos_diagnosis_free(diagnosis);
  lumos_job_free(job);
}

/* Rank 1 computes 60 of 100 ms, waits for 3 and is idle for 37; the others wait for 38. It is late by 36 ms of its CPU.
 * Of the mean waiting of (38 + 3 + 38) / 3 = 26.3 ms 2 x 36 / 3 = 24 are its: left are 2.33 ms. */
static inline struct lumos_job *late_job(int64_t compute, int64_t host) {
  const struct parts parts[] = {{.compute = MS(62), .wait = MS(38)},
                                {.compute = MS(60), .wait = MS(3), .idle = MS(37)},
                                {.compute = MS(62), .wait = MS(38)}};
  struct lumos_job *job = ranks_with(parts, 3);
  add_metric(job, "idle_host", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, MS(13), 0);
  add_straggler(job, 1, compute, host);
  return job;
}

/* What `put` says of the job. */
static inline void expect_text(const struct lumos_job *job, const struct lumos_diagnosis *diagnosis,
                               void (*put)(const struct report_result *, struct lumos_text *), const char *text) {
  struct report_facts facts;
  report_facts_read(job, &facts);
  const struct report_opportunities none = {.job = job};
  const struct report_result result = {job, facts, none, *diagnosis};
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  put(&result, &out);
  lumos_text_char(&out, '\0');
  assert_string_equal(out.bytes, text);
  lumos_text_free(&out);
  report_facts_free(&facts);
}

#endif
