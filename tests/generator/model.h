/* The job: a GPT, trained by two data-parallel ranks, as PyTorch would run it. */
#ifndef GENERATOR_MODEL_H
#define GENERATOR_MODEL_H

#include "machine.h"

enum { MOST_LAYERS = 200, MOST_STEPS = 10000 };

/* Run and settle `steps` steps (at most MOST_STEPS + 1), the first numbered `first`; what the profiler records begins with step
 * `recorded`. */
void model_run(struct rank ranks[RANKS], int layers, int first, int steps, int recorded);

#endif
