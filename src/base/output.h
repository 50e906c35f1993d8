/* Bytes out: standard output, or a file that appears whole or not at all (written in its folder without a name, or under a temporary
 * one, then named or renamed). A closed pipe downstream is no error; a full disk is. A tool that is stopped by a signal leaves nothing behind where
 * the file system knows files without a name (open(2), O_TMPFILE), as all local ones of Linux do. A name that ends in ".gz" or ".zst" is a
 * file that is compressed so.
 */
#ifndef LUMOS_BASE_OUTPUT_H
#define LUMOS_BASE_OUTPUT_H

#include "base/text.h"
#include <lumos/error.h>

struct lumos_output {
  struct lumos_text text; /* write here */
  char *path;             /* NULL: standard output */
  char *temporary;        /* the name that it has meanwhile; NULL: none */
  bool unnamed;           /* it gets its first name on commit */
};

/* Can a file be written there? For a check before long work; leaves nothing behind. False with a message as of open. */
bool lumos_output_try(const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;
/* path NULL or "-": standard output. False when no file can be made in the folder. */
bool lumos_output_open(struct lumos_output *output, const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;
/* Flush, and rename a file into place. False on a failed write (the temporary file is removed). A closed pipe counts as
 * done. */
bool lumos_output_commit(struct lumos_output *output, struct lumos_error *error) LUMOS_MUST_CHECK;
/* Nothing was written. Safe after commit. */
void lumos_output_discard(struct lumos_output *output);

#endif
