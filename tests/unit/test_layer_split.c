/* Whole layers handed out anew over two stages; figures are worked out beside each case. */
#include "unit/report_job.h"

#include "sim/layer_split.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MS(value) ((int64_t)(value)*1000000)

/* Adds layers from..to - 1, and a head where `head` is not 0: a task each of so long. */
static void add_work(struct lumos_job *job, uint32_t lane, enum lumos_task_kind kind, int32_t from, int32_t to,
                     int64_t time, int64_t head) {
  for (int32_t layer = from; layer < to; layer++) {
    uint32_t task = add_task(job, lane, kind, "work", 0, time);
    job->tasks.items[task].part = LUMOS_PART_LAYER;
    job->tasks.items[task].layer = layer;
  }
  if (head > 0) {
    uint32_t task = add_task(job, lane, kind, "head", 0, head);
    job->tasks.items[task].part = LUMOS_PART_HEAD;
  }
}

/* Stage 0 has layers 0 to 5, stage 1 has 6 and 7 and the head. A layer takes a GPU 10 ms, and as everything its CPU 20
 * ms. */
static struct lumos_layer_split split_with(int64_t head) {
  struct lumos_job *job = lumos_job_new();
  struct lumos_model_description model = lumos_model_description_empty;
  struct lumos_layer_split split;
  model.layers = 8;
  lumos_vector_push(&job->models, model);
  for (int32_t stage = 0; stage < 2; stage++) {
    uint32_t r = add_rank(job, stage);
    int32_t from = stage == 0 ? 0 : 6, to = stage == 0 ? 6 : 8;
    job->ranks.items[r].has_parallel = true;
    job->ranks.items[r].parallel = (struct lumos_parallel){0, stage, 0, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
    add_work(job, add_lane(job, r, "t1", LUMOS_THREAD), LUMOS_LAUNCH, from, to, MS(20), stage * MS(20));
    add_work(job, add_lane(job, r, "s7", LUMOS_STREAM), LUMOS_GEMM, from, to, MS(10), stage * head);
  }
  finish_job(job);
  assert_true(lumos_split_layers(job, &split));
  lumos_job_free(job);
  return split;
}

/* CPUs take 120 and 60 ms, GPUs 60 and 20 and the head. With layers as 5 and 3 CPUs take 100 and 80. */
static void layers_move_to_even_what_cpus_do(void **state) {
  (void)state;
  struct lumos_layer_split split = split_with(MS(85)); /* the GPU of stage 1: 105, then 115 ms */
  assert_int_equal(split.heavy, 0);
  assert_int_equal(split.held[0], 6);
  assert_int_equal(split.given[0], 5);
  assert_int_equal(split.given[1], 3);
  assert_true(lumos_split_moves(&split));
}

static void layers_stay_where_gpus_would_become_the_limit(void **state) {
  (void)state;
  struct lumos_layer_split split =
      split_with(MS(95)); /* the GPU of stage 1: 115, then 125 ms, more than the CPU's 120 */
  assert_int_equal(split.heavy, 0);
  assert_int_equal(split.given[0], 6);
  assert_int_equal(split.given[1], 2);
  assert_false(lumos_split_moves(&split));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(layers_move_to_even_what_cpus_do),
                                     cmocka_unit_test(layers_stay_where_gpus_would_become_the_limit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
