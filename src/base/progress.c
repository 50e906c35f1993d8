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

void lumos_progress_begin(struct lumos_progress *progress, const char *label, bool wanted) {
  *progress = (struct lumos_progress){.enabled = wanted && is_capable_terminal()};
  progress->next_update = monotonic_nanoseconds() + update_interval; /* short work shows nothing */
  (void)snprintf(progress->label, sizeof progress->label, "%s", label);
  lumos_utf8_make_printable(progress->label, strlen(progress->label));
}

void lumos_progress_update(struct lumos_progress *progress, uint64_t done_bytes, uint64_t total_bytes) {
  if (!progress->enabled) {
    return;
  }
  int64_t now = monotonic_nanoseconds();
  if (now < progress->next_update) {
    return;
  }
  progress->next_update = now + update_interval;
  progress->shown = true;
  char line[128];
  int length = 0;
  uint64_t megabytes = done_bytes / 1000000;
  if (total_bytes > 0) {
    double share = (double)done_bytes / (double)total_bytes;
    int percent = share >= 1.0 ? 100 : (int)(share * 100.0);
    length = snprintf(line, sizeof line, "\r\033[K%s: %" PRIu64 " of %" PRIu64 " MB, %d %%", progress->label, megabytes,
                      total_bytes / 1000000, percent);
  } else {
    length = snprintf(line, sizeof line, "\r\033[K%s: %" PRIu64 " MB", progress->label, megabytes);
  }
  if (length > 0 && (size_t)length < sizeof line) {
    write_line(line, (size_t)length);
  }
}

void lumos_progress_finish(struct lumos_progress *progress) {
  if (progress->shown) {
    write_line("\r\033[K", 4);
  }
  progress->shown = false;
  progress->enabled = false;
}
