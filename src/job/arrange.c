/* The order of job.h restored. For each array: is it in order already? If not, a permutation is sorted, applied, and
 * every reference into the array is renamed through it.
 */
#include <lumos/job.h>

#include "job/check.h"
#include "job/order.h"
#include "job/remap.h"
#include "job/schema.h"
#include <stdlib.h>
#include <string.h>

/* Negative, 0 or positive for two elements of an array, by index. */
typedef int compare_elements(const struct lumos_job *job, uint32_t a, uint32_t b);

static int compare_ranks(const struct lumos_job *job, uint32_t a, uint32_t b) {
  return LUMOS_ORDER(job->ranks.items[a].rank, job->ranks.items[b].rank);
}

static int compare_groups(const struct lumos_job *job, uint32_t a, uint32_t b) {
  const struct lumos_group *left = &job->groups.items[a];
  const struct lumos_group *right = &job->groups.items[b];
  int order = LUMOS_ORDER(left->rank, right->rank);
  return order != 0 ? order : lumos_compare_natural(job->strings, left->id, right->id);
}

static int compare_lanes(const struct lumos_job *job, uint32_t a, uint32_t b) {
  const struct lumos_lane *left = &job->lanes.items[a];
  const struct lumos_lane *right = &job->lanes.items[b];
  int order = LUMOS_ORDER(left->rank, right->rank);
  order = order != 0 ? order : LUMOS_ORDER(left->kind, right->kind);
  order = order != 0 ? order : lumos_compare_natural(job->strings, left->native, right->native);
  order = order != 0 ? order : lumos_compare_natural(job->strings, left->process, right->process);
  return order != 0 ? order : lumos_compare_natural(job->strings, left->lane, right->lane);
}

static int compare_spans(const struct lumos_job *job, uint32_t a, uint32_t b) {
  int order = LUMOS_ORDER(job->spans.items[a].rank, job->spans.items[b].rank);
  return order != 0 ? order : LUMOS_ORDER(job->spans.items[a].id, job->spans.items[b].id);
}

static int compare_tasks(const struct lumos_job *job, uint32_t a, uint32_t b) {
  int order = LUMOS_ORDER(job->tasks.items[a].lane, job->tasks.items[b].lane);
  return order != 0 ? order : LUMOS_ORDER(job->tasks.items[a].seq, job->tasks.items[b].seq);
}

static int compare_collectives(const struct lumos_job *job, uint32_t a, uint32_t b) {
  return LUMOS_ORDER(job->collectives.items[a].id, job->collectives.items[b].id);
}

struct sorting {
  const struct lumos_job *job;
  compare_elements *compare;
};

static int compare_indices(const void *a, const void *b, void *context) {
  const struct sorting *sorting = context;
  uint32_t left = *(const uint32_t *)a;
  uint32_t right = *(const uint32_t *)b;
  int order = sorting->compare(sorting->job, left, right);
  return order != 0 ? order : LUMOS_ORDER(left, right);
}

/* The elements in their new order: old indices, or NULL when they are in order. The caller frees. */
static uint32_t *new_order(const struct lumos_job *job, size_t count, compare_elements *compare) {
  size_t in_order = 1;
  while (in_order < count && compare(job, (uint32_t)in_order - 1, (uint32_t)in_order) <= 0) {
    in_order++;
  }
  if (in_order >= count) {
    return NULL;
  }
  uint32_t *order = lumos_reallocate(NULL, count, sizeof *order);
  for (size_t i = 0; i < count; i++) {
    order[i] = (uint32_t)i;
  }
  struct sorting sorting = {job, compare};
  qsort_r(order, count, sizeof *order, compare_indices, &sorting);
  return order;
}

/* The order turned round: from old index to new one; frees it. */
static uint32_t *inverse(uint32_t *order, size_t count) {
  uint32_t *renamed = lumos_reallocate(NULL, count, sizeof *renamed);
  for (size_t i = 0; i < count; i++) {
    renamed[order[i]] = (uint32_t)i;
  }
  free(order);
  return renamed;
}

/* The same of tasks, of which there are many: lane by lane, and only those of a lane are sorted, where they have to
 * be. */
static uint32_t *new_order_of_tasks(const struct lumos_job *job) {
  size_t count = job->tasks.count, lanes = job->lanes.count;
  uint32_t *end = lumos_allocate_zeroed(lanes + 1, sizeof *end); /* by lane: behind those that are placed */
  uint32_t *order = lumos_allocate(count * sizeof *order);
  for (size_t i = 0; i < count; i++) {
    end[job->tasks.items[i].lane + 1]++;
  }
  for (size_t l = 1; l <= lanes; l++) {
    end[l] += end[l - 1];
  }
  for (size_t i = 0; i < count; i++) {
    order[end[job->tasks.items[i].lane]++] = (uint32_t)i;
  }
  struct sorting sorting = {job, compare_tasks};
  for (size_t l = 0, first = 0; l < lanes; first = end[l++]) {
    size_t in_order = first + 1;
    while (in_order < end[l] && compare_tasks(job, order[in_order - 1], order[in_order]) <= 0) {
      in_order++;
    }
    if (in_order < end[l]) {
      qsort_r(order + first, end[l] - first, sizeof *order, compare_indices, &sorting);
    }
  }
  free(end);
  return order;
}

/* Bring records into an order (NULL: they are in it), and whatever names them along. `renamed`: the member of `remap`
 * for such records. */
static void arrange_records(struct lumos_job *job, size_t count, uint32_t *order, struct lumos_remap *remap,
                            const uint32_t **renamed) {
  if (order != NULL) {
    uint32_t *to = inverse(order, count);
    *renamed = to;
    lumos_job_remap(job, remap);
    free(to);
  }
  *renamed = NULL;
}

static int compare_members(const void *a, const void *b) {
  return LUMOS_ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

static void arrange_collectives(struct lumos_job *job) {
  uint32_t *order = new_order(job, job->collectives.count, compare_collectives);
  if (order != NULL) {
    struct lumos_collective *old = lumos_copied(job->collectives.items, job->collectives.count, sizeof *old);
    for (size_t i = 0; i < job->collectives.count; i++) {
      job->collectives.items[i] = old[order[i]];
    }
    free(old);
    free(order);
  }
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    if (collective->member_count > 1) {
      qsort(job->members.items + collective->member_first, collective->member_count, sizeof *job->members.items,
            compare_members);
    }
  }
}

/* Behind the last task from `first` on that is of this lane; tasks are sorted by lane. */
static size_t lane_end(const struct lumos_job *job, size_t first, size_t lane) {
  size_t end = job->tasks.count;
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    if (job->tasks.items[middle].lane > lane) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return end;
}

/* Every array is sorted: the ranges of a rank and of a lane are runs. */
void lumos_job_set_ranges(struct lumos_job *job) {
  size_t group = 0;
  size_t lane = 0;
  size_t span = 0;
  size_t task = 0;
  for (size_t i = 0; i < job->ranks.count; i++) {
    struct lumos_rank *rank = &job->ranks.items[i];
    rank->group_first = (uint32_t)group;
    rank->lane_first = (uint32_t)lane;
    rank->span_first = (uint32_t)span;
    rank->task_first = (uint32_t)task;
    while (group < job->groups.count && job->groups.items[group].rank == i) {
      group++;
    }
    while (span < job->spans.count && job->spans.items[span].rank == i) {
      span++;
    }
    for (; lane < job->lanes.count && job->lanes.items[lane].rank == i; lane++) {
      job->lanes.items[lane].task_first = (uint32_t)task;
      task = lane_end(job, task, lane);
      job->lanes.items[lane].task_count = (uint32_t)task - job->lanes.items[lane].task_first;
    }
    rank->group_count = (uint32_t)group - rank->group_first;
    rank->lane_count = (uint32_t)lane - rank->lane_first;
    rank->span_count = (uint32_t)span - rank->span_first;
    rank->task_count = (uint32_t)task - rank->task_first;
  }
}

static bool refuse_repeated_ranks(const struct lumos_job *job, struct lumos_error *error) {
  for (size_t i = 1; i < job->ranks.count; i++) {
    if (job->ranks.items[i].rank == job->ranks.items[i - 1].rank) {
      return lumos_fail(error, "rank %d is given twice; a job has every rank once, number them with --rank",
                        job->ranks.items[i].rank);
    }
  }
  return true;
}

static int compare_lane_names(const void *a, const void *b, void *context) {
  const struct lumos_job *job = context;
  const struct lumos_lane *left = &job->lanes.items[*(const uint32_t *)a];
  const struct lumos_lane *right = &job->lanes.items[*(const uint32_t *)b];
  int order = LUMOS_ORDER(left->rank, right->rank);
  return order != 0 ? order : LUMOS_ORDER(left->lane, right->lane);
}

static bool refuse_repeated_lanes(const struct lumos_job *job, struct lumos_error *error) {
  size_t count = job->lanes.count;
  uint32_t *order = lumos_reallocate(NULL, count, sizeof *order);
  for (size_t i = 0; i < count; i++) {
    order[i] = (uint32_t)i;
  }
  bool good = true;
  if (count > 1) {
    qsort_r(order, count, sizeof *order, compare_lane_names, (void *)(uintptr_t)job);
    for (size_t i = 1; i < count && good; i++) {
      const struct lumos_lane *lane = &job->lanes.items[order[i]];
      if (compare_lane_names(&order[i - 1], &order[i], (void *)(uintptr_t)job) == 0) {
        good = lumos_fail(error, "rank %d: lane %s is given twice", job->ranks.items[lane->rank].rank,
                          lumos_string(job->strings, lane->lane));
      }
    }
  }
  free(order);
  return good;
}

static bool refuse_repeated_seqs(const struct lumos_job *job, struct lumos_error *error) {
  for (size_t i = 1; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task->lane == task[-1].lane && task->seq == task[-1].seq) {
      const struct lumos_lane *lane = &job->lanes.items[task->lane];
      int32_t rank = job->ranks.items[lane->rank].rank;
      return lumos_fail(error, "tasks %d:%u and %d:%u are both number %u on lane %s", rank, task[-1].id, rank, task->id,
                        task->seq, lumos_string(job->strings, lane->lane));
    }
  }
  return true;
}

/* Do tasks stand in order, each seq once on its lane, each id once? Where ids rise through a rank, as those of a new
 * job do, one pass tells. False also where it cannot tell. */
static bool tasks_ascend(const struct lumos_job *job) {
  for (size_t i = 1; i < job->tasks.count; i++) {
    const struct lumos_task *last = &job->tasks.items[i - 1];
    const struct lumos_task *task = &job->tasks.items[i];
    bool behind = task->lane == last->lane ? task->seq > last->seq : task->lane > last->lane;
    if (!behind || (task->id <= last->id && lumos_rank_of(job, task) == lumos_rank_of(job, last))) {
      return false;
    }
  }
  return true;
}

static bool refuse_repeated_task_ids(const struct lumos_job *job, struct lumos_error *error) {
  struct lumos_id_map *maps = NULL;
  uint32_t rank = 0;
  uint32_t id = 0;
  bool good = lumos_map_tasks(job, &maps, &rank, &id);
  lumos_id_maps_free(maps, job->ranks.count);
  if (!good) {
    return lumos_fail(error, "task %d:%u is given twice", job->ranks.items[rank].rank, id);
  }
  return true;
}

static bool refuse_repeated_span_ids(const struct lumos_job *job, struct lumos_error *error) {
  for (size_t i = 1; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    if (span->rank == span[-1].rank && span->id == span[-1].id) {
      return lumos_fail(error, "span %d:%u is given twice", job->ranks.items[span->rank].rank, span->id);
    }
  }
  return true;
}

bool lumos_job_arrange(struct lumos_job *job, struct lumos_error *error) {
  struct lumos_remap remap = {0};
  arrange_records(job, job->ranks.count, new_order(job, job->ranks.count, compare_ranks), &remap, &remap.ranks);
  if (!refuse_repeated_ranks(job, error) || !refuse_repeated_lanes(job, error)) {
    return false;
  }
  arrange_records(job, job->groups.count, new_order(job, job->groups.count, compare_groups), &remap, &remap.groups);
  arrange_records(job, job->lanes.count, new_order(job, job->lanes.count, compare_lanes), &remap, &remap.lanes);
  arrange_records(job, job->spans.count, new_order(job, job->spans.count, compare_spans), &remap, &remap.spans);
  bool ascend = tasks_ascend(job);
  if (!ascend) {
    arrange_records(job, job->tasks.count, new_order_of_tasks(job), &remap, &remap.tasks);
  }
  arrange_collectives(job);
  lumos_job_set_ranges(job);
  return (ascend || (refuse_repeated_seqs(job, error) && refuse_repeated_task_ids(job, error))) &&
         refuse_repeated_span_ids(job, error);
}

/* Does every element stand strictly before the next? If not, say where. */
static bool ascends(const struct lumos_check *check, enum lumos_record_kind kind, size_t count,
                    compare_elements *compare) {
  for (size_t i = 1; i < count; i++) {
    if (compare(check->job, (uint32_t)i - 1, (uint32_t)i) >= 0) {
      return lumos_check_fail(check, kind, i, "it is out of order, or there twice");
    }
  }
  return true;
}

static bool same_ranges(const struct lumos_rank *a, const struct lumos_rank *b) {
  return a->group_first == b->group_first && a->group_count == b->group_count && a->lane_first == b->lane_first &&
         a->lane_count == b->lane_count && a->span_first == b->span_first && a->span_count == b->span_count &&
         a->task_first == b->task_first && a->task_count == b->task_count;
}

/* Ranges are set anew in a copy of ranks and lanes, and compared. */
static bool check_ranges(const struct lumos_check *check) {
  struct lumos_job copy = *check->job;
  copy.ranks.items = lumos_reallocate(NULL, copy.ranks.count, sizeof *copy.ranks.items);
  copy.lanes.items = lumos_reallocate(NULL, copy.lanes.count, sizeof *copy.lanes.items);
  for (size_t i = 0; i < copy.ranks.count; i++) {
    copy.ranks.items[i] = check->job->ranks.items[i];
  }
  for (size_t i = 0; i < copy.lanes.count; i++) {
    copy.lanes.items[i] = check->job->lanes.items[i];
  }
  lumos_job_set_ranges(&copy);
  bool good = true;
  for (size_t i = 0; i < copy.ranks.count && good; i++) {
    good = same_ranges(&copy.ranks.items[i], &check->job->ranks.items[i]) ||
           lumos_check_fail(check, RECORD_RANK, i, "its ranges are not those of its records");
  }
  for (size_t i = 0; i < copy.lanes.count && good; i++) {
    good = (copy.lanes.items[i].task_first == check->job->lanes.items[i].task_first &&
            copy.lanes.items[i].task_count == check->job->lanes.items[i].task_count) ||
           lumos_check_fail(check, RECORD_LANE, i, "its range is not that of its tasks");
  }
  free(copy.ranks.items);
  free(copy.lanes.items);
  return good;
}

bool lumos_check_order(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  return ascends(check, RECORD_RANK, job->ranks.count, compare_ranks) &&
         ascends(check, RECORD_GROUP, job->groups.count, compare_groups) &&
         ascends(check, RECORD_LANE, job->lanes.count, compare_lanes) && refuse_repeated_lanes(job, check->error) &&
         ascends(check, RECORD_SPAN, job->spans.count, compare_spans) &&
         (tasks_ascend(job) || (ascends(check, RECORD_TASK, job->tasks.count, compare_tasks) &&
                                refuse_repeated_task_ids(job, check->error))) &&
         refuse_repeated_span_ids(job, check->error) && check_ranges(check);
}
