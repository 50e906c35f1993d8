#include "rebuild/exchange.h"

#include "rebuild/schedule.h"
#include <string.h>

static int32_t stage_of(const struct lumos_job *job, uint32_t rank) {
  const struct lumos_rank *record = &job->ranks.items[rank];
  return record->has_parallel && record->parallel.pp != LUMOS_ABSENT_INT ? record->parallel.pp : 0;
}

static unsigned of_peer(const struct lumos_job *job, int32_t stage, const struct lumos_peer *peer) {
  uint32_t other = lumos_job_rank(job, peer->rank);
  if (other == LUMOS_NONE || stage_of(job, other) == stage) {
    return 0;
  }
  int32_t to = stage_of(job, other), stages = job->models.count > 0 ? job->models.items[0].sizes.pp : 0;
  bool around =
      stages > 2 && (to - stage == stages - 1 || stage - to == stages - 1); /* between the ends of the pipeline */
  bool next = around ? to < stage : to > stage;
  unsigned sends = next ? REBUILD_TO_NEXT : REBUILD_TO_PREVIOUS;
  unsigned receives = next ? REBUILD_FROM_NEXT : REBUILD_FROM_PREVIOUS;
  return (peer->send > 0 ? sends : 0) | (peer->recv > 0 ? receives : 0);
}

unsigned rebuild_exchange_of_task(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  const struct lumos_comm *comm = &lumos_detail_of(job, record)->comm;
  unsigned exchange = 0;
  for (uint32_t p = 0; record->kind == LUMOS_P2P && p < comm->peer_count; p++) {
    exchange |= of_peer(job, stage_of(job, lumos_rank_of(job, record)), &job->peers.items[comm->peer_first + p]);
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
