/* The kernels and input shapes of everything that a micro-batch runs, chosen once: a row says which kernel, and over how many elements. */
#include "chance.h"
#include "gpt_state.h"
#include <stdarg.h>
#include <stdio.h>
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
  SIZE_FFN,
  SIZE_LOGITS,
  SIZE_WEIGHT_QKV, /* in the order of enum linear */
  SIZE_WEIGHT_PROJECTION,
  SIZE_WEIGHT_FC1,
  SIZE_WEIGHT_FC2,
  SIZE_WEIGHT_HEAD,
  SIZE_BIAS_QKV,
  SIZE_BIAS_FC1,
  SIZE_BIAS_HIDDEN,
  SIZE_NORM,
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
  sizes[SIZE_FFN] = tokens * gpt_linear_outputs(setup, LINEAR_FC1);
  sizes[SIZE_LOGITS] = tokens * gpt_linear_outputs(setup, LINEAR_HEAD);
  for (int i = 0; i < LINEARS; i++)
    sizes[SIZE_WEIGHT_QKV + i] = gpt_linear_inputs(setup, (enum linear)i) * gpt_linear_outputs(setup, (enum linear)i);
  sizes[SIZE_BIAS_QKV] = gpt_linear_outputs(setup, LINEAR_QKV);
  sizes[SIZE_BIAS_FC1] = gpt_linear_outputs(setup, LINEAR_FC1);
  sizes[SIZE_BIAS_HIDDEN] = hidden;
  sizes[SIZE_NORM] = 2 * hidden;
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
  const struct gemm gemms[PRODUCTS] = {
      [PRODUCT_FORWARD] = {outputs, gpt->tokens, inputs, GEMM_TN, false},
      [PRODUCT_INPUT] = {inputs, gpt->tokens, outputs, GEMM_NN, false},
      [PRODUCT_WEIGHT] = {inputs, outputs, gpt->tokens, GEMM_NT, false},
      [PRODUCT_WEIGHT_ADDED] = {inputs, outputs, gpt->tokens, GEMM_NT, true},
  };
  for (int i = 0; i < PRODUCTS; i++) {
    /* One choice for both products of the weight: only what becomes of the sums differs. */
    uint64_t place = chance_place(chance_place((uint64_t)layer, PLACE_PRODUCT),
                                  (uint64_t)linear * PRODUCTS + (uint64_t)gemms[i].layout);
    products[i].count = kernels_gemm(gpt->setup, gemms[i], place, products[i].works);
  }
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
  for (int linear = 0; linear < LAYER_LINEARS; linear++)
    choose_products(gpt, (enum linear)linear, layer, kernels->products[linear]);
  choose_pieces(gpt, sizes, layer_rows, LAYER_PIECES, layer, kernels->pieces);
  int heads = model->heads / gpt->setup->parallel.tensor;
  /* Backward, 2.5 times the forward's operations are done, where the model's formula has 2: the scores are computed again. */
  for (int backward = 0; backward < 2; backward++)
    kernels->pieces[backward ? PIECE_ATTENTION_BACKWARD : PIECE_ATTENTION] =
        kernels_attention(gpt->setup, model->micro_batch, heads, model->sequence, model->head_dim, backward);
}

/* ---- shapes ---- */

static const char *keep(struct gpt *gpt, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  size_t room = gpt->string_room - gpt->string_length;
  char *text = gpt->strings + gpt->string_length;
  int length = vsnprintf(text, room, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= room)
    abort(); /* the room was reckoned too small */
  gpt->string_length += (size_t)length + 1;
  return text;
}

#define NUMBER(x) ((long long)(x))

static void describe_linears(struct gpt *gpt) {
  const struct setup *setup = gpt->setup;
  long long sequence = setup->model.sequence, batch = setup->model.micro_batch, tokens = NUMBER(gpt->tokens);
  for (int i = 0; i < LINEARS; i++) {
    long long in = NUMBER(gpt_linear_inputs(setup, (enum linear)i));
    long long out = NUMBER(gpt_linear_outputs(setup, (enum linear)i));
    bool column = i == LINEAR_QKV || i == LINEAR_FC1 || i == LINEAR_HEAD;
    long long rows = column ? sequence / gpt_sequence_shards(setup) : sequence;
    const char **shapes = gpt->linear_shapes[i];
    shapes[SHAPE_FUNCTION] = keep(gpt, "bf16[%lld,%lld,%lld] bf16[%lld,%lld]", rows, batch, in, out, in);
    shapes[SHAPE_WEIGHT] = keep(gpt, "float[%lld,%lld]", out, in);
    shapes[SHAPE_PRODUCT] = keep(gpt, "bf16[%lld,%lld] bf16[%lld,%lld]", tokens, in, in, out);
    shapes[SHAPE_PRODUCT_INPUT] = keep(gpt, "bf16[%lld,%lld] bf16[%lld,%lld]", tokens, out, out, in);
    shapes[SHAPE_PRODUCT_WEIGHT] = keep(gpt, "bf16[%lld,%lld] bf16[%lld,%lld]", out, tokens, tokens, in);
    shapes[SHAPE_GRADIENT] = keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, out);
    shapes[SHAPE_BIAS] = keep(gpt, "float[%lld]", out);
  }
}

static void describe_layer(struct gpt *gpt) {
  const struct model *model = &gpt->setup->model;
  const char **shapes = gpt->shapes;
  long long sequence = model->sequence, batch = model->micro_batch, hidden = model->hidden, dim = model->head_dim;
  long long rows = sequence / gpt_sequence_shards(gpt->setup), heads = model->heads / gpt->setup->parallel.tensor;
  long long ffn = NUMBER(gpt_linear_outputs(gpt->setup, LINEAR_FC1));
  shapes[SHAPE_HIDDEN] = keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, hidden);
  shapes[SHAPE_HIDDEN_SHARD] = keep(gpt, "bf16[%lld,%lld,%lld]", rows, batch, hidden);
  shapes[SHAPE_NORM] = keep(gpt, "%s - float[%lld] float[%lld] =1e-05", shapes[SHAPE_HIDDEN_SHARD], hidden, hidden);
  shapes[SHAPE_NORM_BACKWARD] =
      keep(gpt, "%s %s - float[%lld,%lld,1] float[%lld,%lld,1] float[%lld] float[%lld] -", shapes[SHAPE_HIDDEN_SHARD],
           shapes[SHAPE_HIDDEN_SHARD], rows, batch, rows, batch, hidden, hidden);
  shapes[SHAPE_QKV] = keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, 3 * heads * dim);
  shapes[SHAPE_HEADS] = keep(gpt, "bf16[%lld,%lld,%lld,%lld]", sequence, batch, heads, dim);
  shapes[SHAPE_ROTARY] = keep(gpt, "%s float[%lld,1,1,%lld]", shapes[SHAPE_HEADS], sequence, dim);
  shapes[SHAPE_ATTENTION] = keep(gpt, "bf16[%lld,%lld,%lld,%lld] bf16[%lld,%lld,%lld,%lld] bf16[%lld,%lld,%lld,%lld]",
                                 batch, sequence, heads, dim, batch, sequence, heads, dim, batch, sequence, heads, dim);
  shapes[SHAPE_ATTENTION_BACKWARD] =
      keep(gpt, "bf16[%lld,%lld,%lld,%lld] %s", batch, sequence, heads, dim, shapes[SHAPE_ATTENTION]);
  shapes[SHAPE_DROPOUT_ADD] =
      keep(gpt, "%s float[%lld] %s =0.1", shapes[SHAPE_HIDDEN_SHARD], hidden, shapes[SHAPE_HIDDEN_SHARD]);
  shapes[SHAPE_ADD] = keep(gpt, "%s %s =1", shapes[SHAPE_HIDDEN_SHARD], shapes[SHAPE_HIDDEN_SHARD]);
  shapes[SHAPE_GELU] = keep(gpt, "bf16[%lld,%lld,%lld] float[%lld]", sequence, batch, ffn, ffn);
  shapes[SHAPE_GELU_BACKWARD] = keep(gpt, "bf16[%lld,%lld,%lld] %s", sequence, batch, ffn, shapes[SHAPE_GELU]);
}

static void describe_ends(struct gpt *gpt) {
  const struct model *model = &gpt->setup->model;
  const char **shapes = gpt->shapes;
  long long sequence = model->sequence, batch = model->micro_batch, hidden = model->hidden;
  long long vocabulary = NUMBER(gpt_linear_outputs(gpt->setup, LINEAR_HEAD));
  shapes[SHAPE_TOKENS] = keep(gpt, "int64[%lld,%lld]", batch, sequence);
  shapes[SHAPE_EMBEDDING] =
      keep(gpt, "float[%lld,%lld] %s =-1 =False =False", vocabulary, hidden, shapes[SHAPE_TOKENS]);
  shapes[SHAPE_EMBEDDING_BACKWARD] =
      keep(gpt, "bf16[%lld,%lld,%lld] %s =%lld =-1 =False", batch, sequence, hidden, shapes[SHAPE_TOKENS], vocabulary);
  shapes[SHAPE_LOGITS] = keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, vocabulary);
  shapes[SHAPE_LOGITS_FLOAT] = keep(gpt, "float[%lld,%lld,%lld]", sequence, batch, vocabulary);
  shapes[SHAPE_LOSS] = keep(gpt, "float[%lld,%lld]", sequence, batch);
  shapes[SHAPE_LOSS_OF_LOGITS] = keep(gpt, "%s int64[%lld,%lld]", shapes[SHAPE_LOGITS_FLOAT], sequence, batch);
  shapes[SHAPE_SCALAR] = keep(gpt, "float[]");
}

static void name_all(struct gpt *gpt) {
  /* The longest text is a norm's backward inputs: seven tensors of at most three numbers. */
  enum { LONGEST = 320, NAME = 48 };
  int steps = gpt->setup->warmup + gpt->setup->steps, layers = gpt->setup->model.layers;
  gpt->string_room = (LINEARS * LINEAR_SHAPES + SHAPES) * LONGEST + (size_t)(steps + layers) * NAME;
  gpt->strings = gpt_zeroed(gpt->string_room, 1);
  gpt->step_names = gpt_zeroed((size_t)steps, sizeof *gpt->step_names);
  gpt->layer_names = gpt_zeroed((size_t)layers, sizeof *gpt->layer_names);
  for (int i = 0; i < steps; i++)
    gpt->step_names[i] = keep(gpt, "ProfilerStep#%d", i);
  for (int i = 0; i < layers; i++)
    gpt->layer_names[i] = keep(gpt, "nn.Module: TransformerLayer_%d", i);
  if (!(gpt->setup->recorded & RECORD_SHAPES))
    return;
  describe_linears(gpt);
  describe_layer(gpt);
  describe_ends(gpt);
}

void gpt_make_kernels(struct gpt *gpt) {
  int64_t sizes[SIZES];
  measure(gpt, sizes);
  int layers = gpt->setup->model.layers;
  gpt->layers = gpt_zeroed((size_t)layers, sizeof *gpt->layers);
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
  free(gpt->layer_names);
}
