/* Progress: a line that is rewritten with a carriage return and wiped with the "erase line" sequence. */
#include "base/progress.h"

#include "base/utf8.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int64_t update_interval = 100 * INT64_C(1000000);

static int64_t monotonic_nanoseconds(void) {
  struct timespec now = {0, 0};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool is_capable_terminal(void) {
  const char *terminal = getenv("TERM");
  return isatty(STDERR_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

static void write_line(const char *line, size_t length) {
  ssize_t ignored = write(STDERR_FILENO, line, length); /* progress may be lost, nothing depends on it */
  (void)ignored;
}

void lumos_progress_begin(struct lumos_progress *progress) {
  *progress = (struct lumos_progress){.enabled = is_capable_terminal()};
  progress->next_update = monotonic_nanoseconds() + update_interval;
}

/* The label is the work's name, so that both are compared as they are shown. */
static bool is_other_work(struct lumos_progress *progress, const char *work) {
  char label[LUMOS_PROGRESS_LABEL];
  (void)snprintf(label, sizeof label, "%s", work);
  lumos_utf8_make_printable(label, strlen(label));
  bool other = strcmp(label, progress->label) != 0;
  memcpy(progress->label, label, sizeof label);
  return other;
}

static int percent_of(uint64_t done, uint64_t total) {
  double share = (double)done / (double)total;
  return share >= 1.0 ? 100 : (int)(share * 100.0);
}

static void show(const struct lumos_progress *progress, enum lumos_watch_unit unit, uint64_t done, uint64_t total) {
  char line[160];
  int length = 0;
  bool bytes = unit == LUMOS_WATCH_BYTES;
  const char *name = bytes ? "MB" : unit == LUMOS_WATCH_CONFIGURATIONS ? "configurations" : "tasks";
  uint64_t size = bytes ? 1000000 : 1;
  if (unit == LUMOS_WATCH_NOTHING) {
    length = snprintf(line, sizeof line, "\r\033[K%s", progress->label);
  } else if (total > 0) {
    length = snprintf(line, sizeof line, "\r\033[K%s: %" PRIu64 " of %" PRIu64 " %s, %d %%", progress->label,
                      done / size, total / size, name, percent_of(done, total));
  } else {
    length = snprintf(line, sizeof line, "\r\033[K%s: %" PRIu64 " %s", progress->label, done / size, name);
  }
  if (length > 0 && (size_t)length < sizeof line) {
    write_line(line, (size_t)length);
  }
}

static void look(void *context, const char *work, enum lumos_watch_unit unit, uint64_t done, uint64_t total) {
  struct lumos_progress *progress = context;
  if (!progress->enabled) {
    return;
  }
  bool other = is_other_work(progress, work);
  int64_t now = monotonic_nanoseconds();
  if (now >= progress->next_update || (other && progress->slow)) {
    progress->next_update = now + update_interval;
    progress->shown = progress->slow = true;
    show(progress, unit, done, total);
  }
}

struct lumos_watcher lumos_progress_watcher(struct lumos_progress *progress) {
  return (struct lumos_watcher){look, progress};
}

void lumos_progress_wipe(struct lumos_progress *progress) {
  if (progress->shown) {
    write_line("\r\033[K", 4);
  }
  progress->shown = false;
}
