/* Other sizes of a model: which follow, and what becomes of the shapes of ops. */
#include "transform/dimensions.h"
#include "transform/experts.h"
#include "transform/sizes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

/* hidden 1024, 8 heads of 128, ffn 4096, sequence 2048, micro-batch 1, vocabulary 32000; tensor parallel 2. */
static struct lumos_job *model_job(void) {
  struct lumos_job *job = lumos_job_new();
  struct lumos_model_description model = lumos_model_description_empty;
  model.hidden = 1024;
  model.ffn = 4096;
  model.ffn_matrices = 2;
  model.heads = model.kv_heads = 8;
  model.head_dim = 128;
  model.sequence = 2048;
  model.micro_batch = 1;
  model.vocabulary = 32000;
  model.sizes.tp = 2;
  lumos_vector_push(&job->models, model);
  return job;
}

static void sizes_follow(void **state) {
  (void)state;
  static const struct {
    const char *asked;
    int64_t sizes[LUMOS_SIZES]; /* hidden, ffn, heads, kv_heads, head_dim, sequence, micro_batch, vocabulary */
  } cases[] = {
      {"hidden=2048", {2048, 8192, 16, 16, 128, 2048, 1, 32000}},
      {"hidden=2048,ffn=4096", {2048, 4096, 16, 16, 128, 2048, 1, 32000}},
      {"heads=16", {1024, 4096, 16, 16, 64, 2048, 1, 32000}},
      {"head-dim=64", {1024, 4096, 16, 16, 64, 2048, 1, 32000}},
      {"heads=16,head-dim=128", {1024, 4096, 16, 16, 128, 2048, 1, 32000}},
      {"hidden=2048,heads=32", {2048, 8192, 32, 32, 64, 2048, 1, 32000}},
      {"kv-heads=2", {1024, 4096, 8, 2, 128, 2048, 1, 32000}},
      {"seq=512,micro-batch=4,vocab=50000", {1024, 4096, 8, 8, 128, 512, 4, 50000}},
  };
  struct lumos_job *job = model_job();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_sizes sizes;
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_true(lumos_sizes_read(job, cases[i].asked, &sizes, &error));
    for (int size = 0; size < LUMOS_SIZES; size++) {
      assert_int_equal(sizes.now[size], cases[i].sizes[size]);
    }
  }
  lumos_job_free(job);
}

static void impossible_sizes_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *asked, *says;
  } cases[] = {
      {"hidden=1000", "give --heads, too"}, /* 7.8 heads */
      {"vocab=32001", "the nearest that can is 32000"},
      {"heads=7,head-dim=128", "cannot be divided by the 2 ranks"},
      {"kv-heads=3", "8 heads cannot share 3"},
      {"hidden=0", "not a whole number"},
      {"hidden=12x", "not a whole number"},
      {"hidden=99999999999999999999", "not a whole number"},
      {"depth=3", "does not begin with a size of the model"},
      {"hidden", "does not begin with a size of the model"},
      {"ffn=67108864,hidden=2048,heads=67108864", "would be"}, /* heads of 1 / 32 feature */
  };
  struct lumos_job *job = model_job();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_sizes sizes;
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_false(lumos_sizes_read(job, cases[i].asked, &sizes, &error));
    assert_non_null(strstr(error.text, cases[i].says));
  }
  job->models.items[0].hidden = LUMOS_ABSENT_INT;
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_false(lumos_sizes_read(job, "hidden=2048", &sizes, &error));
  assert_non_null(strstr(error.text, "record_shapes=True"));
  lumos_job_free(job);
}

static void expect_side(const struct lumos_dimensions *dimensions, enum lumos_side side, const char *op,
                        const char *shapes, const char *dtypes, const char *changed, bool known) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  bool found = lumos_dimensions_change(dimensions, op, shapes, dtypes, side, &out);
  assert_string_equal(out.bytes, changed);
  assert_int_equal(found, known);
  lumos_text_free(&out);
}

static void expect(const struct lumos_dimensions *dimensions, const char *op, const char *shapes, const char *dtypes,
                   const char *changed, bool known) {
  expect_side(dimensions, LUMOS_ANY_SIDE, op, shapes, dtypes, changed, known);
}

/* hidden 1024 to 3072, so that on a shard ffn goes from 2048 to 6144, heads from 4 to 12, queries, keys and values of
 * one product from 1536 to 4608; sequence 2048 to 512; the vocabulary stays. The sequence and a shard of ffn are as
 * long. */
static void a_dimension_is_what_its_place_says(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_dimensions dimensions;
  assert_true(lumos_sizes_read(job, "hidden=3072,seq=512", &sizes, &error));
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::native_layer_norm", "[[2048, 1, 1024], [], [1024], [1024], []]", "[\"c10::BFloat16\"]",
         "[[512, 1, 3072], [], [3072], [3072], []]", true);
  /* forward and the gradients of input and weight */
  expect(&dimensions, "aten::mm", "[[2048, 1024], [1024, 2048]]", "[]", "[[512, 3072], [3072, 6144]]", true);
  expect(&dimensions, "aten::mm", "[[2048, 1536], [1536, 1024]]", "[]", "[[512, 4608], [4608, 3072]]", true);
  expect(&dimensions, "aten::mm", "[[1536, 2048], [2048, 1024]]", "[]", "[[4608, 512], [512, 3072]]", true);
  /* both the sequence and a shard of ffn have 2048: which gradient the product is for decides */
  expect(&dimensions, "aten::mm", "[[2048, 2048], [2048, 1024]]", "[]", "[[512, 6144], [6144, 3072]]", true);
  expect_side(&dimensions, LUMOS_OF_INPUT, "aten::mm", "[[2048, 2048], [2048, 1024]]", "[]",
              "[[512, 6144], [6144, 3072]]", true);
  expect_side(&dimensions, LUMOS_OF_WEIGHT, "aten::mm", "[[2048, 2048], [2048, 1024]]", "[]",
              "[[6144, 512], [512, 3072]]", true);
  expect(&dimensions, "aten::linear", "[[2048, 1, 1024], [16000, 1024]]", "[]", "[[512, 1, 3072], [16000, 3072]]",
         true);
  expect(&dimensions, "flash_attn::_flash_attn_forward",
         "[[1, 2048, 4, 128], [1, 2048, 4, 128], [1, 2048, 4, 128], []]", "[]",
         "[[1, 512, 12, 128], [1, 512, 12, 128], [1, 512, 12, 128], []]", true);
  expect(&dimensions, "aten::softmax", "[[1, 4, 2048, 2048], [], []]", "[]", "[[1, 12, 512, 512], [], []]", true);
  expect(&dimensions, "aten::cat", "[[[2048, 1, 512], [2048, 1, 512]], []]", "[]",
         "[[[512, 1, 1536], [512, 1, 1536]], []]", true);
  expect(&dimensions, "aten::embedding", "[[16000, 1024], [1, 2048]]", "[\"float\", \"long int\"]",
         "[[16000, 3072], [1, 512]]", true);
  /* whole numbers are tokens, others features */
  expect(&dimensions, "aten::add", "[[2048], [2048]]", "[\"long int\", \"float\"]", "[[512], [6144]]", true);
  expect(&dimensions, "aten::zero_", "[[2097152]]", "[\"float\"]", "[[18874368]]", true); /* a weight, flat */
  expect(&dimensions, "aten::mul", "[[2], [1], []]", "[]", "[[2], [1], []]", true);
  expect(&dimensions, "aten::mul", "[[777], [2048, 1, 1024]]", "[]", "[[777], [512, 1, 3072]]", false);
  expect(&dimensions, "aten::mul", "[[1, 2, 3, 4, 5]]", "[]", "[[1, 2, 3, 4, 5]]", false);
  expect(&dimensions, "aten::mul", "[[, ]]5 [[[[9", "[]", "[[, ]]5 [[[[9", false);
  dimensions.least = 1000000;
  dimensions.of_layers = 9; /* an embedding has 16384000 parameters on a shard */
  dimensions.parameters = 5;
  expect(&dimensions, "aten::mul_", "[[20000001], []]", "[\"float\"]", "[[100000005], []]", true);
  expect(&dimensions, "aten::mul_", "[[1000001], []]", "[\"float\"]", "[[9000009], []]", true);
  lumos_job_free(job);
}

static uint32_t add_op(struct lumos_job *job, const char *name, uint32_t parent) {
  struct lumos_span span = lumos_span_empty;
  span.kind = LUMOS_SPAN_OP;
  span.name = lumos_intern_text(job->strings, name);
  span.parent = parent;
  span.shapes = lumos_intern_text(job->strings, "[[2, 2], [2, 2]]");
  lumos_vector_push(&job->spans, span);
  return (uint32_t)job->spans.count - 1;
}

/* Of two products in a node the second is the weight's; of one, or three, or without a node nothing is said. */
static void a_node_multiplies_for_its_input_first(void **state) {
  (void)state;
  static const struct {
    const char *node;
    int products;
    enum lumos_side sides[3];
  } cases[] = {{"autograd::engine::evaluate_function: MmBackward0", 2, {LUMOS_OF_INPUT, LUMOS_OF_WEIGHT}},
               {"autograd::engine::evaluate_function: MmBackward0", 1, {LUMOS_ANY_SIDE}},
               {"autograd::engine::evaluate_function: CompiledFunctionBackward", 3, {LUMOS_ANY_SIDE}},
               {"aten::linear", 2, {LUMOS_ANY_SIDE}}};
  struct lumos_job *job = model_job();
  uint32_t firsts[sizeof cases / sizeof *cases];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t function = add_op(job, "MmBackward0", add_op(job, cases[i].node, LUMOS_NONE));
    firsts[i] = function + 1;
    for (int k = 0; k < cases[i].products; k++) {
      (void)add_op(job, "aten::mm", function);
    }
  }
  /* A compiled node: 2,048 tokens, which are as many as some features. */
  static const struct {
    const char *shapes;
    enum lumos_side side;
  } turns[] = {{"[[2048, 2048], [2048, 1024]]", LUMOS_ANY_SIDE},  {"[[1024, 2048], [2048, 2048]]", LUMOS_OF_WEIGHT},
               {"[[2048, 2048], [2048, 1024]]", LUMOS_OF_INPUT},  {"[[2048, 2048], [2048, 1024]]", LUMOS_OF_WEIGHT},
               {"[[2048, 1024], [1024, 1024]]", LUMOS_OF_INPUT},  {"[[2048, 1024], [1024, 1024]]", LUMOS_OF_INPUT},
               {"[[2048, 2048], [2048, 1024]]", LUMOS_OF_WEIGHT}, {"[[2048, 2048], [2048, 1024]]", LUMOS_OF_INPUT}};
  uint32_t compiled = add_op(job, "autograd::engine::evaluate_function: CompiledFunctionBackward", LUMOS_NONE);
  for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
    uint32_t product = add_op(job, "aten::mm", compiled);
    job->spans.items[product].shapes = lumos_intern_text(job->strings, turns[i].shapes);
  }
  uint8_t *sides = lumos_sides_find(job);
  for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
    assert_int_equal(sides[compiled + 1 + i], turns[i].side);
  }
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int k = 0; k < cases[i].products; k++) {
      assert_int_equal(sides[firsts[i] + (uint32_t)k], cases[i].sides[k]);
    }
  }
  free(sides);
  lumos_job_free(job);
}

/* 1024 are a shard's part of a sequence, or the model's features: where shards do not split sequences, only these. */
static void whole_sequences_have_no_parts(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_dimensions dimensions;
  assert_true(lumos_sizes_on_shards(job, 1, 1, &sizes, &error));
  sizes.parts_were = sizes.shards_were;
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::mm", "[[1024, 2048], [2048, 2048]]", "[]", "[[2048, 4096], [4096, 4096]]", true);
  sizes.parts_were = sizes.parts = 1;
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::mm", "[[1024, 2048], [2048, 2048]]", "[]", "[[1024, 2048], [2048, 4096]]", true);
  lumos_job_free(job);
}

/* From two ranks that share each sequence to four: of what is a token's half as much, of keys and values all as before,
 * and twice as many pieces. 512 are a shard's part of a rank's 1024 tokens, or a piece, by how many dimensions there
 * are. With other sequences all of that changes. */
static void sequences_are_shared(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_dimensions dimensions;
  job->models.items[0].sizes.cp = 2;
  job->models.items[0].hidden = 768;
  assert_true(lumos_sizes_in_contexts(job, 4, &sizes, &error));
  sizes.parts_were = sizes.parts = 2;
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::mm", "[[1024, 768], [768, 1536]]", "[]", "[[512, 768], [768, 1536]]", true);
  expect(&dimensions, "aten::native_layer_norm", "[[512, 1, 768], [], [768], [768], []]", "[]",
         "[[256, 1, 768], [], [768], [768], []]", true);
  expect(&dimensions, "flash_attn::_flash_attn_forward", "[[1, 1024, 4, 128], [1, 2048, 4, 128], [1, 2048, 4, 128]]",
         "[]", "[[1, 512, 4, 128], [1, 2048, 4, 128], [1, 2048, 4, 128]]", true);
  expect(&dimensions, "aten::index_select", "[[4, 512, 1, 4, 128], [], [4]]", "[\"c10::BFloat16\", \"\", \"long\"]",
         "[[8, 256, 1, 4, 128], [], [8]]", true);
  expect(&dimensions, "aten::copy_", "[[1, 2048, 4, 128], [1, 2048, 4, 128]]", "[]",
         "[[1, 2048, 4, 128], [1, 2048, 4, 128]]", true);
  assert_true(lumos_sizes_read(job, "seq=4096", &sizes, &error));
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "flash_attn::_flash_attn_forward", "[[1, 1024, 4, 128], [1, 2048, 4, 128], [1, 2048, 4, 128]]",
         "[]", "[[1, 2048, 4, 128], [1, 4096, 4, 128], [1, 4096, 4, 128]]", true);
  expect(&dimensions, "aten::index_select", "[[4, 512, 1, 4, 128], [], [4]]", "[\"c10::BFloat16\", \"\", \"long\"]",
         "[[4, 1024, 1, 4, 128], [], [4]]", true);
  assert_false(lumos_sizes_in_contexts(job, 3, &sizes, &error));
  assert_non_null(strstr(error.text, "2048 tokens cannot be divided into two pieces for each of the 3 ranks"));
  assert_false(lumos_sizes_read(job, "seq=2046", &sizes, &error));
  job->models.items[0].sequence = LUMOS_ABSENT_INT;
  assert_false(lumos_sizes_in_contexts(job, 4, &sizes, &error));
  lumos_job_free(job);
}

/* Two ranks come to have a half of the sequence each of what is as wide as the model: of norms and residuals, sequence
 * first or batch first. Products, the embedding, what is a shard's and the activation, whose shard could be as wide,
 * keep all tokens; there and back. */
static void sequences_are_divided(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_dimensions dimensions;
  job->models.items[0].ffn = 2048;
  assert_true(lumos_sizes_in_parts(job, (struct lumos_spread){1, 2}, true, &sizes, &error));
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::native_layer_norm", "[[2048, 1, 1024], [], [1024], [1024], []]", "[]",
         "[[1024, 1, 1024], [], [1024], [1024], []]", true);
  expect(&dimensions, "aten::add", "[[1, 2048, 1024], [1, 2048, 1024]]", "[]", "[[1, 1024, 1024], [1, 1024, 1024]]",
         true);
  expect(&dimensions, "aten::sum", "[[2048, 1024], [], []]", "[]", "[[1024, 1024], [], []]", true);
  expect(&dimensions, "aten::mm", "[[2048, 1024], [1024, 1536]]", "[]", "[[2048, 1024], [1024, 1536]]", true);
  expect(&dimensions, "aten::embedding_dense_backward", "[[2048, 1, 1024], [2048, 1], [], [], []]", "[]",
         "[[2048, 1, 1024], [2048, 1], [], [], []]", true);
  expect(&dimensions, "aten::gelu", "[[2048, 1, 1024]]", "[]", "[[2048, 1, 1024]]", true);
  expect(&dimensions, "aten::copy_", "[[2048, 1, 512], [2048, 1, 512], []]", "[]",
         "[[2048, 1, 512], [2048, 1, 512], []]", true);
  assert_true(lumos_sizes_in_parts(job, (struct lumos_spread){1, 2}, false, &sizes, &error));
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::native_layer_norm", "[[1024, 1, 1024], [], [1024], [1024], []]", "[]",
         "[[2048, 1, 1024], [], [1024], [1024], []]", true);
  expect(&dimensions, "aten::gelu", "[[2048, 1, 1024]]", "[]", "[[2048, 1, 1024]]", true);
  /* A weight of as many features as there are tokens; and logits, of half a vocabulary that is as wide as the model,
   * but not in a layer. */
  assert_true(lumos_sizes_in_parts(job, (struct lumos_spread){1, 2}, true, &sizes, &error));
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::copy_", "[[2048, 1024], [2048, 1024], []]", "[]", "[[2048, 1024], [2048, 1024], []]",
         true);
  job->models.items[0].vocabulary = 2048;
  assert_true(lumos_sizes_in_parts(job, (struct lumos_spread){1, 2}, true, &sizes, &error));
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::max", "[[2048, 1, 1024]]", "[]", "[[2048, 1, 1024]]", true);
  dimensions = lumos_dimensions_of_layer(&dimensions);
  expect(&dimensions, "aten::max", "[[2048, 1, 1024]]", "[]", "[[1024, 1, 1024]]", true);
  lumos_job_free(job);
}

/* As many tokens as the feed-forward block has features: beside the vocabulary they are tokens, for no weight has
 * both. */
static void logits_are_no_weight(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_dimensions dimensions;
  job->models.items[0].sequence = 4096;
  job->models.items[0].sizes.tp = 1;
  assert_true(lumos_sizes_read(job, "seq=8192", &sizes, &error));
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::copy_", "[[4096, 32000], [4096, 32000], []]", "[]", "[[8192, 32000], [8192, 32000], []]",
         true);
  expect(&dimensions, "aten::copy_", "[[32000, 1024], [32000, 1024], []]", "[]", "[[32000, 1024], [32000, 1024], []]",
         true);
  expect(&dimensions, "aten::copy_", "[[4096, 1024], [4096, 1024], []]", "[]", "[[4096, 1024], [4096, 1024], []]",
         true);
  lumos_job_free(job);
}

/* As long a sequence as the model is wide, and nothing sharded: what is no weight has tokens first. */
static void tokens_come_before_weights(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_dimensions dimensions;
  job->models.items[0].sequence = 1024;
  job->models.items[0].sizes.tp = 1;
  assert_true(lumos_sizes_read(job, "seq=2048", &sizes, &error));
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::_log_softmax", "[[1024, 32000], [], []]", "[]", "[[2048, 32000], [], []]", true);
  expect(&dimensions, "aten::_log_softmax", "[[1023, 32000], [], []]", "[]", "[[2047, 32000], [], []]", true);
  expect(&dimensions, "aten::silu", "[[1024, 4096]]", "[]", "[[2048, 4096]]", true);
  expect(&dimensions, "aten::add", "[[1024, 1024], [1024, 1024], []]", "[]", "[[2048, 1024], [2048, 1024], []]", true);
  expect(&dimensions, "aten::copy_", "[[1024, 1024], [1024, 1024], []]", "[]", "[[1024, 1024], [1024, 1024], []]",
         true);
  expect(&dimensions, "aten::mul", "[[1, 8, 1024, 64], [1, 8, 1024, 64]]", "[]", "[[1, 8, 2048, 64], [1, 8, 2048, 64]]",
         true);
  /* experts' tokens, of which nobody knows how many there will be */
  expect(&dimensions, "aten::silu", "[[777, 4096]]", "[]", "[[777, 4096]]", false);
  assert_true(lumos_sizes_read(job, "hidden=2048", &sizes, &error));
  lumos_dimensions_open(&dimensions, &sizes);
  expect(&dimensions, "aten::_log_softmax", "[[1024, 32000], [], []]", "[]", "[[1024, 32000], [], []]", true);
  expect(&dimensions, "aten::silu", "[[777, 4096]]", "[]", "[[777, 8192]]", true);
  lumos_job_free(job);
}

static void add_product(struct lumos_job *job, const char *op, const char *shapes) {
  struct lumos_span span = lumos_span_empty;
  span.name = lumos_intern_text(job->strings, op);
  span.shapes = lumos_intern_text(job->strings, shapes);
  lumos_vector_push(&job->spans, span);
}

/* Of 2,048 tokens each takes 2 of 16 experts, which are 3,584 wide and have their gate beside the product up; the
 * vocabulary is as many as the rows of all experts. To half as many tokens and half the width. */
static void experts_are_read_off_their_products(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct lumos_model_description *model = &job->models.items[0];
  model->ffn = model->ffn_matrices = LUMOS_ABSENT_INT;
  model->vocabulary = 4096;
  model->sizes.tp = 1;
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_false(lumos_sizes_read(job, "ffn=1792", &sizes, &error)); /* nothing shows them yet */
  add_product(job, "aten::mm", "[[4096, 7168], [7168, 1024]]");
  add_product(job, "aten::_grouped_mm", "[[1024, 4096], [4096, 3584], [16], [], []]"); /* of a weight */
  assert_false(lumos_sizes_read(job, "ffn=1792", &sizes, &error));
  add_product(job, "aten::_grouped_mm", "[[4096, 1024], [16, 1024, 7168], [16], [], []]");
  add_product(job, "aten::_grouped_mm", "[[4096, 7168], [16, 7168, 1024], [16], [], []]"); /* back from the one up */
  add_product(job, "aten::_grouped_mm", "[[4096, 3584], [16, 3584, 1024], [16], [], []]"); /* down */
  assert_true(lumos_sizes_read(job, "ffn=1792,seq=1024", &sizes, &error));
  assert_int_equal(sizes.was[LUMOS_FFN], 3584);
  assert_int_equal(sizes.experts, 16);
  assert_int_equal(sizes.chosen, 2);
  assert_int_equal(sizes.ffn_matrices, 3);

  struct lumos_dimensions anywhere, of_layer;
  lumos_dimensions_open(&anywhere, &sizes);
  of_layer = lumos_dimensions_of_layer(&anywhere);
  const char *grouped = "aten::_grouped_mm";
  expect(&of_layer, grouped, "[[4096, 1024], [16, 1024, 7168], [16], [], []]", "[]",
         "[[2048, 1024], [16, 1024, 3584], [16], [], []]", true);
  expect(&of_layer, grouped, "[[1024, 4096], [4096, 3584], [16], [], []]", "[]",
         "[[1024, 2048], [2048, 1792], [16], [], []]", true);
  expect(&of_layer, "aten::mul", "[[2048, 2, 1024], [2048, 2, 1]]", "[]", "[[1024, 2, 1024], [1024, 2, 1]]", true);
  expect(&of_layer, "aten::softmax", "[[2048, 16], []]", "[]", "[[1024, 16], []]", true);
  /* A copy of as many rows as the vocabulary is that of a weight, but not within a layer. */
  expect(&of_layer, "aten::copy_", "[[4096, 1024], [4096, 1024], []]", "[]", "[[2048, 1024], [2048, 1024], []]", true);
  expect(&anywhere, "aten::copy_", "[[4096, 1024], [4096, 1024], []]", "[]", "[[4096, 1024], [4096, 1024], []]", true);
  /* The head's gradient of its input: rows are tokens, and what it sums over is no number of rows. */
  expect_side(&anywhere, LUMOS_OF_WEIGHT, "aten::mm", "[[2048, 4096], [4096, 1024]]", "[]",
              "[[1024, 4096], [4096, 1024]]", true);

  model->sizes.tp = 1 << 26; /* so many shards of such experts are wider than any number of features */
  assert_false(lumos_sizes_read(job, "ffn=1792", &sizes, &error));
  static const char dtypes[] = "[\"c10::BFloat16\", \"c10::BFloat16\", \"int\"]";
  struct lumos_product_shape shape;
  assert_true(lumos_grouped_shape(grouped, "[[4096, 1024], [16, 1024, 7168], [16], [], []]", dtypes, &shape));
  assert_true(shape.flops == 2 * 4096. * 1024 * 7168);
  assert_true(shape.batches == 16 && shape.rows == 256 && shape.inner == 1024 && shape.columns == 7168);
  assert_true(shape.bytes == 2 * (4096. * 1024 + 16. * 1024 * 7168 + 4096. * 7168));
  /* The gradient of the weights sums over each expert's rows, and is as large as they are. */
  assert_true(lumos_grouped_shape(grouped, "[[1024, 4096], [4096, 7168], [16], [], []]", dtypes, &shape));
  assert_true(shape.flops == 2 * 4096. * 1024 * 7168);
  assert_true(shape.batches == 16 && shape.rows == 1024 && shape.inner == 256 && shape.columns == 7168);
  assert_true(shape.bytes == 2 * (4096. * 1024 + 16. * 1024 * 7168 + 4096. * 7168));
  assert_false(lumos_grouped_shape("aten::mm", "[[4096, 7168], [7168, 1024]]", dtypes, &shape));
  assert_false(lumos_grouped_shape(grouped, "[[4096], [16, 1024, 7168], [16], [], []]", dtypes, &shape));
  lumos_job_free(job);
}

/* Two ranks share 16 experts, 3,584 wide and with a gate, which come to be shared by four: of a rank's 8 there are 4,
 * while its 4,096 rows and what each token weighs of all 16 stay. Up and down they have 3 x 8 x 1,024 x 3,584
 * parameters, whose gradients are cleared; what scales gradients may be of any weight. */
static void experts_are_shared(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct lumos_model_description *model = &job->models.items[0];
  model->ffn = model->ffn_matrices = LUMOS_ABSENT_INT;
  model->sizes.tp = 1;
  model->sizes.ep = 2;
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_dimensions dimensions;
  assert_false(lumos_sizes_on_owners(job, (struct lumos_spread){1, 1}, 4, &sizes, &error));
  assert_non_null(strstr(error.text, "does not show the experts of layers"));
  add_product(job, "aten::_grouped_mm", "[[4096, 1024], [8, 1024, 7168], [8], [], []]");
  add_product(job, "aten::_grouped_mm", "[[4096, 7168], [8, 7168, 1024], [8], [], []]"); /* back from the one up */
  add_product(job, "aten::_grouped_mm", "[[4096, 3584], [8, 3584, 1024], [8], [], []]");
  assert_true(lumos_sizes_on_owners(job, (struct lumos_spread){1, 1}, 4, &sizes, &error));
  assert_int_equal(sizes.experts, 16);
  assert_int_equal(sizes.chosen, 2);
  lumos_dimensions_open(&dimensions, &sizes);
  dimensions = lumos_dimensions_of_layer(&dimensions);
  expect(&dimensions, "aten::_grouped_mm", "[[4096, 1024], [8, 1024, 7168], [8], [], []]", "[]",
         "[[4096, 1024], [4, 1024, 7168], [4], [], []]", true);
  expect(&dimensions, "aten::_grouped_mm", "[[1024, 4096], [4096, 3584], [8], [], []]", "[]",
         "[[1024, 4096], [4096, 3584], [4], [], []]", true);
  expect(&dimensions, "aten::softmax", "[[2048, 16], []]", "[]", "[[2048, 16], []]", true);
  expect_side(&dimensions, LUMOS_OF_WEIGHT, "aten::copy_", "[[8, 1024, 7168], [8, 1024, 7168], []]", "[]",
              "[[4, 1024, 7168], [4, 1024, 7168], []]", true);
  expect(&dimensions, "aten::zero_", "[[88080384]]", "[\"float\"]", "[[44040192]]", true);
  expect(&dimensions, "aten::mul_", "[[88080384], []]", "[\"float\"]", "[[88080384], []]", true);
  expect(&dimensions, "aten::zero_", "[[1234567]]", "[\"float\"]", "[[1234567]]", true);
  static const struct {
    int32_t owners;
    const char *says;
  } wrong[] = {{3, "the nearest is --ep 2"}, {7, "the nearest is --ep 8"}, {32, "the nearest is --ep 16"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_false(lumos_sizes_on_owners(job, (struct lumos_spread){1, 1}, wrong[i].owners, &sizes, &error));
    assert_non_null(strstr(error.text, wrong[i].says));
  }
  struct lumos_model_description one = lumos_experts_as_one(job, 2);
  assert_int_equal(one.ffn, 16 * 3584);
  assert_int_equal(one.ffn_matrices, 3);
  lumos_job_free(job);
}

/* 2,048 tokens, of which each takes 2 of 16 experts; two ranks come to share tensors, and parts of sequences, while
 * experts stay whole: of each expert's rows a rank has half, of the router's tokens half, and there the router's weight
 * is no row of heads. Its own two products are as before, as is what attention makes but for its heads. */
static void experts_stay_whole(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct lumos_model_description *model = &job->models.items[0];
  model->ffn = model->ffn_matrices = LUMOS_ABSENT_INT;
  model->heads = model->kv_heads = 16;
  model->head_dim = 64;
  model->sizes.tp = model->sizes.ep = 1;
  struct lumos_sizes sizes;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_dimensions dimensions;
  assert_false(lumos_experts_are_whole(job));
  add_product(job, "aten::_grouped_mm", "[[4096, 1024], [16, 1024, 3584], [16], [], []]");
  add_product(job, "aten::_grouped_mm", "[[4096, 3584], [16, 3584, 1024], [16], [], []]");
  assert_true(lumos_experts_are_whole(job));
  assert_true(lumos_sizes_on_shards(job, 1, 2, &sizes, &error));
  assert_int_equal(sizes.parts, 2);
  lumos_dimensions_open(&dimensions, &sizes);
  dimensions = lumos_dimensions_of_layer(&dimensions);
  /* A row of all gradients, of which three quarters are left. */
  dimensions.least = 1024;
  dimensions.parameters = 0.75;
  expect(&dimensions, "aten::zero_", "[[1000000000]]", "[\"float\"]", "[[750000000]]", true);
  assert_true(lumos_dimensions_route(&dimensions, "[[2048, 1024], [1024, 16]]"));
  assert_false(lumos_dimensions_route(&dimensions, "[[2048, 1024], [1024, 1024]]"));
  struct lumos_dimensions experts = lumos_dimensions_of_experts(&dimensions);
  expect(&experts, "aten::mm", "[[2048, 1024], [1024, 16]]", "[]", "[[1024, 1024], [1024, 16]]", true);
  expect(&experts, "aten::mm", "[[2048, 16], [16, 1024]]", "[]", "[[1024, 16], [16, 1024]]", true);
  expect(&experts, "aten::mm", "[[16, 2048], [2048, 1024]]", "[]", "[[16, 1024], [1024, 1024]]", true);
  expect(&experts, "aten::softmax", "[[2048, 16], []]", "[]", "[[1024, 16], []]", true);
  expect(&experts, "aten::_grouped_mm", "[[4096, 1024], [16, 1024, 3584], [16], [], []]", "[]",
         "[[2048, 1024], [16, 1024, 3584], [16], [], []]", true);
  expect(&experts, "aten::gelu", "[[4096, 3584]]", "[]", "[[2048, 3584]]", true);
  expect(&experts, "aten::add", "[[2048, 1, 1024], [2048, 1, 1024]]", "[]", "[[1024, 1, 1024], [1024, 1, 1024]]", true);
  expect(&dimensions, "c10d::alltoall_base_", "[[4096, 1024], [4096, 1024]]", "[]", "[[2048, 1024], [2048, 1024]]",
         true);
  expect(&dimensions, "aten::add", "[[2048, 1024], [2048, 1024]]", "[]", "[[1024, 1024], [1024, 1024]]", true);
  expect(&dimensions, "aten::mm", "[[2048, 1024], [1024, 3072]]", "[]", "[[2048, 1024], [1024, 1536]]", true);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_follow),
      cmocka_unit_test(impossible_sizes_are_refused),
      cmocka_unit_test(a_dimension_is_what_its_place_says),
      cmocka_unit_test(a_node_multiplies_for_its_input_first),
      cmocka_unit_test(whole_sequences_have_no_parts),
      cmocka_unit_test(sequences_are_divided),
      cmocka_unit_test(sequences_are_shared),
      cmocka_unit_test(logits_are_no_weight),
      cmocka_unit_test(tokens_come_before_weights),
      cmocka_unit_test(experts_are_read_off_their_products),
      cmocka_unit_test(experts_are_shared),
      cmocka_unit_test(experts_stay_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
