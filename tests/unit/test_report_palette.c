/* Can the colours be told from the page and from each other, whoever looks, and what is written on them be read?
 * Contrast as WCAG 2 defines it; distance as in CIE 1976, where 2.3 is just noticeable; what dichromats see after
 * Viénot, Brettel and Mollon (1999) for red and green and Brettel, Viénot and Mollon (1997) for blue, as matrices of
 * linear sRGB. */
#include "report/draw/look.h"
#include "report/draw/palette.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

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
    bool by_lines = row->fill == FILL_HATCHED || row->fill == FILL_OUTLINED;
    const struct report_colour *seen = by_lines && i != PAINT_IDLE ? &row->second : &row->colour;
    if (i != PAINT_IDLE && i != PAINT_NOT_RECORDED) {     /* which are to be pale */
      double least = row->fill == FILL_HATCHED ? 2.5 : 3; /* the lines of a hatching are thin, but many */
      if (contrast(seen->light, report_paint_row(PAINT_PAPER)->colour.light) < least ||
          contrast(seen->dark, report_paint_row(PAINT_PAPER)->colour.dark) < least) {
        fail_msg("%s: contrast %.2f light, %.2f dark", row->css,
                 contrast(seen->light, report_paint_row(PAINT_PAPER)->colour.light),
                 contrast(seen->dark, report_paint_row(PAINT_PAPER)->colour.dark));
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
    assert_true(contrast(row->colour.light, report_paint_row(PAINT_PAPER)->colour.light) >= 4.5);
    assert_true(contrast(row->colour.dark, report_paint_row(PAINT_PAPER)->colour.dark) >= 4.5);
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

/* Linear sRGB. */
struct light {
  double part[3];
};

static struct light light_of(const char *colour) {
  long rgb = strtol(colour + 1, NULL, 16);
  return (struct light){{channel(rgb >> 16), channel(rgb >> 8 & 255), channel(rgb & 255)}};
}

static struct light times(const double matrix[9], struct light light) {
  struct light out = {{0}};
  for (int row = 0; row < 3; row++) {
    for (int column = 0; column < 3; column++) {
      out.part[row] += matrix[3 * row + column] * light.part[column];
    }
    out.part[row] = fmin(1, fmax(0, out.part[row]));
  }
  return out;
}

enum vision { ALL_COLOURS, NO_RED, NO_GREEN, NO_BLUE, VISIONS };

static struct light seen_by(enum vision vision, struct light light) {
  static const double no_red[] = {0.11238, 0.88762, 0, 0.11238, 0.88762, 0, 0.00401, -0.00401, 1};
  static const double no_green[] = {0.29275, 0.70725, 0, 0.29275, 0.70725, 0, -0.02234, 0.02234, 1};
  static const double no_blue[] = {1.01277, 0.13548, -0.14826, -0.01243, 0.86812, 0.14431, 0.07589, 0.80500, 0.11911};
  static const double beyond[] = {0.93678, 0.18979, -0.12657, 0.06154, 0.81526, 0.12320, -0.37562, 1.12767, 0.24796};
  switch (vision) {
    case NO_RED:
      return times(no_red, light);
    case NO_GREEN:
      return times(no_green, light);
    case NO_BLUE:
      return times(0.03901 * light.part[0] - 0.02788 * light.part[1] - 0.01113 * light.part[2] >= 0 ? no_blue : beyond,
                   light);
    case ALL_COLOURS:
    case VISIONS:
      break;
  }
  return light;
}

static double cube_root(double value) { return value > 0.008856 ? cbrt(value) : 7.787 * value + 16.0 / 116; }

/* CIE L*a*b* under D65. */
static struct light lab_of(struct light light) {
  const double *part = light.part;
  double x = cube_root((0.4124 * part[0] + 0.3576 * part[1] + 0.1805 * part[2]) / 0.95047);
  double y = cube_root(0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2]);
  double z = cube_root((0.0193 * part[0] + 0.1192 * part[1] + 0.9505 * part[2]) / 1.08883);
  return (struct light){{116 * y - 16, 500 * (x - y), 200 * (y - z)}};
}

static double distance(struct light left, struct light right) {
  struct light a = lab_of(left);
  struct light b = lab_of(right);
  return sqrt(pow(a.part[0] - b.part[0], 2) + pow(a.part[1] - b.part[1], 2) + pow(a.part[2] - b.part[2], 2));
}

/* What a paint looks like from afar: of a hatching, the mean of its colours. */
static struct light look_of(enum report_paint paint, bool dark) {
  const struct report_paint_row *row = report_paint_row(paint);
  struct light light = light_of(dark ? row->colour.dark : row->colour.light);
  if (row->fill == FILL_HATCHED) {
    struct light second = light_of(dark ? row->second.dark : row->second.light);
    double share = (double)REPORT_HATCH_BAND / REPORT_HATCH_TILE;
    for (int i = 0; i < 3; i++) {
      light.part[i] = (1 - share) * light.part[i] + share * second.part[i];
    }
  }
  return light;
}

enum { LEAST_DISTANCE = 9 };

static void assert_apart(const enum report_paint *paints, size_t count) {
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < i; j++) {
      for (int look = 0; look < 2 * VISIONS; look++) {
        enum vision vision = (enum vision)(look / 2);
        double apart = distance(seen_by(vision, look_of(paints[i], look % 2 == 1)),
                                seen_by(vision, look_of(paints[j], look % 2 == 1)));
        if (apart < LEAST_DISTANCE) {
          fail_msg("%s and %s are %.1f apart for vision %d, %s", report_paint_row(paints[i])->css,
                   report_paint_row(paints[j])->css, apart, (int)vision, look % 2 == 1 ? "dark" : "light");
        }
      }
    }
  }
}

/* Kinds on a stream, kinds on a thread, parts of a step, and phases: any two may stand side by side. What overlaps is
 * told by its two tones, which are those of its neighbours. */
static void neighbours_are_apart(void **state) {
  (void)state;
  enum report_paint streams[LUMOS_TASK_KINDS];
  enum report_paint threads[LUMOS_TASK_KINDS];
  size_t stream_count = 0;
  size_t thread_count = 0;
  for (int kind = LUMOS_GEMM; kind < LUMOS_TASK_KINDS; kind++) {
    if (kind <= LUMOS_OTHER_DEVICE) {
      streams[stream_count++] = report_paint_of_kind((uint8_t)kind);
    } else {
      threads[thread_count++] = report_paint_of_kind((uint8_t)kind);
    }
  }
  assert_int_equal(stream_count, 12);
  assert_int_equal(thread_count, 6);
  assert_apart(streams, stream_count);
  assert_apart(threads, thread_count);
  const enum report_paint parts[] = {PAINT_COMPUTE, PAINT_TRANSFER,  PAINT_WAIT,
                                     PAINT_UNSPLIT, PAINT_COPY_PART, PAINT_IDLE};
  assert_apart(parts, sizeof parts / sizeof parts[0]);
  /* A bubble is as empty as idle time, but for the dashes around it. */
  const enum report_paint busy[] = {PAINT_COMPUTE, PAINT_TRANSFER, PAINT_WAIT,
                                    PAINT_BUBBLE,  PAINT_UNSPLIT,  PAINT_COPY_PART};
  assert_apart(busy, sizeof busy / sizeof busy[0]);
  const struct report_paint_row *bubble = report_paint_row(PAINT_BUBBLE);
  for (int look = 0; look < 2 * VISIONS; look++) {
    enum vision vision = (enum vision)(look / 2);
    bool dark = look % 2 == 1;
    struct light dashes = light_of(dark ? bubble->second.dark : bubble->second.light);
    assert_true(distance(seen_by(vision, dashes), seen_by(vision, look_of(PAINT_IDLE, dark))) >= LEAST_DISTANCE);
  }
  /* What passes on the critical path, and what idle time is for, beside what may stand next to it. */
  const enum report_paint gaps[] = {PAINT_HOST_GAP,
                                    PAINT_LATENCY,
                                    PAINT_BETWEEN,
                                    PAINT_UNEXPLAINED,
                                    PAINT_BOUNDARY,
                                    (enum report_paint)LUMOS_OP,
                                    (enum report_paint)LUMOS_SYNC};
  assert_apart(gaps, sizeof gaps / sizeof gaps[0]);
  const enum report_paint phases[] = {PAINT_FORWARD, PAINT_BACKWARD,      PAINT_WEIGHT,
                                      PAINT_UPDATE,  PAINT_COMMUNICATION, PAINT_NO_PASS};
  assert_apart(phases, sizeof phases / sizeof phases[0]);
  const enum report_paint curves[] = {PAINT_BUSY_MEASURED, PAINT_BUSY_SIMULATED, PAINT_OCCUPIED_MEASURED,
                                      PAINT_OCCUPIED_SIMULATED};
  assert_apart(curves, sizeof curves / sizeof curves[0]);
  const enum report_paint memory[] = {PAINT_ALLOCATED, PAINT_RESERVED};
  assert_apart(memory, sizeof memory / sizeof memory[0]);
  const struct report_paint_row *both = report_paint_row(PAINT_OVERLAPPED);
  assert_string_equal(both->colour.light, report_paint_row(PAINT_COMPUTE)->colour.light);
  assert_string_equal(both->colour.dark, report_paint_row(PAINT_COMPUTE)->colour.dark);
  assert_string_equal(both->second.light, report_paint_row(PAINT_TRANSFER)->colour.light);
  assert_string_equal(both->second.dark, report_paint_row(PAINT_TRANSFER)->colour.dark);
}

/* The simulation itself: greys stay, and red and green that are told by their hue alone fall together for those who
 * lack either. */
static void visions_are_right(void **state) {
  (void)state;
  struct light red = light_of("#b35900");
  struct light green = light_of("#6b7500");
  assert_true(distance(red, green) > 40);
  for (int vision = 0; vision < VISIONS; vision++) {
    struct light grey = light_of("#808080");
    assert_true(distance(grey, seen_by((enum vision)vision, grey)) < 0.1);
  }
  assert_true(distance(seen_by(NO_GREEN, red), seen_by(NO_GREEN, green)) < 12);
  assert_true(distance(seen_by(NO_BLUE, red), seen_by(NO_BLUE, green)) > 40);
  assert_true(distance(light_of("#000000"), light_of("#ffffff")) > 99.9);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(work_stands_out), cmocka_unit_test(inks_can_be_read),
                                     cmocka_unit_test(gemm_is_the_darkest_blue), cmocka_unit_test(neighbours_are_apart),
                                     cmocka_unit_test(visions_are_right)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
