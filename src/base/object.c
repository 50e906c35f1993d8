#include "base/object.h"

#include "base/input.h"
#include <stdlib.h>

enum { FILE_LIMIT = 1 << 20 }; /* bytes */

cJSON *lumos_object_read(const char *path, const char *what, const char *example, struct lumos_error *error) {
  size_t length = 0;
  char *text = lumos_input_slurp(path, FILE_LIMIT, &length, error);
  if (text == NULL) {
    return NULL;
  }
  cJSON *document = cJSON_ParseWithOpts(text, NULL, true);
  free(text);
  if (!cJSON_IsObject(document)) {
    (void)lumos_fail(error, "%s: is not %s; write one such as %s", path, what, example);
    cJSON_Delete(document);
    return NULL;
  }
  return document;
}
