/* Sentences about a comparison, and the words that they are made of. What they write is not escaped. */
#ifndef LUMOS_COMPARE_VERDICT_H
#define LUMOS_COMPARE_VERDICT_H

#include "base/text.h"
#include <lumos/compare.h>

/* "layer 3", "layers 0-3"; nothing where they are not known. */
void compare_put_layers(struct lumos_text *out, int32_t first, int32_t last);
/* "backward pass, layers 0-3 and head" */
void compare_put_place(struct lumos_text *out, const struct lumos_compared_row *row);
/* At most `limit` bytes of a name. */
void compare_put_name(struct lumos_text *out, const struct lumos_comparison *comparison, lumos_string_id id,
                      size_t limit);
/* The op of a row, or its kernel where it has none; of what is matched by kind alone that kind. */
void compare_put_work(struct lumos_text *out, const struct lumos_comparison *comparison,
                      const struct lumos_compared_row *row, size_t limit);
/* "38", "37.5" */
void compare_put_count(struct lumos_text *out, int64_t thousandths);
/* "cudaMemcpyAsync 38 to 802 calls a step" */
void compare_put_calls(struct lumos_text *out, const struct lumos_comparison *comparison,
                       const struct lumos_compared_row *row);
/* "8192x2048 became 8192x4096": of the inputs that changed the largest. False, and nothing: it is not known. */
bool compare_put_sizes(struct lumos_text *out, const struct lumos_comparison *comparison,
                       const struct lumos_compared_row *row);
/* Does one of the jobs lack work that the other has, because its trace is cut? Not where both are of one recording. */
bool compare_hides_work(const struct lumos_comparison *comparison);
/* How many rows differ by more than steps vary. */
size_t compare_changed_rows(const struct lumos_compared_rows *rows);

#endif
