#include "rebuild/reduce.h"

#include "base/text.h"
#include "cost/hardware.h"
#include "cost/transfers.h"
#include "job/builder.h"
#include "rebuild/axes.h"
#include "rebuild/buckets.h"
#include "rebuild/conversions.h"
#include "rebuild/gradients.h"
#include "rebuild/label.h"
#include "rebuild/library.h"
#include "rebuild/plan.h"
#include "rebuild/roles.h"
#include "rebuild/rooms.h"
#include "rebuild/strip.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Large elementwise kernels reach nine tenths of the data sheet's bandwidth; chosen, as of those of real traces. */
enum { REACHED_PERCENT = 90 };

enum channel_of {
  OF_REPLICAS,
  OF_ENDS,
  OF_ALL,
  OF_EXPERTS,
  CHANNELS
}; /* who takes part; those with the same experts */

struct operation { /* of one member */
  uint32_t channel, order, task;
  struct rebuild_operation what;
};

struct channel {
  enum channel_of of;
  int32_t size, nodes;
};
LUMOS_VECTOR_TYPE(numbers, int32_t); /* of ranks */

/* What is to be woven in. */
struct reduction {
  bool replicas;        /* are new, or reduce in another way */
  bool again;           /* they do in the recording: gradients are divided there */
  bool ends;            /* of the pipeline are new, and share the embedding */
  bool experts;         /* are shared by some replicas, and reduced by the others */
  int64_t bucket_bytes; /* that are asked for; 0: as recorded, or as PyTorch, or Megatron-LM, does by itself */
  bool overlaps;        /* as soon as a bucket is full; else after the last backward pass */
  bool shards;          /* every replica updates its share of the parameters, and all gather them */
};

struct reducing {
  struct lumos_job *job;
  const struct lumos_job *from;
  struct reduction reduction;
  struct rebuild_weave weave;
  struct rebuild_costs costs;
  struct rebuild_rooms rooms;
  struct rebuild_gradients gradients;
  struct rebuild_habits habits;
  struct rebuild_filling filling;
  struct lumos_parallel sizes;
  bool megatron;
  struct lumos_nodes nodes;
  struct lumos_transfers *transfers;
  double bandwidth;                       /* bytes a ns of the GPU's memory; 0: not known */
  struct rebuild_divisions divisions;     /* as recorded, of gradients that are reduced anew */
  struct rebuild_conversions conversions; /* of weights, which a new distributed optimizer does instead */
  uint32_t streams[2];                    /* the first rank's lane, one a rank: for all, and for experts' gradients */
  uint32_t *launches;            /* by task: the kernel on its rank's compute stream that it launches; LUMOS_NONE */
  uint32_t *starts;              /* by task: the communication that it launches; LUMOS_NONE */
  LUMOS_VECTOR(uint32_t) handed; /* tasks that other threads hand over to */
  struct lumos_numbering labels, numbers;
  LUMOS_VECTOR(struct channel) channels;
  LUMOS_VECTOR(struct operation) operations;
  uint32_t *orders;       /* by rank and channel_of: how many operations there were */
  int64_t buckets, bytes; /* of the first rank's step */
};

/* ---- who ---- */

static const struct lumos_parallel *at(const struct reducing *reducing, uint32_t rank) {
  return &reducing->job->ranks.items[rank].parallel;
}

static void add_number(struct numbers *ranks, const struct reducing *reducing, struct lumos_parallel place) {
  lumos_vector_push(ranks, rebuild_number_at(&reducing->sizes, &place));
}

static void list_copies(struct numbers *ranks, const struct reducing *reducing, struct lumos_parallel place) {
  for (place.dp = 0; place.dp < reducing->sizes.dp; place.dp++) {
    for (place.cp = 0; place.cp < rebuild_contexts_of(&reducing->sizes); place.cp++) {
      add_number(ranks, reducing, place);
    }
  }
}

/* Of those of a stage that share experts in a row, a rank's place. */
static int32_t place_in_row(const struct lumos_parallel *sizes, const struct lumos_parallel *place) {
  return rebuild_place_in_stage(sizes, place) % rebuild_experts_of(sizes);
}

static void list_owners(struct numbers *ranks, const struct reducing *reducing, const struct lumos_parallel *own) {
  const struct lumos_parallel *sizes = &reducing->sizes;
  int32_t all = rebuild_stage_ranks(sizes);
  for (int32_t place = place_in_row(sizes, own); place < all; place += rebuild_experts_of(sizes)) {
    lumos_vector_push(ranks, own->pp * all + place);
  }
}

static void list_ranks(struct numbers *ranks, const struct reducing *reducing, const struct lumos_parallel *own,
                       enum channel_of of) {
  const struct lumos_parallel *sizes = &reducing->sizes;
  struct lumos_parallel place = *own;
  for (place.pp = 0; place.pp < sizes->pp && of == OF_ENDS; place.pp += sizes->pp - 1) {
    add_number(ranks, reducing, place);
  }
  if (of == OF_REPLICAS) {
    list_copies(ranks, reducing, *own);
  }
  if (of == OF_EXPERTS) {
    list_owners(ranks, reducing, own);
  }
  for (int32_t rank = 0; rank < sizes->tp * sizes->pp * rebuild_copies_of(sizes) && of == OF_ALL; rank++) {
    lumos_vector_push(ranks, rank);
  }
}

static struct channel new_channel(const struct reducing *reducing, const struct lumos_parallel *own,
                                  enum channel_of of) {
  struct numbers ranks = {0};
  list_ranks(&ranks, reducing, own, of);
  struct channel channel = {of, (int32_t)ranks.count,
                            lumos_nodes_spanned(&reducing->nodes, ranks.items, (uint32_t)ranks.count)};
  lumos_vector_free(&ranks);
  return channel;
}

static uint32_t channel_for(struct reducing *reducing, uint32_t rank, enum channel_of of) {
  const struct lumos_parallel *own = at(reducing, rank);
  bool reduces = of == OF_REPLICAS || of == OF_EXPERTS;
  int32_t place = of == OF_EXPERTS ? place_in_row(&reducing->sizes, own) : own->tp;
  const uint32_t label[] = {of, of == OF_ALL ? 0 : (uint32_t)place, reduces ? (uint32_t)own->pp : 0,
                            of == OF_ENDS ? (uint32_t)own->dp : 0, of == OF_ENDS ? (uint32_t)own->cp : 0};
  uint32_t number =
      lumos_number_of(&reducing->numbers, rebuild_label(&reducing->labels, label, sizeof label / sizeof *label));
  if (number == reducing->channels.count) {
    lumos_vector_push(&reducing->channels, new_channel(reducing, own, of));
  }
  return number;
}

/* ---- what ---- */

static struct rebuild_operation collective_of(const struct reducing *reducing, uint32_t channel, const char *op,
                                              const char *kernel, int64_t bytes) {
  const struct channel *of = &reducing->channels.items[channel];
  const struct lumos_transfer_shape shape = {op, bytes, of->size, of->nodes};
  struct rebuild_operation operation = {.op = op, .kernel = kernel, .kind = LUMOS_COLLECTIVE, .bytes = bytes};
  rebuild_library_time(&operation, reducing->transfers, &shape);
  return operation;
}

static uint32_t start(struct reducing *reducing, struct rebuild_library_writer *writer, uint32_t rank,
                      enum channel_of of, const char *op, const char *kernel, int64_t bytes, uint32_t computed,
                      uint32_t *done) {
  uint32_t channel = channel_for(reducing, rank, of);
  struct operation operation = {.channel = channel,
                                .order = reducing->orders[CHANNELS * rank + of]++,
                                .what = collective_of(reducing, channel, op, kernel, bytes)};
  operation.task = rebuild_library_start(writer, &operation.what, computed, done);
  if (reducing->rooms.awaited && computed != LUMOS_NONE) {
    struct lumos_dep room =
        lumos_dep_of_room(reducing->job, computed, reducing->rooms.share, reducing->rooms.behind, operation.task);
    lumos_vector_push(&reducing->job->deps, room);
  }
  lumos_vector_push(&reducing->operations, operation);
  return operation.task;
}

static int64_t moving(const struct reducing *reducing, int64_t bytes) {
  double speed = reducing->bandwidth * REACHED_PERCENT / 100;
  return speed <= 0 ? 0 : (int64_t)((double)bytes / speed);
}

/* The gradients divided by the number of replicas, in place. */
static uint32_t divide(const struct reducing *reducing, struct rebuild_library_writer *writer, int64_t bytes,
                       uint32_t behind) {
  const struct rebuild_operation operation = {.op = "aten::mul_",
                                              .kernel = "elementwise_kernel",
                                              .kind = LUMOS_ELEMENTWISE,
                                              .dur = moving(reducing, 2 * bytes)};
  return rebuild_library_run(writer, &operation, behind);
}

/* As the recording does it, if it divides whole buckets; else it did so before, gradient by gradient. */
static uint32_t divide_again(const struct reducing *reducing, struct rebuild_library_writer *writer, uint32_t rank,
                             int64_t bytes, uint32_t behind) {
  const struct lumos_job *from = reducing->from;
  uint32_t recorded = lumos_job_rank(from, reducing->job->ranks.items[rank].from);
  const struct rebuild_division *like =
      rebuild_division_like(&reducing->divisions, recorded, writer->label.step, bytes);
  if (like == NULL) {
    return behind;
  }
  const struct lumos_task *task = &from->tasks.items[like->task];
  const struct lumos_span *op = &from->spans.items[from->tasks.items[task->call].span];
  const struct rebuild_operation operation = {.op = lumos_string(from->strings, op->name),
                                              .kernel = lumos_string(from->strings, task->name),
                                              .kind = LUMOS_ELEMENTWISE,
                                              .dur =
                                                  (int64_t)((double)task->dur * (double)bytes / (double)like->bytes)};
  uint32_t made = rebuild_library_run(writer, &operation, behind);
  reducing->job->tasks.items[made].from_rank = from->ranks.items[like->rank].rank;
  reducing->job->tasks.items[made].from_id = task->id;
  return made;
}

/* ---- a rank's step ---- */

struct round {                                   /* a rank's step */
  uint32_t rank, main, compute, stream, experts; /* streams: of all, and of experts' gradients */
  int32_t step;
  uint32_t finish, updated; /* the last task of the main thread that is of a pass, and of the optimizer */
  struct rebuild_buckets buckets;
};

static struct rebuild_library_writer writer_at(const struct reducing *reducing, const struct round *round,
                                               uint32_t after, uint8_t phase) {
  struct lumos_task label = lumos_task_empty;
  label.start = LUMOS_ABSENT;
  label.step = round->step;
  label.phase = phase;
  label.micro_batch = phase == LUMOS_BACKWARD ? reducing->job->tasks.items[after].micro_batch : LUMOS_ABSENT_INT;
  return (struct rebuild_library_writer){.weave = (struct rebuild_weave *)(uintptr_t)&reducing->weave,
                                         .costs = &reducing->costs,
                                         .thread = reducing->job->tasks.items[after].lane,
                                         .after = after,
                                         .compute = round->compute,
                                         .stream = round->stream,
                                         .label = label};
}

static enum channel_of channel_of(const struct rebuild_bucket *bucket) {
  return bucket->of_experts ? OF_EXPERTS : OF_REPLICAS;
}

/* Ranks with the same experts. */
static int32_t owners_of(const struct lumos_parallel *sizes) {
  return rebuild_stage_ranks(sizes) / rebuild_experts_of(sizes);
}

static int32_t copies_of(const struct reducing *reducing, const struct rebuild_bucket *bucket) {
  return bucket->of_experts ? owners_of(&reducing->sizes) : rebuild_copies_of(&reducing->sizes);
}

static void reduce_bucket(struct reducing *reducing, const struct round *round, struct rebuild_bucket *bucket,
                          uint32_t after, uint32_t kernel) {
  struct rebuild_library_writer writer = writer_at(reducing, round, after, LUMOS_BACKWARD);
  bool shards = reducing->reduction.shards;
  writer.stream = bucket->of_experts ? round->experts : round->stream;
  uint32_t computed = reducing->reduction.again ? divide_again(reducing, &writer, round->rank, bucket->bytes, kernel)
                                                : divide(reducing, &writer, bucket->bytes, kernel);
  bucket->task =
      start(reducing, &writer, round->rank, channel_of(bucket), shards ? "reduce_scatter" : "all_reduce",
            shards ? "ncclDevKernel_ReduceScatter" : "ncclDevKernel_AllReduce", bucket->bytes, computed, &bucket->done);
}

static uint32_t kernel_before(const struct reducing *reducing, const struct round *round, uint32_t after) {
  uint32_t first = reducing->job->lanes.items[round->main].task_first;
  for (uint32_t t = after + 1; t-- > first;) {
    if (reducing->launches[t] != LUMOS_NONE) {
      return reducing->launches[t];
    }
  }
  return LUMOS_NONE;
}

/* What comes on the compute stream next waits for that, and so does communication before, which waits for that
 * stream. */
static void hold_next(const struct reducing *reducing, const struct round *round,
                      const struct rebuild_library_writer *writer, uint32_t after, uint32_t awaited) {
  const struct lumos_lane *lane = &reducing->job->lanes.items[round->main];
  for (uint32_t t = after + 1; t < lane->task_first + lane->task_count; t++) {
    if (reducing->starts[t] != LUMOS_NONE) {
      rebuild_library_hold(writer, awaited, reducing->starts[t], LUMOS_INFERRED);
    }
    if (reducing->launches[t] != LUMOS_NONE) {
      rebuild_library_hold(writer, awaited, reducing->launches[t], LUMOS_RECORDED);
      return;
    }
  }
}

/* What follows on the compute stream waits for all that was reduced. */
static void wait_for_buckets(const struct reducing *reducing, const struct round *round, uint32_t after,
                             uint8_t phase) {
  struct rebuild_library_writer writer = writer_at(reducing, round, after, phase);
  for (int experts = 0; experts <= 1; experts++) {
    const struct rebuild_bucket *last = NULL;
    for (size_t i = 0; i < round->buckets.count; i++) {
      if (round->buckets.items[i].of_experts == experts) {
        last = &round->buckets.items[i];
        rebuild_library_wait(&writer, last->done);
      }
    }
    if (last != NULL) {
      hold_next(reducing, round, &writer, after, last->task);
    }
  }
}

static enum rebuild_filled filled(const struct lumos_job *from, const struct lumos_parallel *sizes) {
  return rebuild_experts_apart(from, sizes) ? REBUILD_FILL_OTHERS : REBUILD_FILL_ALL;
}

/* What one rank alone has, be it experts or all else, has nobody to be reduced with. */
static void fill_buckets(const struct reducing *reducing, const struct rebuild_gradient *gradients, size_t count,
                         struct rebuild_buckets *buckets) {
  struct rebuild_filling filling = reducing->filling;
  filling.of = filled(reducing->from, &reducing->sizes);
  if (rebuild_copies_of(&reducing->sizes) > 1) {
    rebuild_buckets_fill(&filling, gradients, count, buckets);
  }
  if (reducing->reduction.experts) {
    filling.of = REBUILD_FILL_EXPERTS;
    rebuild_buckets_fill(&filling, gradients, count, buckets);
  }
}

/* Behind the last pass those of experts come last. */
static void reduce_buckets(struct reducing *reducing, struct round *round) {
  bool overlaps = reducing->reduction.overlaps;
  uint32_t last = kernel_before(reducing, round, round->finish);
  const uint32_t *orders = &reducing->orders[CHANNELS * round->rank];
  const size_t count = round->buckets.count;
  for (size_t i = 0; i < (overlaps ? 1 : 2) * count; i++) {
    struct rebuild_bucket *bucket = &round->buckets.items[i < count ? i : i - count];
    if (overlaps || bucket->of_experts == (i >= count)) {
      reduce_bucket(reducing, round, bucket, overlaps ? bucket->after : round->finish,
                    overlaps ? bucket->kernel : last);
      bool first = round->rank == 0 && orders[OF_REPLICAS] + orders[OF_EXPERTS] <= count;
      reducing->buckets += first;
      reducing->bytes += first ? bucket->bytes : 0;
    }
  }
  wait_for_buckets(reducing, round, round->finish, LUMOS_BACKWARD);
}

/* A replica's share of the updated parameters, as the forward pass takes them. */
static uint32_t convert_share(struct reducing *reducing, const struct round *round,
                              struct rebuild_library_writer *writer, uint32_t behind) {
  double elements = 0;
  for (size_t i = 0; i < round->buckets.count; i++) {
    elements += (double)round->buckets.items[i].elements / copies_of(reducing, &round->buckets.items[i]);
  }
  const struct rebuild_operation operation = {.op = "aten::_foreach_copy_",
                                              .kernel =
                                                  lumos_string(reducing->job->strings, reducing->conversions.name),
                                              .kind = LUMOS_ELEMENTWISE,
                                              .dur = (int64_t)(reducing->conversions.pace * elements)};
  return rebuild_library_run(writer, &operation, behind);
}

/* Numbers of two bytes, as the forward pass takes them, or as large as the gradients. */
static void gather_parameters(struct reducing *reducing, struct round *round) {
  struct rebuild_library_writer writer = writer_at(reducing, round, round->updated, LUMOS_OPTIMIZER_PHASE);
  uint32_t computed = kernel_before(reducing, round, round->updated);
  computed = reducing->conversions.pace > 0 ? convert_share(reducing, round, &writer, computed) : computed;
  const size_t count = round->buckets.count;
  for (size_t i = 0; i < 2 * count; i++) {
    struct rebuild_bucket *bucket = &round->buckets.items[i < count ? i : i - count];
    int64_t bytes = reducing->megatron ? 2 * bucket->elements : bucket->bytes;
    writer.stream = bucket->of_experts ? round->experts : round->stream;
    if (bucket->of_experts == (i >= count)) {
      bucket->task = start(reducing, &writer, round->rank, channel_of(bucket), "all_gather", "ncclDevKernel_AllGather",
                           bytes, computed, &bucket->done);
    }
  }
  wait_for_buckets(reducing, round, round->updated, LUMOS_OPTIMIZER_PHASE);
}

/* The ends of the pipeline sum the gradient of the weights that they share. */
static void sum_embedding(struct reducing *reducing, const struct round *round, size_t first, size_t end) {
  int32_t stage = at(reducing, round->rank)->pp;
  uint8_t part = stage == 0 ? LUMOS_PART_EMBEDDING : LUMOS_PART_HEAD;
  const struct rebuild_gradient *shared = NULL;
  for (size_t i = first; i < end; i++) {
    const struct rebuild_gradient *gradient = &reducing->gradients.items.items[i];
    bool larger = gradient->part == part && (shared == NULL || gradient->elements > shared->elements);
    shared = larger ? gradient : shared;
  }
  if ((stage != 0 && stage != reducing->sizes.pp - 1) || shared == NULL) {
    return;
  }
  struct rebuild_library_writer writer = writer_at(reducing, round, round->finish, LUMOS_BACKWARD);
  uint32_t done;
  uint32_t task =
      start(reducing, &writer, round->rank, OF_ENDS, "all_reduce", "ncclDevKernel_AllReduce",
            rebuild_gradient_bytes(&reducing->filling, shared), kernel_before(reducing, round, round->finish), &done);
  rebuild_library_wait(&writer, done);
  if (round->buckets.count > 0) { /* the compute stream waits for these, and this for that stream */
    rebuild_library_hold(&writer, round->buckets.items[round->buckets.count - 1].task, task, LUMOS_RECORDED);
  }
  hold_next(reducing, round, &writer, round->finish, task);
}

/* ---- all rounds ---- */

/* Where the main thread is done with the passes of a step, and with its optimizer. */
static void find_ends(const struct reducing *reducing, struct round *round) {
  const struct lumos_job *job = reducing->job;
  const struct lumos_lane *lane = &job->lanes.items[round->main];
  round->finish = round->updated = LUMOS_NONE;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool passes = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
    round->finish = task->step == round->step && passes && task->micro_batch != LUMOS_ABSENT_INT ? t : round->finish;
    round->updated = task->step == round->step && task->phase == LUMOS_OPTIMIZER_PHASE ? t : round->updated;
  }
  for (size_t i = 0; i < reducing->handed.count; i++) { /* the main thread goes on when the passes' thread is done */
    uint32_t t = reducing->handed.items[i];
    const struct lumos_task *task = &job->tasks.items[t];
    bool returns = task->lane == round->main && task->step == round->step;
    round->finish = returns && (round->finish == LUMOS_NONE || t > round->finish) ? t : round->finish;
  }
  round->updated = round->updated == LUMOS_NONE || round->updated < round->finish ? round->finish : round->updated;
}

static bool do_round(struct reducing *reducing, size_t first, size_t end, struct lumos_error *error) {
  const struct rebuild_gradient *gradients = &reducing->gradients.items.items[first];
  struct rebuild_roles roles;
  struct round round = {.rank = gradients->rank, .step = gradients->step};
  if (!rebuild_roles_find(&roles, reducing->job, round.rank, round.step)) {
    return lumos_fail(error, "rank %d has no forward pass in step %d; record whole steps",
                      reducing->job->ranks.items[round.rank].rank, round.step);
  }
  round.main = roles.main;
  round.compute = roles.compute;
  round.stream = reducing->streams[0] + round.rank;
  round.experts = reducing->streams[1] + round.rank;
  find_ends(reducing, &round);
  if (reducing->reduction.replicas) {
    fill_buckets(reducing, gradients, end - first, &round.buckets);
    reduce_buckets(reducing, &round);
  }
  if (reducing->reduction.ends) {
    sum_embedding(reducing, &round, first, end);
  }
  if (reducing->reduction.replicas && reducing->reduction.shards) {
    gather_parameters(reducing, &round);
  }
  lumos_vector_free(&round.buckets);
  return true;
}

static bool do_rounds(struct reducing *reducing, struct lumos_error *error) {
  const struct rebuild_gradient *items = reducing->gradients.items.items;
  for (size_t first = 0, end; first < reducing->gradients.items.count; first = end) {
    for (end = first; end < reducing->gradients.items.count && items[end].rank == items[first].rank &&
                      items[end].step == items[first].step;) {
      end++;
    }
    if (!do_round(reducing, first, end, error)) {
      return false;
    }
  }
  return true;
}

/* ---- joining ---- */

static int by_channel(const void *left, const void *right) {
  const struct operation *a = left, *b = right;
  return a->channel != b->channel ? LUMOS_ORDER(a->channel, b->channel)
         : a->order != b->order   ? LUMOS_ORDER(a->order, b->order)
                                  : LUMOS_ORDER(a->task, b->task);
}

/* A group of replicas that the rank has, for what was recorded is reduced among these anew; absent: it has none. */
static lumos_string_id find_group(const struct lumos_job *job, uint32_t rank, const struct channel *channel) {
  for (size_t g = 0; g < job->groups.count; g++) {
    const struct lumos_group *group = &job->groups.items[g];
    bool of_experts = rebuild_axes_of_group(job, group) == REBUILD_OWNERS;
    bool fits = group->role == LUMOS_DATA && group->size == channel->size && of_experts == (channel->of == OF_EXPERTS);
    for (uint32_t m = 0; fits && m < group->member_count; m++) {
      if (job->group_ranks.items[group->member_first + m] == job->ranks.items[rank].rank) {
        return group->id;
      }
    }
  }
  return LUMOS_NO_STRING;
}

static lumos_string_id add_group(struct reducing *reducing, const struct operation *first, size_t count) {
  static const char *const names[CHANNELS] = {
      [OF_REPLICAS] = "gradients", [OF_ENDS] = "embedding", [OF_ALL] = "all_ranks", [OF_EXPERTS] = "expert_gradients"};
  static const uint8_t roles[CHANNELS] = {
      [OF_REPLICAS] = LUMOS_DATA, [OF_ENDS] = LUMOS_PIPELINE, [OF_ALL] = LUMOS_OTHER_ROLE, [OF_EXPERTS] = LUMOS_DATA};
  struct lumos_job *job = reducing->job;
  const struct channel *channel = &reducing->channels.items[first->channel];
  struct lumos_group group = lumos_group_empty;
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  uint32_t rank = lumos_rank_of(job, &job->tasks.items[first->task]);
  bool again = reducing->reduction.again && (channel->of == OF_REPLICAS || channel->of == OF_EXPERTS);
  lumos_string_id recorded = again ? find_group(job, rank, channel) : LUMOS_NO_STRING;
  if (recorded != LUMOS_NO_STRING) {
    lumos_text_free(&name);
    return recorded;
  }
  lumos_text_format(&name, "%s@%d", names[channel->of], job->ranks.items[rank].rank);
  lumos_text_char(&name, '\0');
  group.rank = rank;
  group.id = lumos_intern_text(job->strings, name.bytes);
  group.role = roles[channel->of];
  group.size = channel->size;
  group.member_first = (uint32_t)job->group_ranks.count;
  for (size_t m = 0; m < count && count == (size_t)channel->size; m++) {
    lumos_vector_push(&job->group_ranks, job->ranks.items[lumos_rank_of(job, &job->tasks.items[first[m].task])].rank);
    group.member_count++;
  }
  lumos_vector_push(&job->groups, group);
  lumos_text_free(&name);
  return group.id;
}

/* A number above those of all communicators. */
static int64_t free_communicator(const struct lumos_job *job) {
  int64_t next = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    uint32_t detail = job->tasks.items[t].detail;
    lumos_string_id named = detail == LUMOS_NONE ? LUMOS_NO_STRING : job->details.items[detail].comm.id;
    int64_t id = named == LUMOS_NO_STRING ? 0 : strtoll(lumos_string(job->strings, named), NULL, 10);
    next = id >= next && id < INT64_MAX ? id + 1 : next;
  }
  return next;
}

static void name_operation(struct lumos_job *job, const uint32_t *members, size_t count, lumos_string_id group,
                           int64_t communicator, uint32_t order) {
  char id[24];
  (void)snprintf(id, sizeof id, "%lld", (long long)communicator);
  for (size_t m = 0; m < count; m++) {
    struct lumos_comm *comm = &lumos_task_detail(job, &job->tasks.items[members[m]])->comm;
    comm->group = group;
    comm->id = lumos_intern_text(job->strings, id);
    comm->seq = order;
  }
}

static bool join_operations(struct reducing *reducing, struct lumos_error *error) {
  struct lumos_job *job = reducing->job;
  const struct operation *items = reducing->operations.items;
  LUMOS_VECTOR(uint32_t) members = {0};
  lumos_string_id group = LUMOS_NO_STRING;
  int64_t communicator = free_communicator(job);
  size_t expected = 0;
  bool good = true;
  lumos_vector_sort(&reducing->operations, by_channel);
  for (size_t first = 0, end; first < reducing->operations.count && good; first = end) {
    members.count = 0;
    for (end = first; end < reducing->operations.count && items[end].channel == items[first].channel &&
                      items[end].order == items[first].order;) {
      lumos_vector_push(&members, items[end++].task);
    }
    if (first == 0 || items[first - 1].channel != items[first].channel) {
      expected = members.count;
      group = add_group(reducing, &items[first], members.count);
    }
    good = members.count == expected && strcmp(items[first].what.op, items[end - 1].what.op) == 0;
    name_operation(job, members.items, members.count, group, communicator++, items[first].order);
    struct rebuild_operation what = items[first].what;
    what.group = group;
    rebuild_library_join(job, &what, members.items, (uint32_t)members.count,
                         reducing->channels.items[items[first].channel].size, LUMOS_SYMMETRIC);
  }
  lumos_vector_free(&members);
  return good ||
         lumos_fail(error, "replicas of a stage would reduce unequally many gradients; record more than one step");
}

/* ---- all together ---- */

/* What is known of the network and of the GPU's memory. */
static bool find_speeds(struct reducing *reducing, const struct lumos_job *from, struct lumos_error *error) {
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, error);
  if (hardware == NULL) {
    return false;
  }
  const struct lumos_device *device =
      lumos_hardware_find(hardware, lumos_string(from->strings, from->ranks.items[0].device_name));
  reducing->bandwidth = device == NULL ? 0 : device->bandwidth;
  reducing->nodes = lumos_nodes_of(from, NULL);
  reducing->transfers = lumos_transfers_fit(from, hardware, &reducing->nodes);
  lumos_hardware_free(hardware);
  return true;
}

static void find_launches(struct reducing *reducing) {
  const struct lumos_job *job = reducing->job;
  reducing->launches = lumos_allocate(job->tasks.count * sizeof *reducing->launches);
  reducing->starts = lumos_allocate(job->tasks.count * sizeof *reducing->starts);
  for (size_t t = 0; t < job->tasks.count; t++) {
    reducing->launches[t] = reducing->starts[t] = LUMOS_NONE;
  }
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    uint32_t compute = rebuild_compute_stream(job, r);
    for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
      const struct lumos_task *task = &job->tasks.items[t];
      if (task->call != LUMOS_NONE && task->lane == compute) {
        reducing->launches[task->call] = t;
      } else if (task->call != LUMOS_NONE && lumos_is_communication(task->kind)) {
        reducing->starts[task->call] = t;
      }
    }
  }
  for (size_t d = 0; d < job->deps.count; d++) {
    if (job->deps.items[d].kind == LUMOS_HANDOVER) {
      lumos_vector_push(&reducing->handed, job->deps.items[d].dst);
    }
  }
}

static void tell(const struct reducing *reducing) {
  const struct reduction *reduction = &reducing->reduction;
  if (reduction->ends) {
    lumos_job_note(
        reducing->job, "transform.assumed_embedding", LUMOS_WARNING, LUMOS_ABSENT, NULL,
        "as far as the recording of one stage shows, the first and the last stage share the embedding's weights. Their "
        "gradient all-reduce takes what NCCL's own model says",
        "Record a job of two stages to have it measured");
  }
  if (!reduction->replicas) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (reduction->again) {
    lumos_text_put(&text, "gradients are put into buckets anew: ");
  } else {
    lumos_text_format(&text, "how gradients are reduced is assumed: as in %s, ",
                      reducing->megatron ? "Megatron-LM" : "PyTorch's DistributedDataParallel");
  }
  lumos_text_format(
      &text,
      "%s in %lld buckets of %.1f MB in all, %s. Transfers take what %s. Calls take what PyTorch's take on an H100 "
      "server, scaled to this CPU (x %.2f)",
      reduction->shards ? "reduce-scatter, and all-gather of parameters after the optimizer," : "all-reduce",
      (long long)reducing->buckets, (double)reducing->bytes / 1e6,
      reduction->overlaps ? "each as soon as its last gradient is there" : "after the last backward pass",
      reduction->again ? "the recorded ones take" : "NCCL's own model says", (double)reducing->costs.pace / 1e6);
  if (!reducing->gradients.recorded) {
    lumos_text_put(&text, ". Sizes of gradients are those of the model description, by layer where that shows");
  }
  lumos_text_char(&text, '\0');
  lumos_job_note(reducing->job, reduction->again ? "transform.reduced_anew" : "transform.assumed_reduction",
                 reduction->again ? LUMOS_INFO : LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                 reduction->again ? NULL : "Record a job of two replicas to have them measured");
  lumos_text_free(&text);
  if (!reduction->again) {
    lumos_job_note(
        reducing->job, "transform.replicas_alike", LUMOS_WARNING, LUMOS_ABSENT, NULL,
        "one replica was recorded, so how much GPUs and CPUs of replicas differ is not known. They are taken "
        "to differ as its steps do. How long replicas wait for each other is uncertain, and so is how much "
        "communication is exposed",
        "Record a job of two replicas");
  }
}

static void add_streams(struct reducing *reducing) {
  int kinds = reducing->reduction.experts ? 2 : 1;
  for (int experts = 0; experts < kinds; experts++) {
    int32_t stream = rebuild_free_stream(reducing->job);
    reducing->streams[experts] = (uint32_t)reducing->job->lanes.count;
    for (uint32_t r = 0; r < reducing->job->ranks.count; r++) {
      (void)rebuild_weave_stream(&reducing->weave, r, stream);
    }
  }
}

static void close(struct reducing *reducing) {
  lumos_vector_free(&reducing->gradients.items);
  lumos_vector_free(&reducing->gradients.like);
  lumos_vector_free(&reducing->habits.buckets);
  lumos_vector_free(&reducing->habits.expert_buckets);
  lumos_vector_free(&reducing->divisions);
  lumos_vector_free(&reducing->channels);
  lumos_vector_free(&reducing->operations);
  lumos_numbering_free(&reducing->labels);
  lumos_numbering_free(&reducing->numbers);
  lumos_transfers_free(reducing->transfers);
  lumos_vector_free(&reducing->handed);
  free(reducing->launches);
  free(reducing->starts);
  free(reducing->orders);
}

static bool chosen(enum lumos_switch asked, bool otherwise) {
  return asked == 0 ? otherwise : asked == LUMOS_SWITCH_ON;
}

/* Do stages, or their chunks, have other layers? Then other gradients come together in a bucket. */
static bool moves_layers(const struct lumos_model_description *was, const struct lumos_model_description *now,
                         const struct lumos_rebuild *asked) {
  return was->layers != now->layers || was->sizes.pp != now->sizes.pp || asked->split_count > 0 || asked->chunks > 0;
}

/* Is the gradient of anything summed among ranks of a stage? */
static bool reduces(const struct lumos_job *from, const struct lumos_parallel *sizes) {
  return rebuild_copies_of(sizes) > 1 || (rebuild_experts_apart(from, sizes) && owners_of(sizes) > 1);
}

/* Have other ranks the same experts, or as many more of them than of all else, or do they reduce them, or all else, with
 * somebody and did not, or the other way round? */
static bool shares_otherwise(const struct lumos_job *from, const struct lumos_parallel *was,
                             const struct lumos_parallel *now) {
  bool were = rebuild_experts_apart(from, was), are = rebuild_experts_apart(from, now);
  return were != are || (are && (rebuild_experts_of(was) != rebuild_experts_of(now) || was->tp != now->tp ||
                                 (owners_of(was) > 1) != (owners_of(now) > 1) ||
                                 (rebuild_copies_of(was) > 1) != (rebuild_copies_of(now) > 1)));
}

/* What is left open is as recorded; new replicas overlap, and share nothing. */
static struct reduction reduction_for(const struct rebuild_habits *habits, const struct lumos_job *from,
                                      const struct lumos_job *built, const struct lumos_rebuild *asked) {
  const struct lumos_model_description *was = &from->models.items[0], *now = &built->models.items[0];
  bool several = reduces(from, &was->sizes), ends = now->sizes.pp > 1 && was->sizes.pp <= 1;
  bool differs = moves_layers(was, now, asked) || asked->bucket_mb > 0 || asked->overlap_gradients != 0 ||
                 asked->distributed_optimizer != 0;
  bool again =
      several && (differs || shares_otherwise(from, &was->sizes, &now->sizes)) && habits->reduces && !habits->spreads;
  bool replicas = reduces(from, &now->sizes) && (!several || again);
  return (struct reduction){.replicas = replicas,
                            .experts =
                                replicas && rebuild_experts_apart(from, &now->sizes) && owners_of(&now->sizes) > 1,
                            .again = again,
                            .ends = ends,
                            .bucket_bytes = (int64_t)asked->bucket_mb * 1000000,
                            .overlaps = chosen(asked->overlap_gradients, !again || habits->overlaps),
                            .shards = chosen(asked->distributed_optimizer, again && habits->shards)};
}

/* What is asked for has to have something that it can change. */
static bool check_habits(const struct rebuild_habits *habits, const struct lumos_job *from,
                         const struct lumos_job *built, const struct lumos_rebuild *asked, struct lumos_error *error) {
  if (asked->bucket_mb == 0 && asked->overlap_gradients == 0 && asked->distributed_optimizer == 0) {
    return true;
  }
  if (!reduces(from, &built->models.items[0].sizes)) {
    return lumos_fail(error, "one replica reduces no gradients: --bucket-mb, --overlap-gradients and "
                             "--distributed-optimizer need --dp 2 at least");
  }
  return !reduces(from, &from->models.items[0].sizes) || (habits->reduces && !habits->spreads) ||
         lumos_fail(error,
                    habits->spreads
                        ? "the recorded replicas spread their parameters (FSDP), so gradients cannot be reduced in "
                          "another way; leave --bucket-mb, --overlap-gradients and --distributed-optimizer out"
                        : "the recording shows no reduction of gradients that could be changed; record with "
                          "PyTorch 2.4 or later, which records the arguments of collectives");
}

static bool weave(struct reducing *reducing, struct lumos_error *error) {
  rebuild_weave_begin(&reducing->weave, reducing->job);
  add_streams(reducing);
  bool done = do_rounds(reducing, error) && join_operations(reducing, error);
  struct lumos_error unused;
  return rebuild_weave_end(&reducing->weave, done ? error : &unused) && done;
}

/* Recorded gradients are of as many experts as a rank has now: of as many as it had. */
static void own_as_recorded(struct reducing *reducing, const struct lumos_job *from) {
  int64_t were = rebuild_experts_of(&from->models.items[0].sizes), are = rebuild_experts_of(&reducing->sizes);
  for (size_t i = 0; i < reducing->gradients.like.count; i++) {
    struct rebuild_gradient *gradient = &reducing->gradients.like.items[i];
    bool fits = gradient->of_experts && gradient->elements < (INT64_C(1) << 40);
    gradient->elements = fits ? gradient->elements * are / were : gradient->elements;
  }
}

/* Buckets are filled as the recorded ones were, up to the size that is asked for. */
static void find_filling(struct reducing *reducing, const struct lumos_job *from) {
  const struct reduction *reduction = &reducing->reduction;
  const struct rebuild_habits *habits = &reducing->habits;
  int64_t known = from->models.items[0].bucket_bytes;
  reducing->filling = (struct rebuild_filling){.megatron = reducing->megatron,
                                               .overlaps = reduction->again ? habits->overlaps : reduction->overlaps,
                                               .bucket_bytes = known != LUMOS_ABSENT ? known : 0,
                                               .tied = reducing->gradients.tied,
                                               .replicas = rebuild_copies_of(&reducing->sizes),
                                               .recorded_bytes = reduction->again ? habits->bytes : 0,
                                               .recorded_elements = reducing->gradients.elements,
                                               .resized = lumos_job_edited(from)};
  reducing->filling.of = filled(from, &from->models.items[0].sizes);
  if (reduction->again) {
    const struct rebuild_recorded_buckets recorded = {habits->buckets.items, habits->expert_buckets.items,
                                                      habits->buckets.count, habits->expert_buckets.count};
    own_as_recorded(reducing, from);
    rebuild_filling_find(&reducing->filling, reducing->gradients.like.items, reducing->gradients.like.count, &recorded);
  }
  reducing->filling.overlaps = reduction->overlaps;
  if (reduction->bucket_bytes > 0) {
    reducing->filling.bucket_bytes = reduction->bucket_bytes;
  }
  if (reducing->filling.bucket_bytes > 0) {
    reducing->job->models.items[0].bucket_bytes = reducing->filling.bucket_bytes;
  }
}

/* A compiled backward pass hands all gradients over at its end, where none is of a layer: but for those of the
 * vocabulary they grow with the layers. */
static void grow_gradients(struct rebuild_gradients *gradients, const struct lumos_model_description *was,
                           const struct lumos_model_description *now) {
  int64_t words = was->vocabulary > 0 && was->hidden > 0 ? (int64_t)was->vocabulary * was->hidden : 0;
  int64_t stages_were = was->sizes.pp > 0 ? was->sizes.pp : 1, stages = now->sizes.pp > 0 ? now->sizes.pp : 1;
  int64_t shards = now->sizes.tp > 0 ? now->sizes.tp : 1;
  bool placed = !gradients->recorded || was->layers <= 0 || now->layers <= 0;
  for (size_t i = 0; i < gradients->like.count; i++) {
    placed = placed || gradients->like.items[i].layer >= 0;
  }
  for (size_t i = 0; i < gradients->items.count && !placed; i++) {
    struct rebuild_gradient *gradient = &gradients->items.items[i];
    __int128 grown = (__int128)gradient->elements * now->layers * stages_were / (was->layers * stages);
    bool of_words = words > 0 && gradient->elements == words / shards;
    gradient->elements = of_words || grown > INT64_C(1) << 50 ? gradient->elements : (int64_t)grown;
  }
}

static bool reduce(struct reducing *reducing, const struct lumos_job *from, struct lumos_error *error) {
  if (reducing->reduction.again) {
    rebuild_divisions_find(&reducing->divisions, from);
    rebuild_strip(reducing->job, from, REBUILD_STRIP_DIVISIONS);
  }
  if (reducing->reduction.shards && !reducing->habits.shards && reducing->megatron) {
    reducing->conversions = rebuild_strip_conversions(reducing->job, from);
  }
  rebuild_gradients_find(&reducing->gradients, reducing->job, from, REBUILD_LAST_MICRO_BATCH);
  grow_gradients(&reducing->gradients, &from->models.items[0], &reducing->job->models.items[0]);
  find_filling(reducing, from);
  reducing->reduction.ends = reducing->reduction.ends && reducing->gradients.tied;
  if (reducing->gradients.items.count == 0) {
    return lumos_fail(error, "which gradients a rank has is not known; record the CPU's ops and their shapes "
                             "(record_shapes=True), or describe the model with lumos-graph --model-file: its layers, "
                             "hidden, heads, head_dim, ffn and vocabulary");
  }
  if (!find_speeds(reducing, from, error)) {
    return false;
  }
  rebuild_costs_find(&reducing->costs, from);
  reducing->rooms = rebuild_rooms_find(from, LUMOS_COLLECTIVE);
  find_launches(reducing);
  if (!weave(reducing, error)) {
    return false;
  }
  tell(reducing);
  return true;
}

bool rebuild_reduce(struct lumos_job *built, const struct lumos_job *from, const struct lumos_rebuild *asked,
                    struct lumos_error *error) {
  if (built->models.count == 0 || from->models.count == 0 || !rebuild_goes_back(from)) {
    return true;
  }
  struct reducing reducing = {.job = built, .from = from};
  bool alone = !reduces(from, &built->models.items[0].sizes), were = reduces(from, &from->models.items[0].sizes);
  if (were) {
    rebuild_habits_find(&reducing.habits, from);
  }
  bool done = check_habits(&reducing.habits, from, built, asked, error);
  if (done && alone && were) {
    rebuild_strip(built, from, REBUILD_STRIP_ALL);
  }
  reducing.reduction = reduction_for(&reducing.habits, from, built, asked);
  if (done && (reducing.reduction.replicas || reducing.reduction.ends)) {
    reducing.sizes = built->models.items[0].sizes;
    reducing.megatron = rebuild_is_megatron(from);
    reducing.orders = lumos_allocate_zeroed(CHANNELS * built->ranks.count, sizeof *reducing.orders);
    done = reduce(&reducing, from, error);
  }
  close(&reducing);
  return done;
}
