/* Sends with their receives where no trace says who talks to whom: by who waits and when both end.
 *
 * Kernels that share a transfer end together, and one of them has waited for the other: the one that came last takes
 * as long as the transfer, the other longer. So two streams of different ranks are laid against each other at the
 * distance at which the most kernels do both, and what each of them takes alone is alike. That distance is the
 * difference of their ranks' clocks.
 *
 * Most of what a pipeline does comes at a fixed distance from something else that it does, so two ranks can seem to
 * belong together that do not. The two streams with the most in common are believed first, and their kernels leave the
 * search, as long as no other distance and no other stream fits the same kernels nearly as well. Clocks that are known
 * by then hold for all who follow. At last a kernel may have two partners: a rank that comes last lets its neighbours
 * on both sides go. Nothing is said where a rank has no trace: its partners would be given to others.
 *
 * Which of two kernels sends stays open; both wait for the later one either way.
 */
#include "graph/graph.h"

#include "base/parallel.h"
#include "graph/typical.h"
#include <stdlib.h>

enum {
  /* Kernels that meet, at least, and one in so many of the stream that has fewer. Chosen as in ends.c; a rank between
   * two others shares half of its kernels with each, and in interleaved schedules fewer, for not every transfer is the
   * last of its kernel at either end. */
  FEWEST = 4,
  SHARE = 3,
  /* Others fit nearly as well: one with so many in a hundred, or two, of whose kernels one in so many is the same.
   * Chosen, on fifty emulated jobs: where the ranks of a tensor-parallel group send at one time to those of another,
   * all fit all, and so does what a lag apart two stages always do. */
  NEARLY_IN_HUNDRED = 90,
  TWO_NEARLY_IN_HUNDRED = 75,
  CONTESTED = 4,
  /* ns by which clocks differ, at most, and distances at which two streams are laid. Chosen: hosts that set their
   * clocks by the network agree to a few milliseconds. */
  FARTHEST = 10000000,
  DISTANCES = 3,
  /* Kernels of one stream whose distances are looked at, evenly. Chosen, for they bound the time. */
  COMPARED = 1024,
  MOST_STREAMS = 512, /* the same */
  /* ns: ends of partners lie this close at the distance of their clocks; measured as in collective.c once they are
   * known as such. */
  CLOSE = LUMOS_REACTION_WINDOW,
  STILL_CLOSE = 50000,
  /* Kernels that come last take up to so many times as long as those at the lower quartile. Chosen: links are
   * shared. */
  AS_LONG = 2,
  AS_LONG_NOISE = 10000,
};

struct kernel {
  int64_t start, end; /* on the clock of its rank's host */
  uint32_t task;
  uint32_t partners;
  bool marked;
};

struct stream {
  struct kernel *kernels; /* ascending */
  size_t count;
  uint32_t rank;
};

/* Two kernels that seem to share a transfer. */
struct meeting {
  struct kernel *one, *other;
  int64_t apart; /* their ends, once the distance of the clocks is taken off */
};
LUMOS_VECTOR_TYPE(meetings, struct meeting);

/* Two streams of different ranks, one < other. */
struct relation {
  uint32_t one, other;
  int64_t distance; /* of the other's clock from the one's */
  int64_t alone;    /* what the kernels that came last took, at the lower quartile */
  size_t next_best; /* how many meet at another distance */
  struct meetings meetings;
  bool stale, shares;
};
LUMOS_VECTOR_TYPE(relations, struct relation);

/* A rank's clock: ranks of one part know each other's. */
struct clock {
  uint32_t part;
  int64_t shift; /* to that of the part */
};

struct search {
  const struct lumos_job *job;
  LUMOS_VECTOR(struct kernel) kernels;
  LUMOS_VECTOR(struct stream) streams;
  struct clock *clocks; /* by rank */
  struct relations open, believed;
  bool sharing; /* may one of two that meet have another partner? */
};

static size_t lower(size_t one, size_t other) { return one < other ? one : other; }

static int64_t length_of(const struct kernel *kernel) { return kernel->end - kernel->start; }

static int64_t shorter_of(const struct kernel *one, const struct kernel *other) {
  return length_of(one) < length_of(other) ? length_of(one) : length_of(other);
}

/* Has one of them waited for the other, if they end together? */
static bool one_waits(const struct kernel *one, const struct kernel *other) {
  return llabs(length_of(one) - length_of(other)) > LUMOS_REACTION_WINDOW;
}

static bool are_free(const struct search *search, const struct kernel *one, const struct kernel *other) {
  bool has_one = one->partners > 0, has_other = other->partners > 0;
  return search->sharing ? !has_one || !has_other : !has_one && !has_other;
}

/* --- Who might talk to somebody --- */

/* Not even in which group. */
static bool is_open(const struct lumos_job *job, const struct lumos_matches *matches, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  if (!lumos_is_communication(record->kind) || !lumos_on_stream(job, record) || matches->taken[task]) {
    return false;
  }
  const struct lumos_comm *comm = lumos_graph_comm(job, task);
  return lumos_graph_is_transfer(lumos_graph_operation(job, comm)) && comm->peer_count == 0 &&
         comm->group == LUMOS_NO_STRING && comm->id == LUMOS_NO_STRING && comm->seq == LUMOS_ABSENT;
}

static void find_kernels(struct search *search, const struct lumos_matches *matches) {
  const struct lumos_job *job = search->job;
  for (uint32_t task = 0; task < job->tasks.count; task++) {
    const struct lumos_task *record = &job->tasks.items[task];
    if (is_open(job, matches, task)) {
      int64_t start = record->start + job->ranks.items[lumos_rank_of(job, record)].clock.device_offset;
      lumos_vector_push(&search->kernels, ((struct kernel){.start = start, .end = start + record->dur, .task = task}));
    }
  }
}

static uint32_t lane_of(const struct search *search, size_t kernel) {
  return search->job->tasks.items[search->kernels.items[kernel].task].lane;
}

/* Tasks of a lane follow each other, in order. */
static void find_streams(struct search *search) {
  const struct lumos_job *job = search->job;
  for (size_t first = 0, end; first < search->kernels.count; first = end) {
    for (end = first + 1; end < search->kernels.count && lane_of(search, end) == lane_of(search, first);) {
      end++;
    }
    struct kernel *kernels = &search->kernels.items[first];
    uint32_t rank = lumos_rank_of(job, &job->tasks.items[kernels->task]);
    if (end - first >= FEWEST) {
      lumos_vector_push(&search->streams, ((struct stream){kernels, end - first, rank}));
    }
  }
}

/* --- Two streams against each other --- */

/* The first of the stream's kernels that ends no earlier than `at`. */
static size_t first_ending(const struct stream *stream, int64_t at) {
  size_t low = 0, high = stream->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (stream->kernels[middle].end < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Of the kernels that may be its partner the one that ends closest to `at`; NULL: there is none. */
static struct kernel *closest(const struct search *search, const struct stream *stream, const struct kernel *kernel,
                              int64_t at, int64_t reach) {
  struct kernel *best = NULL;
  for (size_t i = first_ending(stream, at - reach); i < stream->count && stream->kernels[i].end <= at + reach; i++) {
    struct kernel *other = &stream->kernels[i];
    bool possible = one_waits(kernel, other) && (search->sharing || are_free(search, kernel, other));
    if (possible && (best == NULL || llabs(other->end - at) < llabs(best->end - at))) {
      best = other;
    }
  }
  return best;
}

/* Kernels that are each other's closest at the relation's distance. */
static void find_meetings(const struct search *search, struct relation *relation, int64_t reach) {
  const struct stream *one = &search->streams.items[relation->one], *other = &search->streams.items[relation->other];
  relation->meetings.count = 0;
  for (size_t i = 0; i < one->count; i++) {
    struct kernel *kernel = &one->kernels[i];
    struct kernel *partner = closest(search, other, kernel, kernel->end + relation->distance, reach);
    if (partner != NULL && closest(search, one, partner, partner->end - relation->distance, reach) == kernel) {
      struct meeting meeting = {kernel, partner, partner->end - kernel->end - relation->distance};
      lumos_vector_push(&relation->meetings, meeting);
    }
  }
}

/* Leave those whose later kernel takes no longer than such a transfer, and that are free. */
static void keep_alike(const struct search *search, struct relation *relation) {
  size_t kept = 0;
  for (size_t i = 0; i < relation->meetings.count; i++) {
    const struct meeting *meeting = &relation->meetings.items[i];
    if (shorter_of(meeting->one, meeting->other) <= AS_LONG * relation->alone + AS_LONG_NOISE &&
        are_free(search, meeting->one, meeting->other)) {
      relation->meetings.items[kept++] = *meeting;
    }
  }
  relation->meetings.count = kept;
}

static int64_t typical_of(const struct relation *relation, unsigned percent, bool distance) {
  size_t count = relation->meetings.count;
  int64_t *values = lumos_allocate(count * sizeof *values);
  for (size_t i = 0; i < count; i++) {
    const struct meeting *meeting = &relation->meetings.items[i];
    values[i] = distance ? meeting->apart : shorter_of(meeting->one, meeting->other);
  }
  lumos_sort_times(values, count);
  int64_t value = count == 0 ? 0 : lumos_percentile(values, count, percent);
  free(values);
  return value;
}

/* Lay them at about this distance; where it is `known` exactly there. */
static struct relation lay(const struct search *search, const struct relation *streams, int64_t distance, bool known) {
  struct relation relation = {.one = streams->one, .other = streams->other, .distance = distance};
  find_meetings(search, &relation, CLOSE);
  if (!known) {
    relation.distance += typical_of(&relation, 50, true);
    find_meetings(search, &relation, CLOSE);
  }
  relation.alone = typical_of(&relation, 25, false);
  keep_alike(search, &relation);
  return relation;
}

LUMOS_VECTOR_TYPE(distances, int64_t);

/* Between ends of kernels that may be partners, ascending. */
static struct distances find_distances(const struct search *search, const struct relation *relation) {
  const struct stream *one = &search->streams.items[relation->one], *other = &search->streams.items[relation->other];
  struct distances distances = {0};
  size_t stride = (one->count + COMPARED - 1) / COMPARED;
  for (size_t i = 0; i < one->count; i += stride) {
    const struct kernel *kernel = &one->kernels[i];
    for (size_t k = first_ending(other, kernel->end - FARTHEST);
         k < other->count && other->kernels[k].end <= kernel->end + FARTHEST; k++) {
      if (one_waits(kernel, &other->kernels[k]) && are_free(search, kernel, &other->kernels[k])) {
        lumos_vector_push(&distances, other->kernels[k].end - kernel->end);
      }
    }
  }
  lumos_sort_times(distances.items, distances.count);
  return distances;
}

/* Where most lie close to each other, and away from `count` others; false: there is no such place. */
static bool densest(const struct distances *distances, const int64_t *others, size_t count, int64_t *place) {
  size_t most = 0, first = 0;
  for (size_t i = 0; i < distances->count; i++) {
    while (distances->items[i] - distances->items[first] > 2 * CLOSE) {
      first++;
    }
    int64_t middle = distances->items[first + (i - first) / 2];
    bool apart = true;
    for (size_t k = 0; k < count; k++) {
      apart = apart && llabs(middle - others[k]) > 4 * CLOSE;
    }
    size_t here = i - first + 1;
    if (apart && (here > most || (here == most && llabs(middle) < llabs(*place)))) {
      most = here;
      *place = middle;
    }
  }
  return most > 0;
}

static bool knows(const struct search *search, const struct relation *relation, int64_t *distance) {
  const struct clock *one = &search->clocks[search->streams.items[relation->one].rank];
  const struct clock *other = &search->clocks[search->streams.items[relation->other].rank];
  *distance = one->shift - other->shift;
  return one->part == other->part;
}

static bool is_better(const struct relation *one, const struct relation *other) {
  return one->meetings.count != other->meetings.count ? one->meetings.count > other->meetings.count
                                                      : llabs(one->distance) < llabs(other->distance);
}

/* Lay them at the clocks' distance, or where the most meet. */
static void relate(const struct search *search, struct relation *relation) {
  struct relation best = {.one = relation->one, .other = relation->other};
  int64_t places[DISTANCES] = {0};
  size_t next_best = 0;
  bool known = knows(search, relation, &places[0]);
  struct distances distances = {0};
  if (!known) {
    distances = find_distances(search, relation);
  }
  for (size_t i = 0; i < (known ? 1 : DISTANCES); i++) {
    if (!known && !densest(&distances, places, i, &places[i])) {
      break;
    }
    struct relation laid = lay(search, relation, places[i], known);
    bool better = is_better(&laid, &best);
    struct relation worse = better ? best : laid;
    next_best = worse.meetings.count > next_best ? worse.meetings.count : next_best;
    best = better ? laid : best;
    lumos_vector_free(&worse.meetings);
  }
  best.next_best = next_best;
  best.shares = search->sharing;
  lumos_vector_free(&distances);
  lumos_vector_free(&relation->meetings);
  *relation = best;
}

static bool relate_stale(void *context, size_t index, bool callers) {
  (void)callers;
  struct search *search = context;
  if (search->open.items[index].stale) {
    relate(search, &search->open.items[index]);
  }
  return true;
}

/* --- Which to believe --- */

static bool has_enough(const struct search *search, const struct relation *relation) {
  size_t fewer = lower(search->streams.items[relation->one].count, search->streams.items[relation->other].count);
  return relation->meetings.count >= FEWEST && relation->meetings.count * SHARE >= fewer;
}

/* Bring all up to date and forget those that have too little in common: it only gets less. */
static void review(struct search *search) {
  (void)lumos_parallel(search->open.count, search->job->threads, relate_stale, search);
  size_t kept = 0;
  for (size_t i = 0; i < search->open.count; i++) {
    struct relation *relation = &search->open.items[i];
    relation->stale = false;
    if (has_enough(search, relation)) {
      search->open.items[kept++] = *relation;
    } else {
      lumos_vector_free(&relation->meetings);
    }
  }
  search->open.count = kept;
}

static void mark(const struct relation *relation, bool marked) {
  for (size_t i = 0; i < relation->meetings.count; i++) {
    relation->meetings.items[i].one->marked = relation->meetings.items[i].other->marked = marked;
  }
}

static size_t count_marked(const struct relation *relation) {
  size_t count = 0;
  for (size_t i = 0; i < relation->meetings.count; i++) {
    count += (size_t)relation->meetings.items[i].one->marked + relation->meetings.items[i].other->marked;
  }
  return count;
}

/* Does another distance, or do other streams, fit the same kernels nearly as well? */
static bool is_contested(const struct search *search, const struct relation *relation) {
  size_t count = relation->meetings.count;
  if (relation->next_best * 100 > count * NEARLY_IN_HUNDRED) {
    return true;
  }
  size_t rivals = 0, most = 0;
  mark(relation, true);
  for (size_t i = 0; i < search->open.count; i++) {
    const struct relation *other = &search->open.items[i];
    if (other != relation && other->meetings.count * 100 > count * TWO_NEARLY_IN_HUNDRED &&
        count_marked(other) * CONTESTED > count) {
      most = other->meetings.count > most ? other->meetings.count : most;
      rivals++;
    }
  }
  mark(relation, false);
  return rivals > 1 || most * 100 > count * NEARLY_IN_HUNDRED;
}

/* The one with the most meetings that nothing contests; NULL: there is none. */
static struct relation *clearest(const struct search *search) {
  struct relation *best = NULL;
  for (size_t i = 0; i < search->open.count; i++) {
    struct relation *relation = &search->open.items[i];
    if ((best == NULL || relation->meetings.count > best->meetings.count) && !is_contested(search, relation)) {
      best = relation;
    }
  }
  return best;
}

static void set_clocks(struct search *search, const struct relation *relation) {
  struct clock one = search->clocks[search->streams.items[relation->one].rank];
  struct clock other = search->clocks[search->streams.items[relation->other].rank];
  for (size_t r = 0; one.part != other.part && r < search->job->ranks.count; r++) {
    struct clock *clock = &search->clocks[r];
    if (clock->part == other.part) {
      clock->part = one.part;
      clock->shift += one.shift - relation->distance - other.shift;
    }
  }
}

/* Its kernels leave the search; whoever meets them, or has its clock now, is to be looked at again. */
static void believe(struct search *search, struct relation *relation) {
  struct relation believed = *relation;
  relation->meetings = (struct meetings){0};
  set_clocks(search, &believed);
  for (size_t i = 0; i < believed.meetings.count; i++) {
    believed.meetings.items[i].one->partners++;
    believed.meetings.items[i].other->partners++;
  }
  for (size_t i = 0; i < search->open.count; i++) {
    search->open.items[i].stale = true;
  }
  lumos_vector_push(&search->believed, believed);
}

static void search_all(struct search *search, bool sharing) {
  search->sharing = sharing;
  for (uint32_t one = 0; one < search->streams.count; one++) {
    for (uint32_t other = one + 1; other < search->streams.count; other++) {
      if (search->streams.items[one].rank != search->streams.items[other].rank) {
        lumos_vector_push(&search->open, ((struct relation){.one = one, .other = other, .stale = true}));
      }
    }
  }
  review(search);
  for (struct relation *relation; (relation = clearest(search)) != NULL;) {
    believe(search, relation);
    review(search);
  }
  for (size_t i = 0; i < search->open.count; i++) {
    lumos_vector_free(&search->open.items[i].meetings);
  }
  search->open.count = 0;
}

/* --- What belongs together --- */

struct pair {
  struct meeting meeting;
  bool shares;
};
LUMOS_VECTOR_TYPE(pairs, struct pair);

static int compare_pairs(const void *left, const void *right) {
  const struct pair *a = left, *b = right;
  int64_t one = llabs(a->meeting.apart), other = llabs(b->meeting.apart);
  return a->shares != b->shares                         ? LUMOS_ORDER(a->shares, b->shares)
         : one != other                                 ? LUMOS_ORDER(one, other)
         : a->meeting.one->task != b->meeting.one->task ? LUMOS_ORDER(a->meeting.one->task, b->meeting.one->task)
                                                        : LUMOS_ORDER(a->meeting.other->task, b->meeting.other->task);
}

/* Now that it is known who talks to whom ends may lie further apart, and those that lie closest go first. */
static void pair_up(struct search *search, struct pairs *pairs) {
  for (size_t i = 0; i < search->kernels.count; i++) {
    search->kernels.items[i].partners = 0;
  }
  search->sharing = true;
  for (size_t i = 0; i < search->believed.count; i++) {
    struct relation *relation = &search->believed.items[i];
    find_meetings(search, relation, relation->shares ? CLOSE : STILL_CLOSE);
    keep_alike(search, relation);
    for (size_t k = 0; k < relation->meetings.count; k++) {
      lumos_vector_push(pairs, ((struct pair){relation->meetings.items[k], relation->shares}));
    }
  }
  lumos_vector_sort(pairs, compare_pairs);
  size_t kept = 0;
  for (size_t i = 0; i < pairs->count; i++) {
    struct pair pair = pairs->items[i];
    search->sharing = pair.shares;
    if (are_free(search, pair.meeting.one, pair.meeting.other)) {
      pair.meeting.one->partners++;
      pair.meeting.other->partners++;
      pairs->items[kept++] = pair;
    }
  }
  pairs->count = kept;
}

static void join(struct search *search, struct lumos_matches *matches) {
  struct pairs pairs = {0};
  pair_up(search, &pairs);
  for (size_t i = 0; i < pairs.count; i++) {
    const struct kernel *one = pairs.items[i].meeting.one, *other = pairs.items[i].meeting.other;
    const uint32_t members[] = {one->task, other->task};
    bool alone = one->partners == 1 && other->partners == 1;
    (void)lumos_graph_add_match(matches, members, 2, alone ? LUMOS_PAIR : LUMOS_BATCHED, LUMOS_BY_ORDER);
  }
  lumos_vector_free(&pairs);
}

void lumos_graph_match_partners(const struct lumos_job *job, struct lumos_matches *matches) {
  struct search search = {.job = job};
  if (lumos_graph_all_traced(job)) {
    find_kernels(&search, matches);
    find_streams(&search);
  }
  search.streams.count = search.streams.count > MOST_STREAMS ? 0 : search.streams.count;
  search.clocks = lumos_allocate(job->ranks.count * sizeof *search.clocks);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    search.clocks[r] = (struct clock){r, 0};
  }
  search_all(&search, false);
  search_all(&search, true);
  join(&search, matches);
  for (size_t i = 0; i < search.believed.count; i++) {
    lumos_vector_free(&search.believed.items[i].meetings);
  }
  free(search.clocks);
  lumos_vector_free(&search.believed);
  lumos_vector_free(&search.open);
  lumos_vector_free(&search.streams);
  lumos_vector_free(&search.kernels);
}
