/* The text of a trace: every envelope, windows of every size, three regimes of time to the nanosecond, and what a
 * cut text still gives.
 */
#include "trace/scan.h"
#include "trace_text.h"
#include <zlib.h>

/* Traces are laid out with an event a line. */
/* clang-format off */

static const struct lumos_trace_options plain = {.steps = LUMOS_STEPS_COMPLETE};
static const struct lumos_trace_options strict = {.strict = true};

static void expect_one_op(const char *text, int64_t epoch) {
  struct lumos_job *job = parse_good(text, NULL);
  expect_tasks(job, "t10 a 0+2500\n");
  assert_int_equal(job->epoch, epoch);
  lumos_job_free(job);
}

/* The same two instants in the three regimes; a double would be 0.25 us off in the second. */
static void three_regimes_of_time_are_exact(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(OP("a", 1712195495519703, 2) "," OP("b", 1712195495519706, 0)), NULL);
  expect_tasks(job, "t10 a 0+2000\n");
  assert_int_equal(job->epoch, INT64_C(1712195495519703000));
  lumos_job_free(job);
  job = parse_good(TRACE(OP("a", 1712195495519703.772, 0.229) "," OP("b", 1712195495519704.002, 1.5)), NULL);
  expect_tasks(job, "t10 a 0+229\nt10 b 230+1500 lag 1\n");
  assert_int_equal(job->epoch, INT64_C(1712195495519703772));
  lumos_job_free(job);
  job = parse_good("{\"traceEvents\":[" OP("a", 973491701137.73, 73.741) ","
      OP("b", 973491701211.472, 1) "]," "\"baseTimeNanoseconds\":1759300074000000000}", NULL);
  expect_tasks(job, "t10 a 0+73741\nt10 b 73742+1000 lag 1\n");
  assert_int_equal(job->epoch, INT64_C(1760273565701137730));
  assert_null(find_note(job, "parse.unknown_clock"));
  lumos_job_free(job);
}

static void a_base_that_is_not_written_is_noted(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(OP("a", 100, 2)), NULL);
  assert_int_equal(job->epoch, 100000);
  assert_non_null(find_note(job, "parse.unknown_clock"));
  lumos_job_free(job);
}

static void envelopes_of_every_kind(void **state) {
  (void)state;
  static const char *const texts[] = {
      "[" OP("a", 1, 2.5) "]",
      "\xEF\xBB\xBF {\n \"traceEvents\" : [\n" OP("a", 1, 2.5) "\n ]\n}\n",
      "{\"deviceProperties\":[{\"id\":0,\"name\":\"]}\"}],\"x\":null,\"y\":{\"traceEvents\":[]},\"traceEvents\":[" OP(
          "a", 1, 2.5) "]}",
      "{\"traceEvents\":[" OP("a", 1, 2.5) "],\"schemaVersion\":1,\"traceName\":\"a \\\" b\"}",
      /* keys in another order, quoted numbers, pid and tid as strings */
      "{\"traceEvents\":[{\"args\":{\"correlation\":3},\"dur\":\"2.5\",\"tid\":\"10\",\"pid\":\"1\",\"ts\":\"1\","
      "\"name\":\"a\","
      "\"cat\":\"cpu_op\",\"ph\":\"X\"}]}",
      /* other phases and categories are passed over */
      "{\"traceEvents\":[{\"ph\":\"s\",\"id\":1,\"cat\":\"ac2g\",\"ts\":0},{\"ph\":\"C\",\"args\":{\"x\":{\"y\":[1]}}},"
      "{\"ph\":\"i\",\"name\":\"m\",\"ts\":0},{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"o\",\"ts\":0,\"dur\":0}"
      "," OP("a", 1, 2.5) "]}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    expect_one_op(texts[i], 1000);
  }
}

static void names_are_decoded(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(OP("a\\n\\\"\\u00e9\\ud83d\\ude00<&", 1, 2)), NULL);
  assert_string_equal(string_of(job, job->tasks.items[0].name), "a\n\"\xC3\xA9\xF0\x9F\x98\x80<&");
  lumos_job_free(job);
}

/* Every prefix of a trace gives the events that are whole in it. */
static void a_cut_text_gives_every_whole_event(void **state) {
  (void)state;
  const char *text = "{\"schemaVersion\":1,\"traceEvents\":[" OP("a", 1, 1) "," OP("z", 6, 1) "]}";
  size_t first_end = (size_t)(strstr(text, "}},") - text) + 2;
  size_t second_end = strlen(text) - 2;
  for (size_t length = 0; length < strlen(text); length++) {
    struct lumos_error error = {LUMOS_DONE, ""};
    struct lumos_job *job = parse_named("t.json", text, length, &plain, &error);
    assert_true((job != NULL) == (length >= first_end));
    if (job == NULL) {
      assert_int_equal(error.status, LUMOS_UNUSABLE);
      continue;
    }
    expect_tasks(job, length >= second_end ? "t10 a 0+1000\nt10 z 5000+1000 lag 4000\n" : "t10 a 0+1000\n");
    assert_non_null(find_note(job, "parse.truncated"));
    assert_null(find_note(job, "parse.skipped_events"));
    lumos_job_free(job);
  }
}

/* A broken event with nothing behind it is both: counted, and the text is cut. */
static void a_broken_and_cut_text(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(
      "{\"traceEvents\":[" OP("a", 1, 1) ",{\"ph\":\"X\",\"name\":oops, and more text that is no event", NULL);
  expect_tasks(job, "t10 a 0+1000\n");
  assert_int_equal(find_note(job, "parse.skipped_events")->count, 1);
  assert_non_null(find_note(job, "parse.truncated"));
  lumos_job_free(job);
}

/* The bytes as gzip, into `packed`; how long that is. */
static size_t pack_bytes(const char *bytes, size_t count, unsigned char *packed, size_t capacity) {
  z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes,
                     .avail_in = (uInt)count,
                     .next_out = packed,
                     .avail_out = (uInt)capacity};
  assert_int_equal(deflateInit2(&stream, 0, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  size_t length = stream.total_out;
  assert_int_equal(deflateEnd(&stream), Z_OK);
  return length;
}

static size_t pack(const char *text, unsigned char *packed, size_t capacity) {
  return pack_bytes(text, strlen(text), packed, capacity);
}

static void damaged_compression_is_a_cut(void **state) {
  (void)state;
  unsigned char packed[4096];
  size_t length = pack(TRACE(OP("a", 1, 1) "," OP("z", 6, 1)), packed, sizeof packed);
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_job *job = parse_named("t.json.gz", (char *)packed, length - 60, &plain, &error);
  assert_non_null(job);
  expect_tasks(job, "t10 a 0+1000\n");
  assert_non_null(strstr(string_of(job, find_note(job, "parse.truncated")->text), "too early"));
  lumos_job_free(job);
  assert_null(parse_named("t.json.gz", (char *)packed, length - 60, &strict, &error));
  assert_int_equal(error.status, LUMOS_CHECK_FAILED);
}

/* Damage in one gzip member does not take the next ones along. */
static void the_member_behind_damage_is_read(void **state) {
  (void)state;
  static const char head[] = "{\"traceEvents\":[" OP("a", 1, 1) "," OP("b", 2, 1) ",";
  static const char tail[] = "\"x\":1}}," OP("z", 6, 1) "],\"baseTimeNanoseconds\":5000}";
  unsigned char packed[8192];
  for (int kind = 0; kind < 2; kind++) {
    size_t first = pack(head, packed, sizeof packed);
    size_t length = first + pack(tail, packed + first, sizeof packed - first);
    packed[kind == 0 ? first - 7 : 10] ^= 7; /* the checksum, or the first block's kind */
    struct lumos_error error = {LUMOS_DONE, ""};
    struct lumos_job *job = parse_named("t.json.gz", (char *)packed, length, &plain, &error);
    assert_non_null(job);
    expect_tasks(job, kind == 0 ? "t10 a 0+1000\nt10 b 1000+1000\nt10 z 5000+1000 lag 3000\n" : "t10 z 0+1000\n");
    const struct lumos_note *note = find_note(job, "parse.truncated");
    assert_non_null(note);
    assert_non_null(strstr(string_of(job, note->text), "the complete events before and after it"));
    assert_int_equal(job->epoch, kind == 0 ? 6000 : 11000);
    lumos_job_free(job);
    assert_null(parse_named("t.json.gz", (char *)packed, length, &strict, &error));
    assert_int_equal(error.status, kind == 0 ? LUMOS_CHECK_FAILED : LUMOS_UNUSABLE); /* nothing was read before it */
  }
}

/* What stands behind the trace's last bracket is looked at, too: a wrong checksum says that some number may be
 * wrong. */
static void a_wrong_checksum_is_noted(void **state) {
  (void)state;
  unsigned char packed[4096];
  size_t length = pack(TRACE(OP("a", 1, 1)), packed, sizeof packed);
  packed[length - 7] ^= 1; /* the checksum is the four bytes before the last four */
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_job *job = parse_named("t.json.gz", (char *)packed, length, &plain, &error);
  assert_non_null(job);
  expect_tasks(job, "t10 a 0+1000\n");
  const char *text = string_of(job, find_note(job, "parse.truncated")->text);
  assert_non_null(strstr(text, ": the checksum is wrong; "));
  assert_null(strchr(text, '/')); /* no path: the note goes into the page */
  lumos_job_free(job);
  assert_null(parse_named("t.json.gz", (char *)packed, length, &strict, &error));
  assert_non_null(strstr(error.text, "the checksum is wrong"));
}

/* Two traces in one text, as cat makes them: the second one must not be lost without a word. */
static void a_second_trace_in_the_text_is_noted(void **state) {
  (void)state;
  static const char *const tails[] = {TRACE(OP("b", 1, 1)), "oops", "[]"};
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_put(&text, TRACE(OP("a", 1, 1)) "\n ");
    size_t byte = text.length;
    lumos_text_put(&text, tails[i]);
    lumos_text_add(&text, "", 1);
    struct lumos_job *job = parse_good(text.bytes, NULL);
    expect_tasks(job, "t10 a 0+1000\n");
    char expected[96];
    (void)snprintf(expected, sizeof expected, "bytes %zu-%zu (text behind the end of the trace)", byte,
                   byte + strlen(tails[i]) - 1);
    assert_non_null(strstr(string_of(job, find_note(job, "parse.skipped_events")->text), expected));
    lumos_job_free(job);
    expect_failure(text.bytes, &strict, LUMOS_CHECK_FAILED, "text behind the end");
    lumos_text_free(&text);
  }
  struct lumos_job *job = parse_good("[" OP("a", 1, 1) "]\r\n\t ", NULL);
  assert_null(find_note(job, "parse.skipped_events"));
  assert_null(find_note(job, "parse.truncated"));
  lumos_job_free(job);
}

static void absurd_times_are_skipped(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("a", 1712195495519703, 1) ","
      OP("z", 1712195495519708, 1) ","
      OP("zero", 0, 1)), NULL);
  expect_tasks(job, "t10 a 0+1000\nt10 z 5000+1000 lag 4000\n");
  assert_int_equal(find_note(job, "parse.absurd_times")->count, 1);
  assert_int_equal(job->ranks.items[0].coverage.skipped, 1);
  assert_int_equal(job->ranks.items[0].coverage.events, 2);
  lumos_job_free(job);
}

/* One row of 200 is `far` seconds behind the others, which take 0.2 s; or `many` are. */
static char *trace_with_rows_behind(int64_t far, int many, const char *session) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "{\"traceEvents\":[");
  for (int i = 0; i < 200; i++) {
    lumos_text_format(&text,
                      "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":10,\"ts\":%" PRId64 ",\"dur\":1}",
                      i > 0 ? "," : "", 1712195495519703 + i * 1000 + (i < many ? far * 1000000 : 0));
  }
  lumos_text_format(&text, "%s]}", session);
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

static void expect_absurd(int64_t far, int many, const char *session, int64_t count) {
  char *text = trace_with_rows_behind(far, many, session);
  struct lumos_job *job = parse_good(text, NULL);
  const struct lumos_note *note = find_note(job, "parse.absurd_times");
  assert_int_equal(note != NULL ? note->count : 0, count);
  assert_int_equal(job->tasks.count, 200 - count);
  lumos_job_free(job);
  free(text);
}

/* A digit of a time that is damaged moves a row by hours; what the profiler's own row holds, what is an hour away, and
 * many rows stay. */
static void rows_far_from_the_others_are_skipped(void **state) {
  (void)state;
  static const char session[] = ",{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\","
                                "\"tid\":\"PyTorch Profiler\",\"ts\":1712195495519703,\"dur\":100001000000}";
  expect_absurd(100000, 1, "", 1);
  expect_absurd(-100000, 2, "", 2);
  expect_absurd(-100000, 1, session, 1);
  expect_absurd(100000, 1, session, 0);
  expect_absurd(100000, 3, "", 0);
  expect_absurd(3500, 1, "", 0);
}

static void what_is_no_trace_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *said;
  } rows[] = {
      {"", "is empty"},
      {"  \n", "is empty"},
      {"hello", "is not JSON"},
      {"{}", "is JSON without a traceEvents list"},
      {"[]", "holds no event with a duration"},
      {"[1,2]", "is JSON without a traceEvents list"},
      {"{\"a\":[{\"x\":1}]}", "is JSON without a traceEvents list"},
      {"[[]]", "is JSON without a traceEvents list"},
      {"null", "is not JSON"},
      {"{\"traceEvents\":[]}", "holds no event with a duration"},
      {"{\"traceEvents\":[", "is cut at byte 16, before its first event"},
      {"{\"traceEvents\":[{}]}", "holds no valid event; byte 16: "},
      {"{\"traceEvents\":{\"ph\":\"X\"}}", "is JSON without a traceEvents list"},
      {"{hello", "JSON"},
      {"\x01\x02\x03", "is not JSON"},
      {"\x80\x04\x95", "is a Python pickle"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    expect_failure(rows[i].text, &plain, LUMOS_UNUSABLE, rows[i].said);
  }
}

/* What is no text of ours is called by its name. */
static void foreign_text_is_named(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t length;
    const char *said;
  } rows[] = {
      {"\xFF\xFE{\0\"\0t\0", 8, "is UTF-16 text; convert it with iconv"},
      {"\xFE\xFF\0{\0\"\0t", 8, "is UTF-16 text; convert it with iconv"},
      {"{\0\"\0t\0", 6, "iconv -f UTF-16LE"},
      {"\0[\0{\0\"", 6, "iconv -f UTF-16BE"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct lumos_error error = {LUMOS_DONE, ""};
    assert_null(parse_named("t.json", rows[i].text, rows[i].length, &plain, &error));
    assert_int_equal(error.status, LUMOS_UNUSABLE);
    assert_non_null(strstr(error.text, rows[i].said));
  }
  char once[4096];
  unsigned char twice[4096];
  size_t length = pack_bytes(TRACE(OP("a", 1, 1)), strlen(TRACE(OP("a", 1, 1))), (unsigned char *)once, sizeof once);
  length = pack_bytes(once, length, twice, sizeof twice);
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_null(parse_named("t.json.gz", (char *)twice, length, &plain, &error));
  assert_non_null(strstr(error.text, "is compressed twice; unpack it once with gzip -d"));
}

/* A damaged file does not claim more than it gives. */
static void damage_behind_skipped_events_is_told_as_such(void **state) {
  (void)state;
  unsigned char packed[4096];
  size_t length = pack(TRACE(OP("a", 1, 1) "," OP("b\"b", 3, 1) "," OP("z", 6, 1)), packed, sizeof packed);
  packed[length - 7] ^= 1;
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_job *job = parse_named("t.json.gz", (char *)packed, length, &plain, &error);
  assert_non_null(job);
  expect_tasks(job, "t10 a 0+1000\nt10 z 5000+1000 lag 4000\n");
  assert_non_null(strstr(string_of(job, find_note(job, "parse.truncated")->text), "the checksum is wrong; the complete events before it were read"));
  lumos_job_free(job);
}

/* A trace longer than its window, read through windows of many sizes, gives the same rows; an event longer than the
 * limit is skipped. */
static void the_window_does_not_show(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"deviceProperties\": [ {\"id\": 0} ],\n\"traceEvents\": [\n");
  for (int i = 0; i < 2000; i++) {
    lumos_text_format(
        &text,
        "%s  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"n%d\", \"pid\": 7, \"tid\": %d,\n    \"ts\": %d.%03d, "
        "\"dur\": %d.5,\n    \"args\": { \"correlation\": %d, \"Input Dims\": [[%d, 2], []] } }",
        i == 0 ? "" : ",\n", i % 3 == 0 ? "cuda_runtime" : "cpu_op", i % 50, 8 + i % 2, 100 + 3 * i, i % 1000, i % 3, i,
        i);
  }
  lumos_text_put(&text, "\n],\n\"baseTimeNanoseconds\": 1735632360000000000\n}");
  char *folder = unit_folder_new();
  char *path = unit_path(folder, "t.json");
  unit_write_file(path, text.bytes, text.length);
  static const size_t windows[] = {1024 * 1024, 16384, 16385, 17001, 20000, 65536};
  for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
    struct lumos_error error = {LUMOS_DONE, ""};
    struct lumos_strings *strings = lumos_strings_new();
    struct trace trace;
    lumos_trace_init(&trace, strings);
    struct lumos_input *input = lumos_input_open(path, &error);
    const struct trace_scan_options options = {.window = windows[w], .window_limit = windows[w]};
    assert_true(lumos_trace_scan(&trace, input, "t.json", &options, &error));
    assert_int_equal(trace.skipped.count, 0);
    assert_false(trace.truncated);
    assert_int_equal(trace.host.count, 2000);
    for (int i = 0; i < 2000; i++) {
      const struct trace_host *row = &trace.host.items[i];
      assert_int_equal(row->start, (100 + 3 * i) * 1000 + i % 1000);
      assert_int_equal(row->end - row->start, i % 3 * 1000 + 500);
      assert_int_equal(row->key, i % 3 == 0 ? i : LUMOS_ABSENT);
    }
    assert_string_equal(trace.facts[TRACE_FACT_BASE], "1735632360000000000");
    lumos_input_close(input);
    lumos_trace_clear(&trace);
    lumos_strings_free(strings);
  }
  free(path);
  unit_folder_remove(folder);
  lumos_text_free(&text);
}

static void an_event_longer_than_the_limit_is_skipped(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"traceEvents\":[" OP("a", 1, 1) ",{\"ph\":\"X\",\"name\":\"");
  for (int i = 0; i < 100000; i++) {
    lumos_text_char(&text, 'x');
  }
  lumos_text_put(&text, "\",\"ts\":2,\"dur\":1}," OP("z", 6, 1) "]}");
  char *folder = unit_folder_new();
  char *path = unit_path(folder, "t.json");
  unit_write_file(path, text.bytes, text.length);
  static const size_t limits[] = {65536, 262144};
  for (size_t i = 0; i < 2; i++) {
    struct lumos_error error = {LUMOS_DONE, ""};
    struct lumos_strings *strings = lumos_strings_new();
    struct trace trace;
    lumos_trace_init(&trace, strings);
    struct lumos_input *input = lumos_input_open(path, &error);
    const struct trace_scan_options options = {.window = 16384, .window_limit = limits[i]};
    assert_true(lumos_trace_scan(&trace, input, "t.json", &options, &error));
    assert_int_equal(trace.host.count, 2);
    assert_int_equal(trace.skipped.count, i == 0 ? 1 : 0);
    assert_int_equal(trace.events, i == 0 ? 2 : 3);
    lumos_input_close(input);
    lumos_trace_clear(&trace);
    lumos_strings_free(strings);
  }
  free(path);
  unit_folder_remove(folder);
  lumos_text_free(&text);
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_regimes_of_time_are_exact),
      cmocka_unit_test(a_base_that_is_not_written_is_noted),
      cmocka_unit_test(envelopes_of_every_kind),
      cmocka_unit_test(names_are_decoded),
      cmocka_unit_test(a_cut_text_gives_every_whole_event),
      cmocka_unit_test(a_broken_and_cut_text),
      cmocka_unit_test(damaged_compression_is_a_cut),
      cmocka_unit_test(the_member_behind_damage_is_read),
      cmocka_unit_test(a_wrong_checksum_is_noted),
      cmocka_unit_test(a_second_trace_in_the_text_is_noted),
      cmocka_unit_test(absurd_times_are_skipped),
      cmocka_unit_test(rows_far_from_the_others_are_skipped),
      cmocka_unit_test(what_is_no_trace_is_refused),
      cmocka_unit_test(foreign_text_is_named),
      cmocka_unit_test(damage_behind_skipped_events_is_told_as_such),
      cmocka_unit_test(the_window_does_not_show),
      cmocka_unit_test(an_event_longer_than_the_limit_is_skipped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
