#include "rebuild/lone.h"

#include "cost/transfers.h"
#include "rebuild/gradients.h"
#include "rebuild/plan.h"
#include "rebuild/roles.h"
#include "transform/estimates.h"
#include <stdlib.h>

uint8_t *rebuild_find_joined(const struct lumos_job *job) {
  uint8_t *joined = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t m = 0; m < job->members.count; m++) {
    joined[job->members.items[m]] = 1;
  }
  return joined;
}

static const struct lumos_parallel *sizes_of(const struct lumos_job *job) {
  return job->models.count == 0 ? &lumos_model_description_empty.sizes : &job->models.items[0].sizes;
}

static bool has_replicas_alone(const struct lumos_job *job) {
  const struct lumos_parallel *sizes = sizes_of(job);
  return sizes->dp > 1 && sizes->tp <= 1 && sizes->pp <= 1 && sizes->cp <= 1 && sizes->ep <= 1;
}

bool rebuild_is_lone(const struct lumos_job *job, size_t task, const uint8_t *joined) {
  if (job->tasks.items[task].kind != LUMOS_COLLECTIVE || joined[task]) {
    return false;
  }
  bool unnamed = lumos_detail_of(job, &job->tasks.items[task])->comm.group == LUMOS_NO_STRING;
  return unnamed ? has_replicas_alone(job) : rebuild_role_of(job, task) == LUMOS_DATA;
}

/* On how many nodes the replicas of that rank are. */
static int32_t nodes_of_replicas(const struct lumos_job *job, const struct lumos_rank *rank,
                                 const struct lumos_nodes *nodes) {
  const struct lumos_parallel *sizes = sizes_of(job);
  struct lumos_parallel place = rank->parallel;
  LUMOS_VECTOR(int32_t) ranks = {0};
  for (place.dp = 0; place.dp < sizes->dp; place.dp++) {
    for (place.cp = 0; place.cp < rebuild_contexts_of(sizes); place.cp++) {
      lumos_vector_push(&ranks, rebuild_number_at(sizes, &place));
    }
  }
  int32_t spanned = lumos_nodes_spanned(nodes, ranks.items, (uint32_t)ranks.count);
  lumos_vector_free(&ranks);
  return spanned;
}

struct resizing {
  struct lumos_job *built;
  const struct lumos_job *from;
  const struct lumos_transfers *transfers;
  const struct lumos_nodes *nodes;
  struct lumos_lones lones;
};

static void resize(struct resizing *resizing, uint32_t task, uint32_t like) {
  struct lumos_job *built = resizing->built;
  int32_t were = rebuild_copies_of(sizes_of(resizing->from));
  struct lumos_transfer_shape was = lumos_transfer_shape_of_kernel(lumos_transfers_placing(resizing->transfers), like),
                              now;
  was.size = was.size > 1 ? was.size : were;
  now = was;
  now.size = rebuild_copies_of(sizes_of(built));
  now.nodes =
      nodes_of_replicas(built, &built->ranks.items[lumos_rank_of(built, &built->tasks.items[task])], resizing->nodes);
  if (was.size != were) { /* among some of them, by a grouping that nothing tells for other numbers */
    return;
  }
  const struct lumos_lone lone = {
      task, lumos_transfer_changed_alone(resizing->transfers, built->tasks.items[task].dur, &was, &now, NULL, NULL)};
  lumos_vector_push(&resizing->lones, lone);
}

static void tell(struct lumos_job *built, int64_t count) {
  if (count > 0) {
    lumos_job_note(
        built, "transform.communication_kept", LUMOS_WARNING, count, NULL,
        "collectives keep their measured waiting, whatever the number of replicas, and their transfers scale "
        "by NCCL's own model: only one of their ranks was recorded. The range has how much of them is waiting",
        "add the traces of the other ranks");
  }
}

bool rebuild_resize_lone(struct lumos_job *built, const struct lumos_job *from, struct lumos_error *error) {
  int32_t were = rebuild_copies_of(sizes_of(from)), are = rebuild_copies_of(sizes_of(built));
  if (were < 2 || are < 2 || were == are) {
    return true;
  }
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, error);
  if (hardware == NULL) {
    return false;
  }
  struct lumos_nodes nodes = lumos_nodes_of(from, NULL);
  struct lumos_transfers *transfers = lumos_transfers_fit(from, hardware, &nodes);
  struct resizing resizing = {.built = built, .from = from, .transfers = transfers, .nodes = &nodes};
  uint32_t *likes = rebuild_find_likes(built, from);
  uint8_t *joined = rebuild_find_joined(from);
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    if (likes[t] != LUMOS_NONE && rebuild_is_lone(from, likes[t], joined)) {
      resize(&resizing, t, likes[t]);
    }
  }
  lumos_estimate_lones(built, &resizing.lones,
                       lumos_job_common_error(built, "rebuild.communication",
                                              "communication among other ranks, or of other sizes", 0,
                                              "leaving out shapes of the trace's own transfers in turn"));
  tell(built, (int64_t)resizing.lones.count);
  lumos_vector_free(&resizing.lones);
  free(joined);
  free(likes);
  lumos_transfers_free(transfers);
  lumos_hardware_free(hardware);
  return true;
}
