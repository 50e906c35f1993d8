/* Gzip out, in pieces: what is written to `text` leaves compressed. The counterpart of base/inflate.h. */
#ifndef LUMOS_BASE_DEFLATE_H
#define LUMOS_BASE_DEFLATE_H

#include "base/text.h"

struct lumos_deflater;

/* Whatever is compressed is added to `out`, which must outlive it. Same bytes in, same bytes out, however they are
 * cut. */
struct lumos_deflater *lumos_deflater_new(struct lumos_text *out);
void lumos_deflater_add(struct lumos_deflater *deflater, const char *bytes, size_t length);
/* End the member and free. */
void lumos_deflater_finish(struct lumos_deflater *deflater);

#endif
