/* How many parameters a model has, and whether its head has weights of its own, by hand: 2 layers, hidden 8, 2 heads of
 * 4, ffn 32, vocabulary 100. A layer has 4 x 8 x 8 + 2 x 8 x 32 = 768 parameters, the words 800: 2336 in all, or
 * 3136. */
#include "program/parameters.h"
#include "unit/graph_job.h"

static struct lumos_model_description small(void) {
  struct lumos_model_description model = lumos_model_description_empty;
  model.layers = 2;
  model.hidden = 8;
  model.heads = model.kv_heads = 2;
  model.head_dim = 4;
  model.ffn = 32;
  model.ffn_matrices = 2;
  model.vocabulary = 100;
  model.sequence = 16;
  return model;
}

static void add_shaped(struct lumos_job *job, const char *op, const char *shapes) {
  struct lumos_span span = lumos_span_empty;
  span.id = (uint32_t)job->spans.count;
  span.rank = 0;
  span.lane = 0;
  span.kind = LUMOS_SPAN_OP;
  span.name = word(job, op);
  span.shapes = word(job, shapes);
  lumos_vector_push(&job->spans, span);
}

/* One rank with embedding and head, and so many micro-batches. */
static struct lumos_job *job_of(int micro_batches) {
  struct lumos_job *job = new_job();
  uint32_t thread = add_thread(job, add_rank(job, 0), "1");
  lumos_vector_push(&job->models, small());
  for (int m = 0; m < micro_batches; m++) {
    for (int part = LUMOS_PART_EMBEDDING; part <= LUMOS_PART_HEAD; part++) {
      uint32_t number = add_task(job, thread, LUMOS_OP, "op", 10 * m + part, 1);
      struct lumos_task *task = &job->tasks.items[number];
      task->part = (uint8_t)part;
      task->phase = LUMOS_BACKWARD;
      task->micro_batch = m;
    }
  }
  job->ranks.items[0].task_count = (uint32_t)job->tasks.count;
  return job;
}

static void parameters_are_products_of_sizes(void **state) {
  (void)state;
  struct lumos_model_description model = small();
  assert_int_equal((int64_t)program_parameters(&model, 1, 0, false), 768);
  assert_int_equal((int64_t)program_parameters(&model, 2, 1, false), 2336);
  assert_int_equal((int64_t)program_parameters(&model, 2, 2, true), 3136 + 128);
  model.ffn_matrices = 3;
  assert_int_equal((int64_t)program_parameters(&model, 1, 0, false), 1024);
  model.vocabulary = LUMOS_ABSENT_INT; /* counts as none */
  assert_int_equal((int64_t)program_parameters(&model, 1, 1, false), 1024);
  assert_false(program_parameters_known(&model));
}

static void shared_weights_get_one_gradient_a_pass(void **state) {
  (void)state;
  for (int gradients = 1; gradients <= 4; gradients++) {
    struct lumos_job *job = job_of(2);
    for (int i = 0; i < gradients; i++) {
      add_shaped(job, "torch::autograd::AccumulateGrad", "[[100, 8]]");
      add_shaped(job, "torch::autograd::AccumulateGrad", "[[8, 8]]");
    }
    assert_int_equal(program_is_untied(job), gradients == 4); /* two in each of two passes */
    lumos_job_free(job);
  }
}

/* A stretch of all parameters says more than gradients, of which a framework may add up two for weights that are
 * shared. */
static void a_stretch_of_parameters_says_more(void **state) {
  (void)state;
  static const struct {
    const char *shapes;
    bool untied;
  } stretches[] = {{"[[2340]]", false}, {"[[3140]]", true}, {"[[2700]]", true /* neither: by gradients */}};
  for (size_t i = 0; i < sizeof stretches / sizeof *stretches; i++) {
    struct lumos_job *job = job_of(1);
    add_shaped(job, "torch::autograd::AccumulateGrad", "[[100, 8]]");
    add_shaped(job, "torch::autograd::AccumulateGrad", "[[100, 8]]");
    add_shaped(job, "aten::zero_", stretches[i].shapes);
    assert_int_equal(program_is_untied(job), stretches[i].untied);
    lumos_job_free(job);
  }
}

/* Where experts take the feed-forward block's place the model does not say how many there are. A pass has gradients of
 * 8,000, two times the words among them, and in rows as many are cleared, or 800 less. */
static void rows_of_gradients_are_counted_against_them(void **state) {
  (void)state;
  for (int untied = 0; untied < 2; untied++) {
    struct lumos_job *job = job_of(2);
    job->models.items[0].ffn = job->models.items[0].ffn_matrices = LUMOS_ABSENT_INT;
    for (int pass = 0; pass < 2; pass++) {
      add_shaped(job, "torch::autograd::AccumulateGrad", "[[100, 8]]");
      add_shaped(job, "torch::autograd::AccumulateGrad", "[[100, 8]]");
      add_shaped(job, "torch::autograd::AccumulateGrad", "[[8, 8, 100]]");
    }
    for (uint32_t t = 0; t < job->tasks.count; t++) {
      job->tasks.items[t].step = 3;
    }
    add_shaped(job, "aten::zero_", untied ? "[[3000]]" : "[[2200]]");
    add_shaped(job, "aten::zero_", "[[5000]]");
    assert_int_equal(program_is_untied(job), untied);
    lumos_job_free(job);
  }
}

/* A pass has one gradient of the words, so these are shared, whatever is cleared. */
static void one_gradient_of_the_words_says_that_they_are_shared(void **state) {
  (void)state;
  struct lumos_job *job = job_of(1);
  job->models.items[0].ffn = job->models.items[0].ffn_matrices = LUMOS_ABSENT_INT;
  job->tasks.items[0].step = 3;
  add_shaped(job, "torch::autograd::AccumulateGrad", "[[100, 8]]");
  add_shaped(job, "torch::autograd::AccumulateGrad", "[[8, 8, 100]]");
  add_shaped(job, "aten::zero_", "[[2200]]");
  add_shaped(job, "aten::zero_", "[[5000]]");
  assert_false(program_is_untied(job));
  lumos_job_free(job);
}

/* Sizes that no model has, as a hostile stream may. */
static void sizes_beyond_any_model_do_no_harm(void **state) {
  (void)state;
  struct lumos_job *job = job_of(1);
  struct lumos_model_description *model = &job->models.items[0];
  model->layers = model->hidden = model->heads = model->kv_heads = model->head_dim = model->ffn = INT32_MAX;
  model->ffn_matrices = model->vocabulary = model->sequence = model->sizes.tp = INT32_MAX;
  add_shaped(job, "aten::zero_", "[[9223372036854775807]]");
  assert_false(program_is_untied(job));
  assert_true(program_parameters(model, INT32_MAX, 2, true) > 0);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_are_products_of_sizes),
      cmocka_unit_test(shared_weights_get_one_gradient_a_pass),
      cmocka_unit_test(a_stretch_of_parameters_says_more),
      cmocka_unit_test(rows_of_gradients_are_counted_against_them),
      cmocka_unit_test(one_gradient_of_the_words_says_that_they_are_shared),
      cmocka_unit_test(sizes_beyond_any_model_do_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
