/* The kernels of everything that a micro-batch runs, chosen once: a row says which kernel, and over how many
 * elements. */
#include "chance.h"
#include "gpt_state.h"
#include <stdlib.h>
#include <string.h>

/* ---- sizes ---- */

enum size {
  SIZE_ONE,
  SIZE_TOKENS,
  SIZE_HIDDEN,       /* the whole activation */
  SIZE_HIDDEN_SHARD, /* of the rank */
  SIZE_QKV,
  SIZE_HEADS,
  SIZE_KEYS, /* of the whole sequence, or values */
  SIZE_FFN,
  SIZE_LOGITS,
  SIZE_WEIGHT_QKV, /* in the order of enum linear */
  SIZE_WEIGHT_PROJECTION,
  SIZE_WEIGHT_FC1,
  SIZE_WEIGHT_FC2,
  SIZE_WEIGHT_HEAD,
  SIZE_WEIGHT_ROUTER,
  SIZE_BIAS_QKV,
  SIZE_BIAS_FC1,
  SIZE_BIAS_HIDDEN,
  SIZE_NORM,
  SIZE_EXPERTS, /* one of the weights of all experts of a rank */
  SIZE_EXPERT_ROWS,
  SIZE_EXPERT_FFN,
  SIZE_SCORES, /* of every token for every expert; and for those that it takes */
  SIZE_CHOSEN,
  SIZES
};

static void measure(const struct gpt *gpt, int64_t sizes[SIZES]) {
  const struct setup *setup = gpt->setup;
  int64_t tokens = gpt->tokens, hidden = setup->model.hidden;
  sizes[SIZE_ONE] = 1;
  sizes[SIZE_TOKENS] = tokens;
  sizes[SIZE_HIDDEN] = tokens * hidden;
  sizes[SIZE_HIDDEN_SHARD] = tokens * hidden / gpt_sequence_shards(setup);
  sizes[SIZE_QKV] = tokens * gpt_linear_outputs(setup, LINEAR_QKV);
  sizes[SIZE_HEADS] = sizes[SIZE_QKV] / 3;
  sizes[SIZE_KEYS] = sizes[SIZE_HEADS] * setup->parallel.context;
  sizes[SIZE_FFN] = tokens * gpt_linear_outputs(setup, LINEAR_FC1);
  sizes[SIZE_LOGITS] = tokens * gpt_linear_outputs(setup, LINEAR_HEAD);
  for (int i = 0; i < LINEARS; i++)
    sizes[SIZE_WEIGHT_QKV + i] = gpt_linear_inputs(setup, (enum linear)i) * gpt_linear_outputs(setup, (enum linear)i);
  sizes[SIZE_BIAS_QKV] = gpt_linear_outputs(setup, LINEAR_QKV);
  sizes[SIZE_BIAS_FC1] = gpt_linear_outputs(setup, LINEAR_FC1);
  sizes[SIZE_BIAS_HIDDEN] = hidden;
  sizes[SIZE_NORM] = 2 * hidden;
  sizes[SIZE_EXPERTS] = gpt_experts(setup) * sizes[SIZE_WEIGHT_FC1];
  sizes[SIZE_EXPERT_ROWS] = gpt_expert_rows(setup) * hidden;
  sizes[SIZE_EXPERT_FFN] = gpt_expert_rows(setup) * gpt_linear_outputs(setup, LINEAR_FC1);
  sizes[SIZE_SCORES] = gpt_shard_tokens(setup) * setup->model.experts;
  sizes[SIZE_CHOSEN] = gpt_expert_rows(setup);
}

/* ---- kernels ---- */

struct piece_row {
  enum kernel kernel;
  enum size size;
};

/* Attention is not among them: it has a function of its own. */
static const struct piece_row layer_rows[LAYER_PIECES] = {
    [PIECE_NORM_1] = {KERNEL_LAYER_NORM, SIZE_HIDDEN_SHARD},
    [PIECE_NORM_2] = {KERNEL_LAYER_NORM, SIZE_HIDDEN_SHARD},
    [PIECE_CAST_QKV] = {KERNEL_CAST_TO_BFLOAT, SIZE_WEIGHT_QKV},
    [PIECE_CAST_PROJECTION] = {KERNEL_CAST_TO_BFLOAT, SIZE_WEIGHT_PROJECTION},
    [PIECE_CAST_FC1] = {KERNEL_CAST_TO_BFLOAT, SIZE_WEIGHT_FC1},
    [PIECE_CAST_FC2] = {KERNEL_CAST_TO_BFLOAT, SIZE_WEIGHT_FC2},
    [PIECE_ROTARY] = {KERNEL_ROTARY, SIZE_HEADS},
    [PIECE_HEADS_COPY] = {KERNEL_TRANSPOSE, SIZE_HEADS},
    [PIECE_DROPOUT_ADD] = {KERNEL_BIAS_DROPOUT_ADD, SIZE_HIDDEN_SHARD},
    [PIECE_GELU] = {KERNEL_BIAS_GELU, SIZE_FFN},
    [PIECE_DROPOUT_BACKWARD] = {KERNEL_DROPOUT_BACKWARD, SIZE_HIDDEN_SHARD},
    [PIECE_GELU_BACKWARD] = {KERNEL_BIAS_GELU_BACKWARD, SIZE_FFN},
    [PIECE_NORM_BACKWARD_INPUT] = {KERNEL_LAYER_NORM_BACKWARD_INPUT, SIZE_HIDDEN_SHARD},
    [PIECE_NORM_BACKWARD_WEIGHT] = {KERNEL_LAYER_NORM_BACKWARD_WEIGHT, SIZE_HIDDEN_SHARD},
    [PIECE_RESIDUAL_ADD] = {KERNEL_ADD, SIZE_HIDDEN_SHARD},
    [PIECE_ROTARY_BACKWARD] = {KERNEL_ROTARY_BACKWARD, SIZE_HEADS},
    [PIECE_QKV_CONCATENATE] = {KERNEL_TRANSPOSE, SIZE_QKV},
    [PIECE_ATTENTION_DOT] = {KERNEL_ATTENTION_DOT, SIZE_HEADS},
    [PIECE_ATTENTION_CONVERT] = {KERNEL_ATTENTION_CONVERT, SIZE_HEADS},
    [PIECE_BIAS_QKV] = {KERNEL_BIAS_GRADIENT, SIZE_QKV},
    [PIECE_BIAS_PROJECTION] = {KERNEL_BIAS_GRADIENT, SIZE_HIDDEN_SHARD},
    [PIECE_BIAS_FC1] = {KERNEL_BIAS_GRADIENT, SIZE_FFN},
    [PIECE_BIAS_FC2] = {KERNEL_BIAS_GRADIENT, SIZE_HIDDEN_SHARD},
    [PIECE_WRITE_QKV] = {KERNEL_CAST_TO_FLOAT, SIZE_BIAS_QKV},
    [PIECE_WRITE_PROJECTION] = {KERNEL_CAST_TO_FLOAT, SIZE_BIAS_HIDDEN},
    [PIECE_WRITE_FC1] = {KERNEL_CAST_TO_FLOAT, SIZE_BIAS_FC1},
    [PIECE_WRITE_FC2] = {KERNEL_CAST_TO_FLOAT, SIZE_BIAS_HIDDEN},
    [PIECE_WRITE_NORM] = {KERNEL_CAST_TO_FLOAT, SIZE_NORM},
    [PIECE_ADD_QKV] = {KERNEL_GRADIENT_ACCUMULATE, SIZE_BIAS_QKV},
    [PIECE_ADD_PROJECTION] = {KERNEL_GRADIENT_ACCUMULATE, SIZE_BIAS_HIDDEN},
    [PIECE_ADD_FC1] = {KERNEL_GRADIENT_ACCUMULATE, SIZE_BIAS_FC1},
    [PIECE_ADD_FC2] = {KERNEL_GRADIENT_ACCUMULATE, SIZE_BIAS_HIDDEN},
    [PIECE_ADD_NORM] = {KERNEL_GRADIENT_ACCUMULATE, SIZE_NORM},
    [PIECE_KEYS_COPY] = {KERNEL_TRANSPOSE, SIZE_KEYS},
    [PIECE_CAST_ROUTER] = {KERNEL_CAST_TO_BFLOAT, SIZE_WEIGHT_ROUTER},
    [PIECE_CAST_EXPERTS] = {KERNEL_CAST_TO_BFLOAT, SIZE_EXPERTS},
    [PIECE_WRITE_EXPERTS] = {KERNEL_CAST_TO_FLOAT, SIZE_EXPERTS},
    [PIECE_ADD_EXPERTS] = {KERNEL_GRADIENT_ACCUMULATE, SIZE_EXPERTS},
    [PIECE_TOP] = {KERNEL_TOP, SIZE_SCORES},
    [PIECE_SCORES] = {KERNEL_SCORES, SIZE_CHOSEN},
    [PIECE_SCORES_BACKWARD] = {KERNEL_SCORES_BACKWARD, SIZE_CHOSEN},
    [PIECE_SCATTER] = {KERNEL_SCATTER, SIZE_CHOSEN},
    [PIECE_COUNT] = {KERNEL_COUNT, SIZE_SCORES},
    [PIECE_EXPERT_GELU] = {KERNEL_GELU, SIZE_EXPERT_FFN},
    [PIECE_EXPERT_GELU_BACKWARD] = {KERNEL_GELU_BACKWARD, SIZE_EXPERT_FFN},
    [PIECE_PERMUTE] = {KERNEL_PERMUTE, SIZE_EXPERT_ROWS},
    [PIECE_SORT_CHUNKS] = {KERNEL_SORT_CHUNKS, SIZE_EXPERT_ROWS},
    [PIECE_UNPERMUTE] = {KERNEL_UNPERMUTE, SIZE_EXPERT_ROWS},
    [PIECE_UNPERMUTE_BACKWARD] = {KERNEL_UNPERMUTE_BACKWARD, SIZE_EXPERT_ROWS},
};

static const struct piece_row end_rows[END_PIECES] = {
    [PIECE_EMBEDDING] = {KERNEL_EMBEDDING, SIZE_HIDDEN},
    [PIECE_EMBEDDING_COPY] = {KERNEL_TRANSPOSE, SIZE_HIDDEN_SHARD},
    [PIECE_EMBEDDING_SORT] = {KERNEL_EMBEDDING_SORT, SIZE_TOKENS},
    [PIECE_EMBEDDING_BACKWARD] = {KERNEL_EMBEDDING_BACKWARD, SIZE_HIDDEN},
    [PIECE_EMBEDDING_ADD] = {KERNEL_GRADIENT_ACCUMULATE, SIZE_WEIGHT_HEAD},
    [PIECE_FINAL_NORM] = {KERNEL_LAYER_NORM, SIZE_HIDDEN_SHARD},
    [PIECE_CAST_HEAD] = {KERNEL_CAST_TO_BFLOAT, SIZE_WEIGHT_HEAD},
    [PIECE_LOGITS_TO_FLOAT] = {KERNEL_CAST_TO_FLOAT, SIZE_LOGITS},
    [PIECE_LOGITS_MAX] = {KERNEL_LOGITS_MAX, SIZE_LOGITS},
    [PIECE_LOGITS_EXP] = {KERNEL_LOGITS_SUBTRACT_EXP, SIZE_LOGITS},
    [PIECE_LOGITS_SUM] = {KERNEL_LOGITS_SUM, SIZE_LOGITS},
    [PIECE_LOSS_GATHER] = {KERNEL_LOSS_GATHER, SIZE_TOKENS},
    [PIECE_LOSS_LOG] = {KERNEL_LOSS_LOG, SIZE_TOKENS},
    [PIECE_LOSS_MEAN] = {KERNEL_LOSS_MEAN, SIZE_TOKENS},
    [PIECE_LOSS_SCALE] = {KERNEL_SCALE, SIZE_TOKENS},
    [PIECE_LOSS_FILL] = {KERNEL_FILL, SIZE_ONE},
    [PIECE_LOSS_DIVIDE] = {KERNEL_SCALE, SIZE_ONE},
    [PIECE_SOFTMAX_BACKWARD] = {KERNEL_SOFTMAX_BACKWARD, SIZE_LOGITS},
    [PIECE_LOGITS_TO_BFLOAT] = {KERNEL_CAST_TO_BFLOAT, SIZE_LOGITS},
    [PIECE_FINAL_NORM_BACKWARD_INPUT] = {KERNEL_LAYER_NORM_BACKWARD_INPUT, SIZE_HIDDEN_SHARD},
    [PIECE_FINAL_NORM_BACKWARD_WEIGHT] = {KERNEL_LAYER_NORM_BACKWARD_WEIGHT, SIZE_HIDDEN_SHARD},
    [PIECE_FINAL_NORM_WRITE] = {KERNEL_CAST_TO_FLOAT, SIZE_NORM},
    [PIECE_FINAL_NORM_ADD] = {KERNEL_GRADIENT_ACCUMULATE, SIZE_NORM},
};

enum { PLACE_PRODUCT, PLACE_PIECE };

static void choose_products(const struct gpt *gpt, enum linear linear, int layer, struct product_work *products) {
  int64_t inputs = gpt_linear_inputs(gpt->setup, linear), outputs = gpt_linear_outputs(gpt->setup, linear);
  int64_t tokens = linear == LINEAR_ROUTER ? gpt_shard_tokens(gpt->setup) : gpt->tokens;
  const struct gemm gemms[PRODUCTS] = {
      [PRODUCT_FORWARD] = {outputs, tokens, inputs, GEMM_TN, false},
      [PRODUCT_INPUT] = {inputs, tokens, outputs, GEMM_NN, false},
      [PRODUCT_WEIGHT] = {inputs, outputs, tokens, GEMM_NT, false},
      [PRODUCT_WEIGHT_ADDED] = {inputs, outputs, tokens, GEMM_NT, true},
  };
  for (int i = 0; i < PRODUCTS; i++) {
    /* One choice for both products of the weight: only what becomes of the sums differs. */
    uint64_t place = chance_place(chance_place((uint64_t)layer, PLACE_PRODUCT),
                                  (uint64_t)linear * PRODUCTS + (uint64_t)gemms[i].layout);
    products[i].count = kernels_gemm(gpt->setup, gemms[i], place, products[i].works);
  }
}

/* Experts have equally many rows. */
static void choose_grouped(const struct gpt *gpt, enum linear linear, struct product_work *products) {
  int64_t inputs = gpt_linear_inputs(gpt->setup, linear), outputs = gpt_linear_outputs(gpt->setup, linear);
  int experts = gpt_experts(gpt->setup);
  int64_t rows = (gpt_expert_rows(gpt->setup) + experts - 1) / experts;
  const struct gemm gemms[PRODUCTS] = {
      [PRODUCT_FORWARD] = {rows, outputs, inputs, GEMM_TN, false},
      [PRODUCT_INPUT] = {rows, inputs, outputs, GEMM_NN, false},
      [PRODUCT_WEIGHT] = {inputs, outputs, rows, GEMM_NT, false},
      [PRODUCT_WEIGHT_ADDED] = {inputs, outputs, rows, GEMM_NT, false},
  };
  for (int i = 0; i < PRODUCTS; i++)
    products[i] = (struct product_work){.works = {kernels_grouped(gpt->setup, gemms[i], experts)}, .count = 1};
}

static void choose_pieces(const struct gpt *gpt, const int64_t sizes[SIZES], const struct piece_row *rows, int count,
                          int layer, struct work *pieces) {
  for (int i = 0; i < count; i++)
    pieces[i] = kernels_run(gpt->setup, rows[i].kernel, sizes[rows[i].size],
                            chance_place(chance_place((uint64_t)layer, PLACE_PIECE), (uint64_t)i));
}

static void choose_layer(const struct gpt *gpt, const int64_t sizes[SIZES], int layer) {
  const struct model *model = &gpt->setup->model;
  struct layer_kernels *kernels = &gpt->layers[layer];
  for (int linear = 0; linear < LAYER_LINEARS; linear++) {
    bool grouped = model->experts > 0 && (linear == LINEAR_FC1 || linear == LINEAR_FC2);
    if (grouped)
      choose_grouped(gpt, (enum linear)linear, kernels->products[linear]);
    else
      choose_products(gpt, (enum linear)linear, layer, kernels->products[linear]);
  }
  if (model->experts > 0)
    choose_products(gpt, LINEAR_ROUTER, layer, kernels->router);
  choose_pieces(gpt, sizes, layer_rows, LAYER_PIECES, layer, kernels->pieces);
  int heads = model->heads / gpt->setup->parallel.tensor;
  /* Backward, 2.5 times the forward's operations are done, where the model's formula has 2: the scores are computed
   * again. */
  for (int backward = 0; backward < 2; backward++)
    kernels->pieces[backward ? PIECE_ATTENTION_BACKWARD : PIECE_ATTENTION] = kernels_attention(
        gpt->setup, model->micro_batch, heads, gpt_sequence(gpt->setup), model->sequence, model->head_dim, backward);
}

/* ---- names ---- */

static void name_all(struct gpt *gpt) {
  /* The longest text is a norm's backward inputs: seven tensors of at most three numbers. */
  enum {
    LONGEST = 320,
    NAME = 48,
    TEXTS = LINEARS * (LINEAR_SHAPES + PRODUCTS * PRODUCT_SHAPES) + SHAPES + LAYER_SLOTS + 2 * GROUPED_SHAPES
  };
  int steps = gpt->setup->warmup + gpt->setup->steps;
  size_t units = gpt->setup->parallel.fully_sharded ? (size_t)gpt->setup->model.layers * UNIT_SPANS : 0;
  gpt->string_room = (size_t)TEXTS * LONGEST + ((size_t)steps + units) * NAME;
  gpt->strings = memory_new(gpt->string_room, 1);
  gpt->step_names = memory_new((size_t)steps, sizeof *gpt->step_names);
  for (int i = 0; i < steps; i++)
    gpt->step_names[i] = gpt_keep(gpt, "ProfilerStep#%d", i);
  if (units > 0)
    gpt_name_units(gpt);
  if (gpt->setup->recorded & RECORD_SHAPES)
    gpt_describe(gpt);
}

void gpt_make_kernels(struct gpt *gpt) {
  int64_t sizes[SIZES];
  measure(gpt, sizes);
  int layers = gpt->setup->model.layers;
  gpt->layers = memory_new((size_t)layers, sizeof *gpt->layers);
  for (int layer = 0; layer < layers; layer++)
    choose_layer(gpt, sizes, layer);
  choose_products(gpt, LINEAR_HEAD, layers, gpt->ends.products);
  choose_pieces(gpt, sizes, end_rows, END_PIECES, layers, gpt->ends.pieces);
  name_all(gpt);
}

void gpt_free_kernels(struct gpt *gpt) {
  free(gpt->layers);
  free(gpt->strings);
  free(gpt->step_names);
  gpt_free_units(gpt);
}
