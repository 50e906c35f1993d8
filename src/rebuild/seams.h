/* What a thread takes before a piece of a pass that follows another one than in the recording.
 *
 * A thread that is handed a pass wakes up for it, which takes a hundred microseconds and more; where the other thread
 * leaves no trace in between, it is a gap. In the middle of a pass the same work begins as soon as what is before it is
 * done.
 */
#ifndef LUMOS_REBUILD_SEAMS_H
#define LUMOS_REBUILD_SEAMS_H

#include "base/numbering.h"
#include "rebuild/blocks.h"

LUMOS_VECTOR_TYPE(rebuild_times, int64_t);

struct rebuild_seams {
  const struct rebuild_blocks *blocks;
  uint8_t *handed;              /* by task of a thread: another thread hands over to it */
  uint8_t *leads;               /* by lane: a thread that works forward; others are called by such ones */
  struct lumos_numbering kinds; /* of what a block begins with */
  struct rebuild_times lags;    /* by kind, in ns */
  struct lumos_numbering pairs; /* of threads: the first hands over to the second */
  struct rebuild_times wakes;   /* by pair, in ns: up to when the second thread does something */
  LUMOS_VECTOR(uint32_t) deps;  /* by pair: the first one */
};

/* O(tasks + deps). */
void rebuild_seams_find(struct rebuild_seams *seams, const struct rebuild_blocks *blocks);
void rebuild_seams_free(struct rebuild_seams *seams);

/* What comes before a block on its thread. */
enum rebuild_seam {
  REBUILD_SEAM_GOES_ON, /* what is before it, in a pass or around a transfer */
  REBUILD_SEAM_HANDED,  /* another thread, which hands over to it */
  REBUILD_SEAM_BEGINS,  /* another pass of the same thread */
};

/* In the recording. */
enum rebuild_seam rebuild_seam_of(const struct rebuild_seams *seams, const struct rebuild_block *block);

/* The gap before a block where that comes before it, in ns; LUMOS_ABSENT: as recorded. Of what is handed over: behind
 * the wake-up (rebuild_seam_wake). */
int64_t rebuild_seam_lag(const struct rebuild_seams *seams, const struct rebuild_block *block, enum rebuild_seam seam);

/* Until a thread goes on that another one (lanes) hands over to, in ns; *like: such a dep. False: there is no
 * example. */
bool rebuild_seam_wake(const struct rebuild_seams *seams, uint32_t from, uint32_t to, int64_t *wake, uint32_t *like);

#endif
