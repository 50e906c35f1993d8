/* Where lanes stand: a rank's processes lie together, and in them each measured lane before its simulated one. Numbers
 * are dense, for those of the recording are the same on every rank and every host; names tell what was recorded.
 */
#include "export/writer.h"

#include <lumos/sim.h>
#include <stdlib.h>
#include <string.h>

/* Lane n is 2n + 2 as measured and 2n + 3 as simulated; recordings are behind all lanes, second rows behind these. */
enum { FIRST_THREAD = 2 };

struct export_place lumos_export_lane(const struct export_writer *writer, uint32_t lane,
                                      enum export_timeline timeline) {
  return (struct export_place){writer->process_of_lane[lane] + 1, FIRST_THREAD + 2 * lane + (uint32_t)timeline};
}

struct export_place lumos_export_recording(const struct export_writer *writer, uint32_t rank) {
  return (struct export_place){writer->process_of_rank[rank] + 1,
                               FIRST_THREAD + 2 * (uint32_t)writer->job->lanes.count + rank};
}

uint32_t lumos_export_threads(const struct export_writer *writer) {
  return FIRST_THREAD + 4 * (uint32_t)writer->job->lanes.count + (uint32_t)writer->job->ranks.count;
}

/* ---- Second rows ---- */

static uint8_t beside_of(enum export_timeline timeline) {
  return timeline == EXPORT_MEASURED ? EXPORT_BESIDE : EXPORT_BESIDE_SIMULATED;
}

bool lumos_export_is_beside(const struct export_writer *writer, uint32_t lane, enum export_timeline timeline) {
  return (writer->beside[lane] & beside_of(timeline)) != 0;
}

struct export_place lumos_export_beside(const struct export_writer *writer, uint32_t lane,
                                        enum export_timeline timeline) {
  struct export_place place = lumos_export_lane(writer, lane, timeline);
  place.thread += 2 * (uint32_t)writer->job->lanes.count + (uint32_t)writer->job->ranks.count;
  return place;
}

struct export_place lumos_export_row(const struct export_writer *writer, uint32_t t, enum export_timeline timeline) {
  uint32_t lane = writer->job->tasks.items[t].lane;
  bool beside = (writer->flags[t] & beside_of(timeline)) != 0;
  return (beside ? lumos_export_beside : lumos_export_lane)(writer, lane, timeline);
}

struct row {
  struct export_interval is;
  uint32_t task;
};
LUMOS_VECTOR_TYPE(rows, struct row);

/* As Perfetto takes them: the longer one first where two start at once. */
static int by_start(const void *left, const void *right) {
  const struct row *a = left, *b = right;
  return a->is.start != b->is.start ? LUMOS_ORDER(a->is.start, b->is.start)
         : a->is.end != b->is.end   ? LUMOS_ORDER(b->is.end, a->is.end)
                                    : LUMOS_ORDER(a->task, b->task);
}

/* Of three at once one stays where it crosses another. */
static void settle_lane(struct export_writer *writer, uint32_t lane, struct rows *rows, enum export_timeline timeline) {
  int64_t ends[2] = {INT64_MIN, INT64_MIN}; /* of the first row, and of the second */
  lumos_vector_sort(rows, by_start);
  for (size_t i = 0; i < rows->count; i++) {
    const struct row *row = &rows->items[i];
    bool beside = row->is.start < ends[0] && row->is.start >= ends[1];
    ends[beside] = row->is.end > ends[beside] ? row->is.end : ends[beside];
    if (beside) {
      writer->flags[row->task] |= beside_of(timeline);
      writer->beside[lane] |= beside_of(timeline);
    }
  }
  rows->count = 0;
}

void lumos_export_settle_rows(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  struct rows rows = {0};
  writer->beside = lumos_allocate_zeroed(job->lanes.count + 1, 1);
  for (int timeline = EXPORT_MEASURED; timeline <= EXPORT_SIMULATED; timeline++) {
    for (uint32_t t = 0; t < job->tasks.count; t++) {
      const struct lumos_task *task = &job->tasks.items[t];
      struct row row = {lumos_export_interval(writer, t, (enum export_timeline)timeline), t};
      if (lumos_on_stream(job, task) && row.is.start != LUMOS_ABSENT) {
        lumos_vector_push(&rows, row);
      }
      if (t + 1 == job->tasks.count || task[1].lane != task->lane) {
        settle_lane(writer, task->lane, &rows, (enum export_timeline)timeline);
      }
    }
  }
  lumos_vector_free(&rows);
}

bool lumos_export_names_device(const struct lumos_job *job, const struct lumos_lane *lane) {
  const char *label = lumos_string(job->strings, lane->lane);
  const char *end = *label == 'd' ? strchr(label, '.') : NULL;
  return lane->kind == LUMOS_STREAM && end != NULL && end - label <= EXPORT_DEVICE_TEXT;
}

void lumos_export_device(const struct lumos_job *job, const struct lumos_lane *lane, char text[EXPORT_DEVICE_TEXT]) {
  const char *label = lumos_string(job->strings, lane->lane);
  size_t length = 1;
  memcpy(text, "0", 2);
  if (lumos_export_names_device(job, lane)) {
    length = (size_t)(strchr(label, '.') - label) - 1;
    memcpy(text, label + 1, length);
  }
  text[length] = '\0';
}

static bool share_process(const struct lumos_job *job, uint32_t one, uint32_t other) {
  const struct lumos_lane *left = &job->lanes.items[one];
  const struct lumos_lane *right = &job->lanes.items[other];
  char devices[2][EXPORT_DEVICE_TEXT];
  lumos_export_device(job, left, devices[0]);
  lumos_export_device(job, right, devices[1]);
  return left->kind == right->kind &&
         (left->kind == LUMOS_STREAM ? strcmp(devices[0], devices[1]) == 0 : left->process == right->process);
}

/* The process of a lane, made when it is new; a rank's are the last ones. */
static uint32_t process_of(struct export_writer *writer, uint32_t rank, uint32_t lane) {
  uint32_t i = writer->process_of_rank[rank];
  for (; i < writer->processes.count; i++) {
    if (share_process(writer->job, writer->processes.items[i].lane, lane)) {
      return i;
    }
  }
  lumos_vector_push(&writer->processes, ((struct export_process){rank, lane}));
  return i;
}

static void place_lanes(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    const struct lumos_rank *record = &job->ranks.items[rank];
    writer->process_of_rank[rank] = (uint32_t)writer->processes.count;
    writer->host_shift[rank] = lumos_host_job_time(record, record->window_start) - record->window_start;
    int64_t device_shift = lumos_device_job_time(record, record->window_start) - record->window_start;
    for (uint32_t i = record->lane_first; i < record->lane_first + record->lane_count; i++) {
      const struct lumos_lane *lane = &job->lanes.items[i];
      writer->process_of_lane[i] = process_of(writer, rank, i);
      writer->shift[i] = lane->kind == LUMOS_STREAM ? device_shift : writer->host_shift[rank];
    }
    if (record->lane_count == 0) {
      lumos_vector_push(&writer->processes, ((struct export_process){rank, LUMOS_NONE}));
    }
  }
}

static void lower(int64_t *least, int64_t time) { *least = time < *least ? time : *least; }

/* Nothing lies before 0: readers take no negative times. */
static int64_t first_instant(const struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < job->ranks.count; i++) {
    lower(&least, job->ranks.items[i].window_start + writer->host_shift[i]);
  }
  for (size_t i = 0; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    lower(&least, span->start + writer->host_shift[span->rank]);
  }
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task->start != LUMOS_ABSENT) {
      lower(&least, task->start + writer->shift[task->lane]);
    }
    if (job->runs.items[i].start != LUMOS_ABSENT) {
      lower(&least, job->runs.items[i].start);
    }
  }
  return least == INT64_MAX ? 0 : least;
}

void lumos_export_place(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  writer->process_of_lane = lumos_allocate_zeroed(job->lanes.count, sizeof *writer->process_of_lane);
  writer->process_of_rank = lumos_allocate_zeroed(job->ranks.count, sizeof *writer->process_of_rank);
  writer->shift = lumos_allocate_zeroed(job->lanes.count, sizeof *writer->shift);
  writer->host_shift = lumos_allocate_zeroed(job->ranks.count, sizeof *writer->host_shift);
  place_lanes(writer);
  writer->zero = first_instant(writer);
}

void lumos_export_unplace(struct export_writer *writer) {
  free(writer->process_of_lane);
  free(writer->process_of_rank);
  free(writer->shift);
  free(writer->host_shift);
  free(writer->beside);
  lumos_vector_free(&writer->processes);
}

/* An event that says something of a place: {"name":WHAT,"args":{KEY:VALUE}} */
static void put_name(struct export_writer *writer, struct export_place place, const char *what, const char *value) {
  lumos_export_open(writer, 'M', place, 0, what);
  lumos_export_open_arguments(writer);
  lumos_export_string(writer, "name", value);
  lumos_export_close_arguments(writer);
  lumos_export_close(writer);
}

static void put_order(struct export_writer *writer, struct export_place place, const char *what, int64_t value) {
  lumos_export_open(writer, 'M', place, 0, what);
  lumos_export_open_arguments(writer);
  lumos_export_integer(writer, "sort_index", value);
  lumos_export_close_arguments(writer);
  lumos_export_close(writer);
}

static void name_process(struct export_writer *writer, uint32_t index) {
  const struct lumos_job *job = writer->job;
  const struct export_process *process = &writer->processes.items[index];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  const struct lumos_lane *lane = process->lane != LUMOS_NONE ? &job->lanes.items[process->lane] : NULL;
  bool stream = lane != NULL && lane->kind == LUMOS_STREAM;
  lumos_text_put(&text, writer->prefix != NULL ? writer->prefix : "");
  lumos_text_format(&text, "rank %d %s", (int)job->ranks.items[process->rank].rank, stream ? "device" : "host");
  if (stream && lumos_export_names_device(job, lane)) {
    char device[EXPORT_DEVICE_TEXT];
    lumos_export_device(job, lane, device);
    lumos_text_format(&text, " %s", device);
  } else if (lane != NULL && lane->process != LUMOS_NO_STRING) {
    lumos_text_format(&text, " process %s", lumos_string(job->strings, lane->process));
  }
  lumos_text_char(&text, '\0');
  struct export_place place = {index + 1, 0};
  put_name(writer, place, "process_name", text.bytes);
  put_order(writer, place, "process_sort_index", (int64_t)index + 1 + writer->first_process);
  lumos_text_free(&text);
}

/* "rank 0 thread 1382: pt_main", "rank 0 stream 7 (simulated)": the recorded name where it says more. */
static void name_lane(struct export_writer *writer, uint32_t index, enum export_timeline timeline) {
  const struct lumos_job *job = writer->job;
  const struct lumos_lane *lane = &job->lanes.items[index];
  const char *native = lumos_string(job->strings, lane->native);
  const char *name = lumos_string(job->strings, lane->name);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "rank %d %s %s", (int)job->ranks.items[lane->rank].rank,
                    lane->kind == LUMOS_STREAM ? "stream" : "thread", native);
  if (lane->name != LUMOS_NO_STRING && strstr(name, native) == NULL) {
    lumos_text_format(&text, ": %s", name);
  }
  lumos_text_put(&text, timeline == EXPORT_SIMULATED ? " (simulated)" : "");
  lumos_text_char(&text, '\0');
  struct export_place place = lumos_export_lane(writer, index, timeline);
  put_name(writer, place, "thread_name", text.bytes);
  put_order(writer, place, "thread_sort_index", place.thread);
  if (lumos_export_is_beside(writer, index, timeline)) {
    text.length--;
    lumos_text_put(&text, ", overlapping");
    lumos_text_char(&text, '\0');
    put_name(writer, lumos_export_beside(writer, index, timeline), "thread_name", text.bytes);
    put_order(writer, lumos_export_beside(writer, index, timeline), "thread_sort_index", place.thread);
  }
  lumos_text_free(&text);
}

void lumos_export_names(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  for (uint32_t i = 0; i < writer->processes.count; i++) {
    name_process(writer, i);
  }
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    put_name(writer, lumos_export_recording(writer, i), "thread_name", "recording");
    put_order(writer, lumos_export_recording(writer, i), "thread_sort_index", 0);
  }
  for (uint32_t i = 0; i < job->lanes.count; i++) {
    name_lane(writer, i, EXPORT_MEASURED);
    name_lane(writer, i, EXPORT_SIMULATED);
  }
}

struct export_interval lumos_export_interval(const struct export_writer *writer, uint32_t t,
                                             enum export_timeline timeline) {
  const struct lumos_run *run = &writer->job->runs.items[t];
  int64_t start = lumos_export_measured_start(writer, t);
  int64_t dur = export_measured_dur(writer->job, t);
  if (timeline == EXPORT_SIMULATED) {
    start = run->start == LUMOS_ABSENT || run->dur == LUMOS_ABSENT ? LUMOS_ABSENT : run->start - writer->zero;
    dur = run->dur;
  }
  return (struct export_interval){start, start == LUMOS_ABSENT ? LUMOS_ABSENT : start + dur};
}
