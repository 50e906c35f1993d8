/* What PyTorch's hooks of fully sharded replicas launch: a gather of parameters before a layer's forward pass, and a sum of its gradients behind
 * the backward one, written down as their source has them (torch/distributed/fsdp/_fully_shard, and the older FullyShardedDataParallel).
 */
#include "job_text.h"

#include "rebuild/sharded.h"
#include <stdlib.h>

enum {
  CAST = 20,
  ADD = 26,
  TASKS = 8
}; /* kernels, in the order of their calls; the last sums shares over groups of replicas */

#define SPAN(id, name, parent)                                                                                 \
  "{'type':'span','id':'0:" id "','rank':0,'lane':'t1','kind':'annotation','name':'" name "','start':0,'dur':" \
  "9" parent "}\n"
#define CALL(n, span)                                                                                              \
  "{'type':'task','id':'0:" n "','rank':0,'lane':'t1','seq':" n ",'kind':'launch','name':'launch','start':0,'dur'" \
  ":1,'lag':0" span "}\n"
#define WORK(id, call, lane, seq, kind, more)                                                                     \
  "{'type':'task','id':'0:" id "','rank':0,'lane':'" lane "','seq':" seq ",'kind':'" kind "','name':'k','start':" \
  "0,'dur':1,'lag':0,'gap':0,'origin':'launched','call':'0:" call "'" more "}\n"
#define COMM(op, phase) ",'comm':{'op':'" op "','group':'1'},'phase':'" phase "'"

/* Names of the annotations around what is launched; the role of the group, and in which phase it gathers. */
static struct lumos_job *sharded_job(const char *gather, const char *split, const char *reduce, const char *role,
                                     const char *phase) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(
      &text,
      JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
                      "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                      "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                      "{'type':'lane','rank':0,'lane':'s17','kind':'stream','native':'17'}\n"
                      "{'type':'lane','rank':0,'lane':'s53','kind':'stream','native':'53'}\n"
                      "{'type':'lane','rank':0,'lane':'s57','kind':'stream','native':'57'}\n"
                      "{'type':'group','id':'1','rank':0,'role':'%s','size':2,'ranks':[0,1]}\n" SPAN("0", "%s", "")
                          SPAN("1", "%s", ",'parent':'0:0'") SPAN("2", "%s", ",'parent':'0:0'") SPAN("3", "%s", "")
                              SPAN("4", "aten::_foreach_copy_", ",'parent':'0:1'"),
      role, strstr(gather, "FullySharded") != NULL ? "forward" : "FSDP::pre_forward (layers.3)", gather, split, reduce);
  lumos_text_put(&text, CALL("0", ",'span':'0:4'") CALL("1", ",'span':'0:1'") CALL("2", ",'span':'0:2'") CALL("3", "")
                            CALL("4", ",'span':'0:3'") CALL("5", ",'span':'0:3'") CALL("6", ",'span':'0:3'")
                                CALL("7", ",'span':'0:3'"));
  lumos_text_put(&text, WORK("23", "3", "s7", "1", "gemm", "") WORK("24", "4", "s7", "2", "elementwise", ""));
  lumos_text_format(&text,
                    WORK("21", "1", "s17", "0", "collective", COMM("all_gather", "%s"))
                        WORK("25", "5", "s17", "1", "collective", COMM("reduce_scatter", "backward"))
                            WORK("27", "7", "s17", "2", "collective", COMM("all_reduce", "backward")),
                    phase);
  lumos_text_put(&text, WORK("20", "0", "s53", "0", "elementwise", "") WORK("26", "6", "s57", "0", "elementwise", "")
                            WORK("22", "2", "s7", "0", "elementwise", ""));
  lumos_text_char(&text, '\0');
  struct lumos_job *job = job_from_text(text.bytes);
  lumos_text_free(&text);
  return job;
}

static uint32_t task_of(const struct lumos_job *job, uint32_t id) {
  uint32_t t = 0;
  while (t < job->tasks.count && job->tasks.items[t].id != id) {
    t++;
  }
  assert_true(t < job->tasks.count);
  return t;
}

static void expect_shares(const struct lumos_job *job) {
  uint8_t *shares = rebuild_find_shares(job);
  for (uint32_t id = CAST; id < CAST + TASKS; id++) {
    assert_int_equal(shares[task_of(job, id)], id == CAST || id == ADD);
  }
  free(shares);
}

static void what_lies_before_a_gather_or_behind_a_sum_is_of_a_share(void **state) {
  (void)state;
  struct lumos_job *job = sharded_job("FSDP::all_gather (layers.3)", "FSDP::all_gather_copy_out (layers.3)",
                                      "FSDP::post_backward_reduce (layers.3)", "data", "forward");
  expect_shares(job);
  for (uint32_t call = 0; call < TASKS; call++) {
    assert_int_equal(rebuild_gathers_before(job, task_of(job, call)), call < 3);
  }
  assert_true(rebuild_is_fully_sharded(job));
  lumos_job_free(job);
}

/* The first version gathers in the hook itself, and has no kernel that splits. */
static void so_it_does_in_the_first_version(void **state) {
  (void)state;
  struct lumos_job *job = sharded_job("FullyShardedDataParallel._pre_forward", "aten::split",
                                      "FullyShardedDataParallel._post_backward_hook", "data", "forward");
  expect_shares(job);
  assert_true(rebuild_gathers_before(job, task_of(job, 0)) && rebuild_gathers_before(job, task_of(job, 1)));
  assert_false(rebuild_gathers_before(job, task_of(job, 2)) || rebuild_gathers_before(job, task_of(job, 4)));
  lumos_job_free(job);
}

static void others_gather_too_and_are_not_sharded(void **state) {
  (void)state;
  static const char *const others[][2] = {{"tensor", "forward"}, {"data", "optimizer"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    struct lumos_job *job = sharded_job("gather", "split", "reduce", others[i][0], others[i][1]);
    assert_false(rebuild_is_fully_sharded(job));
    lumos_job_free(job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_lies_before_a_gather_or_behind_a_sum_is_of_a_share),
      cmocka_unit_test(so_it_does_in_the_first_version),
      cmocka_unit_test(others_gather_too_and_are_not_sharded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
