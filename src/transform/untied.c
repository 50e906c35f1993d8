/* Threads that launch work side by side and that no dependency ties to each other.
 *
 * A training step is launched by two threads: the backward's starts when the forward's hands over to it, and the
 * forward's goes on when it returns. Where the graph does not know that, an unchanged job replays all the same, for
 * gaps are kept; after a change each thread moves by itself.
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

void lumos_note_untied_threads(struct lumos_job *job) {
  const char *code = "transform.untied_threads";
  for (size_t i = 0; i < job->notes.count; i++) {
    if (strcmp(lumos_string(job->strings, job->notes.items[i].code), code) == 0) {
      return; /* an earlier change has said so */
    }
  }
  int64_t untied = count_untied(job);
  if (untied > 0) {
    lumos_job_note(job, code, LUMOS_WARNING, untied, NULL,
                   "ranks launch work from several threads, and what these hand to each other is not known: each "
                   "moves by itself when times change, so what the change does to a step is no prediction",
                   NULL);
  }
}
