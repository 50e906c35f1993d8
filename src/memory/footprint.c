#include "memory/lifetimes.h"

#include "cost/hardware.h"
#include <stdlib.h>
#include <string.h>

const char *lumos_memory_part_name(enum lumos_memory_part part) {
  static const char *const names[LUMOS_MEMORY_PARTS] = {[LUMOS_MEMORY_PARAMETERS] = "parameters",
                                                        [LUMOS_MEMORY_GRADIENTS] = "gradients",
                                                        [LUMOS_MEMORY_OPTIMIZER] = "optimizer",
                                                        [LUMOS_MEMORY_ACTIVATIONS] = "activations",
                                                        [LUMOS_MEMORY_HEAD] = "head",
                                                        [LUMOS_MEMORY_TEMPORARY] = "temporary",
                                                        [LUMOS_MEMORY_LIBRARIES] = "libraries"};
  return names[part];
}

struct change { /* at a place bytes come or go */
  uint32_t place;
  uint32_t piece;
  bool ends;
};

/* What ends with an op goes when the op is done, before the next one begins. */
static int compare_changes(const void *left, const void *right) {
  const struct change *a = left, *b = right;
  if (a->place != b->place) {
    return LUMOS_ORDER(a->place, b->place);
  }
  return a->ends != b->ends ? LUMOS_ORDER(b->ends, a->ends) : LUMOS_ORDER(a->piece, b->piece);
}

static enum lumos_memory_part part_of(const struct memory_piece *piece) {
  return piece->part == LUMOS_MEMORY_TEMPORARY && piece->kept_by > 0 ? LUMOS_MEMORY_ACTIVATIONS
                                                                     : (enum lumos_memory_part)piece->part;
}

/* --- What is there all the time --- */

static const char *name_of(const struct memory_step *memory, size_t op) {
  return lumos_string(memory->job->strings, memory->job->spans.items[memory->ops.items[op].span].name);
}

static bool has_op(const struct memory_step *memory, const char *part) {
  bool any = false;
  for (size_t i = 0; i < memory->ops.count && !any; i++) {
    any = strstr(name_of(memory, i), part) != NULL;
  }
  return any;
}

/* Is a library's kernel Adam's (Apex: AdamFunctor), which no op shows? */
static bool has_adam_kernel(const struct memory_step *memory) {
  const struct lumos_rank *rank = &memory->job->ranks.items[memory->rank];
  bool any = false;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count && !any; t++) {
    const struct lumos_task *task = &memory->job->tasks.items[t];
    any = task->step == memory->step && task->kind == LUMOS_OPTIMIZER &&
          strstr(lumos_string(memory->job->strings, task->name), "Adam") != NULL;
  }
  return any;
}

/* Numbers that the optimizer keeps for each parameter, by the ops of its step: Adam and its like have a mean (lerp) and
 * a mean square (addcmul), and divide by the root of one (addcdiv). LUMOS_ABSENT: nothing tells. */
static int64_t states(const struct memory_step *memory) {
  if (has_op(memory, "aten::_fused_adam")) {
    return 2;
  }
  if (has_op(memory, "addcdiv_")) {
    return 1 + (has_op(memory, "lerp_") || has_op(memory, "addcmul_"));
  }
  if ((memory->sharded || memory->held.numbers > 0) && has_adam_kernel(memory)) {
    return 2;
  }
  return has_op(memory, "SGD") ? 1 : LUMOS_ABSENT;
}

static const struct lumos_device *device_of(const struct lumos_job *job, uint32_t rank,
                                            const struct lumos_hardware *hardware) {
  lumos_string_id name = job->ranks.items[rank].device_name;
  return name == LUMOS_NO_STRING ? NULL : lumos_hardware_find(hardware, lumos_string(job->strings, name));
}

/* PyTorch gives cuBLAS a workspace for every thread that multiplies (aten/src/ATen/cuda/CublasHandlePool.cpp): 32 MiB
 * on Hopper and Blackwell, else 8 MiB and 128 KiB. */
static int64_t workspaces(const struct memory_step *memory, const struct lumos_device *device) {
  static const char *const products[] = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"};
  enum { MOST_THREADS = 64 };
  uint32_t lanes[MOST_THREADS];
  int64_t threads = 0;
  for (size_t i = 0; i < memory->ops.count; i++) {
    uint32_t lane = memory->job->tasks.items[memory->ops.items[i].task].lane;
    bool multiplies = false, known = threads == MOST_THREADS;
    for (size_t p = 0; p < sizeof products / sizeof *products; p++) {
      multiplies |= strcmp(name_of(memory, i), products[p]) == 0;
    }
    for (int64_t t = 0; t < threads && !known; t++) {
      known = lanes[t] == lane;
    }
    if (multiplies && !known) {
      lanes[threads++] = lane;
    }
  }
  bool large = device != NULL && (device->architecture == LUMOS_HOPPER || device->architecture == LUMOS_BLACKWELL);
  return threads * (large ? INT64_C(32) << 20 : (INT64_C(8) << 20) + (INT64_C(128) << 10));
}

/* How the rank's replicas share what there is once a parameter. */
struct replicas {
  int64_t size;   /* of the largest group whose gradients are reduced; 1: there are none */
  bool scattered; /* each replica gets a share of the sums, so it has only that share of the optimizer's state */
};

static const struct lumos_group *group_of_replicas(const struct lumos_job *job, lumos_string_id id) {
  for (size_t g = 0; g < job->groups.count; g++) {
    const struct lumos_group *group = &job->groups.items[g];
    if (group->id == id && group->role == LUMOS_DATA && group->size > 1) {
      return group;
    }
  }
  return NULL;
}

static struct replicas replicas_of(const struct memory_step *memory) {
  const struct lumos_job *job = memory->job;
  const struct lumos_rank *rank = &job->ranks.items[memory->rank];
  struct replicas replicas = {1, false};
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_comm *comm = &lumos_detail_of(job, &job->tasks.items[t])->comm;
    const char *op = comm->op == LUMOS_NO_STRING ? "" : lumos_string(job->strings, comm->op);
    bool scatters = strcmp(op, "reduce_scatter") == 0;
    const struct lumos_group *group =
        scatters || strcmp(op, "all_reduce") == 0 ? group_of_replicas(job, comm->group) : NULL;
    bool larger = group != NULL && group->size > replicas.size;
    bool same = group != NULL && group->size == replicas.size; /* a loss is summed besides */
    replicas.size = larger ? group->size : replicas.size;
    replicas.scattered = larger ? scatters : replicas.scattered || (same && scatters);
  }
  return replicas;
}

/* --- The peak --- */

static void find_peak(const struct memory_step *memory, const int64_t constant[LUMOS_MEMORY_PARTS],
                      struct lumos_footprint *footprint) {
  LUMOS_VECTOR(struct change) changes = {0};
  for (uint32_t p = 0; p < memory->pieces.count; p++) {
    const struct memory_piece *piece = &memory->pieces.items[p];
    lumos_vector_push(&changes, ((struct change){piece->begin, p, false}));
    lumos_vector_push(&changes, ((struct change){piece->end + 1, p, true}));
  }
  lumos_vector_sort(&changes, compare_changes);
  int64_t parts[LUMOS_MEMORY_PARTS], total = 0;
  memcpy(parts, constant, sizeof parts);
  for (int part = 0; part < LUMOS_MEMORY_PARTS; part++) {
    total += parts[part];
  }
  for (size_t c = 0; c < changes.count; c++) {
    const struct change *change = &changes.items[c];
    const struct memory_piece *piece = &memory->pieces.items[change->piece];
    int64_t bytes = change->ends ? -piece->bytes : piece->bytes;
    parts[part_of(piece)] += bytes;
    total += bytes;
    if (total > footprint->peak) {
      footprint->peak = total;
      footprint->at = memory->ops.items[change->place].task;
      memcpy(footprint->parts, parts, sizeof parts);
    }
  }
  lumos_vector_free(&changes);
}

/* --- What each micro-batch keeps --- */

struct kept {
  int64_t bytes;
  uint32_t begin, end;
};

static const struct lumos_task *task_of(const struct memory_step *memory, uint32_t place) {
  return &memory->job->tasks.items[memory->ops.items[place].task];
}

static void find_kept(const struct memory_step *memory, struct lumos_footprint *footprint) {
  struct lumos_numbering numbering = {0};
  LUMOS_VECTOR(struct kept) kept = {0};
  for (size_t p = 0; p < memory->pieces.count; p++) {
    const struct memory_piece *piece = &memory->pieces.items[p];
    if (piece->kept_by == 0 ||
        task_of(memory, piece->begin)->phase == LUMOS_BACKWARD) { /* computed again: of one layer */
      continue;
    }
    uint32_t number = lumos_number_of(&numbering, piece->kept_by);
    if (number >= kept.count) {
      lumos_vector_push(&kept, ((struct kept){0, piece->begin, piece->end}));
    }
    struct kept *of = &kept.items[number];
    of->bytes += piece->bytes;
    of->begin = piece->begin < of->begin ? piece->begin : of->begin;
    of->end = piece->end > of->end ? piece->end : of->end;
  }
  for (size_t i = 0; i < kept.count; i++) {
    int32_t together = 0;
    for (size_t j = 0; j < kept.count; j++) { /* as it begins, how many are there? */
      together += kept.items[j].begin <= kept.items[i].begin && kept.items[i].begin <= kept.items[j].end;
    }
    footprint->in_flight = together > footprint->in_flight ? together : footprint->in_flight;
    footprint->micro_batch =
        kept.items[i].bytes > footprint->micro_batch ? kept.items[i].bytes : footprint->micro_batch;
  }
  lumos_vector_free(&kept);
  lumos_numbering_free(&numbering);
}

void lumos_footprint_of(const struct lumos_job *job, uint32_t rank, const struct lumos_hardware *hardware,
                        struct lumos_footprint *footprint) {
  struct memory_step memory;
  memory_step_read(&memory, job, rank);
  int64_t kept = states(&memory);
  struct replicas replicas = replicas_of(&memory);
  bool known = memory.state == LUMOS_MEMORY_KNOWN;
  *footprint =
      (struct lumos_footprint){.state = known && kept == LUMOS_ABSENT ? LUMOS_MEMORY_NO_OPTIMIZER : memory.state};
  if (footprint->state == LUMOS_MEMORY_KNOWN) {
    int64_t constant[LUMOS_MEMORY_PARTS] = {0};
    int64_t parameters = memory.sharded ? memory.share_bytes : memory.parameter_bytes;
    bool shares = replicas.scattered && !memory.sharded, buckets = replicas.size > 1 && !memory.sharded;
    const struct memory_held *held = &memory.held;
    int64_t number = held->numbers > 0 ? held->number * held->numbers : parameters;
    int64_t copies = held->parameter < held->number ? kept + 1 : kept; /* the parameters once more */
    constant[LUMOS_MEMORY_PARAMETERS] = held->numbers > 0 ? held->parameter * held->numbers : parameters;
    constant[LUMOS_MEMORY_OPTIMIZER] = copies * number / (shares ? replicas.size : 1);
    constant[LUMOS_MEMORY_GRADIENTS] = held->numbers > 0 || buckets ? number : 0; /* what is reduced */
    constant[LUMOS_MEMORY_TEMPORARY] = memory.buffer;
    constant[LUMOS_MEMORY_LIBRARIES] = workspaces(&memory, device_of(job, rank, hardware));
    footprint->step = memory.step;
    footprint->parameters = held->numbers > 0 ? held->numbers : memory.parameters;
    footprint->assumed = memory.assumed;
    footprint->sharded = memory.sharded;
    find_peak(&memory, constant, footprint);
    find_kept(&memory, footprint);
  }
  memory_step_free(&memory);
}

int64_t lumos_memory_capacity(const struct lumos_job *job, uint32_t rank, const struct lumos_hardware *hardware) {
  const struct lumos_device *device = device_of(job, rank, hardware);
  int64_t recorded = job->ranks.items[rank].device_memory;
  return recorded != LUMOS_ABSENT               ? recorded
         : device != NULL && device->memory > 0 ? (int64_t)(device->memory * 1073741824.0)
                                                : LUMOS_ABSENT;
}
