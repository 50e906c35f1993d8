/* Ops that --recompute has put into the backward pass. They compute again what a layer, or its attention, computed in
 * the forward pass: of that first run nothing is kept but what it began with, which is what they begin with, too.
 *
 * A recording shows regions that are computed again by ops of their own (lifetimes.c); a job that was changed has the
 * ops of a forward pass twice, the second time in no gradient's op, and as another micro-batch may have done them: the
 * first run has as many ops with gradients, in the same order.
 */
#include "memory/walk.h"

#include <stdlib.h>

static bool is_put_in(const struct memory_walk *walk, uint32_t place) {
  return !walk->measured && op_at(walk, place)->node == LUMOS_NONE && task_at(walk, place)->phase == LUMOS_BACKWARD &&
         walk->rules[place] != NULL;
}

static uint64_t region_key(const struct lumos_task *task) {
  return lumos_key_pair((uint32_t)task->micro_batch, (uint32_t)task->layer);
}

/* The same in all micro-batches that are copies of one. */
static uint64_t op_key(const struct memory_walk *walk, uint32_t place) {
  return lumos_key_pair((uint32_t)task_at(walk, place)->layer, (uint32_t)span_at(walk, place)->sequence);
}

/* Ops with gradients of forward passes, as they are looked for. */
struct first_runs {
  struct lumos_numbering keys, places; /* by op_key; by region and how many there were in it before */
  LUMOS_VECTOR(uint32_t) before;       /* by number of keys: in its region */
  LUMOS_VECTOR(uint32_t) ops;          /* by number of places */
  LUMOS_VECTOR(uint32_t) counts;       /* by region */
};

static void list_first_runs(struct memory_walk *walk, struct first_runs *runs) {
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    if (is_put_in(walk, i) || op_at(walk, i)->node != LUMOS_NONE || !(walk->traits[i] & MAKES_NODE)) {
      continue;
    }
    uint32_t region = lumos_number_of(&walk->again.regions, region_key(task_at(walk, i)));
    if (region >= runs->counts.count) {
      lumos_vector_push(&runs->counts, 0);
      lumos_vector_push(&walk->again.first_runs, ((struct memory_places){LUMOS_NONE, 0}));
    }
    uint32_t before = runs->counts.items[region]++;
    (void)lumos_number_of(&runs->places, lumos_key_pair(region, before));
    lumos_vector_push(&runs->ops, i);
    if (lumos_number_of(&runs->keys, op_key(walk, i)) >= runs->before.count) {
      lumos_vector_push(&runs->before, before);
    }
  }
}

/* LUMOS_NONE: there is none. */
static uint32_t find_first_run(const struct memory_walk *walk, const struct first_runs *runs, uint32_t place) {
  uint32_t region = lumos_known_number(&walk->again.regions, region_key(task_at(walk, place)));
  uint32_t key = lumos_known_number(&runs->keys, op_key(walk, place));
  if (region == LUMOS_NO_NUMBER || key == LUMOS_NO_NUMBER || span_at(walk, place)->sequence == LUMOS_ABSENT) {
    return LUMOS_NONE;
  }
  uint32_t number = lumos_known_number(&runs->places, lumos_key_pair(region, runs->before.items[key]));
  uint32_t found = number == LUMOS_NO_NUMBER ? LUMOS_NONE : runs->ops.items[number];
  return found != LUMOS_NONE && span_at(walk, found)->name == span_at(walk, place)->name ? found : LUMOS_NONE;
}

void memory_find_again(struct memory_walk *walk) {
  struct memory_again *again = &walk->again;
  struct first_runs runs = {.counts = {0}};
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    if (!is_put_in(walk, i) || !(walk->traits[i] & MAKES_NODE)) {
      continue;
    }
    if (again->of == NULL) {
      again->of = lumos_allocate(walk->memory->ops.count * sizeof *again->of);
      memset(again->of, 0xff, walk->memory->ops.count * sizeof *again->of);
      list_first_runs(walk, &runs);
    }
    uint32_t first = again->of[i] = find_first_run(walk, &runs, i);
    if (first != LUMOS_NONE) {
      struct memory_places *region =
          &again->first_runs.items[lumos_known_number(&again->regions, region_key(task_at(walk, i)))];
      region->first = first < region->first ? first : region->first;
      region->last = first > region->last ? first : region->last;
    }
  }
  lumos_numbering_free(&runs.keys);
  lumos_numbering_free(&runs.places);
  lumos_vector_free(&runs.before);
  lumos_vector_free(&runs.ops);
  lumos_vector_free(&runs.counts);
}

uint32_t memory_first_run(const struct memory_walk *walk, uint32_t place) {
  uint32_t first = walk->again.of == NULL ? LUMOS_NONE : walk->again.of[place];
  return first == LUMOS_NONE ? place : first;
}

/* What the first run's op kept, and had been made in that run, is not kept after all. */
static void forget(struct memory_walk *walk, uint32_t first, const struct memory_places *first_run) {
  uint32_t number = lumos_known_number(&walk->keys, key_of(walk, task_at(walk, first), span_at(walk, first)->sequence));
  uint32_t k = number == LUMOS_NO_NUMBER ? LUMOS_NONE : walk->heads.items[number];
  for (; k != LUMOS_NONE; k = walk->keeps.items[k].next) {
    struct memory_kept *keep = &walk->keeps.items[k];
    uint32_t made = walk->memory->pieces.items[keep->piece].begin;
    keep->released |= made >= first_run->first && made <= first_run->last;
  }
}

bool memory_begin_again(struct memory_walk *walk) {
  struct memory_again *again = &walk->again;
  again->runs = again->of != NULL && is_put_in(walk, walk->at);
  if (!again->runs) {
    return false;
  }
  uint32_t region = lumos_known_number(&again->regions, region_key(task_at(walk, walk->at)));
  if (region != again->region) {
    again->region = region;
    again->handles = (uint32_t)walk->handles.count;
  }
  if (again->of[walk->at] != LUMOS_NONE) {
    forget(walk, again->of[walk->at], &again->first_runs.items[region]);
  }
  return true;
}

void memory_again_free(struct memory_again *again) {
  free(again->of);
  lumos_numbering_free(&again->regions);
  lumos_vector_free(&again->first_runs);
}
