/* What the rest of the room asks of a selector beyond transform.h. */
#ifndef LUMOS_TRANSFORM_SELECTOR_H
#define LUMOS_TRANSFORM_SELECTOR_H

#include <lumos/transform.h>

/* Does it name the host as such, and so the time between its events too? */
bool lumos_selector_takes_lags(const struct lumos_selector *selector);

#endif
