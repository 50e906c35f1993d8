/* Pipeline schedules: the order in which a stage works through forward, backward and weight passes, and what it sends
 * and receives between them. Only orders: when each runs, the machine finds out.
 */
#ifndef EMULATOR_SCHEDULE_H
#define EMULATOR_SCHEDULE_H

#include "setup.h"
#include "work.h"

struct pass {
  uint8_t
      phase; /* PHASE_FORWARD, PHASE_BACKWARD (with its weights, unless the schedule is zero-bubble), PHASE_WEIGHT */
  int16_t micro_batch;
  int16_t chunk; /* 0 but for interleaved schedules */
};

/* The passes of a stage in one step, in order. Returns their number and sets *passes, which the caller frees. 1F1B:
 * stage s has p - 1 - s warm-up forwards; interleaved: 2 (p - 1 - s) + (chunks - 1) p of them in groups of p
 * micro-batches (micro_batches must be a multiple of p); zero-bubble H1: as 1F1B, and the weights of micro-batch i are
 * done after the backward of i + s (with so many stages before it), the rest at the end. */
int schedule_passes(const struct setup *setup, int stage, struct pass **passes);

#endif
