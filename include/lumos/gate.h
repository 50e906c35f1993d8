/* A gate: is a job worse than before? Metrics of a report are held against thresholds, from a baseline (one report) or
 * a history (several).
 *
 * Of each metric the mean over a report's steps counts; the first of three steps or more is left out, of a changed
 * job of two, as in reports. A change is
 *
 *   regression     worse by more than the threshold, and by more than its noise
 *   improvement    better by more than both
 *   neutral        within the threshold, and the noise is, too
 *   inconclusive   anything else: the noise hides it, is unknown, or there is no value; or a trace of the tested job is
 *                  cut or damaged, so its steps may lack work
 *
 * Noise is the half of a 95 % interval of the change: against one report from how steps vary in both (Student's t-test
 * with one variance), against several from how these differ (a prediction interval of Student's t); with the ranges
 * that predictions have, and at least what the threshold says.
 *
 * A recording counts once: a baseline whose values by step are all those of the tested report, or of an earlier
 * baseline, is the same recording, or a copy of its report, and is left out. So is a baseline whose trace is cut or
 * damaged.
 */
#ifndef LUMOS_GATE_H
#define LUMOS_GATE_H

#include <lumos/error.h>
#include <stddef.h>

enum lumos_gate_verdict { LUMOS_GATE_NEUTRAL, LUMOS_GATE_IMPROVEMENT, LUMOS_GATE_INCONCLUSIVE, LUMOS_GATE_REGRESSION };
const char *lumos_gate_verdict_name(enum lumos_gate_verdict verdict); /* "neutral" and so on */

struct lumos_gate;
struct lumos_text;

/* The thresholds in a file; its schema is in lumos-render(1). NULL with an error that names what is wrong in it. */
struct lumos_gate *lumos_gate_open(const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_gate_close(struct lumos_gate *gate); /* NULL is allowed */

/* Is it a report in JSON, from its first bytes? */
bool lumos_gate_is_report(const char *bytes, size_t length);
/* Add a report in JSON (lumos_report), a NUL behind it: first the one that is tested, then those of the baseline. */
bool lumos_gate_test(struct lumos_gate *gate, const char *report, struct lumos_error *error) LUMOS_MUST_CHECK;
bool lumos_gate_baseline(struct lumos_gate *gate, const char *report, struct lumos_error *error) LUMOS_MUST_CHECK;
/* Add the reports in JSON, *.json, of a folder, but for what gates wrote there, *.gate.json; *added: how many. Those
 * that cannot be read are left out; the tested report and copies are counted. True with *added 0 for a path that is not
 * a folder, or has no report in it; false where the folder cannot be listed. */
bool lumos_gate_baseline_folder(struct lumos_gate *gate, const char *folder, size_t *added,
                                struct lumos_error *error) LUMOS_MUST_CHECK;

/* Is there a report left to compare with? */
bool lumos_gate_has_baseline(const struct lumos_gate *gate, struct lumos_error *error) LUMOS_MUST_CHECK;
/* The worst of all metrics' verdicts, in the order of the enum; once all reports are there. */
enum lumos_gate_verdict lumos_gate_decide(struct lumos_gate *gate);

enum lumos_gate_format { LUMOS_GATE_MARKDOWN, LUMOS_GATE_JUNIT, LUMOS_GATE_JSON };
/* Write what was decided. */
void lumos_gate_write(const struct lumos_gate *gate, enum lumos_gate_format format, struct lumos_text *out);
/* "regression: step_time +12.3 %", a clause for a message. */
void lumos_gate_put_regressions(const struct lumos_gate *gate, struct lumos_text *out);

#endif
