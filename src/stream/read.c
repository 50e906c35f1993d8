/* Streams as jobs. Line by line a record is taken apart and filed; at the end the counts are compared, references are
 * resolved, and the whole is put in order and checked.
 */
#include "job/check.h"
#include "job/own.h"
#include "stream/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of a lane in job->lanes, made when it is new. */
static uint32_t lane_of(struct lumos_reader *reader, int32_t rank, lumos_string_id name) {
  if (reader->last_lane < reader->job->lanes.count) {
    const struct lumos_lane *lane = &reader->job->lanes.items[reader->last_lane];
    if (lane->rank == (uint32_t)rank && lane->lane == name) {
      return reader->last_lane;
    }
  }
  uint32_t number = lumos_number_of(&reader->lane_numbers, lumos_key_pair((uint32_t)rank, name));
  if (number == reader->job->lanes.count) {
    struct lumos_lane lane = lumos_lane_empty;
    lane.rank = (uint32_t)rank;
    lane.lane = name;
    lumos_vector_push(&reader->job->lanes, lane);
    lumos_vector_push(&reader->lane_given, 0);
  }
  return number;
}

/* Give the lanes that the record mentions their places. */
static void settle_lanes(struct lumos_reader *reader, int32_t rank) {
  for (size_t i = 0; i < reader->lane_count; i++) {
    *reader->lanes[i].slot = lane_of(reader, rank, reader->lanes[i].lane);
  }
}

/* Indices are 32 bits. */
static bool room_for_one(struct lumos_reader *reader, size_t count) {
  return count < LUMOS_NONE - 1U ||
         lumos_reader_fail(reader, "more than 2^32-2 records of one type; no job has so many");
}

static bool file_lane(struct lumos_reader *reader) {
  struct lumos_lane *lane = &reader->other.lane;
  uint32_t index = lane_of(reader, reader->rank, lane->lane);
  if (reader->lane_given.items[index] != 0) {
    return lumos_reader_fail(reader, "lane %s of rank %d is given twice",
                             lumos_string(reader->job->strings, lane->lane), reader->rank);
  }
  reader->lane_given.items[index] = 1;
  lane->rank = (uint32_t)reader->rank;
  reader->job->lanes.items[index] = *lane;
  return true;
}

/* Runs are there for every task or for none. */
static void fill_runs(struct lumos_job *job) {
  while (job->runs.count < job->tasks.count) {
    lumos_vector_push(&job->runs, lumos_run_empty);
  }
}

/* After many records more will come: room for as many as the system backs with large pages, which are entered faster
 * than small ones. What of it is never used takes no memory. */
enum { MANY = 1 << 14, MORE = 1 << 18 };

static void expect_tasks(struct lumos_job *job) {
  lumos_vector_reserve(&job->tasks, MORE);
  if (job->runs.count > 0) {
    lumos_vector_reserve(&job->runs, 2 * MORE);
  }
}

static bool file_task(struct lumos_reader *reader) {
  struct lumos_job *job = reader->job;
  struct lumos_task *task = &reader->task;
  settle_lanes(reader, reader->rank);
  reader->last_lane = task->lane;
  task->detail = LUMOS_NONE;
  task->timing = LUMOS_NONE;
  if ((reader->parts_seen >> PART_DETAIL & 1U) != 0) {
    task->detail = (uint32_t)job->details.count;
    if (job->details.count == MANY) {
      lumos_vector_reserve(&job->details, MORE);
    }
    lumos_vector_push(&job->details, reader->detail);
  }
  if ((reader->parts_seen >> PART_TIMING & 1U) != 0) {
    task->timing = (uint32_t)job->timings.count;
    if (job->timings.count == MANY) {
      lumos_vector_reserve(&job->timings, MORE);
    }
    lumos_vector_push(&job->timings, reader->timing);
  }
  if ((reader->parts_seen >> PART_RUN & 1U) != 0) {
    fill_runs(job);
    lumos_vector_push(&job->runs, reader->run);
  }
  if (job->tasks.count == MANY) {
    expect_tasks(job);
  }
  lumos_vector_push(&job->tasks, *task);
  return room_for_one(reader, job->tasks.count);
}

static bool file_header(struct lumos_reader *reader) {
  if (reader->header_seen) {
    return lumos_reader_fail(reader, "a second header; give several streams as several files, and they are joined");
  }
  reader->header_seen = true;
  return true;
}

static bool file_end(struct lumos_reader *reader) {
  if (reader->end_seen) {
    return lumos_reader_fail(reader, "a second end record; give several streams as several files, and they are joined");
  }
  reader->end_seen = true;
  return true;
}

/* Scopes: a lane is one of the scope's rank. */
static bool settle_scope(struct lumos_reader *reader, const struct lumos_scope *scope) {
  if (reader->lane_count > 0 && scope->rank == LUMOS_ABSENT_INT) {
    return lumos_reader_fail(reader, "scope has a lane, but no rank that it is of");
  }
  settle_lanes(reader, scope->rank);
  return true;
}

static bool file_metric(struct lumos_reader *reader) {
  if (!settle_scope(reader, &reader->other.metric.scope)) {
    return false;
  }
  lumos_vector_push(&reader->job->metrics, reader->other.metric);
  return true;
}

static bool file_note(struct lumos_reader *reader) {
  if (!settle_scope(reader, &reader->other.note.scope)) {
    return false;
  }
  lumos_vector_push(&reader->job->notes, reader->other.note);
  return true;
}

static bool file_record(struct lumos_reader *reader, enum lumos_record_kind kind) {
  struct lumos_job *job = reader->job;
  switch (kind) {
    case RECORD_HEADER:
      return file_header(reader);
    case RECORD_RANK:
      lumos_vector_push(&job->ranks, reader->other.rank);
      return room_for_one(reader, job->ranks.count);
    case RECORD_GROUP:
      reader->other.group.rank = (uint32_t)reader->rank;
      lumos_vector_push(&job->groups, reader->other.group);
      return room_for_one(reader, job->groups.count);
    case RECORD_LANE:
      return file_lane(reader) && room_for_one(reader, job->lanes.count);
    case RECORD_SPAN:
      reader->other.span.rank = (uint32_t)reader->rank;
      settle_lanes(reader, reader->rank);
      if (job->spans.count == MANY) {
        lumos_vector_reserve(&job->spans, MORE);
      }
      lumos_vector_push(&job->spans, reader->other.span);
      return room_for_one(reader, job->spans.count);
    case RECORD_TASK:
      return file_task(reader);
    case RECORD_MEMORY:
      lumos_vector_push(&job->memory, reader->other.memory);
      return room_for_one(reader, job->memory.count);
    case RECORD_DEP:
      lumos_vector_push(&job->deps, reader->other.dep);
      return true;
    case RECORD_COLLECTIVE:
      lumos_vector_push(&job->collectives, reader->other.collective);
      return room_for_one(reader, job->collectives.count);
    case RECORD_MODEL:
      lumos_vector_push(&job->models, reader->other.model);
      return true;
    case RECORD_COMMON_ERROR:
      lumos_vector_push(&job->common_errors, reader->other.common_error);
      return room_for_one(reader, job->common_errors.count);
    case RECORD_PASS:
      lumos_vector_push(&job->recorded_passes, reader->other.pass);
      return true;
    case RECORD_METRIC:
      return file_metric(reader);
    case RECORD_NOTE:
      return file_note(reader);
    case RECORD_END:
      return file_end(reader);
    default:
      return true;
  }
}

static bool read_line(struct lumos_reader *reader, const char *line, size_t length) {
  lumos_string_id foreign = LUMOS_NO_STRING;
  if (!lumos_record_read(reader, line, length, &foreign)) {
    return false;
  }
  if (!reader->edited && reader->lines.number == 1 &&
      (foreign != LUMOS_NO_STRING || reader->type != &lumos_schema[RECORD_HEADER])) {
    bool sweep = foreign != LUMOS_NO_STRING && strcmp(lumos_string(reader->job->strings, foreign), "sweep") == 0;
    return lumos_reader_fail(reader, sweep ? "this is a sweep of configurations, not a job; lumos-sim --join-sweep "
                                             "-o page.html makes a page of it"
                                           : "a stream begins with its lumos record; " LUMOS_EDITED_CURE);
  }
  if (!reader->edited && reader->end_seen) {
    return lumos_reader_fail(
        reader, "something stands behind the end record; give several streams as several files, and they are joined");
  }
  if (foreign != LUMOS_NO_STRING) {
    struct lumos_foreign record = {foreign, lumos_intern(reader->job->strings, line, length)};
    lumos_vector_push(&reader->job->foreign, record);
    return true;
  }
  enum lumos_record_kind kind = (enum lumos_record_kind)(reader->type - lumos_schema);
  reader->counts[kind]++;
  return file_record(reader, kind);
}

/* The lines that there were, by type, against what the end record states. */
static bool compare_counts(struct lumos_reader *reader) {
  struct lumos_strings *strings = reader->job->strings;
  lumos_string_id types[RECORD_KINDS];
  for (int kind = 0; kind < RECORD_KINDS; kind++) {
    types[kind] = lumos_intern_text(strings, lumos_schema[kind].name);
  }
  int64_t *left = lumos_allocate_zeroed(lumos_strings_count(strings) + 1U, sizeof *left);
  for (int kind = 0; kind < RECORD_KINDS; kind++) {
    left[types[kind]] = (int64_t)reader->counts[kind];
  }
  for (size_t i = 0; i < reader->job->foreign.count; i++) {
    left[reader->job->foreign.items[i].type]++;
  }
  for (size_t i = 0; i < reader->stated.count; i++) {
    left[reader->stated.items[i].type] -= reader->stated.items[i].count;
  }
  bool good = true;
  for (uint32_t type = 1; type <= lumos_strings_count(strings) && good; type++) {
    if (left[type] != 0) {
      reader->recounted++;
      good =
          reader->edited ||
          lumos_fail(reader->error, "%s: there are %lld %s %s records than the end record says; " LUMOS_EDITED_CURE,
                     reader->name, llabs(left[type]), left[type] > 0 ? "more" : "fewer", lumos_string(strings, type));
    }
  }
  free(left);
  return good;
}

/* Say what --edited did. */
static void note_edits(struct lumos_reader *reader) {
  char text[256];
  if (reader->recounted + reader->dropped + reader->references == 0) {
    return;
  }
  (void)snprintf(text, sizeof text,
                 "The stream was changed on its way. Types of records with another count than its end says: %" PRId64
                 "; references to records that are gone: %" PRId64 "; records dropped with them: %" PRId64 ".",
                 reader->recounted, reader->references, reader->dropped);
  lumos_job_note(reader->job, "parse.edited_stream", LUMOS_WARNING,
                 reader->recounted + reader->references + reader->dropped, NULL, text,
                 "For figures to rely on, use the stream as lumos-parse wrote it.");
}

/* What can only be told once all lines are read. */
static bool finish(struct lumos_reader *reader) {
  struct lumos_job *job = reader->job;
  if (!reader->end_seen) {
    return lumos_reader_fail(
        reader, "the stream stops without its end record: the tool before it failed or was cut; run it again");
  }
  if (!reader->header_seen) {
    return lumos_fail(reader->error, "%s: there is no lumos record; make the stream again", reader->name);
  }
  if (reader->latest_stage > (uint8_t)job->stage) {
    return lumos_fail(reader->error,
                      "%s: line %llu: %.*s is of stage %s, but the stream says that it is at stage %s; make it again",
                      reader->name, (unsigned long long)reader->latest_line, reader->latest_length, reader->latest_what,
                      lumos_stage_name((enum lumos_stage)reader->latest_stage), lumos_stage_name(job->stage));
  }
  if (job->stage >= LUMOS_STAGE_SIM) {
    fill_runs(job);
  }
  if (!compare_counts(reader) || !lumos_reader_resolve(reader)) {
    return false;
  }
  /* Of the check's parts the others hold by now: fields were checked as they were read, order was made. */
  struct lumos_check check = {.job = job, .error = reader->error};
  if (!lumos_job_arrange(job, reader->error)) {
    return lumos_fail_prefix(reader->error, reader->name);
  }
  lumos_job_take_old(job, reader->edited);
  if (!lumos_check_relations(&check)) {
    return lumos_fail_prefix(reader->error, reader->name);
  }
  note_edits(reader);
  return true;
}

static bool is_blank(const char *line) { return *lumos_json_blank(line) == '\0'; }

#define TELL(index, vector)                                                                    \
  do {                                                                                         \
    size_t capacity = (vector).capacity * sizeof *(vector).items,                              \
           soon = (vector).count * sizeof *(vector).items + SOON;                              \
    lumos_ahead_tell(reader->ahead, index, (vector).items, soon < capacity ? soon : capacity); \
  } while (0)

/* Room that is entered while what comes before it is read. */
static void go_ahead(struct lumos_reader *reader) {
  enum { BEGIN = 1 << 20, SOON = 64 << 20 }; /* tasks; bytes */
  const struct lumos_job *job = reader->job;
  if (reader->ahead == NULL && reader->threads != 1 && job->tasks.count > BEGIN) {
    reader->ahead = lumos_ahead_begin(reader->threads);
    reader->threads = 1; /* begun once, or not at all */
  }
  TELL(0, job->tasks);
  TELL(1, job->details);
  TELL(2, job->timings);
  TELL(3, job->spans);
  TELL(4, job->runs);
}

enum { LINES_BETWEEN_LOOKS = 1024 };

static void show_progress(struct lumos_reader *reader) {
  if (reader->lines.number % LINES_BETWEEN_LOOKS == 0) {
    go_ahead(reader);
    const char *slash = strrchr(reader->name, '/');
    uint64_t consumed = 0;
    uint64_t size = 0;
    lumos_input_progress(reader->lines.input, &consumed, &size);
    lumos_watch(&reader->watcher, slash == NULL ? reader->name : slash + 1, LUMOS_WATCH_BYTES, consumed, size);
  }
}

static bool read_lines(struct lumos_reader *reader) {
  char *line = NULL;
  size_t length = 0;
  int more = 0;
  while ((more = lumos_lines_next(&reader->lines, &line, &length, reader->error)) == 1) {
    show_progress(reader);
    if (!reader->lines.whole && !reader->edited) {
      return lumos_reader_fail(reader,
                               "the stream stops within a record: the tool before it failed or was cut; run it again");
    }
    if (!(reader->edited && is_blank(line)) && !read_line(reader, line, length)) {
      return false;
    }
  }
  lumos_ahead_end(reader->ahead);
  reader->ahead = NULL;
  return more == 0 && finish(reader);
}

/* Is it a stream at all? The usual mistakes get messages of their own. */
static bool look(struct lumos_reader *reader) {
  static const char *const trace_words[] = {"\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"",
                                            "\"displayTimeUnit\"", "\"ph\""};
  const char *bytes = NULL;
  size_t length = 0;
  if (!lumos_lines_peek(&reader->lines, 4096, &bytes, &length, reader->error)) {
    return false;
  }
  if (length == 0) {
    return lumos_fail(reader->error,
                      "%s: is empty: the tool before it wrote nothing; see its message, and run it again",
                      reader->name);
  }
  if (lumos_stream_recognised(bytes, length)) {
    return true;
  }
  for (size_t i = 0; i < sizeof trace_words / sizeof *trace_words; i++) {
    if (memmem(bytes, length, trace_words[i], strlen(trace_words[i])) != NULL) {
      return lumos_fail(reader->error,
                        "%s: is not a Lumos stream but looks like a Kineto trace; run lumos-parse on it first",
                        reader->name);
    }
  }
  const char *place = bytes;
  while (place < bytes + length && strchr(" \t\r\n", *place) != NULL && *place != '\0') {
    place++;
  }
  return (place < bytes + length && *place == '{') ||
         lumos_fail(reader->error, "%s: is not a Lumos stream; give the output of lumos-parse or of a tool after it",
                    reader->name);
}

bool lumos_stream_recognised(const char *bytes, size_t length) {
  char start[64];
  if (length > sizeof start - 1) {
    length = sizeof start - 1;
  }
  memcpy(start, bytes, length);
  start[length] = '\0';
  struct lumos_json_members members;
  struct lumos_slice key;
  const char *cursor = lumos_json_blank(start);
  return lumos_json_open(&cursor, '{', &members) && lumos_json_key(&cursor, &members, &key) == 1 &&
         (lumos_json_is(&key, "type") || lumos_json_is(&key, "format") || lumos_json_is(&key, "stage") ||
          lumos_json_is(&key, "epoch") || lumos_json_is(&key, "history"));
}

static void begin(struct lumos_reader *reader) {
  reader->job = lumos_job_new();
  reader->unknown = LUMOS_TEXT_BUFFER;
  reader->unknown_inner = LUMOS_TEXT_BUFFER;
  reader->task_parts_used = (1U << LUMOS_PARTS) - 1;
  reader->last_lane = LUMOS_NONE;
  lumos_remembered_begin(&reader->remembered);
  for (int kind = 0; kind < RECORD_KINDS; kind++) {
    for (size_t i = 0; i < lumos_schema[kind].count; i++) {
      reader->required[kind] |= (uint64_t)lumos_schema[kind].fields[i].required << i;
    }
  }
}

static void release(struct lumos_reader *reader) {
  lumos_ahead_end(reader->ahead);
  lumos_remembered_finish(&reader->remembered);
  lumos_lines_finish(&reader->lines);
  lumos_vector_free(&reader->unknown_keys);
  lumos_text_free(&reader->unknown);
  lumos_text_free(&reader->unknown_inner);
  lumos_vector_free(&reader->decoded);
  lumos_vector_free(&reader->stated);
  lumos_vector_free(&reader->far);
  lumos_vector_free(&reader->lane_given);
  lumos_numbering_free(&reader->lane_numbers);
}

struct lumos_job *lumos_stream_read(struct lumos_input *input, const char *name,
                                    const struct lumos_read_options *options, struct lumos_error *error) {
  struct lumos_reader reader = {.name = name, .error = error};
  if (options != NULL) {
    reader.edited = options->edited;
    reader.watcher = options->watcher;
    reader.threads = options->threads;
  }
  begin(&reader);
  lumos_lines_begin(&reader.lines, input, name);
  bool good = look(&reader) && read_lines(&reader);
  release(&reader);
  if (!good) {
    lumos_job_free(reader.job);
    return NULL;
  }
  return reader.job;
}
