/* How the checks say what is wrong: the record first, then the matter. */
#include "job/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { NAME_LENGTH = 96 };

/* The number of a rank by its index, which may be wrong. */
static int32_t rank_number(const struct lumos_job *job, uint32_t rank) {
  return rank < job->ranks.count ? job->ranks.items[rank].rank : -1;
}

static void name_record(const struct lumos_job *job, enum lumos_record_kind kind, size_t index,
                        char name[NAME_LENGTH]) {
  if (kind == RECORD_TASK) {
    const struct lumos_task *task = &job->tasks.items[index];
    uint32_t rank = task->lane < job->lanes.count ? job->lanes.items[task->lane].rank : LUMOS_NONE;
    (void)snprintf(name, NAME_LENGTH, "task %d:%" PRIu32, rank_number(job, rank), task->id);
  } else if (kind == RECORD_SPAN) {
    const struct lumos_span *span = &job->spans.items[index];
    (void)snprintf(name, NAME_LENGTH, "span %d:%" PRIu32, rank_number(job, span->rank), span->id);
  } else if (kind == RECORD_COLLECTIVE) {
    (void)snprintf(name, NAME_LENGTH, "collective c:%" PRIu32, job->collectives.items[index].id);
  } else if (kind == RECORD_RANK) {
    (void)snprintf(name, NAME_LENGTH, "rank %d", job->ranks.items[index].rank);
  } else {
    (void)snprintf(name, NAME_LENGTH, "%s record %zu", lumos_schema[kind].name, index + 1);
  }
}

bool lumos_check_fail(const struct lumos_check *check, enum lumos_record_kind kind, size_t index, const char *format,
                      ...) {
  char name[NAME_LENGTH];
  char text[LUMOS_ERROR_TEXT];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  name_record(check->job, kind, index, name);
  return lumos_fail(check->error, "%s: %s; make the stream again", name, text);
}
