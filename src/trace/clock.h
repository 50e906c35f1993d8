/* The clocks of a trace: when its times count from, and how far its runtime rows are off its op rows. */
#ifndef LUMOS_TRACE_CLOCK_H
#define LUMOS_TRACE_CLOCK_H

#include "trace/raw.h"

struct trace_shift {
  bool known;            /* there are calls and ops to go by */
  int64_t offset;        /* ns that were added to every runtime row */
  int64_t doubt;         /* half the width of the interval of offsets that fit as well */
  int64_t before, after; /* calls that lie across the border of an op, before and after the shift */
};

struct trace_clock {
  int64_t epoch; /* ns since 1970 of time 0 where the base is known, else as recorded */
  bool base_known;
  int64_t absurd;     /* rows dropped because they lie too far from all others */
  int64_t window_end; /* of the recording, which starts at 0 */
  int64_t rows_end;   /* of the last row but the profiler's own */
  struct trace_shift shift;
};

/* Make all times count from the earliest row: absolute time is baseTimeNanoseconds + ts where the base is written, ts
 * where it is not. Rows more than some 26 days from the median are dropped, and a few far from all others. Runtime rows
 * are shifted. O(rows log rows) at worst. */
void lumos_trace_settle_clock(struct trace *trace, struct trace_clock *clock);

/* Shift the runtime rows against the ops to where the fewest lie across the border of an op, at most a millisecond;
 * only when at least four do, and when that leaves at most half as many. Times must lie within 2^52 of 0. Leaves
 * trace->host_order as the rows stand then. */
void lumos_trace_shift_calls(struct trace *trace, struct trace_shift *shift);

#endif
