/* Notes (what was skipped, repaired, inferred) and history. */
#ifndef LUMOS_REPORT_NOTES_H
#define LUMOS_REPORT_NOTES_H

#include "report/text/template.h"
#include <lumos/job.h>

/* Sections `notes` (level, code, text, count, where, cure; the worst first; notes that differ only in their rank are
 * one), of which all but the first so many warnings are in `folded_notes` (`notes`, folded_count); and `history` (tool,
 * version, args, inputs: how many, with `details` their names); `changes` (args): what was asked of lumos-transform. */
#define REPORT_ALL_NOTES SIZE_MAX /* none is folded */
void report_fill_notes(const struct lumos_job *job, bool details, size_t warnings, struct report_scope *scope);

/* Section `assumptions` with its `list` (text): what the changes noted of themselves; no item where they noted
 * nothing. */
void report_fill_assumptions(const struct lumos_job *job, struct report_scope *scope);

/* The same notes as a JSON array, safe inside <script>. */
void report_notes_json(const struct lumos_job *job, struct lumos_text *out);

#endif
