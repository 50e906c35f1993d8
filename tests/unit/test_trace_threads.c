/* Threads: nesting, exclusive segments, lags, calls in pieces, repair of what crosses, the clock of the runtime rows.
 * Times in the traces are microseconds, in the jobs nanoseconds from the earliest row.
 */
#include "trace_text.h"

/* Traces are laid out with an event a line. */
/* clang-format off */

/*  us   0----100------150---200---260----------300
 *  op   [outer                                 ]
 *       |    [inner     [launch]    ]                  */
static void nested_rows_become_exclusive_segments(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("outer", 1000, 300) ","
      OP("inner", 1100, 160) ","
      CALL("cudaLaunchKernel", 1, 1150, 50) ","
      OP("later", 1340, 10)), NULL);
  expect_tasks(job, "t10 outer 0+100000\n"
                    "t10 inner 100000+50000\n"
                    "t10 cudaLaunchKernel 150000+50000\n"
                    "t10 inner 200000+60000\n"
                    "t10 outer 260000+40000\n"
                    "t10 later 340000+10000 lag 40000\n");
  expect_spans(job, "op outer 0+300000\nop inner 100000+160000 in outer\nop later 340000+10000\n");
  assert_int_equal(job->tasks.items[2].kind, LUMOS_LAUNCH);
  assert_int_equal(job->tasks.items[3].kind, LUMOS_OP);
  assert_string_equal(string_of(job, job->spans.items[job->tasks.items[2].span].name), "inner");
  assert_string_equal(string_of(job, job->spans.items[job->tasks.items[4].span].name), "outer");
  assert_int_equal(job->epoch, 1000000);
  lumos_job_free(job);
}

/* Of two rows that start together the longer holds the other, whatever comes first in the file. */
static void rows_that_start_together_nest_by_length(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaLaunchKernel", 1, 0, 2) ","
      OP("child", 0, 3) ","
      OP("parent", 0, 10)), NULL);
  expect_tasks(job, "t10 cudaLaunchKernel 0+2000\nt10 child 2000+1000\nt10 parent 3000+7000\n");
  expect_spans(job, "op parent 0+10000\nop child 0+3000 in parent\n");
  lumos_job_free(job);
}

static void order_in_the_file_does_not_matter(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("later", 1340, 10) ","
      CALL("cudaLaunchKernel", 1, 1150, 50) ","
      OP("inner", 1100, 160) ","
      OP("outer", 1000, 300)), NULL);
  expect_tasks(job, "t10 outer 0+100000\n"
                    "t10 inner 100000+50000\n"
                    "t10 cudaLaunchKernel 150000+50000\n"
                    "t10 inner 200000+60000\n"
                    "t10 outer 260000+40000\n"
                    "t10 later 340000+10000 lag 40000\n");
  lumos_job_free(job);
}

/* An op without time of its own is a span and no task; a call is a task even when it took no time. */
static void what_has_no_time_of_its_own(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("wrap", 0, 10) ","
      OP("work", 0, 10) ","
      OP("empty", 5, 0) ","
      CALL("cudaGetLastError", 1, 10, 0)), NULL);
  expect_tasks(job, "t10 work 0+5000\nt10 work 5000+5000\nt10 cudaGetLastError 10000+0\n");
  expect_spans(job, "op wrap 0+10000\nop work 0+10000 in wrap\nop empty 5000+0 in work\n");
  lumos_job_free(job);
}

/* Annotations and modules enclose, but take no time from ops. */
static void annotations_are_spans_only(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ANNOTATION("forward", 0, 100) ","
      EVENT("python_function", "nn.Module: Linear_0", 10, 10, 60, "") ","
      EVENT("python_function", "train.py(7): step", 10, 5, 80, "") ","
      OP("aten::linear", 20, 40) ","
      ANNOTATION("nccl:all_reduce", 30, 20) ","
      CALL("cudaLaunchKernel", 1, 35, 5)), NULL);
  expect_tasks(job, "t10 aten::linear 20000+15000\nt10 cudaLaunchKernel 35000+5000\nt10 aten::linear 40000+20000\n");
  expect_spans(job, "annotation forward 0+100000\n"
                    "module Linear_0 10000+60000 in forward\n"
                    "op aten::linear 20000+40000 in Linear_0\n"
                    "annotation nccl:all_reduce 30000+20000 in aten::linear\n");
  assert_string_equal(string_of(job, job->spans.items[job->tasks.items[1].span].name), "nccl:all_reduce");
  lumos_job_free(job);
}

static void stacks_are_kept_when_asked_for(void **state) {
  (void)state;
  const struct lumos_trace_options options = {.stacks = true};
  struct lumos_job *job = parse_good(TRACE(
      EVENT("python_function", "train.py(7): step", 10, 0, 80, "") ","
      OP("aten::linear", 20, 40)), &options);
  expect_spans(job, "python train.py(7): step 0+80000\nop aten::linear 20000+40000 in train.py(7): step\n");
  assert_string_equal(string_of(job, job->history.items[0].args), "--stacks");
  lumos_job_free(job);
}

/*  runtime [call 7                 ]      the kernel hangs on the last piece,
 *  driver        [driver]                 which knows the first               */
static void a_nested_driver_call_cuts_a_call(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaLaunchKernelExC", 7, 0, 20) ","
      DRIVER("cuLaunchKernelEx", 8, 5, 6) ","
      KERNEL("k", 7, 7, 30, 4)), NULL);
  expect_tasks(job, "t10 cudaLaunchKernelExC 0+5000\n"
                    "t10 cuLaunchKernelEx 5000+6000\n"
                    "t10 cudaLaunchKernelExC 11000+9000\n"
                    "s7 k 30000+4000\n");
  assert_int_equal(job->tasks.items[3].call, 2);
  assert_int_equal(lumos_detail_of(job, &job->tasks.items[2])->first_segment, 0);
  assert_int_equal(lumos_detail_of(job, &job->tasks.items[0])->first_segment, LUMOS_NONE);
  lumos_job_free(job);
}

/* A call that its nested call fills at either end still starts and ends where it did. */
static void a_cut_call_keeps_its_ends(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("outer", 1, 0, 20) ","
      DRIVER("inner", 2, 0, 20) ","
      KERNEL("k", 7, 1, 30, 4)), NULL);
  expect_tasks(job, "t10 outer 0+0\nt10 inner 0+20000\nt10 outer 20000+0\ns7 k 30000+4000\n");
  assert_int_equal(job->tasks.items[3].call, 2);
  assert_int_equal(lumos_detail_of(job, &job->tasks.items[2])->first_segment, 0);
  lumos_job_free(job);
}

/* Integer microseconds: calls of no length stand beside longer ones, not in them; at the end of an op they belong to
 * it. */
static void instants_of_rounded_time(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("op", 0, 5) ","
      CALL("cudaMalloc", 1, 2, 3) ","
      CALL("cudaGetDevice", 2, 2, 0) ","
      CALL("cudaGetLastError", 3, 5, 0)), NULL);
  expect_tasks(job, "t10 op 0+2000\n"
                    "t10 cudaGetDevice 2000+0\n"
                    "t10 cudaMalloc 2000+3000\n"
                    "t10 cudaGetLastError 5000+0\n");
  for (int i = 0; i < 4; i++) {
    assert_string_equal(string_of(job, job->spans.items[job->tasks.items[i].span].name), "op");
  }
  lumos_job_free(job);
}

/* Equal rows are real in traces of integer microseconds. */
static void equal_rows_are_kept(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(CALL("cudaEventQuery", 1, 3, 0) "," CALL("cudaEventQuery", 2, 3, 0)), NULL);
  expect_tasks(job, "t10 cudaEventQuery 0+0\nt10 cudaEventQuery 0+0\n");
  lumos_job_free(job);
}

/*  [a: 0-10]           b begins inside a and ends 20 later: a is cut
 *        [b: 8-28]                                                   */
static void a_row_that_sticks_out_far_cuts_the_open_one(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(OP("a", 0, 10) "," OP("b", 8, 20)), NULL);
  expect_tasks(job, "t10 a 0+8000\nt10 b 8000+20000\n");
  expect_spans(job, "op a 0+8000\nop b 8000+20000\n");
  assert_int_equal(job->ranks.items[0].coverage.crossing, 1);
  assert_int_equal(job->ranks.items[0].coverage.repaired, 1);
  assert_int_equal(find_note(job, "parse.repaired_rows")->count, 1);
  lumos_job_free(job);
}

/*  [a: 0-10]           b ends 1 behind a: b is cut and nests
 *     [b: 3-11]                                              */
static void a_row_that_sticks_out_a_little_is_cut(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(OP("a", 0, 10) "," OP("b", 3, 8)), NULL);
  expect_tasks(job, "t10 a 0+3000\nt10 b 3000+7000\n");
  expect_spans(job, "op a 0+10000\nop b 3000+7000 in a\n");
  lumos_job_free(job);
}

/*  [call: 0-50]        the op begins 2 into the call and holds it otherwise: the call moves inside
 *    [op: 2-90]                                                                                   */
static void a_call_that_begins_too_early_moves_into_its_op(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(CALL("cudaMalloc", 1, 0, 50) "," OP("aten::cat", 2, 88)), NULL);
  expect_tasks(job, "t10 cudaMalloc 2000+48000\nt10 aten::cat 50000+40000\n");
  assert_string_equal(string_of(job, job->spans.items[job->tasks.items[0].span].name), "aten::cat");
  lumos_job_free(job);
}

/* An annotation never takes time from an op. */
static void an_annotation_yields_to_an_op(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(ANNOTATION("note", 0, 100) "," OP("op", 60, 50)), NULL);
  expect_tasks(job, "t10 op 60000+50000\n");
  expect_spans(job, "annotation note 0+60000\nop op 60000+50000\n");
  lumos_job_free(job);
}

/* All four calls begin 5 us before their ops. Offsets of 5 to 16 us fit the short ones, 5 to 6 us the long one too: the
 * middle is 5.5. Device rows stay where they are. */
static void runtime_rows_are_shifted_to_fit(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("a", 100, 20) ","
      CALL("cudaLaunchKernel", 1, 95, 9) ","
      OP("b", 130, 20) ","
      CALL("cudaLaunchKernel", 2, 125, 9) ","
      OP("c", 160, 20) ","
      CALL("cudaLaunchKernel", 3, 155, 19) ","
      OP("d", 190, 20) ","
      CALL("cudaLaunchKernel", 4, 185, 9) ","
      KERNEL("k", 7, 1, 120, 5)), NULL);
  expect_tasks(job, "t10 a 0+500\nt10 cudaLaunchKernel 500+9000\nt10 a 9500+10500\n"
                    "t10 b 30000+500 lag 10000\nt10 cudaLaunchKernel 30500+9000\nt10 b 39500+10500\n"
                    "t10 c 60000+500 lag 10000\nt10 cudaLaunchKernel 60500+19000\nt10 c 79500+500\n"
                    "t10 d 90000+500 lag 10000\nt10 cudaLaunchKernel 90500+9000\nt10 d 99500+10500\n"
                    "s7 k 20000+5000\n");
  assert_int_equal(job->ranks.items[0].runtime_offset, 5500);
  assert_int_equal(job->ranks.items[0].runtime_doubt, 500);
  assert_int_equal(job->ranks.items[0].coverage.crossing, 0);
  assert_int_equal(find_note(job, "parse.runtime_shift")->count, 4);
  lumos_job_free(job);
}

/* Where all fit, the doubt is half of what they could still move: 2 us to the left, 4 to the right. */
static void fitting_rows_stay(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("a", 100, 20) ","
      CALL("cudaLaunchKernel", 1, 102, 10) ","
      OP("b", 130, 20) ","
      CALL("cudaLaunchKernel", 2, 140, 6)), NULL);
  assert_int_equal(job->ranks.items[0].runtime_offset, 0);
  assert_int_equal(job->ranks.items[0].runtime_doubt, 3000);
  lumos_job_free(job);
}

static void threads_are_lanes_of_their_own(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":9,\"args\":{\"name\":\"main  \"}},"
      EVENT("cpu_op", "x", 11, 5, 1, "") ","
      EVENT("cpu_op", "y", 9, 5, 2, "") ","
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"z\",\"pid\":2,\"tid\":\"11\",\"ts\":6,\"dur\":1}"), NULL);
  expect_tasks(job, "t9 y 0+2000\np1.t11 x 0+1000\np2.t11 z 1000+1000\n");
  assert_string_equal(string_of(job, job->lanes.items[0].name), "main");
  assert_string_equal(string_of(job, job->lanes.items[2].process), "2");
  assert_string_equal(string_of(job, job->lanes.items[2].native), "11");
  lumos_job_free(job);
}

/* The op that makes the node comes last of those with its number; both backward rows point to it. */
static void backward_ops_know_their_forward(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      EVENT("cpu_op", "aten::empty", 10, 0, 1, "\"Sequence number\":5,\"Fwd thread id\":0") ","
      EVENT("cpu_op", "aten::linear", 10, 2, 9, "\"Sequence number\":5,\"Fwd thread id\":0,"
                                                "\"Input Dims\":[[2, 3]],\"Input type\":[\"float\"]") ","
      EVENT("cpu_op", "aten::addmm", 10, 4, 5, "\"Sequence number\":5,\"Fwd thread " "id\":0") ","
      EVENT("cpu_op", "evaluate", 11, 20, 9, "\"Sequence " "number\":5," "\"Fwd thread " "id\":1") ","
      EVENT("cpu_op", "AddmmBackward0", 11, 21, 5, "\"Sequence number\":5,\"Fwd " "thread id\":1")), NULL);
  assert_int_equal(job->spans.count, 5);
  assert_int_equal(job->spans.items[3].forward, 2);
  assert_int_equal(job->spans.items[4].forward, 2);
  assert_int_equal(job->spans.items[2].forward, LUMOS_NONE);
  assert_int_equal(job->spans.items[4].sequence, 5);
  assert_string_equal(string_of(job, job->spans.items[1].shapes), "[[2, 3]]");
  assert_string_equal(string_of(job, job->spans.items[1].dtypes), "[\"float\"]");
  lumos_job_free(job);
}

/* What a checkpoint computes again counts from 0 on the thread that does so, which thereby gives numbers a second
 * time. */
static void threads_count_apart(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      EVENT("cpu_op", "mul", 10, 0, 1, "\"Sequence number\":4,\"Fwd thread id\":0") ","
      EVENT("cpu_op", "CheckpointFunction", 10, 2, 1, "\"Sequence number\":5,\"Fwd thread id\":0") ","
      EVENT("cpu_op", "mean", 10, 4, 1, "\"Sequence number\":6,\"Fwd thread id\":0") ","
      EVENT("cpu_op", "MeanBackward", 11, 20, 1, "\"Sequence number\":6,\"Fwd thread id\":1") ","
      EVENT("cpu_op", "mm", 11, 22, 1, "\"Sequence number\":4,\"Fwd thread id\":0") ","
      EVENT("cpu_op", "relu", 11, 24, 1, "\"Sequence number\":5,\"Fwd thread id\":0") ","
      EVENT("cpu_op", "ReluBackward", 11, 26, 1, "\"Sequence number\":5,\"Fwd thread id\":2") ","
      EVENT("cpu_op", "MmBackward", 11, 28, 1, "\"Sequence number\":4,\"Fwd thread id\":2") ","
      EVENT("cpu_op", "CheckpointFunctionBackward", 11, 30, 1, "\"Sequence number\":5,\"Fwd thread id\":1") ","
      EVENT("cpu_op", "MulBackward", 11, 32, 1, "\"Sequence number\":4,\"Fwd thread id\":1") ","
      EVENT("cpu_op", "LateBackward", 11, 34, 1, "\"Sequence number\":5,\"Fwd thread id\":3")), NULL);
  static const char *const forward[] = {"mean", "relu", "mm", "CheckpointFunction", "mul", NULL};
  static const size_t backward[] = {3, 6, 7, 8, 9, 10};
  assert_int_equal(job->spans.count, 11);
  for (size_t i = 0; i < sizeof backward / sizeof *backward; i++) {
    uint32_t found = job->spans.items[backward[i]].forward;
    if (forward[i] == NULL) {
      assert_int_equal(found, LUMOS_NONE);
    } else {
      assert_string_equal(string_of(job, job->spans.items[found].name), forward[i]);
    }
  }
  lumos_job_free(job);
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nested_rows_become_exclusive_segments),
      cmocka_unit_test(rows_that_start_together_nest_by_length),
      cmocka_unit_test(order_in_the_file_does_not_matter),
      cmocka_unit_test(what_has_no_time_of_its_own),
      cmocka_unit_test(annotations_are_spans_only),
      cmocka_unit_test(stacks_are_kept_when_asked_for),
      cmocka_unit_test(a_nested_driver_call_cuts_a_call),
      cmocka_unit_test(a_cut_call_keeps_its_ends),
      cmocka_unit_test(instants_of_rounded_time),
      cmocka_unit_test(equal_rows_are_kept),
      cmocka_unit_test(a_row_that_sticks_out_far_cuts_the_open_one),
      cmocka_unit_test(a_row_that_sticks_out_a_little_is_cut),
      cmocka_unit_test(a_call_that_begins_too_early_moves_into_its_op),
      cmocka_unit_test(an_annotation_yields_to_an_op),
      cmocka_unit_test(runtime_rows_are_shifted_to_fit),
      cmocka_unit_test(fitting_rows_stay),
      cmocka_unit_test(threads_are_lanes_of_their_own),
      cmocka_unit_test(backward_ops_know_their_forward),
      cmocka_unit_test(threads_count_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
