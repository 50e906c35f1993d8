/* Walking kept members. The text is ours or was checked when it was read, so a fault can only be its end. */
#include "stream/unknown.h"

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
  *member = (struct lumos_slice){start, (size_t)(place - start), false};
  *cursor = place;
  return true;
}
