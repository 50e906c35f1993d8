#include "job/remap.h"

#include "job/order.h"
#include "job/schema.h"
#include <stdlib.h>
#include <string.h>

/* ---- moving ---- */

/* Records that change places among themselves, as those of a rank do, take room for no more than them: the first touch
 * of new memory costs more than the move. */
struct moving {
  char *items;
  size_t size; /* of a record */
  const uint32_t *to;
  char *room;
  size_t room_size;
};

/* Records [first, end), of which those that stay go to [to_first, to_end). */
static void move_among(struct moving *moving, size_t first, size_t end, size_t to_first, size_t to_end) {
  size_t size = moving->size, bytes = (to_end - to_first) * size;
  if (to_end == to_first || (end - first == 1 && to_first == first)) {
    return;
  }
  if (bytes > moving->room_size) {
    free(moving->room);
    moving->room = lumos_allocate(bytes);
    moving->room_size = bytes;
  }
  for (size_t i = first; i < end; i++) {
    if (moving->to[i] != LUMOS_NONE) {
      memcpy(moving->room + (moving->to[i] - to_first) * size, moving->items + i * size, size);
    }
  }
  memcpy(moving->items + to_first * size, moving->room, bytes);
}

/* How many of the first records keep their order, where none goes. */
static size_t ordered(const uint32_t *to, size_t count) {
  size_t first = count;
  for (size_t i = 1; i < count; i++) {
    first = first == count && to[i] < to[i - 1] ? i : first;
    if (to[i] == LUMOS_NONE) {
      return 0;
    }
  }
  return count > 0 && to[0] == LUMOS_NONE ? 0 : first;
}

/* Records from `first` on were added behind the others and go between them: these make room from the last on, and only
 * the added ones are put aside. */
static void move_between(char *items, size_t count, size_t size, const uint32_t *to, size_t first) {
  char *added = lumos_copied(items + first * size, count - first, size);
  for (size_t end = first, start; end > 0 && to[end - 1] != end - 1; end = start) {
    for (start = end - 1; start > 0 && to[start] - to[start - 1] == 1; start--) {
    }
    memmove(items + to[start] * size, items + start * size, (end - start) * size);
  }
  for (size_t i = first; i < count; i++) {
    memcpy(items + to[i] * size, added + (i - first) * size, size);
  }
  free(added);
}

static size_t move(void *items, size_t count, size_t size, const uint32_t *to) {
  size_t in_order = ordered(to, count);
  if (in_order > count / 2) {
    move_between(items, count, size, to, in_order);
    return count;
  }
  struct moving moving = {.items = items, .size = size, .to = to};
  size_t first = 0, to_first = 0, kept = 0, highest = 0; /* one more than the last place that is taken */
  for (size_t i = 0; i < count; i++) {
    if (to[i] != LUMOS_NONE) {
      kept++;
      highest = to[i] >= highest ? to[i] + (size_t)1 : highest;
    }
    if (highest == kept) { /* nothing up to here goes behind it */
      move_among(&moving, first, i + 1, to_first, kept);
      first = i + 1;
      to_first = kept;
    }
  }
  free(moving.room);
  return kept;
}

#define MOVE(vector, to)                                                                   \
  do {                                                                                     \
    if ((vector).count > 0) {                                                              \
      (vector).count = move((vector).items, (vector).count, sizeof *(vector).items, (to)); \
    }                                                                                      \
  } while (0)

/* ---- references ---- */

static void rename_slot(const struct lumos_field *field, void *slot, void *context) {
  (void)field;
  const uint32_t *renamed = context;
  uint32_t *index = slot;
  if (*index != LUMOS_NONE) {
    *index = renamed[*index];
  }
}

static void rename_all(struct lumos_job *job, enum lumos_target target, const uint32_t *to) {
  lumos_visit_slots(job, lumos_kinds_to(target), rename_slot, (void *)(uintptr_t)to);
}

/* ---- what goes with what is gone ---- */

static bool is_gone(const uint32_t *to, uint32_t index) {
  return to != NULL && index != LUMOS_NONE && to[index] == LUMOS_NONE;
}

static void drop_metrics(struct lumos_job *job, const struct lumos_remap *remap) {
  size_t kept = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_scope *scope = &job->metrics.items[i].scope;
    uint32_t rank = scope->rank == LUMOS_ABSENT_INT ? LUMOS_NONE : lumos_job_rank(job, scope->rank);
    if (!is_gone(remap->ranks, rank) && !is_gone(remap->lanes, scope->lane) && !is_gone(remap->tasks, scope->task)) {
      job->metrics.items[kept++] = job->metrics.items[i];
    }
  }
  job->metrics.count = kept;
}

static void drop_deps(struct lumos_job *job, const uint32_t *tasks) {
  size_t kept = 0;
  for (size_t i = 0; i < job->deps.count; i++) {
    if (!is_gone(tasks, job->deps.items[i].src) && !is_gone(tasks, job->deps.items[i].dst)) {
      job->deps.items[kept++] = job->deps.items[i];
    }
  }
  job->deps.count = kept;
}

static void rename_members(struct lumos_job *job, const uint32_t *tasks) {
  size_t kept = 0, most = 0;
  for (size_t i = 0; i < job->collectives.count; i++) {
    most += job->collectives.items[i].member_count;
  }
  uint32_t *members = lumos_copied(job->members.items, job->members.count, sizeof *members);
  job->members.count = 0;
  lumos_vector_reserve(&job->members, most);
  for (size_t i = 0; i < job->collectives.count; i++) {
    struct lumos_collective collective = job->collectives.items[i];
    uint32_t first = (uint32_t)job->members.count;
    for (uint32_t m = 0; m < collective.member_count; m++) {
      uint32_t member = tasks[members[collective.member_first + m]];
      if (member != LUMOS_NONE) {
        lumos_vector_push(&job->members, member);
      }
    }
    collective.member_first = first;
    collective.member_count = (uint32_t)job->members.count - first;
    if (collective.member_count > 0) {
      job->collectives.items[kept++] = collective;
    }
  }
  job->collectives.count = kept;
  free(members);
}

static void keep_peers(struct lumos_job *job) {
  struct lumos_peer *peers = lumos_copied(job->peers.items, job->peers.count, sizeof *peers);
  uint32_t at = 0;
  for (size_t i = 0; i < job->details.count; i++) {
    struct lumos_comm *comm = &job->details.items[i].comm;
    for (uint32_t p = 0; p < comm->peer_count; p++) {
      job->peers.items[at + p] = peers[comm->peer_first + p];
    }
    comm->peer_first = at;
    at += comm->peer_count;
  }
  job->peers.count = at;
  free(peers);
}

static void mark_slot(const struct lumos_field *field, void *slot, void *context) {
  (void)field;
  uint32_t *used = context;
  const uint32_t *index = slot;
  if (*index != LUMOS_NONE) {
    used[*index] = 0;
  }
}

/* Parts of tasks move up to where no task has let go of one: by old index the new one. */
static uint32_t *keep_used(struct lumos_job *job, enum lumos_target target) {
  size_t count = lumos_target_count(job, target);
  uint32_t *to = lumos_allocate(count * sizeof *to);
  memset(to, 0xFF, count * sizeof *to);
  lumos_visit_slots(job, lumos_kinds_to(target), mark_slot, to);
  uint32_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    to[i] = to[i] == LUMOS_NONE ? LUMOS_NONE : kept++;
  }
  rename_all(job, target, to);
  return to;
}

static void drop_parts(struct lumos_job *job) {
  uint32_t *details = keep_used(job, TARGET_DETAILS);
  uint32_t *timings = keep_used(job, TARGET_TIMINGS);
  MOVE(job->details, details);
  MOVE(job->timings, timings);
  keep_peers(job);
  free(details);
  free(timings);
}

static void drop_group_ranks(struct lumos_job *job) {
  int32_t *ranks = lumos_copied(job->group_ranks.items, job->group_ranks.count, sizeof *ranks);
  uint32_t at = 0;
  for (size_t i = 0; i < job->groups.count; i++) {
    struct lumos_group *group = &job->groups.items[i];
    for (uint32_t m = 0; m < group->member_count; m++) {
      job->group_ranks.items[at + m] = ranks[group->member_first + m];
    }
    group->member_first = at;
    at += group->member_count;
  }
  job->group_ranks.count = at;
  free(ranks);
}

/* ---- all of it ---- */

static void remap_tasks(struct lumos_job *job, const uint32_t *to) {
  size_t before = job->tasks.count;
  drop_deps(job, to);
  if (job->runs.count > 0) {
    MOVE(job->runs, to);
  }
  MOVE(job->tasks, to);
  bool dropped = job->tasks.count < before;
  if (dropped) {
    drop_parts(job); /* before references in them are renamed: there are fewer */
  }
  rename_all(job, TARGET_TASKS, to);
  rename_members(job, to);
}

void lumos_job_remap(struct lumos_job *job, const struct lumos_remap *remap) {
  lumos_job_forget_run(job);
  drop_metrics(job, remap);
  if (remap->tasks != NULL) {
    remap_tasks(job, remap->tasks);
  }
  if (remap->spans != NULL) {
    MOVE(job->spans, remap->spans);
    rename_all(job, TARGET_SPANS, remap->spans);
  }
  if (remap->lanes != NULL) {
    MOVE(job->lanes, remap->lanes);
    rename_all(job, TARGET_LANES, remap->lanes);
  }
  if (remap->groups != NULL) {
    MOVE(job->groups, remap->groups);
    drop_group_ranks(job);
  }
  if (remap->ranks != NULL) {
    MOVE(job->ranks, remap->ranks);
    rename_all(job, TARGET_RANKS, remap->ranks);
  }
}

/* ---- taking in another job ---- */

struct append {
  const struct lumos_job *from;
  struct lumos_job *to;
  lumos_string_id *strings;    /* from its ids to the other's; 0: not yet moved */
  uint32_t first[FIELD_KINDS]; /* where the elements that such fields refer to will begin */
};

static void move_string(const struct lumos_field *field, void *slot, void *context) {
  (void)field;
  const struct append *append = context;
  lumos_string_id *string = slot;
  if (*string != LUMOS_NO_STRING && append->strings[*string] == LUMOS_NO_STRING) {
    append->strings[*string] = lumos_intern(append->to->strings, lumos_string(append->from->strings, *string),
                                            lumos_string_length(append->from->strings, *string));
  }
  *string = append->strings[*string];
}

static void shift_slot(const struct lumos_field *field, void *slot, void *context) {
  const struct append *append = context;
  *(uint32_t *)slot += lumos_slot_absent(field, slot) ? 0 : append->first[field->kind];
}

#define APPEND(vector)                                                   \
  do {                                                                   \
    lumos_vector_reserve(&job->vector, other->vector.count);             \
    if (other->vector.count > 0) {                                       \
      memcpy(job->vector.items + job->vector.count, other->vector.items, \
             other->vector.count * sizeof *job->vector.items);           \
    }                                                                    \
    job->vector.count += other->vector.count;                            \
    lumos_vector_free(&other->vector);                                   \
  } while (0)

void lumos_job_append(struct lumos_job *job, struct lumos_job *other) {
  struct append append = {
      .from = other,
      .to = job,
      .strings = lumos_allocate_zeroed(lumos_strings_count(other->strings) + 1U, sizeof *append.strings),
  };
  uint64_t strings = lumos_kinds_to(TARGET_STRINGS) | lumos_kinds_to(TARGET_COMMON_ERRORS);
  for (int kind = 0; kind < FIELD_KINDS; kind++) {
    append.first[kind] = (uint32_t)lumos_target_count(job, lumos_target_of((enum lumos_field_kind)kind));
  }
  lumos_visit_slots(other, strings, move_string, &append);
  lumos_visit_slots(other, ~(strings | lumos_kinds_to(TARGET_NONE)), shift_slot, &append);
  free(append.strings);
  APPEND(history);
  APPEND(inputs);
  APPEND(ranks);
  APPEND(groups);
  APPEND(group_ranks);
  APPEND(lanes);
  APPEND(spans);
  APPEND(tasks);
  APPEND(details);
  APPEND(memory);
  APPEND(timings);
  APPEND(peers);
  APPEND(notes);
  APPEND(foreign);
  /* Of the header's unknown fields one wins, the same in any order. */
  if (other->unknown != LUMOS_NO_STRING &&
      (job->unknown == LUMOS_NO_STRING || lumos_compare_bytes(job->strings, other->unknown, job->unknown) < 0)) {
    job->unknown = other->unknown;
  }
}
