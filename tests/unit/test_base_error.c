/* Errors: the text is always whole, safe to print and cut where it must be. */
#include "unit.h"
#include <lumos/error.h>

static void fail_fills_status_and_text(void **state) {
  (void)state;
  struct lumos_error error;
  assert_false(lumos_fail(&error, "byte %d: %s", 7, "expected a value"));
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  assert_string_equal(error.text, "byte 7: expected a value");
  assert_false(lumos_fail_prefix(&error, "rank3.json.gz"));
  assert_string_equal(error.text, "rank3.json.gz: byte 7: expected a value");
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  assert_false(lumos_fail_check(&error, "%d events are invalid", 2));
  assert_int_equal(error.status, LUMOS_CHECK_FAILED);
  assert_false(lumos_fail_prefix(&error, "a"));
  assert_int_equal(error.status, LUMOS_CHECK_FAILED);
}

static void text_is_safe_for_a_terminal(void **state) {
  (void)state;
  struct lumos_error error;
  lumos_fail(&error, "%s", "a\033[31m\nb\x7F\xC2\x9B\xFF\xC3\xA9");
  assert_string_equal(error.text, "a?[31m?b?"
                                  "??"
                                  "?\xC3\xA9");
}

static void long_text_is_cut(void **state) {
  (void)state;
  struct lumos_error error;
  lumos_fail(&error, "%5000d", 1);
  assert_int_equal(strlen(error.text), LUMOS_ERROR_TEXT - 1);
  char name[LUMOS_ERROR_TEXT + 8];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  memcpy(name + LUMOS_ERROR_TEXT - 2, "\xE2\x82\xAC", 3); /* the cut goes through this character */
  lumos_fail(&error, "%s", name);
  assert_int_equal(strlen(error.text), LUMOS_ERROR_TEXT - 1);
  assert_int_equal(error.text[LUMOS_ERROR_TEXT - 2], '?');
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fail_fills_status_and_text),
      cmocka_unit_test(text_is_safe_for_a_terminal),
      cmocka_unit_test(long_text_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
