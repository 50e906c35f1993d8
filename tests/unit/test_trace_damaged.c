/* What a damaged text still gives: all that is whole, each damage told as what it is and where it lies; or, asked to be
 * strict, a failure.
 */
#include "trace/scan.h"
#include "trace_text.h"

/* Traces are laid out with an event a line. */
/* clang-format off */

static const struct lumos_trace_options plain = {.steps = LUMOS_STEPS_COMPLETE};
static const struct lumos_trace_options strict = {.strict = true};

/* One broken place, between two good events. */
static void expect_skipped(const char *text, int64_t count, const char *note_part) {
  struct lumos_job *job = parse_good(text, NULL);
  expect_tasks(job, "t10 a 0+1000\nt10 z 5000+1000 lag 4000\n");
  const struct lumos_note *note = find_note(job, "parse.skipped_events");
  assert_non_null(note);
  assert_int_equal(note->count, count);
  assert_int_equal(job->ranks.items[0].coverage.skipped, count);
  if (strstr(string_of(job, note->text), note_part) == NULL) {
    fail_msg("'%s' lacks '%s'", string_of(job, note->text), note_part);
  }
  assert_null(find_note(job, "parse.truncated"));
  lumos_job_free(job);
}

#define BETWEEN(middle) "{\"traceEvents\":[" OP("a", 1, 1) "," middle "," OP("z", 6, 1) "]}"

static void broken_events_are_skipped_and_counted(void **state) {
  (void)state;
  const char *quoted = "{\"ph\":\"X\",\"name\":\"b \"quoted\" b\",\"ts\":2,\"dur\":1}";
  size_t start = strlen("{\"traceEvents\":[" OP("a", 1, 1) ",");
  char bytes[128];
  (void)snprintf(bytes, sizeof bytes, "were skipped: bytes %zu-%zu (not valid JSON)", start, start + strlen(quoted));
  expect_skipped(BETWEEN("{\"ph\":\"X\",\"name\":\"b \"quoted\" b\",\"ts\":2,\"dur\":1}"), 1, bytes);
  expect_skipped(BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"ts\":,\"dur\":1}"), 1, "not valid JSON");
  expect_skipped(BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"line\nbreak\",\"ts\":3,\"dur\":1}"), 1,
                 "not valid JSON");
  expect_skipped(BETWEEN("WARNING: a log line [1]"), 1, "neither an event nor a comma");
  expect_skipped(BETWEEN("{\"ph\":\"X\",\"args\":{\"a\":1,"), 1, "not valid JSON");
  (void)snprintf(bytes, sizeof bytes, "bytes %zu-%zu (an event of negative", start, start + strlen(OP("b", 3, -1)) - 1);
  expect_skipped(BETWEEN(OP("b", 3, -1)), 1, bytes);
  expect_skipped(BETWEEN(OP("b", null, 1) "," OP("c", 3, "x")), 2, "a ts or a dur");
  expect_skipped(BETWEEN(OP("b", 9e15, 9e15)), 1, "impossible time");
  expect_skipped(BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"ts\":2,\"dur\":1}"), 1,
                 "without pid or tid");
  expect_skipped("{\"traceEvents\":[" OP("a", 1, 1) OP("z", 6, 1) "]}", 1, "no comma between two events");
}

/* Wherever a damage ends, it is one place, and the next whole event is read. */
static void one_damage_is_one_place(void **state) {
  (void)state;
  /* what looks like the beginning of an event inside a broken one */
  expect_skipped(BETWEEN("{\"ph\":\"M\",\"name\":\"q \"q\" q\",\"args\":{\"name\":\"x\",\"id\":{\"name\":1}}}"), 1, "not valid JSON");
  /* brackets that close nothing */
  expect_skipped(BETWEEN("], ]"), 1, "a bracket that does not end");
  expect_skipped("{\"traceEvents\":[" OP("a", 1, 1) "],\n" OP("z", 6, 1) "]}", 1, "a bracket that does not end");
  expect_skipped("[" OP("a", 1, 1) "]\n" OP("z", 6, 1) "]", 1, "a bracket that does not end");
  /* a brace that never closes, and events behind it */
  expect_skipped(BETWEEN("{\"ph\":\"X\",\"cat\":\"python_function\",\"args\":{\"a\":1"), 1, "not valid JSON");
  /* text behind the last comma */
  expect_skipped("{\"traceEvents\":[" OP("a", 1, 1) "," OP("z", 6, 1) ", oops], \"traceName\": \"t\"}", 1, "neither an event nor a comma");
}

/* Whatever follows a bracket in the middle: where events come again, the list goes on. */
static void the_list_goes_on_behind_a_stray_bracket(void **state) {
  (void)state;
  static const char *const strays[] = {",\n] done\n", ",]x", ",]\n[W] ", ",]]]]]]", ",]]]]]]]]]]]]\n", "\n}\n]\n", "}, ]", "], ", "],\"traceName\":\"x\",",
      "],\"traceName\":\"x\"", "],\"own\": {\"a\": [1]}}\n", "]}\n", "]}, ", "]} done\n", ",] \"done\" ,", "]\n}\n}\n"};
  for (size_t i = 0; i < sizeof strays / sizeof *strays; i++) {
    for (int bare = 0; bare < 2; bare++) {
      struct lumos_text text = LUMOS_TEXT_BUFFER;
      lumos_text_format(&text, "%s" OP("a", 1, 1), bare != 0 ? "[" : "{\"traceEvents\":[");
      size_t begin = text.length;
      lumos_text_put(&text, strays[i]);
      size_t end = text.length;
      lumos_text_format(&text, OP("z", 6, 1) "]%s", bare != 0 ? "" : ",\"baseTimeNanoseconds\":5000}");
      lumos_text_add(&text, "", 1);
      struct lumos_job *job = parse_good(text.bytes, NULL);
      expect_tasks(job, "t10 a 0+1000\nt10 z 5000+1000 lag 4000\n");
      assert_int_equal(job->epoch, bare != 0 ? 1000 : 6000);
      const struct lumos_note *note = find_note(job, "parse.skipped_events");
      assert_non_null(note);
      size_t first = 0;
      size_t last = 0;
      int count = sscanf(strstr(string_of(job, note->text), "bytes "), "bytes %zu-%zu", &first, &last);
      if (note->count != 1 || count < 1 || first < begin || (count == 2 && last >= end)) {
        fail_msg("'%s' between bytes %zu and %zu: %s", strays[i], begin, end, string_of(job, note->text));
      }
      assert_null(find_note(job, "parse.truncated"));
      lumos_job_free(job);
      expect_failure(text.bytes, &strict, LUMOS_CHECK_FAILED, "");
      lumos_text_free(&text);
    }
  }
}

/* The same where no window holds both ends. */
static void the_list_goes_on_however_long(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  enum { EVENTS = 20000 };
  lumos_text_put(&text, "{\"traceEvents\":[" OP("a", 1, 1) ",\n] done\n");
  for (int i = 0; i < EVENTS; i++) {
    lumos_text_format(&text, "%s" EVENT("cpu_op", "b", 10, %d, 1, ""), i == 0 ? "" : ",\n", 3 * i + 3);
    if (i == EVENTS / 2) {
      lumos_text_put(&text, "]}");
    }
  }
  lumos_text_add(&text, "]}", 3);
  struct lumos_job *job = parse_good(text.bytes, NULL);
  assert_int_equal(job->tasks.count, EVENTS + 1);
  assert_int_equal(find_note(job, "parse.skipped_events")->count, 2);
  lumos_job_free(job);
  lumos_text_free(&text);
}

/* Text behind the list that leads to no event costs none, and is no cut. */
static void stray_text_behind_the_list(void **state) {
  (void)state;
  static const char *const tails[] = {"] done}", "]]]}", "],B}", "],\"baseTimeNanoseconds\":1000, oops }", "]}}", "],\"x\":}", "]},\"host_name\":\"h\"}"};
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "{\"traceEvents\":[" OP("a", 1, 1) "%s\n", tails[i]);
    lumos_text_add(&text, "", 1);
    struct lumos_job *job = parse_good(text.bytes, NULL);
    expect_tasks(job, "t10 a 0+1000\n");
    if (find_note(job, "parse.truncated") != NULL || (find_note(job, "parse.skipped_events") == NULL) == (find_note(job, "parse.skipped_metadata") == NULL)) {
      fail_msg("'%s' is told wrongly", tails[i]);
    }
    lumos_job_free(job);
    lumos_text_free(&text);
  }
}

/* A brace or a quote that metadata lack, before the events and behind them: neither these nor what we know is lost. */
static void metadata_without_an_end(void **state) {
  (void)state;
#define KNOWN "\"baseTimeNanoseconds\":1000,\"distributedInfo\":{\"rank\":3}"
#define LIST "\"traceEvents\":[" OP("a", 1, 1) "]"
  static const char *const texts[] = {
      "{\"k\": {\"a\":1,\"schemaVersion\":1," LIST "," KNOWN "}",
      "{\"k\": {\"a\":1,\"schemaVersion\":1," LIST "," KNOWN ",B}",
      "{\"k\": {\"a\":1," KNOWN "," LIST "}",
      "{\"k\": {\"" KNOWN "," LIST "}",
      "{\"k\": {\", " KNOWN "," LIST "}",
      "{\"k\": [1," LIST "," KNOWN "}",
      "{\"k\": \"abc," LIST "," KNOWN "}",
      "{\"k\": \"abc," KNOWN "," LIST "}",
      "{\"k: 1," KNOWN "," LIST "}",
      "{\"k\": \"abc,\n" LIST "," KNOWN "}",
      "{\"k\": {\"a\":{\"b\":1,\"schemaVersion\":1," LIST "," KNOWN "}",
      "{" LIST ",\"k\": {\"a\":1," KNOWN "}",
      "{" LIST ",\"k\": [1," KNOWN "}",
      "{" LIST ",\"k\": \"abc," KNOWN "}",
      "{" LIST "}," KNOWN "}",
      "{\"k\": {\"host_name\":\"h\",\"a\":\"x\"y\",\"trace_id\":1}," LIST "," KNOWN "}",
      "{\"traceEve\x01nts\": [" OP("a", 1, 1) "]," KNOWN "}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct lumos_job *job = parse_good(texts[i], NULL);
    expect_tasks(job, "t10 a 0+1000\n");
    assert_int_equal(job->ranks.items[0].rank, 3);
    assert_int_equal(job->epoch, 2000);
    const struct lumos_note *note = find_note(job, "parse.skipped_metadata");
    if (note == NULL || find_note(job, "parse.truncated") != NULL || find_note(job, "parse.skipped_events") != NULL) {
      fail_msg("'%s' is told wrongly", texts[i]);
    }
    lumos_job_free(job);
    expect_failure(texts[i], &strict, LUMOS_CHECK_FAILED, "");
  }
}

/* The same before more events than a window holds. */
static void metadata_without_an_end_before_many_events(void **state) {
  (void)state;
  static const char *const heads[] = {"{\"k\": {\"a\":1,\"traceEvents\":[", "{\"k\": {\"traceEvents\":[", "{\"k\": \"abc,\"traceEvents\":["};
  enum { EVENTS_OF_A_TRACE = 20000 };
  for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_put(&text, heads[h]);
    for (int i = 0; i < EVENTS_OF_A_TRACE; i++) {
      lumos_text_format(&text, "%s" EVENT("cpu_op", "b", 10, %d, 1, ""), i == 0 ? "" : ",\n", 3 * i + 3);
    }
    lumos_text_put(&text, "]," KNOWN "}");
    lumos_text_add(&text, "", 1);
    struct lumos_job *job = parse_good(text.bytes, NULL);
    assert_int_equal(job->tasks.count, EVENTS_OF_A_TRACE);
    assert_int_equal(job->ranks.items[0].rank, 3);
    assert_int_equal(find_note(job, "parse.skipped_metadata")->count, 1);
    assert_null(find_note(job, "parse.truncated"));
    lumos_job_free(job);
    lumos_text_free(&text);
  }
}

static void text_before_the_trace_is_skipped(void **state) {
  (void)state;
  static const char *const heads[] = {"WARNING: x\n", ",", "\x01 ", "[W123 00:00:01.2 Module.cpp:12] Warning: \"x\" is {odd}\n", "\"", "null\n", "]", "\n- {1}\n"};
  for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "%s{\"schemaVersion\":1," LIST "," KNOWN "}", heads[h]);
    lumos_text_add(&text, "", 1);
    struct lumos_job *job = parse_good(text.bytes, NULL);
    expect_tasks(job, "t10 a 0+1000\n");
    assert_int_equal(job->ranks.items[0].rank, 3);
    assert_int_equal(job->epoch, 2000);
    assert_int_equal(find_note(job, "parse.skipped_events")->count, 1);
    assert_non_null(strstr(string_of(job, find_note(job, "parse.skipped_events")->text), "text before the trace"));
    assert_null(find_note(job, "parse.truncated"));
    lumos_job_free(job);
    expect_failure(text.bytes, &strict, LUMOS_CHECK_FAILED, ": text before the trace");
    lumos_text_free(&text);
  }
  struct lumos_error error = {LUMOS_DONE, ""};
  static const char zero[] = "\0{" LIST "," KNOWN "}";
  struct lumos_job *job = parse_named("t.json", zero, sizeof zero - 1, &plain, &error);
  assert_non_null(job);
  expect_tasks(job, "t10 a 0+1000\n");
  lumos_job_free(job);
  /* a beginning that is lost */
  static const char *const rests[] = {"e\":1}}, " OP("a", 1, 1) "]," KNOWN "}", "1}," OP("a", 1, 1) "]"};
  for (size_t i = 0; i < 2; i++) {
    job = parse_good(rests[i], NULL);
    expect_tasks(job, "t10 a 0+1000\n");
    assert_int_equal(job->epoch, i == 0 ? 2000 : 1000);
    assert_null(find_note(job, "parse.truncated"));
    lumos_job_free(job);
  }
}

/* The same work twice, or that of another rank: only one list can hold. */
static void a_second_list_of_events_is_not_added(void **state) {
  (void)state;
  const char *text = "{" LIST ",\"traceEvents\":[" OP("a", 1, 1) "," OP("b", 6, 1) ", oops]," KNOWN "}";
  struct lumos_job *job = parse_good(text, NULL);
  expect_tasks(job, "t10 a 0+1000\n");
  assert_int_equal(job->ranks.items[0].rank, 3);
  assert_int_equal(find_note(job, "parse.second_list")->count, 2);
  char bytes[64];
  (void)snprintf(bytes, sizeof bytes, "bytes %zu-%zu", strlen("{" LIST ","), (size_t)(strstr(text, ",\"base") - text) - 1);
  assert_non_null(strstr(string_of(job, find_note(job, "parse.second_list")->text), bytes));
  assert_int_equal(job->ranks.items[0].coverage.skipped, 2);
  assert_null(find_note(job, "parse.skipped_events"));
  lumos_job_free(job);
  expect_failure(text, &strict, LUMOS_CHECK_FAILED, "second list of events");
  job = parse_good("{\"traceEvents\":[]," LIST "}", NULL);
  expect_tasks(job, "t10 a 0+1000\n");
  assert_null(find_note(job, "parse.second_list"));
  lumos_job_free(job);
}

/* Events whose first key is any of theirs, and the first of them broken. */
static void events_are_found_by_any_key(void **state) {
  (void)state;
  struct lumos_job *job = parse_good("[{\"cat\":\"cpu_op\",\"name\":\"x \"y\" z\",\"ph\":\"X\"},\n"
      "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":10,\"args\":{\"name\":\"main\"}},\n"
      "{\"cat\":\"cpu_op\",\"name\":\"a\",\"ph\":\"X\",\"pid\":1,\"tid\":10,\"ts\":1,\"dur\":1}]", NULL);
  expect_tasks(job, "t10 a 0+1000\n");
  assert_string_equal(string_of(job, job->lanes.items[0].name), "main");
  assert_int_equal(find_note(job, "parse.skipped_events")->count, 1);
  lumos_job_free(job);
}

/* A key with two values is what is left of two events around a hole; twice the same value says nothing wrong. */
static void a_key_with_two_values_is_no_event(void **state) {
  (void)state;
#define TWICE(members) "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"b\",\"pid\":1,\"tid\":10,\"ts\":3,\"dur\":1,\"args\":{\"correlation\":1," members "}"
  static const char *const doubled[] = {"\"x\":1},\"name\":\"c\"", "\"x\":1},\"ts\":4", "\"x\":1},\"dur\":2.5", "\"x\":1},\"pid\":\"1x\"", "\"x\":1},\"tid\":11",
      "\"x\":1},\"ph\":\"i\"", "\"x\":1},\"cat\":\"cpu_op\"", "\"x\":1},\"args\":{}", "\"correlation\":2}"};
  for (size_t i = 0; i < sizeof doubled / sizeof *doubled; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "[" OP("a", 1, 1) "," TWICE("%s") "," OP("z", 6, 1) "]", doubled[i]);
    lumos_text_add(&text, "", 1);
    expect_skipped(text.bytes, 1, "a key that stands twice, with two values");
    expect_failure(text.bytes, &strict, LUMOS_CHECK_FAILED, "a key that stands twice");
    lumos_text_free(&text);
  }
  static const char same[] = "[" TWICE("\"correlation\":1, \"y\":2, \"y\":3}, \"name\":\"b\", \"ts\":3.0, \"id\":1, \"id\":2") "]";
  struct lumos_job *job = parse_good(same, NULL);
  expect_tasks(job, "t10 b 0+1000\n");
  lumos_job_free(job);
  expect_failure(same, &strict, LUMOS_CHECK_FAILED, "a key that stands twice");
}

/* The end of a flow is not read, but an event that is lost in it is. */
static void an_event_lost_in_a_flow_is_told(void **state) {
  (void)state;
#define FLOW "{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":10,\"ts\":1,\"cat\":\"ac2g\",\"name\":\"ac2g\"},{\"ph\":\"f\",\"id\":1,\"pid\":1,\"tid\":10,\"ts\":1,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},"
  static const char *const merged[] = {
      "{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":10,\"ts\":1,\"cat\":\"ac2g\",\"name\":\"KK\",\"pid\":0,\"tid\":7,\"ts\":2,\"dur\":1,\"args\":{}}",
      "{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":10,\"ts\":1,\"cat\":\"ac2g\",\"name\":\"KK\",\"pid\":1,\"tid\":10,\"ts\":1,\"dur\":1,\"args\":{}}",
      "{\"ph\":\"s\",\"id\":1,\"name\":\"KK\",\"pid\":0,\"tid\":7,\"ts\":2,\"dur\":1,\"args\":{}}",
      "{\"ph\":\"f\",\"id\":1,\"pid\":1,\"tid\":10,\"ts\":1,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"    \"ph\":\"X\",\"name\":\"KK\",\"ts\":2,\"dur\":1}",
      "{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":10,\"ts\":1,\"cat\":\"ac2g\",\"name\":\"ac2g\",    \"ph\":\"X\",\"name\":\"KK\",\"ts\":2,\"dur\":1}",
      "{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"o\",\"pid\":1,\"tid\":10,\"ts\":2,\"dur\":1,\"args\":{\"a\":[1,\"b\"   \"c\"]}}",
      "{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"o\",\"pid\":1,\"tid\":10,\"ts\":2,\"dur\":1,\"args\":{\"a\":\"b\":1}}",
  };
  for (size_t i = 0; i < sizeof merged / sizeof *merged; i++) {
    for (int twice = 0; twice < 2; twice++) {
      struct lumos_text text = LUMOS_TEXT_BUFFER;
      lumos_text_format(&text, "[" OP("a", 1, 1) "," FLOW FLOW "%s,%s%s%s" OP("z", 6, 1) "]", merged[i], twice != 0 ? FLOW : "", twice != 0 ? merged[i] : "", twice != 0 ? "," : "");
      lumos_text_add(&text, "", 1);
      expect_skipped(text.bytes, 1 + twice, "");
      expect_failure(text.bytes, &strict, LUMOS_CHECK_FAILED, "");
      lumos_text_free(&text);
    }
  }
  struct lumos_job *job = parse_good("[" OP("a", 1, 1) "," FLOW FLOW "{\"ph\":\"C\",\"name\":\"c\",\"dur\":1,\"args\":{\"x\":[{\"y\":1}]}}," FLOW OP("z", 6, 1) "]", &strict);
  assert_null(find_note(job, "parse.skipped_events"));
  lumos_job_free(job);
}

/* What JSON allows is read, or refused for what it is. */
static void valid_json_is_not_called_invalid(void **state) {
  (void)state;
  struct lumos_job *job = parse_good("[{\"p\\u0068\":\"X\",\"c\\u0061t\":\"cuda_runtime\",\"name\":\"b\",\"pid\":1,\"tid\":10,\"ts\":3,\"dur\":1,"
      "\"args\":{\"corre\\u006cation\":7}}]", &strict);
  expect_tasks(job, "t10 b 0+1000\n");
  lumos_job_free(job);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "[" OP("a", 1, 1) ",{\"ph\":\"X\",\"name\":\"b\",\"args\":{\"x\":");
  for (int i = 0; i < 200; i++) {
    lumos_text_char(&text, i < 100 ? '[' : ']');
  }
  lumos_text_put(&text, "}}," OP("z", 6, 1) "]");
  lumos_text_add(&text, "", 1);
  expect_skipped(text.bytes, 1, "(brackets in brackets, too deep to be read)");
  expect_failure(text.bytes, &strict, LUMOS_CHECK_FAILED, "too deep to be read");
  lumos_text_free(&text);
}

/* What cannot be read of an event that is kept is counted, too. */
static void lost_values_are_counted(void **state) {
  (void)state;
#define WITH(args) "[" OP("a", 1, 1) "," EVENT("cpu_op", "b", 10, 3, 1, args) "]"
  static const char *const unread[] = {WITH("\"x\":NaN,\"y\":-nan,\"z\":inf,\"External id\":99999999999999999999"), WITH("\"Sequence number\":\"none\""),
      WITH("\"Sequence number\":null")};
  for (size_t i = 0; i < sizeof unread / sizeof *unread; i++) {
    struct lumos_job *job = parse_good(unread[i], NULL);
    assert_null(find_note(job, "parse.lost_values"));
    expect_tasks(job, "t10 a 0+1000\nt10 b 2000+1000 lag 1000\n");
    lumos_job_free(job);
  }
  expect_failure(unread[0], &strict, LUMOS_CHECK_FAILED, "not valid JSON");
  static const char *const lost[] = {WITH("\"Sequence number\":NaN"), WITH("\"Sequence number\":99999999999999999999"), WITH("\"Sequence number\":-inf"),
      WITH("\"Sequence number\":1e300")};
  for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
    struct lumos_job *job = parse_good(lost[i], NULL);
    expect_tasks(job, "t10 a 0+1000\nt10 b 2000+1000 lag 1000\n");
    const struct lumos_note *note = find_note(job, "parse.lost_values");
    assert_non_null(note);
    assert_int_equal(note->count, 1);
    char bytes[64];
    size_t start = strlen("[" OP("a", 1, 1) ",");
    (void)snprintf(bytes, sizeof bytes, ": bytes %zu-%zu", start, strlen(lost[i]) - 2);
    assert_non_null(strstr(string_of(job, note->text), bytes));
    assert_int_equal(job->ranks.items[0].coverage.skipped, 0);
    lumos_job_free(job);
    expect_failure(lost[i], &strict, LUMOS_CHECK_FAILED, "NaN, out of range");
  }
  expect_skipped(BETWEEN(OP("b", NaN, 1)), 1, "a ts or a dur that is NaN or out of range");
  expect_skipped(BETWEEN(EVENT("cpu_op", "b", NaN, 3, 1, "")), 1, "an event without pid or tid");
  expect_skipped(BETWEEN(OP("b", 3, 99999999999999999999)), 1, "a ts or a dur that is NaN or out of range");
  expect_skipped(BETWEEN("{\"ph\":\"\",\"name\":\"b\"}"), 1, "unknown ph");
}

static void invalid_utf8_is_replaced_and_counted(void **state) {
  (void)state;
  static const char text[] = "[" OP("a\xFFz", 1, 1) "," OP("\xC3\xA9", 3, 1) "," OP("\xC3\\n", 5, 1) ","
                             EVENT("cpu_op", "c", 10, 7, 1, "\"Input type\":[\"\xFE\"]") "]";
  struct lumos_job *job = parse_good(text, NULL);
  expect_tasks(job, "t10 a\xEF\xBF\xBDz 0+1000\nt10 \xC3\xA9 2000+1000 lag 1000\nt10 \xEF\xBF\xBD\n 4000+1000 lag 1000\nt10 c 6000+1000 lag 1000\n");
  assert_int_equal(find_note(job, "parse.replaced_text")->count, 3);
  assert_non_null(strstr(string_of(job, find_note(job, "parse.replaced_text")->text), "unknown escapes: bytes 1-"));
  lumos_job_free(job);
  expect_failure(text, &strict, LUMOS_CHECK_FAILED, "not valid text");
}

/* The first places are told, the others counted. */
static void many_damages_make_one_short_note(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "[" OP("a", 1, 1));
  for (int i = 0; i < 1000; i++) {
    lumos_text_format(&text, ",\noops, " EVENT("cpu_op", "b", 10, %d, 1, ""), 3 * i + 3);
  }
  lumos_text_add(&text, "]", 2);
  struct lumos_job *job = parse_good(text.bytes, NULL);
  const struct lumos_note *note = find_note(job, "parse.skipped_events");
  assert_int_equal(note->count, 1000);
  assert_int_equal(job->tasks.count, 1001);
  assert_true(strlen(string_of(job, note->text)) < 300);
  assert_non_null(strstr(string_of(job, note->text), " (neither an event nor a comma) and 992 more places"));
  lumos_job_free(job);
  lumos_text_free(&text);
}

/* A bracket that nothing closes, where the arguments are not read: the events behind it are no part of them, however
 * many. */
static void an_event_without_an_end_is_skipped(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"traceEvents\":[" OP("a", 1, 1) ",{\"ph\":\"X\",\"cat\":\"overhead\",\"args\":{\"a\":[1,\"x\"");
  enum { EVENTS = 20000 };
  for (int i = 0; i < EVENTS; i++) {
    lumos_text_format(&text, "," EVENT("cpu_op", "b", 10, %d, 1, ""), 3 * i + 3);
  }
  assert_true(text.length > 3 * TRACE_WINDOW_BYTES / 2);
  lumos_text_add(&text, "]}", 3);
  struct lumos_job *job = parse_good(text.bytes, NULL);
  assert_int_equal(job->tasks.count, EVENTS + 1);
  assert_int_equal(find_note(job, "parse.skipped_events")->count, 1);
  assert_non_null(strstr(string_of(job, find_note(job, "parse.skipped_events")->text), "an event without an end"));
  assert_null(find_note(job, "parse.truncated"));
  lumos_job_free(job);
  lumos_text_free(&text);
}

static void damaged_facts_keep_what_is_whole(void **state) {
  (void)state;
  const char *text = "{\"distributedInfo\":{\"rank\":3,\"x\":[NaN,-Infinity,\"a NaN\"]},\"baseTimeNanoseconds\":1000,"
      "\"traceEvents\":[" OP("a", 1, 1) "],\"host_name\":\"a\xFF\",\"baseTimeNanoseconds\":2000,\"baseTimeNanoseconds\":2000}";
  struct lumos_job *job = parse_good(text, NULL);
  assert_int_equal(job->ranks.items[0].rank, 3);
  assert_int_equal(job->epoch, 2000); /* the first one holds */
  assert_string_equal(string_of(job, job->ranks.items[0].host), "a\xEF\xBF\xBD");
  assert_int_equal(find_note(job, "parse.lost_values")->count, 1);
  assert_int_equal(find_note(job, "parse.replaced_text")->count, 1);
  assert_int_equal(find_note(job, "parse.skipped_metadata")->count, 2);
  assert_non_null(strstr(string_of(job, find_note(job, "parse.skipped_metadata")->text), "stood before, with another value"));
  lumos_job_free(job);
}

/* Damage in the document that the rank stands in, wherever it lies, does not take the rank along. */
static void the_rank_is_read_around_damage(void **state) {
  (void)state;
  static const char *const infos[] = {
      "{\"backend\":\"nccl\"x,\"rank\":3,\"world_size\":4}", "{\"rank\":3,\"world_size\":4,\"backend\":\"nc\"cl\"}", "{\"rank\":3,\"pg\":[{\"ranks\":[0,1],}}],\"world_size\":4}",
      "{\"rank\":3,,\"world_size\":4}", "{\"rank\":3 \"world_size\":4}", "{\"rank\":3,\"world_size\":4", "{\"rank\":3,\"b\":\"nccl,\"world_size\":4}", "{\"rank\":3,\"world_size\":4,\"x\":\"a\nb\"}"};
  for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
    for (int behind = 0; behind < 2; behind++) {
      struct lumos_text text = LUMOS_TEXT_BUFFER;
      lumos_text_format(&text, behind != 0 ? "{" LIST ",\"distributedInfo\":%s,\"host_name\":\"h\"}" : "{\"distributedInfo\":%s,\"host_name\":\"h\"," LIST "}", infos[i]);
      lumos_text_add(&text, "", 1);
      struct lumos_error error = {LUMOS_DONE, ""};
      struct lumos_job *job = parse_named("t.json", text.bytes, strlen(text.bytes), &plain, &error);
      assert_non_null(job);
      const struct lumos_rank *rank = &job->ranks.items[0];
      const struct lumos_note *note = find_note(job, "parse.skipped_metadata");
      if (rank->rank != 3 || rank->world != 4 || note == NULL || strstr(string_of(job, note->text), "damage in distributedInfo") == NULL) {
        fail_msg("'%s': rank %d of %d; %s", text.bytes, rank->rank, rank->world, note != NULL ? string_of(job, note->text) : "no note");
      }
      assert_string_equal(string_of(job, rank->host), "h");
      expect_tasks(job, "t10 a 0+1000\n");
      lumos_job_free(job);
      expect_failure(text.bytes, &strict, LUMOS_CHECK_FAILED, "");
      lumos_text_free(&text);
    }
  }
}

static void metadata_out_of_range_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *metadata, *code;
  } rows[] = {
      {"\"baseTimeNanoseconds\":99999999999999999999999", "parse.lost_values"},
      {"\"baseTimeNanoseconds\":\"99999999999999999999999\"", "parse.lost_values"},
      {"\"distributedInfo\":{\"rank\":99999999999999}", "parse.lost_values"},
      {"\"distributedInfo\":{\"rank\":-1}", "parse.lost_values"},
      {"\"distributedInfo\":{\"rank\":3,\"world_size\":1e999}", "parse.lost_values"},
      {"\"deviceProperties\":[{\"id\":0,\"totalGlobalMem\":1e30}]", "parse.lost_values"},
      {"\"distributedInfo\":{\"rank\":3,\"rank\":2}", "parse.skipped_metadata"},
      {"\"distributedInfo\":{\"rank\":3},\"distributedInfo\":{\"rank\":2}", "parse.skipped_metadata"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "{%s," LIST "}", rows[i].metadata);
    lumos_text_add(&text, "", 1);
    struct lumos_error error = {LUMOS_DONE, ""};
    struct lumos_job *job = parse_named("t.json", text.bytes, strlen(text.bytes), &plain, &error);
    assert_non_null(job);
    const struct lumos_note *note = find_note(job, rows[i].code);
    if (note == NULL || note->count != 1) {
      fail_msg("'%s' without %s", text.bytes, rows[i].code);
    }
    assert_int_equal(job->ranks.items[0].rank, strstr(text.bytes, "\"rank\":3") != NULL ? 3 : 0);
    lumos_job_free(job);
    expect_failure(text.bytes, &strict, LUMOS_CHECK_FAILED, "");
    lumos_text_free(&text);
  }
}

static void a_broken_last_event_keeps_the_envelope(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(
      "{\"traceEvents\":[" OP("a", 1, 1) ",{\"ph\":\"X\",\"args\":{\"grid\":[1,2],\"x\":}}],\n"
      "\"baseTimeNanoseconds\": 5000}", NULL);
  expect_tasks(job, "t10 a 0+1000\n");
  assert_int_equal(job->epoch, 6000);
  assert_int_equal(find_note(job, "parse.skipped_events")->count, 1);
  assert_null(find_note(job, "parse.truncated"));
  lumos_job_free(job);
}

static void broken_metadata_are_skipped(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(
      "{\"job\":\"a \"b\" c\",\"x\":oops,\"traceEvents\":[" OP("a", 1, 1) "],\"user\":{]},"
      "\"baseTimeNanoseconds\":7000}", NULL);
  expect_tasks(job, "t10 a 0+1000\n");
  assert_int_equal(job->epoch, 8000);
  assert_int_equal(find_note(job, "parse.skipped_metadata")->count, 2);
  lumos_job_free(job);
}

static void strict_makes_the_first_fault_a_failure(void **state) {
  (void)state;
  expect_failure(BETWEEN(OP("b", 3, -1)), &strict, LUMOS_CHECK_FAILED, "negative duration");
  expect_failure(BETWEEN("oops"), &strict, LUMOS_CHECK_FAILED, "neither an event nor a comma");
  expect_failure("{\"traceEvents\":[" OP("a", 1, 1), &strict, LUMOS_CHECK_FAILED, "ends inside");
  expect_failure(TRACE(OP("a", 1, 1) ","
      OP("b", 3, 1) ","
      OP("c", 9000000000000000, 1)), &strict, LUMOS_CHECK_FAILED, "far from all others in time");
}

/* Whatever JSON forbids, also where nobody reads it, and where the reader gets along with it. */
static void strict_takes_valid_json_alone(void **state) {
  (void)state;
#define STRICT_TRACE(head, args, tail) "{" head "\"traceEvents\":[" OP("a", 1, 1) "," EVENT("cpu_op", "z", 10, 6, 1, args) tail "}"
  static const struct {
    const char *text, *said;
  } rows[] = {
      {STRICT_TRACE("", "", ",]"), "not valid JSON"},
      {STRICT_TRACE(",,\"a\":1,,", "", "]"), "byte 1: not valid JSON"},
      {STRICT_TRACE("\"a\":1 \"b\":2,", "", "]"), "byte 7: not valid JSON"},
      {STRICT_TRACE("\"a\":[1 2 : 3,,],", "", "]"), "byte 8: not valid JSON"},
      {STRICT_TRACE("\"a\":1,\"a\":1,", "", "]"), "byte 7: a key that stands twice"},
      {STRICT_TRACE("", "\"x\":\"\xFF\"", "]"), "not UTF-8"},
      {STRICT_TRACE("", "\"x\":[1 2]", "]"), "not valid JSON"},
      {STRICT_TRACE("", "\"x\":01", "]"), "not valid JSON"},
      {STRICT_TRACE("", "\"x\":\"\\q\"", "]"), "not valid JSON"},
      {STRICT_TRACE("", "\"x\":1,\"x\":2", "]"), "a key that stands twice"},
      {STRICT_TRACE("", "", "],"), ""},
      {"[{\"ph\":\"s\",\"id\":[1,,2]}," OP("a", 1, 1) "]", "byte 19: not valid JSON"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_job *job = parse_good(rows[i].text, NULL);
    lumos_job_free(job);
    expect_failure(rows[i].text, &strict, LUMOS_CHECK_FAILED, rows[i].said);
  }
  struct lumos_job *job = parse_good("\xEF\xBB\xBF" STRICT_TRACE("\"a\":[1,2],", "\"x\":\"\\u00e9\"", "]") "\n", &strict);
  expect_tasks(job, "t10 a 0+1000\nt10 z 5000+1000 lag 4000\n");
  lumos_job_free(job);
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(broken_events_are_skipped_and_counted),
      cmocka_unit_test(one_damage_is_one_place),
      cmocka_unit_test(the_list_goes_on_behind_a_stray_bracket),
      cmocka_unit_test(the_list_goes_on_however_long),
      cmocka_unit_test(stray_text_behind_the_list),
      cmocka_unit_test(metadata_without_an_end),
      cmocka_unit_test(metadata_without_an_end_before_many_events),
      cmocka_unit_test(text_before_the_trace_is_skipped),
      cmocka_unit_test(a_second_list_of_events_is_not_added),
      cmocka_unit_test(events_are_found_by_any_key),
      cmocka_unit_test(a_key_with_two_values_is_no_event),
      cmocka_unit_test(an_event_lost_in_a_flow_is_told),
      cmocka_unit_test(valid_json_is_not_called_invalid),
      cmocka_unit_test(lost_values_are_counted),
      cmocka_unit_test(invalid_utf8_is_replaced_and_counted),
      cmocka_unit_test(many_damages_make_one_short_note),
      cmocka_unit_test(an_event_without_an_end_is_skipped),
      cmocka_unit_test(damaged_facts_keep_what_is_whole),
      cmocka_unit_test(the_rank_is_read_around_damage),
      cmocka_unit_test(metadata_out_of_range_are_counted),
      cmocka_unit_test(a_broken_last_event_keeps_the_envelope),
      cmocka_unit_test(broken_metadata_are_skipped),
      cmocka_unit_test(strict_makes_the_first_fault_a_failure),
      cmocka_unit_test(strict_takes_valid_json_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
