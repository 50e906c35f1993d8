/* A communicator is a process group where the recording names it. Else it is what collectives that were matched over
 * ranks tie together, stream by stream.
 */
#include "program/communicator.h"

#include "graph/graph.h"
#include <stdlib.h>
#include <string.h>

static enum program_use use_of(const struct lumos_job *job, const struct lumos_comm *comm) {
  static const struct {
    const char *op;
    enum program_use use;
  } uses[] = {
      {"all_reduce", USE_ALL_REDUCE},    {"reduce_scatter", USE_REDUCE_SCATTER}, {"all_gather", USE_ALL_GATHER},
      {"all_to_all", USE_ALL_TO_ALL},    {"send", USE_POINT_TO_POINT},           {"recv", USE_POINT_TO_POINT},
      {"send_recv", USE_POINT_TO_POINT},
  };
  const char *op = lumos_string(job->strings, comm->op);
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    if (strcmp(op, uses[i].op) == 0) {
      return uses[i].use;
    }
  }
  return USE_REST;
}

/* --- Channels --- */

struct gathering {
  struct program_communication *all;
  struct program_places places;
  uint32_t *group_of;         /* by string: the group with that id */
  uint32_t *channel_of_group; /* of the rank at hand */
};

static const struct program_counts no_counts = {.largest = {LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT}};

static uint32_t add_channel(struct program_communication *all, uint32_t rank, uint32_t lane, uint32_t group) {
  struct program_channel channel = {.rank = rank, .lane = lane, .group = group, .communicator = LUMOS_NONE};
  channel.counts = no_counts;
  lumos_vector_push(&all->channels, channel);
  return (uint32_t)all->channels.count - 1;
}

/* The channel of a task of the rank at hand, made when it is new. */
static uint32_t channel_for(struct gathering *gathering, uint32_t rank, uint32_t lane, const struct lumos_comm *comm) {
  struct program_communication *all = gathering->all;
  uint32_t group = gathering->group_of[comm->group];
  uint32_t *slot = group == LUMOS_NONE ? &all->channel_of_lane[lane] : &gathering->channel_of_group[group];
  if (*slot == LUMOS_NONE || all->channels.items[*slot].rank != rank) {
    *slot = add_channel(all, rank, group == LUMOS_NONE ? lane : LUMOS_NONE, group);
  }
  return *slot;
}

static void count(struct program_counts *counts, enum program_use use, enum program_place place, int64_t bytes) {
  counts->of[use][place]++;
  if ((use == USE_ALL_REDUCE || use == USE_REDUCE_SCATTER) && bytes > counts->largest[place]) {
    counts->largest[place] = bytes; /* LUMOS_ABSENT is below all */
  }
}

static void gather_rank(struct gathering *gathering, uint32_t rank) {
  struct program_communication *all = gathering->all;
  const struct lumos_job *job = all->job;
  const struct lumos_rank *of = &job->ranks.items[rank];
  uint64_t gemms = 0;
  program_places_of_rank(&gathering->places, rank);
  all->has_backward = all->has_backward || gathering->places.has_backward;
  all->channel_first[rank] = (uint32_t)all->channels.count;
  for (uint32_t i = of->task_first; i < of->task_first + of->task_count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    const struct lumos_comm *comm = lumos_graph_comm(job, i);
    bool communicates = comm->op != LUMOS_NO_STRING && lumos_on_stream(job, task);
    all->has_attention = all->has_attention || task->kind == LUMOS_ATTENTION;
    if (!communicates && task->kind != LUMOS_GEMM) {
      continue;
    }
    enum program_place place = program_place_of(&gathering->places, task);
    gemms += task->kind == LUMOS_GEMM && place == PLACE_FORWARD;
    if (communicates && place != PLACES) {
      uint32_t channel = channel_for(gathering, rank, task->lane, comm);
      count(&all->channels.items[channel].counts, use_of(job, comm), place, comm->bytes);
    }
  }
  for (size_t i = all->channel_first[rank]; i < all->channels.count; i++) {
    all->channels.items[i].counts.steps = gathering->places.steps.count;
    all->channels.items[i].counts.gemms = gemms;
  }
}

static void gather_channels(struct program_communication *all) {
  const struct lumos_job *job = all->job;
  struct gathering gathering = {.all = all, .group_of = lumos_graph_group_index(job)};
  gathering.channel_of_group = lumos_reallocate(NULL, job->groups.count + 1, sizeof(uint32_t));
  memset(gathering.channel_of_group, 0xFF, (job->groups.count + 1) * sizeof(uint32_t));
  memset(all->channel_of_lane, 0xFF, (job->lanes.count + 1) * sizeof(uint32_t));
  program_places_begin(&gathering.places, job);
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    gather_rank(&gathering, rank);
  }
  all->channel_first[job->ranks.count] = (uint32_t)all->channels.count;
  program_places_free(&gathering.places);
  free(gathering.channel_of_group);
  free(gathering.group_of);
}

/* --- Communicators --- */

static uint32_t root_of(uint32_t *parents, uint32_t channel) {
  while (parents[channel] != channel) {
    parents[channel] = parents[parents[channel]];
    channel = parents[channel];
  }
  return channel;
}

/* The lower one leads, so that the result does not depend on the order of joining. */
static void join(uint32_t *parents, uint32_t a, uint32_t b) {
  uint32_t one = root_of(parents, a);
  uint32_t other = root_of(parents, b);
  parents[one > other ? one : other] = one > other ? other : one;
}

/* The channel of a stream, for a task of no group. */
static uint32_t ungrouped_channel(const struct program_communication *all, uint32_t task, const uint32_t *group_of) {
  bool grouped = group_of[lumos_graph_comm(all->job, task)->group] != LUMOS_NONE;
  return grouped ? LUMOS_NONE : all->channel_of_lane[all->job->tasks.items[task].lane];
}

/* Channels without a group whose kernels were matched belong together. */
static void join_matched(const struct program_communication *all, uint32_t *parents) {
  const struct lumos_job *job = all->job;
  uint32_t *group_of = lumos_graph_group_index(job);
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    const uint32_t *members = job->members.items + collective->member_first;
    uint32_t first = LUMOS_NONE;
    bool symmetric = collective->rule == LUMOS_SYMMETRIC || collective->rule == LUMOS_ROOTED;
    for (uint32_t m = 0; symmetric && m < collective->member_count; m++) {
      uint32_t channel = ungrouped_channel(all, members[m], group_of);
      if (channel != LUMOS_NONE && first != LUMOS_NONE) {
        join(parents, first, channel);
      }
      first = first == LUMOS_NONE ? channel : first;
    }
  }
  free(group_of);
}

static void add_counts(struct program_counts *sum, const struct program_counts *more) {
  for (size_t use = 0; use < USES; use++) {
    for (size_t place = 0; place < PLACES; place++) {
      sum->of[use][place] += more->of[use][place];
    }
  }
  for (size_t place = 0; place < PLACES; place++) {
    sum->largest[place] = more->largest[place] > sum->largest[place] ? more->largest[place] : sum->largest[place];
  }
  sum->steps += more->steps;
  sum->gemms += more->gemms;
}

static int compare_numbers(const void *left, const void *right) {
  int32_t a = *(const int32_t *)left;
  int32_t b = *(const int32_t *)right;
  return LUMOS_ORDER(a, b);
}

int32_t program_place_in(const struct program_communication *all, uint32_t index, int32_t number) {
  const struct program_communicator *communicator = &all->communicators.items[index];
  const int32_t *ranks = all->ranks.items + communicator->rank_first;
  const int32_t *found = communicator->rank_count == 0
                             ? NULL
                             : bsearch(&number, ranks, communicator->rank_count, sizeof *ranks, compare_numbers);
  return found == NULL ? -1 : (int32_t)(found - ranks);
}

/* One for every group record, in their order: those in which nothing was communicated have names, too. */
static void add_groups(struct program_communication *all) {
  const struct lumos_job *job = all->job;
  for (uint32_t i = 0; i < job->groups.count; i++) {
    const struct lumos_group *group = &job->groups.items[i];
    enum program_axis axis = AXIS_NONE;
    uint8_t role = program_role_of_name(lumos_string(job->strings, group->name), &axis);
    struct program_communicator communicator = {
        .group = i, .role = role, .axis = (uint8_t)axis, .named = role != 0, .size = group->size};
    communicator.rank_first = (uint32_t)all->ranks.count;
    communicator.rank_count = group->member_count;
    communicator.counts = no_counts;
    for (uint32_t m = 0; m < group->member_count; m++) {
      lumos_vector_push(&all->ranks, job->group_ranks.items[group->member_first + m]);
    }
    if (group->member_count > 1) { /* a stream may list them in any order */
      qsort(all->ranks.items + communicator.rank_first, group->member_count, sizeof(int32_t), compare_numbers);
    }
    lumos_vector_push(&all->communicators, communicator);
  }
}

/* Channels that belong together, as lists from the first of each. */
struct lists {
  uint32_t *first; /* by channel: the first of its list */
  uint32_t *next;  /* by channel, ascending; LUMOS_NONE: the last */
};

static struct lists list_joined(const struct program_communication *all) {
  size_t channels = all->channels.count;
  struct lists lists = {lumos_reallocate(NULL, channels + 1, sizeof(uint32_t)),
                        lumos_reallocate(NULL, channels + 1, sizeof(uint32_t))};
  uint32_t *last = lumos_reallocate(NULL, channels + 1, sizeof *last);
  for (uint32_t i = 0; i < channels; i++) {
    lists.first[i] = i;
  }
  join_matched(all, lists.first);
  for (uint32_t i = 0; i < channels; i++) {
    uint32_t first = root_of(lists.first, i);
    lists.next[i] = LUMOS_NONE;
    if (first != i) {
      lists.next[last[first]] = i;
    }
    last[first] = i;
  }
  for (uint32_t i = 0; i < channels; i++) {
    lists.first[i] = root_of(lists.first, i);
  }
  free(last);
  return lists;
}

/* The ranks of joined channels, where every rank of the job is there to be seen. */
static void set_ranks(struct program_communication *all, uint32_t channel, const uint32_t *next,
                      struct program_communicator *communicator) {
  const struct lumos_job *job = all->job;
  bool whole = job->ranks.count > 0 && job->ranks.items[0].world == (int32_t)job->ranks.count;
  communicator->rank_first = (uint32_t)all->ranks.count;
  for (uint32_t i = channel; i != LUMOS_NONE; i = next[i]) {
    lumos_vector_push(&all->ranks, job->ranks.items[all->channels.items[i].rank].rank);
  }
  communicator->rank_count = (uint32_t)all->ranks.count - communicator->rank_first;
  if (!whole || communicator->rank_count < 2) {
    all->ranks.count = communicator->rank_first;
    communicator->rank_count = 0;
  }
  communicator->size = (int32_t)communicator->rank_count;
}

static void join_channels(struct program_communication *all) {
  struct lists lists = list_joined(all);
  for (uint32_t i = 0; i < all->channels.count; i++) {
    struct program_channel *channel = &all->channels.items[i];
    if (channel->group != LUMOS_NONE) {
      channel->communicator = channel->group;
    } else if (lists.first[i] == i) {
      struct program_communicator communicator = {.group = LUMOS_NONE, .axis = AXIS_NONE};
      communicator.counts = no_counts;
      set_ranks(all, i, lists.next, &communicator);
      channel->communicator = (uint32_t)all->communicators.count;
      lumos_vector_push(&all->communicators, communicator);
    } else {
      channel->communicator = all->channels.items[lists.first[i]].communicator;
    }
    add_counts(&all->communicators.items[channel->communicator].counts, &channel->counts);
  }
  free(lists.first);
  free(lists.next);
}

void program_communication_gather(struct program_communication *all, const struct lumos_job *job) {
  *all = (struct program_communication){.job = job};
  all->channel_of_lane = lumos_reallocate(NULL, job->lanes.count + 1, sizeof(uint32_t));
  all->channel_first = lumos_allocate_zeroed(job->ranks.count + 1, sizeof(uint32_t));
  lumos_vector_reserve(&all->ranks, 1); /* places in it are taken even where there are none */
  gather_channels(all);
  add_groups(all);
  join_channels(all);
}

void program_communication_free(struct program_communication *all) {
  lumos_vector_free(&all->channels);
  lumos_vector_free(&all->communicators);
  lumos_vector_free(&all->ranks);
  free(all->channel_of_lane);
  free(all->channel_first);
}
