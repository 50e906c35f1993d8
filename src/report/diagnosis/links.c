/* Comparing transfers of sets of ranks. */
#include "report/diagnosis/links.h"

#include "base/hash.h"
#include "report/text/numbers.h"
#include <stdlib.h>

enum { SLOW = 1500000 }; /* millionths of the median set's transfer */

/* The transfers of one operation and size between the same ranks. */
struct transfers {
  uint64_t work, set; /* what is transferred, and between whom */
  uint32_t collective;
  int64_t time, count;
};
LUMOS_VECTOR_TYPE(transfers_list, struct transfers);

static struct transfers transfers_of(const struct lumos_job *job, uint32_t number) {
  const struct lumos_collective *collective = &job->collectives.items[number];
  uint64_t work =
      lumos_hash_mix(lumos_hash_mix(collective->op, (uint64_t)collective->bytes), (uint64_t)collective->size);
  uint64_t set = 0;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t member = job->members.items[collective->member_first + m];
    set += lumos_hash_mix(1, lumos_rank_of(job, &job->tasks.items[member])); /* in any order */
  }
  return (struct transfers){work, set, number, collective->transfer, 1};
}

static int by_set(const void *left, const void *right) {
  const struct transfers *a = left, *b = right;
  return a->work != b->work ? LUMOS_ORDER(a->work, b->work)
         : a->set != b->set ? LUMOS_ORDER(a->set, b->set)
                            : LUMOS_ORDER(a->collective, b->collective);
}

static int by_mean(const void *left, const void *right) {
  const struct transfers *a = left, *b = right;
  int64_t x = a->time / a->count, y = b->time / b->count;
  return a->work != b->work ? LUMOS_ORDER(a->work, b->work)
         : x != y           ? LUMOS_ORDER(x, y)
                            : LUMOS_ORDER(a->collective, b->collective);
}

static bool is_counted(const struct diagnosis_figures *figures, const struct lumos_collective *collective) {
  const struct lumos_job *job = figures->job;
  return collective->member_count > 1 && collective->transfer != LUMOS_ABSENT && collective->transfer > 0 &&
         collective->bytes > 0 &&
         diagnosis_counts_step(figures, job->tasks.items[job->members.items[collective->member_first]].step);
}

/* One row a set and work. */
static void collect(const struct diagnosis_figures *figures, struct transfers_list *list) {
  const struct lumos_job *job = figures->job;
  for (uint32_t i = 0; i < job->collectives.count; i++) {
    if (is_counted(figures, &job->collectives.items[i])) {
      struct transfers transfers = transfers_of(job, i);
      lumos_vector_push(list, transfers);
    }
  }
  lumos_vector_sort(list, by_set);
  size_t kept = 0;
  for (size_t i = 0; i < list->count; i++) {
    struct transfers *last = kept > 0 ? &list->items[kept - 1] : NULL;
    if (last != NULL && last->work == list->items[i].work && last->set == list->items[i].set) {
      last->time = report_sum(last->time, list->items[i].time);
      last->count++;
    } else {
      list->items[kept++] = list->items[i];
    }
  }
  list->count = kept;
  lumos_vector_sort(list, by_mean);
}

/* What a set's transfers of one work took longer than the median of the other sets'. The sets are in a row, by mean. */
static int64_t excess_of(const struct transfers *sets, size_t count, size_t which, int64_t *median) {
  size_t others = count - 1;
  size_t middle = (others - 1) / 2;
  const struct transfers *set = &sets[which < middle + 1 ? middle + 1 : middle];
  *median = set->time / set->count;
  return sets[which].time - report_product(*median, sets[which].count);
}

/* A set is slow where all that it transfers is, in sum over its works. */
struct link_sum {
  uint64_t set;
  uint32_t collective;
  int64_t excess, time;
};
LUMOS_VECTOR_TYPE(link_sums, struct link_sum);

static int by_link(const void *left, const void *right) {
  const struct link_sum *a = left, *b = right;
  return a->set != b->set ? LUMOS_ORDER(a->set, b->set) : LUMOS_ORDER(a->collective, b->collective);
}

static void compare_sets(const struct transfers_list *list, struct link_sums *sums) {
  for (size_t first = 0, end = 0; first < list->count; first = end) {
    for (end = first; end < list->count && list->items[end].work == list->items[first].work;) {
      end++;
    }
    for (size_t i = first; i < end && end - first > 1; i++) {
      int64_t median = 0;
      const struct transfers *sets = &list->items[first];
      int64_t excess = excess_of(sets, end - first, i - first, &median);
      struct link_sum sum = {list->items[i].set, list->items[i].collective, excess, list->items[i].time};
      lumos_vector_push(sums, sum);
    }
  }
  lumos_vector_sort(sums, by_link);
}

struct diagnosis_link diagnosis_slow_link(const struct diagnosis_figures *figures) {
  struct diagnosis_link slowest = {LUMOS_NONE, 0, LUMOS_ABSENT};
  struct transfers_list list = {0};
  struct link_sums sums = {0};
  collect(figures, &list);
  compare_sets(&list, &sums);
  for (size_t first = 0, end = 0; first < sums.count; first = end) {
    struct link_sum sum = sums.items[first];
    for (end = first + 1; end < sums.count && sums.items[end].set == sum.set; end++) {
      sum.excess = report_sum(sum.excess, sums.items[end].excess);
      sum.time = report_sum(sum.time, sums.items[end].time);
    }
    int64_t ratio = report_share(sum.time, sum.time - sum.excess);
    if (ratio != LUMOS_ABSENT && ratio >= SLOW && sum.excess / figures->steps > slowest.excess) {
      slowest = (struct diagnosis_link){sum.collective, sum.excess / figures->steps, ratio};
    }
  }
  lumos_vector_free(&list);
  lumos_vector_free(&sums);
  return slowest;
}
