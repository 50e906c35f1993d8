/* Interned strings, the arena under them, and vectors. */
#include "unit.h"
#include <lumos/memory.h>
#include <lumos/strings.h>

static void ids_follow_the_order_of_arrival(void **state) {
  (void)state;
  struct lumos_strings *strings = lumos_strings_new();
  assert_int_equal(lumos_strings_count(strings), 0);
  uint32_t mm = lumos_intern_text(strings, "aten::mm");
  uint32_t empty = lumos_intern(strings, "", 0);
  assert_int_equal(mm, 1);
  assert_int_equal(empty, 2);
  assert_int_equal(lumos_intern(strings, "aten::mm_", 8), mm);
  assert_int_equal(lumos_interned(strings, LITERAL("aten::mm")), mm);
  assert_int_equal(lumos_interned(strings, LITERAL("aten::m")), LUMOS_NO_STRING);
  assert_int_equal(lumos_strings_count(strings), 2);
  assert_string_equal(lumos_string(strings, mm), "aten::mm");
  assert_string_equal(lumos_string(strings, LUMOS_NO_STRING), "");
  assert_int_equal(lumos_string_length(strings, mm), 8);
  assert_int_equal(lumos_string_length(strings, LUMOS_NO_STRING), 0);
  lumos_strings_free(strings);
  lumos_strings_free(NULL);
}

static void bytes_may_be_anything(void **state) {
  (void)state;
  struct lumos_strings *strings = lumos_strings_new();
  uint32_t one = lumos_intern(strings, LITERAL("a\0b"));
  uint32_t two = lumos_intern(strings, LITERAL("a\0c"));
  uint32_t three = lumos_intern(strings, LITERAL("a"));
  uint32_t four = lumos_intern(strings, LITERAL("a\0\0"));
  assert_true(one != two && two != three && three != four && one != four);
  assert_int_equal(lumos_string_length(strings, one), 3);
  assert_memory_equal(lumos_string(strings, one), "a\0b", 4);
  lumos_strings_free(strings);
}

static void many_strings_survive_growth(void **state) {
  (void)state;
  enum { COUNT = 50000 };
  struct lumos_strings *strings = lumos_strings_new();
  const char *first = lumos_string(strings, lumos_intern_text(strings, "kernel 0"));
  for (unsigned i = 1; i < COUNT; i++) {
    char name[64];
    int length = snprintf(name, sizeof name, "kernel %u", i);
    assert_int_equal(lumos_intern(strings, name, (size_t)length), i + 1);
  }
  assert_int_equal(lumos_strings_count(strings), COUNT);
  for (unsigned i = 0; i < COUNT; i++) {
    char name[64];
    int length = snprintf(name, sizeof name, "kernel %u", i);
    assert_int_equal(lumos_interned(strings, name, (size_t)length), i + 1);
    assert_string_equal(lumos_string(strings, i + 1), name);
  }
  assert_ptr_equal(lumos_string(strings, 1), first);
  lumos_strings_free(strings);
}

static void every_length_is_told_apart(void **state) {
  (void)state;
  struct lumos_strings *strings = lumos_strings_new();
  char name[64];
  memset(name, 'x', sizeof name);
  for (unsigned length = 0; length < sizeof name; length++) {
    assert_int_equal(lumos_intern(strings, name, length), length + 1);
  }
  for (unsigned length = 0; length < sizeof name; length++) {
    assert_int_equal(lumos_intern(strings, name, length), length + 1);
  }
  lumos_strings_free(strings);
}

/* What is found by its ends is what was asked for, also where a view has other bytes for it. */
static void equal_ends_are_told_apart(void **state) {
  (void)state;
  struct lumos_strings *strings = lumos_strings_new();
  char text[] = "aten::mm ? aten::mm";
  uint32_t ids[26];
  for (int times = 0; times < 2; times++) {
    for (int i = 0; i < 26; i++) {
      text[9] = (char)('a' + i);
      uint32_t id = lumos_intern_text(strings, text);
      ids[i] = times == 0 ? id : ids[i];
      assert_int_equal(id, ids[i]);
      assert_string_equal(lumos_string(strings, id), text);
      assert_int_equal(lumos_intern_text(strings, text), id);
    }
  }
  struct lumos_strings *view = lumos_strings_view(strings);
  assert_int_equal(lumos_intern_text(view, text), ids[25]);
  lumos_strings_replace(view, ids[25], "aten::mm Z aten::mm", sizeof text - 1);
  assert_string_equal(lumos_string(view, ids[25]), "aten::mm Z aten::mm");
  assert_int_not_equal(lumos_intern_text(view, "aten::mm Z aten::mm"), ids[25]); /* what was put there is no name */
  lumos_strings_free(view);
  lumos_strings_free(strings);
}

static void arena_memory_is_aligned_and_apart(void **state) {
  (void)state;
  struct lumos_arena *arena = lumos_arena_new();
  unsigned char *previous = NULL;
  for (size_t size = 0; size < 3000; size++) {
    unsigned char *memory = lumos_arena_take(arena, size);
    assert_int_equal((uintptr_t)memory % 16, 0);
    assert_ptr_not_equal(memory, previous);
    memset(memory, 0xAB, size);
    previous = memory;
  }
  void *large = lumos_arena_take(arena, 5U << 20U);
  memset(large, 1, 5U << 20U);
  assert_true(lumos_arena_held(arena) > 5U << 20U);
  assert_string_equal(lumos_arena_copy(arena, "kernel", 3), "ker");
  assert_string_equal(lumos_arena_copy(arena, NULL, 0), "");
  lumos_arena_free(arena);
  lumos_arena_free(NULL);
}

static void vectors_grow_and_empty(void **state) {
  (void)state;
  LUMOS_VECTOR(int64_t) numbers = {NULL, 0, 0};
  for (int64_t i = 0; i < 1000; i++) {
    lumos_vector_push(&numbers, i * i);
  }
  assert_int_equal(numbers.count, 1000);
  assert_int_equal(numbers.items[999], 998001);
  lumos_vector_reserve(&numbers, 5000);
  assert_true(numbers.capacity >= 6000);
  lumos_vector_free(&numbers);
  assert_null(numbers.items);
  assert_int_equal(numbers.count, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_follow_the_order_of_arrival), cmocka_unit_test(bytes_may_be_anything),
      cmocka_unit_test(many_strings_survive_growth),     cmocka_unit_test(every_length_is_told_apart),
      cmocka_unit_test(equal_ends_are_told_apart),       cmocka_unit_test(arena_memory_is_aligned_and_apart),
      cmocka_unit_test(vectors_grow_and_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
