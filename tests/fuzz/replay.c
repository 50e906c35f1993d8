/* Runs a fuzzer over every file of the folders named on the command line: what was found once is tested in every build,
 * by any compiler. The last file named before a crash is the one. No file at all is a failure.
 */
#include "fuzz.h"

#include <dirent.h>
#include <lumos/memory.h>

/* The bytes of a file, in memory of just their size, so that a sanitizer sees a read beyond them. NULL: it cannot be
 * read. */
static uint8_t *load(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(path);
    return NULL;
  }
  *length = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = lumos_allocate(*length);
  bool whole = fread(bytes, 1, *length, file) == *length;
  (void)fclose(file);
  if (!whole) {
    perror(path);
    free(bytes);
  }
  return whole ? bytes : NULL;
}

static bool replay(const char *folder, const char *name) {
  char path[4096];
  size_t length = 0;
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  uint8_t *bytes = load(path, &length);
  if (bytes == NULL) {
    return false;
  }
  (void)fprintf(stderr, "%s\n", path);
  (void)LLVMFuzzerTestOneInput(bytes, length);
  free(bytes);
  return true;
}

/* How many files were run; -1: one could not be read. */
static int replay_folder(const char *folder) {
  struct dirent **entries = NULL;
  int found = scandir(folder, &entries, NULL, alphasort);
  int run = 0;
  for (int i = 0; i < found; i++) {
    if (run >= 0 && entries[i]->d_name[0] != '.') {
      run = replay(folder, entries[i]->d_name) ? run + 1 : -1;
    }
    free(entries[i]);
  }
  free(entries);
  return run;
}

int main(int argc, char **argv) {
  int run = 0;
  for (int i = 1; i < argc; i++) {
    int files = replay_folder(argv[i]);
    if (files <= 0) {
      (void)fprintf(stderr, "%s: no corpus to read\n", argv[i]);
      return 1;
    }
    run += files;
  }
  (void)fprintf(stderr, "%d inputs\n", run);
  return run == 0;
}
