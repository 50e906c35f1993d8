#include "rebuild/join.h"

#include "rebuild/label.h"
#include <stdlib.h>
#include <string.h>

struct operation { /* of one member */
  uint32_t collective; /* that its recorded task is a member of */
  struct lumos_built_task task;
};
LUMOS_VECTOR_TYPE(operations, struct operation);

/* Collectives of the same streams of the same ranks; of a send and its receive, in one direction. */
struct channel {
  uint32_t first, size; /* members: lists in `lists` */
};

struct rebuild_joining {
  const struct lumos_job *from;
  uint32_t *channel_of; /* by collective of `from` */
  uint32_t *first;      /* by task, and one more: its memberships */
  uint32_t *of, *slot;  /* by membership: the collective; the task's place among its members */
  LUMOS_VECTOR(struct channel) channels;
  LUMOS_VECTOR(struct operations) lists;
};

/* Does the first member of a pair send? */
static bool first_sends(const struct lumos_job *job, const struct lumos_collective *collective) {
  const struct lumos_task *first = &job->tasks.items[job->members.items[collective->member_first]];
  const struct lumos_comm *comm = &lumos_detail_of(job, first)->comm;
  if (strcmp(lumos_string(job->strings, comm->op), "send") == 0) {
    return true;
  }
  uint32_t second = job->members.items[collective->member_first + collective->member_count - 1];
  int32_t other = job->ranks.items[lumos_rank_of(job, &job->tasks.items[second])].rank;
  for (uint32_t p = 0; p < comm->peer_count; p++) {
    const struct lumos_peer *peer = &job->peers.items[comm->peer_first + p];
    if (peer->rank == other && peer->send > 0 && peer->recv <= 0) {
      return true;
    }
  }
  return false;
}

/* The numbers of a trie: labels of several lengths are told apart by their first number, the length. */
static uint32_t channel_label(const struct lumos_job *job, struct lumos_numbering *labels,
                              const struct lumos_collective *collective) {
  bool pair = collective->rule == LUMOS_PAIR || collective->rule == LUMOS_BATCHED;
  uint32_t head[] = {collective->member_count, collective->rule, pair && first_sends(job, collective)};
  uint32_t label = rebuild_label(labels, head, sizeof head / sizeof *head);
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t lane = job->tasks.items[job->members.items[collective->member_first + m]].lane;
    label = lumos_number_of(labels, lumos_key_pair(label, lane));
  }
  return label;
}

static void find_channels(struct rebuild_joining *joining) {
  const struct lumos_job *job = joining->from;
  struct lumos_numbering labels = {0}, numbers = {0};
  joining->channel_of = lumos_allocate(job->collectives.count * sizeof *joining->channel_of);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    uint32_t channel = lumos_number_of(&numbers, channel_label(job, &labels, collective));
    joining->channel_of[c] = channel;
    if (channel == joining->channels.count) {
      lumos_vector_push(&joining->channels,
                        ((struct channel){(uint32_t)joining->lists.count, collective->member_count}));
      for (uint32_t m = 0; m < collective->member_count; m++) {
        lumos_vector_push(&joining->lists, ((struct operations){0}));
      }
    }
  }
  lumos_numbering_free(&labels);
  lumos_numbering_free(&numbers);
}

static void list_memberships(struct rebuild_joining *joining) {
  const struct lumos_job *job = joining->from;
  uint32_t *first = lumos_allocate_zeroed(job->tasks.count + 2, sizeof *first);
  joining->of = lumos_allocate(job->members.count * sizeof *joining->of);
  joining->slot = lumos_allocate(job->members.count * sizeof *joining->slot);
  for (size_t m = 0; m < job->members.count; m++) {
    first[job->members.items[m] + 2]++;
  }
  for (size_t t = 2; t < job->tasks.count + 2; t++) {
    first[t] += first[t - 1];
  }
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    for (uint32_t m = 0; m < collective->member_count; m++) {
      uint32_t at = first[job->members.items[collective->member_first + m] + 1]++;
      joining->of[at] = c;
      joining->slot[at] = m;
    }
  }
  joining->first = first;
}

struct rebuild_joining *rebuild_joining_new(const struct lumos_job *from) {
  struct rebuild_joining *joining = lumos_allocate_zeroed(1, sizeof *joining);
  joining->from = from;
  find_channels(joining);
  list_memberships(joining);
  return joining;
}

void rebuild_joining_free(struct rebuild_joining *joining) {
  for (size_t i = 0; i < joining->lists.count; i++) {
    lumos_vector_free(&joining->lists.items[i]);
  }
  lumos_vector_free(&joining->lists);
  lumos_vector_free(&joining->channels);
  free(joining->channel_of);
  free(joining->first);
  free(joining->of);
  free(joining->slot);
  free(joining);
}

void rebuild_join(struct rebuild_joining *joining, uint32_t like, struct lumos_built_task task) {
  for (uint32_t i = joining->first[like]; i < joining->first[like + 1]; i++) {
    const struct channel *channel = &joining->channels.items[joining->channel_of[joining->of[i]]];
    struct operations *list = &joining->lists.items[channel->first + joining->slot[i]];
    lumos_vector_push(list, ((struct operation){joining->of[i], task}));
  }
}

/* ---- all together ---- */

static int32_t rank_of_slot(const struct rebuild_joining *joining, uint32_t channel, uint32_t slot) {
  const struct lumos_job *job = joining->from;
  size_t c = 0;
  while (joining->channel_of[c] != channel) {
    c++;
  }
  uint32_t member = job->members.items[job->collectives.items[c].member_first + slot];
  return job->ranks.items[lumos_rank_of(job, &job->tasks.items[member])].rank;
}

static bool check_counts(const struct rebuild_joining *joining, uint32_t channel, struct lumos_error *error) {
  const struct operations *lists = joining->lists.items + joining->channels.items[channel].first;
  for (uint32_t slot = 1; slot < joining->channels.items[channel].size; slot++) {
    if (lists[slot].count != lists[0].count) {
      return lumos_fail(error, "rank %d would take part in %zu operations of a communicator, and rank %d in %zu",
                        rank_of_slot(joining, channel, 0), lists[0].count, rank_of_slot(joining, channel, slot),
                        lists[slot].count);
    }
  }
  return true;
}

static void join_channel(const struct rebuild_joining *joining, const struct channel *channel,
                         struct lumos_builder *builder) {
  const struct operations *lists = joining->lists.items + channel->first;
  struct lumos_built_task *members = lumos_allocate(channel->size * sizeof *members);
  for (size_t i = 0; i < lists[0].count; i++) {
    for (uint32_t slot = 0; slot < channel->size; slot++) {
      members[slot] = lists[slot].items[i].task;
    }
    uint32_t like = lists[0].items[i].collective;
    lumos_build_collective(builder, like, members, channel->size, joining->from->collectives.items[like].size);
  }
  free(members);
}

bool rebuild_join_all(struct rebuild_joining *joining, struct lumos_builder *builder, struct lumos_error *error) {
  for (uint32_t c = 0; c < joining->channels.count; c++) {
    if (!check_counts(joining, c, error)) {
      return false;
    }
    join_channel(joining, &joining->channels.items[c], builder);
  }
  return true;
}
