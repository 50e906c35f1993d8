/* How much memory a GPU has allocated over time, of events whose bins are worked out by hand. */
#include "unit/report_job.h"

#include "report/content/allocated.h"
#include "report/text/numbers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { US = 1000, MEGABYTE = 1000000 };

static void add_memory(struct lumos_job *job, int32_t rank, int32_t device, int64_t t, int64_t allocated,
                       int64_t reserved) {
  struct lumos_memory_event event = lumos_memory_event_empty;
  event.rank = rank;
  event.device = device;
  event.t = t;
  event.allocated = allocated * MEGABYTE;
  event.reserved = reserved == LUMOS_ABSENT ? reserved : reserved * MEGABYTE;
  lumos_vector_push(&job->memory, event);
}

/* Two ranks. Rank 1 has two GPUs, of which the first holds more, and a clock that is 5 us behind the job's; an event of
 * no rank that there is. */
static struct lumos_job *two_ranks(void) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t r = 0; r < 2; r++) {
    uint32_t rank = add_rank(job, r);
    (void)add_task(job, add_lane(job, rank, "s7", LUMOS_STREAM), LUMOS_GEMM, "gemm", 0, 2000 * US);
  }
  job->ranks.items[1].clock.known = true;
  job->ranks.items[1].clock.offset = 5 * US;
  job->ranks.items[1].device_memory = INT64_C(1000) * MEGABYTE;
  add_memory(job, 0, 0, 10 * US, 120, LUMOS_ABSENT);
  add_memory(job, 1, 0, 0, 100, 400);
  add_memory(job, 1, 1, 1 * US, 250, 900);
  add_memory(job, 1, 0, 6 * US, 300, 400);
  add_memory(job, 1, 0, 15 * US, 200, 500);
  add_memory(job, 1, 0, 995 * US, 150, 500);
  add_memory(job, 7, 0, 20 * US, 999, 999);
  return job;
}

struct read {
  struct lumos_job *job;
  struct report_facts facts;
  struct report_timelines timelines;
  struct report_allocated allocated;
};

static void read_job(struct lumos_job *job, const struct report_timeline_choice *choice, struct read *read) {
  *read = (struct read){.job = job};
  finish_job(job);
  for (size_t i = 0; i < job->ranks.count; i++) {
    job->ranks.items[i].base = 0;
  }
  report_facts_read(job, &read->facts);
  report_timelines_read(job, NULL, &read->timelines);
  report_allocated_read(&read->facts, &read->timelines, choice, &read->allocated);
}

static void free_read(struct read *read) {
  report_allocated_free(&read->allocated);
  report_timelines_free(&read->timelines);
  report_facts_free(&read->facts);
  lumos_job_free(read->job);
}

static void assert_bins(const struct report_allocated *allocated, size_t first, size_t last, int64_t bytes,
                        int64_t reserved) {
  for (size_t i = first; i <= last; i++) {
    assert_int_equal(allocated->bins.items[i].allocated, bytes == LUMOS_ABSENT ? LUMOS_ABSENT : bytes * MEGABYTE);
    assert_int_equal(allocated->bins.items[i].reserved, reserved == LUMOS_ABSENT ? LUMOS_ABSENT : reserved * MEGABYTE);
  }
}

static void assert_finding(const struct report_allocated *allocated, const char *finding) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_allocated_finding(allocated, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, finding);
  lumos_text_free(&text);
}

/* Rank 1's events stand at 5, 11, 20 and 1,000 us: 996 bins of 1 us. What an event leaves counts in its own bin and in
 * all up to the next event's. */
static void bins_by_hand(void **state) {
  (void)state;
  struct lumos_job *job = two_ranks();
  for (size_t i = 4; i < 6; i++) { /* from 20 us on */
    job->memory.items[i].step = 5;
  }
  struct read read;
  read_job(job, NULL, &read);
  assert_int_equal(read.allocated.rank, 1);
  assert_int_equal(read.allocated.width, US);
  assert_int_equal(read.allocated.bins.count, 996);
  assert_bins(&read.allocated, 0, 5, 100, 400);
  assert_bins(&read.allocated, 6, 14, 300, 400);
  assert_bins(&read.allocated, 15, 15, 300, 500);
  assert_bins(&read.allocated, 16, 995, 200, 500);
  assert_int_equal(read.allocated.steps.count, 2);
  const struct report_boundary *steps = read.allocated.steps.items;
  assert_int_equal(steps[0].step, 0);
  assert_int_equal(steps[0].start, 5 * US);
  assert_int_equal(steps[0].end, 20 * US);
  assert_int_equal(steps[1].step, 5);
  assert_int_equal(steps[1].start, 20 * US);
  assert_int_equal(steps[1].end, 1000 * US);
  assert_finding(&read.allocated,
                 "Rank 1\xE2\x80\x99s GPU has up to 300\xC2\xA0MB allocated, the most of 2\xC2\xA0ranks, and "
                 "500\xC2\xA0MB reserved, of 1.00\xC2\xA0GB");
  struct report_table table;
  report_allocated_table(&read.allocated, &table);
  assert_int_equal(report_table_rows(&table), 996);
  assert_int_equal(report_table_value(&table, 15, 0), 20 * US);
  assert_int_equal(report_table_value(&table, 15, 1), INT64_C(300) * MEGABYTE);
  report_table_free(&table);
  free_read(&read);
}

/* Before the GPU begins the first step the CPU may have allocated most. */
static void what_comes_before_the_first_step_is_drawn(void **state) {
  (void)state;
  struct lumos_job *job = two_ranks();
  for (size_t i = 0; i < 5; i++) { /* all but the one at 1,000 us */
    job->memory.items[i].t -= 2000 * US;
  }
  struct read read;
  struct report_table table;
  struct report_scene scene;
  read_job(job, NULL, &read);
  assert_int_equal(read.allocated.peak, INT64_C(300) * MEGABYTE);
  report_allocated_table(&read.allocated, &table);
  assert_int_equal(report_table_value(&table, 0, 0), -1995 * US);
  assert_int_equal(report_table_value(&table, 0, 1), INT64_C(100) * MEGABYTE);
  report_table_free(&table);
  assert_true(report_allocated_scene(&read.allocated, &scene));
  report_scene_free(&scene);
  free_read(&read);
}

/* As asked for; without what the driver gave. */
static void a_rank_can_be_chosen(void **state) {
  (void)state;
  const int32_t ranks[] = {0};
  const struct report_timeline_choice choice = {.ranks = ranks, .rank_count = 1};
  struct read read;
  read_job(two_ranks(), &choice, &read);
  assert_int_equal(read.allocated.rank, 0);
  assert_int_equal(read.allocated.bins.count, 1);
  assert_bins(&read.allocated, 0, 0, 120, LUMOS_ABSENT);
  assert_finding(&read.allocated, "Rank 0\xE2\x80\x99s GPU has up to 120\xC2\xA0MB allocated");
  free_read(&read);
}

static void of_a_changed_job_nothing_is_known(void **state) {
  (void)state;
  struct lumos_job *job = two_ranks();
  struct report_scene scene;
  job->edited = 1;
  struct read read;
  read_job(job, NULL, &read);
  assert_false(report_allocated_scene(&read.allocated, &scene));
  assert_finding(&read.allocated, "");
  free_read(&read);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bins_by_hand),
      cmocka_unit_test(what_comes_before_the_first_step_is_drawn),
      cmocka_unit_test(a_rank_can_be_chosen),
      cmocka_unit_test(of_a_changed_job_nothing_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
