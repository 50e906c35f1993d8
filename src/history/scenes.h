/* A job's trends as pictures. */
#ifndef LUMOS_HISTORY_SCENES_H
#define LUMOS_HISTORY_SCENES_H

#include "history/history.h"
#include "report/draw/scene.h"

/* `name` is unique on the page and outlives the scene. False: there is nothing to draw. */
bool history_draw_trend(const struct history_job *job, enum history_series series, const char *name,
                        struct report_scene *scene);
/* The same as a line of a table. */
bool history_draw_spark(const struct history_job *job, enum history_series series, const char *name,
                        struct report_scene *scene);
/* What became of each night, and the confidence of its report. */
void history_draw_nights(const struct history_job *job, const char *name, struct report_scene *scene);

#endif
