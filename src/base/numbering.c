/* Open addressing; the table is at most half full. */
#include "base/numbering.h"

#include "base/hash.h"
#include <stdlib.h>
#include <string.h>

enum { FEWEST_SLOTS = 64 };

static size_t slot_of(const struct lumos_numbering *numbering, uint64_t key) {
  for (size_t slot = (size_t)lumos_hash_mix(0, key);; slot++) {
    uint32_t number = numbering->slots[slot & numbering->mask];
    if (number == 0 || numbering->keys.items[number - 1] == key) {
      return slot & numbering->mask;
    }
  }
}

static void grow(struct lumos_numbering *numbering) {
  size_t room = numbering->slots == NULL ? FEWEST_SLOTS : (numbering->mask + 1) * 2;
  free(numbering->slots);
  numbering->slots = lumos_allocate_zeroed(room, sizeof *numbering->slots);
  numbering->mask = room - 1;
  for (size_t i = 0; i < numbering->keys.count; i++) {
    numbering->slots[slot_of(numbering, numbering->keys.items[i])] = (uint32_t)i + 1;
  }
}

uint32_t lumos_number_of(struct lumos_numbering *numbering, uint64_t key) {
  if (numbering->keys.count >= numbering->mask / 2) {
    grow(numbering);
  }
  size_t slot = slot_of(numbering, key);
  if (numbering->slots[slot] == 0) {
    lumos_vector_push(&numbering->keys, key);
    numbering->slots[slot] = (uint32_t)numbering->keys.count;
  }
  return numbering->slots[slot] - 1;
}

uint32_t lumos_known_number(const struct lumos_numbering *numbering, uint64_t key) {
  return numbering->slots == NULL ? LUMOS_NO_NUMBER : numbering->slots[slot_of(numbering, key)] - 1;
}

void lumos_numbering_clear(struct lumos_numbering *numbering) {
  numbering->keys.count = 0;
  if (numbering->slots != NULL) {
    memset(numbering->slots, 0, (numbering->mask + 1) * sizeof *numbering->slots);
  }
}

void lumos_numbering_free(struct lumos_numbering *numbering) {
  lumos_vector_free(&numbering->keys);
  free(numbering->slots);
  *numbering = (struct lumos_numbering){0};
}
