/* All kernels but the matrix products: a row for each kernel that moves memory, one for each kind of attention, and how
 * copies and communication look. Names are those of PyTorch 2, Triton, CUB, cuDNN, FlashAttention 2, Apex, Transformer
 * Engine and NCCL.
 */
#include "kernels.h"
#include "hardware.h"
#include "nccl.h"
#include <math.h>
#include <string.h>

static const struct label nowhere = {.phase = PHASE_OTHER, .part = PART_OTHER, .micro_batch = -1, .layer = -1};

/* --- kernels that move memory --- */

struct row {
  const char *name;
  const char *before_hopper; /* NULL: the same */
  double bytes;              /* read and written, an element */
  double share;              /* of the bandwidth that a streaming kernel reaches */
  uint8_t kind;
  int start;    /* ns */
  int elements; /* of a block */
  int threads, registers, shared_memory;
};

#define ELEMENTWISE(width, functor, arrays)                                                          \
  "void at::native::vectorized_elementwise_kernel<" width ", " functor ", std::array<char*, " arrays \
  "ul> >(int, " functor ", std::array<char*, " arrays "ul>)"
#define MULTIPLY "at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >"
#define UNARY(kernel)                                                                                              \
  "at::native::" kernel "(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() " \
  "const::{lambda(float)#1}"
#define TO_BFLOAT "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}"
#define COPY_FLOAT                                                                                                 \
  "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::" \
  "operator()() const::{lambda(float)#1}"
#define COPY_BFLOAT                                                                                                 \
  "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::" \
  "operator()() const::{lambda(c10::BFloat16)#1}"
#define CASTING(functor)                                                                                             \
  "void at::native::unrolled_elementwise_kernel<" functor ", std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, " \
  "unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, "                   \
  "at::native::memory::StoreWithCast<1> >(int, " functor ", std::array<char*, 2ul>, TrivialOffsetCalculator<1, "     \
  "unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, "                   \
  "at::native::memory::StoreWithCast<1>)"
#define ADDING                                                                                                   \
  "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>, 4, " \
  "TrivialOffsetCalculator<2, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, "                         \
  "at::native::memory::LoadWithCast<2>, at::native::memory::StoreWithCast<1> >(int, "                            \
  "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>, TrivialOffsetCalculator<2, unsigned int>, "       \
  "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<2>, "                              \
  "at::native::memory::StoreWithCast<1>)"
#define STRIDED(functor)                                                                                              \
  "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<" functor                           \
  ">(at::TensorIteratorBase&, " functor " const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<" functor \
  ">(at::TensorIteratorBase&, " functor " const&)::{lambda(int)#1})"
#define REDUCING(threads, outputs, type, operation, shape)                                                   \
  "void at::native::reduce_kernel<" threads ", " outputs ", at::native::ReduceOp<" type ", " operation       \
  ", unsigned int, " type ", " shape "> >(at::native::ReduceOp<" type ", " operation ", unsigned int, " type \
  ", " shape ">)"
#define SUM(type)                                                                       \
  "at::native::func_wrapper_t<" type ", at::native::sum_functor<" type ", float, " type \
  ">::operator()(at::TensorIterator&)::{lambda(float, float)#1}>"
#define MULTI_TENSOR(lists, functor, more)                                                                \
  "void multi_tensor_apply_kernel<TensorListMetadata<" lists ">, " functor more ">(long, int volatile*, " \
  "TensorListMetadata<" lists ">, " functor more ")"
#define GELU(kernel, arguments)                                                                               \
  "at::native::" kernel "(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::" \
  "{lambda()#4}::operator()() const::{lambda(" arguments ")#1}"
#define ADAM_MORE ", float, float, float, float, float, float, adamMode_t, float"
#define SORT                                                                                                        \
  "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<long, long, " \
  "int>::Policy900, false, long, long, int, int>(int*, int*, int*, int const*, long*, long const*, long*, "         \
  "long const*, int, int, int)"

static const struct row rows[KERNELS] = {
    [KERNEL_LAYER_NORM] = {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>"
                           "(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, "
                           "float*, c10::BFloat16*)",
                           NULL, 4, 0.85, WORK_NORM, 2500, 4096, 128, 40, 24},
    [KERNEL_LAYER_NORM_BACKWARD_INPUT] =
        {"void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>"
         "(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, "
         "c10::BFloat16*, int)",
         NULL, 6, 0.80, WORK_NORM, 2800, 4096, 128, 40, 16},
    [KERNEL_LAYER_NORM_BACKWARD_WEIGHT] =
        {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::BFloat16, float, 64u, 16u, "
         "1024u, true, true, false>(long, long, c10::BFloat16 const*, c10::BFloat16 const*, float const*, "
         "float const*, c10::BFloat16*, c10::BFloat16*)",
         NULL, 4, 0.60, WORK_NORM, 3200, 65536, 1024, 48, 0},
    [KERNEL_BIAS_GELU] = {"triton_poi_fused_add_gelu_0", NULL, 4, 0.97, WORK_ELEMENTWISE, 1900, 1024, 128, 32, 0},
    [KERNEL_BIAS_GELU_BACKWARD] = {"triton_poi_fused_add_gelu_gelu_backward_0", NULL, 6, 0.97, WORK_ELEMENTWISE, 1900,
                                   1024, 128, 40, 0},
    [KERNEL_BIAS_DROPOUT_ADD] = {"triton_poi_fused_add_native_dropout_0", NULL, 7, 0.95, WORK_ELEMENTWISE, 2000, 1024,
                                 128, 38, 0},
    [KERNEL_DROPOUT_BACKWARD] = {"triton_poi_fused_native_dropout_backward_0", NULL, 5, 0.96, WORK_ELEMENTWISE, 1900,
                                 1024, 128, 24, 0},
    [KERNEL_BIAS_GRADIENT] = {REDUCING("128", "4", "c10::BFloat16", SUM("c10::BFloat16"), "4, 8"), NULL, 2, 0.70,
                              WORK_REDUCTION, 3200, 65536, 128, 56, 2064},
    [KERNEL_ROTARY] = {"void transformer_engine::fused_rope_forward_kernel<__nv_bfloat16>(__nv_bfloat16 const*, "
                       "float const*, __nv_bfloat16*, int, int, int, int, int, int, int, int, int, int, int)",
                       NULL, 4, 0.75, WORK_ELEMENTWISE, 2400, 4096, 256, 40, 0},
    [KERNEL_ROTARY_BACKWARD] = {"void transformer_engine::fused_rope_backward_kernel<__nv_bfloat16>(__nv_bfloat16 "
                                "const*, float const*, __nv_bfloat16*, int, int, int, int, int, int, int, int, int, "
                                "int, int)",
                                NULL, 4, 0.72, WORK_ELEMENTWISE, 2400, 4096, 256, 40, 0},
    [KERNEL_TRANSPOSE] = {STRIDED(COPY_BFLOAT), NULL, 4, 0.60, WORK_ELEMENTWISE, 2000, 512, 128, 18, 0},
    [KERNEL_ADD] = {ELEMENTWISE("8", "at::native::CUDAFunctor_add<c10::BFloat16>", "3"), NULL, 6, 1, WORK_ELEMENTWISE,
                    1800, 1024, 128, 34, 0},
    [KERNEL_EMBEDDING] = {"void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, "
                          "long, long, bool)",
                          NULL, 4, 0.85, WORK_EMBEDDING, 2500, 2048, 256, 32, 0},
    [KERNEL_EMBEDDING_BACKWARD] = {"void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, float, "
                                   "long>(long const*, c10::BFloat16 const*, long const*, long, long, long const*, "
                                   "long const*, float*, long)",
                                   NULL, 6, 0.55, WORK_EMBEDDING, 4000, 8192, 128, 40, 0},
    [KERNEL_EMBEDDING_SORT] = {SORT, NULL, 32, 0.40, WORK_EMBEDDING, 8000, 7680, 384, 80, 38912},
    [KERNEL_LOGITS_MAX] = {REDUCING("512", "1", "float", "at::native::MaxOps<float>", "4, 4"), NULL, 4, 0.85,
                           WORK_REDUCTION, 3000, 32768, 512, 32, 16},
    [KERNEL_LOGITS_SUBTRACT_EXP] = {"triton_poi_fused_exp_sub_0", NULL, 8, 0.97, WORK_ELEMENTWISE, 1900, 1024, 128, 24,
                                    0},
    [KERNEL_LOGITS_SUM] = {REDUCING("512", "1", "float", SUM("float"), "4, 4"), NULL, 4, 0.85, WORK_REDUCTION, 3000,
                           32768, 512, 32, 16},
    [KERNEL_LOSS_GATHER] = {"void at::native::index_elementwise_kernel<128, 4, "
                            "at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<4> >"
                            "(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char "
                            "const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, "
                            "at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, "
                            "c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} "
                            "const&)::{lambda(int)#1}>(long, at::native::gpu_index_kernel<"
                            "at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, "
                            "c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>"
                            "(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, "
                            "at::native::index_kernel_impl<at::native::OpaqueType<4> >(at::TensorIteratorBase&, "
                            "c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} "
                            "const&)::{lambda(int)#1})",
                            NULL, 24, 0.40, WORK_ELEMENTWISE, 2800, 512, 128, 42, 0},
    [KERNEL_LOSS_LOG] = {ELEMENTWISE("4", UNARY("log_kernel_cuda"), "2"), NULL, 8, 1, WORK_ELEMENTWISE, 1800, 512, 128,
                         23, 0},
    [KERNEL_LOSS_MEAN] = {REDUCING("512", "1", "float", "at::native::MeanOps<float, float, float, float>", "4, 4"),
                          NULL, 4, 0.70, WORK_REDUCTION, 3500, 32768, 512, 32, 16},
    [KERNEL_SOFTMAX_BACKWARD] = {ELEMENTWISE("4",
                                             "at::native::BinaryFunctor<float, float, float, "
                                             "at::native::binary_internal::MulFunctor<float> >",
                                             "3"),
                                 NULL, 8, 0.97, WORK_ELEMENTWISE, 1800, 512, 128, 26, 0},
    [KERNEL_CAST_TO_FLOAT] = {CASTING(COPY_FLOAT), NULL, 6, 0.90, WORK_ELEMENTWISE, 1800, 512, 128, 32, 0},
    [KERNEL_CAST_TO_BFLOAT] = {ELEMENTWISE("8", TO_BFLOAT, "2"), NULL, 6, 0.97, WORK_ELEMENTWISE, 1800, 1024, 128, 32,
                               0},
    [KERNEL_SCALE] = {ELEMENTWISE("4", MULTIPLY, "2"), NULL, 8, 1, WORK_ELEMENTWISE, 1800, 512, 128, 32, 0},
    [KERNEL_GRADIENT_ACCUMULATE] = {ADDING, NULL, 10, 0.90, WORK_ELEMENTWISE, 1900, 512, 128, 32, 0},
    [KERNEL_L2_NORM] = {MULTI_TENSOR("1", "L2NormFunctor<float>", ", float*, float*, bool, int"), NULL, 4, 0.85,
                        WORK_OPTIMIZER, 3000, 65536, 512, 34, 2048},
    [KERNEL_L2_NORM_REDUCE] = {"cleanup(float*, float*, float*, float*, bool, int)", NULL, 4, 0.50, WORK_OPTIMIZER,
                               2800, 65536, 512, 25, 2048},
    [KERNEL_CLIP] = {MULTI_TENSOR("2", "ScaleFunctor<float, float>", ", float"), NULL, 8, 0.92, WORK_OPTIMIZER, 2500,
                     65536, 512, 36, 0},
    [KERNEL_ADAM] = {MULTI_TENSOR("4", "AdamFunctor<float, float, int>", ADAM_MORE), NULL, 28, 0.90, WORK_OPTIMIZER,
                     3000, 65536, 512, 48, 0},
    [KERNEL_SHARE_CAST] = {MULTI_TENSOR("2",
                                        "at::native::(anonymous namespace)::CopyFunctor<c10::BFloat16, float, 2, 1, 1>",
                                        ", at::native::Copy<c10::BFloat16, float>"),
                           NULL, 6, 0.90, WORK_ELEMENTWISE, 2600, 65536, 512, 32, 0},
    [KERNEL_SPLIT] = {"at::native::detail::split_with_sizes_copy_out_contiguous_no_cast_kernel(char**, char**, long*, "
                      "long*, long*, long, long)",
                      NULL, 4, 0.85, WORK_ELEMENTWISE, 2400, 4096, 128, 32, 0},
    [KERNEL_CHUNKS] = {"void at::native::detail::chunk_cat_cuda_kernel<float, c10::BFloat16>(c10::BFloat16**, float*, "
                       "long*, long*, long*, long*, long*, long*, long, long)",
                       NULL, 6, 0.80, WORK_ELEMENTWISE, 2600, 4096, 128, 40, 0},
    [KERNEL_SHARE_ADD] = {ELEMENTWISE("4", "at::native::CUDAFunctor_add<float>", "3"), NULL, 12, 1, WORK_ELEMENTWISE,
                          1800, 512, 128, 32, 0},
    [KERNEL_FILL] = {ELEMENTWISE("4", "at::native::FillFunctor<float>", "1"), NULL, 4, 1, WORK_ELEMENTWISE, 1500, 512,
                     128, 16, 0},
    [KERNEL_ATTENTION_DOT] =
        {"void cudnn::fusion::compute_dot_do_o_specialized<true, 128>(__nv_bfloat16 const*, __nv_bfloat16 const*, "
         "float*, float*, cudnn::fusion::AttributeSet)",
         "void flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, "
         "cutlass::bfloat16_t, Flash_kernel_traits<128, 64, 128, 8, cutlass::bfloat16_t> > >(flash::Flash_bwd_params)",
         8, 0.85, WORK_ATTENTION, 2500, 8192, 256, 48, 0},
    [KERNEL_ATTENTION_CONVERT] =
        {"void cudnn::fusion::convert_dq_to_16bits<true>(void const*, void*, cudnn::fusion::AttributeSet)",
         "void flash::flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, "
         "cutlass::bfloat16_t, Flash_kernel_traits<128, 64, 128, 8, cutlass::bfloat16_t> > >(flash::Flash_bwd_params, "
         "int)",
         6, 0.88, WORK_ATTENTION, 2400, 8192, 256, 40, 16384},
    [KERNEL_TOP] = {"void at::native::sbtopk::gatherTopK<c10::BFloat16, unsigned int, 2, false>(at::cuda::detail::"
                    "TensorInfo<c10::BFloat16 const, unsigned int>, unsigned int, unsigned int, bool, unsigned int, "
                    "unsigned int, at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, unsigned int, "
                    "at::cuda::detail::TensorInfo<long, unsigned int>, unsigned int, c10::BFloat16*)",
                    NULL, 4, 0.30, WORK_REDUCTION, 4200, 1024, 128, 40, 4096},
    [KERNEL_SCORES] = {"void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, float, 2, false, false>"
                       "(float*, c10::BFloat16 const*, int, int, int, bool const*, int, bool)",
                       NULL, 6, 0.60, WORK_REDUCTION, 2200, 512, 128, 20, 0},
    [KERNEL_SCORES_BACKWARD] = {"void (anonymous namespace)::softmax_warp_backward<float, c10::BFloat16, float, 2, "
                                "false, false>(c10::BFloat16*, float const*, float const*, int, int, int, bool const*)",
                                NULL, 10, 0.60, WORK_REDUCTION, 2200, 512, 128, 24, 0},
    [KERNEL_SCATTER] = {"void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::"
                        "_cuda_scatter_gather_internal_kernel<true, at::native::OpaqueType<4> >::operator()"
                        "<at::native::TensorAssign>(at::TensorIterator&, long, long, long, at::native::TensorAssign "
                        "const&)::{lambda(int)#1}>(int, at::native::_cuda_scatter_gather_internal_kernel<true, "
                        "at::native::OpaqueType<4> >)",
                        NULL, 16, 0.40, WORK_ELEMENTWISE, 2400, 1024, 128, 32, 0},
    [KERNEL_COUNT] = {REDUCING("512", "1", "long", SUM("long"), "4, 4"), NULL, 1, 0.50, WORK_REDUCTION, 3600, 32768,
                      512, 32, 16},
    [KERNEL_GELU] = {ELEMENTWISE("8", GELU("GeluCUDAKernelImpl", "c10::BFloat16"), "2"), NULL, 4, 1, WORK_ELEMENTWISE,
                     1900, 1024, 128, 32, 0},
    [KERNEL_GELU_BACKWARD] = {ELEMENTWISE("8", GELU("GeluBackwardCUDAKernelImpl", "c10::BFloat16, c10::BFloat16"), "3"),
                              NULL, 6, 1, WORK_ELEMENTWISE, 1900, 1024, 128, 40, 0},
    [KERNEL_PERMUTE] = {"_permute_kernel", NULL, 4, 0.85, WORK_ELEMENTWISE, 2600, 4096, 128, 32, 0},
    [KERNEL_SORT_CHUNKS] = {"_sort_chunks_by_map_kernel", NULL, 4, 0.85, WORK_REDUCTION, 2600, 4096, 128, 32, 0},
    [KERNEL_UNPERMUTE] = {"_unpermute_kernel", NULL, 3, 0.80, WORK_ELEMENTWISE, 2800, 2048, 128, 40, 0},
    [KERNEL_UNPERMUTE_BACKWARD] = {"_unpermute_bwd_with_merging_probs_kernel", NULL, 5, 0.75, WORK_ELEMENTWISE, 3000,
                                   2048, 128, 48, 0},
};

/* Blocks that an SM holds at once. A thread's registers are set aside by eights. */
static int64_t blocks_of_sm(const struct gpu *gpu, int threads, int registers, int shared_memory) {
  int64_t most = 2048 / threads, by_registers = 65536 / ((registers + 7) / 8 * 8 * threads);
  if (by_registers < most) {
    most = by_registers;
  }
  if (shared_memory > 0 && gpu->shared_memory / shared_memory < most) {
    most = gpu->shared_memory / shared_memory;
  }
  return most < 1 ? 1 : most;
}

/* Sets what follows from the blocks: whether they fill the device, and how long the last wave of them is. */
static void spread_over_device(struct work *work, const struct gpu *gpu) {
  int64_t blocks = (int64_t)work->grid[0] * work->grid[1] * work->grid[2];
  int64_t at_once = gpu->sms * blocks_of_sm(gpu, work->threads, work->registers, work->shared_memory);
  work->fills_device = blocks > at_once;
  double waves = (double)blocks / (double)at_once;
  work->last_wave = waves > 1 ? llround((double)work->duration / waves) : work->duration;
  int64_t last = blocks % at_once;
  work->free_sms = last > 0 ? (int)((at_once - last) * gpu->sms / at_once) : 0;
}

static double memory_time(const struct gpu *gpu, double bytes) {
  return bytes / (gpu->bandwidth * gpu->reached_bandwidth);
}

struct work kernels_run(const struct setup *setup, enum kernel kernel, int64_t elements, uint64_t place) {
  (void)place; /* one implementation each */
  const struct row *row = &rows[kernel];
  const struct gpu *gpu = setup->gpu;
  double bytes = row->bytes * (double)elements;
  int64_t blocks = (elements + row->elements - 1) / row->elements;
  struct work work = {.name = gpu->major < 9 && row->before_hopper ? row->before_hopper : row->name,
                      .kind = row->kind,
                      .label = nowhere,
                      .registers = row->registers,
                      .shared_memory = row->shared_memory,
                      .threads = row->threads,
                      .grid = {blocks < 1 ? 1 : (int)blocks, 1, 1},
                      .duration = row->start + llround(memory_time(gpu, bytes) / row->share),
                      .bytes = llround(bytes),
                      .flops = 0};
  spread_over_device(&work, gpu);
  return work;
}

/* --- attention --- */

/* What a kernel reaches of the peak in long sequences; a sequence of `half` tokens reaches half of it, as whole tiles
 * are computed along the diagonal and every block starts and ends. Of part of the queries both are as much of the work.
 * */
struct attention {
  int head_dim; /* at most */
  const char *name;
  double share;
  int half, start;
  int rows; /* of queries (backward: of keys) in a block */
  int threads, registers, shared_memory;
};

#define FLASH_FORWARD(traits)                                                                              \
  "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<" traits ", false, false, cutlass::bfloat16_t, "   \
  "Flash_kernel_traits<" traits ", cutlass::bfloat16_t> >, false, true, false, false, true, true, false, " \
  "false>(flash::Flash_fwd_params)"
#define FLASH_BACKWARD(traits, more)                                                              \
  "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<" traits more \
  ", false, false, cutlass::bfloat16_t, Flash_kernel_traits<" traits                              \
  ", cutlass::bfloat16_t> >, false, true, false, false, true, true, false>(flash::Flash_bwd_params)"
#define CUDNN "cudnn_generated_fort_native_sdpa_"

enum { HEAD_SIZES = 2 };
static const struct attention ampere[2][HEAD_SIZES] = {
    {{64, FLASH_FORWARD("64, 128, 128, 4"), 0.66, 512, 3500, 128, 128, 255, 49152},
     {256, FLASH_FORWARD("128, 128, 64, 4"), 0.72, 512, 3500, 128, 128, 255, 65536}},
    {{64, FLASH_BACKWARD("64, 128, 128, 8", ", 4, 4, 4"), 0.55, 512, 4500, 128, 256, 255, 147456},
     {256, FLASH_BACKWARD("128, 64, 128, 8", ", 2, 4, 2"), 0.60, 512, 4500, 128, 256, 255, 147456}}};
static const struct attention hopper[2][HEAD_SIZES] = {
    {{64, CUDNN "sm90_flash_fprop_wgmma_f16_knob_6_64x128x64_4x1x1_cga1x1x1_kernel0_0", 0.58, 512, 4000, 256, 384, 168,
      166912},
     {256, CUDNN "sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0", 0.68, 512, 4000, 128, 384,
      168, 232448}},
    {{64, CUDNN "sm90_flash_bprop_wgmma_f16_knob_30_64x64x64_1x4x1_cga1x1x1_kernel0_0", 0.50, 512, 5000, 128, 384, 168,
      199680},
     {256, CUDNN "sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_1x4x1_cga1x1x1_kernel0_0", 0.58, 512, 5000, 128, 384,
      168, 231424}}};
static const struct attention blackwell[2][HEAD_SIZES] = {
    {{64, CUDNN "sm100_flash_fprop_f16_knob_5_128x128x64_4x1x1_cga1x1x1_kernel0_0", 0.50, 640, 4000, 256, 512, 128,
      196608},
     {256, CUDNN "sm100_flash_fprop_f16_knob_7_128x128x128_4x1x1_cga1x1x1_kernel0_0", 0.64, 640, 4000, 256, 512, 128,
      231424}},
    {{64, CUDNN "sm100_flash_bprop_f16_knob_29_128x128x64_1x4x1_cga1x1x1_kernel0_0", 0.40, 640, 5000, 128, 512, 128,
      199680},
     {256, CUDNN "sm100_flash_bprop_f16_knob_31_128x128x128_1x4x1_cga1x1x1_kernel0_0", 0.50, 640, 5000, 128, 512, 128,
      231424}}};

static const struct attention *attention_of(const struct gpu *gpu, int head_dim, bool backward) {
  const struct attention *sizes = gpu->major >= 10  ? blackwell[backward]
                                  : gpu->major == 9 ? hopper[backward]
                                                    : ampere[backward];
  return head_dim <= sizes[0].head_dim ? &sizes[0] : &sizes[1];
}

struct work kernels_attention(const struct setup *setup, int batch, int heads, int queries, int keys, int head_dim,
                              bool backward) {
  const struct gpu *gpu = setup->gpu;
  const struct attention *row = attention_of(gpu, head_dim, backward);
  double of_queries = (double)batch * heads * queries * head_dim, of_keys = (double)batch * heads * keys * head_dim;
  double flops = 2.0 * of_queries * keys * (backward ? 2.5 : 1);
  /* Reads q, k, v and writes o; backward reads those and the gradient, and writes three gradients, q's in float32. */
  double bytes = 2 * (backward ? 5 * of_queries + 4 * of_keys : 2 * of_queries + 2 * of_keys);
  int across = ((backward ? keys : queries) + row->rows - 1) / row->rows;
  double blocks = (double)across * heads * batch, share = row->share * keys / (keys + row->half);
  /* Blocks are uneven, and the long ones come first: only too few of them leave SMs idle. */
  if (setup->mechanisms[MECHANISM_WAVES] && blocks < gpu->sms) {
    share *= blocks / gpu->sms;
  }
  struct work work = {.name = row->name,
                      .kind = WORK_ATTENTION,
                      .label = nowhere,
                      .registers = row->registers,
                      .shared_memory = row->shared_memory,
                      .threads = row->threads,
                      .grid = {across, heads, batch},
                      .duration = row->start + llround(fmax(flops / (gpu->flops * share), memory_time(gpu, bytes))),
                      .bytes = llround(bytes),
                      .flops = flops};
  spread_over_device(&work, gpu);
  return work;
}

/* --- copies --- */

struct work kernels_copy(const struct setup *setup, enum work_kind kind, int64_t bytes) {
  const struct gpu *gpu = setup->gpu;
  const double pci_express = gpu->major >= 9 ? 52 : 24; /* bytes a ns: its fifth and fourth generation */
  struct work work = {.kind = (uint8_t)kind, .label = nowhere, .bytes = bytes};
  double moving = 0;
  switch (kind) {
    case WORK_COPY_TO_DEVICE:
      work.name = "Memcpy HtoD (Pinned -> Device)";
      moving = (double)bytes / pci_express;
      break;
    case WORK_COPY_TO_HOST:
      work.name = "Memcpy DtoH (Device -> Pinned)";
      moving = (double)bytes / pci_express;
      break;
    case WORK_COPY_ON_DEVICE: /* read and written */
      work.name = "Memcpy DtoD (Device -> Device)";
      moving = memory_time(gpu, 2 * (double)bytes);
      break;
    default:
      work.name = "Memset (Device)";
      moving = memory_time(gpu, (double)bytes);
      break;
  }
  const int64_t start = 1200;
  work.duration = work.last_wave = start + llround(moving);
  return work;
}

/* --- communication --- */

#define NCCL(name) "ncclDevKernel_" name "(ncclDevKernelArgsStorage<4096ul>)"
enum { BFLOAT, FLOAT, INTEGER, TYPES };
static const char *const all_reduce_names[2][TYPES] = {
    {NCCL("AllReduce_Sum_bf16_RING_LL"), NCCL("AllReduce_Sum_f32_RING_LL"), NCCL("AllReduce_Sum_u64_RING_LL")},
    {NCCL("AllReduce_Sum_bf16_TREE_LL"), NCCL("AllReduce_Sum_f32_TREE_LL"), NCCL("AllReduce_Sum_u64_TREE_LL")}};
static const char *const reduce_scatter_names[TYPES] = {NCCL("ReduceScatter_Sum_bf16_RING_LL"),
                                                        NCCL("ReduceScatter_Sum_f32_RING_LL"),
                                                        NCCL("ReduceScatter_Sum_u64_RING_LL")};

/* Gathers and broadcasts move bytes, whatever their type. */
static const char *communication_name(const struct message *message, const struct nccl_plan *plan) {
  int type = message->integers ? INTEGER : message->float32 ? FLOAT : BFLOAT;
  switch (message->collective) {
    case ALL_REDUCE:
      return all_reduce_names[strcmp(plan->algorithm, "TREE") == 0][type];
    case REDUCE_SCATTER:
      return reduce_scatter_names[type];
    case ALL_GATHER:
      return NCCL("AllGather_RING_LL");
    case BROADCAST:
      return NCCL("Broadcast_RING_LL");
    default:
      return NCCL("SendRecv");
  }
}

/* Threads of a block: those of the protocol, SIMPLE's with a warp that synchronizes; fewer when one channel is too much
 * already. */
static int communication_threads(const struct nccl_plan *plan, int64_t bytes) {
  if (!plan->protocol) {
    return 544;
  }
  bool simple = strcmp(plan->protocol, "SIMPLE") == 0;
  int threads = strcmp(plan->protocol, "LL128") == 0 ? 640 : 512;
  while (threads > 128 && threads % 128 == 0 && bytes < (int64_t)plan->channels * threads * (simple ? 64 : 8)) {
    threads /= 2;
  }
  return simple ? threads + 32 : threads;
}

struct work kernels_communication(const struct setup *setup, const struct message *message, int size, int nodes) {
  /* Parts of one exchange share channels: the largest decides. */
  int64_t bytes = message->collective == SEND_RECEIVE ? 0 : message->bytes;
  for (int i = 0; message->collective == SEND_RECEIVE && i < message->parts; i++) {
    if (message->part[i].bytes > bytes) {
      bytes = message->part[i].bytes;
    }
  }
  struct nccl_plan plan = nccl_plan(setup, message->collective, bytes, size, nodes);
  return (struct work){.name = communication_name(message, &plan),
                       .kind = message->collective == SEND_RECEIVE ? WORK_P2P : WORK_COLLECTIVE,
                       .label = nowhere,
                       .registers = 96,
                       .shared_memory = setup->gpu->major >= 10  ? 119040
                                        : setup->gpu->major == 9 ? 103808
                                                                 : 87568,
                       .threads = communication_threads(&plan, bytes),
                       .grid = {plan.channels, 1, 1},
                       .bytes = message->bytes,
                       .message = message};
}
