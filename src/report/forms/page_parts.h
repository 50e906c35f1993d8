/* What every page is made of: its template, the style sheet and the script, pictures and legends. */
#ifndef LUMOS_REPORT_PAGE_PARTS_H
#define LUMOS_REPORT_PAGE_PARTS_H

#include "report/draw/scene.h"
#include "report/text/template.h"

struct report_page_files {
  const char *name; /* of the template */
  struct report_source head, page;
  struct report_source style;
  struct lumos_text script;
};

/* The page's template `name`, the head of all pages, the style sheet and the joined script, each from `folder` where
 * that is not NULL and has it. Release them in any case. */
bool report_page_files_load(const char *folder, const char *name, struct report_page_files *files,
                            struct lumos_error *error) LUMOS_MUST_CHECK;
/* Values `palette`, `style`, `script`, `script_digest`, `version`. */
void report_page_files_fill(const struct report_page_files *files, struct report_scope *root);
/* The value `head` is set here: it needs `title` and what is filled above. */
bool report_page_files_render(const struct report_page_files *files, struct report_model *model, struct lumos_text *out,
                              struct lumos_error *error) LUMOS_MUST_CHECK;
void report_page_files_release(struct report_page_files *files);

/* A picture as the value `name`; frees the scene. */
void report_set_scene(struct report_scope *scope, struct report_scene *scene, const char *name);
/* An item of a legend: values `paint`, `name`, `text`. */
void report_add_legend(struct report_scope *scope, const char *section, enum report_paint paint, const char *text);
/* The section `kinds`: one item for each paint that is shown. */
void report_fill_legend(struct report_scope *scope, const bool shown[PAINT_COUNT]);

#endif
