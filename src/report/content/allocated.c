/* Memory events put into bins of time; and what that says in words and as a table. */
#include "report/content/allocated.h"

#include "report/text/numbers.h"
#include <stdlib.h>

enum { NARROWEST = 1000 /* a bin, ns */ };

/* ---- Putting into bins ---- */

/* What a rank's events say; of several GPUs the one that most is allocated on. */
struct peak {
  int64_t allocated; /* LUMOS_ABSENT: nothing was recorded */
  int32_t device;
};

static int64_t time_of(const struct report_allocated *allocated, const struct lumos_memory_event *event) {
  const struct lumos_job *job = allocated->timelines->job;
  return report_bounded(lumos_host_job_time(&job->ranks.items[allocated->rank], event->t));
}

static struct peak *find_peaks(const struct lumos_job *job) {
  struct peak *peaks = lumos_allocate(job->ranks.count * sizeof *peaks + 1);
  for (size_t r = 0; r < job->ranks.count; r++) {
    peaks[r] = (struct peak){LUMOS_ABSENT, 0};
  }
  for (size_t i = 0; i < job->memory.count; i++) {
    const struct lumos_memory_event *event = &job->memory.items[i];
    uint32_t r = lumos_job_rank(job, event->rank);
    if (r != LUMOS_NONE && event->allocated > peaks[r].allocated) { /* LUMOS_ABSENT is below all */
      peaks[r] = (struct peak){event->allocated, event->device};
    }
  }
  return peaks;
}

/* The rank that has most allocated, among those that are asked for; LUMOS_NONE. */
static uint32_t choose_rank(struct report_allocated *allocated, const struct peak *peaks,
                            const struct report_timeline_choice *choice) {
  const struct lumos_job *job = allocated->timelines->job;
  uint32_t most = LUMOS_NONE;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    bool asked = peaks[r].allocated != LUMOS_ABSENT && report_timeline_chooses(choice, job->ranks.items[r].rank);
    allocated->ranks += asked;
    if (asked && (most == LUMOS_NONE || peaks[r].allocated > peaks[most].allocated)) {
      most = r;
    }
  }
  return most;
}

/* 1, 2, 5, 10, 20, 50 us and so on. */
static size_t choose_width(struct report_allocated *allocated, int64_t span) {
  static const int64_t steps[] = {1, 2, 5};
  int64_t decade = NARROWEST;
  allocated->width = decade;
  for (size_t i = 1; (span - 1) / allocated->width >= REPORT_ALLOCATED_BINS; i++) {
    decade *= i % 3 == 0 ? 10 : 1;
    allocated->width = decade * steps[i % 3];
  }
  return (size_t)((span - 1) / allocated->width) + 1;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; } /* LUMOS_ABSENT is below all */

static bool is_shown(const struct report_allocated *allocated, const struct lumos_memory_event *event, int32_t device) {
  return lumos_job_rank(allocated->timelines->job, event->rank) == allocated->rank && event->device == device;
}

/* What an event leaves holds until the next one, and so counts in all bins up to there. */
static void fill_bins(struct report_allocated *allocated, int32_t device) {
  const struct lumos_job *job = allocated->timelines->job;
  struct report_allocated_bin held = {LUMOS_ABSENT, LUMOS_ABSENT};
  size_t next = 0; /* bins before this one are done but for what begins in the last of them */
  for (size_t i = 0; i < job->memory.count; i++) {
    const struct lumos_memory_event *event = &job->memory.items[i];
    if (!is_shown(allocated, event, device)) {
      continue;
    }
    size_t bin = (size_t)((time_of(allocated, event) - allocated->from) / allocated->width);
    for (; next <= bin && next < allocated->bins.count; next++) {
      allocated->bins.items[next] = held;
    }
    held = (struct report_allocated_bin){event->allocated, event->reserved};
    struct report_allocated_bin *of = &allocated->bins.items[bin];
    of->allocated = larger(of->allocated, event->allocated);
    of->reserved = larger(of->reserved, event->reserved);
  }
}

/* From the first event to the last, and where the CPU goes on to another step. */
static bool is_behind(const struct report_boundary *step, int32_t number, int64_t time) {
  return number > step->step && time > step->start;
}

static void find_extent(struct report_allocated *allocated, int32_t device) {
  const struct lumos_job *job = allocated->timelines->job;
  allocated->from = INT64_MAX;
  allocated->until = INT64_MIN;
  for (size_t i = 0; i < job->memory.count; i++) {
    const struct lumos_memory_event *event = &job->memory.items[i];
    if (!is_shown(allocated, event, device)) {
      continue;
    }
    int64_t time = time_of(allocated, event);
    struct report_boundaries *steps = &allocated->steps;
    if (steps->count == 0 || is_behind(&steps->items[steps->count - 1], event->step, time)) {
      lumos_vector_push(steps, ((struct report_boundary){event->step, time, time}));
      if (steps->count > 1) {
        steps->items[steps->count - 2].end = time;
      }
    }
    struct report_boundary *last = &steps->items[steps->count - 1];
    last->end = larger(last->end, time);
    allocated->from = time < allocated->from ? time : allocated->from;
    allocated->until = larger(allocated->until, time);
  }
}

void report_allocated_read(const struct report_facts *facts, const struct report_timelines *timelines,
                           const struct report_timeline_choice *choice, struct report_allocated *allocated) {
  *allocated = (struct report_allocated){.timelines = timelines,
                                         .from = report_timelines_origin(timelines),
                                         .peak = LUMOS_ABSENT,
                                         .reserved = LUMOS_ABSENT};
  static const struct report_timeline_choice all;
  struct peak *peaks = find_peaks(facts->job);
  choice = choice == NULL ? &all : choice;
  allocated->rank = facts->edited ? LUMOS_NONE : choose_rank(allocated, peaks, choice);
  if (allocated->rank != LUMOS_NONE) {
    int32_t device = peaks[allocated->rank].device;
    find_extent(allocated, device);
    size_t bins = choose_width(allocated, allocated->until - allocated->from + 1);
    lumos_vector_reserve(&allocated->bins, bins);
    allocated->bins.count = bins;
    fill_bins(allocated, device);
    allocated->capacity = facts->job->ranks.items[allocated->rank].device_memory;
    for (size_t i = 0; i < bins; i++) {
      allocated->peak = larger(allocated->peak, allocated->bins.items[i].allocated);
      allocated->reserved = larger(allocated->reserved, allocated->bins.items[i].reserved);
    }
  }
  free(peaks);
}

void report_allocated_free(struct report_allocated *allocated) {
  lumos_vector_free(&allocated->bins);
  lumos_vector_free(&allocated->steps);
}

/* ---- Words ---- */

void report_put_allocated_finding(const struct report_allocated *allocated, struct lumos_text *out) {
  if (allocated->bins.count == 0) {
    return;
  }
  const struct lumos_job *job = allocated->timelines->job;
  lumos_text_format(out, "Rank %d\xE2\x80\x99s GPU has up to ", (int)job->ranks.items[allocated->rank].rank);
  report_put_bytes(out, allocated->peak);
  lumos_text_put(out, " allocated");
  if (allocated->ranks > 1) {
    lumos_text_put(out, ", the most of ");
    report_put_counted(out, (int64_t)allocated->ranks, "rank");
  }
  if (allocated->reserved != LUMOS_ABSENT) {
    lumos_text_put(out, allocated->ranks > 1 ? ", and " : " and ");
    report_put_bytes(out, allocated->reserved);
    lumos_text_put(out, " reserved");
  }
  if (allocated->capacity != LUMOS_ABSENT) {
    lumos_text_put(out, ", of ");
    report_put_bytes(out, allocated->capacity);
  }
}

static void put_meaning(const struct report_allocated *allocated, struct lumos_text *out) {
  lumos_text_put(out, "the most that PyTorch\xE2\x80\x99s allocator has given out in each ");
  report_put_tick(out, allocated->width, allocated->width);
  lumos_text_put(out, ", by the trace\xE2\x80\x99s memory events. Reserved is what it has taken from the driver. "
                      "Steps are the CPU\xE2\x80\x99s, which allocates ahead of the kernels that use the memory");
}

void report_put_allocated_reading(const struct report_allocated *allocated, struct lumos_text *out) {
  lumos_text_put(out, "Drawn is ");
  put_meaning(allocated, out);
  lumos_text_char(out, '.');
}

/* ---- The table ---- */

void report_allocated_table(const struct report_allocated *allocated, struct report_table *table) {
  static const struct report_column columns[] = {
      {"time", "from", NULL, COLUMN_MS},
      {"allocated", "allocated", "memory_recorded_peak", COLUMN_BYTES},
      {"reserved", "reserved", "memory_reserved_peak", COLUMN_BYTES},
  };
  report_table_begin(table, "allocated", columns, sizeof columns / sizeof *columns);
  if (allocated->bins.count == 0) {
    return;
  }
  report_put_allocated_finding(allocated, &table->finding);
  table->told = true;
  lumos_text_put(
      &table->caption,
      "From: the start of each bin, counted from where the timeline begins the first step, on its GPU. Allocated: ");
  put_meaning(allocated, &table->caption);
  int64_t origin = report_timelines_origin(allocated->timelines);
  for (size_t i = 0; i < allocated->bins.count; i++) {
    report_table_number(table, allocated->from - origin + (int64_t)i * allocated->width);
    report_table_number(table, allocated->bins.items[i].allocated);
    report_table_number(table, allocated->bins.items[i].reserved);
  }
}
