/* At each level what is left of both jobs is put together by the parts of its key that count there; where both have
 * some, it is matched and gone. Coarser levels so see only what the finer ones could not place.
 *
 * Where both jobs have layers, those that only one of them has take no part in levels without a layer: a longer model
 * does more, and its work is no other form of what the shorter one does.
 */
#include "compare/match.h"

#include <stdlib.h>
#include <string.h>

/* Which parts count at a level. Kinds do, but where the kernel is the same: they are read off its op, too. */
static const uint8_t counted[LUMOS_MATCHES][COMPARE_PARTS] = {
    /* kind, phase, place, op, shapes, name, module */
    [LUMOS_MATCH_EXACT] = {1, 1, 1, 1, 1, 1, 1},  [LUMOS_MATCH_MODULE] = {1, 1, 1, 1, 1, 1, 0},
    [LUMOS_MATCH_KERNEL] = {1, 1, 1, 1, 1, 0, 0}, [LUMOS_MATCH_SHAPES] = {1, 1, 1, 1, 0, 0, 0},
    [LUMOS_MATCH_OP] = {0, 1, 1, 0, 0, 1, 0},     [LUMOS_MATCH_ELSEWHERE] = {1, 1, 0, 1, 1, 0, 0},
    [LUMOS_MATCH_NAME] = {0, 1, 0, 0, 0, 1, 0},   [LUMOS_MATCH_LAYER] = {1, 1, 1, 0, 0, 0, 0},
    [LUMOS_MATCH_PHASE] = {1, 1, 0, 0, 0, 0, 0},
};

static uint32_t key_at(struct compare_keys *keys, const struct compare_item *item, const uint8_t *parts) {
  uint32_t key[COMPARE_PARTS];
  for (int part = 0; part < COMPARE_PARTS; part++) {
    key[part] = parts[part] ? item->parts[part] : 0;
  }
  return compare_key(keys, key, COMPARE_PARTS);
}

static void allocate_matching(struct compare_matching *matching, const struct compare_items items[2]) {
  *matching = (struct compare_matching){.rows = 0};
  for (int side = 0; side < 2; side++) {
    size_t count = items[side].items.count;
    matching->match[side] = lumos_allocate(count + 1);
    matching->row[side] = lumos_allocate((count + 1) * sizeof *matching->row[side]);
    memset(matching->match[side], LUMOS_MATCH_NONE, count);
  }
}

/* By item: it is of a layer that the other job, which has layers, has not. */
static void find_lone_layers(const struct compare_items items[2], uint8_t *lone[2]) {
  for (int side = 0; side < 2; side++) {
    const struct compare_items *other = &items[1 - side];
    struct lumos_numbering layers = {0};
    for (size_t i = 0; i < other->items.count; i++) {
      uint32_t place = other->items.items[i].parts[COMPARE_PLACE];
      if (compare_place_is_layer(place)) {
        (void)lumos_number_of(&layers, place);
      }
    }
    for (size_t i = 0; i < items[side].items.count; i++) {
      uint32_t place = items[side].items.items[i].parts[COMPARE_PLACE];
      lone[side][i] = compare_place_is_layer(place) && layers.keys.count > 0 &&
                      lumos_known_number(&layers, place) == LUMOS_NO_NUMBER;
    }
    lumos_numbering_free(&layers);
  }
}

static bool takes_part(const struct compare_matching *matching, uint8_t *const lone[2], int side, size_t item,
                       int level) {
  return matching->match[side][item] == LUMOS_MATCH_NONE && (counted[level][COMPARE_PLACE] || !lone[side][item]);
}

static void match_level(struct compare_matching *matching, const struct compare_items items[2], uint8_t *const lone[2],
                        int level) {
  struct compare_keys keys = {0};
  uint32_t *key[2];
  LUMOS_VECTOR(uint8_t) sides = {0}; /* by key: who has some, as bits */
  for (int side = 0; side < 2; side++) {
    key[side] = lumos_allocate((items[side].items.count + 1) * sizeof *key[side]);
    for (size_t i = 0; i < items[side].items.count; i++) {
      if (takes_part(matching, lone, side, i, level)) {
        key[side][i] = key_at(&keys, &items[side].items.items[i], counted[level]);
        if (key[side][i] >= sides.count) {
          lumos_vector_push(&sides, 0);
        }
        sides.items[key[side][i]] |= (uint8_t)(1U << side);
      }
    }
  }
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < items[side].items.count; i++) {
      if (takes_part(matching, lone, side, i, level) && sides.items[key[side][i]] == 3U) {
        matching->match[side][i] = (uint8_t)level;
      }
    }
    free(key[side]);
  }
  lumos_vector_free(&sides);
  compare_keys_free(&keys);
}

/* ---- Other shapes ---- */

/* An op in one place: how many distinct shapes each job has there that the other has not. */
struct op_sizes {
  uint32_t count[2];
};
LUMOS_VECTOR_TYPE(op_sizes_list, struct op_sizes);

/* Of one job: the op of every such item, and the number of its shapes among those of its op, in the order in which they
 * first run. */
static void count_sizes(const struct compare_matching *matching, const struct compare_items *items, int side,
                        struct compare_keys *keys, struct op_sizes_list *ops, uint32_t *op, uint32_t *number) {
  struct lumos_numbering shapes = {0}; /* of an op */
  LUMOS_VECTOR(uint32_t) within = {0}; /* by those: the number within the op */
  for (size_t i = 0; i < items->items.count; i++) {
    if (matching->match[side][i] == LUMOS_MATCH_SHAPES) {
      op[i] = key_at(keys, &items->items.items[i], counted[LUMOS_MATCH_SHAPES]);
      if (op[i] >= ops->count) {
        lumos_vector_push(ops, ((struct op_sizes){{0, 0}}));
      }
      uint32_t found = lumos_number_of(&shapes, lumos_key_pair(op[i], items->items.items[i].parts[COMPARE_SHAPES]));
      if (found >= within.count) {
        lumos_vector_push(&within, ops->items[op[i]].count[side]++);
      }
      number[i] = within.items[found];
    }
  }
  lumos_numbering_free(&shapes);
  lumos_vector_free(&within);
}

/* Where both jobs have as many other shapes of an op in a place, they are the same calls of the program in the same
 * order, so that each has its counterpart; else all of them have number 0. */
static void number_sizes(const struct compare_matching *matching, const struct compare_items items[2],
                         uint32_t *numbers[2]) {
  struct compare_keys keys = {0};
  struct op_sizes_list ops = {0};
  uint32_t *op[2];
  for (int side = 0; side < 2; side++) {
    op[side] = lumos_allocate((items[side].items.count + 1) * sizeof *op[side]);
    numbers[side] = lumos_allocate_zeroed(items[side].items.count + 1, sizeof *numbers[side]);
    count_sizes(matching, &items[side], side, &keys, &ops, op[side], numbers[side]);
  }
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < items[side].items.count; i++) {
      bool sized = matching->match[side][i] == LUMOS_MATCH_SHAPES;
      if (sized && ops.items[op[side][i]].count[0] != ops.items[op[side][i]].count[1]) {
        numbers[side][i] = 0;
      }
    }
    free(op[side]);
  }
  lumos_vector_free(&ops);
  compare_keys_free(&keys);
}

/* Rows: what is matched at one level, or not at all, by what counts there but places and modules. */
static void make_rows(struct compare_matching *matching, const struct compare_items items[2]) {
  struct compare_keys keys = {0};
  uint32_t *sizes[2];
  number_sizes(matching, items, sizes);
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < items[side].items.count; i++) {
      uint8_t level = matching->match[side][i];
      uint8_t parts[COMPARE_PARTS];
      memcpy(parts, counted[level == LUMOS_MATCH_NONE ? LUMOS_MATCH_EXACT : level], sizeof parts);
      parts[COMPARE_PLACE] = parts[COMPARE_MODULE] = 0;
      struct compare_item item = items[side].items.items[i];
      /* Modules take no part, so their place is free; what is not matched is a row of its own for either job. */
      item.parts[COMPARE_MODULE] = level == LUMOS_MATCH_NONE ? level + (uint32_t)side : level;
      parts[COMPARE_MODULE] = 1;
      if (level == LUMOS_MATCH_SHAPES) { /* so is that of the shapes */
        item.parts[COMPARE_SHAPES] = sizes[side][i];
        parts[COMPARE_SHAPES] = 1;
      }
      matching->row[side][i] = key_at(&keys, &item, parts);
      matching->rows = matching->row[side][i] + 1U > matching->rows ? matching->row[side][i] + 1U : matching->rows;
    }
    free(sizes[side]);
  }
  compare_keys_free(&keys);
}

void compare_match_gpu(struct compare_matching *matching, const struct compare_items items[2]) {
  allocate_matching(matching, items);
  uint8_t *lone[2];
  for (int side = 0; side < 2; side++) {
    lone[side] = lumos_allocate_zeroed(items[side].items.count + 1, 1);
  }
  find_lone_layers(items, lone);
  for (int level = 0; level < LUMOS_MATCHES; level++) {
    match_level(matching, items, lone, level);
  }
  make_rows(matching, items);
  free(lone[0]);
  free(lone[1]);
}

void compare_match_calls(struct compare_matching *matching, const struct compare_items items[2]) {
  static const uint8_t by_name[COMPARE_PARTS] = {[COMPARE_NAME] = 1};
  struct compare_keys keys = {0};
  allocate_matching(matching, items);
  LUMOS_VECTOR(uint8_t) sides = {0};
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < items[side].items.count; i++) {
      uint32_t row = key_at(&keys, &items[side].items.items[i], by_name);
      if (row >= sides.count) {
        lumos_vector_push(&sides, 0);
      }
      sides.items[row] |= (uint8_t)(1U << side);
      matching->row[side][i] = row;
    }
  }
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < items[side].items.count; i++) {
      bool both = sides.items[matching->row[side][i]] == 3U;
      matching->match[side][i] = both ? LUMOS_MATCH_EXACT : LUMOS_MATCH_NONE;
    }
  }
  matching->rows = sides.count;
  lumos_vector_free(&sides);
  compare_keys_free(&keys);
}

void compare_matching_free(struct compare_matching *matching) {
  for (int side = 0; side < 2; side++) {
    free(matching->match[side]);
    free(matching->row[side]);
  }
}
