/* How much of a transfer others share, and what that costs, worked out on paper; times in nanoseconds. Ranks 0 and 1
 * reduce on s8, rank 0 from 100 to 200 and rank 1 from 300 to 400 of its own clock, and each reduces with others, who
 * left no trace, on s9. */
#include "job_text.h"

#include "cost/sharing.h"
#include "cost/transfers.h"

#include <string.h>

/* So many that latency is nothing. */
#define BYTES 100000000000
#define BYTES_TEXT "100000000000"
/* clang-format off */
#define LAUNCH(rank, id)                                                                                          \
  "{'type':'task','id':'" rank ":" #id "','rank':" rank ",'lane':'t1','seq':" #id ",'kind':'launch','name':'l'"   \
  ",'start':" #id ",'dur':1,'lag':0,'step':0}\n"
#define REDUCE(rank, id, lane, start, dur, call, group)                                                           \
  "{'type':'task','id':'" rank ":" #id "','rank':" rank ",'lane':'" lane "','seq':0,'kind':'collective'"          \
  ",'name':'n','start':" #start ",'dur':" #dur ",'lag':0,'gap':0,'step':0,'origin':'launched','call':'" rank      \
  ":" #call "','launch_lag':0,'comm':{'op':'all_reduce','group':'" group "','bytes':" BYTES_TEXT "},'residual':0}\n"
#define GROUP(id, size, ranks) "{'type':'group','id':'" id "','rank':0,'size':" size ",'ranks':[" ranks "]}\n"
#define RANK(rank, groups)                                                                                        \
  "{'type':'rank','rank':" rank ",'world':32,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n" groups          \
  "{'type':'lane','rank':" rank ",'lane':'t1','kind':'thread','native':'1'}\n"                                    \
  "{'type':'lane','rank':" rank ",'lane':'s8','kind':'stream','native':'8'}\n"                                    \
  "{'type':'lane','rank':" rank ",'lane':'s9','kind':'stream','native':'9'}\n" LAUNCH(rank, 0) LAUNCH(rank, 1)
#define GROUPS GROUP("both", "2", "0,1") GROUP("four", "4", "0,1,2,3") GROUP("near0", "2", "0,8") GROUP("near1", "2", "1,9")

/* Beside it from 120 to 140 on rank 0, and from 30 to 60 of 100 on rank 1: together 40. */
#define JOB(group, size)                                                                                          \
  JOB_TEXT_HEADER RANK("0", GROUPS) REDUCE("0", 2, "s8", 100, 100, 0, group)                                      \
  REDUCE("0", 3, "s9", 120, 20, 1, "near0")                                                                       \
  RANK("1", "") REDUCE("1", 2, "s8", 250, 150, 0, group) REDUCE("1", 3, "s9", 330, 30, 1, "near1")                \
  "{'type':'collective','id':'c:0','op':'all_reduce','rule':'symmetric','group':'" group "','members':"           \
  "['0:2','1:2'],'size':" size ",'bytes':" BYTES_TEXT ",'transfer':100,'matched':'seq'}\n"
/* clang-format on */

/* Of the first collective. */
static struct lumos_slowed slowed_on(struct lumos_job *job, int32_t node_size, const struct lumos_links *links) {
  const struct lumos_nodes nodes = {node_size, false};
  struct lumos_placing placing = lumos_placing_of(job, &nodes);
  struct lumos_run runs[16] = {{0, 0}};
  assert_true(job->tasks.count <= 16);
  for (size_t t = 0; t < job->tasks.count; t++) {
    runs[t] = (struct lumos_run){job->tasks.items[t].start, job->tasks.items[t].dur};
  }
  struct lumos_slowed *slowed = lumos_slowed_transfers(&placing, links, runs), first = slowed[0];
  free(slowed);
  lumos_placing_free(&placing);
  return first;
}

static struct lumos_slowed slowed_in(struct lumos_job *job, int32_t node_size) {
  const struct lumos_links links = lumos_links_of(NULL);
  return slowed_on(job, node_size, &links);
}

static void expect_share(const char *lines, int32_t node_size, double expected) {
  struct lumos_job *job = job_from_text(lines);
  assert_float_equal(slowed_in(job, node_size).shared, expected, 1e-4);
  lumos_job_free(job);
}

/* All on one node. Of the second kernel, whose operation and size are the first's, 30 is the median of 20 and 30. */
static void the_slowest_member_counts(void **state) {
  (void)state;
  expect_share(JOB("both", "2"), 16, 0.4);
}

/* Without bytes all of it is latency, which nothing slows down. With kernels in place of the others' transfers GPUs
 * compute for 20 and 30 of 2 x 100. */
static void what_passes_is_slowed_down(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(JOB("both", "2"));
  job->collectives.items[0].bytes = 0;
  assert_float_equal(slowed_in(job, 16).shared, 0, 1e-9);
  lumos_job_free(job);
  job = job_from_text(JOB("both", "2"));
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    task->kind =
        strcmp(lumos_string(job->strings, job->lanes.items[task->lane].lane), "s9") == 0 ? LUMOS_GEMM : task->kind;
  }
  struct lumos_slowed slowed = slowed_in(job, 16);
  assert_float_equal(slowed.shared, 0, 1e-9);
  assert_float_equal(slowed.computing, 0.25, 1e-4);
  lumos_job_free(job);
}

/* NCCL would send 2400 bytes at 240 GB/s, 10 ns, and a thousandth of its latency is 8.4 + 2 x 3.4: 15.2 of the 100 ns
 * that it took, and all that is left passes, however little it is alone. Had it taken 20, links would be faster than
 * the model's, and so the latency. */
static void latency_is_of_the_algorithm_taken(void **state) {
  (void)state;
  struct lumos_links links = lumos_links_of(NULL);
  links.latency = 0.001;
  struct lumos_job *job = job_from_text(JOB("both", "2"));
  job->collectives.items[0].bytes = 2400;
  assert_float_equal(slowed_on(job, 16, &links).shared, (float)(0.4 * (1 - 0.152)), 1e-4);
  job->collectives.items[0].transfer = 20;
  double share = slowed_on(job, 16, &links).shared;
  job->collectives.items[0].bytes = BYTES; /* no latency */
  assert_float_equal(share, slowed_on(job, 16, &links).shared * (float)(1 - 15.2 / 25.2), 1e-4);
  lumos_job_free(job);
}

/* Nodes of eight: the others' transfers go from 0 to 8 and 1 to 9, over the network alone. */
static void other_links_are_not_shared(void **state) {
  (void)state;
  expect_share(JOB("both", "2"), 8, 0);
  /* Nodes of two: 0 and 1 are on one, 2 and 3 on the next, so that their all-reduce takes the network, too. All four
   * are free for 0.6 x 0.6 of the time. */
  expect_share(JOB("four", "4"), 2, 1 - 0.36);
  /* On one node of four it does not. */
  expect_share(JOB("four", "4"), 4, 0);
}

/* How unsure an all-reduce is that ranks 0 and 1, on one node, or 0 and 8, on two, had, among so many others. With two
 * shapes there is nothing to leave out: 15 % of a model; and 10 % more over links that neither took. */
static void links_that_nobody_took_are_less_sure(void **state) {
  (void)state;
  static const struct {
    struct lumos_transfer_shape shape;
    double common;
  } cases[] = {{{"all_reduce", BYTES, 8, 1}, 0.15},
               {{"all_reduce", BYTES, 16, 2}, 0.180278},
               {{"all_reduce", 2 * BYTES, 2, 2}, 0.05},
               {{"all_reduce", BYTES, 4, 4}, 0.180278}};
  struct lumos_job *job = job_from_text(JOB("both", "2") "{'type':'collective','id':'c:1','op':'all_reduce','rule':"
                                                         "'symmetric','group':'near0','members':['0:3'],'size':2,"
                                                         "'bytes':" BYTES_TEXT ",'transfer':18,'matched':'seq'}\n");
  const struct lumos_nodes nodes = {8, false};
  struct lumos_transfers *transfers = lumos_transfers_fit(job, NULL, &nodes);
  const struct lumos_transfer_shape was = {"all_reduce", BYTES, 2, 1};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_duration changed = lumos_transfer_changed(transfers, 100, &was, &cases[i].shape, NULL, NULL);
    assert_float_equal(changed.common, cases[i].common, 1e-6);
  }
  lumos_transfers_free(transfers);
  lumos_job_free(job);
}

static void add(struct lumos_shared_transfers *transfers, uint64_t shape, double ns, double share) {
  lumos_vector_push(transfers, ((struct lumos_shared_transfer){shape, ns, {share, 0}}));
}

/* What shares a link for a quarter, half, three quarters of its time and loses half of that takes 8/7, 4/3, 8/5 as
 * long. */
static void half_of_it_is_lost(void **state) {
  (void)state;
  struct lumos_shared_transfers transfers = {0};
  for (uint64_t shape = 1; shape <= 3; shape++) {
    for (int i = 0; i < 2; i++) {
      add(&transfers, shape, 105e3 * (double)shape, 0);
      add(&transfers, shape, 120e3 * (double)shape, 0.25);
      add(&transfers, shape, 140e3 * (double)shape, 0.5);
      add(&transfers, shape, 168e3 * (double)shape, 0.75);
    }
  }
  /* Short ones are all latency, and vary. */
  for (int i = 0; i < 24; i++) {
    add(&transfers, 9, i % 2 == 0 ? 10 : 12, i % 3 == 0 ? 0 : 0.5);
  }
  struct lumos_sharing sharing = lumos_sharing_fit(&transfers);
  assert_float_equal(sharing.part, 0.5, 1e-9);
  assert_int_equal(sharing.evidence, 48);
  lumos_vector_free(&transfers);
}

static void add_beside(struct lumos_shared_transfers *transfers, uint64_t shape, double ns, double share,
                       double computing) {
  lumos_vector_push(transfers, ((struct lumos_shared_transfer){shape, ns, {share, computing}}));
}

/* Half of what is shared and a fifth of what lies beside kernels: 1 / (1 - 0.5 s) / (1 - 0.2 c) as long. Where they
 * take turns, so that all of a transfer is one or the other, what is shared explains it. */
static void kernels_slow_transfers_down(void **state) {
  (void)state;
  struct lumos_shared_transfers transfers = {0};
  for (int i = 0; i < 24; i++) {
    double shared = i % 3 / 2.0, computing = i % 2;
    add_beside(&transfers, 1, 1e6 / (1 - 0.5 * shared) / (1 - 0.2 * computing), shared, computing);
  }
  struct lumos_sharing sharing = lumos_sharing_fit(&transfers);
  assert_float_equal(sharing.part, 0.5, 1e-9);
  assert_float_equal(sharing.computing_part, 0.2, 1e-9);
  assert_float_equal(lumos_slowed_speed(&sharing, (struct lumos_slowed){0.5, 1}), (float)(0.75 * 0.8), 1e-6);
  transfers.count = 0;
  for (int i = 0; i < 24; i++) { /* kernels alone */
    add_beside(&transfers, 1, 1e6 / (1 - 0.2 * (i % 2)), 0, i % 2);
  }
  sharing = lumos_sharing_fit(&transfers);
  assert_float_equal(sharing.part, 0, 0);
  assert_float_equal(sharing.computing_part, 0.2, 1e-9);
  transfers.count = 0;
  for (int i = 0; i < 24; i++) {
    double shared = i % 3 / 2.0;
    add_beside(&transfers, 1, (1e6 + i) / (1 - 0.5 * shared), shared, 1 - shared);
  }
  sharing = lumos_sharing_fit(&transfers);
  assert_float_equal(sharing.part, 0.5, 1e-9);
  assert_float_equal(sharing.computing_part, 0, 0);
  lumos_vector_free(&transfers);
}

/* Few, or such as take as long in any case, show nothing; nor do those that have nothing like them. */
static void chance_shows_nothing(void **state) {
  (void)state;
  struct lumos_shared_transfers transfers = {0};
  for (int i = 0; i < 24; i++) {
    add(&transfers, 1, 100 + i % 5, i % 2 == 0 ? 0 : 0.5);
  }
  assert_float_equal(lumos_sharing_fit(&transfers).part, 0, 0);
  transfers.count = 0;
  for (int i = 0; i < 8; i++) {
    add(&transfers, 1, i % 2 == 0 ? 100 : 200, i % 2 == 0 ? 0 : 1);
  }
  assert_float_equal(lumos_sharing_fit(&transfers).part, 0, 0);
  transfers.count = 0;
  for (uint64_t i = 0; i < 24; i++) {
    add(&transfers, i, i % 2 == 0 ? 100 : 200, i % 2 == 0 ? 0 : 1);
  }
  assert_float_equal(lumos_sharing_fit(&transfers).part, 0, 0);
  lumos_vector_free(&transfers);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_slowest_member_counts),
      cmocka_unit_test(other_links_are_not_shared),
      cmocka_unit_test(links_that_nobody_took_are_less_sure),
      cmocka_unit_test(half_of_it_is_lost),
      cmocka_unit_test(what_passes_is_slowed_down),
      cmocka_unit_test(latency_is_of_the_algorithm_taken),
      cmocka_unit_test(kernels_slow_transfers_down),
      cmocka_unit_test(chance_shows_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
