/* Arrivals, from the members' starts. */
#include "sim/arrival.h"

#include "sim/clock.h"

/* The recorded rank that it was made from, or itself. */
static int32_t recorded_rank(const struct lumos_rank *rank) {
  return rank->from == LUMOS_ABSENT_INT ? rank->rank : rank->from;
}

/* Are two ranks' clocks known to agree? Ranks that a rebuild made from one recorded rank have its clock. */
static bool lumos_clocks_agree(const struct lumos_job *job, uint32_t rank, uint32_t other) {
  const struct lumos_rank *ranks = job->ranks.items;
  return rank == other || recorded_rank(&ranks[rank]) == recorded_rank(&ranks[other]) ||
         (ranks[rank].clock.known && ranks[rank].clock.from_collectives && ranks[other].clock.known &&
          ranks[other].clock.from_collectives);
}

struct lumos_arrival lumos_arrival_of(const struct lumos_job *job, const struct lumos_run *runs,
                                      const struct lumos_collective *collective) {
  const uint32_t *members = job->members.items + collective->member_first;
  struct lumos_arrival found = {.latest = LUMOS_ABSENT, .last = LUMOS_NONE, .comparable = true};
  for (uint32_t m = 0; m < collective->member_count; m++) {
    int64_t start = 0;
    int64_t end = 0;
    bool known = lumos_task_interval(job, runs, members[m], &start, &end);
    found.comparable = found.comparable && known &&
                       lumos_clocks_agree(job, lumos_rank_of(job, &job->tasks.items[members[m]]),
                                          lumos_rank_of(job, &job->tasks.items[members[0]]));
    if (known && start > found.latest && lumos_member_awaited(job, collective, members[m])) {
      found.latest = start;
      found.last = members[m];
    }
  }
  return found;
}
