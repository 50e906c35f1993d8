/* What the reader takes in any form, and what it refuses, each with a message that says why. */
#include "base/json.h"
#include "stream_unit.h"

/* Append the members of the object at `line` in reverse, with blanks around them. Foreign records stay as they are. */
static void add_reversed(struct lumos_text *text, const char *line, size_t length) {
  struct lumos_json_members members;
  struct lumos_slice keys[64];
  struct lumos_slice values[64];
  size_t count = 0;
  const char *cursor = line;
  if (strncmp(line, "{\"type\":\"cloud\"", 15) == 0 || strncmp(line, "{\"type\":\"rain\"", 14) == 0) {
    lumos_text_add(text, line, length);
    return;
  }
  assert_true(lumos_json_open(&cursor, '{', &members));
  while (lumos_json_key(&cursor, &members, &keys[count]) == 1) {
    assert_true(lumos_json_skip(&cursor, &values[count]));
    count++;
  }
  for (size_t i = count; i-- > 0;) {
    lumos_text_put(text, i == count - 1 ? "\t{ \"" : " , \"");
    lumos_text_add(text, keys[i].bytes, keys[i].length);
    lumos_text_put(text, "\" : ");
    lumos_text_add(text, values[i].bytes, values[i].length);
  }
  lumos_text_put(text, " } \r");
}

static void fields_come_in_any_order_and_with_blanks(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (const char *line = full_stream; *line != '\0';) {
    size_t length = strcspn(line, "\n");
    add_reversed(&text, line, length);
    lumos_text_char(&text, '\n');
    line += length + 1;
  }
  lumos_text_char(&text, '\0');
  struct lumos_job *job = stream_good(text.bytes);
  expect_stream(job, full_stream);
  lumos_job_free(job);
  lumos_text_free(&text);
}

static void members_of_objects_come_in_any_order(void **state) {
  (void)state;
  char *text = with_change(full_stream, "{\"op\":\"record\",\"lane\":\"s7\",\"id\":\"12\",\"y\":2}",
                           "{\"y\":2,\"id\":\"12\",\"lane\":\"s7\",\"op\":\"record\"}");
  char *more = with_change(text, "{\"rank\":1,\"send\":64,\"recv\":0}", "{ \"recv\":0,\"rank\":1 , \"send\":64}");
  struct lumos_job *job = stream_good(more);
  expect_stream(job, full_stream);
  lumos_job_free(job);
  free(more);
  free(text);
}

static void records_of_ranks_come_in_any_order(void **state) {
  (void)state;
  static const char middle[] = FULL_RANK0 FULL_GROUP FULL_LANES0 FULL_SPANS FULL_TASKS0 FULL_RANK1;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, FULL_HEADER FULL_REST);
  for (size_t end = sizeof middle - 1; end > 0;) { /* line by line from the last */
    size_t start = end - 1;
    while (start > 0 && middle[start - 1] != '\n') {
      start--;
    }
    lumos_text_add(&text, middle + start, end - start);
    end = start;
  }
  lumos_text_put(&text, FULL_END);
  lumos_text_char(&text, '\0');
  struct lumos_job *job = stream_good(text.bytes);
  expect_stream(job, full_stream);
  lumos_job_free(job);
  lumos_text_free(&text);
}

/* A stream with `old` replaced by `new` reads as one with it replaced by `normal`. */
static void expect_same(const char *old, const char *new, const char *normal) {
  char *text = with_change(full_stream, old, new);
  char *expected = with_change(full_stream, old, normal);
  struct lumos_job *job = stream_good(text);
  expect_stream(job, expected);
  lumos_job_free(job);
  free(expected);
  free(text);
}

static void values_have_one_form_when_written(void **state) {
  (void)state;
  expect_same("0.125", "1.25e-1", "0.125");
  expect_same("0.125", "1e-06", "0.000001");
  expect_same("0.125", "12.500000", "12.5");
  expect_same("0.125", "1E2", "100");
  expect_same("12.5", "9007199254740991.5", "9007199254740991.5");
  expect_same("12.5", "9223372036854.775807", "9223372036854.775807");
  expect_same("-0.5", "-0.0", "0");
  expect_same("0.25", "1.0", "1");
  expect_same("\"dur\":790", "\"d\\u0075r\":790", "\"dur\":790");
  expect_same("\"aten::mm\"", "\"\\u0061ten::mm\\/\"", "\"aten::mm/\"");
  expect_same("\"before\"", "\"\xC3\xA9\xFF\"", "\"\xC3\xA9\xEF\xBF\xBD\"");
  expect_same("\"bytes\":8192", "\"bytes\":9007199254740991", "\"bytes\":9007199254740991");
  expect_same("\"window\":[-5,9000]", "\"window\":[ -9007199254740991 , 9000 ]", "\"window\":[-9007199254740991,9000]");
}

/* More different ones than are remembered, each of them twice, and beside each its text without escapes. */
static void strings_with_escapes_keep_their_meaning(void **state) {
  enum { TEXTS = 2000, NOTES = 4 * TEXTS };
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"type\":\"lumos\",\"format\":1,\"stage\":\"parse\",\"epoch\":\"0\",\"history\":[]}\n");
  for (int i = 0; i < NOTES; i++) {
    lumos_text_format(&text, "{\"type\":\"note\",\"code\":\"parse.x\",\"level\":\"info\",\"text\":\"%s%d%s\"}\n",
                      i % 2 == 0 ? "" : "\\\"", i / 2 % TEXTS, i % 2 == 0 ? "" : "\\n");
  }
  lumos_text_format(&text, "{\"type\":\"end\",\"counts\":{\"lumos\":1,\"note\":%d,\"end\":1}}\n", NOTES);
  lumos_text_char(&text, '\0');
  struct lumos_job *job = stream_good(text.bytes);
  expect_stream(job, text.bytes);
  lumos_job_free(job);
  lumos_text_free(&text);
}

static void ids_may_be_far_apart(void **state) {
  (void)state;
  char *text =
      with_change(full_stream, "\"id\":\"0:4\",\"rank\":0,\"kind\"", "\"id\":\"0:4294967294\",\"rank\":0,\"kind\"");
  char *more = with_change(text, "\"id\":\"0:6\"", "\"id\":\"0:4294967294\"");
  struct lumos_job *job = stream_good(more);
  expect_stream(job, more);
  lumos_job_free(job);
  free(more);
  free(text);
}

/* A change to the full stream, and what the message must say. */
struct fault {
  const char *old, *new, *message;
};

static const struct fault faults[] = {
    /* values */
    {"\"dur\":790", "\"dur\":null", "line 20: dur is null; leave out what is unknown"},
    {"\"on\":\"event\"", "\"on\":null", "wait.on is null"},
    {"\"dur\":790", "\"dur\":7.9", "dur: expected an integer of at least 0 and below 2^53"},
    {"\"dur\":790", "\"dur\":9007199254740992", "dur: expected an integer of at least 0 and below 2^53"},
    {"\"dur\":790", "\"dur\":-9007199254740992", "dur: expected an integer of at least 0 and below 2^53"},
    {"\"dur\":790", "\"dur\":99999999999999999999999", "dur: expected an integer"},
    {"\"dur\":790", "\"dur\":\"790\"", "dur: expected an integer"},
    {"\"dur\":790", "\"dur\":-1", "dur: expected an integer of at least 0"},
    {"\"dur\":790", "\"dur\":0790", "dur: expected an integer of at least 0"},
    {"\"start\":40", "\"start\":-040", "start: expected an integer below 2^53"},
    {"\"seq\":5", "\"seq\":05", "seq: expected a number from 0 to 2^32-2"},
    {"\"seq\":5", "\"seq\":4294967295", "seq: expected a number from 0 to 2^32-2"},
    {"\"step\":2", "\"step\":2147483648", "step: expected an integer of at least 0 and below 2^31"},
    {"0.125", "0.1234567", "dur_error: expected a number of at least 0 and below 2^53 with at most 6 decimals"},
    {"0.125", "9007199254740992", "dur_error: expected a number of at least 0 and below 2^53"},
    {"0.125", "-0.125", "dur_error: expected a number of at least 0"},
    {"12.5,", "9007199254740992,", "high: expected a number below 2^53"},
    {"-1.000001", "-9007199254740992", "low: expected a number below 2^53"},
    {"0.125", "1e-07", "at most 6 decimals"},
    {"0.125", "1e99", "at most 6 decimals"},
    {"0.125", "9223372036854.775808", "at most 6 decimals"},
    {"0.125", ".5", "at most 6 decimals"},
    {"0.125", "01", "at most 6 decimals"},
    {"0.25", "-0.25", "occupancy: expected a number from 0"},
    {"\"kind\":\"launch\"", "\"kind\":\"launch\\u0000\"", "kind: expected one of the names"},
    {"\"kind\":\"launch\"", "\"kind\":\"lunch\"", "kind: expected one of the names"},
    {"\"group\":\"tp@0\"}}\n",
     "\"group\":\"tp@0\"}}\n{\"type\":\"task\",\"id\":\"1:1\",\"rank\":1,\"lane\":\"s7\",\"seq\":1,\"kind\":"
     "\"collectible\","
     "\"name\":\"x\",\"dur\":1,\"lag\":0}\n",
     "kind: expected one of the names"},
    {"\"name\":\"before\"", "\"name\":5", "name: expected a string"},
    {"\"window\":[0,8000]", "\"window\":[0]", "window: expected two instants"},
    {"\"window\":[0,8000]", "\"window\":[0,1,2]", "window: expected two instants"},
    {"\"window\":[0,8000]", "\"window\":[8000,0]", "window: expected two instants"},
    {"\"epoch\":\"1700000000000000000\"", "\"epoch\":1700000000000000000", "epoch: expected a string of digits"},
    {"\"epoch\":\"1700000000000000000\"", "\"epoch\":\"9223372036854775808\"", "epoch: expected a string of digits"},
    {"\"id\":\"c:4\"", "\"id\":\"c:04\"", "id: expected an id such as \"c:17\""},
    /* ids and references */
    {"\"call\":\"0:7\"", "\"call\":\"0:07\"", "call: expected an id"},
    {"\"call\":\"0:7\"", "\"call\":\"00:7\"", "call: expected an id"},
    {"\"call\":\"0:7\"", "\"call\":\"0:4294967295\"", "call: expected an id"},
    {"\"call\":\"0:7\"", "\"call\":\"1:0\"", "they must be of one rank"},
    {"\"call\":\"0:7\"", "\"call\":\"0:77\"", "task 0:5 refers to task 0:77, which is not in the stream"},
    {"\"parent\":\"0:0\"", "\"parent\":\"0:9\"", "span 0:3 refers to span 0:9"},
    {"\"lane\":\"t10\",\"seq\":1", "\"lane\":\"t11\",\"seq\":1", "task record 6 refers to lane t11"},
    {"\"id\":\"1:0\",\"rank\":1,\"lane\"", "\"id\":\"1:0\",\"rank\":0,\"lane\"",
     "is of rank 0, but its ids are of rank 1"},
    {"\"group\":\"tp@0\",\"id\":\"0xabc\"", "\"group\":\"tp\",\"id\":\"0xabc\"", "refers to group tp"},
    {"\"src\":\"0:0\"", "\"src\":\"5:0\"", "dep record 2 refers to task 5:0"},
    {"[\"0:5\",\"1:0\"]", "[\"0:5\",\"1:1\"]", "collective record 1 refers to task 1:1"},
    {"\"id\":\"0:6\"", "\"id\":\"0:4\"", "task 0:4 is given twice"},
    {"\"id\":\"0:3\",\"rank\":0,\"lane\":\"p77.t9\"", "\"id\":\"0:4\",\"rank\":0,\"lane\":\"p77.t9\"",
     "span 0:4 is given twice"},
    {"\"seq\":5", "\"seq\":6", "tasks 0:7 and 0:2 are both number 6 on lane p77.t9"},
    {"\"lane\":\"t10\",\"kind\":\"thread\"", "\"lane\":\"s7\",\"kind\":\"thread\"", "lane s7 of rank 0 is given twice"},
    {"{\"type\":\"rank\",\"rank\":1", "{\"type\":\"rank\",\"rank\":0", "rank 1, which is not in the stream"},
    {"\"scope\":{\"rank\":0,\"step\":2,", "\"scope\":{\"step\":2,", "scope has a lane, but no rank"},
    /* records */
    {"\"dur\":790", "\"dur\":790,\"dur\":790", "dur is given twice"},
    {"\"dur\":790", "\"dur\":790,\"d\\u0075r\":790", "dur is given twice"},
    {",\"x\":1}\n", ",\"x\":1,\"x\":2}\n", "x is given twice"},
    {"\"dur\":790,", "", "task has no dur"},
    {"\"on\":\"event\",", "", "wait has no on"},
    {"{\"rank\":1,\"send\":64,\"recv\":0}", "{\"rank\":1,\"send\":64}", "comm.peers: expected rank, send and recv"},
    {"{\"rank\":1,\"send\":64,\"recv\":0}", "{\"rank\":1,\"send\":64,\"recv\":0,\"x\":0}", "comm.peers: expected rank"},
    {",\"args\":\"--steps 2\"", "", "history: expected tool, version, args and inputs"},
    {"{\"type\":\"rain\"}", "{\"shape\":1}", "the record has no type"},
    {"{\"type\":\"rain\"}", "{\"type\":1}", "type: expected a string"},
    {"{\"type\":\"rain\"}", "{\"type\":\"rain\"} {}", "this is not a JSON object"},
    {"{\"type\":\"rain\"}", "{\"type\":\"rain\",\"a\":[1 2]}", "this is not a JSON object"},
    {"{\"type\":\"rain\"}", "{\"type\":\"rain\",\"a\":NaN}", "this is not a JSON object"},
    {"{\"type\":\"rain\"}", "[]", "this is not a JSON object"},
    {"{\"type\":\"rain\"}", "", "this is not a JSON object"},
    {"{\"type\":\"rain\"}", "{\"type\":\"rain\",\"a\":\"\xFF\"}", "not valid UTF-8"},
    {"\"dur\":790", "\"dur\":790,\"later\":\"\xFF\"", "later is not valid UTF-8"},
    {"\"dur\":790", "\"dur\":790,\"later\":{\"a\" 1}", "this is not a JSON object"},
    {"\"dur\":790", "\"dur\":790}\t{", "something stands behind the record"},
    /* the frame */
    {"\"format\":1", "\"format\":2", "written by a newer lumos"},
    {"\"format\":1", "\"format\":0", "format: expected a format's number"},
    {"{\"type\":\"lumos\",\"format\"", "{\"type\":\"rain\",\"format\"", "begins with its lumos record"},
    {"{\"type\":\"rain\"}\n", FULL_HEADER, "a second header"},
    {"{\"type\":\"rain\"}\n", FULL_END "{\"type\":\"rain\"}\n", "behind the end record"},
    {"\"stage\":\"sim\"", "\"stage\":\"parse\"", "is of stage"},
    {"\"stage\":\"sim\"", "\"stage\":\"transform\"", "line 16: sim_start is of stage sim"},
    {"\"task\":9", "\"task\":8", "there are 1 more task records than the end record says"},
    {"\"task\":9", "\"task\":11", "there are 2 fewer task records than the end record says"},
    {"\"cloud\":2", "\"cloud\":2,\"snow\":1", "1 fewer snow records"},
    {"\"cloud\":2", "\"cloud\":2,\"cloud\":2", "2 fewer cloud records"},
    {"\"counts\":{", "\"more\":1,\"counts\":{", "an end record has no other fields"},
};

static void faults_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    char *text = with_change(full_stream, faults[i].old, faults[i].new);
    expect_refused(text, false, faults[i].message);
    free(text);
  }
}

/* Without one field of a later stage, but with a record of one. */
static void records_of_later_stages_are_refused(void **state) {
  (void)state;
#define SMALL(stage)                                                                                        \
  "{\"type\":\"lumos\",\"format\":1,\"stage\":\"" stage "\",\"epoch\":\"0\",\"history\":[]}\n"              \
  "{\"type\":\"metric\",\"name\":\"a\",\"value\":1,\"unit\":\"ns\",\"scope\":{},\"source\":\"measured\"}\n" \
  "{\"type\":\"end\",\"counts\":{\"lumos\":1,\"metric\":1,\"end\":1}}\n"
  expect_refused(SMALL("parse"), false,
                 "line 2: metric is of stage graph, but the stream says that it is at stage parse");
  struct lumos_job *job = stream_good(SMALL("graph"));
  expect_stream(job, SMALL("graph"));
  lumos_job_free(job);
}

static void a_stream_cut_anywhere_is_refused(void **state) {
  (void)state;
  for (size_t length = 1; length < sizeof full_stream - 1; length += 7) {
    char *text = strndup(full_stream, length);
    bool whole = text[length - 1] == '\n';
    expect_refused(text, false, whole ? "the stream stops without its end record" : "the stream stops within a record");
    free(text);
  }
  char *text = strndup(full_stream, sizeof full_stream - 2);
  expect_refused(text, false, "the stream stops within a record");
  free(text);
}

static void what_is_no_stream_is_told_apart(void **state) {
  (void)state;
  expect_refused("", false, "job.jsonl: is empty: the tool before it wrote nothing");
  expect_refused("{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n", false,
                 "looks like a Kineto trace; run lumos-parse");
  expect_refused("[{\"ph\":\"X\"}]", false, "looks like a Kineto trace; run lumos-parse");
  expect_refused("lumos-parse: no such file\n", false, "is not a Lumos stream; give the output of lumos-parse");
  expect_refused("\n\n", false, "is not a Lumos stream");
  expect_refused("{\"a\":1}\n", false, "line 1: the record has no type");
  assert_true(lumos_stream_recognised(LITERAL("{\"type\":\"lumos\"")));
  assert_true(lumos_stream_recognised(LITERAL(" { \"epoch\" : \"5\"")));
  assert_false(lumos_stream_recognised(LITERAL("{\"schemaVersion\":1")));
  assert_false(lumos_stream_recognised(LITERAL("")));
  assert_false(lumos_stream_recognised(LITERAL("{")));
}

static void a_line_without_end_is_refused_before_memory_is(void **state) {
  (void)state;
  size_t length = (size_t)65 << 20U;
  char *text = malloc(length + 1);
  assert_non_null(text);
  memset(text, ' ', length);
  text[length] = '\0';
  memcpy(text, LITERAL("{\"type\":\"lumos\""));
  expect_refused(text, false, "line 1 is longer than 64 MiB");
  free(text);
}

/* A record with many unknown fields is read in reasonable time or not at all. */
static void too_many_unknown_fields_are_refused(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "\"dur\":790");
  for (int i = 0; i < 300; i++) {
    lumos_text_format(&text, ",\"x%d\":1", i);
  }
  lumos_text_char(&text, '\0');
  char *stream = with_change(full_stream, "\"dur\":790", text.bytes);
  expect_refused(stream, false, "more than 256 fields");
  free(stream);
  lumos_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_come_in_any_order_and_with_blanks),
      cmocka_unit_test(members_of_objects_come_in_any_order),
      cmocka_unit_test(records_of_ranks_come_in_any_order),
      cmocka_unit_test(values_have_one_form_when_written),
      cmocka_unit_test(strings_with_escapes_keep_their_meaning),
      cmocka_unit_test(ids_may_be_far_apart),
      cmocka_unit_test(faults_are_refused),
      cmocka_unit_test(records_of_later_stages_are_refused),
      cmocka_unit_test(a_stream_cut_anywhere_is_refused),
      cmocka_unit_test(what_is_no_stream_is_told_apart),
      cmocka_unit_test(a_line_without_end_is_refused_before_memory_is),
      cmocka_unit_test(too_many_unknown_fields_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
