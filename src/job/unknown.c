/* Walking kept members. The text is ours or was checked when it was read, so a fault can only be its end. */
#include "job/unknown.h"

#include <string.h>

bool lumos_unknown_next(const char **cursor, struct lumos_slice *key, struct lumos_slice *member) {
  const char *place = *cursor + (**cursor == ',');
  const char *start = place;
  if (!lumos_json_string(&place, key) || *place != ':') {
    return false;
  }
  place++;
  if (!lumos_json_skip(&place, NULL)) {
    return false;
  }
  *member = (struct lumos_slice){start, (size_t)(place - start), false, false};
  *cursor = place;
  return true;
}

bool lumos_unknown_is_of(const struct lumos_field *object, const struct lumos_slice *key) {
  return object->length == key->length && memcmp(object->key + 2, key->bytes, key->length) == 0;
}
