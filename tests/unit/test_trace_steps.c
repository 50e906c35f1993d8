/* Steps: what belongs to which, which are kept, and when the first one starts. */
#include "trace_text.h"

#include <lumos/sim.h>

/* Traces are laid out with an event a line. */
/* clang-format off */

/* Three steps of 100 us. Each has an op, a launch in it, and a kernel that ends 20 us into the next step; before the
 * first mark a launch whose kernel ends at 130, and a kernel launched before the recording that ends at 115.
 *
 *   mark 4: 100-190, 5: 200-290, 6: 300-400; time 0 is the backlog's start, 10 */
#define STEP(number, start, length, op, call, correlation) \
  ANNOTATION("ProfilerStep#" number, start, length)        \
  "," OP("work" number, op, 40) "," CALL("cudaLaunchKernel", correlation, call, 10)
#define RECORDING(more)                                                                                                \
  "{\"traceEvents\":[" KERNEL("backlog", 7, 99, 10, 105) "," CALL("cudaLaunchKernel", 1, 50, 10) "," KERNEL(           \
      "warm", 7, 1, 120,                                                                                               \
      10) "," STEP("4", 100, 90, 110, 120,                                                                             \
                   2) "," KERNEL("k4", 7, 2, 140,                                                                      \
                                 80) "," STEP("5", 200, 90, 210, 220,                                                  \
                                              3) "," KERNEL("k5", 7, 3, 230,                                           \
                                                            90) "," STEP("6", 300, 100, 310, 320,                      \
                                                                         4) "," KERNEL("k6", 7, 4, 330,                \
                                                                                       60) "," CALL("cudaDeviceSynchr" \
                                                                                                    "onize",           \
                                                                                                    5, 410, 30) more   \
      "]}"
#define WINDOW_END ",{\"ph\":\"i\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\",\"ts\":500}"

static struct lumos_job *parse_steps(const char *text, const char *steps) {
  struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_steps_parse(steps, &options, &error));
  return parse_good(text, &options);
}

static void every_complete_step_is_kept(void **state) {
  (void)state;
  struct lumos_job *job = parse_steps(RECORDING(WINDOW_END), "all");
  expect_tasks(job, "t10 work4 100000+10000\n"
                    "t10 cudaLaunchKernel 110000+10000\n"
                    "t10 work4 120000+20000\n"
                    "t10 work5 200000+10000 lag 60000\n"
                    "t10 cudaLaunchKernel 210000+10000\n"
                    "t10 work5 220000+20000\n"
                    "t10 work6 300000+10000 lag 60000\n"
                    "t10 cudaLaunchKernel 310000+10000\n"
                    "t10 work6 320000+20000\n"
                    "s7 backlog 0+105000\n"
                    "s7 k4 130000+80000\n"
                    "s7 k5 220000+90000\n"
                    "s7 k6 320000+60000\n");
  assert_int_equal(find_task(job, "work5", 0)->step, 5);
  assert_int_equal(find_task(job, "k5", 0)->step, 5);
  assert_int_equal(find_task(job, "backlog", 0)->step, LUMOS_ABSENT_INT);
  /* before the first step: the kernel launched before its mark ends at 130 (120 here), later than the backlog */
  assert_int_equal(job->ranks.items[0].base, 120000);
  assert_int_equal(find_note(job, "parse.outside_steps")->count, 1);
  assert_non_null(strstr(string_of(job, find_note(job, "parse.left_out")->text),
                         "The others: 1 instant, 2 CPU rows that begin outside of every step, 1 GPU row launched "
                         "outside of every step"));
  assert_string_equal(string_of(job, job->history.items[0].args), "");
  lumos_job_free(job);
}

#define MEMORY(name, ts, type, device, rest)                                                                       \
  ",{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"" name "\",\"pid\":1,\"tid\":10,\"ts\":" #ts \
  ",\"args\":{\"Ev Idx\":1,\"Device Type\":" #type ",\"Device Id\":" #device ",\"Addr\":99,\"Bytes\":512" rest "}}"
#define TOTALS(allocated, reserved) ",\"Total Allocated\":" #allocated ",\"Total Reserved\":" #reserved

/* Of the steps that are wanted and of GPUs, in the order of time; what else there is counts among the instants. */
static void memory_of_gpus_is_kept_by_step(void **state) {
  (void)state;
  static const char text[] = RECORDING(
      MEMORY("[memory]", 330, 1, 0, TOTALS(300, 900)) MEMORY("[memory]", 120, 1, 0, TOTALS(100, 500))
          MEMORY("[memory]", 130, 0, 0, TOTALS(7, 8)) MEMORY("[memory]", 230, 6, 1, TOTALS(200, 600))
              MEMORY("[memory]", 340, 1, 0, ",\"Total Allocated\":250") MEMORY("[memory]", 450, 1, 0, TOTALS(1, 2))
                  MEMORY("[OutOfMemory]", 140, 1, 0, TOTALS(3, 4)) MEMORY("[memory]", 150, 1, 0, "")
                      MEMORY("[memory]", 330, 1, 0, TOTALS(290, 900)) WINDOW_END);
  const struct lumos_memory_event expected[] = {
      {110000, 100, 500, 0, 0, 4, 0}, {220000, 200, 600, 0, 1, 5, 0},           {320000, 300, 900, 0, 0, 6, 0},
      {320000, 290, 900, 0, 0, 6, 0}, {330000, 250, LUMOS_ABSENT, 0, 0, 6, 0}};
  struct lumos_job *job = parse_steps(text, "all");
  assert_int_equal(job->memory.count, 5);
  for (size_t i = 0; i < 5; i++) {
    assert_memory_equal(&job->memory.items[i], &expected[i], sizeof expected[i]);
  }
  assert_non_null(strstr(string_of(job, find_note(job, "parse.left_out")->text), "The others: 5 instants, 2 CPU rows"));
  lumos_job_free(job);
  job = parse_steps(text, "5");
  assert_int_equal(job->memory.count, 1);
  assert_int_equal(job->memory.items[0].step, 5);
  lumos_job_free(job);
}

static struct lumos_step only_step(const struct lumos_job *job) {
  struct lumos_steps_list steps;
  lumos_find_steps(job, NULL, &steps);
  assert_int_equal(steps.count, 1);
  struct lumos_step step = steps.items[0];
  lumos_vector_free(&steps);
  return step;
}

/* A row without a call, of another stream, that runs from 5 to beyond the last step: as if it had been launched before,
 * but it holds no step up, and the first still begins when `warm` has ended, at 130. */
static void a_row_that_outlasts_a_step_moves_no_base(void **state) {
  (void)state;
  struct lumos_job *job = parse_steps(RECORDING("," KERNEL("endless", 8, 98, 5, 480) WINDOW_END), "4");
  assert_int_equal(find_task(job, "endless", 0)->step, LUMOS_ABSENT_INT);
  assert_int_equal(job->ranks.items[0].base, 125000);
  assert_int_equal(only_step(job).end - only_step(job).start, 90000); /* 130 to 220, where k4 ends */
  lumos_job_free(job);
}

/* The same row, but over just before k4 and k4b end: three kernels of the step have run beside it, from 135 on, so that
 * nothing says that it was the end of the step before. `warm` was, at 130. */
static void a_row_beside_most_of_a_step_moves_no_base(void **state) {
  (void)state;
  struct lumos_job *job =
      parse_steps(RECORDING("," CALL("cudaLaunchKernel", 21, 125, 4) "," KERNEL("early", 9, 21, 135, 5) "," CALL(
                      "cudaLaunchKernel", 22, 130, 4) "," KERNEL("early", 9, 22, 145, 5) "," KERNEL("endless", 8, 98, 5,
                                                                                                  214) WINDOW_END),
                  "4");
  assert_int_equal(job->ranks.items[0].base, 125000);
  assert_int_equal(only_step(job).end - only_step(job).start, 90000);
  lumos_job_free(job);
}

/* A step that launches nothing is as long as its host's work, 110 to 13110, whatever row without a call is there. */
static void a_step_without_device_work_is_as_long_as_its_hosts(void **state) {
  (void)state;
  for (int dur = 200; dur <= 14000; dur += 13800) {
    char trace[1000];
    (void)snprintf(trace, sizeof trace, "{\"traceEvents\":[%s,%s,%s%d,\"args\":{\"device\":0,\"stream\":8}}%s]}",
                   ANNOTATION("ProfilerStep#3", 100, 13300), OP("work", 110, 13000),
                   "{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"name\":\"dma_request\",\"pid\":0,\"tid\":8,\"ts\":5,\"dur\":",
                   dur, WINDOW_END);
    struct lumos_job *job = parse_steps(trace, "all");
    assert_int_equal(job->ranks.items[0].base, 105000);
    assert_int_equal(only_step(job).end - only_step(job).start, 13000000);
    lumos_job_free(job);
  }
}

/* E_4 is the end of k4, 220: 210 here, found in the part of the recording that is left out. */
static void later_steps_start_where_the_one_before_ended(void **state) {
  (void)state;
  struct lumos_job *job = parse_steps(RECORDING(WINDOW_END), "5-6");
  expect_tasks(job, "t10 work5 200000+10000\n"
                    "t10 cudaLaunchKernel 210000+10000\n"
                    "t10 work5 220000+20000\n"
                    "t10 work6 300000+10000 lag 60000\n"
                    "t10 cudaLaunchKernel 310000+10000\n"
                    "t10 work6 320000+20000\n"
                    "s7 k5 220000+90000\n"
                    "s7 k6 320000+60000\n");
  expect_spans(job, "step ProfilerStep#5 190000+90000\nop work5 200000+40000 in ProfilerStep#5\n"
                    "step ProfilerStep#6 290000+100000\nop work6 300000+40000 in ProfilerStep#6\n");
  assert_int_equal(job->ranks.items[0].base, 210000);
  assert_int_equal(job->ranks.items[0].window_end, 430000); /* the whole recording */
  assert_int_equal(job->tasks.items[0].id, 0);
  assert_string_equal(string_of(job, job->history.items[0].args), "--steps 5-6");
  lumos_job_free(job);
  job = parse_steps(RECORDING(WINDOW_END), "last");
  assert_int_equal(job->tasks.items[0].step, 6);
  assert_int_equal(job->tasks.count, 4);
  assert_non_null(strstr(string_of(job, find_note(job, "parse.left_out")->text),
                         "2 CPU rows that begin outside of every step, 6 CPU rows of steps that are left out, 1 GPU row "
                         "launched outside of every step, 3 GPU rows of steps that are left out"));
  assert_int_equal(job->ranks.items[0].base, 310000); /* the end of k5, 320 */
  lumos_job_free(job);
}

/* Without the profiler's sign a mark that ends with the recording's last row was cut. */
static void a_cut_step_is_left_out(void **state) {
  (void)state;
  const char *text = "{\"traceEvents\":[" STEP("4", 100, 90, 110, 120, 2) "," STEP("5", 200, 90, 210, 220, 3) "]}";
  struct lumos_job *job = parse_steps(text, "all");
  assert_int_equal(job->tasks.items[job->tasks.count - 1].step, 4);
  assert_string_equal(string_of(job, find_note(job, "parse.unfinished_step")->text),
                      "steps were cut by the end of the recording and left out, the last of them step 5");
  lumos_job_free(job);
  job = parse_steps(text, "5"); /* asked for, it is kept, and said */
  assert_int_equal(job->tasks.items[0].step, 5);
  assert_int_equal(find_note(job, "parse.unfinished_step")->level, LUMOS_WARNING);
  lumos_job_free(job);
}

static void an_unfinished_mark_is_left_out(void **state) {
  (void)state;
  struct lumos_job *job = parse_good("{\"traceEvents\":[" STEP("4", 100, 90, 110, 120, 2) ","
      EVENT("user_annotation", "ProfilerStep#5", 10, 200, 90, "\"finished\":\"false\"") ","
      OP("work5", 210, 40) ","
      OP("tail", 300, 9) "]}", NULL);
  assert_int_equal(job->tasks.items[job->tasks.count - 1].step, 4);
  lumos_job_free(job);
}

static void a_single_step_is_kept(void **state) {
  (void)state;
  struct lumos_job *job = parse_good("{\"traceEvents\":[" STEP("4", 100, 90, 110, 120, 2) "]}", NULL);
  assert_int_equal(job->tasks.count, 3);
  assert_int_equal(job->tasks.items[0].step, 4);
  assert_int_equal(job->ranks.items[0].base, 10000); /* no device work before: the first host task */
  lumos_job_free(job);
}

static void a_trace_without_marks_is_one_step(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(OP("a", 5, 1) "," OP("b", 9, 1)), NULL);
  assert_int_equal(job->tasks.count, 2);
  assert_int_equal(job->tasks.items[1].step, 0);
  assert_non_null(find_note(job, "parse.no_steps"));
  lumos_job_free(job);
  job = parse_good(TRACE(ANNOTATION("ProfilerStep#3", 0, 4) "," OP("a", 5, 1)), NULL);
  assert_int_equal(job->tasks.items[0].step, 0);
  assert_non_null(strstr(string_of(job, find_note(job, "parse.idle_steps")->text), "no work is inside"));
  lumos_job_free(job);
}

/* Numbers must rise: the second mark of step 4 and the odd 2 are ignored, their time belongs to the mark before. */
static void marks_that_do_not_rise_are_ignored(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ANNOTATION("ProfilerStep#4", 0, 10) ","
      ANNOTATION("ProfilerStep#4", 10, 10) ","
      ANNOTATION("ProfilerStep#2", 20, 10) ","
      OP("a", 12, 1) ","
      OP("b", 24, 1) ","
      ANNOTATION("ProfilerStep#5", 30, 10) ","
      OP("c", 32, 1) ","
      OP("d", 50, 1)), NULL);
  expect_tasks(job, "t10 a 12000+1000\nt10 b 24000+1000 lag 11000\nt10 c 32000+1000 lag 7000\n");
  assert_int_equal(find_task(job, "b", 0)->step, 4);
  assert_int_equal(find_note(job, "parse.repeated_steps")->count, 2);
  lumos_job_free(job);
}

/* The mark of step 5 is lost: what lies between those of 4 and 6 is step 5, no part of step 4. Where the numbers jump
 * and no work lies between the marks, none is lost. */
static void a_lost_mark_merges_no_steps(void **state) {
  (void)state;
#define MARKS(between) TRACE(                                                   \
      ANNOTATION("ProfilerStep#4", 100, 100) "," OP("four", 110, 9) ","         \
      CALL("cudaLaunchKernel", 1, 120, 10) "," KERNEL("k4", 7, 1, 140, 50) ","  \
      between                                                                   \
      ANNOTATION("ProfilerStep#6", 300, 100) "," OP("six", 310, 9) ","          \
      CALL("cudaLaunchKernel", 3, 320, 10) "," KERNEL("k6", 7, 3, 340, 50) ","  \
      OP("tail", 500, 1))
  struct lumos_job *job = parse_good(MARKS(OP("five", 210, 9) "," CALL("cudaLaunchKernel", 2, 220, 10) ","
                                           KERNEL("k5", 7, 2, 240, 50) ","), NULL);
  assert_int_equal(find_task(job, "four", 0)->step, 4);
  assert_int_equal(find_task(job, "five", 0)->step, 5);
  assert_int_equal(find_task(job, "k5", 0)->step, 5);
  assert_int_equal(find_task(job, "k6", 0)->step, 6);
  assert_int_equal(find_note(job, "parse.lost_step_marks")->count, 1);
  assert_int_equal(find_note(job, "parse.lost_step_marks")->level, LUMOS_WARNING);
  lumos_job_free(job);
  job = parse_good(MARKS(""), NULL);
  assert_null(find_note(job, "parse.lost_step_marks"));
  assert_null(find_note(job, "parse.merged_steps"));
  lumos_job_free(job);
}

/* Step 5 has its mark alone, with an annotation in it: it lasts to the next mark, and step 6 begins behind it; the mark
 * that another thread repeats is none. Marks alone before all work, or behind it, say nothing: the recording may not
 * have been on. One of under 1 % of a step is none. */
static void a_step_may_be_its_mark_alone(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ANNOTATION("ProfilerStep#3", 0, 100) ","
      ANNOTATION("ProfilerStep#4", 100, 100) "," OP("four", 110, 9) ","
      CALL("cudaLaunchKernel", 1, 120, 10) "," KERNEL("k4", 7, 1, 140, 50) ","
      ANNOTATION("ProfilerStep#5", 200, 300) "," ANNOTATION("evaluation", 210, 200) ","
      EVENT("user_annotation", "ProfilerStep#5", 11, 210, 900, "") ","
      ANNOTATION("ProfilerStep#6", 510, 90) "," OP("six", 520, 9) ","
      ANNOTATION("ProfilerStep#7", 600, 0.8) ","
      ANNOTATION("ProfilerStep#8", 600.9, 99.1) "," OP("eight", 620, 9) ","
      ANNOTATION("ProfilerStep#9", 700, 100) ","
      OP("tail", 800, 1)), NULL);
  expect_tasks(job, "t10 four 110000+9000\nt10 cudaLaunchKernel 120000+10000 lag 1000\n"
                    "t10 ProfilerStep#5 200000+310000 lag 70000\nt10 six 520000+9000 lag 10000\n"
                    "t10 eight 620000+9000 lag 91000\ns7 k4 140000+50000\n");
  assert_int_equal(find_task(job, "ProfilerStep#5", 0)->step, 5);
  assert_int_equal(find_task(job, "six", 0)->step, 6);
  assert_int_equal(find_note(job, "parse.mark_alone")->count, 1);
  lumos_job_free(job);
}

/* Of two marks that are lost nobody knows where the one step ended: the steps on one side are kept, and begin where the
 * device ended what lies before them. */
static void several_lost_marks_part_the_steps(void **state) {
  (void)state;
  const char *text = TRACE(
      ANNOTATION("ProfilerStep#3", 0, 100) "," OP("three", 10, 9) ","
      OP("four and five", 110, 9) "," CALL("cudaLaunchKernel", 2, 220, 10) "," KERNEL("k5", 7, 2, 240, 90) ","
      ANNOTATION("ProfilerStep#6", 300, 100) "," OP("six", 310, 9) ","
      ANNOTATION("ProfilerStep#7", 400, 100) "," OP("seven", 410, 9) ","
      OP("tail", 600, 1));
  struct lumos_job *job = parse_steps(text, "all");
  expect_tasks(job, "t10 six 310000+9000\nt10 seven 410000+9000 lag 91000\n");
  assert_int_equal(job->ranks.items[0].base, 330000);
  assert_int_equal(find_note(job, "parse.merged_steps")->count, 2);
  lumos_job_free(job);
  job = parse_steps(text, "3");
  expect_tasks(job, "t10 three 10000+9000\n");
  lumos_job_free(job);
  struct lumos_trace_options options = {.steps = LUMOS_STEPS_RANGE, .first_step = 3, .last_step = 6};
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_null(parse_named("t.json", text, strlen(text), &options, &error));
  assert_non_null(strstr(error.text, "the marks of the steps 4 to 5 are lost"));
}

/* A call stays whole: its second piece begins behind the mark and is of the first one's step; the driver call in it is
 * its own. */
static void a_call_across_a_mark_stays_whole(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ANNOTATION("ProfilerStep#1", 0, 10) ","
      ANNOTATION("ProfilerStep#2", 10, 30) ","
      OP("x", 2, 1) ","
      OP("y", 20, 1) ","
      EVENT("cuda_runtime", "cudaLaunchKernel", 11, 5, 10, "\"correlation\":1") ","
      EVENT("cuda_driver", "cuLaunchKernel", 11, 11, 2, "\"correlation\":2") ","
      KERNEL("k", 7, 1, 30, 4) ","
      OP("z", 50, 1)), NULL);
  expect_tasks(job, "t10 x 2000+1000\nt10 y 20000+1000 lag 17000\n"
                    "t11 cudaLaunchKernel 5000+6000\nt11 cuLaunchKernel 11000+2000\nt11 cudaLaunchKernel "
                    "13000+2000\ns7 k 30000+4000\n");
  static const int steps[] = {1, 2, 1, 2, 1, 1};
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(job->tasks.items[i].step, steps[i]);
  }
  lumos_job_free(job);
}

/* A span that began before the wanted step is written when something wanted lies in it. */
static void spans_around_a_wanted_step_are_kept(void **state) {
  (void)state;
  struct lumos_job *job = parse_steps(TRACE(
      ANNOTATION("loop", 0, 100) ","
      ANNOTATION("idle", 5, 2) ","
      ANNOTATION("ProfilerStep#1", 10, 20) ","
      OP("a", 12, 5) ","
      ANNOTATION("ProfilerStep#2", 40, 20) ","
      OP("b", 42, 5) ","
      OP("c", 70, 5)), "2");
  expect_spans(
      job, "annotation loop 0+100000\nstep ProfilerStep#2 40000+20000 in loop\nop b 42000+5000 in ProfilerStep#2\n");
  lumos_job_free(job);
}

static void what_steps_may_be(void **state) {
  (void)state;
  struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_steps_parse("3-5", &options, &error));
  assert_int_equal(options.steps, LUMOS_STEPS_RANGE);
  assert_int_equal(options.first_step, 3);
  assert_int_equal(options.last_step, 5);
  static const char *const wrong[] = {"", "x", "-3", "5-3", "3-", "3 ", "+3", "99999999999999999999", "3-5-7", "All"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_false(lumos_steps_parse(wrong[i], &options, &error));
    assert_int_equal(error.status, LUMOS_UNUSABLE);
  }
  assert_true(lumos_steps_parse("9", &options, &error));
  const char *text = RECORDING(WINDOW_END);
  assert_null(parse_named("t.json", text, strlen(text), &options, &error));
  assert_non_null(strstr(error.text, "it holds the steps 4 to 6"));
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_complete_step_is_kept),
      cmocka_unit_test(memory_of_gpus_is_kept_by_step),
      cmocka_unit_test(a_row_that_outlasts_a_step_moves_no_base),
      cmocka_unit_test(a_row_beside_most_of_a_step_moves_no_base),
      cmocka_unit_test(a_step_without_device_work_is_as_long_as_its_hosts),
      cmocka_unit_test(later_steps_start_where_the_one_before_ended),
      cmocka_unit_test(a_cut_step_is_left_out),
      cmocka_unit_test(an_unfinished_mark_is_left_out),
      cmocka_unit_test(a_single_step_is_kept),
      cmocka_unit_test(a_trace_without_marks_is_one_step),
      cmocka_unit_test(marks_that_do_not_rise_are_ignored),
      cmocka_unit_test(a_lost_mark_merges_no_steps),
      cmocka_unit_test(a_step_may_be_its_mark_alone),
      cmocka_unit_test(several_lost_marks_part_the_steps),
      cmocka_unit_test(a_call_across_a_mark_stays_whole),
      cmocka_unit_test(spans_around_a_wanted_step_are_kept),
      cmocka_unit_test(what_steps_may_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
