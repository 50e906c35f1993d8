/* How long threads that launch kernels are blocked until the GPU has finished something, and in the data loader. */
#ifndef LUMOS_REPORT_DIAGNOSIS_BLOCKED_H
#define LUMOS_REPORT_DIAGNOSIS_BLOCKED_H

#include "report/diagnosis/figures.h"

struct diagnosis_blocked {
  int64_t time;       /* ns of a step, on the mean of all ranks */
  lumos_string_id op; /* at which most of it is; LUMOS_NO_STRING */
  int64_t op_time;
};

/* By calls that wait for the GPU. O(tasks). */
struct diagnosis_blocked diagnosis_blocked_by_gpu(const struct diagnosis_figures *figures);

/* By PyTorch's data loader, whose next() is recorded under its own name, of one rank or of the mean (LUMOS_NONE). As
 * recorded. O(spans). */
struct diagnosis_blocked diagnosis_blocked_by_loader(const struct diagnosis_figures *figures, uint32_t rank);

#endif
