/* Who watches the reading of a trace is told its name and a growing count of its own bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lumos/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct watched {
  int looks;
  uint64_t done, total;
  char name[64];
};

static void look(void *context, const char *name, enum lumos_watch_unit unit, uint64_t done, uint64_t total) {
  struct watched *watched = context;
  assert_true(done >= watched->done);
  assert_true(done <= total);
  assert_int_equal(unit, LUMOS_WATCH_BYTES);
  watched->looks++;
  watched->done = done;
  watched->total = total;
  (void)snprintf(watched->name, sizeof watched->name, "%s", name);
}

static void reading_is_told(void **state) {
  (void)state;
  const char *source = getenv("LUMOS_SOURCE");
  if (source == NULL) {
    skip();
  }
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/examples/traces/rank1.json.gz", source);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long size = ftell(file);
  (void)fclose(file);

  struct watched watched = {0};
  const struct lumos_trace_options options = {.watcher = {look, &watched}};
  struct lumos_error error;
  const char *const paths[] = {path};
  struct lumos_job *job = lumos_trace_parse(paths, 1, &options, &error);
  assert_non_null(job);
  lumos_job_free(job);
  assert_true(watched.looks > 0);
  assert_string_equal(watched.name, "rank1.json.gz");
  assert_int_equal(watched.total, size);
  assert_int_equal(watched.done, size);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reading_is_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
