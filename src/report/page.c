/* The page: facts are read once, every part is written into the model, and the template puts them in their places. */
#include <lumos/report.h>

#include "report/breakdown.h"
#include "report/definitions.h"
#include "report/facts.h"
#include "report/gantt.h"
#include "report/names.h"
#include "report/notes.h"
#include "report/numbers.h"
#include "report/summary.h"
#include "report/svg.h"
#include "report/tables.h"
#include "report/template.h"
#include "report/verdict.h"
#include <lumos/sim.h>

#define MIDDLE_DOT " \xC2\xB7 "

enum { FEW_RANKS = 16 }; /* their numbers stand open; those of more are folded */

/* All tables of the page; the summary holds the same ones. */
enum {
  TABLE_BREAKDOWN,
  TABLE_STEPS,
  TABLE_LANES,
  TABLE_COLLECTIVES,
  TABLE_KERNELS,
  TABLE_OPS_DEVICE,
  TABLE_OPS_HOST,
  TABLE_RANKS,
  TABLE_CLOCKS,
  TABLES
};

struct page {
  struct lumos_job *job;
  struct report_facts facts;
  struct report_timelines timelines;
  struct report_table tables[TABLES];
  struct report_model *model;
};

/* "4 steps (2 to 5)" */
static void put_steps(const struct report_facts *facts, struct lumos_text *out) {
  const struct report_rows *rows = facts->job_steps.count > 0 ? &facts->job_steps : &facts->steps;
  if (rows->count == 0) {
    return;
  }
  int32_t first = rows->items[0].step;
  int32_t last = first;
  for (size_t i = 0; i < rows->count; i++) {
    first = rows->items[i].step < first ? rows->items[i].step : first;
    last = rows->items[i].step > last ? rows->items[i].step : last;
  }
  lumos_text_put(out, MIDDLE_DOT);
  if (first == last) {
    lumos_text_format(out, "step %d", first);
  } else {
    lumos_text_format(out, "steps %d to %d", first, last);
  }
}

/* "8 ranks · NVIDIA H100 80GB HBM3 · steps 2 to 5": what the page is about. */
static void put_subject(const struct page *page, struct lumos_text *out) {
  const struct lumos_job *job = page->job;
  report_put_counted(out, (int64_t)job->ranks.count, "rank");
  int64_t world = report_world(job);
  if (world != LUMOS_ABSENT && world != (int64_t)job->ranks.count) {
    lumos_text_put(out, " of ");
    report_put_count(out, world);
  }
  lumos_string_id shown = LUMOS_NO_STRING;
  for (size_t i = 0; i < job->ranks.count; i++) {
    lumos_string_id device = job->ranks.items[i].device_name;
    if (device != LUMOS_NO_STRING && device != shown) {
      lumos_text_put(out, shown == LUMOS_NO_STRING ? MIDDLE_DOT : ", ");
      report_put_cut(out, lumos_string(job->strings, device), lumos_string_length(job->strings, device), 60);
      if (shown != LUMOS_NO_STRING) {
        break; /* two names say that they differ; the table of ranks has all */
      }
      shown = device;
    }
  }
  put_steps(&page->facts, out);
}

static void set_table(const struct page *page, struct report_scope *scope, int number, const char *name) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_html(&page->tables[number], &text);
  report_set_take(scope, name, &text);
}

static void set_scene(struct report_scope *scope, struct report_scene *scene, const char *name) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_svg_paint(scene, &text);
  report_set_take(scope, name, &text);
  report_scene_free(scene);
}

static void add_legend(struct report_scope *scope, const char *section, enum report_paint paint, const char *text) {
  struct report_scope *item = report_section_item(scope, section);
  report_set_text(item, "paint", report_paint_row(paint)->css);
  report_set_text(item, "name", report_paint_row(paint)->label);
  report_set_text(item, "text", text);
}

/* The legend of the breakdown is the list of its definitions, with the share that each part has. */
static void fill_breakdown(const struct page *page, struct report_scope *root) {
  report_section(root, "breakdown");
  if (!page->facts.has_streams || page->facts.ranks.count == 0) {
    return;
  }
  struct report_scope *section = report_section_item(root, "breakdown");
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  report_put_breakdown_finding(&page->facts, &text);
  report_set_take(section, "breakdown_finding", &text);
  report_breakdown_scene(&page->facts, &scene);
  set_scene(section, &scene, "breakdown_picture");
  set_table(page, section, TABLE_BREAKDOWN, "breakdown_table");
  set_table(page, section, TABLE_STEPS, "steps_table");
  report_section_if(section, "few_ranks", page->facts.ranks.count <= FEW_RANKS);
  report_section(section, "parts");
  for (int i = 0; i < REPORT_PARTS; i++) {
    const struct report_part *part = &report_parts[i];
    const struct report_definition *definition = report_definition(part->term);
    struct report_scope *item = report_section_item(section, "parts");
    report_put_share(&text, report_row_share(&page->facts.all, report_facts_spoken(&page->facts), part->figure));
    report_set_take(item, "share", &text);
    report_set_text(item, "paint", report_paint_row(part->paint)->css);
    report_set_text(item, "name", definition->name);
    report_set_text(item, "text", definition->text);
  }
}

static void fill_timeline(const struct page *page, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  const struct report_timelines *timelines = &page->timelines;
  report_put_timeline_finding(&page->facts, &text);
  report_set_take(root, "timeline_finding", &text);
  report_put_time(&text, report_gantt_column(timelines));
  report_set_take(root, "timeline_column", &text);
  report_gantt_scene(timelines, &timelines->open, "timeline", &scene);
  set_scene(root, &scene, "timeline_picture");
  report_section_if(root, "has_folded", timelines->folded.count > 0);
  report_put_counted(&text, (int64_t)timelines->folded.count, "more lane");
  report_set_take(root, "folded_count", &text);
  report_gantt_scene(timelines, &timelines->folded, "folded", &scene);
  set_scene(root, &scene, "folded_picture");
  report_section_if(root, "has_left_out", timelines->left_out > 0);
  report_put_counted(&text, (int64_t)timelines->left_out, "lane");
  report_set_take(root, "left_out", &text);
  set_table(page, root, TABLE_LANES, "lanes_table");
  bool shown[LUMOS_TASK_KINDS] = {false};
  report_gantt_kinds(timelines, shown);
  report_section(root, "kinds");
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    if (shown[kind]) {
      add_legend(root, "kinds", report_paint_of_kind((uint8_t)kind), "");
    }
  }
}

static void fill_work(const struct page *page, struct report_scope *root) {
  report_section_if(root, "has_collectives", report_table_rows(&page->tables[TABLE_COLLECTIVES]) > 0);
  report_section_if(root, "has_kernels", report_table_rows(&page->tables[TABLE_KERNELS]) > 0);
  set_table(page, root, TABLE_COLLECTIVES, "collectives_table");
  set_table(page, root, TABLE_KERNELS, "kernels_table");
  set_table(page, root, TABLE_OPS_DEVICE, "ops_device_table");
  set_table(page, root, TABLE_OPS_HOST, "ops_host_table");
  set_table(page, root, TABLE_RANKS, "ranks_table");
  set_table(page, root, TABLE_CLOCKS, "clocks_table");
}

static void read_page(struct page *page, struct lumos_job *job) {
  *page = (struct page){.job = job, .model = report_model_new()};
  report_facts_read(job, &page->facts);
  report_timelines_read(job, &page->timelines);
  report_breakdown_tables(&page->facts, &page->tables[TABLE_BREAKDOWN], &page->tables[TABLE_STEPS]);
  report_gantt_table(&page->timelines, &page->tables[TABLE_LANES]);
  report_table_collectives(job, &page->tables[TABLE_COLLECTIVES]);
  report_table_kernels(job, &page->tables[TABLE_KERNELS]);
  report_table_ops(job, &page->tables[TABLE_OPS_DEVICE], &page->tables[TABLE_OPS_HOST]);
  report_table_ranks(job, &page->tables[TABLE_RANKS]);
  report_table_clocks(job, &page->tables[TABLE_CLOCKS]);
}

static void free_page(struct page *page) {
  report_facts_free(&page->facts);
  report_timelines_free(&page->timelines);
  for (int i = 0; i < TABLES; i++) {
    report_table_free(&page->tables[i]);
  }
  report_model_free(page->model);
}

static void fill_model(struct page *page, const struct report_source *style) {
  struct report_scope *root = report_model_root(page->model);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_subject(page, &text);
  report_set_take(root, "subject", &text);
  report_palette_css(&text);
  report_set_take(root, "palette", &text);
  report_set(root, "style", style->bytes, style->length);
  report_set_text(root, "version", LUMOS_VERSION);
  report_fill_verdict(&page->facts, root);
  fill_breakdown(page, root);
  fill_timeline(page, root);
  fill_work(page, root);
  report_fill_notes(page->job, root);
  report_fill_definitions(root);
  const struct report_table *tables[TABLES];
  for (int i = 0; i < TABLES; i++) {
    tables[i] = &page->tables[i];
  }
  report_summary(&page->facts, &page->timelines, tables, TABLES, &text);
  report_set_take(root, "summary", &text);
}

static bool write_page(struct lumos_job *job, const char *folder, struct lumos_text *out, struct lumos_error *error) {
  struct report_source page_source;
  struct report_source style;
  if (!report_template_load(folder, "report.html", &page_source, error)) {
    return false;
  }
  bool done = report_template_load(folder, "style.css", &style, error);
  if (done) {
    struct page page;
    read_page(&page, job);
    fill_model(&page, &style);
    done = report_template_render("report.html", page_source.bytes, page_source.length, page.model, out, error);
    free_page(&page);
    report_template_release(&style);
  }
  report_template_release(&page_source);
  return done;
}

bool lumos_report_html(struct lumos_job *job, const struct lumos_report_options *options, struct lumos_text *out,
                       struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_SIM && !lumos_simulate(job, error)) {
    return false;
  }
  return write_page(job, options == NULL ? NULL : options->template_folder, out, error);
}

bool lumos_report_verdict(const struct lumos_job *job, struct lumos_text *out, struct lumos_error *error) {
  if (job->stage < LUMOS_STAGE_SIM) {
    return lumos_fail(error, "the job has not been simulated; run lumos-sim first");
  }
  struct report_facts facts;
  struct lumos_text sentence = LUMOS_TEXT_BUFFER;
  report_facts_read(job, &facts);
  report_put_verdict(&facts, &sentence);
  report_facts_free(&facts);
  /* No-break spaces are for the page; a terminal gets plain ones. */
  for (size_t i = 0; i < sentence.length; i++) {
    bool no_break = i + 1 < sentence.length && sentence.bytes[i] == '\xC2' && sentence.bytes[i + 1] == '\xA0';
    lumos_text_add(out, no_break ? " " : &sentence.bytes[i], 1);
    i += no_break;
  }
  lumos_text_free(&sentence);
  return true;
}
