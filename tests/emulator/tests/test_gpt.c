/* The training program as text: what it computes against the model's formula, what its ranks send each other, and the
 * order in which a PyTorch program does things. Every check runs on jobs that differ in how the model is spread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt_state.h"
#include "program_text.h"

#define MODEL "--layers 8 --hidden 512 --heads 8 --seq 256 --vocab 1024 --warmup 1 --steps 2 "
static const char *const jobs[] = {
    MODEL "--micro-batches 1 --bucket-mb 1",
    MODEL "--micro-batches 3 --tp 2 --dp 2 --bucket-mb 4 --record all",
    MODEL "--micro-batches 2 --tp 4 --sequence-parallel on --dp 2 --distributed-optimizer on --bucket-mb 1",
    MODEL "--micro-batches 5 --pp 4 --dp 2 --overlap-gradients off",
    MODEL "--micro-batches 2 --pp 4 --tp 2 --batched-p2p off",
    MODEL "--micro-batches 4 --pp 2 --schedule gpipe --head-dim 96 --ffn 1536",
    MODEL "--micro-batches 4 --pp 2 --vp 2 --schedule interleaved",
    MODEL "--micro-batches 8 --pp 2 --vp 4 --schedule interleaved --batched-p2p off",
    MODEL "--micro-batches 4 --pp 4 --vp 2 --schedule interleaved --tp 2 --sequence-parallel on --dp 2",
    MODEL "--micro-batches 8 --pp 4 --vp 2 --schedule interleaved --batched-p2p off --distributed-optimizer on --dp 3",
    MODEL "--micro-batches 6 --pp 4 --schedule zb-h1 --dp 2 --bucket-mb 1",
    MODEL "--micro-batches 3 --pp 2 --tp 2 --sequence-parallel on --schedule zb-h1 --batched-p2p off",
    MODEL "--micro-batches 2 --pp 2 --tp 2 --dp 2 --recompute full --bucket-mb 1",
    MODEL "--micro-batches 2 --pp 2 --schedule zb-h1 --recompute full",
    MODEL "--micro-batches 2 --pp 2 --tp 2 --sequence-parallel on --recompute selective",
    MODEL "--micro-batches 2 --pp 2 --schedule zb-h1 --recompute selective",
    MODEL "--micro-batches 2 --cp 2 --dp 3 --bucket-mb 1",
    MODEL
    "--micro-batches 2 --cp 2 --tp 2 --pp 2 --sequence-parallel on --distributed-optimizer on --recompute selective",
    MODEL "--micro-batches 4 --cp 4 --pp 2 --vp 2 --schedule interleaved --recompute full --record all",
    MODEL "--micro-batches 2 --experts 4 --dp 2 --bucket-mb 1 --recompute full",
    MODEL "--micro-batches 2 --experts 8 --top-k 4 --ep 2 --dp 4 --bucket-mb 1 --distributed-optimizer on",
    MODEL "--micro-batches 2 --experts 4 --ep 2 --dp 2 --pp 2 --record all --recompute selective",
    MODEL "--micro-batches 3 --experts 4 --ep 4 --dp 4 --pp 2 --schedule zb-h1 --overlap-gradients off",
    MODEL "--micro-batches 4 --experts 2 --top-k 1 --ep 2 --dp 4 --pp 2 --vp 2 --schedule interleaved --recompute full",
    MODEL "--micro-batches 2 --experts 4 --tp 2 --sequence-parallel on --bucket-mb 1 --distributed-optimizer on",
    MODEL "--micro-batches 2 --experts 8 --ep 4 --tp 2 --sequence-parallel on --dp 4 --pp 2 --recompute full",
    MODEL "--micro-batches 3 --experts 4 --ep 2 --tp 4 --sequence-parallel on --dp 2 --schedule zb-h1",
    MODEL "--micro-batches 2 --experts 4 --ep 4 --cp 2 --dp 2 --pp 2 --record all --recompute selective",
    MODEL "--micro-batches 2 --experts 8 --ep 8 --tp 2 --sequence-parallel on --cp 2 --dp 4 --distributed-optimizer on",
    MODEL "--micro-batches 3 --dp 3 --fsdp on",
    MODEL "--micro-batches 2 --dp 2 --fsdp on --recompute selective",
    MODEL "--micro-batches 2 --tp 2 --sequence-parallel on --dp 2 --fsdp on --recompute full --record all",
};
enum { JOBS = sizeof jobs / sizeof *jobs };

struct job_text {
  struct setup setup;
  struct gpt *gpt;
  struct software software;
  struct reader reader;
  char line[512];
};

static void open_job(struct job_text *job, const char *line, void *self,
                     void (*read)(void *, enum thread, const struct instruction *, const struct work *)) {
  *job = (struct job_text){0};
  snprintf(job->line, sizeof job->line, "%s", line);
  assert_true(setup_of_line(&job->setup, job->line));
  job->gpt = gpt_new(&job->setup);
  job->software = gpt_software(job->gpt);
  job->reader = (struct reader){.self = self, .read = read};
}

static void close_job(struct job_text *job) {
  gpt_free(job->gpt);
  reader_free(&job->reader);
  setup_free(&job->setup);
}

static void read_rank(struct job_text *job, int rank) {
  while (read_next(&job->reader, &job->software, rank))
    ;
}

static int steps_of(const struct job_text *job) { return job->setup.warmup + job->setup.steps; }

/* ---- what is computed ---- */

struct operations {
  double products, attention;
};

static void add_operations(void *self, enum thread thread, const struct instruction *instruction,
                           const struct work *work) {
  (void)thread;
  (void)instruction;
  struct operations *operations = self;
  if (work && work->kind == WORK_GEMM)
    operations->products += work->flops;
  if (work && work->kind == WORK_ATTENTION)
    operations->attention += work->flops;
}

static void assert_equals(double value, double wanted) {
  if (!(fabs(value - wanted) <= 1e-12 * wanted)) {
    print_error("%.17g, not %.17g\n", value, wanted);
    fail();
  }
}

static void products_are_those_of_the_formula(void **state) {
  (void)state;
  for (int i = 0; i < JOBS; i++) {
    struct operations operations = {0};
    struct job_text job;
    open_job(&job, jobs[i], &operations, add_operations);
    for (int rank = 0; rank < setup_ranks(&job.setup); rank++)
      read_rank(&job, rank);
    const struct model *model = &job.setup.model;
    double sequences = (double)model->micro_batch * model->micro_batches * job.setup.parallel.data;
    double blocks = model->experts > 0 ? model->top_k : 1; /* that a token passes; and its way to them */
    double layer = 2 * sequences * model->sequence *
                   (4.0 * model->hidden * model->heads * model->head_dim + blocks * 2.0 * model->hidden * model->ffn +
                    (double)model->hidden * model->experts);
    double attention =
        2 * sequences * model->layers * model->heads * model->head_dim * model->sequence * (double)model->sequence;
    double layers_again = job.setup.parallel.recompute == RECOMPUTE_FULL,
           attention_again = job.setup.parallel.recompute != RECOMPUTE_NONE;
    assert_equals(operations.products / steps_of(&job),
                  gpt_model_flops(&job.setup) - 3 * attention + layers_again * model->layers * layer);
    /* The formula has twice the forward's operations backward, the kernel does 2.5 times as many. */
    assert_equals(operations.attention / steps_of(&job), (3.5 + attention_again) * attention);
    close_job(&job);
  }
}

static void formulas_by_hand(void **state) {
  (void)state;
  struct job_text job;
  open_job(&job, "--layers 2 --hidden 8 --heads 2 --ffn 16 --seq 4 --vocab 10 --micro-batches 3 --dp 5 --pp 2", NULL,
           NULL);
  /* 60 tokens of 15 sequences: 6 * 60 * (2 * (4 * 64 + 2 * 128) + 80) + 6 * 2 * 8 * 16 * 15. */
  assert_equals(gpt_model_flops(&job.setup), 397440 + 23040);
  /* A layer: 24 * 9 + 8 * 9 + 16 * 9 + 8 * 17 and two norms of 16; the words, which both ends have; the final norm. */
  assert_int_equal(job.gpt->plans[0].parameters, 600 + 80);
  assert_int_equal(job.gpt->plans[1].parameters, 600 + 80 + 16);
  close_job(&job);
}

/* One token takes 2 of 4 experts, each of two ranks has 2 of them. */
static void formulas_of_experts_by_hand(void **state) {
  (void)state;
  struct job_text job;
  open_job(&job,
           "--layers 2 --hidden 8 --heads 2 --ffn 16 --seq 4 --vocab 10 --micro-batches 3 --dp 4 --pp 2 --experts 4 "
           "--ep 2 --bucket-mb 0.0045",
           NULL, NULL);
  /* 48 tokens of 12 sequences: 6 * 48 * (2 * (4 * 64 + 2 * 2 * 128 + 8 * 4) + 80) + 6 * 2 * 8 * 16 * 12. */
  assert_equals(gpt_model_flops(&job.setup), 483840 + 18432);
  /* A layer: 24 * 9 + 8 * 9, two norms of 16, the router's 32, and 2 experts of 2 * 128; the words. */
  const struct plan *plan = &job.gpt->plans[0];
  assert_int_equal(plan->parameters, 352 + 512 + 80);
  assert_int_equal(plan->chunks[0].expert_parameters, 512);
  /* One bucket of each kind: 432 and 512 parameters are at most 1125. */
  assert_int_equal(plan->chunks[0].bucket_count, 2);
  assert_int_equal(plan->chunks[0].expert_buckets, 1);
  assert_int_equal(plan->chunks[0].buckets[0], 432);
  assert_int_equal(plan->chunks[0].buckets[1], 512);
  close_job(&job);
  /* Two tensor-parallel ranks have halves of attention and words, and one expert each: 6 sequences are half as many. */
  open_job(
      &job,
      "--layers 2 --hidden 8 --heads 2 --ffn 16 --seq 4 --vocab 10 --micro-batches 3 --tp 2 --sequence-parallel on "
      "--dp 2 --pp 2 --experts 4 --ep 4",
      NULL, NULL);
  assert_equals(gpt_model_flops(&job.setup), 241920 + 9216);
  plan = &job.gpt->plans[0];
  assert_int_equal(plan->parameters, (96 + 12) + (32 + 8) + 32 + 32 + 256 + 40);
  assert_int_equal(plan->chunks[0].expert_parameters, 256);
  assert_int_equal(plan->shared_parameters, 32 + 8 + 32);
  close_job(&job);
  /* With all experts on each rank all is in one bucket, which closes before it would hold more: 1024 of experts. */
  open_job(&job,
           "--layers 2 --hidden 8 --heads 2 --ffn 16 --seq 4 --vocab 10 --micro-batches 3 --dp 4 --pp 2 --experts 4 "
           "--bucket-mb 0.0045",
           NULL, NULL);
  assert_int_equal(job.gpt->plans[0].chunks[0].bucket_count, 2);
  assert_int_equal(job.gpt->plans[0].chunks[0].expert_buckets, 0);
  assert_int_equal(job.gpt->plans[0].chunks[0].buckets[0], 1024 + 32 + 16 + 8);
  close_job(&job);
}

static void layers_that_do_not_divide_are_refused(void **state) {
  (void)state;
  char line[] = "--layers 6 --pp 4";
  struct setup setup;
  assert_false(setup_of_line(&setup, line));
  setup_free(&setup);
}

/* ---- communication ---- */

enum { MOST_RANKS = 64, MOST_COMMUNICATORS = 256 };

struct traffic {
  const struct gpt *gpt;
  int rank;
  uint64_t order[MOST_COMMUNICATORS][MOST_RANKS]; /* what a member did, mixed in order */
  int count[MOST_COMMUNICATORS][MOST_RANKS];
  int stream[MOST_COMMUNICATORS]; /* + 1 */
  int pair_stream[2][MOST_RANKS]; /* of this rank's receives and sends, by peer; + 1 */
  int64_t gradients, largest;     /* bytes of this rank's buckets */
};

static uint64_t mix(uint64_t sum, uint64_t number) { return (sum ^ number) * 0x9E3779B97F4A7C15u + (sum >> 29); }

/* Their order is that of the launches only if they are on one stream. */
static void keep_to(int *kept, int stream) {
  assert_true(!*kept || *kept == stream + 1);
  *kept = stream + 1;
}

static void add_message(void *self, enum thread thread, const struct instruction *instruction,
                        const struct work *work) {
  (void)thread;
  struct traffic *traffic = self;
  if (!work || !work->message)
    return;
  const struct message *message = work->message;
  for (int i = 0; i < message->parts; i++)
    keep_to(&traffic->pair_stream[message->part[i].send][message->part[i].peer], instruction->stream);
  if (work->kind == WORK_P2P)
    return;
  int index = message->communicator;
  const struct communicator *communicator = &traffic->gpt->communicators[index];
  assert_true(communicator->size > 1);
  keep_to(&traffic->stream[index], instruction->stream);
  uint64_t *order = &traffic->order[index][traffic->rank];
  *order = mix(mix(mix(*order, message->collective), (uint64_t)message->bytes), message->float32);
  traffic->count[index][traffic->rank]++;
  int64_t size = message->integers ? 8 : message->float32 ? 4 : 2, members = communicator->size;
  bool gathers = message->collective == ALL_GATHER, scatters = message->collective == REDUCE_SCATTER;
  assert_int_equal(message->elements_in * size * (gathers ? members : 1), message->bytes);
  assert_int_equal(message->elements_out * size * (scatters ? members : 1), message->bytes);
  bool bucket = strstr(communicator->description, "DATA_PARALLEL_GROUP") != NULL && message->float32 && !gathers &&
                message->elements_in > 1;
  if (bucket) {
    traffic->gradients += message->bytes;
    traffic->largest = message->bytes > traffic->largest ? message->bytes : traffic->largest;
  }
}

static void check_members(const struct traffic *traffic) {
  for (int i = 0; i < traffic->gpt->communicator_count; i++) {
    const struct communicator *communicator = &traffic->gpt->communicators[i];
    for (int j = 1; j < communicator->size; j++) {
      assert_int_equal(traffic->count[i][communicator->ranks[j]], traffic->count[i][communicator->ranks[0]]);
      assert_true(traffic->order[i][communicator->ranks[j]] == traffic->order[i][communicator->ranks[0]]);
    }
  }
}

/* A layer's parameters as their gradients come. */
static int64_t slot_size(const struct setup *setup, int slot) {
  int64_t hidden = setup->model.hidden, ffn = setup->model.ffn / setup->parallel.tensor;
  int64_t width = (int64_t)setup->model.heads * setup->model.head_dim / setup->parallel.tensor;
  const int64_t sizes[] = {hidden, hidden * ffn,   ffn,       ffn * hidden,       2 * hidden,
                           hidden, hidden * width, 3 * width, 3 * width * hidden, 2 * hidden};
  return sizes[slot];
}

/* Buckets are the parameters in float32, padded where they are scattered, and no larger than asked unless one parameter
 * is. Fully sharded replicas sum them in every micro-batch. */
static void check_gradients(const struct job_text *job, const struct traffic *traffic) {
  const struct setup *setup = &job->setup;
  const struct plan *plan = &job->gpt->plans[setup_coordinates(setup, traffic->rank).stage];
  int64_t of_experts = 0, most_padding = 0;
  for (int i = 0; i < setup->parallel.chunks; i++)
    of_experts += plan->chunks[i].expert_parameters;
  int64_t times = setup->parallel.fully_sharded ? setup->model.micro_batches : 1;
  int64_t copies = (int64_t)setup->parallel.data * setup->parallel.context, most_copies = copies;
  int64_t parameters = copies == 1 ? 0 : plan->parameters - of_experts;
  if (of_experts > 0) { /* of which no tensor-parallel rank has a part, but of which others have the same or not */
    most_copies *= setup->parallel.tensor;
    parameters += most_copies == setup->parallel.expert ? 0 : of_experts;
  }
  if (setup->parallel.distributed_optimizer || setup->parallel.fully_sharded)
    for (int i = 0; i < setup->parallel.chunks; i++)
      most_padding += (int64_t)plan->chunks[i].bucket_count * (most_copies - 1);
  if (parameters == 0) {
    assert_int_equal(traffic->gradients, 0);
    return;
  }
  int64_t sent = traffic->gradients / 4 / steps_of(job);
  assert_in_range(sent, times * parameters, times * (parameters + most_padding));
  if (setup->parallel.fully_sharded) { /* a layer's, or all others' */
    int64_t layer = 0, rest = setup->model.hidden * (2 + setup->model.vocabulary / setup->parallel.tensor);
    for (int slot = 0; slot < 10; slot++)
      layer += slot_size(setup, slot);
    assert_in_range(traffic->largest, 4 * layer, 4 * ((layer > rest ? layer : rest) + setup->parallel.data));
    return;
  }
  int64_t largest_parameter = 0;
  for (int i = 0; i < LINEARS; i++) {
    int64_t weight = gpt_linear_inputs(setup, (enum linear)i) * gpt_linear_outputs(setup, (enum linear)i);
    weight *= setup->model.experts > 0 && (i == LINEAR_FC1 || i == LINEAR_FC2) ? gpt_experts(setup) : 1;
    largest_parameter = weight > largest_parameter ? weight : largest_parameter;
  }
  int64_t most =
      setup->parallel.bucket_bytes > 4 * largest_parameter ? setup->parallel.bucket_bytes : 4 * largest_parameter;
  assert_true(traffic->largest <= most + 4 * most_copies);
}

static void members_do_the_same_in_the_same_order(void **state) {
  (void)state;
  struct traffic *traffic = malloc(sizeof *traffic);
  assert_non_null(traffic);
  for (int i = 0; i < JOBS; i++) {
    struct job_text job;
    open_job(&job, jobs[i], traffic, add_message);
    *traffic = (struct traffic){.gpt = job.gpt};
    assert_in_range(job.gpt->communicator_count, 1, MOST_COMMUNICATORS);
    for (int rank = 0; rank < setup_ranks(&job.setup); rank++) {
      traffic->rank = rank;
      traffic->gradients = traffic->largest = 0;
      memset(traffic->pair_stream, 0, sizeof traffic->pair_stream);
      read_rank(&job, rank);
      check_gradients(&job, traffic);
    }
    check_members(traffic);
    close_job(&job);
  }
  free(traffic);
}

static void groups_are_megatrons(void **state) {
  (void)state;
  struct job_text job;
  open_job(&job, "--tp 2 --pp 2 --dp 2 --node-size 4", NULL, NULL);
  static const struct {
    const char *name, *description;
    int size, nodes, ranks[8];
  } wanted[] = {
      {"0", "default_pg", 8, 2, {0, 1, 2, 3, 4, 5, 6, 7}}, {"1", "DATA_PARALLEL_GROUP", 2, 1, {0, 2}},
      {"2", "DATA_PARALLEL_GROUP", 2, 1, {1, 3}},          {"3", "DATA_PARALLEL_GROUP", 2, 1, {4, 6}},
      {"4", "DATA_PARALLEL_GROUP", 2, 1, {5, 7}},          {"5", "MODEL_PARALLEL_GROUP", 4, 2, {0, 1, 4, 5}},
      {"6", "MODEL_PARALLEL_GROUP", 4, 2, {2, 3, 6, 7}},   {"7", "TENSOR_MODEL_PARALLEL_GROUP", 2, 1, {0, 1}},
  };
  int count;
  const struct communicator *communicators = gpt_communicators(job.gpt, &count);
  assert_int_equal(count, 1 + 4 + 2 + 4 + 4 + 4);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    assert_string_equal(communicators[i].name, wanted[i].name);
    assert_string_equal(communicators[i].description, wanted[i].description);
    assert_int_equal(communicators[i].size, wanted[i].size);
    assert_int_equal(communicators[i].nodes, wanted[i].nodes);
    assert_memory_equal(communicators[i].ranks, wanted[i].ranks, (size_t)wanted[i].size * sizeof(int));
  }
  for (int i = 0; i < count; i++) {
    assert_true(communicators[i].id >> 63 == 0);
    for (int j = 0; j < i; j++)
      assert_true(communicators[i].id != communicators[j].id);
  }
  close_job(&job);
}

/* Ranks of a sequence are next to those of tensors; those that sum gradients are these and replicas together. */
static void groups_of_contexts_are_megatrons(void **state) {
  (void)state;
  struct job_text job;
  open_job(&job, "--tp 2 --cp 2 --dp 2", NULL, NULL);
  static const struct {
    const char *name, *description;
    int size, ranks[8];
  } wanted[] = {
      {"0", "default_pg", 8, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"1", "DATA_PARALLEL_GROUP_WITH_CP", 4, {0, 2, 4, 6}},
      {"2", "DATA_PARALLEL_GROUP_WITH_CP", 4, {1, 3, 5, 7}},
      {"3", "DATA_PARALLEL_GROUP", 2, {0, 4}},
      {"4", "DATA_PARALLEL_GROUP", 2, {1, 5}},
      {"5", "DATA_PARALLEL_GROUP", 2, {2, 6}},
      {"6", "DATA_PARALLEL_GROUP", 2, {3, 7}},
      {"7", "CONTEXT_PARALLEL_GROUP", 2, {0, 2}},
      {"8", "CONTEXT_PARALLEL_GROUP", 2, {1, 3}},
      {"9", "CONTEXT_PARALLEL_GROUP", 2, {4, 6}},
      {"10", "CONTEXT_PARALLEL_GROUP", 2, {5, 7}},
      {"11", "MODEL_PARALLEL_GROUP", 2, {0, 1}},
  };
  int count;
  const struct communicator *communicators = gpt_communicators(job.gpt, &count);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    assert_string_equal(communicators[i].name, wanted[i].name);
    assert_string_equal(communicators[i].description, wanted[i].description);
    assert_int_equal(communicators[i].size, wanted[i].size);
    assert_memory_equal(communicators[i].ranks, wanted[i].ranks, (size_t)wanted[i].size * sizeof(int));
  }
  close_job(&job);
}

/* Ranks in a row share experts; those with the same experts, at the same place in such rows, sum these' gradients. */
static void groups_of_experts_are_megatrons(void **state) {
  (void)state;
  struct job_text job;
  open_job(&job, "--experts 4 --ep 2 --dp 4 --pp 2", NULL, NULL);
  static const struct {
    const char *name, *description;
    int size, ranks[8];
  } wanted[] = {
      {"23", "EXPERT_MODEL_PARALLEL_GROUP", 2, {0, 1}},
      {"24", "EXPERT_MODEL_PARALLEL_GROUP", 2, {2, 3}},
      {"25", "EXPERT_MODEL_PARALLEL_GROUP", 2, {4, 5}},
      {"26", "EXPERT_MODEL_PARALLEL_GROUP", 2, {6, 7}},
      {"27", "EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP", 4, {0, 1, 4, 5}},
      {"28", "EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP", 4, {2, 3, 6, 7}},
      {"29", "EXPERT_DATA_PARALLEL_GROUP", 2, {0, 2}},
      {"30", "EXPERT_DATA_PARALLEL_GROUP", 2, {1, 3}},
      {"31", "EXPERT_DATA_PARALLEL_GROUP", 2, {4, 6}},
      {"32", "EXPERT_DATA_PARALLEL_GROUP", 2, {5, 7}},
  };
  enum { WANTED = sizeof wanted / sizeof *wanted };
  int count;
  const struct communicator *communicators = gpt_communicators(job.gpt, &count);
  /* Before them: the world, 2 of data, 4 of the model, 8 lonely ones of tensors, 4 pipelines, 4 of embeddings. */
  for (int i = 0; i < WANTED; i++) {
    const struct communicator *communicator = &communicators[count - WANTED + i];
    assert_string_equal(communicator->name, wanted[i].name);
    assert_string_equal(communicator->description, wanted[i].description);
    assert_int_equal(communicator->size, wanted[i].size);
    assert_memory_equal(communicator->ranks, wanted[i].ranks, (size_t)wanted[i].size * sizeof(int));
  }
  close_job(&job);
}

/* They are in a row of all that a stage has, tensor-parallel ranks first. */
static void tensor_ranks_share_experts(void **state) {
  (void)state;
  struct job_text job;
  open_job(&job, "--experts 8 --ep 4 --tp 2 --sequence-parallel on --dp 4 --pp 2", NULL, NULL);
  static const struct {
    const char *description;
    int size, ranks[8];
  } wanted[] = {
      {"EXPERT_MODEL_PARALLEL_GROUP", 4, {0, 1, 2, 3}},
      {"EXPERT_MODEL_PARALLEL_GROUP", 4, {4, 5, 6, 7}},
      {"EXPERT_MODEL_PARALLEL_GROUP", 4, {8, 9, 10, 11}},
      {"EXPERT_MODEL_PARALLEL_GROUP", 4, {12, 13, 14, 15}},
      {"EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP", 8, {0, 1, 2, 3, 8, 9, 10, 11}},
      {"EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP", 8, {4, 5, 6, 7, 12, 13, 14, 15}},
      {"EXPERT_DATA_PARALLEL_GROUP", 2, {0, 4}},
      {"EXPERT_DATA_PARALLEL_GROUP", 2, {1, 5}},
      {"EXPERT_DATA_PARALLEL_GROUP", 2, {2, 6}},
      {"EXPERT_DATA_PARALLEL_GROUP", 2, {3, 7}},
      {"EXPERT_DATA_PARALLEL_GROUP", 2, {8, 12}},
      {"EXPERT_DATA_PARALLEL_GROUP", 2, {9, 13}},
      {"EXPERT_DATA_PARALLEL_GROUP", 2, {10, 14}},
      {"EXPERT_DATA_PARALLEL_GROUP", 2, {11, 15}},
  };
  enum { WANTED = sizeof wanted / sizeof *wanted };
  int count;
  const struct communicator *communicators = gpt_communicators(job.gpt, &count);
  for (int i = 0; i < WANTED; i++) {
    const struct communicator *communicator = &communicators[count - WANTED + i];
    assert_string_equal(communicator->description, wanted[i].description);
    assert_int_equal(communicator->size, wanted[i].size);
    assert_memory_equal(communicator->ranks, wanted[i].ranks, (size_t)wanted[i].size * sizeof(int));
  }
  close_job(&job);
}

static void lonely_groups_are_numbered(void **state) {
  (void)state;
  struct job_text job;
  open_job(&job, "--pp 2 --dp 2", NULL, NULL);
  int count;
  const struct communicator *communicators = gpt_communicators(job.gpt, &count);
  /* 0 the world, 1 and 2 data, 3 and 4 model, 5 to 8 tensor, each of one rank; then the pipelines. */
  assert_int_equal(count, 1 + 2 + 2 + 2 + 2);
  assert_string_equal(communicators[5].description, "PIPELINE_MODEL_PARALLEL_GROUP");
  assert_string_equal(communicators[5].name, "9");
  close_job(&job);
}

/* ---- buckets ---- */

/* Parameters whose gradients are there, and those that are on their way to the other replicas. */
struct readiness {
  const struct setup *setup;
  int slot; /* of the layer at hand, in the order in which gradients come */
  int64_t ready, sent;
  bool last;    /* the last micro-batch's */
  bool weights; /* of a weight pass: it has the weights' alone, what is small came before */
  int buckets;
};

static void next_gradient(struct readiness *readiness) {
  readiness->ready += slot_size(readiness->setup, readiness->slot);
  readiness->slot = (readiness->slot + 1) % 10;
}

/* What the backward pass has left ready: all up to the next weight. */
static void next_small_gradients(struct readiness *readiness) {
  while (readiness->slot != 1 && readiness->slot != 3 && readiness->slot != 6 && readiness->slot != 8)
    next_gradient(readiness);
}

static void begin_job(struct readiness *readiness, const struct job *job) {
  readiness->last = job->micro_batch == readiness->setup->model.micro_batches - 1;
  readiness->weights = job->kind == PHASE_WEIGHT;
  readiness->slot = 0;
  readiness->ready = readiness->sent = 0;
  if (readiness->weights)
    next_small_gradients(readiness);
}

static void follow_bucket(void *self, enum thread thread, const struct instruction *instruction,
                          const struct work *work) {
  struct readiness *readiness = self;
  if (instruction->kind == DO_POST)
    begin_job(readiness, &instruction->of.job);
  if (thread != THREAD_AUTOGRAD || !readiness->last)
    return;
  if (instruction->kind == DO_ENTER && strcmp(instruction->name, "torch::autograd::AccumulateGrad") == 0) {
    next_gradient(readiness);
    if (readiness->weights)
      next_small_gradients(readiness);
  }
  if (work && work->message && work->message->float32 && work->message->elements_in > 1) {
    readiness->sent += work->message->elements_in;
    assert_true(readiness->sent == readiness->ready || (readiness->weights && readiness->sent < readiness->ready));
    readiness->buckets++;
  }
}

/* On the stages between the ends, whose parameters are those of layers alone. */
static void buckets_leave_when_their_gradients_are_there(void **state) {
  (void)state;
  static const char *const lines[] = {
      MODEL "--micro-batches 2 --pp 4 --dp 2 --bucket-mb 1",
      MODEL "--micro-batches 2 --pp 4 --dp 2 --bucket-mb 6 --tp 2",
      MODEL "--micro-batches 4 --pp 4 --dp 2 --bucket-mb 1 --vp 2 --schedule interleaved --distributed-optimizer on",
      MODEL "--micro-batches 6 --pp 4 --dp 2 --bucket-mb 1 --schedule zb-h1",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    struct readiness readiness = {0};
    struct job_text job;
    open_job(&job, lines[i], &readiness, follow_bucket);
    readiness.setup = &job.setup;
    struct coordinates middle = {.stage = 1};
    read_rank(&job, setup_rank_at(&job.setup, middle));
    assert_true(readiness.buckets > 1);
    assert_true(readiness.sent == readiness.ready || readiness.weights);
    close_job(&job);
  }
}

/* ---- between stages ---- */

/* A tensor on its way: which micro-batch's, in which direction, over which boundary between parts of the model. */
struct tensor {
  int phase, micro_batch, boundary;
};
enum { MOST_TENSORS = 4096 };
struct pair {
  struct tensor sent[MOST_TENSORS], received[MOST_TENSORS];
  int sent_count, received_count;
};

static struct tensor tensor_of(const struct plan *plan, int stages, int stage, int pass_index, bool send) {
  const struct pass *pass = &plan->passes[pass_index];
  int place = pass->chunk * stages + stage;
  bool forward = pass->phase == PHASE_FORWARD;
  return (struct tensor){pass->phase, pass->micro_batch, send == forward ? place : place - 1};
}

static void exchanges_match_in_order(void **state) {
  (void)state;
  struct pair *pairs = calloc(MOST_RANKS, sizeof *pairs); /* [from * stages + to] */
  assert_non_null(pairs);
  for (int i = 0; i < JOBS; i++) {
    struct job_text job;
    open_job(&job, jobs[i], NULL, NULL);
    int stages = job.setup.parallel.pipeline;
    for (int stage = 0; stage < stages; stage++) {
      const struct plan *plan = &job.gpt->plans[stage];
      for (int j = 0; j < plan->exchange_count; j++)
        for (int k = 0; k < plan->exchanges[j].count; k++) {
          uint8_t part = plan->exchanges[j].parts[k];
          bool send = part & SEND;
          int peer = (stage + (part & TO_NEXT ? 1 : stages - 1)) % stages;
          struct tensor tensor = tensor_of(plan, stages, stage, plan->exchanges[j].passes[k], send);
          struct pair *pair = &pairs[send ? stage * stages + peer : peer * stages + stage];
          assert_true(pair->sent_count < MOST_TENSORS && pair->received_count < MOST_TENSORS);
          *(send ? &pair->sent[pair->sent_count++] : &pair->received[pair->received_count++]) = tensor;
        }
    }
    int boundaries = stages * job.setup.parallel.chunks - 1, sent = 0;
    for (int j = 0; j < stages * stages; j++) {
      assert_int_equal(pairs[j].sent_count, pairs[j].received_count);
      assert_memory_equal(pairs[j].sent, pairs[j].received, (size_t)pairs[j].sent_count * sizeof(struct tensor));
      sent += pairs[j].sent_count;
      pairs[j].sent_count = pairs[j].received_count = 0;
    }
    assert_int_equal(sent, 2 * job.setup.model.micro_batches * boundaries);
    close_job(&job);
  }
  free(pairs);
}

/* ---- order ---- */

enum { MOST_DEPTH = 64, MOST_NUMBERS = 1 << 16 };

/* What was marked with an autograd number: the last op that was made the node. */
struct numbered {
  const char *forward; /* NULL: nothing */
  bool kept, backward; /* kept: gradients are recorded */
  struct label label;  /* of its first work; part PARTS: none yet */
};

struct order_check {
  struct {
    const char *name; /* of an op, else NULL */
    struct op_facts facts;
  } stack[THREADS][MOST_DEPTH];
  int depth[THREADS];
  struct numbered (*numbers)[MOST_NUMBERS];         /* [THREADS] */
  int64_t last[THREADS];                            /* number of a forward op, -1: none yet */
  bool recorded[MOST_EVENTS], pending[MOST_EVENTS]; /* pending: nobody has waited for the record yet */
  int steps, profile;
};

static struct numbered *numbered_by(struct order_check *check, enum thread thread, const struct op_facts *facts) {
  if (facts->forward_thread)
    thread = (enum thread)(facts->forward_thread - 1);
  assert_true(thread < THREADS && facts->sequence < MOST_NUMBERS);
  return &check->numbers[thread][facts->sequence];
}

static bool is_open(const struct order_check *check, enum thread thread, const char *name) {
  for (int i = 0; i < check->depth[thread]; i++)
    if (check->stack[thread][i].name && strcmp(check->stack[thread][i].name, name) == 0)
      return true;
  return false;
}

/* Functions of Python are called like classes, ops of the dispatcher have a library's name in front. */
static bool is_function(const char *name) { return !strstr(name, "::") && strcmp(name, "record_param_comms") != 0; }

/* aten::native_layer_norm makes NativeLayerNormBackward0, FlashAttnFunc FlashAttnFuncBackward. */
static bool makes(const char *forward, const char *backward) {
  if (strncmp(forward, "aten::", 6) == 0)
    forward += 6;
  for (;; forward++, backward++) {
    while (*forward == '_')
      forward++;
    while (*backward == '_')
      backward++;
    if (!*forward || tolower(*forward) != tolower(*backward))
      return !*forward && strncmp(backward, "Backward", 8) == 0;
  }
}

/* The next number, or the one that was marked last, which then was nobody's yet. Marks reach through ops that are made
 * of others, but not into functions, nor where nothing is recorded: then only functions count. */
static void check_forward(struct order_check *check, enum thread thread, const char *name, int64_t sequence) {
  int depth = check->depth[thread];
  bool through =
      depth > 0 && check->stack[thread][depth - 1].name && !is_function(check->stack[thread][depth - 1].name);
  bool checkpointed = is_open(check, thread, "CheckpointFunction");
  assert_true(sequence == check->last[thread] || sequence == check->last[thread] + 1);
  assert_string_not_equal(name, "record_param_comms");
  assert_true(!is_open(check, thread, "optimizer.step"));
  if (checkpointed || (thread == THREAD_AUTOGRAD && !is_open(check, thread, "CheckpointFunctionBackward")))
    assert_true(is_function(name));
  if (through && thread == THREAD_MAIN)
    assert_int_equal(sequence, check->stack[thread][depth - 1].facts.sequence);
  struct numbered *numbered = &check->numbers[thread][sequence];
  assert_false(numbered->backward || (numbered->forward && is_function(numbered->forward)));
  *numbered = (struct numbered){.forward = name, .kept = !checkpointed, .label.part = PARTS};
  check->last[thread] = sequence;
}

static void check_backward(struct order_check *check, enum thread thread, const char *name,
                           const struct op_facts *facts) {
  static const char engine[] = "autograd::engine::evaluate_function: ";
  struct numbered *numbered = numbered_by(check, thread, facts);
  assert_int_equal(thread, THREAD_AUTOGRAD);
  assert_true(numbered->forward && numbered->kept);
  numbered->backward = true;
  if (strncmp(name, engine, sizeof engine - 1) == 0) {
    assert_true(makes(numbered->forward, name + sizeof engine - 1));
    return;
  }
  assert_true(makes(numbered->forward, name));
  const struct op_facts *around = &check->stack[thread][check->depth[thread] - 1].facts;
  assert_true(around->sequence == facts->sequence && around->forward_thread == facts->forward_thread);
}

/* An op without a number: a function's always have one, those that are called where gradients are recorded too, and
 * what ops that are made of others call first. */
static void check_unmarked(const struct order_check *check, enum thread thread, const char *name) {
  static const char *const made_of_others[] = {"aten::layer_norm", "aten::to", "aten::contiguous"};
  int depth = check->depth[thread];
  const char *around = NULL;
  for (int i = 0; i < depth; i++)
    if (check->stack[thread][i].name)
      around = check->stack[thread][i].name;
  assert_true(!is_function(name) || strcmp(name, "record_param_comms") == 0);
  bool records = thread == THREAD_MAIN && !is_open(check, thread, "optimizer.step");
  bool called = !around || strstr(around, "_step") || strncmp(around, "ProfilerStep#", 13) == 0;
  if (records && called)
    assert_true(strcmp(name, "aten::ones_like") == 0 || strcmp(name, "record_param_comms") == 0);
  if (around && check->stack[thread][depth - 1].facts.sequence >= 0)
    for (size_t i = 0; i < sizeof made_of_others / sizeof *made_of_others; i++)
      assert_true(strcmp(around, made_of_others[i]) != 0 || strcmp(name, "aten::copy_") == 0);
}

static void check_enter(struct order_check *check, enum thread thread, const struct instruction *instruction) {
  assert_true(check->depth[thread] < MOST_DEPTH);
  bool op = instruction->frame == FRAME_OP, annotated = instruction->frame == FRAME_ANNOTATION;
  struct op_facts facts = {.sequence = -1};
  if (op)
    facts = instruction->of.facts;
  if (facts.sequence >= 0 && facts.forward_thread)
    check_backward(check, thread, instruction->name, &facts);
  else if (facts.sequence >= 0)
    check_forward(check, thread, instruction->name, facts.sequence);
  else if (op)
    check_unmarked(check, thread, instruction->name);
  int depth = check->depth[thread]++;
  check->stack[thread][depth].name = op || annotated ? instruction->name : NULL;
  check->stack[thread][depth].facts = facts;
}

/* What runs inside a backward op is of the micro-batch and layer of the forward op that it names. */
static void check_label(struct order_check *check, enum thread thread, struct label label) {
  if (label.part == PART_OTHER)
    return;
  for (int i = 0; i < check->depth[thread]; i++) {
    const struct op_facts *facts = &check->stack[thread][i].facts;
    struct label *forward = facts->sequence < 0 ? NULL : &numbered_by(check, thread, facts)->label;
    if (!forward)
      continue;
    if (forward->part == PARTS)
      *forward = label;
    assert_int_equal(forward->part, label.part);
    assert_int_equal(forward->micro_batch, label.micro_batch);
    assert_int_equal(forward->layer, label.layer);
  }
}

/* For those who ask for a future, which here nobody does. */
static bool is_future(int event) {
  return (event >= EVENT_FUTURE && event < EVENT_FUTURE + EVENT_STREAMS) ||
         event == stream_event(EVENT_FUTURE, STREAM_EXPERT) || event == stream_event(EVENT_FUTURE, STREAM_EXPERT_DATA);
}

static void check_order(void *self, enum thread thread, const struct instruction *instruction,
                        const struct work *work) {
  struct order_check *check = self;
  switch ((enum instruction_kind)instruction->kind) {
    case DO_ENTER:
      check_enter(check, thread, instruction);
      break;
    case DO_LEAVE:
      assert_true(check->depth[thread]-- > 0);
      break;
    case DO_LAUNCH:
      check_label(check, thread, work->label);
      break;
    case DO_RECORD:
      /* Readiness is waited for by the stream; what is done, by whoever needs it, before the event is used again. */
      assert_in_range(instruction->event, 0, MOST_EVENTS - 1);
      assert_false(check->pending[instruction->event]);
      check->recorded[instruction->event] = true;
      check->pending[instruction->event] = !is_future(instruction->event);
      break;
    case DO_WAIT:
    case DO_SYNC_EVENT:
      assert_true(check->recorded[instruction->event]);
      check->pending[instruction->event] = false;
      break;
    case DO_QUERY:
      assert_true(check->recorded[instruction->event]);
      break;
    case DO_STEP:
      assert_int_equal(instruction->time, check->steps++);
      break;
    case DO_PROFILE:
      assert_int_equal(instruction->time, !check->profile++);
      break;
    case DO_SPEND:
    case DO_SLEEP:
      assert_true(instruction->time > 0);
      break;
    case DO_AWAIT:
      assert_int_equal(check->depth[THREAD_AUTOGRAD], 0);
      break;
    case DO_SYNC_STREAM:
    case DO_SYNC_DEVICE:
    case DO_CALL:
    case DO_POST:
    case DO_ALLOCATE:
    case DO_SKIP:
    case DO_LAUNCH_GRAPH:
      break;
  }
}

static void ranks_do_things_in_order(void **state) {
  (void)state;
  struct order_check *check = malloc(sizeof *check);
  struct numbered(*numbers)[MOST_NUMBERS] = malloc(THREADS * sizeof *numbers);
  assert_true(check && numbers);
  for (int i = 0; i < JOBS; i++) {
    struct job_text job;
    open_job(&job, jobs[i], check, check_order);
    for (int rank = 0; rank < setup_ranks(&job.setup); rank++) {
      memset(numbers, 0, THREADS * sizeof *numbers);
      *check = (struct order_check){.numbers = numbers, .last = {-1, -1}};
      read_rank(&job, rank);
      assert_int_equal(check->depth[THREAD_MAIN], 0);
      for (int thread = 0; thread < THREADS; thread++)
        for (int64_t j = 0; j < check->last[thread]; j++)
          assert_true(numbers[thread][j].forward && numbers[thread][j].backward == numbers[thread][j].kept);
      for (int event = 0; event < MOST_EVENTS; event++)
        assert_false(check->pending[event]);
      assert_int_equal(check->steps, steps_of(&job));
      assert_int_equal(check->profile, 2);
    }
    close_job(&job);
  }
  free(numbers);
  free(check);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_those_of_the_formula),
      cmocka_unit_test(formulas_by_hand),
      cmocka_unit_test(formulas_of_experts_by_hand),
      cmocka_unit_test(layers_that_do_not_divide_are_refused),
      cmocka_unit_test(members_do_the_same_in_the_same_order),
      cmocka_unit_test(groups_are_megatrons),
      cmocka_unit_test(groups_of_contexts_are_megatrons),
      cmocka_unit_test(groups_of_experts_are_megatrons),
      cmocka_unit_test(tensor_ranks_share_experts),
      cmocka_unit_test(lonely_groups_are_numbered),
      cmocka_unit_test(buckets_leave_when_their_gradients_are_there),
      cmocka_unit_test(exchanges_match_in_order),
      cmocka_unit_test(ranks_do_things_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
