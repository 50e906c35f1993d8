/* The job: a GPT of four layers, trained by two data-parallel ranks, as PyTorch would run it. */
#ifndef GENERATOR_MODEL_H
#define GENERATOR_MODEL_H

#include "machine.h"

/* Run and settle `steps` steps, the first numbered `first`; what the profiler records begins with step `recorded`. */
void model_run(struct rank ranks[RANKS], int first, int steps, int recorded);

#endif
