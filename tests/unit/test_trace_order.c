/* The same traces give the same bytes: on one thread and on many, in any order of arguments, under a locale that writes
 * numbers with a comma; and the same message, where several of them fail. Real sets are read where they are at hand
 * (environment LUMOS_TRACES).
 */
#include "trace_files.h"
#include <locale.h>

static void add_rank(struct files *files, int rank, const char *kernel) {
  char name[32];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  (void)snprintf(name, sizeof name, "%c.json", 'a' + (rank * 5) % 8);
  lumos_text_format(&text,
                    "{\"distributedInfo\":{\"rank\":\"%d\",\"world_size\":8},\"traceEvents\":["
                    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":10,\"ts\":%d.125,\"dur\":4.5},"
                    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d.25,\"dur\":2.5,"
                    "\"args\":{\"device\":0,\"stream\":7,\"est. achieved occupancy %%\":37.5}}]}",
                    rank, 10 + rank, kernel, 12 + rank);
  lumos_text_add(&text, "", 1);
  add_file(files, name, text.bytes);
  lumos_text_free(&text);
}

/* The stream of the files, begun at the `first` of them and taken in steps of `stride`; or the message. */
static char *parse(const struct files *files, size_t first, size_t stride, size_t threads) {
  const char *paths[MOST_FILES];
  for (size_t i = 0; i < files->count; i++) {
    paths[i] = files->paths[(first + i * stride) % files->count];
  }
  struct lumos_error error = {LUMOS_DONE, ""};
  const struct lumos_trace_options options = {.threads = threads};
  struct lumos_job *job = lumos_trace_parse(paths, files->count, &options, &error);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (job != NULL) {
    lumos_stream_write(job, &text);
  } else {
    lumos_text_put(&text, error.text);
  }
  lumos_text_add(&text, "", 1);
  lumos_job_free(job);
  return text.bytes;
}

static void expect_same(const struct files *files, size_t first, size_t stride, size_t threads, const char *expected) {
  char *text = parse(files, first, stride, threads);
  if (strcmp(text, expected) != 0) {
    fail_msg("from file %zu by %zu on %zu threads it is another stream: %.300s", first, stride, threads, text);
  }
  free(text);
}

static void neither_threads_nor_order_show(void **state) {
  struct files *files = *state;
  for (int rank = 0; rank < 8; rank++) {
    add_rank(files, rank, rank % 2 == 0 ? "gemm" : "ncclDevKernel_AllReduce");
  }
  char *expected = parse(files, 0, 1, 1);
  assert_non_null(strstr(expected, "\"occupancy\":0.375"));
  for (size_t threads = 0; threads < 10; threads++) {
    expect_same(files, 0, 1, threads, expected);
    expect_same(files, threads, 3, threads, expected);
    expect_same(files, threads, 7, threads, expected);
  }
  free(expected);
}

static void the_first_failure_is_told(void **state) {
  struct files *files = *state;
  static const char cut[] = "{\"type\":\"lumos\",\"format\":1,\"stage\":\"parse\",\"epoch\":\"0\",\"history\":[]}\n";
  add_rank(files, 0, "k");
  add_file(files, "no trace.json", "{}");
  add_file(files, "first.jsonl", cut);
  add_rank(files, 1, "k");
  add_file(files, "second.jsonl", cut);
  add_rank(files, 2, "k");
  for (size_t threads = 0; threads < 10; threads++) {
    char *message = parse(files, 0, 1, threads);
    assert_non_null(strstr(message, "first.jsonl: "));
    free(message);
    message = parse(files, 3, 1, threads);
    assert_non_null(strstr(message, "second.jsonl: "));
    free(message);
  }
}

/* A locale with a decimal comma, made where the system has the means; false where it has not. */
static bool set_comma_locale(const char *folder) {
  char command[512];
  (void)snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", folder);
  return system(command) >= 0 && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") != NULL &&
         strcmp(localeconv()->decimal_point, ",") == 0;
}

static void remove_locale(const char *folder) {
  char command[512];
  (void)setlocale(LC_ALL, "C");
  (void)unsetenv("LOCPATH");
  (void)snprintf(command, sizeof command, "rm -rf '%s/de_DE.UTF-8'", folder);
  assert_int_equal(system(command), 0);
}

static void a_decimal_comma_does_not_show(void **state) {
  struct files *files = *state;
  for (int rank = 0; rank < 3; rank++) {
    add_rank(files, rank, "gemm");
  }
  char *expected = parse(files, 0, 1, 1);
  bool comma = set_comma_locale(files->folder);
  char *text = parse(files, 0, 1, 2);
  remove_locale(files->folder);
  bool same = strcmp(text, expected) == 0;
  free(text);
  free(expected);
  if (!comma) {
    print_message("skipped: no locale with a decimal comma can be made here (localedef)\n");
    skip();
  }
  assert_true(same);
}

static void real_sets_are_the_same(void **state) {
  (void)state;
  static const char *const sets[] = {"nanogpt-8xH100-ddp", "dlrm-8xV100", "emulated-tp2pp2dp2"};
  const char *traces = unit_traces();
  if (traces == NULL) {
    print_message("SKIPPED: the public traces are not here (LUMOS_TRACES)\n");
    skip();
  }
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    struct files set = {.paths = {unit_path(traces, sets[i])}, .count = 1};
    char *expected = parse(&set, 0, 1, 1);
    assert_int_equal(strncmp(expected, "{\"type\":\"lumos\"", 15), 0);
    expect_same(&set, 0, 1, 8, expected);
    free(expected);
    free(set.paths[0]);
  }
}

#define FILES_TEST(function) cmocka_unit_test_setup_teardown(function, make_files, drop_files)

int main(void) {
  const struct CMUnitTest tests[] = {
      FILES_TEST(neither_threads_nor_order_show),
      FILES_TEST(the_first_failure_is_told),
      FILES_TEST(a_decimal_comma_does_not_show),
      cmocka_unit_test(real_sets_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
