/* The inputs of ops as shape recording has them, written once. Activations are [sequence, batch, hidden]; a tensor that
 * is another one's transpose has its strides behind a bar. What follows from an op's schema alone is not here: the
 * recorder knows it.
 */
#include "gpt_state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *gpt_keep(struct gpt *gpt, const char *format, ...) {
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

/* Rows of a sequence that a product multiplies. */
static long long product_rows(const struct setup *setup, int linear) {
  return gpt_sequence(setup) / (linear == LINEAR_ROUTER ? gpt_sequence_shards(setup) : 1);
}

static void describe_products(struct gpt *gpt, int linear, long long in, long long out) {
  long long sequence = product_rows(gpt->setup, linear), batch = gpt->setup->model.micro_batch,
            tokens = sequence * batch;
  const char *(*shapes)[PRODUCT_SHAPES] = gpt->product_shapes[linear];
  const char **forward = shapes[PRODUCT_FORWARD], **input = shapes[PRODUCT_INPUT], **weight = shapes[PRODUCT_WEIGHT];
  forward[SHAPE_MATMUL] =
      gpt_keep(gpt, "bf16[%lld,%lld,%lld] bf16[%lld,%lld|1,%lld]", sequence, batch, in, in, out, in);
  forward[SHAPE_VIEW] = gpt_keep(gpt, "bf16[%lld,%lld,%lld] =[%lld,%lld]", sequence, batch, in, tokens, in);
  forward[SHAPE_MM] = gpt_keep(gpt, "bf16[%lld,%lld] bf16[%lld,%lld|1,%lld]", tokens, in, in, out, in);
  forward[SHAPE_UNSAFE_VIEW] = gpt_keep(gpt, "bf16[%lld,%lld] =[%lld,%lld,%lld]", tokens, out, sequence, batch, out);
  input[SHAPE_MATMUL] = gpt_keep(gpt, "bf16[%lld,%lld,%lld] bf16[%lld,%lld]", sequence, batch, out, out, in);
  input[SHAPE_VIEW] = gpt_keep(gpt, "bf16[%lld,%lld,%lld] =[%lld,%lld]", sequence, batch, out, tokens, out);
  input[SHAPE_MM] = gpt_keep(gpt, "bf16[%lld,%lld] bf16[%lld,%lld]", tokens, out, out, in);
  input[SHAPE_UNSAFE_VIEW] = gpt_keep(gpt, "bf16[%lld,%lld] =[%lld,%lld,%lld]", tokens, in, sequence, batch, in);
  weight[SHAPE_MATMUL] = gpt_keep(gpt, "bf16[%lld,%lld|1,%lld] bf16[%lld,%lld]", out, tokens, out, tokens, in);
  weight[SHAPE_MM] = weight[SHAPE_MATMUL];
  for (int i = 0; i < PRODUCT_SHAPES; i++)
    shapes[PRODUCT_WEIGHT_ADDED][i] = weight[i];
}

static void describe_linears(struct gpt *gpt) {
  const struct setup *setup = gpt->setup;
  for (int i = 0; i < LINEARS; i++) {
    long long sequence = product_rows(setup, i), batch = setup->model.micro_batch, tokens = sequence * batch;
    long long in = (long long)gpt_linear_inputs(setup, (enum linear)i);
    long long out = (long long)gpt_linear_outputs(setup, (enum linear)i);
    bool column = i == LINEAR_QKV || i == LINEAR_FC1 || i == LINEAR_HEAD;
    long long rows = column ? sequence / gpt_sequence_shards(setup) : sequence;
    const char **shapes = gpt->linear_shapes[i];
    shapes[SHAPE_FUNCTION] = gpt_keep(gpt, "bf16[%lld,%lld,%lld] bf16[%lld,%lld]", rows, batch, in, out, in);
    shapes[SHAPE_CAST] = gpt_keep(gpt, "float[%lld,%lld] bf16[%lld,%lld] =15", out, in, out, in);
    shapes[SHAPE_WEIGHT] = gpt_keep(gpt, "bf16[%lld,%lld] =[%lld,%lld] =[1,%lld]", out, in, in, out, in);
    shapes[SHAPE_WEIGHT_GRADIENT] = gpt_keep(gpt, "bf16[%lld,%lld]", out, in);
    shapes[SHAPE_GRADIENT] = gpt_keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, out);
    shapes[SHAPE_GRADIENT_ROWS] =
        gpt_keep(gpt, "bf16[%lld,%lld] =[%lld,%lld] =[1,%lld]", tokens, out, out, tokens, out);
    describe_products(gpt, i, in, out);
  }
}

static void describe_attention(struct gpt *gpt) {
  const struct model *model = &gpt->setup->model;
  const char **shapes = gpt->shapes;
  long long sequence = gpt_sequence(gpt->setup), batch = model->micro_batch, dim = model->head_dim;
  long long heads = model->heads / gpt->setup->parallel.tensor, part = heads * dim;
  long long keys = model->sequence, pieces = 2LL * gpt->setup->parallel.context;
  double scale = pow((double)dim, -0.5);
  shapes[SHAPE_QKV] = gpt_keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, 3 * part);
  shapes[SHAPE_QKV_SPLIT] = gpt_keep(gpt, "%s =[%lld,%lld,%lld]", shapes[SHAPE_QKV], part, part, part);
  shapes[SHAPE_QKV_SUM] = gpt_keep(gpt, "%s =[0,1]", shapes[SHAPE_QKV]);
  const char *third = gpt_keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, part);
  shapes[SHAPE_QKV_PARTS] = gpt_keep(gpt, "%s %s %s", third, third, third);
  shapes[SHAPE_QKV_CAT] = gpt_keep(gpt, "(%s;%s;%s) =2", third, third, third);
  shapes[SHAPE_HEADS] = gpt_keep(gpt, "bf16[%lld,%lld,%lld,%lld]", sequence, batch, heads, dim);
  shapes[SHAPE_ROTARY] = gpt_keep(gpt, "%s float[%lld,1,1,%lld]", shapes[SHAPE_HEADS], sequence, dim);
  shapes[SHAPE_CORE] = gpt_keep(gpt, "%s %s %s", shapes[SHAPE_HEADS], shapes[SHAPE_HEADS], shapes[SHAPE_HEADS]);
  /* Attention wants the batch first. */
  const char *first = gpt_keep(gpt, "bf16[%lld,%lld,%lld,%lld]", batch, sequence, heads, dim);
  shapes[SHAPE_CONTEXT] = first;
  shapes[SHAPE_HEADS_COPY] = gpt_keep(gpt, "bf16[%lld,%lld,%lld,%lld|%lld,%lld,%lld,1] %s", batch, sequence, heads, dim,
                                      part, batch * part, dim, first);
  shapes[SHAPE_CONTEXT_COPY] = gpt_keep(gpt, "bf16[%lld,%lld,%lld,%lld|%lld,%lld,%lld,1] %s", sequence, batch, heads,
                                        dim, part, sequence * part, dim, shapes[SHAPE_HEADS]);
  /* Queries are this rank's, keys and values of the whole sequence. */
  const char *whole = gpt_keep(gpt, "bf16[%lld,%lld,%lld,%lld]", batch, keys, heads, dim);
  shapes[SHAPE_KEYS_COPY] = gpt_keep(gpt, "bf16[%lld,%lld,%lld,%lld|%lld,%lld,%lld,1] %s", batch, keys, heads, dim,
                                     part, batch * part, dim, whole);
  shapes[SHAPE_KEYS_SELECT] =
      gpt_keep(gpt, "bf16[%lld,%lld,%lld,%lld,%lld] int64[%lld]", pieces, keys / pieces, batch, heads, dim, pieces);
  const char *function = gpt->setup->parallel.context > 1 ? shapes[SHAPE_HEADS] : first;
  shapes[SHAPE_ATTENTION] = gpt_keep(gpt, "%s %s %s", function, function, function);
  shapes[SHAPE_ATTENTION_FORWARD] = gpt_keep(gpt, "%s %s =%.17g", first, whole, scale);
  shapes[SHAPE_ATTENTION_BACKWARD] =
      gpt_keep(gpt, "%s %s float[%lld,%lld,%lld] =%.17g int64[2]", first, whole, batch, heads, sequence, scale);
}

static void describe_layer(struct gpt *gpt) {
  const struct model *model = &gpt->setup->model;
  const char **shapes = gpt->shapes;
  long long sequence = gpt_sequence(gpt->setup), batch = model->micro_batch, hidden = model->hidden;
  long long rows = sequence / gpt_sequence_shards(gpt->setup);
  long long ffn = (long long)gpt_linear_outputs(gpt->setup, LINEAR_FC1);
  shapes[SHAPE_HIDDEN] = gpt_keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, hidden);
  shapes[SHAPE_HIDDEN_SHARD] = gpt_keep(gpt, "bf16[%lld,%lld,%lld]", rows, batch, hidden);
  const char *shard = shapes[SHAPE_HIDDEN_SHARD];
  shapes[SHAPE_HIDDEN_SUM] = gpt_keep(gpt, "%s =[0,1]", shard);
  shapes[SHAPE_NORM] = gpt_keep(gpt, "%s =[%lld] float[%lld] float[%lld]", shard, hidden, hidden, hidden);
  shapes[SHAPE_NORM_BACKWARD] =
      gpt_keep(gpt, "%s %s =[%lld] float[%lld,%lld,1] float[%lld,%lld,1] float[%lld] float[%lld]", shard, shard, hidden,
               rows, batch, rows, batch, hidden, hidden);
  shapes[SHAPE_DROPOUT_ADD] = gpt_keep(gpt, "%s float[%lld] %s", shard, hidden, shard);
  shapes[SHAPE_ADD] = gpt_keep(gpt, "%s %s", shard, shard);
  shapes[SHAPE_FFN] = gpt_keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, ffn);
  shapes[SHAPE_FFN_SUM] = gpt_keep(gpt, "%s =[0,1]", shapes[SHAPE_FFN]);
  shapes[SHAPE_GELU] = gpt_keep(gpt, "%s float[%lld]", shapes[SHAPE_FFN], ffn);
}

static void describe_experts(struct gpt *gpt) {
  const struct model *model = &gpt->setup->model;
  const char **shapes = gpt->shapes;
  long long hidden = model->hidden, ffn = model->ffn, all = model->experts, own = gpt_experts(gpt->setup);
  long long tokens = gpt_shard_tokens(gpt->setup), chosen = model->top_k, rows = (long long)gpt_expert_rows(gpt->setup);
  shapes[SHAPE_ROWS] = gpt_keep(gpt, "bf16[%lld,%lld]", tokens, hidden);
  shapes[SHAPE_EXPERT_ROWS] = gpt_keep(gpt, "bf16[%lld,%lld]", rows, hidden);
  shapes[SHAPE_TOP] = gpt_keep(gpt, "bf16[%lld,%lld] =%lld", tokens, all, chosen);
  shapes[SHAPE_SCORES] = gpt_keep(gpt, "bf16[%lld,%lld]", tokens, chosen);
  shapes[SHAPE_TOP_BACKWARD] =
      gpt_keep(gpt, "bf16[%lld,%lld] int64[%lld,%lld] %s", tokens, all, tokens, chosen, shapes[SHAPE_SCORES]);
  shapes[SHAPE_SCORES_SCATTER] = shapes[SHAPE_TOP_BACKWARD];
  shapes[SHAPE_COUNT] = gpt_keep(gpt, "bool[%lld,%lld] =[0]", tokens, all);
  shapes[SHAPE_COUNTS] = gpt_keep(gpt, "int64[%lld] int64[%lld] =4 =0", all, all);
  shapes[SHAPE_PERMUTE] = gpt_keep(gpt, "%s bool[%lld,%lld] =%lld", shapes[SHAPE_ROWS], tokens, all, rows);
  shapes[SHAPE_SORT_CHUNKS] = gpt_keep(gpt, "%s int64[%lld] int32[%lld]", shapes[SHAPE_EXPERT_ROWS], all, all);
  shapes[SHAPE_EXPERT_FFN] = gpt_keep(gpt, "bf16[%lld,%lld]", rows, ffn);
  shapes[SHAPE_UNPERMUTE] =
      gpt_keep(gpt, "%s int32[%lld,%lld] bf16[%lld,%lld]", shapes[SHAPE_EXPERT_ROWS], all, tokens, tokens, all);
  for (int down = 0; down < 2; down++) {
    long long in = down ? ffn : hidden, out = down ? hidden : ffn;
    const char **grouped = gpt->grouped_shapes[down];
    grouped[SHAPE_GROUPED] =
        gpt_keep(gpt, "bf16[%lld,%lld] bf16[%lld,%lld,%lld] int32[%lld]", rows, in, own, in, out, own);
    grouped[SHAPE_GROUPED_INPUT] = gpt_keep(gpt, "bf16[%lld,%lld] bf16[%lld,%lld,%lld|%lld,1,%lld] int32[%lld]", rows,
                                            out, own, out, in, in * out, out, own);
    grouped[SHAPE_GROUPED_WEIGHT] =
        gpt_keep(gpt, "bf16[%lld,%lld|1,%lld] bf16[%lld,%lld] int32[%lld]", in, rows, in, rows, out, own);
    gpt->linear_shapes[down ? LINEAR_FC2 : LINEAR_FC1][SHAPE_CAST] =
        gpt_keep(gpt, "float[%lld,%lld,%lld] bf16[%lld,%lld,%lld] =15", own, in, out, own, in, out);
    gpt->gradient_shapes[down ? SLOT_FC2 : SLOT_FC1] =
        gpt_keep(gpt, "bf16[%lld,%lld,%lld] float[%lld,%lld,%lld]", own, in, out, own, in, out);
  }
  gpt->gradient_shapes[SLOT_ROUTER] = gpt->linear_shapes[LINEAR_ROUTER][SHAPE_WEIGHT_GRADIENT];
}

/* What comes to the engine's end of each parameter, and the buffer that it goes to. */
static void describe_gradients(struct gpt *gpt) {
  long long hidden = gpt->setup->model.hidden;
  const struct {
    enum layer_slot slot;
    long long elements;
  } small[] = {
      {SLOT_FC2_BIAS, hidden},
      {SLOT_FC1_BIAS, (long long)gpt_linear_outputs(gpt->setup, LINEAR_FC1)},
      {SLOT_NORM_2, 2 * hidden},
      {SLOT_PROJECTION_BIAS, hidden},
      {SLOT_QKV_BIAS, (long long)gpt_linear_outputs(gpt->setup, LINEAR_QKV)},
      {SLOT_NORM_1, 2 * hidden},
  };
  const struct {
    enum layer_slot slot;
    enum linear linear;
  } weights[] = {
      {SLOT_FC2, LINEAR_FC2}, {SLOT_FC1, LINEAR_FC1}, {SLOT_PROJECTION, LINEAR_PROJECTION}, {SLOT_QKV, LINEAR_QKV}};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++)
    gpt->gradient_shapes[small[i].slot] = gpt_keep(gpt, "bf16[%lld] float[%lld]", small[i].elements, small[i].elements);
  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
    gpt->gradient_shapes[weights[i].slot] = gpt->linear_shapes[weights[i].linear][SHAPE_WEIGHT_GRADIENT];
}

static void describe_ends(struct gpt *gpt) {
  const struct model *model = &gpt->setup->model;
  const char **shapes = gpt->shapes;
  long long sequence = gpt_sequence(gpt->setup), batch = model->micro_batch, hidden = model->hidden;
  long long rows = sequence / gpt_sequence_shards(gpt->setup);
  long long vocabulary = (long long)gpt_linear_outputs(gpt->setup, LINEAR_HEAD);
  const char *tokens = gpt_keep(gpt, "int64[%lld,%lld]", batch, sequence);
  shapes[SHAPE_TOKENS] = gpt_keep(gpt, "%s %s =4 =0", tokens, tokens);
  shapes[SHAPE_EMBEDDING] = gpt_keep(gpt, "float[%lld,%lld] %s", vocabulary, hidden, tokens);
  shapes[SHAPE_EMBEDDING_SELECT] = gpt_keep(gpt, "float[%lld,%lld] int64[%lld]", vocabulary, hidden, batch * sequence);
  shapes[SHAPE_EMBEDDING_COPY] = gpt_keep(gpt, "bf16[%lld,%lld,%lld|%lld,%lld,1] %s", rows, batch, hidden, hidden,
                                          rows * hidden, shapes[SHAPE_HIDDEN_SHARD]);
  shapes[SHAPE_EMBEDDING_GRADIENT] = gpt_keep(gpt, "bf16[%lld,%lld,%lld]", batch, sequence, hidden);
  shapes[SHAPE_EMBEDDING_BACKWARD] = gpt_keep(gpt, "%s %s =%lld", shapes[SHAPE_EMBEDDING_GRADIENT], tokens, vocabulary);
  shapes[SHAPE_EMBEDDING_WEIGHT] =
      gpt_keep(gpt, "bf16[%lld,%lld] float[%lld,%lld]", vocabulary, hidden, vocabulary, hidden);
  const char *logits = gpt_keep(gpt, "bf16[%lld,%lld,%lld]", sequence, batch, vocabulary);
  const char *whole = gpt_keep(gpt, "float[%lld,%lld,%lld]", sequence, batch, vocabulary);
  shapes[SHAPE_LOGITS_TO_FLOAT] = gpt_keep(gpt, "%s %s =6", logits, whole);
  shapes[SHAPE_LOGITS_FLOAT] = whole;
  shapes[SHAPE_LOGITS_TO_BFLOAT] = gpt_keep(gpt, "%s %s =15", whole, logits);
  shapes[SHAPE_LOGITS_SUM] = gpt_keep(gpt, "%s =[-1]", whole);
  shapes[SHAPE_LOGITS_SCALE] = gpt_keep(gpt, "%s float[%lld,%lld,1]", whole, sequence, batch);
  shapes[SHAPE_LOSS] = gpt_keep(gpt, "float[%lld,%lld]", sequence, batch);
  shapes[SHAPE_LOSS_OF_LOGITS] = gpt_keep(gpt, "%s int64[%lld,%lld]", whole, sequence, batch);
  shapes[SHAPE_LOSS_DIVIDE] = gpt_keep(gpt, "float[%lld,%lld|0,0] int64[]", sequence, batch);
  shapes[SHAPE_SCALAR] = "float[]";
  shapes[SHAPE_SCALAR_DIVIDE] = "float[] int64[]";
  shapes[SHAPE_LISTS] = "() ()"; /* of more tensors than PyTorch writes out */
  shapes[SHAPE_LIST_CAT] = "() =0";
}

void gpt_describe(struct gpt *gpt) {
  describe_linears(gpt);
  describe_attention(gpt);
  describe_layer(gpt);
  describe_gradients(gpt);
  describe_ends(gpt);
  if (gpt->setup->model.experts > 0)
    describe_experts(gpt);
}
