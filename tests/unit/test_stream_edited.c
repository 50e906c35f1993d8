/* Streams that were changed on their way: refused, or with --edited read for what is left. */
#include "stream_unit.h"

enum { MOST_LINES = 64 };

/* The lines of a text, with their ends. */
static size_t split(const char *text, const char *lines[MOST_LINES], size_t lengths[MOST_LINES]) {
  size_t count = 0;
  while (*text != '\0') {
    lines[count] = text;
    lengths[count] = strcspn(text, "\n") + 1;
    text += lengths[count++];
  }
  return count;
}

static const struct lumos_note *edit_note(const struct lumos_job *job) {
  for (size_t i = 0; i < job->notes.count; i++) {
    if (strcmp(lumos_string(job->strings, job->notes.items[i].code), "parse.edited_stream") == 0) {
      return &job->notes.items[i];
    }
  }
  return NULL;
}

static void a_stream_without_any_one_line_is_refused_or_read(void **state) {
  (void)state;
  const char *lines[MOST_LINES];
  size_t lengths[MOST_LINES];
  size_t count = split(full_stream, lines, lengths);
  for (size_t gone = 0; gone < count; gone++) {
    struct lumos_error error = {0};
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    for (size_t i = 0; i < count; i++) {
      lumos_text_add(&text, lines[i], i == gone ? 0 : lengths[i]);
    }
    assert_null(stream_from(text.bytes, text.length, false, &error));
    struct lumos_job *job = stream_from(text.bytes, text.length, true, &error);
    if (gone == 0 || gone == count - 1) {
      assert_null(job); /* without a header or an end there is nothing to go by */
    } else {
      assert_non_null(job);
      assert_non_null(edit_note(job));
      char *again = stream_text(job);
      struct lumos_job *second = stream_good(again);
      expect_stream(second, again);
      lumos_job_free(second);
      free(again);
    }
    lumos_job_free(job);
    lumos_text_free(&text);
  }
}

/* Without its call, its first segment and the event's record (lines 0:7, 0:1, 0:2). */
static void what_referred_to_missing_tasks_is_dropped_as_worked_out(void **state) {
  (void)state;
  struct lumos_error error = {0};
  const char *lines[MOST_LINES];
  size_t lengths[MOST_LINES];
  size_t count = split(full_stream, lines, lengths);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < count; i++) {
    bool gone = strstr(lines[i], "\"id\":\"0:1\"") == strstr(lines[i], "\"id\":") ||
                strstr(lines[i], "\"id\":\"0:7\"") == strstr(lines[i], "\"id\":") ||
                strstr(lines[i], "\"id\":\"0:2\"") == strstr(lines[i], "\"id\":");
    lumos_text_add(&text, lines[i], gone && i > 8 && i < 16 ? 0 : lengths[i]);
  }
  struct lumos_job *job = stream_from(text.bytes, text.length, true, &error);
  assert_non_null(job);
  /* 1 count; 2 references: of 0:5 to its call, of 0:3 to the record (its residual goes with it); no record fell. */
  const struct lumos_note *note = edit_note(job);
  assert_int_equal(note->count, 3);
  assert_string_equal(lumos_string(job->strings, note->text),
                      "The stream was changed on its way. Types of records with another count than its end says: 1; "
                      "references to records that are gone: 2; records dropped with them: 0.");
  job->notes.count--;
  char *expected = with_change(full_stream, ",\"record\":\"0:2\",\"residual\":3", "");
  char *more = with_change(expected, "\"origin\":\"launched\",\"call\":\"0:7\"", "\"origin\":\"not_recorded\"");
  char *last = with_change(more, "\"task\":9", "\"task\":6");
  struct lumos_text kept = LUMOS_TEXT_BUFFER;
  count = split(last, lines, lengths);
  for (size_t i = 0; i < count; i++) {
    lumos_text_add(&kept, lines[i], i >= 10 && i <= 12 ? 0 : lengths[i]);
  }
  lumos_text_char(&kept, '\0');
  expect_stream(job, kept.bytes);
  lumos_job_free(job);
  lumos_text_free(&kept);
  lumos_text_free(&text);
  free(last);
  free(more);
  free(expected);
}

/* Without rank 1 its lane and task fall, the collective keeps one member. */
static void what_belonged_to_a_missing_rank_goes(void **state) {
  (void)state;
  struct lumos_error error = {0};
  char *text = with_change(full_stream, "{\"type\":\"rank\",\"rank\":1,", "{\"type\":\"sank\",\"rank\":1,");
  expect_refused(text, false, "1 more sank records");
  struct lumos_job *job = stream_from(text, strlen(text), true, &error);
  assert_non_null(job);
  assert_int_equal(job->ranks.count, 1);
  assert_int_equal(job->lanes.count, 3);
  assert_int_equal(job->tasks.count, 8);
  assert_int_equal(job->collectives.items[0].member_count, 1);
  assert_int_equal(job->members.items[0], 7);
  /* 2 counts (rank, sank); references of lane to rank, task to lane, member to task; records: lane and task. */
  assert_int_equal(edit_note(job)->count, 2 + 3 + 2);
  lumos_job_free(job);
  free(text);
}

/* Without stream s7 of rank 0 its tasks fall, the boundary of one, the collective's member, the metric of the lane. */
static void what_belonged_to_a_missing_lane_goes(void **state) {
  (void)state;
  struct lumos_error error = {0};
  char *text = with_change(full_stream, "{\"type\":\"lane\",\"rank\":0,\"lane\":\"s7\"",
                           "{\"type\":\"sane\",\"rank\":0,\"lane\":\"s7\"");
  struct lumos_job *job = stream_from(text, strlen(text), true, &error);
  assert_non_null(job);
  assert_int_equal(job->lanes.count, 3);
  assert_int_equal(job->tasks.count, 7);
  assert_int_equal(job->runs.count, 7);
  assert_int_equal(job->deps.count, 1);
  assert_int_equal(job->metrics.count, 1);
  assert_int_equal(job->collectives.items[0].member_count, 1);
  const struct lumos_detail *waiting = lumos_detail_of(job, &job->tasks.items[4]);
  assert_int_equal(waiting->wait.on, LUMOS_WAIT_EVENT);
  assert_int_equal(waiting->wait.lane, LUMOS_NONE);
  assert_int_equal(waiting->wait.residual, LUMOS_ABSENT);
  lumos_job_free(job);
  free(text);
}

/* What a dropped task referred to is never resolved, so nothing of it may stay where references are renamed. */
static void nothing_of_a_dropped_task_stays(void **state) {
  (void)state;
  struct lumos_error error = {0};
  char *text = with_change(full_stream, "{\"type\":\"lane\",\"rank\":0,\"lane\":\"t10\"", "{\"type\":\"t\"");
  char *more = with_change(text, "\"record\":\"0:2\"", "\"record\":\"0:4000000\"");
  struct lumos_job *job = stream_from(more, strlen(more), true, &error);
  assert_non_null(job);
  assert_int_equal(job->tasks.count, 7);
  for (size_t i = 0; i < job->details.count; i++) {
    assert_int_equal(job->details.items[i].wait.record, LUMOS_NONE);
  }
  lumos_job_free(job);
  free(more);
  free(text);
}

static void lines_may_stand_anywhere(void **state) {
  (void)state;
  struct lumos_error error = {0};
  const char *lines[MOST_LINES];
  size_t lengths[MOST_LINES];
  size_t count = split(FULL_HEADER FULL_RANK0 FULL_GROUP FULL_LANES0 FULL_SPANS FULL_TASKS0 FULL_RANK1, lines, lengths);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, FULL_REST "\n" FULL_END);
  while (count-- > 0) {
    lumos_text_add(&text, lines[count], lengths[count]);
  }
  text.length--; /* the last line end */
  struct lumos_job *job = stream_from(text.bytes, text.length, true, &error);
  if (job == NULL) {
    fail_msg("refused: %s", error.text);
    return;
  }
  assert_null(edit_note(job)); /* everything was there */
  expect_stream(job, full_stream);
  lumos_job_free(job);
  lumos_text_free(&text);
}

static void an_edit_excuses_no_nonsense(void **state) {
  (void)state;
  char *text = with_change(full_stream, "\"dur\":790", "\"dur\":-790");
  expect_refused(text, true, "dur: expected an integer of at least 0");
  free(text);
  text = with_change(full_stream, "\"id\":\"0:6\"", "\"id\":\"0:4\"");
  expect_refused(text, true, "task 0:4 is given twice");
  free(text);
  text = with_change(full_stream, FULL_END, FULL_END FULL_END);
  expect_refused(text, true, "a second end record");
  free(text);
  text = with_change(full_stream, FULL_END, "");
  expect_refused(text, true, "without its end record");
  free(text);
  text = with_change(full_stream, FULL_HEADER, "");
  expect_refused(text, true, "there is no lumos record");
  free(text);
  text = with_change(full_stream, "\"parent\":\"0:0\",\"sequence\"", "\"parent\":\"0:3\",\"sequence\"");
  expect_refused(text, true, "its parents go in a circle");
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stream_without_any_one_line_is_refused_or_read),
      cmocka_unit_test(what_referred_to_missing_tasks_is_dropped_as_worked_out),
      cmocka_unit_test(what_belonged_to_a_missing_rank_goes),
      cmocka_unit_test(what_belonged_to_a_missing_lane_goes),
      cmocka_unit_test(nothing_of_a_dropped_task_stays),
      cmocka_unit_test(lines_may_stand_anywhere),
      cmocka_unit_test(an_edit_excuses_no_nonsense),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
