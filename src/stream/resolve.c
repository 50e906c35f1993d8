/* References resolved: what the lines named becomes an index. A reference to a record that is not there is an error;
 * with --edited the reference is dropped, and the record with it where it means nothing without (a task without its
 * lane, an edge without an end).
 *
 * Which slots are references the schema says. job/remap.h, which rewrites them later, gives indices new values; here
 * slots hold ids, and what an id means depends on the record's rank, which is why the two walks differ.
 */
#include "job/order.h"
#include "job/schema_rows.h"
#include "stream/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rank_place {
  int32_t rank;
  uint32_t index;
};

/* A slot of a record in which what the line named is to become an index. */
struct reference {
  enum lumos_target target;
  bool of_rank; /* a task of the record's own rank, not of any */
  uint16_t offset;
  uint32_t absent; /* what a slot without a value holds */
};
LUMOS_VECTOR_TYPE(reference_list, struct reference);

struct resolver {
  struct lumos_reader *reader;
  struct lumos_job *job;
  struct rank_place *ranks;           /* sorted by number */
  uint32_t *lanes;                    /* from place to index; LUMOS_NONE: there is no such lane */
  lumos_string_id *lane_names;        /* by place */
  struct lumos_id_map *tasks, *spans; /* one a rank */
  uint8_t *is_group;                  /* for every string: is it the id of a group? */
  uint8_t *is_common_error;           /* the same of common errors */
  struct reference_list references[RECORD_KINDS][LUMOS_PARTS]; /* but for what a record belongs to, settled before */
  uint32_t members;                                            /* of collectives, settled so far */
};

/* The record at hand, for messages. */
struct owner {
  const char *type;
  int32_t rank; /* NO_RANK: `number` counts the records of its type from 1 */
  uint64_t number;
};

/* A reference of `owner` to `target` points nowhere: an error, or with --edited one more to drop. */
static bool dangling(struct resolver *resolver, const struct owner *owner, const char *target) {
  struct lumos_reader *reader = resolver->reader;
  reader->references++;
  if (reader->edited) {
    return true;
  }
  if (owner->rank == NO_RANK) {
    return lumos_fail(reader->error,
                      "%s: %s record %" PRIu64 " refers to %s, which is not in the stream; " LUMOS_EDITED_CURE,
                      reader->name, owner->type, owner->number, target);
  }
  return lumos_fail(reader->error, "%s: %s %d:%" PRIu64 " refers to %s, which is not in the stream; " LUMOS_EDITED_CURE,
                    reader->name, owner->type, owner->rank, owner->number, target);
}

static bool dangling_id(struct resolver *resolver, const struct owner *owner, const char *type, int32_t rank,
                        uint32_t id) {
  char target[64];
  (void)snprintf(target, sizeof target, "%s %d:%" PRIu32, type, rank, id);
  return dangling(resolver, owner, target);
}

static bool dangling_rank(struct resolver *resolver, const struct owner *owner, uint32_t rank) {
  char target[64];
  (void)snprintf(target, sizeof target, "rank %" PRIu32, rank);
  return dangling(resolver, owner, target);
}

static bool dangling_text(struct resolver *resolver, const struct owner *owner, const char *type,
                          lumos_string_id text) {
  char target[160];
  (void)snprintf(target, sizeof target, "%s %.120s", type, lumos_string(resolver->job->strings, text));
  return dangling(resolver, owner, target);
}

static int compare_places(const void *a, const void *b) {
  int32_t left = ((const struct rank_place *)a)->rank;
  int32_t right = ((const struct rank_place *)b)->rank;
  return LUMOS_ORDER(left, right);
}

static void index_ranks(struct resolver *resolver) {
  size_t count = resolver->job->ranks.count;
  resolver->ranks = lumos_reallocate(NULL, count, sizeof *resolver->ranks);
  for (size_t i = 0; i < count; i++) {
    resolver->ranks[i] = (struct rank_place){resolver->job->ranks.items[i].rank, (uint32_t)i};
  }
  if (count > 0) {
    qsort(resolver->ranks, count, sizeof *resolver->ranks, compare_places);
  }
}

static uint32_t find_rank(const struct resolver *resolver, int32_t rank) {
  struct rank_place key = {rank, 0};
  size_t count = resolver->job->ranks.count;
  const struct rank_place *place =
      count == 0 ? NULL : bsearch(&key, resolver->ranks, count, sizeof key, compare_places);
  return place == NULL ? LUMOS_NONE : place->index;
}

/* The index of the rank that a record belongs to, in place of its number; *keep: is it there? */
static bool settle_rank(struct resolver *resolver, const struct owner *owner, uint32_t *slot, bool *keep) {
  uint32_t index = find_rank(resolver, (int32_t)*slot);
  *keep = index != LUMOS_NONE;
  if (!*keep) {
    resolver->reader->dropped++;
    return dangling_rank(resolver, owner, *slot);
  }
  *slot = index;
  return true;
}

static bool settle_lane(struct resolver *resolver, const struct owner *owner, uint32_t *slot) {
  if (*slot == LUMOS_NONE) {
    return true;
  }
  uint32_t place = *slot;
  *slot = resolver->lanes[place];
  return *slot != LUMOS_NONE || dangling_text(resolver, owner, "lane", resolver->lane_names[place]);
}

/* A task or span of the owner's rank. */
static inline bool settle_id(struct resolver *resolver, const struct owner *owner, const struct lumos_id_map *map,
                             const char *type, uint32_t *slot) {
  if (*slot == LUMOS_NONE) {
    return true;
  }
  uint32_t id = *slot;
  *slot = lumos_id_map_find(map, id);
  return *slot != LUMOS_NONE || dangling_id(resolver, owner, type, owner->rank, id);
}

static bool settle_any_task(struct resolver *resolver, const struct owner *owner, uint32_t *slot) {
  if (*slot == LUMOS_NONE) {
    return true;
  }
  const struct lumos_far *far = &resolver->reader->far.items[*slot];
  uint32_t rank = find_rank(resolver, far->rank);
  *slot = rank == LUMOS_NONE ? LUMOS_NONE : lumos_id_map_find(&resolver->tasks[rank], far->id);
  return *slot != LUMOS_NONE || dangling_id(resolver, owner, "task", far->rank, far->id);
}

/* A group or a common error, by its id. `known`: the strings that are ids of such. */
static bool settle_named(struct resolver *resolver, const struct owner *owner, const char *type, const uint8_t *known,
                         lumos_string_id *slot) {
  if (*slot == LUMOS_NO_STRING || known[*slot] != 0) {
    return true;
  }
  lumos_string_id name = *slot;
  *slot = LUMOS_NO_STRING;
  return dangling_text(resolver, owner, type, name);
}

static bool resolve_lanes(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  size_t kept = 0;
  resolver->lanes = lumos_reallocate(NULL, job->lanes.count, sizeof *resolver->lanes);
  resolver->lane_names = lumos_reallocate(NULL, job->lanes.count, sizeof *resolver->lane_names);
  for (size_t i = 0; i < job->lanes.count; i++) {
    struct lumos_lane lane = job->lanes.items[i];
    struct owner owner = {"lane", NO_RANK, i + 1};
    bool keep = resolver->reader->lane_given.items[i] != 0;
    resolver->lane_names[i] = lane.lane;
    resolver->lanes[i] = LUMOS_NONE;
    if (keep && !settle_rank(resolver, &owner, &lane.rank, &keep)) {
      return false;
    }
    if (keep) {
      resolver->lanes[i] = (uint32_t)kept;
      job->lanes.items[kept++] = lane;
    }
  }
  job->lanes.count = kept;
  return true;
}

static bool resolve_groups(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  size_t kept = 0;
  resolver->is_group = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  for (size_t i = 0; i < job->groups.count; i++) {
    struct lumos_group group = job->groups.items[i];
    struct owner owner = {"group", NO_RANK, i + 1};
    bool keep = false;
    if (!settle_rank(resolver, &owner, &group.rank, &keep)) {
      return false;
    }
    if (keep) {
      resolver->is_group[group.id] = 1;
      job->groups.items[kept++] = group;
    }
  }
  job->groups.count = kept;
  return true;
}

static void index_common_errors(struct resolver *resolver) {
  const struct lumos_job *job = resolver->job;
  resolver->is_common_error = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  for (size_t i = 0; i < job->common_errors.count; i++) {
    resolver->is_common_error[job->common_errors.items[i].id] = 1;
  }
}

static bool keep_spans(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  size_t kept = 0;
  for (size_t i = 0; i < job->spans.count; i++) {
    struct lumos_span *span = &job->spans.items[i];
    struct owner owner = {"span", (int32_t)span->rank, span->id};
    bool keep = false;
    if (!settle_rank(resolver, &owner, &span->rank, &keep)) {
      return false;
    }
    if (keep) {
      job->spans.items[kept++] = *span;
    }
  }
  job->spans.count = kept;
  return true;
}

static void move_task(struct lumos_job *job, size_t to, size_t from) {
  job->tasks.items[to] = job->tasks.items[from];
  if (job->runs.count > 0) {
    job->runs.items[to] = job->runs.items[from];
  }
}

/* A task without its lane goes, with its detail, whose references will not be resolved. */
static bool keep_tasks(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  size_t kept = 0;
  bool run = job->runs.count > 0;
  for (size_t i = 0; i < job->tasks.count; i++) {
    struct lumos_task *task = &job->tasks.items[i];
    struct owner owner = {"task", NO_RANK, i + 1};
    if (!settle_lane(resolver, &owner, &task->lane)) {
      return false;
    }
    if (task->lane == LUMOS_NONE) {
      resolver->reader->dropped++;
      if (task->detail != LUMOS_NONE) {
        job->details.items[task->detail] = lumos_detail_empty;
      }
      continue;
    }
    if (kept < i) {
      move_task(job, kept, i);
    }
    kept++;
  }
  job->tasks.count = kept;
  job->runs.count = run ? kept : 0;
  return true;
}

static bool index_ids(struct resolver *resolver) {
  uint32_t rank = 0;
  uint32_t id = 0;
  const char *type = "task";
  bool good = lumos_map_tasks(resolver->job, &resolver->tasks, &rank, &id);
  if (good) {
    type = "span";
    good = lumos_map_spans(resolver->job, &resolver->spans, &rank, &id);
  }
  return good || lumos_fail(resolver->reader->error, "%s: %s %d:%" PRIu32 " is given twice; make the stream again",
                            resolver->reader->name, type, resolver->job->ranks.items[rank].rank, id);
}

/* ---- the references of a record ---- */

/* A list of task references: what is gone is left out, and the lists move up to stay dense. */
static bool settle_members(struct resolver *resolver, const struct owner *owner, uint32_t *range) {
  uint32_t *members = resolver->job->members.items;
  uint32_t first = resolver->members;
  for (uint32_t i = 0; i < range[1]; i++) {
    uint32_t task = members[range[0] + i];
    if (!settle_any_task(resolver, owner, &task)) {
      return false;
    }
    members[resolver->members] = task;
    resolver->members += task != LUMOS_NONE;
  }
  range[0] = first;
  range[1] = resolver->members - first;
  return true;
}

static inline __attribute__((always_inline)) bool settle(struct resolver *resolver, const struct owner *owner,
                                                         uint32_t rank, const struct reference *reference,
                                                         uint32_t *slot) {
  switch (reference->target) { /* no default: a new target has to be placed */
    case TARGET_LANES:
      return settle_lane(resolver, owner, slot);
    case TARGET_SPANS:
      return settle_id(resolver, owner, &resolver->spans[rank], "span", slot);
    case TARGET_TASKS:
      return reference->of_rank ? settle_id(resolver, owner, &resolver->tasks[rank], "task", slot)
                                : settle_any_task(resolver, owner, slot);
    case TARGET_GROUPS:
      return settle_named(resolver, owner, "group", resolver->is_group, slot);
    case TARGET_COMMON_ERRORS:
      return settle_named(resolver, owner, "common_error", resolver->is_common_error, slot);
    case TARGET_MEMBERS:
      return settle_members(resolver, owner, slot);
    case TARGET_NONE: /* stands as it was read */
    case TARGET_STRINGS:
    case TARGET_INPUTS:
    case TARGET_RANKS:
    case TARGET_GROUP_RANKS:
    case TARGET_DETAILS:
    case TARGET_TIMINGS:
    case TARGET_PEERS:
    case LUMOS_TARGETS:
      break;
  }
  return true;
}

/* One that is settled with the others: a task's lane is before. */
static inline bool is_reference(enum lumos_record_kind kind, const struct lumos_field *field) {
  bool owner = kind == RECORD_TASK && field->kind == FIELD_LANE && field->part == PART_MAIN;
  return lumos_target_of((enum lumos_field_kind)field->kind) > TARGET_STRINGS && !owner;
}

static inline struct reference reference_of(const struct lumos_field *field) {
  enum lumos_target target = lumos_target_of((enum lumos_field_kind)field->kind);
  return (struct reference){target, field->kind == FIELD_TASK, field->offset,
                            target == TARGET_GROUPS || target == TARGET_COMMON_ERRORS ? LUMOS_NO_STRING : LUMOS_NONE};
}

static void list_references(struct resolver *resolver, enum lumos_record_kind kind, const struct lumos_field *fields,
                            size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (fields[i].kind == FIELD_OBJECT) {
      list_references(resolver, kind, fields[i].members, fields[i].member_count);
    } else if (is_reference(kind, &fields[i])) {
      lumos_vector_push(&resolver->references[kind][fields[i].part], reference_of(&fields[i]));
    }
  }
}

/* All references of a part of a record. `rank`, an index: whose tasks and spans it names, where it names such. */
static inline bool settle_part(struct resolver *resolver, const struct owner *owner, uint32_t rank,
                               enum lumos_record_kind kind, int part, void *record) {
  const struct reference_list *list = &resolver->references[kind][part];
  for (size_t i = 0; i < list->count; i++) {
    uint32_t *slot = (uint32_t *)(void *)((char *)record + list->items[i].offset);
    if (*slot != list->items[i].absent && !settle(resolver, owner, rank, &list->items[i], slot)) {
      return false;
    }
  }
  return true;
}

/* The same of the records themselves, by rows of a table whose length is known: of tasks and spans, which are most of a
 * stream. */
static inline __attribute__((always_inline)) bool settle_rows(struct resolver *resolver, const struct owner *owner,
                                                              uint32_t rank, enum lumos_record_kind kind,
                                                              const struct lumos_field *rows, size_t count,
                                                              void *record) {
  LUMOS_EVERY_ROW
  for (size_t i = 0; i < count; i++) {
    if (rows[i].part == PART_MAIN && is_reference(kind, &rows[i])) {
      const struct reference reference = reference_of(&rows[i]);
      uint32_t *slot = (uint32_t *)(void *)((char *)record + reference.offset);
      if (*slot != reference.absent && !settle(resolver, owner, rank, &reference, slot)) {
        return false;
      }
    }
  }
  return true;
}

static bool resolve_spans(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  for (size_t i = 0; i < job->spans.count; i++) {
    struct lumos_span *span = &job->spans.items[i];
    struct owner owner = {"span", job->ranks.items[span->rank].rank, span->id};
    if (!settle_rows(resolver, &owner, span->rank, RECORD_SPAN, span_fields, LUMOS_ROWS(span_fields), span)) {
      return false;
    }
  }
  return true;
}

/* What a wait's residual was measured against must still be there. */
static bool resolve_detail(struct resolver *resolver, const struct owner *owner, uint32_t rank,
                           struct lumos_detail *detail) {
  struct lumos_wait *wait = &detail->wait;
  bool had_lane = wait->lane != LUMOS_NONE;
  bool had_record = wait->record != LUMOS_NONE;
  if (!settle_part(resolver, owner, rank, RECORD_TASK, PART_DETAIL, detail)) {
    return false;
  }
  if ((had_lane && wait->lane == LUMOS_NONE) || (had_record && wait->record == LUMOS_NONE)) {
    wait->residual = LUMOS_ABSENT;
  }
  return true;
}

static bool resolve_tasks(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  for (size_t i = 0; i < job->tasks.count; i++) {
    struct lumos_task *task = &job->tasks.items[i];
    const struct lumos_lane *lane = &job->lanes.items[task->lane];
    struct owner owner = {"task", job->ranks.items[lane->rank].rank, task->id};
    if (task->kind == LUMOS_OTHER_DEVICE && lane->kind == LUMOS_THREAD) {
      task->kind = LUMOS_OTHER_HOST; /* both are written "other" */
    }
    if (!settle_rows(resolver, &owner, lane->rank, RECORD_TASK, task_fields, LUMOS_ROWS(task_fields), task) ||
        (task->timing != LUMOS_NONE &&
         !settle_part(resolver, &owner, lane->rank, RECORD_TASK, PART_TIMING, &job->timings.items[task->timing])) ||
        (task->detail != LUMOS_NONE &&
         !resolve_detail(resolver, &owner, lane->rank, &job->details.items[task->detail]))) {
      return false;
    }
  }
  return true;
}

/* Does a record stay that lost a reference? An edge without an end goes, a collective without members, a metric of what
 * is gone; of all others only the reference does. */
static bool stays(enum lumos_record_kind kind, const void *record) {
  return kind == RECORD_COLLECTIVE ? ((const struct lumos_collective *)record)->member_count > 0
                                   : kind != RECORD_DEP && kind != RECORD_METRIC;
}

/* The index of a record's rank, and how messages call the record. */
static uint32_t rank_of(const struct lumos_job *job, enum lumos_record_kind kind, size_t index, struct owner *owner) {
  *owner = (struct owner){lumos_schema[kind].name, NO_RANK, index + 1};
  switch (kind) {
    case RECORD_RANK:
      return (uint32_t)index;
    case RECORD_GROUP:
      return job->groups.items[index].rank;
    case RECORD_LANE:
      return job->lanes.items[index].rank;
    default:
      return LUMOS_NONE;
  }
}

static bool resolve_records(struct resolver *resolver, enum lumos_record_kind kind, size_t *kept) {
  size_t count = 0;
  size_t size = lumos_schema[kind].sizes[PART_MAIN];
  char *items = lumos_part_items(resolver->job, kind, PART_MAIN, &count);
  *kept = 0;
  for (size_t i = 0; i < count && resolver->references[kind][PART_MAIN].count > 0; i++) {
    struct owner owner;
    char *record = items + i * size;
    int64_t before = resolver->reader->references;
    uint32_t rank = rank_of(resolver->job, kind, i, &owner);
    if (!settle_part(resolver, &owner, rank, kind, PART_MAIN, record)) {
      return false;
    }
    if (resolver->reader->references != before && !stays(kind, record)) {
      resolver->reader->dropped++;
      continue;
    }
    if (*kept < i) {
      memcpy(items + *kept * size, record, size);
    }
    ++*kept;
  }
  return true;
}

static bool resolve_all(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  size_t kept[RECORD_KINDS] = {0};
  bool good = true;
  for (int kind = RECORD_RANK; kind < RECORD_END && good; kind++) {
    good = kind == RECORD_TASK   ? resolve_tasks(resolver)
           : kind == RECORD_SPAN ? resolve_spans(resolver)
                                 : resolve_records(resolver, (enum lumos_record_kind)kind, &kept[kind]);
  }
  job->deps.count = kept[RECORD_DEP];
  job->collectives.count = kept[RECORD_COLLECTIVE];
  job->metrics.count = kept[RECORD_METRIC];
  job->members.count = resolver->members;
  return good;
}

bool lumos_reader_resolve(struct lumos_reader *reader) {
  struct resolver resolver = {.reader = reader, .job = reader->job};
  index_ranks(&resolver);
  index_common_errors(&resolver);
  for (int kind = RECORD_RANK; kind < RECORD_END; kind++) {
    list_references(&resolver, (enum lumos_record_kind)kind, lumos_schema[kind].fields, lumos_schema[kind].count);
  }
  bool good = resolve_lanes(&resolver) && resolve_groups(&resolver) && keep_spans(&resolver) && keep_tasks(&resolver) &&
              index_ids(&resolver) && resolve_all(&resolver);
  lumos_id_maps_free(resolver.tasks, reader->job->ranks.count);
  lumos_id_maps_free(resolver.spans, reader->job->ranks.count);
  free(resolver.ranks);
  free(resolver.lanes);
  free(resolver.lane_names);
  free(resolver.is_group);
  free(resolver.is_common_error);
  for (int kind = 0; kind < RECORD_KINDS; kind++) {
    for (int part = 0; part < LUMOS_PARTS; part++) {
      lumos_vector_free(&resolver.references[kind][part]);
    }
  }
  return good;
}
