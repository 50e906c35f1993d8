/* The tasks that a page embeds: which ones, and how they are packed; and the digest of its script. */
#include "unit/report_job.h"

#include "base/json.h"
#include "report/content/detail.h"
#include "report/text/script.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* One rank: a thread that launches, a stream that runs; the second kernel ran 5 ns later and 10 ns longer than it is
 * simulated. */
static struct lumos_job *small_job(void) {
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 3);
  uint32_t thread = add_lane(job, rank, "t77", LUMOS_THREAD);
  uint32_t first = add_task(job, thread, LUMOS_LAUNCH, "launch", 100, 10);
  uint32_t second = add_task(job, thread, LUMOS_LAUNCH, "launch", 120, 10);
  uint32_t stream = add_lane(job, rank, "s7", LUMOS_STREAM);
  uint32_t gemm = add_task(job, stream, LUMOS_GEMM, "</script>", 130, 40);
  uint32_t norm = add_task(job, stream, LUMOS_NORM, "norm", 180, 30);
  uint32_t other = add_task(job, stream, LUMOS_GEMM, "norm", 215, 5);
  job->tasks.items[gemm].call = first;
  job->tasks.items[norm].call = second;
  job->tasks.items[norm].start += 5;
  job->tasks.items[norm].dur += 10;
  job->tasks.items[other].start = LUMOS_ABSENT;
  finish_job(job);
  return job;
}

static struct lumos_text packed(const struct lumos_job *job, const struct lumos_report_options *options,
                                const struct lumos_held *bindings, struct lumos_text *sentence) {
  struct report_timelines timelines;
  struct report_detail detail;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_timelines_read(job, NULL, &timelines);
  const struct report_detail_source from = {.timelines = &timelines, .options = options, .bindings = bindings};
  report_detail_read(&from, &detail);
  report_detail_json(&detail, &text);
  lumos_text_char(&text, '\0');
  if (sentence != NULL) {
    report_put_detail(&detail, sentence);
    lumos_text_char(sentence, '\0');
  }
  report_detail_free(&detail);
  report_timelines_free(&timelines);
  return text;
}

static void assert_has(const struct lumos_text *text, const char *part) {
  if (strstr(text->bytes, part) == NULL) {
    fail_msg("not there: %s\nin: %.2000s", part, text->bytes);
  }
}

static void columns(void **state) {
  (void)state;
  struct lumos_job *job = small_job();
  const struct lumos_report_options options = {.format = LUMOS_REPORT_HTML};
  struct lumos_text sentence = LUMOS_TEXT_BUFFER;
  struct lumos_text text = packed(job, &options, NULL, &sentence);
  const char *cursor = text.bytes;
  assert_true(lumos_json_skip(&cursor, NULL));
  /* No step is known of by a rank without a window of its own: times count from the first step's start. */
  assert_has(&text, "{\"rank\":3,\"lane\":\"CPU main (thread 77)\",\"left_out\":0,\n\"start\":[");
  assert_has(&text, ",20],\n\"dur\":[10,10],\n\"name\":[0,0],\n\"task\":[0,1]}");
  assert_has(&text,
             ",50,35],\n\"dur\":[40,30,5],\n\"name\":[1,2,3],\n\"task\":[2,1,1],\n\"measured_start\":[0,5,null],\n"
             "\"measured_dur\":[0,10,null],\n\"call\":[0,1,null]}");
  assert_has(&text, "\"names\":[[14,0],[1,1],[4,2],[1,2]]");
  assert_has(&text, "\"texts\":[\"launch\",\"\\u003c/script\\u003e\",\"norm\"]");
  assert_has(&text, "[\"gemm\",\"GEMM\"]");
  assert_string_equal(sentence.bytes, "The page holds all 5\xC2\xA0"
                                      "drawn tasks one by one.");
  lumos_text_free(&sentence);
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* What held a start, an end, and what is not among the embedded. */
static void holds(void **state) {
  (void)state;
  struct lumos_job *job = small_job();
  const struct lumos_report_options options = {.format = LUMOS_REPORT_HTML};
  struct lumos_binding itself = {LUMOS_NONE, LUMOS_HELD_BY_ITSELF, LUMOS_END, LUMOS_RECORDED};
  struct lumos_binding nothing = {LUMOS_NONE, LUMOS_HELD_BY_NOTHING, LUMOS_END, LUMOS_UNEXPLAINED};
  struct lumos_bindings bindings[5] = {
      {{LUMOS_NONE, LUMOS_HELD_BY_BOUNDARY, LUMOS_END, LUMOS_UNEXPLAINED}, itself, nothing},
      {{0, LUMOS_HELD_BY_THREAD, LUMOS_END, LUMOS_RECORDED},
       {3, LUMOS_HELD_BY_WAIT, LUMOS_END, LUMOS_INFERRED},
       nothing},
      {{0, LUMOS_HELD_BY_LAUNCH, LUMOS_END, LUMOS_RECORDED}, itself, nothing},
      {{2, LUMOS_HELD_BY_STREAM, LUMOS_END, LUMOS_ORDERED}, itself, nothing},
      {{1, LUMOS_HELD_BY_LAUNCH, LUMOS_START, LUMOS_RECORDED}, itself, nothing}};
  uint64_t kept = 0x1F;
  uint32_t before = 0;
  const struct lumos_held held = {&kept, &before, bindings};
  struct lumos_text text = packed(job, &options, &held, NULL);
  assert_has(&text, "\"held\":[null,0],\n\"hold\":[0,1],\n\"ends\":[[1,3,2]]}");
  assert_has(&text, "\"held\":[0,2,-1],\n\"hold\":[3,4,5],\n\"ends\":[]}");
  assert_has(&text,
             "\"holds\":[[\"outside the recording\",\"end\",\"unexplained\"],[\"thread order\",\"end\",\"recorded\"],"
             "[\"wait\",\"end\",\"inferred\"],[\"launch\",\"end\",\"recorded\"],"
             "[\"stream order\",\"end\",\"ordered\"],[\"launch\",\"start\",\"recorded\"]]");
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* 60,000 kernels of 1000, 1001, ... ns, each with a call of 10 ns: the longest 20,000 are the last. */
enum { KERNELS = 60000 };

static struct lumos_job *large_job(void) {
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_rank(job, 0);
  uint32_t thread = add_lane(job, rank, "t1", LUMOS_THREAD);
  for (uint32_t i = 0; i < KERNELS; i++) {
    add_task(job, thread, LUMOS_LAUNCH, "launch", (int64_t)i * 100000, 10);
  }
  uint32_t stream = add_lane(job, rank, "s1", LUMOS_STREAM);
  for (uint32_t i = 0; i < KERNELS; i++) {
    uint32_t task = add_task(job, stream, LUMOS_GEMM, "gemm", (int64_t)i * 100000 + 50, 1000 + (int64_t)i);
    job->tasks.items[task].call = i;
  }
  finish_job(job);
  return job;
}

static void choice(void **state) {
  (void)state;
  struct lumos_job *job = large_job();
  struct report_timelines timelines;
  struct report_detail detail;
  report_timelines_read(job, NULL, &timelines);
  struct lumos_report_options options = {.format = LUMOS_REPORT_HTML};
  struct report_detail_source from = {.timelines = &timelines, .options = &options};
  report_detail_read(&from, &detail);
  assert_int_equal(detail.tasks, 2 * KERNELS);
  assert_int_equal(detail.embedded, 40000); /* each with its call */
  assert_int_equal(detail.shortest, 1000 + KERNELS - 20000);
  uint32_t last_short = KERNELS + KERNELS - 20001;
  assert_int_equal(detail.ordinals[last_short], LUMOS_NONE);
  assert_int_equal(detail.ordinals[last_short + 1], 20000); /* behind as many calls, which are drawn above */
  assert_int_equal(detail.ordinals[KERNELS - 20000], 0);
  report_detail_free(&detail);

  /* The span holds kernels and calls 100 to 119 whole, and the end of kernel 99 in neither. */
  int64_t origin = report_timelines_origin(&timelines);
  options.has_detail = true;
  options.detail_from = 100 * 100000 - origin;
  options.detail_until = 120 * 100000 - origin;
  report_detail_read(&from, &detail);
  assert_int_equal(detail.window_tasks, 40);
  assert_int_equal(detail.embedded, 40040);
  assert_int_equal(detail.ordinals[KERNELS + 99], LUMOS_NONE);
  assert_int_equal(detail.ordinals[100], 0);
  assert_int_equal(detail.ordinals[119], 19);
  struct lumos_text sentence = LUMOS_TEXT_BUFFER;
  report_put_detail(&detail, &sentence);
  lumos_text_char(&sentence, '\0');
  assert_has(&sentence, "The page holds 40,040 of 120,000\xC2\xA0tasks one by one: the 20,000 longest, down to "
                        "41.0\xC2\xA0\xC2\xB5s, and all 40\xC2\xA0tasks from ");
  assert_has(&sentence, ". What launched and what held them is there, too. The others are in the columns alone.");
  struct lumos_text json = LUMOS_TEXT_BUFFER;
  char window[80];
  (void)snprintf(window, sizeof window, "\"window\":[%lld,%lld]", (long long)options.detail_from,
                 (long long)options.detail_until);
  report_detail_json(&detail, &json);
  lumos_text_char(&json, '\0');
  assert_has(&json, window);
  lumos_text_free(&json);
  report_detail_free(&detail);
  lumos_text_free(&sentence);
  report_timelines_free(&timelines);
  lumos_job_free(job);
}

/* A span with everything in it: the 20,000 longest of it are the same ones again. */
static void choice_of_all(void **state) {
  (void)state;
  struct lumos_job *job = large_job();
  struct report_timelines timelines;
  struct report_detail detail;
  report_timelines_read(job, NULL, &timelines);
  struct lumos_report_options options = {
      .format = LUMOS_REPORT_HTML, .has_detail = true, .detail_from = -1000000000000, .detail_until = 1000000000000};
  struct report_detail_source from = {.timelines = &timelines, .options = &options};
  report_detail_read(&from, &detail);
  assert_int_equal(detail.window_tasks, 2 * KERNELS);
  assert_int_equal(detail.embedded, 40000);
  struct lumos_text sentence = LUMOS_TEXT_BUFFER;
  report_put_detail(&detail, &sentence);
  lumos_text_char(&sentence, '\0');
  assert_has(&sentence, ", and the 20,000 longest of 120,000\xC2\xA0tasks from ");
  struct lumos_text json = LUMOS_TEXT_BUFFER;
  report_detail_json(&detail, &json);
  lumos_text_char(&json, '\0');
  assert_null(strstr(json.bytes, "\"window\"")); /* it has gaps */
  lumos_text_free(&json);
  report_detail_free(&detail);
  lumos_text_free(&sentence);
  report_timelines_free(&timelines);
  lumos_job_free(job);
}

/* Of kernels that take equally long the first ones are chosen, and the others not where so many take longer. */
static void choice_of_equals(void **state) {
  (void)state;
  static const struct {
    uint32_t longer; /* so many of the last kernels take twice as long */
    int64_t shortest;
    bool first, next; /* is kernel 0 embedded, and the one behind the first that there is room for? */
  } cases[] = {{0, 1000, true, false}, {5000, 1000, true, false}, {20000, 2000, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct lumos_job *job = large_job();
    for (uint32_t k = 0; k < KERNELS; k++) {
      int64_t duration = k < KERNELS - cases[i].longer ? 1000 : 2000;
      job->tasks.items[KERNELS + k].dur = job->runs.items[KERNELS + k].dur = duration;
    }
    struct report_timelines timelines;
    struct report_detail detail;
    report_timelines_read(job, NULL, &timelines);
    struct lumos_report_options options = {.format = LUMOS_REPORT_HTML};
    struct report_detail_source from = {.timelines = &timelines, .options = &options};
    report_detail_read(&from, &detail);
    uint32_t room = 20000 - cases[i].longer;
    assert_int_equal(detail.embedded, 40000);
    assert_int_equal(detail.shortest, cases[i].shortest);
    assert_int_equal(detail.ordinals[KERNELS] != LUMOS_NONE, cases[i].first);
    assert_int_equal(room > 0 && detail.ordinals[KERNELS + room - 1] != LUMOS_NONE, cases[i].first);
    assert_int_equal(detail.ordinals[KERNELS + room] != LUMOS_NONE, cases[i].next);
    report_detail_free(&detail);
    report_timelines_free(&timelines);
    lumos_job_free(job);
  }
}

/* The first step begins with kernel 500, 50 ms after kernel 0: what came before stands in 500 columns of 0.1 ms, each
 * with a call and a short kernel. */
static void what_came_before_is_in_columns(void **state) {
  (void)state;
  struct lumos_job *job = large_job();
  for (uint32_t k = 0; k < 250; k++) {
    job->tasks.items[KERNELS + k].kind = LUMOS_NORM;
  }
  job->ranks.items[0].base = 50000000;
  const struct lumos_report_options options = {.format = LUMOS_REPORT_HTML};
  struct lumos_text text = packed(job, &options, NULL, NULL);
  assert_has(&text, ",\"begin\":-50000000,\"early_column\":100000,");
  assert_has(&text, ",\n\"early\":[[14,0,500,1]]}");
  assert_has(&text, ",\n\"early\":[[4,0,250,1,1,250,250,1]]}");
  lumos_text_free(&text);

  job->ranks.items[0].base = 0;
  text = packed(job, &options, NULL, NULL);
  assert_null(strstr(text.bytes, "\"early"));
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* A chain through 70 of the short kernels and their calls, each with its lag and its run. */
static void add_long_chain(struct lumos_path_parts *parts) {
  struct lumos_path_part outside = {.task = LUMOS_NONE};
  lumos_vector_push(parts, outside);
  for (uint32_t i = 0; i < 70; i++) {
    /* A call runs from 200,000 i for 10, its kernel from 50 later for 1000 + 2 i; of the third kernel only a part
     * counts. */
    int64_t at = 200000 * (int64_t)i;
    int64_t end = at + 1050 + 2 * (int64_t)i;
    struct lumos_path_part call = {.from = at, .to = at + 10, .task = 2 * i, .what = LUMOS_PATH_RUN};
    struct lumos_path_part lag = {.from = at + 10, .to = at + 50, .task = KERNELS + 2 * i, .what = LUMOS_PATH_LAG};
    struct lumos_path_part run = {.from = at + 50, .to = end, .task = KERNELS + 2 * i, .what = LUMOS_PATH_RUN};
    if (i == 2) {
      lag.to = run.from = at + 70;
      run.to = at + 90;
      lag.task = LUMOS_NONE;
    }
    lumos_vector_push(parts, call);
    lumos_vector_push(parts, lag);
    lumos_vector_push(parts, run);
  }
}

static void chain(void **state) {
  (void)state;
  struct lumos_job *job = large_job();
  struct report_timelines timelines;
  struct report_detail detail;
  struct report_chain chain = {.job = job, .step = 7};
  report_timelines_read(job, NULL, &timelines);
  add_long_chain(&chain.parts);
  struct lumos_report_options options = {.format = LUMOS_REPORT_HTML};
  struct report_detail_source from = {.timelines = &timelines, .options = &options, .chain = &chain};
  report_detail_read(&from, &detail);
  assert_int_equal(detail.chain_tasks, 140);
  assert_int_equal(detail.embedded, 40140);
  assert_int_equal(detail.ordinals[138], 69);
  assert_int_equal(detail.ordinals[139], LUMOS_NONE);
  assert_int_equal(detail.ordinals[KERNELS], 20070);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_detail_json(&detail, &text);
  lumos_text_char(&text, '\0');
  assert_has(&text, "\"routes\":[]");
  text.length = 0;
  report_put_detail(&detail, &text);
  lumos_text_char(&text, '\0');
  assert_has(&text, ", and all 140\xC2\xA0tasks on the critical path of step 7. What launched");
  lumos_text_free(&text);
  report_detail_free(&detail);
  report_timelines_free(&timelines);
  lumos_vector_free(&chain.parts);
  lumos_job_free(job);
}

/* What a kernel has in common with others and what it is part of: of its call's op, the module around that. */
static void facts(void **state) {
  (void)state;
  struct lumos_job *job = small_job();
  struct lumos_strings *strings = job->strings;
  struct lumos_span module = lumos_span_empty, op = lumos_span_empty;
  module.kind = LUMOS_SPAN_MODULE;
  module.name = lumos_intern_text(strings, "Linear_3");
  op.kind = LUMOS_SPAN_OP;
  op.name = lumos_intern_text(strings, "aten::mm");
  op.shapes = lumos_intern_text(strings, "[[2, 3], [3, 4]]");
  op.parent = 0;
  lumos_vector_push(&job->spans, module);
  lumos_vector_push(&job->spans, op);
  job->tasks.items[0].span = 1;
  job->tasks.items[2].phase = job->tasks.items[3].phase = LUMOS_BACKWARD;
  job->tasks.items[2].layer = job->tasks.items[3].layer = 7;
  job->tasks.items[3].micro_batch = 2;
  job->tasks.items[4].phase = LUMOS_BACKWARD;
  job->tasks.items[4].layer = 8;
  job->tasks.items[4].micro_batch = 2;
  lumos_task_detail(job, &job->tasks.items[3])->bytes = 4096;
  const struct lumos_report_options options = {.format = LUMOS_REPORT_HTML};
  struct lumos_text text = packed(job, &options, NULL, NULL);
  assert_has(
      &text,
      "\"texts\":[\"launch\",\"aten::mm\",\"Linear_3\",\"[[2, 3], [3, 4]]\",\"\\u003c/script\\u003e\",\"norm\"]");
  assert_has(&text, "\"names\":[[14,0,1,2,3],[14,0],[1,4,1,2,3],[4,5],[1,5]]");
  assert_has(&text, "\"passes\":[[0,2,-1,7],[1,2,2,7],[2,2,2,8]]");
  assert_has(&text, "\"bytes\":[[1,4096]]");
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* Legs of a critical path; a lane that is not drawn, and what is outside of the recording, have no place. */
static void routes(void **state) {
  (void)state;
  struct lumos_job *job = small_job();
  struct report_timelines timelines;
  struct report_detail detail;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  const struct lumos_report_options options = {.format = LUMOS_REPORT_HTML};
  report_timelines_read(job, NULL, &timelines);
  int64_t origin = report_timelines_origin(&timelines);
  struct lumos_binding launch = {0, LUMOS_HELD_BY_LAUNCH, LUMOS_END, LUMOS_RECORDED};
  struct lumos_binding nothing = {LUMOS_NONE, LUMOS_HELD_BY_BOUNDARY, LUMOS_END, LUMOS_UNEXPLAINED};
  const struct report_leg legs[] = {{origin, origin + 5, LUMOS_NONE, nothing},
                                    {origin + 5, origin + 12, 0, nothing},
                                    {origin + 12, origin + 90, 1, launch}};
  for (size_t i = 0; i < sizeof legs / sizeof legs[0]; i++) {
    lumos_vector_push(&timelines.routes.legs, legs[i]);
  }
  lumos_vector_push(&timelines.routes.of, ((struct report_route){9, 0, 3}));
  const struct report_detail_source from = {.timelines = &timelines, .options = &options};
  report_detail_read(&from, &detail);
  report_detail_json(&detail, &text);
  lumos_text_char(&text, '\0');
  assert_has(&text, "\"routes\":[[9,0,[-1,0,1],[5,7,78],[0,0,1]]],\n\"holds\":[[\"outside the "
                    "recording\",\"end\",\"unexplained\"],[\"launch\",");
  report_detail_free(&detail);
  report_timelines_free(&timelines);
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* Two jobs on one page: of each what runs in its own span, from where its picture begins, in one timeline; names, texts
 * and tasks of the second are numbered behind those of the first. */
static void several(void **state) {
  (void)state;
  enum { FROM = 120, UNTIL = 212 }; /* the second launch, two kernels: the third begins later */
  struct lumos_job *jobs[2] = {small_job(), small_job()};
  struct report_timelines timelines[2];
  struct report_detail details[2];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  static const struct lumos_report_options options = {.format = LUMOS_REPORT_HTML};
  for (int i = 0; i < 2; i++) {
    report_timelines_read(jobs[i], NULL, &timelines[i]);
    timelines[i].begin = timelines[i].from = FROM + jobs[i]->runs.items[0].start - 100;
    timelines[i].end = timelines[i].from + UNTIL - FROM;
    timelines[i].twice = false;
    const struct report_detail_source from = {
        .timelines = &timelines[i], .options = &options, .jobs = 2, .name = i == 0 ? "A" : "B", .shown = SIMULATED};
    report_detail_read(&from, &details[i]);
    assert_int_equal(details[i].embedded, 3);
  }
  report_details_json(details, 2, &text);
  lumos_text_char(&text, '\0');
  const char *cursor = text.bytes;
  assert_true(lumos_json_skip(&cursor, NULL));
  assert_has(&text, "\"twice\":false,\"only\":\"simulated\",\n\"steps\":[],");
  assert_has(&text,
             "\"lanes\":[{\"rank\":3,\"lane\":\"CPU main (thread 77)\",\"left_out\":0,\"job\":\"A\",\"until\":92,\n"
             "\"start\":[0],\n\"dur\":[10],\n\"name\":[0],\n\"task\":[1]}");
  assert_has(&text,
             "\"job\":\"A\",\"until\":92,\n\"start\":[10,50],\n\"dur\":[40,30],\n\"name\":[1,2],\n\"task\":[2,1],\n"
             "\"call\":[false,0]}");
  assert_has(&text,
             "\"job\":\"B\",\"until\":92,\n\"start\":[10,50],\n\"dur\":[40,30],\n\"name\":[4,5],\n\"task\":[2,1],\n"
             "\"call\":[false,3]}");
  assert_has(&text, "\"names\":[[14,0],[1,1],[4,2],[14,3],[1,4],[4,5]]");
  assert_has(&text, "\"texts\":[\"launch\",\"\\u003c/script\\u003e\",\"norm\",\"launch\",");
  lumos_text_free(&text);
  for (int i = 0; i < 2; i++) {
    report_detail_free(&details[i]);
    report_timelines_free(&timelines[i]);
    lumos_job_free(jobs[i]);
  }
}

/* Digests from FIPS 180-4 and its examples, in base64. */
static void digest(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"", "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
                                         {"abc", "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    report_put_script_digest(&text, cases[i][0], strlen(cases[i][0]));
    lumos_text_char(&text, '\0');
    assert_string_equal(text.bytes, cases[i][1]);
    lumos_text_free(&text);
  }
}

static void script_stays_inside(void **state) {
  (void)state;
  static const char *const bad[] = {"a = '</script>'", "'<!--'", "'<SCRIPT'", "a\r\nb", "</script"};
  struct lumos_error error = {LUMOS_DONE, ""};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    error.text[0] = '\0';
    assert_false(report_script_check("script-page.js", bad[i], strlen(bad[i]), &error));
    assert_non_null(strstr(error.text, "script-page.js: byte "));
  }
  assert_false(report_script_check("script-page.js", "a\0b", 3, &error));
  assert_true(report_script_check("script-page.js", "if (a < b && c <!b) { }\n</", 25, &error));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns),
      cmocka_unit_test(holds),
      cmocka_unit_test(choice),
      cmocka_unit_test(choice_of_all),
      cmocka_unit_test(choice_of_equals),
      cmocka_unit_test(what_came_before_is_in_columns),
      cmocka_unit_test(chain),
      cmocka_unit_test(facts),
      cmocka_unit_test(routes),
      cmocka_unit_test(several),
      cmocka_unit_test(digest),
      cmocka_unit_test(script_stays_inside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
