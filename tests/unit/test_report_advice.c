/* Nobody is advised to do what the job does already: kernels by their names, of times that are given. */
#include "unit/report_job.h"

#include "report/content/advice.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST_KERNELS = 3 };

struct kernel {
  const char *name; /* NULL: no more */
  int64_t dur;
};

/* Kernels of one kind, launched one by one unless the call says otherwise. */
static struct lumos_job *job_of(enum lumos_task_kind kind, const struct kernel kernels[MOST_KERNELS],
                                const char *call) {
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 0);
  uint32_t thread = add_lane(job, rank, "t1", LUMOS_THREAD);
  uint32_t stream = add_lane(job, rank, "s7", LUMOS_STREAM);
  job->ranks.items[rank].device_name = lumos_intern_text(job->strings, "NVIDIA H100 80GB HBM3");
  uint32_t launch = add_task(job, thread, LUMOS_LAUNCH, call, 0, 1);
  for (int i = 0; i < MOST_KERNELS && kernels[i].name != NULL; i++) {
    uint32_t task = add_task(job, stream, kind, kernels[i].name, 100 * i, kernels[i].dur);
    job->tasks.items[task].call = launch;
    job->tasks.items[task].phase = LUMOS_FORWARD;
  }
  finish_job(job);
  return job;
}

static void expect_of(const struct report_practice *practice, const char *kind, const char *expected) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  assert_true(report_put_advice(practice, kind, &text));
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, expected);
  lumos_text_free(&text);
}

static struct report_practice practice_of(struct lumos_job *job) {
  struct report_facts facts;
  struct report_practice practice;
  report_facts_read(job, &facts);
  report_practice_read(&facts, true, &practice);
  report_facts_free(&facts);
  return practice;
}

#define FOREACH "multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<float, 2, 2, 0> >"
#define FUSED "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float, 4> >"
#define CAST "vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda()>"

static const struct {
  enum lumos_task_kind kind;
  const char *name;
  struct kernel kernels[MOST_KERNELS];
  const char *advice;
} left[] = {
    {LUMOS_GEMM,
     "gemm",
     {{"a_gemm", 40}},
     "Use tensor cores better: fp16 or bf16 (fp8 where the GPU has it), sizes in multiples of 64, larger "
     "micro-batches."},
    {LUMOS_GEMM,
     "gemm",
     {{"nvjet_sm90_tst_128x256", 40}},
     "Try larger micro-batches or fp8: GEMMs already run in bf16."},
    {LUMOS_GEMM,
     "gemm",
     {{"nvjet_sm90_qqtst_128x256", 30}, {"nvjet_sm90_tst_128x256", 10}},
     "Try larger micro-batches: GEMMs already run in fp8."},
    {LUMOS_GEMM,
     "gemm",
     {{"ampere_sgemm_128x64_tn", 30}, {"nvjet_tst_128x256", 10}},
     "Multiply in bf16 or fp16 instead of fp32 or TF32."},
    {LUMOS_GEMM,
     "gemm",
     {{"ampere_sgemm_128x64_tn", 10}, {"nvjet_tst_128x256", 30}},
     "Multiply in bf16 or fp16 everywhere: some GEMMs still use fp32 or TF32."},
    {LUMOS_ATTENTION,
     "attention",
     {{"my_attention", 40}},
     "Use a fused attention kernel: FlashAttention, or scaled_dot_product_attention."},
    {LUMOS_ATTENTION,
     "attention",
     {{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", 40}},
     "Attend to fewer tokens, such as in windows: attention kernels are fused already."},
    {LUMOS_ATTENTION,
     "attention",
     {{"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128> >", 40}},
     "Use FlashAttention-3 or cuDNN\xE2\x80\x99s attention, which are made for this GPU: it now runs "
     "FlashAttention-2."},
    {LUMOS_OPTIMIZER, "optimizer", {{FOREACH, 40}}, "Use a fused optimizer (fused=True)."},
    {LUMOS_OPTIMIZER,
     "optimizer",
     {{FUSED, 30}, {FOREACH, 10}},
     "Keep the optimizer\xE2\x80\x99s state in fewer bytes: it is fused already."},
    {LUMOS_ELEMENTWISE, "elementwise", {{"add", 40}}, "Fuse elementwise kernels with torch.compile."},
    {LUMOS_ELEMENTWISE,
     "elementwise",
     {{"add", 10}, {CAST, 30}},
     "Convert and copy less, which most of it is: keep weights in the format that GEMMs read, or compile with "
     "torch.compile."},
    {LUMOS_ELEMENTWISE,
     "elementwise",
     {{"add", 10}, {"triton_poi_fused_add_3", 30}},
     "Look for graph breaks: torch.compile already fuses most of this time."},
    {LUMOS_NORM,
     "norm",
     {{"triton_per_fused_native_layer_norm_1", 30}},
     "Move fewer bytes, such as in narrower formats: torch.compile already fuses these kernels."},
    {LUMOS_NORM,
     "norm",
     {{"vectorized_layer_norm_kernel", 30}},
     "Fuse normalization with its neighbors (torch.compile, Transformer Engine)."},
    {LUMOS_REDUCTION,
     "reduction",
     {{"cunn_SoftMaxForward<LogSoftMaxForwardEpilogue>", 30}},
     "Fuse the loss with the output head (a chunked cross entropy): most of it is the softmax of the loss."},
    {LUMOS_COPY,
     "copy",
     {{"Memcpy HtoD (Pageable -> Device)", 30}},
     "Pin CPU memory, copy with non_blocking=True, and keep data on the GPU."},
    {LUMOS_COPY,
     "copy",
     {{"Memcpy HtoD (Pinned -> Device)", 30}},
     "Keep data on the GPU, or copy on a stream of its own: memory is pinned already."},
    {LUMOS_COPY,
     "copy",
     {{"Memcpy DtoD (Device -> Device)", 30}},
     "Avoid clones and concatenations: most of it is copied within the GPU."},
};

static void what_is_left(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
    struct lumos_job *job = job_of(left[i].kind, left[i].kernels, "cudaLaunchKernel");
    struct report_practice practice = practice_of(job);
    expect_of(&practice, left[i].name, left[i].advice);
    lumos_job_free(job);
  }
}

static void expect_graphs(const struct report_practice *practice, const char *clause, const char *change) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_graphs_advice(practice, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, clause);
  text.length = 0;
  assert_true(report_put_change_advice(practice, "cuda_graphs", &text));
  lumos_text_char(&text, '\0');
  assert_non_null(strstr(text.bytes, change));
  lumos_text_free(&text);
}

/* Three kernels in a graph and one of the optimizer beside it. */
/* A change that takes all launches away: who then captures them in graphs? */
static void launches_that_are_gone(void **state) {
  (void)state;
  const struct kernel kernels[MOST_KERNELS] = {{"add", 10}, {"add", 10}, {"add", 10}};
  struct lumos_job *job = job_of(LUMOS_ELEMENTWISE, kernels, "cudaLaunchKernel");
  job->edited = 1;
  struct report_practice practice = practice_of(job);
  assert_false(practice.launches_nothing);
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    task->kind = task->kind == LUMOS_LAUNCH ? LUMOS_OP : task->kind;
  }
  practice = practice_of(job);
  expect_of(&practice, "host", "Do less on the CPU: the change left no launches.");
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_graphs_advice(&practice, &text);
  assert_int_equal(text.length, strlen("Do less on the CPU"));
  lumos_text_free(&text);
  job->edited = 0; /* a recording of what CUDA alone knows has no calls either */
  practice = practice_of(job);
  expect_of(&practice, "host",
            "Launch less from the CPU: capture the step in CUDA graphs, compile it with torch.compile, or fuse small "
            "kernels.");
  lumos_job_free(job);
}

static void graphs_that_are_there(void **state) {
  (void)state;
  const struct kernel kernels[MOST_KERNELS] = {{"add", 10}, {"add", 10}, {"add", 10}};
  struct lumos_job *job = job_of(LUMOS_ELEMENTWISE, kernels, "cudaLaunchKernel");
  struct report_practice practice = practice_of(job);
  expect_graphs(&practice, "Capture the step in CUDA graphs", "Capture each pass in a CUDA graph: ");
  lumos_job_free(job);
  job = job_of(LUMOS_ELEMENTWISE, kernels, "cudaGraphLaunch");
  practice = practice_of(job);
  practice.single[LUMOS_OPTIMIZER_PHASE] = 1;
  assert_int_equal(practice.replayed, 3);
  assert_true(report_practice_uses_graphs(&practice));
  expect_graphs(&practice, "Capture the optimizer in CUDA graphs, too (capturable=True)",
                "Capture the optimizer in CUDA graphs, too (capturable=True).");
  expect_of(&practice, "host", "Capture the optimizer in CUDA graphs, too (capturable=True), or fuse small kernels.");
  lumos_job_free(job);
}

/* Of the peak, and of what the GPU's best product reaches: by figures that are given. */
static void what_is_reached(void **state) {
  (void)state;
  struct report_practice practice = {.gemm_peak = 790000, .best_product = 803000, .attention_peak = LUMOS_ABSENT};
  practice.time[LUMOS_GEMM] = practice.formats[LUMOS_BF16] = 1000;
  expect_of(&practice, "gemm", "Multiply less: GEMMs already run in bf16, at 79.0\xC2\xA0% of peak.");
  practice.has_fp8 = true;
  practice.again = 250;
  expect_of(&practice, "gemm", "Try fp8 or recomputing less: GEMMs already run in bf16, at 79.0\xC2\xA0% of peak.");
  practice.gemm_peak = 400000;
  expect_of(&practice, "gemm",
            "Try larger micro-batches, fp8 or recomputing less: GEMMs already run in bf16, at 40.0\xC2\xA0% of peak.");
  practice.sized = 1000;
  practice.aligned = 700;
  expect_of(&practice, "gemm", "Make the sizes of all GEMMs multiples of 64.");
}

/* Replicas that shard their optimizer already, and gradients that are narrow already. */
static void what_replicas_do(void **state) {
  (void)state;
  struct report_practice practice = {.has_replicas = true};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  practice.time[LUMOS_OPTIMIZER] = 1000;
  expect_of(&practice, "optimizer", "Use a fused optimizer (fused=True), or shard it over replicas.");
  practice.shards_optimizer = true;
  expect_of(&practice, "optimizer", "Use a fused optimizer (fused=True).");
  assert_true(report_put_change_advice(&practice, "faster_network", &text));
  lumos_text_char(&text, '\0');
  assert_non_null(strstr(text.bytes, "reduce gradients in bf16"));
  text.length = 0;
  practice.narrow_gradients = true;
  assert_true(report_put_change_advice(&practice, "faster_network", &text));
  lumos_text_char(&text, '\0');
  assert_null(strstr(text.bytes, "reduce gradients in bf16"));
  assert_false(report_put_change_advice(&practice, "something_new", &text));
  lumos_text_free(&text);
}

static void expect_change(const struct report_practice *practice, const char *change, const char *part);

/* A job that is compiled launches less by graphs alone; one with graphs launches its rest in them. */
static void what_launches_less(void **state) {
  (void)state;
  struct report_practice practice = {0};
  practice.time[LUMOS_NORM] = 100;
  expect_of(&practice, "host",
            "Launch less from the CPU: capture the step in CUDA graphs, compile it with torch.compile, or fuse small "
            "kernels.");
  expect_of(&practice, "launch", "Launch fewer, larger kernels, or replay them from CUDA graphs.");
  expect_change(&practice, "fused_kernels", "Compile the model with torch.compile, or use");
  practice.compiled[LUMOS_NORM] = 20;
  expect_of(&practice, "host",
            "Launch less from the CPU: capture the step in CUDA graphs (torch.compile, mode=\"reduce-overhead\").");
  expect_change(&practice, "fused_kernels", "torch.compile is used already.");
  static const char breaks[] =
      "Look for graph breaks: torch.compile is used already, but fuses less than half of this time.";
  practice.time[LUMOS_ELEMENTWISE] = practice.time[LUMOS_REDUCTION] =
      100; /* which nobody is advised to begin with then */
  expect_of(&practice, "elementwise", breaks);
  expect_of(&practice, "reduction", breaks);
  practice.conversions = 60;
  expect_of(&practice, "elementwise",
            "Convert and copy less, which most of it is: keep weights in the format that GEMMs read.");
  practice.replayed = 80;
  practice.single[LUMOS_BACKWARD] = 20;
  expect_of(&practice, "launch", "Capture the rest of the backward pass in CUDA graphs.");
  practice.time[LUMOS_EMBEDDING] = 100;
  expect_of(&practice, "embedding", "Fuse or shard embedding tables, and look up each row once.");
  practice.fused_embedding = 50;
  expect_of(&practice, "embedding",
            "Look up each row once, or shard embedding tables further: lookups are fused already.");
}

static void expect_change(const struct report_practice *practice, const char *change, const char *part) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  assert_true(report_put_change_advice(practice, change, &text));
  lumos_text_char(&text, '\0');
  assert_non_null(strstr(text.bytes, part));
  lumos_text_free(&text);
}

/* Communication that is hidden already, and what of it can be tuned. */
static void what_is_overlapped(void **state) {
  (void)state;
  struct report_practice practice = {.overlapped = 49, .exposed = 51};
  expect_of(&practice, "communication", "Overlap communication with computation, or send fewer bytes.");
  practice.has_replicas = true;
  expect_of(&practice, "communication", "Overlap communication with computation: tune the bucket size.");
  expect_change(&practice, "overlapped_gradients", "smaller buckets in DDP");
  practice.gathers = true;
  expect_of(&practice, "communication",
            "Overlap communication with computation: tune the bucket size and prefetching.");
  practice.shards_optimizer = true;
  expect_of(&practice, "communication", "Overlap communication with computation: tune prefetching.");
  expect_change(&practice, "overlapped_gradients", "backward prefetching in FSDP");
  practice = (struct report_practice){.overlapped = 49, .exposed = 51, .has_replicas = true, .hides_gradients = true};
  expect_of(&practice, "communication", "Overlap communication with computation, or send fewer bytes.");
  practice.overlapped = 51;
  expect_of(&practice, "communication",
            "Send fewer bytes, or use faster links: most communication is overlapped already.");
}

/* Ranks that are late for their CPUs, for their GPUs, and for both. */
static void what_ranks_are_late_by(void **state) {
  (void)state;
  struct report_practice practice = {.late_cpu = 90, .late_gpu = 10};
  expect_of(&practice, "stragglers", "Even out the ranks\xE2\x80\x99 CPUs: the same work and CPU cores for each.");
  expect_change(&practice, "no_straggler", "compare its CPU and input pipeline with");
  practice = (struct report_practice){.late_cpu = 10, .late_gpu = 90};
  expect_of(&practice, "stragglers",
            "Even out the ranks\xE2\x80\x99 GPUs: the same work, clocks and power limits for each.");
  expect_change(&practice, "no_straggler", "compare its GPU clocks, power limit and input sizes with");
  practice = (struct report_practice){.late_cpu = 89, .late_gpu = 11};
  expect_of(&practice, "stragglers", "Even out ranks: the same work, GPU clocks and CPU cores for each.");
  expect_change(&practice, "no_straggler", "compare its CPU, GPU clocks and input pipeline with");
}

/* Two kernels, a wait for 30 and another kernel: the pass cannot be captured as it is. A wait before its first kernel,
 * and one of the optimizer, cut nothing. */
static void waits_within_a_pass(void **state) {
  (void)state;
  static const struct {
    uint8_t phase;
    bool first;
    int64_t blocked;
  } cases[] = {{LUMOS_FORWARD, false, 30}, {LUMOS_FORWARD, true, 0}, {LUMOS_OPTIMIZER_PHASE, false, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = lumos_job_new();
    uint32_t rank = add_rank(job, 0);
    uint32_t thread = add_lane(job, rank, "t1", LUMOS_THREAD);
    uint32_t tasks[2];
    tasks[cases[i].first] = add_task(job, thread, cases[i].first ? LUMOS_SYNC : LUMOS_LAUNCH,
                                     cases[i].first ? "cudaStreamSynchronize" : "cudaLaunchKernel", 0, 30);
    tasks[!cases[i].first] = add_task(job, thread, cases[i].first ? LUMOS_LAUNCH : LUMOS_SYNC,
                                      cases[i].first ? "cudaLaunchKernel" : "cudaStreamSynchronize", 40, 30);
    for (int t = 0; t < 2; t++) {
      job->tasks.items[tasks[t]].phase = cases[i].phase;
      if (job->tasks.items[tasks[t]].kind == LUMOS_SYNC) {
        lumos_task_detail(job, &job->tasks.items[tasks[t]])->wait.on = LUMOS_WAIT_STREAM;
      }
    }
    (void)add_task(job, add_lane(job, rank, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 50, 10);
    finish_job(job);
    struct report_practice practice = practice_of(job);
    assert_int_equal(practice.blocked, cases[i].blocked);
    expect_change(&practice, "cuda_graphs",
                  cases[i].blocked > 0 ? "Remove synchronizations from the passes, then capture each in a CUDA graph: "
                                       : "Capture each pass in a CUDA graph: ");
    lumos_job_free(job);
  }
}

/* A memset of 40 within zero_grad, and elsewhere. */
static void what_is_cleared(void **state) {
  (void)state;
  struct report_practice practice = {0};
  practice.time[LUMOS_MEMSET] = 100;
  practice.of_zero_grad = 19;
  expect_of(&practice, "memset", "Clear fewer buffers: allocate those that are written whole with torch.empty.");
  practice.of_zero_grad = 20;
  expect_of(&practice, "memset", "Let gradients go instead of clearing them: zero_grad(set_to_none=True).");
  practice.time[LUMOS_OTHER_DEVICE] = 100;
  expect_of(&practice, "other", "Fuse or replace the longest of these kernels.");
  practice.compiled[LUMOS_OTHER_DEVICE] = 50;
  expect_of(&practice, "other", "Replace the longest of these kernels: torch.compile already fuses most of this time.");
  const struct kernel kernels[MOST_KERNELS] = {{"Memset (Device)", 40}};
  struct lumos_job *job = job_of(LUMOS_MEMSET, kernels, "cudaMemsetAsync");
  assert_int_equal(practice_of(job).of_zero_grad, 0);
  struct lumos_span span = lumos_span_empty;
  span.kind = LUMOS_SPAN_ANNOTATION;
  span.parent = LUMOS_NONE;
  span.name = lumos_intern_text(job->strings, "Optimizer.zero_grad#AdamW.zero_grad");
  lumos_vector_push(&job->spans, span);
  span.parent = 0;
  span.name = lumos_intern_text(job->strings, "aten::zero_");
  lumos_vector_push(&job->spans, span);
  job->tasks.items[job->tasks.count - 1].span = 1;
  struct report_practice within = practice_of(job);
  assert_int_equal(within.of_zero_grad, 40);
  lumos_job_free(job);
}

static void expect_group(const struct report_practice *practice, const struct lumos_job *job, uint8_t role,
                         const char *expected) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_group group = job->groups.items[0];
  group.role = role;
  report_put_group_advice(practice, job, &group, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, expected);
  lumos_text_free(&text);
}

/* A group that waits for 60 and transfers for 50, then the other way round. */
static void what_groups_do(void **state) {
  (void)state;
  const struct kernel kernels[MOST_KERNELS] = {{"gemm", 40}};
  struct lumos_job *job = job_of(LUMOS_GEMM, kernels, "cudaLaunchKernel");
  struct lumos_group group = lumos_group_empty;
  group.id = lumos_intern_text(job->strings, "pg");
  lumos_vector_push(&job->groups, group);
  add_metric(job, "collective_wait", 0, 0, LUMOS_METRIC_MEASURED, 60, 0);
  job->metrics.items[job->metrics.count - 1].scope.group = group.id;
  add_metric(job, "collective_transfer", 0, 0, LUMOS_METRIC_MEASURED, 50, 0);
  job->metrics.items[job->metrics.count - 1].scope.group = group.id;
  struct report_practice practice = {.exposed = 100};
  expect_group(&practice, job, LUMOS_EXPERT,
               "Balance tokens over experts: ranks wait for each other for longer than the all-to-all takes.");
  expect_group(&practice, job, LUMOS_PIPELINE,
               "Balance the stages: they wait for each other for longer than transfers take.");
  practice.balances_stages = true;
  expect_group(&practice, job, LUMOS_PIPELINE,
               "Use more micro-batches: stages wait for each other for longer than transfers take.");
  expect_group(&practice, job, LUMOS_TENSOR,
               "Overlap tensor-parallel communication (sequence parallelism, async TP), or use a smaller "
               "tensor-parallel size.");
  expect_group(&practice, job, LUMOS_DATA,
               "Overlap gradient communication with the backward pass: tune bucket_cap_mb, or accumulate over more "
               "micro-batches.");
  practice.hides_gradients = true;
  expect_group(&practice, job, LUMOS_DATA,
               "Accumulate gradients over more micro-batches, or reduce them in fewer bytes: there is no more to "
               "overlap.");
  job->metrics.items[job->metrics.count - 1].value.units = 60;
  expect_group(&practice, job, LUMOS_EXPERT, "Overlap the all-to-all with computation.");
  expect_group(&practice, job, LUMOS_CONTEXT, "Overlap context-parallel exchanges with attention.");
  practice.overlapped = 101;
  expect_group(&practice, job, LUMOS_EXPERT,
               "Send fewer bytes, or use faster links: most communication is overlapped already.");
  expect_group(&practice, job, LUMOS_TENSOR,
               "Use a smaller tensor-parallel size: most communication is overlapped already.");
  lumos_job_free(job);
}

/* What the simulation found nothing to gain by: it must have been asked. */
static void what_simulations_say(void **state) {
  (void)state;
  const struct kernel kernels[MOST_KERNELS] = {{"gemm", 40}};
  struct lumos_job *job = job_of(LUMOS_GEMM, kernels, "cudaLaunchKernel");
  struct report_practice practice = practice_of(job);
  assert_false(practice.hides_gradients || practice.balances_stages);
  add_metric(job, "opportunity_change", LUMOS_ABSENT_INT, 0, LUMOS_METRIC_SIMULATED, 90, 0);
  job->metrics.items[job->metrics.count - 1].scope.kind = lumos_intern_text(job->strings, "balanced_stages");
  practice = practice_of(job);
  assert_true(practice.hides_gradients && !practice.balances_stages);
  job->metrics.items[job->metrics.count - 1].scope.kind = lumos_intern_text(job->strings, "overlapped_gradients");
  practice = practice_of(job);
  assert_true(!practice.hides_gradients && practice.balances_stages);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_left),          cmocka_unit_test(launches_that_are_gone),
      cmocka_unit_test(graphs_that_are_there), cmocka_unit_test(what_is_reached),
      cmocka_unit_test(what_replicas_do),      cmocka_unit_test(what_launches_less),
      cmocka_unit_test(what_is_overlapped),    cmocka_unit_test(what_ranks_are_late_by),
      cmocka_unit_test(waits_within_a_pass),   cmocka_unit_test(what_is_cleared),
      cmocka_unit_test(what_groups_do),        cmocka_unit_test(what_simulations_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
