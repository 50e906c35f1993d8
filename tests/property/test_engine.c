/* Property: a simulated timeline fulfils every rule to the letter, as a plain reading of include/lumos/stream.h says.
 *
 * The programs are those of random_job.h. The check knows no queue: it takes the timeline as given and asks, for every
 * task, what the rules make of all the others.
 */
#include "random_variant.h"
#include "unit/unit.h"

#include "job/remove.h"
#include "sim/engine.h"
#include <lumos/sim.h>
#include <lumos/stream.h>

enum { TRIALS = 500 };

/* --- The rules, asked one by one --- */

struct timeline {
  const struct lumos_job *job;
  const struct lumos_run *runs;
};

static int64_t later(int64_t left, int64_t right) { return left > right ? left : right; }
static const struct lumos_task *at(const struct timeline *line, uint32_t t) { return &line->job->tasks.items[t]; }
static const struct lumos_detail *detail_at(const struct timeline *line, uint32_t t) {
  return lumos_detail_of(line->job, at(line, t));
}
static int64_t start_of(const struct timeline *line, uint32_t t) { return line->runs[t].start; }
static int64_t end_of(const struct timeline *line, uint32_t t) { return line->runs[t].start + line->runs[t].dur; }

/* When a call takes effect: at its end, a blocking copy at its start. */
static int64_t effect_of(const struct timeline *line, uint32_t call) {
  return detail_at(line, call)->wait.on == LUMOS_WAIT_SELF ? start_of(line, call) : end_of(line, call);
}

/* Has a call taken effect when another one acts or looks at an instant? Within a thread, where a blocking copy may
 * start when a launch ends, the order of the calls decides. */
static bool took_effect(const struct timeline *line, uint32_t call, uint32_t other, int64_t instant) {
  int64_t effect = effect_of(line, call);
  bool one_thread = at(line, call)->lane == at(line, other)->lane;
  return effect < instant || (effect == instant && (!one_thread || call < other));
}
static bool acts_before(const struct timeline *line, uint32_t call, uint32_t other) {
  return took_effect(line, call, other, effect_of(line, other));
}

/* Does a come before b on their stream? Tasks of one call have the order of the stream. */
static bool enqueued_before(const struct timeline *line, uint32_t a, uint32_t b) {
  return at(line, a)->call == at(line, b)->call ? a < b : acts_before(line, at(line, a)->call, at(line, b)->call);
}

/* The last task of a stream that is enqueued when a call acts or looks at an instant. */
static uint32_t last_enqueued(const struct timeline *line, uint32_t lane, uint32_t call, int64_t instant) {
  uint32_t last = LUMOS_NONE;
  const struct lumos_lane *record = &line->job->lanes.items[lane];
  for (uint32_t t = record->task_first; t < record->task_first + record->task_count; t++) {
    if (took_effect(line, at(line, t)->call, call, instant) && (last == LUMOS_NONE || enqueued_before(line, last, t))) {
      last = t;
    }
  }
  return last;
}

/* The task before this one on its stream. */
static uint32_t previous_of(const struct timeline *line, uint32_t task) {
  uint32_t last = LUMOS_NONE;
  const struct lumos_lane *record = &line->job->lanes.items[at(line, task)->lane];
  for (uint32_t t = record->task_first; t < record->task_first + record->task_count; t++) {
    if (t != task && enqueued_before(line, t, task) && (last == LUMOS_NONE || enqueued_before(line, last, t))) {
      last = t;
    }
  }
  return last;
}

/* The latest record of an event before a call that waits for it; LUMOS_NONE: there is none. */
static uint32_t recorded(const struct timeline *line, lumos_string_id event, uint32_t wait) {
  uint32_t latest = LUMOS_NONE;
  const struct lumos_rank *rank = &line->job->ranks.items[lumos_rank_of(line->job, at(line, wait))];
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_detail *detail = detail_at(line, t);
    bool records = detail->event_op == LUMOS_EVENT_RECORD && detail->event_id == event && acts_before(line, t, wait);
    if (records && (latest == LUMOS_NONE || acts_before(line, latest, t))) {
      latest = t;
    }
  }
  return latest;
}

static int64_t awaited_end(const struct timeline *line, uint32_t call) {
  const struct lumos_wait *wait = &detail_at(line, call)->wait;
  uint32_t rank = lumos_rank_of(line->job, at(line, call));
  int64_t end = INT64_MIN;
  for (uint32_t lane = rank * LANES + THREADS; lane < (rank + 1) * LANES; lane++) {
    uint32_t last = last_enqueued(line, lane, call, start_of(line, call));
    if (last != LUMOS_NONE &&
        (wait->on == LUMOS_WAIT_DEVICE || (wait->on == LUMOS_WAIT_STREAM && wait->lane == lane))) {
      end = later(end, end_of(line, last));
    }
  }
  for (uint32_t t = 0; wait->on == LUMOS_WAIT_SELF && t < line->job->tasks.count; t++) {
    end = at(line, t)->call == call ? later(end, end_of(line, t)) : end;
  }
  return end;
}

/* The ends of what a stream waits for when a call acts, behind the last task before that: an event comes when the task
 * before its record is over, and what its stream waited for by then. */
static int64_t held_until(const struct timeline *line, uint32_t stream, uint32_t previous, uint32_t call) {
  int64_t until = INT64_MIN;
  const struct lumos_rank *rank = &line->job->ranks.items[lumos_rank_of(line->job, at(line, call))];
  for (uint32_t w = rank->task_first; w < rank->task_first + rank->task_count; w++) {
    const struct lumos_detail *detail = detail_at(line, w);
    bool waits = detail->event_op == LUMOS_EVENT_WAIT && detail->event_lane == stream;
    bool behind = previous == LUMOS_NONE || acts_before(line, at(line, previous)->call, w);
    uint32_t record = waits && behind && acts_before(line, w, call) ? recorded(line, detail->event_id, w) : LUMOS_NONE;
    if (record != LUMOS_NONE) {
      uint32_t on = detail_at(line, record)->event_lane;
      uint32_t last = last_enqueued(line, on, record, effect_of(line, record));
      until = last == LUMOS_NONE ? until : later(until, end_of(line, last));
      until = later(until, held_until(line, on, last, record));
    }
  }
  return until;
}

static int64_t device_start(const struct timeline *line, uint32_t t) {
  const struct lumos_task *task = at(line, t);
  const struct lumos_timing *timing = lumos_timing_of(line->job, t);
  int64_t from = timing->launch_from == LUMOS_START ? start_of(line, task->call) : end_of(line, task->call);
  int64_t start = from + timing->launch_lag;
  uint32_t previous = previous_of(line, t);
  if (previous != LUMOS_NONE) {
    start = later(start, later(end_of(line, previous) + task->lag, start_of(line, previous)) + timing->gap);
  }
  return later(start, held_until(line, task->lane, previous, task->call)) + timing->residual;
}

static int64_t device_end(const struct timeline *line, uint32_t t) {
  for (size_t c = 0; c < line->job->collectives.count; c++) {
    const uint32_t *members = &line->job->members.items[2 * c];
    if (members[0] == t || members[1] == t) {
      int64_t last = later(start_of(line, members[0]), start_of(line, members[1]));
      return last + line->job->collectives.items[c].transfer + lumos_timing_of(line->job, t)->end_residual;
    }
  }
  return start_of(line, t) + at(line, t)->dur;
}

static int64_t host_end(const struct timeline *line, uint32_t t) {
  const struct lumos_wait *wait = &detail_at(line, t)->wait;
  if (wait->residual == LUMOS_ABSENT) {
    return start_of(line, t) + at(line, t)->dur;
  }
  return later(start_of(line, t), awaited_end(line, t)) + wait->residual;
}

/* Effects of one instant have an order that this plain reading does not know. */
static bool has_ties(const struct timeline *line) {
  for (uint32_t t = 0; t < line->job->tasks.count; t++) {
    for (uint32_t u = 0; u < t; u++) {
      bool host = !lumos_on_stream(line->job, at(line, t)) && !lumos_on_stream(line->job, at(line, u));
      if (host && at(line, t)->lane != at(line, u)->lane && effect_of(line, t) == effect_of(line, u)) {
        return true;
      }
    }
  }
  return false;
}

static void check_task(const struct timeline *line, uint32_t t, uint64_t trial) {
  bool device = lumos_on_stream(line->job, at(line, t));
  bool first = t == line->job->lanes.items[at(line, t)->lane].task_first;
  int64_t begin = at(line, t)->start == LUMOS_ABSENT ? 0 : at(line, t)->start; /* with the window */
  int64_t start = device ? device_start(line, t) : first ? begin : end_of(line, t - 1) + at(line, t)->lag;
  int64_t end = device ? device_end(line, t) : host_end(line, t);
  if (start_of(line, t) != start || end_of(line, t) != end) {
    fail_msg("trial %d: task %d runs %lld-%lld, the rules say %lld-%lld", (int)trial, (int)t,
             (long long)start_of(line, t), (long long)end_of(line, t), (long long)start, (long long)end);
  }
}

/* Some kernels go, with their launches, and some of what threads do between; where the first task of a thread would,
 * which is held at its measured start, it stays. */
static uint8_t *some_tasks(struct lumos_job *job) {
  uint8_t *gone = lumos_allocate_zeroed(job->tasks.count, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool call = !lumos_on_stream(job, task) && launches(job, t); /* its kernels would come by themselves */
    gone[t] = !call && pick(4) == 0;
  }
  for (size_t c = 0; c < job->collectives.count; c++) {
    const uint32_t *members = &job->members.items[2 * c];
    gone[members[0]] = gone[members[1]] = gone[members[0]] || gone[members[1]];
  }
  lumos_job_take_along(job, gone);
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    bool thread = lane->kind == LUMOS_THREAD && lane->task_count > 0;
    gone[lane->task_first] &= !thread;
  }
  return gone;
}

static void remove_some(struct lumos_job *job) {
  uint8_t *gone = some_tasks(job);
  lumos_job_remove(job, gone);
  free(gone);
}

/* What is left of hand-overs, by hand: from the last task that stays at or before the source, to the first that stays
 * at or behind the task that goes on, both as they are numbered then. */
struct handovers {
  struct lumos_dep of[8];
  size_t count;
};

static uint32_t place_left(const uint8_t *gone, uint32_t task) {
  uint32_t place = 0;
  for (uint32_t t = 0; t < task; t++) {
    place += !gone[t];
  }
  return place;
}

static struct handovers handovers_left(const struct lumos_job *job, const uint8_t *gone) {
  struct handovers left = {.count = 0};
  for (size_t i = 0; i < job->deps.count; i++) {
    struct lumos_dep dep = job->deps.items[i];
    const struct lumos_lane *lane = &job->lanes.items[job->tasks.items[dep.dst].lane];
    uint32_t end = lane->task_first + lane->task_count;
    if (dep.kind != LUMOS_HANDOVER) {
      continue;
    }
    while (gone[dep.src]) { /* the first of a thread stays */
      dep.src--;
    }
    while (dep.dst < end && gone[dep.dst]) {
      dep.dst++;
    }
    if (dep.dst < end) { /* which comes after its own lag, as it did after what is gone */
      dep.lag += dep.dst > job->deps.items[i].dst ? lumos_own_times(job, dep.dst).lag : 0;
      dep.src = place_left(gone, dep.src);
      dep.dst = place_left(gone, dep.dst);
      left.of[left.count++] = dep;
    }
  }
  return left;
}

/* Nothing refers to what is gone, and nobody holds what nobody has. */
static void check_references(const struct lumos_job *job) {
  size_t details = 0, timings = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    assert_true(task->call == LUMOS_NONE || !lumos_on_stream(job, &job->tasks.items[task->call]));
    assert_true(task->detail == LUMOS_NONE || task->detail < job->details.count);
    assert_true(task->timing == LUMOS_NONE || task->timing < job->timings.count);
    details += task->detail != LUMOS_NONE;
    timings += task->timing != LUMOS_NONE;
  }
  assert_int_equal(details, job->details.count);
  assert_int_equal(timings, job->timings.count);
  assert_int_equal(job->members.count, 2 * job->collectives.count);
  for (size_t m = 0; m < job->members.count; m++) {
    assert_int_equal(job->tasks.items[job->members.items[m]].kind, LUMOS_COLLECTIVE);
  }
}

static void every_rule_is_kept(void **state) {
  (void)state;
  int checked = 0;
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    random_state = trial * UINT64_C(0x9E3779B97F4A7C15);
    struct lumos_job *job = random_job();
    struct lumos_error error = {0};
    if (trial % 2 == 0) {
      remove_some(job);
      check_references(job);
    }
    struct lumos_run *runs = malloc(job->tasks.count * sizeof *runs);
    if (!lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error)) {
      fail_msg("trial %d: %s", (int)trial, error.text);
    }
    struct timeline line = {job, runs};
    bool ties = has_ties(&line);
    checked += !ties;
    for (uint32_t t = 0; !ties && t < job->tasks.count; t++) {
      check_task(&line, t, trial);
    }
    free(runs);
    lumos_job_free(job);
  }
  assert_true(checked > TRIALS / 2);
}

/* With hand-overs and boundaries, too, which go over to what is left: a job that the checker takes and that ends. */
static void what_is_left_is_a_job(void **state) {
  (void)state;
  size_t removed = 0, handovers = 0;
  for (uint64_t trial = 1; trial <= TRIALS / 3; trial++) {
    random_state = trial * UINT64_C(0x9E3779B97F4A7C15);
    struct lumos_job *job = random_job();
    struct lumos_error error = {0};
    add_boundaries(job);
    add_handovers(job);
    complete(job);
    uint8_t *gone = some_tasks(job);
    size_t before = job->tasks.count, found = 0;
    const struct handovers expected = handovers_left(job, gone);
    lumos_job_remove(job, gone);
    free(gone);
    removed += before - job->tasks.count;
    struct lumos_run *runs = calloc(job->tasks.count, sizeof *runs);
    if (!lumos_job_check(job, &error) || !lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error)) {
      fail_msg("trial %d: %s", (int)trial, error.text);
    }
    for (size_t i = 0; i < job->deps.count; i++) {
      const struct lumos_dep *dep = &job->deps.items[i];
      if (dep->kind == LUMOS_HANDOVER) {
        assert_true(found < expected.count);
        assert_int_equal(dep->src, expected.of[found].src);
        assert_int_equal(dep->dst, expected.of[found].dst);
        assert_int_equal(dep->lag, expected.of[found].lag);
        found++;
        const struct lumos_run *from = &runs[dep->src], *to = &runs[dep->dst];
        int64_t of = dep->from == LUMOS_END ? from->start + from->dur : from->start;
        assert_true(to->start >= of + dep->lag);
      }
    }
    assert_int_equal(found, expected.count);
    handovers += found;
    free(runs);
    lumos_job_free(job);
  }
  assert_true(removed > TRIALS && handovers > TRIALS / 6);
}

static void assert_same_runs(const struct lumos_run *left, const struct lumos_run *right, size_t count,
                             uint64_t trial) {
  for (size_t t = 0; t < count; t++) {
    if (left[t].start != right[t].start || left[t].dur != right[t].dur) {
      fail_msg("trial %d: task %d runs once at %lld for %lld, once at %lld for %lld", (int)trial, (int)t,
               (long long)left[t].start, (long long)left[t].dur, (long long)right[t].start, (long long)right[t].dur);
    }
  }
}

static struct lumos_times twice_as_long(void *context, uint32_t task, struct lumos_times own) {
  (void)context;
  (void)task;
  return (struct lumos_times){2 * own.dur, own.lag};
}

/* An engine that has run forgets it, and whether somebody asks for what held the tasks changes nothing. */
static void runs_are_repeatable(void **state) {
  (void)state;
  int deadlocks = 0; /* are forgotten, too */
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    random_state = trial * UINT64_C(0x9E3779B97F4A7C15);
    struct lumos_job *job = random_job();
    size_t count = job->tasks.count;
    struct lumos_run *first = malloc(count * sizeof *first), *second = malloc(count * sizeof *second);
    const struct lumos_variant longer = {
        .typical_residuals = true, .times = twice_as_long, .threads = true, .streams = true};
    struct lumos_held bindings = {0};
    struct lumos_engine engine;
    struct lumos_error error = {0};
    lumos_engine_prepare(&engine, job, LUMOS_MODEL_LUMOS);
    assert_true(lumos_engine_do(&engine, &(struct lumos_engine_order){0}, first, &error));
    bool blocked = !lumos_engine_do(&engine, &(struct lumos_engine_order){.variant = &longer}, second, &error);
    deadlocks += blocked;
    assert_true(lumos_engine_do(&engine, &(struct lumos_engine_order){0}, second, &error));
    assert_same_runs(first, second, count, trial);
    assert_true(
        lumos_engine_do(&engine, &(struct lumos_engine_order){.notes = {.bindings = &bindings}}, second, &error));
    assert_same_runs(first, second, count, trial);
    lumos_engine_free(&engine);
    free(first);
    free(second);
    lumos_held_free(&bindings);
    lumos_job_free(job);
  }
  assert_in_range(deadlocks, 0, TRIALS / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_rule_is_kept), cmocka_unit_test(what_is_left_is_a_job),
                                     cmocka_unit_test(runs_are_repeatable)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
