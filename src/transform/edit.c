#include "transform/edit.h"

#include "base/text.h"
#include "job/own.h"
#include "transform/untied.h"
#include <lumos/graph.h>
#include <lumos/transform.h>

bool lumos_edit_begin(struct lumos_job *job, struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_GRAPH && !lumos_graph_build(job, error)) {
    return false;
  }
  lumos_job_rewind(job, LUMOS_STAGE_TRANSFORM);
  job->stage = LUMOS_STAGE_TRANSFORM;
  job->edited = job->edited == LUMOS_ABSENT_INT ? 0 : job->edited;
  return true;
}

bool lumos_edit_select(struct lumos_job *job, const struct lumos_selector *selector, const char *verb,
                       const char *argument, uint8_t *chosen) {
  if (lumos_selector_apply(selector, job, chosen) > 0) {
    return true;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "--%s '%s' selected no task and changed nothing", verb, argument);
  lumos_text_char(&text, '\0');
  lumos_job_note(job, "transform.nothing_selected", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                 "compare the selector with the task records that lumos-parse writes");
  lumos_text_free(&text);
  return false;
}

void lumos_edit_commit(struct lumos_job *job) {
  lumos_job_keep_bases(job);
  if (job->foreign.count > 0) {
    lumos_job_note(job, "transform.dropped_records", LUMOS_WARNING, (int64_t)job->foreign.count, NULL,
                   "records of unknown types were dropped, because they may not fit the changed job", NULL);
    job->foreign.count = 0;
  }
  job->edited += job->edited < INT32_MAX;
  lumos_note_untied_threads(job);
  lumos_note_untied_communication(job);
}

void lumos_edit_record(struct lumos_job *job, const char *verb, const char *argument) {
  struct lumos_text args = LUMOS_TEXT_BUFFER;
  lumos_text_format(&args, "--%s", verb);
  if (argument != NULL) {
    lumos_text_format(&args, " %s", argument);
  }
  lumos_text_char(&args, '\0');
  lumos_job_history(job, "lumos-transform", args.bytes, NULL, 0);
  lumos_text_free(&args);
}
