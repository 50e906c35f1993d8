/* What a factor makes of the times of chosen tasks: the rules of --scale, for whoever changes a job by them and whoever
 * only asks.
 *
 * What is scaled:
 *   a task's dur; of a call that a full queue blocked only what is its own (own_dur), and on threads not what recording
 *     takes; of
 *   a call that waits instead the wait's residual, unless that is time for what is not recorded (unrecorded.h); of a
 *     member whose end its collective
 *   decides instead the collective's transfer; with lags also the lag of threads, less what is not theirs and what
 *     recording
 *   takes, and the lag of hand-overs.
 * Launch lags, stream gaps and residuals of starts stay. A factor of 1 changes nothing.
 */
#ifndef LUMOS_SIM_SCALING_H
#define LUMOS_SIM_SCALING_H

#include <lumos/job.h>

enum { LUMOS_SCALING_UNIT = 1000000 };
#define LUMOS_SCALING_LIMIT ((int64_t)1 << 53) /* no time of a stream is this long */

struct lumos_scaling {
  const struct lumos_job *job;
  int64_t millionths;    /* the factor; results are rounded half up */
  const uint8_t *chosen; /* by task; all members of a collective, or none */
  bool lags;
  bool overflow;    /* a result was 2^53 ns or more, and what it was of stayed */
  uint8_t *decided; /* by task: a chosen collective decides its end */
};

/* job, millionths, chosen and lags are set by the caller. O(tasks). */
void lumos_scaling_open(struct lumos_scaling *scaling);
void lumos_scaling_close(struct lumos_scaling *scaling);

/* What becomes of a task's own times (lumos_own_times), of the lag of a hand-over to it, of its wait's residual, and of
 * a collective's transfer; what nothing changes comes back, LUMOS_ABSENT too. */
struct lumos_times lumos_scaled_times(struct lumos_scaling *scaling, uint32_t task, struct lumos_times own);
int64_t lumos_scaled_handover(struct lumos_scaling *scaling, uint32_t task, int64_t lag);
int64_t lumos_scaled_residual(struct lumos_scaling *scaling, uint32_t task, int64_t residual);
int64_t lumos_scaled_transfer(struct lumos_scaling *scaling, uint32_t collective, int64_t transfer);

/* Are the times of this task, or collective, what the factor is for? */
bool lumos_scaling_takes_dur(const struct lumos_scaling *scaling, uint32_t task);
bool lumos_scaling_takes_residual(const struct lumos_scaling *scaling, uint32_t task);
bool lumos_scaling_takes_transfer(const struct lumos_scaling *scaling, uint32_t collective);

#endif
