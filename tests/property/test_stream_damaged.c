/* Property: a damaged stream is refused with a message, or read as a job that holds every invariant, comes back in the
 * same bytes, and can be named anew as a join does and brought back to parse. With --edited as without.
 */
#include "unit/stream_unit.h"

enum { TRIALS = 8000, MOST_DAMAGES = 4 };

static uint64_t random_state;

static uint64_t pick(uint64_t bound) { /* 0 .. bound - 1; xorshift */
  random_state ^= random_state << 13U;
  random_state ^= random_state >> 7U;
  random_state ^= random_state << 17U;
  return (random_state >> 11U) % bound;
}

/* What is likely to hurt: structure, other values of fields, numbers at their limits, ids. */
static const char *const pieces[] = {
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\\",
    "\\u0000",
    "null",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "4294967294",
    "4294967295",
    "2147483647",
    "9007199254740991",
    "9007199254740992",
    "1e5",
    "0.5",
    "\"0:0\"",
    "\"0:5\"",
    "\"1:0\"",
    "\"9:9\"",
    "\"0:4294967294\"",
    "\"s7\"",
    "\"t10\"",
    "\"tp@0\"",
    "\"tp\"",
    "stream",
    "thread",
    "boundary",
    "collective",
    "gemm",
    "op",
    "parse",
    "graph",
    "sim",
    "\"x\":1,",
    "\"call\":\"0:1\",",
    "\"parent\":\"0:4\",",
    "\"at\":5,",
    "\xFF",
};

/* The places of `text` where a value or a key begins: what is put there has a chance to be understood. */
static size_t any_place(const char *text, size_t length) {
  size_t place = pick(length);
  if (pick(4) != 0) {
    place += strcspn(text + place, "\":,[{");
  }
  return place < length ? place : length - 1;
}

/* Copy `text` with one span of bytes taken out, and maybe something else put in. */
static void damage(struct lumos_text *out, const char *text, size_t length) {
  size_t from = any_place(text, length);
  size_t to = from + (pick(3) == 0 ? 0 : pick(pick(8) == 0 ? 400 : 12));
  size_t again = any_place(text, length); /* a piece of the text itself, once more */
  size_t count = pick(300);
  to = to > length ? length : to;
  count = again + count > length ? length - again : count;
  lumos_text_add(out, text, from);
  switch (pick(4)) {
    case 0:
      break;
    case 1:
      lumos_text_add(out, text + again, count);
      break;
    default:
      lumos_text_put(out, pieces[pick(sizeof pieces / sizeof *pieces)]);
      break;
  }
  lumos_text_add(out, text + to, length - to);
}

/* One value, key or line of `text` replaced by another of its kind. */
static void exchange(struct lumos_text *out, const char *text, size_t length) {
  const char *ends = pick(6) == 0 ? "\n" : ",}\n";
  size_t from = any_place(text, length);
  size_t other = any_place(text, length);
  size_t from_length = strcspn(text + from, ends);
  size_t other_length = strcspn(text + other, ends);
  lumos_text_add(out, text, from);
  lumos_text_add(out, text + other, other_length);
  lumos_text_add(out, text + from + from_length, length - from - from_length);
}

static struct lumos_text damaged(void) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_add(&text, full_stream, sizeof full_stream - 1);
  for (uint64_t left = 1 + pick(MOST_DAMAGES); left > 0; left--) {
    struct lumos_text next = LUMOS_TEXT_BUFFER;
    lumos_text_char(&text, '\0');
    (pick(2) == 0 ? damage : exchange)(&next, text.bytes, text.length - 1);
    lumos_text_free(&text);
    text = next;
  }
  return text;
}

/* The checks in trial `trial` of a job that was accepted; frees it. */
static void expect_sound(struct lumos_job *job, uint64_t trial) {
  struct lumos_error error = {0};
  if (!lumos_job_check(job, &error)) {
    fail_msg("trial %llu: accepted, but %s", (unsigned long long)trial, error.text);
  }
  char *text = stream_text(job);
  struct lumos_job *again = stream_good(text);
  expect_stream(again, text);
  free(text);
  lumos_job_free(again);
  lumos_job_rewind(job, (enum lumos_stage)(1 + pick(4)));
  job = lumos_job_join(&job, 1, &error);
  if (job == NULL || !lumos_job_check(job, &error)) {
    fail_msg("trial %llu: not to be joined: %s", (unsigned long long)trial, error.text);
  }
  lumos_job_free(job);
}

static void damage_is_refused_or_harmless(void **state) {
  (void)state;
  int accepted = 0;
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    struct lumos_error error = {0};
    random_state = trial * 0x9E3779B97F4A7C15U;
    struct lumos_text text = damaged();
    struct lumos_job *job = stream_from(text.bytes, text.length, trial % 2 == 0, &error);
    if (job != NULL) {
      expect_sound(job, trial);
      accepted++;
    } else {
      assert_int_equal(error.status, LUMOS_UNUSABLE);
      assert_true(strlen(error.text) > 10);
    }
    lumos_text_free(&text);
  }
  assert_in_range(accepted, TRIALS / 50,
                  TRIALS / 2); /* else the damage is too large, or too small, to prove anything */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damage_is_refused_or_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
