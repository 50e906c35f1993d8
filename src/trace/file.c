/* One trace, from text to a job of one rank: scan, clocks, steps, tasks and spans, facts, notes. */
#include "trace/file.h"

#include "base/text.h"
#include "trace/build.h"
#include "trace/facts.h"
#include "trace/hta.h"
#include "trace/ledger.h"
#include "trace/timelines.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_TEXT = 512 };

/* A note on the job's rank. */
static void note(struct lumos_job *job, const char *code, enum lumos_level level, int64_t count, const char *cure,
                 const char *format, ...) LUMOS_FORMAT(6, 7);

static void note(struct lumos_job *job, const char *code, enum lumos_level level, int64_t count, const char *cure,
                 const char *format, ...) {
  char text[NOTE_TEXT];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = job->ranks.items[0].rank;
  lumos_job_note(job, code, level, count, &scope, text, cure);
}

/* "bytes 120-240, 310-350 (WHAT), 900-950 (WHAT) and 12 more places": the first ones, what they share said once. */
static void put_places(struct lumos_text *text, const struct trace_places *places) {
  size_t shown = places->count < TRACE_PLACES ? (size_t)places->count : TRACE_PLACES;
  for (size_t i = 0; i < shown; i++) {
    const struct trace_place *place = &places->first[i];
    lumos_text_format(text, "%s%" PRIu64, i == 0 ? "bytes " : ", ", place->begin);
    if (place->end > place->begin + 1) {
      lumos_text_format(text, "-%" PRIu64, place->end - 1);
    }
    if (place->what != NULL && (i + 1 == shown || strcmp(place[1].what, place->what) != 0)) {
      lumos_text_format(text, " (%s)", place->what);
    }
  }
  if (places->count > TRACE_PLACES) {
    lumos_text_format(text, " and %" PRId64 " more places", places->count - TRACE_PLACES);
  }
}

static void note_places(struct lumos_job *job, const char *code, const struct trace_places *places, const char *said) {
  if (places->count == 0) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, said);
  lumos_text_put(&text, ": ");
  put_places(&text, places);
  lumos_text_add(&text, "", 1);
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = job->ranks.items[0].rank;
  lumos_job_note(job, code, LUMOS_WARNING, places->count, &scope, text.bytes,
                 "--strict makes the first one a failure; newer versions of PyTorch write valid JSON");
  lumos_text_free(&text);
}

static void note_cut(struct lumos_job *job, const struct trace *trace) {
  char event[64] = "";
  if (trace->cut_event < trace->truncated_at) {
    (void)snprintf(event, sizeof event, ", in what begins at byte %" PRIu64, trace->cut_event);
  }
  bool damaged = trace->damage[0] != '\0';
  const char *kept =
      trace->skipped.count > 0 ? "the complete events before it were read" : "every event before it was read";
  if (trace->resumed) {
    kept = "the complete events before and after it were read";
  }
  note(job, LUMOS_NOTE_CUT, LUMOS_WARNING, LUMOS_ABSENT, "copy or record the file again",
       "the trace is %s at byte %" PRIu64 "%s%s%s; %s", damaged ? "damaged" : "cut", trace->truncated_at, event,
       damaged ? ": " : "", trace->damage, kept);
}

/* No event is so long: a stretch without a valid one is what many were in, as where a copy left a hole. */
static void note_hole(struct lumos_job *job, const struct trace *trace) {
  enum { LONG = 1 << 16 };
  const struct trace_place *hole = &trace->skipped.longest;
  if (hole->end - hole->begin >= LONG) {
    note(job, LUMOS_NOTE_CUT, LUMOS_WARNING, LUMOS_ABSENT, "copy or record the file again",
         "the trace is damaged at byte %" PRIu64 ": no event is valid in %" PRIu64
         " bytes; the complete events before and after them were read",
         hole->begin, hole->end - hole->begin);
  }
}

static void note_second_lists(struct lumos_job *job, const struct trace *trace) {
  if (trace->second_lists.count > 0) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    put_places(&text, &trace->second_lists);
    lumos_text_add(&text, "", 1);
    note(job, "parse.second_list", LUMOS_WARNING, trace->second_events,
         "keep one trace in a file; --strict makes this a failure",
         "events of a second traceEvents list were skipped: %s", text.bytes);
    lumos_text_free(&text);
  }
}

static void note_damage(struct lumos_job *job, const struct trace *trace, const struct trace_clock *clock) {
  note_places(job, "parse.skipped_events", &trace->skipped, "invalid events were skipped");
  note_places(job, "parse.skipped_metadata", &trace->facts_lost, "unreadable metadata was skipped");
  note_places(job, "parse.lost_values", &trace->lost,
              "events and metadata were kept without numbers that are NaN, out of range or fractions of whole units");
  note_places(job, "parse.replaced_text", &trace->replaced,
              "names are not valid text; U+FFFD or ? stands for invalid UTF-8, U+0000 and unknown escapes");
  note_second_lists(job, trace);
  if (clock->absurd > 0) {
    note(job, "parse.absurd_times", LUMOS_WARNING, clock->absurd, NULL,
         "events with times far from all others were skipped; their bytes are unknown");
  }
  if (trace->truncated) {
    note_cut(job, trace);
  } else {
    note_hole(job, trace);
  }
}

static void note_clock(struct lumos_job *job, const struct trace_clock *clock) {
  static const int64_t year_2001 = INT64_C(1000000000000000000);
  if (!clock->base_known && clock->epoch < year_2001) {
    note(job, "parse.unknown_clock", LUMOS_WARNING, LUMOS_ABSENT, "PyTorch 2.4 and later write baseTimeNanoseconds",
         "the trace does not say which time its timestamps count from, so they cannot be compared with another rank's");
  }
  if (clock->shift.offset != 0 && clock->shift.before > 0) {
    note(job, "parse.runtime_shift", LUMOS_INFO, clock->shift.before - clock->shift.after, NULL,
         "runtime rows were shifted by %" PRId64 " ns against the ops: %" PRId64
         " calls crossed the edge of an op, now %" PRId64,
         clock->shift.offset, clock->shift.before, clock->shift.after);
  }
}

/* Steps that the recording's end cut, kept or left out. */
static void note_unfinished(struct lumos_job *job, const struct trace_steps *steps, bool kept) {
  int64_t count = 0;
  int64_t last = 0;
  for (size_t i = 0; i < steps->marks.count; i++) {
    bool wanted = i >= steps->first && i <= steps->last;
    if (steps->marks.items[i].unfinished && wanted == kept) {
      count++;
      last = steps->marks.items[i].number;
    }
  }
  if (count > 0) {
    note(job, "parse.unfinished_step", kept ? LUMOS_WARNING : LUMOS_INFO, count, NULL,
         "steps were cut by the end of the recording%s, the last of them step %" PRId64, kept ? "" : " and left out",
         last);
  }
}

static void note_lost_marks(struct lumos_job *job, const struct trace_steps *steps) {
  if (steps->restored > 0) {
    note(job, "parse.lost_step_marks", LUMOS_WARNING, steps->restored, NULL,
         "step marks are missing, as the other numbers show; the time between the neighboring marks is taken as the "
         "step");
  }
  if (steps->merged > 0) {
    note(job, "parse.merged_steps", LUMOS_WARNING, steps->merged,
         "choose the steps on the other side of them with --steps",
         "steps cannot be separated, because the marks between them are missing; the longest run of steps before or "
         "after them was kept");
  }
}

static void note_steps(struct lumos_job *job, const struct trace_steps *steps, const struct trace_build *build) {
  if (steps->ignored) {
    note(job, "parse.idle_steps", LUMOS_INFO, LUMOS_ABSENT,
         "call profiler.step() after each step, on the thread that runs it",
         "no work is inside the step marks: all of it is step 0");
  } else if (!steps->recorded) {
    note(job, "parse.no_steps", LUMOS_INFO, LUMOS_ABSENT, "call profiler.step() once for each step",
         "the trace has no step marks: all of it is step 0");
  }
  if (steps->dropped > 0) {
    note(job, "parse.repeated_steps", LUMOS_WARNING, steps->dropped, NULL,
         "step marks with numbers that do not rise were ignored");
  }
  if (steps->idle > 0) {
    note(job, "parse.mark_alone", LUMOS_INFO, steps->idle, "mark what runs there with torch.profiler.record_function",
         "steps between others hold no op and no call; the mark of each counts as an op of its length");
  }
  note_lost_marks(job, steps);
  note_unfinished(job, steps, true);
  note_unfinished(job, steps, false);
  if (build->outside_steps > 0) {
    note(job, "parse.outside_steps", LUMOS_INFO, build->outside_steps, NULL,
         "GPU rows were launched outside of every step and left out");
  }
}

static void note_rows(struct lumos_job *job, int64_t lost_calls) {
  const struct lumos_coverage *coverage = &job->ranks.items[0].coverage;
  if (coverage->repaired > 0) {
    note(job, "parse.repaired_rows", LUMOS_INFO, coverage->repaired, NULL,
         "rows of a thread overlapped instead of nesting; Lumos shortened one of each two");
  }
  if (coverage->before_recording > 0) {
    note(job, "parse.before_recording", LUMOS_INFO, coverage->before_recording, NULL,
         "GPU rows have no call in the trace: they were launched before the recording began");
  }
  if (lost_calls > 0) {
    note(job, "parse.lost_calls", LUMOS_WARNING, lost_calls,
         "record CPU activities, too, with a PyTorch that records driver calls (Triton launches through them)",
         "GPU rows have no call in the trace, or several with their id, though it may hold their launch: their launch "
         "time is unknown");
  }
}

/* Rows of these categories, the names behind `said`. */
static void note_categories(struct lumos_job *job, const struct trace *trace, bool kept, const char *code,
                            const char *said) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int64_t count = kept ? 0 : trace->others['B'];
  lumos_text_format(&text, "%s: %s", said, count > 0 ? "events in two pieces (B and E)" : "");
  for (size_t i = 0; i < trace->categories.count; i++) {
    const struct trace_category *category = &trace->categories.items[i];
    int64_t rows = kept ? category->kept : category->left;
    if (rows == 0 || category->class == TRACE_OVERLAY) {
      continue;
    }
    const char *name = lumos_string(trace->strings, category->name);
    lumos_text_put(&text, count > 0 ? ", " : "");
    lumos_text_put(&text, category->name != LUMOS_NO_STRING ? name : "others");
    count += rows;
  }
  lumos_text_add(&text, "", 1);
  if (count > 0) {
    struct lumos_scope scope = lumos_everywhere;
    scope.rank = job->ranks.items[0].rank;
    lumos_job_note(job, code, LUMOS_WARNING, count, &scope, text.bytes, NULL);
  }
  lumos_text_free(&text);
}

static void note_groups(struct lumos_job *job, int64_t lost) {
  if (lost > 0) {
    note(job, "parse.unknown_groups", LUMOS_INFO, lost, NULL,
         "process groups are listed without a name, or without ranks and size; only the arguments of their "
         "communication are known");
  }
}

static void note_unread(struct lumos_job *job, const struct trace *trace) {
  note_categories(job, trace, true, "parse.unknown_rows", "rows of unknown categories are kept as work of kind other");
  note_categories(job, trace, false, "parse.unread_rows",
                  "rows were not read, so work that only they show is missing; their categories are");
}

/* Does every lane stand where it was built? Then so do its tasks. */
static bool stands_as_built(const struct lumos_job *job) {
  for (size_t i = 0; i < job->lanes.count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[i];
    if (lane->task_count > 0 && job->tasks.items[lane->task_first].id != lane->task_first) {
      return false;
    }
  }
  return true;
}

/* Ids are dense in the final order. */
static bool settle_order(struct lumos_job *job, struct lumos_error *error) {
  bool good = lumos_job_arrange(job, error);
  if (good && !stands_as_built(job)) {
    for (size_t i = 0; i < job->tasks.count; i++) {
      job->tasks.items[i].id = (uint32_t)i;
    }
  }
  return good;
}

static void build_records(struct trace_build *build) {
  struct trace *trace = build->trace;
  lumos_trace_mark_shared(trace);
  uint32_t *lanes = lumos_trace_sorted_lanes(trace);
  lumos_trace_take_facts(build);
  lumos_trace_build_threads(build, lanes);
  lumos_vector_free(&trace->host);
  lumos_trace_pair_gradients(build);
  lumos_trace_build_streams(build, lanes);
  lumos_vector_free(&trace->device);
  lumos_trace_build_memory(build);
  lumos_vector_free(&trace->memory);
  lumos_trace_mark_waits(build);
  lumos_vector_fit(&build->job->tasks);
  lumos_vector_fit(&build->job->spans);
  free(lanes);
}

static void fill_rank(struct lumos_rank *rank, const struct trace *trace, const struct trace_clock *clock,
                      struct trace_build *build) {
  rank->window_start = 0;
  rank->window_end = clock->window_end;
  rank->base = lumos_trace_step_base(build->steps, build->job, build->first_device_task);
  rank->coverage.events = trace->events - clock->absurd;
  rank->coverage.skipped = trace->skipped.count + trace->second_events + clock->absurd;
  rank->coverage.python = trace->python;
  rank->coverage.sync = (int64_t)trace->sync.count;
  if (clock->shift.known) {
    rank->runtime_offset = clock->shift.offset;
    rank->runtime_doubt = clock->shift.doubt;
  }
}

/* The scanned trace as a job; rank 0 until somebody knows better. */
static bool convert(struct trace *trace, struct lumos_job *job, const char *name, const char *source,
                    const struct lumos_trace_options *options, struct lumos_error *error) {
  struct trace_clock clock;
  struct trace_steps steps;
  struct trace_build build;
  struct lumos_rank rank = lumos_rank_empty;
  rank.source = lumos_intern_text(job->strings, source);
  rank.coverage.graph_nodes = 0;
  if (trace->hta_known) {
    lumos_trace_keep_hta(trace, &rank.hta);
  }
  lumos_vector_push(&job->ranks, rank);
  lumos_trace_settle_clock(trace, &clock);
  lumos_trace_find_steps(trace, &clock, &steps);
  bool good = clock.absurd == 0 || !options->strict ||
              lumos_fail_check(error, "%s: %" PRId64 " events lie far from all others in time", name, clock.absurd);
  if (good && lumos_trace_select_steps(&steps, options, name, error)) {
    lumos_trace_build_init(&build, trace, &steps, job);
    build_records(&build);
    job->epoch = clock.epoch > 0 ? clock.epoch : 0;
    fill_rank(&job->ranks.items[0], trace, &clock, &build);
    note_damage(job, trace, &clock);
    note_clock(job, &clock);
    note_steps(job, &steps, &build);
    note_rows(job, build.lost_calls);
    note_unread(job, trace);
    note_groups(job, build.lost_groups);
    lumos_trace_note_ledger(&build, &clock);
    lumos_trace_build_clear(&build);
    good = settle_order(job, error) || lumos_fail_prefix(error, name);
  } else {
    good = false;
  }
  lumos_trace_free_steps(&steps);
  return good;
}

/* Why the text gives no job. */
static void say_fault(const struct trace *trace, struct trace_file *file) {
  static const char copy[] = "copy or record the file again";
  static const char export[] = "give a file that the profiler's export_chrome_trace wrote, or a Lumos stream";
  const struct trace_place *skipped = trace->skipped.count > 0      ? &trace->skipped.first[0]
                                      : trace->facts_lost.count > 0 ? &trace->facts_lost.first[0]
                                                                    : NULL;
  const char *what = NULL;
  file->cure = export;
  if (trace->foreign != NULL) {
    what = trace->foreign->what;
    file->cure = trace->foreign->cure;
  } else if (trace->damage[0] != '\0') {
    (void)snprintf(file->fault, sizeof file->fault, "is damaged at byte %" PRIu64 ": %s", trace->truncated_at,
                   trace->damage);
    file->cure = copy;
  } else if (trace->text == TRACE_TEXT_EMPTY) {
    what = "is empty";
    file->cure = "whatever should have written it failed: read its message and run it again";
  } else if (trace->text == TRACE_TEXT_OTHER) {
    what = "is not JSON";
  } else if (skipped != NULL) {
    (void)snprintf(file->fault, sizeof file->fault, "holds no valid event; byte %" PRIu64 ": %s", skipped->begin,
                   skipped->what);
    file->cure = copy;
  } else if (trace->truncated) {
    (void)snprintf(file->fault, sizeof file->fault, "is cut at byte %" PRIu64 ", before its first event",
                   trace->truncated_at);
    file->cure = copy;
  } else if (trace->text == TRACE_TEXT_JSON) {
    what = "is JSON without a traceEvents list";
  } else if (trace->timelines != NULL && trace->timelines->items.count == 0) {
    what = "holds the timelines of several jobs, which lumos-compare --trace writes for Perfetto";
    file->cure = "give the traces of one job";
  } else {
    what = "holds no event with a duration";
    file->cure =
        "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] and a schedule with active steps";
  }
  if (what != NULL) {
    (void)snprintf(file->fault, sizeof file->fault, "%s", what);
  }
}

static void free_ranks(struct trace_file *file) {
  for (size_t i = 0; i < file->ranks.count; i++) {
    lumos_job_free(file->ranks.items[i].job);
  }
  lumos_vector_free(&file->ranks);
}

/* A rank of a file that Lumos wrote, of which what is wrong with the text is no matter of one rank. */
static bool convert_timeline(struct trace_timeline *timeline, const char *name, const char *source,
                             const struct lumos_trace_options *options, struct trace_file *file,
                             struct lumos_error *error) {
  if (timeline->trace.events == 0) {
    return true;
  }
  struct lumos_job *job = timeline->job;
  lumos_vector_push(&file->ranks, ((struct trace_file_rank){job, lumos_trace_own_rank(&timeline->trace)}));
  timeline->job = NULL;
  return convert(&timeline->trace, job, name, source, options, error);
}

/* What was scanned, as the jobs of its ranks; takes `job` when it keeps it. */
static bool convert_all(struct trace *trace, struct lumos_job **job, const char *name, const char *source,
                        const struct lumos_trace_options *options, struct trace_file *file, struct lumos_error *error) {
  if (trace->timelines == NULL) {
    if (!trace->recognised || trace->events == 0) {
      return true;
    }
    lumos_vector_push(&file->ranks, ((struct trace_file_rank){*job, lumos_trace_own_rank(trace)}));
    struct lumos_job *kept = *job;
    *job = NULL;
    trace->hta_known = !options->without_hta;
    return convert(trace, kept, name, source, options, error);
  }
  bool good = true;
  for (size_t i = 0; i < trace->timelines->items.count && good; i++) {
    good = convert_timeline(&trace->timelines->items.items[i], name, source, options, file, error);
  }
  if (good && file->ranks.count > 0) {
    const struct trace_clock clock = {.base_known = true};
    note_damage(file->ranks.items[0].job, trace, &clock);
  }
  return good;
}

bool lumos_trace_file(struct lumos_input *input, const char *name, const char *source,
                      const struct lumos_trace_options *options, struct trace_file *file, struct lumos_error *error) {
  const struct trace_scan_options scan = {
      .stacks = options->stacks, .strict = options->strict, .watcher = options->watcher, .source = source};
  struct lumos_job *job = lumos_job_new();
  struct trace trace;
  lumos_trace_init(&trace, job->strings);
  *file = (struct trace_file){.fault = ""};
  bool good = lumos_trace_scan(&trace, input, name, &scan, error);
  say_fault(&trace, file);
  good = good && convert_all(&trace, &job, name, source, options, file, error);
  lumos_trace_clear(&trace);
  lumos_job_free(job);
  if (!good) {
    free_ranks(file);
  }
  return good;
}
