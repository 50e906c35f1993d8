/* The rule: a group is its recorded name, its size and its ranks. Where a name means one group it is the id, else each
 * group is NAME@LOWEST; NAME@LOWEST#2 and so on where even that is not unique. The name is read back off the id: no
 * name ends like that itself, so ids stay unique and naming twice changes nothing.
 */
#include "job/groups.h"

#include "base/ascii.h"
#include "base/text.h"
#include "job/order.h"
#include "job/schema.h"
#include <stdlib.h>
#include <string.h>

/* Digits at the end of text[0..length): where they begin; `length` when there are none. */
static size_t digits_from(const char *text, size_t length) {
  size_t start = length;
  while (start > 0 && lumos_is_digit(text[start - 1])) {
    start--;
  }
  return start;
}

/* The length of an id without its ending @L or @L#K; SIZE_MAX when it has none. */
static size_t without_ending(const char *id, size_t length) {
  size_t digits = digits_from(id, length);
  if (digits < length && digits > 0 && id[digits - 1] == '#') {
    length = digits - 1;
    digits = digits_from(id, length);
  }
  return digits < length && digits > 0 && id[digits - 1] == '@' ? digits - 1 : SIZE_MAX;
}

static lumos_string_id recorded_name(struct lumos_strings *strings, lumos_string_id id) {
  const char *text = lumos_string(strings, id);
  size_t length = lumos_string_length(strings, id);
  size_t shorter = without_ending(text, length);
  while (shorter != SIZE_MAX) {
    length = shorter;
    shorter = without_ending(text, length);
  }
  return length == lumos_string_length(strings, id) ? id : lumos_intern(strings, text, length);
}

struct index_of {
  uint32_t *group; /* for every string: index + 1 of the group with this id */
  lumos_string_id missing;
};

static void to_index(const struct lumos_field *field, void *slot, void *context) {
  (void)field;
  struct index_of *index_of = context;
  lumos_string_id *id = slot;
  if (*id != LUMOS_NO_STRING && index_of->group[*id] == 0) {
    index_of->missing = *id;
  }
  *id = index_of->group[*id];
}

bool lumos_groups_to_indices(struct lumos_job *job, struct lumos_error *error) {
  struct index_of index_of = {0};
  bool good = true;
  index_of.group = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, sizeof *index_of.group);
  for (size_t i = 0; i < job->groups.count && good; i++) {
    lumos_string_id id = job->groups.items[i].id;
    good = index_of.group[id] == 0 || lumos_fail(error, "group %s is given twice", lumos_string(job->strings, id));
    index_of.group[id] = (uint32_t)i + 1;
  }
  if (good) {
    lumos_visit_slots(job, LUMOS_KIND_BIT(FIELD_GROUP), to_index, &index_of);
    good = index_of.missing == LUMOS_NO_STRING || lumos_fail(error, "group %s is referred to, but has no record",
                                                             lumos_string(job->strings, index_of.missing));
  }
  free(index_of.group);
  return good;
}

static int compare_ranks(const struct lumos_job *job, const struct lumos_group *a, const struct lumos_group *b) {
  int order = LUMOS_ORDER(a->member_count, b->member_count);
  for (uint32_t i = 0; i < a->member_count && order == 0; i++) {
    order = LUMOS_ORDER(job->group_ranks.items[a->member_first + i], job->group_ranks.items[b->member_first + i]);
  }
  return order;
}

/* Which group is it? Equal: the same. Ids are recorded names here. */
static int compare_groups(const struct lumos_job *job, const struct lumos_group *a, const struct lumos_group *b) {
  int order = lumos_compare_bytes(job->strings, a->id, b->id);
  order = order != 0 ? order : LUMOS_ORDER(a->size, b->size);
  return order != 0 ? order : compare_ranks(job, a, b);
}

static int compare_indices(const void *a, const void *b, void *context) {
  const struct lumos_job *job = context;
  uint32_t left = *(const uint32_t *)a;
  uint32_t right = *(const uint32_t *)b;
  int order = compare_groups(job, &job->groups.items[left], &job->groups.items[right]);
  return order != 0 ? order : LUMOS_ORDER(left, right);
}

/* Its lowest rank: of its ranks where they are known, else of those that have it. */
static int32_t lowest_rank(const struct lumos_job *job, const struct lumos_group *group) {
  if (group->member_count == 0) {
    return job->ranks.items[group->rank].rank;
  }
  int32_t lowest = INT32_MAX;
  for (uint32_t i = 0; i < group->member_count; i++) {
    int32_t rank = job->group_ranks.items[group->member_first + i];
    lowest = rank < lowest ? rank : lowest;
  }
  return lowest;
}

/* The first by bytes of two strings that may be absent. */
static lumos_string_id lesser(const struct lumos_job *job, lumos_string_id a, lumos_string_id b) {
  if (a == LUMOS_NO_STRING || b == LUMOS_NO_STRING) {
    return a == LUMOS_NO_STRING ? b : a;
  }
  return lumos_compare_bytes(job->strings, b, a) < 0 ? b : a;
}

/* What two records say about one group: whichever order they come in, the same. */
static void unite(const struct lumos_job *job, struct lumos_group *group, const struct lumos_group *other) {
  if (job->ranks.items[other->rank].rank < job->ranks.items[group->rank].rank) {
    group->rank = other->rank;
  }
  group->name = lesser(job, group->name, other->name);
  group->unknown = lesser(job, group->unknown, other->unknown);
}

/* Every group once, in the order of compare_groups; renamed[old index] = new index. */
static void unite_all(struct lumos_job *job, uint32_t *renamed) {
  size_t count = job->groups.count;
  uint32_t *order = lumos_reallocate(NULL, count, sizeof *order);
  struct lumos_group *united = lumos_reallocate(NULL, count, sizeof *united);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    order[i] = (uint32_t)i;
  }
  qsort_r(order, count, sizeof *order, compare_indices, job);
  for (size_t i = 0; i < count; i++) {
    const struct lumos_group *group = &job->groups.items[order[i]];
    if (kept > 0 && compare_groups(job, &united[kept - 1], group) == 0) {
      unite(job, &united[kept - 1], group);
    } else {
      united[kept++] = *group;
    }
    renamed[order[i]] = (uint32_t)kept - 1;
  }
  if (kept > 0) {
    memcpy(job->groups.items, united, kept * sizeof *united);
  }
  job->groups.count = kept;
  free(united);
  free(order);
}

/* Lists of ranks that no group has any more go. */
static void pack_ranks(struct lumos_job *job) {
  int32_t *packed = lumos_reallocate(NULL, job->group_ranks.count, sizeof *packed);
  uint32_t filled = 0;
  for (size_t i = 0; i < job->groups.count; i++) {
    struct lumos_group *group = &job->groups.items[i];
    if (group->member_count > 0) {
      memcpy(packed + filled, job->group_ranks.items + group->member_first, group->member_count * sizeof *packed);
      group->member_first = filled;
      filled += group->member_count;
    }
  }
  free(job->group_ranks.items);
  job->group_ranks.items = packed;
  job->group_ranks.capacity = job->group_ranks.count;
  job->group_ranks.count = filled;
}

/* NAME@LOWEST, and #K behind it for the K-th such group. */
static lumos_string_id lengthened(struct lumos_job *job, lumos_string_id name, int32_t lowest, size_t which) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_add(&text, lumos_string(job->strings, name), lumos_string_length(job->strings, name));
  lumos_text_char(&text, '@');
  lumos_text_integer(&text, lowest);
  if (which > 1) {
    lumos_text_char(&text, '#');
    lumos_text_integer(&text, (int64_t)which);
  }
  lumos_string_id id = lumos_intern(job->strings, text.bytes, text.length);
  lumos_text_free(&text);
  return id;
}

static int compare_places(const void *a, const void *b) {
  return LUMOS_ORDER((int64_t)(*(const uint64_t *)a), (int64_t)(*(const uint64_t *)b));
}

/* Name the groups [first, end), which share their recorded name. `places`: room for them. */
static void name_groups(struct lumos_job *job, size_t first, size_t end, uint64_t *places) {
  struct lumos_group *groups = job->groups.items;
  lumos_string_id name = groups[first].id;
  if (end - first == 1) {
    return; /* the name is the id */
  }
  for (size_t i = first; i < end; i++) {
    places[i - first] = (uint64_t)lowest_rank(job, &groups[i]) << 32U | i;
  }
  qsort(places, end - first, sizeof *places, compare_places);
  size_t which = 0;
  for (size_t i = 0; i < end - first; i++) {
    uint64_t lowest = places[i] >> 32U;
    which = i > 0 && places[i - 1] >> 32U == lowest ? which + 1 : 1;
    groups[places[i] & UINT32_MAX].id = lengthened(job, name, (int32_t)lowest, which);
  }
}

struct id_of {
  const struct lumos_job *job;
  const uint32_t *renamed;
};

static void to_id(const struct lumos_field *field, void *slot, void *context) {
  (void)field;
  const struct id_of *id_of = context;
  uint32_t *group = slot;
  if (*group != 0) {
    *group = id_of->job->groups.items[id_of->renamed[*group - 1]].id;
  }
}

void lumos_groups_unite(struct lumos_job *job) {
  if (job->groups.count == 0) {
    return;
  }
  uint32_t *renamed = lumos_reallocate(NULL, job->groups.count, sizeof *renamed);
  uint64_t *places = lumos_reallocate(NULL, job->groups.count, sizeof *places);
  for (size_t i = 0; i < job->groups.count; i++) {
    job->groups.items[i].id = recorded_name(job->strings, job->groups.items[i].id);
  }
  unite_all(job, renamed);
  pack_ranks(job);
  for (size_t first = 0, end = 0; first < job->groups.count; first = end) {
    lumos_string_id name = job->groups.items[first].id;
    for (end = first + 1; end < job->groups.count && job->groups.items[end].id == name; end++) {
    }
    name_groups(job, first, end, places);
  }
  struct id_of id_of = {job, renamed};
  lumos_visit_slots(job, LUMOS_KIND_BIT(FIELD_GROUP), to_id, &id_of);
  free(places);
  free(renamed);
}
