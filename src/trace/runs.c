/* In the order of their starts, a recording begins another run where it starts more than a minute after all of the run
 * have ended (hosts' clocks differ by less), or where it starts after they have ended and one of its ranks is there
 * already: a job that is profiled again and again leaves its recordings in one folder. A recording that does not say
 * when it was made is of the run that it fits into.
 */
#include "trace/runs.h"

#include "base/text.h"
#include "job/date.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t second = INT64_C(1000000000);

struct recording {
  struct trace_part *part;
  int64_t start, end; /* ns since 1970; both 0: the trace does not say when */
};

LUMOS_VECTOR_TYPE(recordings, struct recording);

static struct recording recording_of(struct trace_part *part) {
  struct lumos_dates dates = {0, 0};
  bool dated = lumos_job_dates(part->job, &dates);
  return (struct recording){part, dated ? dates.start : 0, dated ? dates.end : 0};
}

static int compare_recordings(const void *a, const void *b) {
  const struct recording *left = a, *right = b;
  return left->start != right->start ? (left->start > right->start) - (left->start < right->start)
                                     : strcmp(left->part->name, right->part->name);
}

static bool share_a_rank(const struct trace_part *one, const struct trace_part *other) {
  if (!one->is_stream) {
    return one->rank != LUMOS_ABSENT_INT && trace_part_has_rank(other, one->rank);
  }
  for (size_t i = 0; i < one->job->ranks.count; i++) {
    if (trace_part_has_rank(other, one->job->ranks.items[i].rank)) {
      return true;
    }
  }
  return false;
}

/* Is a rank of recordings[index] among recordings[first, index)? */
static bool comes_again(const struct recordings *all, size_t first, size_t index) {
  for (size_t i = first; i < index; i++) {
    if (share_a_rank(all->items[index].part, all->items[i].part)) {
      return true;
    }
  }
  return false;
}

/* Sort them and number their runs; how many there are. */
static int64_t number_runs(struct recordings *all) {
  int64_t runs = 0;
  size_t first = 0; /* of the run */
  int64_t end = 0;  /* of the run */
  lumos_vector_sort(all, compare_recordings);
  for (size_t i = 0; i < all->count; i++) {
    struct recording *recording = &all->items[i];
    bool later = recording->start > end && (recording->start - end > LUMOS_RUN_GAP || comes_again(all, first, i));
    if (i == 0 || later) {
      runs++;
      first = i;
    }
    end = i == first || recording->end > end ? recording->end : end;
    recording->part->run = runs;
  }
  return runs;
}

/* One run of those that say when they were recorded. */
struct run {
  struct lumos_dates dates;
  int64_t number;
};

LUMOS_VECTOR_TYPE(runs, struct run);

static int32_t world_of(const struct trace_part *part) {
  return part->job->ranks.count > 0 ? part->job->ranks.items[0].world : LUMOS_ABSENT_INT;
}

/* Could it be of this run: no rank that is there already, no other size of the job? */
static bool fits(const struct recordings *all, const struct trace_part *part, int64_t run) {
  for (size_t i = 0; i < all->count; i++) {
    const struct trace_part *other = all->items[i].part;
    bool other_world =
        world_of(part) != LUMOS_ABSENT_INT && world_of(other) != LUMOS_ABSENT_INT && world_of(part) != world_of(other);
    if (other != part && other->run == run && (share_a_rank(part, other) || other_world)) {
      return false;
    }
  }
  return true;
}

/* The run into which an undated recording fits: the one at whose time it was made if it counts from the same base, else
 * the only one. NULL: none, or several. */
static const struct run *find_run(const struct recordings *all, const struct runs *runs,
                                  const struct trace_part *part) {
  const struct run *only = NULL;
  size_t fitting = 0;
  for (size_t i = 0; i < runs->count; i++) {
    int64_t epoch = 0;
    if (!fits(all, part, runs->items[i].number)) {
      continue;
    }
    if (lumos_dated_by_base(part->job, &runs->items[i].dates, &epoch)) {
      return &runs->items[i];
    }
    only = &runs->items[i];
    fitting++;
  }
  return fitting == 1 ? only : NULL;
}

/* Undated recordings take the time of the run into which they fit. All are sorted and numbered, the undated as run
 * 1. */
static void place_undated(struct recordings *all) {
  struct runs runs = {0};
  for (size_t i = 0; i < all->count; i++) {
    const struct recording *recording = &all->items[i];
    int64_t number = recording->part->run;
    if (recording->start == 0) {
      continue;
    }
    if (runs.count == 0 || runs.items[runs.count - 1].number != number) {
      lumos_vector_push(&runs, ((struct run){{recording->start, recording->end}, number}));
    }
    struct lumos_dates *dates = &runs.items[runs.count - 1].dates;
    dates->end = recording->end > dates->end ? recording->end : dates->end;
  }
  for (size_t i = 0; i < all->count; i++) {
    struct recording *recording = &all->items[i];
    const struct run *run = recording->start == 0 ? find_run(all, &runs, recording->part) : NULL;
    if (run != NULL) {
      recording->start = run->dates.start;
      recording->end = run->dates.end;
      recording->part->run = run->number;
    }
  }
  lumos_vector_free(&runs);
}

static void add_time(struct lumos_text *text, int64_t nanoseconds) {
  time_t seconds = (time_t)(nanoseconds / second);
  struct tm date;
  if (nanoseconds == 0 || gmtime_r(&seconds, &date) == NULL) {
    lumos_text_put(text, "of an unknown time");
    return;
  }
  lumos_text_format(text, "of %04d-%02d-%02d %02d:%02d:%02d UTC", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday,
                    date.tm_hour, date.tm_min, date.tm_sec);
}

enum { FILES_TOLD = 3 };

/* "run 2 of 2026-11-20 13:54:20 UTC (a.json, b.json)". */
static void describe_run(struct lumos_text *text, const struct recordings *all, int64_t run) {
  size_t files = 0;
  for (size_t i = 0; i < all->count; i++) {
    const struct recording *recording = &all->items[i];
    if (recording->part->run != run) {
      continue;
    }
    if (files == 0) {
      lumos_text_format(text, "run %" PRId64 " ", run);
      add_time(text, recording->start);
    }
    if (files < FILES_TOLD) {
      lumos_text_format(text, "%s%.100s", files == 0 ? " (" : ", ", recording->part->name);
    }
    files++;
  }
  if (files > FILES_TOLD) {
    lumos_text_format(text, " and %zu more", files - FILES_TOLD);
  }
  lumos_text_char(text, ')');
}

/* The first runs, and the last, for that is most often the one that is wanted. */
static bool refuse(const struct recordings *all, int64_t runs, struct lumos_error *error) {
  enum { RUNS_TOLD = 3 };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (int64_t run = 1; run <= runs; run++) {
    if (run < RUNS_TOLD || run == runs) {
      lumos_text_put(&text, run == 1 ? "" : "; ");
      describe_run(&text, all, run);
    } else if (run == RUNS_TOLD) {
      lumos_text_put(&text, "; ...");
    }
  }
  lumos_text_add(&text, "", 1);
  (void)lumos_fail(error,
                   "these are %" PRId64 " runs, choose one with --run N or --run last, or name only its files: %s",
                   runs, text.bytes);
  lumos_text_free(&text);
  return false;
}

static void name_others(struct trace_other_runs *others, const struct recordings *all, int64_t run) {
  for (size_t i = 0; i < all->count; i++) {
    const struct trace_part *part = all->items[i].part;
    if (part->run != run && others->files++ < FILES_TOLD) {
      lumos_text_format(&others->names, "%s%.100s", others->files == 1 ? "" : ", ", part->name);
    }
  }
  if (others->files > FILES_TOLD) {
    lumos_text_format(&others->names, " and %zu more", others->files - FILES_TOLD);
  }
}

static void keep_run(struct trace_parts *parts, int64_t run) {
  size_t kept = 0;
  for (size_t i = 0; i < parts->count; i++) {
    if (parts->items[i].run == run) {
      parts->items[kept++] = parts->items[i];
    } else {
      lumos_job_free(parts->items[i].job);
    }
  }
  parts->count = kept;
}

static bool choose(struct trace_parts *parts, const struct recordings *all, int64_t runs,
                   const struct lumos_trace_options *options, struct trace_other_runs *others,
                   struct lumos_error *error) {
  if (options->run == LUMOS_RUN_ALL) {
    return runs == 1 || options->rank_count > 0 || refuse(all, runs, error);
  }
  if (options->run > runs) {
    return lumos_fail(error, "--run %" PRId64 ": there %s %" PRId64 ", by time, choose among them or say --run last",
                      options->run, runs == 1 ? "is" : "are", runs);
  }
  int64_t run = options->run == LUMOS_RUN_LAST ? runs : options->run;
  name_others(others, all, run); /* first, for what is kept moves */
  keep_run(parts, run);
  return true;
}

bool lumos_trace_choose_run(struct trace_parts *parts, const struct lumos_trace_options *options,
                            struct trace_other_runs *others, struct lumos_error *error) {
  struct recordings all = {0};
  for (size_t i = 0; i < parts->count; i++) {
    lumos_vector_push(&all, recording_of(&parts->items[i]));
  }
  (void)number_runs(&all);
  place_undated(&all);
  bool good = choose(parts, &all, number_runs(&all), options, others, error);
  lumos_vector_free(&all);
  return good;
}
