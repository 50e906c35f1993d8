/* Devices of the table (lumos/hardware.h), found by their names. */
#ifndef LUMOS_COST_HARDWARE_H
#define LUMOS_COST_HARDWARE_H

#include "cost/dtype.h"

#include <lumos/hardware.h>

enum lumos_architecture {
  LUMOS_NO_ARCHITECTURE,
  LUMOS_VOLTA,
  LUMOS_TURING,
  LUMOS_AMPERE,
  LUMOS_ADA,
  LUMOS_HOPPER,
  LUMOS_BLACKWELL,
  LUMOS_CDNA,
  LUMOS_ARCHITECTURES
};

struct lumos_device {
  const char *name;
  const char *const *patterns;
  int pattern_count;
  double bandwidth;    /* bytes a ns, which is GB/s; 0: unknown */
  double host_link;    /* to the host's memory, one way, in the same unit */
  double link;         /* to the other GPUs of its node, all links, one way */
  double network;      /* of its network card, one way, in its maker's server */
  double memory;       /* GiB */
  double sms;          /* streaming multiprocessors, compute units */
  double best_product; /* share of the peak that the best matrix product was measured to reach */
  enum lumos_architecture architecture;
  double peaks[LUMOS_DTYPES]; /* floating-point operations a ns, thousandths of TFLOP/s; 0: unknown */
};

/* The first device whose name it is, or one of whose patterns the recorded name fits; or NULL. */
const struct lumos_device *lumos_hardware_find(const struct lumos_hardware *hardware, const char *name);
/* The device of this name, whatever its case, or else of this recorded name; NULL: none. */
const struct lumos_device *lumos_hardware_named(const struct lumos_hardware *hardware, const char *name);
/* The names that begin with this one, whatever its case, with commas between; how many. */
struct lumos_text;
size_t lumos_hardware_beginning(const struct lumos_hardware *hardware, const char *name, struct lumos_text *names);
struct lumos_nearest;
/* Every device's name. */
void lumos_hardware_offer(const struct lumos_hardware *hardware, struct lumos_nearest *nearest);

#endif
