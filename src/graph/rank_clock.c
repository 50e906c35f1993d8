/* Clocks of ranks against each other: members of a symmetric collective end together.
 *
 * Where ranks share none, not even through others, other kernels stand in for them that end together as a rule: sends
 * with their receives, and collectives of a library that is not known.
 *
 * dPRO (MLSys 2022) aligns the clocks of workers, too, before it joins their graphs; the method here is the project's
 * own.
 *
 * Of every collective each member is compared with the lowest. For two ranks the offset between their clocks is the
 * median of these differences without outliers, where short collectives weigh more: the longer one takes, the further
 * apart its members may end. The error is the 95th percentile of what remains, and of few differences not less than
 * what so many can tell.
 *
 * A drift is believed when the first, the middle and the last third of the differences lie on a line that rises by much
 * more than they scatter; else it is 0.
 *
 * From the lowest rank on, each next rank is settled over the pair whose median is known best: many differences that
 * scatter tell more than few that do not. So ranks that meet often, whose waiting adds up, agree best with each other.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <math.h>
#include <stdlib.h>

enum {
  FEWEST_WEAK = 4, /* differences of kernels that stand in. Chosen as in ends.c */
  /* Differences, whose 95th percentile tells something, and in which a drift can be seen. Chosen: of 20 one lies beyond
   * that percentile, of fewer none. */
  MANY = 20,
  /* ns, the same of very short ones; longer ones by half their length. Chosen, on twenty emulated jobs, whose 100
   * clocks then lie within their errors. */
  LEAST_SKEW = 5000,
  /* ns a second. Chosen: clocks that run further apart are broken, or it is something else. */
  MOST_DRIFT = 500000,
  ROUNDING = 1000, /* ns: of Kineto's rows until March 2024 */
  NS_PER_S = 1000000000
};

/* The ends of one collective on two ranks. */
struct difference {
  uint32_t one, other; /* ranks, one < other */
  bool weak;           /* not of a symmetric collective */
  int64_t at;          /* when the other's ended, on its own clock */
  int64_t ahead;       /* what to add to it to get the end of the one */
  int64_t length;      /* of the shortest member */
};
LUMOS_VECTOR_TYPE(differences, struct difference);

/* What two ranks' differences say of the other's clock. */
struct relation {
  uint32_t one, other;
  bool weak;
  int64_t offset, drift, error;
  int64_t doubt; /* of the offset: how far a median of so many may be off */
  bool told;     /* whether they say anything */
};
LUMOS_VECTOR_TYPE(relations, struct relation);

static int compare_differences(const void *left, const void *right) {
  const struct difference *a = left, *b = right;
  if (a->one != b->one) {
    return a->one < b->one ? -1 : 1;
  }
  if (a->other != b->other) {
    return a->other < b->other ? -1 : 1;
  }
  if (a->weak != b->weak) {
    return a->weak ? 1 : -1;
  }
  return a->at != b->at ? (a->at < b->at ? -1 : 1) : (a->ahead > b->ahead) - (a->ahead < b->ahead);
}

static int compare_ahead(const void *left, const void *right) {
  const struct difference *a = left, *b = right;
  return (a->ahead > b->ahead) - (a->ahead < b->ahead);
}

static int64_t end_on_own_clock(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  return record->start + record->dur + job->ranks.items[lumos_rank_of(job, record)].clock.device_offset;
}

static void gather_differences(const struct lumos_job *job, const struct lumos_matches *matches,
                               struct differences *differences) {
  for (size_t i = 0; i < matches->items.count; i++) {
    const struct lumos_joined *match = &matches->items.items[i];
    const uint32_t *members = matches->members.items + match->member_first;
    int64_t shortest = INT64_MAX;
    for (uint32_t m = 0; m < match->member_count; m++) {
      int64_t dur = job->tasks.items[members[m]].dur;
      shortest = dur < shortest ? dur : shortest;
    }
    for (uint32_t m = 1; match->rule != LUMOS_ROOTED && m < match->member_count; m++) {
      int64_t at = end_on_own_clock(job, members[m]);
      struct difference difference = {.one = lumos_rank_of(job, &job->tasks.items[members[0]]),
                                      .other = lumos_rank_of(job, &job->tasks.items[members[m]]),
                                      .weak = match->rule != LUMOS_SYMMETRIC,
                                      .at = at,
                                      .ahead = end_on_own_clock(job, members[0]) - at,
                                      .length = shortest};
      lumos_vector_push(differences, difference);
    }
  }
}

/* Do symmetric collectives lead from every rank to every other? */
static bool hang_together(const struct lumos_job *job, const struct differences *differences) {
  uint32_t ranks = (uint32_t)job->ranks.count, parts = ranks;
  uint32_t *part = lumos_allocate(ranks * sizeof *part); /* by rank: an earlier one of its part, or itself */
  for (uint32_t i = 0; i < ranks; i++) {
    part[i] = i;
  }
  for (size_t i = 0; i < differences->count && parts > 1; i++) {
    uint32_t one = differences->items[i].one, other = differences->items[i].other;
    for (; part[one] != one; one = part[one]) {
      part[one] = part[part[one]];
    }
    for (; part[other] != other; other = part[other]) {
      part[other] = part[part[other]];
    }
    if (one != other && !differences->items[i].weak) {
      part[one > other ? one : other] = one < other ? one : other;
      parts--;
    }
  }
  free(part);
  return parts <= 1;
}

static void gather_all(const struct lumos_job *job, const struct lumos_matches *matches,
                       struct differences *differences) {
  gather_differences(job, matches, differences);
  if (!hang_together(job, differences)) {
    struct lumos_matches meetings = {0};
    lumos_graph_meet_by_ends(job, matches, &meetings);
    gather_differences(job, &meetings, differences);
    lumos_vector_free(&meetings.items);
    lumos_vector_free(&meetings.members);
    free(meetings.taken);
  }
  if (differences->count > 0) {
    qsort(differences->items, differences->count, sizeof *differences->items, compare_differences);
  }
}

static int64_t times_drift(int64_t t, int64_t drift) { return (int64_t)((__int128)t * drift / NS_PER_S); }

/* --- Drift --- */

struct point {
  int64_t at, ahead;
};

/* The middle of some differences, ascending by time. */
static struct point middle_of(const struct difference *differences, size_t count, int64_t *values) {
  for (size_t i = 0; i < count; i++) {
    values[i] = differences[i].ahead;
  }
  lumos_sort_times(values, count);
  return (struct point){differences[(count - 1) / 2].at, lumos_percentile(values, count, 50)};
}

/* The median distance from a line. */
static int64_t scatter_around(const struct difference *differences, size_t count, struct point from, int64_t drift,
                              int64_t *values) {
  for (size_t i = 0; i < count; i++) {
    int64_t expected = from.ahead + times_drift(differences[i].at - from.at, drift);
    values[i] = llabs(differences[i].ahead - expected);
  }
  lumos_sort_times(values, count);
  return lumos_percentile(values, count, 50);
}

/* Of differences ascending by time; 0 where it cannot be told from none. The median of a third of n lies within 2
 * scatters / sqrt(n / 3) of the truth, so that two that differ by ten times half of that do not by chance. */
static int64_t drift_of(const struct difference *differences, size_t count, int64_t *values) {
  if (count < MANY) {
    return 0;
  }
  size_t third = count / 3;
  struct point first = middle_of(differences, third, values);
  struct point middle = middle_of(differences + third, third, values);
  struct point last = middle_of(differences + count - third, third, values);
  int64_t rise = last.ahead - first.ahead;
  if (last.at <= first.at) {
    return 0;
  }
  __int128 drift = (__int128)rise * NS_PER_S / (last.at - first.at);
  if (drift > MOST_DRIFT || drift < -MOST_DRIFT || llabs(rise) <= ROUNDING) {
    return 0;
  }
  int64_t scatter = scatter_around(differences, count, first, (int64_t)drift, values);
  int64_t bend = middle.ahead - first.ahead - times_drift(middle.at - first.at, (int64_t)drift);
  bool chance = (__int128)rise * rise * (__int128)third <= (__int128)100 * scatter * scatter;
  return chance || llabs(bend) > llabs(rise) / 4 ? 0 : (int64_t)drift;
}

/* --- Offset --- */

static int64_t weight_of(const struct difference *difference) {
  const int64_t most = (int64_t)1 << 30;
  return 1 + most / (LEAST_SKEW + difference->length / 2);
}

/* Of differences ascending by `ahead`: the value that half of the weight does not exceed. */
static int64_t weighted_median(const struct difference *differences, size_t count) {
  int64_t whole = 0, sum = 0;
  for (size_t i = 0; i < count; i++) {
    whole += weight_of(&differences[i]);
  }
  size_t at = 0;
  for (sum = weight_of(&differences[0]); sum < (whole + 1) / 2; sum += weight_of(&differences[at])) {
    at++;
  }
  return differences[at].ahead;
}

/* What so few differences can tell at best. */
static int64_t least_error(const struct difference *differences, size_t count) {
  int64_t skew = LUMOS_MOST_SKEW;
  for (size_t i = 0; i < count; i++) {
    int64_t own = LEAST_SKEW + differences[i].length / 2;
    skew = own < skew ? own : skew;
  }
  return count >= MANY ? 0 : (int64_t)llround((double)skew / sqrt((double)count));
}

/* The median without outliers, which lie further from it than 4.5 times the median distance (three standard deviations)
 * and a rounding. */
static void fit_offset(struct difference *differences, size_t count, int64_t *distances, struct relation *relation) {
  qsort(differences, count, sizeof *differences, compare_ahead);
  for (;;) {
    relation->offset = weighted_median(differences, count);
    for (size_t i = 0; i < count; i++) {
      distances[i] = llabs(differences[i].ahead - relation->offset);
    }
    lumos_sort_times(distances, count);
    int64_t typical = lumos_percentile(distances, count, 50), limit = 4 * typical + typical / 2 + ROUNDING;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
      if (llabs(differences[i].ahead - relation->offset) <= limit) {
        differences[kept++] = differences[i];
      }
    }
    if (kept == count) {
      break;
    }
    count = kept;
  }
  int64_t remains = lumos_percentile(distances, count, 95), least = least_error(differences, count);
  int64_t typical = lumos_percentile(distances, count, 50);
  int64_t doubt = llround(2 * (double)typical / sqrt((double)count)); /* a median's standard error, of normal ones */
  relation->error = remains > least ? remains : least;
  relation->doubt = doubt > least ? doubt : least;
  relation->told = !relation->weak || (count >= FEWEST_WEAK && typical <= LUMOS_MOST_SKEW);
}

static struct relation relate(struct difference *differences, size_t count) {
  int64_t *values = lumos_allocate(count * sizeof *values);
  struct relation relation = {.one = differences[0].one, .other = differences[0].other, .weak = differences[0].weak};
  relation.drift = drift_of(differences, count, values);
  for (size_t i = 0; i < count; i++) {
    differences[i].ahead -= times_drift(differences[i].at, relation.drift);
  }
  fit_offset(differences, count, values, &relation);
  free(values);
  return relation;
}

/* --- From rank to rank --- */

/* Settle `rank` over a relation with one that is settled: job time is that one's offset and drift after its own. */
static void settle(struct lumos_job *job, const struct relation *relation) {
  struct lumos_clock *one = &job->ranks.items[relation->one].clock, *other = &job->ranks.items[relation->other].clock;
  bool forward = one->from_collectives; /* the one is settled */
  const struct lumos_clock *known = forward ? one : other;
  struct lumos_clock *clock = forward ? other : one;
  int64_t offset = forward ? relation->offset : -relation->offset;
  int64_t drift = forward ? relation->drift : -relation->drift;
  clock->offset = lumos_graph_bounded(known->offset + offset + times_drift(offset, known->drift_ppb));
  clock->drift_ppb = known->drift_ppb + drift;
  clock->error = lumos_graph_bounded(known->error + relation->error);
  clock->from_collectives = true;
}

/* Of the relations of a settled rank with one that is not the surest, one of symmetric collectives before all others;
 * NULL: there is none. */
static const struct relation *next_relation(const struct lumos_job *job, const struct relations *relations) {
  const struct relation *best = NULL;
  for (size_t i = 0; i < relations->count; i++) {
    const struct relation *relation = &relations->items[i];
    const struct lumos_clock *one = &job->ranks.items[relation->one].clock;
    const struct lumos_clock *other = &job->ranks.items[relation->other].clock;
    if (one->from_collectives == other->from_collectives) {
      continue;
    }
    bool surer = best == NULL || (relation->weak == best->weak ? relation->doubt < best->doubt : best->weak);
    best = surer ? relation : best;
  }
  return best;
}

static void forget_clocks(struct lumos_job *job) {
  for (size_t r = 0; r < job->ranks.count; r++) {
    struct lumos_clock *clock = &job->ranks.items[r].clock;
    clock->offset = clock->drift_ppb = 0;
    clock->error = LUMOS_ABSENT;
    clock->from_collectives = false;
  }
}

void lumos_graph_rank_clocks(struct lumos_job *job, const struct lumos_matches *matches) {
  struct differences differences = {0};
  struct relations relations = {0};
  forget_clocks(job);
  gather_all(job, matches, &differences);
  for (size_t first = 0, end; first < differences.count; first = end) {
    for (end = first + 1; end < differences.count && differences.items[end].one == differences.items[first].one &&
                          differences.items[end].other == differences.items[first].other &&
                          differences.items[end].weak == differences.items[first].weak;) {
      end++;
    }
    struct relation relation = relate(differences.items + first, end - first);
    if (relation.told) {
      lumos_vector_push(&relations, relation);
    }
  }
  for (size_t i = 0; i < relations.count;
       i++) { /* ascending: the lowest rank of those that hang together comes first */
    struct lumos_clock *lowest = &job->ranks.items[relations.items[i].one].clock;
    if (!lowest->from_collectives) {
      lowest->from_collectives = true;
      lowest->error = 0; /* the others are compared with it */
    }
    for (const struct relation *next; (next = next_relation(job, &relations)) != NULL;) {
      settle(job, next);
    }
  }
  lumos_vector_free(&differences);
  lumos_vector_free(&relations);
}
