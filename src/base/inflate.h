/* One compressed member at a time: gzip through ISA-L or zlib, zstd through libzstd, behind one small interface.
 *
 * base/input.c owns the file and the members in a row; this room knows only bytes in and bytes out.
 */
#ifndef LUMOS_BASE_INFLATE_H
#define LUMOS_BASE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

enum lumos_form { LUMOS_FORM_PLAIN, LUMOS_FORM_GZIP, LUMOS_FORM_ZSTD };

/* Compressed bytes not yet used; advanced by the decoder. */
struct lumos_window {
  unsigned char *bytes;
  size_t count;
};

enum lumos_decoder_step {
  LUMOS_STEP_MORE,    /* needs more input, or more room */
  LUMOS_STEP_END,     /* the member is complete and its checksum is right */
  LUMOS_STEP_DAMAGED, /* *complaint says how */
};

struct lumos_decoder;
/* NULL when this build lacks the form (or for plain text). */
struct lumos_decoder *lumos_decoder_new(enum lumos_form form);
void lumos_decoder_free(struct lumos_decoder *decoder); /* NULL is allowed */
/* Be ready for the next member. */
void lumos_decoder_restart(struct lumos_decoder *decoder);
/* Inflate into `out`; *produced bytes were written, whatever the step says. */
enum lumos_decoder_step lumos_decoder_run(struct lumos_decoder *decoder, struct lumos_window *window, char *out,
                                          size_t capacity, size_t *produced, const char **complaint);

#endif
