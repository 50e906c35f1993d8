/* References resolved: what the lines named becomes an index. A reference to a record that is not there is an error;
 * with --edited the reference is dropped, and the record with it where it means nothing without (a task without its
 * lane, an edge without an end).
 */
#include "job/order.h"
#include "stream/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rank_place {
  int32_t rank;
  uint32_t index;
};

struct resolver {
  struct lumos_reader *reader;
  struct lumos_job *job;
  struct rank_place *ranks;           /* sorted by number */
  uint32_t *lanes;                    /* from place to index; LUMOS_NONE: there is no such lane */
  lumos_string_id *lane_names;        /* by place */
  struct lumos_id_map *tasks, *spans; /* one a rank */
  uint8_t *is_group;                  /* for every string: is it the id of a group? */
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
  return left < right ? -1 : left > right;
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

static bool settle_group(struct resolver *resolver, const struct owner *owner, lumos_string_id *slot) {
  if (*slot == LUMOS_NO_STRING || resolver->is_group[*slot] != 0) {
    return true;
  }
  lumos_string_id group = *slot;
  *slot = LUMOS_NO_STRING;
  return dangling_text(resolver, owner, "group", group);
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

static bool resolve_spans(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  for (size_t i = 0; i < job->spans.count; i++) {
    struct lumos_span *span = &job->spans.items[i];
    const struct lumos_id_map *map = &resolver->spans[span->rank];
    struct owner owner = {"span", job->ranks.items[span->rank].rank, span->id};
    if (!settle_lane(resolver, &owner, &span->lane) || !settle_id(resolver, &owner, map, "span", &span->parent) ||
        !settle_id(resolver, &owner, map, "span", &span->forward)) {
      return false;
    }
  }
  return true;
}

/* What a wait's residual was measured against must still be there. */
static bool resolve_detail(struct resolver *resolver, const struct owner *owner, uint32_t rank,
                           struct lumos_detail *detail) {
  const struct lumos_id_map *map = &resolver->tasks[rank];
  struct lumos_wait *wait = &detail->wait;
  bool had_lane = wait->lane != LUMOS_NONE;
  bool had_record = wait->record != LUMOS_NONE;
  if (!settle_id(resolver, owner, map, "task", &detail->first_segment) ||
      !settle_lane(resolver, owner, &detail->event_lane) || !settle_lane(resolver, owner, &wait->lane) ||
      !settle_id(resolver, owner, map, "task", &wait->record) || !settle_group(resolver, owner, &detail->comm.group)) {
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
    if (!settle_id(resolver, &owner, &resolver->spans[lane->rank], "span", &task->span) ||
        !settle_id(resolver, &owner, &resolver->tasks[lane->rank], "task", &task->call)) {
      return false;
    }
    if (task->detail != LUMOS_NONE &&
        !resolve_detail(resolver, &owner, lane->rank, &job->details.items[task->detail])) {
      return false;
    }
  }
  return true;
}

/* An edge that lost an end goes. */
static bool resolve_deps(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  size_t kept = 0;
  for (size_t i = 0; i < job->deps.count; i++) {
    struct lumos_dep dep = job->deps.items[i];
    struct owner owner = {"dep", NO_RANK, i + 1};
    bool had_source = dep.src != LUMOS_NONE;
    if (!settle_any_task(resolver, &owner, &dep.src) || !settle_any_task(resolver, &owner, &dep.dst)) {
      return false;
    }
    if (dep.dst == LUMOS_NONE || (had_source && dep.src == LUMOS_NONE)) {
      resolver->reader->dropped++;
    } else {
      job->deps.items[kept++] = dep;
    }
  }
  job->deps.count = kept;
  return true;
}

/* Members that are gone are left out; a collective without any goes. Lists move up to stay dense. */
static bool resolve_collectives(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  uint32_t *members = lumos_reallocate(NULL, job->members.count, sizeof *members);
  uint32_t filled = 0;
  size_t kept = 0;
  bool good = true;
  for (size_t i = 0; i < job->collectives.count && good; i++) {
    struct lumos_collective collective = job->collectives.items[i];
    struct owner owner = {"collective", NO_RANK, i + 1};
    uint32_t first = filled;
    for (uint32_t member = 0; member < collective.member_count && good; member++) {
      uint32_t task = job->members.items[collective.member_first + member];
      good = settle_any_task(resolver, &owner, &task);
      members[filled] = task;
      filled += task != LUMOS_NONE;
    }
    bool empty = collective.member_count > 0 && filled == first;
    good = good && settle_group(resolver, &owner, &collective.group);
    collective.member_first = first;
    collective.member_count = filled - first;
    resolver->reader->dropped += empty;
    if (!empty) {
      job->collectives.items[kept++] = collective;
    }
  }
  free(job->members.items);
  job->members.items = members;
  job->members.capacity = job->members.count;
  job->members.count = filled;
  job->collectives.count = kept;
  return good;
}

static bool settle_scope(struct resolver *resolver, const struct owner *owner, struct lumos_scope *scope) {
  return settle_lane(resolver, owner, &scope->lane) && settle_any_task(resolver, owner, &scope->task) &&
         settle_group(resolver, owner, &scope->group);
}

/* A metric of something that is gone goes; a note stays, for its text still holds. */
static bool resolve_metrics_and_notes(struct resolver *resolver) {
  struct lumos_job *job = resolver->job;
  size_t kept = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    struct owner owner = {"metric", NO_RANK, i + 1};
    struct lumos_metric metric = job->metrics.items[i];
    int64_t before = resolver->reader->references;
    if (!settle_scope(resolver, &owner, &metric.scope)) {
      return false;
    }
    if (resolver->reader->references == before) {
      job->metrics.items[kept++] = metric;
    } else {
      resolver->reader->dropped++;
    }
  }
  job->metrics.count = kept;
  for (size_t i = 0; i < job->notes.count; i++) {
    struct owner owner = {"note", NO_RANK, i + 1};
    if (!settle_scope(resolver, &owner, &job->notes.items[i].scope)) {
      return false;
    }
  }
  return true;
}

bool lumos_reader_resolve(struct lumos_reader *reader) {
  struct resolver resolver = {.reader = reader, .job = reader->job};
  index_ranks(&resolver);
  bool good = resolve_lanes(&resolver) && resolve_groups(&resolver) && keep_spans(&resolver) && keep_tasks(&resolver) &&
              index_ids(&resolver) && resolve_spans(&resolver) && resolve_tasks(&resolver) && resolve_deps(&resolver) &&
              resolve_collectives(&resolver) && resolve_metrics_and_notes(&resolver);
  lumos_id_maps_free(resolver.tasks, reader->job->ranks.count);
  lumos_id_maps_free(resolver.spans, reader->job->ranks.count);
  free(resolver.ranks);
  free(resolver.lanes);
  free(resolver.lane_names);
  free(resolver.is_group);
  return good;
}
