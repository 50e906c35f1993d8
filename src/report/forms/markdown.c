/* Markdown is a page with another template. A comment on GitHub holds 65,536 characters, so tables are shorter here. */
#include "report/forms/markdown.h"

#include "report/content/breakdown.h"
#include "report/content/definitions.h"
#include "report/content/losses.h"
#include "report/content/notes.h"
#include "report/content/pipeline.h"
#include "report/diagnosis/first_screen.h"
#include "report/forms/brief.h"
#include "report/text/escape.h"
#include "report/text/template.h"
#include <string.h>

/* The tables by their place in the template. */
static const struct {
  const char *name;
  enum report_table_number number;
} places[] = {
    {"breakdown_table", TABLE_BREAKDOWN}, {"change_table", TABLE_CHANGE},
    {"steps_table", TABLE_STEPS},         {"opportunities_table", TABLE_OPPORTUNITIES},
    {"lanes_table", TABLE_LANES},         {"collectives_table", TABLE_COLLECTIVES},
    {"kernels_table", TABLE_KERNELS},     {"ops_device_table", TABLE_OPS_DEVICE},
    {"ops_host_table", TABLE_OPS_HOST},   {"dependencies_table", TABLE_DEPENDENCIES},
    {"pipeline_table", TABLE_PIPELINE},   {"layers_table", TABLE_LAYERS},
    {"ranks_table", TABLE_RANKS},         {"clocks_table", TABLE_CLOCKS},
    {"model_table", TABLE_MODEL},         {"configuration_table", TABLE_CONFIGURATION},
};

/* Those that are metrics laid out: a section each, which is there where the table has rows. */
static const struct {
  const char *section;
  enum report_metric_table number;
} metric_places[] = {
    {"path_kinds", METRICS_PATH_KINDS},
    {"path_ops", METRICS_PATH_OPS},
    {"path_modules", METRICS_PATH_MODULES},
    {"path_layers", METRICS_PATH_LAYERS},
    {"path_ranks", METRICS_PATH_RANKS},
    {"path_crossings", METRICS_PATH_CROSSINGS},
    {"idle", METRICS_IDLE},
    {"idle_ops", METRICS_IDLE_OPS},
    {"groups", METRICS_GROUPS},
    {"waits", METRICS_WAITS},
    {"stragglers", METRICS_STRAGGLERS},
    {"bubbles", METRICS_BUBBLES},
    {"modules", METRICS_MODULES},
    {"phases", METRICS_PHASES},
    {"mfu", METRICS_MFU},
    {"rates", METRICS_RATES},
    {"occupancy", METRICS_OCCUPANCY},
    {"kernel_kinds", METRICS_KINDS},
    {"copies", METRICS_COPIES},
    {"memory", METRICS_MEMORY},
    {"annotations", METRICS_ANNOTATIONS},
    {"calls", METRICS_CALLS},
};

static void fill_metric_tables(const struct report_content *content, struct report_scope *root) {
  for (size_t i = 0; i < sizeof metric_places / sizeof metric_places[0]; i++) {
    const struct report_table *table = &content->tables[TABLE_METRICS + metric_places[i].number];
    report_section(root, metric_places[i].section);
    if (report_table_rows(table) > 0) {
      struct lumos_text text = LUMOS_TEXT_BUFFER;
      report_table_markdown(table, &text);
      report_set_take(report_section_item(root, metric_places[i].section), "table", &text);
    }
  }
}

/* What the sections say that show them; "" where nothing is known. */
static void fill_metric_findings(const struct report_content *content, struct report_scope *root) {
  const struct report_table *metrics = &content->tables[TABLE_METRICS];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_path_finding(&content->result.facts, &metrics[METRICS_PATH_KINDS], &metrics[METRICS_PATH_RANKS], &text);
  report_section_if(root, "has_path", text.length > 0);
  report_set_take(root, "path_finding", &text);
  report_put_idle_finding(&content->result.facts, &text);
  report_section(root, "has_change");
  if (report_table_rows(&content->tables[TABLE_CHANGE]) > 0) {
    report_section_if(report_section_item(root, "has_change"), "has_configuration",
                      report_table_rows(&content->tables[TABLE_CONFIGURATION]) > 0);
  }
  report_section_if(root, "has_idle", text.length > 0);
  report_set_take(root, "idle_finding", &text);
  report_put_waits_finding(&metrics[METRICS_WAITS], &metrics[METRICS_STRAGGLERS], &text);
  report_section_if(root, "has_waits_finding", text.length > 0);
  report_set_take(root, "waits_finding", &text);
  report_put_mfu_finding(&metrics[METRICS_MFU], &text);
  report_section_if(root, "has_mfu_finding", text.length > 0);
  report_set_take(root, "mfu_finding", &text);
}

static void fill_tables(const struct report_content *content, struct report_scope *root) {
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    report_table_markdown(&content->tables[places[i].number], &text);
    report_set_take(root, places[i].name, &text);
  }
  report_section_if(root, "has_streams", content->result.facts.has_streams && content->result.facts.ranks.count > 0);
  report_section_if(root, "has_collectives", report_table_rows(&content->tables[TABLE_COLLECTIVES]) > 0);
  report_section_if(root, "has_model", report_table_rows(&content->tables[TABLE_MODEL]) > 0);
  report_section_if(root, "has_kernels", report_table_rows(&content->tables[TABLE_KERNELS]) > 0);
}

/* The glossary alone would be a third of a comment: here it has the terms of the tables that are shown. */
static bool names_term(const void *context, const char *key) {
  static const char *const always[] = {"step", "measured", "simulated", "task"};
  const struct report_content *content = context;
  for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
    if (strcmp(key, always[i]) == 0) {
      return true;
    }
  }
  for (size_t i = 0; i < TABLES; i++) {
    if (i != TABLE_BUSY && i != TABLE_ALLOCATED && i != TABLE_METRICS + METRICS_IDLE_STREAMS &&
        report_table_leads_to(&content->tables[i], key)) {
      return true;
    }
  }
  return false;
}

static void fill_model(const struct report_content *content, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_subject(content, &text);
  report_set_take(root, "subject", &text);
  report_fill_first_screen(content, root);
  if (content->result.facts.has_streams) {
    report_put_breakdown_finding(&content->result.facts, &text);
  }
  report_set_take(root, "breakdown_finding", &text);
  report_put_opportunities_finding(&content->result.opportunities, &text);
  report_set_take(root, "opportunities_finding", &text);
  report_section_if(root, "has_opportunities",
                    content->result.opportunities.list.count > 0 || content->result.opportunities.none);
  report_put_timeline_finding(&content->result.facts, &text);
  report_set_take(root, "timeline_finding", &text);
  report_put_busy_finding(&content->busy, &text);
  report_section_if(root, "has_busy", text.length > 0);
  report_set_take(root, "busy_finding", &text);
  report_put_allocated_finding(&content->allocated, &text);
  report_section_if(root, "has_memory", text.length > 0);
  report_set_take(root, "memory_finding", &text);
  report_put_dependencies_finding(&content->dependencies, &text);
  report_set_take(root, "dependencies_finding", &text);
  report_put_pipeline_finding(&content->passes, &content->result.facts, &text);
  report_set_take(root, "pipeline_finding", &text);
  report_section_if(root, "has_pipeline", content->passes.stages.count > 0);
  report_put_layers_finding(&content->layers, &text);
  report_set_take(root, "layers_finding", &text);
  report_section_if(root, "has_layers", content->layers.layers > 0);
  report_section_if(root, "has_dependencies", content->dependencies.known);
  fill_tables(content, root);
  fill_metric_tables(content, root);
  fill_metric_findings(content, root);
  report_fill_notes(content->job, content->options->details, REPORT_ALL_NOTES, root);
  report_fill_definitions(root, names_term, content);
  report_set_text(root, "version", LUMOS_VERSION);
}

bool report_markdown_write(struct report_content *content, struct lumos_text *out, struct lumos_error *error) {
  bool full = content->options->full;
  const char *name = full ? "report.md" : "brief.md";
  struct report_source source;
  if (!report_template_load(content->options->template_folder, name, &source, error)) {
    return false;
  }
  struct report_model *model = report_model_new();
  (full ? fill_model : report_fill_brief)(content, report_model_root(model));
  bool done = report_template_render(name, source.bytes, source.length, model, report_put_markdown, out, error);
  report_model_free(model);
  report_template_release(&source);
  return done;
}
