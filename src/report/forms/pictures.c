/* The table of pictures, and the forms that show them alone: one (SVG, PNG), or all that there are, a page each
 * (PDF). */
#include "report/forms/pictures.h"

#include "report/content/breakdown.h"
#include "report/content/change.h"
#include "report/content/dependencies.h"
#include "report/content/doubt.h"
#include "report/content/gantt.h"
#include "report/content/losses.h"
#include "report/content/pipeline.h"
#include "report/diagnosis/first_screen.h"
#include "report/diagnosis/gains.h"
#include "report/draw/cairo.h"
#include "report/draw/svg.h"
#include <string.h>

static void find_breakdown(const struct report_content *content, struct lumos_text *out) {
  report_put_breakdown_finding(&content->result.facts, out);
}

static void read_breakdown(const struct report_content *content, struct lumos_text *out) {
  report_put_breakdown_reading(&content->result.facts, out);
}

/* Parts that are nothing everywhere need no explanation. */
static void explain_breakdown(const struct report_content *content, bool shown[PAINT_COUNT]) {
  for (int i = 0; i < REPORT_PARTS; i++) {
    for (int timeline = 0; timeline < TIMELINES; timeline++) {
      shown[report_parts[i].paint] |= content->result.facts.all.figures[timeline].of[report_parts[i].figure] > 0;
    }
  }
}

/* The rows of the ranks that were asked for. */
static void choose_rows(const struct report_content *content, const struct report_rows *rows,
                        struct report_rows *chosen) {
  const struct lumos_report_options *options = content->options;
  const struct report_timeline_choice choice = {.ranks = options->ranks, .rank_count = options->rank_count};
  *chosen = (struct report_rows){0};
  for (size_t i = 0; i < rows->count; i++) {
    if (report_timeline_chooses(&choice, content->job->ranks.items[rows->items[i].rank].rank)) {
      lumos_vector_push(chosen, rows->items[i]);
    }
  }
}

static bool draw_breakdown(const struct report_content *content, struct report_scene *scene) {
  if (!content->result.facts.has_streams || content->result.facts.ranks.count == 0) {
    return false;
  }
  struct report_facts chosen = content->result.facts;
  choose_rows(content, &content->result.facts.ranks, &chosen.ranks);
  choose_rows(content, &content->result.facts.steps, &chosen.steps);
  report_breakdown_scene(&chosen, scene);
  lumos_vector_free(&chosen.ranks);
  lumos_vector_free(&chosen.steps);
  return true;
}

static void find_change(const struct report_content *content, struct lumos_text *out) {
  const struct lumos_text *finding = &content->tables[TABLE_CHANGE].finding;
  lumos_text_put(out, "What changes: ");
  lumos_text_add(out, finding->bytes, finding->length);
}

static void read_change(const struct report_content *content, struct lumos_text *out) {
  report_put_change_reading(&content->result.facts, out);
}

/* Every bar has its name beside it. */
static void explain_change(const struct report_content *content, bool shown[PAINT_COUNT]) {
  (void)content;
  (void)shown;
}

static bool draw_change(const struct report_content *content, struct report_scene *scene) {
  return report_change_scene(&content->tables[TABLE_CHANGE], content->result.facts.step_range, false, scene);
}

/* What is not predicted on the page is not in a title either. */
static void find_opportunities(const struct report_content *content, struct lumos_text *out) {
  if (!diagnosis_predicts(&content->result.diagnosis)) {
    lumos_text_put(out, report_no_gains);
    return;
  }
  report_put_opportunities_finding(&content->result.opportunities, out);
}

static void read_opportunities(const struct report_content *content, struct lumos_text *out) {
  report_put_opportunities_reading(&content->result.opportunities, out);
}

/* Every bar has its name beside it. */
static void explain_opportunities(const struct report_content *content, bool shown[PAINT_COUNT]) {
  (void)content;
  (void)shown;
}

static bool draw_opportunities(const struct report_content *content, struct report_scene *scene) {
  return report_opportunities_scene(&content->result.opportunities, scene);
}

/* The timeline shows what the diagnosis tells: its first finding, as a sentence, unless no verdict is wanted. */
static void find_gantt(const struct report_content *content, struct lumos_text *out) {
  if (content->result.diagnosis.count == 0 || content->options->no_verdict) {
    report_put_timeline_finding(&content->result.facts, out);
    return;
  }
  size_t first = out->length;
  const struct report_result *result = &content->result;
  diagnosis_put_finding(result, &content->result.diagnosis.findings[0], out);
  if (out->length > first && out->bytes[first] >= 'a' && out->bytes[first] <= 'z') {
    out->bytes[first] = (char)(out->bytes[first] - 'a' + 'A');
  }
}

static void read_gantt(const struct report_content *content, struct lumos_text *out) {
  report_put_gantt_reading(&content->timelines, out);
  if (content->timelines.doubts.count > 0) {
    lumos_text_char(out, ' ');
    report_put_doubt_reading(out);
  }
  report_put_gantt_folded(&content->timelines, out);
}

/* Only lanes that are drawn count; the paint of a kind is its number. */
static void explain_gantt(const struct report_content *content, bool shown[PAINT_COUNT]) {
  report_gantt_kinds(&content->timelines.open, shown);
  shown[PAINT_ROUTE] |= content->timelines.routes.legs.count > 0;
  report_doubt_paints(&content->timelines.doubts, shown);
}

static bool draw_gantt(const struct report_content *content, struct report_scene *scene) {
  if (content->timelines.open.count == 0) {
    return false;
  }
  report_gantt_scene(&content->timelines, &content->timelines.open, "gantt", scene);
  return true;
}

static void find_allocated(const struct report_content *content, struct lumos_text *out) {
  report_put_allocated_finding(&content->allocated, out);
}

static void read_allocated(const struct report_content *content, struct lumos_text *out) {
  report_put_allocated_reading(&content->allocated, out);
}

static void explain_allocated(const struct report_content *content, bool shown[PAINT_COUNT]) {
  report_allocated_paints(&content->allocated, shown);
}

static bool draw_allocated(const struct report_content *content, struct report_scene *scene) {
  return report_allocated_scene(&content->allocated, scene);
}

static void find_busy(const struct report_content *content, struct lumos_text *out) {
  report_put_busy_finding(&content->busy, out);
}

static void read_busy(const struct report_content *content, struct lumos_text *out) {
  report_put_busy_reading(&content->busy, out);
}

static void explain_busy(const struct report_content *content, bool shown[PAINT_COUNT]) {
  report_busy_paints(&content->busy, shown);
}

static bool draw_busy(const struct report_content *content, struct report_scene *scene) {
  return report_busy_scene(&content->busy, scene);
}

static void find_dependencies(const struct report_content *content, struct lumos_text *out) {
  report_put_dependencies_finding(&content->dependencies, out);
}

static void read_dependencies(const struct report_content *content, struct lumos_text *out) {
  report_put_dependencies_reading(&content->dependencies, out);
}

static void explain_dependencies(const struct report_content *content, bool shown[PAINT_COUNT]) {
  report_dependencies_paints(&content->dependencies, shown);
}

static bool draw_dependencies(const struct report_content *content, struct report_scene *scene) {
  const struct report_dependencies *dependencies = &content->dependencies;
  const struct lumos_report_options *options = content->options;
  bool asked = options->width > 0 && options->height > 0;
  bool laid_out = dependencies->known && dependencies->outcome == LAYOUT_DONE;
  size_t columns = !laid_out ? 1
                   : asked   ? report_dependencies_columns(dependencies, options->width, options->height)
                             : report_dependencies_columns(dependencies, 1, 1);
  return report_dependencies_scene(dependencies, columns, scene);
}

static void find_pipeline(const struct report_content *content, struct lumos_text *out) {
  if (report_compares_pipelines(content)) {
    report_put_pipelines_finding(&content->recorded, &content->passes, out);
  } else {
    report_put_pipeline_finding(&content->passes, &content->result.facts, out);
  }
}

static void read_pipeline(const struct report_content *content, struct lumos_text *out) {
  if (report_compares_pipelines(content)) {
    report_put_pipelines_reading(&content->recorded, &content->passes, out);
  } else {
    report_put_pipeline_reading(&content->passes, out);
  }
}

static void explain_pipeline(const struct report_content *content, bool shown[PAINT_COUNT]) {
  report_pipeline_paints(&content->passes, shown);
  if (report_compares_pipelines(content)) {
    report_pipeline_paints(&content->recorded, shown);
  }
}

static bool draw_pipeline(const struct report_content *content, struct report_scene *scene) {
  if (report_compares_pipelines(content)) {
    report_pipelines_scene(&content->recorded, &content->passes, scene);
    return true;
  }
  return report_pipeline_scene(&content->passes, &content->result.facts, scene);
}

static void find_layers(const struct report_content *content, struct lumos_text *out) {
  report_put_layers_finding(&content->layers, out);
}

static void read_layers(const struct report_content *content, struct lumos_text *out) {
  report_put_layers_reading(&content->layers, out);
}

static void explain_layers(const struct report_content *content, bool shown[PAINT_COUNT]) {
  report_layers_paints(&content->layers, shown);
}

static bool draw_layers(const struct report_content *content, struct report_scene *scene) {
  return report_layers_scene(&content->layers, scene);
}

const struct report_picture report_pictures[REPORT_PICTURES] = {
    {LUMOS_VIEW_BREAKDOWN, TABLE_BREAKDOWN, "breakdown", "Where the step went",
     "there is no GPU work to break a step down into; use --view gantt", find_breakdown, read_breakdown,
     explain_breakdown, draw_breakdown},
    {LUMOS_VIEW_CHANGE, TABLE_CHANGE, "change", "What changes",
     "the job was not changed, or never measured; change it with lumos-transform", find_change, read_change,
     explain_change, draw_change},
    {LUMOS_VIEW_OPPORTUNITIES, TABLE_OPPORTUNITIES, "opportunities", "What would help most",
     "no kind of work is known that alone would shorten the step by 0.5 %; opportunities are found unless "
     "--opportunities is off",
     find_opportunities, read_opportunities, explain_opportunities, draw_opportunities},
    {LUMOS_VIEW_GANTT, TABLE_LANES, "gantt", "Timeline", "no thread and no stream has work in the steps that were kept",
     find_gantt, read_gantt, explain_gantt, draw_gantt},
    {LUMOS_VIEW_BUSY, TABLE_BUSY, "busy", "How busy GPUs are",
     "there is no GPU work in the steps that were kept; use --view gantt", find_busy, read_busy, explain_busy,
     draw_busy},
    {LUMOS_VIEW_MEMORY, TABLE_ALLOCATED, "memory", "Memory over time",
     "the trace has no memory events, or the job was changed; record with profile_memory=True", find_allocated,
     read_allocated, explain_allocated, draw_allocated},
    {LUMOS_VIEW_PIPELINE, TABLE_PIPELINE, "pipeline", "Forward and backward passes",
     "no forward or backward pass was recovered from these traces; use --view gantt", find_pipeline, read_pipeline,
     explain_pipeline, draw_pipeline},
    {LUMOS_VIEW_LAYERS, TABLE_LAYERS, "layers", "Layers",
     "no layers were recovered from these traces; use --view breakdown", find_layers, read_layers, explain_layers,
     draw_layers},
    {LUMOS_VIEW_GRAPH, TABLE_DEPENDENCIES, "graph", "What the step waits for",
     "the dependencies of the step are not known, or Graphviz could not lay them out; the page says which",
     find_dependencies, read_dependencies, explain_dependencies, draw_dependencies},
};

const struct report_picture *report_picture_of(enum lumos_report_view view) {
  for (size_t i = 0; i < REPORT_PICTURES; i++) {
    if (report_pictures[i].view == view) {
      return &report_pictures[i];
    }
  }
  return NULL;
}

const struct report_picture *report_picture_chosen(const struct report_content *content) {
  const struct report_picture *asked = report_picture_of(content->options->view);
  return asked != NULL ? asked
                       : report_picture_of(content->result.facts.has_streams ? LUMOS_VIEW_BREAKDOWN : LUMOS_VIEW_GANTT);
}

const char *lumos_report_view_name(enum lumos_report_view view) {
  const struct report_picture *picture = report_picture_of(view);
  return picture != NULL ? picture->name : NULL;
}

enum lumos_report_view lumos_report_view_named(const char *name) {
  for (size_t i = 0; i < REPORT_PICTURES; i++) {
    if (strcmp(report_pictures[i].name, name) == 0) {
      return report_pictures[i].view;
    }
  }
  return LUMOS_VIEW_DEFAULT;
}

/* The pictures that were asked for, framed, in their order; one where `one`, all that there are where no view was
 * named. */
static size_t frame_pictures(struct report_content *content, bool one, struct report_scene frames[REPORT_PICTURES],
                             struct lumos_error *error) {
  report_dependencies_settle(&content->dependencies);
  enum lumos_report_view view = content->options->view;
  const struct report_picture *missing = NULL;
  size_t count = 0;
  for (size_t i = 0; i < REPORT_PICTURES && (count == 0 || !one); i++) {
    const struct report_picture *picture = &report_pictures[i];
    if (view == LUMOS_VIEW_DEFAULT || view == picture->view) {
      bool shown = report_picture_frame(content, picture, &frames[count]);
      count += shown;
      missing = shown ? missing : picture;
    }
  }
  if (count == 0) {
    (void)lumos_fail(error, "there is nothing to show: %s", missing != NULL ? missing->none : "no such view");
  }
  return count;
}

static void free_frames(struct report_scene frames[REPORT_PICTURES], size_t count) {
  for (size_t i = 0; i < count; i++) {
    report_scene_free(&frames[i]);
  }
}

bool report_svg_write(struct report_content *content, struct lumos_text *out, struct lumos_error *error) {
  struct report_scene frames[REPORT_PICTURES];
  size_t count = frame_pictures(content, true, frames, error);
  if (count > 0) {
    report_svg_document(&frames[0], out);
  }
  free_frames(frames, count);
  return count > 0;
}

bool report_png_write(struct report_content *content, struct lumos_text *out, struct lumos_error *error) {
  struct report_scene frames[REPORT_PICTURES];
  size_t count = frame_pictures(content, true, frames, error);
  bool good = count > 0 && report_cairo_png(&frames[0], out, error);
  free_frames(frames, count);
  return good;
}

bool report_pdf_write(struct report_content *content, struct lumos_text *out, struct lumos_error *error) {
  struct report_scene frames[REPORT_PICTURES];
  const struct report_scene *pages[REPORT_PICTURES];
  size_t count = frame_pictures(content, false, frames, error);
  for (size_t i = 0; i < count; i++) {
    pages[i] = &frames[i];
  }
  struct lumos_text title = LUMOS_TEXT_BUFFER;
  report_put_title(content, &title);
  bool good = count > 0 && report_cairo_pdf(pages, count, &title, out, error);
  lumos_text_free(&title);
  free_frames(frames, count);
  return good;
}
