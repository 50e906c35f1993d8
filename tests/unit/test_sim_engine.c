/* The engine: hand-made jobs, simulated as worked out on paper (sim_jobs.h has the arithmetic of the unchanged jobs).
 */
#include "expected_runs.h"

#include "sim/engine.h"
#include "sim/room.h"
#include <lumos/transform.h>

static struct lumos_job *scaled(const char *text, const char *specification) {
  struct lumos_job *job = job_from_text(text);
  struct lumos_error error = {0};
  if (!lumos_transform_scale(job, specification, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

static void every_measured_start_and_end_comes_back_with_the_residuals(void **state) {
  (void)state;
  const char *const texts[] = {streams_job, ranks_job};
  for (size_t i = 0; i < 2; i++) {
    struct lumos_job *job = job_from_text(texts[i]);
    struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
    struct lumos_error error = {0};
    assert_true(lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error));
    for (uint32_t t = 0; t < job->tasks.count; t++) {
      assert_int_equal(runs[t].start, lumos_measured_start(job, t));
      assert_int_equal(runs[t].dur, job->tasks.items[t].dur);
    }
    free(runs);
    lumos_job_free(job);
  }
}

static void without_residuals_typical_values_take_their_place(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  /* K1 loses its 1; the wait's typical residual is the only one there is, 3. */
  CHECK(job, true, {"K1", 116, 166}, {"sync", 34, 169}, {"after", 174, 181}, {"K3", 168, 198}, {"K2", 113, 133});
  lumos_job_free(job);
  job = job_from_text(ranks_job);
  /* Both waits take (4 + 6) / 2 = 5, and the members end together. */
  CHECK(job, true, {"C0", 63, 143}, {"C1", 103, 143}, {"after0", 148, 153}, {"after1", 151, 156});
  lumos_job_free(job);
}

static void a_shorter_kernel_lets_launches_bind(void **state) {
  (void)state;
  struct lumos_job *job = scaled(streams_job, "name~^K0$=0.1");
  /* K1: launch 26, event 22 + 4 = 26, + 1. K2: launch 36. sync: 77 + 3. K3: behind K1 77 + 2. */
  CHECK(job, false, {"K0", 12, 22}, {"K1", 27, 77}, {"K2", 36, 56}, {"sync", 34, 80}, {"after", 85, 92},
        {"K3", 79, 109});
  lumos_job_free(job);
}

static void a_residual_takes_no_task_before_its_launch_or_the_previous_one(void **state) {
  (void)state;
  /* Measured 113-133 behind K0, although the launch's typical lag says 34 + 100 = 134: residual -21. */
  struct lumos_job *job = job_from_text(streams_job);
  uint32_t k0 = task_named(job, "K0"), k2 = task_named(job, "K2");
  lumos_task_timing(job, &job->tasks.items[k2])->launch_lag = 100;
  lumos_task_timing(job, &job->tasks.items[k2])->residual = -21;
  CHECK(job, false, {"K0", 12, 112}, {"K2", 113, 133});
  /* K0 takes longer: 212 + gap 1 - 21 = 192 would be inside of it. */
  job->tasks.items[k0].dur = 200;
  CHECK(job, false, {"K0", 12, 212}, {"K2", 212, 232});
  lumos_job_free(job);

  /* Measured at 28, inside its call 24-34: launch 34 + 2, residual -8. */
  job = job_from_text(streams_job);
  job->tasks.items[k0].dur = 5;
  job->tasks.items[k2].start = 28;
  lumos_task_timing(job, &job->tasks.items[k2])->residual = -8;
  CHECK(job, false, {"K0", 12, 17}, {"K2", 28, 48});
  /* A call that takes no time: 24 + 2 - 8 = 18 would be before it. */
  job->tasks.items[task_named(job, "launch2")].dur = 0;
  CHECK(job, false, {"launch2", 24, 24}, {"K2", 24, 44});
  /* What was measured 3 before its call stays so: clocks. */
  job->tasks.items[k2].start = 21;
  CHECK(job, false, {"K2", 21, 41});
  lumos_job_free(job);
}

static void a_wait_binds_to_what_is_there_when_it_looks(void **state) {
  (void)state;
  struct lumos_job *job = scaled(streams_job, "name~^work$=0.5");
  /* work 0-20, launch3 20-30: at 34 the stream's last is K3, which ends at 199. */
  CHECK(job, false, {"launch3", 20, 30}, {"K1", 117, 167}, {"K3", 169, 199}, {"sync", 34, 202}, {"after", 207, 214});
  lumos_job_free(job);
}

static void what_takes_effect_at_an_instant_is_there_for_waits_of_that_instant(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  /* work 0-24, launch3 24-34: K3 is on its stream when sync looks at 34. */
  job->tasks.items[task_named(job, "work")].dur = 24;
  CHECK(job, false, {"launch3", 24, 34}, {"K3", 169, 199}, {"sync", 34, 202});
  lumos_job_free(job);

  job = job_from_text(streams_job);
  /* The event is recorded on s7 by launch3 4-14 instead: the stream's wait of the same instant, 14, sees it. */
  uint32_t record = task_named(job, "launch3");
  job->tasks.items[task_named(job, "work")].dur = 4;
  struct lumos_detail *detail = lumos_task_detail(job, &job->tasks.items[record]);
  detail->event_op = LUMOS_EVENT_RECORD;
  detail->event_lane = job->tasks.items[task_named(job, "K0")].lane;
  job->details.items[job->tasks.items[task_named(job, "wait")].detail].wait.record = record;
  job->tasks.items[task_named(job, "K3")].call = task_named(job, "launch2"); /* which takes effect at 34 */
  CHECK(job, false, {"launch3", 4, 14}, {"K1", 117, 167});
  job->tasks.items[task_named(job, "work")].dur =
      5; /* one later, and the wait has nothing to wait for: launch 26 + 1 */
  CHECK(job, false, {"launch3", 5, 15}, {"K1", 27, 77});
  lumos_job_free(job);
}

static void an_event_holds_what_comes_next_and_no_more(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_dep dep = job->deps.items[2];
  assert_int_equal(dep.kind, LUMOS_DEP_EVENT);
  dep.dst = task_named(job, "K3");
  dep.lag = 100; /* of no use: K1 has taken the wait */
  lumos_vector_push(&job->deps, dep);
  CHECK(job, false, {"K1", 117, 167}, {"K3", 169, 199});
  /* Where the record does not say on which stream it stands the wait does. */
  job->details.items[job->tasks.items[task_named(job, "record")].detail].event_lane = LUMOS_NONE;
  CHECK(job, false, {"K1", 117, 167});
  job->details.items[job->tasks.items[task_named(job, "wait")].detail].wait.lane = LUMOS_NONE;
  CHECK(job, false, {"K1", 27, 77});
  /* By the event's id alone; of two records the latest before the wait. */
  struct lumos_detail *wait = &job->details.items[job->tasks.items[task_named(job, "wait")].detail];
  lumos_string_id id = lumos_intern_text(job->strings, "12");
  wait->wait.record = LUMOS_NONE;
  wait->event_id = id;
  struct lumos_detail *record = &job->details.items[job->tasks.items[task_named(job, "record")].detail];
  record->event_id = id;
  record->event_lane = job->tasks.items[task_named(job, "K0")].lane;
  CHECK(job, false, {"K1", 117, 167});
  struct lumos_detail *second = lumos_task_detail(job, &job->tasks.items[task_named(job, "work")]);
  second->event_op = LUMOS_EVENT_RECORD; /* of s20, on which there is nothing yet */
  second->event_id = id;
  second->event_lane = job->tasks.items[task_named(job, "K1")].lane;
  job->tasks.items[task_named(job, "work")].dur = 13;
  /* Nothing to wait for; launch3 13-23 now comes before launch1: K3 23 + 2, and K1 behind it 55, residual 1. */
  CHECK(job, false, {"K3", 25, 55}, {"K1", 56, 106});
  lumos_job_free(job);
}

static void two_threads_change_places_on_a_stream(void **state) {
  (void)state;
  struct lumos_job *job = scaled(streams_job, "name~^work$=0.2");
  /* launch3 8-18 comes before launch1 ends (24), and behind the stream's wait (14): K3 waits for K0, 112 without a
   * stored latency. K1: behind K3 142 + gap 0, residual 1. sync waits for K1, the stream's last at 34. */
  CHECK(job, false, {"K3", 112, 142}, {"K1", 143, 193}, {"sync", 34, 196}, {"after", 201, 208}, {"K2", 113, 133});
  lumos_job_free(job);
}

static void host_scales_lags_and_of_waits_the_residual(void **state) {
  (void)state;
  struct lumos_job *job = scaled(streams_job, "host=2");
  /* launch0 0-20, record 20-24, wait 24-28, launch1 28-48, launch2 48-68; launch3 80-100. */
  CHECK(job, false, {"launch2", 48, 68}, {"K0", 22, 122}, {"K1", 127, 177}, {"K2", 123, 143}, {"sync", 68, 183},
        {"after", 193, 207}, {"launch3", 80, 100}, {"K3", 179, 209});
  lumos_job_free(job);
}

static void work_that_takes_no_time_leaves_the_host(void **state) {
  (void)state;
  struct lumos_job *job = scaled(streams_job, "device=0");
  CHECK(job, false, {"K0", 12, 12}, {"K1", 27, 27}, {"K2", 36, 36}, {"sync", 34, 37}, {"after", 42, 49},
        {"K3", 52, 52});
  lumos_job_free(job);
}

static void a_faster_straggler_lets_its_peer_wait_less(void **state) {
  (void)state;
  struct lumos_job *job = scaled(ranks_job, "rank=1,kind=gemm=0.5");
  /* B 11-56, C1 from 58; C0 from 63 is the last: 63 + 40 = 103, C0 1 later. */
  CHECK(job, false, {"B", 11, 56}, {"C1", 58, 103}, {"C0", 63, 104}, {"after0", 108, 113}, {"after1", 112, 117});
  lumos_job_free(job);
}

static void one_member_selects_the_collective_and_its_transfer_is_scaled(void **state) {
  (void)state;
  struct lumos_job *job = scaled(ranks_job, "kind=collective,rank=0=0.5");
  CHECK(job, false, {"C0", 63, 124}, {"C1", 103, 123}, {"after0", 128, 133}, {"after1", 132, 137});
  lumos_job_free(job);
}

static void rooted_collectives_wait_for_or_at_the_root(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  struct lumos_collective *collective = &job->collectives.items[0];
  collective->rule = LUMOS_ROOTED;
  collective->op = lumos_intern_text(job->strings, "broadcast");
  collective->root = 1;
  /* The root keeps its 40; the other ends 40 after the root's start at 103, + 1. */
  CHECK(job, false, {"C1", 103, 143}, {"C0", 63, 144});
  collective->root = 0;
  /* Nobody waits at the root: C0 keeps its 81; C1 starts after it and has the transfer before it. */
  CHECK(job, false, {"C0", 63, 144}, {"C1", 103, 143});
  collective->op = lumos_intern_text(job->strings, "reduce");
  CHECK(job, false, {"C0", 63, 144}, {"C1", 103, 143}); /* the root waits for C1: 103 + 40, + 1 */
  collective->op = lumos_intern_text(job->strings, "broadcast");
  job->tasks.items[task_named(job, "B")].dur = 10; /* C1 now from 23: it waits for the root's 63 */
  CHECK(job, false, {"C1", 23, 103}, {"C0", 63, 144});
  collective->op = lumos_intern_text(job->strings, "reduce");
  /* The root waits for all: 63 + 40, + 1. C1 keeps its 40. */
  CHECK(job, false, {"C1", 23, 63}, {"C0", 63, 104});
  lumos_job_free(job);
}

static void a_kernel_of_several_pairs_ends_with_the_last(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  /* A second collective over the same two kernels, with a longer transfer. */
  struct lumos_collective second = job->collectives.items[0];
  job->collectives.items[0].rule = LUMOS_BATCHED;
  second.rule = LUMOS_BATCHED;
  second.id++;
  second.transfer = 70;
  lumos_vector_push(&job->collectives, second);
  CHECK(job, false, {"C0", 63, 174}, {"C1", 103, 173});
  lumos_job_free(job);
}

static void an_event_wait_of_the_host_sees_what_the_record_preceded(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_wait *wait = &job->details.items[job->tasks.items[task_named(job, "sync")].detail].wait;
  wait->on = LUMOS_WAIT_EVENT;
  wait->record = task_named(job, "record");
  CHECK(job, false, {"sync", 34, 115}, {"after", 120, 127}); /* K0 ends at 112 */
  wait->on = LUMOS_WAIT_DEVICE;
  CHECK(job, false, {"sync", 34, 170}, {"after", 175, 182}); /* K1 at 167 is the last of those launched */
  lumos_job_free(job);
}

static void a_blocking_copy_leaves_from_its_start_and_waits_for_itself(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(copies_job);
  /* backlog 6-11 is on the stream from the beginning; the copy: launch 0 + 4, behind it 11 + 1; the call ends at 32
   * + 3. `lost` keeps its place behind the copy: 32 + 1. overlapping: launch 41 - 20, behind lost 43 - 3. */
  CHECK(job, false, {"backlog", 6, 11}, {"copy", 12, 32}, {"cudaMemcpy", 0, 35}, {"launch", 37, 41}, {"lost", 33, 43},
        {"overlapping", 40, 50});
  /* A negative lag goes back to the start of what it follows, not before: lost is 2 long, from 43, and overlapping
   * starts with it. */
  uint32_t lost = task_named(job, "lost");
  job->tasks.items[lost].dur = 2;
  lumos_task_timing(job, &job->tasks.items[lost])->residual = 10;
  CHECK(job, false, {"lost", 43, 45}, {"overlapping", 43, 53});
  /* Nor before its launch, which begins at 37: lost 33-35 would let it start at 33. */
  lumos_task_timing(job, &job->tasks.items[lost])->residual = 0;
  CHECK(job, false, {"lost", 33, 35}, {"launch", 37, 41}, {"overlapping", 37, 47});
  lumos_job_free(job);
}

static void a_wait_does_not_see_what_comes_later_even_if_it_hears_late(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(late_job);
  /* sync's end, 51 + 4, is known only at 300, when D has long been launched: `again` looks at 55, and D came at 210. */
  CHECK(job, false, {"C0", 10, 51}, {"C1", 11, 51}, {"sync", 10, 55}, {"again", 55, 57}, {"D", 211, 311});
  lumos_job_free(job);
}

static void hand_overs_hold_and_cover(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(copies_job);
  /* `launch` waits for the copy's end + 30 = 62, and 1 of its lag of 2 is that: 35 + 1 is earlier. */
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = task_named(job, "copy");
  dep.dst = task_named(job, "launch");
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.lag = 30;
  dep.covers = 1;
  dep.mode = LUMOS_FIXED;
  dep.evidence = LUMOS_INFERRED;
  lumos_vector_push(&job->deps, dep);
  int64_t *own = &lumos_task_detail(job, &job->tasks.items[dep.dst])->own_lag;
  *own = 1;
  CHECK(job, false, {"launch", 62, 66});
  job->deps.items[job->deps.count - 1].lag = 0;
  CHECK(job, false, {"launch", 36, 40});
  *own = 0; /* all of it is the other thread's time */
  CHECK(job, false, {"launch", 35, 39});
  *own = 1;
  /* On the end of its target it stretches it: the launch from 36 ends with the copy's start 12 + 50. */
  job->deps.items[job->deps.count - 1].from = LUMOS_START;
  job->deps.items[job->deps.count - 1].to = LUMOS_END;
  job->deps.items[job->deps.count - 1].lag = 50;
  CHECK(job, false, {"launch", 36, 62});
  lumos_job_free(job);
}

static void a_call_of_several_segments_starts_with_the_first(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  uint32_t last = task_named(job, "launch2");
  lumos_task_detail(job, &job->tasks.items[last])->first_segment = task_named(job, "launch1");
  lumos_task_timing(job, &job->tasks.items[task_named(job, "K2")])->launch_from = LUMOS_START;
  job->tasks.items[task_named(job, "K0")].dur = 1;
  CHECK(job, false, {"K2", 16, 36}); /* launch1's start 14 + 2; behind K0 only from 14 on */
  lumos_job_free(job);
}

static void a_deadlock_is_told_as_its_cycle(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  /* launch0 waits for launch3, work for after: launch0 -> launch3 -> work -> after -> sync ... -> launch0. */
  struct lumos_dep dep = lumos_dep_empty;
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.mode = LUMOS_FIXED;
  dep.src = task_named(job, "launch3");
  dep.dst = task_named(job, "launch0");
  lumos_vector_push(&job->deps, dep);
  dep.src = task_named(job, "after");
  dep.dst = task_named(job, "work");
  lumos_vector_push(&job->deps, dep);
  struct lumos_run runs[16];
  struct lumos_error error = {0};
  assert_false(lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error));
  assert_non_null(
      strstr(error.text,
             "launch0 (0:0) waits for launch3 (0:8) waits for work (0:7) waits for after (0:6) waits for sync (0:5) "
             "waits for launch2 (0:4) waits for launch1 (0:3) waits for wait (0:2) waits for record (0:1) waits "
             "for launch0 (0:0);"));
  lumos_job_free(job);
}

static void collectives_in_opposite_order_are_a_deadlock(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(ranks_job);
  /* A and B become a second collective; on rank 0 it comes first, and on rank 1 last once its two kernels change
   * places. */
  struct lumos_collective second = job->collectives.items[0];
  const uint32_t members[] = {task_named(job, "A"), task_named(job, "C1")};
  second.member_first = (uint32_t)job->members.count;
  lumos_vector_push(&job->members, members[0]);
  lumos_vector_push(&job->members, members[1]);
  lumos_vector_push(&job->collectives, second);
  job->members.items[1] = task_named(job, "B"); /* the first now joins C0 and B */
  struct lumos_run runs[16];
  struct lumos_error error = {0};
  assert_false(lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error));
  assert_non_null(
      strstr(error.text, "A (0:4) waits for C1 (1:5) waits for B (1:4) waits for C0 (0:5) waits for A (0:4);"));
  lumos_job_free(job);
}

static void times_beyond_the_stream_are_refused(void **state) {
  (void)state;
  struct lumos_job *job = job_from_text(streams_job);
  job->tasks.items[task_named(job, "work")].dur = (INT64_C(1) << 53) - 1;
  struct lumos_run runs[16];
  struct lumos_error error = {0};
  assert_false(lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error));
  assert_non_null(strstr(error.text, "2^53"));
  job->stage = LUMOS_STAGE_PARSE;
  assert_false(lumos_engine_run(job, &(struct lumos_sim_options){0}, runs, &error));
  assert_non_null(strstr(error.text, "lumos-graph"));
  lumos_job_free(job);
}

static void clocks_round_to_the_nearest_nanosecond(void **state) {
  (void)state;
  struct lumos_rank rank = lumos_rank_empty;
  rank.clock = (struct lumos_clock){.known = true, .offset = 100, .device_offset = -7, .drift_ppb = 1500};
  assert_int_equal(lumos_host_job_time(&rank, 1000000), 1000000 + 100 + 2); /* 1.5, away from zero */
  assert_int_equal(lumos_host_job_time(&rank, -1000000), -1000000 + 100 - 2);
  assert_int_equal(lumos_device_job_time(&rank, 900000), 900000 + 100 + 1 - 7); /* 1.35 */
  rank.clock.drift_ppb = INT64_C(1) << 52;                                      /* absurd: no overflow */
  assert_int_equal(lumos_host_job_time(&rank, (INT64_C(1) << 53) - 1), (INT64_C(1) << 54) + 99);
  rank.clock.known = false;
  assert_int_equal(lumos_device_job_time(&rank, 5), 5);
}

static void drift_does_not_add_up(void **state) {
  (void)state;
  /* A clock that runs 0.1 % fast: job time of an instant t is t + t / 1000, of the last task's start 175000 + 175.
   * Durations between are rounded one by one, and still every thread start comes back to the nanosecond. */
  struct lumos_job *job = job_from_text(streams_job);
  job->ranks.items[0].clock = (struct lumos_clock){.known = true, .drift_ppb = 1000000, .error = LUMOS_ABSENT};
  for (size_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    task->start *= 1000;
    task->dur *= 1000;
    task->lag *= 1000;
  }
  job->details.items[job->tasks.items[task_named(job, "sync")].detail].wait.residual =
      LUMOS_ABSENT; /* its length is kept */
  CHECK(job, false, {"launch1", 14014, 24024}, {"sync", 34034, 170170}, {"after", 175175, 182182},
        {"launch3", 40040, 50050});
  lumos_job_free(job);
}

/* A last wave is a share of the kernel, and at most all of it; what came behind its end comes as long behind it. */
static void room_is_made_by_the_same_share_of_a_kernel(void **state) {
  (void)state;
  const struct lumos_room wave = {-20, 100}, behind = {3000, 100}, longer = {-(INT64_C(1) << 52), 1};
  assert_int_equal(lumos_room_lag(wave, 100), -20);
  assert_int_equal(lumos_room_lag(wave, 50), -10);
  assert_int_equal(lumos_room_lag(wave, 0), 0);
  assert_int_equal(lumos_room_lag(behind, 1000), 3000);
  assert_int_equal(lumos_room_lag(behind, 0), 3000);
  assert_int_equal(lumos_room_lag(longer, INT64_C(1) << 52), -(INT64_C(1) << 52));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(room_is_made_by_the_same_share_of_a_kernel),
      cmocka_unit_test(every_measured_start_and_end_comes_back_with_the_residuals),
      cmocka_unit_test(without_residuals_typical_values_take_their_place),
      cmocka_unit_test(a_shorter_kernel_lets_launches_bind),
      cmocka_unit_test(a_residual_takes_no_task_before_its_launch_or_the_previous_one),
      cmocka_unit_test(a_wait_binds_to_what_is_there_when_it_looks),
      cmocka_unit_test(what_takes_effect_at_an_instant_is_there_for_waits_of_that_instant),
      cmocka_unit_test(an_event_holds_what_comes_next_and_no_more),
      cmocka_unit_test(two_threads_change_places_on_a_stream),
      cmocka_unit_test(host_scales_lags_and_of_waits_the_residual),
      cmocka_unit_test(work_that_takes_no_time_leaves_the_host),
      cmocka_unit_test(a_faster_straggler_lets_its_peer_wait_less),
      cmocka_unit_test(one_member_selects_the_collective_and_its_transfer_is_scaled),
      cmocka_unit_test(rooted_collectives_wait_for_or_at_the_root),
      cmocka_unit_test(a_kernel_of_several_pairs_ends_with_the_last),
      cmocka_unit_test(an_event_wait_of_the_host_sees_what_the_record_preceded),
      cmocka_unit_test(a_blocking_copy_leaves_from_its_start_and_waits_for_itself),
      cmocka_unit_test(a_wait_does_not_see_what_comes_later_even_if_it_hears_late),
      cmocka_unit_test(hand_overs_hold_and_cover),
      cmocka_unit_test(a_call_of_several_segments_starts_with_the_first),
      cmocka_unit_test(a_deadlock_is_told_as_its_cycle),
      cmocka_unit_test(collectives_in_opposite_order_are_a_deadlock),
      cmocka_unit_test(times_beyond_the_stream_are_refused),
      cmocka_unit_test(clocks_round_to_the_nearest_nanosecond),
      cmocka_unit_test(drift_does_not_add_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
