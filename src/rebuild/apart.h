/* How far apart members of a collective end, and when the last of other numbers of them does. */
#ifndef LUMOS_REBUILD_APART_H
#define LUMOS_REBUILD_APART_H

#include "base/numbering.h"
#include <lumos/job.h>

struct rebuild_apart {
  const struct lumos_job *job;
  struct lumos_numbering families; /* collectives of an operation, of as many bytes and members */
  uint32_t *family_of;             /* by collective; LUMOS_NONE: nothing shows how far apart it ends */
  LUMOS_VECTOR(struct rebuild_behind {
    uint32_t family;
    double share; /* of the transfer: by so much a member ends behind the first */
  })
  members;       /* by both */
  size_t *first; /* by family, and one more: its members */
};

/* Of a recorded job. O(members log members). */
void rebuild_apart_find(struct rebuild_apart *apart, const struct lumos_job *job);
void rebuild_apart_free(struct rebuild_apart *apart);

/* By how much the first member of a collective ends before the end that its transfer tells, ns; at least 0. */
int64_t rebuild_apart_early(const struct rebuild_apart *apart, uint32_t collective);

/* By how much the last of `count` members like those of a collective is expected to end behind the first of a recorded
 * one, as a share of the transfer; 0: too few were recorded to say. O(members of its family). */
double rebuild_apart_last(const struct rebuild_apart *apart, uint32_t collective, int32_t count);

#endif
