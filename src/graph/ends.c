/* Kernels of several ranks that belong together, by the order in which they end, for recordings that number nothing.
 *
 * A group's collectives end in one order on all of its ranks, but ranks do not begin to record at the same one. Each
 * rank's sequence is slid along that of the lowest rank until names agree and ends lie a constant apart, which is the
 * difference of the clocks. Among shifts that fit as well as each other the clocks' smallest difference decides. A
 * group is left alone when one of its ranks fits nowhere: then what looks like a group is none, or the kernels do not
 * end together. Kernels without any group are tried as one group of all ranks.
 *
 * Where it is known which ranks take part, kernels of the same names in the same order on all of them need not be
 * slid: they belong together however few they are, and even where their ends lie further apart, if every one had begun
 * on all ranks before it ended on any. Of few kernels that is believed before a shift that needs clocks further apart.
 *
 * Only NCCL's kernels (and RCCL's, which has the same names): what others do in theirs nobody knows. But others that
 * lie so, and kernels with which two ranks exchange something with each other alone, can tell clocks where nothing
 * better does.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <stdlib.h>
#include <string.h>

enum {
  /* Kernels to compare, and two thirds of the shorter sequence. Chosen: fewer fit anywhere; of a group that is known,
   * what happens once a step is in a recording of three steps three times. */
  FEWEST = 4,
  FEWEST_KNOWN = 3,
  /* Kernels by which a spread is known. Chosen: what happens three times a step in five steps is fewer. */
  FEW = 16,
  /* Slide, in kernels; and kernels looked at to choose a shift, evenly over what overlaps. Chosen, for they bound the
   * time. Measured in eight sets: slides of 0 to 8. */
  FARTHEST = 1000,
  COMPARED = 256,
  /* ns: within it three quarters of the end differences lie around their median. Measured as in collective.c. */
  MOST_SPREAD = 50000,
  /* Names that agree, at least, and of those whose steps are known, steps. Measured: all names do at the right shift in
   * every set; in nanogpt 5 of 76 do without one. */
  MOST_NAMES_IN_HUNDRED = 90
};

/* Whose kernels are laid against each other. */
enum party { OF_GROUP, CUSTOM_OF_GROUP, OF_TWO };
struct set {
  enum party party;
  uint32_t one, other; /* the group, a string, or LUMOS_NO_STRING; OF_TWO: the ranks */
};

struct kernel {
  struct set set;
  lumos_string_id name;
  int64_t start, end; /* on the clock of its rank */
  uint32_t rank, task;
  int32_t step;
};
LUMOS_VECTOR_TYPE(kernels, struct kernel);

/* A set's kernels of one rank. */
struct sequence {
  const struct kernel *kernels;
  int64_t count;
  int64_t shift; /* its kernel i + shift is the reference's kernel i */
};
LUMOS_VECTOR_TYPE(sequences, struct sequence);

/* How two sequences fit at a shift. */
struct fit {
  int64_t shift, median, spread;
};

static int compare_sets(const struct set *a, const struct set *b) {
  if (a->party != b->party) {
    return a->party < b->party ? -1 : 1;
  }
  if (a->one != b->one) {
    return a->one < b->one ? -1 : 1;
  }
  return (a->other > b->other) - (a->other < b->other);
}

static int compare_kernels(const void *left, const void *right) {
  const struct kernel *a = left, *b = right;
  int sets = compare_sets(&a->set, &b->set);
  if (sets != 0) {
    return sets;
  }
  if (a->rank != b->rank) {
    return a->rank < b->rank ? -1 : 1;
  }
  if (a->end != b->end) {
    return a->end < b->end ? -1 : 1;
  }
  return (a->task > b->task) - (a->task < b->task);
}

/* Without a number of its own. What was launched before the recording does not count: between it and the first step
 * there may be others, which the recording left out. */
static bool only_order_tells(const struct lumos_job *job, uint32_t task) {
  const struct lumos_comm *comm = lumos_graph_comm(job, task);
  return job->tasks.items[task].call != LUMOS_NONE && comm->id == LUMOS_NO_STRING && comm->seq == LUMOS_ABSENT;
}

static uint32_t index_of_rank(const struct lumos_job *job, int32_t number) {
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    if (job->ranks.items[i].rank == number) {
      return i;
    }
  }
  return LUMOS_NONE;
}

static bool is_library(const struct lumos_job *job, uint32_t task) {
  return strncmp(lumos_string(job->strings, job->tasks.items[task].name), "nccl", 4) == 0;
}

bool lumos_graph_is_unnumbered(const struct lumos_job *job, uint32_t task) {
  return is_library(job, task) && only_order_tells(job, task) &&
         lumos_graph_is_collective(lumos_graph_operation(job, lumos_graph_comm(job, task)));
}

/* Of a collective of the library; false: it is none. */
static bool collective_set(const struct lumos_job *job, uint32_t task, struct set *set) {
  const struct lumos_comm *comm = lumos_graph_comm(job, task);
  *set = (struct set){OF_GROUP, comm->group, 0};
  return lumos_graph_is_unnumbered(job, task);
}

/* Of a kernel of another library, or of one that exchanges something with one rank alone, which has a trace. */
static bool meeting_set(const struct lumos_job *job, uint32_t task, struct set *set) {
  const struct lumos_comm *comm = lumos_graph_comm(job, task);
  if (!is_library(job, task)) {
    *set = (struct set){CUSTOM_OF_GROUP, comm->group, 0};
    return only_order_tells(job, task);
  }
  uint32_t rank = lumos_rank_of(job, &job->tasks.items[task]);
  uint32_t peer = comm->peer_count == 1 ? index_of_rank(job, job->peers.items[comm->peer_first].rank) : LUMOS_NONE;
  *set = (struct set){OF_TWO, rank < peer ? rank : peer, rank < peer ? peer : rank};
  return peer != LUMOS_NONE && peer != rank;
}

static void gather_kernels(const struct lumos_job *job, const struct lumos_matches *matches,
                           bool (*set_of)(const struct lumos_job *, uint32_t, struct set *), struct kernels *kernels) {
  for (uint32_t task = 0; task < job->tasks.count; task++) {
    const struct lumos_task *record = &job->tasks.items[task];
    struct kernel kernel = {.name = record->name, .task = task, .step = record->step};
    if (lumos_is_communication(record->kind) && lumos_on_stream(job, record) && !matches->taken[task] &&
        set_of(job, task, &kernel.set)) {
      kernel.rank = lumos_rank_of(job, record);
      kernel.start = lumos_graph_job_start(job, task);
      kernel.end = lumos_graph_job_end(job, task);
      lumos_vector_push(kernels, kernel);
    }
  }
  if (kernels->count > 0) {
    qsort(kernels->items, kernels->count, sizeof *kernels->items, compare_kernels);
  }
}

/* Where the sequences overlap at a shift, as places in the reference. */
static int64_t first_common(int64_t shift) { return shift < 0 ? -shift : 0; }
static int64_t end_common(const struct sequence *reference, const struct sequence *other, int64_t shift) {
  return reference->count < other->count - shift ? reference->count : other->count - shift;
}

static bool agree(int64_t agreeing, int64_t count) { return agreeing * 100 >= count * MOST_NAMES_IN_HUNDRED; }

/* How they fit, looking at no more than `most` kernels. False: names do not agree, or steps, which all ranks of a run
 * number alike, or ends. What happens once a step fits a step apart as well as at its place. */
static bool fit_at(const struct sequence *reference, const struct sequence *other, int64_t shift, int64_t most,
                   int64_t *values, struct fit *fit) {
  int64_t first = first_common(shift), end = end_common(reference, other, shift);
  int64_t stride = (end - first + most - 1) / most, count = 0, named = 0, labelled = 0, of_step = 0;
  for (int64_t i = first; i < end; i += stride) {
    const struct kernel *one = &reference->kernels[i], *two = &other->kernels[i + shift];
    named += one->name == two->name;
    labelled += one->step != LUMOS_ABSENT_INT && two->step != LUMOS_ABSENT_INT;
    of_step += one->step != LUMOS_ABSENT_INT && one->step == two->step;
    values[count++] = one->end - two->end;
  }
  if (!agree(named, count) || !agree(of_step, labelled)) {
    return false;
  }
  lumos_sort_times(values, (size_t)count);
  fit->shift = shift;
  fit->median = lumos_percentile(values, (size_t)count, 50);
  for (int64_t i = 0; i < count; i++) {
    values[i] = llabs(values[i] - fit->median);
  }
  lumos_sort_times(values, (size_t)count);
  fit->spread = lumos_percentile(values, (size_t)count, 75);
  return fit->spread <= MOST_SPREAD;
}

/* As good as: a spread is known to a factor of two at best, and rows may be rounded to 1 us. That of few samples says
 * nothing: two distances of a whole step may be the same by chance. */
static bool fits_as_well(const struct fit *fit, int64_t least, int64_t shorter) {
  return shorter < FEW || fit->spread <= 2 * least + 1000;
}

/* What is known of a set, and so how little is enough to join its kernels. */
struct certainty {
  bool members; /* it is known which ranks take part */
  bool order;   /* kernels of the same names in the same order belong together if they meet */
};

/* The same names in the same order? */
static bool same_order(const struct sequence *reference, const struct sequence *other) {
  bool same = reference->count == other->count;
  for (int64_t i = 0; same && i < reference->count; i++) {
    same = reference->kernels[i].name == other->kernels[i].name;
  }
  return same;
}

/* Had every kernel begun on both ranks before it ended on either, with clocks at their median distance, `ahead`? */
static bool meet_in_order(const struct sequence *reference, const struct sequence *other, int64_t *values,
                          int64_t *ahead) {
  int64_t count = reference->count, apart = 0;
  for (int64_t i = 0; i < count; i++) {
    values[i] = reference->kernels[i].end - other->kernels[i].end;
  }
  *ahead = lumos_median(values, (size_t)count);
  for (int64_t i = 0; i < count; i++) {
    const struct kernel *one = &reference->kernels[i], *two = &other->kernels[i];
    apart += one->end + LUMOS_TIMING_NOISE < two->start + *ahead || two->end + *ahead + LUMOS_TIMING_NOISE < one->start;
  }
  return apart * LUMOS_VIOLATED_ONE_IN <= count;
}

/* The shift at which ends lie a constant apart; NULL: there is none. */
static const struct fit *best_fit(const struct sequence *reference, const struct sequence *other, int64_t from,
                                  int64_t to, int64_t *values, struct fit *fits) {
  int64_t shorter = reference->count < other->count ? reference->count : other->count;
  int64_t count = 0, least = INT64_MAX;
  for (int64_t shift = from; shift <= to; shift++) {
    if (fit_at(reference, other, shift, COMPARED, values, &fits[count])) {
      least = fits[count].spread < least ? fits[count].spread : least;
      count++;
    }
  }
  const struct fit *best = NULL;
  for (int64_t i = 0; i < count; i++) {
    if (fits_as_well(&fits[i], least, shorter) && (best == NULL || llabs(fits[i].median) < llabs(best->median))) {
      best = &fits[i];
    }
  }
  return best;
}

/* Find the other's shift; false when it fits nowhere. */
static bool slide(const struct sequence *reference, struct sequence *other, struct certainty certainty) {
  int64_t shorter = reference->count < other->count ? reference->count : other->count;
  int64_t few = certainty.members ? FEWEST_KNOWN : FEWEST;
  int64_t fewest = shorter * 2 / 3 > few ? shorter * 2 / 3 : few;
  int64_t from = fewest - reference->count, to = other->count - fewest;
  from = from < -FARTHEST ? -FARTHEST : from;
  to = to > FARTHEST ? FARTHEST : to;
  bool ordered = certainty.order && same_order(reference, other);
  if (from > to && !(ordered && certainty.members)) {
    return false;
  }
  if (from > to) {
    from = to = 0;
  }
  int64_t *values = lumos_allocate((size_t)(shorter > COMPARED ? shorter : COMPARED) * sizeof *values);
  struct fit *fits = lumos_allocate((size_t)(to - from + 1) * sizeof *fits);
  const struct fit *best = best_fit(reference, other, from, to, values, fits);
  struct fit whole;
  bool found = best != NULL && fit_at(reference, other, best->shift, shorter, values, &whole);
  int64_t ahead = 0;
  bool meet = ordered && (!found || shorter < FEW) && meet_in_order(reference, other, values, &ahead);
  other->shift = found && !(meet && llabs(ahead) < llabs(whole.median)) ? best->shift : 0;
  free(values);
  free(fits);
  return found || meet;
}

/* How many ranks take part, and how many of them have a trace. */
struct extent {
  int64_t size, present;
  bool known; /* which they are */
};

/* Kernels of no group are of all the world, where that is known; of a world of two ranks there is no other group. */
static struct extent extent_of(const struct lumos_job *job, const struct set *set, const uint32_t *group_of) {
  int64_t ranks = (int64_t)job->ranks.count;
  if (set->party == OF_TWO) {
    return (struct extent){2, 2, true};
  }
  uint32_t index = set->one == LUMOS_NO_STRING ? LUMOS_NONE : group_of[set->one];
  if (index != LUMOS_NONE) {
    const struct lumos_group *group = &job->groups.items[index];
    int64_t size = group->size, present = lumos_graph_present(job, group);
    return (struct extent){size, present > 0 ? present : size, group->member_count > 0};
  }
  int32_t world = job->ranks.items[0].world;
  return (struct extent){world == LUMOS_ABSENT_INT ? ranks : world, ranks, world == 2};
}

static uint8_t rule_of(const struct lumos_job *job, const struct kernel *kernel) {
  if (kernel->set.party != OF_GROUP) {
    return kernel->set.party == OF_TWO ? LUMOS_PAIR : LUMOS_CUSTOM;
  }
  enum lumos_operation operation = lumos_graph_operation(job, lumos_graph_comm(job, kernel->task));
  return operation == LUMOS_OPERATION_SYMMETRIC ? LUMOS_SYMMETRIC : LUMOS_ROOTED;
}

/* Join the kernels that stand beside each other once all sequences are slid. */
static void join(const struct lumos_job *job, const struct sequences *sequences, int64_t size,
                 struct lumos_matches *matches) {
  const struct sequence *reference = &sequences->items[0];
  uint32_t *members = lumos_allocate(sequences->count * sizeof *members);
  for (int64_t i = 0; i < reference->count; i++) {
    uint32_t count = 0;
    for (size_t s = 0; s < sequences->count; s++) {
      const struct sequence *sequence = &sequences->items[s];
      int64_t place = i + sequence->shift;
      if (place >= 0 && place < sequence->count && sequence->kernels[place].name == reference->kernels[i].name) {
        members[count++] = sequence->kernels[place].task;
      }
    }
    if (count == sequences->count) {
      uint8_t rule = rule_of(job, &reference->kernels[i]);
      struct lumos_joined *match = lumos_graph_add_match(matches, members, count, rule, LUMOS_BY_ORDER);
      match->size = (uint32_t)size;
      match->complete = count == match->size;
    }
  }
  free(members);
}

static void match_set(const struct lumos_job *job, struct extent extent, const struct kernel *kernels, size_t count,
                      struct lumos_matches *matches) {
  struct sequences sequences = {0};
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && kernels[end].rank == kernels[first].rank;) {
      end++;
    }
    struct sequence sequence = {kernels + first, (int64_t)(end - first), 0};
    lumos_vector_push(&sequences, sequence);
  }
  enum party party = kernels->set.party;
  struct certainty certainty = {extent.known, party == CUSTOM_OF_GROUP || (party == OF_GROUP && extent.known)};
  bool fits = sequences.count > 1 && (int64_t)sequences.count == extent.present;
  for (size_t s = 1; fits && s < sequences.count; s++) {
    fits = slide(&sequences.items[0], &sequences.items[s], certainty);
  }
  if (fits) {
    join(job, &sequences, extent.size, matches);
  }
  lumos_vector_free(&sequences);
}

static void match_sets(const struct lumos_job *job, const struct kernels *kernels, struct lumos_matches *matches) {
  uint32_t *group_of = lumos_graph_group_index(job);
  const struct kernel *items = kernels->items;
  for (size_t first = 0, end; first < kernels->count; first = end) {
    for (end = first + 1; end < kernels->count && compare_sets(&items[end].set, &items[first].set) == 0;) {
      end++;
    }
    match_set(job, extent_of(job, &items[first].set, group_of), items + first, end - first, matches);
  }
  free(group_of);
}

void lumos_graph_match_by_ends(const struct lumos_job *job, struct lumos_matches *matches) {
  struct kernels kernels = {0};
  gather_kernels(job, matches, collective_set, &kernels);
  match_sets(job, &kernels, matches);
  lumos_vector_free(&kernels);
}

void lumos_graph_meet_by_ends(const struct lumos_job *job, const struct lumos_matches *matches,
                              struct lumos_matches *meetings) {
  struct kernels kernels = {0};
  meetings->taken = lumos_allocate_zeroed(job->tasks.count, 1);
  gather_kernels(job, matches, meeting_set, &kernels);
  match_sets(job, &kernels, meetings);
  lumos_vector_free(&kernels);
}
