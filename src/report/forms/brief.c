#include "report/forms/brief.h"

#include "report/content/breakdown.h"
#include "report/content/notes.h"
#include "report/diagnosis/first_screen.h"
#include "report/diagnosis/gains.h"
#include "report/draw/palette.h"
#include "report/forms/pictures.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

enum { ACTIONS = 5, KERNELS = 5, LATE_RANKS = 3, LONGEST_NAME = 60, LONGEST_FINDING = 160 };

/* "compute 55.1 %, waiting 12.0 %, idle 3.1 % of 42.11 ms": the parts that can be seen, the largest first. */
static void put_parts(const struct report_facts *facts, struct lumos_text *out) {
  enum report_timeline timeline = report_facts_spoken(facts);
  const struct report_row *whole = report_facts_whole(facts, timeline);
  bool told[REPORT_PARTS] = {false};
  for (int count = 0; count < REPORT_PARTS; count++) {
    int largest = -1;
    int64_t share = 500; /* less than 0.05 % would be 0.0 % */
    for (int i = 0; i < REPORT_PARTS; i++) {
      int64_t own = told[i] ? LUMOS_ABSENT : report_row_share(facts, whole, timeline, report_parts[i].figure);
      largest = own >= share ? i : largest;
      share = own >= share ? own : share;
    }
    if (largest < 0) {
      break;
    }
    told[largest] = true;
    lumos_text_put(out, count == 0 ? "" : ", ");
    lumos_text_format(out, "%s ", report_paint_row(report_parts[largest].paint)->label);
    report_put_share(out, share);
  }
  if (out->length > 0) {
    lumos_text_put(out, " of ");
    report_put_time(out, report_row_mean(whole, timeline, FIGURE_STEP_TIME));
  }
}

static void fill_parts(const struct report_content *content, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  const struct report_result *result = &content->result;
  report_section(root, "parts");
  if (content->result.facts.has_streams) {
    put_parts(&content->result.facts, &text);
    lumos_text_char(&text, '.');
    diagnosis_put_own_delay(result, &text);
  }
  if (text.length > 0) {
    report_set_take(report_section_item(root, "parts"), "parts", &text);
  }
  lumos_text_free(&text);
}

static void fill_range(const struct report_content *content, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_section(root, "step_range");
  report_section(root, "left_out");
  bool leaves_out = report_leaves_out(&content->result.facts);
  if (content->result.facts.edited) {
    report_put_step_range(&content->result.facts, true, &text);
    lumos_text_put(&text, leaves_out ? ". " : "");
    report_put_left_out(&content->result.facts, &text);
    report_set_take(report_section_item(root, "step_range"), "range_text", &text);
  } else if (leaves_out) {
    report_put_left_out(&content->result.facts, &text);
    report_set_take(report_section_item(root, "left_out"), "left_out_text", &text);
  }
}

/* The best of a list, so that there are ACTIONS rows at most. Returns how many there are. */
static size_t fill_rows(const struct report_content *content, const struct report_opportunity_list *list, size_t rows,
                        struct report_scope **section, struct report_scope *root) {
  const struct report_opportunities *opportunities = &content->result.opportunities;
  const struct report_result *result = &content->result;
  bool changes = list == &opportunities->changes;
  for (size_t i = 0; i < list->count && rows < ACTIONS; i++) {
    const struct report_opportunity *one = &list->items[i];
    if (report_opportunity_gain(opportunities, one->half) <= 0) {
      break;
    }
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    *section = *section == NULL ? report_section_item(root, "actions") : *section;
    struct report_scope *row = report_section_item(*section, "rows");
    lumos_text_put(&text, changes ? "" : "half of ");
    (changes ? report_put_improvement_name : report_put_opportunity)(opportunities, one, &text);
    report_set_take(row, "work", &text);
    report_put_time(&text, one->half);
    report_set_take(row, "time", &text);
    diagnosis_put_row_gain(result, one->half, &text);
    lumos_text_put(&text, diagnosis_is_slowed(result) && diagnosis_row_gain(result, one->half) > 0
                              ? " of the unprofiled step"
                              : "");
    report_set_take(row, "gain", &text);
    (changes ? report_put_improvement_action : report_put_opportunity_action)(opportunities, one, &text);
    report_set_take(row, "action", &text);
    rows++;
  }
  return rows;
}

/* Changes, then kinds of work. Where confidence is poor nothing is predicted. */
static void fill_actions(const struct report_content *content, struct report_scope *root) {
  struct report_scope *section = NULL;
  report_section(root, "actions");
  if (content->result.diagnosis.confidence != LUMOS_POOR) {
    size_t rows = fill_rows(content, &content->result.opportunities.changes, 0, &section, root);
    (void)fill_rows(content, &content->result.opportunities.list, rows, &section, root);
  }
}

/* A number of a row by its column's name; LUMOS_ABSENT: there is no such column. */
static int64_t number_of(const struct report_table *table, size_t row, const char *name) {
  for (size_t column = 0; column < table->column_count; column++) {
    if (strcmp(table->columns[column].name, name) == 0) {
      return report_table_value(table, row, column);
    }
  }
  return LUMOS_ABSENT;
}

/* What is more than one in so many of the other is told. */
enum { LEAST_PART = 10 };

struct rank_delay {
  int64_t own, unknown; /* by what it does, and for a cause that was not recorded; 0: too little of the whole */
};

static struct rank_delay delay_of(const struct report_table *table, size_t row) {
  int64_t own = number_of(table, row, "delay"), unknown = number_of(table, row, "unknown");
  own = own > 0 ? own : 0; /* LUMOS_ABSENT is below 0 */
  unknown = unknown > 0 ? unknown : 0;
  return (struct rank_delay){own > unknown / LEAST_PART ? own : 0, unknown > own / LEAST_PART ? unknown : 0};
}

static int64_t lateness_of(const struct report_table *table, size_t row) {
  struct rank_delay delay = delay_of(table, row);
  return report_sum(delay.own, delay.unknown);
}

/* The latest row of those that are not told; as many as there are rows: none. */
static size_t latest_row(const struct report_table *table, const bool *told) {
  size_t rows = report_table_rows(table);
  size_t latest = rows;
  for (size_t row = 0; row < rows; row++) {
    int64_t late = told[row] ? 0 : lateness_of(table, row);
    if (late > 0 && (latest == rows || late > lateness_of(table, latest))) {
      latest = row;
    }
  }
  return latest;
}

/* "rank 1 6.49 ms (CPU 5.77 ms, GPU 726.0 µs)", "rank 0 26.6 ms (CPU 26.4 ms, GPU 228 µs) and 21.6 ms for a cause that
 * was not recorded" */
static void put_late_rank(const struct report_table *table, size_t row, struct lumos_text *out) {
  const struct report_cell *name = &table->cells.items[row * table->column_count];
  struct rank_delay delay = delay_of(table, row);
  lumos_text_add(out, name->bytes, name->length);
  lumos_text_char(out, ' ');
  if (delay.own > 0) {
    report_put_time(out, delay.own);
    lumos_text_put(out, " (CPU ");
    report_put_time(out, number_of(table, row, "host"));
    lumos_text_put(out, ", GPU ");
    report_put_time(out, number_of(table, row, "compute"));
    lumos_text_char(out, ')');
  }
  if (delay.unknown > 0) {
    lumos_text_put(out, delay.own > 0 ? " and " : "");
    report_put_time(out, delay.unknown);
    lumos_text_put(out, " for a cause that was not recorded");
  }
}

static void fill_late_ranks(const struct report_content *content, struct report_scope *root) {
  const struct report_table *table = &content->tables[TABLE_METRICS + METRICS_STRAGGLERS];
  bool *told = lumos_allocate_zeroed(report_table_rows(table) + 1, sizeof *told);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_section(root, "late");
  for (int i = 0; i < LATE_RANKS; i++) {
    size_t row = latest_row(table, told);
    if (row < report_table_rows(table)) {
      lumos_text_put(&text, i == 0 ? "" : ", ");
      put_late_rank(table, row, &text);
      told[row] = true;
    }
  }
  if (text.length > 0) {
    report_set_take(report_section_item(root, "late"), "ranks", &text);
  }
  lumos_text_free(&text);
  free(told);
}

static void fill_kernels(const struct report_content *content, struct report_scope *root) {
  enum { NAME, KIND, COUNT, TIME, SHARE };
  const struct report_table *table = &content->tables[TABLE_KERNELS];
  size_t rows = report_table_rows(table);
  report_section(root, "kernels");
  struct report_scope *section = rows > 0 ? report_section_item(root, "kernels") : NULL;
  for (size_t i = 0; i < rows && i < KERNELS; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    struct report_scope *row = report_section_item(section, "rows");
    const struct report_cell *name = &table->cells.items[i * table->column_count];
    report_put_cut(&text, name->bytes, name->length, LONGEST_NAME);
    report_set_take(row, "name", &text);
    report_set_text(row, "kind", report_paint_row((enum report_paint)report_table_value(table, i, KIND))->label);
    report_put_time(&text, report_table_value(table, i, TIME));
    report_set_take(row, "time", &text);
    report_put_share(&text, report_table_value(table, i, SHARE));
    report_set_take(row, "share", &text);
  }
}

/* An address in Markdown's parentheses: what is more than letters, digits and marks of paths is coded by its bytes. */
static void put_address(const char *path, struct lumos_text *out) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  for (; *path != '\0'; path++) {
    if (strchr(plain, *path) != NULL) {
      lumos_text_char(out, *path);
    } else {
      lumos_text_format(out, "%%%02X", (unsigned)(unsigned char)*path);
    }
  }
}

static void fill_picture(const struct report_content *content, struct report_scope *root) {
  report_section(root, "picture");
  if (content->options->picture == NULL) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_text cut = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "picture");
  report_picture_chosen(content)->finding(content, &text);
  report_put_cut(&cut, text.bytes, text.length, LONGEST_FINDING);
  report_set_take(section, "finding", &cut);
  text.length = 0;
  put_address(content->options->picture, &text);
  report_set_take(section, "address", &text);
}

void report_fill_brief(const struct report_content *content, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_subject(content, &text);
  report_set_take(root, "subject", &text);
  report_fill_first_screen(content, root);
  fill_range(content, root);
  fill_parts(content, root);
  fill_picture(content, root);
  fill_actions(content, root);
  fill_late_ranks(content, root);
  fill_kernels(content, root);
  report_fill_notes(content->job, content->options->details, 0, root);
  report_set_text(root, "version", LUMOS_VERSION);
}
