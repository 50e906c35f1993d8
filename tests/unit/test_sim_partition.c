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
  struct lumos_error error = {0};
  assert_true(lumos_partition_steps(job, NULL, &steps, &partition, &error));
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
  assert_int_equal(parts.idle, 10);
  assert_int_equal(parts.gpu_busy, 80);
  assert_int_equal(parts.communication_kept, 40);
  /* A step that begins and ends inside of tasks: 5 of C+C, 10 of C+X, 4 of X+C. */
  parts = only(job, 5, 24);
  assert_int_equal(parts.exposed_compute, 5);
  assert_int_equal(parts.overlapped, 14);
  assert_int_equal(parts.idle, 0);
  /* Nothing but idle before and after; an empty step. */
  assert_int_equal(only(job, -100, 0).idle, 100);
  assert_int_equal(only(job, 80, 1000).idle, 920);
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
  struct lumos_error error = {0};
  lumos_find_steps(job, NULL, &steps);
  assert_int_equal(steps.count, 2);
  assert_true(lumos_partition_steps(job, NULL, &steps, parts, &error));
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
  assert_true(lumos_partition_steps(job, NULL, &steps, parts, &error));
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
  struct lumos_error error = {0};
  lumos_find_steps(job, NULL, &steps);
  assert_true(lumos_partition_steps(job, NULL, &steps, parts, &error));
  assert_int_equal(parts[0].communication_wait, 30); /* 63-73 and 83-103 */
  assert_int_equal(parts[0].communication_transfer, 51);
  /* Joined with nobody, it cannot be split, and what runs beside a wait is then not known to be waiting. */
  job->collectives.count = 1;
  assert_true(lumos_partition_steps(job, NULL, &steps, parts, &error));
  assert_int_equal(parts[0].communication_wait, 30);
  assert_int_equal(parts[0].communication_unsplit, 10);
  assert_int_equal(parts[0].communication_transfer, 41);
  assert_int_equal(parts[0].communication_kept, 10);
  lumos_vector_free(&steps);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_instant_falls_to_one_part),
      cmocka_unit_test(a_job_of_one_rank_keeps_no_wait),
      cmocka_unit_test(waiting_ends_where_the_last_member_starts),
      cmocka_unit_test(a_transfer_decides_over_waiting_elsewhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
