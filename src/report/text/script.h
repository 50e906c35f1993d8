/* The page's script, and the digest by which the page's security policy knows it: nothing else on the page may run. */
#ifndef LUMOS_REPORT_SCRIPT_H
#define LUMOS_REPORT_SCRIPT_H

#include "base/text.h"
#include <lumos/error.h>

/* Join the script's files (templates/script-*.js, each from `folder` where that has it) into one function of its own.
 * Fails as report_template_load and report_script_check do. */
bool report_script_load(const char *folder, struct lumos_text *out, struct lumos_error *error) LUMOS_MUST_CHECK;

/* "sha256-..." of the bytes that stand between <script> and </script>. */
void report_put_script_digest(struct lumos_text *out, const char *bytes, size_t length);

/* Can the bytes stand inside a script element as they are? Fails, naming `name`, when they would end it, or hold a byte
 * that a browser reads as another one, so that the digest would not fit. */
bool report_script_check(const char *name, const char *bytes, size_t length,
                         struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
