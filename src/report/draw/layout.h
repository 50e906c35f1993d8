/* Places the nodes of a graph and routes its edges: Graphviz' dot, in a child process with a time limit, because the
 * library is not re-entrant, may run for minutes, and may crash. The page survives all of that: a layout that fails is
 * a graph that is not drawn.
 *
 * Lengths are tenths of a CSS pixel, y grows downwards, as in scenes. Time runs from top to bottom.
 */
#ifndef LUMOS_REPORT_LAYOUT_H
#define LUMOS_REPORT_LAYOUT_H

#include "report/draw/scene.h"
#include <lumos/memory.h>
#include <sys/types.h>

enum { REPORT_LAYOUT_NODES = 500, REPORT_LAYOUT_EDGES = 4000, REPORT_LAYOUT_LIMIT = 5000 /* ms */ };

struct report_layout_node {
  int32_t width, height;
  uint32_t column; /* nodes of a column are drawn below each other where that can be had: a lane */
};

struct report_layout_edge {
  uint32_t from, to; /* nodes */
  int32_t weight;    /* 1..100: how much the edge should be short and straight */
};

struct report_layout_graph {
  LUMOS_VECTOR(struct report_layout_node) nodes;
  LUMOS_VECTOR(struct report_layout_edge) edges;
};

struct report_layout {
  int32_t width, height;
  struct report_point *places; /* of every node: its upper left corner */
  /* points of edge i: [edge_first[i], edge_first[i + 1]), a start and three for each cubic Bezier; none: not routed */
  size_t *edge_first;
  LUMOS_VECTOR(struct report_point) points;
};

enum report_layout_outcome {
  LAYOUT_DONE,
  LAYOUT_TOO_LARGE, /* more nodes or edges than the limits above: nothing was tried */
  LAYOUT_TIMED_OUT,
  LAYOUT_FAILED,         /* no Graphviz, a crash, or an answer that makes no sense */
  LAYOUT_NOT_STARTED,    /* the system refused a process */
  LAYOUT_NO_DESCRIPTORS, /* it refused a pipe: this process has all the descriptors that it may have */
  LAYOUT_BEGUN,          /* not known yet */
};

/* What the child does: write the answer to `descriptor`; returns its exit status, 0 for a whole answer. Tests give
 * others, that hang or crash. The answer is int32_t numbers in the machine's own byte order, lengths as above: width
 * and height; x and y of every node; for every edge how many points it has (0: not routed), then x and y of each. */
typedef int report_layout_engine(const struct report_layout_graph *graph, int descriptor);
report_layout_engine report_layout_graphviz; /* layout_graphviz.c */

/* A layout under way: a child works on it while the caller does something else. */
struct report_layout_work {
  pid_t child;    /* 0: there is none */
  int descriptor; /* where its answer comes from */
  int limit;
  enum report_layout_outcome outcome; /* without a child: why */
};

/* The child has `limit` ms of processor time. Finish the work in any case. */
void report_layout_begin(const struct report_layout_graph *graph, report_layout_engine *engine, int limit,
                         struct report_layout_work *work);
/* Of the same graph. Waits for at most the limit, in wall-clock time; the child is gone when this returns, whatever it
 * did. Free the layout in any case. */
enum report_layout_outcome report_layout_finish(struct report_layout_work *work,
                                                const struct report_layout_graph *graph, struct report_layout *layout);
/* Both at once. */
enum report_layout_outcome report_layout_make(const struct report_layout_graph *graph, report_layout_engine *engine,
                                              int limit, struct report_layout *layout);
void report_layout_free(struct report_layout *layout);

#endif
