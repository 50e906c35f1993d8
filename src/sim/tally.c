#include "sim/tally.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL_KEYS = 1 << 20 }; /* with a place of their own. Chosen: it bounds memory */

static uint32_t place_of(struct lumos_tally *tally, uint32_t key) {
  return key < SMALL_KEYS ? key : SMALL_KEYS + lumos_number_of(&tally->large, key);
}

static void make_place(struct lumos_tally *tally, uint32_t place) {
  size_t known = tally->places.count;
  lumos_vector_reserve(&tally->places, place + 1 - known);
  tally->places.count = tally->places.capacity;
  memset(tally->places.items + known, 0, (tally->places.count - known) * sizeof *tally->places.items);
}

void lumos_tally_add(struct lumos_tally *tally, uint32_t key, int64_t value) {
  uint32_t at = place_of(tally, key);
  if (at >= tally->places.count) {
    make_place(tally, at);
  }
  uint32_t *place = &tally->places.items[at];
  if (*place == 0) {
    lumos_vector_push(&tally->rows, ((struct lumos_tally_row){.key = key}));
    *place = (uint32_t)tally->rows.count;
  }
  tally->rows.items[*place - 1].sum += value;
}

static int by_sum(const void *left_item, const void *right_item) {
  const struct lumos_tally_row *left = left_item, *right = right_item;
  if (left->sum != right->sum) {
    return left->sum > right->sum ? -1 : 1;
  }
  int by_text = left->text == NULL || right->text == NULL ? 0 : strcmp(left->text, right->text);
  if (by_text != 0) {
    return by_text;
  }
  return LUMOS_ORDER(left->key, right->key);
}

void lumos_tally_sort(struct lumos_tally *tally, const struct lumos_strings *strings) {
  for (size_t i = 0; strings != NULL && i < tally->rows.count; i++) {
    tally->rows.items[i].text = lumos_string(strings, tally->rows.items[i].key);
  }
  lumos_vector_sort(&tally->rows, by_sum);
}

void lumos_tally_clear(struct lumos_tally *tally) {
  for (size_t i = 0; i < tally->rows.count; i++) {
    tally->places.items[place_of(tally, tally->rows.items[i].key)] = 0;
  }
  lumos_numbering_clear(&tally->large);
  tally->rows.count = 0;
}

void lumos_tally_free(struct lumos_tally *tally) {
  lumos_vector_free(&tally->rows);
  lumos_vector_free(&tally->places);
  lumos_numbering_free(&tally->large);
}
