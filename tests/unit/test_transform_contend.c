/* What kernels lose beside communication when a change moves them, worked out on paper; times in nanoseconds. A thread
 * launches a kernel on s7 (0 to 10), which runs from 10 to 130, and communication on s8 (10 to 20), from 20 to 70. */
#include "job_text.h"

#include "base/hash.h"
#include "transform/contend.h"

#include <lumos/sim.h>
#include <lumos/transform.h>

#define LAUNCH(id, seq, start)                                       \
  "{'type':'task','id':'0:" #id "','rank':0,'lane':'t1','seq':" #seq \
  ",'kind':'launch','name':'launch','start':" #start ",'dur':10,'lag':0,'step':0}\n"
#define KERNEL(id, lane, kind, start, dur, call)                                                                    \
  "{'type':'task','id':'0:" #id "','rank':0,'lane':'" lane "','seq':0,'kind':'" kind "','name':'k','start':" #start \
  ",'dur':" #dur ",'lag':0,'gap':0,'step':0,'origin':'launched','call':'0:" #call "','launch_lag':0,'residual':0}\n"

static struct lumos_job *two_streams(const char *kind) {
  char text[4096];
  (void)snprintf(text, sizeof text,
                 JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
                                 "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                                 "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                                 "{'type':'lane','rank':0,'lane':'s8','kind':'stream','native':'8'}\n" LAUNCH(0, 0, 0)
                                     LAUNCH(1, 1, 10) "%s" KERNEL(3, "s8", "collective", 20, 50, 1),
                 kind);
  return job_from_text(text);
}
#define PRODUCT KERNEL(2, "s7", "gemm", 10, 120, 0)
#define NORM KERNEL(2, "s7", "norm", 10, 120, 0)

/* The job with communication of other length; what the kernel then takes. */
static int64_t kernel_beside(struct lumos_job *job, int64_t dur, const double *factors, const uint32_t *likes) {
  struct lumos_contend contend;
  lumos_contend_begin(&contend, job);
  for (int of = 0; factors != NULL && of < LUMOS_CONTENDED; of++) {
    contend.factors[of] = factors[of];
  }
  job->tasks.items[3].dur = dur;
  lumos_contend_end(&contend, job, likes);
  int64_t took = job->tasks.items[2].dur;
  assert_non_null(lumos_common_error_of(job, lumos_intern_text(job->strings, LUMOS_ERROR_CONTENDED)));
  lumos_job_free(job);
  return took;
}

/* One kernel shows nothing, so a product takes a fifth longer beside communication, and a sixth of its time there is
 * lost. */
static void what_was_lost_comes_back(void **state) {
  (void)state;
  /* Of 120 it ran 50 beside: 50 / 6 were lost. */
  assert_int_equal(kernel_beside(two_streams(PRODUCT), 0, NULL, NULL), 112);
  /* Then 100: 111.67 / (1 - 100/120/6) = 130, of which 100 are beside: / (1 - 100/130/6) = 128, half of the way to
   * which is 129. From there it is 128.2: not half of a nanosecond. */
  assert_int_equal(kernel_beside(two_streams(PRODUCT), 100, NULL, NULL), 129);
  assert_int_equal(kernel_beside(two_streams(PRODUCT), 50, NULL, NULL), 120);
  /* Others lose 0.38 / 1.38 of it: 120 - 50 x 0.27536. */
  assert_int_equal(kernel_beside(two_streams(NORM), 0, NULL, NULL), 106);
}

/* On a GPU on which communication costs products twice as much: 111.67 / (1 - 50/126 x 0.4/1.4). */
static void another_gpu_loses_more(void **state) {
  (void)state;
  const double twice[LUMOS_CONTENDED] = {2, 1};
  assert_int_equal(kernel_beside(two_streams(PRODUCT), 50, twice, NULL), 126);
  assert_int_equal(kernel_beside(two_streams(NORM), 50, twice, NULL), 120);
}

/* What is like nothing recorded lost nothing before: 120 / (1 - 50/120/6). Then 128.3, half of the way to which rounds
 * up to 129. */
static void new_kernels_lose_all_of_it(void **state) {
  (void)state;
  const uint32_t none[] = {0, 1, LUMOS_NONE, 3}, same[] = {0, 1, 2, 3};
  assert_int_equal(kernel_beside(two_streams(PRODUCT), 50, NULL, none), 129);
  assert_int_equal(kernel_beside(two_streams(PRODUCT), 50, NULL, same), 120);
}

/* Where what it draws is twice the mean, 0.76 of their time: 120 / (1 - 50/120 x 0.4318) = 146, then half of the way
 * to 140.8, to 141.3 and to 141.5. What a kernel was seen to lose it still does, and what it does not lose any more is
 * the mean. */
static void what_comes_is_lost_unevenly(void **state) {
  (void)state;
  const uint32_t none[] = {0, 1, LUMOS_NONE, 3}, same[] = {0, 1, 2, 3};
  const struct {
    const uint32_t *likes;
    int64_t dur, took;
  } cases[] = {{none, 50, 142}, {same, 50, 120}, {same, 0, 106}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = two_streams(NORM);
    struct lumos_contend contend;
    lumos_contend_begin(&contend, job);
    struct lumos_uneven *uneven = &contend.beside.with[0].losses[LUMOS_CONTENDED_OTHERS].uneven;
    for (int d = 0; d < LUMOS_UNEVEN; d++) {
      assert_int_equal(uneven->ratios[d] == 1, 1); /* nothing shows how uneven it is */
      uneven->ratios[d] = 0;
    }
    uneven->ratios[lumos_uneven_draw(0, lumos_hash_text("k"), 0)] = 2; /* the first of its name on rank 0 */
    job->tasks.items[3].dur = cases[i].dur;
    lumos_contend_end(&contend, job, cases[i].likes);
    assert_int_equal(job->tasks.items[2].dur, cases[i].took);
    lumos_job_free(job);
  }
}

/* The same on an H100, of 132 SMs, with an all-reduce of 100 MB among two, for which NCCL takes 24 channels. */
static struct lumos_job *reduced(void) {
  char text[4096];
  (void)snprintf(
      text, sizeof text,
      JOB_TEXT_HEADER "{'type':'rank','rank':0,'device':{'name':'NVIDIA H100 80GB HBM3','sms':132},'window':[0,9000],"
                      "'base':0," JOB_TEXT_COVERAGE "}\n"
                      "{'type':'group','id':'g','rank':0,'size':2,'ranks':[0,1]}\n"
                      "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                      "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                      "{'type':'lane','rank':0,'lane':'s8','kind':'stream','native':'8'}\n" LAUNCH(0, 0, 0)
                          LAUNCH(1, 1, 10) PRODUCT "%s",
      "{'type':'task','id':'0:3','rank':0,'lane':'s8','seq':0,'kind':'collective','name':'k','start':20,'dur':50,"
      "'lag':0,'gap':0,'step':0,'origin':'launched','call':'0:1','launch_lag':0,"
      "'comm':{'op':'all_reduce','group':'g','bytes':100000000},'residual':0}\n");
  return job_from_text(text);
}

/* What the kernel then takes beside an all-reduce among `size`, of `op`, on a GPU of `sms`. */
static int64_t product_beside(const char *op, int32_t size, double sms) {
  struct lumos_job *job = reduced();
  struct lumos_contend contend;
  lumos_contend_begin(&contend, job);
  contend.is.sms = sms;
  job->groups.items[0].size = size;
  job->groups.items[0].member_count = 0;
  lumos_task_detail(job, &job->tasks.items[3])->comm.op = lumos_intern_text(job->strings, op);
  lumos_contend_end(&contend, job, NULL);
  int64_t took = job->tasks.items[2].dur;
  lumos_job_free(job);
  return took;
}

/* The sixth that is lost is less than the 24 of 132 SMs: all of it is for want of SMs. Among four the switch reduces,
 * with 16 channels, and a ninth is lost: 111.67 / (1 - 50/120/9) = 117. With half of the SMs a third is: 130, then half
 * of the way to 128.1. */
static void products_lack_the_sms_that_are_held(void **state) {
  (void)state;
  assert_int_equal(product_beside("all_reduce", 2, 132), 120);
  assert_int_equal(product_beside("all_reduce", 4, 132), 117);
  assert_int_equal(product_beside("reduce_scatter", 4, 132), 120); /* which no switch does */
  assert_int_equal(product_beside("all_reduce", 2, 66), 129);
}

/* On a GPU half as fast a product of which 50 ns are beside communication loses these 50 / 6 once, and not twice: 2 x
 * 111.67 / (1 - 50/240/6), 231.4; of half as much share 231.3. Communication that is taken out costs nothing: 120 - 50
 * / 6. */
static void slow_gpus_and_removals_contend(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = two_streams(PRODUCT);
  assert_true(lumos_transform_straggler(job, "0=2", &error));
  assert_int_equal(job->tasks.items[2].dur, 231);
  lumos_job_free(job);
  job = two_streams(PRODUCT);
  assert_true(lumos_transform_remove(job, "kind=collective", &error));
  assert_int_equal(job->tasks.items[1].kind, LUMOS_GEMM);
  assert_int_equal(job->tasks.items[1].dur, 112);
  lumos_job_free(job);
}

/* Rank 0's kernel runs from 10 to 130, its all-reduce from 20 to 120: it waits for rank 1's, which starts at 80 and
 * transfers for 40. What the kernel takes if that starts so much earlier, and transfers for so much longer. */
static int64_t kernel_beside_waiting(const char *kernel, int64_t earlier) {
  char text[8192];
  (void)snprintf(
      text, sizeof text, "%s%s%s",
      JOB_TEXT_HEADER "{'type':'rank','rank':0,'world':2,'device':{'name':'NVIDIA H100 80GB HBM3','sms':132},'window':"
                      "[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
                      "{'type':'group','id':'g','rank':0,'size':2,'ranks':[0,1]}\n"
                      "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                      "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                      "{'type':'lane','rank':0,'lane':'s8','kind':'stream','native':'8'}\n" LAUNCH(0, 0, 0)
                          LAUNCH(1, 1, 10),
      kernel,
      "{'type':'task','id':'0:3','rank':0,'lane':'s8','seq':0,'kind':'collective','name':'k','start':20,'dur':100,"
      "'lag':0,'gap':0,'step':0,'origin':'launched','call':'0:1','launch_lag':0,"
      "'comm':{'op':'all_reduce','group':'g','bytes':100000000},'residual':0}\n"
      "{'type':'rank','rank':1,'world':2,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
      "{'type':'lane','rank':1,'lane':'t1','kind':'thread','native':'1'}\n"
      "{'type':'lane','rank':1,'lane':'s8','kind':'stream','native':'8'}\n"
      "{'type':'task','id':'1:0','rank':1,'lane':'t1','seq':0,'kind':'launch','name':'l','start':0,'dur':80,'lag':0,"
      "'step':0}\n"
      "{'type':'task','id':'1:1','rank':1,'lane':'s8','seq':0,'kind':'collective','name':'k','start':80,'dur':40,"
      "'lag':0,'gap':0,'step':0,'origin':'launched','call':'1:0','launch_lag':0,"
      "'comm':{'op':'all_reduce','group':'g','bytes':100000000},'residual':0}\n"
      "{'type':'collective','id':'c:0','op':'all_reduce','rule':'symmetric','group':'g','members':['0:3','1:1'],'size':"
      "2,'bytes':100000000,'transfer':40,'matched':'seq'}\n");
  struct lumos_job *job = job_from_text(text);
  struct lumos_contend contend;
  lumos_contend_begin(&contend, job);
  job->tasks.items[4].dur -= earlier;
  job->collectives.items[0].transfer += earlier;
  lumos_contend_end(&contend, job, NULL);
  assert_int_equal(job->tasks.items[4].kind, LUMOS_LAUNCH);
  int64_t took = job->tasks.items[2].dur;
  lumos_job_free(job);
  return took;
}

/* A norm shares memory with the transfer alone. Of 120 it ran 40 beside it and lost 40 x 0.27536, so that 109 are its
 * own; beside 80, then 109 / (1 - 80/120 x 0.27536) = 133.5, half of the way back to 109 / (1 - 80/133.5 x 0.27536) =
 * 130.5 is 132, and from there it is 130.8, 131.2 and 131. A product that loses less than the SMs which are held loses
 * as much to one that waits. */
static void communication_that_waits_takes_no_memory(void **state) {
  (void)state;
  assert_int_equal(kernel_beside_waiting(NORM, 0), 120);
  assert_int_equal(kernel_beside_waiting(NORM, 40), 131);
  assert_int_equal(kernel_beside_waiting(PRODUCT, 0), 120);
  assert_int_equal(kernel_beside_waiting(PRODUCT, 40), 120);
}

/* On each of two ranks all-reduces of 100 ns on s8, from 10 to 110, and on s9, from 20 to 120: nine tenths of each pass
 * links that the other one passes, too. */
#define REDUCE(rank, id, lane, start, call)                                                                     \
  "{'type':'task','id':'" rank ":" #id "','rank':" rank ",'lane':'" lane "','seq':0,'kind':'collective','name'" \
  ":'n','start':" #start ",'dur':100,'lag':0,'gap':0,'step':0,'origin':'launched','call':'" rank ":" #call      \
  "','launch_lag':0,'comm':{'op':'all_reduce','group':'both','bytes':100000000000},'residual':0}\n"
#define CALL(rank, id, start)                                                                                   \
  "{'type':'task','id':'" rank ":" #id "','rank':" rank ",'lane':'t1','seq':" #id ",'kind':'launch','name':'l'" \
  ",'start':" #start ",'dur':10,'lag':0,'step':0}\n"
#define RANK(rank, group)                                                                                         \
  "{'type':'rank','rank':" rank ",'world':2,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n" group            \
  "{'type':'lane','rank':" rank ",'lane':'t1','kind':'thread','native':'1'}\n"                                    \
  "{'type':'lane','rank':" rank ",'lane':'s8','kind':'stream','native':'8'}\n"                                    \
  "{'type':'lane','rank':" rank ",'lane':'s9','kind':'stream','native':'9'}\n" CALL(rank, 0, 0) CALL(rank, 1, 10) \
      REDUCE(rank, 2, "s8", 10, 0) REDUCE(rank, 3, "s9", 20, 1)
#define COLLECTIVE(id, members)                                                                                   \
  "{'type':'collective','id':'c:" #id "','op':'all_reduce','rule':'symmetric','group':'both','members':[" members \
  "],'size':2,'bytes':100000000000,'transfer':100,'matched':'seq'}\n"

/* What the first of them takes, where a transfer loses half of the time that it shares, and so much of each was shared
 * before. */
static int64_t transfer_beside(double shared, const uint32_t *likes) {
  struct lumos_job *job =
      job_from_text(JOB_TEXT_HEADER RANK("0", "{'type':'group','id':'both','rank':0,'size':2,'ranks':[0,1]}\n")
                        RANK("1", "") COLLECTIVE(0, "'0:2','1:2'") COLLECTIVE(1, "'0:3','1:3'"));
  struct lumos_contend contend;
  lumos_contend_begin(&contend, job);
  contend.sharing.part = 0.5;
  contend.overlaps.slowed[0].shared = contend.overlaps.slowed[1].shared = shared;
  lumos_contend_end(&contend, job, likes);
  int64_t took = job->collectives.items[0].transfer;
  lumos_job_free(job);
  return took;
}

/* One that is like none has the time of a model, which is that of a transfer alone: 100 / (1 - 0.9/2) = 182. Then 172
 * of 182 are shared, and 189.6 are half way to 186; from there 188, and 189. Those that were recorded beside each other
 * took 100 so. */
static void new_transfers_share_links(void **state) {
  (void)state;
  const uint32_t none[] = {0, 1, LUMOS_NONE, LUMOS_NONE, 4, 5, LUMOS_NONE, LUMOS_NONE};
  assert_int_equal(transfer_beside(0, none), 189);
  assert_int_equal(transfer_beside(0.9, NULL), 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_lost_comes_back),
      cmocka_unit_test(what_comes_is_lost_unevenly),
      cmocka_unit_test(products_lack_the_sms_that_are_held),
      cmocka_unit_test(slow_gpus_and_removals_contend),
      cmocka_unit_test(another_gpu_loses_more),
      cmocka_unit_test(new_kernels_lose_all_of_it),
      cmocka_unit_test(new_transfers_share_links),
      cmocka_unit_test(communication_that_waits_takes_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
