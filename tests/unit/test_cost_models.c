/* Models of kernels against values worked out by hand, and what measured shapes say of others. */
#include "cost/calibration.h"
#include "cost/contention.h"
#include "cost/kernels.h"
#include "cost/moved.h"
#include "cost/network.h"
#include "cost/roofline.h"
#include "job_text.h"
#include "sim/beside.h"
#include "unit.h"

#include <lumos/job.h>
#include <math.h>

static void expect(double found, double wanted) {
  if (fabs(found - wanted) > 1e-6 * fabs(wanted)) {
    fail_msg("%g, not %g", found, wanted);
  }
}

static void names_tell_tiles(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int32_t rows, columns;
  } kernels[] = {{"nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT", 256, 128},
                 {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_cga", 128, 256},
                 {"Cijk_Alik_Bljk_B_BS_BH_MT128x224x64_MI16x16x1_SN", 128, 224},
                 {"ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8", 64, 64},
                 {"gemv2T_kernel_val<int, 4x4>", 0, 0}};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    struct lumos_tile tile = lumos_tile_of_kernel(kernels[i].name);
    assert_int_equal(tile.rows, kernels[i].rows);
    assert_int_equal(tile.columns, kernels[i].columns);
  }
}

static const struct lumos_device a100 = {.name = "A100",
                                         .bandwidth = 2039,
                                         .sms = 108,
                                         .best_product = 0.869,
                                         .peaks = {[LUMOS_BF16] = 312000, [LUMOS_FP32] = 19500}};

/* 1792 x 1792 are 7 x 14 tiles of 256 x 128, which 108 SMs do at once; one row and column more are 8 x 15. */
static void a_wave_more_takes_twice_as_long(void **state) {
  (void)state;
  struct lumos_product_shape shape = {.rows = 1792, .columns = 1792, .inner = 128, .batches = 1, .dtype = LUMOS_BF16};
  struct lumos_tile tile = {256, 128};
  double one = lumos_product_time(&a100, &shape, tile);
  /* All 108 SMs, 2 x 256 x 128 x 128 operations each, at 0.869 of 312 TFLOP/s; for as long again the pipeline fills. */
  double tiles = 108 * 2. * 256 * 128 * 128 / (0.869 * 312000);
  expect(one, 1800 + 2 * tiles);
  shape.inner = 1024; /* fills no longer */
  expect(lumos_product_time(&a100, &shape, tile), 1800 + (8 + 1) * tiles);
  shape.inner = 64; /* there is no more to fill it with */
  expect(lumos_product_time(&a100, &shape, tile), 1800 + tiles);
  shape.inner = 128;
  shape.rows = shape.columns = 1793;
  expect(lumos_product_time(&a100, &shape, tile), 1800 + 4 * tiles);
}

/* 4 groups of 512 x 1024 are 4 x 4 tiles of 128 x 256 each, 64 for 108 SMs: as long as twice as many rows would take two
 * waves. Groups of 128 rows have tiles of 64 x 128, of which 64 are a wave, too, and load more for what they do. */
static void groups_have_one_tile(void **state) {
  (void)state;
  struct lumos_product_shape shape = {.rows = 512, .columns = 1024, .inner = 4096, .batches = 4, .dtype = LUMOS_BF16};
  double wave = 108 * 2. * 128 * 256 * (4096 + 128) / (0.869 * 312000);
  expect(lumos_grouped_time(&a100, &shape), 1800 + wave);
  shape.rows = 1024;
  expect(lumos_grouped_time(&a100, &shape), 1800 + 2 * wave);
  shape.rows = 128;
  double share = 64 * 128 / (64 * 128 + 32 * (64 + 128) / 2.), best = 256 * 128 / (256 * 128 + 32 * (256 + 128) / 2.);
  expect(lumos_grouped_time(&a100, &shape), 1800 + wave / 4 * best / share);
  shape.bytes = 1e9;
  expect(lumos_grouped_time(&a100, &shape), 1800 + lumos_moving_time(&a100, 1e9));
}

static void what_is_long_and_narrow_is_bound_by_memory(void **state) {
  (void)state;
  struct lumos_product_shape shape = {
      .rows = 1, .columns = 64, .inner = 64, .batches = 1, .bytes = 1e9, .dtype = LUMOS_BF16};
  expect(lumos_product_time(&a100, &shape, (struct lumos_tile){0, 0}), 1800 + lumos_moving_time(&a100, 1e9));
  /* A format that the GPU lacks is multiplied in the next wider one. */
  expect(lumos_reached_peak(&a100, LUMOS_FP16), 0.869 * 19500);
}

/* Half the head's dimension and twice the heads: as many operations, and twice as many exponentials. Of a causal mask
 * of one block half is empty, of eight one in nine. */
static void attention_is_products_and_exponentials(void **state) {
  (void)state;
  struct lumos_product_shape shape = {
      .rows = 1024, .columns = 1024, .inner = 128, .batches = 1000, .flops = 1e12, .dtype = LUMOS_BF16};
  double one = lumos_attention_time(&a100, &shape);
  expect(one, 1.5 * 1.125 * 1e12 / (0.869 * 312000));
  shape.inner = 64;
  expect(lumos_attention_time(&a100, &shape), one * 2 / 1.5);
  shape.inner = 128;
  shape.rows = shape.columns = 128;
  expect(lumos_attention_time(&a100, &shape), one * 2 / 1.125);
}

static void ops_move_what_they_read_and_write(void **state) {
  (void)state;
  static const struct {
    enum lumos_task_kind kind;
    const char *op, *shapes, *dtypes;
    double bytes, written;
  } ops[] = {
      {LUMOS_ELEMENTWISE, "aten::add", "[[4, 8], [4, 8], []]", "[\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"]",
       192, 64},
      {LUMOS_ELEMENTWISE, "aten::add_", "[[4, 8], [8], []]", "[\"float\", \"float\", \"Scalar\"]", 128 + 32 + 128, 128},
      {LUMOS_ELEMENTWISE, "aten::copy_", "[[4, 8], [4, 8], []]", "[\"float\", \"c10::BFloat16\", \"Scalar\"]", 192,
       128},
      {LUMOS_ELEMENTWISE, "aten::fill_", "[[4, 8], []]", "[\"float\", \"Scalar\"]", 128, 128},
      {LUMOS_REDUCTION, "aten::sum", "[[4, 8], [], []]", "[\"float\", \"\", \"\"]", 128, 0},
      {LUMOS_EMBEDDING, "aten::embedding", "[[1000, 16], [2, 5], [], [], []]", "[\"c10::BFloat16\", \"long\", \"\"]",
       640, 320},
      {LUMOS_ELEMENTWISE, "aten::index_select", "[[4, 2, 1, 8, 5], [], [4]]", "[\"c10::BFloat16\", \"\", \"long\"]",
       1280, 640},
      {LUMOS_REDUCTION, "aten::_log_softmax", "[[4, 8], [], []]", "[\"float\", \"\", \"\"]", 256, 128},
      {LUMOS_REDUCTION, "aten::nll_loss_forward", "[[4, 8], [4], [], [], []]", "[\"float\", \"long int\", \"\"]", 32,
       16},
      {LUMOS_OPTIMIZER, "aten::_foreach_mul_", "[[[4], [2, 3]], []]", "[\"TensorList\", \"Scalar\"]", 80, 40},
      {LUMOS_ELEMENTWISE, "aten::add", "[[], []]", "[\"\", \"\"]", 0, 0},
  };
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    struct lumos_traffic moved = lumos_bytes_moved(ops[i].kind, ops[i].op, ops[i].shapes, ops[i].dtypes);
    if (moved.read != ops[i].bytes - ops[i].written || moved.written != ops[i].written) {
      fail_msg("%s %s: %g read and %g written, not %g in all and %g", ops[i].op, ops[i].shapes, moved.read,
               moved.written, ops[i].bytes, ops[i].written);
    }
  }
}

static void add_shape(struct lumos_calibration *calibration, uint64_t shape, uint64_t family, double model,
                      double measured) {
  lumos_vector_push(
      &calibration->shapes,
      ((struct lumos_measured_shape){
          .shape = shape, .family = family, .class = 1, .model = model, .measured = measured, .count = 1}));
}

/* Of family 1 everything takes twice what the model says, of family 2 three times. */
static void shapes_predict_each_other(void **state) {
  (void)state;
  static const struct lumos_duration assumed[LUMOS_DURATION_SOURCES] = {
      [LUMOS_OF_FAMILY] = {.common = 0.5}, [LUMOS_OF_MODEL] = {.common = 0.6}, [LUMOS_OF_CONSTANTS] = {.common = 0.7}};
  struct lumos_calibration calibration = {0};
  struct lumos_duration found =
      lumos_calibrated_duration(&calibration, (struct lumos_measured_shape){.shape = 9, .family = 9, .model = 50});
  assert_int_equal(found.source, LUMOS_OF_CONSTANTS);
  expect(found.ns, 50);
  for (uint64_t i = 0; i < 4; i++) {
    add_shape(&calibration, i, 1, 100 * (double)(i + 1), 200 * (double)(i + 1));
    add_shape(&calibration, 10 + i, 2, 100 * (double)(i + 1), 300 * (double)(i + 1));
  }
  lumos_calibration_judge(&calibration, assumed);
  found = lumos_calibrated_duration(&calibration,
                                    (struct lumos_measured_shape){.shape = 20, .family = 2, .class = 1, .model = 250});
  assert_int_equal(found.source, LUMOS_OF_FAMILY);
  expect(found.ns, 750);
  assert_true(found.common < 1e-6 && found.own < 1e-6); /* each was found without itself */
  found = lumos_calibrated_duration(&calibration,
                                    (struct lumos_measured_shape){.shape = 2, .family = 1, .class = 1, .model = 300});
  assert_int_equal(found.source, LUMOS_OF_SHAPE);
  expect(found.ns, 600);
  found = lumos_calibrated_duration(&calibration,
                                    (struct lumos_measured_shape){.shape = 20, .family = 3, .class = 1, .model = 100});
  assert_int_equal(found.source, LUMOS_OF_MODEL);
  assert_true(found.ns >= 200 && found.ns <= 300);
  /* Half of the families are half as far off again: 1.5 is what separates them. */
  assert_true(found.common > 0.05 && found.own > 0.2);
  lumos_calibration_free(&calibration);
}

static bool read_text(const char *text, struct lumos_network *network, struct lumos_error *error) {
  char path[] = "/tmp/lumos-network-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  assert_int_equal(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
  close(descriptor);
  bool good = lumos_network_read(path, network, error);
  unlink(path);
  return good;
}

static void networks_are_read(void **state) {
  (void)state;
  struct lumos_network network;
  struct lumos_error error = {0};
  assert_true(read_text("{\"node_size\": 4, \"intra\": {\"latency_us\": 0}, \"inter\": {\"bandwidth_gbps\": 25, "
                        "\"p2p_latency_us\": 30}}",
                        &network, &error));
  assert_int_equal(network.node_size, 4);
  assert_true(network.intra.latency == 0 && network.intra.bandwidth < 0);
  assert_true(network.inter.bandwidth == 25 && network.inter.p2p_latency == 30 && network.inter.latency < 0);
  static const char *const bad[] = {"[]",
                                    "{",
                                    "{\"nodes\": 4}",
                                    "{\"node_size\": 0}",
                                    "{\"node_size\": 2.5}",
                                    "{\"inter\": 5}",
                                    "{\"inter\": {\"bandwidth\": 5}}",
                                    "{\"inter\": {\"bandwidth_gbps\": 0}}",
                                    "{\"inter\": {\"bandwidth_gbps\": 1e300}}",
                                    "{\"inter\": {\"latency_us\": -1}}",
                                    "{\"inter\": {\"latency_us\": \"5\"}}"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (read_text(bad[i], &network, &error)) {
      fail_msg("%s is taken", bad[i]);
    }
  }
}

/* Three kernels of three names, of one op with shapes or without, run 100 alone, and four times beside communication
 * that ends with them, 150: a third of that time is lost, and a kernel takes half as much more. And three of another
 * kind; NULL: none. */
static struct lumos_job *contended_of(int names, const char *kind, const char *other, const char *shapes) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
                                        "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                                        "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                                        "{'type':'lane','rank':0,'lane':'s8','kind':'stream','native':'8'}\n");
  lumos_text_format(
      &text, "{'type':'span','id':'0:0','rank':0,'lane':'t1','kind':'op','name':'aten::mm','start':0,'dur':9000%s}\n",
      shapes);
  int at = 0, id = 0, beside[24], count = 0;
  for (int name = 0; name < (other == NULL ? 3 : 6); name++) {
    for (int i = 0; i < 7; i++, id++) {
      int dur = i < 3 ? 100 : 150;
      lumos_text_format(&text,
                        "{'type':'task','id':'0:%d','rank':0,'lane':'s7','seq':%d,'kind':'%s','name':'k%d','start':%d,"
                        "'dur':%d,'lag':0,'step':0,'span':'0:0'}\n",
                        id, id, name < 3 ? kind : other, name < 3 ? name % names : name, at, dur);
      beside[count] = at;
      count += i >= 3;
      at += 200;
    }
  }
  for (int i = 0; i < count; i++, id++) {
    lumos_text_format(
        &text,
        "{'type':'task','id':'0:%d','rank':0,'lane':'s8','seq':%d,'kind':'collective','name':'c','start':%d,"
        "'dur':150,'lag':0,'step':0}\n",
        id, i, beside[i]);
  }
  lumos_text_char(&text, '\0');
  struct lumos_job *job = job_from_text(text.bytes);
  lumos_text_free(&text);
  return job;
}

static struct lumos_job *contended(int names, const char *kind) {
  return contended_of(names, kind, NULL, ",'shapes':'[[8,8],[8,8]]'");
}

/* Products of so many sizes, four of each in a forward pass, 100 alone, and four with their sides in another order in
 * the backward pass, 150 beside communication that ends with them. */
static struct lumos_job *forward_alone(int sizes) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
                                        "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                                        "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                                        "{'type':'lane','rank':0,'lane':'s8','kind':'stream','native':'8'}\n");
  const int count = 8 * sizes;
  for (int i = 0; i < count; i++) {
    int inner = 16 << i % sizes;
    lumos_text_format(
        &text,
        "{'type':'span','id':'0:%d','rank':0,'lane':'t1','kind':'op','name':'aten::mm','start':%d,'dur':100,"
        "'shapes':'[[%d,%d],[%d,%d]]'}\n",
        i, i * 200, 8, i % 8 < 4 ? inner : 1024, i % 8 < 4 ? inner : 1024, i % 8 < 4 ? 1024 : inner);
  }
  for (int i = 0; i < count; i++) {
    lumos_text_format(&text,
                      "{'type':'task','id':'0:%d','rank':0,'lane':'s7','seq':%d,'kind':'gemm','name':'k','phase':'%s',"
                      "'start':%d,'dur':%d,'lag':0,'step':0,'span':'0:%d'}\n",
                      i, i, i % 8 < 4 ? "forward" : "backward", i * 200, i % 8 < 4 ? 100 : 150, i);
  }
  for (int i = 0, beside = 0; i < count; i++) {
    if (i % 8 >= 4) {
      lumos_text_format(
          &text,
          "{'type':'task','id':'0:%d','rank':0,'lane':'s8','seq':%d,'kind':'collective','name':'c','start':%d,"
          "'dur':150,'lag':0,'step':0}\n",
          count + beside, beside, i * 200);
      beside++;
    }
  }
  lumos_text_char(&text, '\0');
  struct lumos_job *job = job_from_text(text.bytes);
  lumos_text_free(&text);
  return job;
}

static struct lumos_contention fitted(struct lumos_job *job) {
  struct lumos_contention contention;
  uint8_t *communication = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    communication[t] = job->tasks.items[t].kind == LUMOS_COLLECTIVE;
  }
  const struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_placing placing = lumos_placing_of(job, &nodes);
  lumos_contention_fit(&contention, &placing, communication);
  lumos_placing_free(&placing);
  free(communication);
  lumos_job_free(job);
  return contention;
}

static void overlaps_show_what_communication_costs_kernels(void **state) {
  (void)state;
  struct lumos_contention contention = fitted(contended(3, "gemm"));
  expect(contention.losses[LUMOS_CONTENDED_PRODUCTS].share, 0.5);
  /* All lose a third of their time, and one more may lose as much more or less: a ninth is a fourth of time alone. */
  expect(contention.losses[LUMOS_CONTENDED_PRODUCTS].error, 0.25);
  assert_int_equal(contention.losses[LUMOS_CONTENDED_PRODUCTS].evidence, 12);
  assert_int_equal(contention.losses[LUMOS_CONTENDED_OTHERS].evidence, 0); /* of these nothing is known */
  expect(contention.losses[LUMOS_CONTENDED_OTHERS].share, 0.38);
  contention = fitted(contended_of(3, "gemm", NULL, "")); /* they may be of any size */
  assert_int_equal(contention.losses[LUMOS_CONTENDED_PRODUCTS].evidence, 0);
  contention = fitted(contended(3, "norm"));
  expect(contention.losses[LUMOS_CONTENDED_OTHERS].share, 0.5);
  contention = fitted(contended(2, "norm")); /* two kernels are chance */
  assert_int_equal(contention.losses[LUMOS_CONTENDED_OTHERS].evidence, 0);
}

/* One of the three takes 125 where the others take 150: 100, 200 and 200 are lost of 500, 600 and 600, 5/17 on average,
 * of which they are off by 800/17, 400/17 and 400/17; one more that is off by all that it loses, of squares as the
 * mean of theirs. */
static void kinds_of_kernels_that_differ_are_less_sure(void **state) {
  (void)state;
  struct lumos_job *job = contended(3, "gemm");
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    bool first = strcmp(lumos_string(job->strings, task->name), "k0") == 0;
    task->dur = first && task->dur == 150 ? 125 : task->dur;
  }
  struct lumos_contention contention = fitted(job);
  double squares = (800 * 800 + 2 * 400 * 400) / (17. * 17), usual = (2500 * 2500 + 2 * 3000. * 3000) / (17. * 17) / 3;
  expect(contention.losses[LUMOS_CONTENDED_PRODUCTS].share, 5. / 12);
  expect(contention.losses[LUMOS_CONTENDED_PRODUCTS].error, sqrt(squares + usual) / 1700 * (17. / 12) * (17. / 12));
}

/* What products lose says nothing of what others do: both are off by a fourth of their time, and together, of as much
 * time each, by that over the root of two. What was measured elsewhere may be off for both alike. */
static void kinds_of_work_are_off_by_themselves(void **state) {
  (void)state;
  struct lumos_job *job = contended_of(3, "gemm", "norm", ",'shapes':'[[8,8],[8,8]]'");
  struct lumos_beside beside = lumos_beside_of(job);
  expect(beside.lost, 0.5);
  expect(beside.error, 0.25 / sqrt(2));
  lumos_job_free(job);
  job = contended_of(3, "gemm", "norm", "");
  beside = lumos_beside_of(job);
  expect(beside.error, (0.2 + 0.38) / 2);
  lumos_job_free(job);
}

/* Alone those that took 150 would have taken the 100 that the others took, and that is what a model of their shapes is
 * held against. */
static void kernels_are_modelled_as_they_run_alone(void **state) {
  (void)state;
  struct lumos_job *job = forward_alone(3);
  job->ranks.items[0].device_name = lumos_intern_text(job->strings, "NVIDIA H100 80GB HBM3");
  double *speeds = lumos_measured_speeds(job);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    expect(speeds[t], task->kind == LUMOS_GEMM && task->dur == 150 ? 2. / 3 : 1);
  }
  free(speeds);
  struct lumos_error error;
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, &error);
  assert_non_null(hardware);
  struct lumos_kernels *kernels = lumos_kernels_fit(job, hardware);
  const struct lumos_calibration *calibration = lumos_kernels_calibration(kernels, LUMOS_GEMM);
  assert_int_equal(calibration->shapes.count, 6);
  for (size_t i = 0; i < calibration->shapes.count; i++) {
    expect(calibration->shapes.items[i].measured, 100);
  }
  lumos_kernels_free(kernels);
  lumos_hardware_free(hardware);
  lumos_job_free(job);
}

/* A product of as many numbers in the other pass is 6 % off, one standard deviation. */
static void products_of_the_other_pass_show_it_where_no_others_do(void **state) {
  (void)state;
  struct lumos_contention contention = fitted(forward_alone(3));
  expect(contention.losses[LUMOS_CONTENDED_PRODUCTS].share, 0.5);
  expect(contention.losses[LUMOS_CONTENDED_PRODUCTS].error, hypot(0.25, 0.06));
  assert_int_equal(contention.losses[LUMOS_CONTENDED_PRODUCTS].evidence, 12);
  expect(contention.losses[LUMOS_CONTENDED_OTHERS].share, 0.38);
  contention = fitted(forward_alone(2));
  assert_int_equal(contention.losses[LUMOS_CONTENDED_PRODUCTS].evidence, 0);
  expect(contention.losses[LUMOS_CONTENDED_PRODUCTS].error, 0.2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(overlaps_show_what_communication_costs_kernels),
      cmocka_unit_test(kinds_of_work_are_off_by_themselves),
      cmocka_unit_test(kernels_are_modelled_as_they_run_alone),
      cmocka_unit_test(kinds_of_kernels_that_differ_are_less_sure),
      cmocka_unit_test(products_of_the_other_pass_show_it_where_no_others_do),
      cmocka_unit_test(names_tell_tiles),
      cmocka_unit_test(a_wave_more_takes_twice_as_long),
      cmocka_unit_test(groups_have_one_tile),
      cmocka_unit_test(what_is_long_and_narrow_is_bound_by_memory),
      cmocka_unit_test(attention_is_products_and_exponentials),
      cmocka_unit_test(ops_move_what_they_read_and_write),
      cmocka_unit_test(shapes_predict_each_other),
      cmocka_unit_test(networks_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
