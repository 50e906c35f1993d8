/* The table of a change. Means are cut to nanoseconds over the sum of parts, so that they add up. */
#include "report/content/change.h"

#include "report/content/breakdown.h"
#include "report/content/waterfall.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>

static const struct report_column columns[] = {
    {"part", "part", NULL, COLUMN_PAINT},
    {"before", "before", "step_time", COLUMN_MS},
    {"after", "after", "step_time", COLUMN_MS},
    {"difference", "difference", NULL, COLUMN_MS},
    {"share", "of the step before", NULL, COLUMN_SHARE},
};
enum { PART, BEFORE, AFTER, COLUMNS = sizeof columns / sizeof *columns };

/* Mean parts of a timeline, in the order of report_parts. */
static void read_means(const struct report_facts *facts, enum report_timeline timeline, int64_t means[REPORT_PARTS]) {
  const struct report_row *whole = report_facts_whole(facts, timeline);
  int64_t steps = timeline == MEASURED ? whole->measured : whole->steps;
  int64_t sum = 0;
  for (int part = 0; part < REPORT_PARTS; part++) {
    int64_t value = whole->figures[timeline].of[report_parts[part].figure];
    int64_t before = steps > 0 ? sum / steps : 0;
    sum = report_sum(sum, value);
    means[part] = steps > 0 ? sum / steps - before : 0;
  }
}

static void add_row(struct report_table *table, enum report_paint paint, int64_t before, int64_t after, int64_t step) {
  report_table_number(table, paint);
  report_table_number(table, before);
  report_table_number(table, after);
  report_table_number(table, after - before);
  report_table_number(table, report_share(after - before, step));
}

/* "Bubble +12.3 ms, compute -4.1 ms" : the two largest differences. */
static void put_largest(const int64_t differences[REPORT_PARTS], struct lumos_text *out) {
  bool named[REPORT_PARTS] = {false};
  for (int i = 0; i < 2; i++) {
    int largest = -1;
    for (int part = 0; part < REPORT_PARTS; part++) {
      if (!named[part] && differences[part] != 0 &&
          (largest < 0 || llabs(differences[part]) > llabs(differences[largest]))) {
        largest = part;
      }
    }
    if (largest >= 0) {
      named[largest] = true;
      lumos_text_put(out, i > 0 ? ", " : "");
      lumos_text_format(out, "%s %s", report_paint_row(report_parts[largest].paint)->label,
                        differences[largest] > 0 ? "+" : "");
      report_put_time(out, differences[largest]);
    }
  }
}

void report_change_table(const struct report_facts *facts, struct report_table *table) {
  int64_t before[REPORT_PARTS], after[REPORT_PARTS], differences[REPORT_PARTS];
  int64_t step_before = 0, step_after = 0;
  report_table_begin(table, "change", columns, COLUMNS);
  if (!facts->edited || !facts->has_streams || report_facts_step_time(facts, MEASURED) == LUMOS_ABSENT) {
    return;
  }
  read_means(facts, MEASURED, before);
  read_means(facts, SIMULATED, after);
  for (int part = 0; part < REPORT_PARTS; part++) {
    step_before += before[part];
    step_after += after[part];
    differences[part] = after[part] - before[part];
  }
  table->whole = step_before;
  for (int part = 0; part < REPORT_PARTS; part++) {
    if (before[part] != 0 || after[part] != 0) {
      add_row(table, report_parts[part].paint, before[part], after[part], step_before);
    }
  }
  put_largest(differences, &table->finding);
  table->told = true;
  lumos_text_put(&table->caption, "Parts of the mean step over all ranks, as measured before the change and simulated "
                                  "after it. Shares: of the step before, ");
  report_put_time(&table->caption, step_before);
  lumos_text_put(&table->rest, "the step: ");
  report_put_time_beside(&table->rest, step_before, step_after);
  lumos_text_put(&table->rest, " before, ");
  report_put_time_beside(&table->rest, step_after, step_before);
  lumos_text_put(&table->rest, " after");
}

bool report_change_scene(const struct report_table *table, struct report_range range, bool narrow,
                         struct report_scene *scene) {
  struct report_waterfall fall = {.names = {"change", "changenarrow"},
                                  .title = "What changes",
                                  .before = "before",
                                  .after = "after",
                                  .before_words = "before",
                                  .after_words = "after",
                                  .whole = table->whole,
                                  .range = range};
  for (size_t row = 0; row < report_table_rows(table); row++) {
    enum report_paint paint = (enum report_paint)report_table_value(table, row, PART);
    lumos_vector_push(&fall.rows, ((struct report_waterfall_row){report_paint_row(paint)->label, paint,
                                                                 report_table_value(table, row, BEFORE),
                                                                 report_table_value(table, row, AFTER)}));
  }
  bool drawn = fall.rows.count > 0;
  if (drawn) {
    report_waterfall_scene(&fall, narrow, scene);
  }
  lumos_vector_free(&fall.rows);
  return drawn;
}

void report_put_change_reading(const struct report_facts *facts, struct lumos_text *out) {
  lumos_text_put(out, "From the measured step to the predicted one, by what its time goes to. ");
  if (report_range_known(facts->step_range)) {
    lumos_text_put(out, "The line below the last bar is the 90\xC2\xA0% range, ");
    report_put_time_range(out, facts->step_range.low, facts->step_range.high);
    lumos_text_put(out, ". ");
    if (facts->doubt != LUMOS_NO_STRING) {
      lumos_text_put(out, "Its largest source: ");
      report_put_cut(out, lumos_string(facts->job->strings, facts->doubt),
                     lumos_string_length(facts->job->strings, facts->doubt), 60);
      lumos_text_put(out, ", ");
      report_put_fine_share(out, facts->doubt_share);
      lumos_text_put(out, " of the step (one standard deviation). ");
    }
  } else {
    lumos_text_put(out, "The range of the prediction is unknown. ");
  }
}
