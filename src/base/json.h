/* A pull tokenizer for JSON that lies in memory: the hot loop under the trace reader and the stream reader.
 *
 * The text must be followed by a NUL byte (the sentinel): every function stops there, so none needs the length. A
 * cursor is advanced on success; on failure it stands at the offending byte. No function allocates, recurses deeper
 * than LUMOS_JSON_DEPTH, or reads beyond the sentinel. Strings are slices of the input, escapes not yet decoded.
 */
#ifndef LUMOS_BASE_JSON_H
#define LUMOS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LUMOS_JSON_DEPTH = 64 };

struct lumos_slice {
  const char *bytes; /* inside the quotes */
  size_t length;
  bool escaped; /* holds a backslash: decode with lumos_json_decode before use */
  bool wide;    /* holds a byte beyond ASCII, so it may be invalid UTF-8 */
};

/* Skip blanks, tabs and line ends. */
const char *lumos_json_blank(const char *cursor);

/* The string at *cursor (which must stand on its opening quote). A raw control byte (< 0x20) or the sentinel inside
 * fails. */
bool lumos_json_string(const char **cursor, struct lumos_slice *out);

/* Decode escapes into `out` (room for slice.length bytes); returns the decoded length. A lone surrogate becomes U+FFFD,
 * a bad escape '?' (which has room in every case); *good (if not NULL) says whether there was neither. Invalid UTF-8 is
 * copied as it is. */
size_t lumos_json_decode(const struct lumos_slice *slice, char *out, bool *good);

/* An integer without fraction or exponent within int64_t. Fails, cursor unmoved, on anything else. */
bool lumos_json_integer(const char **cursor, int64_t *out);

/* A decimal number (optional fraction, optional exponent) times 10^scale, as an exact integer when it has at most
 * `scale` decimals, else rounded half away from zero. Fails, cursor unmoved, when it is no number or out of int64_t.
 * Microseconds to nanoseconds: scale 3. Also accepts a quoted number ("12.5"), as some exporters write. */
bool lumos_json_scaled(const char **cursor, int scale, int64_t *out);

/* Skip one value of any type; *out (if not NULL) is its text, a string's quotes included, `escaped` and `wide` false.
 * Inside objects and arrays it checks brackets, strings and depth, not the order of commas and colons. NaN, Infinity,
 * nan and inf pass. */
bool lumos_json_skip(const char **cursor, struct lumos_slice *out);

/* The same for a value that must be valid JSON through and through, but for UTF-8. */
bool lumos_json_skip_valid(const char **cursor);

/* Iterate an object: with the cursor on '{', call lumos_json_open; then lumos_json_key until it returns 0. Returns 1
 * with the key and the cursor on its value (blanks skipped), 0 at the closing brace (cursor behind it), -1 on a fault.
 * The caller consumes the value between calls. `first` is iteration state. */
struct lumos_json_members {
  bool first;
};
bool lumos_json_open(const char **cursor, char bracket, struct lumos_json_members *members); /* bracket: '{' or '[' */
int lumos_json_key(const char **cursor, struct lumos_json_members *members, struct lumos_slice *key);
/* The same for an array: 1 with the cursor on an item, 0 behind ']', -1 on a fault. */
int lumos_json_item(const char **cursor, struct lumos_json_members *members);

/* Is the key this literal?  lumos_json_is(&key, "dur") */
#define lumos_json_is(slice, literal) \
  ((slice)->length == sizeof(literal) - 1 && __builtin_memcmp((slice)->bytes, literal, sizeof(literal) - 1) == 0)

#endif
