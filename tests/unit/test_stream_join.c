/* Ranks joined: one epoch, groups named anew, history and notes united, and the same bytes whatever the order. */
#include "stream_unit.h"

#define HISTORY(input) "\"history\":[{\"tool\":\"lumos-parse\",\"version\":\"1\",\"args\":\"\",\"inputs\":[" input "]}]"
#define HEADER(epoch, input) \
  "{\"type\":\"lumos\",\"format\":1,\"stage\":\"parse\",\"epoch\":\"" epoch "\"," HISTORY(input) "}\n"
#define COVERAGE                                                                                                    \
  "\"coverage\":{\"events\":1,\"device_tasks\":1,\"launched\":0,\"opped\":0,\"before_recording\":1,\"crossing\":0," \
  "\"skipped\":0,\"repaired\":0}"
#define RANK(rank, window, base) \
  "{\"type\":\"rank\",\"rank\":" rank ",\"world\":3,\"window\":" window ",\"base\":" base "," COVERAGE "}\n"
#define GROUP(id, rank, rest) "{\"type\":\"group\",\"id\":\"" id "\",\"rank\":" rank "," rest "}\n"
#define LANE(rank) "{\"type\":\"lane\",\"rank\":" rank ",\"lane\":\"s7\",\"kind\":\"stream\",\"native\":\"7\"}\n"
#define TASK(rank, start, group)                                                                                  \
  "{\"type\":\"task\",\"id\":\"" rank ":0\",\"rank\":" rank ",\"lane\":\"s7\",\"seq\":0,\"kind\":\"collective\"," \
  "\"name\":\"nccl\",\"start\":" start ",\"dur\":5,\"lag\":0,\"comm\":{\"op\":\"all_reduce\",\"group\":\"" group  \
  "\"}}\n"
#define NOTE(scope, count) \
  "{\"type\":\"note\",\"code\":\"parse.skipped\",\"level\":\"info\",\"text\":\"rows\",\"count\":" count scope "}\n"
#define MISSING(ranks, count)                                                                                       \
  "{\"type\":\"note\",\"code\":\"parse.missing_ranks\",\"level\":\"warning\",\"text\":\"of the 3 ranks of the job " \
  "these are missing: " ranks "\",\"count\":" count ",\"cure\":\"add their traces: waiting for a rank can be "      \
  "split from transfer only where its trace is present\"}\n"
#define OF_RANK(rank) ",\"scope\":{\"rank\":" rank "}"
#define NOTES(count) ",\"note\":" count
#define END(ranks, groups, notes, last)                                                               \
  "{\"type\":\"end\",\"counts\":{\"lumos\":1,\"rank\":" ranks ",\"group\":" groups ",\"lane\":" ranks \
  ",\"task\":" ranks notes last ",\"end\":1}}\n"

/* Three ranks. The world is one group of everybody; "dp" means {0,1} on ranks 0 and 1, but {2} on rank 2. */
#define WORLD "\"size\":3,\"ranks\":[0,1,2]"
#define PAIR "\"name\":\"data\",\"size\":2,\"ranks\":[0,1]"

static const char rank0[] =
    HEADER("1000", "\"b.json\"") RANK("0", "[0,50]", "10") GROUP("dp", "0", PAIR) GROUP("world", "0", WORLD) LANE("0")
        TASK("0", "10", "dp") NOTE("", "2") NOTE(OF_RANK("0"), "1") END("1", "2", NOTES("2"), "");
static const char rank1[] =
    HEADER("400", "\"a.json\"") RANK("1", "[0,700]", "600") GROUP("dp", "1", PAIR) GROUP("world", "1", WORLD) LANE("1")
        TASK("1", "620", "dp") NOTE(OF_RANK("1"), "4") NOTE("", "5") END("1", "2", NOTES("2"), "");
static const char rank2[] = HEADER("900", "\"a.json\"") RANK("2", "[-3,200]", "100")
    GROUP("dp", "2", "\"size\":1,\"ranks\":[2]") GROUP("world", "2", "\"name\":\"all\"," WORLD) LANE("2")
        TASK("2", "105", "dp") "{\"type\":\"zebra\"}\n{\"type\":\"ape\"}\n" END("1", "2", "", ",\"zebra\":1,\"ape\":1");

/* Epoch 400: rank 0 moves by 600, rank 2 by 500. The world's records are one, under rank 0; dp is two groups. */
#define JOINED_RANK0(dp)        \
  RANK("0", "[600,650]", "610") \
  GROUP(dp, "0", PAIR) GROUP("world", "0", "\"name\":\"all\"," WORLD) LANE("0") TASK("0", "610", dp)
static const char joined[] = HEADER("400", "\"a.json\",\"b.json\"") JOINED_RANK0("dp@0") RANK("1", "[0,700]", "600")
    LANE("1") TASK("1", "620", "dp@0") RANK("2", "[497,700]", "600") GROUP("dp@2", "2", "\"size\":1,\"ranks\":[2]")
        LANE("2") TASK("2", "605", "dp@2") NOTE("", "7") NOTE(OF_RANK("0"), "1")
            NOTE(OF_RANK("1"), "4") "{\"type\":\"ape\"}\n{\"type\":\"zebra\"}\n" END("3", "3", NOTES("3"),
                                                                                     ",\"ape\":1,\"zebra\":1");

static struct lumos_job *join2(struct lumos_job *a, struct lumos_job *b) {
  struct lumos_error error = {0};
  struct lumos_job *jobs[] = {a, b};
  struct lumos_job *job = lumos_job_join(jobs, 2, &error);
  if (job == NULL) {
    fail_msg("not joined: %s", error.text);
  }
  assert_true(lumos_job_check(job, &error));
  return job;
}

static struct lumos_job *written_and_read(struct lumos_job *job) {
  char *text = stream_text(job);
  lumos_job_free(job);
  job = stream_good(text);
  free(text);
  return job;
}

static void three_ranks_join_as_worked_out(void **state) {
  (void)state;
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const char *texts[] = {rank0, rank1, rank2};
  for (int i = 0; i < 6; i++) {
    struct lumos_error error = {0};
    struct lumos_job *jobs[3];
    for (int j = 0; j < 3; j++) {
      jobs[j] = stream_good(texts[orders[i][j]]);
    }
    struct lumos_job *job = lumos_job_join(jobs, 3, &error);
    assert_non_null(job);
    assert_true(lumos_job_check(job, &error));
    expect_stream(job, joined);
    lumos_job_free(job);
  }
}

static void joining_in_steps_is_joining_at_once(void **state) {
  (void)state;
  static const int pairs[3][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}};
  const char *texts[] = {rank0, rank1, rank2};
  for (int i = 0; i < 3; i++) {
    struct lumos_job *two = join2(stream_good(texts[pairs[i][0]]), stream_good(texts[pairs[i][1]]));
    struct lumos_job *job = join2(stream_good(texts[pairs[i][2]]), written_and_read(two));
    expect_stream(job, joined);
    lumos_job_free(job);
  }
}

static void a_name_that_means_one_group_stays_plain(void **state) {
  (void)state;
  struct lumos_job *job = join2(stream_good(rank1), stream_good(rank0));
  expect_stream(job, HEADER("400", "\"a.json\",\"b.json\"") RANK("0", "[600,650]", "610") GROUP("dp", "0", PAIR)
                         GROUP("world", "0", WORLD) LANE("0") TASK("0", "610", "dp") RANK("1", "[0,700]", "600")
                             LANE("1") TASK("1", "620", "dp") MISSING("2", "1") NOTE("", "7") NOTE(OF_RANK("0"), "1")
                                 NOTE(OF_RANK("1"), "4") END("2", "2", NOTES("4"), ""));
  lumos_job_free(job);
}

/* One job, as parse hands it over: only ids must be unique. */
static void expect_named(const char *groups, const char *used, const char *named, const char *now_used) {
  struct lumos_error error = {0};
  char *before = NULL;
  char *after = NULL;
  static const char frame[] = HEADER("400", "\"a.json\"") RANK("4", "[0,1]", "0") "%s" LANE("4") TASK("4", "0", "%s");
  assert_true(asprintf(&before, frame, groups, used) > 0);
  assert_true(asprintf(&after, frame, named, now_used) > 0);
  char *whole = NULL;
  assert_true(asprintf(&whole, "%s{\"type\":\"end\",\"counts\":{}}\n", before) > 0);
  struct lumos_job *job = stream_from(whole, strlen(whole), true, &error);
  assert_non_null(job);
  job->notes.count = 0; /* it says that the counts were wrong */
  job = lumos_job_join(&job, 1, &error);
  assert_non_null(job);
  char *text = stream_text(job);
  assert_int_equal(strncmp(text, after, strlen(after)), 0);
  lumos_job_free(job);
  free(text);
  free(whole);
  free(before);
  free(after);
}

static void ids_are_made_unique_and_only_then_longer(void **state) {
  (void)state;
#define SIZE(number) "\"size\":" number
  /* Nothing to do. */
  expect_named(GROUP("dp", "4", SIZE("2")), "dp", GROUP("dp", "4", SIZE("2")), "dp");
  /* An ending of ours that nothing calls for goes. */
  expect_named(GROUP("dp@0", "4", SIZE("2")), "dp@0", GROUP("dp", "4", SIZE("2")), "dp");
  expect_named(GROUP("dp@0#3", "4", SIZE("2")), "dp@0#3", GROUP("dp", "4", SIZE("2")), "dp");
  expect_named(GROUP("dp@1@2", "4", SIZE("2")), "dp@1@2", GROUP("dp", "4", SIZE("2")), "dp");
  /* What only looks like one stays. */
  expect_named(GROUP("a@b", "4", SIZE("2")), "a@b", GROUP("a@b", "4", SIZE("2")), "a@b");
  expect_named(GROUP("a#2", "4", SIZE("2")), "a#2", GROUP("a#2", "4", SIZE("2")), "a#2");
  expect_named(GROUP("12", "4", SIZE("2")), "12", GROUP("12", "4", SIZE("2")), "12");
  /* One name, two sizes, ranks unknown: both lie lowest on rank 4, the smaller one is the first. */
  expect_named(GROUP("dp", "4", SIZE("8")) GROUP("dp@4", "4", SIZE("2")), "dp",
               GROUP("dp@4", "4", SIZE("2")) GROUP("dp@4#2", "4", SIZE("8")), "dp@4#2");
  /* Known ranks say which is lowest; natural order puts what is no number by its bytes. */
  expect_named(GROUP("dp", "4", SIZE("2") ",\"ranks\":[4,0]") GROUP("dp@4", "4", SIZE("2") ",\"ranks\":[4,7]"), "dp@4",
               GROUP("dp@0", "4", SIZE("2") ",\"ranks\":[4,0]") GROUP("dp@4", "4", SIZE("2") ",\"ranks\":[4,7]"),
               "dp@4");
  /* The same group twice under two ids is one. */
  expect_named(GROUP("dp", "4", "\"name\":\"tensor\"," SIZE("2")) GROUP("dp@9", "4", "\"name\":\"data\"," SIZE("2")),
               "dp@9", GROUP("dp", "4", "\"name\":\"data\"," SIZE("2")), "dp");
}

static void expect_not_joined(const char *a, const char *b, const char *expected) {
  struct lumos_error error = {0};
  struct lumos_job *jobs[] = {stream_good(a), stream_good(b)};
  assert_null(lumos_job_join(jobs, 2, &error));
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  if (strstr(error.text, expected) == NULL) {
    fail_msg("expected \"%s\", got \"%s\"", expected, error.text);
  }
}

static void what_is_not_one_job_is_refused(void **state) {
  (void)state;
  expect_not_joined(rank0, rank0, "rank 0 is given twice (, ): the same recording");
  char *other = with_change(rank0, "[0,50]", "[0,51]");
  expect_not_joined(rank0, other, "rank 0 is given twice (, ); a job has every rank once");
  free(other);
  other = with_change(rank1, "\"world\":3", "\"world\":4");
  expect_not_joined(rank0, other, "of a job of 3 ranks");
  free(other);
  char *one = with_change(rank0, "\"world\":3", "\"device\":{\"name\":\"A\"}");
  other = with_change(rank1, "\"world\":3", "\"device\":{\"name\":\"B\"}");
  expect_not_joined(one, other, "rank 0 ran on A, rank 1 on B");
  char *insisted = with_change(other, "\"args\":\"\"", "\"args\":\"--rank 1\"");
  lumos_job_free(join2(stream_good(one), stream_good(insisted)));
  free(insisted);
  free(other);
  free(one);
  one = with_change(rank0, "\"world\":3", "\"versions\":{\"nccl\":\"2.19.3\"}");
  other = with_change(rank1, "\"world\":3", "\"versions\":{\"nccl\":\"2.28.9\"}");
  expect_not_joined(one, other, "rank 0 ran with NCCL 2.19.3, rank 1 with NCCL 2.28.9: they are not of one job");
  free(other);
  free(one);
  one = with_change(rank0, "\"epoch\":\"1000\"", "\"epoch\":\"1700000000000000000\"");
  other = with_change(rank1, "\"epoch\":\"400\"", "\"epoch\":\"1700000181000000000\"");
  expect_not_joined(one, other, "rank 1 was recorded 3 minutes after rank 0: they are of two runs");
  insisted = with_change(other, "\"args\":\"\"", "\"args\":\"--rank 1\"");
  char *insisted_too = with_change(one, "\"args\":\"\"", "\"args\":\"--rank 0\"");
  struct lumos_job *job = join2(stream_good(insisted_too), stream_good(insisted));
  char *text = stream_text(job);
  assert_non_null(
      strstr(text, "\"parse.recorded_apart\",\"level\":\"warning\",\"text\":\"rank 1 was recorded 3 minutes"));
  free(text);
  lumos_job_free(job);
  free(insisted_too);
  free(insisted);
  free(other);
  free(one);
  other = with_change(rank1, "\"args\"",
                      "\"args\":\"\",\"inputs\":[]},{\"tool\":\"lumos-transform\",\"version\":\"1\",\"args\"");
  expect_not_joined(rank0, other, "lumos-transform has changed");
  free(other);
  other = with_change(rank1, "\"epoch\":\"400\"", "\"epoch\":\"9007199254741600\"");
  expect_not_joined(rank0, other, "rank 1 was recorded 104 days after another");
  free(other);
}

static void a_join_goes_back_to_parse(void **state) {
  (void)state;
  char *early = with_change(full_stream, "1700000000000000000", "400");
  struct lumos_job *simulated = stream_good(early);
  simulated->history.count = 1; /* not transformed */
  simulated->edited = LUMOS_ABSENT_INT;
  char *third = with_change(rank2, ",\"world\":3", "");
  struct lumos_job *job = join2(simulated, stream_good(third));
  assert_int_equal(job->stage, LUMOS_STAGE_PARSE);
  assert_int_equal(job->ranks.count, 3);
  assert_int_equal(job->deps.count, 0);
  assert_int_equal(job->collectives.count, 0);
  assert_int_equal(job->metrics.count, 0);
  assert_int_equal(job->notes.count, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    assert_int_equal(lumos_timing_of(job, t)->launch_lag, LUMOS_ABSENT);
  }
  assert_int_equal(job->runs.count, 0);
  assert_int_equal(job->foreign.count, 5);
  lumos_job_free(job);
  free(third);
  free(early);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_ranks_join_as_worked_out),
      cmocka_unit_test(joining_in_steps_is_joining_at_once),
      cmocka_unit_test(a_name_that_means_one_group_stays_plain),
      cmocka_unit_test(ids_are_made_unique_and_only_then_longer),
      cmocka_unit_test(what_is_not_one_job_is_refused),
      cmocka_unit_test(a_join_goes_back_to_parse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
