/* A stream that is read and written is the same stream, byte by byte. */
#include "job/schema.h"
#include "stream_unit.h"

static void a_full_stream_comes_back_in_bytes(void **state) {
  (void)state;
  struct lumos_job *job = stream_good(full_stream);
  expect_stream(job, full_stream);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_full_stream_comes_back_in_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
