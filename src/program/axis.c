/* Names of groups as frameworks write them: Megatron-LM's and Megatron-Core's descriptions, and the names of the
 * dimensions of torch's DeviceMesh, which describes the group of a dimension as mesh_NAME.
 */
#include "program/axis.h"

#include <string.h>

struct named_group {
  const char *name;
  uint8_t role, axis;
};

/* Whole names, without "_GLOO" at the end: such groups are copies for the host. */
static const struct named_group megatron_names[] = {
    {"TENSOR_MODEL_PARALLEL_GROUP", LUMOS_TENSOR, AXIS_TENSOR},
    {"PIPELINE_MODEL_PARALLEL_GROUP", LUMOS_PIPELINE, AXIS_PIPELINE},
    {"DATA_PARALLEL_GROUP", LUMOS_DATA, AXIS_DATA},
    {"DATA_PARALLEL_GROUP_WITH_CP", LUMOS_DATA, AXIS_NONE},
    {"INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", LUMOS_DATA, AXIS_NONE},
    {"INTER_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", LUMOS_DATA, AXIS_NONE},
    {"INTER_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP", LUMOS_DATA, AXIS_NONE},
    {"INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP", LUMOS_DATA, AXIS_NONE},
    {"CONTEXT_PARALLEL_GROUP", LUMOS_CONTEXT, AXIS_CONTEXT},
    {"HIERARCHICAL_CONTEXT_PARALLEL_GROUP", LUMOS_CONTEXT, AXIS_NONE},
    {"HIERARCHICAL_CONTEXT_PARALLEL_GROUPS", LUMOS_CONTEXT, AXIS_NONE},
    {"EXPERT_MODEL_PARALLEL_GROUP", LUMOS_EXPERT, AXIS_EXPERT},
    {"EXPERT_PARALLEL_GROUP", LUMOS_EXPERT, AXIS_EXPERT},
    {"EXPERT_DATA_PARALLEL_GROUP", LUMOS_DATA, AXIS_NONE},
    {"INTRA_PARTIAL_EXPERT_DATA_PARALLEL_GROUP", LUMOS_DATA, AXIS_NONE},
    {"INTER_PARTIAL_EXPERT_DATA_PARALLEL_GROUP", LUMOS_DATA, AXIS_NONE},
    {"DATA_MODULO_EXPERT_PARALLEL_GROUP", LUMOS_DATA, AXIS_NONE},
    {"EXPERT_TENSOR_PARALLEL_GROUP", LUMOS_TENSOR, AXIS_NONE},
    {"EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", LUMOS_EXPERT, AXIS_NONE},
    {"TENSOR_AND_EXPERT_PARALLEL_GROUP", LUMOS_EXPERT, AXIS_NONE},
    {"EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP", LUMOS_OTHER_ROLE, AXIS_NONE},
    {"MODEL_PARALLEL_GROUP", LUMOS_OTHER_ROLE, AXIS_NONE},
    {"EXPERT_MODEL_AND_PIPELINE_PARALLEL_GROUP", LUMOS_OTHER_ROLE, AXIS_NONE},
    {"EMBEDDING_GROUP", LUMOS_OTHER_ROLE, AXIS_NONE},
    {"POSITION_EMBEDDING_GROUP", LUMOS_OTHER_ROLE, AXIS_NONE},
    {"TENSOR_AND_DATA_PARALLEL_GROUP", LUMOS_OTHER_ROLE, AXIS_NONE},
    {"TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP", LUMOS_OTHER_ROLE, AXIS_NONE},
    {"TENSOR_AND_CONTEXT_PARALLEL_GROUP", LUMOS_OTHER_ROLE, AXIS_NONE},
};

/* Dimensions of a mesh, behind "mesh_" or alone, as others call such groups: torchtitan's and others' usual ones, alone
 * and flattened into one. */
static const struct named_group mesh_names[] = {
    {"tp", LUMOS_TENSOR, AXIS_TENSOR},
    {"tensor", LUMOS_TENSOR, AXIS_TENSOR},
    {"tensor_parallel", LUMOS_TENSOR, AXIS_TENSOR},
    {"etp", LUMOS_TENSOR, AXIS_NONE},
    {"pp", LUMOS_PIPELINE, AXIS_PIPELINE},
    {"pipe", LUMOS_PIPELINE, AXIS_PIPELINE},
    {"pipeline", LUMOS_PIPELINE, AXIS_PIPELINE},
    {"pipeline_parallel", LUMOS_PIPELINE, AXIS_PIPELINE},
    {"dp", LUMOS_DATA, AXIS_DATA},
    {"data", LUMOS_DATA, AXIS_DATA},
    {"data_parallel", LUMOS_DATA, AXIS_DATA},
    {"ddp", LUMOS_DATA, AXIS_DATA},
    {"dp_replicate", LUMOS_DATA, AXIS_REPLICATE},
    {"replicate", LUMOS_DATA, AXIS_REPLICATE},
    {"inter_node", LUMOS_DATA, AXIS_REPLICATE},
    {"dp_shard", LUMOS_DATA, AXIS_SHARD},
    {"shard", LUMOS_DATA, AXIS_SHARD},
    {"intra_node", LUMOS_DATA, AXIS_SHARD},
    {"fsdp", LUMOS_DATA, AXIS_SHARD},
    {"dp_shard_cp", LUMOS_DATA, AXIS_NONE},
    {"dp_cp", LUMOS_DATA, AXIS_NONE},
    {"dp_shard_mod_ep", LUMOS_DATA, AXIS_NONE},
    {"dp_shard_in_ep", LUMOS_DATA, AXIS_NONE},
    {"efsdp", LUMOS_DATA, AXIS_NONE},
    {"cp", LUMOS_CONTEXT, AXIS_CONTEXT},
    {"context", LUMOS_CONTEXT, AXIS_CONTEXT},
    {"context_parallel", LUMOS_CONTEXT, AXIS_CONTEXT},
    {"ep", LUMOS_EXPERT, AXIS_EXPERT},
    {"expert", LUMOS_EXPERT, AXIS_EXPERT},
    {"expert_parallel", LUMOS_EXPERT, AXIS_EXPERT},
};

static uint8_t look_up(const struct named_group *table, size_t count, const char *name, size_t length,
                       enum program_axis *axis) {
  for (size_t i = 0; i < count; i++) {
    if (strlen(table[i].name) == length && strncasecmp(table[i].name, name, length) == 0) {
      *axis = (enum program_axis)table[i].axis;
      return table[i].role;
    }
  }
  *axis = AXIS_NONE;
  return 0;
}

uint8_t program_role_of_name(const char *name, enum program_axis *axis) {
  static const char mesh[] = "mesh_", host[] = "_gloo";
  size_t length = strlen(name);
  if (strncmp(name, mesh, sizeof mesh - 1) == 0) {
    return look_up(mesh_names, sizeof mesh_names / sizeof *mesh_names, name + sizeof mesh - 1,
                   length - (sizeof mesh - 1), axis);
  }
  if (length >= sizeof host && strcasecmp(name + length - (sizeof host - 1), host) == 0) {
    length -= sizeof host - 1;
  }
  uint8_t role = look_up(megatron_names, sizeof megatron_names / sizeof *megatron_names, name, length, axis);
  return role != 0 ? role : look_up(mesh_names, sizeof mesh_names / sizeof *mesh_names, name, length, axis);
}

enum program_experts program_experts_of_name(const char *name) {
  static const struct {
    const char *name;
    enum program_experts experts;
  } names[] = {
      {"EXPERT_MODEL_PARALLEL_GROUP", PROGRAM_SHARED_EXPERTS},
      {"EXPERT_PARALLEL_GROUP", PROGRAM_SHARED_EXPERTS},
      {"EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", PROGRAM_SHARED_EXPERTS},
      {"EXPERT_DATA_PARALLEL_GROUP", PROGRAM_SAME_EXPERTS},
      {"DATA_MODULO_EXPERT_PARALLEL_GROUP", PROGRAM_SAME_EXPERTS},
      {"EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP", PROGRAM_ALL_EXPERTS},
      {"EXPERT_MODEL_AND_PIPELINE_PARALLEL_GROUP", PROGRAM_ALL_EXPERTS},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i].name, name) == 0) {
      return names[i].experts;
    }
  }
  return PROGRAM_NO_EXPERTS;
}

uint8_t program_role_of_axis(enum program_axis axis) {
  static const uint8_t roles[] = {
      [AXIS_TENSOR] = LUMOS_TENSOR,   [AXIS_PIPELINE] = LUMOS_PIPELINE, [AXIS_DATA] = LUMOS_DATA,
      [AXIS_CONTEXT] = LUMOS_CONTEXT, [AXIS_EXPERT] = LUMOS_EXPERT,     [AXIS_REPLICATE] = LUMOS_DATA,
      [AXIS_SHARD] = LUMOS_DATA,      [AXIS_NONE] = LUMOS_OTHER_ROLE,
  };
  return roles[axis];
}

int32_t *program_axis_slot(struct lumos_parallel *parallel, enum program_axis axis) {
  int32_t *const slots[AXES_IN_STREAM] = {&parallel->tp, &parallel->pp, &parallel->dp, &parallel->cp, &parallel->ep};
  return slots[axis];
}

lumos_string_id *program_axis_evidence(struct lumos_model_evidence *evidence, enum program_axis axis) {
  lumos_string_id *const slots[AXES_IN_STREAM] = {&evidence->tp, &evidence->pp, &evidence->dp, &evidence->cp,
                                                  &evidence->ep};
  return slots[axis];
}

const char *program_axis_name(enum program_axis axis) {
  static const char *const names[AXES_IN_STREAM] = {"tp", "pp", "dp", "cp", "ep"};
  return names[axis];
}
