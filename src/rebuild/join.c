#include "rebuild/join.h"

#include "cost/transfers.h"
#include "rebuild/apart.h"
#include "rebuild/axes.h"
#include "rebuild/label.h"
#include "rebuild/library.h"
#include "rebuild/schedule.h"
#include <lumos/hardware.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCALARS = 256 }; /* bytes of a norm or a loss, at most, which are no parameters' (chosen) */

struct operation {     /* of one member */
  uint32_t collective; /* that its recorded task is a member of */
  int32_t scale;
  const struct rebuild_rank *rank;
  struct lumos_built_task task;
};

LUMOS_VECTOR_TYPE(operations, struct operation);

struct member {
  const struct rebuild_rank *rank;
  struct operations operations;
};
LUMOS_VECTOR_TYPE(members, struct member);

/* What one stage sends to a neighbor, and what that receives. */
struct way {
  struct operations sent, received;
};

/* Two kernels of which one sends to the other, or each to the other: one collective. */
struct link {
  struct operation low, high; /* by handle */
  int64_t up, down;           /* messages from the low one to the high one, and back */
};
LUMOS_VECTOR_TYPE(links, struct link);

struct rebuild_joining {
  const struct lumos_job *from;
  const struct rebuild_plan *plan;
  uint32_t *channel_of; /* by collective of `from`: those of the same streams of the same ranks, in one direction */
  uint8_t *axes;        /* by collective of `from`: enum rebuild_axis, added up */
  uint32_t *turns;      /* by lane and axes: how many streams of its rank before it communicate along these */
  uint32_t *first;      /* by task, and one more: its memberships */
  uint32_t *of;         /* by membership: the collective */
  struct lumos_numbering labels, numbers;
  LUMOS_VECTOR(struct members) channels;
  struct lumos_nodes nodes;
  uint32_t communicators;            /* operations that are joined */
  bool spans_nodes;                  /* some communication has come to */
  struct lumos_transfers *transfers; /* NULL: the configuration is the recorded one */
  struct rebuild_apart apart;        /* likewise */
  struct lumos_numbering way_labels, way_numbers;
  LUMOS_VECTOR(struct way) ways;
  int64_t message; /* bytes of one between stages; 0: not known */
};

/* ---- recorded collectives ---- */

static uint32_t member_of(const struct lumos_job *job, const struct lumos_collective *collective, uint32_t m) {
  return job->members.items[collective->member_first + m];
}

/* Labels of several lengths are told apart by their first number, the length. */
static uint32_t label_recorded(struct rebuild_joining *joining, struct lumos_numbering *labels,
                               const struct lumos_collective *collective) {
  const struct lumos_job *job = joining->from;
  const char *op =
      lumos_string(job->strings, lumos_detail_of(job, &job->tasks.items[member_of(job, collective, 0)])->comm.op);
  uint32_t head[] = {collective->member_count, collective->rule,
                     rebuild_is_pair(collective) && strcmp(op, "send") == 0};
  uint32_t label = rebuild_label(labels, head, sizeof head / sizeof *head);
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t lane = job->tasks.items[member_of(job, collective, m)].lane;
    label = lumos_number_of(labels, lumos_key_pair(label, lane));
  }
  return label;
}

static void look_at_recorded(struct rebuild_joining *joining) {
  const struct lumos_job *job = joining->from;
  struct lumos_numbering labels = {0};
  joining->channel_of = lumos_allocate(job->collectives.count * sizeof *joining->channel_of);
  joining->axes = lumos_allocate(job->collectives.count);
  for (size_t c = 0; c < job->collectives.count; c++) {
    joining->channel_of[c] = label_recorded(joining, &labels, &job->collectives.items[c]);
    joining->axes[c] = (uint8_t)rebuild_axes_of_collective(job, &job->collectives.items[c]);
  }
  lumos_numbering_free(&labels);
}

/* Ranks may number like streams differently. */
static void count_streams(struct rebuild_joining *joining) {
  const struct lumos_job *job = joining->from;
  uint8_t *there = lumos_allocate_zeroed(job->lanes.count, REBUILD_AXES);
  joining->turns = lumos_allocate_zeroed(job->lanes.count, REBUILD_AXES * sizeof *joining->turns);
  for (size_t c = 0; c < job->collectives.count; c++) {
    for (uint32_t m = 0; m < job->collectives.items[c].member_count; m++) {
      uint32_t lane = job->tasks.items[member_of(job, &job->collectives.items[c], m)].lane;
      there[(size_t)lane * REBUILD_AXES + joining->axes[c]] = 1;
    }
  }
  for (size_t l = 1; l < job->lanes.count; l++) {
    bool same = job->lanes.items[l].rank == job->lanes.items[l - 1].rank;
    for (size_t i = l * REBUILD_AXES; i < (l + 1) * REBUILD_AXES && same; i++) {
      joining->turns[i] = joining->turns[i - REBUILD_AXES] + there[i - REBUILD_AXES];
    }
  }
  free(there);
}

/* By task, LUMOS_NONE for most: the pair that one is like which was joined with none, as where both ends lay too far
 * apart; the one before it on its stream, or the first. In another pipeline it waits like those. */
static uint32_t *find_stand_ins(const struct lumos_job *job) {
  uint32_t *stand_ins = lumos_allocate(job->tasks.count * sizeof *stand_ins + 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    stand_ins[t] = LUMOS_NONE;
  }
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    for (uint32_t m = 0; m < collective->member_count && rebuild_is_pair(collective); m++) {
      stand_ins[member_of(job, collective, m)] = c;
    }
  }
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    uint32_t before = LUMOS_NONE, end = lane->task_first + lane->task_count;
    for (uint32_t t = lane->task_first; t < end && before == LUMOS_NONE; t++) {
      before = stand_ins[t];
    }
    for (uint32_t t = lane->task_first; t < end && before != LUMOS_NONE; t++) {
      bool alone = job->tasks.items[t].kind == LUMOS_P2P && stand_ins[t] == LUMOS_NONE;
      before = stand_ins[t] != LUMOS_NONE ? stand_ins[t] : before;
      stand_ins[t] = alone ? before : LUMOS_NONE;
    }
  }
  return stand_ins;
}

static void list_memberships(struct rebuild_joining *joining) {
  const struct lumos_job *job = joining->from;
  uint32_t *first = lumos_allocate_zeroed(job->tasks.count + 2, sizeof *first);
  uint32_t *stand_ins = joining->plan->recorded ? NULL : find_stand_ins(job);
  for (size_t m = 0; m < job->members.count; m++) {
    first[job->members.items[m] + 2]++;
  }
  for (size_t t = 0; t < job->tasks.count && stand_ins != NULL; t++) {
    first[t + 2] += stand_ins[t] != LUMOS_NONE;
  }
  for (size_t t = 2; t < job->tasks.count + 2; t++) {
    first[t] += first[t - 1];
  }
  joining->of = lumos_allocate(first[job->tasks.count + 1] * sizeof *joining->of + 1);
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    for (uint32_t m = 0; m < collective->member_count; m++) {
      joining->of[first[member_of(job, collective, m) + 1]++] = c;
    }
  }
  for (size_t t = 0; t < job->tasks.count && stand_ins != NULL; t++) {
    if (stand_ins[t] != LUMOS_NONE) {
      joining->of[first[t + 1]++] = stand_ins[t];
    }
  }
  free(stand_ins);
  joining->first = first;
}

/* The smallest that is sent: what goes to a neighbor twice in one kernel is told as one. */
static int64_t find_message(const struct lumos_job *job) {
  int64_t least = 0;
  for (size_t p = 0; p < job->peers.count; p++) {
    const struct lumos_peer *peer = &job->peers.items[p];
    int64_t bytes = peer->send > 0 ? peer->send : peer->recv;
    least = bytes > 0 && (least == 0 || bytes < least) ? bytes : least;
  }
  return least;
}

struct rebuild_joining *rebuild_joining_new(const struct lumos_job *from, const struct rebuild_plan *plan) {
  struct rebuild_joining *joining = lumos_allocate_zeroed(1, sizeof *joining);
  joining->from = from;
  joining->plan = plan;
  look_at_recorded(joining);
  count_streams(joining);
  list_memberships(joining);
  joining->nodes = lumos_nodes_of(from, NULL);
  joining->message = find_message(from);
  if (!plan->recorded) {
    struct lumos_error error = {0};
    struct lumos_hardware *hardware = lumos_hardware_read(NULL, &error);
    joining->transfers = lumos_transfers_fit(from, hardware, &joining->nodes);
    lumos_hardware_free(hardware);
    rebuild_apart_find(&joining->apart, from);
  }
  return joining;
}

void rebuild_joining_free(struct rebuild_joining *joining) {
  for (size_t c = 0; c < joining->channels.count; c++) {
    for (size_t m = 0; m < joining->channels.items[c].count; m++) {
      lumos_vector_free(&joining->channels.items[c].items[m].operations);
    }
    lumos_vector_free(&joining->channels.items[c]);
  }
  for (size_t w = 0; w < joining->ways.count; w++) {
    lumos_vector_free(&joining->ways.items[w].sent);
    lumos_vector_free(&joining->ways.items[w].received);
  }
  lumos_vector_free(&joining->channels);
  lumos_vector_free(&joining->ways);
  lumos_numbering_free(&joining->way_labels);
  lumos_numbering_free(&joining->way_numbers);
  lumos_numbering_free(&joining->labels);
  lumos_numbering_free(&joining->numbers);
  lumos_transfers_free(joining->transfers);
  rebuild_apart_free(&joining->apart);
  free(joining->channel_of);
  free(joining->axes);
  free(joining->turns);
  free(joining->first);
  free(joining->of);
  free(joining);
}

/* ---- who takes part in what is built ---- */

/* How many ranks the collective has in the plan; 0: not this one. */
static int32_t size_of(const struct rebuild_joining *joining, const struct rebuild_rank *rank, uint32_t collective) {
  return rebuild_axes_count(joining->plan, &rank->at, joining->axes[collective]);
}

bool rebuild_takes_part(const struct rebuild_joining *joining, const struct rebuild_rank *rank, uint32_t like) {
  bool alone = false;
  for (uint32_t i = joining->first[like]; i < joining->first[like + 1] && !joining->plan->recorded; i++) {
    const struct lumos_collective *collective = &joining->from->collectives.items[joining->of[i]];
    alone = alone || (!rebuild_is_pair(collective) && size_of(joining, rank, joining->of[i]) < 2);
  }
  return !alone;
}

/* From the stage to its neighbor: with several chunks a stage the last one's next is the first. */
static struct way *way_from(struct rebuild_joining *joining, const struct rebuild_rank *rank, int32_t stage, bool up) {
  int32_t stages = joining->plan->pipeline.stages;
  const uint32_t label[] = {(uint32_t)((stage + stages) % stages), up, (uint32_t)rank->at.tp, (uint32_t)rank->at.dp,
                            (uint32_t)rank->at.cp};
  uint32_t way =
      lumos_number_of(&joining->way_numbers, rebuild_label(&joining->way_labels, label, sizeof label / sizeof *label));
  if (way == joining->ways.count) {
    lumos_vector_push(&joining->ways, ((struct way){0}));
  }
  return &joining->ways.items[way];
}

static void join_neighbors(struct rebuild_joining *joining, const struct rebuild_rank *rank, unsigned exchange,
                           struct operation operation) {
  int32_t stage = rank->at.pp;
  if ((exchange & REBUILD_TO_NEXT) != 0) {
    lumos_vector_push(&way_from(joining, rank, stage, true)->sent, operation);
  }
  if ((exchange & REBUILD_FROM_PREVIOUS) != 0) {
    lumos_vector_push(&way_from(joining, rank, stage - 1, true)->received, operation);
  }
  if ((exchange & REBUILD_TO_PREVIOUS) != 0) {
    lumos_vector_push(&way_from(joining, rank, stage, false)->sent, operation);
  }
  if ((exchange & REBUILD_FROM_NEXT) != 0) {
    lumos_vector_push(&way_from(joining, rank, stage + 1, false)->received, operation);
  }
}

static uint32_t label_collective(struct rebuild_joining *joining, const struct rebuild_rank *rank, uint32_t collective,
                                 uint32_t like) {
  unsigned axes = joining->axes[collective];
  uint32_t lane = joining->from->tasks.items[like].lane;
  uint32_t label[2 + REBUILD_PLACES] = {axes, joining->turns[(size_t)lane * REBUILD_AXES + axes]};
  rebuild_axes_place(&joining->plan->model.sizes, &rank->at, axes, label + 2);
  return rebuild_label(&joining->labels, label, sizeof label / sizeof *label);
}

static struct members *channel_for(struct rebuild_joining *joining, const struct rebuild_rank *rank,
                                   uint32_t collective, uint32_t like) {
  uint32_t label =
      joining->plan->recorded ? joining->channel_of[collective] : label_collective(joining, rank, collective, like);
  uint32_t channel = lumos_number_of(&joining->numbers, label);
  if (channel == joining->channels.count) {
    lumos_vector_push(&joining->channels, ((struct members){0}));
  }
  return &joining->channels.items[channel];
}

static struct member *member_for(struct members *members, const struct rebuild_rank *rank) {
  for (size_t m = members->count; m-- > 0;) {
    if (members->items[m].rank == rank) {
      return &members->items[m];
    }
  }
  lumos_vector_push(members, ((struct member){.rank = rank}));
  return &members->items[members->count - 1];
}

void rebuild_join(struct rebuild_joining *joining, const struct rebuild_rank *rank, uint32_t like,
                  struct lumos_built_task task, const struct rebuild_item *item) {
  bool between_stages = false;
  for (uint32_t i = joining->first[like]; i < joining->first[like + 1]; i++) {
    uint32_t collective = joining->of[i];
    unsigned axes = joining->axes[collective];
    bool among = (axes & (REBUILD_PIPELINE | REBUILD_TENSOR)) == 0 && axes != REBUILD_CONTEXT && axes != REBUILD_EXPERT;
    int64_t bytes = joining->from->collectives.items[collective].bytes;
    bool scales = among && (bytes == LUMOS_ABSENT || bytes > SCALARS);
    struct operation operation = {collective, scales && item != NULL ? item->transfers : 0, rank, task};
    if (joining->plan->recorded || !rebuild_is_pair(&joining->from->collectives.items[collective])) {
      struct members *members = channel_for(joining, rank, collective, like);
      lumos_vector_push(&member_for(members, rank)->operations, operation);
    } else if (!between_stages) {
      between_stages = true;
      join_neighbors(joining, rank, item != NULL ? item->exchange : 0, operation);
    }
  }
}

/* ---- all together ---- */

static bool check_counts(const struct members *members, struct lumos_error *error) {
  for (size_t m = 1; m < members->count; m++) {
    if (members->items[m].operations.count != members->items[0].operations.count) {
      return lumos_fail(error, "rank %d would take part in %zu operations of a communicator, and rank %d in %zu",
                        members->items[0].rank->number, members->items[0].operations.count,
                        members->items[m].rank->number, members->items[m].operations.count);
    }
  }
  return true;
}

/* Of what the library put in. */
static double common_of(const struct lumos_job *job, const struct lumos_collective *collective) {
  /* Looked up alone: another thread reads the same strings. */
  lumos_string_id library = lumos_interned(job->strings, REBUILD_LIBRARY_ERROR, strlen(REBUILD_LIBRARY_ERROR));
  bool of_library = library != LUMOS_NO_STRING && collective->common_error == library;
  const struct lumos_common_error *error = of_library ? lumos_common_error_of(job, library) : NULL;
  return error == NULL ? 0 : lumos_decimal_value(error->sigma);
}

/* What it takes among the ranks that it has now, and of the bytes that it has now. Returns it. */
static int64_t resize(struct rebuild_joining *joining, const struct lumos_collective *like,
                      const struct rebuild_numbers *ranks, int32_t scale, struct lumos_builder *builder) {
  struct lumos_transfer_shape was = lumos_transfer_shape_of(lumos_transfers_placing(joining->transfers), like),
                              now = was;
  now.nodes = lumos_nodes_spanned(&joining->nodes, ranks->items, (uint32_t)ranks->count);
  joining->spans_nodes = joining->spans_nodes || now.nodes > was.nodes;
  now.size = rebuild_is_pair(like) ? was.size : (int32_t)ranks->count;
  if (scale != 0 && was.bytes != LUMOS_ABSENT) {
    now.bytes = (int64_t)((__int128)was.bytes * scale / LUMOS_WHOLE_SHARE);
    lumos_build_bytes(builder, (int64_t)((__int128)like->bytes * scale / LUMOS_WHOLE_SHARE));
  }
  struct lumos_duration transfer = lumos_transfer_changed(joining->transfers, like->transfer, &was, &now, NULL, NULL);
  double unknown = scale != 0 && was.bytes == LUMOS_ABSENT ? (double)scale / LUMOS_WHOLE_SHARE : 1;
  int64_t built = llround(transfer.ns * unknown);
  lumos_build_transfer(builder, built);
  double put_in = common_of(joining->from, like), own = transfer.own;
  if (put_in > 0) {
    own = hypot(own, (double)like->transfer_error / fmax((double)like->transfer, 1));
  }
  if (transfer.common > 0 || put_in > 0) {
    bool library = put_in > transfer.common;
    double sigma = fmin(library ? put_in : transfer.common, 1);
    lumos_string_id common = lumos_build_common_error(
        builder, library ? REBUILD_LIBRARY_ERROR : "rebuild.communication",
        library ? REBUILD_LIBRARY_NAME : "communication among other ranks, or of other sizes",
        (int32_t)lround(sigma * LUMOS_WHOLE_SHARE),
        library ? REBUILD_LIBRARY_SOURCE : "leaving out shapes of the trace's own transfers in turn");
    lumos_build_transfer_error(builder, llround(fmin(own, 1) * transfer.ns), common);
  }
  return built;
}

/* Are the n-th operations of members like those of one recorded collective, and of all of these? */
static bool is_like_one(const struct members *members, size_t n, const struct lumos_collective *like, int32_t size) {
  bool one = size == like->size;
  for (size_t m = 1; m < members->count; m++) {
    one = one && members->items[m].operations.items[n].collective == members->items[0].operations.items[n].collective;
  }
  return one;
}

/* The n-th operations of all members, whose collective takes so long. They end apart, the further the longer they
 * transfer. Of other members than were recorded together all ends count from the first one's, for the last one holds up
 * what comes, and of more members that is later: the last of those that are built is as late as the last of all is
 * expected to be. */
static void end_apart(const struct rebuild_joining *joining, const struct members *members, size_t n, int64_t transfer,
                      int32_t size, struct lumos_builder *builder) {
  const struct rebuild_apart *apart = &joining->apart;
  uint32_t first = members->items[0].operations.items[n].collective;
  const struct lumos_collective *like = &joining->from->collectives.items[first];
  bool anew = !is_like_one(members, n, like, size) && apart->family_of[first] != LUMOS_NONE && members->count > 1;
  int64_t latest = 0;
  size_t last = 0;
  for (size_t m = 0; m < members->count; m++) {
    const struct operation *operation = &members->items[m].operations.items[n];
    int64_t was = joining->from->collectives.items[operation->collective].transfer;
    if (was > 0) {
      int64_t early = anew ? rebuild_apart_early(apart, operation->collective) : 0;
      int64_t behind = lumos_build_end(builder, operation->task, early, (double)transfer / (double)was);
      last = behind > latest ? m : last;
      latest = behind > latest ? behind : latest;
    }
  }
  if (anew) {
    double later = rebuild_apart_last(apart, first, size) - rebuild_apart_last(apart, first, (int32_t)members->count);
    int64_t early = rebuild_apart_early(apart, first);
    lumos_build_transfer(builder, transfer - llround((double)early * (double)transfer / (double)like->transfer));
    (void)lumos_build_end(builder, members->items[last].operations.items[n].task, llround(later * (double)transfer), 1);
  }
}

/* The ranks of a channel, those that others stand for included. */
static void list_ranks(const struct rebuild_joining *joining, const struct members *members,
                       struct rebuild_numbers *ranks) {
  if (!joining->plan->recorded) {
    uint32_t collective = members->items[0].operations.items[0].collective;
    rebuild_axes_list(joining->plan, &members->items[0].rank->at, joining->axes[collective], ranks);
  }
}

/* The n-th operations of all members. */
static void join_operations(struct rebuild_joining *joining, const struct members *members, size_t n,
                            const struct rebuild_numbers *ranks, struct lumos_built_task *tasks,
                            struct lumos_builder *builder) {
  const struct operation *first = &members->items[0].operations.items[n];
  const struct lumos_collective *like = &joining->from->collectives.items[first->collective];
  bool recorded = joining->plan->recorded;
  for (size_t m = 0; m < members->count; m++) {
    tasks[m] = members->items[m].operations.items[n].task;
    if (!recorded) {
      lumos_build_communicator(builder, tasks[m], joining->communicators, (int64_t)n);
    }
  }
  joining->communicators++;
  lumos_build_collective(builder, first->collective, tasks, (uint32_t)members->count,
                         recorded ? like->size : (int32_t)ranks->count);
  if (!recorded && like->transfer != LUMOS_ABSENT) {
    int64_t transfer = resize(joining, like, ranks, first->scale, builder);
    end_apart(joining, members, n, transfer, (int32_t)ranks->count, builder);
  }
}

static void join_channel(struct rebuild_joining *joining, const struct members *members,
                         struct lumos_builder *builder) {
  struct lumos_built_task *tasks = lumos_allocate(members->count * sizeof *tasks);
  struct rebuild_numbers ranks = {0};
  list_ranks(joining, members, &ranks);
  for (size_t n = 0; n < members->items[0].operations.count; n++) {
    join_operations(joining, members, n, &ranks, tasks, builder);
  }
  lumos_vector_free(&ranks);
  free(tasks);
}

/* ---- between stages ---- */

static int by_kernels(const void *left, const void *right) {
  const struct link *a = left, *b = right;
  return a->low.task.number != b->low.task.number ? LUMOS_ORDER(a->low.task.number, b->low.task.number)
                                                  : LUMOS_ORDER(a->high.task.number, b->high.task.number);
}

static bool link_way(const struct way *way, struct links *links, struct lumos_error *error) {
  if (way->sent.count != way->received.count) {
    return lumos_fail(error,
                      "a stage would send %zu times to a neighbor that receives %zu times; record a rank of every "
                      "pipeline stage of one replica",
                      way->sent.count, way->received.count);
  }
  for (size_t i = 0; i < way->sent.count; i++) {
    struct operation from = way->sent.items[i], to = way->received.items[i];
    bool up = from.task.number < to.task.number;
    lumos_vector_push(links, ((struct link){up ? from : to, up ? to : from, up, !up}));
  }
  return true;
}

/* Two kernels that do several things with each other do them at once: each link once. */
static void merge_links(struct links *links) {
  size_t kept = 0;
  lumos_vector_sort(links, by_kernels);
  for (size_t i = 0; i < links->count; i++) {
    if (kept > 0 && by_kernels(&links->items[kept - 1], &links->items[i]) == 0) {
      links->items[kept - 1].up += links->items[i].up;
      links->items[kept - 1].down += links->items[i].down;
    } else {
      links->items[kept++] = links->items[i];
    }
  }
  links->count = kept;
}

/* Messages of a recorded pair in its busier direction; 0: not known. */
static int64_t count_messages(const struct rebuild_joining *joining, const struct lumos_collective *pair) {
  const struct lumos_job *job = joining->from;
  uint32_t first = member_of(job, pair, 0), last = member_of(job, pair, pair->member_count - 1);
  int32_t other = job->ranks.items[lumos_rank_of(job, &job->tasks.items[last])].rank;
  const struct lumos_comm *comm = &lumos_detail_of(job, &job->tasks.items[first])->comm;
  int64_t bytes = 0;
  for (uint32_t p = comm->peer_first; p < comm->peer_first + comm->peer_count; p++) {
    const struct lumos_peer *peer = &job->peers.items[p];
    int64_t more = peer->send > peer->recv ? peer->send : peer->recv;
    bytes = peer->rank == other && more > bytes ? more : bytes;
  }
  return joining->message > 0 ? bytes / joining->message : 0;
}

static void build_link(struct rebuild_joining *joining, const struct link *link, struct lumos_builder *builder) {
  const struct lumos_collective *like = &joining->from->collectives.items[link->low.collective];
  const struct lumos_built_task tasks[] = {link->low.task, link->high.task};
  int32_t numbers[] = {link->low.rank->number, link->high.rank->number};
  const struct rebuild_numbers ranks = {numbers, 2, 2};
  int64_t was = count_messages(joining, like), now = link->up > link->down ? link->up : link->down;
  lumos_build_collective(builder, link->low.collective, tasks, 2, 2);
  if (like->rule == LUMOS_ROOTED && link->up > 0 && link->down > 0) {
    lumos_build_rule(builder, LUMOS_BATCHED, LUMOS_ABSENT_INT);
  } else if (like->rule == LUMOS_ROOTED) {
    lumos_build_rule(builder, LUMOS_ROOTED, numbers[link->up == 0]);
  }
  if (like->transfer != LUMOS_ABSENT) {
    resize(joining, like, &ranks, was == 0 || was == now ? 0 : (int32_t)(LUMOS_WHOLE_SHARE * now / was), builder);
  }
  if (was != 0) {
    lumos_build_bytes(builder, (link->up + link->down) * joining->message);
  }
}

struct end { /* of a link, on the kernel that it is one of */
  struct lumos_built_task task;
  uint32_t communicator;
  struct lumos_peer peer;
};
LUMOS_VECTOR_TYPE(ends, struct end);

/* Messages are as long as the recorded ones; 1 byte where that is not known. */
static void add_ends(const struct rebuild_joining *joining, struct ends *ends, const struct link *link,
                     uint32_t communicator) {
  int64_t message = joining->message > 0 ? joining->message : 1;
  int64_t up = link->up * message, down = link->down * message;
  struct end low = {link->low.task, communicator, {link->high.rank->number, up, down}};
  struct end high = {link->high.task, communicator, {link->low.rank->number, down, up}};
  lumos_vector_push(ends, low);
  lumos_vector_push(ends, high);
}

static int by_task(const void *left, const void *right) {
  const struct end *a = left, *b = right;
  return a->task.number != b->task.number ? LUMOS_ORDER(a->task.number, b->task.number)
                                          : LUMOS_ORDER(a->peer.rank, b->peer.rank);
}

/* Whom each kernel sends to and receives from. One that does both with several is part of several operations, and has
 * the communicator of the first. */
static void build_ends(struct ends *ends, struct lumos_builder *builder) {
  lumos_vector_sort(ends, by_task);
  for (size_t i = 0; i < ends->count; i++) {
    const struct end *end = &ends->items[i];
    if (i == 0 || end[-1].task.number != end->task.number) {
      lumos_build_communicator(builder, end->task, end->communicator, LUMOS_ABSENT);
    }
    lumos_build_peer(builder, end->task, &end->peer);
  }
}

static bool join_ways(struct rebuild_joining *joining, struct lumos_builder *builder, struct lumos_error *error) {
  struct links links = {0};
  bool linked = true;
  for (size_t w = 0; w < joining->ways.count && linked; w++) {
    linked = link_way(&joining->ways.items[w], &links, error);
  }
  merge_links(&links);
  struct ends ends = {0};
  for (size_t i = 0; i < links.count && linked; i++) {
    build_link(joining, &links.items[i], builder);
    add_ends(joining, &ends, &links.items[i], joining->communicators++);
  }
  build_ends(&ends, builder);
  lumos_vector_free(&ends);
  lumos_vector_free(&links);
  return linked;
}

/* ---- all ---- */

static int by_rank(const void *left, const void *right) {
  const struct member *a = left, *b = right;
  return LUMOS_ORDER(a->rank->number, b->rank->number);
}

bool rebuild_assumed_nodes(const struct rebuild_joining *joining) {
  return joining->nodes.assumed && joining->transfers != NULL && joining->spans_nodes;
}

bool rebuild_join_all(struct rebuild_joining *joining, struct lumos_builder *builder, struct lumos_error *error) {
  for (uint32_t c = 0; c < joining->channels.count; c++) {
    struct members *members = &joining->channels.items[c];
    lumos_vector_sort(members, by_rank);
    if (!check_counts(members, error)) {
      return false;
    }
    join_channel(joining, members, builder);
  }
  return join_ways(joining, builder, error);
}
