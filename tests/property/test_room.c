/* Property: waiting for SMs comes to an end, whatever waits for whom, and is the same whether or not somebody asks what
 * held the tasks.
 *
 * The programs are those of random_job.h. Kernels of any stream were seen to wait for those of any other, in both
 * directions, for collectives too, with lags of either sign; some kernels take no time, some start in their call.
 */
#include "random_job.h"
#include "random_variant.h"
#include "unit/unit.h"

#include "sim/engine.h"
#include <lumos/sim.h>

enum { TRIALS = 3000, ROOMS = 24, LANES_IN_ALL = RANKS * LANES };

static uint32_t any_stream(void) { return stream_of((uint32_t)pick(RANKS)); }

static void add_room(struct lumos_job *job) {
  uint32_t from = any_stream(), to = any_stream();
  if (from == to || job->lanes.items[from].task_count == 0 || job->lanes.items[to].task_count == 0) {
    return;
  }
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = any_of(job, from);
  dep.dst = any_of(job, to);
  dep.kind = LUMOS_RESOURCE;
  dep.mode = LUMOS_RUN_TIME;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.evidence = LUMOS_INFERRED;
  dep.covers = pick(2) == 0 ? LUMOS_ABSENT : pick(MOST);
  dep.lag = pick(2) == 0 ? pick(5000) : -pick(2 * MOST);
  lumos_vector_push(&job->deps, dep);
}

static void disturb(struct lumos_job *job) {
  int64_t span = pick(3) == 0 ? 4 : MOST; /* few instants: many at once */
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    struct lumos_timing *timing = lumos_task_timing(job, task);
    if (task->call == LUMOS_NONE) {
      continue;
    }
    task->dur = pick(4) == 0 ? 0 : task->dur % span;
    if (pick(3) == 0) {
      bool copy = lumos_detail_of(job, &job->tasks.items[task->call])->wait.on == LUMOS_WAIT_SELF;
      timing->launch_from = copy || pick(2) == 0 ? LUMOS_START : LUMOS_END;
      timing->launch_lag = pick(20) - 10;
      timing->residual = pick(20) - 10;
    }
  }
}

struct noted {
  struct lumos_holds holds;
  struct lumos_held bindings;
  struct lumos_bounds links;
  struct lumos_order order;
};

static void free_notes(struct noted *noted) {
  lumos_vector_free(&noted->holds);
  lumos_held_free(&noted->bindings);
  lumos_vector_free(&noted->links);
  lumos_vector_free(&noted->order.touches);
  lumos_vector_free(&noted->order.transfers);
  lumos_vector_free(&noted->order.rooms);
}

/* Every look says of another task of the other stream that it runs, or comes. */
static void check_looks(const struct lumos_job *job, const struct lumos_holds *holds) {
  uint32_t *looks = lumos_allocate_zeroed(job->tasks.count, sizeof *looks);
  uint32_t most = 0;
  for (uint32_t l = 0; l < LANES_IN_ALL; l++) {
    most = job->lanes.items[l].task_count > most ? job->lanes.items[l].task_count : most;
  }
  for (size_t i = 0; i < holds->count; i++) {
    const struct lumos_hold *hold = &holds->items[i];
    assert_true(hold->kind != LUMOS_RESOURCE || ++looks[hold->task] <= 2 * most);
    assert_true(hold->from < hold->to);
  }
  free(looks);
}

static void waiting_for_room_ends(void **state) {
  (void)state;
  size_t waits = 0, blocked = 0;
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    random_state = trial * UINT64_C(0xD1342543DE82EF95);
    struct lumos_job *job = random_job();
    disturb(job);
    for (int i = 0; i < ROOMS; i++) {
      add_room(job);
    }
    size_t count = job->tasks.count;
    struct lumos_run *first = malloc(count * sizeof *first), *second = malloc(count * sizeof *second);
    struct lumos_engine engine;
    struct lumos_error error = {0};
    struct noted noted = {0};
    lumos_engine_prepare(&engine, job, LUMOS_MODEL_LUMOS);
    const struct lumos_variant variant = {.typical_residuals = trial % 2 == 0};
    bool done = lumos_engine_do(&engine, &(struct lumos_engine_order){.variant = &variant}, first, &error);
    struct lumos_engine_order order = {.variant = &variant, .notes = {.holds = &noted.holds, .links = &noted.links}};
    order.notes.bindings = trial % 3 == 0 ? &noted.bindings : NULL;
    order.notes.order = trial % 5 == 0 ? &noted.order : NULL;
    assert_int_equal(lumos_engine_do(&engine, &order, second, &error), done);
    blocked += !done;
    for (size_t t = 0; done && t < count; t++) {
      if (first[t].start != second[t].start || first[t].dur != second[t].dur) {
        fail_msg("trial %d: task %d runs at %lld, with notes at %lld", (int)trial, (int)t, (long long)first[t].start,
                 (long long)second[t].start);
      }
    }
    check_looks(job, &noted.holds);
    for (size_t i = 0; i < noted.holds.count; i++) {
      waits += noted.holds.items[i].kind == LUMOS_RESOURCE;
    }
    lumos_engine_free(&engine);
    free_notes(&noted);
    free(first);
    free(second);
    lumos_job_free(job);
  }
  print_message("%d waits for SMs in %d programs; in %d tasks wait for each other\n", (int)waits, TRIALS, (int)blocked);
  assert_true(waits > TRIALS);
  assert_true(blocked < TRIALS / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(waiting_for_room_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
