/* FLOPs and MFU of a hand-made step on one H100, worked out on paper. One unit is 2 x 4096^3 = 137438953472 operations:
 *
 *   K0 200 us  forward of a linear layer: aten::mm                                            1 unit
 *   K1 200 us  its backward node: aten::mm, the gradient of its input                          1 unit
 *   K2 190 us  the same node: the gradient of its weight, which no op says                     1 unit
 *   R2  10 us    and the sum of K2's parts                                                     none
 *   K3 400 us  attention, 32 heads of 128, 4096 tokens, computed again in a checkpoint 4 x 32 x 4096^2 x 128 / 2 = 1
 *              unit
 *   K4 200 us  a product of the optimizer                                                      1 unit
 *
 * The step ends at 1250 us; an H100 does 989 TFLOP/s: 1.23625 TFLOP. The model takes three units, all that ran is five.
 */
#include "metric_text.h"

#include <lumos/sim.h>

/* clang-format off */
#define SPAN(id, lane, name, more) \
  "{'type':'span','id':'0:" id "','rank':0,'lane':'" lane "','kind':'op','name':'" name "','start':0,'dur':100" more "}\n"
#define LAUNCH(id, lane, seq, span) \
  "{'type':'task','id':'0:" id "','rank':0,'lane':'" lane "','seq':" #seq ",'kind':'launch','name':'launch','start':" #seq \
  ",'dur':1,'lag':0,'step':1,'span':'0:" span "'}\n"
#define KERNEL(id, seq, kind, name, start, dur, call, phase) \
  "{'type':'task','id':'0:" id "','rank':0,'lane':'s7','seq':" #seq ",'kind':'" kind "','name':'" name "','start':" #start \
  ",'dur':" #dur ",'lag':0,'gap':0,'step':1,'call':'0:" call "','launch_lag':1,'phase':'" phase "','residual':0}\n"
#define SQUARE ",'shapes':'[[4096, 4096], [4096, 4096]]','dtypes':'[\\'c10::BFloat16\\', \\'c10::BFloat16\\']'"
#define STEP(device) JOB_TEXT_HEADER \
    "{'type':'rank','rank':0,'world':1,'device':{'name':'" device "'},'window':[0,9000000],'base':0," JOB_TEXT_COVERAGE "}\n" \
    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n" \
    "{'type':'lane','rank':0,'lane':'t2','kind':'thread','native':'2'}\n" \
    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n" \
    SPAN("0", "t1", "LinearWithGradAccumulationAndAsyncCommunication", \
         ",'sequence':5,'shapes':'[[4096, 1, 4096], [4096, 4096]]','dtypes':'[\\'c10::BFloat16\\', \\'c10::BFloat16\\']'") \
    SPAN("1", "t1", "aten::mm", ",'parent':'0:0'" SQUARE) \
    SPAN("2", "t1", "aten::mm", SQUARE) \
    SPAN("3", "t2", "LinearWithGradAccumulationAndAsyncCommunicationBackward", ",'sequence':5,'forward':'0:0'") \
    SPAN("4", "t2", "aten::mm", ",'parent':'0:3'" SQUARE) \
    SPAN("5", "t2", "CheckpointFunctionBackward", "") \
    SPAN("6", "t2", "FlashAttnFunc", ",'parent':'0:5','sequence':6," \
         "'shapes':'[[1, 4096, 32, 128], [1, 4096, 32, 128], [1, 4096, 32, 128]]','dtypes':'[\\'c10::BFloat16\\']'") \
    LAUNCH("0", "t1", 0, "1") LAUNCH("1", "t1", 1, "2") \
    LAUNCH("2", "t2", 0, "4") LAUNCH("3", "t2", 1, "3") LAUNCH("4", "t2", 2, "3") LAUNCH("5", "t2", 3, "6") \
    KERNEL("6", 0, "gemm", "K0", 50000, 200000, "0", "forward") \
    KERNEL("7", 1, "gemm", "K1", 250000, 200000, "2", "backward") \
    KERNEL("8", 2, "gemm", "K2", 450000, 190000, "3", "backward") \
    KERNEL("9", 3, "gemm", "cublasLt::splitKreduce_kernel", 640000, 10000, "4", "backward") \
    KERNEL("10", 4, "attention", "K3", 650000, 400000, "5", "backward") \
    KERNEL("11", 5, "gemm", "K4", 1050000, 200000, "1", "optimizer") \
    "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n" \
    "{'type':'dep','at':0,'dst':'0:2','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
/* clang-format on */

static bool has_note(const struct lumos_job *job, const char *code) {
  for (size_t i = 0; i < job->notes.count; i++) {
    if (strcmp(lumos_string(job->strings, job->notes.items[i].code), code) == 0) {
      return true;
    }
  }
  return false;
}

static void the_model_and_what_ran(void **state) {
  (void)state;
  struct lumos_job *job = simulated(STEP("NVIDIA H100 80GB HBM3"));
  expect_metric(job, "product_time step=1", 1200000);
  expect_metric(job, "product_coverage step=1", 1000000);
  expect_metric(job, "hardware_flops step=1", 687195);
  expect_metric(job, "model_flops step=1 kind=shapes", 412317);
  expect_metric(job, "peak_flops step=1 kind=shapes", 1236250);
  expect_metric(job, "mfu step=1 kind=shapes", 333522); /* 0.412316860 / 1.23625 */
  expect_metric(job, "hfu step=1 kind=shapes", 555870); /* 0.687194767 / 1.23625 */
  expect_metric(job, "model_flops step=1 kind=model", LUMOS_ABSENT);
  assert_false(has_note(job, "sim.flops_causal")); /* none of it is the model's */
  assert_false(has_note(job, "sim.flops_unknown") || has_note(job, "sim.above_peak") ||
               has_note(job, "sim.gpu_unknown"));
  lumos_job_free(job);
}

/* Of products of 1200 us all is known, beside them one of no op: in a twentieth of the time it is no matter. */
static void what_is_known_of_all_but_a_twentieth_is_told(void **state) {
  (void)state;
#define UNKNOWN(dur)                                                                                            \
  "{'type':'task','id':'0:12','rank':0,'lane':'t2','seq':4,'kind':'launch','name':'launch','start':4,'dur':1,'" \
  "lag':0,'step':1}\n" KERNEL("13", 6, "gemm", "U", 1250000, dur, "12", "forward")
  struct lumos_job *job = simulated(STEP("NVIDIA H100 80GB HBM3") UNKNOWN(63000));
  expect_metric(job, "product_coverage step=1", 950119); /* 1200 / 1263 */
  expect_metric(job, "hardware_flops step=1", 687195);
  expect_metric(job, "model_flops step=1 kind=shapes", 412317);
  assert_false(has_note(job, "sim.flops_unknown"));
  lumos_job_free(job);
  job = simulated(STEP("NVIDIA H100 80GB HBM3") UNKNOWN(64000));
  expect_metric(job, "product_coverage step=1", 949367); /* 1200 / 1264 */
  expect_metric(job, "hardware_flops step=1", LUMOS_ABSENT);
  expect_metric(job, "model_flops step=1 kind=shapes", LUMOS_ABSENT);
  assert_true(has_note(job, "sim.flops_unknown"));
  lumos_job_free(job);
}

static void expect_flops(const struct lumos_job *job, const char *name, int64_t flops) {
  assert_true(lumos_timing_of(job, task_named(job, name))->flops == flops);
}

static void kernels_against_the_gpu(void **state) {
  (void)state;
  struct lumos_job *job = simulated(STEP("NVIDIA H100 80GB HBM3"));
  expect_flops(job, "K0", 137438953472);
  expect_flops(job, "K3", 137438953472);
  expect_flops(job, "cublasLt::splitKreduce_kernel", LUMOS_ABSENT);
  expect_metric(job, "flops_rate step=1 name=K0", 687195);  /* 137438953472 / 200000 a ns */
  expect_metric(job, "flops_share step=1 name=K0", 694838); /* of 989 */
  expect_metric(job, "bytes_rate step=1 name=K0", 503316);  /* 3 x 4096^2 x 2 bytes / 200000 ns, GB/s */
  expect_metric(job, "bytes_share step=1 name=K0", 150244); /* of 3350 */
  expect_metric(job, "flops_rate step=1 name=K2", 723363);  /* in 190000 ns */
  expect_metric(job, "flops_rate step=1 name=K3", 343597);
  expect_metric(job, "bytes_rate step=1 name=K3", 335544); /* 4 x 4096^2 x 2 bytes / 400000 ns */
  expect_metric(job, "flops_rate step=1 name=cublasLt::splitKreduce_kernel", LUMOS_ABSENT);
  lumos_job_free(job);
}

/* A product whose inputs are converted within its op, and which then does not run: what is computed again stops
 * there. */
static void a_product_that_does_not_run(void **state) {
  (void)state;
  struct lumos_job *job =
      simulated(STEP("NVIDIA H100 80GB HBM3") SPAN("7", "t2", "aten::linear", ",'sequence':7" SQUARE)
                    SPAN("8", "t2", "aten::copy_", ",'parent':'0:7'") LAUNCH("12", "t2", 4, "8")
                        KERNEL("13", 6, "elementwise", "bfloat16_copy", 1250000, 1000, "12", "backward"));
  expect_flops(job, "bfloat16_copy", LUMOS_ABSENT);
  expect_metric(job, "hardware_flops step=1", 687195);
  assert_false(has_note(job, "sim.above_peak"));
  lumos_job_free(job);
}

/* What is not known is absent, and what cannot be is told. */
static void other_gpus(void **state) {
  (void)state;
  struct lumos_job *job = simulated(STEP("A GPU"));
  expect_metric(job, "model_flops step=1 kind=shapes", 412317);
  expect_metric(job, "mfu step=1 kind=shapes", LUMOS_ABSENT);
  expect_metric(job, "flops_rate step=1 name=K0", 687195);
  expect_metric(job, "flops_share step=1 name=K0", LUMOS_ABSENT);
  assert_true(has_note(job, "sim.gpu_unknown"));
  lumos_job_free(job);
  job = simulated(STEP("Tesla V100-SXM2-16GB")); /* has no bfloat16 */
  expect_metric(job, "mfu step=1 kind=shapes", LUMOS_ABSENT);
  lumos_job_free(job);
  job = simulated(STEP("NVIDIA A10")); /* does 125 TFLOP/s */
  expect_metric(job, "flops_share step=1 name=K0", 5497558);
  assert_true(has_note(job, "sim.above_peak"));
  lumos_job_free(job);
}

/* 2 layers of hidden 8 and 2 heads of 4, keys and values of one; ffn 16 of three matrices; 10 words; 4 tokens; 3 x 5
 * sequences:
 *   weights 2 x (2 x 8 x (8 + 4) + 8 x 16 x 3) + 8 x 10 = 2 x 576 + 80 = 1232; a token 2 x 1232 + 2 x 2 x 4 x 8 = 2592;
 *   60 tokens, three times: 466560. That is too little to be seen in TFLOP, so the sequence is 4000 and the words 10
 *   million: weights 1152 + 80000000; a token 2 x 80001152 + 2 x 2 x 4000 x 8 = 160130304; 60000 tokens, 3 times:
 *   28.823455 TFLOP. */
static void by_formula(void **state) {
  (void)state;
#define MODEL(more)                                                                                          \
  STEP("NVIDIA H100 80GB HBM3")                                                                              \
  "{'type':'model','layers':2,'hidden':8,'heads':2,'kv_heads':1,'head_dim':4,'ffn':16,'sequence':4000," more \
  "'vocabulary':10000000,'micro_batch':3,'micro_batches':5,'parallel':{'tp':1,'pp':1,'dp':1}}\n"
  struct lumos_job *job = simulated(MODEL("'ffn_matrices':3,"));
  expect_metric(job, "model_flops step=1 kind=model", 28823455);
  assert_true(has_note(job, "sim.flops_differ"));
  lumos_job_free(job);
  job = simulated(MODEL(""));
  expect_metric(job, "model_flops step=1 kind=model", LUMOS_ABSENT);
  lumos_job_free(job);
}

/* The weights of the largest sizes that a stream may say, twice, are more than 128 bits hold. */
static void more_than_fits(void **state) {
  (void)state;
#define MOST "2147483647"
  struct lumos_job *job = simulated(
      STEP("NVIDIA H100 80GB HBM3") "{'type':'model','layers':" MOST ",'hidden':" MOST ",'heads':" MOST
                                    ",'kv_heads':" MOST ",'head_dim':" MOST ",'ffn':" MOST ",'ffn_matrices':" MOST
                                    ",'sequence':1,'vocabulary':" MOST
                                    ",'micro_batch':1,'micro_batches':1,'parallel':{'tp':1,'pp':1,'dp':1}}\n");
  expect_metric(job, "model_flops step=1 kind=model", LUMOS_ABSENT);
  lumos_job_free(job);
}

/* The text with all of `from` made `to`; the caller frees it. */
static char *replaced(const char *text, const char *from, const char *to) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  for (const char *found = strstr(text, from); found != NULL; found = strstr(text, from)) {
    lumos_text_add(&out, text, (size_t)(found - text));
    lumos_text_put(&out, to);
    text = found + strlen(from);
  }
  lumos_text_put(&out, text);
  lumos_text_char(&out, '\0');
  return out.bytes;
}

/* Without recorded types: names of kernels may say what they multiply. */
static void formats_that_are_not_recorded(void **state) {
  (void)state;
  char *text = replaced(STEP("NVIDIA H100 80GB HBM3"), "c10::BFloat16", "");
  struct lumos_job *job = simulated(text);
  expect_metric(job, "model_flops step=1 kind=shapes", 412317);
  expect_metric(job, "mfu step=1 kind=shapes", LUMOS_ABSENT);
  assert_true(has_note(job, "sim.format_unknown"));
  lumos_job_free(job);
  char *named = replaced(text, "'name':'K", "'name':'nvjet_tK");
  job = simulated(named);
  expect_metric(job, "mfu step=1 kind=shapes", 333522);
  assert_false(has_note(job, "sim.format_unknown"));
  lumos_job_free(job);
  free(named);
  free(text);
}

/* Attention of 4096 tokens recorded with the sequence first: as it is written it is 4096 sequences of one token. */
static void a_layout_that_the_model_shows(void **state) {
  (void)state;
  char *text = replaced(STEP("NVIDIA H100 80GB HBM3") "{'type':'model','sequence':4096,'micro_batch':1}\n",
                        "[1, 4096, 32, 128]", "[4096, 1, 32, 128]");
  struct lumos_job *job = simulated(text);
  expect_flops(job, "K3", 137438953472);
  lumos_job_free(job);
  char *other = replaced(text, "'sequence':4096", "'sequence':2048");
  job = simulated(other);
  expect_flops(job, "K3", 4 * (int64_t)4096 * 32 * 128);
  lumos_job_free(job);
  char *circular = replaced(text, "'micro_batch':1",
                            "'micro_batch':1,'evidence':{'micro_batch':'shapes: FlashAttnFunc [4096, 1, 32, 128]'}");
  job = simulated(circular);
  expect_flops(job, "K3", 4 * (int64_t)4096 * 32 * 128);
  lumos_job_free(job);
  free(circular);
  free(other);
  free(text);
}

/* A second GPU begins the step 125 us later, a tenth of its 1250 us. */
static void a_first_step_that_ranks_begin_apart(void **state) {
  (void)state;
#define SECOND(base)                                                                                               \
  "{'type':'rank','rank':1,'world':2,'device':{'name':'NVIDIA H100 80GB HBM3'},'window':[0,9000000],'base':" #base \
  "," JOB_TEXT_COVERAGE "}\n"                                                                                      \
  "{'type':'lane','rank':1,'lane':'s7','kind':'stream','native':'7'}\n"                                            \
  "{'type':'task','id':'1:0','rank':1,'lane':'s7','seq':0,'kind':'elementwise','name':'E','start':1200000,"        \
  "'dur':50000,'lag':0,'gap':0,'step':1,'residual':0}\n"
  char *text = replaced(STEP("NVIDIA H100 80GB HBM3") SECOND(125000), "'world':1", "'world':2");
  struct lumos_job *job = simulated(text);
  expect_metric(job, "mfu step=1 kind=shapes", 166761); /* 0.412316860 / 2.4725 */
  bool told = false;
  for (size_t i = 0; i < job->notes.count; i++) {
    told |=
        strstr(lumos_string(job->strings, job->notes.items[i].text), "MFU of step 1 is up to 10.0 % too low") != NULL;
  }
  assert_true(told);
  lumos_job_free(job);
  free(text);
  text = replaced(STEP("NVIDIA H100 80GB HBM3") SECOND(1000), "'world':1", "'world':2"); /* less than a thousandth */
  job = simulated(text);
  assert_false(has_note(job, "sim.mfu_first_step"));
  lumos_job_free(job);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_model_and_what_ran),
      cmocka_unit_test(what_is_known_of_all_but_a_twentieth_is_told),
      cmocka_unit_test(kernels_against_the_gpu),
      cmocka_unit_test(a_product_that_does_not_run),
      cmocka_unit_test(other_gpus),
      cmocka_unit_test(by_formula),
      cmocka_unit_test(more_than_fits),
      cmocka_unit_test(formats_that_are_not_recorded),
      cmocka_unit_test(a_layout_that_the_model_shows),
      cmocka_unit_test(a_first_step_that_ranks_begin_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
