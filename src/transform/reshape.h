/* Shapes, and what follows from them, for a rebuild. */
#ifndef LUMOS_TRANSFORM_RESHAPE_H
#define LUMOS_TRANSFORM_RESHAPE_H

#include "transform/sizes.h"

/* Let every rank do the work of one of `contexts` ranks that share each sequence; how many there are stays to be
 * rebuilt. Nothing where there are as many. False: sequences cannot be divided so, or no shapes are known. */
bool lumos_reshape_contexts(struct lumos_job *job, int32_t contexts, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Let every rank do the work of one of `shards` ranks of a tensor-parallel group; how many there are stays to be
 * rebuilt. Nothing where there are as many. False: the job has no tensor parallelism, so that it does not show what its
 * shards tell each other; sizes do not divide; or no shapes are known. `contexts`: ranks that share a sequence, as far
 * as the job's shapes were changed. */
bool lumos_reshape_shards(struct lumos_job *job, int32_t contexts, int32_t shards,
                          struct lumos_error *error) LUMOS_MUST_CHECK;

/* Let every rank of a tensor-parallel group have a part of the sequence between the halves of layers, where
 * it had all of it (on), or the other way round: of what is as wide as the model, but for products and embeddings, and
 * for what those ranks tell each other. False: sequences cannot be divided so, or no shapes are known. */
bool lumos_reshape_sequence(struct lumos_job *job, struct lumos_spread spread, bool on,
                            struct lumos_error *error) LUMOS_MUST_CHECK;

/* Let every rank have the experts of one of `ranks` that share those of each layer; how many there are stays to be
 * rebuilt. Nothing where there are as many. False: they cannot be divided so, or no shapes show them. */
bool lumos_reshape_experts(struct lumos_job *job, struct lumos_spread spread, int32_t ranks,
                           struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
