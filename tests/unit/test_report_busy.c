/* How busy GPUs are over time, of tasks whose shares are worked out by hand. */
#include "unit/report_job.h"

#include "report/content/busy.h"
#include "report/text/numbers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define ABSENT LUMOS_ABSENT

enum { MS = 1000000, US = 1000, NONE = -1 };

static uint32_t add_kernel(struct lumos_job *job, uint32_t lane, int64_t start, int64_t dur, int32_t percent) {
  uint32_t task = add_task(job, lane, LUMOS_GEMM, "work", start, dur);
  lumos_task_timing(job, &job->tasks.items[task])->occupancy = percent == NONE ? LUMOS_ABSENT_INT : percent * 10000;
  return task;
}

/* What is read of a job. */
struct read {
  struct lumos_job *job;
  struct report_facts facts;
  struct report_timelines timelines;
  struct report_busy busy;
};

static struct read read_job(struct lumos_job *job) {
  struct read read = {.job = job};
  finish_job(job);
  for (size_t i = 0; i < job->ranks.count; i++) {
    job->ranks.items[i].base = 0;
  }
  report_facts_read(job, &read.facts);
  report_timelines_read(job, NULL, &read.timelines);
  return read;
}

static void free_read(struct read *read) {
  report_busy_free(&read->busy);
  report_timelines_free(&read->timelines);
  report_facts_free(&read->facts);
  lumos_job_free(read->job);
}

static void assert_bin(const struct report_busy *busy, size_t bin, int64_t time, int64_t occupancy) {
  assert_int_equal(busy->bins.items[bin].of[MEASURED][BUSY_TIME], time);
  assert_int_equal(busy->bins.items[bin].of[MEASURED][BUSY_OCCUPANCY], occupancy);
}

/* Two ranks, in µs; the steps take 2,500. In brackets occupancy.
 *
 *   rank 0, stream 7    0 to 400 [50 %]     600 to 1200 [80 %]     2000 to 2500 [none]
 *   rank 0, stream 9    200 to 500 [70 %]
 *   rank 1, stream 7                                  1800 to 2250 [20 %]
 *
 *   bin 0   rank 0: 500 + 400 = 900 busy; 200 x .5 + 200 x 1 (1.2, capped) + 100 x .7 + 400 x .8 = 690
 *   bin 1   rank 0: 200; 160.                 rank 1: 200; 40
 *   bin 2   rank 0: 500 of 500; 0.            rank 1: 250 of 500; 50
 */
static struct lumos_job *two_ranks(void) {
  struct lumos_job *job = lumos_job_new();
  uint32_t first = add_rank(job, 0);
  add_kernel(job, add_lane(job, first, "t1", LUMOS_THREAD), 0, 9000 * US, NONE);
  uint32_t lane = add_lane(job, first, "s7", LUMOS_STREAM);
  add_kernel(job, lane, 0, 400 * US, 50);
  add_kernel(job, lane, 600 * US, 600 * US, 80);
  add_kernel(job, lane, 2000 * US, 500 * US, NONE);
  add_kernel(job, add_lane(job, first, "s9", LUMOS_STREAM), 200 * US, 300 * US, 70);
  add_kernel(job, add_lane(job, add_rank(job, 1), "s7", LUMOS_STREAM), 1800 * US, 450 * US, 20);
  uint32_t host = add_rank(job, 2); /* no streams: in no mean */
  add_kernel(job, add_lane(job, host, "t1", LUMOS_THREAD), 0, 2000 * US, NONE);
  return job;
}

static void shares_by_hand(void **state) {
  (void)state;
  struct read read = read_job(two_ranks());
  struct report_busy *busy = &read.busy;
  report_busy_read(&read.facts, &read.timelines, busy);
  assert_int_equal(busy->width, MS);
  assert_int_equal(busy->ranks, 2);
  assert_int_equal(busy->bins.count, 3);
  assert_bin(busy, 0, 450000, 345000);
  assert_bin(busy, 1, 200000, 100000);
  assert_bin(busy, 2, 750000, 50000);
  for (size_t i = 0; i < 3; i++) { /* it is simulated as it was measured */
    assert_int_equal(busy->bins.items[i].of[SIMULATED][BUSY_TIME], busy->bins.items[i].of[MEASURED][BUSY_TIME]);
  }
  assert_int_equal(busy->mean.of[MEASURED][BUSY_TIME], 410000); /* 2,050 of 5,000 */
  assert_int_equal(busy->mean.of[MEASURED][BUSY_OCCUPANCY], 188000);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_busy_finding(busy, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes,
                      "GPUs are busy for 41.0\xC2\xA0% of the time on average, waiting in communication included. "
                      "Of 3\xC2\xA0"
                      "bins of 1\xC2\xA0ms, 2 are busy for less than half of their time. Weighted by "
                      "occupancy, the share of warps in use, it is at least 18.8\xC2\xA0%");
  lumos_text_free(&text);
  free_read(&read);
}

static void the_table_has_what_there_is(void **state) {
  (void)state;
  struct read read = read_job(two_ranks());
  struct report_table table;
  report_busy_read(&read.facts, &read.timelines, &read.busy);
  report_busy_table(&read.busy, &table);
  assert_int_equal(table.column_count, 5);
  assert_int_equal(report_table_rows(&table), 3);
  assert_int_equal(report_table_value(&table, 2, 0), 2 * MS);
  assert_int_equal(report_table_value(&table, 2, 1), 750000);
  assert_int_equal(report_table_value(&table, 2, 3), 50000);
  report_table_free(&table);
  free_read(&read);
  /* Of one that was not simulated. */
  read = read_job(two_ranks());
  read.job->runs.count = 0;
  report_busy_read(&read.facts, &read.timelines, &read.busy);
  report_busy_table(&read.busy, &table);
  assert_int_equal(table.column_count, 3);
  assert_int_equal(report_table_value(&table, 2, 2), 50000);
  report_table_free(&table);
  free_read(&read);
}

/* What is simulated to end earlier has no bins behind its end, and its last one is as long as it lasts. */
static void timelines_end_apart(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  uint32_t lane = add_lane(job, add_rank(job, 0), "s7", LUMOS_STREAM);
  add_kernel(job, lane, 500 * US, 3000 * US, 0); /* an occupancy of 0 is none */
  job->runs.items[0] = (struct lumos_run){900 * US, 300 * US};
  struct read read = read_job(job);
  struct report_busy *busy = &read.busy;
  report_busy_read(&read.facts, &read.timelines, busy);
  assert_int_equal(busy->bins.count, 4);
  assert_false(busy->occupancy);
  assert_bin(busy, 0, 500000, ABSENT);
  assert_bin(busy, 3, 1000000, ABSENT);
  assert_int_equal(busy->bins.items[0].of[SIMULATED][BUSY_TIME], 100000);
  assert_int_equal(busy->bins.items[1].of[SIMULATED][BUSY_TIME], 1000000);
  assert_int_equal(busy->bins.items[2].of[SIMULATED][BUSY_TIME], ABSENT);
  assert_int_equal(busy->mean.of[SIMULATED][BUSY_TIME], 250000); /* 300 of 1,200 */
  free_read(&read);
}

/* What runs before the first step or after the last one is no part of it. */
static void work_outside_of_steps_is_cut(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  uint32_t lane = add_lane(job, add_rank(job, 0), "s7", LUMOS_STREAM);
  uint32_t before = add_kernel(job, lane, -300 * US, 400 * US, 100);
  add_kernel(job, lane, 500 * US, 500 * US, 100);
  uint32_t after = add_kernel(job, lane, 1000 * US, 400 * US, 100);
  job->tasks.items[before].step = job->tasks.items[after].step = LUMOS_ABSENT_INT;
  struct read read = read_job(job);
  report_busy_read(&read.facts, &read.timelines, &read.busy);
  assert_int_equal(read.busy.bins.count, 1);
  assert_bin(&read.busy, 0, 600000, 600000);
  free_read(&read);
}

/* At most 1,000 bins, and the next wider ones of 1, 2, 5, 10. */
static void bins_are_wider_where_there_were_too_many(void **state) {
  (void)state;
  static const struct {
    int64_t span, width;
    size_t bins;
  } cases[] = {{1, MS, 1},
               {MS, MS, 1},
               {MS + 1, MS, 2},
               {1000 * (int64_t)MS, MS, 1000},
               {1000 * (int64_t)MS + 1, 2 * MS, 501},
               {2000 * (int64_t)MS + 1, 5 * MS, 401},
               {5001 * (int64_t)MS, 10 * MS, 501},
               {10001 * (int64_t)MS, 20 * MS, 501},
               {INT64_C(1) << 57, INT64_C(200) * 1000000 * MS, 721}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct lumos_job *job = lumos_job_new();
    uint32_t lane = add_lane(job, add_rank(job, 0), "s7", LUMOS_STREAM);
    add_kernel(job, lane, 0, cases[i].span, 50);
    struct read read = read_job(job);
    struct report_scene scene;
    report_busy_read(&read.facts, &read.timelines, &read.busy);
    assert_int_equal(read.busy.width, cases[i].width);
    assert_int_equal(read.busy.bins.count, cases[i].bins);
    assert_bin(&read.busy, 0, 1000000, 500000);
    assert_bin(&read.busy, cases[i].bins - 1, 1000000, 500000);
    assert_true(report_busy_scene(&read.busy, &scene));
    for (size_t k = 0; k < scene.points.count; k++) {
      assert_in_range(scene.points.items[k].x, 0, scene.width);
      assert_in_range(scene.points.items[k].y, 0, scene.height);
    }
    report_scene_free(&scene);
    free_read(&read);
  }
}

static void without_streams_there_is_nothing(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  add_task(job, add_lane(job, add_rank(job, 0), "t1", LUMOS_THREAD), LUMOS_OP, "work", 0, 10);
  struct read read = read_job(job);
  struct report_scene scene;
  struct report_table table;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_busy_read(&read.facts, &read.timelines, &read.busy);
  assert_int_equal(read.busy.bins.count, 0);
  assert_false(report_busy_scene(&read.busy, &scene));
  report_busy_table(&read.busy, &table);
  assert_int_equal(report_table_rows(&table), 0);
  report_put_busy_finding(&read.busy, &text);
  assert_int_equal(text.length, 0);
  report_table_free(&table);
  lumos_text_free(&text);
  free_read(&read);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shares_by_hand),
                                     cmocka_unit_test(the_table_has_what_there_is),
                                     cmocka_unit_test(timelines_end_apart),
                                     cmocka_unit_test(work_outside_of_steps_is_cut),
                                     cmocka_unit_test(bins_are_wider_where_there_were_too_many),
                                     cmocka_unit_test(without_streams_there_is_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
