/* A comparison as one JSON document; its fields are described in lumos-compare(1). */
#ifndef LUMOS_COMPARE_JSON_H
#define LUMOS_COMPARE_JSON_H

#include "base/text.h"
#include <lumos/compare.h>

void compare_put_json(const struct lumos_comparison *comparison, struct lumos_text *out);
/* The same without its end, so that members can follow. */
void compare_begin_json(const struct lumos_comparison *comparison, struct lumos_text *out);

#endif
