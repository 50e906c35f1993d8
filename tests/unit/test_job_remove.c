/* Tasks taken out of a graph: what is left runs as worked out on paper (sim_jobs.h has the jobs as they are). */
#include "expected_runs.h"

#include "job/remove.h"
#include <lumos/transform.h>

#undef RANK_OF_JOB
#define RANK_OF_JOB "0"

static bool is_there(const struct lumos_job *job, const char *name) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (reads(job, job->tasks.items[t].name, name)) {
      return true;
    }
  }
  return false;
}

static struct lumos_job *without(const char *text, const char *selector) {
  struct lumos_job *job = job_from_text(text);
  struct lumos_error error = {0};
  if (!lumos_transform_remove(job, selector, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

/* K1 goes with launch1: sync looks at 24 and finds s20 empty, but ends no earlier than itself: 24 + residual 3. What
 * s20 waits for now holds K3: 112 + 4. */
static void a_kernel_takes_its_launch_along(void **state) {
  (void)state;
  struct lumos_job *job = without(streams_job, "name~^K1$");
  assert_int_equal(job->tasks.count, 13 - 2);
  assert_false(is_there(job, "launch1"));
  CHECK(job, false, {"launch2", 14, 24}, {"sync", 24, 27}, {"after", 32, 39}, {"K0", 12, 112}, {"K2", 113, 133},
        {"K3", 116, 146});
  lumos_job_free(job);
}

/* The event behind K0 falls through to what came before on s7: nothing. */
static void a_wait_falls_through_to_the_work_before(void **state) {
  (void)state;
  struct lumos_job *job = without(streams_job, "name~^K0$");
  /* t1: record 0-2, wait 2-4, launch1 4-14, launch2 14-24, sync 24. K1: 14 + 2 + residual 1. K2: 24 + 2. */
  CHECK(job, false, {"launch1", 4, 14}, {"K1", 17, 67}, {"K2", 26, 46}, {"sync", 24, 70}, {"K3", 69, 99});
  assert_int_equal(job->deps.count, 2); /* the event's edge had no other source */
  lumos_job_free(job);
}

/* The same where something is left before it: a second kernel ahead of K0 on s7, to whose end the edge is tied. */
static void an_edge_is_tied_to_what_came_before(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  uint8_t gone[13] = {0};
  uint32_t k2 = task_named(job, "K2");
  struct lumos_dep edge = lumos_dep_empty; /* K3 waits for K2 as well, says timing */
  edge.src = k2;
  edge.dst = task_named(job, "K3");
  edge.kind = LUMOS_DEP_EVENT;
  edge.from = LUMOS_END;
  edge.to = LUMOS_START;
  edge.lag = 100;
  edge.evidence = LUMOS_INFERRED;
  edge.mode = LUMOS_RUN_TIME;
  lumos_vector_push(&job->deps, edge);
  CHECK(job, false, {"K3", 133 + 100, 263});
  gone[k2] = 1;
  lumos_job_take_along(job, gone);
  lumos_job_remove(job, gone);
  CHECK(job, false, {"K0", 12, 112}, {"K3", 112 + 100, 242});
  lumos_job_free(job);
}

/* Launches alone: their kernels are on their streams when the task before the call ends; the first has none before
 * it. */
static void kernels_without_launches_are_free(void **state) {
  (void)state;
  struct lumos_job *job = without(streams_job, "kind=launch");
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (lumos_on_stream(job, &job->tasks.items[t])) {
      assert_int_equal(lumos_timing_of(job, t)->origin, LUMOS_FREE);
    }
  }
  assert_int_equal(job->tasks.items[task_named(job, "K0")].call, LUMOS_NONE);
  assert_int_equal(lumos_timing_of(job, task_named(job, "K0"))->launch_lag, LUMOS_ABSENT);
  assert_int_equal(lumos_timing_of(job, task_named(job, "K1"))->launch_lag, 0);
  /* t1: record 0-2, wait 2-4, sync from 4; K0 from 0. K1 and K2 come with wait's end: K1 behind the event, K0's end 100
   * + 4 + residual 1; K2 behind K0 100 + 1. work 0-40, and K3 with its end, behind K1 155 + 2. */
  CHECK(job, false, {"record", 0, 2}, {"K0", 0, 100}, {"K1", 105, 155}, {"K2", 101, 121}, {"K3", 157, 187},
        {"sync", 4, 158});
  lumos_job_free(job);
}

/* K1 and K2 are free from the end of `wait` on, which does not launch them: they go without it. */
static void a_free_kernel_goes_alone(void **state) {
  (void)state;
  struct lumos_job *job = without(streams_job, "kind=launch");
  struct lumos_error error = {0};
  size_t count = job->tasks.count;
  assert_int_equal(job->tasks.items[task_named(job, "K1")].call, task_named(job, "wait"));
  assert_true(lumos_transform_remove(job, "name~^K[12]$", &error));
  assert_int_equal(job->tasks.count, count - 2);
  assert_true(is_there(job, "wait"));
  lumos_job_free(job);
}

/* The op of `wait`, which K1 and K2 are free from, does not launch them: it goes without them, and they begin with the
 * end of `record`. */
static void an_op_goes_without_kernels_that_are_free_from_it(void **state) {
  (void)state;
  struct lumos_job *job = without(streams_job, "kind=launch");
  struct lumos_error error = {0};
  struct lumos_span span = lumos_span_empty;
  span.rank = 0;
  span.kind = LUMOS_SPAN_OP;
  span.name = lumos_intern_text(job->strings, "aten::mm");
  lumos_vector_push(&job->spans, span);
  lumos_job_set_ranges(job);
  job->tasks.items[task_named(job, "wait")].span = 0;
  assert_true(lumos_transform_remove(job, "op=aten::mm", &error));
  assert_false(is_there(job, "wait"));
  assert_int_equal(job->tasks.items[task_named(job, "K1")].call, task_named(job, "record"));
  assert_int_equal(job->tasks.items[task_named(job, "K2")].call, task_named(job, "record"));
  lumos_job_free(job);
}

static void more_changes_than_a_stream_can_count_are_so_many(void **state) {
  (void)state;
  struct lumos_job *job = without(streams_job, "name~^K1$");
  struct lumos_error error = {0};
  assert_int_equal(job->edited, 1);
  job->edited = INT32_MAX;
  assert_true(lumos_transform_remove(job, "name~^K2$", &error));
  assert_int_equal(job->edited, INT32_MAX);
  lumos_job_free(job);
}

/* A hand-over from `work`, which explains 3 of the 5 before `after`: without `work` thread t2 has nothing before
 * launch3, so the edge goes, and the lag of `after` stays its own 2. Where something is left before it the edge
 * stays. */
static void the_source_of_a_hand_over_goes(void **state) {
  (void)state;
  for (int last = 0; last < 2; last++) {
    struct lumos_job *job = job_from_text(streams_job);
    struct lumos_dep dep = lumos_dep_empty;
    dep.src = task_named(job, last ? "launch3" : "work");
    dep.dst = task_named(job, "after");
    dep.kind = LUMOS_HANDOVER;
    dep.from = LUMOS_END;
    dep.to = LUMOS_START;
    dep.lag = 200;
    dep.covers = 3;
    dep.mode = LUMOS_FIXED;
    dep.evidence = LUMOS_INFERRED;
    dep.evidence = LUMOS_INFERRED;
    lumos_vector_push(&job->deps, dep);
    lumos_task_detail(job, &job->tasks.items[dep.dst])->own_lag = 2;
    CHECK(job, false, {"after", (last ? 50 : 40) + 200, (last ? 50 : 40) + 207});
    uint8_t gone[13] = {0};
    gone[dep.src] = 1;
    lumos_job_remove(job, gone);
    if (last) { /* tied to the end of work, 40; K3, whose launch went, comes with it */
      CHECK(job, false, {"after", 240, 247}, {"K3", 169, 199});
      assert_int_equal(job->deps.items[job->deps.count - 1].covers, LUMOS_ABSENT);
    } else {
      CHECK(job, false, {"after", 172, 179}, {"launch3", 0, 10});
    }
    lumos_job_free(job);
  }
}

/* What a removed task was handed holds the next one, behind its own lag: sync is handed 500, after follows 5 later. */
static void the_target_of_a_hand_over_goes(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = task_named(job, "work");
  dep.dst = task_named(job, "sync");
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.lag = 460;
  dep.mode = LUMOS_FIXED;
  dep.evidence = LUMOS_INFERRED;
  lumos_vector_push(&job->deps, dep);
  uint8_t gone[13] = {0};
  gone[dep.dst] = 1;
  lumos_job_remove(job, gone);
  CHECK(job, false, {"after", 505, 512});
  lumos_job_free(job);
}

/* One member chooses both; what follows on each rank moves up: after A 61 sync0 ends + 4. */
static void a_collective_goes_whole(void **state) {
  (void)state;
  struct lumos_job *job = without(ranks_job, "rank=0,kind=collective");
  assert_int_equal(job->collectives.count, 0);
  assert_int_equal(job->members.count, 0);
  CHECK(job, false, {"A", 11, 61}, {"after0", 65, 70}, {"B", 11, 101}, {"after1", 110, 115});
  lumos_job_free(job);
}

/* A stream holds one launch beside the one that comes: L3 waits for the start of K1, L4 for that of K2. */
static void the_depth_of_a_queue_stays(void **state) {
  (void)state;
  /* clang-format off */
  static const char job_of_queue[] = JOB_TEXT_HEADER
      "{'type':'rank','rank':0,'window':[0,3000],'base':0," JOB_TEXT_COVERAGE "}\n"
      "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
      "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7','queue_depth':1}\n"
      HOST("0:0", "t1", 0, "launch", "L0", 0, 10, 0, "")
      HOST("0:1", "t1", 1, "launch", "L1", 10, 10, 0, "")
      HOST("0:2", "t1", 2, "launch", "L2", 20, 10, 0, "")
      HOST("0:3", "t1", 3, "launch", "L3", 30, 10, 0, "")
      HOST("0:4", "t1", 4, "launch", "L4", 40, 10, 0, "")
      HOST("0:5", "s7", 0, "gemm", "K0", 10, 1000, 0, ",'origin':'launched','call':'0:0','launch_lag':0,'residual':0")
      HOST("0:6", "s7", 1, "norm", "K1", 1010, 1000, 0, ",'origin':'launched','call':'0:1','launch_lag':0,'residual':0")
      HOST("0:7", "s7", 2, "gemm", "K2", 2010, 1000, 0, ",'origin':'launched','call':'0:2','launch_lag':0,'residual':0")
      HOST("0:8", "s7", 3, "norm", "K3", 3010, 1000, 0, ",'origin':'launched','call':'0:3','launch_lag':0,'residual':0")
      HOST("0:9", "s7", 4, "gemm", "K4", 4010, 1000, 0, ",'origin':'launched','call':'0:4','launch_lag':0,'residual':0");
  /* clang-format on */
  struct lumos_job *job = job_from_text(job_of_queue);
  CHECK(job, false, {"L2", 20, 30}, {"L3", 30, 1010}, {"L4", 1010, 2010}, {"K4", 4010, 5010});
  lumos_job_free(job);
  job = without(job_of_queue, "kind=norm");
  CHECK(job, false, {"L0", 0, 10}, {"L2", 10, 20}, {"L4", 20, 30}, {"K4", 2010, 3010});
  lumos_job_free(job);
  job = without(job_of_queue, "name~^K1$"); /* K2 makes room for the launch behind K4 */
  CHECK(job, false, {"L3", 20, 30}, {"L4", 30, 1010}, {"K4", 3010, 4010});
  lumos_job_free(job);
}

/* The first node of a CUDA graph goes: the next one starts as far behind the graph's launch as that one did, from 10 +
 * 8 on, and no longer where it stands behind the call's end. */
static void the_next_node_starts_as_the_first_did(void **state) {
  (void)state;
  /* clang-format off */
  static const char job_of_nodes[] = JOB_TEXT_HEADER
      "{'type':'rank','rank':0,'window':[0,3000],'base':0," JOB_TEXT_COVERAGE "}\n"
      "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
      "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
      HOST("0:0", "t1", 0, "op", "before", 0, 10, 0, "")
      HOST("0:1", "t1", 1, "launch", "graph", 10, 20, 0, "")
      HOST("0:2", "s7", 0, "gemm", "N0", 18, 100, 0, ",'origin':'launched','call':'0:1','launch_from':'start','launch_lag':8,'residual':0")
      HOST("0:3", "s7", 1, "norm", "N1", 118, 100, 0, ",'origin':'launched','call':'0:1','launch_lag':3,'residual':0")
      HOST("0:4", "s7", 2, "gemm", "N2", 218, 100, 0, ",'origin':'launched','call':'0:1','launch_lag':0,'residual':0");
  /* clang-format on */
  struct lumos_job *job = job_from_text(job_of_nodes);
  CHECK(job, false, {"N0", 18, 118}, {"N1", 118, 218});
  lumos_job_free(job);
  job = without(job_of_nodes, "name~^N0$");
  CHECK(job, false, {"graph", 10, 30}, {"N1", 18, 118}, {"N2", 118, 218});
  lumos_job_free(job);
  job = without(job_of_nodes, "name~^N1$"); /* N2 follows N0 as N1 did */
  CHECK(job, false, {"N0", 18, 118}, {"N2", 118, 218});
  assert_int_equal(lumos_timing_of(job, task_named(job, "N2"))->launch_lag, 0);
  lumos_job_free(job);
}

/* What made room for launch2 goes, with nothing before it on s7: the edge, which says how long the call takes to
 * notice, goes over to the next task there. */
static void the_edge_of_a_full_queue_goes_over_to_the_next_task(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = task_named(job, "K0");
  dep.dst = task_named(job, "launch2");
  dep.kind = LUMOS_QUEUE;
  dep.from = LUMOS_START;
  dep.to = LUMOS_END;
  dep.lag = 7;
  dep.mode = LUMOS_RUN_TIME;
  dep.evidence = LUMOS_INFERRED;
  lumos_vector_push(&job->deps, dep);
  uint8_t gone[13] = {0};
  gone[dep.src] = 1;
  lumos_job_remove(job, gone);
  const struct lumos_dep *last = &job->deps.items[job->deps.count - 1];
  assert_int_equal(last->kind, LUMOS_QUEUE);
  assert_int_equal(last->src, task_named(job, "K2"));
  assert_int_equal(last->dst, task_named(job, "launch2"));
  assert_int_equal(last->from, LUMOS_START);
  assert_int_equal(last->lag, 7);
  lumos_job_free(job);
}

/* launch2 is cut by wait and launch1: with K2 it goes, and wait with it, but not launch1, whose K1 stays. */
static void a_nested_call_stays_with_what_it_launches(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_error error = {0};
  lumos_task_detail(job, &job->tasks.items[task_named(job, "launch2")])->first_segment = task_named(job, "wait");
  assert_true(lumos_transform_remove(job, "name~^K2$", &error));
  assert_false(is_there(job, "launch2"));
  assert_false(is_there(job, "wait"));
  assert_true(is_there(job, "launch1"));
  assert_int_equal(job->tasks.items[task_named(job, "K1")].call, task_named(job, "launch1"));
  lumos_job_free(job);
}

/* A call that is cut into record, wait and launch1 begins with wait without record, and is whole without both. */
static void a_cut_call_begins_with_what_is_left(void **state) {
  (void)state;
  for (int both = 0; both < 2; both++) {
    struct lumos_job *job = job_from_text(streams_job);
    lumos_task_detail(job, &job->tasks.items[task_named(job, "launch1")])->first_segment = task_named(job, "record");
    uint8_t gone[13] = {0};
    gone[task_named(job, "record")] = 1;
    gone[task_named(job, "wait")] = (uint8_t)both;
    lumos_job_remove(job, gone);
    uint32_t first = lumos_detail_of(job, &job->tasks.items[task_named(job, "launch1")])->first_segment;
    assert_int_equal(first, both ? LUMOS_NONE : task_named(job, "wait"));
    lumos_job_free(job);
  }
}

static void an_op_without_work_goes(void **state) {
  (void)state;
  for (int more = 0; more < 2; more++) {
    struct lumos_job *job = job_from_text(streams_job);
    for (uint32_t s = 0; s < 2; s++) {
      struct lumos_span span = lumos_span_empty;
      span.rank = 0;
      span.id = s;
      span.kind = LUMOS_SPAN_OP;
      span.name = lumos_intern_text(job->strings, s == 0 ? "outer" : "inner");
      span.parent = s == 0 ? LUMOS_NONE : 0;
      lumos_vector_push(&job->spans, span);
    }
    lumos_job_set_ranges(job);
    job->tasks.items[task_named(job, "work")].span = 0; /* t2: outer does `work`, and inner, inside it, launches K3 */
    job->tasks.items[task_named(job, "launch3")].span = 1;
    job->tasks.items[task_named(job, "launch2")].span = more ? 0 : LUMOS_NONE; /* outer has other work, which stays */
    struct lumos_error error = {0};
    assert_true(lumos_transform_remove(job, "name~^K3$", &error));
    assert_int_equal(job->tasks.count, 13 - (more ? 2 : 3));
    assert_int_equal(is_there(job, "work"), more);
    lumos_job_free(job);
  }
}

/* Ops A and B inside `outer`, which comes from one to the other by `way`. */
static void the_way_to_an_op_goes_with_it(void **state) {
  (void)state;
  /* clang-format off */
  static const char job_of_ops[] = JOB_TEXT_HEADER
      "{'type':'rank','rank':0,'window':[0,3000],'base':0," JOB_TEXT_COVERAGE "}\n"
      "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
      "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
      "{'type':'span','id':'0:0','rank':0,'kind':'op','name':'outer','start':0,'dur':60}\n"
      "{'type':'span','id':'0:1','rank':0,'kind':'op','name':'A','start':5,'dur':10,'parent':'0:0'}\n"
      "{'type':'span','id':'0:2','rank':0,'kind':'op','name':'B','start':25,'dur':10,'parent':'0:0'}\n"
      HOST("0:0", "t1", 0, "op", "prologue", 0, 5, 0, ",'span':'0:0'")
      HOST("0:1", "t1", 1, "launch", "LA", 5, 10, 0, ",'span':'0:1'")
      HOST("0:2", "t1", 2, "op", "way", 15, 10, 0, ",'span':'0:0'")
      HOST("0:3", "t1", 3, "launch", "LB", 25, 10, 0, ",'span':'0:2'")
      HOST("0:4", "t1", 4, "op", "epilogue", 35, 25, 0, ",'span':'0:0'")
      HOST("0:5", "s7", 0, "gemm", "KA", 15, 100, 0, ",'origin':'launched','call':'0:1','launch_lag':0,'residual':0")
      HOST("0:6", "s7", 1, "norm", "KB", 115, 100, 0, ",'origin':'launched','call':'0:3','launch_lag':0,'residual':0");
  /* clang-format on */
  struct lumos_job *job = without(job_of_ops, "name~KB");
  assert_false(is_there(job, "LB") || is_there(job, "way"));
  CHECK(job, false, {"prologue", 0, 5}, {"LA", 5, 15}, {"epilogue", 15, 40});
  lumos_job_free(job);
  job = without(job_of_ops, "name~KA"); /* what stands before A is how outer begins */
  assert_true(is_there(job, "prologue") && is_there(job, "way"));
  CHECK(job, false, {"prologue", 0, 5}, {"way", 5, 15}, {"LB", 15, 25}, {"KB", 25, 125});
  lumos_job_free(job);
}

/* `sync` begins step 2 and goes: the 7 before it, which the loop took, and the 5 before `after` are between 34 and
 * it. */
static void what_the_loop_takes_between_steps_stays(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  uint8_t gone[13] = {0};
  uint32_t sync = task_named(job, "sync");
  job->tasks.items[sync].lag = 7;
  job->tasks.items[sync].step = job->tasks.items[sync + 1].step = 2;
  gone[sync] = 1;
  lumos_job_remove(job, gone);
  CHECK(job, false, {"launch2", 24, 34}, {"after", 34 + 12, 53});
  lumos_job_free(job);
}

/* s20 waits for a record inside an op that goes: the wait goes, and the op that did nothing else. */
static void a_wait_for_what_has_gone_goes(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  for (uint32_t s = 0; s < 2; s++) {
    struct lumos_span span = lumos_span_empty;
    span.rank = 0;
    span.id = s;
    span.kind = LUMOS_SPAN_OP;
    span.name = lumos_intern_text(job->strings, s == 0 ? "reduce" : "wait for it");
    lumos_vector_push(&job->spans, span);
  }
  lumos_job_set_ranges(job);
  job->tasks.items[task_named(job, "launch0")].span = job->tasks.items[task_named(job, "record")].span = 0;
  job->tasks.items[task_named(job, "wait")].span = job->tasks.items[task_named(job, "after")].span = 1;
  struct lumos_error error = {0};
  assert_true(lumos_transform_remove(job, "name~^K0$", &error));
  assert_int_equal(job->tasks.count, 13 - 5);
  CHECK(job, false, {"launch1", 0, 10}, {"K1", 13, 63});
  lumos_job_free(job);
}

/* `early` ran from 2 to 8 on s7 before the first step, which begins at base 10, 2 after its end. Half as long, it ends
 * at 5, and the step begins at 7; without it, when its first task was measured to, launch0 at 0. */
static void a_changed_first_step_begins_after_what_ran_before_it(void **state) {
  (void)state;
  for (int gone = 0; gone < 2; gone++) {
    struct lumos_job *job = job_from_text(streams_job);
    struct lumos_error error = {0};
    struct lumos_task early = lumos_task_empty;
    early.id = 13;
    early.lane = job->tasks.items[task_named(job, "K0")].lane;
    early.kind = LUMOS_GEMM;
    early.name = lumos_intern_text(job->strings, "early");
    early.start = 2;
    early.dur = 6;
    for (uint32_t t = job->lanes.items[early.lane].task_first; t < job->tasks.count; t++) {
      job->tasks.items[t].seq += job->tasks.items[t].lane == early.lane;
    }
    lumos_vector_push(&job->tasks, early);
    job->ranks.items[0].base = 10;
    assert_true(lumos_job_arrange(job, &error));
    uint32_t index = task_named(job, "early");
    lumos_task_timing(job, &job->tasks.items[index])->origin = LUMOS_BEFORE_RECORDING;
    struct lumos_dep dep = lumos_dep_empty;
    dep.dst = index;
    dep.at = 2;
    dep.kind = LUMOS_BOUNDARY;
    dep.from = dep.to = LUMOS_START;
    dep.evidence = LUMOS_RECORDED;
    dep.mode = LUMOS_FIXED;
    lumos_vector_push(&job->deps, dep);
    assert_true(gone ? lumos_transform_remove(job, "name~early", &error)
                     : lumos_transform_scale(job, "name~early=0.5", &error));
    assert_int_equal(job->ranks.items[0].base_lag, gone ? LUMOS_ABSENT : 2);
    assert_true(lumos_simulate(job, &error));
    struct lumos_steps_list steps;
    lumos_find_steps(job, job->runs.items, &steps);
    assert_int_equal(steps.items[0].start, gone ? 0 : 7);
    assert_int_equal(steps.items[0].end, 199);
    lumos_vector_free(&steps);
    lumos_job_free(job);
  }
}

/* Without its threads a job's kernels have their streams' order alone, and begin with the first step. */
static void kernels_of_no_thread_begin_with_the_first_step(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_error error = {0};
  job->ranks.items[0].base = 20;
  assert_true(lumos_transform_remove(job, "host", &error));
  assert_int_equal(job->tasks.count, 4);
  CHECK(job, false, {"K0", 20, 120}, {"K2", 121, 141}, {"K1", 21, 71});
  lumos_job_free(job);
}

/* Base is an instant of the device. What is left of rank 1 begins with a launch, at 1000 on the host, whose clock the
 * device's is 5 behind; without its threads with B, at 1006 on the device. */
static void the_first_step_begins_on_the_device_s_clock(void **state) {
  (void)state;
  for (int host = 0; host < 2; host++) {
    struct lumos_job *job = job_from_text(ranks_job);
    struct lumos_error error = {0};
    job->ranks.items[1].base = 900; /* 3 after work of which nothing is left */
    job->ranks.items[1].base_lag = 3;
    assert_true(lumos_transform_remove(job, host ? "rank=1,host" : "rank=1,name~after", &error));
    assert_int_equal(job->ranks.items[1].base, host ? 1006 : 1000 - 5);
    assert_int_equal(job->ranks.items[0].base, 0);
    lumos_job_free(job);
  }
}

static void what_was_measured_is_kept(void **state) {
  (void)state;
  struct lumos_job *job = without(streams_job, "name~^K3$");
  struct lumos_error error = {0};
  assert_int_equal(job->edited, 1);
  assert_false(lumos_job_measured(job));
  for (int round = 0; round < 2; round++) { /* and by the next simulation, too */
    assert_true(lumos_simulate(job, &error));
    int64_t measured = 0, simulated = 0, unexplained = LUMOS_ABSENT;
    for (size_t i = 0; i < job->metrics.count; i++) {
      const struct lumos_metric *metric = &job->metrics.items[i];
      if (reads(job, metric->name, "step_time") && metric->scope.rank == 0) {
        *(metric->source == LUMOS_METRIC_MEASURED ? &measured : &simulated) = metric->value.units;
      }
      if (reads(job, metric->name, "host_gap") && metric->scope.rank == 0) {
        assert_int_equal(metric->source, LUMOS_METRIC_SIMULATED);
        unexplained = metric->value.units;
      }
    }
    assert_int_equal(measured, 199);
    assert_int_equal(simulated, 167); /* K1's end, on the device */
    assert_int_equal(unexplained, 5); /* before `after` */
  }
  lumos_job_free(job);
}

static void nothing_chosen_changes_nothing_and_all_is_too_much(void **state) {
  (void)state;
  struct lumos_job *job = without(streams_job, "kind=attention");
  struct lumos_error error = {0};
  assert_int_equal(job->edited, 0);
  assert_int_equal(job->tasks.count, 13);
  assert_true(lumos_job_measured(job));
  assert_false(lumos_transform_remove(job, "name~.", &error));
  assert_non_null(strstr(error.text, "would leave no task"));
  assert_false(lumos_transform_remove(job, "kind=", &error));
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_takes_its_launch_along),
      cmocka_unit_test(a_wait_falls_through_to_the_work_before),
      cmocka_unit_test(an_edge_is_tied_to_what_came_before),
      cmocka_unit_test(kernels_without_launches_are_free),
      cmocka_unit_test(a_free_kernel_goes_alone),
      cmocka_unit_test(an_op_goes_without_kernels_that_are_free_from_it),
      cmocka_unit_test(more_changes_than_a_stream_can_count_are_so_many),
      cmocka_unit_test(the_source_of_a_hand_over_goes),
      cmocka_unit_test(the_target_of_a_hand_over_goes),
      cmocka_unit_test(a_collective_goes_whole),
      cmocka_unit_test(the_depth_of_a_queue_stays),
      cmocka_unit_test(the_next_node_starts_as_the_first_did),
      cmocka_unit_test(the_edge_of_a_full_queue_goes_over_to_the_next_task),
      cmocka_unit_test(a_nested_call_stays_with_what_it_launches),
      cmocka_unit_test(a_cut_call_begins_with_what_is_left),
      cmocka_unit_test(an_op_without_work_goes),
      cmocka_unit_test(the_way_to_an_op_goes_with_it),
      cmocka_unit_test(what_the_loop_takes_between_steps_stays),
      cmocka_unit_test(a_wait_for_what_has_gone_goes),
      cmocka_unit_test(a_changed_first_step_begins_after_what_ran_before_it),
      cmocka_unit_test(kernels_of_no_thread_begin_with_the_first_step),
      cmocka_unit_test(the_first_step_begins_on_the_device_s_clock),
      cmocka_unit_test(what_was_measured_is_kept),
      cmocka_unit_test(nothing_chosen_changes_nothing_and_all_is_too_much),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
