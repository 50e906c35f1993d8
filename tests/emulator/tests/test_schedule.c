/* Schedules: small ones against orders written by hand, many against the rules that every order has to keep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

static struct setup setup_of(enum schedule schedule, int stages, int micro_batches, int chunks) {
  return (struct setup){
      .model = {.micro_batches = micro_batches},
      .parallel = {.tensor = 1, .context = 1, .data = 1, .pipeline = stages, .chunks = chunks, .schedule = schedule}};
}

/* ---- by hand ---- */

/* F0 B0 W0; with chunks F0.1. */
static void print_order(const struct setup *setup, int stage, char *text, size_t room) {
  struct pass *passes;
  int count = schedule_passes(setup, stage, &passes);
  *text = 0;
  for (int i = 0; i < count; i++) {
    size_t used = strlen(text);
    char letter = "FBW"[passes[i].phase];
    if (setup->parallel.chunks > 1)
      snprintf(text + used, room - used, "%s%c%d.%d", i ? " " : "", letter, passes[i].micro_batch, passes[i].chunk);
    else
      snprintf(text + used, room - used, "%s%c%d", i ? " " : "", letter, passes[i].micro_batch);
  }
  free(passes);
}

static void orders_by_hand(void **state) {
  (void)state;
  static const struct {
    enum schedule schedule;
    int stages, micro_batches, chunks, stage;
    const char *order;
  } cases[] = {
      {SCHEDULE_1F1B, 1, 2, 1, 0, "F0 B0 F1 B1"},
      {SCHEDULE_1F1B, 2, 3, 1, 0, "F0 F1 B0 F2 B1 B2"},
      {SCHEDULE_1F1B, 2, 3, 1, 1, "F0 B0 F1 B1 F2 B2"},
      {SCHEDULE_1F1B, 4, 2, 1, 0, "F0 F1 B0 B1"},
      {SCHEDULE_1F1B, 4, 5, 1, 1, "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4"},
      {SCHEDULE_GPIPE, 3, 3, 1, 1, "F0 F1 F2 B0 B1 B2"},
      {SCHEDULE_ZERO_BUBBLE, 1, 2, 1, 0, "F0 B0 W0 F1 B1 W1"},
      {SCHEDULE_ZERO_BUBBLE, 2, 3, 1, 0, "F0 F1 B0 W0 F2 B1 W1 B2 W2"},
      {SCHEDULE_ZERO_BUBBLE, 2, 3, 1, 1, "F0 B0 F1 B1 W0 F2 B2 W1 W2"},
      {SCHEDULE_ZERO_BUBBLE, 4, 2, 1, 3, "F0 B0 F1 B1 W0 W1"},
      {SCHEDULE_INTERLEAVED, 2, 2, 2, 0, "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0"},
      {SCHEDULE_INTERLEAVED, 2, 2, 2, 1, "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 B1.0"},
      {SCHEDULE_INTERLEAVED, 2, 4, 2, 0,
       "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct setup setup = setup_of(cases[i].schedule, cases[i].stages, cases[i].micro_batches, cases[i].chunks);
    char order[256];
    print_order(&setup, cases[i].stage, order, sizeof order);
    assert_string_equal(order, cases[i].order);
  }
}

/* ---- by rule ---- */

enum { MOST_STAGES = 8, MOST_MICRO_BATCHES = 12, MOST_CHUNKS = 3 };

/* What a stage has done: 1 after the forward pass of a micro-batch in a chunk, 2 after the backward, 3 after the
 * weights'. */
struct done {
  int of[MOST_CHUNKS][MOST_MICRO_BATCHES];
};

static int least(int a, int b) { return a < b ? a : b; }

static int wanted_warmup(const struct setup *setup, int stage) {
  int stages = setup->parallel.pipeline, chunks = setup->parallel.chunks, micro_batches = setup->model.micro_batches;
  switch (setup->parallel.schedule) {
    case SCHEDULE_GPIPE:
      return micro_batches - 1;
    case SCHEDULE_INTERLEAVED:
      return least(2 * (stages - 1 - stage) + (chunks - 1) * stages, micro_batches * chunks - 1);
    case SCHEDULE_1F1B:
    case SCHEDULE_ZERO_BUBBLE:
    case SCHEDULES:
      break;
  }
  return least(stages - 1 - stage, micro_batches - 1);
}

/* Forward before backward before weights, each once; the warm-up; how much is held at once. */
static void check_stage(const struct setup *setup, int stage) {
  struct pass *passes;
  int count = schedule_passes(setup, stage, &passes);
  bool apart = setup->parallel.schedule == SCHEDULE_ZERO_BUBBLE;
  int total = setup->model.micro_batches * setup->parallel.chunks;
  assert_int_equal(count, total * (apart ? 3 : 2));
  struct done done = {0};
  int in_flight = 0, most_in_flight = 0, put_off = 0, most_put_off = 0, warmup = 0;
  for (int i = 0; i < count; i++) {
    assert_in_range(passes[i].chunk, 0, setup->parallel.chunks - 1);
    assert_in_range(passes[i].micro_batch, 0, setup->model.micro_batches - 1);
    int *state = &done.of[passes[i].chunk][passes[i].micro_batch];
    assert_int_equal(*state, passes[i].phase == PHASE_FORWARD ? 0 : passes[i].phase == PHASE_BACKWARD ? 1 : 2);
    ++*state;
    in_flight += passes[i].phase == PHASE_FORWARD ? 1 : passes[i].phase == PHASE_BACKWARD ? -1 : 0;
    put_off += passes[i].phase == PHASE_BACKWARD ? 1 : passes[i].phase == PHASE_WEIGHT ? -1 : 0;
    most_in_flight = in_flight > most_in_flight ? in_flight : most_in_flight;
    most_put_off = put_off > most_put_off ? put_off : most_put_off;
    if (warmup == i && passes[i].phase == PHASE_FORWARD)
      warmup++;
  }
  assert_int_equal(warmup, wanted_warmup(setup, stage) + 1); /* the first pair begins with a forward pass */
  if (setup->parallel.schedule == SCHEDULE_1F1B || apart)
    assert_int_equal(most_in_flight, least(setup->parallel.pipeline - stage, setup->model.micro_batches));
  if (apart)
    assert_int_equal(most_put_off, least(stage + 1, setup->model.micro_batches));
  free(passes);
}

/* Whether a pass has what it needs from other stages. */
static bool has_input(const struct setup *setup, const struct done *done, int stage, const struct pass *pass) {
  int stages = setup->parallel.pipeline, chunks = setup->parallel.chunks;
  int place = pass->chunk * stages + stage;
  int before = pass->phase == PHASE_FORWARD ? place - 1 : place + 1;
  if (pass->phase == PHASE_WEIGHT || before < 0 || before == stages * chunks)
    return true;
  return done[before % stages].of[before / stages][pass->micro_batch] > (pass->phase == PHASE_FORWARD ? 0 : 1);
}

/* All stages together come to the end. */
static void check_flow(const struct setup *setup) {
  struct pass *passes[MOST_STAGES];
  int counts[MOST_STAGES], at[MOST_STAGES] = {0};
  struct done done[MOST_STAGES] = {0};
  int left = 0;
  for (int stage = 0; stage < setup->parallel.pipeline; stage++)
    left += counts[stage] = schedule_passes(setup, stage, &passes[stage]);
  for (bool moved = true; moved && left;) {
    moved = false;
    for (int stage = 0; stage < setup->parallel.pipeline; stage++)
      while (at[stage] < counts[stage] && has_input(setup, done, stage, &passes[stage][at[stage]])) {
        const struct pass *pass = &passes[stage][at[stage]++];
        done[stage].of[pass->chunk][pass->micro_batch]++;
        left--;
        moved = true;
      }
  }
  assert_int_equal(left, 0);
  for (int stage = 0; stage < setup->parallel.pipeline; stage++)
    free(passes[stage]);
}

static void orders_keep_the_rules(void **state) {
  (void)state;
  for (int schedule = 0; schedule < SCHEDULES; schedule++)
    for (int stages = 1; stages <= MOST_STAGES; stages++)
      for (int micro_batches = 1; micro_batches <= MOST_MICRO_BATCHES; micro_batches++)
        for (int chunks = 1; chunks <= MOST_CHUNKS; chunks++) {
          bool interleaved = schedule == SCHEDULE_INTERLEAVED;
          if (interleaved != (chunks > 1) || (interleaved && (stages == 1 || micro_batches % stages)))
            continue; /* the command line refuses these */
          struct setup setup = setup_of((enum schedule)schedule, stages, micro_batches, chunks);
          for (int stage = 0; stage < stages; stage++)
            check_stage(&setup, stage);
          check_flow(&setup);
        }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(orders_by_hand),
      cmocka_unit_test(orders_keep_the_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
