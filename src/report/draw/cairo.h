/* Paints scenes with cairo: PNG and PDF, always in the light colours, on paper. The same marks at the same places as
 * the SVG painter's. */
#ifndef LUMOS_REPORT_CAIRO_H
#define LUMOS_REPORT_CAIRO_H

#include "report/draw/scene.h"
#include <cairo.h>
#include <lumos/error.h>

enum { REPORT_PNG_SCALE = 2 }; /* device pixels of a CSS pixel */

/* The marks alone, a unit of `cr` to a CSS pixel. What goes wrong is the state of `cr`. */
void report_cairo_paint(const struct report_scene *scene, cairo_t *cr);

bool report_cairo_png(const struct report_scene *scene, struct lumos_text *out,
                      struct lumos_error *error) LUMOS_MUST_CHECK;
/* A page for each scene, as large as the scene. No dates: same scenes, same bytes. */
bool report_cairo_pdf(const struct report_scene *const *scenes, size_t count, const struct lumos_text *title,
                      struct lumos_text *out, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
