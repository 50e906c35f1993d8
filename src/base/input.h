/* Bytes in: a file or standard input, inflated as it is read (gzip with ISA-L, or zlib where that is missing; zstd).
 *
 * The form is told by its first bytes, never by the name. Several gzip members or zstd frames in a row are one text.
 * Memory: a few hundred kB whatever the size of the file.
 */
#ifndef LUMOS_BASE_INPUT_H
#define LUMOS_BASE_INPUT_H

#include <lumos/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lumos_input;

/* Open `path` ("-": standard input) and read its beginning. NULL with an error that names the path and the cure: of an
 * archive (zip, tar) or a compression that is not read, too. */
struct lumos_input *lumos_input_open(const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_input_close(struct lumos_input *input); /* NULL is allowed */

/* Up to `capacity` inflated bytes; 0 at the end. -1: the compressed data are damaged or cut, or reading failed; all
 * bytes before the damage have been delivered by earlier calls, and `error` says what and at which inflated byte. */
int64_t lumos_input_read(struct lumos_input *input, char *bytes, size_t capacity, struct lumos_error *error);

/* What went wrong, without name, byte and cure, for a note that must hold no path; NULL while nothing has. */
const char *lumos_input_fault(const struct lumos_input *input);

/* After a read that failed: does another gzip member begin behind the damage? Then reads go on with it, and the text
 * between is lost. */
bool lumos_input_resume(struct lumos_input *input);

/* The first inflated bytes without taking them: reads deliver them again. Up to `capacity` and LUMOS_INPUT_PEEK bytes,
 * fewer when the input is shorter or damaged there (a read tells the damage). Only before the first read. To tell what
 * an input is. */
enum { LUMOS_INPUT_PEEK = 512 };
size_t lumos_input_peek(struct lumos_input *input, char *bytes, size_t capacity);

/* The whole input with a NUL behind it, malloc'ed for the caller; at most `limit` bytes, more is an error. For
 * documents. */
char *lumos_input_slurp(const char *path, size_t limit, size_t *length, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Bytes read from the file so far and the file's size (0 when unknown): for progress. */
void lumos_input_progress(const struct lumos_input *input, uint64_t *consumed, uint64_t *size);

#endif
