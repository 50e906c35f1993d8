/* Progress for a person: one line on a terminal, rewritten at most ten times a second and when other work begins, wiped
 * at the end.
 *
 * Nothing is written when standard error is no terminal, so logs and pipes stay clean; nor in the first tenth of a
 * second, so short work shows nothing.
 */
#ifndef LUMOS_BASE_PROGRESS_H
#define LUMOS_BASE_PROGRESS_H

#include <lumos/watch.h>
#include <stdbool.h>

enum { LUMOS_PROGRESS_LABEL = 40 };

struct lumos_progress {
  bool enabled;
  bool shown;          /* a line stands on the terminal */
  bool slow;           /* one stood: all further work is shown as it begins */
  int64_t next_update; /* monotonic nanoseconds */
  char label[LUMOS_PROGRESS_LABEL];
};

void lumos_progress_begin(struct lumos_progress *progress);
/* A watcher that shows what it is told of in `progress`, which must outlive it. Cheap: reads a clock, seldom writes.
 * Names are cut to fit and made safe to print. */
struct lumos_watcher lumos_progress_watcher(struct lumos_progress *progress);
/* Wipe the line: before anything else is printed to the terminal, and at the end. Safe at any time. */
void lumos_progress_wipe(struct lumos_progress *progress);

#endif
