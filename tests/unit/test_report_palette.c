/* Can the colours be told from the page, and what is written on them be read? Contrast as WCAG 2 defines it. */
#include "report/palette.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The page's ground in templates/style.css. */
static const char light_paper[] = "#fcfcfa";
static const char dark_paper[] = "#11151a";

static double channel(long value) {
  double part = (double)value / 255;
  return part <= 0.03928 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

static double luminance(const char *colour) {
  assert_int_equal(colour[0], '#');
  long rgb = strtol(colour + 1, NULL, 16);
  return 0.2126 * channel(rgb >> 16) + 0.7152 * channel(rgb >> 8 & 255) + 0.0722 * channel(rgb & 255);
}

static double contrast(const char *left, const char *right) {
  double a = luminance(left);
  double b = luminance(right);
  return (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
}

static void work_stands_out(void **state) {
  (void)state;
  for (int i = 1; i < PAINT_TEXT; i++) {
    const struct report_paint_row *row = report_paint_row((enum report_paint)i);
    const struct report_colour *seen = row->fill == FILL_HATCHED && i != PAINT_IDLE ? &row->second : &row->colour;
    if (i != PAINT_IDLE) {                                /* which is to be pale */
      double least = row->fill == FILL_HATCHED ? 2.5 : 3; /* the lines of a hatching are thin, but many */
      if (contrast(seen->light, light_paper) < least || contrast(seen->dark, dark_paper) < least) {
        fail_msg("%s: contrast %.2f light, %.2f dark", row->css, contrast(seen->light, light_paper),
                 contrast(seen->dark, dark_paper));
      }
    }
  }
}

static void inks_can_be_read(void **state) {
  (void)state;
  for (int i = 1; i < PAINT_COUNT; i++) {
    const struct report_paint_row *row = report_paint_row((enum report_paint)i);
    if (row->ink.light != NULL) {
      assert_true(contrast(row->ink.light, row->colour.light) >= 4.5);
      assert_true(contrast(row->ink.dark, row->colour.dark) >= 4.5);
    }
  }
  for (int i = PAINT_TEXT; i <= PAINT_MUTED; i++) {
    const struct report_paint_row *row = report_paint_row((enum report_paint)i);
    assert_true(contrast(row->colour.light, light_paper) >= 4.5);
    assert_true(contrast(row->colour.dark, dark_paper) >= 4.5);
  }
}

/* "GEMM darkest" */
static void gemm_is_the_darkest_blue(void **state) {
  (void)state;
  const struct report_paint_row *gemm = report_paint_row((enum report_paint)LUMOS_GEMM);
  for (int i = LUMOS_GEMM + 1; i <= LUMOS_EMBEDDING; i++) {
    const struct report_paint_row *row = report_paint_row((enum report_paint)i);
    assert_true(luminance(gemm->colour.light) < luminance(row->colour.light));
    assert_true(luminance(gemm->colour.dark) < luminance(row->colour.dark));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(work_stands_out), cmocka_unit_test(inks_can_be_read),
                                     cmocka_unit_test(gemm_is_the_darkest_blue)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
