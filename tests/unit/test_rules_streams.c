/* The rules of what streams run: launch, order, event, free SMs, boundary. Each on a trace by hand, with every edge,
 * lag and simulated time listed, as recorded and after a change that only this rule passes on. A full queue takes
 * hundreds of rows: test_graph_full_queue.c. */
#include "rule_trace.h"

/* Traces are laid out with an event a line. */
/* clang-format off */

/* --- Launch --- */

/* Both kernels start 2 us after the end of their call, be it 10 us long or 40. */
static void a_launch_leaves_from_the_end_of_its_call(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(
      LAUNCH(1, 1, 0, 10) ","
      LAUNCH(1, 2, 100, 40) ","
      KERNEL("gemm_0", 7, 1, 12, 8) ","
      KERNEL("gemm_1", 7, 2, 142, 8)));
  expect_graph(job,
      "cudaLaunchKernel@100, lag 90\n"
      "gemm_0, launched by cudaLaunchKernel@0 end +2\n"
      "gemm_1, launched by cudaLaunchKernel@100 end +2\n"
      "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n");
  expect_run(job,
      "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"
      "cudaLaunchKernel@100 100-140 <- cudaLaunchKernel@0 end, thread order, recorded\n"
      "gemm_0 12-20 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 142-150 <- cudaLaunchKernel@100 end, launch, recorded\n");
  /* Calls of 20 and 80: the lag of the thread, 90, and those of the launches stay. */
  expect_scaled_run(job, "name~Launch=2",
      "cudaLaunchKernel@0 0-20 <- outside the recording, recorded\n"
      "cudaLaunchKernel@100 110-190 <- cudaLaunchKernel@0 end, thread order, recorded\n"
      "gemm_0 22-30 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 192-200 <- cudaLaunchKernel@100 end, launch, recorded\n");
  lumos_job_free(job);
}

/* 3 us after the start of its call, 37 before the end: so it leaves from there. */
static void what_starts_inside_its_call_leaves_from_its_start(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(LAUNCH(1, 1, 0, 40) "," KERNEL("gemm", 7, 1, 3, 8)));
  expect_graph(job,
      "gemm, launched by cudaLaunchKernel start +3\n"
      "boundary: 0 -> cudaLaunchKernel start +0, recorded, fixed\n");
  expect_scaled_run(job, "host=2",
      "cudaLaunchKernel 0-80 <- outside the recording, recorded\n"
      "gemm 3-11 <- cudaLaunchKernel start, launch, recorded\n");
  lumos_job_free(job);
}

#define LAUNCHED(correlation, ts, starts) LAUNCH(1, correlation, ts, 10) "," KERNEL("gemm", 7, correlation, starts, 5)

/* Ten launches 100 us apart. Of their lags, 1, eight times 3, and 50, a tenth is left out on either side: 3. */
static void a_launch_lag_is_a_trimmed_mean(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(
      LAUNCHED(1, 0, 11) "," LAUNCHED(2, 100, 113) "," LAUNCHED(3, 200, 213) "," LAUNCHED(4, 300, 313) ","
      LAUNCHED(5, 400, 413) "," LAUNCHED(6, 500, 513) "," LAUNCHED(7, 600, 613) "," LAUNCHED(8, 700, 713) ","
      LAUNCHED(9, 800, 813) "," LAUNCHED(10, 900, 960)));
  expect_graph(job,
      "cudaLaunchKernel@100, lag 90\n" "cudaLaunchKernel@200, lag 90\n" "cudaLaunchKernel@300, lag 90\n"
      "cudaLaunchKernel@400, lag 90\n" "cudaLaunchKernel@500, lag 90\n" "cudaLaunchKernel@600, lag 90\n"
      "cudaLaunchKernel@700, lag 90\n" "cudaLaunchKernel@800, lag 90\n" "cudaLaunchKernel@900, lag 90\n"
      "gemm@11, launched by cudaLaunchKernel@0 end +3, residual -2\n"
      "gemm@113, launched by cudaLaunchKernel@100 end +3\n"
      "gemm@213, launched by cudaLaunchKernel@200 end +3\n"
      "gemm@313, launched by cudaLaunchKernel@300 end +3\n"
      "gemm@413, launched by cudaLaunchKernel@400 end +3\n"
      "gemm@513, launched by cudaLaunchKernel@500 end +3\n"
      "gemm@613, launched by cudaLaunchKernel@600 end +3\n"
      "gemm@713, launched by cudaLaunchKernel@700 end +3\n"
      "gemm@813, launched by cudaLaunchKernel@800 end +3\n"
      "gemm@960, launched by cudaLaunchKernel@900 end +3, residual 47\n"
      "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n");
  lumos_job_free(job);
}

/* --- Stream order --- */

/* gemm_1 only waits for gemm_0: typical gap 1. gemm_2 starts 3 us before gemm_1 ends, as programs that depend on each
 * other may: a lag of -3. */
static void a_stream_runs_in_order_and_overlaps_as_measured(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(
      LAUNCH(1, 1, 0, 10) ","
      LAUNCH(1, 2, 10, 10) ","
      LAUNCH(1, 3, 20, 10) ","
      KERNEL("gemm_0", 7, 1, 12, 100) ","
      KERNEL("gemm_1", 7, 2, 113, 20) ","
      KERNEL("gemm_2", 7, 3, 130, 20)));
  expect_graph(job,
      "gemm_0, launched by cudaLaunchKernel@0 end +2\n"
      "gemm_1, launched by cudaLaunchKernel@10 end +2, gap 1\n"
      "gemm_2, launched by cudaLaunchKernel@20 end +2, lag -3\n"
      "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n");
  expect_run(job,
      "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"
      "cudaLaunchKernel@10 10-20 <- cudaLaunchKernel@0 end, thread order, recorded\n"
      "cudaLaunchKernel@20 20-30 <- cudaLaunchKernel@10 end, thread order, recorded\n"
      "gemm_0 12-112 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 113-133 <- gemm_0 end, stream order, recorded\n"
      "gemm_2 130-150 <- gemm_1 end, stream order, recorded\n");
  expect_scaled_run(job, "name~gemm_1=2",
      "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"
      "cudaLaunchKernel@10 10-20 <- cudaLaunchKernel@0 end, thread order, recorded\n"
      "cudaLaunchKernel@20 20-30 <- cudaLaunchKernel@10 end, thread order, recorded\n"
      "gemm_0 12-112 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 113-153 <- gemm_0 end, stream order, recorded\n"
      "gemm_2 150-170 <- gemm_1 end, stream order, recorded\n");
  /* 1 us long: nothing starts before the start of what it follows. */
  expect_scaled_run(job, "name~gemm_1=0.025",
      "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"
      "cudaLaunchKernel@10 10-20 <- cudaLaunchKernel@0 end, thread order, recorded\n"
      "cudaLaunchKernel@20 20-30 <- cudaLaunchKernel@10 end, thread order, recorded\n"
      "gemm_0 12-112 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 113-114 <- gemm_0 end, stream order, recorded\n"
      "gemm_2 113-133 <- gemm_1 start, stream order, recorded\n");
  lumos_job_free(job);
}

/* gemm_0 and gemm_1 were launched before the recording began: the first is held at its time, the second follows it. */
static void what_was_launched_before_the_recording_comes_first(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(
      LAUNCH(1, 10, 0, 10) ","
      KERNEL("gemm_0", 7, 8, 5, 10) ","
      KERNEL("gemm_1", 7, 9, 16, 9) ","
      KERNEL("gemm_2", 7, 10, 26, 10)));
  expect_graph(job,
      "gemm_1, gap 1\n"
      "gemm_2, launched by cudaLaunchKernel end +0, gap 1\n"
      "boundary: 0 -> cudaLaunchKernel start +0, recorded, fixed\n"
      "boundary: 5 -> gemm_0 start +0, recorded, fixed\n");
  expect_run(job,
      "cudaLaunchKernel 0-10 <- outside the recording, recorded\n"
      "gemm_0 5-15 <- outside the recording, recorded\n"
      "gemm_1 16-25 <- gemm_0 end, stream order, recorded\n"
      "gemm_2 26-36 <- gemm_1 end, stream order, recorded\n");
  expect_scaled_run(job, "name~gemm_0=3",
      "cudaLaunchKernel 0-10 <- outside the recording, recorded\n"
      "gemm_0 5-35 <- outside the recording, recorded\n"
      "gemm_1 36-45 <- gemm_0 end, stream order, recorded\n"
      "gemm_2 46-56 <- gemm_1 end, stream order, recorded\n");
  lumos_job_free(job);
}

/* Threads 1 and 2 launch on one stream, thread 1 first: gemm_0, then gemm_1. When work_0 takes three times as long
 * thread 2 comes first: gemm_1 from 70 + 2, and gemm_0 from its launch 100 + 2, for the stream is free from 92. With
 * work_0 2.1 times as long thread 1 is only 3 us later: gemm_0 waits behind gemm_1. */
static void the_launches_of_the_simulation_decide_the_order(void **state) {
  (void)state;
  static const char trace[] = TRACE(
      OP_ON(1, "work_0", 0, 30) ","
      LAUNCH(1, 1, 30, 10) ","
      OP_ON(2, "work_1", 0, 60) ","
      LAUNCH(2, 2, 60, 10) ","
      KERNEL("gemm_0", 7, 1, 42, 100) ","
      KERNEL("gemm_1", 7, 2, 143, 20));
  struct lumos_job *job = graph_of(trace);
  expect_graph(job,
      "gemm_0, launched by cudaLaunchKernel@30 end +2\n"
      "gemm_1, launched by cudaLaunchKernel@60 end +2, gap 1\n"
      "boundary: 0 -> work_0 start +0, recorded, fixed\n"
      "boundary: 0 -> work_1 start +0, recorded, fixed\n");
  expect_run(job,
      "work_0 0-30 <- outside the recording, recorded\n"
      "cudaLaunchKernel@30 30-40 <- work_0 end, thread order, recorded\n"
      "work_1 0-60 <- outside the recording, recorded\n"
      "cudaLaunchKernel@60 60-70 <- work_1 end, thread order, recorded\n"
      "gemm_0 42-142 <- cudaLaunchKernel@30 end, launch, recorded\n"
      "gemm_1 143-163 <- gemm_0 end, stream order, recorded\n");
  expect_scaled_run(job, "name~work_0=3",
      "work_0 0-90 <- outside the recording, recorded\n"
      "cudaLaunchKernel@30 90-100 <- work_0 end, thread order, recorded\n"
      "work_1 0-60 <- outside the recording, recorded\n"
      "cudaLaunchKernel@60 60-70 <- work_1 end, thread order, recorded\n"
      "gemm_0 102-202 <- cudaLaunchKernel@30 end, launch, recorded\n"
      "gemm_1 72-92 <- cudaLaunchKernel@60 end, launch, recorded\n");
  lumos_job_free(job);
  job = graph_of(trace);
  expect_scaled_run(job, "name~work_0=2.1",
      "work_0 0-63 <- outside the recording, recorded\n"
      "cudaLaunchKernel@30 63-73 <- work_0 end, thread order, recorded\n"
      "work_1 0-60 <- outside the recording, recorded\n"
      "cudaLaunchKernel@60 60-70 <- work_1 end, thread order, recorded\n"
      "gemm_0 92-192 <- gemm_1 end, stream order, recorded\n"
      "gemm_1 72-92 <- cudaLaunchKernel@60 end, launch, recorded\n");
  lumos_job_free(job);
}

/* Both launches take no time and come at once; the stream tells that thread 2 was first. */
static void of_launches_at_one_instant_the_stream_tells_the_order(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(
      OP_ON(1, "work_0", 0, 50) ","
      LAUNCH(1, 1, 50, 0) ","
      OP_ON(2, "work_1", 0, 50) ","
      LAUNCH(2, 2, 50, 0) ","
      KERNEL("gemm_1", 7, 2, 52, 10) ","
      KERNEL("gemm_0", 7, 1, 63, 20)));
  expect_run(job,
      "work_0 0-50 <- outside the recording, recorded\n"
      "cudaLaunchKernel@50 50-50 <- work_0 end, thread order, recorded\n"
      "work_1 0-50 <- outside the recording, recorded\n"
      "cudaLaunchKernel@50 50-50 <- work_1 end, thread order, recorded\n"
      "gemm_1 52-62 <- cudaLaunchKernel@50 end, launch, recorded\n"
      "gemm_0 63-83 <- gemm_1 end, stream order, recorded\n");
  lumos_job_free(job);
}

/* --- Event --- */

/* On s20 gemm_1 waits for what stands on s7 when the event is recorded, which is gemm_0; it ends at 112 and is seen 4
 * us later. gemm_2 behind it waits for nothing else. */
#define TWO_STREAMS(lasts, starts, more)                  \
  TRACE(LAUNCH(1, 1, 0, 10) ","                           \
        CALL_ON(1, "cudaEventRecord", 2, 10, 2) ","       \
        CALL_ON(1, "cudaStreamWaitEvent", 3, 12, 2) ","   \
        LAUNCH(1, 4, 14, 10) ","                          \
        LAUNCH(1, 5, 24, 10) ","                          \
        KERNEL("gemm_0", 7, 1, 12, lasts) ","             \
        KERNEL("gemm_1", 20, 4, starts, 20) more "")
#define CALLS_OF_TWO_STREAMS                                                                             \
  "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"                                                      \
  "cudaEventRecord 10-12 <- cudaLaunchKernel@0 end, thread order, recorded\n"                            \
  "cudaStreamWaitEvent 12-14 <- cudaEventRecord end, thread order, recorded\n"                           \
  "cudaLaunchKernel@14 14-24 <- cudaStreamWaitEvent end, thread order, recorded\n"                       \
  "cudaLaunchKernel@24 24-34 <- cudaLaunchKernel@14 end, thread order, recorded\n"

static void an_event_that_was_recorded_holds_what_comes_next(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(
      TWO_STREAMS(100, 116, "," KERNEL("gemm_2", 20, 5, 137, 10) "," WAIT_FOR(20, 3, 7, 2)));
  expect_graph(job,
      "gemm_0, launched by cudaLaunchKernel@0 end +2\n"
      "gemm_1, launched by cudaLaunchKernel@14 end +2\n"
      "gemm_2, launched by cudaLaunchKernel@24 end +2, gap 1\n"
      "event: gemm_0 end -> gemm_1 start +4, recorded, run_time\n"
      "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n");
  expect_run(job, CALLS_OF_TWO_STREAMS
      "gemm_0 12-112 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 116-136 <- gemm_0 end, event, recorded\n"
      "gemm_2 137-147 <- gemm_1 end, stream order, recorded\n");
  expect_scaled_run(job, "name~gemm_0=2", CALLS_OF_TWO_STREAMS
      "gemm_0 12-212 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 216-236 <- gemm_0 end, event, recorded\n"
      "gemm_2 237-247 <- gemm_1 end, stream order, recorded\n");
  /* gemm_0 is over long before: what remains is the launch. */
  expect_scaled_run(job, "name~gemm_0=0.005", CALLS_OF_TWO_STREAMS
      "gemm_0 12-13 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 26-46 <- cudaLaunchKernel@14 end, launch, recorded\n"
      "gemm_2 47-57 <- gemm_1 end, stream order, recorded\n");
  lumos_job_free(job);
}

/* Thread 2 launches gemm_3 on s7, in the recording after the event's record. When its work takes no time it comes
 * before: now gemm_1 waits for that, with the latency that is known for the two streams. */
static void a_wait_binds_to_what_precedes_the_record_in_the_simulation(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TWO_STREAMS(100, 116,
      "," OP_ON(2, "work", 0, 40) "," LAUNCH(2, 6, 40, 10) "," KERNEL("gemm_3", 7, 6, 113, 20) ","
      KERNEL("gemm_2", 20, 5, 137, 10) "," WAIT_FOR(20, 3, 7, 2)));
  expect_graph(job,
      "gemm_0, launched by cudaLaunchKernel@0 end +2\n"
      "gemm_3, launched by cudaLaunchKernel@40 end +2, gap 1\n"
      "gemm_1, launched by cudaLaunchKernel@14 end +2\n"
      "gemm_2, launched by cudaLaunchKernel@24 end +2, gap 1\n"
      "event: gemm_0 end -> gemm_1 start +4, recorded, run_time\n"
      "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n"
      "boundary: 0 -> work start +0, recorded, fixed\n");
  expect_scaled_run(job, "name~work=0", CALLS_OF_TWO_STREAMS
      "work 0-0 <- outside the recording, recorded\n"
      "cudaLaunchKernel@40 0-10 <- work end, thread order, recorded\n"
      "gemm_0 12-112 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_3 113-133 <- gemm_0 end, stream order, recorded\n"
      "gemm_1 137-157 <- gemm_3 end, event, recorded\n"
      "gemm_2 158-168 <- gemm_1 end, stream order, recorded\n");
  lumos_job_free(job);
}

/* The same without the profiler's word on what waits for what: gemm_1 starts right after gemm_0, which says it. */
static void an_event_that_binds_is_inferred_from_times(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TWO_STREAMS(100, 116, "," KERNEL("gemm_2", 20, 5, 137, 10)));
  expect_graph(job,
      "gemm_0, launched by cudaLaunchKernel@0 end +2\n"
      "gemm_1, launched by cudaLaunchKernel@14 end +2\n"
      "gemm_2, launched by cudaLaunchKernel@24 end +2, gap 1\n"
      "event: gemm_0 end -> gemm_1 start +4, inferred, run_time\n"
      "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n"
      "graph.inferred_stream_waits 1\n");
  expect_scaled_run(job, "name~gemm_0=2", CALLS_OF_TWO_STREAMS
      "gemm_0 12-212 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 216-236 <- gemm_0 end, event, inferred\n"
      "gemm_2 237-247 <- gemm_1 end, stream order, recorded\n");
  lumos_job_free(job);
}

/* gemm_0 is over at 16, before gemm_1 is launched: no time shows the wait, but the order of calls does. */
static void an_event_with_slack_follows_from_the_order_of_calls(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TWO_STREAMS(4, 26, ""));
  expect_graph(job,
      "gemm_0, launched by cudaLaunchKernel@0 end +2\n"
      "gemm_1, launched by cudaLaunchKernel@14 end +2\n"
      "event: gemm_0 end -> gemm_1 start +0, ordered, run_time\n"
      "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n"
      "graph.inferred_stream_waits 1\n");
  expect_scaled_run(job, "name~gemm_0=50", CALLS_OF_TWO_STREAMS
      "gemm_0 12-212 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 212-232 <- gemm_0 end, event, ordered\n");
  lumos_job_free(job);
}

/* A graph's launch brings gemm_0 to s7 and gemm_1 to s20, 203 us late and 3 us behind gemm_0: a wait within the graph,
 * which no call shows. Once, that may be chance, and the first task of s20 is held where it was; what comes again is
 * believed. */
#define GRAPH_LAUNCH(correlation, ts, first, second)     \
  CALL_ON(1, "cudaGraphLaunch", correlation, ts, 10) "," \
  KERNEL("gemm_0", 7, correlation, first, 200) ","       \
  KERNEL("gemm_1", 20, correlation, second, 50)

static void an_event_within_a_graph_is_inferred_from_times(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(GRAPH_LAUNCH(1, 0, 10, 213)));
  expect_graph(job,
      "gemm_0, launched by cudaGraphLaunch end +0\n"
      "gemm_1, launched by cudaGraphLaunch end +0\n"
      "event: gemm_0 end -> gemm_1 start +3, inferred, run_time\n"
      "boundary: 0 -> cudaGraphLaunch start +0, recorded, fixed\n"
      "graph.unseen_stream_waits 1\n");
  lumos_job_free(job);
  job = graph_of(TRACE(GRAPH_LAUNCH(1, 0, 10, 213) "," GRAPH_LAUNCH(2, 400, 410, 613)));
  expect_graph(job,
      "cudaGraphLaunch@400, lag 390\n"
      "gemm_0@10, launched by cudaGraphLaunch@0 end +0\n"
      "gemm_0@410, launched by cudaGraphLaunch@400 end +0\n"
      "gemm_1@213, launched by cudaGraphLaunch@0 end +0\n"
      "gemm_1@613, launched by cudaGraphLaunch@400 end +0\n"
      "event: gemm_0@10 end -> gemm_1@213 start +3, inferred, run_time\n"
      "event: gemm_0@410 end -> gemm_1@613 start +3, inferred, run_time\n"
      "boundary: 0 -> cudaGraphLaunch@0 start +0, recorded, fixed\n"
      "graph.unseen_stream_waits 2\n");
  expect_scaled_run(job, "name~gemm_0=1.5",
      "cudaGraphLaunch@0 0-10 <- outside the recording, recorded\n"
      "cudaGraphLaunch@400 400-410 <- cudaGraphLaunch@0 end, thread order, recorded\n"
      "gemm_0@10 10-310 <- cudaGraphLaunch@0 end, launch, recorded\n"
      "gemm_0@410 410-710 <- cudaGraphLaunch@400 end, launch, recorded\n"
      "gemm_1@213 313-363 <- gemm_0@10 end, event, inferred\n"
      "gemm_1@613 713-763 <- gemm_0@410 end, event, inferred\n");
  lumos_job_free(job);
}

/* --- Free SMs --- */

/* big fills the device; small is launched at 104 and starts when big's last wave is through, 20 us before its end. */
static void a_kernel_that_finds_no_room_waits_where_the_other_runs(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(
      LAUNCH(1, 1, 0, 10) ","
      LAUNCH(1, 2, 100, 4) ","
      KERNEL("big_gemm", 7, 1, 10, 1000) ","
      KERNEL("small_elementwise", 9, 2, 990, 50)));
  expect_graph(job,
      "cudaLaunchKernel@100, lag 90\n"
      "big_gemm, launched by cudaLaunchKernel@0 end +0\n"
      "small_elementwise, launched by cudaLaunchKernel@100 end +0\n"
      "resource: big_gemm end -> small_elementwise start +-20, covers 886, inferred, run_time\n"
      "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n");
#define CALLS_OF_TWO_SIZES                          \
  "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n" \
  "cudaLaunchKernel@100 100-104 <- cudaLaunchKernel@0 end, thread order, recorded\n"
  expect_run(job, CALLS_OF_TWO_SIZES
      "big_gemm 10-1010 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "small_elementwise 990-1040 <- big_gemm end, free SMs, inferred\n");
  expect_scaled_run(job, "kind=gemm=2", CALLS_OF_TWO_SIZES
      "big_gemm 10-2010 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "small_elementwise 1970-2020 <- big_gemm end, free SMs, inferred\n");
  expect_scaled_run(job, "kind=gemm=0.04", CALLS_OF_TWO_SIZES
      "big_gemm 10-90 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "small_elementwise 104-154 <- cudaLaunchKernel@100 end, launch, recorded\n");
  lumos_job_free(job);
}

/* --- Boundary --- */

/* gemm_1 starts 2.9 ms after its launch on a device that is idle: it waited for something that is not here. gemm_2 is
 * the first of its stream and starts 38 us after its launch: what came before it is not here. Both start as much later
 * than all else allows in a job that is edited. */
static void what_the_recording_does_not_show_takes_its_time(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(
      LAUNCH(1, 1, 0, 10) ","
      LAUNCH(1, 2, 30, 10) ","
      LAUNCH(1, 3, 50, 10) ","
      KERNEL("gemm_0", 7, 1, 12, 50) ","
      KERNEL("gemm_1", 7, 2, 3000, 10) ","
      KERNEL("gemm_2", 9, 3, 100, 10)));
  expect_graph(job,
      "cudaLaunchKernel@30, lag 20\n"
      "cudaLaunchKernel@50, lag 10\n"
      "gemm_0, launched by cudaLaunchKernel@0 end +2\n"
      "gemm_1, launched by cudaLaunchKernel@30 end +2\n"
      "gemm_2, launched by cudaLaunchKernel@50 end +2, residual 38\n"
      "boundary: 0 -> cudaLaunchKernel@0 start +0, recorded, fixed\n"
      "boundary: 3000 -> gemm_1 start +0, covers 2938, inferred, fixed\n");
  expect_scaled_run(job, "device=0.5",
      "cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"
      "cudaLaunchKernel@30 30-40 <- cudaLaunchKernel@0 end, thread order, recorded\n"
      "cudaLaunchKernel@50 50-60 <- cudaLaunchKernel@30 end, thread order, recorded\n"
      "gemm_0 12-37 <- cudaLaunchKernel@0 end, launch, recorded\n"
      "gemm_1 2980-2985 <- outside the recording, inferred\n"
      "gemm_2 100-105 <- cudaLaunchKernel@50 end, launch, recorded\n");
  lumos_job_free(job);
}

/* Step 2 alone: its kernel was launched at 60 and starts at 211, behind the kernel of step 1, which is not selected. */
static void what_steps_that_are_left_out_hold_up_stays_at_its_time(void **state) {
  (void)state;
  static const char trace[] = TRACE(
      ANNOTATION("ProfilerStep#1", 0, 40) ","
      LAUNCH(10, 1, 10, 10) ","
      ANNOTATION("ProfilerStep#2", 40, 40) ","
      LAUNCH(10, 2, 50, 10) ","
      KERNEL("gemm_0", 7, 1, 20, 190) ","
      KERNEL("gemm_1", 7, 2, 211, 30) ","
      OP_ON(10, "after", 300, 10));
  struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_steps_parse("2", &options, &error));
  struct lumos_job *job = parse_good(trace, &options);
  assert_true(lumos_graph_build(job, &error));
  expect_graph(job,
      "gemm_1, launched by cudaLaunchKernel end +0\n"
      "boundary: 50 -> cudaLaunchKernel start +0, recorded, fixed\n"
      "boundary: 211 -> gemm_1 start +0, inferred, fixed\n");
  expect_scaled_run(job, "host=0.5",
      "cudaLaunchKernel 50-55 <- outside the recording, recorded\n"
      "gemm_1 211-241 <- outside the recording, inferred\n");
  lumos_job_free(job);
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_launch_leaves_from_the_end_of_its_call),
      cmocka_unit_test(what_starts_inside_its_call_leaves_from_its_start),
      cmocka_unit_test(a_launch_lag_is_a_trimmed_mean),
      cmocka_unit_test(a_stream_runs_in_order_and_overlaps_as_measured),
      cmocka_unit_test(what_was_launched_before_the_recording_comes_first),
      cmocka_unit_test(the_launches_of_the_simulation_decide_the_order),
      cmocka_unit_test(of_launches_at_one_instant_the_stream_tells_the_order),
      cmocka_unit_test(an_event_that_was_recorded_holds_what_comes_next),
      cmocka_unit_test(a_wait_binds_to_what_precedes_the_record_in_the_simulation),
      cmocka_unit_test(an_event_that_binds_is_inferred_from_times),
      cmocka_unit_test(an_event_with_slack_follows_from_the_order_of_calls),
      cmocka_unit_test(an_event_within_a_graph_is_inferred_from_times),
      cmocka_unit_test(a_kernel_that_finds_no_room_waits_where_the_other_runs),
      cmocka_unit_test(what_the_recording_does_not_show_takes_its_time),
      cmocka_unit_test(what_steps_that_are_left_out_hold_up_stays_at_its_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
