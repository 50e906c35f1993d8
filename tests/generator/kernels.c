/* The kernels by the names that PyTorch 2.7 and its libraries give them, with the resources that they take. */
#include "kernels.h"

#define BINARY(functor)                                                                                                \
  "void at::native::vectorized_elementwise_kernel<4, at::native::" functor "<c10::BFloat16>, std::array<char*, 3ul> >" \
  "(int, at::native::" functor "<c10::BFloat16>, std::array<char*, 3ul>)"

const struct kernel embedding_kernel = {
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>"
    "(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, at::cuda::detail::TensorInfo<c10::BFloat16 const, "
    "unsigned int>, at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, unsigned int, "
    "long)",
    26, 0, 128};
const struct kernel embedding_backward_kernel = {
    "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<c10::BFloat16, float, long>"
    "(long const*, c10::BFloat16 const*, c10::BFloat16*, int, long, int)",
    40, 33280, 1024};
const struct kernel gemm_tn = {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", 234, 147456, 256};
const struct kernel gemm_nn = {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn", 234, 147456, 256};
const struct kernel gemm_nt = {"ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nt", 238, 147456, 256};
const struct kernel norm_kernel = {
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
    "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
    28, 24, 128};
const struct kernel norm_input_kernel = {
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>"
    "(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, c10::BFloat16*, "
    "int)",
    40, 128, 128};
const struct kernel norm_weight_kernel = {
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel_32x32<c10::BFloat16, float>(long, long, "
    "c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16*, c10::BFloat16*)",
    32, 8448, 512};
const struct kernel flash_kernel = {
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
    "cutlass::bfloat16_t>, false, true, false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)",
    238, 49152, 128};
const struct kernel flash_dot_kernel = {
    "void pytorch_flash::flash_bwd_dot_do_o_kernel<true, pytorch_flash::Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, "
    "4, false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_bwd_params)",
    48, 0, 256};
const struct kernel flash_backward_kernel = {
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits<64, 128, "
    "128, 8, 4, 4, 4, false, false, cutlass::bfloat16_t>, false, true, false, false, true, true, false>"
    "(pytorch_flash::Flash_bwd_params)",
    255, 147456, 256};
const struct kernel flash_convert_kernel = {
    "void pytorch_flash::flash_bwd_convert_dq_kernel<pytorch_flash::Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, "
    "false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_bwd_params, int)",
    64, 16384, 256};
const struct kernel add_kernel = {BINARY("CUDAFunctor_add"), 28, 0, 128};
const struct kernel multiply_kernel = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, "
    "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, "
    "at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
    "at::native::binary_internal::MulFunctor<float> "
    ">, std::array<char*, 2ul>)",
    24, 0, 128};
const struct kernel gelu_kernel = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
    "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() "
    "const::{lambda(c10::BFloat16)#1}, "
    "std::array<char*, 2ul> >(int, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::"
    "{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, "
    "2ul>)",
    30, 0, 128};
const struct kernel gelu_backward_kernel = {BINARY("GeluBackwardCUDAKernelImpl"), 36, 0, 128};
const struct kernel cat_kernel = {
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<at::native::(anonymous namespace)::"
    "OpaqueType<2u>, unsigned int, 3, 128, 1>(at::native::(anonymous namespace)::OpaqueType<2u>*, "
    "at::native::(anonymous "
    "namespace)::CatArrInputTensorMetadata<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 128, 1>, "
    "at::native::(anonymous namespace)::TensorSizeStride<unsigned int, 4u>, int, unsigned int)",
    40, 0, 128};
const struct kernel softmax_kernel = {
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, float, "
    "at::native::(anonymous "
    "namespace)::LogSoftMaxForwardEpilogue>(float*, c10::BFloat16 const*, int)",
    32, 4096, 1024};
const struct kernel softmax_backward_kernel = {
    "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::BFloat16, float, float, "
    "at::native::(anonymous "
    "namespace)::LogSoftMaxBackwardEpilogue>(c10::BFloat16*, float const*, float const*, long)",
    32, 4096, 1024};
const struct kernel loss_kernel = {
    "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*, "
    "float*, "
    "float const*, long const*, float const*, bool, long, long, long, long)",
    32, 256, 32};
const struct kernel loss_backward_kernel = {
    "void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, long>(float*, float "
    "const*, "
    "long const*, float const*, float const*, bool, int, int, long, long)",
    32, 0, 32};
const struct kernel norm_of_gradients_kernel = {
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<c10::BFloat16, (at::native::NormType)1, "
    "float, "
    "1, 1, 0>, float*, int>(at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous "
    "namespace)::"
    "LpNormFunctor<c10::BFloat16, (at::native::NormType)1, float, 1, 1, 0>, float*, int)",
    40, 2048, 512};
const struct kernel reduce_kernel = {
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, "
    "unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, unsigned int, "
    "float, 4>)",
    32, 16, 512};
const struct kernel adam_kernel = {
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<c10::BFloat16, 4, "
    "(at::native::ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool, float const*, float "
    "const*>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
    "namespace)::"
    "FusedAdamMathFunctor<c10::BFloat16, 4, (at::native::ADAM_MODE)1, false>, float const*, double, double, double, "
    "double, "
    "double, bool, float const*, float const*)",
    56, 0, 512};
const struct kernel all_reduce_kernel = {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                                         96, 103808, 544};
