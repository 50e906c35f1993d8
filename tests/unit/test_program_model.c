/* What is trained: shapes as text, and models of which only shapes are known. */
#include "program/shapes.h"
#include "unit/graph_job.h"

#include <lumos/program.h>
#include <lumos/stream.h>
#include <unistd.h>

static void expect_dimensions(const struct program_dimensions *input, int count, int64_t first, int64_t last) {
  assert_int_equal(input->count, count);
  if (count > 0) {
    assert_int_equal(input->of[0], first);
    assert_int_equal(input->of[count - 1], last);
  }
}

static void shapes_are_read_as_they_are_recorded(void **state) {
  (void)state;
  struct program_dimensions inputs[SHAPE_INPUTS];
  program_shape_read("[[8, 16], [], [16, 4, 2]]", inputs);
  expect_dimensions(&inputs[0], 2, 8, 16);
  expect_dimensions(&inputs[1], 0, 0, 0);
  expect_dimensions(&inputs[2], 3, 16, 2);
  expect_dimensions(&inputs[3], 0, 0, 0);
  program_shape_read("[\n  [\n    7,\n    9\n  ],\n  []\n]", inputs);
  expect_dimensions(&inputs[0], 2, 7, 9);
  /* A list of tensors is none, nor is what has too many dimensions. */
  program_shape_read("[[[8, 16], [4]], [1, 2, 3, 4, 5, 6], [3]]", inputs);
  expect_dimensions(&inputs[0], 0, 0, 0);
  expect_dimensions(&inputs[1], 0, 0, 0);
  expect_dimensions(&inputs[2], 1, 3, 3);
  program_shape_read("[[1, [2], 3]]", inputs);
  expect_dimensions(&inputs[0], 0, 0, 0);
  static const char *const odd[] = {"",    "[",      "]]]",     "[[-1]]", "[[99999999999999999999999]]", "[[1,[2],3]]",
                                    "[x]", "[[\"]]", "[[1e9]]", "[[[[["};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    program_shape_read(odd[i], inputs);
  }
  program_shape_read("[[1],[2],[3],[4],[5],[6],[7],[8],[9],[10],[11],[12],[13],[14]]", inputs);
  expect_dimensions(&inputs[SHAPE_INPUTS - 1], 1, 12, 12);
}

/* --- Models of one rank: every op of `counts` layers --- */

struct op {
  const char *name, *shapes;
  int count;
};

static void add_ops(struct lumos_job *job, const struct op *ops, size_t count, uint32_t parent) {
  for (size_t i = 0; i < count; i++) {
    for (int n = 0; n < ops[i].count; n++) {
      struct lumos_span span = lumos_span_empty;
      span.rank = 0;
      span.lane = 0;
      span.kind = LUMOS_SPAN_OP;
      span.id = (uint32_t)job->spans.count;
      span.name = word(job, ops[i].name);
      span.shapes = ops[i].shapes == NULL ? LUMOS_NO_STRING : word(job, ops[i].shapes);
      span.parent = parent;
      span.dur = 1;
      lumos_vector_push(&job->spans, span);
    }
  }
}

static struct lumos_job *job_of(const struct op *ops, size_t count) {
  struct lumos_job *job = new_job();
  (void)add_rank(job, 0);
  (void)add_thread(job, 0, "1");
  add_ops(job, ops, count, LUMOS_NONE);
  return job;
}
#define JOB(...) job_of((const struct op[]){__VA_ARGS__}, sizeof((const struct op[]){__VA_ARGS__}) / sizeof(struct op))

static const struct lumos_model_description *described(struct lumos_job *job) {
  struct lumos_error error = {0};
  build(job);
  if (!lumos_job_check(job, &error)) {
    fail_msg("%s", error.text);
  }
  return job->models.count == 0 ? &lumos_model_description_empty : &job->models.items[0];
}

static void expect_model(const struct lumos_model_description *model, const int32_t expected[8]) {
  const int32_t found[8] = {model->hidden, model->heads,    model->kv_heads,   model->head_dim,
                            model->ffn,    model->sequence, model->vocabulary, model->micro_batch};
  for (size_t i = 0; i < 8; i++) {
    int32_t wanted = expected[i] == 0 ? LUMOS_ABSENT_INT : expected[i];
    if (found[i] != wanted) {
      fail_msg("number %zu is %d, not %d", i, (int)found[i], (int)wanted);
    }
  }
}
/* hidden heads kv_heads head_dim ffn sequence vocabulary micro_batch; 0: absent */
#define EXPECT(model, ...) expect_model(model, (const int32_t[8]){__VA_ARGS__})

/* Grouped keys and values, which SDPA is given repeated; a gate; heads together wider than hidden. */
static void projections_say_what_attention_does_not(void **state) {
  (void)state;
  struct lumos_job *job =
      JOB({"aten::embedding", "[[32000, 512], [2, 64], [], [], []]", 1},
          {"aten::scaled_dot_product_attention", "[[2, 16, 64, 64], [2, 16, 64, 64], [2, 16, 64, 64]]", 3},
          {"aten::_flash_attention_forward", "[[2, 64, 16, 64], [2, 64, 16, 64], [2, 64, 16, 64]]", 3},
          {"aten::mm", "[[128, 512], [512, 1024]]", 3}, {"aten::mm", "[[128, 512], [512, 256]]", 6},
          {"aten::mm", "[[128, 1024], [1024, 512]]", 3}, {"aten::mm", "[[128, 512], [512, 1376]]", 6},
          {"aten::mm", "[[128, 1376], [1376, 512]]", 3}, {"aten::mm", "[[128, 512], [512, 32000]]", 1});
  const struct lumos_model_description *model = described(job);
  EXPECT(model, 512, 16, 4, 64, 1376, 64, 32000, 2);
  assert_string_equal(lumos_string(job->strings, model->evidence.ffn), "shapes: aten::mm [128, 1376] [1376, 512]");
  assert_string_equal(lumos_string(job->strings, model->evidence.heads),
                      "shapes: aten::scaled_dot_product_attention [2, 16, 64, 64] [2, 16, 64, 64]");
  assert_int_equal(model->evidence.layers, LUMOS_NO_STRING);
  lumos_job_free(job);
}

static void a_fused_gate_is_twice_as_wide(void **state) {
  (void)state;
  struct lumos_job *job = JOB({"aten::rms_norm", "[[64, 2, 512], [], [512], []]", 7},
                              {"aten::rms_norm", "[[64, 2, 8, 64], [], [64], []]", 12}, /* of queries and keys */
                              {"FlashAttnFunc", "[[2, 64, 8, 64], [2, 64, 2, 64], [2, 64, 2, 64]]", 3},
                              {"aten::addmm", "[[768], [128, 512], [512, 768], [], []]", 3},
                              {"aten::addmm", "[[512], [128, 512], [512, 512], [], []]", 3},
                              {"aten::addmm", "[[2048], [128, 512], [512, 2048], [], []]", 3},
                              {"aten::addmm", "[[512], [128, 1024], [1024, 512], [], []]", 3});
  EXPECT(described(job), 512, 8, 2, 64, 1024, 64, 0, 2);
  lumos_job_free(job);
}

static void backward_passes_are_left_out(void **state) {
  (void)state;
  struct lumos_job *job = JOB({"FlashAttnFunc", "[[1, 64, 4, 32], [1, 64, 4, 32], [1, 64, 4, 32]]", 2},
                              {"aten::mm", "[[64, 128], [128, 384]]", 2}, {"aten::mm", "[[64, 128], [128, 128]]", 2},
                              {"autograd::engine::evaluate_function: X", NULL, 1});
  static const struct op again[] = {{"FlashAttnFunc", "[[1, 64, 8, 32], [1, 64, 8, 32], [1, 64, 8, 32]]", 9},
                                    {"aten::mm", "[[64, 512], [512, 128]]", 9},
                                    {"aten::mm", "[[64, 128], [128, 512]]", 9}};
  add_ops(job, again, 3, (uint32_t)job->spans.count - 1);
  EXPECT(described(job), 128, 4, 4, 32, 0, 64, 0, 1);
  lumos_job_free(job);
}

/* Autocast calls an op again, within itself; it counts once. A projection each of queries, keys, values and the
 * output. */
static void what_calls_itself_counts_once(void **state) {
  (void)state;
  static const struct op again[] = {
      {"aten::scaled_dot_product_attention", "[[2, 8, 64, 64], [2, 8, 64, 64], [2, 8, 64, 64]]", 1}};
  struct lumos_job *job =
      JOB({"aten::embedding", "[[32000, 512], [2, 64], [], [], []]", 1}, {"aten::mm", "[[128, 512], [512, 512]]", 8},
          {"aten::mm", "[[128, 512], [512, 1376]]", 4}, {"aten::mm", "[[128, 1376], [1376, 512]]", 2});
  for (int layer = 0; layer < 2; layer++) {
    add_ops(job, again, 1, LUMOS_NONE);
    add_ops(job, again, 1, (uint32_t)job->spans.count - 1);
  }
  EXPECT(described(job), 512, 8, 8, 64, 1376, 64, 32000, 2);
  lumos_job_free(job);
}

static void what_differs_is_not_said(void **state) {
  (void)state;
  /* Two sorts of layers. */
  struct lumos_job *job =
      JOB({"FlashAttnFunc", "[[1, 64, 4, 32], [1, 64, 4, 32]]", 3},
          {"FlashAttnFunc", "[[1, 64, 8, 32], [1, 64, 8, 32]]", 2}, {"aten::embedding", "[[1000, 128], [1, 64]]", 1});
  EXPECT(described(job), 0, 0, 0, 0, 0, 0, 0, 0);
  assert_int_equal(job->models.count, 0);
  lumos_job_free(job);
  /* Batches of many lengths. */
  job = JOB({"FlashAttnFunc", "[[1, 64, 4, 32], [1, 64, 4, 32]]", 3},
            {"FlashAttnFunc", "[[1, 96, 4, 32], [1, 96, 4, 32]]", 2}, {"aten::embedding", "[[1000, 128], [1, 64]]", 1});
  EXPECT(described(job), 128, 4, 0, 32, 0, 0, 1000, 0);
  lumos_job_free(job);
}

/* Numbers that no model has cost no more than others, and are nothing that is multiplied. */
static void absurd_shapes_are_passed_over(void **state) {
  (void)state;
  struct lumos_job *job = JOB({"FlashAttnFunc", "[[1, 1, 2147483647, 64], [1, 1, 2147483647, 64]]", 3},
                              {"aten::embedding", "[[9223372036854775807, 9], [1, 1]]", 1});
  EXPECT(described(job), 0, 0, 0, 0, 0, 0, 0, 0);
  lumos_job_free(job);
  job = JOB({"FlashAttnFunc", "[[9223372036854775807, 2, 4, 64], [1, 1, 4, 64]]", 3});
  EXPECT(described(job), 0, 0, 0, 0, 0, 0, 0, 0);
  lumos_job_free(job);
  job = JOB({"FlashAttnFunc", "[[1, 64, 4, 32], [1, 64, 4, 32]]", 3},
            {"aten::embedding", "[[9223372036854775807, 128], [1, 64]]", 1},
            {"aten::mm", "[[64, 9223372036854775807], [9223372036854775807, 128]]", 3},
            {"aten::mm", "[[64, 128], [128, 9223372036854775807]]", 3});
  EXPECT(described(job), 128, 4, 0, 32, 0, 64, 0, 1);
  lumos_job_free(job);
}

/* Every batch another, more of them than are kept. */
static void many_shapes_are_no_burden(void **state) {
  (void)state;
  struct lumos_job *job = JOB({"aten::layer_norm", "[[1, 64, 128], [], [128]]", 4});
  for (int i = 1; i < 6000; i++) {
    char shapes[64];
    (void)snprintf(shapes, sizeof shapes, "[[1, %d, 4, 32], [1, %d, 4, 32]]", i, i);
    const struct op op = {"FlashAttnFunc", shapes, 1};
    add_ops(job, &op, 1, LUMOS_NONE);
  }
  EXPECT(described(job), 128, 4, 0, 32, 0, 0, 0, 0);
  lumos_job_free(job);
}

static void what_is_no_transformer_is_not_described(void **state) {
  (void)state;
  struct lumos_job *job =
      JOB({"aten::conv2d", "[[10, 64, 56, 56], [64, 64, 3, 3]]", 9}, {"aten::embedding", "[[1000, 128], [1, 64]]", 1},
          {"aten::mm", "[[64, 128], [128, 10]]", 1}, {"aten::_softmax", "[[64, 10], [], []]", 1},
          {"aten::_softmax", "[[4, 3, 8, 9], [], []]", 1});
  EXPECT(described(job), 0, 0, 0, 0, 0, 0, 0, 0);
  assert_int_equal(job->models.count, 0);
  lumos_job_free(job);
  /* Attention that is not fused shows as the softmax of its scores. */
  job = JOB({"aten::_softmax", "[[2, 12, 64, 64], [], []]", 2}, {"aten::layer_norm", "[[2, 64, 768], [], [768]]", 4});
  EXPECT(described(job), 768, 12, 0, 0, 0, 64, 0, 2);
  lumos_job_free(job);
}

/* Some attention takes the sequence first, which indices of tokens show; packed sequences have no batch. */
static void batches_are_what_indices_say(void **state) {
  (void)state;
  struct lumos_job *job =
      JOB({"FlashAttnFunc", "[[64, 2, 4, 32], [64, 2, 4, 32]]", 3}, {"aten::embedding", "[[1000, 128], [2, 64]]", 1});
  EXPECT(described(job), 128, 4, 0, 32, 0, 64, 1000, 2);
  lumos_job_free(job);
  job = JOB({"flash_attn::_flash_attn_varlen_forward", "[[128, 4, 32], [128, 4, 32], [128, 4, 32]]", 3},
            {"aten::embedding", "[[1000, 128], [2, 64]]", 1});
  EXPECT(described(job), 128, 4, 0, 32, 0, 64, 1000, 2);
  lumos_job_free(job);
  job = JOB({"flash_attn::_flash_attn_varlen_forward", "[[128, 4, 32], [128, 4, 32], [128, 4, 32]]", 3});
  EXPECT(described(job), 0, 4, 0, 32, 0, 0, 0, 0);
  lumos_job_free(job);
}

/* Rank 0 of two that are tensor-parallel, as `name` says; NULL: nothing does, but they communicate. */
static struct lumos_job *sharded(const char *name) {
  struct lumos_job *job =
      JOB({"FlashAttnFunc", "[[2, 64, 4, 32], [2, 64, 4, 32]]", 3}, {"aten::embedding", "[[1000, 256], [2, 64]]", 1},
          {"aten::mm", "[[128, 256], [256, 384]]", 3}, {"aten::mm", "[[128, 128], [128, 256]]", 3},
          {"aten::mm", "[[128, 256], [256, 512]]", 3}, {"aten::mm", "[[128, 512], [512, 256]]", 3});
  struct lumos_group group = lumos_group_empty;
  group.rank = 0;
  group.id = word(job, "t");
  group.name = name == NULL ? LUMOS_NO_STRING : word(job, name);
  group.size = 2;
  group.member_count = 2;
  lumos_vector_push(&job->group_ranks, 0);
  lumos_vector_push(&job->group_ranks, 1);
  lumos_vector_push(&job->groups, group);
  job->ranks.items[0].world = 2;
  uint32_t stream = add_stream(job, 0, "7");
  uint32_t call = add_launch(job, 0, 10, 1);
  uint32_t kernel = add_task(job, stream, LUMOS_COLLECTIVE, "ncclDevKernel_AllGather", 20, 5);
  job->tasks.items[kernel].call = call;
  detail(job, kernel)->comm.op = word(job, "all_gather");
  detail(job, kernel)->comm.group = word(job, "t");
  return job;
}

static void shards_are_multiplied_back(void **state) {
  (void)state;
  struct lumos_job *job = sharded("TENSOR_MODEL_PARALLEL_GROUP");
  const struct lumos_model_description *model = described(job);
  EXPECT(model, 256, 8, 8, 32, 1024, 64, 2000, 2);
  assert_string_equal(lumos_string(job->strings, model->evidence.ffn), "shapes: aten::mm [128, 512] [512, 256] x tp 2");
  lumos_job_free(job);
  job = sharded(NULL); /* how many shards there are is not known */
  EXPECT(described(job), 256, 0, 0, 32, 0, 64, 0, 2);
  lumos_job_free(job);
}

/* --- From a file --- */

static char path[] = "/tmp/lumos-model-XXXXXX";

static bool read_text(const char *text, struct lumos_model_description *model, struct lumos_error *error) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
  return lumos_program_model_read(path, model, error);
}

static void a_file_overrides_shapes(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_model_description given;
  assert_true(read_text("{\"type\":\"model\",\"layers\":24,\"heads\":99,\"evidence\":{},\"parallel\":{\"tp\":7}}",
                        &given, &error));
  struct lumos_job *job = sharded("TENSOR_MODEL_PARALLEL_GROUP");
  build(job);
  lumos_program_model_give(job, &given, "gpt.json");
  const struct lumos_model_description *model = &job->models.items[0];
  EXPECT(model, 256, 99, 8, 32, 1024, 64, 2000, 2);
  assert_int_equal(model->layers, 24);
  assert_int_equal(model->sizes.tp, 2);
  assert_string_equal(lumos_string(job->strings, model->evidence.heads), "file: gpt.json");
  assert_string_equal(lumos_string(job->strings, job->history.items[job->history.count - 1].args),
                      "--model-file gpt.json");
  lumos_job_free(job);

  job = JOB({"aten::mm", "[[1, 2], [2, 3]]", 1}); /* nothing was known */
  build(job);
  lumos_program_model_give(job, &given, "gpt.json");
  assert_int_equal(job->models.count, 1);
  EXPECT(&job->models.items[0], 0, 99, 0, 0, 0, 0, 0, 0);
  lumos_job_free(job);
}

static void a_bad_file_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {
      {"", "is not a JSON object"},
      {"[4]", "is not a JSON object"},
      {"{\"heads\":4} 5", "is not a JSON object"},
      {"{\"head\":4}", "a model has no head; give layers"},
      {"{\"heads\":0}", "heads is not a whole number"},
      {"{\"heads\":1.5}", "heads is not a whole number"},
      {"{\"heads\":\"4\"}", "heads is not a whole number"},
      {"{\"heads\":2147483648}", "heads is not a whole number"},
      {"{\"heads\":1e999}", "heads is not a whole number"},
      {"{\"heads\":4,\"heads\":4}", "heads is given twice"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct lumos_error error = {0};
    struct lumos_model_description model;
    assert_false(read_text(bad[i].text, &model, &error));
    assert_int_equal(error.status, LUMOS_UNUSABLE);
    if (strstr(error.text, bad[i].message) == NULL || strncmp(error.text, path, strlen(path)) != 0) {
      fail_msg("%s: %s", bad[i].text, error.text);
    }
  }
}

static int make_file(void **state) {
  (void)state;
  int descriptor = mkstemp(path);
  return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state) {
  (void)state;
  return unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_are_read_as_they_are_recorded),
      cmocka_unit_test(projections_say_what_attention_does_not),
      cmocka_unit_test(a_fused_gate_is_twice_as_wide),
      cmocka_unit_test(backward_passes_are_left_out),
      cmocka_unit_test(what_calls_itself_counts_once),
      cmocka_unit_test(what_differs_is_not_said),
      cmocka_unit_test(absurd_shapes_are_passed_over),
      cmocka_unit_test(many_shapes_are_no_burden),
      cmocka_unit_test(what_is_no_transformer_is_not_described),
      cmocka_unit_test(batches_are_what_indices_say),
      cmocka_unit_test(shards_are_multiplied_back),
      cmocka_unit_test(a_file_overrides_shapes),
      cmocka_unit_test(a_bad_file_is_refused),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
