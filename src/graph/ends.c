/* Collectives of a group in the order in which they end, for recordings that number nothing.
 *
 * A group's collectives end in one order on all of its ranks, but ranks do not begin to record at the same one. Each
 * rank's sequence is slid along that of the lowest rank until names agree and ends lie a constant apart, which is the
 * difference of the clocks. Among shifts that fit as well as each other the clocks' smallest difference decides. A
 * group is left alone when one of its ranks fits nowhere: then what looks like a group is none, or the kernels do not
 * end together. Kernels without any group are tried as one group of all ranks.
 *
 * Only NCCL's kernels (and RCCL's, which has the same names): what others do in their kernels nobody knows.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <stdlib.h>
#include <string.h>

enum {
  FEWEST = 4, /* kernels to compare, and two thirds of the shorter sequence. Chosen: fewer fit anywhere */
  /* Slide, in kernels; and kernels looked at to choose a shift, evenly over what overlaps. Chosen, for they bound the
   * time. Measured in eight sets: slides of 0 to 8. */
  FARTHEST = 1000,
  COMPARED = 256,
  /* ns: within it three quarters of the end differences lie around their median. Measured as in collective.c. */
  MOST_SPREAD = 50000,
  /* Names that agree, at least. Measured: all do at the right shift in every set; in nanogpt 5 of 76 do without one. */
  MOST_NAMES_IN_HUNDRED = 90
};

struct kernel {
  lumos_string_id group, name;
  int64_t end; /* on the clock of its rank */
  uint32_t rank, task;
};
LUMOS_VECTOR_TYPE(kernels, struct kernel);

/* A group's kernels of one rank. */
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

static int compare_kernels(const void *left, const void *right) {
  const struct kernel *a = left, *b = right;
  if (a->group != b->group) {
    return a->group < b->group ? -1 : 1;
  }
  if (a->rank != b->rank) {
    return a->rank < b->rank ? -1 : 1;
  }
  if (a->end != b->end) {
    return a->end < b->end ? -1 : 1;
  }
  return (a->task > b->task) - (a->task < b->task);
}

/* Of a known kind, and without a number of its own. What was launched before the recording does not count: between it
 * and the first step there may be others, which the recording left out. */
static bool only_order_tells(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  if (!lumos_is_communication(record->kind) || !lumos_on_stream(job, record)) {
    return false;
  }
  const struct lumos_comm *comm = lumos_graph_comm(job, task);
  return record->call != LUMOS_NONE && comm->id == LUMOS_NO_STRING && comm->seq == LUMOS_ABSENT &&
         lumos_graph_is_collective(lumos_graph_operation(job, comm)) &&
         strncmp(lumos_string(job->strings, record->name), "nccl", 4) == 0;
}

static void gather_kernels(const struct lumos_job *job, const struct lumos_matches *matches, struct kernels *kernels) {
  for (uint32_t task = 0; task < job->tasks.count; task++) {
    if (!matches->taken[task] && only_order_tells(job, task)) {
      struct kernel kernel = {lumos_graph_comm(job, task)->group, job->tasks.items[task].name,
                              lumos_graph_job_end(job, task), lumos_rank_of(job, &job->tasks.items[task]), task};
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

/* How they fit, looking at no more than `most` kernels. False: names do not agree, or ends do not. */
static bool fit_at(const struct sequence *reference, const struct sequence *other, int64_t shift, int64_t most,
                   int64_t *values, struct fit *fit) {
  int64_t first = first_common(shift), end = end_common(reference, other, shift);
  int64_t stride = (end - first + most - 1) / most, count = 0, named = 0;
  for (int64_t i = first; i < end; i += stride) {
    const struct kernel *one = &reference->kernels[i], *two = &other->kernels[i + shift];
    named += one->name == two->name;
    values[count++] = one->end - two->end;
  }
  if (named * 100 < count * MOST_NAMES_IN_HUNDRED) {
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

/* As good as: the spread of few samples is known to a factor of two at best, and rows may be rounded to 1 us. */
static bool fits_as_well(const struct fit *fit, int64_t least) { return fit->spread <= 2 * least + 1000; }

/* Find the other's shift; false when it fits nowhere. */
static bool slide(const struct sequence *reference, struct sequence *other) {
  int64_t shorter = reference->count < other->count ? reference->count : other->count;
  int64_t fewest = shorter * 2 / 3 > FEWEST ? shorter * 2 / 3 : FEWEST;
  int64_t from = fewest - reference->count, to = other->count - fewest;
  from = from < -FARTHEST ? -FARTHEST : from;
  to = to > FARTHEST ? FARTHEST : to;
  if (from > to) {
    return false;
  }
  int64_t *values = lumos_allocate((size_t)(shorter > COMPARED ? shorter : COMPARED) * sizeof *values);
  struct fit *fits = lumos_allocate((size_t)(to - from + 1) * sizeof *fits);
  int64_t count = 0, least = INT64_MAX;
  for (int64_t shift = from; shift <= to; shift++) {
    if (fit_at(reference, other, shift, COMPARED, values, &fits[count])) {
      least = fits[count].spread < least ? fits[count].spread : least;
      count++;
    }
  }
  const struct fit *best = NULL;
  for (int64_t i = 0; i < count; i++) {
    if (fits_as_well(&fits[i], least) && (best == NULL || llabs(fits[i].median) < llabs(best->median))) {
      best = &fits[i];
    }
  }
  struct fit whole;
  bool found = best != NULL && fit_at(reference, other, best->shift, shorter, values, &whole);
  other->shift = found ? best->shift : 0;
  free(values);
  free(fits);
  return found;
}

/* How many ranks take part, and how many of them have a trace. */
struct extent {
  int64_t size, present;
};

/* Kernels of no group are of all the world, where that is known. */
static struct extent extent_of(const struct lumos_job *job, uint32_t group) {
  int64_t ranks = (int64_t)job->ranks.count;
  if (group != LUMOS_NONE) {
    uint32_t present = lumos_graph_present(job, &job->groups.items[group]);
    int64_t size = job->groups.items[group].size;
    return (struct extent){size, present > 0 ? present : size};
  }
  int32_t world = job->ranks.items[0].world;
  return (struct extent){world == LUMOS_ABSENT_INT ? ranks : world, ranks};
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
      enum lumos_operation operation = lumos_graph_operation(job, lumos_graph_comm(job, members[0]));
      uint8_t rule = operation == LUMOS_OPERATION_SYMMETRIC ? LUMOS_SYMMETRIC : LUMOS_ROOTED;
      struct lumos_match *match = lumos_graph_add_match(matches, members, count, rule, LUMOS_BY_ORDER);
      match->size = (uint32_t)size;
      match->complete = count == match->size;
    }
  }
  free(members);
}

static void match_group(const struct lumos_job *job, uint32_t group, const struct kernel *kernels, size_t count,
                        struct lumos_matches *matches) {
  struct sequences sequences = {0};
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && kernels[end].rank == kernels[first].rank;) {
      end++;
    }
    struct sequence sequence = {kernels + first, (int64_t)(end - first), 0};
    lumos_vector_push(&sequences, sequence);
  }
  struct extent extent = extent_of(job, group);
  bool fits = sequences.count > 1 && (int64_t)sequences.count == extent.present;
  for (size_t s = 1; fits && s < sequences.count; s++) {
    fits = slide(&sequences.items[0], &sequences.items[s]);
  }
  if (fits) {
    join(job, &sequences, extent.size, matches);
  }
  lumos_vector_free(&sequences);
}

void lumos_graph_match_by_ends(const struct lumos_job *job, struct lumos_matches *matches) {
  struct kernels kernels = {0};
  uint32_t *group_of = lumos_graph_group_index(job);
  gather_kernels(job, matches, &kernels);
  for (size_t first = 0, end; first < kernels.count; first = end) {
    for (end = first + 1; end < kernels.count && kernels.items[end].group == kernels.items[first].group;) {
      end++;
    }
    lumos_string_id id = kernels.items[first].group;
    match_group(job, id == LUMOS_NO_STRING ? LUMOS_NONE : group_of[id], kernels.items + first, end - first, matches);
  }
  free(group_of);
  lumos_vector_free(&kernels);
}
