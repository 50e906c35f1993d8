/* How every fallible function of liblumos fails.
 *
 * A fallible function returns false (or NULL) and fills the caller's lumos_error; it never prints and never exits.
 * On success the error is left untouched. The text names the file, where it helps the byte, and the cure:
 *     rank3.json.gz: byte 18273: expected a value; the file may be cut, record it again
 * (bytes count in the inflated text). A tool's main prefixes its own name, prints the text to stderr and exits with
 * `status`. The one exception: when the system refuses memory the process aborts with a message (see lumos/memory.h).
 */
#ifndef LUMOS_ERROR_H
#define LUMOS_ERROR_H

#include <stdbool.h>

enum lumos_status {
  LUMOS_DONE = 0,         /* success */
  LUMOS_CHECK_FAILED = 1, /* a gate, or a check under --strict, failed */
  LUMOS_UNUSABLE = 2,     /* usage, or input that cannot be used */
};

enum { LUMOS_ERROR_TEXT = 1024 };

struct lumos_error {
  enum lumos_status status;
  char text[LUMOS_ERROR_TEXT]; /* always NUL-terminated; cut, never overrun; control bytes replaced by '?' */
};

#define LUMOS_MUST_CHECK __attribute__((warn_unused_result))
#define LUMOS_FORMAT(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))

/* Fill `error` with status LUMOS_UNUSABLE and the formatted text; always returns false, so: return lumos_fail(error,
 * ...). */
bool lumos_fail(struct lumos_error *error, const char *format, ...) LUMOS_FORMAT(2, 3);

/* The same with status LUMOS_CHECK_FAILED: a check that --strict turned into a failure. */
bool lumos_fail_check(struct lumos_error *error, const char *format, ...) LUMOS_FORMAT(2, 3);

/* Put "prefix: " before the text already in `error`; returns false. For callers that know the file's name. */
bool lumos_fail_prefix(struct lumos_error *error, const char *prefix);

#endif
