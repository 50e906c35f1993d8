/* What a job costs as it grows, in counts and not by the clock: the bytes that are allocated at the most and the alarms
 * that ring. Of a rank whose trace is not written nothing is kept but a line a step, however long it runs; hundreds of
 * ranks cost as much more as they are more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpt.h"
#include "machine_state.h"
#include "program_text.h"
#include "recorder.h"

struct cost {
  int64_t held, most, alarms;
};
static struct cost cost;

/* The linker leads all that the emulator allocates here, and every alarm that it takes. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
bool __real_alarms_next(struct alarms *alarms, struct alarm *next);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);
bool __wrap_alarms_next(struct alarms *alarms, struct alarm *next);

static int64_t size_of(void *block) { return (int64_t)malloc_usable_size(block); }

static void *held(void *block) {
  cost.held += size_of(block);
  cost.most = cost.held > cost.most ? cost.held : cost.most;
  return block;
}

void *__wrap_malloc(size_t size) { return held(__real_malloc(size)); }

void *__wrap_calloc(size_t count, size_t size) { return held(__real_calloc(count, size)); }

void *__wrap_realloc(void *block, size_t size) {
  cost.held -= size_of(block);
  return held(__real_realloc(block, size));
}

void __wrap_free(void *block) {
  cost.held -= size_of(block);
  __real_free(block);
}

bool __wrap_alarms_next(struct alarms *alarms, struct alarm *next) {
  cost.alarms++;
  return __real_alarms_next(alarms, next);
}

/* Of the run with the profiler, which keeps more. */
static struct cost cost_of(const char *options) {
  char line[400];
  struct setup setup;
  snprintf(line, sizeof line, "--layers 4 --hidden 256 --heads 4 --seq 128 --vocab 1024 --warmup 1 --tp 2 --pp 2 %s",
           options);
  cost = (struct cost){0};
  assert_true(setup_of_line(&setup, line));
  struct gpt *gpt = gpt_new(&setup);
  int count;
  const struct communicator *communicators = gpt_communicators(gpt, &count);
  struct recorder *recorder = recorder_new(&setup, communicators, count);
  struct software software = gpt_software(gpt);
  struct witness witness = recorder_witness(recorder, true);
  assert_true(machine_run(&setup, &software, communicators, count, true, &witness));
  struct cost found = cost;
  recorder_free(recorder);
  gpt_free(gpt);
  setup_free(&setup);
  assert_true(found.most > 0 && found.alarms > 0);
  return found;
}

static void assert_at_most(int64_t value, double most, const char *what) {
  if ((double)value > most) {
    print_error("%s: %lld, and %.0f at the most\n", what, (long long)value, most);
    fail();
  }
}

/* A twentieth is for what does not divide. */
static const double about = 1.05;

static void ranks_cost_what_they_are_more(void **state) {
  (void)state;
  struct cost few = cost_of("--steps 2 --dp 4 --ranks none"), many = cost_of("--steps 2 --dp 16 --ranks none");
  assert_at_most(many.most, 4 * about * (double)few.most, "bytes of four times as many ranks");
  assert_at_most(many.alarms, 4 * about * (double)few.alarms, "alarms of four times as many ranks");
}

/* Three steps and twelve, with those before the recording: times, not memory. */
static void long_jobs_keep_no_more(void **state) {
  (void)state;
  struct cost few = cost_of("--steps 2 --dp 4 --ranks none"), many = cost_of("--steps 11 --dp 4 --ranks none");
  assert_at_most(many.most, about * (double)few.most, "bytes of four times as many steps");
  assert_at_most(many.alarms, 4 * about * (double)few.alarms, "alarms of four times as many steps");
  many = cost_of("--steps 2 --dp 4 --micro-batches 16 --ranks none");
  assert_at_most(many.most, 1.2 * (double)few.most, "bytes of four times as many micro-batches");
  assert_at_most(many.alarms, 4 * about * (double)few.alarms, "alarms of four times as many micro-batches");
}

static void what_is_not_written_is_not_kept(void **state) {
  (void)state;
  struct cost none = cost_of("--steps 4 --dp 4 --ranks none"), one = cost_of("--steps 4 --dp 4 --ranks 0"),
              all = cost_of("--steps 4 --dp 4 --ranks all");
  assert_true(all.most > 2 * none.most); /* rows are most of it */
  assert_at_most(16 * (one.most - none.most), 1.25 * (double)(all.most - none.most),
                 "bytes of one of 16 traces, 16 times");
  assert_int_equal(one.alarms, none.alarms);
  assert_int_equal(all.alarms, none.alarms);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_cost_what_they_are_more),
      cmocka_unit_test(long_jobs_keep_no_more),
      cmocka_unit_test(what_is_not_written_is_not_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
