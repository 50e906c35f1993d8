/* A program of somebody else: from traces to a page, by what include/lumos declares. */
#include <lumos/file.h>
#include <lumos/job.h>
#include <lumos/report.h>
#include <lumos/sim.h>
#include <lumos/trace.h>
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc < 3) {
    (void)fprintf(stderr, "consumer: TRACE... PAGE\n");
    return LUMOS_UNUSABLE;
  }
  struct lumos_error error = {LUMOS_DONE, ""};
  const struct lumos_trace_options reading = {0};
  const struct lumos_simulation simulation = {.opportunities = true}; /* as the tools do */
  const struct lumos_report_options options = {0};
  bool parsed = false;
  struct lumos_job *job = lumos_trace_open((const char *const *)argv + 1, (size_t)argc - 2, &reading, &parsed, &error);
  bool simulated = job != NULL && lumos_simulate_as(job, &simulation, &error);
  struct lumos_file *page = simulated ? lumos_file_open(argv[argc - 1], &error) : NULL;
  struct lumos_file *verdict = lumos_file_in_memory();
  size_t length = 0;
  bool good = page != NULL && lumos_report(job, &options, lumos_file_text(page), &error) &&
              lumos_report_verdict(job, lumos_file_text(verdict), &error) && lumos_file_commit(page, &error);
  if (good) {
    (void)printf("%s\n", lumos_file_bytes(verdict, &length));
  } else {
    (void)fprintf(stderr, "consumer: %s\n", error.text);
  }
  lumos_file_close(page);
  lumos_file_close(verdict);
  lumos_job_free(job);
  return good ? 0 : (int)error.status;
}
