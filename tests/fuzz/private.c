/* Fuzzer: any bytes as a text of a job that gives away a host, a user and a trace. It grows no more than the names that
 * stand for them ask, and the user's home folder never shows.
 */
#include "fuzz.h"

#include "report/text/privacy.h"

static struct lumos_job *job_with_names(void) {
  struct lumos_job *job = lumos_job_new();
  struct lumos_rank rank = lumos_rank_empty;
  rank.host = lumos_intern_text(job->strings, "node-a17.cluster.example");
  rank.source = lumos_intern_text(job->strings, "node-a17_42.7.pt.trace.json");
  lumos_vector_push(&job->ranks, rank);
  (void)lumos_intern_text(job->strings, "/home/alice/x");
  return job;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char folder[] = "/home/alice/";
  struct lumos_job *job = job_with_names();
  /* The text is among the job's own, so that it is searched for users, too. */
  (void)lumos_intern(job->strings, (const char *)data, size);
  struct report_private_names *names = report_private_names_of(job);
  struct lumos_text shown = LUMOS_TEXT_BUFFER;
  report_privacy_put(names, (const char *)data, size, &shown);
  if (shown.length > 3 * size) {
    fuzz_fail("three bytes become seven at most", shown.bytes);
  }
  if (shown.length > 0 && memmem(shown.bytes, shown.length, folder, sizeof folder - 1) != NULL) {
    fuzz_fail("the home folder does not show", folder);
  }
  lumos_text_free(&shown);
  report_private_names_free(names);
  lumos_job_free(job);
  return 0;
}
