/* lumos_hta: that tool's figures of hand-made traces, as its definitions give them on paper. */
#include "sim/hta/rows.h"
#include "trace_files.h"

#include <lumos/hta.h>
#include <lumos/sim.h>
#include <lumos/transform.h>
#include <math.h>

#define COPY(name, category, stream, correlation, ts, dur)                                                 \
  "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":0,\"tid\":" #stream ",\"ts\":" #ts \
  ",\"dur\":" #dur ",\"args\":{\"device\":0,\"stream\":" #stream ",\"correlation\":" #correlation "}}"
#define LAUNCH(correlation, ts) CALL("cudaLaunchKernel", correlation, ts, 1)
#define TRITON(name, stream, ts, dur) EVENT("cpu_op", name, 10, ts, dur, "\"stream\":" #stream)
#define OVERLAY(name, ts, dur) EVENT("gpu_user_annotation", name, 7, ts, dur, "\"External id\":1")

static struct lumos_job *simulate(const char *text) {
  struct lumos_error error = {0};
  struct lumos_job *job = parse_good(text, NULL);
  if (!lumos_simulate(job, &error) || !lumos_hta(job, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

/* Its value in millionths; LUMOS_ABSENT when there is none. `stream` by its number, 0: of no stream; kind and name may
 * be NULL. */
static int64_t value_of(const struct lumos_job *job, const char *metric_name, int stream, const char *kind,
                        const char *name) {
  char number[16];
  (void)snprintf(number, sizeof number, "s%d", stream);
  const char *of = stream != 0 ? number : name == NULL ? "" : name;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const struct lumos_scope *scope = &metric->scope;
    if (strcmp(string_of(job, metric->name), metric_name) == 0 && scope->lane == LUMOS_NONE &&
        strcmp(string_of(job, scope->kind), kind == NULL ? "" : kind) == 0 &&
        strcmp(string_of(job, scope->name), of) == 0) {
      int64_t units = metric->value.units;
      for (int decimals = metric->value.decimals; decimals < 6; decimals++) {
        units *= 10;
      }
      return units;
    }
  }
  return LUMOS_ABSENT;
}

static void expect(const struct lumos_job *job, const char *metric, int stream, const char *kind, const char *name,
                   double value) {
  int64_t found = value_of(job, metric, stream, kind, name);
  if (found == LUMOS_ABSENT || found != (int64_t)(value * 1e6 + (value < 0 ? -0.5 : 0.5))) {
    fail_msg("%s of %s %s on s%d is %.6f, not %.6f", metric, kind == NULL ? "all" : kind, name == NULL ? "" : name,
             stream, (double)found / 1e6, value);
  }
}
#define OF_RANK(metric, value) expect(job, metric, 0, NULL, NULL, value)
#define OF_KIND(metric, kind, value) expect(job, metric, 0, kind, NULL, value)
#define OF_STREAM(metric, stream, value) expect(job, metric, stream, NULL, NULL, value)
#define OF_KERNEL(metric, kind, name, value) expect(job, metric, 0, kind, name, value)

/* s7: gemm 10-30, a copy 50-60, gemm 75-80 and 120-121; s20: nccl 25-40. */
#define FIVE_ROWS                                                                          \
  OP("aten::mm", 0, 130)                                                                   \
  "," LAUNCH(1, 0) "," KERNEL("gemm", 7, 1, 10, 20) "," LAUNCH(2, 2) "," KERNEL(           \
      "ncclDevKernel_AllReduce", 20, 2, 25,                                                \
      15) "," CALL("cudaMemcpyAsync", 3, 4,                                                \
                   1) "," COPY("Memcpy DtoH (Device -> Pageable)", "gpu_memcpy", 7, 3, 50, \
                               10) "," LAUNCH(4, 70) "," KERNEL("gemm", 7, 4, 75,          \
                                                                5) "," LAUNCH(5, 71) "," KERNEL("gemm", 7, 5, 120, 1)

static void all_analyses_of_five_rows(void **state) {
  (void)state;
  struct lumos_job *job = simulate(TRACE(FIVE_ROWS));
  OF_RANK("hta_gpu_rows", 5);
  /* 10-121; busy 10-40, 50-60, 75-80, 120-121: 46 of 111; compute 20 + 5 + 1. */
  OF_RANK("hta_kernel_time", 111);
  OF_RANK("hta_idle_time", 65);
  OF_RANK("hta_compute_time", 26);
  OF_RANK("hta_non_compute_time", 20);
  OF_RANK("hta_idle_time_pctg", 58.56);         /* 58.5586 */
  OF_RANK("hta_compute_time_pctg", 23.42);      /* 23.4234 */
  OF_RANK("hta_non_compute_time_pctg", 18.02);  /* 18.0180 */
  OF_RANK("hta_comp_comm_overlap_pctg", 33.33); /* 5 of 15 */
  /* Compute alone 15 + 5 + 1, both 5, communication alone 10, the copy 10: 46. */
  OF_KIND("hta_kernel_type_time", "COMPUTATION", 21);
  OF_KIND("hta_kernel_type_time", "COMPUTATION overlapping COMMUNICATION", 5);
  OF_KIND("hta_kernel_type_time", "COMMUNICATION", 10);
  OF_KIND("hta_kernel_type_time", "MEMORY", 10);
  OF_KIND("hta_kernel_type_pctg", "COMPUTATION", 45.7);
  OF_KIND("hta_kernel_type_pctg", "MEMORY", 21.7);
  OF_KIND("hta_kernel_type_pctg_no_memory", "COMPUTATION", 58.3); /* 21 of 36 */
  assert_int_equal(value_of(job, "hta_kernel_type_time_no_memory", 0, "MEMORY", NULL), LUMOS_ABSENT);
  /* gemm 20, 5, 1: mean 26 / 3, squares 128.4444 + 13.4444 + 58.7778 = 200.6667, halved 100.3333. */
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "gemm", 26);
  OF_KERNEL("hta_kernel_max", "COMPUTATION", "gemm", 20);
  OF_KERNEL("hta_kernel_min", "COMPUTATION", "gemm", 1);
  OF_KERNEL("hta_kernel_mean", "COMPUTATION", "gemm", 8.666667);
  OF_KERNEL("hta_kernel_stddev", "COMPUTATION", "gemm", 10.016653);
  OF_KERNEL("hta_kernel_stddev", "COMMUNICATION", "ncclDevKernel_AllReduce", 0); /* of one */
  /* The copy 20 behind gemm, launched before that ended; gemm 15 behind the copy, launched 10 behind it; gemm 40 behind
   * gemm. */
  expect(job, "hta_idle_breakdown_time", 7, "kernel_wait", NULL, 20);
  expect(job, "hta_idle_breakdown_time", 7, "host_wait", NULL, 15);
  expect(job, "hta_idle_breakdown_time", 7, "other", NULL, 40);
  expect(job, "hta_idle_breakdown_ratio", 7, "kernel_wait", NULL, 0.27);
  expect(job, "hta_idle_breakdown_ratio", 7, "host_wait", NULL, 0.2);
  expect(job, "hta_idle_breakdown_ratio", 7, "other", NULL, 0.53);
  expect(job, "hta_idle_breakdown_time", 20, "other", NULL, 0); /* a first row has no gap, and counts there */
  assert_int_equal(value_of(job, "hta_idle_breakdown_ratio", 20, "other", NULL), LUMOS_ABSENT); /* 0 of 0 */
  /* s7: +0 +4 -10 -50 +70 +71 -75 -120: 1 2 1 0 1 2 1 0. */
  OF_STREAM("hta_queue_length_count", 7, 8);
  OF_STREAM("hta_queue_length_mean", 7, 1);
  OF_STREAM("hta_queue_length_std", 7, 0.755929); /* the root of 4 / 7 */
  OF_STREAM("hta_queue_length_min", 7, 0);
  OF_STREAM("hta_queue_length_p25", 7, 0.75);
  OF_STREAM("hta_queue_length_p50", 7, 1);
  OF_STREAM("hta_queue_length_p75", 7, 1.25);
  OF_STREAM("hta_queue_length_max", 7, 2);
  assert_int_equal(value_of(job, "hta_full_queue_time", 7, NULL, NULL), LUMOS_ABSENT);
  lumos_job_free(job);
}

/* One row, so the kernel time is how long it lasts. At this date doubles are a quarter of a microsecond apart: .1 is
 * .0, whose ceiling is itself, and .0 + .9 is 1. */
static void times_are_rounded_as_doubles(void **state) {
  (void)state;
  struct lumos_job *job =
      simulate(TRACE(LAUNCH(1, 1712195495519700.25) "," KERNEL("gemm", 7, 1, 1712195495519703.1, 0.9)));
  OF_RANK("hta_kernel_time", 1);
  lumos_job_free(job);
  /* .0 + 1.8 is .75 of the next one, though .1 + 1.8 would be 2. */
  job = simulate(TRACE(LAUNCH(1, 1712195495519700.25) "," KERNEL("gemm", 7, 1, 1712195495519703.1, 1.8)));
  OF_RANK("hta_kernel_time", 1);
  lumos_job_free(job);
  job = simulate(TRACE(LAUNCH(1, 1.5) "," KERNEL("gemm", 7, 1, 10.2, 9.9))); /* 11 to 20 */
  OF_RANK("hta_kernel_time", 9);
  lumos_job_free(job);
  job = simulate(TRACE(LAUNCH(1, 1.5) "," KERNEL("gemm", 7, 1, 10.2, 0.5))); /* 11 to 10 */
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "gemm", -1);
  lumos_job_free(job);
}

static void halves_are_rounded_to_even(void **state) {
  (void)state;
  assert_int_equal(hta_rounded(3.125, 2).units, 312);
  assert_int_equal(hta_rounded(3.375, 2).units, 338);
  assert_int_equal(hta_rounded(6.25, 1).units, 62);
  assert_int_equal(hta_rounded(-0.5 / 100, 2).units, 0);
  assert_int_equal(hta_rounded((double)NAN, 2).units, LUMOS_ABSENT);
  const int64_t values[] = {1, 2, 4, 8};
  assert_true(hta_quantile(values, 4, 0.8) ==
              8 - 4 * (1 - (3 * 0.8 - 2))); /* between the 3rd and the 4th, from above */
  assert_true(hta_quantile(values, 1, 0.8) == 1);
}

/* Steps from 0 and 100: what was launched from 100 on is not there, nor what nobody launched; what a host row of a
 * stream does before is. */
#define TWO_STEPS(more)                                                                                  \
  TRACE(ANNOTATION("ProfilerStep#1", 0, 100) "," ANNOTATION("ProfilerStep#2", 100, 100) more             \
        "," LAUNCH(1, 10) "," KERNEL("gemm", 7, 1, 20, 30) "," KERNEL("lost", 7, 99, 50, 10) "," TRITON( \
            "triton_mm", 7, 60, 5) "," LAUNCH(2, 110) "," KERNEL("gemm", 7, 2, 120, 40))

static void the_last_step_is_left_out(void **state) {
  (void)state;
  struct lumos_job *job = simulate(TWO_STEPS(""));
  OF_RANK("hta_gpu_rows", 2);
  OF_RANK("hta_kernel_time", 45); /* 20 to 65 */
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "gemm", 30);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "triton_mm", 5);
  lumos_job_free(job);
  /* The mark over the stream starts later than the host's, so the launch at 110 is before the last step. */
  job = simulate(TWO_STEPS("," OVERLAY("ProfilerStep#2", 115, 80)));
  OF_RANK("hta_gpu_rows", 3);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "gemm", 70);
  lumos_job_free(job);
}

/* Of two rows that start at 21, the host's, from 21 to 20, is first in the file, but behind where a step is left out:
 * nothing is idle. In the order of the file the second one does not touch it, and they last 8 together. */
static void the_host_s_rows_stand_behind_what_is_left(void **state) {
  (void)state;
#define AT_21 TRITON("triton_mm", 7, 20.2, 0.5) "," LAUNCH(1, 10.5) "," KERNEL("gemm", 7, 1, 20.5, 9.9)
  struct lumos_job *job =
      simulate(TRACE(ANNOTATION("ProfilerStep#1", 0, 100) "," ANNOTATION("ProfilerStep#2", 100, 100) "," AT_21));
  OF_RANK("hta_gpu_rows", 2);
  OF_RANK("hta_idle_time", 0);
  lumos_job_free(job);
  job = simulate(TRACE(AT_21));
  OF_RANK("hta_kernel_time", 9);
  OF_RANK("hta_idle_time", 1);
  lumos_job_free(job);
}

static void one_step_is_kept_whole(void **state) {
  (void)state;
  struct lumos_job *job = simulate(TRACE(ANNOTATION("ProfilerStep#1", 0, 100) "," LAUNCH(1, 10) "," KERNEL(
      "gemm", 7, 1, 20, 30) "," KERNEL("lost", 7, 99, 50, 10) "," LAUNCH(2, 110) "," KERNEL("gemm", 7, 2, 120, 40)));
  OF_RANK("hta_gpu_rows", 3);
  OF_RANK("hta_kernel_time", 140);
  lumos_job_free(job);
}

/* Two host rows share a correlation, so the device row is there twice, and so are its time and its launch. */
static void rows_of_two_calls_count_twice(void **state) {
  (void)state;
  struct lumos_job *job =
      simulate(TRACE(ANNOTATION("ProfilerStep#1", 0, 100) "," ANNOTATION("ProfilerStep#2", 100, 100) "," CALL(
          "cudaLaunchKernel", 1, 10, 8) "," DRIVER("cuLaunchKernel_v2", 1, 12, 2) "," KERNEL("gemm", 7, 1, 20, 30)));
  OF_RANK("hta_gpu_rows", 2);
  OF_RANK("hta_kernel_time", 30);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "gemm", 60);
  OF_STREAM("hta_queue_length_count", 7, 4);
  OF_STREAM("hta_queue_length_max", 7, 2);
  lumos_job_free(job);
  /* Two that enqueue: calls and kernels are not as many, and there is no queue. */
  job = simulate(TRACE(
      CALL("cudaLaunchKernel", 1, 10, 8) "," DRIVER("cuLaunchKernel", 1, 12, 2) "," KERNEL("gemm", 7, 1, 20, 30)));
  assert_int_equal(value_of(job, "hta_queue_length_count", 7, NULL, NULL), LUMOS_ABSENT);
  lumos_job_free(job);
}

/* Work without a launch is joined with the file's first event: at 100, behind the end of the row before. */
static void a_missing_launch_is_the_first_event(void **state) {
  (void)state;
  struct lumos_job *job = simulate(TRACE(OP("aten::mm", 100, 50) "," KERNEL("lost", 7, 98, 10, 20) "," KERNEL(
      "lost", 7, 99, 120, 5) "," LAUNCH(1, 110) "," KERNEL("gemm", 7, 1, 130, 5)));
  expect(job, "hta_idle_breakdown_time", 7, "host_wait", NULL, 90);
  expect(job, "hta_idle_breakdown_time", 7, "kernel_wait", NULL, 5);
  OF_STREAM("hta_queue_length_count", 7, 2); /* such a launch is in no queue */
  lumos_job_free(job);
  job = simulate(TRACE("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"python\"}}," OP(
      "aten::mm", 100, 50) "," KERNEL("lost", 7, 98, 10, 20) "," KERNEL("lost", 7, 99, 120,
                                                                        5) "," LAUNCH(1, 110) "," KERNEL("gemm", 7, 1,
                                                                                                         130, 5)));
  expect(job, "hta_idle_breakdown_time", 7, "other", NULL, 90);
  lumos_job_free(job);
}

/* A gap may be negative, and is of the row before, not of the one that ends last. */
static void a_gap_is_behind_the_row_before(void **state) {
  (void)state;
  struct lumos_job *job = simulate(TRACE(OP("aten::mm", 0, 50) "," LAUNCH(1, 0) "," LAUNCH(2, 2) "," LAUNCH(
      3, 4) "," KERNEL("a", 7, 1, 10, 100) "," KERNEL("b", 7, 2, 20, 5) "," KERNEL("c", 7, 3, 45, 5)));
  expect(job, "hta_idle_breakdown_time", 7, "kernel_wait", NULL, -70); /* -90 and 20 */
  expect(job, "hta_idle_breakdown_ratio", 7, "kernel_wait", NULL, 1);
  lumos_job_free(job);
}

/* Launched at the very end of the row before is not behind it; 29 is the device's own, 30 no more. And what is launched
 * as a row starts waits with it: 1 2 1 2 1 2 1 0. */
static void what_is_equal_counts_as_less(void **state) {
  (void)state;
  struct lumos_job *job =
      simulate(TRACE(OP("aten::mm", 0, 99) "," LAUNCH(1, 0) "," KERNEL("a", 7, 1, 10, 10) "," LAUNCH(2, 10) "," KERNEL(
          "b", 7, 2, 49, 1) "," LAUNCH(3, 49) "," KERNEL("c", 7, 3, 80, 10) "," LAUNCH(4, 80) "," KERNEL("d", 7, 4, 120,
                                                                                                         1)));
  expect(job, "hta_idle_breakdown_time", 7, "kernel_wait", NULL, 29);
  expect(job, "hta_idle_breakdown_time", 7, "other", NULL, 60); /* 30 to c, 30 to d */
  OF_STREAM("hta_queue_length_max", 7, 2);
  OF_STREAM("hta_queue_length_mean", 7, 1.25);
  lumos_job_free(job);
  job = simulate(TRACE(OP("aten::mm", 0, 99) "," LAUNCH(1, 0) "," KERNEL("a", 7, 1, 10, 10) "," LAUNCH(
      2, 20) "," KERNEL("b", 7, 2, 25, 1)));
  expect(job, "hta_idle_breakdown_time", 7, "kernel_wait", NULL, 5);
  lumos_job_free(job);
}

/* Synchronisation that names a stream is time in which the rank is not idle. */
static void synchronisation_is_work_of_a_stream(void **state) {
  (void)state;
  struct lumos_job *job =
      simulate(TRACE(LAUNCH(1, 0) "," KERNEL("gemm", 7, 1, 10, 10) "," CALL("cudaStreamSynchronize", 2, 5, 35) "," COPY(
          "Stream Sync", "cuda_sync", 7, 2, 30, 10) "," CALL("cudaDeviceSynchronize", 3, 50,
                                                             10) "," COPY("Context Sync", "cuda_sync", -1, 3, 50, 10)));
  OF_RANK("hta_gpu_rows", 2);
  OF_RANK("hta_kernel_time", 30);
  OF_RANK("hta_idle_time", 10);
  OF_RANK("hta_compute_time", 10);
  lumos_job_free(job);
}

static void kinds_follow_names(void **state) {
  (void)state;
  static const struct {
    const char *name;
    enum hta_type type;
  } cases[] = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", HTA_COMMUNICATION},
      {"void ncclKernelWrapped()", HTA_COMMUNICATION},
      {"hipMemcpyAsync", HTA_COMMUNICATION},
      {"Memcpy DtoD (Device -> Device)", HTA_MEMORY},
      {"Memset (Device)", HTA_MEMORY},
      {"dma_copy", HTA_MEMORY},
      {"at::native::add_kernel", HTA_COMPUTATION},
      {"", HTA_COMPUTATION},
      {"void swapMemcpy()", HTA_OTHER},
      {"gemm_with_dma", HTA_OTHER},
      {"softmaxSync", HTA_OTHER},
      {"cudaStreamSynchronize", HTA_OTHER},
      {"Stream Wait Event", HTA_OTHER},
      {"cudaLaunchKernel", HTA_OTHER},
      {"cudaGraph", HTA_COMPUTATION},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (hta_type_of(cases[i].name) != cases[i].type) {
      fail_msg("%s is %s", cases[i].name, hta_type_names[hta_type_of(cases[i].name)]);
    }
  }
}

/* `count` kernels k0, k1 ... of 10 times count, count - 1 ... 1 us each. */
static struct lumos_job *many_names(int count) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"traceEvents\":[" OP("aten::mm", 0, 100));
  for (int i = 0; i < count; i++) {
    lumos_text_format(&text, "," EVENT("cuda_runtime", "cudaLaunchKernel", 10, % d, 1, "\"correlation\":%d"), i, i + 1);
    lumos_text_format(&text,
                      ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,"
                      "\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}",
                      i, 1000 * (i + 1), 10 * (count - i), i + 1);
  }
  lumos_text_put(&text, "]}");
  lumos_text_add(&text, "", 1);
  struct lumos_job *job = simulate(text.bytes);
  lumos_text_free(&text);
  return job;
}

/* Running sums of 11: 110 210 300 380 450 510 560 600 630 650 660. The 0.8 quantile is the ninth, 630: the last two are
 * the others. */
static void from_eleven_names_on_statistics_are_of_sums(void **state) {
  (void)state;
  struct lumos_job *job = many_names(11);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "k8", 30);
  OF_KERNEL("hta_kernel_mean", "COMPUTATION", "k8", 30);
  OF_KERNEL("hta_kernel_stddev", "COMPUTATION", "k8", 0);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "others", 30);
  OF_KERNEL("hta_kernel_max", "COMPUTATION", "others", 20);
  OF_KERNEL("hta_kernel_min", "COMPUTATION", "others", 10);
  OF_KERNEL("hta_kernel_mean", "COMPUTATION", "others", 15);
  OF_KERNEL("hta_kernel_stddev", "COMPUTATION", "others", 7.071068); /* the root of 50 */
  assert_int_equal(value_of(job, "hta_kernel_sum", 0, "COMPUTATION", "k9"), LUMOS_ABSENT);
  lumos_job_free(job);
  job = many_names(10);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "k9", 10);
  assert_int_equal(value_of(job, "hta_kernel_sum", 0, "COMPUTATION", "others"), LUMOS_ABSENT);
  lumos_job_free(job);
  /* Of 40, running sums leave ten names below the quantile and more, so ten it is. */
  job = many_names(40);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "k9", 310);
  assert_int_equal(value_of(job, "hta_kernel_sum", 0, "COMPUTATION", "k10"), LUMOS_ABSENT);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "others", 4650); /* 10 * (1 + ... + 30) */
  lumos_job_free(job);
}

static void put_queue(struct lumos_text *text, int stream, int first, int count, int start) {
  for (int i = 0; i < count; i++) {
    lumos_text_format(text, "," EVENT("cuda_runtime", "cudaLaunchKernel", 10, % d, 1, "\"correlation\":%d"), first + i,
                      first + i);
    lumos_text_format(text,
                      ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":%d,\"ts\":%d,\"dur\":1,"
                      "\"args\":{\"device\":0,\"stream\":%d,\"correlation\":%d}}",
                      stream, start + i, stream, first + i);
  }
}

/* 1024 launches from 1 to 1024, the first kernel at 2000: full for 976 us. Then 1025 on s20, from 3000: 1024 at 4023,
 * 1025 at 4024, full until the second kernel starts at 5001, 978 us; of two streams only the last one is told. All rows
 * start between 0 and 6024. */
static void a_full_queue_is_told_of_the_last_stream(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"traceEvents\":[" OP("aten::mm", 0, 5000));
  put_queue(&text, 7, 1, 1024, 2000);
  put_queue(&text, 20, 3000, 1025, 5000);
  lumos_text_put(&text, "]}");
  lumos_text_add(&text, "", 1);
  struct lumos_job *job = simulate(text.bytes);
  OF_STREAM("hta_queue_length_max", 7, 1024);
  assert_int_equal(value_of(job, "hta_full_queue_time", 7, NULL, NULL), LUMOS_ABSENT);
  OF_STREAM("hta_full_queue_time", 20, 978);
  OF_STREAM("hta_full_queue_ratio", 20, 0.162351); /* 978 of 6024 */
  lumos_job_free(job);
  lumos_text_free(&text);
}

static void check_order(const uint8_t *keys, const uint8_t *order, size_t count) {
  struct hta_placed placed[64];
  for (size_t i = 0; i < count; i++) {
    placed[i] = (struct hta_placed){keys[i], (uint32_t)i};
  }
  hta_sort(placed, count);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(placed[i].item, order[i]);
  }
}

/* What numpy.argsort of numpy 1.24 gives. Up to 16 values are stable; the last ones are made so that every median is
 * nearly the least, whereupon it goes over to a heap. */
static void equal_times_come_as_numpy_has_them(void **state) {
  (void)state;
  static const uint8_t few[] = {4, 3, 2, 1, 1, 0, 0, 0, 0, 4, 3, 4, 2, 3, 4, 3};
  static const uint8_t few_order[] = {5, 6, 7, 8, 3, 4, 2, 12, 1, 10, 13, 15, 0, 9, 11, 14};
  static const uint8_t more[] = {4, 3, 2, 1, 1, 0, 0, 0, 0, 4, 3, 4, 2, 3, 4, 3, 3};
  static const uint8_t more_order[] = {8, 5, 6, 7, 3, 4, 2, 12, 13, 10, 16, 15, 1, 11, 14, 9, 0};
  static const uint8_t bad[64] = {0,  28, 1,  28, 2,  27, 3,  27, 4,  26, 5,  26, 6,  25, 7,  25,
                                  8,  24, 9,  24, 10, 23, 11, 23, 12, 13, 31, 30, 31, 30, 29, 0,
                                  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 22, 22, 21, 21,
                                  20, 20, 19, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 29, 13};
  static const uint8_t bad_order[64] = {0,  31, 2,  32, 4,  33, 6,  34, 8,  35, 10, 36, 12, 37, 14, 38,
                                        16, 39, 18, 40, 20, 41, 22, 42, 24, 43, 25, 63, 60, 61, 59, 58,
                                        56, 57, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 23, 21,
                                        17, 19, 15, 13, 11, 9,  7,  5,  1,  3,  62, 30, 29, 27, 28, 26};
  check_order(few, few_order, sizeof few);
  check_order(more, more_order, sizeof more);
  check_order(bad, bad_order, sizeof bad);
  hta_sort(NULL, 0);
}

/* Launches at 0, 10 ... 80, and each kernel 20 later. numpy puts the launch first wherever a kernel starts too, but at
 * 80: 1 2 3 2 3 2 3 2 3 2 3 2 3 2 1 2 1 0 is 37 of 18, and would be 39 with 3 for that 1. Squares around 37 / 18:
 * 233 / 18, of 17. */
static void launches_and_starts_of_one_time_are_in_that_order(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"traceEvents\":[" OP("aten::mm", 0, 200));
  for (int i = 0; i < 9; i++) {
    lumos_text_format(&text, "," CALL("cudaLaunchKernel", % d, % d, 1), 10 * i, i + 1);
  }
  for (int i = 0; i < 9; i++) {
    lumos_text_format(&text, "," KERNEL("gemm", 7, % d, % d, 3), 10 * i + 20, i + 1);
  }
  lumos_text_put(&text, "]}");
  lumos_text_add(&text, "", 1);
  struct lumos_job *job = simulate(text.bytes);
  OF_STREAM("hta_queue_length_mean", 7, 2.055556);
  OF_STREAM("hta_queue_length_std", 7, 0.872604);
  lumos_job_free(job);
  lumos_text_free(&text);
}

/* A file that begins with a kernel: its call, which names event 0, does not count in the queue. */
static void the_first_event_s_call_does_not_count(void **state) {
  (void)state;
#define REST LAUNCH(1, 0) "," LAUNCH(2, 2) "," KERNEL("gemm", 7, 2, 20, 5)
  struct lumos_job *job = simulate(TRACE(KERNEL("gemm", 7, 1, 10, 5) "," REST));
  OF_RANK("hta_gpu_rows", 2);
  OF_STREAM("hta_queue_length_count", 7, 2);
  lumos_job_free(job);
  job = simulate(TRACE(OP("aten::mm", 0, 9) "," KERNEL("gemm", 7, 1, 10, 5) "," REST));
  OF_STREAM("hta_queue_length_count", 7, 4);
  lumos_job_free(job);
}

/* k0 lasts 3 us, and eleven others -1, so running sums are 3 2 1 0 ... -8, and the quantile, 0.8 of the way from 0 to
 * 1, leaves the first three out; but no name whose sum is negative is one of the others, the tenth or not. */
static void a_negative_sum_is_told(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"traceEvents\":[" OP("aten::mm", 0, 900.5) "," KERNEL("k0", 7, 1, 20, 3));
  for (int i = 1; i < 12; i++) {
    lumos_text_format(&text,
                      ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":7,\"ts\":%d.2,"
                      "\"dur\":0.5,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}",
                      i, 20 + 10 * i, i + 1);
  }
  lumos_text_put(&text, "]}");
  lumos_text_add(&text, "", 1);
  struct lumos_job *job = simulate(text.bytes);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "others", 3);
  OF_KERNEL("hta_kernel_max", "COMPUTATION", "others", 3);
  for (int i = 1; i < 12; i++) {
    char name[8];
    (void)snprintf(name, sizeof name, "k%d", i);
    OF_KERNEL("hta_kernel_sum", "COMPUTATION", name, -1);
  }
  assert_int_equal(value_of(job, "hta_kernel_sum", 0, "COMPUTATION", "k0"), LUMOS_ABSENT);
  lumos_job_free(job);
  lumos_text_free(&text);
}

static void expect_no_breakdown(const struct lumos_job *job, const char *reason) {
  static const char *const names[] = {"hta_idle_time",         "hta_idle_time_pctg",   "hta_compute_time",
                                      "hta_compute_time_pctg", "hta_non_compute_time", "hta_non_compute_time_pctg",
                                      "hta_kernel_time"};
  const struct lumos_note *note = find_note(job, "sim.hta_fails");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    assert_int_equal(value_of(job, names[i], 0, NULL, NULL), LUMOS_ABSENT);
  }
  assert_non_null(note);
  assert_non_null(strstr(string_of(job, note->text), reason));
}

/* A gemm 10-20 and a copy of -1 us: 9 us of rows, of which 10 are computation. A row of -1 us alone: no idle time, in
 * less than none. */
static void more_computation_than_rows_is_no_breakdown(void **state) {
  (void)state;
  struct lumos_job *job = simulate(TRACE(LAUNCH(1, 1.5) "," KERNEL("gemm", 7, 1, 10, 10) "," COPY(
      "Memcpy DtoH (Device -> Pageable)", "gpu_memcpy", 7, 2, 30.2, 0.5)));
  expect_no_breakdown(job, "-1 us");
  OF_RANK("hta_gpu_rows", 2);
  OF_KERNEL("hta_kernel_sum", "COMPUTATION", "gemm", 10);
  lumos_job_free(job);
  job = simulate(TRACE(LAUNCH(1, 1.5) "," KERNEL("gemm", 7, 1, 10.2, 0.5)));
  expect_no_breakdown(job, "-1 us");
  lumos_job_free(job);
}

/* Of the ranks, 0 has kernels: only their temporal breakdown falls with that of rank 1. */
static void a_rank_without_rows_is_no_breakdown(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = simulate(TRACE(OP("aten::mm", 0, 130)));
  expect_no_breakdown(job, "no rows");
  OF_RANK("hta_gpu_rows", 0);
  lumos_job_free(job);
  struct files *files = *state;
  const char *const paths[] = {add_file(files, "rank0.json", TRACE(FIVE_ROWS)),
                               add_file(files, "rank1.json", TRACE(OP("aten::mm", 0, 130)))};
  const int32_t ranks[] = {0, 1};
  const struct lumos_trace_options options = {.ranks = ranks, .rank_count = 2};
  job = lumos_trace_parse(paths, 2, &options, &error);
  if (job == NULL || !lumos_simulate(job, &error) || !lumos_hta(job, &error)) {
    fail_msg("%s", error.text);
  }
  expect_no_breakdown(job, "no rows");
  OF_RANK("hta_gpu_rows", 5);
  OF_RANK("hta_comp_comm_overlap_pctg", 33.33);
  OF_KIND("hta_kernel_type_time", "COMPUTATION", 21);
  lumos_job_free(job);
}

/* The second call, then the first one, then the third. */
static void launches_count_as_they_stand_in_the_file(void **state) {
  (void)state;
  struct lumos_job *job = simulate(TRACE(LAUNCH(2, 1) "," LAUNCH(1, 0) "," LAUNCH(3, 2) "," KERNEL(
      "gemm", 7, 1, 10, 5) "," KERNEL("gemm", 7, 2, 20, 5) "," KERNEL("gemm", 7, 3, 30, 5)));
  assert_string_equal(string_of(job, job->ranks.items[0].hta.rows), "0,10,5,10^2- 0,10,5,19^-1- 0,10,5,28^2-");
  OF_STREAM("hta_queue_length_max", 7, 3);
  lumos_job_free(job);
}

/* Whatever steps are chosen, and also on a stream of which none has anything; that one's name is the same, too. */
static void chosen_steps_change_nothing(void **state) {
  (void)state;
  static const struct lumos_trace_options choices[] = {
      {.steps = LUMOS_STEPS_COMPLETE},
      {.steps = LUMOS_STEPS_RANGE, .first_step = 1, .last_step = 1},
      {.steps = LUMOS_STEPS_RANGE, .first_step = 2, .last_step = 2},
  };
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
    struct lumos_error error = {0};
    struct lumos_job *job =
        parse_good(TRACE(ANNOTATION("ProfilerStep#1", 0, 100) "," ANNOTATION("ProfilerStep#2", 100, 100) "," LAUNCH(
                       1, 10) "," KERNEL("gemm", 20, 1, 20, 30) "," LAUNCH(2, 110) "," KERNEL("gemm", 7, 2, 120, 40)),
                   &choices[i]);
    assert_true(lumos_simulate(job, &error));
    assert_true(lumos_hta(job, &error));
    OF_RANK("hta_kernel_time", 30);
    OF_STREAM("hta_queue_length_count", 20, 2);
    expect(job, "hta_idle_breakdown_time", 20, "other", NULL, 0);
    lumos_job_free(job);
  }
}

static void refuses(struct lumos_job *job, const char *why) {
  struct lumos_error error = {0};
  assert_false(lumos_hta(job, &error));
  if (strstr(error.text, why) == NULL) {
    fail_msg("the error lacks '%s': %s", why, error.text);
  }
}

static void what_is_not_there_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *classes, *rows;
  } damaged[] = {
      {"k 7 gemm", "1,0,5"},
      {"k 7 gemm", "0,0"},
      {"k 7 gemm", "0,0,5,"},
      {"k 7 gemm", "0,0,5 "},
      {"k 7 gemm", "0,0,5*0"},
      {"x 7 gemm", "0,0,5"},
      {"k gemm", "0,0,5"},
      {"k 7 gemm", "-1,0,5"},
      {"k 7 gemm", "0,0,5x"},
      {"k 7 gemm", "0,0,99999999999999999999"},
      {"k 7 gemm", "0,0,5*99999999"},
      {"k 7 gemm", "0,9007199254740991,5 0,9007199254740991,5"},
      {"k 7 gemm", "0,0,8796093022208"},
      {"k 7 gemm", "0,0,5,1^"},
      {"k 7 gemm", "0,0,5,1^9007199254740991 0,0,5,1^9007199254740991"},
      {"k 7 gemm", "0,0,8796093022207 0,0,1"},
  };
  struct lumos_job *job =
      simulate(TRACE(ANNOTATION("ProfilerStep#1", 0, 9) "," ANNOTATION("ProfilerStep#2", 9, 9) "," FIVE_ROWS));
  struct lumos_hta_rows *hta = &job->ranks.items[0].hta;
  for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
    hta->classes = lumos_intern_text(job->strings, damaged[i].classes);
    hta->rows = lumos_intern_text(job->strings, damaged[i].rows);
    refuses(job, "parse the recording again");
  }
  *hta = (struct lumos_hta_rows){.extent = LUMOS_ABSENT, .cut_extent = LUMOS_ABSENT};
  refuses(job, "parse the recordings again");
  lumos_job_free(job);
}

/* Who does not ask for it gets the same job without it. */
static void what_is_not_asked_for_is_left_out(void **state) {
  (void)state;
  const struct lumos_trace_options without = {.steps = LUMOS_STEPS_COMPLETE, .without_hta = true};
  const char *text = TRACE(FIVE_ROWS);
  struct lumos_job *asked = parse_good(text, NULL);
  struct lumos_job *job = parse_good(text, &without);
  assert_int_equal(job->tasks.count, asked->tasks.count);
  assert_int_not_equal(asked->ranks.items[0].hta.extent, LUMOS_ABSENT);
  assert_int_equal(job->ranks.items[0].hta.extent, LUMOS_ABSENT);
  assert_int_equal(job->ranks.items[0].hta.rows, LUMOS_NO_STRING);
  refuses(job, "parse the recordings again");
  lumos_job_free(asked);
  lumos_job_free(job);
}

static void a_changed_job_is_refused(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = parse_good(TRACE(FIVE_ROWS), NULL);
  assert_true(lumos_transform_scale(job, "device=0.5", &error));
  assert_true(lumos_simulate(job, &error));
  refuses(job, "was changed");
  lumos_job_free(job);
}

/* Two files with a mark each: together they have two names, so each loses its last step, which is all of it. */
static void names_of_steps_are_counted_over_all_ranks(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = parse_good(TRACE(ANNOTATION("ProfilerStep#1", 0, 200) "," FIVE_ROWS), NULL);
  assert_true(lumos_simulate(job, &error));
  job->ranks.items[0].hta.steps = lumos_intern_text(job->strings, "ProfilerStep#1\nProfilerStep#2");
  assert_true(lumos_hta(job, &error));
  OF_RANK("hta_gpu_rows", 0);
  lumos_job_free(job);
}

static void every_figure_is_defined_once_and_whole(void **state) {
  (void)state;
  size_t count = 0;
  const struct lumos_metric_definition *definitions = lumos_hta_definitions(&count);
  assert_true(count > 0);
  for (size_t i = 0; i < count; i++) {
    assert_ptr_equal(lumos_metric_definition(definitions[i].name), &definitions[i]);
    assert_true(strncmp(definitions[i].name, "hta_", 4) == 0 && definitions[i].term[0] != '\0' &&
                definitions[i].unit[0] != '\0');
    size_t length = strlen(definitions[i].text);
    assert_true(length > 0 && definitions[i].text[length - 1] == '.');
    assert_true(definitions[i].of == NULL || lumos_metric_definition(definitions[i].of) != NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_analyses_of_five_rows),
      cmocka_unit_test(times_are_rounded_as_doubles),
      cmocka_unit_test(halves_are_rounded_to_even),
      cmocka_unit_test(the_last_step_is_left_out),
      cmocka_unit_test(the_host_s_rows_stand_behind_what_is_left),
      cmocka_unit_test(one_step_is_kept_whole),
      cmocka_unit_test(rows_of_two_calls_count_twice),
      cmocka_unit_test(a_missing_launch_is_the_first_event),
      cmocka_unit_test(a_gap_is_behind_the_row_before),
      cmocka_unit_test(what_is_equal_counts_as_less),
      cmocka_unit_test(synchronisation_is_work_of_a_stream),
      cmocka_unit_test(kinds_follow_names),
      cmocka_unit_test(from_eleven_names_on_statistics_are_of_sums),
      cmocka_unit_test(a_full_queue_is_told_of_the_last_stream),
      cmocka_unit_test(equal_times_come_as_numpy_has_them),
      cmocka_unit_test(launches_and_starts_of_one_time_are_in_that_order),
      cmocka_unit_test(the_first_event_s_call_does_not_count),
      cmocka_unit_test(a_negative_sum_is_told),
      cmocka_unit_test(more_computation_than_rows_is_no_breakdown),
      cmocka_unit_test_setup_teardown(a_rank_without_rows_is_no_breakdown, make_files, drop_files),
      cmocka_unit_test(launches_count_as_they_stand_in_the_file),
      cmocka_unit_test(chosen_steps_change_nothing),
      cmocka_unit_test(what_is_not_there_is_refused),
      cmocka_unit_test(what_is_not_asked_for_is_left_out),
      cmocka_unit_test(a_changed_job_is_refused),
      cmocka_unit_test(names_of_steps_are_counted_over_all_ranks),
      cmocka_unit_test(every_figure_is_defined_once_and_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
