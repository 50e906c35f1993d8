/* See rows.h. Sums over steps are exact; only how they spread is a floating-point number. */
#include "compare/rows.h"

#include <math.h>
#include <stdlib.h>

enum { THOUSAND = 1000 };

/* ---- What rows take ---- */

/* Of one job. */
struct sums {
  __int128 time, owned, longest; /* longest: of one item */
  __int128 count;
  uint32_t item;          /* the longest one; LUMOS_NONE: there is none */
  lumos_string_id shapes; /* of the last one */
  bool several;           /* others have other shapes */
  int32_t first_layer, last_layer, layers;
  uint8_t parts;
};

/* A row is in the place of an item; `layers` are those of all rows that were seen. */
static void add_place(struct sums *sum, uint32_t row, const struct compare_item *item, struct lumos_numbering *layers) {
  uint32_t place = item->parts[COMPARE_PLACE];
  if (!compare_place_is_layer(place)) {
    sum->parts |= (uint8_t)LUMOS_COMPARE_PART(place);
    return;
  }
  int32_t layer = compare_layer_of(place);
  uint64_t key = lumos_key_pair(row, place);
  sum->layers += lumos_known_number(layers, key) == LUMOS_NO_NUMBER;
  (void)lumos_number_of(layers, key);
  sum->parts |= (uint8_t)LUMOS_COMPARE_PART(LUMOS_PART_LAYER);
  sum->first_layer = sum->first_layer == LUMOS_ABSENT_INT || layer < sum->first_layer ? layer : sum->first_layer;
  sum->last_layer = layer > sum->last_layer ? layer : sum->last_layer;
}

static struct sums *sum_rows(const struct compare_matching *matching, const struct compare_items *items, int side) {
  struct sums *sums = lumos_allocate((matching->rows + 1) * sizeof *sums);
  struct lumos_numbering layers = {0};
  for (size_t row = 0; row < matching->rows; row++) {
    sums[row] = (struct sums){
        .item = LUMOS_NONE, .longest = -1, .first_layer = LUMOS_ABSENT_INT, .last_layer = LUMOS_ABSENT_INT};
  }
  for (uint32_t i = 0; i < items->items.count; i++) {
    struct sums *sum = &sums[matching->row[side][i]];
    const struct compare_item *item = &items->items.items[i];
    sum->several |= sum->item != LUMOS_NONE && item->parts[COMPARE_SHAPES] != sum->shapes;
    sum->shapes = item->parts[COMPARE_SHAPES];
    if (item->time > sum->longest) {
      sum->longest = item->time;
      sum->item = i;
    }
    add_place(sum, matching->row[side][i], item, &layers);
  }
  lumos_numbering_free(&layers);
  for (size_t c = 0; c < items->cells.count; c++) {
    const struct compare_cell *cell = &items->cells.items[c];
    struct sums *sum = &sums[matching->row[side][cell->item]];
    sum->time += cell->time;
    sum->owned += cell->owned;
    sum->count += cell->count;
  }
  return sums;
}

/* What steps differ by, from cells put together by row. Steps in which a row does nothing count as 0. */
static struct compare_spread *find_spreads(const struct compare_matching *matching, const struct compare_side *side,
                                           const struct compare_items *items, int which, const struct sums *sums) {
  struct compare_spread *spreads = lumos_allocate_zeroed(matching->rows + 1, sizeof *spreads);
  struct lumos_numbering numbering = {0};
  struct step_of_row {
    uint32_t row;
    double time, count;
  };
  LUMOS_VECTOR(struct step_of_row) steps = {0};
  double ranks = (double)side->weight, count = (double)side->windows.count;
  for (size_t c = 0; c < items->cells.count; c++) {
    const struct compare_cell *cell = &items->cells.items[c];
    uint32_t row = matching->row[which][cell->item];
    uint32_t number = lumos_number_of(&numbering, lumos_key_pair(row, cell->step));
    if (number >= steps.count) {
      lumos_vector_push(&steps, ((struct step_of_row){row, 0, 0}));
    }
    steps.items[number].time += (double)cell->time / ranks;
    steps.items[number].count += (double)cell->count / ranks;
  }
  for (size_t row = 0; row < matching->rows; row++) { /* as if no step did anything; those that do come next */
    double time = (double)sums[row].time / ranks / count, tasks = (double)sums[row].count / ranks / count;
    spreads[row] = (struct compare_spread){{count, count * time * time}, {count, count * tasks * tasks}, tasks / ranks};
  }
  for (size_t i = 0; i < steps.count; i++) {
    struct compare_spread *spread = &spreads[steps.items[i].row];
    const struct sums *sum = &sums[steps.items[i].row];
    double time = (double)sum->time / ranks / count, tasks = (double)sum->count / ranks / count;
    double off = steps.items[i].time - time, off_count = steps.items[i].count - tasks;
    spread->time.variance += off * off - time * time;
    spread->count.variance += off_count * off_count - tasks * tasks;
  }
  for (size_t row = 0; row < matching->rows; row++) {
    double freedom = count > 1 ? count - 1 : 1;
    spreads[row].time.variance = fmax(spreads[row].time.variance, 0) / freedom;
    spreads[row].count.variance = fmax(spreads[row].count.variance, 0) / freedom;
  }
  lumos_vector_free(&steps);
  lumos_numbering_free(&numbering);
  return spreads;
}

static struct lumos_compared_work work_of(const struct compare_side *side, const struct compare_items *items,
                                          const struct sums *sum, int64_t owned) {
  struct lumos_compared_work work = {.step = owned,
                                     .first_layer = sum->first_layer,
                                     .last_layer = sum->last_layer,
                                     .layers = sum->layers,
                                     .parts = sum->parts};
  __int128 divisor = compare_divisor(side);
  work.time = (int64_t)(sum->time / divisor);
  work.count = (int64_t)((sum->count * THOUSAND + divisor / 2) / divisor);
  if (sum->item != LUMOS_NONE) {
    const uint32_t *parts = items->items.items[sum->item].parts;
    work.op = parts[COMPARE_OP];
    work.shapes = parts[COMPARE_SHAPES];
    work.name = parts[COMPARE_NAME];
  }
  return work;
}

/* What each row accounts for, rounded kind by kind, idle time last, as waterfall.c rounds kinds: so the rows of a kind
 * add up to it. For the caller to free. */
static int64_t *round_by_kind(const struct compare_side *side, const struct compare_items *items,
                              const struct sums *sums, size_t rows) {
  struct compare_rounding rounding = {0};
  int64_t *owned = lumos_allocate_zeroed(rows + 1, sizeof *owned);
  for (uint32_t kind = 1; kind <= LUMOS_TASK_KINDS; kind++) {
    for (size_t row = 0; row < rows; row++) {
      if (sums[row].item != LUMOS_NONE &&
          items->items.items[sums[row].item].parts[COMPARE_KIND] == kind % LUMOS_TASK_KINDS) {
        owned[row] = compare_rounded(&rounding, side, sums[row].owned);
      }
    }
  }
  return owned;
}

void compare_rows_fill(struct compare_table *table, struct lumos_compared_rows *rows,
                       const struct compare_matching *matching, const struct compare_side sides[2],
                       const struct compare_items items[2]) {
  *table = (struct compare_table){.rows = rows};
  for (size_t row = 0; row < matching->rows; row++) {
    lumos_vector_push(rows, ((struct lumos_compared_row){.match = LUMOS_MATCH_NONE, .noise = LUMOS_ABSENT}));
  }
  for (int side = 0; side < 2; side++) {
    struct sums *sums = sum_rows(matching, &items[side], side);
    int64_t *owned = round_by_kind(&sides[side], &items[side], sums, matching->rows);
    for (size_t row = 0; row < matching->rows; row++) {
      struct lumos_compared_row *to = &rows->items[row];
      to->work[side] = work_of(&sides[side], &items[side], &sums[row], owned[row]);
      if (sums[row].item != LUMOS_NONE) {
        const uint32_t *parts = items[side].items.items[sums[row].item].parts;
        to->match = (enum lumos_match)matching->match[side][sums[row].item];
        to->kind = (uint8_t)parts[COMPARE_KIND];
        to->phase = (uint8_t)parts[COMPARE_PHASE];
        to->sized = (side == 0 || to->sized) && to->match == LUMOS_MATCH_SHAPES && !sums[row].several;
      }
    }
    table->spreads[side] = find_spreads(matching, &sides[side], &items[side], side, sums);
    free(owned);
    free(sums);
  }
}

/* ---- Whether they differ ---- */

static bool asks_for_time(const struct lumos_compared_row *row, int64_t least) {
  return row->match != LUMOS_MATCH_NONE && (row->work[0].time >= least || row->work[1].time >= least);
}

size_t compare_rows_questions(const struct compare_table *table, int64_t least) {
  size_t questions = table->rows->count;
  for (size_t row = 0; row < table->rows->count; row++) {
    questions += asks_for_time(&table->rows->items[row], least);
  }
  return questions;
}

/* The variance of a row's time, no less than that of rounding, and what its square root is measured by. */
static struct compare_variance variance_of(const struct compare_table *table, size_t row, double grain) {
  const struct compare_spread *a = &table->spreads[0][row], *b = &table->spreads[1][row];
  struct compare_variance variance = compare_pooled(&a->time, &b->time);
  double least = fmax(a->parts, b->parts) * grain * grain / 12;
  variance.variance = fmax(variance.variance, least);
  return variance;
}

static double square_of(const struct lumos_compared_row *row) {
  double mean = ((double)row->work[0].time + (double)row->work[1].time) / 2;
  return mean * mean;
}

/* How much rows that are asked vary, as shares of what they take. */
static struct compare_variance prior_of(const struct compare_table *table, int64_t least, double grain) {
  double *shares = lumos_allocate((table->rows->count + 1) * sizeof *shares), freedom = 0;
  size_t count = 0;
  for (size_t i = 0; i < table->rows->count; i++) {
    const struct lumos_compared_row *row = &table->rows->items[i];
    struct compare_variance variance = variance_of(table, i, grain);
    if (asks_for_time(row, least) && variance.variance > 0) {
      shares[count++] = variance.variance / square_of(row);
      freedom = variance.freedom;
    }
  }
  struct compare_variance prior = compare_prior(shares, count, freedom);
  free(shares);
  return prior;
}

static void test_time(struct lumos_compared_row *row, struct compare_variance variance,
                      const struct compare_spread *spread[2], double level) {
  double noise = compare_noise(spread[0]->time.count, spread[1]->time.count, variance, level);
  if (noise >= 0 && noise < (double)INT64_MAX / 2) {
    row->noise = (int64_t)ceil(noise);
    row->time_differs = llabs(row->work[1].time - row->work[0].time) > row->noise;
  }
}

void compare_rows_test(struct compare_table *table, int64_t least, double level, const double grains[2]) {
  double grain = fmax(grains[0], grains[1]);
  struct compare_variance prior = prior_of(table, least, grain);
  for (size_t i = 0; i < table->rows->count; i++) {
    struct lumos_compared_row *row = &table->rows->items[i];
    const struct compare_spread *spread[2] = {&table->spreads[0][i], &table->spreads[1][i]};
    struct compare_variance counts = compare_pooled(&spread[0]->count, &spread[1]->count);
    double noise = compare_noise(spread[0]->count.count, spread[1]->count.count, counts, level);
    int64_t more = row->work[1].count - row->work[0].count;
    row->count_differs = more != 0 && fabs((double)more) / THOUSAND > noise;
    if (asks_for_time(row, least)) {
      struct compare_variance own = prior;
      own.variance *= square_of(row);
      test_time(row, compare_moderated(variance_of(table, i, grain), own), spread, level);
      if (table->exact) {
        row->noise = 0;
        row->time_differs = row->work[0].time != row->work[1].time;
      }
    }
  }
}

/* ---- Calls ---- */

void compare_calls_name(struct lumos_compared_rows *rows, const struct compare_matching *matching,
                        const struct compare_side sides[2], const struct compare_items items[2]) {
  struct by_op {
    uint32_t row;
    lumos_string_id op;
    double count[2]; /* per rank and step */
  };
  LUMOS_VECTOR(struct by_op) ops = {0};
  struct lumos_numbering numbering = {0};
  for (int side = 0; side < 2; side++) {
    for (size_t c = 0; c < items[side].cells.count; c++) {
      const struct compare_cell *cell = &items[side].cells.items[c];
      uint32_t row = matching->row[side][cell->item];
      lumos_string_id op = items[side].items.items[cell->item].parts[COMPARE_OP];
      uint32_t number = lumos_number_of(&numbering, lumos_key_pair(row, op));
      if (number >= ops.count) {
        lumos_vector_push(&ops, ((struct by_op){row, op, {0, 0}}));
      }
      ops.items[number].count[side] += (double)cell->count / (double)compare_divisor(&sides[side]);
    }
  }
  double *most = lumos_allocate_zeroed(rows->count + 1, sizeof *most);
  for (size_t i = 0; i < ops.count; i++) {
    const struct by_op *op = &ops.items[i];
    struct lumos_compared_row *row = &rows->items[op->row];
    double change = fabs(op->count[1] - op->count[0]);
    if (change > most[op->row]) {
      most[op->row] = change;
      row->work[0].op = row->work[1].op = op->op;
    }
  }
  free(most);
  lumos_vector_free(&ops);
  lumos_numbering_free(&numbering);
}

void compare_table_free(struct compare_table *table) {
  free(table->spreads[0]);
  free(table->spreads[1]);
}
