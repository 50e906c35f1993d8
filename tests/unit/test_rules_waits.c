/* What the host waits for, in every form: each on a trace by hand, with every edge, lag and simulated time listed, as
 * recorded and after a change that only this rule passes on. */
#include "rule_trace.h"

/* Traces are laid out with an event a line. */
/* clang-format off */

/* gemm_0 on s7 ends at 112, gemm_1 on s20 at 202; a wait from 30 on, 5 us after which the thread goes on. */
#define AWAITED(wait, more)             \
  TRACE(LAUNCH(1, 1, 0, 10) ","         \
        LAUNCH(1, 2, 10, 10) ","        \
        wait ","                        \
        KERNEL("gemm_0", 7, 1, 12, 100) "," \
        KERNEL("gemm_1", 20, 2, 22, 180) more "")
#define LAUNCHES_OF_AWAITED                         \
  "gemm_0, launched by cudaLaunchKernel@0 end +2\n" \
  "gemm_1, launched by cudaLaunchKernel@10 end +2\n"
#define BEGIN "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n"
#define CALLS                                       \
  "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n" \
  "cudaLaunchKernel@10 10-20 <- cudaLaunchKernel@0 end, thread order, recorded\n"
#define KERNEL_0(times) "gemm_0 " times " <- cudaLaunchKernel@0 end, launch, recorded\n"
#define KERNEL_1(times) "gemm_1 " times " <- cudaLaunchKernel@10 end, launch, recorded\n"

#define STREAM_SYNC CALL_ON(1, "cudaStreamSynchronize", 3, 30, 85) "," OP_ON(1, "after", 120, 10)

/* It waits for s7, so until 112, and takes 3 us to return. */
static void a_stream_s_synchronisation_waits_for_its_last_task(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(AWAITED(STREAM_SYNC, "," SYNC("Stream Sync", 7, 3, "")));
  expect_graph(job,
      "cudaStreamSynchronize, lag 10, waits on stream s7 +3\n"
      "after, lag 5\n"
      LAUNCHES_OF_AWAITED BEGIN);
  expect_run(job, CALLS
      "cudaStreamSynchronize 30-115 <- cudaLaunchKernel@10 end, thread order, recorded; end <- gemm_0 end, wait, recorded\n"
      "after 120-130 <- cudaStreamSynchronize end, thread order, recorded\n"
      KERNEL_0("12-112") KERNEL_1("22-202"));
  expect_scaled_run(job, "name~gemm_0=2", CALLS
      "cudaStreamSynchronize 30-215 <- cudaLaunchKernel@10 end, thread order, recorded; end <- gemm_0 end, wait, recorded\n"
      "after 220-230 <- cudaStreamSynchronize end, thread order, recorded\n"
      KERNEL_0("12-212") KERNEL_1("22-202"));
  /* Over before it is asked for: 3 us from its start. */
  expect_scaled_run(job, "name~gemm_0=0.05", CALLS
      "cudaStreamSynchronize 30-33 <- cudaLaunchKernel@10 end, thread order, recorded\n"
      "after 38-48 <- cudaStreamSynchronize end, thread order, recorded\n"
      KERNEL_0("12-22") KERNEL_1("22-202"));
  lumos_job_free(job);
}

/* Without the profiler's word on it: it returns 3 us after what is last on s7, so that is what it waited for. */
static void a_synchronisation_s_stream_is_inferred_from_its_return(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(AWAITED(STREAM_SYNC, ""));
  expect_graph(job,
      "cudaStreamSynchronize, lag 10, waits on stream s7 +3\n"
      "after, lag 5\n"
      LAUNCHES_OF_AWAITED
      "host_wait: gemm_0 end -> cudaStreamSynchronize end +0, inferred, run_time\n"
      BEGIN
      "graph.inferred_waits 1\n");
  expect_scaled_run(job, "name~gemm_0=2", CALLS
      "cudaStreamSynchronize 30-215 <- cudaLaunchKernel@10 end, thread order, recorded; end <- gemm_0 end, wait, inferred\n"
      "after 220-230 <- cudaStreamSynchronize end, thread order, recorded\n"
      KERNEL_0("12-212") KERNEL_1("22-202"));
  lumos_job_free(job);
}

/* It waits for both streams, of which s20 is the later, and takes 4 us to return. */
static void a_device_s_synchronisation_waits_for_every_stream(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(
      AWAITED(CALL_ON(1, "cudaDeviceSynchronize", 3, 30, 176) "," OP_ON(1, "after", 211, 10), ""));
  expect_graph(job,
      "cudaDeviceSynchronize, lag 10, waits on device +4\n"
      "after, lag 5\n"
      LAUNCHES_OF_AWAITED BEGIN);
  expect_scaled_run(job, "name~gemm_1=2", CALLS
      "cudaDeviceSynchronize 30-386 <- cudaLaunchKernel@10 end, thread order, recorded; end <- gemm_1 end, wait, recorded\n"
      "after 391-401 <- cudaDeviceSynchronize end, thread order, recorded\n"
      KERNEL_0("12-112") KERNEL_1("22-382"));
  /* 22-58 on s20: now s7 is the later. */
  expect_scaled_run(job, "name~gemm_1=0.1", CALLS
      "cudaDeviceSynchronize 30-116 <- cudaLaunchKernel@10 end, thread order, recorded; end <- gemm_0 end, wait, recorded\n"
      "after 121-131 <- cudaDeviceSynchronize end, thread order, recorded\n"
      KERNEL_0("12-112") KERNEL_1("22-58"));
  lumos_job_free(job);
}

/* The event is recorded on s7 between gemm_0 and gemm_1: only gemm_0 is waited for. */
#define EVENT_SYNC(more)                                     \
  TRACE(LAUNCH(1, 1, 0, 10) ","                              \
        CALL_ON(1, "cudaEventRecord", 2, 10, 2) ","          \
        LAUNCH(1, 3, 12, 10) ","                             \
        CALL_ON(1, "cudaEventSynchronize", 4, 22, 94) ","    \
        OP_ON(1, "after", 120, 10) ","                       \
        KERNEL("gemm_0", 7, 1, 12, 100) ","                  \
        KERNEL("gemm_1", 7, 3, 113, 50) more "")

static void an_event_s_synchronisation_waits_for_what_precedes_its_record(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(EVENT_SYNC(
      "," SYNC("Event Sync", 7, 4, ",\"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":2,\"wait_on_cuda_event_id\":5")));
  expect_graph(job,
      "cudaEventSynchronize, waits on event s7 +4\n"
      "after, lag 4\n"
      "gemm_0, launched by cudaLaunchKernel@0 end +2\n"
      "gemm_1, launched by cudaLaunchKernel@12 end +2, gap 1\n"
      BEGIN);
  expect_scaled_run(job, "name~gemm_0=2",
      "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"
      "cudaEventRecord 10-12 <- cudaLaunchKernel@0 end, thread order, recorded\n"
      "cudaLaunchKernel@12 12-22 <- cudaEventRecord end, thread order, recorded\n"
      "cudaEventSynchronize 22-216 <- cudaLaunchKernel@12 end, thread order, recorded; end <- gemm_0 end, wait, recorded\n"
      "after 220-230 <- cudaEventSynchronize end, thread order, recorded\n"
      KERNEL_0("12-212")
      "gemm_1 213-263 <- gemm_0 end, stream order, recorded\n");
  lumos_job_free(job);
}

/* Of which event is not said: it keeps its length, whatever becomes of the device, and that is told. */
static void what_waits_for_nothing_that_is_known_keeps_its_length(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(EVENT_SYNC(""));
  expect_graph(job,
      "cudaEventSynchronize, waits on event, length kept\n"
      "after, lag 4\n"
      "gemm_0, launched by cudaLaunchKernel@0 end +2\n"
      "gemm_1, launched by cudaLaunchKernel@12 end +2, gap 1\n"
      BEGIN
      "graph.unknown_waits 1\n");
  expect_scaled_run(job, "name~gemm_0=2",
      "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"
      "cudaEventRecord 10-12 <- cudaLaunchKernel@0 end, thread order, recorded\n"
      "cudaLaunchKernel@12 12-22 <- cudaEventRecord end, thread order, recorded\n"
      "cudaEventSynchronize 22-116 <- cudaLaunchKernel@12 end, thread order, recorded\n"
      "after 120-130 <- cudaEventSynchronize end, thread order, recorded\n"
      KERNEL_0("12-212")
      "gemm_1 213-263 <- gemm_0 end, stream order, recorded\n");
  lumos_job_free(job);
}

/* The copy starts 8 us into its call, runs for 40, and the call returns 2 us after it. */
#define BLOCKING(call, name) \
  TRACE(CALL_ON(1, call, 1, 0, 50) "," OP_ON(1, "after", 53, 10) "," COPY(name, 7, 1, 8, 40))

static void expect_blocking(const char *trace) {
  struct lumos_job *job = graph_of(trace);
  const char *call = string_of(job, job->tasks.items[0].name);
  const char *copy = string_of(job, job->tasks.items[2].name);
  char expected[512];
  (void)snprintf(expected, sizeof expected,
      "%s, waits on self +2\n"
      "after, lag 3\n"
      "%s, launched by %s start +8\n"
      "boundary: 0 -> %s start +0, recorded, fixed\n", call, copy, call, call);
  expect_graph(job, expected);
  (void)snprintf(expected, sizeof expected,
      "%s 0-90 <- outside the recording, recorded; end <- %s end, wait, recorded\n"
      "after 93-103 <- %s end, thread order, recorded\n"
      "%s 8-88 <- %s start, launch, recorded\n", call, copy, call, copy, call);
  expect_scaled_run(job, "kind=copy=2", expected);
  lumos_job_free(job);
}

static void a_blocking_copy_leaves_from_its_start_and_waits_for_itself(void **state) {
  (void)state;
  expect_blocking(BLOCKING("cudaMemcpy", "Memcpy HtoD (Pageable -> Device)"));
  expect_blocking(BLOCKING("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)"));
}

/* A short copy that starts 35 us into its call, nearer to its end: it leaves from the start all the same, for its call
 * ends after it. */
static void a_blocking_copy_never_leaves_from_the_end_of_its_call(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(
      TRACE(CALL_ON(1, "cudaMemcpy", 1, 0, 50) "," COPY("Memcpy DtoH (Device -> Pageable)", 7, 1, 35, 10) ","
            OP_ON(1, "after", 53, 10)));
  expect_graph(job,
      "cudaMemcpy, waits on self +5\n"
      "after, lag 3\n"
      "Memcpy DtoH (Device -> Pageable), launched by cudaMemcpy start +35\n"
      "boundary: 0 -> cudaMemcpy start +0, recorded, fixed\n");
  expect_scaled_run(job, "kind=copy=3",
      "cudaMemcpy 0-70 <- outside the recording, recorded; end <- Memcpy DtoH (Device -> Pageable) end, wait, recorded\n"
      "after 73-83 <- cudaMemcpy end, thread order, recorded\n"
      "Memcpy DtoH (Device -> Pageable) 35-65 <- cudaMemcpy start, launch, recorded\n");
  lumos_job_free(job);
}

/* Without marks of steps the recording holds the synchronisation with which the profiler stops: the call that starts
 * last, in no op. It is no part of the job; one in an op, or before other work, is. */
static void the_profiler_s_own_synchronisation_is_no_part_of_the_job(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(AWAITED(CALL_ON(1, "cudaDeviceSynchronize", 3, 30, 176), ""));
  expect_graph(job, LAUNCHES_OF_AWAITED BEGIN);
  expect_run(job, CALLS KERNEL_0("12-112") KERNEL_1("22-202"));
  lumos_job_free(job);
  job = graph_of(AWAITED(OP_ON(1, "ends with it", 30, 176) "," CALL_ON(1, "cudaDeviceSynchronize", 3, 30, 176), ""));
  expect_graph(job,
      "cudaDeviceSynchronize, lag 10, waits on device +4\n"
      LAUNCHES_OF_AWAITED BEGIN);
  lumos_job_free(job);
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stream_s_synchronisation_waits_for_its_last_task),
      cmocka_unit_test(a_synchronisation_s_stream_is_inferred_from_its_return),
      cmocka_unit_test(a_device_s_synchronisation_waits_for_every_stream),
      cmocka_unit_test(an_event_s_synchronisation_waits_for_what_precedes_its_record),
      cmocka_unit_test(what_waits_for_nothing_that_is_known_keeps_its_length),
      cmocka_unit_test(a_blocking_copy_leaves_from_its_start_and_waits_for_itself),
      cmocka_unit_test(a_blocking_copy_never_leaves_from_the_end_of_its_call),
      cmocka_unit_test(the_profiler_s_own_synchronisation_is_no_part_of_the_job),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
