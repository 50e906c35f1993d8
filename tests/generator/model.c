/* See model.h. The forward pass leaves a tape of what it did; the backward pass walks it from its end, hands the gradients to
 * buckets, and a full bucket is reduced on the communication stream while the walk goes on.
 */
#include "model.h"

#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 1024, FFN = 4 * HIDDEN, HEADS = 16, SEQUENCE = 1024, BATCH = 8, VOCABULARY = 32000 };
enum { TOKENS = BATCH * SEQUENCE, BF16 = 2, INT64 = 8 };
enum { BUCKET_BYTES = 25 << 20, BUCKETS = 2 * MOST_LAYERS + 16, TAPE = 11 * MOST_LAYERS + 16 };

/* What the device and the link between the two do in a nanosecond. */
enum { GEMM_FLOPS = 205000, ATTENTION_FLOPS = 120000, MEMORY_BYTES = 1250, LINK_BYTES = 19, LINK_LATENCY = 24000 };

/* What the backward pass needs to know of a forward operator. */
enum node_kind { EMBEDDING, ADD, NORM, LINEAR, SPLIT, ATTENTION, GELU, SOFTMAX, LOSS };
struct node {
  enum node_kind kind;
  int row;           /* the forward operator's */
  int64_t in, out;   /* features */
  int64_t parameter; /* elements of its weight; 0: none */
};

/* One rank's way through one step. */
struct program {
  struct rank *rank;
  int layers;
  struct node tape[TAPE];
  int nodes;
  int64_t bucket;                /* bytes waiting in the open bucket */
  int reduced[BUCKETS], buckets; /* events that end the all-reduces of this step */
};

static const int64_t activation = (int64_t)TOKENS * HIDDEN; /* elements of what a layer hands on */
static const int64_t logits = (int64_t)TOKENS * VOCABULARY;
/* Causal attention: half of a product of SEQUENCE x SEQUENCE in each head. */
static const int64_t attention_product = (int64_t)BATCH * SEQUENCE * SEQUENCE * HIDDEN;
static const int64_t attention_blocks = (int64_t)BATCH * HEADS * (SEQUENCE / 128);

static int64_t moved(int64_t bytes) { return 1500 + bytes / MEMORY_BYTES; }
static int64_t blocks(int64_t elements, int64_t of_a_block) { return (elements + of_a_block - 1) / of_a_block; }

/* An elementwise kernel that reads and writes `tensors` tensors of `elements` bf16 values. */
static void elementwise(struct program *program, const struct kernel *kernel, int64_t elements, int64_t tensors) {
  launch(program->rank, kernel, moved(elements * tensors * BF16), blocks(elements, 512));
}

/* One matrix multiplication, [m,k] x [k,n], as aten::mm; returns its row. */
static int matrix_product(struct program *program, const struct kernel *kernel, int64_t m, int64_t k, int64_t n) {
  int row = begin_op(program->rank, "aten::mm", "bf16[%lld,%lld] bf16[%lld,%lld]", (long long)m, (long long)k,
                     (long long)k, (long long)n);
  spend(program->rank, 4200);
  launch(program->rank, kernel, 2000 + 2 * m * k * n / GEMM_FLOPS, blocks(m, 128) * blocks(n, 256));
  end(program->rank);
  return row;
}

/* Note that the operator just begun takes part in the backward pass. */
static void on_tape(struct program *program, enum node_kind kind, int row, int64_t in, int64_t out, int64_t parameter) {
  program->rank->host[row].sequence = program->rank->next_sequence++;
  program->tape[program->nodes++] = (struct node){kind, row, in, out, parameter};
}

/* ---- forward ---- */

static void forward_embedding(struct program *program, int64_t rows, const char *shape) {
  struct rank *rank = program->rank;
  int row =
      begin_op(rank, "aten::embedding", "bf16[%lld,%d] int64[%s] =-1 =False =False", (long long)rows, HIDDEN, shape);
  on_tape(program, EMBEDDING, row, rows, HIDDEN, rows * HIDDEN);
  begin_op(rank, "aten::index_select", NULL);
  leaf(rank, "aten::empty", 1500);
  launch(rank, &embedding_kernel, moved(2 * activation * BF16), TOKENS / 2);
  end(rank);
  end(rank);
}

static void forward_add(struct program *program, bool residual) {
  struct rank *rank = program->rank;
  int row = begin_op(rank, "aten::add", "bf16[%d,%d,%d] bf16[%d,%d,%d] =1", BATCH, SEQUENCE, HIDDEN,
                     residual ? BATCH : 1, SEQUENCE, HIDDEN);
  on_tape(program, ADD, row, HIDDEN, HIDDEN, 0);
  elementwise(program, &add_kernel, activation, 3);
  end(rank);
}

static void forward_norm(struct program *program) {
  struct rank *rank = program->rank;
  begin_op(rank, "aten::layer_norm", NULL);
  int row = begin_op(rank, "aten::native_layer_norm", "bf16[%d,%d,%d] =[%d] bf16[%d] - =1e-05", BATCH, SEQUENCE, HIDDEN,
                     HIDDEN, HIDDEN);
  on_tape(program, NORM, row, HIDDEN, HIDDEN, HIDDEN);
  leaf(rank, "aten::empty", 1500);
  launch(rank, &norm_kernel, moved(2 * activation * BF16), TOKENS);
  end(rank);
  end(rank);
}

static void forward_linear(struct program *program, int64_t in, int64_t out) {
  struct rank *rank = program->rank;
  begin_op(rank, "aten::linear", "bf16[%d,%d,%lld] bf16[%lld,%lld] -", BATCH, SEQUENCE, (long long)in, (long long)out,
           (long long)in);
  leaf(rank, "aten::t", 1900);
  begin_op(rank, "aten::matmul", NULL);
  int row = matrix_product(program, &gemm_tn, TOKENS, in, out);
  on_tape(program, LINEAR, row, in, out, in * out);
  leaf(rank, "aten::_unsafe_view", 600);
  end(rank);
  end(rank);
}

static void forward_attention(struct program *program) {
  struct rank *rank = program->rank;
  int row = begin_op(rank, "aten::split", "bf16[%d,%d,%d] =%d =2", BATCH, SEQUENCE, 3 * HIDDEN, HIDDEN);
  on_tape(program, SPLIT, row, INT64_C(3) * HIDDEN, HIDDEN, 0);
  spend(rank, 3000);
  end(rank);
  for (int i = 0; i < 3; i++) {
    leaf(rank, "aten::transpose", 1700);
  }
  begin_op(rank, "aten::scaled_dot_product_attention", NULL);
  row = begin_op(rank, "aten::_scaled_dot_product_flash_attention",
                 "bf16[%d,%d,%d,%d] bf16[%d,%d,%d,%d] bf16[%d,%d,%d,%d] =0. =True =False -", BATCH, HEADS, SEQUENCE,
                 HIDDEN / HEADS, BATCH, HEADS, SEQUENCE, HIDDEN / HEADS, BATCH, HEADS, SEQUENCE, HIDDEN / HEADS);
  on_tape(program, ATTENTION, row, HIDDEN, HIDDEN, 0);
  begin_op(rank, "aten::_flash_attention_forward", NULL);
  leaf(rank, "aten::empty_like", 2300);
  launch(rank, &flash_kernel, 3000 + 2 * attention_product / ATTENTION_FLOPS, attention_blocks);
  end(rank);
  end(rank);
  end(rank);
}

static void forward_gelu(struct program *program) {
  int row = begin_op(program->rank, "aten::gelu", "bf16[%d,%d,%d] =none", BATCH, SEQUENCE, FFN);
  on_tape(program, GELU, row, FFN, FFN, 0);
  elementwise(program, &gelu_kernel, activation * FFN / HIDDEN, 2);
  end(program->rank);
}

static void forward_layer(struct program *program) {
  forward_norm(program);
  forward_linear(program, HIDDEN, INT64_C(3) * HIDDEN);
  forward_attention(program);
  forward_linear(program, HIDDEN, HIDDEN);
  forward_add(program, true);
  forward_norm(program);
  forward_linear(program, HIDDEN, FFN);
  forward_gelu(program);
  forward_linear(program, FFN, HIDDEN);
  forward_add(program, true);
}

static void forward_loss(struct program *program) {
  struct rank *rank = program->rank;
  begin_op(rank, "aten::cross_entropy_loss", "bf16[%d,%d] int64[%d] - =1 =-100 =0.", TOKENS, VOCABULARY, TOKENS);
  begin_op(rank, "aten::log_softmax", NULL);
  int row = begin_op(rank, "aten::_log_softmax", "bf16[%d,%d] =1 =True", TOKENS, VOCABULARY);
  on_tape(program, SOFTMAX, row, VOCABULARY, VOCABULARY, 0);
  launch(rank, &softmax_kernel, moved(3 * logits * BF16), TOKENS);
  end(rank);
  end(rank);
  begin_op(rank, "aten::nll_loss_nd", NULL);
  row = begin_op(rank, "aten::nll_loss_forward", "float[%d,%d] int64[%d] - =1 =-100", TOKENS, VOCABULARY, TOKENS);
  on_tape(program, LOSS, row, VOCABULARY, 1, 0);
  launch(rank, &loss_kernel, 14000, 1);
  end(rank);
  end(rank);
  end(rank);
}

static void forward(struct program *program) {
  struct rank *rank = program->rank;
  begin_annotation(rank, "DistributedDataParallel.forward");
  spend(rank, 42000);
  char shape[32];
  snprintf(shape, sizeof shape, "%d,%d", BATCH, SEQUENCE);
  forward_embedding(program, VOCABULARY, shape);
  snprintf(shape, sizeof shape, "%d", SEQUENCE);
  forward_embedding(program, SEQUENCE, shape);
  forward_add(program, false);
  for (int layer = 0; layer < program->layers; layer++) {
    spend(rank, 11000);
    forward_layer(program);
  }
  forward_norm(program);
  forward_linear(program, HIDDEN, VOCABULARY);
  forward_loss(program);
  end(rank);
}

/* ---- backward ---- */

/* The all-reduce of the open bucket, as the process group issues it: the communication stream waits for what the compute stream
 * holds now, and an event marks its end. */
static void reduce_bucket(struct program *program) {
  struct rank *rank = program->rank;
  struct message *message = malloc(sizeof *message);
  if (message == NULL) {
    exit(1);
  }
  *message = (struct message){"allreduce", "BFloat16", program->bucket / BF16, program->bucket, ++rank->next_message};
  begin_op(rank, "c10d::allreduce_", NULL);
  int row = begin_op(rank, "record_param_comms", "bf16[%lld] - - =0 - =[] =[] =0 =1 =%d", (long long)message->elements,
                     RANKS);
  rank->host[row].message = message;
  spend(rank, 7000);
  call(rank, "cudaStreamIsCapturing", 317, 400);
  wait_event(rank, COMMUNICATION_STREAM, record_event(rank, COMPUTE_STREAM));
  begin_annotation(rank, "nccl:all_reduce");
  spend(rank, 3000);
  launch_collective(rank, &all_reduce_kernel, LINK_LATENCY + program->bucket / LINK_BYTES, message);
  end(rank);
  program->reduced[program->buckets++] = record_event(rank, COMMUNICATION_STREAM);
  end(rank);
  end(rank);
  program->bucket = 0;
}

/* A parameter's gradient is ready: scaled into its bucket, and the bucket sent off when it is full. */
static void accumulate(struct program *program, int64_t parameter) {
  struct rank *rank = program->rank;
  begin_op(rank, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL);
  leaf(rank, "torch::autograd::AccumulateGrad", 3300);
  begin_op(rank, "aten::mul_", NULL);
  elementwise(program, &multiply_kernel, parameter, 2);
  end(rank);
  program->bucket += parameter * BF16;
  if (program->bucket >= BUCKET_BYTES) {
    reduce_bucket(program);
  }
  end(rank);
}

static void backward_of_attention(struct program *program) {
  struct rank *rank = program->rank;
  begin_op(rank, "aten::_flash_attention_backward", NULL);
  for (int i = 0; i < 3; i++) {
    leaf(rank, "aten::empty_like", 2300);
  }
  launch(rank, &flash_dot_kernel, moved(2 * activation * BF16), attention_blocks);
  launch(rank, &flash_backward_kernel, 5000 + 5 * attention_product / ATTENTION_FLOPS, attention_blocks / 2);
  launch(rank, &flash_convert_kernel, moved(3 * activation * BF16), attention_blocks);
  end(rank);
}

/* What the node's backward function launches. */
static void backward_kernels(struct program *program, const struct node *node) {
  struct rank *rank = program->rank;
  switch (node->kind) {
    case EMBEDDING:
      begin_op(rank, "aten::embedding_dense_backward", NULL);
      launch(rank, &embedding_backward_kernel, moved(node->parameter * BF16 + 3 * activation * BF16), HIDDEN / 32);
      end(rank);
      break;
    case ADD: /* the gradient of a residual joins that of the branch */
      begin_op(rank, "aten::add", NULL);
      elementwise(program, &add_kernel, activation, 3);
      end(rank);
      break;
    case NORM:
      begin_op(rank, "aten::native_layer_norm_backward", NULL);
      launch(rank, &norm_input_kernel, moved(3 * activation * BF16), TOKENS);
      launch(rank, &norm_weight_kernel, moved(2 * activation * BF16), HIDDEN / 32);
      end(rank);
      break;
    case LINEAR: /* of the weight, then of the input */
      matrix_product(program, &gemm_nt, node->out, TOKENS, node->in);
      matrix_product(program, &gemm_nn, TOKENS, node->out, node->in);
      break;
    case SPLIT:
      begin_op(rank, "aten::cat", NULL);
      elementwise(program, &cat_kernel, TOKENS * node->in, 2);
      end(rank);
      break;
    case ATTENTION:
      backward_of_attention(program);
      break;
    case GELU:
      begin_op(rank, "aten::gelu_backward", NULL);
      elementwise(program, &gelu_backward_kernel, TOKENS * node->in, 3);
      end(rank);
      break;
    case SOFTMAX:
      begin_op(rank, "aten::_log_softmax_backward_data", NULL);
      launch(rank, &softmax_backward_kernel, moved(5 * logits * BF16), TOKENS);
      end(rank);
      break;
    case LOSS:
      begin_op(rank, "aten::nll_loss_backward", NULL);
      launch(rank, &loss_backward_kernel, moved(2 * logits * BF16), TOKENS / 32);
      end(rank);
      break;
  }
}

static void backward_of(struct program *program, const struct node *node) {
  static const char *const names[][2] = {
#define NAMES(name) {"autograd::engine::evaluate_function: " name, name}
      [EMBEDDING] = NAMES("EmbeddingBackward0"),
      [ADD] = NAMES("AddBackward0"),
      [NORM] = NAMES("NativeLayerNormBackward0"),
      [LINEAR] = NAMES("MmBackward0"),
      [SPLIT] = NAMES("SplitBackward0"),
      [ATTENTION] = NAMES("ScaledDotProductFlashAttentionBackward0"),
      [GELU] = NAMES("GeluBackward0"),
      [SOFTMAX] = NAMES("LogSoftmaxBackward0"),
      [LOSS] = NAMES("NllLossBackward0"),
#undef NAMES
  };
  struct rank *rank = program->rank;
  struct host_row *forward_row = &rank->host[node->row];
  int64_t sequence = forward_row->sequence;
  int flow = rank->next_flow++;
  forward_row->flow = flow;
  for (int level = 0; level < 2; level++) {
    int row = begin_op(rank, names[node->kind][level], NULL);
    rank->host[row].sequence = sequence;
    rank->host[row].backward = true;
    rank->host[row].flow = level == 1 ? flow : 0;
  }
  spend(rank, 2600);
  backward_kernels(program, node);
  end(rank);
  end(rank);
  if (node->parameter > 0) {
    accumulate(program, node->parameter);
  }
}

/* On the engine's own thread, while the main thread waits in loss.backward(). */
static void backward(struct program *program) {
  struct rank *rank = program->rank;
  rank->clock[BACKWARD_THREAD] = rank->clock[MAIN_THREAD] + varied(rank, 46000, 20);
  rank->thread = BACKWARD_THREAD;
  for (int i = program->nodes - 1; i >= 0; i--) {
    backward_of(program, &program->tape[i]);
  }
  if (program->bucket > 0) {
    reduce_bucket(program);
  }
  spend(rank, 9000);
  for (int i = 0; i < program->buckets; i++) {
    wait_event(rank, COMPUTE_STREAM, program->reduced[i]);
  }
  rank->thread = MAIN_THREAD;
  rank->clock[MAIN_THREAD] = rank->clock[BACKWARD_THREAD] + varied(rank, 38000, 20);
}

/* ---- around them ---- */

static void copy_batch(struct rank *rank) {
  begin_op(rank, "aten::to", NULL);
  begin_op(rank, "aten::_to_copy", NULL);
  leaf(rank, "aten::empty_strided", 1900);
  begin_op(rank, "aten::copy_", "int64[%d,%d] int64[%d,%d] =True", BATCH, SEQUENCE, BATCH, SEQUENCE);
  copy_to_device(rank, (int64_t)TOKENS * INT64);
  end(rank);
  end(rank);
  end(rank);
}

/* Everything up to the call that waits for the loss. Rank 1's loader is late once: the other rank waits for it in its collectives. */
static void begin_step(struct program *program, int step, const char *mark) {
  struct rank *rank = program->rank;
  begin_annotation(rank, mark);
  begin_annotation(rank, "Optimizer.zero_grad#AdamW.zero_grad");
  spend(rank, 52000);
  end(rank);
  begin_annotation(rank, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
  spend(rank, rank->number == 1 && step == 6 ? 5200000 : 240000);
  end(rank);
  copy_batch(rank);
  copy_batch(rank);
  forward(program);
  backward(program);
  begin_op(rank, "aten::item", NULL);
  begin_op(rank, "aten::_local_scalar_dense", NULL);
  copy_to_host(rank, BF16);
  begin_stream_sync(rank);
}

static void clip_gradients(struct rank *rank, int64_t parameters) {
  begin_op(rank, "aten::_foreach_norm", NULL);
  for (int chunk = 0; chunk < 2; chunk++) {
    launch(rank, &norm_of_gradients_kernel, moved(parameters * BF16 / 2), 320);
  }
  end(rank);
  begin_op(rank, "aten::linalg_vector_norm", NULL);
  launch(rank, &reduce_kernel, 2600, 1);
  end(rank);
  begin_op(rank, "aten::_foreach_mul_", NULL);
  launch(rank, &multiply_kernel, moved(parameters * BF16 * 2), 320);
  end(rank);
}

static void end_step(struct program *program) {
  struct rank *rank = program->rank;
  end_sync(rank);
  end(rank);
  end(rank);
  int64_t parameters = 0;
  for (int i = 0; i < program->nodes; i++) {
    parameters += program->tape[i].parameter;
  }
  clip_gradients(rank, parameters);
  begin_annotation(rank, "Optimizer.step#AdamW.step");
  spend(rank, 60000);
  begin_op(rank, "aten::_fused_adamw_", NULL);
  for (int chunk = 0; chunk < 4; chunk++) {
    launch(rank, &adam_kernel, moved(parameters * 7 * BF16 / 4), 320);
  }
  end(rank);
  end(rank);
  spend(rank, 8000);
  end(rank);
}

void model_run(struct rank ranks[RANKS], int layers, int first, int steps, int recorded) {
  static char marks[MOST_STEPS + 1][32]; /* rows keep the names */
  for (int step = first; step < first + steps; step++) {
    char *mark = marks[step - first];
    snprintf(mark, sizeof marks[0], "ProfilerStep#%d", step);
    struct program programs[RANKS];
    for (int r = 0; r < RANKS; r++) {
      if (step == recorded) {
        ranks[r].recording_start = ranks[r].clock[MAIN_THREAD];
        spend(&ranks[r], 31000);
      }
      programs[r] = (struct program){.rank = &ranks[r], .layers = layers};
      begin_step(&programs[r], step, mark);
    }
    machine_settle(ranks);
    for (int r = 0; r < RANKS; r++) {
      end_step(&programs[r]);
    }
  }
  for (int r = 0; r < RANKS; r++) {
    spend(&ranks[r], 90000);
    begin_device_sync(&ranks[r]);
  }
  machine_settle(ranks);
  for (int r = 0; r < RANKS; r++) {
    end_sync(&ranks[r]);
    ranks[r].recording_end = ranks[r].clock[MAIN_THREAD];
  }
}
