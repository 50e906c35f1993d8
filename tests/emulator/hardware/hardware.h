/* The GPUs that can be emulated, with their makers' figures and the shares of them that real programs reach. */
#ifndef EMULATOR_HARDWARE_H
#define EMULATOR_HARDWARE_H

#include <stdint.h>

struct gpu {
  const char *label;     /* for the command line: h100 */
  const char *name;      /* as traces have it */
  int sms, major, minor; /* compute capability */
  int nvlink_channels;   /* that NCCL opens within a node */
  int64_t memory;        /* bytes */
  int64_t shared_memory; /* of an SM */
  double flops;          /* dense bfloat16, peak, floating-point operations a ns */
  double reached_flops;  /* share of the peak that the best matrix product reaches */
  double bandwidth;      /* memory, bytes a ns */
  double reached_bandwidth;
  double nvlink;            /* bytes a ns, one direction, all links of a GPU */
  double channel_bandwidth; /* bytes a ns of one channel, simple protocol */
};

/* NULL if there is none. */
const struct gpu *gpu_find(const char *label);

#endif
