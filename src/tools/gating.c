/* See gating.h. Every job becomes its report in JSON, so that there is one way to read values. */
#include "tools/gating.h"

#include "base/input.h"
#include <lumos/report.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef bool add_report(struct lumos_gate *gate, const char *report, struct lumos_error *error);

/* Does the file begin as a report in JSON? */
static bool is_report(const char *path) {
  struct stat status;
  struct lumos_error unread = {LUMOS_DONE, ""};
  char begin[LUMOS_INPUT_PEEK];
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
    return false; /* a folder, or what reading it once would use up */
  }
  struct lumos_input *input = lumos_input_open(path, &unread);
  size_t length = input == NULL ? 0 : lumos_input_peek(input, begin, sizeof begin);
  lumos_input_close(input);
  return lumos_gate_is_report(begin, length);
}

static bool add_file(const char *path, struct lumos_gate *gate, add_report *add, struct lumos_error *error) {
  enum { LARGEST = 1 << 28 }; /* bytes: of 1,000 ranks a report has some 100 MB */
  size_t length = 0;
  char *report = lumos_input_slurp(path, LARGEST, &length, error);
  if (report == NULL) {
    return false;
  }
  bool good = add(gate, report, error) || lumos_fail_prefix(error, path);
  free(report);
  return good;
}

static bool add_job(const char *name, const struct lumos_operands *operand, const struct tool_input *input,
                    struct lumos_gate *gate, add_report *add, struct lumos_error *error) {
  static const struct lumos_report_options as_json = {.format = LUMOS_REPORT_JSON};
  struct lumos_progress progress;
  enum lumos_stage before = (enum lumos_stage)0;
  struct lumos_text report = LUMOS_TEXT_BUFFER;
  struct lumos_job *job = tool_read(operand, input, &progress, &before, error);
  bool good = job != NULL && lumos_report(job, &as_json, &report, error);
  if (good) {
    tool_warn(job, name, before);
    lumos_text_char(&report, '\0');
    good = add(gate, report.bytes, error);
  }
  tool_close(job);
  lumos_text_free(&report);
  return good;
}

static bool add_input(const char *name, const struct lumos_operands *operand, const struct tool_input *input,
                      struct lumos_gate *gate, add_report *add, struct lumos_error *error) {
  bool is_one = operand->count == 1 && is_report(operand->items[0]);
  return is_one ? add_file(operand->items[0], gate, add, error) : add_job(name, operand, input, gate, add, error);
}

static bool has_baselines(const struct tool_gating *gating, struct lumos_error *error) {
  return gating->baselines.count > 0 ||
         lumos_fail(error, "--gate compares with a baseline; name a report in JSON, a stream or traces, as "
                           "--baseline before.json");
}

static bool add_baselines(const char *name, const struct tool_gating *gating, const struct tool_input *input,
                          struct lumos_gate *gate, struct lumos_error *error) {
  bool good = true;
  for (size_t i = 0; good && i < gating->baselines.count; i++) {
    const char *path = gating->baselines.items[i].argument;
    const struct lumos_operands one = {.items = &path, .count = 1};
    size_t nights = 0;
    good = lumos_gate_baseline_folder(gate, path, &nights, error) &&
           (nights > 0 || add_input(name, &one, input, gate, lumos_gate_baseline, error));
  }
  return good;
}

static bool write_form(const struct lumos_gate *gate, enum lumos_gate_format format, const char *path,
                       struct lumos_error *error) {
  struct lumos_output output;
  if (!lumos_output_open(&output, path, error)) {
    return false;
  }
  lumos_gate_write(gate, format, &output.text);
  return lumos_output_commit(&output, error);
}

/* By the name of the format, or else by the ending; Markdown where neither is given. */
static bool find_format(const char *output, const char *named, enum lumos_gate_format *format,
                        struct lumos_error *error) {
  static const struct {
    const char *name;
    enum lumos_gate_format format;
  } names[] = {{"md", LUMOS_GATE_MARKDOWN}, {"xml", LUMOS_GATE_JUNIT}, {"json", LUMOS_GATE_JSON}};
  const char *slash = output == NULL ? NULL : strrchr(output, '/');
  const char *dot = output == NULL ? NULL : strrchr(slash == NULL ? output : slash, '.');
  const char *wanted = named != NULL ? named : dot != NULL ? dot + 1 : "md";
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(wanted, names[i].name) == 0) {
      *format = names[i].format;
      return true;
    }
  }
  return lumos_fail(error, "a gate is not written as '%s'; name a file that ends in .md, .xml (JUnit) or .json",
                    wanted);
}

static bool decide(struct lumos_gate *gate, const struct tool_gating *gating, enum lumos_gate_format format,
                   const char *output, struct lumos_error *error) {
  bool regressed = lumos_gate_decide(gate) == LUMOS_GATE_REGRESSION;
  if (!write_form(gate, format, output, error) ||
      (gating->junit != NULL && !write_form(gate, LUMOS_GATE_JUNIT, gating->junit, error))) {
    return false;
  }
  if (regressed) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_gate_put_regressions(gate, &text);
    lumos_text_char(&text, '\0');
    (void)lumos_fail_check(error, "%s", text.bytes);
    lumos_text_free(&text);
  }
  return !regressed;
}

bool tool_gate(const char *name, const struct lumos_operands *operands, const struct tool_gating *gating,
               const struct tool_input *input, const char *output, const char *format, struct lumos_error *error) {
  enum lumos_gate_format form = LUMOS_GATE_MARKDOWN;
  if (gating->thresholds == NULL) {
    return lumos_fail(error, "%s belongs to --gate; name a file of thresholds, as --gate thresholds.json",
                      gating->junit != NULL ? "--junit" : "--baseline");
  }
  if (operands->count > 1) {
    return lumos_fail(error,
                      "--gate takes one job, and %zu are named; what it is compared with comes behind --baseline",
                      operands->count);
  }
  if (!find_format(output, format, &form, error) || !lumos_output_try(output, error) ||
      !lumos_output_try(gating->junit, error)) {
    return false;
  }
  struct lumos_gate *gate = lumos_gate_open(gating->thresholds, error);
  bool good = gate != NULL && has_baselines(gating, error) &&
              add_input(name, operands, input, gate, lumos_gate_test, error) &&
              add_baselines(name, gating, input, gate, error) && lumos_gate_has_baseline(gate, error) &&
              decide(gate, gating, form, output, error);
  lumos_gate_close(gate);
  return good;
}
