/* Choosing lanes, and the times of what ran on them. */
#include "report/content/timeline.h"

#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

/* How much is drawn. What is folded opens with a click; a picture of hundreds of lanes is for a tool, not for a
 * page. */
enum { OPEN_RANKS = 16, OPEN_LANES = 64, ALL_LANES = 280 };

struct report_clock report_clock_of(const struct lumos_job *job, uint32_t lane) {
  const struct lumos_rank *rank = &job->ranks.items[job->lanes.items[lane].rank];
  bool stream = job->lanes.items[lane].kind == LUMOS_STREAM;
  return (struct report_clock){.job = job,
                               .offset = stream ? lumos_device_job_time(rank, 0) : lumos_host_job_time(rank, 0),
                               .drifts = rank->clock.known && rank->clock.drift_ppb != 0};
}

static struct report_lane read_lane(const struct lumos_job *job, uint32_t number) {
  const struct lumos_lane *lane = &job->lanes.items[number];
  const struct report_clock clock = report_clock_of(job, number);
  struct report_lane read = {
      .lane = number, .busy = {LUMOS_ABSENT, LUMOS_ABSENT}, .from = INT64_MAX, .until = INT64_MIN};
  int64_t by_kind[LUMOS_TASK_KINDS] = {0};
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    uint8_t kind = job->tasks.items[task].kind;
    read.kinds |= UINT32_C(1) << kind;
    for (int timeline = 0; timeline < TIMELINES; timeline++) {
      int64_t start = 0;
      int64_t duration = 0;
      if (report_task_time(&clock, (enum report_timeline)timeline, task, &start, &duration)) {
        read.busy[timeline] = report_sum(read.busy[timeline], duration);
        by_kind[kind] = report_sum(by_kind[kind], duration);
        read.from = start < read.from ? start : read.from;
        read.until = start + duration > read.until ? start + duration : read.until;
      }
    }
  }
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    read.kind = by_kind[kind] > by_kind[read.kind] ? (uint8_t)kind : read.kind;
  }
  return read;
}

/* Threads by work, the busiest first; measured and simulated work count alike. */
static int compare_lanes(const void *left, const void *right) {
  const struct report_lane *a = left, *b = right;
  int64_t work_a = report_sum(a->busy[MEASURED], a->busy[SIMULATED]);
  int64_t work_b = report_sum(b->busy[MEASURED], b->busy[SIMULATED]);
  return work_a != work_b ? LUMOS_ORDER(work_b, work_a) : LUMOS_ORDER(a->lane, b->lane);
}

static int compare_places(const void *left, const void *right) {
  const struct report_lane *a = left, *b = right;
  return LUMOS_ORDER(a->lane, b->lane);
}

static size_t open_threads(const struct lumos_job *job, bool has_streams) {
  size_t threads = job->ranks.count == 1 ? 4 : job->ranks.count == 2 ? 2 : 1;
  return has_streams ? threads : threads * 2;
}

static void place_lane(struct report_timelines *timelines, const struct report_lane *lane, bool open) {
  if (open && timelines->open.count < OPEN_LANES) {
    lumos_vector_push(&timelines->open, *lane);
  } else if (timelines->open.count + timelines->folded.count < ALL_LANES) {
    lumos_vector_push(&timelines->folded, *lane);
  } else {
    timelines->left_out++;
  }
}

static void choose_lanes(struct report_timelines *timelines, uint32_t rank_number) {
  const struct lumos_job *job = timelines->job;
  const struct lumos_rank *rank = &job->ranks.items[rank_number];
  struct report_lanes threads = {0};
  struct report_lanes streams = {0};
  for (uint32_t lane = rank->lane_first; lane < rank->lane_first + rank->lane_count; lane++) {
    if (job->lanes.items[lane].task_count > 0) {
      struct report_lanes *lanes = job->lanes.items[lane].kind == LUMOS_STREAM ? &streams : &threads;
      lumos_vector_push(lanes, read_lane(job, lane));
    }
  }
  lumos_vector_sort(&threads, compare_lanes);
  bool open_rank = rank_number < OPEN_RANKS;
  size_t open = open_threads(job, streams.count > 0);
  for (size_t i = 0; i < threads.count; i++) {
    place_lane(timelines, &threads.items[i], open_rank && i < open);
  }
  for (size_t i = 0; i < streams.count; i++) {
    place_lane(timelines, &streams.items[i], open_rank);
  }
  lumos_vector_free(&threads);
  lumos_vector_free(&streams);
}

/* Widen the picture to what ran on the lanes. */
static void measure_lanes(struct report_timelines *timelines, const struct report_lanes *lanes) {
  for (size_t i = 0; i < lanes->count; i++) {
    const struct report_lane *lane = &lanes->items[i];
    timelines->from = lane->from < timelines->from ? lane->from : timelines->from;
    timelines->until = lane->until > timelines->until ? lane->until : timelines->until;
  }
}

static int compare_steps(const void *left, const void *right) {
  const struct lumos_step *a = left, *b = right;
  return LUMOS_ORDER(a->step, b->step);
}

/* The job's step ends with its last rank's and begins where the one before ends; the first begins with the first
 * rank's. */
static void find_boundaries(struct report_timelines *timelines) {
  const struct lumos_job *job = timelines->job;
  struct lumos_steps_list steps = {0};
  lumos_find_steps(job, job->runs.count > 0 ? job->runs.items : NULL, &steps);
  lumos_vector_sort(&steps, compare_steps);
  int64_t start = REPORT_FARTHEST;
  for (size_t i = 0; i < steps.count; i++) {
    int64_t own = report_bounded(steps.items[i].start);
    start = steps.items[i].start != LUMOS_ABSENT && own < start ? own : start;
  }
  for (size_t i = 0; i < steps.count;) {
    struct report_boundary boundary = {steps.items[i].step, start, start};
    for (; i < steps.count && steps.items[i].step == boundary.step; i++) {
      int64_t end = report_bounded(steps.items[i].end);
      boundary.end = end > boundary.end ? end : boundary.end;
    }
    lumos_vector_push(&timelines->steps, boundary);
    start = boundary.end;
  }
  lumos_vector_free(&steps);
}

void report_timelines_read(const struct lumos_job *job, struct report_timelines *timelines) {
  *timelines = (struct report_timelines){.job = job, .from = INT64_MAX, .until = INT64_MIN};
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    choose_lanes(timelines, rank);
  }
  struct report_lanes *lists[] = {&timelines->open, &timelines->folded};
  for (int i = 0; i < 2; i++) {
    if (lists[i]->count > 0) {
      lumos_vector_sort(lists[i], compare_places);
      measure_lanes(timelines, lists[i]);
    }
  }
  if (timelines->from > timelines->until) {
    timelines->from = timelines->until = 0;
  }
  find_boundaries(timelines);
}

void report_timelines_free(struct report_timelines *timelines) {
  lumos_vector_free(&timelines->open);
  lumos_vector_free(&timelines->folded);
  lumos_vector_free(&timelines->steps);
  lumos_vector_free(&timelines->doubts);
}

int64_t report_timelines_origin(const struct report_timelines *timelines) {
  return timelines->steps.count > 0 ? timelines->steps.items[0].start : timelines->from;
}

void report_put_lane(struct lumos_text *out, const struct lumos_job *job, uint32_t lane) {
  enum { MOST = 8, KEPT = 6 };
  const struct lumos_lane *record = &job->lanes.items[lane];
  const char *name = lumos_string(job->strings, record->lane);
  size_t length = lumos_string_length(job->strings, record->lane);
  char letter = record->kind == LUMOS_STREAM ? 's' : 't';
  if (length < 2 || name[0] != letter || strspn(name + 1, "-0123456789") != length - 1) {
    report_put_cut(out, name, length, MOST * 2);
    return;
  }
  lumos_text_put(out, record->kind == LUMOS_STREAM ? "stream " : "thread ");
  if (length - 1 > MOST) {
    lumos_text_put(out, "\xE2\x80\xA6");
    lumos_text_put(out, name + length - KEPT);
  } else {
    lumos_text_put(out, name + 1);
  }
}
