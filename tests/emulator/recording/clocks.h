/* The clocks that a trace is written with. Ranks of a node share their host's; each device has its own on top. */
#ifndef EMULATOR_CLOCKS_H
#define EMULATOR_CLOCKS_H

#include "setup.h"

/* Job time 0, in nanoseconds since 1970. */
#define CLOCK_EPOCH INT64_C(1778534550000000000)

struct clock {
  int64_t offset;        /* ns ahead of the job at its time 0 */
  int64_t drift_ppb;     /* ns gained in a second */
  int64_t device_offset; /* of the device's clock against the host's */
};

struct clock clock_of(const struct setup *setup, int rank);

/* What the clock shows at a job time: nanoseconds since CLOCK_EPOCH. */
int64_t clock_host(const struct clock *clock, int64_t time);
int64_t clock_device(const struct clock *clock, int64_t time);

#endif
