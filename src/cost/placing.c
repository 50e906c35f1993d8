#include "cost/placing.h"

#include "base/numbering.h"
#include "base/text.h"
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>

/* ---- Nodes ---- */

/* The note in which changes of the network described it; NULL: none did. */
static struct lumos_note *network_note(const struct lumos_job *job) {
  for (size_t i = 0; i < job->notes.count; i++) {
    if (strcmp(lumos_string(job->strings, job->notes.items[i].code), LUMOS_NETWORK_NOTE) == 0) {
      return &job->notes.items[i];
    }
  }
  return NULL;
}

struct lumos_network lumos_told_network(const struct lumos_job *job) {
  struct lumos_network network = lumos_network_unknown;
  const struct lumos_note *note = network_note(job);
  const char *text = note == NULL ? NULL : strchr(lumos_string(job->strings, note->text), '{');
  if (text != NULL) {
    (void)lumos_network_add(text, &network);
  }
  return network;
}

void lumos_tell_network(struct lumos_job *job, const struct lumos_network *network) {
  struct lumos_note *note = network_note(job);
  struct lumos_network told = lumos_told_network(job);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_network_put(network, &text);
  lumos_text_char(&text, '\0');
  (void)lumos_network_add(text.bytes, &told);
  text.length = 0;
  lumos_text_put(&text, "the network is taken to be as described: ");
  lumos_network_put(&told, &text);
  lumos_text_char(&text, '\0');
  if (note == NULL) {
    lumos_job_note(job, LUMOS_NETWORK_NOTE, LUMOS_INFO, LUMOS_ABSENT, NULL, text.bytes, NULL);
  } else {
    note->text = lumos_intern_text(job->strings, text.bytes);
  }
  lumos_text_free(&text);
}

/* A rank and its host's number. */
struct placed {
  int32_t rank;
  uint32_t host;
};

static int by_place(const void *left, const void *right) {
  const struct placed *a = left, *b = right;
  return LUMOS_ORDER(a->rank, b->rank);
}

/* Ranks are numbered node by node: of neighbours, those of one host are on one node, and others are not. */
static bool nodes_fit(const struct placed *ranks, size_t count, int32_t size) {
  bool fits = true;
  for (size_t i = 1; i < count && fits; i++) {
    bool same = ranks[i - 1].rank / size == ranks[i].rank / size;
    fits = same == (ranks[i - 1].host == ranks[i].host);
  }
  return fits;
}

/* The least size that fits, for not every rank of a node needs to be recorded. Where none does, as ranks are numbered
 * in another way, as many as are recorded on one host. */
static int32_t node_size_of(struct placed *ranks, size_t count, int32_t most) {
  enum { LARGEST = 1024 }; /* GPUs in a node; chosen: more than any has */
  qsort(ranks, count, sizeof *ranks, by_place);
  if (most < 1) {
    return most;
  }
  for (int32_t size = most; size <= LARGEST; size++) {
    if (nodes_fit(ranks, count, size)) {
      return size;
    }
  }
  return most;
}

struct lumos_nodes lumos_nodes_of(const struct lumos_job *job, const struct lumos_network *network) {
  enum { GPUS = 8 }; /* of a server. Chosen: most have as many */
  int32_t told = network != NULL && network->node_size != LUMOS_ABSENT_INT ? network->node_size
                                                                           : lumos_told_network(job).node_size;
  if (told != LUMOS_ABSENT_INT) {
    return (struct lumos_nodes){told, false};
  }
  struct lumos_numbering hosts = {0};
  LUMOS_VECTOR(struct placed) ranks = {0};
  int32_t most = 0;
  uint32_t *counts = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *counts);
  for (size_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    if (rank->host != LUMOS_NO_STRING) {
      uint32_t host = lumos_number_of(&hosts, rank->host);
      lumos_vector_push(&ranks, ((struct placed){rank->rank, host}));
      counts[host]++;
      most = (int32_t)counts[host] > most ? (int32_t)counts[host] : most;
    }
  }
  bool several = hosts.keys.count > 1;
  int32_t size = several ? node_size_of(ranks.items, ranks.count, most) : most > GPUS ? most : GPUS;
  lumos_vector_free(&ranks);
  free(counts);
  lumos_numbering_free(&hosts);
  return (struct lumos_nodes){size, !several};
}

static int by_number(const void *left, const void *right) {
  const int32_t *a = left, *b = right;
  return LUMOS_ORDER(*a, *b);
}

int32_t lumos_nodes_spanned(const struct lumos_nodes *nodes, const int32_t *ranks, uint32_t count) {
  int32_t *sorted = lumos_copied(ranks, count, sizeof *ranks);
  int32_t spanned = 0, last = -1;
  qsort(sorted, count, sizeof *sorted, by_number);
  for (uint32_t i = 0; i < count; i++) {
    int32_t node = sorted[i] / nodes->size;
    spanned += node != last;
    last = node;
  }
  free(sorted);
  return spanned < 1 ? 1 : spanned;
}

/* ---- Shapes ---- */

struct lumos_placing lumos_placing_of(const struct lumos_job *job, const struct lumos_nodes *nodes) {
  struct lumos_placing placing = {job, *nodes,
                                  lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, sizeof(uint32_t))};
  for (uint32_t g = 0; g < job->groups.count; g++) {
    placing.group_of[job->groups.items[g].id] = g + 1;
  }
  return placing;
}

void lumos_placing_free(struct lumos_placing *placing) { free(placing->group_of); }

static int32_t nodes_of_group(const struct lumos_placing *placing, const struct lumos_nodes *nodes, lumos_string_id id,
                              int32_t *size) {
  uint32_t index = id == LUMOS_NO_STRING ? 0 : placing->group_of[id];
  const struct lumos_group *group = index == 0 ? NULL : &placing->job->groups.items[index - 1];
  if (group == NULL) {
    return 0;
  }
  *size = *size > 0 ? *size : group->size;
  if (group->member_count == 0) {
    return 0;
  }
  return lumos_nodes_spanned(nodes, &placing->job->group_ranks.items[group->member_first], group->member_count);
}

static int32_t nodes_of_members(const struct lumos_placing *placing, const struct lumos_nodes *nodes,
                                const struct lumos_collective *collective) {
  const struct lumos_job *job = placing->job;
  int32_t *ranks = lumos_allocate(collective->member_count * sizeof *ranks);
  for (uint32_t m = 0; m < collective->member_count; m++) {
    const struct lumos_task *task = &job->tasks.items[job->members.items[collective->member_first + m]];
    ranks[m] = job->ranks.items[lumos_rank_of(job, task)].rank;
  }
  int32_t spanned = lumos_nodes_spanned(nodes, ranks, collective->member_count);
  free(ranks);
  return spanned;
}

static const struct lumos_comm *comm_of(const struct lumos_placing *placing, uint32_t task) {
  return &lumos_detail_of(placing->job, &placing->job->tasks.items[task])->comm;
}

static bool is_member(const struct lumos_job *job, const struct lumos_collective *collective, int32_t rank) {
  bool found = false;
  for (uint32_t m = 0; m < collective->member_count && !found; m++) {
    const struct lumos_task *task = &job->tasks.items[job->members.items[collective->member_first + m]];
    found = job->ranks.items[lumos_rank_of(job, task)].rank == rank;
  }
  return found;
}

static bool is_pair(const struct lumos_collective *collective) {
  return collective->rule == LUMOS_PAIR || collective->rule == LUMOS_BATCHED;
}

int32_t lumos_transfer_nodes(const struct lumos_placing *placing, const struct lumos_collective *collective,
                             const struct lumos_nodes *nodes) {
  int32_t size = collective->size;
  bool complete = is_pair(collective) || (int64_t)collective->member_count >= size;
  int32_t spanned = complete ? 0 : nodes_of_group(placing, nodes, collective->group, &size);
  return spanned > 0 ? spanned : nodes_of_members(placing, nodes, collective);
}

/* What two send each other goes both ways at a time, so what takes the time is the more of it. */
static int64_t bytes_one_way(const struct lumos_placing *placing, const struct lumos_collective *collective) {
  const struct lumos_job *job = placing->job;
  int64_t most = 0;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    const struct lumos_comm *comm = comm_of(placing, job->members.items[collective->member_first + m]);
    for (uint32_t p = comm->peer_first; p < comm->peer_first + comm->peer_count; p++) {
      const struct lumos_peer *peer = &job->peers.items[p];
      bool other = is_member(job, collective, peer->rank);
      most = other && peer->send > most ? peer->send : most;
      most = other && peer->recv > most ? peer->recv : most;
    }
  }
  return most > 0 ? most : collective->bytes;
}

struct lumos_transfer_shape lumos_transfer_shape_of(const struct lumos_placing *placing,
                                                    const struct lumos_collective *collective) {
  bool pair = is_pair(collective);
  return (struct lumos_transfer_shape){.op = pair ? "send_recv" : lumos_string(placing->job->strings, collective->op),
                                       .bytes = pair ? bytes_one_way(placing, collective) : collective->bytes,
                                       .size = pair ? 2 : collective->size,
                                       .nodes = lumos_transfer_nodes(placing, collective, &placing->nodes)};
}

/* Replicas, where ranks are nothing else; 0: they are, or that is not known. */
static int32_t replicas_alone(const struct lumos_job *job) {
  const struct lumos_parallel *sizes =
      job->models.count == 0 ? &lumos_model_description_empty.sizes : &job->models.items[0].sizes;
  bool others = sizes->tp > 1 || sizes->pp > 1 || sizes->cp > 1 || sizes->ep > 1;
  return sizes->dp > 1 && !others ? sizes->dp : 0;
}

int32_t lumos_transfer_nodes_of_kernel(const struct lumos_placing *placing, uint32_t task,
                                       const struct lumos_nodes *nodes) {
  const struct lumos_job *job = placing->job;
  const struct lumos_comm *comm = comm_of(placing, task);
  int32_t size = 0;
  if (job->tasks.items[task].kind == LUMOS_P2P && comm->peer_count > 0) {
    int32_t ranks[2] = {job->ranks.items[lumos_rank_of(job, &job->tasks.items[task])].rank,
                        job->peers.items[comm->peer_first].rank};
    return lumos_nodes_spanned(nodes, ranks, 2);
  }
  int32_t spanned = nodes_of_group(placing, nodes, comm->group, &size);
  int32_t all = comm->group == LUMOS_NO_STRING ? replicas_alone(job) : 0;
  return spanned > 0 ? spanned : all > 0 ? (all - 1) / nodes->size + 1 : 1;
}

struct lumos_transfer_shape lumos_transfer_shape_of_kernel(const struct lumos_placing *placing, uint32_t task) {
  const struct lumos_job *job = placing->job;
  const struct lumos_comm *comm = comm_of(placing, task);
  struct lumos_transfer_shape shape = {"send_recv", LUMOS_ABSENT, 2, 1};
  if (comm->op == LUMOS_NO_STRING) {
    return shape;
  }
  if (job->tasks.items[task].kind != LUMOS_P2P) {
    shape.op = lumos_string(job->strings, comm->op);
    shape.size = 0;
    (void)nodes_of_group(placing, &placing->nodes, comm->group, &shape.size);
    shape.size = comm->group == LUMOS_NO_STRING ? replicas_alone(job) : shape.size;
  }
  shape.bytes = comm->bytes;
  shape.nodes = lumos_transfer_nodes_of_kernel(placing, task, &placing->nodes);
  return shape;
}

uint64_t lumos_transfer_class(const char *op) { /* FNV-1a */
  uint64_t hash = 0xcbf29ce484222325U;
  for (; *op != '\0'; op++) {
    hash = (hash ^ (unsigned char)*op) * 0x100000001b3U;
  }
  return hash;
}
