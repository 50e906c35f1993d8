/* Orders and indices. */
#include "job/order.h"

#include <stdlib.h>
#include <string.h>

static int sign(size_t a, size_t b) { return a < b ? -1 : a > b; }

static int compare(const char *a, size_t a_length, const char *b, size_t b_length) {
  int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
  return order != 0 ? order : sign(a_length, b_length);
}

int lumos_compare_bytes(const struct lumos_strings *strings, lumos_string_id a, lumos_string_id b) {
  if (a == b || a == LUMOS_NO_STRING || b == LUMOS_NO_STRING) {
    return sign(a != LUMOS_NO_STRING && a != b, b != LUMOS_NO_STRING && a != b);
  }
  return compare(lumos_string(strings, a), lumos_string_length(strings, a), lumos_string(strings, b),
                 lumos_string_length(strings, b));
}

/* Digits and nothing else. */
static bool is_number(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (bytes[i] < '0' || bytes[i] > '9') {
      return false;
    }
  }
  return length > 0;
}

static size_t zeros(const char *bytes) { return strspn(bytes, "0"); }

int lumos_compare_natural(const struct lumos_strings *strings, lumos_string_id a, lumos_string_id b) {
  const char *left = lumos_string(strings, a);
  const char *right = lumos_string(strings, b);
  size_t left_length = lumos_string_length(strings, a);
  size_t right_length = lumos_string_length(strings, b);
  bool left_number = is_number(left, left_length);
  bool right_number = is_number(right, right_length);
  if (a == b || a == LUMOS_NO_STRING || b == LUMOS_NO_STRING || !(left_number || right_number)) {
    return lumos_compare_bytes(strings, a, b);
  }
  if (left_number != right_number) {
    return left_number ? -1 : 1;
  }
  size_t left_zeros = zeros(left);
  size_t right_zeros = zeros(right);
  int order = sign(left_length - left_zeros, right_length - right_zeros);
  if (order == 0) {
    order = memcmp(left + left_zeros, right + right_zeros, left_length - left_zeros);
  }
  return order != 0 ? order : lumos_compare_bytes(strings, a, b);
}

/* The ids of a rank: what decides the form of its map. */
struct tally {
  size_t count;
  uint32_t least, largest;
  uint32_t first; /* index of the first one */
  bool scattered; /* they do not rise by one from each to the next in the array */
};

static inline void tally(struct tally *tallies, uint32_t rank, uint32_t id, size_t index) {
  struct tally *counts = &tallies[rank];
  if (counts->count == 0) {
    *counts = (struct tally){.least = id, .largest = id, .first = (uint32_t)index};
  }
  counts->scattered |= id - counts->least != counts->count || index - counts->first != counts->count;
  counts->least = id < counts->least ? id : counts->least;
  counts->largest = id > counts->largest ? id : counts->largest;
  counts->count++;
}

/* *rising: has every rank ids that rise by one, so that nothing need be added? */
static struct lumos_id_map *make_maps(const struct tally *tallies, size_t ranks, bool *rising) {
  struct lumos_id_map *maps = lumos_allocate_zeroed(ranks, sizeof *maps);
  *rising = true;
  for (size_t i = 0; i < ranks; i++) {
    size_t spread = (size_t)(tallies[i].largest - tallies[i].least) + 1;
    maps[i].least = tallies[i].least;
    maps[i].first = tallies[i].first;
    maps[i].rising = !tallies[i].scattered;
    *rising = *rising && maps[i].rising;
    if (maps[i].rising) {
      maps[i].room = tallies[i].count;
    } else if (spread <= 4 * tallies[i].count + 1024) {
      maps[i].room = spread;
      maps[i].dense = lumos_reallocate(NULL, spread, sizeof *maps[i].dense);
      memset(maps[i].dense, 0xFF, spread * sizeof *maps[i].dense);
    } else {
      maps[i].room = tallies[i].count;
      maps[i].pairs = lumos_reallocate(NULL, maps[i].room, sizeof *maps[i].pairs);
    }
  }
  return maps;
}

/* False: the id is there already (pairs find out later). */
static inline bool add(struct lumos_id_map *map, uint32_t id, uint32_t index) {
  if (map->rising) {
    return true;
  }
  if (map->dense == NULL) {
    map->pairs[map->count++] = (uint64_t)id << 32U | index;
    return true;
  }
  bool first = map->dense[id - map->least] == LUMOS_NONE;
  map->dense[id - map->least] = index;
  return first;
}

static int compare_pairs(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a;
  uint64_t right = *(const uint64_t *)b;
  return LUMOS_ORDER(left, right);
}

static bool sort_pairs(struct lumos_id_map *maps, size_t ranks, uint32_t *rank, uint32_t *id) {
  for (size_t i = 0; i < ranks; i++) {
    if (maps[i].count > 0) {
      qsort(maps[i].pairs, maps[i].count, sizeof *maps[i].pairs, compare_pairs);
    }
    for (size_t pair = 1; pair < maps[i].count; pair++) {
      if (maps[i].pairs[pair] >> 32U == maps[i].pairs[pair - 1] >> 32U) {
        *rank = (uint32_t)i;
        *id = (uint32_t)(maps[i].pairs[pair] >> 32U);
        return false;
      }
    }
  }
  return true;
}

bool lumos_map_tasks(const struct lumos_job *job, struct lumos_id_map **maps, uint32_t *rank, uint32_t *id) {
  struct tally *tallies = lumos_allocate_zeroed(job->ranks.count, sizeof *tallies);
  for (size_t i = 0; i < job->tasks.count; i++) {
    tally(tallies, lumos_rank_of(job, &job->tasks.items[i]), job->tasks.items[i].id, i);
  }
  bool rising = false;
  *maps = make_maps(tallies, job->ranks.count, &rising);
  free(tallies);
  for (size_t i = 0; i < job->tasks.count && !rising; i++) {
    *rank = lumos_rank_of(job, &job->tasks.items[i]);
    *id = job->tasks.items[i].id;
    if (!add(&(*maps)[*rank], *id, (uint32_t)i)) {
      return false;
    }
  }
  return sort_pairs(*maps, job->ranks.count, rank, id);
}

bool lumos_map_spans(const struct lumos_job *job, struct lumos_id_map **maps, uint32_t *rank, uint32_t *id) {
  struct tally *tallies = lumos_allocate_zeroed(job->ranks.count, sizeof *tallies);
  for (size_t i = 0; i < job->spans.count; i++) {
    tally(tallies, job->spans.items[i].rank, job->spans.items[i].id, i);
  }
  bool rising = false;
  *maps = make_maps(tallies, job->ranks.count, &rising);
  free(tallies);
  for (size_t i = 0; i < job->spans.count && !rising; i++) {
    *rank = job->spans.items[i].rank;
    *id = job->spans.items[i].id;
    if (!add(&(*maps)[*rank], *id, (uint32_t)i)) {
      return false;
    }
  }
  return sort_pairs(*maps, job->ranks.count, rank, id);
}

void lumos_id_maps_free(struct lumos_id_map *maps, size_t count) {
  for (size_t i = 0; maps != NULL && i < count; i++) {
    free(maps[i].dense);
    free(maps[i].pairs);
  }
  free(maps);
}

uint32_t lumos_id_map_find_pair(const struct lumos_id_map *map, uint32_t id) {
  size_t low = 0;
  size_t high = map->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (map->pairs[middle] >> 32U < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < map->count && map->pairs[low] >> 32U == id ? (uint32_t)map->pairs[low] : LUMOS_NONE;
}
