/* What a recording holds, and of what it could say how much it says. */
#ifndef LUMOS_TRACE_TALLY_H
#define LUMOS_TRACE_TALLY_H

#include <lumos/checkup.h>

/* `of` 0: this recording has no use for it. */
struct trace_tally {
  int64_t have, of;
  int64_t before; /* of those missing: launched before the recording */
  bool tried;     /* it was recorded, even if none of it can be used */
};

struct trace_tallies {
  struct trace_tally device, launches, ops, steps, ranks, world, communication, shapes, python, files, events;
  struct trace_tally idle_steps;    /* steps, where there are marks and no work in them */
  struct trace_tally unread_device; /* device, where there are rows that nobody understands */
  struct trace_tally calls;         /* device tasks launched during the recording: those whose call is there */
  struct trace_tally categories;    /* rows of known categories, of those that are kept */
  struct trace_tally unread;        /* rows of categories that are read */
  struct trace_tally metadata;
  const char *unknown_names, *unread_names; /* the other categories, in the job's text; NULL */
  struct trace_tally sync, graphs;          /* where the device is not ROCm's */
  struct trace_tally sync_hip, graphs_hip;  /* where it is: its profiler cannot record them */
};

/* Count what the checkup says of holdings, and the tallies. O(tasks and the spans around them). */
void lumos_trace_tally(const struct lumos_job *job, struct lumos_checkup *checkup, struct trace_tallies *tallies);

#endif
