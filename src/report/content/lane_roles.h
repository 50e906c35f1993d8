/* What lanes are called: threads are CPU lanes ("CPU main", "CPU autograd"), streams go by what runs on them
 * ("compute", "tensor-parallel communication", "copies"), with their number where a rank has several alike. */
#ifndef LUMOS_REPORT_LANE_ROLES_H
#define LUMOS_REPORT_LANE_ROLES_H

#include "base/text.h"
#include <lumos/job.h>

enum report_lane_role {
  ROLE_UNKNOWN,
  ROLE_MAIN,
  ROLE_AUTOGRAD,
  ROLE_THREAD, /* of no known purpose */
  ROLE_COMPUTE,
  ROLE_COPIES,
  ROLE_COMMUNICATION,
  ROLE_AXIS, /* from here on communication along an axis: ROLE_AXIS + enum lumos_role */
  ROLE_LAST = ROLE_AXIS + LUMOS_OTHER_ROLE
};

struct report_lane_roles {
  const struct lumos_job *job;
  uint8_t *of;     /* by lane; enum report_lane_role */
  bool *has_alike; /* by lane: another lane of its rank has the same role */
};

/* The job outlives the roles. O(tasks). */
void report_lane_roles_read(const struct lumos_job *job, struct report_lane_roles *roles);
void report_lane_roles_free(struct report_lane_roles *roles);

/* "stream 7", "thread 1382": a lane in words; long numbers keep their end. */
void report_put_lane(struct lumos_text *out, const struct lumos_job *job, uint32_t lane);

/* For a narrow place: "CPU main", "compute", "TP communication", "compute 20". */
void report_put_lane_short(const struct report_lane_roles *roles, uint32_t lane, struct lumos_text *out);
/* In full, with the number that other tools show: "tensor-parallel communication (stream 20)". */
void report_put_lane_full(const struct report_lane_roles *roles, uint32_t lane, struct lumos_text *out);

#endif
