/* Devices of the table (lumos/hardware.h), found by their names. */
#ifndef LUMOS_COST_HARDWARE_H
#define LUMOS_COST_HARDWARE_H

#include "cost/dtype.h"

#include <lumos/hardware.h>

struct lumos_device {
  const char *name;
  const char *const *patterns;
  int pattern_count;
  double bandwidth;           /* bytes a ns, which is GB/s; 0: unknown */
  double host_link;           /* to the host's memory, one way, in the same unit */
  double peaks[LUMOS_DTYPES]; /* floating-point operations a ns, thousandths of TFLOP/s; 0: unknown */
};

/* The first device one of whose patterns the recorded name fits, or NULL. */
const struct lumos_device *lumos_hardware_find(const struct lumos_hardware *hardware, const char *name);

#endif
