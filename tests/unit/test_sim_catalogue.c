/* The catalogue of metrics: each is there once, and what it is a share of is a metric or a count. */
#include "unit.h"

#include <lumos/hta.h>
#include <lumos/metric.h>
#include <stdbool.h>
#include <string.h>

static void every_metric_is_defined_once_and_whole(void **state) {
  (void)state;
  size_t count = 0;
  const struct lumos_metric_definition *definitions = lumos_metric_definitions(&count);
  assert_true(count > 0);
  for (size_t i = 0; i < count; i++) {
    assert_ptr_equal(lumos_metric_definition(definitions[i].name), &definitions[i]); /* none before has the name */
    assert_true(definitions[i].term[0] != '\0' && definitions[i].unit[0] != '\0');
    size_t length = strlen(definitions[i].text);
    assert_true(length > 0 && definitions[i].text[length - 1] == '.');
    assert_null(strstr(definitions[i].text, "  ")); /* as of parts that are put together with a blank too many */
  }
  assert_null(lumos_metric_definition("no_metric"));
}

/* A glossary is not read from its beginning: a text that leans on the one before says nothing. */
static void every_text_stands_by_itself(void **state) {
  (void)state;
  static const char *const leaning[] = {"The same", "What of it", "The rest", "Their ", "Of "};
  const struct lumos_metric_definition *lists[2];
  size_t counts[2];
  lists[0] = lumos_metric_definitions(&counts[0]);
  lists[1] = lumos_hta_definitions(&counts[1]);
  for (size_t l = 0; l < 2; l++) {
    for (size_t i = 0; i < counts[l]; i++) {
      for (size_t w = 0; w < sizeof leaning / sizeof *leaning; w++) {
        if (strncmp(lists[l][i].text, leaning[w], strlen(leaning[w])) == 0) {
          fail_msg("%s: '%s'", lists[l][i].name, lists[l][i].text);
        }
      }
    }
  }
}

static void a_denominator_is_a_metric_or_a_count(void **state) {
  (void)state;
  static const char *const counts[] = {"device_tasks"};
  size_t count = 0;
  const struct lumos_metric_definition *definitions = lumos_metric_definitions(&count);
  for (size_t i = 0; i < count; i++) {
    bool known = definitions[i].of == NULL || lumos_metric_definition(definitions[i].of) != NULL;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      known = known || strcmp(definitions[i].of, counts[c]) == 0;
    }
    if (!known) {
      fail_msg("%s is a share of %s, which nobody knows", definitions[i].name, definitions[i].of);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_metric_is_defined_once_and_whole),
      cmocka_unit_test(every_text_stands_by_itself),
      cmocka_unit_test(a_denominator_is_a_metric_or_a_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
