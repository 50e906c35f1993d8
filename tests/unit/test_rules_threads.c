/* The rules of threads, thread order and hand-over: each on a trace by hand, with every edge, lag and simulated time
 * listed, as recorded and after a change that only this rule passes on. */
#include "rule_trace.h"

/* Traces are laid out with an event a line. */
/* clang-format off */

/* op_1 starts 5 us after op_0; the launch cuts it in two. */
static void a_thread_runs_in_order_and_keeps_its_gaps(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(
      OP_ON(1, "op_0", 0, 10) ","
      OP_ON(1, "op_1", 15, 25) ","
      LAUNCH(1, 1, 20, 10) ","
      KERNEL("gemm", 7, 1, 32, 8)));
  expect_graph(job,
      "op_1@15, lag 5\n"
      "gemm, launched by cudaLaunchKernel end +2\n"
      "boundary: 0 -> op_0 start +0, recorded, fixed\n");
  expect_run(job,
      "op_0 0-10 <- outside the recording, recorded\n"
      "op_1@15 15-20 <- op_0 end, thread order, recorded\n"
      "cudaLaunchKernel 20-30 <- op_1@15 end, thread order, recorded\n"
      "op_1@30 30-40 <- cudaLaunchKernel end, thread order, recorded\n"
      "gemm 32-40 <- cudaLaunchKernel end, launch, recorded\n");
  expect_scaled_run(job, "name~op_0=2",
      "op_0 0-20 <- outside the recording, recorded\n"
      "op_1@15 25-30 <- op_0 end, thread order, recorded\n"
      "cudaLaunchKernel 30-40 <- op_1@15 end, thread order, recorded\n"
      "op_1@30 40-50 <- cudaLaunchKernel end, thread order, recorded\n"
      "gemm 42-50 <- cudaLaunchKernel end, launch, recorded\n");
  /* All of the host twice, on top of that: lags, too, but not that of the launch. */
  expect_scaled_run(job, "host=2",
      "op_0 0-40 <- outside the recording, recorded\n"
      "op_1@15 50-60 <- op_0 end, thread order, recorded\n"
      "cudaLaunchKernel 60-80 <- op_1@15 end, thread order, recorded\n"
      "op_1@30 80-100 <- cudaLaunchKernel end, thread order, recorded\n"
      "gemm 82-90 <- cudaLaunchKernel end, launch, recorded\n");
  lumos_job_free(job);
}

/* Forward on thread 1, backward on thread 2, twice, in ms: forward 0-10, backward 10.1-20, forward 20.2-24, backward
 * 24.3-40. While one works the other is silent. */
#define FORWARD_AND_BACKWARD              \
  TRACE(OP_ON(1, "forward_0", 0, 10000) ","   \
        OP_ON(2, "backward_0", 10100, 9900) "," \
        OP_ON(1, "forward_1", 20200, 3800) ","  \
        OP_ON(2, "backward_1", 24300, 15700))

static void a_thread_that_was_silent_goes_on_when_the_other_is_done(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(FORWARD_AND_BACKWARD);
  expect_graph(job,
      "forward_1, lag 10200\n"
      "backward_1, lag 4300\n"
      "handover: backward_0 end -> forward_1 start +200, covers 10000, inferred, fixed\n"
      "handover: forward_0 end -> backward_0 start +100, inferred, fixed\n"
      "handover: forward_1 end -> backward_1 start +300, covers 4000, inferred, fixed\n"
      "boundary: 0 -> forward_0 start +0, recorded, fixed\n");
  expect_run(job,
      "forward_0 0-10000 <- outside the recording, recorded\n"
      "forward_1 20200-24000 <- backward_0 end, hand-over, inferred\n"
      "backward_0 10100-20000 <- forward_0 end, hand-over, inferred\n"
      "backward_1 24300-40000 <- forward_1 end, hand-over, inferred\n");
  expect_scaled_run(job, "name~forward_0=2",
      "forward_0 0-20000 <- outside the recording, recorded\n"
      "forward_1 30200-34000 <- backward_0 end, hand-over, inferred\n"
      "backward_0 20100-30000 <- forward_0 end, hand-over, inferred\n"
      "backward_1 34300-50000 <- forward_1 end, hand-over, inferred\n");
  lumos_job_free(job);
  /* A backward pass of 990 us: the gap that it covered closes. */
  job = graph_of(FORWARD_AND_BACKWARD);
  expect_scaled_run(job, "name~backward_0=0.1",
      "forward_0 0-10000 <- outside the recording, recorded\n"
      "forward_1 11290-15090 <- backward_0 end, hand-over, inferred\n"
      "backward_0 10100-11090 <- forward_0 end, hand-over, inferred\n"
      "backward_1 15390-31090 <- forward_1 end, hand-over, inferred\n");
  lumos_job_free(job);
}

/* caller_1 goes on at 15000, for called_1 is done at 14900; so caller_0, which ended when the silence began, called
 * called_1, although that had been silent for only 300 us. */
static void a_return_implies_a_call(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(
      TRACE(OP_ON(1, "caller_0", 0, 10150) ","
            OP_ON(1, "caller_1", 15000, 4000) ","
            OP_ON(2, "called_0", 0, 9900) ","
            OP_ON(2, "called_1", 10200, 4700)));
  expect_graph(job,
      "caller_1, lag 4850\n"
      "called_1, lag 300\n"
      "handover: called_1 end -> caller_1 start +100, covers 4750, inferred, fixed\n"
      "handover: caller_0 end -> called_1 start +50, covers 250, inferred, fixed\n"
      "boundary: 0 -> caller_0 start +0, recorded, fixed\n"
      "boundary: 0 -> called_0 start +0, recorded, fixed\n");
  expect_scaled_run(job, "name~caller_0=2",
      "caller_0 0-20300 <- outside the recording, recorded\n"
      "caller_1 25150-29150 <- called_1 end, hand-over, inferred\n"
      "called_0 0-9900 <- outside the recording, recorded\n"
      "called_1 20350-25050 <- caller_0 end, hand-over, inferred\n");
  lumos_job_free(job);
}

/* Thread 1 runs an op, thread 2 its gradient, and thread 1 goes on. It was silent for 600 us only; but the sequence
 * number says that it called, and so its silence is told by the return. */
#define GRADIENT(number)                                                                            \
  TRACE(EVENT("cpu_op", "forward", 1, 0, 100, "\"Sequence number\":7") ","                          \
        EVENT("cpu_op", "backward", 2, 120, 560, "\"Sequence number\":" number ",\"Fwd thread id\":1") "," \
        OP_ON(1, "next", 700, 100))

static void a_sequence_number_tells_who_called_the_backward_pass(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(GRADIENT("7"));
  expect_graph(job,
      "next, lag 600\n"
      "handover: forward end -> backward start +20, recorded, fixed\n"
      "handover: backward end -> next start +20, covers 580, inferred, fixed\n"
      "boundary: 0 -> forward start +0, recorded, fixed\n");
  expect_run(job,
      "forward 0-100 <- outside the recording, recorded\n"
      "next 700-800 <- backward end, hand-over, inferred\n"
      "backward 120-680 <- forward end, hand-over, recorded\n");
  expect_scaled_run(job, "name~ward=2",
      "forward 0-200 <- outside the recording, recorded\n"
      "next 1360-1460 <- backward end, hand-over, inferred\n"
      "backward 220-1340 <- forward end, hand-over, recorded\n");
  lumos_job_free(job);
  /* Of no op that was seen: nothing tells. */
  job = graph_of(GRADIENT("8"));
  expect_graph(job,
      "next, lag 600\n"
      "boundary: 0 -> forward start +0, recorded, fixed\n"
      "boundary: 120 -> backward start +0, recorded, fixed\n");
  lumos_job_free(job);
}

/* Two gradients 160 us apart: the thread that ran forward has done nothing between them, so it called the first alone.
 * And one that runs while that thread works: who called it is not known. */
static void only_the_first_of_a_backward_pass_was_called(void **state) {
  (void)state;
  struct lumos_job *job = graph_of(TRACE(
      EVENT("cpu_op", "forward_0", 1, 0, 50, "\"Sequence number\":7") ","
      EVENT("cpu_op", "forward_1", 1, 50, 50, "\"Sequence number\":8") ","
      EVENT("cpu_op", "backward_1", 2, 120, 200, "\"Sequence number\":8,\"Fwd thread id\":1") ","
      EVENT("cpu_op", "backward_0", 2, 480, 200, "\"Sequence number\":7,\"Fwd thread id\":1")));
  expect_graph(job,
      "backward_0, lag 160\n"
      "handover: forward_1 end -> backward_1 start +20, recorded, fixed\n"
      "boundary: 0 -> forward_0 start +0, recorded, fixed\n");
  lumos_job_free(job);
  job = graph_of(TRACE(
      EVENT("cpu_op", "forward_0", 1, 0, 50, "\"Sequence number\":7") ","
      EVENT("cpu_op", "forward_1", 1, 50, 250, "\"Sequence number\":8") ","
      EVENT("cpu_op", "backward_0", 2, 120, 200, "\"Sequence number\":7,\"Fwd thread id\":1")));
  expect_graph(job,
      "boundary: 0 -> forward_0 start +0, recorded, fixed\n"
      "boundary: 120 -> backward_0 start +0, recorded, fixed\n");
  lumos_job_free(job);
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_runs_in_order_and_keeps_its_gaps),
      cmocka_unit_test(a_thread_that_was_silent_goes_on_when_the_other_is_done),
      cmocka_unit_test(a_return_implies_a_call),
      cmocka_unit_test(a_sequence_number_tells_who_called_the_backward_pass),
      cmocka_unit_test(only_the_first_of_a_backward_pass_was_called),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
