/* --fuse: which kernels become one, and how long it takes.
 *
 * A thread launches E1 to E4 on s7, which take 5, 9, 7 and 4, then K on s20; it waits for the device behind that, or
 * between the launches of E2 and E3.
 */
#include "job_text.h"

#include <lumos/transform.h>

struct scene {
  int step;         /* of E3 and E4; that of the others is 1 */
  bool waits;       /* between the launches of E2 and E3 */
  const char *edge; /* between E2, E3 and K: its ends in the stream, or NULL */
  bool shaped;      /* each launch is in an op that multiplies two tensors of 8 floats, the last one 8 by a number */
};

static void put_call(struct lumos_text *text, int place, const char *kind, const char *name, const char *more) {
  lumos_text_format(text,
                    "{'type':'task','id':'0:%d','rank':0,'lane':'t1','seq':%d,'kind':'%s','name':'%s','start':%d,"
                    "'dur':10,'lag':0,'step':1%s}\n",
                    place, place, kind, name, 10 * place, more);
}

static void put_kernel(struct lumos_text *text, int id, const char *stream, int seq, const char *name, int dur,
                       int call, int step) {
  lumos_text_format(text,
                    "{'type':'task','id':'0:%d','rank':0,'lane':'%s','seq':%d,'kind':'%s','name':'%s','start':%d,"
                    "'dur':%d,'lag':0,'step':%d,'gap':0,'call':'0:%d','launch_lag':1,'residual':0}\n",
                    id, stream, seq, name[0] == 'E' ? "elementwise" : "gemm", name, 10 * call + 11, dur, step, call);
}

static struct lumos_job *stage(const struct scene *scene) {
  static const int durs[] = {5, 9, 7, 4};
  static const char *const names[] = {"E1", "E2", "E3", "E4"};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,300],'base':0," JOB_TEXT_COVERAGE "}\n"
                                        "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                                        "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                                        "{'type':'lane','rank':0,'lane':'s20','kind':'stream','native':'20'}\n");
  int wait = scene->waits ? 2 : 5;
  for (int i = 0; i < 4 && scene->shaped; i++) {
    lumos_text_format(&text,
                      "{'type':'span','id':'0:%d','rank':0,'lane':'t1','kind':'op','name':'aten::mul','start':%d,"
                      "'dur':10,'shapes':'[[8], [%s]]','dtypes':'[\\'float\\', \\'float\\']'}\n",
                      i, 10 * i, i < 3 ? "8" : "");
  }
  for (int i = 0; i < 6; i++) {
    static const char *const spans[] = {",'span':'0:0'", ",'span':'0:1'", ",'span':'0:2'", ",'span':'0:3'"};
    put_call(&text, i, i == wait ? "sync" : "launch", i == wait ? "sync" : "launch",
             i == wait                ? ",'wait':{'on':'device','residual':4}"
             : scene->shaped && i < 4 ? spans[i]
                                      : "");
  }
  for (int i = 0; i < 4; i++) {
    put_kernel(&text, 6 + i, "s7", i, names[i], durs[i], i + (i >= wait), i < 2 ? 1 : scene->step);
  }
  put_kernel(&text, 10, "s20", 0, "K", 20, scene->waits ? 5 : 4, 1);
  lumos_text_put(&text, "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,"
                        "'evidence':'recorded','mode':'fixed'}\n");
  if (scene->edge != NULL) {
    lumos_text_format(&text,
                      "{'type':'dep',%s,'kind':'event','from':'end','to':'start','lag':2,'evidence':'recorded',"
                      "'mode':'run_time'}\n",
                      scene->edge);
  }
  lumos_text_char(&text, '\0');
  struct lumos_job *job = job_from_text(text.bytes);
  lumos_text_free(&text);
  return job;
}

/* What s7 runs once elementwise kernels are fused: name and duration. */
static void expect(const struct scene *scene, const char *expected) {
  struct lumos_job *job = stage(scene);
  struct lumos_error error = {0};
  struct lumos_text found = LUMOS_TEXT_BUFFER;
  if (!lumos_transform_fuse(job, "kind=elementwise", &error)) {
    fail_msg("%s", error.text);
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (task->kind == LUMOS_ELEMENTWISE) {
      lumos_text_format(&found, "%s: %lld; ", lumos_string(job->strings, task->name), (long long)task->dur);
    }
  }
  lumos_text_char(&found, '\0');
  assert_string_equal(found.bytes, expected);
  lumos_text_free(&found);
  lumos_job_free(job);
}

static void neighbors_become_one(void **state) {
  (void)state;
  expect(&(struct scene){.step = 1}, "4 fused, the first: E1: 25; ");
}

/* Three read 64 bytes and write 32, the last one reads 32. What the first three write is neither written nor read
 * again: 192 of 352 bytes go, and of 25 ns 11.36 are left. */
static void what_stays_inside_is_not_moved(void **state) {
  (void)state;
  expect(&(struct scene){.step = 1, .shaped = true}, "4 fused, the first: E1: 11; ");
  /* Of E1 and E2 64 of 192 bytes go, of 14 ns 9.33 are left; of E3 and E4 64 of 160, of 11 ns 6.6, but E3 takes 7. */
  expect(&(struct scene){.step = 2, .shaped = true}, "2 fused, the first: E1: 9; 2 fused, the first: E3: 7; ");
}

static const char two[] = "2 fused, the first: E1: 14; 2 fused, the first: E3: 11; ";

static void steps_are_not_fused(void **state) {
  (void)state;
  expect(&(struct scene){.step = 2}, two);
}

static void nothing_is_fused_over_an_edge(void **state) {
  (void)state;
  expect(&(struct scene){.step = 1, .edge = "'src':'0:7','dst':'0:10'"}, two); /* K waits for E2, */
  expect(&(struct scene){.step = 1, .edge = "'src':'0:10','dst':'0:8'"}, two); /* or E3 for K */
}

static void nothing_is_fused_over_a_wait_between_launches(void **state) {
  (void)state;
  expect(&(struct scene){.step = 1, .waits = true}, two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(neighbors_become_one),
      cmocka_unit_test(what_stays_inside_is_not_moved),
      cmocka_unit_test(steps_are_not_fused),
      cmocka_unit_test(nothing_is_fused_over_an_edge),
      cmocka_unit_test(nothing_is_fused_over_a_wait_between_launches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
