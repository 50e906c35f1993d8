#include "rebuild/exchange.h"

#include "rebuild/schedule.h"
#include <string.h>

static int32_t stage_of(const struct lumos_job *job, uint32_t rank) {
  const struct lumos_rank *record = &job->ranks.items[rank];
  return record->has_parallel && record->parallel.pp != LUMOS_ABSENT_INT ? record->parallel.pp : 0;
}

static unsigned of_direction(const struct lumos_peer *peer, bool next) {
  unsigned sends = next ? REBUILD_TO_NEXT : REBUILD_TO_PREVIOUS;
  unsigned receives = next ? REBUILD_FROM_NEXT : REBUILD_FROM_PREVIOUS;
  return (peer->send > 0 ? sends : 0) | (peer->recv > 0 ? receives : 0);
}

/* Where a rank stands in the group of a task; LUMOS_NONE: it is not in it. */
static uint32_t place_in_group(const struct lumos_job *job, lumos_string_id group, int32_t rank) {
  for (size_t g = 0; g < job->groups.count; g++) {
    const struct lumos_group *of = &job->groups.items[g];
    for (uint32_t m = 0; of->id == group && m < of->member_count; m++) {
      if (job->group_ranks.items[of->member_first + m] == rank) {
        return m;
      }
    }
  }
  return LUMOS_NONE;
}

/* Where the peer was not recorded its place in the pipeline's group tells. */
static unsigned of_peer(const struct lumos_job *job, uint32_t rank, lumos_string_id group,
                        const struct lumos_peer *peer) {
  uint32_t other = lumos_job_rank(job, peer->rank);
  if (other != LUMOS_NONE) {
    int32_t stage = stage_of(job, rank), to = stage_of(job, other);
    int32_t stages = job->models.count > 0 ? job->models.items[0].sizes.pp : 0;
    bool around =
        stages > 2 && (to - stage == stages - 1 || stage - to == stages - 1); /* between the ends of the pipeline */
    return stage == to ? 0 : of_direction(peer, around ? to < stage : to > stage);
  }
  uint32_t own = place_in_group(job, group, job->ranks.items[rank].rank);
  uint32_t place = place_in_group(job, group, peer->rank);
  return own == LUMOS_NONE || place == LUMOS_NONE ? 0 : of_direction(peer, place > own);
}

unsigned rebuild_exchange_of_task(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  const struct lumos_comm *comm = &lumos_detail_of(job, record)->comm;
  unsigned exchange = 0;
  for (uint32_t p = 0; record->kind == LUMOS_P2P && p < comm->peer_count; p++) {
    exchange |= of_peer(job, lumos_rank_of(job, record), comm->group, &job->peers.items[comm->peer_first + p]);
  }
  return exchange;
}

unsigned rebuild_exchange_of_block(const struct rebuild_blocks *blocks, uint32_t block) {
  const struct rebuild_block *of = &blocks->items.items[block];
  unsigned exchange = 0;
  for (uint32_t i = 0; i < of->device_count; i++) {
    exchange |= rebuild_exchange_of_task(blocks->job, blocks->devices[of->device_first + i]);
  }
  return exchange;
}
