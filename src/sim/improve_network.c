/* A network twice as fast: every transfer takes what it took, by the ratio of what NCCL's model, fitted to the job's
 * own transfers, gives for both (cost/transfers.h). Latencies stay, and so does what kernels wait for other ranks. */
#include "sim/improving.h"

#include "cost/transfers.h"
#include <lumos/hardware.h>
#include <math.h>
#include <stdlib.h>

enum { TIMES_AS_FAST = 2 };

static struct lumos_link faster_link(double bandwidth, double pair) {
  return (struct lumos_link){
      .bandwidth = TIMES_AS_FAST * bandwidth, .latency = -1, .p2p_bandwidth = TIMES_AS_FAST * pair, .p2p_latency = -1};
}

struct faster {
  struct lumos_improving *improving;
  const struct lumos_transfers *transfers;
  struct lumos_network network;
  double common, left; /* ns, of all ranks: the error that transfers have in common, and what they take then */
  bool any;
};

static int64_t shorter(struct faster *faster, int64_t ns, const struct lumos_transfer_shape *shape, double members) {
  struct lumos_duration duration = lumos_transfer_changed(faster->transfers, ns, shape, shape, &faster->network, NULL);
  int64_t result = llround(fmin(duration.ns, (double)ns));
  faster->any = faster->any || result < ns;
  faster->common += members * duration.common * duration.ns;
  faster->left += members * duration.ns;
  return result;
}

static void shorten_collective(struct faster *faster, uint32_t c, uint8_t *decided) {
  const struct lumos_job *job = faster->improving->job;
  const struct lumos_collective *collective = &job->collectives.items[c];
  struct lumos_transfer_shape shape = lumos_transfer_shape_of(lumos_transfers_placing(faster->transfers), collective);
  if (collective->transfer == LUMOS_ABSENT || collective->transfer <= 0 || shape.size < 2) {
    return;
  }
  int64_t *transfer = &lumos_improve_transfers(faster->improving)[c], own = *transfer;
  *transfer = shorter(faster, own, &shape, collective->member_count);
  bool decides = collective->rule != LUMOS_ROOTED && collective->rule != LUMOS_CUSTOM;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t t = job->members.items[collective->member_first + m];
    struct lumos_times *times = &lumos_improve_times(faster->improving)[t];
    times->dur = decides ? times->dur : llround((double)times->dur * (double)*transfer / (double)own);
    decided[t] = 1;
  }
}

/* Of a kernel whose members have no trace only the transfer changes, and the waiting stays. */
static void shorten_kernel(struct faster *faster, uint32_t t) {
  struct lumos_transfer_shape shape = lumos_transfer_shape_of_kernel(lumos_transfers_placing(faster->transfers), t);
  if (shape.size < 2 || shape.bytes == LUMOS_ABSENT) {
    return;
  }
  struct lumos_times *times = &lumos_improve_times(faster->improving)[t];
  double dur = (double)lumos_improving_task(faster->improving, t)->dur;
  int64_t transfer = llround(fmin(lumos_transfer_duration(faster->transfers, &shape).ns, dur));
  if (transfer > 0) {
    times->dur -= transfer - shorter(faster, transfer, &shape, 1);
  }
}

bool lumos_improve_network(struct lumos_improving *improving) {
  const struct lumos_job *job = improving->job;
  struct lumos_error error = {0};
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, &error);
  struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_transfers *transfers = lumos_transfers_fit(job, hardware, &nodes);
  const struct lumos_links *links = lumos_transfers_links(transfers);
  struct faster faster = {.improving = improving,
                          .transfers = transfers,
                          .network = {.node_size = LUMOS_ABSENT_INT,
                                      .intra = faster_link(links->within, links->pair_within),
                                      .inter = faster_link(links->between, links->pair_between)}};
  uint8_t *decided = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    shorten_collective(&faster, c, decided);
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = lumos_improving_task(improving, t);
    if (lumos_on_stream(job, task) && lumos_is_communication(task->kind) && !decided[t]) {
      shorten_kernel(&faster, t);
    }
  }
  improving->improved->variant.streams = improving->improved->times != NULL;
  double left = faster.left / lumos_improving_steps(improving); /* of it no more matters than nothing hides */
  improving->improved->assumed.either =
      faster.any ? faster.common / faster.left * fmin(left, improving->of->exposed) : 0;
  free(decided);
  lumos_transfers_free(transfers);
  lumos_hardware_free(hardware);
  return faster.any;
}
