/* Which communication kernels of different ranks are one collective: first what recorded metadata say, then ends.c.
 *
 * By communicator id, else by (group, sequence number, operation). A set of kernels is a collective only when it is
 * consistent: every rank of the group that has a trace is there, each once. It is complete when all ranks have.
 * Operations of whole groups, and a send with its receive in groups of two that send and receive one by one: only there
 * both ranks count the same transfers. pairs.c does the others.
 */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

struct key {
  int64_t seq;
  lumos_string_id name, op; /* op: LUMOS_NO_STRING where both ends of a pair share the key */
};

struct candidate {
  struct key key;
  uint32_t task, rank;
};

struct matching {
  const struct lumos_job *job;
  uint32_t *group_of; /* by string: the group with that id, or LUMOS_NONE */
  uint32_t *present;  /* by group: its ranks that are in the job */
  uint8_t *batches;   /* by string: 1 when sends and receives of the group with that id share kernels */
  LUMOS_VECTOR(struct candidate) candidates;
  LUMOS_VECTOR(uint32_t) set;
};

enum lumos_operation lumos_graph_operation(const struct lumos_job *job, const struct lumos_comm *comm) {
  static const struct {
    const char *op;
    enum lumos_operation operation;
  } operations[] = {
      {"all_reduce", LUMOS_OPERATION_SYMMETRIC},
      {"all_gather", LUMOS_OPERATION_SYMMETRIC},
      {"reduce_scatter", LUMOS_OPERATION_SYMMETRIC},
      {"all_to_all", LUMOS_OPERATION_SYMMETRIC},
      {"barrier", LUMOS_OPERATION_SYMMETRIC},
      {"broadcast", LUMOS_OPERATION_FROM_ROOT},
      {"scatter", LUMOS_OPERATION_FROM_ROOT},
      {"reduce", LUMOS_OPERATION_TO_ROOT},
      {"gather", LUMOS_OPERATION_TO_ROOT},
      {"send", LUMOS_OPERATION_SEND},
      {"recv", LUMOS_OPERATION_RECEIVE},
      {"send_recv", LUMOS_OPERATION_BATCH},
  };
  const char *name = lumos_string(job->strings, comm->op);
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    if (strcmp(name, operations[i].op) == 0) {
      return operations[i].operation;
    }
  }
  return LUMOS_OPERATION_OTHER;
}

/* Ranks in the group of this kernel; 0: unknown. */
static uint32_t group_size(const struct matching *matching, uint32_t task) {
  uint32_t group = matching->group_of[lumos_graph_comm(matching->job, task)->group];
  return group == LUMOS_NONE ? 0 : (uint32_t)matching->job->groups.items[group].size;
}

/* Do numbers mean the same to both ends of a transfer? Each rank counts its own kernels, be there one transfer in them
 * or several. Ids of transfers are made of such numbers. */
static bool counts_alike(const struct matching *matching, uint32_t task) {
  return group_size(matching, task) == 2 && !matching->batches[lumos_graph_comm(matching->job, task)->group];
}

static bool key_by_id(const struct matching *matching, struct candidate *candidate) {
  const struct lumos_comm *comm = lumos_graph_comm(matching->job, candidate->task);
  bool pair = !lumos_graph_is_collective(lumos_graph_operation(matching->job, comm));
  candidate->key = (struct key){.name = comm->id};
  return comm->id != LUMOS_NO_STRING && (!pair || counts_alike(matching, candidate->task));
}

static bool key_by_seq(const struct matching *matching, struct candidate *candidate) {
  const struct lumos_comm *comm = lumos_graph_comm(matching->job, candidate->task);
  bool pair = !lumos_graph_is_collective(lumos_graph_operation(matching->job, comm));
  candidate->key = (struct key){.name = comm->group, .seq = comm->seq, .op = pair ? LUMOS_NO_STRING : comm->op};
  return comm->group != LUMOS_NO_STRING && comm->seq != LUMOS_ABSENT &&
         (!pair || counts_alike(matching, candidate->task));
}

static int compare_keys(const struct key *a, const struct key *b) {
  return a->name != b->name ? LUMOS_ORDER(a->name, b->name)
         : a->seq != b->seq ? LUMOS_ORDER(a->seq, b->seq)
                            : LUMOS_ORDER(a->op, b->op);
}

static int compare_candidates(const void *left, const void *right) {
  const struct candidate *a = left, *b = right;
  int keys = compare_keys(&a->key, &b->key);
  return keys != 0 ? keys : (a->task > b->task) - (a->task < b->task);
}

static bool talks_to(const struct lumos_job *job, const struct candidate *one, const struct candidate *other) {
  const struct lumos_comm *comm = lumos_graph_comm(job, one->task);
  return comm->peer_count == 1 && job->peers.items[comm->peer_first].rank == job->ranks.items[other->rank].rank;
}

/* Are these two a send and its receive? */
static bool is_pair(const struct lumos_job *job, const struct candidate *set) {
  enum lumos_operation one = lumos_graph_operation(job, lumos_graph_comm(job, set[0].task));
  enum lumos_operation other = lumos_graph_operation(job, lumos_graph_comm(job, set[1].task));
  if (!(one == LUMOS_OPERATION_SEND && other == LUMOS_OPERATION_RECEIVE) &&
      !(one == LUMOS_OPERATION_RECEIVE && other == LUMOS_OPERATION_SEND)) {
    return false;
  }
  return talks_to(job, &set[0], &set[1]) && talks_to(job, &set[1], &set[0]);
}

uint32_t lumos_graph_present(const struct lumos_job *job, const struct lumos_group *group) {
  uint32_t present = 0;
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    for (uint32_t m = 0; m < group->member_count; m++) { /* ascending, as ranks are, but groups are small */
      present += job->group_ranks.items[group->member_first + m] == job->ranks.items[i].rank;
    }
  }
  return present;
}

/* The rule under which these kernels, of equal key and ascending by rank, are one collective, whole or all of it that
 * the job can have; 0: they are none. */
static uint8_t rule_of(const struct matching *matching, const struct candidate *set, uint32_t count) {
  const struct lumos_job *job = matching->job;
  for (uint32_t i = 1; i < count; i++) {
    if (set[i].rank == set[i - 1].rank) {
      return 0;
    }
  }
  const struct lumos_comm *first = lumos_graph_comm(job, set[0].task);
  enum lumos_operation operation = lumos_graph_operation(job, first);
  if (!lumos_graph_is_collective(operation)) {
    return count == 2 && is_pair(job, set) ? LUMOS_PAIR : 0;
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct lumos_comm *comm = lumos_graph_comm(job, set[i].task);
    if (comm->op != first->op || comm->group != first->group) {
      return 0;
    }
  }
  uint32_t group = matching->group_of[first->group];
  bool all = group != LUMOS_NONE &&
             (group_size(matching, set[0].task) == count || (count > 1 && matching->present[group] == count));
  return !all ? 0 : operation == LUMOS_OPERATION_SYMMETRIC ? LUMOS_SYMMETRIC : LUMOS_ROOTED;
}

struct lumos_joined *lumos_graph_add_match(struct lumos_matches *matches, const uint32_t *members, uint32_t count,
                                           uint8_t rule, enum lumos_matched matched) {
  struct lumos_joined match = {
      .lowest = members[0],
      .member_first = (uint32_t)matches->members.count,
      .member_count = count,
      .rule = rule,
      .matched = (uint8_t)matched,
      .complete = true,
      .root = LUMOS_ABSENT_INT,
      .size = count,
      .bytes = LUMOS_ABSENT,
  };
  for (uint32_t i = 0; i < count; i++) {
    lumos_vector_push(&matches->members, members[i]);
    matches->taken[members[i]] = 1;
  }
  lumos_vector_push(&matches->items, match);
  return &matches->items.items[matches->items.count - 1];
}

static void add_set(struct matching *matching, struct lumos_matches *matches, const struct candidate *set,
                    uint32_t count, uint8_t rule, enum lumos_matched matched) {
  matching->set.count = 0;
  for (uint32_t i = 0; i < count; i++) {
    lumos_vector_push(&matching->set, set[i].task);
  }
  struct lumos_joined *match = lumos_graph_add_match(matches, matching->set.items, count, rule, matched);
  if (rule != LUMOS_PAIR) {
    match->size = group_size(matching, set[0].task);
    match->complete = match->size == count;
  }
}

/* Match what is left by one kind of key. */
static void match_by(struct matching *matching, struct lumos_matches *matches, enum lumos_matched matched,
                     bool (*key_of)(const struct matching *, struct candidate *)) {
  struct candidate *left = matching->candidates.items;
  size_t count = 0, total = matching->candidates.count;
  for (size_t i = 0; i < total; i++) { /* those with a key to the front, the others behind */
    if (matches->taken[left[i].task] || !key_of(matching, &left[i])) {
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
      add_set(matching, matches, left + first, (uint32_t)(end - first), rule, matched);
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
    const struct lumos_comm *comm = lumos_graph_comm(job, task);
    enum lumos_operation operation = lumos_graph_operation(job, comm);
    if (operation == LUMOS_OPERATION_BATCH) {
      matching->batches[comm->group] = 1;
    }
    if (operation == LUMOS_OPERATION_OTHER || operation == LUMOS_OPERATION_BATCH) {
      continue;
    }
    struct candidate candidate = {.task = task, .rank = lumos_rank_of(job, record)};
    lumos_vector_push(&matching->candidates, candidate);
  }
}

uint32_t *lumos_graph_group_index(const struct lumos_job *job) {
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

void lumos_graph_match(const struct lumos_job *job, struct lumos_matches *matches) {
  struct matching matching = {.job = job, .group_of = lumos_graph_group_index(job)};
  matching.batches = lumos_allocate_zeroed((size_t)lumos_strings_count(job->strings) + 1, 1);
  matching.present = lumos_allocate(job->groups.count * sizeof *matching.present);
  for (size_t i = 0; i < job->groups.count; i++) {
    matching.present[i] = lumos_graph_present(job, &job->groups.items[i]);
  }
  matches->taken = lumos_allocate_zeroed(job->tasks.count, 1);
  find_candidates(&matching);
  match_by(&matching, matches, LUMOS_BY_COMMS_ID, key_by_id);
  match_by(&matching, matches, LUMOS_BY_SEQ, key_by_seq);
  free(matching.group_of);
  free(matching.present);
  free(matching.batches);
  lumos_vector_free(&matching.candidates);
  lumos_vector_free(&matching.set);
}
