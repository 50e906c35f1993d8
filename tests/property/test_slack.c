/* Property: a task that ends later by its slack delays no step, and by more than its slack some step by just what is
 * more.
 *
 * Slack takes the order of things as it is: who waits for whom, and what a stream holds when. So each delay counts in
 * which the run passes on the same bounds, from the same instants to the same, and they must be many. A delay that
 * changes the order may do anything; here it is only counted.
 */
#include "random_job.h"
#include "unit/unit.h"

#include "sim/critical.h"
#include <stdlib.h>

enum { JOBS = 60, DELAYS_A_JOB = 60 };

struct run {
  struct lumos_run *runs;
  struct lumos_bounds links;
};

static void run_of(const struct lumos_job *job, struct run *run) {
  struct lumos_error error = {0};
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  *run = (struct run){.runs = lumos_allocate(job->tasks.count * sizeof *run->runs)};
  const struct lumos_engine_notes notes = {.links = &run->links};
  if (!lumos_engine_run_noting(job, &options, run->runs, &notes, &error)) {
    fail_msg("%s", error.text);
  }
}

static void free_run(struct run *run) {
  free(run->runs);
  lumos_vector_free(&run->links);
}

static int by_ends(const void *left_item, const void *right_item) {
  const struct lumos_bound *left = left_item;
  const struct lumos_bound *right = right_item;
  if (left->dst != right->dst) {
    return left->dst < right->dst ? -1 : 1;
  }
  return left->src < right->src ? -1 : left->src > right->src;
}

/* The same bounds between the same instants, in whatever order. */
static bool same_order(struct run *before, struct run *after) {
  qsort(before->links.items, before->links.count, sizeof *before->links.items, by_ends);
  qsort(after->links.items, after->links.count, sizeof *after->links.items, by_ends);
  bool same = before->links.count == after->links.count;
  for (size_t i = 0; same && i < before->links.count; i++) {
    same = by_ends(&before->links.items[i], &after->links.items[i]) == 0;
  }
  return same;
}

static int64_t step_end(const struct lumos_job *job, const struct lumos_run *runs) {
  struct lumos_steps_list steps;
  int64_t end = INT64_MIN;
  lumos_find_steps(job, runs, &steps);
  for (size_t i = 0; i < steps.count; i++) {
    end = steps.items[i].end > end ? steps.items[i].end : end;
  }
  lumos_vector_free(&steps);
  return end;
}

static int64_t end_of(const struct lumos_run *runs, uint32_t t) { return runs[t].start + runs[t].dur; }

/* What makes a task end later: for one that waits what it adds to its wait, else its length. */
static int64_t *length_of(struct lumos_job *job, uint32_t t, const struct lumos_coupling *coupling) {
  struct lumos_task *task = &job->tasks.items[t];
  if (lumos_call_waits(job, task)) {
    return &job->details.items[task->detail].wait.residual;
  }
  return coupling->first[t] < coupling->first[t + 1] ? &lumos_task_timing(job, &job->tasks.items[t])->end_residual
                                                     : &task->dur;
}

struct outcome {
  int same, exact, other_order;
};

static void delay(struct lumos_job *job, const struct lumos_slack *slack, uint32_t t, int64_t more,
                  const struct lumos_coupling *coupling, struct outcome *outcome) {
  struct run before;
  struct run after;
  run_of(job, &before);
  int64_t *length = length_of(job, t, coupling);
  int64_t was = *length;
  *length += slack->end + more;
  run_of(job, &after);
  *length = was;
  bool same = same_order(&before, &after);
  bool moved = end_of(after.runs, t) - end_of(before.runs, t) == slack->end + more;
  int64_t later = step_end(job, after.runs) - step_end(job, before.runs);
  if (!same || !moved) {
    outcome->other_order++;
  } else if (later != more) {
    fail_msg("task %u has a slack of %lld, ends %lld later, and the step %lld", t, (long long)slack->end,
             (long long)(slack->end + more), (long long)later);
  } else if (more == 0) {
    outcome->same++;
  } else {
    outcome->exact++;
  }
  free_run(&before);
  free_run(&after);
}

static void slack_is_what_a_task_can_be_late_by(void **state) {
  (void)state;
  struct outcome outcome = {0};
  random_state = 88172645463325252U;
  for (int i = 0; i < JOBS; i++) {
    struct lumos_job *job = random_job();
    struct lumos_error error = {0};
    if (!lumos_simulate(job, &error)) {
      lumos_job_free(job);
      continue;
    }
    for (size_t n = 0; n < job->notes.count; n++) { /* all that is checked adds up */
      assert_string_not_equal(lumos_string(job->strings, job->notes.items[n].code), "sim.check_failed");
    }
    struct lumos_held bindings = {0};
    struct lumos_slack *slacks = lumos_allocate(job->tasks.count * sizeof *slacks);
    struct lumos_coupling coupling;
    lumos_coupling_make(&coupling, job);
    assert_true(lumos_slack_find(job, &bindings, slacks, &error));
    for (int d = 0; d < DELAYS_A_JOB; d++) {
      uint32_t t = (uint32_t)pick((int64_t)job->tasks.count);
      assert_true(slacks[t].end == LUMOS_ABSENT || slacks[t].end >= 0);
      if (slacks[t].end != LUMOS_ABSENT) {
        delay(job, &slacks[t], t, d % 2 == 0 ? 0 : 1 + pick(MOST), &coupling, &outcome);
      }
    }
    lumos_coupling_free(&coupling);
    lumos_held_free(&bindings);
    free(slacks);
    lumos_job_free(job);
  }
  print_message("no later: %d; later by just as much: %d; another order: %d\n", outcome.same, outcome.exact,
                outcome.other_order);
  assert_true(outcome.same > 300 && outcome.exact > 300);
}

/* Whatever a path passes of a task, its start or its end, has no slack: nothing here comes from outside. */
static void what_is_on_a_path_has_none(void **state) {
  (void)state;
  random_state = 88172645463325252U;
  size_t parts_seen = 0;
  for (int i = 0; i < 5 * JOBS; i++) {
    struct lumos_job *job = random_job();
    struct lumos_error error = {0};
    if (!lumos_simulate(job, &error)) {
      lumos_job_free(job);
      continue;
    }
    struct lumos_held bindings = {0};
    struct lumos_slack *slacks = lumos_allocate(job->tasks.count * sizeof *slacks);
    assert_true(lumos_slack_find(job, &bindings, slacks, &error));
    struct lumos_stretches stretches;
    struct lumos_timeline timeline;
    lumos_find_stretches(job, &stretches);
    lumos_timeline_make(&timeline, job, job->runs.items, &stretches);
    assert_int_equal(timeline.job.count, 1);
    uint32_t last = LUMOS_NONE;
    lumos_find_last_tasks(job, &timeline, &stretches, &last);
    assert_int_equal(slacks[last].end, 0);
    struct lumos_path_parts parts = {0};
    lumos_path_walk_from(job, &bindings, last, timeline.job.items[0].start, timeline.job.items[0].end, &parts, NULL);
    int64_t now = timeline.job.items[0].start;
    for (size_t p = 0; p < parts.count; p++) {
      const struct lumos_path_part *part = &parts.items[p];
      assert_int_equal(part->from, now);
      now = part->to;
      assert_true(slacks[part->task].start == 0 || slacks[part->task].end == 0);
    }
    assert_int_equal(now, timeline.job.items[0].end);
    parts_seen += parts.count;
    lumos_vector_free(&parts);
    lumos_timeline_free(&timeline);
    lumos_vector_free(&stretches);
    lumos_held_free(&bindings);
    free(slacks);
    lumos_job_free(job);
  }
  assert_true(parts_seen > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(slack_is_what_a_task_can_be_late_by),
                                     cmocka_unit_test(what_is_on_a_path_has_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
