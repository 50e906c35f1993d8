/* The kernels that the model launches. */
#ifndef GENERATOR_KERNELS_H
#define GENERATOR_KERNELS_H

#include "machine.h"

extern const struct kernel embedding_kernel, embedding_backward_kernel, gemm_tn, gemm_nn, gemm_nt, norm_kernel,
    norm_input_kernel, norm_weight_kernel, flash_kernel, flash_dot_kernel, flash_backward_kernel, flash_convert_kernel,
    add_kernel, multiply_kernel, gelu_kernel, gelu_backward_kernel, cat_kernel, softmax_kernel, softmax_backward_kernel,
    loss_kernel, loss_backward_kernel, norm_of_gradients_kernel, reduce_kernel, adam_kernel, all_reduce_kernel;

#endif
