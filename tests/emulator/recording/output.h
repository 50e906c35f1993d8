/* The folder of a run: rankN.json.gz or rankN.json of the recorded ranks, and truth.json. They come into it all at
 * once, when all are whole, in the place of those of an earlier emulated run; files that nobody can take for a run's
 * are nobody's business.
 */
#ifndef EMULATOR_OUTPUT_H
#define EMULATOR_OUTPUT_H

#include "chance.h"

#include <stdbool.h>

struct output {
  const char *folder;
  char *temporary; /* a folder inside it, where the files are written */
  int lock;        /* the temporary folder, open and locked; -1: not */
  bool is_new;     /* the folder */
};

/* Makes the folder if need be, and removes what killed runs have left in it. False after a message on stderr; so too if
 * it holds a trace or a truth that no emulated run wrote. */
bool output_open(struct output *output, const char *folder);
/* Moves what was written into its place, truth.json last. False after a message on stderr: neither this run's nor an
 * earlier run's files are left. */
bool output_commit(const struct output *output);
/* Removes what is temporary, and the folder if it was made and is empty. */
void output_close(struct output *output);

/* How emulated files are known again: truth.json by its beginning, a trace by its id, the second half of which follows
 * from the first and the rank. */
#define TRUTH_BEGINNING "{\"version\": 1,\n\"arguments\": "
static inline uint64_t trace_id_end(uint64_t beginning, int rank) { return chance_place(beginning, (uint64_t)rank); }

#endif
