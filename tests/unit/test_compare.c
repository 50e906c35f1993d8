/* Two jobs side by side, worked out on paper. All times in ns.
 *
 * A job is a list of kernels of one rank, each a line: step, stream, kind, phase, layer, kernel, op (with its shapes),
 * start, length. Steps end with their last kernel; the first of three is left out.
 *
 *   A   step 1 0-100.    step 2 G 110-160, E 160-190: 90, of it 10 idle.     step 3 G 200-252, E 252-282: 92, 10 idle.
 *   B   step 1 0-100.    step 2 G 110-210, E 210-240, M 240-245: 145, 10 idle.
 *                        step 3 G 256-357, E 357-386, M 386-391: 146, 11 idle.
 */
#include "job_text.h"

#include "compare/sentences.h"
#include "compare/student.h"
#include "compare/verdict.h"
#include <lumos/compare.h>
#include <math.h>

enum { HEAD = -2 };

struct kernel {
  int step;
  const char *stream, *kind, *phase;
  int layer; /* HEAD; -1: none */
  const char *name, *op, *shapes;
  int start, dur;
};

static const struct kernel a_kernels[] = {
    {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 0, 100},
    {2, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 110, 50},
    {2, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 160, 30},
    {3, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 200, 52},
    {3, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 252, 30},
};
static const struct kernel b_kernels[] = {
    {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 0, 100},
    {2, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 110, 100},
    {2, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 210, 30},
    {2, "s7", "copy", "other", -1, "M", "copy_", "[]", 240, 5},
    {3, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 256, 101},
    {3, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 357, 29},
    {3, "s7", "copy", "other", -1, "M", "copy_", "[]", 386, 5},
};

/* Like A with 10 ns more in mm: steps of 101 and 102, 11 % longer. */
static const struct kernel longer_kernels[] = {
    {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 0, 100},
    {2, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 110, 61},
    {2, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 171, 30},
    {3, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 211, 62},
    {3, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 273, 30},
};

/* The spans stand before the tasks, one for each, and the call of each kernel in its own span, all on one thread. */
static struct lumos_job *job_of(const struct kernel *kernels, size_t count) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
                                        "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                                        "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n"
                                        "{'type':'lane','rank':0,'lane':'s20','kind':'stream','native':'20'}\n");
  for (size_t i = 0; i < count; i++) {
    lumos_text_format(&text,
                      "{'type':'span','id':'0:%zu','rank':0,'lane':'t1','kind':'op','name':'%s','start':%zu,'dur':1,"
                      "'shapes':'%s'}\n",
                      i, kernels[i].op, i, kernels[i].shapes);
  }
  for (size_t i = 0; i < count; i++) {
    lumos_text_format(&text,
                      "{'type':'task','id':'0:%zu','rank':0,'lane':'t1','seq':%zu,'kind':'launch','name':'launch','"
                      "start':%zu,'dur':1,'lag':0,'step':%d,'span':'0:%zu'}\n",
                      i, i, i, kernels[i].step, i);
  }
  int seqs[2] = {0, 0};
  for (int stream = 0; stream < 2; stream++) {
    for (size_t i = 0; i < count; i++) {
      const struct kernel *kernel = &kernels[i];
      if ((strcmp(kernel->stream, "s20") == 0) == (stream == 1)) {
        lumos_text_format(
            &text,
            "{'type':'task','id':'0:%zu','rank':0,'lane':'%s','seq':%d,'kind':'%s','name':'%s','start':%d,"
            "'dur':%d,'lag':0,'gap':0,'step':%d,'call':'0:%zu','launch_lag':0,'residual':0,'phase':'%s'",
            100 + i, kernel->stream, seqs[stream]++, kernel->kind, kernel->name, kernel->start, kernel->dur,
            kernel->step, i, kernel->phase);
        if (kernel->layer == HEAD) {
          lumos_text_put(&text, ",'part':'head'");
        } else if (kernel->layer >= 0) {
          lumos_text_format(&text, ",'layer':%d,'part':'layer'", kernel->layer);
        }
        lumos_text_put(&text, "}\n");
      }
    }
  }
  lumos_text_char(&text, '\0');
  struct lumos_job *job = job_from_text(text.bytes);
  lumos_text_free(&text);
  return job;
}

#define JOB(kernels) job_of(kernels, sizeof(kernels) / sizeof *(kernels))

static const struct lumos_compare_options everything = {.steps = {NULL, NULL}};

/* Frees the jobs: a comparison needs them no more. */
static struct lumos_comparison *compared(struct lumos_job *a, struct lumos_job *b,
                                         const struct lumos_compare_options *options) {
  struct lumos_error error = {0};
  struct lumos_comparison *comparison = lumos_compare(a, b, options, &error);
  if (comparison == NULL) {
    fail_msg("%s", error.text);
  }
  lumos_job_free(a);
  lumos_job_free(b);
  return comparison;
}

static void expect_part(const struct lumos_comparison *comparison, const struct lumos_compared_parts *parts,
                        const char *label, int64_t a, int64_t b) {
  for (size_t i = 0; i < parts->count; i++) {
    if (strcmp(lumos_string(comparison->strings, parts->items[i].label), label) == 0) {
      assert_int_equal(parts->items[i].time[0], a);
      assert_int_equal(parts->items[i].time[1], b);
      return;
    }
  }
  fail_msg("there is no part '%s'", label);
}

/* The row whose longer side has this op. */
static const struct lumos_compared_row *row_of(const struct lumos_comparison *comparison, const char *op,
                                               enum lumos_match match) {
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *row = &comparison->rows.items[i];
    const struct lumos_compared_work *work = row->work[0].time > row->work[1].time ? &row->work[0] : &row->work[1];
    if (strcmp(lumos_string(comparison->strings, work->op), op) == 0 && row->match == match) {
      return row;
    }
  }
  fail_msg("there is no row of '%s' that matches by %s", op, lumos_match_name(match));
  return NULL;
}

static void parts_add_up_to_the_steps(void **state) {
  (void)state;
  struct lumos_comparison *comparison = compared(JOB(a_kernels), JOB(b_kernels), &everything);
  assert_int_equal(comparison->jobs[0].steps_recorded, 3);
  assert_int_equal(comparison->jobs[0].steps, 2);
  assert_int_equal(comparison->jobs[0].step, 91);  /* (90 + 92) / 2 */
  assert_int_equal(comparison->jobs[1].step, 145); /* 291 / 2, rounded down */
  assert_int_equal(comparison->jobs[1].shortest, 145);
  assert_int_equal(comparison->jobs[1].longest, 146);
  assert_int_equal(comparison->jobs[0].gpu_time, 81);
  assert_int_equal(comparison->jobs[1].gpu_time, 135); /* 270 / 2 */
  /* B: 201 / 2 = 100; 260 / 2 = 130, 30 more; 270 / 2 = 135, 5 more; 291 / 2 = 145, 10 more. */
  expect_part(comparison, &comparison->kinds, "matrix products", 51, 100);
  expect_part(comparison, &comparison->kinds, "elementwise kernels", 30, 30);
  expect_part(comparison, &comparison->kinds, "copies", 0, 5);
  expect_part(comparison, &comparison->kinds, "GPU idle", 10, 10);
  assert_int_equal(comparison->kinds.count, 4);
  expect_part(comparison, &comparison->layers, "layer 0", 51, 100);
  expect_part(comparison, &comparison->layers, "layer 1", 30, 30);
  expect_part(comparison, &comparison->layers, "in no known layer", 0, 5);
  expect_part(comparison, &comparison->layers, "GPU idle", 10, 10);
  /* Classes in their order: 260 / 2 = 130 of compute; 270 / 2, 5 of copies; idle the rest. */
  expect_part(comparison, &comparison->classes, "compute", 81, 130);
  expect_part(comparison, &comparison->classes, "exposed copies", 0, 5);
  expect_part(comparison, &comparison->classes, "idle", 10, 10);
  expect_part(comparison, &comparison->ranks, "rank 0", 91, 145);
  assert_int_equal(comparison->ranks.count, 1);
  lumos_comparison_free(comparison);
}

static void rows_say_what_changed(void **state) {
  (void)state;
  struct lumos_comparison *comparison = compared(JOB(a_kernels), JOB(b_kernels), &everything);
  assert_int_equal(comparison->rows.count, 3);
  const struct lumos_compared_row *products = row_of(comparison, "mm", LUMOS_MATCH_EXACT);
  assert_int_equal(products->work[0].time, 51);
  assert_int_equal(products->work[1].time, 100); /* 201 / 2, rounded down */
  assert_int_equal(products->work[1].count, 1000);
  assert_int_equal(products->work[1].first_layer, 0);
  assert_false(products->count_differs);
  const struct lumos_compared_row *copies = row_of(comparison, "copy_", LUMOS_MATCH_NONE);
  assert_int_equal(copies->work[0].count, 0);
  assert_int_equal(copies->work[1].count, 1000);
  assert_int_equal(copies->work[1].time, 5);
  assert_true(copies->count_differs);
  assert_int_equal(comparison->jobs[0].matched[LUMOS_MATCH_EXACT], 81);
  assert_int_equal(comparison->jobs[1].matched[LUMOS_MATCH_EXACT], 130);
  /* The calls: two a step in A, three in B. */
  assert_int_equal(comparison->calls.count, 1);
  assert_int_equal(comparison->calls.items[0].work[0].count, 2000);
  assert_int_equal(comparison->calls.items[0].work[1].count, 3000);
  assert_true(comparison->calls.items[0].count_differs);
  assert_string_equal(lumos_string(comparison->strings, comparison->calls.items[0].work[1].op), "copy_");
  /* Variance (2 + 0.5) / 2 = 1.25, two degrees: 1.118 * t(0.0005, 2) = 1.118 * 44.705 = 49.98. */
  assert_int_equal(comparison->noise, 50);
  assert_true(comparison->step_differs); /* 54 */
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_comparison_verdict(comparison, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "B takes 54\xC2\xA0ns (59.3\xC2\xA0%) longer a step than A; 49\xC2\xA0ns of it is "
                                  "matrix products, most of all mm (forward pass, layer 0).");
  lumos_text_free(&text);
  lumos_comparison_free(comparison);
}

static void expect_verdict(const struct lumos_comparison *comparison, const char *expected) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_comparison_verdict(comparison, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, expected);
  lumos_text_free(&text);
}

/* 11 % is within the 50 ns that two steps of each leave open: that is no "no difference". */
static void few_steps_are_inconclusive(void **state) {
  (void)state;
  struct lumos_comparison *comparison = compared(JOB(a_kernels), JOB(longer_kernels), &everything);
  assert_int_equal(comparison->jobs[0].step, 91);
  assert_int_equal(comparison->jobs[1].step, 101);
  assert_int_equal(comparison->noise, 50);
  assert_int_equal(comparison->outcome, LUMOS_COMPARE_INCONCLUSIVE);
  expect_verdict(comparison,
                 "Inconclusive: B takes 10\xC2\xA0ns (11.0\xC2\xA0%) longer a step than A, but with 2 and 2 "
                 "steps up to 50\xC2\xA0ns (54.9\xC2\xA0%) may be noise.");
  lumos_comparison_free(comparison);
}

/* The same with a copy of 1 ns: a row that changed, which is no second "but". */
static const struct kernel longer_and_copy_kernels[] = {
    {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 0, 100},
    {2, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 110, 61},
    {2, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 171, 30},
    {2, "s7", "copy", "other", -1, "M", "copy_", "[]", 201, 1},
    {3, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 212, 62},
    {3, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 274, 30},
    {3, "s7", "copy", "other", -1, "M", "copy_", "[]", 304, 1},
};

static void an_inconclusive_sentence_has_one_but(void **state) {
  (void)state;
  struct lumos_comparison *comparison = compared(JOB(a_kernels), JOB(longer_and_copy_kernels), &everything);
  expect_verdict(
      comparison,
      "Inconclusive: B takes 11\xC2\xA0ns (12.1\xC2\xA0%) longer a step than A, but with 2 and 2 steps up to "
      "50\xC2\xA0ns (54.9\xC2\xA0%) may be noise; 1\xC2\xA0row of work changed, most of all copy_ by +1\xC2\xA0ns.");
  lumos_comparison_free(comparison);
}

/* The second does 1 ns more: 33 millionths of 30,007 ns, which both do together, so that 99.997 % match. */
static const struct kernel most_kernels[] = {
    {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 0, 15003},
};
static const struct kernel more_kernels[] = {
    {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 0, 15003},
    {1, "s7", "copy", "other", -1, "M", "copy_", "[]", 15003, 1},
};

static void expect_matched(struct lumos_job *a, struct lumos_job *b, const char *words) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_comparison *comparison = compared(a, b, &everything);
  compare_put_matched(comparison, &text);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, words);
  lumos_text_free(&text);
  lumos_comparison_free(comparison);
}

static void all_but_a_little_is_not_all(void **state) {
  (void)state;
  expect_matched(JOB(most_kernels), JOB(most_kernels),
                 "Matched: 100\xC2\xA0% of the GPU time of both: 100\xC2\xA0% by layer, op, shapes and kernel");
  expect_matched(JOB(most_kernels), JOB(more_kernels),
                 "Matched: >99.9\xC2\xA0% of the GPU time of both: >99.9\xC2\xA0% by layer, op, shapes and kernel");
}

/* A, and a fourth step whose work came to nothing: of 0 ns. */
static const struct kernel empty_kernels[] = {
    {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 0, 100},
    {2, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 110, 50},
    {2, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 160, 30},
    {3, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 200, 52},
    {3, "s7", "elementwise", "backward", 1, "E", "add", "[[2]]", 252, 30},
    {4, "s7", "gemm", "forward", 0, "G", "mm", "[[2,2]]", 282, 0},
};

static void a_step_without_time_is_not_complete(void **state) {
  (void)state;
  struct lumos_comparison *comparison = compared(JOB(a_kernels), JOB(empty_kernels), &everything);
  assert_int_equal(comparison->jobs[1].steps_recorded, 4);
  assert_int_equal(comparison->jobs[1].steps, 2);
  assert_int_equal(comparison->jobs[1].step, 91);
  assert_int_equal(comparison->jobs[1].shortest, 90);
  lumos_comparison_free(comparison);
}

static struct lumos_job *cut(struct lumos_job *job, const char *text) {
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = 0;
  lumos_job_note(job, "parse.truncated", LUMOS_WARNING, LUMOS_ABSENT, &scope, text, NULL);
  return job;
}

static void expect_cut(struct lumos_job *a, struct lumos_job *b, const char *verdict) {
  struct lumos_comparison *comparison = compared(a, b, &everything);
  assert_int_equal(comparison->outcome, LUMOS_COMPARE_INCONCLUSIVE);
  expect_verdict(comparison, verdict);
  lumos_comparison_free(comparison);
}

/* However much the steps differ. */
static void a_cut_trace_is_inconclusive(void **state) {
  (void)state;
  expect_cut(JOB(a_kernels), cut(JOB(b_kernels), "the trace is cut at byte 30, in an event; the rest was read"),
             "Inconclusive: steps of B may lack work (rank 0: the trace is cut at byte 30). As read, a step takes "
             "91\xC2\xA0ns in A and 145\xC2\xA0ns in B.");
  expect_cut(cut(JOB(a_kernels), "the trace is cut at byte 30"), cut(JOB(b_kernels), "the trace is damaged at byte 40"),
             "Inconclusive: steps of A and B may lack work (in A rank 0: the trace is cut at byte 30; in B rank 0: the "
             "trace is damaged at byte 40). As read, a step takes 91\xC2\xA0ns in A and 145\xC2\xA0ns in B.");
}

/* 12 kernels a step, each by a call of its own, become 30 of as much time in all: the verdict gives both numbers, and
 * not where they become 20. */
static void calls_that_doubled_are_in_the_verdict(void **state) {
  (void)state;
  enum { MOST = 30 };
  static const int counts[2] = {MOST, 20};
  for (int i = 0; i < 2; i++) {
    struct kernel few[12], many[MOST];
    for (int k = 0; k < 12; k++) {
      few[k] = (struct kernel){1, "s7", "gemm", "forward", 0, "G", "mm", "[[2]]", 100 * k, 100};
    }
    for (int k = 0; k < counts[i]; k++) {
      many[k] = (struct kernel){1, "s7", "gemm", "forward", 0, "G", "mm", "[[2]]", 70 * k, 70};
    }
    struct lumos_comparison *comparison = compared(JOB(few), job_of(many, (size_t)counts[i]), &everything);
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_comparison_verdict(comparison, &text);
    lumos_text_char(&text, '\0');
    assert_int_equal(strstr(text.bytes, ". launch goes from 12 to 30 calls a step.") != NULL, i == 0);
    lumos_text_free(&text);
    lumos_comparison_free(comparison);
  }
}

static void a_job_is_like_itself(void **state) {
  (void)state;
  struct lumos_comparison *comparison = compared(JOB(a_kernels), JOB(a_kernels), &everything);
  assert_false(comparison->step_differs);
  for (size_t i = 0; i < comparison->rows.count; i++) {
    assert_false(comparison->rows.items[i].time_differs || comparison->rows.items[i].count_differs);
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_comparison_verdict(comparison, &text);
  assert_memory_equal(text.bytes, "No difference: ", 15);
  lumos_text_free(&text);
  lumos_comparison_free(comparison);
}

static void one_step_has_no_noise(void **state) {
  (void)state;
  static const int32_t second[] = {2};
  const struct lumos_compare_options options = {.steps = {second, second}, .step_counts = {1, 1}};
  struct lumos_comparison *comparison = compared(JOB(a_kernels), JOB(b_kernels), &options);
  assert_int_equal(comparison->jobs[0].step, 90);
  assert_int_equal(comparison->jobs[1].step, 145);
  assert_true(comparison->noise == LUMOS_ABSENT);
  const struct lumos_compared_row *products = row_of(comparison, "mm", LUMOS_MATCH_EXACT);
  assert_true(products->noise == LUMOS_ABSENT);
  assert_false(products->time_differs);
  assert_int_equal(comparison->outcome, LUMOS_COMPARE_UNKNOWN);
  expect_verdict(comparison, "B takes 55\xC2\xA0ns (61.1\xC2\xA0%) longer a step than A, of one step each, so noise is "
                             "unknown; 50\xC2\xA0ns of it is matrix products, most of all mm (forward pass, layer 0).");
  lumos_comparison_free(comparison);
  comparison = compared(JOB(a_kernels), JOB(a_kernels), &options);
  expect_verdict(comparison,
                 "No difference: a step takes 90\xC2\xA0ns in A and 90\xC2\xA0ns in B, of one step each, so "
                 "noise is unknown.");
  lumos_comparison_free(comparison);
}

static void steps_that_are_not_there_are_refused(void **state) {
  (void)state;
  static const int32_t seventh[] = {7};
  const struct lumos_compare_options options = {.steps = {NULL, seventh}, .step_counts = {0, 1}};
  struct lumos_error error = {0};
  struct lumos_job *a = JOB(a_kernels), *b = JOB(b_kernels);
  assert_null(lumos_compare(a, b, &options, &error));
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  assert_string_equal(error.text, "B has no complete step 7; its steps are 1 to 3");
  lumos_job_free(a);
  lumos_job_free(b);
}

/* Each of B's kernels is unlike A's in one thing more than the one before it; the last has nothing in common. Where A
 * has layers 0 to 4 and B has 5 as well, that one's work is B's alone, though A has left some of the same kind. */
static void work_matches_at_the_finest_level(void **state) {
  (void)state;
  static const struct kernel one[] = {
      {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2]]", 0, 10},
      {1, "s7", "gemm", "forward", 1, "G", "linear", "[[2]]", 10, 11},
      {1, "s7", "gemm", "forward", 2, "G", "bmm", "[[2]]", 21, 12},
      {1, "s7", "norm", "backward", 3, "N", "norm", "[[2]]", 33, 13},
      {1, "s7", "elementwise", "forward", 3, "E", "add", "[[2]]", 46, 14},
      {1, "s7", "reduction", "forward", 4, "R", "sum", "[[2]]", 60, 15},
      {1, "s7", "attention", "forward", 4, "T", "sdpa", "[[2]]", 75, 16},
  };
  static const struct kernel other[] = {
      {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2]]", 0, 10},          /* all the same */
      {1, "s7", "gemm", "forward", 1, "H", "linear", "[[2]]", 10, 11},     /* another kernel */
      {1, "s7", "gemm", "forward", 2, "G", "bmm", "[[4]]", 21, 12},        /* other shapes */
      {1, "s7", "other", "backward", 3, "N", "Graphed", "[]", 33, 13},     /* another op, and so kind */
      {1, "s7", "elementwise", "forward", 4, "F", "add", "[[2]]", 46, 14}, /* elsewhere */
      {1, "s7", "reduction", "forward", 4, "Q", "mean", "[[3]]", 60, 15},  /* layer and kind */
      {1, "s7", "attention", "forward", 5, "U", "flash", "[[3]]", 75, 16}, /* a layer of its own */
  };
  struct lumos_comparison *comparison = compared(JOB(one), JOB(other), &everything);
  static const struct {
    enum lumos_match match;
    int64_t time;
  } expected[] = {{LUMOS_MATCH_EXACT, 10},  {LUMOS_MATCH_MODULE, 0}, {LUMOS_MATCH_KERNEL, 11},
                  {LUMOS_MATCH_SHAPES, 12}, {LUMOS_MATCH_OP, 13},    {LUMOS_MATCH_ELSEWHERE, 14},
                  {LUMOS_MATCH_NAME, 0},    {LUMOS_MATCH_LAYER, 15}, {LUMOS_MATCH_PHASE, 0}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    for (int side = 0; side < 2; side++) {
      assert_int_equal(comparison->jobs[side].matched[expected[i].match], expected[i].time);
    }
  }
  assert_int_equal(row_of(comparison, "sdpa", LUMOS_MATCH_NONE)->work[1].count, 0);
  assert_int_equal(row_of(comparison, "flash", LUMOS_MATCH_NONE)->work[0].count, 0);
  lumos_comparison_free(comparison);
}

/* mm is in layers 0 and 2 and, for half of its time, in the head: its row says so, and what only B does is not all in
 * layers. */
static void rows_name_every_place(void **state) {
  (void)state;
  static const struct kernel one[] = {
      {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2]]", 0, 10},
      {1, "s7", "gemm", "forward", 2, "G", "mm", "[[2]]", 10, 10},
      {1, "s7", "gemm", "forward", HEAD, "G", "mm", "[[2]]", 20, 20},
  };
  static const struct kernel other[] = {
      {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2]]", 0, 10},
      {1, "s7", "gemm", "forward", 2, "G", "mm", "[[2]]", 10, 10},
      {1, "s7", "gemm", "forward", HEAD, "G", "mm", "[[2]]", 20, 60},
      {1, "s7", "norm", "forward", 1, "N", "norm", "[[2]]", 80, 30},
      {1, "s7", "norm", "forward", HEAD, "N", "norm", "[[2]]", 110, 31},
  };
  struct lumos_comparison *comparison = compared(JOB(one), JOB(other), &everything);
  const struct lumos_compared_row *mm = row_of(comparison, "mm", LUMOS_MATCH_EXACT);
  assert_int_equal(mm->work[1].layers, 2);
  assert_int_equal(mm->work[1].parts, LUMOS_COMPARE_PART(LUMOS_PART_LAYER) | LUMOS_COMPARE_PART(LUMOS_PART_HEAD));
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  compare_put_place(&text, mm);
  lumos_text_char(&text, '\0');
  assert_string_equal(text.bytes, "forward pass, 2 of layers 0-2 and head");
  lumos_text_free(&text);
  expect_verdict(comparison, "B takes 101\xC2\xA0ns (253\xC2\xA0%) longer a step than A, of one step each, so noise is "
                             "unknown; 61\xC2\xA0ns of it is work that only B does, most of all normalization: norm "
                             "(forward pass, layer 1 and head).");
  lumos_comparison_free(comparison);
}

/* What only B does takes 61, what both do 50 less: the step 11 more. A part is no larger than the whole. */
static void other_work_may_make_up(void **state) {
  (void)state;
  static const struct kernel one[] = {{1, "s7", "gemm", "forward", HEAD, "G", "mm", "[[2]]", 0, 60}};
  static const struct kernel other[] = {{1, "s7", "gemm", "forward", HEAD, "G", "mm", "[[2]]", 0, 10},
                                        {1, "s7", "norm", "forward", HEAD, "N", "norm", "[[2]]", 10, 61}};
  struct lumos_comparison *comparison = compared(JOB(one), JOB(other), &everything);
  expect_verdict(comparison, "B takes 11\xC2\xA0ns (18.3\xC2\xA0%) longer a step than A, of one step each, so noise is "
                             "unknown; work that only B does alone would make it 61\xC2\xA0ns longer, most of all "
                             "normalization: norm (forward pass, head).");
  lumos_comparison_free(comparison);
}

static void expect_sizes(const struct lumos_comparison *comparison, int64_t time, const char *a, const char *b) {
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *row = &comparison->rows.items[i];
    if (row->work[0].time == time) {
      assert_int_equal(row->match, LUMOS_MATCH_SHAPES);
      assert_true(row->sized);
      assert_string_equal(lumos_string(comparison->strings, row->work[0].shapes), a);
      assert_string_equal(lumos_string(comparison->strings, row->work[1].shapes), b);
      return;
    }
  }
  fail_msg("no row of A takes %d ns", (int)time);
}

/* In both layers mm runs first with a narrow input, then with a wide one, and both become wider: by the order in which
 * they run each has its counterpart, over all layers. The two shapes of B's bmm have one in A, so that none is
 * theirs. */
static void other_shapes_find_their_counterparts(void **state) {
  (void)state;
  static const struct kernel one[] = {
      {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,3],[3,4]]", 0, 10},
      {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,4],[4,9]]", 10, 200},
      {1, "s7", "gemm", "forward", 1, "G", "mm", "[[2,3],[3,4]]", 210, 10},
      {1, "s7", "gemm", "forward", 1, "G", "mm", "[[2,4],[4,9]]", 220, 200},
      {1, "s7", "gemm", "backward", 1, "G", "bmm", "[[5]]", 420, 70},
  };
  static const struct kernel other[] = {
      {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,3],[3,8]]", 0, 20},
      {1, "s7", "gemm", "forward", 0, "G", "mm", "[[2,8],[8,9]]", 20, 400},
      {1, "s7", "gemm", "forward", 1, "G", "mm", "[[2,3],[3,8]]", 420, 20},
      {1, "s7", "gemm", "forward", 1, "G", "mm", "[[2,8],[8,9]]", 440, 400},
      {1, "s7", "gemm", "backward", 1, "G", "bmm", "[[6]]", 840, 7},
      {1, "s7", "gemm", "backward", 1, "G", "bmm", "[[7]]", 847, 80},
  };
  struct lumos_comparison *comparison = compared(JOB(one), JOB(other), &everything);
  expect_sizes(comparison, 20, "[[2,3],[3,4]]", "[[2,3],[3,8]]");
  expect_sizes(comparison, 400, "[[2,4],[4,9]]", "[[2,8],[8,9]]");
  const struct lumos_compared_row *bmm = row_of(comparison, "bmm", LUMOS_MATCH_SHAPES);
  assert_false(bmm->sized);
  assert_int_equal(bmm->work[0].time, 70);
  assert_int_equal(bmm->work[1].time, 87);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_comparison_verdict(comparison, &text);
  lumos_text_char(&text, '\0');
  /* 4x9 has 36 elements, the largest input; it becomes 8x9. Of mm's rows the one of 400 ns changed most. */
  assert_non_null(strstr(text.bytes, "mm (forward pass, layers 0-1; 4x9 became 8x9)"));
  lumos_text_free(&text);
  lumos_comparison_free(comparison);
}

/* On two streams: compute 0-50 counts though communication began with it, then that one's rest 50-80, though a copy
 * began before it ended; of the copy only what is after all, 80-90. Within compute the one that started first
 * counts. */
static void what_runs_together_counts_once(void **state) {
  (void)state;
  static const struct kernel overlapping[] = {
      {1, "s7", "gemm", "forward", 0, "G", "mm", "[]", 0, 50},
      {1, "s7", "copy", "forward", 0, "M", "copy_", "[]", 60, 30},
      {1, "s20", "collective", "forward", 0, "C", "all_reduce", "[]", 0, 40},
      {1, "s20", "norm", "forward", 0, "N", "norm", "[]", 40, 15},
      {1, "s20", "collective", "forward", 0, "C", "all_reduce", "[]", 55, 25},
  };
  struct lumos_comparison *comparison = compared(JOB(overlapping), JOB(overlapping), &everything);
  assert_int_equal(comparison->jobs[0].step, 90);
  expect_part(comparison, &comparison->kinds, "matrix products", 50, 50);
  expect_part(comparison, &comparison->kinds, "normalization", 5, 5);
  expect_part(comparison, &comparison->kinds, "collectives", 25, 25);
  expect_part(comparison, &comparison->kinds, "copies", 10, 10);
  assert_int_equal(comparison->jobs[0].gpu_time, 160);
  lumos_comparison_free(comparison);
}

/* ---- Statistics: values of tables ---- */

static void close_to(double value, double expected, double within) {
  if (fabs(value - expected) > within) {
    fail_msg("%.9g, not %.9g", value, expected);
  }
}

static void tails_are_those_of_tables(void **state) {
  (void)state;
  close_to(compare_student_tails(12.706, 1), 0.05, 1e-5);
  close_to(compare_student_tails(63.657, 1), 0.01, 1e-6);
  close_to(compare_student_tails(2.776, 4), 0.05, 3e-5);
  close_to(compare_student_tails(31.599, 2), 0.001, 1e-6);
  close_to(compare_student_tails(3.850, 20), 0.001, 2e-6);
  close_to(compare_student_tails(1.960, 1e7), 0.05, 1e-4);
  close_to(compare_student_tails(0, 3), 1, 1e-12);
}

static void noise_is_a_students_interval(void **state) {
  (void)state;
  const struct compare_sample a = {3, 4}, b = {5, 1}, one = {1, 0};
  struct compare_variance pooled = compare_pooled(&a, &b); /* (2 * 4 + 4 * 1) / 6 */
  close_to(pooled.variance, 2, 1e-12);
  close_to(pooled.freedom, 6, 0);
  close_to(compare_noise(3, 5, pooled, 0.05), 2.447 * sqrt(2 * (1.0 / 3 + 1.0 / 5)), 1e-3);
  pooled = compare_pooled(&one, &b); /* only the other's */
  close_to(pooled.variance, 1, 1e-12);
  close_to(pooled.freedom, 4, 0);
  assert_true(compare_noise(1, 1, compare_pooled(&one, &one), 0.05) < 0);
  const struct compare_variance own = {4, 2}, prior = {1, 8};
  struct compare_variance both = compare_moderated(own, prior); /* (2 * 4 + 8 * 1) / 10 */
  close_to(both.variance, 1.6, 1e-12);
  close_to(both.freedom, 10, 0);
}

/* Variances at the quantiles of 5 times an F distribution of 4 and 6 degrees, (i + 0.5) / 400: what a prior of variance
 * 5 and 6 degrees gives. F(4, 6) has the distribution function 1 - u^3 (4 - 3 u) with u = 6 / (6 + 4 x), which is
 * inverted by halving. */
static void rows_show_what_they_have_in_common(void **state) {
  (void)state;
  enum { ROWS = 400 };
  double variances[ROWS];
  for (int i = 0; i < ROWS; i++) {
    double wanted = (i + 0.5) / ROWS, low = 0, high = 1e4;
    for (int k = 0; k < 200; k++) {
      double x = (low + high) / 2, u = 6 / (6 + 4 * x);
      if (1 - u * u * u * (4 - 3 * u) < wanted) {
        low = x;
      } else {
        high = x;
      }
    }
    variances[i] = 5 * low;
  }
  struct compare_variance prior = compare_prior(variances, ROWS, 4);
  close_to(prior.variance, 5, 0.1);
  close_to(prior.freedom, 6, 0.4);
  close_to(compare_prior(variances, 5, 4).freedom, 0, 0); /* too few */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_add_up_to_the_steps),
      cmocka_unit_test(rows_say_what_changed),
      cmocka_unit_test(few_steps_are_inconclusive),
      cmocka_unit_test(an_inconclusive_sentence_has_one_but),
      cmocka_unit_test(all_but_a_little_is_not_all),
      cmocka_unit_test(a_step_without_time_is_not_complete),
      cmocka_unit_test(a_cut_trace_is_inconclusive),
      cmocka_unit_test(calls_that_doubled_are_in_the_verdict),
      cmocka_unit_test(a_job_is_like_itself),
      cmocka_unit_test(one_step_has_no_noise),
      cmocka_unit_test(steps_that_are_not_there_are_refused),
      cmocka_unit_test(work_matches_at_the_finest_level),
      cmocka_unit_test(rows_name_every_place),
      cmocka_unit_test(other_shapes_find_their_counterparts),
      cmocka_unit_test(what_runs_together_counts_once),
      cmocka_unit_test(tails_are_those_of_tables),
      cmocka_unit_test(noise_is_a_students_interval),
      cmocka_unit_test(rows_show_what_they_have_in_common),
      cmocka_unit_test(other_work_may_make_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
