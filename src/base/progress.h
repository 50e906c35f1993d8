/* Progress for a person: one line on a terminal, rewritten at most ten times a second, wiped at the end.
 *
 * Nothing is written when standard error is no terminal, so logs and pipes stay clean.
 */
#ifndef LUMOS_BASE_PROGRESS_H
#define LUMOS_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { LUMOS_PROGRESS_LABEL = 40 };

struct lumos_progress {
  bool enabled;
  bool shown;          /* a line stands on the terminal */
  int64_t next_update; /* monotonic nanoseconds */
  char label[LUMOS_PROGRESS_LABEL];
};

/* `wanted` false (as for --quiet) keeps it silent. The label is copied, cut to fit and made safe to print. */
void lumos_progress_begin(struct lumos_progress *progress, const char *label, bool wanted);
/* `total` 0: unknown, only the amount is shown. Cheap: reads a clock, seldom writes. */
void lumos_progress_update(struct lumos_progress *progress, uint64_t done_bytes, uint64_t total_bytes);
/* Wipe the line. Call before printing anything else to standard error; safe to call twice. */
void lumos_progress_finish(struct lumos_progress *progress);

#endif
