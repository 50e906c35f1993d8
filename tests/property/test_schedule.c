/* Drawn pipelines: every schedule is legal, and none that lacks a slot, or has two in another order that matters. */
#include "unit/unit.h"

#include "rebuild/legal.h"
#include <stdlib.h>

enum { CONFIGURATIONS = 1000, MOST_STAGES = 12, MOST_MICRO_BATCHES = 24, MOST_CHUNKS = 4 };

struct pipeline {
  struct rebuild_pipeline of;
  struct rebuild_slots slots[MOST_STAGES];
};

static uint64_t state;

static uint32_t draw(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return below > 0 ? (uint32_t)(state >> 33U) % below : 0;
}

static void make(struct pipeline *pipeline, const struct rebuild_pipeline *of) {
  *pipeline = (struct pipeline){.of = *of};
  for (int32_t s = 0; s < of->stages; s++) {
    rebuild_schedule_make(&pipeline->slots[s], of, s);
  }
}

static void draw_pipeline(struct pipeline *pipeline) {
  static const enum lumos_schedule schedules[] = {LUMOS_1F1B, LUMOS_GPIPE, LUMOS_INTERLEAVED, LUMOS_ZB_H1};
  struct rebuild_pipeline of = {.schedule = schedules[draw(4)],
                                .stages = 1 + (int32_t)draw(MOST_STAGES),
                                .chunks = 1,
                                .micro_batches = 1 + (int32_t)draw(MOST_MICRO_BATCHES),
                                .joint = draw(2)};
  if (of.schedule == LUMOS_INTERLEAVED) {
    of.stages += of.stages == 1;
    of.chunks = 2 + (int32_t)draw(MOST_CHUNKS - 1);
    of.micro_batches = of.stages * (1 + (int32_t)draw(3));
  }
  make(pipeline, &of);
}

static void free_pipeline(struct pipeline *pipeline) {
  for (int32_t s = 0; s < pipeline->of.stages; s++) {
    lumos_vector_free(&pipeline->slots[s]);
  }
}

static bool is_legal(const struct pipeline *pipeline, struct lumos_error *error) {
  return rebuild_check_stages(pipeline->slots, &pipeline->of, error);
}

static void every_schedule_is_legal(void **context) {
  (void)context;
  for (int i = 0; i < CONFIGURATIONS; i++) {
    struct pipeline pipeline;
    struct lumos_error error = {0};
    draw_pipeline(&pipeline);
    if (!is_legal(&pipeline, &error)) {
      fail_msg("%d stages of %d chunks, %d micro-batches, schedule %d, joint %d: %s", pipeline.of.stages,
               pipeline.of.chunks, pipeline.of.micro_batches, (int)pipeline.of.schedule, pipeline.of.joint, error.text);
    }
    free_pipeline(&pipeline);
  }
}

static void none_that_lacks_a_slot_is(void **context) {
  (void)context;
  for (int i = 0; i < CONFIGURATIONS; i++) {
    struct pipeline pipeline;
    struct lumos_error error = {0};
    draw_pipeline(&pipeline);
    struct rebuild_slots *slots = &pipeline.slots[draw((uint32_t)pipeline.of.stages)];
    uint32_t gone = draw((uint32_t)slots->count);
    memmove(slots->items + gone, slots->items + gone + 1, (slots->count - gone - 1) * sizeof *slots->items);
    slots->count--;
    assert_false(is_legal(&pipeline, &error));
    free_pipeline(&pipeline);
  }
}

static void none_with_passes_in_another_order_is(void **context) {
  (void)context;
  for (int i = 0; i < CONFIGURATIONS; i++) {
    struct pipeline pipeline;
    struct lumos_error error = {0};
    draw_pipeline(&pipeline);
    struct rebuild_slots *slots = &pipeline.slots[draw((uint32_t)pipeline.of.stages)];
    uint32_t first = draw((uint32_t)slots->count), second = draw((uint32_t)slots->count);
    struct rebuild_slot *a = &slots->items[first], *b = &slots->items[second];
    bool alone = pipeline.of.stages == 1; /* then nobody cares which micro-batch comes first */
    if (!alone && a->transfers == 0 && b->transfers == 0 && a->micro_batch != b->micro_batch && a->phase == b->phase) {
      int32_t kept = a->micro_batch;
      a->micro_batch = b->micro_batch;
      b->micro_batch = kept;
      assert_false(is_legal(&pipeline, &error));
    }
    free_pipeline(&pipeline);
  }
}

/* As many micro-batches as GPipe holds are too many for 1F1B, and what 1F1B holds at its first stage for a schedule
 * that is said to be of fewer. */
static void no_stage_holds_more_than_its_schedule_says(void **context) {
  (void)context;
  struct pipeline pipeline;
  struct lumos_error error = {0};
  make(&pipeline, &(struct rebuild_pipeline){LUMOS_GPIPE, 2, 1, 4, true, false});
  assert_true(is_legal(&pipeline, &error));
  pipeline.of.schedule = LUMOS_1F1B;
  assert_false(is_legal(&pipeline, &error));
  free_pipeline(&pipeline);
}

/* phase of a slot as a letter, with its micro-batch and chunk; transfers in brackets. */
static void tell(const struct rebuild_slots *slots, bool transfers, char *text, size_t size) {
  size_t at = 0;
  for (size_t i = 0; i < slots->count; i++) {
    const struct rebuild_slot *slot = &slots->items[i];
    if (slot->transfers == 0) {
      at += (size_t)snprintf(text + at, size - at, "%c%d%s ", "?FBW"[slot->phase], slot -> micro_batch,
                             slot -> chunk == 0         ? ""
                                     : slot->chunk == 1 ? "'"
                                                        : "''");
    } else if (transfers) {
      at += (size_t)snprintf(text + at, size - at, "[%d] ", slot->transfers);
    }
  }
}

/* Written down by hand from the figures of Narayanan et al. (2021) and Qi et al. (2023). */
static void schedules_are_those_of_the_papers(void **context) {
  (void)context;
  static const struct {
    struct rebuild_pipeline of;
    int32_t stage;
    bool transfers;
    const char *slots;
  } table[] = {
      {{LUMOS_1F1B, 4, 1, 6, true, false}, 2, false, "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5 "},
      {{LUMOS_INTERLEAVED, 2, 2, 4, true, false}, 0, false, "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3 "},
      {{LUMOS_INTERLEAVED, 2, 2, 4, true, false}, 1, false, "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3 "},
      {{LUMOS_ZB_H1, 4, 1, 6, true, false}, 0, false, "F0 F1 F2 F3 B0 W0 F4 B1 W1 F5 B2 W2 B3 W3 B4 W4 B5 W5 "},
      {{LUMOS_ZB_H1, 4, 1, 6, true, false}, 3, false, "F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 F5 B5 W2 W3 W4 W5 "},
      /* to the next 1, from it 2, to the previous 4, from it 8 */
      {{LUMOS_1F1B, 2, 1, 3, true, false}, 1, true, "[8] F0 B0 [12] F1 B1 [12] F2 B2 [4] "},
      {{LUMOS_1F1B, 2, 1, 3, false, false}, 0, true, "F0 [1] F1 [1] [2] B0 F2 [1] [2] B1 [2] B2 "},
      {{LUMOS_1F1B, 1, 1, 3, true, true}, 0, true, "F0 F1 F2 "},
      {{LUMOS_ZB_H1, 2, 1, 2, true, false}, 1, true, "[8] F0 B0 [12] F1 B1 [4] W0 W1 "},
      {{LUMOS_INTERLEAVED, 2, 2, 2, true, false}, 1, true, "[8] F0 [9] F1 [9] F0' B0' [12] F1' B1' [6] B0 [6] B1 [4] "},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct rebuild_slots slots = {0};
    char text[512] = "";
    rebuild_schedule_make(&slots, &table[i].of, table[i].stage);
    tell(&slots, table[i].transfers, text, sizeof text);
    assert_string_equal(text, table[i].slots);
    lumos_vector_free(&slots);
  }
}

int main(void) {
  const char *seed = getenv("LUMOS_SEED");
  state = seed ? strtoull(seed, NULL, 10) : 19;
  print_message("seed %llu\n", (unsigned long long)state);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules_are_those_of_the_papers),
      cmocka_unit_test(every_schedule_is_legal),
      cmocka_unit_test(none_that_lacks_a_slot_is),
      cmocka_unit_test(none_with_passes_in_another_order_is),
      cmocka_unit_test(no_stage_holds_more_than_its_schedule_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
