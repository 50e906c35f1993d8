/* The recorder, fed by hand: what it writes is compared with rows written out here, byte by byte. */
#include "clocks.h"
#include "gpt.h"
#include "hardware.h"
#include "nccl_version.h"
#include "recorder.h"
#include "writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cJSON.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* The share of the peak must come out the same whatever the model. */
double gpt_model_flops(const struct setup *setup) { return 500000 * 2 * setup->gpu->flops; }

struct run {
  struct setup setup;
  struct communicator group;
  struct recorder *recorder;
  struct witness witness;
  char folder[64];
};

static int pair_ranks[] = {0, 1};
static double ones[] = {1, 1};
static bool both[] = {true, true};

static void run_start(struct run *run, unsigned recorded) {
  *run = (struct run){
      .setup = {.parallel = {.tensor = 1, .context = 1, .pipeline = 1, .data = 2, .chunks = 1},
                .gpu = gpu_find("h100"),
                .nccl = nccl_version_find("2.28.9"),
                .network = {.node_size = 2},
                .slow_device = ones,
                .slow_host = ones,
                .seed = 7,
                .warmup = 1,
                .steps = 1,
                .recorded = recorded,
                .record_rank = both,
                .arguments = "--dp 2",
                .plain = true},
      .group = {"3", "DATA_PARALLEL_GROUP", 2, 1, pair_ranks, 99},
      .folder = "/tmp/recorder-XXXXXX",
  };
  for (int i = 0; i < SCALED; i++) {
    run->setup.scale[i] = 1;
  }
  assert_non_null(mkdtemp(run->folder));
  run->setup.folder = run->folder;
  run->recorder = recorder_new(&run->setup, &run->group, 1);
  run->witness = recorder_witness(run->recorder, true);
}

/* A file that was written; the file is gone then. */
static char *taken(const struct run *run, const char *name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", run->folder, name);
  gzFile file = gzopen(path, "rb");
  assert_non_null(file);
  size_t room = 1 << 20;
  char *text = malloc(room);
  int length = gzread(file, text, (unsigned)room - 1);
  assert_true(length > 0);
  text[length] = '\0';
  gzclose(file);
  unlink(path);
  return text;
}

static void run_end(struct run *run) {
  recorder_free(run->recorder);
  rmdir(run->folder);
}

static void assert_has(const char *text, const char *part) {
  if (strstr(text, part) == NULL) {
    print_error("missing:\n%s\n", part);
    fail();
  }
}

static void assert_lacks(const char *text, const char *part) {
  if (strstr(text, part) != NULL) {
    print_error("not wanted:\n%s\n", part);
    fail();
  }
}

static int count_of(const char *text, const char *part) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
    count++;
  }
  return count;
}

/* ---- feeding ---- */

static void frame(const struct run *run, enum thread thread, enum frame kind, const char *name, int64_t number,
                  int64_t start, int64_t end, const struct op_facts *facts) {
  run->witness.host(
      run->witness.self,
      &(struct host_record){
          .thread = thread, .frame = kind, .name = name, .start = start, .end = end, .number = number, .facts = facts});
}

static void call(const struct run *run, enum thread thread, enum call kind, uint32_t correlation, int64_t op,
                 int64_t start, int64_t end) {
  run->witness.host(run->witness.self, &(struct host_record){.thread = thread,
                                                             .is_call = true,
                                                             .call = kind,
                                                             .start = start,
                                                             .end = end,
                                                             .number = op,
                                                             .correlation = correlation});
}

static void device(const struct run *run, enum stream stream, uint32_t correlation, int64_t op, int64_t start,
                   int64_t end, int64_t sequence, const struct work *work) {
  run->witness.device(run->witness.self, &(struct device_record){.stream = stream,
                                                                 .correlation = correlation,
                                                                 .start = start,
                                                                 .end = end,
                                                                 .op = op,
                                                                 .work = work,
                                                                 .sequence = sequence});
}

static const struct work product = {.name = "nvjet_tst_128x128",
                                    .kind = WORK_GEMM,
                                    .label = {PHASE_FORWARD, PART_LAYER, 2, 5},
                                    .registers = 40,
                                    .threads = 128,
                                    .grid = {4608, 1, 1}};
static const struct work memset_work = {.kind = WORK_MEMSET, .label = {PHASE_OTHER, PART_OTHER, -1, -1}, .bytes = 4096};
static const struct message sum = {.collective = ALL_REDUCE,
                                   .float32 = true,
                                   .elements_in = 1024,
                                   .elements_out = 1024,
                                   .inner = {2, 0},
                                   .bytes = 4096,
                                   .root = -1};
static const struct message wait_for_sum = {.collective = WAIT, .root = -1};
static const struct work reduction = {.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                      .kind = WORK_COLLECTIVE,
                                      .label = {PHASE_BACKWARD, PART_LAYER, -1, 5},
                                      .registers = 96,
                                      .shared_memory = 103808,
                                      .threads = 544,
                                      .grid = {24, 1, 1},
                                      .message = &sum};

/* Rank 0: a product under an annotated step, an all-reduce on a stream of its own, the product's backward op on another
 * thread. */
static void feed(const struct run *run) {
  const struct op_facts forward = {.inputs = "bf16[8,4] =1 - float[]", .sequence = 3};
  const struct op_facts backward = {.sequence = 3, .forward_thread = 1};
  const struct op_facts comms = {.sequence = -1, .message = &sum};
  const struct op_facts waits = {.sequence = -1, .message = &wait_for_sum};
  void *self = run->witness.self;
  call(run, THREAD_MAIN, CALL_LAUNCH, 5, 9, 900000, 905000);
  frame(run, THREAD_MAIN, FRAME_OP, "aten::before", 9, 890000, 910000, &comms);
  device(run, STREAM_COMPUTE, 4, 9, 950000, 990000, 0, &product);
  run->witness.profile(self, 0, true, 1000000);
  device(run, STREAM_COMPUTE, 5, 9, 990000, 1100000, 0, &product);
  device(run, STREAM_COMPUTE, 6, 9, 1100000, 1102000, 0, &memset_work);
  call(run, THREAD_MAIN, CALL_LAUNCH_EXC, 7, 12, 1030000, 1036000);
  frame(run, THREAD_MAIN, FRAME_OP, "aten::mm", 12, 1020000, 1050000, &forward);
  device(run, STREAM_COMPUTE, 7, 12, 1140000, 1240000, 0, &product);
  call(run, THREAD_MAIN, CALL_EVENT_RECORD, 8, 13, 1062000, 1063000);
  run->witness.host(self, &(struct host_record){.is_call = true,
                                                .call = CALL_STREAM_WAIT,
                                                .start = 1064000,
                                                .end = 1065000,
                                                .number = 13,
                                                .correlation = 9,
                                                .stream = STREAM_DATA,
                                                .event = 6,
                                                .awaited = 8,
                                                .awaited_stream = STREAM_COMPUTE});
  call(run, THREAD_MAIN, CALL_LAUNCH_EXC, 10, 13, 1070000, 1075000);
  frame(run, THREAD_MAIN, FRAME_ANNOTATION, "nccl:all_reduce", 14, 1066000, 1080000, &comms);
  frame(run, THREAD_MAIN, FRAME_OP, "record_param_comms", 13, 1060000, 1090000, &comms);
  device(run, STREAM_DATA, 10, 13, 1245000, 1300001, 41, &reduction);
  frame(run, THREAD_AUTOGRAD, FRAME_OP, "MmBackward0", 16, 1220000, 1280000, &backward);
  frame(run, THREAD_AUTOGRAD, FRAME_OP, "autograd::engine::evaluate_function: MmBackward0", 15, 1210000, 1290000,
        &backward);
  frame(run, THREAD_MAIN, FRAME_MODULE, "nn.Module: Linear_3", 17, 1400000, 1500000, NULL);
  frame(run, THREAD_MAIN, FRAME_ANNOTATION, "forward micro-batch 0", 18, 1600000, 1700000, NULL);
  frame(run, THREAD_MAIN, FRAME_OP, "record_param_comms", 20, 1800000, 1810000, &waits);
  frame(run, THREAD_MAIN, FRAME_ANNOTATION, "ProfilerStep#2", 11, 1010000, 2000000, NULL);
  call(run, THREAD_MAIN, CALL_STREAM_SYNC, 11, 0, 2100000, 2110000);
  call(run, THREAD_MAIN, CALL_DEVICE_SYNC, 12, 0, 2500000, 2600000);
  run->witness.profile(self, 0, false, 3000000);
  frame(run, THREAD_MAIN, FRAME_OP, "aten::after", 19, 3000000, 3100000, &forward);
  device(run, STREAM_COMPUTE, 13, 19, 3050000, 3060000, 0, &product);
  frame(run, THREAD_MAIN, FRAME_PYTHON, "train.py(3): <module>", 1, 0, 9000000, NULL);
}

/* ---- traces ---- */

/* Ops, with the flow between forward and backward. */
static void test_host_rows(void **state) {
  (void)state;
  struct run run;
  run_start(&run, RECORD_SHAPES | RECORD_COLLECTIVES);
  feed(&run);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  assert_has(text, "  {\n"
                   "    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 20240, \"tid\": 20240,\n"
                   "    \"ts\": 3456000001020.000, \"dur\": 30.000,\n"
                   "    \"args\": {\n"
                   "      \"External id\": 2,\"Record function id\": 0, \"Sequence number\": 3, \"Fwd thread id\": 0, "
                   "\"Concrete Inputs\": [\"\", \"1\", \"\", \"\"], \"Input type\": [\"c10::BFloat16\", \"Scalar\", "
                   "\"\", \"float\"], \"Input Strides\": [[4, 1], [], [], []], \"Input Dims\": [[8, 4], [], [], []], "
                   "\"Ev Idx\": 3\n"
                   "    }\n"
                   "  },\n"
                   "  {\n"
                   "    \"ph\": \"s\", \"id\": 1, \"pid\": 20240, \"tid\": 20240, \"ts\": 3456000001020.000,\n"
                   "    \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\"\n"
                   "  },\n");
  assert_has(text,
             "\"name\": \"MmBackward0\", \"pid\": 20240, \"tid\": 21412,\n"
             "    \"ts\": 3456000001220.000, \"dur\": 60.000,\n"
             "    \"args\": {\n"
             "      \"External id\": 1026,\"Record function id\": 0, \"Sequence number\": 3, \"Fwd thread id\": 1, "
             "\"Ev Idx\": 1\n"
             "    }\n"
             "  },\n"
             "  {\n"
             "    \"ph\": \"f\", \"id\": 1, \"pid\": 20240, \"tid\": 21412, \"ts\": 3456000001220.000,\n"
             "    \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\", \"bp\": \"e\"\n"
             "  },\n");
  assert_int_equal(count_of(text, "\"cat\": \"fwdbwd\""), 2);
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

/* A kernel and the call that launched it, a memset. */
static void test_device_rows(void **state) {
  (void)state;
  struct run run;
  run_start(&run, RECORD_SHAPES | RECORD_COLLECTIVES);
  feed(&run);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  assert_has(text,
             "  {\n"
             "    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"nvjet_tst_128x128\", \"pid\": 0, \"tid\": 7,\n"
             "    \"ts\": 3456000001140.000, \"dur\": 100.000,\n"
             "    \"args\": {\n"
             "      \"External id\": 2,      \"queued\": 0, \"device\": 0, \"context\": 1,      \"stream\": 7, "
             "\"correlation\": 7,      \"registers per thread\": 40,      \"shared memory\": 0,      \"blocks "
             "per SM\": 34.909092,      \"warps per SM\": 139.636368,      \"grid\": [4608, 1, 1],      "
             "\"block\": [128, 1, 1],      \"est. achieved occupancy %\": 75,      "
             "\"occupancy\": {\"activeBlocksPerMultiprocessor\": 12, \"limitingFactors\": \"REGS\", "
             "\"blockLimitRegs\": 12, \"blockLimitSharedMem\": 228, \"blockLimitWarps\": 16, \"blockLimitBlocks\": 32, "
             "\"blockLimitBarriers\": 64, \"allocatedRegistersPerBlock\": 5120, \"allocatedSharedMemPerBlock\": 1024}"
             ",      \"graph id\": 0, \"graph node id\": 0\n"
             "    }\n"
             "  },\n"
             "  {\n"
             "    \"ph\": \"f\", \"id\": 7, \"pid\": 0, \"tid\": 7, \"ts\": 3456000001140.000,\n"
             "    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n"
             "  },\n"
             "  {\n"
             "    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernelExC\", \"pid\": 20240, "
             "\"tid\": 20240,\n"
             "    \"ts\": 3456000001030.000, \"dur\": 6.000,\n"
             "    \"args\": {\n"
             "      \"External id\": 2,      \"cbid\": 430, \"correlation\": 7\n"
             "    }\n"
             "  },\n"
             "  {\n"
             "    \"ph\": \"s\", \"id\": 7, \"pid\": 20240, \"tid\": 20240, \"ts\": 3456000001030.000,\n"
             "    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n"
             "  },\n");
  assert_has(text, "\"name\": \"Memset (Device)\", \"pid\": 0, \"tid\": 7,\n"
                   "    \"ts\": 3456000001100.000, \"dur\": 2.000,\n"
                   "    \"args\": {\n"
                   "            \"device\": 0, \"context\": 1,      \"stream\": 7, \"correlation\": 6,      \"bytes\": "
                   "4096, \"memory bandwidth (GB/s)\": 2.048000,      \"graph id\": 0, \"graph node id\": 0\n");
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

/* An op of a schema is given what the schema does not know. */
static void test_inputs(void **state) {
  (void)state;
  static const struct {
    const char *op, *given, *values, *types, *strides, *dims;
  } cases[] = {
      {"aten::as_strided", "bf16[8,4] =[4,8] =[1,4]", "\"\", \"[4, 8]\", \"[1, 4]\", \"\"",
       "\"c10::BFloat16\", \"ScalarList\", \"ScalarList\", \"\"", "[4, 1], [], [], []", "[8, 4], [], [], []"},
      {"aten::copy_", "bf16[8,4|1,8] float[8,4]", "\"\", \"\", \"False\"", "\"float\", \"c10::BFloat16\", \"Scalar\"",
       "[4, 1], [1, 8], []", "[8, 4], [8, 4], []"},
      {"aten::copy_", "int64[2] int64[2] =4 =0", "\"\", \"\", \"True\"", "\"long int\", \"long int\", \"Scalar\"",
       "[1], [1], []", "[2], [2], []"},
      {"aten::cat", "(bf16[2,3];float[4,3|6,2]) =0", "\"\", \"0\"", "\"TensorList\", \"Scalar\"",
       "[[3, 1], [6, 2]], []", "[[2, 3], [4, 3]], []"},
      {"aten::_foreach_copy_", "() ()", "\"\", \"\", \"False\"", "\"TensorList\", \"TensorList\", \"Scalar\"",
       "[], [], []", "[], [], []"},
      {"made::up", "int32[] uint8[5] - =2.5", "\"\", \"\", \"\", \"2.5\"",
       "\"int\", \"unsigned char\", \"\", \"Scalar\"", "[], [1], [], []", "[], [5], [], []"},
      {"aten::mul_", NULL, "\"\", \"\"", "\"float\", \"double\"", "[1], []", "[77], []"},
  };
  struct run run;
  run_start(&run, RECORD_SHAPES);
  run.witness.profile(run.witness.self, 0, true, 1000000);
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
    const struct op_facts facts = {.inputs = cases[i].given, .elements = cases[i].given ? 0 : 77, .sequence = -1};
    frame(&run, THREAD_MAIN, FRAME_OP, cases[i].op, i + 1, 1100000 + i * 1000, 1100500 + i * 1000, &facts);
  }
  run.witness.profile(run.witness.self, 0, false, 3000000);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char wanted[512];
    snprintf(wanted, sizeof wanted,
             ", \"Concrete Inputs\": [%s], \"Input type\": [%s], \"Input Strides\": [%s], \"Input Dims\": [%s], ",
             cases[i].values, cases[i].types, cases[i].strides, cases[i].dims);
    assert_has(text, wanted);
  }
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

/* Sends and receives count a communicator's kernels of the rank: those before the window, those launched before it,
 * then each by its op; the parts of a batch share their kernel's number, and its kernel, launched in none of their ops,
 * has no arguments. */
static void test_pairs(void **state) {
  (void)state;
  static const struct message whole = {.collective = SEND_RECEIVE,
                                       .elements_in = 64,
                                       .elements_out = 64,
                                       .bytes = 256,
                                       .root = -1,
                                       .parts = 2,
                                       .part = {{1, true, 128}, {1, false, 128}}};
  struct message send = whole, receive = whole, alone = whole;
  send.parts = receive.parts = alone.parts = 1;
  receive.part[0] = alone.part[0] = whole.part[1];
  receive.follows = true;
  const struct op_facts sends = {.sequence = -1, .message = &send}, receives = {.sequence = -1, .message = &receive};
  const struct op_facts lone = {.sequence = -1, .message = &alone}, batch = {.sequence = -1};
  const struct work exchange = {
      .name = "ncclDevKernel_SendRecv", .kind = WORK_P2P, .threads = 96, .grid = {1, 1, 1}, .message = &whole};
  const struct work single = {
      .name = "ncclDevKernel_SendRecv", .kind = WORK_P2P, .threads = 96, .grid = {1, 1, 1}, .message = &alone};
  struct run run;
  run_start(&run, RECORD_SHAPES | RECORD_COLLECTIVES);
  device(&run, STREAM_P2P, 1, 0, 900000, 950000, -1, &exchange);
  run.witness.profile(run.witness.self, 0, true, 1000000);
  device(&run, STREAM_P2P, 2, 0, 1000000, 1100000, -1, &exchange);
  frame(&run, THREAD_MAIN, FRAME_OP, "record_param_comms", 1, 1100000, 1110000, &sends);
  frame(&run, THREAD_MAIN, FRAME_OP, "record_param_comms", 2, 1120000, 1130000, &receives);
  call(&run, THREAD_MAIN, CALL_LAUNCH_EXC, 3, 0, 1145000, 1150000);
  frame(&run, THREAD_MAIN, FRAME_ANNOTATION, "nccl:coalesced", 3, 1140000, 1160000, &batch);
  call(&run, THREAD_MAIN, CALL_LAUNCH_EXC, 4, 4, 1210000, 1215000);
  frame(&run, THREAD_MAIN, FRAME_ANNOTATION, "nccl:recv", 5, 1205000, 1220000, &lone);
  frame(&run, THREAD_MAIN, FRAME_OP, "record_param_comms", 4, 1200000, 1230000, &lone);
  device(&run, STREAM_P2P, 3, 0, 1200000, 1300000, -1, &exchange);
  device(&run, STREAM_P2P, 4, 4, 1300000, 1400000, -1, &single);
  run.witness.profile(run.witness.self, 0, false, 3000000);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  assert_int_equal(count_of(text, ", \"Dst Rank\": 1, \"Seq\": 3, "), 1);
  assert_int_equal(count_of(text, ", \"Src Rank\": 1, \"Seq\": 3, "), 1);
  assert_int_equal(count_of(text, ", \"Src Rank\": 1, \"Seq\": 4, "), 2); /* the op's and the kernel's */
  assert_int_equal(count_of(text, "\"Collective name\""), 4);
  assert_has(text, "\"cat\": \"user_annotation\", \"name\": \"nccl:recv 0<-1\"");
  assert_has(text, "\"cat\": \"gpu_user_annotation\", \"name\": \"nccl:coalesced\"");
  assert_has(text, "      \"External id\": 3,\"Record function id\": 0, \"Ev Idx\": 2\n");
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

/* What began outside the window is not there, nor what is switched off. */
static void test_window(void **state) {
  (void)state;
  struct run run;
  run_start(&run, 0);
  feed(&run);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  assert_lacks(text, "aten::before");
  assert_lacks(text, "aten::after");
  assert_lacks(text, "\"correlation\": 4,");
  assert_lacks(text, "\"correlation\": 5,");
  assert_lacks(text, "\"correlation\": 13,");
  assert_int_equal(count_of(text, "\"correlation\": 6,"), 1); /* launched before: the device's row alone */
  assert_lacks(text, "cuda_sync");
  assert_lacks(text, "python_function");
  assert_lacks(text, "forward micro-batch 0");
  assert_lacks(text, "Collective name");
  assert_lacks(text, "Input Dims");
  assert_has(text, "\"cat\": \"user_annotation\", \"name\": \"nccl:all_reduce\"");
  assert_has(text, "\"name\": \"cudaDeviceSynchronize\"");
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

static const char collective_args[] =
    ", \"Collective name\": \"allreduce\", \"In msg nelems\": 1024, \"Out msg nelems\": 1024, \"Group size\": 2, "
    "\"dtype\": \"Float\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group Name\": \"3\", "
    "\"Process Group Description\": \"DATA_PARALLEL_GROUP\", \"Process Group Ranks\": \"[0, 1]\", \"Seq\": 41, "
    "\"Comms Id\": ";

static void test_collectives(void **state) {
  (void)state;
  struct run run;
  run_start(&run, RECORD_SHAPES | RECORD_COLLECTIVES);
  feed(&run);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  assert_int_equal(count_of(text, collective_args), 2); /* the op's and the kernel's */
  assert_has(text, ", \"Rank\": 0, \"Global rank start\": 0, \"Global rank stride\": 1, \"Is asynchronized op\": 1, "
                   "\"Concrete Inputs\": [\"\", \"\", \"\", \"0\", \"\", \"[]\", \"[]\", \"0\", \"1\", \"2\", "
                   "\"True\"], \"Input type\": [\"TensorList\", ");
  assert_has(text, "\"nccl:all_reduce\", \"pid\": 20240, \"tid\": 20240,\n"
                   "    \"ts\": 3456000001066.000, \"dur\": 14.000,\n"
                   "    \"args\": {\n"
                   "      \"External id\": 4,\"Record function id\": 0, \"Concrete Inputs\": [\"\"], \"Input type\": "
                   "[\"float\"], \"Input Strides\": [[2, 1]], \"Input Dims\": [[512, 2]], ");
  /* A wait knows its group, but no tensors. */
  assert_has(text,
             ", \"Collective name\": \"wait\", \"In msg nelems\": 0, \"Out msg nelems\": 0, \"Group size\": 1, "
             "\"dtype\": \"Byte\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group Name\": "
             "\"3\", \"Process Group Description\": \"DATA_PARALLEL_GROUP\", \"Process Group Ranks\": \"[]\", "
             "\"Rank\": 0, \"Is asynchronized op\": 1, \"Concrete Inputs\": [\"\", \"\", \"0\", \"\", \"[]\", "
             "\"[]\", \"-1\", \"-1\", \"1\"]");
  assert_has(
      text,
      "\"shared memory\": 103808,      \"blocks per SM\": 0.181818,      \"warps per SM\": 3.090909,      "
      "\"grid\": [24, 1, 1],      \"block\": [544, 1, 1],      \"est. achieved occupancy %\": 0,      "
      "\"occupancy\": {\"activeBlocksPerMultiprocessor\": 0, \"limitingFactors\": \"SMEM\", "
      "\"blockLimitRegs\": 1, \"blockLimitSharedMem\": 0, \"blockLimitWarps\": 3, \"blockLimitBlocks\": 32, "
      "\"blockLimitBarriers\": 64, \"allocatedRegistersPerBlock\": 52224, \"allocatedSharedMemPerBlock\": 104832}");
  /* The annotation's image: of its one kernel, a nanosecond wider on either side; the step's, of the product. */
  assert_has(text, "\"cat\": \"gpu_user_annotation\", \"name\": \"nccl:all_reduce\", \"pid\": 0, \"tid\": 17,\n"
                   "    \"ts\": 3456000001244.999, \"dur\": 55.003,\n"
                   "    \"args\": {\n"
                   "      \"External id\": 4\n");
  assert_has(text, "\"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#2\", \"pid\": 0, \"tid\": 7,\n"
                   "    \"ts\": 3456000001139.999, \"dur\": 100.002,\n");
  assert_int_equal(count_of(text, "gpu_user_annotation"), 2);
  assert_has(text, "{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \"pg_size\": "
                   "2, \"ranks\": [0, 1]}, {\"pg_name\": \"3\",");
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

static void test_waits_and_stacks(void **state) {
  (void)state;
  struct run run;
  run_start(&run, RECORD_SYNC | RECORD_STACKS | RECORD_ANNOTATIONS);
  feed(&run);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  assert_has(text, "\"cat\": \"cuda_sync\", \"name\": \"Stream Wait Event\", \"pid\": 0, \"tid\": 17,\n"
                   "    \"ts\": 3456000001064.250, \"dur\": 0.500,\n"
                   "    \"args\": {\n"
                   "      \"External id\": 3,      \"cuda_sync_kind\": \"Stream Wait Event\",      "
                   "\"wait_on_stream\": 7,      \"wait_on_cuda_event_record_corr_id\": 8,      "
                   "\"wait_on_cuda_event_id\": 7,      \"stream\": 17, \"correlation\": 9,      \"device\": 0, "
                   "\"context\": 1\n");
  assert_has(text, "\"name\": \"stream 7 (sync)\"");
  assert_has(text, "\"name\": \"Stream Sync\", \"pid\": 0, \"tid\": 1000007,");
  assert_has(text, "\"name\": \"Context Sync\", \"pid\": 0, \"tid\": 1,");
  assert_has(text, "\"cat\": \"user_annotation\", \"name\": \"forward micro-batch 0\"");
  assert_has(text, "\"cat\": \"python_function\", \"name\": \"train.py(3): <module>\", \"pid\": 20240, \"tid\": "
                   "20240,\n"
                   "    \"ts\": 3456000001000.000, \"dur\": 2000.000,\n"
                   "    \"args\": {\n"
                   "      \"Python parent id\": null, \"Python id\": 1, \"Ev Idx\": 8\n");
  assert_has(text, "      \"Python parent id\": 1, \"Python id\": 2, \"Python module id\": 3, \"Ev Idx\": 9\n");
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

/* Kineto shows a wait of a stream for an event only where the stream has shown work; what the host waits for it shows
 * always. */
static void test_waits_of_idle_streams(void **state) {
  (void)state;
  static const enum call kinds[] = {CALL_STREAM_WAIT, CALL_EVENT_SYNC, CALL_STREAM_SYNC, CALL_DEVICE_SYNC};
  struct run run;
  run_start(&run, RECORD_SYNC);
  run.witness.profile(run.witness.self, 0, true, 1000000);
  for (uint32_t i = 0; i < 8; i++) {
    run.witness.host(run.witness.self, &(struct host_record){.is_call = true,
                                                             .call = kinds[i % 4],
                                                             .start = 1000000 + 10000 * i,
                                                             .end = 1005000 + 10000 * i,
                                                             .correlation = 1 + i,
                                                             .awaited = 99,
                                                             .stream = i < 4 ? STREAM_MODEL : STREAM_TENSOR});
  }
  device(&run, STREAM_TENSOR, 20, 0, 1200000, 1300000, 0, &product);
  run.witness.profile(run.witness.self, 0, false, 3000000);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  assert_int_equal(count_of(text, "\"name\": \"Stream Wait Event\""), 1);
  assert_has(text, "\"cat\": \"cuda_sync\", \"name\": \"Stream Wait Event\", \"pid\": 0, \"tid\": 13,");
  assert_has(text, "\"cat\": \"cuda_sync\", \"name\": \"Stream Sync\", \"pid\": 0, \"tid\": 1000025,");
  assert_has(text, "\"cat\": \"cuda_sync\", \"name\": \"Stream Sync\", \"pid\": 0, \"tid\": 1000013,");
  assert_int_equal(count_of(text, "\"name\": \"Event Sync\""), 2);
  /* What they wait for was recorded before the recording. Calls that end a wait begin its flow. */
  assert_int_equal(count_of(text, "\"wait_on_stream\": -1,      \"wait_on_cuda_event_record_corr_id\": -1,"), 3);
  assert_has(text, "\"ph\": \"s\", \"id\": 3,");
  assert_has(text, "\"ph\": \"s\", \"id\": 4,");
  assert_int_equal(count_of(text, "\"name\": \"Context Sync\""), 2);
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

/* An event shows where its stream came to it, if that and its call were recorded. */
static void test_events(void **state) {
  (void)state;
  for (unsigned recorded = 0; recorded <= RECORD_SYNC; recorded += RECORD_SYNC) {
    struct run run;
    run_start(&run, recorded);
    void *self = run.witness.self;
    run.witness.profile(self, 0, true, 1000000);
    run.witness.reach(self, 0, STREAM_COMPUTE, 3, 1050000);
    run.witness.host(self, &(struct host_record){.is_call = true,
                                                 .call = CALL_EVENT_RECORD,
                                                 .start = 1000000,
                                                 .end = 1005000,
                                                 .correlation = 4,
                                                 .stream = STREAM_TENSOR,
                                                 .event = 6});
    call(&run, THREAD_MAIN, CALL_EVENT_RECORD, 5, 0, 1010000, 1015000);
    run.witness.reach(self, 0, STREAM_TENSOR, 4, 1100000);
    run.witness.profile(self, 0, false, 3000000);
    run.witness.reach(self, 0, STREAM_COMPUTE, 5, 3100000);
    assert_true(recorder_write(run.recorder));
    char *text = taken(&run, "rank0.json");
    assert_int_equal(count_of(text, "cudaEventRecord"), 2);
    assert_int_equal(count_of(text, "\"cat\": \"cuda_event\""), recorded != 0);
    if (recorded != 0) {
      assert_has(
          text,
          "\"cat\": \"cuda_event\", \"name\": \"cudaEvent\", \"pid\": 0, \"tid\": 13,\n"
          "    \"ts\": 3456000001100.000, \"dur\": 0.001,\n"
          "    \"args\": {\n"
          "      \"External id\": 4,      \"event_id\": 7, \"stream\": 13, \"correlation\": 4,      \"device\": 0, "
          "\"context\": 1\n");
    }
    free(text);
    free(taken(&run, "rank1.json"));
    free(taken(&run, "truth.json"));
    run_end(&run);
  }
}

/* Every stream on which something runs is one of its own in a trace. */
static void test_streams(void **state) {
  (void)state;
  struct run run;
  run_start(&run, 0);
  run.witness.profile(run.witness.self, 0, true, 1000000);
  for (int stream = 0; stream < WORKING_STREAMS; stream++)
    device(&run, (enum stream)stream, (uint32_t)(1 + stream), 0, 1200000, 1300000, 0, &product);
  run.witness.profile(run.witness.self, 0, false, 3000000);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  static const char key[] = "\"cat\": \"kernel\", \"name\": \"nvjet_tst_128x128\", \"pid\": 0, \"tid\": ";
  long seen[WORKING_STREAMS];
  int count = 0;
  for (const char *at = text; (at = strstr(at, key)) != NULL; at += sizeof key) {
    assert_true(count < WORKING_STREAMS);
    seen[count] = strtol(at + sizeof key - 1, NULL, 10);
    for (int i = 0; i < count; i++)
      assert_true(seen[i] != seen[count]);
    char name[40];
    snprintf(name, sizeof name, "\"name\": \"stream %ld \"", seen[count++]);
    assert_has(text, name);
  }
  assert_int_equal(count, WORKING_STREAMS);
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

/* Of several forward ops with one sequence number the last that began made the node. Real traces: up to 200 of them,
 * and always the last. */
static void test_passes(void **state) {
  (void)state;
  static const struct op_facts forward = {.sequence = 7}, backward = {.sequence = 7, .forward_thread = 1};
  struct run run;
  run_start(&run, 0);
  run.witness.profile(run.witness.self, 0, true, 1000000);
  frame(&run, THREAD_MAIN, FRAME_OP, "aten::dropout", 1, 1000000, 1010000, &forward);
  frame(&run, THREAD_MAIN, FRAME_OP, "aten::dropout_inner", 3, 1030000, 1040000, &forward);
  frame(&run, THREAD_MAIN, FRAME_OP, "aten::add", 2, 1020000, 1050000, &forward);
  frame(&run, THREAD_AUTOGRAD, FRAME_OP, "AddBackward0", 5, 1110000, 1120000, &backward);
  frame(&run, THREAD_AUTOGRAD, FRAME_OP, "autograd::engine::evaluate_function: AddBackward0", 4, 1100000, 1130000,
        &backward);
  frame(&run, THREAD_AUTOGRAD, FRAME_OP, "AddBackward0", 6, 1140000, 1150000, &backward);
  run.witness.profile(run.witness.self, 0, false, 3000000);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  assert_int_equal(count_of(text, "\"cat\": \"fwdbwd\""), 2);
  assert_has(text, "    \"ph\": \"s\", \"id\": 1, \"pid\": 20240, \"tid\": 20240, \"ts\": 3456000001030.000,\n"
                   "    \"cat\": \"fwdbwd\"");
  assert_has(text, "    \"ph\": \"f\", \"id\": 1, \"pid\": 20240, \"tid\": 21412, \"ts\": 3456000001110.000,\n"
                   "    \"cat\": \"fwdbwd\"");
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

/* Compressed or not, the same text; all of it JSON. */
static void test_files(void **state) {
  (void)state;
  char *texts[2];
  for (int plain = 0; plain < 2; plain++) {
    struct run run;
    run_start(&run, 31);
    run.setup.plain = plain == 1;
    feed(&run);
    assert_true(recorder_write(run.recorder));
    texts[plain] = taken(&run, plain == 1 ? "rank0.json" : "rank0.json.gz");
    free(taken(&run, plain == 1 ? "rank1.json" : "rank1.json.gz"));
    char *truth = taken(&run, "truth.json");
    cJSON *parsed = cJSON_Parse(truth);
    assert_non_null(parsed);
    cJSON_Delete(parsed);
    free(truth);
    run_end(&run);
  }
  assert_string_equal(texts[0], texts[1]);
  cJSON *parsed = cJSON_Parse(texts[0]);
  assert_non_null(parsed);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(parsed, "deviceProperties")), 2);
  cJSON_Delete(parsed);
  free(texts[0]);
  free(texts[1]);
}

/* Numbers and texts that fall on the end of the buffer in every way. */
static void test_buffer(void **state) {
  (void)state;
  enum { ROOM = WRITER_BUFFER + 512 };
  static const char longer[] = "a text that is longer than any number and than what may be left behind the end of the "
                               "buffer, so that it has to be cut";
  struct run run;
  run_start(&run, 0);
  char *expected = malloc(ROOM);
  for (int left = 0; left < 150; left++) {
    struct writer *writer = writer_open(run.folder, "file", false);
    size_t length = (size_t)(WRITER_BUFFER - left);
    memset(expected, 'x', length);
    put_bytes(writer, expected, length);
    put_integer(writer, INT64_MIN);
    put_string(writer, longer);
    put_microseconds(writer, -5);
    put_string(writer, "a\"b\\c\n");
    put_microseconds(writer, 1234005);
    put_unsigned(writer, UINT64_MAX);
    put_ratio(writer, 2, 3);
    assert_true(writer_close(writer));
    snprintf(expected + length, ROOM - length,
             "-9223372036854775808\"%s\"0.000\"a\\\"b\\\\c\\u000a\"1234.005184467440737095516150.666667", longer);
    char *text = taken(&run, "file");
    assert_string_equal(text, expected);
    free(text);
  }
  free(expected);
  run_end(&run);
}

static void test_no_folder(void **state) {
  (void)state;
  struct run run;
  run_start(&run, 0);
  rmdir(run.folder);
  assert_false(recorder_write(run.recorder));
  run_end(&run);
}

/* ---- clocks ---- */

static void test_clocks(void **state) {
  (void)state;
  struct setup setup = {
      .parallel = {.tensor = 1, .context = 1, .pipeline = 1, .data = 8}, .network = {.node_size = 4}, .seed = 3};
  struct clock none = clock_of(&setup, 5);
  assert_int_equal(clock_device(&none, 123456789), 123456789);
  setup.mechanisms[MECHANISM_CLOCKS] = true;
  struct clock first = clock_of(&setup, 0), second = clock_of(&setup, 3), third = clock_of(&setup, 4);
  assert_int_equal(first.offset, second.offset);
  assert_int_equal(first.drift_ppb, second.drift_ppb);
  assert_int_not_equal(first.device_offset, second.device_offset);
  assert_int_not_equal(first.offset, third.offset);
  assert_in_range(third.offset + 300000, 0, 600000);
  assert_in_range(third.drift_ppb + 10000, 0, 20000);
  assert_in_range(third.device_offset + 20000, 0, 40000);
  struct clock clock = {.offset = -50, .drift_ppb = -7000, .device_offset = 300};
  assert_int_equal(clock_host(&clock, INT64_C(3600000000000)), INT64_C(3600000000000) - 50 - 25200000);
  assert_int_equal(clock_device(&clock, 1000000), 1000000 - 50 - 7 + 300);
}

/* ---- truth ---- */

static void feed_steps(const struct witness *witness, int64_t slower) {
  for (int rank = 0; rank < 2; rank++) {
    for (int step = 0; step < 2; step++) {
      int64_t start = step * (500000 + slower), end = start + 500000 + slower;
      struct step_record record = {.rank = rank,
                                   .step = step,
                                   .start = start,
                                   .end = rank == 0 ? end : end - 100,
                                   .flops = 1e15,
                                   .host_start = start + 5,
                                   .host_end = end + 6};
      record.activity[ACTIVITY_COMPUTE] = (record.end - record.start) / 2;
      record.activity[ACTIVITY_BUBBLE] = record.end - record.start - record.activity[ACTIVITY_COMPUTE];
      witness->step(witness->self, &record);
    }
  }
}

/* Each thread counts autograd's nodes from 0: what the autograd thread computes again has numbers that the main thread
 * has given, too. Of the ops that saw a number the last before the next made the node. */
static void test_threads_count_apart(void **state) {
  (void)state;
  struct run run;
  run_start(&run, 0);
  const struct op_facts forward = {.sequence = 3}, of_main = {.sequence = 3, .forward_thread = 1},
                        of_autograd = {.sequence = 3, .forward_thread = 2};
  run.witness.profile(run.witness.self, 0, true, 1000000);
  frame(&run, THREAD_MAIN, FRAME_OP, "aten::native_layer_norm", 2, 1110000, 1120000, &forward);
  frame(&run, THREAD_MAIN, FRAME_OP, "aten::layer_norm", 1, 1100000, 1130000, &forward);
  frame(&run, THREAD_AUTOGRAD, FRAME_OP, "aten::clone", 3, 1200000, 1210000, &forward);
  frame(&run, THREAD_AUTOGRAD, FRAME_OP, "CloneBackward0", 5, 1310000, 1320000, &of_autograd);
  frame(&run, THREAD_AUTOGRAD, FRAME_OP, "autograd::engine::evaluate_function: CloneBackward0", 4, 1300000, 1330000,
        &of_autograd);
  frame(&run, THREAD_AUTOGRAD, FRAME_OP, "NativeLayerNormBackward0", 6, 1400000, 1410000, &of_main);
  run.witness.profile(run.witness.self, 0, false, 3000000);
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "rank0.json");
  static const struct {
    char phase;
    int id, thread;
    const char *time;
  } flows[] = {{'s', 2, 20240, "3456000001110.000"},
               {'f', 2, 21412, "3456000001400.000"},
               {'s', 1, 21412, "3456000001200.000"},
               {'f', 1, 21412, "3456000001310.000"}};
  for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
    char flow[160];
    snprintf(flow, sizeof flow,
             "\"ph\": \"%c\", \"id\": %d, \"pid\": 20240, \"tid\": %d, \"ts\": %s,\n    \"cat\": \"fwdbwd\"",
             flows[i].phase, flows[i].id, flows[i].thread, flows[i].time);
    assert_has(text, flow);
  }
  assert_int_equal(count_of(text, "\"cat\": \"fwdbwd\""), 4);
  assert_int_equal(count_of(text, "\"Sequence number\": 3, \"Fwd thread id\": 2"), 2);
  free(text);
  free(taken(&run, "rank1.json"));
  free(taken(&run, "truth.json"));
  run_end(&run);
}

static void test_truth(void **state) {
  (void)state;
  struct run run;
  run_start(&run, RECORD_SHAPES);
  feed(&run);
  struct witness plain = recorder_witness(run.recorder, false);
  assert_null(plain.host);
  feed_steps(&plain, 0);
  feed_steps(&run.witness, 500000);
  const int64_t starts[] = {1245000, 1246000}, ends[] = {1300001, 1300009};
  const uint32_t correlations[] = {10, 77}, no_nodes[] = {0, 0};
  struct transfer_record transfer = {.collective = ALL_REDUCE,
                                     .sequence = 41,
                                     .bytes = 4096,
                                     .source = -1,
                                     .destination = -1,
                                     .members = 2,
                                     .ranks = pair_ranks,
                                     .starts = starts,
                                     .ends = ends,
                                     .correlations = correlations,
                                     .nodes = no_nodes,
                                     .step = 1,
                                     .begin = 1246000,
                                     .end = 1300001};
  run.witness.transfer(run.witness.self, &transfer);
  const int64_t early[] = {100, 100};
  transfer.starts = early;
  run.witness.transfer(run.witness.self, &transfer);
  run.witness.edge(run.witness.self, &(struct edge_record){.from = 7, .to = 10, .binding = true});
  run.witness.edge(run.witness.self, &(struct edge_record){.from = 4, .to = 10});
  run.witness.edge(run.witness.self, &(struct edge_record){.from = 6, .to = 10});
  assert_true(recorder_write(run.recorder));
  char *text = taken(&run, "truth.json");
  assert_has(text, "{\"step\": 1, \"profiled\": {\"start\": 1000000, \"end\": 2000000, \"executed_flops\": "
                   "2000000000000000, \"mfu\": 0.500000, \"bubble\": 0.500000, \"bubble_ratio\": 1.000000, "
                   "\"stage_bubble\": [0.500000], \"ranks\": [\n"
                   "[0, 1000000, 2000000, 500000, 0, 0, 0, 500000, 0, 0, 1000005, 2000006],\n"
                   "[1, 1000000, 1999900, 499950, 0, 0, 0, 499950, 0, 0, 1000005, 2000006]]},\n"
                   "\"unprofiled\": {\"start\": 500000, \"end\": 1000000,");
  assert_int_equal(count_of(text, "{\"step\": "), 1);
  assert_has(text, "\"rows\": [\n[\"3\", \"all_reduce\", 41, 1, 4096, -1, -1, 1246000, 1300001, [0, 1], [1245000, "
                   "1246000], [1300001, 1300009], [10, 77]]]}");
  assert_has(text, "\"tasks\": {\"columns\": [\"correlation\", \"phase\", \"micro_batch\", \"layer\", \"part\"], "
                   "\"rows\": [\n[6, 4, -1, -1, 4],\n[7, 0, 2, 5, 1],\n[10, 1, -1, 5, 1]]}");
  assert_has(text, "\"edges\": {\"columns\": [\"from\", \"to\", \"binding\"], \"rows\": [\n[7, 10, 1],\n[6, 10, 0]]}");
  assert_has(text, "\"counts\": {\"kernels\": 2, \"communication\": 1, \"copies\": 0, \"memsets\": 1, "
                   "\"launched_before\": 1}");
  assert_has(text, "\"arguments\": \"--dp 2\",\n\"seed\": \"7\"");
  assert_has(text, "\"windows\": {\"columns\": [\"rank\", \"start\", \"stop\"], \"rows\": [\n[0, 1000000, 3000000]]}");
  free(text);
  free(taken(&run, "rank0.json"));
  free(taken(&run, "rank1.json"));
  run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_host_rows),
      cmocka_unit_test(test_device_rows),
      cmocka_unit_test(test_inputs),
      cmocka_unit_test(test_window),
      cmocka_unit_test(test_collectives),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_waits_and_stacks),
      cmocka_unit_test(test_waits_of_idle_streams),
      cmocka_unit_test(test_events),
      cmocka_unit_test(test_passes),
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_buffer),
      cmocka_unit_test(test_no_folder),
      cmocka_unit_test(test_clocks),
      cmocka_unit_test(test_truth),
      cmocka_unit_test(test_threads_count_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
