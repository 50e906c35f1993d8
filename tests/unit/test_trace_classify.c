/* Kinds by name: names as real profilers write them. */
#include "trace/classify.h"
#include "unit.h"
#include <lumos/trace.h>

static void patterns_match_as_described(void **state) {
  (void)state;
  static const struct {
    const char *pattern, *text;
    bool matches;
  } rows[] = {
      {"gemm", "xGEMMx", true},   {"gemm", "gem", false},   {"^ab", "abc", true},    {"^ab", "cab", false},
      {"ab$", "cab", true},       {"ab$", "abab", true},    {"ab$", "abc", false},   {"^ab$", "ab", true},
      {"^ab$", "abb", false},     {"", "", true},           {"^a*c", "aXXc.", true}, {"^a*c", "ba c", false},
      {"a*b*c", "xaxbxcx", true}, {"a*c*b", "abc", false},  {"^$", "", true},        {"^$", "a", false},
      {"a*b$", "axbxb", true},    {"a*b$", "axbxc", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (lumos_trace_matches(rows[i].pattern, rows[i].text) != rows[i].matches) {
      fail_msg("%s on %s", rows[i].pattern, rows[i].text);
    }
  }
}

static const struct {
  const char *name, *op;
  enum lumos_task_kind kind;
} kernels[] = {
    {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "", LUMOS_COLLECTIVE},
    {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "", LUMOS_COLLECTIVE},
    {"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", "", LUMOS_COLLECTIVE},
    {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", "", LUMOS_P2P},
    {"void deep_ep::internode_ll::dispatch<true>(void*)", "", LUMOS_COLLECTIVE},
    {"void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(int4*, float*)", "", LUMOS_COLLECTIVE},
    {"void deep_ep::layout::get_dispatch_layout<256, 4, 2>(long const*, int*)", "", LUMOS_REDUCTION},
    {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "", LUMOS_COLLECTIVE},
    {"_mxfp8_all_to_all_expert_major_kernel", "", LUMOS_COLLECTIVE},
    {"void hybrid_ep::dispatch_kernel<hybrid_ep::intra_node_group>(x)", "", LUMOS_COLLECTIVE},
    {"oneccl_reduce_base<float, 2, 16, 1, 1, 2>", "", LUMOS_COLLECTIVE},
    {"xccl::allreduce", "", LUMOS_COLLECTIVE},
    {"userbuffers_fp16_sum_inplace_gpu_rr_rs_oop", "", LUMOS_COLLECTIVE},
    {"kuserbuffers_pushsend(int*, int*, int4*, int4*, int, int)", "", LUMOS_P2P},
    {"void multimem_one_shot_reduce<x>(x)", "", LUMOS_COLLECTIVE},
    {"void transformer_engine::normalization::ln_fwd_tuned_kernel<x>(x)", "", LUMOS_NORM},
    {"void at::native::(anonymous namespace)::chunk_cat_cuda_kernel<x>(x)", "aten::_chunk_cat", LUMOS_ELEMENTWISE},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<2>, "
     "CopyFunctor<c10::BFloat16, "
     "float, 2, 1, 1>, at::native::Copy<c10::BFloat16, float> >(x)",
     "aten::_foreach_copy_", LUMOS_ELEMENTWISE},
    {"nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "aten::mm", LUMOS_GEMM},
    {"volta_sgemm_128x64_tn", "", LUMOS_GEMM},
    {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", "", LUMOS_GEMM},
    {"Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64", "", LUMOS_GEMM},
    {"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_nhwckrsc_nchw", "aten::cudnn_convolution", LUMOS_GEMM},
    {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)", "", LUMOS_GEMM},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float>(x)", "", LUMOS_GEMM},
    {"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128> >(x)", "", LUMOS_ATTENTION},
    {"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<x> > >", "", LUMOS_ATTENTION},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention)", "", LUMOS_ATTENTION},
    {"attn_fwd", "", LUMOS_ATTENTION},
    {"triton_poi_fused__scaled_mm__to_copy_clone_div_0", "", LUMOS_ELEMENTWISE},
    {"triton_red_fused__log_softmax_div_mul_0", "", LUMOS_REDUCTION},
    {"triton_per_fused__fused_rms_norm_add_3", "", LUMOS_NORM},
    {"triton_red_fused_linalg_vector_norm_1", "", LUMOS_REDUCTION},
    {"triton_poi_fused_embedding_0", "", LUMOS_EMBEDDING},
    {"triton_tem_fused_mm_7", "", LUMOS_GEMM},
    {"triton__0d1d2d3d", "", LUMOS_OTHER_DEVICE},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)", "aten::add_",
     LUMOS_ELEMENTWISE},
    {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(x)", "aten::cat",
     LUMOS_ELEMENTWISE},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(x)", "aten::sum", LUMOS_REDUCTION},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float> > >(x)",
     "aten::linalg_vector_norm", LUMOS_REDUCTION},
    {"void fft2d_r2c_32x32<float, false, 1u, false>(float2*, float const*, cudnn::reduced_divisor, bool, int2)",
     "aten::cudnn_convolution", LUMOS_GEMM},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(x)", "aten::native_layer_norm_backward",
     LUMOS_NORM},
    {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, true>(x)", "", LUMOS_REDUCTION},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(x)", "", LUMOS_NORM},
    {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>(x)", "aten::embedding",
     LUMOS_EMBEDDING},
    {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>(x)", "aten::index_select",
     LUMOS_ELEMENTWISE},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float> "
     ">(x)",
     "", LUMOS_OPTIMIZER},
    {"void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp_per_row_1<float>(x)", "",
     LUMOS_EMBEDDING},
    {"__amd_rocclr_copyBuffer", "", LUMOS_COPY},
    {"__amd_rocclr_fillBufferAligned", "", LUMOS_MEMSET},
    {"my_kernel", "aten::mm", LUMOS_GEMM},
    {"my_kernel", "aten::_scaled_dot_product_flash_attention", LUMOS_ATTENTION},
    {"XXT_kernel", "", LUMOS_OTHER_DEVICE},
    {"", "", LUMOS_OTHER_DEVICE},
};

static void kernels_have_kinds(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    enum lumos_task_kind kind = lumos_classify_device("kernel", kernels[i].name, kernels[i].op);
    if (kind != kernels[i].kind) {
      fail_msg("%s in '%s' is %s", kernels[i].name, kernels[i].op, lumos_task_kind_name(kind));
    }
  }
  assert_int_equal(lumos_classify_device("gpu_memcpy", "gemm", ""), LUMOS_COPY);
  assert_int_equal(lumos_classify_device("gpu_memset", "gemm", ""), LUMOS_MEMSET);
  assert_int_equal(lumos_classify_device("mtia_ccp_events", "dma_request", ""), LUMOS_COPY);
  assert_int_equal(lumos_classify_device("mtia_ccp_events", "remote", ""), LUMOS_COPY);
  assert_int_equal(lumos_classify_device("mtia_ccp_events", "gemm", ""), LUMOS_GEMM);
  assert_int_equal(lumos_classify_device("kernel", "remote", ""), LUMOS_OTHER_DEVICE);
}

static void calls_have_kinds(void **state) {
  (void)state;
  static const struct {
    const char *name;
    enum lumos_task_kind kind;
    int wait, event;
  } rows[] = {
      {"cudaLaunchKernel", LUMOS_LAUNCH, 0, 0},
      {"cudaLaunchKernelExC_v11060", LUMOS_LAUNCH, 0, 0},
      {"cuLaunchKernelEx", LUMOS_LAUNCH, 0, 0},
      {"hipExtModuleLaunchKernel", LUMOS_LAUNCH, 0, 0},
      {"cudaGraphLaunch", LUMOS_LAUNCH, 0, 0},
      {"cudaLaunchHostFunc", LUMOS_OTHER_HOST, 0, 0},
      {"urEnqueueKernelLaunch", LUMOS_LAUNCH, 0, 0},
      {"urEnqueueUSMFill", LUMOS_LAUNCH, 0, 0},
      {"urQueueFinish", LUMOS_SYNC, LUMOS_WAIT_STREAM, 0},
      {"zeCommandQueueSynchronize", LUMOS_SYNC, LUMOS_WAIT_STREAM, 0},
      {"urEventWait", LUMOS_SYNC, LUMOS_WAIT_EVENT, 0},
      {"zeEventHostSynchronize", LUMOS_SYNC, LUMOS_WAIT_EVENT, 0},
      {"urEnqueueEventsWaitWithBarrier", LUMOS_EVENT, 0, 0},
      {"cudaMemcpyAsync", LUMOS_LAUNCH, 0, 0},
      {"cudaMemcpy", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
      {"hipMemcpyWithStream", LUMOS_LAUNCH, LUMOS_WAIT_SELF, 0},
      {"cudaMemsetAsync", LUMOS_LAUNCH, 0, 0},
      {"cuMemSetAccess", LUMOS_ALLOC, 0, 0},
      {"cudaMalloc", LUMOS_ALLOC, 0, 0},
      {"cudaFreeHost", LUMOS_ALLOC, 0, 0},
      {"cuMemMap", LUMOS_ALLOC, 0, 0},
      {"cudaStreamSynchronize", LUMOS_SYNC, LUMOS_WAIT_STREAM, 0},
      {"hipDeviceSynchronize", LUMOS_SYNC, LUMOS_WAIT_DEVICE, 0},
      {"cuCtxSynchronize", LUMOS_SYNC, LUMOS_WAIT_DEVICE, 0},
      {"cudaEventSynchronize", LUMOS_SYNC, LUMOS_WAIT_EVENT, 0},
      {"cudaEventRecordWithFlags", LUMOS_EVENT, 0, LUMOS_EVENT_RECORD},
      {"hipStreamWaitEvent", LUMOS_EVENT, 0, LUMOS_EVENT_WAIT},
      {"cudaEventQuery", LUMOS_EVENT, 0, 0},
      {"cudaStreamIsCapturing", LUMOS_OTHER_HOST, 0, 0},
      {"", LUMOS_OTHER_HOST, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct trace_call_rule *rule = lumos_trace_call_rule(rows[i].name);
    if (rule->kind != rows[i].kind || (int)rule->wait != rows[i].wait || (int)rule->event != rows[i].event) {
      fail_msg("%s is %s, waits %d, event %d", rows[i].name, lumos_task_kind_name(rule->kind), (int)rule->wait,
               (int)rule->event);
    }
    assert_int_equal(lumos_trace_call_rule(rows[i].name)->kind, rows[i].kind);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(patterns_match_as_described),
      cmocka_unit_test(kernels_have_kinds),
      cmocka_unit_test(calls_have_kinds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
