/* Small jobs by hand for the tests of src/graph: lanes and tasks in order, lags as parse would write them.
 *
 * Lanes are made in the order of the job (rank by rank, threads before streams), tasks lane by lane, so that indices
 * stay what the makers returned. Times are nanoseconds.
 */
#ifndef LUMOS_TESTS_GRAPH_JOB_H
#define LUMOS_TESTS_GRAPH_JOB_H

#include "unit.h"

#include <lumos/graph.h>

static inline uint32_t word(struct lumos_job *job, const char *text) { return lumos_intern_text(job->strings, text); }

static inline struct lumos_job *new_job(void) {
  struct lumos_job *job = lumos_job_new();
  job->stage = LUMOS_STAGE_PARSE;
  return job;
}

static inline uint32_t add_rank(struct lumos_job *job, int32_t number) {
  struct lumos_rank rank = lumos_rank_empty;
  rank.rank = number;
  rank.window_start = 0;
  rank.window_end = 1000000000;
  rank.base = 0;
  lumos_vector_push(&job->ranks, rank);
  return (uint32_t)job->ranks.count - 1;
}

static inline uint32_t add_lane(struct lumos_job *job, uint32_t rank, enum lumos_lane_kind kind, const char *native) {
  char name[32];
  (void)snprintf(name, sizeof name, "%c%s", kind == LUMOS_THREAD ? 't' : 's', native);
  struct lumos_lane lane = lumos_lane_empty;
  lane.rank = rank;
  lane.kind = (uint8_t)kind;
  lane.lane = word(job, name);
  lane.native = word(job, native);
  lumos_vector_push(&job->lanes, lane);
  return (uint32_t)job->lanes.count - 1;
}

static inline uint32_t add_thread(struct lumos_job *job, uint32_t rank, const char *native) {
  return add_lane(job, rank, LUMOS_THREAD, native);
}

static inline uint32_t add_stream(struct lumos_job *job, uint32_t rank, const char *native) {
  return add_lane(job, rank, LUMOS_STREAM, native);
}

static inline uint32_t add_task(struct lumos_job *job, uint32_t lane, enum lumos_task_kind kind, const char *name,
                                int64_t start, int64_t dur) {
  struct lumos_task task = lumos_task_empty;
  task.lane = lane;
  task.kind = (uint8_t)kind;
  task.name = word(job, name);
  task.start = start;
  task.dur = dur;
  task.step = 0;
  task.lag = 0;
  for (size_t i = 0; i < job->tasks.count; i++) {
    if (lumos_rank_of(job, &job->tasks.items[i]) == job->lanes.items[lane].rank) {
      task.id++;
    }
  }
  if (job->tasks.count > 0 && job->tasks.items[job->tasks.count - 1].lane == lane) {
    const struct lumos_task *previous = &job->tasks.items[job->tasks.count - 1];
    task.seq = previous->seq + 1;
    int64_t lag = start - previous->start - previous->dur;
    task.lag = job->lanes.items[lane].kind == LUMOS_THREAD || lag < 0 ? lag : 0;
  }
  lumos_vector_push(&job->tasks, task);
  return (uint32_t)job->tasks.count - 1;
}

static inline uint32_t add_launch(struct lumos_job *job, uint32_t thread, int64_t start, int64_t dur) {
  return add_task(job, thread, LUMOS_LAUNCH, "cudaLaunchKernel", start, dur);
}

/* On a stream: `call` may be LUMOS_NONE, for work launched before the recording. */
static inline uint32_t add_kernel(struct lumos_job *job, uint32_t stream, int64_t start, int64_t dur, uint32_t call) {
  uint32_t task = add_task(job, stream, LUMOS_ELEMENTWISE, "add", start, dur);
  job->tasks.items[task].call = call;
  if (call == LUMOS_NONE) {
    job->tasks.items[task].step = LUMOS_ABSENT_INT;
  }
  return task;
}

static inline struct lumos_detail *detail(struct lumos_job *job, uint32_t task) {
  return lumos_task_detail(job, &job->tasks.items[task]);
}

/* A call that waits; lane or record may be LUMOS_NONE. */
static inline uint32_t add_wait(struct lumos_job *job, uint32_t thread, int64_t start, int64_t dur,
                                enum lumos_wait_on on, uint32_t lane, uint32_t record) {
  uint32_t task = add_task(job, thread, LUMOS_SYNC, "cudaStreamSynchronize", start, dur);
  detail(job, task)->wait = (struct lumos_wait){(uint8_t)on, lane, record, LUMOS_ABSENT};
  return task;
}

/* A call that records an event on a stream, which may be LUMOS_NONE. */
static inline uint32_t add_record(struct lumos_job *job, uint32_t thread, int64_t start, int64_t dur, uint32_t stream) {
  uint32_t task = add_task(job, thread, LUMOS_EVENT, "cudaEventRecord", start, dur);
  detail(job, task)->event_op = LUMOS_EVENT_RECORD;
  detail(job, task)->event_lane = stream;
  return task;
}

/* A call that makes a stream wait for a record; both may be LUMOS_NONE. */
static inline uint32_t add_stream_wait(struct lumos_job *job, uint32_t thread, int64_t start, int64_t dur,
                                       uint32_t stream, uint32_t record) {
  uint32_t task = add_task(job, thread, LUMOS_EVENT, "cudaStreamWaitEvent", start, dur);
  detail(job, task)->event_op = LUMOS_EVENT_WAIT;
  detail(job, task)->event_lane = stream;
  detail(job, task)->wait = (struct lumos_wait){LUMOS_WAIT_EVENT, LUMOS_NONE, record, LUMOS_ABSENT};
  return task;
}

/* Arrange the job and build its graph. */
static inline void build(struct lumos_job *job) {
  struct lumos_error error = {0};
  if (!lumos_job_arrange(job, &error) || !lumos_graph_build(job, &error)) {
    fail_msg("%s", error.text);
  }
}

static inline const struct lumos_timing *timing(const struct lumos_job *job, uint32_t task) {
  return lumos_timing_of(job, task);
}

static inline int64_t wait_residual(const struct lumos_job *job, uint32_t task) {
  return lumos_detail_of(job, &job->tasks.items[task])->wait.residual;
}

/* The only dependency of that kind into the task; NULL: there is none. */
static inline const struct lumos_dep *dep_into(const struct lumos_job *job, uint32_t task, enum lumos_dep_kind kind) {
  const struct lumos_dep *found = NULL;
  for (size_t i = 0; i < job->deps.count; i++) {
    if (job->deps.items[i].dst == task && job->deps.items[i].kind == kind) {
      assert_null(found);
      found = &job->deps.items[i];
    }
  }
  return found;
}

/* The count of the note with that code and of that rank; 0: there is none. */
static inline int64_t noted_of_rank(const struct lumos_job *job, int32_t rank, const char *code) {
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    if (strcmp(lumos_string(job->strings, note->code), code) == 0 &&
        (rank == LUMOS_ABSENT_INT || note->scope.rank == rank)) {
      return note->count;
    }
  }
  return 0;
}

/* Of whatever rank. */
static inline int64_t noted(const struct lumos_job *job, const char *code) {
  return noted_of_rank(job, LUMOS_ABSENT_INT, code);
}

#endif
