#include "report/forms/document.h"

#include "report/forms/summary.h"
#include "report/text/template.h"
#include <inttypes.h>
#include <lumos/hta.h>
#include <lumos/metric.h>
#include <string.h>

/* ---- Metrics ---- */

static void begin_member(struct lumos_text *out, const char *name, bool *first) {
  lumos_text_format(out, "%s\"%s\":", *first ? "" : ",", name);
  *first = false;
}

static void put_string(const struct lumos_job *job, const char *name, lumos_string_id id, bool *first,
                       struct lumos_text *out) {
  if (id != LUMOS_NO_STRING) {
    begin_member(out, name, first);
    lumos_text_script_string(out, lumos_string(job->strings, id), lumos_string_length(job->strings, id));
  }
}

static void put_small(const char *name, int32_t number, bool *first, struct lumos_text *out) {
  if (number != LUMOS_ABSENT_INT) {
    begin_member(out, name, first);
    lumos_text_integer(out, number);
  }
}

static void put_decimal(const char *name, struct lumos_decimal number, bool *first, struct lumos_text *out) {
  if (number.units != LUMOS_ABSENT) {
    begin_member(out, name, first);
    lumos_text_decimal(out, number.units, number.decimals);
  }
}

static void put_scope(const struct lumos_job *job, const struct lumos_scope *scope, struct lumos_text *out) {
  bool first = true;
  lumos_text_char(out, '{');
  put_small("rank", scope->rank, &first, out);
  put_small("step", scope->step, &first, out);
  put_string(job, "lane", scope->lane == LUMOS_NONE ? LUMOS_NO_STRING : job->lanes.items[scope->lane].lane, &first,
             out);
  put_string(job, "kind", scope->kind, &first, out);
  put_string(job, "group", scope->group, &first, out);
  put_small("layer", scope->layer, &first, out);
  if (scope->task != LUMOS_NONE) {
    const struct lumos_task *task = &job->tasks.items[scope->task];
    begin_member(out, "task", &first);
    lumos_text_format(out, "\"%d:%" PRIu32 "\"", job->ranks.items[lumos_rank_of(job, task)].rank, (uint32_t)task->id);
  }
  put_small("stage", scope->stage, &first, out);
  put_small("peer", scope->peer, &first, out);
  put_string(job, "op", scope->op, &first, out);
  put_string(job, "module", scope->module, &first, out);
  put_string(job, "name", scope->name, &first, out);
  if (scope->phase != 0) {
    begin_member(out, "phase", &first);
    lumos_text_format(out, "\"%s\"", lumos_phase_name((enum lumos_phase)scope->phase));
  }
  lumos_text_char(out, '}');
}

static void put_metric(const struct lumos_job *job, const struct lumos_metric *metric, struct lumos_text *out) {
  bool first = true;
  lumos_text_char(out, '{');
  put_string(job, "name", metric->name, &first, out);
  put_decimal("value", metric->value, &first, out);
  put_string(job, "unit", metric->unit, &first, out);
  put_string(job, "of", metric->of, &first, out);
  begin_member(out, "scope", &first);
  put_scope(job, &metric->scope, out);
  lumos_text_format(out, ",\"source\":\"%s\"", lumos_source_name((enum lumos_source)metric->source));
  put_decimal("low", metric->low, &first, out);
  put_decimal("high", metric->high, &first, out);
  lumos_text_char(out, '}');
}

/* ---- Definitions ---- */

static void put_word(struct lumos_text *out, const char *name, const char *word) {
  lumos_text_format(out, ",\"%s\":", name);
  lumos_text_script_string(out, word, strlen(word));
}

static void put_definitions(struct lumos_text *out, const struct lumos_metric_definition *definitions, size_t count,
                            const char *before) {
  for (size_t i = 0; i < count; i++) {
    lumos_text_format(out, "%s{\"name\":\"%s\"", i == 0 ? before : ",\n", definitions[i].name);
    put_word(out, "term", definitions[i].term);
    put_word(out, "unit", definitions[i].unit);
    if (definitions[i].of != NULL) {
      put_word(out, "of", definitions[i].of);
    }
    put_word(out, "text", definitions[i].text);
    lumos_text_char(out, '}');
  }
}

/* Another tool's figures are there only when they were asked for. */
static bool has_hta(const struct lumos_job *job) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    if (strncmp(lumos_string(job->strings, job->metrics.items[i].name), "hta_", 4) == 0) {
      return true;
    }
  }
  return false;
}

static void put_all_definitions(const struct lumos_job *job, struct lumos_text *out) {
  size_t count = 0;
  const struct lumos_metric_definition *definitions = lumos_metric_definitions(&count);
  put_definitions(out, definitions, count, "");
  if (has_hta(job)) {
    definitions = lumos_hta_definitions(&count);
    put_definitions(out, definitions, count, ",\n");
  }
}

/* Of the whole job, or by kind: what a history shows, and most gates ask for. */
static bool is_of_history(const struct lumos_scope *scope) {
  return scope->rank == LUMOS_ABSENT_INT && scope->lane == LUMOS_NONE && scope->group == LUMOS_NO_STRING &&
         scope->layer == LUMOS_ABSENT_INT && scope->task == LUMOS_NONE && scope->stage == LUMOS_ABSENT_INT &&
         scope->peer == LUMOS_ABSENT_INT && scope->op == LUMOS_NO_STRING && scope->module == LUMOS_NO_STRING &&
         scope->name == LUMOS_NO_STRING && scope->phase == 0;
}

bool report_document_write(struct report_content *content, struct lumos_text *out, struct lumos_error *error) {
  const struct lumos_job *job = content->job;
  bool brief = content->options->summary, first = true;
  (void)error;
  (brief ? report_summary_begin_brief : report_summary_begin)(content, out);
  lumos_text_put(out, ",\n\"metrics\":[");
  for (size_t i = 0; i < job->metrics.count; i++) {
    if (!brief || is_of_history(&job->metrics.items[i].scope)) {
      lumos_text_put(out, first ? "" : ",\n");
      put_metric(job, &job->metrics.items[i], out);
      first = false;
    }
  }
  if (!brief) {
    lumos_text_put(out, "],\n\"definitions\":[");
    put_all_definitions(job, out);
  }
  lumos_text_put(out, "]}\n");
  return true;
}

/* ---- The schema ---- */

/* `unit` NULL: of all units. */
static void put_names(struct lumos_text *out, const struct lumos_metric_definition *definitions, size_t count,
                      const char *before, const char *unit) {
  for (size_t i = 0; i < count; i++) {
    if (unit == NULL || strcmp(definitions[i].unit, unit) == 0) {
      lumos_text_format(out, "%s\"%s\"", before, definitions[i].name);
      before = ", ";
    }
  }
}

/* The names of metrics are those of the catalogue, so that the two cannot differ. */
static bool put_schema(const char *name, bool hta, struct lumos_text *out, struct lumos_error *error) {
  static const struct {
    const char *mark, *unit;
  } lists[] = {{"\"{{metric_names}}\"", NULL}, {"\"{{time_names}}\"", "ns"}};
  struct report_source source;
  if (!report_template_load(NULL, name, &source, error)) {
    return false;
  }
  size_t count = 0, hta_count = 0;
  const struct lumos_metric_definition *definitions = lumos_metric_definitions(&count);
  const struct lumos_metric_definition *hta_definitions = lumos_hta_definitions(&hta_count);
  const char *at = source.bytes; /* a NUL follows what is compiled in */
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    const char *found = strstr(at, lists[i].mark);
    if (found != NULL) {
      lumos_text_add(out, at, (size_t)(found - at));
      put_names(out, definitions, count, "", lists[i].unit);
      put_names(out, hta_definitions, hta ? hta_count : 0, ", ", lists[i].unit);
      at = found + strlen(lists[i].mark);
    }
  }
  lumos_text_add(out, at, source.length - (size_t)(at - source.bytes));
  report_template_release(&source);
  return true;
}

bool lumos_report_schema(struct lumos_text *out, struct lumos_error *error) {
  return put_schema("report.schema.json", true, out, error);
}

bool lumos_thresholds_schema(struct lumos_text *out, struct lumos_error *error) {
  return put_schema("thresholds.schema.json", false, out, error);
}
