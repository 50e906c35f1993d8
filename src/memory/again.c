/* Ops that --recompute has put into the backward pass. They compute again what a layer, or its attention, computed in
 * the forward pass: of that first run nothing is kept but what it began with, which is what they begin with, too.
 *
 * A recording shows regions that are computed again by ops of their own (lifetimes.c); a job that was changed has the
 * ops of the forward pass twice, the second time in no gradient's op.
 */
#include "memory/walk.h"

static bool is_put_in(const struct memory_walk *walk, uint32_t place) {
  return !walk->measured && op_at(walk, place)->node == LUMOS_NONE && task_at(walk, place)->phase == LUMOS_BACKWARD &&
         walk->rules[place] != NULL;
}

static uint64_t key_at(const struct memory_walk *walk, uint32_t place) {
  return key_of(walk, task_at(walk, place), span_at(walk, place)->sequence);
}

static uint64_t region_key(const struct lumos_task *task) {
  return lumos_key_pair((uint32_t)task->micro_batch, (uint32_t)task->layer);
}

/* Is the op, of a forward pass, done again? */
static bool is_first_run(const struct memory_walk *walk, uint32_t place) {
  return !is_put_in(walk, place) && op_at(walk, place)->node == LUMOS_NONE && (walk->traits[place] & MAKES_NODE) &&
         lumos_known_number(&walk->again.ops, key_at(walk, place)) != LUMOS_NO_NUMBER;
}

static void add_to_region(struct memory_walk *walk, uint32_t place) {
  struct memory_again *again = &walk->again;
  uint32_t number = lumos_number_of(&again->regions, region_key(task_at(walk, place)));
  if (number >= again->first_runs.count) {
    lumos_vector_push(&again->first_runs, ((struct memory_places){place, place}));
  }
  again->first_runs.items[number].last = place;
}

void memory_find_again(struct memory_walk *walk) {
  struct memory_again *again = &walk->again;
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    if (is_put_in(walk, i) && (walk->traits[i] & MAKES_NODE)) {
      (void)lumos_number_of(&again->ops, key_at(walk, i));
    }
  }
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    if (is_first_run(walk, i)) {
      add_to_region(walk, i);
    }
  }
}

/* What the first run's op kept, and had been made in that run, is not kept after all. */
static void forget(struct memory_walk *walk, const struct memory_places *first_run) {
  uint32_t number = lumos_known_number(&walk->keys, key_at(walk, walk->at));
  uint32_t k = number == LUMOS_NO_NUMBER ? LUMOS_NONE : walk->heads.items[number];
  for (; k != LUMOS_NONE; k = walk->keeps.items[k].next) {
    struct memory_kept *keep = &walk->keeps.items[k];
    uint32_t made = walk->memory->pieces.items[keep->piece].begin;
    keep->released |= made >= first_run->first && made <= first_run->last;
  }
}

bool memory_begin_again(struct memory_walk *walk) {
  struct memory_again *again = &walk->again;
  again->runs = is_put_in(walk, walk->at);
  if (!again->runs) {
    return false;
  }
  uint32_t region = lumos_known_number(&again->regions, region_key(task_at(walk, walk->at)));
  if (region != again->region) {
    again->region = region;
    again->handles = (uint32_t)walk->handles.count;
  }
  if (region != LUMOS_NO_NUMBER && keeps_here(walk)) {
    forget(walk, &again->first_runs.items[region]);
  }
  return true;
}

void memory_again_free(struct memory_again *again) {
  lumos_numbering_free(&again->ops);
  lumos_numbering_free(&again->regions);
  lumos_vector_free(&again->first_runs);
}
