/* From the clock of a rank's own rows to job time, the one time that ranks share. */
#include <lumos/job.h>

#include <stdbool.h>

enum { NS_PER_S = 1000000000 };

/* Every time of the stream is below. */
static const int64_t time_limit = (int64_t)1 << 53;

/* Rounded to nearest, so that an instant means the same wherever it is converted. */
static int64_t drifted(int64_t t, int64_t drift_ppb) {
  __int128 product = (__int128)t * drift_ppb;
  __int128 half = product < 0 ? -(NS_PER_S / 2) : NS_PER_S / 2;
  __int128 drift = (product + half) / NS_PER_S;
  return drift > time_limit ? time_limit : drift < -time_limit ? -time_limit : (int64_t)drift;
}

int64_t lumos_host_job_time(const struct lumos_rank *rank, int64_t t) {
  const struct lumos_clock *clock = &rank->clock;
  if (!clock->known) {
    return t;
  }
  return t + clock->offset + (clock->drift_ppb == 0 ? 0 : drifted(t, clock->drift_ppb));
}

int64_t lumos_device_job_time(const struct lumos_rank *rank, int64_t t) {
  return lumos_host_job_time(rank, t) + (rank->clock.known ? rank->clock.device_offset : 0);
}
