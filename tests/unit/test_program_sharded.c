/* What PyTorch's hooks of fully sharded replicas launch: a gather of parameters before a layer's forward pass, and a
 * sum of its gradients behind the backward one, written down as their source has them
 * (torch/distributed/fsdp/_fully_shard, and the older FullyShardedDataParallel).
 */
#include "job_text.h"

#include "program/sharded.h"
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

/* Names of annotations: around the first three calls, and within it around what gathers and what splits; around the
 * last four calls. The role of the group, and in which phase it gathers. */
struct names {
  const char *outer, *gather, *split, *reduce, *role, *phase;
};

static struct lumos_job *sharded_job(struct names names) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text,
                    JOB_TEXT_HEADER
                    "{'type':'rank','rank':0,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
                    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                    "{'type':'lane','rank':0,'lane':'s17','kind':'stream','native':'17'}\n"
                    "{'type':'lane','rank':0,'lane':'s53','kind':'stream','native':'53'}\n"
                    "{'type':'lane','rank':0,'lane':'s57','kind':'stream','native':'57'}\n"
                    "{'type':'group','id':'1','rank':0,'role':'%s','size':2,'ranks':[0,1]}\n" SPAN("0", "%s", "")
                        SPAN("1", "%s", ",'parent':'0:0'") SPAN("2", "%s", ",'parent':'0:0'") SPAN("3", "%s", "")
                            SPAN("4", "aten::_foreach_copy_", ",'parent':'0:1'"),
                    names.role, names.outer, names.gather, names.split, names.reduce);
  lumos_text_put(&text, CALL("0", ",'span':'0:4'") CALL("1", ",'span':'0:1'") CALL("2", ",'span':'0:2'") CALL("3", "")
                            CALL("4", ",'span':'0:3'") CALL("5", ",'span':'0:3'") CALL("6", ",'span':'0:3'")
                                CALL("7", ",'span':'0:3'"));
  lumos_text_put(&text, WORK("23", "3", "s7", "1", "gemm", "") WORK("24", "4", "s7", "2", "elementwise", ""));
  lumos_text_format(&text,
                    WORK("21", "1", "s17", "0", "collective", COMM("all_gather", "%s"))
                        WORK("25", "5", "s17", "1", "collective", COMM("reduce_scatter", "backward"))
                            WORK("27", "7", "s17", "2", "collective", COMM("all_reduce", "backward")),
                    names.phase);
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

/* Of those that cast and add, all or none. */
static void expect_shares(struct names names, bool some) {
  struct lumos_job *job = sharded_job(names);
  uint8_t *shares = program_find_shares(job);
  for (uint32_t id = CAST; id < CAST + TASKS; id++) {
    assert_int_equal(shares[task_of(job, id)], some && (id == CAST || id == ADD));
  }
  free(shares);
  lumos_job_free(job);
}

static const struct names second = {"FSDP::pre_forward (layers.3)",
                                    "FSDP::all_gather (layers.3)",
                                    "FSDP::all_gather_copy_out (layers.3)",
                                    "FSDP::post_backward_reduce (layers.3)",
                                    "data",
                                    "forward"};
/* The first version has an annotation around the whole module, gathers in the hook itself, and has no kernel that
 * splits. */
static const struct names first = {"FullyShardedDataParallel.forward",
                                   "FullyShardedDataParallel._pre_forward",
                                   "aten::split",
                                   "FullyShardedDataParallel._post_backward_hook",
                                   "data",
                                   "forward"};

static void what_lies_before_a_gather_or_behind_a_sum_is_of_a_share(void **state) {
  (void)state;
  expect_shares(second, true);
  expect_shares(first, true);
  expect_shares((struct names){first.outer, "gather", "split", "reduce", "data", "forward"}, false);
  struct names others = second;
  others.role = "tensor";
  expect_shares(others, false);
}

static void hooks_are_known_by_their_names(void **state) {
  (void)state;
  static const char *const back[] = {"FSDP::pre_backward (layers.3)", "FullyShardedDataParallel._pre_backward_hook"};
  struct lumos_job *job = sharded_job(second);
  for (uint32_t call = 0; call < TASKS; call++) {
    assert_int_equal(program_gathers_before(job, task_of(job, call)), call < 3);
    assert_false(program_gathers_before_back(job, task_of(job, call)));
  }
  assert_true(program_names_hooks(job));
  lumos_job_free(job);
  job = sharded_job(first);
  for (uint32_t call = 0; call < TASKS; call++) {
    assert_int_equal(program_gathers_before(job, task_of(job, call)), call < 2);
  }
  assert_true(program_names_hooks(job));
  lumos_job_free(job);
  for (size_t i = 0; i < sizeof back / sizeof *back; i++) {
    job = sharded_job((struct names){back[i], "gather", "split", "reduce", "data", "backward"});
    for (uint32_t call = 0; call < TASKS; call++) {
      assert_int_equal(program_gathers_before_back(job, task_of(job, call)), call < 3);
      assert_false(program_gathers_before(job, task_of(job, call)));
    }
    lumos_job_free(job);
  }
  job = sharded_job((struct names){first.outer, "gather", "split", "reduce", "data", "forward"});
  assert_false(program_names_hooks(job));
  lumos_job_free(job);
}

/* Parameters that were updated are gathered forward alone; a distributed optimizer's are not for each pass. */
static void who_gathers_for_passes_is_fully_sharded(void **state) {
  (void)state;
  const struct {
    struct names names;
    bool sharded;
  } rows[] = {{second, true},
              {first, true},
              {{"outer", "gather", "split", "reduce", "data", "forward"}, false},
              {{"FSDP::pre_forward", "FSDP::all_gather", "split", "reduce", "tensor", "forward"}, false},
              {{"FSDP::pre_forward", "FSDP::all_gather", "split", "reduce", "data", "optimizer"}, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_job *job = sharded_job(rows[i].names);
    assert_int_equal(program_is_fully_sharded(job), rows[i].sharded);
    lumos_job_free(job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_lies_before_a_gather_or_behind_a_sum_is_of_a_share),
      cmocka_unit_test(hooks_are_known_by_their_names),
      cmocka_unit_test(who_gathers_for_passes_is_fully_sharded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
