/* What PyTorch's allocator holds (--memory): tensors of a layer and of the ends, as ops make them and as autograd, the
 * engine and Python's locals let go of them. Sizes alone count, so no tensor has a name. Parameters and what is held
 * for each of them are apart: gpt_held.c, of fully sharded replicas gpt_fsdp.c.
 *
 * Not there: tokens and labels, gradients of single biases and norms, scalars.
 */
#include "gpt_state.h"
#include "hardware.h"

enum { UNIT = 512 }; /* the allocator gives out multiples of it */

static int64_t bytes_of(const struct block *to, enum tensor_size tensor) {
  const struct model *model = &to->setup->model;
  int64_t tokens = to->gpt->tokens, heads = gpt_linear_outputs(to->setup, LINEAR_QKV) / 3;
  int64_t rows = tokens / gpt_sequence_shards(to->setup), words = gpt_linear_outputs(to->setup, LINEAR_HEAD);
  const int64_t bytes[TENSOR_SIZES] = {
      [TENSOR_HIDDEN] = 2 * rows * model->hidden,
      [TENSOR_HIDDEN_WHOLE] = 2 * tokens * model->hidden,
      [TENSOR_MASK] = rows * model->hidden,
      [TENSOR_ROW_NUMBERS] = 4 * rows,
      [TENSOR_QKV] = 6 * tokens * heads,
      [TENSOR_HEADS] = 2 * tokens * heads,
      [TENSOR_HEADS_FLOAT] = 4 * tokens * heads,
      [TENSOR_HEAD_NUMBERS] = 4 * tokens * model->heads / to->setup->parallel.tensor,
      [TENSOR_FFN] = 2 * tokens * gpt_linear_outputs(to->setup, LINEAR_FC1),
      [TENSOR_LOGITS] = 2 * tokens * words,
      [TENSOR_LOGITS_FLOAT] = 4 * tokens * words,
  };
  return bytes[tensor];
}

static void change(const struct block *to, int64_t bytes) {
  if (to->setup->memory && bytes != 0)
    program_allocate(to->program, bytes);
}

void hold_bytes(const struct block *to, int64_t bytes) { change(to, (bytes + UNIT - 1) / UNIT * UNIT); }
void release_bytes(const struct block *to, int64_t bytes) { change(to, -((bytes + UNIT - 1) / UNIT * UNIT)); }

void hold(const struct block *to, enum tensor_size tensor) { hold_bytes(to, bytes_of(to, tensor)); }
void release(const struct block *to, enum tensor_size tensor) { release_bytes(to, bytes_of(to, tensor)); }

void release_unkept(const struct block *to, enum tensor_size tensor) {
  if (to->setup->parallel.recompute == RECOMPUTE_FULL && to->place >= 0 && to->forward_thread == THREAD_MAIN)
    release(to, tensor);
}

/* Rows before a linear layer, and behind it; what goes into a column-parallel one is kept as the rank has it. */
static int64_t inputs_of(const struct block *to, enum linear linear) {
  return 2 * to->gpt->tokens * gpt_linear_inputs(to->setup, linear);
}
static int64_t kept_of(const struct block *to, enum linear linear) {
  bool row = linear == LINEAR_PROJECTION || linear == LINEAR_FC2;
  return inputs_of(to, linear) / (row ? 1 : gpt_sequence_shards(to->setup));
}
static int64_t outputs_of(const struct block *to, enum linear linear) {
  return 2 * to->gpt->tokens * gpt_linear_outputs(to->setup, linear);
}

void hold_output(const struct block *to, enum linear linear) { hold_bytes(to, outputs_of(to, linear)); }

void hold_input_gradient(const struct block *to, enum linear linear) { hold_bytes(to, inputs_of(to, linear)); }

static int64_t weight_of(const struct block *to, enum linear linear) {
  return 2 * gpt_linear_inputs(to->setup, linear) * gpt_linear_outputs(to->setup, linear);
}

void hold_weight(const struct block *to, enum linear linear) { hold_bytes(to, weight_of(to, linear)); }
void release_weight(const struct block *to, enum linear linear) { release_bytes(to, weight_of(to, linear)); }

void release_linear(const struct block *to, enum linear linear) {
  release_bytes(to, outputs_of(to, linear));
  release_bytes(to, kept_of(to, linear));
}

/* PyTorch gives cuBLAS a workspace for each thread that multiplies: 32 MiB on Hopper, else 8 MiB and 128 KiB. */
void hold_libraries(const struct block *to) {
  bool large = to->setup->gpu->major == 9;
  hold_bytes(to, THREADS * (large ? INT64_C(32) << 20 : (INT64_C(8) << 20) + (INT64_C(128) << 10)));
}
