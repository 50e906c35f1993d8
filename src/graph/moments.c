/* Collectives of no group and without numbers that ends.c does not find, where every rank has a trace: by the moments
 * at which they end.
 *
 * A communicator has a stream of its own on each of its ranks (PyTorch's ProcessGroupNCCL takes one from a pool for
 * each). So two streams of different ranks may belong to one where they hold the same kernels in the same order, each
 * had begun on both before it ended on either, and they end together. Where the ranks share nothing yet, not even
 * through others, their clocks may be a constant apart. Streams that all fit each other are one communicator's. Of many
 * kernels one that fits much worse than its best is not of it; few are joined where all fit alike, and no stream like
 * them is of a rank whose clock is unknown. A stream that fits two streams of a rank alike is left alone.
 *
 * Two groups whose kernels begin and end at the same instants cannot be told from one of all their ranks, and are
 * joined as that.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <stdlib.h>
#include <string.h>

enum {
  FEWEST = 3,          /* kernels of a stream. Chosen: fewer may end beside any others */
  FEWEST_APART = 4,    /* the same where clocks may be apart. Chosen as in ends.c */
  FEW = 16,            /* kernels by which a spread is known. Chosen as in ends.c */
  FARTHEST = 10000000, /* ns by which clocks may be. Chosen as in partners.c */
  AS_CLOSE = 5000,     /* ns by which what fits alike may differ. Chosen as in rank_clock.c */
  FAR_ONE_IN = 4,      /* kernels that may end further apart than the members of a collective. Chosen as in ends.c */
  NEARLY = 1000,       /* ns: twice as far and so much more is nearly as close. Chosen as in ends.c */
  MOST_STREAMS = 512,  /* bounds the time. Chosen as in partners.c */
};

struct kernel {
  int64_t start, end; /* in job time */
  uint32_t task, lane;
};
LUMOS_VECTOR_TYPE(kernels, struct kernel);

struct stream {
  const struct kernel *kernels; /* ascending by end */
  size_t count;
  uint32_t rank, cluster;
};
LUMOS_VECTOR_TYPE(streams, struct stream);

/* How two streams lie against each other. */
struct fit {
  bool fits;
  int64_t spread; /* how far three quarters of their kernels end from a constant distance, at most */
  int64_t ahead;  /* that distance, where their ranks' clocks are known; else 0 */
};

struct search {
  const struct lumos_job *job;
  struct kernels kernels;
  struct streams streams;
  struct fit *fits; /* [streams * streams] */
  uint32_t *met;    /* by rank: the lowest with which it shares kernels, be it through others */
  int64_t *values;
};

/* --- What may belong together --- */

/* The lowest of all ranks that hang together with this one. */
static uint32_t lowest_met(uint32_t *met, uint32_t rank) {
  while (met[rank] != rank) {
    rank = met[rank] = met[met[rank]];
  }
  return rank;
}

/* Have the ranks of these tasks not met before? Now they have. */
static bool meet(const struct lumos_job *job, uint32_t *met, const uint32_t *members, uint32_t count) {
  bool new = false;
  for (uint32_t m = 1; m < count; m++) {
    uint32_t one = lowest_met(met, lumos_rank_of(job, &job->tasks.items[members[0]]));
    uint32_t other = lowest_met(met, lumos_rank_of(job, &job->tasks.items[members[m]]));
    new = new || one != other;
    met[one > other ? one : other] = one < other ? one : other;
  }
  return new;
}

static void find_met(struct search *search, const struct lumos_matches *matches) {
  search->met = lumos_allocate(search->job->ranks.count * sizeof *search->met);
  for (uint32_t r = 0; r < search->job->ranks.count; r++) {
    search->met[r] = r;
  }
  for (size_t i = 0; i < matches->items.count; i++) {
    const struct lumos_joined *match = &matches->items.items[i];
    (void)meet(search->job, search->met, matches->members.items + match->member_first, match->member_count);
  }
}

static int compare_kernels(const void *left, const void *right) {
  const struct kernel *a = left, *b = right;
  return a->lane != b->lane ? LUMOS_ORDER(a->lane, b->lane)
         : a->end != b->end ? LUMOS_ORDER(a->end, b->end)
                            : LUMOS_ORDER(a->task, b->task);
}

static void find_kernels(struct search *search, const struct lumos_matches *matches) {
  const struct lumos_job *job = search->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task) && lumos_is_communication(task->kind) && !matches->taken[t] &&
        lumos_graph_is_unnumbered(job, t) && lumos_graph_comm(job, t)->group == LUMOS_NO_STRING &&
        lumos_graph_operation(job, lumos_graph_comm(job, t)) == LUMOS_OPERATION_SYMMETRIC) {
      struct kernel kernel = {lumos_graph_job_start(job, t), lumos_graph_job_end(job, t), t, task->lane};
      lumos_vector_push(&search->kernels, kernel);
    }
  }
  lumos_vector_sort(&search->kernels, compare_kernels);
}

static void find_streams(struct search *search) {
  const struct kernel *kernels = search->kernels.items;
  for (size_t first = 0, end; first < search->kernels.count; first = end) {
    for (end = first + 1; end < search->kernels.count && kernels[end].lane == kernels[first].lane;) {
      end++;
    }
    uint32_t rank = search->job->lanes.items[kernels[first].lane].rank;
    if (end - first >= FEWEST) {
      struct stream stream = {kernels + first, end - first, rank, (uint32_t)search->streams.count};
      lumos_vector_push(&search->streams, stream);
    }
  }
}

/* By how much clocks of two ranks may be off, as far as that is known. */
static int64_t doubt_of(const struct search *search, const struct stream *one, const struct stream *other) {
  return lumos_graph_clock_doubt(search->job, one->kernels->task) +
         lumos_graph_clock_doubt(search->job, other->kernels->task) + LUMOS_TIMING_NOISE;
}

static bool names_agree(const struct lumos_job *job, const struct stream *one, const struct stream *other) {
  bool agree = one->count == other->count;
  for (size_t i = 0; agree && i < one->count; i++) {
    agree = job->tasks.items[one->kernels[i].task].name == job->tasks.items[other->kernels[i].task].name;
  }
  return agree;
}

static int64_t shorter_of(const struct kernel *a, const struct kernel *b) {
  return a->end - a->start < b->end - b->start ? a->end - a->start : b->end - b->start;
}

static struct fit fit_of(const struct search *search, const struct stream *one, const struct stream *other) {
  struct fit fit = {.fits = one->rank != other->rank && names_agree(search->job, one, other)};
  if (!fit.fits) {
    return fit;
  }
  size_t count = one->count, missed = 0, far = 0;
  int64_t *values = search->values;
  for (size_t i = 0; i < count; i++) {
    values[i] = one->kernels[i].end - other->kernels[i].end;
  }
  int64_t ahead = lumos_median(values, count);
  for (size_t i = 0; i < count; i++) {
    const struct kernel *a = &one->kernels[i], *b = &other->kernels[i];
    values[i] = llabs(a->end - b->end - ahead);
    missed += a->end + LUMOS_TIMING_NOISE < b->start + ahead || b->end + ahead + LUMOS_TIMING_NOISE < a->start;
    far += values[i] > lumos_graph_most_skew(shorter_of(a, b));
  }
  lumos_sort_times(values, count);
  bool met = lowest_met(search->met, one->rank) == lowest_met(search->met, other->rank);
  fit.ahead = met ? llabs(ahead) : 0;
  fit.spread = lumos_percentile(values, count, 75);
  fit.fits = missed * LUMOS_VIOLATED_ONE_IN <= count && far * FAR_ONE_IN <= count &&
             (met ? fit.ahead <= LUMOS_MOST_SKEW + doubt_of(search, one, other)
                  : count >= FEWEST_APART && llabs(ahead) <= FARTHEST);
  return fit;
}

static struct fit *fit_between(const struct search *search, size_t one, size_t other) {
  return &search->fits[one * search->streams.count + other];
}

/* A stream is of one communicator: of many kernels it shows at the spread which streams are its own. */
static void keep_closest(struct search *search, int64_t *best) {
  size_t count = search->streams.count;
  for (size_t one = 0; one < count; one++) {
    best[one] = INT64_MAX / 4;
    for (size_t other = 0; other < count; other++) {
      const struct fit *fit = fit_between(search, one, other);
      best[one] = fit->fits && fit->spread < best[one] ? fit->spread : best[one];
    }
  }
  for (size_t one = 0; one < count; one++) {
    for (size_t other = 0; search->streams.items[one].count >= FEW && other < count; other++) {
      struct fit *fit = fit_between(search, one, other);
      fit->fits = fit->fits && fit->spread <= 2 * best[one] + NEARLY && fit->spread <= 2 * best[other] + NEARLY;
    }
  }
}

/* Of the streams of a rank one at most is the other's: the closest, unless another is nearly as close. */
static void keep_one_of_rank(struct search *search, size_t one, size_t first, size_t end) {
  int64_t best = INT64_MAX / 4;
  size_t near = 0;
  for (size_t s = first; s < end; s++) {
    const struct fit *fit = fit_between(search, one, s);
    best = fit->fits && fit->spread + fit->ahead < best ? fit->spread + fit->ahead : best;
  }
  for (size_t s = first; s < end; s++) {
    const struct fit *fit = fit_between(search, one, s);
    near += fit->fits && fit->spread + fit->ahead <= 2 * best + NEARLY;
  }
  for (size_t s = first; s < end; s++) {
    struct fit *fit = fit_between(search, one, s);
    fit->fits = fit->fits && near == 1 && fit->spread + fit->ahead == best;
  }
}

static void find_fits(struct search *search) {
  size_t count = search->streams.count;
  const struct stream *streams = search->streams.items;
  for (size_t one = 0; one < count; one++) {
    for (size_t other = 0; other < count; other++) {
      *fit_between(search, one, other) = fit_of(search, &streams[one], &streams[other]);
    }
  }
  int64_t *best = lumos_allocate(count * sizeof *best);
  keep_closest(search, best);
  free(best);
  for (size_t one = 0; one < count; one++) {
    for (size_t first = 0, end; first < count; first = end) {
      for (end = first + 1; end < count && streams[end].rank == streams[first].rank;) {
        end++;
      }
      keep_one_of_rank(search, one, first, end);
    }
  }
}

/* --- What belongs together --- */

/* Streams that fit, be it through others, are one cluster: the lowest of them. */
static void cluster(struct search *search) {
  size_t count = search->streams.count;
  struct stream *streams = search->streams.items;
  for (size_t one = 0; one < count; one++) {
    for (size_t other = one + 1; other < count; other++) {
      uint32_t from = streams[other].cluster, to = streams[one].cluster;
      bool fits = fit_between(search, one, other)->fits && fit_between(search, other, one)->fits;
      for (size_t s = 0; fits && from != to && s < count; s++) {
        bool own = streams[s].cluster == from || streams[s].cluster == to;
        streams[s].cluster = own ? (from < to ? from : to) : streams[s].cluster;
      }
    }
  }
}

/* Could it be of a rank of which nobody knows how far its clock is apart? Too few kernels show it. */
static bool may_be_elsewhere(const struct search *search, uint32_t cluster) {
  const struct stream *one = &search->streams.items[cluster];
  for (size_t s = 0; s < search->streams.count; s++) {
    const struct stream *other = &search->streams.items[s];
    if (lowest_met(search->met, one->rank) != lowest_met(search->met, other->rank) &&
        names_agree(search->job, one, other)) {
      return true;
    }
  }
  return false;
}

/* Do all of its streams fit each other? And of few kernels nearly as well: where some fit much better than others,
 * several groups do the same at the same time. */
static bool hangs_together(const struct search *search, uint32_t cluster) {
  if (search->streams.items[cluster].count < FEWEST_APART && may_be_elsewhere(search, cluster)) {
    return false;
  }
  size_t count = search->streams.count;
  const struct stream *streams = search->streams.items;
  int64_t least = INT64_MAX / 4, most = 0;
  for (size_t one = 0; one < count; one++) {
    for (size_t other = 0; streams[one].cluster == cluster && other < count; other++) {
      const struct fit *fit = fit_between(search, one, other);
      if (one == other || streams[other].cluster != cluster) {
        continue;
      }
      if (!fit->fits) {
        return false;
      }
      least = fit->spread + fit->ahead < least ? fit->spread + fit->ahead : least;
      most = fit->spread + fit->ahead > most ? fit->spread + fit->ahead : most;
    }
  }
  return streams[cluster].count >= FEW || most <= 2 * least + AS_CLOSE;
}

/* Do ranks meet in it that had not met before? */
static bool join(const struct search *search, uint32_t cluster, struct lumos_matches *matches) {
  const struct stream *first = &search->streams.items[cluster];
  uint32_t *members = lumos_allocate(search->streams.count * sizeof *members);
  bool new = false;
  for (size_t i = 0; i < first->count; i++) {
    uint32_t count = 0; /* streams ascend by lane, so by rank, and tasks with them */
    for (size_t s = 0; s < search->streams.count; s++) {
      const struct stream *stream = &search->streams.items[s];
      if (stream->cluster == cluster) {
        members[count++] = stream->kernels[i].task;
      }
    }
    if (count > 1) {
      (void)lumos_graph_add_match(matches, members, count, LUMOS_SYMMETRIC, LUMOS_BY_ORDER);
      new = meet(search->job, search->met, members, count) || new;
    }
  }
  free(members);
  return new;
}

static void note_joined(struct lumos_job *job, int64_t count) {
  if (count > 0) {
    lumos_job_note(job, LUMOS_NOTE_GUESSED_MEMBERS, LUMOS_INFO, count, NULL,
                   "collectives name no group; which ranks take part is inferred from when their kernels end",
                   "record with PyTorch 2.4 or later, which records the arguments of collectives");
  }
}

/* Those of many kernels, or of few, which wait until no more ranks meet by those of many. Do ranks meet that had not
 * met before? */
static bool join_all(const struct search *search, bool many, struct lumos_matches *matches) {
  bool new = false;
  for (uint32_t s = 0; s < search->streams.count; s++) {
    bool chosen = (search->streams.items[s].count >= FEW) == many && hangs_together(search, s);
    new = (chosen && join(search, s, matches)) || new;
  }
  return new;
}

bool lumos_graph_match_by_moments(struct lumos_job *job, struct lumos_matches *matches) {
  struct search search = {.job = job};
  bool new = false;
  if (lumos_graph_all_traced(job)) {
    find_kernels(&search, matches);
    find_streams(&search);
  }
  if (search.streams.count > 1 && search.streams.count <= MOST_STREAMS) {
    find_met(&search, matches);
    search.fits = lumos_allocate(search.streams.count * search.streams.count * sizeof *search.fits);
    search.values = lumos_allocate(search.kernels.count * sizeof *search.values);
    find_fits(&search);
    cluster(&search);
    size_t before = matches->items.count;
    new = join_all(&search, true, matches) || join_all(&search, false, matches);
    note_joined(job, (int64_t)(matches->items.count - before));
    free(search.met);
    free(search.fits);
    free(search.values);
  }
  lumos_vector_free(&search.streams);
  lumos_vector_free(&search.kernels);
  return new;
}
