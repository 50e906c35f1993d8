/* The page: every part is written into the model, and the template puts them in their places. */
#include "report/forms/page.h"

#include "base/parallel.h"
#include "report/content/breakdown.h"
#include "report/content/change.h"
#include "report/content/composition.h"
#include "report/content/configuration.h"
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
#include "report/diagnosis/gains.h"
#include "report/diagnosis/reason.h"
#include "report/diagnosis/remedy.h"
#include "report/draw/svg.h"
#include "report/forms/page_parts.h"
#include "report/forms/summary.h"
#include "report/text/numbers.h"
#include "report/text/template.h"
#include <string.h>

struct page {
  const struct report_content *content;
  struct report_model *model;
};

static void set_table(const struct page *page, struct report_scope *scope, int number, const char *name) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_html(&page->content->tables[number], &text);
  report_set_take(scope, name, &text);
}

/* In the bar at the top. */
static void add_contents(const struct page *page, const char *id, const char *name) {
  struct report_scope *item = report_section_item(report_model_root(page->model), "contents");
  report_set_text(item, "id", id);
  report_set_text(item, "name", name);
}

/* A section of the template, and of the bar. */
static struct report_scope *begin_section(const struct page *page, struct report_scope *scope, const char *section,
                                          const char *name) {
  add_contents(page, section, name);
  return report_section_item(scope, section);
}

static const struct report_table *metric_table(const struct page *page, enum report_metric_table number) {
  return &page->content->tables[TABLE_METRICS + number];
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

/* Parts of bars, with the share that each has of the job's step; those that are nothing are left out. */
static void fill_parts(const struct report_facts *facts, const struct report_part *parts, size_t count,
                       enum report_timeline timeline, struct report_scope *section) {
  const struct report_row *whole = report_facts_whole(facts, timeline);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_section(section, "kinds");
  for (size_t i = 0; i < count; i++) {
    enum report_figure figure = parts[i].figure;
    if (whole->figures[timeline].of[figure] > 0 || facts->all.figures[timeline].of[figure] > 0) {
      struct report_scope *item = report_section_item(section, "kinds");
      report_put_share(&text, report_row_share(facts, whole, timeline, figure));
      report_set_take(item, "share", &text);
      report_set_text(item, "paint", report_paint_row(parts[i].paint)->css);
      report_set_text(item, "term", parts[i].term);
      report_set_text(item, "name", report_part_label(&parts[i]));
    }
  }
}

/* Why GPUs idle: beside the breakdown, with a picture where it is much. */
static void fill_idle(const struct page *page, struct report_scope *root) {
  enum { MUCH = 50000 }; /* millionths of the step: less is a bar that cannot be read */
  const struct report_facts *facts = &page->content->result.facts;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  report_section(root, "idle");
  report_put_idle_finding(facts, &text);
  if (text.length == 0) {
    return;
  }
  struct report_scope *section = report_section_item(root, "idle");
  report_set_take(section, "idle_finding", &text);
  report_section(section, "picture");
  bool much = report_row_share(facts, report_facts_whole(facts, SIMULATED), SIMULATED, FIGURE_IDLE) >= MUCH;
  if (much && report_idle_scene(facts, false, &scene)) {
    struct report_scope *picture = report_section_item(section, "picture");
    report_set_scene(picture, &scene, "idle_picture");
    if (report_idle_scene(facts, true, &scene)) {
      report_set_scene(picture, &scene, "idle_narrow_picture");
    }
    fill_parts(facts, report_idle_parts, REPORT_IDLE_PARTS, SIMULATED, picture);
  }
}

static void fill_breakdown(const struct page *page, struct report_scope *root) {
  const struct report_facts *facts = &page->content->result.facts;
  report_section(root, "breakdown");
  if (!facts->has_streams || facts->ranks.count == 0) {
    return;
  }
  struct report_scope *section = begin_section(page, root, "breakdown", "Step");
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  report_put_breakdown_finding(facts, &text);
  report_set_take(section, "breakdown_finding", &text);
  report_put_breakdown_reading(facts, &text);
  const struct report_result *result = &page->content->result;
  diagnosis_put_own_delay(result, &text);
  report_set_take(section, "breakdown_reading", &text);
  report_breakdown_scene(facts, &scene);
  report_set_scene(section, &scene, "breakdown_picture");
  report_breakdown_narrow_scene(facts, &scene);
  report_set_scene(section, &scene, "breakdown_narrow_picture");
  fill_parts(facts, report_parts, REPORT_PARTS, report_facts_spoken(facts), section);
  fill_idle(page, section);
}

static void fill_change_pictures(const struct page *page, struct report_scope *section) {
  const struct report_facts *facts = &page->content->result.facts;
  const struct report_table *table = &page->content->tables[TABLE_CHANGE];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  for (int narrow = 0; narrow < 2; narrow++) {
    if (report_change_scene(table, facts->step_range, narrow, &scene)) {
      report_set_scene(section, &scene, narrow ? "change_narrow_picture" : "change_picture");
    }
  }
  report_put_change_reading(facts, &text);
  report_set_take(section, "change_reading", &text);
}

/* The recorded passes above the predicted ones. */
static void fill_pipelines(const struct page *page, struct report_scope *section) {
  const struct report_content *content = page->content;
  report_section(section, "pipelines");
  if (!report_compares_pipelines(content)) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  struct report_scope *item = report_section_item(section, "pipelines");
  bool shown[PAINT_COUNT] = {false};
  report_put_pipelines_finding(&content->recorded, &content->passes, &text);
  report_set_take(item, "pipelines_finding", &text);
  report_put_pipelines_reading(&content->recorded, &content->passes, &text);
  report_set_take(item, "pipelines_reading", &text);
  report_pipeline_paints(&content->recorded, shown);
  report_pipeline_paints(&content->passes, shown);
  report_fill_legend(item, shown);
  report_pipelines_scene(&content->recorded, &content->passes, &scene);
  report_set_scene(item, &scene, "pipelines_picture");
}

static void fill_change(const struct page *page, struct report_scope *root) {
  const struct report_table *table = &page->content->tables[TABLE_CHANGE];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_section(root, "change");
  if (report_table_rows(table) == 0) {
    return;
  }
  struct report_scope *section = begin_section(page, root, "change", "Change");
  lumos_text_put(&text, "What changes: ");
  lumos_text_add(&text, table->finding.bytes, table->finding.length);
  report_set_take(section, "change_finding", &text);
  fill_change_pictures(page, section);
  set_table(page, section, TABLE_CHANGE, "table");
  report_section(section, "configuration");
  if (report_table_rows(&page->content->tables[TABLE_CONFIGURATION]) > 0) {
    struct report_scope *item = report_section_item(section, "configuration");
    set_table(page, item, TABLE_CONFIGURATION, "table");
    report_put_batch_reading(&page->content->result.facts, &text);
    report_section_if(item, "has_batch", text.length > 0);
    report_set_take(item, "batch", &text);
  }
  fill_pipelines(page, section);
  report_fill_assumptions(page->content->job, section);
}

/* Part of the longest bar, in thousandths. */
static void set_length(struct report_scope *scope, const char *name, int64_t part, int64_t most) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int64_t length = report_share(part, most);
  lumos_text_decimal(&text, length <= 0 ? 0 : length / 1000, 3);
  report_set_take(scope, name, &text);
}

/* A row's gain: of the step that the reader would otherwise have. */
struct gains {
  const struct report_result *result;
  const struct report_table *works; /* of the list, row by row */
  int64_t most;                     /* of the longest bar */
};

static int64_t gain_of(const struct gains *gains, int64_t time) { return diagnosis_row_gain(gains->result, time); }

static void set_gain_range(const struct gains *gains, struct report_range of, struct report_scope *scope) {
  report_section(scope, "range");
  if (report_range_known(of)) {
    struct report_scope *range = report_section_item(scope, "range");
    set_length(range, "low", gain_of(gains, of.high), gains->most);
    set_length(range, "high", gain_of(gains, of.low), gains->most);
    report_set_text(range, "reach", gain_of(gains, of.high) < 0 ? " beyond" : "");
  }
}

/* "Capturing each pass in a CUDA graph: a step of 33.0 ms; 90 % range 26.5 ms to 39.7 ms", and a bar of what that
 * gains; none of what may be no more than recording took. */
static void fill_gain(const struct gains *gains, const struct diagnosis_gain *gain, const struct lumos_text *why,
                      struct report_scope *scope) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  const struct report_result *result = gains->result;
  int64_t share = gain->at_most ? gain->share : gain_of(gains, gain->time), base = diagnosis_gain_base(result);
  diagnosis_put_step_of(result, gain, &text);
  if (share <= 0 && diagnosis_is_slowed(result)) {
    lumos_text_put(&text, "; not less than the ");
    report_put_time_beside(&text, base, gain->time);
    lumos_text_put(&text, " that a step takes without the profiler");
  }
  if (why != NULL) {
    lumos_text_add(&text, why->bytes, why->length);
  }
  report_set_take(scope, "evidence", &text);
  if (gain->at_most) {
    lumos_text_put(&text, "up to \xE2\x88\x92");
    report_put_share(&text, share);
  } else {
    diagnosis_put_row_gain(result, gain->time, &text);
  }
  report_set_take(scope, "gain", &text);
  set_length(scope, "length", share, gains->most);
  set_gain_range(gains, gain->range, scope);
}

static struct diagnosis_gain gain_of_row(const struct report_opportunity *item, bool is_change) {
  return (struct diagnosis_gain){.time = item->half, .range = item->range, .is_change = is_change, .opportunity = item};
}

/* Does one GPU run one stream, for nobody else? Then nothing but its CPU can hold it up. */
static bool waits_for_its_cpu_alone(const struct lumos_job *job) {
  size_t streams = 0;
  bool communicates = job->collectives.count > 0;
  for (size_t l = 0; l < job->lanes.count; l++) {
    streams += job->lanes.items[l].kind == LUMOS_STREAM && job->lanes.items[l].task_count > 0;
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    communicates |= lumos_is_communication(job->tasks.items[t].kind);
  }
  return job->ranks.count == 1 && streams == 1 && !communicates;
}

/* "; less than half of its 19.1 ms, because the CPU then limits the step": of the work of a row. */
static void put_cpu_limit(const struct gains *gains, const struct report_opportunity *item, struct lumos_text *out) {
  enum { TIME_COLUMN = 1, MOST = 90 }; /* per cent of half of its time: a gain of more needs no explanation */
  const struct report_opportunities *all = &gains->result->opportunities;
  int64_t time = report_table_value(gains->works, (size_t)(item - all->list.items), TIME_COLUMN);
  const char *kind = lumos_string(gains->result->job->strings, item->kind);
  bool of_gpu = strcmp(kind, "host") != 0 && strcmp(kind, "launch") != 0;
  if (of_gpu && time != LUMOS_ABSENT && report_opportunity_gain(all, item->half) < time / 2 / 100 * MOST &&
      !diagnosis_is_slowed(gains->result) && waits_for_its_cpu_alone(gains->result->job)) {
    lumos_text_put(out, "; less than half of its ");
    report_put_time(out, time);
    lumos_text_put(out, ", because the CPU then limits the step");
  }
}

static void fill_action(const struct gains *gains, const struct report_opportunity *item, struct report_scope *scope) {
  const struct report_opportunities *opportunities = &gains->result->opportunities;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct diagnosis_gain gain = gain_of_row(item, false);
  report_put_opportunity_action(opportunities, item, &text);
  report_set_take(scope, "action", &text);
  report_set_text(scope, "paint", report_paint_row(report_paint_of_opportunity(opportunities, item))->css);
  put_cpu_limit(gains, item, &text);
  fill_gain(gains, &gain, &text, scope);
  lumos_text_free(&text);
}

/* "; by fewer launches: halving these kernels' time alone saves 1.2 %" of fused kernels where half of their time would
 * save less than half as much. */
static void put_launches_saved(const struct report_opportunities *opportunities,
                               const struct report_opportunity *change, struct lumos_text *out) {
  const struct lumos_strings *strings = opportunities->job->strings;
  int64_t saved = report_opportunity_gain(opportunities, change->half), of_kernels = 0;
  for (size_t i = 0; i < opportunities->list.count; i++) {
    const struct report_opportunity *work = &opportunities->list.items[i];
    const char *kind = lumos_string(strings, work->kind);
    if (strcmp(kind, "elementwise") == 0 || strcmp(kind, "norm") == 0) {
      of_kernels = report_sum(of_kernels, report_opportunity_gain(opportunities, work->half));
    }
  }
  if (strcmp(lumos_string(strings, change->kind), "fused_kernels") == 0 && of_kernels < saved / 2) {
    lumos_text_put(out, "; by fewer launches: halving these kernels\xE2\x80\x99 time alone saves ");
    if (of_kernels > 0) {
      report_put_share(out, report_share(of_kernels, opportunities->step));
    } else {
      lumos_text_put(out, "under 0.5\xC2\xA0%");
    }
  }
}

/* The diagnosis's own cure. */
static void fill_cure(const struct gains *gains, const struct diagnosis_gain *gain, struct report_scope *scope) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  diagnosis_put_action(gains->result, &text);
  report_set_take(scope, "action", &text);
  enum report_paint paint = gain->is_change && gain->opportunity != NULL
                                ? report_paint_of_improvement(&gains->result->opportunities, gain->opportunity)
                                : PAINT_WAIT;
  report_set_text(scope, "paint", report_paint_row(paint)->css);
  fill_gain(gains, gain, NULL, scope);
}

/* What each change gains. The cure comes first, unless something else is what to do first. */
static void fill_changes(const struct gains *gains, const struct diagnosis_gain *cure, struct report_scope *section) {
  const struct report_opportunities *opportunities = &gains->result->opportunities;
  struct diagnosis_gain headline = diagnosis_headline_gain(gains->result);
  bool first = diagnosis_same_gain(&headline, cure), told = cure->share == LUMOS_ABSENT;
  for (size_t i = 0; i < opportunities->changes.count; i++) {
    const struct report_opportunity *change = &opportunities->changes.items[i];
    bool bound = cure->at_most && i == 0; /* goes behind what was simulated, unless it is what to do first */
    if (!told && (first || (!bound && change->half > cure->time))) {
      fill_cure(gains, cure, report_section_item(section, "actions"));
      told = true;
    }
    if (change == cure->opportunity) {
      continue;
    }
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    struct diagnosis_gain gain = gain_of_row(change, true);
    struct report_scope *scope = report_section_item(section, "actions");
    report_put_improvement_action(opportunities, change, &text);
    report_set_take(scope, "action", &text);
    report_set_text(scope, "paint", report_paint_row(report_paint_of_improvement(opportunities, change))->css);
    put_launches_saved(opportunities, change, &text);
    fill_gain(gains, &gain, &text, scope);
    lumos_text_free(&text);
  }
  if (!told) {
    fill_cure(gains, cure, report_section_item(section, "actions"));
  }
}

/* `range` reaches as far as its least time. */
static void add_longest(struct gains *gains, int64_t time, struct report_range range) {
  int64_t gain = gain_of(gains, time), high = report_range_known(range) ? gain_of(gains, range.low) : 0;
  gains->most = gain > gains->most ? gain : gains->most;
  gains->most = high > gains->most ? high : gains->most;
}

static void add_longest_of(struct gains *gains, const struct report_opportunity_list *list, size_t rows) {
  for (size_t i = 0; i < list->count && i < rows; i++) {
    add_longest(gains, list->items[i].half, list->items[i].range);
  }
}

static void put_help_finding(const struct page *page, struct lumos_text *out) {
  const struct report_result *result = &page->content->result;
  struct diagnosis_gain gain = diagnosis_best_gain(result);
  if (!diagnosis_predicts(&result->diagnosis)) {
    lumos_text_put(out, report_no_gains);
  } else if (gain.share != LUMOS_ABSENT) {
    diagnosis_put_changing(result, &gain, out);
    lumos_text_put(out, gain.at_most ? " could help most" : " would help most");
  } else {
    report_put_opportunities_finding(&page->content->result.opportunities, out);
  }
}

/* The best few, each with what to do about it; the table has all. Nothing where nobody looked for opportunities. */
static void fill_opportunities(const struct page *page, struct report_scope *root) {
  enum { MOST_ACTIONS = 5, LEAST_GAIN = 5000 /* millionths of the step, as below which nothing is asked */ };
  const struct report_opportunities *opportunities = &page->content->result.opportunities;
  report_section(root, "opportunities");
  if (opportunities->list.count == 0 && !opportunities->none) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = begin_section(page, root, "opportunities", "What would help");
  put_help_finding(page, &text);
  report_set_take(section, "opportunities_finding", &text);
  const struct report_result *result = &page->content->result;
  report_section(section, "actions");
  report_section(section, "halves");
  report_section_if(section, "has_table", opportunities->list.count > 0);
  if (!diagnosis_predicts(&result->diagnosis)) { /* the table alone shows what the simulation says */
    diagnosis_put_confidence(result, &text);
    lumos_text_put(&text,
                   opportunities->list.count > 0 ? " The table shows what the simulation says all the same." : "");
    report_set_take(section, "opportunities_reading", &text);
    return;
  }
  report_put_opportunities_reading(opportunities, &text);
  lumos_text_put(&text, diagnosis_is_slowed(result)
                            ? " These steps contain some of what the profiler costs, so a change may gain more; bars "
                              "show what is gained over a step without it."
                            : "");
  report_set_take(section, "opportunities_reading", &text);
  struct diagnosis_gain cure = diagnosis_cure(result);
  const struct report_opportunity *best = report_best_opportunity(opportunities);
  struct gains gains = {result, &page->content->tables[TABLE_OPPORTUNITIES], cure.share > 0 ? cure.share : 0};
  add_longest(&gains, cure.at_most ? LUMOS_ABSENT : cure.time, cure.range);
  add_longest_of(&gains, &opportunities->list, MOST_ACTIONS);
  add_longest_of(&gains, &opportunities->changes, opportunities->changes.count);
  fill_changes(&gains, &cure, section);
  struct report_scope *halves = NULL;
  for (size_t i = 0; best != NULL && i < opportunities->list.count && i < MOST_ACTIONS; i++) {
    const struct report_opportunity *item = &opportunities->list.items[i];
    if (item != cure.opportunity && report_opportunity_gain_share(opportunities, item->half) >= LEAST_GAIN) {
      if (halves == NULL) {
        halves = report_section_item(section, "halves");
        struct diagnosis_gain most = diagnosis_best_gain(result); /* what the title names is in sight */
        report_section_if(halves, "open", !most.is_change && !most.at_most);
      }
      fill_action(&gains, item, report_section_item(halves, "half"));
    }
  }
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
  const struct report_detail_source from = {.timelines = &content->timelines,
                                            .options = content->options,
                                            .bindings = content->bindings,
                                            .chain = dependencies->known ? &dependencies->chain : NULL};
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
  (void)lumos_parallel(2, page->content->job->threads, write_half, &parts);
  report_set_take(root, "tasks_held", &parts.tasks_held);
  report_set_take(root, "tasks", &parts.tasks);
  report_set_take(root, "timeline_picture", &parts.timeline);
  report_set_take(root, "folded_picture", &parts.folded);
}

static void fill_timeline(const struct page *page, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  add_contents(page, "timeline", "Timeline");
  const struct report_timelines *timelines = &page->content->timelines;
  report_put_timeline_finding(&page->content->result.facts, &text);
  report_set_take(root, "timeline_finding", &text);
  report_put_gantt_reading(timelines, &text);
  report_set_take(root, "timeline_reading", &text);
  report_section_if(root, "has_routes", timelines->routes.legs.count > 0);
  report_put_gantt_routes(timelines, &text);
  report_set_take(root, "routes_reading", &text);
  report_section_if(root, "has_folded", timelines->folded.count > 0);
  report_put_counted(&text, (int64_t)timelines->folded.count, "more lane");
  report_set_take(root, "folded_count", &text);
  report_section_if(root, "has_left_out", timelines->left_out > 0);
  report_put_counted(&text, (int64_t)timelines->left_out, "lane");
  report_set_take(root, "left_out", &text);
  bool shown[LUMOS_TASK_KINDS] = {false};
  report_gantt_kinds(&timelines->open, shown);
  report_gantt_kinds(&timelines->folded, shown);
  report_section(root, "kinds");
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    if (shown[kind]) {
      report_add_legend(root, "kinds", report_paint_of_kind((uint8_t)kind), "");
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
  report_fill_legend(section, shown);
  report_set_scene(section, &scene, "busy_picture");
}

static void fill_memory(const struct page *page, struct report_scope *root) {
  const struct report_allocated *allocated = &page->content->allocated;
  struct report_scene scene;
  report_section(root, "memory");
  if (!report_allocated_scene(allocated, &scene)) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "memory");
  bool shown[PAINT_COUNT] = {false};
  report_put_allocated_finding(allocated, &text);
  report_set_take(section, "memory_finding", &text);
  report_put_allocated_reading(allocated, &text);
  report_set_take(section, "memory_reading", &text);
  report_allocated_paints(allocated, shown);
  report_fill_legend(section, shown);
  report_set_scene(section, &scene, "memory_picture");
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
      report_add_legend(section, "kinds", (enum report_paint)paint, "");
    }
  }
}

/* Nothing where no passes were recovered. Without a pipeline it stands beside the timeline. */
static void fill_pipeline(const struct page *page, struct report_scope *section) {
  const struct lumos_passes *passes = &page->content->passes;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scene scene;
  bool shown[PAINT_COUNT] = {false};
  report_put_pipeline_finding(passes, &page->content->result.facts, &text);
  report_set_take(section, "pipeline_finding", &text);
  report_put_pipeline_reading(passes, &text);
  report_set_take(section, "pipeline_reading", &text);
  report_pipeline_paints(passes, shown);
  report_fill_legend(section, shown);
  if (report_pipeline_scene(passes, &page->content->result.facts, &scene)) {
    report_set_scene(section, &scene, "pipeline_picture");
  }
}

static void fill_layers(const struct page *page, struct report_scope *root) {
  const struct report_layers *layers = &page->content->layers;
  struct report_scene scene;
  report_section(root, "layers");
  if (!report_layers_scene(layers, &scene)) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = begin_section(page, root, "layers", "Layers");
  bool shown[PAINT_COUNT] = {false};
  report_put_layers_finding(layers, &text);
  report_set_take(section, "layers_finding", &text);
  report_put_layers_reading(layers, &text);
  report_set_take(section, "layers_reading", &text);
  report_layers_paints(layers, shown);
  report_fill_legend(section, shown);
  report_set_scene(section, &scene, "layers_picture");
}

static void fill_dependency_picture(const struct report_dependencies *dependencies, struct report_scope *section,
                                    struct report_scene *scene) {
  struct report_scope *picture = report_section_item(section, "picture");
  bool shown[PAINT_COUNT] = {false};
  report_dependencies_paints(dependencies, shown);
  report_fill_legend(picture, shown);
  report_set_scene(picture, scene, "dependencies_picture");
}

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
  lumos_text_put(&text, page->content->result.facts.job_all.steps > 1
                            ? " These shares are of one step; those of the section before are means over all steps."
                            : "");
  report_set_take(section, "dependencies_reading", &text);
  report_put_dependencies_problem(dependencies, &text);
  report_set_take(section, "dependencies_problem", &text);
  report_section(section, "picture");
  bool drawn = report_dependencies_scene(dependencies, 1, &scene);
  if (drawn) {
    fill_dependency_picture(dependencies, section, &scene);
  }
  report_section_if(section, "no_picture", !drawn);
}

static void fill_path_picture(const struct page *page, struct report_scope *section) {
  struct report_path path;
  struct report_scene scene;
  report_path_read(&page->content->result.facts, &path);
  report_section(section, "picture");
  if (!report_path_scene(&path, false, &scene)) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *picture = report_section_item(section, "picture");
  report_set_scene(picture, &scene, "path_picture");
  if (report_path_scene(&path, true, &scene)) {
    report_set_scene(picture, &scene, "path_narrow_picture");
  }
  report_put_path_reading(&path, &text);
  if (report_path_is_mostly_cpu(&path)) {
    const struct report_result *result = &page->content->result;
    diagnosis_put_path_link(result, &text);
  }
  report_set_take(picture, "path_reading", &text);
  report_section(picture, "kinds");
  for (size_t i = 0; i < path.count; i++) {
    add_part(picture, path.parts[i].paint, path.parts[i].label, path.parts[i].share);
  }
}

static void fill_path(const struct page *page, struct report_scope *root) {
  report_section(root, "path");
  if (report_table_rows(metric_table(page, METRICS_PATH_KINDS)) == 0) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = report_section_item(root, "path");
  add_contents(page, "critical-path", "Critical path");
  report_put_path_finding(&page->content->result.facts, metric_table(page, METRICS_PATH_KINDS),
                          metric_table(page, METRICS_PATH_RANKS), &text);
  report_set_take(section, "path_finding", &text);
  fill_path_picture(page, section);
}

static void fill_waits(const struct page *page, const struct report_waits *waits, struct report_scope *section) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_waits_finding(metric_table(page, METRICS_WAITS), metric_table(page, METRICS_STRAGGLERS), &text);
  report_set_take(section, "waits_finding", &text);
  report_waits_html(waits, &text);
  report_set_take(section, "waits_matrix", &text);
}

/* An item of `losses`, which has one of the two sections. */
static struct report_scope *add_loss(const struct page *page, struct report_scope *root, const char *section,
                                     const char *name) {
  struct report_scope *item = report_section_item(root, "losses");
  report_section(item, "pipeline");
  report_section(item, "waits");
  return begin_section(page, item, section, name);
}

/* Is anybody late? In a pipeline every stage waits for its neighbors otherwise, which is its bubble. */
static bool names_late_ranks(const struct lumos_diagnosis *diagnosis) {
  bool late = false;
  for (size_t i = 0; i < diagnosis->count; i++) {
    enum lumos_cause cause = diagnosis->findings[i].cause;
    late |= diagnosis->findings[i].rank_count > 0 && cause != LUMOS_CAUSE_IMBALANCE && cause != LUMOS_CAUSE_SLOW_LINK;
  }
  return late;
}

/* The pipeline and who waits for whom: what carries more of the loss comes first, and the matrix not at all where that
 * is the pipeline and no rank is late; the table of the same name has it. */
static void fill_losses(const struct page *page, struct report_scope *root) {
  const struct report_facts *facts = &page->content->result.facts;
  const int64_t *of = report_facts_whole(facts, report_facts_spoken(facts))->figures[report_facts_spoken(facts)].of;
  struct report_waits waits;
  report_waits_read(facts, &waits);
  waits.has_late = report_has_late_rank(metric_table(page, METRICS_WAITS), metric_table(page, METRICS_STRAGGLERS));
  bool pipeline = page->content->passes.stages.count > 0 && page->content->passes.pipeline > 1;
  bool waits_first = of[FIGURE_COMMUNICATION_WAIT] > of[FIGURE_PIPELINE_BUBBLE];
  report_section(root, "losses");
  for (int i = 0; i < 2; i++) {
    bool turn_of_waits = (i == 0) == waits_first;
    if (turn_of_waits && waits.count > 0 &&
        (waits_first || !pipeline || names_late_ranks(&page->content->result.diagnosis))) {
      fill_waits(page, &waits, add_loss(page, root, "waits", "Who waits for whom"));
    } else if (!turn_of_waits && pipeline && !report_compares_pipelines(page->content)) {
      fill_pipeline(page, add_loss(page, root, "pipeline", "Pipeline"));
    }
  }
}

/* Passes of ranks without a pipeline. */
static void fill_passes(const struct page *page, struct report_scope *root) {
  report_section(root, "passes");
  bool alike = page->content->passes.stages.count > 0 && page->content->passes.pipeline <= 1;
  if (alike && !report_compares_pipelines(page->content)) {
    fill_pipeline(page, report_section_item(root, "passes"));
  }
}

static void fill_kernels(const struct page *page, struct report_scope *root) {
  report_section(root, "kernels");
  if (report_table_rows(&page->content->tables[TABLE_KERNELS]) == 0) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct report_scope *section = begin_section(page, root, "kernels", "Kernels");
  report_put_kinds_finding(metric_table(page, METRICS_KINDS), &text);
  if (text.length == 0) { /* of a stream of an older version */
    lumos_text_put(&text, "Kernels");
  }
  report_set_take(section, "kernels_finding", &text);
  report_put_mfu_finding(metric_table(page, METRICS_MFU), &text);
  report_section_if(section, "has_mfu", text.length > 0);
  report_set_take(section, "mfu_finding", &text);
  report_section(section, "kinds");
  if (report_table_rows(metric_table(page, METRICS_KINDS)) > 0) {
    set_table(page, report_section_item(section, "kinds"), TABLE_METRICS + METRICS_KINDS, "table");
  }
  set_table(page, section, TABLE_KERNELS, "names_table");
}

/* All other tables, folded, by what they are about; a new one is a row here. */
static const struct {
  int number;
  const char *title;
} listed[] = {
    {TABLE_BREAKDOWN, "Where the step went, by rank"},
    {TABLE_STEPS, "Where the step went, by rank and step"},
    {TABLE_METRICS + METRICS_IDLE, "Idle time by rank"},
    {TABLE_METRICS + METRICS_IDLE_OPS, "Idle time by op that the CPU is in"},
    {TABLE_METRICS + METRICS_IDLE_STREAMS, "Idle time by stream"},
    {TABLE_OPPORTUNITIES, "What would help, by kind of work"},
    {TABLE_IMPROVEMENTS, "What would help, by change"},
    {TABLE_COLLECTIVES, "Communication by operation"},
    {TABLE_METRICS + METRICS_GROUPS, "Communication by group"},
    {TABLE_METRICS + METRICS_STRAGGLERS, "How late each rank arrives"},
    {TABLE_METRICS + METRICS_WAITS, "Who waits for whom"},
    {TABLE_PIPELINE, "Forward and backward passes"},
    {TABLE_RECORDED_PIPELINE, "Forward and backward passes, as recorded"},
    {TABLE_METRICS + METRICS_BUBBLES, "Pipeline bubble by stage"},
    {TABLE_LANES, "Lanes of the timeline"},
    {TABLE_BUSY, "GPU utilization over time"},
    {TABLE_ALLOCATED, "Memory over time"},
    {TABLE_METRICS + METRICS_PATH_KINDS, "Critical path by kind"},
    {TABLE_METRICS + METRICS_PATH_OPS, "Critical path by op"},
    {TABLE_METRICS + METRICS_PATH_MODULES, "Critical path by module"},
    {TABLE_METRICS + METRICS_PATH_LAYERS, "Critical path by layer"},
    {TABLE_METRICS + METRICS_PATH_RANKS, "Critical path by rank"},
    {TABLE_METRICS + METRICS_PATH_CROSSINGS, "Critical path by dependency"},
    {TABLE_DEPENDENCIES, "Critical path, box by box"},
    {TABLE_METRICS + METRICS_COPIES, "Copies and their bandwidth"},
    {TABLE_METRICS + METRICS_MEMORY, "Memory by rank"},
    {TABLE_METRICS + METRICS_MFU, "Model FLOPs and MFU"},
    {TABLE_METRICS + METRICS_RATES, "Achieved FLOP/s and bandwidth"},
    {TABLE_METRICS + METRICS_OCCUPANCY, "Occupancy"},
    {TABLE_OPS_DEVICE, "Ops by GPU time"},
    {TABLE_OPS_HOST, "Ops by CPU time"},
    {TABLE_METRICS + METRICS_MODULES, "GPU time by module"},
    {TABLE_METRICS + METRICS_PHASES, "GPU time by phase"},
    {TABLE_LAYERS, "GPU time by layer"},
    {TABLE_METRICS + METRICS_ANNOTATIONS, "GPU and CPU time by annotation"},
    {TABLE_METRICS + METRICS_CALLS, "Launches and other runtime calls"},
    {TABLE_MODEL, "The job"},
    {TABLE_RANKS, "Ranks"},
    {TABLE_CLOCKS, "Clocks"},
};

static void fill_tables(const struct page *page, struct report_scope *root) {
  report_section(root, "tables");
  struct report_scope *section = begin_section(page, root, "tables", "Tables");
  report_section(section, "list");
  for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++) {
    if (report_table_rows(&page->content->tables[listed[i].number]) > 0) {
      struct report_scope *item = report_section_item(section, "list");
      report_set_text(item, "title", listed[i].title);
      set_table(page, item, listed[i].number, "table");
    }
  }
}

/* The terms that the page leads to: those of its tables, figures and legends. */
static bool leads_to(const void *context, const char *key) {
  const struct page *page = context;
  bool found = report_model_holds(page->model, "term", key);
  for (size_t i = 0; i < TABLES && !found; i++) {
    found = report_table_leads_to(&page->content->tables[i], key);
  }
  return found;
}

/* In the order of the page. */
static void fill_sections(const struct page *page, struct report_scope *root) {
  enum { OPEN_WARNINGS = 2 };
  report_section(root, "contents");
  fill_breakdown(page, root);
  fill_change(page, root);
  fill_opportunities(page, root);
  fill_losses(page, root);
  fill_timeline(page, root);
  fill_marks(page, root);
  fill_busy(page, root);
  fill_memory(page, root);
  fill_passes(page, root);
  fill_path(page, root);
  fill_dependencies(page, root);
  fill_kernels(page, root);
  fill_layers(page, root);
  add_contents(page, "trust", "Confidence");
  fill_tables(page, root);
  add_contents(page, "notes", "Notes");
  report_fill_notes(page->content->job, page->content->options->details, OPEN_WARNINGS, root);
  add_contents(page, "definitions", "Definitions");
  report_fill_definitions(root, leads_to, page);
}

static void fill_model(const struct page *page, const struct report_page_files *files) {
  struct report_scope *root = report_model_root(page->model);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_subject(page->content, &text);
  report_set_take(root, "subject", &text);
  report_page_files_fill(files, root);
  report_fill_first_screen(page->content, root);
  fill_sections(page, root);
  report_summary(page->content, &text);
  report_set_take(root, "summary", &text);
}

bool report_page_write(struct report_content *content, struct lumos_text *out, struct lumos_error *error) {
  struct report_page_files files;
  bool done = report_page_files_load(content->options->template_folder, "report.html", &files, error);
  if (done) {
    struct page page = {content, report_model_new()};
    fill_long_parts(&page);
    report_dependencies_settle(&content->dependencies);
    fill_model(&page, &files);
    done = report_page_files_render(&files, page.model, out, error);
    report_model_free(page.model);
  }
  report_page_files_release(&files);
  return done;
}
