/* A set of private names, and where one of them stands in a text; upper and lower case are the same.
 *
 * Words that say nothing about anybody ("root", "localhost", "node7", "max": what accounts, machines and operations are
 * called everywhere) are not taken in, nor are those of one or two letters.
 */
#ifndef LUMOS_REPORT_PRIVATE_NAMES_H
#define LUMOS_REPORT_PRIVATE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum report_private_kind { PRIVATE_HOST, PRIVATE_USER, PRIVATE_INPUT };

struct report_private_names;
struct report_private_names *report_private_names_new(void);
void report_private_names_free(struct report_private_names *names);

/* The first kind of a name stays. */
void report_private_names_add(struct report_private_names *names, const char *bytes, size_t length,
                              enum report_private_kind kind);
bool report_private_names_has(const struct report_private_names *names, const char *bytes, size_t length,
                              enum report_private_kind kind);

struct report_private_name {
  size_t length;
  enum report_private_kind kind;
};

/* The first place from `at` on where a name may begin, for its first byte; `length`: there is none. */
size_t report_private_names_next(const struct report_private_names *names, const char *bytes, size_t length, size_t at);

/* The longest name that stands at `at` as a word, or several. Its cost does not grow with the number of names. */
bool report_private_names_at(const struct report_private_names *names, const char *bytes, size_t length, size_t at,
                             struct report_private_name *name);

#endif
