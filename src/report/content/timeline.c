/* Choosing lanes, and the times of what ran on them. */
#include "report/content/timeline.h"

#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

/* How much is drawn. What is folded opens with a click; a picture of hundreds of lanes is for a tool, not for a
 * page. */
enum { MUCH_OF_PATH = 20 /* one part in so many: what a reader sees of the critical path */ };
enum { OPEN_RANKS = 4, OPEN_LANES = 64, ALL_LANES = 280 };

/* A rank is outlying where its time of one sort is further than this from the middle rank's, or the critical path is
 * longer than this on it: millionths of what the timeline spans. */
enum { OUTLYING = 20000 };

enum sort { SORT_COMPUTE, SORT_COMMUNICATION, SORT_COPY, SORT_CPU, SORTS };

/* What ran on one rank, and how far it is from the others. */
struct rank_lanes {
  struct report_lanes threads, streams; /* the busiest thread first */
  int64_t times[SORTS];
  int64_t distance, path;
  bool open;
};

/* How far measured and simulated times are apart: counts of tasks by the bits of the difference in ns. */
struct differences {
  int64_t tasks, of[65];
};

struct report_clock report_clock_of(const struct lumos_job *job, uint32_t lane) {
  const struct lumos_rank *rank = &job->ranks.items[job->lanes.items[lane].rank];
  bool stream = job->lanes.items[lane].kind == LUMOS_STREAM;
  return (struct report_clock){.job = job,
                               .offset = stream ? lumos_device_job_time(rank, 0) : lumos_host_job_time(rank, 0),
                               .drifts = rank->clock.known && rank->clock.drift_ppb != 0};
}

static enum sort sort_of(const struct lumos_job *job, uint32_t lane, uint8_t kind) {
  if (job->lanes.items[lane].kind != LUMOS_STREAM) {
    return SORT_CPU;
  }
  return lumos_is_communication(kind) ? SORT_COMMUNICATION : lumos_is_copy(kind) ? SORT_COPY : SORT_COMPUTE;
}

static void add_difference(struct differences *differences, int64_t a, int64_t b) {
  uint64_t apart = a > b ? (uint64_t)(a - b) : (uint64_t)(b - a);
  differences->of[apart == 0 ? 0 : 64 - __builtin_clzll(apart)]++;
  differences->tasks++;
}

static struct report_lane read_lane(const struct lumos_job *job, uint32_t number, int64_t times[SORTS],
                                    struct differences *differences) {
  const struct lumos_lane *lane = &job->lanes.items[number];
  const struct report_clock clock = report_clock_of(job, number);
  struct report_lane read = {
      .lane = number, .busy = {LUMOS_ABSENT, LUMOS_ABSENT}, .from = INT64_MAX, .until = INT64_MIN};
  int64_t by_kind[LUMOS_TASK_KINDS] = {0};
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    uint8_t kind = job->tasks.items[task].kind;
    int64_t starts[TIMELINES] = {LUMOS_ABSENT, LUMOS_ABSENT};
    read.kinds |= UINT32_C(1) << kind;
    for (int timeline = 0; timeline < TIMELINES; timeline++) {
      int64_t duration = 0;
      if (report_task_time(&clock, (enum report_timeline)timeline, task, &starts[timeline], &duration)) {
        int64_t start = starts[timeline];
        read.busy[timeline] = report_sum(read.busy[timeline], duration);
        by_kind[kind] = report_sum(by_kind[kind], duration);
        read.from = start < read.from ? start : read.from;
        read.until = start + duration > read.until ? start + duration : read.until;
      }
    }
    if (starts[MEASURED] != LUMOS_ABSENT && starts[SIMULATED] != LUMOS_ABSENT) {
      add_difference(differences, starts[MEASURED], starts[SIMULATED]);
    }
  }
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    enum sort sort = sort_of(job, number, (uint8_t)kind);
    times[sort] = report_sum(times[sort], by_kind[kind]);
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

static size_t open_threads(size_t open_ranks, bool has_streams) {
  size_t threads = open_ranks == 1 ? 4 : 2;
  return has_streams ? threads : threads * 2;
}

/* Beside the busiest thread one with less than a hundredth of its work tells nothing. */
static bool is_busy(const struct report_lane *thread, const struct report_lane *busiest) {
  enum { PART = 100 };
  return thread->busy[SIMULATED] > busiest->busy[SIMULATED] / PART ||
         thread->busy[MEASURED] > busiest->busy[MEASURED] / PART;
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

static void read_rank(const struct lumos_job *job, const struct lumos_rank *rank, struct rank_lanes *lanes,
                      struct differences *differences) {
  for (uint32_t lane = rank->lane_first; lane < rank->lane_first + rank->lane_count; lane++) {
    if (job->lanes.items[lane].task_count > 0) {
      struct report_lanes *list = job->lanes.items[lane].kind == LUMOS_STREAM ? &lanes->streams : &lanes->threads;
      lumos_vector_push(list, read_lane(job, lane, lanes->times, differences));
    }
  }
  lumos_vector_sort(&lanes->threads, compare_lanes);
}

static int compare_times(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return LUMOS_ORDER(*a, *b);
}

/* How long the steps' critical paths are on each rank. */
static void add_paths(const struct lumos_job *job, struct rank_lanes *ranks) {
  static const char metric_name[] = "critical_path_rank";
  lumos_string_id name = lumos_interned(job->strings, metric_name, sizeof metric_name - 1);
  for (size_t i = 0; name != LUMOS_NO_STRING && i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->name == name && metric->scope.rank != LUMOS_ABSENT_INT) {
      uint32_t rank = lumos_job_rank(job, metric->scope.rank);
      int64_t time = report_decimal_as(metric->value, 0);
      if (rank != LUMOS_NONE && time > 0) {
        ranks[rank].path = report_sum(ranks[rank].path, time);
      }
    }
  }
}

/* How far each rank's times are from those of the middle rank, the sort that is furthest. */
static void measure_distances(struct rank_lanes *ranks, size_t count) {
  int64_t *times = lumos_allocate((count + 1) * sizeof times[0]);
  for (int sort = 0; sort < SORTS; sort++) {
    for (size_t i = 0; i < count; i++) {
      times[i] = ranks[i].times[sort];
    }
    qsort(times, count, sizeof times[0], compare_times);
    for (size_t i = 0; i < count; i++) {
      int64_t distance = llabs(ranks[i].times[sort] - times[count / 2]);
      ranks[i].distance = distance > ranks[i].distance ? distance : ranks[i].distance;
    }
  }
  for (size_t i = 0; i < count; i++) {
    ranks[i].distance = ranks[i].path > ranks[i].distance ? ranks[i].path : ranks[i].distance;
  }
  free(times);
}

/* The ranks that have much of the critical path come first, whatever else is far. */
static struct rank_lanes *furthest_closed(struct rank_lanes *ranks, size_t count, int64_t much) {
  struct rank_lanes *furthest = NULL, *decisive = NULL;
  for (size_t i = 0; i < count; i++) {
    struct rank_lanes *rank = &ranks[i];
    if (!rank->open && (furthest == NULL || rank->distance > furthest->distance)) {
      furthest = rank;
    }
    if (!rank->open && rank->path > much && (decisive == NULL || rank->path > decisive->path)) {
      decisive = rank;
    }
  }
  return decisive != NULL ? decisive : furthest;
}

/* Of many ranks the outlying ones, and the first that is like the others. Returns how many are open. */
static size_t open_ranks(struct rank_lanes *ranks, size_t count, int64_t span) {
  if (count <= OPEN_RANKS) {
    for (size_t i = 0; i < count; i++) {
      ranks[i].open = true;
    }
    return count;
  }
  size_t open = 0;
  int64_t path = 0;
  for (size_t i = 0; i < count; i++) {
    path = report_sum(path, ranks[i].path);
  }
  measure_distances(ranks, count);
  while (open + 1 < OPEN_RANKS) {
    struct rank_lanes *rank = furthest_closed(ranks, count, path / MUCH_OF_PATH);
    if (report_share(rank->distance, span) < OUTLYING) {
      break;
    }
    rank->open = true;
    open++;
  }
  for (size_t i = 0; i < count; i++) {
    if (!ranks[i].open) {
      ranks[i].open = true;
      return open + 1;
    }
  }
  return open;
}

static void place_rank(struct report_timelines *timelines, const struct rank_lanes *rank, size_t open_count) {
  size_t open = open_threads(open_count, rank->streams.count > 0);
  for (size_t i = 0; i < rank->threads.count; i++) {
    bool shown = rank->open && i < open && is_busy(&rank->threads.items[i], &rank->threads.items[0]);
    place_lane(timelines, &rank->threads.items[i], shown);
  }
  for (size_t i = 0; i < rank->streams.count; i++) {
    place_lane(timelines, &rank->streams.items[i], rank->open);
  }
}

static void measure_lanes(struct report_timelines *timelines, const struct report_lanes *lanes);

bool report_timeline_chooses(const struct report_timeline_choice *choice, int32_t rank) {
  for (size_t i = 0; i < choice->rank_count; i++) {
    if (choice->ranks[i] == rank) {
      return true;
    }
  }
  return choice->rank_count == 0;
}

/* Those that were asked for are open, however many they are. */
static size_t open_chosen(const struct lumos_job *job, const struct report_timeline_choice *choice,
                          struct rank_lanes *ranks) {
  size_t open = 0;
  for (size_t i = 0; i < job->ranks.count; i++) {
    ranks[i].open = report_timeline_chooses(choice, job->ranks.items[i].rank);
    open += ranks[i].open;
  }
  return open;
}

static void choose_lanes(struct report_timelines *timelines, const struct report_timeline_choice *choice,
                         struct differences *differences) {
  const struct lumos_job *job = timelines->job;
  struct rank_lanes *ranks = lumos_allocate_zeroed(job->ranks.count + 1, sizeof ranks[0]);
  for (size_t i = 0; i < job->ranks.count; i++) {
    read_rank(job, &job->ranks.items[i], &ranks[i], differences);
    measure_lanes(timelines, &ranks[i].threads);
    measure_lanes(timelines, &ranks[i].streams);
  }
  add_paths(job, ranks);
  int64_t span = timelines->until > timelines->from ? timelines->until - timelines->from : 0; /* without lanes: none */
  size_t open = choice->rank_count > 0 ? open_chosen(job, choice, ranks) : open_ranks(ranks, job->ranks.count, span);
  for (size_t i = 0; i < job->ranks.count; i++) {
    if (report_timeline_chooses(choice, job->ranks.items[i].rank)) {
      place_rank(timelines, &ranks[i], open);
    }
    lumos_vector_free(&ranks[i].threads);
    lumos_vector_free(&ranks[i].streams);
  }
  free(ranks);
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

/* One in a hundred tasks that is further apart than two columns of the picture shows. */
static bool differs_visibly(const struct differences *differences, int64_t span) {
  enum { COLUMNS = 500, SHARE = 100 };
  int64_t seen = 0;
  for (int bits = 64; bits > 0 && (bits == 64 || INT64_C(1) << (bits - 1) >= span / COLUMNS); bits--) {
    seen += differences->of[bits];
  }
  return seen > differences->tasks / SHARE;
}

void report_timelines_read(const struct lumos_job *job, const struct report_timeline_choice *choice,
                           struct report_timelines *timelines) {
  *timelines = (struct report_timelines){.job = job, .from = INT64_MAX, .until = INT64_MIN};
  static const struct report_timeline_choice all;
  struct differences differences = {0};
  choice = choice == NULL ? &all : choice;
  report_lane_roles_read(job, &timelines->roles);
  choose_lanes(timelines, choice, &differences);
  struct report_lanes *lists[] = {&timelines->open, &timelines->folded};
  timelines->from = INT64_MAX;
  timelines->until = INT64_MIN;
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
  timelines->begin = timelines->from;
  timelines->end = timelines->until;
  int64_t origin = report_timelines_origin(timelines);
  timelines->from = origin > timelines->from && origin < timelines->until ? origin : timelines->from;
  if (choice->has_span) {
    timelines->begin = timelines->from = report_bounded(report_sum(origin, report_bounded(choice->from)));
    timelines->until = report_bounded(report_sum(origin, report_bounded(choice->until)));
  }
  timelines->twice = differs_visibly(&differences, timelines->until - timelines->from);
}

void report_timelines_free(struct report_timelines *timelines) {
  report_lane_roles_free(&timelines->roles);
  report_routes_free(&timelines->routes);
  lumos_vector_free(&timelines->open);
  lumos_vector_free(&timelines->folded);
  lumos_vector_free(&timelines->steps);
  lumos_vector_free(&timelines->doubts);
}

int64_t report_timelines_origin(const struct report_timelines *timelines) {
  return timelines->steps.count > 0 ? timelines->steps.items[0].start : timelines->from;
}
