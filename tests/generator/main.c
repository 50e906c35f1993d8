/* example-generator FOLDER [SEED]: writes FOLDER/rank0.json and rank1.json, the traces of a small GPT trained by two
 * data-parallel ranks, in the form in which PyTorch's profiler writes them.
 *
 * An emulation of our own: it shares no code with the library that reads the traces, so each can testify to the other. The
 * traces in examples/traces/ are made by it (tests/generator/make-traces.sh), and a test makes them again and compares.
 */
#include "kineto.h"
#include "model.h"

#include <stdlib.h>

enum { WARM_UP_STEP = 4, FIRST_STEP, STEPS = 4 };

static int write_trace(const struct rank *rank, const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/rank%d.json", folder, rank->number);
  FILE *out = fopen(path, "w");
  if (out == NULL) {
    perror(path);
    return 1;
  }
  kineto_write(rank, out);
  int failed = ferror(out);
  if (fclose(out) != 0 || failed) {
    perror(path);
    return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3 || argv[1][0] == '-') {
    fputs("Usage: example-generator FOLDER [SEED]\n", stderr);
    return 2;
  }
  uint64_t seed = argc == 3 ? strtoull(argv[2], NULL, 10) : 1;
  struct rank ranks[RANKS];
  for (int r = 0; r < RANKS; r++) {
    rank_begin(&ranks[r], r, seed, INT64_C(259200000000000) + INT64_C(113000) * r);
  }
  model_run(ranks, WARM_UP_STEP, STEPS, FIRST_STEP);
  int failed = 0;
  for (int r = 0; r < RANKS; r++) {
    failed |= write_trace(&ranks[r], argv[1]);
    rank_free(&ranks[r]);
  }
  return failed;
}
