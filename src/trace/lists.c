/* What is not known yet of a list. */
#include "trace/lists.h"

bool lumos_trace_learn_list(struct trace_list *list, const char **cursor, struct lumos_slice *out) {
  if (!lumos_json_skip(cursor, out)) {
    return false;
  }
  unsigned char all = 0;
  for (size_t i = 0; i < out->length; i++) {
    all |= (unsigned char)out->bytes[i];
  }
  out->wide = all >= 0x80;
  if (out->length < TRACE_LIST_BYTES) { /* a word is read where it ends */
    memcpy(list->bytes, out->bytes, out->length);
    list->length = (uint32_t)out->length;
    list->wide = out->wide;
  }
  return true;
}
