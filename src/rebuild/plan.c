#include "rebuild/plan.h"

/* In the first recorded step the job still settles. So a block of a later step that would be drawn from the first one
 * is drawn from its own step. */
static uint32_t turns_for(const struct rebuild_templates *templates, int32_t settling, uint32_t block, uint32_t turns) {
  const struct rebuild_block *blocks = templates->blocks->items.items;
  bool settles = blocks[rebuild_draw(templates, block, turns)].step == settling;
  return settles && blocks[block].step != settling ? 0 : turns;
}

/* One recorded step once more, as another. */
static void add_step(struct rebuild_rank *rank, const struct rebuild_templates *templates, int32_t settling,
                     int32_t like, int32_t step, uint32_t turns) {
  const struct rebuild_blocks *blocks = templates->blocks;
  for (uint32_t b = blocks->rank_first[rank->like]; b < blocks->rank_first[rank->like + 1]; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    if (block->step == like) {
      rebuild_plan_add(rank, (struct rebuild_item){.like = b,
                                                   .turns = turns_for(templates, settling, b, turns),
                                                   .step = step,
                                                   .micro_batch = block->micro_batch,
                                                   .layer = block->layer,
                                                   .phase = block->phase});
    }
  }
}

/* How many steps further on a step is drawn from: the first, of which the beginning is not known, from itself, and the
 * others from each other. */
static uint32_t turns_of(size_t step, size_t steps) {
  return step == 0 ? 0 : (uint32_t)((1 + step % (steps - 1) + steps - step) % steps);
}

void rebuild_plan_recorded(struct rebuild_plan *plan, const struct rebuild_templates *templates, size_t more) {
  const struct rebuild_blocks *blocks = templates->blocks;
  struct rebuild_steps steps;
  *plan = (struct rebuild_plan){.recorded = true, .begins_as_recorded = true};
  rebuild_steps_list(&steps, blocks);
  size_t count = rebuild_steps_built(&steps) + more;
  for (uint32_t r = 0; r < blocks->job->ranks.count && steps.count > 0; r++) {
    struct rebuild_rank rank = {.like = r, .number = blocks->job->ranks.items[r].rank};
    for (size_t i = 0; i < count; i++) {
      add_step(&rank, templates, more > 0 ? LUMOS_ABSENT_INT : steps.items[0], steps.items[i % steps.count],
               rebuild_step_at(&steps, i), more > 0 ? 1 : turns_of(i % steps.count, steps.count));
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
