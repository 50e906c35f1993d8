/* See aligned.h. */
#include "compare/aligned.h"

#include "report/text/numbers.h"
#include "sim/metrics.h"

#include <stdlib.h>

enum {
  MOST_RANKS = 8, /* ranks of all jobs that are drawn: more are no picture that can be read */
  JOBS = LUMOS_COMPARE_JOBS
};

struct row {
  int32_t ranks[JOBS]; /* numbers */
  int64_t change;      /* of what the rank adds to the mean step, of all jobs together */
};
LUMOS_VECTOR_TYPE(rows, struct row);

/* What is laid side by side. */
struct alignment {
  const struct lumos_comparison *const *comparisons;
  const struct lumos_job *const *jobs;
  size_t count; /* of jobs */
};

/* The first job stands in every comparison. */
static const struct lumos_compared_job *compared_job(const struct alignment *alignment, size_t job) {
  return job == 0 ? &alignment->comparisons[0]->jobs[0] : &alignment->comparisons[job - 1]->jobs[1];
}

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
  const struct row *a = left, *b = right;
  return a->change != b->change ? LUMOS_ORDER(b->change, a->change) : LUMOS_ORDER(a->ranks[0], b->ranks[0]);
}

static int by_number(const void *left, const void *right) {
  const struct row *a = left, *b = right;
  return LUMOS_ORDER(a->ranks[0], b->ranks[0]);
}

/* The rank of that number in all jobs. False: one has none, or none with a GPU. */
static bool find_row(const struct alignment *alignment, int32_t number, struct row *row) {
  *row = (struct row){.change = 0};
  for (size_t i = 0; i < alignment->count; i++) {
    uint32_t rank = lumos_job_rank(alignment->jobs[i], number);
    if (rank == LUMOS_NONE || !lumos_has_device(alignment->jobs[i], rank)) {
      return false;
    }
    row->ranks[i] = number;
    row->change = i == 0 ? 0 : report_sum(row->change, change_of_rank(alignment->comparisons[i - 1], number));
  }
  return true;
}

static void find_rows(const struct alignment *alignment, struct rows *rows) {
  struct row row = {.change = 0};
  for (uint32_t rank = 0; rank < alignment->jobs[0]->ranks.count; rank++) {
    if (find_row(alignment, alignment->jobs[0]->ranks.items[rank].rank, &row)) {
      lumos_vector_push(rows, row);
    }
  }
  bool all = rows->count == 0;
  for (size_t i = 0; all && i < alignment->count; i++) {
    uint32_t first = first_with_gpu(alignment->jobs[i]);
    all = first != LUMOS_NONE;
    row.ranks[i] = all ? alignment->jobs[i]->ranks.items[first].rank : 0;
  }
  if (all) {
    lumos_vector_push(rows, row);
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
static void keep_ranks(struct report_timelines *timelines, const struct rows *rows, size_t job) {
  size_t kept = 0;
  for (size_t i = 0; i < timelines->open.count; i++) {
    const struct report_lane lane = timelines->open.items[i];
    int32_t number = timelines->job->ranks.items[timelines->job->lanes.items[lane.lane].rank].rank;
    for (size_t r = 0; r < rows->count; r++) {
      if (rows->items[r].ranks[job] == number) {
        timelines->open.items[kept++] = lane;
        break;
      }
    }
  }
  timelines->open.count = kept;
  timelines->folded.count = 0;
}

/* The step alone, from its start on, on an axis that holds the longest one of all. */
static void set_span(struct report_timelines *timelines, const struct lumos_compared_job *job, int64_t span) {
  timelines->steps.count = 0;
  lumos_vector_push(&timelines->steps, ((struct report_boundary){job->typical, job->typical_start, job->typical_end}));
  timelines->begin = timelines->from = job->typical_start;
  timelines->end = job->typical_end;
  timelines->until = report_sum(job->typical_start, span);
  timelines->twice = false;
}

/* Returns the longest step. */
static int64_t read_timelines(const struct alignment *alignment, const struct rows *rows,
                              struct report_timelines *timelines) {
  int64_t span = 0;
  for (size_t job = 0; job < alignment->count; job++) {
    int32_t ranks[MOST_RANKS];
    for (size_t i = 0; i < rows->count; i++) {
      ranks[i] = rows->items[i].ranks[job];
    }
    const struct report_timeline_choice choice = {.ranks = ranks, .rank_count = rows->count};
    report_timelines_read(alignment->jobs[job], &choice, &timelines[job]);
    const struct lumos_compared_job *of = compared_job(alignment, job);
    span = of->typical_end - of->typical_start > span ? of->typical_end - of->typical_start : span;
  }
  return span;
}

static bool all_show(const struct compare_aligned *aligned, const struct row *row) {
  bool all = true;
  for (size_t job = 0; job < aligned->jobs; job++) {
    all &= shows(&aligned->timelines[job], row->ranks[job]);
  }
  return all;
}

void compare_aligned_read(struct compare_aligned *aligned, const struct lumos_comparison *const *comparisons,
                          const struct lumos_job *const *jobs, size_t count) {
  const struct alignment alignment = {comparisons, jobs, count + 1};
  struct rows rows = {0}, kept = {0};
  size_t most = MOST_RANKS / alignment.count;
  find_rows(&alignment, &rows);
  *aligned = (struct compare_aligned){.jobs = alignment.count, .shared = rows.count};
  aligned->timelines = lumos_allocate_zeroed(alignment.count, sizeof *aligned->timelines);
  lumos_vector_sort(&rows, by_change);
  most = most < 1 ? 1 : most;
  rows.count = rows.count < most ? rows.count : most;
  lumos_vector_sort(&rows, by_number);
  int64_t span = read_timelines(&alignment, &rows, aligned->timelines);
  for (size_t i = 0; i < rows.count; i++) {
    if (all_show(aligned, &rows.items[i])) {
      lumos_vector_push(&kept, rows.items[i]);
    }
  }
  for (size_t job = 0; job < aligned->jobs; job++) {
    keep_ranks(&aligned->timelines[job], &kept, job);
    set_span(&aligned->timelines[job], compared_job(&alignment, job), span);
  }
  aligned->shown = kept.count;
  lumos_vector_free(&rows);
  lumos_vector_free(&kept);
}

void compare_aligned_free(struct compare_aligned *aligned) {
  for (size_t job = 0; job < aligned->jobs; job++) {
    report_timelines_free(&aligned->timelines[job]);
  }
  free(aligned->timelines);
}
