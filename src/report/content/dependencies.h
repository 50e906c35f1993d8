/* What a step waits for: its chain of binding constraints as boxes and arrows, with the constraints beside it that
 * nearly bound.
 *
 * Boxes and arrows of the chain add up to the step: a box is what its tasks run, with the lags between them; the arrow
 * that leads to it is the time from the end of the box before it to its first task's start. Neighbours stand beside the
 * chain and carry no time, only slack.
 */
#ifndef LUMOS_REPORT_DEPENDENCIES_H
#define LUMOS_REPORT_DEPENDENCIES_H

#include "report/content/chain.h"
#include "report/content/collapse.h"
#include "report/content/table.h"
#include "report/draw/layout.h"

enum {
  REPORT_GRAPH_NODES = 80, /* unless the options say otherwise */
  REPORT_SIZED_NODES = 24, /* of a picture of a given size, in which their text can still be read */
  /* Of a box, in tenths of a pixel: two lines of text; higher where its area is its time. */
  REPORT_DEPENDENCY_WIDTH = 2600,
  REPORT_DEPENDENCY_HEIGHT = 350,
};

struct report_dependency_node {
  uint32_t lane;        /* LUMOS_NONE: several, or none */
  uint32_t task;        /* where to look: the longest of the path, or what has the slack; LUMOS_NONE: none */
  lumos_string_id name; /* of the op or task in it that takes longest */
  int64_t others;       /* names beside it */
  int64_t tasks;
  uint8_t kind;   /* of tasks: the one that runs longest */
  bool neighbour; /* else of the chain */
  bool outside;   /* nothing but what the recording does not hold */
  /* Of the chain: [from, until) in job time, and what of it is which; the lead is what passes before its first task
   * runs. */
  int64_t from, until;
  int64_t time[LUMOS_PATH_OUTSIDE + 1], lead[LUMOS_PATH_OUTSIDE + 1]; /* by enum lumos_path_what */
  struct lumos_binding held;                                          /* what held its first task */
  /* Of a neighbour. */
  int64_t slack;
};

struct report_dependency_edge {
  uint32_t from, to;
  uint8_t kind;     /* enum lumos_constraint_kind */
  uint8_t evidence; /* enum lumos_evidence */
  bool binding;
  int64_t slack; /* of an edge that does not bind: the least */
  int64_t count; /* constraints that it stands for */
};

/* What a step's time is made of; the parts add up to it. */
enum report_chain_part {
  CHAIN_COMPUTE, /* kernels that compute */
  CHAIN_COMMUNICATION,
  CHAIN_COPY,
  CHAIN_HOST,   /* ops and calls on threads */
  CHAIN_SILENT, /* threads without an event */
  CHAIN_LAG,    /* every other lag: launches, gaps on streams, returns of waits, events, hand-overs */
  CHAIN_UNEXPLAINED,
  CHAIN_OUTSIDE,
  CHAIN_PARTS
};

/* A lane's part of the chain, without what is outside of the recording. */
struct report_chain_lane {
  uint32_t lane; /* LUMOS_NONE: there is none */
  int64_t time;
};

struct report_dependencies {
  const struct lumos_job *job;
  const struct report_lane_roles *roles; /* what lanes are called; NULL: as they were recorded */
  bool known;                            /* false: `problem` says why not, and there is nothing else */
  struct lumos_text problem;
  struct report_chain chain;
  struct report_collapse collapse;
  LUMOS_VECTOR(struct report_dependency_node) nodes; /* of the chain in order of time, then neighbours */
  size_t chain_nodes;
  LUMOS_VECTOR(struct report_dependency_edge) edges; /* the chain's own first: edge i leads from node i to node i + 1 */
  int64_t origin;                                    /* the instant that the timeline counts from */
  int64_t longest;                                   /* of the chain's boxes */
  int64_t tasks;                                     /* on the chain */
  int64_t parts[CHAIN_PARTS];
  int64_t lanes;                    /* on the chain */
  struct report_chain_lane busiest; /* of them */
  int64_t left_out, left_out_slack; /* constraints that are not shown, and the least slack of them */
  bool is_drawn;                    /* a layout was begun, whatever came of it */
  enum report_layout_outcome outcome;
  struct report_layout layout;
  struct report_layout_graph graph; /* what is laid out, until the layout is settled */
  struct report_layout_work work;
};

/* What they are read from. */
struct report_dependencies_source {
  const struct lumos_job *job;
  const struct lumos_held *bindings;     /* of all tasks; NULL: they are not known, */
  const char *unknown;                   /* and why */
  const struct report_boundaries *steps; /* the job's, simulated */
  const struct lumos_report_options *options;
  const struct report_lane_roles *roles; /* what lanes are called; NULL: as they were recorded */
};

/* False when the options name a step that is not there, or no number of nodes. A job without steps, or whose simulated
 * times were edited, has no dependencies that are known. Free them in any case. */
bool report_dependencies_read(const struct report_dependencies_source *source, struct report_dependencies *dependencies,
                              struct lumos_error *error) LUMOS_MUST_CHECK;
/* Are there such a step and so many nodes? */
bool report_dependencies_check(const struct report_boundaries *steps, const struct lumos_report_options *options,
                               struct lumos_error *error) LUMOS_MUST_CHECK;
/* Begin to lay out the graph, in at most `limit` ms: without a layout it cannot be drawn. A child works on it until
 * the layout is settled, or the dependencies are freed. */
void report_dependencies_lay_out(struct report_dependencies *dependencies, report_layout_engine *engine, int limit);
void report_dependencies_settle(struct report_dependencies *dependencies);
void report_dependencies_free(struct report_dependencies *dependencies);

/* "Of the 41.8 ms of step 10, 63 % is ..." */
void report_put_dependencies_finding(const struct report_dependencies *dependencies, struct lumos_text *out);
/* How many tasks stand in how many boxes, and what was left out. */
void report_put_dependencies_reading(const struct report_dependencies *dependencies, struct lumos_text *out);
/* Why there is no picture; nothing where there is one. */
void report_put_dependencies_problem(const struct report_dependencies *dependencies, struct lumos_text *out);
/* "aten::copy_ and 5 others" */
void report_put_dependency_name(const struct report_dependencies *dependencies,
                                const struct report_dependency_node *node, size_t limit, struct lumos_text *out);
/* "rank 0, stream 7" */
void report_put_dependency_place(const struct report_dependencies *dependencies,
                                 const struct report_dependency_node *node, struct lumos_text *out);
const char *report_evidence_word(uint8_t evidence);

/* What a box itself stands for: the arrow that leads to it has the rest. */
int64_t report_dependency_time(const struct report_dependency_node *node);
/* How high a box has to be for its area to be its time, all of them to one scale; it is drawn higher where that has no
 * room for its text. */
int32_t report_dependency_height(const struct report_dependencies *dependencies,
                                 const struct report_dependency_node *node);
/* In how many columns the picture is about as wide for its height as asked; there is a layout. */
size_t report_dependencies_columns(const struct report_dependencies *dependencies, int64_t width, int64_t height);
/* Over at least one column. False: there is no layout, and the scene is not begun. */
bool report_dependencies_scene(const struct report_dependencies *dependencies, size_t columns,
                               struct report_scene *scene);
/* The paints of the kinds of tasks in it: shown[paint]. */
void report_dependencies_paints(const struct report_dependencies *dependencies, bool shown[PAINT_COUNT]);
void report_dependencies_table(const struct report_dependencies *dependencies, struct report_table *table);

#endif
