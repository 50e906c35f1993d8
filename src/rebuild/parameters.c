#include "rebuild/parameters.h"

static bool is_known(const struct lumos_model_description *model) {
  return model->hidden > 0 && model->heads > 0 && model->head_dim > 0 && model->ffn > 0 && model->vocabulary > 0;
}

/* Attention's four products, the feed-forward's; biases and norms are a thousandth of these. */
static int64_t of_layer(const struct lumos_model_description *model) {
  int64_t hidden = model->hidden, heads = model->heads, keys = model->kv_heads > 0 ? model->kv_heads : heads;
  int64_t matrices = model->ffn_matrices > 0 ? model->ffn_matrices : 2;
  return 2 * hidden * model->head_dim * (heads + keys) + matrices * hidden * model->ffn;
}

/* The head shares its weights with the embedding, as of GPT: a stage that has both has them once. */
int64_t rebuild_parameters(const struct lumos_model_description *model, int32_t layers, bool first, bool last) {
  if (!is_known(model)) {
    return layers;
  }
  int64_t words = (int64_t)model->vocabulary * model->hidden;
  int64_t places = first && model->sequence > 0 ? (int64_t)model->sequence * model->hidden : 0;
  return layers * of_layer(model) + (first || last ? words : 0) + places;
}
