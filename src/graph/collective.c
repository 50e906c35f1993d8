/* Collectives: matched kernels of several ranks that end together, coupled.
 *
 * A member cannot end before the last of those that it waits for has started; what is left after that is the transfer:
 * the shortest member's length for a symmetric operation, the time to the later end for a pair, to the earliest end of
 * who waits for a rooted one. Each member that waits keeps its signed deviation from the end that follows.
 *
 * A batched kernel belongs to several pairs and ends with the last of them, so its end tells of the transfer of that
 * pair alone whose ends met last. What another pair seems to have taken is no more than what like transfers take that
 * did decide.
 *
 * Coupled is only what behaves like it: by the kernel's name the ends lie within 50 us of each other at the median, or
 * a quarter of the transfer, those of a pair do so themselves, and no member ends before another starts, the last two
 * as far as clocks tell. All other communication keeps its measured waiting. A collective of which some rank has no
 * trace is written, for it is one, but without a transfer.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <stdlib.h>

struct span_of_match {
  int64_t last_start, first_end, last_end, shortest;
  int64_t doubt; /* how well the members' clocks are known */
};

static struct span_of_match span_of(const struct lumos_job *job, const uint32_t *members, uint32_t count) {
  struct span_of_match span = {INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX, 0};
  for (uint32_t i = 0; i < count; i++) {
    int64_t error = job->ranks.items[lumos_rank_of(job, &job->tasks.items[members[i]])].clock.error;
    int64_t start = lumos_graph_job_start(job, members[i]), end = lumos_graph_job_end(job, members[i]);
    int64_t dur = job->tasks.items[members[i]].dur;
    if (start > span.last_start) {
      span.last_start = start;
    }
    if (end < span.first_end) {
      span.first_end = end;
    }
    if (end > span.last_end) {
      span.last_end = end;
    }
    if (dur < span.shortest) {
      span.shortest = dur;
    }
    if (error != LUMOS_ABSENT && error > span.doubt) {
      span.doubt = error;
    }
  }
  return span;
}

/* By how much the ends lie further apart than those of members that end together; below 0: less. */
static int64_t excess_of(const struct span_of_match *span) {
  return span->last_end - span->first_end - lumos_graph_most_skew(span->shortest);
}

struct skew {
  lumos_string_id name;
  int64_t excess;
};

static int compare_skews(const void *left, const void *right) {
  const struct skew *a = left, *b = right;
  return a->name != b->name ? LUMOS_ORDER(a->name, b->name) : LUMOS_ORDER(a->excess, b->excess);
}

/* By string: does the median collective of the kernel with that name end together? */
static bool *names_that_end_together(const struct lumos_job *job, const struct lumos_matches *matches) {
  LUMOS_VECTOR(struct skew) skews = {0};
  for (size_t i = 0; i < matches->items.count; i++) {
    const struct lumos_joined *match = &matches->items.items[i];
    if (match->rule != LUMOS_SYMMETRIC && match->rule != LUMOS_PAIR) {
      continue; /* their members need not end together */
    }
    struct span_of_match span = span_of(job, matches->members.items + match->member_first, match->member_count);
    struct skew skew = {job->tasks.items[match->lowest].name, excess_of(&span)};
    lumos_vector_push(&skews, skew);
  }
  lumos_vector_sort(&skews, compare_skews);
  bool *together = lumos_allocate_zeroed((size_t)lumos_strings_count(job->strings) + 1, sizeof *together);
  for (size_t first = 0, end; first < skews.count; first = end) {
    for (end = first + 1; end < skews.count && skews.items[end].name == skews.items[first].name;) {
      end++;
    }
    together[skews.items[first].name] = skews.items[first + (end - first - 1) / 2].excess <= 0;
  }
  lumos_vector_free(&skews);
  return together;
}

/* --- Transfers --- */

struct coupling {
  struct lumos_job *job;
  const struct lumos_matches *matches;
  const bool *together; /* by name */
  int64_t *transfers;   /* by match: LUMOS_ABSENT when it is not coupled */
  int64_t *last_starts; /* by match */
  int64_t *held;        /* by task: no earlier can it end, or LUMOS_ABSENT */
};

static bool from_root(const struct lumos_job *job, const struct lumos_joined *match) {
  return lumos_graph_operation(job, lumos_graph_comm(job, match->lowest)) != LUMOS_OPERATION_TO_ROOT;
}

static bool is_root(const struct lumos_job *job, const struct lumos_joined *match, uint32_t member) {
  return job->ranks.items[lumos_rank_of(job, &job->tasks.items[member])].rank == match->root;
}

static bool waits(const struct lumos_job *job, const struct lumos_joined *match, uint32_t member) {
  return match->rule != LUMOS_ROOTED || is_root(job, match, member) != from_root(job, match);
}

/* When the last of those has started for whom anybody waits. */
static int64_t last_awaited(const struct lumos_job *job, const struct lumos_joined *match, const uint32_t *members) {
  int64_t last = INT64_MIN;
  for (uint32_t i = 0; i < match->member_count; i++) {
    bool awaited = match->rule != LUMOS_ROOTED || !from_root(job, match) || is_root(job, match, members[i]);
    int64_t start = lumos_graph_job_start(job, members[i]);
    last = awaited && start > last ? start : last;
  }
  return last;
}

static int64_t later(int64_t one, int64_t other) { return one > other ? one : other; }

/* The least that anybody who waits took after those awaited, and itself, had started. */
static int64_t shortest_wait(const struct lumos_job *job, const struct lumos_joined *match, const uint32_t *members,
                             int64_t last_start) {
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < match->member_count; i++) {
    int64_t took = lumos_graph_job_end(job, members[i]) - later(last_start, lumos_graph_job_start(job, members[i]));
    least = waits(job, match, members[i]) && took < least ? took : least;
  }
  return least;
}

/* Does it behave as its rule says? */
static bool behaves(const struct coupling *coupling, const struct lumos_joined *match, const struct span_of_match *span,
                    int64_t shortest) {
  bool meets = span->first_end + span->doubt >= span->last_start;
  bool together = coupling->together[coupling->job->tasks.items[match->lowest].name];
  switch ((enum lumos_rule)match->rule) {
    case LUMOS_SYMMETRIC:
      return together && meets;
    case LUMOS_PAIR:
      return together && meets && excess_of(span) <= span->doubt;
    case LUMOS_BATCHED:
      return meets;
    case LUMOS_ROOTED:
      return match->root != LUMOS_ABSENT_INT && shortest != INT64_MAX && shortest + span->doubt >= 0;
    case LUMOS_CUSTOM:
      break;
  }
  return false;
}

static void find_transfer(struct coupling *coupling, size_t index) {
  const struct lumos_job *job = coupling->job;
  const struct lumos_joined *match = &coupling->matches->items.items[index];
  const uint32_t *members = coupling->matches->members.items + match->member_first;
  struct span_of_match span = span_of(job, members, match->member_count);
  int64_t last_start = last_awaited(job, match, members);
  int64_t shortest = shortest_wait(job, match, members, last_start);
  int64_t transfer = match->rule == LUMOS_SYMMETRIC ? span.shortest
                     : match->rule == LUMOS_PAIR    ? span.last_end - span.last_start
                                                    : later(shortest, 0);
  coupling->last_starts[index] = last_start;
  coupling->transfers[index] = behaves(coupling, match, &span, shortest) ? transfer : LUMOS_ABSENT;
}

static uint32_t size_class(struct lumos_typical *typical, const struct lumos_job *job,
                           const struct lumos_joined *match) {
  return lumos_typical_group(typical, (uint32_t)match->bytes, (uint32_t)(match->bytes >> 32),
                             lumos_graph_comm(job, match->lowest)->group);
}

/* Of batched pairs, those that did not decide when either kernel ended took no longer than those that did. */
static void bound_undecided(const struct coupling *coupling) {
  const struct lumos_job *job = coupling->job;
  const struct lumos_matches *matches = coupling->matches;
  int64_t *latest = lumos_allocate(job->tasks.count * sizeof *latest); /* by task: start of its last pair */
  for (size_t t = 0; t < job->tasks.count; t++) {
    latest[t] = INT64_MIN;
  }
  for (size_t i = 0; i < matches->items.count; i++) {
    const struct lumos_joined *match = &matches->items.items[i];
    for (uint32_t m = 0; match->rule == LUMOS_BATCHED && m < match->member_count; m++) {
      uint32_t member = matches->members.items[match->member_first + m];
      latest[member] = later(latest[member], coupling->last_starts[i]);
    }
  }
  struct lumos_typical *typical = lumos_typical_new();
  for (int pass = 0; pass < 2; pass++) { /* look at those that decided, then bound the others */
    for (size_t i = 0; i < matches->items.count; i++) {
      const struct lumos_joined *match = &matches->items.items[i];
      const uint32_t *members = matches->members.items + match->member_first;
      int64_t *transfer = &coupling->transfers[i], usual = 0;
      if (match->rule != LUMOS_BATCHED || *transfer == LUMOS_ABSENT) {
        continue;
      }
      bool decided = coupling->last_starts[i] == latest[members[0]] || coupling->last_starts[i] == latest[members[1]];
      uint32_t class = size_class(typical, job, match);
      if (pass == 0 && decided) {
        lumos_typical_add(typical, class, *transfer);
      } else if (pass == 1 && !decided && lumos_typical_value(typical, class, 1, &usual) && usual < *transfer) {
        *transfer = usual;
      }
    }
  }
  lumos_typical_free(typical);
  free(latest);
}

/* --- Records --- */

static int64_t bytes_of(const struct lumos_job *job, const struct lumos_joined *match, const uint32_t *members) {
  int64_t bytes = lumos_graph_comm(job, members[0])->bytes;
  for (uint32_t i = 1; i < match->member_count; i++) {
    bytes = lumos_graph_comm(job, members[i])->bytes == bytes ? bytes : LUMOS_ABSENT;
  }
  return match->bytes != LUMOS_ABSENT ? match->bytes : bytes;
}

static void write_collective(struct coupling *coupling, size_t index) {
  struct lumos_job *job = coupling->job;
  const struct lumos_joined *match = &coupling->matches->items.items[index];
  const uint32_t *members = coupling->matches->members.items + match->member_first;
  const struct lumos_comm comm = *lumos_graph_comm(job, members[0]);
  struct lumos_collective collective = lumos_collective_empty;
  collective.id = (uint32_t)job->collectives.count;
  collective.op = match->rule == LUMOS_BATCHED ? lumos_intern_text(job->strings, "send_recv") : comm.op;
  collective.group = comm.group;
  collective.rule = match->rule;
  collective.matched = match->matched;
  collective.root = match->root;
  collective.size = (int32_t)match->size;
  collective.member_first = (uint32_t)job->members.count;
  collective.member_count = match->member_count;
  collective.bytes = bytes_of(job, match, members);
  collective.transfer = coupling->transfers[index];
  for (uint32_t i = 0; i < match->member_count; i++) {
    lumos_vector_push(&job->members, members[i]);
  }
  lumos_vector_push(&job->collectives, collective);
}

static void hold_members(struct coupling *coupling, size_t index) {
  const struct lumos_joined *match = &coupling->matches->items.items[index];
  const uint32_t *members = coupling->matches->members.items + match->member_first;
  for (uint32_t i = 0; i < match->member_count; i++) {
    int64_t start = later(coupling->last_starts[index], lumos_graph_job_start(coupling->job, members[i]));
    if (waits(coupling->job, match, members[i])) {
      coupling->held[members[i]] = later(coupling->held[members[i]], start + coupling->transfers[index]);
    }
  }
}

static void keep_deviations(const struct coupling *coupling) {
  for (uint32_t t = 0; t < coupling->job->tasks.count; t++) {
    if (coupling->held[t] != LUMOS_ABSENT) {
      lumos_task_timing(coupling->job, &coupling->job->tasks.items[t])->end_residual =
          lumos_graph_bounded(lumos_graph_job_end(coupling->job, t) - coupling->held[t]);
    }
  }
}

/* --- What stays on its own --- */

/* What became of a communication kernel; of what several matches say the greatest. */
enum fate {
  UNJOINED,
  MEMBERS_LATE,   /* the same, while another member did not record */
  MEMBERS_ABSENT, /* who else takes part has no trace, or did not record it */
  REFUSED,        /* matched, but they do not behave like it */
  COUPLED
};

/* How many of a rank's communication kernels stay on their own, and why. */
struct apart {
  int64_t count[COUPLED];
};

/* Launched before the recording: no rank's trace says in which group, and it was over when the first step began. */
static bool is_from_before(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
  return task->call == LUMOS_NONE && comm->group == LUMOS_NO_STRING && comm->id == LUMOS_NO_STRING;
}

static bool has_rank(const struct lumos_job *job, const struct lumos_group *group, int32_t rank) {
  for (uint32_t m = 0; m < group->member_count; m++) {
    if (job->group_ranks.items[group->member_first + m] == rank) {
      return true;
    }
  }
  return group->member_count == 0;
}

static bool in_job(const struct lumos_job *job, int32_t rank) {
  for (size_t i = 0; i < job->ranks.count; i++) {
    if (job->ranks.items[i].rank == rank) {
      return true;
    }
  }
  return false;
}

/* Has a peer, or a rank of the group, no trace? */
static bool lacks_members(const struct lumos_job *job, uint32_t task, const uint32_t *group_of) {
  const struct lumos_comm *comm = lumos_graph_comm(job, task);
  for (uint32_t i = comm->peer_first; i < comm->peer_first + comm->peer_count; i++) {
    if (!in_job(job, job->peers.items[i].rank)) {
      return true;
    }
  }
  uint32_t group = comm->group == LUMOS_NO_STRING ? LUMOS_NONE : group_of[comm->group];
  if (group == LUMOS_NONE || comm->peer_count > 0) {
    return false;
  }
  const struct lumos_group *known = &job->groups.items[group];
  uint32_t present = known->member_count > 0 ? lumos_graph_present(job, known) : (uint32_t)job->ranks.count;
  return (int64_t)known->size > (int64_t)present;
}

/* Did it run before another member began to record, or after it had stopped? */
static bool is_outside(const struct lumos_job *job, uint32_t task, const uint32_t *group_of) {
  lumos_string_id id = lumos_graph_comm(job, task)->group;
  uint32_t group = id == LUMOS_NO_STRING ? LUMOS_NONE : group_of[id];
  int64_t start = lumos_graph_job_start(job, task), end = lumos_graph_job_end(job, task);
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_rank *rank = &job->ranks.items[i];
    bool member = group == LUMOS_NONE || has_rank(job, &job->groups.items[group], rank->rank);
    if (member && i != lumos_rank_of(job, &job->tasks.items[task]) &&
        (start < lumos_host_job_time(rank, rank->window_start) || end > lumos_host_job_time(rank, rank->window_end))) {
      return true;
    }
  }
  return false;
}

static enum fate why_unjoined(const struct lumos_job *job, uint32_t task, const uint32_t *group_of) {
  return lacks_members(job, task, group_of) ? MEMBERS_ABSENT
         : is_outside(job, task, group_of)  ? MEMBERS_LATE
                                            : UNJOINED;
}

static struct apart count_rank(const struct lumos_job *job, struct lumos_rank *rank, const uint8_t *fates,
                               const uint32_t *group_of) {
  struct apart apart = {0};
  rank->coverage.collectives = rank->coverage.joined = 0;
  for (uint32_t task = rank->task_first; task < rank->task_first + rank->task_count; task++) {
    if (!lumos_is_communication(job->tasks.items[task].kind)) {
      continue;
    }
    rank->coverage.collectives++;
    if (fates[task] == COUPLED) {
      rank->coverage.joined++;
    } else if (fates[task] != UNJOINED) {
      apart.count[fates[task]]++;
    } else if (!is_from_before(job, &job->tasks.items[task])) {
      apart.count[why_unjoined(job, task, group_of)]++;
    }
  }
  return apart;
}

/* A rank that is alone in its world has nobody to be joined with. */
static void note_apart(struct lumos_job *job, const uint8_t *fates) {
  static const struct {
    enum lumos_level level;
    const char *code, *text, *cure;
  } notes[COUPLED] = {
      [UNJOINED] = {LUMOS_WARNING, "graph.unjoined_collectives",
                    "communication kernels could not be joined with other ranks'; they keep their measured length, "
                    "waiting included",
                    "add the traces of all ranks of one run, recorded by a PyTorch that writes sequence numbers (Seq)"},
      [MEMBERS_LATE] = {LUMOS_INFO, "graph.late_members",
                        "communication kernels ran while a peer rank was not recording, so waiting cannot be split "
                        "from transfer; they keep their measured length",
                        NULL},
      [MEMBERS_ABSENT] = {LUMOS_WARNING, "graph.absent_members",
                          "communication kernels lack peer traces, so waiting cannot be split from transfer; they keep "
                          "their measured length",
                          "add the traces of all ranks of one run, recorded over the same steps"},
      [REFUSED] = {LUMOS_INFO, "graph.uncoupled_collectives",
                   "communication kernels do not end together with those of other ranks that they were joined with; "
                   "they keep their measured length, waiting included",
                   NULL},
  };
  uint32_t *group_of = lumos_graph_group_index(job);
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    struct lumos_rank *rank = &job->ranks.items[i];
    struct apart apart = count_rank(job, rank, fates, group_of);
    struct lumos_scope scope = lumos_everywhere;
    scope.rank = rank->rank;
    for (int fate = 0; fate < COUPLED; fate++) {
      if (apart.count[fate] > 0 && rank->world != 1) {
        lumos_job_note(job, notes[fate].code, notes[fate].level, apart.count[fate], &scope, notes[fate].text,
                       notes[fate].cure);
      }
    }
  }
  free(group_of);
}

static void tell_members(const struct coupling *coupling, size_t index, uint8_t *fates) {
  const struct lumos_joined *match = &coupling->matches->items.items[index];
  uint8_t fate = !match->complete ? MEMBERS_ABSENT : coupling->transfers[index] == LUMOS_ABSENT ? REFUSED : COUPLED;
  for (uint32_t m = 0; m < match->member_count; m++) {
    uint8_t *known = &fates[coupling->matches->members.items[match->member_first + m]];
    *known = fate > *known ? fate : *known;
  }
}

void lumos_graph_collectives(struct lumos_job *job, const struct lumos_matches *matches) {
  struct coupling coupling = {.job = job, .matches = matches};
  bool *together = names_that_end_together(job, matches);
  uint8_t *fates = lumos_allocate_zeroed(job->tasks.count, 1);
  coupling.together = together;
  coupling.transfers = lumos_allocate(matches->items.count * sizeof *coupling.transfers);
  coupling.last_starts = lumos_allocate(matches->items.count * sizeof *coupling.last_starts);
  coupling.held = lumos_allocate(job->tasks.count * sizeof *coupling.held);
  for (size_t t = 0; t < job->tasks.count; t++) {
    coupling.held[t] = LUMOS_ABSENT;
  }
  for (size_t i = 0; i < matches->items.count; i++) {
    find_transfer(&coupling, i);
    if (!matches->items.items[i].complete) {
      coupling.transfers[i] = LUMOS_ABSENT;
    }
    tell_members(&coupling, i, fates);
  }
  bound_undecided(&coupling);
  for (size_t i = 0; i < matches->items.count; i++) {
    if (coupling.transfers[i] != LUMOS_ABSENT) {
      hold_members(&coupling, i);
    }
    if (coupling.transfers[i] != LUMOS_ABSENT || !matches->items.items[i].complete) {
      write_collective(&coupling, i);
    }
  }
  keep_deviations(&coupling);
  note_apart(job, fates);
  free(coupling.transfers);
  free(coupling.last_starts);
  free(coupling.held);
  free(together);
  free(fates);
}
