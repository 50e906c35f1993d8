/* Small files that users write: one JSON object each. */
#ifndef LUMOS_BASE_OBJECT_H
#define LUMOS_BASE_OBJECT_H

#include <cjson/cJSON.h>
#include <lumos/error.h>

/* At most a megabyte; the caller frees it with cJSON_Delete. NULL: it cannot be read, or "is not WHAT; write one such
 * as EXAMPLE". */
cJSON *lumos_object_read(const char *path, const char *what, const char *example,
                         struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
