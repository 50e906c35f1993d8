/* Where a step went: one sweep over the instants at which anything starts or ends on a rank's streams.
 *
 * Between two such instants the same work runs, so the whole stretch falls to one part. In communication, one that
 * transfers decides; then one that cannot be split; only where all that runs is waiting it is waiting, and where all
 * of that is for another stage of the pipeline, bubble. A member of a
 * coupled collective waits until the latest of those that it waits for has started, and transfers from then on; a
 * batched kernel transfers before that, too, while one of its other transfers takes place. It is split only where the
 * clocks of all members are known to agree. Where nothing runs the rank is idle, or what it waits for is not recorded
 * (unrecorded.c).
 */
#include "base/moments.h"
#include "program/reach.h"
#include "sim/arrival.h"
#include "sim/clock.h"
#include "sim/metrics.h"
#include <stdlib.h>

enum activity { COMPUTE, COPY, TRANSFER, WAIT, BUBBLE, UNALIGNED, KEPT, UNRECORDED, ACTIVITIES };

/* When a collective's transfer starts, on the timeline that is looked at. */
struct transfer_start {
  struct lumos_arrival arrival;
  bool crosses; /* stages of the pipeline */
};

struct sweep {
  const struct lumos_job *job;
  const struct lumos_run *runs;
  const struct lumos_coupling *coupling;
  struct transfer_start *transfers; /* by collective */
  struct lumos_moments moments;     /* what: the activity */
  struct lumos_unrecorded *unrecorded;
  int64_t running[ACTIVITIES]; /* how many tasks of each activity run */
};

static void find_transfers(struct sweep *sweep) {
  const struct lumos_job *job = sweep->job;
  struct lumos_reaches reaches;
  lumos_reaches_read(job, &reaches);
  sweep->transfers = lumos_allocate(job->collectives.count * sizeof *sweep->transfers);
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    sweep->transfers[i] = (struct transfer_start){lumos_arrival_of(job, sweep->runs, collective),
                                                  lumos_crosses_stages(job, &reaches, collective)};
  }
  lumos_reaches_free(&reaches);
}

static void add_communication(struct sweep *sweep, uint32_t t, int64_t start, int64_t end) {
  const struct lumos_job *job = sweep->job;
  const struct lumos_coupling *coupling = sweep->coupling;
  if (coupling->first[t] == coupling->first[t + 1]) {
    bool alone = job->ranks.items[lumos_rank_of(job, &job->tasks.items[t])].world == 1;
    lumos_moments_add(&sweep->moments, alone ? UNALIGNED : KEPT, start, end);
    return;
  }
  bool comparable = true;
  bool crosses = false;
  int64_t transfer = start; /* of one that waits for nobody, such as the root of a broadcast */
  for (uint32_t i = coupling->first[t]; i < coupling->first[t + 1]; i++) {
    const struct transfer_start *found = &sweep->transfers[coupling->of[i]];
    comparable = comparable && found->arrival.comparable;
    crosses = crosses || found->crosses;
    if (lumos_member_waits(job, &job->collectives.items[coupling->of[i]], t)) {
      transfer = found->arrival.latest > transfer ? found->arrival.latest : transfer;
    }
  }
  if (!comparable) {
    lumos_moments_add(&sweep->moments, UNALIGNED, start, end);
    return;
  }
  transfer = transfer < end ? transfer : end;
  for (uint32_t i = coupling->first[t]; i < coupling->first[t + 1]; i++) { /* of a batch, those before its last one */
    int64_t begun = sweep->transfers[coupling->of[i]].arrival.latest;
    int64_t over = lumos_time_sum(begun, job->collectives.items[coupling->of[i]].transfer);
    if (begun < transfer) {
      lumos_moments_add(&sweep->moments, TRANSFER, begun > start ? begun : start, over < transfer ? over : transfer);
    }
  }
  lumos_moments_add(&sweep->moments, crosses ? BUBBLE : WAIT, start, transfer);
  lumos_moments_add(&sweep->moments, TRANSFER, transfer, end);
}

static void collect_lane(struct sweep *sweep, const struct lumos_lane *lane) {
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &sweep->job->tasks.items[t];
    int64_t start = 0;
    int64_t end = 0;
    if (!lumos_task_interval(sweep->job, sweep->runs, t, &start, &end)) {
      continue;
    }
    if (lumos_is_communication(task->kind)) {
      add_communication(sweep, t, start, end);
    } else {
      lumos_moments_add(&sweep->moments, lumos_is_copy(task->kind) ? COPY : COMPUTE, start, end);
    }
  }
}

static void collect_rank(struct sweep *sweep, const struct lumos_rank *rank) {
  sweep->moments.list.count = 0;
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    if (sweep->job->lanes.items[l].kind == LUMOS_STREAM) {
      collect_lane(sweep, &sweep->job->lanes.items[l]);
    }
  }
  lumos_moments_sort(&sweep->moments);
}

/* The rank's rests in [from, until). */
static void add_unrecorded(struct sweep *sweep, uint32_t rank, int64_t from, int64_t until) {
  const struct lumos_unrecorded_intervals *found = lumos_unrecorded_found(sweep->unrecorded);
  size_t first = found->count;
  int64_t free_from = from, running = 0;
  lumos_unrecorded_begin(sweep->unrecorded, rank);
  for (size_t i = 0; i < sweep->moments.list.count && sweep->moments.list.items[i].time < until; i++) {
    const struct lumos_moment *moment = &sweep->moments.list.items[i];
    if (running == 0 && moment->time > free_from) {
      lumos_unrecorded_find(sweep->unrecorded, free_from, moment->time);
    }
    running += moment->change;
    free_from = moment->time > from ? moment->time : from;
  }
  if (running == 0 && free_from < until) {
    lumos_unrecorded_find(sweep->unrecorded, free_from, until);
  }
  for (size_t i = first; i < found->count; i++) {
    lumos_moments_add(&sweep->moments, UNRECORDED, found->items[i].from, found->items[i].to);
  }
  if (found->count > first) {
    lumos_moments_sort(&sweep->moments);
  }
}

/* A stretch of `length` in which the same work runs. */
static void add_stretch(struct lumos_partition *partition, const int64_t running[ACTIVITIES], int64_t length) {
  bool unsplit = running[UNALIGNED] + running[KEPT] > 0;
  bool communicates = running[TRANSFER] + running[WAIT] + running[BUBBLE] > 0 || unsplit;
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
    } else if (running[WAIT] > 0) {
      partition->communication_wait += length;
    } else {
      partition->pipeline_bubble += length;
    }
  } else if (copies) {
    partition->exposed_copy += length;
  } else if (running[UNRECORDED] > 0) {
    partition->not_recorded += length;
  } else {
    partition->idle += length;
  }
}

/* One rank's steps, in order and apart from each other; `place` goes through the moments once for all of them. */
static size_t sweep_step(struct sweep *sweep, size_t place, const struct lumos_step *step,
                         struct lumos_partition *partition) {
  *partition = (struct lumos_partition){0};
  const struct lumos_moment *moments = sweep->moments.list.items;
  size_t count = sweep->moments.list.count;
  for (int64_t now = step->start;;) {
    for (; place < count && moments[place].time <= now; place++) {
      sweep->running[moments[place].what] += moments[place].change;
    }
    if (now >= step->end) {
      return place;
    }
    int64_t next = place < count && moments[place].time < step->end ? moments[place].time : step->end;
    add_stretch(partition, sweep->running, next - now);
    now = next;
  }
}

static void sweep_rank(struct sweep *sweep, const struct lumos_step *steps, size_t count,
                       struct lumos_partition *partitions) {
  for (int activity = 0; activity < ACTIVITIES; activity++) {
    sweep->running[activity] = 0;
  }
  size_t place = 0;
  for (size_t i = 0; i < count; i++) {
    place = sweep_step(sweep, place, &steps[i], &partitions[i]);
  }
}

static int64_t first_start(const struct lumos_steps_parts *lists, size_t list_count, size_t first) {
  int64_t start = INT64_MAX;
  for (size_t i = 0; i < list_count; i++) {
    start = lists[i].steps->items[first].start < start ? lists[i].steps->items[first].start : start;
  }
  return start;
}

static int64_t last_end(const struct lumos_steps_parts *lists, size_t list_count, size_t last) {
  int64_t end = INT64_MIN;
  for (size_t i = 0; i < list_count; i++) {
    end = lists[i].steps->items[last].end > end ? lists[i].steps->items[last].end : end;
  }
  return end;
}

void lumos_partition_lists(const struct lumos_job *job, const struct lumos_run *runs,
                           const struct lumos_coupling *coupling, const struct lumos_steps_parts *lists,
                           size_t list_count, struct lumos_unrecorded *unrecorded) {
  struct sweep sweep = {.job = job, .runs = runs, .coupling = coupling, .unrecorded = unrecorded};
  const struct lumos_steps_list *steps = lists[0].steps;
  find_transfers(&sweep);
  if (unrecorded != NULL) {
    lumos_unrecorded_on(unrecorded, runs);
  }
  for (size_t first = 0, count = 0; first < steps->count; first += count) {
    for (count = 1; first + count < steps->count && steps->items[first + count].rank == steps->items[first].rank;) {
      count++;
    }
    collect_rank(&sweep, &job->ranks.items[steps->items[first].rank]);
    if (unrecorded != NULL) {
      add_unrecorded(&sweep, steps->items[first].rank, first_start(lists, list_count, first),
                     last_end(lists, list_count, first + count - 1));
    }
    for (size_t i = 0; i < list_count; i++) {
      sweep_rank(&sweep, &lists[i].steps->items[first], count, &lists[i].partitions[first]);
    }
  }
  free(sweep.transfers);
  lumos_moments_free(&sweep.moments);
}

void lumos_partition_steps(const struct lumos_job *job, const struct lumos_run *runs,
                           const struct lumos_steps_list *steps, struct lumos_partition *partitions) {
  struct lumos_coupling coupling;
  lumos_coupling_make(&coupling, job);
  const struct lumos_steps_parts list = {steps, partitions};
  struct lumos_unrecorded *unrecorded = lumos_unrecorded_open(job);
  lumos_partition_lists(job, runs, &coupling, &list, 1, unrecorded);
  lumos_unrecorded_close(unrecorded);
  lumos_coupling_free(&coupling);
}
