/* What a rank's first transfers of each step say of its stage, by hand. */
#include "unit/graph_job.h"

#include "program/stage.h"

enum { MOST = 8, NOBODY = -1, NO_STEP = LUMOS_ABSENT_INT };

/* A send, receive or batch, launched at `at` on stream 0 or 1. Peers: who it receives from, and sends to. */
struct row {
  int64_t at;
  const char *op;
  int32_t step, from, to;
  int stream;
  const char *span; /* around its launch, or NULL */
};

/* An op of the host that begins then. */
struct op {
  int64_t at;
  const char *text;
};

static uint32_t add_span(struct lumos_job *job, enum lumos_span_kind kind, const char *name, int64_t start) {
  struct lumos_span span = lumos_span_empty;
  span.id = (uint32_t)job->spans.count;
  span.rank = 0;
  span.kind = (uint8_t)kind;
  span.name = word(job, name);
  span.start = start;
  lumos_vector_push(&job->spans, span);
  return span.id;
}

static void add_peer(struct lumos_job *job, struct lumos_comm *comm, int32_t rank, bool sends) {
  if (rank != NOBODY) {
    struct lumos_peer peer = {rank, sends ? 8 : 0, sends ? 0 : 8};
    lumos_vector_push(&job->peers, peer);
    comm->peer_count++;
  }
}

static void add_transfer(struct lumos_job *job, uint32_t stream, uint32_t call, const struct row *row) {
  uint32_t task = add_task(job, stream, LUMOS_P2P, "ncclDevKernel", row->at + 5, 10);
  struct lumos_comm *comm = &detail(job, task)->comm;
  job->tasks.items[task].call = call;
  job->tasks.items[task].step = row->step;
  comm->op = word(job, row->op);
  comm->group = word(job, "p");
  comm->peer_first = (uint32_t)job->peers.count;
  add_peer(job, comm, row->from, false);
  add_peer(job, comm, row->to, true);
}

static struct program_stage_signs signs_of(const struct row *rows, const struct op *ops, size_t op_count) {
  struct lumos_job *job = new_job();
  struct lumos_error error = {0};
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), calls[MOST];
  const uint32_t streams[] = {add_stream(job, rank, "7"), add_stream(job, rank, "9")};
  struct lumos_group group = lumos_group_empty;
  group.id = word(job, "p");
  group.size = 2;
  lumos_vector_push(&job->groups, group);
  for (size_t i = 0; i < MOST && rows[i].op != NULL; i++) {
    calls[i] = add_launch(job, thread, rows[i].at, 1);
    if (rows[i].span != NULL) {
      job->tasks.items[calls[i]].span = add_span(job, LUMOS_SPAN_ANNOTATION, rows[i].span, rows[i].at);
    }
  }
  for (int stream = 0; stream < 2; stream++) {
    for (size_t i = 0; i < MOST && rows[i].op != NULL; i++) {
      if (rows[i].stream == stream) {
        add_transfer(job, streams[stream], calls[i], &rows[i]);
      }
    }
  }
  for (size_t i = 0; i < op_count; i++) {
    (void)add_span(job, LUMOS_SPAN_OP, ops[i].text, ops[i].at);
  }
  if (!lumos_job_arrange(job, &error)) {
    fail_msg("%s", error.text);
  }
  uint32_t channels[] = {LUMOS_NONE, LUMOS_NONE, LUMOS_NONE};
  const bool pipelines[] = {true};
  const struct program_communication all = {.job = job, .channel_of_lane = channels};
  struct program_stage_signs *of_ranks = program_stage_signs(&all, pipelines), signs = of_ranks[0];
  free(of_ranks);
  lumos_job_free(job);
  return signs;
}

#define SIGNS(...) signs_of((const struct row[MOST]){__VA_ARGS__}, NULL, 0)

static void expect(struct program_stage_signs signs, uint32_t first, uint32_t behind, int32_t from) {
  assert_true(signs.takes_part);
  assert_int_equal(signs.first, first);
  assert_int_equal(signs.behind, behind);
  assert_int_equal(signs.from, from);
}

static void who_receives_first_is_behind(void **state) {
  (void)state;
  expect(SIGNS({10, "recv", 0, 3, NOBODY, 0, NULL}, {20, "send", 0, NOBODY, 5, 0, NULL},
               {110, "recv", 1, 3, NOBODY, 0, NULL}, {120, "send", 1, NOBODY, 5, 0, NULL}),
         0, 2, 3);
  expect(SIGNS({10, "send", 0, NOBODY, 5, 0, NULL}, {20, "recv", 0, 5, NOBODY, 0, NULL},
               {110, "send", 1, NOBODY, 5, 0, NULL}),
         2, 0, -1);
  /* From one rank, then from another. */
  expect(SIGNS({10, "recv", 0, 3, NOBODY, 0, NULL}, {110, "recv", 1, 4, NOBODY, 0, NULL}), 0, 2, -1);
}

static void the_order_is_that_of_launches(void **state) {
  (void)state;
  expect(SIGNS({20, "send", 0, NOBODY, 5, 0, NULL}, {10, "recv", 0, 3, NOBODY, 1, NULL}), 0, 1, 3);
}

static void what_was_launched_before_the_recording_says_nothing(void **state) {
  (void)state;
  expect(SIGNS({10, "send", NO_STEP, NOBODY, 5, 0, NULL}, {110, "recv", 1, 3, NOBODY, 0, NULL}), 0, 1, 3);
}

/* A kernel that does both says nothing of its step; one of which it is not known is passed over. */
static void a_batch_may_say_nothing(void **state) {
  (void)state;
  expect(SIGNS({10, "send_recv", 0, 3, 5, 0, NULL}, {20, "recv", 0, 3, NOBODY, 0, NULL}), 0, 0, -1);
  expect(SIGNS({10, "send_recv", 0, NOBODY, NOBODY, 0, NULL}, {20, "recv", 0, 3, NOBODY, 0, NULL}), 0, 1, 3);
  expect(SIGNS({10, "send_recv", 0, 3, NOBODY, 0, NULL}), 0, 1, 3);
}

/* Ops say what a batch does that begin before its launch, whatever place they have; but what is known they do not
 * change. */
static void ops_before_the_launch_tell_of_a_batch(void **state) {
  (void)state;
  static const struct row batches[MOST] = {{100, "send_recv", 0, NOBODY, NOBODY, 0, NULL},
                                           {200, "send_recv", 0, NOBODY, NOBODY, 0, NULL}};
  static const struct op receives[] = {{150, "c10d::send"}, {90, "c10d::recv_"}};
  expect(signs_of(batches, receives, 2), 0, 1, -1);
  static const struct op sends[] = {{101, "c10d::recv_"}, {90, "c10d::send"}};
  expect(signs_of(batches, sends, 2), 1, 0, -1);
  static const struct row known[MOST] = {{100, "recv", 0, 3, NOBODY, 0, NULL}};
  static const struct op other[] = {{90, "c10d::send"}};
  expect(signs_of(known, other, 1), 0, 1, 3);
}

static void annotations_number_ranks_in_the_group(void **state) {
  (void)state;
  struct program_stage_signs signs =
      SIGNS({10, "recv", 0, NOBODY, NOBODY, 0, "nccl:recv 1<-0"}, {20, "send", 0, NOBODY, NOBODY, 0, "nccl:send 1->2"},
            {30, "recv", 0, NOBODY, NOBODY, 0, "nccl:recv 1<-0"}, {40, "recv", 0, NOBODY, NOBODY, 0, NULL});
  expect(signs, 0, 1, -1);
  assert_int_equal(signs.own, 1);
  assert_int_equal(signs.own_from, 0);
  assert_int_equal(signs.highest, 2);
  signs = SIGNS({10, "recv", 0, NOBODY, NOBODY, 0, "nccl:recv 1<-0"},
                {110, "recv", 1, NOBODY, NOBODY, 0, "nccl:recv 1<-2"});
  assert_int_equal(signs.own_from, -1); /* from one, then from another */
  /* Of a send the peer is nobody before it. */
  signs = SIGNS({10, "send_recv", 0, 3, NOBODY, 0, "nccl:send 1->2"});
  assert_int_equal(signs.own_from, -1);
  assert_int_equal(signs.highest, 2);
  static const char *const others[] = {
      "nccl:recv 1<-", "nccl:recv 1-0", "nccl:recv x<-0", "nccl:recv 1<-0, 2", "nccl:recv 1<-99999999999", "nccl:recv"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    signs = SIGNS({10, "recv", 0, NOBODY, NOBODY, 0, others[i]});
    assert_int_equal(signs.own, -1);
    assert_int_equal(signs.own_from, -1);
    assert_int_equal(signs.highest, -1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_receives_first_is_behind),
      cmocka_unit_test(the_order_is_that_of_launches),
      cmocka_unit_test(what_was_launched_before_the_recording_says_nothing),
      cmocka_unit_test(a_batch_may_say_nothing),
      cmocka_unit_test(ops_before_the_launch_tell_of_a_batch),
      cmocka_unit_test(annotations_number_ranks_in_the_group),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
