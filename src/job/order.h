/* The orders in which records stand, and the index from a task's or span's N to its place in the array. */
#ifndef LUMOS_JOB_ORDER_H
#define LUMOS_JOB_ORDER_H

#include <lumos/job.h>

/* Strings of a job by their bytes: negative, 0 or positive; absent comes first. */
int lumos_compare_bytes(const struct lumos_strings *strings, lumos_string_id a, lumos_string_id b);

/* Natural order: absent first, then numbers (digits only) by value, then all others by their bytes. Total, and equal
 * only for the same string. */
int lumos_compare_natural(const struct lumos_strings *strings, lumos_string_id a, lumos_string_id b);

/* From N to array index for the tasks, or the spans, of one rank. N are untrusted: where they rise by one from each to
 * the next in the array, as those of a new job do, the index is a sum; where they are dense it is an array, else sorted
 * pairs. */
struct lumos_id_map {
  uint32_t *dense; /* room entries, by N - least */
  uint64_t *pairs; /* N << 32 | index, ascending */
  size_t room;     /* of dense; also how many there are where they rise by one */
  size_t count;    /* pairs in use */
  uint32_t least;  /* N */
  uint32_t first;  /* index of the least */
  bool rising;
};

/* One map for every rank of the job; ranks and lanes must be in place, order within need not be. A repeated N:
 * false, with its rank's index and N. The caller frees the maps with lumos_id_maps_free in either case. */
bool lumos_map_tasks(const struct lumos_job *job, struct lumos_id_map **maps, uint32_t *rank, uint32_t *id);
bool lumos_map_spans(const struct lumos_job *job, struct lumos_id_map **maps, uint32_t *rank, uint32_t *id);
void lumos_id_maps_free(struct lumos_id_map *maps, size_t count);

/* The index, or LUMOS_NONE. */
uint32_t lumos_id_map_find_pair(const struct lumos_id_map *map, uint32_t id);
static inline uint32_t lumos_id_map_find(const struct lumos_id_map *map, uint32_t id) {
  uint32_t place = id - map->least; /* of a smaller one beyond all */
  if (map->rising) {
    return place < map->room ? map->first + place : LUMOS_NONE;
  }
  if (map->dense != NULL) {
    return place < map->room ? map->dense[place] : LUMOS_NONE;
  }
  return lumos_id_map_find_pair(map, id);
}

#endif
