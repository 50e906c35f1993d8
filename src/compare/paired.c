/* See paired.h. */
#include "compare/paired.h"

#include "report/text/numbers.h"
#include "sim/metrics.h"

#include <stdlib.h>

enum { MOST_RANKS = 4 }; /* drawn: more are no picture that can be read */

struct pair {
  int32_t ranks[2]; /* numbers */
  int64_t change;   /* of what the rank adds to the mean step */
};
LUMOS_VECTOR_TYPE(pairs, struct pair);

static int64_t change_of_rank(const struct lumos_comparison *comparison, int32_t rank) {
  for (size_t i = 0; i < comparison->ranks.count; i++) {
    const struct lumos_compared_part *part = &comparison->ranks.items[i];
    if (part->key == rank) {
      return llabs(part->time[1] - part->time[0]);
    }
  }
  return 0;
}

static uint32_t first_with_gpu(const struct lumos_job *job) {
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    if (lumos_has_device(job, rank)) {
      return rank;
    }
  }
  return LUMOS_NONE;
}

static int by_change(const void *left, const void *right) {
  const struct pair *a = left, *b = right;
  return a->change != b->change ? LUMOS_ORDER(b->change, a->change) : LUMOS_ORDER(a->ranks[0], b->ranks[0]);
}

static int by_number(const void *left, const void *right) {
  const struct pair *a = left, *b = right;
  return LUMOS_ORDER(a->ranks[0], b->ranks[0]);
}

static void find_pairs(const struct lumos_comparison *comparison, const struct lumos_job *const jobs[2],
                       struct pairs *pairs) {
  for (uint32_t rank = 0; rank < jobs[0]->ranks.count; rank++) {
    int32_t number = jobs[0]->ranks.items[rank].rank;
    uint32_t other = lumos_job_rank(jobs[1], number);
    if (lumos_has_device(jobs[0], rank) && other != LUMOS_NONE && lumos_has_device(jobs[1], other)) {
      lumos_vector_push(pairs, ((struct pair){{number, number}, change_of_rank(comparison, number)}));
    }
  }
  uint32_t first[2] = {first_with_gpu(jobs[0]), first_with_gpu(jobs[1])};
  if (pairs->count == 0 && first[0] != LUMOS_NONE && first[1] != LUMOS_NONE) {
    lumos_vector_push(pairs,
                      ((struct pair){{jobs[0]->ranks.items[first[0]].rank, jobs[1]->ranks.items[first[1]].rank}, 0}));
  }
}

/* Does the job show open lanes of the rank? A rank of very many streams may leave no room for the next. */
static bool shows(const struct report_timelines *timelines, int32_t number) {
  for (size_t i = 0; i < timelines->open.count; i++) {
    const struct lumos_lane *lane = &timelines->job->lanes.items[timelines->open.items[i].lane];
    if (timelines->job->ranks.items[lane->rank].rank == number) {
      return true;
    }
  }
  return false;
}

/* Keep the open lanes of these ranks alone. */
static void keep_ranks(struct report_timelines *timelines, const struct pairs *pairs, int side) {
  size_t kept = 0;
  for (size_t i = 0; i < timelines->open.count; i++) {
    const struct report_lane lane = timelines->open.items[i];
    int32_t number = timelines->job->ranks.items[timelines->job->lanes.items[lane.lane].rank].rank;
    for (size_t p = 0; p < pairs->count; p++) {
      if (pairs->items[p].ranks[side] == number) {
        timelines->open.items[kept++] = lane;
        break;
      }
    }
  }
  timelines->open.count = kept;
  timelines->folded.count = 0;
}

/* The step alone, from its start on, on an axis that holds the longer one of both. */
static void set_span(struct report_timelines *timelines, const struct lumos_compared_job *job, int64_t span) {
  timelines->steps.count = 0;
  lumos_vector_push(&timelines->steps, ((struct report_boundary){job->typical, job->typical_start, job->typical_end}));
  timelines->begin = timelines->from = job->typical_start;
  timelines->end = job->typical_end;
  timelines->until = report_sum(job->typical_start, span);
  timelines->twice = false;
}

void compare_paired_read(struct compare_paired *paired, const struct lumos_comparison *comparison,
                         const struct lumos_job *const jobs[2]) {
  struct pairs pairs = {0}, kept = {0};
  find_pairs(comparison, jobs, &pairs);
  *paired = (struct compare_paired){.shared = pairs.count};
  lumos_vector_sort(&pairs, by_change);
  pairs.count = pairs.count < MOST_RANKS ? pairs.count : MOST_RANKS;
  lumos_vector_sort(&pairs, by_number);
  int64_t span = 0;
  for (int side = 0; side < 2; side++) {
    int32_t ranks[MOST_RANKS];
    for (size_t i = 0; i < pairs.count; i++) {
      ranks[i] = pairs.items[i].ranks[side];
    }
    const struct report_timeline_choice choice = {.ranks = ranks, .rank_count = pairs.count};
    report_timelines_read(jobs[side], &choice, &paired->timelines[side]);
    const struct lumos_compared_job *job = &comparison->jobs[side];
    span = job->typical_end - job->typical_start > span ? job->typical_end - job->typical_start : span;
  }
  for (size_t i = 0; i < pairs.count; i++) {
    if (shows(&paired->timelines[0], pairs.items[i].ranks[0]) &&
        shows(&paired->timelines[1], pairs.items[i].ranks[1])) {
      lumos_vector_push(&kept, pairs.items[i]);
    }
  }
  for (int side = 0; side < 2; side++) {
    keep_ranks(&paired->timelines[side], &kept, side);
    set_span(&paired->timelines[side], &comparison->jobs[side], span);
  }
  paired->shown = kept.count;
  lumos_vector_free(&pairs);
  lumos_vector_free(&kept);
}

void compare_paired_free(struct compare_paired *paired) {
  report_timelines_free(&paired->timelines[0]);
  report_timelines_free(&paired->timelines[1]);
}
