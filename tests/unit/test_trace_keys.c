/* Whatever was read before, keys are those that the tokenizer finds, and so are faults. */
#include "trace/keys.h"

#include "trace/window.h"
#include "unit.h"

enum { MOST_TEXT = 8192 };

/* What a key is to the walk: its first byte, which tells the objects below all they need. */
static uint8_t first_byte(const void *rows, const struct lumos_slice *key) {
  assert_null(rows);
  return key->length > 0 ? (uint8_t)key->bytes[0] : 0;
}

/* Walk `text` both ways and expect the same members, the same end or the same fault. */
static void expect_same_walk(struct trace_keys *keys, const char *text) {
  static char padded[MOST_TEXT + TRACE_WINDOW_SENTINEL];
  memset(padded, 0, sizeof padded);
  (void)snprintf(padded, MOST_TEXT, "%s", text);
  const char *cursor = padded + 1;
  const char *reference = padded;
  struct trace_key_walk walk = trace_walk_keys(keys, first_byte, NULL);
  struct lumos_json_members members;
  struct lumos_slice key;
  uint8_t row = 0;
  int more = 0;
  assert_true(lumos_json_open(&reference, '{', &members));
  do {
    more = trace_next_key(&walk, &cursor, &row);
    assert_int_equal(more, lumos_json_key(&reference, &members, &key));
    assert_ptr_equal(cursor, reference);
    if (more == 1) {
      assert_int_equal(row, first_byte(NULL, &key));
      bool good = lumos_json_skip(&cursor, NULL);
      assert_int_equal(lumos_json_skip(&reference, NULL), good);
      more = good ? 1 : -1;
    }
  } while (more == 1);
}

/* Each after each other, so that every one meets what every other has left. */
static void what_was_read_before_changes_nothing(void **state) {
  (void)state;
  static const char *const objects[] = {
      "{\"a\":1,\"b\":2}",
      "{\"a\":1,\"b\":2,\"c\":3}",
      "{\"b\":1,\"a\":2}",
      "{\"a\":1 \"b\":2}", /* no comma */
      "{\"a\":1\"a\":2}",  /* ... where the first key stands again */
      "{,\"a\":1}",        /* a comma before the first */
      "{\"a\":1,,\"b\":2}",
      "{\"a\":1,}",
      "{\"a\":1,\"b\":",
      "{\"a\":1,\"b\"",
      "{\"a\":1,\"b",
      "{\"a\":1",
      "{\"a\":1,\"b\" 2}",
      "{\"a\":1,\"b\":  2}", /* more blanks than elsewhere */
      "{\"a\":1 ,\n \"b\" : 2 }",
      "{\"a\":1,\"b\": 2}",
      "{}",
      "{ }",
      "{",
      "{\"a\":}",
      "{\"\":1,\"\":2}",
      "{\"a\":1,\"bbbbbbbbbbbbbbb\":2}",
      "{\"a\":1,\"bbbbbbbbbbbbbbbb\":2}",
      "{\"a\":1,\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\":2}",
      "{\"a\":1,\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\":2}",  /* as long as is kept */
      "{\"a\":1,\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\":2}", /* longer */
      "{\"a\":1,\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbc\":2}",
      "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":1,\"b\":2}",
      "{\"a\":1,\"b\\n\":2,\"\xc3\xa9\":3}",
      "{\"a\":1,\"b\x01\":2}",
  };
  enum { OBJECTS = sizeof objects / sizeof *objects };
  for (size_t i = 0; i < OBJECTS; i++) {
    for (size_t j = 0; j < OBJECTS; j++) {
      struct trace_keys keys = {0};
      expect_same_walk(&keys, objects[i]);
      expect_same_walk(&keys, objects[j]);
      expect_same_walk(&keys, objects[i]);
      expect_same_walk(&keys, objects[j]);
    }
  }
  struct trace_keys keys = {0};
  for (size_t i = 0; i < (size_t)OBJECTS * OBJECTS; i++) {
    expect_same_walk(&keys, objects[i * 7 % OBJECTS]);
    expect_same_walk(&keys, objects[i / OBJECTS]);
  }
}

/* With a first key, then `count` others, numbered from `from`. */
static void walk_many(struct trace_keys *keys, int from, int count, const char *end) {
  char text[MOST_TEXT] = "{\"a\":0";
  for (int i = 0; i < count; i++) {
    size_t length = strlen(text);
    (void)snprintf(text + length, sizeof text - length, ",\"k%d\":%d", from + i, i);
  }
  (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s", end);
  expect_same_walk(keys, text);
}

static void more_keys_than_there_is_room_for(void **state) {
  (void)state;
  struct trace_keys keys = {0};
  for (int i = 0; i < 20; i++) {
    walk_many(&keys, i * 11, 3 * TRACE_KEYS, "}");
    walk_many(&keys, 5, TRACE_KEYS - i, "\n}");
    walk_many(&keys, 5, 10, i % 2 == 0 ? "}" : " \"k16\":1}");
  }
}

/* The second object is read without the tokenizer: its first key has been made another's by hand. */
static void a_key_that_comes_again_is_known(void **state) {
  (void)state;
  struct trace_keys keys = {0};
  char text[32 + TRACE_WINDOW_SENTINEL] = "{\"a\":1}";
  uint8_t row = 0;
  expect_same_walk(&keys, text);
  assert_int_equal(keys.first.row, 'a');
  keys.first.row = 'z';
  struct trace_key_walk walk = trace_walk_keys(&keys, first_byte, NULL);
  const char *cursor = text + 1;
  assert_int_equal(trace_next_key(&walk, &cursor, &row), 1);
  assert_int_equal(row, 'z');
  assert_ptr_equal(cursor, text + 5);
  cursor++;
  keys.others[0].row = 'y'; /* the end, which is then no end */
  assert_int_equal(trace_next_key(&walk, &cursor, &row), 1);
  assert_int_equal(row, 'y');
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_read_before_changes_nothing),
      cmocka_unit_test(more_keys_than_there_is_room_for),
      cmocka_unit_test(a_key_that_comes_again_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
