/* Stream waits of PyTorch's fully_shard.
 *
 * Its all-gathers and reduce-scatters share a stream, so what a wait is for is often not the last work on a stream, and
 * as long as communication is short no timing shows it. But it annotates what it does, unit by unit, and each of these
 * spans has waits of its own (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py and _fsdp_collectives.py, 2.7).
 * Streams: parameters are copied together on one, computed with on another; gradients are reduced from a third.
 *
 *   before a root's pass      the copying stream, then the gathering one, wait for the computing one
 *   all_gather                gathering waits for copying
 *   all_gather_copy_out       computing waits for this unit's all-gather
 *   around that               copying, then gathering, wait until the last gathered unit was split
 *   post_backward_reduce      computing waits for the reduce-scatter of the unit before; when it has put gradients in
 *                             order the reducing stream waits for that; communication waits for the reducing stream;
 *                             and this waits for its reduce-scatter
 *
 * Where the timing of more than one in fifty waits of a kind contradicts that, the kind is left to be found otherwise:
 * another version may do something else.
 */
#include "graph/sharded.h"

#include <stdlib.h>
#include <string.h>

enum hook { NO_HOOK, GATHER, SPLIT, BEFORE, REDUCE };

/* What the wait is for: a kind of them is believed or not. */
enum rule {
  FOR_UPDATE,
  FOR_COPY,
  FOR_GATHER,
  FOR_SPLIT,
  FOR_EARLIER_SCATTER,
  FOR_CHUNKS,
  FOR_REDUCING,
  FOR_SCATTER,
  RULES
};

/* The innermost hook around a task. */
struct place {
  enum hook hook;
  uint32_t span;
  const char *unit; /* as the span names it */
  bool in_op;       /* an operator inside the hook is around the task */
};

struct gathered {
  const char *unit;
  uint32_t task;
};

struct found {
  struct lumos_decided_wait wait; /* the pair is LUMOS_NONE where it is a stream on which nothing runs that waits */
  enum rule rule;
};

struct walk {
  const struct lumos_rank_graph *graph;
  uint32_t copies, gathers, computes, reduces; /* streams; LUMOS_NONE: nothing was launched on it */
  LUMOS_VECTOR(struct found) found;
  /* Of the thread that is walked along: */
  LUMOS_VECTOR(struct gathered) gathered;
  uint32_t split, scatter; /* the last of these; LUMOS_NONE: none */
  uint32_t before;         /* the hook before a pass in which something was last gathered or split */
  uint32_t gather;         /* the hook that last gathered */
  uint32_t reduce;         /* the hook for gradients in which something was last launched, */
  bool scattered;          /* and a reduce-scatter, too */
  uint32_t waited;         /* the hook in which a wait was called last, with no launch since; LUMOS_NONE: in none */
};

/* ---- hooks ---- */

static enum hook hook_named(const char *name, const char **unit) {
  static const struct {
    const char *name;
    enum hook hook;
  } hooks[] = {{"FSDP::all_gather", GATHER},       {"FSDP::all_gather_copy_out", SPLIT},
               {"FSDP::root_pre_forward", BEFORE}, {"FSDP::pre_forward", BEFORE},
               {"FSDP::pre_backward", BEFORE},     {"FSDP::post_backward_reduce", REDUCE}};
  for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
    size_t length = strlen(hooks[i].name);
    if (strncmp(name, hooks[i].name, length) == 0 && (name[length] == 0 || name[length] == ' ')) {
      *unit = name + length;
      return hooks[i].hook;
    }
  }
  return NO_HOOK;
}

static struct place hook_around(const struct lumos_job *job, uint32_t span) {
  struct place place = {.hook = NO_HOOK, .unit = ""};
  for (place.span = span; place.span != LUMOS_NONE; place.span = job->spans.items[place.span].parent) {
    place.hook = hook_named(lumos_string(job->strings, job->spans.items[place.span].name), &place.unit);
    if (place.hook != NO_HOOK) {
      break;
    }
    place.in_op |= job->spans.items[place.span].kind == LUMOS_SPAN_OP;
  }
  return place;
}

static struct place place_of(const struct walk *walk, uint32_t task) {
  return hook_around(walk->graph->job, lumos_graph_task(walk->graph, task)->span);
}

/* The hook before a pass around another hook; LUMOS_NONE: it is in none. */
static uint32_t pass_around(const struct lumos_job *job, uint32_t span) {
  struct place place = hook_around(job, span);
  while (place.hook != NO_HOOK && place.hook != BEFORE) {
    place = hook_around(job, job->spans.items[place.span].parent);
  }
  return place.hook == BEFORE ? place.span : LUMOS_NONE;
}

static bool is_scatter(const struct walk *walk, uint32_t task) {
  const struct lumos_job *job = walk->graph->job;
  return lumos_graph_task(walk->graph, task)->kind == LUMOS_COLLECTIVE &&
         strcmp(lumos_string(job->strings, lumos_graph_comm(job, task)->op), "reduce_scatter") == 0;
}

/* ---- launches ---- */

static void pass_launch(struct walk *walk, const struct place *place, uint32_t task) {
  bool communicates = lumos_is_communication(lumos_graph_task(walk->graph, task)->kind);
  walk->waited = LUMOS_NONE;
  if (place->hook == REDUCE) {
    walk->scattered = walk->reduce == place->span && walk->scattered;
    walk->reduce = place->span;
  }
  if (place->hook == REDUCE && is_scatter(walk, task)) {
    walk->scattered = true;
    walk->scatter = task;
  } else if (place->hook == GATHER && communicates) {
    walk->gather = place->span;
    lumos_vector_push(&walk->gathered, ((struct gathered){place->unit, task}));
  } else if (place->hook == SPLIT) {
    walk->split = task;
  }
  if (place->hook == GATHER || place->hook == SPLIT) {
    walk->before = pass_around(walk->graph->job, place->span);
  }
}

/* Streams by what is launched on them. */
static void note_stream(struct walk *walk, const struct place *place, uint32_t task) {
  uint32_t stream = lumos_graph_task(walk->graph, task)->lane;
  bool communicates = lumos_is_communication(lumos_graph_task(walk->graph, task)->kind);
  if (place->hook == GATHER) {
    *(communicates ? &walk->gathers : &walk->copies) = stream;
  } else if (place->hook == SPLIT) {
    walk->computes = stream;
  } else if (place->hook == REDUCE && walk->scattered && !communicates) {
    walk->reduces = stream;
  }
}

/* ---- waits ---- */

/* Few units are gathered at once: its last all-gather is among the last of all. */
static uint32_t gathered_of(const struct walk *walk, const char *unit) {
  enum { AHEAD = 16 }; /* chosen */
  for (size_t i = walk->gathered.count; i-- > 0 && walk->gathered.count - i <= AHEAD;) {
    if (strcmp(walk->gathered.items[i].unit, unit) == 0) {
      return walk->gathered.items[i].task;
    }
  }
  return LUMOS_NONE;
}

static void decide(struct walk *walk, uint32_t wait, enum rule rule, uint32_t source, uint32_t target, uint32_t turn) {
  int64_t at = lumos_graph_call_end(walk->graph->job, wait);
  struct lumos_decided_wait decided = {
      .at = at, .from = at, .task = wait, .before = LUMOS_NONE, .pair = {source, target}, .turn = turn};
  lumos_vector_push(&walk->found, ((struct found){decided, rule}));
}

/* Waits for that task; of the first unit there is none to wait for. */
static void decide_task(struct walk *walk, uint32_t wait, enum rule rule, uint32_t task, uint32_t target) {
  if (task != LUMOS_NONE) {
    decide(walk, wait, rule, lumos_graph_task(walk->graph, task)->lane, target, task);
  }
}

/* The event was recorded on the reducing stream, so it is for what that did before, too. */
static void decide_scatter(struct walk *walk, uint32_t wait) {
  const struct lumos_rank_graph *graph = walk->graph;
  decide_task(walk, wait, FOR_EARLIER_SCATTER, walk->scatter, walk->computes);
  if (walk->scatter != LUMOS_NONE && walk->reduces != LUMOS_NONE) {
    int64_t launched = graph->enqueued[walk->scatter - graph->first];
    uint32_t before = lumos_graph_last_enqueued(graph, walk->reduces, launched);
    decide_task(walk, wait, FOR_EARLIER_SCATTER, before, walk->computes);
  }
}

static void pass_reducing_wait(struct walk *walk, const struct place *place, uint32_t wait) {
  if (walk->reduce != place->span) {
    decide_scatter(walk, wait);
  } else if (walk->scattered) {
    decide_task(walk, wait, FOR_SCATTER, walk->scatter, walk->reduces);
  } else if (!place->in_op) {
    decide(walk, wait, FOR_CHUNKS, walk->computes, walk->reduces, LUMOS_NONE);
  } else if (walk->reduces != LUMOS_NONE && walk->scatter != LUMOS_NONE) {
    decide(walk, wait, FOR_REDUCING, walk->reduces, lumos_graph_task(walk->graph, walk->scatter)->lane, LUMOS_NONE);
  }
}

static void pass_wait(struct walk *walk, uint32_t wait) {
  struct place place = place_of(walk, wait);
  bool second = place.hook != NO_HOOK && walk->waited == place.span; /* of two in a row */
  uint32_t gathers = second ? walk->gathers : walk->copies;
  walk->waited = place.hook != NO_HOOK ? place.span : LUMOS_NONE;
  if (place.hook == GATHER && walk->gather != place.span) {
    decide(walk, wait, FOR_COPY, walk->copies, walk->gathers, LUMOS_NONE);
  } else if (place.hook == SPLIT) {
    decide_task(walk, wait, FOR_GATHER, gathered_of(walk, place.unit), walk->computes);
  } else if (place.hook == BEFORE && walk->before == place.span) {
    decide_task(walk, wait, FOR_SPLIT, walk->split, gathers);
  } else if (place.hook == BEFORE) {
    decide(walk, wait, FOR_UPDATE, walk->computes, gathers, LUMOS_NONE);
  } else if (place.hook == REDUCE) {
    pass_reducing_wait(walk, &place, wait);
  }
}

static void begin_thread(struct walk *walk) {
  walk->gathered.count = 0;
  walk->split = walk->scatter = walk->before = walk->gather = walk->reduce = walk->waited = LUMOS_NONE;
  walk->scattered = false;
}

/* `unnamed`: NULL, to find streams. */
static void walk_thread(struct walk *walk, const struct lumos_lane *lane, const uint8_t *unnamed) {
  begin_thread(walk);
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    uint32_t launched = walk->graph->launched[task - walk->graph->first];
    if (launched != LUMOS_NONE) {
      struct place place = place_of(walk, task);
      pass_launch(walk, &place, launched);
      if (unnamed == NULL) {
        note_stream(walk, &place, launched);
      }
    } else if (unnamed != NULL && unnamed[task - walk->graph->first]) {
      pass_wait(walk, task);
    }
  }
}

static void walk_threads(struct walk *walk, const uint8_t *unnamed) {
  for (uint32_t i = 0; i < walk->graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &lumos_graph_lanes(walk->graph)[i];
    if (lane->kind == LUMOS_THREAD) {
      walk_thread(walk, lane, unnamed);
    }
  }
}

/* ---- what is believed ---- */

struct verdict {
  uint32_t seen, violated, bound;
};

static bool is_seen(const struct lumos_decided_wait *wait) {
  return wait->pair.source != LUMOS_NONE && wait->pair.target != LUMOS_NONE;
}

static void judge(const struct walk *walk, struct verdict *verdicts) {
  for (size_t i = 0; i < walk->found.count; i++) {
    const struct lumos_decided_wait *wait = &walk->found.items[i].wait;
    struct verdict *verdict = &verdicts[walk->found.items[i].rule];
    struct lumos_edge_ends ends;
    if (is_seen(wait) && lumos_edge_ends_of(walk->graph, wait->task, wait->pair, wait->turn, &ends)) {
      verdict->seen++;
      verdict->violated += lumos_edge_is_violated(walk->graph, &ends);
      verdict->bound += lumos_edge_is_bound(walk->graph, &ends);
    }
  }
}

static bool waits_in_hooks(const struct walk *walk, const uint8_t *unnamed) {
  uint32_t i = 0;
  while (i < walk->graph->rank->task_count && !(unnamed[i] && place_of(walk, walk->graph->first + i).hook != NO_HOOK)) {
    i++;
  }
  return i < walk->graph->rank->task_count;
}

void lumos_graph_sharded_waits(const struct lumos_rank_graph *graph, uint8_t *unnamed,
                               struct lumos_decided_waits *decisions) {
  struct walk walk = {
      .graph = graph, .copies = LUMOS_NONE, .gathers = LUMOS_NONE, .computes = LUMOS_NONE, .reduces = LUMOS_NONE};
  struct verdict verdicts[RULES] = {{0}};
  if (!waits_in_hooks(&walk, unnamed)) {
    return;
  }
  walk_threads(&walk, NULL);
  walk_threads(&walk, unnamed);
  judge(&walk, verdicts);
  for (size_t i = 0; i < walk.found.count; i++) {
    struct lumos_decided_wait wait = walk.found.items[i].wait;
    const struct verdict *verdict = &verdicts[walk.found.items[i].rule];
    if ((uint64_t)verdict->violated * LUMOS_VIOLATED_ONE_IN > verdict->seen) {
      continue;
    }
    unnamed[wait.task - graph->first] = 0;
    wait.bound = verdict->bound > 0;
    if (is_seen(&wait)) {
      lumos_vector_push(decisions, wait);
    }
  }
  lumos_vector_free(&walk.found);
  lumos_vector_free(&walk.gathered);
}
