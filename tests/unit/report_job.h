/* Jobs made by hand for the report's tests: no trace, no simulator, every time given. */
#ifndef LUMOS_TESTS_REPORT_JOB_H
#define LUMOS_TESTS_REPORT_JOB_H

#include <lumos/job.h>
#include <string.h>

static inline uint32_t add_rank(struct lumos_job *job, int32_t number) {
  struct lumos_rank rank = lumos_rank_empty;
  rank.rank = number;
  rank.window_start = 0;
  rank.window_end = 1000000;
  lumos_vector_push(&job->ranks, rank);
  return (uint32_t)job->ranks.count - 1;
}

static inline uint32_t add_lane(struct lumos_job *job, uint32_t rank, const char *name, enum lumos_lane_kind kind) {
  struct lumos_lane lane = lumos_lane_empty;
  lane.rank = rank;
  lane.lane = lumos_intern_text(job->strings, name);
  lane.native = lumos_intern_text(job->strings, name + 1);
  lane.kind = (uint8_t)kind;
  lumos_vector_push(&job->lanes, lane);
  return (uint32_t)job->lanes.count - 1;
}

/* A task that is simulated as it was measured; the lanes' tasks are added lane by lane, in order. */
static inline uint32_t add_task(struct lumos_job *job, uint32_t lane, enum lumos_task_kind kind, const char *name,
                                int64_t start, int64_t dur) {
  struct lumos_task task = lumos_task_empty;
  task.id = (uint32_t)job->tasks.count;
  task.lane = lane;
  task.seq = job->lanes.items[lane].task_count++;
  task.kind = (uint8_t)kind;
  task.name = lumos_intern_text(job->strings, name);
  task.start = start;
  task.dur = dur;
  task.step = 0;
  lumos_vector_push(&job->tasks, task);
  struct lumos_run run = {start, dur};
  lumos_vector_push(&job->runs, run);
  return task.id;
}

static inline void add_metric(struct lumos_job *job, const char *name, int32_t rank, int32_t step,
                              enum lumos_source source, int64_t value, int decimals) {
  struct lumos_metric metric = lumos_metric_empty;
  metric.name = lumos_intern_text(job->strings, name);
  metric.unit = lumos_intern_text(job->strings, decimals == 0 ? "ns" : "share");
  metric.scope.rank = rank;
  metric.scope.step = step;
  metric.source = (uint8_t)source;
  metric.value = (struct lumos_decimal){value, decimals};
  lumos_vector_push(&job->metrics, metric);
}

/* The parts of one rank's step, in ns. */
struct parts {
  int64_t compute, overlapped, transfer, wait, unsplit, copy, idle, bubble;
};

static inline void add_parts(struct lumos_job *job, int32_t rank, int32_t step, enum lumos_source source,
                             struct parts parts) {
  int64_t communication = parts.transfer + parts.wait + parts.unsplit + parts.bubble;
  int64_t busy = parts.compute + parts.overlapped + communication + parts.copy;
  add_metric(job, "step_time", rank, step, source, busy + parts.idle, 0);
  add_metric(job, "exposed_compute", rank, step, source, parts.compute, 0);
  add_metric(job, "overlapped", rank, step, source, parts.overlapped, 0);
  add_metric(job, "exposed_communication", rank, step, source, communication, 0);
  add_metric(job, "communication_transfer", rank, step, source, parts.transfer, 0);
  add_metric(job, "communication_wait", rank, step, source, parts.wait, 0);
  if (parts.bubble > 0) {
    add_metric(job, "pipeline_bubble", rank, step, source, parts.bubble, 0);
  }
  add_metric(job, "communication_unsplit", rank, step, source, parts.unsplit, 0);
  add_metric(job, "exposed_copy", rank, step, source, parts.copy, 0);
  add_metric(job, "idle", rank, step, source, parts.idle, 0);
  add_metric(job, "gpu_busy", rank, step, source, busy, 0);
}

/* Ranges of tasks and lanes, and the stage. */
static inline void finish_job(struct lumos_job *job) {
  uint32_t task = 0;
  for (size_t i = 0; i < job->lanes.count; i++) {
    job->lanes.items[i].task_first = task;
    task += job->lanes.items[i].task_count;
  }
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    struct lumos_rank *record = &job->ranks.items[rank];
    record->lane_count = record->task_count = 0;
    for (uint32_t lane = 0; lane < job->lanes.count; lane++) {
      if (job->lanes.items[lane].rank == rank) {
        record->lane_first = record->lane_count++ == 0 ? lane : record->lane_first;
        record->task_first = record->task_count == 0 ? job->lanes.items[lane].task_first : record->task_first;
        record->task_count += job->lanes.items[lane].task_count;
      }
    }
  }
  job->stage = LUMOS_STAGE_SIM;
}

#endif
