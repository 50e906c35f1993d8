/* The critical path on a timeline: a line above the lane that it is on, with arrows where it changes lanes. */
#ifndef LUMOS_REPORT_ROUTE_SCENE_H
#define LUMOS_REPORT_ROUTE_SCENE_H

#include "report/content/axis.h"
#include "report/content/route.h"

/* Adds a group of the class "routes", where there are any. `heights`: by lane where its line is, in tenths of a pixel;
 * after the last lane's that of what is outside of the recording, and then by lane where that is while the path is on
 * its rank. */
void report_routes_draw(const struct report_routes *routes, const struct report_axis *axis, const int32_t *heights,
                        size_t lanes, struct report_scene *scene);

#endif
