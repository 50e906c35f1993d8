#include "sim/tally.h"

#include <stdlib.h>
#include <string.h>

void lumos_tally_add(struct lumos_tally *tally, uint32_t key, int64_t value) {
  uint32_t number = lumos_number_of(&tally->numbering, key);
  if (number == tally->rows.count) {
    lumos_vector_push(&tally->rows, ((struct lumos_tally_row){.key = key}));
  }
  tally->rows.items[number].sum += value;
}

static int by_sum(const void *left_item, const void *right_item) {
  const struct lumos_tally_row *left = left_item;
  const struct lumos_tally_row *right = right_item;
  if (left->sum != right->sum) {
    return left->sum > right->sum ? -1 : 1;
  }
  int by_text = left->text == NULL || right->text == NULL ? 0 : strcmp(left->text, right->text);
  if (by_text != 0) {
    return by_text;
  }
  return left->key < right->key ? -1 : left->key > right->key;
}

void lumos_tally_sort(struct lumos_tally *tally, const struct lumos_strings *strings) {
  for (size_t i = 0; strings != NULL && i < tally->rows.count; i++) {
    tally->rows.items[i].text = lumos_string(strings, tally->rows.items[i].key);
  }
  if (tally->rows.count > 0) {
    qsort(tally->rows.items, tally->rows.count, sizeof *tally->rows.items, by_sum);
  }
}

void lumos_tally_clear(struct lumos_tally *tally) {
  tally->rows.count = 0;
  lumos_numbering_clear(&tally->numbering);
}

void lumos_tally_free(struct lumos_tally *tally) {
  lumos_vector_free(&tally->rows);
  lumos_numbering_free(&tally->numbering);
}
