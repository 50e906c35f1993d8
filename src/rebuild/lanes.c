#include "rebuild/lanes.h"

#include "rebuild/roles.h"

/* What a stream is for, by its first task: the role of the group in which it communicates; -1: it does not. */
static int purpose_of(const struct lumos_job *job, const struct lumos_lane *stream) {
  bool communicates = stream->task_count > 0 && lumos_is_communication(job->tasks.items[stream->task_first].kind);
  return communicates ? rebuild_role_of(job, stream->task_first) : -1;
}

/* Ranks with as many lanes; LUMOS_NONE: they do other things there. */
static uint32_t at_same_place(const struct lumos_job *job, uint32_t lane, const struct lumos_rank *rank) {
  const struct lumos_lane *like = &job->lanes.items[lane];
  const struct lumos_rank *of = &job->ranks.items[like->rank];
  uint32_t place = rank->lane_first + (lane - of->lane_first);
  bool alike = of->lane_count == rank->lane_count && job->lanes.items[place].kind == like->kind &&
               purpose_of(job, &job->lanes.items[place]) == purpose_of(job, like);
  return alike ? place : LUMOS_NONE;
}

/* A stream of the rank with the same number, or LUMOS_NONE; for the same purpose, or for any. */
static uint32_t of_same_number(const struct lumos_job *job, uint32_t lane, const struct lumos_rank *rank, bool any) {
  const struct lumos_lane *like = &job->lanes.items[lane];
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    const struct lumos_lane *own = &job->lanes.items[l];
    if (own->kind == LUMOS_STREAM && own->native == like->native &&
        (any || purpose_of(job, own) == purpose_of(job, like))) {
      return l;
    }
  }
  return LUMOS_NONE;
}

static uint32_t thread_of_rank(const struct lumos_job *job, uint32_t lane, const struct lumos_rank *rank) {
  uint32_t place = lane - job->ranks.items[job->lanes.items[lane].rank].lane_first;
  bool has = place < rank->lane_count && job->lanes.items[rank->lane_first + place].kind == LUMOS_THREAD;
  return has ? rank->lane_first + place : LUMOS_NONE;
}

uint32_t rebuild_lane_of_rank(const struct lumos_job *job, uint32_t lane, const struct lumos_rank *rank) {
  if (job->lanes.items[lane].kind == LUMOS_THREAD) {
    return thread_of_rank(job, lane, rank);
  }
  uint32_t found = of_same_number(job, lane, rank, false);
  found = found == LUMOS_NONE ? at_same_place(job, lane, rank) : found;
  return found == LUMOS_NONE ? of_same_number(job, lane, rank, true) : found;
}
