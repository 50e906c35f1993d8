/* What kernels lose to communication beside them, as one figure of a job: for how unsure a change of that is. */
#ifndef LUMOS_SIM_BESIDE_H
#define LUMOS_SIM_BESIDE_H

#include "cost/contention.h"

struct lumos_beside {
  double lost;  /* how much longer kernels take while they run beside communication, as a share */
  double error; /* of that share, one standard deviation */
  struct lumos_contention with[LUMOS_CONTENDERS];
  bool kept; /* where a change moves them they are predicted to take what they took; else what they lose is */
};

/* `kept`. As the recording shows it (cost/contention.h), by how long which kernels run beside which communication;
 * where none does, by how long they take. O(tasks log tasks). */
struct lumos_beside lumos_beside_of(const struct lumos_job *job);

/* How much more, and less, of kernels a step has beside communication than if that grew as they do: a kernel that takes
 * twice as long has lost what it lost, not twice that. ns, of the rank that has most of either, or of all together. The
 * steps `first` are not counted, measured and simulated. O(metrics). */
struct lumos_overlap {
  double come, gone;
};
struct lumos_overlap lumos_overlap_changed(const struct lumos_job *job, const int32_t first[2], bool by_rank);

#endif
