/* Property: the sweep agrees with asking every nanosecond, and its parts add up.
 *
 * Random jobs of two ranks with a few streams, tasks of all kinds that may overlap, joined collectives, and steps that
 * cut through them.
 */
#include "unit/unit.h"

#include <lumos/sim.h>

enum { TRIALS = 2000, LENGTH = 120, STREAMS = 3, TASKS = 7, STEPS = 3 };

static uint64_t random_state;

static int64_t pick(int64_t bound) { /* 0 .. bound - 1; xorshift */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (int64_t)(random_state >> 11) % bound;
}

static void add_stream(struct lumos_job *job, uint32_t rank) {
  static const uint8_t kinds[] = {LUMOS_GEMM,   LUMOS_NORM,       LUMOS_OTHER_DEVICE, LUMOS_COPY,
                                  LUMOS_MEMSET, LUMOS_COLLECTIVE, LUMOS_COLLECTIVE,   LUMOS_P2P};
  struct lumos_lane lane = lumos_lane_empty;
  lane.rank = rank;
  lane.kind = LUMOS_STREAM;
  lane.task_first = (uint32_t)job->tasks.count;
  lane.task_count = (uint32_t)pick(TASKS);
  for (uint32_t i = 0; i < lane.task_count; i++) {
    struct lumos_task task = lumos_task_empty;
    task.lane = (uint32_t)job->lanes.count;
    task.kind = kinds[pick(sizeof kinds)];
    task.start = pick(LENGTH) - 10;
    task.dur = pick(30);
    task.step = 0;
    lumos_vector_push(&job->tasks, task);
  }
  lumos_vector_push(&job->lanes, lane);
}

static struct lumos_job *random_job(void) {
  struct lumos_job *job = lumos_job_new();
  for (uint32_t r = 0; r < 2; r++) {
    struct lumos_rank rank = lumos_rank_empty;
    rank.rank = (int32_t)r;
    rank.clock = (struct lumos_clock){.known = true, .from_collectives = pick(4) > 0, .error = LUMOS_ABSENT};
    rank.lane_first = (uint32_t)job->lanes.count;
    rank.lane_count = STREAMS;
    rank.task_first = (uint32_t)job->tasks.count;
    for (int s = 0; s < STREAMS; s++) {
      add_stream(job, r);
    }
    rank.task_count = (uint32_t)job->tasks.count - rank.task_first;
    lumos_vector_push(&job->ranks, rank);
  }
  for (uint32_t i = 0; i < 3 * job->ranks.items[0].task_count;
       i++) { /* join some with communication kernels of rank 1 */
    uint32_t t = i / 3;
    uint32_t other = job->ranks.items[1].task_first + (uint32_t)pick(TASKS);
    bool communicates = lumos_is_communication(job->tasks.items[t].kind) && other < job->tasks.count &&
                        lumos_is_communication(job->tasks.items[other].kind);
    if (communicates && pick(2) == 0) {
      struct lumos_collective collective = lumos_collective_empty;
      collective.rule = LUMOS_BATCHED;
      collective.transfer = pick(3) == 0 ? LUMOS_ABSENT : pick(20);
      collective.member_first = (uint32_t)job->members.count;
      collective.member_count = 2;
      lumos_vector_push(&job->members, t);
      lumos_vector_push(&job->members, other);
      lumos_vector_push(&job->collectives, collective);
    }
  }
  return job;
}

enum split { UNSPLIT, WAITS, TRANSFERS };

/* What a running communication task does at an instant, from the definition. */
static enum split split_at(const struct lumos_job *job, uint32_t t, int64_t now, bool *tied) {
  int64_t last = INT64_MIN; /* of all its collectives */
  bool moves = false;
  *tied = false;
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    const uint32_t *members = &job->members.items[collective->member_first];
    if (collective->transfer != LUMOS_ABSENT && (members[0] == t || members[1] == t)) {
      *tied = true;
      int64_t first = job->tasks.items[members[0]].start, second = job->tasks.items[members[1]].start;
      int64_t begin = first > second ? first : second;
      moves = moves || (now >= begin && now < begin + collective->transfer);
      last = begin > last ? begin : last;
    }
  }
  bool compared = job->ranks.items[0].clock.from_collectives && job->ranks.items[1].clock.from_collectives;
  if (!*tied || !compared) {
    return UNSPLIT;
  }
  return now < last && !moves ? WAITS : TRANSFERS;
}

static struct lumos_partition ask_every_instant(const struct lumos_job *job, const struct lumos_step *step) {
  struct lumos_partition parts = {0};
  const struct lumos_rank *rank = &job->ranks.items[step->rank];
  int64_t last = INT64_MIN;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    int64_t end = job->tasks.items[t].start + job->tasks.items[t].dur;
    last = end > last ? end : last;
  }
  for (int64_t now = step->start; now < step->end; now++) {
    bool computes = false, copies = false, kept = false, does[3] = {false, false, false};
    for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
      const struct lumos_task *task = &job->tasks.items[t];
      if (now < task->start || now >= task->start + task->dur) {
        continue;
      }
      if (lumos_is_communication(task->kind)) {
        bool tied = false;
        does[split_at(job, t, now, &tied)] = true;
        kept = kept || !tied;
      } else if (lumos_is_copy(task->kind)) {
        copies = true;
      } else {
        computes = true;
      }
    }
    bool communicates = does[UNSPLIT] || does[WAITS] || does[TRANSFERS];
    parts.overlapped += computes && communicates;
    parts.exposed_compute += computes && !communicates;
    parts.exposed_communication += !computes && communicates;
    parts.communication_transfer += !computes && does[TRANSFERS];
    parts.communication_unsplit += !computes && !does[TRANSFERS] && does[UNSPLIT];
    parts.communication_wait += !computes && !does[TRANSFERS] && !does[UNSPLIT] && does[WAITS];
    parts.exposed_copy += !computes && !communicates && copies;
    parts.idle += !computes && !communicates && !copies && now < last;
    parts.not_recorded += !computes && !communicates && !copies && now >= last;
    parts.gpu_busy += computes || communicates || copies;
    parts.communication_kept += kept;
  }
  return parts;
}

static void the_sweep_agrees_with_every_instant(void **state) {
  (void)state;
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    random_state = trial * UINT64_C(0x9E3779B97F4A7C15);
    struct lumos_job *job = random_job();
    struct lumos_steps_list steps = {0};
    for (uint32_t r = 0; r < 2; r++) {
      int64_t start = pick(20) - 20;
      for (int32_t k = 0; k < STEPS; k++) {
        struct lumos_step step = {r, k, start, start + pick(LENGTH / 2)};
        start = step.end + (pick(3) == 0 ? pick(5) : 0);
        lumos_vector_push(&steps, step);
      }
    }
    struct lumos_partition parts[2 * STEPS];
    lumos_partition_steps(job, NULL, &steps, parts);
    for (size_t i = 0; i < steps.count; i++) {
      struct lumos_partition expected = ask_every_instant(job, &steps.items[i]);
      if (memcmp(&parts[i], &expected, sizeof expected) != 0) {
        fail_msg("trial %d, step %d of rank %d differs", (int)trial, steps.items[i].step, (int)steps.items[i].rank);
      }
      assert_int_equal(parts[i].exposed_compute + parts[i].overlapped + parts[i].exposed_communication +
                           parts[i].exposed_copy + parts[i].not_recorded + parts[i].idle,
                       steps.items[i].end - steps.items[i].start);
    }
    lumos_vector_free(&steps);
    lumos_job_free(job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_sweep_agrees_with_every_instant)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
