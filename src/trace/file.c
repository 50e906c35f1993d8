/* One trace, from text to a job of one rank: scan, clocks, steps, tasks and spans, facts, notes. */
#include "trace/file.h"

#include "trace/build.h"
#include "trace/facts.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A note on this rank with a formatted text. */
static void note(struct lumos_job *job, const char *code, enum lumos_level level, int64_t count, const char *cure,
                 const char *format, ...) LUMOS_FORMAT(6, 7);

static void note(struct lumos_job *job, const char *code, enum lumos_level level, int64_t count, const char *cure,
                 const char *format, ...) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  lumos_text_free(&text);
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = job->ranks.items[0].rank;
  lumos_job_note(job, code, level, count, &scope, line, cure);
}
