/* Drawn pipelines: every schedule is legal, and none that lacks a slot, or has two in another order that matters. */
#include "unit/unit.h"

#include "rebuild/legal.h"
#include <stdlib.h>

enum { CONFIGURATIONS = 1000, MOST_STAGES = 12, MOST_MICRO_BATCHES = 24 };

struct pipeline {
  int32_t stages, micro_batches;
  enum lumos_schedule schedule;
  bool joint;
  struct rebuild_slots slots[MOST_STAGES];
};

static uint64_t state;

static uint32_t draw(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(state >> 33U) % below;
}

static void draw_pipeline(struct pipeline *pipeline) {
  *pipeline = (struct pipeline){0};
  pipeline->stages = 1 + (int32_t)draw(MOST_STAGES);
  pipeline->micro_batches = 1 + (int32_t)draw(MOST_MICRO_BATCHES);
  pipeline->schedule = draw(2) ? LUMOS_1F1B : LUMOS_GPIPE;
  pipeline->joint = draw(2);
  for (int32_t s = 0; s < pipeline->stages; s++) {
    rebuild_schedule_make(&pipeline->slots[s], pipeline->schedule, pipeline->stages, s, pipeline->micro_batches,
                          pipeline->joint);
  }
}

static void free_pipeline(struct pipeline *pipeline) {
  for (int32_t s = 0; s < pipeline->stages; s++) {
    lumos_vector_free(&pipeline->slots[s]);
  }
}

static bool is_legal(const struct pipeline *pipeline, struct lumos_error *error) {
  return rebuild_check_stages(pipeline->slots, pipeline->stages, pipeline->micro_batches, pipeline->schedule, error);
}

static void every_schedule_is_legal(void **context) {
  (void)context;
  for (int i = 0; i < CONFIGURATIONS; i++) {
    struct pipeline pipeline;
    struct lumos_error error = {0};
    draw_pipeline(&pipeline);
    if (!is_legal(&pipeline, &error)) {
      fail_msg("%d stages, %d micro-batches, schedule %d, joint %d: %s", pipeline.stages, pipeline.micro_batches,
               (int)pipeline.schedule, pipeline.joint, error.text);
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
    struct rebuild_slots *slots = &pipeline.slots[draw((uint32_t)pipeline.stages)];
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
    struct rebuild_slots *slots = &pipeline.slots[draw((uint32_t)pipeline.stages)];
    uint32_t first = draw((uint32_t)slots->count), second = draw((uint32_t)slots->count);
    struct rebuild_slot *a = &slots->items[first], *b = &slots->items[second];
    bool alone = pipeline.stages == 1; /* then nobody cares which micro-batch comes first */
    if (!alone && a->transfers == 0 && b->transfers == 0 && a->micro_batch != b->micro_batch && a->phase == b->phase) {
      int32_t kept = a->micro_batch;
      a->micro_batch = b->micro_batch;
      b->micro_batch = kept;
      assert_false(is_legal(&pipeline, &error));
    }
    free_pipeline(&pipeline);
  }
}

/* As many micro-batches as GPipe holds are too many for 1F1B. */
static void no_stage_holds_more_than_its_schedule_says(void **context) {
  (void)context;
  struct pipeline pipeline = {.stages = 2, .micro_batches = 4, .schedule = LUMOS_GPIPE, .joint = true};
  struct lumos_error error = {0};
  for (int32_t s = 0; s < pipeline.stages; s++) {
    rebuild_schedule_make(&pipeline.slots[s], LUMOS_GPIPE, pipeline.stages, s, pipeline.micro_batches, true);
  }
  assert_true(is_legal(&pipeline, &error));
  pipeline.schedule = LUMOS_1F1B;
  assert_false(is_legal(&pipeline, &error));
  free_pipeline(&pipeline);
}

int main(int argc, char **argv) {
  state = argc > 1 ? strtoull(argv[1], NULL, 10) : 19;
  print_message("seed %llu\n", (unsigned long long)state);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_schedule_is_legal),
      cmocka_unit_test(none_that_lacks_a_slot_is),
      cmocka_unit_test(none_with_passes_in_another_order_is),
      cmocka_unit_test(no_stage_holds_more_than_its_schedule_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
