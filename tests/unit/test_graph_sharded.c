/* What waits in the hooks of PyTorch's fully_shard are for (src/graph/sharded.c), on programs of a few calls.
 *
 * A program is a list of calls of one thread, one every 10 us, each 5 us long; what it launches runs for 3 us right
 * behind, so that nothing is seen to wait for anything.
 */
#include "graph_job.h"

enum { US = 1000, CALLS = 40, DEPTH = 4 };
enum stream { COMPUTING, GATHERING, COPYING, REDUCING, STREAMS };
enum act { COMPUTES, GATHERS, SCATTERS, WAITS, RECORDS };

struct call {
  enum act act;
  enum stream stream;
  const char *in; /* spans around it, the outermost first, with '>' between them */
  int64_t lasts;  /* us, of what it launches; 0: 3 */
};

struct program {
  struct lumos_job *job;
  uint32_t launched[CALLS]; /* by call */
};

struct open {
  char name[128];
  uint32_t span;
};

static uint32_t add_span(struct lumos_job *job, const char *name, uint32_t parent, int64_t start) {
  struct lumos_span span = lumos_span_empty;
  span.id = (uint32_t)job->spans.count;
  span.rank = 0;
  span.lane = 0;
  span.start = start;
  span.dur = 5 * US;
  span.name = word(job, name);
  span.parent = parent;
  span.kind = strncmp(name, "FSDP::", 6) == 0 ? LUMOS_SPAN_ANNOTATION : LUMOS_SPAN_OP;
  lumos_vector_push(&job->spans, span);
  return span.id;
}

/* The innermost span around a call: neighbours share those of the same names. */
static uint32_t enter(struct lumos_job *job, struct open *open, const char *in, int64_t start) {
  uint32_t parent = LUMOS_NONE;
  for (int depth = 0; depth < DEPTH; depth++) {
    size_t length = strcspn(in, ">");
    if (length != strlen(open[depth].name) || strncmp(in, open[depth].name, length) != 0) {
      (void)snprintf(open[depth].name, sizeof open[depth].name, "%.*s", (int)length, in);
      open[depth].span = length == 0 ? LUMOS_NONE : add_span(job, open[depth].name, parent, start);
      for (int below = depth + 1; below < DEPTH; below++) {
        open[below].name[0] = 0;
      }
    }
    if (length == 0) {
      return parent;
    }
    parent = open[depth].span;
    job->spans.items[parent].dur = start + 5 * US - job->spans.items[parent].start;
    in += in[length] == 0 ? length : length + 1;
  }
  return parent;
}

static void launch(struct program *program, const struct call *call, size_t i, uint32_t stream, uint32_t task) {
  struct lumos_job *job = program->job;
  int64_t lasts = call->lasts == 0 ? 3 : call->lasts;
  uint32_t kernel = program->launched[i] = add_kernel(job, stream, ((int64_t)i * 10 + 6) * US, lasts * US, task);
  job->tasks.items[kernel].kind = call->act == COMPUTES ? LUMOS_ELEMENTWISE : LUMOS_COLLECTIVE;
  if (call->act != COMPUTES) {
    detail(job, kernel)->comm.op = word(job, call->act == GATHERS ? "all_gather" : "reduce_scatter");
  }
}

static struct program run(const struct call *calls, size_t count) {
  struct program program = {.job = new_job()};
  struct lumos_job *job = program.job;
  struct open open[DEPTH] = {{.name = ""}};
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), tasks[CALLS], streams[STREAMS];
  static const char *const names[STREAMS] = {"7", "17", "53", "57"};
  for (int s = 0; s < STREAMS; s++) {
    streams[s] = add_stream(job, rank, names[s]);
  }
  assert_true(count <= CALLS);
  for (size_t i = 0; i < count; i++) {
    int64_t start = (int64_t)i * 10 * US;
    tasks[i] = calls[i].act == WAITS     ? add_stream_wait(job, thread, start, 5 * US, LUMOS_NONE, LUMOS_NONE)
               : calls[i].act == RECORDS ? add_record(job, thread, start, 5 * US, LUMOS_NONE)
                                         : add_launch(job, thread, start, 5 * US);
    job->tasks.items[tasks[i]].span = enter(job, open, calls[i].in, start);
  }
  for (uint32_t s = 0; s < STREAMS; s++) {
    for (size_t i = 0; i < count; i++) {
      if (calls[i].act <= SCATTERS && calls[i].stream == s) {
        launch(&program, &calls[i], i, streams[s], tasks[i]);
      }
    }
  }
  build(job);
  return program;
}

static bool has_edge(const struct program *program, size_t from, size_t to) {
  bool has = false;
  for (size_t i = 0; i < program->job->deps.count && !has; i++) {
    const struct lumos_dep *dep = &program->job->deps.items[i];
    has = dep->kind == LUMOS_DEP_EVENT && dep->src == program->launched[from] && dep->dst == program->launched[to];
  }
  return has;
}

#define BACK(unit) "FSDP::pre_backward (layers." unit ")"
#define GATHER(unit) ">FSDP::all_gather (layers." unit ")"
#define SPLIT(unit) ">FSDP::all_gather_copy_out (layers." unit ")"
#define REDUCE(unit) "FSDP::post_backward_reduce (layers." unit ")"
#define BY_GATHER ">c10d::_allgather_base_"
#define BY_SCATTER ">c10d::_reduce_scatter_base_"

/* Back through two layers: the next one is gathered before the one at hand. */
static const struct call back[] = {
    {COMPUTES, COPYING, "FSDP::pre_backward" GATHER("1") ">fsdp::all_gather_copy_in", 0}, /* 0 */
    {WAITS, 0, "FSDP::pre_backward" GATHER("1") BY_GATHER, 0},
    {GATHERS, GATHERING, "FSDP::pre_backward" GATHER("1") BY_GATHER, 0}, /* 2 */
    {WAITS, 0, BACK("1") SPLIT("1"), 0},
    {COMPUTES, COMPUTING, BACK("1") SPLIT("1"), 0}, /* 4 */
    {RECORDS, 0, BACK("1"), 0},
    {WAITS, 0, BACK("1"), 0},
    {COMPUTES, COPYING, BACK("1") GATHER("0") ">fsdp::all_gather_copy_in", 0}, /* 7 */
    {WAITS, 0, BACK("1") GATHER("0") BY_GATHER, 0},
    {GATHERS, GATHERING, BACK("1") GATHER("0") BY_GATHER, 0}, /* 9 */
    {COMPUTES, COMPUTING, "MmBackward0", 0},
    {COMPUTES, COMPUTING, REDUCE("1"), 0}, /* 11 */
    {WAITS, 0, REDUCE("1"), 0},
    {WAITS, 0, REDUCE("1") BY_SCATTER, 0},
    {SCATTERS, GATHERING, REDUCE("1") BY_SCATTER, 0}, /* 14 */
    {WAITS, 0, REDUCE("1"), 0},
    {COMPUTES, REDUCING, REDUCE("1"), 0}, /* 16 */
    {WAITS, 0, BACK("0") SPLIT("0"), 0},
    {COMPUTES, COMPUTING, BACK("0") SPLIT("0"), 0}, /* 18 */
    {COMPUTES, COMPUTING, "MmBackward0", 0},
    {WAITS, 0, REDUCE("0"), 0},
    {COMPUTES, COMPUTING, REDUCE("0"), 0}, /* 21 */
    {WAITS, 0, REDUCE("0"), 0},
    {WAITS, 0, REDUCE("0") BY_SCATTER, 0},
    {SCATTERS, GATHERING, REDUCE("0") BY_SCATTER, 0}, /* 24 */
    {WAITS, 0, REDUCE("0"), 0},
    {COMPUTES, REDUCING, REDUCE("0"), 0}, /* 26 */
};
enum { OF_BACK = sizeof back / sizeof *back };

static void every_wait_is_for_what_its_hook_says(void **state) {
  (void)state;
  static const size_t edges[][2] = {{0, 2},   {2, 4},   {4, 7},   {7, 9},   {14, 16}, {9, 18},
                                    {14, 21}, {16, 24}, {21, 24}, {21, 26}, {24, 26}};
  struct program program = run(back, OF_BACK);
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    assert_true(has_edge(&program, edges[i][0], edges[i][1]));
  }
  assert_false(has_edge(&program, 14, 18)); /* the last on that stream, and nothing shows that it is not awaited */
  assert_false(has_edge(&program, 9, 21));
  lumos_job_free(program.job);
}

/* The first unit's parameters are split while they are still gathered. */
static void what_times_contradict_is_not_believed(void **state) {
  (void)state;
  struct call calls[OF_BACK];
  memcpy(calls, back, sizeof back);
  calls[2].lasts = 40;
  struct program program = run(calls, OF_BACK);
  assert_false(has_edge(&program, 2, 4));
  assert_false(has_edge(&program, 9, 18));
  assert_true(has_edge(&program, 4, 7)); /* other kinds are */
  assert_true(has_edge(&program, 14, 21));
  lumos_job_free(program.job);
}

#define FORWARD(unit) "FSDP::pre_forward (layers." unit ")"

/* Forward, the second of two waits in a row holds the gathering stream. */
static void no_third_unit_is_gathered_before_the_first_is_split(void **state) {
  (void)state;
  static const struct call calls[] = {
      {COMPUTES, COPYING, FORWARD("0") GATHER("0"), 0},
      {GATHERS, GATHERING, FORWARD("0") GATHER("0"), 0},
      {WAITS, 0, FORWARD("0") SPLIT("0"), 0},
      {COMPUTES, COMPUTING, FORWARD("0") SPLIT("0"), 0}, /* 3 */
      {COMPUTES, COMPUTING, "aten::mm", 0},
      {COMPUTES, COPYING, FORWARD("1") GATHER("1"), 0},  /* 5 */
      {GATHERS, GATHERING, FORWARD("1") GATHER("1"), 0}, /* 6 */
      {WAITS, 0, FORWARD("1"), 0},
      {WAITS, 0, FORWARD("1"), 0},
      {WAITS, 0, FORWARD("1") SPLIT("1"), 0},
      {COMPUTES, COMPUTING, FORWARD("1") SPLIT("1"), 0}, /* 10 */
      {COMPUTES, COMPUTING, "aten::mm", 0},
      {COMPUTES, COPYING, FORWARD("2") GATHER("2"), 0},  /* 12 */
      {GATHERS, GATHERING, FORWARD("2") GATHER("2"), 0}, /* 13 */
  };
  struct program program = run(calls, sizeof calls / sizeof *calls);
  assert_true(has_edge(&program, 3, 12));
  assert_true(has_edge(&program, 3, 13));
  assert_true(has_edge(&program, 6, 10));
  assert_false(has_edge(&program, 4, 12)); /* the last on the computing stream by then */
  assert_false(has_edge(&program, 3, 5));
  lumos_job_free(program.job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_wait_is_for_what_its_hook_says),
      cmocka_unit_test(what_times_contradict_is_not_believed),
      cmocka_unit_test(no_third_unit_is_gathered_before_the_first_is_split),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
