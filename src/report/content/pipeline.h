/* The pipeline: a row for every stage, a box for every pass with the number of its micro-batch, as papers draw it;
 * empty is bubble. */
#ifndef LUMOS_REPORT_PIPELINE_H
#define LUMOS_REPORT_PIPELINE_H

#include "report/content/facts.h"
#include "report/content/passes.h"
#include "report/content/table.h"
#include "report/draw/scene.h"

/* "1F1B over 4 stages, 8 micro-batches: the bubble takes 46.1 % of the step, 27.3 % in theory" */
void report_put_pipeline_finding(const struct lumos_passes *passes, const struct report_facts *facts,
                                 struct lumos_text *out);
/* Beside what was recorded, which has stages: "No pass runs for 33.6 % of the recorded step, and for 27.3 % of the
 * simulated one" */
void report_put_pipelines_finding(const struct lumos_passes *recorded, const struct lumos_passes *passes,
                                  struct lumos_text *out);
/* The bubble of a stage as a share of the job's mean step, in millionths; LUMOS_ABSENT. */
int64_t report_stage_bubble(const struct report_facts *facts, int32_t stage);
void report_put_pipelines_reading(const struct lumos_passes *recorded, const struct lumos_passes *passes,
                                  struct lumos_text *out);
/* "1F1B over 4 stages, 8 micro-batches"; of one stage: its micro-batches. */
void report_put_pipeline(const struct lumos_passes *passes, struct lumos_text *out);
/* Which step and ranks are shown, and how to read the boxes. */
void report_put_pipeline_reading(const struct lumos_passes *passes, struct lumos_text *out);
/* More boxes than are drawn one by one: columns of a raster stand for them. */
static inline bool report_pipeline_is_dense(const struct lumos_passes *passes) {
  enum { MOST_BOXES = 2500 };
  return passes->list.count > MOST_BOXES;
}
/* A row a stage. */
void report_pipeline_table(const struct lumos_passes *passes, const struct report_facts *facts,
                           struct report_table *table);

/* The same of a recorded step. */
void report_recorded_pipeline_table(const struct lumos_passes *passes, struct report_table *table);

/* False: there is nothing to show; the scene is not begun. */
bool report_pipeline_scene(const struct lumos_passes *passes, const struct report_facts *facts,
                           struct report_scene *scene);
/* Both above each other on one axis; both have stages. */
void report_pipelines_scene(const struct lumos_passes *recorded, const struct lumos_passes *passes,
                            struct report_scene *scene);
/* Which paints have boxes. */
void report_pipeline_paints(const struct lumos_passes *passes, bool shown[PAINT_COUNT]);

/* "stage 2, rank 8", "rank 8" */
void report_put_stage(const struct lumos_pipeline_stage *stage, struct lumos_text *out);

#endif
