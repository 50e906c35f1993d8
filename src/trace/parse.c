/* Many files, one job: each is parsed apart, on all cores, gets its rank, and all are joined. */
#include <lumos/trace.h>

#include "base/ascii.h"
#include "base/parallel.h"
#include "base/text.h"
#include "job/belong.h"
#include "job/date.h"
#include "trace/file.h"
#include "trace/inputs.h"
#include "trace/runs.h"
#include <errno.h>
#include <inttypes.h>
#include <lumos/stream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file that is neither a trace nor a stream. */
struct skipped {
  const char *path;
  char *fault;      /* "is empty"; malloc'ed; NULL: the file is none of these */
  const char *cure; /* what to do about it */
};

/* One file in work; each is touched by one thread only. */
struct reading {
  struct lumos_trace_options options;
  const char *path;
  bool keep_stage;          /* of a stream */
  struct trace_parts parts; /* several of a file that Lumos wrote */
  struct skipped skipped;
  struct lumos_error error;
};

struct parsing {
  const struct lumos_trace_options *options;
  bool keep_stage; /* streams alone stay at their stage */
  struct trace_paths paths;
  struct trace_parts parts;
  LUMOS_VECTOR(struct skipped) skipped;
  struct trace_other_runs other_runs;
  struct lumos_error *error;
};

static bool read_number(const char **text, int64_t *number) {
  char *end = NULL;
  errno = 0;
  *number = lumos_is_digit(**text) ? strtoll(*text, &end, 10) : -1;
  if (*number < 0 || errno != 0) {
    return false;
  }
  *text = end;
  return true;
}

bool lumos_steps_parse(const char *text, struct lumos_trace_options *options, struct lumos_error *error) {
  const char *place = text;
  if (strcmp(text, "all") == 0) {
    options->steps = LUMOS_STEPS_COMPLETE;
    return true;
  }
  if (strcmp(text, "last") == 0) {
    options->steps = LUMOS_STEPS_LAST;
    return true;
  }
  bool good = read_number(&place, &options->first_step);
  options->last_step = options->first_step;
  if (good && *place == '-') {
    place++;
    good = read_number(&place, &options->last_step);
  }
  options->steps = LUMOS_STEPS_RANGE;
  return (good && *place == '\0' && options->last_step >= options->first_step) ||
         lumos_fail(error, "--steps %s: expected all, last, a number or a range such as 3-5", text);
}

bool lumos_run_parse(const char *text, struct lumos_trace_options *options, struct lumos_error *error) {
  const char *place = text;
  if (strcmp(text, "last") == 0) {
    options->run = LUMOS_RUN_LAST;
    return true;
  }
  return (read_number(&place, &options->run) && *place == '\0' && options->run > 0) ||
         lumos_fail(error, "--run %s: expected last or a number from 1", text);
}

/* The options that change results, as a command line would say them. */
static void write_arguments(const struct lumos_trace_options *options, struct lumos_text *text) {
  if (options->steps == LUMOS_STEPS_LAST) {
    lumos_text_put(text, " --steps last");
  } else if (options->steps == LUMOS_STEPS_RANGE) {
    lumos_text_format(text, " --steps %" PRId64, options->first_step);
    if (options->last_step != options->first_step) {
      lumos_text_format(text, "-%" PRId64, options->last_step);
    }
  }
  if (options->run == LUMOS_RUN_LAST) {
    lumos_text_put(text, " --run last");
  } else if (options->run != LUMOS_RUN_ALL) {
    lumos_text_format(text, " --run %" PRId64, options->run);
  }
  if (options->stacks) {
    lumos_text_put(text, " --stacks");
  }
  for (size_t i = 0; i < options->rank_count; i++) {
    lumos_text_format(text, "%s%" PRId32, i == 0 ? " --rank " : ",", options->ranks[i]);
  }
  lumos_text_add(text, "", 1);
}

static void add_history(const struct lumos_trace_options *options, const struct trace_part *part) {
  struct lumos_text arguments = LUMOS_TEXT_BUFFER;
  write_arguments(options, &arguments);
  lumos_job_history(part->job, "lumos-parse", arguments.bytes + (arguments.bytes[0] == ' '), &part->name, 1);
  lumos_text_free(&arguments);
}

static const char *shown_name(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }

static bool read_stream(struct reading *reading, struct lumos_input *input) {
  const struct lumos_read_options options = {
      .edited = reading->options.edited, .threads = reading->options.threads, .watcher = reading->options.watcher};
  struct lumos_job *job = lumos_stream_read(input, shown_name(reading->path), &options, &reading->error);
  if (job == NULL) {
    return false;
  }
  if (!reading->keep_stage) {
    lumos_job_rewind(job, LUMOS_STAGE_PARSE);
  }
  const struct trace_part part = {job, lumos_trace_base_name(reading->path), true, LUMOS_ABSENT_INT, 0};
  lumos_vector_push(&reading->parts, part);
  return true;
}

static bool read_trace(struct reading *reading, struct lumos_input *input) {
  struct trace_file file;
  const char *shown = shown_name(reading->path);
  const char *name = lumos_trace_base_name(shown);
  if (!lumos_trace_file(input, shown, name, &reading->options, &file, &reading->error)) {
    return false;
  }
  if (file.ranks.count == 0) {
    reading->skipped = (struct skipped){reading->path, lumos_copied_text(file.fault), file.cure};
    return true;
  }
  for (size_t i = 0; i < file.ranks.count; i++) {
    const struct trace_file_rank *found = &file.ranks.items[i];
    bool alone = file.ranks.count == 1; /* the name of a file of several ranks is none's */
    int32_t named = alone ? lumos_trace_rank_in_name(name) : LUMOS_ABSENT_INT;
    int32_t rank = found->own_rank != LUMOS_ABSENT_INT ? found->own_rank : named;
    const struct trace_part part = {found->job, name, false, rank, 0};
    add_history(&reading->options, &part);
    lumos_vector_push(&reading->parts, part);
  }
  lumos_vector_free(&file.ranks);
  return true;
}

static bool read_file(struct reading *reading) {
  struct lumos_input *input = lumos_input_open(reading->path, &reading->error);
  if (input == NULL) {
    return false;
  }
  char start[LUMOS_INPUT_PEEK];
  size_t length = lumos_input_peek(input, start, sizeof start);
  bool good = lumos_stream_recognised(start, length) ? read_stream(reading, input) : read_trace(reading, input);
  lumos_input_close(input);
  return good;
}

/* The file of this index, into its place among `readings`. */
static bool read_piece(void *readings, size_t index, bool callers) {
  struct reading *reading = (struct reading *)readings + index;
  if (!callers) {
    reading->options.watcher = (struct lumos_watcher){NULL, NULL};
  }
  return read_file(reading);
}

/* Every file, in the order in which they are named, whichever was read first; the first that fails has the say. */
static bool read_files(struct parsing *parsing) {
  size_t count = parsing->paths.count;
  struct reading *readings = lumos_allocate_zeroed(count, sizeof *readings);
  for (size_t i = 0; i < count; i++) {
    readings[i].options = *parsing->options;
    readings[i].options.threads = count > 1 ? 1 : parsing->options->threads; /* they are read side by side */
    readings[i].path = parsing->paths.items[i];
    readings[i].keep_stage = parsing->keep_stage;
  }
  size_t failed = lumos_parallel(count, parsing->options->threads, read_piece, readings);
  for (size_t i = 0; i < count; i++) {
    for (size_t n = 0; n < readings[i].parts.count; n++) {
      lumos_vector_push(&parsing->parts, readings[i].parts.items[n]);
    }
    lumos_vector_free(&readings[i].parts);
    if (readings[i].skipped.fault != NULL) {
      lumos_vector_push(&parsing->skipped, readings[i].skipped);
    }
  }
  if (failed < count) {
    *parsing->error = readings[failed].error;
  }
  free(readings);
  return failed == count;
}

/* Ranks as --rank gives them, one for each trace. */
static bool take_given_ranks(struct parsing *parsing) {
  size_t next = 0;
  for (size_t i = 0; i < parsing->parts.count; i++) {
    struct trace_part *part = &parsing->parts.items[i];
    if (!part->is_stream) {
      part->rank = next < parsing->options->rank_count ? parsing->options->ranks[next] : part->rank;
      next++;
    }
  }
  return next == parsing->options->rank_count ||
         lumos_fail(parsing->error, "--rank names %zu ranks, but there are %zu traces; give one for each",
                    parsing->options->rank_count, next);
}

static bool is_taken(const struct parsing *parsing, int32_t rank) {
  for (size_t i = 0; i < parsing->parts.count; i++) {
    if (trace_part_has_rank(&parsing->parts.items[i], rank)) {
      return true;
    }
  }
  return false;
}

/* Were both recorded at the same time, and are they two recordings? Else they may be one rank of two runs, or one file
 * twice. */
static bool ran_together(const struct trace_part *one, const struct trace_part *other) {
  struct lumos_dates left = {0, 0};
  struct lumos_dates right = {0, 0};
  return lumos_job_dates(one->job, &left) && lumos_job_dates(other->job, &right) && left.start <= right.end &&
         right.start <= left.end && (left.start != right.start || left.end != right.end);
}

/* A trace that names no rank. */
struct nameless {
  struct trace_part *part;
};

static int compare_nameless(const void *a, const void *b) {
  const struct nameless *left = a, *right = b;
  return strcmp(left->part->name, right->part->name);
}

static void name_part(const struct parsing *parsing, struct trace_part *part) {
  int32_t rank = 0;
  while (is_taken(parsing, rank)) {
    rank++;
  }
  part->rank = rank;
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = part->job->ranks.items[0].rank; /* as the other notes of this part: set_ranks changes them together */
  lumos_job_note(part->job, "parse.assumed_rank", LUMOS_INFO, LUMOS_ABSENT, &scope,
                 "the trace does not say which rank it is; it got the lowest free number",
                 "name the ranks with --rank of lumos-parse or lumos-report");
}

/* Traces that name no rank get the lowest free ones, in the order of their names; those that did not run together could
 * be told apart by nothing but luck. */
static bool name_nameless(struct parsing *parsing) {
  LUMOS_VECTOR(struct nameless) nameless = {0};
  bool good = true;
  for (size_t i = 0; i < parsing->parts.count; i++) {
    struct trace_part *part = &parsing->parts.items[i];
    if (!part->is_stream && part->rank == LUMOS_ABSENT_INT) {
      lumos_vector_push(&nameless, ((struct nameless){part}));
    }
  }
  lumos_vector_sort(&nameless, compare_nameless);
  for (size_t i = 0; i < nameless.count && good; i++) {
    for (size_t k = 0; k < i && good; k++) {
      good = ran_together(nameless.items[k].part, nameless.items[i].part) ||
             lumos_fail(
                 parsing->error,
                 "%s and %s do not say which ranks they are; parse them apart, or name the ranks with --rank 0,1,...",
                 nameless.items[k].part->name, nameless.items[i].part->name);
    }
    if (good) {
      name_part(parsing, nameless.items[i].part);
    }
  }
  lumos_vector_free(&nameless);
  return good;
}

static bool settle_ranks(struct parsing *parsing) {
  if (parsing->options->rank_count > 0) {
    return take_given_ranks(parsing);
  }
  return name_nameless(parsing);
}

/* A job has as many ranks as its world, so a world that has no place for this one is not its own. */
static void check_world(struct lumos_job *job) {
  struct lumos_rank *rank = &job->ranks.items[0];
  if (rank->world == LUMOS_ABSENT_INT || rank->rank < rank->world) {
    return;
  }
  struct lumos_scope scope = lumos_everywhere;
  char text[128];
  scope.rank = rank->rank;
  (void)snprintf(
      text, sizeof text,
      "the trace counts %d ranks in the job, and this rank is not among them: the number of ranks is unknown",
      rank->world);
  rank->world = LUMOS_ABSENT_INT;
  lumos_job_note(job, "parse.wrong_world", LUMOS_WARNING, LUMOS_ABSENT, &scope, text, NULL);
}

static void set_ranks(struct parsing *parsing) {
  for (size_t i = 0; i < parsing->parts.count; i++) {
    struct trace_part *part = &parsing->parts.items[i];
    if (part->is_stream) {
      continue;
    }
    part->job->ranks.items[0].rank = part->rank;
    for (size_t n = 0; n < part->job->notes.count; n++) {
      part->job->notes.items[n].scope.rank = part->rank;
    }
    for (size_t m = 0; m < part->job->memory.count; m++) {
      part->job->memory.items[m].rank = part->rank;
    }
    check_world(part->job);
  }
}

static int compare_skipped(const void *a, const void *b) {
  const struct skipped *left = a, *right = b;
  return strcmp(left->path, right->path);
}

/* What is wrong with each, and what to do about the first. */
static bool fail_skipped(const struct parsing *parsing) {
  enum { SHOWN = 3 };
  size_t count = parsing->skipped.count;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < count && i < SHOWN; i++) {
    const struct skipped *skipped = &parsing->skipped.items[i];
    lumos_text_format(&text, "%s%s: %s", i > 0 ? ", " : "", shown_name(skipped->path), skipped->fault);
  }
  if (count > SHOWN) {
    lumos_text_format(&text, ", and %zu more files that are not traces", count - SHOWN);
  }
  lumos_text_add(&text, "", 1);
  (void)lumos_fail(parsing->error, "%s; %s", text.bytes, parsing->skipped.items[0].cure);
  lumos_text_free(&text);
  return false;
}

static void note_skipped(struct parsing *parsing, struct lumos_job *job) {
  lumos_vector_sort(&parsing->skipped, compare_skipped);
  for (size_t i = 0; i < parsing->skipped.count; i++) {
    const struct skipped *skipped = &parsing->skipped.items[i];
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "%s was left out: it %s", lumos_trace_base_name(shown_name(skipped->path)),
                      skipped->fault);
    lumos_text_add(&text, "", 1);
    lumos_job_note(job, "parse.not_a_trace", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes, skipped->cure);
    lumos_text_free(&text);
  }
}

static void note_other_runs(const struct parsing *parsing, struct lumos_job *job) {
  if (parsing->other_runs.files > 0) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "files of other runs were left out, as --run says: %.*s",
                      (int)parsing->other_runs.names.length, parsing->other_runs.names.bytes);
    lumos_text_add(&text, "", 1);
    lumos_job_note(job, "parse.other_runs", LUMOS_WARNING, (int64_t)parsing->other_runs.files, NULL, text.bytes, NULL);
    lumos_text_free(&text);
  }
}

/* The jobs of all parts, which the caller owns now. */
static struct lumos_job **take_jobs(struct parsing *parsing) {
  size_t count = parsing->parts.count;
  struct lumos_job **jobs = lumos_allocate(count * sizeof(struct lumos_job *));
  for (size_t i = 0; i < count; i++) {
    jobs[i] = parsing->parts.items[i].job;
  }
  parsing->parts.count = 0;
  return jobs;
}

static struct lumos_job *join_parts(struct parsing *parsing) {
  size_t count = parsing->parts.count;
  struct lumos_job **jobs = take_jobs(parsing);
  note_skipped(parsing, jobs[0]); /* before the join, which puts all notes in order */
  note_other_runs(parsing, jobs[0]);
  struct lumos_job *job = NULL;
  if (parsing->options->rank_count > 0 || lumos_groups_agree(jobs, count, parsing->error)) {
    job = lumos_job_join(jobs, count, parsing->error);
  } else {
    for (size_t i = 0; i < count; i++) {
      lumos_job_free(jobs[i]);
    }
  }
  free(jobs);
  return job;
}

static struct lumos_job *join_streams(struct parsing *parsing) {
  size_t count = parsing->parts.count;
  struct lumos_job **jobs = take_jobs(parsing);
  struct lumos_job *job = count == 1 ? jobs[0] : lumos_job_join(jobs, count, parsing->error);
  free(jobs);
  return job;
}

static size_t count_streams(const struct parsing *parsing) {
  size_t count = 0;
  for (size_t i = 0; i < parsing->parts.count; i++) {
    count += parsing->parts.items[i].is_stream;
  }
  return count;
}

static struct lumos_job *join_traces(struct parsing *parsing) {
  if (!lumos_trace_choose_run(&parsing->parts, parsing->options, &parsing->other_runs, parsing->error) ||
      !settle_ranks(parsing)) {
    return NULL;
  }
  set_ranks(parsing);
  return join_parts(parsing);
}

/* `parsed` is as in lumos_trace_open; NULL: streams go back to stage parse. */
static struct lumos_job *parse_paths(struct parsing *parsing, bool *parsed) {
  if (!read_files(parsing)) {
    return NULL;
  }
  size_t streams = count_streams(parsing);
  bool whole = parsing->keep_stage && streams > 0; /* what is named beside a stream is one, or a tool that failed */
  if ((parsing->parts.count == 0 || whole) && parsing->skipped.count > 0) {
    (void)fail_skipped(parsing);
    return NULL;
  }
  if (parsed == NULL) {
    return join_traces(parsing);
  }
  *parsed = streams < parsing->parts.count;
  if (!*parsed) {
    return join_streams(parsing);
  }
  for (size_t i = 0; i < parsing->parts.count; i++) {
    if (parsing->parts.items[i].is_stream) {
      lumos_job_rewind(parsing->parts.items[i].job, LUMOS_STAGE_PARSE);
    }
  }
  return join_traces(parsing);
}

static struct lumos_job *parse(const char *const *paths, size_t count, const struct lumos_trace_options *options,
                               bool *parsed, struct lumos_error *error) {
  struct parsing parsing = {.options = options, .keep_stage = parsed != NULL, .error = error};
  if (!lumos_trace_list_paths(paths, count, options, &parsing.paths, error)) {
    return NULL;
  }
  struct lumos_job *job = parse_paths(&parsing, parsed);
  for (size_t i = 0; i < parsing.parts.count; i++) {
    lumos_job_free(parsing.parts.items[i].job);
  }
  lumos_vector_free(&parsing.parts);
  for (size_t i = 0; i < parsing.skipped.count; i++) {
    free(parsing.skipped.items[i].fault);
  }
  lumos_vector_free(&parsing.skipped);
  lumos_text_free(&parsing.other_runs.names);
  lumos_trace_free_paths(&parsing.paths);
  return job;
}

struct lumos_job *lumos_trace_parse(const char *const *paths, size_t count, const struct lumos_trace_options *options,
                                    struct lumos_error *error) {
  return parse(paths, count, options, NULL, error);
}

struct lumos_job *lumos_trace_open(const char *const *paths, size_t count, const struct lumos_trace_options *options,
                                   bool *parsed, struct lumos_error *error) {
  return parse(paths, count, options, parsed, error);
}
