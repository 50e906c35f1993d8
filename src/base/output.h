/* Bytes out: standard output, or a file that appears whole or not at all: it is written in its folder without a name,
 * then named. A closed pipe downstream is no error; a full disk is. A tool that is stopped by a signal leaves nothing
 * behind. Where the file system knows no files without a name (open(2), O_TMPFILE), which all local ones of Linux do,
 * the whole file is copied before it is named, and there is room for two meanwhile. A name that ends in ".gz" or ".zst"
 * is a file that is compressed so.
 */
#ifndef LUMOS_BASE_OUTPUT_H
#define LUMOS_BASE_OUTPUT_H

#include "base/text.h"
#include <lumos/error.h>

struct lumos_deflater;

enum lumos_output_kind {
  LUMOS_OUTPUT_IN_PLACE,
  LUMOS_OUTPUT_UNNAMED,  /* it gets its first name on commit */
  LUMOS_OUTPUT_FORGOTTEN /* it had one for a moment, and can get no other: a copy does */
};

struct lumos_output {
  struct lumos_text text;          /* write here */
  struct lumos_deflater *deflater; /* through which it goes; NULL: as it is */
  char *path;                      /* NULL: standard output */
  enum lumos_output_kind kind;
};

/* Can a file be written there? For a check before long work; leaves nothing behind. False with a message as of open. */
bool lumos_output_try(const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;
/* path NULL or "-": standard output. False when no file can be made in the folder. */
bool lumos_output_open(struct lumos_output *output, const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;
/* Flush, and give a file its name. False on a failed write (then there is no new file). A closed pipe counts as
 * done. */
bool lumos_output_commit(struct lumos_output *output, struct lumos_error *error) LUMOS_MUST_CHECK;
/* Nothing was written. Safe after commit. */
void lumos_output_discard(struct lumos_output *output);

#endif
