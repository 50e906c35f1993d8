/* Fuzzer: the stream reader over any bytes, as it is and with --edited. What it accepts is a sound job, also after its
 * later stages are dropped; what it accepts unedited it accepts edited, to the same bytes.
 */
#include "fuzz.h"

static void drop_stages(struct lumos_job *job) {
  for (enum lumos_stage stage = LUMOS_STAGE_TRANSFORM; stage >= LUMOS_STAGE_PARSE; stage--) {
    if (job->stage > stage) {
      lumos_job_rewind(job, stage);
      fuzz_expect_sound(job);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lumos_job *plain = fuzz_read(data, size, false);
  struct lumos_job *edited = fuzz_read(data, size, true);
  if (plain != NULL && edited == NULL) {
    fuzz_fail("what is accepted as it is, is accepted with --edited", "it is refused");
  }
  if (plain != NULL) {
    struct lumos_text one = fuzz_written(plain);
    struct lumos_text other = fuzz_written(edited);
    fuzz_expect_same(&one, &other, "--edited changes nothing where nothing was edited");
    lumos_text_free(&one);
    lumos_text_free(&other);
  }
  if (edited != NULL) {
    fuzz_expect_sound(edited);
    drop_stages(edited);
  }
  lumos_job_free(edited);
  lumos_job_free(plain);
  return 0;
}
