/* Bytes out: a file appears whole or not at all; devices and standard output are written as they are. */
#include "base/input.h"
#include "base/output.h"
#include "unit.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static int make_folder(void **state) {
  *state = unit_folder_new();
  return 0;
}

static int drop_folder(void **state) {
  unit_folder_remove(*state);
  return 0;
}

static void expect_file(const char *path, const char *expected) {
  size_t length = 0;
  char *text = unit_read_file(path, &length);
  assert_string_equal(text, expected);
  free(text);
}

static void a_file_appears_at_commit(void **state) {
  char *path = unit_path(*state, "report.html");
  struct lumos_output output;
  struct lumos_error error;
  mode_t old_mask = umask(027);
  assert_true(lumos_output_open(&output, path, &error));
  lumos_text_put(&output.text, "whole");
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(unit_folder_count(*state), 0);
  assert_true(lumos_output_commit(&output, &error));
  (void)umask(old_mask);
  expect_file(path, "whole");
  assert_int_equal(unit_folder_count(*state), 1);
  struct stat about;
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(about.st_mode & 0777U, 0640);
  lumos_output_discard(&output);
  expect_file(path, "whole");
  free(path);
}

static void the_old_file_stays_until_commit(void **state) {
  char *path = unit_path(*state, "report.html");
  unit_write_file(path, "old", 3);
  struct lumos_output output;
  struct lumos_error error;
  assert_true(lumos_output_open(&output, path, &error));
  lumos_text_put(&output.text, "new");
  assert_true(lumos_text_flush(&output.text));
  expect_file(path, "old");
  lumos_output_discard(&output);
  lumos_output_discard(&output);
  expect_file(path, "old");
  assert_true(lumos_output_open(&output, path, &error));
  lumos_text_put(&output.text, "newer");
  assert_true(lumos_output_commit(&output, &error));
  expect_file(path, "newer");
  assert_int_equal(unit_folder_count(*state), 1);
  assert_int_equal(unit_folder_count(*state), 1);
  assert_true(lumos_output_open(&output, path, &error));
  lumos_text_put(&output.text, "new");
  assert_true(lumos_output_commit(&output, &error));
  expect_file(path, "new");
  free(path);
}

static void a_link_stays_a_link(void **state) {
  char *target = unit_path(*state, "target");
  char *link = unit_path(*state, "link");
  unit_write_file(target, "old", 3);
  assert_int_equal(symlink(target, link), 0);
  struct lumos_output output;
  struct lumos_error error;
  assert_true(lumos_output_open(&output, link, &error));
  lumos_text_put(&output.text, "new");
  assert_true(lumos_output_commit(&output, &error));
  expect_file(target, "new");
  struct stat about;
  assert_int_equal(lstat(link, &about), 0);
  assert_true(S_ISLNK(about.st_mode));
  free(target);
  free(link);
}

static void what_cannot_be_written_is_named(void **state) {
  struct lumos_output output;
  struct lumos_error error = {LUMOS_DONE, ""};
  char *missing = unit_path(*state, "no/such/folder");
  assert_false(lumos_output_open(&output, missing, &error));
  assert_non_null(strstr(error.text, missing));
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  lumos_output_discard(&output);
  assert_false(lumos_output_open(&output, *state, &error));
  assert_non_null(strstr(error.text, "folder"));
  char *slash = unit_path(*state, "new/");
  assert_false(lumos_output_open(&output, slash, &error));
  free(missing);
  free(slash);
}

static void a_full_disk_is_an_error(void **state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0) {
    skip();
  }
  struct lumos_output output;
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_output_open(&output, "/dev/full", &error));
  lumos_text_put(&output.text, "x");
  assert_false(lumos_output_commit(&output, &error));
  assert_non_null(strstr(error.text, "/dev/full: cannot write: No space left"));
  struct stat about;
  assert_int_equal(stat("/dev/full", &about), 0);
  assert_true(S_ISCHR(about.st_mode));
}

static void a_device_is_written_in_place(void **state) {
  (void)state;
  struct lumos_output output;
  struct lumos_error error;
  assert_true(lumos_output_open(&output, "/dev/null", &error));
  lumos_text_put(&output.text, "x");
  assert_int_equal(output.kind, LUMOS_OUTPUT_IN_PLACE);
  assert_true(lumos_output_commit(&output, &error));
}

/* Run `write_one` with standard output replaced by `descriptor`. */
static bool write_to_standard_output(int descriptor, const char *path, struct lumos_error *error) {
  (void)fflush(stdout);
  int kept = dup(STDOUT_FILENO);
  assert_int_equal(dup2(descriptor, STDOUT_FILENO), STDOUT_FILENO);
  struct lumos_output output;
  bool good = lumos_output_open(&output, path, error);
  if (good) {
    lumos_text_put(&output.text, "text");
    good = lumos_output_commit(&output, error);
  }
  assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
  (void)close(kept);
  return good;
}

static void standard_output_has_three_names(void **state) {
  char *path = unit_path(*state, "out");
  unit_write_file(path, "1", 1);
  int descriptor = open(path, O_WRONLY | O_APPEND);
  assert_true(descriptor >= 0);
  struct lumos_error error;
  assert_true(write_to_standard_output(descriptor, NULL, &error));
  assert_true(write_to_standard_output(descriptor, "-", &error));
  assert_true(write_to_standard_output(descriptor, "/dev/stdout", &error));
  (void)close(descriptor);
  expect_file(path, "1texttexttext");
  free(path);
}

static void a_closed_pipe_counts_as_done(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)close(ends[0]);
  struct lumos_error error;
  assert_true(write_to_standard_output(ends[1], "-", &error));
  (void)close(ends[1]);
}

/* Text that compresses badly and is longer than every buffer on the way. */
static char *long_text(size_t length) {
  char *text = malloc(length);
  uint32_t draw = 1;
  for (size_t i = 0; i < length; i++) {
    draw = draw * 1664525U + 1013904223U;
    text[i] = (char)('a' + (draw >> 24U) % 20);
  }
  return text;
}

static void write_in_pieces(const char *path, const char *text, size_t length, size_t piece) {
  struct lumos_output output;
  struct lumos_error error;
  assert_true(lumos_output_open(&output, path, &error));
  for (size_t i = 0; i < length; i += piece) {
    lumos_text_add(&output.text, text + i, length - i < piece ? length - i : piece);
  }
  assert_true(lumos_output_commit(&output, &error));
}

static void a_file_is_compressed_by_its_ending(void **state) {
  static const struct {
    const char *name, *magic;
  } rows[] = {{"job.parse.gz", "\x1F\x8B"},
#ifdef HAVE_ZSTD
              {"job.parse.zst", "\x28\xB5"}
#endif
  };
  enum { LENGTH = 900000 };
  char *text = long_text(LENGTH);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *path = unit_path(*state, rows[i].name);
    size_t length = 0, other = 0;
    write_in_pieces(path, text, LENGTH, LENGTH);
    char *bytes = unit_read_file(path, &length);
    assert_memory_equal(bytes, rows[i].magic, 2);
    assert_true(length < LENGTH * 2 / 3);
    /* However it is cut, the same bytes. */
    write_in_pieces(path, text, LENGTH, 999);
    char *again = unit_read_file(path, &other);
    assert_int_equal(length, other);
    assert_memory_equal(bytes, again, length);
    struct lumos_error error;
    size_t back = 0;
    char *inflated = lumos_input_slurp(path, LENGTH, &back, &error);
    assert_non_null(inflated);
    assert_int_equal(back, LENGTH);
    assert_memory_equal(inflated, text, LENGTH);
    /* Nothing is a file, too. */
    write_in_pieces(path, text, 0, 1);
    free(inflated);
    inflated = lumos_input_slurp(path, LENGTH, &back, &error);
    assert_non_null(inflated);
    assert_int_equal(back, 0);
    free(inflated);
    free(again);
    free(bytes);
    free(path);
  }
  free(text);
}

#define OUTPUT_TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, drop_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      OUTPUT_TEST(a_file_appears_at_commit),
      OUTPUT_TEST(the_old_file_stays_until_commit),
      OUTPUT_TEST(a_link_stays_a_link),
      OUTPUT_TEST(what_cannot_be_written_is_named),
      OUTPUT_TEST(a_full_disk_is_an_error),
      OUTPUT_TEST(a_device_is_written_in_place),
      OUTPUT_TEST(standard_output_has_three_names),
      OUTPUT_TEST(a_closed_pipe_counts_as_done),
      OUTPUT_TEST(a_file_is_compressed_by_its_ending),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
