/* Adding up durations by name and kind; the largest come first. */
#ifndef LUMOS_REPORT_TALLY_H
#define LUMOS_REPORT_TALLY_H

#include <lumos/job.h>
#include <lumos/memory.h>

struct report_tally {
  lumos_string_id name;
  uint32_t kind; /* the caller's */
  uint32_t next; /* of the same name */
  int64_t count, total, longest;
};

struct report_tallies {
  const struct lumos_strings *strings;
  uint32_t *first; /* by string id; LUMOS_NONE */
  LUMOS_VECTOR(struct report_tally) rows;
  int64_t count, total; /* of all rows */
};

void report_tallies_begin(struct report_tallies *tallies, const struct lumos_strings *strings);
void report_tallies_free(struct report_tallies *tallies);
/* The row of (name, kind), made when it is new; valid until the next call. O(kinds of the name). */
struct report_tally *report_tally_of(struct report_tallies *tallies, lumos_string_id name, uint32_t kind);
/* `times`: as how many it counts. */
void report_tally_add(struct report_tallies *tallies, lumos_string_id name, uint32_t kind, int64_t duration,
                      int64_t times);
/* Rows by total, largest first; ties by name and kind. No row can be found or added afterwards. */
void report_tallies_sort(struct report_tallies *tallies);

#endif
