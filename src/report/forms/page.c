/* The page: every part is written into the model, and the template puts them in their places. */
#include "report/forms/page.h"

#include "base/parallel.h"
#include "report/content/breakdown.h"
#include "report/content/composition.h"
#include "report/content/definitions.h"
#include "report/content/dependencies.h"
#include "report/content/detail.h"
#include "report/content/doubt.h"
#include "report/content/gantt.h"
#include "report/content/losses.h"
#include "report/content/notes.h"
#include "report/content/pipeline.h"
#include "report/content/waits.h"
#include "report/diagnosis/first_screen.h"
#include "report/draw/look.h"
#include "report/draw/svg.h"
#include "report/forms/summary.h"
#include "report/text/numbers.h"
#include "report/text/script.h"
#include "report/text/template.h"

enum { FEW_RANKS = 16 }; /* their numbers stand open; those of more are folded */

struct page {
  const struct report_content *content;
  struct report_model *model;
};

static void set_table(const struct page *page, struct report_scope *scope, int number, const char *name) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_html(&page->content->tables[number], &text);
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

static const struct report_table *metric_table(const struct page *page, enum report_metric_table number) {
  return &page->content->tables[TABLE_METRICS + number];
}

/* A section `section` with the table in it, where it has rows. */
static void fill_metric_table(const struct page *page, struct report_scope *scope, enum report_metric_table number,
                              const char *section) {
  report_section(scope, section);
  if (report_table_rows(metric_table(page, number)) > 0) {
    set_table(page, report_section_item(scope, section), TABLE_METRICS + (int)number, "table");
  }
}

/* A legend that has the parts' shares, too, so that the picture can be read without its colours. */
static void add_part(struct report_scope *scope, enum report_paint paint, const char *label, int64_t share) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *item = report_section_item(scope, "kinds");
  report_set_text(item, "paint", report_paint_row(paint)->css);
  report_set_text(item, "name", label);
  report_put_share(&text, share);
  report_set_take(item, "share", &text);
}

static void fill_idle_legend(const struct report_table *idle, struct report_scope *scope) {
  struct report_idle_sums sums;
  report_sum_idle(idle, &sums);
  report_section(scope, "kinds");
  for (size_t i = 0; i < REPORT_IDLE_CAUSES; i++) {
    add_part(scope, report_idle_causes[i].paint, report_idle_causes[i].label, report_share(sums.of[i], sums.whole));
  }
}

static void fill_idle_picture(const struct page *page, struct report_scope *section) {
  const struct report_table *idle = metric_table(page, METRICS_IDLE);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  report_section(section, "picture");
  if (!report_idle_scene(idle, false, &scene)) {
    return;
  }
  struct report_scope *picture = report_section_item(section, "picture");
  set_scene(picture, &scene, "idle_picture");
  if (report_idle_scene(idle, true, &scene)) {
    set_scene(picture, &scene, "idle_narrow_picture");
  }
  report_put_idle_reading(idle, &text);
  report_set_take(picture, "idle_reading", &text);
  fill_idle_legend(idle, picture);
}

/* Why the GPU was idle: beside the breakdown. */
static void fill_idle(const struct page *page, struct report_scope *root) {
  report_section(root, "idle");
  if (report_table_rows(metric_table(page, METRICS_IDLE)) == 0) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "idle");
  report_put_idle_finding(metric_table(page, METRICS_IDLE), &text);
  report_set_take(section, "idle_finding", &text);
  fill_idle_picture(page, section);
  set_table(page, section, TABLE_METRICS + METRICS_IDLE, "idle_table");
  fill_metric_table(page, section, METRICS_IDLE_OPS, "idle_ops");
  fill_metric_table(page, section, METRICS_IDLE_STREAMS, "idle_streams");
}

/* The legend of the breakdown is the list of its definitions, with the share that each part has of the job's step. */
static void fill_parts(const struct report_facts *facts, struct report_scope *section) {
  enum report_timeline timeline = report_facts_spoken(facts);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_section(section, "parts");
  for (int i = 0; i < REPORT_PARTS; i++) {
    const struct report_part *part = &report_parts[i];
    struct report_definition definition = {0};
    (void)report_definition(part->term, &definition); /* each part's term has one */
    struct report_scope *item = report_section_item(section, "parts");
    report_put_share(&text, report_row_share(report_facts_whole(facts, timeline), timeline, part->figure));
    report_set_take(item, "share", &text);
    report_set_text(item, "paint", report_paint_row(part->paint)->css);
    report_set_text(item, "name", definition.name);
    report_set_text(item, "text", definition.text);
  }
}

static void fill_breakdown(const struct page *page, struct report_scope *root) {
  report_section(root, "breakdown");
  if (!page->content->facts.has_streams || page->content->facts.ranks.count == 0) {
    return;
  }
  struct report_scope *section = report_section_item(root, "breakdown");
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  report_put_breakdown_finding(&page->content->facts, &text);
  report_set_take(section, "breakdown_finding", &text);
  report_breakdown_scene(&page->content->facts, &scene);
  set_scene(section, &scene, "breakdown_picture");
  report_breakdown_narrow_scene(&page->content->facts, &scene);
  set_scene(section, &scene, "breakdown_narrow_picture");
  report_put_breakdown_left_out(&page->content->facts, &text);
  report_section_if(section, "breakdown_left_out", text.length > 0);
  report_set_take(section, "breakdown_rest", &text);
  set_table(page, section, TABLE_BREAKDOWN, "breakdown_table");
  set_table(page, section, TABLE_STEPS, "steps_table");
  fill_idle(page, section);
  report_section_if(section, "few_ranks", page->content->facts.ranks.count <= FEW_RANKS);
  fill_parts(&page->content->facts, section);
}

/* Nothing where nobody looked for opportunities. */
static void fill_opportunities(const struct page *page, struct report_scope *root) {
  const struct report_opportunities *opportunities = &page->content->opportunities;
  report_section(root, "opportunities");
  if (opportunities->list.count == 0 && !opportunities->none) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  struct report_scope *section = report_section_item(root, "opportunities");
  report_put_opportunities_finding(opportunities, &text);
  report_set_take(section, "opportunities_finding", &text);
  report_section(section, "ranked");
  bool ranked_any = report_opportunities_scene(opportunities, &scene);
  report_section_if(section, "unranked", !ranked_any);
  if (!ranked_any) {
    return;
  }
  struct report_scope *ranked = report_section_item(section, "ranked");
  set_scene(ranked, &scene, "opportunities_picture");
  if (report_opportunities_narrow_scene(opportunities, &scene)) {
    set_scene(ranked, &scene, "opportunities_narrow_picture");
  }
  report_put_opportunities_reading(opportunities, &text);
  report_set_take(ranked, "opportunities_reading", &text);
  set_table(page, ranked, TABLE_OPPORTUNITIES, "opportunities_table");
}

/* What takes longest to write, each half with texts of its own. */
struct page_parts {
  const struct report_content *content;
  struct lumos_text tasks_held, tasks; /* which the script draws when a reader zooms in */
  struct lumos_text timeline, folded;  /* the pictures of lanes */
};

static void write_tasks(struct page_parts *parts) {
  const struct report_content *content = parts->content;
  const struct report_dependencies *dependencies = &content->dependencies;
  const struct report_detail_source from = {&content->timelines, content->options, content->bindings,
                                            dependencies->known ? &dependencies->chain : NULL};
  struct report_detail detail;
  report_detail_read(&from, &detail);
  report_put_detail(&detail, &parts->tasks_held);
  report_detail_json(&detail, &parts->tasks);
  report_detail_free(&detail);
}

static void write_lanes(const struct report_timelines *timelines, const struct report_lanes *lanes, const char *name,
                        struct lumos_text *out) {
  struct report_scene scene;
  report_gantt_scene(timelines, lanes, name, &scene);
  report_svg_paint(&scene, out);
  report_scene_free(&scene);
}

static bool write_half(void *context, size_t half, bool callers) {
  struct page_parts *parts = context;
  const struct report_timelines *timelines = &parts->content->timelines;
  (void)callers;
  if (half == 0) {
    write_tasks(parts);
  } else {
    write_lanes(timelines, &timelines->open, "timeline", &parts->timeline);
    write_lanes(timelines, &timelines->folded, "folded", &parts->folded);
  }
  return true;
}

static void fill_long_parts(const struct page *page) {
  struct report_scope *root = report_model_root(page->model);
  struct page_parts parts = {page->content, LUMOS_TEXT_BUFFER, LUMOS_TEXT_BUFFER, LUMOS_TEXT_BUFFER, LUMOS_TEXT_BUFFER};
  (void)lumos_parallel(2, 0, write_half, &parts);
  report_set_take(root, "tasks_held", &parts.tasks_held);
  report_set_take(root, "tasks", &parts.tasks);
  report_set_take(root, "timeline_picture", &parts.timeline);
  report_set_take(root, "folded_picture", &parts.folded);
}

static void fill_timeline(const struct page *page, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  const struct report_timelines *timelines = &page->content->timelines;
  report_put_timeline_finding(&page->content->facts, &text);
  report_set_take(root, "timeline_finding", &text);
  report_put_gantt_reading(timelines, &text);
  report_set_take(root, "timeline_reading", &text);
  report_section_if(root, "has_folded", timelines->folded.count > 0);
  report_put_counted(&text, (int64_t)timelines->folded.count, "more lane");
  report_set_take(root, "folded_count", &text);
  report_section_if(root, "has_left_out", timelines->left_out > 0);
  report_put_counted(&text, (int64_t)timelines->left_out, "lane");
  report_set_take(root, "left_out", &text);
  set_table(page, root, TABLE_LANES, "lanes_table");
  bool shown[LUMOS_TASK_KINDS] = {false};
  report_gantt_kinds(&timelines->open, shown);
  report_gantt_kinds(&timelines->folded, shown);
  report_section(root, "kinds");
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    if (shown[kind]) {
      add_legend(root, "kinds", report_paint_of_kind((uint8_t)kind), "");
    }
  }
}

static void fill_legend(struct report_scope *scope, const bool shown[PAINT_COUNT]) {
  report_section(scope, "kinds");
  for (int paint = 1; paint < PAINT_COUNT; paint++) {
    if (shown[paint]) {
      add_legend(scope, "kinds", (enum report_paint)paint, "");
    }
  }
}

static void fill_busy(const struct page *page, struct report_scope *root) {
  const struct report_busy *busy = &page->content->busy;
  struct report_scene scene;
  report_section(root, "busy");
  if (!report_busy_scene(busy, &scene)) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "busy");
  bool shown[PAINT_COUNT] = {false};
  report_put_busy_finding(busy, &text);
  report_set_take(section, "busy_finding", &text);
  report_put_busy_reading(busy, &text);
  report_set_take(section, "busy_reading", &text);
  report_busy_paints(busy, shown);
  fill_legend(section, shown);
  set_scene(section, &scene, "busy_picture");
  set_table(page, section, TABLE_BUSY, "busy_table");
}

/* The switch for the marks, and what they mean; nothing where there are none. */
static void fill_marks(const struct page *page, struct report_scope *root) {
  bool shown[PAINT_COUNT] = {false};
  report_section(root, "marks");
  report_doubt_paints(&page->content->timelines.doubts, shown);
  if (page->content->timelines.doubts.count == 0) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "marks");
  report_section_if(section, "marks_on", page->content->options->marks);
  report_put_doubt_reading(&text);
  report_set_take(section, "marks_reading", &text);
  report_section(section, "kinds");
  for (int paint = 0; paint < PAINT_COUNT; paint++) {
    if (shown[paint]) {
      add_legend(section, "kinds", (enum report_paint)paint, "");
    }
  }
}

/* Nothing where no passes were recovered. */
static void fill_pipeline(const struct page *page, struct report_scope *root) {
  const struct lumos_passes *passes = &page->content->passes;
  struct report_scene scene;
  report_section(root, "pipeline");
  if (!report_pipeline_scene(passes, &scene)) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "pipeline");
  bool shown[PAINT_COUNT] = {false};
  report_put_pipeline_finding(passes, &text);
  report_set_take(section, "pipeline_finding", &text);
  report_put_pipeline_reading(passes, &text);
  report_set_take(section, "pipeline_reading", &text);
  report_pipeline_paints(passes, shown);
  fill_legend(section, shown);
  set_scene(section, &scene, "pipeline_picture");
  set_table(page, section, TABLE_PIPELINE, "pipeline_table");
  fill_metric_table(page, section, METRICS_BUBBLES, "bubbles");
}

static void fill_layers(const struct page *page, struct report_scope *root) {
  const struct report_layers *layers = &page->content->layers;
  struct report_scene scene;
  report_section(root, "layers");
  if (!report_layers_scene(layers, &scene)) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "layers");
  bool shown[PAINT_COUNT] = {false};
  report_put_layers_finding(layers, &text);
  report_set_take(section, "layers_finding", &text);
  report_put_layers_reading(layers, &text);
  report_set_take(section, "layers_reading", &text);
  report_layers_paints(layers, shown);
  fill_legend(section, shown);
  set_scene(section, &scene, "layers_picture");
  set_table(page, section, TABLE_LAYERS, "layers_table");
}

static void fill_dependency_picture(const struct report_dependencies *dependencies, struct report_scope *section,
                                    struct report_scene *scene) {
  struct report_scope *picture = report_section_item(section, "picture");
  bool shown[PAINT_COUNT] = {false};
  report_dependencies_paints(dependencies, shown);
  fill_legend(picture, shown);
  set_scene(picture, scene, "dependencies_picture");
}

/* Without a picture the table stands open in its place. */
static void fill_dependencies(const struct page *page, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  const struct report_dependencies *dependencies = &page->content->dependencies;
  report_put_dependencies_finding(dependencies, &text);
  report_set_take(root, "dependencies_finding", &text);
  report_section(root, "dependencies");
  if (!dependencies->known) {
    return;
  }
  struct report_scope *section = report_section_item(root, "dependencies");
  report_put_dependencies_reading(dependencies, &text);
  report_set_take(section, "dependencies_reading", &text);
  report_put_dependencies_problem(dependencies, &text);
  report_set_take(section, "dependencies_problem", &text);
  report_section(section, "picture");
  bool drawn = report_dependencies_scene(dependencies, &scene);
  if (drawn) {
    fill_dependency_picture(dependencies, section, &scene);
  }
  report_section_if(section, "no_picture", !drawn);
  report_section_if(section, "table_open", !drawn);
  set_table(page, section, TABLE_DEPENDENCIES, "dependencies_table");
}

static void fill_path_picture(const struct page *page, struct report_scope *section) {
  struct report_path path;
  struct report_scene scene;
  report_path_read(&page->content->facts, &path);
  report_section(section, "picture");
  if (!report_path_scene(&path, false, &scene)) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *picture = report_section_item(section, "picture");
  set_scene(picture, &scene, "path_picture");
  if (report_path_scene(&path, true, &scene)) {
    set_scene(picture, &scene, "path_narrow_picture");
  }
  report_put_path_reading(&path, &text);
  report_set_take(picture, "path_reading", &text);
  report_section(picture, "kinds");
  for (size_t i = 0; i < path.count; i++) {
    add_part(picture, path.parts[i].paint, path.parts[i].label, path.parts[i].share);
  }
}

static void fill_path(const struct page *page, struct report_scope *root) {
  static const struct {
    enum report_metric_table number;
    const char *section;
  } places[] = {{METRICS_PATH_OPS, "path_ops"},
                {METRICS_PATH_MODULES, "path_modules"},
                {METRICS_PATH_LAYERS, "path_layers"},
                {METRICS_PATH_RANKS, "path_ranks"},
                {METRICS_PATH_CROSSINGS, "path_crossings"}};
  report_section(root, "path");
  if (report_table_rows(metric_table(page, METRICS_PATH_KINDS)) == 0) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "path");
  report_put_path_finding(&page->content->facts, metric_table(page, METRICS_PATH_KINDS),
                          metric_table(page, METRICS_PATH_RANKS), &text);
  report_set_take(section, "path_finding", &text);
  fill_path_picture(page, section);
  set_table(page, section, TABLE_METRICS + METRICS_PATH_KINDS, "path_kinds_table");
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    fill_metric_table(page, section, places[i].number, places[i].section);
  }
}

/* The matrix stands open, the list with its exact times is folded. */
static void fill_waits(const struct page *page, struct report_scope *section) {
  struct report_waits waits;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_section(section, "waits");
  report_waits_read(&page->content->facts, &waits);
  report_waits_html(&waits, &text);
  if (report_table_rows(metric_table(page, METRICS_WAITS)) > 0) {
    struct report_scope *item = report_section_item(section, "waits");
    report_set_take(item, "waits_matrix", &text);
    set_table(page, item, TABLE_METRICS + METRICS_WAITS, "table");
  }
}

static void fill_communication(const struct page *page, struct report_scope *root) {
  report_section(root, "communication");
  if (report_table_rows(&page->content->tables[TABLE_COLLECTIVES]) == 0) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "communication");
  report_put_waits_finding(metric_table(page, METRICS_WAITS), metric_table(page, METRICS_STRAGGLERS), &text);
  report_section_if(section, "has_waits_finding", text.length > 0);
  report_set_take(section, "waits_finding", &text);
  set_table(page, section, TABLE_COLLECTIVES, "collectives_table");
  fill_waits(page, section);
  fill_metric_table(page, section, METRICS_STRAGGLERS, "stragglers");
  fill_metric_table(page, section, METRICS_GROUPS, "groups");
}

static void fill_kernels(const struct page *page, struct report_scope *root) {
  report_section(root, "kernels");
  if (report_table_rows(&page->content->tables[TABLE_KERNELS]) == 0) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "kernels");
  report_put_mfu_finding(metric_table(page, METRICS_MFU), &text);
  report_section_if(section, "has_mfu", text.length > 0);
  report_set_take(section, "mfu_finding", &text);
  set_table(page, section, TABLE_KERNELS, "kernels_table");
  fill_metric_table(page, section, METRICS_MFU, "mfu");
  fill_metric_table(page, section, METRICS_RATES, "rates");
  fill_metric_table(page, section, METRICS_OCCUPANCY, "occupancy");
}

static void fill_work(const struct page *page, struct report_scope *root) {
  fill_communication(page, root);
  fill_kernels(page, root);
  fill_metric_table(page, root, METRICS_MODULES, "modules");
  fill_metric_table(page, root, METRICS_PHASES, "phases");
  report_section_if(root, "has_kernels", report_table_rows(&page->content->tables[TABLE_KERNELS]) > 0);
  set_table(page, root, TABLE_OPS_DEVICE, "ops_device_table");
  set_table(page, root, TABLE_OPS_HOST, "ops_host_table");
  report_section_if(root, "has_model", report_table_rows(&page->content->tables[TABLE_MODEL]) > 0);
  set_table(page, root, TABLE_MODEL, "model_table");
  set_table(page, root, TABLE_RANKS, "ranks_table");
  set_table(page, root, TABLE_CLOCKS, "clocks_table");
}

/* What a page is made of: two files and the joined script. */
struct page_files {
  struct report_source page;
  struct report_source style;
  struct lumos_text script;
};

static bool load_files(const char *folder, struct page_files *files, struct lumos_error *error) {
  *files = (struct page_files){.script = LUMOS_TEXT_BUFFER};
  return report_template_load(folder, "report.html", &files->page, error) &&
         report_template_load(folder, "style.css", &files->style, error) &&
         report_script_load(folder, &files->script, error);
}

static void release_files(struct page_files *files) {
  report_template_release(&files->page);
  report_template_release(&files->style);
  lumos_text_free(&files->script);
}

static void fill_files(const struct page_files *files, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_palette_css(&text);
  lumos_text_put(&text, ":root{--sans:" REPORT_SANS "}\n");
  report_look_css(&text, "var(--sans)");
  report_set_take(root, "palette", &text);
  report_set(root, "style", files->style.bytes, files->style.length);
  report_set(root, "script", files->script.bytes, files->script.length);
  report_put_script_digest(&text, files->script.bytes, files->script.length);
  report_set_take(root, "script_digest", &text);
  report_set_text(root, "version", LUMOS_VERSION);
}

static void fill_model(const struct page *page, const struct page_files *files) {
  struct report_scope *root = report_model_root(page->model);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_subject(page->content, &text);
  report_set_take(root, "subject", &text);
  fill_files(files, root);
  report_fill_first_screen(page->content, root);
  fill_breakdown(page, root);
  fill_opportunities(page, root);
  fill_path(page, root);
  fill_timeline(page, root);
  fill_busy(page, root);
  fill_marks(page, root);
  fill_pipeline(page, root);
  fill_layers(page, root);
  fill_dependencies(page, root);
  fill_work(page, root);
  report_fill_notes(page->content->job, page->content->options->details, root);
  report_fill_definitions(root, NULL, NULL);
  report_summary(page->content, &text);
  report_set_take(root, "summary", &text);
}

bool report_page_write(struct report_content *content, struct lumos_text *out, struct lumos_error *error) {
  struct page_files files;
  bool done = load_files(content->options->template_folder, &files, error);
  if (done) {
    struct page page = {content, report_model_new()};
    fill_long_parts(&page);
    report_dependencies_settle(&content->dependencies);
    fill_model(&page, &files);
    done = report_template_render("report.html", files.page.bytes, files.page.length, page.model, lumos_text_html, out,
                                  error);
    report_model_free(page.model);
  }
  release_files(&files);
  return done;
}
