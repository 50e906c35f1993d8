/* See page_parts.h. */
#include "report/forms/page_parts.h"

#include "report/draw/look.h"
#include "report/draw/svg.h"
#include "report/text/script.h"

static const char head_name[] = "head.html";

bool report_page_files_load(const char *folder, const char *name, struct report_page_files *files,
                            struct lumos_error *error) {
  *files = (struct report_page_files){.name = name, .script = LUMOS_TEXT_BUFFER};
  return report_template_load(folder, name, &files->page, error) &&
         report_template_load(folder, head_name, &files->head, error) &&
         report_template_load(folder, "style.css", &files->style, error) &&
         report_script_load(folder, &files->script, error);
}

void report_page_files_fill(const struct report_page_files *files, struct report_scope *root) {
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

bool report_page_files_render(const struct report_page_files *files, struct report_model *model, struct lumos_text *out,
                              struct lumos_error *error) {
  struct lumos_text head = LUMOS_TEXT_BUFFER;
  if (!report_template_render(head_name, files->head.bytes, files->head.length, model, lumos_text_html, &head, error)) {
    lumos_text_free(&head);
    return false;
  }
  report_set_take(report_model_root(model), "head", &head);
  return report_template_render(files->name, files->page.bytes, files->page.length, model, lumos_text_html, out, error);
}

void report_page_files_release(struct report_page_files *files) {
  report_template_release(&files->page);
  report_template_release(&files->head);
  report_template_release(&files->style);
  lumos_text_free(&files->script);
}

void report_set_scene(struct report_scope *scope, struct report_scene *scene, const char *name) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_svg_paint(scene, &text);
  report_set_take(scope, name, &text);
  report_scene_free(scene);
}

void report_add_legend(struct report_scope *scope, const char *section, enum report_paint paint, const char *text) {
  struct report_scope *item = report_section_item(scope, section);
  report_set_text(item, "paint", report_paint_row(paint)->css);
  report_set_text(item, "name", report_paint_row(paint)->label);
  report_set_text(item, "text", text);
}

void report_fill_legend(struct report_scope *scope, const bool shown[PAINT_COUNT]) {
  report_section(scope, "kinds");
  for (int paint = 1; paint < PAINT_COUNT; paint++) {
    if (shown[paint]) {
      report_add_legend(scope, "kinds", (enum report_paint)paint, "");
    }
  }
}
