/* The rules of threads, thread order and hand-over: each on a trace by hand, with every edge, lag and simulated time listed,
 * as recorded and after a change that only this rule passes on. */
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
      "op_0 0-10 <- boundary, recorded\n"
      "op_1@15 15-20 <- op_0 end, thread order, recorded\n"
      "cudaLaunchKernel 20-30 <- op_1@15 end, thread order, recorded\n"
      "op_1@30 30-40 <- cudaLaunchKernel end, thread order, recorded\n"
      "gemm 32-40 <- cudaLaunchKernel end, launch, recorded\n");
  expect_scaled_run(job, "name~op_0=2",
      "op_0 0-20 <- boundary, recorded\n"
      "op_1@15 25-30 <- op_0 end, thread order, recorded\n"
      "cudaLaunchKernel 30-40 <- op_1@15 end, thread order, recorded\n"
      "op_1@30 40-50 <- cudaLaunchKernel end, thread order, recorded\n"
      "gemm 42-50 <- cudaLaunchKernel end, launch, recorded\n");
  /* All of the host twice, on top of that: lags, too, but not that of the launch. */
  expect_scaled_run(job, "host=2",
      "op_0 0-40 <- boundary, recorded\n"
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
      "forward_0 0-10000 <- boundary, recorded\n"
      "forward_1 20200-24000 <- backward_0 end, hand-over, inferred\n"
      "backward_0 10100-20000 <- forward_0 end, hand-over, inferred\n"
      "backward_1 24300-40000 <- forward_1 end, hand-over, inferred\n");
  expect_scaled_run(job, "name~forward_0=2",
      "forward_0 0-20000 <- boundary, recorded\n"
      "forward_1 30200-34000 <- backward_0 end, hand-over, inferred\n"
      "backward_0 20100-30000 <- forward_0 end, hand-over, inferred\n"
      "backward_1 34300-50000 <- forward_1 end, hand-over, inferred\n");
  lumos_job_free(job);
  /* A backward pass of 990 us: the gap that it covered closes. */
  job = graph_of(FORWARD_AND_BACKWARD);
  expect_scaled_run(job, "name~backward_0=0.1",
      "forward_0 0-10000 <- boundary, recorded\n"
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
      "caller_0 0-20300 <- boundary, recorded\n"
      "caller_1 25150-29150 <- called_1 end, hand-over, inferred\n"
      "called_0 0-9900 <- boundary, recorded\n"
      "called_1 20350-25050 <- caller_0 end, hand-over, inferred\n");
  lumos_job_free(job);
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_runs_in_order_and_keeps_its_gaps),
      cmocka_unit_test(a_thread_that_was_silent_goes_on_when_the_other_is_done),
      cmocka_unit_test(a_return_implies_a_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
