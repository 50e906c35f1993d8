/* Adding up how busy GPUs are, in one sweep over each rank's starts and ends; and what that says in words and as a
 * table. */
#include "report/content/busy.h"

#include "base/moments.h"
#include "report/text/numbers.h"
#include <stdlib.h>

#define MILLION 1000000
#define NARROWEST 1000000 /* a bin, ns */

/* ---- Adding up ---- */

__extension__ typedef __int128 wide_integer;

/* Over the ranks: ns, and ns times millionths. */
struct sum {
  wide_integer of[BUSY_MEASURES];
};

/* One timeline of the job, rank after rank. */
struct sweep {
  const struct report_busy *busy;
  enum report_timeline timeline;
  struct lumos_moments moments; /* what: the occupancy */
  struct sum *sums;             /* by bin */
  int64_t weight;               /* for how many ranks the one at hand counts */
};

static bool is_stream(const struct lumos_job *job, uint32_t lane) {
  return job->lanes.items[lane].kind == LUMOS_STREAM && job->lanes.items[lane].task_count > 0;
}

static bool has_streams(const struct lumos_job *job, const struct lumos_rank *rank) {
  for (uint32_t lane = rank->lane_first; lane < rank->lane_first + rank->lane_count; lane++) {
    if (is_stream(job, lane)) {
      return true;
    }
  }
  return false;
}

/* A timeline ends where the last step's work on streams does. */
static void find_end(struct report_busy *busy, uint32_t lane) {
  const struct lumos_job *job = busy->timelines->job;
  const struct lumos_lane *record = &job->lanes.items[lane];
  const struct report_clock clock = report_clock_of(job, lane);
  for (uint32_t task = record->task_first; task < record->task_first + record->task_count; task++) {
    busy->occupancy |= lumos_timing_of(job, task)->occupancy > 0; /* 0 is no estimate */
    for (int timeline = 0; timeline < TIMELINES && job->tasks.items[task].step != LUMOS_ABSENT_INT; timeline++) {
      int64_t start = 0;
      int64_t duration = 0;
      if (report_task_time(&clock, (enum report_timeline)timeline, task, &start, &duration) &&
          start + duration > busy->from && start + duration > busy->until[timeline]) {
        busy->until[timeline] = start + duration;
      }
    }
  }
}

static void find_ends(struct report_busy *busy) {
  const struct lumos_job *job = busy->timelines->job;
  busy->until[MEASURED] = busy->until[SIMULATED] = LUMOS_ABSENT;
  for (uint32_t lane = 0; lane < job->lanes.count; lane++) {
    if (is_stream(job, lane)) {
      find_end(busy, lane);
    }
  }
  for (size_t i = 0; i < job->ranks.count; i++) {
    busy->ranks += has_streams(job, &job->ranks.items[i]) ? lumos_rank_weight(&job->ranks.items[i]) : 0;
  }
}

/* 1, 2, 5, 10, 20, 50 ms and so on. */
static size_t choose_width(struct report_busy *busy) {
  static const int64_t steps[] = {1, 2, 5};
  const int64_t *until = busy->until;
  int64_t span = (until[MEASURED] > until[SIMULATED] ? until[MEASURED] : until[SIMULATED]) - busy->from;
  int64_t decade = NARROWEST;
  busy->width = decade;
  for (size_t i = 1; (span - 1) / busy->width >= REPORT_BUSY_BINS; i++) {
    decade *= i % 3 == 0 ? 10 : 1;
    busy->width = decade * steps[i % 3];
  }
  return (size_t)((span - 1) / busy->width) + 1;
}

/* A stretch in which the same work runs; it is within the timeline. */
static void add_stretch(struct sweep *sweep, int64_t from, int64_t until, int64_t occupancy) {
  const struct report_busy *busy = sweep->busy;
  for (int64_t bin = (from - busy->from) / busy->width; from < until; bin++) {
    int64_t end = busy->from + (bin + 1) * busy->width;
    int64_t time = (end < until ? end : until) - from;
    sweep->sums[bin].of[BUSY_TIME] += (wide_integer)time * sweep->weight;
    sweep->sums[bin].of[BUSY_OCCUPANCY] +=
        (wide_integer)time * (occupancy < MILLION ? occupancy : MILLION) * sweep->weight;
    from = end;
  }
}

static void collect_lane(struct sweep *sweep, uint32_t lane) {
  const struct report_busy *busy = sweep->busy;
  const struct lumos_job *job = busy->timelines->job;
  const struct lumos_lane *record = &job->lanes.items[lane];
  const struct report_clock clock = report_clock_of(job, lane);
  for (uint32_t task = record->task_first; task < record->task_first + record->task_count; task++) {
    int64_t start = 0;
    int64_t duration = 0;
    if (report_task_time(&clock, sweep->timeline, task, &start, &duration)) {
      int64_t until = busy->until[sweep->timeline];
      int64_t end = start + duration < until ? start + duration : until;
      int32_t occupancy = lumos_timing_of(job, task)->occupancy;
      lumos_moments_add(&sweep->moments, occupancy == LUMOS_ABSENT_INT ? 0 : occupancy,
                        start > busy->from ? start : busy->from, end);
    }
  }
}

static void sweep_rank(struct sweep *sweep, const struct lumos_rank *rank) {
  sweep->moments.list.count = 0;
  sweep->weight = lumos_rank_weight(rank);
  for (uint32_t lane = rank->lane_first; lane < rank->lane_first + rank->lane_count; lane++) {
    if (is_stream(sweep->busy->timelines->job, lane)) {
      collect_lane(sweep, lane);
    }
  }
  lumos_moments_sort(&sweep->moments);
  int64_t running = 0;
  int64_t occupancy = 0;
  for (size_t i = 0; i < sweep->moments.list.count; i++) {
    const struct lumos_moment *moment = &sweep->moments.list.items[i];
    if (running > 0) {
      add_stretch(sweep, sweep->moments.list.items[i - 1].time, moment->time, occupancy);
    }
    running += moment->change;
    occupancy += (int64_t)moment->change * moment->what;
  }
}

/* A sum over the ranks as a share of their time, rounded half up. */
static void set_shares(const struct report_busy *busy, const struct sum *sum, int64_t time,
                       int64_t shares[BUSY_MEASURES]) {
  shares[BUSY_TIME] = shares[BUSY_OCCUPANCY] = LUMOS_ABSENT;
  wide_integer whole = (wide_integer)time * busy->ranks;
  if (time > 0) {
    shares[BUSY_TIME] = (int64_t)((sum->of[BUSY_TIME] * MILLION + whole / 2) / whole);
    shares[BUSY_OCCUPANCY] = busy->occupancy ? (int64_t)((sum->of[BUSY_OCCUPANCY] + whole / 2) / whole) : LUMOS_ABSENT;
  }
}

static void read_timeline(struct report_busy *busy, struct sweep *sweep) {
  const struct lumos_job *job = busy->timelines->job;
  int64_t until = busy->until[sweep->timeline];
  struct sum all = {{0}};
  for (size_t rank = 0; rank < job->ranks.count && until != LUMOS_ABSENT; rank++) {
    sweep_rank(sweep, &job->ranks.items[rank]);
  }
  for (size_t i = 0; i < busy->bins.count; i++) {
    int64_t start = busy->from + (int64_t)i * busy->width;
    int64_t left = until == LUMOS_ABSENT ? 0 : until - start;
    set_shares(busy, &sweep->sums[i], left < busy->width ? left : busy->width, busy->bins.items[i].of[sweep->timeline]);
    for (int measure = 0; measure < BUSY_MEASURES; measure++) {
      all.of[measure] += sweep->sums[i].of[measure];
      sweep->sums[i].of[measure] = 0;
    }
  }
  set_shares(busy, &all, until == LUMOS_ABSENT ? 0 : until - busy->from, busy->mean.of[sweep->timeline]);
}

void report_busy_read(const struct report_facts *facts, const struct report_timelines *timelines,
                      struct report_busy *busy) {
  *busy = (struct report_busy){.timelines = timelines, .from = report_timelines_origin(timelines)};
  find_ends(busy);
  if (busy->until[MEASURED] == LUMOS_ABSENT && busy->until[SIMULATED] == LUMOS_ABSENT) {
    return;
  }
  busy->spoken = report_facts_spoken(facts);
  busy->spoken = busy->until[busy->spoken] != LUMOS_ABSENT ? busy->spoken : MEASURED + SIMULATED - busy->spoken;
  busy->both =
      busy->until[MEASURED] != LUMOS_ABSENT && busy->until[SIMULATED] != LUMOS_ABSENT && report_facts_differ(facts);
  size_t bins = choose_width(busy);
  lumos_vector_reserve(&busy->bins, bins);
  busy->bins.count = bins;
  struct sweep sweep = {.busy = busy, .sums = lumos_allocate_zeroed(bins, sizeof *sweep.sums)};
  for (int timeline = 0; timeline < TIMELINES; timeline++) {
    sweep.timeline = (enum report_timeline)timeline;
    read_timeline(busy, &sweep);
  }
  free(sweep.sums);
  lumos_moments_free(&sweep.moments);
}

void report_busy_free(struct report_busy *busy) { lumos_vector_free(&busy->bins); }

/* ---- Words ---- */

static void put_below_half(const struct report_busy *busy, struct lumos_text *out) {
  int64_t below = 0;
  int64_t bins = 0;
  for (size_t i = 0; i < busy->bins.count; i++) {
    int64_t share = busy->bins.items[i].of[busy->spoken][BUSY_TIME];
    bins += share != LUMOS_ABSENT;
    below += share != LUMOS_ABSENT && share < MILLION / 2;
  }
  if (below == 0) {
    lumos_text_put(out, ". No bin of ");
    report_put_tick(out, busy->width, busy->width);
    lumos_text_put(out, " is busy for less than half of its time");
    return;
  }
  lumos_text_put(out, ". Of ");
  report_put_counted(out, bins, "bin");
  lumos_text_put(out, " of ");
  report_put_tick(out, busy->width, busy->width);
  lumos_text_put(out, ", ");
  report_put_count(out, below);
  lumos_text_put(out,
                 below == 1 ? " is busy for less than half of its time" : " are busy for less than half of their time");
}

void report_put_busy_finding(const struct report_busy *busy, struct lumos_text *out) {
  if (busy->bins.count == 0) {
    return;
  }
  enum report_timeline other = MEASURED + SIMULATED - busy->spoken;
  lumos_text_put(out, busy->ranks == 1 ? "The GPU is busy for " : "GPUs are busy for ");
  report_put_share(out, busy->mean.of[busy->spoken][BUSY_TIME]);
  lumos_text_put(out, " of the time on average");
  if (busy->both) {
    lumos_text_format(out, " (%s: ", report_timeline_name(other));
    report_put_share(out, busy->mean.of[other][BUSY_TIME]);
    lumos_text_char(out, ')');
  }
  lumos_text_put(out, ", waiting in communication included");
  put_below_half(busy, out);
  if (busy->occupancy) { /* of some kernels it is not known, so the mean is at least that */
    lumos_text_put(out, ". Weighted by occupancy, the share of warps in use, it is at least ");
    report_put_share(out, busy->mean.of[busy->spoken][BUSY_OCCUPANCY]);
  }
}

/* What a bin is, and its share. */
static void put_meaning(const struct report_busy *busy, struct lumos_text *out) {
  lumos_text_put(out, "the share of each ");
  report_put_tick(out, busy->width, busy->width);
  lumos_text_put(out, " in which at least one task runs on a GPU stream");
  if (busy->ranks > 1) {
    lumos_text_put(out, ", the mean over ");
    report_put_counted(out, busy->ranks, "rank");
  }
  if (busy->width > NARROWEST) {
    lumos_text_format(out, ". There would be more than %d bins of 1 ms", REPORT_BUSY_BINS);
  }
  if (busy->occupancy) {
    lumos_text_put(out,
                   ". Weighted by occupancy, a kernel\xE2\x80\x99s time counts by its estimated occupancy. "
                   "Kernels side by side add up to at most 100\xC2\xA0%. Work without an estimate counts as nothing");
  }
}

void report_put_busy_reading(const struct report_busy *busy, struct lumos_text *out) {
  lumos_text_put(out, "Drawn is ");
  put_meaning(busy, out);
  lumos_text_put(out, ". Dashed lines end the job\xE2\x80\x99s simulated steps.");
}

/* ---- The table ---- */

static const struct report_column first_column = {"time", "from", NULL, COLUMN_MS};
static const struct report_column columns[BUSY_MEASURES][TIMELINES] = {
    {{"measured", "busy, measured", "gpu_busy", COLUMN_BAR}, {"simulated", "busy, simulated", "gpu_busy", COLUMN_BAR}},
    {{"measured_occupancy", "by occupancy, measured", "occupancy", COLUMN_BAR},
     {"simulated_occupancy", "by occupancy, simulated", "occupancy", COLUMN_BAR}}};

static void begin_table(const struct report_busy *busy, struct report_table *table) {
  struct report_column shown[1 + BUSY_MEASURES * TIMELINES] = {first_column};
  size_t count = 1;
  for (int measure = 0; measure < BUSY_MEASURES; measure++) {
    for (int timeline = 0; timeline < TIMELINES; timeline++) {
      if (busy->until[timeline] != LUMOS_ABSENT) {
        shown[count++] = columns[measure][timeline];
      }
    }
  }
  report_table_begin_own(table, "busy", shown, count);
}

void report_busy_table(const struct report_busy *busy, struct report_table *table) {
  begin_table(busy, table);
  if (busy->bins.count == 0) {
    return;
  }
  report_put_busy_finding(busy, &table->finding);
  table->told = true;
  lumos_text_put(&table->caption, "From: the start of each bin, counted from the start of the first step. Busy: ");
  put_meaning(busy, &table->caption);
  for (size_t i = 0; i < busy->bins.count; i++) {
    report_table_number(table, (int64_t)i * busy->width);
    for (int measure = 0; measure < BUSY_MEASURES; measure++) {
      for (int timeline = 0; timeline < TIMELINES; timeline++) {
        if (busy->until[timeline] != LUMOS_ABSENT) {
          report_table_number(table, busy->bins.items[i].of[timeline][measure]);
        }
      }
    }
  }
}
