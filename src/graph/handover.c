/* Hand-overs: a thread that was silent while another of its process worked goes on when that one is done.
 *
 * So the backward pass starts when the forward pass has called for it, on a thread of autograd's, and the caller goes
 * on when the backward pass returns. Of the call sequence numbers tell (backward.c); all else is inferred from both
 * silences. A thread was silent for over 1 ms, or since it is known to have called another; the other worked for at
 * least half of that time, and fell silent itself not long before the first resumed, at most a tenth of the silence;
 * and the one that resumed works for at least half of the time until the other stirs again, which a watchdog that wakes
 * up by chance does not. Of threads that both launch work to the device less is asked: half a millisecond is not long,
 * who resumed may call the other at once, and who is known to have called it waits for it when it worked a quarter of
 * the time. Of several threads the one that finished last handed over.
 *
 * A return implies a call. Where a thread goes on because another one is done, that one was called when the first fell
 * silent: its first task since then waits for the last one before the silence, though its own silence was only 0.1 ms.
 *
 * Where calls alone were recorded, and no ops, a thread works from one call to the next, unless that takes over 0.1 ms.
 *
 * Of several tasks of a thread that end at one instant the first handed over: what follows them then may well wait for
 * who resumed.
 *
 * Only the threads with the most work are asked: a training process has a handful, and a file may name a million.
 *
 * The gap up to the other's end is covered by the edge; what remains is its lag. A hand-over to the first task of a
 * thread stands in for the boundary that would hold it.
 */
#include "graph/handover.h"

#include <stdlib.h>

/* Chosen: half of a silence is most of it, a tenth is little of it. A quarter: to wake up twice takes as long as a
 * short pass. */
enum { MOST_OF_SILENCE = 2, MUCH_OF_SILENCE = 4, DELAY_OF_SILENCE = 10 };
/* ns. Chosen: a tenth of it is the half millisecond that threads take at most to wake up. */
enum { LONG_SILENCE = 5000000 };
enum { SOURCES = 64 }; /* threads that may have handed over. Chosen: it bounds the time */

/* More than any thread that was recorded has; a stream may claim that its tasks overlap. */
static const int64_t most_work = INT64_MAX / 2;

struct worker {
  const struct lumos_lane *lane;
  int64_t work;
  bool launches; /* work to the device */
};

struct handover { /* `source` ended a thread's silence */
  struct lumos_silence silence;
  uint32_t source;
};

struct search {
  struct lumos_rank_graph *graph;
  int64_t *worked;                     /* by task: its thread's work up to its end */
  int64_t begin;                       /* when the first thread began */
  LUMOS_VECTOR(struct worker) workers; /* the busiest first */
  LUMOS_VECTOR(struct handover) found;
};

static int64_t end_of(const struct lumos_task *task) { return task->start + task->dur; }

uint32_t lumos_graph_count_until(const struct lumos_rank_graph *graph, const struct lumos_lane *lane, int64_t time,
                                 bool started) {
  uint32_t low = 0, high = lane->task_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct lumos_task *task = lumos_graph_task(graph, lane->task_first + middle);
    if (started ? task->start < time : end_of(task) <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Time that a thread's tasks cover of [from, to]. `worked` sums durations up to each task. */
static int64_t work_between(const struct lumos_rank_graph *graph, const int64_t *worked, const struct lumos_lane *lane,
                            int64_t from, int64_t to) {
  uint32_t begin = lumos_graph_count_until(graph, lane, from, false);
  uint32_t end = lumos_graph_count_until(graph, lane, to, true);
  if (begin >= end) {
    return 0;
  }
  uint32_t first = lane->task_first + begin, last = lane->task_first + end - 1;
  int64_t sum = worked[last - graph->first] - worked[first - graph->first] + lumos_graph_task(graph, first)->dur;
  int64_t before = from - lumos_graph_task(graph, first)->start, after = end_of(lumos_graph_task(graph, last)) - to;
  return sum - (before > 0 ? before : 0) - (after > 0 ? after : 0);
}

/* How much later than the other's end a thread may go on. One that is known to have called goes on whenever it wakes
 * up. */
static int64_t longest_delay(int64_t length, bool launches, bool called) {
  return launches && called                  ? length
         : launches && length < LONG_SILENCE ? LONG_SILENCE / DELAY_OF_SILENCE
                                             : length / DELAY_OF_SILENCE;
}

/* How much of a silence the other works at least. */
static int64_t least_work(int64_t length, bool launches, bool called) {
  return length / (launches && called ? MUCH_OF_SILENCE : MOST_OF_SILENCE);
}

/* The task on `other` that handed over when the silence ended, or LUMOS_NONE. `launches`: both do; `called`: the silent
 * thread had called another. */
static uint32_t handed_over(const struct search *search, const struct lumos_silence *silence,
                            const struct lumos_lane *other, bool launches, bool called) {
  const struct lumos_rank_graph *graph = search->graph;
  const int64_t *worked = search->worked;
  uint32_t ended = lumos_graph_count_until(graph, other, silence->end, false);
  if (ended == 0 || ended < lumos_graph_count_until(graph, other, silence->end, true)) {
    return LUMOS_NONE; /* it has done nothing yet, or is still at work */
  }
  uint32_t source = other->task_first + ended - 1;
  int64_t done = end_of(lumos_graph_task(graph, source)), length = silence->end - silence->start;
  if (silence->end - done > longest_delay(length, launches, called) ||
      work_between(graph, worked, other, silence->start, silence->end) < least_work(length, launches, called)) {
    return LUMOS_NONE;
  }
  uint32_t first = other->task_first + lumos_graph_count_until(graph, other, done - 1, false); /* that ends then */
  if (ended == other->task_count || launches) {
    return first;
  }
  int64_t stirs = lumos_graph_task(graph, source + 1)->start;
  int64_t taken = work_between(graph, worked, silence->lane, silence->end, stirs);
  return taken >= (stirs - silence->end) / MOST_OF_SILENCE ? first : LUMOS_NONE;
}

static uint32_t find_source(const struct search *search, const struct lumos_silence *silence, bool launches,
                            bool called) {
  const struct lumos_rank_graph *graph = search->graph;
  uint32_t latest = LUMOS_NONE;
  for (size_t i = 0; i < search->workers.count && i < SOURCES; i++) {
    const struct lumos_lane *other = search->workers.items[i].lane;
    if (other == silence->lane || other->process != silence->lane->process) {
      continue;
    }
    uint32_t source = handed_over(search, silence, other, launches && search->workers.items[i].launches, called);
    if (source != LUMOS_NONE &&
        (latest == LUMOS_NONE || end_of(lumos_graph_task(graph, source)) > end_of(lumos_graph_task(graph, latest)))) {
      latest = source;
    }
  }
  return latest;
}

void lumos_graph_add_handover(struct lumos_rank_graph *graph, const struct lumos_silence *silence, uint32_t source,
                              enum lumos_evidence evidence) {
  bool first = silence->task == silence->lane->task_first;
  int64_t done = end_of(lumos_graph_task(graph, source));
  if (!first && done < silence->start) {
    return;
  }
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = source;
  dep.dst = silence->task;
  dep.kind = LUMOS_HANDOVER;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.lag = silence->end - done;
  dep.covers = first ? LUMOS_ABSENT : done - silence->start;
  dep.evidence = (uint8_t)evidence;
  dep.mode = LUMOS_FIXED;
  lumos_vector_push(&graph->deps, dep);
  graph->handed[silence->task - graph->first] |= LUMOS_HANDED_OVER;
}

static bool lane_launches(const struct lumos_rank_graph *graph, const struct lumos_lane *lane) {
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    if (graph->launched[task - graph->first] != LUMOS_NONE) {
      return true;
    }
  }
  return false;
}

static void search_thread(struct search *search, const struct lumos_lane *lane) {
  bool launches = lane_launches(search->graph, lane);
  for (uint32_t n = 0; n < lane->task_count; n++) {
    uint32_t task = lane->task_first + n;
    const struct lumos_task *record = lumos_graph_task(search->graph, task);
    struct lumos_silence silence = {lane, task, n == 0 ? search->begin : record->start - record->lag, record->start};
    const uint8_t *handed = &search->graph->handed[task - search->graph->first];
    bool called = n > 0 && (handed[-1] & LUMOS_CALLED_ANOTHER);
    if (called || silence.end - silence.start > LUMOS_LONG_AGO) {
      uint32_t source = find_source(search, &silence, launches, called);
      if (source != LUMOS_NONE) {
        struct handover handover = {silence, source};
        if (!(*handed & LUMOS_HANDED_OVER)) {
          lumos_graph_add_handover(search->graph, &silence, source, LUMOS_INFERRED);
        }
        lumos_vector_push(&search->found, handover);
      }
    }
  }
}

/* The call that the return implies, unless nobody is known to have called or the one called was at work. */
static void add_call(struct lumos_rank_graph *graph, const struct handover *back) {
  const struct lumos_lane *called = &graph->job->lanes.items[lumos_graph_task(graph, back->source)->lane];
  uint32_t started = lumos_graph_count_until(graph, called, back->silence.start, true);
  uint32_t ended = lumos_graph_count_until(graph, called, back->silence.start, false);
  uint32_t task = called->task_first + ended;
  bool at_work = ended < started || task > back->source || (graph->handed[task - graph->first] & LUMOS_HANDED_OVER);
  if (at_work || back->silence.task == back->silence.lane->task_first) {
    return;
  }
  const struct lumos_task *record = lumos_graph_task(graph, task);
  struct lumos_silence silence = {called, task, record->start - record->lag, record->start};
  if (ended == 0 || silence.end - silence.start > LUMOS_SHORT_SILENCE) {
    lumos_graph_add_handover(graph, &silence, back->silence.task - 1, LUMOS_INFERRED);
  }
}

static int64_t add_work(int64_t sum, int64_t work) { return work < most_work - sum ? sum + work : most_work; }

static void sum_thread(struct search *search, const struct lumos_lane *lane) {
  int64_t sum = 0;
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    const struct lumos_task *record = lumos_graph_task(search->graph, task);
    search->begin = record->start < search->begin ? record->start : search->begin;
    sum = add_work(sum, record->dur);
    sum = search->graph->calls_alone && record->lag < LUMOS_SHORT_SILENCE ? add_work(sum, record->lag) : sum;
    search->worked[task - search->graph->first] = sum;
  }
  struct worker worker = {lane, sum, lane_launches(search->graph, lane)};
  lumos_vector_push(&search->workers, worker);
}

static int by_work(const void *left, const void *right) {
  const struct worker *a = left, *b = right;
  return a->work != b->work ? LUMOS_ORDER(b->work, a->work) : LUMOS_ORDER(a->lane, b->lane);
}

void lumos_graph_handovers(struct lumos_rank_graph *graph) {
  const struct lumos_lane *lanes = lumos_graph_lanes(graph);
  struct search search = {
      .graph = graph, .worked = lumos_allocate(graph->rank->task_count * sizeof(int64_t)), .begin = INT64_MAX};
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    if (lanes[i].kind == LUMOS_THREAD) {
      sum_thread(&search, &lanes[i]);
    }
  }
  lumos_vector_sort(&search.workers, by_work);
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    if (lanes[i].kind == LUMOS_THREAD) {
      search_thread(&search, &lanes[i]);
    }
  }
  for (size_t i = 0; i < search.found.count; i++) {
    add_call(graph, &search.found.items[i]);
  }
  free(search.worked);
  lumos_vector_free(&search.found);
  lumos_vector_free(&search.workers);
}
