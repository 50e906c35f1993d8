/* How many parameters a part of the model has, by its description, and whether its embedding and its head have their
 * own. */
#ifndef LUMOS_PROGRAM_PARAMETERS_H
#define LUMOS_PROGRAM_PARAMETERS_H

#include <lumos/job.h>

/* Are the sizes described that parameters follow from? */
bool program_parameters_known(const struct lumos_model_description *model);

/* Of so many layers, and so many matrices of vocabulary x hidden; with `places`, of the positions' embedding, too.
 * Relative to others of the same model: norms and biases, a thousandth, are left out, and sizes that are not described
 * count as none. */
__int128 program_parameters(const struct lumos_model_description *model, int32_t layers, int32_t words, bool places);

/* Has the head weights of its own, where it is on one rank with the embedding? By the largest stretch of parameters
 * that a tensor or a memset of that rank has; where there is none, by how many numbers its steps clear in rows, against
 * those of the gradients that PyTorch's AccumulateGrad adds up in a backward pass; else by these alone: weights that are
 * shared get one. False where nothing tells. O(tasks + spans). */
bool program_is_untied(const struct lumos_job *job);

#endif
