/* Random threads. Rows that nest: at every instant the time belongs to the innermost op or call, as a table of owners
 * painted from the outside in says. Rows that cross: whatever is repaired, segments do not overlap, every call is
 * there, and the result does not depend on the order of the file.
 */
#include "unit/trace_text.h"

enum { SPAN = 2000, MOST_ROWS = 120, ROUNDS = 300 };

struct row {
  int start, end;
  bool call;
};

struct thread {
  struct row rows[MOST_ROWS];
  int count;
};

static uint64_t seed;

static int below(int limit) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return limit > 0 ? (int)((seed >> 33U) % (uint64_t)limit) : 0;
}

/* Rows within [start, end), one after the other, each with rows of its own; calls hold calls only. Starts are distinct,
 * so that the nesting is the only one possible. */
static void add_nested(struct thread *thread, int start, int end, bool in_call, int depth) {
  while (end - start > 3 && thread->count < MOST_ROWS && depth < 9) {
    int from = start + 1 + below((end - start) / 3);
    int to = from + 2 + below(end - from - 2);
    if (to >= end) {
      return;
    }
    bool call = in_call || below(3) == 0;
    thread->rows[thread->count++] = (struct row){from, to, call};
    add_nested(thread, from, to, call, depth + 1);
    start = to;
  }
}

static void shuffle(struct thread *thread) {
  for (int i = thread->count - 1; i > 0; i--) {
    int other = below(i + 1);
    struct row swapped = thread->rows[i];
    thread->rows[i] = thread->rows[other];
    thread->rows[other] = swapped;
  }
}

/* Names carry where a row starts, and with it which row it is. */
static struct lumos_job *parse_thread(const struct thread *thread) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(
      &text,
      "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"t\",\"pid\":0,\"tid\":0,\"ts\":0,\"dur\":9}");
  for (int i = 0; i < thread->count; i++) {
    const struct row *row = &thread->rows[i];
    lumos_text_format(&text,
                      ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%d-%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d}",
                      row->call ? "cuda_runtime" : "cpu_op", row->start, row->end, row->start, row->end - row->start);
  }
  lumos_text_put(&text, "]}");
  lumos_text_char(&text, '\0');
  struct lumos_job *job = parse_good(text.bytes, NULL);
  lumos_text_free(&text);
  return job;
}

static int length_of(const struct row *row) { return row->end - row->start; }

/* owner[t]: which row the microsecond from t on belongs to; -1: none. Shorter rows paint over longer ones. */
static void paint(const struct thread *thread, int owner[SPAN]) {
  for (int t = 0; t < SPAN; t++) {
    owner[t] = -1;
    for (int i = 0; i < thread->count; i++) {
      const struct row *row = &thread->rows[i];
      if (row->start <= t && t < row->end && (owner[t] < 0 || length_of(row) < length_of(&thread->rows[owner[t]]))) {
        owner[t] = i;
      }
    }
  }
}

static void nested_time_belongs_to_the_innermost(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS; round++) {
    struct thread thread = {.count = 0};
    int owner[SPAN];
    seed = (uint64_t)round;
    add_nested(&thread, 0, 40 + below(SPAN - 40), false, 0);
    shuffle(&thread);
    paint(&thread, owner);
    struct lumos_job *job = parse_thread(&thread);
    assert_int_equal(job->ranks.items[0].coverage.crossing, 0);
    int64_t covered = 0;
    for (size_t i = 0; i < job->tasks.count; i++) {
      const struct lumos_task *task = &job->tasks.items[i];
      for (int64_t t = task->start / 1000; t < (task->start + task->dur) / 1000; t++) {
        char name[32];
        assert_true(owner[t] >= 0);
        (void)snprintf(name, sizeof name, "%d-%d", thread.rows[owner[t]].start, thread.rows[owner[t]].end);
        assert_string_equal(string_of(job, task->name), name);
        covered++;
      }
    }
    for (int t = 0; t < SPAN; t++) {
      covered -= owner[t] >= 0;
    }
    assert_int_equal(covered, 0);
    lumos_job_free(job);
  }
}

static void expect_sound(const struct thread *thread, const struct lumos_job *job) {
  int64_t end = 0;
  int calls = 0;
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    assert_true(task->start >= end && task->lag >= 0);
    assert_true(i == 0 || task->start == end + task->lag);
    end = task->start + task->dur;
    /* One last segment for every call; the others are named by it as the first or lie between. */
    calls += task->kind != LUMOS_OP;
    const struct lumos_detail *detail = lumos_detail_of(job, task);
    if (detail->first_segment != LUMOS_NONE) {
      for (uint32_t piece = detail->first_segment; piece < i; piece++) {
        calls -= job->tasks.items[piece].name == task->name && job->tasks.items[piece].kind == task->kind;
      }
    }
  }
  for (int i = 0; i < thread->count; i++) {
    calls -= thread->rows[i].call;
  }
  assert_int_equal(calls, 0);
  for (size_t i = 0; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    if (span->parent != LUMOS_NONE) {
      const struct lumos_span *parent = &job->spans.items[span->parent];
      assert_true(parent->start <= span->start && span->start + span->dur <= parent->start + parent->dur);
    }
  }
}

static void crossing_rows_are_repaired_soundly(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS; round++) {
    struct thread thread = {.count = 0};
    seed = (uint64_t)round + 1000000;
    int count = 2 + below(40);
    for (int i = 0; i < count; i++) {
      /* Distinct starts and lengths: only then does the order of the file have nothing to say. */
      int start = i * 7 + below(7);
      thread.rows[thread.count++] = (struct row){start, start + 1 + below(60), below(3) == 0};
    }
    struct lumos_job *job = parse_thread(&thread);
    char *tasks = describe_tasks(job);
    expect_sound(&thread, job);
    shuffle(&thread);
    struct lumos_job *again = parse_thread(&thread);
    char *tasks_again = describe_tasks(again);
    assert_string_equal(tasks, tasks_again);
    free(tasks);
    free(tasks_again);
    lumos_job_free(job);
    lumos_job_free(again);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nested_time_belongs_to_the_innermost),
      cmocka_unit_test(crossing_rows_are_repaired_soundly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
