/* Texts that are valid JSON and texts that nearly are, whole and in pieces. */
#include "base/json_check.h"
#include "unit.h"

/* The first fault of the text, fed in pieces of so many bytes; UINT64_MAX where it is one whole value, its length where
 * it is not whole. */
static uint64_t fault_of(const char *text, size_t length, size_t piece, const char **what) {
  struct lumos_json_check *check = lumos_json_check_new();
  for (size_t at = 0; at < length; at += piece) {
    lumos_json_check_feed(check, text + at, length - at < piece ? length - at : piece);
  }
  uint64_t byte = 0;
  *what = lumos_json_check_fault(check, &byte);
  if (*what == NULL) {
    byte = lumos_json_check_done(check) ? UINT64_MAX : length;
  }
  lumos_json_check_free(check);
  return byte;
}

static void expect_fault(const char *text, uint64_t expected, const char *part) {
  for (size_t piece = 1; piece < 9; piece++) {
    const char *what = NULL;
    uint64_t byte = fault_of(text, strlen(text), piece, &what);
    if (byte != expected || (part != NULL && (what == NULL || strstr(what, part) == NULL))) {
      fail_msg("'%s': byte %llu (%s)", text, (unsigned long long)byte, what != NULL ? what : "no fault");
    }
  }
}

static void valid_texts_pass(void **state) {
  (void)state;
  static const char *const texts[] = {"{}",
                                      "[]",
                                      " [ ] ",
                                      "null",
                                      "true",
                                      "false",
                                      "0",
                                      "-0.5e+10",
                                      "1E5",
                                      "[0,-1,2.25,1e-7]",
                                      "\"a\\u00e9\\ud83d \\\\ \\\"\"",
                                      "{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]},\"b\":{\"a\":3}}",
                                      "\xEF\xBB\xBF{\"\xC3\xA9\": \"\xF0\x9F\x98\x80\"}\r\n\t",
                                      "{\"\":0,\" \":0}"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    expect_fault(texts[i], UINT64_MAX, NULL);
  }
}

static const struct {
  const char *text;
  uint64_t byte;
  const char *part;
} faults[] = {
    {"[1,]", 3, "not valid JSON"},
    {"{,\"a\":1}", 1, "not valid JSON"},
    {"{\"a\":1,}", 7, "not valid JSON"},
    {"{\"a\":1 \"b\":2}", 7, "not valid JSON"},
    {"[1 2]", 3, "not valid JSON"},
    {"[1:2]", 2, "not valid JSON"},
    {"{\"a\",1}", 4, "not valid JSON"},
    {"{a:1}", 1, "not valid JSON"},
    {"[1}", 2, "not valid JSON"},
    {"]", 0, "not valid JSON"},
    {"{} {}", 3, "not valid JSON"},
    {"{},", 2, "not valid JSON"},
    {"[NaN]", 1, "not valid JSON"},
    {"[nan]", 2, "not valid JSON"},
    {"[-inf]", 2, "not valid JSON"},
    {"[01]", 2, "not valid JSON"},
    {"[1.]", 3, "not valid JSON"},
    {"[.5]", 1, "not valid JSON"},
    {"[+1]", 1, "not valid JSON"},
    {"[1e]", 3, "not valid JSON"},
    {"[\"\\x\"]", 3, "not valid JSON"},
    {"[\"\\u12g4\"]", 6, "not valid JSON"},
    {"[\"a\nb\"]", 3, "not valid JSON"},
    {"[\xC3\xA9]", 1, "not valid JSON"},
    {" \xEF\xBB\xBF[]", 1, "not valid JSON"},
    {"\xEF\xBB[]", 2, "not valid JSON"},
    {"[\"a\xFF\"]", 3, "UTF-8"},
    {"[\"\xC0\xAF\"]", 2, "UTF-8"},
    {"[\"\xED\xA0\x80\"]", 3, "UTF-8"},
    {"[\"\xE2\x82\"]", 4, "UTF-8"},
    {"[\"\xF4\x90\x80\x80\"]", 3, "UTF-8"},
    {"{\"a\":1,\"a\":1}", 7, "twice"},
    {"{\"ab\":{\"c\":[{}]},\"b\":1,\"a\\u0062\":1}", 23, "twice"},
    {"{\"a\":{\"b\":1,\"c\":2},\"d\":{\"b\":1,\"c\":2,\"b\":3}}", 36, "twice"},
    {"", 0, NULL},
    {"{\"a\":[1", 7, NULL},
    {"-", 1, NULL},
};

static void faults_are_told_where_they_lie(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    expect_fault(faults[i].text, faults[i].byte, faults[i].part);
  }
}

/* As deep as one likes, and as many keys; a NUL is no end. */
static void nothing_is_too_much(void **state) {
  (void)state;
  enum { MANY = 100000 };
  size_t room = (size_t)MANY * 16;
  char *text = malloc(room);
  assert_non_null(text);
  const char *what = NULL;
  memset(text, '[', MANY);
  memset(text + MANY, ']', MANY);
  assert_int_equal(fault_of(text, (size_t)2 * MANY, 4096, &what), UINT64_MAX);
  size_t at = 0;
  for (int i = 0; i < MANY; i++) {
    at += (size_t)snprintf(text + at, room - at, "%c\"%d\":0", i == 0 ? '{' : ',', i);
  }
  text[at++] = '}';
  assert_int_equal(fault_of(text, at, 4096, &what), UINT64_MAX);
  at += (size_t)snprintf(text + at - 1, room - at, ",\"77\":0}") - 1;
  assert_int_equal(fault_of(text, at, 4096, &what), at - strlen("\"77\":0}"));
  assert_int_equal(fault_of("[1]\0", 4, 1, &what), 3);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(valid_texts_pass),
      cmocka_unit_test(faults_are_told_where_they_lie),
      cmocka_unit_test(nothing_is_too_much),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
