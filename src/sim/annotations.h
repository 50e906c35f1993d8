/* What the program's own annotations (record_function, NVTX ranges) cost, by name: metrics annotation_cpu_time,
 * annotation_gpu_time and annotation_count. */
#ifndef LUMOS_SIM_ANNOTATIONS_H
#define LUMOS_SIM_ANNOTATIONS_H

#include "sim/steps.h"

void lumos_write_annotations(struct lumos_job *job, const struct lumos_timeline *timeline,
                             const struct lumos_stretches *stretches);

#endif
