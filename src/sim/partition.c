/* Where a step went: one sweep over the instants at which anything starts or ends on a rank's streams.
 *
 * Between two such instants the same work runs, so the whole stretch falls to one part. In communication, one that
 * transfers decides; then one that cannot be split; only where all that runs is waiting it is waiting. A member of a
 * coupled collective waits until the latest of those that it waits for has started, and transfers from then on; a
 * batched kernel transfers before that, too, while one of its other transfers takes place. It is split only where the
 * clocks of all members are known to agree.
 */
#include "sim/clock.h"
#include "sim/coupling.h"
#include <lumos/sim.h>
#include <stdlib.h>

enum activity { COMPUTE, COPY, TRANSFER, WAIT, UNALIGNED, KEPT, ACTIVITIES };

struct point {
  int64_t time;
  int8_t change;
  uint8_t activity;
};

/* When a collective's transfer starts, on the timeline that is looked at. */
struct transfer_start {
  int64_t latest;
  bool comparable; /* the members' clocks agree */
};

struct sweep {
  const struct lumos_job *job;
  const struct lumos_run *runs;
  struct lumos_coupling coupling;
  struct transfer_start *transfers; /* by collective */
  LUMOS_VECTOR(struct point) points;
  int64_t running[ACTIVITIES]; /* how many tasks of each activity run */
};

static bool aligned(const struct lumos_job *job, uint32_t rank, uint32_t other) {
  const struct lumos_rank *ranks = job->ranks.items;
  return rank == other || (ranks[rank].clock.known && ranks[rank].clock.from_collectives && ranks[other].clock.known &&
                           ranks[other].clock.from_collectives);
}

static void find_transfers(struct sweep *sweep) {
  const struct lumos_job *job = sweep->job;
  sweep->transfers = lumos_allocate(job->collectives.count * sizeof *sweep->transfers);
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    const uint32_t *members = job->members.items + collective->member_first;
    struct transfer_start found = {.latest = LUMOS_ABSENT, .comparable = true};
    for (uint32_t m = 0; m < collective->member_count; m++) {
      int64_t start = 0;
      int64_t end = 0;
      bool known = lumos_task_interval(job, sweep->runs, members[m], &start, &end);
      found.comparable = found.comparable && known &&
                         aligned(job, lumos_rank_of(job, &job->tasks.items[members[m]]),
                                 lumos_rank_of(job, &job->tasks.items[members[0]]));
      if (known && start > found.latest && lumos_member_awaited(job, collective, members[m])) {
        found.latest = start;
      }
    }
    sweep->transfers[i] = found;
  }
}

static void add_interval(struct sweep *sweep, enum activity activity, int64_t start, int64_t end) {
  if (start < end) {
    struct point begins = {start, 1, (uint8_t)activity};
    struct point ends = {end, -1, (uint8_t)activity};
    lumos_vector_push(&sweep->points, begins);
    lumos_vector_push(&sweep->points, ends);
  }
}

static void add_communication(struct sweep *sweep, uint32_t t, int64_t start, int64_t end) {
  const struct lumos_job *job = sweep->job;
  const struct lumos_coupling *coupling = &sweep->coupling;
  if (coupling->first[t] == coupling->first[t + 1]) {
    bool alone = job->ranks.items[lumos_rank_of(job, &job->tasks.items[t])].world == 1;
    add_interval(sweep, alone ? UNALIGNED : KEPT, start, end);
    return;
  }
  bool comparable = true;
  int64_t transfer = start; /* of one that waits for nobody, such as the root of a broadcast */
  for (uint32_t i = coupling->first[t]; i < coupling->first[t + 1]; i++) {
    const struct transfer_start *found = &sweep->transfers[coupling->of[i]];
    comparable = comparable && found->comparable;
    if (lumos_member_waits(job, &job->collectives.items[coupling->of[i]], t)) {
      transfer = found->latest > transfer ? found->latest : transfer;
    }
  }
  if (!comparable) {
    add_interval(sweep, UNALIGNED, start, end);
    return;
  }
  transfer = transfer < end ? transfer : end;
  for (uint32_t i = coupling->first[t]; i < coupling->first[t + 1]; i++) { /* of a batch, those before its last one */
    int64_t begun = sweep->transfers[coupling->of[i]].latest;
    int64_t over = lumos_time_sum(begun, job->collectives.items[coupling->of[i]].transfer);
    if (begun < transfer) {
      add_interval(sweep, TRANSFER, begun > start ? begun : start, over < transfer ? over : transfer);
    }
  }
  add_interval(sweep, WAIT, start, transfer);
  add_interval(sweep, TRANSFER, transfer, end);
}

static int by_time(const void *left_item, const void *right_item) {
  const struct point *left = left_item;
  const struct point *right = right_item;
  return left->time < right->time ? -1 : left->time > right->time;
}

static void collect_points(struct sweep *sweep, const struct lumos_rank *rank) {
  sweep->points.count = 0;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &sweep->job->tasks.items[t];
    int64_t start = 0;
    int64_t end = 0;
    if (!lumos_on_stream(sweep->job, task) || !lumos_task_interval(sweep->job, sweep->runs, t, &start, &end)) {
      continue;
    }
    if (lumos_is_communication(task->kind)) {
      add_communication(sweep, t, start, end);
    } else {
      add_interval(sweep, lumos_is_copy(task->kind) ? COPY : COMPUTE, start, end);
    }
  }
  if (sweep->points.count > 0) {
    qsort(sweep->points.items, sweep->points.count, sizeof *sweep->points.items, by_time);
  }
}

/* A stretch of `length` in which the same work runs. */
static void add_stretch(struct lumos_partition *partition, const int64_t running[ACTIVITIES], int64_t length) {
  bool unsplit = running[UNALIGNED] + running[KEPT] > 0;
  bool communicates = running[TRANSFER] + running[WAIT] > 0 || unsplit;
  bool computes = running[COMPUTE] > 0;
  bool copies = running[COPY] > 0;
  partition->gpu_busy += computes || communicates || copies ? length : 0;
  partition->communication_kept += running[KEPT] > 0 ? length : 0;
  if (computes && communicates) {
    partition->overlapped += length;
  } else if (computes) {
    partition->exposed_compute += length;
  } else if (communicates) {
    partition->exposed_communication += length;
    if (running[TRANSFER] > 0) {
      partition->communication_transfer += length;
    } else if (unsplit) {
      partition->communication_unsplit += length;
    } else {
      partition->communication_wait += length;
    }
  } else if (copies) {
    partition->exposed_copy += length;
  } else {
    partition->idle += length;
  }
}

static bool adds_up(const struct lumos_partition *parts, int64_t length) {
  int64_t busy = parts->exposed_compute + parts->overlapped + parts->exposed_communication + parts->exposed_copy;
  int64_t split = parts->communication_transfer + parts->communication_wait + parts->communication_unsplit;
  return busy + parts->idle == length && busy == parts->gpu_busy && split == parts->exposed_communication;
}

/* One rank's steps, in order and apart from each other; `place` goes through the points once for all of them. */
static size_t sweep_step(struct sweep *sweep, size_t place, const struct lumos_step *step,
                         struct lumos_partition *partition) {
  *partition = (struct lumos_partition){0};
  const struct point *points = sweep->points.items;
  size_t count = sweep->points.count;
  for (int64_t now = step->start;;) {
    for (; place < count && points[place].time <= now; place++) {
      sweep->running[points[place].activity] += points[place].change;
    }
    if (now >= step->end) {
      return place;
    }
    int64_t next = place < count && points[place].time < step->end ? points[place].time : step->end;
    add_stretch(partition, sweep->running, next - now);
    now = next;
  }
}

static bool sweep_rank(struct sweep *sweep, const struct lumos_step *steps, size_t count,
                       struct lumos_partition *partitions, struct lumos_error *error) {
  const struct lumos_rank *rank = &sweep->job->ranks.items[steps[0].rank];
  collect_points(sweep, rank);
  for (int activity = 0; activity < ACTIVITIES; activity++) {
    sweep->running[activity] = 0;
  }
  size_t place = 0;
  for (size_t i = 0; i < count; i++) {
    place = sweep_step(sweep, place, &steps[i], &partitions[i]);
    if (!adds_up(&partitions[i], steps[i].end - steps[i].start)) {
      return lumos_fail(error, "internal: rank %d, step %d: the parts of the step do not add up; please report this",
                        rank->rank, steps[i].step);
    }
  }
  return true;
}

bool lumos_partition_steps(const struct lumos_job *job, const struct lumos_run *runs,
                           const struct lumos_steps_list *steps, struct lumos_partition *partitions,
                           struct lumos_error *error) {
  struct sweep sweep = {.job = job, .runs = runs};
  lumos_coupling_make(&sweep.coupling, job);
  find_transfers(&sweep);
  bool done = true;
  for (size_t first = 0; done && first < steps->count;) {
    size_t count = 1;
    while (first + count < steps->count && steps->items[first + count].rank == steps->items[first].rank) {
      count++;
    }
    done = sweep_rank(&sweep, &steps->items[first], count, &partitions[first], error);
    first += count;
  }
  lumos_coupling_free(&sweep.coupling);
  free(sweep.transfers);
  lumos_vector_free(&sweep.points);
  return done;
}
