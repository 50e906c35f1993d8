/* Paints a scene as inline SVG for the page: text stays text, colours come from the page's style sheet (palette.h). */
#ifndef LUMOS_REPORT_SVG_H
#define LUMOS_REPORT_SVG_H

#include "report/scene.h"

void report_svg_paint(const struct report_scene *scene, struct lumos_text *out);

#endif
