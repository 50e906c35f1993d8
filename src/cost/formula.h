/* The floating-point operations of a model's step, from its description. */
#ifndef LUMOS_COST_FORMULA_H
#define LUMOS_COST_FORMULA_H

#include <lumos/job.h>

/* Of a transformer with causal attention, on all replicas: of every token, for every weight of a matrix two operations
 * forward, and
 *     hidden x heads x head_dim x 2 + hidden x kv_heads x head_dim x 2 + hidden x ffn x ffn_matrices weights in a
 *     layer, hidden x vocabulary in the head;
 * and 2 x sequence x heads x head_dim in a layer for scores and values, which is half of a full square. Going back
 * takes twice as many again. What is computed again counts once. LUMOS_ABSENT: something is missing, then *missing
 * names it; or it is no such model (experts), or more than fits. `trains`: it goes back, too. */
int64_t lumos_model_step_flops(const struct lumos_job *job, bool trains, const char **missing);

#endif
