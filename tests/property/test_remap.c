/* Property: records end where they are sent, with what they refer to, whatever the others do.
 *
 * Where to is drawn in each of the ways in which jobs move theirs: ranks whose records change places among themselves,
 * records added behind all others that go between them, records that go, and any order at all.
 */
#include "random_job.h"
#include "unit/unit.h"

#include "job/remap.h"
#include <lumos/job.h>
#include <stdlib.h>

enum { TRIALS = 20000, MOST_TASKS = 24 };

static void shuffle(uint32_t *order, size_t first, size_t end) {
  for (size_t i = end; i > first + 1; i--) {
    size_t other = first + (size_t)pick((int64_t)(i - first));
    uint32_t held = order[i - 1];
    order[i - 1] = order[other];
    order[other] = held;
  }
}

/* Places of all of them, a permutation. */
static void draw_places(uint32_t *to, size_t count) {
  size_t added = (size_t)pick((int64_t)count + 1);
  int64_t way = pick(4);
  for (size_t i = 0; i < count; i++) {
    to[i] = (uint32_t)i;
  }
  if (way == 0) { /* among those of a rank */
    for (size_t first = 0, end = 0; first < count; first = end) {
      end = first + 1 + (size_t)pick((int64_t)(count - first));
      shuffle(to, first, end);
    }
  } else if (way == 1) { /* the last ones go between the others, which keep their order */
    uint32_t places[MOST_TASKS];
    bool taken[MOST_TASKS] = {false};
    memcpy(places, to, sizeof places);
    shuffle(places, 0, count);
    for (size_t i = 0; i < added; i++) {
      to[count - added + i] = places[i];
      taken[places[i]] = true;
    }
    for (size_t i = 0, place = 0; i < count - added; i++, place++) {
      for (; taken[place]; place++) {
      }
      to[i] = (uint32_t)place;
    }
  } else if (way == 2) {
    shuffle(to, 0, count);
  }
}

/* Some go; the others close up, in the order of their places. Returns how many stay. */
static size_t drop_some(uint32_t *to, size_t count) {
  size_t kept = count;
  for (int64_t i = pick(3) == 0 ? pick(6) : 0; i > 0; i--) {
    size_t gone = (size_t)pick((int64_t)count);
    uint32_t place = to[gone];
    to[gone] = LUMOS_NONE;
    kept -= place != LUMOS_NONE;
    for (size_t other = 0; other < count && place != LUMOS_NONE; other++) {
      to[other] -= to[other] != LUMOS_NONE && to[other] > place;
    }
  }
  return kept;
}

static void records_end_where_they_are_sent(void **state) {
  (void)state;
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    random_state = trial * UINT64_C(0x9E3779B97F4A7C15);
    uint32_t to[MOST_TASKS];
    size_t count = 1 + (size_t)pick(MOST_TASKS);
    struct lumos_job *job = lumos_job_new();
    for (uint32_t i = 0; i < count; i++) {
      struct lumos_task task = lumos_task_empty;
      task.id = i;
      task.call = (uint32_t)pick((int64_t)count);
      *lumos_task_detail(job, &task) = (struct lumos_detail){.bytes = i};
      lumos_vector_push(&job->tasks, task);
    }
    struct lumos_task was[MOST_TASKS];
    memcpy(was, job->tasks.items, count * sizeof *was);
    draw_places(to, count);
    size_t kept = drop_some(to, count);
    const struct lumos_remap remap = {.tasks = to};
    lumos_job_remap(job, &remap);
    assert_int_equal(job->tasks.count, kept);
    assert_int_equal(job->details.count, kept);
    for (size_t i = 0; i < count; i++) {
      if (to[i] != LUMOS_NONE) {
        const struct lumos_task *task = &job->tasks.items[to[i]];
        assert_int_equal(task->id, was[i].id);
        assert_int_equal(lumos_detail_of(job, task)->bytes, was[i].id);
        assert_int_equal(task->call, to[was[i].call]);
      }
    }
    lumos_job_free(job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(records_end_where_they_are_sent)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
