#include "rebuild/plan.h"

/* Steps of a job, by number. */
LUMOS_VECTOR_TYPE(step_numbers, int32_t);

static int by_number(const void *left, const void *right) {
  int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  return LUMOS_ORDER(a, b);
}

static void list_steps(const struct rebuild_blocks *blocks, struct step_numbers *steps) {
  for (size_t b = 0; b < blocks->items.count; b++) {
    if (b == 0 || blocks->items.items[b].step != blocks->items.items[b - 1].step) {
      lumos_vector_push(steps, blocks->items.items[b].step);
    }
  }
  lumos_vector_sort(steps, by_number);
  size_t kept = 0;
  for (size_t i = 0; i < steps->count; i++) {
    if (i == 0 || steps->items[i] != steps->items[kept - 1]) {
      steps->items[kept++] = steps->items[i];
    }
  }
  steps->count = kept;
}

/* One recorded step once more, as another. */
static void add_step(struct rebuild_rank *rank, const struct rebuild_blocks *blocks, int32_t like, int32_t step,
                     uint32_t turns) {
  for (uint32_t b = blocks->rank_first[rank->like]; b < blocks->rank_first[rank->like + 1]; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    if (block->step == like) {
      struct rebuild_item item = {b, turns, step, block->micro_batch, block->layer};
      lumos_vector_push(&rank->items, item);
    }
  }
}

enum { FEWEST_STEPS = 3 };

void rebuild_plan_recorded(struct rebuild_plan *plan, const struct rebuild_templates *templates) {
  const struct rebuild_blocks *blocks = templates->blocks;
  struct step_numbers steps = {0};
  *plan = (struct rebuild_plan){.begins_as_recorded = true};
  list_steps(blocks, &steps);
  size_t count = steps.count + 1 < FEWEST_STEPS ? FEWEST_STEPS : steps.count + 1;
  for (uint32_t r = 0; r < blocks->job->ranks.count && steps.count > 0; r++) {
    struct rebuild_rank rank = {.like = r, .number = blocks->job->ranks.items[r].rank};
    for (size_t i = 0; i < count; i++) {
      add_step(&rank, blocks, steps.items[i % steps.count], steps.items[0] + (int32_t)i, getenv("TURNS") ? (uint32_t)atoi(getenv("TURNS")) : 1);
    }
    lumos_vector_push(&plan->ranks, rank);
  }
  lumos_vector_free(&steps);
}

void rebuild_plan_free(struct rebuild_plan *plan) {
  for (size_t r = 0; r < plan->ranks.count; r++) {
    lumos_vector_free(&plan->ranks.items[r].items);
  }
  lumos_vector_free(&plan->ranks);
}
