/* Markdown is a page with another template. A comment on GitHub holds 65,536 characters, so tables are shorter here. */
#include "report/forms/markdown.h"

#include "report/content/definitions.h"
#include "report/content/notes.h"
#include "report/content/pipeline.h"
#include "report/content/verdict.h"
#include "report/text/escape.h"
#include "report/text/template.h"

/* The tables by their place in the template. */
static const struct {
  const char *name;
  enum report_table_number number;
} places[] = {
    {"breakdown_table", TABLE_BREAKDOWN}, {"steps_table", TABLE_STEPS},
    {"lanes_table", TABLE_LANES},         {"collectives_table", TABLE_COLLECTIVES},
    {"kernels_table", TABLE_KERNELS},     {"ops_device_table", TABLE_OPS_DEVICE},
    {"ops_host_table", TABLE_OPS_HOST},   {"dependencies_table", TABLE_DEPENDENCIES},
    {"pipeline_table", TABLE_PIPELINE},   {"layers_table", TABLE_LAYERS},
    {"ranks_table", TABLE_RANKS},         {"clocks_table", TABLE_CLOCKS},
    {"model_table", TABLE_MODEL},
};

static void fill_tables(const struct report_content *content, struct report_scope *root) {
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    report_table_markdown(&content->tables[places[i].number], &text);
    report_set_take(root, places[i].name, &text);
  }
  report_section_if(root, "has_streams", content->facts.has_streams && content->facts.ranks.count > 0);
  report_section_if(root, "has_collectives", report_table_rows(&content->tables[TABLE_COLLECTIVES]) > 0);
  report_section_if(root, "has_model", report_table_rows(&content->tables[TABLE_MODEL]) > 0);
  report_section_if(root, "has_kernels", report_table_rows(&content->tables[TABLE_KERNELS]) > 0);
}

static void fill_model(const struct report_content *content, struct report_scope *root) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_title(content, &text);
  report_set_take(root, "title", &text);
  report_section_if(root, "has_title", report_title(content) != NULL);
  report_put_subject(content, &text);
  report_set_take(root, "subject", &text);
  report_fill_verdict(&content->facts, root);
  if (content->facts.has_streams) {
    report_put_breakdown_finding(&content->facts, &text);
  }
  report_set_take(root, "breakdown_finding", &text);
  report_put_timeline_finding(&content->facts, &text);
  report_set_take(root, "timeline_finding", &text);
  report_put_dependencies_finding(&content->dependencies, &text);
  report_set_take(root, "dependencies_finding", &text);
  report_put_pipeline_finding(&content->passes, &text);
  report_set_take(root, "pipeline_finding", &text);
  report_section_if(root, "has_pipeline", content->passes.stages.count > 0);
  report_put_layers_finding(&content->layers, &text);
  report_set_take(root, "layers_finding", &text);
  report_section_if(root, "has_layers", content->layers.layers > 0);
  report_section_if(root, "has_dependencies", content->dependencies.known);
  fill_tables(content, root);
  report_fill_notes(content->job, content->options->details, root);
  report_fill_definitions(root);
  report_set_text(root, "version", LUMOS_VERSION);
}

bool report_markdown_write(const struct report_content *content, struct lumos_text *out, struct lumos_error *error) {
  static const char name[] = "report.md";
  struct report_source source;
  if (!report_template_load(content->options->template_folder, name, &source, error)) {
    return false;
  }
  struct report_model *model = report_model_new();
  fill_model(content, report_model_root(model));
  bool done = report_template_render(name, source.bytes, source.length, model, report_put_markdown, out, error);
  report_model_free(model);
  report_template_release(&source);
  return done;
}
