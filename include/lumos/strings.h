/* Interned strings: every distinct byte string once, named by a dense uint32_t.
 *
 * Kernel and op names repeat thousands of times; records hold ids, so comparing names is comparing integers.
 * Id 0 (LUMOS_NO_STRING) means "absent"; the empty string has an id of its own.
 */
#ifndef LUMOS_STRINGS_H
#define LUMOS_STRINGS_H

#include <stddef.h>
#include <stdint.h>

enum { LUMOS_NO_STRING = 0 };

struct lumos_strings;
struct lumos_strings *lumos_strings_new(void);
void lumos_strings_free(struct lumos_strings *strings); /* NULL is allowed */

/* The id of `text`, added when new. O(length). Text may hold any byte, NUL included. */
uint32_t lumos_intern(struct lumos_strings *strings, const char *text, size_t length);
/* The same for a NUL-terminated string. */
uint32_t lumos_intern_text(struct lumos_strings *strings, const char *text);
/* The id of `text` if it is there, else LUMOS_NO_STRING. */
uint32_t lumos_interned(const struct lumos_strings *strings, const char *text, size_t length);

/* The bytes of `id`, NUL-terminated, valid until the table is freed; "" for LUMOS_NO_STRING. */
const char *lumos_string(const struct lumos_strings *strings, uint32_t id);
size_t lumos_string_length(const struct lumos_strings *strings, uint32_t id);

/* Ids run from 1 to this number. */
uint32_t lumos_strings_count(const struct lumos_strings *strings);

/* A table of its own with the same texts, of the same ids. O(bytes). */
struct lumos_strings *lumos_strings_copied(const struct lumos_strings *strings);

/* A table with the same ids, whose texts can be replaced; those that are not stay where they are, so `strings` must
 * outlive it and not change. O(count). */
struct lumos_strings *lumos_strings_view(const struct lumos_strings *strings);
/* What `id` reads from now on, copied; it may equal another's. No look-up finds it, nor the text before. */
void lumos_strings_replace(struct lumos_strings *view, uint32_t id, const char *text, size_t length);

#endif
