/* See waterfall.h. */
#include "compare/waterfall.h"

#include "base/text.h"
#include "compare/words.h"
#include <lumos/metric.h>
#include <stddef.h>
#include <stdlib.h>

/* A part of a job, by a key that both jobs understand. */
struct sum {
  uint32_t key;
  __int128 total[2]; /* over compared steps and ranks */
};
LUMOS_VECTOR_TYPE(sums, struct sum);

static int by_key(const void *left, const void *right) {
  const struct sum *a = left, *b = right;
  return LUMOS_ORDER(a->key, b->key);
}

/* Names one, and says which it is: struct lumos_compared_part. */
typedef struct lumos_compared_part name_part(struct lumos_strings *strings, uint32_t key);

static void write_parts(struct lumos_comparison *comparison, const struct compare_side sides[2], struct sums *sums,
                        name_part *name, struct lumos_compared_parts *parts) {
  struct compare_rounding rounding[2] = {{0}, {0}};
  lumos_vector_sort(sums, by_key);
  for (size_t i = 0; i < sums->count; i++) {
    struct lumos_compared_part part = name(comparison->strings, sums->items[i].key);
    for (int side = 0; side < 2; side++) {
      part.time[side] = compare_rounded(&rounding[side], &sides[side], sums->items[i].total[side]);
    }
    if (sums->items[i].total[0] != 0 || sums->items[i].total[1] != 0) {
      lumos_vector_push(parts, part);
    }
  }
  lumos_vector_free(sums);
}

/* ---- By what items are ---- */

typedef uint32_t key_of_item(const struct compare_item *item);

static void sum_items(const struct compare_items items[2], key_of_item *key, struct sums *sums) {
  struct lumos_numbering numbering = {0};
  for (int side = 0; side < 2; side++) {
    for (size_t c = 0; c < items[side].cells.count; c++) {
      const struct compare_cell *cell = &items[side].cells.items[c];
      uint32_t of = key(&items[side].items.items[cell->item]);
      uint32_t number = lumos_number_of(&numbering, of);
      if (number >= sums->count) {
        lumos_vector_push(sums, ((struct sum){.key = of}));
      }
      sums->items[number].total[side] += cell->owned;
    }
  }
  lumos_numbering_free(&numbering);
}

static uint32_t kind_of_item(const struct compare_item *item) {
  return item->parts[COMPARE_KIND] == 0 ? LUMOS_TASK_KINDS : item->parts[COMPARE_KIND]; /* idle comes last */
}

static struct lumos_compared_part name_kind(struct lumos_strings *strings, uint32_t key) {
  uint8_t kind = key == LUMOS_TASK_KINDS ? 0 : (uint8_t)key;
  return (struct lumos_compared_part){lumos_intern_text(strings, compare_kind_words(kind)), kind, {0, 0}};
}

/* Layers first, in order; then the other parts, what has no part, and idle time. */
enum { PLACE_PARTS = 1 << 30, PLACE_NONE = PLACE_PARTS + 100, PLACE_IDLE };

static uint32_t place_of_item(const struct compare_item *item) {
  uint32_t place = item->parts[COMPARE_PLACE];
  if (item->parts[COMPARE_KIND] == 0) {
    return PLACE_IDLE;
  }
  if (!compare_place_is_layer(place)) {
    place = place == 0 && item->parts[COMPARE_PHASE] == LUMOS_OPTIMIZER_PHASE ? LUMOS_PART_OPTIMIZER : place;
    return place == 0 || place == LUMOS_PART_LAYER ? PLACE_NONE : PLACE_PARTS + place;
  }
  uint32_t layer = (uint32_t)compare_layer_of(place);
  return layer < PLACE_PARTS ? layer : PLACE_PARTS - 1;
}

static struct lumos_compared_part name_place(struct lumos_strings *strings, uint32_t key) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (key < PLACE_PARTS) {
    lumos_text_format(&text, "layer %u", key);
  } else {
    lumos_text_put(&text, key == PLACE_IDLE   ? compare_kind_words(0)
                          : key == PLACE_NONE ? "in no known layer"
                                              : lumos_part_name((enum lumos_part)(key - PLACE_PARTS)));
  }
  struct lumos_compared_part part = {
      lumos_intern(strings, text.bytes, text.length), key < PLACE_PARTS ? (int32_t)key : LUMOS_ABSENT_INT, {0, 0}};
  lumos_text_free(&text);
  return part;
}

/* ---- By class, and by rank ---- */

/* The classes that add up to a step, by their metrics (metric.h). */
static const struct {
  const char *metric;
  size_t offset;
  enum report_paint paint;
} classes[] = {
    {"exposed_compute", offsetof(struct lumos_partition, exposed_compute), PAINT_COMPUTE},
    {"overlapped", offsetof(struct lumos_partition, overlapped), PAINT_OVERLAPPED},
    {"communication_transfer", offsetof(struct lumos_partition, communication_transfer), PAINT_TRANSFER},
    {"communication_wait", offsetof(struct lumos_partition, communication_wait), PAINT_WAIT},
    {"pipeline_bubble", offsetof(struct lumos_partition, pipeline_bubble), PAINT_BUBBLE},
    {"communication_unsplit", offsetof(struct lumos_partition, communication_unsplit), PAINT_UNSPLIT},
    {"exposed_copy", offsetof(struct lumos_partition, exposed_copy), PAINT_COPY_PART},
    {"not_recorded", offsetof(struct lumos_partition, not_recorded), PAINT_NOT_RECORDED},
    {"idle", offsetof(struct lumos_partition, idle), PAINT_IDLE},
};
enum { CLASSES = sizeof classes / sizeof *classes };

enum report_paint compare_class_paint(int32_t key) {
  return key >= 0 && key < CLASSES ? classes[key].paint : PAINT_NONE;
}

static struct lumos_compared_part name_class(struct lumos_strings *strings, uint32_t key) {
  const struct lumos_metric_definition *definition = lumos_metric_definition(classes[key].metric);
  const char *name = definition == NULL ? classes[key].metric : definition->term;
  return (struct lumos_compared_part){lumos_intern_text(strings, name), (int32_t)key, {0, 0}};
}

/* Keys of ranks: their numbers behind what they share. */
enum { RANK_WAITING, RANK_ALL, RANK_FIRST };

static struct lumos_compared_part name_rank(struct lumos_strings *strings, uint32_t key) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (key >= RANK_FIRST) {
    lumos_text_format(&text, "rank %u", key - RANK_FIRST);
  } else {
    lumos_text_put(&text, key == RANK_WAITING ? COMPARE_WAITING : "all ranks");
  }
  struct lumos_compared_part part = {lumos_intern(strings, text.bytes, text.length),
                                     key >= RANK_FIRST ? (int32_t)(key - RANK_FIRST) : LUMOS_ABSENT_INT,
                                     {0, 0}};
  lumos_text_free(&text);
  return part;
}

static uint32_t key_of_rank(const struct compare_side *side, uint32_t rank, bool same_ranks) {
  return same_ranks ? (uint32_t)side->job->ranks.items[rank].rank + RANK_FIRST : RANK_ALL;
}

/* Do both jobs have GPUs on the ranks of the same numbers? */
static bool have_same_ranks(const struct compare_side sides[2]) {
  size_t counts[2] = {sides[0].job->ranks.count, sides[1].job->ranks.count};
  for (size_t a = 0, b = 0;; a++, b++) {
    for (; a < counts[0] && !sides[0].has_gpu[a]; a++) {
    }
    for (; b < counts[1] && !sides[1].has_gpu[b]; b++) {
    }
    if (a == counts[0] || b == counts[1]) {
      return a == counts[0] && b == counts[1];
    }
    if (sides[0].job->ranks.items[a].rank != sides[1].job->ranks.items[b].rank) {
      return false;
    }
  }
}

/* The compared steps of every rank with a GPU that the steps are means over. */
static void list_rank_steps(const struct compare_side *side, struct lumos_steps_list *steps) {
  *steps = (struct lumos_steps_list){0};
  for (uint32_t rank = 0; rank < side->job->ranks.count; rank++) {
    for (size_t k = 0; side->has_gpu[rank] && k < side->windows.count; k++) {
      struct lumos_step step = side->windows.items[k];
      step.rank = rank;
      lumos_vector_push(steps, step);
    }
  }
}

static void sum_partitions(const struct compare_side *side, int which, bool same_ranks, struct sums *by_class,
                           struct sums *by_rank) {
  struct lumos_steps_list steps;
  list_rank_steps(side, &steps);
  struct lumos_partition *partitions = lumos_allocate((steps.count + 1) * sizeof *partitions);
  lumos_partition_steps(side->job, side->runs, &steps, partitions);
  struct lumos_numbering numbering = {0};
  for (size_t i = 0; i < by_rank->count; i++) {
    (void)lumos_number_of(&numbering, by_rank->items[i].key);
  }
  for (size_t i = 0; i < steps.count; i++) {
    const struct lumos_step *step = &steps.items[i];
    int64_t weight = lumos_rank_weight(&side->job->ranks.items[step->rank]);
    for (int class = 0; class < CLASSES; class ++) {
      const void *part = (const char *)&partitions[i] + classes[class].offset;
      by_class->items[class].total[which] += (__int128)*(const int64_t *)part * weight;
    }
    int64_t waiting = partitions[i].communication_wait + partitions[i].pipeline_bubble;
    uint32_t keys[2] = {key_of_rank(side, step->rank, same_ranks), RANK_WAITING};
    int64_t times[2] = {step->end - step->start - waiting, waiting};
    for (int k = 0; k < 2; k++) {
      uint32_t number = lumos_number_of(&numbering, keys[k]);
      if (number >= by_rank->count) {
        lumos_vector_push(by_rank, ((struct sum){.key = keys[k]}));
      }
      by_rank->items[number].total[which] += (__int128)times[k] * weight;
    }
  }
  lumos_numbering_free(&numbering);
  free(partitions);
  lumos_vector_free(&steps);
}

void compare_kinds(struct lumos_comparison *comparison, const struct compare_side sides[2],
                   const struct compare_items items[2], struct lumos_compared_parts *parts) {
  struct sums kinds = {0};
  sum_items(items, kind_of_item, &kinds);
  write_parts(comparison, sides, &kinds, name_kind, parts);
}

void compare_waterfalls(struct lumos_comparison *comparison, const struct compare_side sides[2],
                        const struct compare_items items[2]) {
  struct sums places = {0}, by_class = {0}, by_rank = {0};
  compare_kinds(comparison, sides, items, &comparison->kinds);
  sum_items(items, place_of_item, &places);
  write_parts(comparison, sides, &places, name_place, &comparison->layers);
  for (uint32_t class = 0; class < CLASSES; class ++) {
    lumos_vector_push(&by_class, ((struct sum){.key = class}));
  }
  bool same_ranks = have_same_ranks(sides);
  for (int side = 0; side < 2; side++) {
    sum_partitions(&sides[side], side, same_ranks, &by_class, &by_rank);
  }
  write_parts(comparison, sides, &by_class, name_class, &comparison->classes);
  write_parts(comparison, sides, &by_rank, name_rank, &comparison->ranks);
}
