/* No line of a picture strikes through a word. */
#include "sim_jobs.h"

#include "report/content/content.h"
#include "report/content/gantt.h"
#include <lumos/sim.h>

/* A step begins where the axis has its 0. */
static void borders_of_steps_leave_the_axis_readable(void **state) {
  (void)state;
  enum { ASCENT = 90 };
  const struct lumos_report_options options = {0};
  struct lumos_job *job = job_from_text(streams_job);
  struct report_content content;
  struct lumos_error error = {0};
  assert_true(lumos_simulate(job, &error) && report_content_read(job, &options, &content, &error));
  struct report_scene scene;
  report_gantt_scene(&content.timelines, &content.timelines.open, "gantt", &scene);
  size_t borders = 0;
  size_t met = 0; /* numbers of the axis right where a border stands */
  for (size_t i = 0; i < scene.marks.count; i++) {
    const struct report_mark *border = &scene.marks.items[i];
    bool is_border = border->kind == MARK_LINE && border->paint == PAINT_STEP;
    borders += is_border;
    for (size_t k = 0; is_border && k < scene.marks.count; k++) {
      const struct report_mark *text = &scene.marks.items[k];
      if (text->kind == MARK_TEXT && text->style == STYLE_SMALL && text->anchor == ANCHOR_MIDDLE &&
          text->x == border->x) {
        met++;
        assert_true(border->y >= text->y || border->y + border->height <= text->y - ASCENT);
      }
    }
  }
  assert_true(borders >= 2 && met >= 1);
  report_scene_free(&scene);
  report_content_free(&content);
  lumos_job_free(job);
}

/* K2 waits for what is not recorded, K1 for nobody knows what, K3 for the SMs that K2 holds. */
static struct lumos_job *doubtful_job(void) {
  static const char more[] = "{'type':'dep','at':2150,'dst':'0:10','kind':'boundary','from':'start','to':'start','lag':"
                             "0,'evidence':'unexplained',"
                             "'mode':'fixed'}\n"
                             "{'type':'dep','src':'0:10','dst':'0:12','kind':'resource','from':'end','to':'start','lag'"
                             ":20,'evidence':'inferred',"
                             "'mode':'run_time'}\n";
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, streams_job);
  lumos_text_put(&text, more);
  lumos_text_char(&text, '\0');
  char *residual = strstr(text.bytes, "'residual':1}");
  assert_non_null(residual);
  struct lumos_text whole = LUMOS_TEXT_BUFFER;
  lumos_text_add(&whole, text.bytes, (size_t)(residual - text.bytes));
  lumos_text_put(&whole, "'residual':2001}");
  lumos_text_put(&whole, residual + strlen("'residual':1}"));
  lumos_text_char(&whole, '\0');
  struct lumos_job *job = job_from_text(whole.bytes);
  lumos_text_free(&text);
  lumos_text_free(&whole);
  return job;
}

static size_t runs_of(const struct report_scene *scene, enum report_paint paint) {
  size_t runs = 0;
  bool optional = false;
  for (size_t i = 0; i < scene->marks.count; i++) {
    const struct report_mark *mark = &scene->marks.items[i];
    optional = mark->kind == MARK_GROUP ? mark->css != NULL : optional && mark->kind != MARK_GROUP_END;
    if (mark->kind == MARK_RUNS && mark->paint == paint) {
      assert_true(optional); /* the page has a switch for it */
      runs += mark->run_count;
    }
  }
  return runs;
}

/* A picture alone marks what it is asked to mark, the page has the marks in any case. */
static void doubtful_waits_are_marked(void **state) {
  (void)state;
  static const struct {
    struct lumos_report_options options;
    bool marked;
  } cases[] = {{{.format = LUMOS_REPORT_HTML}, true},
               {{.format = LUMOS_REPORT_SVG}, false},
               {{.format = LUMOS_REPORT_SVG, .marks = true}, true},
               {{.format = LUMOS_REPORT_PNG, .marks = true}, true}};
  static const enum report_paint paints[] = {PAINT_UNEXPLAINED, PAINT_RESOURCE, PAINT_BOUNDARY};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct lumos_job *job = doubtful_job();
    struct report_content content;
    struct report_scene scene;
    struct lumos_error error = {0};
    assert_true(lumos_simulate(job, &error) && report_content_read(job, &cases[i].options, &content, &error));
    report_gantt_scene(&content.timelines, &content.timelines.open, "gantt", &scene);
    for (size_t k = 0; k < sizeof paints / sizeof paints[0]; k++) {
      assert_int_equal(runs_of(&scene, paints[k]) > 0, cases[i].marked);
    }
    report_scene_free(&scene);
    report_content_free(&content);
    lumos_job_free(job);
  }
}

/* Each wait stands right before the start of what waited, for as long as nothing else held it. */
static void doubts_are_told_with_their_times(void **state) {
  (void)state;
  struct lumos_job *job = doubtful_job();
  struct lumos_error error = {0};
  struct lumos_doubts doubts = {0};
  assert_true(lumos_simulate(job, &error));
  struct lumos_held bindings = {0};
  assert_true(lumos_doubts_find(job, &bindings, &doubts, &error));
  const struct lumos_doubt wanted[] = {{10, LUMOS_DOUBT_BOUNDARY, 113, 2150},
                                       {11, LUMOS_DOUBT_UNEXPLAINED, 116, 2117},
                                       {12, LUMOS_DOUBT_RESOURCE, 2169, 2190}};
  assert_int_equal(doubts.count, sizeof wanted / sizeof wanted[0]);
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    assert_int_equal(doubts.items[i].task, wanted[i].task);
    assert_int_equal(doubts.items[i].kind, wanted[i].kind);
    assert_int_equal(doubts.items[i].from, wanted[i].from);
    assert_int_equal(doubts.items[i].to, wanted[i].to);
    assert_int_equal(doubts.items[i].to, job->runs.items[doubts.items[i].task].start);
  }
  lumos_vector_free(&doubts);
  lumos_held_free(&bindings);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(borders_of_steps_leave_the_axis_readable),
      cmocka_unit_test(doubtful_waits_are_marked),
      cmocka_unit_test(doubts_are_told_with_their_times),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
