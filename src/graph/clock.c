/* Clocks: how far a rank's device rows stand from its host rows, and its host's from the other ranks'.
 *
 * Device rows. A shift is allowed when no task starts before its launching call does and no waiting call returns
 * before the task that it waits for has ended. Either kind of evidence gives one end of an interval, of which one row
 * in a hundred may fall outside (rows are rounded, and some are wrong). Clocks are not moved without need: 0 where it
 * is allowed, else the nearer end. Where the two contradict each other launches decide, for they are recorded and
 * what a call waits for is often not. A synchronisation that does not name its stream tells, too, where the call
 * before it on its thread copies something: it is there to wait for the copy.
 *
 * Ranks. Members of a symmetric collective end together. A rank's offset is the median difference of their ends,
 * without outliers, against the lowest rank that is settled already; ranks are settled outwards from the lowest of
 * those that share collectives, directly or through others. The error is the 95th percentile of what remains, plus
 * that of the rank compared with. Drift is not looked for: it is 0.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <stdlib.h>

LUMOS_VECTOR_TYPE(times, int64_t);

/* Shifts at which a call and its task just touch: launches allow no less, waits no more. */
static void gather_shifts(const struct lumos_rank_graph *graph, struct times *launches, struct times *waits) {
  const struct lumos_job *job = graph->job;
  for (uint32_t task = graph->first; task < graph->first + graph->rank->task_count; task++) {
    const struct lumos_task *record = &job->tasks.items[task];
    uint32_t awaited = graph->awaited[task - graph->first];
    if (record->call != LUMOS_NONE) {
      lumos_vector_push(launches, lumos_graph_call_start(job, record->call) - record->start);
    } else if (awaited != LUMOS_NONE) {
      lumos_vector_push(waits,
                        record->start + record->dur - job->tasks.items[awaited].start - job->tasks.items[awaited].dur);
    }
  }
}

static bool is_call(const struct lumos_task *task) { return task->kind != LUMOS_OP; }

/* Does the call wait for a stream that the trace does not name? */
static bool waits_for_some_stream(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_wait *wait = &lumos_detail_of(job, task)->wait;
  return wait->on == LUMOS_WAIT_STREAM && wait->lane == LUMOS_NONE;
}

static void gather_copies(const struct lumos_rank_graph *graph, const struct lumos_lane *thread, struct times *waits) {
  const struct lumos_job *job = graph->job;
  uint32_t copy = LUMOS_NONE; /* what the last call launched, if that is a copy */
  for (uint32_t call = thread->task_first; call < thread->task_first + thread->task_count; call++) {
    const struct lumos_task *record = &job->tasks.items[call];
    if (!is_call(record)) {
      continue;
    }
    if (copy != LUMOS_NONE && waits_for_some_stream(job, record)) {
      lumos_vector_push(waits, record->start + record->dur - job->tasks.items[copy].start - job->tasks.items[copy].dur);
    }
    copy = graph->launched[call - graph->first];
    copy = copy != LUMOS_NONE && job->tasks.items[copy].kind == LUMOS_COPY ? copy : LUMOS_NONE;
  }
}

static size_t count_above(const struct times *shifts, int64_t limit) {
  size_t count = 0;
  for (size_t i = 0; i < shifts->count; i++) {
    count += shifts->items[i] > limit;
  }
  return count;
}

/* The shift nearest to 0 that the evidence allows; sorts it. */
static int64_t nearest_shift(struct times *launches, struct times *waits) {
  lumos_sort_times(launches->items, launches->count);
  lumos_sort_times(waits->items, waits->count);
  int64_t least = launches->count == 0 ? INT64_MIN : launches->items[launches->count - 1 - launches->count / 100];
  int64_t greatest = waits->count == 0 ? INT64_MAX : waits->items[waits->count / 100];
  if (least > 0 || least > greatest) {
    return least > 0 ? least : 0;
  }
  return greatest < 0 ? greatest : 0;
}

int64_t lumos_graph_device_offset(const struct lumos_rank_graph *graph) {
  struct times launches = {0}, waits = {0};
  gather_shifts(graph, &launches, &waits);
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    if (lane->kind == LUMOS_THREAD) {
      gather_copies(graph, lane, &waits);
    }
  }
  bool allowed =
      count_above(&launches, 0) <= launches.count / 100 && waits.count - count_above(&waits, -1) <= waits.count / 100;
  int64_t shift = allowed ? 0 : nearest_shift(&launches, &waits);
  lumos_vector_free(&launches);
  lumos_vector_free(&waits);
  return lumos_graph_bounded(shift);
}

/* The end of a rank's kernel against that of a rank whose clock is settled. */
struct difference {
  uint32_t rank, against;
  int64_t ahead; /* what to add to the rank's times */
};
LUMOS_VECTOR_TYPE(differences, struct difference);

static int compare_differences(const void *left, const void *right) {
  const struct difference *a = left, *b = right;
  if (a->rank != b->rank) {
    return a->rank < b->rank ? -1 : 1;
  }
  if (a->ahead != b->ahead) {
    return a->ahead < b->ahead ? -1 : 1;
  }
  return (a->against > b->against) - (a->against < b->against);
}

/* Compare every unsettled member of a collective with its lowest settled one. */
static void compare_members(const struct lumos_job *job, const uint32_t *members, uint32_t count, const bool *settled,
                            struct differences *differences) {
  uint32_t reference = LUMOS_NONE;
  for (uint32_t i = 0; reference == LUMOS_NONE && i < count; i++) {
    if (settled[lumos_rank_of(job, &job->tasks.items[members[i]])]) {
      reference = members[i];
    }
  }
  if (reference == LUMOS_NONE) {
    return;
  }
  uint32_t against = lumos_rank_of(job, &job->tasks.items[reference]);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t rank = lumos_rank_of(job, &job->tasks.items[members[i]]);
    if (settled[rank]) {
      continue;
    }
    struct difference difference = {rank, against,
                                    lumos_graph_job_end(job, reference) - lumos_graph_job_end(job, members[i])};
    lumos_vector_push(differences, difference);
  }
}

/* The median of sorted values without outliers, and the 95th percentile of the distances that remain. An outlier lies
 * further from the median than 4.5 times the median distance (three standard deviations) and a microsecond of
 * rounding. */
static int64_t robust_median(int64_t *values, size_t count, int64_t *error) {
  int64_t *distances = lumos_allocate(count * sizeof *distances);
  for (;;) {
    int64_t median = lumos_percentile(values, count, 50);
    for (size_t i = 0; i < count; i++) {
      distances[i] = llabs(values[i] - median);
    }
    lumos_sort_times(distances, count);
    int64_t typical = lumos_percentile(distances, count, 50), limit = 4 * typical + typical / 2 + 1000;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
      if (llabs(values[i] - median) <= limit) {
        values[kept++] = values[i];
      }
    }
    if (kept == count) {
      *error = lumos_percentile(distances, count, 95);
      free(distances);
      return median;
    }
    count = kept;
  }
}

/* Settle the rank of differences [first, end), all of one rank and ascending. */
static void settle_rank(struct lumos_job *job, const struct difference *differences, size_t count, bool *settled) {
  int64_t *values = lumos_allocate(count * sizeof *values), farthest = 0;
  for (size_t i = 0; i < count; i++) {
    struct lumos_clock *against = &job->ranks.items[differences[i].against].clock;
    values[i] = differences[i].ahead;
    against->from_collectives = true;
    if (against->error == LUMOS_ABSENT) {
      against->error = 0; /* the lowest rank is what the others are compared with */
    }
    if (against->error > farthest) {
      farthest = against->error;
    }
  }
  struct lumos_clock *clock = &job->ranks.items[differences[0].rank].clock;
  int64_t error;
  clock->offset = lumos_graph_bounded(robust_median(values, count, &error));
  clock->error = lumos_graph_bounded(error + farthest);
  clock->from_collectives = true;
  settled[differences[0].rank] = true;
  free(values);
}

/* Settle every rank that shares a collective with a settled one; false when there is none. */
static bool settle_neighbours(struct lumos_job *job, const struct lumos_matches *matches, bool *settled) {
  struct differences differences = {0};
  for (size_t i = 0; i < matches->items.count; i++) {
    const struct lumos_match *match = &matches->items.items[i];
    if (match->rule != LUMOS_SYMMETRIC) {
      continue;
    }
    compare_members(job, matches->members.items + match->member_first, match->member_count, settled, &differences);
  }
  if (differences.count > 0) {
    qsort(differences.items, differences.count, sizeof *differences.items, compare_differences);
  }
  bool any = differences.count > 0;
  for (size_t first = 0, end; first < differences.count; first = end) {
    for (end = first + 1; end < differences.count && differences.items[end].rank == differences.items[first].rank;) {
      end++;
    }
    settle_rank(job, differences.items + first, end - first, settled);
  }
  lumos_vector_free(&differences);
  return any;
}

void lumos_graph_rank_clocks(struct lumos_job *job, const struct lumos_matches *matches) {
  bool *settled = lumos_allocate_zeroed(job->ranks.count, sizeof *settled);
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    if (settled[rank]) {
      continue;
    }
    settled[rank] = true;
    while (settle_neighbours(job, matches, settled)) {
    }
  }
  free(settled);
}
