/* Typical values by group: a hash table names groups, one counting sort lays samples out by group, means are made on
 * demand. */
#include "graph/typical.h"

#include "base/hash.h"
#include <lumos/memory.h>
#include <stdlib.h>

__extension__ typedef __int128 wide_integer;

struct group {
  uint32_t key[3];
  size_t count, first; /* samples; where they lie once laid out */
  bool known;
  int64_t mean;
};

struct sample {
  int64_t value;
  uint32_t group;
};

struct lumos_typical {
  LUMOS_VECTOR(struct group) groups;
  LUMOS_VECTOR(struct sample) samples;
  int64_t *values; /* samples by group; NULL until the first question */
  size_t trimmed_one_in;
  uint32_t *slots, slot_count; /* group + 1, 0: free; a power of two, at most half full */
};

/* Dropped on either side. Chosen; that it is a trimmed mean is measured: with medians the replay of ao-vit, whose rows
 * are whole microseconds, is off by 8.7 %. */
enum { TRIMMED_ONE_IN = 10 };

struct lumos_typical *lumos_typical_new(void) {
  return lumos_typical_new_trimmed(TRIMMED_ONE_IN);
}

struct lumos_typical *lumos_typical_new_trimmed(size_t one_in) {
  struct lumos_typical *typical = lumos_allocate_zeroed(1, sizeof *typical);
  typical->trimmed_one_in = one_in;
  typical->slot_count = 64;
  typical->slots = lumos_allocate_zeroed(typical->slot_count, sizeof *typical->slots);
  return typical;
}

void lumos_typical_free(struct lumos_typical *typical) {
  if (!typical) {
    return;
  }
  lumos_vector_free(&typical->groups);
  lumos_vector_free(&typical->samples);
  free(typical->values);
  free(typical->slots);
  free(typical);
}

static uint32_t hash_key(const uint32_t key[3]) {
  uint64_t hash = 0;
  for (int i = 0; i < 3; i++) {
    hash = lumos_hash_mix(hash, key[i]);
  }
  return (uint32_t)(hash >> 32);
}

/* The slot that holds the key, or the free one where it belongs. */
static uint32_t *find_slot(const struct lumos_typical *typical, const uint32_t key[3]) {
  uint32_t mask = typical->slot_count - 1;
  for (uint32_t i = hash_key(key) & mask;; i = (i + 1) & mask) {
    uint32_t *slot = &typical->slots[i];
    if (*slot == 0) {
      return slot;
    }
    const uint32_t *held = typical->groups.items[*slot - 1].key;
    if (held[0] == key[0] && held[1] == key[1] && held[2] == key[2]) {
      return slot;
    }
  }
}

static void grow_slots(struct lumos_typical *typical) {
  free(typical->slots);
  typical->slot_count *= 2;
  typical->slots = lumos_allocate_zeroed(typical->slot_count, sizeof *typical->slots);
  for (size_t i = 0; i < typical->groups.count; i++) {
    *find_slot(typical, typical->groups.items[i].key) = (uint32_t)i + 1;
  }
}

uint32_t lumos_typical_group(struct lumos_typical *typical, uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t key[3] = {a, b, c};
  uint32_t *slot = find_slot(typical, key);
  if (*slot == 0) {
    struct group group = {.key = {a, b, c}};
    lumos_vector_push(&typical->groups, group);
    *slot = (uint32_t)typical->groups.count;
    if (typical->groups.count * 2 > typical->slot_count) {
      grow_slots(typical);
    }
    return (uint32_t)typical->groups.count - 1;
  }
  return *slot - 1;
}

void lumos_typical_add(struct lumos_typical *typical, uint32_t group, int64_t value) {
  struct sample sample = {value, group};
  lumos_vector_push(&typical->samples, sample);
  typical->groups.items[group].count++;
}

static void lay_out(struct lumos_typical *typical) {
  typical->values = lumos_allocate(typical->samples.count * sizeof *typical->values);
  size_t next = 0;
  for (size_t i = 0; i < typical->groups.count; i++) {
    typical->groups.items[i].first = next;
    next += typical->groups.items[i].count;
  }
  for (size_t i = 0; i < typical->samples.count; i++) {
    const struct sample *sample = &typical->samples.items[i];
    typical->values[typical->groups.items[sample->group].first++] = sample->value;
  }
  for (size_t i = 0; i < typical->groups.count; i++) {
    typical->groups.items[i].first -= typical->groups.items[i].count;
  }
}

static int compare_times(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

void lumos_sort_times(int64_t *values, size_t count) {
  if (count > 0) { /* an empty vector has no array */
    qsort(values, count, sizeof *values, compare_times);
  }
}

static int64_t middle_of(int64_t a, int64_t b, int64_t c) {
  int64_t low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

static void swap_times(int64_t *left, int64_t *right) {
  int64_t held = *left;
  *left = *right;
  *right = held;
}

/* Brings the value to `place` that sorting would bring there, with none larger before it and none smaller behind it:
 * quickselect. What it fails to cut down for long is sorted. */
static void select_time(int64_t *values, size_t count, size_t place) {
  enum { MOST_ROUNDS = 64 }; /* chosen: twice what halving 2^32 values takes */
  size_t first = 0, end = count;
  for (int round = 0; end - first > 1 && round < MOST_ROUNDS; round++) {
    int64_t pivot = middle_of(values[first], values[first + (end - first) / 2], values[end - 1]);
    /* From `less` to `at` lies what equals the pivot, from `more` on what is larger. */
    size_t less = first, at = first, more = end;
    while (at < more) {
      if (values[at] < pivot) {
        swap_times(&values[less++], &values[at++]);
      } else if (values[at] > pivot) {
        swap_times(&values[at], &values[--more]);
      } else {
        at++;
      }
    }
    if (place >= less && place < more) {
      return;
    }
    first = place < less ? first : more;
    end = place < less ? less : end;
  }
  lumos_sort_times(values + first, end - first);
}

/* Of too few for a tenth one is left out that is farther from the others than they are from each other, and than what
 * needs no explanation. Measured: of six launches of copies one was staged for 3.4 ms, and the mean was -566 us, where
 * five took 4 or 5. Of two nothing tells which is off. */
enum { LEAST_FOR_AN_OUTLIER = 3, NOISE = 2000 /* ns: see graph.h */ };

static bool is_far(int64_t distance, int64_t others) { return distance > others && distance > NOISE; }

static int64_t mean_without(int64_t *values, size_t count, size_t one_in) {
  if (count == 0) {
    return 0;
  }
  lumos_sort_times(values, count);
  size_t dropped = count / one_in;
  size_t first = dropped, end = count - dropped;
  if (dropped == 0 && one_in == TRIMMED_ONE_IN && count >= LEAST_FOR_AN_OUTLIER) {
    first += is_far(values[1] - values[0], values[count - 1] - values[1]);
    end -= is_far(values[count - 1] - values[count - 2], values[count - 2] - values[0]);
  }
  wide_integer sum = 0, kept = (wide_integer)(end - first);
  for (size_t i = first; i < end; i++) {
    sum += values[i];
  }
  return (int64_t)((sum < 0 ? sum - kept / 2 : sum + kept / 2) / kept);
}

bool lumos_typical_value(struct lumos_typical *typical, uint32_t group_number, size_t enough, int64_t *value) {
  if (!typical->values) {
    lay_out(typical);
  }
  struct group *group = &typical->groups.items[group_number];
  if (group->count == 0 || group->count < enough) {
    return false;
  }
  if (!group->known) {
    group->mean = mean_without(typical->values + group->first, group->count, typical->trimmed_one_in);
    group->known = true;
  }
  *value = group->mean;
  return true;
}

int64_t lumos_trimmed_mean(int64_t *values, size_t count) { return mean_without(values, count, TRIMMED_ONE_IN); }

int64_t lumos_percentile(const int64_t *sorted, size_t count, unsigned percent) {
  size_t rank = (count * percent + 99) / 100;
  return sorted[rank == 0 ? 0 : rank - 1];
}

int64_t lumos_median(int64_t *values, size_t count) {
  select_time(values, count, (count + 1) / 2 - 1);
  return lumos_percentile(values, count, 50);
}

struct weighted {
  int64_t value, weight;
};

static int compare_weighted(const void *left, const void *right) {
  const struct weighted *a = left, *b = right;
  return (a->value > b->value) - (a->value < b->value);
}

int64_t lumos_weighted_median(int64_t *values, const int64_t *weights, size_t count) {
  if (weights == NULL) {
    return lumos_median(values, count);
  }
  struct weighted *sorted = lumos_allocate(count * sizeof *sorted);
  wide_integer all = 0, before = 0;
  for (size_t i = 0; i < count; i++) {
    sorted[i] = (struct weighted){values[i], weights[i]};
    all += weights[i];
  }
  qsort(sorted, count, sizeof *sorted, compare_weighted);
  size_t middle = 0;
  while ((before += sorted[middle].weight) * 2 < all) {
    middle++;
  }
  int64_t median = sorted[middle].value;
  free(sorted);
  return median;
}
