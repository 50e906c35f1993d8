/* Traces that are cut or damaged. Their rows are not in the order of time, so which steps lack work is not known. */
#include "base/text.h"
#include <lumos/job.h>
#include <string.h>

struct lumos_damage lumos_job_damage(const struct lumos_job *job) {
  struct lumos_damage damage = {0, LUMOS_ABSENT_INT, LUMOS_NO_STRING};
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    if (strcmp(lumos_string(job->strings, note->code), LUMOS_NOTE_CUT) == 0 && damage.traces++ == 0) {
      damage.rank = note->scope.rank;
      damage.text = note->text;
    }
  }
  return damage;
}

void lumos_job_put_damage(const struct lumos_job *job, struct lumos_text *out) {
  struct lumos_damage damage = lumos_job_damage(job);
  if (damage.traces == 0) {
    return;
  }
  if (damage.rank != LUMOS_ABSENT_INT) {
    lumos_text_format(out, "rank %d: ", (int)damage.rank);
  }
  const char *text = lumos_string(job->strings, damage.text);
  lumos_text_add(out, text, strcspn(text, ",;")); /* what was read all the same stands behind it */
  if (damage.traces > 1) {
    lumos_text_format(out, ", and %zu more %s cut or damaged", damage.traces - 1, damage.traces == 2 ? "is" : "are");
  }
}
