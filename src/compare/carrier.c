/* See carrier.h. */
#include "compare/carrier.h"

#include "compare/items.h"
#include "compare/waterfall.h"
#include <stdlib.h>

enum { MOST_PERCENT = 70 }; /* of the step's difference that a rank makes alone. Chosen: less has several causes */

/* How far a change goes the way of the whole difference. */
static int64_t toward(int64_t difference, int64_t change) { return difference < 0 ? -change : change; }

/* What a rank itself takes longer, from its share of a mean over ranks. */
static int64_t own_change(const struct lumos_compared_part *part, const struct compare_side sides[2]) {
  __int128 times[2];
  for (int side = 0; side < 2; side++) {
    uint32_t rank = lumos_job_rank(sides[side].job, part->key);
    times[side] =
        (__int128)part->time[side] * sides[side].weight / lumos_rank_weight(&sides[side].job->ranks.items[rank]);
  }
  return (int64_t)(times[1] - times[0]);
}

/* What its work is that changed most: the comparison of this rank alone, by kind. Communication is what it waits in. */
static void find_kind(struct lumos_comparison *comparison, const struct compare_side sides[2], int64_t difference) {
  struct lumos_compared_rank *carrier = &comparison->carrier;
  struct compare_side alone[2] = {sides[0], sides[1]};
  struct compare_items items[2];
  struct lumos_compared_parts kinds = {0};
  for (int side = 0; side < 2; side++) {
    uint32_t rank = lumos_job_rank(sides[side].job, carrier->rank);
    alone[side].has_gpu = lumos_allocate_zeroed(sides[side].job->ranks.count + 1, 1);
    alone[side].has_gpu[rank] = 1;
    alone[side].weight = lumos_rank_weight(&sides[side].job->ranks.items[rank]);
    compare_items_of_gpu(&items[side], &alone[side], comparison->strings);
  }
  compare_kinds(comparison, alone, items, &kinds);
  for (size_t i = 0; i < kinds.count; i++) {
    int64_t change = kinds.items[i].time[1] - kinds.items[i].time[0];
    bool communicates = lumos_is_communication((uint8_t)kinds.items[i].key);
    if (!communicates && toward(difference, change) > toward(difference, carrier->kind_change)) {
      carrier->kind = (uint8_t)kinds.items[i].key;
      carrier->kind_change = change;
    }
  }
  lumos_vector_free(&kinds);
  for (int side = 0; side < 2; side++) {
    compare_items_free(&items[side]);
    free(alone[side].has_gpu);
  }
}

void compare_find_carrier(struct lumos_comparison *comparison, const struct compare_side sides[2]) {
  struct lumos_compared_rank *carrier = &comparison->carrier;
  int64_t difference = comparison->jobs[1].step - comparison->jobs[0].step, most = 0, next = 0, waiting = 0;
  *carrier = (struct lumos_compared_rank){.rank = LUMOS_ABSENT_INT};
  int32_t rank = LUMOS_ABSENT_INT;
  int64_t ranks = 0;
  for (size_t i = 0; i < comparison->ranks.count; i++) {
    const struct lumos_compared_part *part = &comparison->ranks.items[i];
    if (part->key == LUMOS_ABSENT_INT) {
      waiting = toward(difference, part->time[1] - part->time[0]);
      continue;
    }
    int64_t own = toward(difference, own_change(part, sides));
    ranks++;
    if (own > most) {
      next = most;
      most = own;
      rank = part->key;
    } else {
      next = own > next ? own : next;
    }
  }
  if (ranks < 2 || most == 0 || most < llabs(difference) / 100 * MOST_PERCENT || next > most / 2) {
    return;
  }
  carrier->rank = rank;
  carrier->others = ranks - 1;
  carrier->own = toward(difference, most);
  /* They wait for it if half of what it takes longer is waiting of all others, as a mean over ranks. */
  carrier->others_wait = waiting >= most / ranks * (ranks - 1) / 2;
  find_kind(comparison, sides, difference);
}
