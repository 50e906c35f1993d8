/* Options: every way to write them, every way to get them wrong, and the help text. */
#include "base/options.h"
#include "unit.h"
#include <fcntl.h>

struct values {
  bool quiet;
  bool quick;
  const char *output;
  struct lumos_option_list ranks;
  int64_t count;
};

/* A command whose options write into `values`, and the outcome of parsing. */
struct fixture {
  struct values values;
  struct lumos_option options[6];
  struct lumos_command command;
  struct lumos_operands operands;
  struct lumos_error error;
  bool exit_now;
};

static const char *const examples[] = {"Read a trace:", "lumos-parse trace.json.gz > job.lumos", NULL};

static int make_fixture(void **state) {
  struct fixture *fixture = calloc(1, sizeof *fixture);
  assert_non_null(fixture);
  struct values *values = &fixture->values;
  const struct lumos_option options[] = {
      {LUMOS_OPTION_FLAG, 'q', "quiet", NULL, &values->quiet, "Print nothing but errors."},
      {LUMOS_OPTION_FLAG, 0, "quick", NULL, &values->quick, "Be quick."},
      {LUMOS_OPTION_TEXT, 'o', "output", "FILE", &values->output,
       "Write to FILE instead of standard output; the file appears whole or not at all, whatever happens meanwhile."},
      {LUMOS_OPTION_LIST, 'r', "rank", "NUMBER", &values->ranks, "Take this rank."},
      {LUMOS_OPTION_NUMBER, 'n', "a-rather-long-option-name", "COUNT", &values->count, "How many."},
      {LUMOS_OPTION_END, 0, NULL, NULL, NULL, NULL},
  };
  memcpy(fixture->options, options, sizeof options);
  fixture->command = (struct lumos_command){
      "lumos-parse", "read Kineto traces", "[OPTION...] TRACE...", "Reads traces.", examples, fixture->options, NULL,
      NULL};
  *state = fixture;
  return 0;
}

static int drop_fixture(void **state) {
  struct fixture *fixture = *state;
  lumos_options_free(&fixture->command, &fixture->operands);
  free(fixture);
  return 0;
}

/* Parse the NULL-terminated words behind the command's name. */
static bool parse(struct fixture *fixture, const char *const *words) {
  char *arguments[16] = {(char *)(uintptr_t) "lumos-parse"};
  int count = 1;
  for (; words[count - 1] != NULL; count++) {
    arguments[count] = (char *)(uintptr_t)words[count - 1];
  }
  lumos_options_free(&fixture->command, &fixture->operands);
  return lumos_options_parse(&fixture->command, count, arguments, &fixture->operands, &fixture->exit_now,
                             &fixture->error);
}

#define PARSE(fixture, ...) parse((fixture), (const char *const[]){__VA_ARGS__, NULL})

static void every_form_is_read(void **state) {
  struct fixture *fixture = *state;
  struct values *values = &fixture->values;
  assert_true(PARSE(fixture, "a", "-q", "--output=x", "-", "-r", "1", "--rank", "2", "-r3", "-n", "12", "--", "-q"));
  assert_false(fixture->exit_now);
  assert_true(values->quiet);
  assert_false(values->quick);
  assert_string_equal(values->output, "x");
  assert_int_equal(values->ranks.count, 3);
  assert_string_equal(values->ranks.items[0].argument, "1");
  assert_string_equal(values->ranks.items[1].argument, "2");
  assert_string_equal(values->ranks.items[2].argument, "3");
  assert_int_equal(values->count, 12);
  assert_int_equal(fixture->operands.count, 3);
  assert_string_equal(fixture->operands.items[0], "a");
  assert_string_equal(fixture->operands.items[1], "-");
  assert_string_equal(fixture->operands.items[2], "-q");
}

static void letters_join_and_names_shorten(void **state) {
  struct fixture *fixture = *state;
  assert_true(PARSE(fixture, "-qofile", "--out", "y", "--a=9223372036854775807", "--quie"));
  assert_true(fixture->values.quiet);
  assert_string_equal(fixture->values.output, "y");
  assert_true(fixture->values.count == INT64_MAX);
  assert_int_equal(fixture->operands.count, 0);
  assert_true(PARSE(fixture, "--output=", "--output", "-q"));
  assert_string_equal(fixture->values.output, "-q");
}

static void expect_refusal(struct fixture *fixture, bool good, const char *expected) {
  assert_false(good);
  assert_int_equal(fixture->error.status, LUMOS_UNUSABLE);
  assert_string_equal(fixture->error.text, expected);
}

static void mistakes_are_named(void **state) {
  struct fixture *fixture = *state;
  expect_refusal(fixture, PARSE(fixture, "--nope"), "unknown option --nope; try 'lumos-parse --help'");
  expect_refusal(fixture, PARSE(fixture, "--nope=1"), "unknown option --nope; try 'lumos-parse --help'");
  expect_refusal(fixture, PARSE(fixture, "-x"), "unknown option -x; try 'lumos-parse --help'");
  expect_refusal(fixture, PARSE(fixture, "-qx"), "unknown option -x; try 'lumos-parse --help'");
  expect_refusal(fixture, PARSE(fixture, "--qui"),
                 "option --qui is ambiguous: --quiet, --quick; try 'lumos-parse --help'");
  expect_refusal(fixture, PARSE(fixture, "--quik"),
                 "unknown option --quik; did you mean --quick? 'lumos-parse --help' shows all");
  expect_refusal(fixture, PARSE(fixture, "--hlep=1"),
                 "unknown option --hlep; did you mean --help? 'lumos-parse --help' shows all");
  expect_refusal(fixture, PARSE(fixture, "--=1"), "unknown option --; try 'lumos-parse --help'");
  expect_refusal(fixture, PARSE(fixture, "-o"), "option -o needs an argument; try 'lumos-parse --help'");
  expect_refusal(fixture, PARSE(fixture, "--output"), "option --output needs an argument; try 'lumos-parse --help'");
  expect_refusal(fixture, PARSE(fixture, "--quiet=yes"), "option --quiet takes no argument; try 'lumos-parse --help'");
  const char *const bad_numbers[] = {"", "-1", "x", "1.5", "9223372036854775808", " 1", "0x10"};
  for (size_t i = 0; i < sizeof bad_numbers / sizeof *bad_numbers; i++) {
    char expected[128];
    (void)snprintf(expected, sizeof expected,
                   "option -n: '%s' is not a non-negative whole number; try 'lumos-parse --help'", bad_numbers[i]);
    expect_refusal(fixture, PARSE(fixture, "-n", bad_numbers[i]), expected);
  }
}

/* What parsing one word prints on standard output; the caller frees. */
static char *printed_by(struct fixture *fixture, const char *word) {
  char *folder = unit_folder_new();
  char *path = unit_path(folder, "out");
  int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  assert_true(descriptor >= 0);
  (void)fflush(stdout);
  int kept = dup(STDOUT_FILENO);
  assert_int_equal(dup2(descriptor, STDOUT_FILENO), STDOUT_FILENO);
  bool good = PARSE(fixture, word, "--nope");
  assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
  (void)close(kept);
  (void)close(descriptor);
  assert_true(good);
  assert_true(fixture->exit_now);
  size_t length = 0;
  char *text = unit_read_file(path, &length);
  free(path);
  unit_folder_remove(folder);
  return text;
}

static void help_shows_all(void **state) {
  static const char expected[] = "lumos-parse - read Kineto traces\n"
                                 "\n"
                                 "Usage: lumos-parse [OPTION...] TRACE...\n"
                                 "\n"
                                 "Reads traces.\n"
                                 "\n"
                                 "Options:\n"
                                 "  -q, --quiet             Print nothing but errors.\n"
                                 "      --quick             Be quick.\n"
                                 "  -o, --output=FILE       Write to FILE instead of standard output; the file\n"
                                 "                          appears whole or not at all, whatever happens\n"
                                 "                          meanwhile.\n"
                                 "  -r, --rank=NUMBER       Take this rank.\n"
                                 "  -n, --a-rather-long-option-name=COUNT\n"
                                 "                          How many.\n"
                                 "  -h, --help              Print this help and exit.\n"
                                 "  -V, --version           Print the version and those of libraries, and exit.\n"
                                 "\n"
                                 "Examples:\n"
                                 "  # Read a trace:\n"
                                 "  lumos-parse trace.json.gz > job.lumos\n";
  const char *const words[] = {"--help", "-h", "--he"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char *text = printed_by(*state, words[i]);
    assert_string_equal(text, expected);
    free(text);
  }
}

static void help_has_headings(void **state) {
  struct fixture *fixture = *state;
  const struct lumos_option grouped[] = {
      {LUMOS_OPTION_GROUP, 0, NULL, NULL, NULL, "Input"},  fixture->options[0],
      {LUMOS_OPTION_GROUP, 0, NULL, NULL, NULL, "Output"}, fixture->options[2],
      {LUMOS_OPTION_END, 0, NULL, NULL, NULL, NULL},
  };
  fixture->command.options = grouped;
  char *text = printed_by(fixture, "--help");
  assert_non_null(strstr(text, "\nOptions:\n Input:\n  -q, --quiet             Print nothing but errors.\n"
                               "\n Output:\n  -o, --output=FILE "));
  assert_non_null(strstr(text, "\n\n Help:\n  -h, --help "));
  free(text);
  assert_true(PARSE(fixture, "--out", "x", "-q"));
  assert_string_equal(fixture->values.output, "x");
  fixture->command.options = fixture->options;
}

static void version_is_one_line(void **state) {
  char *text = printed_by(*state, "--version");
  assert_string_equal(text, "lumos-parse " LUMOS_VERSION "\n");
  free(text);
}

#define OPTIONS_TEST(function) cmocka_unit_test_setup_teardown(function, make_fixture, drop_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      OPTIONS_TEST(every_form_is_read), OPTIONS_TEST(letters_join_and_names_shorten),
      OPTIONS_TEST(mistakes_are_named), OPTIONS_TEST(help_shows_all),
      OPTIONS_TEST(help_has_headings),  OPTIONS_TEST(version_is_one_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
