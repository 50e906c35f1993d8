/* Paints a scene as SVG: text stays text. */
#ifndef LUMOS_REPORT_SVG_H
#define LUMOS_REPORT_SVG_H

#include "report/draw/scene.h"

/* Inline, for a page: colours come from its style sheet (palette.h, look.h). */
void report_svg_paint(const struct report_scene *scene, struct lumos_text *out);

/* A document of its own, with the light colours in it. */
void report_svg_document(const struct report_scene *scene, struct lumos_text *out);

#endif
