/* Names from traces on a page: kernel names reach a thousand bytes. */
#ifndef LUMOS_REPORT_NAMES_H
#define LUMOS_REPORT_NAMES_H

#include "base/text.h"
#include <stddef.h>

/* Up to REPORT_SHORT bytes a name stands as it is; beyond REPORT_LONG bytes nobody reads it. */
enum { REPORT_SHORT = 100, REPORT_LONG = 4096 };

/* At most `limit` bytes of a name, never cutting a character; what was cut is marked by an ellipsis. Not escaped. */
void report_put_cut(struct lumos_text *out, const char *bytes, size_t length, size_t limit);

/* HTML of a name: short ones as they are, long ones folded behind their beginning. */
void report_put_name(struct lumos_text *out, const char *bytes, size_t length);

#endif
