/* From a chain to boxes and arrows: the collapsed chain, then its neighbours, the most critical first, as far as they
 * fit. */
#include "report/content/dependencies.h"

#include "report/content/tally.h"
#include "report/text/numbers.h"
#include <stdlib.h>

/* A neighbour that may come a tenth of the step later is none. */
enum { CRITICAL_PART = 10, LANE_WEIGHT = 50, CHAIN_WEIGHT = 4 };

/* --- The chain --- */

/* Where a time of the chain belongs in the sum. */
static enum report_chain_part part_of(const struct lumos_job *job, const struct lumos_path_part *part) {
  const struct lumos_task *task = &job->tasks.items[part->task];
  if (part->what == LUMOS_PATH_UNEXPLAINED) {
    return CHAIN_UNEXPLAINED;
  }
  if (part->what == LUMOS_PATH_OUTSIDE) {
    return CHAIN_OUTSIDE;
  }
  if (part->what == LUMOS_PATH_LAG) {
    return part->kind == LUMOS_HELD_BY_THREAD ? CHAIN_SILENT : CHAIN_LAG;
  }
  if (!lumos_on_stream(job, task)) {
    return CHAIN_HOST;
  }
  return lumos_is_communication(task->kind) ? CHAIN_COMMUNICATION
         : lumos_is_copy(task->kind)        ? CHAIN_COPY
                                            : CHAIN_COMPUTE;
}

static int64_t sum_of(const int64_t times[LUMOS_PATH_OUTSIDE + 1]) {
  return times[LUMOS_PATH_RUN] + times[LUMOS_PATH_LAG] + times[LUMOS_PATH_UNEXPLAINED] + times[LUMOS_PATH_OUTSIDE];
}

int64_t report_dependency_time(const struct report_dependency_node *node) {
  return node->neighbour ? 0 : node->outside ? sum_of(node->time) : sum_of(node->time) - sum_of(node->lead);
}

int32_t report_dependency_height(const struct report_dependencies *dependencies,
                                 const struct report_dependency_node *node) {
  enum { LONGEST = 1400, ALL = 12000, WHOLE = 1000000 }; /* the longest box, and all together: at most so high */
  const struct report_chain *chain = &dependencies->chain;
  int64_t time = report_dependency_time(node);
  if (time <= 0 || dependencies->longest <= 0 || chain->until <= chain->from) {
    return 0;
  }
  int64_t by_longest = report_share(time, dependencies->longest) * LONGEST / WHOLE;
  int64_t by_all = report_share(time, chain->until - chain->from) * ALL / WHOLE;
  return (int32_t)(by_longest < by_all ? by_longest : by_all);
}

/* Times, tasks and kind of a piece. */
static struct report_dependency_node chain_node(struct report_dependencies *dependencies,
                                                const struct report_piece *piece) {
  const struct lumos_job *job = dependencies->job;
  const struct lumos_path_part *parts = dependencies->chain.parts.items + piece->first;
  struct report_dependency_node node = {.lane = piece->lane, .task = parts[0].task, .outside = true};
  int64_t longest = 0;
  int64_t by_kind[LUMOS_TASK_KINDS] = {0};
  bool running = false;
  node.from = parts[0].from;
  node.until = parts[piece->count - 1].to;
  node.held = dependencies->chain.bindings.items[piece->first];
  for (size_t i = 0; i < piece->count; i++) {
    const struct lumos_path_part *part = &parts[i];
    uint8_t kind = job->tasks.items[part->task].kind;
    int64_t time = part->to - part->from;
    running |= part->what == LUMOS_PATH_RUN;
    if (part->what == LUMOS_PATH_RUN && time > longest) {
      longest = time;
      node.task = part->task;
    }
    node.time[part->what] += time;
    node.lead[part->what] += running ? 0 : time;
    node.outside &= part->what == LUMOS_PATH_OUTSIDE;
    node.tasks += part->what != LUMOS_PATH_OUTSIDE &&
                  (i == 0 || parts[i - 1].task != part->task || parts[i - 1].what == LUMOS_PATH_OUTSIDE);
    by_kind[kind] += part->what == LUMOS_PATH_RUN ? time : 0;
    node.kind = node.kind == 0 || by_kind[kind] > by_kind[node.kind] ? kind : node.kind;
    dependencies->parts[part_of(job, part)] += time;
  }
  return node;
}

/* The name that most of a node's time has, and how many it has beside it. */
static void name_nodes(struct report_dependencies *dependencies) {
  const struct report_collapse *collapse = &dependencies->collapse;
  struct report_tallies tallies;
  int64_t *longest = lumos_allocate_zeroed(collapse->pieces.count, sizeof *longest);
  report_tallies_begin(&tallies, dependencies->job->strings);
  for (size_t i = 0; i < collapse->pieces.count; i++) {
    const struct report_piece *piece = &collapse->pieces.items[i];
    for (size_t k = piece->first; k < piece->first + piece->count; k++) {
      const struct lumos_path_part *part = &dependencies->chain.parts.items[k];
      report_tally_add(&tallies, collapse->names[k], (uint32_t)i, part->to - part->from, 1);
    }
  }
  for (size_t i = 0; i < tallies.rows.count; i++) {
    const struct report_tally *row = &tallies.rows.items[i];
    struct report_dependency_node *node = &dependencies->nodes.items[row->kind];
    bool first = longest[row->kind] == 0 && node->name == LUMOS_NO_STRING;
    node->others += !first;
    if (first || row->total > longest[row->kind]) {
      node->name = row->name;
      longest[row->kind] = row->total;
    }
  }
  free(longest);
  report_tallies_free(&tallies);
}

static void read_chain(struct report_dependencies *dependencies, size_t limit) {
  struct report_chain *chain = &dependencies->chain;
  report_collapse_make(dependencies->job, &chain->parts, limit, &dependencies->collapse);
  const struct report_pieces *pieces = &dependencies->collapse.pieces;
  for (size_t i = 0; i < pieces->count; i++) {
    struct report_dependency_node node = chain_node(dependencies, &pieces->items[i]);
    lumos_vector_push(&dependencies->nodes, node);
    dependencies->tasks += node.tasks;
    int64_t time = report_dependency_time(&node);
    dependencies->longest = time > dependencies->longest ? time : dependencies->longest;
    if (i > 0) {
      bool unexplained = node.lead[LUMOS_PATH_UNEXPLAINED] > node.lead[LUMOS_PATH_LAG];
      struct report_dependency_edge edge = {.from = (uint32_t)i - 1,
                                            .to = (uint32_t)i,
                                            .kind = node.held.kind,
                                            .evidence = unexplained ? LUMOS_UNEXPLAINED : node.held.evidence,
                                            .binding = true,
                                            .count = 1};
      lumos_vector_push(&dependencies->edges, edge);
    }
  }
  dependencies->chain_nodes = pieces->count;
  name_nodes(dependencies);
}

static void read_lanes(struct report_dependencies *dependencies) {
  const struct lumos_job *job = dependencies->job;
  const struct lumos_path_parts *parts = &dependencies->chain.parts;
  int64_t *times = lumos_allocate_zeroed(job->lanes.count, sizeof *times);
  uint8_t *on_chain = lumos_allocate_zeroed(job->lanes.count, 1);
  for (size_t i = 0; i < parts->count; i++) {
    const struct lumos_path_part *part = &parts->items[i];
    if (part->what != LUMOS_PATH_OUTSIDE) {
      uint32_t lane = job->tasks.items[part->task].lane;
      times[lane] += part->to - part->from;
      on_chain[lane] = 1;
    }
  }
  dependencies->busiest.lane = LUMOS_NONE;
  for (uint32_t lane = 0; lane < job->lanes.count; lane++) {
    dependencies->lanes += on_chain[lane];
    if (times[lane] > dependencies->busiest.time) {
      dependencies->busiest = (struct report_chain_lane){lane, times[lane]};
    }
  }
  free(times);
  free(on_chain);
}

/* --- Neighbours --- */

/* The first and the last node of the chain in which a task stands; LUMOS_NONE: it is not on the chain. */
struct places {
  uint32_t *first, *last;
};

/* O(tasks + parts). */
static struct places find_places(const struct report_dependencies *dependencies) {
  size_t tasks = dependencies->job->tasks.count;
  struct places places = {lumos_allocate(tasks * sizeof(uint32_t)), lumos_allocate(tasks * sizeof(uint32_t))};
  for (size_t i = 0; i < tasks; i++) {
    places.first[i] = places.last[i] = LUMOS_NONE;
  }
  const struct report_pieces *pieces = &dependencies->collapse.pieces;
  for (uint32_t i = 0; i < pieces->count; i++) {
    for (size_t k = pieces->items[i].first; k < pieces->items[i].first + pieces->items[i].count; k++) {
      uint32_t task = dependencies->chain.parts.items[k].task;
      if (dependencies->chain.parts.items[k].what == LUMOS_PATH_OUTSIDE) {
        continue; /* names the task that waited, not one that held it */
      }
      places.first[task] = places.first[task] == LUMOS_NONE ? i : places.first[task];
      places.last[task] = i;
    }
  }
  return places;
}

/* The arrow beside the chain that a constraint counts for; made when it is new and there is room. NULL: there is
 * none. */
static struct report_dependency_edge *edge_of(struct report_dependencies *dependencies, uint32_t from, uint32_t to,
                                              size_t limit) {
  for (size_t i = 0; i < dependencies->edges.count; i++) {
    struct report_dependency_edge *edge = &dependencies->edges.items[i];
    if (edge->from == from && edge->to == to) {
      return edge;
    }
  }
  if (dependencies->edges.count >= limit) {
    return NULL;
  }
  struct report_dependency_edge edge = {.from = from, .to = to};
  lumos_vector_push(&dependencies->edges, edge);
  return &dependencies->edges.items[dependencies->edges.count - 1];
}

/* The neighbour on this lane that holds the node in this way, or LUMOS_NONE. */
static uint32_t neighbour_of(const struct report_dependencies *dependencies, uint32_t to, uint32_t lane, uint8_t kind) {
  for (size_t i = dependencies->chain_nodes - 1; i < dependencies->edges.count; i++) {
    const struct report_dependency_edge *edge = &dependencies->edges.items[i];
    if (edge->to == to && edge->kind == kind && edge->from >= dependencies->chain_nodes &&
        dependencies->nodes.items[edge->from].lane == lane) {
      return edge->from;
    }
  }
  return LUMOS_NONE;
}

static uint32_t add_neighbour(struct report_dependencies *dependencies, const struct report_slack *slack) {
  const struct lumos_job *job = dependencies->job;
  const struct lumos_task *task = &job->tasks.items[slack->constraint.src];
  struct report_dependency_node node = {.lane = task->lane,
                                        .task = slack->constraint.src,
                                        .name = report_collapse_name(job, slack->constraint.src),
                                        .kind = task->kind,
                                        .neighbour = true,
                                        .slack = slack->slack};
  lumos_vector_push(&dependencies->nodes, node);
  return (uint32_t)dependencies->nodes.count - 1;
}

struct room {
  size_t nodes, edges; /* at most, in all */
  int64_t slack;
};

/* False: the constraint is not shown. What holds a box from within, or from where the chain does not go, is no
 * neighbour. The least slack comes first. */
static bool show(struct report_dependencies *dependencies, const struct places *places, const struct room *room,
                 const struct report_slack *slack) {
  const struct lumos_constraint *constraint = &slack->constraint;
  uint32_t to = (constraint->to == LUMOS_START ? places->first : places->last)[constraint->dst];
  uint32_t from = (constraint->from == LUMOS_START ? places->first : places->last)[constraint->src];
  if (to == LUMOS_NONE || (from != LUMOS_NONE && from >= to)) {
    return true;
  }
  if (slack->slack > room->slack) {
    return false;
  }
  bool beside = from == LUMOS_NONE;
  if (beside) {
    uint32_t lane = dependencies->job->tasks.items[constraint->src].lane;
    from = neighbour_of(dependencies, to, lane, constraint->kind);
    if (from == LUMOS_NONE && (dependencies->nodes.count >= room->nodes || dependencies->edges.count >= room->edges)) {
      return false;
    }
    from = from == LUMOS_NONE ? add_neighbour(dependencies, slack) : from;
  }
  struct report_dependency_edge *edge = edge_of(dependencies, from, to, room->edges);
  if (edge == NULL) {
    return false;
  }
  if (edge->count++ == 0) {
    edge->kind = constraint->kind;
    edge->evidence = constraint->evidence;
    edge->slack = slack->slack;
  }
  if (beside) {
    dependencies->nodes.items[from].tasks++;
  }
  return true;
}

static void read_neighbours(struct report_dependencies *dependencies, size_t limit) {
  const struct report_chain *chain = &dependencies->chain;
  struct places places = find_places(dependencies);
  size_t chain_edges = dependencies->edges.count;
  struct room room = {.nodes = dependencies->chain_nodes + limit / 2,
                      .edges = chain_edges + limit,
                      .slack = (chain->until - chain->from) / CRITICAL_PART};
  for (size_t i = 0; i < chain->slacks.count; i++) {
    const struct report_slack *slack = &chain->slacks.items[i];
    if (!show(dependencies, &places, &room, slack) && dependencies->left_out++ == 0) {
      dependencies->left_out_slack = slack->slack;
    }
  }
  free(places.first);
  free(places.last);
}

/* --- The picture --- */

/* Edges that are not drawn: what stands on one lane stands in one column, also where the chain leaves the lane and
 * comes back. */
static void keep_columns(const struct report_dependencies *dependencies, struct report_layout_graph *graph) {
  for (uint32_t i = 0; i < dependencies->chain_nodes; i++) {
    uint32_t lane = dependencies->nodes.items[i].lane;
    uint32_t next = i + 1;
    while (next < dependencies->chain_nodes && dependencies->nodes.items[next].lane != lane) {
      next++;
    }
    if (lane != LUMOS_NONE && next > i + 1 && next < dependencies->chain_nodes) {
      struct report_layout_edge line = {i, next, LANE_WEIGHT};
      lumos_vector_push(&graph->edges, line);
    }
  }
}

static bool same_lane(const struct report_dependencies *dependencies, const struct report_dependency_edge *edge) {
  const struct report_dependency_node *nodes = dependencies->nodes.items;
  return nodes[edge->from].lane == nodes[edge->to].lane;
}

/* Boxes of one width, as high as their time and their text need. */
static void read_graph(const struct report_dependencies *dependencies, struct report_layout_graph *graph) {
  for (size_t i = 0; i < dependencies->nodes.count; i++) {
    const struct report_dependency_node *box = &dependencies->nodes.items[i];
    int32_t height = report_dependency_height(dependencies, box);
    struct report_layout_node node = {REPORT_DEPENDENCY_WIDTH,
                                      height > REPORT_DEPENDENCY_HEIGHT ? height : REPORT_DEPENDENCY_HEIGHT, box->lane};
    lumos_vector_push(&graph->nodes, node);
  }
  for (size_t i = 0; i < dependencies->edges.count; i++) {
    const struct report_dependency_edge *edge = &dependencies->edges.items[i];
    struct report_layout_edge line = {edge->from, edge->to,
                                      !edge->binding                  ? 1
                                      : same_lane(dependencies, edge) ? LANE_WEIGHT
                                                                      : CHAIN_WEIGHT};
    lumos_vector_push(&graph->edges, line);
  }
  keep_columns(dependencies, graph);
}

void report_dependencies_lay_out(struct report_dependencies *dependencies, report_layout_engine *engine, int limit) {
  if (dependencies->known) {
    read_graph(dependencies, &dependencies->graph);
    report_layout_begin(&dependencies->graph, engine, limit, &dependencies->work);
    dependencies->outcome = LAYOUT_BEGUN;
    dependencies->is_drawn = true;
  }
}

void report_dependencies_settle(struct report_dependencies *dependencies) {
  if (dependencies->outcome == LAYOUT_BEGUN) {
    dependencies->outcome = report_layout_finish(&dependencies->work, &dependencies->graph, &dependencies->layout);
    lumos_vector_free(&dependencies->graph.nodes);
    lumos_vector_free(&dependencies->graph.edges);
  }
}

bool report_dependencies_check(const struct report_boundaries *steps, const struct lumos_report_options *options,
                               struct lumos_error *error) {
  struct report_boundary step;
  if (options->graph_nodes < 0 || options->graph_nodes > REPORT_LAYOUT_NODES) {
    return lumos_fail(error, "a dependency graph of %d nodes: choose from 1 to %d", options->graph_nodes,
                      REPORT_LAYOUT_NODES);
  }
  if (!options->has_step || report_chain_step(steps, options, false, &step)) {
    return true;
  }
  if (steps->count == 0) {
    return lumos_fail(error, "there is no step %d: the job has no steps", options->step);
  }
  int32_t first = steps->items[0].step;
  int32_t last = steps->items[steps->count - 1].step;
  return first == last ? lumos_fail(error, "there is no step %d: the only one is %d", options->step, first)
                       : lumos_fail(error, "there is no step %d: the steps are %d to %d", options->step, first, last);
}

bool report_dependencies_read(const struct report_dependencies_source *source, struct report_dependencies *dependencies,
                              struct lumos_error *error) {
  const struct lumos_report_options *options = source->options;
  *dependencies = (struct report_dependencies){.job = source->job,
                                               .roles = source->roles,
                                               .chain.job = source->job,
                                               .problem = LUMOS_TEXT_BUFFER,
                                               .outcome = LAYOUT_FAILED};
  struct report_boundary step;
  bool has_step = report_chain_step(source->steps, options, lumos_job_edited(source->job), &step);
  if (!report_dependencies_check(source->steps, options, error)) {
    return false;
  }
  if (!has_step || step.end <= step.start) {
    lumos_text_put(&dependencies->problem, "The job has no step that takes time.");
    return true;
  }
  struct lumos_error reason = {0};
  if (source->bindings == NULL) {
    lumos_text_format(&dependencies->problem, "What held the tasks is not known: %s.", source->unknown);
    return true;
  }
  if (!report_chain_read(source->job, source->bindings, &step, &dependencies->chain, &reason)) {
    lumos_text_format(&dependencies->problem, "What held the tasks is not known: %s.", reason.text);
    return true;
  }
  if (dependencies->chain.parts.count == 0) {
    lumos_text_put(&dependencies->problem, "No task ends within the step.");
    return true;
  }
  size_t usual = options->width > 0 ? REPORT_SIZED_NODES : REPORT_GRAPH_NODES;
  size_t limit = options->graph_nodes == 0 ? usual : (size_t)options->graph_nodes;
  dependencies->known = true;
  dependencies->origin = source->steps->items[0].start;
  read_chain(dependencies, limit - limit / 2);
  read_lanes(dependencies);
  read_neighbours(dependencies, limit);
  return true;
}

void report_dependencies_free(struct report_dependencies *dependencies) {
  report_dependencies_settle(dependencies);
  lumos_text_free(&dependencies->problem);
  report_chain_free(&dependencies->chain);
  report_collapse_free(&dependencies->collapse);
  lumos_vector_free(&dependencies->nodes);
  lumos_vector_free(&dependencies->edges);
  report_layout_free(&dependencies->layout);
}
