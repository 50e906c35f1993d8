/* What was launched before the recording has no call, but stands on a stream: it is the end of a step, and takes over
 * what is known of the end of one that was recorded whole, where the names agree. Of several, the one that agrees best,
 * the first of them. */
#include "program/recovery/recovery.h"

enum { AGREE_IN_HUNDRED = 80, MOST_STEPS = 16 };

/* How many of the `count` tasks before `first` have the name of the one as far before `end`. */
static uint32_t count_alike(const struct lumos_task *tasks, uint32_t first, uint32_t end, uint32_t count) {
  uint32_t alike = 0;
  for (uint32_t i = 1; i <= count; i++) {
    alike += tasks[first - i].name == tasks[end - i].name;
  }
  return alike;
}

static void take_over(const struct lumos_job *job, const struct lumos_lane *lane) {
  struct lumos_task *tasks = job->tasks.items + lane->task_first;
  uint32_t first = 0, best = 0, most = 0;
  while (first < lane->task_count && tasks[first].call == LUMOS_NONE) {
    first++;
  }
  for (uint32_t end = first, steps = 0; end < lane->task_count && steps < MOST_STEPS; steps++) {
    uint32_t start = end;
    while (end < lane->task_count && tasks[end].step == tasks[start].step) {
      end++;
    }
    uint32_t count = end - first < first ? end - first : first, alike = count_alike(tasks, first, end, count);
    if (alike > most && alike * UINT64_C(100) >= (uint64_t)count * AGREE_IN_HUNDRED) {
      most = alike;
      best = end;
    }
  }
  for (uint32_t i = 1; best > 0 && i <= first && i <= best - first; i++) {
    struct lumos_task *task = &tasks[first - i];
    const struct lumos_task *like = &tasks[best - i];
    if (task->name == like->name) {
      task->phase = like->phase;
      task->part = like->part;
      task->layer = like->layer;
      task->micro_batch = like->micro_batch;
    }
  }
}

void lumos_program_before(struct lumos_job *job, uint32_t rank) {
  const struct lumos_rank *of = &job->ranks.items[rank];
  for (uint32_t i = 0; i < of->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[of->lane_first + i];
    if (lane->kind == LUMOS_STREAM && lane->task_count > 0) {
      take_over(job, lane);
    }
  }
}
