/* Operations and bytes of ops, worked out by hand from their shapes. */
#include "cost/operation.h"
#include "unit.h"

#include <lumos/job.h>

static const struct lumos_tokens unknown = {LUMOS_ABSENT, LUMOS_ABSENT, false};

static void expect_of(const struct lumos_tokens *tokens, const char *name, const char *shapes, const char *dtypes,
                      int64_t flops, int64_t model_flops, int64_t bytes) {
  const struct lumos_operation_rule *rule = lumos_operation_rule(name);
  assert_non_null(rule);
  struct lumos_op_cost operation = lumos_operation_of(rule, shapes, dtypes, tokens);
  if (operation.flops != flops || operation.model_flops != model_flops || operation.bytes != bytes) {
    fail_msg("%s %s: %lld, %lld FLOP, %lld bytes", name, shapes, (long long)operation.flops,
             (long long)operation.model_flops, (long long)operation.bytes);
  }
}
#define expect(...) expect_of(&unknown, __VA_ARGS__)
#define UNKNOWN LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT
#define BF16 "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]"
#define FLOAT "[\"float\", \"float\", \"float\"]"

static void products(void **state) {
  (void)state;
  /* 2 x 8 x 16 x 4; 8 x 16 + 16 x 4 + 8 x 4 = 224 elements. */
  expect("aten::mm", "[[8, 16], [16, 4]]", BF16, 1024, 1024, 448);
  expect("aten::mm", "[[8, 16], [16, 4], [8, 4]]", FLOAT, 1024, 1024, 896);
  expect("aten::addmm", "[[4], [8, 16], [16, 4], [], []]", FLOAT, 1024, 1024, 896);
  expect("aten::mv", "[[8, 16], [16]]", FLOAT, 256, 256, 4 * (128 + 16 + 8));
  expect("aten::bmm", "[[3, 8, 16], [3, 16, 4]]", BF16, 3072, 3072, 3 * 448);
  expect("aten::baddbmm", "[[3, 8, 4], [3, 8, 16], [3, 16, 4], [], []]", BF16, 3072, 3072, 3 * 448);
  expect("aten::linear", "[[2, 4, 16], [4, 16], [4]]", BF16, 1024, 1024, 448);
  expect("_Linear", "[[4, 16], [2, 4, 16]]", BF16, 1024, 1024, 448);
  expect("_LayerNormLinear", "[[8, 16], [16], [16], [4, 16]]", BF16, 1024, 1024, 448);
  /* 4 x 16 times 16 x 8, and the gradient of the weight: 16 x 8 times 8 x 4. */
  expect("tex_ts::te_gemm_ts", "[[4, 16], [], [], [], [], [8, 16], [], [], [], [], [8, 4]]", BF16, 1024, 1024, 448);
  expect("tex_ts::te_gemm_ts", "[[8, 16], [], [], [], [], [8, 4], [], [], [], [], [4, 16]]", BF16, 1024, 1024, 448);
}

static void what_shapes_do_not_show_is_unknown(void **state) {
  (void)state;
  expect("aten::mm", "[[8, 16], [15, 4]]", BF16, UNKNOWN);
  expect("aten::mm", "[[], []]", BF16, UNKNOWN);
  expect("aten::mm", "", "", UNKNOWN);
  expect("aten::mm", "[[0, 0], [0, 0]]", BF16, UNKNOWN);
  expect("aten::mm", "[[99999999999, 16], [16, 99999999999]]", BF16, UNKNOWN);
  expect("aten::mm", "[[8, 16], [16, 4]]", "[\"what\"]", 1024, 1024, LUMOS_ABSENT);
  /* Which rows belong to which group, and how many to none, is in a tensor. */
  expect("aten::_grouped_mm", "[[8, 16], [2, 16, 4], [2]]", BF16, UNKNOWN);
  expect("aten::_scaled_grouped_mm", "[[8, 16], [16, 4], [8], [4], [2]]", BF16, UNKNOWN);
  expect("flash_attn_3::fwd", "[[64, 4, 8], [64, 4, 8], [64, 4, 8]]", BF16, UNKNOWN);
  expect("aten::convolution", "[[2, 3, 8, 8], [6, 3, 3, 3]]", BF16, UNKNOWN);
  assert_null(lumos_operation_rule("aten::add"));
  assert_true(lumos_operation_is_packed(lumos_operation_rule("flash_attn_3::fwd"), "[[64, 4, 8], [64, 4, 8]]"));
  assert_false(lumos_operation_is_packed(lumos_operation_rule("FlashAttnFunc"), "[[1, 64, 4, 8], [1, 64, 4, 8]]"));
  assert_false(lumos_operation_is_packed(lumos_operation_rule("aten::bmm"), "[[1, 64, 4], [1, 4, 8]]"));
}

/* Batch 2, 4 heads, 8 tokens, head_dim 16: scores are 2 x 2 x 4 x 8 x 8 x 16 = 16384, values as many. */
static void attention(void **state) {
  (void)state;
  int64_t elements = 2 * 4 * 8 * 16;
  expect("aten::_scaled_dot_product_flash_attention", "[[2, 4, 8, 16], [2, 4, 8, 16], [2, 4, 8, 16]]", BF16, 32768,
         32768, 2 * 4 * elements);
  expect("FlashAttnFunc", "[[2, 8, 4, 16], [2, 8, 4, 16], [2, 8, 4, 16]]", BF16, 32768, 32768, 2 * 4 * elements);
  /* Keys and values of one head, which all share. */
  expect("FlashAttnFunc", "[[2, 8, 4, 16], [2, 8, 1, 16], [2, 8, 1, 16]]", BF16, 32768, 32768,
         2 * (2 * elements + 2 * elements / 4));
  /* Four products of gradients, and the scores once more. */
  expect("flash_attn::_flash_attn_backward", "[[2, 8, 4, 16], [2, 8, 4, 16], [2, 8, 4, 16], [2, 8, 4, 16]]", BF16,
         81920, 65536, 2 * 8 * elements);
  const struct lumos_operation_rule *rule = lumos_operation_rule("aten::scaled_dot_product_attention");
  assert_true(lumos_operation_of(rule, "[[2, 4, 8, 16], [2, 4, 8, 16], [2, 4, 8, 16], []]", BF16, &unknown).square);
  assert_false(
      lumos_operation_of(rule, "[[2, 4, 8, 16], [2, 4, 8, 16], [2, 4, 8, 16], [8, 8]]", BF16, &unknown).square);
  assert_false(lumos_operation_of(rule, "[[2, 4, 1, 16], [2, 4, 8, 16], [2, 4, 8, 16], []]", BF16, &unknown).square);
}

/* As above: each of the 4 heads of queries does its products, whoever else uses its keys and values. Forward all four
 * are moved once, backward twice: 2 bytes times 1024 + 256 + 256 + 1024. */
static void keys_and_values_of_fewer_heads(void **state) {
  (void)state;
  expect("aten::_scaled_dot_product_flash_attention", "[[2, 4, 8, 16], [2, 1, 8, 16], [2, 1, 8, 16]]", BF16, 32768,
         32768, 5120);
  expect("aten::_flash_attention_forward", "[[2, 8, 4, 16], [2, 8, 1, 16], [2, 8, 1, 16]]", BF16, 32768, 32768, 5120);
  expect("aten::_scaled_dot_product_flash_attention_backward",
         "[[2, 4, 8, 16], [2, 4, 8, 16], [2, 1, 8, 16], [2, 1, 8, 16]]", BF16, 81920, 65536, 10240);
  expect("flash_attn::_flash_attn_backward", "[[2, 8, 4, 16], [2, 8, 4, 16], [2, 8, 1, 16], [2, 8, 1, 16]]", BF16,
         81920, 65536, 10240);
}

/* The same as sequence, batch, heads, head_dim, where the model has 2 sequences of 8 tokens. Read as 8 sequences of 2
 * tokens the scores are 2 x 8 x 4 x 2 x 2 x 16 = 4096. */
static void the_model_says_which_is_the_sequence(void **state) {
  (void)state;
  static const char sequence_first[] = "[[8, 2, 4, 16], [8, 2, 4, 16], [8, 2, 4, 16]]";
  const struct lumos_tokens tokens = {8, 2, false}, others = {8, 4, false}, square = {8, 8, false},
                            half = {8, LUMOS_ABSENT, false};
  expect_of(&tokens, "FlashAttnFunc", sequence_first, BF16, 32768, 32768, 8192);
  expect_of(&tokens, "FlashAttnFunc", "[[2, 8, 4, 16], [2, 8, 4, 16], [2, 8, 4, 16]]", BF16, 32768, 32768, 8192);
  expect_of(&unknown, "FlashAttnFunc", sequence_first, BF16, 8192, 8192, 8192);
  expect_of(&others, "FlashAttnFunc", sequence_first, BF16, 8192, 8192, 8192);
  expect_of(&half, "FlashAttnFunc", sequence_first, BF16, 8192, 8192, 8192);
  expect_of(&square, "FlashAttnFunc", "[[8, 8, 4, 16], [8, 8, 4, 16], [8, 8, 4, 16]]", BF16, 131072, 131072, 32768);
  /* Heads before the sequence: no other order is known. 8 sequences, 2 heads, 4 tokens.  */
  expect_of(&tokens, "aten::_scaled_dot_product_flash_attention", sequence_first, BF16, 16384, 16384, 8192);
  const struct lumos_tokens one = {8, 1, false};
  const struct lumos_operation_rule *rule = lumos_operation_rule("FlashAttnFunc");
  assert_true(lumos_operation_of(rule, "[[8, 1, 4, 16], [8, 1, 4, 16], [8, 1, 4, 16]]", BF16, &one).square);
  assert_false(lumos_operation_of(rule, "[[8, 1, 4, 16], [8, 1, 4, 16], [8, 1, 4, 16]]", BF16, &unknown).square);
}

/* Of 8 tokens a rank has 4 as queries, which see the keys of all: half as many scores as of the whole, and half of
 * these are causal, as for the other rank. What is of 7 keys, or of ranks with whole sequences, is another attention.
 * Backward blocks are of keys. */
static void queries_may_be_a_part(void **state) {
  (void)state;
  static const char part[] = "[[2, 4, 4, 16], [2, 8, 4, 16], [2, 8, 4, 16]]";
  const struct lumos_tokens parted = {LUMOS_ABSENT, LUMOS_ABSENT, true};
  const struct lumos_operation_rule *forward = lumos_operation_rule("flash_attn::_flash_attn_forward");
  const struct lumos_operation_rule *backward = lumos_operation_rule("flash_attn::_flash_attn_backward");
  expect_of(&parted, "flash_attn::_flash_attn_forward", part, BF16, 16384, 16384, 2 * (2 * 512 + 2 * 1024));
  assert_true(lumos_operation_of(forward, part, BF16, &parted).square);
  assert_false(lumos_operation_of(forward, part, BF16, &unknown).square);
  assert_false(lumos_operation_of(forward, "[[2, 4, 4, 16], [2, 7, 4, 16], [2, 7, 4, 16]]", BF16, &parted).square);
  struct lumos_op_cost cost =
      lumos_operation_of(backward, "[[2, 4, 4, 16], [2, 4, 4, 16], [2, 8, 4, 16], [2, 8, 4, 16]]", BF16, &parted);
  assert_true(cost.square);
  assert_int_equal(cost.rows, 8);
  assert_int_equal(cost.columns, 4);
  assert_int_equal(cost.flops, 40960);
}

/* 2 images, 3 to 6 channels, 3 x 3 filters, 8 x 8 to 4 x 4: 2 x (2 x 6 x 16) x 27 = 10368 forward, twice that back.
 * Spread, 6 to 3 channels: 2 x (2 x 6 x 16) x 27 as well, for each element of the smaller image. */
static void convolutions(void **state) {
  (void)state;
  expect("aten::convolution_backward", "[[2, 6, 4, 4], [2, 3, 8, 8], [6, 3, 3, 3]]", FLOAT, 20736, 20736,
         2 * 4 * (192 + 384 + 162));
  expect("aten::convolution_backward", "[[2, 3, 8, 8], [2, 6, 4, 4], [6, 3, 3, 3]]", FLOAT, 20736, 20736,
         2 * 4 * (192 + 384 + 162));
}

static void kernels_say_whether_they_are_causal(void **state) {
  (void)state;
#define FORWARD \
  "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, false, T<true> >, "
  assert_int_equal(lumos_causal_of_kernel(FORWARD "false, true, false, false>(P)"), LUMOS_CAUSAL);
  assert_int_equal(lumos_causal_of_kernel(FORWARD "true, false, false, false>(P)"), LUMOS_NOT_CAUSAL);
  assert_int_equal(lumos_causal_of_kernel(FORWARD "false, false, true, false>(P)"), LUMOS_WINDOW);
  assert_int_equal(lumos_causal_of_kernel("flash_fwd_splitkv_kernel<T<1, 2>, true, false>"), LUMOS_CAUSAL);
  assert_int_equal(lumos_causal_of_kernel("flash_fwd_kernel<T"), LUMOS_CAUSAL_UNKNOWN);
  assert_int_equal(lumos_causal_of_kernel("attn_fwd"), LUMOS_CAUSAL_UNKNOWN);
}

static void formats_are_read_from_types_and_names(void **state) {
  (void)state;
  int size = 0;
  assert_int_equal(lumos_dtype_recorded("[\n \"c10::Half\",\n \"float\"\n]", 1, &size), LUMOS_FP32);
  assert_int_equal(size, 4);
  assert_int_equal(lumos_dtype_recorded("[\"c10::Float8_e4m3fn\"]", 0, &size), LUMOS_FP8);
  assert_int_equal(lumos_dtype_recorded("[\"\", \"double\"]", 1, &size), LUMOS_FP64);
  assert_int_equal(lumos_dtype_recorded("[\"float\"]", 1, &size), LUMOS_NO_DTYPE);
  assert_int_equal(size, 0);
  assert_int_equal(lumos_dtype_recorded("\"", 0, &size), LUMOS_NO_DTYPE);
  static const struct {
    const char *name;
    enum lumos_dtype dtype;
  } kernels[] = {
      {"nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT", LUMOS_BF16},
      {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", LUMOS_BF16},
      {"nvjet_sm100_hsh_128x256_64x4_2x1_2cta_v_bz_TNT", LUMOS_FP16},
      {"nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", LUMOS_FP8},
      {"cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align1", LUMOS_TF32},
      {"cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_64x3_nn_align2", LUMOS_BF16},
      {"volta_sgemm_128x32_nt", LUMOS_FP32},
      {"volta_fp16_s884gemm_fp16_256x128_ldg8_f2f_nn", LUMOS_FP16},
      {"Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV", LUMOS_BF16},
      {"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n", LUMOS_TF32},
      {"a_kernel", LUMOS_NO_DTYPE},
  };
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    assert_int_equal(lumos_dtype_of_kernel(kernels[i].name), kernels[i].dtype);
  }
}

/* bfloat16 goes in; float32 comes out, or is added to. */
static void kernels_say_how_wide_their_output_is(void **state) {
  (void)state;
  assert_int_equal(lumos_output_of_kernel("nvjet_tst_128x128_64x6_2x1_v_bz_TNT"), 1);
  assert_int_equal(lumos_output_of_kernel("nvjet_tss_128x128_64x6_2x1_v_bz_TNT"), 2);
  assert_int_equal(lumos_output_of_kernel("nvjet_tss_192x192_64x4_2x1_v_badd_coopB_NTN"), 4);
  assert_int_equal(lumos_output_of_kernel("nvjet_sm90_hss_64x8_64x16_4x1_v_badd_NNT"), 4);
  assert_int_equal(lumos_output_of_kernel("ampere_sgemm_128x64_nn"), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products),
      cmocka_unit_test(what_shapes_do_not_show_is_unknown),
      cmocka_unit_test(attention),
      cmocka_unit_test(keys_and_values_of_fewer_heads),
      cmocka_unit_test(the_model_says_which_is_the_sequence),
      cmocka_unit_test(queries_may_be_a_part),
      cmocka_unit_test(kernels_say_how_wide_their_output_is),
      cmocka_unit_test(convolutions),
      cmocka_unit_test(kernels_say_whether_they_are_causal),
      cmocka_unit_test(formats_are_read_from_types_and_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
