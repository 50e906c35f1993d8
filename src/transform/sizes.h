/* Sizes of the model that shapes are made of, before and after a change. */
#ifndef LUMOS_TRANSFORM_SIZES_H
#define LUMOS_TRANSFORM_SIZES_H

#include <lumos/error.h>
#include <lumos/job.h>

enum lumos_size {
  LUMOS_HIDDEN,
  LUMOS_FFN,
  LUMOS_HEADS,
  LUMOS_KV_HEADS,
  LUMOS_HEAD_DIM,
  LUMOS_SEQUENCE,
  LUMOS_MICRO_BATCH,
  LUMOS_VOCABULARY,
  LUMOS_SIZES
};

struct lumos_sizes {
  int64_t was[LUMOS_SIZES], now[LUMOS_SIZES]; /* of the whole model; LUMOS_ABSENT: unknown */
  int64_t shards_were, shards;                /* ranks of a tensor-parallel group, at least 1 */
  int64_t ffn_matrices;                       /* 2, or 3 with a gate */
  int64_t experts, chosen;         /* of a layer, and by each of its tokens; 0: there are none; ffn is one's */
  int64_t owners_were, owners;     /* ranks that share the experts, at least 1 */
  bool whole_experts;              /* no tensor-parallel rank has a part of one, but a part of the tokens */
  int64_t parts_were, parts;       /* in which those ranks may have a sequence between halves of layers; 1: whole */
  int64_t contexts_were, contexts; /* ranks that have a part of each sequence throughout, at least 1 */
};

/* Does any op have shapes, by which a description of the model can tell its tensors? */
bool lumos_sizes_recorded(const struct lumos_job *job);

/* What `argument`, such as "hidden=4096,heads=32", makes of the job's model. What is not named follows: ffn, and heads
 * times head_dim, keep their ratio to hidden; kv_heads theirs to heads. False: a name or number is wrong, the recorded
 * size is not known, or the sizes do not divide as they must. */
bool lumos_sizes_read(const struct lumos_job *job, const char *argument, struct lumos_sizes *sizes,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

/* The shapes of a job may be changed already, before the model record is: on how many ranks they are. */
struct lumos_spread {
  int32_t contexts, shards;
};

/* The job's own sizes on so many ranks of a context group, each of which has an early and a late piece of a sequence.
 * False: it cannot be divided so. */
bool lumos_sizes_in_contexts(const struct lumos_job *job, int32_t contexts, struct lumos_sizes *sizes,
                             struct lumos_error *error) LUMOS_MUST_CHECK;

/* The same on so many ranks that share the experts of each layer. False: they cannot be divided so, or are unknown. */
bool lumos_sizes_on_owners(const struct lumos_job *job, struct lumos_spread spread, int32_t owners,
                           struct lumos_sizes *sizes, struct lumos_error *error) LUMOS_MUST_CHECK;

/* The same on so many ranks of a tensor-parallel group, where shapes are of so many contexts. False: something does not
 * divide. */
bool lumos_sizes_on_shards(const struct lumos_job *job, int32_t contexts, int32_t shards, struct lumos_sizes *sizes,
                           struct lumos_error *error) LUMOS_MUST_CHECK;

/* The same with sequences in parts, which were whole (on), or the other way round. False: the
 * model has experts, whose tokens are not understood. */
bool lumos_sizes_in_parts(const struct lumos_job *job, struct lumos_spread spread, bool on, struct lumos_sizes *sizes,
                          struct lumos_error *error) LUMOS_MUST_CHECK;

/* The job's model before or after the change. */
struct lumos_model_description lumos_sizes_model(const struct lumos_job *job, const struct lumos_sizes *sizes,
                                                 bool after);

/* Write them into the job's model. */
void lumos_sizes_keep(struct lumos_job *job, const struct lumos_sizes *sizes);

#endif
