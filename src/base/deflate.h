/* Compressed bytes out, in pieces: gzip, or zstd where lumos is built with it. The counterpart of base/inflate.h. */
#ifndef LUMOS_BASE_DEFLATE_H
#define LUMOS_BASE_DEFLATE_H

#include "base/inflate.h"
#include <lumos/error.h>

struct lumos_deflater;

/* The form that a file's name asks for by its ending: ".gz", ".zst", or none. */
enum lumos_form lumos_form_of_name(const char *path);
/* Compresses to the descriptor, which stays the caller's. NULL when this build cannot write the form. */
struct lumos_deflater *lumos_deflater_new(enum lumos_form form, int descriptor) LUMOS_MUST_CHECK;
/* Same bytes in, same bytes out, however they are cut. errno of the first write that failed, or 0; so has finish. */
int lumos_deflater_add(struct lumos_deflater *deflater, const char *bytes, size_t length);
/* Write what is still held, and the end. */
int lumos_deflater_finish(struct lumos_deflater *deflater);
void lumos_deflater_free(struct lumos_deflater *deflater); /* NULL is allowed */

#endif
