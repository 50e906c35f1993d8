/* One row for everything that the formula needs. */
#include "cost/formula.h"

static bool times(int64_t *product, int64_t factor) { return !__builtin_mul_overflow(*product, factor, product); }

/* How many replicas there are: known, or the only rank's. */
static int32_t replicas(const struct lumos_job *job, const struct lumos_model_description *model) {
  bool alone = job->ranks.count == 1 && job->ranks.items[0].world == 1;
  return model->sizes.dp == LUMOS_ABSENT_INT && alone ? 1 : model->sizes.dp;
}

static const char *first_missing(const struct lumos_model_description *model, int32_t dp) {
  const struct {
    int32_t value;
    const char *name;
  } needed[] = {
      {model->layers, "layers"},
      {model->hidden, "hidden"},
      {model->heads, "heads"},
      {model->kv_heads, "kv_heads"},
      {model->head_dim, "head_dim"},
      {model->ffn, "ffn"},
      {model->ffn_matrices, "ffn_matrices"},
      {model->vocabulary, "vocabulary"},
      {model->sequence, "sequence"},
      {model->micro_batch, "micro_batch"},
      {model->micro_batches, "micro_batches"},
      {dp, "the number of replicas (dp)"},
  };
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    if (needed[i].value == LUMOS_ABSENT_INT) {
      return needed[i].name;
    }
  }
  return NULL;
}

int64_t lumos_model_step_flops(const struct lumos_job *job, bool trains, const char **missing) {
  *missing = NULL;
  if (job->models.count == 0) {
    return LUMOS_ABSENT;
  }
  const struct lumos_model_description *model = &job->models.items[0];
  int32_t dp = replicas(job, model);
  *missing = first_missing(model, dp);
  if (*missing != NULL || (model->sizes.ep != LUMOS_ABSENT_INT && model->sizes.ep > 1)) {
    return LUMOS_ABSENT;
  }
  __int128 query = (__int128)model->heads * model->head_dim;
  __int128 key = (__int128)model->kv_heads * model->head_dim;
  __int128 layer =
      (__int128)2 * model->hidden * (query + key) + (__int128)model->hidden * model->ffn * model->ffn_matrices;
  __int128 weights = model->layers * layer + (__int128)model->hidden * model->vocabulary;
  __int128 squares = (__int128)model->layers * model->sequence * query;
  if (weights > INT64_MAX / 4 || squares > INT64_MAX / 4) { /* first, for twice the largest is more than 128 bits */
    return LUMOS_ABSENT;
  }
  int64_t flops = (int64_t)(2 * weights + 2 * squares);
  bool fits = times(&flops, model->sequence) && times(&flops, model->micro_batch) &&
              times(&flops, model->micro_batches) && times(&flops, dp) && times(&flops, trains ? 3 : 1);
  return fits ? flops : LUMOS_ABSENT;
}
