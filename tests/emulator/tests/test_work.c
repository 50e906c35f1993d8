/* What a step runs on a device, kernel by kernel: how many, and how many bytes they read and write, counted by hand
 * from the model. Of a rank of two that share the model by tensors and sequences, one of two replicas. An element of
 * bfloat16 has two bytes, of float32 four.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "gpt.h"
#include "program_text.h"

#define JOB                                                                                                   \
  "--layers 2 --hidden 512 --heads 8 --head-dim 80 --ffn 1536 --seq 256 --micro-batch 2 --vocab 2048 --tp 2 " \
  "--sequence-parallel on --dp 2 --micro-batches 2 --ideal --warmup 1 --steps 2 "
enum { STEPS = 3, MICRO_BATCHES = 2 };

/* Of a rank: elements of what a micro-batch has, and parameters. */
static const int64_t tokens = 512, hidden = 512, width = 8 * 80 / 2, ffn = 1536 / 2, words = 2048 / 2;
static const int64_t whole = 512 * 512, shard = 512 * 512 / 2, heads = 512 * 320, inner = 512 * 768,
                     logits = 512 * 1024;
static const int64_t biases = 3 * 320 + 512 + 768 + 512, norms = 2 * 2 * 512;
static const int64_t matrices = 4 * 320 * 512 + 2 * 512 * 768, table = 1024 * 512;
static const int64_t parameters =
    2 * (4 * 320 * 512 + 2 * 512 * 768 + 3 * 320 + 512 + 768 + 512 + 4 * 512) + 1024 * 512 + 2 * 512;

struct row {
  enum phase phase;
  enum part part;
  int micro_batch; /* -1: no matter which, all together */
  int count;
  const char *name; /* what the kernels' names have in them */
  int64_t bytes;    /* of all of them */
};

enum { MOST_ROWS = 64 };
struct counted {
  bool partly; /* rows are of some kernels */
  const struct row *rows;
  int row_count, streams[STREAMS]; /* copies to the device, by stream */
  int found[MOST_ROWS];
  int64_t bytes[MOST_ROWS];
};

static bool is_row(const struct row *row, const struct work *work) {
  return row->phase == (enum phase)work->label.phase && row->part == (enum part)work->label.part &&
         (row->micro_batch < 0 || row->micro_batch == work->label.micro_batch) && strstr(work->name, row->name) != NULL;
}

/* How PyTorch launches what it launches. */
static enum call call_of(const struct work *work) {
  return strncmp(work->name, "Memcpy", 6) == 0           ? CALL_MEMCPY
         : strncmp(work->name, "Memset", 6) == 0         ? CALL_MEMSET
         : strncmp(work->name, "nvjet", 5) == 0          ? CALL_LAUNCH_EX
         : strncmp(work->name, "ncclDevKernel", 13) == 0 ? CALL_LAUNCH_NCCL
         : strncmp(work->name, "triton_", 7) == 0        ? CALL_LAUNCH_DRIVER
         : *work->name == '_'                            ? CALL_LAUNCH_DRIVER /* Triton, too */
                                                         : CALL_LAUNCH;
}

static void count_work(void *self, enum thread thread, const struct instruction *instruction, const struct work *work) {
  (void)thread;
  struct counted *counted = self;
  if (!work)
    return;
  assert_int_equal(instruction->call, call_of(work));
  counted->streams[instruction->stream] += work->kind == WORK_COPY_TO_DEVICE;
  if (work->message && work->message->collective == BROADCAST)
    assert_int_equal(work->message->root, 0); /* the group's first rank has the loader */
  if (work->message || work->label.layer == 1)
    return;
  int rows = 0;
  for (int i = 0; i < counted->row_count; i++)
    if (is_row(&counted->rows[i], work)) {
      rows++;
      counted->found[i]++;
      counted->bytes[i] += work->bytes;
    }
  if (rows != 1 && !(counted->partly && rows == 0))
    fail_msg("%s of phase %d, part %d, micro-batch %d, layer %d is in %d rows", work->name, work->label.phase,
             work->label.part, work->label.micro_batch, work->label.layer, rows);
}

static void expect_of(struct counted counted, const char *job, const char *options, int rank) {
  const struct row *rows = counted.rows;
  int count = counted.row_count;
  char line[512];
  struct setup setup;
  snprintf(line, sizeof line, "%s%s", job, options);
  assert_true(setup_of_line(&setup, line));
  struct gpt *gpt = gpt_new(&setup);
  struct software software = gpt_software(gpt);
  struct reader reader = {.self = &counted, .read = count_work};
  while (read_next(&reader, &software, rank))
    ;
  for (int i = 0; i < count; i++)
    if (counted.found[i] != STEPS * rows[i].count || counted.bytes[i] != STEPS * rows[i].bytes)
      fail_msg("%s, phase %d, part %d, micro-batch %d: %d of %lld bytes in %d steps, not %d of %lld", rows[i].name,
               rows[i].phase, rows[i].part, rows[i].micro_batch, counted.found[i], (long long)counted.bytes[i], STEPS,
               STEPS * rows[i].count, (long long)(STEPS * rows[i].bytes));
  for (int stream = 0; stream < STREAMS; stream++)
    assert_int_equal(counted.streams[stream], stream == STREAM_COPY && rank == 0 ? STEPS * MICRO_BATCHES : 0);
  gpt_free(gpt);
  reader_free(&reader);
  setup_free(&setup);
}

static void expect(struct counted counted, const char *options, int rank) { expect_of(counted, JOB, options, rank); }

static void expect_rows(const char *options, int rank, const struct row *rows, int count) {
  expect((struct counted){.rows = rows, .row_count = count}, options, rank);
}

/* Both factors of a product are read and the result is written; what adds to float32 reads and writes four bytes. */
static int64_t product(int64_t m, int64_t n, int64_t k) { return 2 * (m * k + k * n + m * n); }
static int64_t sums(int64_t m, int64_t n, int64_t k) { return 2 * (m * k + k * n) + 8 * m * n; }

static int64_t forward_products(void) {
  return product(3 * width, tokens, hidden) + product(hidden, tokens, width) + product(ffn, tokens, hidden) +
         product(hidden, tokens, ffn);
}

static int64_t weight_sums(void) {
  return sums(3 * width, hidden, tokens) + sums(hidden, width, tokens) + sums(ffn, hidden, tokens) +
         sums(hidden, ffn, tokens);
}

#define TO_BFLOAT "bfloat16_copy_kernel_cuda"
#define TO_FLOAT "unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda"
#define ADD_FLOAT "unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>"
#define COPY "elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda"

struct rows {
  struct row row[MOST_ROWS];
  int count;
};

static void add(struct rows *rows, const struct row *more, size_t count) {
  assert_true(rows->count + (int)count <= MOST_ROWS);
  memcpy(rows->row + rows->count, more, count * sizeof *more);
  rows->count += (int)count;
}
#define ADD(rows, more) add(rows, more, sizeof(more) / sizeof *(more))

/* A product has the same factors and the same result forward and backward, but in another order. */
static void add_layer(struct rows *rows) {
  const struct row more[] = {
      {PHASE_FORWARD, PART_LAYER, -1, 4, "vectorized_layer_norm_kernel", 4 * 4 * shard},
      {PHASE_FORWARD, PART_LAYER, -1, 8, "nvjet_tst", 2 * forward_products()},
      {PHASE_FORWARD, PART_LAYER, -1, 4, "fused_rope_forward", 4 * 4 * heads},
      {PHASE_FORWARD, PART_LAYER, -1, 8, COPY, 8 * 4 * heads}, /* queries, keys, values; what comes of them */
      {PHASE_FORWARD, PART_LAYER, -1, 2, "flash_fprop", 2 * 8 * heads},
      {PHASE_FORWARD, PART_LAYER, -1, 4, "triton_poi_fused_add_native_dropout_0", 4 * 7 * shard},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "triton_poi_fused_add_gelu_0", 2 * 4 * inner},
      /* Backward. */
      {PHASE_BACKWARD, PART_LAYER, -1, 4, "triton_poi_fused_native_dropout_backward_0", 4 * 5 * shard},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "triton_poi_fused_add_gelu_gelu_backward_0", 2 * 6 * inner},
      {PHASE_BACKWARD, PART_LAYER, -1, 8, "reduce_kernel", 2 * 2 * (3 * heads + shard + inner + shard)},
      {PHASE_BACKWARD, PART_LAYER, -1, 4, "layer_norm_grad_input", 4 * 6 * shard},
      {PHASE_BACKWARD, PART_LAYER, -1, 4, "GammaBetaBackward", 4 * 4 * shard},
      {PHASE_BACKWARD, PART_LAYER, -1, 4, "CUDAFunctor_add<c10::BFloat16>", 4 * 6 * shard}, /* residuals */
      {PHASE_BACKWARD, PART_LAYER, -1, 4, "fused_rope_backward", 4 * 4 * heads},
      {PHASE_BACKWARD, PART_LAYER, -1, 4, COPY, 2 * 4 * (heads + 3 * heads)},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "compute_dot_do_o", 2 * 8 * heads},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "flash_bprop", 2 * 18 * heads},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "convert_dq", 2 * 6 * heads},
      /* The first micro-batch writes gradients, the second adds to them. */
      {PHASE_BACKWARD, PART_LAYER, 0, 8, "nvjet_tst", 2 * forward_products()},
      {PHASE_BACKWARD, PART_LAYER, 1, 4, "nvjet_tst", forward_products()},
      {PHASE_BACKWARD, PART_LAYER, 1, 4, "nvjet_tss", weight_sums()},
      {PHASE_BACKWARD, PART_LAYER, 0, 6, TO_FLOAT, 6 * (biases + norms)},
      {PHASE_BACKWARD, PART_LAYER, 1, 6, ADD_FLOAT, 10 * (biases + norms)},
  };
  ADD(rows, more);
}

static void add_ends(struct rows *rows) {
  const struct row more[] = {
      /* The embedding's words are sorted as keys and values of eight bytes, twice read and written. */
      {PHASE_FORWARD, PART_EMBEDDING, -1, 2, "vectorized_gather_kernel", 2 * 4 * whole},
      {PHASE_FORWARD, PART_EMBEDDING, -1, 2, COPY, 2 * 4 * shard},
      {PHASE_BACKWARD, PART_EMBEDDING, -1, 2, COPY, 2 * 4 * shard},
      {PHASE_BACKWARD, PART_EMBEDDING, -1, 2, "DeviceRadixSort", 2 * 32 * tokens},
      {PHASE_BACKWARD, PART_EMBEDDING, -1, 2, "compute_grad_weight", 2 * 6 * whole},
      {PHASE_BACKWARD, PART_EMBEDDING, -1, 2, ADD_FLOAT, 2 * 10 * table}, /* the head has written there */
      /* The head, its loss in float32. */
      {PHASE_FORWARD, PART_HEAD, -1, 2, "vectorized_layer_norm_kernel", 2 * 4 * shard},
      {PHASE_FORWARD, PART_HEAD, -1, 2, "nvjet_tst", 2 * product(words, tokens, hidden)},
      {PHASE_FORWARD, PART_HEAD, -1, 2, TO_FLOAT, 2 * 6 * logits},
      {PHASE_FORWARD, PART_HEAD, -1, 2, "MaxOps", 2 * 4 * logits},
      {PHASE_FORWARD, PART_HEAD, -1, 2, "triton_poi_fused_exp_sub_0", 2 * 8 * logits},
      {PHASE_FORWARD, PART_HEAD, -1, 2, "sum_functor<float", 2 * 4 * logits},
      {PHASE_FORWARD, PART_HEAD, -1, 2, "index_elementwise_kernel", 2 * 24 * tokens},
      {PHASE_FORWARD, PART_HEAD, -1, 2, "log_kernel_cuda", 2 * 8 * tokens},
      {PHASE_FORWARD, PART_HEAD, -1, 2, "MeanOps", 2 * 4 * tokens},
      {PHASE_FORWARD, PART_HEAD, -1, 2, "AUnaryFunctor", 2 * 8},
      {PHASE_BACKWARD, PART_HEAD, -1, 2, "FillFunctor", 2 * 4},
      {PHASE_BACKWARD, PART_HEAD, -1, 4, "AUnaryFunctor", 2 * 8 * (1 + tokens)},
      {PHASE_BACKWARD, PART_HEAD, -1, 2, "BinaryFunctor", 2 * 8 * logits},
      {PHASE_BACKWARD, PART_HEAD, -1, 2, TO_BFLOAT, 2 * 6 * logits},
      {PHASE_BACKWARD, PART_HEAD, 0, 2, "nvjet_tst", 2 * product(words, tokens, hidden)},
      {PHASE_BACKWARD, PART_HEAD, 1, 1, "nvjet_tst", product(words, tokens, hidden)},
      {PHASE_BACKWARD, PART_HEAD, 1, 1, "nvjet_tss", sums(words, hidden, tokens)},
      {PHASE_BACKWARD, PART_HEAD, -1, 2, "layer_norm_grad_input", 2 * 6 * shard},
      {PHASE_BACKWARD, PART_HEAD, -1, 2, "GammaBetaBackward", 2 * 4 * shard},
      {PHASE_BACKWARD, PART_HEAD, 0, 1, TO_FLOAT, 6 * 2 * hidden},
      {PHASE_BACKWARD, PART_HEAD, 1, 1, ADD_FLOAT, 10 * 2 * hidden},
  };
  ADD(rows, more);
}

/* Weights are kept in float32: the first micro-batch makes them bfloat16, but the distributed optimizer has done so. */
static void add_casts(struct rows *rows) {
  const struct row more[] = {
      {PHASE_FORWARD, PART_LAYER, 0, 4, TO_BFLOAT, 6 * matrices},
      {PHASE_FORWARD, PART_HEAD, 0, 1, TO_BFLOAT, 6 * table},
  };
  ADD(rows, more);
}

/* Gradients are cleared, scaled to their mean, and those summed that every tensor rank has; the optimizer takes those
 * that this replica owns. */
static void add_step(struct rows *rows, int64_t owned) {
  const struct row more[] = {
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "Memset", 4 * parameters},
      {PHASE_BACKWARD, PART_OTHER, -1, 1, "AUnaryFunctor", 8 * parameters},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 2, COPY, 2 * 4 * (2 * 6 * hidden + 2 * hidden)},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "L2NormFunctor", 4 * owned},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "cleanup(", 4 * 320}, /* a sum of each of the kernel's blocks */
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "Memcpy DtoH", 4},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "ScaleFunctor", 8 * owned},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "AdamFunctor", 28 * owned},
      {PHASE_OTHER, PART_OTHER, -1, 1, "MeanOps", 4 * MICRO_BATCHES},
  };
  ADD(rows, more);
}

/* Tokens of eight bytes come to the first tensor rank, which hands them on. */
static void add_tokens(struct rows *rows) {
  const struct row more[] = {{PHASE_FORWARD, PART_OTHER, -1, MICRO_BATCHES, "Memcpy HtoD", MICRO_BATCHES * 8 * tokens}};
  ADD(rows, more);
}

static void a_step_runs_what_it_is_made_of(void **state) {
  (void)state;
  for (int rank = 0; rank < 2; rank++) {
    struct rows rows = {.count = 0};
    add_layer(&rows);
    add_ends(&rows);
    add_casts(&rows);
    add_step(&rows, parameters);
    if (rank == 0)
      add_tokens(&rows);
    expect_rows("", rank, rows.row, rows.count);
  }
}

/* Half of it on each replica, and what it has updated becomes bfloat16 before it is gathered. */
static void a_distributed_optimizer_has_its_share(void **state) {
  (void)state;
  struct rows rows = {.count = 0};
  add_layer(&rows);
  add_ends(&rows);
  add_step(&rows, parameters / 2);
  add_tokens(&rows);
  const struct row more[] = {{PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, TO_BFLOAT, 6 * parameters / 2}};
  ADD(&rows, more);
  expect_rows("--distributed-optimizer on", 0, rows.row, rows.count);
}

/* Fully sharded replicas cast their half of a layer's parameters for each pass, and split the whole; all gradients are
 * put in order, and halves of their sums added up. Nothing is kept whole that could be cleared or added to. */
static void fully_sharded_replicas_have_their_share(void **state) {
  (void)state;
  static const char add_share[] = "vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>";
  const int64_t layer = matrices + biases + norms, root = table + 2 * hidden, owned = parameters / 2;
  const struct row rows[] = {
      {PHASE_FORWARD, PART_LAYER, -1, 2, "CopyFunctor", 2 * 6 * layer / 2},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "split_with_sizes", 2 * 4 * layer},
      {PHASE_BACKWARD, PART_LAYER, -1, 0, "CopyFunctor", 0}, /* nothing comes behind the first layer */
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "split_with_sizes", 2 * 4 * layer},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "chunk_cat", 2 * 6 * layer},
      {PHASE_BACKWARD, PART_LAYER, 0, 0, add_share, 0},
      {PHASE_BACKWARD, PART_LAYER, 1, 1, add_share, 12 * layer / 2},
      {PHASE_BACKWARD, PART_LAYER, -1, 16, "nvjet_tst", 4 * forward_products()},
      {PHASE_BACKWARD, PART_LAYER, -1, 0, TO_FLOAT, 0},
      {PHASE_BACKWARD, PART_LAYER, -1, 0, ADD_FLOAT, 0},
      {PHASE_FORWARD, PART_LAYER, -1, 0, TO_BFLOAT, 0},
      {PHASE_FORWARD, PART_EMBEDDING, -1, 2, "CopyFunctor", 2 * 6 * root / 2},
      {PHASE_FORWARD, PART_EMBEDDING, -1, 2, "split_with_sizes", 2 * 4 * root},
      {PHASE_BACKWARD, PART_EMBEDDING, -1, 2, "CopyFunctor", 2 * 6 * layer / 2}, /* of the last one */
      {PHASE_BACKWARD, PART_EMBEDDING, -1, 2, "chunk_cat", 2 * 6 * root},
      {PHASE_BACKWARD, PART_EMBEDDING, 1, 1, add_share, 12 * root / 2},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 0, "Memset", 0},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "AdamFunctor", 28 * owned},
  };
  expect((struct counted){.partly = true, .rows = rows, .row_count = sizeof rows / sizeof *rows}, "--fsdp on", 0);
}

/* Of a rank of two that share a sequence: per token it does half, and its queries see the keys and values of all, which
 * it gathers from both, in two passes; the gradients of those it scatters. Gradients of parameters are of four ranks,
 * as is the optimizer's share. */
static void contexts_have_their_part_of_a_sequence(void **state) {
  (void)state;
  const int64_t owned = parameters / 4;
  const struct row rows[] = {
      {PHASE_FORWARD, PART_LAYER, -1, 4, "vectorized_layer_norm_kernel", 4 * 4 * shard / 2},
      {PHASE_FORWARD, PART_LAYER, -1, 4, "fused_rope_forward", 4 * 4 * heads / 2},
      /* Of a micro-batch: queries and what comes of them; keys and values in order and into another layout. */
      {PHASE_FORWARD, PART_LAYER, -1, 2 * 6, COPY, 2 * 4 * (heads / 2 + heads / 2 + 4 * heads)},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "flash_fprop", 2 * 2 * 2 * (heads / 2 + heads)},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "triton_poi_fused_add_gelu_0", 2 * 4 * inner / 2},
      /* The output's gradient; keys, values and their gradients in order; gradients of all three side by side. */
      {PHASE_BACKWARD, PART_LAYER, -1, 2 * 6, COPY, 2 * 4 * (heads / 2 + 4 * heads + 3 * heads / 2)},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "flash_bprop", 2 * 2 * (5 * heads / 2 + 4 * heads)},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "compute_dot_do_o", 2 * 8 * heads / 2},
      {PHASE_FORWARD, PART_HEAD, -1, 2, TO_FLOAT, 2 * 6 * logits / 2},
      {PHASE_FORWARD, PART_OTHER, -1, MICRO_BATCHES, "Memcpy HtoD", MICRO_BATCHES * 8 * tokens / 2},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "AdamFunctor", 28 * owned},
  };
  expect((struct counted){.partly = true, .rows = rows, .row_count = sizeof rows / sizeof *rows},
         "--cp 2 --distributed-optimizer on", 0);
}

/* What ranks tell each other in a context group. */
struct told {
  const struct gpt *gpt;
  int gathers[PHASES], scatters[PHASES];
  int64_t elements; /* that a message has for all, each the same */
};

static void count_told(void *self, enum thread thread, const struct instruction *instruction, const struct work *work) {
  struct told *told = self;
  (void)thread;
  int count;
  const struct communicator *communicators = gpt_communicators(told->gpt, &count);
  if (!work || !work->message ||
      strcmp(communicators[work->message->communicator].description, "CONTEXT_PARALLEL_GROUP") != 0)
    return;
  const struct message *message = work->message;
  bool gathers = message->collective == ALL_GATHER;
  assert_true(gathers || message->collective == REDUCE_SCATTER);
  assert_int_equal(instruction->stream, STREAM_CONTEXT);
  assert_int_equal(message->bytes, 2 * told->elements);
  assert_int_equal(gathers ? message->elements_out : message->elements_in, told->elements);
  assert_int_equal(gathers ? message->elements_in : message->elements_out, told->elements / 2);
  (gathers ? told->gathers : told->scatters)[work->label.phase]++;
}

/* Keys and values, gathered in each layer's forward pass, and again in the backward pass, which scatters their
 * gradients. */
static void contexts_gather_keys_and_values(void **state) {
  (void)state;
  char line[] = JOB "--cp 2";
  struct setup setup;
  assert_true(setup_of_line(&setup, line));
  struct told told = {.gpt = gpt_new(&setup), .elements = heads};
  struct software software = gpt_software((struct gpt *)(uintptr_t)told.gpt);
  struct reader reader = {.self = &told, .read = count_told};
  while (read_next(&reader, &software, 3))
    ;
  enum { PAIRS = STEPS * MICRO_BATCHES * 2 }; /* of two layers */
  assert_int_equal(told.gathers[PHASE_FORWARD], 2 * PAIRS);
  assert_int_equal(told.gathers[PHASE_BACKWARD], 2 * PAIRS);
  assert_int_equal(told.scatters[PHASE_FORWARD], 0);
  assert_int_equal(told.scatters[PHASE_BACKWARD], 2 * PAIRS);
  gpt_free((struct gpt *)(uintptr_t)told.gpt);
  reader_free(&reader);
  setup_free(&setup);
}

/* ---- experts ---- */

#define EXPERT_JOB                                                                                                 \
  "--layers 2 --hidden 512 --heads 8 --head-dim 80 --ffn 1536 --seq 256 --micro-batch 2 --vocab 2048 --experts 8 " \
  "--top-k 4 --ep 2 --dp 4 --micro-batches 2 --ideal --warmup 1 --steps 2 "

/* Of a rank of two that share 8 experts: 4, which get 2048 rows together, as many as the rank's tokens make. Those with
 * the same experts are two. */
static void experts_have_their_rows(void **state) {
  (void)state;
  const int64_t rows = 2048, of_one = 2048 / 4, wide = 1536, weight_of_all = 4 * 512 * 1536;
  const int64_t grouped = 4 * product(of_one, wide, hidden);
  const int64_t others = 4 * 512 * 640 + 3 * 640 + 512 + 4 * 512 + 512 * 8; /* of a layer: with the router's weight */
  const int64_t owned = (2 * others + 2048 * 512 + 2 * 512) / 4 + 2 * 2 * weight_of_all / 2;
  const struct row of[] = {
      {PHASE_FORWARD, PART_LAYER, -1, 2, "gatherTopK", 2 * 4 * tokens * 8},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "softmax_warp_forward", 2 * 6 * tokens * 4},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "_scatter_gather", 2 * 16 * tokens * 4},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "Memcpy DtoH", 2 * 8 * 8},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "_permute_kernel", 2 * 4 * rows * hidden},
      {PHASE_FORWARD, PART_LAYER, -1, 4, "_sort_chunks", 2 * 2 * 4 * rows * hidden},
      {PHASE_FORWARD, PART_LAYER, -1, 4, "GroupProblemShape", 2 * 2 * grouped},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "GeluCUDA", 2 * 4 * rows * wide},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "_unpermute_kernel", 2 * 3 * rows * hidden},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "_unpermute_bwd", 2 * 5 * rows * hidden},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "_unpermute_kernel", 2 * 3 * rows * hidden},
      {PHASE_BACKWARD, PART_LAYER, -1, 4, "_sort_chunks", 2 * 2 * 4 * rows * hidden},
      {PHASE_BACKWARD, PART_LAYER, -1, 8, "GroupProblemShape", 2 * 4 * grouped},
      {PHASE_BACKWARD, PART_LAYER, -1, 2, "GeluBackward", 2 * 6 * rows * wide},
      {PHASE_BACKWARD, PART_LAYER, -1, 4, "_scatter_gather", 2 * 2 * 16 * tokens * 4},
      /* Small gradients are of attention's biases and of two norms; the first micro-batch writes, the second adds. */
      {PHASE_BACKWARD, PART_LAYER, 0, 6,
       "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
       "const::{lambda()#7}",
       6 * (3 * 640 + 512 + 2 * 2 * 512 + 2 * weight_of_all)},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "AdamFunctor", 28 * owned},
  };
  expect_of((struct counted){.partly = true, .rows = of, .row_count = sizeof of / sizeof *of}, EXPERT_JOB,
            "--distributed-optimizer on", 0);
}

/* Four ranks, two of them tensor-parallel, have 2 of the 8 experts each, and half of the tokens of a micro-batch. */
static void shards_have_their_rows(void **state) {
  (void)state;
  const int64_t part = 256, rows = part * 4, of_one = rows / 2, wide = 1536, weight_of_all = 2 * 512 * 1536;
  const int64_t grouped = 2 * product(of_one, wide, hidden);
  const int64_t others = 4 * 512 * 320 + 3 * 320 + 512 + 4 * 512 + 512 * 8;
  const int64_t owned = (2 * others + 1024 * 512 + 2 * 512) / 2 + 2 * 2 * weight_of_all;
  const struct row of[] = {
      {PHASE_FORWARD, PART_LAYER, -1, 2, "gatherTopK", 2 * 4 * part * 8},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "softmax_warp_forward", 2 * 6 * part * 4},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "_permute_kernel", 2 * 4 * rows * hidden},
      {PHASE_FORWARD, PART_LAYER, -1, 4, "GroupProblemShape", 2 * 2 * grouped},
      {PHASE_FORWARD, PART_LAYER, -1, 2, "GeluCUDA", 2 * 4 * rows * wide},
      {PHASE_BACKWARD, PART_LAYER, -1, 8, "GroupProblemShape", 2 * 4 * grouped},
      {PHASE_BACKWARD, PART_LAYER, -1, 4, "_scatter_gather", 2 * 2 * 16 * part * 4},
      {PHASE_OPTIMIZER, PART_OPTIMIZER, -1, 1, "AdamFunctor", 28 * owned},
  };
  expect_of((struct counted){.partly = true, .rows = of, .row_count = sizeof of / sizeof *of},
            EXPERT_JOB "--tp 2 --sequence-parallel on --dp 2 --ep 4 ", "--distributed-optimizer on", 0);
}

struct sent {
  const struct gpt *gpt;
  int exchanges[PHASES], counts, buckets, gathers;
};

static void count_sent(void *self, enum thread thread, const struct instruction *instruction, const struct work *work) {
  struct sent *sent = self;
  (void)thread;
  int count;
  const struct communicator *communicators = gpt_communicators(sent->gpt, &count);
  const char *group =
      work && work->message ? communicators[work->message->communicator].description : "DATA_PARALLEL_GROUP";
  if (strncmp(group, "EXPERT_", 7) != 0)
    return;
  const struct message *message = work->message;
  if (strcmp(group, "EXPERT_DATA_PARALLEL_GROUP") == 0) {
    assert_int_equal(instruction->stream, STREAM_EXPERT_DATA);
    sent->buckets += message->collective == ALL_REDUCE;
    return;
  }
  if (strcmp(group, "EXPERT_MODEL_PARALLEL_GROUP") != 0) /* the norm's */
    return;
  assert_int_equal(instruction->stream, STREAM_EXPERT);
  if (message->collective == ALL_GATHER) {
    assert_int_equal(message->bytes, 8 * 2 * 8);
    sent->counts++;
    return;
  }
  assert_int_equal(message->collective, ALL_TO_ALL);
  assert_int_equal(message->bytes, 2 * 2048 * 512);
  assert_int_equal(message->elements_in, 2048 * 512);
  assert_int_equal(message->split, 1024);
  sent->exchanges[work->label.phase]++;
}

/* Rows go to the experts and back in each layer's passes, of which the forward one tells first how many there are. */
static void ranks_exchange_what_experts_work_on(void **state) {
  (void)state;
  char line[] = EXPERT_JOB "--bucket-mb 30 --dp 4 --record none";
  struct setup setup;
  assert_true(setup_of_line(&setup, line));
  struct sent sent = {.gpt = gpt_new(&setup)};
  struct software software = gpt_software((struct gpt *)(uintptr_t)sent.gpt);
  struct reader reader = {.self = &sent, .read = count_sent};
  while (read_next(&reader, &software, 1))
    ;
  assert_int_equal(sent.exchanges[PHASE_FORWARD], STEPS * MICRO_BATCHES * 2 * 2);
  assert_int_equal(sent.exchanges[PHASE_BACKWARD], STEPS * MICRO_BATCHES * 2 * 2);
  assert_int_equal(sent.counts, STEPS * MICRO_BATCHES * 2);
  /* A weight of four experts is 12.6 MB: two of them go into 30 MB, which is a layer's. */
  assert_int_equal(sent.buckets, STEPS * 2);
  gpt_free((struct gpt *)(uintptr_t)sent.gpt);
  reader_free(&reader);
  setup_free(&setup);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fully_sharded_replicas_have_their_share),
      cmocka_unit_test(contexts_have_their_part_of_a_sequence),
      cmocka_unit_test(contexts_gather_keys_and_values),
      cmocka_unit_test(experts_have_their_rows),
      cmocka_unit_test(shards_have_their_rows),
      cmocka_unit_test(ranks_exchange_what_experts_work_on),
      cmocka_unit_test(a_step_runs_what_it_is_made_of),
      cmocka_unit_test(a_distributed_optimizer_has_its_share),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
