/* Many inputs: folders, ranks, what is no trace, streams, and that the order of arguments does not show. */
#include "trace_files.h"
#include <sys/stat.h>

static struct lumos_job *parse_paths(const char *const *paths, size_t count, struct lumos_trace_options options,
                                     struct lumos_error *error) {
  error->text[0] = '\0';
  struct lumos_job *job = lumos_trace_parse(paths, count, &options, error);
  if (job != NULL && !lumos_job_check(job, error)) {
    fail_msg("%s", error->text);
  }
  return job;
}

static char *stream_of(const struct lumos_job *job) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_stream_write(job, &text);
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

#define RANK(number, device, ts)                                                                                    \
  "{\"distributedInfo\":{\"rank\":" #number ",\"world_size\":4},\"deviceProperties\":[{\"id\":0,\"name\":\"" device \
  "\"}],\"traceEvents\":[" OP("a", ts, 5) "," KERNEL("k", 7, 1, ts, 9) "],\"baseTimeNanoseconds\":1000000}"

static void a_folder_is_one_job(void **state) {
  struct files *files = *state;
  add_file(files, "b.json", RANK(0, "X", 30));
  add_file(files, "a.json", RANK(3, "X", 10));
  add_file(files, "notes.json", "{\"truth\": 1}");
  add_file(files, "readme.txt", "hello");
  struct lumos_error error;
  const char *const folder[] = {files->folder};
  struct lumos_job *job = parse_paths(folder, 1, (struct lumos_trace_options){0}, &error);
  assert_non_null(job);
  assert_int_equal(job->ranks.count, 2);
  assert_int_equal(job->ranks.items[1].rank, 3);
  assert_int_equal(job->ranks.items[1].world, 4);
  assert_string_equal(string_of(job, job->ranks.items[1].source), "a.json");
  assert_int_equal(job->epoch, 1010000);
  assert_int_equal(job->tasks.items[0].start, 20000); /* rank 0, 20 us later */
  assert_int_equal(job->history.count, 1);
  assert_string_equal(string_of(job, job->history.items[0].tool), "lumos-parse");
  assert_int_equal(job->history.items[0].input_count, 2);
  assert_string_equal(string_of(job, find_note(job, "parse.not_a_trace")->text),
                      "notes.json was left out: it is JSON without a traceEvents list");
  lumos_job_free(job);
}

/* A rank that is left out for damage is said, with the place. */
static void a_damaged_file_is_left_out_aloud(void **state) {
  struct files *files = *state;
  add_file(files, "x.json", RANK(2, "X", 30));
  add_file(files, "y.json", "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1}]}");
  struct lumos_error error;
  const char *const both[] = {files->paths[1], files->paths[0]};
  struct lumos_job *job = parse_paths(both, 2, (struct lumos_trace_options){0}, &error);
  const struct lumos_note *note = find_note(job, "parse.not_a_trace");
  assert_int_equal(note->level, LUMOS_WARNING);
  assert_string_equal(string_of(job, note->text),
                      "y.json was left out: it holds no valid event; byte 16: an event without a name, a ts or a dur "
                      "that is a number");
  lumos_job_free(job);
  assert_null(parse_paths(both, 1, (struct lumos_trace_options){0}, &error));
  assert_non_null(strstr(error.text, "y.json: holds no valid event; byte 16: "));
}

static void the_order_of_arguments_does_not_show(void **state) {
  struct files *files = *state;
  add_file(files, "x.json", RANK(2, "X", 30));
  add_file(files, "y.json", RANK(1, "X", 10));
  add_file(files, "z.json", "{}");
  struct lumos_error error;
  const char *const one[] = {files->paths[0], files->paths[1], files->paths[2]};
  const char *const other[] = {files->paths[2], files->paths[1], files->paths[0]};
  struct lumos_job *first = parse_paths(one, 3, (struct lumos_trace_options){0}, &error);
  struct lumos_job *second = parse_paths(other, 3, (struct lumos_trace_options){0}, &error);
  char *first_text = stream_of(first);
  char *second_text = stream_of(second);
  assert_string_equal(first_text, second_text);
  free(first_text);
  free(second_text);
  lumos_job_free(first);
  lumos_job_free(second);
}

/* A stream among the inputs is taken as it is; parsed apart and joined gives what parsed together gives. */
static void streams_join_traces(void **state) {
  struct files *files = *state;
  add_file(files, "x.json", RANK(2, "X", 30));
  add_file(files, "y.json", RANK(1, "X", 10));
  struct lumos_error error;
  const char *const both[] = {files->paths[0], files->paths[1]};
  struct lumos_job *together = parse_paths(both, 2, (struct lumos_trace_options){0}, &error);
  struct lumos_job *apart = parse_paths(both, 1, (struct lumos_trace_options){0}, &error);
  char *apart_text = stream_of(apart);
  add_file(files, "x.jsonl", apart_text);
  const char *const mixed[] = {files->paths[2], files->paths[1]};
  struct lumos_job *joined = parse_paths(mixed, 2, (struct lumos_trace_options){0}, &error);
  assert_non_null(joined);
  char *together_text = stream_of(together);
  char *joined_text = stream_of(joined);
  assert_string_equal(joined_text, together_text);
  free(apart_text);
  free(together_text);
  free(joined_text);
  lumos_job_free(together);
  lumos_job_free(apart);
  lumos_job_free(joined);
}

static int32_t rank_of_file(struct files *files, const char *name, const char *text) {
  struct lumos_error error;
  add_file(files, name, text);
  const char *const path[] = {files->paths[files->count - 1]};
  struct lumos_job *job = parse_paths(path, 1, (struct lumos_trace_options){0}, &error);
  int32_t rank = job->ranks.items[0].rank;
  assert_true((find_note(job, "parse.assumed_rank") != NULL) ==
              (strstr(name, "ank") == NULL && strstr(text, "rank") == NULL));
  lumos_job_free(job);
  return rank;
}

static void ranks_come_from_the_trace_then_from_the_name(void **state) {
  struct files *files = *state;
  assert_int_equal(rank_of_file(files, "rank7.json", RANK(2, "X", 1)), 2);
  assert_int_equal(rank_of_file(files, "job-Rank-12-x.json", TRACE(OP("a", 1, 2))), 12);
  assert_int_equal(rank_of_file(files, "my.rank_3.json", TRACE(OP("a", 1, 2))), 3);
  assert_int_equal(rank_of_file(files, "worker5.json", TRACE(OP("a", 1, 2))), 0);
}

static void a_nameless_trace_gets_the_lowest_free_rank(void **state) {
  struct files *files = *state;
  add_file(files, "a.json", TRACE(OP("a", 1, 2)));
  add_file(files, "rank0.json", TRACE(OP("a", 1, 2)));
  struct lumos_error error;
  const char *const paths[] = {files->paths[0], files->paths[1]};
  struct lumos_job *job = parse_paths(paths, 2, (struct lumos_trace_options){0}, &error);
  assert_int_equal(job->ranks.count, 2);
  assert_string_equal(string_of(job, job->ranks.items[1].source), "a.json");
  assert_int_equal(find_note(job, "parse.assumed_rank")->scope.rank, 1);
  lumos_job_free(job);
}

static void expect_refused(struct files *files, size_t count, struct lumos_trace_options options, const char *part) {
  struct lumos_error error;
  const char *paths[8];
  for (size_t i = 0; i < count; i++) {
    paths[i] = files->paths[i];
  }
  assert_null(parse_paths(paths, count, options, &error));
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  if (strstr(error.text, part) == NULL) {
    fail_msg("'%s' lacks '%s'", error.text, part);
  }
}

static void two_nameless_traces_are_refused(void **state) {
  struct files *files = *state;
  add_file(files, "a.json", TRACE(OP("a", 1, 2)));
  add_file(files, "b.json", TRACE(OP("a", 1, 2)));
  expect_refused(files, 2, (struct lumos_trace_options){0}, "do not say which ranks they are");
  static const int32_t ranks[] = {5, 2};
  struct lumos_error error;
  const char *const paths[] = {files->paths[0], files->paths[1]};
  struct lumos_job *job = parse_paths(paths, 2, (struct lumos_trace_options){.ranks = ranks, .rank_count = 2}, &error);
  assert_int_equal(job->ranks.items[0].rank, 2);
  assert_string_equal(string_of(job, job->ranks.items[0].source), "b.json");
  assert_string_equal(string_of(job, job->history.items[0].args), "--rank 5,2");
  lumos_job_free(job);
  expect_refused(files, 2, (struct lumos_trace_options){.ranks = ranks, .rank_count = 1},
                 "--rank names 1 ranks, but there are 2");
}

static void different_devices_are_refused(void **state) {
  struct files *files = *state;
  add_file(files, "a.json", RANK(0, "NVIDIA H100", 1));
  add_file(files, "b.json", RANK(1, "AMD MI300X", 1));
  expect_refused(files, 2, (struct lumos_trace_options){0}, "not of one job");
  static const int32_t ranks[] = {0, 1};
  struct lumos_error error;
  const char *const paths[] = {files->paths[0], files->paths[1]};
  struct lumos_job *job = parse_paths(paths, 2, (struct lumos_trace_options){.ranks = ranks, .rank_count = 2}, &error);
  assert_non_null(job);
  lumos_job_free(job);
}

static void a_rank_twice_is_refused(void **state) {
  struct files *files = *state;
  add_file(files, "a.json", RANK(1, "X", 1));
  add_file(files, "b.json", RANK(1, "X", 1));
  expect_refused(files, 2, (struct lumos_trace_options){0}, "rank 1");
}

static void what_cannot_be_used_is_named(void **state) {
  struct files *files = *state;
  struct lumos_error error;
  const char *const missing[] = {"/no/such/trace.json"};
  assert_null(parse_paths(missing, 1, (struct lumos_trace_options){0}, &error));
  assert_non_null(strstr(error.text, "/no/such/trace.json"));
  const char *const folder[] = {files->folder};
  assert_null(parse_paths(folder, 1, (struct lumos_trace_options){0}, &error));
  assert_non_null(strstr(error.text, "holds no file *.json"));
  add_file(files, "a.json", "{}");
  add_file(files, "b.json", "no");
  expect_refused(files, 2, (struct lumos_trace_options){0}, "/a.json: is JSON without a traceEvents list, ");
  expect_refused(files, 2, (struct lumos_trace_options){0}, "/b.json: is not JSON; give ");
}

static void standard_input_takes_traces_and_streams(void **state) {
  struct files *files = *state;
  add_file(files, "a.json", RANK(1, "X", 1));
  struct lumos_error error;
  const char *const path[] = {files->paths[0]};
  struct lumos_job *job = parse_paths(path, 1, (struct lumos_trace_options){0}, &error);
  char *text = stream_of(job);
  lumos_job_free(job);
  add_file(files, "a.jsonl", text);
  free(text);
  int kept = dup(STDIN_FILENO);
  for (size_t i = 0; i < 2; i++) {
    assert_non_null(freopen(files->paths[i], "rb", stdin));
    job = parse_paths(NULL, 0, (struct lumos_trace_options){0}, &error);
    assert_non_null(job);
    assert_string_equal(string_of(job, job->ranks.items[0].source), i == 0 ? "standard input" : "a.json");
    assert_int_equal(job->tasks.count, 2);
    lumos_job_free(job);
  }
  assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
  (void)close(kept);
}

#define FILES_TEST(function) cmocka_unit_test_setup_teardown(function, make_files, drop_files)

int main(void) {
  const struct CMUnitTest tests[] = {
      FILES_TEST(a_folder_is_one_job),
      FILES_TEST(a_damaged_file_is_left_out_aloud),
      FILES_TEST(the_order_of_arguments_does_not_show),
      FILES_TEST(streams_join_traces),
      FILES_TEST(ranks_come_from_the_trace_then_from_the_name),
      FILES_TEST(a_nameless_trace_gets_the_lowest_free_rank),
      FILES_TEST(two_nameless_traces_are_refused),
      FILES_TEST(different_devices_are_refused),
      FILES_TEST(a_rank_twice_is_refused),
      FILES_TEST(what_cannot_be_used_is_named),
      FILES_TEST(standard_input_takes_traces_and_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
