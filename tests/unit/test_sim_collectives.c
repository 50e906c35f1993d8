/* What communication costs, what pipelines lose and who is late, worked out by hand: times in microseconds. */
#include "report_job.h"
#include "sim/collectives.h"
#include "sim/metrics.h"
#include "sim/pipeline/bubble.h"
#include "stream_unit.h"

enum { US = 1000, NOWHERE = LUMOS_ABSENT_INT };

/* ---- Jobs ---- */

/* A rank whose clock agrees with the others', with a thread and `streams` streams. */
static void clocked_rank(struct lumos_job *job, int32_t number) {
  uint32_t index = add_rank(job, number);
  struct lumos_rank *rank = &job->ranks.items[index];
  rank->world = 3;
  rank->base = 0;
  rank->clock = (struct lumos_clock){.known = true, .from_collectives = true, .error = 0};
}

static uint32_t run(struct lumos_job *job, uint32_t lane, enum lumos_task_kind kind, int64_t start, int64_t end) {
  return add_task(job, lane, kind, "task", start * US, (end - start) * US);
}

/* A collective of these tasks; the members by task. */
static struct lumos_collective *join(struct lumos_job *job, const char *op, enum lumos_rule rule, int64_t transfer,
                                     const uint32_t *members, uint32_t count) {
  struct lumos_collective collective = lumos_collective_empty;
  collective.id = (uint32_t)job->collectives.count;
  collective.op = lumos_intern_text(job->strings, op);
  collective.rule = (uint8_t)rule;
  collective.size = (int32_t)count;
  collective.member_first = (uint32_t)job->members.count;
  collective.member_count = count;
  collective.transfer = transfer * US;
  for (uint32_t i = 0; i < count; i++) {
    lumos_vector_push(&job->members, members[i]);
  }
  lumos_vector_push(&job->collectives, collective);
  return &job->collectives.items[job->collectives.count - 1];
}

/* ---- Metrics ---- */

static void survey(struct lumos_job *job, bool simulated) {
  struct lumos_stretches stretches;
  struct lumos_timeline timeline;
  struct lumos_coupling coupling;
  lumos_find_stretches(job, &stretches);
  lumos_timeline_make(&timeline, job, simulated ? job->runs.items : NULL, &stretches);
  lumos_coupling_make(&coupling, job);
  lumos_write_collectives(job, &timeline);
  lumos_write_stragglers(job, &coupling, &timeline);
  lumos_coupling_free(&coupling);
  lumos_timeline_free(&timeline);
  lumos_vector_free(&stretches);
}

struct wanted {
  const char *name;
  int32_t rank, peer;
  const char *op, *kind;
  int64_t value;
};

static bool is_named(const struct lumos_job *job, lumos_string_id id, const char *name) {
  return name == NULL ? id == LUMOS_NO_STRING : strcmp(lumos_string(job->strings, id), name) == 0;
}

static const struct lumos_metric *find(const struct lumos_job *job, const struct wanted *wanted) {
  const struct lumos_metric *found = NULL;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const struct lumos_scope *scope = &metric->scope;
    if (is_named(job, metric->name, wanted->name) && scope->rank == wanted->rank && scope->peer == wanted->peer &&
        is_named(job, scope->op, wanted->op) && is_named(job, scope->kind, wanted->kind)) {
      assert_null(found);
      found = metric;
    }
  }
  return found;
}

static void holds(const struct lumos_job *job, const struct wanted *wanted, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct lumos_metric *metric = find(job, &wanted[i]);
    if (metric == NULL || metric->value.units != wanted[i].value) {
      fail_msg("%s of rank %d for %d, %s %s: %lld, not %lld", wanted[i].name, wanted[i].rank, wanted[i].peer,
               wanted[i].op != NULL ? wanted[i].op : "", wanted[i].kind != NULL ? wanted[i].kind : "",
               metric != NULL ? (long long)metric->value.units : -1LL, (long long)wanted[i].value);
    }
  }
}
#define HOLDS(job, wanted) holds(job, wanted, sizeof(wanted) / sizeof *(wanted))

/* ---- What it costs ---- */

/* An all-reduce of 0.3 MB: ranks come at 100, 130 and 190 us and end at 240. A broadcast by rank 0 at 300-320: rank
 * 1 is there at 280. Rank 2 sends what nobody in the traces receives, 5 us long. */
static struct lumos_job *three_ranks(void) {
  struct lumos_job *job = lumos_job_new();
  const int64_t starts[] = {100, 130, 190};
  uint32_t reduces[3];
  uint32_t broadcasts[2];
  for (uint32_t r = 0; r < 3; r++) {
    clocked_rank(job, (int32_t)r);
    reduces[r] = run(job, add_lane(job, r, "s1", LUMOS_STREAM), LUMOS_COLLECTIVE, starts[r], 240);
    uint32_t lane = add_lane(job, r, "s2", LUMOS_STREAM);
    if (r < 2) {
      broadcasts[r] = run(job, lane, LUMOS_COLLECTIVE, r == 0 ? 300 : 280, 320);
    } else {
      uint32_t alone = run(job, lane, LUMOS_P2P, 310, 315);
      struct lumos_detail *detail = lumos_task_detail(job, &job->tasks.items[alone]);
      detail->comm.op = lumos_intern_text(job->strings, "send");
      detail->comm.bytes = 77;
    }
  }
  join(job, "all_reduce", LUMOS_SYMMETRIC, 50, reduces, 3)->bytes = 300000;
  struct lumos_collective *broadcast = join(job, "broadcast", LUMOS_ROOTED, 20, broadcasts, 2);
  broadcast->bytes = 100000;
  broadcast->root = 0;
  finish_job(job);
  return job;
}

static void records_say_what_they_cost(void **state) {
  (void)state;
  struct lumos_job *job = three_ranks();
  survey(job, false);
  assert_int_equal(job->collectives.items[0].wait, LUMOS_ABSENT); /* that is of the simulated timeline */
  survey(job, true);
  const struct lumos_collective *reduce = &job->collectives.items[0];
  assert_int_equal(reduce->wait, (90 + 60) * US);
  assert_int_equal(reduce->waited_for, 2);
  assert_int_equal(reduce->algorithm_bandwidth.units, 6000000); /* 300 000 bytes in 50 us */
  assert_int_equal(reduce->algorithm_bandwidth.decimals, 6);
  assert_int_equal(reduce->bus_bandwidth.units, 8000000); /* 2 x 2/3 of it */
  assert_int_equal(reduce->label, LUMOS_MIXED);           /* 150 of 140 + 110 + 50 */
  const struct lumos_collective *broadcast = &job->collectives.items[1];
  assert_int_equal(broadcast->wait, 20 * US); /* the root waits for nobody */
  assert_int_equal(broadcast->waited_for, 0);
  assert_int_equal(broadcast->bus_bandwidth.units, 5000000);
  assert_int_equal(broadcast->label, LUMOS_TRANSFERS); /* 20 of 20 + 40 */
  lumos_job_free(job);
}

static void totals_and_the_matrix_add_up(void **state) {
  (void)state;
  struct lumos_job *job = three_ranks();
  survey(job, false);
  const struct wanted wanted[] = {
      {"collective_count", NOWHERE, NOWHERE, "all_reduce", NULL, 1},
      {"collective_time", NOWHERE, NOWHERE, "all_reduce", NULL, 300 * US},
      {"collective_transfer", NOWHERE, NOWHERE, "all_reduce", NULL, 150 * US},
      {"collective_wait", NOWHERE, NOWHERE, "all_reduce", NULL, 150 * US},
      {"collective_unsplit", NOWHERE, NOWHERE, "all_reduce", NULL, 0},
      {"collective_bytes", NOWHERE, NOWHERE, "all_reduce", NULL, 300000},
      {"collective_bus_bandwidth", NOWHERE, NOWHERE, "all_reduce", NULL, 8000000},
      {"collective_time", NOWHERE, NOWHERE, "broadcast", NULL, 60 * US},
      {"collective_wait", NOWHERE, NOWHERE, "broadcast", NULL, 20 * US},
      {"collective_count", NOWHERE, NOWHERE, "send", NULL, 1},
      {"collective_unsplit", NOWHERE, NOWHERE, "send", NULL, 5 * US},
      {"collective_bytes", NOWHERE, NOWHERE, "send", NULL, 77},
      {"wait_for", 0, 2, NULL, NULL, 90 * US},
      {"wait_for", 1, 2, NULL, NULL, 60 * US},
      {"wait_for", 1, 0, NULL, NULL, 20 * US},
      {"collective_wait", 0, NOWHERE, NULL, NULL, 90 * US},
      {"collective_wait", 1, NOWHERE, NULL, NULL, 80 * US},
      {"collective_wait", 2, NOWHERE, NULL, NULL, 0},
  };
  HOLDS(job, wanted);
  const struct wanted absent[] = {{"collective_wait", NOWHERE, NOWHERE, "send", NULL, 0},
                                  {"collective_bus_bandwidth", NOWHERE, NOWHERE, "send", NULL, 0},
                                  {"wait_for", 2, 0, NULL, NULL, 0}};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    assert_null(find(job, &absent[i]));
  }
  lumos_job_free(job);
}

/* Rank r's kernel of the all-reduce belongs to step r: what it costs counts in the last of these, 2. */
static void a_collective_of_several_steps_counts_in_the_last(void **state) {
  (void)state;
  struct lumos_job *job = three_ranks();
  const struct lumos_collective *reduce = &job->collectives.items[0];
  for (uint32_t r = 0; r < 3; r++) {
    job->tasks.items[job->members.items[reduce->member_first + r]].step = (int32_t)r;
  }
  survey(job, false);
  const struct wanted wanted = {"collective_wait", NOWHERE, NOWHERE, "all_reduce", NULL, 150 * US};
  holds(job, &wanted, 1);
  assert_int_equal(find(job, &wanted)->scope.step, 2);
  lumos_job_free(job);
}

/* Each of three members may be off by as much as the one whose clock is known worst: 3 * 33 of 300, or 3 * 34. */
static void a_label_needs_clocks_within_a_third(void **state) {
  (void)state;
  for (int64_t error = 33; error <= 34; error++) {
    struct lumos_job *job = three_ranks();
    job->ranks.items[1].clock.error = error * US;
    survey(job, true);
    assert_int_equal(job->collectives.items[0].label, error == 33 ? LUMOS_MIXED : LUMOS_INCONCLUSIVE);
    lumos_job_free(job);
  }
}

/* Rank 0 waits for ranks 1 to 17, one after the other, for 11 to 27: the shortest of these 17 is the rest. */
static void a_rank_names_sixteen_for_whom_it_waits(void **state) {
  (void)state;
  enum { PEERS = 17 };
  struct lumos_job *job = lumos_job_new();
  uint32_t members[PEERS][2];
  for (uint32_t r = 0; r <= PEERS; r++) {
    clocked_rank(job, (int32_t)r);
    uint32_t lane = add_lane(job, r, "s1", LUMOS_STREAM);
    for (int64_t p = r == 0 ? 1 : r; p <= (r == 0 ? PEERS : r); p++) {
      int64_t start = 100 * p + (r == 0 ? 0 : 10 + p);
      members[p - 1][r > 0] = run(job, lane, LUMOS_COLLECTIVE, start, 100 * p + 50);
    }
  }
  for (int i = 0; i < PEERS; i++) {
    join(job, "all_reduce", LUMOS_SYMMETRIC, 20, members[i], 2);
  }
  finish_job(job);
  survey(job, true);
  const struct wanted wanted[] = {{"wait_for", 0, 17, NULL, NULL, 27 * US},
                                  {"wait_for", 0, 2, NULL, NULL, 12 * US},
                                  {"wait_for", 0, NOWHERE, NULL, "rest", 11 * US},
                                  {"collective_wait", 0, NOWHERE, NULL, NULL, (17 * 10 + 17 * 18 / 2) * US}};
  HOLDS(job, wanted);
  const struct wanted shortest = {"wait_for", 0, 1, NULL, NULL, 0};
  assert_null(find(job, &shortest));
  lumos_job_free(job);
}

static void clocks_that_nobody_compared_split_nothing(void **state) {
  (void)state;
  struct lumos_job *job = three_ranks();
  job->ranks.items[2].clock.from_collectives = false;
  survey(job, true);
  const struct lumos_collective *reduce = &job->collectives.items[0];
  assert_int_equal(reduce->wait, LUMOS_ABSENT);
  assert_int_equal(reduce->waited_for, LUMOS_ABSENT_INT);
  assert_int_equal(reduce->label, LUMOS_INCONCLUSIVE);
  assert_int_equal(reduce->algorithm_bandwidth.units, 6000000); /* a length needs no other clock */
  const struct wanted wanted[] = {{"collective_unsplit", NOWHERE, NOWHERE, "all_reduce", NULL, 300 * US},
                                  {"wait_for", 1, 0, NULL, NULL, 20 * US},
                                  {"collective_wait", 1, NOWHERE, NULL, NULL, 20 * US}};
  HOLDS(job, wanted);
  const struct wanted unknown = {"collective_wait", 2, NOWHERE, NULL, NULL, 0};
  assert_null(find(job, &unknown));
  assert_int_equal(job->notes.count, 1);
  assert_string_equal(lumos_string(job->strings, job->notes.items[0].code), "sim.unknown_stragglers");
  assert_int_equal(job->notes.items[0].count, 1);
  lumos_job_free(job);
}

static void factors_are_those_of_nccl_tests(void **state) {
  (void)state;
  static const struct {
    const char *op;
    int32_t size;
    double factor;
  } cases[] = {{"all_reduce", 8, 1.75},  {"all_reduce", 2, 1}, {"all_gather", 4, 0.75}, {"reduce_scatter", 4, 0.75},
               {"all_to_all", 8, 0.875}, {"gather", 2, 0.5},   {"scatter", 2, 0.5},     {"broadcast", 8, 1},
               {"reduce", 8, 1},         {"send_recv", 2, 1},  {"barrier", 8, -1},      {"other", 8, -1},
               {"all_reduce", 1, -1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(lumos_bus_factor(cases[i].op, cases[i].size) == cases[i].factor);
  }
}

static void labels_change_at_thirds(void **state) {
  (void)state;
  assert_int_equal(lumos_collective_label(100, 300, 0), LUMOS_TRANSFERS);
  assert_int_equal(lumos_collective_label(101, 300, 100), LUMOS_MIXED);
  assert_int_equal(lumos_collective_label(199, 300, 0), LUMOS_MIXED);
  assert_int_equal(lumos_collective_label(200, 300, 0), LUMOS_ARRIVAL_SKEW);
  assert_int_equal(lumos_collective_label(200, 300, 101), LUMOS_INCONCLUSIVE);
  assert_int_equal(lumos_collective_label(0, 0, 0), LUMOS_INCONCLUSIVE);
}

/* ---- Bubbles ---- */

/* The bubbles of two stages of two ranks and one, in steps of 100. */
static struct lumos_job *job_with_bubbles(const struct lumos_partition own[3]) {
  struct lumos_job *job = lumos_job_new();
  for (int32_t r = 0; r < 3; r++) {
    clocked_rank(job, r);
    job->ranks.items[r].has_parallel = true;
    job->ranks.items[r].parallel.pp = r / 2;
    run(job, add_lane(job, (uint32_t)r, "s1", LUMOS_STREAM), LUMOS_GEMM, 0, 100);
  }
  finish_job(job);
  struct lumos_stretches stretches;
  struct lumos_timeline timeline;
  lumos_find_stretches(job, &stretches);
  lumos_timeline_make(&timeline, job, NULL, &stretches);
  assert_int_equal(timeline.steps.count, 3);
  lumos_write_bubbles(job, &timeline, own);
  lumos_timeline_free(&timeline);
  lumos_vector_free(&stretches);
  return job;
}

static void bubbles_are_means_over_the_ranks_of_a_stage(void **state) {
  (void)state;
  /* Ranks 0 and 1 wait 20 and 31 for rank 2, which waits 7 for rank 0. */
  const struct lumos_partition own[] = {{.pipeline_bubble = 20}, {.pipeline_bubble = 31}, {.pipeline_bubble = 7}};
  struct lumos_job *job = job_with_bubbles(own);
  assert_int_equal(job->metrics.count, 3); /* no passes, no schedule */
  const int64_t bubbles[] = {26, 7, 19};   /* 25.5, 7, 58 / 3 */
  const int32_t stages[] = {0, 1, NOWHERE};
  for (int i = 0; i < 3; i++) {
    assert_true(is_named(job, job->metrics.items[i].name, "bubble"));
    assert_int_equal(job->metrics.items[i].scope.stage, stages[i]);
    assert_int_equal(job->metrics.items[i].value.units, bubbles[i]);
  }
  lumos_job_free(job);
}

static void a_bubble_that_may_be_twice_as_long_is_not_told(void **state) {
  (void)state;
  /* Of stage 1 as much is not split as is bubble, then more; of the job 57 or 58 are not, of 58. */
  struct lumos_partition own[] = {{.pipeline_bubble = 20, .communication_unsplit = 50},
                                  {.pipeline_bubble = 31},
                                  {.pipeline_bubble = 7, .communication_unsplit = 7}};
  struct lumos_job *job = job_with_bubbles(own);
  assert_int_equal(job->metrics.count, 3);
  lumos_job_free(job);
  own[2].communication_unsplit++;
  job = job_with_bubbles(own);
  assert_int_equal(job->metrics.count, 2);
  assert_int_equal(job->metrics.items[0].scope.stage, 0);
  assert_int_equal(job->metrics.items[1].scope.stage, NOWHERE);
  lumos_job_free(job);
  own[2] = (struct lumos_partition){.communication_unsplit = 100}; /* never 0 */
  job = job_with_bubbles(own);
  assert_int_equal(job->metrics.count, 1);
  assert_int_equal(job->metrics.items[0].scope.stage, 0);
  lumos_job_free(job);
}

/* ---- Who is late ---- */

/* Ranks that leave A together at 6, compute until computed[r], come to B at second[r], and leave it at 18; compute
 * until 20 and come to C at third[r]; it ends at 27. */
struct arrivals {
  enum lumos_task_kind kind; /* what they do until computed[r] */
  uint32_t ranks;
  int64_t computed[4], second[4], third[4];
};

static struct lumos_job *slow_ranks(const struct arrivals *arrivals) {
  struct lumos_job *job = lumos_job_new();
  uint32_t members[3][4];
  for (uint32_t r = 0; r < arrivals->ranks; r++) {
    clocked_rank(job, (int32_t)r);
    uint32_t lane = add_lane(job, r, "s1", LUMOS_STREAM);
    members[0][r] = run(job, lane, LUMOS_COLLECTIVE, 4, 6);
    run(job, lane, arrivals->kind, 6, arrivals->computed[r]);
    members[1][r] = run(job, lane, LUMOS_COLLECTIVE, arrivals->second[r], 18);
    run(job, lane, LUMOS_GEMM, 18, 20);
    members[2][r] = run(job, lane, LUMOS_COLLECTIVE, arrivals->third[r], 27);
  }
  for (int i = 0; i < 3; i++) {
    join(job, "all_reduce", LUMOS_SYMMETRIC, 2, members[i], arrivals->ranks);
  }
  finish_job(job);
  survey(job, true);
  return job;
}

static bool is_straggler(const struct lumos_job *job, int32_t rank) {
  const struct wanted wanted = {"straggler", rank, NOWHERE, NULL, NULL, 0};
  return find(job, &wanted) != NULL;
}

static void a_rank_is_late_by_what_it_did_before(void **state) {
  (void)state;
  const struct arrivals arrivals = {LUMOS_GEMM, 3, {10, 10, 16}, {10, 11, 16}, {20, 20, 25}};
  struct lumos_job *job = slow_ranks(&arrivals);
  /* Rank 0 comes first, to B and to C together. Rank 2 comes to B 6 after it, and computed for 6 more; to C 5 after it,
   * and was idle for 5 more. Rank 1 comes to B 1 after it, and was idle for 1 more. All of 27. */
  const struct wanted wanted[] = {
      {"late_arrival", 2, NOWHERE, NULL, NULL, 11 * US},    {"late_arrival", 2, NOWHERE, NULL, "compute", 6 * US},
      {"late_arrival", 2, NOWHERE, NULL, "host", 5 * US},   {"late_arrival", 2, NOWHERE, NULL, "inherited", 0},
      {"straggler_delay", 2, NOWHERE, NULL, NULL, 11 * US}, {"last_arrivals", 2, NOWHERE, NULL, NULL, 2},
      {"straggler_delay", 0, NOWHERE, NULL, NULL, 0},       {"late_arrival", 1, NOWHERE, NULL, NULL, 1 * US},
      {"straggler_delay", 1, NOWHERE, NULL, NULL, 1 * US},  {"straggler_delay", NOWHERE, NOWHERE, NULL, NULL, 4 * US},
      {"straggler", 2, NOWHERE, NULL, NULL, 407407}};
  HOLDS(job, wanted);
  assert_int_equal(job->notes.count, 1);
  assert_string_equal(lumos_string(job->strings, job->notes.items[0].code), "sim.straggler");
  assert_int_equal(job->notes.items[0].scope.rank, 2);
  assert_non_null(strstr(lumos_string(job->strings, job->notes.items[0].text), "0.011 ms a step (40.7 % of it)"));
  assert_non_null(strstr(lumos_string(job->strings, job->notes.items[0].text), "at 2 of 3 collectives"));
  const struct wanted no_other[] = {{"straggler", 0, NOWHERE, NULL, NULL, 0}, {"straggler", 1, NOWHERE, NULL, NULL, 0}};
  assert_null(find(job, &no_other[0]));
  assert_null(find(job, &no_other[1]));
  lumos_job_free(job);
}

/* The same with copies in place of computation: a GPU that copies for longer is no host that is slow. */
static void a_rank_is_late_by_what_it_copied(void **state) {
  (void)state;
  const struct arrivals arrivals = {LUMOS_COPY, 3, {10, 10, 16}, {10, 11, 16}, {20, 20, 25}};
  struct lumos_job *job = slow_ranks(&arrivals);
  const struct wanted wanted[] = {{"late_arrival", 2, NOWHERE, NULL, "compute", 6 * US},
                                  {"late_arrival", 2, NOWHERE, NULL, "host", 5 * US},
                                  {"straggler_delay", 2, NOWHERE, NULL, NULL, 11 * US}};
  HOLDS(job, wanted);
  lumos_job_free(job);
}

/* Ranks 1 and 3 compute for 6 more than ranks 0 and 2; then they are idle for as much more. So with rank 2 as slow. */
static void slow_ranks_do_not_hide_each_other(void **state) {
  (void)state;
  for (int64_t slow = 0; slow <= 6; slow += 6) {
    const struct arrivals arrivals = {
        LUMOS_GEMM, 4, {10, 16, 10 + slow, 16}, {10, 16, 10 + slow, 16}, {20, 26, 20 + slow, 26}};
    struct lumos_job *job = slow_ranks(&arrivals);
    const struct wanted wanted[] = {{"straggler_delay", 0, NOWHERE, NULL, NULL, 0},
                                    {"straggler_delay", 1, NOWHERE, NULL, NULL, 12 * US},
                                    {"straggler_delay", 2, NOWHERE, NULL, NULL, 2 * slow * US},
                                    {"straggler_delay", 3, NOWHERE, NULL, NULL, 12 * US},
                                    {"straggler", 1, NOWHERE, NULL, NULL, 444444},
                                    {"straggler", 3, NOWHERE, NULL, NULL, 444444}};
    HOLDS(job, wanted);
    assert_int_equal(is_straggler(job, 2), slow > 0);
    assert_false(is_straggler(job, 0));
    lumos_job_free(job);
  }
}

/* One collective of eight ranks, behind another; rank r computed for computed[r]. They are compared with the second
 * fastest: a quarter of the seven others is one. */
static void one_fast_rank_makes_nobody_slow(void **state) {
  (void)state;
  const int64_t computed[8] = {20, 2, 20, 20, 20, 28, 20, 20};
  struct lumos_job *job = lumos_job_new();
  uint32_t members[2][8];
  for (uint32_t r = 0; r < 8; r++) {
    clocked_rank(job, (int32_t)r);
    uint32_t lane = add_lane(job, r, "s1", LUMOS_STREAM);
    members[0][r] = run(job, lane, LUMOS_COLLECTIVE, 0, 1);
    run(job, lane, LUMOS_GEMM, 1, 1 + computed[r]);
    members[1][r] = run(job, lane, LUMOS_COLLECTIVE, 1 + computed[r], 32);
  }
  join(job, "all_reduce", LUMOS_SYMMETRIC, 1, members[0], 8);
  join(job, "all_reduce", LUMOS_SYMMETRIC, 1, members[1], 8);
  finish_job(job);
  survey(job, false);
  const struct wanted wanted[] = {{"late_arrival", 0, NOWHERE, NULL, NULL, 0},
                                  {"late_arrival", 1, NOWHERE, NULL, NULL, 0},
                                  {"straggler_delay", 5, NOWHERE, NULL, NULL, 8 * US},
                                  {"straggler", 5, NOWHERE, NULL, NULL, 250000}}; /* of 32 */
  HOLDS(job, wanted);
  for (int32_t r = 0; r < 8; r++) {
    assert_int_equal(is_straggler(job, r), r == 5);
  }
  lumos_job_free(job);
}

/* One step of 27, of which a straggler's own delay is a quarter: rank 2 is late by 10 (37.0 %), and rank 1 is named
 * with 8 (29.6 %); of 7 (25.9 %) and 6 (22.2 %) both are, and with 5 (18.5 %) rank 1 is not: that is less than 80 % of
 * 7. */
static void who_is_nearly_as_late_is_named_too(void **state) {
  (void)state;
  static const struct {
    int64_t first, second;
    bool named;
  } rows[] = {{8, 10, true}, {6, 7, true}, {5, 7, false}, {6, 6, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int64_t a = 10 + rows[i].first, b = 10 + rows[i].second;
    const struct arrivals arrivals = {LUMOS_GEMM, 3, {10, a, b}, {10, a, b}, {20, 20, 20}};
    struct lumos_job *job = slow_ranks(&arrivals);
    assert_int_equal(is_straggler(job, 1), rows[i].named);
    assert_int_equal(is_straggler(job, 2), rows[i].second >= 7);
    assert_false(is_straggler(job, 0));
    lumos_job_free(job);
  }
}

/* Four stages of a pipeline that meet in no collective, with two kernels of a layer each in a step of 40; the kernels
 * of stage s take busy[s], and before the second one, which is launched 1 before it starts, the GPU is idle for
 * idle[s]. Stage 3 has a head, too, that counts for nothing. */
enum layers { ALIKE, OF_OTHER_KERNELS, BEHIND_A_WAIT /* of the thread, from one launch to the other */ };
static struct lumos_job *slow_stages(const int64_t busy[4], const int64_t idle[4], enum layers layers) {
  struct lumos_job *job = lumos_job_new();
  for (uint32_t r = 0; r < 4; r++) {
    clocked_rank(job, (int32_t)r);
    struct lumos_rank *rank = &job->ranks.items[r];
    rank->has_parallel = true;
    rank->parallel = (struct lumos_parallel){.tp = 0, .pp = (int32_t)r, .dp = 0, .cp = 0, .ep = 0};
    int64_t at = 2 + busy[r] + idle[r];
    uint32_t thread = add_lane(job, r, "t1", LUMOS_THREAD);
    uint32_t calls[2] = {run(job, thread, LUMOS_LAUNCH, 0, 1), 0};
    if (layers == BEHIND_A_WAIT) {
      (void)run(job, thread, LUMOS_SYNC, 1, at - 2);
    }
    calls[1] = run(job, thread, LUMOS_LAUNCH, at - 2, at - 1);
    uint32_t lane = add_lane(job, r, "s1", LUMOS_STREAM);
    uint32_t first = run(job, lane, LUMOS_GEMM, 2, 2 + busy[r]);
    uint32_t second = run(job, lane, LUMOS_GEMM, at, at + busy[r]);
    job->tasks.items[first].call = calls[0];
    job->tasks.items[second].call = calls[1];
    job->tasks.items[first].layer = job->tasks.items[second].layer = (int32_t)r;
    if (layers == OF_OTHER_KERNELS) {
      job->tasks.items[second].name = lumos_intern_text(job->strings, r == 2 ? "other" : "another");
    }
    (void)run(job, lane, r == 3 ? LUMOS_GEMM : LUMOS_P2P, 30, 40);
  }
  finish_job(job);
  survey(job, true);
  return job;
}

/* From launch to launch threads take what a kernel takes and the idle time behind it. */
static void stages_with_the_same_layers_are_compared(void **state) {
  (void)state;
  struct lumos_job *job = slow_stages((const int64_t[]){4, 4, 9, 4}, (const int64_t[]){1, 1, 2, 2}, ALIKE);
  const struct wanted compute[] = {
      {"late_arrival", 2, NOWHERE, NULL, "compute", 10 * US},
      {"late_arrival", 2, NOWHERE, NULL, "host", 2 * US}, /* 6 more from launch to launch, but idle for 2 alone */
      {"straggler", 2, NOWHERE, NULL, NULL, 300000},
      {"late_arrival", 3, NOWHERE, NULL, "host", 1 * US},
      {"straggler_delay", 0, NOWHERE, NULL, NULL, 0},
      {"straggler_delay", 1, NOWHERE, NULL, NULL, 0}};
  HOLDS(job, compute);
  assert_null(strstr(lumos_string(job->strings, job->notes.items[0].text), "last to arrive"));
  for (int32_t r = 0; r < 4; r++) {
    assert_int_equal(is_straggler(job, r), r == 2);
  }
  lumos_job_free(job);
}

static void stages_are_slow_by_their_own_time(void **state) {
  (void)state;
  static const struct {
    int64_t busy[4], idle[4];
    enum layers layers;
    bool slow[4];
  } rows[] = {
      {{4, 4, 4, 4}, {11, 1, 11, 11}, ALIKE, {true, false, true, true}}, /* three of four */
      {{4, 4, 4, 4}, {11, 1, 11, 11}, BEHIND_A_WAIT, {0}},
      {{4, 4, 9, 4}, {1, 1, 1, 1}, ALIKE, {false, false, true, false}},
      {{4, 4, 9, 4}, {1, 1, 1, 1}, OF_OTHER_KERNELS, {0}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_job *job = slow_stages(rows[i].busy, rows[i].idle, rows[i].layers);
    for (int32_t r = 0; r < 4; r++) {
      assert_int_equal(is_straggler(job, r), rows[i].slow[r]);
    }
    lumos_job_free(job);
  }
}

/* Two ranks, now one and now the other of which computes for 3 more: neither is slow. */
static void what_evens_out_is_no_delay(void **state) {
  (void)state;
  const struct arrivals arrivals = {LUMOS_GEMM, 2, {10, 13}, {10, 13}, {23, 20}};
  struct lumos_job *job = slow_ranks(&arrivals);
  const struct wanted wanted[] = {{"late_arrival", 0, NOWHERE, NULL, NULL, 0},
                                  {"late_arrival", 1, NOWHERE, NULL, NULL, 0},
                                  {"last_arrivals", 1, NOWHERE, NULL, NULL, 1}};
  HOLDS(job, wanted);
  lumos_job_free(job);
}

/* Ranks 0 and 1 share T, ranks 0 and 2 share D; all leave the first ones at 1. Rank 0 computes for 2, waits in T
 * from 3 for rank 1, which computes for 6, until 8; computes for 2 and comes to D at 10. Rank 2 computes for 4 and
 * comes at 5. */
static void who_was_held_up_is_not_to_blame(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  uint32_t t[2][2];
  uint32_t d[2][2];
  clocked_rank(job, 0);
  uint32_t lane = add_lane(job, 0, "s1", LUMOS_STREAM);
  run(job, lane, LUMOS_GEMM, 1, 3);
  run(job, lane, LUMOS_GEMM, 8, 10);
  lane = add_lane(job, 0, "s2", LUMOS_STREAM);
  t[0][0] = run(job, lane, LUMOS_COLLECTIVE, 0, 1);
  t[1][0] = run(job, lane, LUMOS_COLLECTIVE, 3, 8);
  lane = add_lane(job, 0, "s3", LUMOS_STREAM);
  d[0][0] = run(job, lane, LUMOS_COLLECTIVE, 0, 1);
  d[1][0] = run(job, lane, LUMOS_COLLECTIVE, 10, 11);
  clocked_rank(job, 1);
  lane = add_lane(job, 1, "s1", LUMOS_STREAM);
  t[0][1] = run(job, lane, LUMOS_COLLECTIVE, 0, 1);
  run(job, lane, LUMOS_GEMM, 1, 7);
  t[1][1] = run(job, lane, LUMOS_COLLECTIVE, 7, 8);
  clocked_rank(job, 2);
  lane = add_lane(job, 2, "s1", LUMOS_STREAM);
  d[0][1] = run(job, lane, LUMOS_COLLECTIVE, 0, 1);
  run(job, lane, LUMOS_GEMM, 1, 5);
  d[1][1] = run(job, lane, LUMOS_COLLECTIVE, 5, 11);
  for (int i = 0; i < 2; i++) {
    join(job, "all_reduce", LUMOS_SYMMETRIC, 1, t[i], 2);
    join(job, "all_reduce", LUMOS_SYMMETRIC, 1, d[i], 2);
  }
  finish_job(job);
  survey(job, false);
  const struct wanted wanted[] = {
      {"late_arrival", 0, NOWHERE, NULL, NULL, 5 * US},      {"late_arrival", 0, NOWHERE, NULL, "inherited", 5 * US},
      {"straggler_delay", 0, NOWHERE, NULL, NULL, 0},        {"straggler_delay", 1, NOWHERE, NULL, NULL, 4 * US},
      {"late_arrival", 1, NOWHERE, NULL, "compute", 4 * US}, {"straggler_delay", 2, NOWHERE, NULL, NULL, 0},
      {"straggler", 1, NOWHERE, NULL, NULL, 363636}}; /* of 11 */
  HOLDS(job, wanted);
  lumos_job_free(job);
}

/* Two ranks, of which the second's thread is 5 late all the time, and launches as fast as the first's: 10 from one
 * to the next, or `slower` by as much each time. Kernels start `delay` after their launch.
 * `waits`: what it is slower by it waits for the device. */
static struct lumos_job *late_host(int64_t slower, int64_t delay, bool waits) {
  struct lumos_job *job = lumos_job_new();
  uint32_t members[3][2];
  for (uint32_t r = 0; r < 2; r++) {
    clocked_rank(job, (int32_t)r);
    uint32_t thread = add_lane(job, r, "t1", LUMOS_THREAD);
    uint32_t calls[3];
    for (int64_t i = 0; i < 3; i++) {
      int64_t start = 10 * i + r * (5 + slower * i);
      calls[i] = run(job, thread, LUMOS_LAUNCH, start, start + 1);
      if (waits && r == 1) {
        (void)run(job, thread, LUMOS_SYNC, start + 1, start + 1 + slower);
      }
    }
    uint32_t lane = add_lane(job, r, "s1", LUMOS_STREAM);
    for (int64_t i = 0; i < 3; i++) {
      members[i][r] =
          run(job, lane, LUMOS_COLLECTIVE, delay + 10 * i + 1 + r * (5 + slower * i), delay + 10 * i + 7 + slower * i);
      job->tasks.items[members[i][r]].call = calls[i];
    }
  }
  for (int i = 0; i < 3; i++) {
    join(job, "all_reduce", LUMOS_SYMMETRIC, 1, members[i], 2);
  }
  finish_job(job);
  survey(job, false);
  return job;
}

static void a_host_that_was_late_before_is_not_slow(void **state) {
  (void)state;
  for (int slower = 0; slower < 2; slower++) {
    struct lumos_job *job = late_host(2 * slower, 0, false);
    /* Late by 5, 5 and 5; slower: by 5, 7 and 9, of which 2 and 2 are new. */
    const struct wanted wanted[] = {{"late_arrival", 1, NOWHERE, NULL, NULL, slower ? 21 * US : 15 * US},
                                    {"late_arrival", 1, NOWHERE, NULL, "host", slower ? 4 * US : 0},
                                    {"late_arrival", 1, NOWHERE, NULL, "unknown", 5 * US}, /* to the first one */
                                    {"late_arrival", 1, NOWHERE, NULL, "inherited", slower ? 12 * US : 10 * US},
                                    {"straggler_delay", 1, NOWHERE, NULL, NULL, slower ? 4 * US : 0}};
    HOLDS(job, wanted);
    lumos_job_free(job);
  }
}

/* Slower by 2 each time, and that is what it waits for the device: none of it is the host's. */
static void waiting_for_the_device_is_no_time_of_the_host(void **state) {
  (void)state;
  struct lumos_job *job = late_host(2, 0, true);
  const struct wanted wanted[] = {{"late_arrival", 1, NOWHERE, NULL, NULL, 21 * US},
                                  {"late_arrival", 1, NOWHERE, NULL, "host", 0}};
  HOLDS(job, wanted);
  lumos_job_free(job);
}

/* A kernel that starts 20 after its launch was held by something else: then what counts is that its streams were idle,
 * for 9 in place of the other rank's 4, twice. */
static void what_starts_long_after_its_launch_was_not_held_by_it(void **state) {
  (void)state;
  for (int64_t delay = 19; delay <= 20; delay++) {
    struct lumos_job *job = late_host(0, delay, false);
    const struct wanted wanted[] = {{"late_arrival", 1, NOWHERE, NULL, NULL, 15 * US},
                                    {"late_arrival", 1, NOWHERE, NULL, "host", delay == 19 ? 0 : 10 * US}};
    HOLDS(job, wanted);
    lumos_job_free(job);
  }
}

/* One step of 27: a straggler's own delay is a quarter of it. Rank 1 computes for 3 more, then it is idle for 4 more,
 * or 3. */
static void of_one_step_a_straggler_delays_a_quarter(void **state) {
  (void)state;
  for (int64_t idle = 3; idle <= 4; idle++) {
    const struct arrivals arrivals = {LUMOS_GEMM, 2, {10, 13}, {10, 13}, {20, 20 + idle}};
    struct lumos_job *job = slow_ranks(&arrivals);
    const struct wanted wanted = {"straggler", 1, NOWHERE, NULL, NULL, 0};
    assert_int_equal(find(job, &wanted) != NULL, idle == 4); /* 7 of 27, or 6 */
    lumos_job_free(job);
  }
}

enum { STEPS = 4 };

/* Steps of 100: both ranks leave a collective, rank 1 computes for late[s] more, and they meet again. What was before
 * the first step is not known, so it does not count. */
static bool straggles(const int64_t late[STEPS]) {
  struct lumos_job *job = lumos_job_new();
  uint32_t members[2 * STEPS][2];
  for (uint32_t r = 0; r < 2; r++) {
    clocked_rank(job, (int32_t)r);
    uint32_t lane = add_lane(job, r, "s1", LUMOS_STREAM);
    for (int64_t s = 0; s < STEPS; s++) {
      int64_t at = 100 * s, until = at + 10 + r * late[s];
      uint32_t first = members[2 * s][r] = run(job, lane, LUMOS_COLLECTIVE, at, at + 2);
      uint32_t work = run(job, lane, LUMOS_GEMM, at + 2, until);
      uint32_t last = members[2 * s + 1][r] = run(job, lane, LUMOS_COLLECTIVE, until, at + 100);
      job->tasks.items[first].step = job->tasks.items[work].step = job->tasks.items[last].step = (int32_t)s;
    }
  }
  for (int i = 0; i < 2 * STEPS; i++) {
    join(job, "all_reduce", LUMOS_SYMMETRIC, 1, members[i], 2);
  }
  finish_job(job);
  survey(job, false);
  const struct wanted wanted = {"straggler", 1, NOWHERE, NULL, NULL, 0};
  bool found = find(job, &wanted) != NULL;
  lumos_job_free(job);
  return found;
}

static void a_straggler_delays_a_tenth_on_average_and_in_two_of_three_steps(void **state) {
  (void)state;
  assert_true(straggles((const int64_t[STEPS]){0, 10, 10, 10}));
  assert_false(straggles((const int64_t[STEPS]){0, 10, 10, 9}));
  assert_true(straggles((const int64_t[STEPS]){0, 15, 15, 0}));
  assert_false(straggles((const int64_t[STEPS]){0, 30, 0, 0}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(records_say_what_they_cost),
      cmocka_unit_test(totals_and_the_matrix_add_up),
      cmocka_unit_test(a_collective_of_several_steps_counts_in_the_last),
      cmocka_unit_test(a_label_needs_clocks_within_a_third),
      cmocka_unit_test(a_rank_names_sixteen_for_whom_it_waits),
      cmocka_unit_test(clocks_that_nobody_compared_split_nothing),
      cmocka_unit_test(factors_are_those_of_nccl_tests),
      cmocka_unit_test(labels_change_at_thirds),
      cmocka_unit_test(bubbles_are_means_over_the_ranks_of_a_stage),
      cmocka_unit_test(a_bubble_that_may_be_twice_as_long_is_not_told),
      cmocka_unit_test(a_rank_is_late_by_what_it_did_before),
      cmocka_unit_test(a_rank_is_late_by_what_it_copied),
      cmocka_unit_test(slow_ranks_do_not_hide_each_other),
      cmocka_unit_test(one_fast_rank_makes_nobody_slow),
      cmocka_unit_test(who_is_nearly_as_late_is_named_too),
      cmocka_unit_test(stages_with_the_same_layers_are_compared),
      cmocka_unit_test(stages_are_slow_by_their_own_time),
      cmocka_unit_test(what_evens_out_is_no_delay),
      cmocka_unit_test(who_was_held_up_is_not_to_blame),
      cmocka_unit_test(a_host_that_was_late_before_is_not_slow),
      cmocka_unit_test(waiting_for_the_device_is_no_time_of_the_host),
      cmocka_unit_test(what_starts_long_after_its_launch_was_not_held_by_it),
      cmocka_unit_test(of_one_step_a_straggler_delays_a_quarter),
      cmocka_unit_test(a_straggler_delays_a_tenth_on_average_and_in_two_of_three_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
