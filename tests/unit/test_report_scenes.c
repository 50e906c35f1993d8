/* Pictures say what they leave out, and no line of theirs strikes through a word. */
#include "sim_jobs.h"

#include "report/content/breakdown.h"
#include "report/content/content.h"
#include "report/content/gantt.h"
#include <lumos/sim.h>

/* Of 31 ranks and the bar of all of them each has its place among 32; of more the first 31 do. */
static void the_breakdown_counts_what_it_leaves_out(void **state) {
  (void)state;
  static const struct {
    size_t ranks;
    const char *said;
  } cases[] = {{1, ""},
               {31, ""},
               {32, "Not drawn here: 1\xC2\xA0more rank."},
               {33, "Not drawn here: 2\xC2\xA0more ranks."},
               {1000, "Not drawn here: 969\xC2\xA0more ranks."}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct report_facts facts = {.ranks.count = cases[i].ranks, .steps.count = 2 * cases[i].ranks};
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    report_put_breakdown_left_out(&facts, &text);
    lumos_text_char(&text, '\0');
    assert_string_equal(text.bytes, cases[i].said);
    lumos_text_free(&text);
  }
}

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_breakdown_counts_what_it_leaves_out),
      cmocka_unit_test(borders_of_steps_leave_the_axis_readable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
