/* Device time of kernels, ops, modules, layers and phases, added up on paper.
 *
 * One rank. Thread t1 goes forward through a model and its parts, t2 back; all GPU work is on s7:
 *
 *   K0 100  forward    Model.Norm: aten::layer_norm(7) > aten::native_layer_norm(7)                     layer 1
 *   K1  20  backward   NativeLayerNormBackward0(7)                                                      layer 1
 *   K2  50  forward    Model: aten::mul                                                                 head
 *   K4  60  backward   CheckpointFunctionBackward(8) > module Inner: aten::gelu(9), computed again      layer 1
 *   K3  30  other      a copy that no op launched
 */
#include "metric_text.h"

#include <lumos/sim.h>

/* clang-format off */
#define SPAN(id, lane, kind, name, more) \
  "{'type':'span','id':'0:" id "','rank':0,'lane':'" lane "','kind':'" kind "','name':'" name "','start':0,'dur':100" more "}\n"
#define LAUNCH(id, lane, seq, span) \
  "{'type':'task','id':'0:" id "','rank':0,'lane':'" lane "','seq':" #seq ",'kind':'launch','name':'launch','start':" #seq \
  ",'dur':1,'lag':0,'step':1,'span':'0:" span "'}\n"
#define KERNEL(id, seq, kind, name, start, dur, call, more) \
  "{'type':'task','id':'0:" id "','rank':0,'lane':'s7','seq':" #seq ",'kind':'" kind "','name':'" name "','start':" #start \
  ",'dur':" #dur ",'lag':0,'gap':0,'step':1,'call':'0:" call "','launch_lag':1,'residual':0" more "}\n"
static const char model_job[] = JOB_TEXT_HEADER
    "{'type':'rank','rank':0,'window':[0,900],'base':0," JOB_TEXT_COVERAGE "}\n"
    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
    "{'type':'lane','rank':0,'lane':'t2','kind':'thread','native':'2'}\n"
    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
    SPAN("0", "t1", "module", "Model", ",'parent':'0:12'") /* no op around a module is that of what is in it */
    SPAN("1", "t1", "module", "Norm", ",'parent':'0:0'")
    SPAN("2", "t1", "op", "aten::layer_norm", ",'parent':'0:1','sequence':7")
    SPAN("3", "t1", "op", "aten::native_layer_norm", ",'parent':'0:2','sequence':7")
    SPAN("4", "t1", "op", "aten::mul", ",'parent':'0:0'")
    SPAN("5", "t1", "op", "CheckpointFunction", ",'parent':'0:0','sequence':8")
    SPAN("6", "t2", "op", "autograd::engine::evaluate_function: NativeLayerNormBackward0", ",'sequence':7,'forward':'0:3'")
    SPAN("7", "t2", "op", "NativeLayerNormBackward0", ",'parent':'0:6','sequence':7,'forward':'0:3'")
    SPAN("8", "t2", "op", "aten::native_layer_norm_backward", ",'parent':'0:7'")
    SPAN("9", "t2", "op", "CheckpointFunctionBackward", ",'sequence':8,'forward':'0:5'")
    SPAN("10", "t2", "module", "Inner", ",'parent':'0:9'")
    SPAN("11", "t2", "op", "aten::gelu", ",'parent':'0:10','sequence':9")
    SPAN("12", "t1", "op", "DistributedDataParallel.forward", ",'sequence':6")
    LAUNCH("0", "t1", 0, "3")
    LAUNCH("1", "t1", 1, "4")
    LAUNCH("2", "t2", 0, "8")
    LAUNCH("3", "t2", 1, "11")
    "{'type':'task','id':'0:4','rank':0,'lane':'t2','seq':2,'kind':'launch','name':'launch','start':2,'dur':1,'lag':0,'step':1}\n"
    KERNEL("5", 0, "norm", "K0", 2, 100, "0", ",'phase':'forward','layer':1,'part':'layer'")
    KERNEL("6", 1, "norm", "K1", 102, 20, "2", ",'phase':'backward','layer':1,'part':'layer'")
    KERNEL("7", 2, "elementwise", "K2", 122, 50, "1", ",'phase':'forward','part':'head'")
    KERNEL("8", 3, "elementwise", "K4", 172, 60, "3", ",'phase':'backward','layer':1,'part':'layer'")
    KERNEL("9", 4, "copy", "K3", 232, 30, "4", ",'phase':'other'")
    "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
    "{'type':'dep','at':0,'dst':'0:2','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n";
/* clang-format on */

static void every_level_adds_up(void **state) {
  (void)state;
  struct lumos_job *job = simulated(model_job);
  expect_metric(job, "device_time step=1", 260);
  expect_metric(job, "kernel_time step=1 name=K0", 100);
  expect_metric(job, "kernel_count step=1 name=K0", 1);
  expect_metric(job, "kernel_time step=1 name=K3", 30);
  expect_metric(job, "kind_time step=1 kind=norm", 120);
  expect_metric(job, "kind_count step=1 kind=norm", 2);
  expect_metric(job, "kind_time step=1 kind=elementwise", 110);
  expect_metric(job, "kind_time step=1 kind=copy", 30);
  expect_metric(job, "phase_time step=1 phase=forward", 150);
  expect_metric(job, "phase_time step=1 phase=backward", 80);
  expect_metric(job, "phase_time step=1 phase=other", 30);
  expect_metric(job, "phase_coverage step=1", 884615); /* 230 / 260 */
  expect_metric(job, "layer_time step=1 layer=1 phase=forward", 100);
  expect_metric(job, "layer_time step=1 layer=1 phase=backward", 80);
  expect_metric(job, "layer_time step=1 name=head phase=forward", 50);
  expect_metric(job, "layer_time step=1 name=(none) phase=other", 30);
  expect_metric(job, "layer_coverage step=1", 884615);
  assert_string_equal(lumos_string(job->strings, metric_of(job, "phase_coverage step=1")->of), "device_time");
  lumos_job_free(job);
}

static void both_passes_count_for_the_op_and_its_module(void **state) {
  (void)state;
  struct lumos_job *job = simulated(model_job);
  expect_metric(job, "op_time step=1 op=aten::layer_norm phase=forward", 100);
  expect_metric(job, "op_time step=1 op=aten::layer_norm phase=backward", 20);
  expect_metric(job, "op_time step=1 op=aten::mul phase=forward", 50);
  expect_metric(job, "op_time step=1 op=aten::gelu phase=backward", 60);
  expect_metric(job, "op_time step=1 op=(none) phase=other", 30);
  expect_metric(job, "op_coverage step=1", 884615);
  expect_metric(job, "module_time step=1 module=Model.Norm phase=forward", 100);
  expect_metric(job, "module_time step=1 module=Model.Norm phase=backward", 20);
  expect_metric(job, "module_time step=1 module=Model phase=forward", 50);
  expect_metric(job, "module_time step=1 module=Model.Inner phase=backward", 60);
  expect_metric(job, "module_time step=1 module=(none) phase=other", 30);
  expect_metric(job, "module_whole_time step=1 module=Model phase=forward", 150);
  expect_metric(job, "module_whole_time step=1 module=Model phase=backward", 80);
  expect_metric(job, "module_whole_time step=1 module=Model.Norm phase=backward", 20);
  expect_metric(job, "module_whole_time step=1 module=(none) phase=other", LUMOS_ABSENT);
  expect_metric(job, "module_coverage step=1", 884615);
  lumos_job_free(job);
}

/* 205 kernels that take 1 to 205 ns: the five shortest are one row. */
static void the_shortest_of_many_are_one_row(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,900],'base':0," JOB_TEXT_COVERAGE "}\n"
                                        "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n");
  int start = 0;
  for (int i = 0; i < 205; i++) {
    lumos_text_format(&text,
                      "{'type':'task','id':'0:%d','rank':0,'lane':'s7','seq':%d,'kind':'gemm','name':'k%d',"
                      "'start':%d,'dur':%d,'lag':0,'gap':0,'step':1,'residual':0}\n",
                      i, i, i + 1, start, i + 1);
    start += i + 1;
  }
  lumos_text_char(&text, '\0');
  struct lumos_job *job = simulated(text.bytes);
  expect_metric(job, "device_time step=1", 205 * 206 / 2);
  expect_metric(job, "kernel_time step=1 name=k6", 6);
  expect_metric(job, "kernel_time step=1 name=k5", LUMOS_ABSENT);
  expect_metric(job, "kernel_time step=1 name=(rest)", 1 + 2 + 3 + 4 + 5);
  expect_metric(job, "kernel_count step=1 name=(rest)", 5);
  lumos_text_free(&text);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_level_adds_up),
      cmocka_unit_test(both_passes_count_for_the_op_and_its_module),
      cmocka_unit_test(the_shortest_of_many_are_one_row),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
