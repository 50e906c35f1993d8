/* What is fixed before a simulation starts: launches by call, fixed dependencies, boundaries, and who waits for how
 * much. */
#include "sim/engine.h"

#include "graph/typical.h"
#include "sim/clock.h"
#include "sim/ties.h"
#include <stdlib.h>

_Static_assert(sizeof(struct lumos_node) == 64 && sizeof(struct lumos_task_state) == 64, "each fills a cache line");

bool lumos_call_waits(const struct lumos_job *job, const struct lumos_task *task) {
  if (task->detail == LUMOS_NONE) {
    return false;
  }
  const struct lumos_detail *detail = &job->details.items[task->detail];
  return detail->wait.on != 0 && detail->wait.residual != LUMOS_ABSENT && detail->event_op != LUMOS_EVENT_WAIT;
}

int64_t lumos_measured_lead(const struct lumos_engine *engine, uint32_t node, uint32_t call) {
  int64_t start = lumos_measured_start(engine->job, engine->nodes[node]),
          called = lumos_measured_start(engine->job, engine->nodes[call]);
  return start == LUMOS_ABSENT || called == LUMOS_ABSENT || start > called ? 0 : start - called;
}

static int64_t or_0(int64_t time) { return time == LUMOS_ABSENT ? 0 : time; }

static void find_facts(struct lumos_engine *engine) {
  const struct lumos_job *job = engine->job;
  engine->facts = lumos_allocate_lines(engine->node_count + 1, sizeof *engine->facts);
  for (uint32_t n = 0; n < engine->node_count; n++) {
    uint32_t t = engine->nodes[n];
    const struct lumos_task *task = &job->tasks.items[t];
    const struct lumos_timing *timing = lumos_timing_of(job, t);
    uint32_t call = task->call == LUMOS_NONE ? LUMOS_NONE : engine->node_of[task->call];
    engine->facts[n] = (struct lumos_node){.own = lumos_own_times(job, t),
                                           .residual = or_0(timing->residual),
                                           .gap = or_0(timing->gap),
                                           .launch_lag = or_0(timing->launch_lag),
                                           .lead = call == LUMOS_NONE ? 0 : lumos_measured_lead(engine, n, call),
                                           .task = t,
                                           .lane = task->lane,
                                           .call = call};
  }
  engine->facts[engine->node_count] = (struct lumos_node){.task = LUMOS_NONE, .lane = LUMOS_NONE, .call = LUMOS_NONE};
}

void lumos_engine_take_lengths(struct lumos_engine *engine) {
  for (uint32_t n = 0; n < engine->node_count; n++) {
    if ((engine->traits[n] & LUMOS_DEVICE) != 0) {
      engine->facts[n].own = lumos_own_times(engine->job, engine->nodes[n]);
    }
  }
}

/* Device tasks by call, in the order of their lanes and seq: a counting sort. */
static void find_launches(struct lumos_engine *engine) {
  struct lumos_node *facts = engine->facts;
  uint32_t launched = 0;
  for (uint32_t n = 0; n < engine->node_count; n++) {
    if (facts[n].call != LUMOS_NONE) {
      facts[facts[n].call].launched++;
      launched++;
    }
  }
  for (uint32_t n = 0, first = 0; n <= engine->node_count; n++) {
    uint32_t count = facts[n].launched;
    facts[n].launched = first;
    first += count;
  }
  engine->launched = lumos_allocate(launched * sizeof *engine->launched);
  for (uint32_t n = 0; n < engine->node_count; n++) {
    if (facts[n].call != LUMOS_NONE) {
      engine->launched[facts[facts[n].call].launched++] = n;
    }
  }
  for (uint32_t n = engine->node_count; n > 0; n--) { /* filling has moved each to where the next one begins */
    facts[n].launched = facts[n - 1].launched;
  }
  facts[0].launched = 0;
}

void lumos_engine_hold(struct lumos_engine *engine, uint32_t src, struct lumos_edge edge) {
  struct lumos_task_state *state = &engine->states[src];
  edge.next = state->holds;
  state->holds = (uint32_t)engine->edges.count;
  lumos_vector_push(&engine->edges, edge);
  if (edge.to == LUMOS_END) {
    engine->states[edge.dst].ends_after++;
  } else {
    engine->states[edge.dst].starts_after++;
  }
}

static int special_by_node(const void *left_item, const void *right_item) {
  const struct lumos_special *left = left_item;
  const struct lumos_special *right = right_item;
  return left->node < right->node ? -1 : left->node > right->node;
}

/* One entry a node: the latest boundary, the last occupant and full queue. */
static void merge_specials(struct lumos_engine *engine) {
  size_t kept = 0;
  if (engine->specials.count == 0) {
    return;
  }
  struct lumos_special *items = engine->specials.items;
  qsort(items, engine->specials.count, sizeof *items, special_by_node);
  for (size_t i = 1; i < engine->specials.count; i++) {
    if (items[i].node != items[kept].node) {
      items[++kept] = items[i];
      continue;
    }
    if (items[i].boundary > items[kept].boundary) {
      items[kept].boundary = items[i].boundary;
      items[kept].evidence = items[i].evidence;
    }
    items[kept].delay = items[i].delay > items[kept].delay ? items[i].delay : items[kept].delay;
    if (items[i].occupant != LUMOS_NONE) {
      items[kept].occupant = items[i].occupant;
      items[kept].room_lag = items[i].room_lag;
      items[kept].room_of = items[i].room_of;
      items[kept].room_wait = items[i].room_wait;
    }
    if (items[i].queue_lag != LUMOS_ABSENT) {
      items[kept].queue_lag = items[i].queue_lag;
    }
  }
  engine->specials.count = kept + 1;
  for (uint32_t i = 0; i <= kept; i++) {
    engine->states[items[i].node].special = i;
  }
}

static int event_edge_by_place(const void *left_item, const void *right_item) {
  const struct lumos_event_edge *left = left_item;
  const struct lumos_event_edge *right = right_item;
  if (left->dst != right->dst) {
    return left->dst < right->dst ? -1 : 1;
  }
  if (left->lane != right->lane) {
    return left->lane < right->lane ? -1 : 1;
  }
  return left->src < right->src ? -1 : left->src > right->src;
}

const struct lumos_event_edge *lumos_engine_event_edge(const struct lumos_engine *engine, uint32_t dst, uint32_t lane) {
  size_t low = 0, high = engine->event_edges.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct lumos_event_edge *edge = &engine->event_edges.items[middle];
    if (edge->dst < dst || (edge->dst == dst && edge->lane < lane)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return engine->event_edges.count == 0 ? NULL : engine->event_edges.items + low;
}

static uint8_t constraint_of(const struct lumos_dep *dep) {
  switch ((enum lumos_dep_kind)dep->kind) {
    case LUMOS_HANDOVER:
      return LUMOS_HELD_BY_HANDOVER;
    case LUMOS_DEP_EVENT:
      return LUMOS_HELD_BY_EVENT;
    case LUMOS_HOST_WAIT:
      return LUMOS_HELD_BY_WAIT;
    default:
      return LUMOS_HELD_BY_OTHER;
  }
}

static bool is_left_out(const struct lumos_model_rules *rules, const struct lumos_dep *dep) {
  bool between_streams = dep->kind == LUMOS_DEP_EVENT || dep->kind == LUMOS_RESOURCE || dep->kind == LUMOS_QUEUE;
  return (between_streams && !rules->between_streams) || (dep->kind == LUMOS_HOST_WAIT && !rules->host_waits);
}

static void hold_fixed(struct lumos_engine *engine, const struct lumos_dep *dep) {
  const struct lumos_variant *variant = &engine->variant;
  struct lumos_edge edge = {.lag = dep->lag,
                            .dst = engine->node_of[dep->dst],
                            .from = dep->from,
                            .to = dep->to,
                            .kind = constraint_of(dep),
                            .evidence = dep->evidence};
  if (dep->kind == LUMOS_HANDOVER && variant->handover != NULL) {
    edge.lag = variant->handover(variant->context, dep->dst, dep->lag);
  }
  lumos_engine_hold(engine, engine->node_of[dep->src], edge);
}

static void add_event_edge(struct lumos_engine *engine, const struct lumos_dep *dep) {
  uint32_t dst = engine->node_of[dep->dst], src = engine->node_of[dep->src];
  struct lumos_event_edge edge = {dst, src, engine->facts[src].lane, dep->lag, dep->evidence};
  lumos_vector_push(&engine->event_edges, edge);
}

/* Before a change. */
static int64_t recorded_length(const struct lumos_job *job, uint32_t t) {
  int64_t was = lumos_detail_of(job, &job->tasks.items[t])->was;
  return was == LUMOS_ABSENT ? lumos_own_times(job, t).dur : was;
}

static void add_up_lengths(struct lumos_engine *engine) {
  if (engine->has_rooms) {
    engine->lengths_before = lumos_allocate((engine->node_count + 1) * sizeof *engine->lengths_before);
    engine->lengths_before[0] = 0;
    for (uint32_t n = 0; n < engine->node_count; n++) {
      engine->lengths_before[n + 1] =
          engine->lengths_before[n] + (double)recorded_length(engine->job, engine->nodes[n]);
    }
  }
}

/* The mode decides: fixed dependencies become edges and boundaries; of those found anew at run time only the
 * event edges, occupants and full queues are of use, too; what a call waits for only says how surely that is known.
 * `at`: of a boundary. */
static void read_dependency(struct lumos_engine *engine, const struct lumos_dep *dep, int64_t at) {
  struct lumos_special special = {.node = engine->node_of[dep->dst],
                                  .boundary = LUMOS_ABSENT,
                                  .occupant = LUMOS_NONE,
                                  .queue_lag = LUMOS_ABSENT,
                                  .evidence = dep->evidence};
  struct lumos_task_state *state = &engine->states[special.node];
  if (dep->src == LUMOS_NONE) {
    special.boundary = lumos_job_time_on(engine->job, engine->job->tasks.items[dep->dst].lane, at) + dep->lag;
    special.delay = dep->mode == LUMOS_RUN_TIME && dep->covers != LUMOS_ABSENT ? dep->covers : 0;
  } else if (dep->mode == LUMOS_FIXED) {
    hold_fixed(engine, dep);
  } else if (dep->kind == LUMOS_DEP_EVENT) {
    state->traits |= dep->evidence == LUMOS_RECORDED ? 0 : LUMOS_IS_INFERRED;
    add_event_edge(engine, dep);
  } else if (dep->kind == LUMOS_HOST_WAIT) {
    state->traits |= dep->evidence == LUMOS_RECORDED ? 0 : LUMOS_IS_INFERRED;
  } else if (dep->kind == LUMOS_RESOURCE) {
    special.occupant = engine->node_of[dep->src];
    engine->lanes[engine->facts[special.occupant].lane].keeps_order = true;
    special.room_lag = dep->lag;
    special.room_wait = dep->covers;
    special.room_of = lumos_engine_length(engine, dep->src, recorded_length(engine->job, dep->src));
  } else if (dep->kind == LUMOS_QUEUE) {
    special.queue_lag = dep->lag;
  }
  if (special.occupant != LUMOS_NONE || special.queue_lag != LUMOS_ABSENT || special.boundary != LUMOS_ABSENT) {
    lumos_vector_push(&engine->specials, special);
  }
}

static void read_dependencies(struct lumos_engine *engine) {
  const struct lumos_job *job = engine->job;
  const struct lumos_variant *variant = &engine->variant;
  for (uint32_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (!is_left_out(engine->rules, dep)) {
      bool moved = dep->src == LUMOS_NONE && variant->boundary != NULL;
      read_dependency(engine, dep, moved ? variant->boundary(variant->context, i, dep->at) : dep->at);
    }
  }
  for (size_t i = 0; i < variant->added_count; i++) {
    read_dependency(engine, &variant->added[i], variant->added[i].at);
  }
  merge_specials(engine);
  if (engine->event_edges.count > 0) {
    qsort(engine->event_edges.items, engine->event_edges.count, sizeof *engine->event_edges.items, event_edge_by_place);
  }
}

static void reset_meetings(struct lumos_engine *engine) {
  const struct lumos_job *job = engine->job;
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    struct lumos_meeting meeting = {.latest = LUMOS_ABSENT, .last = LUMOS_NONE};
    for (uint32_t m = 0; m < collective->member_count; m++) {
      meeting.missing += lumos_member_awaited(job, collective, job->members.items[collective->member_first + m]);
    }
    engine->meetings[i] = meeting;
  }
}

uint32_t lumos_typical_end_group(struct lumos_typical *typical, const struct lumos_task *task) {
  return lumos_typical_group(typical, task->name, LUMOS_NONE, task->lane);
}

/* Typical residuals: what a wait of that name takes to notice that the awaited work is done, and by how much a
 * collective's member ends later than all have their transfer. */
static void find_typical_residuals(struct lumos_engine *engine) {
  const struct lumos_job *job = engine->job;
  engine->typical = lumos_typical_new();
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    int64_t end_residual = lumos_timing_of(job, (uint32_t)t)->end_residual;
    if (end_residual != LUMOS_ABSENT) {
      lumos_typical_add(engine->typical, lumos_typical_end_group(engine->typical, task), end_residual);
    }
    if (lumos_call_waits(job, task)) {
      const struct lumos_wait *wait = &job->details.items[task->detail].wait;
      lumos_typical_add(engine->typical, lumos_typical_group(engine->typical, task->name, wait->on, 0), wait->residual);
    }
  }
}

static bool is_tied(const struct lumos_engine *engine, uint32_t t) {
  const struct lumos_coupling *coupling = &engine->coupling;
  for (uint32_t i = coupling->first[t]; i < coupling->first[t + 1]; i++) {
    if (lumos_member_waits(engine->job, &engine->job->collectives.items[coupling->of[i]], t)) {
      return true;
    }
  }
  return false;
}

static unsigned traits_of_call(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_detail *detail = &job->details.items[task->detail];
  unsigned traits = lumos_call_waits(job, task) ? LUMOS_WAITS : 0;
  traits |= detail->wait.on == LUMOS_WAIT_SELF ? LUMOS_COPIES : 0;
  traits |= detail->event_op == LUMOS_EVENT_RECORD ? LUMOS_RECORDS : 0;
  traits |= detail->event_op == LUMOS_EVENT_WAIT ? LUMOS_AWAITS : 0;
  return traits;
}

static uint16_t traits_of(const struct lumos_engine *engine, uint32_t n) {
  uint32_t t = engine->nodes[n];
  const struct lumos_task *task = &engine->job->tasks.items[t];
  unsigned traits = task->detail == LUMOS_NONE ? 0 : traits_of_call(engine->job, task);
  traits |= lumos_on_stream(engine->job, task) ? LUMOS_DEVICE : 0;
  const struct lumos_timing *timing = lumos_timing_of(engine->job, t);
  traits |= timing->residual != LUMOS_ABSENT ? LUMOS_DELAYED : 0;
  traits |= timing->origin == LUMOS_FREE ? LUMOS_IS_FREE : 0;
  traits |= timing->launch_from == LUMOS_START ? LUMOS_FROM_START : 0;
  const struct lumos_node *next = &engine->facts[n + 1];
  bool brings = (traits & LUMOS_DEVICE) != 0 && next->lane == task->lane && next->call == LUMOS_NONE;
  traits |= brings ? LUMOS_BRINGS : 0;
  uint32_t first = engine->facts[n].launched, end = engine->facts[n + 1].launched;
  if (first < end) {
    traits |= LUMOS_LAUNCHES | (lumos_detail_of(engine->job, task)->first_segment != LUMOS_NONE ? LUMOS_CUT : 0);
    for (uint32_t i = first; i < end; i++) {
      traits |=
          lumos_timing_of(engine->job, engine->nodes[engine->launched[i]])->origin == LUMOS_FREE ? LUMOS_FREES : 0;
    }
  }
  if (engine->coupling.first[t] < engine->coupling.first[t + 1]) {
    traits |= LUMOS_MEETS | (is_tied(engine, t) ? LUMOS_TIED : 0);
  }
  return (uint16_t)traits;
}

void lumos_engine_prepare(struct lumos_engine *engine, const struct lumos_job *job, enum lumos_model model) {
  *engine =
      (struct lumos_engine){.job = job, .rules = lumos_model_rules(model), .queue = {.job = job}, .beyond = LUMOS_NONE};
  lumos_nodes_find(engine);
  engine->ties = lumos_find_ties(job);
  engine->queue.ties = engine->ties;
  engine->queue.tasks = engine->nodes;
  engine->traits = lumos_allocate(engine->node_count * sizeof *engine->traits);
  engine->lanes = lumos_allocate_zeroed(job->lanes.count, sizeof *engine->lanes);
  find_facts(engine);
  find_launches(engine);
  if (engine->rules->members) {
    lumos_coupling_make(&engine->coupling, job);
  } else {
    lumos_coupling_none(&engine->coupling, job);
  }
  lumos_events_make(&engine->events, job, engine->nodes, engine->node_count);
  for (uint32_t n = 0; n < engine->node_count; n++) {
    engine->traits[n] = traits_of(engine, n);
  }
  add_up_lengths(engine);
}

static void reset_lane(struct lumos_engine *engine, uint32_t l) {
  const struct lumos_lane *lane = &engine->job->lanes.items[l];
  const struct lumos_clock *clock = &engine->job->ranks.items[lane->rank].clock;
  struct lumos_lane_state *state = &engine->lanes[l];
  state->last = LUMOS_NONE;
  state->waits = LUMOS_NONE;
  state->drifts = clock->known && clock->drift_ppb != 0;
  state->depth = engine->rules->between_streams && lane->queue_depth > 0 ? (uint32_t)lane->queue_depth : 0;
  state->keeps_order = state->depth > 0;
  state->order.count = 0;
  state->started = 0;
}

/* On a thread a task waits for the one before it; on a stream until it is enqueued. */
static void reset_states(struct lumos_engine *engine) {
  uint32_t before = LUMOS_NONE;
  for (uint32_t n = 0; n < engine->node_count; n++) {
    uint32_t lane = engine->facts[n].lane;
    uint16_t traits = engine->traits[n];
    engine->states[n] = (struct lumos_task_state){.start = LUMOS_ABSENT,
                                                  .end = LUMOS_ABSENT,
                                                  .floor = LUMOS_ABSENT,
                                                  .holds = LUMOS_NONE,
                                                  .next = LUMOS_NONE,
                                                  .previous = LUMOS_NONE,
                                                  .special = LUMOS_NONE,
                                                  .starts_after = (traits & LUMOS_DEVICE) != 0 || lane == before,
                                                  .traits = traits};
    before = lane;
  }
}

static void bind_nothing(struct lumos_engine *engine) {
  struct lumos_binding nothing = {LUMOS_NONE, LUMOS_HELD_BY_NOTHING, LUMOS_END, LUMOS_UNEXPLAINED};
  if (engine->bound == NULL) {
    engine->bound = lumos_allocate(engine->node_count * sizeof *engine->bound);
  }
  for (uint32_t n = 0; n < engine->node_count; n++) {
    engine->bound[n] = (struct lumos_bindings){nothing, nothing, nothing};
  }
}

struct lumos_run *lumos_engine_room(const struct lumos_engine *engine, bool nodes_only) {
  return lumos_allocate((nodes_only ? engine->node_count : engine->job->tasks.count) * sizeof(struct lumos_run));
}

static void take_room(struct lumos_engine *engine) {
  const struct lumos_job *job = engine->job;
  engine->states = lumos_allocate_lines(engine->node_count, sizeof *engine->states);
  engine->ahead = lumos_allocate(engine->node_count * sizeof *engine->ahead);

  engine->meetings = lumos_allocate(job->collectives.count * sizeof *engine->meetings);
  engine->events.latest = lumos_allocate(engine->events.slots * sizeof *engine->events.latest);
  engine->events.waits = lumos_allocate(engine->events.slots * sizeof *engine->events.waits);
}

void lumos_engine_reset(struct lumos_engine *engine, const struct lumos_engine_order *order) {
  if (engine->states == NULL) {
    take_room(engine);
  }
  static const struct lumos_variant none = {.context = NULL};
  engine->variant = *(order->variant == NULL ? &none : order->variant);
  engine->notes = order->notes;
  engine->explain = order->notes.bindings != NULL || order->notes.links != NULL || order->notes.watched != NULL;
  if (engine->explain) {
    bind_nothing(engine);
  }
  engine->started = 0;
  engine->ended = 0;
  engine->acting = LUMOS_NONE;
  engine->beyond = LUMOS_NONE;
  lumos_queue_empty(&engine->queue);
  engine->edges.count = 0;
  engine->specials.count = 0;
  engine->event_edges.count = 0;
  engine->stream_waits.count = 0;
  engine->ending.count = 0;
  for (uint32_t lane = 0; lane < engine->job->lanes.count; lane++) {
    reset_lane(engine, lane);
  }
  reset_states(engine);
  lumos_nodes_measure(engine);
  lumos_events_reset(&engine->events);
  reset_meetings(engine);
  read_dependencies(engine);
  if (engine->variant.typical_residuals && engine->typical == NULL) {
    find_typical_residuals(engine);
  }
}

void lumos_engine_copy(struct lumos_engine *copy, const struct lumos_engine *engine) {
  *copy = (struct lumos_engine){.job = engine->job,
                                .rules = engine->rules,
                                .node_of = engine->node_of,
                                .nodes = engine->nodes,
                                .node_count = engine->node_count,
                                .traits = engine->traits,
                                .facts = engine->facts,
                                .unordered = engine->unordered,
                                .shares = true,
                                .launched = engine->launched,
                                .coupling = engine->coupling,
                                .events = engine->events,
                                .ties = engine->ties,
                                .lengths_before = engine->lengths_before,
                                .queue = {.job = engine->job, .tasks = engine->nodes, .ties = engine->ties},
                                .beyond = LUMOS_NONE};
  copy->events.latest = copy->events.waits = NULL;
  copy->lanes = lumos_allocate_zeroed(copy->job->lanes.count, sizeof *copy->lanes);
}

void lumos_engine_rest(struct lumos_engine *engine) {
  for (uint32_t lane = 0; lane < engine->job->lanes.count; lane++) {
    lumos_vector_free(&engine->lanes[lane].order);
  }
  free(engine->states);
  free(engine->ahead);
  free(engine->meetings);
  free(engine->events.latest);
  free(engine->events.waits);
  free(engine->bound);
  engine->states = NULL;
  engine->ahead = NULL;
  engine->measured = false;
  engine->meetings = NULL;
  engine->events.latest = engine->events.waits = NULL;
  engine->bound = NULL;
  lumos_vector_free(&engine->queue.heap);
  lumos_vector_free(&engine->edges);
  lumos_vector_free(&engine->specials);
  lumos_vector_free(&engine->event_edges);
  lumos_vector_free(&engine->stream_waits);
  lumos_vector_free(&engine->ending);
}

void lumos_engine_free(struct lumos_engine *engine) {
  lumos_engine_rest(engine);
  free(engine->lanes);
  if (!engine->shares) {
    lumos_nodes_free(engine);
    free(engine->ties);
    free(engine->lengths_before);
    free(engine->traits);
    free(engine->facts);
    free(engine->launched);
    lumos_coupling_free(&engine->coupling);
    lumos_events_free(&engine->events);
  }
  lumos_typical_free(engine->typical);
}
