/* What was decided: as a table in Markdown, as JUnit XML, and as JSON. */
#include "gate/gate.h"
#include "report/text/escape.h"
#include "report/text/numbers.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { GATE_DOCUMENT = 1 };

/* ---- Words ---- */

/* Rounded, at the ends of int64_t where it has no room. */
static int64_t whole_of(double value) {
  return value >= (double)INT64_MAX ? INT64_MAX : value <= -(double)INT64_MAX ? -INT64_MAX : (int64_t)llround(value);
}

static void put_value(struct lumos_text *out, const struct gate_metric *metric, double value) {
  const char *unit = metric->definition->unit;
  if (strcmp(unit, "ns") == 0) {
    report_put_time(out, whole_of(value));
  } else if (strcmp(unit, "share") == 0) {
    report_put_fine_share(out, whole_of(value * 1e6));
  } else {
    report_put_fixed(out, whole_of(value * 1000), 3, value == floor(value) && fabs(value) >= 1 ? 0 : 3);
    lumos_text_format(out, "\xC2\xA0%s", unit);
  }
}

/* As the threshold is given: of the baseline, or in the metric's unit, where a share's is a point. */
static void put_change(struct lumos_text *out, const struct gate_metric *metric, double change) {
  if (metric->relative && metric->base != 0) {
    report_put_fine_share(out, whole_of(change / fabs(metric->base) * 1e6));
  } else if (strcmp(metric->definition->unit, "share") == 0) {
    report_put_fixed(out, whole_of(change * 1e4), 2, 2);
    lumos_text_put(out, "\xC2\xA0points");
  } else {
    put_value(out, metric, change);
  }
}

static void put_signed(struct lumos_text *out, const struct gate_metric *metric, double change) {
  lumos_text_put(out, change > 0 ? "+" : "");
  put_change(out, metric, change);
}

/* "step_time", "kernel_time of kind gemm" */
static void put_name(struct lumos_text *out, const struct gate_metric *metric) {
  lumos_text_put(out, metric->definition->name);
  for (size_t i = 0; i < metric->scope_count; i++) {
    const struct gate_member *member = &metric->scope[i];
    lumos_text_format(out, "%s%s ", i == 0 ? " of " : ", ", member->name);
    if (member->text != NULL) {
      lumos_text_put(out, member->text);
    } else {
      lumos_text_integer(out, member->number);
    }
  }
}

static const char *reason_words(enum gate_reason reason) {
  switch (reason) {
    case GATE_DAMAGED:
      return "a trace is cut or damaged, so steps may lack work";
    case GATE_NO_VALUE:
      return "the tested report has no such value";
    case GATE_NO_BASELINE:
      return "the baseline has no such value";
    case GATE_NOISE_UNKNOWN:
      return "noise unknown: record several steps, or give several baselines";
    case GATE_NOISE_LARGE:
      return "within noise";
    default:
      return "";
  }
}

static bool has_change(const struct gate_metric *metric) {
  return metric->tested.count > 0 && metric->baseline.count > 0;
}

static size_t count_of(const struct lumos_gate *gate, enum lumos_gate_verdict verdict) {
  size_t count = 0;
  for (size_t i = 0; i < gate->metrics.count; i++) {
    count += gate->metrics.items[i].verdict == verdict;
  }
  return count;
}

void lumos_gate_put_regressions(const struct lumos_gate *gate, struct lumos_text *out) {
  size_t named = 0;
  lumos_text_put(out, "regression: ");
  for (size_t i = 0; i < gate->metrics.count; i++) {
    if (gate->metrics.items[i].verdict == LUMOS_GATE_REGRESSION) {
      lumos_text_put(out, named++ > 0 ? ", " : "");
      put_name(out, &gate->metrics.items[i]);
      lumos_text_char(out, ' ');
      put_signed(out, &gate->metrics.items[i], gate->metrics.items[i].change);
    }
  }
}

/* ---- Markdown ---- */

/* A cell, escaped; empties the text. */
static void put_cell(struct lumos_text *out, struct lumos_text *text) {
  lumos_text_char(out, ' ');
  if (text->length == 0) {
    lumos_text_put(text, "\xE2\x80\x93");
  }
  report_put_markdown(out, text->bytes, text->length);
  lumos_text_put(out, " |");
  text->length = 0;
}

static void put_row(struct lumos_text *out, const struct gate_metric *metric) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_char(out, '|');
  put_name(&text, metric);
  put_cell(out, &text);
  lumos_text_format(out, metric->verdict == LUMOS_GATE_REGRESSION ? " **%s** |" : " %s |",
                    lumos_gate_verdict_name(metric->verdict));
  if (metric->baseline.count > 0) {
    put_value(&text, metric, metric->base);
  }
  put_cell(out, &text);
  if (metric->tested.count > 0) {
    put_value(&text, metric, metric->tested.mean);
  }
  put_cell(out, &text);
  if (has_change(metric)) {
    put_signed(&text, metric, metric->change);
  }
  put_cell(out, &text);
  if (has_change(metric)) {
    lumos_text_put(&text, metric->lower_is_worse ? "\xE2\x88\x92" : "+");
    put_change(&text, metric, metric->allowed);
  }
  put_cell(out, &text);
  if (has_change(metric) && metric->noise >= 0) {
    lumos_text_put(&text, "\xC2\xB1");
    put_change(&text, metric, metric->noise);
  }
  put_cell(out, &text);
  lumos_text_put(&text, reason_words(metric->reason));
  lumos_text_put(&text, text.length == 0 ? " " : "");
  put_cell(out, &text);
  lumos_text_char(out, '\n');
  lumos_text_free(&text);
}

/* "1 regression, 2 inconclusive, 3 neutral" */
static void put_counts(struct lumos_text *out, const struct lumos_gate *gate) {
  static const enum lumos_gate_verdict order[] = {LUMOS_GATE_REGRESSION, LUMOS_GATE_INCONCLUSIVE,
                                                  LUMOS_GATE_IMPROVEMENT, LUMOS_GATE_NEUTRAL};
  for (size_t i = 0, shown = 0; i < sizeof order / sizeof *order; i++) {
    size_t count = count_of(gate, order[i]);
    if (count > 0) {
      bool plural = count > 1 && (order[i] == LUMOS_GATE_REGRESSION || order[i] == LUMOS_GATE_IMPROVEMENT);
      lumos_text_format(out, "%s%zu %s%s", shown++ > 0 ? ", " : "", count, lumos_gate_verdict_name(order[i]),
                        plural ? "s" : "");
    }
  }
}

/* " (left out: the tested recording itself, 2 copies of others)" */
static void put_left_out(const struct lumos_gate *gate, struct lumos_text *out) {
  const char *before = " (left out: ";
  if (gate->itself > 0) {
    lumos_text_format(out, "%sthe tested recording itself", before);
    before = ", ";
  }
  if (gate->copies > 0) {
    lumos_text_format(out, "%s%zu cop%s of others", before, gate->copies, gate->copies == 1 ? "y" : "ies");
    before = ", ";
  }
  if (gate->damaged > 0) {
    lumos_text_format(out, "%s%zu with a trace that is cut or damaged", before, gate->damaged);
  }
  lumos_text_put(out, gate->itself + gate->copies + gate->damaged > 0 ? ")" : "");
}

static void put_markdown(const struct lumos_gate *gate, struct lumos_text *out) {
  lumos_text_put(out, "Lumos gate: ");
  put_counts(out, gate);
  lumos_text_format(out, ", against %zu report%s", gate->reports, gate->reports == 1 ? "" : "s");
  put_left_out(gate, out);
  if (gate->damage[0] != '\0') {
    lumos_text_put(out, ". Steps may lack work: ");
    report_put_markdown(out, gate->damage, strlen(gate->damage));
  }
  lumos_text_put(out, "\n\n");
  lumos_text_put(out, "| metric | verdict | baseline | now | change | allowed | noise | |\n"
                      "|:--|:--|--:|--:|--:|--:|--:|:--|\n");
  for (size_t i = 0; i < gate->metrics.count; i++) {
    put_row(out, &gate->metrics.items[i]);
  }
}

/* ---- JUnit ---- */

static void put_summary(struct lumos_text *out, const struct gate_metric *metric) {
  if (!has_change(metric)) {
    lumos_text_put(out, reason_words(metric->reason));
    return;
  }
  put_value(out, metric, metric->base);
  lumos_text_put(out, " to ");
  put_value(out, metric, metric->tested.mean);
  lumos_text_put(out, " (");
  put_signed(out, metric, metric->change);
  lumos_text_put(out, "), allowed ");
  put_change(out, metric, metric->allowed);
  if (metric->noise >= 0) {
    lumos_text_put(out, ", noise ");
    put_change(out, metric, metric->noise);
  }
  if (metric->reason != GATE_DECIDED) {
    lumos_text_format(out, "; %s", reason_words(metric->reason));
  }
}

/* Of XML: escaped; control bytes, which it cannot hold, are gone from the thresholds. */
static void put_escaped(struct lumos_text *out, struct lumos_text *text) {
  lumos_text_html(out, text->bytes, text->length);
  text->length = 0;
}

static void put_case(struct lumos_text *out, const struct gate_metric *metric) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(out, "  <testcase classname=\"lumos.gate\" name=\"");
  put_name(&text, metric);
  put_escaped(out, &text);
  lumos_text_put(out, "\">");
  put_summary(&text, metric);
  if (metric->verdict == LUMOS_GATE_REGRESSION || metric->verdict == LUMOS_GATE_INCONCLUSIVE) {
    lumos_text_put(out, metric->verdict == LUMOS_GATE_REGRESSION ? "<failure message=\"" : "<skipped message=\"");
    put_escaped(out, &text);
    lumos_text_put(out, "\"/>");
  } else {
    lumos_text_format(out, "<system-out>%s: ", lumos_gate_verdict_name(metric->verdict));
    put_escaped(out, &text);
    lumos_text_put(out, "</system-out>");
  }
  lumos_text_put(out, "</testcase>\n");
  lumos_text_free(&text);
}

static void put_junit(const struct lumos_gate *gate, struct lumos_text *out) {
  size_t failures = count_of(gate, LUMOS_GATE_REGRESSION), skipped = count_of(gate, LUMOS_GATE_INCONCLUSIVE);
  lumos_text_put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  lumos_text_format(out, "<testsuites tests=\"%zu\" failures=\"%zu\">\n", gate->metrics.count, failures);
  lumos_text_format(out,
                    " <testsuite name=\"lumos gate\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
                    gate->metrics.count, failures, skipped);
  for (size_t i = 0; i < gate->metrics.count; i++) {
    put_case(out, &gate->metrics.items[i]);
  }
  lumos_text_put(out, " </testsuite>\n</testsuites>\n");
}

/* ---- JSON ---- */

static void put_number(struct lumos_text *out, const char *name, double value, bool known) {
  lumos_text_format(out, ",\"%s\":", name);
  if (!known || !(fabs(value) < (double)INT64_MAX / 1e6)) {
    lumos_text_put(out, "null");
  } else {
    lumos_text_decimal(out, whole_of(value * 1e6), 6);
  }
}

static void put_scope(struct lumos_text *out, const struct gate_metric *metric) {
  lumos_text_put(out, ",\"scope\":{");
  for (size_t i = 0; i < metric->scope_count; i++) {
    const struct gate_member *member = &metric->scope[i];
    lumos_text_put(out, i == 0 ? "" : ",");
    lumos_text_script_string(out, member->name, strlen(member->name));
    lumos_text_char(out, ':');
    if (member->text != NULL) {
      lumos_text_script_string(out, member->text, strlen(member->text));
    } else {
      lumos_text_integer(out, member->number);
    }
  }
  lumos_text_char(out, '}');
}

static void put_json(const struct lumos_gate *gate, struct lumos_text *out) {
  enum lumos_gate_verdict worst = LUMOS_GATE_NEUTRAL;
  for (size_t i = 0; i < gate->metrics.count; i++) {
    worst = gate->metrics.items[i].verdict > worst ? gate->metrics.items[i].verdict : worst;
  }
  lumos_text_format(out, "{\"format\":%d,\"verdict\":\"%s\",\"reports\":%zu,", GATE_DOCUMENT,
                    lumos_gate_verdict_name(worst), gate->reports);
  lumos_text_format(out, "\"left_out\":{\"itself\":%zu,\"copies\":%zu,\"damaged\":%zu},\"damage\":", gate->itself,
                    gate->copies, gate->damaged);
  if (gate->damage[0] == '\0') {
    lumos_text_put(out, "null");
  } else {
    lumos_text_script_string(out, gate->damage, strlen(gate->damage));
  }
  lumos_text_put(out, ",\"metrics\":[");
  for (size_t i = 0; i < gate->metrics.count; i++) {
    const struct gate_metric *metric = &gate->metrics.items[i];
    bool known = has_change(metric);
    lumos_text_format(out, "%s\n{\"metric\":\"%s\",\"unit\":\"%s\"", i == 0 ? "" : ",", metric->definition->name,
                      metric->definition->unit);
    put_scope(out, metric);
    lumos_text_format(out, ",\"worse\":\"%s\",\"verdict\":\"%s\",\"reason\":\"%s\"",
                      metric->lower_is_worse ? "lower" : "higher", lumos_gate_verdict_name(metric->verdict),
                      reason_words(metric->reason));
    put_number(out, "baseline", metric->base, metric->baseline.count > 0 && known);
    put_number(out, "now", metric->tested.mean, metric->tested.count > 0);
    put_number(out, "change", metric->change, known);
    put_number(out, "allowed", metric->allowed, known);
    put_number(out, "noise", metric->noise, known && metric->noise >= 0);
    lumos_text_format(out, ",\"steps\":%zu,\"baselines\":%zu}", metric->tested.count, metric->baseline.count);
  }
  lumos_text_put(out, "]}\n");
}

void lumos_gate_write(const struct lumos_gate *gate, enum lumos_gate_format format, struct lumos_text *out) {
  (format == LUMOS_GATE_JUNIT ? put_junit : format == LUMOS_GATE_JSON ? put_json : put_markdown)(gate, out);
}
