/* How much memory a step needs, each byte of it counted by hand: two products with a gelu in between, and Adam. */
#include "unit/graph_job.h"

#include <lumos/footprint.h>
#include <string.h>

/* 128 tokens, 64 and 256 features, numbers of 4 bytes. */
enum { NARROW = 128 * 64 * 4, WIDE = 128 * 256 * 4, WEIGHT = 64 * 256 * 4, ROWS = 128 * 4 };
/* PyTorch gives cuBLAS 8 MiB and 128 KiB a thread on a GPU that is not known. */
enum { WORKSPACES = 2 * (8 * 1024 + 128) * 1024, PARAMETERS = 2 * WEIGHT, STATE = 2 * PARAMETERS };

struct op {
  int depth; /* of ops around it, on its thread */
  const char *name, *shapes;
  int sequence;       /* 0: none */
  const char *dtypes; /* NULL: float */
};

#define FLOATS "[\"float\", \"float\", \"float\", \"float\"]"
#define HALVES "[\"c10::BFloat16\", \"c10::BFloat16\"]"

static const struct op forward[] = {{0, "aten::mm", "[[128, 64], [64, 256]]", 1, NULL},
                                    {0, "aten::gelu", "[[128, 256]]", 2, NULL},
                                    {0, "aten::mm", "[[128, 256], [256, 64]]", 3, NULL},
                                    {0, "aten::sum", "[[128, 64]]", 4, NULL},
                                    {0, "aten::div", "[[], []]", 5, NULL}};

static const struct op backward[] = {
    {0, "autograd::engine::evaluate_function: SumBackward0", NULL, 4, NULL},
    {1, "SumBackward0", "[[]]", 4, NULL},
    {2, "aten::clone", "[[128, 64]]", 0, NULL},
    {3, "aten::copy_", "[[128, 64], [128, 64]]", 0, NULL},
    {0, "autograd::engine::evaluate_function: MmBackward0", NULL, 3, NULL},
    {1, "MmBackward0", "[[128, 64]]", 3, NULL},
    {2, "aten::mm", "[[256, 128], [128, 64]]", 0, NULL},
    {2, "aten::mm", "[[128, 64], [64, 256]]", 0, NULL},
    {0, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL, 0, NULL},
    {1, "torch::autograd::AccumulateGrad", "[[256, 64]]", 0, NULL},
    {0, "autograd::engine::evaluate_function: GeluBackward0", NULL, 2, NULL},
    {1, "GeluBackward0", "[[128, 256]]", 2, NULL},
    {2, "aten::gelu_backward", "[[128, 256], [128, 256]]", 0, NULL},
    {0, "autograd::engine::evaluate_function: MmBackward0", NULL, 1, NULL},
    {1, "MmBackward0", "[[128, 256]]", 1, NULL},
    {2, "aten::mm", "[[64, 128], [128, 256]]", 0, NULL},
    {0, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL, 0, NULL},
    {1, "torch::autograd::AccumulateGrad", "[[64, 256]]", 0, NULL}};

/* Gradients of half as many bytes, by ops that show nothing else. */
static const struct op halves[] = {
    {0, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL, 0, NULL},
    {1, "torch::autograd::AccumulateGrad", "[[64, 256]]", 0, HALVES},
    {0, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", NULL, 0, NULL},
    {1, "torch::autograd::AccumulateGrad", "[[256, 64]]", 0, HALVES}};

static const struct op adam[] = {{0, "aten::_foreach_lerp_", "[[], [], []]", 0, NULL},
                                 {0, "aten::_foreach_addcmul_", "[[], [], []]", 0, NULL},
                                 {0, "aten::_foreach_sqrt", "[[]]", 0, NULL},
                                 {0, "aten::_foreach_addcdiv_", "[[], [], []]", 0, NULL}};

/* A run of ops, of a micro-batch, whose sequence numbers begin behind `sequence`. */
struct run {
  const struct op *ops;
  size_t count;
  int32_t micro_batch;
  int sequence;
};
#define RUN(ops, micro_batch, sequence) \
  { ops, sizeof(ops) / sizeof *(ops), micro_batch, sequence }

/* Forward passes and optimizers are on the first thread. */
static void add_runs(struct lumos_job *job, const struct run *runs, size_t count, uint32_t thread, bool shapes) {
  int64_t time = 0;
  for (size_t r = 0; r < count; r++) {
    uint32_t around[4] = {LUMOS_NONE, LUMOS_NONE, LUMOS_NONE, LUMOS_NONE};
    for (size_t i = 0; i < runs[r].count; i++, time += 10) {
      const struct op *op = &runs[r].ops[i];
      if ((runs[r].ops == backward || runs[r].ops == halves) != (thread == 1)) {
        continue;
      }
      struct lumos_span span = lumos_span_empty;
      span.rank = 0;
      span.lane = thread;
      span.kind = LUMOS_SPAN_OP;
      span.id = (uint32_t)job->spans.count;
      span.name = word(job, op->name);
      span.parent = op->depth > 0 ? around[op->depth - 1] : LUMOS_NONE;
      span.sequence = op->sequence > 0 ? op->sequence + runs[r].sequence : LUMOS_ABSENT;
      span.start = time;
      span.dur = 10;
      span.shapes = op->shapes != NULL && shapes ? word(job, op->shapes) : LUMOS_NO_STRING;
      span.dtypes =
          op->shapes != NULL && shapes ? word(job, op->dtypes != NULL ? op->dtypes : FLOATS) : LUMOS_NO_STRING;
      around[op->depth] = span.id;
      lumos_vector_push(&job->spans, span);
      uint32_t task = add_task(job, thread, LUMOS_OP, op->name, time, 10);
      struct lumos_task *record = &job->tasks.items[task];
      record->span = span.id;
      record->micro_batch = runs[r].micro_batch;
      record->phase = thread == 1 ? LUMOS_BACKWARD : LUMOS_FORWARD;
    }
  }
}

static struct lumos_job *job_of_runs(const struct run *runs, size_t count, bool shapes) {
  struct lumos_job *job = new_job();
  struct lumos_error error = {0};
  (void)add_rank(job, 0);
  (void)add_thread(job, 0, "1");
  (void)add_thread(job, 0, "2");
  add_runs(job, runs, count, 0, shapes);
  add_runs(job, runs, count, 1, shapes);
  if (!lumos_job_arrange(job, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

static struct lumos_footprint footprint_of(struct lumos_job *job) {
  struct lumos_error error = {0};
  struct lumos_footprint footprint;
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, &error);
  assert_non_null(hardware);
  lumos_footprint_of(job, 0, hardware, &footprint);
  lumos_hardware_free(hardware);
  return footprint;
}

static void expect_parts(const struct lumos_footprint *footprint, int64_t gradients, int64_t activations,
                         int64_t temporary) {
  assert_int_equal(footprint->state, LUMOS_MEMORY_KNOWN);
  assert_int_equal(footprint->parts[LUMOS_MEMORY_PARAMETERS], PARAMETERS);
  assert_int_equal(footprint->parts[LUMOS_MEMORY_OPTIMIZER], STATE);
  assert_int_equal(footprint->parts[LUMOS_MEMORY_LIBRARIES], WORKSPACES);
  assert_int_equal(footprint->parts[LUMOS_MEMORY_HEAD], 0);
  assert_int_equal(footprint->parts[LUMOS_MEMORY_GRADIENTS], gradients);
  assert_int_equal(footprint->parts[LUMOS_MEMORY_ACTIVATIONS], activations);
  assert_int_equal(footprint->parts[LUMOS_MEMORY_TEMPORARY], temporary);
  assert_int_equal(footprint->peak, PARAMETERS + STATE + WORKSPACES + gradients + activations + temporary);
}

/* The gelu keeps what it takes in, the second product what the gelu makes. The peak is in the second product's
 * gradient: both are there, the gradient that it takes, and the two that it makes, one of which is the weight's. */
static void a_step_is_counted_byte_by_byte(void **state) {
  (void)state;
  const struct run runs[] = {RUN(forward, 0, 0), RUN(backward, 0, 0), RUN(adam, LUMOS_ABSENT_INT, 0)};
  struct lumos_job *job = job_of_runs(runs, 3, true);
  struct lumos_footprint footprint = footprint_of(job);
  expect_parts(&footprint, WEIGHT, 2 * WIDE, NARROW + WIDE);
  assert_int_equal(footprint.parameters, 2 * 64 * 256);
  assert_int_equal(footprint.micro_batch, 2 * WIDE);
  assert_int_equal(footprint.in_flight, 1);
  assert_string_equal(lumos_string(job->strings, job->tasks.items[footprint.at].name), "aten::mm");
  lumos_job_free(job);
}

/* All forward passes first: what two keep is there at once. */
static void micro_batches_in_flight_add_up(void **state) {
  (void)state;
  const struct run runs[] = {RUN(forward, 0, 0), RUN(forward, 1, 10), RUN(backward, 0, 0), RUN(backward, 1, 10),
                             RUN(adam, LUMOS_ABSENT_INT, 0)};
  struct lumos_job *job = job_of_runs(runs, 5, true);
  struct lumos_footprint footprint = footprint_of(job);
  expect_parts(&footprint, WEIGHT, 4 * WIDE, NARROW + WIDE);
  assert_int_equal(footprint.micro_batch, 2 * WIDE);
  assert_int_equal(footprint.in_flight, 2);
  lumos_job_free(job);
}

/* In turn only one is in flight. The gradients of the first stay, and those of the second are added to them: while the
 * second's weight has one, both weights' first ones are there. */
static void micro_batches_in_turn_share_gradients(void **state) {
  (void)state;
  const struct run runs[] = {RUN(forward, 0, 0), RUN(backward, 0, 0), RUN(forward, 1, 10), RUN(backward, 1, 10),
                             RUN(adam, LUMOS_ABSENT_INT, 0)};
  struct lumos_job *job = job_of_runs(runs, 5, true);
  struct lumos_footprint footprint = footprint_of(job);
  expect_parts(&footprint, 2 * WEIGHT, 2 * WIDE, NARROW + WIDE + WEIGHT);
  assert_int_equal(footprint.in_flight, 1);
  assert_int_equal(footprint.parameters, 2 * 64 * 256);
  lumos_job_free(job);
}

/* Group 7, of four. */
static void add_replicas(struct lumos_job *job) {
  struct lumos_group group = lumos_group_empty;
  group.id = word(job, "7");
  group.role = LUMOS_DATA;
  group.size = 4;
  lumos_vector_push(&job->groups, group);
}

/* Gradients of four replicas are summed in buckets as large as they are. Where each replica gets a share of the sums,
 * it keeps the optimizer's state of that share. */
static void replicas_share_the_optimizer(void **state) {
  (void)state;
  static const char *const ops[] = {"all_reduce", "reduce_scatter"};
  for (int scattered = 0; scattered < 2; scattered++) {
    const struct run runs[] = {RUN(forward, 0, 0), RUN(backward, 0, 0), RUN(adam, LUMOS_ABSENT_INT, 0)};
    struct lumos_job *job = job_of_runs(runs, 3, true);
    add_replicas(job);
    detail(job, 0)->comm.op = word(job, ops[scattered]);
    detail(job, 0)->comm.group = word(job, "7");
    struct lumos_footprint footprint = footprint_of(job);
    assert_int_equal(footprint.parts[LUMOS_MEMORY_OPTIMIZER], scattered ? STATE / 4 : STATE);
    assert_int_equal(footprint.parts[LUMOS_MEMORY_GRADIENTS], WEIGHT + PARAMETERS);
    lumos_job_free(job);
  }
}

/* Before the passes a buffer of all gradients is cleared, in one row. */
static const struct op clearing[] = {{0, "aten::zero_", "[[32768]]", 0, NULL}};

/* Where the buffer stays, a gradient goes when it is added: at the peak there is one beside all of them. */
static void a_buffer_of_gradients_stays(void **state) {
  (void)state;
  const struct run runs[] = {RUN(clearing, LUMOS_ABSENT_INT, 0),
                             RUN(forward, 0, 0),
                             RUN(backward, 0, 0),
                             RUN(forward, 1, 10),
                             RUN(backward, 1, 10),
                             RUN(adam, LUMOS_ABSENT_INT, 0)};
  struct lumos_job *job = job_of_runs(runs, 6, true);
  job->tasks.items[0].phase = LUMOS_OTHER_PHASE;
  struct lumos_footprint footprint = footprint_of(job);
  expect_parts(&footprint, PARAMETERS, 2 * WIDE, NARROW + WIDE + WEIGHT);
  assert_int_equal(footprint.parameters, 2 * 64 * 256);
  lumos_job_free(job);
}

/* Neither four times as many numbers as there are gradients, nor what another op clears for itself. */
static void what_else_is_cleared_is_no_buffer(void **state) {
  (void)state;
  static const struct op much[] = {{0, "aten::zero_", "[[131072]]", 0, NULL}};
  static const struct op nested[] = {{0, "aten::zeros", "[[], [], [], [], []]", 0, NULL},
                                     {1, "aten::zero_", "[[32768]]", 0, NULL}};
  const struct run first[] = {RUN(much, LUMOS_ABSENT_INT, 0), RUN(nested, LUMOS_ABSENT_INT, 0)};
  for (int i = 0; i < 2; i++) {
    const struct run runs[] = {first[i], RUN(forward, 0, 0), RUN(backward, 0, 0), RUN(adam, LUMOS_ABSENT_INT, 0)};
    struct lumos_job *job = job_of_runs(runs, 4, true), *without = job_of_runs(runs + 1, 3, true);
    job->tasks.items[0].phase = job->tasks.items[i].phase = LUMOS_OTHER_PHASE; /* the nested one is the second */
    struct lumos_footprint footprint = footprint_of(job), expected = footprint_of(without);
    for (int part = 0; part < LUMOS_MEMORY_PARTS; part++) {
      assert_int_equal(footprint.parts[part], expected.parts[part]);
    }
    lumos_job_free(job);
    lumos_job_free(without);
  }
}

/* In the first micro-batch a weight is copied into half as many bytes, of which its gradient is. */
static const struct op copying[] = {{0, "aten::_to_copy", "[[64, 256]]", 0, NULL},
                                    {1, "aten::copy_", "[[64, 256], [64, 256]]", 0, HALVES}};

static struct lumos_job *job_of_halves(bool copies) {
  const struct run runs[] = {RUN(clearing, LUMOS_ABSENT_INT, 0),
                             copies ? (struct run)RUN(copying, 0, 0) : (struct run)RUN(clearing, LUMOS_ABSENT_INT, 0),
                             RUN(forward, 0, 0),
                             RUN(halves, 0, 0),
                             RUN(forward, 1, 10),
                             RUN(forward, 2, 20),
                             RUN(halves, 1, 10),
                             RUN(halves, 2, 20),
                             RUN(adam, LUMOS_ABSENT_INT, 0)};
  struct lumos_job *job = job_of_runs(runs + !copies, 9 - !copies, true);
  job->tasks.items[0].phase = LUMOS_OTHER_PHASE;
  return job;
}

/* So parameters have four bytes, and so have the optimizer's two numbers of each; the copy is there when two other
 * micro-batches are in flight, too. */
static void copies_of_weights_stay_to_the_last_pass(void **state) {
  (void)state;
  struct lumos_job *job = job_of_halves(true);
  struct lumos_footprint footprint = footprint_of(job);
  assert_int_equal(footprint.state, LUMOS_MEMORY_KNOWN);
  assert_int_equal(footprint.parts[LUMOS_MEMORY_PARAMETERS], PARAMETERS + WEIGHT / 2);
  assert_int_equal(footprint.parts[LUMOS_MEMORY_GRADIENTS], PARAMETERS);
  assert_int_equal(footprint.parts[LUMOS_MEMORY_OPTIMIZER], STATE);
  assert_int_equal(job->tasks.items[footprint.at].micro_batch, 2);
  lumos_job_free(job);
}

/* Without copies parameters have two bytes, as their gradients, and the optimizer has them once more in four: of all, or
 * where sums are scattered over four replicas, and half as many bytes gathered, of a quarter. */
static void the_optimizer_keeps_parameters_of_two_bytes_in_four(void **state) {
  (void)state;
  for (int scattered = 0; scattered < 2; scattered++) {
    struct lumos_job *job = job_of_halves(false);
    add_replicas(job);
    static const char *const ops[] = {"reduce_scatter", "all_gather"};
    uint32_t last = job->ranks.items[0].task_first + job->ranks.items[0].task_count - 1;
    for (uint32_t t = last; scattered && t > last - 2; t--) {
      detail(job, t)->comm.op = word(job, ops[last - t]);
      detail(job, t)->comm.group = word(job, "7");
      detail(job, t)->comm.bytes = t == last ? PARAMETERS : PARAMETERS / 2;
      job->tasks.items[t].kind = LUMOS_COLLECTIVE;
      job->tasks.items[t].phase = LUMOS_OPTIMIZER_PHASE;
    }
    struct lumos_footprint footprint = footprint_of(job);
    assert_int_equal(footprint.state, LUMOS_MEMORY_KNOWN);
    assert_int_equal(footprint.parts[LUMOS_MEMORY_PARAMETERS], PARAMETERS / 2);
    assert_int_equal(footprint.parts[LUMOS_MEMORY_OPTIMIZER], (STATE + PARAMETERS) / (scattered ? 4 : 1));
    lumos_job_free(job);
  }
}

/* Replicas that gather parameters for passes forward and back have but shares of them. Those that gather forward alone
 * gather what was updated. */
static void what_fully_sharded_replicas_keep_is_not_known(void **state) {
  (void)state;
  for (int sharded = 0; sharded < 2; sharded++) {
    const struct run runs[] = {RUN(forward, 0, 0), RUN(backward, 0, 0), RUN(adam, LUMOS_ABSENT_INT, 0)};
    struct lumos_job *job = job_of_runs(runs, 3, true);
    add_replicas(job);
    for (uint32_t t = 0; t < 2; t++) {
      detail(job, t)->comm.op = word(job, "all_gather");
      detail(job, t)->comm.group = word(job, "7");
      job->tasks.items[t].kind = LUMOS_COLLECTIVE;
      job->tasks.items[t].phase = t == 1 && sharded ? LUMOS_BACKWARD : LUMOS_FORWARD;
    }
    assert_int_equal(footprint_of(job).state, sharded ? LUMOS_MEMORY_SHARDED : LUMOS_MEMORY_KNOWN);
    lumos_job_free(job);
  }
}

static void what_is_not_recorded_is_not_known(void **state) {
  (void)state;
  const struct run whole[] = {RUN(forward, 0, 0), RUN(backward, 0, 0), RUN(adam, LUMOS_ABSENT_INT, 0)};
  struct lumos_job *job = job_of_runs(whole, 3, false);
  assert_int_equal(footprint_of(job).state, LUMOS_MEMORY_NO_SHAPES);
  lumos_job_free(job);
  job = job_of_runs(whole, 2, true);
  assert_int_equal(footprint_of(job).state, LUMOS_MEMORY_NO_OPTIMIZER);
  lumos_job_free(job);
  job = job_of_runs(whole, 1, true);
  assert_int_equal(footprint_of(job).state, LUMOS_MEMORY_NO_SHAPES); /* no backward pass, so no step */
  lumos_job_free(job);
  job = job_of_runs(whole, 3, true);
  job->tasks.items[0].kind = LUMOS_LAUNCH;
  job->tasks.items[0].name = word(job, "cudaGraphLaunch");
  assert_int_equal(footprint_of(job).state, LUMOS_MEMORY_CAPTURED);
  assert_int_equal(footprint_of(job).peak, 0);
  lumos_job_free(job);
}

static void a_gpu_has_what_was_recorded_or_what_the_table_says(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, &error);
  struct lumos_job *job = new_job();
  (void)add_rank(job, 0);
  assert_int_equal(lumos_memory_capacity(job, 0, hardware), LUMOS_ABSENT);
  job->ranks.items[0].device_name = word(job, "NVIDIA H200");
  assert_int_equal(lumos_memory_capacity(job, 0, hardware), INT64_C(141) << 30);
  job->ranks.items[0].device_memory = 7;
  assert_int_equal(lumos_memory_capacity(job, 0, hardware), 7);
  lumos_job_free(job);
  lumos_hardware_free(hardware);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_is_counted_byte_by_byte),
      cmocka_unit_test(micro_batches_in_flight_add_up),
      cmocka_unit_test(micro_batches_in_turn_share_gradients),
      cmocka_unit_test(replicas_share_the_optimizer),
      cmocka_unit_test(a_buffer_of_gradients_stays),
      cmocka_unit_test(what_else_is_cleared_is_no_buffer),
      cmocka_unit_test(copies_of_weights_stay_to_the_last_pass),
      cmocka_unit_test(the_optimizer_keeps_parameters_of_two_bytes_in_four),
      cmocka_unit_test(what_fully_sharded_replicas_keep_is_not_known),
      cmocka_unit_test(what_is_not_recorded_is_not_known),
      cmocka_unit_test(a_gpu_has_what_was_recorded_or_what_the_table_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
