/* A sweep as a page: which configuration is best, how sure that is, and all of them. */
#ifndef LUMOS_SWEEP_PAGE_H
#define LUMOS_SWEEP_PAGE_H

#include "sweep/rows.h"

/* Of sorted rows. */
bool sweep_page(const struct sweep_rows *rows, struct lumos_text *out, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
