#include "job/remap.h"

#include "job/schema.h"
#include <stdlib.h>
#include <string.h>

/* ---- moving ---- */

static size_t move(void *items, size_t count, size_t size, const uint32_t *to) {
  char *moved = lumos_allocate(count * size);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (to[i] != LUMOS_NONE) {
      memcpy(moved + to[i] * size, (const char *)items + i * size, size);
      kept++;
    }
  }
  memcpy(items, moved, kept * size);
  free(moved);
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

static void rename_all(struct lumos_job *job, uint32_t kinds, const uint32_t *to) {
  lumos_visit_slots(job, kinds, rename_slot, (void *)(uintptr_t)to);
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

/* By old index of a part of tasks the new one; `part`: of a task its index of that. */
static uint32_t *parts_left(const struct lumos_job *job, size_t count, uint32_t (*part)(const struct lumos_task *)) {
  uint32_t *to = lumos_allocate(count * sizeof *to);
  memset(to, 0xFF, count * sizeof *to);
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (part(&job->tasks.items[t]) != LUMOS_NONE) {
      to[part(&job->tasks.items[t])] = 0;
    }
  }
  uint32_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    to[i] = to[i] == LUMOS_NONE ? LUMOS_NONE : kept++;
  }
  return to;
}

static uint32_t detail_of(const struct lumos_task *task) { return task->detail; }
static uint32_t timing_of(const struct lumos_task *task) { return task->timing; }

static void drop_parts(struct lumos_job *job) {
  uint32_t *details = parts_left(job, job->details.count, detail_of);
  uint32_t *timings = parts_left(job, job->timings.count, timing_of);
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    task->detail = task->detail == LUMOS_NONE ? LUMOS_NONE : details[task->detail];
    task->timing = task->timing == LUMOS_NONE ? LUMOS_NONE : timings[task->timing];
  }
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
  rename_all(job, LUMOS_KIND_BIT(FIELD_TASK) | LUMOS_KIND_BIT(FIELD_ANY_TASK), to);
  rename_members(job, to);
}

static void remap_ranks(struct lumos_job *job, const uint32_t *to) {
  for (size_t i = 0; i < job->groups.count; i++) {
    job->groups.items[i].rank = to[job->groups.items[i].rank];
  }
  for (size_t i = 0; i < job->lanes.count; i++) {
    job->lanes.items[i].rank = to[job->lanes.items[i].rank];
  }
  for (size_t i = 0; i < job->spans.count; i++) {
    job->spans.items[i].rank = to[job->spans.items[i].rank];
  }
  MOVE(job->ranks, to);
}

void lumos_job_remap(struct lumos_job *job, const struct lumos_remap *remap) {
  lumos_job_forget_run(job);
  drop_metrics(job, remap);
  if (remap->tasks != NULL) {
    remap_tasks(job, remap->tasks);
  }
  if (remap->spans != NULL) {
    MOVE(job->spans, remap->spans);
    rename_all(job, LUMOS_KIND_BIT(FIELD_SPAN), remap->spans);
  }
  if (remap->lanes != NULL) {
    MOVE(job->lanes, remap->lanes);
    rename_all(job, LUMOS_KIND_BIT(FIELD_LANE), remap->lanes);
  }
  if (remap->groups != NULL) {
    MOVE(job->groups, remap->groups);
    drop_group_ranks(job);
  }
  if (remap->ranks != NULL) {
    remap_ranks(job, remap->ranks);
  }
}
