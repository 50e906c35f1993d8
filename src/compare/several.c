/* Several jobs beside a first one: which is fastest, where the step of each goes, and the parts of each comparison. */
#include "compare/page.h"
#include "compare/sentences.h"
#include "compare/verdict.h"
#include "compare/waterfall.h"
#include "compare/words.h"
#include "report/content/stack.h"
#include "report/forms/page_parts.h"
#include "report/text/numbers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The verdict ---- */

enum { DAMAGE_BYTES = 120 };

static bool is_damaged(const struct compare_page *page, size_t job) {
  return compare_page_job(page, job)->damage != LUMOS_NO_STRING;
}

/* Of those whose steps have all of their work; where none has, of all. */
static size_t shortest_of(const struct compare_page *page) {
  size_t shortest = 0;
  for (size_t i = 1; i <= page->compared->count; i++) {
    bool whole = !is_damaged(page, i) && is_damaged(page, shortest);
    bool as_whole = is_damaged(page, i) == is_damaged(page, shortest);
    bool shorter = compare_page_job(page, i)->step < compare_page_job(page, shortest)->step;
    shortest = whole || (as_whole && shorter) ? i : shortest;
  }
  return shortest;
}

static size_t count_outcome(const struct compare_page *page, enum lumos_compare_outcome outcome) {
  size_t count = 0;
  for (size_t i = 0; i < page->compared->count; i++) {
    count += page->compared->comparisons[i]->outcome == outcome;
  }
  return count;
}

/* "B and D", "B, C and D": those with that outcome. Returns how many. */
static size_t put_jobs(const struct compare_page *page, enum lumos_compare_outcome outcome, struct lumos_text *out) {
  size_t count = count_outcome(page, outcome), seen = 0;
  for (size_t i = 0; i < page->compared->count; i++) {
    const struct lumos_comparison *comparison = page->compared->comparisons[i];
    if (comparison->outcome == outcome) {
      seen++;
      lumos_text_format(out, "%s%s", seen == 1 ? "" : seen == count ? " and " : ", ", comparison->names[1]);
    }
  }
  return count;
}

/* " Steps of B may lack work (rank 0: the trace is cut at byte 3017)." */
static void put_damaged(const struct compare_page *page, struct lumos_text *out) {
  for (size_t i = 0; i <= page->compared->count; i++) {
    if (is_damaged(page, i)) {
      lumos_text_format(out, " Steps of %s may lack work (", lumos_compared_name(i));
      compare_put_name(out, compare_page_comparison(page, i), compare_page_job(page, i)->damage, DAMAGE_BYTES);
      lumos_text_put(out, ").");
    }
  }
}

static bool any_hides_work(const struct compare_page *page) {
  bool hides = false;
  for (size_t i = 0; i < page->compared->count; i++) {
    hides |= compare_hides_work(page->compared->comparisons[i]);
  }
  return hides;
}

/* " B and C do not differ from A in step time beyond noise. Whether D differs from A is inconclusive: the steps are too
 * few." */
static void put_others(const struct compare_page *page, struct lumos_text *out) {
  struct lumos_text names = LUMOS_TEXT_BUFFER;
  size_t number = put_jobs(page, LUMOS_COMPARE_ALIKE, &names);
  if (number > 0) {
    lumos_text_format(out, " %.*s %s not differ from A in step time beyond noise.", (int)names.length, names.bytes,
                      number == 1 ? "does" : "do");
  }
  names.length = 0;
  number = put_jobs(page, LUMOS_COMPARE_INCONCLUSIVE, &names);
  if (number > 0) {
    lumos_text_format(out, " Whether %.*s %s from A is inconclusive: %s.", (int)names.length, names.bytes,
                      number == 1 ? "differs" : "differ",
                      any_hides_work(page) ? "steps lack work, or are too few" : "the steps are too few");
  }
  if (count_outcome(page, LUMOS_COMPARE_UNKNOWN) > 0) {
    lumos_text_put(out, " Of jobs with one step here noise is unknown.");
  }
  lumos_text_free(&names);
}

/* "D has the shortest step, 8.10 ms: 6.2 % less than A. B and C do not differ from A in step time beyond noise." */
static void put_verdict(const struct compare_page *page, struct lumos_text *out) {
  size_t shortest = shortest_of(page), count = page->compared->count;
  const struct lumos_compared_job *a = compare_page_job(page, 0), *best = compare_page_job(page, shortest);
  if (count_outcome(page, LUMOS_COMPARE_ALIKE) == count) {
    lumos_text_format(out, "None of the other %zu jobs differs from A beyond noise in step time, which is ", count);
    report_put_time(out, a->step);
    lumos_text_put(out, " there.");
    return;
  }
  lumos_text_format(out, "%s has the shortest step, ", lumos_compared_name(shortest));
  report_put_time(out, best->step);
  if (shortest > 0 && a->step > 0) {
    enum lumos_compare_outcome outcome = compare_page_comparison(page, shortest)->outcome;
    lumos_text_put(out, ": ");
    report_put_share(out, report_share(a->step - best->step, a->step));
    lumos_text_put(out, " less than A");
    lumos_text_put(out, outcome == LUMOS_COMPARE_ALIKE ? ", which is within noise"
                        : outcome == LUMOS_COMPARE_INCONCLUSIVE
                            ? (compare_hides_work(compare_page_comparison(page, shortest))
                                   ? ", which may be noise or missing work"
                                   : ", which may be noise")
                            : "");
  }
  lumos_text_char(out, '.');
  put_others(page, out);
  put_damaged(page, out);
}

/* ---- The first screen ---- */

static void fill_tiles(const struct compare_page *page, struct report_scope *root) {
  for (size_t i = 0; i <= page->compared->count; i++) {
    const struct lumos_comparison *comparison = compare_page_comparison(page, i);
    struct lumos_text figure = LUMOS_TEXT_BUFFER, evidence = LUMOS_TEXT_BUFFER;
    char label[sizeof "Step of A"];
    (void)snprintf(label, sizeof label, "Step of %s", lumos_compared_name(i));
    report_put_time(&figure, compare_page_job(page, i)->step);
    if (i > 0) {
      compare_put_signed(&evidence, comparison->jobs[1].step - comparison->jobs[0].step);
      lumos_text_put(&evidence, ", ");
      compare_put_difference_evidence(comparison, &evidence);
      lumos_text_put(&evidence, ". ");
    }
    compare_put_job_evidence(comparison, compare_page_side(i), &evidence);
    (void)compare_add_tile(root, label, &figure, &evidence);
  }
}

/* ---- Parts of the steps ---- */

enum { MOST_PARTS = REPORT_COLUMNS - 2 }; /* beside the job and its step */

/* Parts of all jobs by their keys. */
struct part {
  int32_t key;
  const char *label;
};
LUMOS_VECTOR_TYPE(parts, struct part);

typedef const struct lumos_compared_parts *list_of(const struct lumos_comparison *comparison);
static const struct lumos_compared_parts *classes_of(const struct lumos_comparison *comparison) {
  return &comparison->classes;
}
static const struct lumos_compared_parts *kinds_of(const struct lumos_comparison *comparison) {
  return &comparison->kinds;
}

/* Idle, 0 of kinds, comes last. */
static int by_key(const void *left, const void *right) {
  const struct part *a = left, *b = right;
  return (a->key == 0) != (b->key == 0) ? LUMOS_ORDER(a->key == 0, b->key == 0) : LUMOS_ORDER(a->key, b->key);
}

static int by_class(const void *left, const void *right) {
  const struct part *a = left, *b = right;
  return LUMOS_ORDER(a->key, b->key);
}

static void find_parts(const struct compare_page *page, list_of *list, struct parts *parts) {
  for (size_t c = 0; c < page->compared->count; c++) {
    const struct lumos_comparison *comparison = page->compared->comparisons[c];
    const struct lumos_compared_parts *all = list(comparison);
    for (size_t i = 0; i < all->count; i++) {
      size_t at = 0;
      while (at < parts->count && parts->items[at].key != all->items[i].key) {
        at++;
      }
      if (at == parts->count) {
        lumos_vector_push(parts,
                          ((struct part){all->items[i].key, lumos_string(comparison->strings, all->items[i].label)}));
      }
    }
  }
  lumos_vector_sort(parts, list == kinds_of ? by_key : by_class);
}

static int64_t time_of(const struct compare_page *page, size_t job, list_of *list, int32_t key) {
  const struct lumos_compared_parts *all = list(compare_page_comparison(page, job));
  int64_t time = 0;
  for (size_t i = 0; i < all->count; i++) {
    time += all->items[i].key == key ? all->items[i].time[compare_page_side(job)] : 0;
  }
  return time;
}

/* A row for each job, whose parts add up to its step. */
static void make_parts(const struct compare_page *page, list_of *list, const char *name, const char *caption,
                       struct report_table *table) {
  struct report_column columns[REPORT_COLUMNS] = {{"job", "job", NULL, COLUMN_NAME}};
  struct parts parts = {0};
  find_parts(page, list, &parts);
  size_t shown = parts.count <= MOST_PARTS ? parts.count : MOST_PARTS - 1, count = 1;
  for (size_t i = 0; i < shown; i++) {
    columns[count++] = (struct report_column){parts.items[i].label, parts.items[i].label, NULL, COLUMN_MS};
  }
  if (shown < parts.count) {
    columns[count++] = (struct report_column){"others", "all others", NULL, COLUMN_MS};
  }
  columns[count++] = (struct report_column){"step", "step", "step_time", COLUMN_MS};
  report_table_begin_own(table, name, columns, count);
  lumos_text_put(&table->caption, caption);
  for (size_t job = 0; job <= page->compared->count; job++) {
    int64_t left = compare_page_job(page, job)->step;
    report_table_word(table, lumos_compared_name(job));
    for (size_t i = 0; i < shown; i++) {
      int64_t time = time_of(page, job, list, parts.items[i].key);
      report_table_number(table, time);
      left -= time;
    }
    if (shown < parts.count) {
      report_table_number(table, left);
    }
    report_table_number(table, compare_page_job(page, job)->step);
  }
  lumos_vector_free(&parts);
}

/* ---- The jobs in a table ---- */

static const char *outcome_of(const struct lumos_comparison *comparison) {
  int64_t longer = comparison->jobs[1].step - comparison->jobs[0].step;
  switch (comparison->outcome) {
    case LUMOS_COMPARE_UNKNOWN:
      return "noise unknown";
    case LUMOS_COMPARE_ALIKE:
      return longer == 0 ? "no difference" : "within noise";
    case LUMOS_COMPARE_INCONCLUSIVE:
      return "inconclusive";
    default:
      return longer < 0 ? "shorter" : "longer";
  }
}

static void make_jobs(const struct compare_page *page, struct report_table *table) {
  static const struct report_column columns[] = {
      {"job", "job", NULL, COLUMN_NAME},
      {"step", "step", "step_time", COLUMN_MS},
      {"difference", "difference from A", NULL, COLUMN_MS},
      {"share", "of A", NULL, COLUMN_SHARE},
      {"noise", "noise", NULL, COLUMN_MS},
      {"outcome", "against A", NULL, COLUMN_TEXT},
      {"matched", "GPU time matched", NULL, COLUMN_SHARE},
      {"changed", "rows changed", NULL, COLUMN_COUNT},
      {"gpu_time", "GPU time", NULL, COLUMN_MS},
      {"steps", "steps", NULL, COLUMN_COUNT},
      {"ranks", "ranks", NULL, COLUMN_COUNT},
      {"device", "GPU", NULL, COLUMN_TEXT},
  };
  report_table_begin(table, "jobs", columns, sizeof columns / sizeof *columns);
  lumos_text_put(&table->caption, "Each job against A: means over its compared steps and ranks");
  for (size_t i = 0; i <= page->compared->count; i++) {
    const struct lumos_comparison *comparison = compare_page_comparison(page, i);
    const struct lumos_compared_job *job = compare_page_job(page, i), *a = compare_page_job(page, 0);
    report_table_word(table, lumos_compared_name(i));
    report_table_number(table, job->step);
    report_table_number(table, i == 0 ? LUMOS_ABSENT : job->step - a->step);
    report_table_number(table, report_share(job->step, a->step));
    report_table_number(table, i == 0 ? LUMOS_ABSENT : comparison->noise);
    report_table_word(table, i == 0 ? "" : outcome_of(comparison));
    report_table_number(table, i == 0 ? LUMOS_ABSENT : compare_matched_share(comparison));
    report_table_number(table, i == 0 || comparison->noise == LUMOS_ABSENT
                                   ? LUMOS_ABSENT
                                   : (int64_t)compare_changed_rows(&comparison->rows));
    report_table_number(table, job->gpu_time);
    report_table_number(table, job->steps);
    report_table_number(table, job->ranks);
    report_table_string(table, comparison->strings, job->device);
  }
}

/* ---- The overview ---- */

/* A bar for each job, of its classes. */
static void draw_steps(const struct compare_page *page, bool narrow, struct report_scene *scene) {
  const struct report_stack_shape *shape = narrow ? &report_stack_narrow : &report_stack_wide;
  struct parts parts = {0};
  int64_t longest = 1;
  find_parts(page, classes_of, &parts);
  for (size_t job = 0; job <= page->compared->count; job++) {
    longest = compare_page_job(page, job)->step > longest ? compare_page_job(page, job)->step : longest;
  }
  report_scene_begin(scene, narrow ? "stepsnarrow" : "steps", shape->width);
  struct report_stack stack = report_stack_begin(scene, shape, longest);
  struct report_stack_part *bar = lumos_allocate((parts.count + 1) * sizeof *bar);
  for (size_t job = 0; job <= page->compared->count; job++) {
    int64_t step = compare_page_job(page, job)->step;
    struct lumos_text name = LUMOS_TEXT_BUFFER;
    lumos_text_put(&name, lumos_compared_name(job));
    for (size_t i = 0; i < parts.count; i++) {
      int64_t time = time_of(page, job, classes_of, parts.items[i].key);
      bar[i] = (struct report_stack_part){compare_class_paint(parts.items[i].key), parts.items[i].label, time,
                                          report_share(time, step)};
    }
    report_stack_add(
        &stack, &(struct report_stack_bar){.kind = "", .whole = step, .parts = bar, .part_count = parts.count}, &name);
    report_stack_end_row(&stack);
    lumos_text_free(&name);
  }
  lumos_text_put(&scene->title, "The step of every job by what the GPU does");
  lumos_text_put(&scene->description, "A stacked bar for each job, on one scale. The table below holds the numbers.");
  free(bar);
  lumos_vector_free(&parts);
}

static void add_table(const struct compare_page *page, struct report_table *table, struct report_scope *scope,
                      const char *value) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_html(table, &text);
  report_set_take(scope, value, &text);
  lumos_text_format(page->out_tables, ",\n\"%s\":", table->name);
  report_table_json(table, page->out_tables);
  report_table_free(table);
}

static void fill_overview(const struct compare_page *page, struct report_scope *root) {
  struct report_table table;
  struct report_scene scene;
  struct parts parts = {0};
  compare_add_contents(page, "overview", "Steps");
  make_jobs(page, &table);
  add_table(page, &table, root, "jobs_table");
  make_parts(page, classes_of, "steps", "The step of each job by what the GPU does: parts add up to the step", &table);
  add_table(page, &table, root, "steps_table");
  make_parts(page, kinds_of, "work", "The step of each job by kind of work: parts add up to the step", &table);
  add_table(page, &table, root, "work_table");
  draw_steps(page, false, &scene);
  report_set_scene(root, &scene, "steps_picture");
  draw_steps(page, true, &scene);
  report_set_scene(root, &scene, "steps_narrow_picture");
  find_parts(page, classes_of, &parts);
  report_section(root, "kinds");
  for (size_t i = 0; i < parts.count; i++) {
    report_add_legend(root, "kinds", compare_class_paint(parts.items[i].key), "");
  }
  lumos_vector_free(&parts);
}

/* ---- Each against the first ---- */

static void fill_other(const struct compare_page *page, size_t number, struct report_scope *item) {
  const struct lumos_comparison *comparison = page->compared->comparisons[number];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  char id[sizeof "job-a"], name[sizeof "B against A"];
  (void)snprintf(id, sizeof id, "job-%s", compare_page_suffix(page, number));
  (void)snprintf(name, sizeof name, "%s against %s", comparison->names[1], comparison->names[0]);
  compare_add_contents(page, id, name);
  report_set_text(item, "id", id);
  report_set_text(item, "name", name);
  report_set_text(item, "other", comparison->names[1]);
  lumos_comparison_verdict(comparison, &text);
  report_set_take(item, "finding", &text);
  compare_put_matched(comparison, &text);
  lumos_text_put(&text, ". ");
  compare_put_noise(comparison, &text);
  report_set_take(item, "reading", &text);
  compare_fill_splits(page, number, item);
  compare_fill_changes(page, number, item);
}

void compare_fill_several(const struct compare_page *page, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_verdict(page, &text);
  compare_set_verdict(page, root, &text);
  lumos_text_format(&text, "Comparison of %zu jobs, A and others", page->compared->count + 1);
  report_set_take(root, "subject", &text);
  report_set_text(root, "all_jobs", "All jobs");
  report_section(root, "tiles");
  fill_tiles(page, root);
  fill_overview(page, report_section_item(root, "several"));
  compare_fill_timelines(page, root);
  for (size_t i = 0; i < page->compared->count; i++) {
    fill_other(page, i, report_section_item(root, "others"));
  }
  compare_fill_jobs(page, root);
}
