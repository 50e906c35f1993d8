/* Open addressing, a step at a time. A slot keeps half of the hash, so that almost every comparison that is made
 * succeeds. */
#include "machine_state.h"
#include <stdlib.h>

enum { FIRST_ROOM = 64 };

uint32_t lookup_find(const struct lookup *lookup, uint64_t hash,
                     bool (*same)(const void *owner, uint32_t index, const void *key), const void *owner,
                     const void *key) {
  if (lookup->room == 0)
    return NOBODY;
  uint32_t mask = lookup->room - 1, half = (uint32_t)(hash >> 32);
  for (uint32_t i = half & mask; lookup->slots[i].index != NOBODY; i = (i + 1) & mask)
    if (lookup->slots[i].hash == half && same(owner, lookup->slots[i].index, key))
      return lookup->slots[i].index;
  return NOBODY;
}

static void insert(struct lookup *lookup, struct lookup_slot slot) {
  uint32_t mask = lookup->room - 1, i = slot.hash & mask;
  while (lookup->slots[i].index != NOBODY)
    i = (i + 1) & mask;
  lookup->slots[i] = slot;
}

void lookup_add(struct lookup *lookup, uint64_t hash, uint32_t index) {
  if (2 * lookup->count >= lookup->room) {
    struct lookup old = *lookup;
    lookup->room = old.room ? 2 * old.room : FIRST_ROOM;
    lookup->slots = memory_new(lookup->room, sizeof *lookup->slots);
    for (uint32_t i = 0; i < lookup->room; i++)
      lookup->slots[i].index = NOBODY;
    for (uint32_t i = 0; i < old.room; i++)
      if (old.slots[i].index != NOBODY)
        insert(lookup, old.slots[i]);
    free(old.slots);
  }
  insert(lookup, (struct lookup_slot){(uint32_t)(hash >> 32), index});
  lookup->count++;
}

void lookup_free(struct lookup *lookup) { free(lookup->slots); }
