/* emulated-cluster: run GPT training on a modelled cluster, twice, with the profiler and without, and write the traces and the truth. */
#include "gpt.h"
#include "recorder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool make_folder(const char *folder) {
  struct stat found;
  if (mkdir(folder, 0777) == 0 || (errno == EEXIST && stat(folder, &found) == 0 && S_ISDIR(found.st_mode))) {
    return true;
  }
  fprintf(stderr, "emulated-cluster: %s: %s\n", folder, strerror(errno));
  return false;
}

/* Runs differ only in the profiler: everything random belongs to its place. */
static bool run(const struct setup *setup) {
  struct gpt *trainings[2] = {gpt_new(setup), gpt_new(setup)};
  int count = 0;
  const struct communicator *communicators = gpt_communicators(trainings[0], &count);
  struct recorder *recorder = recorder_new(setup, communicators, count);
  bool good = true;
  for (int profiled = 0; profiled < 2 && good; profiled++) {
    struct software software = gpt_software(trainings[profiled]);
    struct witness witness = recorder_witness(recorder, profiled == 1);
    good = machine_run(setup, &software, communicators, count, profiled == 1, &witness);
  }
  good = good && recorder_write(recorder);
  if (good && !setup->quiet) {
    recorder_tell(recorder, stdout);
  }
  recorder_free(recorder);
  gpt_free(trainings[0]);
  gpt_free(trainings[1]);
  return good;
}

int main(int argc, char **argv) {
  struct setup setup;
  bool done = false;
  bool good = setup_read(&setup, argc, argv, &done);
  if (good && !done) {
    good = make_folder(setup.folder) && run(&setup);
  }
  setup_free(&setup);
  return good ? 0 : 2;
}
