/* Where a step went, by hand. */
#include "sim_jobs.h"

#include <lumos/sim.h>

/* One rank, s1 and s2; a letter is 10 ns of work: C compute, X communication, M copy, S memset; '.' nothing. */
static struct lumos_job *picture(const char *first, const char *second) {
  struct lumos_job *job = lumos_job_new();
  struct lumos_rank rank = lumos_rank_empty;
  rank.task_count = 0;
  lumos_vector_push(&job->ranks, rank);
  const char *const rows[] = {first, second};
  for (uint32_t s = 0; s < 2; s++) {
    struct lumos_lane lane = lumos_lane_empty;
    lane.rank = 0;
    lane.kind = LUMOS_STREAM;
    lane.task_first = (uint32_t)job->tasks.count;
    for (size_t i = 0; rows[s][i] != '\0'; i++) {
      static const char letters[] = "CXMS";
      static const uint8_t kinds[] = {LUMOS_GEMM, LUMOS_COLLECTIVE, LUMOS_COPY, LUMOS_MEMSET};
      const char *letter = strchr(letters, rows[s][i]);
      if (letter != NULL) {
        struct lumos_task task = lumos_task_empty;
        task.lane = s;
        task.kind = kinds[letter - letters];
        task.start = 10 * (int64_t)i;
        task.dur = 10;
        task.step = 0;
        lumos_vector_push(&job->tasks, task);
      }
    }
    lane.task_count = (uint32_t)job->tasks.count - lane.task_first;
    lumos_vector_push(&job->lanes, lane);
  }
  job->ranks.items[0].lane_count = 2;
  job->ranks.items[0].task_count = (uint32_t)job->tasks.count;
  return job;
}

static struct lumos_partition only(const struct lumos_job *job, int64_t start, int64_t end) {
  struct lumos_steps_list steps = {0};
  struct lumos_step step = {0, 0, start, end};
  lumos_vector_push(&steps, step);
  struct lumos_partition partition;
  lumos_partition_steps(job, NULL, &steps, &partition);
  lumos_vector_free(&steps);
  return partition;
}

static void each_instant_falls_to_one_part(void **state) {
  (void)state;
  struct lumos_job *job = picture("CCXXMM.C", "CXCXXSMC.");
  /* columns: C+C compute, C+X overlapped, X+C overlapped, X+X communication, M+X communication, M+S copy, M copy, C+C
   * compute */
  struct lumos_partition parts = only(job, 0, 90);
  assert_int_equal(parts.exposed_compute, 20);
  assert_int_equal(parts.overlapped, 20);
  assert_int_equal(parts.exposed_communication, 20);
  assert_int_equal(parts.communication_unsplit, 20);
  assert_int_equal(parts.communication_transfer, 0);
  assert_int_equal(parts.communication_wait, 0);
  assert_int_equal(parts.exposed_copy, 20);
  assert_int_equal(parts.not_recorded, 10);
  assert_int_equal(parts.gpu_busy, 80);
  assert_int_equal(parts.communication_kept, 40);
  /* A step that begins and ends inside of tasks: 5 of C+C, 10 of C+X, 4 of X+C. */
  parts = only(job, 5, 24);
  assert_int_equal(parts.exposed_compute, 5);
  assert_int_equal(parts.overlapped, 14);
  assert_int_equal(parts.idle, 0);
  /* Nothing but idle before, nothing recorded after; an empty step. */
  assert_int_equal(only(job, -100, 0).idle, 100);
  assert_int_equal(only(job, 80, 1000).not_recorded, 920);
  assert_int_equal(only(job, 80, 1000).idle, 0);
  assert_int_equal(only(job, 7, 7).gpu_busy, 0);
  lumos_job_free(job);
}

static void a_job_of_one_rank_keeps_no_wait(void **state) {
  (void)state;
  struct lumos_job *job = picture("XX", "");
  job->ranks.items[0].world = 1;
  struct lumos_partition parts = only(job, 0, 20);
  assert_int_equal(parts.communication_unsplit, 20);
  assert_int_equal(parts.communication_kept, 0);
  lumos_job_free(job);
}

static void waiting_ends_where_the_last_member_starts(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_steps_list steps;
  struct lumos_partition parts[2];
  lumos_find_steps(job, NULL, &steps);
  assert_int_equal(steps.count, 2);
  lumos_partition_steps(job, NULL, &steps, parts);
  /* Rank 0: A 11-61; C0 63-144 waits for C1's 103. */
  assert_int_equal(parts[0].exposed_compute, 50);
  assert_int_equal(parts[0].communication_wait, 40);
  assert_int_equal(parts[0].communication_transfer, 41);
  assert_int_equal(parts[0].communication_unsplit, 0);
  assert_int_equal(parts[0].communication_kept, 0);
  assert_int_equal(parts[0].idle, 13);
  /* Rank 1: B 11-101, C1 103-143 waits for nobody. */
  assert_int_equal(parts[1].exposed_compute, 90);
  assert_int_equal(parts[1].communication_wait, 0);
  assert_int_equal(parts[1].communication_transfer, 40);
  assert_int_equal(parts[1].idle, 13);
  /* Clocks that nobody has compared say nothing about who came last. */
  job->ranks.items[1].clock.from_collectives = false;
  lumos_partition_steps(job, NULL, &steps, parts);
  assert_int_equal(parts[0].communication_unsplit, 81);
  assert_int_equal(parts[0].communication_wait, 0);
  assert_int_equal(parts[0].communication_kept, 0);
  lumos_vector_free(&steps);
  lumos_job_free(job);
}

static void a_transfer_decides_over_waiting_elsewhere(void **state) {
  (void)state;
  /* A second all-reduce on another stream of rank 0: it transfers while C0 waits, for its members start at 73. A third
   * one is known to no other rank. */
  struct lumos_job *job = job_from_text(ranks_job);
  uint32_t copy_of[2] = {task_named(job, "A"), task_named(job, "B")};
  struct lumos_collective second = job->collectives.items[0];
  second.member_first = (uint32_t)job->members.count;
  for (int i = 0; i < 2; i++) {
    struct lumos_task *task = &job->tasks.items[copy_of[i]];
    task->kind = LUMOS_COLLECTIVE;
    task->start = (i == 0 ? 0 : 995) + 73;
    task->dur = 10; /* both 73-83 */
    lumos_vector_push(&job->members, copy_of[i]);
  }
  lumos_vector_push(&job->collectives, second);
  struct lumos_steps_list steps;
  struct lumos_partition parts[2];
  lumos_find_steps(job, NULL, &steps);
  lumos_partition_steps(job, NULL, &steps, parts);
  assert_int_equal(parts[0].communication_wait, 30); /* 63-73 and 83-103 */
  assert_int_equal(parts[0].communication_transfer, 51);
  /* Joined with nobody, it cannot be split, and what runs beside a wait is then not known to be waiting. */
  job->collectives.count = 1;
  lumos_partition_steps(job, NULL, &steps, parts);
  assert_int_equal(parts[0].communication_wait, 30);
  assert_int_equal(parts[0].communication_unsplit, 10);
  assert_int_equal(parts[0].communication_transfer, 41);
  assert_int_equal(parts[0].communication_kept, 10);
  lumos_vector_free(&steps);
  lumos_job_free(job);
}

/* The all-reduce as a send and its receive: of two stages, or of one. */
static void waiting_for_another_stage_is_bubble(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_steps_list steps;
  struct lumos_partition parts[2];
  lumos_find_steps(job, NULL, &steps);
  job->tasks.items[task_named(job, "C0")].kind = LUMOS_P2P;
  job->tasks.items[task_named(job, "C1")].kind = LUMOS_P2P;
  job->collectives.items[0].rule = LUMOS_PAIR;
  for (int32_t second = 0; second < 2; second++) {
    for (int32_t r = 0; r < 2; r++) {
      job->ranks.items[r].has_parallel = true;
      job->ranks.items[r].parallel =
          (struct lumos_parallel){LUMOS_ABSENT_INT, r * second, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
    }
    lumos_partition_steps(job, NULL, &steps, parts);
    assert_int_equal(parts[0].pipeline_bubble, second == 1 ? 40 : 0); /* 63-103 */
    assert_int_equal(parts[0].communication_wait, second == 1 ? 0 : 40);
    assert_int_equal(parts[0].communication_transfer, 41);
    assert_int_equal(parts[0].exposed_communication, 81);
    assert_int_equal(parts[1].pipeline_bubble, 0);
  }
  lumos_vector_free(&steps);
  lumos_job_free(job);
}

/* Rank 0 waits at 63-103 for another stage in one pair; at 73-93, within its stage in another, whose peer comes at
 * 88. */
static void waiting_within_a_stage_decides_over_bubble(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_model_description model = lumos_model_description_empty;
  model.sizes.pp = 2;
  lumos_vector_push(&job->models, model);
  job->groups.items[0].role = LUMOS_PIPELINE; /* places are not known: the group tells */
  struct lumos_group within = job->groups.items[0];
  within.id = lumos_intern_text(job->strings, "within");
  within.role = LUMOS_TENSOR;
  lumos_vector_push(&job->groups, within);
  const char *const names[] = {"A", "B"};
  struct lumos_collective second = job->collectives.items[0];
  second.member_first = (uint32_t)job->members.count;
  for (int i = 0; i < 2; i++) {
    struct lumos_task *task = &job->tasks.items[task_named(job, names[i])];
    task->kind = LUMOS_COLLECTIVE;
    task->start = i == 0 ? 73 : 995 + 88;
    task->dur = i == 0 ? 20 : 5;
    lumos_task_detail(job, task)->comm.group = within.id;
    lumos_vector_push(&job->members, (uint32_t)(task - job->tasks.items));
  }
  lumos_vector_push(&job->collectives, second);
  struct lumos_steps_list steps;
  struct lumos_partition parts[2];
  lumos_find_steps(job, NULL, &steps);
  lumos_partition_steps(job, NULL, &steps, parts);
  assert_int_equal(parts[0].communication_wait, 15);         /* 73-88 */
  assert_int_equal(parts[0].pipeline_bubble, 10 + 10);       /* 63-73 and 93-103 */
  assert_int_equal(parts[0].communication_transfer, 5 + 41); /* 88-93 and 103-144 */
  lumos_vector_free(&steps);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_instant_falls_to_one_part),
      cmocka_unit_test(a_job_of_one_rank_keeps_no_wait),
      cmocka_unit_test(waiting_ends_where_the_last_member_starts),
      cmocka_unit_test(a_transfer_decides_over_waiting_elsewhere),
      cmocka_unit_test(waiting_for_another_stage_is_bubble),
      cmocka_unit_test(waiting_within_a_stage_decides_over_bubble),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
