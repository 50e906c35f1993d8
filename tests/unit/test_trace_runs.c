/* Several runs in one folder are told apart and refused together unless one is chosen; ranks that are missing, given
 * twice, or of no such job are said. */
#include "trace_files.h"

/* A trace of 2 seconds that starts so many seconds after 2025-07-01 23:00:36 UTC. `rank` below 0: it does not say which
 * it is. */
static const char *add_trace(struct files *files, const char *name, int rank, int world, int second) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "{");
  if (rank >= 0) {
    lumos_text_format(&text, "\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},", rank, world);
  }
  lumos_text_format(&text,
                    "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                    "\"dur\":2000000}],\"baseTimeNanoseconds\":1751410836000000000}",
                    second * 1000000);
  lumos_text_add(&text, "", 1);
  const char *path = add_file(files, name, text.bytes);
  lumos_text_free(&text);
  return path;
}

static struct lumos_job *parse_folder(const struct files *files, struct lumos_trace_options options,
                                      struct lumos_error *error) {
  const char *const paths[] = {files->folder};
  error->text[0] = '\0';
  struct lumos_job *job = lumos_trace_parse(paths, 1, &options, error);
  if (job != NULL && !lumos_job_check(job, error)) {
    fail_msg("%s", error->text);
  }
  return job;
}

static void expect_refused(const struct files *files, struct lumos_trace_options options, const char *expected) {
  struct lumos_error error;
  assert_null(parse_folder(files, options, &error));
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  if (strstr(error.text, expected) == NULL) {
    fail_msg("'%s' lacks '%s'", error.text, expected);
  }
}

/* The sources of the ranks in their order, each with a blank behind it. */
static void expect_sources(const struct files *files, int64_t run, const char *expected) {
  struct lumos_error error;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){.run = run}, &error);
  assert_non_null(job);
  for (size_t i = 0; i < job->ranks.count; i++) {
    lumos_text_format(&text, "%s ", string_of(job, job->ranks.items[i].source));
  }
  lumos_text_add(&text, "", 1);
  assert_string_equal(text.bytes, expected);
  lumos_text_free(&text);
  lumos_job_free(job);
}

/* A job that is profiled again and again: the same ranks, half a minute later. */
static void a_rank_that_comes_again_begins_a_run(void **state) {
  struct files *files = *state;
  add_trace(files, "a.json", 0, 2, 31);
  add_trace(files, "b.json", 1, 2, 30);
  add_trace(files, "c.json", 0, 2, 0);
  add_trace(files, "d.json", 1, 2, 1);
  add_trace(files, "e.json", 1, 2, 60);
  expect_refused(
      files, (struct lumos_trace_options){0},
      "these are 3 runs, choose one with --run N or --run last, or name only its files: "
      "run 1 of 2025-07-01 23:00:36 UTC (c.json, d.json); run 2 of 2025-07-01 23:01:06 UTC (b.json, a.json); "
      "run 3 of 2025-07-01 23:01:36 UTC (e.json)");
  expect_sources(files, 1, "c.json d.json ");
  expect_sources(files, 2, "a.json b.json ");
  expect_sources(files, 3, "e.json ");
  expect_sources(files, LUMOS_RUN_LAST, "e.json ");
  expect_refused(files, (struct lumos_trace_options){.run = 4}, "--run 4: there are 3, by time");
}

static void what_was_recorded_later_is_another_run(void **state) {
  struct files *files = *state;
  add_trace(files, "a.json", 0, 2, 0);
  add_trace(files, "b.json", 1, 2, 63);
  expect_refused(files, (struct lumos_trace_options){0}, "these are 2 runs");
  struct lumos_error error;
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){.run = 2}, &error);
  const struct lumos_note *note = find_note(job, "parse.other_runs");
  assert_int_equal(note->count, 1);
  assert_int_equal(note->level, LUMOS_WARNING);
  assert_string_equal(string_of(job, note->text), "files of other runs were left out, as --run says: a.json");
  assert_string_equal(string_of(job, job->history.items[0].args), "--run 2");
  lumos_job_free(job);
  /* Who gives the ranks insists that they ran together, and is told what that means. */
  static const int32_t ranks[] = {0, 1};
  job = parse_folder(files, (struct lumos_trace_options){.ranks = ranks, .rank_count = 2}, &error);
  assert_int_equal(job->ranks.count, 2);
  assert_string_equal(string_of(job, find_note(job, "parse.recorded_apart")->text),
                      "rank 1 was recorded 61 seconds after rank 0");
  lumos_job_free(job);
}

/* Hosts' clocks are not exact, and not every rank starts to record at once. */
static void a_minute_between_ranks_is_one_run(void **state) {
  struct files *files = *state;
  add_trace(files, "a.json", 0, 3, 0);
  add_trace(files, "b.json", 1, 3, 62);
  add_trace(files, "c.json", 2, 3, 124);
  expect_sources(files, LUMOS_RUN_ALL, "a.json b.json c.json ");
  expect_sources(files, 1, "a.json b.json c.json ");
  expect_refused(files, (struct lumos_trace_options){.run = 2}, "--run 2: there is 1");
}

/* What lost its base, for it stood behind the cut, counts from where the others do. */
static void a_cut_trace_is_of_the_run_of_the_others(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  add_trace(files, "a.json", 0, 2, 30);
  add_file(files, "b.json",
           "{\"distributedInfo\":{\"rank\":1,\"world_size\":2},\"traceEvents\":[" OP("a", 30500000,
                                                                                     7) ",{\"ph\":\"X\",\"ca");
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  assert_non_null(job);
  assert_int_equal(job->ranks.count, 2);
  assert_int_equal(job->ranks.items[0].window_start, 0);
  assert_int_equal(job->ranks.items[1].window_start, 500000000);
  const struct lumos_note *note = find_note(job, "parse.assumed_clock");
  assert_string_equal(
      string_of(job, note->text),
      "b.json does not say when its times count from, for it was cut before its baseTimeNanoseconds; Lumos "
      "lets them count from where the others' do, which puts it beside them");
  assert_int_equal(note->scope.rank, 1);
  assert_null(find_note(job, "parse.unknown_clock"));
  lumos_job_free(job);
}

/* Where that would put it far from them, it began with them; the same where ranks are parsed apart and joined. */
static void an_unknown_time_is_that_of_the_only_run(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  add_trace(files, "a.json", 0, 3, 0);
  add_file(files, "b.json", "{\"distributedInfo\":{\"rank\":1},\"traceEvents\":[" OP("a", 999000000, 7) "]}");
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  assert_non_null(job);
  assert_int_equal(job->ranks.items[1].window_start, 0);
  assert_non_null(
      strstr(string_of(job, find_note(job, "parse.assumed_clock")->text), "Lumos lets it begin with the first"));
  lumos_job_free(job);
  struct lumos_job *jobs[2];
  for (size_t i = 0; i < 2; i++) {
    const char *const path[] = {files->paths[i]};
    const struct lumos_trace_options plain = {0};
    jobs[i] = lumos_trace_parse(path, 1, &plain, &error);
    assert_non_null(jobs[i]);
  }
  job = lumos_job_join(jobs, 2, &error);
  assert_non_null(job);
  assert_int_equal(job->ranks.items[1].window_start, 0);
  assert_non_null(find_note(job, "parse.assumed_clock"));
  lumos_job_free(job);
}

/* Of no other's run is what contradicts it: a rank that is there already, another size of the job. */
static void an_unknown_time_that_fits_into_no_run_is_one_of_its_own(void **state) {
  struct files *files = *state;
  add_trace(files, "a.json", 0, 2, 0);
  add_file(files, "b.json", "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[" OP("a", 5, 7) "]}");
  add_file(files, "c.json", "{\"distributedInfo\":{\"rank\":1,\"world_size\":4},\"traceEvents\":[" OP("a", 5, 7) "]}");
  expect_refused(files, (struct lumos_trace_options){0}, "run 1 of an unknown time (b.json, c.json); run 2 of 2025");
  expect_sources(files, 1, "b.json c.json ");
}

/* Of several runs it is the one at whose time it was made. */
static void an_unknown_time_is_found_among_runs(void **state) {
  struct files *files = *state;
  add_trace(files, "a.json", 0, 2, 0);
  add_trace(files, "b.json", 0, 2, 300);
  add_trace(files, "c.json", 0, 2, 600);
  add_file(files, "d.json", "{\"distributedInfo\":{\"rank\":1},\"traceEvents\":[" OP("a", 301000000, 7) "]}");
  expect_sources(files, 1, "a.json ");
  expect_sources(files, 2, "b.json d.json ");
}

/* Streams are of the runs of their ranks. */
static void streams_are_told_apart(void **state) {
  struct files *files = *state;
  const char *const first[] = {add_trace(files, "a.json", 0, 2, 0)};
  add_trace(files, "b.json", 0, 2, 10);
  add_trace(files, "c.json", 1, 2, 11);
  struct lumos_error error;
  struct lumos_trace_options options = {0};
  struct lumos_job *job = lumos_trace_parse(first, 1, &options, &error);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  assert_non_null(job);
  lumos_stream_write(job, &text);
  lumos_text_add(&text, "", 1);
  lumos_job_free(job);
  add_file(files, "a.jsonl", text.bytes);
  lumos_text_free(&text);
  const char *const mixed[] = {files->paths[2], files->paths[3], files->paths[1]};
  assert_null(lumos_trace_parse(mixed, 3, &options, &error));
  assert_non_null(strstr(error.text, "(a.jsonl); run 2 of 2025-07-01 23:00:46 UTC (b.json, c.json)"));
  options.run = LUMOS_RUN_LAST;
  job = lumos_trace_parse(mixed, 3, &options, &error);
  assert_int_equal(job->ranks.count, 2);
  lumos_job_free(job);
}

static void one_recording_twice_is_said(void **state) {
  struct files *files = *state;
  add_trace(files, "a.json", 0, 2, 0);
  add_trace(files, "copy of a.json", 0, 2, 0);
  expect_refused(files, (struct lumos_trace_options){0},
                 "rank 0 is given twice (a.json, copy of a.json): the same recording; leave one out");
}

static void missing_ranks_are_said(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  add_trace(files, "a.json", 3, 8, 0);
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  const struct lumos_note *note = find_note(job, "parse.missing_ranks");
  assert_string_equal(string_of(job, note->text), "of the 8 ranks of the job these are missing: 0-2, 4-7");
  assert_int_equal(note->count, 7);
  assert_int_equal(note->level, LUMOS_INFO); /* who gives one means one */
  lumos_job_free(job);
  add_trace(files, "b.json", 5, 8, 0);
  job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  note = find_note(job, "parse.missing_ranks");
  assert_string_equal(string_of(job, note->text), "of the 8 ranks of the job these are missing: 0-2, 4, 6-7");
  assert_int_equal(note->level, LUMOS_WARNING);
  lumos_job_free(job);
}

static void a_long_list_of_missing_ranks_is_cut(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  for (int i = 0; i < 8; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "%d.json", i);
    add_trace(files, name, 2 * i + 1, 64, 0);
  }
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  assert_string_equal(string_of(job, find_note(job, "parse.missing_ranks")->text),
                      "of the 64 ranks of the job these are missing: 0, 2, 4, 6, 8, 10, 12, 14, ...");
  lumos_job_free(job);
}

static void a_complete_job_misses_nothing(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  add_trace(files, "a.json", 0, 2, 0);
  add_trace(files, "b.json", 1, 2, 0);
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  assert_null(find_note(job, "parse.missing_ranks"));
  lumos_job_free(job);
}

static void a_world_without_the_rank_is_not_believed(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  add_trace(files, "a.json", 9, 4, 0);
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  assert_int_equal(job->ranks.items[0].world, LUMOS_ABSENT_INT);
  assert_int_equal(find_note(job, "parse.wrong_world")->level, LUMOS_WARNING);
  assert_null(find_note(job, "parse.missing_ranks"));
  lumos_job_free(job);
}

/* clang-format off */
#define RANK_FILE(info) "{\"baseTimeNanoseconds\":1751410836000000000," info ",\"traceEvents\":[" OP("a", 5, 7) "]}"
#define GROUP(rank, ranks) \
  RANK_FILE("\"distributedInfo\":{\"rank\":" #rank ",\"pg_config\":[{\"pg_name\":\"0\",\"ranks\":" ranks "}]}")

/* One rank is in one group of a name. Groups of one name that share no rank are two. */
static void ranks_of_different_groups_are_refused(void **state) {
  struct files *files = *state;
  add_file(files, "a.json", GROUP(0, "[0,1]"));
  add_file(files, "b.json", GROUP(2, "[1,2]"));
  expect_refused(files, (struct lumos_trace_options){0},
                 "rank 0 has a group 0 of the ranks 0, 1, rank 2 a group 0 of the ranks 1, 2: they are not of one job");
  static const int32_t ranks[] = {0, 2};
  struct lumos_error error;
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){.ranks = ranks, .rank_count = 2}, &error);
  assert_non_null(job);
  lumos_job_free(job);
  unit_write_file(files->paths[1], GROUP(2, "[2,3]"), strlen(GROUP(2, "[2,3]")));
  job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  assert_non_null(job);
  assert_int_equal(job->groups.count, 2);
  lumos_job_free(job);
}

static void ranks_of_jobs_of_other_names_are_refused(void **state) {
  struct files *files = *state;
  add_file(files, "rank0.json", RANK_FILE("\"PT_PROFILER_JOB_NAME\":\"gpt\",\"PT_PROFILER_JOB_VERSION\":3,"
                                          "\"PT_PROFILER_JOB_ATTEMPT_INDEX\":\"1\",\"hip_runtime_version\":60443483"));
  add_file(files, "rank1.json", RANK_FILE("\"PT_PROFILER_JOB_NAME\":\"gpt\",\"PT_PROFILER_JOB_ATTEMPT_INDEX\":2"));
  expect_refused(files, (struct lumos_trace_options){0},
                 "rank 0 ran in attempt 1, rank 1 in attempt 2: they are not of one job");
  struct lumos_error error;
  const char *const first[] = {files->paths[0]};
  const struct lumos_trace_options plain = {0};
  struct lumos_job *job = lumos_trace_parse(first, 1, &plain, &error);
  const struct lumos_rank *rank = &job->ranks.items[0];
  assert_string_equal(string_of(job, rank->job_name), "gpt");
  assert_string_equal(string_of(job, rank->job_version), "3");
  assert_string_equal(string_of(job, rank->job_attempt), "1");
  assert_string_equal(string_of(job, rank->hip), "6.4.43483");
  lumos_job_free(job);
}

/* Recordings of one run that do not overlap are joined, and it is said. */
static void ranks_that_did_not_run_together_are_said(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  add_trace(files, "a.json", 0, 2, 0);
  add_trace(files, "b.json", 1, 2, 32);
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  assert_non_null(job);
  assert_string_equal(string_of(job, find_note(job, "parse.recorded_apart")->text),
                      "rank 1 was recorded 30 seconds after rank 0");
  assert_non_null(strstr(string_of(job, find_note(job, "parse.recorded_apart")->cure), "clocks"));
  lumos_job_free(job);
}

/* Files that say nothing of their ranks are numbered by their names, if they cannot be one rank twice. */
static void nameless_files_are_numbered_by_name(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  add_trace(files, "c.json", -1, 0, 0);
  add_file(files, "a.json", RANK_FILE("\"trace_id\":\"x\""));
  add_trace(files, "b.json", 1, 3, 1);
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  assert_non_null(job);
  assert_string_equal(string_of(job, job->ranks.items[0].source), "a.json");
  assert_string_equal(string_of(job, job->ranks.items[2].source), "c.json");
  assert_non_null(find_note(job, "parse.assumed_rank"));
  lumos_job_free(job);
  add_trace(files, "d.json", -1, 0, 20);
  expect_refused(files, (struct lumos_trace_options){0}, "a.json and d.json do not say which ranks they are");
  add_trace(files, "d.json", -1, 0, 0);
  expect_refused(files, (struct lumos_trace_options){0}, "c.json and d.json do not say which ranks they are");
}

/* What a group lacks is said; ranks may be quoted one by one. */
static void groups_that_say_nothing_are_counted(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  add_file(files, "a.json",
           RANK_FILE("\"distributedInfo\":{\"rank\":0,\"pg_config\":[{\"pg_name\":\"0\",\"ranks\":[\"0\",\"1\"]},"
                     "{\"pg_name\":\"1\",\"ranks\":[]},{\"pg_name\":\"2\"},{\"ranks\":[0]}]}"));
  struct lumos_job *job = parse_folder(files, (struct lumos_trace_options){0}, &error);
  assert_int_equal(job->groups.count, 1);
  assert_int_equal(job->groups.items[0].member_count, 2);
  assert_int_equal(find_note(job, "parse.unknown_groups")->count, 3);
  lumos_job_free(job);
}

/* clang-format on */

static struct lumos_job *parse_list(const char *list, struct lumos_error *error) {
  const char *const lists[] = {list};
  const struct lumos_trace_options options = {.lists = lists, .list_count = 1};
  return lumos_trace_parse(NULL, 0, &options, error);
}

static void a_list_names_files(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  const char *first = add_trace(files, "my rank 4.json", -1, 0, 0);
  const char *second = add_trace(files, " '#\"rank_2", -1, 0, 0);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%s\r\n\r\n\n%s%c", first, second, '\0');
  const char *list = add_file(files, "list", text.bytes);
  struct lumos_job *job = parse_list(list, &error);
  assert_int_equal(job->ranks.count, 2);
  assert_int_equal(job->ranks.items[0].rank, 2);
  assert_int_equal(job->ranks.items[1].rank, 4);
  lumos_job_free(job);
  assert_null(parse_list(add_file(files, "empty", "\n"), &error));
  assert_non_null(strstr(error.text, "empty: names no file; write one a line"));
  assert_null(parse_list("/no/such/list", &error));
  assert_non_null(strstr(error.text, "/no/such/list"));
  assert_null(parse_list(add_file(files, "twice", "-\n-\n"), &error));
  assert_non_null(strstr(error.text, "standard input is named 2 times"));
  assert_null(parse_list(add_file(files, "wrong", "no such trace.json\n"), &error));
  assert_non_null(strstr(error.text, "no such trace.json"));
  lumos_text_free(&text);
}

static void a_run_is_a_number_or_the_last(void **state) {
  (void)state;
  struct lumos_trace_options options = {0};
  struct lumos_error error;
  assert_true(lumos_run_parse("last", &options, &error));
  assert_int_equal(options.run, LUMOS_RUN_LAST);
  assert_true(lumos_run_parse("12", &options, &error));
  assert_int_equal(options.run, 12);
  static const char *const wrong[] = {"", "0", "-1", "1x", " 1", "first", "99999999999999999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_false(lumos_run_parse(wrong[i], &options, &error));
    assert_non_null(strstr(error.text, "--run"));
  }
}

#define FILES_TEST(function) cmocka_unit_test_setup_teardown(function, make_files, drop_files)

int main(void) {
  const struct CMUnitTest tests[] = {
      FILES_TEST(a_rank_that_comes_again_begins_a_run),
      FILES_TEST(what_was_recorded_later_is_another_run),
      FILES_TEST(a_minute_between_ranks_is_one_run),
      FILES_TEST(a_cut_trace_is_of_the_run_of_the_others),
      FILES_TEST(an_unknown_time_is_that_of_the_only_run),
      FILES_TEST(an_unknown_time_that_fits_into_no_run_is_one_of_its_own),
      FILES_TEST(an_unknown_time_is_found_among_runs),
      FILES_TEST(streams_are_told_apart),
      FILES_TEST(one_recording_twice_is_said),
      FILES_TEST(missing_ranks_are_said),
      FILES_TEST(a_long_list_of_missing_ranks_is_cut),
      FILES_TEST(a_complete_job_misses_nothing),
      FILES_TEST(a_world_without_the_rank_is_not_believed),
      FILES_TEST(ranks_of_different_groups_are_refused),
      FILES_TEST(ranks_of_jobs_of_other_names_are_refused),
      FILES_TEST(ranks_that_did_not_run_together_are_said),
      FILES_TEST(nameless_files_are_numbered_by_name),
      FILES_TEST(groups_that_say_nothing_are_counted),
      FILES_TEST(a_list_names_files),
      cmocka_unit_test(a_run_is_a_number_or_the_last),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
