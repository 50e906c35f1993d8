/* Drawing the timeline. One path for every kind on every lane, made of runs of columns: the size depends on the lanes
 * drawn, not on the trace. */
#include "report/content/gantt.h"

#include "report/content/axis.h"
#include "report/content/doubt.h"
#include "report/content/route_scene.h"
#include "report/draw/raster.h"
#include "report/text/numbers.h"
#include <stdlib.h>

/* Tenths of a pixel, but for heights of lanes. */
enum {
  WIDTH = REPORT_AXIS_WIDTH,
  LABELS = REPORT_AXIS_LEFT,
  LANE_LABEL = LABELS - 90,
  LANE = 18,  /* height of a lane, */
  UPPER = 12, /* and of its simulated work where measured work hangs below it: pixels */
  LANE_GAP = 60,
  RANK_GAP = 60,
  AXIS = REPORT_AXIS_TOP,
  BOTTOM = REPORT_AXIS_BOTTOM,
};

/* The picture, or one job's part of that of several, while it is drawn. */
struct canvas {
  const struct report_timelines *timelines;
  const struct report_lanes *lanes;
  int32_t *tops;              /* where each of them begins, and where the last one ends */
  const char *name;           /* of several jobs: which one, "A"; NULL: it is the only one */
  enum report_timeline shown; /* of several jobs: what alone is drawn */
  int64_t until;              /* what runs later is not drawn */
  struct report_scene *scene;
  struct report_raster raster;
  struct report_raster_runs cells;
  struct report_axis axis;
  struct lumos_text text;
};

/* Does the work hang below the base line, paler? */
static bool hangs(const struct canvas *canvas, enum report_timeline timeline) {
  return canvas->name == NULL && timeline == MEASURED;
}

/* How high simulated work stands on the base line of a lane. */
static int32_t upper_of(const struct report_timelines *timelines) { return timelines->twice ? UPPER : LANE; }

int64_t report_gantt_column(const struct report_timelines *timelines) {
  struct report_axis axis;
  report_axis_read(timelines, &axis);
  return axis.per_column;
}

/* What hovering tells of one kind on one lane. */
struct kind_total {
  int64_t time, tasks;
};

static void gather_lane(struct canvas *canvas, uint32_t number, enum report_timeline timeline,
                        struct kind_total *totals) {
  const struct lumos_job *job = canvas->timelines->job;
  const struct lumos_lane *lane = &job->lanes.items[number];
  const struct report_clock clock = report_clock_of(job, number);
  report_raster_clear(&canvas->raster);
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    uint8_t kind = job->tasks.items[task].kind;
    int64_t start = 0;
    int64_t duration = 0;
    if (report_task_time(&clock, timeline, task, &start, &duration) && start < canvas->until) {
      int64_t room = 0; /* a hostile start may lie that far before an end that is nowhere */
      room = __builtin_sub_overflow(canvas->until, start, &room) ? INT64_MAX : room;
      duration = duration < room ? duration : room;
      report_raster_add(&canvas->raster, kind, start, duration);
      if (start + duration > canvas->timelines->from) { /* what came before the picture is not told of, either */
        totals[kind].time = report_sum(totals[kind].time, duration);
        totals[kind].tasks++;
      }
    }
  }
  canvas->cells.count = 0;
  report_raster_read(&canvas->raster, &canvas->cells);
}

static void tell_kind(struct canvas *canvas, uint32_t lane, enum report_timeline timeline, int kind,
                      const struct kind_total *total) {
  const struct lumos_job *job = canvas->timelines->job;
  canvas->text.length = 0;
  lumos_text_format(&canvas->text, "%s%srank %d, ", canvas->name == NULL ? "" : canvas->name,
                    canvas->name == NULL ? "" : ", ", job->ranks.items[job->lanes.items[lane].rank].rank);
  report_put_lane_full(&canvas->timelines->roles, lane, &canvas->text);
  lumos_text_put(&canvas->text, canvas->timelines->twice ? ", " : "");
  lumos_text_format(&canvas->text, "%s: %s, ", canvas->timelines->twice ? report_timeline_name(timeline) : "",
                    report_paint_row(report_paint_of_kind((uint8_t)kind))->label);
  report_put_time(&canvas->text, total->time);
  lumos_text_put(&canvas->text, " in ");
  report_put_counted(&canvas->text, total->tasks, "task");
  report_scene_tooltip(canvas->scene, &canvas->text);
}

static void draw_timeline(struct canvas *canvas, uint32_t lane, enum report_timeline timeline) {
  struct kind_total totals[LUMOS_TASK_KINDS] = {{0}};
  gather_lane(canvas, lane, timeline, totals);
  for (int kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
    bool begun = false;
    for (size_t i = 0; totals[kind].tasks > 0 && i < canvas->cells.count; i++) {
      const struct report_raster_run *cell = &canvas->cells.items[i];
      if (cell->kind != kind) {
        continue;
      }
      if (!begun) {
        report_scene_runs(canvas->scene, report_paint_of_kind((uint8_t)kind), hangs(canvas, timeline));
        tell_kind(canvas, lane, timeline, kind, &totals[kind]);
        begun = true;
      }
      int32_t upper = upper_of(canvas->timelines);
      int32_t whole = hangs(canvas, timeline) ? LANE - upper : upper;
      int32_t height = (cell->level * whole + REPORT_LEVELS - 1) / REPORT_LEVELS;
      struct report_run run = {cell->x * canvas->axis.pixels, cell->width * canvas->axis.pixels,
                               hangs(canvas, timeline) ? -height : height};
      report_scene_run(canvas->scene, run);
    }
  }
}

/* "rank 0, stream 7: unexplained delay, 1.2 ms before 12 tasks" */
static void tell_doubt(struct canvas *canvas, uint32_t lane, int kind, const struct kind_total *total) {
  const struct lumos_job *job = canvas->timelines->job;
  canvas->text.length = 0;
  lumos_text_format(&canvas->text, "rank %d, ", job->ranks.items[job->lanes.items[lane].rank].rank);
  report_put_lane_full(&canvas->timelines->roles, lane, &canvas->text);
  lumos_text_format(&canvas->text, ": %s, ", report_paint_row(report_paint_of_doubt(kind))->label);
  report_put_time(&canvas->text, total->time);
  lumos_text_put(&canvas->text, " before ");
  report_put_counted(&canvas->text, total->tasks, "task");
  report_scene_tooltip(canvas->scene, &canvas->text);
}

/* The kinds of doubts stand in the raster where kinds of tasks do elsewhere. */
static void gather_doubts(struct canvas *canvas, const struct lumos_doubt *doubt, const struct lumos_doubt *end,
                          struct kind_total totals[LUMOS_DOUBT_KINDS]) {
  report_raster_clear(&canvas->raster);
  for (; doubt < end; doubt++) {
    int64_t from = doubt->from < canvas->timelines->from ? canvas->timelines->from : doubt->from;
    int64_t until = doubt->to > canvas->timelines->until ? canvas->timelines->until : doubt->to;
    if (until > from) {
      report_raster_add(&canvas->raster, doubt->kind, from, until - from);
      totals[doubt->kind].time = report_sum(totals[doubt->kind].time, until - from);
      totals[doubt->kind].tasks++;
    }
  }
  canvas->cells.count = 0;
  report_raster_read(&canvas->raster, &canvas->cells);
}

/* A strip above the lane, as many pixels high as a column has quarters of such waiting. */
static void draw_doubts(struct canvas *canvas, const struct report_lane *lane, int32_t y) {
  const struct lumos_lane *record = &canvas->timelines->job->lanes.items[lane->lane];
  const struct lumos_doubt *end = NULL;
  const struct lumos_doubt *doubt =
      report_doubts_of(&canvas->timelines->doubts, record->task_first, record->task_count, &end);
  if (doubt == end) {
    return;
  }
  struct kind_total totals[LUMOS_DOUBT_KINDS] = {{0}};
  gather_doubts(canvas, doubt, end, totals);
  report_scene_optional_group(canvas->scene, "marks", LABELS, y);
  for (int kind = 0; kind < LUMOS_DOUBT_KINDS; kind++) {
    if (totals[kind].tasks == 0) {
      continue;
    }
    report_scene_runs(canvas->scene, report_paint_of_doubt(kind), false);
    tell_doubt(canvas, lane->lane, kind, &totals[kind]);
    for (size_t i = 0; i < canvas->cells.count; i++) {
      const struct report_raster_run *cell = &canvas->cells.items[i];
      if (cell->kind == kind) {
        report_scene_run(canvas->scene, (struct report_run){cell->x * canvas->axis.pixels,
                                                            cell->width * canvas->axis.pixels, cell->level});
      }
    }
  }
  report_scene_group_end(canvas->scene);
}

static uint32_t rank_of(const struct canvas *canvas, size_t number) {
  return canvas->timelines->job->lanes.items[canvas->lanes->items[number].lane].rank;
}

/* Place the lanes of a rank from number `first` on, one below the other; returns the number of the next rank's
 * first. */
static size_t place_rank(struct canvas *canvas, size_t first, int32_t *y) {
  size_t i = first;
  for (; i < canvas->lanes->count && rank_of(canvas, i) == rank_of(canvas, first); i++) {
    canvas->tops[i] = *y;
    *y += LANE * REPORT_PIXEL + LANE_GAP;
  }
  return i;
}

/* With a little room between ranks. */
static void place_lanes(struct canvas *canvas) {
  int32_t y = AXIS;
  for (size_t i = 0; i < canvas->lanes->count;) {
    i = place_rank(canvas, i, &y);
    y += i < canvas->lanes->count ? RANK_GAP : 0;
  }
  canvas->tops[canvas->lanes->count] = y;
}

static void begin_canvas(struct canvas *canvas, const struct report_timelines *timelines,
                         const struct report_lanes *lanes, struct report_scene *scene) {
  *canvas = (struct canvas){.timelines = timelines, .lanes = lanes, .scene = scene, .text = LUMOS_TEXT_BUFFER};
  canvas->until = INT64_MAX;
  canvas->tops = lumos_allocate((lanes->count + 1) * sizeof canvas->tops[0]);
  report_axis_read(timelines, &canvas->axis);
  report_axis_raster(&canvas->axis, &canvas->raster);
}

static void end_canvas(struct canvas *canvas) {
  free(canvas->tops);
  report_raster_free(&canvas->raster);
  lumos_vector_free(&canvas->cells);
  lumos_text_free(&canvas->text);
}

/* The lane's name, the rank's beside its first lane, and the ground that idle time shows. */
static void draw_label(struct canvas *canvas, const struct report_lane *lane, bool first_of_rank, int32_t y) {
  const struct lumos_job *job = canvas->timelines->job;
  struct report_scene *scene = canvas->scene;
  int32_t text_y = y + LANE * REPORT_PIXEL / 2 + 40;
  if (first_of_rank) {
    canvas->text.length = 0;
    if (canvas->name != NULL) {
      lumos_text_put(&canvas->text, canvas->name);
    } else {
      lumos_text_format(&canvas->text, "rank %d", job->ranks.items[job->lanes.items[lane->lane].rank].rank);
    }
    report_scene_text(scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, 0, text_y, &canvas->text);
  }
  canvas->text.length = 0;
  report_put_lane_short(&canvas->timelines->roles, lane->lane, &canvas->text);
  report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, LANE_LABEL, text_y, &canvas->text);
  report_scene_box(scene, PAINT_TRACK, LABELS, y, report_axis_place(&canvas->axis, canvas->until) - LABELS,
                   LANE * REPORT_PIXEL);
}

static void draw_labels(struct canvas *canvas) {
  for (size_t i = 0; i < canvas->lanes->count; i++) {
    bool first_of_rank = i == 0 || rank_of(canvas, i - 1) != rank_of(canvas, i);
    draw_label(canvas, &canvas->lanes->items[i], first_of_rank, canvas->tops[i]);
  }
}

static bool is_drawn(const struct canvas *canvas, enum report_timeline timeline) {
  return canvas->name != NULL ? timeline == canvas->shown : timeline == SIMULATED || canvas->timelines->twice;
}

static void draw_work(struct canvas *canvas) {
  for (size_t i = 0; i < canvas->lanes->count; i++) {
    const struct report_lane *lane = &canvas->lanes->items[i];
    report_scene_group(canvas->scene, LABELS, canvas->tops[i] + upper_of(canvas->timelines) * REPORT_PIXEL);
    for (int timeline = TIMELINES - 1; timeline >= 0; timeline--) {
      if (is_drawn(canvas, (enum report_timeline)timeline) && lane->busy[timeline] != LUMOS_ABSENT) {
        draw_timeline(canvas, lane->lane, (enum report_timeline)timeline);
      }
    }
    report_scene_group_end(canvas->scene);
    draw_doubts(canvas, lane, canvas->tops[i]);
  }
}

/* The critical path runs in the gap above a lane; outside the recording below the lanes of the rank that it was on; on
 * lanes that are not in this picture below all that are. */
static void draw_routes(struct canvas *canvas) {
  enum { ABOVE = 35, BELOW = 30 };
  const struct report_timelines *timelines = canvas->timelines;
  const struct report_lanes *lanes = canvas->lanes;
  size_t count = timelines->job->lanes.count + 1;
  int32_t *heights = lumos_allocate(2 * count * sizeof heights[0]);
  for (size_t i = 0; i < 2 * count; i++) {
    heights[i] = canvas->tops[lanes->count] - ABOVE;
  }
  int32_t below = canvas->tops[lanes->count] - ABOVE;
  for (size_t i = lanes->count; i-- > 0;) {
    bool ends = i + 1 < lanes->count && rank_of(canvas, i) != rank_of(canvas, i + 1);
    below = ends ? canvas->tops[i + 1] - RANK_GAP - BELOW : below;
    heights[lanes->items[i].lane] = canvas->tops[i] - ABOVE;
    heights[count + lanes->items[i].lane] = below;
  }
  report_routes_draw(&timelines->routes, &canvas->axis, heights, count - 1, canvas->scene);
  free(heights);
}

void report_gantt_scene(const struct report_timelines *timelines, const struct report_lanes *lanes, const char *name,
                        struct report_scene *scene) {
  struct canvas canvas;
  report_scene_begin(scene, name, WIDTH);
  begin_canvas(&canvas, timelines, lanes, scene);
  place_lanes(&canvas);
  int32_t bottom = canvas.tops[lanes->count];
  scene->height = bottom + BOTTOM;
  draw_labels(&canvas);
  report_axis_ticks(&canvas.axis, scene, bottom);
  draw_work(&canvas);
  report_axis_steps(&canvas.axis, scene, bottom);
  draw_routes(&canvas);
  lumos_text_put(&scene->title, timelines->twice ? "Timeline of CPU threads and GPU streams, simulated above measured"
                                                 : "Timeline of CPU threads and GPU streams");
  lumos_text_put(&scene->description, "One lane for every thread and stream, colored where work runs and pale where "
                                      "none does. The table below the picture has the totals of every lane.");
  end_canvas(&canvas);
}

/* ---- Several jobs ---- */

static int32_t rank_number(const struct canvas *canvas, size_t lane) {
  return canvas->timelines->job->ranks.items[rank_of(canvas, lane)].rank;
}

/* "rank 0", or "A: rank 0, B: rank 3" */
static void draw_rank_name(struct canvas *jobs, size_t count, const size_t *first, int32_t y) {
  struct lumos_text *text = &jobs[0].text;
  bool alike = true;
  for (size_t i = 1; i < count; i++) {
    alike &= rank_number(&jobs[i], first[i]) == rank_number(&jobs[0], first[0]);
  }
  text->length = 0;
  for (size_t i = 0; i < (alike ? 1 : count); i++) {
    lumos_text_format(text, "%s%s%srank %d", i == 0 ? "" : ", ", alike ? "" : jobs[i].name, alike ? "" : ": ",
                      (int)rank_number(&jobs[i], first[i]));
  }
  report_scene_text(jobs[0].scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, 0, y, text);
}

/* Rank by rank, the lanes of the first job above those of the second. Returns where the last one ends. */
static int32_t place_jobs(struct canvas *jobs, size_t count) {
  enum { NAME = 170, BETWEEN = 40, RANKS_GAP = 120 };
  size_t *next = lumos_allocate_zeroed(count, sizeof *next);
  int32_t y = AXIS;
  while (next[0] < jobs[0].lanes->count) {
    y += next[0] > 0 ? RANKS_GAP : 0;
    draw_rank_name(jobs, count, next, y + NAME - 60);
    y += NAME;
    for (size_t i = 0; i < count; i++) {
      y += i > 0 ? BETWEEN : 0;
      next[i] = place_rank(&jobs[i], next[i], &y);
    }
  }
  free(next);
  return y;
}

void report_gantt_jobs_scene(const struct report_gantt_job *of, size_t count, enum report_timeline shown,
                             const char *name, struct report_scene *scene) {
  struct canvas *jobs = lumos_allocate(count * sizeof *jobs);
  report_scene_begin(scene, name, WIDTH);
  for (size_t i = 0; i < count; i++) {
    begin_canvas(&jobs[i], of[i].timelines, &of[i].timelines->open, scene);
    jobs[i].name = of[i].name;
    jobs[i].shown = shown;
    jobs[i].until = of[i].timelines->end;
  }
  int32_t bottom = place_jobs(jobs, count);
  scene->height = bottom + BOTTOM;
  for (size_t i = 0; i < count; i++) {
    draw_labels(&jobs[i]);
  }
  report_axis_ticks(&jobs[0].axis, scene, bottom);
  for (size_t i = 0; i < count; i++) {
    draw_work(&jobs[i]);
    end_canvas(&jobs[i]);
  }
  lumos_text_format(&scene->title, "Timelines of %s on one axis, rank by rank, %s above %s",
                    count == 2 ? "both jobs" : "all jobs", of[0].name, of[1].name);
  lumos_text_put(&scene->description, "One lane for every thread and stream, colored where work runs and pale where "
                                      "none does. A lane ends where the step of its job does.");
  free(jobs);
}

static void put_lane_row(const struct report_timelines *timelines, const struct report_lane *lane,
                         struct report_table *table) {
  const struct lumos_job *job = timelines->job;
  const struct lumos_lane *record = &job->lanes.items[lane->lane];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "rank %d, ", job->ranks.items[record->rank].rank);
  report_put_lane_full(&timelines->roles, lane->lane, &text);
  report_table_copy(table, &text);
  lumos_text_free(&text);
  report_table_number(table, record->task_count);
  report_table_number(table, report_paint_of_kind(lane->kind));
  for (int timeline = 0; timeline < TIMELINES; timeline++) {
    report_table_number(table, lane->busy[timeline]);
    report_table_number(table, report_share(lane->busy[timeline], timelines->until - timelines->begin));
  }
}

void report_gantt_table(const struct report_timelines *timelines, struct report_table *table) {
  static const struct report_column columns[] = {
      {"lane", "lane", "lane", COLUMN_NAME},         {"tasks", "tasks", "task", COLUMN_COUNT},
      {"kind", "mostly", "kind", COLUMN_PAINT},      {"measured", "measured", NULL, COLUMN_MS},
      {"measured_share", "share", NULL, COLUMN_BAR}, {"simulated", "simulated", "simulated", COLUMN_MS},
      {"simulated_share", "share", NULL, COLUMN_BAR}};
  report_table_begin(table, "lanes", columns, sizeof columns / sizeof columns[0]);
  lumos_text_put(&table->caption, "Work on every lane that is drawn: its tasks' durations added up. Share: of the ");
  table->whole = timelines->until - timelines->begin;
  report_put_time(&table->caption, table->whole);
  lumos_text_put(&table->caption, " that the timeline spans");
  const struct report_lanes *lists[] = {&timelines->open, &timelines->folded};
  for (int list = 0; list < 2; list++) {
    for (size_t i = 0; i < lists[list]->count; i++) {
      put_lane_row(timelines, &lists[list]->items[i], table);
    }
  }
}

void report_gantt_kinds(const struct report_lanes *lanes, bool shown[LUMOS_TASK_KINDS]) {
  for (size_t i = 0; i < lanes->count; i++) {
    for (int kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
      shown[kind] = shown[kind] || (lanes->items[i].kinds >> kind & 1U) != 0;
    }
  }
}

void report_put_gantt_reading(const struct report_timelines *timelines, struct lumos_text *out) {
  lumos_text_put(out, timelines->twice                     ? "Top: simulated. Bottom, pale: measured. "
                      : lumos_job_measured(timelines->job) ? "Simulated and measured times agree within a column. "
                                                           : "The job was not measured as it is here. ");
  lumos_text_put(out, "A column is ");
  report_put_time(out, report_gantt_column(timelines));
  lumos_text_put(out, "; its color is the kind that ran longest, its height how busy it was.");
  const struct report_lane_roles *roles = &timelines->roles;
  bool numbered = false;
  for (size_t i = 0; i < timelines->open.count; i++) {
    uint32_t lane = timelines->open.items[i].lane;
    numbered |= roles->has_alike[lane] && timelines->job->lanes.items[lane].kind == LUMOS_STREAM;
  }
  lumos_text_put(out, numbered ? " Numbers behind lanes are streams." : "");
}

void report_put_gantt_routes(const struct report_timelines *timelines, struct lumos_text *out) {
  lumos_text_put(out, "The line above a lane shows where each step\xE2\x80\x99s critical path runs; arrows show where "
                      "it changes lanes.");
  bool outside = false;
  for (size_t i = 0; i < timelines->routes.legs.count; i++) {
    outside |= timelines->routes.legs.items[i].lane == LUMOS_NONE;
  }
  lumos_text_put(out, outside ? " Below a rank\xE2\x80\x99s lanes: outside the recording." : "");
  lumos_text_put(out, timelines->folded.count > 0 ? " Below all lanes: on a folded lane." : "");
  if (timelines->routes.joined > 0) {
    lumos_text_put(out, " Parts under ");
    report_put_time(out, timelines->routes.joined);
    lumos_text_put(out, " are joined to what follows.");
  }
}

void report_put_gantt_folded(const struct report_timelines *timelines, struct lumos_text *out) {
  size_t hidden = timelines->folded.count + timelines->left_out;
  if (hidden > 0) {
    lumos_text_put(out, " Not shown: ");
    report_put_counted(out, (int64_t)hidden, "more lane");
    lumos_text_char(out, '.');
  }
}
