/* Parts of the mean step: by class, by kind of kernel, by layer and by rank; each list adds up to it exactly. */
#ifndef LUMOS_COMPARE_WATERFALL_H
#define LUMOS_COMPARE_WATERFALL_H

#include "compare/items.h"
#include "report/draw/palette.h"

/* Parts by kind alone. */
void compare_kinds(struct lumos_comparison *comparison, const struct compare_side sides[2],
                   const struct compare_items items[2], struct lumos_compared_parts *parts);
void compare_waterfalls(struct lumos_comparison *comparison, const struct compare_side sides[2],
                        const struct compare_items items[2]);

/* The colour of a class by its part's key. */
enum report_paint compare_class_paint(int32_t key);

#endif
