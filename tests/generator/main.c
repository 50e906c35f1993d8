/* example-generator [--layers N] [--steps N] FOLDER [SEED]: writes FOLDER/rank0.json and rank1.json, the traces of a GPT trained by
 * two data-parallel ranks, in the form in which PyTorch's profiler writes them. 4 layers and 3 recorded steps unless more is asked for.
 *
 * An emulation of our own: it shares no code with the library that reads the traces, so each can testify to the other. The
 * traces in examples/traces/ are made by it (tests/generator/make-traces.sh), and a test makes them again and compares.
 */
#include "kineto.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_UP_STEP = 4, FIRST_STEP };

struct settings {
  int layers, steps;
  const char *folder;
  uint64_t seed;
};

static bool number(const char *text, int most, int *value) {
  char *end = NULL;
  long found = strtol(text, &end, 10);
  *value = (int)found;
  return end != text && *end == '\0' && found >= 1 && found <= most;
}

static bool read_settings(int argc, char **argv, struct settings *settings) {
  int at = 1;
  *settings = (struct settings){.layers = 4, .steps = 3, .seed = 1};
  for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
    bool layers = strcmp(argv[at], "--layers") == 0;
    if (!layers && strcmp(argv[at], "--steps") != 0) {
      return false;
    }
    if (!number(argv[at + 1], layers ? MOST_LAYERS : MOST_STEPS, layers ? &settings->layers : &settings->steps)) {
      return false;
    }
  }
  if (at >= argc || argc - at > 2 || argv[at][0] == '-') {
    return false;
  }
  settings->folder = argv[at];
  settings->seed = argc - at == 2 ? strtoull(argv[at + 1], NULL, 10) : 1;
  return true;
}

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
  struct settings settings;
  if (!read_settings(argc, argv, &settings)) {
    fputs("Usage: example-generator [--layers N] [--steps N] FOLDER [SEED]\n", stderr);
    return 2;
  }
  struct rank ranks[RANKS];
  for (int r = 0; r < RANKS; r++) {
    rank_begin(&ranks[r], r, settings.seed, INT64_C(259200000000000) + INT64_C(113000) * r);
  }
  model_run(ranks, settings.layers, WARM_UP_STEP, settings.steps + 1, FIRST_STEP);
  int failed = 0;
  for (int r = 0; r < RANKS; r++) {
    failed |= write_trace(&ranks[r], settings.folder);
    rank_free(&ranks[r]);
  }
  return failed;
}
