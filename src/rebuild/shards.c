#include "rebuild/shards.h"

#include "base/numbering.h"
#include "base/text.h"
#include "cost/transfers.h"
#include "rebuild/alone.h"
#include "rebuild/gradients.h"
#include "rebuild/halves.h"
#include "rebuild/library.h"
#include "rebuild/plan.h"
#include "rebuild/roles.h"
#include "rebuild/supply.h"
#include "transform/parts.h"
#include <lumos/hardware.h>
#include <stdlib.h>
#include <string.h>

/* One standard deviation, in millionths. Chosen: such calls were recorded on one server. */
enum { CALLS_SIGMA = 300000 };

struct member { /* of a collective: the order-th of its group */
  uint32_t group, order, task;
  struct rebuild_operation what;
};

struct sharding {
  struct lumos_job *job;
  struct rebuild_weave weave;
  struct rebuild_costs costs;
  struct lumos_transfers *transfers;
  struct lumos_nodes nodes;
  uint32_t *launches; /* by task: the kernel on its rank's compute stream that it launches; LUMOS_NONE */
  uint32_t *computes; /* by rank: lane; LUMOS_NONE */
  uint32_t streams;   /* the first rank's lane; one a rank */
  int32_t size;       /* ranks in a group */
  bool recorded;      /* what they sum; what they gather is put in */
  bool sequence;      /* each has a part of the sequence between the halves of layers */
  uint32_t *groups;   /* by rank: index */
  LUMOS_VECTOR(struct member) members;
  lumos_string_id calls; /* the error that their CPU time has in common */
  int64_t activations;   /* bytes */
  int64_t tokens;        /* of a micro-batch */
  int64_t taken;         /* ns of one all-reduce of activations */
};

static void find_launches(struct sharding *sharding) {
  const struct lumos_job *job = sharding->job;
  sharding->launches = lumos_allocate(job->tasks.count * sizeof *sharding->launches);
  sharding->computes = lumos_allocate(job->ranks.count * sizeof *sharding->computes);
  for (size_t t = 0; t < job->tasks.count; t++) {
    sharding->launches[t] = LUMOS_NONE;
  }
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    uint32_t compute = sharding->computes[r] = rebuild_compute_stream(job, r);
    for (uint32_t i = 0; compute != LUMOS_NONE && i < job->lanes.items[compute].task_count; i++) {
      uint32_t t = job->lanes.items[compute].task_first + i, call = job->tasks.items[t].call;
      if (call != LUMOS_NONE) {
        sharding->launches[call] = t;
      }
    }
  }
}

/* Ranks are numbered as in Megatron-LM: those of tensor parallelism first. Some of each group are built. */
static void add_group(struct sharding *sharding, uint32_t rank, int32_t first) {
  struct lumos_job *job = sharding->job;
  struct lumos_group group = lumos_group_empty;
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  lumos_text_format(&name, "tensor@%d", first);
  lumos_text_char(&name, '\0');
  group.rank = rank;
  group.id = lumos_intern_text(job->strings, name.bytes);
  group.role = LUMOS_TENSOR;
  group.size = sharding->size;
  group.member_first = (uint32_t)job->group_ranks.count;
  group.member_count = (uint32_t)sharding->size;
  for (int32_t i = 0; i < sharding->size; i++) {
    lumos_vector_push(&job->group_ranks, first + i);
  }
  lumos_vector_push(&job->groups, group);
  lumos_text_free(&name);
}

static bool is_in(const struct lumos_job *job, const struct lumos_group *group, int32_t rank) {
  bool in = false;
  for (uint32_t i = 0; i < group->member_count; i++) {
    in = in || job->group_ranks.items[group->member_first + i] == rank;
  }
  return in;
}

/* The recorded ones; false: a rank is in none. */
static bool find_groups(struct sharding *sharding) {
  const struct lumos_job *job = sharding->job;
  bool all = true;
  for (uint32_t r = 0; r < job->ranks.count && all; r++) {
    uint32_t g = 0;
    while (g < job->groups.count && (job->groups.items[g].role != LUMOS_TENSOR ||
                                     !is_in(job, &job->groups.items[g], job->ranks.items[r].rank))) {
      g++;
    }
    sharding->groups[r] = g;
    all = g < job->groups.count;
  }
  return all;
}

static void add_groups(struct sharding *sharding) {
  const struct lumos_job *job = sharding->job;
  struct lumos_numbering firsts = {0};
  uint32_t before = (uint32_t)job->groups.count;
  sharding->groups = lumos_allocate(job->ranks.count * sizeof *sharding->groups);
  if (sharding->recorded && find_groups(sharding)) {
    return;
  }
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    int32_t first = job->ranks.items[r].rank - job->ranks.items[r].parallel.tp;
    sharding->groups[r] = before + lumos_number_of(&firsts, (uint64_t)first);
    if (sharding->groups[r] == job->groups.count) {
      add_group(sharding, r, first);
    }
  }
  lumos_numbering_free(&firsts);
}

static const struct operation {
  const char *op, *kernel;
} of_input = {"broadcast", "ncclDevKernel_Broadcast"}, sums = {"all_reduce", "ncclDevKernel_AllReduce"},
  scatters = {"reduce_scatter", "ncclDevKernel_ReduceScatter"}, gathers = {"all_gather", "ncclDevKernel_AllGather"};

static const struct operation *find_operation(const struct sharding *sharding, enum rebuild_end_of of) {
  bool parts = sharding->sequence && (of == REBUILD_HALF || of == REBUILD_EMBEDDING);
  return of == REBUILD_INPUT ? &of_input : of == REBUILD_BEGIN ? &gathers : parts ? &scatters : &sums;
}

static struct rebuild_operation operation_for(const struct sharding *sharding, uint32_t rank, enum rebuild_end_of of) {
  struct lumos_job *job = sharding->job;
  const struct lumos_group *group = &job->groups.items[sharding->groups[rank]];
  int32_t nodes =
      lumos_nodes_spanned(&sharding->nodes, job->group_ranks.items + group->member_first, group->member_count);
  const struct operation *what = find_operation(sharding, of);
  int64_t bytes = of == REBUILD_INPUT    ? (int64_t)sizeof(int64_t) * sharding->tokens
                  : of == REBUILD_LOGITS ? (int64_t)sizeof(float) * sharding->tokens
                                         : sharding->activations;
  const struct lumos_transfer_shape shape = {what->op, bytes, group->size, nodes};
  struct rebuild_operation operation = {
      .op = what->op, .kernel = what->kernel, .kind = LUMOS_COLLECTIVE, .group = group->id, .bytes = bytes};
  rebuild_library_time(&operation, sharding->transfers, &shape);
  return operation;
}

/* What Megatron-LM's Python and PyTorch's autograd take around a collective and the wait for it, in ns on the library's
 * host: medians of a recording of Megatron-LM, by how much longer ops that only make views take there (6.5 times).
 * Forward it is an autograd function of its own, whose node is passed backward. */
static const struct around { int64_t before, behind; } arounds[] = {{4600, 2000}, {6500, 8000}};

/* What comes on the compute stream behind all that the thread has launched by then; LUMOS_NONE: nothing. */
static uint32_t next_kernel(const struct sharding *sharding, const struct rebuild_end *end, uint32_t compute) {
  const struct lumos_job *job = sharding->job;
  if (end->of == REBUILD_BEGIN) {
    return end->kernel;
  }
  uint32_t last = end->kernel;
  for (uint32_t t = end->after; t <= end->beside; t++) {
    last = sharding->launches[t] != LUMOS_NONE && sharding->launches[t] > last ? sharding->launches[t] : last;
  }
  return last + 1 < job->tasks.count && job->tasks.items[last + 1].lane == compute ? last + 1 : LUMOS_NONE;
}

/* The first kernel that the thread launches behind a task; LUMOS_NONE: it launches none. */
static uint32_t first_launched(const struct sharding *sharding, uint32_t behind) {
  const struct lumos_lane *thread = &sharding->job->lanes.items[sharding->job->tasks.items[behind].lane];
  uint32_t t = behind, end = thread->task_first + thread->task_count;
  while (t < end && sharding->launches[t] == LUMOS_NONE) {
    t++;
  }
  return t < end ? sharding->launches[t] : LUMOS_NONE;
}

/* The last kernel that the thread has launched by then; LUMOS_NONE: it has launched none. */
static uint32_t last_launched(const struct sharding *sharding, uint32_t by) {
  const struct lumos_lane *thread = &sharding->job->lanes.items[sharding->job->tasks.items[by].lane];
  uint32_t t = by;
  while (t > thread->task_first && sharding->launches[t] == LUMOS_NONE) {
    t--;
  }
  return sharding->launches[t];
}

static lumos_string_id calls_error(struct lumos_job *job) {
  return lumos_job_common_error(job, "rebuild.calls", "CPU time of calls that were put in", CALLS_SIGMA,
                                "how much servers differ in what such calls take");
}

/* Of calls from that task on: what they take on another server is not known. */
static void doubt_calls(const struct sharding *sharding, uint32_t first) {
  struct lumos_job *job = sharding->job;
  for (uint32_t t = first; t < job->tasks.count; t++) {
    if (!lumos_on_stream(job, &job->tasks.items[t])) {
      lumos_task_detail(job, &job->tasks.items[t])->common_error = sharding->calls;
    }
  }
}

/* An autograd function of its own does it, whose node is passed in the other direction; of recorded sums it is
 * there. */
static bool has_function(const struct sharding *sharding, const struct rebuild_end *end) {
  bool of_layer = end->of == REBUILD_HALF || end->of == REBUILD_EMBEDDING;
  bool back = end->of == REBUILD_BEGIN && !end->forward && end->beside == end->after;
  return (of_layer && end->forward) || (back && !sharding->recorded);
}

static void sum(struct sharding *sharding, const struct rebuild_end *end, uint32_t order) {
  struct lumos_job *job = sharding->job;
  const struct lumos_task *behind = &job->tasks.items[end->after];
  const struct lumos_task *like = end->of == REBUILD_BEGIN ? &job->tasks.items[end->kernel] : behind;
  uint32_t rank = lumos_rank_of(job, behind), before = (uint32_t)job->tasks.count, done;
  struct lumos_task label = lumos_task_empty;
  label.start = LUMOS_ABSENT;
  label.step = like->step;
  label.phase = like->phase;
  label.part = like->part;
  label.micro_batch = like->micro_batch;
  label.layer = like->layer;
  const struct around *around = &arounds[has_function(sharding, end)];
  uint32_t computed = end->of == REBUILD_BEGIN ? last_launched(sharding, end->after) : end->kernel;
  struct rebuild_library_writer writer = {.weave = &sharding->weave,
                                          .costs = &sharding->costs,
                                          .thread = behind->lane,
                                          .after = end->after,
                                          .compute = sharding->computes[rank],
                                          .stream = sharding->streams + rank,
                                          .before = around->before,
                                          .behind = around->behind,
                                          .label = label};
  struct member member = {sharding->groups[rank], order, LUMOS_NONE, operation_for(sharding, rank, end->of)};
  sharding->taken = end->of == (sharding->recorded ? REBUILD_BEGIN : REBUILD_HALF) ? member.what.dur : sharding->taken;
  member.task = rebuild_library_start(&writer, &member.what, computed, &done);
  writer.after = end->beside;
  rebuild_library_wait(&writer, done);
  doubt_calls(sharding, before);
  uint32_t next =
      end->of == REBUILD_INPUT ? first_launched(sharding, end->after) : next_kernel(sharding, end, writer.compute);
  if (next != LUMOS_NONE) {
    rebuild_library_hold(&writer, member.task, next, LUMOS_RECORDED);
  }
  lumos_vector_push(&sharding->members, member);
}

/* Of a rank, in the order of its compute stream. Of every token the loss sums the largest logit, the one that was asked
 * for, and the exponentials. */
static void sum_all(struct sharding *sharding, const struct rebuild_ends *ends) {
  enum { SUMS_OF_LOSS = 3 };
  const struct lumos_job *job = sharding->job;
  uint32_t *orders = lumos_allocate_zeroed(job->ranks.count, sizeof *orders);
  for (size_t i = 0; i < ends->items.count; i++) {
    const struct rebuild_end *end = &ends->items.items[i];
    uint32_t rank = lumos_rank_of(job, &job->tasks.items[end->kernel]);
    bool loss = end->of == REBUILD_LOGITS;
    bool put_in = end->of == REBUILD_BEGIN ? sharding->sequence : !sharding->recorded;
    int count = !put_in ? 0 : loss ? SUMS_OF_LOSS : 1;
    for (int k = 0; k < count; k++) {
      sum(sharding, end, orders[rank]++);
    }
  }
  free(orders);
}

static int by_group(const void *left, const void *right) {
  const struct member *a = left, *b = right;
  return a->group != b->group   ? LUMOS_ORDER(a->group, b->group)
         : a->order != b->order ? LUMOS_ORDER(a->order, b->order)
                                : LUMOS_ORDER(a->task, b->task);
}

/* Every rank of a group that is built does the same. */
static bool join(struct sharding *sharding, struct lumos_error *error) {
  const struct member *items = sharding->members.items;
  LUMOS_VECTOR(uint32_t) tasks = {0};
  size_t expected = 0;
  bool good = true;
  lumos_vector_sort(&sharding->members, by_group);
  for (size_t first = 0, end; first < sharding->members.count && good; first = end) {
    tasks.count = 0;
    for (end = first; end < sharding->members.count && items[end].group == items[first].group &&
                      items[end].order == items[first].order;) {
      lumos_vector_push(&tasks, items[end++].task);
    }
    expected = items[first].order == 0 ? tasks.count : expected;
    good = tasks.count == expected && items[first].what.bytes == items[end - 1].what.bytes;
    rebuild_library_join(sharding->job, &items[first].what, tasks.items, (uint32_t)tasks.count, sharding->size,
                         LUMOS_SYMMETRIC);
  }
  lumos_vector_free(&tasks);
  return good ||
         lumos_fail(error, "the recorded steps differ in what their layers do, so tensor-parallel ranks that are "
                           "like them would not do the same; record steps that are alike");
}

static void tell(const struct sharding *sharding) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  const char *lacks = sharding->recorded ? "no sequence parallelism, so what ranks gather"
                                         : "one tensor-parallel rank, so what several sum";
  lumos_text_format(&text, "the recorded job has %s is assumed. They do so as in Megatron-LM", lacks);
  if (!sharding->recorded) {
    lumos_text_format(
        &text, ": %s of %.1f MB behind each half of a layer, forward and backward, and in the embedding and the head",
        sharding->sequence ? "a reduce-scatter" : "an all-reduce", (double)sharding->activations / 1e6);
  }
  if (sharding->sequence) {
    lumos_text_format(
        &text,
        ". All-gathers of %.1f MB come before each half, the head and the embedding's gradient, and for the input of "
        "each half again",
        (double)sharding->activations / 1e6);
  }
  lumos_text_format(
      &text,
      ". Each takes %.1f \xC2\xB5s by what is known of like transfers, and the CPU time of PyTorch's calls on an "
      "H100 server, scaled to this CPU (x %.2f)",
      (double)sharding->taken / 1000, (double)sharding->costs.pace / 1e6);
  lumos_text_char(&text, '\0');
  lumos_job_note(sharding->job, "transform.assumed_sums", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                 !sharding->sequence
                     ? "Record a job of two tensor-parallel ranks to have them measured"
                     : "Record a job of several tensor-parallel ranks with sequence parallelism to have them measured");
  lumos_text_free(&text);
}

static bool weave_sums(struct sharding *sharding, const struct lumos_job *from, const struct rebuild_ends *ends,
                       struct lumos_error *error) {
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, error);
  if (hardware == NULL) {
    return false;
  }
  sharding->nodes = lumos_nodes_of(from, NULL);
  sharding->transfers = lumos_transfers_fit(from, hardware, &sharding->nodes);
  lumos_hardware_free(hardware);
  rebuild_costs_find(&sharding->costs, from);
  find_launches(sharding);
  rebuild_weave_begin(&sharding->weave, sharding->job);
  int32_t stream = rebuild_free_stream(sharding->job);
  sharding->streams = (uint32_t)sharding->job->lanes.count;
  for (uint32_t r = 0; r < sharding->job->ranks.count; r++) {
    (void)rebuild_weave_stream(&sharding->weave, r, stream);
  }
  add_groups(sharding);
  sharding->calls = calls_error(sharding->job);
  sum_all(sharding, ends);
  bool done = join(sharding, error);
  lumos_vector_free(&sharding->members);
  free(sharding->launches);
  free(sharding->computes);
  free(sharding->groups);
  lumos_transfers_free(sharding->transfers);
  struct lumos_error unused;
  return rebuild_weave_end(&sharding->weave, done ? error : &unused) && done;
}

static bool check(const struct sharding *sharding, const struct rebuild_ends *ends, struct lumos_error *error) {
  if (ends->unknown > 0 || ends->items.count == 0) {
    return lumos_fail(
        error,
        "the recording does not show where attention and the feed-forward block of a layer end, so what "
        "tensor-parallel ranks would exchange is not known; record the CPU's ops, launched one by one and "
        "not as a CUDA graph, or record a job of %s",
        sharding->recorded ? "ranks that do so" : "two such ranks");
  }
  if (sharding->activations == 0) {
    return lumos_fail(error, "how large activations are is not known, so neither is what tensor-parallel ranks would "
                             "exchange; record with record_shapes=True, or describe the model with --model-file");
  }
  return !sharding->sequence || ends->unbegun == 0 ||
         lumos_fail(error,
                    "--sequence-parallel=on: the recorded backward pass does not show where the input of each half is "
                    "needed again: gradients of weights are put off, or passes are compiled; record a 1F1B schedule, "
                    "and without torch.compile");
}

static bool add_sums(struct sharding *sharding, const struct lumos_job *from, struct lumos_error *error) {
  struct lumos_job *built = sharding->job;
  const struct lumos_model_description *model = &built->models.items[0];
  struct rebuild_ends ends;
  sharding->size = model->sizes.tp;
  sharding->activations = rebuild_activation_bytes(from);
  sharding->tokens = (int64_t)model->sequence * model->micro_batch / rebuild_contexts_of(&model->sizes);
  uint32_t *likes = rebuild_find_likes(built, from);
  rebuild_ends_find(&ends, built, from, likes);
  bool done = check(sharding, &ends, error) && weave_sums(sharding, from, &ends, error);
  if (done) {
    tell(sharding);
  }
  lumos_vector_free(&ends.items);
  free(likes);
  return done;
}

/* The op of a collective around a task on a thread, which asks for it; LUMOS_NONE: it is in none. */
static uint32_t asking_op(const struct lumos_job *job, uint32_t t) {
  uint32_t span = job->tasks.items[t].span;
  while (span != LUMOS_NONE && strncmp(lumos_string(job->strings, job->spans.items[span].name), "c10d::", 6) != 0) {
    span = job->spans.items[span].parent;
  }
  return span;
}

/* Recorded sums do in another way what they did: what CPUs take to ask for that is as good as known as of calls that
 * were put in. */
static void doubt_sums(struct lumos_job *built, bool sequence) {
  lumos_string_id op = lumos_intern_text(built->strings, sequence ? "reduce_scatter" : "all_reduce"),
                  calls = LUMOS_NO_STRING;
  uint8_t *asks = lumos_allocate_zeroed(built->spans.count + 1, 1);
  for (uint32_t t = 0; t < built->tasks.count; t++) {
    const struct lumos_task *task = &built->tasks.items[t];
    bool summed = task->kind == LUMOS_COLLECTIVE && task->part == LUMOS_PART_LAYER && task->call != LUMOS_NONE &&
                  lumos_detail_of(built, task)->comm.op == op && rebuild_role_of(built, t) == LUMOS_TENSOR;
    uint32_t span = summed ? asking_op(built, task->call) : LUMOS_NONE;
    if (span != LUMOS_NONE) {
      asks[span] = 1;
      calls = calls != LUMOS_NO_STRING ? calls : calls_error(built);
    }
  }
  for (uint32_t t = 0; t < built->tasks.count && calls != LUMOS_NO_STRING; t++) {
    uint32_t span = lumos_on_stream(built, &built->tasks.items[t]) ? LUMOS_NONE : asking_op(built, t);
    if (span != LUMOS_NONE && asks[span] != 0) {
      lumos_task_detail(built, &built->tasks.items[t])->common_error = calls;
    }
  }
  free(asks);
}

static int32_t shards_of(const struct lumos_job *job) {
  return job->models.count == 0 ? 1 : job->models.items[0].sizes.tp;
}

bool rebuild_shards(struct lumos_job *built, const struct lumos_job *from, enum lumos_switch sequence,
                    struct lumos_error *error) {
  bool were_parts = lumos_parts_recorded(from) == LUMOS_SWITCH_ON;
  struct sharding sharding = {.job = built,
                              .recorded = shards_of(from) > 1,
                              .sequence = sequence == 0 ? were_parts : sequence == LUMOS_SWITCH_ON};
  bool stays = shards_of(built) <= 1 || (sharding.recorded && sharding.sequence == were_parts);
  if (stays) {
    return true;
  }
  if (sharding.recorded) {
    doubt_sums(built, sharding.sequence);
  }
  if (sharding.recorded && were_parts) {
    rebuild_strip_parts(built);
    return true;
  }
  return add_sums(&sharding, from, error);
}
