/* Drawing the pipeline. Boxes that can be hovered as long as they are few; beyond that every stream is a raster, so
 * that the picture does not grow with the number of micro-batches. */
#include "report/content/pipeline.h"

#include "report/content/schedule.h"
#include "report/draw/look.h"
#include "report/draw/raster.h"
#include "report/draw/ticks.h"
#include "report/text/numbers.h"

/* Tenths of a pixel, but for PLOT and TALL, which are pixels. */
enum {
  WIDTH = 11800,
  LABELS = 1500,
  PLOT = 940,
  ROW = 260, /* a stage's height, or a stream's where it has several */
  TALL = ROW / REPORT_PIXEL,
  TRACK_GAP = 20,
  ROW_GAP = 70,
  HEADING = 300, /* of one of two pipelines, with the room above it */
  AXIS = 260,    /* above the rows */
  BOTTOM = 220,
  PART = 8, /* what parts a box from the next */
};

/* The picture while it is drawn. */
struct canvas {
  const struct lumos_passes *passes;
  const struct report_facts *facts; /* NULL: shares are of what has no pass */
  struct report_scene *scene;
  struct lumos_text text;
  int64_t window; /* of the axis */
};

static enum report_paint report_paint_of_phase(uint8_t phase) {
  static const enum report_paint paints[LUMOS_PASS_PHASES] = {
      [LUMOS_EXCHANGE] = PAINT_COMMUNICATION, [LUMOS_FORWARD] = PAINT_FORWARD,
      [LUMOS_BACKWARD] = PAINT_BACKWARD,      [LUMOS_WEIGHT] = PAINT_WEIGHT,
      [LUMOS_OPTIMIZER_PHASE] = PAINT_UPDATE, [LUMOS_OTHER_PHASE] = PAINT_NO_PASS};
  return phase < LUMOS_PASS_PHASES ? paints[phase] : PAINT_NONE;
}

void report_pipeline_paints(const struct lumos_passes *passes, bool shown[PAINT_COUNT]) {
  for (size_t i = 0; i < passes->list.count; i++) {
    shown[report_paint_of_phase(passes->list.items[i].phase)] = true;
  }
}

/* Where an instant of the step stands, from the scene's left edge. */
static int32_t place_of(const struct canvas *canvas, int64_t time) {
  int64_t share = report_share(time - canvas->passes->step.start, canvas->window);
  return LABELS + (int32_t)(share * PLOT * REPORT_PIXEL / 1000000);
}

static int32_t height_of(const struct lumos_pipeline_stage *stage) {
  return stage->tracks * (ROW + TRACK_GAP) - TRACK_GAP;
}

static bool tells_bubble(const struct canvas *canvas) { return canvas->facts != NULL && canvas->passes->pipeline > 1; }

static void draw_ticks(struct canvas *canvas, int32_t bottom) {
  int64_t distance = report_tick_distance(canvas->window);
  for (int64_t tick = 0; tick <= canvas->window / distance; tick++) {
    int32_t x = place_of(canvas, canvas->passes->step.start + tick * distance);
    report_scene_line(canvas->scene, PAINT_RULE, x, AXIS - 60, 0, bottom - AXIS + 60, STROKE_SOLID);
    canvas->text.length = 0;
    report_put_tick(&canvas->text, tick * distance, distance);
    report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_MIDDLE, x, AXIS - 100, &canvas->text);
    report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_MIDDLE, x, bottom + 140, &canvas->text);
  }
  canvas->text.length = 0;
  lumos_text_put(&canvas->text, tells_bubble(canvas) ? "stage\xE2\x80\x99s bubble" : "no pass");
  report_scene_text(canvas->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, WIDTH, AXIS - 100, &canvas->text);
}

/* What stands beside a row: stage, rank, and its bubble in the mean step; without a pipeline, what has no pass. */
static void draw_labels(struct canvas *canvas, const struct lumos_pipeline_stage *stage, int32_t y) {
  struct report_scene *scene = canvas->scene;
  int rank = stage->number;
  int32_t text_y = y + ROW / 2 + 42;
  canvas->text.length = 0;
  if (stage->stage != LUMOS_ABSENT_INT) {
    lumos_text_format(&canvas->text, "stage %d", stage->stage);
    report_scene_text(scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, 0, text_y, &canvas->text);
    canvas->text.length = 0;
    lumos_text_format(&canvas->text, "rank %d", rank);
    report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, LABELS - 90, text_y, &canvas->text);
  } else {
    lumos_text_format(&canvas->text, "rank %d", rank);
    report_scene_text(scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, 0, text_y, &canvas->text);
  }
  canvas->text.length = 0;
  report_put_share(&canvas->text, tells_bubble(canvas)
                                      ? report_stage_bubble(canvas->facts, stage->stage)
                                      : report_share(stage->bubble, lumos_passes_window(canvas->passes)));
  report_scene_text(scene, STYLE_PLAIN, PAINT_TEXT, ANCHOR_END, WIDTH, text_y, &canvas->text);
  for (int track = 0; track < stage->tracks; track++) {
    report_scene_box(scene, PAINT_TRACK, LABELS, y + track * (ROW + TRACK_GAP), PLOT * REPORT_PIXEL, ROW);
    bool named = track > 0 || (stage->tracks > 1 && stage->stage == LUMOS_ABSENT_INT); /* else the rank stands there */
    if (named && stage->rank != LUMOS_NONE) { /* of a recorded pass the stream is not known any more */
      canvas->text.length = 0;
      report_put_lane(&canvas->text, canvas->passes->job, stage->lanes[track]);
      report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, LABELS - 90, text_y + track * (ROW + TRACK_GAP),
                        &canvas->text);
    }
  }
}

/* "stage 2, rank 8, layers 4 to 5: forward of micro-batch 3, 1.32 ms from 20.4 ms on" */
static void tell_pass(struct canvas *canvas, const struct lumos_pipeline_stage *stage,
                      const struct lumos_pass_interval *pass) {
  struct lumos_text *text = &canvas->text;
  text->length = 0;
  report_put_stage(stage, text);
  if (pass->layer_first != LUMOS_ABSENT_INT) {
    lumos_text_format(text, pass->layer_first == pass->layer_last ? ", layer %d" : ", layers %d", pass->layer_first);
    if (pass->layer_first != pass->layer_last) {
      lumos_text_format(text, " to %d", pass->layer_last);
    }
  }
  lumos_text_format(text, ": %s", report_paint_row(report_paint_of_phase(pass->phase))->label);
  if (pass->micro_batch != LUMOS_ABSENT_INT) {
    lumos_text_format(text, " of micro-batch %d", pass->micro_batch);
  }
  lumos_text_put(text, ", ");
  report_put_time(text, pass->end - pass->start);
  lumos_text_put(text, " from ");
  report_put_time(text, pass->start - canvas->passes->step.start);
  lumos_text_put(text, " on");
  report_scene_tooltip(canvas->scene, text);
}

/* What stands in a box: `full` has the chunk, too. */
static void put_number(const struct lumos_pipeline_stage *stage, const struct lumos_pass_interval *pass, bool full,
                       struct lumos_text *text) {
  text->length = 0;
  if (pass->phase == LUMOS_OPTIMIZER_PHASE) {
    lumos_text_put(text, "optimizer");
  } else if (lumos_is_pass(pass->phase) && pass->micro_batch != LUMOS_ABSENT_INT) {
    lumos_text_integer(text, pass->micro_batch);
    if (full) {
      report_put_chunk(stage, pass->chunk, text);
    }
  }
}

static bool fits(const struct lumos_text *text, enum report_text_style style, int32_t width) {
  int32_t sides = style == STYLE_ON_PAINT ? 10 : 0;
  return text->length > 0 && report_text_width(style, text->bytes, text->length) + sides <= width;
}

/* As much of it as there is room for, then as small as can be read, then nothing: hovering tells it all the same. */
static void number_pass(struct canvas *canvas, const struct lumos_pipeline_stage *stage,
                        const struct lumos_pass_interval *pass, int32_t middle, int32_t width, int32_t y) {
  static const struct {
    bool full;
    enum report_text_style style;
    int32_t base; /* of the letters, below the row's middle */
  } ways[] = {{true, STYLE_ON_PAINT, 42}, {false, STYLE_ON_PAINT, 42}, {false, STYLE_TINY_ON_PAINT, 31}};
  struct lumos_text *text = &canvas->text;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    put_number(stage, pass, ways[i].full, text);
    if (fits(text, ways[i].style, width)) {
      report_scene_text(canvas->scene, ways[i].style, report_paint_of_phase(pass->phase), ANCHOR_MIDDLE, middle,
                        y + ROW / 2 + ways[i].base, text);
      return;
    }
  }
}

static void draw_boxes(struct canvas *canvas, const struct lumos_pipeline_stage *stage, int32_t y) {
  enum { LEAST = 5 };
  for (size_t i = stage->first; i < stage->first + stage->count; i++) {
    const struct lumos_pass_interval *pass = &canvas->passes->list.items[i];
    int32_t x = place_of(canvas, pass->start);
    int32_t width = place_of(canvas, pass->end) - x;
    int32_t top = y + pass->track * (ROW + TRACK_GAP);
    int32_t shown = width > 4 * PART ? width - PART : width > LEAST ? width : LEAST;
    report_scene_box(canvas->scene, report_paint_of_phase(pass->phase), x, top, shown, ROW);
    tell_pass(canvas, stage, pass);
    number_pass(canvas, stage, pass, x + shown / 2, shown, top);
  }
}

/* A track from far away: as high as the column is full. */
static void draw_track(struct canvas *canvas, const struct lumos_pipeline_stage *stage, int track, int32_t y) {
  struct report_raster raster;
  struct report_raster_runs cells = {0};
  report_raster_begin(&raster, canvas->passes->step.start, canvas->passes->step.end, PLOT);
  for (size_t i = stage->first; i < stage->first + stage->count; i++) {
    const struct lumos_pass_interval *pass = &canvas->passes->list.items[i];
    if (pass->track == track) {
      report_raster_add(&raster, pass->phase, pass->start, pass->end - pass->start);
    }
  }
  report_raster_read(&raster, &cells);
  report_scene_group(canvas->scene, LABELS, y + track * (ROW + TRACK_GAP) + ROW);
  for (int phase = 0; phase < LUMOS_PASS_PHASES; phase++) {
    report_scene_runs(canvas->scene, report_paint_of_phase((uint8_t)phase), false);
    for (size_t i = 0; i < cells.count; i++) {
      if (cells.items[i].kind == phase) {
        int32_t height = cells.items[i].level * TALL / REPORT_LEVELS;
        report_scene_run(canvas->scene, (struct report_run){cells.items[i].x, cells.items[i].width, height});
      }
    }
  }
  report_scene_group_end(canvas->scene);
  lumos_vector_free(&cells);
  report_raster_free(&raster);
}

static int32_t height_of_rows(const struct lumos_passes *passes) {
  int32_t height = -ROW_GAP;
  for (size_t i = 0; i < passes->stages.count; i++) {
    height += height_of(&passes->stages.items[i]) + ROW_GAP;
  }
  return height;
}

static void draw_rows(struct canvas *canvas, int32_t y) {
  const struct lumos_passes *passes = canvas->passes;
  for (size_t i = 0; i < passes->stages.count; i++) {
    const struct lumos_pipeline_stage *stage = &passes->stages.items[i];
    draw_labels(canvas, stage, y);
    if (!report_pipeline_is_dense(passes)) {
      draw_boxes(canvas, stage, y);
    } else {
      for (int track = 0; track < stage->tracks; track++) {
        draw_track(canvas, stage, track, y);
      }
    }
    y += height_of(stage) + ROW_GAP;
  }
}

bool report_pipeline_scene(const struct lumos_passes *passes, const struct report_facts *facts,
                           struct report_scene *scene) {
  if (passes->stages.count == 0) {
    return false;
  }
  report_scene_begin(scene, "pipeline", WIDTH);
  struct canvas canvas = {passes, facts, scene, LUMOS_TEXT_BUFFER, lumos_passes_window(passes)};
  int32_t bottom = AXIS + height_of_rows(passes);
  draw_ticks(&canvas, bottom);
  draw_rows(&canvas, AXIS);
  scene->height = bottom + BOTTOM;
  lumos_text_put(&scene->title, passes->pipeline > 1 ? "Passes of every pipeline stage over a step"
                                                     : "Passes of every rank over a step");
  lumos_text_put(
      &scene->description,
      "A row of boxes, from left to right in time: forward, backward, optimizer. The table below the picture has "
      "their order and their times.");
  lumos_text_free(&canvas.text);
  return true;
}

/* "Recorded: 1F1B over 4 stages, 8 micro-batches, 89.3 ms" */
static void draw_heading(struct canvas *canvas, const char *which, int32_t y) {
  canvas->text.length = 0;
  lumos_text_put(&canvas->text, which);
  report_put_pipeline(canvas->passes, &canvas->text);
  lumos_text_put(&canvas->text, ", ");
  report_put_time(&canvas->text, lumos_passes_window(canvas->passes));
  report_scene_text(canvas->scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, 0, y - 90, &canvas->text);
}

/* Where the shorter step ends, the longer one goes on. */
static void draw_end(struct canvas *canvas, int32_t y, int32_t height) {
  int32_t x = place_of(canvas, canvas->passes->step.end);
  if (lumos_passes_window(canvas->passes) < canvas->window) {
    report_scene_box(canvas->scene, PAINT_PAPER, x + PART, y, LABELS + PLOT * REPORT_PIXEL - x - PART, height);
    report_scene_line(canvas->scene, PAINT_TEXT, x, y - ROW_GAP / 2, 0, height + ROW_GAP, STROKE_SOLID);
  }
}

void report_pipelines_scene(const struct lumos_passes *recorded, const struct lumos_passes *passes,
                            struct report_scene *scene) {
  const struct lumos_passes *both[] = {recorded, passes};
  static const char *const which[] = {"Recorded: ", "Predicted: "};
  struct canvas canvas = {.passes = passes, .scene = scene, .text = LUMOS_TEXT_BUFFER};
  int32_t bottom = AXIS;
  report_scene_begin(scene, "pipelines", WIDTH);
  for (int i = 0; i < 2; i++) {
    int64_t window = lumos_passes_window(both[i]);
    canvas.window = window > canvas.window ? window : canvas.window;
    bottom += HEADING + height_of_rows(both[i]);
  }
  draw_ticks(&canvas, bottom);
  int32_t y = AXIS;
  for (int i = 0; i < 2; i++) {
    int32_t height = height_of_rows(both[i]);
    canvas.passes = both[i];
    y += HEADING;
    draw_heading(&canvas, which[i], y);
    draw_rows(&canvas, y);
    draw_end(&canvas, y, height);
    y += height;
  }
  scene->height = bottom + BOTTOM;
  lumos_text_put(&scene->title, "Passes of a recorded step, and of a predicted one below");
  lumos_text_put(&scene->description,
                 "Rows of boxes on one time axis: forward, backward, optimizer; first as recorded, then as predicted. "
                 "The tables of passes have their order and their times.");
  lumos_text_free(&canvas.text);
}
