/* UTF-8: is this byte the start of a valid character, and which one?
 *
 * Names in traces are untrusted: every writer asks here before a byte reaches JSON, HTML or a terminal.
 */
#ifndef LUMOS_BASE_UTF8_H
#define LUMOS_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that starts at `bytes` (1 to 4, at most `length`) with its code point in *point; 0 when the
 * bytes are no valid UTF-8 (overlong forms, surrogates, points above U+10FFFF and cut characters are invalid). */
size_t lumos_utf8_character(const char *bytes, size_t length, uint32_t *point);

/* Is all of it valid UTF-8? */
bool lumos_utf8_valid(const char *bytes, size_t length);

/* Does the character turn the order of the text around it, or break its line? The marks, embeddings, overrides and
 * isolates of bidirectional text (Unicode's UAX 9), and U+2028 and U+2029. In a name from a trace it can make a line
 * read as another one. */
bool lumos_utf8_reorders(uint32_t point);

/* Write `point` (at most U+10FFFF) as UTF-8; returns the bytes written, at most 4. */
size_t lumos_utf8_encode(uint32_t point, char *out);

/* Replace in place, by '?', every control byte (C0, DEL, and C1 in its two-byte form), every byte of a character
 * that reorders, and every byte that is no valid UTF-8:
 * the result can be printed on a terminal. The length stays the same. */
void lumos_utf8_make_printable(char *bytes, size_t length);

#endif
