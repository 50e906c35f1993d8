/* --straggler: one rank's GPU is slower, as one with a lower clock is: its kernels take longer, its copies and
 * transfers do not. Others wait for it where they meet, and kernels lose to communication that waits (contend.h).
 */
#include "transform/contend.h"
#include "transform/edit.h"

#include "base/text.h"
#include <lumos/transform.h>
#include <string.h>

bool lumos_transform_straggler(struct lumos_job *job, const char *argument, struct lumos_error *error) {
  size_t digits = strspn(argument, "0123456789");
  if (digits == 0 || argument[digits] != '=') {
    return lumos_fail(error, "--straggler '%s' is not a rank and a factor; write RANK=FACTOR, such as 3=1.2", argument);
  }
  const char *equals = argument + digits;
  struct lumos_text specification = LUMOS_TEXT_BUFFER;
  lumos_text_put(&specification, "rank=");
  lumos_text_add(&specification, argument, digits);
  lumos_text_format(&specification, ",device,not kind=communication,not kind=copy,not kind=memset%s", equals);
  lumos_text_char(&specification, '\0');
  struct lumos_contend contend;
  bool done = lumos_edit_begin(job, error);
  if (done) {
    lumos_contend_begin(&contend, job);
    done = lumos_edit_scale(job, "straggler", argument, specification.bytes, error);
    lumos_contend_end(&contend, job, NULL);
  }
  lumos_text_free(&specification);
  return done;
}
