/* Coupled collectives by member, and who waits for whom by rule. */
#include "sim/coupling.h"

#include <stdlib.h>
#include <string.h>

static bool is_root(const struct lumos_job *job, const struct lumos_collective *collective, uint32_t member) {
  uint32_t rank = lumos_rank_of(job, &job->tasks.items[member]);
  return job->ranks.items[rank].rank == collective->root;
}

/* reduce and gather bring to the root; broadcast and scatter send from it, and so does a send that leaves at once. */
static bool root_sends(const struct lumos_job *job, const struct lumos_collective *collective) {
  const char *op = lumos_string(job->strings, collective->op);
  return strcmp(op, "reduce") != 0 && strcmp(op, "gather") != 0;
}

bool lumos_member_waits(const struct lumos_job *job, const struct lumos_collective *collective, uint32_t member) {
  return collective->rule != LUMOS_ROOTED || is_root(job, collective, member) != root_sends(job, collective);
}

bool lumos_member_awaited(const struct lumos_job *job, const struct lumos_collective *collective, uint32_t member) {
  return collective->rule != LUMOS_ROOTED || !root_sends(job, collective) || is_root(job, collective, member);
}

bool lumos_is_coupled(const struct lumos_job *job, const struct lumos_collective *collective) {
  bool awaited = false;
  for (uint32_t m = 0; !awaited && m < collective->member_count; m++) {
    awaited = lumos_member_awaited(job, collective, job->members.items[collective->member_first + m]);
  }
  return awaited && collective->transfer != LUMOS_ABSENT && collective->rule != LUMOS_CUSTOM;
}

void lumos_coupling_make(struct lumos_coupling *coupling, const struct lumos_job *job) {
  size_t tasks = job->tasks.count;
  uint32_t *first = lumos_allocate_zeroed(tasks + 2, sizeof *first);
  /* Counted two places up, so that filling below leaves every range's first where it belongs. */
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    uint32_t members = lumos_is_coupled(job, collective) ? collective->member_count : 0;
    for (uint32_t m = 0; m < members; m++) {
      first[job->members.items[collective->member_first + m] + 2]++;
    }
  }
  for (size_t t = 2; t < tasks + 2; t++) {
    first[t] += first[t - 1];
  }
  coupling->job = job;
  coupling->first = first;
  coupling->of = lumos_allocate(first[tasks + 1] * sizeof *coupling->of);
  for (uint32_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    uint32_t members = lumos_is_coupled(job, collective) ? collective->member_count : 0;
    for (uint32_t m = 0; m < members; m++) {
      coupling->of[first[job->members.items[collective->member_first + m] + 1]++] = i;
    }
  }
}

void lumos_coupling_none(struct lumos_coupling *coupling, const struct lumos_job *job) {
  *coupling = (struct lumos_coupling){
      .job = job, .first = lumos_allocate_zeroed(job->tasks.count + 2, sizeof *coupling->first), .of = NULL};
}

void lumos_coupling_free(struct lumos_coupling *coupling) {
  free(coupling->first);
  free(coupling->of);
}
