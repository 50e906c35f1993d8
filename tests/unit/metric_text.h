/* Metrics by name and scope, both written as one text: "op_time step=1 op=aten::mm phase=forward". */
#ifndef LUMOS_TESTS_METRIC_TEXT_H
#define LUMOS_TESTS_METRIC_TEXT_H

#include "job_text.h"

static inline void metric_text_put(struct lumos_text *text, const struct lumos_job *job, const char *key,
                                   lumos_string_id value) {
  if (value != LUMOS_NO_STRING) {
    lumos_text_format(text, " %s=%s", key, lumos_string(job->strings, value));
  }
}

static inline void metric_text_number(struct lumos_text *text, const char *key, int32_t value) {
  if (value != LUMOS_ABSENT_INT) {
    lumos_text_format(text, " %s=%d", key, (int)value);
  }
}

static inline void metric_text(struct lumos_text *text, const struct lumos_job *job,
                               const struct lumos_metric *metric) {
  const struct lumos_scope *scope = &metric->scope;
  lumos_text_put(text, lumos_string(job->strings, metric->name));
  metric_text_number(text, "rank", scope->rank);
  metric_text_number(text, "step", scope->step);
  metric_text_put(text, job, "kind", scope->kind);
  metric_text_number(text, "layer", scope->layer);
  metric_text_put(text, job, "op", scope->op);
  metric_text_put(text, job, "module", scope->module);
  metric_text_put(text, job, "name", scope->name);
  if (scope->phase != 0) {
    lumos_text_format(text, " phase=%s", lumos_phase_name((enum lumos_phase)scope->phase));
  }
}

/* The only metric of that text, or NULL. */
static inline const struct lumos_metric *metric_of(const struct lumos_job *job, const char *wanted) {
  const struct lumos_metric *found = NULL;
  for (size_t i = 0; i < job->metrics.count; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    metric_text(&text, job, &job->metrics.items[i]);
    lumos_text_char(&text, '\0');
    if (strcmp(text.bytes, wanted) == 0) {
      assert_null(found);
      found = &job->metrics.items[i];
    }
    lumos_text_free(&text);
  }
  return found;
}

/* LUMOS_ABSENT: there is none. */
static inline void expect_metric(const struct lumos_job *job, const char *wanted, int64_t units) {
  const struct lumos_metric *metric = metric_of(job, wanted);
  int64_t found = metric == NULL ? LUMOS_ABSENT : metric->value.units;
  if (found != units) {
    fail_msg("%s: %lld, not %lld", wanted, (long long)found, (long long)units);
  }
}

#endif
