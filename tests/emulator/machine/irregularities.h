/* How irregular hosts and devices are: every figure in one place, from traces of real jobs.
 *
 * Times in ns, ratios against 1. What varies is drawn as wide as `struct setup` says (jitter); where jitter is switched
 * off it takes its median, and nothing where the mechanism is the delay itself.
 */
#ifndef EMULATOR_IRREGULARITIES_H
#define EMULATOR_IRREGULARITIES_H

#include "chance.h"
#include "program.h"

struct irregularities {
  /* The host. */
  struct spread call[CALLS];  /* a call that does not block */
  struct spread op_cost;      /* of all host work of ops of one name, and behind them, against its nominal time */
  struct spread host_ratio;   /* of one piece of host work, against what its op costs */
  struct spread host_stretch; /* of stretch_length instructions in a row: caches, other processes */
  struct spread host_step;    /* of a rank's whole step */
  struct spread pause;        /* a stall, one in pause_interval ns of host time */
  struct spread data_stall;   /* until a step's data are there */
  struct spread sleep;        /* of what another process does, against its nominal time */
  struct spread hand_over;    /* from the post to the autograd thread's first instruction */
  struct spread graph_ratio;  /* of what a graph's launch spends on its nodes */
  struct spread staging;      /* what one copy in some that pass through their calls adds to its call */
  double staging_share;
  struct spread hand_back;      /* from its last to the waiting thread's next */
  double pause_interval;        /* ns */
  int64_t graph_node;           /* ns that a graph's launch spends on a node */
  double graph_start;           /* the share of that behind which the first may start */
  int64_t stretch_length;       /* instructions */
  int64_t profiled_frame_begin; /* what recording adds before a frame's start, behind its end, and behind a call */
  int64_t profiled_frame_end, profiled_call;
  int64_t profiled_python_begin; /* before and inside a frame of Python's start, and behind its end */
  int64_t profiled_python_inside, profiled_python_end;
  int64_t profiled_python_walk; /* from one open frame to the next when the recording starts */
  struct spread profiled_ratio; /* of each of these */
  /* Of the recording as such: so long before Kineto's window the profiler's span begins, and from the window's end to
   * its mark a row takes so long to be collected. */
  struct spread recording_lead, recording_row;

  /* Between host and device, and between device tasks. */
  struct spread launch_delay; /* from the end of the call on an idle stream; negative: the device was quicker */
  struct spread staged; /* the same, but of a copy that passes through its call: behind what other copies' calls take */
  struct spread task_gap;    /* on a busy stream */
  struct spread event_delay; /* from the awaited end to the end of a wait on the device */
  struct spread graph_edge;  /* the same between nodes of one graph */
  struct spread sm_turn;     /* from the end of a kernel that filled the device until others than its stream's next may
                                 take the SMs: longer than that one needs */
  struct spread sync_return; /* to the end of a call that waits */

  /* The device. */
  struct spread kernel_long[WORK_KINDS]; /* against its own time, from short_kernel on */
  struct spread kernel_short[WORK_KINDS];
  int64_t short_kernel;
  struct spread chip;        /* of all kernels of a device */
  struct spread kernel_step; /* of all kernels of a device in a step */
  /* The share of the setup's contention that a kernel feels; about 1 on average. */
  struct spread contention[WORK_KINDS];
  double throttle_time; /* ns in which the heat follows the load */
  double throttle_from; /* share of time in matrix products and attention from which clocks fall */
  double throttle_most; /* they take so much longer at full heat */

  /* The network. */
  struct spread skew;  /* of a member's end, against skew_start + skew_share of the transfer */
  int64_t skew_start;  /* ns */
  double skew_share;   /* of the transfer */
  double skew_most;    /* of the transfer, behind skew_start */
  int64_t eager_bytes; /* a smaller message leaves its sender without waiting for the receiver */
};

extern const struct irregularities irregularities;

/* Drawn as wide as `width` says, not below the least. */
static inline int64_t irregular_time(const struct spread *spread, double width, double least, uint64_t place) {
  double time = spread_draw_wide(spread, width, least, place);
  return (int64_t)(time < 0 ? time - 0.5 : time + 0.5);
}

static inline double spread_median(const struct spread *spread) { return spread->at[QUANTILES / 2]; }

#endif
