#include "rebuild/parameters.h"

/* As much as any model has, or more: products of them fit into what they are multiplied in. */
bool rebuild_parameters_known(const struct lumos_model_description *model) {
  enum { MOST = 1 << 24, MOST_MATRICES = 1 << 10 }; /* chosen */
  const int32_t sizes[] = {model->hidden, model->heads, model->head_dim, model->ffn, model->vocabulary};
  bool known = model->kv_heads <= MOST && model->ffn_matrices <= MOST_MATRICES && model->sequence <= MOST;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    known = known && sizes[i] > 0 && sizes[i] <= MOST;
  }
  return known;
}

/* Attention's four products, the feed-forward's; biases and norms are a thousandth of these. */
static __int128 of_layer(const struct lumos_model_description *model) {
  int64_t hidden = model->hidden, heads = model->heads, keys = model->kv_heads > 0 ? model->kv_heads : heads;
  int64_t matrices = model->ffn_matrices > 0 ? model->ffn_matrices : 2;
  return (__int128)2 * hidden * model->head_dim * (heads + keys) + matrices * hidden * model->ffn;
}

/* The head shares its weights with the embedding, as of GPT: a stage that has both has them once. */
__int128 rebuild_parameters(const struct lumos_model_description *model, int32_t layers, bool first, bool last) {
  if (!rebuild_parameters_known(model)) {
    return layers;
  }
  int64_t words = (int64_t)model->vocabulary * model->hidden;
  int64_t places = first && model->sequence > 0 ? (int64_t)model->sequence * model->hidden : 0;
  return layers * of_layer(model) + (first || last ? words : 0) + places;
}
