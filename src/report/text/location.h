/* Where a file lies, as a text says it: "/home/u/x.py", "C:\Users\u\x.py", "\\server\share\x.py", "file:///x", "~u/x",
 * "../x/y.py".
 *
 * Nothing marks a path off from what stands around it, so its ends are judged. It begins where a word may begin; "a/b",
 * "1/2" and the slashes of a URL begin none. It ends at its closing quote; before the "(line)" of a Python frame that
 * begins the text; else at a space or at punctuation, unless a separator follows soon: folders may have spaces in their
 * names.
 */
#ifndef LUMOS_REPORT_LOCATION_H
#define LUMOS_REPORT_LOCATION_H

#include <stdbool.h>
#include <stddef.h>

struct report_location {
  size_t first, end; /* of the whole path */
  size_t root;       /* where its first folder begins */
  size_t name;       /* where its last part begins */
  bool backslash;    /* separates too */
};

/* Has a text what no path is without? Most texts have not. */
bool report_location_possible(const char *bytes, size_t length);

/* The path that begins at `at`. Constant time where none can, else linear in its length. */
bool report_location_at(const char *bytes, size_t length, size_t at, struct report_location *path);

/* A path's next user name behind `*next`, which begins as path->first: of the home folders /home/NAME, /Users/NAME,
 * ~NAME, and of /tmp/torchinductor_NAME. False: no more. */
bool report_location_user(const char *bytes, const struct report_location *path, size_t *next, size_t *first,
                          size_t *length);

#endif
