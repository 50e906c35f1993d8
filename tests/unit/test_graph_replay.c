/* Real traces: from the fields that the graph has written every measured start, return and end follows exactly, here
 * and in the simulator.
 *
 * The walk below knows nothing of src/graph: it takes the calls of a rank in the order of their effects (stream.h,
 * "before"), keeps what each stream holds, and computes each start from the rules of DESIGN section 5 and the carried
 * residual.
 */
#include "unit/unit.h"

#include <lumos/graph.h>
#include <lumos/sim.h>
#include <lumos/stream.h>
#include <lumos/trace.h>

/* --- The walk --- */

enum { MOST_AWAITED = 64 };

struct awaited {
  uint32_t tasks[MOST_AWAITED], count;
};

struct moment {
  int64_t time, start;
  uint32_t task;
  bool looks; /* a host wait looks around, after all that takes effect at the same instant */
};

struct walk {
  const struct lumos_job *job;
  const struct lumos_rank *rank;
  uint32_t *last;           /* by lane: the last task enqueued */
  struct awaited *held;     /* by lane: what its stream waits for before the next task */
  uint32_t *before_record;  /* by task: what its record found on its stream, */
  struct awaited *passed;   /* and what this waited for by then, which the event waits for, too */
  int64_t *boundary;        /* by task */
  int64_t *inferred;        /* by task: until when inferred event edges and free SMs hold it; LUMOS_ABSENT: none does */
  uint32_t *handover;       /* by task: the edge by which another thread hands over to it */
  uint32_t *first_launched; /* by task: device tasks in the order of their lanes, linked by next_launched */
  uint32_t *next_launched;
};

static int64_t host_time(const struct walk *walk, int64_t t) { return t + walk->rank->clock.offset; }

static int64_t start_of(const struct walk *walk, uint32_t task) {
  const struct lumos_task *record = &walk->job->tasks.items[task];
  return host_time(walk, record->start) + (lumos_on_stream(walk->job, record) ? walk->rank->clock.device_offset : 0);
}

static int64_t end_of(const struct walk *walk, uint32_t task) {
  return start_of(walk, task) + walk->job->tasks.items[task].dur;
}

static const struct lumos_detail *detail_of(const struct walk *walk, uint32_t task) {
  return lumos_detail_of(walk->job, &walk->job->tasks.items[task]);
}

static int64_t max(int64_t left, int64_t right) { return left > right ? left : right; }

static int64_t stored_event_lag(const struct lumos_job *job, uint32_t src, uint32_t dst) {
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (dep->kind == LUMOS_DEP_EVENT && dep->src == src && dep->dst == dst) {
      return dep->lag;
    }
  }
  return 0;
}

static void await(struct awaited *awaited, uint32_t task) {
  uint32_t i = 0;
  while (i < awaited->count && awaited->tasks[i] != task) {
    i++;
  }
  assert_true(i < MOST_AWAITED);
  awaited->tasks[i] = task;
  awaited->count += i == awaited->count;
}

static void hold_stream(struct walk *walk, uint32_t wait) {
  const struct lumos_detail *detail = detail_of(walk, wait);
  if (detail->event_lane == LUMOS_NONE || detail->wait.record == LUMOS_NONE) {
    return;
  }
  uint32_t before = walk->before_record[detail->wait.record];
  const struct awaited *passed = &walk->passed[detail->wait.record];
  if (before != LUMOS_NONE) {
    await(&walk->held[detail->event_lane], before);
  }
  for (uint32_t i = 0; i < passed->count; i++) {
    await(&walk->held[detail->event_lane], passed->tasks[i]);
  }
}

/* Until when the stream holds its next task. */
static int64_t held_until(const struct walk *walk, uint32_t task) {
  const struct awaited *held = &walk->held[walk->job->tasks.items[task].lane];
  int64_t until = LUMOS_ABSENT;
  for (uint32_t i = 0; i < held->count; i++) {
    until = max(until, end_of(walk, held->tasks[i]) + stored_event_lag(walk->job, held->tasks[i], task));
  }
  return until;
}

/* What a device task was told to wait for, and its residual, give its start. */
static void enqueue(struct walk *walk, uint32_t task) {
  const struct lumos_job *job = walk->job;
  const struct lumos_task *record = &job->tasks.items[task];
  const struct lumos_timing *timing = lumos_timing_of(job, task);
  uint32_t previous = walk->last[record->lane];
  assert_int_equal(task, previous == LUMOS_NONE ? job->lanes.items[record->lane].task_first : previous + 1);
  int64_t start = max(walk->inferred[task], max(walk->boundary[task], held_until(walk, task)));
  if (previous != LUMOS_NONE) {
    start = max(start, end_of(walk, previous) + record->lag + timing->gap);
  }
  if (record->call != LUMOS_NONE) {
    uint32_t segment = detail_of(walk, record->call)->first_segment;
    int64_t from = timing->launch_from == LUMOS_START ? start_of(walk, segment == LUMOS_NONE ? record->call : segment)
                                                      : end_of(walk, record->call);
    start = max(start, from + timing->launch_lag);
  }
  assert_true(start != LUMOS_ABSENT);
  start += timing->residual == LUMOS_ABSENT ? 0 : timing->residual;
  assert_int_equal(start, start_of(walk, task));
  walk->last[record->lane] = task;
  walk->held[record->lane].count = 0;
}

/* The task, and behind it those whose launch the recording does not show. */
static void enqueue_with_followers(struct walk *walk, uint32_t task) {
  const struct lumos_lane *lane = &walk->job->lanes.items[walk->job->tasks.items[task].lane];
  enqueue(walk, task);
  while (++task < lane->task_first + lane->task_count && walk->job->tasks.items[task].call == LUMOS_NONE) {
    enqueue(walk, task);
  }
}

static void take_effect(struct walk *walk, uint32_t call) {
  const struct lumos_detail *detail = detail_of(walk, call);
  for (uint32_t task = walk->first_launched[call]; task != LUMOS_NONE; task = walk->next_launched[task]) {
    enqueue_with_followers(walk, task);
  }
  if (detail->event_op == LUMOS_EVENT_RECORD && detail->event_lane != LUMOS_NONE) {
    walk->before_record[call] = walk->last[detail->event_lane];
    walk->passed[call] = walk->held[detail->event_lane];
  } else if (detail->event_op == LUMOS_EVENT_WAIT) {
    hold_stream(walk, call);
  }
}

static int64_t awaited_end(const struct walk *walk, uint32_t call) {
  const struct lumos_wait *wait = &detail_of(walk, call)->wait;
  int64_t end = LUMOS_ABSENT;
  if (wait->on == LUMOS_WAIT_EVENT && walk->before_record[wait->record] != LUMOS_NONE) {
    end = end_of(walk, walk->before_record[wait->record]);
  }
  for (uint32_t task = walk->first_launched[call]; wait->on == LUMOS_WAIT_SELF && task != LUMOS_NONE;
       task = walk->next_launched[task]) {
    end = max(end, end_of(walk, task));
  }
  for (uint32_t lane = walk->rank->lane_first; lane < walk->rank->lane_first + walk->rank->lane_count; lane++) {
    bool awaited = wait->on == LUMOS_WAIT_DEVICE || (wait->on == LUMOS_WAIT_STREAM && wait->lane == lane);
    if (awaited && walk->last[lane] != LUMOS_NONE) {
      end = max(end, end_of(walk, walk->last[lane]));
    }
  }
  return end;
}

static void look(const struct walk *walk, uint32_t call) {
  int64_t residual = detail_of(walk, call)->wait.residual;
  assert_true(residual >= 0);
  assert_int_equal(max(start_of(walk, call), awaited_end(walk, call)) + residual, end_of(walk, call));
}

static int by_time(const void *left, const void *right) {
  const struct moment *a = left, *b = right;
  if (a->time != b->time) {
    return a->time < b->time ? -1 : 1;
  }
  if (a->looks != b->looks) {
    return a->looks ? 1 : -1;
  }
  if (a->start != b->start) {
    return a->start < b->start ? -1 : 1;
  }
  return (a->task > b->task) - (a->task < b->task);
}

/* The moments at which the calls of the rank act; device tasks are linked to their calls. */
static struct moment *find_moments(struct walk *walk, size_t *count) {
  const struct lumos_rank *rank = walk->rank;
  struct moment *moments = lumos_allocate(2 * (size_t)rank->task_count * sizeof *moments);
  *count = 0;
  for (uint32_t task = rank->task_first + rank->task_count; task-- > rank->task_first;) {
    uint32_t call = walk->job->tasks.items[task].call;
    if (call != LUMOS_NONE) {
      walk->next_launched[task] = walk->first_launched[call];
      walk->first_launched[call] = task;
    }
  }
  for (uint32_t task = rank->task_first; task < rank->task_first + rank->task_count; task++) {
    const struct lumos_detail *detail = detail_of(walk, task);
    bool self = detail->wait.on == LUMOS_WAIT_SELF;
    if (walk->first_launched[task] != LUMOS_NONE || detail->event_op != 0) {
      int64_t time = self ? start_of(walk, task) : end_of(walk, task);
      moments[(*count)++] = (struct moment){time, start_of(walk, task), task, false};
    }
    if (detail->wait.on != 0 && detail->event_op != LUMOS_EVENT_WAIT && detail->wait.residual != LUMOS_ABSENT) {
      moments[(*count)++] = (struct moment){start_of(walk, task), start_of(walk, task), task, true};
    }
  }
  qsort(moments, *count, sizeof *moments, by_time);
  return moments;
}

static void walk_threads(const struct walk *walk) {
  for (uint32_t i = walk->rank->lane_first; i < walk->rank->lane_first + walk->rank->lane_count; i++) {
    const struct lumos_lane *lane = &walk->job->lanes.items[i];
    for (uint32_t task = lane->task_first; lane->kind == LUMOS_THREAD && task < lane->task_first + lane->task_count;
         task++) {
      int64_t start =
          task == lane->task_first ? walk->boundary[task] : end_of(walk, task - 1) + walk->job->tasks.items[task].lag;
      if (walk->handover[task] != LUMOS_NONE) {
        const struct lumos_dep *dep = &walk->job->deps.items[walk->handover[task]];
        start = max(start - (task == lane->task_first ? 0 : dep->covers), end_of(walk, dep->src) + dep->lag);
      }
      assert_int_equal(start, start_of(walk, task));
    }
  }
}

static void walk_rank(struct walk *walk) {
  size_t count = 0;
  struct moment *moments = find_moments(walk, &count);
  walk_threads(walk);
  for (uint32_t i = walk->rank->lane_first; i < walk->rank->lane_first + walk->rank->lane_count; i++) {
    const struct lumos_lane *lane = &walk->job->lanes.items[i];
    if (lane->kind == LUMOS_STREAM && lane->task_count > 0 &&
        walk->job->tasks.items[lane->task_first].call == LUMOS_NONE) {
      enqueue_with_followers(walk, lane->task_first);
    }
  }
  for (size_t i = 0; i < count; i++) {
    if (moments[i].looks) {
      look(walk, moments[i].task);
    } else {
      take_effect(walk, moments[i].task);
    }
  }
  for (uint32_t i = walk->rank->lane_first; i < walk->rank->lane_first + walk->rank->lane_count; i++) {
    const struct lumos_lane *lane = &walk->job->lanes.items[i];
    if (lane->kind == LUMOS_STREAM && lane->task_count > 0) {
      assert_int_equal(walk->last[i], lane->task_first + lane->task_count - 1);
    }
  }
  free(moments);
}

static void walk_collectives(struct walk *walk) {
  const struct lumos_job *job = walk->job;
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    int64_t latest = LUMOS_ABSENT;
    for (uint32_t m = 0; m < collective->member_count; m++) {
      uint32_t member = job->members.items[collective->member_first + m];
      walk->rank = &job->ranks.items[lumos_rank_of(job, &job->tasks.items[member])];
      latest = max(latest, start_of(walk, member));
    }
    for (uint32_t m = 0; m < collective->member_count; m++) {
      uint32_t member = job->members.items[collective->member_first + m];
      walk->rank = &job->ranks.items[lumos_rank_of(job, &job->tasks.items[member])];
      assert_int_equal(latest + collective->transfer + lumos_timing_of(job, member)->end_residual,
                       end_of(walk, member));
    }
  }
}

static uint32_t *all_none(size_t count) {
  uint32_t *items = lumos_allocate(count * sizeof *items);
  for (size_t i = 0; i < count; i++) {
    items[i] = LUMOS_NONE;
  }
  return items;
}

static int64_t *all_absent(size_t count) {
  int64_t *items = lumos_allocate(count * sizeof *items);
  for (size_t i = 0; i < count; i++) {
    items[i] = LUMOS_ABSENT;
  }
  return items;
}

static void assert_replays(const struct lumos_job *job) {
  struct walk walk = {.job = job,
                      .last = all_none(job->lanes.count),
                      .held = lumos_allocate_zeroed(job->lanes.count, sizeof *walk.held),
                      .before_record = all_none(job->tasks.count),
                      .passed = lumos_allocate_zeroed(job->tasks.count, sizeof *walk.passed),
                      .boundary = all_absent(job->tasks.count),
                      .inferred = all_absent(job->tasks.count),
                      .handover = all_none(job->tasks.count),
                      .first_launched = all_none(job->tasks.count),
                      .next_launched = all_none(job->tasks.count)};
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (dep->kind == LUMOS_BOUNDARY) {
      walk.rank = &job->ranks.items[lumos_rank_of(job, &job->tasks.items[dep->dst])];
      int64_t shift = start_of(&walk, dep->dst) - job->tasks.items[dep->dst].start;
      walk.boundary[dep->dst] = max(walk.boundary[dep->dst], dep->at + shift);
    }
    if (dep->kind == LUMOS_RESOURCE || (dep->kind == LUMOS_DEP_EVENT && dep->evidence != LUMOS_RECORDED)) {
      walk.rank = &job->ranks.items[lumos_rank_of(job, &job->tasks.items[dep->dst])];
      walk.inferred[dep->dst] = max(walk.inferred[dep->dst], end_of(&walk, dep->src) + dep->lag);
    }
    if (dep->kind == LUMOS_HANDOVER) {
      walk.handover[dep->dst] = (uint32_t)i;
    }
  }
  for (size_t i = 0; i < job->ranks.count; i++) {
    walk.rank = &job->ranks.items[i];
    walk_rank(&walk);
  }
  walk_collectives(&walk);
  free(walk.last);
  free(walk.held);
  free(walk.before_record);
  free(walk.passed);
  free(walk.boundary);
  free(walk.inferred);
  free(walk.handover);
  free(walk.first_launched);
  free(walk.next_launched);
}

/* --- The traces --- */

static void assert_simulates(const struct lumos_job *job) {
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  struct lumos_sim_options options = {0};
  struct lumos_error error = {0};
  if (!lumos_engine_run(job, &options, runs, &error)) {
    fail_msg("%s", error.text);
  }
  for (uint32_t task = 0; task < job->tasks.count; task++) {
    assert_int_equal(runs[task].start, lumos_measured_start(job, task));
    assert_int_equal(runs[task].dur, job->tasks.items[task].dur);
  }
  free(runs);
}

static void replay(const char *path, enum lumos_steps steps) {
  const char *const paths[] = {path};
  struct lumos_trace_options options = {.steps = steps};
  struct lumos_error error = {0};
  struct lumos_job *job = lumos_trace_parse(paths, 1, &options, &error);
  if (job == NULL || !lumos_graph_build(job, &error) || !lumos_job_check(job, &error)) {
    fail_msg("%s: %s", path, error.text);
    return;
  }
  assert_replays(job);
  assert_simulates(job);
  lumos_job_free(job);
}

/* The folder of real traces; the test is skipped, visibly, where there is none. */
static const char *traces(void) {
  const char *folder = unit_traces();
  if (folder == NULL) {
    print_message("SKIPPED: the public traces are not here (LUMOS_TRACES)\n");
    skip();
  }
  return folder;
}

static void replay_set(const char *name) {
  char *path = unit_path(traces(), name);
  replay(path, LUMOS_STEPS_COMPLETE);
  replay(path, LUMOS_STEPS_LAST);
  free(path);
}

static void several_ranks(void **state) {
  (void)state;
  replay_set("emulated-dp2");
  replay_set("emulated-pp4");
  replay_set("emulated-tp2pp2dp2");
  replay_set("megatron-tp2-V100");
  replay_set("torchrec-4xV100-lateRank2");
  replay_set("nanogpt-8xH100-ddp");
  replay_set("dlrm-8xV100");
}

static void one_rank(void **state) {
  (void)state;
  replay_set("ao-ep-moe-2xB200");
  replay_set("ao-vit-cudagraph-A100");
  replay_set("df-index-V100x2-216k");
  replay_set("hta-diff-A100-8rank-109k");
  replay_set("hta-epoch-float-ts-V100");
  replay_set("hta-nccl-params-A100");
  replay_set("tracelens-resnet-8xMI300-rank0");
  replay_set("tracelens-qwen-H100-vs-MI300/mi300-Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz");
  replay_set("kineto-tb-old-format");
  replay_set("hta-cpu-only-gloo");
}

static void recorded_synchronisations(void **state) {
  (void)state;
  replay_set("hta-cuda-sync-A100/alexnet-benchmark_result_2869224_1695835535_trace.json.gz");
  replay_set("hta-cuda-sync-A100/cuda_event_sync-event_sync_trace.json.gz");
  replay_set("hta-cuda-sync-A100/cuda_event_sync_multi_stream-event_sync_trace.json.gz");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(several_ranks),
      cmocka_unit_test(one_rank),
      cmocka_unit_test(recorded_synchronisations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
