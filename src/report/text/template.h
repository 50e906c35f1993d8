/* Templates: {{name}} puts a value escaped for the form that is written, {{{name}}} as it is, {{#name}}...{{/name}}
 * repeats its inside once an item of a section (none: not at all). Nothing else is special, and what a value holds is
 * never read as a template.
 *
 * A value is looked for in the innermost scope, then outwards; a section only in the innermost, so that output is
 * bounded by template times values. Scopes live in the model and are freed with it.
 */
#ifndef LUMOS_REPORT_TEMPLATE_H
#define LUMOS_REPORT_TEMPLATE_H

#include "base/text.h"
#include <lumos/error.h>

enum { REPORT_TEMPLATE_DEPTH = 8 };

struct report_model;
struct report_scope;

struct report_model *report_model_new(void);
void report_model_free(struct report_model *model); /* NULL is allowed */
struct report_scope *report_model_root(struct report_model *model);

/* Set a value (a literal name; bytes are copied). A name is set once in a scope. */
void report_set(struct report_scope *scope, const char *name, const char *bytes, size_t length);
void report_set_text(struct report_scope *scope, const char *name, const char *nul_terminated);
/* Take what `text` holds, and empty it. */
void report_set_take(struct report_scope *scope, const char *name, struct lumos_text *text);

/* Make the section known (so that it may be empty). */
void report_section(struct report_scope *scope, const char *name);
/* Append an item to the section and return its scope. */
struct report_scope *report_section_item(struct report_scope *scope, const char *name);
/* A section that is shown or not. */
void report_section_if(struct report_scope *scope, const char *name, bool shown);

/* Does any scope hold the value `name` with these bytes? */
bool report_model_holds(const struct report_model *model, const char *name, const char *nul_terminated);

/* Writes a text so that it stands in the form for what it is; lumos_text_html is one. */
typedef void report_escape(struct lumos_text *out, const char *bytes, size_t length);

/* Render `length` bytes of template. False (LUMOS_UNUSABLE) on an unknown name, an unclosed tag or section, or nesting
 * that is too deep; the error names `name` and the byte. */
bool report_template_render(const char *name, const char *bytes, size_t length, const struct report_model *model,
                            report_escape *escape, struct lumos_text *out, struct lumos_error *error) LUMOS_MUST_CHECK;

/* The template file `name`: from `folder` when it is not NULL and has it, else the one compiled in. */
struct report_source {
  char *owned; /* to be freed, or NULL */
  const char *bytes;
  size_t length;
};
bool report_template_load(const char *folder, const char *name, struct report_source *source,
                          struct lumos_error *error) LUMOS_MUST_CHECK;
void report_template_release(struct report_source *source);

#endif
