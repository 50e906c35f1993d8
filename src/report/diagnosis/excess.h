/* What one rank does for longer than others: the op on its threads, or the kernel on its streams, in which most of the
 * difference is.
 */
#ifndef LUMOS_REPORT_DIAGNOSIS_EXCESS_H
#define LUMOS_REPORT_DIAGNOSIS_EXCESS_H

#include "report/diagnosis/figures.h"

struct diagnosis_excess {
  lumos_string_id name;       /* the op or kernel; LUMOS_NO_STRING: there is none, or no like rank */
  bool before;                /* the time is spent outside of any op, before that one */
  lumos_string_id annotation; /* the program's own, in which the most of it at once is spent then; LUMOS_NO_STRING */
  int64_t time;               /* ns of a step more than the mean of like ranks, in `name` */
  int64_t own, others;        /* what all of it takes in a step, here and on the mean of like ranks */
};

/* Threads that launch kernels: what their tasks take and the time between them, as far as nothing in the graph explains
 * it and they do not wait for the GPU. Like ranks: those of the same pipeline stage that are no stragglers, or else the
 * other ranks of the stage; without a stage all. O(tasks). */
struct diagnosis_excess diagnosis_thread_excess(const struct diagnosis_figures *figures, uint32_t rank);
/* Streams: kernels other than communication, copies included. O(tasks). */
struct diagnosis_excess diagnosis_kernel_excess(const struct diagnosis_figures *figures, uint32_t rank);

#endif
