/* Members that the schema does not know, kept as text: "a":1,"b":2. Those of an inner object stand under the object's
 * name, "comm":{"c":3}, which cannot be mistaken for a member of the record itself, because the schema knows that name.
 */
#ifndef LUMOS_JOB_UNKNOWN_H
#define LUMOS_JOB_UNKNOWN_H

#include "base/json.h"
#include "job/schema.h"

/* The next member at *cursor: its key, as it stands between the quotes, and its whole text, key included; the cursor
 * moves behind it and its comma. False at the end. */
bool lumos_unknown_next(const char **cursor, struct lumos_slice *key, struct lumos_slice *member);

/* Does the member of this key hold those of an inner object? */
bool lumos_unknown_is_of(const struct lumos_field *object, const struct lumos_slice *key);

#endif
