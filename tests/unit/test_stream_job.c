/* What a job does without a stream: notes, history, order, going back, and the names of enumerations. */
#include "job/names.h"
#include "job/order.h"
#include "stream_unit.h"

static const char *text_of(const struct lumos_job *job, lumos_string_id string) {
  return lumos_string(job->strings, string);
}

static void notes_of_the_same_words_and_scope_add_up(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = 3;
  lumos_job_note(job, "parse.x", LUMOS_INFO, 2, NULL, "text", NULL);
  lumos_job_note(job, "parse.x", LUMOS_INFO, 5, &scope, "text", "cure");
  lumos_job_note(job, "parse.x", LUMOS_INFO, 7, NULL, "text", NULL);
  lumos_job_note(job, "parse.x", LUMOS_INFO, 1, NULL, "other text", NULL);
  lumos_job_note(job, "parse.y", LUMOS_INFO, LUMOS_ABSENT, NULL, "text", NULL);
  lumos_job_note(job, "parse.y", LUMOS_INFO, LUMOS_ABSENT, NULL, "text", NULL);
  lumos_job_note(job, "parse.y", LUMOS_INFO, 4, NULL, "text", NULL);
  assert_int_equal(job->notes.count, 4);
  assert_int_equal(job->notes.items[0].count, 9);
  assert_int_equal(job->notes.items[1].count, 5);
  assert_string_equal(text_of(job, job->notes.items[1].cure), "cure");
  assert_int_equal(job->notes.items[2].count, 1);
  assert_int_equal(job->notes.items[3].count, 4);
  lumos_job_free(job);
}

static void history_names_inputs_without_folders_sorted_once(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  const char *const inputs[] = {"/data/run/rank2.json", "b.json", "rank10.json", "old/b.json"};
  lumos_job_history(job, "lumos-parse", "--steps 2", inputs, 4);
  assert_false(lumos_job_edited(job));
  lumos_job_history(job, "lumos-transform", "", NULL, 0);
  assert_false(lumos_job_edited(job)); /* without options it changes nothing */
  assert_true(lumos_job_has_tool(job, LUMOS_STAGE_TRANSFORM));
  expect_stream(job, "{\"type\":\"lumos\",\"format\":1,\"stage\":\"parse\",\"epoch\":\"0\",\"history\":["
                     "{\"tool\":\"lumos-parse\",\"version\":\"" LUMOS_VERSION "\",\"args\":\"--steps 2\",\"inputs\":["
                     "\"b.json\",\"rank10.json\",\"rank2.json\"]},"
                     "{\"tool\":\"lumos-transform\",\"version\":\"" LUMOS_VERSION "\",\"args\":\"\",\"inputs\":[]}]}\n"
                     "{\"type\":\"end\",\"counts\":{\"lumos\":1,\"end\":1}}\n");
  lumos_job_free(job);
}

static void natural_order_is_a_total_order(void **state) {
  (void)state;
  struct lumos_strings *strings = lumos_strings_new();
  static const char *const ascending[] = {
      "0",  "00", "2", "007", "7",   "10", "99999999999999999999", "100000000000000000000", "", "-1", "10a",
      "1a", "2b", "a", "a1",  "a10", "a2"};
  enum { COUNT = sizeof ascending / sizeof *ascending };
  for (size_t i = 0; i < COUNT; i++) {
    assert_true(lumos_compare_natural(strings, LUMOS_NO_STRING, lumos_intern_text(strings, ascending[i])) < 0);
    for (size_t j = 0; j < COUNT; j++) {
      int order = lumos_compare_natural(strings, lumos_intern_text(strings, ascending[i]),
                                        lumos_intern_text(strings, ascending[j]));
      if ((order < 0) != (i < j) || (order == 0) != (i == j)) {
        fail_msg("\"%s\" and \"%s\" compare as %d", ascending[i], ascending[j], order);
      }
    }
  }
  assert_int_equal(lumos_compare_natural(strings, LUMOS_NO_STRING, LUMOS_NO_STRING), 0);
  lumos_strings_free(strings);
}

/* Two ranks, given backwards, with references through each other. */
static void disorder(struct lumos_job *job) {
  struct lumos_rank rank = job->ranks.items[0];
  job->ranks.items[0] = job->ranks.items[1];
  job->ranks.items[1] = rank;
  job->groups.items[0].rank = 1;
  for (size_t i = 0; i < job->lanes.count; i++) {
    job->lanes.items[i].rank ^= 1U;
  }
  for (size_t i = 0; i < job->spans.count; i++) {
    job->spans.items[i].rank ^= 1U;
  }
  /* Lane p77.t9 becomes "11": it moves behind t10. */
  job->lanes.items[0].native = lumos_intern_text(job->strings, "11");
  /* Task 0:2 moves to the front of its lane. */
  job->tasks.items[0].seq = 10;
  job->tasks.items[3].seq = 0;
  /* A member twice as a member list backwards, and another collective before. */
  uint32_t member = job->members.items[0];
  job->members.items[0] = job->members.items[1];
  job->members.items[1] = member;
  struct lumos_collective first = job->collectives.items[0];
  first.id = 2;
  lumos_vector_push(&job->collectives, first);
}

static void arrange_sorts_and_renames_every_reference(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = stream_good(full_stream);
  disorder(job);
  assert_true(lumos_job_arrange(job, &error));
  if (!lumos_job_check(job, &error)) {
    fail_msg("%s", error.text);
  }
  char *text = stream_text(job);
  struct lumos_job *again = stream_good(text);
  expect_stream(again, text);
  static const uint32_t order[] = {3, 6, 2, 1, 7, 0, 4, 5};
  for (size_t i = 0; i < 8; i++) {
    assert_int_equal(job->tasks.items[i].id, order[i]);
  }
  assert_string_equal(text_of(job, job->lanes.items[0].lane), "t10");
  assert_int_equal(lumos_detail_of(job, &job->tasks.items[0])->wait.record, 2);
  assert_int_equal(lumos_detail_of(job, &job->tasks.items[4])->first_segment, 3);
  assert_int_equal(job->tasks.items[7].call, 4);
  assert_int_equal(lumos_timing_of(job, 7)->launch_lag, 12);
  assert_int_equal(job->runs.items[7].start, 61);
  assert_int_equal(job->spans.items[0].lane, 1);
  assert_int_equal(job->deps.items[1].src, 5);
  assert_int_equal(job->deps.items[1].dst, 0);
  assert_int_equal(job->collectives.items[0].id, 2);
  assert_int_equal(job->members.items[0], 7);
  assert_int_equal(job->members.items[1], 8);
  assert_int_equal(job->ranks.items[0].task_count, 8);
  assert_int_equal(job->lanes.items[1].task_first, 2);
  assert_int_equal(job->lanes.items[1].task_count, 4);
  assert_int_equal(lumos_job_rank(job, 0), 0);
  assert_int_equal(lumos_job_rank(job, 1), 1);
  assert_int_equal(lumos_job_rank(job, 2), LUMOS_NONE);
  lumos_job_free(again);
  lumos_job_free(job);
  free(text);
}

static void ids_far_apart_are_found_as_well(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = stream_good(full_stream);
  job->tasks.items[0].id = 4000000000U;
  struct lumos_id_map *maps = NULL;
  uint32_t rank = 0;
  uint32_t id = 0;
  assert_true(lumos_map_tasks(job, &maps, &rank, &id));
  assert_int_equal(lumos_id_map_find(&maps[0], 4000000000U), 0);
  assert_int_equal(lumos_id_map_find(&maps[0], 7), 2);
  assert_int_equal(lumos_id_map_find(&maps[0], 0), LUMOS_NONE);
  assert_int_equal(lumos_id_map_find(&maps[0], UINT32_MAX - 1), LUMOS_NONE);
  assert_int_equal(lumos_id_map_find(&maps[1], 0), 8);
  assert_int_equal(lumos_id_map_find(&maps[1], 4000000000U), LUMOS_NONE);
  lumos_id_maps_free(maps, 2);
  job->tasks.items[1].id = 4000000000U;
  assert_false(lumos_job_arrange(job, &error));
  assert_non_null(strstr(error.text, "task 0:4000000000 is given twice"));
  lumos_job_free(job);
}

/* What is left of the full stream's lines at each stage: struck out by hand from FULL_TASKS0 and the others. */
static void going_back_drops_what_later_stages_wrote(void **state) {
  (void)state;
  struct lumos_job *job = stream_good(full_stream);
  lumos_job_rewind(job, LUMOS_STAGE_SIM);
  expect_stream(job, full_stream);
  lumos_job_rewind(job, LUMOS_STAGE_TRANSFORM);
  char *text = stream_text(job);
  assert_non_null(strstr(text, "\"stage\":\"transform\""));
  assert_null(strstr(text, "sim"));
  assert_null(strstr(text, "\"metric\""));
  assert_non_null(strstr(
      text,
      "\"from\":\"1:0\",\"was\":801,\"dur_source\":\"scaled\",\"dur_error\":0.125,\"common_error\":\"gpu.copy\"}"));
  assert_non_null(strstr(text, "\"note\":1,"));
  free(text);
  lumos_job_rewind(job, LUMOS_STAGE_GRAPH);
  text = stream_text(job);
  assert_null(strstr(text, "\"was\""));
  assert_null(strstr(text, "dur_source"));
  assert_null(strstr(text, "represents"));
  assert_non_null(strstr(text, "\"launch_lag\":12"));
  assert_non_null(strstr(text, "\"residual\":3"));
  assert_non_null(strstr(text, "lumos-transform")); /* durations are still what it made them */
  free(text);
  lumos_job_rewind(job, LUMOS_STAGE_PARSE);
  lumos_job_rewind(job, LUMOS_STAGE_SIM); /* not ahead */
  text = stream_text(job);
  static const char *const gone[] = {"parallel",    "clock",    "collectives", "joined\"",
                                     "gap",         "launch_",  "residual",    "phase",
                                     "micro_batch", "layer",    "\"dep\"",     "\"collective\",\"id\"",
                                     "graph",       "\"role\"", "\"model\""};
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
    if (strstr(text, gone[i]) != NULL) {
      fail_msg("%s is still there", gone[i]);
    }
  }
  assert_non_null(strstr(text, "\"stage\":\"parse\""));
  assert_non_null(strstr(text, "\"wait\":{\"on\":\"event\",\"lane\":\"s7\",\"record\":\"0:2\"}"));
  assert_non_null(strstr(text, "\"x\":1"));
  struct lumos_job *again = stream_good(text);
  expect_stream(again, text);
  lumos_job_free(again);
  lumos_job_free(job);
  free(text);
}

static void a_lane_that_graph_inferred_for_a_wait_goes_with_it(void **state) {
  (void)state;
  struct lumos_job *job = stream_good(full_stream);
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = 6;
  dep.dst = 4;
  dep.kind = LUMOS_HOST_WAIT;
  dep.evidence = LUMOS_INFERRED;
  lumos_vector_push(&job->deps, dep);
  lumos_job_rewind(job, LUMOS_STAGE_PARSE);
  assert_int_equal(lumos_detail_of(job, &job->tasks.items[4])->wait.lane, LUMOS_NONE);
  assert_int_equal(lumos_detail_of(job, &job->tasks.items[4])->wait.on, LUMOS_WAIT_EVENT);
  lumos_job_free(job);
}

static void names_lead_back_to_values(void **state) {
  (void)state;
  assert_string_equal(lumos_task_kind_name(LUMOS_GEMM), "gemm");
  assert_string_equal(lumos_task_kind_name(LUMOS_OTHER_DEVICE), "other");
  assert_string_equal(lumos_task_kind_name(LUMOS_OTHER_HOST), "other");
  assert_string_equal(lumos_task_kind_name((enum lumos_task_kind)0), "");
  assert_string_equal(lumos_task_kind_name(LUMOS_TASK_KINDS), "");
  assert_string_equal(lumos_level_name(LUMOS_SERIOUS), "error");
  assert_string_equal(lumos_source_name(LUMOS_METRIC_PREDICTED), "predicted");
  assert_int_equal(lumos_names_find(&lumos_task_kind_names, LITERAL("alloc")), LUMOS_ALLOC);
  assert_int_equal(lumos_names_find(&lumos_task_kind_names, LITERAL("allo")), -1);
  assert_int_equal(lumos_names_find(&lumos_task_kind_names, LITERAL("")), -1);
  assert_int_equal(lumos_names_find(&lumos_clock_evidence_names, LITERAL("none")), 0);
}

static void streams_are_opened_and_joined(void **state) {
  (void)state;
  struct lumos_error error = {0};
  char *folder = unit_folder_new();
  char *whole = unit_path(folder, "whole.jsonl");
  char *trace = unit_path(folder, "trace.json");
  char *empty = unit_path(folder, "empty.jsonl");
  unit_write_file(whole, full_stream, sizeof full_stream - 1);
  unit_write_file(trace, LITERAL("{\"schemaVersion\":1,\"traceEvents\":[]}"));
  unit_write_file(empty, "", 0);
  struct lumos_job *job = lumos_streams_open((const char *const[]){whole}, 1, NULL, &error);
  assert_non_null(job);
  expect_stream(job, full_stream);
  lumos_job_free(job);
  assert_null(lumos_streams_open((const char *const[]){whole, trace}, 2, NULL, &error));
  assert_non_null(strstr(error.text, "trace.json: is not a Lumos stream but looks like a Kineto trace"));
  assert_null(lumos_streams_open((const char *const[]){empty}, 1, NULL, &error));
  assert_non_null(strstr(error.text, "empty.jsonl: is empty"));
  assert_null(lumos_streams_open((const char *const[]){whole, whole}, 2, NULL, &error));
  assert_non_null(strstr(error.text, "lumos-transform has changed"));
  assert_null(lumos_streams_open((const char *const[]){"/nowhere/x"}, 1, NULL, &error));
  free(empty);
  free(trace);
  free(whole);
  unit_folder_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(notes_of_the_same_words_and_scope_add_up),
      cmocka_unit_test(history_names_inputs_without_folders_sorted_once),
      cmocka_unit_test(natural_order_is_a_total_order),
      cmocka_unit_test(arrange_sorts_and_renames_every_reference),
      cmocka_unit_test(ids_far_apart_are_found_as_well),
      cmocka_unit_test(going_back_drops_what_later_stages_wrote),
      cmocka_unit_test(a_lane_that_graph_inferred_for_a_wait_goes_with_it),
      cmocka_unit_test(names_lead_back_to_values),
      cmocka_unit_test(streams_are_opened_and_joined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
