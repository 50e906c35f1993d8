/* Cell by cell, a few pixels wide: the path is drawn where it spends most of the cell's time, so that the size depends
 * on the picture alone. */
#include "report/content/route_scene.h"

#include <stdlib.h>

enum { CELL = 6 /* columns */, HEAD = 40 /* an arrow's, tenths of a pixel */ };

/* A piece of the path in the picture: from where to where, and at which height. */
struct stay {
  int32_t from, until, y;
};

struct drawing {
  const struct report_routes *routes;
  const struct report_axis *axis;
  const int32_t *heights;
  size_t outside; /* its place among heights */
  int64_t *times; /* of a cell, by lane; all zero between cells */
  struct report_scene *scene;
  LUMOS_VECTOR(struct stay) stays;
  LUMOS_VECTOR(struct report_point) points;
};

static size_t lane_of(const struct drawing *drawing, size_t leg) {
  uint32_t lane = drawing->routes->legs.items[leg].lane;
  return lane == LUMOS_NONE ? drawing->outside : lane;
}

/* The lane with most of a cell's time, of equal ones the first in time. `*leg` is the first leg in the cell, and then
 * the first in the next one. */
static size_t lane_of_cell(struct drawing *drawing, size_t *leg, size_t end, int64_t from, int64_t until) {
  size_t first = *leg;
  size_t last = first;
  size_t most = lane_of(drawing, first);
  for (size_t i = first; i < end && drawing->routes->legs.items[i].from < until; i++) {
    const struct report_leg *own = &drawing->routes->legs.items[i];
    size_t lane = lane_of(drawing, i);
    drawing->times[lane] += (own->to < until ? own->to : until) - (own->from > from ? own->from : from);
    most = drawing->times[lane] > drawing->times[most] ? lane : most;
    *leg = own->to > until || i + 1 == end ? i : i + 1;
    last = i;
  }
  for (size_t i = first; i <= last; i++) {
    drawing->times[lane_of(drawing, i)] = 0;
  }
  return most;
}

static void add_point(struct drawing *drawing, int32_t x, int32_t y) {
  lumos_vector_push(&drawing->points, ((struct report_point){x, y}));
}

/* An arrow's head at the end of a line down or up. */
static void add_head(struct drawing *drawing, int32_t x, int32_t from, int32_t to) {
  int32_t back = to > from ? to - HEAD : to + HEAD;
  add_point(drawing, x - HEAD / 2, back);
  add_point(drawing, x, to);
  add_point(drawing, x + HEAD / 2, back);
  add_point(drawing, x, to);
}

static void draw_stays(struct drawing *drawing) {
  const struct stay *stays = drawing->stays.items;
  drawing->points.count = 0;
  for (size_t i = 0; i < drawing->stays.count; i++) {
    add_point(drawing, stays[i].from, stays[i].y);
    if (i > 0 && stays[i].until - stays[i].from >= HEAD && stays[i - 1].until - stays[i - 1].from >= HEAD) {
      add_head(drawing, stays[i].from, stays[i - 1].y, stays[i].y);
    }
    add_point(drawing, stays[i].until, stays[i].y);
  }
  if (drawing->points.count > 1) {
    report_scene_polyline(drawing->scene, PAINT_ROUTE, STROKE_SOLID, true, drawing->points.items,
                          drawing->points.count);
  }
}

/* At the height of the one before it they are one. */
static void add_stay(struct drawing *drawing, struct stay stay) {
  size_t count = drawing->stays.count;
  if (count > 0 && drawing->stays.items[count - 1].y == stay.y) {
    drawing->stays.items[count - 1].until = stay.until;
  } else {
    lumos_vector_push(&drawing->stays, stay);
  }
}

static void draw_route(struct drawing *drawing, const struct report_route *route) {
  const struct report_leg *legs = drawing->routes->legs.items;
  const struct report_axis *axis = drawing->axis;
  int64_t cell = axis->per_column * CELL;
  int64_t begin = legs[route->first].from < axis->from ? axis->from : legs[route->first].from;
  int64_t last = axis->from + axis->per_column * axis->columns;
  int64_t end = legs[route->first + route->count - 1].to;
  end = end > last ? last : end;                      /* the picture may show less than the step */
  size_t leg = route->first, near = drawing->outside; /* the last lane, in whose rank it leaves the recording */
  for (size_t i = route->first; i < route->first + route->count && near == drawing->outside; i++) {
    near = lane_of(drawing, i);
  }
  drawing->stays.count = 0;
  for (int64_t from = begin; from < end; from += cell) {
    int64_t until = end - from < cell ? end : from + cell;
    while (legs[leg].to <= from && leg + 1 < route->first + route->count) {
      leg++;
    }
    size_t lane = lane_of_cell(drawing, &leg, route->first + route->count, from, until);
    near = lane != drawing->outside ? lane : near;
    bool leaves = lane == drawing->outside && near != lane;
    add_stay(drawing, (struct stay){report_axis_place(axis, from), report_axis_place(axis, until),
                                    drawing->heights[leaves ? lane + 1 + near : lane]});
  }
  draw_stays(drawing);
}

void report_routes_draw(const struct report_routes *routes, const struct report_axis *axis, const int32_t *heights,
                        size_t lanes, struct report_scene *scene) {
  if (routes->legs.count == 0) {
    return;
  }
  struct drawing drawing = {.routes = routes, .axis = axis, .heights = heights, .outside = lanes, .scene = scene};
  drawing.times = lumos_allocate_zeroed(lanes + 1, sizeof drawing.times[0]);
  report_scene_optional_group(scene, "routes", 0, 0);
  for (size_t i = 0; i < routes->of.count; i++) {
    if (routes->of.items[i].count > 0) {
      draw_route(&drawing, &routes->of.items[i]);
    }
  }
  report_scene_group_end(scene);
  free(drawing.times);
  lumos_vector_free(&drawing.stays);
  lumos_vector_free(&drawing.points);
}
