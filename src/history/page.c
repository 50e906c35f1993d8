/* The page: parts are written into the model, and templates/history.html puts them in their places.
 *
 * Of many jobs it would be larger than a browser likes. Then it is written again with less detail, until it fits: jobs
 * with bad news keep theirs the longest, and the page says what it leaves out.
 */
#include "history/scenes.h"
#include "history/words.h"
#include "report/content/table.h"
#include "report/draw/svg.h"
#include "report/forms/page_parts.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_TITLE = 300, LONGEST_NAME = 80, LARGEST_PAGE = 1000000 /* bytes. Chosen: what opens at once */ };

/* How much is shown: of how many jobs a row, its curve, its nights, and its pictures; and how many nights of each. */
struct detail {
  size_t rows, curves, sections, pictures, nights;
};
static const struct detail details[] = {
    {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX},
    {SIZE_MAX, SIZE_MAX, SIZE_MAX, 50, SIZE_MAX},
    {SIZE_MAX, SIZE_MAX, SIZE_MAX, 20, 100},
    {SIZE_MAX, SIZE_MAX, 150, 20, 30},
    {SIZE_MAX, 200, 50, 20, 30},
    {SIZE_MAX, 50, 20, 10, 30},
    {500, 20, 10, 5, 30}, /* some 500 kB for any history */
};
enum { DETAILS = sizeof details / sizeof *details };

struct page {
  const struct lumos_nights *history;
  const struct detail *detail;
  const size_t *order; /* by job: how many have worse news, or come first */
  struct report_scope *root;
  struct lumos_arena *arena;  /* of names that are made here */
  struct lumos_text *summary; /* the tables as JSON */
};

/* ---- Links ---- */

/* A part of an address: all that might be more than a letter of it is escaped. */
static void put_address(struct lumos_text *out, const char *text) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  for (; *text != '\0'; text++) {
    lumos_text_format(out, strchr(plain, *text) != NULL ? "%c" : "%%%02X", (unsigned char)*text);
  }
}

static void put_link(struct lumos_text *out, const struct history_night *night) {
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  report_put_cut(&name, night->name, strlen(night->name), LONGEST_NAME);
  if (night->has_page) {
    lumos_text_put(out, "<a href=\"");
    put_address(out, night->folder);
    lumos_text_put(out, night->folder[0] != '\0' ? "/" : "");
    put_address(out, night->name);
    lumos_text_put(out, ".html\">");
  }
  lumos_text_html(out, name.bytes, name.length);
  lumos_text_put(out, night->has_page ? "</a>" : "");
  lumos_text_free(&name);
}

/* ---- Tables ---- */

static void push_night(struct report_table *table, const struct history_night *night) {
  struct lumos_text html = LUMOS_TEXT_BUFFER;
  report_table_word(table, night->name);
  put_link(&html, night);
  report_table_shown(table, &html);
  lumos_text_free(&html);
}

/* A text that may be long, on several lines; in red where it is bad news. Empties it. */
static void push_said(struct report_table *table, struct lumos_text *text, bool bad) {
  enum { SHORT = 20 }; /* bytes that stand on one line */
  struct lumos_text html = LUMOS_TEXT_BUFFER;
  bool shown = text->length > SHORT || (bad && text->length > 0);
  lumos_text_format(&html, "<span class=\"said%s%s\">", text->length > SHORT ? " long" : "", bad ? " serious" : "");
  lumos_text_html(&html, text->bytes, text->length);
  lumos_text_put(&html, "</span>");
  report_table_copy(table, text);
  if (shown) {
    report_table_shown(table, &html);
  }
  lumos_text_free(&html);
}

static void push_result(struct report_table *table, const struct history_night *night) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  history_put_result(&text, night);
  push_said(table, &text,
            night->state != HISTORY_GOOD || night->failed_again ||
                (night->has_gate && night->gate == LUMOS_GATE_REGRESSION));
  lumos_text_free(&text);
}

static void push_confidence(struct report_table *table, const struct history_night *night) {
  report_table_word(table, night->state == HISTORY_GOOD ? lumos_confidence_name(night->confidence) : "");
}

/* "3 of 4" */
static void push_ranks(struct report_table *table, const struct history_night *night) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  bool some = night->world != LUMOS_ABSENT && night->world != night->ranks;
  if (night->ranks != LUMOS_ABSENT) {
    report_put_count(&text, night->ranks);
    if (some) {
      lumos_text_put(&text, " of ");
      report_put_count(&text, night->world);
    }
  }
  push_said(table, &text, some);
  lumos_text_free(&text);
}

static void push_values(struct report_table *table, const struct history_night *night) {
  for (int series = 0; series < HISTORY_OVERHEAD; series++) {
    report_table_number(table, history_whole((enum history_series)series, night->values[series]));
  }
  report_table_word(table, history_cause_words(night->cause));
  report_table_number(table, history_whole(HISTORY_OVERHEAD, night->values[HISTORY_OVERHEAD]));
  push_confidence(table, night);
}

static void push_gap(struct report_table *table, int64_t missing) {
  struct history_night none = {.name = "", .folder = "", .state = HISTORY_FAILED};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  history_night_clear(&none);
  report_put_counted(&text, missing, "night");
  lumos_text_put(&text, " missing");
  push_said(table, &text, true);
  push_values(table, &none);
  push_ranks(table, &none);
  report_table_word(table, "");
  lumos_text_free(&text);
}

static void list_nights(const struct page *page, const struct history_job *job, const char *name,
                        struct report_table *table) {
  static const struct report_column columns[] = {
      {"night", "night", NULL, COLUMN_NAME},
      {"step_time", "step time", NULL, COLUMN_MS},
      {"exposed_communication", "exposed communication", NULL, COLUMN_MS},
      {"mfu", "MFU", NULL, COLUMN_SHARE},
      {"largest_overhead", "largest overhead", NULL, COLUMN_TEXT},
      {"overhead", "of the step", NULL, COLUMN_SHARE},
      {"confidence", "confidence", NULL, COLUMN_TEXT},
      {"ranks", "ranks", NULL, COLUMN_TEXT},
      {"result", "result", NULL, COLUMN_TEXT},
  };
  report_table_begin(table, name, columns, sizeof columns / sizeof *columns);
  size_t shown = 0, listed = 0;
  for (size_t i = job->slots.count; i > 0 && shown < page->detail->nights; i--, shown++) {
    const struct history_slot *slot = &job->slots.items[i - 1];
    listed += slot->night != HISTORY_MISSING;
    if (slot->night == HISTORY_MISSING) {
      push_gap(table, slot->missing);
    } else {
      push_night(table, &job->nights[slot->night]);
      push_values(table, &job->nights[slot->night]);
      push_ranks(table, &job->nights[slot->night]);
      push_result(table, &job->nights[slot->night]);
    }
  }
  report_put_cut(&table->caption, job->name, strlen(job->name), LONGEST_NAME); /* captions name regions: no two alike */
  lumos_text_put(
      &table->caption,
      ": the last night first. Times are means over steps; of a recording of three or more steps the first is "
      "left out, as in the gate. Ranks are those with a trace.");
  if (job->left_out + job->count > listed) {
    lumos_text_put(&table->rest, "Older nights that are left out: ");
    report_put_count(&table->rest, (int64_t)(job->left_out + job->count - listed));
  }
}

static const char *made_name(const struct page *page, const char *prefix, size_t number) {
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  lumos_text_format(&name, "%s%zu", prefix, number);
  const char *kept = lumos_arena_copy(page->arena, name.bytes, name.length);
  lumos_text_free(&name);
  return kept;
}

static void push_spark(const struct page *page, size_t number, struct report_table *table) {
  struct report_scene scene;
  struct lumos_text html = LUMOS_TEXT_BUFFER;
  const struct history_job *job = &page->history->jobs.items[number];
  report_table_word(table, "");
  if (page->order[number] >= page->detail->curves) {
    return;
  }
  if (history_draw_spark(job, HISTORY_STEP, made_name(page, "spark", number), &scene)) {
    lumos_text_put(&html, "<span class=\"spark\">");
    report_svg_paint(&scene, &html);
    lumos_text_put(&html, "</span>");
    report_table_shown(table, &html);
  }
  report_scene_free(&scene);
  lumos_text_free(&html);
}

static void list_jobs(const struct page *page, struct report_table *table) {
  static const struct report_column columns[] = {
      {"job", "job", NULL, COLUMN_NAME},
      {"night", "last report", NULL, COLUMN_TEXT},
      {"trend", "step time by night", NULL, COLUMN_TEXT},
      {"step_time", "step time", NULL, COLUMN_MS},
      {"exposed_communication", "exposed communication", NULL, COLUMN_MS},
      {"mfu", "MFU", NULL, COLUMN_SHARE},
      {"largest_overhead", "largest overhead", NULL, COLUMN_TEXT},
      {"overhead", "of the step", NULL, COLUMN_SHARE},
      {"confidence", "confidence", NULL, COLUMN_TEXT},
      {"result", "last night", NULL, COLUMN_TEXT},
  };
  struct lumos_text html = LUMOS_TEXT_BUFFER, name = LUMOS_TEXT_BUFFER;
  report_table_begin(table, "jobs", columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < page->history->jobs.count; i++) {
    const struct history_job *job = &page->history->jobs.items[i];
    if (page->order[i] >= page->detail->rows) {
      continue;
    }
    bool linked = page->order[i] < page->detail->sections;
    const struct history_night *last = &job->nights[job->count - 1], *good = history_last_good(job);
    struct history_night none = {.name = "", .folder = ""};
    history_night_clear(&none);
    report_table_word(table, job->name);
    if (linked) {
      lumos_text_format(&html, "<a href=\"#job-%zu\">", i + 1);
    }
    report_put_cut(&name, job->name, strlen(job->name), LONGEST_NAME);
    lumos_text_html(&html, name.bytes, name.length);
    name.length = 0;
    lumos_text_put(&html, linked ? "</a>" : "");
    report_table_shown(table, &html);
    if (good == NULL) {
      report_table_word(table, "");
    } else {
      push_night(table, good);
    }
    push_spark(page, i, table);
    push_values(table, good != NULL ? good : &none);
    if (job->slots.items[job->slots.count - 1].night == HISTORY_MISSING) {
      report_table_word(table, "missing");
    } else {
      push_result(table, last);
    }
  }
  lumos_text_put(&table->caption, "What the last report of each job says, and what became of its last night.");
  lumos_text_free(&html);
  lumos_text_free(&name);
}

static void set_table(const struct page *page, struct report_scope *scope, struct report_table *table) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_html(table, &text);
  report_set_take(scope, "table", &text);
  lumos_text_format(page->summary, "%s\"%s\":", page->summary->length > strlen("{\"tables\":{") ? ",\n" : "",
                    table->name);
  report_table_json(table, page->summary);
  report_table_free(table);
}

/* ---- Jobs ---- */

static void add_change(struct report_scope *section, const struct history_job *job, enum history_series series,
                       const struct history_change *change) {
  struct report_scope *item = report_section_item(section, "changes");
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  bool worse = history_change_is_worse(series, change);
  report_set_text(item, "level", worse ? "warning" : "info");
  report_set_text(item, "kind", worse ? "Worse:" : "Better:");
  history_put_change(&text, job, series, change);
  report_set_take(item, "text", &text);
  history_put_doubt(&text, job, series, change);
  report_set_take(item, "doubt", &text);
}

static void add_changes(struct report_scope *job_section, const struct history_job *job) {
  struct report_scope *section = NULL;
  report_section(job_section, "has_changes");
  for (size_t night = job->count; night > 0; night--) { /* the last first */
    for (int series = 0; series < HISTORY_SERIES; series++) {
      const struct history_changes *changes = &job->trends[series].changes;
      for (size_t i = 0; i < changes->count; i++) {
        if (changes->items[i].at == night - 1) {
          section = section == NULL ? report_section_item(job_section, "has_changes") : section;
          add_change(section, job, (enum history_series)series, &changes->items[i]);
        }
      }
    }
  }
  report_section_if(job_section, "no_changes", section == NULL);
}

static void add_picture(struct report_scope *section, const char *title, struct report_scene *scene) {
  struct report_scope *item = report_section_item(section, "trends");
  report_set_text(item, "title", title);
  report_set_scene(item, scene, "picture");
}

static void add_pictures(const struct page *page, struct report_scope *section, size_t number) {
  static const char *const names[HISTORY_SERIES] = {"step", "communication", "mfu", "overhead"};
  const struct history_job *job = &page->history->jobs.items[number];
  struct report_scene scene;
  report_section(section, "trends");
  for (int series = 0; series < HISTORY_SERIES; series++) {
    if (history_draw_trend(job, (enum history_series)series, made_name(page, names[series], number), &scene)) {
      add_picture(section, history_series_words((enum history_series)series), &scene);
    } else {
      report_scene_free(&scene);
    }
  }
  history_draw_nights(job, made_name(page, "fates", number), &scene);
  add_picture(section, "Nights", &scene);
}

static bool has_limits(const struct history_job *job) {
  for (size_t i = 0; i < job->count; i++) {
    for (int series = 0; series < HISTORY_SERIES; series++) {
      if (!isnan(job->nights[i].limits[series])) {
        return true;
      }
    }
  }
  return false;
}

static void add_job(const struct page *page, size_t number) {
  const struct history_job *job = &page->history->jobs.items[number];
  struct report_scope *section = report_section_item(page->root, "jobs");
  const struct history_night *good = history_last_good(job);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_table table;
  lumos_text_format(&text, "job-%zu", number + 1);
  report_set_take(section, "id", &text);
  report_put_cut(&text, job->name, strlen(job->name), LONGEST_NAME);
  report_set_take(section, "name", &text);
  report_section_if(section, "has_verdict", good != NULL && good->verdict[0] != '\0');
  if (good != NULL) {
    report_put_cut(&text, good->verdict, strlen(good->verdict), 4 * LONGEST_TITLE);
  }
  report_set_take(section, "verdict", &text);
  report_section(section, "has_pictures");
  if (page->order[number] < page->detail->pictures) {
    struct report_scope *pictured = report_section_item(section, "has_pictures");
    add_pictures(page, pictured, number);
    report_section_if(pictured, "has_limits", has_limits(job));
  }
  add_changes(section, job);
  list_nights(page, job, made_name(page, "nights", number + 1), &table);
  set_table(page, section, &table);
}

/* ---- Less of it ---- */

/* What a job has to report: the worse, the higher. */
static int news_of(const struct history_job *job) {
  const struct history_night *last = &job->nights[job->count - 1];
  int news = 0;
  for (int series = 0; series < HISTORY_SERIES; series++) {
    const struct history_changes *changes = &job->trends[series].changes;
    for (size_t i = 0; i < changes->count; i++) {
      news = history_change_is_worse((enum history_series)series, &changes->items[i]) ? 1 : news;
    }
  }
  bool missing = job->slots.items[job->slots.count - 1].night == HISTORY_MISSING;
  return last->has_gate && last->gate == LUMOS_GATE_REGRESSION          ? 3
         : missing || last->state != HISTORY_GOOD || last->failed_again ? 2
                                                                        : news;
}

/* For the caller to free. */
static size_t *order_jobs(const struct lumos_nights *history) {
  enum { WORST = 3 };
  size_t *order = lumos_allocate((history->jobs.count + 1) * sizeof *order), next = 0;
  for (int news = WORST; news >= 0; news--) {
    for (size_t i = 0; i < history->jobs.count; i++) {
      if (news_of(&history->jobs.items[i]) == news) {
        order[i] = next++;
      }
    }
  }
  return order;
}

static void put_limit(struct lumos_text *out, size_t most, size_t jobs, const char *words) {
  if (most < jobs) {
    lumos_text_put(out, out->length == 0 ? "" : ", ");
    report_put_count(out, (int64_t)most);
    lumos_text_format(out, " have %s", words);
  }
}

/* "Of 1,000 jobs 200 have a curve, 50 have their nights and 20 have pictures here, so that the page stays under 1
 * MB." */
static void put_left_out(const struct page *page, struct lumos_text *out) {
  const struct detail *detail = page->detail;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  size_t jobs = page->history->jobs.count;
  put_limit(&text, detail->rows, jobs, "a row");
  put_limit(&text, detail->curves, jobs, "a curve");
  put_limit(&text, detail->sections, jobs, "their nights below");
  put_limit(&text, detail->pictures, jobs, "pictures");
  if (text.length > 0) {
    lumos_text_put(out, "Of ");
    report_put_count(out, (int64_t)jobs);
    lumos_text_format(out,
                      " jobs %.*s, so that the page stays under 1 MB. Those with a regression, a bad last night or "
                      "a change for the worse come first. For all of one job call lumos-render with its folder "
                      "alone: --index FOLDER/JOB.",
                      (int)text.length, text.bytes);
  } else if (detail->nights < SIZE_MAX) {
    lumos_text_put(out,
                   "Older nights are left out, so that the page stays under 1 MB. For all of one job call lumos-render "
                   "with its folder alone: --index FOLDER/JOB.");
  }
  lumos_text_free(&text);
}

static void fill_model(const struct page *page, const struct lumos_nights_options *options) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_table table;
  history_put_verdict(&text, page->history);
  report_section_if(page->root, "has_title", options->title != NULL);
  report_set(page->root, "verdict", text.bytes, text.length);
  if (options->title != NULL) {
    text.length = 0;
    report_put_cut(&text, options->title, strlen(options->title), LONGEST_TITLE);
  }
  report_set_take(page->root, "title", &text);
  history_put_counts(&text, page->history);
  report_set_take(page->root, "counts", &text);
  lumos_text_put(page->summary, "{\"tables\":{");
  list_jobs(page, &table);
  set_table(page, page->root, &table);
  report_section(page->root, "jobs");
  for (size_t i = 0; i < page->history->jobs.count; i++) {
    if (page->order[i] < page->detail->sections) {
      add_job(page, i);
    }
  }
  put_left_out(page, &text);
  report_section_if(page->root, "less", text.length > 0);
  report_set_take(page->root, "left_out", &text);
  lumos_text_put(page->summary, "}}\n");
  report_set_take(page->root, "summary", page->summary);
}

static bool write_page(struct page *page, const struct report_page_files *files,
                       const struct lumos_nights_options *options, struct lumos_text *out, struct lumos_error *error) {
  struct report_model *model = report_model_new();
  page->root = report_model_root(model);
  *page->summary = LUMOS_TEXT_BUFFER;
  report_page_files_fill(files, page->root);
  fill_model(page, options);
  bool done = report_page_files_render(files, model, out, error);
  report_model_free(model);
  lumos_text_free(page->summary);
  return done;
}

bool lumos_nights_page(const struct lumos_nights *history, const struct lumos_nights_options *options,
                       struct lumos_text *out, struct lumos_error *error) {
  struct report_page_files files;
  size_t start = out->length;
  bool done = report_page_files_load(options->template_folder, "history.html", &files, error);
  if (done) {
    size_t *order = order_jobs(history);
    struct lumos_text summary;
    struct page page = {.history = history, .order = order, .arena = lumos_arena_new(), .summary = &summary};
    for (int i = 0; done && i < DETAILS && (i == 0 || out->length - start >= LARGEST_PAGE); i++) {
      out->length = start;
      page.detail = &details[i];
      done = write_page(&page, &files, options, out, error);
    }
    lumos_arena_free(page.arena);
    free(order);
  }
  report_page_files_release(&files);
  return done;
}
