/* The rows of a run: from what the engine noted of bounds and of the order of calls. */
#include "sim/retiming.h"

#include "sim/clock.h"
#include "sim/critical.h"
#include <stdlib.h>
#include <string.h>

enum { IN = 1, MORE_IN = 2, OUT = 4, MORE_OUT = 8, KEPT = 16 };

struct reading {
  struct lumos_retiming *into;
  const struct lumos_job *job;
  const struct lumos_engine *engine;
  const struct lumos_bounds *links;
  const struct lumos_order *order;
  const struct lumos_run *runs;
  bool by_node;    /* are the runs? Instants are, see lumos_engine_notes */
  uint8_t *ways;   /* by instant: how many links lead there and on, all of them of a thread's own time, or KEPT */
  uint32_t *place; /* by instant: its number, or the row that leads through it */
  int64_t *met;    /* by collective: when the last one came */
  bool unfit;
};

static bool is_own_time(const struct lumos_bound *link) {
  return link->of == LUMOS_LINK_LAG || link->of == LUMOS_LINK_LENGTH;
}

static bool has_occupant(const struct lumos_bound *link) {
  return link->of == LUMOS_LINK_ROOM || link->of == LUMOS_LINK_OVER || link->of == LUMOS_LINK_NO_ROOM;
}

/* Does it bind nothing, but is there to see whether the order is the run's? */
static bool tells_order(const struct lumos_bound *link) {
  return link->of == LUMOS_LINK_CAUSE || link->of == LUMOS_LINK_OVER || link->of == LUMOS_LINK_NO_ROOM;
}

static uint32_t task_at(const struct reading *reading, uint32_t instant) { return reading->engine->nodes[instant / 2]; }

static const struct lumos_task *task_of(const struct reading *reading, uint32_t instant) {
  return &reading->job->tasks.items[task_at(reading, instant)];
}

/* The first at which a collective has all its members. */
static uint32_t first_met(const struct reading *reading) { return 2 * reading->engine->node_count; }

static bool is_of_thread(const struct reading *reading, uint32_t instant) {
  return instant < first_met(reading) && !lumos_on_stream(reading->job, task_of(reading, instant));
}

static bool is_folded(const struct reading *reading, uint32_t instant) { return reading->ways[instant] == (IN | OUT); }

/* ---- which instants are rows' ends ---- */

static void count_way(struct reading *reading, uint32_t instant, uint8_t way) {
  uint8_t *ways = &reading->ways[instant];
  *ways |= (*ways & way) != 0 ? (uint8_t)(way * 2) : way;
}

static void keep_instant(struct reading *reading, uint32_t instant) { reading->ways[instant] |= KEPT; }

static void find_ways(struct reading *reading) {
  for (size_t i = 0; i < reading->links->count; i++) {
    const struct lumos_bound *link = &reading->links->items[i];
    if (is_own_time(link)) {
      count_way(reading, link->src, OUT);
      count_way(reading, link->dst, IN);
      continue;
    }
    keep_instant(reading, link->dst);
    if (link->src != LUMOS_NONE) {
      keep_instant(reading, link->src);
    }
    if (has_occupant(link)) {
      keep_instant(reading, link->src - 1);
    }
  }
  for (size_t i = 0; i < reading->order->touches.count; i++) {
    keep_instant(reading, reading->order->touches.items[i].instant);
  }
}

static void find_met(struct reading *reading) {
  for (size_t i = 0; i < reading->links->count; i++) {
    const struct lumos_bound *link = &reading->links->items[i];
    if (link->dst >= first_met(reading)) {
      int64_t *met = &reading->met[link->dst - first_met(reading)];
      *met = link->bound > *met ? link->bound : *met;
    }
  }
}

/* Tasks on streams, and those on threads of a rank's steps that have none there. */
static void add_end(struct reading *reading, uint32_t t) {
  uint32_t instant = 2 * reading->engine->node_of[t] + 1;
  keep_instant(reading, instant);
  lumos_vector_push(&reading->into->ends, ((struct lumos_row_end){t, instant}));
}

static void find_ends(struct reading *reading) {
  const struct lumos_job *job = reading->job;
  for (uint32_t l = 0; l < job->lanes.count; l++) { /* a changed job's first step begins behind these */
    uint32_t first = job->lanes.items[l].task_first, count = lumos_tasks_before_steps(job, l);
    for (uint32_t t = first; t < first + count; t++) {
      add_end(reading, t);
    }
  }
  struct lumos_stretches stretches;
  struct lumos_timeline timeline;
  lumos_find_stretches(job, &stretches);
  stretches.places = reading->by_node ? reading->engine->node_of : NULL;
  lumos_timeline_make(&timeline, job, reading->runs, &stretches);
  uint8_t *with_streams = lumos_steps_with_streams(job, &timeline, &stretches);
  uint32_t guess = 0;
  for (size_t i = 0; i < stretches.count; i++) {
    const struct lumos_stretch *stretch = &stretches.items[i];
    const struct lumos_lane *lane = &job->lanes.items[stretch->lane];
    uint32_t step = lumos_step_index(&timeline.steps, lane->rank, stretch->step, &guess);
    if (step == LUMOS_NONE || with_streams[step] != (lane->kind == LUMOS_STREAM)) {
      continue;
    }
    uint32_t end = stretch->first + stretch->count;
    /* Of a thread the first and the last, as lumos_timeline_make reads them. */
    uint32_t stride = lane->kind == LUMOS_STREAM || stretch->count < 2 ? 1 : stretch->count - 1;
    for (uint32_t t = stretch->first; t < end; t += stride) {
      add_end(reading, t);
    }
  }
  free(with_streams);
  lumos_timeline_free(&timeline);
  lumos_vector_free(&stretches);
}

/* ---- rows ---- */

static int64_t time_of(const struct reading *reading, uint32_t instant) {
  if (instant == LUMOS_NONE) {
    return 0;
  }
  if (instant >= first_met(reading)) {
    return reading->met[instant - first_met(reading)];
  }
  const struct lumos_run *run = &reading->runs[reading->by_node ? instant / 2 : task_at(reading, instant)];
  return run->start + (instant % 2 == 0 ? 0 : run->dur);
}

static int64_t lag_of(const struct reading *reading, const struct lumos_bound *link) {
  if (link->of == LUMOS_LINK_CAUSE || link->of == LUMOS_LINK_OVER || link->of == LUMOS_LINK_ROOM) {
    return 0;
  }
  return link->of == LUMOS_LINK_NEXT ? link->bound : link->bound - time_of(reading, link->src);
}

static uint32_t number_of(struct reading *reading, uint32_t instant) {
  if (instant == LUMOS_NONE) {
    return 0;
  }
  if (reading->place[instant] == LUMOS_NONE) {
    reading->place[instant] = reading->into->instants++;
  }
  return reading->place[instant];
}

static uint32_t begin_row(struct reading *reading, const struct lumos_bound *link) {
  struct lumos_retiming *into = reading->into;
  bool event = link->src != LUMOS_NONE && link->src < first_met(reading) &&
               (link->src % 2 == 0 || is_of_thread(reading, link->src));
  struct lumos_row row = {.src = number_of(reading, link->src), .of = link->of, .event = event};
  row.occupant = has_occupant(link) ? number_of(reading, link->src - 1) : 0;
  lumos_vector_push(&into->rows, row);
  lumos_vector_push(&into->lags, 0);
  return (uint32_t)into->rows.count - 1;
}

static void add_part(struct reading *reading, const struct lumos_bound *link, uint32_t row, size_t *transfer) {
  struct lumos_retiming *into = reading->into;
  struct lumos_row_part part = {row, link->dst < first_met(reading) ? task_at(reading, link->dst) : LUMOS_NONE};
  switch ((enum lumos_link_of)link->of) {
    case LUMOS_LINK_LENGTH:
      lumos_vector_push(&into->lengths[!is_of_thread(reading, link->dst)], part);
      break;
    case LUMOS_LINK_LAG:
      lumos_vector_push(&into->thread_lags, part);
      if (task_at(reading, link->src) + 1 < part.of) {
        lumos_vector_push(&into->followers,
                          ((struct lumos_row_followers){row, task_at(reading, link->src) + 1, part.of}));
      }
      break;
    case LUMOS_LINK_HANDOVER:
      reading->unfit |= link->dst % 2 == 1; /* residuals of ends are not told from its lag */
      lumos_vector_push(&into->handovers, part);
      break;
    case LUMOS_LINK_LAUNCH:
      lumos_vector_push(&into->launches, part);
      break;
    case LUMOS_LINK_TRANSFER:
      part.of = reading->order->transfers.items[(*transfer)++];
      lumos_vector_push(&into->transfers, part);
      break;
    default:
      break;
  }
  if (link->of != LUMOS_LINK_ROOT && link->dst % 2 == 1 && is_of_thread(reading, link->dst) &&
      lumos_call_waits(reading->job, task_of(reading, link->dst))) {
    lumos_vector_push(&into->waits, part);
  }
}

/* Of two bounds between the same instants that never change the later one counts, and what bounds is a cause. */
static bool is_told_by_last(struct reading *reading, size_t i) {
  const struct lumos_bound *link = &reading->links->items[i], *last = i == 0 ? link : link - 1;
  if (i == 0 || link->src != last->src || link->dst != last->dst || link->src == LUMOS_NONE) {
    return false;
  }
  bool fixed = link->of == LUMOS_LINK_FIXED && last->of == LUMOS_LINK_FIXED && link->dst % 2 == 0;
  if (fixed) {
    int64_t *lag = &reading->into->lags.items[reading->into->lags.count - 1], own = lag_of(reading, link);
    *lag = own > *lag ? own : *lag;
  }
  bool bounds = last->of != LUMOS_LINK_NO_ROOM && last->of != LUMOS_LINK_OVER;
  return fixed || (link->of == LUMOS_LINK_CAUSE && bounds);
}

/* A row that leads through instants that are folded begins where the first link does, for by then its src is known,
 * and is as long as all together. What ends in one of them leads nowhere. */
static void read_links(struct reading *reading) {
  struct lumos_retiming *into = reading->into;
  size_t transfer = 0;
  for (size_t i = 0; i < reading->order->rooms.count; i++) {
    lumos_vector_push(&into->rooms, reading->order->rooms.items[i]);
  }
  for (size_t i = 0; i < reading->links->count; i++) {
    const struct lumos_bound *link = &reading->links->items[i];
    if (into->ordered && tells_order(link)) {
      continue;
    }
    if (link->of == LUMOS_LINK_NO_ROOM) {
      struct lumos_row_pair pair = {link->dst, link->src - 1, LUMOS_BEFORE_BY_GAP};
      lumos_vector_push(&into->pairs, pair);
      continue;
    }
    if (is_told_by_last(reading, i)) {
      continue;
    }
    bool through = link->src != LUMOS_NONE && is_folded(reading, link->src);
    uint32_t row = through ? reading->place[link->src] : begin_row(reading, link);
    into->lags.items[row] += lag_of(reading, link);
    add_part(reading, link, row, &transfer);
    if (is_folded(reading, link->dst)) {
      reading->place[link->dst] = row;
      into->rows.items[row].dst = 1;
    } else {
      into->rows.items[row].dst = number_of(reading, link->dst);
    }
  }
}

/* Calls in a row that touch the same. */
static void find_pairs(struct reading *reading) {
  const struct lumos_job *job = reading->job;
  uint32_t count = (uint32_t)job->lanes.count;
  for (size_t i = 0; i < reading->order->touches.count; i++) {
    uint32_t what = reading->order->touches.items[i].what;
    count = what >= count ? what + 1 : count;
  }
  uint32_t *last = lumos_allocate(count * sizeof *last);
  for (uint32_t what = 0; what < count; what++) {
    last[what] = LUMOS_NONE;
  }
  for (size_t i = 0; i < reading->order->touches.count; i++) {
    struct lumos_touch touch = reading->order->touches.items[i];
    uint32_t first = last[touch.what];
    last[touch.what] = touch.instant;
    if (first != LUMOS_NONE && first / 2 != touch.instant / 2) {
      bool thread = task_of(reading, first)->lane == task_of(reading, touch.instant)->lane;
      struct lumos_row_pair pair = {first, touch.instant, thread ? LUMOS_BEFORE_ON_THREAD : LUMOS_BEFORE_IN_TURN};
      lumos_vector_push(&reading->into->pairs, pair);
    }
  }
  free(last);
}

/* ---- whether that is all ---- */

/* Where a thread's task may start before the one that it follows ends, the thread's calls need not keep their order. */
static bool keeps_order(const struct reading *reading) {
  for (size_t i = 0; i < reading->order->touches.count; i++) {
    if (!is_of_thread(reading, reading->order->touches.items[i].instant)) {
      return false;
    }
  }
  return !reading->order->unclear && !reading->engine->unordered;
}

/* Instants become numbers; all of them have come by a row. */
static bool number_all(struct reading *reading) {
  struct lumos_retiming *into = reading->into;
  bool all = true;
  for (size_t i = 0; i < into->pairs.count; i++) {
    struct lumos_row_pair *pair = &into->pairs.items[i];
    pair->first = reading->place[pair->first];
    pair->then = reading->place[pair->then];
    all = all && pair->first != LUMOS_NONE && pair->then != LUMOS_NONE;
  }
  for (size_t i = 0; i < into->ends.count; i++) {
    into->ends.items[i].instant = reading->place[into->ends.items[i].instant];
    all = all && into->ends.items[i].instant != LUMOS_NONE;
  }
  for (size_t i = 0; into->ordered && i < first_met(reading); i++) {
    all = all && reading->place[i] != LUMOS_NONE;
  }
  return all;
}

static int64_t latest_of(const struct reading *reading) {
  int64_t latest = 0;
  for (uint32_t instant = 0; instant < first_met(reading); instant += 2) { /* followers are between nodes */
    int64_t start = llabs(time_of(reading, instant)), end = llabs(time_of(reading, instant + 1));
    latest = start > latest ? start : latest;
    latest = end > latest ? end : latest;
  }
  return latest;
}

void lumos_retiming_read(struct lumos_retiming *retiming, const struct lumos_engine *engine,
                         const struct lumos_bounds *links, const struct lumos_order *order,
                         const struct lumos_run *runs, bool by_node) {
  const struct lumos_job *job = retiming->job;
  size_t instants = 2 * (size_t)engine->node_count + job->collectives.count;
  struct reading reading = {
      .into = retiming, .job = job, .engine = engine, .links = links, .order = order, .runs = runs, .by_node = by_node};
  retiming->usable = retiming->ordered || keeps_order(&reading);
  if (!retiming->usable) {
    return;
  }
  reading.ways = lumos_allocate_zeroed(instants + 1, 1);
  reading.place = lumos_allocate(instants * sizeof *reading.place);
  reading.met = lumos_allocate(job->collectives.count * sizeof *reading.met);
  for (size_t i = 0; i < instants; i++) {
    reading.place[i] = LUMOS_NONE;
  }
  for (size_t i = 0; i < job->collectives.count; i++) {
    reading.met[i] = LUMOS_ABSENT;
  }
  retiming->instants = 2; /* the first of all, and one that nothing follows from */
  if (retiming->ordered) {
    memset(reading.ways, KEPT, instants);
    find_met(&reading);
    read_links(&reading);
  } else {
    find_ends(&reading);
    find_ways(&reading);
    find_met(&reading);
    read_links(&reading);
    find_pairs(&reading);
  }
  retiming->usable = number_all(&reading) && (retiming->ordered || !reading.unfit);
  retiming->latest = latest_of(&reading);
  free(reading.ways);
  if (retiming->ordered) {
    retiming->numbers = reading.place;
  } else {
    free(reading.place);
  }
  free(reading.met);
}
