#include "rebuild/roles.h"

#include <string.h>

/* The outermost op around a task; LUMOS_NONE: there is none. */
static uint32_t outermost(const struct lumos_job *job, uint32_t task) {
  uint32_t found = LUMOS_NONE;
  for (uint32_t span = job->tasks.items[task].span; span != LUMOS_NONE; span = job->spans.items[span].parent) {
    found = job->spans.items[span].kind == LUMOS_SPAN_OP ? span : found;
  }
  return found;
}

static uint32_t end_of_op(const struct lumos_job *job, uint32_t task) {
  const struct lumos_lane *lane = &job->lanes.items[job->tasks.items[task].lane];
  uint32_t op = outermost(job, task), end = lane->task_first + lane->task_count;
  while (op != LUMOS_NONE && task + 1 < end && outermost(job, task + 1) == op) {
    task++;
  }
  return task;
}

/* Products count before all else. */
static __int128 computed_on(const struct lumos_job *job, const struct lumos_lane *lane) {
  __int128 products = 0, others = 0;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    products += task->kind == LUMOS_GEMM ? task->dur : 0;
    others += lumos_is_communication(task->kind) || lumos_is_copy(task->kind) ? 0 : task->dur;
  }
  return products * (1 << 20) + others;
}

uint32_t rebuild_compute_stream(const struct lumos_job *job, uint32_t rank) {
  const struct lumos_rank *record = &job->ranks.items[rank];
  uint32_t found = LUMOS_NONE;
  __int128 most = 0;
  for (uint32_t l = record->lane_first; l < record->lane_first + record->lane_count; l++) {
    __int128 computed = job->lanes.items[l].kind == LUMOS_STREAM ? computed_on(job, &job->lanes.items[l]) : 0;
    if (computed > most) {
      most = computed;
      found = l;
    }
  }
  return found;
}

bool rebuild_roles_find(struct rebuild_roles *roles, const struct lumos_job *job, uint32_t rank, int32_t step) {
  uint32_t compute = rebuild_compute_stream(job, rank);
  *roles = (struct rebuild_roles){LUMOS_NONE, compute, LUMOS_NONE, LUMOS_NONE};
  if (compute == LUMOS_NONE) {
    return false;
  }
  const struct lumos_lane *stream = &job->lanes.items[compute];
  for (uint32_t t = stream->task_first; t < stream->task_first + stream->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (task->step == step && task->call != LUMOS_NONE) {
      roles->last_kernel = t;
      bool forward = task->phase == LUMOS_FORWARD;
      roles->main = forward ? job->tasks.items[task->call].lane : roles->main;
    }
  }
  for (uint32_t t = stream->task_first; t < stream->task_first + stream->task_count; t++) {
    uint32_t call = job->tasks.items[t].call;
    bool here = call != LUMOS_NONE && job->tasks.items[t].step == step && job->tasks.items[call].lane == roles->main;
    roles->last_launch =
        here && (roles->last_launch == LUMOS_NONE || call > roles->last_launch) ? call : roles->last_launch;
  }
  roles->last_launch = roles->last_launch == LUMOS_NONE ? LUMOS_NONE : end_of_op(job, roles->last_launch);
  return roles->last_launch != LUMOS_NONE;
}

bool rebuild_goes_back(const struct lumos_job *job) {
  bool back = false;
  for (size_t t = 0; t < job->tasks.count && !back; t++) {
    back = job->tasks.items[t].phase == LUMOS_BACKWARD || job->tasks.items[t].phase == LUMOS_WEIGHT;
  }
  return back;
}

uint8_t rebuild_role_of(const struct lumos_job *job, size_t task) {
  lumos_string_id group = lumos_detail_of(job, &job->tasks.items[task])->comm.group;
  for (size_t g = 0; g < job->groups.count; g++) {
    if (group != LUMOS_NO_STRING && job->groups.items[g].id == group) {
      return job->groups.items[g].role;
    }
  }
  return 0;
}

bool rebuild_is_megatron(const struct lumos_job *job) {
  static const char *const marks[] = {"megatron", "VocabParallel", "LinearWithGradAccumulation",
                                      "MODEL_PARALLEL_GROUP"};
  for (uint32_t id = 1; id <= lumos_strings_count(job->strings); id++) {
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
      if (strstr(lumos_string(job->strings, id), marks[i]) != NULL) {
        return true;
      }
    }
  }
  return false;
}
