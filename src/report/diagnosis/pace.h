/* How fast a rank's GPU is: the same kernels of layers against those of other ranks. */
#ifndef LUMOS_REPORT_DIAGNOSIS_PACE_H
#define LUMOS_REPORT_DIAGNOSIS_PACE_H

#include "report/diagnosis/figures.h"

/* Sets `pace` of each rank: how many times as long its kernels take, in millionths; LUMOS_ABSENT where no layers are
 * known, or no other rank runs the same. Kernels are the same if they are the n-th of their name in a layer's pass of
 * one phase, on whichever stage, since layers are alike; so neither more layers nor a large head are taken for a slow
 * GPU. Of each kernel the mean is held against the one that a quarter of the ranks come before' means; the pace is the
 * median over kernels by their time, so that those beside communication, which are slower, do not count. O(tasks log
 * tasks). */
void diagnosis_read_paces(struct diagnosis_figures *figures);

/* A pace from which on a GPU is slow (chosen: chips of one kind differ by some percent), one from which on its kernels
 * explain that its rank is late, and one from which on a CPU is slow (chosen: like ranks' differ by some percent). */
enum { DIAGNOSIS_SLOW_PACE = 1150000, DIAGNOSIS_SLOWER_PACE = 1050000, DIAGNOSIS_SLOW_CPU = 1100000 };

#endif
