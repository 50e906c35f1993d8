/* What no dependency ties to each other, though it is so in truth: threads that launch work side by side, and
 * communication of several ranks.
 *
 * A training step is launched by two threads: the backward's starts when the forward's hands over to it, and the
 * forward's goes on when it returns. Where the graph does not know that, an unchanged job replays all the same, for
 * gaps are kept; after a change each thread moves by itself.
 *
 * Communication that is joined with no other rank's keeps its length, waiting included: a rank that waits for another
 * goes on waiting as long after a change that makes the other faster.
 */
#include "transform/untied.h"

#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

static bool drives_the_device(const struct lumos_lane *lane, const uint8_t *launches) {
  bool drives = false;
  for (uint32_t t = lane->task_first; !drives && t < lane->task_first + lane->task_count; t++) {
    drives = launches[t];
  }
  return drives && lane->kind == LUMOS_THREAD;
}

/* Ranks in which several threads launch work and no hand-over ties them to each other. */
static int64_t count_untied(const struct lumos_job *job) {
  uint8_t *tied = lumos_allocate_zeroed(job->tasks.count, 1); /* by task: handed over to */
  for (size_t i = 0; i < job->deps.count; i++) {
    if (job->deps.items[i].kind == LUMOS_HANDOVER) {
      tied[job->deps.items[i].dst] = 1;
    }
  }
  uint8_t *launches = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (job->tasks.items[t].call != LUMOS_NONE) {
      launches[job->tasks.items[t].call] = 1;
    }
  }
  int64_t untied = 0;
  for (size_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    int threads = 0;
    for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
      threads += drives_the_device(&job->lanes.items[l], launches);
    }
    bool ties = memchr(tied + rank->task_first, 1, rank->task_count) != NULL;
    untied += threads > 1 && !ties;
  }
  free(launches);
  free(tied);
  return untied;
}

/* By an earlier change. */
void lumos_note_untied_threads(struct lumos_job *job) {
  const char *code = LUMOS_NOTE_UNTIED_THREADS;
  int64_t untied = lumos_job_has_note(job, code) ? 0 : count_untied(job);
  if (untied > 0) {
    lumos_job_note(job, code, LUMOS_WARNING, untied, NULL,
                   "ranks launch work from several threads whose hand-overs are unknown, so each thread moves "
                   "independently; do not read the step time as a prediction",
                   NULL);
  }
}

/* Much: one part in so many of what streams do. Chosen: with less, waiting that stays moves a step by less than others
 * of a prediction's errors. */
enum { MUCH_ONE_IN = 20 };

/* 0 where they take little. */
static int64_t count_untied_communication(const struct lumos_job *job) {
  uint8_t *tied = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    for (uint32_t m = 0; collective->transfer != LUMOS_ABSENT && m < collective->member_count; m++) {
      tied[job->members.items[collective->member_first + m]] = 1;
    }
  }
  int64_t count = 0;
  __int128 untied = 0, all = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool alone = lumos_is_communication(task->kind) && !tied[t];
    all += lumos_on_stream(job, task) ? task->dur : 0;
    untied += alone ? task->dur : 0;
    count += alone;
  }
  free(tied);
  return untied * MUCH_ONE_IN >= all ? count : 0;
}

void lumos_note_untied_communication(struct lumos_job *job) {
  const char *code = LUMOS_NOTE_UNTIED_COMMUNICATION;
  int64_t untied = job->ranks.count > 1 && !lumos_job_has_note(job, code) ? count_untied_communication(job) : 0;
  if (untied > 0) {
    lumos_job_note(job, code, LUMOS_WARNING, untied, NULL,
                   "communication kernels are not joined with other ranks', so their waiting stays as measured; do not "
                   "read the step time as a prediction",
                   "record the arguments of collectives (record_shapes=True with CPU activities)");
  }
}
