/* Collectives: matched kernels of several ranks that end together, coupled.
 *
 * A member cannot end before the last one has started; what is left after that is the transfer: the shortest member's
 * length for a symmetric operation, the time to the later end for a pair. Each member keeps its signed deviation from
 * that end. Coupled is only what behaves like it: by the kernel's name the ends lie within 50 us of each other at the
 * median, and no member ends before another starts, as far as clocks tell. All other communication keeps its measured waiting.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <stdlib.h>

enum { MOST_SKEW = 50000 };

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

static void couple(struct lumos_job *job, const struct lumos_match *match, const uint32_t *members) {
  struct span_of_match span = span_of(job, members, match->member_count);
  const struct lumos_comm comm = lumos_detail_of(job, &job->tasks.items[members[0]])->comm;
  struct lumos_collective collective = lumos_collective_empty;
  collective.id = (uint32_t)job->collectives.count;
  collective.op = comm.op;
  collective.group = comm.group;
  collective.rule = match->rule;
  collective.matched = match->matched;
  collective.size = (int32_t)match->member_count;
  collective.member_first = (uint32_t)job->members.count;
  collective.member_count = match->member_count;
  collective.bytes = comm.bytes;
  collective.transfer = match->rule == LUMOS_SYMMETRIC ? span.shortest : span.last_end - span.last_start;
  for (uint32_t i = 0; i < match->member_count; i++) {
    uint32_t member = members[i];
    if (lumos_detail_of(job, &job->tasks.items[member])->comm.bytes != comm.bytes) {
      collective.bytes = LUMOS_ABSENT;
    }
    int64_t end = span.last_start + collective.transfer;
    job->timings.items[member].end_residual = lumos_graph_bounded(lumos_graph_job_end(job, member) - end);
    lumos_vector_push(&job->members, member);
    job->ranks.items[lumos_rank_of(job, &job->tasks.items[member])].coverage.joined++;
  }
  lumos_vector_push(&job->collectives, collective);
}

struct skew {
  lumos_string_id name;
  int64_t skew;
};

static int compare_skews(const void *left, const void *right) {
  const struct skew *a = left, *b = right;
  if (a->name != b->name) {
    return a->name < b->name ? -1 : 1;
  }
  return (a->skew > b->skew) - (a->skew < b->skew);
}

/* By string: does the median collective of the kernel with that name end together? */
static bool *names_that_end_together(const struct lumos_job *job, const struct lumos_matches *matches) {
  LUMOS_VECTOR(struct skew) skews = {0};
  for (size_t i = 0; i < matches->items.count; i++) {
    const struct lumos_match *match = &matches->items.items[i];
    struct span_of_match span = span_of(job, matches->members.items + match->member_first, match->member_count);
    struct skew skew = {job->tasks.items[match->lowest].name, span.last_end - span.first_end};
    lumos_vector_push(&skews, skew);
  }
  if (skews.count > 0) {
    qsort(skews.items, skews.count, sizeof *skews.items, compare_skews);
  }
  bool *together = lumos_allocate_zeroed((size_t)lumos_strings_count(job->strings) + 1, sizeof *together);
  for (size_t first = 0, end; first < skews.count; first = end) {
    for (end = first + 1; end < skews.count && skews.items[end].name == skews.items[first].name;) {
      end++;
    }
    together[skews.items[first].name] = skews.items[first + (end - first - 1) / 2].skew <= MOST_SKEW;
  }
  lumos_vector_free(&skews);
  return together;
}

/* Why communication kernels of a rank are on their own. */
struct apart {
  int64_t unjoined; /* no match */
  int64_t refused;  /* matched, but they do not end together */
};

/* Launched before the recording: no rank's trace says in which group, and it was over when the first step began. */
static bool is_from_before(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
  return task->call == LUMOS_NONE && comm->group == LUMOS_NO_STRING && comm->id == LUMOS_NO_STRING;
}

/* Count the communication kernels of every rank: until they are matched, all that could be are unjoined. */
static struct apart *count_communication(struct lumos_job *job) {
  struct apart *apart = lumos_allocate_zeroed(job->ranks.count, sizeof *apart);
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    struct lumos_rank *rank = &job->ranks.items[i];
    rank->coverage.collectives = rank->coverage.joined = 0;
    for (uint32_t task = rank->task_first; task < rank->task_first + rank->task_count; task++) {
      if (lumos_is_communication(job->tasks.items[task].kind)) {
        rank->coverage.collectives++;
        apart[i].unjoined += !is_from_before(job, &job->tasks.items[task]);
      }
    }
  }
  return apart;
}

/* A rank that is alone in its world has nobody to be joined with. */
static void note_apart(struct lumos_job *job, const struct apart *apart) {
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    struct lumos_scope scope = lumos_everywhere;
    scope.rank = job->ranks.items[i].rank;
    if (apart[i].unjoined > 0 && job->ranks.items[i].world != 1) {
      lumos_job_note(job, "graph.unjoined_collectives", LUMOS_WARNING, apart[i].unjoined, &scope,
                     "communication kernels could not be joined with those of other ranks and keep their measured "
                     "length, waiting included",
                     "give lumos-parse the traces of all ranks of one run, recorded by a PyTorch that writes sequence "
                     "numbers (Seq)");
    }
    if (apart[i].refused > 0) {
      lumos_job_note(job, "graph.uncoupled_collectives", LUMOS_INFO, apart[i].refused, &scope,
                     "communication kernels were joined with those of other ranks but do not end together with them; "
                     "they keep their measured length, waiting included",
                     NULL);
    }
  }
}

static bool ends_together(const struct lumos_job *job, const struct lumos_match *match, const uint32_t *members,
                          const bool *names) {
  struct span_of_match span = span_of(job, members, match->member_count);
  bool close = match->rule != LUMOS_PAIR || span.last_end - span.first_end <= MOST_SKEW;
  return close && names[job->tasks.items[match->lowest].name] && span.first_end + span.doubt >= span.last_start;
}

void lumos_graph_collectives(struct lumos_job *job, const struct lumos_matches *matches) {
  struct apart *apart = count_communication(job);
  bool *together = names_that_end_together(job, matches);
  for (size_t i = 0; i < matches->items.count; i++) {
    const struct lumos_match *match = &matches->items.items[i];
    const uint32_t *members = matches->members.items + match->member_first;
    bool coupled = ends_together(job, match, members, together);
    for (uint32_t m = 0; m < match->member_count; m++) {
      struct apart *rank = &apart[lumos_rank_of(job, &job->tasks.items[members[m]])];
      rank->unjoined--;
      rank->refused += !coupled;
    }
    if (coupled) {
      couple(job, match, members);
    }
  }
  note_apart(job, apart);
  free(together);
  free(apart);
}
