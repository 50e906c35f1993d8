/* See words.h. */
#include "compare/words.h"

#include <lumos/job.h>

const char *compare_kind_words(uint8_t kind) {
  static const char *const words[LUMOS_TASK_KINDS] = {
      "GPU idle",
      [LUMOS_GEMM] = "matrix products",
      [LUMOS_ATTENTION] = "attention",
      [LUMOS_ELEMENTWISE] = "elementwise kernels",
      [LUMOS_NORM] = "normalization",
      [LUMOS_REDUCTION] = "reductions",
      [LUMOS_OPTIMIZER] = "optimizer kernels",
      [LUMOS_EMBEDDING] = "embedding kernels",
      [LUMOS_COPY] = "copies",
      [LUMOS_MEMSET] = "memsets",
      [LUMOS_COLLECTIVE] = "collectives",
      [LUMOS_P2P] = "sends and receives",
      [LUMOS_OTHER_DEVICE] = "other kernels",
  };
  return kind < LUMOS_TASK_KINDS && words[kind] != NULL ? words[kind] : "calls";
}

const char *compare_phase_words(uint8_t phase) {
  switch (phase) {
    case LUMOS_FORWARD:
      return "forward pass";
    case LUMOS_BACKWARD:
      return "backward pass";
    case LUMOS_WEIGHT:
      return "weight gradients";
    case LUMOS_OPTIMIZER_PHASE:
      return "optimizer";
    default:
      return "";
  }
}
