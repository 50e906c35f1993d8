/* Is a text valid JSON through and through? Fed piece by piece, it needs no more of the text than its longest key, so
 * it can stand beside any reader, however lenient that one is: grammar, UTF-8, and keys that stand twice in one object,
 * to any depth.
 */
#ifndef LUMOS_BASE_JSON_CHECK_H
#define LUMOS_BASE_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lumos_json_check;

struct lumos_json_check *lumos_json_check_new(void);
void lumos_json_check_free(struct lumos_json_check *check); /* NULL is allowed */

/* The next bytes of the text. A byte order mark before it is harmless. What follows the first fault is not looked
 * at. */
void lumos_json_check_feed(struct lumos_json_check *check, const char *bytes, size_t count);

/* The first fault, and in *byte where it lies; NULL while there is none. */
const char *lumos_json_check_fault(const struct lumos_json_check *check, uint64_t *byte);

/* Has one whole value been fed? */
bool lumos_json_check_done(const struct lumos_json_check *check);

#endif
