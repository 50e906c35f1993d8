/* The engine that Graphviz' dot is: runs in the child of layout.c only, where it may leak, hang or crash.
 *
 * Nodes have no labels, so no font is looked for: dot gives places and curves, and the scene draws the rest. A point of
 * Graphviz is a pixel of ours.
 */
#include "report/draw/layout.h"

#include "base/text.h"
#include <cgraph.h>
#include <gvc.h>
#include <math.h>
#include <stdio.h>

enum { INCH = 72 * REPORT_PIXEL, ATTRIBUTE = 32 };

/* Attributes that every graph, node and edge has; those without a value of their own are set one by one. */
struct attribute {
  int of;
  const char *name, *value;
};
static const struct attribute attributes[] = {
    {AGRAPH, "rankdir", "TB"},
    {AGRAPH, "splines", "spline"},
    {AGRAPH, "nodesep", "0.22"},
    {AGRAPH, "ranksep", "0.33"},
    /* Bounds on the iterations of ranking, crossings and places: a good picture now rather than a better one later. */
    {AGRAPH, "nslimit", "4"},
    {AGRAPH, "nslimit1", "4"},
    {AGRAPH, "mclimit", "0.6"},
    {AGNODE, "shape", "box"},
    {AGNODE, "fixedsize", "true"},
    {AGNODE, "label", ""},
    {AGNODE, "width", ""},
    {AGNODE, "height", ""},
    {AGNODE, "group", ""},
    {AGEDGE, "dir", "none"}, /* curves end on the nodes' borders; the scene draws the heads */
    {AGEDGE, "weight", "1"},
};

struct drawing {
  Agraph_t *graph;
  Agnode_t **nodes;
  Agedge_t **edges;
};

/* cgraph takes names and values that it does not change as char *. */
static void set(void *object, const char *name, const char *value) { (void)agset(object, (char *)name, (char *)value); }

static void set_inches(void *object, const char *name, int32_t tenths) {
  char value[ATTRIBUTE];
  (void)snprintf(value, sizeof value, "%d.%06d", tenths / INCH, (int)((int64_t)(tenths % INCH) * 1000000 / INCH));
  set(object, name, value);
}

static void set_number(void *object, const char *name, const char *prefix, int64_t number) {
  char value[ATTRIBUTE];
  (void)snprintf(value, sizeof value, "%s%lld", prefix, (long long)number);
  set(object, name, value);
}

static void describe(struct drawing *drawing, const struct report_layout_graph *graph) {
  drawing->graph = agopen((char *)"dependencies", Agdirected, NULL);
  for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
    (void)agattr(drawing->graph, attributes[i].of, (char *)attributes[i].name, (char *)attributes[i].value);
  }
  drawing->nodes = lumos_allocate(graph->nodes.count * sizeof(void *));
  drawing->edges = lumos_allocate(graph->edges.count * sizeof(void *));
  for (size_t i = 0; i < graph->nodes.count; i++) {
    const struct report_layout_node *node = &graph->nodes.items[i];
    char name[ATTRIBUTE];
    (void)snprintf(name, sizeof name, "n%zu", i);
    drawing->nodes[i] = agnode(drawing->graph, name, 1);
    set_inches(drawing->nodes[i], "width", node->width);
    set_inches(drawing->nodes[i], "height", node->height);
    set_number(drawing->nodes[i], "group", "g", node->column);
  }
  for (size_t i = 0; i < graph->edges.count; i++) {
    const struct report_layout_edge *edge = &graph->edges.items[i];
    drawing->edges[i] = agedge(drawing->graph, drawing->nodes[edge->from], drawing->nodes[edge->to], NULL, 1);
    set_number(drawing->edges[i], "weight", "", edge->weight);
  }
}

/* Graphviz' y grows upwards. */
static struct report_point point_of(pointf place) {
  return (struct report_point){(int32_t)lround(place.x * REPORT_PIXEL), (int32_t)lround(-place.y * REPORT_PIXEL)};
}

/* The corners of everything drawn; control points lie outside of their curves, so all of them lie inside of these. */
struct extent {
  struct report_point least, most;
};

static void widen(struct extent *extent, struct report_point point) {
  extent->least.x = point.x < extent->least.x ? point.x : extent->least.x;
  extent->least.y = point.y < extent->least.y ? point.y : extent->least.y;
  extent->most.x = point.x > extent->most.x ? point.x : extent->most.x;
  extent->most.y = point.y > extent->most.y ? point.y : extent->most.y;
}

static struct report_point corner_of(const struct drawing *drawing, const struct report_layout_graph *graph,
                                     size_t node) {
  struct report_point centre = point_of(ND_coord(drawing->nodes[node]));
  return (struct report_point){centre.x - graph->nodes.items[node].width / 2,
                               centre.y - graph->nodes.items[node].height / 2};
}

/* The one curve of an edge, or NULL. */
static const bezier *curve_of(const struct drawing *drawing, size_t edge) {
  const splines *curves = ED_spl(drawing->edges[edge]);
  return curves != NULL && curves->size == 1 ? &curves->list[0] : NULL;
}

static struct extent extent_of(const struct drawing *drawing, const struct report_layout_graph *graph) {
  struct extent extent = {{INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN}};
  for (size_t i = 0; i < graph->nodes.count; i++) {
    struct report_point corner = corner_of(drawing, graph, i);
    widen(&extent, corner);
    corner.x += graph->nodes.items[i].width;
    corner.y += graph->nodes.items[i].height;
    widen(&extent, corner);
  }
  for (size_t i = 0; i < graph->edges.count; i++) {
    const bezier *curve = curve_of(drawing, i);
    for (int k = 0; curve != NULL && k < curve->size; k++) {
      widen(&extent, point_of(curve->list[k]));
    }
  }
  return extent;
}

static void put_number(struct lumos_text *answer, int32_t number) {
  lumos_text_add(answer, (const char *)&number, sizeof number);
}

static void put_point(struct lumos_text *answer, const struct extent *extent, struct report_point point) {
  put_number(answer, point.x - extent->least.x);
  put_number(answer, point.y - extent->least.y);
}

static bool put_answer(const struct drawing *drawing, const struct report_layout_graph *graph, int descriptor) {
  struct lumos_text answer = LUMOS_TEXT_TO(descriptor);
  struct extent extent = extent_of(drawing, graph);
  put_point(&answer, &extent, extent.most);
  for (size_t i = 0; i < graph->nodes.count; i++) {
    put_point(&answer, &extent, corner_of(drawing, graph, i));
  }
  for (size_t i = 0; i < graph->edges.count; i++) {
    const bezier *curve = curve_of(drawing, i);
    put_number(&answer, curve == NULL ? 0 : curve->size);
    for (int k = 0; curve != NULL && k < curve->size; k++) {
      put_point(&answer, &extent, point_of(curve->list[k]));
    }
  }
  bool written = lumos_text_flush(&answer);
  lumos_text_free(&answer);
  return written;
}

int report_layout_graphviz(const struct report_layout_graph *graph, int descriptor) {
  GVC_t *context = gvContext();
  if (context == NULL) {
    return 1;
  }
  struct drawing drawing;
  describe(&drawing, graph);
  return gvLayout(context, drawing.graph, "dot") == 0 && put_answer(&drawing, graph, descriptor) ? 0 : 1;
}
