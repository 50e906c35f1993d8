/* Text out: one growing buffer that JSON lines, HTML and SVG are written into, with an optional sink.
 *
 * With a sink the buffer is flushed in large pieces and never grows beyond about 1 MiB; without one it holds
 * everything. Integers and decimals are written by hand: the bytes do not depend on the locale.
 */
#ifndef LUMOS_BASE_TEXT_H
#define LUMOS_BASE_TEXT_H

#include <lumos/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lumos_text {
  char *bytes;
  size_t length;
  size_t capacity;
  int descriptor; /* where to flush; -1: nowhere, keep all */
  int failure;    /* errno of the first failed write; later writes are dropped */
  /* What writes instead, of `filtering`, and returns 0 or errno, as lumos_deflater_add does; NULL: the bytes go to the
   * descriptor as they are. */
  int (*filter)(void *filtering, const char *bytes, size_t length);
  void *filtering; /* owned by whoever set it */
};

#define LUMOS_TEXT_BUFFER ((struct lumos_text){.descriptor = -1})
#define LUMOS_TEXT_TO(fd) ((struct lumos_text){.descriptor = (fd)})

void lumos_text_free(struct lumos_text *text);

/* Write what is buffered to the descriptor. False when a write failed now or earlier: see text->failure (EPIPE means
 * that the reader has gone, which is no error to a tool). Does nothing without a descriptor. */
bool lumos_text_flush(struct lumos_text *text) LUMOS_MUST_CHECK;

void lumos_text_add(struct lumos_text *text, const char *bytes, size_t length);
/* Room for `extra` bytes behind text->length, for hot loops that write them there themselves and then raise the length.
 * With a sink the buffer is flushed first when it is full. Valid until the next call. */
char *lumos_text_room(struct lumos_text *text, size_t extra);
void lumos_text_put(struct lumos_text *text, const char *nul_terminated);
void lumos_text_char(struct lumos_text *text, char byte);
void lumos_text_format(struct lumos_text *text, const char *format, ...) LUMOS_FORMAT(2, 3); /* not for hot loops */
void lumos_text_integer(struct lumos_text *text, int64_t value);
/* units / 10^decimals with trailing zeros (and a bare point) dropped: (1500000, 6) gives 1.5. decimals 0..18. */
void lumos_text_decimal(struct lumos_text *text, int64_t units, int decimals);
/* The bytes, U+FFFD in the place of each that is not valid UTF-8 or is NUL, at which a string would end. */
void lumos_text_valid_utf8(struct lumos_text *text, const char *bytes, size_t length);
/* A JSON string with its quotes. Bytes that are not valid UTF-8 become U+FFFD; controls (C0, DEL and C1: a terminal may
 * obey them), quote and backslash are escaped; all else is written as it is. */
void lumos_text_json_string(struct lumos_text *text, const char *bytes, size_t length);
/* For HTML and SVG text and quoted attributes: & < > " ' escaped, control bytes but tab and newline and invalid UTF-8
 * become U+FFFD, so that the result is always valid in both. */
void lumos_text_html(struct lumos_text *text, const char *bytes, size_t length);
/* For JSON that stands inside <script>: as lumos_text_json_string, and < > & and U+2028/9 as \u escapes, also what
 * lumos_text_html would replace. */
void lumos_text_script_string(struct lumos_text *text, const char *bytes, size_t length);

#endif
