/* A job made out of all pieces of another one, in another order, and what of its text is about the program. */
#ifndef LUMOS_TESTS_COPIED_JOB_H
#define LUMOS_TESTS_COPIED_JOB_H

#include "unit/stream_unit.h"

#include "job/builder.h"
#include "job/own.h"
#include <string.h>

static const struct lumos_built_task no_task = {LUMOS_NONE};
static const struct lumos_built_span no_span = {LUMOS_NONE};

struct copies {
  struct lumos_builder *builder;
  struct lumos_built_rank *ranks;
  struct lumos_built_lane *lanes;
  struct lumos_built_span *spans;
  struct lumos_built_task *tasks;
};

static inline struct lumos_built_task copy_of(const struct copies *copies, uint32_t task) {
  return task == LUMOS_NONE ? no_task : copies->tasks[task];
}

/* Ranks from the last to the first, of each the threads behind the streams: order is found at the end. */
static inline void copy_frame(struct copies *copies, const struct lumos_job *job) {
  for (uint32_t r = (uint32_t)job->ranks.count; r-- > 0;) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    copies->ranks[r] = lumos_build_rank(copies->builder, r, rank->rank);
    for (uint32_t i = rank->lane_count; i-- > 0;) {
      uint32_t lane = rank->lane_first + i;
      copies->lanes[lane] = lumos_build_lane(copies->builder, lane, copies->ranks[r]);
    }
    for (uint32_t i = 0; i < rank->span_count; i++) {
      uint32_t span = rank->span_first + i, parent = job->spans.items[span].parent;
      copies->spans[span] = lumos_build_span(copies->builder, span, copies->ranks[r],
                                             parent == LUMOS_NONE ? no_span : copies->spans[parent], no_span);
    }
  }
  for (uint32_t i = 0; i < job->groups.count; i++) {
    const struct lumos_group *group = &job->groups.items[i];
    lumos_build_group(copies->builder, i, copies->ranks[group->rank], job->group_ranks.items + group->member_first,
                      group->member_count);
  }
}

static inline void copy_tasks(struct copies *copies, const struct lumos_job *job) {
  for (uint32_t l = (uint32_t)job->lanes.count; l-- > 0;) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
      const struct lumos_task *task = &job->tasks.items[t];
      copies->tasks[t] = lumos_build_task(copies->builder, t, copies->lanes[l], lumos_own_times(job, t), task->step);
      if (task->span != LUMOS_NONE) {
        lumos_build_span_of(copies->builder, copies->tasks[t], copies->spans[task->span]);
      }
    }
  }
}

static inline void close_ports(const struct copies *copies, const struct lumos_job *job, uint32_t but) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const struct lumos_detail *detail = lumos_detail_of(job, task);
    if (t != but && lumos_on_stream(job, task)) {
      lumos_build_origin(copies->builder, copies->tasks[t], (enum lumos_task_origin)lumos_timing_of(job, t)->origin,
                         copy_of(copies, task->call));
    }
    if (detail->first_segment != LUMOS_NONE) {
      lumos_build_segment(copies->builder, copies->tasks[t], copies->tasks[detail->first_segment]);
    }
    if (t != but && detail->wait.record != LUMOS_NONE) {
      lumos_build_record(copies->builder, copies->tasks[t], copies->tasks[detail->wait.record]);
    }
  }
  for (uint32_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    lumos_build_dep(copies->builder, i, copy_of(copies, dep->src), dep->at, copies->tasks[dep->dst]);
  }
  for (uint32_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    struct lumos_built_task members[8];
    bool whole = true;
    for (uint32_t m = 0; m < collective->member_count; m++) {
      uint32_t member = job->members.items[collective->member_first + m];
      whole = whole && member != but;
      members[m] = copies->tasks[member];
    }
    if (whole) {
      lumos_build_collective(copies->builder, i, members, collective->member_count, collective->size);
    }
  }
}

/* A copy in which the ports of task `but` stay open (LUMOS_NONE: of none). */
static inline struct lumos_job *copied(const struct lumos_job *job, uint32_t but, struct lumos_error *error) {
  struct copies copies = {.builder = lumos_builder_new(job)};
  copies.ranks = lumos_allocate(job->ranks.count * sizeof *copies.ranks);
  copies.lanes = lumos_allocate(job->lanes.count * sizeof *copies.lanes);
  copies.spans = lumos_allocate(job->spans.count * sizeof *copies.spans);
  copies.tasks = lumos_allocate(job->tasks.count * sizeof *copies.tasks);
  copy_frame(&copies, job);
  copy_tasks(&copies, job);
  close_ports(&copies, job, but);
  struct lumos_job *copy = lumos_builder_finish(copies.builder, error);
  lumos_builder_free(copies.builder);
  free(copies.ranks);
  free(copies.lanes);
  free(copies.spans);
  free(copies.tasks);
  return copy;
}

/* What of a stream is about its making, or its measured times, struck out. */
static inline char *about_the_program(const struct lumos_job *job) {
  static const char *const keys[] = {"stage", "edited", "start", "from", "covers", "own_lag", "own_dur", "lag"};
  char *text = stream_text(job);
  size_t to = 0;
  for (const char *at = text; *at != '\0';) {
    bool struck = false;
    for (size_t k = 0; k < sizeof keys / sizeof *keys && !struck; k++) {
      size_t length = strlen(keys[k]);
      struck = at[0] == ',' && at[1] == '"' && strncmp(at + 2, keys[k], length) == 0 && at[2 + length] == '"' &&
               (strcmp(keys[k], "lag") == 0 || strcmp(keys[k], "from") != 0 || at[4 + length] == '"');
    }
    if (struck) {
      for (at++; *at != ',' && *at != '}'; at++) {
      }
    } else {
      text[to++] = *at++;
    }
  }
  text[to] = '\0';
  return text;
}

#endif
