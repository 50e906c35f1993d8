/* A pipeline whose stages have unequal work: which has most, and what that costs. */
#ifndef LUMOS_REPORT_DIAGNOSIS_IMBALANCE_H
#define LUMOS_REPORT_DIAGNOSIS_IMBALANCE_H

#include "report/diagnosis/figures.h"
#include <lumos/diagnosis.h>

struct diagnosis_imbalance {
  int32_t stage; /* LUMOS_ABSENT_INT: no pipeline, or stages alike */
  int64_t cost;  /* ns of a step */
  int64_t ratio; /* its work to the mean of the other stages', in millionths */
  uint8_t part;  /* enum lumos_part that the others lack or have less of, and takes most of the difference; 0: none */
  int64_t part_time;  /* what it takes of a step */
  int64_t part_ratio; /* to what one of its layers takes, in millionths; LUMOS_ABSENT: no layer of its own is known */
  int32_t idle;       /* how many of the others wait for it: all but those that are nearly as heavy */
  int32_t next;       /* the heaviest of those; LUMOS_ABSENT_INT: none is */
  int32_t layers; /* that it holds; LUMOS_ABSENT_INT: layers are not known, or there are more stages than have room */
  int32_t stages;
  int32_t split[LUMOS_FINDING_STAGES]; /* what each stage should hold, where layers are known */
};

/* With M micro-batches and P stages of work W_s a step, the fastest schedule takes max W + (sum of the others) / M;
 * with the same work in equal parts (M + P - 1) / M mean W. The difference, (M - 1) / M (max W - mean W), is the cost;
 * of one micro-batch there is none. It is no more than what the stage takes longer than the mean stage without waiting.
 * Work is the dearer of two. One is what the GPU computes, without what stragglers take longer, or, if that is more,
 * its launches by what the CPU takes for one, on the mean over all stages; equal parts are no less than the mean of
 * either kind. The other is what the GPU computes alone, though CPUs be busy for longer; the step stays as long as the
 * mean CPU is busy. O(tasks + ranks log ranks + layers x stages). */
struct diagnosis_imbalance diagnosis_find_imbalance(const struct diagnosis_figures *figures);

/* Is there a stage of which no rank was recorded? Then nobody knows whether the others wait for it for its work or for
 * the schedule. O(ranks). */
bool diagnosis_lacks_stages(const struct lumos_job *job);

#endif
