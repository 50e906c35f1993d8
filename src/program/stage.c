/* Sends and receives of a rank in the order in which its host launched them. Who the peer is, collective arguments say;
 * where they were not recorded the annotations of PyTorch's NCCL backend name both by their number in the group
 * ("nccl:send 0->1", "nccl:recv 1<-0"), but for batches, of which only the ops before the launch are there (c10d::send,
 * c10d::recv_).
 */
#include "program/stage.h"

#include "graph/graph.h"
#include <stdlib.h>
#include <string.h>

struct transfer {
  int64_t time; /* of its launch */
  int32_t step;
  int32_t from;          /* rank number; -1: not known */
  int32_t own, own_from; /* numbers in the group; -1: not known */
  int32_t highest;
  bool sends, receives;
};

struct direction { /* a span that says one */
  int64_t time;
  bool sends;
};

struct staging {
  const struct program_communication *all;
  const bool *pipelines;
  uint32_t *group_of;
  uint8_t *names; /* by string: enum direction_name of spans */
  LUMOS_VECTOR(struct transfer) transfers;
  LUMOS_VECTOR(struct direction) directions;
};

enum direction_name { NAME_PLAIN, NAME_SENDS, NAME_RECEIVES };

static uint8_t direction_of_name(const char *name) {
  static const struct {
    const char *begins;
    uint8_t direction;
  } table[] = {
      {"c10d::send", NAME_SENDS},
      {"c10d::recv_", NAME_RECEIVES},
      {"nccl:send ", NAME_SENDS},
      {"nccl:recv ", NAME_RECEIVES},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (strncmp(name, table[i].begins, strlen(table[i].begins)) == 0) {
      return table[i].direction;
    }
  }
  return NAME_PLAIN;
}

/* "nccl:send 0->1", "nccl:recv 1<-0": two small numbers behind the blank, the own one first. */
static bool read_annotation(const char *name, int32_t *own, int32_t *peer) {
  char *end = NULL;
  const char *place = strchr(name, ' ');
  if (place == NULL || place[1] < '0' || place[1] > '9') {
    return false;
  }
  long one = strtol(place + 1, &end, 10);
  if ((strncmp(end, "->", 2) != 0 && strncmp(end, "<-", 2) != 0) || end[2] < '0' || end[2] > '9') {
    return false;
  }
  long other = strtol(end + 2, &end, 10);
  if (*end != '\0' || one > INT32_MAX || other > INT32_MAX) {
    return false;
  }
  *own = (int32_t)one;
  *peer = (int32_t)other;
  return true;
}

static void read_annotations(const struct staging *staging, const struct lumos_task *call, struct transfer *transfer) {
  const struct lumos_job *job = staging->all->job;
  for (uint32_t span = call->span; span != LUMOS_NONE; span = job->spans.items[span].parent) {
    int32_t own = -1;
    int32_t peer = -1;
    lumos_string_id name = job->spans.items[span].name;
    if (staging->names[name] == NAME_PLAIN || !read_annotation(lumos_string(job->strings, name), &own, &peer)) {
      continue;
    }
    transfer->own = own;
    transfer->highest = own > peer ? own : peer;
    transfer->own_from = staging->names[name] == NAME_RECEIVES ? peer : -1;
    return;
  }
}

static void read_peers(const struct lumos_job *job, const struct lumos_comm *comm, struct transfer *transfer) {
  for (uint32_t i = comm->peer_first; i < comm->peer_first + comm->peer_count; i++) {
    const struct lumos_peer *peer = &job->peers.items[i];
    transfer->sends = transfer->sends || peer->send > 0;
    transfer->receives = transfer->receives || peer->recv > 0;
    transfer->from = peer->recv > 0 ? peer->rank : transfer->from;
  }
}

static void add_transfer(struct staging *staging, uint32_t index) {
  const struct lumos_job *job = staging->all->job;
  const struct lumos_task *task = &job->tasks.items[index];
  const struct lumos_comm *comm = lumos_graph_comm(job, index);
  const char *op = lumos_string(job->strings, comm->op);
  uint32_t group = staging->group_of[comm->group];
  uint32_t channel = group == LUMOS_NONE ? staging->all->channel_of_lane[task->lane] : LUMOS_NONE;
  uint32_t communicator = group != LUMOS_NONE     ? group
                          : channel != LUMOS_NONE ? staging->all->channels.items[channel].communicator
                                                  : LUMOS_NONE;
  bool transfers = strcmp(op, "send") == 0 || strcmp(op, "recv") == 0 || strcmp(op, "send_recv") == 0;
  if (!transfers || task->call == LUMOS_NONE || task->step == LUMOS_ABSENT_INT || communicator == LUMOS_NONE ||
      !staging->pipelines[communicator]) {
    return;
  }
  struct transfer transfer = {.time = job->tasks.items[task->call].start,
                              .step = task->step,
                              .from = -1,
                              .own = -1,
                              .own_from = -1,
                              .highest = -1,
                              .sends = strcmp(op, "send") == 0,
                              .receives = strcmp(op, "recv") == 0};
  read_peers(job, comm, &transfer);
  read_annotations(staging, &job->tasks.items[task->call], &transfer);
  lumos_vector_push(&staging->transfers, transfer);
}

static int compare_times(const void *left, const void *right) {
  const struct transfer *a = left, *b = right;
  return LUMOS_ORDER(a->time, b->time);
}

static int compare_directions(const void *left, const void *right) {
  const struct direction *a = left, *b = right;
  return LUMOS_ORDER(a->time, b->time);
}

/* The directions of batches, from the ops since the launch before. */
static void direct_batches(struct staging *staging, const struct lumos_rank *rank) {
  const struct lumos_job *job = staging->all->job;
  staging->directions.count = 0;
  for (uint32_t i = rank->span_first; i < rank->span_first + rank->span_count; i++) {
    uint8_t direction = staging->names[job->spans.items[i].name];
    if (direction != NAME_PLAIN) {
      lumos_vector_push(&staging->directions, ((struct direction){job->spans.items[i].start, direction == NAME_SENDS}));
    }
  }
  lumos_vector_sort(&staging->directions, compare_directions);
  size_t next = 0;
  for (size_t i = 0; i < staging->transfers.count; i++) {
    struct transfer *transfer = &staging->transfers.items[i];
    bool known = transfer->sends || transfer->receives;
    for (; next < staging->directions.count && staging->directions.items[next].time <= transfer->time; next++) {
      transfer->sends = transfer->sends || (!known && staging->directions.items[next].sends);
      transfer->receives = transfer->receives || (!known && !staging->directions.items[next].sends);
    }
  }
}

/* One step, [first, end) of the transfers: which comes earlier, a send or a receive? Both in one kernel say nothing. */
static void judge_step(const struct transfer *first, const struct transfer *end, struct program_stage_signs *signs) {
  while (first < end && !first->sends && !first->receives) {
    first++;
  }
  if (first == end || (first->sends && first->receives)) {
    return;
  }
  if (first->sends) {
    signs->first++;
    return;
  }
  bool begun = signs->behind > 0;
  signs->behind++;
  signs->from = begun && signs->from != first->from ? -1 : first->from;
  signs->own_from = begun && signs->own_from != first->own_from ? -1 : first->own_from;
}

static void judge_rank(const struct staging *staging, struct program_stage_signs *signs) {
  const struct transfer *transfers = staging->transfers.items;
  size_t count = staging->transfers.count;
  *signs = (struct program_stage_signs){.from = -1, .own = -1, .own_from = -1, .highest = -1, .takes_part = count > 0};
  for (size_t first = 0, i = 0; i < count; i++) {
    signs->own = transfers[i].own >= 0 ? transfers[i].own : signs->own;
    signs->highest = transfers[i].highest > signs->highest ? transfers[i].highest : signs->highest;
    if (i + 1 == count || transfers[i + 1].step != transfers[i].step) {
      judge_step(transfers + first, transfers + i + 1, signs);
      first = i + 1;
    }
  }
}

struct program_stage_signs *program_stage_signs(const struct program_communication *all, const bool *pipelines) {
  const struct lumos_job *job = all->job;
  uint32_t strings = lumos_strings_count(job->strings);
  struct staging staging = {.all = all, .pipelines = pipelines, .group_of = lumos_graph_group_index(job)};
  struct program_stage_signs *signs = lumos_reallocate(NULL, job->ranks.count + 1, sizeof *signs);
  staging.names = lumos_allocate_zeroed(strings + 1U, 1);
  for (uint32_t string = 1; string <= strings; string++) {
    staging.names[string] = direction_of_name(lumos_string(job->strings, string));
  }
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    const struct lumos_rank *of = &job->ranks.items[rank];
    staging.transfers.count = 0;
    for (uint32_t i = of->task_first; i < of->task_first + of->task_count; i++) {
      if (job->tasks.items[i].kind == LUMOS_P2P) {
        add_transfer(&staging, i);
      }
    }
    lumos_vector_sort(&staging.transfers, compare_times);
    if (staging.transfers.count > 0) {
      direct_batches(&staging, of);
    }
    judge_rank(&staging, &signs[rank]);
  }
  lumos_vector_free(&staging.transfers);
  lumos_vector_free(&staging.directions);
  free(staging.group_of);
  free(staging.names);
  return signs;
}
