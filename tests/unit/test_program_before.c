/* What was launched before the recording takes over what is known of the end of a step that it is like. */
#include "unit/graph_job.h"

#include "program/recovery/recovery.h"

/* A stream of letters, a task each, the name of its kernel; what stands before the first '|' was launched before the
 * recording, each further '|' begins a step. A task of step s is of layer s. The layers of what came before, as digits,
 * '-' for none. */
static void expect(const char *text, const char *layers) {
  struct lumos_job *job = new_job();
  struct lumos_error error = {0};
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t call = add_launch(job, thread, 0, 1), stream = add_stream(job, rank, "7"),
           first = (uint32_t)job->tasks.count;
  int32_t step = -1;
  for (size_t i = 0; text[i] != '\0'; i++) {
    const char name[] = {text[i], '\0'};
    if (text[i] == '|') {
      step++;
      continue;
    }
    uint32_t task = add_task(job, stream, LUMOS_GEMM, name, (int64_t)i, 1);
    job->tasks.items[task].call = step < 0 ? LUMOS_NONE : call;
    job->tasks.items[task].step = step < 0 ? LUMOS_ABSENT_INT : step;
    job->tasks.items[task].layer = step < 0 ? LUMOS_ABSENT_INT : step;
  }
  assert_true(lumos_job_arrange(job, &error));
  lumos_program_before(job, 0);
  for (size_t i = 0; layers[i] != '\0'; i++) {
    int32_t layer = job->tasks.items[first + i].layer;
    assert_int_equal(layer, layers[i] == '-' ? LUMOS_ABSENT_INT : layers[i] - '0');
  }
  lumos_job_free(job);
}

static void the_step_that_agrees_best_is_taken(void **state) {
  (void)state;
  expect("abc|xyzabc|xyzabd", "000");
  expect("abcde|xabcdf|xabcde|abcde", "11111"); /* of two the first */
  expect("abcd|cd", "--00");                    /* no longer than the step */
}

/* Eight in ten agree; what does not stays unknown. */
static void most_names_agree(void **state) {
  (void)state;
  expect("abcdefghij|abcdefgh??", "00000000--");
  expect("abcdefghij|abcdefg???", "----------");
}

static void sixteen_steps_are_looked_at(void **state) {
  (void)state;
  expect("a|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|a", "?"); /* 15: as far behind '0' */
  expect("a|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|a", "-");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_step_that_agrees_best_is_taken),
      cmocka_unit_test(most_names_agree),
      cmocka_unit_test(sixteen_steps_are_looked_at),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
