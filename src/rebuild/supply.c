#include "rebuild/supply.h"

#include "base/text.h"
#include "cost/dtype.h"
#include "cost/transfers.h"
#include "rebuild/library.h"
#include "rebuild/roles.h"
#include "rebuild/schedule.h"
#include <lumos/hardware.h>
#include <string.h>

/* ---- how much is sent ---- */

/* Bytes of a number in the activations: of what the forward pass multiplies; 0: not known. */
static int size_of_number(const struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (task->kind != LUMOS_GEMM || task->phase != LUMOS_FORWARD || task->part != LUMOS_PART_LAYER) {
      continue;
    }
    uint32_t span = task->call == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[task->call].span;
    int size = 0;
    enum lumos_dtype dtype =
        span == LUMOS_NONE ? LUMOS_NO_DTYPE
                           : lumos_dtype_recorded(lumos_string(job->strings, job->spans.items[span].dtypes), 0, &size);
    if (dtype == LUMOS_NO_DTYPE) {
      dtype = lumos_dtype_of_kernel(lumos_string(job->strings, task->name));
      size = dtype == LUMOS_BF16 || dtype == LUMOS_FP16 ? 2 : dtype == LUMOS_FP32 || dtype == LUMOS_TF32 ? 4 : 0;
    }
    if (size > 0) {
      return size;
    }
  }
  return 0;
}

int64_t rebuild_activation_bytes(const struct lumos_job *job) {
  const struct lumos_model_description *model =
      job->models.count > 0 ? &job->models.items[0] : &lumos_model_description_empty;
  int size = size_of_number(job);
  if (model->sequence <= 0 || model->micro_batch <= 0 || model->hidden <= 0 || size == 0) {
    return 0;
  }
  __int128 bytes = (__int128)model->sequence * model->micro_batch * model->hidden * size;
  return bytes < INT64_C(1) << 50 ? (int64_t)bytes : 0;
}

/* ---- examples ---- */

struct supply {
  struct lumos_job *job;
  struct rebuild_weave weave;
  struct rebuild_costs costs;
  int64_t bytes; /* to one neighbour */
  struct lumos_transfers *transfers;
  int32_t neighbours[2]; /* numbers of ranks that there are not: the previous stage, the next one */
  lumos_string_id group;
  int32_t stream;
};

/* Within a node; where it comes to span two, emission finds that. */
static void find_time(const struct supply *supply, struct rebuild_operation *operation) {
  const struct lumos_transfer_shape shape = {"send_recv", operation->bytes, 2, 1};
  rebuild_library_time(operation, supply->transfers, &shape);
}

static struct lumos_peer peer_of(const struct supply *supply, unsigned transfers, bool next) {
  bool sends = (transfers & (next ? REBUILD_TO_NEXT : REBUILD_TO_PREVIOUS)) != 0;
  bool receives = (transfers & (next ? REBUILD_FROM_NEXT : REBUILD_FROM_PREVIOUS)) != 0;
  return (struct lumos_peer){supply->neighbours[next], sends ? supply->bytes : 0, receives ? supply->bytes : 0};
}

static void add_peers(struct supply *supply, uint32_t task, unsigned transfers) {
  struct lumos_job *job = supply->job;
  struct lumos_comm *comm = &lumos_task_detail(job, &job->tasks.items[task])->comm;
  comm->peer_first = (uint32_t)job->peers.count;
  for (int next = 0; next < 2; next++) {
    struct lumos_peer peer = peer_of(supply, transfers, next);
    if (peer.send + peer.recv > 0) {
      lumos_vector_push(&job->peers, peer);
      comm->peer_count++;
    }
  }
}

/* One batch: asked for, and waited for. */
static void add_example(struct supply *supply, struct rebuild_library_writer *writer, unsigned transfers,
                        uint32_t computed) {
  unsigned sends = transfers & (REBUILD_TO_NEXT | REBUILD_TO_PREVIOUS), receives = transfers & ~sends;
  unsigned more = (unsigned)__builtin_popcount(sends) > (unsigned)__builtin_popcount(receives) ? sends : receives;
  struct rebuild_operation operation = {.op = "send_recv",
                                        .kernel = "ncclDevKernel_SendRecv",
                                        .kind = LUMOS_P2P,
                                        .group = supply->group,
                                        .bytes = supply->bytes * __builtin_popcount(more)};
  find_time(supply, &operation);
  uint32_t done;
  uint32_t task = rebuild_library_start(writer, &operation, computed, &done);
  rebuild_library_wait(writer, done);
  add_peers(supply, task, transfers);
  rebuild_library_join(supply->job, &operation, &task, 1, 2, LUMOS_BATCHED);
}

/* What comes one after the other has other phases, so that blocks end between them. */
static void add_examples(struct supply *supply, uint32_t rank, int32_t step) {
  static const uint8_t all[] = {REBUILD_TO_NEXT,
                                REBUILD_FROM_NEXT,
                                REBUILD_FROM_PREVIOUS,
                                REBUILD_TO_PREVIOUS,
                                REBUILD_TO_NEXT | REBUILD_FROM_NEXT,
                                REBUILD_TO_PREVIOUS | REBUILD_FROM_PREVIOUS,
                                REBUILD_TO_NEXT | REBUILD_FROM_PREVIOUS,
                                REBUILD_TO_PREVIOUS | REBUILD_FROM_NEXT,
                                REBUILD_FROM_PREVIOUS | REBUILD_FROM_NEXT,
                                REBUILD_TO_NEXT | REBUILD_TO_PREVIOUS,
                                REBUILD_TO_NEXT | REBUILD_TO_PREVIOUS | REBUILD_FROM_PREVIOUS,
                                REBUILD_TO_NEXT | REBUILD_TO_PREVIOUS | REBUILD_FROM_NEXT,
                                REBUILD_TO_NEXT | REBUILD_FROM_PREVIOUS | REBUILD_FROM_NEXT,
                                REBUILD_TO_PREVIOUS | REBUILD_FROM_PREVIOUS | REBUILD_FROM_NEXT,
                                REBUILD_TO_NEXT | REBUILD_TO_PREVIOUS | REBUILD_FROM_PREVIOUS | REBUILD_FROM_NEXT};
  struct lumos_job *job = supply->job;
  struct rebuild_roles roles;
  if (!rebuild_roles_find(&roles, job, rank, step)) {
    return;
  }
  const struct lumos_task *before = &job->tasks.items[roles.last_launch];
  int64_t start = before->start + before->dur;
  struct lumos_task label = lumos_task_empty;
  label.start = start;
  label.step = step;
  label.micro_batch = 0;
  struct rebuild_library_writer writer = {.weave = &supply->weave,
                                          .costs = &supply->costs,
                                          .thread = roles.main,
                                          .after = roles.last_launch,
                                          .compute = roles.compute,
                                          .stream = rebuild_weave_stream(&supply->weave, rank, supply->stream),
                                          .label = label};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    writer.label.phase = i % 2 == 0 ? LUMOS_FORWARD : LUMOS_BACKWARD;
    add_example(supply, &writer, all[i], roles.last_kernel);
  }
}

/* Of the rank itself and of two that are not there: the stages before and behind it. */
static void add_group(struct supply *supply, uint32_t rank) {
  struct lumos_job *job = supply->job;
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  struct lumos_group group = lumos_group_empty;
  lumos_text_format(&name, "pipeline_of_%d", job->ranks.items[rank].rank);
  lumos_text_char(&name, '\0');
  group.rank = rank;
  group.id = supply->group = lumos_intern_text(job->strings, name.bytes);
  group.role = LUMOS_PIPELINE;
  group.size = 3;
  group.member_first = (uint32_t)job->group_ranks.count;
  group.member_count = 3;
  lumos_vector_push(&job->group_ranks, supply->neighbours[0]);
  lumos_vector_push(&job->group_ranks, job->ranks.items[rank].rank);
  lumos_vector_push(&job->group_ranks, supply->neighbours[1]);
  lumos_vector_push(&job->groups, group);
  lumos_text_free(&name);
}

static void tell(const struct supply *supply) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct rebuild_operation one = {.bytes = supply->bytes};
  find_time(supply, &one);
  lumos_text_format(
      &text,
      "the recorded job has one pipeline stage, so its sends and receives are assumed. They are batched as in "
      "Megatron-LM, with %.1f MB per micro-batch. Each takes %.1f \xC2\xB5s within a node by NCCL's own model, and the "
      "CPU "
      "time of PyTorch's calls on an H100 server, scaled to this CPU (x %.2f)",
      (double)supply->bytes / 1e6, (double)one.dur / 1000, (double)supply->costs.pace / 1e6);
  lumos_text_char(&text, '\0');
  lumos_job_note(supply->job, "transform.assumed_transfers", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                 "Record a job of two stages to have them measured");
  lumos_text_free(&text);
}

bool rebuild_supply_transfers(struct lumos_job *job, int32_t step, int32_t parts, struct lumos_error *error) {
  struct supply supply = {
      .job = job, .bytes = rebuild_activation_bytes(job) / parts, .stream = rebuild_free_stream(job)};
  int32_t highest = job->ranks.items[job->ranks.count - 1].rank;
  if (supply.bytes == 0) {
    return true;
  }
  if (highest > INT32_MAX - 2) {
    return lumos_fail(error, "rank %d has too high a number for a pipeline", highest);
  }
  supply.neighbours[0] = highest + 1;
  supply.neighbours[1] = highest + 2;
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, error);
  if (hardware == NULL) {
    return false;
  }
  struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  supply.transfers = lumos_transfers_fit(job, hardware, &nodes);
  rebuild_costs_find(&supply.costs, job);
  tell(&supply);
  rebuild_weave_begin(&supply.weave, job);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    add_group(&supply, r);
    add_examples(&supply, r, step);
  }
  lumos_transfers_free(supply.transfers);
  lumos_hardware_free(hardware);
  return rebuild_weave_end(&supply.weave, error);
}
