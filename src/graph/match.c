/* Which communication kernels of different ranks are one collective, as far as recorded metadata says.
 *
 * By communicator id, else by (group, sequence number, operation). A set of kernels is a collective only when it is
 * complete and consistent: every rank of the group is there, each once. Symmetric operations only, and a send with
 * its receive: by sequence number in groups of two, whose ranks count the same transfers; in larger groups each rank
 * counts its own, and the numbers mean nothing to the others.
 */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

enum operation { SYMMETRIC, SEND, RECEIVE, UNCOUPLED };

struct key {
  int64_t seq;
  lumos_string_id name, op; /* op: LUMOS_NO_STRING where both ends of a pair share the key */
};

struct candidate {
  struct key key;
  uint32_t task, rank;
  bool taken;
};

struct matching {
  const struct lumos_job *job;
  uint32_t *group_of; /* by string: the group with that id, or LUMOS_NONE */
  LUMOS_VECTOR(struct candidate) candidates;
};

static enum operation operation_of(const struct lumos_job *job, lumos_string_id op) {
  static const char *const symmetric[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"};
  const char *name = lumos_string(job->strings, op);
  for (size_t i = 0; i < sizeof symmetric / sizeof *symmetric; i++) {
    if (strcmp(name, symmetric[i]) == 0) {
      return SYMMETRIC;
    }
  }
  return strcmp(name, "send") == 0 ? SEND : strcmp(name, "recv") == 0 ? RECEIVE : UNCOUPLED;
}

static const struct lumos_comm *comm_of(const struct lumos_job *job, uint32_t task) {
  return &lumos_detail_of(job, &job->tasks.items[task])->comm;
}

/* Ranks in the group of this kernel; 0: unknown. */
static uint32_t group_size(const struct matching *matching, uint32_t task) {
  uint32_t group = matching->group_of[comm_of(matching->job, task)->group];
  return group == LUMOS_NONE ? 0 : (uint32_t)matching->job->groups.items[group].size;
}

static bool key_by_id(const struct matching *matching, struct candidate *candidate) {
  const struct lumos_comm *comm = comm_of(matching->job, candidate->task);
  candidate->key = (struct key){.name = comm->id};
  return comm->id != LUMOS_NO_STRING;
}

static bool key_by_seq(const struct matching *matching, struct candidate *candidate) {
  const struct lumos_comm *comm = comm_of(matching->job, candidate->task);
  bool pair = operation_of(matching->job, comm->op) != SYMMETRIC;
  candidate->key = (struct key){.name = comm->group, .seq = comm->seq, .op = pair ? LUMOS_NO_STRING : comm->op};
  return comm->group != LUMOS_NO_STRING && comm->seq != LUMOS_ABSENT &&
         (!pair || group_size(matching, candidate->task) == 2);
}

static int compare_keys(const struct key *a, const struct key *b) {
  if (a->name != b->name) {
    return a->name < b->name ? -1 : 1;
  }
  if (a->seq != b->seq) {
    return a->seq < b->seq ? -1 : 1;
  }
  return (a->op > b->op) - (a->op < b->op);
}

static int compare_candidates(const void *left, const void *right) {
  const struct candidate *a = left, *b = right;
  int keys = compare_keys(&a->key, &b->key);
  return keys != 0 ? keys : (a->task > b->task) - (a->task < b->task);
}

static bool talks_to(const struct lumos_job *job, const struct candidate *one, const struct candidate *other) {
  const struct lumos_comm *comm = comm_of(job, one->task);
  return comm->peer_count == 1 && job->peers.items[comm->peer_first].rank == job->ranks.items[other->rank].rank;
}

/* Are these two a send and its receive? */
static bool is_pair(const struct lumos_job *job, const struct candidate *set) {
  enum operation one = operation_of(job, comm_of(job, set[0].task)->op);
  enum operation other = operation_of(job, comm_of(job, set[1].task)->op);
  if (!(one == SEND && other == RECEIVE) && !(one == RECEIVE && other == SEND)) {
    return false;
  }
  return talks_to(job, &set[0], &set[1]) && talks_to(job, &set[1], &set[0]);
}

/* The rule under which these kernels, of equal key and ascending by rank, are one collective; 0: they are none. */
static uint8_t rule_of(const struct matching *matching, const struct candidate *set, uint32_t count) {
  const struct lumos_job *job = matching->job;
  for (uint32_t i = 1; i < count; i++) {
    if (set[i].rank == set[i - 1].rank) {
      return 0;
    }
  }
  const struct lumos_comm *first = comm_of(job, set[0].task);
  if (operation_of(job, first->op) != SYMMETRIC) {
    return count == 2 && is_pair(job, set) ? LUMOS_PAIR : 0;
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct lumos_comm *comm = comm_of(job, set[i].task);
    if (comm->op != first->op || comm->group != first->group) {
      return 0;
    }
  }
  return group_size(matching, set[0].task) == count ? LUMOS_SYMMETRIC : 0;
}

static void add_match(struct lumos_matches *matches, struct candidate *set, uint32_t count, uint8_t rule,
                      enum lumos_matched matched) {
  struct lumos_match match = {set[0].task, (uint32_t)matches->members.count, count, rule, (uint8_t)matched};
  for (uint32_t i = 0; i < count; i++) {
    lumos_vector_push(&matches->members, set[i].task);
    set[i].taken = true;
  }
  lumos_vector_push(&matches->items, match);
}

/* Match what is left by one kind of key. */
static void match_by(struct matching *matching, struct lumos_matches *matches, enum lumos_matched matched,
                     bool (*key_of)(const struct matching *, struct candidate *)) {
  struct candidate *left = matching->candidates.items;
  size_t count = 0, total = matching->candidates.count;
  for (size_t i = 0; i < total; i++) { /* those with a key to the front, the others behind */
    if (left[i].taken || !key_of(matching, &left[i])) {
      continue;
    }
    struct candidate keyed = left[i];
    left[i] = left[count];
    left[count++] = keyed;
  }
  if (count > 0) {
    qsort(left, count, sizeof *left, compare_candidates);
  }
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && compare_keys(&left[end].key, &left[first].key) == 0;) {
      end++;
    }
    uint8_t rule = rule_of(matching, left + first, (uint32_t)(end - first));
    if (rule != 0) {
      add_match(matches, left + first, (uint32_t)(end - first), rule, matched);
    }
  }
}

static void find_candidates(struct matching *matching) {
  const struct lumos_job *job = matching->job;
  for (uint32_t task = 0; task < job->tasks.count; task++) {
    const struct lumos_task *record = &job->tasks.items[task];
    if (!lumos_is_communication(record->kind) || !lumos_on_stream(job, record)) {
      continue;
    }
    lumos_string_id op = comm_of(job, task)->op;
    if (op == LUMOS_NO_STRING || operation_of(job, op) == UNCOUPLED) {
      continue;
    }
    struct candidate candidate = {.task = task, .rank = lumos_rank_of(job, record)};
    lumos_vector_push(&matching->candidates, candidate);
  }
}

static uint32_t *index_groups(const struct lumos_job *job) {
  size_t strings = (size_t)lumos_strings_count(job->strings) + 1;
  uint32_t *group_of = lumos_allocate(strings * sizeof *group_of);
  for (size_t i = 0; i < strings; i++) {
    group_of[i] = LUMOS_NONE;
  }
  for (uint32_t i = 0; i < job->groups.count; i++) {
    group_of[job->groups.items[i].id] = i;
  }
  return group_of;
}

static int compare_matches(const void *left, const void *right) {
  const struct lumos_match *a = left, *b = right;
  return (a->lowest > b->lowest) - (a->lowest < b->lowest);
}

void lumos_graph_match(const struct lumos_job *job, struct lumos_matches *matches) {
  struct matching matching = {.job = job, .group_of = index_groups(job)};
  find_candidates(&matching);
  match_by(&matching, matches, LUMOS_BY_COMMS_ID, key_by_id);
  match_by(&matching, matches, LUMOS_BY_SEQ, key_by_seq);
  if (matches->items.count > 0) {
    qsort(matches->items.items, matches->items.count, sizeof *matches->items.items, compare_matches);
  }
  free(matching.group_of);
  lumos_vector_free(&matching.candidates);
}
