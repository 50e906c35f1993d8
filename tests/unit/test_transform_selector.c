/* Selectors: a table of what chooses what. */
#include "sim_jobs.h"

#include <lumos/transform.h>

/* Two spans on the thread of streams_job: aten::linear around aten::mm; launch1 stands in the inner one, launch2 in the
 * outer. */
static struct lumos_job *job_with_ops(void) {
  struct lumos_job *job = job_from_text(streams_job);
  const char *const names[] = {"aten::linear", "aten::mm", "aten::linear"};
  for (uint32_t i = 0; i < 3; i++) {
    struct lumos_span span = lumos_span_empty;
    span.rank = 0;
    span.kind = i == 2 ? LUMOS_SPAN_ANNOTATION : LUMOS_SPAN_OP;
    span.name = lumos_intern_text(job->strings, names[i]);
    span.parent = i == 1 ? 0 : LUMOS_NONE;
    lumos_vector_push(&job->spans, span);
  }
  job->tasks.items[task_named(job, "launch1")].span = 1;
  job->tasks.items[task_named(job, "launch2")].span = 0;
  job->tasks.items[task_named(job, "launch3")].span = 2; /* an annotation of that name is no op */
  return job;
}

/* K0 and launch0 are of the module Linear_7, whose gradient K2 is; K1 is of layer 1, backward, micro-batch 2. */
static struct lumos_job *job_with_places(void) {
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_span module = lumos_span_empty, backward = lumos_span_empty;
  module.rank = backward.rank = 0;
  module.kind = LUMOS_SPAN_MODULE;
  module.name = lumos_intern_text(job->strings, "nn.Module: Linear_7");
  backward.kind = LUMOS_SPAN_OP;
  backward.name = lumos_intern_text(job->strings, "AddmmBackward0");
  backward.forward = 0;
  lumos_vector_push(&job->spans, module);
  lumos_vector_push(&job->spans, backward);
  job->tasks.items[task_named(job, "launch0")].span = 0;
  job->tasks.items[task_named(job, "launch2")].span = 1;
  struct lumos_task *k1 = &job->tasks.items[task_named(job, "K1")];
  k1->layer = 1;
  k1->phase = LUMOS_BACKWARD;
  k1->micro_batch = 2;
  job->ranks.items[0].has_parallel = true;
  job->ranks.items[0].parallel.pp = 3;
  return job;
}

/* The names of the chosen tasks, in the job's order. */
static void expect(const struct lumos_job *job, const char *text, const char *names) {
  struct lumos_error error = {0};
  struct lumos_selector *selector = lumos_selector_parse(text, strlen(text), &error);
  if (selector == NULL) {
    fail_msg("'%s': %s", text, error.text);
  }
  uint8_t *chosen = malloc(job->tasks.count);
  char found[1024] = "";
  size_t count = lumos_selector_apply(selector, job, chosen);
  for (size_t t = 0; t < job->tasks.count; t++) {
    assert_true(chosen[t] <= 1);
    count -= chosen[t];
    if (chosen[t]) {
      size_t length = strlen(found);
      (void)snprintf(found + length, sizeof found - length, " %s",
                     lumos_string(job->strings, job->tasks.items[t].name));
    }
  }
  assert_int_equal(count, 0);
  if (strcmp(found, names) != 0) {
    fail_msg("'%s' chose%s, not%s", text, found, names);
  }
  free(chosen);
  lumos_selector_free(selector);
}

static void every_term_chooses_what_it_says(void **state) {
  (void)state;
  struct lumos_job *job = job_with_ops();
  lumos_string_id odd = lumos_intern_text(job->strings, "K<int, 4>,rank");
  job->tasks.items[task_named(job, "K2")].name = odd;
  const struct {
    const char *selector, *names;
  } rows[] = {
      {"host", " launch0 record wait launch1 launch2 sync after work launch3"},
      {"device", " K0 K<int, 4>,rank K1 K3"},
      {"kind=gemm", " K0 K1"},
      {"kind=event", " record wait"},
      {"kind=other", ""},
      {"name~^K", " K0 K<int, 4>,rank K1 K3"},
      {"name~1$", " launch1 K1"},
      {"name~^(sync|after)$", " sync after"},
      {"name~K<int, 4>", " K<int, 4>,rank"},                     /* a comma inside an expression */
      {"name~K<int, 4>,rank", " K<int, 4>,rank"},                /* what follows this one is no term either */
      {"name~K<int, 4>,rank=0", " K<int, 4>,rank"},              /* this is */
      {"op=aten::mm", " launch1 K1"},                            /* of the call, or of the one that launched it */
      {"op=aten::linear", " launch1 launch2 K<int, 4>,rank K1"}, /* or one around it */
      {"op=aten::addmm", ""},
      {"op=aten", ""},
      {"rank=0,kind=copy", " K3"},
      {"rank=1", ""},
      {"device,name~1", " K1"},
      {"kind=gemm,kind=norm", ""}, /* all terms hold */
      {"group=world", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    expect(job, rows[i].selector, rows[i].names);
  }
  /* Spans in a ring, which no reader lets through, still end. */
  job->spans.items[0].parent = 1;
  expect(job, "op=aten::addmm", "");
  lumos_job_free(job);
}

static void places_and_what_is_not_so_are_chosen(void **state) {
  (void)state;
  struct lumos_job *job = job_with_places();
  expect(job, "module=Linear_7", " launch0 launch2 K0 K2");
  expect(job, "module=nn.Module: Linear_7,device", " K0 K2");
  expect(job, "module=Linear", "");
  expect(job, "layer=1", " K1");
  expect(job, "layer=0", "");
  expect(job, "phase=backward", " K1");
  expect(job, "micro_batch=2", " K1");
  expect(job, "stage=3,device,not layer=1", " K0 K2 K3");
  expect(job, "stage=0", "");
  expect(job, "not host,not kind=gemm", " K2 K3");
  expect(job, "not name~K|launch,not device", " record wait sync after work");
  lumos_job_free(job);
  job = job_from_text(ranks_job);
  expect(job, "device,not kind=communication", " A B");
  expect(job, "kind=communication", " C0 C1");
  lumos_job_free(job);
}

/* launch1, in aten::mm, is what K1 is free from, and does not launch it. What stands in the op itself is of it. */
static void a_free_task_is_of_no_call(void **state) {
  (void)state;
  struct lumos_job *job = job_with_ops();
  struct lumos_task *k1 = &job->tasks.items[task_named(job, "K1")];
  lumos_task_timing(job, k1)->origin = LUMOS_FREE;
  expect(job, "op=aten::mm", " launch1");
  expect(job, "op=aten::linear", " launch1 launch2 K2");
  k1->span = 1;
  expect(job, "op=aten::mm", " launch1 K1");
  lumos_job_free(job);
}

static void one_member_chooses_all(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  expect(job, "kind=collective", " C0 C1");
  expect(job, "name~^C0$", " C0 C1");
  expect(job, "rank=1,device", " C0 B C1");
  expect(job, "rank=1,host", " launchB launchC1 cudaDeviceSynchronize after1");
  expect(job, "group=world", " C0 C1");
  expect(job, "group=worl", "");
  job->groups.items[0].id = lumos_intern_text(job->strings, "tp@0");
  job->groups.items[0].name = lumos_intern_text(job->strings, "tensor parallel");
  for (size_t d = 0; d < job->details.count; d++) {
    if (job->details.items[d].comm.group != LUMOS_NO_STRING) {
      job->details.items[d].comm.group = job->groups.items[0].id;
    }
  }
  expect(job, "group=tp@0", " C0 C1");
  expect(job, "group=tp", " C0 C1");
  expect(job, "group=tensor parallel", " C0 C1");
  expect(job, "group=tp@", "");
  /* Through a kernel of several pairs: C1 is in a second collective with B, and A in one with B. */
  struct lumos_collective pair = job->collectives.items[0];
  const uint32_t members[] = {task_named(job, "C1"), task_named(job, "B"), task_named(job, "A"), task_named(job, "B")};
  for (int i = 0; i < 2; i++) {
    pair.member_first = (uint32_t)job->members.count;
    lumos_vector_push(&job->members, members[2 * i]);
    lumos_vector_push(&job->members, members[2 * i + 1]);
    lumos_vector_push(&job->collectives, pair);
  }
  expect(job, "name~^C0$", " A C0 B C1");
  lumos_job_free(job);
}

static void what_is_no_selector_is_refused(void **state) {
  (void)state;
  const struct {
    const char *selector, *message;
  } rows[] = {
      {"", "not a selector"},
      {"gemm", "'gemm' is not a selector"},
      {"hosts", "not a selector"},
      {"kind=gem", "kind 'gem'"},
      {"kind=", "nothing follows 'kind='"},
      {"rank=x", "'x' is not a number"},
      {"rank=-1", "not a number"},
      {"rank=99999999999", "not a number"},
      {"name~(", "regular expression"},
      {"host,", "not a selector"},
      {"device,phase=forth", "'forth' is not a phase"},
      {"not", "not a selector"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_error error = {0};
    if (lumos_selector_parse(rows[i].selector, strlen(rows[i].selector), &error) != NULL) {
      fail_msg("'%s' was accepted", rows[i].selector);
    }
    assert_int_equal(error.status, LUMOS_UNUSABLE);
    if (strstr(error.text, rows[i].message) == NULL) {
      fail_msg("'%s': %s", rows[i].selector, error.text);
    }
  }
}

/* Each of these took regcomp minutes or all memory. */
static void costly_expressions_are_refused(void **state) {
  (void)state;
  const struct {
    const char *selector, *message;
  } rows[] = {
      {"name~n++++++++++++++++++++++++++++++", "too large an expression"},
      {"name~^.*++++++++", "too large an expression"},
      {"name~)+++++++++++++++++++++++", "too large an expression"},
      {"name~(((a{99}){99}){99}){99}", "too large an expression"},
      {"name~a{,32000}", "too large an expression"},
      {"name~(a{99}){5}", "too large an expression"}, /* 98 copies more, and four of 100: over 400 */
      {"name~^(((.*a*){3,}){3,}){3,}", "too large an expression"},
      {"name~((((((((((((((((((((((a))))))))))))))))))))))", "too large an expression"},
      {"name~(a*)*\\1", "refers back"},
      {"name~([)]a)\\1", "refers back"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_error error = {0};
    struct lumos_selector *selector = lumos_selector_parse(rows[i].selector, strlen(rows[i].selector), &error);
    if (selector != NULL || strstr(error.text, rows[i].message) == NULL) {
      fail_msg("'%s': %s", rows[i].selector, selector != NULL ? "was accepted" : error.text);
    }
  }
}

static void ordinary_expressions_are_not(void **state) {
  (void)state;
  static const char *const selectors[] = {
      "name~^(nccl|ampere)[A-Za-z0-9_]*_(RING|TREE)(_LL(128)?)?$",
      "name~.*gemm.*|.*Gemm.*|.*cutlass.*|.*cublas.*|.*xmma.*|.*wgmma.*",
      "name~^[[:alnum:]_]+<[^*+{]*, [0-9]{1,4}>$",
      "name~void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>",
      "name~[]*+{9999}]x",
      "name~(a{99}){4}",
      "name~a\\{9999}",
      "name~\\\\1",
  };
  for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++) {
    struct lumos_error error = {0};
    struct lumos_selector *selector = lumos_selector_parse(selectors[i], strlen(selectors[i]), &error);
    if (selector == NULL) {
      fail_msg("'%s': %s", selectors[i], error.text);
    }
    lumos_selector_free(selector);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_term_chooses_what_it_says), cmocka_unit_test(places_and_what_is_not_so_are_chosen),
      cmocka_unit_test(a_free_task_is_of_no_call),       cmocka_unit_test(one_member_chooses_all),
      cmocka_unit_test(what_is_no_selector_is_refused),  cmocka_unit_test(costly_expressions_are_refused),
      cmocka_unit_test(ordinary_expressions_are_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
