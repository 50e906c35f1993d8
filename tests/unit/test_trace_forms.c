/* The forms that Kineto's traces take: how times, ids, places and metadata are written, what old versions and other
 * accelerators call things, and rows that look wrong and are not. A test a form, the records worked out by hand.
 */
#include "trace_text.h"

/* Traces are laid out with an event a line. */
/* clang-format off */

/* A row of any category whose arguments say all there is to say of its place. */
#define ROW(category, name, pid, tid, ts, dur, args)                                                            \
  "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" #ts \
  ",\"dur\":" #dur ",\"args\":{" args "}}"

/* "LANE KIND NAME START+DUR" and, where there is one, " of CALL": the name of the call that launched it; one line a
 * task. */
static char *describe_work(const struct lumos_job *job) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    lumos_text_format(&text, "%s %s %s %" PRId64 "+%" PRId64, string_of(job, job->lanes.items[task->lane].lane),
                      lumos_task_kind_name((enum lumos_task_kind)task->kind), string_of(job, task->name), task->start,
                      task->dur);
    if (task->call != LUMOS_NONE) {
      lumos_text_format(&text, " of %s", string_of(job, job->tasks.items[task->call].name));
    }
    lumos_text_char(&text, '\n');
  }
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

static void expect_work(const struct lumos_job *job, const char *expected) {
  char *text = describe_work(job);
  assert_string_equal(text, expected);
  free(text);
}

static void expect_trace(const char *text, const char *work) {
  struct lumos_job *job = parse_good(text, NULL);
  expect_work(job, work);
  assert_null(find_note(job, "parse.skipped_events"));
  assert_null(find_note(job, "parse.unread_rows"));
  lumos_job_free(job);
}

static char *stream_of(const struct lumos_job *job) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_stream_write(job, &text);
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

/* 2^53 + 1 microseconds, which a double cannot hold, to the nanosecond: .001 and .0036, which rounds to .004; an
 * exporter's exponent, more decimals than nanoseconds have, and a duration of half a nanosecond. */
static void digits_become_whole_nanoseconds(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("a", 9007199254740993.001, 0.002) ","
      OP("b", 9007199254740993.0036, 0.0005) ","
      OP("c", 9.007199254740994e15, 1.23449999999)), NULL);
  expect_tasks(job, "t10 a 0+2\nt10 b 3+1 lag 1\nt10 c 999+1234 lag 995\n");
  assert_int_equal(job->epoch, INT64_C(9007199254740993001));
  lumos_job_free(job);
}

/* Two ranks that started on either side of the border between two bases, 7 889 238 s apart: ts counts from one's
 * own. The base stands behind the events of one and before those of the other. */
static void ranks_have_bases_of_their_own(void **state) {
  (void)state;
  static const char *const texts[] = {
      "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[" OP("a", 7889248000000.000, 5) "],"
      "\"baseTimeNanoseconds\":1735632360000000000}",
      "{\"baseTimeNanoseconds\":1743521598000000000,\"distributedInfo\":{\"rank\":1},"
      "\"traceEvents\":[" OP("b", 10000050.007, 5) "]}"};
  char *folder = unit_folder_new();
  char *paths[2];
  for (int i = 0; i < 2; i++) {
    paths[i] = unit_path(folder, i == 0 ? "a.json" : "b.json");
    unit_write_file(paths[i], texts[i], strlen(texts[i]));
  }
  struct lumos_error error = {LUMOS_DONE, ""};
  const struct lumos_trace_options plain = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_job *job = lumos_trace_parse((const char *const[]){paths[0], paths[1]}, 2, &plain, &error);
  assert_non_null(job);
  assert_int_equal(job->epoch, INT64_C(1743521608000000000));
  expect_tasks(job, "t10 a 0+5000\nt10 b 50007+5000\n");
  lumos_job_free(job);
  free(paths[0]);
  free(paths[1]);
  unit_folder_remove(folder);
}

/* What the recorder adds: taken as a whole or not at all, whatever stands there. */
static void the_recorder_is_heard(void **state) {
  (void)state;
  static const struct {
    const char *value;
    int64_t steps, dur;
    const char *torch;
  } cases[] = {
      {"{\"version\":1,\"torch\":\"2.6.0+cu124\",\"unprofiled\":{\"steps\":3,\"dur\":24000},\"options\":{}}", 3, 24000, "2.6.0+cu124"},
      {"{\"unprofiled\":{\"steps\":1,\"dur\":1}}", 1, 1, ""},
      {"{\"torch\":7,\"unprofiled\":{\"steps\":0,\"dur\":24000}}", LUMOS_ABSENT, LUMOS_ABSENT, ""},
      {"{\"unprofiled\":{\"steps\":3,\"dur\":0}}", LUMOS_ABSENT, LUMOS_ABSENT, ""},
      {"{\"unprofiled\":{\"steps\":3,\"dur\":NaN}}", LUMOS_ABSENT, LUMOS_ABSENT, ""},
      {"{\"unprofiled\":{\"steps\":3,\"dur\":null}}", LUMOS_ABSENT, LUMOS_ABSENT, ""},
      {"{\"unprofiled\":[3,24000]}", LUMOS_ABSENT, LUMOS_ABSENT, ""},
      {"\"3\"", LUMOS_ABSENT, LUMOS_ABSENT, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "{\"lumos_recorder\":%s,\"traceEvents\":[" KERNEL("k", 7, 1, 5, 2) "]}", cases[i].value);
    lumos_text_char(&text, '\0');
    struct lumos_job *job = parse_good(text.bytes, NULL);
    const struct lumos_rank *rank = &job->ranks.items[0];
    assert_int_equal(rank->unprofiled_steps, cases[i].steps);
    assert_int_equal(rank->unprofiled_dur, cases[i].dur);
    assert_string_equal(string_of(job, rank->torch), cases[i].torch);
    lumos_job_free(job);
    lumos_text_free(&text);
  }
}

/* Metadata before the events, behind them, and on both sides, among keys that nobody knows; what lies deeper than the
 * envelope is none of it. */
static void metadata_stand_anywhere(void **state) {
  (void)state;
#define EVENTS "\"traceEvents\":[" KERNEL("k", 7, 1, 5, 2) "]"
#define BASE "\"baseTimeNanoseconds\": 1735632360000000000"
#define FACTS "\"distributedInfo\":{\"rank\":3,\"world_size\":8},\"host_name\":\"node7\"," \
              "\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100\",\"numSms\":132}]"
#define FREE_KEYS "\"ERROR\":[\"a ] b\",\"{\"],\"mast_job_x\":{\"baseTimeNanoseconds\":7,\"host_name\":\"no\"}," \
                  "\"with_stack\":1,\"username\":null,\"displayTimeUnit\":\"ns\""
  static const char *const texts[] = {
      "{" FACTS "," BASE "," FREE_KEYS "," EVENTS ",\"traceName\":\"t\"}",
      "{" EVENTS "," FREE_KEYS "," BASE "," FACTS "}",
      "{\"schemaVersion\":1," BASE "," EVENTS "," FREE_KEYS "," FACTS ",\"traceName\":\"t\"}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct lumos_job *job = parse_good(texts[i], NULL);
    const struct lumos_rank *rank = &job->ranks.items[0];
    expect_tasks(job, "s7 k 0+2000\n");
    assert_int_equal(job->epoch, INT64_C(1735632360000005000));
    assert_int_equal(rank->rank, 3);
    assert_int_equal(rank->world, 8);
    assert_string_equal(string_of(job, rank->host), "node7");
    assert_string_equal(string_of(job, rank->device_name), "NVIDIA H100");
    assert_int_equal(rank->device_sms, 132);
    lumos_job_free(job);
  }
  struct lumos_job *bare = parse_good("[" KERNEL("k", 7, 1, 5, 2) "]", NULL);
  expect_tasks(bare, "s7 k 0+2000\n");
  assert_int_equal(bare->epoch, 5000);
  assert_int_equal(bare->ranks.items[0].world, LUMOS_ABSENT_INT);
  lumos_job_free(bare);
#undef EVENTS
#undef BASE
#undef FACTS
#undef FREE_KEYS
}

/* `text` with blanks around every bracket, colon and comma that is not in a string; the caller frees. */
static char *reprint(const char *text, const char *before, const char *behind) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  bool quoted = false;
  for (; *text != '\0'; text++) {
    quoted = quoted != (*text == '"' && (!quoted || text[-1] != '\\'));
    bool structural = !quoted && strchr("{}[]:,", *text) != NULL;
    lumos_text_put(&out, structural ? before : "");
    lumos_text_char(&out, *text);
    lumos_text_put(&out, structural ? behind : "");
  }
  lumos_text_add(&out, "", 1);
  return out.bytes;
}

/* How a trace is printed does not show, in events, arguments or metadata. */
static void printing_does_not_show(void **state) {
  (void)state;
  const char *compact = "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0,\"world_size\":2},\"traceEvents\":["
      OP("a{\\\"b\\\",[c]:d}", 1.5, 20) ","
      CALL("cudaLaunchKernel", 4, 3, 5) ","
      "{\"ph\":\"s\",\"id\":4,\"pid\":1,\"tid\":10,\"ts\":3,\"cat\":\"ac2g\",\"name\":\"ac2g\"},"
      "{\"ph\":\"f\",\"id\":4,\"pid\":0,\"tid\":7,\"ts\":9,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},"
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"ts\":0,\"pid\":1,\"tid\":10,\"args\":{\"name\":\"main\"}},"
      KERNEL("k", 7, 4, 9, 2) "],\"baseTimeNanoseconds\":1735632360000000000}";
  struct lumos_job *job = parse_good(compact, NULL);
  expect_work(job, "t10 op a{\"b\",[c]:d} 0+1500\nt10 launch cudaLaunchKernel 1500+5000\n"
                   "t10 op a{\"b\",[c]:d} 6500+13500\ns7 other k 7500+2000 of cudaLaunchKernel\n");
  char *expected = stream_of(job);
  lumos_job_free(job);
  static const char *const blanks[][2] = {
      {"", " "}, {"", "\n    "}, {"\n", "\n\t\t"}, {" ", "\r\n"}, {"\t", "\r\n \r\n"}};
  for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++) {
    char *printed = reprint(compact, blanks[i][0], blanks[i][1]);
    job = parse_good(printed, NULL);
    char *stream = stream_of(job);
    assert_string_equal(stream, expected);
    free(stream);
    free(printed);
    lumos_job_free(job);
  }
  free(expected);
}

/* Processes and threads by number, by name, below 0, null or missing. A thread is known by its id alone; a device row's
 * arguments say more than its pid and tid; a row that says neither way where it ran is skipped. */
static void places_are_numbers_names_or_missing(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ROW("cpu_op", "number", "1", "10", 0, 1, "") ","
      ROW("cpu_op", "quoted", "\"1\"", "\"10\"", 1, 1, "") ","
      ROW("cpu_op", "named", "\"python 3\"", "\"main\"", 2, 1, "") ","
      ROW("cpu_op", "below", "-1", "-7", 3, 1, "") ","
      ROW("cpu_op", "null pid", "null", "11", 4, 1, "") ","
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"no pid\",\"tid\":11,\"ts\":5,\"dur\":1},"
      ROW("cpu_op", "empty pid", "\"\"", "11", 6, 1, "") ","
      ROW("cpu_op", "long", "18446744073709551615", "140213847123712", 7, 1, "") ","
      ROW("cpu_op", "null tid", "1", "null", 8, 1, "") ","
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"no tid\",\"pid\":1,\"ts\":9,\"dur\":1},"
      ROW("kernel", "by tid", "0", "\"7\"", 10, 1, "") ","
      ROW("kernel", "by arguments", "null", "null", 11, 1, "\"device\":0,\"stream\":7") ","
      "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"no pid, no tid\",\"ts\":12,\"dur\":1,\"args\":{\"stream\":7,"
      "\"device\":0}},"
      ROW("kernel", "no device", "null", "7", 13, 1, "\"stream\":7") ","
      ROW("kernel", "no stream", "0", "null", 14, 1, "\"device\":0") ","
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":null,\"tid\":null,\"args\":{\"name\":\"nowhere\"}},"
      "{\"ph\":\"C\",\"name\":\"GPU 0 Utilization\",\"pid\":0,\"tid\":null,\"ts\":1,\"args\":{\"x\":0.5}}"), NULL);
  expect_work(job, "t10 op number 0+1000\nt10 op quoted 1000+1000\n"
                   "t11 op null pid 4000+1000\nt11 op no pid 5000+1000\nt11 op empty pid 6000+1000\n"
                   "t140213847123712 op long 7000+1000\nt-7 op below 3000+1000\ntmain op named 2000+1000\n"
                   "s7 other by tid 10000+1000\ns7 other by arguments 11000+1000\n"
                   "s7 other no pid, no tid 12000+1000\n");
  assert_int_equal(find_note(job, "parse.skipped_events")->count, 4); /* null tid, no tid, no device, no stream */
  assert_int_equal(job->ranks.items[0].coverage.events, 11);
  lumos_job_free(job);
}

/* Ids fill 64 bits without a sign: a launch is found by one above 2^63, a collective keeps its communicator's, and a
 * thread's handle is its name. A stream's is a pointer where HIP writes it. */
static void ids_fill_64_bits(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("near", 18446744073709551614, 0, 1) ","
      CALL("cudaLaunchKernel", 18446744073709551615, 2, 1) ","
      CALL("quoted", "18446744073709551613", 4, 1) ","
      ROW("kernel", "ncclDevKernel_AllReduce_x", "0", "7", 10, 1,
          "\"device\":0,\"stream\":7,\"correlation\":18446744073709551615,\"Collective name\":\"allreduce\","
          "\"Comms Id\":17293822569102704640") ","
      ROW("kernel", "k", "0", "7", 12, 1, "\"device\":0,\"stream\":7,\"correlation\":18446744073709551613") ","
      ROW("kernel", "too large", "0", "7", 14, 1, "\"device\":0,\"stream\":7,\"correlation\":18446744073709551616") ","
      ROW("kernel", "hip", "0", "0", 16, 1,
          "\"device\":0,\"stream\":94512345678912,\"correlation\":18446744073709551614")),
      NULL);
  expect_work(job, "t10 other near 0+1000\nt10 launch cudaLaunchKernel 2000+1000\nt10 other quoted 4000+1000\n"
                   "s7 collective ncclDevKernel_AllReduce_x 10000+1000 of cudaLaunchKernel\n"
                   "s7 other k 12000+1000 of quoted\ns7 other too large 14000+1000\n"
                   "s94512345678912 other hip 16000+1000 of near\n");
  const struct lumos_task *collective = find_task(job, "ncclDevKernel_AllReduce_x", 0);
  assert_string_equal(string_of(job, lumos_detail_of(job, collective)->comm.id), "17293822569102704640");
  lumos_job_free(job);
}

/* External ids are cut to 32 bits, negative, of the correlation's numbers, or false: nothing hangs on them. The
 * kernel's points to an op that never called it. */
static void external_ids_decide_nothing(void **state) {
  (void)state;
  expect_trace(TRACE(
      ROW("cpu_op", "aten::mm", "1", "10", 0, 10, "\"External id\":-2147483648") ","
      ROW("cuda_runtime", "cudaLaunchKernel", "1", "10", 2, 3,
          "\"External id\":false,\"cbid\":211,\"correlation\":5") ","
      ROW("cpu_op", "aten::relu", "1", "10", 20, 10, "\"External id\":5") ","
      ROW("cuda_runtime", "cudaLaunchKernelExC", "1", "10", 22, 3, "\"External id\":-5,\"correlation\":6") ","
      ROW("kernel", "k", "0", "7", 30, 1, "\"External id\":5,\"device\":0,\"stream\":7,\"correlation\":6") ","
      ROW("kernel", "l", "0", "7", 32, 1, "\"External id\":false,\"device\":0,\"stream\":7,\"correlation\":5")),
      "t10 op aten::mm 0+2000\nt10 launch cudaLaunchKernel 2000+3000\nt10 op aten::mm 5000+5000\n"
      "t10 op aten::relu 20000+2000\nt10 launch cudaLaunchKernelExC 22000+3000\nt10 op aten::relu 25000+5000\n"
      "s7 other k 30000+1000 of cudaLaunchKernelExC\ns7 gemm l 32000+1000 of cudaLaunchKernel\n");
}

#define GROUP_ARGS(name, size, ranks)                                                                            \
  "\"Collective name\":\"allreduce\",\"In msg nelems\":4,\"Out msg nelems\":4,\"Group size\":" #size ","            \
  "\"dtype\":\"Float\",\"Process Group Name\":\"" name "\",\"Process Group Ranks\":\"" ranks "\""
#define GROUP_OP(ts, name, size, ranks, start, stride)  \
  ROW("cpu_op", "record_param_comms", "1", "10", ts, 9, \
      GROUP_ARGS(name, size, ranks) ",\"Global rank start\":" #start ",\"Global rank stride\":" #stride)
#define GROUP_KERNEL(ts, correlation, more)                    \
  ROW("kernel", "ncclDevKernel_AllReduce_x", "0", "7", ts, 1, \
      "\"device\":0,\"stream\":7,\"correlation\":" #correlation more)
#define LAUNCH(correlation, ts) CALL("cudaLaunchKernel", correlation, ts, 1)

/* The members as text, "" where they are not known. */
static void expect_group(const struct lumos_job *job, size_t index, const char *id, const char *members) {
  const struct lumos_group *group = &job->groups.items[index];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (uint32_t i = 0; i < group->member_count; i++) {
    lumos_text_format(&text, "%s%d", i > 0 ? " " : "", (int)job->group_ranks.items[group->member_first + i]);
  }
  lumos_text_add(&text, "", 1);
  assert_string_equal(string_of(job, group->id), id);
  assert_string_equal(text.bytes, members);
  lumos_text_free(&text);
}

/* Lists of ranks as lists and as text; those that were shortened are completed from the size, the start and the
 * stride that the op around the call has, where every rank that is listed agrees. */
static void shortened_ranks_are_completed(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(
      "{\"distributedInfo\":{\"rank\":0,\"world_size\":64,\"pg_config\":["
      "{\"pg_name\":\"a\",\"pg_size\":3,\"ranks\":[0,2,4]},"
      "{\"pg_name\":\"b\",\"pg_size\":3,\"ranks\":\"[1, 3, 5]\"},"
      "{\"pg_name\":\"c\",\"pg_size\":6,\"ranks\":\"[0, 8, ..., 40]\"}]},\"traceEvents\":["
      GROUP_OP(0, "c", 6, "[0, 8, ..., 40]", 0, 8) "," LAUNCH(1, 1) ","
      GROUP_KERNEL(100, 1, "," GROUP_ARGS("c", 6, "[0, 8, ..., 40]")) ","
      GROUP_OP(10, "d", 5, "[1, 2, 3, ...", 1, 1) "," LAUNCH(2, 11) "," GROUP_KERNEL(102, 2, "") ","
      GROUP_OP(20, "e", 4, "[]", 0, 1) "," LAUNCH(3, 21) "," GROUP_KERNEL(104, 3, "") ","
      GROUP_OP(30, "f", 4, "[0, 1, ..., 9]", 0, 1) "," LAUNCH(4, 31) "," GROUP_KERNEL(106, 4, "") ","
      GROUP_OP(40, "g", 4, "[0, 5, ...]", 0, 1) "," LAUNCH(5, 41) "," GROUP_KERNEL(108, 5, "") ","
      GROUP_OP(50, "h", 4, "[0, 3, ..., 8]", 0, -1) "," LAUNCH(6, 51) "," GROUP_KERNEL(110, 6, "") ","
      GROUP_OP(60, "i", 2147483647, "[0, 1, ...]", 0, 1) "," LAUNCH(7, 61) "," GROUP_KERNEL(112, 7, "") ","
      GROUP_OP(70, "j", 3, "[0, 1, ...]", 0, 2000000000) "," LAUNCH(8, 71) "," GROUP_KERNEL(114, 8, "") ","
      GROUP_KERNEL(116, 99, "," GROUP_ARGS("k", 40, "[0, 1, ..., 39]")) ","
      GROUP_OP(80, "l", 2, "[5, 6]", 0, 1) "," LAUNCH(9, 81) "," GROUP_KERNEL(118, 9, "") "]}", NULL);
  static const char *const groups[][2] = {
      {"a", "0 2 4"},
      {"b", "1 3 5"},
      {"c", "0 8 16 24 32 40"},
      {"d", "1 2 3 4 5"},
      {"e", "0 1 2 3"},
      {"f", ""}, /* the last is another */
      {"g", ""}, /* the second is */
      {"h", ""}, /* not evenly spaced */
      {"i", ""}, /* no job has so many */
      {"j", ""}, /* nor such ranks */
      {"k", ""}, /* no op, so no stride */
      {"l", "5 6"},
  };
  assert_int_equal(job->groups.count, sizeof groups / sizeof *groups);
  for (size_t i = 0; i < job->groups.count; i++) {
    expect_group(job, i, groups[i][0], groups[i][1]);
  }
  lumos_job_free(job);
}

/* What is infinite or not to be had stands in quotes. */
static void quoted_infinity_is_no_number(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ROW("kernel", "k", "0", "7", 0, 1, "\"blocks per SM\":\"inf\",\"warps per SM\":\"inf\","
          "\"est. achieved occupancy %\":\"inf\",\"device\":0,\"stream\":7,\"correlation\":3") ","
      ROW("kernel", "l", "0", "7", 2, 1, "\"est. achieved occupancy %\":\"-inf\",\"device\":0,\"stream\":7") ","
      ROW("kernel", "m", "0", "7", 4, 1,
          "\"blocks per SM\":\"inf\",\"est. achieved occupancy %\":50,\"device\":0,\"stream\":7") ","
      ROW("gpu_memcpy", "c", "0", "7", 6, 0,
          "\"memory bandwidth (GB/s)\":\"N/A\",\"bytes\":8,\"device\":0,\"stream\":7")),
      NULL);
  expect_work(job, "s7 other k 0+1000\ns7 other l 2000+1000\ns7 other m 4000+1000\ns7 copy c 6000+0\n");
  assert_int_equal(lumos_timing_of(job, (uint32_t)(find_task(job, "k", 0) - job->tasks.items))->occupancy, LUMOS_ABSENT_INT);
  assert_int_equal(lumos_timing_of(job, (uint32_t)(find_task(job, "l", 0) - job->tasks.items))->occupancy, LUMOS_ABSENT_INT);
  assert_int_equal(lumos_timing_of(job, (uint32_t)(find_task(job, "m", 0) - job->tasks.items))->occupancy, 500000);
  assert_int_equal(lumos_detail_of(job, find_task(job, "c", 0))->bytes, 8);
  assert_null(find_note(job, "parse.skipped_events"));
  lumos_job_free(job);
}

/* The format of 2020 and 2021: other categories, threads as text but numbers in flows, streams by name, flows called
 * async, and the devices under another key. */
static void old_spellings_are_read(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(
      "{\"schemaVersion\":1,\"computeProperties\":[{\"id\":0,\"name\":\"Tesla V100\",\"totalGlobalMem\":34084028416,"
      "\"multiProcessorCount\":80}],\"traceEvents\":["
      ROW("Operator", "ProfilerStep#3", "9", "\"9\"", 100, 30, "\"Device\":9,\"External id\":1") ","
      ROW("Operator", "aten::copy_", "9", "\"9\"", 101, 20, "\"Input dims\":[\n [\n  2,\n  3\n ]\n],\"External id\":2") ","
      ROW("Runtime", "cudaMemcpyAsync", "9", "\"9\"", 103, 4, "\"cbid\":41,\"correlation\":5,\"external id\":2") ","
      ROW("Runtime", "cudaMemsetAsync", "9", "\"9\"", 108, 4, "\"cbid\":51,\"correlation\":6") ","
      ROW("Runtime", "cudaLaunchKernel", "9", "\"9\"", 113, 4, "\"cbid\":211,\"correlation\":7") ","
      "{\"ph\":\"s\",\"id\":5,\"pid\":9,\"tid\":9,\"ts\":103,\"cat\":\"async\",\"name\":\"launch\"},"
      "{\"ph\":\"f\",\"id\":5,\"pid\":0,\"tid\":\"stream 7\",\"ts\":109,\"cat\":\"async\",\"name\":\"launch\","
      "\"bp\":\"e\"},"
      ROW("Memcpy", "Memcpy HtoD (Pinned -> Device)", "0", "\"stream 7\"", 109, 1,
          "\"device\":0,\"context\":1,\"stream\":7,\"correlation\":5,\"bytes\":640") ","
      ROW("Memset", "Memset (Device)", "0", "\"stream 7\"", 115, 1,
          "\"device\":0,\"stream\":7,\"correlation\":6,\"bytes\":64") ","
      ROW("Kernel", "k", "0", "\"stream 7\"", 120, 2,
          "\"device\":0,\"stream\":7,\"correlation\":7,\"theoretical occupancy %\":0") ","
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"ts\":1,\"pid\":9,\"tid\":\"9\","
      "\"args\":{\"name\":\"thread 9 (python)\"}},"
      ROW("Trace", "PyTorch Profiler (0)", "\"Traces\"", "\"PyTorch Profiler\"", 90, 60, "\"Op count\":0") "]}", NULL);
  expect_work(job, "t9 op aten::copy_ 11000+2000\nt9 launch cudaMemcpyAsync 13000+4000\nt9 op aten::copy_ 17000+1000\n"
                   "t9 launch cudaMemsetAsync 18000+4000\nt9 op aten::copy_ 22000+1000\n"
                   "t9 launch cudaLaunchKernel 23000+4000\n"
                   "t9 op aten::copy_ 27000+4000\n"
                   "s7 copy Memcpy HtoD (Pinned -> Device) 19000+1000 of cudaMemcpyAsync\n"
                   "s7 memset Memset (Device) 25000+1000 of cudaMemsetAsync\n"
                   "s7 elementwise k 30000+2000 of cudaLaunchKernel\n");
  expect_spans(job, "step ProfilerStep#3 10000+30000\nop aten::copy_ 11000+20000 in ProfilerStep#3\n");
  assert_string_equal(string_of(job, job->spans.items[1].shapes), "[[2, 3]]");
  assert_string_equal(string_of(job, job->lanes.items[0].name), "thread 9 (python)");
  assert_string_equal(string_of(job, job->ranks.items[0].device_name), "Tesla V100");
  assert_int_equal(job->ranks.items[0].device_sms, 80);
  assert_int_equal(job->ranks.items[0].device_memory, INT64_C(34084028416));
  assert_null(find_note(job, "parse.unread_rows"));
  lumos_job_free(job);
}

/* Since 2026 a host's wait for stream 7 is drawn on thread 1 000 007 of the device, under a name of its own: the
 * wait is for stream 7, whose name is its own, and there is no stream more. */
static void stream_waits_are_folded_back(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaLaunchKernel", 1, 0, 2) ","
      CALL("cudaStreamSynchronize", 2, 4, 20) ","
      KERNEL("k", 7, 1, 5, 15) ","
      ROW("cuda_sync", "Stream Sync", "0", "1000007", 4, 19,
          "\"cuda_sync_kind\":\"Stream Sync\",\"stream\":7,\"correlation\":2,"
          "\"device\":0,\"context\":1") ","
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":7,\"args\":{\"name\":\"stream 7 \"}},"
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":1000007,"
      "\"args\":{\"name\":\"stream 7 (sync) \"}}"), NULL);
  expect_work(job, "t10 launch cudaLaunchKernel 0+2000\nt10 sync cudaStreamSynchronize 4000+20000\n"
                   "s7 other k 5000+15000 of cudaLaunchKernel\n");
  assert_int_equal(job->lanes.count, 2);
  assert_string_equal(string_of(job, job->lanes.items[1].name), "stream 7");
  const struct lumos_wait *wait = &lumos_detail_of(job, find_task(job, "cudaStreamSynchronize", 0))->wait;
  assert_int_equal(wait->on, LUMOS_WAIT_STREAM);
  assert_int_equal(wait->lane, 1);
  lumos_job_free(job);
}

/* A Triton launcher's row has a stream and is on the host all the same, whatever stands before its category. */
static void a_host_row_with_a_stream_stays_on_the_host(void **state) {
  (void)state;
  expect_trace(TRACE(
      ROW("cpu_op", "triton_poi_fused_add_0", "1", "10", 0, 9,
          "\"stream\":7,\"device\":0,\"kernel_backend\":\"triton\"") ","
      "{\"args\":{\"stream\":7,\"grid\":\"grid(1,)\"},\"ts\":20,\"dur\":5,\"pid\":1,\"tid\":10,"
      "\"name\":\"triton_red_fused_1\","
      "\"cat\":\"cpu_op\",\"ph\":\"X\"},"
      DRIVER("cuLaunchKernelEx", 1, 2, 4) ","
      KERNEL("triton_poi_fused_add_0", 7, 1, 10, 3)),
      "t10 op triton_poi_fused_add_0 0+2000\nt10 launch cuLaunchKernelEx 2000+4000\n"
      "t10 op triton_poi_fused_add_0 6000+3000\n"
      "t10 op triton_red_fused_1 20000+5000\ns7 elementwise triton_poi_fused_add_0 10000+3000 of cuLaunchKernelEx\n");
}

/* A copy between devices has no `device`: it is on the one it was recorded on, `inDevice`; without that, on its pid. */
static void copies_between_devices_have_a_stream(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaMemcpyAsync", 3, 0, 5) ","
      ROW("gpu_memcpy", "Memcpy PtoP (Device -> Device)", "1", "9", 6, 4,
          "\"fromDevice\":0,\"inDevice\":1,\"toDevice\":1,"
          "\"fromContext\":1,\"inContext\":2,\"toContext\":2,\"stream\":9,\"correlation\":3,\"bytes\":5368709120") ","
      ROW("gpu_memcpy", "Memcpy PtoP (again)", "1", "9", 12, 4,
          "\"fromDevice\":1,\"toDevice\":0,\"stream\":9,\"bytes\":1") ","
      ROW("kernel", "k", "0", "9", 20, 4, "\"device\":0,\"stream\":9")), NULL);
  expect_work(job, "t10 launch cudaMemcpyAsync 0+5000\nd0.s9 other k 20000+4000\n"
                   "d1.s9 copy Memcpy PtoP (Device -> Device) 6000+4000 of cudaMemcpyAsync\n"
                   "d1.s9 copy Memcpy PtoP (again) 12000+4000\n");
  const struct lumos_task *copy = find_task(job, "Memcpy PtoP (Device -> Device)", 0);
  assert_int_equal(lumos_detail_of(job, copy)->bytes, INT64_C(5368709120));
  lumos_job_free(job);
}

/* One call, 5000 kernels on two streams, 3 us apart, in the file from last to first. */
static void a_graph_launch_has_thousands_of_kernels(void **state) {
  (void)state;
  enum { KERNELS = 5000 };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{\"traceEvents\":[" OP("replay", 0, 20) ","
                        CALL("cudaGraphLaunch", 40, 1, 9) "," LAUNCH(41, 12));
  for (int i = KERNELS - 1; i >= 0; i--) {
    lumos_text_format(&text, ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":%d,\"ts\":%d,"
                             "\"dur\":2,\"args\":"
                      "{\"device\":0,\"stream\":%d,\"correlation\":40,\"graph id\":3,\"graph node id\":%d}}",
                      i % 100, 7 + i % 2, 30 + 3 * i, 7 + i % 2, i);
  }
  lumos_text_put(&text, "," KERNEL("after", 7, 41, 20000, 1) "]}");
  lumos_text_add(&text, "", 1);
  struct lumos_job *job = parse_good(text.bytes, NULL);
  lumos_text_free(&text);
  const uint32_t launch = index_of(job, find_task(job, "cudaGraphLaunch", 0));
  size_t first = job->tasks.count - KERNELS - 1;
  assert_int_equal(first, 5); /* the op before, between and behind its two calls */
  for (size_t i = 0; i < KERNELS; i++) {
    bool second_stream = i >= KERNELS / 2;
    /* the kernels of even places are on stream 7, the others on stream 8 */
    int64_t place = 2 * (int64_t)(i % (KERNELS / 2)) + second_stream;
    const struct lumos_task *task = &job->tasks.items[first + i + second_stream]; /* "after" comes last on stream 7 */
    assert_int_equal(task->start, 30000 + 3000 * place);
    assert_int_equal(task->dur, 2000);
    assert_int_equal(task->call, launch);
    assert_int_equal(task->seq, i % (KERNELS / 2));
  }
  const struct lumos_task *after = &job->tasks.items[first + KERNELS / 2];
  assert_string_equal(string_of(job, after->name), "after");
  assert_int_equal(after->call, index_of(job, find_task(job, "cudaLaunchKernel", 0)));
  assert_int_equal(job->ranks.items[0].coverage.device_tasks, KERNELS + 1);
  assert_int_equal(job->ranks.items[0].coverage.launched, KERNELS + 1);
  assert_int_equal(job->ranks.items[0].coverage.opped, KERNELS + 1);
  lumos_job_free(job);
}

/* What was launched before the recording has a correlation id below the first recorded one, even when it starts
 * behind that call. It is kept, without call and step, and is no error. */
static void work_from_before_the_recording_is_kept(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ANNOTATION("ProfilerStep#5", 0, 100) ","
      CALL("cudaLaunchKernel", 50, 10, 5) ","
      KERNEL("first", 7, 50, 60, 4) ","
      KERNEL("backlog", 7, 49, 20, 30) ","
      ROW("gpu_memcpy", "Memcpy DtoD (Device -> Device)", "0", "7", 2, 9,
          "\"device\":0,\"stream\":7,\"correlation\":12") ","
      OP("next", 200, 1)), NULL);
  expect_work(job, "t10 launch cudaLaunchKernel 10000+5000\n"
                   "s7 copy Memcpy DtoD (Device -> Device) 2000+9000\ns7 other backlog 20000+30000\n"
                   "s7 other first 60000+4000 of cudaLaunchKernel\n");
  assert_int_equal(find_task(job, "backlog", 0)->step, LUMOS_ABSENT_INT);
  assert_int_equal(find_task(job, "first", 0)->step, 5);
  assert_int_equal(job->ranks.items[0].base, 50000); /* the step begins when the backlog ends */
  assert_int_equal(job->ranks.items[0].coverage.before_recording, 2);
  assert_int_equal(find_note(job, "parse.before_recording")->count, 2);
  assert_null(find_note(job, "parse.lost_calls"));
  lumos_job_free(job);
}

/* Whole microseconds: equal rows are several rows, those of no length are work, and what starts together on a stream
 * comes in the order of its launches, not in the file's. */
static void rounded_rows_are_kept_in_order(void **state) {
  (void)state;
  expect_trace(TRACE(
      CALL("cudaLaunchKernel", 1, 0, 1) "," CALL("cudaLaunchKernel", 2, 1, 1) ","
      CALL("cudaLaunchKernelExC", 3, 2, 1) "," CALL("cudaLaunchKernelExC", 4, 3, 1) ","
      OP("aten::add", 5, 2) "," OP("aten::add", 5, 2) "," OP("aten::add", 5, 0) ","
      KERNEL("k", 7, 3, 9, 0) "," KERNEL("k", 7, 4, 9, 1) "," KERNEL("k", 7, 2, 9, 0) "," KERNEL("k", 7, 1, 8, 1) ","
      KERNEL("g", 8, 3, 20, 1) "," KERNEL("g", 8, 3, 20, 1) "," KERNEL("g", 8, 3, 20, 1)),
      "t10 launch cudaLaunchKernel 0+1000\nt10 launch cudaLaunchKernel 1000+1000\n"
      "t10 launch cudaLaunchKernelExC 2000+1000\nt10 launch cudaLaunchKernelExC 3000+1000\nt10 op aten::add 5000+2000\n"
      "s7 other k 8000+1000 of cudaLaunchKernel\ns7 other k 9000+0 of cudaLaunchKernel\n"
      "s7 other k 9000+0 of cudaLaunchKernelExC\ns7 other k 9000+1000 of cudaLaunchKernelExC\n"
      "s8 other g 20000+1000 of cudaLaunchKernelExC\ns8 other g 20000+1000 of cudaLaunchKernelExC\n"
      "s8 other g 20000+1000 of cudaLaunchKernelExC\n");
}

/* ROCm: calls of HIP in the category of CUDA's runtime, the default stream is 0, devices count from anywhere, copies
 * may be kernels, and a name that nobody knows is work of kind other. */
static void rocm_rows_are_read(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(
      "{\"deviceProperties\":[{\"id\":0,\"name\":\"\"},{\"id\":2,\"name\":\"AMD Instinct MI300X\",\"numSms\":304}],"
      "\"traceEvents\":["
      ROW("cuda_runtime", "hipLaunchKernel", "1", "10", 0, 3,
          "\"cid\":143,\"correlation\":1,\"kernel\":\"x\",\"grid\":[1,1,1],"
          "\"block\":[64,1,1],\"shared memory\":0") ","
      ROW("cuda_runtime", "hipMemcpyWithStream", "1", "10", 4, 3,
          "\"cid\":75,\"correlation\":2,\"src\":\"0x7f\",\"dst\":\"0x8f\","
          "\"bytes\":64,\"kind\":\"HtoD\"") ","
      ROW("cuda_runtime", "hipNobodyKnows", "1", "10", 8, 3, "\"correlation\":3,\"ptr\":\"0x0\"") ","
      ROW("kernel", "nobody_knows", "2", "0", 10, 2, "\"device\":2,\"stream\":0,\"hsa_queue\":3,\"correlation\":1,"
          "\"kind\":\"Dispatch Kernel\",\"grid\":[1,1,1],\"block\":[64,1,1]") ","
      ROW("kernel", "__amd_rocclr_copyBuffer.kd", "2", "0", 13, 2, "\"device\":2,\"stream\":0,\"correlation\":2") ","
      ROW("gpu_memcpy", "CopyDeviceToHost", "2", "0", 16, 2,
          "\"device\":2,\"stream\":0,\"correlation\":3,\"kind\":\"DtoH\",\"bytes\":4") "]}",
      NULL);
  expect_work(job, "t10 launch hipLaunchKernel 0+3000\nt10 launch hipMemcpyWithStream 4000+3000\n"
                   "t10 other hipNobodyKnows 8000+3000\n"
                   "s0 other nobody_knows 10000+2000 of hipLaunchKernel\n"
                   "s0 copy __amd_rocclr_copyBuffer.kd 13000+2000 of hipMemcpyWithStream\n"
                   "s0 copy CopyDeviceToHost 16000+2000 of hipNobodyKnows\n");
  assert_string_equal(string_of(job, job->ranks.items[0].device_name), "AMD Instinct MI300X");
  assert_int_equal(lumos_timing_of(job, (uint32_t)(find_task(job, "nobody_knows", 0) - job->tasks.items))->occupancy, LUMOS_ABSENT_INT);
  assert_null(find_note(job, "parse.unread_rows"));
  lumos_job_free(job);
}

/* XPU: calls in categories of their own, kernels without a stream (their tid is the SYCL queue), copies of no known
 * speed. Its synchronisation rows lie over the calls that wait, on process -1: they are counted. */
static void xpu_rows_are_read(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ROW("cpu_op", "aten::addmm", "5", "10", 0, 20, "\"External id\":5") ","
      ROW("xpu_runtime", "urEnqueueKernelLaunch", "5", "10", 2, 9, "\"External id\":5,\"correlation\":4131") ","
      ROW("xpu_driver", "zeCommandListAppendLaunchKernel", "5", "10", 4, 2, "\"correlation\":4132") ","
      ROW("xpu_runtime", "urNobodyKnows", "5", "10", 12, 2, "\"correlation\":4133") ","
      ROW("collective_comm", "xccl::allreduce", "5", "10", 30, 9, "\"Communicator_id\":1") ","
      ROW("xpu_runtime", "urEnqueueKernelLaunch", "5", "10", 31, 2, "\"correlation\":4140") ","
      ROW("xpu_sync", "zeEventHostSynchronize", "-1", "10", 40, 5, "\"correlation\":4150,\"Type\":\"HOST_EVENT\"") ","
      ROW("overhead", "BUFFER_TIME", "-1", "10", 50, 5, "\"overhead cost\":5000,\"overhead count\":1") ","
      ROW("kernel", "gemm_kernel", "0", "3", 60, 8,
          "\"External id\":5,\"kernel_id\":1,\"l0 queue\":\"0x000055d08b8fc138\","
          "\"sycl queue\":64,\"context\":\"0x000055d08918fc78\",\"correlation\":4131,\"device\":0") ","
      ROW("kernel", "nobody_knows", "0", "3", 70, 8, "\"device\":0,\"sycl queue\":64,\"correlation\":4140") ","
      ROW("gpu_memcpy", "Memcpy M2D (Memory -> Device)", "0", "4", 80, 0,
          "\"l0 call\":\"zeCommandListAppendMemoryCopy\",\"device\":0,"
          "\"correlation\":4133,\"memory opration id\":1,\"bytes\":64,\"memory bandwidth (GB/s)\":\"N/A\"")), NULL);
  expect_work(job, "t10 op aten::addmm 0+2000\nt10 launch urEnqueueKernelLaunch 2000+2000\n"
                   "t10 launch zeCommandListAppendLaunchKernel 4000+2000\nt10 launch urEnqueueKernelLaunch 6000+5000\n"
                   "t10 op aten::addmm 11000+1000\nt10 other urNobodyKnows 12000+2000\nt10 op aten::addmm 14000+6000\n"
                   "t10 op xccl::allreduce 30000+1000\nt10 launch urEnqueueKernelLaunch 31000+2000\n"
                   "t10 op xccl::allreduce 33000+6000\n"
                   "s3 gemm gemm_kernel 60000+8000 of urEnqueueKernelLaunch\n"
                   "s3 other nobody_knows 70000+8000 of urEnqueueKernelLaunch\n"
                   "s4 copy Memcpy M2D (Memory -> Device) 80000+0 of urNobodyKnows\n");
  const struct lumos_note *unread = find_note(job, "parse.unread_rows");
  assert_int_equal(unread->count, 1);
  assert_non_null(strstr(string_of(job, unread->text), ": xpu_sync"));
  assert_int_equal(job->ranks.items[0].coverage.events, 11);
  lumos_job_free(job);
}

/* MTIA, and the other accelerators whose calls and device rows have categories of their own. */
static void mtia_rows_are_read(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ROW("mtia_runtime", "runFunction - job_prep_and_submit_for_execution", "5", "10", 0, 3, "\"correlation\":1") ","
      ROW("mtia_runtime", "nobodyKnows", "5", "10", 4, 3, "\"correlation\":2") ","
      ROW("hpu_op", "nobodyKnowsEither", "5", "10", 8, 3, "") ","
      ROW("glow_runtime", "glowRun", "5", "10", 12, 3, "") ","
      ROW("privateuse1_runtime", "aiuLaunchComputeStream", "5", "10", 16, 3, "\"correlation\":3") ","
      ROW("privateuse1_driver", "aiuMalloc", "5", "10", 20, 3, "") ","
      ROW("mtia_ccp_events", "nobody_knows", "0", "2", 30, 4, "\"correlation\":1") ","
      ROW("mtia_ccp_events", "hccl::all_gather", "0", "2", 40, 4,
          "\"correlation\":2,\"Collective name\":\"_allgather_base\","
          "\"In msg nelems\":2,\"Out msg nelems\":4,\"Group size\":2,\"dtype\":\"Float\"") ","
      ROW("mtia_ccp_events", "dma_request", "0", "2", 50, 4, "\"correlation\":2") ","
      ROW("mtia_ccp_events", "event_wait", "0", "2", 60, 4, "\"correlation\":2") ","
      ROW("mtia_ccp_events", "remote", "0", "2", 70, 4, "\"correlation\":2")), NULL);
  expect_work(job, "t10 launch runFunction - job_prep_and_submit_for_execution 0+3000\n"
                   "t10 other nobodyKnows 4000+3000\n"
                   "t10 other nobodyKnowsEither 8000+3000\nt10 other glowRun 12000+3000\n"
                   "t10 launch aiuLaunchComputeStream 16000+3000\nt10 alloc aiuMalloc 20000+3000\n"
                   "s2 other nobody_knows 30000+4000 of runFunction - job_prep_and_submit_for_execution\n"
                   "s2 collective hccl::all_gather 40000+4000 of nobodyKnows\n"
                   "s2 copy dma_request 50000+4000 of nobodyKnows\n"
                   "s2 copy remote 70000+4000 of nobodyKnows\n");
  const struct lumos_note *left = find_note(job, "parse.left_out");
  assert_int_equal(left->count, 1);
  assert_non_null(strstr(string_of(job, left->text), ": 1 mtia_ccp_events"));
  const struct lumos_comm *comm = &lumos_detail_of(job, find_task(job, "hccl::all_gather", 0))->comm;
  assert_string_equal(string_of(job, comm->op), "all_gather");
  assert_int_equal(comm->bytes, 16);
  assert_null(find_note(job, "parse.unread_rows"));
  lumos_job_free(job);
}

/* Rows of a category that nobody has heard of are work of kind other, on the device or on their thread, and counted by
 * its name; a call that is known goes before one that is not. What is known to be no work, or says not where it ran, is
 * counted and left out; what lies over others by design is no news, but has its place in the sum of all events. */
static void unknown_categories_are_counted(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("a", 0, 9) ","
      ROW("novel_runtime", "novelLaunchKernel", "1", "10", 1, 2, "\"correlation\":1") ","
      ROW("novel_runtime", "n", "1", "10", 4, 2, "\"correlation\":2") ","
      CALL("cudaLaunchKernel", 2, 6, 1) ","
      ROW("novel_kernel", "gemm", "0", "7", 12, 2, "\"device\":0,\"stream\":7,\"correlation\":1") ","
      ROW("novel_copy", "Memcpy PtoP", "0", "7", 15, 2, "\"inDevice\":0,\"stream\":7,\"correlation\":2,\"bytes\":8") ","
      "{\"args\":{\"device\":0,\"stream\":7},\"ph\":\"X\",\"name\":\"bare kernel\",\"ts\":18,\"dur\":1},"
      ROW("mtia_insight", "i", "0", "2", 1, 20, "\"device\":0,\"stream\":2") ","
      ROW("hardware_counters", "c", "0", "2", 1, 20, "") ","
      "{\"ph\":\"X\",\"name\":\"bare\",\"ts\":1,\"dur\":1},"
      "{\"ph\":\"B\",\"name\":\"half\",\"pid\":1,\"tid\":10,\"ts\":1},{\"ph\":\"E\",\"pid\":1,\"tid\":10,\"ts\":3},"
      "{\"ph\":\"s\",\"id\":1,\"pid\":1,\"tid\":10,\"ts\":1},{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1},"
      ROW("python_function", "f", "1", "10", 0, 30, "") ","
      ROW("cuda_sync", "Stream Sync", "0", "7", 1, 2, "\"correlation\":99,\"device\":0,\"stream\":7") ","
      ROW("gpu_user_annotation", "step", "0", "7", 1, 20, "\"External id\":1") ","
      ROW("cuda_event", "cudaEvent", "0", "7", 0, 0.001,
          "\"event_id\":1,\"stream\":7,\"correlation\":3,\"device\":0") ","
      ROW("lumos_simulated", "k", "0", "7", 1, 20, "\"device\":0,\"stream\":7")), NULL);
  expect_work(job, "t10 op a 0+1000\nt10 other novelLaunchKernel 1000+2000\nt10 op a 3000+1000\nt10 other n 4000+2000\n"
                   "t10 launch cudaLaunchKernel 6000+1000\nt10 op a 7000+2000\n"
                   "s7 other gemm 12000+2000 of novelLaunchKernel\ns7 other Memcpy PtoP 15000+2000 of cudaLaunchKernel\n"
                   "s7 other bare kernel 18000+1000\n");
  assert_int_equal(find_note(job, "parse.unknown_rows")->count, 5);
  assert_non_null(strstr(string_of(job, find_note(job, "parse.unknown_rows")->text),
                         "kind other: novel_runtime, novel_kernel, novel_copy, none"));
  const struct lumos_note *unread = find_note(job, "parse.unread_rows");
  assert_int_equal(unread->count, 4);
  assert_int_equal(unread->level, LUMOS_WARNING);
  assert_non_null(strstr(string_of(job, unread->text), ": events in two pieces (B and E), none, mtia_insight, hardware_counters"));
  const struct lumos_note *left = find_note(job, "parse.left_out");
  assert_int_equal(left->count, 12);
  assert_string_equal(string_of(job, left->text),
                      "7 of 19 events became tasks and spans. The others: 1 end of a flow, 2 begins and ends of events that "
                      "are in two pieces, 1 counter, 1 none, 1 mtia_insight, 1 hardware_counters, 1 gpu_user_annotation, "
                      "1 cuda_event, 1 lumos_simulated, 1 python_function (--stacks keeps them), 1 cuda_sync whose call is "
                      "not kept");
  lumos_job_free(job);
}

/* A category is what it says, however it is written. */
static void escapes_in_a_category_are_read(void **state) {
  (void)state;
  expect_trace(TRACE(ROW("cpu\\u005fop", "a", "1", "10", 0, 3, "") "," ROW("ker\\u006eel", "k", "0", "7", 4, 3,
                     "\"device\":0,\"stream\":7")), "t10 op a 0+3000\ns7 other k 4000+3000\n");
}

/* What names or counts something is an integer, however it is written; a fraction of it is lost, and said. */
static void fractions_of_integers_are_lost(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaLaunchKernel", 6, 0, 3) ","
      ROW("kernel", "k", "0", "9", 4, 3, "\"device\":0,\"stream\":1.5,\"correlation\":5.7") ","
      ROW("kernel", "l", "0", "7", 8, 3, "\"device\":0.0,\"stream\":70e-1,\"correlation\":6.0") ","
      ROW("gpu_memcpy", "m", "0", "7", 12, 3, "\"device\":0,\"stream\":7,\"bytes\":1.5")), NULL);
  expect_work(job, "t10 launch cudaLaunchKernel 0+3000\ns7 other l 8000+3000 of cudaLaunchKernel\ns7 copy m 12000+3000\n"
                   "s9 other k 4000+3000\n");
  assert_int_equal(find_note(job, "parse.lost_values")->count, 2);
  assert_int_equal(find_task(job, "m", 0)->detail, LUMOS_NONE);
  lumos_job_free(job);
}

/* A thread's name that is no text is said at every event that has it. */
static void every_replaced_name_is_counted(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ROW("cpu_op", "a", "1", "\"x\xFF\"", 0, 3, "") "," ROW("cpu_op", "b", "1", "\"x\xFF\"", 4, 3, "") ","
      ROW("cpu_op", "c", "1", "10", 8, 3, "")), NULL);
  assert_int_equal(find_note(job, "parse.replaced_text")->count, 2);
  lumos_job_free(job);
}

/* An empty pid and tid, with which nothing is known of threads yet: a thread of its own, at the first row as behind a
 * kernel. */
static void empty_places_are_a_lane(void **state) {
  (void)state;
  expect_trace(TRACE(ROW("cpu_op", "a", "\"\"", "\"\"", 1, 1, "")), "t op a 0+1000\n");
  expect_trace(TRACE(
      ROW("kernel", "k", "0", "7", 1, 1, "\"device\":0,\"stream\":7") ","
      ROW("cpu_op", "a", "\"\"", "\"\"", 1, 1, "")), "t op a 0+1000\ns7 other k 0+1000\n");
}

/* Lanes have labels of their own, whatever characters their names have. */
static void odd_places_are_lanes_apart(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ROW("cpu_op", "a", "\"\\u0000\"", "1738", 1, 1, "") ","
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"tid\":1738,\"ts\":3,\"dur\":1}"), NULL);
  expect_work(job, "p.t1738 op b 2000+1000\np\xEF\xBF\xBD.t1738 op a 0+1000\n");
  assert_int_equal(find_note(job, "parse.replaced_text")->count, 1);
  lumos_job_free(job);
  job = parse_good(TRACE(
      ROW("cpu_op", "a", "1", "\"\"", 1, 1, "") "," ROW("cpu_op", "b", "1", "\"\\u0000\"", 3, 1, "")), NULL);
  expect_work(job, "t op a 0+1000\nt\xEF\xBF\xBD op b 2000+1000\n");
  lumos_job_free(job);
  expect_trace(TRACE(
      ROW("cpu_op", "a", "\"x\"", "\"y.tz\"", 1, 1, "") "," ROW("cpu_op", "b", "\"x.ty\"", "\"z\"", 3, 1, "") ","
      ROW("cpu_op", "c", "\"w\"", "\"y.tz\"", 5, 1, "") "," ROW("cpu_op", "d", "\"w\"", "\"z\"", 7, 1, "")),
      "pw.ty.tz op c 4000+1000\npx.ty.tz op a 0+1000\npw.tz op d 6000+1000\npx..ty.tz op b 2000+1000\n");
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(digits_become_whole_nanoseconds),
      cmocka_unit_test(ranks_have_bases_of_their_own),
      cmocka_unit_test(the_recorder_is_heard),
      cmocka_unit_test(metadata_stand_anywhere),
      cmocka_unit_test(printing_does_not_show),
      cmocka_unit_test(places_are_numbers_names_or_missing),
      cmocka_unit_test(ids_fill_64_bits),
      cmocka_unit_test(external_ids_decide_nothing),
      cmocka_unit_test(shortened_ranks_are_completed),
      cmocka_unit_test(quoted_infinity_is_no_number),
      cmocka_unit_test(old_spellings_are_read),
      cmocka_unit_test(stream_waits_are_folded_back),
      cmocka_unit_test(a_host_row_with_a_stream_stays_on_the_host),
      cmocka_unit_test(copies_between_devices_have_a_stream),
      cmocka_unit_test(a_graph_launch_has_thousands_of_kernels),
      cmocka_unit_test(work_from_before_the_recording_is_kept),
      cmocka_unit_test(rounded_rows_are_kept_in_order),
      cmocka_unit_test(rocm_rows_are_read),
      cmocka_unit_test(xpu_rows_are_read),
      cmocka_unit_test(mtia_rows_are_read),
      cmocka_unit_test(unknown_categories_are_counted),
      cmocka_unit_test(escapes_in_a_category_are_read),
      cmocka_unit_test(fractions_of_integers_are_lost),
      cmocka_unit_test(every_replaced_name_is_counted),
      cmocka_unit_test(empty_places_are_a_lane),
      cmocka_unit_test(odd_places_are_lanes_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
