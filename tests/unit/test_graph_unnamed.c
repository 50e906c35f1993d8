/* What stream waits wait for that do not say it: each principle at the head of src/graph/unnamed.c, places.c and
 * awaited.c on a program of a few calls.
 *
 * A program is a list of calls of one thread, one every 10 us, each 5 us long; times in microseconds.
 */
#include "graph_job.h"

#include <lumos/sim.h>
#include <lumos/transform.h>

enum { US = 1000, CALLS = 150, STREAMS = 3, MAIN = 0, ONE = 1, OTHER = 2, SIDE = 2, PAUSE = 2000 };

enum act { COMPUTES, COMMUNICATES, WAITS, RECORDS, EARLIER }; /* EARLIER: communication launched before the recording */

struct call {
  enum act act;
  int stream;
  int64_t starts, lasts; /* of what it launches */
  const char *in;        /* the operator around it, one for neighbours of the same name */
};

struct program {
  struct lumos_job *job;
  uint32_t launched[CALLS]; /* by call */
};

static uint32_t add_span(struct lumos_job *job, uint32_t thread, const char *name, int64_t start) {
  struct lumos_span span = lumos_span_empty;
  span.id = (uint32_t)job->spans.count;
  span.rank = 0;
  span.lane = thread;
  span.start = start;
  span.dur = 5 * US;
  span.name = word(job, name);
  span.kind = LUMOS_SPAN_OP;
  lumos_vector_push(&job->spans, span);
  return span.id;
}

/* `times` times the calls, each time after a pause. */
static struct program run(const struct call *calls, size_t count, size_t times) {
  struct program program = {.job = new_job()};
  struct lumos_job *job = program.job;
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), tasks[CALLS], span = LUMOS_NONE;
  const uint32_t streams[STREAMS] = {add_stream(job, rank, "7"), add_stream(job, rank, "20"),
                                     add_stream(job, rank, "24")};
  assert_true(count * times <= CALLS);
  for (size_t i = 0; i < count * times; i++) {
    const struct call *call = &calls[i % count];
    int64_t start = (int64_t)(i / count * PAUSE + i % count * 10) * US;
    if (call->in == NULL) {
      span = LUMOS_NONE;
    } else if (i % count == 0 || call[-1].in == NULL || strcmp(call->in, call[-1].in) != 0) {
      span = add_span(job, thread, call->in, start);
    } else {
      job->spans.items[span].dur = start + 5 * US - job->spans.items[span].start;
    }
    tasks[i] = call->act == WAITS     ? add_stream_wait(job, thread, start, 5 * US, LUMOS_NONE, LUMOS_NONE)
               : call->act == RECORDS ? add_record(job, thread, start, 5 * US, LUMOS_NONE)
               : call->act == EARLIER ? add_task(job, thread, LUMOS_OP, "nothing", start, 5 * US)
                                      : add_launch(job, thread, start, 5 * US);
    job->tasks.items[tasks[i]].span = span;
  }
  for (int stream = 0; stream < STREAMS; stream++) {
    for (size_t i = 0; i < count * times; i++) {
      const struct call *call = &calls[i % count];
      bool earlier = call->act == EARLIER;
      if ((earlier || call->act <= COMMUNICATES) && call->stream == stream) {
        int64_t start = ((int64_t)(i / count) * PAUSE + call->starts) * US;
        uint32_t task = program.launched[i] =
            add_kernel(job, streams[stream], start, call->lasts * US, earlier ? LUMOS_NONE : tasks[i]);
        job->tasks.items[task].kind = earlier || call->act == COMMUNICATES ? LUMOS_COLLECTIVE : LUMOS_ELEMENTWISE;
      }
    }
  }
  build(job);
  return program;
}

#define RUN(times, ...)                              \
  __extension__({                                    \
    const struct call calls[] = {__VA_ARGS__};       \
    run(calls, sizeof calls / sizeof *calls, times); \
  })

/* The edge from what one call launched to what another did; NULL: there is none. */
static const struct lumos_dep *edge(const struct program *program, size_t from, size_t to) {
  for (size_t i = 0; i < program->job->deps.count; i++) {
    const struct lumos_dep *dep = &program->job->deps.items[i];
    if (dep->kind == LUMOS_DEP_EVENT && dep->src == program->launched[from] && dep->dst == program->launched[to]) {
      return dep;
    }
  }
  return NULL;
}

static size_t edges(const struct program *program) {
  size_t count = 0;
  for (size_t i = 0; i < program->job->deps.count; i++) {
    count += program->job->deps.items[i].kind == LUMOS_DEP_EVENT;
  }
  return count;
}

static void expect_edge(const struct program *program, size_t from, size_t to, enum lumos_evidence evidence) {
  const struct lumos_dep *dep = edge(program, from, to);
  assert_non_null(dep);
  assert_int_equal(dep->evidence, evidence);
}

static void communication_waits_for_what_its_thread_computes(void **state) {
  (void)state;
  struct program program = RUN(1, {COMPUTES, MAIN, 6, 500, NULL}, {WAITS, 0, 0, 0, "all_reduce"},
                               {COMMUNICATES, ONE, 510, 100, "all_reduce"});
  expect_edge(&program, 0, 2, LUMOS_INFERRED);
  assert_int_equal(edges(&program), 1);
  lumos_job_free(program.job);
}

static void the_library_s_own_wait_is_for_nothing_that_is_seen(void **state) {
  (void)state;
  struct program program = RUN(1, {COMPUTES, MAIN, 6, 3, NULL}, {WAITS, 0, 0, 0, "all_reduce"},
                               {COMMUNICATES, ONE, 26, 3, "all_reduce"}, {WAITS, 0, 0, 0, "all_reduce"},
                               {COMPUTES, MAIN, 46, 3, NULL}, {WAITS, 0, 0, 0, "wait"}, {COMPUTES, MAIN, 66, 3, NULL});
  expect_edge(&program, 0, 2, LUMOS_ORDERED);
  assert_null(edge(&program, 2, 4));
  expect_edge(&program, 2, 6, LUMOS_ORDERED);
  lumos_job_free(program.job);
}

/* Inside the library's annotation, as NCCL waits before its launch and behind it, whatever else ended in time. */
static void what_is_annotated_as_the_library_s_waits_for_nothing_that_is_seen(void **state) {
  (void)state;
  struct program program = RUN(1, {COMPUTES, MAIN, 6, 3, NULL}, {COMMUNICATES, OTHER, 16, 200, NULL},
                               {RECORDS, 0, 0, 0, "all_reduce"}, {WAITS, 0, 0, 0, "all_reduce"},
                               {WAITS, 0, 0, 0, "nccl:all_reduce"}, {COMMUNICATES, ONE, 219, 3, "nccl:all_reduce"},
                               {WAITS, 0, 0, 0, "nccl:all_reduce"}, {COMPUTES, MAIN, 225, 3, NULL});
  expect_edge(&program, 0, 5, LUMOS_ORDERED);
  assert_int_equal(edges(&program), 1);
  lumos_job_free(program.job);
}

static void a_pair_that_is_violated_is_out(void **state) {
  (void)state;
  struct program program = RUN(1, {COMMUNICATES, OTHER, 6, 5, NULL}, {COMMUNICATES, ONE, 16, 900, NULL},
                               {WAITS, 0, 0, 0, "wait"}, {COMPUTES, MAIN, 36, 5, NULL});
  expect_edge(&program, 0, 3, LUMOS_ORDERED);
  assert_int_equal(edges(&program), 1);
  lumos_job_free(program.job);
}

/* So many all-reduces that wait for what was computed before, but the second, which begins before that is over. */
static struct program one_violated_in(size_t times) {
  struct call calls[CALLS];
  assert_true(3 * times <= CALLS);
  for (size_t i = 0; i < times; i++) {
    int64_t at = 30 * (int64_t)i;
    calls[3 * i] = (struct call){COMPUTES, MAIN, at + 6, i == 1 ? 25 : 3, NULL};
    calls[3 * i + 1] = (struct call){WAITS, 0, 0, 0, "all_reduce"};
    calls[3 * i + 2] = (struct call){COMMUNICATES, ONE, at + 26, 3, "all_reduce"};
  }
  return run(calls, 3 * times, 1);
}

static void a_pair_may_be_violated_once_in_fifty_waits(void **state) {
  (void)state;
  struct program program = one_violated_in(50);
  expect_edge(&program, 0, 2, LUMOS_ORDERED);
  assert_null(edge(&program, 3, 5));
  assert_int_equal(edges(&program), 49);
  lumos_job_free(program.job);
  program = one_violated_in(49);
  assert_int_equal(edges(&program), 0);
  lumos_job_free(program.job);
}

/* At one place OTHER's communication is the last but one, and in the last of so many waits what comes next starts right
 * behind it. By custom (weights 10 and 12) each wait is for ONE's, which is the last; what binds once counts 40. */
static struct program bound_once_in(size_t times) {
  struct call calls[CALLS];
  assert_true(4 * times <= CALLS);
  for (size_t i = 0; i < times; i++) {
    int64_t at = 40 * (int64_t)i;
    bool binds = i + 1 == times;
    calls[4 * i] = (struct call){COMMUNICATES, OTHER, at + 6, binds ? 200 : 5, NULL};
    calls[4 * i + 1] = (struct call){COMMUNICATES, ONE, at + 16, 5, NULL};
    calls[4 * i + 2] = (struct call){WAITS, 0, 0, 0, "wait"};
    calls[4 * i + 3] = (struct call){COMPUTES, MAIN, at + (binds ? 209 : 36), 5, NULL};
  }
  return run(calls, 4 * times, 1);
}

static void one_wait_that_binds_outweighs_the_custom_of_nineteen(void **state) {
  (void)state;
  struct program program = bound_once_in(19); /* 40 + 19 * 10 > 19 * 12 */
  assert_non_null(edge(&program, 0, 3));
  assert_null(edge(&program, 1, 3));
  lumos_job_free(program.job);
  program = bound_once_in(20);
  assert_null(edge(&program, 0, 3));
  assert_non_null(edge(&program, 1, 3));
  lumos_job_free(program.job);
}

static void the_pair_that_binds_is_believed(void **state) {
  (void)state;
  struct program program = RUN(1, {COMMUNICATES, OTHER, 6, 200, NULL}, {COMMUNICATES, ONE, 16, 20, NULL},
                               {WAITS, 0, 0, 0, "wait"}, {COMPUTES, MAIN, 209, 5, NULL});
  expect_edge(&program, 0, 3, LUMOS_INFERRED);
  assert_int_equal(edges(&program), 1);
  lumos_job_free(program.job);
}

static void one_wait_in_a_row_claims_a_start(void **state) {
  (void)state;
  struct program program = RUN(1, {COMMUNICATES, OTHER, 6, 200, NULL}, {COMMUNICATES, ONE, 16, 20, NULL},
                               {WAITS, 0, 0, 0, "wait"}, {WAITS, 0, 0, 0, "wait"}, {COMPUTES, MAIN, 209, 5, NULL});
  expect_edge(&program, 0, 4, LUMOS_INFERRED);
  expect_edge(&program, 1, 4, LUMOS_ORDERED);
  lumos_job_free(program.job);
}

static void by_custom_the_latest_communication_comes_first_each_for_one_wait(void **state) {
  (void)state;
  struct program program = RUN(1, {COMMUNICATES, OTHER, 6, 5, NULL}, {COMMUNICATES, ONE, 16, 5, NULL},
                               {WAITS, 0, 0, 0, "wait"}, {COMPUTES, MAIN, 36, 5, NULL});
  expect_edge(&program, 1, 3, LUMOS_ORDERED);
  assert_int_equal(edges(&program), 1);
  lumos_job_free(program.job);
  program = RUN(1, {COMMUNICATES, OTHER, 6, 5, NULL}, {COMMUNICATES, ONE, 16, 5, NULL}, {WAITS, 0, 0, 0, "wait"},
                {WAITS, 0, 0, 0, "wait"}, {COMPUTES, MAIN, 46, 5, NULL});
  expect_edge(&program, 0, 4, LUMOS_ORDERED);
  expect_edge(&program, 1, 4, LUMOS_ORDERED);
  lumos_job_free(program.job);
}

/* The second time nothing tells, and custom would choose the other. */
static void waits_of_one_place_do_the_same(void **state) {
  (void)state;
  struct call calls[8] = {{COMMUNICATES, OTHER, 6, 200, NULL}, {COMMUNICATES, ONE, 16, 20, NULL},
                          {WAITS, 0, 0, 0, "wait 1"},          {COMPUTES, MAIN, 209, 5, NULL},
                          {COMMUNICATES, OTHER, 246, 5, NULL}, {COMMUNICATES, ONE, 256, 5, NULL},
                          {WAITS, 0, 0, 0, "wait 2"},          {COMPUTES, MAIN, 300, 5, NULL}};
  struct program program = run(calls, 8, 1);
  expect_edge(&program, 0, 3, LUMOS_INFERRED);
  expect_edge(&program, 4, 7, LUMOS_INFERRED);
  assert_int_equal(edges(&program), 2);
  lumos_job_free(program.job);
  calls[6].in = "another wait";
  program = run(calls, 8, 1);
  expect_edge(&program, 5, 7, LUMOS_ORDERED);
  lumos_job_free(program.job);
}

static void a_wait_may_be_for_older_work(void **state) {
  (void)state;
  struct program program = RUN(3, {COMMUNICATES, ONE, 6, 100, NULL}, {COMMUNICATES, ONE, 106, 800, NULL},
                               {WAITS, 0, 0, 0, "wait"}, {COMPUTES, MAIN, 109, 5, NULL});
  for (size_t i = 0; i < 12; i += 4) {
    expect_edge(&program, i, i + 3, LUMOS_INFERRED);
  }
  assert_int_equal(edges(&program), 3);
  assert_int_equal(noted(program.job, "graph.unseen_stream_waits"), 0);
  lumos_job_free(program.job);
  /* Twice is too little for the place; that it comes again is seen by timing alone. */
  program = RUN(2, {COMMUNICATES, ONE, 6, 100, NULL}, {COMMUNICATES, ONE, 106, 800, NULL}, {WAITS, 0, 0, 0, "wait"},
                {COMPUTES, MAIN, 109, 5, NULL});
  assert_int_equal(edges(&program), 2);
  assert_int_equal(noted(program.job, "graph.unseen_stream_waits"), 2);
  lumos_job_free(program.job);
}

/* Who waits for the main stream, which has just been told to wait and got nothing since, waits for the same. */
/* The first two bind; the third would be seen as an edge of its place alone. */
static void waits_in_turn_are_for_the_oldest_piece_of_communication(void **state) {
  (void)state;
  struct program program =
      RUN(1, {EARLIER, ONE, 0, 5, NULL}, {COMMUNICATES, ONE, 20, 300, NULL}, {COMMUNICATES, ONE, 320, 300, NULL},
          {COMMUNICATES, ONE, 620, 100, NULL}, {COMPUTES, MAIN, 50, 20, NULL}, {WAITS, 0, 0, 0, NULL},
          {COMPUTES, MAIN, 323, 20, NULL}, {WAITS, 0, 0, 0, NULL}, {COMPUTES, MAIN, 623, 200, NULL},
          {WAITS, 0, 0, 0, NULL}, {COMPUTES, MAIN, 824, 20, NULL});
  assert_int_equal(edges(&program), 3);
  expect_edge(&program, 1, 6, LUMOS_INFERRED);
  expect_edge(&program, 2, 8, LUMOS_INFERRED);
  expect_edge(&program, 3, 10, LUMOS_INFERRED);
  lumos_job_free(program.job);
}

/* Each for the piece after the one whose turn it is. */
static void waits_that_do_not_bind_in_turn_are_not_in_turn(void **state) {
  (void)state;
  struct program program =
      RUN(1, {COMMUNICATES, ONE, 20, 300, NULL}, {COMMUNICATES, ONE, 320, 300, NULL},
          {COMMUNICATES, ONE, 620, 100, NULL}, {COMPUTES, MAIN, 50, 20, NULL}, {WAITS, 0, 0, 0, NULL},
          {COMPUTES, MAIN, 623, 20, NULL}, {WAITS, 0, 0, 0, NULL}, {COMPUTES, MAIN, 723, 20, NULL});
  assert_int_equal(edges(&program), 0);
  lumos_job_free(program.job);
}

/* One that binds may do so by chance. */
static void a_wait_that_binds_once_is_not_in_turn(void **state) {
  (void)state;
  struct program program = RUN(1, {COMMUNICATES, ONE, 20, 300, NULL}, {COMMUNICATES, ONE, 320, 300, NULL},
                               {COMPUTES, MAIN, 50, 20, NULL}, {WAITS, 0, 0, 0, NULL}, {COMPUTES, MAIN, 323, 20, NULL});
  assert_int_equal(edges(&program), 0);
  lumos_job_free(program.job);
}

static void the_library_s_own_wait_takes_no_turn(void **state) {
  (void)state;
  struct program program = RUN(
      1, {COMMUNICATES, ONE, 20, 300, "reduce"}, {WAITS, 0, 0, 0, "reduce"}, {COMMUNICATES, ONE, 320, 300, "gather"},
      {WAITS, 0, 0, 0, "gather"}, {COMPUTES, MAIN, 70, 20, "add"}, {WAITS, 0, 0, 0, NULL},
      {COMPUTES, MAIN, 323, 20, "add"}, {WAITS, 0, 0, 0, NULL}, {COMPUTES, MAIN, 623, 20, "add"});
  expect_edge(&program, 0, 6, LUMOS_INFERRED);
  expect_edge(&program, 2, 8, LUMOS_INFERRED);
  lumos_job_free(program.job);
}

static void an_empty_stream_passes_on_what_it_waits_for(void **state) {
  (void)state;
  struct program program =
      RUN(1, {COMPUTES, MAIN, 6, 3, NULL}, {COMMUNICATES, OTHER, 16, 3, NULL}, {WAITS, 0, 0, 0, "wait"},
          {WAITS, 0, 0, 0, "all_reduce"}, {COMMUNICATES, ONE, 46, 3, "all_reduce"}, {COMPUTES, MAIN, 56, 3, NULL});
  expect_edge(&program, 0, 4, LUMOS_ORDERED);
  expect_edge(&program, 1, 4, LUMOS_ORDERED);
  expect_edge(&program, 1, 5, LUMOS_ORDERED);
  assert_int_equal(edges(&program), 3);
  lumos_job_free(program.job);
  program = RUN(1, {COMMUNICATES, OTHER, 6, 3, NULL}, {WAITS, 0, 0, 0, "wait"}, {COMPUTES, MAIN, 26, 3, NULL},
                {WAITS, 0, 0, 0, "all_reduce"}, {COMMUNICATES, ONE, 46, 3, "all_reduce"});
  expect_edge(&program, 0, 2, LUMOS_ORDERED);
  expect_edge(&program, 2, 4, LUMOS_ORDERED);
  assert_int_equal(edges(&program), 2); /* the kernel between stands for it */
  lumos_job_free(program.job);
}

/* Sends and receives are prepared one by one and launched together. */
static void a_record_before_the_wait_prepares_communication_of_the_next_operator(void **state) {
  (void)state;
  struct program program =
      RUN(1, {COMMUNICATES, OTHER, 6, 3, NULL}, {COMPUTES, MAIN, 16, 3, NULL}, {RECORDS, 0, 0, 0, "send"},
          {WAITS, 0, 0, 0, "send"}, {COMMUNICATES, ONE, 46, 3, "coalesced"}, {COMPUTES, MAIN, 56, 3, NULL});
  expect_edge(&program, 1, 4, LUMOS_ORDERED);
  assert_int_equal(edges(&program), 1);
  lumos_job_free(program.job);
}

/* Where calls alone were recorded, no span says that they belong together. */
static void without_ops_the_record_before_the_wait_prepares_communication(void **state) {
  (void)state;
  struct program program =
      RUN(1, {COMMUNICATES, OTHER, 6, 3, NULL}, {COMPUTES, MAIN, 16, 3, NULL}, {RECORDS, 0, 0, 0, NULL},
          {WAITS, 0, 0, 0, NULL}, {COMMUNICATES, ONE, 46, 3, NULL}, {COMPUTES, MAIN, 56, 3, NULL});
  expect_edge(&program, 1, 4, LUMOS_ORDERED);
  assert_int_equal(edges(&program), 1);
  lumos_job_free(program.job);
}

static void an_operator_s_wait_is_for_the_thread_s_stream_whatever_comes_next(void **state) {
  (void)state;
  const struct call calls[] = {{COMPUTES, MAIN, 6, 3, NULL},
                               {COMMUNICATES, ONE, 16, 3, NULL},
                               {WAITS, 0, 0, 0, "wait"},
                               {COMPUTES, SIDE, 36, 3, NULL},
                               {COMPUTES, MAIN, 46, 3, NULL}};
  struct program program = run(calls, 5, 1);
  expect_edge(&program, 1, 4, LUMOS_ORDERED);
  assert_int_equal(edges(&program), 1);
  lumos_job_free(program.job);
  struct call bare[5];
  memcpy(bare, calls, sizeof calls);
  bare[2].in = NULL;
  program = run(bare, 5, 1);
  expect_edge(&program, 1, 3, LUMOS_ORDERED);
  lumos_job_free(program.job);
}

/* Where one operator is around both, what comes next is meant. */
static void an_operator_s_wait_is_for_what_comes_next_in_the_operator_around_it(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1");
  uint32_t stream = add_stream(job, rank, "7"), one = add_stream(job, rank, "20"), side = add_stream(job, rank, "24");
  uint32_t calls[4];
  calls[0] = add_launch(job, thread, 0, 5 * US);
  calls[1] = add_launch(job, thread, 10 * US, 5 * US);
  uint32_t wait = add_stream_wait(job, thread, 20 * US, 5 * US, LUMOS_NONE, LUMOS_NONE);
  calls[2] = add_launch(job, thread, 30 * US, 5 * US);
  calls[3] = add_launch(job, thread, 40 * US, 5 * US);
  uint32_t around = add_span(job, thread, "all_to_all", 20 * US);
  job->spans.items[around].dur = 15 * US;
  job->tasks.items[wait].span = add_span(job, thread, "wait", 20 * US);
  job->tasks.items[calls[2]].span = add_span(job, thread, "permute", 30 * US);
  for (uint32_t span = around + 1; span < job->spans.count; span++) {
    job->spans.items[span].parent = around;
  }
  add_kernel(job, stream, 6 * US, 3 * US, calls[0]);
  uint32_t later = add_kernel(job, stream, 46 * US, 3 * US, calls[3]);
  uint32_t communication = add_kernel(job, one, 16 * US, 3 * US, calls[1]);
  job->tasks.items[communication].kind = LUMOS_COLLECTIVE;
  uint32_t next = add_kernel(job, side, 36 * US, 3 * US, calls[2]);
  build(job);
  const struct lumos_dep *dep = dep_into(job, next, LUMOS_DEP_EVENT);
  assert_non_null(dep);
  assert_int_equal(dep->src, communication);
  assert_null(dep_into(job, later, LUMOS_DEP_EVENT));
  lumos_job_free(job);
}

/* Measured, the kernel of thread 1 is launched before the communication of thread 2, which waits for it. When thread 1
 * is late it first synchronises with that communication: it can wait for no kernel that is not there yet. */
static void an_inferred_edge_binds_to_what_is_enqueued(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), one = add_thread(job, rank, "1"), two = add_thread(job, rank, "2");
  uint32_t stream = add_stream(job, rank, "7"), side = add_stream(job, rank, "20");
  add_task(job, one, LUMOS_OP, "slow", 0, 5 * US);
  add_wait(job, one, 6 * US, 2 * US, LUMOS_WAIT_STREAM, side, LUMOS_NONE);
  uint32_t call = add_launch(job, one, 10 * US, 5 * US);
  uint32_t wait = add_stream_wait(job, two, 20 * US, 5 * US, LUMOS_NONE, LUMOS_NONE);
  uint32_t side_call = add_launch(job, two, 30 * US, 5 * US);
  uint32_t span = add_span(job, two, "all_reduce", 20 * US);
  job->spans.items[span].dur = 15 * US;
  job->tasks.items[wait].span = job->tasks.items[side_call].span = span;
  uint32_t kernel = add_kernel(job, stream, 16 * US, 200 * US, call);
  uint32_t communication = add_kernel(job, side, 219 * US, 50 * US, side_call);
  job->tasks.items[communication].kind = LUMOS_COLLECTIVE;
  build(job);
  const struct lumos_dep *dep = dep_into(job, communication, LUMOS_DEP_EVENT);
  assert_non_null(dep);
  assert_int_equal(dep->src, kernel);
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  struct lumos_error error = {0};
  assert_true(lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error));
  assert_int_equal(runs[communication].start, 219 * US);
  assert_true(lumos_transform_scale(job, "name~^slow$=100", &error));
  if (!lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error)) {
    fail_msg("%s", error.text);
  }
  assert_true(runs[communication].start < 100 * US);
  assert_true(runs[kernel].start > 500 * US);
  free(runs);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(communication_waits_for_what_its_thread_computes),
      cmocka_unit_test(the_library_s_own_wait_is_for_nothing_that_is_seen),
      cmocka_unit_test(what_is_annotated_as_the_library_s_waits_for_nothing_that_is_seen),
      cmocka_unit_test(a_pair_that_is_violated_is_out),
      cmocka_unit_test(a_pair_may_be_violated_once_in_fifty_waits),
      cmocka_unit_test(one_wait_that_binds_outweighs_the_custom_of_nineteen),
      cmocka_unit_test(the_pair_that_binds_is_believed),
      cmocka_unit_test(one_wait_in_a_row_claims_a_start),
      cmocka_unit_test(by_custom_the_latest_communication_comes_first_each_for_one_wait),
      cmocka_unit_test(waits_of_one_place_do_the_same),
      cmocka_unit_test(a_wait_may_be_for_older_work),
      cmocka_unit_test(waits_in_turn_are_for_the_oldest_piece_of_communication),
      cmocka_unit_test(waits_that_do_not_bind_in_turn_are_not_in_turn),
      cmocka_unit_test(a_wait_that_binds_once_is_not_in_turn),
      cmocka_unit_test(the_library_s_own_wait_takes_no_turn),
      cmocka_unit_test(an_empty_stream_passes_on_what_it_waits_for),
      cmocka_unit_test(a_record_before_the_wait_prepares_communication_of_the_next_operator),
      cmocka_unit_test(without_ops_the_record_before_the_wait_prepares_communication),
      cmocka_unit_test(an_operator_s_wait_is_for_the_thread_s_stream_whatever_comes_next),
      cmocka_unit_test(an_operator_s_wait_is_for_what_comes_next_in_the_operator_around_it),
      cmocka_unit_test(an_inferred_edge_binds_to_what_is_enqueued),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
