/* Groups of ranks: made in Megatron-LM's order, named as PyTorch numbers them on the way, groups of one rank included.
 * Those get no communicator, for nothing is ever sent in them; the whole job has one in any case.
 */
#include "chance.h"
#include "gpt_state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which ranks belong together: those that agree in the coordinates that do not vary. */
static const struct {
  const char *description;
  bool varies_tensor, varies_context, varies_data, varies_stage;
  bool of_experts; /* those of a stage that share experts, in a row; or, along data, those at the same place in rows */
} roles[ROLES] = {
    [ROLE_WORLD] = {"default_pg", true, true, true, true, false},
    [ROLE_DATA_AND_CONTEXT] = {"DATA_PARALLEL_GROUP_WITH_CP", false, true, true, false, false},
    [ROLE_DATA] = {"DATA_PARALLEL_GROUP", false, false, true, false, false},
    [ROLE_CONTEXT] = {"CONTEXT_PARALLEL_GROUP", false, true, false, false, false},
    [ROLE_MODEL] = {"MODEL_PARALLEL_GROUP", true, false, false, true, false},
    [ROLE_TENSOR] = {"TENSOR_MODEL_PARALLEL_GROUP", true, false, false, false, false},
    [ROLE_PIPELINE] = {"PIPELINE_MODEL_PARALLEL_GROUP", false, false, false, true, false},
    [ROLE_EMBEDDING] = {"EMBEDDING_GROUP", false, false, false, true, false},
    [ROLE_EXPERT] = {"EXPERT_MODEL_PARALLEL_GROUP", .of_experts = true},
    [ROLE_EXPERT_MODEL] = {"EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP", .varies_stage = true, .of_experts = true},
    [ROLE_EXPERT_DATA] = {"EXPERT_DATA_PARALLEL_GROUP", .varies_data = true, .of_experts = true},
};

/* Nobody has these without context parallelism, or without experts that are on other ranks than the rest. */
static bool is_made(const struct gpt *gpt, int role) {
  if (roles[role].of_experts)
    return gpt_experts_apart(gpt->setup);
  return gpt->setup->parallel.context > 1 || (role != ROLE_CONTEXT && role != ROLE_DATA_AND_CONTEXT);
}

enum role gpt_gradient_role(const struct setup *setup) {
  return setup->parallel.context > 1 ? ROLE_DATA_AND_CONTEXT : ROLE_DATA;
}

/* Megatron-LM numbers ranks a second time, for experts that no tensor group divides: those that share them, then those
 * that have the same ones, then stages. */
static int members_for_experts(const struct gpt *gpt, enum role role, int first, int *members) {
  const struct parallelism *parallel = &gpt->setup->parallel;
  int all = parallel->tensor * parallel->context * parallel->data, shared = parallel->expert, count = 0;
  bool copies = roles[role].varies_data, stages = roles[role].varies_stage;
  int stage = first / all, place = first % all, begin = copies ? place % shared : place / shared * shared;
  if (place != begin || (stages && stage > 0))
    return 0;
  for (int in = stage; in < (stages ? parallel->pipeline : stage + 1); in++)
    for (int i = begin; i < (copies ? all : begin + shared); i += copies ? shared : 1)
      members[count++] = in * all + i;
  return count;
}

/* The group of a role that this rank is the first of, ascending; 0 members if it is another's. */
static int members_from(const struct gpt *gpt, enum role role, int first, int *members) {
  const struct parallelism *parallel = &gpt->setup->parallel;
  struct coordinates from = setup_coordinates(gpt->setup, first), at;
  if (roles[role].of_experts)
    return members_for_experts(gpt, role, first, members);
  if ((roles[role].varies_tensor && from.tensor) || (roles[role].varies_context && from.context) ||
      (roles[role].varies_data && from.data) || (roles[role].varies_stage && from.stage))
    return 0;
  struct coordinates last = {roles[role].varies_tensor ? parallel->tensor - 1 : from.tensor,
                             roles[role].varies_context ? parallel->context - 1 : from.context,
                             roles[role].varies_data ? parallel->data - 1 : from.data,
                             roles[role].varies_stage ? parallel->pipeline - 1 : from.stage};
  int count = 0;
  for (at.stage = from.stage; at.stage <= last.stage; at.stage++)
    for (at.data = from.data; at.data <= last.data; at.data++)
      for (at.context = from.context; at.context <= last.context; at.context++)
        for (at.tensor = from.tensor; at.tensor <= last.tensor; at.tensor++)
          if (role != ROLE_EMBEDDING || at.stage == 0 || at.stage == last.stage)
            members[count++] = setup_rank_at(gpt->setup, at);
  return count;
}

static void add_group(struct gpt *gpt, enum role role, const int *members, int size, int number) {
  struct communicator *communicator = &gpt->communicators[gpt->communicator_count];
  char name[16];
  int length = snprintf(name, sizeof name, "%d", number);
  char *kept = memory_new((size_t)length + 1, 1);
  memcpy(kept, name, (size_t)length);
  *communicator = (struct communicator){.name = kept,
                                        .description = roles[role].description,
                                        .size = size,
                                        .nodes = 1,
                                        .ranks = memory_new((size_t)size, sizeof(int)),
                                        .id = chance_place(chance_place(0, 0x6e63636c), (uint64_t)number) >> 1};
  for (int i = 0; i < size; i++) {
    communicator->ranks[i] = members[i];
    int node_size = gpt->setup->network.node_size;
    communicator->nodes += i > 0 && members[i] / node_size != members[i - 1] / node_size;
    gpt->roles[members[i]][role] = size > 1 ? gpt->communicator_count : -1;
  }
  gpt->communicator_count++;
}

void gpt_make_groups(struct gpt *gpt) {
  int ranks = setup_ranks(gpt->setup), number = 0;
  gpt->communicators = memory_new((size_t)ranks * ROLES, sizeof *gpt->communicators);
  gpt->roles = memory_new((size_t)ranks, sizeof *gpt->roles);
  int *members = memory_new((size_t)ranks, sizeof *members);
  for (int role = 0; role < ROLES; role++) {
    for (int rank = 0; rank < ranks; rank++)
      gpt->roles[rank][role] = -1;
    for (int first = 0; is_made(gpt, role) && first < ranks; first++) {
      int size = members_from(gpt, (enum role)role, first, members);
      if (size > 1 || role == ROLE_WORLD)
        add_group(gpt, (enum role)role, members, size, number);
      number += size > 0;
      if (role == ROLE_WORLD)
        break;
    }
  }
  free(members);
}

void gpt_free_groups(struct gpt *gpt) {
  for (int i = 0; i < gpt->communicator_count; i++) {
    free((void *)(uintptr_t)gpt->communicators[i].name);
    free(gpt->communicators[i].ranks);
  }
  free(gpt->communicators);
  free(gpt->roles);
}
