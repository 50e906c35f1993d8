/* A history: the summaries of a job's reports, night by night, and where they changed.
 *
 * A night is a report in JSON, or better its summary (struct lumos_report_options), in a file NIGHT.json. Beside it may
 * lie its page, NIGHT.html, and what a gate found, NIGHT.gate.json (lumos_gate_write). NIGHT.failed, without a report,
 * is a night that has none; the text in it says why. Files of other names do not matter.
 *
 * A folder of a history holds the nights of a job, and folders with the nights of one job each. Nights of one folder
 * whose reports have different titles are of different jobs. A night that cannot be read is shown as such. Nights whose
 * names begin with a date, as 2026-07-01, are in the order of dates; where the distance of two is more than one and a
 * half times the usual one, the nights between are missing, as are those since its last one that other jobs have.
 */
#ifndef LUMOS_HISTORY_H
#define LUMOS_HISTORY_H

#include <lumos/error.h>
#include <stddef.h>

struct lumos_nights;
struct lumos_text;

/* All nights of the folder. NULL with an error: it cannot be listed, or there is none. O(bytes of the documents +
 * nights^2 of a job). Of a job's nights the last 5,000 are kept. */
struct lumos_nights *lumos_nights_read(const char *folder, struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_nights_free(struct lumos_nights *history); /* NULL is allowed */

struct lumos_nights_options {
  const char *title;           /* NULL: what was found is the title */
  const char *template_folder; /* NULL: the templates compiled in */
};
/* One page that needs nothing else, with links to the nights' pages, as seen from the folder: the trend of each job's
 * step time, exposed communication, MFU and largest overhead, changes with their uncertainty (src/history/changes.h has
 * the method), and a table of the nights. */
bool lumos_nights_page(const struct lumos_nights *history, const struct lumos_nights_options *options,
                       struct lumos_text *out, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
