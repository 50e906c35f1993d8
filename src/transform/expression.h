/* Regular expressions of bounded cost. */
#ifndef LUMOS_TRANSFORM_EXPRESSION_H
#define LUMOS_TRANSFORM_EXPRESSION_H

#include <lumos/error.h>
#include <regex.h>

/* Compile a POSIX extended regular expression that is only asked whether it matches; regfree it. Refused with a reason:
 * what regcomp refuses, what would take it beyond all bounds, and back references, which POSIX extended does not have
 * and whose matching takes exponential time. */
bool lumos_expression_compile(regex_t *regex, const char *text, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
