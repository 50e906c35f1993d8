/* One walk over the ranks and one over the tasks. */
#include "trace/tally.h"

#include "trace/classify.h"
#include <stdlib.h>
#include <string.h>

/* Of streams for events. */
struct waits {
  int64_t calls, rows;
};

struct counting {
  const struct lumos_job *job;
  struct lumos_checkup *checkup;
  struct trace_tallies *tallies;
  bool *several_streams;       /* [rank]: does work run on more than one? */
  struct waits *waits;         /* [rank] */
  bool hip;                    /* the calls are ROCm's */
  LUMOS_VECTOR(uint32_t) path; /* room for the way up from a span */
  uint8_t *around;             /* [span]: which of AROUND_... the rows around it and itself are or have */
};

/* Counts of a stream may be anything below 2^53. */
static int64_t sum(int64_t left, int64_t right) {
  const int64_t most = (INT64_C(1) << 53U) - 1;
  return left < most - right ? left + right : most;
}

/* Ranks */

/* How many ranks have a note of this code. */
static int64_t ranks_noted(const struct lumos_job *job, const char *code) {
  int64_t count = 0;
  bool *noted = lumos_allocate(job->ranks.count * sizeof *noted + 1);
  memset(noted, 0, job->ranks.count * sizeof *noted);
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    uint32_t rank = note->scope.rank != LUMOS_ABSENT_INT ? lumos_job_rank(job, note->scope.rank) : LUMOS_NONE;
    if (rank != LUMOS_NONE && !noted[rank] && strcmp(lumos_string(job->strings, note->code), code) == 0) {
      noted[rank] = true;
      count++;
    }
  }
  free(noted);
  return count;
}

/* Tasks of a rank on lanes of this kind, and how many such lanes have any. */
static int64_t work_on_lanes(const struct lumos_job *job, const struct lumos_rank *rank, enum lumos_lane_kind kind,
                             int64_t *lanes) {
  int64_t tasks = 0;
  for (uint32_t i = rank->lane_first; i < rank->lane_first + rank->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[i];
    if (lane->kind == kind && lane->task_count > 0) {
      tasks += lane->task_count;
      (*lanes)++;
    }
  }
  return tasks;
}

static void count_rank(struct counting *counting, uint32_t index) {
  const struct lumos_job *job = counting->job;
  const struct lumos_rank *rank = &job->ranks.items[index];
  struct lumos_checkup *checkup = counting->checkup;
  struct trace_tallies *tallies = counting->tallies;
  int64_t streams = 0;
  int64_t device_tasks = work_on_lanes(job, rank, LUMOS_STREAM, &streams);
  int64_t host_tasks = work_on_lanes(job, rank, LUMOS_THREAD, &checkup->threads);
  counting->several_streams[index] = streams > 1;
  checkup->device_tasks += device_tasks;
  checkup->host_tasks += host_tasks;
  checkup->streams += streams;
  checkup->events = sum(checkup->events, rank->coverage.events);
  tallies->device.of++;
  tallies->device.have += device_tasks > 0;
  tallies->world.have += rank->world != LUMOS_ABSENT_INT;
  tallies->sync.tried = tallies->sync.tried || rank->coverage.sync > 0;
  if (rank->world != LUMOS_ABSENT_INT && rank->world > checkup->world) {
    checkup->world = rank->world;
  }
  if (rank->window_end - rank->window_start > checkup->duration) {
    checkup->duration = rank->window_end - rank->window_start;
  }
  if (host_tasks > 0 && rank->coverage.python != LUMOS_ABSENT) {
    tallies->python.of++;
    tallies->python.have += rank->coverage.python > 0;
  }
  if (rank->coverage.skipped > 0) {
    tallies->events.of = sum(tallies->events.of, rank->coverage.skipped);
  }
}

/* Of the rows that were read, those that no note of this code counts; their categories stand behind the note's
 * colon. */
static void count_noted_rows(const struct counting *counting, const char *code, struct trace_tally *tally,
                             const char **categories) {
  const struct lumos_job *job = counting->job;
  int64_t rows = 0;
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    if (strcmp(lumos_string(job->strings, note->code), code) == 0) {
      const char *names = strstr(lumos_string(job->strings, note->text), ": ");
      *categories = *categories == NULL && names != NULL ? names + 2 : *categories;
      rows = sum(rows, note->count != LUMOS_ABSENT ? note->count : 1);
    }
  }
  int64_t events = counting->checkup->events > rows ? counting->checkup->events : rows;
  *tally = rows > 0 ? (struct trace_tally){.have = events - rows, .of = events} : *tally;
}

/* Where a device shows no work, rows that are not read may be it. */
static void count_categories(struct counting *counting) {
  struct trace_tallies *tallies = counting->tallies;
  count_noted_rows(counting, "parse.unknown_rows", &tallies->categories, &tallies->unknown_names);
  count_noted_rows(counting, "parse.unread_rows", &tallies->unread, &tallies->unread_names);
  if (tallies->unread.of > 0 && tallies->device.have < tallies->device.of) {
    tallies->unread_device = tallies->device;
    tallies->device = (struct trace_tally){0};
  }
}

/* What is told only where something is wrong, and what needs all ranks to be known. */
static void count_job(struct counting *counting) {
  const struct lumos_job *job = counting->job;
  struct lumos_checkup *checkup = counting->checkup;
  struct trace_tallies *tallies = counting->tallies;
  int64_t cut = ranks_noted(job, LUMOS_NOTE_CUT);
  if (cut > 0) {
    tallies->files = (struct trace_tally){.have = checkup->ranks - cut, .of = checkup->ranks};
  }
  if (tallies->events.of > 0) {
    tallies->events.have = checkup->events;
    tallies->events.of = sum(tallies->events.of, checkup->events);
  }
  if (checkup->world > 1) {
    tallies->ranks = (struct trace_tally){.have = checkup->ranks,
                                          .of = checkup->world > checkup->ranks ? checkup->world : checkup->ranks};
  }
  int64_t damaged = ranks_noted(job, "parse.skipped_metadata");
  if (damaged > 0) {
    tallies->metadata = (struct trace_tally){.have = checkup->ranks - damaged, .of = checkup->ranks};
  }
  if (tallies->calls.have == tallies->calls.of) {
    tallies->calls.of = 0;
  }
  count_categories(counting);
  tallies->world.of = checkup->communication > 0 && tallies->world.have < checkup->ranks ? checkup->ranks : 0;
}

/* Tasks */

static bool is_before_recording(const struct lumos_task *task) {
  return task->call == LUMOS_NONE && task->step == LUMOS_ABSENT_INT;
}

enum { AROUND_KNOWN = 1, AROUND_OP = 2, AROUND_SHAPES = 4 };

/* What is around a span. Every span is asked once: the way up ends where an earlier one came by. */
static uint8_t around(struct counting *counting, uint32_t span) {
  const struct lumos_span *spans = counting->job->spans.items;
  uint8_t found = AROUND_KNOWN;
  uint32_t top = span;
  while (top != LUMOS_NONE && counting->around[top] == 0) {
    top = spans[top].parent;
  }
  found |= top != LUMOS_NONE ? counting->around[top] : 0;
  uint8_t *known = counting->around;
  size_t depth = 0;
  for (uint32_t i = span; i != top; i = spans[i].parent) {
    lumos_vector_reserve(&counting->path, 1);
    counting->path.items[depth] = i;
    counting->path.count = ++depth;
  }
  for (; depth > 0; depth--) {
    const struct lumos_span *inner = &spans[counting->path.items[depth - 1]];
    found |= (uint8_t)((inner->kind == LUMOS_SPAN_OP ? AROUND_OP : 0) |
                       (inner->shapes != LUMOS_NO_STRING ? AROUND_SHAPES : 0));
    known[counting->path.items[depth - 1]] = found;
  }
  counting->path.count = 0;
  return found;
}

static void count_communication(struct counting *counting, const struct lumos_task *task) {
  const struct lumos_comm *comm = &lumos_detail_of(counting->job, task)->comm;
  struct trace_tally *tally = &counting->tallies->communication;
  bool named = (comm->group != LUMOS_NO_STRING || comm->id != LUMOS_NO_STRING) && comm->bytes != LUMOS_ABSENT;
  counting->checkup->communication++;
  tally->of++;
  tally->have += named;
  tally->before += !named && is_before_recording(task);
}

/* Did its rank record calls? */
static bool has_calls(const struct lumos_job *job, const struct lumos_task *task) {
  return job->ranks.items[lumos_rank_of(job, task)].coverage.launched > 0;
}

static void count_device_task(struct counting *counting, const struct lumos_task *task) {
  const struct lumos_job *job = counting->job;
  struct trace_tallies *tallies = counting->tallies;
  tallies->launches.of++;
  if (lumos_is_communication(task->kind)) {
    count_communication(counting, task);
  }
  bool of_recording = task->call != LUMOS_NONE || (task->step != LUMOS_ABSENT_INT && has_calls(job, task));
  tallies->calls.of += of_recording;
  tallies->calls.have += task->call != LUMOS_NONE;
  if (task->call == LUMOS_NONE) {
    return;
  }
  const struct lumos_task *call = &job->tasks.items[task->call];
  uint8_t found = around(counting, call->span);
  bool in_op = (found & AROUND_OP) != 0;
  bool in_graph = lumos_trace_matches("graphlaunch", lumos_string(job->strings, call->name));
  counting->hip = counting->hip || strncmp(lumos_string(job->strings, call->name), "hip", 3) == 0;
  tallies->launches.have++;
  tallies->ops.of++;
  tallies->ops.have += in_op;
  if (in_graph) {
    tallies->graphs.of += job->ranks.items[lumos_rank_of(job, task)].coverage.graph_nodes != LUMOS_ABSENT;
  } else if (in_op && task->kind == LUMOS_GEMM) {
    tallies->shapes.of++;
    tallies->shapes.have += (found & AROUND_SHAPES) != 0;
  }
}

/* Of waits for which it matters: what waits for a device, or for its own work, says so by its name alone. */
static void count_host_task(struct counting *counting, const struct lumos_task *task) {
  const struct lumos_detail *detail = lumos_detail_of(counting->job, task);
  struct trace_tally *tally = &counting->tallies->sync;
  bool named = detail->event_id != LUMOS_NO_STRING || detail->wait.record != LUMOS_NONE;
  if (detail->event_op == LUMOS_EVENT_WAIT) {
    struct waits *waits = &counting->waits[lumos_rank_of(counting->job, task)];
    waits->calls++;
    waits->rows += named || detail->wait.on == LUMOS_WAIT_EVENT;
    tally->have += named;
  } else if (detail->wait.on == LUMOS_WAIT_EVENT) {
    tally->of++;
    tally->have += named;
  } else if (detail->wait.on == LUMOS_WAIT_STREAM) {
    tally->of++;
    tally->have += detail->wait.lane != LUMOS_NONE;
  }
}

/* Kineto writes no row for a stream that does no work in the recording: where it writes any, a wait without one holds
 * nothing up. */
static void count_stream_waits(struct counting *counting) {
  for (size_t i = 0; i < counting->job->ranks.count; i++) {
    const struct waits *waits = &counting->waits[i];
    counting->tallies->sync.of += waits->rows > 0 ? waits->rows : waits->calls;
  }
}

static void count_tasks(struct counting *counting) {
  const struct lumos_job *job = counting->job;
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (lumos_on_stream(job, task)) {
      count_device_task(counting, task);
    } else if (counting->several_streams[lumos_rank_of(job, task)]) {
      count_host_task(counting, task);
    }
  }
  count_stream_waits(counting);
  struct trace_tally *graphs = &counting->tallies->graphs;
  for (size_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_coverage *coverage = &job->ranks.items[i].coverage;
    graphs->have += coverage->graph_nodes > 0 && graphs->have < graphs->of ? coverage->graph_nodes : 0;
  }
  graphs->have = graphs->have < graphs->of ? graphs->have : graphs->of;
}

static int compare_steps(const void *a, const void *b) {
  int32_t left = *(const int32_t *)a;
  int32_t right = *(const int32_t *)b;
  return LUMOS_ORDER(left, right);
}

/* Steps that a mark of the profiler names; a recording without marks has none, though its tasks count as step 0. */
static void count_steps(struct counting *counting) {
  enum { NEEDED = 2 };
  const struct lumos_job *job = counting->job;
  LUMOS_VECTOR(int32_t) steps = {0};
  for (size_t i = 0; i < job->tasks.count; i++) {
    int32_t step = job->tasks.items[i].step;
    if (step != LUMOS_ABSENT_INT && (steps.count == 0 || step != steps.items[steps.count - 1])) {
      lumos_vector_push(&steps, step);
    }
  }
  int64_t count = steps.count > 0;
  lumos_vector_sort(&steps, compare_steps);
  for (size_t i = 1; i < steps.count; i++) {
    count += steps.items[i] != steps.items[i - 1];
  }
  lumos_vector_free(&steps);
  int64_t idle = ranks_noted(job, "parse.idle_steps");
  count = ranks_noted(job, "parse.no_steps") + idle == (int64_t)job->ranks.count ? 0 : count;
  counting->checkup->steps = count;
  counting->checkup->idle_steps = count == 0 && idle > 0;
  struct trace_tally *tally =
      counting->checkup->idle_steps ? &counting->tallies->idle_steps : &counting->tallies->steps;
  *tally = (struct trace_tally){.have = count < NEEDED ? count : NEEDED, .of = NEEDED};
}

void lumos_trace_tally(const struct lumos_job *job, struct lumos_checkup *checkup, struct trace_tallies *tallies) {
  *tallies = (struct trace_tallies){0};
  struct counting counting = {.job = job, .checkup = checkup, .tallies = tallies};
  checkup->ranks = (int64_t)job->ranks.count;
  checkup->world = LUMOS_ABSENT;
  counting.around = lumos_allocate_zeroed(job->spans.count + 1, sizeof *counting.around);
  counting.several_streams = lumos_allocate(job->ranks.count * sizeof(bool) + 1);
  counting.waits = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *counting.waits);
  for (size_t i = 0; i < job->ranks.count; i++) {
    count_rank(&counting, (uint32_t)i);
  }
  count_tasks(&counting);
  count_steps(&counting);
  count_job(&counting);
  free(counting.waits);
  free(counting.several_streams);
  free(counting.around);
  lumos_vector_free(&counting.path);
  if (counting.hip) {
    tallies->sync_hip = tallies->sync;
    tallies->graphs_hip = tallies->graphs;
    tallies->sync = tallies->graphs = (struct trace_tally){0};
  }
}
